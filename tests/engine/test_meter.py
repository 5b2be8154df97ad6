"""The meter: every call is granted once, limits hold over all processes of a run, unknown prices
are no zeros.
"""

from __future__ import annotations

import engine_world as world
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.judging.spend import Spend, spend_from_plain
from honestone.ports import Usage

counts = st.integers(0, 1000)
prices = st.none() | st.floats(0.001, 100)
spends = st.builds(
    Spend,
    judge_calls=counts,
    cached_calls=counts,
    worker_calls=counts,
    target_calls=counts,
    input_tokens=counts,
    output_tokens=counts,
    cached_tokens=counts,
    usd=prices,
)


@given(st.integers(0, 20), st.integers(0, 20), st.integers(1, 30))
def test_as_many_calls_as_the_limit_leaves(limit: int, before: int, asked: int) -> None:
    """What earlier processes of the run used counts; a refusal takes nothing."""
    meter = world.meter(limit, before=Spend(judge_calls=before))
    granted = [meter.refuse_call() is None for _ in range(asked)]
    left = max(limit - before, 0)
    assert granted == [n < left for n in range(asked)]


def test_a_refusal_names_its_option() -> None:
    """So that the person knows what to raise."""
    assert "--max-calls 3" in str(world.meter(3, before=Spend(judge_calls=3)).refuse_call())
    assert "--max-minutes 5" in str(world.meter(3, minutes=5, seconds_before=300.0).refuse_call())
    assert "--max-usd 2" in str(world.meter(3, usd=2.0, before=Spend(usd=2.0)).refuse_call())


def test_time_is_counted_over_all_processes_and_not_between_them() -> None:
    """Only what was worked."""
    clock = world.Clock()
    meter = world.meter(clock=clock, minutes=10, seconds_before=500.0)
    assert meter.seconds == 500.0 and meter.exhausted() is None
    clock.now += 99.5
    assert meter.seconds == 599.5 and meter.exhausted() is None
    clock.now += 0.5
    assert meter.exhausted() is not None, "a limit that is reached is used up"


def test_money_is_counted_over_all_processes() -> None:
    """What this process spent comes on top of what was spent before."""
    meter = world.meter(usd=1.0, before=Spend(usd=0.6))
    meter.counted(Spend(usd=0.3))
    assert meter.exhausted() is None
    meter.spent.add(Usage(usd=0.1))
    assert meter.exhausted() is not None


def test_without_a_limit_of_money_prices_stop_nothing() -> None:
    """And an unknown price is no price of 0: it stays unknown."""
    meter = world.meter()
    meter.counted(Spend(usd=10_000.0))
    assert meter.exhausted() is None
    assert world.meter().spent.usd is None


@given(spends, spends)
def test_spends_add_up(one: Spend, other: Spend) -> None:
    """Field by field; a price is unknown only when both are."""
    total = spend_from_plain(one.to_plain())
    total.join(other)
    for name in (
        "judge_calls",
        "cached_calls",
        "worker_calls",
        "target_calls",
        "input_tokens",
        "output_tokens",
        "cached_tokens",
    ):
        assert getattr(total, name) == getattr(one, name) + getattr(other, name)
    known = [price for price in (one.usd, other.usd) if price is not None]
    assert total.usd == (pytest.approx(sum(known)) if known else None)


@given(spends)
def test_a_spend_comes_back_from_its_record(spend: Spend) -> None:
    """What is 0 is left out of events and read back as 0."""
    plain = spend.to_plain()
    assert all(plain.values()) and spend_from_plain(plain) == spend
    assert spend_from_plain(None) == Spend()


@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 100), st.none() | st.integers(0, 100), prices),
        max_size=6,
    )
)
def test_usage_adds_what_is_known(told: list[tuple[int | None, int | None, float | None]]) -> None:
    """Tokens that were not told count nothing, and no price makes no total."""
    spend = Spend()
    for tokens_in, tokens_out, usd in told:
        spend.add(Usage(input_tokens=tokens_in, output_tokens=tokens_out, usd=usd))
    assert spend.input_tokens == sum(t[0] or 0 for t in told) and spend.output_tokens == sum(
        t[1] or 0 for t in told
    )
    assert (spend.usd is None) == all(t[2] is None for t in told)
