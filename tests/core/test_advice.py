"""What would help a loop next: each piece of advice from the record that asks for it, and none
where nothing does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.events import RunFinished
from honestone.core.judging.ballot import Ballot, JudgeState, ballot_to_plain
from honestone.core.loop.state import LoopLimits, LoopState, Result, fold
from honestone.core.record.event_codec import event_from_plain
from honestone.report.building.advice import MOST, Advice, Help, advise

from .strategies import ballot, checked, checklist, percent, rubric, yes_no
from .test_loop import LIMITS, ONE, Scene, result, scores

LIST = rubric(checklist("list", ["first", "second"]), threshold=90)


def kinds(found: Iterable[Advice]) -> list[tuple[str, str | None]]:
    return [(str(one.kind), one.about) for one in found]


def ended(scene: Scene, expected: Result) -> list[Advice]:
    state = scene.play()
    assert result(state) is expected, state.finished
    return advise(state)


def listed(first: bool | None, second: bool | None) -> dict[str, Any]:
    return {"list": {"first": first, "second": second}}


# ----------------------------------------------------------------------------------------------------------
# limits


def test_a_run_that_passed_or_has_not_ended_needs_nothing() -> None:
    """No advice, also while the run is not at its end."""
    scene = Scene(ONE, scores(50, 95), ["v1"], holdouts=("wit",))
    state = scene.play()
    assert result(state) is Result.PASSED and advise(state) == []
    assert advise(fold(scene.state(), scene.log[:-1])) == []


def test_more_rounds_where_the_score_still_rises() -> None:
    """The last round was a gain beyond noise: more rounds."""
    scene = Scene(ONE, scores(50, 60), ["v1"], limits=LoopLimits(calls=100, minutes=60, rounds=1))
    (first, *_) = ended(scene, Result.ROUND_LIMIT)
    assert (first.kind, first.about) == (
        Help.ROUNDS,
        "--rounds",
    ) and "rose in round 1" in first.text


@pytest.mark.parametrize("marks", [(50, 51), (50, 50), (50, 40)])
def test_no_more_rounds_for_a_gain_within_noise(marks: tuple[float, float]) -> None:
    """One point, none and a loss are no reason for another round."""
    scene = Scene(ONE, scores(*marks), ["v1"], limits=LoopLimits(calls=100, minutes=60, rounds=1))
    assert Help.ROUNDS not in [one.kind for one in ended(scene, Result.ROUND_LIMIT)]


def test_a_gain_of_code_alone_is_not_noise() -> None:
    """Checks say the same each time, so that the smallest gain counts."""
    parts = [checked(f"c{n}", weight=1) for n in range(100)]
    looks = {f"v{n}": {f"c{k}": k <= n for k in range(100)} for n in range(2)}
    scene = Scene(
        rubric(*parts, threshold=90),
        looks,
        ["v1"],
        limits=LoopLimits(calls=9, minutes=60, rounds=1),
    )
    assert kinds(ended(scene, Result.ROUND_LIMIT)) == [("rounds", "--rounds")]


def test_a_bigger_budget_names_the_limit() -> None:
    """The calls were used up while the score rose."""
    scene = Scene(ONE, scores(50, 60, 70), ["v1", "v2"], calls=2)
    (first, *_) = ended(scene, Result.BUDGET)
    assert (
        first.kind is Help.BUDGET
        and first.text == "A bigger budget: calls are used up, and the score still rose in round 1."
    )
    state = scene.state()
    fold(state, scene.log[:-1])
    state.limit = "--max-calls 2 are used up"
    state.finished = fold(scene.state(), scene.log).finished
    assert advise(state)[0].about == "--max-calls"


def test_a_bigger_budget_where_the_policy_stops_before_its_limit() -> None:
    """What is left is too little for a round: no limit was met, and more would help all the same."""
    state = Scene(ONE, {}).state()
    seen(state, "v0", ballot("ann", {"a": 50}))
    assert kinds(finished(state, Result.BUDGET)) == [("budget", None)]


def test_a_bigger_budget_where_calls_for_a_witness_were_missing() -> None:
    """The reason says how sure it is, too, and may name an option that asks on."""
    state = Scene(ONE, {}, holdouts=("wit",)).state()
    seen(state, "v0", ballot("ann", {"a": 100}))
    limit = "of --max-calls 2 too few are left for another round: 2 are used"
    found = finished(
        state,
        Result.UNCONFIRMED,
        f"95% sure; about 6 more would tell (--max-looks 18), which is not confirmed; {limit}",
    )
    assert kinds(found)[:1] == [("budget", "--max-calls")]
    assert found[0].text == f"A bigger budget: {limit}."


def test_a_limit_before_the_first_call_is_no_matter_of_judges() -> None:
    found = finished(
        Scene(ONE, {}).state(),
        Result.COULD_NOT_JUDGE,
        "the limit came first: --max-calls 0 are used up",
    )
    assert [one.text for one in found] == ["A bigger budget: --max-calls 0 are used up."]


# ----------------------------------------------------------------------------------------------------------
# the worker


def test_another_worker_where_this_one_changes_nothing_or_fails() -> None:
    """NO_CHANGE and WORKER_FAILED, with how often."""
    for outcome, expected in [
        (ProposalOutcome.UNCHANGED, Result.NO_CHANGE),
        (ProposalOutcome.CRASHED, Result.WORKER_FAILED),
    ]:
        found = ended(Scene(ONE, scores(50), [outcome] * 3), expected)
        assert kinds(found) == [("worker", None)] and " 3 " in found[0].text


def test_a_focus_that_was_tried_in_vain_is_named() -> None:
    """Three rejected proposals for one criterion: another worker, or the person's own edit."""
    found = ended(Scene(ONE, scores(50, 40, 30, 20), ["v1", "v2", "v3"]), Result.PLATEAU)
    assert kinds(found) == [("worker", "a")] and "'a' was tried 3 times" in found[0].text


