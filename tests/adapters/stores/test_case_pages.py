"""Rows of events by case: as recorded, whatever the order in which cases are asked for, with few
queries where that is the order of the record.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.stores import case_pages
from honestone.adapters.stores.case_pages import MOST_CASES, CasePages, EventRow


class Rows:
    """Rows about these cases, and each query for some of them."""

    def __init__(self, cases: Sequence[str], size: int = 0) -> None:
        about = [json.dumps({"case": case, "words": "x" * size}).encode() for case in cases]
        self.every = [(number, data) for number, data in enumerate(about, 1)]
        self.asked: list[Sequence[int]] = []

    def read(self, numbers: Sequence[int]) -> list[EventRow]:
        self.asked.append(numbers)
        return [self.every[number - 1] for number in sorted(numbers, reverse=True)]

    def of(self, case: str) -> list[EventRow]:
        return [row for row in self.every if json.loads(row[1])["case"] == case]


@given(st.lists(st.sampled_from("abcdefg")), st.lists(st.sampled_from("abcdefgh")))
def test_a_case_has_its_rows_whatever_was_asked_before(about: list[str], asked: list[str]) -> None:
    rows = Rows(about)
    pages = CasePages(rows.every, rows.read)
    assert [list(pages.rows(case)) for case in asked] == [rows.of(case) for case in asked]


def test_cases_in_order_are_read_by_the_page_and_a_single_one_alone() -> None:
    cases = [f"c{number}" for number in range(1_000)]
    rows = Rows([*cases, *cases])
    pages = CasePages(rows.every, rows.read)
    for case in cases:
        pages.rows(case)
    assert len(rows.asked) < 1_000 / MOST_CASES + 6
    assert max(map(len, rows.asked)) == 2 * MOST_CASES
    rows.asked.clear()
    pages.rows("c500")
    pages.rows("c3")
    assert rows.asked == [[501, 1_501], [4, 1_004]]


def test_a_page_of_large_cases_is_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_pages, "MOST_BYTES", 1_000)
    rows = Rows([f"c{number}" for number in range(40)], size=400)
    pages = CasePages(rows.every, rows.read)
    for number in range(40):
        assert list(pages.rows(f"c{number}")) == [rows.every[number]]
    assert max(map(len, rows.asked)) == 2
