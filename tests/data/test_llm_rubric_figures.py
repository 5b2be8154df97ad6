"""LLM-Rubric: expected and most likely answers on a scale from 1 to 4 against one person a
dialogue.
"""

from __future__ import annotations

import csv
import json
import statistics
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.judges.record import RecordJudge
from honestone.formats.rubric.rubric_file import parse_rubric

QUESTIONS = tuple(f"Q{n}" for n in range(9))
RUBRIC = "rubric: 1\nfloor: 0\ncriteria:\n" + "".join(
    f"  - {{id: {q}, requirement: Question {q}, anchors: {{1: worst, 2: low, 3: high, 4: best}}}}\n"
    for q in QUESTIONS
)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def shares(row: dict[str, str]) -> list[float]:
    found = [float(row[f"answer{n}_prob"]) for n in range(1, 5)]
    return [share / sum(found) for share in found]


def mean_answer(row: dict[str, str]) -> float:
    return sum(n * share for n, share in enumerate(shares(row), 1))


def likeliest_answer(row: dict[str, str]) -> float:
    found = shares(row)
    return 1 + found.index(max(found))


@pytest.mark.parametrize(
    ("name", "answer"), [("expected_llm", mean_answer), ("argmax_llm", likeliest_answer)]
)
def test_scores_against_people(
    name: str, answer: Any, shared_data: Any, expected: Any, scored: Any, tmp_path: Path
) -> None:
    """The answers go in as recorded marks and come out as scores; on the scale again they give the
    published figures.
    """
    folder = shared_data("llm_rubric")
    figures = expected("llm_rubric")["real"]
    people = {
        row["text_id"]: row for row in table(folder / "human_judges_real_convs_FIXED_ANON.tsv")
    }
    answers: dict[str, dict[str, float]] = {}
    for row in table(folder / "gpt-3.5-turbo-16k_real_evaluations_FIXED.tsv"):
        if row["criterion"] in QUESTIONS and row["text_id"] in people:
            answers.setdefault(row["text_id"], {})[row["criterion"]] = answer(row)
    path = tmp_path / "answers.jsonl"
    lines = [
        {"artifact": id, "criteria": {q: {"score": n} for q, n in marks.items()}}
        for id, marks in answers.items()
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    rubric = parse_rubric(RUBRIC, "r.yaml").rubric
    judge = RecordJudge("record", path)
    cards = {id: scored(judge, rubric, id) for id in answers}
    for question in QUESTIONS:
        wanted = figures[question][name]
        machine = [float(1 + 3 * card.line(question).score) for card in cards.values()]
        person = [float(people[id][question]) for id in cards]
        rmse = statistics.fmean((m - p) ** 2 for m, p in zip(machine, person, strict=True)) ** 0.5
        assert len(machine) == wanted["N"]
        assert abs(statistics.fmean(machine) - wanted["mean"]) < 1e-9
        assert abs(statistics.stdev(machine) - wanted["std"]) < 1e-9
        assert abs(rmse - wanted["rmse"]) < 1e-9
        assert abs(statistics.correlation(machine, person) - wanted["pearson"]) < 1e-9
