"""HealthBench: JSON lines, each a conversation with criteria that give points or take them away.
One line is one case.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from honestone.core.judging.rubric import DEFAULT_THRESHOLD, Criterion, Rubric, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading, shown
from honestone.interop.criteria import sound_rubric, unique_ids, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

# A criterion's tag that starts so is its id: the format has no other place for one.
ID_TAG: Final = "id:"
REFERENCE = "the ideal completion is the case's reference, which judges see; HealthBench's own grader is not shown it"
CRITERION_TAGS: Final = "criterion_tags"
METADATA_KEYS: Final = ("ideal_completions_group", "ideal_completions_ref_completions")


def signs(document: Document) -> int:
    value = document.value
    row = value[0] if isinstance(value, list) and value else value
    if not isinstance(row, dict) or not isinstance(row.get("rubrics"), list):
        return 0
    entries = [entry for entry in row["rubrics"] if isinstance(entry, dict)]
    if any("criterion" in entry and "points" in entry for entry in entries):
        return 95 if "prompt" in row else 70
    return 60 if {"prompt", "prompt_id"} & set(row) else 0


def read(document: Document) -> SuiteSource:
    cases = Cases("lines")
    readings: list[FileReading] = []
    for reading, row in _rows(document):
        if not readings or reading is not readings[-1]:
            readings.append(reading)
        cases.add(_case(reading, row, len(cases) + 1), row, key="prompt_id")
    whole = readings[0]
    notes, whole.notes = whole.notes, [NOTES["no-bars"], NOTES["cut"]]
    whole.note(*notes)
    whole.join(*readings[1:])
    whole.finish()
    return whole.suite_source(document.path, "healthbench", Suite(cases=cases.all()), cases)


def _rows(document: Document) -> Iterator[tuple[FileReading, FileEntry]]:
    """Every case with the reading it belongs to: one a line, or one for a whole JSON file (an
    object or a list).
    """
    if document.is_lines:
        for row in document.rows:
            reading = FileReading(row.marked)
            yield reading, reading.at()
        return
    whole = FileReading(document.marked)
    top = whole.at()
    yield from ((whole, row) for row in (top.rows() if isinstance(top.value, list) else [top]))


def _case(reading: FileReading, row: FileEntry, number: int) -> Case | None:
    if not row.read(TABLES["line"]):
        return None
    wrong = len(reading.problems)
    id = row.text("prompt_id")
    if id is None:
        reading.note("a line without `prompt_id` is called by its number")
    messages = tuple(_messages(reading, row))
    tags = row.texts("example_tags") or []
    ideal = _ideal(reading, row)
    canary = row.text("canary")
    rubric, criterion_tags = _rubric(reading, row)
    if rubric is None or len(reading.problems) > wrong:
        return None
    metadata = {key: ideal[key] for key in METADATA_KEYS if key in ideal}
    if criterion_tags:
        metadata[CRITERION_TAGS] = criterion_tags
        reading.note("the tags of single criteria are kept in each case's metadata")
    if canary is not None:
        metadata["canary"] = canary
    return Case(
        id=id or f"line-{number}",
        rubric=rubric,
        messages=messages,
        reference=ideal.get("ideal_completion"),
        tags=tuple(tags),
        metadata=metadata,
    )


def _messages(reading: FileReading, row: FileEntry) -> Iterator[Message]:
    if "prompt" not in row:
        row.problem("`prompt` is missing", hint='a list of {"role", "content"}')
    empty = isinstance(row.raw("prompt"), list) and not row.raw("prompt")
    if empty:
        row.problem("`prompt` is empty", "prompt", 'a list of {"role", "content"}')
    for message in row.mappings("prompt", TABLES["message"]):
        role = message.text("role")
        content = message.raw("content")
        if not isinstance(content, str):
            reading.problem(f"`content` must be text, not {shown(content)}", message.path)
        if role is not None and isinstance(content, str):
            yield Message(role, content)


def _ideal(reading: FileReading, row: FileEntry) -> Mapping[str, Any]:
    """The ideal completion and what belongs to it."""
    data = row.mapping("ideal_completions_data", TABLES["ideal"])
    if data is None:
        return {}
    found: dict[str, object] = {}
    for key in ("ideal_completion", "ideal_completions_group"):
        text = data.text(key)
        if text is not None:
            found[key] = text
    others = data.texts("ideal_completions_ref_completions")
    if others is not None:
        found["ideal_completions_ref_completions"] = others
    if "ideal_completion" in found:
        reading.note(REFERENCE)
    return found


def _rubric(reading: FileReading, row: FileEntry) -> tuple[Rubric | None, dict[str, list[str]]]:
    """The criteria of a line, and the tags of each by its id."""
    here = (*row.path, "rubrics")
    wrong = len(reading.problems)
    entries = list(row.each("rubrics"))
    read = [found for entry in entries if (found := _criterion(reading, entry)) is not None]
    if len(reading.problems) > wrong:
        return None, {}
    if not read:
        reading.problem("this line has no criteria", here if "rubrics" in row else row.path)
        return None, {}
    named = unique_ids([criterion for criterion, _ in read])
    if not any(criterion.weight > 0 for criterion in named):
        reading.problem(
            "no criterion of this line gives points: a score is a share of the points that can be won",
            here,
            "give one criterion `points` above 0",
        )
        return None, {}
    tags = {criterion.id: tags for criterion, (_, tags) in zip(named, read, strict=True) if tags}
    bars = {"threshold": DEFAULT_THRESHOLD, "floor": Fraction(0)}
    return sound_rubric(reading, here, named, **bars), tags


def _criterion(reading: FileReading, entry: FileEntry) -> tuple[Criterion, list[str]] | None:
    if not entry.read(TABLES["criterion"]):
        return None
    requirement = entry.text("criterion")
    points = entry.number("points")
    if entry.which("points") is None:
        entry.problem("`points` is missing", hint="a number; below 0 it takes points away")
    tags = entry.texts("tags") or []
    if requirement is None or points is None:
        return None
    named = next(
        (tag for tag in tags if tag.startswith(ID_TAG) and tag[len(ID_TAG) :].strip()), None
    )
    id = named[len(ID_TAG) :] if named else slug(requirement)
    return yes_no(id, requirement, weight=points), [tag for tag in tags if tag is not named]


READERS: tuple[Reader, ...] = (FORMATS.reader("healthbench", signs, read),)
