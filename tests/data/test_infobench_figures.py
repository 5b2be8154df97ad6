"""InFoBench, English and Korean: yes/no checklists whose recorded answers give the published
ratios.
"""

from __future__ import annotations

import gzip
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.judges.record import RecordJudge
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.formats.rubric.rubric_file import parse_rubric
from honestone.formats.rubric.rubric_write import dump_rubric


def rows_of(folder: Path, language: str) -> list[dict[str, Any]]:
    with gzip.open(folder / f"{language}.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def checklist(row: dict[str, Any]) -> Rubric:
    """As many items as the set records answers to: one row has a single null for its five
    questions.
    """
    asked = row["decomposed_questions"][: len(row["eval"])]
    items = tuple(Item(id=f"q{n}", requirement=text) for n, text in enumerate(asked))
    rubric = Rubric(
        criteria=(Criterion(id="c", requirement=row["id"], items=items),), floor=Fraction(0)
    )
    return parse_rubric(dump_rubric(rubric), "written").rubric


def recorded(rows: list[dict[str, Any]], path: Path) -> RecordJudge:
    path.write_text(
        "\n".join(
            json.dumps(
                {
                    "artifact": row["id"],
                    "criteria": {
                        "c": {"items": {f"q{n}": {"met": met} for n, met in enumerate(row["eval"])}}
                    },
                }
            )
            for row in rows
        ),
        "utf-8",
    )
    return RecordJudge("record", path)


@pytest.mark.parametrize("language", ["en", "ko"])
def test_ratios(
    language: str, shared_data: Any, expected: Any, scored: Any, tmp_path: Path
) -> None:
    """The share of met requirements over all questions, its mean over rows, and the rows with
    everything met.

    The set counts a null answer as a no; here it is open, so the published figure is the lower end.
    """
    figures = expected("infobench_en_ko")[language]
    rows = rows_of(shared_data("infobench_en_ko"), language)
    judge = recorded(rows, tmp_path / "answers.jsonl")
    cards = [scored(judge, checklist(row), row["id"]) for row in rows]
    asked = sum(len(row["eval"]) for row in rows)
    met = sum(card.low * len(row["eval"]) for card, row in zip(cards, rows, strict=True))
    assert (len(rows), asked, met) == (figures["items"], figures["questions"], figures["yes"])
    assert abs(float(met / asked) - figures["drfr"]) < 1e-12
    mean = sum((card.low for card in cards), Fraction(0)) / len(cards)
    assert abs(float(mean) - figures["macro_mean_of_item_rates"]) < 1e-12
    assert sum(card.score == 1 for card in cards) == figures["all_pass_items"]
    unanswered = [card for card in cards if card.score is None]
    assert len(unanswered) == figures["non_boolean"]
    assert all((card.low, card.high) == (0, 1) for card in unanswered)


def test_one_rubric_for_all(shared_data: Any, expected: Any) -> None:
    """Rows as groups weighted by their questions: the overall score is the micro ratio, by equal
    weights the macro one.
    """
    figures = expected("infobench_en_ko")["en"]
    rows = rows_of(shared_data("infobench_en_ko"), "en")
    groups, marks = [], {}
    for row in rows:
        items = tuple(
            Item(id=f"q{n}", requirement=q) for n, q in enumerate(row["decomposed_questions"])
        )
        groups.append(
            Criterion(id=row["id"], requirement=row["id"], weight=Fraction(len(items)), items=items)
        )
        marks.update({(row["id"], f"q{n}"): Mark(met) for n, met in enumerate(row["eval"])})
    ballot = Ballot(judge="gpt", marks=marks)
    micro = Scorer(Rubric(criteria=tuple(groups))).card([ballot]).score
    assert micro == Fraction(figures["yes"], figures["questions"])
    equal = tuple(Criterion(id=g.id, requirement=g.requirement, items=g.items) for g in groups)
    macro = Scorer(Rubric(criteria=equal)).card([ballot]).score
    assert macro is not None and abs(float(macro) - figures["macro_mean_of_item_rates"]) < 1e-12


@pytest.mark.parametrize("language", ["en", "ko"])
def test_by_label(language: str, shared_data: Any, expected: Any) -> None:
    """The yes answers of each kind of question, one criterion a kind."""
    figures = expected("infobench_en_ko")[language]["by_label"]
    rows = rows_of(shared_data("infobench_en_ko"), language)
    for label, wanted in figures.items():
        found = [
            (f"{row['id']}/{n}", met)
            for row in rows
            for n, (met, labels) in enumerate(zip(row["eval"], row["question_label"], strict=False))
            if label in labels
        ]
        items = tuple(Item(id=id, requirement=id) for id, _ in found)
        rubric = Rubric(criteria=(Criterion(id=label, requirement=label, items=items),))
        marks = {(label, id): Mark(met) for id, met in found if isinstance(met, bool)}
        card = Scorer(rubric).card([Ballot(judge="gpt", marks=marks)])
        assert (len(found), card.low) == (wanted["n"], Fraction(wanted["yes"], wanted["n"]))
