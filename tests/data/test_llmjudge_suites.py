"""LLMJudge: 33 models and a person grade how well 2,445 passages answer a query, on four levels."""

from __future__ import annotations

import csv
import math
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from as_suites import (
    Evaluator,
    Report,
    alpha,
    both,
    fleiss,
    kappa,
    kendall_tau_b,
    scale,
    share_equal,
    spearman,
)

CRITERION = {
    "id": "relevance",
    "requirement": "The passage answers the query",
    "anchors": scale(0, 3),
}
PERSON = "human"
OFF_SCALE = "RMITIR-llama70B"


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "judgments.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def case_of(row: dict[str, str]) -> str:
    return f"{row['query']}/{row['passage']}"


def make(bench: Evaluator, rows: list[dict[str, str]], judges: list[str]) -> list[str]:
    """A case a passage, tagged with its query. Grades go in as they were submitted, one off the
    scale too.
    """
    cases = [{"id": case_of(row), "tags": [row["query"]], "reference": row[PERSON]} for row in rows]
    bench.suite([CRITERION], cases, {case_of(row): f"Passage {row['passage']}" for row in rows})
    return [
        bench.judge(judge, {case_of(row): {"relevance": int(row[judge])} for row in rows})
        for judge in judges
    ]


def marks(report: Report, judge: str) -> dict[str, int]:
    return report.marks(f"record:{judge}.jsonl", "relevance", 0, 3)


@pytest.fixture(scope="module")
def rows(shared_data: Any) -> list[dict[str, str]]:
    return rows_of(shared_data("llmjudge_trec"))


@pytest.fixture(scope="module")
def models(rows: list[dict[str, str]]) -> list[str]:
    return [name for name in rows[0] if name not in ("query", "passage", PERSON)]


