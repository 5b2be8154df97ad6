"""The loop over a suite whose judges are asked by need: what is one look, what is kept, and what has
to be known for PASSED.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.strategies import ballot, checked, yes_no
from tests.core.strategies import rubric as rubric_of

from honestone.core.belief.cases.suite import CaseBelief, Elsewhere, SuiteBelief
from honestone.core.belief.stated import EVEN, sure_sentence
from honestone.core.belief.verdict import TextBelief
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import LEAST_STATED, DeliveryRule
from honestone.core.events import (
    AttemptAnswers,
    BallotCast,
    CaseAnswers,
    EditProposed,
    Event,
    StartedArtifact,
    StartedSuite,
    SuiteImprovementStarted,
    VersionAccepted,
    VersionRejected,
)
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.spend import Spend
from honestone.core.loop import suite_answers
from honestone.core.loop.delivery import delivery
from honestone.core.loop.state import (
    Accept,
    Ask,
    LoopLimits,
    Propose,
    Result,
    RollBack,
    Stop,
    decide,
    fold,
)
from honestone.core.loop.suite_belief import (
    KeepWhatIsLikelier,
    SuiteBeliefState,
    state_of_suite_run,
)
from honestone.core.loop.suite_loop import (
    HOPELESS,
    TEST,
    TRAIN,
    VAL,
    Splits,
    SuiteLoopState,
    ballot_of,
    certifying_rubric,
    steering_rubric,
)
from honestone.core.numbers import ONE
from honestone.core.record.event_codec import event_from_plain, event_to_plain
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.case import Case, Message, Split

KEY = ("holds", "holds")
RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="holds",
            requirement="it holds",
            items=(Item(id="holds", requirement="it holds", whole=True),),
        ),
    )
)
IDS = {TRAIN: "abcd", VAL: "efgh", TEST: "stuv"}
SPLITS = Splits.among(
    [
        Case(id=id, rubric=RUBRIC, messages=(Message("user", id),), split=Split(split))
        for split, ids in IDS.items()
        for id in ids
    ]
)
# By text, what each look says: `+` met, `-` not met.
Texts = Mapping[str, str]


def answers(split: str, texts: Sequence[tuple[str, str]]) -> tuple[CaseAnswers, ...]:
    """The cases of a split in order, each with the name of its text and the looks at it."""
    return tuple(
        CaseAnswers(
            case=id,
            text=text,
            rubric="r",
            ballots=tuple(
                Ballot(
                    judge=f"j#{n + 1}" if n else "j", marks={KEY: Mark(sign == "+")}, draw_of="j"
                )
                for n, sign in enumerate(looks)
            ),
        )
        for id, (text, looks) in zip(IDS[split], texts, strict=True)
    )


LOOKS = st.lists(st.text("+-", min_size=1, max_size=5), min_size=4, max_size=4)


class Told:
    """A run told by its events."""

    def __init__(
        self,
        *,
        calls: int = 200,
        rounds: int = 5,
        rubric: Rubric = RUBRIC,
        sure: Fraction | None = None,
        max_looks: int | None = None,
        candidates: int = 1,
    ) -> None:
        started = SuiteImprovementStarted(
            contract={},
            contract_id="c",
            limits=LoopLimits(rounds=rounds, patience=rounds, calls=calls, minutes=10).to_plain(),
            artifact=StartedArtifact(path="a.md", digest="v0"),
            policy="belief",
            worker="w",
            rubric=replace(
                steering_rubric(SPLITS, title="t", least=ONE), sure=sure, max_looks=max_looks
            ),
            certifying=certifying_rubric(SPLITS, title="t", least=ONE),
            splits=SPLITS.ids,
            rubrics={"r": rubric},
            candidates=candidates,
            suite=StartedSuite(path="s.yaml"),
        )
        self.log: list[Event] = [started]
        state = state_of_suite_run(started)
        assert isinstance(state, SuiteBeliefState)
        self.state = state

    def add(self, event: Event) -> None:
        self.log.append(event)
        self.state.apply(event)

    def looked(
        self,
        version: str,
        split: str,
        texts: Sequence[tuple[str, str]],
        *,
        turned: Collection[str] = (),
        expect: JsonObject | None = None,
    ) -> None:
        """`turned`: cases that pass where their output does not meet the rubric; or, where scores
        are `expect`ed, is not outside of these.
        """
        said = [
            replace(
                one, is_turned=one.case in turned, expect=expect if one.case in turned else None
            )
            for one in answers(split, texts)
        ]
        cases = self.state.new_looks(said)
        passed = {
            id: (looks.count("+") > looks.count("-")) is not (id in turned)
            for id, (_, looks) in zip(IDS[split], texts, strict=True)
        }
        results = [
            TaskResult(task_id=id, passed=met, score=None, details="") for id, met in passed.items()
        ]
        self.add(
            BallotCast(
                version=version,
                role="holdout" if split == TEST else "panel",
                ballot=ballot_of(split, results),
                spend=Spend(judge_calls=sum(len(one.ballots) for one in cases)),
                cases=cases,
            )
        )

    def proposed(self, version: str) -> None:
        number = len(self.state.rounds) + 1
        self.add(
            EditProposed(
                round=number, focus=(TRAIN,), outcome=ProposalOutcome.CHANGED, version=version
            )
        )

    @property
    def next(self) -> Any:
        return decide(self.state, KeepWhatIsLikelier())


def texts(prefix: str, *looks: str) -> list[tuple[str, str]]:
    return [(f"{prefix}{number}", one) for number, one in enumerate(looks)]


def begun(*, rounds: int = 5) -> Told:
    told = Told(rounds=rounds)
    told.looked("v0", VAL, texts("val", "+", "-", "-", "-"))
    told.looked("v0", TRAIN, texts("train", "+", "-", "-", "-"))
    return told


def test_a_text_of_two_cases_is_one_look() -> None:
    """The same question with the same output in val and in test adds nothing to what is known of the
    judges: it is counted once.
    """
    told = Told()
    same = texts("same", "++", "+-", "++", "-")
    told.looked("v0", VAL, same)
    known = told.state.chance("v0", VAL)
    told.looked("v0", TEST, same)
    assert told.state.chance("v0", VAL) == known
    assert all(not one.ballots for one in told.state.answers["v0", TEST])


def test_what_code_found_holds_for_every_case_with_a_text() -> None:
    """Code fails two texts that four cases gave in their attempts. The mean of each fails, though a
    judge likes all else; also where an event that follows has no answers of code.
    """
    told = Told(rubric=rubric_of(yes_no("a"), checked("c", required=True)))
    code, look = ballot(CHECK, {"c": False}), ballot("j", {"a": True})
    for ballots in ((code, look), ()):
        parts = tuple(AttemptAnswers(text=text, ballots=ballots) for text in ("one", "two"))
        cases = [
            CaseAnswers(case=id, text="", rubric="r", rule="mean", attempts=parts)
            for id in IDS[VAL]
        ]
        results = [TaskResult(task_id=id, passed=False, score=None, details="") for id in IDS[VAL]]
        told.add(
            BallotCast(
                version="v0",
                role="panel",
                ballot=ballot_of(VAL, results),
                spend=Spend(),
                cases=told.state.new_looks(cases),
            )
        )
        assert told.state.chance("v0", VAL).high < 1e-9
    assert told.state.looks_at == {"one": [look], "two": [look]}


def test_texts_of_other_versions_tell_of_judges_only() -> None:
    """A judge that contradicts itself elsewhere is trusted less here, and no share of cases that
    pass is taken from there.
    """
    here = [CaseBelief(id, _text("+")) for id in "abcd"]
    steady = [_text(*one) for one in ("++++", "----", "++++", "----")]
    wild = [_text(*one) for one in ("+-+-", "-+-+", "+--+", "-++-")]
    by_steady = SuiteBelief(here, 4, Elsewhere.of((), steady)).chance
    by_wild = SuiteBelief(here, 4, Elsewhere.of((), wild)).chance
    assert by_steady is not None and by_wild is not None
    assert by_steady.chance > by_wild.chance


def _text(*signs: str) -> TextBelief:
    found = TextBelief(RUBRIC)
    for sign in "".join(signs):
        found.see("j", {KEY: Mark(sign == "+")})
    return found


def test_a_case_whose_output_is_the_same_does_not_move() -> None:
    """More looks at what an edit left alone are no reason to keep the edit."""
    told = begun()
    told.proposed("v1")
    told.looked("v1", VAL, texts("val", "++++", "-", "-", "-"))
    told.looked("v1", TRAIN, texts("train", "+", "-", "-", "-"))
    assert told.state.better("v1", "v0", VAL, TRAIN) == (0.0, 0.0)
    assert isinstance(told.next, RollBack)


def test_an_edit_that_helps_one_case_and_harms_another_is_no_dead_metric() -> None:
    """The pass rate is the same three times in a row, and other cases pass each time."""
    told = begun()
    for number, val in enumerate(("-+--", "--+-", "---+")):
        told.proposed(f"v{number + 1}")
        told.looked(f"v{number + 1}", VAL, texts(f"val {number} ", *val))
        told.looked(f"v{number + 1}", TRAIN, texts(f"train {number} ", "-", "+", "-", "-"))
        told.add(VersionRejected(round=number + 1, reason="r"))
    assert isinstance(told.next, Propose)


def test_seven_versions_whose_cases_pass_and_fail_alike_are_a_dead_metric() -> None:
    told = begun(rounds=9)
    for number in range(1, 8):
        assert isinstance(told.next, Propose)
        told.proposed(f"v{number}")
        told.looked(f"v{number}", VAL, texts(f"val {number} ", "+", "-", "-", "-"))
        told.looked(f"v{number}", TRAIN, texts(f"train {number} ", "+", "-", "-", "-"))
        told.add(VersionRejected(round=number, reason="r"))
    assert told.next.result is Result.METRIC_DEAD and "seven" in told.next.reason


def test_a_version_whose_cases_rather_pass_is_kept() -> None:
    """One case of val has another output, and two looks that are good."""
    told = begun()
    told.proposed("v1")
    told.looked("v1", VAL, [*texts("val", "+", "-", "-"), ("new", "++")])
    told.looked("v1", TRAIN, texts("train", "+", "-", "-", "-"))
    decided = told.next
    assert isinstance(decided, Accept) and "more cases pass" in decided.reason
    gain = told.state.better_than_original("v1").gain
    assert 0.0 < gain < 100 / 12  # points of twelve cases, of which one moved


def test_a_decision_says_what_it_rests_on() -> None:
    """Val passes now, though train is rather worse; or nothing is judged differently."""
    told = Told()
    train = texts("train", "++", "++", "++", "++")
    told.looked("v0", VAL, texts("val", "++++", "++++", "++++", "-"))
    told.looked("v0", TRAIN, train)
    told.proposed("v1")
    told.looked("v1", VAL, texts("val", "++++", "++++", "++++", "-"))
    told.looked("v1", TRAIN, train)
    assert told.next == RollBack(reason="no case of val and train is judged differently")
    told.add(VersionRejected(round=1, reason="the same"))
    told.proposed("v2")
    told.looked("v2", VAL, [*texts("val", "++++", "++++", "++++"), ("new", "++++")])
    told.looked("v2", TRAIN, [("l0", "-"), ("l1", "-"), *train[2:]])
    decided = told.next
    assert isinstance(decided, Accept) and decided.reason.startswith("val passes now: ")


def test_a_test_that_was_not_run_makes_nothing_sure() -> None:
    """Val alone never states what PASSED needs, and the sentence says that test was not asked."""
    told = Told()
    told.looked("v0", VAL, texts("val", *["++"] * 4))
    told.looked("v0", TRAIN, texts("train", *["+"] * 4))
    assert told.state.chance("v0", VAL, TEST).chance >= LEAST_STATED
    stated = told.state.stated("v0")
    assert stated is not None and stated.probability < LEAST_STATED and stated.not_asked == 4
    assert stated.contrary == "too few cases of val or of test pass"


def test_what_a_run_of_a_split_left_out_was_not_asked() -> None:
    """As `eval` counts it: a case that is skipped, whatever looks at an attempt there are."""
    told = Told()
    told.looked("v0", VAL, texts("val", "+", "+", "+", "-"))
    (event,) = told.log[1:]
    assert isinstance(event, BallotCast)
    first, *rest = event.cases
    told.add(replace(event, cases=(replace(first, is_skipped=True), *rest)))
    stated = told.state.stated("v0")
    assert stated is not None and stated.not_asked == 1 + len(IDS[TEST])


def test_marks_that_pass_are_not_enough() -> None:
    """Every case passes by most of its looks, but judges that contradict themselves so often are not
    believed; where they agree, the same marks are PASSED.
    """
    chances = []
    for val, test in (
        (("+-+-+", "+-+--++") * 2, ("+-+", "-++", "-+-++", "+-+")),
        (("+++",) * 4, ("++",) * 4),
    ):
        told = Told()
        told.looked("v0", VAL, texts("val", *val))
        told.looked("v0", TRAIN, texts("train", "-", "+", "-", "-"))
        told.looked("v0", TEST, texts("test", *test))
        chances.append(told.state.chance("v0", VAL, TEST).low)
        assert told.state.card("v0").line(VAL).score == 1
        assert told.state.is_certified("v0") is (val == ("+++",) * 4)
    stated = told.state.stated("v0")
    assert stated is not None
    assert told.state.certifications("v0")[TEST].reasons == (sure_sentence(stated),)
    assert chances[0] < LEAST_STATED <= chances[1]


def test_a_case_that_has_to_fail_passes_by_its_noes() -> None:
    """A version that does what must not be is no better; what is read back says the same."""
    told = Told()
    told.looked("v0", VAL, texts("val", "++", "++", "++", "--"), turned="h")
    assert told.state.verdict("v0").passed
    told.looked("v0", TRAIN, texts("train", "++", "++", "++", "--"))
    told.proposed("v1")
    told.looked("v1", VAL, [*texts("val", "++", "++", "++"), ("met", "++")], turned="h")
    assert not told.state.verdict("v1").passed
    better, worse = told.state.better("v1", "v0", VAL)
    assert worse > 0.8 > 0.05 > better
    log = [event_from_plain(event_to_plain(event)) for event in told.log]
    assert fold(state_of_suite_run(log[0]), log[1:]).verdict("v1") == told.state.verdict("v1")


def test_passed_rests_on_val_and_test_together() -> None:
    """Further looks that agree make it PASSED, with what is stated."""
    told = Told(calls=26)
    told.looked("v0", VAL, texts("val", "+++", "+++", "++", "+++"))
    told.looked("v0", TRAIN, texts("train", "-", "+", "+", "+"))
    told.looked("v0", TEST, texts("test", "+++", "++", "+++", "+++"))
    assert told.next.result is Result.PASSED
    stated = told.state.stated("v0")
    assert stated is not None and stated.probability >= LEAST_STATED
    assert [(one.judge, one.looks) for one in stated.rests_on] == [("j", 26)]


@pytest.mark.parametrize(("span", "is_reached"), [(["9/10", "1"], True), (["0", "1/2"], False)])
def test_a_split_passes_by_the_scores_that_its_cases_expect(
    span: list[str], is_reached: bool
) -> None:
    """Of every case of val only a range of scores is expected, which the looks reach or miss."""
    told = Told()
    expect = {"verdict": None, "score": span, "criteria": {}}
    same = texts("val", "+++", "+++", "+++", "+++")
    told.looked("v0", VAL, same, turned=IDS[VAL], expect=expect)
    chance = told.state.chance("v0", VAL)
    assert (chance.low > 0.8) is is_reached and (chance.high < 0.2) is not is_reached
    log = [event_from_plain(event_to_plain(event)) for event in told.log]
    again = fold(state_of_suite_run(log[0]), log[1:])
    assert isinstance(again, SuiteBeliefState) and again.chance("v0", VAL) == chance


def test_passed_is_as_sure_as_was_asked() -> None:
    """Looks that are enough for 80 % are not enough for 99."""
    for asked, result in ((None, Result.PASSED), (Fraction(99, 100), Result.BUDGET)):
        told = Told(sure=asked, calls=26)
        told.looked("v0", VAL, texts("val", "+++", "+++", "++", "+++"))
        told.looked("v0", TRAIN, texts("train", "-", "+", "+", "+"))
        told.looked("v0", TEST, texts("test", "+++", "++", "+++", "+++"))
        assert getattr(told.next, "result", None) is result
        stated = told.state.stated("v0")
        assert stated is not None and stated.decided is (None if asked is None else False)


def test_calls_are_held_for_test_over_rounds() -> None:
    """No version is proposed that could not be certified with the calls that are left."""
    for calls, candidates, is_proposed in (
        (28, 1, True),
        (27, 1, False),
        (36, 3, True),  # train of each of three proposals
        (35, 3, False),
    ):
        told = Told(calls=calls, candidates=candidates)
        told.looked("v0", VAL, texts("val", "-", "-", "-", "-"))
        told.looked("v0", TRAIN, texts("train", "-", "-", "-", "-"))
        assert isinstance(told.next, Propose) is is_proposed
        if not is_proposed:
            assert told.next.result is Result.BUDGET and "12 are held for test" in told.next.reason


def test_how_a_split_is_asked() -> None:
    """Train once, val on while it is open and calls are left for test, test with what is left."""
    told = Told(calls=40)
    assert told.state.by_need("v0", TRAIN).once and not told.state.by_need("v0", VAL).once
    assert told.state.by_need("v0", VAL).looks == 24
    told.looked("v0", VAL, texts("val", "++++", "+", "++", "+-+"))
    assert told.state.by_need("v0", VAL).looks == 22  # it is asked again, and test needs eight
    told.proposed("v1")
    assert told.state.by_need("v1", VAL).looks == 14  # four for train, twelve for test
    assert told.state.by_need("v0", TEST).looks == 30
    assert list(told.state.by_need("v0", TEST).known) == ["val0", "val1", "val2", "val3"]


def test_a_limit_of_looks_holds_for_a_split_however_often_it_is_asked() -> None:
    told = Told(rounds=1, sure=Fraction(95, 100), max_looks=9)
    assert told.state.by_need("v0", VAL).looks == 9
    told.looked("v0", VAL, texts("val", "-+", "+-", "+", "+"))
    told.looked("v0", TRAIN, texts("train", "+", "+", "+", "+"))
    assert told.state.by_need("v0", VAL).looks == 3 and told.state.by_need("v0", TEST).looks == 9
    told.looked("v0", VAL, texts("val", "-+--+", "+-", "+", "+"))
    assert told.state.by_need("v0", VAL).looks == 0
    stated = told.state.stated("v0")
    assert stated is not None and (stated.looks, stated.max_looks) == (13, 27)


def test_val_is_asked_on_where_it_rather_passes_or_no_edit_can_follow() -> None:
    """Looks at a version that rather fails are worth less than an edit, as long as one can follow."""
    for rounds, calls, hopeless in ((5, 200, EVEN), (1, 200, HOPELESS), (5, 27, HOPELESS)):
        told = Told(rounds=rounds, calls=calls)
        told.looked("v0", VAL, texts("val", "+", "-", "-", "-"))
        told.looked("v0", TRAIN, texts("train", "+", "-", "-", "-"))
        told.proposed("v1")
        assert told.state.by_need("v1", VAL).hopeless == hopeless
        assert told.state.by_need("v1", TEST).hopeless == HOPELESS


def test_an_edit_is_taken_to_change_as_many_outputs_as_those_before() -> None:
    """Two of eight outputs of val and train were new: the next version needs two looks, and not
    eight.
    """
    told = begun()
    assert told.state.allowance.for_another_version == 8
    told.proposed("v1")
    told.looked("v1", VAL, [("n1", "+"), *texts("val", "+", "-", "-", "-")[1:]])
    told.looked("v1", TRAIN, [("m1", "+"), *texts("train", "+", "-", "-", "-")[1:]])
    assert told.state.allowance.for_another_version == 8  # it is not decided yet
    told.add(VersionAccepted(round=1, version="v1", reason="better"))
    assert told.state.allowance.for_another_version == 2


@pytest.mark.parametrize(("calls", "is_asked"), [(100, True), (30, False)])
def test_calls_that_are_left_at_the_end_go_to_what_is_open(calls: int, is_asked: bool) -> None:
    """The rounds are done, and val of the version that was kept rather passes: it is asked again,
    once, with the calls that test does not need.
    """
    told = Told(rounds=1, calls=calls)
    told.looked("v0", VAL, texts("val", "-", "+", "+", "+"))
    told.looked("v0", TRAIN, texts("train", "--+", "+-", "-+", "+"))
    told.proposed("v1")
    told.looked("v1", VAL, [("n1", "+-"), ("val1", ""), ("n2", "--+"), ("val3", "")])
    told.looked("v1", TRAIN, [("m1", "+"), *texts("train", "", "+-", "+", "+")[1:]])
    told.add(VersionAccepted(round=1, version="v1", reason="better"))
    assert EVEN < told.state.chance("v1", VAL).chance < LEAST_STATED
    asked = told.next
    assert isinstance(asked, Ask) is is_asked
    if is_asked:
        assert (asked.judges, asked.version, asked.draw) == ((VAL,), "v1", 1)
        need = told.state.by_need("v1", VAL)
        assert (need.again, need.once, need.hopeless) == (1, False, HOPELESS)
        assert need.looks == told.state.calls_left - 12
        told.looked("v1", VAL, [("n1", "+--"), ("val1", ""), ("n2", "--+"), ("val3", "")])
        assert HOPELESS < told.state.chance("v1", VAL).chance < LEAST_STATED
        assert told.next.result is Result.ROUND_LIMIT


@given(LOOKS, st.integers(0, 60))
def test_a_run_ends_whatever_its_judges_say(looks: Sequence[str], calls: int) -> None:
    """Each split is asked again once at the most, and not where no call is left."""
    told = Told(rounds=0, calls=calls)
    asked = []
    while isinstance(told.next, Ask):
        split = told.next.judges[0]
        told.looked("v0", split, texts(split, *looks))
        asked.append(split)
    assert isinstance(told.next, Stop)
    assert all(asked.count(split) <= 2 for split in asked)


def test_beliefs_are_kept_until_a_ballot_arrives(monkeypatch: pytest.MonkeyPatch) -> None:
    """A decision that is made again computes nothing again, and a look changes what is believed."""
    told = begun()
    told.proposed("v1")
    told.looked("v1", VAL, [*texts("val", "+", "-", "-"), ("new", "++")])
    told.looked("v1", TRAIN, texts("train", "+", "-", "-", "-"))
    decided, chance = told.next, told.state.chance("v1", VAL)
    with monkeypatch.context() as patched:
        patched.setattr(suite_answers, "SuiteBelief", None)
        assert told.next == decided
    told.looked("v1", TEST, texts("test", "++", "++", "--", "--"))
    assert told.state.chance("v1", VAL) != chance


def test_every_case_is_asked_as_often_as_its_quorum() -> None:
    """Of every split, whatever is left; `all` is as many judges as looked so far."""
    told = Told(calls=10, rubric=replace(RUBRIC, quorum=3))
    assert [told.state.by_need("v0", split).looks for split in (TRAIN, VAL, TEST)] == [12, 12, 12]
    told = Told(calls=10, rubric=replace(RUBRIC, quorum="all"))
    told.looked("v0", VAL, texts("val", "+", "+", "+", "+"))
    assert told.state.by_need("v0", TRAIN).looks == 4


def test_a_better_version_is_delivered_by_its_probability() -> None:
    """Two cases of each split got another output that passes: marks and probability agree."""
    told = begun()
    told.proposed("v1")
    told.looked("v1", VAL, [*texts("val", "+", "-"), ("n1", "++"), ("n2", "++")])
    told.looked("v1", TRAIN, [*texts("train", "+", "-"), ("m1", "+"), ("m2", "+")])
    told.add(VersionAccepted(round=1, version="v1", reason="better"))
    found = delivery(told.state, Result.PLATEAU)
    assert (found.version, found.rule) == ("v1", DeliveryRule.BETTER)
    assert found.probability is not None and found.probability >= 0.8


def test_a_run_that_began_before_such_runs_keeps_its_rule() -> None:
    """Without rubrics on record, splits are pass rates, as they were."""
    told = Told()
    plain = {k: v for k, v in event_to_plain(told.log[0]).items() if k != "rubrics"}
    state = state_of_suite_run(event_from_plain(plain))
    assert type(state) is SuiteLoopState


@given(LOOKS, LOOKS, st.none() | LOOKS)
def test_nothing_is_passed_that_is_less_than_80_percent_sure(
    val: Sequence[str], train: Sequence[str], test: Sequence[str] | None
) -> None:
    """Whatever the judges said, and whether test was run or not: 80 % is stated of what passed
    alone. A run that is read back from its record believes the same, and does the same next.
    """
    told = Told()
    told.looked("v0", VAL, texts("val", *val))
    told.looked("v0", TRAIN, texts("train", *train))
    if test is not None:
        told.looked("v0", TEST, texts("test", *test))
    chance = told.state.probability("v0")
    assert chance is not None and 0.0 <= chance <= 1.0
    assert told.state.is_certified("v0") is (chance >= LEAST_STATED)
    assert chance <= told.state.chance("v0", VAL).chance + 1e-9
    log = [event_from_plain(event_to_plain(event)) for event in told.log]
    again = fold(state_of_suite_run(log[0]), log[1:])
    for name in ("answers", "looks_at", "asked", "ballots", "rounds"):
        assert getattr(again, name) == getattr(told.state, name)
    assert again.probability("v0") == chance
    assert decide(again, KeepWhatIsLikelier()) == told.next
