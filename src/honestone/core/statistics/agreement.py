"""How far raters agree who rated the same units.

alpha                Krippendorff (2019), Content Analysis, 4th ed., ch. 12: nominal, ordinal, interval, ratio; gaps allowed
kappa                Cohen (1960); with linear and quadratic weights Cohen (1968), by the distance of the values
pi                   Scott (1955); of several raters Fleiss (1971); with equal chance for each category Randolph (2005)
ICC                  Shrout and Fleiss (1979); intervals McGraw and Wong (1996), table 7
tau-b                Kendall (1945); Spearman's rho with mean ranks

Values are numbers at every level but nominal. A figure that is not defined (nothing varies, too few
units) is None.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import combinations
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.statistics.distributions import f_quantile

Value: TypeAlias = float | str
# How often each pair of values was given.
Cells: TypeAlias = Mapping[tuple[Value, Value], int]


class Level(StrEnum):
    """What the differences of values mean (Stevens 1946)."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"
    RATIO = "ratio"


class Icc(Struct, frozen=True, kw_only=True):
    """An intraclass correlation with its 95% interval."""

    value: float
    interval: tuple[float, float] | None


class PairAgreement(Struct, frozen=True, kw_only=True):
    """Two raters on the `n` units that both rated. `mean_difference` is that of b - a."""

    a: str
    b: str
    n: int
    exact: float | None
    cohen_kappa: float | None
    scott_pi: float | None
    alpha: Mapping[Level, float | None]
    kendall_tau_b: float | None
    cohen_linear: float | None = None
    cohen_quadratic: float | None = None
    pearson: float | None = None
    spearman: float | None = None
    mae: float | None = None
    rmse: float | None = None
    mean_difference: float | None = None


class Agreement(Struct, frozen=True, kw_only=True):
    """Several raters. All but `alpha` and `pairs` speak of the complete units: those that every
    rater rated.
    """

    units: int
    complete_units: int
    alpha: Mapping[Level, float | None]
    fleiss_kappa: float | None
    randolph_kappa: float | None
    scott_pi: float | None
    raw_agreement: float | None
    unanimous: int
    icc: Mapping[str, Icc | None]
    pairs: Sequence[PairAgreement]


def agreement(
    ratings: Mapping[str, Sequence[Value | None]], *, truth: str | None = None
) -> Agreement:
    """`ratings` are columns of equal length by rater, None for a gap. With a `truth` the pairs are
    that with each other rater, and it is left out of everything else.
    """
    raters = [name for name in ratings if name != truth]
    rows = list(zip(*(ratings[name] for name in raters), strict=True))
    complete = [_known(row) for row in rows if None not in row]
    pairs = (
        [(truth, name) for name in raters] if truth is not None else list(combinations(raters, 2))
    )
    shares = _shares(complete)
    pi = None if shares is None else _fleiss_kappa(shares)
    return Agreement(
        units=len(rows),
        complete_units=len(complete),
        alpha=alphas([_known(row) for row in rows]),
        fleiss_kappa=pi,
        randolph_kappa=None if shares is None else _randolph_kappa(shares),
        scott_pi=pi if len(raters) == 2 else None,
        raw_agreement=None if shares is None else shares[0],
        unanimous=sum(1 for row in complete if len(set(row)) == 1),
        icc=iccs(complete),
        pairs=[pair_agreement(a, ratings[a], b, ratings[b]) for a, b in pairs],
    )


def _known(row: Iterable[Value | None]) -> list[Value]:
    return [value for value in row if value is not None]


# ------------------------------------------------------------------------------------------------
# Krippendorff's alpha


def alphas(rows: Iterable[Sequence[Value]]) -> dict[Level, float | None]:
    """Alpha at each level. `rows` are the values of a unit, gaps left out; words have a nominal
    alpha only.
    """
    return _alphas(
        Counter(tuple(sorted(Counter(row).items(), key=_value_of)) for row in rows if len(row) > 1)
    )


# The different values of a unit, and how many raters gave each.
_Unit: TypeAlias = tuple[tuple[Value, int], ...]


def _alphas(units: Mapping[_Unit, int]) -> dict[Level, float | None]:
    """The same of units that are alike and how many there are of each."""
    totals: Counter[Value] = Counter()
    for unit, times in units.items():
        for value, count in unit:
            totals[value] += times * count
    alphas: dict[Level, float | None] = dict.fromkeys(Level)
    alphas[Level.NOMINAL] = _alpha(units, totals, _unequal)
    if not totals or any(isinstance(value, str) for value in totals):
        return alphas
    numbers = {value: float(value) for value in totals}
    alphas[Level.ORDINAL] = _alpha(units, totals, _squares(_centred(mean_ranks(totals), totals)))
    alphas[Level.INTERVAL] = _alpha(units, totals, _squares(_centred(numbers, totals)))
    if all(number >= 0 for number in numbers.values()):
        alphas[Level.RATIO] = _alpha(units, totals, _ratios)
    return alphas


