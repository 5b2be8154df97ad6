"""Rubrics of the `rubric` package: a list of {weight, requirement}, flat or in sections, as YAML or JSON.

Also what its relatives share: where the entries of such a file stand, and what happens to weights below 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

from honestone.core.errors import RubricError
from honestone.core.rubric import DEFAULT_THRESHOLD, Criterion, Rubric
from honestone.formats.document import Document
from honestone.interop.base import ForeignRubric, KnownKey, Reader, Steps, Taking, Walk, slug
from honestone.interop.criteria import unique_ids, yes_no

NO_BARS = "threshold 70 and no floor: the format has neither; --threshold and --floor set them"
ALL_NEGATIVE = (
    "every weight is negative: the score is 1 minus the share of what was found, as in the tool; each criterion is "
    "read with its weight as a positive number and counts when it is absent"
)
OWN_KEYS = frozenset({"name", "options", "scale_type", "aggregation"})
"""What an entry of autorubric may have and one of `rubric` has not."""


# ------------------------------------------------------------------------------------------------------ the shared shape


def rough_entries(value: Any) -> list[dict[Any, Any]] | None:
    """The criteria of such a file as they stand, for recognising it; None when it has another shape."""
    if isinstance(value, dict):
        if "rubric" in value:
            value = value["rubric"]
        if isinstance(value, dict):
            value = value.get("sections") or (value.get("criteria") if "guidelines" in value else None)
    if not isinstance(value, list):
        return None
    found: list[dict[Any, Any]] = []
    for entry in value:
        inner = entry.get("criteria") if isinstance(entry, dict) else None
        found += [e for e in (inner if isinstance(inner, list) else [entry]) if isinstance(e, dict)]
    return found if any("requirement" in entry for entry in found) else None


def entries_of(walk: Walk, root: Taking) -> list[Taking]:
    """Every criterion of a rubric value, sections opened: their weights are global, as in the tool."""
    if isinstance(root.value, dict):
        return _entries_of_mapping(walk, root)
    if not isinstance(root.value, list):
        walk.problem("a rubric must be a list of criteria", root.path)
        return []
    found: list[Taking] = []
    for index, entry in enumerate(root.value):
        taking = walk.at((*root.path, index))
        if isinstance(entry, dict) and "criteria" in entry:
            found += _section(walk, taking)
        else:
            found.append(taking)
    if not found and not walk.problems:
        walk.problem("there are no criteria", root.path, "each is a mapping with weight and requirement")
    return found


def _entries_of_mapping(walk: Walk, root: Taking) -> list[Taking]:
    """`{rubric: ...}`, `{sections: [...]}` and, with guidelines, `{criteria: [...]}`."""
    root.ignore("name", "title", "description", "version")
    key = next((key for key in ("rubric", "sections", "criteria") if key in root), None)
    root.lose("guidelines", message="`{key}` are told to the judge with every criterion; honestone has no such text")
    if key is None:
        walk.problem("this rubric has no criteria", root.path, "they stand in a list, or below `rubric` or `sections`")
        return []
    inner = root.below(key)
    root.close("a rubric")
    return entries_of(walk, inner)


def _section(walk: Walk, taking: Taking) -> list[Taking]:
    """Its criteria. The tool looks at nothing else in a section."""
    taking.ignore("name", "title", "id", "description")
    taking.ignore("weight", why="a section's weight changes nothing, as in the tool: criteria are weighed as one list")
    inside = list(taking.each("criteria", "criteria"))
    taking.close("a section")
    return inside


def all_negative(criteria: Sequence[Criterion]) -> bool:
    return any(c.weight < 0 for c in criteria) and not any(c.weight > 0 for c in criteria)


def turned(criterion: Criterion) -> Criterion:
    """One of an all-negative rubric: 1 + sum(w*s) / sum(|w|) is the mean of the criteria turned round."""
    if criterion.weight == 0:
        return criterion
    return replace(criterion, weight=-criterion.weight, negate=not criterion.negate)


def make_rubric(walk: Walk, criteria: Sequence[Criterion], *, title: str = "", path: Steps = ()) -> Rubric | None:
    """The rubric, with the ids made unique; None, and a problem at `path`, when there is none."""
    if not criteria:
        walk.problem("no criterion is left", path, "give it one with a weight above 0")
        return None
    found = tuple(criteria)
    if all_negative(found):
        found = tuple(map(turned, found))
        walk.note(ALL_NEGATIVE)
    named = unique_ids(found)
    for before, after in zip(found, named, strict=True):
        if before.id != after.id:
            walk.note(f"two criteria are called `{before.id}`: the later one is `{after.id}` here")
    if not any(c.weight > 0 for c in named):
        walk.problem("every weight is 0, so there is nothing to add up", path, "give one criterion a weight above 0")
        return None
    walk.note(NO_BARS)
    try:
        return Rubric(criteria=named, title=title, threshold=DEFAULT_THRESHOLD, floor=Fraction(0))
    except RubricError as error:
        walk.problem(error.message, path, error.hint)
        return None


# ------------------------------------------------------------------------------------------------------ this package


def signs(document: Document) -> int:
    if document.is_lines or (isinstance(document.value, dict) and "items" in document.value):
        return 0
    entries = rough_entries(document.value)
    if entries is None:
        return 0
    keys = {str(key) for entry in entries for key in entry}
    is_plain = "weight" in keys and not keys & OWN_KEYS and "guidelines" not in document.keys
    return (40 if "id" in keys else 75) if is_plain else 0


def read(document: Document) -> ForeignRubric:
    walk = Walk(document.marked)
    title = title_of(walk)
    criteria = [_criterion(walk, entry) for entry in entries_of(walk, walk.at())]
    walk.finish()
    rubric = make_rubric(walk, [c for c in criteria if c], title=title)
    walk.finish()
    assert rubric is not None
    return ForeignRubric(
        rubric=rubric, dialect="rubric", marked=document.marked, notes=tuple(walk.notes), losses=tuple(walk.losses)
    )


def title_of(walk: Walk) -> str:
    """A name beside the rubric: the tools look past it, and it is what a title is here."""
    value = walk.marked.value
    top = walk.at()
    return (top.text("title", "name") or "") if isinstance(value, dict) and "rubric" in value else ""


def _criterion(walk: Walk, entry: Taking) -> Criterion | None:
    if not entry.require_mapping("a criterion"):
        return None
    requirement = entry.text("requirement", required=True)
    weight = entry.number("weight")
    if entry.which("weight") is None:
        walk.problem("`weight` is missing", entry.path, "a number; below 0 it is a penalty")
    entry.close("a criterion")
    if requirement is None or weight is None:
        return None
    return yes_no(slug(requirement), requirement, weight=weight)


READERS: tuple[Reader, ...] = (
    Reader(
        name="rubric",
        title="a rubric of the `rubric` package",
        gives="rubric",
        signs=signs,
        read=read,
        keys=(
            KnownKey(key="requirement", meaning="the question; yes is met"),
            KnownKey(key="weight", meaning="its weight; below 0 a penalty"),
            KnownKey(key="sections[].criteria", meaning="criteria, weighed as one list"),
            KnownKey(key="sections[].name, title, id, description", meaning="names of a section", how="ignored"),
            KnownKey(key="sections[].weight", meaning="changes nothing in the tool either", how="ignored"),
            KnownKey(key="rubric", meaning="the list or the sections may stand below it"),
            KnownKey(key="name, title", meaning="beside `rubric`: the title"),
            KnownKey(key="description, version", meaning="beside `rubric`: for people", how="ignored"),
            KnownKey(key="guidelines", meaning="text for every judge call", how="lost"),
        ),
        defaults=(
            "score: sum(w*s) / sum(positive w), cut to 0..1; with negative weights alone 1 + sum(w*s) / sum(|w|)",
            NO_BARS,
        ),
        looks_like=("sections", "rubric"),
        example="- weight: 3\n  requirement: Names the version that is affected\n"
        "- weight: -2\n  requirement: Blames the reader\n",
    ),
)
