"""The belief policies: what they do in whole runs, and that nothing a run may bring breaks their
rules.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.belief.stated import sure_sentence
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import LEAST_STATED
from honestone.core.judging.ballot import CHECK, JudgeKind, ballot_to_plain
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.bars import YES_OR_NO
from honestone.core.loop.belief import (
    LOOKS_NEEDED,
    BeliefState,
    StrictState,
)
from honestone.core.loop.named import POLICIES, policy_named
from honestone.core.loop.state import Accept, Ask, LoopLimits, Propose, Result, decide, fold
from honestone.core.numbers import chance_words, sure

from .strategies import ballot, checked, checklist, group, percent, rubric, rubrics, yes_no
from .test_loop import (
    TREE,
    Chance,
    Scene,
    Step,
    assert_each_event_was_decided,
    chaotic,
    end,
    facts,
    result,
)

LIMITS = LoopLimits(rounds=16, patience=16, calls=30, minutes=60)
FAILED = ProposalOutcome.UNCHANGED


@dataclass
class BeliefScene(Scene):
    """A scene of a belief policy: a judge's later looks have a draw, and may differ."""

    policy: str = "belief"
    limits: LoopLimits = LIMITS
    kind: JudgeKind = "program"

    def state(self) -> BeliefState:
        seats = ((CHECK,) if self.of.has_checks else ()) + (
            self.panel if self.of.asks_judges else ()
        )
        made = StrictState if self.policy == "strict" else BeliefState
        return made(
            scorer=Scorer(self.of),
            panel=seats,
            holdouts=self.holdouts,
            limits=self.limits,
            original="v0",
            workable=self.workable,
        )

    def _ask(self, state: Any, judge: str, action: Ask) -> None:
        if judge != CHECK:
            if self.calls == 0:
                self._record(state, {"type": "limit", "reason": "calls are used up"})
                return
            self.calls -= 1
        look = (judge, action.version, f"{action.role} {action.draw}")
        assert look not in self.asked, "a call on record is repeated"
        self.asked.append(look)
        seen = self.looks.get((judge, action.version), self.looks.get(action.version)) or {}
        if isinstance(seen, list):
            seen = seen[action.draw]
        by_code = {key[0] for key, item in self.of.questions() if item.check is not None}
        mine = {
            name: answer for name, answer in seen.items() if (name in by_code) == (judge == CHECK)
        }
        event: dict[str, Any] = {"type": "ballot", "version": action.version, "role": action.role}
        given_ = ballot_to_plain(replace(ballot(judge, mine), kind=self.kind))
        self._record(state, {**event, "ballot": given_, "draw": action.draw})

    def _propose(self, state: Any, action: Propose, made: Step) -> None:
        failed = isinstance(made, ProposalOutcome)
        event: dict[str, Any] = {
            "type": "proposed",
            "round": len(state.rounds) + 1,
            "focus": list(action.focus),
            "items": [list(key) for key in action.items],
            "outcome": str(made if failed else ProposalOutcome.CHANGED),
        }
        self._record(state, event if failed else {**event, "version": made})

    @property
    def judged(self) -> list[str]:
        return [judge for judge, _, _ in self.asked if judge != CHECK]


FIVE = rubric(*[percent(name) for name in "abcde"], floor=60)
ANY_TWO = replace(FIVE, quorum=2)


def alike(points: float) -> dict[str, float]:
    return dict.fromkeys("abcde", points)


def progress(*points: float) -> dict[Any, Any]:
    return {f"v{n}": alike(one) for n, one in enumerate(points)}


def scene(looks: Mapping[Any, Any], work: Any = (), **more: Any) -> BeliefScene:
    """What the worker does after `work` changes nothing."""
    given_ = {"of": FIVE, "panel": ("p0", "p1", "p2"), "holdouts": ("h0", "h1"), **more}
    return BeliefScene(looks=looks, work=[*work, *[FAILED] * 20], **given_)


# ------------------------------------------------------------------------------------------------------------
# runs


def test_a_good_original_is_passed_when_every_judge_was_heard_once() -> None:
    run = scene(progress(95))
    state = run.play()
    assert (result(state), state.rounds) == (Result.PASSED, [])
    assert run.judged == ["p0", "h0", "h1", "p1", "p2"]
    stated = state.stated(state.best)
    assert stated is not None
    assert end(state).reason == f"{sure_sentence(stated)}, with the answers of 2 held-out judges"
    assert sure_sentence(stated) == "99% sure that the contract is met (5 judges, one look each)"


