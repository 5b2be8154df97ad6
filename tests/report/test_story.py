"""What a report of a loop says of each round beside the decision, and of what would help next."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from typing import Any

import pytest
import samples
from msgspec import convert
from rendered import improvement_html, improvement_junit, improvement_markdown, improvement_text
from test_documents import (
    ACCEPTED,
    BASELINE,
    BETTER,
    RUBRIC,
    ballot,
    code,
    improvement,
    looked,
    proposed,
)

from honestone.core.belief.stated import chance_of
from honestone.core.record.event_codec import event_from_plain
from honestone.report.building.improvement import round_spends
from honestone.report.documents.improvement import LONGEST_WORDS, MoveDoc, RoundDoc, StandingDoc
from honestone.report.documents.scorecard import JudgeDoc, ScorecardDoc
from honestone.system.drawing import Style, width

HOSTILE = "\x1b[31m<script>alert(1)</script> | =1+1 `x` \u202e ![i](http://x)"


def told(**more: Any) -> dict[str, Any]:
    """A loop of two rounds that has something to say about everything."""
    doc = samples.improvement(
        "ROUND_LIMIT",
        advice=[
            {
                "kind": "rounds",
                "text": "More rounds (--rounds): the score still rose in round 1.",
                "about": "--rounds",
            },
            {
                "kind": "item",
                "text": "A clearer item 'It is kind': the judges disagreed.",
                "about": "tone/kind",
            },
        ],
    )
    first, second = doc["rounds"][:2]
    first |= {
        "said": "added the steps",
        "criteria": [
            {"id": "steps", "before": 40.0, "after": 60.0},
            {"id": "tone", "before": 70.0, "after": 71.0, "within_noise": True},
            {"id": "impact", "before": 50.0, "after": 50.0},
        ],
        "usage": samples.usage(judge_calls=2, worker_calls=1, usd=0.5),
        "probability": 0.9412,
    }
    second |= {"within_noise": True, "interval_after": [50.0, 60.0], "score_after": 55.0}
    return doc | {"rounds": [first, second]} | more


def test_a_round_says_what_moved_who_said_what_and_what_it_cost() -> None:
    """A line each: the moves with their noise, how sure, the worker's words, the cost."""
    one = RoundDoc(**{**_round(), "usage": None})
    assert one.story() == [
        "steps 40.0 → 60.0 (+20.0); tone 70.0 → 71.0 (+1.0, within noise); 1 as before",
        "94% sure that the contract is met",
        'the worker: "added the steps"',
    ]


def _round() -> dict[str, Any]:
    plain = told()["rounds"][0]
    return {
        "round": plain["round"],
        "worker_message": plain["said"],
        "probability": plain["probability"],
        "criteria": [MoveDoc(**move) for move in plain["criteria"]],
    }


def test_a_round_without_a_look_has_little_to_say() -> None:
    """No move, no noise, no cost is invented."""
    assert RoundDoc(round=1).story() == []
    assert RoundDoc(round=1, criteria=[MoveDoc(id="a", before=5.0, after=5.0)]).story() == [
        "no criterion moved"
    ]


def test_an_expected_score_is_below_its_floor_by_itself() -> None:
    """Marks of a few looks may be on the other side of it."""
    for score, is_low in ((55.0, True), (61.0, False)):
        marked = [samples.criterion("c", 50.0, below_floor=not is_low)]
        card = convert(samples.scorecard("fail", 50.0, marked), ScorecardDoc)
        expected = StandingDoc(score=score, interval=[50.0, 65.0], criteria={"c": score})
        (one,) = expected.on(card).criteria
        assert (one.score, one.below_floor, one.floor) == (score, is_low, 60)


def test_a_round_that_was_not_judged_says_nothing_of_moves() -> None:
    """Also not that nothing moved."""
    assert RoundDoc(round=1, criteria=[MoveDoc(id="a", before=5.0)]).story() == []


def test_a_score_with_open_votes_says_between_what_it_is() -> None:
    """The reason speaks of its lower end, the round of what was answered: both are explained."""
    failed = [JudgeDoc(id="x", state="DEGRADED")]
    one = RoundDoc(round=1, score_after=60.0, interval_after=[40.0, 73.0], judges=failed)
    assert one.story() == ["with the votes that did not come, the score is from 40.0 to 73.0"]
    assert one.story(is_expected=True) == [], "an expected score has its interval whoever failed"
    assert RoundDoc(round=1, score_after=60.0, interval_after=[40.0, 73.0]).story() == [], (
        "nobody else was asked"
    )


