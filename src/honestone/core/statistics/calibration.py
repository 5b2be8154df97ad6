"""How far judges agree with people who labelled the same items.

kappa            Cohen (1960). Its interval is that of the share of equal answers, with chance agreement held fixed
alpha            Krippendorff (2019) at level interval, of judge and people; its interval is that of the mean squared difference
TPR, TNR         of what people find met, or not met, the share in which the judge says the same
share intervals  Clopper and Pearson (1934) with the effective number of answers, because those about one artifact resemble
                 each other (Korn and Graubard 1998): exact where an artifact has one answer
bias             mean of judge - people in points; interval by Student's t over artifacts (Cochran 1977, ratio estimator)
human ceiling    mean of the pairs of raters (Light 1971)
effective votes  N / (1 + (N - 1) rho), rho the intraclass correlation of the judges' errors (Kish 1965)
corrected rates  Rogan and Gladen (1978): (observed + TNR - 1) / (TPR + TNR - 1); prediction-powered inference, Angelopoulos
                 et al. (2023): observed + mean of people - judge
weights          in proportion to kappa, shrunk to the judges' mean as if SHRINKAGE more labels had shown that

A share is 0-1 with 1 good, also for items that ask for what should not be. A figure that is not
defined is None.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.statistics.agreement import Level, Value, alphas, pair_agreement
from honestone.core.statistics.distributions import beta_quantile, f_quantile
from honestone.core.suite.comparison import sign_test

# One thing that is labelled: (artifact, criterion, item).
Case: TypeAlias = tuple[str, str, str]
Interval: TypeAlias = tuple[float, float]

# A judge is lenient if its false-pass rate, 1 - TNR, is above this for sure ...
LENIENT_PASSES: Final = 0.10
# ... or if it gives this many points more than people for sure.
LENIENT_POINTS: Final = 2.0
# A judge that decides alone is known to pass no more than this of what people find unmet.
MOST_FALSE_PASSES: Final = 0.40
SHRINKAGE: Final = 20
_TAIL: Final = 0.025
_ONE_SIDED: Final = 0.05


class Opinion(Struct, frozen=True):
    """What somebody says of one case: a share, and whether that is met; `met` is None where people
    are split.
    """

    share: float
    met: bool | None


Opinions: TypeAlias = Mapping[Case, Opinion]


class Figure(NamedTuple):
    """A figure with its 95% interval; None where it is not defined."""

    value: float | None = None
    interval: Interval | None = None


_UNKNOWN: Final = Figure()


class Fit(Struct, frozen=True, kw_only=True):
    """How one judge, or a panel, goes with the people. `units` are artifacts with an answer of
    both, `answers` such answers on which people are not split. `lenient` is None where neither
    figure that decides it is defined.
    """

    units: int
    answers: int
    kappa: Figure = _UNKNOWN
    alpha: Figure = _UNKNOWN
    tpr: Figure = _UNKNOWN
    tnr: Figure = _UNKNOWN
    bias: Figure = _UNKNOWN

    @property
    def lenient(self) -> bool | None:
        right, points = self.tnr.interval, self.bias.interval
        if right is None and points is None:
            return None
        passes = right is not None and 1 - right[1] > LENIENT_PASSES
        return passes or (points is not None and points[0] > LENIENT_POINTS)


class Corrected(Struct, frozen=True, kw_only=True):
    """The share of the population that is met: as the judge says, and put right by its errors on
    the labels.
    """

    observed: float | None
    rogan_gladen: float | None
    ppi: float | None


class JudgeFit(Struct, frozen=True, kw_only=True):
    """One judge: on everything that is labelled, and on each criterion."""

    id: str
    overall: Fit
    criteria: Mapping[str, Fit]
    corrected: Corrected
    weight: float


class PanelFit(Struct, frozen=True, kw_only=True):
    """The judges together. `best` is the judge that agrees most with the people. `drop`: who is
    lenient, no better than chance, or without whom the panel agrees with the people more for sure
    (exact McNemar test, one-sided, 5%).
    """

    votes: int
    effective_votes: float | None
    overall: Fit
    best: str | None
    drop: tuple[str, ...]


class Ceiling(Struct, frozen=True, kw_only=True):
    """How far people agree with each other: the mean over pairs of raters who labelled the same."""

    kappa: float | None
    agreement: float | None


class Calibration(Struct, frozen=True, kw_only=True):
    """`units` are the labelled artifacts. `base_rate`: the share that people find met. `ceiling` is
    None for one rater.
    """

    units: int
    base_rate: float | None
    ceiling: Ceiling | None
    judges: Sequence[JudgeFit]
    panel: PanelFit


def calibrate(
    people: Mapping[str, Opinions],
    reference: Opinions,
    judges: Mapping[str, Opinions],
    panel: Callable[[Sequence[str]], Opinions],
    population: Mapping[str, Opinions] | None = None,
) -> Calibration:
    """`people` by rater; `reference` is what they come to together. `panel` says what some of the
    judges come to together.
    `population`: what each judge says of the cases whose true rate is wanted; the labelled ones
        where it is None.
    """
    fits = {name: fit(reference, opinions) for name, opinions in judges.items()}
    weights = shrunk_weights(fits)
    criteria = list(dict.fromkeys(case[1] for case in reference))
    return Calibration(
        units=len({case[0] for case in reference}),
        base_rate=_mean([float(one.met) for one in reference.values() if one.met is not None]),
        ceiling=_ceiling(list(people.values())) if len(people) > 1 else None,
        judges=[
            JudgeFit(
                id=name,
                overall=fits[name],
                criteria={
                    one: fit(_opinions_about(reference, one), _opinions_about(opinions, one))
                    for one in criteria
                },
                corrected=corrected(reference, opinions, (population or judges)[name], fits[name]),
                weight=weights[name],
            )
            for name, opinions in judges.items()
        ],
        panel=_panel(reference, judges, fits, panel),
    )


def reference_of(shares: Sequence[float], bar: float | None) -> Opinion:
    """What several people come to: the mean of their shares. It is met from `bar` on; without one,
    of yes and no, the majority decides, and equal numbers leave it open.
    """
    mean = math.fsum(shares) / len(shares)
    if bar is not None:
        return Opinion(mean, mean >= bar)
    yes = sum(share == 1 for share in shares)
    return Opinion(mean, None if 2 * yes == len(shares) else 2 * yes > len(shares))


def _opinions_about(opinions: Opinions, criterion: str) -> Opinions:
    return {case: one for case, one in opinions.items() if case[1] == criterion}


def _mean(numbers: Sequence[float]) -> float | None:
    return math.fsum(numbers) / len(numbers) if numbers else None


def unmet_labels_wanted(false_passes: float) -> int | None:
    """How many answers that people find unmet show, at this rate of false passes, that it is at
    most MOST_FALSE_PASSES; None where no number does.
    """
    if false_passes >= MOST_FALSE_PASSES:
        return None
    return next(
        (n for n in range(1, 2_000) if _highest(false_passes * n, n) <= MOST_FALSE_PASSES), None
    )


def _highest(happened: float, of: int) -> float:
    """The upper end of the exact 95% interval of a rate."""
    return beta_quantile(1 - _TAIL, happened + 1, of - happened)


# -------------------------------------------------------------------------------------------------
# one judge and people


def fit(reference: Opinions, judge: Opinions) -> Fit:
    """Over the cases that both have."""
    both = [(case, reference[case], judge[case]) for case in reference if case in judge]
    decided = [
        (case[0], theirs.met, ours.met)
        for case, theirs, ours in both
        if None not in (theirs.met, ours.met)
    ]
    if not both:
        return Fit(units=0, answers=0)
    return Fit(
        units=len({case[0] for case, _, _ in both}),
        answers=len(decided),
        kappa=_kappa(decided),
        alpha=alpha_of_units(
            [(case[0], (theirs.share, ours.share)) for case, theirs, ours in both]
        ),
        tpr=_share([(unit, float(ours is True)) for unit, theirs, ours in decided if theirs]),
        tnr=_share([(unit, float(ours is False)) for unit, theirs, ours in decided if not theirs]),
        bias=_bias([(case[0], ours.share - theirs.share) for case, theirs, ours in both]),
    )


def _kappa(decided: Sequence[tuple[str, bool | None, bool | None]]) -> Figure:
    kappa = _cohen([(theirs is True, ours is True) for _, theirs, ours in decided])
    same, interval = _share([(unit, float(theirs is ours)) for unit, theirs, ours in decided])
    if kappa is None or same is None or interval is None:
        return Figure(kappa)
    n = len(decided)
    yes, own = (
        sum(theirs is True for _, theirs, _ in decided) / n,
        sum(ours is True for _, _, ours in decided) / n,
    )
    chance = yes * own + (1 - yes) * (1 - own)
    low, high = ((end - chance) / (1 - chance) for end in interval)
    return Figure(kappa, (max(low, -1.0), high))


def _cohen(pairs: Sequence[tuple[bool, bool]]) -> float | None:
    columns: list[list[Value]] = [[float(pair[at]) for pair in pairs] for at in (0, 1)]
    return pair_agreement("a", columns[0], "b", columns[1]).cohen_kappa


def alpha_of_units(rows: Sequence[tuple[str, Sequence[float]]]) -> Figure:
    """Krippendorff's alpha of shares with its interval: for each answer the unit that it is about
    and what each rater said, two or more. Nothing where nothing varies.
    """
    alpha = alphas([shares for _, shares in rows])[Level.INTERVAL]
    _, interval = _share([(unit, _apart(shares)) for unit, shares in rows])
    if alpha is None or interval is None:
        return _UNKNOWN
    expected = _apart([value for _, shares in rows for value in shares])
    low, high = interval
    return Figure(alpha, (max(1 - high / expected, -1.0), 1 - low / expected))


def _apart(values: Sequence[float]) -> float:
    """The mean squared difference of two of the values."""
    mean = math.fsum(values) / len(values)
    return 2 * math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1)


def _share(answers: Sequence[tuple[str, float]]) -> Figure:
    """The mean of numbers 0-1, each of a unit, and its interval."""
    mean = _mean([one for _, one in answers])
    if mean is None:
        return _UNKNOWN
    n = effective_number(answers)
    return Figure(mean, share_interval(mean * n, n))


def effective_number(answers: Sequence[tuple[str, float]]) -> float:
    """How many independent answers tell as much as these, each with the unit that it is about:
    their number over the design effect, which is at least 1.
    """
    n = len(answers)
    mean = math.fsum(one for _, one in answers) / n
    spread = math.fsum((one - mean) ** 2 for _, one in answers)
    by_unit: dict[str, float] = {}
    for unit, one in answers:
        by_unit[unit] = by_unit.get(unit, 0.0) + one - mean
    between = math.fsum(off**2 for off in by_unit.values())
    return n if spread <= 0 else n / max(1.0, between / spread)


def share_interval(hits: float, n: float) -> Interval:
    """95%, of `hits` in `n` > 0; they need not be whole."""
    low = 0.0 if hits <= 0 else beta_quantile(_TAIL, hits, n - hits + 1)
    high = 1.0 if hits >= n else beta_quantile(1 - _TAIL, hits + 1, n - hits)
    return low, high


def _bias(differences: Sequence[tuple[str, float]]) -> Figure:
    mean = _mean([by for _, by in differences])
    if mean is None:
        return _UNKNOWN
    by_unit: dict[str, list[float]] = {}
    for unit, by in differences:
        by_unit.setdefault(unit, []).append(by - mean)
    k = len(by_unit)
    if k < 2:
        return Figure(100 * mean)
    squares = math.fsum(math.fsum(one) ** 2 for one in by_unit.values())
    error = math.sqrt(k / (k - 1) * squares) / len(differences)
    by = math.sqrt(f_quantile(1 - 2 * _TAIL, 1, k - 1)) * error  # the square of Student's t is an F
    return Figure(100 * mean, (max(-100.0, 100 * (mean - by)), min(100.0, 100 * (mean + by))))


def corrected(reference: Opinions, judge: Opinions, population: Opinions, fit: Fit) -> Corrected:
    """Rates of the `population`, whose cases need no label, by the judge's errors on those that
    have one.
    """
    observed = _mean([float(one.met) for one in population.values() if one.met is not None])
    off = [
        float(theirs.met) - float(ours.met)
        for case, theirs in reference.items()
        if theirs.met is not None and (ours := judge.get(case)) is not None and ours.met is not None
    ]
    by = _mean(off)
    if observed is None or by is None:
        return Corrected(observed=observed, rogan_gladen=None, ppi=None)
    rogan_gladen = None
    tpr, tnr = fit.tpr.value, fit.tnr.value
    if tpr is not None and tnr is not None and tpr + tnr > 1:
        rogan_gladen = _cut((observed + tnr - 1) / (tpr + tnr - 1))
    return Corrected(observed=observed, rogan_gladen=rogan_gladen, ppi=_cut(observed + by))


def _cut(share: float) -> float:
    return min(1.0, max(0.0, share))


def shrunk_weights(fits: Mapping[str, Fit]) -> dict[str, float]:
    """Weights that sum to 1, none below 0."""
    known = {name: kappa for name, fit in fits.items() if (kappa := fit.kappa.value) is not None}
    mean = _mean(list(known.values())) or 0.0
    shrunk = {
        name: max(
            0.0,
            (fit.answers * known.get(name, mean) + SHRINKAGE * mean) / (fit.answers + SHRINKAGE),
        )
        for name, fit in fits.items()
    }
    total = math.fsum(shrunk.values())
    return {name: one / total if total > 0 else 1 / len(fits) for name, one in shrunk.items()}


# ------------------------------------------------------------------------------------------------------------
# together


def _ceiling(people: Sequence[Opinions]) -> Ceiling:
    kappas, shares = [], []
    for one, other in combinations(people, 2):
        both = [(one[case].met is True, other[case].met is True) for case in one if case in other]
        if both:
            shares.append(sum(a == b for a, b in both) / len(both))
            kappas.append(_cohen(both))
    return Ceiling(
        kappa=_mean([kappa for kappa in kappas if kappa is not None]), agreement=_mean(shares)
    )


def _panel(
    reference: Opinions,
    judges: Mapping[str, Opinions],
    fits: Mapping[str, Fit],
    panel: Callable[[Sequence[str]], Opinions],
) -> PanelFit:
    names = [name for name in judges if fits[name].units]
    together = panel(names) if names else {}
    kappas = {name: kappa for name in names if (kappa := fits[name].kappa.value) is not None}
    errors = [
        [judges[name][case].share - theirs.share for name in names]
        for case, theirs in reference.items()
        if all(case in judges[name] for name in names)
    ]

    def is_better_without(name: str) -> bool:
        rest = [other for other in names if other != name]
        return bool(rest) and _more_right(reference, panel(rest), together)

    return PanelFit(
        votes=len(names),
        effective_votes=effective_votes(errors) if names else None,
        overall=fit(reference, together),
        best=max(kappas, key=kappas.__getitem__, default=None),
        drop=tuple(
            name
            for name in names
            if fits[name].lenient or kappas.get(name, 1) <= 0 or is_better_without(name)
        ),
    )


def effective_votes(errors: Sequence[Sequence[float]]) -> float | None:
    """`errors` are rows of one number a judge. As many independent judges would err as little
    together; from 1 to the number of judges. None where no judge errs, or all always err alike:
    then nothing says how errors go together.
    """
    n = len(errors[0]) if errors else 0
    if n < 2:
        return float(n) if n else None
    single = math.fsum(_variance([row[at] for row in errors]) for at in range(n)) / n
    joint = _variance([math.fsum(row) / n for row in errors])
    if single <= 0:
        return None
    return n if joint <= 0 else min(float(n), max(1.0, single / joint))


def _variance(numbers: Sequence[float]) -> float:
    mean = math.fsum(numbers) / len(numbers)
    return math.fsum((number - mean) ** 2 for number in numbers) / len(numbers)


def _more_right(reference: Opinions, one: Opinions, other: Opinions) -> bool:
    """Whether `one` agrees with the people more often than `other`, for sure."""
    right = [
        (one[case].met is theirs.met, other[case].met is theirs.met)
        for case, theirs in reference.items()
        if theirs.met is not None and case in one and case in other
    ]
    wins, losses = right.count((True, False)), right.count((False, True))
    return wins > losses and sign_test(wins, losses) <= 2 * _ONE_SIDED
