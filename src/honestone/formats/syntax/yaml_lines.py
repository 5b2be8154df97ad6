"""Writing YAML for people: lines of text that read back as exactly the values they were made of."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from honestone.core.errors import RubricError
from honestone.core.json_value import late_pattern


def entry(lines: list[str]) -> list[str]:
    """A mapping as an entry of a list."""
    return ["- " + lines[0], *indent(lines[1:])]


def indent(lines: Any) -> list[str]:
    return ["  " + line if line else "" for line in lines]


def text_lines(key: str, text: str) -> list[str]:
    """A key with a text; several lines are written as they are, below it."""
    lines = text.removesuffix("\n").split("\n")
    if "\n" not in text or not _can_stand_as_block(lines):
        return [f"{key}: {scalar(text)}"]
    return [f"{key}: {'|' if text.endswith(chr(10)) else '|-'}", *indent(lines)]


def mapping_lines(values: Mapping[Any, Any]) -> list[str]:
    """A mapping of plain values, each key and each entry of a list on lines of its own."""
    return [
        line
        for key, value in values.items()
        for line in _pair(scalar(key) if isinstance(key, str) else key, value)
    ]


def _pair(key: Any, value: Any) -> list[str]:
    if isinstance(value, str):
        return text_lines(key, value)
    if isinstance(value, Mapping) and value:
        return [f"{key}:", *indent(mapping_lines(value))]
    if isinstance(value, list | tuple) and value:
        listed = [
            entry(mapping_lines(one)) if isinstance(one, Mapping) and one else [f"- {flow(one)}"]
            for one in value
        ]
        return [f"{key}:", *indent(line for lines in listed for line in lines)]
    return [f"{key}: {flow(value)}"]


def _can_stand_as_block(lines: list[str]) -> bool:
    is_framed = bool(lines[0]) and not lines[0][0].isspace() and bool(lines[-1])
    return is_framed and all(
        line.isprintable() and (not line or not line.isspace()) for line in lines
    )


# ----------------------------------------------------------------------------------------------------
# scalars

# Words that YAML or one of its older readers takes for something else than text.
_TAKEN = late_pattern(r"true|false|null|yes|no|on|off|y|n", re.IGNORECASE)
_PLAIN = late_pattern(r"(?:\.{0,2}/)?[^\W\d_].*", re.DOTALL)


def scalar(text: str) -> str:
    """A text on a line of its own."""
    plain = (
        _PLAIN.fullmatch(text)
        and text.isprintable()
        and not _TAKEN.fullmatch(text)
        and not re.search(r": | #|:$|\s$|^\w+://", text)
    )
    return text if plain else quoted(text)


def flow(value: Any) -> str:
    """A value inside braces or brackets."""
    if isinstance(value, dict):
        return (
            "{"
            + ", ".join(f"{flow(str(key))}: {flow(entry)}" for key, entry in value.items())
            + "}"
        )
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(flow, value)) + "]"
    if not isinstance(value, str):
        return json.dumps(value)
    return (
        value if scalar(value) == value and not re.search(r"[\[\]{},:]", value) else quoted(value)
    )


def quoted(text: str) -> str:
    """The text in single quotes where nothing needs an escape, as people write patterns; else in
    double quotes.
    """
    if text.isprintable():
        return "'" + text.replace("'", "''") + "'" if "\\" in text or '"' in text else f'"{text}"'
    ascii_only = not text.replace("\n", "").replace("\t", "").isprintable()
    return json.dumps(text, ensure_ascii=ascii_only).replace("\x7f", "\\u007f")


def number_text(number: Fraction) -> str:
    """A number as our own files say it: with all its digits, or as a fraction where no decimal is
    exact.
    """
    try:
        return decimal(number)
    except RubricError:
        return f"{number.numerator}/{number.denominator}"


def decimal(number: Fraction) -> str:
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
