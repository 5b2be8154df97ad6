"""The loop, played without a file, a clock or a model: scripted judges and workers through `decide`
and `apply`.

A version is a name; the first is "v0". `Scene.play` does what the engine's shell does, and keeps
what happened.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import exit_code
from honestone.core.events import (
    BallotCast,
    DeliveryBegun,
    DeliveryDone,
    Event,
    LimitReached,
    VersionAccepted,
)
from honestone.core.judging.ballot import CHECK, Ballot, Mark, ballot_to_plain
from honestone.core.judging.rubric import Item, Rubric
from honestone.core.judging.scorecard import Line
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.named import policy_named
from honestone.core.loop.state import (
    Accept,
    Action,
    Ask,
    LoopLimits,
    LoopState,
    Propose,
    Result,
    RollBack,
    Stop,
    decide,
    fold,
)
from honestone.core.record.event_codec import event_from_plain, event_to_plain

from .strategies import answers as valid_answers
from .strategies import ballot, checked, checklist, group, percent, rubric, rubrics, yes_no

LIMITS = LoopLimits(calls=100, minutes=60)
Look = Mapping[str, Any] | None
Step = str | ProposalOutcome


@dataclass
class Scene:
    """A run of the loop. `looks` says what a judge sees in a version: `("ann", "v1")`, or `"v1"`
    for every judge.

    `work` is what the worker makes, one entry a round: the name of a version, or how it failed.
    With `calls`, that many judge looks are paid for and then a limit is met, as the engine does it.
    """

    of: Rubric
    looks: Mapping[Any, Look]
    work: Iterable[Step] = ()
    panel: tuple[str, ...] = ("ann",)
    holdouts: tuple[str, ...] = ()
    policy: str = "keep-best"
    limits: LoopLimits = LIMITS
    calls: int = 1000
    workable: Callable[[Line], bool] = lambda line: True
    log: list[Event] = field(default_factory=list)
    actions: list[Action] = field(default_factory=list)
    asked: list[tuple[str, str, str]] = field(default_factory=list)

    def state(self) -> LoopState:
        seats = ((CHECK,) if self.of.has_checks else ()) + (
            self.panel if self.of.asks_judges else ()
        )
        return LoopState(
            scorer=Scorer(self.of),
            panel=seats,
            holdouts=self.holdouts,
            limits=self.limits,
            original="v0",
            workable=self.workable,
        )

    def play(self) -> LoopState:
        state, work = self.state(), iter(self.work)
        for _ in range(500):
            action = decide(state, policy_named(self.policy))
            self.actions.append(action)
            if isinstance(action, Stop):
                self._record(
                    state,
                    {"type": "finished", "result": str(action.result), "reason": action.reason},
                )
                return state
            self._carry_out(state, action, work)
        raise AssertionError("it does not end")

    def _record(self, state: LoopState, plain: dict[str, Any]) -> None:
        event = event_from_plain(json.loads(json.dumps(plain)))
        self.log.append(event)
        state.apply(event)

    def _carry_out(self, state: LoopState, action: Action, work: Any) -> None:
        match action:
            case Ask():
                for judge in action.judges:
                    self._ask(state, judge, action)
            case Propose():
                self._propose(state, action, next(work))
            case Accept():
                self._record(
                    state,
                    {
                        "type": "accepted",
                        "round": len(state.rounds),
                        "version": action.version,
                        "reason": action.reason,
                    },
                )
            case RollBack():
                self._record(
                    state, {"type": "rejected", "round": len(state.rounds), "reason": action.reason}
                )

    def _ask(self, state: LoopState, judge: str, action: Ask) -> None:
        if judge != CHECK:
            if self.calls == 0:
                if state.limit is None:
                    self._record(state, {"type": "limit", "reason": "calls are used up"})
                return
            self.calls -= 1
        assert (judge, action.version, action.role) not in self.asked, (
            "a call on record is repeated"
        )
        self.asked.append((judge, action.version, action.role))
        seen = self.looks.get((judge, action.version), self.looks.get(action.version)) or {}
        by_code = {key[0] for key, item in self.of.questions() if item.check is not None}
        mine = {
            name: answer for name, answer in seen.items() if (name in by_code) == (judge == CHECK)
        }
        given_ = ballot_to_plain(ballot(judge, mine))
        self._record(
            state,
            {"type": "ballot", "version": action.version, "role": action.role, "ballot": given_},
        )

    def _propose(self, state: LoopState, action: Propose, made: Step) -> None:
        failed = isinstance(made, ProposalOutcome)
        event: dict[str, Any] = {
            "type": "proposed",
            "round": len(state.rounds) + 1,
            "focus": list(action.focus),
            "outcome": str(made if failed else ProposalOutcome.CHANGED),
        }
        self._record(state, event if failed else {**event, "version": made})

    @property
    def focuses(self) -> list[str]:
        return [action.focus[0] for action in self.actions if isinstance(action, Propose)]

    @property
    def seen(self) -> list[str]:
        """The versions that the panel was asked about."""
        return list(dict.fromkeys(version for _, version, role in self.asked if role == "panel"))


def end(state: LoopState) -> Stop:
    assert state.finished is not None
    return state.finished


def result(state: LoopState) -> Result:
    return end(state).result


def decisions(state: LoopState) -> list[bool | None]:
    return [entry.accepted for entry in state.rounds]


ONE = rubric(percent("a"), threshold=90)
TWO = rubric(percent("a"), percent("b"), threshold=90)


def scores(*marks: float | None) -> dict[str, Look]:
    """One criterion, a number per version; None: no judge can say."""
    return {f"v{n}": {"a": mark} for n, mark in enumerate(marks)}


# ----------------------------------------------------------------------------------------------------------
# passing


def test_passed_by_checks_alone() -> None:
    """Code needs no witness, and no judge is asked."""
    scene = Scene(
        rubric(checked("a"), threshold=90), {"v0": {"a": False}, "v1": {"a": True}}, ["v1"]
    )
    state = scene.play()
    assert (result(state), exit_code(result(state))) == (Result.PASSED, 0)
    assert {judge for judge, _, _ in scene.asked} == {CHECK}
    assert state.best == "v1"


def test_passed_with_a_witness() -> None:
    """The panel says pass, and a judge that did not steer agrees."""
    scene = Scene(ONE, scores(50, 95), ["v1"], holdouts=("wit",))
    state = scene.play()
    assert (result(state), state.best) == (Result.PASSED, "v1")
    assert scene.asked == [("ann", "v0", "panel"), ("ann", "v1", "panel"), ("wit", "v1", "holdout")]


def test_an_original_that_passes_is_not_touched() -> None:
    """No round is made."""
    state = Scene(ONE, scores(95), holdouts=("wit",)).play()
    assert (result(state), state.rounds, state.best) == (Result.PASSED, [], "v0")


def test_unconfirmed_without_a_witness() -> None:
    """Where judges decide, a pass needs one; exit 3, best version delivered."""
    state = Scene(ONE, scores(50, 95), ["v1"]).play()
    assert (result(state), exit_code(result(state)), state.best) == (Result.UNCONFIRMED, 3, "v1")


def test_a_mixed_rubric_needs_a_witness_too() -> None:
    """One item that a judge answers is enough."""
    of = rubric(checked("code"), percent("a"), threshold=90)
    assert result(Scene(of, {"v0": {"code": True, "a": 95}}).play()) is Result.UNCONFIRMED


def test_a_witness_sees_the_checks() -> None:
    """It judges only what judges are asked; code's answers stand for the rest."""
    of = rubric(checked("code"), percent("a"), threshold=90)
    assert (
        result(Scene(of, {"v0": {"code": True, "a": 95}}, holdouts=("wit",)).play())
        is Result.PASSED
    )
    looks = {"v0": {"code": True, "a": 95}, ("wit", "v0"): {"a": 10}}
    scene = Scene(of, looks, [ProposalOutcome.UNCHANGED] * 3, holdouts=("wit",))
    assert result(scene.play()) is Result.UNCONFIRMED


