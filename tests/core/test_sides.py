"""What a run stores of its two sides: written and read back without a change, also that of 0.1.0."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import msgspec
import pytest

from honestone.core.events import SidesCompared
from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.judging.spend import Spend
from honestone.core.record.event_codec import event_from_plain, event_to_plain
from honestone.core.skill.evaluation import SkillResult, SkillVerdict, TaskResult
from honestone.core.skill.sides import (
    BaselineSide,
    SidesComparison,
    SkillRemark,
    SkillSide,
    comparison_to_plain,
    decide_skill,
    joint_verdict,
)
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide, RunComparison, compare, judge_comparison
from honestone.report.building.suite import comparison_document

# As version 0.1.0 stored it: no texts, no number of cases with low confidence.
OLD_COMPARISON = {
    "schema": "honestone.comparison/1",
    "baseline": "A",
    "candidate": "B",
    "verdict": "pass",
    "reasons": [],
    "delta": 0.3333333333333333,
    "interval": [0.0, 1.0],
    "score_delta": 33.333333333333336,
    "score_interval": [0.0, 100.0],
    "p": 1.0,
    "wins": 1,
    "losses": 0,
    "ties": 0,
    "regressions": [],
    "improvements": ["elder"],
    "missing": [],
    "new": [],
    "undecided": [],
    "unstable": ["elder"],
    "notes": [],
    "cases": [
        {
            "id": "elder",
            "baseline": {"status": "failed", "verdict": "fail", "score": 0.1},
            "candidate": {"status": "passed", "verdict": "pass", "score": 33.43333333333334},
            "delta": 33.33333333333334,
            "unstable": True,
        }
    ],
}
OLD = {
    "type": "compared",
    "fields": {
        "verdict": "pass",
        "reasons": [],
        "baseline_pass_rate": 0.5,
        "delta": 0.3333333333333333,
        "interval": [0.0, 1.0],
        "regressions": [],
        "comparison": OLD_COMPARISON,
        "baseline": {"name": "HEAD", "run": "A"},
    },
}


def compared(before: CaseSide, after: CaseSide) -> RunComparison:
    found = compare({"a": before, "b": before}, {"a": after, "b": before})
    return RunComparison(
        found=found, verdict=judge_comparison(found, ()), baseline="A", candidate="B"
    )


SIDES = compared(
    CaseSide(
        status=Status.FAILED,
        score=Fraction("0.333333333333"),
        output="before",
        items=(("names it", False), ("is short", True), ("has a title", True)),
    ),
    CaseSide(
        status=Status.PASSED,
        score=Fraction(1),
        low_confidence=True,
        output="after",
        items=(("names it", True), ("is short", True), ("has a title", False)),
    ),
)
TASK = TaskResult(task_id="a", passed=True, score=0.5, attempts=2, passes=1)
SPEND = Spend(judge_calls=2, target_calls=4, usd=0.25, input_tokens=7)
OF_A_SKILL = SidesComparison(
    skill=SkillSide(
        pass_rate=0.5,
        is_mock=True,
        structure=(SkillRemark("long", 3, "it is long", "cut it"),),
        flags=("flaky: a (1 of 2)",),
        results=(TASK,),
    ),
    baseline=BaselineSide(
        name="without", run="A", pass_rate=None, spend=SPEND, is_cached=True, results=(TASK,)
    ),
    verdict="error",
    reasons=("open",),
    comparison=SIDES,
    spend=SPEND,
)
OF_A_SUITE = SidesComparison(
    baseline=BaselineSide(name="HEAD", run="A", pass_rate=0.5),
    verdict="fail",
    delta=-0.5,
    interval=(-1.0, 0.0),
    comparison=SIDES,
    better=0.01,
    worse=0.62,
)
SKILL_ALONE = SidesComparison(skill=OF_A_SKILL.skill)


@pytest.mark.parametrize("sides", [OF_A_SKILL, OF_A_SUITE, SKILL_ALONE])
def test_what_is_stored_is_read_back(sides: SidesComparison) -> None:
    stored = json.loads(json.dumps(event_to_plain(SidesCompared(sides=sides))))
    event = event_from_plain(stored)
    assert isinstance(event, SidesCompared)
    assert (event.sides.skill, event.sides.baseline) == (sides.skill, sides.baseline)
    assert (event.sides.verdict, event.sides.reasons) == (sides.verdict, sides.reasons)
    assert (event.sides.delta, event.sides.interval) == (sides.delta, sides.interval)
    assert event.sides.spend == sides.spend
    assert (event.sides.better, event.sides.worse) == (sides.better, sides.worse)
    assert json.loads(json.dumps(event_to_plain(event))) == stored


def test_the_record_of_an_old_version_keeps_its_figures() -> None:
    again: Any = event_to_plain(event_from_plain(OLD))
    fields = again["fields"]
    assert {key: value for key, value in fields.items() if key != "comparison"} == {
        key: value
        for key, value in OLD["fields"].items()
        if key != "comparison"  # type: ignore[attr-defined]
    }
    for name, value in OLD_COMPARISON.items():
        if name != "cases":
            assert fields["comparison"][name] == value
    (case,) = fields["comparison"]["cases"]
    assert case["delta"] == 33.33333333333334
    assert case["unstable"] is True
    assert case["candidate"]["score"] == 33.43333333333334


def test_a_comparison_is_stored_as_its_document_without_texts() -> None:
    """Two writers of one shape: the record's here, the report's with texts."""
    document = msgspec.to_builtins(comparison_document(SIDES))
    stored = comparison_to_plain(SIDES)
    for case in document["cases"]:
        case["input"] = case["candidate"]["output"] = None
    assert document == stored
    assert list(document) == list(stored)


@pytest.mark.parametrize(
    "fields",
    [
        {"verdict": "pass", "comparison": "text"},
        {"verdict": "pass", "interval": [0.0]},
        {"verdict": "pass", "delta": "much"},
        {"verdict": "pass", "comparison": OLD_COMPARISON | {"verdict": "perhaps"}},
        {"candidate_results": [{"passed": True}]},
        {"verdict": "pass", "usage": []},
    ],
)
def test_a_damaged_record_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises((TypeError, ValueError, KeyError)):
        event_from_plain({"type": "compared", "fields": fields})  # type: ignore[dict-item]


def test_a_pass_of_a_skill_holds_while_nothing_speaks_against_it() -> None:
    passed = SkillResult(verdict=SkillVerdict.PASS)
    fails = Verdict(Outcome.FAIL, ("below its bar",))
    open_ = Verdict(Outcome.INCONCLUSIVE, ("a case is open",))
    assert decide_skill(passed, SIDES, is_gated=False, own=None).verdict is SkillVerdict.PASS
    assert decide_skill(passed, SIDES, is_gated=False, own=fails).verdict is SkillVerdict.FAIL
    assert decide_skill(passed, SIDES, is_gated=False, own=open_).verdict is SkillVerdict.ERROR
    broken = SkillResult(verdict=SkillVerdict.ERROR, reason="fix the suite first")
    assert decide_skill(broken, SIDES, is_gated=False, own=fails) == (
        SkillVerdict.ERROR,
        ("fix the suite first",),
    )


def test_a_failure_decides_before_what_is_open() -> None:
    open_, fails = Verdict(Outcome.INCONCLUSIVE, ("open",)), Verdict(Outcome.FAIL, ("lost",))
    passed = Verdict(Outcome.PASS)
    assert joint_verdict([passed, open_, fails]) == fails
    assert joint_verdict([passed, open_]) == open_
    assert joint_verdict([passed, passed]).outcome is Outcome.PASS
