"""How probable it is that enough cases of a suite pass, as by counting every state of every item: with
several attempts by each rule, weights, required criteria, answers of code, answers that are missing,
targets that failed (they neither pass nor fail) and cases that have to fail.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from math import exp, log, prod
from operator import mul

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief import verdict
from honestone.core.belief.cases.suite import SUITE_SHARES, CaseBelief, SuiteBelief
from honestone.core.belief.errors import MODELS, ErrorModel
from honestone.core.belief.verdict import (
    ANY_SHARES,
    CLOSE,
    Assumption,
    TextBelief,
    met_odds,
)
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Check, Criterion, Item, Key, Rubric
from honestone.core.judging.scorecard import Outcome
from honestone.core.judging.scorer import Scorer
from honestone.core.record.case_belief import CaseAttempts
from honestone.core.suite.attempts import (
    Attempt,
    Status,
    judge_attempt,
    result_of,
    target_failed,
)
from honestone.core.suite.case import AttemptRule, Case, Expect


def rubric(threshold: int, *criteria: tuple[int, int, bool], is_checked: bool = False) -> Rubric:
    """Each criterion by its weight, how many items it has, and whether it is required. `is_checked`:
    code answers the last one.
    """
    check = Check(kind="contains", value="good")
    return Rubric(
        criteria=tuple(
            Criterion(
                id=f"c{place}",
                requirement="x",
                weight=Fraction(weight),
                required=required,
                items=tuple(
                    Item(
                        id=f"i{n}",
                        requirement="x",
                        check=check if is_checked and place == len(criteria) - 1 else None,
                    )
                    for n in range(items)
                ),
            )
            for place, (weight, items, required) in enumerate(criteria)
        ),
        threshold=Fraction(threshold, 100),
        floor=Fraction(0),
    )


RUBRICS = (
    rubric(50, (1, 1, False)),
    rubric(70, (2, 1, False), (1, 1, False)),
    rubric(40, (3, 1, False), (1, 1, True)),
    rubric(60, (1, 2, False)),
    # What fails may score more than what passes.
    rubric(40, (2, 1, True), (3, 1, False)),
    rubric(40, (3, 1, False), (2, 1, True), is_checked=True),
)


class Drawn(Struct, frozen=True):
    """A case. `given`: by attempt the number of its output (None: the target failed). `looks`: by
    output what judges answered, each None where it marked nothing of an item. `code`: by output what
    code answered, where it is asked.
    """

    rubric: int
    rule: AttemptRule
    given: tuple[int | None, ...]
    looks: tuple[tuple[tuple[bool | None, ...], ...], ...]
    must_fail: bool = False
    code: tuple[bool, ...] = (True, True)

    @property
    def case(self) -> Case:
        return Case(
            id="c",
            rubric=RUBRICS[self.rubric],
            attempts=len(self.given),
            attempt_rule=self.rule,
            expect=Expect(verdict=Outcome.FAIL) if self.must_fail else None,
        )

    @property
    def keys(self) -> list[Key]:
        return [key for key, item in self.case.rubric.questions() if item.check is None]

    def by_code(self, output: int) -> dict[Key, Mark]:
        questions = self.case.rubric.questions()
        return {key: Mark(self.code[output]) for key, item in questions if item.check is not None}

    def ballots(self, output: int) -> tuple[Ballot, ...]:
        code = self.by_code(output)
        rows = [Ballot(judge=CHECK, marks=code)] if code else []
        for place, answers in enumerate(self.looks[output]):
            marks = {
                key: Mark(one)
                for key, one in zip(self.keys, answers, strict=False)
                if one is not None
            }
            if marks:
                rows.append(Ballot(judge=f"j{place}", marks=marks))
        return tuple(rows)

    def belief(self) -> CaseBelief:
        case, scorer = self.case, Scorer(self.case.rubric)

        def ended(number: int) -> Attempt | None:
            output = self.given[number - 1]
            if output is None:
                return target_failed(number, "it is down")
            ballots = self.ballots(output)
            return judge_attempt(number, scorer.card(ballots), case) if ballots else None

        def ballots_of(number: int) -> tuple[Ballot, ...]:
            output = self.given[number - 1]
            return () if output is None else self.ballots(output)

        tried = CaseAttempts(
            case=case,
            scorer=scorer,
            ended_of=ended,
            ballots_of=ballots_of,
            under_way={},
            digest_of=lambda number: str(self.given[number - 1]),
        )
        return tried.belief(range(1, case.attempts + 1))

    # -- by counting

    @property
    def outputs(self) -> list[int]:
        return sorted({one for one in self.given if one is not None})

    def text(self, output: int) -> TextBelief:
        return TextBelief(self.case.rubric).see_all(self.ballots(output))

    def states(self, *endings: Status) -> list[tuple[bool, ...]]:
        """The states of the items of every output in which it ends so."""
        size, outputs = len(self.keys), self.outputs
        found = []
        for truth in product((True, False), repeat=size * len(outputs)):
            by_output = {
                output: truth[place * size : (place + 1) * size]
                for place, output in enumerate(outputs)
            }
            if self.ending(by_output) in endings:
                found.append(truth)
        return found

    def ending(self, truth: dict[int, tuple[bool, ...]]) -> Status:
        """What its rule says of the true answers."""
        case, scorer = self.case, Scorer(self.case.rubric)
        attempts = []
        for number, output in enumerate(self.given, 1):
            if output is None:
                attempts.append(target_failed(number, "it is down"))
            else:
                marks = {k: Mark(met) for k, met in zip(self.keys, truth[output], strict=True)}
                code = Ballot(judge=CHECK, marks=self.by_code(output))
                card = scorer.card([code, Ballot(judge="truth", marks=marks)])
                attempts.append(judge_attempt(number, card, case))
        return result_of(attempts, case).status


class Counted:
    """A case with the answers to each of its items, and the states in which it ends so."""

    def __init__(self, case: Drawn, *endings: Status) -> None:
        texts = [case.text(output) for output in case.outputs]
        self.must_fail = case.must_fail
        self.histories = [text.history(key) for text in texts for key in case.keys]
        self.states = case.states(*endings)

    def chance(self, model: ErrorModel, share: float) -> float:
        odds = [met_odds(Assumption(model, share), one) for one in self.histories]
        return sum(
            prod(odd if met else 1.0 - odd for met, odd in zip(truth, odds, strict=True))
            for truth in self.states
        )

    def log_of_answers(self, model: ErrorModel, share: float) -> float:
        found = [model.likelihood(one) for one in self.histories]
        return sum(log(share * one.met + (1.0 - share) * one.unmet) for one in found)


def counted(drawn: Sequence[Drawn], need: int, worths: Sequence[int], *endings: Status) -> float:
    """P(enough cases end so), over every assumption and every state. Each text is
    that of so many cases.
    """
    cases = [Counted(one, *endings) for one in drawn]
    apart = ANY_SHARES if any(one.must_fail for one in cases) else (0.5,)
    logs, chances = [], []
    for model, share, other in product(MODELS, SUITE_SHARES, apart):
        shares = [other if one.must_fail else share for one in cases]
        logs.append(
            sum(one.log_of_answers(model, of) for one, of in zip(cases, shares, strict=True))
        )
        count = [1.0]
        for one, of, worth in zip(cases, shares, worths, strict=True):
            chance = one.chance(model, of)
            count = [
                (count[n] * (1.0 - chance) if n < len(count) else 0.0)
                + (count[n - worth] * chance if n >= worth else 0.0)
                for n in range(len(count) + worth)
            ]
        chances.append(sum(count[need:]))
    weights = [exp(one - max(logs)) for one in logs]
    return sum(map(mul, weights, chances)) / sum(weights)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    number = draw(st.integers(0, len(RUBRICS) - 1))
    items = sum(item.check is None for _, item in RUBRICS[number].questions())
    rule = draw(st.sampled_from(AttemptRule))
    attempts = draw(st.integers(1, 3))
    kinds = st.integers(0, 1)
    if attempts > 1:
        kinds = st.none() | kinds  # type: ignore[assignment]
    given_ = tuple(draw(kinds) for _ in range(attempts))
    first = st.tuples(*[st.booleans()] * items)
    more = st.lists(st.tuples(*[st.none() | st.booleans()] * items), max_size=2)
    looks = tuple((draw(first), *draw(more)) for _ in range(2))
    must_fail = attempts == 1 and draw(st.booleans())
    code = draw(st.booleans()), draw(st.booleans())
    return Drawn(number, rule, given_, looks, must_fail, code)


@given(st.lists(st.tuples(drawn(), st.integers(1, 3)), min_size=1, max_size=3), st.integers(1, 9))
def test_a_suite_is_as_probable_as_its_states(rows: list[tuple[Drawn, int]], need: int) -> None:
    """Where several cases are one text, they pass or fail together."""
    cases, worths = [one for one, _ in rows], [worth for _, worth in rows]
    beliefs = [
        replace(one.belief(), id=f"{place}.{copy}", name=None if worth == 1 else f"text {place}")
        for place, (one, worth) in enumerate(rows)
        for copy in range(worth)
    ]
    need = min(need, len(beliefs))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(verdict, "NEGLIGIBLE", 0.0)
        found = SuiteBelief(beliefs, need).chance
    # A case whose target failed counts as failed for a pass, and as passed for a failure.
    low = counted(cases, need, worths, Status.PASSED)
    high = counted(cases, need, worths, Status.PASSED, Status.TARGET_ERROR)
    if found is None:
        assert not any(one.texts for one in beliefs) and (low, high) == (0.0, 1.0)
        return
    assert found.low <= found.chance + 1e-12 and found.chance <= found.high + 1e-12
    if all(one.certain is not None for one in beliefs):
        assert found.low == found.high == round(low, 9) == round(high, 9) in (0.0, 1.0)
    else:
        for end, expected in ((found.low, low), (found.high, high)):
            assert abs(end - min(max(expected, CLOSE), 1.0 - CLOSE)) < 1e-9
