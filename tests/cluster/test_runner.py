"""Runners on a real queue: every case is worked on once, by whoever is alive; what is refused is
said; what is stopped ends in order.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from msgspec.structs import replace

from honestone.adapters.registry import open_queue, open_store
from honestone.adapters.stores.place import StorePlace
from honestone.core.errors import StoreError
from honestone.core.record.queue import QueuedCase, RunnerCard
from honestone.core.record.store_address import store_address
from honestone.engine.runner import Heartbeat, RunnerLoop, RunRefused, RunSession
from honestone.ports import Store

from .server import Server

pytest.importorskip("procrastinate", reason="the extra `cluster` is not installed")
CARD = RunnerCard(host="desk", person="ann@desk", version="1", concurrency=4)
BEAT = 0.2


class Session:
    """Works on cases for the seconds that `does` says, and not before the gate is open; `worked`
    and `given_up` are what came of it.
    """

    def __init__(self, does: Callable[[QueuedCase], float]) -> None:
        self.does = does
        self.concurrency: int | None = None
        self.gate: asyncio.Event | None = None
        self.worked: list[str] = []
        self.given_up: dict[str, str] = {}
        self.is_closed = False
        self.was_cancelled = False
        self.not_begun: set[str] = set()

    async def work(self, case: QueuedCase) -> None:
        await asyncio.sleep(self.does(case))
        if self.gate is not None:
            await self.gate.wait()
        self.worked.append(case.case)

    async def give_up(self, case: QueuedCase, reason: str) -> None:
        self.given_up[case.case] = reason

    def has_begun(self, case: QueuedCase) -> bool:
        return case.case not in self.not_begun

    async def is_cancelled(self) -> bool:
        return self.was_cancelled

    async def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def place(url: str, tmp_path: Path) -> StorePlace:
    return StorePlace(folder=tmp_path / "store", address=store_address(url))


@pytest.fixture
def store(place: StorePlace) -> Iterator[Store]:
    with closing(open_store(place, readonly=False)) as opened:
        yield opened


def ordered(place: StorePlace, store: Store, cases: int) -> str:
    def start() -> str:
        return store.start_run(
            kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
        )

    return open_queue(place, store).order(
        start, b"plan", [f"c{n}" for n in range(cases)], priority=0
    )


@contextmanager
def runner(
    place: StorePlace, session: Session | RunRefused, said: list[str], **more: object
) -> Iterator[RunnerLoop]:
    async def accept(run: str) -> RunSession:
        if isinstance(session, RunRefused):
            raise session
        return session

    heartbeat = Heartbeat(open_queue(place), CARD, BEAT)
    heartbeat.start()
    with closing(open_queue(place)) as queue:
        try:
            yield RunnerLoop(
                queue=queue, heartbeat=heartbeat, accept=accept, say=said.append, poll=0.05, **more
            )  # type: ignore[arg-type]
        finally:
            heartbeat.stop()


def test_two_runners_drain_a_run(place: StorePlace, store: Store) -> None:
    """Each case once, several at a time; then they end, and are gone from the list of runners."""
    run, one, two = (
        ordered(place, store, 30),
        Session(lambda case: 0.01),
        Session(lambda case: 0.01),
    )

    async def both(first: RunnerLoop, second: RunnerLoop) -> None:
        await asyncio.wait_for(asyncio.gather(first.work(), second.work()), 60)

    with (
        runner(place, one, [], drain=True) as first,
        runner(place, two, [], drain=True, concurrency=3) as second,
    ):
        asyncio.run(both(first, second))
        assert not first.has_refused_all
    assert (
        sorted(one.worked + two.worked) == sorted(f"c{n}" for n in range(30))
        and one.worked
        and two.worked
    )
    assert one.is_closed and two.is_closed
    with closing(open_queue(place)) as queue:
        assert queue.waiting(run).left == 0 and queue.runners() == []


def test_a_refused_run_is_named_and_not_touched(place: StorePlace, store: Store) -> None:
    """With the reason and the remedy, for a person and in the list of runners."""
    run, said = ordered(place, store, 2), list[str]()
    with runner(place, RunRefused("DESK_KEY is not set", "export it"), said, drain=True) as loop:
        asyncio.run(asyncio.wait_for(loop.work(), 30))
        assert loop.has_refused_all
    assert said == [f"refused run {run}: DESK_KEY is not set; export it", "ended after 0 cases"]
    with closing(open_queue(place)) as queue:
        assert queue.waiting(run).todo == 2


def test_a_refusal_is_listed_while_the_run_is_open(place: StorePlace, store: Store) -> None:
    """And not after it has ended: who reads the list would look for what is wrong with it."""
    run = ordered(place, store, 2)

    async def work(loop: RunnerLoop) -> None:
        working = asyncio.create_task(loop.work())
        while [no.run for no in loop.heartbeat.card.refused] != [run]:
            await asyncio.sleep(0.02)
        with closing(open_queue(place, store)) as queue:
            queue.end(run)
        while loop.heartbeat.card.refused:
            await asyncio.sleep(0.02)
        loop.stop()
        await working

    with runner(place, RunRefused("DESK_KEY is not set", "export it"), []) as loop:
        asyncio.run(asyncio.wait_for(work(loop), 60))


async def stopped_with(loop: RunnerLoop, session: Session, cases: int) -> asyncio.Task[None]:
    """The work of a runner that is stopped with so many cases in hand, which wait at the gate."""
    session.gate = asyncio.Event()
    working = asyncio.create_task(loop.work())
    while len(loop.heartbeat.card.in_hand) < cases:
        await asyncio.sleep(0.02)
    loop.stop()
    return working


def test_a_runner_that_is_stopped_finishes_what_it_has(place: StorePlace, store: Store) -> None:
    """Within its grace; it takes no more, and it beats meanwhile."""
    run, session, said = ordered(place, store, 5), Session(lambda case: 0), list[str]()

    async def work(loop: RunnerLoop) -> None:
        working = await stopped_with(loop, session, 2)
        beats = set[float]()
        with closing(open_queue(place)) as queue:
            while len(beats) < 3:
                (seen,) = queue.runners()
                if seen.card.is_stopping:
                    beats.add(round(seen.since - seen.age, 3))
                await asyncio.sleep(0.02)
        session.gate.set()
        await asyncio.wait_for(working, 30)

    with runner(place, session, said, concurrency=2, grace=60) as loop:
        asyncio.run(asyncio.wait_for(work(loop), 60))
    assert len(session.worked) == 2
    assert said[1:] == [
        "takes no more; finishes 2 cases in hand within 60 s",
        "ended after 2 cases",
    ]
    with closing(open_queue(place)) as queue:
        assert (queue.waiting(run).todo, queue.waiting(run).doing) == (3, 0)


def test_a_runner_that_is_stopped_gives_back_at_once_what_has_not_begun(
    place: StorePlace, store: Store
) -> None:
    """What begins after that may be cut off by the end of its grace, and was paid for then."""
    run, session, said = ordered(place, store, 4), Session(lambda case: 0), list[str]()
    session.not_begun = {"c1", "c2", "c3"}

    async def work(loop: RunnerLoop) -> None:
        working = await stopped_with(loop, session, 4)
        with closing(open_queue(place)) as queue:
            while queue.waiting(run).todo < 3:
                await asyncio.sleep(0.02)
        session.gate.set()
        await asyncio.wait_for(working, 60)

    with runner(place, session, said, grace=600) as loop:
        asyncio.run(asyncio.wait_for(work(loop), 120))
    assert session.worked == ["c0"]
    assert said[1:] == [
        "takes no more; finishes 1 case in hand within 600 s",
        "gives back 3 cases that had not begun",
        "ended after 1 case",
    ]
    with closing(open_queue(place)) as queue:
        assert (queue.waiting(run).todo, queue.waiting(run).doing) == (3, 0)


def test_nothing_begins_while_a_stopped_runner_gives_cases_back(
    place: StorePlace, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A case that ends meanwhile leaves its place to none of them: it would be cut off."""
    ordered(place, store, 6)
    waiting = {f"c{n}" for n in range(1, 6)}
    begun: list[str] = []

    class WithPlaces(Session):
        async def work(self, case: QueuedCase) -> None:
            if case.case in waiting:
                await places.wait()
                begun.append(case.case)
            await super().work(case)

    session = WithPlaces(lambda case: 0)
    session.not_begun = waiting

    async def work(loop: RunnerLoop) -> None:
        nonlocal places
        session.gate, places = asyncio.Event(), asyncio.Event()
        gate, return_case = session.gate, loop._return_case

        async def returned(case: QueuedCase) -> None:
            places.set()
            await return_case(case)
            gate.set()

        monkeypatch.setattr(loop, "_return_case", returned)
        working = asyncio.create_task(loop.work())
        while len(loop.heartbeat.card.in_hand) < 6:
            await asyncio.sleep(0.02)
        loop.stop()
        await asyncio.wait_for(working, 60)

    places = asyncio.Event()
    with runner(place, session, [], grace=600) as loop:
        asyncio.run(work(loop))
    assert (begun, session.worked) == ([], ["c0"])


