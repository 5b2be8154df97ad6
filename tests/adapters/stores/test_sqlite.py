"""The store: many processes at once, nothing kept is lost or changed, and errors that say what to
do.
"""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from honestone.adapters.stores import stored
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.adapters.stores.sqlite_file import sqlite_opening
from honestone.adapters.stores.sqlite_file.sqlite_opening import MIGRATIONS
from honestone.adapters.stores.unfinished import FILE
from honestone.core.errors import StoreError
from honestone.core.record.event_codec import event_to_plain
from honestone.testing import check_store
from property_examples import examples

ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")


def start(store: SqliteStore, **more: Any) -> str:
    facts: dict[str, Any] = {
        "kind": "eval",
        "subject": "a.md",
        "identity": "one",
        "contract": "c",
        "first": {"type": "started"},
    }
    return store.start_run(**{**facts, **more})


def processes(count: int, folder: Path, code: str) -> list[str]:
    """Runs a program in so many real processes at once; what each printed. Fails when one fails."""
    program = "import sys\nfrom pathlib import Path\nfrom honestone.adapters.stores.sqlite import SqliteStore\n"
    program += "folder = Path(sys.argv[1])\nnumber = int(sys.argv[2])\n" + textwrap.dedent(code)

    def one(number: int) -> str:
        done = subprocess.run(
            [sys.executable, "-c", program, str(folder), str(number)],
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def test_it_keeps_the_promises_of_the_port(tmp_path: Path) -> None:
    """The checks that we give to authors of other stores."""
    check_store(lambda: SqliteStore(tmp_path / "store"))


# ----------------------------------------------------------------------------------------------------------
# several processes


@pytest.mark.slow
def test_ten_processes_open_create_and_write_at_the_same_moment(tmp_path: Path) -> None:
    """All get in, every event is there, every id is another, and the tables were made once."""
    printed = processes(
        10,
        tmp_path / "new" / ".honestone",
        """
        store = SqliteStore(folder)
        run = store.start_run(kind="eval", subject=str(number), identity=f"i{number}", contract="c", first={"type": "started"})
        for n in range(20):
            store.append(run, {"type": "check", "n": n}, {"shared": b"the same", f"{number}-{n}": b"own"})
            store.keep_reply("key", f"judge {number}", {"n": n})
        print(run)
        store.close()
        """,
    )
    runs = [line.strip() for line in printed]
    store = SqliteStore(tmp_path / "new" / ".honestone")
    assert len(set(runs)) == 10 and {info.id for info in store.runs()} == set(runs)
    for run in runs:
        assert [event_to_plain(event).get("n") for event in store.events(run)] == [None, *range(20)]
    assert store.reply("key") == {"n": 19} and store.blob("shared") == b"the same"
    assert counts(store.root, "replies") == 200 and counts(store.root, "blobs") == 201
    store.close()


@pytest.mark.slow
def test_ten_processes_add_to_one_run(tmp_path: Path) -> None:
    """No event takes another's place, and each process's own stay in order."""
    store = SqliteStore(tmp_path)
    run = start(store)
    processes(
        10,
        tmp_path,
        f"""
        store = SqliteStore(folder)
        for n in range(15):
            store.append({run!r}, {{"by": number, "n": n}})
        """,
    )
    log = [event_to_plain(event) for event in store.events(run)][1:]
    assert len(log) == 150
    for number in range(10):
        assert [event["n"] for event in log if event["by"] == number] == list(range(15))
    store.close()


def plain(store: SqliteStore, run: str) -> list[dict[str, Any]]:
    return [dict(event_to_plain(event)) for event in store.events(run)]


def counts(folder: Path, table: str) -> int:
    db = sqlite3.connect(folder / FILE)
    try:
        return int(db.execute(f"select count(*) from {table}").fetchone()[0])
    finally:
        db.close()


def test_a_run_is_held_by_one_process(tmp_path: Path) -> None:
    """The second is told no; when the first ends, even by a kill, the run is free."""
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom honestone.adapters.stores.sqlite import SqliteStore\n"
        "store = SqliteStore(Path(sys.argv[1]))\nassert store.lock('sha256:abc')\nprint('held', flush=True)\ntime.sleep(60)\n"
    )
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        store = SqliteStore(tmp_path)
        assert store.lock("sha256:abc") is False
        assert store.lock("sha256:def") is True, "another run is free"
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.wait(20)
        assert holder.stdout is not None
        holder.stdout.close()
    assert store.lock("sha256:abc") is True
    store.close()


