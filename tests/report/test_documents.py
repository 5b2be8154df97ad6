"""Documents: what `--json` prints is derived from events alone, is whole, and says nothing that is
not known.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.events import EvaluationStarted
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState, Mark, ballot_to_plain
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric, to_plain
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.loop.state import LoopLimits, LoopState, fold
from honestone.core.record.event_codec import event_from_plain
from honestone.report.building.improvement import improvement_document
from honestone.report.building.scorecard import (
    Facts,
    judged_document,
    scorecard_document,
    usage_document,
)
from honestone.report.documents import plain

SCALE = Anchors(levels=((Fraction(0), "hostile"), (Fraction(10), "kind")))
STEPS = Criterion(
    id="steps",
    requirement="A stranger can follow it",
    weight=Fraction(50),
    required=True,
    floor=Fraction(70, 100),
    items=(
        Item(id="numbered", requirement="Numbered steps"),
        Item(id="runs", requirement="It runs", check=Check(kind="command", value="true")),
    ),
)
TONE = Criterion(
    id="tone",
    requirement="Kind tone",
    weight=Fraction(30),
    items=(Item(id="tone", requirement="Kind tone", anchors=SCALE, whole=True),),
)
SHORT = Criterion(
    id="short",
    requirement="Short",
    weight=Fraction(20),
    items=(Item(id="short", requirement="Short", whole=True),),
)
RUBRIC = Rubric(
    criteria=(STEPS, TONE, SHORT),
    title="A guide",
    threshold=Fraction(80, 100),
    floor=Fraction(50, 100),
)
NUMBERED, RUNS, TONE_KEY, SHORT_KEY = (
    ("steps", "numbered"),
    ("steps", "runs"),
    ("tone", "tone"),
    ("short", "short"),
)
STARTED = EvaluationStarted(contract={}, contract_id="sha256:c", rubric=RUBRIC)
TEXT = "1. Install the program from its page.\n2. Start it."

SCORECARD_FIELDS = {
    "schema",
    "artifact",
    "verdict",
    "reasons",
    "score",
    "interval",
    "threshold",
    "floor",
    "low_confidence",
    "criteria",
    "judges",
    "flags",
    "contract",
    "run",
    "usage",
}
CRITERION_FIELDS = {
    "id",
    "parent",
    "score",
    "interval",
    "weight",
    "floor",
    "required",
    "below_floor",
    "spread",
    "by_judge",
    "items",
}


def facts(**more: Any) -> Facts:
    return Facts(
        **{
            "path": "a.md",
            "digest": "sha256:1",
            "contract": "sha256:c",
            "run": "01J",
            "usage": usage_document(Spend()),
            **more,
        }
    )


def ballot(
    judge: str, numbered: Any = True, tone: Any = 10, short: Any = True, **more: Any
) -> Ballot:
    given = {NUMBERED: numbered, TONE_KEY: tone, SHORT_KEY: short}
    marks = {
        key: answer if isinstance(answer, Mark) else Mark(answer)
        for key, answer in given.items()
        if answer is not None
    }
    missing = {key: "no answer" for key, answer in given.items() if answer is None}
    return Ballot(judge=judge, marks=marks, abstained=missing, **more)


def code(met: bool | None = True) -> Ballot:
    marks = {} if met is None else {RUNS: Mark(met, ("exit code 0",))}
    return Ballot(
        judge=CHECK, marks=marks, abstained={RUNS: "python is not there"} if met is None else {}
    )


def document(*ballots: Ballot, rubric: Rubric = RUBRIC, **more: Any) -> dict[str, Any]:
    return plain(scorecard_document(Scorer(rubric), ballots, facts(**more)))


def criterion(doc: Mapping[str, Any], id: str) -> dict[str, Any]:
    return next(c for c in doc["criteria"] if c["id"] == id)


# ----------------------------------------------------------------------------------------------------------
# scorecards


def test_a_scorecard_has_the_documented_fields() -> None:
    """The shape of DESIGN §7, and nothing in it that JSON cannot say."""
    doc = document(code(), ballot("x"), ballot("y"))
    assert doc["schema"] == "honestone.scorecard/1" and set(doc) >= SCORECARD_FIELDS
    assert all(set(c) >= CRITERION_FIELDS for c in doc["criteria"])
    assert all(
        set(i) >= {"id", "met", "votes", "evidence", "suggestion"}
        for c in doc["criteria"]
        for i in c["items"]
    )
    assert json.loads(json.dumps(doc, allow_nan=False)) == doc


def test_a_pass() -> None:
    """100 points, bars as written, two judges and no flag."""
    doc = document(code(), ballot("x"), ballot("y"))
    assert (doc["verdict"], doc["score"], doc["interval"], doc["reasons"]) == (
        "pass",
        100,
        [100, 100],
        [],
    )
    assert (doc["threshold"], doc["floor"], doc["low_confidence"], doc["flags"]) == (
        80,
        50,
        False,
        [],
    )
    steps = criterion(doc, "steps")
    assert (steps["floor"], steps["required"], steps["below_floor"], steps["weight"]) == (
        70,
        True,
        False,
        50,
    )
    assert steps["items"][1]["votes"] == {"check": "yes"} and steps["by_judge"] == {
        "x": 100,
        "y": 100,
    }
    assert [judge["id"] for judge in doc["judges"]] == ["x", "y"], "code is no judge"


def test_every_missed_bar_is_a_reason() -> None:
    """A required criterion, a floor and the threshold, each by name."""
    doc = document(code(False), ballot("x", numbered=False, tone=0, short=True))
    assert (
        doc["verdict"] == "fail" and criterion(doc, "steps")["below_floor"] and doc["score"] == 20
    )
    reasons = "\n".join(doc["reasons"])
    assert (
        "required criterion 'steps'" in reasons
        and "'tone' is 0.0, below its floor 50" in reasons
        and "threshold 80" in reasons
    )


def test_a_missing_mark_leaves_no_score() -> None:
    """Null with an interval, an inconclusive verdict, and at the item why nobody answered."""
    doc = document(code(None), ballot("x"))
    assert (doc["verdict"], doc["score"], doc["interval"]) == ("inconclusive", None, [75, 100])
    runs = criterion(doc, "steps")["items"][1]
    assert (runs["met"], runs["unmet"], runs["votes"], runs["note"]) == (
        None,
        None,
        {},
        "check: python is not there",
    )
    assert criterion(doc, "steps")["by_judge"] == {}, "nobody's answers to it are complete"


def test_numbers_are_not_rounded() -> None:
    """A third is a third to nine digits, so that a program that adds them up gets what we got."""
    rubric = Rubric(
        criteria=tuple(
            Criterion(id=c, requirement=c, items=(Item(id=c, requirement=c, whole=True),))
            for c in "abc"
        )
    )
    ballot = Ballot(judge="x", marks={(c, c): Mark(c == "a") for c in "abc"})
    assert document(ballot, rubric=rubric)["score"] == pytest.approx(100 / 3, abs=1e-9)


def test_judges_that_disagree_are_flagged_from_twenty_points() -> None:
    """80 and 100 not, 75 and 100 yes."""
    assert document(code(), ballot("x", tone=8), ballot("y"))["flags"] == []
    doc = document(code(), ballot("x", tone=7.5), ballot("y"))
    assert doc["flags"] == ["disagreement: tone (25.0)"] and criterion(doc, "tone")["spread"] == 25


def test_judges_that_were_not_there_or_failed_are_listed_with_their_reason() -> None:
    """With what was wrong in their replies and what was repaired."""
    gone = ballot("gone", None, None, None, state=JudgeState.SKIPPED, reason="command not found")
    mended = ballot("mended", repairs=("a trailing comma",), problems=("`x` is no criterion",))
    doc = document(code(), gone, mended)
    assert doc["judges"] == [
        {"id": "gone", "state": "SKIPPED", "reason": "command not found"},
        {
            "id": "mended",
            "state": "AVAILABLE",
            "reason": None,
            "problems": ["`x` is no criterion"],
            "repairs": ["a trailing comma"],
        },
    ]
    assert doc["low_confidence"] is True and doc["verdict"] == "pass"


def test_where_code_alone_decides_confidence_is_not_low() -> None:
    """Nobody was needed."""
    only = Rubric(
        criteria=(
            Criterion(
                id="c",
                requirement="c",
                items=(
                    Item(
                        id="c", requirement="c", check=Check(kind="contains", value="x"), whole=True
                    ),
                ),
            ),
        )
    )
    doc = document(Ballot(judge=CHECK, marks={("c", "c"): Mark(True)}), rubric=only)
    assert (doc["low_confidence"], doc["judges"], doc["verdict"]) == (False, [], "pass")


def test_a_pretended_judge_is_marked() -> None:
    """Nobody may take the marks of `mock` for a measurement."""
    pretended = replace(ballot("any name"), kind="mock")
    assert any(flag.startswith("mock") for flag in document(code(), pretended)["flags"])
    assert document(code(), ballot("mock"))["flags"] == [], "the name alone says nothing"


def test_evidence_says_whose_it_is_and_whether_it_stands_in_the_text() -> None:
    """Quotes of judges are looked up; the share that was found is counted; what a check says is no
    quote.
    """
    good = Mark(True, ("Install the program from its page",), "say where")
    bad = Mark(False, ("Nobody ever wrote this down",), "  ")
    doc = document(code(), ballot("x", numbered=good), ballot("y", numbered=bad), text=TEXT)
    item = criterion(doc, "steps")["items"][0]
    assert [(e["judge"], e["found"]) for e in item["evidence"]] == [("x", True), ("y", False)]
    assert item["suggestion"] == "say where" and item["suggestions"] == [
        {"judge": "x", "text": "say where"}
    ]
    unknown = {"start": None, "end": None, "how": None}
    assert criterion(doc, "steps")["items"][1]["evidence"] == [
        {"judge": "check", "quote": "exit code 0", "found": None, **unknown}
    ]
    assert item["evidence"][1] == {
        "judge": "y",
        "quote": "Nobody ever wrote this down",
        "found": False,
        **unknown,
    }
    assert doc["evidence_found"] == {"found": 1, "quoted": 2}


def test_a_quote_that_is_found_says_where_in_code_points() -> None:
    """A page, or somebody's script, can mark it: also behind an emoji, and where signs and white
    space differ.
    """
    text = "\n\U0001f600 one\r\n\u201cTwo\u201d  words here\n"
    said = Mark(True, ("\U0001f600 one", '"Two" words here', "Nobody ever wrote this"))
    doc = document(code(), ballot("x", numbered=said), text=text)
    exact, loose, missing = criterion(doc, "steps")["items"][0]["evidence"]
    assert (exact["how"], text[exact["start"] : exact["end"]]) == ("exact", "\U0001f600 one")
    assert (loose["how"], text[loose["start"] : loose["end"]]) == (
        "normalised",
        "\u201cTwo\u201d  words here",
    )
    assert (missing["start"], missing["end"], missing["how"]) == (None, None, None)


def test_without_the_text_nothing_is_said_about_quotes() -> None:
    """Unknown is not false."""
    doc = document(code(), ballot("x", numbered=Mark(True, ("Install the program from its page",))))
    assert (
        criterion(doc, "steps")["items"][0]["evidence"][0]["found"] is None
        and doc["evidence_found"] is None
    )


def test_a_failed_target_is_inconclusive_and_never_a_low_score() -> None:
    """The error is the first reason."""
    event = {
        "type": "judged",
        "path": "a.md",
        "digest": "d",
        "ballots": [],
        "spend": {},
        "error": "the target failed: exit code 1",
    }
    doc = plain(
        judged_document(Scorer(RUBRIC), STARTED, event_from_plain(event), run="r", text=None)
    )
    assert (doc["verdict"], doc["score"], doc["interval"], doc["reasons"][0]) == (
        "inconclusive",
        None,
        [0, 100],
        "the target failed: exit code 1",
    )


answers = st.fixed_dictionaries(
    {
        "numbered": st.none() | st.booleans(),
        "tone": st.none() | st.floats(0, 10, allow_nan=False),
        "short": st.none() | st.booleans(),
    }
)


@pytest.mark.slow
@given(st.lists(answers, max_size=4), st.none() | st.booleans())
def test_any_ballots_make_a_document(votes: Sequence[Mapping[str, Any]], met: bool | None) -> None:
    """JSON at every level; a score inside its interval, which is a point where no vote is open; the
    same after the record.
    """
    ballots = [code(met), *(ballot(f"j{n}", **vote) for n, vote in enumerate(votes))]
    doc = document(*ballots)
    for part in (doc, *doc["criteria"]):
        low, high = part["interval"]
        assert 0 <= low <= high <= 100
        assert (
            part["score"] == low
            if low == high
            else part["score"] is None or low <= part["score"] <= high
        )
    assert doc["verdict"] != "pass" or doc["interval"][0] >= 80
    event = json.loads(
        json.dumps(
            {
                "type": "judged",
                "path": "a.md",
                "digest": "sha256:1",
                "ballots": [ballot_to_plain(b) for b in ballots],
            }
        )
    )
    again = plain(
        judged_document(Scorer(RUBRIC), STARTED, event_from_plain(event), run="01J", text=None)
    )
    again["judges"] = [
        {k: v for k, v in judge.items() if k != "usage"} for judge in again["judges"]
    ]
    assert {k: v for k, v in again.items() if k != "usage"} == {
        k: v for k, v in doc.items() if k != "usage"
    }


# ----------------------------------------------------------------------------------------------------------
# usage


def test_usage_has_every_field_and_an_unknown_price_is_null() -> None:
    """Programs need not ask whether a key is there."""
    assert plain(usage_document(Spend(judge_calls=2))) == {
        "judge_calls": 2,
        "cached_calls": 0,
        "worker_calls": 0,
        "input_tokens": 0,
        "output_tokens": 0,
        "usd": None,
    }
    assert plain(usage_document(Spend(), Spend(usd=0.5)))["this_process"]["usd"] == 0.5


# ----------------------------------------------------------------------------------------------------------
# loops


def log_of(*more: dict[str, Any]) -> list[dict[str, Any]]:
    started = {
        "type": "started",
        "kind": "improve",
        "artifact": {"path": "a.md", "digest": "v0"},
        "rubric": to_plain(RUBRIC),
        "contract": {},
        "contract_id": "c",
        "rule": "mean",
        "policy": "keep-best",
        "worker": "cmd:x",
        "panel": ["x"],
        "holdouts": ["w"],
        "limits": {"rounds": 5, "patience": 3, "calls": 9, "minutes": 9.0, "usd": None},
    }
    return [started, *more]


def looked(version: str, ballot: Ballot, role: str = "panel", **spend: Any) -> dict[str, Any]:
    return {
        "type": "ballot",
        "version": version,
        "role": role,
        "ballot": ballot_to_plain(ballot),
        "spend": spend,
    }


def proposed(number: int, outcome: str = "changed", version: str | None = None) -> dict[str, Any]:
    facts = {"version": version, "diff": {"added": 1, "removed": 0, "files": 1}} if version else {}
    return {
        "type": "proposed",
        "round": number,
        "focus": ["tone"],
        "outcome": outcome,
        "detail": None,
        **facts,
    }


def improvement(
    *more: dict[str, Any], holdouts: tuple[str, ...] = ("w",), **extra: Any
) -> dict[str, Any]:
    log = [event_from_plain(plain) for plain in json.loads(json.dumps(log_of(*more)))]
    state = LoopState(
        scorer=Scorer(RUBRIC),
        panel=(CHECK, "x"),
        holdouts=holdouts,
        limits=LoopLimits(calls=9, minutes=9.0),
        original="v0",
    )
    fold(state, log[1:])
    doc = plain(
        improvement_document(
            state,
            log,
            run="01J",
            usage=usage_document(Spend()),
            text_of=lambda digest: TEXT,
            report=None,
            **extra,
        )
    )
    assert json.loads(json.dumps(doc, allow_nan=False)) == doc
    return doc


BASELINE = [looked("v0", code()), looked("v0", ballot("x", tone=2), judge_calls=1, usd=0.25)]
BETTER = [proposed(1, version="v1"), looked("v1", code()), looked("v1", ballot("x"), judge_calls=1)]
ACCEPTED = [
    *BETTER,
    {"type": "accepted", "round": 1, "version": "v1", "reason": "it passes the gate"},
]


def test_a_loop_that_passed() -> None:
    """The documented fields, the round with its scores, and the witness."""
    doc = improvement(
        *BASELINE,
        *ACCEPTED,
        looked("v1", ballot("w"), "holdout"),
        {"type": "finished", "result": "PASSED", "reason": "all agree"},
    )
    assert set(doc) >= {
        "schema",
        "result",
        "best_round",
        "rounds",
        "baseline",
        "final",
        "certification",
        "report",
        "run",
    }
    assert (doc["schema"], doc["result"], doc["best_round"]) == (
        "honestone.improvement/1",
        "PASSED",
        1,
    )
    (round_,) = doc["rounds"]
    assert (round_["round"], round_["focus"], round_["outcome"], round_["decision"]) == (
        1,
        ["tone"],
        "changed",
        "accepted",
    )
    assert (round_["score_before"], round_["score_after"]) == (76, 100)
    moved = next(c for c in round_["criteria"] if c["id"] == "tone")
    assert (moved["before"], moved["after"], moved["by_judge"]) == (20, 100, {"x": 100})
    assert (doc["baseline"]["score"], doc["final"]["score"], doc["artifact"]["digest"]) == (
        76,
        100,
        "v1",
    )
    assert (
        doc["certification"]["ok"] is True
        and doc["certification"]["judges"][0]["verdict"] == "pass"
    )
    assert doc["baseline"]["usage"]["usd"] == 0.25 and doc["final"]["usage"]["judge_calls"] == 1


def test_a_loop_that_is_not_over_is_interrupted() -> None:
    """At every length of its log there is a document: also right after the start and in the middle
    of a round.
    """
    whole = [*BASELINE, *ACCEPTED, looked("v1", ballot("w"), "holdout")]
    for end in range(len(whole) + 1):
        doc = improvement(*whole[:end])
        assert doc["result"] == "INTERRUPTED" and "same command" in doc["reason"]
    assert improvement()["baseline"]["interval"] == [0, 100]
    assert improvement(*BASELINE, *BETTER)["rounds"][0]["decision"] is None


def test_the_best_is_the_baseline_when_nothing_was_better() -> None:
    """`best_round` 0; a rejected round keeps its scores, an unjudged one has none."""
    doc = improvement(
        *BASELINE,
        proposed(1, version="v1"),
        looked("v1", code(False)),
        looked("v1", ballot("x", tone=0)),
        {"type": "rejected", "round": 1, "reason": "the score fell"},
        proposed(2, "unchanged"),
        {"type": "rejected", "round": 2, "reason": "unchanged"},
    )
    first, second = doc["rounds"]
    assert doc["best_round"] == 0 and doc["final"] == doc["baseline"]
    assert (first["decision"], first["score_after"], first["floor_violations"]) == (
        "rejected",
        45,
        ["steps", "tone"],
    )
    assert (second["outcome"], second["score_after"], second["criteria"], second["diff"]) == (
        "unchanged",
        None,
        [],
        None,
    )


@pytest.mark.parametrize(
    ("said", "holdouts", "ok", "reason"),
    [
        (None, ("w",), None, None),
        (ballot("w"), ("w",), True, None),
        (ballot("w", tone=0), ("w",), False, None),
        (
            ballot("w", None, None, None, state=JudgeState.DEGRADED, reason="it broke"),
            ("w",),
            False,
            None,
        ),
        (None, (), None, "no held-out judge was named (--holdout)"),
    ],
    ids=["not asked", "agrees", "disagrees", "failed", "nobody"],
)
def test_what_the_witness_said(
    said: Ballot | None, holdouts: tuple[str, ...], ok: bool | None, reason: str | None
) -> None:
    """True, false, or null where nobody was asked; with each one's verdict."""
    doc = improvement(
        *BASELINE, *ACCEPTED, *([looked("v1", said, "holdout")] if said else []), holdouts=holdouts
    )
    certification = doc["certification"]
    assert (certification["needed"], certification["ok"], certification["reason"]) == (
        True,
        ok,
        reason,
    )
    assert [judge["id"] for judge in certification["judges"]] == list(holdouts)
    if said is not None and said.state is JudgeState.DEGRADED:
        assert (
            certification["judges"][0]["reason"] == "it broke"
            and certification["judges"][0]["score"] is None
        )
