"""AgentV's own files and recorded runs, where they are at hand: they load or are refused in place,
and scores come out the same.
"""

from __future__ import annotations

import json
import re
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from honestone.core.errors import UsageError
from honestone.core.judging.ballot import CHECK, Ballot, Mark
from honestone.core.judging.rubric import Criterion, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.formats.source import SourceErrors, SuiteSource, refuse_losses
from honestone.interop.recognise import read_any_suite

DATA = Path(__file__).parents[3] / "../shared/data"
OWN = DATA / "samples/agentv"

pytestmark = pytest.mark.skipif(
    not OWN.is_dir(), reason="the recorded AgentV files are not beside this checkout"
)

FILES = (
    sorted([*OWN.glob("**/*.yaml"), *DATA.glob("rubrics_wild/agentv/*.yaml")])
    if OWN.is_dir()
    else []
)
MUST = sorted(
    [
        *OWN.glob("v4*/inputs/*.eval.yaml"),
        OWN / "v2.5/rubric/dataset.yaml",
        OWN / "v2.5/weighted-evaluators/dataset.yaml",
        *(OWN / "v5-next" / name / "suite.yaml" for name in ("rubric", "assert", "deterministic")),
    ]
)


def strict(path: Path) -> SuiteSource:
    source = read_any_suite(path)
    refuse_losses(source.losses, source.dialect, accepted=False)
    return source


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_file_loads_or_is_refused_in_place(path: Path) -> None:
    """A suite with cases, or errors that each name the file and a line."""
    try:
        assert strict(path).suite.cases
    except UsageError as error:
        for one in error.errors if isinstance(error, SourceErrors) else (error,):
            assert re.search(r"\.(yaml|jsonl):\d+:\d+$", one.place or "")


@pytest.mark.parametrize("path", MUST, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_these_files_load_whole(path: Path) -> None:
    """The rubric examples and the recorded inputs are read without a loss."""
    assert strict(path).suite.cases


# -------------------------------------------------------------------------------------------------
# recorded scores


def rows(path: Path) -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()
    ]


def graders(row: dict[str, Any]) -> list[dict[str, Any]]:
    return list(row.get("evaluator_results") or row.get("scores") or [])


def told(grader: dict[str, Any]) -> dict[str, Any]:
    """What the recorded judge said, by the id in brackets: a mark of 10, or yes and no."""
    found: dict[str, Any] = {}
    said = [(text, True) for text in grader.get("hits", ())] + [
        (text, False) for text in grader.get("misses", ())
    ]
    said += [(one["text"], one["passed"]) for one in grader.get("assertions", ())]
    for text, passed in said:
        named = re.match(r"\[([\w-]+)\](?:.*?- Score: (\d+)/10)?", text)
        if named:
            found[named[1]] = int(named[2]) if named[2] else passed
    return found


def answers(criterion: Criterion, grader: dict[str, Any]) -> dict[tuple[str, str], Mark]:
    """The marks of a recorded grader for the criterion that it became; `rubric-2` is the second of
    its list.
    """
    if not criterion.children:
        (item,) = criterion.items
        score = grader["score"]
        return {(criterion.id, item.id): Mark(score if item.anchors is not None else score == 1)}
    marks = told(grader)
    return {
        (child.id, child.id): Mark(marks[name])
        for number, child in enumerate(criterion.children, 1)
        for name in (child.id if child.id in marks else f"rubric-{number}",)
    }


def scored(rubric: Rubric, marks: dict[tuple[str, str], Mark]) -> Any:
    code = {key for key, item in rubric.questions() if item.check is not None}
    ballots = [
        Ballot(judge=CHECK, marks={k: m for k, m in marks.items() if k in code}),
        Ballot(judge="j", marks={k: m for k, m in marks.items() if k not in code}),
    ]
    return Scorer(rubric).card([b for b in ballots if b.marks])


@pytest.mark.parametrize("name", ["rubric", "weighted-evaluators"])
def test_recorded_cases_score_the_same(name: str) -> None:
    """From the recorded judge's marks our arithmetic gives AgentV's case scores, weights and a
    weight of 0 included.
    """
    suite = strict(OWN / "v2.5" / name / "dataset.yaml").suite
    compared = 0
    for row in rows(OWN / "v2.5" / name / "dataset.baseline.jsonl"):
        rubric = suite.case(row["eval_id"]).rubric
        if not graders(row):
            continue
        marks: dict[tuple[str, str], Mark] = {}
        for criterion, grader in zip(rubric.criteria, graders(row), strict=True):
            marks |= answers(criterion, grader)
        assert scored(rubric, marks).score == Fraction(str(row["score"]))
        compared += 1
    assert compared >= 3


def test_recorded_graders_of_later_files_score_the_same() -> None:
    """Each rubric of the newest example, with ranges, scores as its recorded grader did."""
    suite = strict(OWN / "v5-next/rubric/suite.yaml").suite
    compared = 0
    for row in rows(OWN / "v5-next/rubric/suite.baseline.jsonl"):
        rubric = suite.case(row["test_id"]).rubric
        for grader in graders(row):
            if grader["name"] != "rubrics":
                continue
            criterion = next(
                (c for c in rubric.criteria if c.children and len(c.children) == len(told(grader))),
                None,
            )
            if criterion is None:
                continue  # the example was reworded since
            line = scored(rubric, answers(criterion, grader)).line(criterion.id)
            assert line.score is not None
            assert abs(line.score - Fraction(str(grader["score"]))) < Fraction(1, 10**9)
            compared += 1
    assert compared >= 3


def test_the_recorded_omission_does_not_pass_here() -> None:
    """The judge left out a required criterion of weight 10: AgentV recorded 1.0, here it is open
    and never passes.
    """
    from honestone.core.judging.scorecard import Outcome, judge_gate

    (case,) = strict(OWN / "v4.42.4-run/inputs/t.eval.yaml").suite.cases
    (row,) = rows(OWN / "v4.42.4-run/omit.index.jsonl")
    marks = {(id, id): Mark(answer) for id, answer in told(graders(row)[0]).items()}
    card = scored(case.rubric, marks)
    assert row["score"] == 1
    assert (card.score, card.low, card.high) == (None, Fraction(1, 11), 1)
    assert judge_gate(card, case.rubric).outcome is Outcome.INCONCLUSIVE
