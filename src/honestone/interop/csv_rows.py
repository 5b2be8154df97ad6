"""Tables in CSV: the rows with their places."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from honestone.core.errors import UsageError
from honestone.formats.reader import FileReading


def csv_rows(text: str, name: str, reading: FileReading) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a table with the line that each starts in. What is wrong with the table is a problem of `reading`."""

    def wrong(message: str, line: int, hint: str | None = None) -> None:
        reading.problems.append(UsageError(message, place=f"{name}:{line}:1", hint=hint))

    table = csv.reader(io.StringIO(text))
    try:
        header = [column.strip() for column in next(table, [])]
        if len(set(header)) != len(header):
            wrong("two columns have the same name", 1)
            return
        line = table.line_num + 1
        for cells in table:
            if len(cells) > len(header):
                message = f"this row has {len(cells)} cells, but there are {len(header)} columns"
                wrong(message, line, "put a cell with a comma in double quotes")
            elif any(cell.strip() for cell in cells):
                yield line, dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=True))
            line = table.line_num + 1
    except csv.Error as error:
        wrong(f"this is not a CSV table: {error}", max(table.line_num, 1))