def test_scores_of_other_judges_are_not_taken_for_the_workers() -> None:
    """A policy may ask another judge each time: what moved may be the difference of the two."""
    moved = [MoveDoc(id="a", before=50.0, after=60.0)]
    told = RoundDoc(round=1, criteria=moved, same_judges=False).story()
    assert told[1:] == ["scored by other judges than before, so a part of the move may be theirs"]
    assert len(RoundDoc(round=1, criteria=moved, same_judges=True).story()) == 1
    others = [proposed(1, version="v1"), looked("v1", code()), looked("v1", ballot("y"))]
    seen = [
        improvement(*BASELINE, *more)["rounds"][0]["same_judges"]
        for more in (BETTER, others, [proposed(1)])
    ]
    assert seen == [True, False, None]


def test_bytes_proposed_again_are_not_told_again() -> None:
    """What they did to the score is told where they came first; what the round cost is its own."""
    again = proposed(2, version="v1") | {"spend": {"worker_calls": 1}}
    rejected = {"type": "rejected", "round": 1, "reason": "it fell"}
    first, second = improvement(*BASELINE, *BETTER, rejected, again)["rounds"]
    assert (first["same_as"], second["same_as"]) == (None, 1)
    moved = [MoveDoc(id="a", before=50.0, after=60.0)]
    assert RoundDoc(
        round=2, same_as=1, criteria=moved, probability=0.5, worker_message="done"
    ).story() == ['the worker: "done"']


def test_what_the_outcome_says_already_is_not_said_twice() -> None:
    """A crash's detail holds the worker's last words."""
    assert (
        RoundDoc(
            round=1,
            outcome="crashed",
            outcome_detail="it ended (no credit)",
            worker_message="no credit",
        ).story()
        == []
    )
    assert RoundDoc(round=1, outcome="unchanged", worker_message="done").story() == [
        'the worker: "done"'
    ]


@pytest.mark.parametrize(
    ("reason", "best", "words"),
    [
        (
            "the budget; 8% sure that it passes",
            0,
            "of the original it is ",
        ),
        (
            "the budget; 8% sure that it passes",
            1,
            "of the version of round 1 it is ",
        ),
        ("5 rounds without progress", 0, ""),
    ],
)
def test_how_sure_it_is_names_the_version_where_the_reason_is_about_another(
    reason: str, best: int, words: str
) -> None:
    """Two sentences without that contradict each other."""
    sentence = "99% sure that the contract is not met (asked: 99%), after 1 look of 1 judge"
    belief = {"probability": 0.001, "target": 0.99, "looks": 1, "sentence": sentence}
    doc = samples.improvement("BUDGET", reason=reason, best_round=best, belief=belief)
    for draw in (improvement_text, improvement_markdown, improvement_html):
        shown = " ".join(draw(doc).split())
        assert words + sentence in shown and (words or "it is 99%" not in shown), draw
        assert ("of the version kept last it is 8% sure" in shown) is bool(words), draw


@pytest.mark.parametrize("suite", [{}, {"suite": {"path": "suite.yaml", "dialect": "honestone"}}])
def test_a_limit_that_came_first_is_no_reason_to_look_for_judges(suite: dict[str, Any]) -> None:
    """The advice names what helps."""
    bigger = {
        "kind": "budget",
        "text": "A bigger budget: --max-calls 1 are used up.",
        "about": None,
    }
    lost, cut_short = (
        improvement_text(samples.improvement("COULD_NOT_JUDGE", advice=advice, **suite))
        for advice in ([], [bigger])
    )
    assert "honestone doctor" in lost and "honestone doctor" not in cut_short


def test_every_form_tells_the_story() -> None:
    """Text, Markdown and HTML hold the same lines, in their own dress."""
    for drawn in (improvement_text(told()), improvement_markdown(told()), improvement_html(told())):
        plain = " ".join(drawn.replace("\\", "").split())
        for words in (
            "added the steps",
            "within noise",
            "94% sure",
            "2 judge calls",
            "What would help",
        ):
            assert words in plain, words
        assert "the score still rose in round 1" in plain and "It is kind" in plain.replace(
            "&#39;", "'"
        )
    assert "What would help" not in improvement_text(told(advice=[]))


@pytest.mark.parametrize("columns", [40, 80, 140])
def test_no_line_of_the_story_is_too_wide(columns: int) -> None:
    """Also with long names and words."""
    doc = told()
    doc["rounds"][0]["said"] = "word " * 60
    doc["advice"][0]["text"] = "much to say " * 20
    text = improvement_text(doc, Style(width=columns))
    shown = [
        line for line in text.splitlines() if "honestone " not in line and "report " not in line
    ]
    assert max(map(width, shown)) <= columns


