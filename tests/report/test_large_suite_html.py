"""The page of a large suite: what passed is short, everything else is whole, and the page says what
it leaves out.
"""

from __future__ import annotations

import msgspec
from suite_samples import case, report

from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.pages.suite_html import MOST_WHOLE, suite_html

SAID = "passed cases are shown without their texts and answers"


def made(passed: int, run: str | None = "01JRUN") -> SuiteReportDoc:
    cases = [
        case(f"good-{number}", output="words that passed", input="asked that passed")
        for number in range(passed)
    ]
    cases += [
        case("bad", "failed", 0.0, output="words that failed", input="asked that failed"),
        case("open", "inconclusive", output="words that are open", input="asked that is open"),
    ]
    return msgspec.convert(report(cases) | {"run": run}, SuiteReportDoc)


def test_a_page_of_more_than_a_thousand_cases_leaves_out_the_texts_of_those_that_passed() -> None:
    text = suite_html(made(MOST_WHOLE))
    assert f"{MOST_WHOLE:,} {SAID}; all of it: honestone show 01JRUN --format html --all" in text
    for shown in (
        "words that failed",
        "asked that failed",
        "words that are open",
        "asked that is open",
    ):
        assert shown in text
    assert "words that passed" not in text
    assert "asked that passed" not in text
    assert text.count('data-case="good-') == MOST_WHOLE, "every case has its row"


def test_all_of_it_can_be_asked_for() -> None:
    text = suite_html(made(MOST_WHOLE), has_all=True)
    assert SAID not in text
    assert text.count("words that passed") >= MOST_WHOLE


def test_a_page_of_a_thousand_cases_has_everything() -> None:
    text = suite_html(made(MOST_WHOLE - 2))
    assert SAID not in text
    assert "words that passed" in text


def test_a_large_page_of_a_report_without_a_run_names_the_json() -> None:
    assert f"{SAID}; all of it: --json" in suite_html(made(MOST_WHOLE, run=None))
