"""Markdown reports: complete, and without any live markup from outside text."""

from __future__ import annotations

import re

import pytest
import samples
from hypothesis import given
from hypothesis import strategies as st
from rendered import improvement_markdown, scorecard_markdown

from honestone.core.judging.rubric import from_plain
from honestone.report.pages.markdown import fenced, md

CODE = re.compile(r"(?<!\\)`[^`\n]*`")


def without_code(text: str) -> str:
    """Escaped characters and code spans taken out: what is left is what a renderer may act on."""
    return CODE.sub("", re.sub(r"\\[^\w\s]", "", text))


def tables(text: str) -> list[list[str]]:
    return [block.strip().splitlines() for block in re.findall(r"(?:^\|.*\n?)+", text, re.M)]


def cells(row: str) -> int:
    return len(re.findall(r"(?<!\\)\|", row))


@given(st.text(max_size=60))
def test_escaped_text_has_nothing_live_left(text: str) -> None:
    """No link, image, HTML, code, emphasis, mention or address; on one line, so it fits a table
    cell.
    """
    safe = without_code(md(text))
    assert not re.search(r"[<>\[\]`*|~&$@]", safe)
    assert not re.search(r"#\d|://|www\.|mailto:", safe, re.I)
    assert "\n" not in md(text)


@given(st.text("`@#1\\|<_ a", max_size=20))
def test_escapes_survive_mixtures(text: str) -> None:
    """Backslashes, code spans and escapes beside each other do not undo one another."""
    assert not re.search(r"[<|`@]", without_code(md(text)))


@pytest.mark.parametrize(
    ("text", "safe"),
    [
        ("plain words, snake_case stays", "plain words, snake_case stays"),
        ("_em_", r"\_em\_"),
        ("- no list", r"\- no list"),
        ("1. no list", r"1\. no list"),
        ("# no heading", r"\# no heading"),
        ("a | b", r"a \| b"),
        ("[x](http://y)", r"\[x\](http\://y)"),
        ("<!-- x -->", r"\<!-- x --\>"),
        ("@team", "`@`team"),
        ("see #12", "see `#`12"),
        ("www.example.org", r"www\.example.org"),
        ("=== x", r"\=== x"),
        ("한국어 — ok", "한국어 — ok"),
    ],
)
def test_what_is_escaped_and_what_stays_readable(text: str, safe: str) -> None:
    """Only what could act is escaped."""
    assert md(text) == safe


@pytest.mark.parametrize(
    "content", ["```\nout", "````", "a ``` b\n```````\n", "~~~", "", "x\x1b[31m\u202e"]
)
def test_a_fence_cannot_be_closed_by_its_content(content: str) -> None:
    """The fence is longer than any run of backticks inside, and the block holds no control
    characters.
    """
    first, *body, last = fenced(content).split("\n")
    assert first == last and set(first) == {"`"}
    assert not any(one.strip().startswith(first) for one in body)
    assert "\x1b" not in fenced(content) and "\u202e" not in fenced(content)


def test_hostile_words_everywhere_leave_no_live_markup() -> None:
    """In every place that outside text can reach: one row stays one row, and nothing acts."""
    text = scorecard_markdown(samples.hostile())
    assert not re.search(r"(?<!\\)<", CODE.sub("", text))
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2066\u2028\ufeff]", text)
    assert "http://" not in text and "@everyone" not in text
    for block in tables(text):
        assert len({cells(row) for row in block}) == 1
    headings = [one for one in text.splitlines() if one.startswith("#")]
    assert (
        len(headings) == 5
    )  # the title, criteria, not met, not answered, judges: none from outside


def test_a_scorecard_says_all_that_the_terminal_says() -> None:
    """Verdict, reasons, scores by judge, evidence with where it stands, suggestions, states, ids."""
    text = scorecard_markdown(samples.failed())
    assert text.startswith("# DID NOT PASS: report.md\n")
    for part in (
        "criterion 'reproducible' is 50.0, below its floor 70",
        "| reproducible | 50.0 | 70 | 50 | 65.0 | 35.0 | **below floor**, required, judges 30.0 apart |",
        "“It never works for me” (gemini, NOT in the artifact)",
        "suggestion: Number the steps and start each with a verb (codex)",
        "| claude | DEGRADED | timed out after 120 s",
        "cost unknown",
        "contract: sha256:cdcd",
    ):
        assert part in text


