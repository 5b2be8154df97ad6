"""A suite's run as a table: filters, order, columns, like errors."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
import suite_samples as samples
from hypothesis import given
from hypothesis import strategies as st

from honestone.report.case_table import MOST_COLUMNS, SORTS, CaseFilter, CaseTable, case_table
from honestone.report.documents.suite import SuiteReportDoc


def table(*cases: Any, **more: Any) -> CaseTable:
    report = msgspec.convert(samples.report(list(cases), **more), SuiteReportDoc)
    return case_table(report, report.cases)


CASES = (
    samples.case("b", score=90.0, duration_ms=5, tags=["fast"], output="a rare Word"),
    samples.case("a", "failed", 20.0, duration_ms=500, tags=["slow"], split="test"),
    samples.case("gone", "target-error", duration_ms=50),
    samples.case("later", "skipped"),
    samples.case("gone2", "target-error", reasons=["why gone is target-error"]),
)


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        ({}, ["a", "gone", "gone2", "later", "b"]),
        ({"status": "failed"}, ["a"]),
        ({"tag": "fast"}, ["b"]),
        ({"split": "test"}, ["a"]),
        ({"criterion": "good"}, ["a"]),
        ({"q": "RARE word"}, ["b"]),
        ({"q": "no such words"}, []),
        ({"status": "y"}, []),
        ({"sort": "order"}, ["b", "a", "gone", "later", "gone2"]),
        ({"sort": "score"}, ["a", "b", "gone", "later", "gone2"]),
        ({"sort": "time"}, ["a", "gone", "gone2", "b", "later"]),
        ({"sort": "case"}, ["a", "b", "gone", "gone2", "later"]),
        ({"status": "target-error", "sort": "case"}, ["gone", "gone2"]),
    ],
)
def test_filters_and_orders(wanted: dict[str, str], ids: list[str]) -> None:
    assert [row.case.id for row in table(*CASES).chosen(CaseFilter(**wanted))] == ids


def test_target_errors_that_read_alike_are_one_line() -> None:
    assert table(*CASES).errors == [("why gone is target-error", 2, "gone")]


def test_a_table_keeps_no_text() -> None:
    """Of ten thousand long outputs nothing is held but what a search looks in."""
    found = table(samples.case("long", output="x" * 100_000, input="y" * 100_000))
    assert found.rows[0].case.output is None and found.report.cases[0].input is None
    assert len(found.rows[0].words) < 10_000


def test_the_columns_are_the_criteria_that_most_cases_have() -> None:
    many = [
        samples.case(f"c{n}", criteria=[samples.criterion(f"own{n}", 1.0, []), samples.criterion("shared", 1.0, [])])
        for n in range(20)
    ]
    columns = table(*many).columns
    assert "shared" in columns and len(columns) == MOST_COLUMNS


@given(st.sampled_from(SORTS), st.lists(st.sampled_from(["passed", "failed", "skipped", "target-error"]), max_size=8))
def test_an_order_loses_no_case(sort: str, statuses: list[str]) -> None:
    made = [samples.case(f"c{n}", status, float(n)) for n, status in enumerate(statuses)]
    found = table(*made).chosen(CaseFilter(sort=sort))
    assert sorted(row.case.id for row in found) == [f"c{n}" for n in range(len(made))]
