"""`field-accuracy`: fields of a JSON text against expected values, each exactly, within a
tolerance, or as the same day.

The score is the share of the weight that fits, exact.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import Final

from msgspec import Struct

from honestone.core.checking.gave_up import GaveUp
from honestone.core.checking.text_form import normal_value
from honestone.core.checking.trace_checks import same
from honestone.core.json_value import (
    JsonObject,
    built,
    is_number,
    late_pattern,
    listed,
    quoted,
    visible,
)
from honestone.core.judging.rubric import Check
from honestone.core.numbers import ONE, exact
from honestone.core.tables import table_text

Date = tuple[int, int, int]

# What is read as a date where nothing else is said: only what can be read in one way.
DATE_FORMATS: Final = (
    "YYYY-MM-DD",
    "YYYY/MM/DD",
    "DD-MMM-YYYY",
    "D MMMM YYYY",
    "MMMM D, YYYY",
    "MMM D, YYYY",
)


class FieldRule(Struct, frozen=True, kw_only=True):
    """One field: where it is (`items[0].price`), what it should be, and how the two are compared."""

    path: str
    expected: object
    match: str = "exact"
    tolerance: Fraction = Fraction(0)
    relative: bool = False
    formats: tuple[str, ...] = DATE_FORMATS
    weight: Fraction = ONE
    required: bool = False


def _rules(fields: Sequence[JsonObject], threshold: float = 1) -> tuple[list[FieldRule], Fraction]:
    """The fields of a check, and the share of their weight that has to fit."""
    return [built(_rule, one) for one in fields], exact(threshold)


def _rule(
    tolerance: float = 0,
    formats: Sequence[str] = DATE_FORMATS,
    weight: float = 1,
    **same: str | bool,
) -> FieldRule:
    make = partial(
        FieldRule, tolerance=exact(tolerance), formats=tuple(formats), weight=exact(weight)
    )
    return built(make, same)


def field_problems(value: JsonObject) -> Iterator[tuple[str, str | None]]:
    """(message, hint) of what its schema cannot say."""
    seen: set[str] = set()
    for rule in built(_rules, value)[0]:
        name = f"the field {quoted(rule.path)}"
        if path_steps(rule.path) is None:
            yield f"{name} is not a path", "for example: invoice.items[0].price"
        if rule.path in seen:
            yield f"{name} is there twice", None
        seen.add(rule.path)
        for written in rule.formats:
            if date_pattern(written) is None:
                yield (
                    f"`formats` of {name}: {quoted(written)} names no day, month and year",
                    "for example: DD.MM.YYYY",
                )
        if rule.match == "numeric_tolerance" and number_of(rule.expected) is None:
            yield f"{name} is compared as a number, but expects {_shown(rule.expected)}", None
        if (
            rule.match == "date"
            and all(map(date_pattern, rule.formats))
            and not _days(rule.expected, rule.formats)
        ):
            yield (
                f"{name} is compared as a date, but expects {_shown(rule.expected)}",
                _formats(rule),
            )


def _formats(rule: FieldRule) -> str:
    return f"in one of the forms {', '.join(rule.formats)}"


def _table(check: Check) -> JsonObject:
    assert isinstance(check.value, Mapping)
    return check.value


def fields_answer(check: Check, document: object) -> tuple[bool, str | None]:
    """Whether the fields of a JSON value meet the check, and what is wrong with those that do not
    fit. Raises GaveUp.
    """
    table = _table(check)
    if check.options.get("exact") != "bytes":
        table, document = normal_value(table), normal_value(document)
    rules, least = built(_rules, table)
    wrong = {rule: why for rule in rules if (why := field_problem(rule, document)) is not None}
    score = 1 - sum((rule.weight for rule in wrong), Fraction(0)) / sum(
        rule.weight for rule in rules
    )
    met = score >= least and not any(rule.required for rule in wrong)
    if not wrong:
        return met, None
    return (
        met,
        f"{len(rules) - len(wrong)} of {len(rules)} fields fit; {'; '.join(list(wrong.values())[:5])}",
    )


def field_problem(rule: FieldRule, document: object) -> str | None:
    """What is wrong with one field; None when it is as expected."""
    value, is_there = look_up(document, rule.path)
    name = visible(rule.path, 60)
    if not is_there:
        return f"{name} is missing"
    if _fits(rule, value):
        return None
    return f"{name} is {_shown(value)}, not {_shown(rule.expected)}"


def _fits(rule: FieldRule, value: object) -> bool:
    match rule.match:
        case "numeric_tolerance":
            number, wanted = number_of(value), number_of(rule.expected)
            if number is None and _is_too_long_a_number(value):
                raise GaveUp(f"the number at {visible(rule.path, 60)} is too long to be compared")
            if number is None or wanted is None:
                return False
            margin = rule.tolerance * abs(wanted) if rule.relative else rule.tolerance
            return abs(number - wanted) <= margin
        case "date":
            return bool(_days(value, rule.formats) & _days(rule.expected, rule.formats))
        case _:
            return same(rule.expected, value)


# -------------------------------------------------------------------------------------------------------------
# paths

_STEP: Final = late_pattern(r"\.?([^.\[\]]+)|\[(\d{1,9})\]")


def path_steps(path: str) -> list[str] | None:
    """`a.b[0].c` as its steps; None when it is not a path."""
    steps, at = [], 0
    while at < len(path):
        match = _STEP.match(path, at)
        if match is None or (at == 0 and path.startswith(".")):
            return None
        steps.append(match[1] if match[1] is not None else match[2])
        at = match.end()
    return steps or None


def look_up(document: object, path: str) -> tuple[object, bool]:
    """The value at a path, and whether there is one."""
    value = document
    for step in path_steps(path) or ["\0"]:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif (
            isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value)
        ):
            value = value[int(step)]
        else:
            return None, False
    return value, True


# -----------------------------------------------------------------------------------------------------------
# numbers

_NUMBER: Final = late_pattern(
    r"\s*[-+]?(?:\d{1,60}(?:\.\d{0,60})?|\.\d{1,60})(?:[eE][-+]?\d{1,3})?\s*"
)


def number_of(value: object) -> Fraction | None:
    """A JSON number, or a text that is a decimal one. An exponent of millions is not a number that
    anybody means.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str):
        return exact(value.strip()) if value.isascii() and _NUMBER.fullmatch(value) else None
    try:
        return exact(value) if isinstance(value, int | float) else None
    except ValueError:
        return None