def test_hostile_words_of_a_worker_stay_words() -> None:
    """No escape, no tag, no table cell, no image."""
    doc = told(advice=[{"kind": "item", "text": HOSTILE, "about": HOSTILE}])
    doc["rounds"][0] |= {
        "said": HOSTILE,
        "criteria": [{"id": HOSTILE, "before": 1.0, "after": 2.0}],
    }
    for drawn in (improvement_text(doc), improvement_markdown(doc), improvement_html(doc)):
        assert "\x1b" not in drawn and "\u202e" not in drawn
    assert "<script>alert" not in improvement_html(
        doc
    ) and "<script>alert" not in improvement_markdown(doc)
    assert "![i](" not in improvement_markdown(doc)
    ElementTree.fromstring(improvement_junit(doc))


# --------------------------------------------------------------------------------------------------
# from the record


def test_the_words_of_the_worker_are_cut_and_clean() -> None:
    """An agent's last words may be a page."""
    doc = improvement(
        *BASELINE, proposed(1, "unchanged") | {"message": "\x1b[1mI did it\n" + "and more " * 200}
    )
    said = doc["rounds"][0]["said"]
    assert (
        said.startswith("\\x1b[1mI did it and more")
        and len(said) == LONGEST_WORDS
        and said.endswith("...")
    )


def test_a_round_costs_its_proposal_and_its_looks() -> None:
    """The baseline is no round; the witness is asked in the last one."""
    paid = proposed(1, version="v1") | {"spend": {"worker_calls": 1, "usd": 0.5}}
    more = [looked("v1", ballot("w"), "holdout", judge_calls=1, usd=0.25)]
    doc = improvement(
        *BASELINE,
        paid,
        *ACCEPTED[1:],
        *more,
        proposed(2, "unchanged") | {"spend": {"worker_calls": 1}},
    )
    first, second = (one["usage"] for one in doc["rounds"])
    assert (first["judge_calls"], first["worker_calls"], first["usd"]) == (2, 1, 0.75)
    assert (second["judge_calls"], second["worker_calls"], second["usd"]) == (0, 1, None)


def test_candidates_of_a_round_cost_that_round() -> None:
    """Also those of a round that a kill left without a choice."""
    tried = {
        "type": "candidate",
        "round": 1,
        "candidate": 1,
        "outcome": "changed",
        "spend": {"worker_calls": 1},
    }
    log = [
        tried,
        tried | {"candidate": 2},
        proposed(1, version="v1"),
        *BETTER[1:],
        tried | {"round": 2},
    ]
    spends = round_spends([event_from_plain(json.loads(json.dumps(plain))) for plain in log])
    assert {number: (one.worker_calls, one.judge_calls) for number, one in spends.items()} == {
        1: (2, 1),
        2: (1, 0),
    }


def test_an_unfinished_run_has_no_advice() -> None:
    """An empty list, never absent."""
    assert improvement(*BASELINE, *ACCEPTED)["advice"] == []


def test_a_policy_that_decides_by_marks_states_the_belief_beside() -> None:
    """Of each version and of the run, as `eval` does by the same looks: those of held-out judges too.
    Nothing where nobody looked.
    """
    begun = improvement()
    assert begun["probability"] is begun["belief"] is None
    doc = improvement(*BASELINE, *ACCEPTED)
    seen = [code(), ballot("x")]
    assert doc["probability"] == doc["belief"]["probability"] == chance_of(RUBRIC, seen)
    assert doc["rounds"][0]["probability"] == doc["probability"]
    assert doc["baseline"]["belief"]["probability"] < 0.5 < doc["probability"]
    held = improvement(*BASELINE, *ACCEPTED, looked("v1", ballot("w"), role="holdout"))
    assert held["probability"] == chance_of(RUBRIC, [*seen, ballot("w")]) > doc["probability"]
    assert held["belief"]["sentence"] in " ".join(improvement_text(held, Style(width=200)).split())


@pytest.mark.parametrize(
    ("result", "chance", "doubt"),
    [
        ("PASSED", 0.47, "only 47% sure that the contract is met: --sure 95 asks on"),
        ("PASSED", 0.83, ""),
    ],
)
def test_a_pass_by_marks_that_is_unlikely_says_so(result: str, chance: float, doubt: str) -> None:
    """As `eval` does where verdict and belief contradict each other."""
    sentence = f"{chance:.0%} sure that the contract is met (3 judges, one look each)"
    belief = {"probability": chance, "looks": 3, "sentence": sentence}
    doc = samples.improvement(result, reason="every bar is met", belief=belief)
    for draw in (improvement_text, improvement_markdown, improvement_html):
        shown = " ".join(draw(doc).split())
        assert ("UNSURE" in shown) is bool(doubt) and doubt in shown, draw


def test_a_run_that_ended_short_says_what_would_help() -> None:
    """In the document, with what it is about."""
    end = {"type": "finished", "result": "UNCONFIRMED", "reason": "no witness"}
    doc = improvement(*BASELINE, *ACCEPTED, end, holdouts=())
    assert ("judge", None) in [(one["kind"], one["about"]) for one in doc["advice"]]
