"""Writes what other people's libraries say of made-up tables into tests/oracles/, for our
statistics to be compared with.

The libraries are large, so the tests read the recorded values: `make oracles` installs them in a
folder of their own and runs this. The numbers are the same each time.
"""

from __future__ import annotations

import json
import random
import warnings
from itertools import combinations
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from statsmodels.stats.proportion import proportion_confint

PLACE = Path(__file__).resolve().parent.parent / "tests/oracles"


def main() -> None:
    warnings.simplefilter("ignore")
    PLACE.mkdir(exist_ok=True)
    tables = [_table(random.Random(seed)) for seed in range(40)]
    _write("agreement", [{"columns": columns, **_figures(columns)} for columns in tables])
    _write("calibration", [_calibration(random.Random(seed)) for seed in range(30)])
    _write("distributions", _distributions(random.Random(0)))
    _write("binomial", _binomial())
    _write("bootstrap", _bootstrap())


def _write(name: str, values: Any) -> None:
    text = json.dumps(values, indent=None, separators=(",", ":"))
    (PLACE / f"{name}.json").write_text(text.replace("},{", "},\n{") + "\n")


def _table(draw: random.Random) -> list[list[float | None]]:
    """Columns of 2 to 5 raters who agree more or less, some with gaps."""
    raters, units, top = draw.randint(2, 5), draw.randint(6, 40), draw.choice([1, 2, 4, 9])
    noise, gaps = draw.random(), draw.choice([0.0, 0.0, 0.15])
    truth = [draw.randint(0, top) for _ in range(units)]
    columns: list[list[float | None]] = []
    for _ in range(raters):
        said = [draw.randint(0, top) if draw.random() < noise else value for value in truth]
        said[: top + 1] = range(
            top + 1
        )  # every value occurs, as scikit-learn's weights go by place
        columns.append([None if draw.random() < gaps else float(value) for value in said])
    return columns


def _figures(columns: list[list[float | None]]) -> dict[str, Any]:
    complete = [row for row in zip(*columns, strict=True) if None not in row]
    counts, _ = aggregate_raters(np.array(complete))
    return {
        "alpha": _alphas(columns),
        "fleiss_kappa": _number(fleiss_kappa(counts, method="fleiss")),
        "randolph_kappa": _number(fleiss_kappa(counts, method="randolph")),
        "pairs": [_pair(a, b) for a, b in combinations(columns, 2)],
    }


def _alphas(columns: list[list[float | None]]) -> dict[str, float | None]:
    data = np.array(
        [[np.nan if value is None else value for value in column] for column in columns]
    )
    found = {}
    for level in ("nominal", "ordinal", "interval", "ratio"):
        try:
            found[level] = _number(krippendorff.alpha(data, level_of_measurement=level))
        except ValueError:  # nothing varies
            found[level] = None
    return found


def _pair(a: list[float | None], b: list[float | None]) -> dict[str, Any]:
    both = [(x, y) for x, y in zip(a, b, strict=True) if x is not None and y is not None]
    x, y = (np.array(column) for column in zip(*both, strict=True))
    return {
        "n": len(both),
        "cohen_kappa": _number(cohen_kappa_score(x, y)),
        "cohen_linear": _weighted(x, y, "linear"),
        "cohen_quadratic": _weighted(x, y, "quadratic"),
        "pearson": _number(stats.pearsonr(x, y).statistic),
        "spearman": _number(stats.spearmanr(x, y).statistic),
        "kendall_tau_b": _number(stats.kendalltau(x, y).statistic),
        "alpha": _alphas([list(x), list(y)]),
    }


def _weighted(x: Any, y: Any, weights: str) -> float | None:
    """By place among the values: the same as by distance only where none is left out."""
    values = sorted({*x, *y})
    return (
        _number(cohen_kappa_score(x, y, weights=weights))
        if values == list(range(len(values)))
        else None
    )


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _calibration(draw: random.Random) -> dict[str, Any]:
    """A judge's answers and people's to one yes/no item of each of some artifacts, and of three
    judges the errors.
    """
    n, right = draw.randint(4, 60), draw.choice([0.6, 0.8, 0.95])
    people = [float(draw.random() < 0.5) for _ in range(n)]
    judge = [one if draw.random() < right else 1 - one for one in people]
    people[:2], judge[:2] = [0.0, 1.0], [0.0, 1.0]
    y, f = np.array(people), np.array(judge)
    errors = np.array(
        [[draw.choice([-1, 0, 0, 1]) + (k == 1) * e for k in range(3)] for e in f - y]
    )
    shares = {"tpr": f[y == 1], "tnr": 1 - f[y == 0]}
    by, center = stats.sem(f - y), float(np.mean(f - y))
    bias = stats.t.interval(0.95, n - 1, loc=center, scale=by) if by > 0 else (center, center)
    covariances = np.cov(errors.T, bias=True)
    return {
        "people": people,
        "judge": judge,
        "kappa": _number(cohen_kappa_score(y, f)),
        "alpha": _number(krippendorff.alpha(np.array([y, f]), level_of_measurement="interval")),
        **{name: float(np.mean(found)) for name, found in shares.items()},
        **{
            f"{name}_interval": list(
                map(float, proportion_confint(found.sum(), len(found), method="beta"))
            )
            for name, found in shares.items()
        },
        "bias": 100 * center,
        "bias_interval": [100 * float(end) for end in bias],
        "errors": errors.tolist(),
        "effective_votes": float(np.trace(covariances) / 3 / (covariances.sum() / 9)),
    }


def _distributions(draw: random.Random) -> list[dict[str, float]]:
    found = []
    for _ in range(200):
        a, b, p = (
            draw.uniform(0.5, 400),
            draw.uniform(0.5, 400),
            draw.choice([0.005, 0.025, 0.5, 0.9, 0.975, 0.995]),
        )
        x = draw.betavariate(a, b)
        found.append(
            {
                "a": a,
                "b": b,
                "p": p,
                "x": x,
                "beta_cdf": float(stats.beta.cdf(x, a, b)),
                "beta_quantile": float(stats.beta.ppf(p, a, b)),
                "f_quantile": float(stats.f.ppf(p, a, b)),
            }
        )
    return found


def _binomial() -> dict[str, Any]:
    """The two-sided test by its smaller and larger count, and Wilson's interval by successes and
    further trials, all of them.
    """
    return {
        "sign": [
            [float(stats.binomtest(a, a + b).pvalue) if b else 1.0 for a in range(b + 1)]
            for b in range(61)
        ],
        "wilson": [
            [_wilson(passed, passed + more) for more in range(1, 51)] for passed in range(51)
        ],
    }


def _wilson(passed: int, of: int) -> list[float]:
    low, high = stats.binomtest(passed, of).proportion_ci(method="wilson")
    return [round(float(low), 12), round(float(high), 12)]


def _bootstrap() -> list[dict[str, Any]]:
    """Percentile intervals of the mean of numbers in hundredths."""
    made = np.random.default_rng(5)
    found = []
    for size in (8, 30, 120):
        hundredths = [int(x) for x in made.integers(-60, 90, size=size)]
        interval = stats.bootstrap(
            (np.array(hundredths) / 100,),
            np.mean,
            method="percentile",
            n_resamples=20_000,
            rng=np.random.default_rng(1),
        ).confidence_interval
        found.append(
            {"hundredths": hundredths, "low": float(interval.low), "high": float(interval.high)}
        )
    return found


if __name__ == "__main__":
    main()
