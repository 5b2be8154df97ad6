"""RewardBench 2: a model marks four responses eight times each, from 1 to 10; the one right
response has to come first.

Every look is a judge of its own, so the panel's mean is the mean of the looks that gave a mark.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from as_suites import Answers, Evaluator, Report, json_lines, scale

LOOKS = 8
RESPONSES = ("right", "wrong-1", "wrong-2", "wrong-3")
SETS = (
    ("base", "gpt-5.4"),
    ("base", "gpt-5.4-mini"),
    ("base_nano", "gpt-5.4-nano"),
    ("criteria", "gpt-5.4"),
    ("criteria", "gpt-5.4-mini"),
)


def criterion(id: str) -> dict[str, Any]:
    return {
        "id": id,
        "requirement": f"The response {id} does what was asked",
        "anchors": scale(1, 10),
    }


def prompt(row: Mapping[str, Any]) -> str:
    """An id of a prompt; the data's own are unique within a subset only."""
    return f"{row['subset']}/{row['id']}"


def make(bench: Evaluator, rows: Sequence[Mapping[str, Any]], model: str) -> list[str]:
    """A case a prompt; the four responses are its criteria, each look a judge."""
    ids = [prompt(row) for row in rows]
    cases = [{"id": id, "tags": [row["subset"]]} for id, row in zip(ids, rows, strict=True)]
    bench.suite(
        [criterion(response) for response in RESPONSES],
        cases,
        {id: f"Four responses to {id}" for id in ids},
    )
    return [bench.judge(look_name(look), _looked(ids, rows, model, look)) for look in range(LOOKS)]


def look_name(look: int) -> str:
    return f"look-{look + 1}"


def _looked(
    ids: Sequence[str], rows: Sequence[Mapping[str, Any]], model: str, look: int
) -> dict[str, Answers]:
    return {
        id: {response: row[model][index][look] for index, response in enumerate(RESPONSES)}
        for id, row in zip(ids, rows, strict=True)
    }


def figures(means: Sequence[Sequence[float | None]]) -> dict[str, float]:
    """Over the prompts whose responses all have a mean: how often the right one is alone at the
    top.
    """
    whole = [[round(mean, 9) for mean in four if mean is not None] for four in means]
    whole = [four for four in whole if len(four) == len(RESPONSES)]
    correct = sum(four[0] > max(four[1:]) for four in whole)
    tied = sum(four.count(max(four)) > 1 for four in whole)
    return {"n": len(whole), "correct": correct, "tied": tied, "accuracy": correct / len(whole)}


def combined(report: Report) -> list[list[float | None]]:
    """What the panel came to, response by response; None where there is no mark."""
    found = [report.combined(response, 1, 10) for response in RESPONSES]
    return [[one.get(id) for one in found] for id in report.cases]


def looks(report: Report) -> list[list[list[int | None]]]:
    """Every mark as it is printed: by prompt, response and look."""
    by_look = [
        [report.marks(f"record:{look_name(look)}.jsonl", response, 1, 10) for look in range(LOOKS)]
        for response in RESPONSES
    ]
    return [[[look.get(id) for look in response] for response in by_look] for id in report.cases]


def mean(marks: Sequence[int | None]) -> float | None:
    given = [mark for mark in marks if mark is not None]
    return statistics.fmean(given) if given else None


Ran: TypeAlias = Callable[[str, str], tuple[Evaluator, Report]]


