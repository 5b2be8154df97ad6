"""The queue of a shared store: ordered in one transaction with the run, taken once, given back by
whoever died.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from tests.cli.desk import until

from honestone.adapters.registry import open_queue, open_store
from honestone.adapters.stores.place import StorePlace
from honestone.core.errors import StoreError
from honestone.core.events import RunFinished
from honestone.core.record.queue import LOST, RefusedRun, RunnerCard
from honestone.core.record.store_address import store_address
from honestone.ports import Queue, Store

from .server import Server

pytest.importorskip("procrastinate", reason="the extra `cluster` is not installed")
CARD = RunnerCard(host="desk", person="ann@desk", version="1", concurrency=4)


@pytest.fixture
def place(url: str, tmp_path: Path) -> StorePlace:
    return StorePlace(folder=tmp_path / "store", address=store_address(url))


@pytest.fixture
def store(place: StorePlace) -> Iterator[Store]:
    with closing(open_store(place, readonly=False)) as opened:
        yield opened


@pytest.fixture
def queue(place: StorePlace, store: Store) -> Iterator[Queue]:
    """A runner's: over a connection of its own."""
    with closing(open_queue(place)) as opened:
        yield opened


def start(store: Store) -> Callable[[], str]:
    return lambda: store.start_run(
        kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
    )


def ordered(place: StorePlace, store: Store, cases: list[str], priority: int = 0) -> str:
    return open_queue(place, store).order(start(store), b"plan", cases, priority=priority)


def test_a_run_its_order_and_its_cases_are_there_together(
    place: StorePlace, store: Store, queue: Queue
) -> None:
    """Where one of them fails none is there."""
    run = ordered(place, store, ["a", "b\0", "c\\n", "ä\ud800"])
    assert (
        queue.orders() == [run] and queue.plan_of(run) == b"plan" and queue.waiting(run).todo == 4
    )
    runner = queue.beat(None, CARD)
    taken = [*queue.take([run], runner), *queue.take([run], runner, 4)]
    assert [one.case for one in taken] == ["a", "b\0", "c\\n", "ä\ud800"] and queue.waiting(
        run
    ).doing == 4

    def broken() -> str:
        start(store)()
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        open_queue(place, store).order(broken, b"", ["a"], priority=0)
    assert len(store.runs()) == 1


def test_a_case_is_taken_once(place: StorePlace, store: Store) -> None:
    """By one of several runners at the same time, and never of a run that a runner did not name."""
    run, other = (
        ordered(place, store, [str(n) for n in range(40)]),
        ordered(place, store, ["other"], priority=9),
    )

    def work(number: int) -> list[str]:
        with closing(open_queue(place)) as queue:
            runner, found = queue.beat(None, CARD), list[str]()
            taken = queue.take([run], runner, 3)
            while taken:
                found += [case.case for case in taken]
                taken = queue.take([run], runner, 3, done=taken)
            return found

    with ThreadPoolExecutor(4) as pool:
        taken = [case for found in pool.map(work, range(4)) for case in found]
    assert sorted(taken, key=int) == [str(n) for n in range(40)]
    with closing(open_queue(place)) as queue:
        assert (
            queue.orders() == [other, run]
            and queue.waiting(run).left == 0
            and queue.waiting(other).todo == 1
        )
        assert queue.take([], queue.beat(None, CARD)) == []


def test_a_dead_runner_loses_its_cases_and_a_slow_one_only_those(
    place: StorePlace, store: Store, queue: Queue, server: Server
) -> None:
    """Who was given up has another number at its next heartbeat; what it finishes late changes
    nothing.
    """
    run = ordered(place, store, ["a"])
    dead = queue.beat(None, CARD)
    (held,) = queue.take([run], dead)
    assert queue.sweep(600) == [] and queue.waiting(run).doing == 1
    _silent(server, place)
    assert queue.sweep(0.5) == [] and queue.runners() == [] and queue.waiting(run).todo == 1
    assert queue.take([run], dead) == [], (
        "until its next heartbeat, with which it gets another number"
    )
    alive = queue.beat(None, CARD)
    (again,) = queue.take([run], alive)
    assert (again.id, again.deaths) == (held.id, 1)
    queue.give_back(held, dead)
    assert queue.waiting(run).doing == 1, "it is another runner's now"
    assert queue.beat(dead, CARD) not in (dead, alive)
    queue.done([held])
    queue.done([again])
    assert queue.waiting(run).left == 0