def test_what_is_not_known_is_an_interval() -> None:
    """No single number where a mark is missing."""
    text = scorecard_markdown(samples.inconclusive())
    assert "**Overall: 62.5-93.7** of 100" in text and "| impact | 0.0-100.0 |" in text
    assert "## Not answered" in text and "**LOW CONFIDENCE**" in text


PLAIN = {  # as `core.judging.rubric.to_plain` gives it
    "title": "Bug <b>report</b>",
    "threshold": "4/5",
    "floor": "3/5",
    "criteria": [
        {
            "id": "steps",
            "requirement": "Can be reproduced",
            "weight": "3",
            "floor": "7/10",
            "required": True,
            "items": [
                {
                    "id": "numbered",
                    "requirement": "Numbered | steps",
                    "check": {"kind": "not-regex", "value": "^1[.]", "options": {}},
                },
                {"id": "version", "requirement": "States the version", "may_not_apply": True},
            ],
        },
        {
            "id": "tone",
            "requirement": "Neutral tone",
            "weight": "1",
            "items": [
                {
                    "id": "tone",
                    "requirement": "Neutral tone",
                    "whole": True,
                    "anchors": [["0", "hostile"], ["5/2", "factual"]],
                }
            ],
        },
        {
            "id": "group",
            "requirement": "Two parts",
            "weight": "1",
            "criteria": [
                {
                    "id": "part",
                    "requirement": "One part",
                    "weight": "1",
                    "items": [{"id": "part", "requirement": "One part", "whole": True}],
                }
            ],
        },
    ],
}
RUBRIC = from_plain(PLAIN)


def test_the_loop_report_holds_everything_a_reader_needs_later() -> None:
    """Result, history, rounds with reasons, availability per round, certification, rubric, diffs,
    limits.
    """
    diffs = [(1, "--- a/report.md\n+++ b/report.md\n@@ -1 +1 @@\n-old\n+new ```\n")]
    text = improvement_markdown(samples.unconfirmed(), rubric=RUBRIC, diffs=diffs)
    for part in (
        "# UNCONFIRMED: report.md",
        "- score: 61.7 → 91.6, needs 80",
        "| baseline | 61.7 | 50.0 | 87.5 | 69.9 |",
        "| round 2 | (55.0) | (55.0) |  |  |",
        "| 2 | impact | changed | rejected: the score fell by 20.0, more than the 2 points allowed | 75.0 → 55.0 (−20.0) |",
        "| round 2 | AVAILABLE | DEGRADED | not asked | gemini DEGRADED: timed out after 120 s |",
        "Not certified: a held-out judge did not pass it",
        "| claude | did not pass | 71.2 |",
        "- **steps** (weight 3, floor 70, required): Can be reproduced",
        r"  - Numbered \| steps (check not-regex: ^1\[.\])",
        "  - States the version (may not apply)",
        "  - 2.5 = factual",
        "  - **part** (weight 1): One part",
        "Threshold 80, floor 60.",
        "````diff\n--- a/report.md",
        "limits: rounds 5, calls 60",
        "original: sha256:ab",
    ):
        assert part in text, part
    for block in tables(text):
        assert len({cells(row) for row in block}) == 1


def test_a_loop_without_rounds_still_has_a_report() -> None:
    """Stopped before the first round: what is known is there and nothing is made up."""
    doc = samples.improvement(
        "COULD_NOT_JUDGE", baseline=samples.inconclusive(), final=samples.inconclusive(), rounds=[]
    )
    text = improvement_markdown(doc)
    assert (
        text.startswith("# COULD NOT BE JUDGED: report.md")
        and "62.5-93.7" in text
        and "## Rounds" not in text
    )
