"""What the people of a server do to it in the middle of a run: it takes no writes, has limits of
its own, is migrated, is ended; clocks that are wrong. The report is what it would have been, and
nothing that was paid for is lost.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.desk import Desk, until
from tests.cluster.test_postgres import first, opened
from tests.cluster.test_remote import EVAL, bare, gated, ordered, project

from honestone.core.errors import StoreAway

from .server import Server
from .site import Site

__all__ = ["project"]

FULL = """
create function honestone.full() returns trigger language plpgsql as
$$ begin raise exception 'could not extend file: No space left on device' using errcode = '53100'; end $$;
create trigger full_disk before insert on honestone.{table} for each row execute function honestone.full()
"""
ENOUGH = "drop trigger full_disk on honestone.{table}; drop function honestone.full()"
STANDBY = "alter database {name} set default_transaction_read_only = on"
PRIMARY = "alter database {name} set default_transaction_read_only = off"
CUT = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'honestone' and datname = '{name}'"
HARD = """
alter database {name} set statement_timeout = '200ms'; alter database {name} set lock_timeout = '200ms';
alter database {name} set idle_in_transaction_session_timeout = '200ms'; alter database {name} set idle_session_timeout = '400ms';
alter database {name} set default_transaction_isolation = 'serializable'
"""


def name_of(url: str) -> str:
    return url.rpartition("/")[2]


def tell(server: Server, url: str, *texts: str) -> None:
    """Tables are changed in the database itself; it is changed from another one, since its own
    sessions may not write.
    """
    name = name_of(url)
    for text in texts:
        for part in [text] if text is FULL else text.split(";\n"):
            server.sql(
                part.format(name=name, table="replies"),
                name if "honestone." in part else "postgres",
            )


@pytest.mark.parametrize(
    ("before", "after"), [((FULL,), (ENOUGH,)), ((STANDBY, CUT), (PRIMARY, CUT))]
)
def test_a_paid_reply_outlasts_a_server_that_takes_no_writes(
    before: tuple[str, ...], after: tuple[str, ...], server: Server, url: str, tmp_path: Path
) -> None:
    """It waits on this machine's disk, and is in the store, once, when that takes it."""
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    tell(server, url, *before)
    keeping = threading.Thread(target=lambda: store.keep_reply("key", "judge", {"text": "yes"}))
    keeping.start()
    assert until(lambda: any(tmp_path.glob("undelivered/*/*.json")))
    tell(server, url, *after)
    keeping.join(30)
    assert [one.data for one in store.answers(["key"])["key"]] == [b'{"text":"yes"}']
    assert not any(tmp_path.glob("undelivered/*/*.json")) and store.append(run, first(n=1)) is None
    store.close()


def test_a_server_that_takes_no_writes_for_too_long(
    server: Server, url: str, tmp_path: Path
) -> None:
    """The command ends with the reason. One that begins then ends at once."""
    store = opened(url, tmp_path, patience=1)
    store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    tell(server, url, FULL)
    with pytest.raises(StoreAway, match=r"refuses to write .*No space left"):
        store.keep_reply("key", "judge", {"text": "yes"})
    store.close()


def test_a_command_on_a_server_that_takes_no_writes_says_so(
    project: Desk, server: Server, url: str
) -> None:
    assert project.run("store", "migrate").code == 0
    tell(server, url, STANDBY)
    tried = project.run(*EVAL, timeout=60)
    assert tried.code == 2 and "read-only" in tried.err, tried.err


def test_a_server_becomes_a_standby_and_a_primary_again(
    project: Desk, site: Site, server: Server, url: str
) -> None:
    """Coordinator and runner wait. The report is that of a run in which nothing happened."""
    gate = gated(project)
    runner, watching = site.runner("--concurrency", "3"), ordered(site)
    assert until(lambda: len(site.in_hand()) == 3)
    tell(server, url, STANDBY, CUT)
    gate.touch()
    time.sleep(2)
    assert runner.poll() is None and watching.poll() is None
    tell(server, url, PRIMARY, CUT)
    out, err = watching.communicate(timeout=120)
    assert watching.returncode == 1, err
    assert json.loads(out)["counts"] | {"passed": 4, "failed": 2} == json.loads(out)["counts"]


def test_limits_of_the_database_are_not_ours(
    project: Desk, site: Site, server: Server, url: str, tmp_path: Path
) -> None:
    """Short limits for statements, locks and idle sessions, and another isolation, end no command
    and change no report.
    """
    alone = project.run(*EVAL, "--store", str(tmp_path / "alone"))
    tell(server, url, HARD)
    gate = gated(project)
    site.runner("--concurrency", "3"), site.runner("--concurrency", "3")
    watching = ordered(site)
    assert until(lambda: len(site.in_hand()) == 6)
    time.sleep(1)
    gate.touch()
    out, err = watching.communicate(timeout=120)
    assert watching.returncode == 1, err
    assert bare(json.loads(out)["cases"]) == bare(json.loads(alone.out)["cases"])


