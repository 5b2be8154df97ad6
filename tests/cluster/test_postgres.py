"""The shared store: the promises of the port, several processes at once, a server that goes away,
and what it never says.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.errors import NoStoreError, StoreAway, StoreError
from honestone.core.events import (
    AttemptJudged,
    Event,
    OtherEvent,
    OutputProduced,
    RecordedCase,
    StartedSuite,
    SuiteStarted,
)
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.record.event_codec import event_to_plain
from honestone.core.record.record import read_record
from honestone.core.record.store_address import StoreAddress, store_address
from honestone.core.suite.case import Case
from honestone.ports import RunOrigin
from honestone.testing import check_store

from .server import PASSWORD, Server

ORIGIN = RunOrigin(project="fruit", person="ann@desk")


def opened(
    url: str,
    folder: Path,
    *,
    readonly: bool = False,
    origin: RunOrigin = ORIGIN,
    patience: float = 60,
):
    from honestone.adapters.stores.postgres import PostgresStore

    address = store_address(url)
    assert isinstance(address, StoreAddress)
    return PostgresStore(address, folder, readonly=readonly, origin=origin, patience=patience)


def first(**facts: object) -> OtherEvent:
    return OtherEvent(name="check", facts={"type": "check", **facts})


def test_it_keeps_the_promises_of_the_port(url: str, tmp_path: Path) -> None:
    """The same checks as those of a folder."""
    check_store(lambda: opened(url, tmp_path))


def test_a_rate_holds_over_three_processes(url: str, tmp_path: Path) -> None:
    """In every window of ten seconds there are no more calls than the rate and one second's worth;
    and the rate is used.
    """
    program = """if True:
        import asyncio, sys, time
        from pathlib import Path
        from honestone.adapters.stores.postgres import PostgresStore
        from honestone.core.record.rates import RateLimits
        from honestone.core.record.store_address import store_address
        from honestone.engine.journal import turn
        from honestone.ports import RunOrigin
        store = PostgresStore(store_address(sys.argv[1]), Path(sys.argv[2]), origin=RunOrigin())
        rates = RateLimits(account="one", requests_per_minute=600)

        async def caller():
            for _ in range(12):
                async with turn(store.journal, rates):
                    print(time.time(), flush=True)

        async def work():
            await asyncio.gather(*(caller() for _ in range(4)))

        asyncio.run(work())
        store.close()
    """
    words = [sys.executable, "-c", program, url, str(tmp_path)]
    started = [subprocess.Popen(words, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    said = [one.communicate(timeout=120)[0] for one in started]
    assert [one.returncode for one in started] == [0, 0, 0]
    times = sorted(float(line) for text in said for line in text.split())
    assert len(times) == 144
    for begin in times:
        assert (
            sum(begin <= one < begin + 10 for one in times) <= 100 + 10 + 3
        )  # a late start of some calls
    assert times[-1] - times[0] < 60


def test_ten_processes_open_create_and_write_at_the_same_moment(url: str, tmp_path: Path) -> None:
    """The tables are made once, every event is there in its process's order, and every id is
    another.
    """
    program = """if True:
        import sys
        from pathlib import Path
        from honestone.adapters.stores.postgres import PostgresStore
        from honestone.core.record.store_address import store_address
        from honestone.ports import RunOrigin
        store = PostgresStore(store_address(sys.argv[1]), Path(sys.argv[2]), origin=RunOrigin())
        number = int(sys.argv[3])
        run = store.start_run(kind="eval", subject="s", identity=f"i{number}", contract="c", first={"type": "started"})
        for n in range(10):
            store.append(run, {"type": "check", "n": n}, {"shared": b"the same", f"{number}-{n}": b"own"})
            store.keep_reply("key", f"judge {number}", {"n": n})
        print(run)
        store.close()
    """

    def one(number: int) -> str:
        words = [sys.executable, "-c", program, url, str(tmp_path), str(number)]
        done = subprocess.run(words, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    with ThreadPoolExecutor(10) as pool:
        runs = list(pool.map(one, range(10)))
    store = opened(url, tmp_path)
    assert len(set(runs)) == 10 and {info.id for info in store.runs()} == set(runs)
    for run in runs:
        assert [event_to_plain(event).get("n") for event in store.events(run)] == [None, *range(10)]
    assert store.state().replies == 100
    store.close()


def test_two_processes_add_to_one_run(url: str, tmp_path: Path) -> None:
    """No event takes another's place, and each one's own stay in order."""
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())

    def write(number: int) -> None:
        mine = opened(url, tmp_path)
        for n in range(20):
            mine.append(run, first(by=number, n=n))
        mine.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    log = [event_to_plain(event) for event in store.events(run)][1:]
    for number in range(4):
        assert [event["n"] for event in log if event["by"] == number] == list(range(20))
    store.close()


def test_a_run_of_many_pages_is_read_whole(url: str, tmp_path: Path) -> None:
    """More events than are read at a time."""
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first(n=-1))
    store.append_many(run, [first(n=n) for n in range(1200)])
    assert [event_to_plain(event)["n"] for event in store.iter_events(run, 1)] == list(range(1200))
    assert store.event_count(run) == 1201
    store.close()


def test_the_server_crashes_and_comes_back(server: Server, url: str, tmp_path: Path) -> None:
    """A command that writes goes through it: nothing is lost, nothing is there twice, and its claim
    still holds.
    """
    store, other = opened(url, tmp_path), opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    assert store.lock("sha256:run")
    restarts = 3
    done = threading.Event()

    def crash() -> None:
        for _ in range(restarts):
            time.sleep(0.3)
            server.stop()
            time.sleep(0.3)
            server.start()
        done.set()

    thread = threading.Thread(target=crash)
    thread.start()
    written = 0
    while not done.is_set() or written < 50:
        store.append(run, first(n=written))
        written += 1
    thread.join()
    assert [event_to_plain(event)["n"] for event in store.events(run)[1:]] == list(range(written))
    assert not other.lock("sha256:run")
    store.close()
    other.close()


def test_a_claim_that_another_took_meanwhile_is_said(
    server: Server, url: str, tmp_path: Path
) -> None:
    """After an outage the first command does not work on a run that a second one has taken up."""
    store, other = opened(url, tmp_path), opened(url, tmp_path)
    assert store.lock("sha256:run")
    server.stop()
    server.start()
    assert other.lock("sha256:run")
    with pytest.raises(StoreError, match="another command"):
        store.runs()
    store.close()
    other.close()


def test_a_server_that_stays_away_ends_the_command_with_a_hint(
    server: Server, url: str, tmp_path: Path
) -> None:
    """After `patience` seconds: exit code 3, and without the password."""
    store = opened(url, tmp_path, patience=0.5)
    server.stop()
    try:
        with pytest.raises(StoreAway) as caught:
            store.runs()
        assert caught.value.exit_code == 3 and PASSWORD not in str(caught.value)
    finally:
        server.start()
    assert store.runs() == []
    store.close()


def test_a_store_of_another_format_is_refused(server: Server, url: str, tmp_path: Path) -> None:
    """A newer one, and one whose tables are missing for who only reads."""
    with pytest.raises(NoStoreError):
        opened(url, tmp_path, readonly=True)
    opened(url, tmp_path).close()
    server.sql("update honestone.format set version = 99", url.rpartition("/")[2])
    with pytest.raises(StoreError, match="newer"):
        opened(url, tmp_path)


def test_a_role_that_may_only_read(server: Server, url: str, tmp_path: Path) -> None:
    """It reads runs, and a write is refused in words."""
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    database = url.rpartition("/")[2]
    role = f"reader_{database}"
    server.sql(f"create role {role} login password 'reader'", database)
    server.sql(f"grant usage on schema honestone to {role}", database)
    server.sql(f"grant select on all tables in schema honestone to {role}", database)
    reader = opened(server.url(database, user=role, password="reader"), tmp_path)
    assert [info.id for info in reader.runs()] == [run] and len(reader.events(run)) == 1
    with pytest.raises(StoreError, match="permission denied") as caught:
        reader.keep_reply("key", "judge", {})
    assert "rights" in str(caught.value.hint)
    reader.close()
    store.close()


def test_last_is_of_this_project(url: str, tmp_path: Path) -> None:
    """A colleague's run of another project is listed, and is never `last`."""
    fruit, other = (
        opened(url, tmp_path),
        opened(url, tmp_path, origin=RunOrigin(project="music", person="bob@desk")),
    )
    facts = {"kind": "eval", "identity": "i", "contract": "c", "first": first()}
    mine = fruit.start_run(subject="a", **facts)
    theirs = other.start_run(subject="b", **facts)
    assert fruit.find_run("last").id == mine and other.find_run("last").id == theirs
    assert [info.id for info in fruit.runs()] == [theirs, mine]
    assert [(info.project, info.person) for info in fruit.runs(own=True)] == [("fruit", "ann@desk")]
    anyone = opened(url, tmp_path, origin=RunOrigin())
    assert anyone.find_run("last").id == theirs
    for store in (fruit, other, anyone):
        store.close()