def test_every_witness_has_to_agree() -> None:
    """One of two is not enough, nor is one that cannot say."""
    for other in ({"a": 89}, None):
        looks = {**scores(50, 95), ("w2", "v1"): other}
        work = [
            "v1",
            ProposalOutcome.UNCHANGED,
            ProposalOutcome.UNCHANGED,
            ProposalOutcome.UNCHANGED,
        ]
        state = Scene(ONE, looks, work, holdouts=("w1", "w2")).play()
        assert (result(state), state.best) == (Result.UNCONFIRMED, "v1")
        assert not state.is_certified("v1")


def test_refused_versions_are_improved_further() -> None:
    """The loop goes on, and new bytes may be certified."""
    looks = {**scores(50, 92, 97), ("wit", "v1"): {"a": 60}}
    scene = Scene(ONE, looks, ["v1", "v2"], holdouts=("wit",))
    state = scene.play()
    assert (result(state), state.best) == (Result.PASSED, "v2")
    assert [version for judge, version, _ in scene.asked if judge == "wit"] == ["v1", "v2"]


def test_at_most_three_consultations() -> None:
    """Each one leaks a little of the witness; the fourth version is not shown to it."""
    looks = {**scores(50, 91, 92, 93, 94, 95), **{("wit", f"v{n}"): {"a": 10} for n in range(9)}}
    scene = Scene(
        ONE,
        looks,
        ["v1", "v2", "v3", "v4", "v5"],
        holdouts=("wit",),
        limits=LoopLimits(rounds=9, calls=99, minutes=9),
    )
    state = scene.play()
    assert result(state) is Result.UNCONFIRMED
    assert [version for judge, version, _ in scene.asked if judge == "wit"] == ["v1", "v2", "v3"]
    assert state.best == "v3"


