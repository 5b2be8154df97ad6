"""The bench of what `--sure` states: its worlds are the same each time, and it can say no."""

from __future__ import annotations

import pytest
from box_loops import LOOP_WORLDS, LoopWorld, SimulatedText, driven
from box_worlds import WORLDS, Judges, World
from boxes import Stated, by_bin, run, run_loop

from honestone.core.loop.state import Result

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


NO_ERRORS = World("no errors", (0.0, 0.0))


def test_a_loop_is_the_same_each_time_and_its_limits_hold() -> None:
    """What is drawn depends on the seed alone."""
    world = LOOP_WORLDS[-2]
    first = run_loop(world, 3)
    assert run_loop(world, 3) == first and first.looks <= 30


def test_what_only_looks_met_deceives_the_panel_and_held_out_judges_seldom() -> None:
    """An edit that always fakes and judges without errors: the panel says yes to what is not met."""
    text = SimulatedText(LoopWorld("fakes", NO_ERRORS, fakes=(1.0, 1.0)), 1)
    version = text.edit(0, (), text.keys)
    truth = [item.is_met for item in text._versions[version]]

    def answers(judge: str) -> list[bool]:
        return [mark.answer is True for mark in text.ballot(judge, version).marks.values()]

    assert not all(truth) and all(answers("p0")) and not all(answers("h0") + answers("h1"))


@pytest.mark.slow
def test_judges_without_errors_pass_nothing_that_is_not_so() -> None:
    drives = [driven(LoopWorld("sure", NO_ERRORS), seed) for seed in range(12)]
    outcomes = [drive.outcome() for drive in drives]
    assert any(one.result is Result.PASSED for one in outcomes)
    assert all(one.is_good for one in outcomes if one.result is Result.PASSED)
