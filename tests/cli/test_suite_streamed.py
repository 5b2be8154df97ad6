"""Reports that are written case by case: the same bytes as the whole, and never more than one case
at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.report.suite_samples import HOSTILE, case, every_status, hostile, report, with_baseline

from honestone.cli.suites import options
from honestone.cli.suites.options import dump_report
from honestone.cli.terminal import dump
from honestone.report.documents.case_by_case import SuiteReport
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.exports.junit import junit_parts, suite_junit
from honestone.report.exports.rows import csv_parts, jsonl_parts, suite_csv, suite_jsonl
from honestone.report.pages.markdown import suite_markdown
from honestone.report.pages.suite_html import MOST_WHOLE, suite_html, suite_pieces
from honestone.report.templates import in_pieces
from honestone.report.terminal.suite_text import suite_text

WORDS = st.text(max_size=12) | st.just(HOSTILE) | st.just('\n "cases": []') | st.just("=1+1")


@dataclass
class Drawn:
    """Cases that are drawn when they are asked for; `count` says how many were."""

    docs: list[CaseDoc]
    count: int = field(default=0)

    def __len__(self) -> int:
        return len(self.docs)

    def __iter__(self) -> Iterator[CaseDoc]:
        return self.of(range(len(self.docs)))

    def of(self, numbers: Iterable[int]) -> Iterator[CaseDoc]:
        for number in numbers:
            self.count += 1
            yield self.docs[number]


def streamed(doc: SuiteReportDoc) -> SuiteReport:
    return SuiteReport(msgspec.structs.replace(doc, cases=[]), Drawn(doc.cases))


def read(document: dict[str, Any]) -> SuiteReportDoc:
    return msgspec.convert(document, SuiteReportDoc)


def made(title: str, texts: list[str]) -> SuiteReportDoc:
    cases = [case(f"c{number}", output=text, input=text) for number, text in enumerate(texts)]
    return read({**report(cases), "title": title})


PARTS: dict[str, Callable[[SuiteReport], Iterable[str]]] = {
    "json": dump_report,
    "csv": csv_parts,
    "jsonl": jsonl_parts,
    "junit": junit_parts,
    "html": lambda report: suite_pieces(report).pieces,
    "markdown": lambda report: [suite_markdown(report)],
    "text": lambda report: [suite_text(report)],
}
WHOLE: dict[str, Callable[[SuiteReportDoc], str]] = {
    "json": lambda doc: dump(doc) + "\n",
    "csv": suite_csv,
    "jsonl": suite_jsonl,
    "junit": suite_junit,
    "html": suite_html,
    "markdown": suite_markdown,
    "text": suite_text,
}


@given(WORDS, st.lists(WORDS, max_size=4))
@example("", [])
@example('"cases": []', ['\n "cases": []'])
def test_a_streamed_report_has_the_bytes_of_the_whole(title: str, texts: list[str]) -> None:
    doc = made(title, texts)
    for form, parts in PARTS.items():
        assert "".join(parts(streamed(doc))) == WHOLE[form](doc), form
    assert streamed(doc).whole == doc


def many() -> dict[str, Any]:
    """So many cases that the page leaves out the texts of those that passed, with flags and judges
    that all share.
    """
    statuses = ("passed", "failed", "inconclusive", "target-error", "skipped")
    cases = [
        case(
            f"c{n}",
            statuses[n % 7 % 5],
            output=f"<out> {n} " * (n % 40),
            flags=["a", f"b{n % 3}"],
            tags=[f"t{n % 4}"],
        )
        for n in range(MOST_WHOLE + 50)
    ]
    return report(cases) | {"min_pass_rate": 0.1}


@pytest.mark.parametrize("sample", [every_status, hostile, with_baseline, many])
@pytest.mark.parametrize("form", ["junit", "html", "markdown", "text"])
def test_samples_have_the_bytes_of_the_whole(
    sample: Callable[[], dict[str, Any]], form: str
) -> None:
    """Every status, hostile words, a baseline, and many cases."""
    doc = read(sample())
    assert "".join(PARTS[form](streamed(doc))) == WHOLE[form](doc)


@pytest.mark.parametrize("form", ["json", "csv", "jsonl"])
def test_a_case_is_drawn_when_the_one_before_it_is_written(form: str) -> None:
    """So that ten thousand cases take no more memory than one."""
    whole = streamed(made("", ["one", "two", "three"]))
    drawn = whole.cases
    assert isinstance(drawn, Drawn)
    at_each = [drawn.count for _ in PARTS[form](whole)]
    assert [count for count in at_each if count][:3] == [1, 2, 3]


@pytest.mark.parametrize("form", ["junit", "html"])
def test_a_page_comes_in_pieces_while_its_cases_are_drawn(form: str) -> None:
    """What has to be known of all cases is looked at first; then a piece is written before the next
    cases are drawn.
    """
    doc = read(report([case(f"c{n}", "failed", 0.0, output="word " * 500) for n in range(200)]))
    whole = streamed(doc)
    assert isinstance(whole.cases, Drawn)
    at_each = [whole.cases.count for _ in PARTS[form](whole)]
    assert len(at_each) > 3 and at_each == sorted(at_each)
    assert 200 < at_each[0] < at_each[1] < at_each[-1] == 400


@given(
    st.lists(
        st.sampled_from(["<p>", "a > b", "name", "x" * 40_000, "", "<b>y" * 9_000]), max_size=30
    )
)
def test_pieces_are_cut_after_a_tag_alone(parts: list[str]) -> None:
    """Together they are what was generated, and a name or folder, which has no `>`, is whole in one
    of them.
    """
    pieces = list(in_pieces(parts))
    assert "".join(pieces) == "".join(parts)
    assert all(piece.endswith(">") for piece in pieces[:-1])


@given(st.lists(st.text(max_size=10), max_size=20), st.integers(1, 15))
def test_short_parts_are_written_together(parts: list[str], size: int) -> None:
    with patch.object(options, "_PIECE", size):
        pieces = list(options._joined(iter(parts)))
    assert "".join(pieces) == "".join(parts)
    assert all(len(piece) >= size for piece in pieces[:-1])
    assert all(len(piece) < size + 10 for piece in pieces)
