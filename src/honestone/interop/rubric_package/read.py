"""Rubrics of the `rubric` package: a list of {weight, requirement}, flat or in sections, as YAML or
JSON.

Also what its relatives share: where the entries of such a file are, and what happens to weights
below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from msgspec.structs import replace

from honestone.core.judging.rubric import DEFAULT_THRESHOLD, Criterion, Rubric, slug
from honestone.formats.source import ForeignRubric
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps
from honestone.interop.criteria import sound_rubric, unique_ids, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

# What an entry of autorubric may have and one of `rubric` has not.
OWN_KEYS = frozenset({"name", "options", "scale_type", "aggregation"})


# ------------------------------------------------------------------------------------------------------
# the shared shape


def rough_entries(value: Any) -> list[dict[Any, Any]] | None:
    """The criteria of such a file as they are, for recognising it; None when it has another shape."""
    if isinstance(value, dict):
        if "rubric" in value:
            value = value["rubric"]
        if isinstance(value, dict):
            value = value.get("sections") or (
                value.get("criteria") if "guidelines" in value else None
            )
    if not isinstance(value, list):
        return None
    found: list[dict[Any, Any]] = []
    for entry in value:
        inner = entry.get("criteria") if isinstance(entry, dict) else None
        found += [e for e in (inner if isinstance(inner, list) else [entry]) if isinstance(e, dict)]
    return found if any("requirement" in entry for entry in found) else None


def entries_of(reading: FileReading, root: FileEntry) -> list[FileEntry]:
    """Every criterion of a rubric value, sections opened: their weights are global, as in the tool."""
    if isinstance(root.value, dict):
        return _entries_of_mapping(reading, root)
    if not isinstance(root.value, list):
        root.problem("a rubric must be a list of criteria")
        return []
    found: list[FileEntry] = []
    for one in root.rows():
        if not one.is_mapping or "criteria" not in one.value:
            found.append(one)
        elif one.read(TABLES["section"]):
            found += one.each("criteria")
    if not found and not reading.problems:
        root.problem(
            "this rubric has no criteria", hint="each is a mapping with weight and requirement"
        )
    return found


def _entries_of_mapping(reading: FileReading, root: FileEntry) -> list[FileEntry]:
    """`{rubric: ...}`, `{sections: [...]}` and, with guidelines, `{criteria: [...]}`."""
    root.read(TABLES["rubric"])
    key = root.which("rubric", "sections", "criteria")
    if key is None:
        root.problem(
            "this rubric has no criteria",
            hint="put them in a list, or below `rubric` or `sections`",
        )
        return []
    return entries_of(reading, root.below(key))


def all_negative(criteria: Sequence[Criterion]) -> bool:
    return any(c.weight < 0 for c in criteria) and not any(c.weight > 0 for c in criteria)


def turned(criterion: Criterion) -> Criterion:
    """One of an all-negative rubric: 1 + sum(w*s) / sum(|w|) is the mean of the inverted criteria."""
    if criterion.weight == 0:
        return criterion
    return replace(criterion, weight=-criterion.weight, negate=not criterion.negate)


def make_rubric(
    reading: FileReading, criteria: Sequence[Criterion], *, title: str = "", path: Steps = ()
) -> Rubric | None:
    """The rubric, with the ids made unique; None, and a problem at `path`, when there is none."""
    if not criteria:
        reading.problem("no criterion is left", path, "give it one with a weight above 0")
        return None
    found = tuple(criteria)
    if all_negative(found):
        found = tuple(map(turned, found))
        reading.note(NOTES["all-negative"])
    named = unique_ids(found)
    for before, after in zip(found, named, strict=True):
        if before.id != after.id:
            reading.note(
                f"two criteria are called `{before.id}`: the later one is `{after.id}` here"
            )
    if not any(c.weight > 0 for c in named):
        reading.problem(
            "every weight is 0, so there is nothing to add up",
            path,
            "give one criterion a weight above 0",
        )
        return None
    reading.note(NOTES["no-bars"])
    return sound_rubric(
        reading, path, named, title=title, threshold=DEFAULT_THRESHOLD, floor=Fraction(0)
    )


# ------------------------------------------------------------------------------------------------------
# this package


def signs(document: Document) -> int:
    if document.is_lines or (isinstance(document.value, dict) and "items" in document.value):
        return 0
    entries = rough_entries(document.value)
    if entries is None:
        return 0
    keys = {str(key) for entry in entries for key in entry}
    is_plain = "weight" in keys and not keys & OWN_KEYS and "guidelines" not in document.keys
    if not is_plain:
        return 0
    return 40 if "id" in keys else 75


def read(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    title = title_of(reading)
    criteria = [_criterion(reading, entry) for entry in entries_of(reading, reading.at())]
    reading.finish()
    rubric = make_rubric(reading, [c for c in criteria if c], title=title)
    reading.finish()
    assert rubric is not None
    return reading.rubric_source(rubric, "rubric")


def title_of(reading: FileReading) -> str:
    """A name next to the rubric: the tools look past it, and it is what a title is here."""
    value = reading.marked.value
    top = reading.at()
    return (
        (top.text("title", "name") or "") if isinstance(value, dict) and "rubric" in value else ""
    )


def _criterion(reading: FileReading, entry: FileEntry) -> Criterion | None:
    if not entry.read(TABLES["criterion"]):
        return None
    requirement = entry.text("requirement")
    weight = entry.number("weight")
    if entry.which("weight") is None:
        entry.problem("`weight` is missing", hint="a number; below 0 it is a penalty")
    if requirement is None or weight is None:
        return None
    return yes_no(slug(requirement), requirement, weight=weight)


READERS: tuple[Reader, ...] = (FORMATS.reader("rubric", signs, read),)