_ANY_NUMBER: Final = late_pattern(r"\s*[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?\s*")


def _is_too_long_a_number(value: object) -> bool:
    """Whether it is a number, but not one that `number_of` reads."""
    if isinstance(value, str):
        return value.isascii() and _ANY_NUMBER.fullmatch(value) is not None
    return is_number(value)


# -------------------------------------------------------------------------------------------------------------
# dates

_MONTHS: Final = (
    "january february march april may june july august september october november december".split()
)
_PARTS: Final[Mapping[str, str]] = tomllib.loads(table_text("checking/field_accuracy"))[
    "parts_of_a_date"
]
_TIME: Final = r"(?:[T ]\d{2}:\d{2}\S*)?"


# Longer than any form of a date, without the white space around it.
_LONGEST_DATE: Final = 1000


@lru_cache(maxsize=128)
def date_pattern(written: str) -> re.Pattern[str] | None:
    """A form such as DD.MM.YYYY (or %d.%m.%Y) as a pattern; None when it does not name a day, a
    month and a year once.
    """
    names = "|".join(map(re.escape, _PARTS))
    pattern = "".join(
        _PARTS.get(part, re.escape(part))
        for part in re.split(f"({names})", written.upper() if "%" not in written else written)
    )
    try:
        made = re.compile(rf"\s*{pattern}{_TIME}\s*", re.ASCII)
    except re.error:
        return None
    groups = made.groupindex.keys()
    is_whole = (
        "day" in groups and bool(groups & {"month", "name"}) and bool(groups & {"year", "short"})
    )
    return made if is_whole else None


def _days(value: object, formats: Sequence[str]) -> frozenset[Date]:
    """The days that a text can mean in the first form that fits it."""
    if not isinstance(value, str):
        return frozenset()
    value = value.strip()
    if len(value) > _LONGEST_DATE:
        return frozenset()
    for written in formats:
        pattern = date_pattern(written)
        match = pattern.fullmatch(value) if pattern is not None else None
        day = _day(match.groupdict()) if match is not None else None
        if day is not None:
            return frozenset({day})
    return frozenset()


def _day(parts: Mapping[str, str | None]) -> Date | None:
    from calendar import monthrange

    year = int(parts.get("year") or 2000 + int(parts.get("short") or 0))
    month = int(parts.get("month") or _month(parts.get("name") or ""))
    day = int(parts.get("day") or 0)
    return (
        (year, month, day) if 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1] else None
    )


def _month(name: str) -> int:
    """The number of a month from 1; 0 for a text that does not name one."""
    name = "sep" if name.lower() == "sept" else name.lower()
    return next(
        (number for number, known in enumerate(_MONTHS, 1) if name in (known, known[:3])), 0
    )


def _shown(value: object) -> str:
    if isinstance(value, str):
        return quoted(value, 40)
    if isinstance(value, list | Mapping):
        return (
            f"{len(value)} values"
            if isinstance(value, list)
            else f"an object with {listed(list(map(str, value)), 3)}"
        )
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return visible(str(value), 40)