# The sum of the squared differences of all ordered pairs among so many of each value.
_Spread: TypeAlias = Callable[[Iterable[tuple[Value, int]]], float]


def _alpha(
    units: Mapping[_Unit, int], totals: Mapping[Value, int], spread: _Spread
) -> float | None:
    expected = spread(totals.items())
    if expected <= 0:
        return None
    observed = math.fsum(
        times * spread(unit) / (sum(count for _, count in unit) - 1)
        for unit, times in units.items()
        if len(unit) > 1
    )
    return 1 - (sum(totals.values()) - 1) * observed / expected


def _unequal(values: Iterable[tuple[Value, int]]) -> float:
    counts = [count for _, count in values]
    return sum(counts) ** 2 - sum(count**2 for count in counts)


def _squares(places: Mapping[Value, float]) -> _Spread:
    def spread(values: Iterable[tuple[Value, int]]) -> float:
        placed = [(places[value], count) for value, count in values]
        total = sum(count for _, count in placed)
        squares = math.fsum(count * place**2 for place, count in placed)
        return 2 * (total * squares - math.fsum(count * place for place, count in placed) ** 2)

    return spread


def _ratios(values: Iterable[tuple[Value, int]]) -> float:
    numbers = [(float(value), count) for value, count in values]
    pairs = combinations(numbers, 2)
    return 2 * math.fsum(n * m * ((a - b) / (a + b)) ** 2 for (a, n), (b, m) in pairs)


def _centred(places: Mapping[Value, float], totals: Mapping[Value, int]) -> dict[Value, float]:
    """The same differences without large numbers that cancel each other."""
    middle = math.fsum(place * totals[value] for value, place in places.items()) / sum(
        totals.values()
    )
    return {value: place - middle for value, place in places.items()}


def mean_ranks(totals: Mapping[Value, int]) -> dict[Value, float]:
    """The mean rank, from 1, of each of so many equal values."""
    ranks: dict[Value, float] = {}
    below = 0
    for value in sorted(totals, key=float):
        ranks[value] = below + (totals[value] + 1) / 2
        below += totals[value]
    return ranks


def _value_of(entry: tuple[Value, int]) -> tuple[bool, Value]:
    return isinstance(entry[0], str), entry[0]


# ---------------------------------------------------------------------------------------- several
# raters, no gap in a row


def _shares(rows: Sequence[Sequence[Value]]) -> tuple[float, Counter[Value]] | None:
    """The mean share of pairs of raters that agree on a unit, and how often each value was given."""
    if not rows or len(rows[0]) < 2:
        return None
    raters, totals, alike = len(rows[0]), Counter[Value](), 0
    for row in rows:
        counts = Counter(row)
        totals.update(counts)
        alike += sum(count * (count - 1) for count in counts.values())
    return alike / (len(rows) * raters * (raters - 1)), totals


def _fleiss_kappa(shares: tuple[float, Counter[Value]]) -> float | None:
    """Fleiss' kappa; for two raters it is Scott's pi."""
    observed, totals = shares
    ratings = totals.total()
    return _above_chance(observed, math.fsum((count / ratings) ** 2 for count in totals.values()))


def _randolph_kappa(shares: tuple[float, Counter[Value]]) -> float | None:
    """Each of the values that occur is as likely by chance."""
    return _above_chance(shares[0], 1 / len(shares[1]))


def _above_chance(observed: float, chance: float) -> float | None:
    return None if chance >= 1 else (observed - chance) / (1 - chance)


# --------------------------------------------------------------------------------------------------------------
# the ICC

_ICCS: Final = ("1,1", "2,1", "3,1", "1,k", "2,k", "3,k")