def test_a_runner_that_is_stopped_drops_what_a_person_ends(place: StorePlace, store: Store) -> None:
    """It does not carry on with cases of a run that is cancelled, for the whole of its grace."""
    session, said = Session(lambda case: 600), list[str]()
    ordered(place, store, 2)

    async def work(loop: RunnerLoop) -> None:
        working = asyncio.create_task(loop.work())
        while len(loop.heartbeat.card.in_hand) < 2:
            await asyncio.sleep(0.02)
        loop.stop()
        while not loop.heartbeat.card.is_stopping:
            await asyncio.sleep(0.02)
        session.was_cancelled = True
        await asyncio.wait_for(working, 60)

    with runner(place, session, said, grace=600) as loop:
        asyncio.run(work(loop))
    assert session.worked == [] and said[2:] == ["ended after 0 cases"]


def test_what_does_not_end_within_the_grace_is_given_back(place: StorePlace, store: Store) -> None:
    """Another runner may take it at once."""
    run, session, said = ordered(place, store, 2), Session(lambda case: 60), list[str]()

    async def work(loop: RunnerLoop) -> None:
        working = asyncio.create_task(loop.work())
        while len(loop.heartbeat.card.in_hand) < 2:
            await asyncio.sleep(0.02)
        loop.stop()
        await asyncio.wait_for(working, 30)

    with runner(place, session, said, grace=0.1) as loop:
        asyncio.run(work(loop))
    assert said[2:] == ["gives back 2 cases to other runners", "ended after 0 cases"]
    assert session.worked == []
    with closing(open_queue(place)) as queue:
        assert (queue.waiting(run).todo, queue.waiting(run).doing) == (2, 0)