def test_with_a_quorum_fewer_are_enough() -> None:
    run = scene(progress(95), of=replace(FIVE, quorum=1))
    assert result(run.play()) is Result.PASSED and run.judged == ["p0", "h0", "h1"]


def test_one_witness_is_asked_once_and_is_enough() -> None:
    run = scene(progress(95), panel=("p0",), holdouts=("h0",))
    state = run.play()
    assert result(state) is Result.PASSED and run.judged == ["p0", "h0"]
    assert end(state).reason.endswith("with the answer of 1 held-out judge")


@pytest.mark.parametrize("policy", ["belief", "strict"])
def test_a_version_that_every_witness_refuses_never_passes(policy: str) -> None:
    """Not even where four judges of the panel like it, again and again, or where the witness does so
    when it looks again: its first answer refuses.
    """
    of = rubric(yes_no("good"))
    panel, no = ("p0", "p1", "p2", "p3"), [{"good": False}, *[{"good": True}] * 9]
    run = scene(
        {"v0": {"good": True}, ("h0", "v0"): no},
        of=of,
        panel=panel,
        holdouts=("h0",),
        policy=policy,
    )
    state = run.play()
    assert result(state) is Result.UNCONFIRMED and run.judged.count("h0") > 1
    assert "the held-out judges that answered say no" in end(state).reason


NAMES = "stuvwxyz"


def test_a_witness_looks_again_where_that_tells_most() -> None:
    """The judges are models, and items that were unmet are met after the edit: looks of the panel
    cannot tell whether they only look so, and those of the witnesses make it sure.
    """
    of = rubric(checklist("c", NAMES), threshold=100)
    none_met, all_met = ({"c": dict.fromkeys(NAMES, met)} for met in (False, True))
    run = scene({"v0": none_met, "v1": all_met}, ["v1"], of=of, kind="model")
    state = run.play()
    looks = [judge for judge, version, _ in run.asked if version == "v1"]
    assert result(state) is Result.PASSED and state.probability("v1") >= 0.95
    assert max(looks.count(judge) for judge in ("h0", "h1")) > 1


def test_one_of_two_witnesses_may_misread() -> None:
    of = rubric(checklist("c", "uvwxyz"), threshold=70)
    all_met, none_met = ({"c": dict.fromkeys("uvwxyz", met)} for met in (True, False))
    assert (
        result(
            scene({"v0": all_met, ("h0", "v0"): {"c": {**all_met["c"], "u": False}}}, of=of).play()
        )
        is Result.PASSED
    )
    assert result(scene({"v0": all_met, ("h0", "v0"): none_met}, of=of).play()) is not Result.PASSED


def misread(judge: str, seed: int, rate: float = 0.15) -> dict[Any, Any]:
    """What a judge says in each of its looks at `v0`, of which all eight items are met."""
    chance = random.Random(f"{judge} {seed}")
    looks = [{"c": {name: chance.random() >= rate for name in NAMES}} for _ in range(40)]
    return {(judge, "v0"): looks}


@pytest.mark.parametrize("seed", range(6))
def test_with_calls_left_a_run_does_not_give_up_what_is_open(seed: int) -> None:
    """All eight items are wanted and met, and 15 % of the answers are wrong: judges are asked on
    until it is sure, and held-out judges that misread an item each do not refuse it for that.
    """
    of = rubric(checklist("c", NAMES), threshold=100)
    looks: dict[Any, Any] = {}
    for judge in ("p0", "p1", "p2", "h0", "h1"):
        looks |= misread(judge, seed)
    run = scene(looks, of=of)
    state = run.play()
    assert isinstance(state, BeliefState)
    is_spent = state.calls_left == 0 or state.certifying.get("v0") == YES_OR_NO.looks
    assert result(state) is Result.PASSED or state.probability("v0") < 0.15 or is_spent


def noisy_original(seed: int, **asked: Any) -> BeliefScene:
    looks: dict[Any, Any] = {}
    for judge in ("p0", "p1", "p2", "h0", "h1"):
        looks |= misread(judge, seed, 0.05)
    return scene(looks, of=replace(rubric(checklist("c", NAMES), threshold=100), **asked))


def test_a_bar_that_is_asked_for_is_the_bar() -> None:
    """A higher one takes more looks, and nothing is PASSED below it."""
    looks = {80: 0, 99: 0}
    for bar, seed in product(looks, range(4)):
        run = noisy_original(seed, sure=Fraction(bar, 100))
        state = run.play()
        assert isinstance(state, BeliefState)
        if result(state) is Result.PASSED:
            assert state.probability("v0") >= bar / 100
        looks[bar] += len(run.judged)
    assert looks[99] > looks[80]


