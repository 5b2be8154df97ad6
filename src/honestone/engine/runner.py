"""A runner: it accepts or refuses runs, takes their cases from the queue, and says that it is alive
until its last case is over.

What a run is and how a case is worked on is said by who makes it (`accept`). Calls of the queue
never hold up the event loop, and the heartbeat comes from a thread with a queue of its own, so that
a case which holds up the loop does not stop it.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, Protocol, TypeVar

from msgspec.structs import replace

from honestone.core.errors import StoreAway, StoreError
from honestone.core.record.queue import MISSED, TRIES, QueuedCase, RefusedRun, RunnerCard
from honestone.engine.journal import RATE_WAITS
from honestone.ports import Queue
from honestone.system.drawing import count

T = TypeVar("T")
# Seconds between two looks at a queue in which nothing waited.
POLL: Final = 0.5
# Seconds that a case which is over waits for others, so that one transaction gives them all back
# and takes the next.
TOGETHER: Final = 0.05
# Seconds from one heartbeat to the next that only says what has changed.
CHANGES: Final = 1.0
# Seconds that a server which does not answer is waited for when a runner ends.
ENDS_WITHIN: Final = 10.0


class RunRefused(Exception):
    """This machine does not work on a run: why, and what a person can do about it."""

    def __init__(self, reason: str, remedy: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.remedy = remedy


class RunSession(Protocol):
    """A run that was accepted. `concurrency`: so many cases of it are under way at most, on all
    machines together; None: as many as there are hands.
    """

    @property
    def concurrency(self) -> int | None: ...

    async def work(self, case: QueuedCase) -> None:
        """Until the case is on record. Raises RunRefused where it is not what was ordered, before
        anything is spent; another exception is an error of honestone or of this machine, not of the
        case.
        """
        ...

    def has_begun(self, case: QueuedCase) -> bool:
        """Whether it is worked on; else it waits for other cases of its run."""
        ...

    async def give_up(self, case: QueuedCase, reason: str) -> None:
        """Put on record that the case could not be run."""
        ...

    async def is_cancelled(self) -> bool:
        """Whether a person ended the run."""
        ...

    async def close(self) -> None: ...


class Heartbeat:
    """Beats in a thread from `start` to `stop`, and sweeps after those that no longer do. `queue`
    is its own.

    A store that is away is waited for: the runner's cases are not less alive for that. It sweeps
    only after it has beaten for as long as others are waited for, because after an outage every
    heartbeat is old.
    """

    def __init__(self, queue: Queue, card: RunnerCard, heartbeat: float) -> None:
        self.card = card
        self.lost: list[QueuedCase] = []
        self._queue, self._heartbeat = queue, heartbeat
        self._stopped, self._changed = threading.Event(), threading.Event()
        self._steady = 0
        self._lock = threading.Lock()
        self._number: int | None = None
        self._thread = threading.Thread(target=self._work, name="heart", daemon=True)

    @property
    def number(self) -> int:
        """The runner's number now: another one after it was given up."""
        assert self._number is not None, "it was not started"
        return self._number

    def start(self) -> None:
        """Raises StoreError where the first heartbeat cannot be written; then its queue is closed."""
        try:
            self._number = self._queue.beat(None, self.card)
        except BaseException:
            self._queue.close()
            raise
        self._thread.start()

    def say(self, card: RunnerCard) -> None:
        """Report this card with the next heartbeat, which comes within a second."""
        with self._lock:
            if card != self.card:
                self.card = card
                self._changed.set()

    def take_lost(self) -> list[QueuedCase]:
        """Cases that were lost too often, each once."""
        with self._lock:
            lost, self.lost = self.lost, []
            return lost

    def stop(self) -> None:
        self._stopped.set()
        self._changed.set()
        self._thread.join(ENDS_WITHIN)
        if not self._thread.is_alive():  # else it waits for a server that does not answer
            with suppress(StoreError, StoreAway):
                self._queue.leave(self.number)
        self._queue.close()

    def _work(self) -> None:
        last = time.monotonic()
        due = last + self._heartbeat
        while not self._stopped.is_set():
            if self._changed.wait(max(0.0, due - time.monotonic())):
                soon = min(due, last + CHANGES)
                if self._stopped.wait(max(0.0, soon - time.monotonic())):
                    return
            self._changed.clear()
            if self._stopped.is_set():
                return
            last = time.monotonic()
            is_change = last < due
            if not is_change:
                due = last + self._heartbeat
            try:
                before = self._number
                self._number = self._queue.beat(before, self.card)
                # A number that is new says that it was away itself.
                self._steady = 0 if self._number != before else self._steady + (not is_change)
                if self._steady > MISSED and not is_change:
                    found = self._queue.sweep(MISSED * self._heartbeat)
                    with self._lock:
                        self.lost += found
            except (StoreError, StoreAway):
                self._steady = 0