def test_a_run_with_a_limit_leaves_the_other_hands_to_other_runs(
    place: StorePlace, store: Store
) -> None:
    """Of a runner with seven hands, a run of two cases at a time gets two, though its cases are the
    first in the queue.
    """
    few, many = ordered(place, store, 9), ordered(place, store, 9)
    sessions = {few: Session(lambda case: 0), many: Session(lambda case: 0)}
    sessions[few].concurrency = 2

    async def accept(run: str) -> RunSession:
        return sessions[run]

    async def work(loop: RunnerLoop) -> None:
        loop.accept, gate = accept, asyncio.Event()
        for one in sessions.values():
            one.gate = gate
        working = asyncio.create_task(loop.work())
        while len(loop.heartbeat.card.in_hand) < 7:
            await asyncio.sleep(0.02)
        in_hand = [one.split()[0] for one in loop.heartbeat.card.in_hand]
        gate.set()
        await working
        assert (in_hand.count(few), in_hand.count(many)) == (2, 5)

    with runner(place, sessions[few], [], concurrency=7, drain=True) as loop:
        asyncio.run(asyncio.wait_for(work(loop), 60))
    assert [len(one.worked) for one in sessions.values()] == [9, 9]


def test_an_error_is_tried_three_times(place: StorePlace, store: Store) -> None:
    """Then the case is recorded as failed, with the reason; the others are run, and the runner does
    not end.
    """
    tries, said = list[int](), list[str]()

    def does(case: QueuedCase) -> float:
        if case.case == "c1":
            tries.append(case.errors)
            raise RuntimeError("the disk is full")
        return 0

    ordered(place, store, 3)
    session = Session(does)
    with runner(place, session, said, drain=True) as loop:
        asyncio.run(asyncio.wait_for(loop.work(), 30))
    assert tries == [0, 1, 2] and sorted(session.worked) == ["c0", "c2"]
    assert list(session.given_up) == ["c1"] and "in 3 tries" in session.given_up["c1"]
    assert "the disk is full" in session.given_up["c1"] and len(said) == 5, (
        "that it takes the run, each try, and the end"
    )
    assert said[-1] == "ended after 3 cases"


def test_the_cases_of_a_runner_that_is_gone_are_done_by_another(
    place: StorePlace, store: Store, server: Server
) -> None:
    """Once the server has been up for as long as a runner is waited for."""
    run = ordered(place, store, 2)
    with closing(open_queue(place)) as queue:
        assert len(queue.take([run], queue.beat(None, CARD))) == 1
    session = Session(lambda case: 0)
    with runner(place, session, [], drain=True) as loop:
        asyncio.run(asyncio.wait_for(loop.work(), 60))
    assert sorted(session.worked) == ["c0", "c1"]


def test_a_runner_whose_card_always_changes_sweeps_too(place: StorePlace, store: Store) -> None:
    """A heartbeat that only says what has changed does not take the place of one that is due."""
    run = ordered(place, store, 1)
    with closing(open_queue(place)) as queue:
        assert len(queue.take([run], queue.beat(None, CARD))) == 1
    heartbeat = Heartbeat(open_queue(place), CARD, BEAT)
    heartbeat.start()
    try:
        with closing(open_queue(place)) as queue:
            number, end = 0, time.monotonic() + 60
            while queue.waiting(run).todo == 0:
                assert time.monotonic() < end, "it did not sweep"
                heartbeat.say(replace(CARD, pid=(number := number + 1)))
    finally:
        heartbeat.stop()


def test_a_heart_whose_first_beat_fails_closes_its_connection(
    place: StorePlace, store: Store
) -> None:
    class Broken:
        is_closed = False

        def beat(self, runner: int | None, card: RunnerCard) -> int:
            raise StoreError("it may not write")

        def close(self) -> None:
            self.is_closed = True

    queue = Broken()
    with pytest.raises(StoreError):
        Heartbeat(queue, CARD, BEAT).start()  # type: ignore[arg-type]
    assert queue.is_closed
