"""PandaLM: three people and two models say which of two answers is better; what cannot be read is
counted three ways.

The verdict is a mark on a scale of three levels. A model's unreadable verdict is no mark, so the
report holds it apart from every level; whoever wants it counted as a tie or as wrong does that with
figures that the report prints.
"""

from __future__ import annotations

import statistics
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from as_suites import Evaluator, Report, alpha, both, fleiss, json_lines, kappa, share_equal

PEOPLE = ("human1", "human2", "human3")
MODELS = ("gpt35", "pandalm7b")
SECOND, TIE, FIRST = 0, 1, 2
LEVELS = {
    "0": "Response 2 is better",
    "1": "Neither is better than the other",
    "2": "Response 1 is better",
}
CRITERION = {"id": "preference", "requirement": "Which response is better", "anchors": LEVELS}
WORDS = {"1": FIRST, "2": SECOND, "0": TIE, "Tie": TIE}


def verdict(row: dict[str, Any], who: str) -> int | None:
    """A recorded verdict as a level; None where there is none to be read."""
    return WORDS.get(str(row[who]))


def majority(row: dict[str, Any]) -> int:
    return statistics.mode(WORDS[str(row[person])] for person in PEOPLE)


def make(bench: Evaluator, rows: list[dict[str, Any]]) -> None:
    """A case a pair of answers. `expect` holds what most people said, so that a case passes when
    the judge says so too.
    """
    cases, outputs = [], {}
    for row in rows:
        id = f"pair-{row['idx']}"
        points = 50 * majority(row)
        task = row["instruction"] + (f"\n\n{row['input']}" if row["input"] else "")
        cases.append({"id": id, "input": task, "expect": {"preference": [points, points]}})
        outputs[id] = f"Response 1:\n{row['response1']}\n\nResponse 2:\n{row['response2']}\n"
    bench.suite([CRITERION], cases, outputs)


def record(bench: Evaluator, rows: list[dict[str, Any]], who: str) -> str:
    return bench.judge(
        who, {f"pair-{row['idx']}": {"preference": verdict(row, who)} for row in rows}
    )


@pytest.fixture(scope="module")
def rows(shared_data: Any) -> list[dict[str, Any]]:
    return json_lines(shared_data("pandalm") / "items.jsonl.gz")


@pytest.fixture(scope="module")
def wanted(expected: Any) -> dict[str, Any]:
    return expected("pandalm")["this_half"]


@pytest.fixture(scope="module")
def bench(rows: list[dict[str, Any]], tmp_path_factory: pytest.TempPathFactory) -> Evaluator:
    bench = Evaluator(tmp_path_factory.mktemp("pandalm"))
    make(bench, rows)
    return bench


@pytest.fixture(scope="module")
def people(bench: Evaluator, rows: list[dict[str, Any]]) -> Report:
    """All pairs, judged by the three people."""
    return bench.run(*(record(bench, rows, who) for who in PEOPLE), options=("--combine", "median"))


@pytest.fixture(scope="module")
def models(bench: Evaluator, rows: list[dict[str, Any]]) -> dict[str, Report]:
    """All pairs, judged by each model alone."""
    return {who: bench.run(record(bench, rows, who)) for who in MODELS}


def marks(report: Report, who: str) -> dict[str, int]:
    return report.marks(f"record:{who}.jsonl", "preference", 0, 2)


def test_agreement_of_people(people: Report, wanted: dict[str, Any]) -> None:
    """Two by two and all three."""
    said = [marks(people, who) for who in PEOPLE]
    units = [[one[id] for one in said] for id in people.cases]
    assert len(units) == wanted["n"]
    for pair, figure in wanted["pairwise_cohen_kappa"].items():
        one, other = (said[int(number) - 1] for number in pair.split("-"))
        assert abs(kappa(both(one, other)) - figure) < 1e-9
    assert abs(fleiss(units) - wanted["fleiss_kappa"]) < 1e-9
    assert abs(alpha(units) - wanted["krippendorff_nominal"]) < 1e-9
    assert sum(len(set(unit)) == 1 for unit in units) == wanted["unanimous"]
    assert sum(len(set(unit)) == 3 for unit in units) == wanted["three_way_split"]


def test_the_panel_of_people_is_their_majority(people: Report, rows: list[dict[str, Any]]) -> None:
    """Where nobody is alone among three, the median is what two or three said: every case meets its
    expectation.
    """
    assert (people.code, people.counts) == (0, {"passed": len(rows)})
    assert people.combined("preference", 0, 2) == {
        f"pair-{row['idx']}": majority(row) for row in rows
    }


