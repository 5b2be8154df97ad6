"""A table of texts, a row each: CSV (also with `;` or tabs), JSON lines, a JSON list, Parquet.

What a file is follows from its content. Rows of CSV, JSON lines and Parquet are read one at a time,
so that memory stays flat whatever the size of the table; each row knows its line.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import BinaryIO, Final

import msgspec
from msgspec import Struct

from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import json_once, late_pattern
from honestone.formats.syntax.csv_rows import json_list_rows
from honestone.formats.syntax.marked import read_text
from honestone.formats.syntax.nodes import MAX_BYTES

_DELIMITERS: Final = (",", ";", "\t", "|")
# Bytes of the beginning of a file that say what it is.
_HEAD: Final = 65_536
_BOM: Final = b"\xef\xbb\xbf"
# Columns that a message lists.
MOST_COLUMNS: Final = 30
# What programs write for a number or text that is not there.
_NOT_A_NUMBER: Final = ("nan", "NaN")
# The column in which pandas keeps the index of a frame in a Parquet file.
_INDEX: Final = late_pattern(r"__index_level_\d+__")


class TableRow(Struct, frozen=True, kw_only=True):
    """One row: its cells by column, and its place for messages (`replies.csv:3`)."""

    place: str
    cells: Mapping[str, object]


class TextTable(Struct, frozen=True, kw_only=True):
    """A file that holds a table. `rows` reads it from the beginning each time.

    `kind`: `csv`, `jsonl`, `json` or `parquet`. `delimiter`: what parts the cells of CSV.
    """

    path: Path
    name: str
    kind: str
    delimiter: str = ","

    @classmethod
    def of(cls, path: Path, name: str) -> TextTable:
        """`name` stands for the file in messages. Raises FileError for what is not a text or not
        there.
        """
        try:
            with path.open("rb") as file:
                head = file.read(_HEAD)
        except IsADirectoryError:
            raise FileError(
                f"`{name}` is a folder, not a table", hint="name a CSV, JSON or Parquet file"
            ) from None
        except (OSError, ValueError):
            read_text(path)  # which says what is wrong
            raise
        if head.startswith(b"PAR1"):
            return cls(path=path, name=name, kind="parquet")
        if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise FileError(
                "this file is UTF-16, not UTF-8", place=f"{name}:1:1", hint="save it as UTF-8"
            )
        start = head.removeprefix(_BOM).lstrip()
        if not start:
            raise FileError("this table is empty", place=f"{name}:1:1")
        if start.startswith(b"["):
            return cls(path=path, name=name, kind="json")
        if start.startswith(b"{"):
            return cls(path=path, name=name, kind="jsonl" if _is_json_line(start) else "json")
        return cls(path=path, name=name, kind="csv", delimiter=_delimiter_of(start, path))

    def rows(self) -> Iterator[TableRow]:
        """Every row, in order. Raises FileError with the line of what is wrong."""
        match self.kind:
            case "csv":
                return self._csv_rows()
            case "jsonl":
                return self._json_lines()
            case "json":
                return self._json_list()
            case _:
                return self._parquet_rows()

    def _lines(self, file: BinaryIO) -> Iterator[str]:
        """Decoded lines with their ends. Raises FileError for a line that is not UTF-8."""
        for number, line in enumerate(file, 1):
            try:
                text = line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise FileError(
                    f"this line is not UTF-8: it holds the byte 0x{byte:02x}",
                    place=f"{self.name}:{number}",
                    hint="save the table as UTF-8",
                ) from None
            if "\0" in text:
                raise FileError(
                    "this line holds a NUL character, so it is not a text",
                    place=f"{self.name}:{number}",
                )
            yield text

    def _csv_rows(self) -> Iterator[TableRow]:
        csv.field_size_limit(MAX_BYTES)
        with self.path.open("rb") as file:
            table = csv.reader(self._lines(file), delimiter=self.delimiter, strict=True)
            line = 1
            try:
                header = [column.strip() for column in next(table, [])]
                self._require_distinct(header)
                line = table.line_num + 1
                for cells in table:
                    if cells:
                        yield self._csv_row(header, cells, line)
                    line = table.line_num + 1
            except csv.Error as error:
                is_open = "unexpected end" in str(error)
                what = (
                    "a quote that begins in this row is never closed"
                    if is_open
                    else f"this is not a CSV table: {error}"
                )
                raise FileError(what, place=f"{self.name}:{line}") from None

    def _csv_row(self, header: list[str], cells: list[str], line: int) -> TableRow:
        if len(cells) != len(header):
            is_long = len(cells) > len(header)
            raise FileError(
                f"this row has {len(cells)} cells, but there are {len(header)} columns",
                place=f"{self.name}:{line}",
                hint="put a cell with a comma or a line break in double quotes"
                if is_long
                else "leave cells empty, not out",
            )
        return TableRow(place=f"{self.name}:{line}", cells=dict(zip(header, cells, strict=True)))

    def _require_distinct(self, header: list[str]) -> None:
        twice = next((column for column in header if header.count(column) > 1), None)
        if twice is not None:
            raise FileError(
                f"two columns have the name {visible(repr(twice), 80)}", place=f"{self.name}:1"
            )

    def _json_lines(self) -> Iterator[TableRow]:
        with self.path.open("rb") as file:
            for number, line in enumerate(self._lines(file), 1):
                if line.strip():
                    place = f"{self.name}:{number}"
                    yield TableRow(place=place, cells=_json_object(line, place))

    def _json_list(self) -> Iterator[TableRow]:
        for line, row in json_list_rows(read_text(self.path), self.name):
            yield TableRow(place=f"{self.name}:{line}", cells=row)

    def _parquet_rows(self) -> Iterator[TableRow]:
        try:
            parquet = import_module("pyarrow.parquet")
        except ImportError:
            raise UsageError(
                f"`{self.name}` is a Parquet file, which needs pyarrow, which is not installed",
                hint="pip install 'honestone[parquet]'",
            ) from None
        errors = import_module("pyarrow").ArrowException
        number = 0
        try:
            with parquet.ParquetFile(self.path) as file:
                for batch in file.iter_batches(batch_size=256):
                    for row in batch.to_pylist():
                        number += 1
                        cells = {key: row[key] for key in row if not _INDEX.fullmatch(key)}
                        yield TableRow(place=f"{self.name}: row {number}", cells=cells)
        except (errors, OSError) as error:
            raise FileError(
                f"this Parquet file cannot be read: {visible(str(error), 200)}", place=self.name
            ) from None


def _is_json_line(start: bytes) -> bool:
    """Whether a file that begins with `{` is JSON lines: its first line is a whole object."""
    first, _, rest = start.partition(b"\n")
    try:
        value = json.loads(first)
    except (ValueError, RecursionError):
        return False
    # One object of lists on one line is a table by columns, as data frames are written.
    return bool(rest.strip()) or not any(isinstance(one, list | dict) for one in value.values())


def _delimiter_of(start: bytes, path: Path) -> str:
    """What the header has most often outside of quotes; a tab where the file is called `.tsv`."""
    header = re.sub(r'"(?:[^"]|"")*"', "", start.decode("utf-8", "replace")).partition("\n")[0]
    if path.suffix.lower() in (".tsv", ".tab"):
        return "\t"
    return max(_DELIMITERS, key=header.count)


def _json_object(line: str, place: str) -> Mapping[str, object]:
    try:
        row = msgspec.json.decode(line, type=dict[str, object])
        json_once(line)
        return row
    except (ValueError, RecursionError) as error:
        try:
            # What only Python writes: NaN.
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if isinstance(row, dict) and "NaN" in line:
            return row
        raise FileError(
            f"this line is not a JSON object: {visible(str(error), 120)}",
            place=place,
            hint="each line of JSON lines is an object, whose keys are the columns",
        ) from None


def columns_of_table(path: Path, name: str) -> list[str]:
    """The columns of a file's first row; none where it is not a table."""
    try:
        first = next(TextTable.of(path, name).rows(), None)
    except (UsageError, OSError, csv.Error):
        return []
    return [] if first is None else [*first.cells]


