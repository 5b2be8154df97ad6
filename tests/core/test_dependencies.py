"""Cases that wait for others: wrong names, circles, and the order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.suite.dependencies import in_order, wrong_dependencies


@given(st.data(), st.integers(1, 8))
def test_each_case_comes_after_those_it_waits_for(data: st.DataObject, size: int) -> None:
    """Of any graph without a circle, also where only some cases are run; those that wait for none
    keep their order.
    """
    ids = [f"c{number}" for number in range(size)]
    waits = {
        id: data.draw(st.lists(st.sampled_from(ids[:at]), unique=True)) if at else []
        for at, id in enumerate(ids)
    }
    assert not list(wrong_dependencies(waits))
    given_ = data.draw(
        st.permutations(ids).flatmap(
            lambda order: st.integers(1, size).map(lambda most: order[:most])
        )
    )
    found = in_order(waits, given_)
    assert sorted(found) == sorted(given_)
    assert all(
        found.index(other) < found.index(id)
        for id in found
        for other in waits[id]
        if other in found
    )
    if not any(other in given_ for id in given_ for other in waits[id]):
        assert found == given_


@pytest.mark.parametrize(
    ("waits", "why"),
    [
        ({"a": ["b"]}, "it depends on `b`, but the suite has no such case"),
        ({"a": ["a"]}, "these cases wait for one another: `a`"),
        ({"a": ["b"], "b": ["c"], "c": ["a"]}, "these cases wait for one another: "),
    ],
)
def test_what_cannot_be_waited_for_is_named(waits: dict[str, list[str]], why: str) -> None:
    """A name that is not there, a case that waits for itself, and a circle."""
    ((_, found),) = wrong_dependencies(waits)
    assert found.startswith(why)
