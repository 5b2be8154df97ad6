"""AgentV files that are rubrics without cases."""

from __future__ import annotations

from typing import Any, Final

from honestone.core.judging.rubric import Criterion, Rubric
from honestone.core.numbers import ZERO
from honestone.formats.source import ForeignRubric
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import (
    FileEntry,
)
from honestone.interop.agentv import dialect as dialects
from honestone.interop.agentv.code_graders import Frame
from honestone.interop.agentv.dialect import TABLES
from honestone.interop.agentv.graders import read_graders
from honestone.interop.agentv.rubrics import read_criteria, read_criterion
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import NO_VARIABLES, Texts
from honestone.interop.criteria import sound_rubric, unique_ids

_ABOUT: Final = ("$schema", "name", "version", "description", "threshold")
_HOLDERS: Final = (*dialects.GRADER_LISTS, "rubrics", "execution")
_TEXTS: Final = {"expected_outcome", "outcome"}

_CRITERION: Final = {
    "id",
    "weight",
    "required",
    "score_ranges",
    "required_min_score",
    "min_score",
    "operator",
} | _TEXTS


def signs_of_rubric(document: Document) -> int:
    """Nothing in the file but graders, or criteria in AgentV's words."""
    if document.is_lines:
        return 0
    value = document.value
    if isinstance(value, list):
        return 70 if _are_criteria(value) and any(entry.keys() & _TEXTS for entry in value) else 0
    if (
        not isinstance(value, dict)
        or not value.keys() & set(_HOLDERS)
        or value.keys() - {*_ABOUT, *_HOLDERS}
    ):
        return 0
    execution = value.get("execution", {})
    if not isinstance(execution, dict) or execution.keys() - set(dialects.GRADER_LISTS):
        return 0
    own = value.get("rubrics")
    if own is not None:
        return (
            70
            if isinstance(own, list) and _are_criteria([e for e in own if not isinstance(e, str)])
            else 0
        )
    return 70 if dialects.dialect_of(value) is not None else 0


def _are_criteria(entries: list[Any]) -> bool:
    return all(isinstance(entry, dict) and bool(entry.keys() & _CRITERION) for entry in entries)


def read_lone_rubric(document: Document) -> ForeignRubric:
    """Raises SourceErrors with all that is wrong."""
    reading, dialect = reading_of(document.marked), _dialect(document.value)
    top = reading.at()
    bar, title = dialects.PASS_MARK, ""
    if isinstance(document.value, list):
        criteria = [
            one
            for index in range(len(document.value))
            for one in read_criterion(reading.at((index,)), dialect, NO_VARIABLES)
        ]
    else:
        top.read(TABLES["rubric"])
        bar, title = top.number("threshold", low=0, high=1) or bar, top.text("name") or ""
        criteria = _of_mapping(
            top, Frame(dialect=dialect, texts=Texts(document.path.parent), threshold=bar)
        )
    rubric = _rubric(top, criteria, bar, title)
    reading.finish()
    assert rubric is not None
    reading.notes = [
        dialect.description,
        f"it passes at {float(bar * 100):g}, without a floor",
        *reading.notes,
    ]
    return reading.rubric_source(rubric, dialect.name)


def _dialect(value: Any) -> dialects.Dialect:
    """As if there were cases: `evalcases` had `rubrics` and `evaluators`, `tests` have lists of
    assertions.
    """
    plain = value if isinstance(value, dict) else {"rubrics": value}
    later = plain.keys() & {"assert", "assertions"} or dict(plain.get("execution") or {}).keys() & {
        "assert",
        "assertions",
    }
    found = dialects.dialect_of({**plain, "tests" if later else "evalcases": []})
    assert found is not None
    return found


def _of_mapping(top: FileEntry, frame: Frame) -> list[Criterion]:
    """`rubrics` are the criteria themselves; each grader is a group of its own."""
    found = (
        list(read_criteria(top, "rubrics", frame.dialect, NO_VARIABLES)) if "rubrics" in top else []
    )
    holders = [top]
    if "execution" in top:
        holders.append(top.below("execution"))
    for holder in holders:
        for key in dialects.GRADER_LISTS:
            found += read_graders(holder, key, frame)
    return found


def _rubric(top: FileEntry, criteria: list[Criterion], bar: Any, title: str) -> Rubric | None:
    if not criteria and top.reading.problems:
        return None  # they say why
    if not criteria:
        lost = top.reading.losses
        top.problem(
            "there is nothing to judge by", hint=lost[0].message if lost else "name a criterion"
        )
        return None
    return sound_rubric(
        top.reading, top.path, unique_ids(criteria), threshold=bar, floor=ZERO, title=title
    )
