"""Records of many writers: who reads on misses nothing, an attempt is there once, older formats,
and what autoscalers ask.
"""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from honestone.adapters.registry import open_queue
from honestone.adapters.stores.place import StorePlace
from honestone.core.errors import StoreError
from honestone.core.events import (
    Event,
    OutputProduced,
    RecordedCase,
    RunFinished,
    StartedSuite,
    SuiteStarted,
)
from honestone.core.record.queue import RunnerCard
from honestone.core.record.store_address import StoreAddress, store_address
from honestone.ports import RunOrigin

from .server import Server
from .test_postgres import first, opened

WRITERS, EACH = 6, 60


def test_who_reads_on_sees_every_event_once(url: str, tmp_path: Path) -> None:
    """While six processes write to one run: what a watcher has read is always the beginning of the
    whole.
    """
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    done = threading.Event()

    def write(number: int) -> None:
        mine = opened(url, tmp_path)
        for n in range(EACH):
            mine.append(run, OutputProduced(case=f"{number}", attempt=n, output=""))
        mine.close()

    def watch() -> list[Event]:
        mine, seen, is_last = opened(url, tmp_path), list[Event](), False
        while True:
            seen += mine.iter_events(run, len(seen))
            if is_last:
                mine.close()
                return seen
            is_last = done.wait(0.002)

    with ThreadPoolExecutor(WRITERS + 1) as pool:
        watcher = pool.submit(watch)
        list(pool.map(write, range(WRITERS)))
        done.set()
        seen = watcher.result(60)
    assert seen == store.events(run) and len(seen) == 1 + WRITERS * EACH
    store.close()


def test_of_many_writers_of_an_attempt_one_counts(url: str, tmp_path: Path) -> None:
    """All of them continue with the same output, also where they write several at once."""
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())

    def write(number: int) -> list[str]:
        mine, kept = opened(url, tmp_path), list[str]()
        for n in range(20):
            made = OutputProduced(case="one", attempt=n, output=f"{number}")
            more = OutputProduced(case="two", attempt=n, output=f"{number}")
            lost = mine.append_many(run, [made, more]) if n % 2 else {0: mine.append(run, made)}
            other = lost.get(0)
            assert other is None or isinstance(other, OutputProduced)
            kept.append(made.output if other is None else other.output)
        mine.close()
        return kept

    with ThreadPoolExecutor(WRITERS) as pool:
        every = list(pool.map(write, range(WRITERS)))
    assert all(kept == every[0] for kept in every)
    outputs = [event for event in store.events(run) if isinstance(event, OutputProduced)]
    assert len(outputs) == 30 and len({(event.case, event.attempt) for event in outputs}) == 30
    store.close()


def test_a_store_of_the_format_before_is_migrated(server: Server, url: str, tmp_path: Path) -> None:
    """Only by `store migrate`; a run with its cases in its first event is read as one with rows,
    and what was added is there.
    """
    from importlib.resources import files

    from honestone.adapters.stores.postgres import FORMAT, PostgresStore
    from honestone.adapters.stores.stored import encode, plain_event

    database = url.rpartition("/")[2]
    server.sql(
        (files("honestone.adapters.stores.migrations") / "postgres-1.sql").read_text(), database
    )
    server.sql("insert into honestone.format values (1)", database)
    case = RecordedCase({"id": "one", "attempts": 1, "rubric": "r", "contract": "c"})
    started = SuiteStarted(
        suite=StartedSuite(path="s"), contract={}, contract_id="c", rubrics={}, cases=(case,)
    )
    data = encode(plain_event(started)).hex()
    server.sql(f"insert into honestone.events values ('OLD', 1, decode('{data}', 'hex'))", database)
    with pytest.raises(StoreError, match="older format"):
        opened(url, tmp_path)
    address = store_address(url)
    assert isinstance(address, StoreAddress)
    store = PostgresStore(address, tmp_path, origin=RunOrigin(), migrates=True)
    assert store.format == FORMAT
    (found,) = store.events("OLD")
    assert found == started
    new = store.start_run(
        kind="suite",
        subject="s",
        identity="i",
        contract="c",
        first=replace(started, contract_id="d"),
    )
    assert store.cases_of(new, ["one"]) == {"one": (case, [])} and store.events(new) == [
        replace(started, contract_id="d")
    ]
    store.close()


def test_an_autoscaler_asks_a_view(server: Server, url: str, tmp_path: Path) -> None:
    """0 where no run was ever ordered; then what waits and what is in hand, but of no run that is
    paused or over. Its role may read nothing else.
    """
    pytest.importorskip("procrastinate", reason="the extra `cluster` is not installed")
    place, database = (
        StorePlace(folder=tmp_path, address=store_address(url)),
        url.rpartition("/")[2],
    )
    role = f"scaler_{database}"

    def depth() -> str:
        return server.sql(
            f"set role {role}; select waiting, in_hand from honestone.queue_depth", database
        ).split()[-1]

    with closing(opened(url, tmp_path)) as store:
        server.sql(f"create role {role}", database)
        server.sql(f"grant usage on schema honestone to {role}", database)
        server.sql(f"grant select on honestone.queue_depth to {role}", database)
        assert depth() == "0|0"

        def start() -> str:
            return store.start_run(
                kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
            )

        queue = open_queue(place, store)
        run, other = (
            queue.order(start, b"plan", names, priority=0) for names in (["a", "b", "c"], ["d"])
        )
        queue.take(
            [run], queue.beat(None, RunnerCard(host="h", person="p", version="1", concurrency=1))
        )
        assert depth() == "3|1"
        queue.pause(run)
        assert depth() == "1|0"
        store.finish_run(other, "pass", RunFinished(result="pass"))
        assert depth() == "0|0"
        said = server.sql(
            f"set role {role}; select * from honestone.procrastinate_jobs", database, check=False
        )
        assert "permission denied" in said


def test_a_run_is_cancelled_by_another_machine(url: str, tmp_path: Path) -> None:
    """Its store says so at the next look, which is one small query."""
    store, other = opened(url, tmp_path), opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    assert store.result_of(run) is None and store.result_of("nothing") is None
    other.finish_run(
        run, "interrupted", RunFinished(result="interrupted", reason="cancelled by bob@desk")
    )
    assert store.result_of(run) == "interrupted" and store.unfinished("i") is None
    store.close()
    other.close()
