"""Two runs side by side and many in a row, as text and as Markdown."""

from __future__ import annotations

import re

import pytest
from rendered import comparison_markdown, comparison_text, trend_markdown, trend_text
from suite_samples import HOSTILE, comparison, side, trend

from honestone.core.numbers import change_words, duration_words, percent, rate_change_words
from honestone.report.documents.scorecard import UsageDoc
from honestone.report.documents.suite import p_words
from honestone.report.documents.table import ColumnDoc
from honestone.report.terminal.comparison_text import MOST_CHANGED


def test_the_text_names_every_case_that_matters() -> None:
    """Swapped and vanished cases are named with what they are."""
    text = comparison_text(comparison())
    assert text.startswith("✗ DID NOT PASS  01JBASE → 01JRUN\n")
    for name, id in (
        ("regressions", "down"),
        ("improvements", "up"),
        ("missing", "gone"),
        ("new", "fresh"),
    ):
        assert re.search(rf"{name} +{id}\b", text)
    assert "1 win, 1 loss, 1 tie (sign test: p = 1)" in text
    assert re.search(r"down +passed → failed +100.0 → 0.0 +−100.0", text)
    assert not re.search(r"^  same ", text, re.M), "what did not change is not listed"


def test_an_unknown_difference_is_no_number() -> None:
    """With an undecided case there is no delta, and the text says why."""
    doc = comparison(
        delta=None,
        interval=None,
        score_delta=None,
        score_interval=None,
        undecided=["open"],
        verdict="inconclusive",
    )
    text = comparison_text(doc)
    assert text.count("not known: some cases could not be judged") == 2
    assert re.search(r"undecided +open", text) and "COULD NOT BE JUDGED" in text


def test_of_very_many_changes_the_largest_losses_come_first() -> None:
    """The list is cut at a number that is said."""
    cases = [
        {
            "id": f"c{n}",
            "baseline": side("passed", 100),
            "candidate": side("passed", 100 - n),
            "delta": -float(n),
        }
        for n in range(1, 61)
    ]
    text = comparison_text(comparison(cases=cases))
    listed = re.findall(r"^  (c\d+) ", text, re.M)
    assert listed[0] == "c60" and len(listed) == MOST_CHANGED and "and 20 more" in text


@pytest.mark.parametrize("draw", [comparison_text, comparison_markdown])
def test_hostile_names_are_harmless(draw) -> None:  # type: ignore[no-untyped-def]
    """Names of others carry no control character and no live markup."""
    cases = [
        {
            "id": HOSTILE,
            "baseline": side("passed", 100),
            "candidate": side("failed", 0),
            "delta": -100.0,
        }
    ]
    text = draw(
        comparison(
            baseline=HOSTILE,
            candidate=HOSTILE,
            reasons=[HOSTILE],
            regressions=[HOSTILE],
            cases=cases,
        )
    )
    assert not re.search("[\x00-\x09\x0b-\x1f\u2028\u202e]", text)
    if draw is comparison_markdown:
        assert not re.search(r"(?<!\\)<\w", text)
        rows = [one for one in text.splitlines() if one.startswith("|")]
        assert len({len(re.findall(r"(?<!\\)\|", row)) for row in rows}) == 1


def test_a_trend_has_its_runs_in_order_with_the_change_from_one_to_the_next() -> None:
    """A rate that is not known is not drawn as a number."""
    text = trend_text(trend())
    assert [text.index(run) for run in ("01JA", "01JB", "01JC")] == sorted(
        text.index(run) for run in ("01JA", "01JB", "01JC")
    )
    lines = {
        run: next(one for one in text.splitlines() if run in one)
        for run in ("01JA", "01JB", "01JC")
    }
    assert "50.0%" in lines["01JA"] and "+25.0" in lines["01JB"] and "n/a" in lines["01JC"]
    assert "| 01JC |  | between 50.0% and 75.0% |  | n/a |" in trend_markdown(trend())


def test_a_rate_below_its_bar_is_not_rounded_up_to_it() -> None:
    """In a trend and next to the columns of a table, as in a report."""
    run = {"run": "01JA", "pass_rate": 0.8996, "min_pass_rate": 0.9, "mean_score": 90.0}
    doc = {"schema": "honestone.trend/1", "runs": [run]}
    for drawn in (trend_text(doc), trend_markdown(doc)):
        assert "89.9%" in drawn and "90.0%" not in drawn
    column = ColumnDoc(
        name="a",
        run="01JA",
        target="mock",
        artifact=None,
        verdict="fail",
        reasons=[],
        pass_rate=0.8996,
        mean_score=None,
        counts={},
        usage=UsageDoc(),
        duration_ms=1,
    )
    assert column.figures_by(0.9)["pass rate"] == "89.9%"
    assert column.figures_by(0.89)["pass rate"] == "90.0%"


def test_numbers_are_cut_and_never_rounded_up() -> None:
    """Scores are; a rate is rounded, but not up to all or to a bar that it misses. A p is never 0."""
    assert percent(2 / 3) == "66.7%" and percent(0.9999) == "99.9%" and percent(None) == "n/a"
    assert percent(29 / 30) == "96.7%" and percent(0.8996, 0.9) == "89.9%"
    assert rate_change_words(1 / 6) == "+16.7" and rate_change_words(-0.0004) == "0.0"
    assert (
        change_words(-0.04) == "0.0"
        and change_words(12.39) == "+12.3"
        and change_words(-12.39) == "−12.3"
    )
    assert p_words(0) == "below 0.0001" and p_words(0.0312) == "0.0312" and p_words(1) == "1"


def test_durations_read_like_durations() -> None:
    """From milliseconds to hours; what was not measured is empty, not 0."""
    assert [duration_words(n) for n in (None, 0, 12, 3456, 125_000, 3_720_000)] == [
        "",
        "0 ms",
        "12 ms",
        "3.4 s",
        "2 min 5 s",
        "1 h 2 min",
    ]