def test_closing_lets_go_of_a_run(tmp_path: Path) -> None:
    """Two commands one after another in one process."""
    first, second = SqliteStore(tmp_path), SqliteStore(tmp_path)
    assert first.lock("run") and not second.lock("run")
    first.close()
    assert second.lock("run")
    second.close()


@pytest.mark.slow
def test_a_killed_writer_leaves_a_whole_store(tmp_path: Path) -> None:
    """Killed while it writes without a pause: what it said was kept is there, and the rest is
    whole.
    """
    code = """
    import sys
    from pathlib import Path
    from honestone.adapters.stores.sqlite import SqliteStore
    store = SqliteStore(Path(sys.argv[1]))
    run = store.start_run(kind="eval", subject="", identity="i", contract="c", first={"type": "started"})
    n = 0
    while True:
        store.append(run, {"n": n}, {f"blob-{n}": b"x" * 20_000})
        print(n, flush=True)
        n += 1
    """
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), str(tmp_path)],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert writer.stdout is not None
        for _ in range(25):
            last = int(writer.stdout.readline())
        writer.send_signal(signal.SIGKILL)
        rest = writer.stdout.read().split("\n")[:-1]
        writer.wait(20)
        writer.stdout.close()
        last = int(rest[-1]) if rest else last
        store = SqliteStore(tmp_path)
        log = [event_to_plain(event) for event in store.events(store.runs()[0].id)][1:]
        assert [event["n"] for event in log] == list(range(len(log))) and len(log) in (
            last + 1,
            last + 2,
        )
        assert all(store.blob(f"blob-{n}") is not None for n in range(len(log)))
        store.close()
        db = sqlite3.connect(tmp_path / FILE)
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        db.close()
    assert len(SqliteStore(tmp_path).runs()) == 3


# ----------------------------------------------------------------------------------------------------------
# append-only


def test_nothing_but_the_end_of_a_run_is_ever_changed(tmp_path: Path) -> None:
    """Whatever the port is asked to do, SQLite sees no update or delete but that of a run's result."""
    store = SqliteStore(tmp_path)
    seen: list[tuple[int, str | None, str | None]] = []

    def note(action: int, table: str | None, column: str | None, *_: object) -> int:
        if action in (sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE):
            seen.append((action, table, column))
        return sqlite3.SQLITE_OK

    store._db.set_authorizer(note)
    run = start(store)
    for _ in range(2):
        store.append(run, {"type": "check"}, {"blob": b"1"})
        store.keep_reply("key", "judge", {"n": 1})
        store.keep_replies({"key": {"n": 2}}, "check")
        store.keep_blobs({"blob": b"1"})
    store.finish_run(run, "PASSED", {"type": "finished"})
    assert set(seen) == {
        (sqlite3.SQLITE_UPDATE, "runs", "finished"),
        (sqlite3.SQLITE_UPDATE, "runs", "result"),
    }
    assert counts(tmp_path, "replies") == 4, "old replies stay on record"
    store.close()


def test_content_is_kept_once(tmp_path: Path) -> None:
    """The same bytes of a hundred versions take the room of one."""
    store = SqliteStore(tmp_path)
    run = start(store)
    data = os.urandom(100_000)
    for n in range(100):
        store.append(run, {"n": n}, {"sha256:same": data})
    store.close()
    assert counts(tmp_path, "blobs") == 1 and (tmp_path / FILE).stat().st_size < 1_000_000


def test_an_event_that_is_no_json_leaves_nothing_behind(tmp_path: Path) -> None:
    """Our own bug in one write must not block or change the next ones."""
    store = SqliteStore(tmp_path)
    run = start(store)
    with pytest.raises(TypeError):
        store.append(run, {"type": "odd", "value": object()}, {"orphan": b"1"})
    store.append(run, {"type": "next"})
    assert [event_to_plain(event)["type"] for event in store.events(run)] == [
        "started",
        "next",
    ] and store.blob("orphan") is None
    store.close()
    assert [event_to_plain(event)["type"] for event in SqliteStore(tmp_path).events(run)] == [
        "started",
        "next",
    ]


