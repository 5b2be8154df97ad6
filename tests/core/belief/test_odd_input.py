"""Rubrics, panels and answers as people have them too: one item, judges that abstain or always say
yes, nothing that applies, weights of 0, bars at their ends, quorums that nobody reaches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.core.strategies import percent, rubric, yes_no

from honestone.core.belief.cases.suite import CaseBelief
from honestone.core.belief.errors import MODELS
from honestone.core.belief.next_look import FAILURES, AskedLook, Looking
from honestone.core.belief.stated import DEFAULT_LOOKS, believed, doubt, sure_sentence
from honestone.core.belief.verdict import Assumption, TextBelief
from honestone.core.judging.ballot import NOT_APPLICABLE, Answer, Ballot, Mark
from honestone.core.judging.rubric import RULES, Key, Rubric, Rule
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer

# What a judge says of an item that is met or not; None: it gives no answer at all.
Says = Callable[[random.Random, bool], Answer | None]


def careful(drawn: random.Random, is_met: bool) -> Answer:
    return is_met != (drawn.random() < 0.05)


def careless(drawn: random.Random, is_met: bool) -> Answer:
    return is_met != (drawn.random() < 0.3)


def yes_always(_drawn: random.Random, _is_met: bool) -> Answer:
    return True


def silent(_drawn: random.Random, _is_met: bool) -> None:
    return None


def out_of_place(drawn: random.Random, is_met: bool) -> Answer:
    return NOT_APPLICABLE if drawn.random() < 0.5 else careful(drawn, is_met)


def never_applies(_drawn: random.Random, _is_met: bool) -> Answer:
    return NOT_APPLICABLE


JUDGES: tuple[Says, ...] = (careful, careless, yes_always, silent, out_of_place, never_applies)


def items(count: int, **more: object) -> list[object]:
    return [yes_no(f"p{n}", may_not_apply=True, **more) for n in range(count)]  # type: ignore[arg-type]


RUBRICS: Mapping[str, Rubric] = {
    "one item": rubric(*items(1)),  # type: ignore[arg-type]
    "weights of 0": rubric(yes_no("p0"), *[yes_no(f"p{n}", weight=0) for n in (1, 2)]),
    "a veto of weight 0": rubric(yes_no("p0"), yes_no("p1", weight=0, required=True)),
    "no threshold": rubric(*items(3), threshold=0, floor=60),  # type: ignore[arg-type]
    "nothing can fail": rubric(*items(3), threshold=0),  # type: ignore[arg-type]
    "all of it": rubric(*items(4), threshold=100),  # type: ignore[arg-type]
    "a penalty": rubric(*items(3), yes_no("bad", weight=-1), threshold=60),  # type: ignore[arg-type]
    "negated": rubric(*items(2, negate=True), yes_no("p2")),  # type: ignore[arg-type]
    "the same twice": rubric(yes_no("p0"), replace(yes_no("p1"), requirement="p0 holds")),
    "mixed with a scale": rubric(yes_no("p0"), percent("p1"), floor=50),
    "eight": rubric(*items(8), threshold=85),  # type: ignore[arg-type]
}


class Panel:
    """Judges of these kinds, each of whose looks depends on the seed alone."""

    def __init__(self, of: Rubric, kinds: list[Says], seed: int) -> None:
        self.of, self.kinds, self._seed = of, kinds, seed
        truth = random.Random(f"truth {seed}")
        bad = of.bad_keys
        self.truth = {key: (truth.random() < 0.7) != (key in bad) for key, _ in of.questions()}

    def look(self, judge: str, number: int) -> Ballot | None:
        says = self.kinds[int(judge[1:])]
        drawn = random.Random(f"{self._seed} {judge} {number}")
        marks: dict[Key, Mark] = {}
        for key, item in self.of.questions():
            answer = says(drawn, self.truth[key])
            if answer is None:
                return None
            if item.anchors is not None:
                marks[key] = Mark(80.0 if answer is True else 30.0)
            else:
                marks[key] = Mark(
                    answer if item.may_not_apply or isinstance(answer, bool) else True
                )
        return Ballot(
            judge=judge if not number else f"{judge}#{number + 1}", draw_of=judge, marks=marks
        )


def asked_to_the_end(panel: Panel) -> Looking:
    names = [f"j{n}" for n in range(len(panel.kinds))]
    looking = Looking(rubric=panel.of, judges=[AskedLook(id=one) for one in names])
    calls = dict.fromkeys(names, 0)
    while wanted := looking.next_looks():
        assert sum(calls.values()) <= looking.most + FAILURES * len(names)
        for judge in wanted:
            found = panel.look(judge, calls[judge])
            calls[judge] += 1
            if found is not None:
                looking.add(judge, found)
            elif calls[judge] >= FAILURES:
                looking.given_up.add(judge)
    return looking


@st.composite
def panels(draw: st.DrawFn) -> Panel:
    of = draw(st.sampled_from(list(RUBRICS.values())))
    kinds = draw(st.lists(st.sampled_from(JUDGES), min_size=1, max_size=4))
    quorum = draw(st.sampled_from([None, None, 1, len(kinds), "all"]))
    of = replace(
        of,
        sure=draw(st.sampled_from([Fraction(1, 2), Fraction(95, 100), Fraction(999, 1000)])),
        max_looks=draw(st.sampled_from([None, 2, 5])),
        quorum=quorum,
        combine=draw(st.sampled_from([None, *map(Rule, RULES)])),
    )
    return Panel(of, kinds, draw(st.integers(0, 10_000)))


@settings(max_examples=150)
@given(panels())
def test_asking_on_ends_and_what_it_says_is_so(panel: Panel) -> None:
    looking = asked_to_the_end(panel)
    of, belief = panel.of, looking.belief
    assert looking.count <= (of.max_looks or DEFAULT_LOOKS)
    card = Scorer(of).card(looking.ballots)
    gate = judge_gate(card, of)
    rule = Scorer(of).rule
    verdict = believed(gate, belief, rule)
    if belief is None:
        assert verdict is gate
        return
    assert 0.0 <= belief.probability <= 1.0
    assert belief.is_certain is (not of.can_fail)
    sentence = sure_sentence(belief)
    assert ("100%" in sentence) is belief.is_certain
    assert belief.target is not None
    if verdict is not gate and verdict.outcome is Outcome.PASS:
        assert belief.probability >= belief.target
    if verdict is not gate and verdict.outcome is Outcome.FAIL:
        assert 1.0 - belief.probability >= belief.target and "is not met" in sentence
    if belief.looks == 1 and not belief.is_certain:
        assert verdict is gate or verdict.outcome is Outcome.INCONCLUSIVE
    # Votes may be combined otherwise; the score of the whole is a mean, whatever combines them.
    if rule is not Rule.MEAN:
        words = " ".join(verdict.reasons) + doubt(gate.outcome, belief)
        assert "mean" not in words.replace("whose mean score decides nothing here", "")


@given(st.integers(1, 4), st.integers(0, 100))
def test_nothing_is_stated_where_nothing_applies(count: int, seed: int) -> None:
    """That is unknown and no certain failure, and no further look is bought."""
    of = replace(rubric(*items(count)), sure=Fraction(95, 100))  # type: ignore[arg-type]
    looking = asked_to_the_end(Panel(of, [never_applies, never_applies], seed))
    assert looking.belief is None and looking.count == 2
    text = TextBelief(of).see_all(looking.ballots)
    assert not text.applies and text.probability is None


def test_one_judge_that_finds_nothing_to_judge_fails_nothing_that_another_one_passes() -> None:
    of = replace(rubric(*items(4)), sure=Fraction(95, 100))  # type: ignore[arg-type]
    looking = asked_to_the_end(Panel(of, [never_applies, yes_always], 1))
    belief = looking.belief
    assert belief is not None and belief.probability > 0.8
    assert (
        believed(judge_gate(Scorer(of).card(looking.ballots), of), belief).outcome
        is not Outcome.FAIL
    )


def test_no_look_is_bought_where_its_quorum_cannot_be_reached() -> None:
    of = replace(rubric(*items(2)), sure=Fraction(95, 100), quorum=3)  # type: ignore[arg-type]
    looking = asked_to_the_end(Panel(of, [yes_always, yes_always, silent], 1))
    assert looking.count == 2 and looking.is_void and not looking.is_decided


VOTES = st.lists(
    st.tuples(st.integers(0, 3), st.lists(st.booleans(), min_size=3, max_size=3)), max_size=5
)


@pytest.mark.parametrize("name", ["all of it", "weights of 0", "a veto of weight 0", "eight"])
@given(votes=VOTES, place=st.integers(0, 1), model=st.sampled_from(MODELS))
def test_another_judge_s_yes_never_makes_it_less_likely_however_judges_err(
    name: str, votes: list[tuple[int, list[bool]]], place: int, model: object
) -> None:
    """If it is known how they err. What an answer tells about that may count more than itself, as
    where a judge that said no twice says yes: then it draws its answers anew, and twice is more.
    """
    of = RUBRICS[name]
    keys = [key for key, _ in of.questions()]
    text, more = TextBelief(of), TextBelief(of)
    for who, answers in votes:
        marks = {key: Mark(answers[n % 3]) for n, key in enumerate(keys)}
        text.see(f"j{who}", marks)
        more.see(f"j{who}", marks)
    more.see("another", {keys[place]: Mark(True)})
    one = Assumption(model, 0.6)  # type: ignore[arg-type]
    assert more.under(one) >= text.under(one) - 1e-9


@settings(max_examples=60)
@given(votes=VOTES.filter(bool), judge=st.integers(0, 3))
def test_a_yes_more_lowers_what_is_stated_by_hardly_anything(
    votes: list[tuple[int, list[bool]]], judge: int
) -> None:
    """Of an item that most call met, by what it tells of how judges err."""
    of = RUBRICS["all of it"]
    keys = [key for key, _ in of.questions()]
    text, more = TextBelief(of), TextBelief(of)
    for who, answers in votes:
        marks = {key: Mark(n == 0 or answers[n % 3]) for n, key in enumerate(keys)}
        text.see(f"j{who}", marks)
        more.see(f"j{who}", marks)
    more.see(f"j{judge}", {keys[0]: Mark(True)})
    assert text.probability is not None and more.probability is not None
    assert more.probability >= text.probability - 0.02


@given(VOTES.filter(bool))
def test_what_has_to_fail_is_as_sure_as_that_it_is_not_met(
    votes: list[tuple[int, list[bool]]],
) -> None:
    of = RUBRICS["all of it"]
    text = TextBelief(of)
    for who, answers in votes:
        text.see(
            f"j{who}", {key: Mark(answers[n % 3]) for n, (key, _) in enumerate(of.questions())}
        )
    plain, turned = CaseBelief("a", text).alone, CaseBelief("a", text, is_turned=True).alone
    assert plain is not None and turned is not None
    assert plain + turned == pytest.approx(1.0)
