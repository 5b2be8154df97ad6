"""Judges measured against people: other people's libraries (`tools/oracles.py`), planted judges,
and properties.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.statistics.calibration import (
    Case,
    Opinion,
    Opinions,
    calibrate,
    corrected,
    effective_number,
    effective_votes,
    fit,
    reference_of,
    share_interval,
    shrunk_weights,
)

ORACLES: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "oracles/calibration.json").read_text()
)


def said(shares: Sequence[float], *, each: int = 1, bar: float = 0.5) -> dict[Case, Opinion]:
    """Opinions on one item after the other, `each` an artifact."""
    return {
        (f"a{at // each}", "c", f"i{at % each}"): Opinion(share, share > bar)
        for at, share in enumerate(shares)
    }


def mean_of(judges: Mapping[str, Opinions], names: Sequence[str]) -> dict[Case, Opinion]:
    """A panel that takes the mean, and needs more than half."""
    cases = judges[names[0]]
    means = {
        case: math.fsum(judges[name][case].share for name in names) / len(names) for case in cases
    }
    return {case: Opinion(mean, mean > 0.5) for case, mean in means.items()}


def measured(people: Sequence[float], **judges: Sequence[float]) -> Any:
    theirs, ours = said(people), {name: said(shares) for name, shares in judges.items()}
    return calibrate({"p": theirs}, theirs, ours, lambda names: mean_of(ours, names))


@pytest.mark.parametrize("theirs", ORACLES)
def test_the_figures_of_other_libraries(theirs: dict[str, Any]) -> None:
    """scikit-learn, krippendorff, statsmodels (Clopper-Pearson), scipy (Student's t), numpy."""
    ours = fit(said(theirs["people"]), said(theirs["judge"]))
    for name in ("kappa", "alpha", "tpr", "tnr", "bias"):
        value, (low, high) = getattr(ours, name)
        assert math.isclose(value, theirs[name], rel_tol=1e-9, abs_tol=1e-9), name
        assert low - 1e-9 <= value <= high + 1e-9, name
    for name in ("tpr", "tnr", "bias"):
        expected = [max(-100, min(100, end)) for end in theirs[f"{name}_interval"]]
        assert getattr(ours, name).interval == pytest.approx(expected, abs=1e-8), name
    assert effective_votes(theirs["errors"]) == pytest.approx(min(3, theirs["effective_votes"]))


HALF = [1.0, 0.0] * 20


def test_planted_judges_are_told_apart() -> None:
    """One like the people, one that passes everything, one that is wrong on two of ten bad
    artifacts, one that fails all.
    """
    some = [1.0 if at % 20 == 1 else one for at, one in enumerate(HALF)]
    found = measured(HALF, good=HALF, kind=[1.0] * 40, some=some, harsh=[0.0] * 40)
    good, kind, some_, harsh = found.judges
    assert [one.overall.lenient for one in found.judges] == [False, True, False, False]
    assert (good.overall.kappa.value, kind.overall.kappa.value, harsh.overall.kappa.value) == (
        1,
        0,
        0,
    )
    assert (
        kind.overall.tpr.value,
        kind.overall.tnr.value,
        kind.overall.bias.value,
        harsh.overall.bias.value,
    ) == (
        1,
        0,
        50,
        -50,
    )
    assert (
        found.panel.best == "good"
        and found.panel.drop == ("kind", "harsh")
        and found.panel.votes == 4
    )
    assert good.weight > some_.weight > kind.weight == harsh.weight > 0
    assert math.isclose(sum(one.weight for one in found.judges), 1)
    assert found.base_rate == 0.5 and found.ceiling is None and found.units == 40
    assert some_.corrected.observed == 0.55 and some_.corrected.rogan_gladen == pytest.approx(0.5)
    assert kind.corrected.rogan_gladen is None and kind.corrected.ppi == pytest.approx(0.5)


def test_who_spoils_the_panel_is_dropped() -> None:
    """A judge above chance without which the panel agrees more, for sure; one error less is no
    reason.
    """
    spoiled = [1.0 if at % 6 == 1 else one for at, one in enumerate(HALF)]
    found = measured(HALF, a=HALF, b=spoiled, c=spoiled)
    assert (
        found.panel.drop == ("b", "c")
        and found.panel.overall.kappa.value < found.judges[0].overall.kappa.value == 1
    )
    once = [1.0 if at == 1 else one for at, one in enumerate(HALF)]
    assert measured(HALF, a=once, b=once, c=HALF).panel.drop == ()


def test_copies_are_one_vote() -> None:
    """And judges who never err say nothing of how errors go together."""
    noisy = [1 - one if at % 5 == 0 else one for at, one in enumerate(HALF)]
    assert measured(HALF, a=noisy, b=noisy, c=noisy).panel.effective_votes == pytest.approx(1)
    assert measured(HALF, a=HALF, b=HALF).panel.effective_votes is None
    assert measured(HALF, a=noisy).panel.effective_votes == 1
    assert measured(HALF, a=noisy, b=HALF).panel.effective_votes == 2


def test_what_is_not_there_is_none() -> None:
    """Never a number: no unmet answer, one artifact, nothing in common, nobody answered."""
    found = fit(said([1.0, 1.0]), said([1.0, 0.0]))
    assert (
        found.tnr.value is None
        and found.tnr.interval is None
        and found.tpr.value == 0.5
        and found.kappa.value == 0
    )
    alike = fit(said([1.0, 1.0]), said([1.0, 1.0]))
    assert (
        alike.kappa.value is None
        and alike.kappa.interval is None
        and alike.alpha.value is None
        and alike.lenient is False
    )
    one = fit(said([0.0]), said([1.0]))
    assert one.bias.value == 100 and one.bias.interval is None and one.lenient is False
    none = fit(said([1.0]), {})
    assert none.units == 0 and none.lenient is None and none.kappa.value is None
    silent = calibrate({"p": said([1.0])}, said([1.0]), {"j": {}}, lambda names: {})
    assert (
        silent.panel.votes == 0
        and silent.panel.effective_votes is None
        and silent.panel.best is None
    )
    assert silent.judges[0].corrected.observed is None and silent.judges[0].weight == 1


def test_one_false_pass_does_not_make_a_judge_lenient() -> None:
    """The exact interval of one of one begins below 10%."""
    assert fit(said([0.0, 1.0]), said([1.0, 1.0])).lenient is False
    assert fit(said([0.0] * 4 + [1.0]), said([1.0] * 5)).lenient is True


def test_a_bias_without_false_passes_is_lenient() -> None:
    """On a scale: nine points more everywhere, and never over the bar."""
    people = said([0.2, 0.3, 0.25, 0.1, 0.35, 0.2])
    judge = said([0.3, 0.38, 0.35, 0.19, 0.43, 0.29])
    found = fit(people, judge)
    assert found.tnr.value == 1 and found.bias.value == pytest.approx(9) and found.lenient is True


def test_people_come_to_a_majority() -> None:
    """Equal numbers of yes and no leave it open; on a scale the mean counts."""
    assert reference_of([1, 0], None) == Opinion(0.5, None)
    assert reference_of([1, 0, 1], None).met is True and reference_of([0], None).met is False
    assert reference_of([0.6, 0.8], 0.7) == Opinion(0.7, True)


def test_the_human_ceiling_is_the_mean_of_pairs() -> None:
    """Of those who labelled the same."""
    first, second = said(HALF), said([0.0, *HALF[1:]])
    third = {("b", "c", "i"): Opinion(1.0, True)}
    people = {"first": first, "second": second, "third": third}
    found = calibrate(people, {**first, **third}, {"j": first}, lambda names: first)
    assert found.ceiling is not None and found.ceiling.kappa == pytest.approx(0.95)
    assert found.ceiling.agreement == pytest.approx(39 / 40)
    apart = calibrate({"first": first, "third": third}, first, {"j": first}, lambda names: first)
    assert (
        apart.ceiling is not None
        and apart.ceiling.kappa is None
        and apart.ceiling.agreement is None
    )


def test_answers_about_one_artifact_tell_less() -> None:
    """Wrong on all items of an artifact or on none: the artifacts count, not the items."""
    shares = [float(at // 5 % 2) for at in range(40)]
    clustered, apart = (
        fit(said([1.0] * 40, each=5), said(shares, each=5)),
        fit(said([1.0] * 40), said(shares)),
    )
    assert (
        clustered.tpr.value == apart.tpr.value
        and clustered.tpr.interval is not None
        and apart.tpr.interval is not None
    )
    assert (
        clustered.tpr.interval[0] < apart.tpr.interval[0]
        and apart.tpr.interval[1] < clustered.tpr.interval[1]
    )
    assert effective_number([("a", 1.0), ("a", 1.0), ("b", 0.0), ("b", 0.0)]) == 2


SHARES = st.lists(
    st.tuples(st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), max_size=25
)


@given(pairs=SHARES, each=st.integers(1, 4))
def test_figures_keep_their_bounds(pairs: list[tuple[float, float]], each: int) -> None:
    """Each is in its interval, and the interval is in its range; never NaN."""
    found = fit(said([a for a, _ in pairs], each=each), said([b for _, b in pairs], each=each))
    ranges = {"kappa": (-1, 1), "alpha": (-1, 1), "tpr": (0, 1), "tnr": (0, 1), "bias": (-100, 100)}
    for name, (least, most) in ranges.items():
        value, interval = getattr(found, name)
        if interval is None:
            assert value is None or name == "bias"
            continue
        assert (
            least - 1e-9 <= interval[0] <= value + 1e-9
            and value - 1e-9 <= interval[1] <= most + 1e-9
        ), name


@given(
    errors=st.lists(
        st.lists(st.sampled_from([-1.0, 0.0, 0.3, 1.0]), min_size=3, max_size=3), max_size=12
    )
)
def test_effective_votes_are_from_one_to_all(errors: list[list[float]]) -> None:
    found = effective_votes(errors)
    assert found is None or 1 <= found <= 3


@given(pairs=SHARES, rest=st.lists(st.booleans(), max_size=10))
def test_corrected_rates_are_rates(pairs: list[tuple[float, float]], rest: list[bool]) -> None:
    people, judge = said([a for a, _ in pairs]), said([b for _, b in pairs])
    population = {
        **judge,
        **{("new", "c", str(at)): Opinion(float(one), one) for at, one in enumerate(rest)},
    }
    found = corrected(people, judge, population, fit(people, judge))
    for rate in (found.observed, found.rogan_gladen, found.ppi):
        assert rate is None or 0 <= rate <= 1
    assert (found.observed is None) == (not population)


@given(pairs=st.lists(SHARES, min_size=1, max_size=4))
def test_weights_sum_to_one(pairs: list[list[tuple[float, float]]]) -> None:
    fits = {
        str(at): fit(said([a for a, _ in one]), said([b for _, b in one]))
        for at, one in enumerate(pairs)
    }
    weights = shrunk_weights(fits).values()
    assert math.isclose(math.fsum(weights), 1) and min(weights) >= 0


@given(n=st.integers(1, 60), part=st.floats(0, 1))
def test_the_interval_of_a_share_mirrors(n: int, part: float) -> None:
    hits = round(part * n)
    low, high = share_interval(hits, n)
    other = share_interval(n - hits, n)
    assert 0 <= low <= hits / n <= high <= 1 and other == pytest.approx(
        (1 - high, 1 - low), abs=1e-9
    )