def test_the_worker_is_not_to_blame_where_judges_fail() -> None:
    """Proposals that no judge could mark say nothing of who made them."""
    found = ended(Scene(ONE, scores(50, None, None, None), ["v1", "v2", "v3"]), Result.METRIC_DEAD)
    assert kinds(found) == [("judge", "ann")] and "in 3 of the 4 times" in found[0].text


def test_judges_that_were_not_asked_excuse_no_worker() -> None:
    """A policy may ask one judge a version: the others failed nothing."""
    state = Scene(ONE, {}, panel=("ann", "bob")).state()
    seen(state, "v0", ballot("ann", {"a": 50}))
    for number, judge in ((1, "bob"), (2, "ann")):
        proposed = {
            "type": "proposed",
            "round": number,
            "focus": ["a"],
            "outcome": "changed",
            "version": f"v{number}",
        }
        state.apply(event_from_plain(proposed))
        seen(state, f"v{number}", ballot(judge, {"a": 40}))
        state.apply(event_from_plain({"type": "rejected", "round": number, "reason": "it fell"}))
    assert kinds(finished(state)) == [("worker", "a")]


# ----------------------------------------------------------------------------------------------------------
# judges


def test_a_held_out_judge_where_there_is_none() -> None:
    """UNCONFIRMED because every judge steered."""
    (first, *more) = ended(Scene(ONE, scores(50, 95), ["v1"]), Result.UNCONFIRMED)
    assert first.kind is Help.JUDGE and "--holdout" in first.text and not more


def test_a_person_decides_what_panel_and_witness_see_differently() -> None:
    """Only the items that are contested, with the judge that does not find them met."""
    looks = {
        "v0": listed(False, False),
        "v1": listed(True, True),
        ("wit", "v1"): listed(True, False),
    }
    scene = Scene(LIST, looks, ["v1", ProposalOutcome.UNCHANGED], holdouts=("wit",))
    found = ended(scene, Result.UNCONFIRMED)
    assert kinds(found)[0] == ("person", "list/second") and "wit does not" in found[0].text
    assert ("person", "list/first") not in kinds(found)