def iccs(rows: Sequence[Sequence[Value]]) -> dict[str, Icc | None]:
    """By Shrout and Fleiss' names: 1 other raters for each unit, 2 raters drawn at random, 3 these
    raters; for one rating or for the mean of all k. None where there are fewer than two units or
    raters, where values are words or none differ.
    """
    none: dict[str, Icc | None] = dict.fromkeys(_ICCS)
    if len(rows) < 2 or len(rows[0]) < 2:
        return none
    numbers = [[value for value in row if not isinstance(value, str)] for row in rows]
    if any(len(numbers[at]) < len(row) for at, row in enumerate(rows)):
        return none
    n, k = len(numbers), len(numbers[0])
    middle = math.fsum(map(math.fsum, numbers)) / (n * k)
    total = math.fsum((value - middle) ** 2 for row in numbers for value in row)
    units = k * math.fsum((math.fsum(row) / k - middle) ** 2 for row in numbers)
    raters = n * math.fsum(
        (math.fsum(column) / n - middle) ** 2 for column in zip(*numbers, strict=True)
    )
    of_units, within = units / (n - 1), max(0.0, total - units) / (n * (k - 1))
    of_raters, rest = raters / (k - 1), max(0.0, total - units - raters) / ((n - 1) * (k - 1))
    both = k * (of_raters - rest) / n
    return {
        "1,1": _icc(
            of_units - within, of_units + (k - 1) * within, _one_way(of_units, within, n, k)
        ),
        "2,1": _icc(
            of_units - rest,
            of_units + (k - 1) * rest + both,
            _two_way(of_units, of_raters, rest, n, k),
        ),
        "3,1": _icc(of_units - rest, of_units + (k - 1) * rest, _fixed(of_units, rest, n, k)),
        "1,k": _icc(of_units - within, of_units, _of_mean(_one_way(of_units, within, n, k), k)),
        "2,k": _icc(
            of_units - rest,
            of_units + both / k,
            _of_mean(_two_way(of_units, of_raters, rest, n, k), k),
        ),
        "3,k": _icc(of_units - rest, of_units, _of_mean(_fixed(of_units, rest, n, k), k)),
    }


_Interval: TypeAlias = tuple[float, float] | None
_UPPER: Final = 0.975


def _icc(above: float, below: float, interval: _Interval) -> Icc | None:
    return None if below <= 0 else Icc(value=above / below, interval=interval)


def _one_way(units: float, within: float, n: int, k: int) -> _Interval:
    return _by_f(units, within, n - 1, n * (k - 1), k)


def _fixed(units: float, rest: float, n: int, k: int) -> _Interval:
    return _by_f(units, rest, n - 1, (n - 1) * (k - 1), k)


def _by_f(units: float, error: float, above: int, below: int, k: int) -> _Interval:
    if error <= 0:
        return None
    low = units / error / f_quantile(_UPPER, above, below)
    high = units / error * f_quantile(_UPPER, below, above)
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _two_way(units: float, raters: float, rest: float, n: int, k: int) -> _Interval:
    below = units + (k - 1) * rest + k * (raters - rest) / n
    if rest <= 0 or below <= 0:
        return None
    value, ratio = (units - rest) / below, raters / rest
    one = n * (1 + (k - 1) * value) - k * value
    free = (n - 1) * (k * value) ** 2 * ratio**2 + one**2
    if free <= 0:
        return None
    free = (k - 1) * (n - 1) * (k * value * ratio + one) ** 2 / free
    if free <= 0:
        return None
    f_low, f_high = f_quantile(_UPPER, n - 1, free), f_quantile(_UPPER, free, n - 1)
    mixed = k * raters + (k * n - k - n) * rest
    low = n * (units - f_low * rest) / (f_low * mixed + n * units)
    high = n * (f_high * units - rest) / (mixed + n * f_high * units)
    return low, high


def _of_mean(interval: _Interval, k: int) -> _Interval:
    """Spearman and Brown: of the mean of k ratings, from that of one."""
    if interval is None or any(1 + (k - 1) * end <= 0 for end in interval):
        return None
    low, high = (k * end / (1 + (k - 1) * end) for end in interval)
    return low, high


# ------------------------------------------------------------------------------------------------------------
# two raters


def pair_agreement(
    a: str, first: Sequence[Value | None], b: str, second: Sequence[Value | None]
) -> PairAgreement:
    """How far two raters agree on the units that both rated."""
    cells: Counter[tuple[Value, Value]] = Counter(
        (x, y) for x, y in zip(first, second, strict=True) if x is not None and y is not None
    )
    n = cells.total()
    rows, columns = _margin(cells, 0), _margin(cells, 1)
    same = sum(count for (x, y), count in cells.items() if x == y)
    words = any(isinstance(value, str) for value in (*rows, *columns))
    exact = same / n if n else None
    units = Counter[_Unit]()
    for (x, y), count in cells.items():
        units[((x, 2),) if x == y else tuple(sorted(((x, 1), (y, 1)), key=_value_of))] += count
    agreement = PairAgreement(
        a=a,
        b=b,
        n=n,
        exact=exact,
        cohen_kappa=None if exact is None else _above_chance(exact, _chance(rows, columns, n)),
        scott_pi=None
        if exact is None
        else _above_chance(exact, _chance(both := rows + columns, both, 2 * n)),
        alpha=_alphas(units) if n else dict.fromkeys(Level),
        kendall_tau_b=None if words else kendall_tau_b(cells),
    )
    return agreement if words or not n else _with_figures(agreement, cells, rows, columns)


