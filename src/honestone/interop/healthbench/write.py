"""Writing a suite as HealthBench JSON lines. What it cannot say is a loss; without one, reading
gives back the same suite.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NotRequired, TypedDict

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import slug
from honestone.core.suite.case import Case, Suite, TargetSpec
from honestone.formats.source import Loss
from honestone.formats.suite.suite_write import asking_of_judges
from honestone.interop.autorubric.write import Flat, Losses, flatten, to_json, whole_weights
from honestone.interop.healthbench.read import CRITERION_TAGS, ID_TAG, METADATA_KEYS

_FORMAT = "HealthBench"
# What a line says about a case. Everything else that a case may have is a loss where it is set.
_WRITTEN = ("id", "rubric", "messages", "reference", "tags", "metadata")


class _Message(TypedDict):
    """A message of a prompt."""

    role: str
    content: str


class _Rubric(TypedDict):
    """A question with its points."""

    criterion: str
    points: Fraction
    tags: list[str]


class _Ideal(TypedDict, total=False):
    """A reference, and what it is of."""

    ideal_completion: str
    ideal_completions_group: object
    ideal_completions_ref_completions: object


class _Line(TypedDict):
    """A case."""

    prompt_id: str
    prompt: list[_Message]
    rubrics: list[_Rubric]
    example_tags: list[str]
    ideal_completions_data: _Ideal | None
    canary: NotRequired[object]


def dump_healthbench(suite: Suite) -> tuple[str, list[Loss]]:
    """JSON lines, one a case, and everything that they do not say. Raises UsageError when no case
    is left.
    """
    losses = Losses()
    _suite_losses(suite, losses)
    lines = [to_json(line) for case in suite.cases if (line := _line(case, losses)) is not None]
    if not lines:
        raise UsageError(
            f"no case of this suite can be said in {_FORMAT}",
            hint="it takes yes/no questions for judges, with points",
        )
    return "".join(line + "\n" for line in lines), losses.found


def _suite_losses(suite: Suite, losses: Losses) -> None:
    suite = asking_of_judges(suite)
    unsaid = (
        "title",
        "artifact",
        "more_artifacts",
        "concurrency",
        "skill_id",
        "require_calibration",
        "require_tier",
    )
    for name in unsaid:
        if getattr(suite, name):
            losses.add("suite", f"`{name}`: {_FORMAT} has no such thing")
    if suite.targets != (TargetSpec(),):
        losses.add("suite", f"`target`: {_FORMAT} has no such thing")


def _line(case: Case, losses: Losses) -> _Line | None:
    place = f"case `{case.id}`"
    plain = Case(id=case.id, rubric=case.rubric)
    for name in Case.__struct_fields__:
        if name not in _WRITTEN and getattr(case, name) != getattr(plain, name):
            losses.add(place, f"`{name}`: {_FORMAT} has no such thing")
    rubrics = list(_criteria(case, losses))
    if not any(entry["points"] > 0 for entry in rubrics):
        losses.add(place, "no question is left that gives points; the case is left out")
        return None
    line: _Line = {
        "prompt_id": case.id,
        "prompt": list(_prompt(case, losses)),
        "rubrics": rubrics,
        "example_tags": list(case.tags),
        "ideal_completions_data": _ideal(case, losses),
    }
    for key, value in case.metadata.items():
        if not _has_place(key, value):
            losses.add(place, f"`metadata.{key}`: {_FORMAT} has no place for it")
        elif key == "canary":
            line["canary"] = value
    return line


def _has_place(key: str, value: Any) -> bool:
    """Whether a line can hold one entry of a case's metadata."""
    if key in ("canary", "ideal_completions_group"):
        return isinstance(value, str) and bool(value.strip())
    if key == "ideal_completions_ref_completions":
        return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    return key == CRITERION_TAGS


def _prompt(case: Case, losses: Losses) -> Iterator[_Message]:
    if not case.messages:
        losses.add(f"case `{case.id}`", "no input: an empty message is written")
        yield {"role": "user", "content": ""}
    for message in case.messages:
        if not message.role.strip():
            losses.add(f"case `{case.id}`", "a message without a role is written as the user's")
        yield {"role": message.role if message.role.strip() else "user", "content": message.content}


def _ideal(case: Case, losses: Losses) -> _Ideal | None:
    found: _Ideal = {}
    if case.reference is not None:
        if case.reference.strip():
            found["ideal_completion"] = case.reference
        else:
            losses.add(f"case `{case.id}`", "a reference without text is not written")
    for key in METADATA_KEYS:
        value = case.metadata.get(key)
        if _has_place(key, value):
            found[key] = value
    return found or None


def _criteria(case: Case, losses: Losses) -> Iterator[_Rubric]:
    own = Losses()
    flats = [flat for flat in flatten(case.rubric, own, _FORMAT) if _is_expressible(flat, own)]
    weights = whole_weights(flats, own)
    if case.rubric.title:
        own.add("rubric", f"the title: {_FORMAT} has none")
    tags = _tags(case, flats, own)
    for loss in own.found:
        losses.add(f"case `{case.id}`, {loss.place}", loss.message, loss.hint)
    for flat, weight in zip(flats, weights, strict=True):
        named = [] if flat.id == slug(flat.requirement) else [ID_TAG + flat.id]
        yield {
            "criterion": flat.requirement,
            "points": weight,
            "tags": [*named, *tags.get(flat.id, ())],
        }


def _is_expressible(flat: Flat, losses: Losses) -> bool:
    place = f"criterion `{flat.id}`"
    if flat.item.anchors is not None:
        losses.add(place, f"its levels: {_FORMAT} asks yes or no only; left out")
        return False
    if flat.negate:
        losses.add(
            place,
            f"negated: {_FORMAT} gives points for a yes only; left out",
            "reword it as what should be there",
        )
        return False
    if flat.item.may_not_apply:
        losses.add(place, f"`may_not_apply`: {_FORMAT} asks every question")
    return True


def _tags(case: Case, flats: list[Flat], losses: Losses) -> Mapping[str, list[str]]:
    """The tags of single criteria, as reading keeps them in the metadata."""
    tags_by_id = case.metadata.get(CRITERION_TAGS, {})
    known = {flat.id for flat in flats}
    found: dict[str, list[str]] = {}
    for id, tags in tags_by_id.items() if isinstance(tags_by_id, Mapping) else ():
        if (
            id not in known
            or not isinstance(tags, list)
            or not tags
            or not all(_is_tag(tag) for tag in tags)
        ):
            losses.add(f"criterion `{id}`", "its tags cannot be written")
        else:
            found[id] = tags
    if tags_by_id and not isinstance(tags_by_id, Mapping):
        losses.add("rubric", f"`metadata.{CRITERION_TAGS}` is not a mapping of ids to tags")
    return found


def _is_tag(tag: Any) -> bool:
    return isinstance(tag, str) and not tag.startswith(ID_TAG)