@pytest.fixture(scope="module")
def ran(shared_data: Any, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """A set run whole, all prompts and eight looks each; once."""
    folder = shared_data("rb2_ensemble")

    @cache
    def run(name: str, model: str) -> tuple[Evaluator, Report]:
        bench = Evaluator(tmp_path_factory.mktemp(model))
        return bench, bench.run(*make(bench, json_lines(folder / f"{name}.jsonl.gz"), model))

    return run


def check(report: Report, wanted: dict[str, Any]) -> None:
    """The panel's own means, and those of fewer looks from the marks that the report prints."""
    assert figures(combined(report)) == wanted["mean_k8"]
    marks = looks(report)
    for count in (1, 2, 3, 5, 8):
        means = [[mean(response[:count]) for response in prompt] for prompt in marks]
        assert figures(means) == wanted[f"mean_k{count}"], f"{count} looks"
    given = [
        [mark for mark in response if mark is not None] for prompt in marks for response in prompt
    ]
    assert LOOKS * len(given) - sum(map(len, given)) == wanted["null_scores"]
    spread = statistics.fmean(statistics.variance(some) for some in given if len(some) > 1)
    assert abs(spread - wanted["mean_within_response_sample_variance"]) < 1e-9


@pytest.mark.parametrize(("name", "model"), SETS)
def test_means_of_looks(ran: Ran, expected: Any, name: str, model: str) -> None:
    """One model, one way of asking: right, tied and counted prompts for one to eight looks."""
    check(ran(name, model)[1], expected("rb2_ensemble")[f"{name}/{model}"])


def test_the_median_throws_away_what_looks_bring(ran: Ran, expected: Any) -> None:
    """The recorded run scored again with the median: more ties, fewer right, and nothing is asked
    or run.
    """
    bench, report = ran("base", "gpt-5.4")
    again = bench.rescore(report.document["run"], "--combine", "median")
    assert figures(combined(again)) == expected("rb2_ensemble")["base/gpt-5.4"]["median_k8"]
    assert (again.document["usage"]["judge_calls"], again.document["usage"]["target_calls"]) == (
        0,
        0,
    )


def test_a_panel_of_three_models(ran: Ran, expected: Any, shared_data: Any) -> None:
    """The mean of the three models' means, and the vote of their winners, over the prompts that all
    three have.

    The reference figures join by the bare id, which 38 prompts share with one of another subset;
    there the last one stands. Joined by subset and id the panel has more prompts, checked against
    the rows themselves.
    """
    by_model = [
        dict(zip(report.cases, combined(report), strict=True))
        for _, report in (ran(name, model) for name, model in SETS[:3])
    ]
    wanted = expected("rb2_ensemble")
    bare = _common([{id.rpartition("/")[2]: four for id, four in one.items()} for one in by_model])
    assert (
        figures(_mean_of_means(bare)) == wanted["panel gpt-5.4+mini+nano base k8 (mean of means)"]
    )
    votes = [[sum(_winner(one) == place for one in three) for place in range(4)] for three in bare]
    assert figures(votes) == wanted["panel gpt-5.4+mini+nano base k8 (vote of unique winners)"]

    folder = shared_data("rb2_ensemble")
    rows = [
        {
            prompt(row): [mean(marks) for marks in row[model]]
            for row in json_lines(folder / f"{name}.jsonl.gz")
        }
        for name, model in SETS[:3]
    ]
    joined = figures(_mean_of_means(_common(by_model)))
    assert joined == figures(_mean_of_means(_common(rows)))
    assert joined["n"] > len(bare)


def _common(by_model: Sequence[Mapping[str, Sequence[float | None]]]) -> list[list[list[float]]]:
    """The models' means of every prompt for which all of them have all."""
    found = []
    for id in by_model[0]:
        three = [one[id] for one in by_model if id in one and None not in one[id]]
        if len(three) == len(by_model):
            found.append([[mark for mark in four if mark is not None] for four in three])
    return found


def _mean_of_means(prompts: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    return [[statistics.fmean(means) for means in zip(*three, strict=True)] for three in prompts]


def _winner(four: Sequence[float]) -> int | None:
    best = max(range(4), key=lambda place: four[place])
    return best if sum(math.isclose(mark, four[best]) for mark in four) == 1 else None


def test_a_prompt_with_an_unmarked_response_has_no_score(shared_data: Any, tmp_path: Path) -> None:
    """One look alone: what it left out is an interval, and the case is decided only where the bar
    lies outside it.
    """
    rows = json_lines(shared_data("rb2_ensemble") / "base_nano.jsonl.gz")
    bench = Evaluator(tmp_path)
    report = bench.run(make(bench, rows, "gpt-5.4-nano")[0], options=("--threshold", "50"))
    seen = Counter[str]()
    for row in rows:
        firsts = [marks[0] for marks in row["gpt-5.4-nano"]]
        case = report.cases[prompt(row)]
        for mark, entry in zip(firsts, case["criteria"], strict=True):
            assert (entry["score"] is None) == (mark is None)
            assert entry["interval"] == ([0, 100] if mark is None else [entry["score"]] * 2)
            assert mark is None or abs(entry["score"] - (mark - 1) * 100 / 9) < 1e-9
        low = sum(0 if mark is None else (mark - 1) * 25 / 9 for mark in firsts)
        high = low + 25 * firsts.count(None)
        if None in firsts:
            status = "passed" if low >= 50 else "failed" if high < 50 else "inconclusive"
            assert (case["score"], case["status"]) == (None, status)
            assert all(
                abs(a - b) < 1e-9 for a, b in zip(case["interval"], (low, high), strict=True)
            )
            seen[status] += 1
    assert seen["inconclusive"] > 0
    assert report.document["mean_score"] is None
    assert report.document["counts"]["inconclusive"] == seen["inconclusive"]


def test_a_case_a_response(shared_data: Any, tmp_path: Path) -> None:
    """The other way to write it, on the smallest subset: the case's own score is the mean of its
    looks, or missing.
    """
    rows = [
        r
        for r in json_lines(shared_data("rb2_ensemble") / "base.jsonl.gz")
        if r["subset"] == "Precise IF"
    ]
    marks = {
        f"{prompt(row)}/{response}": row["gpt-5.4"][index]
        for row in rows
        for index, response in enumerate(RESPONSES)
    }
    bench = Evaluator(tmp_path)
    bench.suite(
        [criterion("quality")], [{"id": id} for id in marks], {id: f"Response {id}" for id in marks}
    )
    specs = [
        bench.judge(look_name(look), {id: {"quality": given[look]} for id, given in marks.items()})
        for look in range(LOOKS)
    ]
    scores = bench.run(*specs).scores(1, 10)
    wanted = {id: mean(given) for id, given in marks.items()}
    assert scores.keys() == {id for id, figure in wanted.items() if figure is not None}
    assert all(math.isclose(score, wanted[id] or 0) for id, score in scores.items())
