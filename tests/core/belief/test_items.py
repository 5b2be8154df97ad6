from __future__ import annotations

from itertools import product
from math import exp, log, sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.belief.assumptions import FLIPS, SHARED, item_bank
from honestone.core.belief.errors import MODELS as ERROR_MODELS
from honestone.core.belief.errors import JudgeAnswers
from honestone.core.belief.items import (
    LEAK,
    START_MET,
    CommonReading,
    ItemBelief,
    ItemModel,
    Looks,
)
from honestone.core.belief.normal import NODES, below
from honestone.core.belief.scales.scores import OWN, WITNESS_LOAD, witness_load

Votes = list[tuple[int, bool]]
PANEL = 2
# The largest share that a model may take for common to all judges.
MOST_SHARED = max(SHARED)
models = st.builds(ItemModel, st.floats(0.002, 0.3), st.floats(0, MOST_SHARED))
votes = st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=6)


def believed(model: ItemModel, belief: ItemBelief, cast: Votes) -> tuple[ItemBelief, float]:
    looks: dict[int, Looks] = {}
    total = 0.0
    for judge, yes in cast:
        before = looks.get(judge, Looks())
        belief, seen = model.seen(belief, before, held_out=judge >= PANEL, yes=yes)
        looks[judge] = Looks(before.yes + yes, before.no + (not yes))
        total += seen
    return belief, total


@given(models, votes)
def test_the_belief_is_that_of_all_votes_at_once(model: ItemModel, cast: Votes) -> None:
    """Integrated over the shared error and every judge's own one, on the same nodes."""
    edge = NormalDist().inv_cdf(model.flip)

    def likelihood(is_met: bool) -> float:
        total = 0.0
        for shared, weight in NODES:
            product = weight
            for judge in {judge for judge, _ in cast}:
                load = sqrt(model.rho) * (1.0 if judge < PANEL else witness_load(model.rho))
                rest = 1 - load * load
                answers = [yes for who, yes in cast if who == judge]
                one = 0.0
                for own, share in NODES:
                    rate = below(
                        (edge - load * shared - sqrt(OWN * rest) * own) / sqrt((1 - OWN) * rest)
                    )
                    for yes in answers:
                        share *= 1 - rate if yes == is_met else rate
                    one += share
                product *= one
            total += product
        return total

    met, unmet = START_MET * likelihood(True), (1 - START_MET) * likelihood(False)
    found, seen = believed(model, model.start(), cast)
    assert found.met == pytest.approx(met / (met + unmet), abs=1e-6)
    assert exp(seen) == pytest.approx(met + unmet, rel=1e-4, abs=1e-12)


@given(models, votes, st.lists(st.booleans(), max_size=3))
def test_probabilities_sum_to_one(model: ItemModel, cast: Votes, aims: list[bool]) -> None:
    belief, _ = believed(model, model.start(), cast)
    for aimed in aims:
        belief = model.edited(belief, aimed=aimed)
        assert sum(belief.weights) == pytest.approx(1) and min(belief.weights) >= 0
        belief, _ = believed(model, belief, cast)
        assert sum(belief.weights) == pytest.approx(1) and 0 <= belief.met <= 1


@given(models, votes, st.booleans())
def test_the_order_of_votes_does_not_matter(model: ItemModel, cast: Votes, aimed: bool) -> None:
    start = model.edited(model.start(), aimed=aimed)
    one, seen = believed(model, start, cast)
    other, also = believed(model, start, sorted(cast))
    assert (one.met, seen) == pytest.approx((other.met, also), abs=1e-9)


assumed = st.sampled_from(
    sorted({one.judges for one in item_bank(are_programs=False).models}, key=str)
)


@given(models | assumed, st.lists(st.booleans(), max_size=2), st.booleans())
def test_yes_is_believed_more_than_no(model: ItemModel, earlier: list[bool], aimed: bool) -> None:
    """Of a judge that has not answered yet. (The fifth yes of one judge may say more of the judge
    than of the item.)
    """
    belief = model.edited(model.start(), aimed=aimed)
    for judge in range(len(earlier), 3):
        ends = [
            believed(model, belief, [*enumerate(earlier), (judge, yes)])[0].met
            for yes in (False, True)
        ]
        assert ends[0] <= ends[1] + 1e-12


