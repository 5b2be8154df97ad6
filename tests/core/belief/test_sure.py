"""How sure a verdict on one text is: what may be said of it, and that it is so where the truth is
known.
"""

from __future__ import annotations

import random
import re
from fractions import Fraction
from itertools import product
from math import log
from typing import Literal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.belief.contract import ContractModel
from honestone.core.belief.counting import CountedContract, reached
from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.belief.stated import (
    EndedBy,
    StatedBelief,
    belief_of,
    believed,
    settled,
    sure_percent,
    sure_sentence,
)
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import CHECK, NOT_NEEDED, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome, Verdict


def rubric(
    count: int = 8, *, least: int = 7, sure: Fraction | None = None, max_looks: int | None = None
) -> Rubric:
    criteria = [
        Criterion(
            id=f"p{i}", requirement="x", items=(Item(id=f"p{i}", requirement="x", whole=True),)
        )
        for i in range(count)
    ]
    return Rubric(
        criteria=tuple(criteria),
        threshold=Fraction(least, count),
        floor=Fraction(0),
        sure=sure,
        max_looks=max_looks,
    )


def look(judge: str, answers: list[bool], *, word: str = "", draw_of: str | None = None) -> Ballot:
    marks = {
        (f"p{i}", f"p{i}"): Mark(one, suggestion=word or None) for i, one in enumerate(answers)
    }
    return Ballot(judge=judge, marks=marks, draw_of=draw_of)


def log_odds(probability: float) -> float:
    return log(probability / (1.0 - probability))


def chance(ballots: list[Ballot], of: Rubric | None = None) -> float:
    found = belief_of(of or rubric(), ballots)
    assert found is not None
    return found.probability


@given(
    st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=5),
    st.integers(min_value=1, max_value=4),
)
def test_a_probability_is_between_0_and_1_and_does_not_depend_on_an_order(
    answers: list[list[bool]], least: int
) -> None:
    """Judges, and items that count alike, may come in any order."""
    ballots = [look(f"j{i}", one) for i, one in enumerate(answers)]
    turned = [look(f"j{i}", one[::-1]) for i, one in enumerate(answers)]
    of = rubric(4, least=least)
    assert 0.0 < chance(ballots, of) < 1.0
    assert chance(ballots[::-1], of) == pytest.approx(chance(ballots, of))
    assert chance(turned, of) == pytest.approx(chance(ballots, of))


@given(
    st.lists(st.tuples(st.integers(1, 5), st.floats(0.02, 0.98)), min_size=1, max_size=4),
    st.integers(0, 100),
    st.integers(0, 100),
)
def test_counting_gives_what_the_general_contract_gives(
    shape: list[tuple[int, float]], threshold: int, floor: int
) -> None:
    """The quick form is the exact one: criteria with several items, floors and a threshold."""
    criteria = tuple(
        Criterion(
            id=f"c{i}",
            requirement="x",
            weight=Fraction(i + 1),
            items=tuple(Item(id=f"i{k}", requirement="x") for k in range(count)),
        )
        for i, (count, _) in enumerate(shape)
    )
    of = Rubric(criteria=criteria, threshold=Fraction(threshold, 100), floor=Fraction(floor, 100))
    counted = CountedContract.of(of)
    assert counted is not None
    met = {f"c{i}": chance for i, (_, chance) in enumerate(shape)}
    parts = counted.parts_by_history(lambda key: key[0])
    exact = ContractModel(of, margin=0.0).probability(
        {key: met[key[0]] for key, _ in of.questions()}
    )
    assert reached(counted.shape, parts, met) == pytest.approx(exact, abs=1e-9)


def test_a_look_more_that_says_yes_never_makes_it_less_sure() -> None:
    """Of one judge after another that finds everything met."""
    yes = [True] * 8
    found = [chance([look(f"j{k}", yes) for k in range(count)]) for count in range(1, 6)]
    assert found == sorted(found)


