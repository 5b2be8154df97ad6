"""AgentV's grader-score files: ranges that the graders' scores of known outputs must stay in.

Such a file (`NAME.grader-scores.yaml`) belongs to the suite `NAME.yaml` next to it. Named itself, it is that suite's cases with
an `expect` each; the suite alone is read without them, because then it judges a target and not its graders.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.errors import UsageError
from honestone.core.rubric import Criterion
from honestone.core.suite.case import Case, Expect
from honestone.formats.document import Document
from honestone.formats.reader import Entry, Reading, Steps, did_you_mean, keys, shown
from honestone.formats.source import SuiteSource
from honestone.interop.agentv.suite import read_suite_file
from honestone.interop.reader import Reader

SCORE: Final = keys(
    "a range",
    """
    test_id* eval_id | the case of the suite next to it
    grader evaluator | the grader whose score is meant; without it the case's score
    range | `min` and `max`, 0-1: becomes `expect`
    - target note description | about the range
    """,
    "[].",
)
ENDS: Final = keys("`range`", "min max | the ends; one that is missing is open", "[].range.")
Range = tuple[Fraction, Fraction]


def is_scores_file(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "test_id" in one and "range" in one for one in value)
    )


def read_scores(document: Document) -> SuiteSource:
    """The suite next to a file of grader scores, with the cases it names and their ranges."""
    reading = Reading(document.marked)
    path = _suite_of(document)
    source = read_suite_file(Document.of(path))
    cases = {case.id: case for case in source.suite.cases}
    found: dict[str, dict[str, Range]] = {}
    for index in range(len(reading.marked.value)):
        for id, grader, range_ in _entry(Entry(reading, (index,)), cases):
            if grader in found.setdefault(id, {}):
                reading.problem(f"`{grader}` of `{id}` has two ranges", (index,))
            found[id][grader] = range_
    reading.finish()
    expected = tuple(replace(cases[id], expect=_expect(ranges)) for id, ranges in found.items())
    return replace(
        source,
        suite=replace(source.suite, cases=expected),
        files=(document.path, *source.files),
        notes=(
            *source.notes,
            *reading.notes,
            f"the scores of the graders are tested: a case passes when they stay in their ranges ({len(expected)} cases of {path.name})",
        ),
        places={case.id: document.marked.at((index,)) for index, case in enumerate(expected)},
    )


def _suite_of(document: Document) -> Path:
    stem = document.path.name.split(".grader-scores")[0]
    names = [f"{stem}{ending}" for ending in (".yaml", ".yml", ".eval.yaml", ".jsonl")]
    for name in names:
        path = document.path.with_name(name)
        if name != document.path.name and path.is_file():
            return path
    raise UsageError(
        "these are ranges for the scores of graders, but the suite they belong to is not there",
        place=document.marked.at(()),
        hint=f"it is looked for next to this file as {names[0]}",
    )


def _entry(take: Entry, cases: Mapping[str, Case]) -> Iterator[tuple[str, str, Range]]:
    take.read(SCORE)
    id, grader = take.text("test_id", "eval_id"), take.text("grader", "evaluator")
    range_ = _range(take)
    if id is None or range_ is None:
        return
    if id not in cases:
        hint = did_you_mean(id, cases)
        take.reading.problem(f"the suite has no case `{id}`", (*take.path, "test_id"), hint)
        return
    yield id, "score" if grader is None else _criterion(take, grader, cases[id]), range_


def _range(take: Entry) -> Range | None:
    value = take.raw("range")
    here = take.below("range")
    if not isinstance(value, dict):
        take.reading.problem(f"`range` must be a mapping with `min` and `max`, not {shown(value)}", here.path)
        return None
    here.read(ENDS)
    low, high = here.number("min", low=0, high=1), here.number("max", low=0, high=1)
    low, high = low if low is not None else Fraction(0), high if high is not None else Fraction(1)
    if low > high:
        here.reading.problem("`min` is above `max`", here.path)
    return low, high


def _criterion(take: Entry, grader: str, case: Case) -> str:
    """The criterion that a grader became: by name, else the one that judges mark."""
    top = case.rubric.criteria
    if any(one.id == grader for one in top):
        return grader
    judged = [one.id for one in top if _asks_judges(one)]
    path: Steps = (*take.path, "grader")
    if judged and grader.replace("_", "-") in ("rubrics", "rubric", "llm-rubric", "llm-grader", "llm-judge"):
        if judged[0] != grader:
            take.reading.note(f"the ranges of the grader `{grader}` are those of `{judged[0]}`")
        return judged[0]
    hint = did_you_mean(grader, [one.id for one in top]) or "it has " + ", ".join(f"`{one.id}`" for one in top)
    take.reading.problem(f"case `{case.id}` has no grader `{grader}`", path, hint)
    return grader


def _asks_judges(criterion: Criterion) -> bool:
    return any(item.check is None for node, _ in criterion.walk() for item in node.items)


def _expect(ranges: Mapping[str, Range]) -> Expect:
    return Expect(score=ranges.get("score"), criteria={name: ends for name, ends in ranges.items() if name != "score"})


SCORES: Final = Reader(
    name="agentv-grader-scores",
    title="an AgentV file of grader scores",
    gives="suite",
    signs=lambda document: 95 if not document.is_lines and is_scores_file(document.value) else 0,
    read=read_scores,
    looks_like=("test_id", "grader", "range"),
    defaults=("the suite next to it gives the cases; a range without an end is open there",),
    keys=(SCORE, ENDS),
    example="- test_id: greeting\n  grader: tone\n  range: {min: 0.6}\n",
)