@pytest.mark.parametrize("flip", [0.002, 0.05, 0.15, 0.3])
@pytest.mark.parametrize("shared", [0.2, MOST_SHARED])
def test_seven_nodes_are_enough(flip: float, shared: float) -> None:
    """Against the sum over a fine grid of the shared error, for judges that look once each. (Where
    0.8 is shared, seven nodes are off by 0.14, and a held-out yes can count as a no.)
    """
    model = ItemModel(flip, shared)
    edge = NormalDist().inv_cdf(flip)
    grid = [step / 20 for step in range(-120, 121)]
    weights = [exp(-node * node / 2) for node in grid]

    def misread(judge: int, node: float) -> float:
        load = sqrt(shared) * (1.0 if judge < PANEL else witness_load(shared))
        return below((edge - load * node) / sqrt(1 - load * load))

    def likelihood(is_met: bool, cast: Votes) -> float:
        total = 0.0
        for node, share in zip(grid, weights, strict=True):
            for judge, yes in cast:
                wrong = misread(judge, node)
                share *= 1 - wrong if yes == is_met else wrong
            total += share
        return total

    for answers in product((False, True), repeat=3):
        cast = list(enumerate(answers))
        met, unmet = START_MET * likelihood(True, cast), (1 - START_MET) * likelihood(False, cast)
        found, _ = believed(model, model.start(), cast)
        assert found.met == pytest.approx(met / (met + unmet), abs=0.01)


def test_a_second_look_of_one_judge_says_less_than_another_judge() -> None:
    model = ItemModel(0.1, 0.2)
    same, _ = believed(model, model.start(), [(0, True), (0, True)])
    other, _ = believed(model, model.start(), [(0, True), (1, True)])
    assert same.met < other.met


def test_only_a_held_out_judge_tells_what_is_cosmetic() -> None:
    """After an edit that was given an unmet item: yes of the panel leaves the doubt, one of a
    held-out judge lessens it.
    """
    model = ItemModel(0.05, 0.2)
    unmet, _ = believed(model, model.start(), [(0, False), (1, False)])
    edited = model.edited(unmet, aimed=True)
    panel, _ = believed(model, edited, [(0, True), (1, True), (0, True)])
    witness, _ = believed(model, edited, [(0, True), (2, True), (2, True)])
    cosmetic = [sum(belief.weights[14:]) for belief in (panel, witness)]
    assert cosmetic[0] > 0.15 > 0.05 > cosmetic[1]
    assert 0 < LEAK < 1


@given(models, votes, st.booleans())
def test_what_a_rejected_version_showed_counts_for_its_base(
    model: ItemModel, cast: Votes, yes: bool
) -> None:
    """Without an answer nothing is learned; an answer moves the belief as it would have done there,
    but by less (but for what it says of the shared error).
    """
    base, _ = believed(model, model.start(), cast)
    version = model.edited(base, aimed=False)
    assert model.before(base, version).weights == pytest.approx(base.weights, abs=1e-9)
    seen, _ = model.seen(version, Looks(), held_out=False, yes=yes)
    direct, _ = model.seen(base, Looks(), held_out=False, yes=yes)
    found = model.before(base, seen)
    assert sum(found.weights) == pytest.approx(1)
    assert min(base.met, direct.met) - 0.03 <= found.met <= max(base.met, direct.met) + 0.03


