"""What a belief about a large rubric costs, in steps of arithmetic and never in time, and that what
saves them changes no probability that matters.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.belief import counting, verdict
from honestone.core.belief.contract import ContractModel, Odds
from honestone.core.belief.counting import CountShape, PartHistories, PartShape, Summand, summed
from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.belief.normal import Atom
from honestone.core.belief.scales import marks as scale_marks
from honestone.core.belief.scales.marks import ItemMarks, log_density, truth_by
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import NOT_APPLICABLE, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Key, Rubric

from ..strategies import checklist, group, percent, rubric, yes_no

SIZE = 300
# Products of two probabilities that a look at 300 items may take: as many as 20 ms has room for.
MOST_STEPS = 600_000


def weights(seed: int) -> Iterator[float]:
    drawn = random.Random(seed)
    while True:
        yield drawn.randint(1, 997) / 10


def named(count: int, weighed: bool = True, **more: object) -> list[Criterion]:
    own = weights(count)
    return [yes_no(f"p{n}", weight=next(own) if weighed else 1, **more) for n in range(count)]  # type: ignore[arg-type]


def in_groups(leaves: Sequence[Criterion], **more: object) -> list[Criterion]:
    own = weights(7)
    return [
        group(f"g{n}", *leaves[n : n + 10], weight=next(own), **more)  # type: ignore[arg-type]
        for n in range(0, len(leaves), 10)
    ]


SHAPES: Mapping[str, Rubric] = {
    "weights": rubric(*named(SIZE), threshold="87.5"),
    "required": rubric(*named(SIZE, required=True), threshold="87.5"),
    "negated": rubric(*named(SIZE, negate=True), threshold="87.5"),
    "penalties": rubric(
        *named(200), *[yes_no(f"n{n}", weight=-0.5) for n in range(100)], threshold=80
    ),
    "groups": rubric(*in_groups(named(SIZE, weighed=False)), threshold="87.5", floor=60),
    "weights in groups": rubric(*in_groups(named(SIZE)), threshold="87.5"),
    "may not apply": rubric(*named(SIZE, may_not_apply=True), threshold="87.5"),
    "lists": rubric(
        *[
            checklist(f"l{n}", [f"i{k}" for k in range(30)], weight=own, negate=n % 2 == 0)
            for n, own in zip(range(10), weights(3), strict=False)
        ],
        threshold=80,
        floor=60,
    ),
}


def looks(of: Rubric, count: int, points: bool = False) -> list[Ballot]:
    """One of each judge, of which one mark in seven is misread."""
    drawn = random.Random(1)
    bad = of.bad_keys
    keys = [key for key, _ in of.questions()]
    truth = {key: drawn.random() < 0.9 for key in keys}

    def mark(key: Key, place: int) -> Mark:
        if points:
            return Mark(20.0 * drawn.randint(2, 5))
        good = truth[key] != (drawn.random() < 0.15)
        is_away = place % 20 == 0 and of.criteria[0].items and of.criteria[0].items[0].may_not_apply
        return Mark(NOT_APPLICABLE) if is_away else Mark(good != (key in bad))

    return [
        Ballot(judge=f"j{n}", marks={key: mark(key, place) for place, key in enumerate(keys)})
        for n in range(count)
    ]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_look_at_three_hundred_items_takes_few_steps(
    shape: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, taken = SHAPES[shape], 0
    plain = counting.convolved

    def counted(left: Sequence[float], right: Sequence[float]) -> list[float]:
        nonlocal taken
        shorter, longer = sorted((left, right), key=len)
        taken += len(longer) * sum(one > 0.0 for one in shorter)
        return plain(left, right)

    monkeypatch.setattr(counting, "convolved", counted)
    chance = TextBelief(of).see_all(looks(of, 3)).probability
    assert chance is not None and 0.0 < chance < 1.0
    assert taken <= MOST_STEPS


def test_marks_on_a_scale_are_weighed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once under each assumption, however many looks there were; and what they say of an item is
    worked out under those that are likely.
    """
    of = rubric(*[percent(f"p{n}") for n in range(SIZE)], threshold=70)
    weighed, worked_out = [], []

    def counted(sd: float, marks: ItemMarks) -> float:
        weighed.append((sd, marks))
        return log_density(sd, marks)

    def believed(sd: float, marks: ItemMarks) -> tuple[Atom, ...]:
        worked_out.append((sd, marks))
        return truth_by(sd, marks)

    monkeypatch.setattr(scale_marks, "log_density", counted)
    monkeypatch.setattr(scale_marks, "truth_by", believed)
    text = TextBelief(of).see_all(looks(of, 12, points=True))
    assert text.probability is not None and text.expected() is not None
    assert len(weighed) == len(set(weighed)) <= len(scale_marks.SDS) * SIZE
    assert len(worked_out) <= len(weighed)


def test_a_look_is_taken_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """By what chooses the next one, however often it is asked."""
    of = replace(rubric(*named(20), threshold=80), sure=Fraction(19, 20))
    judges = [AskedLook(id=f"j{n}", kind="model", usd=n + 1.0) for n in range(3)]
    looking, taken, plain = Looking(rubric=of, judges=judges), [], TextBelief.see

    def counted(self: TextBelief, judge: str, marks: Mapping[Key, Mark], **more: bool) -> None:
        taken.append(judge)
        plain(self, judge, marks, **more)

    monkeypatch.setattr(TextBelief, "see", counted)
    for ballot in looks(of, 3):
        looking.add(ballot.voter, ballot)
        looking.next_looks()
        looking.least_asked()
    assert taken == ["j0", "j1", "j2"]


