"""rulph's contracts and reports: the rubric in the table, and clear words where there is none."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import Rubric
from honestone.formats.source import ForeignRubric, SourceErrors
from honestone.formats.syntax.document import Document
from honestone.interop.recognise import read_any_rubric, read_any_suite
from honestone.interop.rulph.read import READERS

SAMPLES = Path(__file__).parents[3] / "../shared/data/samples/rulph"

CONTRACT = """\
# Release notes

## Evaluation Contract

**Target**: notes.md
**Threshold**: 85/100
**Per-criterion floor**: 60/100
**Max rounds**: 5

| # | Criterion | Weight | Sub-items | Formula |
|---|-----------|--------|-----------|---------|
| 1 | complete | 60% | □ Lists every change · □ Names the version · □ Says what breaks | (checked/3) × 100 |
| 2 | tone | 40% | 0: rude · 50: cold · 100: friendly | |

Pass condition: overall >= 85 AND every criterion >= 60
"""


def read_contract(text: str, name: str = "contract.md") -> Rubric:
    source = READERS[0].read(Document(path=Path(name), text=text))
    assert isinstance(source, ForeignRubric)
    return source.rubric


def wrong(text: str) -> list[tuple[str, str]]:
    with pytest.raises(SourceErrors) as raised:
        read_contract(text, "c.md")
    return [(str(error.place), error.message) for error in raised.value.errors]


def test_a_contract_is_a_rubric() -> None:
    """Weights, sub-items, levels, threshold and floor are what the table says."""
    rubric = read_contract(CONTRACT)
    complete, tone = rubric.criteria
    assert (rubric.title, rubric.threshold, rubric.floor) == (
        "Release notes",
        Fraction(85, 100),
        Fraction(60, 100),
    )
    assert (complete.id, complete.weight) == ("complete", 60)
    assert [item.requirement for item in complete.items] == [
        "Lists every change",
        "Names the version",
        "Says what breaks",
    ]
    assert tone.items[0].anchors is not None
    assert [(int(level), text) for level, text in tone.items[0].anchors.levels] == [
        (0, "rude"),
        (50, "cold"),
        (100, "friendly"),
    ]


@pytest.mark.parametrize(
    ("line", "rounds"),
    [
        ("**Max rounds**: 5", 5),
        ("**Max rounds:** 3", 3),
        ("Max rounds: 7", 7),
        ("- Max rounds = 12", 12),
        ("* **Maximum rounds**: `2` after the first scoring", 2),
        ("**MAX ROUNDS**: 100", 100),
        ("", None),
        ("**Rounds played**", None),
    ],
)
def test_the_rounds_of_a_contract_are_read(line: str, rounds: int | None) -> None:
    """`Max rounds` in each spelling of the line; without one the contract asks for none."""
    source = READERS[0].read(
        Document(path=Path("c.md"), text=CONTRACT.replace("**Max rounds**: 5", line))
    )
    assert isinstance(source, ForeignRubric)
    assert source.rounds == rounds
    assert any("--rounds" in note for note in source.notes) == (rounds is not None)


def test_a_contract_in_a_file_is_read_by_its_content(tmp_path: Path) -> None:
    """Whatever its name; remarks about it have a place in the Markdown."""
    (tmp_path / "x.txt").write_text(CONTRACT)
    source = read_any_rubric(tmp_path / "x.txt")
    assert isinstance(source, ForeignRubric) and source.dialect == "rulph"
    assert source.marked.at(("criteria", 1, "weight")) == f"{tmp_path / 'x.txt'}:13:14"
    with pytest.raises(UsageError, match="not a suite") as raised:
        read_any_suite(tmp_path / "x.txt")
    assert raised.value.place


def test_a_report_holds_its_contract() -> None:
    """A saved report names threshold and floor in its summary, and a criterion without sub-items is
    scored 0-100.
    """
    report = CONTRACT.replace(
        "# Release notes",
        "# Rubric-Loop Final Report\n\n**Rubric**: 2 criteria · threshold 90/100 · floor 70/100",
    )
    report = "\n".join(
        line for line in report.split("\n") if not line.startswith(("**Thr", "**Per"))
    )
    report = (
        report.replace("| Sub-items | Formula |", "| Description | |")
        .replace(
            "□ Lists every change · □ Names the version · □ Says what breaks", "Nothing is missing"
        )
        .replace("0: rude · 50: cold · 100: friendly", "Friendly")
    )
    rubric = read_contract(report)
    assert (rubric.title, rubric.threshold, rubric.floor) == ("", Fraction(9, 10), Fraction(7, 10))
    assert rubric.criteria[0].requirement == "Nothing is missing"
    assert (
        rubric.criteria[0].items[0].anchors is not None
        and rubric.criteria[0].items[0].anchors.highest == 100
    )


def test_the_real_report_is_read() -> None:
    """The report that the tool's authors saved."""
    path = SAMPLES / "2026-03-08-142131-report.md"
    if not path.exists():
        pytest.skip("the shared samples are not here")
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric)
    assert [int(c.weight) for c in source.rubric.criteria] == [20, 20, 25, 15, 20]
    assert (source.rubric.threshold, source.rubric.floor) == (Fraction(9, 10), Fraction(7, 10))


