"""How far a run is: what judges were asked, what parts of it add up to, and what its observer
hears.
"""

from __future__ import annotations

import asyncio
from typing import Any

import engine_world as world
import pytest

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.judging.spend import Spend, Usage
from honestone.core.live import SILENCE, LiveRun, RunNow, StoredLive, state_now
from honestone.engine.live import HERE, Live
from honestone.ports import CallFailed, Reply
from honestone.testing import ScriptedJudge

JUDGED = world.rubric(world.words("a", "alpha", "beta"))


class Heard:
    def __init__(self) -> None:
        self.said: list[tuple[int, int, str]] = []

    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None:
        self.said.append((done, total, doing))

    def event(self, event: Any) -> None: ...


def live(run: str = "RUN", **more: Any) -> Live:
    return Live(
        kind="eval",
        run=run,
        journal=more.pop("store", MemoryStore()).journal,
        meter=more.pop("meter", world.meter()),
        observer=Heard(),
        **more,
    )


def test_a_judge_is_asked_until_it_answers_or_fails() -> None:
    """What another process would read at each moment, judge by judge."""
    gates: dict[str, asyncio.Event] = {}

    class Waiting(ScriptedJudge):
        async def ask(self, request: Any, question: Any) -> Reply:
            await gates[self.id].wait()
            if self.id == "c":
                raise CallFailed("it broke")
            return await super().ask(request, question)

    judges = [
        Waiting(lambda question: {item.id: True for _, item in question.items()}, id=id)
        for id in "abc"
    ]
    store = MemoryStore()
    panel = world.panel(judges, store)
    run = live(store=store, meter=panel.meter)

    def states() -> dict[str, str]:
        kept = store.live("RUN")
        assert kept is not None
        return {one.id: one.state for one in kept.live.judges}

    async def work() -> None:
        gates.update({id: asyncio.Event() for id in "abc"})
        with run.here():
            asking = asyncio.create_task(panel.consult(world.question(JUDGED)))
        assert HERE.get() is None
        while len(states()) < 3:
            await asyncio.sleep(0)
        assert states() == {"a": "asked", "b": "asked", "c": "asked"}
        for gate, now in (("b", "answered"), ("c", "failed"), ("a", "answered")):
            gates[gate].set()
            while states()[gate] == "asked":
                await asyncio.sleep(0)
            assert states()[gate] == now
        await asking

    asyncio.run(work())
    found = {one.id: (one.asked, one.answered, one.failed) for one in run.record().judges}
    assert found == {"a": (1, 1, 0), "b": (1, 1, 0), "c": (1, 0, 1)}
    assert run.record().calls == panel.meter.spent.judge_calls >= 3


def test_a_part_counts_in_the_whole_once() -> None:
    """Calls and money of a part are those of the whole from the first moment, and not twice when it
    is over.
    """
    whole, part = world.meter(), world.meter()
    outer, inner = live(meter=whole), live("PART", meter=part)
    outer.progress(1, 5, "round 2")
    with outer.here():
        with inner.here():
            inner.progress(3, 8, "running", left=4.0, shown="running, 4 s left")
            part.spent.join(Spend(judge_calls=4, usd=0.5))
            inner.asked("j")
            now = outer.record()
            assert (now.done, now.total, now.doing) == (1, 5, "round 2; 3 of 8, running")
            assert (now.calls, now.usd, now.left) == (4, 0.5, None)
            assert [one.id for one in now.judges] == ["j"] and inner.record().left == 4.0
        assert outer.record().calls == 4, "between the two meters nothing is lost"
        whole.spent.join(part.spent)
        assert (outer.record().calls, outer.record().usd) == (4, 0.5)
    assert isinstance(inner.observer, Heard) and inner.observer.said == [
        (3, 8, "running, 4 s left")
    ]


def test_a_table_is_the_sum_of_its_columns() -> None:
    shared = world.meter()
    table, columns = (
        live(meter=shared, is_sum=True),
        [live(name, meter=shared) for name in ("A", "B")],
    )
    with table.here():
        for number, column in enumerate(columns, 1):
            with column.here():
                column.failing = number
                column.progress(number, 4, "running", left=10.0 * number)
    shared.spent.add(Usage(usd=0.25))
    now = table.record()
    assert (now.done, now.total, now.failing, now.left, now.usd) == (3, 8, 3, 20.0, 0.25)


def test_nothing_is_known_of_money_without_a_price() -> None:
    run = live()
    assert run.record().usd is None and run.record().left is None
    assert run.time_left(0, 4) is None, "nothing is known before the first"


@pytest.mark.parametrize(
    ("finished", "age", "has_ended", "begun", "now"),
    [
        (True, 0.0, False, 0.0, "finished"),
        (False, 0.0, False, 900.0, "running"),
        (False, SILENCE, False, 900.0, "interrupted"),
        (False, 0.0, True, 900.0, "interrupted"),
        (False, None, False, 0.0, "running"),
        (False, None, False, SILENCE, "interrupted"),
    ],
)
def test_whether_something_works_on_it(
    finished: bool, age: float | None, has_ended: bool, begun: float, now: RunNow
) -> None:
    """By the age of its record; a run of an instant ago has none yet, one of an older version never
    had one.
    """
    kept = None if age is None else StoredLive(live=LiveRun(run="R", has_ended=has_ended), age=age)
    assert state_now(is_finished=finished, age=begun, latest=kept) == now