def of_every_state(of: Rubric, met: Sequence[float]) -> float:
    """By weight alone, where nothing but the threshold has a bar."""
    worths = [one.weight for one in of.criteria]
    least = of.threshold * sum(worths, Fraction(0))
    sums: dict[Fraction, float] = {Fraction(0): 1.0}
    for worth, chance in zip(worths, met, strict=True):
        then: dict[Fraction, float] = {}
        for at, mass in sums.items():
            then[at] = then.get(at, 0.0) + mass * (1.0 - chance)
            then[at + worth] = then.get(at + worth, 0.0) + mass * chance
        sums = then
    return sum(mass for at, mass in sums.items() if at >= least)


@pytest.mark.slow
@settings(max_examples=25)
@given(
    st.integers(0, 10_000),
    st.integers(9, 24),
    st.sampled_from((50, 80, 95, 100)),
    st.lists(st.floats(0.02, 0.98), min_size=1, max_size=4),
)
def test_unequal_weights_are_nearly_as_by_every_state(
    seed: int, count: int, threshold: int, chances: list[float]
) -> None:
    """Rounded to a grid where there are many; exact where every item is needed."""
    own = weights(seed)
    of = rubric(*[yes_no(f"p{n}", weight=next(own)) for n in range(count)], threshold=threshold)
    met = [chances[n % len(chances)] for n in range(count)]
    odds: dict[Key, Odds | None] = {(f"p{n}", f"p{n}"): chance for n, chance in enumerate(met)}
    found = ContractModel(of, margin=0.0).probability(odds)
    if threshold == 100:
        assert found == pytest.approx(prod(met), abs=1e-9)
    else:
        assert found == pytest.approx(of_every_state(of, met), abs=0.04)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.lists(st.tuples(st.floats(0.01, 1), st.floats(0, 100)), min_size=1, max_size=4),
            st.integers(1, 3),
        ),
        min_size=1,
        max_size=8,
    )
)
def test_a_sum_has_the_mass_and_the_mean_of_its_parts(
    drawn: list[tuple[list[tuple[float, float]], int]],
) -> None:
    parts = [
        Summand([Atom(mass / 4, mean, 0.0) for mass, mean in atoms], count)
        for atoms, count in drawn
    ]
    found = summed(parts)
    whole = prod(sum(one.mass for one in atoms) ** count for atoms, count in parts)
    mean = sum(
        count * sum(one.mass * one.mean for one in atoms) / sum(one.mass for one in atoms)
        for atoms, count in parts
    )
    span = sum(count * 100 for _, count in parts)
    assert sum(one.mass for one in found) == pytest.approx(whole, abs=1e-6)
    own = sum(one.mass * one.mean for one in found)
    assert own == pytest.approx(whole * mean, abs=1e-4 + whole * span / 100)


@st.composite
def counted_parts(
    draw: st.DrawFn,
) -> tuple[CountShape, list[PartHistories[int]], dict[int, float]]:
    """Parts of a plain count, and P(met) by history: numbers stand for those."""
    shapes, parts, total = [], [], 0
    for _ in range(draw(st.integers(1, 6))):
        counts = draw(st.dictionaries(st.integers(0, 4), st.integers(1, 4), min_size=1))
        size, step = sum(counts.values()), draw(st.integers(1, 5))
        shapes.append(PartShape(step, draw(st.integers(0, size))))
        parts.append(tuple(counts.items()))
        total += step * size
    met = draw(st.lists(st.floats(0.001, 0.999), min_size=5, max_size=5))
    return (
        CountShape(tuple(shapes), draw(st.integers(0, total))),
        parts,
        dict(enumerate(met)),
    )


SURE = 9


@given(counted_parts())
def test_what_an_item_turns_is_as_with_and_without_it(
    drawn: tuple[CountShape, list[PartHistories[int]], dict[int, float]],
) -> None:
    shape, parts, met = drawn
    for place, found in enumerate(counting.turns(shape, parts, met)):
        assert found.keys() == dict(parts[place]).keys()
        for history, turned in found.items():
            rows = [dict(one) for one in parts]
            rows[place][history] -= 1
            rows[place][SURE] = 1
            counts = [tuple(one.items()) for one in rows]
            if_met, if_not = (
                counting.reached(shape, counts, {**met, SURE: sure}) for sure in (1.0, 0.0)
            )
            assert turned == pytest.approx(if_met - if_not, abs=1e-9)


def test_what_each_of_many_items_turns_takes_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where each has a bar of its own: all parts are added up twice, not again for each item."""
    of = rubric(*named(SIZE, weighed=False), threshold=80, floor=50)
    text, taken, plain = TextBelief(of).see_all(looks(of, 4)), 0, counting._with

    def counted(whole: counting.Counts, part: counting.Counts) -> counting.Counts:
        nonlocal taken
        taken += 1
        return plain(whole, part)

    monkeypatch.setattr(counting, "_with", counted)
    assert len(text.next_answers("j0")) == SIZE
    assert taken <= 2 * SIZE / verdict.UNLIKELY