def test_a_penalty_is_contested_the_other_way_round() -> None:
    """There yes is bad: a witness that says yes is the one that disagrees."""
    rules = rubric(yes_no("good"), yes_no("insult", weight=-1), threshold=90)
    looks = {"v0": {"good": False, "insult": False}, "v1": {"good": True, "insult": False}}
    scene = Scene(
        rules, looks | {("wit", "v1"): {"good": True, "insult": True}}, ["v1"], holdouts=("wit",)
    )
    assert kinds(ended(scene, Result.UNCONFIRMED))[0] == ("person", "insult")


def failing(judge: str, reason: str) -> dict[str, Any]:
    return ballot_to_plain(Ballot(judge=judge, marks={}, state=JudgeState.DEGRADED, reason=reason))


def seen(
    state: LoopState,
    version: str,
    given: Ballot | dict[str, Any],
    role: str = "panel",
    draw: int = 0,
) -> None:
    plain = given if isinstance(given, dict) else ballot_to_plain(given)
    state.apply(
        event_from_plain(
            {"type": "ballot", "version": version, "role": role, "ballot": plain, "draw": draw}
        )
    )


def finished(state: LoopState, how: Result = Result.PLATEAU, why: str = "it ended") -> list[Advice]:
    state.apply(RunFinished(result=str(how), reason=why))
    return advise(state)


def test_a_judge_that_fails_is_named_with_its_reason() -> None:
    """How often, of how many looks, and why; the other judge is not."""
    state = Scene(LIST, {}, panel=("ann", "bob")).state()
    seen(state, "v0", ballot("ann", listed(True, False)))
    seen(state, "v0", failing("bob", "quota exceeded"))
    found = finished(state)
    assert [one for one in kinds(found) if one[0] == "judge"] == [("judge", "bob")]
    assert "bob, asked once, gave no answer (quota exceeded)" in found[0].text


def test_a_judge_that_leaves_a_fifth_of_its_questions_open_is_named() -> None:
    """Abstentions are missing answers, whatever the reason."""
    state = Scene(LIST, {}, panel=("ann", "bob")).state()
    seen(state, "v0", ballot("ann", listed(True, False)))
    given = ballot("bob", listed(True, None))
    seen(
        state,
        "v0",
        Ballot(judge="bob", marks=given.marks, abstained={("list", "second"): "no reason"}),
    )
    assert ("judge", "bob") in kinds(finished(state))


def test_a_judge_far_above_the_others_may_be_lenient() -> None:
    """Twenty points over three versions; two versions are too few to say so."""
    for versions, expected in ((3, True), (2, False)):
        state = Scene(ONE, {}, panel=("ann", "bob", "kind")).state()
        for number in range(versions):
            for judge, mark in (("ann", 40), ("bob", 50), ("kind", 80)):
                seen(state, f"v{number}", ballot(judge, {"a": mark}))
        found = [one for one in finished(state) if one.kind is Help.JUDGE]
        assert [one.about for one in found] == (["kind"] if expected else [])
        assert not expected or "35.0 points above" in found[0].text


# ----------------------------------------------------------------------------------------------------------
# items


def test_an_item_on_which_judges_disagree_wants_clearer_words() -> None:
    """The item, how often, and who says what; an item that all judge alike is left alone."""
    state = Scene(LIST, {}, panel=("ann", "bob")).state()
    seen(state, "v0", ballot("ann", listed(True, True)))
    seen(state, "v0", ballot("bob", listed(True, False)))
    (only,) = finished(state)
    assert (only.kind, only.about) == (Help.ITEM, "list/second")
    assert "the judges disagreed (ann yes, bob no)" in only.text


def test_an_item_that_a_judge_flips_on_wants_clearer_words() -> None:
    """Two looks of one judge at the same bytes, with different answers."""
    state = Scene(LIST, {}).state()
    seen(state, "v0", ballot("ann", listed(True, False)))
    seen(state, "v0", ballot("ann", listed(True, True)), draw=1)
    (only,) = finished(state)
    assert (only.kind, only.about) == (
        Help.ITEM,
        "list/second",
    ) and "ann answered no and yes" in only.text


