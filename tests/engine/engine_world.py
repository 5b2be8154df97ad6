"""Small rubrics, questions and panels for the tests of the engine."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from fractions import Fraction
from typing import Any, TypeVar

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.rubric import Check, Criterion, Item, Rubric
from honestone.core.judging.spend import Meter
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import Judge, Store

T = TypeVar("T")
TEXT = "alpha beta gamma\nIt costs 30 euros a month.\n"


def run(work: Awaitable[T]) -> T:
    async def within() -> T:
        return await asyncio.wait_for(asyncio.ensure_future(work), 60)

    return asyncio.run(within())


def words(id: str, *wanted: str, weight: int = 50, **more: Any) -> Criterion:
    """A checklist: `has WORD` for each word."""
    items = tuple(Item(id=word, requirement=f"has {word}") for word in wanted)
    return Criterion(
        id=id, requirement=f"Words of {id}", weight=Fraction(weight), items=items, **more
    )


def checked(id: str, word: str, weight: int = 50, **more: Any) -> Criterion:
    """One yes/no question that code answers."""
    item = Item(
        id=id, requirement=f"has {word}", check=Check(kind="contains", value=[word]), whole=True
    )
    return Criterion(
        id=id, requirement=f"has {word}", weight=Fraction(weight), items=(item,), **more
    )


def rubric(*criteria: Criterion, threshold: int = 80, floor: int = 0) -> Rubric:
    return Rubric(
        criteria=criteria,
        title="Words",
        threshold=Fraction(threshold, 100),
        floor=Fraction(floor, 100),
    )


def question(rubric: Rubric, text: str = TEXT, path: str = "a.md") -> Question:
    return Question(
        artifact=Artifact(path, Version.of_text(text, path)), criteria=asked_criteria(rubric)
    )


class Clock:
    """Stands still until it is told otherwise. `sleep` takes no time and is remembered."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


def meter(calls: int = 100, *, clock: Clock | None = None, **more: Any) -> Meter:
    return Meter(
        calls=calls,
        minutes=more.pop("minutes", 60),
        usd=more.pop("usd", None),
        clock=clock or Clock(),
        **more,
    )


def seats(*judges: Judge) -> tuple[Seat, ...]:
    return tuple(Seat(id=judge.id, judge=judge) for judge in judges)


def panel(
    judges: Sequence[Judge], store: Store | None = None, *, meter_: Meter | None = None, **more: Any
) -> Panel:
    return Panel(
        seats=seats(*judges),
        journal=(store or MemoryStore()).journal,
        meter=meter_ or meter(),
        **more,
    )