def test_five_judges_that_agree_tell_more_than_five_looks_of_one() -> None:
    """What sticks with a judge is not refuted by asking it again."""
    yes = [True] * 8
    several = [look(f"j{k}", yes) for k in range(5)]
    one = [look("j", yes), *(look(f"j#{k}", yes, draw_of="j") for k in range(2, 6))]
    of = rubric(least=8)
    assert chance(one, of) < chance(several, of)


@given(
    st.lists(st.booleans(), min_size=1, max_size=8),
    st.integers(1, 8),
    st.integers(3, 12),
)
def test_a_judge_that_always_answers_the_same_tells_little_when_it_is_asked_again(
    answers: list[bool], least: int, looks: int
) -> None:
    """Its further looks move the probability less than one equal look of another judge does."""
    of = rubric(len(answers), least=min(least, len(answers)))
    first = chance([look("j", answers)], of)
    again = [look(f"j#{k}", answers, draw_of="j") for k in range(2, looks + 1)]
    alone = chance([look("j", answers), *again], of)
    other = chance([look("j", answers), look("k", answers)], of)
    assert abs(log_odds(alone) - log_odds(first)) < abs(log_odds(other) - log_odds(first)) + 0.25


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 40])
def test_equal_looks_of_one_judge_alone_do_not_make_it_95_percent_sure(count: int) -> None:
    """Where every item must be met and the judge may be one that repeats its errors."""
    of = rubric(count, least=count)
    for looks in range(2, 13):
        again = [look(f"j#{k}", [True] * count, draw_of="j") for k in range(2, looks + 1)]
        assert chance([look("j", [True] * count), *again], of) < 0.95


def test_another_look_tells_more_of_a_judge_whose_looks_differ() -> None:
    """What a look tells is learned from the looks: a judge that contradicts itself on one item may
    be right about the others when it is asked once more.
    """
    of = rubric(8, least=8)
    yes = [True] * 8
    differs = [look("j", yes), look("j#2", [*yes[:7], False], draw_of="j")]
    repeats = [look("j", yes), look("j#2", yes, draw_of="j")]
    third = look("j#3", yes, draw_of="j")
    gains = [
        log_odds(chance([*looks, third], of)) - log_odds(chance(looks, of))
        for looks in (differs, repeats)
    ]
    assert gains[0] > gains[1]


def test_one_look_of_one_judge_cannot_make_forty_items_sure() -> None:
    """It may be one that says yes to everything."""
    of = rubric(40, least=40)
    assert chance([look("j", [True] * 40)], of) < 0.5


def test_an_item_that_no_one_answered_is_unknown_and_not_unmet() -> None:
    """A judge that skips an item says nothing of it."""
    of = rubric(2, least=2)
    partly = Ballot(judge="a", marks={("p0", "p0"): Mark(True)})
    assert chance([look("a", [True, False])], of) < chance([partly], of)
    assert chance([partly], of) < chance([look("a", [True, True])], of)


def _with_code(**more: object) -> Rubric:
    check = Item(id="c", requirement="x", whole=True, check=Check(kind="contains", value="x"))
    asked = Item(id="p", requirement="x", whole=True)
    return Rubric(
        criteria=(
            Criterion(id="c", requirement="x", items=(check,), required=True),
            Criterion(id="p", requirement="x", items=(asked,)),
        ),
        threshold=Fraction(1, 2),
        floor=Fraction(0),
        **more,  # type: ignore[arg-type]
    )


def test_a_required_check_that_fails_is_certain_without_a_judge() -> None:
    """No answer of a judge can change that."""
    no = Ballot(judge=CHECK, marks={("c", "c"): Mark(False)})
    assert chance([no], _with_code()) == 0.0
    assert (
        Looking(
            rubric=_with_code(sure=Fraction(95, 100)), judges=[AskedLook(id="a")], checks=[no]
        ).next_looks()
        == []
    )