def test_the_certified_version_is_delivered() -> None:
    """Even when one that was refused scores higher with the panel."""
    looks = {**scores(50, 99, 98), ("wit", "v1"): {"a": 60}, ("wit", "v2"): {"a": 95}}
    state = Scene(ONE, looks, ["v1", "v2"], holdouts=("wit",)).play()
    assert (decisions(state), result(state), state.best) == ([True, True], Result.PASSED, "v2")


def test_a_witnesss_marks_never_steer() -> None:
    """Neither score nor focus depend on what it said."""
    looks = {"v0": {"a": 91, "b": 95}, ("wit", "v0"): {"a": 100, "b": 0}}
    scene = Scene(TWO, looks, [ProposalOutcome.UNCHANGED] * 3, holdouts=("wit",))
    state = scene.play()
    assert scene.focuses[0] == "a"
    assert state.card("v0").line("b").score == state.card("v0").line("b").by_judge["ann"]


# ----------------------------------------------------------------------------------------------------------
# steering


def test_floors_first_even_when_the_overall_passes() -> None:
    """The lowest of those below their floor; a lower one that is not comes later."""
    of = rubric(
        percent("a", weight=98),
        percent("b", floor=50),
        percent("c", floor=0),
        threshold=70,
        floor=60,
    )
    scene = Scene(of, {"v0": {"a": 100, "b": 49, "c": 10}}, [ProposalOutcome.CRASHED] * 3)
    scene.play()
    assert scene.focuses[0] == "b"


def test_ties_go_to_the_higher_weight() -> None:
    """And a third try goes to the next after two rejections."""
    of = rubric(percent("a", weight=1), percent("b", weight=3), percent("c", weight=2))
    scene = Scene(of, {"v0": {"a": 50, "b": 50, "c": 50}}, [ProposalOutcome.UNCHANGED] * 3)
    scene.play()
    assert scene.focuses == ["b", "b", "c"]


def test_an_accepted_change_forgets_rejections() -> None:
    """After progress, the lowest is tried again."""
    looks = {"v0": {"a": 10, "b": 40}, "v1": {"a": 10, "b": 60}}
    work = [
        ProposalOutcome.UNCHANGED,
        ProposalOutcome.CRASHED,
        "v1",
        ProposalOutcome.UNCHANGED,
        ProposalOutcome.UNCHANGED,
    ]
    scene = Scene(TWO, looks, work)
    state = scene.play()
    assert scene.focuses == ["a", "a", "b", "a", "a"]
    assert decisions(state) == [False, False, True, False, False]


def test_only_what_the_worker_can_work_on_is_proposed() -> None:
    """And when that is nothing, the loop ends without a round."""
    looks = {"v0": {"a": 10, "b": 40}}
    scene = Scene(
        TWO, looks, [ProposalOutcome.UNCHANGED] * 3, workable=lambda line: line.criterion.id == "b"
    )
    scene.play()
    assert scene.focuses == ["b", "b", "b"]
    state = Scene(TWO, looks, workable=lambda line: False).play()
    assert (result(state), state.rounds) == (Result.PLATEAU, [])
    assert "worker can work on" in end(state).reason


# ----------------------------------------------------------------------------------------------------------
# keeping


@pytest.mark.parametrize(
    ("mark", "kept"), [(60.1, True), (60, True), (58.1, True), (58, False), (57, False)]
)
def test_keep_unless_it_fell_by_two_points(mark: float, kept: bool) -> None:
    """Just under two is noise; two is a loss."""
    work: list[Step] = [
        "v1",
        ProposalOutcome.UNCHANGED,
        ProposalOutcome.UNCHANGED,
        ProposalOutcome.UNCHANGED,
    ]
    state = Scene(ONE, scores(60, mark), work).play()
    assert decisions(state)[0] is kept
    assert state.best == ("v1" if mark > 60 else "v0")


def test_five_small_losses_do_not_add_up() -> None:
    """Each is measured against the best version, not against the one before."""
    marks = [60, 58.5, 57, 55.5, 54, 52.5]
    scene = Scene(
        ONE,
        scores(*marks),
        ["v1", "v2", "v3", "v4", "v5"],
        limits=LoopLimits(calls=99, minutes=9, patience=9),
    )
    state = scene.play()
    assert decisions(state) == [True, False, False, False, False]
    assert state.best == "v0"


def test_a_worker_that_makes_things_worse_is_rolled_back() -> None:
    """The next try starts from the version before."""
    scene = Scene(ONE, scores(60, 20, 80), ["v1", "v2", *[ProposalOutcome.UNCHANGED] * 3])
    state = scene.play()
    assert decisions(state) == [False, True, False, False, False]
    assert [action.base for action in scene.actions if isinstance(action, Propose)] == [
        "v0",
        "v0",
        "v2",
        "v2",
        "v2",
    ]
    assert (state.best, state.current) == ("v2", "v2")


