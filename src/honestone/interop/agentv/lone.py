"""AgentV rubrics without cases, as its rubric page shows most of them: `rubrics:`, `evaluators:`, or a list of criteria.

There is nothing to run in such a file, but an artifact can be judged by it.
"""

from __future__ import annotations

from typing import Any, Final

from honestone.core.errors import RubricError
from honestone.core.numbers import ZERO
from honestone.core.rubric import Criterion, Rubric
from honestone.formats.document import Document
from honestone.formats.reader import Entry, Reading, keys
from honestone.formats.source import ForeignRubric
from honestone.interop.agentv.dialect import GRADER_LISTS, PASS_MARK, Dialect, dialect_of
from honestone.interop.agentv.graders import Frame, as_top_level, read_graders
from honestone.interop.agentv.rubrics import read_criteria, read_criterion
from honestone.interop.agentv.text import Texts
from honestone.interop.reader import Reader

_ABOUT: Final = ("$schema", "name", "version", "description", "threshold")
_HOLDERS: Final = (*GRADER_LISTS, "rubrics", "execution")
_TEXTS: Final = {"expected_outcome", "outcome"}
_CRITERION: Final = {"id", "weight", "required", "score_ranges", "required_min_score", "min_score", "operator"} | _TEXTS


RUBRIC: Final = keys(
    "an AgentV rubric",
    """
    rubrics | the criteria: texts, or mappings as in a case; a list of them may be the whole file
    evaluators assert assertions execution | each grader is a group of criteria; also under `execution`
    threshold | what must be reached, 0-1
    name | the title
    - $schema version description | about the file, not about its criteria
    """,
)


def signs(document: Document) -> int:
    """Nothing in the file but graders, or criteria in AgentV's words."""
    if document.is_lines:
        return 0
    value = document.value
    if isinstance(value, list):
        return 70 if _are_criteria(value) and any(entry.keys() & _TEXTS for entry in value) else 0
    if not isinstance(value, dict) or not value.keys() & set(_HOLDERS) or value.keys() - {*_ABOUT, *_HOLDERS}:
        return 0
    execution = value.get("execution", {})
    if not isinstance(execution, dict) or execution.keys() - set(GRADER_LISTS):
        return 0
    own = value.get("rubrics")
    if own is not None:
        return 70 if isinstance(own, list) and _are_criteria([e for e in own if not isinstance(e, str)]) else 0
    return 70 if dialect_of(value) is not None else 0


def _are_criteria(entries: list[Any]) -> bool:
    return all(isinstance(entry, dict) and bool(entry.keys() & _CRITERION) for entry in entries)


def read(document: Document) -> ForeignRubric:
    """Raises SourceErrors with all that is wrong."""
    reading, dialect = Reading(document.marked), _dialect(document.value)
    top = reading.at()
    bar, title = PASS_MARK, ""
    if isinstance(document.value, list):
        criteria = [one for index in range(len(document.value)) for one in _of_entry(reading, index, dialect)]
    else:
        top.read(RUBRIC)
        bar, title = top.number("threshold", low=0, high=1) or bar, top.text("name") or ""
        criteria = _of_mapping(top, Frame(dialect=dialect, texts=Texts(document.path.parent), threshold=bar))
    rubric = _rubric(top, criteria, bar, title)
    reading.finish()
    assert rubric is not None
    notes = (dialect.said, f"it passes at {float(bar * 100):g}, without a floor", *reading.notes)
    return ForeignRubric(
        rubric=rubric, dialect=dialect.name, marked=document.marked, notes=notes, losses=tuple(reading.losses)
    )


def _dialect(value: Any) -> Dialect:
    """As if there were cases: `evalcases` had `rubrics` and `evaluators`, `tests` have lists of assertions."""
    plain = value if isinstance(value, dict) else {"rubrics": value}
    later = plain.keys() & {"assert", "assertions"} or dict(plain.get("execution") or {}).keys() & {
        "assert",
        "assertions",
    }
    found = dialect_of({**plain, "tests" if later else "evalcases": []})
    assert found is not None
    return found


def _of_entry(reading: Reading, index: int, dialect: Dialect) -> list[Criterion]:
    here = Entry(reading, (index,))
    return list(read_criterion(here, dialect, {}))


def _of_mapping(top: Entry, frame: Frame) -> list[Criterion]:
    """`rubrics` are the criteria themselves; each grader is a group of its own."""
    found = list(read_criteria(top, "rubrics", frame.dialect, {})) if "rubrics" in top else []
    holders = [top]
    if "execution" in top:
        holders.append(top.below("execution"))
    for holder in holders:
        for key in GRADER_LISTS:
            found += read_graders(holder, key, frame)
    return found


def _rubric(top: Entry, criteria: list[Criterion], bar: Any, title: str) -> Rubric | None:
    if not criteria and top.reading.problems:
        return None  # they say why
    if not criteria:
        lost = top.reading.losses
        top.reading.problem("there is nothing to judge by", top.path, lost[0].message if lost else "name a criterion")
        return None
    try:
        return Rubric(criteria=as_top_level(criteria), threshold=bar, floor=ZERO, title=title)
    except RubricError as error:
        top.reading.problem(error.message, top.path, error.hint)
        return None


LONE: Final = Reader(
    name="agentv-rubric",
    title="an AgentV rubric (it has no cases)",
    gives="rubric",
    signs=signs,
    read=read,
    defaults=("it passes at 80, without a floor", "`required` as in the dialect whose words it uses"),
    looks_like=("rubrics", "evaluators"),
    keys=(RUBRIC,),
    example="""\
rubrics:
  - Says what it costs
  - {id: honest, expected_outcome: Hides no drawback, weight: 2, required: true}
""",
)