# ----------------------------------------------------------------------------------------------------------
# what it holds

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters()),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)


@settings(
    max_examples=examples(60),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.dictionaries(st.text(max_size=8), json_values, max_size=4), max_size=6))
def test_events_come_back_as_they_were(tmp_path: Path, log: list[dict[str, Any]]) -> None:
    """Any JSON, in order, however often the store is opened; half surrogate pairs too."""
    store = SqliteStore(tmp_path)
    run = start(store)
    for event in log:
        store.append(run, event)
    store.append_many(run, log)
    store.close()
    again = SqliteStore(tmp_path)
    assert plain(again, run)[1:] == [*log, *log]
    again.close()


def test_big_and_many_events(tmp_path: Path) -> None:
    """A megabyte in one, and twenty thousand in one transaction; they can be read one at a time."""
    store = SqliteStore(tmp_path)
    run = start(store)
    big = {"text": "é" * 500_000}
    store.append(run, big)
    store.append_many(run, ({"n": n} for n in range(20_000)))
    events = map(event_to_plain, store.iter_events(run))
    assert next(events) == {"type": "started"} and next(events) == big
    assert [event["n"] for event in events] == list(range(20_000))
    store.close()


def test_the_newest_reply_counts_also_among_many(tmp_path: Path) -> None:
    """`replies` over more keys than SQLite takes at once, some with several replies."""
    store = SqliteStore(tmp_path)
    store.keep_replies({f"k{n}": {"n": n} for n in range(1200)}, "check")
    store.keep_replies({f"k{n}": {"n": -n} for n in range(0, 1200, 2)}, "check")
    found = store.replies([f"k{n}" for n in range(1300)])
    assert len(found) == 1200
    assert all(found[f"k{n}"] == b'{"n":%d}' % (n if n % 2 else -n) for n in range(1200))
    store.close()


# ----------------------------------------------------------------------------------------------------------
# runs and their names


def test_ids_are_ulids_that_sort_by_time_even_if_the_clock_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock that stands still or goes back gives greater ids all the same."""
    store = SqliteStore(tmp_path)
    now = 1_700_000_000_000_000_000
    times = iter([now, now, now, now - 10**12, now + 10**9])
    monkeypatch.setattr(stored.time, "time_ns", lambda: next(times))
    ids = [start(store) for _ in range(5)]
    assert ids == sorted(set(ids)) and all(map(ULID.fullmatch, ids))
    store.close()


def test_a_run_is_found_by_what_is_typed(tmp_path: Path) -> None:
    """Whole id, a beginning in any case, or `last`; several or none are errors that say more."""
    store = SqliteStore(tmp_path)
    first, second = start(store), start(store, subject="b.md")
    short = os.path.commonprefix([first, second])  # noqa: RUF071
    assert store.find_run(first).id == store.find_run(first.lower()).id == first
    assert store.find_run(second[: len(short) + 1].lower()).id == second
    assert store.find_run("last").subject == "b.md"
    with pytest.raises(StoreError, match="several runs") as several:
        store.find_run(short)
    assert first in str(several.value) and second in str(several.value)
    with pytest.raises(StoreError, match="no run") as none:
        store.find_run("zzz")
    assert none.value.hint and "honestone runs" in none.value.hint
    for odd in ("%", "_", "' or 1=1 --", "\0"):
        with pytest.raises(StoreError, match="no run"):
            store.find_run(odd)
    store.close()


def test_the_last_of_no_runs_is_an_error(tmp_path: Path) -> None:
    """And no crash."""
    with pytest.raises(StoreError, match="no run 'last'"):
        SqliteStore(tmp_path).find_run("last")


# ----------------------------------------------------------------------------------------------------------
# trouble


def test_a_store_of_a_newer_honestone_is_refused_and_left_alone(tmp_path: Path) -> None:
    """Reading it with the wrong eyes could lose what is in it."""
    SqliteStore(tmp_path).close()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute(f"pragma user_version = {len(MIGRATIONS) + 1}")
    db.close()
    before = (tmp_path / FILE).read_bytes()
    for readonly in (False, True):
        with pytest.raises(StoreError, match="newer honestone") as error:
            SqliteStore(tmp_path, readonly=readonly)
        assert error.value.hint and "upgrade" in error.value.hint and error.value.exit_code == 2
    assert (tmp_path / FILE).read_bytes() == before


def test_migrations_run_once_and_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store of version 1 gets what is new, keeps what it had, and is not touched when it is
    opened again.
    """
    old = SqliteStore(tmp_path)
    run = start(old)
    old.close()
    newer = (
        *MIGRATIONS,
        "create table extra (n integer) strict; insert into extra values (1);",
        "insert into extra values (2);",
    )
    monkeypatch.setattr(sqlite_opening, "MIGRATIONS", newer)
    for _ in range(2):
        store = SqliteStore(tmp_path)
        assert store._db.execute("select n from extra order by n").fetchall() == [(1,), (2,)]
        assert store._db.execute("pragma user_version").fetchone() == (len(newer),)
        assert plain(store, run) == [{"type": "started"}]
        store.close()