def test_hostile_texts(url: str, tmp_path: Path) -> None:
    """Paths of bytes that are not UTF-8, and replies with U+0000 and half of a surrogate pair."""
    store = opened(url, tmp_path)
    store.start_run(
        kind="eval", subject="a\udcffb\0c", identity="i", contract="c", first=first(text="\0 é")
    )
    assert store.runs()[0].subject == "a\\udcffb\\x00c"
    store.keep_reply("k", "j\0", {"text": "\0 \ud800"})
    found = store.reply("k")
    assert found is not None and found["text"] == "\0 \ud800"
    assert json.loads(store.replies(["k"])["k"]) == found
    store.close()


def test_writers_of_one_run_take_turns(url: str, tmp_path: Path, server: Server) -> None:
    """Four at once, one event or three at a time: no transaction is begun again because another
    took its number.
    """
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())

    def write(number: int) -> None:
        own = opened(url, tmp_path)
        for step in range(20):
            own.append(run, first(number=number, step=step))
            own.append_many(run, [first(number=number, step=step, part=part) for part in range(3)])
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    assert store.event_count(run) == 1 + 4 * 20 * 4
    store.close()
    name = url.rpartition("/")[2]
    counts = f"select xact_commit, xact_rollback from pg_stat_database where datname = '{name}'"
    end = time.monotonic() + 60
    while True:  # the server counts when a connection has ended
        commits, rollbacks = map(int, server.sql(counts, "postgres").split("|"))
        if commits >= 4 * 20 * 2:
            break
        assert time.monotonic() < end, "the transactions were not counted"
        time.sleep(0.1)
    assert rollbacks == 0


