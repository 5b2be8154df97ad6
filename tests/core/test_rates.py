"""Rates: how many calls fit into a window, whoever makes them and whenever they come, and which
tables share an account.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.record.rates import BURST, rates_of, tokens_of, wait_of


@given(
    per_minute=st.floats(1, 6000),
    gaps=st.lists(st.floats(0, 2), min_size=1, max_size=200),
    window=st.floats(1, 30),
)
def test_no_window_has_more_than_its_share(
    per_minute: float, gaps: list[float], window: float
) -> None:
    """Calls that come at any times are made when their slots begin: in every window as many as the
    rate allows, and one second's worth.
    """
    taken, now, end = 60 / per_minute, 0.0, 0.0
    made = []
    for gap in gaps:
        now += gap
        ahead = max(0.0, end - now)
        end = max(end, now) + taken
        made.append(now + wait_of(ahead, taken))
    most = (window + BURST) / taken + 1
    for start in made:
        assert sum(1 for one in made if start <= one < start + window) <= most + 1e-6


@given(taken=st.floats(0, 100), ahead=st.floats(0, 100))
def test_a_call_never_waits_longer_than_for_its_slot(taken: float, ahead: float) -> None:
    """And not at all at an empty line."""
    assert 0 <= wait_of(ahead, taken) <= ahead
    assert wait_of(0, taken) == 0


def test_what_tables_share() -> None:
    """An account of their own, else provider, address and key variable; without a rate there is no
    account.
    """
    table = {
        "provider": "openai",
        "base_url": "http://h/v1",
        "api_key_env": "K",
        "requests_per_minute": 60,
    }
    one, other = (
        rates_of({**table, "model": "a"}),
        rates_of({**table, "model": "b", "tokens_per_minute": 600}),
    )
    assert one is not None and other is not None
    assert one.account == other.account
    assert one.lines(10) == {f"{one.account} requests": 1.0}
    assert other.lines(10)[f"{one.account} tokens"] == 1.0
    named = rates_of({**table, "account": "team"})
    assert named is not None and named.account == "team"
    different = rates_of({**table, "api_key_env": "L"})
    assert different is not None and different.account != one.account
    assert rates_of({"provider": "openai"}) is None and rates_of(None) is None


@given(text=st.text(max_size=400))
def test_every_prompt_has_a_token(text: str) -> None:
    """An estimate is never 0: a call takes something."""
    assert 1 <= tokens_of(text) <= len(text) + 1
