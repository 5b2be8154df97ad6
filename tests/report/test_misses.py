"""What a case misses, in the words of whoever wrote its checks; and the few lines that are shown of
its input and output.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from suite_samples import HOSTILE, case, criterion, item, judge

from honestone.core.judging.scorecard import _Bar, read_gate_reason
from honestone.report.case_text import case_lines
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.excerpts import ROWS, excerpt
from honestone.report.misses import misses, why
from honestone.system.drawing import Style, width


def check(requirement: str, note: str, **more: Any) -> dict[str, Any]:
    """A criterion that code answered with no."""
    one = item(
        "c",
        {"check": "no"},
        requirement=requirement,
        kind="check",
        evidence=[{"judge": "check", "quote": note}],
    )
    return criterion("c", 0.0, [one], requirement=requirement, voters=None, **more)


def failed(*criteria: dict[str, Any], **more: Any) -> CaseDoc:
    reasons = [
        "criterion 'c' is 0.0, below its floor 60",
        "the overall score is 0.0, below the threshold 70",
    ]
    known = case("x", "failed", 0.0) | {
        "criteria": list(criteria),
        "reasons": reasons,
        "judges": [],
    }
    return msgspec.convert(known | more, CaseDoc)


@pytest.mark.parametrize(
    ("requirement", "note", "told"),
    [
        ("contains '14 days'", 'not found: "14 days"', "contains '14 days': not found"),
        ("contains 'a' and 'b'", 'not found: "b"', "contains 'a' and 'b': not found: \"b\""),
        ("contains 'a' and 'b'", 'not found: "a", "b"', "contains 'a' and 'b': not found"),
        ("contains 'a' or 'b'", 'found none of: "a", "b"', "contains 'a' or 'b': not found"),
        (
            "does not contain 'x y'",
            'found "x y" on line 3',
            "does not contain 'x y': found on line 3",
        ),
        (
            "does not contain 'x' or 'y'",
            'found "y" on line 1',
            "does not contain 'x' or 'y': found \"y\" on line 1",
        ),
        (
            "matches the pattern '[0-9]+'",
            "nothing matches /[0-9]+/",
            "matches the pattern '[0-9]+': no match",
        ),
        ("names the deadline", 'not found: "14 days"', 'names the deadline: not found: "14 days"'),
        ('contains "it\'s"', 'not found: "it\'s"', 'contains "it\'s": not found: "it\'s"'),
    ],
)
def test_a_check_is_said_once_and_without_bars(requirement: str, note: str, told: str) -> None:
    """The requirement, what was found, and neither floor nor score nor id."""
    found = why(failed(check(requirement, note)))
    if "or 'y'" in requirement:
        assert found[0].startswith(requirement) and "on line 1" in found[0]
    else:
        assert found == [told]


def test_what_is_scored_says_its_score_and_its_bar() -> None:
    """A mark on a scale is nothing without the bar that it missed; the threshold is said too."""
    votes = {"one": 2}
    scored = item(
        "c", votes, kind="anchors", scale=[1, 5], met=0.25, unmet=True, requirement="reads well"
    )
    found = misses(failed(criterion("c", 25.0, [scored], requirement="reads well")))
    assert [(one.requirement, one.evidence) for one in found] == [
        ("reads well", "25.0, needs 60"),
        ("the overall score is 0.0, below the threshold 70", ""),
    ]
    assert found[0].details == ("one 2 (on 1 to 5)",)


def test_the_threshold_is_said_where_no_single_miss_decides() -> None:
    """Of ten checks without a floor, three may fail: then the bar explains the result."""
    missed = check("says one", "no", floor=None, below_floor=False)
    bar = "the overall score is 60.0, below the threshold 70"
    assert why(failed(missed, reasons=[bar])) == ["says one: no", bar]
    assert why(failed(missed, reasons=[bar], threshold=100)) == ["says one: no"]


def test_a_judge_is_quoted() -> None:
    """One judge: its quote is the evidence; several: their votes, then each by name. A quote that
    is not there says so.
    """
    said = {
        "evidence": [{"judge": "a", "quote": "thirty days", "found": True}],
        "suggestions": [{"judge": "a", "text": "say 14"}],
    }
    alone = misses(failed(criterion("c", 0.0, [item("c", {"a": "no"}, **said)])))
    assert (alone[0].evidence, alone[0].details) == ('"thirty days"', ("suggestion: say 14",))
    false = {"evidence": [{"judge": "a", "quote": "ninety", "found": False}]}
    both = misses(failed(criterion("c", 0.0, [item("c", {"a": "no", "b": "no"}, **false)])))
    assert both[0].details == ('"ninety" (a, NOT in the output)', "no: a, b")


def test_what_could_not_be_judged_says_why() -> None:
    """An item without an answer, and the judge that was not there."""
    doc = failed(
        criterion("c", None, [item("c", {}, requirement="says one")]),
        status="inconclusive",
        reasons=[
            "1 item has no answer",
            "criterion 'c' is somewhere from 0.0 to 100.0, its floor is 60",
        ],
        judges=[judge("codex", "DEGRADED", "timed out")],
    )
    assert [(one.glyph, one.words) for one in misses(doc)] == [
        ("unknown", "says one: no answer"),
        ("warn", "codex DEGRADED: timed out"),
    ]


def test_what_decided_a_failure_comes_before_what_no_one_answered() -> None:
    """Where a check settles it no judge is asked, and short rows of reports have room for two."""
    open_ = criterion("o", None, [item("o", {}, requirement="says one")])
    doc = failed(open_, check("contains 'x'", 'not found: "x"'))
    assert why(doc) == ["contains 'x': not found", "says one: no answer"]


@given(
    st.text(max_size=20),
    st.sampled_from(["required", "floor", "threshold"]),
    st.fractions(0, 1),
    st.fractions(0, 1),
)
def test_every_reason_of_the_gate_is_recognised(
    name: str, kind: str, low: Fraction, bar: Fraction
) -> None:
    """Whatever a criterion is called and however its bar is written."""
    one = _Bar(low, max(low, Fraction(9, 10)), bar, kind, name)
    about = ("threshold", "score") if kind == "threshold" else ("criterion", name)
    assert read_gate_reason(one.missed) == read_gate_reason(f"attempt 2: {one.open}") == about


def test_other_reasons_are_not_taken_for_a_bar() -> None:
    for reason in (
        "criterion 'x' is 80.0, expected 0 to 40",
        "none of 3 attempts passed",
        "exit code 3: its floor 6 fell",
    ):
        assert read_gate_reason(reason) is None


@given(st.text(max_size=400), st.integers(0, 400), st.integers(20, 80), st.integers(1, 9))
def test_an_excerpt_keeps_to_its_size(text: str, at: int, columns: int, rows: int) -> None:
    """Never more lines than asked for, never wider, and nothing that acts on a terminal."""
    shown = excerpt(text, at=min(at, len(text)), columns=columns, rows=rows)
    assert (
        len([row for row in shown if not row.startswith("… ")]) <= rows and len(shown) <= rows + 2
    )
    assert all(width(row) <= max(columns, 24) and "\x1b" not in row for row in shown)


def test_a_long_output_is_shown_from_where_its_evidence_is() -> None:
    """A forbidden word in line 300 of 400, and in the middle of a line of a million characters."""
    text = "\n".join("here is the BADWORD" if n == 299 else f"plain {n}" for n in range(400))
    doc = failed(check("does not contain 'BADWORD'", 'found "BADWORD" on line 300'), output=text)
    lines = case_lines(doc)
    assert any("BADWORD" in row and "here" in row for row in lines) and len(lines) < ROWS + 6
    assert any("297 lines above" in row for row in lines) and not any(
        "plain 20" in row for row in lines
    )
    doc = failed(
        check("does not contain 'BADWORD'", 'found "BADWORD" on line 1'),
        output="x " * 500_000 + "BADWORD" + " y" * 500_000,
    )
    lines = case_lines(doc, Style(width=80))
    assert any("BADWORD" in row for row in lines[1:-1]) and len(lines) < ROWS + 4


def test_a_difference_in_the_middle_of_a_long_line_is_shown() -> None:
    """`equals` says the line and what is there instead of what was expected."""
    note = 'differs on line 1: "WRONG words" instead of "right words"'
    doc = failed(check("is exactly '...'", note), output="same " * 2000 + "WRONG words follow")
    assert any("WRONG words" in row for row in case_lines(doc)[1:-1])


def test_hostile_words_stay_words() -> None:
    """In input, output, requirement and evidence; and an empty output says that it is empty."""
    doc = failed(check(HOSTILE, HOSTILE), input=HOSTILE, output=HOSTILE)
    text = "\n".join(case_lines(doc))
    assert (
        "\x1b" not in text and "\x00" not in text and "\u202e" not in text and "@everyone" in text
    )
    assert "output  (empty)" in "\n".join(case_lines(failed(check("a", "b"), output="")))