@pytest.mark.parametrize(
    ("old", "new", "place", "message"),
    [
        ("40%", "much", "c.md:13:14", "is not a number"),
        ("**Threshold**: 85/100\n", "", "c.md:3:1", "names no threshold"),
        ("85/100\n", "high\n", "c.md:6:", "the threshold is not a number"),
        ("| 2 | tone | 40% |", "| 2 | tone |", "c.md:13:1", "4 cells"),
        ("| tone |", "| complete |", "c.md:13:1", "two criteria have the id"),
        ("| 2 | tone", "| 2 | ", "c.md:13:", "has no name"),
        ("0: rude · 50: cold · 100: friendly", "polite words", "c.md:13:", "are not a checklist"),
        ("| Weight |", "| Wight |", "c.md:3:1", "no table with the columns"),
        ("\nPass condition", "...\nPass condition", "c.md:14:1", "continues with"),
        ("85/100\n", "185/100\n", "c.md:6:1", "must be from 0 to 100"),
        (
            "## Evaluation Contract",
            "## Final Scores",
            "c.md:3:1",
            "holds scores only: it lacks the Evaluation Contract",
        ),
        ("## Evaluation Contract", "## Agreement", "c.md:1:1", "has no Evaluation Contract"),
        *(
            ("rounds**: 5", f"rounds**: {value}", "c.md:8:", "not a whole number from 1 to 100")
            for value in ("0", "101", "2.5", "1,000", "many", "-3", "")
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_line(old: str, new: str, place: str, message: str) -> None:
    """A contract that cannot be read exactly is refused, where it is wrong."""
    assert old in CONTRACT
    found = wrong(CONTRACT.replace(old, new))
    assert any(at.startswith(place) and message in said for at, said in found), found


def test_a_reply_and_a_loop_state_are_known_for_what_they_are(tmp_path: Path) -> None:
    """They are no rubrics, and the hint says what to do with them."""
    reply = {"scores": {"a": 80}, "checklist": {"a": {"x": True}}, "suggestions": {}}
    state = {"rulph": {"round": 1, "threshold": 90, "status": "active"}}
    for content, message, hint in (
        (reply, "a judge's reply of rulph", "judges read"),
        (state, "the state of a rulph loop", "report"),
    ):
        (tmp_path / "x.json").write_text(json.dumps(content))
        with pytest.raises(UsageError, match=message) as raised:
            read_any_rubric(tmp_path / "x.json")
        assert raised.value.place and hint in str(raised.value.hint)


@pytest.mark.parametrize(
    "line",
    [
        "#" + " " * 100_000,
        "| " + "*" * 100_000 + "x | b",
        "|" * 100_000 + "x",
        "threshold" + " " * 100_000,
        "| 3 | c | 1% | " + " " * 100_000 + "x |",
        "| 3 | c | " + "9" * 100_000 + "% | □ x |",
    ],
)
def test_odd_lines_do_not_keep_the_reader_busy(line: str) -> None:
    """A line of a hundred thousand signs is read in one go, wherever it stands."""
    for text in (
        line + "\n" + CONTRACT,
        CONTRACT.replace("\nPass", line + "\nPass"),
        CONTRACT.replace("**Max", line + "\n**Max"),
    ):
        place: str | None = "read"
        try:
            read_contract(text)
        except UsageError as error:
            place = error.place
        assert place