def test_a_migration_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of it or none: the old version goes on working."""
    SqliteStore(tmp_path).close()
    monkeypatch.setattr(
        sqlite_opening,
        "MIGRATIONS",
        (*MIGRATIONS, "create table extra (n integer); insert into nowhere values (1);"),
    )
    with pytest.raises(StoreError):
        SqliteStore(tmp_path)
    monkeypatch.undo()
    store = SqliteStore(tmp_path)
    assert store._db.execute(
        "select count(*) from sqlite_master where name = 'extra'"
    ).fetchone() == (0,)
    assert start(store)
    store.close()


def test_a_locked_store_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program in the middle of a write: exit 2 and `try again`, and nothing is
    half-written.
    """
    store = SqliteStore(tmp_path)
    store._db.execute("pragma busy_timeout = 50")
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("begin exclusive")
    with pytest.raises(StoreError, match="locked") as error:
        start(store)
    assert error.value.hint and "try again" in error.value.hint
    other.execute("rollback")
    other.close()
    run = start(store)
    assert plain(store, run) == [{"type": "started"}], "it works again afterwards"
    store.close()


def test_a_full_disk_says_so_and_loses_nothing(tmp_path: Path) -> None:
    """What was kept so far can still be read."""
    store = SqliteStore(tmp_path)
    run = start(store)
    pages = store._db.execute("pragma page_count").fetchone()[0]
    store._db.execute(f"pragma max_page_count = {pages}")
    with pytest.raises(StoreError, match="full") as error:
        store.append(run, {"type": "big"}, {"blob": b"x" * 1_000_000})
    assert error.value.hint and "make room" in error.value.hint
    assert plain(store, run) == [{"type": "started"}] and store.blob("blob") is None
    store.close()


def test_a_damaged_store_says_so(tmp_path: Path) -> None:
    """A file that is no database: named, with what to do; the file is not touched."""
    (tmp_path / FILE).write_bytes(b"this is no database at all, but a text\n" * 50)
    for readonly in (False, True):
        with pytest.raises(StoreError) as error:
            SqliteStore(tmp_path, readonly=readonly)
        assert str(tmp_path) in str(error.value) and error.value.hint
    assert (tmp_path / FILE).read_bytes().startswith(b"this is no database")