@pytest.fixture(scope="module")
def report(
    rows: list[dict[str, str]], models: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Report:
    """Every passage before a panel of all 33 models. The person's grade is the case's reference."""
    bench = Evaluator(tmp_path_factory.mktemp("llmjudge"))
    return bench.run(*make(bench, rows, models))


@pytest.fixture(scope="module")
def person(report: Report) -> dict[str, int]:
    return {id: int(case["reference"]) for id, case in report.cases.items()}


def figures(pairs: list[tuple[int, int]]) -> dict[str, float]:
    """How well (said, right) agree."""
    said, right = zip(*pairs, strict=True)
    return {
        "n": len(pairs),
        "exact": share_equal(pairs),
        "kappa": kappa(pairs),
        "kappa_linear": kappa(pairs, power=1),
        "kappa_quadratic": kappa(pairs, power=2),
        "alpha_nominal": alpha(pairs),
        "alpha_interval": alpha(pairs, power=2),
        "kendall_tau_b": kendall_tau_b(said, right),
        "spearman": spearman(said, right),
        "mae": statistics.fmean(abs(a - b) for a, b in pairs),
    }


def test_each_model_against_the_person(
    report: Report, person: dict[str, int], models: list[str], expected: Any
) -> None:
    """Exact agreement, three kappas, alpha, ranks and error of all 33."""
    wanted = expected("llmjudge_trec")["per_judge"]
    assert wanted.keys() == set(models)
    for judge in models:
        found = figures(both(marks(report, judge), person))
        off = {name for name, figure in found.items() if abs(figure - wanted[judge][name]) > 1e-9}
        assert off == set(), judge


def test_a_grade_off_the_scale_is_no_grade(
    report: Report, rows: list[dict[str, str]], expected: Any
) -> None:
    """It is not cut to the scale: the judge is missing there with the number named, and the others
    decide.
    """
    ((judge, query, passage, given),) = expected("llmjudge_trec")["out_of_range_cells"]
    case = report.cases[f"{query}/{passage}"]
    state = next(entry for entry in case["judges"] if entry["id"] == f"record:{judge}.jsonl")
    assert judge == OFF_SCALE
    assert state["state"] == "DEGRADED"
    assert given in state["reason"]
    entry = case["criteria"][0]
    assert f"record:{judge}.jsonl" not in entry["by_judge"]
    assert len(entry["by_judge"]) == 32
    others = [
        int(v)
        for row in rows
        if case_of(row) == case["id"]
        for k, v in row.items()
        if k in _models(row, judge)
    ]
    assert abs(case["score"] * 3 / 100 - statistics.fmean(others)) < 1e-9
    assert report.states(f"record:{judge}.jsonl") == {"AVAILABLE": len(rows) - 1, "DEGRADED": 1}


def _models(row: dict[str, str], left_out: str) -> set[str]:
    return set(row) - {"query", "passage", PERSON, left_out}


def test_the_panel(
    report: Report, person: dict[str, int], models: list[str], expected: Any
) -> None:
    """The cases' own scores are the mean of the panel; the mode comes from what each said."""
    wanted = expected("llmjudge_trec")
    means = report.combined("relevance", 0, 3)
    assert means.keys() == person.keys()
    unrounded = both(means, person)
    said, right = zip(*unrounded, strict=True)
    found = {
        "spearman": spearman([round(mean, 9) for mean in said], right),
        "kendall_tau_b": kendall_tau_b([round(mean, 9) for mean in said], right),
        "pearson": statistics.correlation(said, right),
        "mae": statistics.fmean(abs(a - b) for a, b in unrounded),
    }
    figure = wanted["panel_mean_unrounded"]
    assert {name for name in figure if abs(found[name] - figure[name]) > 1e-9} == set()
    _same(both(_half_up(means), person), wanted["panel_mean_rounded_half_up"])
    by_model = [marks(report, judge) for judge in models]
    votes = {id: Counter(one[id] for one in by_model if id in one) for id in person}
    modes = {
        id: min(sorted(count), key=lambda level, c=count: -c[level]) for id, count in votes.items()
    }
    _same(both(modes, person), wanted["panel_majority_mode_ties_to_lower"])


def _half_up(means: dict[str, float]) -> dict[str, int]:
    return {id: math.floor(round(mean, 9) + 0.5) for id, mean in means.items()}


def _same(pairs: list[tuple[int, int]], wanted: dict[str, float]) -> None:
    found = figures(pairs)
    assert {name for name in wanted if abs(found[name] - wanted[name]) > 1e-9} == set()


def test_agreement_among_models(report: Report, models: list[str], expected: Any) -> None:
    """Alpha over everything that was said, Fleiss over the passages that all 33 graded."""
    wanted = expected("llmjudge_trec")
    by_model = [marks(report, judge) for judge in models]
    units = [[one[id] for one in by_model if id in one] for id in report.cases]
    assert abs(alpha(units) - wanted["alpha_among_judges"]["nominal"]) < 1e-9
    assert abs(alpha(units, power=2) - wanted["alpha_among_judges"]["interval"]) < 1e-9
    complete = [unit for unit in units if len(unit) == len(models)]
    assert len(complete) == wanted["n_complete_items"]
    assert abs(fleiss(complete) - wanted["fleiss_kappa_all_judges_complete_items"]) < 1e-9


def test_the_person_as_a_judge_and_the_median(
    rows: list[dict[str, str]], models: list[str], tmp_path: Path
) -> None:
    """On two queries, one with the grade off the scale: a person sits on the panel like anybody;
    --combine median.
    """
    some = [row for row in rows if row["query"] in ("q0", "q49")]
    bench = Evaluator(tmp_path)
    specs = make(bench, some, [PERSON, *models])
    report = bench.run(*specs[1:], options=("--combine", "median"))
    grades = {
        case_of(row): [int(row[judge]) for judge in models if int(row[judge]) <= 3] for row in some
    }
    assert any(len(given) == 32 for given in grades.values())
    medians = {id: statistics.median(given) for id, given in grades.items()}
    found = report.combined("relevance", 0, 3)
    assert found.keys() == medians.keys()
    assert all(abs(found[id] - medians[id]) < 1e-9 for id in found)
    seated = bench.run(specs[0], specs[1], options=("--tag", "q49"))
    right = {case_of(row): int(row[PERSON]) for row in some if row["query"] == "q49"}
    first = {case_of(row): int(row[models[0]]) for row in some if row["query"] == "q49"}
    assert marks(seated, PERSON) == right
    pairs = both(marks(seated, models[0]), marks(seated, PERSON))
    assert share_equal(pairs) == sum(first[id] == right[id] for id in right) / len(right)