def test_best_is_delivered_and_not_the_last() -> None:
    """A later version that was kept within the tolerance is not the best one."""
    state = Scene(ONE, scores(60, 80, 79), ["v1", "v2", *[ProposalOutcome.UNCHANGED] * 2]).play()
    assert (state.current, state.best) == ("v2", "v1")


def test_between_equals_the_earlier_version_is_best() -> None:
    """The person's file is not replaced for nothing."""
    state = Scene(ONE, scores(60, 60), ["v1", *[ProposalOutcome.UNCHANGED] * 2]).play()
    assert (state.current, state.best) == ("v1", "v0")


def test_a_floor_lost_on_a_check_is_rolled_back() -> None:
    """Even when the score rises: code is no noise."""
    of = rubric(checked("code", weight=1, floor=50), percent("a", weight=9), threshold=99)
    looks = {"v0": {"code": True, "a": 50}, "v1": {"code": False, "a": 100}}
    state = Scene(of, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 2]).play()
    assert decisions(state)[0] is False and "'code' fell below its floor" in state.rounds[0].reason


def test_a_required_check_lost_is_rolled_back() -> None:
    """The same for `required`."""
    of = rubric(checked("code", weight=1, required=True), percent("a", weight=9), threshold=99)
    looks = {"v0": {"code": True, "a": 50}, "v1": {"code": False, "a": 100}}
    state = Scene(of, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 2]).play()
    assert decisions(state)[0] is False and "'code' is no longer met" in state.rounds[0].reason


def test_what_was_lost_before_is_no_new_loss() -> None:
    """A check that failed in the original does not forbid progress elsewhere."""
    of = rubric(
        checked("code", weight=1, floor=50, required=True), percent("a", weight=9), threshold=99
    )
    looks = {"v0": {"code": False, "a": 50}, "v1": {"code": False, "a": 80}}
    state = Scene(of, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 3]).play()
    assert decisions(state)[0] is True


def test_a_floor_lost_on_judges_marks_is_noise_within_the_tolerance() -> None:
    """One look of a judge is not certain enough to throw a better version away."""
    of = rubric(percent("a", weight=9), percent("b", weight=1, floor=50), threshold=99)
    looks = {"v0": {"a": 50, "b": 51}, "v1": {"a": 80, "b": 49}}
    state = Scene(of, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 3]).play()
    assert decisions(state)[0] is True


def test_a_pass_is_kept_though_the_mean_fell() -> None:
    """Lifting the one criterion below its floor may cost elsewhere."""
    of = rubric(percent("a", weight=9), percent("b", weight=1), threshold=70, floor=60)
    looks = {"v0": {"a": 100, "b": 50}, "v1": {"a": 90, "b": 70}}
    state = Scene(of, looks, ["v1"]).play()
    assert (decisions(state), state.best) == ([True], "v1")


@pytest.mark.parametrize(
    ("work", "reason"),
    [
        (["v1", "v1"], "the same bytes were rejected in round 1"),
        (["v2", "v0"], "these are the bytes of the original"),
        (["v2", "v3", "v2"], "the same bytes were accepted in round 1"),
    ],
)
def test_bytes_that_were_decided_cost_no_judge_call(work: list[Step], reason: str) -> None:
    """The same answer would be bought again."""
    looks = {**scores(60, 20, 70), "v3": {"a": 75}}
    scene = Scene(ONE, looks, [*work, *[ProposalOutcome.UNCHANGED] * 5])
    state = scene.play()
    assert state.rounds[len(work) - 1].reason == reason
    assert state.rounds[len(work) - 1].accepted is False
    assert len(scene.seen) == len(set(scene.seen)) == len({"v0", *work})


@pytest.mark.parametrize(
    "failure", [c for c in ProposalOutcome if c is not ProposalOutcome.CHANGED]
)
def test_a_proposal_that_is_none_costs_no_judge_call(failure: ProposalOutcome) -> None:
    """Whatever went wrong: rejected with its name, and nobody is asked."""
    scene = Scene(ONE, scores(60), [failure] * 3)
    state = scene.play()
    assert decisions(state) == [False] * 3 and scene.seen == ["v0"]
    assert state.rounds[0].reason == str(failure)


def test_a_version_that_no_judge_could_mark_is_rolled_back() -> None:
    """Nothing is known about it; the next proposal starts from what is."""
    state = Scene(ONE, scores(60, None, 95), ["v1", "v2"]).play()
    assert state.rounds[0].reason == "no judge could mark it"
    assert (decisions(state), state.best) == ([False, True], "v2")


def test_checks_do_not_stand_in_for_judges_that_failed() -> None:
    """Code's marks alone do not carry a version that judges should have marked."""
    of = rubric(checked("code"), percent("a"), threshold=90)
    looks = {"v0": {"code": False, "a": 10}, "v1": {"code": True, "a": None}}
    state = Scene(of, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 2]).play()
    assert decisions(state)[0] is False


