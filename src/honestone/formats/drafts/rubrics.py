"""A draft of a rubric from a file of any kind: what kind it is, and what in it are the criteria."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError
from honestone.core.json_value import visible
from honestone.core.judging.rubric import DEFAULT_FLOOR, DEFAULT_THRESHOLD
from honestone.formats.drafts.found import FoundCriterion, Notes, RubricFromFile, drafted
from honestone.formats.drafts.lists import criteria_in_text
from honestone.formats.drafts.tables import NO_HEADING, Row, criteria_in
from honestone.formats.drafts.trees import criteria_in_tree
from honestone.formats.syntax.marked import parse_marked, read_text
from honestone.formats.syntax.nodes import MAX_BYTES, lines_in

_TABLES: Final = (".csv", ".tsv")
_TREES: Final = (".yaml", ".yml", ".json")
_NOT_TEXT: Final = {
    ".pdf": "a PDF",
    ".docx": "a Word document",
    ".xlsx": "an Excel sheet",
    ".odt": "a document",
}


def rubric_from_file(
    path: Path,
    *,
    title: str = "",
    threshold: Fraction | None = None,
    floor: Fraction | None = None,
    text: str | None = None,
) -> RubricFromFile:
    """`text` is that of a document, as Markdown. Raises FileError where the file cannot be read, or
    holds nothing that can be taken for criteria.
    """
    kind, notes = path.suffix.lower() if text is None else ".md", Notes()
    if kind in _NOT_TEXT:
        raise FileError(
            f"`{path.name}` is {_NOT_TEXT[kind]}, which is not read",
            hint="save it as text, Markdown or CSV, and name that file",
        )
    text = read_text(path) if text is None else text
    if kind in _TABLES:
        own, found = "", _of_sheet(text, path.name, notes)
    elif kind in _TREES or (kind not in (".md", ".txt") and text.lstrip()[:1] in "{["):
        own, found = criteria_in_tree(parse_marked(text, path.name), notes)
    else:
        own, found = criteria_in_text(text, path.name, notes)
    return drafted(
        title or own or path.stem,
        found,
        notes,
        path.name,
        threshold=DEFAULT_THRESHOLD if threshold is None else threshold,
        floor=DEFAULT_FLOOR if floor is None else floor,
    )


def _of_sheet(text: str, name: str, notes: Notes) -> list[FoundCriterion]:
    """A sheet may have lines before its headings: the first row that makes a table of criteria of
    those below is taken.
    """
    csv.field_size_limit(MAX_BYTES)
    rows = _cells(text, name)
    for at, (line, cells) in enumerate(rows[:30]):
        header = [cell.strip() for cell in cells]
        header[:1] = [header[0] or NO_HEADING] if sum(map(bool, header)) > 1 else header[:1]
        named = [cell for cell in header if cell]
        if len(named) < 2 or len(set(named)) < len(named):
            continue
        below: list[Row] = [
            (f"{name}:{number}", dict(zip(header, row, strict=False)))
            for number, row in rows[at + 1 :]
            if any(row)
        ]
        found = criteria_in(below, header, f"{name}:{line}", notes)
        if found:
            return found
    return []


def _cells(text: str, name: str) -> Sequence[tuple[int, list[str]]]:
    """Rows with the line that each starts in. What parts their cells is the sign that the first
    lines hold most often.
    """
    head = "\n".join(text.split("\n", 5)[:5])
    delimiter = max(",;\t", key=head.count)
    table = csv.reader(lines_in(text), delimiter=delimiter)
    rows: list[tuple[int, list[str]]] = []
    line = 1
    try:
        for cells in table:
            rows.append((line, cells))
            line = table.line_num + 1
    except csv.Error as error:
        raise FileError(
            f"this is not a table: {visible(str(error), 100)}", place=f"{name}:{line}"
        ) from None
    return rows
