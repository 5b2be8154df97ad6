"""WildBench: three judges on the same 3,072 answers, run as one suite, give each judge's score and
how far they agree.
"""

from __future__ import annotations

import csv
import gzip
import io
import statistics
from pathlib import Path
from typing import Any

import pytest
from as_suites import Evaluator, Report, alpha, both, kappa, scale, share_equal, spearman

JUDGES = ("gpt4turbo_v0522", "gpt4o_v0522", "gpt4o_v0625")
MODELS = ("Phi-3-mini-128k-instruct", "gemma-2b-it", "gpt-3.5-turbo-0125")
CRITERION = {
    "id": "quality",
    "requirement": "It helps the person who asked",
    "anchors": scale(1, 10),
}


def rows_of(folder: Path) -> list[dict[str, str]]:
    text = gzip.decompress((folder / "scores.csv.gz").read_bytes()).decode()
    return list(csv.DictReader(io.StringIO(text)))


def case_of(row: dict[str, str]) -> str:
    return f"{row['model']}/{row['session_id']}"


def make(
    bench: Evaluator, rows: list[dict[str, str]], judges: tuple[str, ...] = JUDGES
) -> list[str]:
    """A case an answer, tagged with the model that gave it; an empty cell is no mark."""
    ids = [case_of(row) for row in rows]
    cases = [{"id": id, "tags": [row["model"]]} for id, row in zip(ids, rows, strict=True)]
    bench.suite([CRITERION], cases, {id: f"The answer {id}" for id in ids})
    return [
        bench.judge(
            judge,
            {
                id: {"quality": int(row[judge]) if row[judge] else None}
                for id, row in zip(ids, rows, strict=True)
            },
        )
        for judge in judges
    ]


@pytest.fixture(scope="module")
def report(shared_data: Any, tmp_path_factory: pytest.TempPathFactory) -> Report:
    """Every answer, every judge, one run."""
    bench = Evaluator(tmp_path_factory.mktemp("wildbench"))
    return bench.run(*make(bench, rows_of(shared_data("wildbench"))))


def marks(report: Report, judge: str) -> dict[str, int]:
    return report.marks(f"record:{judge}.jsonl", "quality", 1, 10)


@pytest.mark.parametrize("judge", JUDGES)
@pytest.mark.parametrize("model", MODELS)
def test_wb_scores(report: Report, expected: Any, model: str, judge: str) -> None:
    """Each judge's mean of each model, over the answers it marked, and the WB-Score made of it."""
    wanted = expected("wildbench")[model][judge]
    found = [mark for case, mark in marks(report, judge).items() if case.startswith(f"{model}/")]
    assert len(found) == wanted["n"]
    assert abs(statistics.fmean(found) - wanted["mean"]) < 1e-9
    assert abs((statistics.fmean(found) - 5) * 2 - wanted["wb_score"]) < 1e-9


@pytest.mark.parametrize(
    ("one", "other"), [(JUDGES[0], JUDGES[1]), (JUDGES[1], JUDGES[2]), (JUDGES[0], JUDGES[2])]
)
def test_agreement_of_judges(report: Report, expected: Any, one: str, other: str) -> None:
    """Two judges, on the answers that both marked."""
    wanted = expected("wildbench")[f"{one} vs {other}"]
    pairs = both(marks(report, one), marks(report, other))
    firsts, seconds = zip(*pairs, strict=True)
    assert len(pairs) == wanted["n"]
    assert sum(abs(a - b) > 2 for a, b in pairs) == wanted["gap_over_2"]
    found = {
        "pearson": statistics.correlation(firsts, seconds),
        "spearman": spearman(firsts, seconds),
        "exact": share_equal(pairs),
        "within1": statistics.fmean(abs(a - b) <= 1 for a, b in pairs),
        "mean_diff": statistics.fmean(a - b for a, b in pairs),
        "kappa_quadratic": kappa(pairs, power=2),
        "alpha_interval": alpha(pairs, power=2),
    }
    assert {name for name, figure in found.items() if abs(figure - wanted[name]) > 1e-9} == set()


def test_a_wide_gap_is_flagged(report: Report) -> None:
    """More than 20 points apart is a flag at the case: two steps of nine are 22.2, one is 11.1."""
    for case in report.cases.values():
        given = case["criteria"][0]["by_judge"].values()
        flagged = any(flag.startswith("disagreement: quality") for flag in case["flags"])
        assert flagged == (bool(given) and max(given) - min(given) > 20)


def test_what_a_judge_left_out_is_no_number(report: Report, shared_data: Any) -> None:
    """The judge is missing at that case with the reason; the mean is over those that spoke, or
    there is none.
    """
    silent = 0
    for row in rows_of(shared_data("wildbench")):
        given = [int(row[judge]) for judge in JUDGES if row[judge]]
        if len(given) == len(JUDGES):
            continue
        silent += 1
        case = report.cases[case_of(row)]
        entry = case["criteria"][0]
        assert entry["by_judge"].keys() == {
            f"record:{judge}.jsonl" for judge in JUDGES if row[judge]
        }
        assert "no answer" in entry["items"][0]["note"]
        if given:
            assert abs(1 + case["score"] * 9 / 100 - statistics.fmean(given)) < 1e-9
        else:
            assert (case["status"], case["score"], case["interval"]) == (
                "inconclusive",
                None,
                [0, 100],
            )
    assert silent > 0


def test_a_leaderboard_row(shared_data: Any, expected: Any, tmp_path: Path) -> None:
    """One judge, one model: the published score from the cases' own scores; three without a mark
    leave the suite's open.
    """
    rows = [row for row in rows_of(shared_data("wildbench")) if row["model"] in MODELS[1:]]
    bench = Evaluator(tmp_path)
    spec = make(bench, rows, ("gpt4o_v0625",))
    report = bench.run(*spec, options=("--tag", "gemma-2b-it"))
    wanted = expected("wildbench")["gemma-2b-it"]["leaderboard_published"]
    scores = report.scores(1, 10)
    assert (report.code, report.counts) == (3, {"passed": wanted["total"], "inconclusive": 3})
    assert abs(statistics.fmean(scores.values()) - wanted["score"]) < 1e-9
    assert abs((statistics.fmean(scores.values()) - 5) * 2 - wanted["adjusted_score"]) < 1e-9
    assert report.document["mean_score"] is None
    lowest, highest = (1 + end * 9 / 100 for end in report.document["mean_score_interval"])
    count = wanted["total"] + 3
    assert abs(lowest - (sum(scores.values()) + 3 * 1) / count) < 1e-9
    assert abs(highest - (sum(scores.values()) + 3 * 10) / count) < 1e-9
