"""Several raters: their orders, what is drawn, and how far they agree."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.ballot import Answer
from honestone.core.judging.rubric import Anchors, Criterion, Item
from honestone.core.numbers import exact
from honestone.core.statistics.agreement import Level, alphas
from honestone.core.statistics.labels import LabelTarget
from honestone.core.statistics.raters import Place, agreement_of, is_through, order_of, sample

NAMES = st.lists(st.text(max_size=5), unique=True, max_size=12)


def target(item: Item) -> LabelTarget:
    return LabelTarget(
        criterion=Criterion(id="c", requirement="c", weight=exact(1), items=(item,)), item=item
    )


YES_NO = target(Item(id="i", requirement="is it so", may_not_apply=True))
SCALE = target(
    Item(
        id="i",
        requirement="how much",
        anchors=Anchors(levels=((exact(0), "no"), (exact(10), "much"))),
    )
)


@given(names=NAMES, rater=st.text(max_size=5))
def test_an_order_has_every_text_once_and_is_always_the_same(names: list[str], rater: str) -> None:
    found = order_of(names, rater)
    assert sorted(found) == list(range(len(names))) and found == order_of(names, rater)


def test_raters_have_orders_of_their_own() -> None:
    names = [f"{number}.md" for number in range(10)]
    assert len({tuple(order_of(names, f"rater {number}")) for number in range(20)}) > 15


@given(names=NAMES, count=st.integers(1, 15), data=st.data())
def test_a_sample_takes_from_every_stratum_in_turn(
    names: list[str], count: int, data: st.DataObject
) -> None:
    """No stratum that has more to give is behind another by more than one."""
    strata = {name: data.draw(st.sampled_from("abc")) for name in names}
    found = sample(strata, count)
    assert len(found) == min(count, len(names)) == len(set(found))
    assert found == sample(dict(reversed(strata.items())), count)
    drawn, there = Counter(strata[name] for name in found), Counter(strata.values())
    for stratum, has in there.items():
        assert drawn[stratum] == has or drawn[stratum] >= max(drawn.values()) - 1


_SAID = st.lists(
    st.tuples(*[st.sampled_from([True, False, None, "n/a"])] * 3), min_size=1, max_size=8
)


@given(rows=_SAID)
def test_agreement_counts_what_two_answered(rows: list[tuple[Answer | None, ...]]) -> None:
    places: list[Place] = [(f"{number}.md", ("c", "i")) for number in range(len(rows))]
    said = {
        f"r{at}": {place: row[at] for place, row in zip(places, rows, strict=True)}
        for at in range(3)
    }
    found = agreement_of(dict.fromkeys(places, YES_NO), said)
    answers = [[one for one in row if one is not None] for row in rows]
    both = [one for one in answers if len(one) > 1]
    assert found.compared == len(both)
    assert found.agreed == sum(len(set(one)) == 1 for one in both)
    assert len(found.differences) == found.compared - found.agreed
    if found.interval is not None:
        assert found.alpha is not None and found.interval[0] <= found.alpha + 1e-9
        assert -1 <= found.interval[0] <= found.interval[1] <= 1


def test_alpha_is_that_of_agreement() -> None:
    """Krippendorff's, of the shares; a scale counts by distance."""
    values = [(0, 0), (10, 8), (5, 6), (2, 2), (9, 10)]
    places: list[Place] = [(f"{number}.md", ("c", "i")) for number in range(len(values))]
    said = {
        f"r{at}": {place: row[at] for place, row in zip(places, values, strict=True)}
        for at in (0, 1)
    }
    found = agreement_of(dict.fromkeys(places, SCALE), said)
    assert found.alpha == pytest.approx(
        alphas([(a / 10, b / 10) for a, b in values])[Level.INTERVAL]
    )
    assert (found.agreed, found.compared) == (2, 5) and found.interval is not None


def test_nothing_that_varies_has_no_alpha() -> None:
    place: Place = ("a.md", ("c", "i"))
    found = agreement_of({place: YES_NO}, {"a": {place: True}, "b": {place: True}})
    assert (found.agreed, found.compared, found.alpha, found.interval) == (1, 1, None, None)
    assert is_through({place: None}, [place]) and not is_through({}, [place])
