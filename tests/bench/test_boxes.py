"""The bench of what `--sure` states: its worlds are the same each time, and it can say no."""

from __future__ import annotations

import pytest
from box_worlds import WORLDS, Judges, World
from boxes import Stated, by_bin, run

MISLED = World("misled", (0.4, 0.4), (1.0, 1.0), lenient=2.0, shared=1.0)


@pytest.mark.parametrize("world", WORLDS, ids=lambda one: one.name)
def test_a_run_is_the_same_each_time(world: World) -> None:
    """What is drawn depends on the seed alone."""
    assert [run(world, seed) for seed in range(5)] == [run(world, seed) for seed in range(5)]


def test_an_error_that_stays_is_made_again() -> None:
    """A judge of that world answers the same however often it is asked."""
    world = next(one for one in WORLDS if one.stays == (1.0, 1.0))
    judges = Judges(world, world.text(3), 3)
    assert len({tuple(judges.look("j0", number)) for number in range(1, 9)}) == 1


@pytest.mark.slow
def test_what_is_stated_is_so_in_the_worlds_without_shared_errors() -> None:
    """In each bin, of all these worlds together, by 60 runs of each."""
    worlds = [one for one in WORLDS if not one.shared]
    bins = by_bin(run(world, seed) for world in worlds for seed in range(60))
    assert all(one is not None and one.holds for one in bins)


def test_judges_that_mislead_together_are_found_out() -> None:
    """Where all judges misread alike and often, what is stated is not so, and the bench says it."""
    bins = by_bin(run(MISLED, seed) for seed in range(200))
    assert not all(one is None or one.holds for one in bins)


@pytest.mark.parametrize(("so", "holds"), [(0.96, True), (0.91, True), (0.85, False)])
def test_a_bin_holds_up_to_five_points(so: float, holds: bool) -> None:
    """And two standard errors, which are small for many runs."""
    assert Stated(count=10_000, stated=0.95, so=so).holds is holds