def _with_figures(
    agreement: PairAgreement,
    cells: Counter[tuple[Value, Value]],
    rows: Counter[Value],
    columns: Counter[Value],
) -> PairAgreement:
    """Add the figures that need numbers: differences and correlations."""
    n = agreement.n
    differences = [(float(y) - float(x), count) for (x, y), count in cells.items()]
    absolute = math.fsum(abs(by) * count for by, count in differences) / n
    square = math.fsum(by**2 * count for by, count in differences) / n
    xs, ys = ({value: float(value) for value in margin} for margin in (rows, columns))
    return replace(
        agreement,
        cohen_linear=_weighted(absolute, _mean_distance(rows, columns)),
        cohen_quadratic=_weighted(square, _mean_square(rows, columns)),
        pearson=_correlation(cells, xs, ys),
        spearman=_correlation(cells, mean_ranks(rows), mean_ranks(columns)),
        mae=absolute,
        rmse=math.sqrt(square),
        mean_difference=math.fsum(by * count for by, count in differences) / n,
    )


def _margin(cells: Cells, at: int) -> Counter[Value]:
    margin: Counter[Value] = Counter()
    for pair, count in cells.items():
        margin[pair[at]] += count
    return margin


def _chance(rows: Mapping[Value, int], columns: Mapping[Value, int], n: int) -> float:
    return math.fsum(count * columns.get(value, 0) for value, count in rows.items()) / n**2


def _weighted(observed: float, expected: float) -> float | None:
    return None if expected <= 0 else 1 - observed / expected


def _mean_distance(rows: Counter[Value], columns: Counter[Value]) -> float:
    """The mean of |x - y| where the two are drawn apart: the integral of F(1 - G) + G(1 - F)."""
    values = sorted({float(value) for value in (*rows, *columns)})
    n, f, g, total = rows.total(), 0.0, 0.0, []
    for at, value in enumerate(values[:-1]):
        f += rows.get(value, 0) / n
        g += columns.get(value, 0) / n
        total.append((values[at + 1] - value) * (f * (1 - g) + g * (1 - f)))
    return math.fsum(total)


def _mean_square(rows: Counter[Value], columns: Counter[Value]) -> float:
    """The mean of (x - y)^2 where the two are drawn apart: both variances and the square of the
    difference of the means.
    """
    means, variances = [], []
    for margin in (rows, columns):
        n = margin.total()
        mean = math.fsum(float(value) * count for value, count in margin.items()) / n
        variances.append(
            math.fsum((float(value) - mean) ** 2 * count for value, count in margin.items()) / n
        )
        means.append(mean)
    return variances[0] + variances[1] + (means[0] - means[1]) ** 2


def _correlation(
    cells: Counter[tuple[Value, Value]], xs: Mapping[Value, float], ys: Mapping[Value, float]
) -> float | None:
    n = cells.total()
    x_mean = math.fsum(xs[x] * count for (x, _), count in cells.items()) / n
    y_mean = math.fsum(ys[y] * count for (_, y), count in cells.items()) / n
    x_var = math.fsum((xs[x] - x_mean) ** 2 * count for (x, _), count in cells.items())
    y_var = math.fsum((ys[y] - y_mean) ** 2 * count for (_, y), count in cells.items())
    if x_var <= 0 or y_var <= 0:
        return None
    both = math.fsum((xs[x] - x_mean) * (ys[y] - y_mean) * count for (x, y), count in cells.items())
    return max(-1.0, min(1.0, both / math.sqrt(x_var) / math.sqrt(y_var)))


def kendall_tau_b(cells: Cells) -> float | None:
    """Kendall's tau-b from counted pairs of numbers, in n log n steps (Knight 1966)."""
    rows, columns = _margin(cells, 0), _margin(cells, 1)
    n = sum(rows.values())
    free = [
        n * (n - 1) // 2 - sum(count * (count - 1) // 2 for count in margin.values())
        for margin in (rows, columns)
    ]
    if min(free) <= 0:
        return None
    place = {value: at for at, value in enumerate(sorted(columns, key=float), 1)}
    by_row: dict[Value, list[tuple[int, int]]] = {}
    for (x, y), count in cells.items():
        by_row.setdefault(x, []).append((place[y], count))
    seen, below, more = [0] * (len(place) + 1), 0, 0
    for x in sorted(by_row, key=float):
        for at, count in by_row[x]:
            smaller, up_to = _sum_to(seen, at - 1), _sum_to(seen, at)
            more += count * (smaller - (below - up_to))
        for at, count in by_row[x]:
            below += count
            _add_at(seen, at, count)
    return more / math.sqrt(free[0]) / math.sqrt(free[1])


def _sum_to(tree: Sequence[int], at: int) -> int:
    """The sum of the places 1 to `at` of a Fenwick tree."""
    total = 0
    while at > 0:
        total += tree[at]
        at &= at - 1
    return total


def _add_at(tree: list[int], at: int, count: int) -> None:
    while at < len(tree):
        tree[at] += count
        at += at & -at
