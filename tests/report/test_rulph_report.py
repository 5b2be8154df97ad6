"""rulph's report: its headings, scores that are ours, nothing live from outside, and a contract
that is read back.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import samples
from rendered import _from_json
from test_markdown import without_code

from honestone.core.errors import UsageError
from honestone.interop.recognise import read_any_rubric
from honestone.report.documents.improvement import ImprovementDoc
from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.formats import draw
from honestone.report.pages.rulph import improvement_rulph, scorecard_rulph
from honestone.system.drawing import Style

improvement_text = _from_json(improvement_rulph, ImprovementDoc)
scorecard_text = _from_json(scorecard_rulph, ScorecardDoc)


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.+)$", text, re.M)


def test_a_report_has_rulphs_headings_and_counts_the_original_as_round_1() -> None:
    text = improvement_text(samples.improvement("PASSED"))
    assert headings(text) == [
        "Rubric-Loop Final Report",
        "Evaluation Contract",
        "Score History",
        "Final Scores (Round 4)",
        "Improvements Made",
        *(f"Round {number} → Round {number + 1}" for number in (1, 2, 3, 4)),
        "Model Availability",
        "Changes Summary",
    ]
    assert "**Result**: PASSED\n" in text
    assert re.search(r"^\| 4 \| 91\.6 \|.*\| codex, gemini \|$", text, re.M)
    assert "nothing of it was kept" in text
    assert "| claude (held out) |" in text


def test_a_judge_that_failed_once_is_named_with_the_round() -> None:
    text = improvement_text(samples.improvement("PASSED"))
    assert "| gemini | AVAILABLE; round 3: DEGRADED (timed out after 120 s) |" in text
    assert "LOW CONFIDENCE" in text.split("**Round 3**")[1].split("**Round 4**")[0]


@pytest.mark.parametrize(
    ("result", "words"),
    [("PLATEAU", "CIRCUIT BREAKER (no progress)"), ("UNCONFIRMED", "UNCONFIRMED")],
)
def test_a_loop_that_fell_short_does_not_say_passed(result: str, words: str) -> None:
    text = improvement_text(samples.improvement(result))
    assert f"**Result**: {words}\n" in text
    assert "PASSED threshold" not in text


def test_one_scoring_is_the_contract_and_its_score_lines() -> None:
    text = scorecard_text(samples.failed())
    assert headings(text) == ["Evaluation Contract"]
    assert "📊 Score: " in text
    assert "⚠️ BELOW FLOOR" in text


def test_the_contract_reads_back_as_a_rubric(tmp_path: Path) -> None:
    doc = samples.improvement("PASSED")
    (tmp_path / "report.md").write_text(improvement_text(doc))
    rubric = read_any_rubric(tmp_path / "report.md", ()).rubric
    assert [one.id for one in rubric.criteria] == [
        one["id"] for one in doc["final"]["criteria"] if one["parent"] is None
    ]
    assert (rubric.threshold * 100, rubric.floor * 100) == (80, 60)


@pytest.mark.parametrize(
    "text",
    [
        scorecard_text(samples.hostile()),
        improvement_text(
            samples.improvement(
                "PASSED",
                title=samples.HOSTILE,
                reason=samples.HOSTILE,
                baseline=samples.hostile(),
                final=samples.hostile(),
            )
        ),
    ],
)
def test_nothing_from_outside_is_live(text: str) -> None:
    safe = without_code(text.replace("---", ""))
    assert not re.search(
        r"[<>\[\]]|javascript:|://", re.sub(r"overall >= |criterion >= ", "", safe)
    )
    assert "\x1b" not in text


def test_it_does_not_show_suites() -> None:
    with pytest.raises(UsageError, match="--format rulph does not show this"):
        draw({"schema": "honestone.trend/1"}, "rulph", Style())