def test_a_judge_that_fails_leaves_the_mean() -> None:
    """The version is marked by those that answered; the missing vote counts against it."""
    looks = {**scores(30, 70), ("bob", "v1"): None}
    state = Scene(ONE, looks, ["v1", *[ProposalOutcome.UNCHANGED] * 3], panel=("ann", "bob")).play()
    card = state.card("v1")
    assert decisions(state)[0] is True and card.voters == 1
    assert (card.score, card.low, card.high) == (
        Fraction(7, 10),
        Fraction(35, 100),
        Fraction(85, 100),
    )


def test_plain_keeps_every_change_but_delivers_the_best() -> None:
    """rulph as written, except that the last version is not the one that is handed over."""
    looks = {"v0": {"a": 60}, "v1": {"a": 20}, "v2": {"a": 80}, "v3": {"a": 10}}
    scene = Scene(ONE, looks, ["v1", "v2", "v3", *[ProposalOutcome.UNCHANGED] * 2], policy="plain")
    state = scene.play()
    assert decisions(state)[:3] == [True, True, True]
    assert [action.base for action in scene.actions if isinstance(action, Propose)][:4] == [
        "v0",
        "v1",
        "v2",
        "v3",
    ]
    assert (state.current, state.best) == ("v3", "v2")


# ----------------------------------------------------------------------------------------------------------
# stopping


def test_could_not_judge() -> None:
    """Without any usable mark of the original there is nothing to steer by: no round, no number,
    exit 3.
    """
    state = Scene(ONE, scores(None), panel=("ann", "bob")).play()
    assert (result(state), exit_code(result(state)), state.rounds) == (
        Result.COULD_NOT_JUDGE,
        3,
        [],
    )
    assert state.card("v0").score is None


def test_could_not_judge_says_who_said_what() -> None:
    """The judges' own reasons are in the reason."""
    state = Scene(ONE, {}).state()
    failed = Ballot(judge="ann", marks={}, reason="key refused")
    state.apply(BallotCast(version="v0", role="panel", ballot=failed))
    action = decide(state, policy_named("keep-best"))
    assert isinstance(action, Stop) and "ann: key refused" in action.reason


def test_a_limit_before_the_original_is_judged() -> None:
    """It says which limit came first."""
    state = Scene(ONE, scores(60), calls=0).play()
    assert result(state) is Result.COULD_NOT_JUDGE and "calls are used up" in end(state).reason


def test_what_is_missing_cannot_be_improved() -> None:
    """Everything known is at its best, and what is left nobody could judge."""
    state = Scene(TWO, {"v0": {"a": 100}}).play()
    assert (result(state), state.rounds) == (Result.COULD_NOT_JUDGE, [])


def test_no_change() -> None:
    """A worker that says "done" over the same bytes, three times: exit 1."""
    state = Scene(ONE, scores(60), [ProposalOutcome.UNCHANGED] * 3).play()
    assert (result(state), exit_code(result(state)), len(state.rounds)) == (Result.NO_CHANGE, 1, 3)


@pytest.mark.parametrize(
    "work",
    [
        [ProposalOutcome.TIMEOUT] * 3,
        [ProposalOutcome.CRASHED, ProposalOutcome.DENIED, ProposalOutcome.OUT_OF_SCOPE],
        [ProposalOutcome.TOO_LARGE, ProposalOutcome.SHRUNK, ProposalOutcome.PLACEHOLDER],
    ],
)
def test_worker_failed(work: list[Step]) -> None:
    """No proposal came through in any round."""
    state = Scene(ONE, scores(60), work).play()
    assert (result(state), state.best) == (Result.WORKER_FAILED, "v0")


@pytest.mark.parametrize(
    "work",
    [
        ["v1", "v2", "v3"],
        [ProposalOutcome.UNCHANGED, ProposalOutcome.CRASHED, ProposalOutcome.UNCHANGED],
        ["v1", ProposalOutcome.CRASHED, "v2"],
    ],
)
def test_plateau(work: list[Step]) -> None:
    """Three rounds without a new best, for whatever mixture of reasons."""
    state = Scene(ONE, scores(60, 10, 20, 30), work).play()
    assert (result(state), len(state.rounds), state.best) == (Result.PLATEAU, 3, "v0")


@pytest.mark.parametrize(("patience", "words"), [(1, "1 round"), (2, "2 rounds")])
def test_rounds_without_progress_are_counted_in_words(patience: int, words: str) -> None:
    limits = LoopLimits(calls=100, minutes=60, patience=patience)
    state = Scene(ONE, scores(50, 40, 30), ["v1", "v2"], limits=limits).play()
    assert state.finished is not None
    assert state.finished.reason == f"{words} without progress"


def test_progress_puts_the_plateau_off() -> None:
    """Three in a row, not three in all; a version that only held is no progress."""
    state = Scene(
        ONE,
        scores(60, 10, 70, 70, 5, 4, 3),
        ["v1", "v2", "v3", "v4", "v5"],
        limits=LoopLimits(rounds=9, calls=99, minutes=9),
    ).play()
    assert (result(state), [r.is_progress for r in state.rounds]) == (
        Result.PLATEAU,
        [False, True, False, False, False],
    )