def test_store_migrate_in_the_middle_of_a_run(project: Desk, site: Site) -> None:
    gate = gated(project)
    site.runner("--concurrency", "3")
    watching = ordered(site)
    assert until(lambda: len(site.in_hand()) == 3)
    done = [site.here("store", "migrate") for _ in range(3)]
    assert [one.wait(60) for one in done] == [0, 0, 0]
    gate.touch()
    out, err = watching.communicate(timeout=120)
    assert watching.returncode == 1 and json.loads(out)["counts"]["passed"] == 4, err


def test_two_coordinators_that_start_at_once(project: Desk, site: Site) -> None:
    """One of them orders; the other is refused, and each case is run once."""
    asked = project.folder.parent / "asked"
    project.file("tools/target.sh", f"echo x >> {asked}; sleep 1; cat\n")
    site.runner("--concurrency", "6")
    both = [ordered(site), ordered(site)]
    said = [one.communicate(timeout=120)[1] for one in both]
    assert sorted(one.returncode for one in both) == [1, 2], said
    assert "another command is running this suite already" in "".join(said)
    assert len(site.runs()) == 1 and asked.read_text().count("x") == 6


# A clock that says which time it is; none that measures how long something takes.
SHIFTED = """import os, time
by, ns, now = float(os.environ["SHIFTED_BY"]), time.time_ns, time.time
time.time, time.time_ns = (lambda: now() + by), (lambda: ns() + int(by * 1e9))
"""
HOUR = 3600


@pytest.mark.parametrize(("ours", "theirs"), [(-3 * HOUR, 48 * HOUR), (HOUR, -24 * HOUR)])
def test_clocks_that_are_hours_wrong(
    ours: int, theirs: int, project: Desk, site: Site, tmp_path: Path
) -> None:
    """Of the coordinator, of a runner, and one that is right: no one is taken for dead, and no case
    is run twice.
    """
    gate, asked = gated(project), project.folder.parent / "asked"
    project.file(
        "tools/target.sh", f"echo x >> {asked}; while [ ! -e {gate} ]; do sleep 0.1; done; cat\n"
    )
    (tmp_path / "shifted").mkdir()
    (tmp_path / "shifted" / "sitecustomize.py").write_text(SHIFTED)

    def wrong(by: int) -> dict[str, str]:
        return {"PYTHONPATH": str(tmp_path / "shifted"), "SHIFTED_BY": str(by)}

    site.runner("--concurrency", "2", **wrong(theirs)), site.runner("--concurrency", "1")
    watching = site.order(*EVAL[2:-2], **wrong(ours))
    assert until(lambda: len(site.in_hand()) == 3)
    seen = json.loads(project.run("runners", "--json").out)
    assert [one["state"] for one in seen] == ["working", "working"]
    assert all(one["last_heartbeat_seconds"] < 30 for one in seen)
    time.sleep(4)  # longer than a silent runner is waited for
    gate.touch()
    out, err = watching.communicate(timeout=120)
    assert watching.returncode == 1 and json.loads(out)["counts"]["passed"] == 4, err
    assert asked.read_text().count("x") == 6
    (run,) = site.runs()
    assert run["duration_ms"] < 60_000  # type: ignore[operator]


def test_a_server_that_restarts_while_a_store_is_copied(
    desk: Desk, site: Site, server: Server, url: str
) -> None:
    """The copy goes on, and has every row once."""
    desk.file(
        "suite.json",
        json.dumps(
            {
                "suite": 1,
                "target": "mock",
                "cases": [{"id": "a", "input": "x", "checks": [{"contains": "x"}]}],
            }
        ),
    )
    desk.run("eval", "suite.json", "--store", "first")
    [file] = (desk.folder / "first").glob("*.db")
    with closing(sqlite3.connect(file)) as db, db:
        row = ("judge", "2026-01-01T00:00:00.000+00:00", b"{}")
        db.executemany(
            "insert into replies (key, judge, at, data) values (?, ?, ?, ?)",
            ((f"k{n}", *row) for n in range(20_000)),
        )
    copying = site.here("store", "copy", "first", url, "--json")
    count = "select count(*) from honestone.replies"
    assert until(
        lambda: (
            server.sql(count, name_of(url), check=False).isdecimal()
            and int(server.sql(count, name_of(url))) > 500
        )
    )
    server.stop()
    server.start()
    _, err = copying.communicate(timeout=180)
    assert copying.returncode == 0, err
    assert (
        server.sql(count, name_of(url))
        == server.sql(count.replace("*", "distinct key"), name_of(url))
        == "20000"
    )
