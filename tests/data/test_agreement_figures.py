"""`agreement` on recorded judges and people gives the figures that numpy, scikit-learn and
krippendorff gave.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from honestone.core.statistics.agreement import Level, agreement
from honestone.formats.ratings import Columns, read_ratings

PAIR = {
    "exact": "exact",
    "kappa": "cohen_kappa",
    "kappa_linear": "cohen_linear",
    "kappa_quadratic": "cohen_quadratic",
    "kendall_tau_b": "kendall_tau_b",
    "spearman": "spearman",
    "mae": "mae",
}


def near(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


def test_llmjudge_33_judges_against_people(
    shared_data: Callable[[str], Path], expected: Callable[[str], Any]
) -> None:
    table, figures = shared_data("llmjudge_trec") / "judgments.csv", expected("llmjudge_trec")
    columns = Columns(unit=("query", "passage"), truth="human", scale=(0, 3))
    ratings = read_ratings(table, columns)
    assert [one.rater for one in ratings.off_scale] == ["RMITIR-llama70B"]
    for pair in agreement(ratings.columns, truth="human").pairs:
        theirs = figures["per_judge"][pair.b]
        assert {name: getattr(pair, ours) for name, ours in PAIR.items()} == {
            name: near(theirs[name]) for name in PAIR
        }
        for level in (Level.NOMINAL, Level.ORDINAL, Level.INTERVAL):
            assert pair.alpha[level] == near(theirs[f"alpha_{level}"])
    judges = agreement(
        {name: column for name, column in ratings.columns.items() if name != "human"}
    )
    assert judges.fleiss_kappa == near(figures["fleiss_kappa_all_judges_complete_items"])
    assert judges.randolph_kappa == near(figures["randolph_kappa_all_judges_complete_items"])
    for level, theirs in figures["alpha_among_judges"].items():
        assert judges.alpha[Level(level)] == near(theirs)


def test_wildbench_three_judges(
    shared_data: Callable[[str], Path], expected: Callable[[str], Any], tmp_path: Path
) -> None:
    table = tmp_path / "scores.csv"
    table.write_bytes(gzip.decompress((shared_data("wildbench") / "scores.csv.gz").read_bytes()))
    found = agreement(read_ratings(table, Columns(unit=("model", "session_id"))).columns)
    for pair in found.pairs:
        theirs = expected("wildbench")[f"{pair.a} vs {pair.b}"]
        assert pair.n == theirs["n"] and pair.cohen_quadratic == near(theirs["kappa_quadratic"])
        assert (pair.pearson, pair.spearman) == (near(theirs["pearson"]), near(theirs["spearman"]))
        assert pair.mean_difference == near(-theirs["mean_diff"])
        assert pair.alpha[Level.ORDINAL] == near(theirs["alpha_ordinal"])


def test_llm_rubric_scores_against_people(
    shared_data: Callable[[str], Path], expected: Callable[[str], Any]
) -> None:
    folder = shared_data("llm_rubric")
    asked = (folder / "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv").read_text()
    said: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(asked), delimiter="\t"):
        if row["criterion"] == "Q0":
            shares = [float(row[f"answer{answer}_prob"]) for answer in range(1, 5)]
            said[row["text_id"]] = sum(at * share for at, share in enumerate(shares, 1)) / sum(
                shares
            )
    people = csv.DictReader(
        io.StringIO((folder / "human_judges_real_convs_FIXED_ANON.tsv").read_text()), delimiter="\t"
    )
    both = [(float(row["Q0"]), said[row["text_id"]]) for row in people if row["text_id"] in said]
    (pair,) = agreement(
        {"human": [one for one, _ in both], "judge": [other for _, other in both]}
    ).pairs
    theirs = expected("llm_rubric")["real"]["Q0"]["expected_llm"]
    assert pair.rmse == near(theirs["rmse"]) and pair.kendall_tau_b == near(theirs["kendall"])