def test_an_answer_on_record_from_before_counts_as_a_look() -> None:
    """The same question was asked by an earlier command, and answered differently."""
    state = Scene(LIST, {}).state()
    now = ballot("ann", listed(True, False))
    seen(state, "v0", Ballot(judge="ann", marks=now.marks, earlier=({("list", "second"): True},)))
    assert kinds(finished(state)) == [("item", "list/second")]


def test_marks_on_a_scale_disagree_from_twenty_points() -> None:
    """50 and 65 are alike, 50 and 75 are not."""
    for mark, expected in ((65, []), (75, [("item", "a")])):
        state = Scene(ONE, {}, panel=("ann", "bob")).state()
        seen(state, "v0", ballot("ann", {"a": 50}))
        seen(state, "v0", ballot("bob", {"a": mark}))
        assert kinds(finished(state)) == expected


def test_an_item_that_no_judge_could_answer_is_for_a_person() -> None:
    """With the judge's own reason; where nothing at all was answered, that is said once."""
    state = Scene(LIST, {}).state()
    given = ballot("ann", listed(True, None))
    seen(
        state,
        "v0",
        Ballot(judge="ann", marks=given.marks, abstained={("list", "second"): "cannot see it"}),
    )
    assert ("person", "list/second") in kinds(finished(state))
    found = ended(Scene(ONE, scores(None)), Result.COULD_NOT_JUDGE)
    assert [one.about for one in found if one.kind is Help.PERSON] == [None]


def test_a_score_that_cannot_move_wants_finer_items() -> None:
    """Three versions, the same marks everywhere."""
    found = ended(Scene(ONE, scores(50, 50, 50, 50), ["v1", "v2", "v3"]), Result.METRIC_DEAD)
    assert (Help.ITEM, None) in [(one.kind, one.about) for one in found]


def test_files_that_judge_and_changed_are_looked_at_by_a_person() -> None:
    """CONTRACT_CHANGED names them, and nothing else is said."""
    state = Scene(ONE, {}).state()
    seen(state, "v0", ballot("ann", {"a": 50}))
    state.apply(
        RunFinished(
            result="CONTRACT_CHANGED", reason="it changed", changed=("rubric.yaml", "judge.py")
        )
    )
    assert kinds(advise(state)) == [("person", "rubric.yaml"), ("person", "judge.py")]


def test_a_loop_over_tasks_says_nothing_of_judges() -> None:
    """There the votes are results of tasks."""
    state = Scene(LIST, {}, panel=("val", "train")).state()
    seen(state, "v0", ballot("val", listed(True, True)))
    seen(state, "v0", ballot("train", listed(True, False)))
    finished(state)
    assert advise(state, asks_judges=False) == []


@given(seed=st.integers(0, 2**32 - 1))
def test_advice_is_short_and_follows_from_the_record_alone(seed: int) -> None:
    """Any run: at most so many lines, each a sentence about something; the same log gives the same
    advice.
    """
    chance = random.Random(seed)
    judges, versions = ("ann", "bob"), [f"v{n}" for n in range(9)]
    rules = rubric(
        percent("a"), checklist("list", ["first", "second"]), checked("code"), threshold=90
    )

    def look() -> dict[str, Any]:
        said = {"a": chance.choice([None, 0, 40, 55, 100])}
        return {**said, **listed(chance.choice([None, True, False]), chance.choice([True, False]))}

    looks: dict[Any, Any] = {
        (judge, version): look() for judge in (*judges, "wit") for version in versions
    }
    looks |= {("check", version): {"code": chance.random() < 0.7} for version in versions}
    work = [chance.choice([version, *ProposalOutcome]) for version in versions[1:]]
    held = chance.choice([(), ("wit",)])
    scene = Scene(
        rules,
        looks,
        work,
        panel=judges,
        holdouts=held,
        calls=chance.choice([3, 1000]),
        limits=LIMITS,
    )
    state = scene.play()
    found = advise(state)
    assert found == advise(fold(scene.state(), scene.log))
    assert len(found) <= MOST and all(
        one.text[0].isupper() and one.text.endswith(".") for one in found
    )
    assert result(state) is not Result.PASSED or not found
