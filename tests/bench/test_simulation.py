"""The simulated judges and worker are what their world says: shares, correlations and gains, on
fixed seeds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from math import sqrt
from statistics import NormalDist, correlation, fmean, stdev
from typing import Any

import pytest
from simulation import Simulation
from worlds import World

from honestone.core.judging.ballot import JudgeState

MANY = 500


def simulations(count: int = MANY, seed: int = 11, **given: Any) -> Iterator[Simulation]:
    world = World(**given)
    rubric = world.rubric()
    return (Simulation(world, rubric, seed=seed, run=run) for run in range(count))


def readings(one: Simulation, judge: str, version: int = 0, look: int = 0) -> list[float]:
    return [float(mark.answer) for mark in one.ballot(judge, version, look).marks.values()]


def errors(one: Simulation, judge: str, version: int = 0, look: int = 0) -> list[float]:
    true = one.versions[version].true
    return [
        reading - is_so
        for reading, is_so in zip(readings(one, judge, version, look), true, strict=True)
    ]


# -- judges


def test_an_error_has_the_spread_of_its_world_and_no_bias() -> None:
    """Far from both ends of the scale, where nothing is cut."""
    found = [
        e for one in simulations(start_mu=50, start_sd=3, sd=8) for e in errors(one, "panel-2")
    ]
    assert fmean(found) == pytest.approx(0, abs=0.5) and stdev(found) == pytest.approx(8, rel=0.05)


@pytest.mark.parametrize(
    ("rho", "tau", "rho_h"), [(0, 0.5, None), (0.5, 0.5, None), (0.5, 0.2, 0.4), (0.8, 1, 0)]
)
def test_errors_are_shared_as_much_as_the_world_says(
    rho: float, tau: float, rho_h: float | None
) -> None:
    """Two judges of the panel correlate by rho, two looks of one by rho + tau (1 - rho), the
    families by rho_h.
    """
    pairs: dict[str, tuple[list[float], list[float]]] = {
        name: ([], []) for name in ("panel", "looks", "families")
    }
    world = {"start_mu": 50, "start_sd": 3, "sd": 8, "rho": rho, "tau": tau, "rho_h": rho_h}
    for one in simulations(**world):
        first = errors(one, "panel-1")
        for name, other in (
            ("panel", errors(one, "panel-3")),
            ("looks", errors(one, "panel-1", look=1)),
            ("families", errors(one, "held-out-2")),
        ):
            pairs[name][0].extend(first)
            pairs[name][1].extend(other)
    expected = {
        "panel": rho,
        "looks": rho + tau * (1 - rho),
        "families": rho / 2 if rho_h is None else rho_h,
    }
    assert {name: correlation(*pair) for name, pair in pairs.items()} == pytest.approx(
        expected, abs=0.06
    )


@pytest.mark.parametrize(("flip", "flip_no"), [(0.1, None), (0.2, 0.05), (0, 1), (1, 0)])
def test_items_are_misread_as_often_as_the_world_says(flip: float, flip_no: float | None) -> None:
    wrong: dict[float, list[bool]] = {0.0: [], 1.0: []}
    for one in simulations(200, mode="checklist", flip=flip, flip_no=flip_no):
        for is_so, error in zip(one.versions[0].true, errors(one, "held-out-1"), strict=True):
            wrong[is_so].append(bool(error))
    assert fmean(wrong[0.0]) == pytest.approx(flip, abs=0.02)
    assert fmean(wrong[1.0]) == pytest.approx(flip if flip_no is None else flip_no, abs=0.02)


def test_a_shared_error_makes_judges_misread_the_same_items() -> None:
    """Both misread an item as often as two normal values of that correlation are both below the
    bar.
    """
    both = [
        bool(a) and bool(b)
        for one in simulations(mode="checklist", rho=0.5)
        for a, b in zip(errors(one, "panel-1"), errors(one, "panel-2"), strict=True)
    ]
    bar, normal = NormalDist().inv_cdf(0.1), NormalDist()
    grid = [normal.inv_cdf((step + 0.5) / 2000) for step in range(2000)]
    expected = fmean(normal.cdf((bar - sqrt(0.5) * z) / sqrt(0.5)) ** 2 for z in grid)
    assert fmean(both) == pytest.approx(expected, abs=0.006) and expected > 0.02


def test_the_same_look_says_the_same_and_another_does_not() -> None:
    (one,) = simulations(1)
    assert readings(one, "panel-1") == readings(one, "panel-1") != readings(one, "panel-1", look=1)
    assert readings(one, "panel-1") != readings(one, "panel-2")


def test_what_was_asked_before_does_not_matter() -> None:
    """The second run asks in another order, and of an edit that was made meanwhile."""
    (one,), (other,) = simulations(1), simulations(1)
    first = (
        readings(one, "panel-1"),
        readings(one, "panel-2"),
        one.scores(one.edit(0, ["criterion-1"], [])),
    )
    third = other.scores(other.edit(0, ["criterion-1"], []))
    assert (readings(other, "panel-1"), readings(other, "panel-2"), third) == first


def test_a_lenient_world_adds_points_for_every_judge() -> None:
    for judge in ("panel-1", "held-out-1"):
        found = [
            e
            for one in simulations(start_mu=50, start_sd=3, sd=4, lenient=5)
            for e in errors(one, judge)
        ]
        assert fmean(found) == pytest.approx(5, abs=0.3)


def test_judges_fail_as_often_as_the_world_says() -> None:
    ballots = [
        one.ballot("panel-1", 0, look)
        for one in simulations(200, judge_fails=0.2)
        for look in range(5)
    ]
    failed = [ballot for ballot in ballots if not ballot.marks]
    assert len(failed) / len(ballots) == pytest.approx(0.2, abs=0.04)
    assert {ballot.state for ballot in failed} == {JudgeState.DEGRADED}


def test_a_truthful_judge_is_always_right() -> None:
    world = World(mode="checklist", flip=0.4, rho=0.5, judge_fails=0.9)
    one = Simulation(world, world.rubric(), seed=1, run=1, is_truthful=True)
    assert not any(errors(one, "panel-1"))


# -- the worker


CALM = {"p_harm": 0, "p_game": 0, "p_cata": 0, "p_coll": 0, "p_coll_help": 0, "p_break": 0}


def gains(place: int, focus: tuple[str, ...] = ("criterion-1",), **given: Any) -> list[float]:
    """The true change of one criterion, in points."""
    found = []
    for one in simulations(**given):
        after = one.edit(0, focus, one.keys)
        found.append(one.scores(after)[place] - one.scores(0)[place])
    return found


def test_help_comes_as_often_and_as_much_as_the_world_says() -> None:
    """Where there is room: a criterion at 40 of 100."""
    found = gains(0, start_mu=40, start_sd=0, **CALM)
    helped = [gain for gain in found if gain]
    assert len(helped) / len(found) == pytest.approx(0.65, abs=0.06)
    assert fmean(helped) == pytest.approx(18, abs=1) and stdev(helped) == pytest.approx(6, abs=0.8)
    assert not any(gains(1, **CALM))


def test_a_gain_shrinks_with_the_room_that_is_left() -> None:
    found = [gain for gain in gains(0, start_mu=90, start_sd=0, **CALM) if gain]
    assert fmean(found) == pytest.approx(18 * 10 / 40, abs=0.3)


def test_harm_and_collateral_damage() -> None:
    """The criterion in focus loses 2 to 10 points, another one 3 to 12, as often as the world says."""
    harm = [gain for gain in gains(0, **{**CALM, "p_help": 0, "p_harm": 0.3}) if gain]
    assert len(harm) / MANY == pytest.approx(0.3, abs=0.06) and -10.1 < min(harm) < max(harm) < -1.9
    other = [gain for gain in gains(2, **{**CALM, "p_coll": 0.25}) if gain]
    assert (
        len(other) / MANY == pytest.approx(0.25, abs=0.06)
        and -12.1 < min(other) < max(other) < -2.9
    )


def test_an_accident_damages_everything() -> None:
    for one in simulations(50, **{**CALM, "p_cata": 1}):
        after = one.edit(0, ["criterion-2"], [])
        assert all(
            -30.1 < now - was < -7.9
            for was, now in zip(one.scores(0), one.scores(after), strict=True)
        )


def test_a_cosmetic_edit_pleases_the_panel_and_held_out_judges_less() -> None:
    """It looks 8 to 20 points better to the panel, to the others game_leak of that; the truth gains
    nothing.
    """
    seen: dict[str, list[float]] = {"panel-1": [], "held-out-1": []}
    for one in simulations(start_mu=50, start_sd=0, sd=0, **{**CALM, "p_game": 1}):
        after = one.edit(0, ["criterion-1"], [])
        assert -3.1 < one.scores(after)[0] - one.scores(0)[0] <= 0
        for judge, found in seen.items():
            found.append(errors(one, judge, after)[0])
    assert (
        fmean(seen["panel-1"]) == pytest.approx(14, abs=0.6)
        and 7.9 < min(seen["panel-1"]) < max(seen["panel-1"]) < 20.1
    )
    assert fmean(seen["held-out-1"]) == pytest.approx(0.3 * 14, abs=0.3)


def test_an_edit_of_everything_does_less_for_each() -> None:
    """Gains are diluted, and harm comes more often."""
    every = tuple(f"criterion-{number}" for number in range(1, 6))
    found = [gain for gain in gains(3, every, start_mu=40, start_sd=0, **CALM) if gain]
    assert fmean(found) == pytest.approx(0.5 * 18, abs=0.7)
    harmed = [gain for gain in gains(3, every, **{**CALM, "p_help": 0, "p_coll": 0.2}) if gain]
    assert len(harmed) / MANY == pytest.approx(0.4, abs=0.07)


def changed(before: list[float], after: list[float], *, was: float, at: range) -> list[bool]:
    return [after[place] != was for place in at if before[place] == was]


def test_items_are_fixed_when_they_are_listed_and_break_anywhere() -> None:
    """Listed unmet items of the focus with p_fix, others of the focus seldom, none elsewhere; met
    ones break everywhere.
    """
    fixed: dict[str, list[bool]] = {"listed": [], "not listed": [], "elsewhere": []}
    broken: list[bool] = []
    for one in simulations(mode="checklist", **{**CALM, "p_break": 0.05}):
        listed = [key for key in one.keys if key[1] in ("item-1", "item-2", "item-3")]
        before, after = (
            one.versions[0].true,
            one.versions[one.edit(0, ["criterion-1"], listed)].true,
        )
        fixed["listed"] += changed(before, after, was=0, at=range(3))
        fixed["not listed"] += changed(before, after, was=0, at=range(3, 6))
        fixed["elsewhere"] += changed(before, after, was=0, at=range(6, 30))
        broken += changed(before, after, was=1, at=range(30))
    assert fmean(fixed["listed"]) == pytest.approx(0.6, abs=0.06)
    assert fmean(fixed["not listed"]) == pytest.approx(0.1, abs=0.05)
    assert not any(fixed["elsewhere"])
    assert fmean(broken) == pytest.approx(0.05, abs=0.01)


def test_an_item_that_only_looks_met() -> None:
    """To the panel always; to a held-out judge in the share game_leak of looks. The truth stays
    unmet.
    """
    seen: dict[str, list[float]] = {"panel-1": [], "held-out-1": []}
    for one in simulations(
        200, mode="checklist", flip=0, game_leak=0.4, **{**CALM, "p_fix": 0, "p_game": 1}
    ):
        after = one.edit(0, ["criterion-1"], one.keys)
        unmet = [place for place in range(6) if not one.versions[0].true[place]]
        assert not any(one.versions[after].true[place] for place in unmet)
        for judge, found in seen.items():
            read = readings(one, judge, after)
            found += [read[place] for place in unmet]
    assert all(seen["panel-1"]) and fmean(seen["held-out-1"]) == pytest.approx(0.4, abs=0.06)


def test_an_accident_breaks_a_third_of_a_checklist_and_fixes_nothing() -> None:
    broken: list[bool] = []
    for one in simulations(200, mode="checklist", **{**CALM, "p_cata": 1, "p_fix": 1}):
        before, after = (
            one.versions[0].true,
            one.versions[one.edit(0, ["criterion-1"], one.keys)].true,
        )
        broken += changed(before, after, was=1, at=range(30))
        assert not any(changed(before, after, was=0, at=range(30)))
    assert fmean(broken) == pytest.approx(0.35, abs=0.03)


def test_an_edit_draws_the_errors_again_of_what_it_touched() -> None:
    """With correlation keep_err there, and not at all elsewhere."""
    kept: tuple[list[float], list[float]] = ([], [])
    for one in simulations(**CALM, start_sd=0):
        after = one.versions[one.edit(0, ["criterion-1"], [])]
        before = one.versions[0]
        assert before.shared[1:] == after.shared[1:] and before.own[4][1:] == after.own[4][1:]
        kept[0].extend((before.shared[0], *(own[0] for own in before.own)))
        kept[1].extend((after.shared[0], *(own[0] for own in after.own)))
    assert correlation(*kept) == pytest.approx(0.6, abs=0.04)
    assert stdev(kept[1]) == pytest.approx(1, abs=0.04)


# -- trade-off


def test_what_one_criterion_gains_the_other_pays() -> None:
    """Between the first two only, in both directions."""
    for focus, other in ((0, 1), (1, 0)):
        for one in simulations(100, start_mu=40, start_sd=0, trade_off=0.5, **CALM):
            after = one.edit(0, [f"criterion-{focus + 1}"], [])
            moved = [now - was for was, now in zip(one.scores(0), one.scores(after), strict=True)]
            assert moved[other] == pytest.approx(-0.5 * moved[focus], abs=0.11) and not any(
                moved[2:]
            )
    for one in simulations(50, trade_off=0.5, **CALM):
        after = one.edit(0, ["criterion-3"], [])
        assert one.scores(after)[:2] == one.scores(0)[:2]


def test_items_that_are_fixed_break_others_across_the_trade() -> None:
    fixed = broken = 0
    for one in simulations(mode="checklist", trade_off=0.5, **CALM):
        before, after = (
            one.versions[0].true,
            one.versions[one.edit(0, ["criterion-2"], one.keys)].true,
        )
        fixed += sum(changed(before, after, was=0, at=range(6, 12)))
        broken += sum(changed(before, after, was=1, at=range(6)))
        assert before[12:] == after[12:]
    assert broken / fixed == pytest.approx(0.5, abs=0.08)


# -- the truth


def test_the_contract_is_the_threshold_and_every_floor() -> None:
    (one,) = simulations(1)
    quality = one.versions[0]
    for scores, is_good in (
        ([70.0] * 5, True),
        ([69.9, *[70.0] * 4], False),
        ([60.0, *[72.5] * 4], True),
        ([59.9, *[90.0] * 4], False),
    ):
        quality.true[:] = scores
        assert one.meets_contract(0) is is_good


def test_a_run_starts_where_every_policy_starts() -> None:
    """Runs differ, seeds differ, and the start does not depend on anything else."""
    starts = [one.scores(0) for one in simulations(20)]
    assert starts == [one.scores(0) for one in simulations(20)]
    assert all(one != other for one, other in pairwise(starts))
    assert starts != [one.scores(0) for one in simulations(20, seed=12)]
    met = fmean(score for one in simulations(mode="checklist") for score in one.scores(0))
    assert met == pytest.approx(56, abs=1.5)