# -------------------------------------------------------------------------------------------------
# cells


def cell_of(cells: Mapping[str, object], column: str) -> object:
    """The cell of a column; of `outputs.answer` the part of an object. None where there is none."""
    if column in cells:
        return cells[column]
    head, dot, rest = column.partition(".")
    inner = cells.get(head) if dot else None
    return cell_of(inner, rest) if isinstance(inner, Mapping) else None


def has_column(cells: Mapping[str, object], column: str) -> bool:
    """Whether a row has that column, or that part of an object."""
    if column in cells:
        return True
    head, dot, rest = column.partition(".")
    inner = cells.get(head) if dot else None
    return isinstance(inner, Mapping) and has_column(inner, rest)


def is_missing(cell: object) -> bool:
    """Whether a cell holds nothing: no value, NaN, or only white space."""
    if cell is None:
        return True
    if isinstance(cell, str):
        return not cell.strip() or cell.strip() in _NOT_A_NUMBER
    if isinstance(cell, float):
        return math.isnan(cell)
    # What a data frame has for a missing value of any type is not equal to itself.
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):
        return type(cell).__name__ == "NAType"


def cell_text(cell: object) -> str:
    """A cell as text: what is not a text as JSON, whole numbers without a point."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    if isinstance(cell, bool | int | float | list | dict):
        return json.dumps(cell, ensure_ascii=False, default=str)
    return str(cell)


def no_such_column(option: str, column: str, columns: list[str]) -> UsageError:
    """The refusal of a column that a table does not have, with those that it has."""
    shown = ", ".join(map(repr, columns[:MOST_COLUMNS]))
    more = f" and {len(columns) - MOST_COLUMNS} more" if len(columns) > MOST_COLUMNS else ""
    return UsageError(
        f"{option} names the column {visible(repr(column), 80)}, which the table does not have",
        hint=f"its columns: {visible(shown, 1000)}{more}" if columns else "it has no columns",
    )