def test_the_events_of_many_cases_are_those_that_memory_gives(url: str, tmp_path: Path) -> None:
    """In whatever order the cases are asked for, whatever they are called, and with judgements that
    a limit refused. What is put on record later is not among them.
    """
    ids = ["\ud800", "\\ud800", *(f"c{number}" for number in range(600))]
    rubric = Rubric(
        criteria=(Criterion(id="a", requirement="A", items=(Item(id="q", requirement="Q"),)),)
    )
    cases = [
        RecordedCase.of(
            Case(id=id, rubric=rubric, attempts=2), rubric="r", contract="c", asked=None
        )
        for id in ids
    ]
    begun = SuiteStarted(
        contract={},
        contract_id="c",
        suite=StartedSuite(path="s"),
        rubrics={"r": rubric},
        cases=tuple(cases),
    )
    log: list[Event] = [
        OutputProduced(case=id, attempt=number, output=id) for number in (1, 2) for id in ids[::-1]
    ]
    log += [
        AttemptJudged(case=id, attempt=1, ballots=(), refused="no call is left") for id in ids[:30]
    ]
    log += [AttemptJudged(case=id, attempt=1, ballots=()) for id in ids[10:50]]
    shared, memory = opened(url, tmp_path), MemoryStore()
    read = []
    for store in (shared, memory):
        run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=begun)
        store.append_many(run, log)
        read.append(store.by_case(run))
        store.append(run, OutputProduced(case="c0", attempt=3, output="late"))
        store.append(run, AttemptJudged(case="c599", attempt=1, ballots=()))
    of_shared, of_memory = read
    for order in (ids, ids[::-1], ids[::7], ["none"]):
        for id in order:
            assert list(of_shared(id)) == list(of_memory(id)), id
    assert len(list(of_shared("c10"))) == 4
    shared.close()
    memory.close()


class Cutting(Sequence[RecordedCase]):
    """Cases whose reader loses its connection in their middle, once."""

    def __init__(self, cases: Sequence[RecordedCase], cut: Callable[[], object]) -> None:
        self._cases, self._cuts = cases, [cut]

    def __len__(self) -> int:
        return len(self._cases)

    def __getitem__(self, index: Any) -> Any:
        if index == 1_200 and self._cuts:
            self._cuts.pop()()
        return self._cases[index]


def test_a_run_whose_start_is_cut_has_all_of_its_cases(
    server: Server, url: str, tmp_path: Path
) -> None:
    """The transaction that begins again writes every one of them, not only those that the first had
    not come to.
    """
    rubric = Rubric(
        criteria=(Criterion(id="a", requirement="A", items=(Item(id="q", requirement="Q"),)),)
    )
    cases = [
        RecordedCase.of(Case(id=f"c{n}", rubric=rubric), rubric="r", contract="c", asked=None)
        for n in range(1_500)
    ]
    end = "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()"
    cutting = Cutting(cases, lambda: server.sql(end, url.rpartition("/")[2]))
    store = opened(url, tmp_path)
    begun = SuiteStarted(
        contract={},
        contract_id="c",
        suite=StartedSuite(path="s"),
        rubrics={"r": rubric},
        cases=cutting,
    )
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=begun)
    found = next(store.iter_events(run))
    assert isinstance(found, SuiteStarted) and [one.id for one in found.cases] == [
        one.id for one in cases
    ]
    assert not cutting._cuts
    store.close()


def test_a_list_of_runs_asks_three_times_for_each(url: str, tmp_path: Path) -> None:
    """For the first event, for its cases, and for the others: a list of many runs waits for each
    answer.
    """
    rubric = Rubric(
        criteria=(Criterion(id="a", requirement="A", items=(Item(id="q", requirement="Q"),)),)
    )
    cases = [
        RecordedCase.of(Case(id=f"c{n}", rubric=rubric), rubric="r", contract="c", asked=None)
        for n in range(20)
    ]
    store = opened(url, tmp_path)
    begun = SuiteStarted(
        contract={},
        contract_id="c",
        suite=StartedSuite(path="s"),
        rubrics={"r": rubric},
        cases=tuple(cases),
    )
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=begun)
    store.append_many(run, [AttemptJudged(case=one.id, attempt=1, ballots=()) for one in cases])
    asked = []
    read = store.connection.read
    store.connection.read = lambda work: (asked.append(work), read(work))[1]
    record = read_record(store.events(run), run=run)
    assert len(record.cases) == 20 and len(asked) == 3
    store.close()
