"""Writing a rubric in the native format, for people to read and edit. `parse_rubric` reads back the same rubric."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from honestone.core.errors import RubricError
from honestone.core.rubric import Anchors, Check, Criterion, Item, Rubric, slug
from honestone.formats.fields import VERSION

_INLINE = 90
"""Checks and anchors up to this long stand on one line."""


def dump_rubric(rubric: Rubric) -> str:
    """YAML text. Raises RubricError for what the format cannot say (a weight of 1/3, items in an unusual order)."""
    lines = [f"rubric: {VERSION}"]
    if rubric.title:
        lines.append(f"title: {_scalar(rubric.title)}")
    lines += [
        f"threshold: {_decimal(rubric.threshold * 100)}",
        f"floor: {_decimal(rubric.floor * 100)}",
        "criteria:",
    ]
    alike = Counter(slug(criterion.requirement) for criterion, _ in rubric.walk())
    for criterion in rubric.criteria:
        lines += _indent(_entry(list(_criterion(criterion, alike))))
    return "\n".join(lines) + "\n"


def _criterion(criterion: Criterion, alike: Counter[str]) -> Iterator[str]:
    own, listed = _own_and_listed(criterion)
    yield f"id: {_scalar(criterion.id)}"
    if not criterion.children or criterion.requirement != criterion.id:
        yield from _text("requirement", criterion.requirement)
    if criterion.weight != 1:
        yield f"weight: {_decimal(criterion.weight)}"
    if criterion.floor is not None:
        yield f"floor: {_decimal(criterion.floor * 100)}"
    if criterion.required:
        yield "required: true"
    applies_less = own is not None and own.may_not_apply
    if applies_less:
        yield "may_not_apply: true"
    if listed:
        yield "items:"
        texts = Counter(slug(item.requirement) for item in listed)
        for item in listed:
            yield from _indent(_item(item, applies_less, texts))
    if own is not None:
        yield from _marking(own)
    if criterion.fix is not None:
        yield from _text("fix", criterion.fix)
    if criterion.children:
        yield "criteria:"
        for child in criterion.children:
            yield from _indent(_entry(list(_criterion(child, alike))))


def _own_and_listed(criterion: Criterion) -> tuple[Item | None, tuple[Item, ...]]:
    """The item that is the criterion itself, and those of its checklist."""
    wholes = [item for item in criterion.items if item.whole]
    listed = tuple(item for item in criterion.items if not item.whole)
    if not wholes:
        return None, listed
    own = wholes[0]
    is_plain = own.anchors is None and own.check is None
    sound = (
        len(wholes) == 1
        and own is criterion.items[-1]
        and (own.id, own.requirement) == (criterion.id, criterion.requirement)
        and own.fix is None
        and not (is_plain and listed)
    )
    if not sound:
        raise RubricError(f"criterion `{criterion.id}` is marked in a way that a rubric file cannot say")
    return own, listed


def _item(item: Item, criterion_may_not_apply: bool, texts: Counter[str]) -> list[str]:
    by_text = item.id == slug(item.requirement) and texts[item.id] == 1
    lines = [] if by_text else [f"id: {_scalar(item.id)}"]
    lines += _text("requirement", item.requirement)
    lines += _marking(item)
    if item.fix is not None:
        lines += _text("fix", item.fix)
    if item.may_not_apply != criterion_may_not_apply:
        lines.append(f"may_not_apply: {str(item.may_not_apply).lower()}")
    if by_text and len(lines) == 1:
        return [f"- {_scalar(item.requirement)}"]
    return _entry(lines)


def _marking(item: Item) -> Iterator[str]:
    if item.anchors is not None:
        yield from _anchors(item.anchors)
    if item.check is not None:
        yield from _check(item.check)


def _anchors(anchors: Anchors) -> Iterator[str]:
    levels = [(_decimal(value), text) for value, text in anchors.levels]
    inline = "anchors: {" + ", ".join(f"{value}: {_flow(text)}" for value, text in levels) + "}"
    if len(inline) <= _INLINE:
        yield inline
        return
    yield "anchors:"
    for value, text in levels:
        yield f"  {value}: {_scalar(text)}"


def _check(check: Check) -> Iterator[str]:
    if check.value is None and not check.options:
        yield f"check: {check.name}"
        return
    pairs = [(check.name, check.value if check.value is not None else True), *check.options.items()]
    inline = "check: {" + ", ".join(f"{_flow(key)}: {_flow(value)}" for key, value in pairs) + "}"
    if len(inline) <= _INLINE:
        yield inline
        return
    yield "check:"
    for key, value in pairs:
        if isinstance(value, str):
            yield from _indent(_text(_flow(key), value))
        else:
            yield f"  {_flow(key)}: {_flow(value)}"


# ---------------------------------------------------------------------------------------------------- lines


def _entry(lines: list[str]) -> list[str]:
    """A mapping as an entry of a list."""
    return ["- " + lines[0], *_indent(lines[1:])]


def _indent(lines: Any) -> list[str]:
    return ["  " + line if line else "" for line in lines]


def _text(key: str, text: str) -> list[str]:
    """A key with a text; several lines stand as they are, below it."""
    lines = text.split("\n")
    if len(lines) == 1 or not _can_stand_as_block(lines):
        return [f"{key}: {_scalar(text)}"]
    return [f"{key}: |-", *_indent(lines)]


def _can_stand_as_block(lines: list[str]) -> bool:
    is_framed = bool(lines[0]) and not lines[0][0].isspace() and bool(lines[-1])
    return is_framed and all(line.isprintable() and (not line or not line.isspace()) for line in lines)


# ---------------------------------------------------------------------------------------------------- scalars

# Words that YAML or one of its older readers takes for something else than text.
_TAKEN = re.compile(r"true|false|null|yes|no|on|off|y|n", re.IGNORECASE)
_PLAIN = re.compile(r"(?:\.{0,2}/)?[^\W\d_].*", re.DOTALL)


def _scalar(text: str) -> str:
    """A text on a line of its own."""
    plain = (
        _PLAIN.fullmatch(text)
        and text.isprintable()
        and not _TAKEN.fullmatch(text)
        and not re.search(r": | #|:$|\s$|^\w+://", text)
    )
    return text if plain else _quoted(text)


def _flow(value: Any) -> str:
    """A value inside braces or brackets."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(str(key))}: {_flow(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_flow, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    return value if _scalar(value) == value and not re.search(r"[\[\]{},:]", value) else _quoted(value)


def _quoted(text: str) -> str:
    """In single quotes where nothing needs an escape, as people write patterns; else in double quotes."""
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'" if "\\" in text or '"' in text else f'"{text}"'
    ascii_only = not text.replace("\n", "").replace("\t", "").isprintable()
    return json.dumps(text, ensure_ascii=ascii_only).replace("\x7f", "\\u007f")


def _decimal(number: Fraction) -> str:
    """A number with all its digits. Raises RubricError when no decimal is exact."""
    if number.denominator == 1:
        return str(number.numerator)
    rest, twos, fives = number.denominator, 0, 0
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise RubricError(f"{number} cannot be written as a decimal number")
    places = max(twos, fives)
    digits = str(abs(number.numerator) * 10**places // number.denominator).rjust(places + 1, "0")
    return ("-" if number < 0 else "") + digits[:-places] + "." + digits[-places:]