def test_no_more_looks_than_max_looks_certify_a_version() -> None:
    state = noisy_original(1, sure=Fraction(99999, 100_000), max_looks=6).play()
    assert isinstance(state, BeliefState)
    assert result(state) is not Result.PASSED
    assert sum(bool(ballot.marks) for ballot in state.looks("v0")) == 6


def test_what_is_better_is_kept_and_what_is_worse_is_not() -> None:
    run = scene(progress(50, 40, 62, 95), ["v1", "v2", "v3"])
    state = run.play()
    assert [entry.accepted for entry in state.rounds][:3] == [False, True, True]
    assert (result(state), state.best) == (Result.PASSED, "v3")
    assert state.rounds[0].reason.startswith("no mark is better than before: ")


def test_witnesses_take_turns_in_steering_marks_on_a_scale() -> None:
    run = scene(
        progress(*[40] * 8), [f"v{n}" for n in range(1, 8)], limits=replace(LIMITS, rounds=6)
    )
    run.play()
    assert run.judged[:6] == ["p0", "h0", "p1", "h1", "p2", "p0"]


def test_under_strict_and_on_checklists_the_panel_alone_steers() -> None:
    work = [f"v{n}" for n in range(1, 8)]
    limits = replace(LIMITS, rounds=3)
    strict = scene(progress(*[40] * 8), work, limits=limits, policy="strict")
    strict.play()
    assert strict.judged == ["p0", "p1", "p2", "p0"]
    of = rubric(checklist("c", "xyz"))
    nothing = {f"v{n}": {"c": {"x": False, "y": False, "z": False}} for n in range(8)}
    listed = scene(nothing, work, of=of, limits=limits)
    listed.play()
    assert listed.judged == ["p0", "p1", "p2", "p0"]


def test_under_strict_a_witness_changes_no_decision_but_the_last() -> None:
    """What is kept and tried is the same whatever a witness says, as long as it does not say pass."""

    def path(witness: float) -> list[object]:
        looks = {
            **progress(66, 69, 68, 72, 71),
            **{(h, f"v{n}"): alike(witness) for h in ("h0", "h1") for n in range(5)},
        }
        run = scene(looks, ["v1", "v2", "v3", "v4"], policy="strict")
        run.play()
        return [action for action in run.actions if isinstance(action, Accept | Propose)][:4]

    assert path(10) == path(45)


def test_the_items_that_an_edit_is_given_are_those_believed_unmet() -> None:
    of = rubric(checklist("c", "xyz"))
    run = scene(
        {"v0": {"c": {"x": True, "y": False, "z": False}}}, of=of, limits=replace(LIMITS, rounds=1)
    )
    run.play()
    proposed = next(action for action in run.actions if isinstance(action, Propose))
    assert (proposed.focus, proposed.items) == (("c",), (("c", "y"), ("c", "z")))


def test_witnesses_that_disagree_with_the_panel_keep_it_from_passing() -> None:
    looks = {**progress(90), ("h0", "v0"): alike(45), ("h1", "v0"): alike(45)}
    state = scene(looks).play()
    assert result(state) in (Result.NO_CHANGE, Result.UNCONFIRMED)
    assert state.probability("v0") < 0.7  # type: ignore[attr-defined]


def test_nothing_is_passed_without_a_witness() -> None:
    state = scene(progress(95), holdouts=()).play()
    assert result(state) is Result.UNCONFIRMED
    assert "no judge that was held out" in end(state).reason


def test_where_code_decides_no_witness_is_needed_and_no_margin() -> None:
    of = rubric(checked("a"), threshold=100, floor=100)
    run = scene({"v0": {"a": False}, "v1": {"a": True}}, ["v1"], of=of, holdouts=())
    state = run.play()
    assert (result(state), state.best, run.judged) == (Result.PASSED, "v1", [])


def test_a_loss_that_code_sees_costs_no_look() -> None:
    of = rubric(checked("code", required=True), *[percent(name) for name in "abc"])
    looks = {"v0": {"code": True, **alike(50)}, "v1": {"code": False, **alike(90)}}
    run = scene(looks, ["v1"], of=of, limits=replace(LIMITS, rounds=1))
    state = run.play()
    assert state.rounds[0].reason == "required criterion 'code' is no longer met"
    assert ("v1" in [version for judge, version, _ in run.asked if judge != CHECK]) is False


def test_a_judge_that_fails_is_passed_over_and_paid_for() -> None:
    run = scene(
        {**progress(90), ("p0", "v0"): None, ("h0", "v0"): None},
        holdouts=("h0", "h1", "h2"),
        of=ANY_TWO,
    )
    state = run.play()
    assert result(state) is Result.PASSED
    assert run.judged[:2] == ["p0", "h0"] and state.asked == len(run.judged)  # type: ignore[attr-defined]