def test_round_limit() -> None:
    """Still getting better, but the rounds are used up: the best so far is kept, exit 1."""
    state = Scene(ONE, scores(10, 20, 30, 40, 50, 60), [f"v{n}" for n in range(1, 6)]).play()
    assert (result(state), len(state.rounds), state.best) == (Result.ROUND_LIMIT, 5, "v5")


def test_no_round_at_all_is_a_round_limit() -> None:
    """With 0 rounds nobody failed."""
    state = Scene(ONE, scores(10), limits=LoopLimits(rounds=0, calls=9, minutes=9)).play()
    assert result(state) is Result.ROUND_LIMIT


def test_metric_dead_when_nothing_moves() -> None:
    """Three other versions, each scored exactly like the one before, on every criterion."""
    looks = {f"v{n}": {"a": 50, "b": 60} for n in range(4)}
    state = Scene(TWO, looks, ["v1", "v2", "v3"]).play()
    assert (result(state), exit_code(result(state))) == (Result.METRIC_DEAD, 1)


def test_a_metric_that_moves_inside_is_alive() -> None:
    """The overall is the same three times, the criteria are not."""
    looks = {f"v{n}": {"a": 50 + n, "b": 60 - n} for n in range(4)}
    assert result(Scene(TWO, looks, ["v1", "v2", "v3"]).play()) is Result.PLATEAU


def test_metric_dead_when_all_judges_failed() -> None:
    """The original was judged, and then three versions in a row by nobody."""
    assert (
        result(Scene(ONE, scores(60, None, None, None), ["v1", "v2", "v3"]).play())
        is Result.METRIC_DEAD
    )


def test_two_of_three_are_not_dead() -> None:
    """A round that failed does not count as a version that scored alike."""
    looks = scores(60, 60, 60)
    assert result(Scene(ONE, looks, ["v1", ProposalOutcome.CRASHED, "v2"]).play()) is Result.PLATEAU


@pytest.mark.parametrize(
    ("calls", "seen", "rounds"), [(2, ["v0"], 1), (3, ["v0", "v1"], 1), (4, ["v0", "v1"], 2)]
)
def test_a_budget_that_ends_in_the_middle_of_a_round(
    calls: int, seen: list[str], rounds: int
) -> None:
    """What was judged in part is rolled back; what was judged whole stays; nothing more is asked."""
    scene = Scene(ONE, scores(10, 20, 30), ["v1", "v2"], panel=("ann", "bob"), calls=calls)
    state = scene.play()
    assert (result(state), exit_code(result(state))) == (Result.BUDGET, 1)
    assert (scene.seen, len(state.rounds)) == (seen, rounds)
    assert state.rounds[-1].accepted is False and "calls are used up" in state.rounds[-1].reason
    assert state.best == ("v1" if calls == 4 else "v0")


def test_a_budget_that_ends_before_certification() -> None:
    """The panel's pass alone is not enough: UNCONFIRMED, and the version is delivered."""
    state = Scene(ONE, scores(50, 95), ["v1"], holdouts=("wit",), calls=2).play()
    assert (result(state), state.best) == (Result.UNCONFIRMED, "v1")
    assert "calls are used up" in end(state).reason


def test_a_budget_that_ends_between_two_witnesses() -> None:
    """Half a certification is none."""
    state = Scene(ONE, scores(50, 95), ["v1"], holdouts=("w1", "w2"), calls=3).play()
    assert (result(state), state.is_certified("v1")) == (Result.UNCONFIRMED, False)


def test_a_limit_between_rounds() -> None:
    """Minutes that run out while the worker would be called stop the loop with the limit's words."""
    scene = Scene(ONE, scores(60))
    state = scene.state()
    scene._carry_out(state, decide(state, policy_named("keep-best")), iter(()))
    state.apply(LimitReached(reason="--max-minutes 1 are used up"))
    assert decide(state, policy_named("keep-best")) == Stop(
        result=Result.BUDGET, reason="--max-minutes 1 are used up"
    )


def test_a_finished_run_stays_finished() -> None:
    """Deciding again gives the same stop, and nothing to do."""
    scene = Scene(ONE, scores(60), [ProposalOutcome.UNCHANGED] * 3)
    state = scene.play()
    assert decide(state, policy_named("keep-best")) == state.finished == scene.actions[-1]


def test_exit_codes() -> None:
    """0 for PASSED alone; 3 where it could not be judged or confirmed; 130 interrupted; 1 else."""
    assert {r.value: exit_code(r) for r in Result} == {
        "PASSED": 0,
        "UNCONFIRMED": 3,
        "PLATEAU": 1,
        "ROUND_LIMIT": 1,
        "BUDGET": 1,
        "METRIC_DEAD": 1,
        "CONTRACT_CHANGED": 3,
        "NO_CHANGE": 1,
        "WORKER_FAILED": 1,
        "COULD_NOT_JUDGE": 3,
        "INTERRUPTED": 130,
    }


