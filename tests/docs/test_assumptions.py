"""The pages that say what is assumed before the first vote give the numbers of the code, in this
order.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import sqrt
from pathlib import Path

import pytest

from honestone.core.belief import assumptions, comparison, errors, items, verdict
from honestone.core.belief.cases import suite
from honestone.core.belief.scales import marks

DOCS = Path(__file__).resolve().parents[2] / "docs"
IMPROVE = DOCS / "reference" / "loop-benchmark.md"
SURE = DOCS / "sure.md"


def percents(shares: Iterable[float]) -> list[float]:
    return [100 * share for share in shares]


def numbers_of(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\.\d+|\d+(?:\.\d+)?", text)]


def found_after(page: Path, start: str, end: str) -> list[float]:
    """The numbers between two texts of a page, which are on it once."""
    _, found, rest = page.read_text("utf-8").partition(start)
    assert found, f"{page.name} does not say: {start}"
    return numbers_of(rest.partition(end)[0])


def row(page: Path, name: str) -> list[float]:
    return found_after(page, f"| {name} |", "\n")


helpful = [edit for edit, _ in assumptions.EDITS]
workers = assumptions.WORKERS
lenient = assumptions.LENIENT
of_improve = {
    "how often a look misreads a yes/no item": [
        *percents(rate for rate, _ in assumptions.FLIPS),
        *[weight / assumptions.FLIPS[0][1] for _, weight in assumptions.FLIPS],
        100 * assumptions.QUIET_FLIP,
        assumptions.QUIET,
        assumptions.QUIET_PROGRAMS,
        *percents([lenient.flip, lenient.misread_if_met]),
    ],
    "how much of the rest stays with a judge that is asked again": [*assumptions.OWNS, lenient.own],
    "whether a yes/no item is met in the original": [items.START_MET],
    "what an edit does": percents(
        [
            *sorted({edit.fixes for edit in helpful}),
            min(edit.lifts for edit in helpful),
            max(edit.lifts for edit in helpful),
            min(edit.breaks for edit in helpful),
            max(edit.breaks for edit in helpful),
            *[rate for rate, _ in assumptions.FAKES],
        ]
    ),
    "how often a held-out judge is deceived by what only looks met": [items.LEAK],
    "how many points a look at an anchored item is off by": [
        assumptions.QUIET_SD,
        *assumptions.SDS,
    ],
}
of_sure = {
    "how often a look misreads a yes/no item": percents(
        [errors.QUIET.met, *[rate.met for rate in errors.RATES], *errors.LENIENT]
    ),
    "which part of that error all judges share": [*errors.SHARED],
    "how often an answer stays when the same judge is asked again": [
        *errors.OWN,
        errors.OWN_LENIENT,
    ],
    "which share of the items is met": [
        *verdict.MET_SHARES,
        *[share for share in suite.SUITE_SHARES if share not in verdict.MET_SHARES],
        *[share for share in verdict.ANY_SHARES if share not in verdict.MET_SHARES],
    ],
    "how many points an anchored item is worth": [
        marks.STARTS[0].mean,
        sqrt(marks.STARTS[0].var),
        1,
        1 / marks.STARTS[1].mass,
        marks.STARTS[1].mean,
        sqrt(marks.STARTS[1].var),
        marks.NEAR_A_LEVEL,
    ],
    "how many a look at it is off by": [*marks.SDS],
}


@pytest.mark.parametrize("name", of_improve)
def test_what_improve_assumes_is_what_its_table_says(name: str) -> None:
    assert row(IMPROVE, name) == pytest.approx(of_improve[name])


@pytest.mark.parametrize("name", of_sure)
def test_what_an_evaluation_assumes_is_what_its_table_says(name: str) -> None:
    assert row(SURE, name) == pytest.approx(of_sure[name])


def test_what_is_said_in_words_is_so() -> None:
    assert assumptions.SHARED == comparison.SHARED == (1 / 5, 1 / 2)
    assert assumptions.PROGRAMS_DECEIVED == 1 / 10
    assert items.LEAK_LOOKS == 2


def test_what_a_comparison_with_the_original_assumes_is_what_its_paragraph_says() -> None:
    rate, *rates = comparison.FLIPS
    first = [100 * rate, comparison.QUIET, comparison.QUIET_PROGRAMS, *percents(rates)]
    assert found_after(IMPROVE, "assumptions of its own:", " points;") == pytest.approx(
        [*first, comparison.QUIET_SD, comparison.QUIET_SD_PROGRAMS, *comparison.SDS]
    )
    edits = [
        *sorted({one.fixes for one in workers}),
        min(one.lifts for one in workers),
        max(one.lifts for one in workers),
        *sorted({one.breaks for one in workers}),
    ]
    assert found_after(IMPROVE, "An edit fixes", "\n\n") == pytest.approx(percents(edits))