def test_a_file_where_the_folder_should_be(tmp_path: Path) -> None:
    """The folder cannot be made: exit 2 with the way out."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot open the store") as error:
        SqliteStore(tmp_path / "file" / ".honestone")
    assert error.value.hint and "HONESTONE_HOME" in error.value.hint


def test_only_to_read_makes_nothing(tmp_path: Path) -> None:
    """`show` in a folder without a store says how one comes about, and leaves no file."""
    with pytest.raises(StoreError, match="no store") as error:
        SqliteStore(tmp_path / ".honestone", readonly=True)
    assert error.value.hint and "eval" in error.value.hint and list(tmp_path.iterdir()) == []


def test_only_to_read_cannot_write(tmp_path: Path) -> None:
    """And sees what another process writes meanwhile."""
    writer = SqliteStore(tmp_path)
    reader = SqliteStore(tmp_path, readonly=True)
    run = start(writer)
    assert reader.find_run("last").id == run
    with pytest.raises(StoreError) as error:
        start(reader)
    assert error.value.hint and "writable" in error.value.hint
    reader.close()
    writer.close()


def as_a_reader(folder: Path, look: Callable[[], str]) -> str:
    """What a function returns for somebody who may read a store's folder, but not write to it."""
    for path in folder.rglob("*"):
        path.chmod(0o444 if path.is_file() else 0o555)
    folder.chmod(0o555)
    for path in folder.parents:
        if path.is_relative_to(Path(tempfile.gettempdir())) and path.stat().st_uid == os.geteuid():
            path.chmod(path.stat().st_mode | 0o055)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:  # whom no permission stops
                os.setgroups([])
                os.setgid(65534)
                os.setuid(65534)
            os.write(writing, look().encode())
        except BaseException as error:
            os.write(writing, f"it failed: {error!r}".encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    folder.chmod(0o755)
    return said


@pytest.mark.parametrize("killed", [False, True], ids=["closed", "killed"])
def test_a_store_on_read_only_media_can_be_read(tmp_path: Path, killed: bool) -> None:
    """Also the events of a process that was killed, which are still in SQLite's log and not in its
    file.
    """

    def prepare(folder: Path) -> None:
        code = (
            "import os, signal, sys\nfrom pathlib import Path\nfrom honestone.adapters.stores.sqlite import SqliteStore\n"
            "s = SqliteStore(Path(sys.argv[1]))\n"
            "r = s.start_run(kind='eval', subject='a', identity='i', contract='c', first={'type': 'started'})\n"
            "s.append(r, {'type': 'check'})\n"
            + ("os.kill(os.getpid(), signal.SIGKILL)\n" if killed else "s.close()\n")
        )
        subprocess.run([sys.executable, "-c", code, str(folder)], timeout=60)

    folder = tmp_path / "store"
    prepare(folder)

    def look() -> str:
        store = SqliteStore(folder, readonly=True)
        found = [event_to_plain(event)["type"] for event in store.events(store.find_run("last").id)]
        store.close()
        return " ".join(found)

    assert as_a_reader(folder, look) == "started check"
    assert not list(Path(tempfile.gettempdir()).glob("honestone-store-*")), "no copy is left behind"


def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    """Exit 2 with the way out, before anything is spent."""
    folder = tmp_path / "store"
    SqliteStore(folder).close()

    def look() -> str:
        try:
            SqliteStore(folder)
        except StoreError as error:
            return f"refused: {error.hint}"
        return "opened"

    said = as_a_reader(folder, look)
    assert said.startswith("refused:") and "HONESTONE_HOME" in said


def test_the_store_keeps_itself_out_of_version_control(tmp_path: Path) -> None:
    """Its own `.gitignore` covers everything in it; one that the person wrote is left as it is."""
    SqliteStore(tmp_path).close()
    assert (tmp_path / ".gitignore").read_text() == "*\n"
    (tmp_path / ".gitignore").write_text("mine\n")
    SqliteStore(tmp_path).close()
    assert (tmp_path / ".gitignore").read_text() == "mine\n"
    assert not stat.S_IMODE((tmp_path / FILE).stat().st_mode) & 0o022, "nobody else may write to it"


def test_a_clock_that_was_ahead_stops_no_account(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Slots that were taken in what turned out not to be the present are free again."""
    store = SqliteStore(tmp_path / "store")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + 365 * 86400)
    assert store.take_slot("a", 30.0) == 0
    assert store.take_slot("a", 30.0) == pytest.approx(30)
    monkeypatch.setattr(time, "time", lambda: now)
    assert store.take_slot("a", 30.0) == 0
    # From here on the line is kept to as ever.
    assert store.take_slot("a", 30.0) == pytest.approx(30)
    assert store.take_slot("b", 1.0) == 0
    store.close()
