"""How the questions and assertions of other tools become criteria: a check, a judge's question, and
the gate over them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from msgspec.structs import replace

from honestone.core.checking.check_problems import check_problem
from honestone.core.checking.checks import measures, own_bar
from honestone.core.errors import RubricError
from honestone.core.judging.images import is_image_address, written_image
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    Anchors,
    Check,
    Criterion,
    Item,
    Rubric,
    as_written,
    free_id,
    slug,
)
from honestone.core.numbers import ONE, ZERO
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.syntax.reader import FileReading, Steps, words

# The floor of a yes/no question that must be answered yes: by more than half of the judges.
MAJORITY: Final = Fraction(51, 100)

# The scale of a judge that gives a score instead of a yes or no.
FROM_0_TO_1: Final[Mapping[Fraction, str]] = {ZERO: "not met at all", ONE: "met in full"}


# ------------------------------------------------------------------------------------------------
# judges


def yes_no(
    id: str, requirement: str, *, weight: Fraction = ONE, may_not_apply: bool = False, **more: Any
) -> Criterion:
    """A criterion that is one yes/no question."""
    item = Item(id=id, requirement=requirement, whole=True, may_not_apply=may_not_apply)
    return Criterion(id=id, requirement=requirement, weight=weight, items=(item,), **more)


def scaled(
    id: str,
    requirement: str,
    levels: Mapping[Fraction, str],
    *,
    weight: Fraction = ONE,
    may_not_apply: bool = False,
    **more: Any,
) -> Criterion:
    """A criterion with anchors."""
    anchors = Anchors(levels=tuple(sorted(levels.items())))
    item = Item(
        id=id, requirement=requirement, anchors=anchors, whole=True, may_not_apply=may_not_apply
    )
    return Criterion(id=id, requirement=requirement, weight=weight, items=(item,), **more)


def expected_answer(answers: Sequence[str]) -> Criterion:
    """A judge's question about a reference answer, for data that names one and no way of scoring."""
    if len(answers) == 1:
        return yes_no("expected-answer", f"Gives the expected answer: {answers[0]}")
    listed = "\n".join(f"- {answer}" for answer in answers)
    return yes_no("expected-answer", f"Gives one of these expected answers:\n{listed}")


# ------------------------------------------------------------------------------------------------
# checks


def sound_check(
    reading: FileReading,
    path: Steps,
    kind: str,
    value: Any,
    /,
    *,
    negated: bool = False,
    **options: Any,
) -> Check | None:
    """A check of ours. One that cannot be is a problem; a pattern that only another language can
    read is lost.
    """
    value = as_written(value) if isinstance(value, Fraction) else value
    check = Check(kind=kind, value=value, negated=negated, options=options)
    wrong = check_problem(check)
    if wrong is None:
        return check
    message, hint = wrong
    if kind == "regex" and isinstance(value, str) and value:
        reading.loss(f"{message} (patterns are Python's here)", path, hint)
    else:
        reading.problem(message, path, hint)
    return None


def check_item(check: Check) -> Item:
    words = check_in_words(check)
    return Item(id=slug(words), requirement=words, check=check)


def check_criterion(
    check: Check,
    *,
    id: str | None = None,
    requirement: str | None = None,
    weight: Fraction = ONE,
    **more: Any,
) -> Criterion:
    """A criterion that code answers. One of a measuring check leaves it to the check's own bar,
    unless `more` says.
    """
    words = requirement or check_in_words(check)
    id = id or slug(words)
    item = Item(id=id, requirement=words, check=check, whole=True)
    return Criterion(
        id=id,
        requirement=words,
        weight=weight,
        items=(item,),
        **{**own_bar((item,), weight), **more},
    )


def triggers(wanted: bool) -> Criterion:
    """The criterion of a run in which the agent reads the skill, or does not."""
    check = Check(kind="skill-loaded", negated=not wanted)
    words = "The agent uses the skill" if wanted else "The agent leaves the skill alone"
    return check_criterion(
        check, id="triggers" if wanted else "does-not-trigger", requirement=words, floor=MAJORITY
    )


def checklist(
    id: str,
    items: Sequence[Item],
    requirement: str = "",
    *,
    weight: Fraction = ONE,
    floor: Fraction | None = None,
) -> Criterion:
    """A criterion whose score is the share of its items that are met, their ids made unique."""
    seen: dict[str, Item] = {}
    for item in items:
        unique = free_id(item.id, seen)
        seen[unique] = replace(item, id=unique)
    return Criterion(
        id=id, requirement=requirement or id, weight=weight, floor=floor, items=tuple(seen.values())
    )


# ------------------------------------------------------------------------------------------------
# rubrics


def gated(
    reading: FileReading,
    path: Steps,
    criteria: Sequence[Criterion],
    threshold: Fraction | None = None,
    *,
    title: str = "",
) -> Rubric | None:
    """The rubric of one case: a threshold for the mean where the file has one, else every floor
    must be met.

    None when nothing here decides: no criterion, or only ones of weight 0 (which are shown and do
    not count).
    """
    if not any(criterion.weight > 0 for criterion in criteria):
        return None
    bar = implied_floor(criteria) if threshold is None else threshold
    return sound_rubric(reading, path, unique_ids(criteria), threshold=bar, floor=ZERO, title=title)


