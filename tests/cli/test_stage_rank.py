"""`stage rank`: a panel scores edits; what cannot be judged has no score."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk, Program
from .stage_desk import append, candidates, problems, put_skill, stage

ALL = "def met(criterion, item): return True\n"
NONE = "def met(criterion, item): return False\n"
HALF = "def met(criterion, item): return item['id'] in ('clarity', 'specificity', 'relevance')\n"
SAY = "print(json.dumps(reply()))\n"


@pytest.fixture
def ready(desk: Desk) -> Desk:
    put_skill(desk)
    candidates(desk, append("about ferns: moist"))
    return desk


def judge(desk: Desk, name: str, says: str) -> Program:
    return desk.judge(name, says + SAY)


def rank(desk: Desk, *judges: Program, args: tuple[str, ...] = ()) -> tuple[Any, dict[str, Any]]:
    named = [word for one in judges for word in ("--judge", one.spec)]
    return stage(desk, "rank", "--input", "c.json", *named, *args, out="r.json")


def only(document: dict[str, Any]) -> dict[str, Any]:
    (one,) = document["scored_candidates"]
    found: dict[str, Any] = one
    return found


@pytest.mark.parametrize(
    ("says", "score", "label", "recommendation"),
    [
        ((ALL, ALL), 10.0, "CONSENSUS", "accept_for_execution"),
        ((ALL, NONE), 5.0, "SPLIT", "hold"),
        ((NONE, NONE), 0.0, "CONSENSUS", "reject"),
        ((HALF,), 5.0, "CONSENSUS", "reject"),
        ((ALL, ALL, NONE), 6.666666667, "DISPUTED", "hold"),
    ],
)
def test_the_share_of_yes_is_the_score(
    ready: Desk, says: tuple[str, ...], score: float, label: str, recommendation: str
) -> None:
    """Times 10, the mean of the judges; the label says how far they agree, and a divided panel
    never accepts.
    """
    result, document = rank(ready, *(judge(ready, f"j{n}", one) for n, one in enumerate(says)))
    one = only(document)
    assert result.code == 0 and problems("ranking", document) == []
    assert (one["score"], one["panel"]["cognitive_label"], one["recommendation"]) == (
        score,
        label,
        recommendation,
    )
    assert document["summary"][recommendation] == 1 and len(one["panel"]["panel_reviews"]) == len(
        says
    )


def test_judges_see_the_edit_and_the_skill_with_it(ready: Desk) -> None:
    """The diff and SKILL.md as it would be; nothing of other judges."""
    one = judge(ready, "j", ALL)
    rank(ready, one)
    files = {file["path"]: file["text"] for file in one.requests[0]["artifact"]["files"]}
    assert (
        "+- about ferns: moist" in files["proposed-edit.diff"]
        and "about ferns" in files["skill/SKILL.md"]
    )


def test_a_dead_panel_makes_up_no_score(ready: Desk) -> None:
    """No number for a failure: no score, rejected, the reason named."""
    dead = ready.judge("dead", "sys.exit('401: no key')")
    result, document = rank(ready, dead)
    one = only(document)
    assert (
        result.code == 0
        and one["score"] is None
        and one["recommendation"] == "reject"
        and one["panel"]["cognitive_label"] is None
    )
    assert "panel_unavailable" in one["blockers"] and any("401" in text for text in one["blockers"])


def test_one_dead_judge_does_not_vote(ready: Desk) -> None:
    """It is listed with its reason and changes neither score nor label."""
    result, document = rank(ready, judge(ready, "j", ALL), ready.judge("dead", "sys.exit('401')"))
    one = only(document)
    assert (
        result.code == 0 and one["score"] == 10.0 and one["panel"]["cognitive_label"] == "CONSENSUS"
    )
    assert [review["score"] for review in one["panel"]["panel_reviews"]] == [10.0, None]


def test_without_judges_what_can_be_applied_gets_seven(desk: Desk) -> None:
    """Risk stands beside the score and in the recommendation; what cannot be applied has no score."""
    put_skill(desk)
    risky = {"action": "write_files", "files": [{"path": "a.py", "text": "x = 1\n"}]}
    candidates(
        desk,
        {"action": "unsupported_manual_refactor"},
        risky,
        append("x"),
        append("x", heading="## Rules"),
    )
    result, document = rank(desk)
    rows = {
        one["id"]: (one["score"], one["recommendation"], one["risk_penalty"])
        for one in document["scored_candidates"]
    }
    assert result.code == 0 and document["critic_mode"] == "none"
    assert rows == {
        "c3": (7.0, "accept_for_execution", 0.0),
        "c2": (7.0, "hold", 3.0),
        "c1": (None, "reject", 0.0),
        "c4": (None, "reject", 0.0),
    }
    assert next(iter(rows)) == "c3" and all(
        one["panel"] is None for one in document["scored_candidates"]
    )
    blockers = {one["id"]: one["blockers"] for one in document["scored_candidates"]}
    assert (
        blockers["c1"] == ["executor_not_supported"]
        and blockers["c2"] == ["risk_high"]
        and blockers["c4"] == ["changes_nothing"]
    )


def test_what_is_said_of_the_risk_never_makes_it_smaller(desk: Desk) -> None:
    """An edit of code that calls itself low is high; one of text that calls itself medium is
    medium.
    """
    put_skill(desk)
    candidates(
        desk,
        {"action": "write_files", "files": [{"path": "a.py", "text": "x = 1\n"}]},
        risk_level="low",
    )
    assert only(rank(desk)[1])["risk_level"] == "high"
    candidates(desk, append("x"), risk_level="medium")
    assert only(rank(desk)[1])["risk_level"] == "medium"


def test_mock_likes_everything_and_says_that_it_is_one(ready: Desk) -> None:
    """The context can be tried without a call, and nobody can take it for evidence."""
    result, document = rank(ready, args=("--mock",))
    assert (
        result.code == 0
        and document["mock"] is True
        and document["critic_mode"] == "mock"
        and only(document)["score"] == 10.0
    )
    assert document["summary"]["llm_judge_enabled"] is False


def test_best_first_and_what_nobody_judged_last(desk: Desk) -> None:
    """The order is by score."""
    put_skill(desk)
    candidates(desk, append("bad one"), {"action": "by_hand"}, append("good one"))
    liking = desk.judge(
        "j", "text = str(artifact)\ndef met(criterion, item): return 'good one' in text\n" + SAY
    )
    _, document = rank(desk, liking)
    assert [one["id"] for one in document["scored_candidates"]] == ["c3", "c1", "c2"]


def test_the_same_ranking_again_pays_no_call(ready: Desk) -> None:
    """Replies are on record."""
    one = judge(ready, "j", ALL)
    rank(ready, one)
    _, document = rank(ready, one)
    assert (
        one.calls == 1
        and document["usage"]["cached_calls"] == 1
        and only(document)["score"] == 10.0
    )


@pytest.mark.parametrize(
    "content",
    [
        "{}",
        '{"stage": "ranked"}',
        "[1]",
        "{",
        '{"stage": "proposed", "schema_version": "1.0", "run_id": "r", "candidates": [{}]}',
    ],
)
def test_what_is_no_candidates_artifact_is_refused_with_its_place(desk: Desk, content: str) -> None:
    """Exit 2, the file named, no traceback."""
    put_skill(desk)
    desk.file("c.json", content)
    result, _ = rank(desk)
    assert result.is_refusal and "c.json" in result.err


def test_a_plan_that_leaves_the_skill_is_rejected(desk: Desk) -> None:
    """It is ranked, with what is wrong with it, and never has a score."""
    put_skill(desk)
    desk.file("other.md", "mine\n")
    candidates(desk, append("x"), target_path="skill/../other.md")
    one = only(rank(desk)[1])
    assert one["score"] is None and one["blockers"] == ["leaves_the_skill"]
    assert json.dumps(one) and (desk.folder / "other.md").read_text() == "mine\n"
