"""Criteria in a table: a grading sheet, a table in a text. Rows are criteria; columns say what they
are by their headings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from honestone.core.json_value import late_pattern
from honestone.formats.drafts.found import (
    LEFT_OUT,
    FoundCriterion,
    Notes,
    has_role,
    number_in,
    word_levels,
)

# The place of a row, and its cells by column.
Row: TypeAlias = tuple[str, Mapping[str, str]]

# The name of a first column without one.
NO_HEADING: Final = "first column"

_NUMBER = r"(\d{1,4}(?:\.\d{1,3})?)\s*(?:points?|pts?\.?|marks?|점)?"
# A heading that is a level of a scale: `4`, `Excellent (4)`, `4 - Excellent`, `Excellent: 4`.
_LEVEL: Final = late_pattern(
    rf"(?:(?:level|score|grade|rating|stufe|nivel)?\s*{_NUMBER}|(.*\S)\s*[(\[]\s*{_NUMBER}\s*[)\]]"
    rf"|{_NUMBER}\s*[-–—:=.)]\s*(\D.*)|(.*\D)\s*[-–—:=]\s*{_NUMBER})",
    re.IGNORECASE,
)


def criteria_in(
    rows: Sequence[Row], header: Sequence[str], place: str, notes: Notes
) -> list[FoundCriterion]:
    """The criteria of a table; none where its headings do not say that it holds some."""
    columns = [column for column in header if column.strip()]
    levels = {column: level for column in columns if (level := _level(column)) is not None}
    levels = (
        levels
        if len(set(levels.values())) >= 2 and len(set(levels.values())) == len(levels)
        else {}
    )
    levels = levels or word_levels(columns)
    rest = [column for column in columns if column not in levels]
    weight = next((column for column in rest if has_role(column, "weight") or "%" in column), None)
    name = next((column for column in rest if has_role(column, "name") and column != weight), None)
    texts = [column for column in rest if has_role(column, "text") and column not in (name, weight)]
    if name is None and (levels or (weight and texts)):
        weak = (
            column
            for column in rest
            if has_role(column, "weak") and column not in (weight, *texts[1:])
        )
        name = next(weak, rest[0] if levels and rest and rest[0] not in (weight, *texts) else None)
    if name is None or (name and len(columns) < 2 and not rows):
        return []
    used = [column for column in (weight, *texts, *levels) if column is not None]
    found = [
        one
        for at, row in rows
        if (one := _criterion(at, row, name, weight, texts, levels, notes)) is not None
    ]
    if levels or texts:  # a row with a name alone is a heading of those below it
        alone = {at for at, row in rows if not any(plain(row.get(column, "")) for column in used)}
        if len(alone) < len(rows):
            for one in (one for one in found if one.place in alone):
                notes.take(one.name, LEFT_OUT, one.place)
            found = [one for one in found if one.place not in alone]
    if not found:
        return []
    roles = {
        name: "criterion",
        **dict.fromkeys(texts, "requirement"),
        **({weight: "weight"} if weight else {}),
    }
    roles |= {column: f"level {_shown(level)}" for column, level in levels.items()}
    for column in columns:
        notes.take(column, roles.get(column, LEFT_OUT), place)
    return found


def _criterion(
    place: str,
    row: Mapping[str, str],
    name: str,
    weight: str | None,
    texts: Sequence[str],
    levels: Mapping[str, Fraction],
    notes: Notes,
) -> FoundCriterion | None:
    requirement, points = plain(row.get(name, "")), "" if weight is None else row.get(weight, "")
    # A last row that adds the points up is not a criterion.
    is_sum = re.fullmatch(
        r"(?:grand |sub)?total(?: points| score)?|sum|summe|gesamt|합계|총점",
        requirement,
        re.IGNORECASE,
    )
    cells: list[str] = []
    if is_sum:
        cells = [requirement]
    elif not requirement:
        cells = [cell for cell in row.values() if cell.strip()]
    if points.strip() and number_in(points) is None:
        cells.append(points)
    for cell in cells:
        notes.take(plain(cell), LEFT_OUT, place)
    if is_sum or not requirement:
        return None
    words = {
        level: _with_label(column, plain(row.get(column, ""))) for column, level in levels.items()
    }
    return FoundCriterion(
        name=requirement,
        place=place,
        text=". ".join(
            text.rstrip(".") for column in texts if (text := plain(row.get(column, "")))
        ),
        weight=number_in(points),
        levels={level: text for level, text in words.items() if text},
    )


def plain(cell: str) -> str:
    """The words of a cell without Markdown's marks and HTML's line breaks."""
    cell = re.sub(r"<br\s*/?>", " ", cell, flags=re.IGNORECASE)
    cell = re.sub(r"\*\*|__|`|(?<!\w)[*_](?=\S)|(?<=\S)[*_](?!\w)", "", cell)
    return " ".join(cell.replace("\\|", "|").split())


def _level(column: str) -> Fraction | None:
    if has_role(column, "weight"):
        return None
    match = _LEVEL.fullmatch(plain(column))
    written = (
        next((group for group in (match[1], match[3], match[4], match[7]) if group), None)
        if match
        else None
    )
    return None if written is None else Fraction(written)


def _with_label(column: str, text: str) -> str:
    """A level's words after its name, where the heading gives it one: `Excellent: bold and clear`."""
    match = _LEVEL.fullmatch(plain(column))
    label = (match[2] or match[5] or match[6] or "") if match else plain(column)
    return f"{label.strip(' -–—:=')}: {text}" if label and text else text


def _shown(level: Fraction) -> str:
    return f"{float(level):g}"
