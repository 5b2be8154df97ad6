"""`record:FILE`: outputs that were recorded before, as JSON lines {"id", "output", "attempt": 1}, in any order.

What else a row holds (tokens, tool calls, ...) is its trace. Strict: a case or attempt that is missing or there twice,
or a row without output, is refused before anything is judged.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from honestone.adapters.targets.trace_parsing import Misread, told
from honestone.core.artifact import as_text, digest_of
from honestone.core.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.suite.case import Case
from honestone.ports import NothingToClose, Output, Task

MAX_BYTES: Final = 500_000_000
_SHAPE: Final = 'a row is {"id": "CASE", "output": "TEXT"}, with "attempt": N from the second attempt on'


class RecordTarget(NothingToClose):
    """Reads the file when it is made. `notes` are what a person should know about rows that are not used."""

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._name = name or str(path)
        data = _read(path, self._name)
        self._rows = list(_rows(data, self._name))
        self.identity = {"kind": "record", "digest": digest_of(data)}
        self._outputs: dict[tuple[str, int], Output] = {}
        self.notes: tuple[str, ...] = ()

    def refuse(self, cases: Sequence[Case]) -> None:
        """Every attempt at every case that is not skipped has one row. Raises UsageError that names what has not."""
        wanted = {(case.id, n) for case in cases if case.skip is None for n in range(1, case.attempts + 1)}
        lines: dict[tuple[str, int], int] = {}
        others: list[str] = []
        for line, row in self._rows:
            key = _key(row, f"{self._name}:{line}")
            if key not in wanted:
                others.append(f"{key[0]}{_attempt(key[1])}")
                continue
            if key in lines:
                raise UsageError(
                    f"the output of case `{visible(key[0], 80)}`{_attempt(key[1])} is recorded twice; first in line {lines[key]}",
                    place=f"{self._name}:{line}",
                    hint="keep one of the two rows",
                )
            lines[key] = line
            self._outputs[key] = self._output(row, line)
        missing = sorted(wanted - lines.keys())
        if missing:
            named = ", ".join(f"`{visible(id, 80)}`{_attempt(n)}" for id, n in missing[:5])
            more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
            raise UsageError(
                f"no output is recorded for {named}{more}", place=f"{self._name}:{_last(self._rows)}", hint=_SHAPE
            )
        self.notes = _note(others, self._name)

    def _output(self, row: Mapping[str, Any], line: int) -> Output:
        place = f"{self._name}:{line}"
        if row.get("output") is None:
            raise UsageError(
                f"the row of case `{visible(str(row['id']), 80)}` has no `output`", place=place, hint=_SHAPE
            )
        rest = {key: value for key, value in row.items() if key not in ("id", "attempt")}
        try:
            output = told(rest)
        except Misread as why:
            raise UsageError(
                f"the row of case `{visible(str(row['id']), 80)}` cannot be used: {why}", place=place, hint=_SHAPE
            ) from None
        took = output.trace.duration_ms if output.trace is not None else None
        return replace(output, duration_ms=took or 0)

    async def run(self, task: Task) -> Output:
        known = self._outputs.get((task.case, task.attempt))
        return known or Output(text="", error=f"no output is recorded for attempt {task.attempt}")


def _read(path: Path, name: str) -> bytes:
    try:
        if path.is_file() and path.stat().st_size > MAX_BYTES:
            raise FileError(f"the record {name!r} is larger than {MAX_BYTES / 1e6:g} MB")
        return path.read_bytes()
    except OSError as error:
        raise FileError(
            f"the record {name!r} cannot be read: {(error.strerror or str(error)).lower()}",
            hint="record:FILE is a path from the working directory, or next to the suite",
        ) from None


def _rows(data: bytes, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each line that holds something, with its number."""
    text = as_text(data)
    if text is None:
        raise FileError(f"the record {name!r} is not UTF-8 text")
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            why = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise UsageError(
                f"this line is not JSON: {visible(why.lower())}", place=f"{name}:{number}", hint=_SHAPE
            ) from None
        if not isinstance(row, dict):
            raise UsageError("this line is not a JSON object", place=f"{name}:{number}", hint=_SHAPE)
        yield number, row


def _key(row: Mapping[str, Any], place: str) -> tuple[str, int]:
    id, attempt = row.get("id"), row.get("attempt", 1)
    if isinstance(id, int) and not isinstance(id, bool):
        id = str(id)
    if not isinstance(id, str) or not id:
        raise UsageError("this row has no `id`", place=place, hint=_SHAPE)
    if isinstance(attempt, bool) or not isinstance(attempt, int) or attempt < 1:
        raise UsageError(f"`attempt` is {visible(repr(attempt), 40)}, but counts from 1", place=place, hint=_SHAPE)
    return id, attempt


def _attempt(number: int) -> str:
    return f" (attempt {number})" if number > 1 else ""


def _last(rows: Sequence[tuple[int, Any]]) -> int:
    return rows[-1][0] if rows else 1


def _note(others: Sequence[str], name: str) -> tuple[str, ...]:
    if not others:
        return ()
    named = visible(", ".join(others[:3]), 200)
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return (f"{name} also holds outputs that are not asked for: {named}{more}",)
