"""Samples by strata: sizes add up, and no stratum is lost while there is room."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.suite.sampling import shares, stratified

SIZES = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=2), st.integers(1, 30), min_size=1, max_size=8
)


@given(SIZES, st.integers(1, 250))
def test_shares_add_up_and_leave_none_out(sizes: dict[str, int], count: int) -> None:
    taken = shares(sizes, count)
    assert sum(taken.values()) == min(count, sum(sizes.values()))
    assert all(0 <= taken[name] <= sizes[name] for name in sizes)
    if count >= len(sizes):
        assert all(taken.values())


@given(
    st.lists(st.sampled_from("xyz"), min_size=1, max_size=40), st.integers(1, 40), st.integers(0, 9)
)
def test_a_sample_is_the_same_each_time(strata: list[str], count: int, seed: int) -> None:
    names = [f"trace {number}" for number in range(len(strata))]
    chosen = stratified(names, strata, count, seed=seed)
    assert chosen == sorted(set(chosen)) == stratified(names, strata, count, seed=seed)
    assert len(chosen) == min(count, len(strata))