def macro(pairs: list[tuple[int, int]]) -> tuple[float, float, float]:
    """Precision, recall and F1 of (said, right) as means over the three levels."""
    hits = Counter(said for said, right in pairs if said == right)
    saids, rights = Counter(said for said, _ in pairs), Counter(right for _, right in pairs)
    levels = (SECOND, TIE, FIRST)
    return (
        statistics.fmean(hits[level] / saids[level] for level in levels),
        statistics.fmean(hits[level] / rights[level] for level in levels),
        statistics.fmean(2 * hits[level] / (saids[level] + rights[level]) for level in levels),
    )


@pytest.mark.parametrize("who", MODELS)
def test_unreadable_as_a_tie(
    models: dict[str, Report], people: Report, wanted: dict[str, Any], who: str
) -> None:
    """The published way of counting, made from what the report prints: a case without a mark is
    given the middle level.
    """
    said = marks(models[who], who)
    right = people.combined("preference", 0, 2)
    pairs = [(said.get(id, TIE), round(level)) for id, level in right.items()]
    figures = wanted[who]
    assert len(pairs) == figures["n"]
    assert abs(share_equal(pairs) - figures["accuracy"]) < 1e-9
    names = ("macro_precision", "macro_recall", "macro_f1")
    for name, figure in zip(names, macro(pairs), strict=True):
        assert abs(figure - figures[name]) < 1e-9
    assert abs(kappa(pairs) - figures["kappa_vs_majority"]) < 1e-9


@pytest.mark.parametrize("who", MODELS)
def test_unreadable_apart(models: dict[str, Report], rows: list[dict[str, Any]], who: str) -> None:
    """The product's own way: those cases are inconclusive, the rate over the rest is passed to
    passed and failed.
    """
    report = models[who]
    unread = {f"pair-{row['idx']}" for row in rows if verdict(row, who) is None}
    agree = sum(verdict(row, who) == majority(row) for row in rows)
    open_cases = {id for id, case in report.cases.items() if case["status"] == "inconclusive"}
    assert open_cases == unread
    assert len(unread) == (10 if who == "gpt35" else 0)
    counts = report.document["counts"]
    assert (counts["passed"], counts["failed"]) == (agree, len(rows) - len(unread) - agree)
    assert all(report.cases[id]["score"] is None for id in unread)
    assert report.document["pass_rate"] == (None if unread else agree / len(rows))


@pytest.mark.parametrize("who", MODELS)
def test_unreadable_as_wrong(
    models: dict[str, Report], rows: list[dict[str, Any]], wanted: dict[str, Any], who: str
) -> None:
    """The lower end of the pass rate. What counting as a tie adds to it lies within what the
    interval leaves open.
    """
    lowest, highest = models[who].document["pass_rate_interval"]
    agree = sum(verdict(row, who) == majority(row) for row in rows)
    unread = sum(verdict(row, who) is None for row in rows)
    assert lowest == agree / len(rows)
    assert highest == (agree + unread) / len(rows)
    ties = sum(verdict(row, who) is None and majority(row) == TIE for row in rows)
    assert abs(wanted[who]["accuracy"] - (lowest + ties / len(rows))) < 1e-9
    assert lowest <= wanted[who]["accuracy"] <= highest


def test_an_unreadable_verdict_is_named(models: dict[str, Report]) -> None:
    """The judge gave nothing usable there, and the report says so and how often."""
    report = models["gpt35"]
    assert report.states("record:gpt35.jsonl") == {"AVAILABLE": 490, "DEGRADED": 10}
    assert [(entry["id"], entry["state"]) for entry in report.document["judges"]] == [
        ("record:gpt35.jsonl", "DEGRADED")
    ]
    assert report.code == 1


def test_a_row_left_out_is_the_same_as_no_answer(
    bench: Evaluator, rows: list[dict[str, Any]], models: dict[str, Report], tmp_path: Path
) -> None:
    """Statuses, scores and rates are equal; only the reason differs."""
    said = {f"pair-{row['idx']}": {"preference": verdict(row, "gpt35")} for row in rows}
    some = bench.judge(
        "some", {id: answers for id, answers in said.items() if None not in answers.values()}
    )
    found, before = bench.run(some), models["gpt35"]
    for name in ("counts", "pass_rate_interval", "mean_score_interval", "verdict"):
        assert found.document[name] == before.document[name]
    assert found.scores() == before.scores()
    left = [case for case in found.cases.values() if case["score"] is None]
    assert all(
        "holds no answers for case" in case["criteria"][0]["items"][0]["note"] for case in left
    )