def test_only_errors_and_deaths_are_counted(
    place: StorePlace, store: Store, queue: Queue, server: Server
) -> None:
    """Each apart. A case that a runner refuses, or gives back because it ends, was not tried."""
    run = ordered(place, store, ["a\0'\"; drop"])
    runner = queue.beat(None, CARD)
    for errors in (0, 0, 0, 1, 2):
        (case,) = queue.take([run], runner)
        assert (case.case, case.errors, case.deaths) == ("a\0'\"; drop", max(0, errors - 1), 0)
        queue.give_back(case, runner, is_error=errors > 0)
        queue.give_back(case, runner, is_error=True)  # it is not this runner's any more
    (case,) = queue.take([run], runner)
    _silent(server, place)
    assert queue.sweep(0.5) == []
    (case,) = queue.take([run], queue.beat(None, CARD))
    assert (case.errors, case.deaths) == (2, 1)


def test_a_case_whose_runners_always_die_is_left_to_the_sweeper(
    place: StorePlace, store: Store, queue: Queue, server: Server
) -> None:
    """It is not begun for ever."""
    run = ordered(place, store, ["a"])
    for deaths in range(LOST):
        (case,) = queue.take([run], queue.beat(None, CARD))
        assert (case.deaths, case.errors) == (deaths, 0)
        _silent(server, place)
        queue.beat(None, CARD)  # the runner that sweeps
        lost = queue.sweep(0.5)
    assert [one.case for one in lost] == ["a"]
    queue.done(lost)
    assert queue.waiting(run).left == 0


def test_nothing_is_given_up_soon_after_the_server_was_started(
    place: StorePlace, store: Store, queue: Queue, server: Server
) -> None:
    """After an outage every heartbeat is old."""
    run = ordered(place, store, ["a"])
    assert len(queue.take([run], queue.beat(None, CARD))) == 1
    _silent(server, place)
    server.stop()
    server.start()
    assert queue.sweep(60) == [] and queue.waiting(run).doing == 1 and len(queue.runners()) == 1


def test_a_runner_says_how_it_is_and_leaves(place: StorePlace, store: Store, queue: Queue) -> None:
    """What it refuses and why is there for whoever looks."""
    refused = RefusedRun(run="R", reason="DESK_KEY is not set", remedy="export it")
    number = queue.beat(None, CARD)
    assert (
        queue.beat(
            number, RunnerCard(**{**_plain(CARD), "refused": (refused,), "in_hand": ("R a",)})
        )
        == number
    )
    (seen,) = queue.runners()
    assert (
        seen.id == number
        and seen.card.refused == (refused,)
        and seen.card.in_hand == ("R a",)
        and seen.age < 60
    )
    queue.leave(number)
    assert queue.runners() == []


def test_a_run_that_is_paused_ended_or_finished_is_not_taken(
    place: StorePlace, store: Store, queue: Queue
) -> None:
    """It is in the queue again when it is ordered again, without what is there already."""
    run = ordered(place, store, ["a", "é\ud800\0"])
    queue.pause(run)
    assert queue.orders() == []
    queue.queue_again(run, ["a", "é\ud800\0", "c"], priority=3)
    assert queue.orders() == [run] and queue.waiting(run).todo == 3
    store.finish_run(run, "pass", RunFinished(result="pass"))
    assert queue.orders() == []
    queue.end(run)
    assert queue.waiting(run).left == 0 and queue.plan_of(run) is None


def test_a_folder_has_no_queue(tmp_path: Path) -> None:
    """The error says how a shared store is named."""
    with pytest.raises(StoreError) as refused:
        open_queue(StorePlace(folder=tmp_path))
    assert "HONESTONE_STORE" in (refused.value.hint or "")


def _plain(card: RunnerCard) -> dict[str, object]:
    return {name: getattr(card, name) for name in ("host", "person", "version", "concurrency")}


def _silent(server: Server, place: StorePlace) -> None:
    """As after a minute without a heartbeat."""
    assert place.address is not None
    name = place.address.url.rpartition("/")[2]
    # Nothing is swept soon after the server was started.
    assert until(
        lambda: (
            server.sql("select now() - pg_postmaster_start_time() > interval '1 second'", name)
            == "t"
        )
    )
    server.sql(
        "update honestone.procrastinate_workers set last_heartbeat = last_heartbeat - interval '1 minute'",
        name,
    )