def test_a_check_without_an_answer_leaves_no_expected_score() -> None:
    """What code would have said is not believed to be as likely as not."""
    asked = Ballot(judge="a", marks={("p", "p"): Mark(True)})
    gave_up = Ballot(judge=CHECK, marks={})
    known = Ballot(judge=CHECK, marks={("c", "c"): Mark(True)})
    assert TextBelief(_with_code()).see_all([gave_up, asked]).expected() is None
    assert TextBelief(_with_code()).see_all([known, asked]).expected() is not None


def test_nothing_is_believed_where_no_one_answered() -> None:
    """Not even that it is as likely as not."""
    assert belief_of(rubric(), []) is None
    assert belief_of(rubric(), [Ballot(judge="a", marks={})]) is None


def test_anchored_items_count_by_their_points() -> None:
    """Three judges far above a bar, and three far below it."""
    scale = Anchors(levels=((Fraction(0), "none"), (Fraction(100), "full")))
    item = Item(id="a", requirement="x", whole=True, anchors=scale)
    of = Rubric(
        criteria=(Criterion(id="a", requirement="x", items=(item,)),),
        threshold=Fraction(70, 100),
        floor=Fraction(0),
    )
    high, low = (
        chance([Ballot(judge=f"j{k}", marks={("a", "a"): Mark(at)}) for k in range(3)], of)
        for at in (92, 45)
    )
    assert high > 0.9 and low < 0.05


# ------------------------------------------------------------------------------------------------------------
# asking on


def ask_on(of: Rubric, truth: list[bool], rate: float, judges: int, seed: int) -> Looking:
    """A text whose truth is known, and judges that misread it independently in each look."""
    draws = random.Random(seed)
    looking = Looking(rubric=of, judges=[AskedLook(id=f"j{k}") for k in range(judges)])
    while wanted := looking.next_looks():
        for judge in wanted:
            answers = [one != (draws.random() < rate) for one in truth]
            number = len(looking.looks.get(judge, ())) + 1
            looking.add(
                judge, look(f"{judge}#{number}", answers, word=str(draws.random()), draw_of=judge)
            )
    return looking


@pytest.mark.slow
def test_what_is_stated_is_so_where_judges_misread_independently() -> None:
    """Of 400 texts that are decided at 95 %, at most a few are decided wrongly."""
    wrong = decided = 0
    for seed, met in product(range(100), (5, 6, 7, 8)):
        truth = [i < met for i in range(8)]
        looking = ask_on(rubric(sure=Fraction(95, 100)), truth, 0.12, 3, seed)
        found = looking.belief
        assert found is not None and looking.count <= 12
        if found.outcome is not Outcome.INCONCLUSIVE:
            decided += 1
            wrong += (found.outcome is Outcome.PASS) != (met >= 7)
    assert decided > 200
    assert wrong <= 0.05 * decided


def test_the_first_two_judges_are_asked_at_once_and_then_one_at_a_time() -> None:
    """Nothing is decided on one look alone."""
    looking = Looking(
        rubric=rubric(sure=Fraction(99, 100)), judges=[AskedLook(id="a"), AskedLook(id="b")]
    )
    assert looking.next_looks() == ["a", "b"]
    looking.add("a", look("a", [True, False] * 4))
    looking.add("b", look("b", [False, True] * 4))
    assert len(looking.next_looks()) <= 1


def priced(cheap: float | None, dear: float | None) -> Looking:
    """Two judges, and two more looks of the first one, which contradict each other."""
    judges = [AskedLook(id="cheap", usd=cheap), AskedLook(id="dear", usd=dear)]
    found = Looking(rubric=rubric(sure=Fraction(99, 100)), judges=judges)
    for number, answers in enumerate(([True, False] * 4, [True] * 8, [True, True, False] * 2)):
        found.add("cheap", look(f"cheap#{number}", answers, word=str(number), draw_of="cheap"))
    found.add("dear", look("dear", [True] * 7 + [False]))
    return found