def test_there_is_no_unlimited() -> None:
    """Rounds and patience have defaults; calls and minutes have to be given."""
    with pytest.raises(TypeError):
        LoopLimits()  # type: ignore[call-arg]
    assert LIMITS.to_plain() == {
        "rounds": 5,
        "patience": 3,
        "calls": 100,
        "minutes": 60,
        "usd": None,
    }


# ----------------------------------------------------------------------------------------------------------
# delivery


def test_what_was_delivered_is_part_of_the_state() -> None:
    """Announced, then done: a kill in between leaves the announcement."""
    state = Scene(ONE, {}).state()
    state.apply(DeliveryBegun(version="v1"))
    assert (state.delivering, state.delivered) == ("v1", "v0")
    state.apply(DeliveryDone(version="v1"))
    assert (state.delivering, state.delivered) == (None, "v1")


def test_a_second_look_of_a_judge_is_the_same_voter() -> None:
    """Both looks count, and neither replaces the other; what is on record is read back with its
    draw.
    """
    of = rubric(checklist("a", ["x", "y"]))
    state = Scene(of, {}).state()
    for draw, answers in enumerate([{"x": True, "y": True}, {"x": False, "y": True}]):
        cast = BallotCast(
            version="v0", role="panel", ballot=ballot("ann", {"a": answers}), draw=draw
        )
        state.apply(event_from_plain(json.loads(json.dumps(event_to_plain(cast)))))
    card = state.card("v0")
    assert [*state.ballots["v0", "panel"]] == ["ann", "ann (look 2)"] and not state.unasked(
        "v0", "panel"
    )
    assert [len(item.votes) for item in card.line("a").items] == [2, 2] and card.line(
        "a"
    ).voters == 1


def test_unknown_events_change_nothing() -> None:
    """A newer version may add facts for reports."""
    scene = Scene(ONE, scores(60), [ProposalOutcome.UNCHANGED] * 3)
    end_state = scene.play()
    noisy = [event for known in scene.log for event in ({"type": "weather", "sky": "blue"}, known)]
    assert facts(fold(scene.state(), noisy)) == facts(end_state)


# -------------------------------------------------------------------------------------------------------
# properties

TREE = rubric(
    group(
        "g",
        percent("a", weight=2),
        yes_no("b", may_not_apply=True),
        yes_no("bad", weight=-1),
        floor=40,
    ),
    checklist("list", ["x", Item(id="y", requirement="y")]),
    checked("code", required=True),
    threshold=70,
)


class Chance(dict[Any, Look]):
    """Judges and code that answer at random, now and then not at all, and always the same about one
    version.
    """

    def __init__(self, of: Rubric, chance: random.Random) -> None:
        self.of = of
        self.seed = chance.random()

    def get(self, key: Any, default: Any = None) -> Look:
        chance = random.Random(f"{self.seed}{key}")
        if isinstance(key, tuple) and key[0] != CHECK and chance.random() < 0.1:
            return None
        whole: dict[str, Any] = {}
        for (criterion, name), item in self.of.questions():
            answer: Any
            if item.anchors is not None:
                span = item.anchors.highest - item.anchors.lowest
                answer = float(item.anchors.lowest + span * Fraction(chance.randint(0, 20), 20))
            elif item.may_not_apply and chance.random() < 0.2:
                answer = "n/a"
            else:
                answer = chance.random() < 0.6
            if chance.random() < 0.9:
                whole.setdefault(criterion, {})[name] = answer
        return whole


def chaotic(of: Rubric, chance: random.Random, policy: str) -> Scene:
    """Anything may happen: versions new and old, every way to fail, witnesses or none, any budget."""

    def work() -> Any:
        for number in range(1, 100):
            known = [f"v{n}" for n in range(number)]
            yield chance.choice(
                [
                    f"v{number}",
                    f"v{number}",
                    f"v{number}",
                    chance.choice(known),
                    chance.choice([*ProposalOutcome][1:]),
                ]
            )

    limits = LoopLimits(
        rounds=chance.randint(0, 8), patience=chance.randint(1, 4), calls=99, minutes=9
    )
    return Scene(
        of,
        Chance(of, chance),
        work(),
        panel=("ann", "bob")[: chance.randint(1, 2)],
        holdouts=("w1", "w2")[: chance.randint(0, 2)],
        policy=policy,
        limits=limits,
        calls=chance.choice([1000, 1000, chance.randint(0, 20)]),
    )


def facts(state: LoopState) -> dict[str, Any]:
    """All that a state adds up to."""
    return {
        "rounds": state.rounds,
        "current": state.current,
        "best": state.best,
        "kept": state.accepted_versions,
        "limit": state.limit,
        "ballots": state.ballots,
        "finished": state.finished,
        "stale": state.rounds.stale,
        "rejections": state.rounds.rejections,
        "cards": {version: state.card(version).values for version in state.accepted_versions},
        "consulted": state.consulted,
        "delivered": state.delivered,
        "delivering": state.delivering,
    }


