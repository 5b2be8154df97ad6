"""Reports that are written case by case: the same bytes as the whole, and never more than one case at a time."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.report.suite_samples import HOSTILE, case, report

from honestone.cli.suites.options import dump_report
from honestone.cli.terminal import dump
from honestone.report.documents.suite import CaseDoc, SuiteReportDoc
from honestone.report.rows import csv_parts, jsonl_parts, suite_csv, suite_jsonl
from honestone.report.suite import SuiteReport

WORDS = st.text(max_size=12) | st.just(HOSTILE) | st.just('\n "cases": []') | st.just("=1+1")


def made(title: str, texts: list[str]) -> SuiteReportDoc:
    cases = [case(f"c{number}", output=text, input=text) for number, text in enumerate(texts)]
    return msgspec.convert({**report(cases), "title": title}, SuiteReportDoc)


@given(WORDS, st.lists(WORDS, max_size=4))
@example("", [])
@example('"cases": []', ['\n "cases": []'])
def test_a_streamed_report_has_the_bytes_of_the_whole(title: str, texts: list[str]) -> None:
    doc = made(title, texts)
    streamed = SuiteReport(msgspec.structs.replace(doc, cases=[]), doc.cases)
    assert "".join(dump_report(streamed)) == dump(doc) + "\n"
    assert "".join(csv_parts(streamed.head, streamed.cases)) == suite_csv(doc)
    assert "".join(jsonl_parts(streamed.head, streamed.cases)) == suite_jsonl(doc)
    assert streamed.whole == doc


@pytest.mark.parametrize("form", ["json", "csv", "jsonl"])
def test_a_case_is_drawn_when_the_one_before_it_is_written(form: str) -> None:
    """So that ten thousand cases take no more memory than one."""
    doc, drawn = made("", ["one", "two", "three"]), 0

    def draw() -> Iterator[CaseDoc]:
        nonlocal drawn
        for one in doc.cases:
            drawn += 1
            yield one

    head = msgspec.structs.replace(doc, cases=[])
    streamed = SuiteReport(head, draw())
    parts = {"json": dump_report(streamed), "csv": csv_parts(head, streamed.cases)}
    at_each = [drawn for _ in parts.get(form, jsonl_parts(head, streamed.cases))]
    assert [count for count in at_each if count][:3] == [1, 2, 3]