def usual_gate(rubric: Rubric) -> Rubric:
    """The same gate in the words of our suites, where `gated` made it of floors alone: the usual
    threshold and floor, and floors of their own only for criteria that need them. Any other rubric
    is returned as it is. Every set of scores passes both or neither.
    """
    counting = [one for one in rubric.criteria if one.weight > 0]
    floors = [one.floor for one in counting if one.floor is not None]
    if (
        len(floors) < len(counting)
        or any(one.weight < 0 for one in rubric.criteria)
        or rubric.floor != ZERO
        or rubric.threshold != implied_floor(rubric.criteria)
    ):
        return rubric
    # Where every floor is met the mean is no lower than the lowest of them.
    reached = Fraction(int(min(floors) * 100), 100)
    return replace(
        rubric,
        threshold=min(DEFAULT_THRESHOLD, reached),
        floor=DEFAULT_FLOOR,
        criteria=tuple(
            left_to_gate(one) if one.weight > 0 else replace(one, floor=one.floor or ZERO)
            for one in rubric.criteria
        ),
    )


def left_to_gate(criterion: Criterion) -> Criterion:
    """The criterion of a plain check without a floor of its own: its score is 1 or 0, which is
    below every floor.
    """
    (item, *more) = criterion.items or (None,)
    check = item.check if item is not None and not more else None
    if check is None or criterion.floor != ONE or measures(check):
        return criterion
    return replace(criterion, floor=None)


def sound_rubric(
    reading: FileReading, path: Steps, criteria: Sequence[Criterion], **more: Any
) -> Rubric | None:
    """The rubric of these criteria; None, and a problem, when they break a rule."""
    try:
        return Rubric(criteria=tuple(criteria), **more)
    except RubricError as error:
        reading.problem(error.message, path, error.hint)
        return None


def implied_floor(criteria: Sequence[Criterion]) -> Fraction:
    """The mean of criteria that are all at their floors: where every floor is met this is met too,
    so it decides nothing more; but it is the right bar where only the mean is looked at.
    """
    total = sum((c.weight for c in criteria), ZERO)
    return sum((c.weight * (c.floor or ZERO) for c in criteria), ZERO) / total


def undecided() -> Rubric:
    """In place of the rubric of a case that is skipped because nothing says what a good output is."""
    return Rubric(criteria=(yes_no("undecided", "Nothing says what a good output is"),), floor=ZERO)


def unique_ids(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Criteria with ids that are unique in the whole tree: a doubled one gets its group's id in
    front, or a number.
    """
    seen: set[str] = set()

    def rename(criterion: Criterion, parent: str | None) -> Criterion:
        grouped = f"{parent}.{criterion.id}"
        id = (
            grouped
            if parent is not None and criterion.id in seen and grouped not in seen
            else criterion.id
        )
        id = free_id(id, seen)
        seen.add(id)
        items = tuple(replace(item, id=id) if item.whole else item for item in criterion.items)
        return replace(
            criterion,
            id=id,
            items=items,
            children=tuple(rename(child, id) for child in criterion.children),
        )

    return tuple(rename(criterion, None) for criterion in criteria)


def text_of_parts(
    reading: FileReading,
    content: Any,
    path: Steps,
    data_url: Callable[[str, Steps], str] | None = None,
) -> str:
    """The content of a message: a value as text, or its parts; those that are neither text nor an
    image are lost. `data_url` reads the file of an image that is named by its path, where a format
    allows that.
    """
    if not isinstance(content, list):
        return as_text(content)
    parts = []
    for index, part in enumerate(content):
        text = part if isinstance(part, str) else _text_of_part(part, (*path, index), data_url)
        if text is None:
            reading.loss(
                "a part of a message that is neither text nor an image that models take is left out",
                (*path, index),
            )
        elif text:
            parts.append(text)
    return "\n".join(parts)


def _text_of_part(
    part: Any, path: Steps, data_url: Callable[[str, Steps], str] | None
) -> str | None:
    """Its text, or its image by the address (see `written_images`), in the words of any API. Empty
    where the file of an image cannot be read, which has been reported.
    """
    if not isinstance(part, dict):
        return None
    leaves = dict(_leaves(part))
    kind = leaves.get("type", "text") if "modality" not in leaves else leaves["modality"]
    if kind in ("text", "input_text"):
        text = next((leaves[name] for name in ("text", "value") if name in leaves), None)
        if text is not None:
            return text
    if "image" not in f"{[*part]} {kind} {leaves.get('mimeType', leaves.get('mime_type'))}":
        return None
    address = next(
        (leaves[name] for name in words("url image_url image fileUri") if name in leaves), ""
    )
    data = next((leaves[name] for name in words("data bytes base64") if name in leaves), "")
    if not is_image_address(address) and not address.startswith("{{"):
        if address and not data and data_url is not None:
            address = data_url(address, path)
            return written_image(address) if address else ""
        address = f"data:;base64,{data}" if data else ""
    return written_image(address) if address else None


def _leaves(part: Any) -> Iterator[tuple[str, str]]:
    """Every text in a mapping and in those below it, the outermost last."""
    if isinstance(part, dict):
        for value in part.values():
            yield from _leaves(value)
        yield from ((key, value) for key, value in part.items() if isinstance(value, str))


def as_text(value: Any) -> str:
    """A plain value as text: what a prompt shows for it."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
