"""Any world that the command takes can be run with any policy: limits hold, and nothing is counted
twice.
"""

from __future__ import annotations

import msgspec
import pytest
from driver import OBSERVERS, Cell, Settings
from figures import figures_of
from hypothesis import given, settings
from hypothesis import strategies as st
from worlds import World, made_world

from honestone.core.loop.named import POLICIES
from property_examples import examples

# Whole loops in simulated worlds, several of each.
pytestmark = pytest.mark.slow

shares = st.sampled_from([0.0, 0.03, 0.25, 0.5, 0.9, 1.0])
WORLDS = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["score", "checklist"]),
        "C": st.sampled_from([1, 2, 5, 7]),
        "M": st.sampled_from([1, 2, 6]),
        "T": st.sampled_from([0, 50, 70.5, 100]),
        "floor": st.sampled_from([0, 60, 100]),
        "start_mu": st.sampled_from([0, 40, 95]),
        "start_sd": st.sampled_from([0, 30]),
        "panel": st.sampled_from([1, 2, 4]),
        "holdout": st.sampled_from([0, 1, 3]),
        "sd": st.sampled_from([0, 3.5, 40]),
        "lenient": st.sampled_from([-20, 5]),
        "gain": st.sampled_from([0, 60]),
        "gain_sd": st.sampled_from([0, 6]),
        "coll_mult_all": st.sampled_from([0, 3]),
        "trade_off": st.sampled_from([0.5, 2]),
        **dict.fromkeys(
            (
                *(
                    "start_met",
                    "flip",
                    "flip_no",
                    "rho",
                    "tau",
                    "rho_h",
                    "keep_err",
                    "judge_fails",
                    "p_help",
                ),
                *(
                    "p_harm",
                    "p_coll",
                    "p_coll_help",
                    "p_game",
                    "game_leak",
                    "p_cata",
                    "p_fix",
                    "p_break",
                    "dilute",
                ),
            ),
            shares,
        ),
    },
)


@settings(max_examples=examples(40), deadline=None)
@given(
    WORLDS,
    st.sampled_from([*POLICIES, *OBSERVERS]),
    st.integers(0, 10**9),
    st.sampled_from([1, 4, 13, 30]),
)
def test_any_world_can_be_run(
    parameters: dict[str, object], policy: str, seed: int, calls: int
) -> None:
    world = made_world(parameters, "world.json")
    cell = Cell.of(world, Settings(policy=policy, max_calls=calls))
    outcomes = [cell.run(seed, number) for number in range(2)]
    for one in outcomes:
        assert one.judge_calls <= calls and one.holdout_calls <= one.judge_calls
        assert one.worker_calls == one.rounds <= cell.settings.limits.rounds
        assert 0 <= one.final <= 100 and (one.stated is None or 0 <= one.stated <= 1)
    found = figures_of(outcomes, world=world, policy=policy, seed=seed, seconds=0.0)
    assert sum(found.results.values()) == 2
    assert msgspec.json.decode(msgspec.json.encode(found))["world"]["mode"] == world.mode
    if policy != "oracle" and not world.holdout:
        assert "PASSED" not in found.results
    assert outcomes == [cell.run(seed, number) for number in range(2)]


@pytest.mark.parametrize("policy", [*POLICIES, *OBSERVERS])
def test_runs_do_not_depend_on_those_before_them(policy: str) -> None:
    """So that runs can be spread over processes."""
    cell = Cell.of(World(mode="checklist", rho=0.5), Settings(policy=policy))
    in_order = [cell.run(3, number) for number in range(4)]
    assert [cell.run(3, number) for number in (3, 2, 1, 0)] == in_order[::-1]
