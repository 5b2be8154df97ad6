"""HealthBench-style lines made of recorded checklists: the reader and the scorer give the sums done
by hand.
"""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.judges.record import RecordJudge
from honestone.interop.healthbench.write import dump_healthbench
from honestone.interop.recognise import read_any_suite


def rows_of(folder: Path, language: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{language}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [
            row
            for row in map(json.loads, file)
            if all(isinstance(met, bool) for met in row["eval"])
        ]


def points(n: int, size: int) -> int:
    """Every third question takes points away; the first of a row never does."""
    return -2 if n % 3 == 2 else 1 + (n + size) % 5


def as_line(row: dict[str, Any], *, graded: bool) -> str:
    size = len(row["eval"])
    labels = {n: label for n, kinds in enumerate(row["question_label"]) for label in kinds}
    rubrics = [
        {
            "criterion": text,
            "points": points(n, size) if graded else 1,
            "tags": [f"id:q{n}", f"kind:{labels.get(n, 'none')}"],
        }
        for n, text in enumerate(row["decomposed_questions"])
    ]
    prompt = [{"role": "user", "content": f"{row['instruction']}\n\n{row['input']}"}]
    return json.dumps(
        {
            "prompt_id": row["id"],
            "prompt": prompt,
            "rubrics": rubrics,
            "example_tags": [row["subset"]],
        },
        ensure_ascii=False,
    )


def judge_of(rows: list[dict[str, Any]], path: Path) -> RecordJudge:
    lines = [
        json.dumps(
            {
                "artifact": row["id"],
                "criteria": {f"q{n}": {"met": met} for n, met in enumerate(row["eval"])},
            }
        )
        for row in rows
    ]
    path.write_text("\n".join(lines), "utf-8")
    return RecordJudge("record", path)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_equal_points_give_the_published_ratio(
    language: str, shared_data: Any, expected: Any, scored: Any, tmp_path: Path
) -> None:
    """One point a question: a case's score is its share of yes; over all of them it is the set's
    own figure.
    """
    figures = expected("infobench_en_ko")[language]
    rows = rows_of(shared_data("infobench_en_ko"), language)
    path = tmp_path / "suite.jsonl"
    path.write_text("\n".join(as_line(row, graded=False) for row in rows) + "\n", "utf-8")
    cases = read_any_suite(path).suite.cases
    assert [case.id for case in cases] == [row["id"] for row in rows]
    judge = judge_of(rows, tmp_path / "answers.jsonl")
    cards = [scored(judge, case.rubric, case.id) for case in cases]
    won = sum(
        (card.score * len(case.rubric.criteria) for card, case in zip(cards, cases, strict=True)),
        Fraction(0),
    )
    assert won == figures["yes"]
    assert sum(card.score == 1 for card in cards) == figures["all_pass_items"]
    for subset, wanted in figures["by_subset"].items():
        inside = [
            (case, card) for case, card in zip(cases, cards, strict=True) if subset in case.tags
        ]
        assert (
            sum((card.score * len(case.rubric.criteria) for case, card in inside), Fraction(0))
            == wanted["yes"]
        )


def test_points_and_penalties(shared_data: Any, scored: Any, tmp_path: Path) -> None:
    """Points won over points to win, cut to 0..1, for five hundred real rows; and written they are
    the same suite.
    """
    rows = rows_of(shared_data("infobench_en_ko"), "en")
    path = tmp_path / "suite.jsonl"
    path.write_text("\n".join(as_line(row, graded=True) for row in rows) + "\n", "utf-8")
    suite = read_any_suite(path).suite
    judge = judge_of(rows, tmp_path / "answers.jsonl")
    for case, row in zip(suite.cases, rows, strict=True):
        gives = [points(n, len(row["eval"])) for n in range(len(row["eval"]))]
        won = Fraction(
            sum(p for p, met in zip(gives, row["eval"], strict=True) if met),
            sum(p for p in gives if p > 0),
        )
        assert scored(judge, case.rubric, case.id).score == min(max(won, Fraction(0)), Fraction(1))
    text, losses = dump_healthbench(suite)
    again = tmp_path / "again.jsonl"
    again.write_text(text, "utf-8")
    assert losses == [] and read_any_suite(again).suite == suite
