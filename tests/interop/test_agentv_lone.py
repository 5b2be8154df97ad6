"""AgentV rubrics without cases, which its rubric page shows most of: an artifact can be judged by
them as they stand.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest
from reading import lost, put, rubric_of, wrong

from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.formats.syntax.document import Document
from honestone.interop.agentv.read import READERS
from honestone.interop.recognise import read_any_rubric, recognise

LONE = next(reader for reader in READERS if reader.name == "agentv-rubric")


def outcome(rubric: Rubric, answers: dict[str, bool | float]) -> tuple[Fraction | None, Outcome]:
    card = Scorer(rubric).card(
        [Ballot(judge="j", marks={(id, id): Mark(a) for id, a in answers.items()})]
    )
    return card.score, judge_gate(card, rubric).outcome


def test_strings_are_criteria_of_equal_weight_and_none_is_required(tmp_path: Path) -> None:
    """Two of three plain strings are two thirds; the default of `required` is told."""
    source = rubric_of(
        LONE, put(tmp_path, "rubrics: [Names the day, Names the place, Names the price]\n")
    )
    score, how = outcome(
        source.rubric, {"names-the-day": True, "names-the-place": True, "names-the-price": False}
    )
    assert (score, how) == (Fraction(2, 3), Outcome.FAIL)
    assert source.rubric.floor == 0 and source.rubric.threshold == Fraction(4, 5)
    assert any("`required` is false" in note for note in source.notes)


def test_the_page_s_sum(tmp_path: Path) -> None:
    """0.9 of weight 3, 0.8 of weight 1 and 0.7 of weight 2 make 4.9 of 6."""
    one = "- {{id: {}, expected_outcome: Good, weight: {}, score_ranges: {{0: none, 5: half, 10: all}}}}"
    text = "\n".join(one.format(id, weight) for id, weight in (("a", 3), ("b", 1), ("c", 2)))
    for written in (text, "rubrics:\n" + text):
        source = rubric_of(LONE, put(tmp_path, written + "\n"))
        assert outcome(source.rubric, {"a": 9, "b": 8, "c": 7})[0] == Fraction(49, 60)


@pytest.mark.parametrize("where", ["evaluators", "execution"])
def test_evaluators_without_cases(tmp_path: Path, where: str) -> None:
    """At the top or under `execution`; a required criterion at 0 fails whatever the mean is."""
    lines = [
        "evaluators:",
        "  - name: safe",
        "    type: rubric",
        "    rubrics:",
        "      - {id: harmless, expected_outcome: Harms nobody, weight: 1, required: true}",
        "      - {id: kind, expected_outcome: Kind, weight: 9}",
    ]
    text = (
        "\n".join(lines)
        if where == "evaluators"
        else "execution:\n" + "\n".join("  " + line for line in lines)
    )
    rubric = rubric_of(LONE, put(tmp_path, text + "\n")).rubric
    assert [(c.id, c.required) for c, _ in rubric.walk()] == [
        ("safe", False),
        ("harmless", True),
        ("kind", False),
    ]
    assert outcome(rubric, {"harmless": False, "kind": True}) == (Fraction(9, 10), Outcome.FAIL)
    assert outcome(rubric, {"harmless": True, "kind": True})[1] is Outcome.PASS


def test_later_words_mean_required(tmp_path: Path) -> None:
    """`outcome` and lists of assertions are AgentV's own dialects, where a yes/no criterion is
    required; a code grader is a check.
    """
    text = "assertions:\n  - {type: contains, value: yes}\n  - {type: rubrics, criteria: [{id: a, outcome: A}]}\n"
    source = rubric_of(LONE, put(tmp_path, text))
    assert next(c for c, _ in source.rubric.walk() if c.id == "a").required
    assert any(item.check is not None for _, item in source.rubric.questions())
    assert source.dialect == "agentv-4"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("rubrics:\n  - {id: a, weight: 3}\n", "2:5"),
        ("- {id: a, expected_outcome: A}\n- {id: b}\n", "2:3"),
        ("- {id: a, expected_outcome: A, wight: 3}\n", "1:32"),
        ("rubrics: []\n", "1:10"),
        ("name: x\nthreshold: 7\nrubrics: [a]\n", "2:12"),
        ("- {id: a, expected_outcome: A}\n- b\n", ""),
    ],
)
def test_what_is_wrong_is_told_in_place(tmp_path: Path, text: str, place: str) -> None:
    """Row 10: a criterion without text is an error at its line, as is an unknown key; a mixed list
    is no such file.
    """
    document = put(tmp_path, text)
    if not place:
        assert LONE.signs(document) == 0
        return
    assert LONE.signs(document) > 0
    assert wrong(LONE, document)[0].startswith(place)


def test_a_grader_that_is_lost_is_told(tmp_path: Path) -> None:
    """A grader that is a program of AgentV's own is a loss with its place."""
    text = "assertions:\n  - {type: rubrics, criteria: [{id: a, outcome: A}]}\n  - {type: my-own-thing}\n"
    assert lost(rubric_of(LONE, put(tmp_path, text)))[0].startswith("3:5")


@pytest.mark.parametrize(
    "text",
    [
        "rubrics: 3\n",
        "rubrics: [3]\n",
        "rubrics: [{points: 5, criterion: x}]\n",
        "evaluators: []\n",
        "- a\n- b\n",
        "- {name: x, weight: 1, requirement: y}\n",
        "rubrics: [a]\nprompt: b\n",
        "execution: {evaluators: [{type: rubric}], target: x}\n",
    ],
)
def test_other_files_are_not_taken(tmp_path: Path, text: str) -> None:
    """Lists of other things, files with more in them, and files with cases are left to their own
    readers.
    """
    assert LONE.signs(put(tmp_path, text)) == 0
    for reader in READERS:
        if reader is not LONE and reader.example and reader.name != "agentv-jsonl":
            assert recognise(put(tmp_path, reader.example)) is not LONE


def test_the_example_of_the_reference_is_read_by_content(tmp_path: Path) -> None:
    """Whatever the file is called."""
    path = tmp_path / "notes.txt"
    path.write_text(LONE.example)
    assert recognise(Document.of(path)) is LONE
    assert [c.required for c in read_any_rubric(path).rubric.criteria] == [False, True]