@pytest.mark.parametrize(
    ("cheap", "dear", "next_one"),
    [
        (None, None, "dear"),
        (0.001, None, "dear"),
        (0.01, 0.01, "dear"),
        (0.001, 0.05, "cheap"),
        (0.0, 0.05, "cheap"),
    ],
)
def test_a_look_is_bought_where_it_tells_most_for_its_price(
    cheap: float | None, dear: float | None, next_one: str
) -> None:
    """The judge that looked least, unless another one costs so much less. Where a price is not
    known all cost the same.
    """
    assert priced(cheap, dear).next_looks() == [next_one]
    assert priced(cheap, dear).least_asked() == next_one


def test_a_cheap_judge_that_repeats_itself_tells_little() -> None:
    """A dearer one that was asked once tells more than its third look for four times the price."""
    judges = [AskedLook(id="cheap", usd=0.01), AskedLook(id="dear", usd=0.04)]
    looking = Looking(rubric=rubric(sure=Fraction(99, 100)), judges=judges)
    answers = [True, True, True, True, False, False, True, True]
    for number in range(2):
        looking.add("cheap", look(f"cheap#{number}", answers, word=str(number), draw_of="cheap"))
    assert looking.next_looks() == ["dear"]


@given(st.lists(st.tuples(st.sampled_from("ab"), st.booleans()), max_size=6))
def test_what_a_look_tells_is_at_most_what_is_open(looks: list[tuple[str, bool]]) -> None:
    """A bit an item, and never less than nothing."""
    text = TextBelief(rubric())
    for number, (judge, met) in enumerate(looks):
        text.see_all([look(f"{judge}#{number}", [met] * 8, word=str(number), draw_of=judge)])
    for judge in "abc":
        assert 0.0 <= text.tells(judge) <= 8.0
    assert text.tells("c") >= text.tells("a") - 1e-9


def test_a_judge_that_repeats_itself_three_times_is_asked_no_more() -> None:
    """Its replies are the same to the last word."""
    looking = Looking(
        rubric=rubric(sure=Fraction(999, 1000), max_looks=20), judges=[AskedLook(id="a")]
    )
    asked = 0
    while wanted := looking.next_looks():
        for _ in wanted:
            asked += 1
            looking.add("a", look(f"a#{asked}", [True] * 7 + [False], draw_of="a"))
    assert asked == 3 and looking.is_exhausted


@given(st.integers(0, 10_000), st.integers(2, 14))
def test_the_same_looks_choose_the_same_next_ones(seed: int, most: int) -> None:
    """A run that is resumed replays its record, and looks never exceed the limit."""
    of = rubric(sure=Fraction(99, 100), max_looks=most)
    truth = [True] * 6 + [False] * 2
    first, again = (ask_on(of, truth, 0.2, 3, seed) for _ in range(2))
    assert first.looks == again.looks
    assert first.count <= most


# ------------------------------------------------------------------------------------------------------------
# words


def test_percents_are_cut_and_only_code_says_100() -> None:
    """What is 99.99 % sure is not called 100 % sure."""
    found = belief_of(rubric(least=1), [look(f"j{k}", [True] * 8) for k in range(5)])
    assert found is not None
    assert sure_percent(found) == "99% sure"
    assert sure_sentence(found).startswith(
        "99% sure that the contract is met (5 judges, one look each)"
    )


