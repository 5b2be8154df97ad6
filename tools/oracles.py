"""Writes what other people's libraries say of made-up tables into tests/oracles/, for our statistics to be compared with.

The libraries are large, so the tests read the recorded values: `make oracles` installs them in a folder of their own and runs
this. The numbers are the same each time.
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

PLACE = Path(__file__).resolve().parent.parent / "tests/oracles"


def main() -> None:
    warnings.simplefilter("ignore")
    PLACE.mkdir(exist_ok=True)
    tables = [_table(random.Random(seed)) for seed in range(40)]
    _write("agreement", [{"columns": columns, **_figures(columns)} for columns in tables])
    _write("distributions", _distributions(random.Random(0)))


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
        said[: top + 1] = range(top + 1)  # every value occurs, as scikit-learn's weights go by place
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
    data = np.array([[np.nan if value is None else value for value in column] for column in columns])
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
    return _number(cohen_kappa_score(x, y, weights=weights)) if values == list(range(len(values))) else None


def _number(value: Any) -> float | None:
    return None if value is None or not np.isfinite(value) else float(value)


def _distributions(draw: random.Random) -> list[dict[str, float]]:
    found = []
    for _ in range(200):
        a, b, p = draw.uniform(0.5, 400), draw.uniform(0.5, 400), draw.choice([0.005, 0.025, 0.5, 0.9, 0.975, 0.995])
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


if __name__ == "__main__":
    main()
