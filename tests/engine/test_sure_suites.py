"""Looks at a suite that are asked by need: which of them count against the limit."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from honestone.core.belief.suite import CaseBelief
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.engine.sure_suites import SuiteAsking

KEY = ("p", "p")
RUBRIC = Rubric(
    criteria=(
        Criterion(id="p", requirement="x", items=(Item(id="p", requirement="x", whole=True),)),
    )
)


def finished_case(*answers: bool) -> Any:
    """A case that an earlier process finished, with these looks of one judge."""
    ballots = [Ballot(judge=f"ann#{n}", marks={KEY: Mark(met)}) for n, met in enumerate(answers)]
    text = TextBelief(RUBRIC).see_all(ballots)
    return SimpleNamespace(
        is_complete=True,
        shown_ballots=ballots,
        believed_as=CaseBelief("a", text),
        case=SimpleNamespace(id="a", skip=None),
    )


@pytest.mark.parametrize(
    ("paid", "why"),
    [
        (None, "not asked: --max-looks 3 are used"),
        (3, "not asked: the 3 looks at this split are used"),
        (2, "not asked: no judge is worth another look"),
    ],
)
def test_looks_of_an_earlier_process_count(paid: int | None, why: str) -> None:
    """All of them, or in a loop those that it paid: the others it found on record."""
    record: Any = SimpleNamespace(cases={"a": finished_case(True, False, True)})
    panel: Any = None
    asking = SuiteAsking(
        panel=panel, record=record, need=1, target=0.99, most=3, paid_before=paid, asks_all=True
    )
    asyncio.run(asking.drive())
    assert asking.over == why
