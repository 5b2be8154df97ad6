"""Tables in CSV and JSON lines: the rows with their places."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import json_once
from honestone.formats.source import SourceErrors
from honestone.formats.syntax.document import MOST_LINES
from honestone.formats.syntax.marked import parse_marked, read_text
from honestone.formats.syntax.nodes import MAX_BYTES, lines_in


def csv_rows(
    text: str, name: str, problems: list[UsageError], *, delimiter: str = ","
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with the line that each starts in. What is wrong with the table is added
    to `problems`: two columns of one name, a row with more or fewer cells than there are columns, a
    quote that is never closed.
    """

    def wrong(message: str, line: int, hint: str | None = None) -> None:
        problems.append(UsageError(message, place=f"{name}:{line}:1", hint=hint))

    if "\0" in text:
        wrong(
            "this table holds a NUL character, so it is not a text file",
            text[: text.index("\0")].count("\n") + 1,
        )
        return
    csv.field_size_limit(MAX_BYTES)
    table = csv.reader(lines_in(text), delimiter=delimiter, strict=True)
    line = 1
    try:
        header = [column.strip() for column in next(table, [])]
        if len(set(header)) != len(header):
            wrong("two columns have the same name", 1)
            return
        line = table.line_num + 1
        for cells in table:
            has_text = any(cell.strip() for cell in cells)
            if len(cells) > len(header) or (has_text and len(cells) < len(header)):
                message = f"this row has {len(cells)} cells, but there are {len(header)} columns"
                is_long = len(cells) > len(header)
                wrong(
                    message,
                    line,
                    "put a cell with a comma in double quotes"
                    if is_long
                    else "leave cells empty, not out",
                )
            elif has_text:
                yield line, dict(zip(header, cells, strict=True))
            line = table.line_num + 1
    except csv.Error as error:
        is_open = "unexpected end" in str(error)
        what = (
            "a quote that begins in this row is never closed"
            if is_open
            else f"this is not a CSV table: {error}"
        )
        wrong(what, line if is_open else max(table.line_num, 1))


def json_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The objects of JSON lines with the line of each. Raises FileError for a line that is not one."""
    for number, line in enumerate(lines_in(text), 1):
        if not line.strip():
            continue
        try:
            row = msgspec.json.decode(
                line.removesuffix("\n"), type=dict[str, object]
            )  # which refuses half a character
            json_once(line)
            yield number, row
        except (ValueError, RecursionError) as error:
            raise FileError(
                f"this line is not a JSON object: {visible(str(error), 120)}",
                place=f"{name}:{number}",
                hint="tables are read from CSV (NAME.csv) and JSON lines",
            ) from None


def _is_lines(text: str) -> bool:
    """Whether a text is JSON lines: its first line is an object, and another one follows."""
    lines = [line for line in text.lstrip().split("\n", 2)[:2] if line.strip()]
    return len(lines) == 2 and all(
        line.strip().startswith("{") and line.strip().endswith("}") for line in lines
    )


def json_list_rows(text: str, name: str) -> Iterator[tuple[int, dict[str, object]]]:
    """The rows of a table that is one JSON value, with the line of each: a list of objects, alone
    or as the only list of an object; or an object of columns. Raises FileError for another value.
    """
    marked = parse_marked(text, name)
    value, root = marked.value, marked.root
    if isinstance(value, dict) and str(value.get("schema", "")).startswith("honestone."):
        yield root.line, value  # a document of ours is itself, whatever lists it has
        return
    if isinstance(value, dict):
        lists = [key for key, one in value.items() if _has_objects(one)]
        if len(lists) != 1:
            yield from ((root.line, row) for row in _rows_of_columns(value, name))
            return
        assert isinstance(root.children, dict)
        value, root = value[lists[0]], root.children[lists[0]][1]
    if not _has_objects(value):
        raise _not_a_table(name)
    for row, node in zip(value, root.below(), strict=True):
        yield node.line, row


def _has_objects(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def _rows_of_columns(value: Mapping[str, object], name: str) -> Iterator[dict[str, object]]:
    """`{"question": [...], "answer": [...]}`, as data frames and data sets are written; the lists
    may be mappings by row.
    """
    columns = {
        key: list(one.values()) if isinstance(one, dict) else one for key, one in value.items()
    }
    sizes = {len(one) if isinstance(one, list) else -1 for one in columns.values()}
    if len(sizes) != 1 or sizes <= {-1, 0}:
        raise _not_a_table(name)
    for cells in zip(*(one for one in columns.values() if isinstance(one, list)), strict=True):
        yield dict(zip(columns, cells, strict=True))


def _not_a_table(name: str) -> FileError:
    hint = 'a table is a list of rows, such as [{"input": "...", "reference": "..."}], or an object of columns'
    return FileError("this JSON is not a table", place=f"{name}:1:1", hint=hint)


def table_rows(
    path: Path, name: str, *, delimiters: str = ","
) -> Iterator[tuple[int, Mapping[str, object]]]:
    """Those of a file: CSV by its ending, a JSON list where its text is one, else JSON lines. Cells
    are parted by the one of `delimiters` that its first line has most often. Raises FileError, and
    SourceErrors after the last row.
    """
    text = read_text(path, most=MOST_LINES)
    if path.suffix.lower() == ".json" and not _is_lines(text):
        yield from json_list_rows(text, name)
        return
    if path.suffix.lower() not in (".csv", ".tsv"):
        yield from json_rows(text, name)
        return
    problems: list[UsageError] = []
    delimiter = max(delimiters, key=text.partition("\n")[0].count)
    yield from csv_rows(text, name, problems, delimiter=delimiter)
    if problems:
        raise SourceErrors(problems)