@given(st.integers(5_000_000, 9_999_999), st.integers(0, 5), st.floats(1e-9, 1 - 1e-9))
@example(millionths=5_000_000, coarse=0, chance=0.95)
@example(millionths=9_500_001, coarse=0, chance=0.95)
@example(millionths=5_000_000, coarse=0, chance=0.05)
def test_what_is_stated_is_on_the_side_of_the_bar_that_the_verdict_is_on(
    millionths: int, coarse: int, chance: float
) -> None:
    """`94% sure (asked: 94.5%)` would contradict PASSED, and no bar below 100 % is shown as 100%."""
    asked = Fraction(millionths // 10**coarse * 10**coarse, 10**7)
    if min(abs(chance - asked), abs(1 - chance - asked)) < Fraction(1, 10**9) or asked < 0.5:
        return
    belief = settled(StatedBelief(probability=chance, target=float(asked), looks=4))
    found = re.search(r"([\d.]+)% sure .*asked: ([\d.]+)%", sure_sentence(belief))
    assert found is not None
    stated, bar = map(Fraction, found.groups())
    # The nearest float to 0.95 is a little below it.
    rounding = Fraction(1, 10**12)
    assert 0 <= asked * 100 - bar < Fraction(1, 10_000) and bar < 100
    if belief.decided:
        sure = chance if belief.outcome is Outcome.PASS else 1 - chance
        assert bar <= stated <= Fraction(sure) * 100 + rounding
    elif not sure_sentence(belief).startswith("less than"):
        assert stated <= bar and stated <= Fraction(chance) * 100 + rounding


def test_a_bar_with_decimals_is_shown_with_them_and_so_is_the_probability() -> None:
    belief = settled(StatedBelief(probability=0.945_9, target=0.945, looks=4))
    assert sure_sentence(belief).startswith("94.5% sure that the contract is met (asked: 94.5%)")
    fine = settled(StatedBelief(probability=0.999_92, target=0.999_999_99, looks=4))
    assert sure_sentence(fine).startswith("99.992% sure")
    assert "asked: 99.9999%" in sure_sentence(fine)


def test_cases_that_were_not_asked_can_still_tell() -> None:
    """That more looks would not tell is said where nothing is left to ask."""
    even = StatedBelief(probability=0.48, target=0.99, looks=14, max_looks=14, not_asked=10)
    assert settled(even).more_looks == 10
    assert "about 10 more would tell (--max-looks 24); 10 cases not asked" in sure_sentence(
        settled(even)
    )
    assert settled(replace(even, not_asked=0)).more_looks is None


@pytest.mark.parametrize(
    ("looks", "is_exhausted", "words"),
    [
        (14, False, "a higher --max-looks asks on"),
        (12, False, "more looks may tell"),
        (14, True, "more looks of these judges would not tell"),
    ],
)
def test_more_looks_would_not_tell_only_where_none_is_left(
    looks: int, is_exhausted: bool, words: str
) -> None:
    """Near 50% a look moves little on average; a limit is named where it ended the looks."""
    even = StatedBelief(probability=0.52, target=0.99, looks=looks, max_looks=14)
    found = settled(even, is_exhausted=is_exhausted)
    assert found.more_looks is None and sure_sentence(found).endswith(f"; {words}")


def test_a_limit_that_did_not_end_the_looks_is_not_named() -> None:
    found = settled(StatedBelief(probability=0.9, target=0.99, looks=4, max_looks=14))
    assert found.more_looks and "--max-looks" not in sure_sentence(found)


@pytest.mark.parametrize(
    ("chance", "ended_by", "words"),
    [
        (0.9, EndedBy(option="--max-calls", most=20), "about 5 more would tell (--max-calls 25)"),
        (0.9, EndedBy(option="--max-usd"), "about 5 more would tell: a higher --max-usd asks on"),
        (0.52, EndedBy(option="--max-looks", most=3), "a higher --max-looks asks on"),
        (0.9, None, "about 5 more would tell"),
    ],
)
def test_the_limit_that_ended_the_looks_of_a_loop_is_named(
    chance: float, ended_by: EndedBy | None, words: str
) -> None:
    """With the number that would do, where it counts looks."""
    stated = StatedBelief(probability=chance, target=0.99, looks=4, max_looks=9, ended_by=ended_by)
    assert sure_sentence(settled(stated)).endswith(f"; {words}")


@given(
    st.lists(st.sampled_from(["answers", "fails", "waits"]), min_size=1, max_size=5),
    st.one_of(st.just("all"), st.integers(1, 5)),
)
def test_no_look_is_foreseen_that_the_quorum_would_not_count(
    judges: list[str], quorum: Literal["all"] | int
) -> None:
    """Where those that may still answer are too few, and the sentence says so."""
    of = replace(rubric(least=1, sure=Fraction(9999, 10_000)), quorum=quorum)
    ballots = [
        look(f"j{n}", [True] * 8)
        if one == "answers"
        else Ballot(judge=f"j{n}", marks={}, reason=NOT_NEEDED if one == "waits" else "it failed")
        for n, one in enumerate(judges)
    ]
    found = belief_of(of, ballots)
    answered = judges.count("answers")
    if found is None or found.decided:
        assert not answered or found is not None
        return
    needed = len(judges) if quorum == "all" else quorum
    is_lost = answered + judges.count("waits") < needed
    assert (found.more_looks is None) is is_lost
    noun = "judge" if needed == 1 else "judges"
    words = f"no further look would tell, as the quorum is not met: {answered} of {needed} {noun}"
    assert sure_sentence(found).endswith(f"{words} answered") is is_lost


@given(st.floats(0.0, 1.0), st.integers(50, 99))
def test_a_sentence_is_about_what_was_decided(chance: float, percent: int) -> None:
    """Its percentage is never below the bar that it says is reached, either way."""
    target = percent / 100
    found = settled(StatedBelief(probability=chance, target=target, looks=3))
    said = int(sure_sentence(found).partition("%")[0])
    if found.decided:
        assert said >= percent
        assert ("is not met" in sure_sentence(found)) is (chance < target)
    else:
        assert "is not met" not in sure_sentence(found) and said < percent


def test_the_verdict_is_the_probabilitys_where_a_bar_is_asked_for() -> None:
    """And a reason says that the marks come to another one."""
    answers = [[True] * 8 for _ in range(6)]
    for place, one in enumerate(answers):
        one[place] = False
    of = rubric(least=8, sure=Fraction(90, 100))
    found = belief_of(of, [look(f"j{k}", one) for k, one in enumerate(answers)])
    gate = Verdict(Outcome.FAIL, ("the overall score is 87.5, below the threshold 100",))
    verdict = believed(gate, found)
    assert verdict.outcome is Outcome.PASS
    assert "by the marks alone" in verdict.reasons[0]


def test_text_belief_forgets_what_it_worked_out_from_fewer_answers() -> None:
    """A probability that was asked for early does not stay."""
    text = TextBelief(rubric())
    text.see("a", look("a", [True] * 8).marks)
    before = text.probability
    text.see("b", look("b", [False] * 8).marks)
    assert before is not None and text.probability is not None
    assert text.probability < before


def test_a_probability_takes_no_quorum_s_place() -> None:
    """Where too few judges answered the verdict stays open, however sure the others make it."""
    gate = Verdict(Outcome.INCONCLUSIVE, ("the quorum is not met: 1 of 2",), is_final=True)
    sure = StatedBelief(probability=0.99, target=0.9, looks=2, decided=True)
    assert believed(gate, sure) == gate
    assert believed(Verdict(Outcome.INCONCLUSIVE), sure).outcome is Outcome.PASS


def test_the_bar_and_what_is_left_of_it_decide_alike() -> None:
    """A tenth is as much below 90 % as nine tenths are at it, whatever binary fractions make of it."""
    for target in (0.7, 0.8, 0.9, 0.95):
        passes, fails = (
            StatedBelief(probability=one, target=target) for one in (target, round(1.0 - target, 2))
        )
        assert (passes.outcome, fails.outcome) == (Outcome.PASS, Outcome.FAIL), target