def test_a_judge_of_the_panel_that_is_never_heard_leaves_it_open() -> None:
    """As in an evaluation: unless the rubric has a quorum that does without it."""
    looks = {**progress(95), ("p1", "v0"): None}
    state = scene(looks).play()
    assert (
        result(state) is Result.COULD_NOT_JUDGE
        and "not every judge that is needed answered" in end(state).reason
    )
    assert result(scene(looks, of=ANY_TWO).play()) is Result.PASSED


def test_a_witness_that_only_fails_certifies_nothing() -> None:
    looks = {**progress(95), ("h1", "v0"): None}
    assert result(scene(looks, of=ANY_TWO).play()) is Result.UNCONFIRMED


def test_a_worker_that_makes_nothing_new_ends_the_run() -> None:
    state = scene(progress(50)).play()
    assert (result(state), len(state.rounds)) == (Result.NO_CHANGE, 3)
    same = scene(progress(50, 40, 60), ["v1", "v2", "v1", "v2", "v1"]).play()
    assert (result(same), len(same.rounds)) == (Result.PLATEAU, 5)
    assert end(same).reason.startswith("the worker made nothing new in the last 3 rounds")


def test_when_no_judge_can_mark_the_original_the_run_ends() -> None:
    state = scene({}).play()
    assert result(state) is Result.COULD_NOT_JUDGE


def test_a_version_that_no_judge_can_mark_is_given_up() -> None:
    state = scene(progress(50), ["v1"], limits=replace(LIMITS, rounds=1)).play()
    assert state.rounds[0].reason == "no judge could mark it"


def test_judges_that_say_the_same_of_everything_are_a_dead_metric() -> None:
    state = scene(progress(*[50] * 20), [f"v{n}" for n in range(1, 20)]).play()
    assert result(state) is Result.METRIC_DEAD and len(state.rounds) == 7


def test_full_marks_that_no_edit_moves_are_passed_and_no_dead_metric() -> None:
    """Seven edits of a text that all judges give full marks cannot raise them: what is sure enough
    when no edit follows is PASSED.
    """
    of = rubric(*[percent(name) for name in "abcd"], threshold=75, floor=60)
    rising = [(25, 25, 50, 25), (100, 25, 50, 25), (100, 100, 50, 25), (100, 100, 100, 25)]
    marks = [*rising, *[(100, 100, 100, 100)] * 15]
    looks = {f"v{n}": dict(zip("abcd", one, strict=True)) for n, one in enumerate(marks)}
    versions = [f"v{number}" for number in range(1, 19)]
    state = scene(looks, versions, of=of, panel=("p0", "p1"), holdouts=("h0",), kind="model").play()
    assert result(state) is Result.PASSED, end(state).reason
    assert len(state.rounds) == 11


def test_a_dead_metric_that_only_witnesses_refuse_is_unconfirmed() -> None:
    """What the panel always likes and the held-out judges never do."""
    of = rubric(yes_no("good"), yes_no("more"), threshold=50, floor=0)
    nothing = {"good": False, "more": False}
    no = {(judge, f"v{n}"): nothing for judge in ("h0", "h1") for n in range(20)}
    yes = {f"v{n}": {"good": True, "more": False} for n in range(20)}
    run = scene(
        {**yes, **no}, [f"v{n}" for n in range(1, 20)], of=of, limits=replace(LIMITS, calls=60)
    )
    state = run.play()
    assert result(state) is Result.UNCONFIRMED and len(state.rounds) == 7
    assert "the held-out judges that answered say no; seven changed versions" in end(state).reason


def test_a_quorum_has_to_look_at_the_version_that_passes() -> None:
    of = replace(FIVE, quorum=4)
    run = scene(progress(95), of=of)
    assert result(run.play()) is Result.PASSED
    assert len(set(run.judged)) == 4


def test_patience_rounds_and_calls_hold() -> None:
    assert len(scene(progress(50), limits=replace(LIMITS, patience=2)).play().rounds) == 2
    assert len(scene(progress(50), limits=replace(LIMITS, rounds=3)).play().rounds) == 3
    run = scene(
        progress(60, *[62] * 20), [f"v{n}" for n in range(1, 20)], limits=replace(LIMITS, calls=6)
    )
    assert result(run.play()) is Result.BUDGET and len(run.judged) <= 6