def test_where_much_of_the_error_is_shared_held_out_judges_share_it() -> None:
    """Five judges that agree are then less sure to be right, and a held-out judge that agrees adds as
    much as one of the panel.
    """
    loads = {witness_load(shared) for shared in (0.1, SHARED[0])}
    assert loads == {WITNESS_LOAD} and witness_load(SHARED[1]) == 1.0
    agreed = [(judge, True) for judge in range(5)]
    little = ItemModel(0.15, SHARED[0])
    apart, _ = believed(little, little.start(), agreed)
    for shared in (ItemModel(0.15, SHARED[1]), CommonReading(0.15, SHARED[1])):
        by_all, _ = believed(shared, shared.start(), agreed)
        by_panel = shared.start()
        for _ in agreed:
            by_panel, _ = shared.seen(by_panel, Looks(), held_out=False, yes=True)
        assert by_all.met == pytest.approx(by_panel.met) and by_all.met < apart.met


def test_every_belief_has_one_declaration_of_what_held_out_judges_share() -> None:
    """A held-out judge that agrees says as little in `eval --holdout` and in a comparison."""
    yes, no = JudgeAnswers(1, 0), JudgeAnswers(0, 1)
    held_out = JudgeAnswers(1, 0, held_out=True)
    for model in ERROR_MODELS:
        as_panel = model.likelihood((yes, yes)) == model.likelihood((yes, held_out))
        assert as_panel is (model.shared >= SHARED[1])
        assert model.likelihood((no,)).met == pytest.approx(1 - model.likelihood((yes,)).met)


common_readings = st.builds(
    CommonReading,
    st.sampled_from([flip for flip, _ in FLIPS]),
    st.floats(0.2, 0.6),
    own=st.floats(0, 1),
)


@given(common_readings, votes)
def test_looks_that_repeat_a_common_reading_are_weighed_as_they_come_about(
    model: CommonReading, cast: Votes
) -> None:
    """Against the sum over every reading that all have in common and every one of a judge's own: a
    look repeats the one, the other, or reads anew.
    """

    def chance(is_wrong: bool) -> float:
        return model.flip if is_wrong else 1 - model.flip

    def likelihood(is_met: bool) -> float:
        judges = sorted({judge for judge, _ in cast})
        total = 0.0
        for of_all, *own in product((False, True), repeat=1 + len(judges)):
            share = chance(of_all)
            for judge, of_one in zip(judges, own, strict=True):
                share *= chance(of_one)
                rest = 1 - model.rho
                anew = model.own * of_one + (1 - model.own) * model.flip
                wrong = model.rho * of_all + rest * anew
                for who, yes in cast:
                    if who == judge:
                        share *= 1 - wrong if yes == is_met else wrong
            total += share
        return total

    met, unmet = START_MET * likelihood(True), (1 - START_MET) * likelihood(False)
    found, seen = believed(model, model.start(), cast)
    assert found.met == pytest.approx(met / (met + unmet), rel=1e-6, abs=1e-6)
    assert seen == pytest.approx(log(met + unmet), rel=1e-6, abs=1e-6)


def test_judges_that_contradict_each_other_half_of_the_time_share_a_misreading() -> None:
    """By looks that say yes in half of the cases an item is as likely met as not, however many there
    are; where no look says no, more of them make it surer.
    """
    model = CommonReading(0.15, SHARED[1], 0.5)
    split, _ = believed(model, model.start(), [(n % 3, n % 2 == 0) for n in range(12)])
    assert split.met == pytest.approx(0.5, abs=0.01)
    agreed = [
        believed(model, model.start(), [(n % 5, True) for n in range(looks)])[0].met
        for looks in (5, 10, 20)
    ]
    assert agreed == sorted(agreed) and agreed[0] > 0.95


def test_a_held_out_judge_that_looks_again_may_be_deceived_again() -> None:
    """Each of its looks says less than the one before about what was made to look met."""
    model = ItemModel(0.05, SHARED[0])
    deceived = [model.chances(Looks(looks), held_out=True, yes=True)[-1] for looks in range(4)]
    assert deceived[0] == LEAK
    assert deceived == sorted(deceived) and deceived[-1] < 1
    doubted = [model.chances(Looks(no=looks), held_out=True, yes=True)[-1] for looks in range(4)]
    assert doubted == sorted(doubted, reverse=True) and doubted[-1] > 0