chances = st.randoms(use_true_random=False)
policies = st.sampled_from(["plain", "keep-best"])


@given(st.one_of(st.just(TREE), rubrics()), chances, policies)
def test_whatever_happens_the_loop_ends_within_its_limits(
    of: Rubric, chance: random.Random, policy: str
) -> None:
    """It never asks for a look that is on record, consults at most three times, and delivers no
    worse than it got.
    """
    scene = chaotic(of, chance, policy)
    budget = scene.calls
    state = scene.play()
    assert len(state.rounds) <= scene.limits.rounds and state.rounds.stale <= scene.limits.patience
    assert len(state.consulted) <= 3
    assert (
        scene.calls >= 0
        and sum(judge != CHECK for judge, _, _ in scene.asked) == budget - scene.calls
    )
    assert not any(entry.is_open for entry in state.rounds)
    assert state.best in state.accepted_versions and state.rank(state.best) >= state.rank("v0")
    assert all(state.rank(version) <= state.rank(state.best) for version in state.accepted_versions)
    if result(state) is Result.PASSED:
        assert state.verdict(state.best).passed
        assert state.is_certified(state.best) or not of.asks_judges
    elif state.is_marked("v0"):
        assert not state.verdict(state.best).passed or result(state) is Result.UNCONFIRMED
    else:
        assert result(state) is Result.COULD_NOT_JUDGE and not state.rounds


@given(st.one_of(st.just(TREE), rubrics()), chances, policies, st.data())
def test_a_killed_run_goes_on_as_if_it_had_not_been(
    of: Rubric, chance: random.Random, policy: str, data: st.DataObject
) -> None:
    """Folding all events, or some now and the rest later, gives the same state and the same next
    decision.
    """
    scene = chaotic(of, chance, policy)
    lived = scene.play()
    cut = data.draw(st.integers(0, len(scene.log)))
    whole = fold(scene.state(), scene.log)
    half = fold(scene.state(), scene.log[:cut])
    again = fold(scene.state(), scene.log[:cut])
    assert facts(half) == facts(again)
    assert decide(half, policy_named(policy)) == decide(again, policy_named(policy))
    assert facts(fold(half, scene.log[cut:])) == facts(whole) == facts(lived)


def assert_each_event_was_decided(state: LoopState, log: Iterable[Event], policy: str) -> None:
    """Replayed event by event, what is decided before each one is what it records."""
    expected = {
        "proposed": Propose,
        "accepted": Accept,
        "rejected": RollBack,
        "finished": Stop,
        "ballot": Ask,
        "limit": Ask,
    }
    for event in log:
        assert isinstance(decide(state, policy_named(policy)), expected[event.type])
        state.apply(event)


@given(chances, policies)
def test_every_event_is_followed_by_the_decision_that_was_taken(
    chance: random.Random, policy: str
) -> None:
    """Replaying a log event by event and deciding at each one, the run takes the same path."""
    scene = chaotic(TREE, chance, policy)
    scene.play()
    assert_each_event_was_decided(scene.state(), scene.log, policy)


@given(chances)
def test_keep_best_never_keeps_a_loss_of_two_points(chance: random.Random) -> None:
    """Unless the version passes the gate and the best one did not."""
    scene = chaotic(TREE, chance, "keep-best")
    state = scene.state()
    scene.play()
    for event in scene.log:
        if isinstance(event, VersionAccepted):
            new, best = state.card(event.version), state.card(state.best)
            gained = state.verdict(event.version).passed and not state.verdict(state.best).passed
            assert gained or (best.low - new.low) * 100 < 2
        state.apply(event)


@given(st.data())
def test_the_order_in_which_judges_answer_does_not_matter(data: st.DataObject) -> None:
    """Three ballots in any order lead to the same next decision."""
    items = dict(TREE.questions())
    ballots = []
    for judge in (CHECK, "ann", "bob"):
        asked = [key for key, item in items.items() if (item.check is not None) == (judge == CHECK)]
        marks = {
            key: Mark(data.draw(valid_answers(items[key])))
            for key in asked
            if data.draw(st.booleans())
        }
        ballots.append(ballot_to_plain(Ballot(judge=judge, marks=marks)))
    scene = Scene(TREE, {}, panel=("ann", "bob"))
    outcomes = []
    for order in (ballots, data.draw(st.permutations(ballots))):
        state = fold(
            scene.state(),
            [{"type": "ballot", "version": "v0", "role": "panel", "ballot": b} for b in order],
        )
        action = decide(state, policy_named("keep-best"))
        outcomes.append(action)
    assert type(outcomes[0]) is type(outcomes[1])
    if isinstance(outcomes[0], Propose):
        assert outcomes[0] == outcomes[1]
