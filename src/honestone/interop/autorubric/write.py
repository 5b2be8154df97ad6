"""Writing a rubric for autorubric. What it cannot say is a loss; without one, reading gives back
the same rubric.

Also what writers of flat formats share: a rubric as one list of weighted questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from math import lcm
from typing import Any, NotRequired, TypedDict

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.core.judging.rubric import (
    DEFAULT_THRESHOLD,
    Anchors,
    Criterion,
    Item,
    Rubric,
    as_written,
)
from honestone.core.numbers import ONE, ZERO, show_bar
from honestone.formats.source import Loss
from honestone.formats.syntax.yaml_lines import decimal

# ------------------------------------------------------------------------------------------------------
# flat questions


class Flat(Struct, frozen=True, kw_only=True):
    """One question of a flattened rubric. `weight` is its share of the whole; `negate`: no is the
    good answer.
    """

    id: str
    requirement: str
    weight: Fraction
    item: Item
    negate: bool


class Losses:
    """What the other format cannot say, with what it belongs to instead of a line: the file does
    not exist yet.
    """

    def __init__(self) -> None:
        self.found: list[Loss] = []

    def add(self, place: str, message: str, hint: str | None = None) -> None:
        self.found.append(Loss(place=place, message=message, hint=hint))


def flatten(rubric: Rubric, losses: Losses, format: str) -> list[Flat]:
    """Every question with its share of the weight. Bars, fixes and groups are losses: flat formats
    have none.
    """
    if rubric.threshold != DEFAULT_THRESHOLD:
        losses.add("rubric", f"the threshold {show_bar(rubric.threshold)}: {format} has none")
    if rubric.floor:
        losses.add("rubric", f"the floor {show_bar(rubric.floor)}: {format} has none")
    found = [
        flat
        for criterion in rubric.criteria
        for flat in _flat(criterion, criterion.weight, False, losses, format)
    ]
    return [flat for flat in found if _can_be_asked(flat, losses, format)]


def _flat(
    criterion: Criterion, weight: Fraction, negate: bool, losses: Losses, format: str
) -> Iterator[Flat]:
    place = f"criterion `{criterion.id}`"
    for name in ("required", "fix"):
        if getattr(criterion, name):
            losses.add(place, f"`{name}`: {format} has no such thing")
    if criterion.floor is not None:
        losses.add(place, f"`floor: {show_bar(criterion.floor)}`: {format} has none")
    negate = negate != criterion.negate
    if criterion.children:
        losses.add(
            place, "a group: what is in it is written as one list, with its share of the weight"
        )
        total = sum((child.weight for child in criterion.children if child.weight > 0), ZERO)
        for child in criterion.children:
            yield from _flat(child, weight * child.weight / total, negate, losses, format)
        return
    is_one = len(criterion.items) == 1 and criterion.items[0].whole
    if not is_one:
        losses.add(
            place,
            "a checklist: each item is written as a criterion of its own, with its share of the weight",
        )
    elif criterion.items[0].requirement != criterion.requirement:
        losses.add(place, "its question is written, its own text is not")
    for item in criterion.items:
        id = criterion.id if item.whole else f"{criterion.id}.{item.id}"
        if item.fix:
            losses.add(f"criterion `{id}`", f"`fix`: {format} has no such thing")
        yield Flat(
            id=id,
            requirement=item.requirement,
            weight=weight / len(criterion.items),
            item=item,
            negate=negate,
        )


def _can_be_asked(flat: Flat, losses: Losses, format: str) -> bool:
    if flat.item.check is not None:
        losses.add(
            f"criterion `{flat.id}`",
            f"the check `{flat.item.check.name}`: {format} has judges only; left out",
        )
    return flat.item.check is None


def whole_weights(flats: Sequence[Flat], losses: Losses) -> list[Fraction]:
    """The weights as decimals; shares like 1/3 are made whole by one factor for all, which changes
    no score.
    """
    factor = (
        lcm(*(_without_twos_and_fives(flat.weight.denominator) for flat in flats)) if flats else 1
    )
    if factor != 1:
        losses.add(
            "rubric",
            f"all weights are multiplied by {factor}, so that each is a decimal number; no score changes",
        )
    return [flat.weight * factor for flat in flats]


def _without_twos_and_fives(number: int) -> int:
    for prime in (2, 5):
        while number % prime == 0:
            number //= prime
    return number


def nothing_left(format: str) -> UsageError:
    return UsageError(
        f"nothing in this rubric can be said in {format}",
        hint="it takes yes/no questions for judges, with weights",
    )


def to_json(value: Any, indent: int | None = None, level: int = 0) -> str:
    """JSON in which a Fraction keeps all its digits. Every Fraction has to be a decimal number."""
    if isinstance(value, Fraction):
        return decimal(value)
    if not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, ensure_ascii=False)
    parts = (
        [
            f"{json.dumps(key, ensure_ascii=False)}: {to_json(entry, indent, level + 1)}"
            for key, entry in value.items()
        ]
        if isinstance(value, dict)
        else [to_json(entry, indent, level + 1) for entry in value]
    )
    opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
    if indent is None or (
        isinstance(value, dict) and not any(isinstance(e, (dict, list)) for e in value.values())
    ):
        return f"{opening}{', '.join(parts)}{closing}"
    pad = " " * (indent * (level + 1))
    body = ",\n".join(pad + part for part in parts)
    return f"{opening}\n{body}\n{' ' * (indent * level)}{closing}"


# ------------------------------------------------------------------------------------------------------
# autorubric


def dump_autorubric(rubric: Rubric) -> tuple[str, list[Loss]]:
    """JSON that `Rubric.from_file` of autorubric reads, and everything that it does not say.

    Raises UsageError when nothing is left.
    """
    losses = Losses()
    flats = flatten(rubric, losses, "autorubric")
    flats = _without_bad_penalties(flats, losses)
    if not flats:
        raise nothing_left("autorubric")
    weights = whole_weights(flats, losses)
    entries = [_entry(flat, weight, losses) for flat, weight in zip(flats, weights, strict=True)]
    written: Any = entries
    if rubric.title.strip():
        written = {"name": rubric.title, "rubric": entries}
    elif rubric.title:
        losses.add("rubric", "a title of blanks is not written")
    return to_json(written, indent=2) + "\n", losses.found


def _without_bad_penalties(flats: Sequence[Flat], losses: Losses) -> list[Flat]:
    """With penalties alone autorubric would count down from 1; a penalty that is negated has no
    meaning anywhere.
    """
    if not any(flat.weight > 0 for flat in flats):
        for flat in flats:
            losses.add(
                f"criterion `{flat.id}`", "a penalty with nothing left to take it from; left out"
            )
        return []
    expressible = []
    for flat in flats:
        if flat.weight < 0 and flat.negate:
            losses.add(f"criterion `{flat.id}`", "a penalty inside of a negated group; left out")
        else:
            expressible.append(flat)
    return expressible


class _Choice(TypedDict):
    """A possible answer with its share of the weight."""

    label: str
    value: Fraction | int
    na: NotRequired[bool]


class _Entry(TypedDict):
    """A question. One without options is answered with yes or no."""

    name: str
    weight: Fraction
    requirement: str
    scale_type: NotRequired[str]
    options: NotRequired[list[_Choice]]


def _entry(flat: Flat, weight: Fraction, losses: Losses) -> _Entry:
    entry: _Entry = {"name": flat.id, "weight": weight, "requirement": flat.requirement}
    na: list[_Choice] = (
        [{"label": "N/A", "value": 0, "na": True}] if flat.item.may_not_apply else []
    )
    if flat.item.anchors is not None:
        entry["scale_type"] = "ordinal"
        entry["options"] = [*_scale(flat, flat.item.anchors, losses), *na]
    elif na or flat.negate:
        yes, no = (ZERO, ONE) if flat.negate else (ONE, ZERO)
        entry["scale_type"] = "nominal"
        entry["options"] = [{"label": "No", "value": no}, {"label": "Yes", "value": yes}, *na]
    return entry


def _scale(flat: Flat, anchors: Anchors, losses: Losses) -> Iterable[_Choice]:
    place = f"criterion `{flat.id}`"
    lowest, highest = as_written(anchors.lowest), as_written(anchors.highest)
    if (anchors.lowest, anchors.highest) != (ZERO, ONE):
        losses.add(place, f"its scale {lowest}-{highest} is written as shares from 0 to 1")
    if flat.negate:
        losses.add(place, "negated: its scale is written the other way round")
    texts = [text.strip().casefold() for _, text in anchors.levels]
    if len(set(texts)) < len(texts):
        losses.add(place, "two levels have the same text, by which autorubric tells options apart")
    if sorted(texts) == ["no", "yes"]:
        losses.add(place, "a scale with the levels yes and no is read as a yes/no question")
    for value, text in anchors.levels:
        share = (value - anchors.lowest) / (anchors.highest - anchors.lowest)
        share = ONE - share if flat.negate else share
        if _without_twos_and_fives(share.denominator) != 1:
            losses.add(place, f"its level {as_written(value)} is at {share}, written to 15 digits")
            share = Fraction(round(share * 10**15), 10**15)
        if not text.strip():
            losses.add(place, f"its level {as_written(value)} has no text")
        yield {"label": text if text.strip() else str(as_written(value)), "value": share}