@dataclass(kw_only=True)
class RunnerLoop:
    """`only`: cases of this run alone. `drain`: until nothing is left of the runs that it takes.
    `grace`: seconds for cases in hand once it is stopped. `say` gets lines for a person.
    """

    queue: Queue
    heartbeat: Heartbeat
    accept: Callable[[str], Awaitable[RunSession]]
    say: Callable[[str], None]
    concurrency: int = 8
    only: str | None = None
    drain: bool = False
    grace: float = 60.0
    poll: float = POLL
    _sessions: dict[str, RunSession] = field(default_factory=dict)
    _refused: dict[str, RefusedRun] = field(default_factory=dict)
    _open: tuple[str, ...] = ()
    _in_hand: dict[asyncio.Task[None], QueuedCase] = field(default_factory=dict)
    _done: list[QueuedCase] = field(default_factory=list)
    # Of all that it was given, those that are over.
    _count: int = 0
    _looked: float | None = None
    _waits: Counter[str] = field(default_factory=Counter)
    _stop: asyncio.Event = field(default_factory=asyncio.Event)
    _calls: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(1, "queue"))

    @property
    def has_refused_all(self) -> bool:
        """Whether there were runs, and it refused each."""
        return bool(self._refused) and not self._sessions.keys() - self._refused.keys()

    def stop(self) -> None:
        """It takes no more, and finishes what it has in hand. From the event loop."""
        self._stop.set()

    async def work(self) -> None:
        """Work until it is stopped, or until everything is done where it drains. Raises StoreAway,
        and whatever ends a case in disorder.
        """
        RATE_WAITS.set(self._waits)
        try:
            while not self._stop.is_set():
                if self._looked is None or time.monotonic() - self._looked >= self.poll:
                    await self._look()
                if (
                    not await self._fill()
                    and self.drain
                    and not self._in_hand
                    and await self._is_done()
                ):
                    break
                await self._wait(self.poll)
            await self._finish()
            self.say(f"ended after {count(self._count, 'case')}")
        finally:
            with suppress(TimeoutError):
                async with asyncio.timeout(ENDS_WITHIN):
                    await self._give_back()
                    for session in self._sessions.values():
                        await session.close()
            self._calls.shutdown(wait=False)

    async def _look(self) -> None:
        """Which runs are open; those that are new are accepted or refused."""
        self._looked = time.monotonic()
        self._open = tuple(
            run for run in await self._call(self.queue.orders) if self.only in (None, run)
        )
        for run in self._open:
            if run in self._sessions or run in self._refused:
                continue
            try:
                self._sessions[run] = await self.accept(run)
                self.say(f"takes cases of run {run}")
            except RunRefused as refused:
                self._refuse(run, refused)
        await self._drop_cancelled(self._runs_in_hand.difference(self._open))
        for case in self.heartbeat.take_lost():
            if case.run in self._sessions and case.run not in self._refused:
                await self._give_up(
                    case, f"its runner ended {case.deaths + 1} times while it worked on it"
                )
        self._say_card()

    @property
    def _runs_in_hand(self) -> set[str]:
        return {case.run for case in self._in_hand.values()}

    async def _drop_cancelled(self, runs: Iterable[str]) -> None:
        """What it has in hand of those of the runs that a person ended."""
        for run in runs:
            if await self._sessions[run].is_cancelled():
                for task, case in self._in_hand.items():
                    if case.run == run:
                        task.cancel()

    @property
    def _not_begun(self) -> Mapping[asyncio.Task[None], QueuedCase]:
        return {
            task: case
            for task, case in self._in_hand.items()
            if not task.done() and not self._sessions[case.run].has_begun(case)
        }

    async def _keep_looking(self) -> None:
        """Once it is stopped: what has not begun is for others now, for what begins may be cut off
        when the grace is over; what a person ends is dropped.
        """
        with suppress(StoreError, StoreAway):
            not_begun = self._not_begun
            for task in not_begun:  # before anything is awaited: one that ends lets another begin
                task.cancel()
            for task, case in not_begun.items():
                await asyncio.gather(task, return_exceptions=True)
                await self._return_case(case)
                del self._in_hand[task]
            while True:
                await self._drop_cancelled(self._runs_in_hand)
                await asyncio.sleep(self.poll)

    def _refuse(self, run: str, refused: RunRefused) -> None:
        if run not in self._refused:
            self._refused[run] = RefusedRun(run=run, reason=refused.reason, remedy=refused.remedy)
            remedy = f"; {refused.remedy}" if refused.remedy else ""
            self.say(f"refused run {run}: {refused.reason}{remedy}")

    @property
    def _taken(self) -> Sequence[str]:
        return [run for run in self._open if run in self._sessions and run not in self._refused]

    async def _fill(self) -> bool:
        """Takes cases until its hands are full, and lets those that are on record leave the queue;
        whether it took one.
        """
        done, self._done = self._done, []
        number, has_taken = self.heartbeat.number, False
        while True:
            runs, most = self._room()
            if not done and (most < 1 or not runs):
                break
            taken = await self._call(partial(self.queue.take, runs, number, most, done=done))
            for case in taken:
                self._in_hand[asyncio.create_task(self._work_on(case))] = case
            done, has_taken = [], has_taken or bool(taken)
            if len(taken) < most or len(self._in_hand) >= self.concurrency:
                break
        if has_taken:
            self._say_card()
        return has_taken

    def _room(self) -> tuple[Sequence[str], int]:
        """The runs of which cases may be taken, and how many whichever of them they are of: a run
        that waits for its own limit leaves the other hands to other runs.
        """
        free_slots = self.concurrency - len(self._in_hand)
        in_hand = Counter(case.run for case in self._in_hand.values())
        limits = {run: self._sessions[run].concurrency for run in self._taken}
        rooms = {
            run: free_slots if limit is None else min(free_slots, limit - in_hand[run])
            for run, limit in limits.items()
        }
        runs = [run for run, room in rooms.items() if room > 0]
        return runs, min((rooms[run] for run in runs), default=0)

    async def _work_on(self, case: QueuedCase) -> None:
        try:
            await self._sessions[case.run].work(case)
        except (StoreAway, asyncio.CancelledError):
            raise
        except RunRefused as refused:  # it was accepted, but this case is another one here
            self._refuse(case.run, refused)
            await self._return_case(case)
            return
        # A fault of ours or of this machine: perhaps another one can do it.
        except Exception as error:
            why = f"{type(error).__name__}: {error}".rstrip(": ")
            self.say(f"case `{case.case}` of run {case.run} ended in an error: {why}")
            if case.errors + 1 < TRIES:
                await self._return_case(case, is_error=True)
            else:
                await self._give_up(case, f"it could not be run in {case.errors + 1} tries: {why}")
            return
        self._over(case)

    async def _return_case(self, case: QueuedCase, *, is_error: bool = False) -> None:
        """Another runner may take the case."""
        number = self.heartbeat.number
        await self._call(lambda: self.queue.give_back(case, number, is_error=is_error))

    async def _give_up(self, case: QueuedCase, reason: str) -> None:
        await self._sessions[case.run].give_up(case, reason)
        self._over(case)

    def _over(self, case: QueuedCase) -> None:
        self._count += 1
        self._done.append(case)

    async def _is_done(self) -> bool:
        """Whether nothing is left of the runs that it takes, in other runners' hands either: one of
        them may die.
        """
        for run in self._taken:
            if (await self._call(lambda run=run: self.queue.waiting(run))).left:  # type: ignore[misc]
                return False
        return True

    async def _wait(self, seconds: float) -> None:
        """Wait until the cases in hand are over, the runner is stopped, or the time is up. Raises
        what a case ended with.
        """
        stopped = asyncio.create_task(self._stop.wait())
        try:
            waited = {stopped, *self._in_hand}
            over, _ = await asyncio.wait(
                waited, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if over and stopped not in over and len(over) < len(self._in_hand):
                await asyncio.wait(list(self._in_hand), timeout=min(TOGETHER, seconds))
        finally:
            stopped.cancel()
        for task in [task for task in self._in_hand if task.done()]:
            del self._in_hand[task]
            if not task.cancelled():
                task.result()

    async def _finish(self) -> None:
        """What it has in hand, for as long as the grace lasts."""
        self._say_card()
        if self._in_hand:
            not_begun = len(self._not_begun)
            begun = len(self._in_hand) - not_begun
            if begun:
                in_hand = count(begun, "case")
                self.say(f"takes no more; finishes {in_hand} in hand within {self.grace:g} s")
            if not_begun:
                self.say(f"gives back {count(not_begun, 'case')} that had not begun")
            looking = asyncio.create_task(self._keep_looking())
            try:
                _, rest = await asyncio.wait(list(self._in_hand), timeout=self.grace)
            finally:
                looking.cancel()
            if rest:
                self.say(f"gives back {count(len(rest), 'case')} to other runners")

    async def _give_back(self) -> None:
        with suppress(StoreError, StoreAway):
            await self._call(lambda: self.queue.done(self._done))
        for task, case in self._in_hand.items():
            if task.done() and not task.cancelled() and task.exception() is None:
                continue
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            with suppress(StoreError, StoreAway):
                await self._return_case(case)
        self._in_hand.clear()

    def _say_card(self) -> None:
        self.heartbeat.say(
            replace(
                self.heartbeat.card,
                runs=tuple(self._taken),
                in_hand=tuple(f"{one.run} {one.case}" for one in self._in_hand.values()),
                refused=tuple(no for run, no in self._refused.items() if run in self._open),
                waits=tuple(sorted(+self._waits)),
                is_stopping=self._stop.is_set(),
            )
        )

    async def _call(self, call: Callable[[], T]) -> T:
        """Run a call in the thread of the queue."""
        return await asyncio.get_running_loop().run_in_executor(self._calls, call)