def test_a_probability_is_never_shown_as_certainty() -> None:
    assert [sure(x) for x in (0.0, 0.941, 1.0)] == [
        "less than 1% sure",
        "94% sure",
        "99% sure",
    ]
    assert [chance_words(x) for x in (0.0, 0.004, 0.996, 1.0)] == [
        "0% sure",
        "less than 1% sure",
        "99% sure",
        "100% sure",
    ]
    assert chance_words(0.0004, decimals=1) == "less than 0.1% sure"


# ------------------------------------------------------------------------------------------------------------
# chaos

anything = st.one_of(
    st.just(TREE),
    st.just(FIVE),
    st.just(rubric(group("g", percent("a"), yes_no("b")), checklist("c", "xy"), checked("d"))),
    rubrics(),
)
chances = st.randoms(use_true_random=False)
policies = st.sampled_from(["belief", "strict"])


def chaos(of: Rubric, chance: random.Random, policy: str) -> BeliefScene:
    plain = chaotic(of, chance, policy)
    return BeliefScene(
        of,
        Chance(of, chance),
        plain.work,
        panel=plain.panel,
        holdouts=plain.holdouts,
        policy=policy,
        limits=replace(
            plain.limits, rounds=chance.randint(0, 20), calls=chance.choice([99, 30, 5])
        ),
        calls=plain.calls,
    )


@pytest.mark.slow
@given(anything, chances, policies)
def test_whatever_happens_its_limits_hold(of: Rubric, chance: random.Random, policy: str) -> None:
    run = chaos(of, chance, policy)
    state = run.play()
    assert isinstance(state, BeliefState)
    assert len(run.judged) <= run.limits.calls and state.asked == len(run.judged)
    assert len(state.rounds) <= run.limits.rounds and state.rounds.stale <= run.limits.patience
    assert not any(entry.is_open for entry in state.rounds)
    assert state.best == state.accepted_versions[-1]
    assert 0.0 <= state.probability(state.best) <= 1.0
    if result(state) is Result.PASSED and of.asks_judges:
        assert state.holdouts and state.witnesses(state.best) >= min(
            LOOKS_NEEDED, len(state.holdouts)
        )
        assert state.probability(state.best) >= 0.5
        # Where all held-out judges refuse a version of yes/no items, their noise has to explain it.
        assert not state.is_refused(state.best)
        assert not state.beliefs.has_scales or any(
            alone.passed for alone in state.certifications(state.best).values()
        )
    for version in [r.version for r in state.rounds if r.version] + [state.original]:
        answered = [
            ballot.voter
            for ballot in state.looks(version)
            if ballot.marks and ballot.voter in state.holdouts
        ]
        # Where items are answered yes or no, they are asked again after all others.
        assert len(answered) == len({*answered}) or not state.beliefs.has_scales, (
            "a held-out judge answered twice about the same bytes"
        )
    if result(state) is Result.PASSED and not of.asks_judges:
        assert state.verdict(state.best).passed


@pytest.mark.slow
@given(anything, chances, policies)
def test_nothing_is_passed_that_states_less_than_80_percent(
    of: Rubric, chance: random.Random, policy: str
) -> None:
    run = chaos(of, chance, policy)
    state = run.play()
    assert isinstance(state, BeliefState)
    if result(state) is Result.PASSED and of.asks_judges:
        assert state.probability(state.current) >= (of.sure or LEAST_STATED)


@pytest.mark.slow
@given(anything, chances, policies, st.data())
def test_a_killed_run_believes_what_it_believed(
    of: Rubric, chance: random.Random, policy: str, data: st.DataObject
) -> None:
    """Folding all events, or some now and the rest later, gives the same beliefs and the same next
    decision.
    """
    run = chaos(of, chance, policy)
    lived = run.play()
    cut = data.draw(st.integers(0, len(run.log)))
    half, again = fold(run.state(), run.log[:cut]), fold(run.state(), run.log[:cut])
    assert decide(half, policy_named(policy)) == decide(again, policy_named(policy))
    whole = fold(half, run.log[cut:])
    assert facts(whole) == facts(lived)
    assert isinstance(lived, BeliefState)
    assert [whole.probability(v) for v in whole.accepted_versions] == [
        lived.probability(v) for v in lived.accepted_versions
    ]


@pytest.mark.slow
@given(anything, chances, policies)
def test_every_event_is_followed_by_the_decision_that_was_taken(
    of: Rubric, chance: random.Random, policy: str
) -> None:
    run = chaos(of, chance, policy)
    run.play()
    assert_each_event_was_decided(run.state(), run.log, policy)


@pytest.mark.parametrize("name", POLICIES)
def test_policies_have_their_names(name: str) -> None:
    assert policy_named(name).name == name
