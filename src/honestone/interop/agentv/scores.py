"""AgentV's grader-score files: ranges that the graders' scores of known outputs have to stay in.

Such a file (`NAME.grader-scores.yaml`) belongs to the suite `NAME.yaml` beside it. Named itself, it is that suite's cases with
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
from honestone.formats.fields import near
from honestone.formats.reader import keys
from honestone.interop.agentv.suite import read_suite_file
from honestone.interop.base import Steps, SuiteSource, Taking, Walk, shown
from honestone.interop.reader import Reader

Range = tuple[Fraction, Fraction]


def is_scores_file(value: Any) -> bool:
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(one, dict) and "test_id" in one and "range" in one for one in value)
    )


def read_scores(document: Document) -> SuiteSource:
    """The suite beside a file of grader scores, with the cases it names and their ranges."""
    walk = Walk(document.marked)
    path = _suite_beside(document)
    source = read_suite_file(Document.of(path))
    cases = {case.id: case for case in source.suite.cases}
    found: dict[str, dict[str, Range]] = {}
    for index in range(len(walk.marked.value)):
        for id, grader, range_ in _entry(Taking(walk, (index,)), cases):
            if grader in found.setdefault(id, {}):
                walk.problem(f"`{grader}` of `{id}` has two ranges", (index,))
            found[id][grader] = range_
    walk.finish()
    expected = tuple(replace(cases[id], expect=_expect(ranges)) for id, ranges in found.items())
    return replace(
        source,
        suite=replace(source.suite, cases=expected),
        files=(document.path, *source.files),
        notes=(
            *source.notes,
            *walk.notes,
            f"the scores of the graders are tested: a case passes when they stay in their ranges ({len(expected)} cases of {path.name})",
        ),
        places={case.id: document.marked.at((index,)) for index, case in enumerate(expected)},
    )


def _suite_beside(document: Document) -> Path:
    stem = document.path.name.split(".grader-scores")[0]
    names = [f"{stem}{ending}" for ending in (".yaml", ".yml", ".eval.yaml", ".jsonl")]
    for name in names:
        path = document.path.with_name(name)
        if name != document.path.name and path.is_file():
            return path
    raise UsageError(
        "these are ranges for the scores of graders, but the suite they belong to is not there",
        place=document.marked.at(()),
        hint=f"it is looked for beside this file as {names[0]}",
    )


def _entry(take: Taking, cases: Mapping[str, Case]) -> Iterator[tuple[str, str, Range]]:
    id, grader = take.text("test_id", "eval_id", required=True), take.text("grader", "evaluator")
    range_ = _range(take)
    take.ignore("target", "note", "description")
    take.close("a range")
    if id is None or range_ is None:
        return
    if id not in cases:
        meant = near(id, list(cases))
        take.walk.problem(
            f"the suite has no case `{id}`", (*take.path, "test_id"), f"did you mean `{meant}`?" if meant else None
        )
        return
    yield id, "score" if grader is None else _criterion(take, grader, cases[id]), range_


def _range(take: Taking) -> Range | None:
    value = take.raw("range")
    here = take.below("range")
    if not isinstance(value, dict):
        take.walk.problem(f"`range` must be a mapping with `min` and `max`, not {shown(value)}", here.path)
        return None
    low, high = here.number("min", low=0, high=1), here.number("max", low=0, high=1)
    here.close("`range`")
    low, high = low if low is not None else Fraction(0), high if high is not None else Fraction(1)
    if low > high:
        here.walk.problem("`min` is above `max`", here.path)
    return low, high


def _criterion(take: Taking, grader: str, case: Case) -> str:
    """The criterion that a grader became: by name, else the one that judges mark."""
    top = case.rubric.criteria
    if any(one.id == grader for one in top):
        return grader
    judged = [one.id for one in top if _asks_judges(one)]
    path: Steps = (*take.path, "grader")
    if judged and grader.replace("_", "-") in ("rubrics", "rubric", "llm-rubric", "llm-grader", "llm-judge"):
        if judged[0] != grader:
            take.walk.note(f"the ranges of the grader `{grader}` are those of `{judged[0]}`")
        return judged[0]
    meant = near(grader, [one.id for one in top])
    take.walk.problem(
        f"case `{case.id}` has no grader `{grader}`",
        path,
        f"did you mean `{meant}`?" if meant else "it has " + ", ".join(f"`{one.id}`" for one in top),
    )
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
    defaults=("the suite beside it gives the cases; a range without an end is open there",),
    keys=(
        keys(
            "",
            """
    [].test_id | the case of the suite beside it
    [].grader | the grader whose score is meant; without it the case's score
    [].range | `min` and `max`, 0-1: becomes `expect`
            """,
        ),
    ),
    example="- test_id: greeting\n  grader: tone\n  range: {min: 0.6}\n",
)
