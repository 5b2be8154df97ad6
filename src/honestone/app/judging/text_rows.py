"""The rows of a table of texts, ready to be judged: from a file, or from what Python gives.

A file is read twice: once to find what is wrong with it before anything is spent, and once to
judge. Nothing is dropped: a row whose text is missing is kept, and is never passed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from msgspec import Struct, field

from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.events import TableColumns
from honestone.engine.evaluate import JudgedSubject
from honestone.formats.text_table import (
    TableRow,
    cell_of,
    cell_text,
    has_column,
    is_missing,
    no_such_column,
)
from honestone.system.files import Loaded, printable

# What judges are told a text is called: an id may say who wrote it.
ASKED_AS: Final = "text"
# Columns by the option that names them.
_OPTIONS: Final = {
    "text": "--text",
    "id": "--id",
    "input": "--input",
    "reference": "--reference",
    "group": "--group",
}


class TextSource(Struct, frozen=True, kw_only=True):
    """Where rows come from, and which columns are what. `options` are what a person calls the
    columns: `--text`, or `text=` in Python.

    `rows` gives all rows from the beginning each time it is called, or once where `is_once`.
    `input`, `reference`: the same text for every row. `most`: how many rows are judged.
    """

    name: str
    columns: TableColumns
    rows: Callable[[], Iterator[TableRow]]
    options: Mapping[str, str] = field(default_factory=lambda: _OPTIONS)
    is_once: bool = False
    may_be_empty: bool = False
    input: str | None = None
    reference: str | None = None
    most: int | None = None
    # The id of a row without an id column, from its number (1 on).
    id_of: Callable[[int], str] = str


class RowFacts(Struct):
    """What a first reading found: how many rows there are, the longest text, and the digest of all
    that is judged.
    """

    rows: int = 0
    digest: str = ""
    left_out: int = 0
    missing: int = 0
    longest: JudgedSubject | None = None


def check_rows(source: TextSource, max_bytes: int) -> RowFacts:
    """Reads all rows once. Raises UsageError and FileError, with the line of a bad row."""
    facts = RowFacts()
    rows = source.rows()
    seen_columns: dict[str, None] = {}
    found: set[str] = set()
    named = {
        role: column
        for role in source.options
        if (column := getattr(source.columns, role)) is not None
    }
    subjects = _Subjects(source, max_bytes)
    digest = hashlib.sha256()
    taken = islice(rows, source.most) if source.most is not None else rows
    for row in taken:
        facts.rows += 1
        if len(found) < len(named):
            seen_columns.update(dict.fromkeys(row.cells))
            found |= {role for role, column in named.items() if has_column(row.cells, column)}
            if "id" in named and "id" not in found:  # which no row may lack
                _refuse_columns(source, named, found, list(seen_columns))
        subject = subjects.of(row)
        asked = (subject.name, subject.loaded.version.digest, subject.input, subject.reference)
        digest.update(repr(asked).encode())
        facts.missing += subject.problem is not None
        size = subject.loaded.version.size
        if facts.longest is None or size > facts.longest.loaded.version.size:
            facts.longest = subject
    if not facts.rows and source.may_be_empty:
        return facts
    if not facts.rows:
        raise UsageError(f"`{source.name}` has no rows", hint="a row is a text")
    _refuse_columns(source, named, found, list(seen_columns))
    facts.digest = digest.hexdigest()
    facts.left_out = sum(1 for _ in rows) if source.most is not None else 0
    return facts


def _refuse_columns(
    source: TextSource, named: Mapping[str, str], found: set[str], columns: list[str]
) -> None:
    for role, column in named.items():
        if role not in found:
            raise no_such_column(source.options[role], column, columns)


def subjects_of(source: TextSource, max_bytes: int) -> Iterator[JudgedSubject]:
    """The rows as subjects, one at a time. Raises as `check_rows` does."""
    subjects = _Subjects(source, max_bytes)
    rows: Iterable[TableRow] = source.rows()
    if source.most is not None:
        rows = islice(rows, source.most)
    return map(subjects.of, rows)


class _Subjects:
    """Makes subjects of rows, and knows the ids that were there already."""

    def __init__(self, source: TextSource, max_bytes: int) -> None:
        self._source = source
        self._max_bytes = max_bytes
        self._number = 0
        # Of each id a hash and the number of its row: whole ids of a long table would take room.
        self._seen: dict[int, int] = {}

    def of(self, row: TableRow) -> JudgedSubject:
        self._number += 1
        columns, cells = self._source.columns, row.cells
        text = cell_of(cells, columns.text)
        problem = None
        if is_missing(text):
            problem = f"this row has no text to judge ({row.place})"
            text = ""
        elif isinstance(text, list | dict):
            raise FileError(
                f"the column `{columns.text}` holds {type(text).__name__} here, not a text",
                place=row.place,
                hint=f"name a part of it: {columns.text}.KEY"
                if isinstance(text, dict)
                else "name a column of texts",
            )
        try:
            version = Version.of_text(cell_text(text), "text.txt")
        except UnicodeEncodeError:
            raise FileError(
                f"the column `{columns.text}` holds half a character here",
                place=row.place,
                hint="write the table as UTF-8 again",
            ) from None
        if version.size > self._max_bytes:
            raise FileError(
                f"this text has {version.size:,} bytes, more than {self._max_bytes:,}",
                place=row.place,
                hint="--max-bytes sets how many may be judged",
            )
        return JudgedSubject(
            name=self._id(row),
            loaded=Loaded(version),
            asked_as=ASKED_AS,
            input=self._more(row, columns.input, self._source.input),
            reference=self._more(row, columns.reference, self._source.reference),
            group=self._more(row, columns.group, None) or "",
            problem=problem,
        )

    def _id(self, row: TableRow) -> str:
        column = self._source.columns.id
        if column is None:
            return self._source.id_of(self._number)
        cell = cell_of(row.cells, column)
        if is_missing(cell):
            raise FileError(f"this row has no id in the column `{column}`", place=row.place)
        id = printable(cell_text(cell))
        before = self._seen.setdefault(hash(id), self._number)
        if before != self._number:
            raise FileError(
                f"the id {visible(repr(id), 80)} is in row {before} too",
                place=row.place,
                hint="name a column in which every row differs, or leave the option out",
            )
        return id

    @staticmethod
    def _more(row: TableRow, column: str | None, shared: str | None) -> str | None:
        if column is None:
            return shared
        cell = cell_of(row.cells, column)
        return None if is_missing(cell) else cell_text(cell)
