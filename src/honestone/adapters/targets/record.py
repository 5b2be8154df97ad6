"""`record:FILE`, and the outputs of `eval --outputs FILE`: what was recorded before, instead of a
target that is run.

Strict: a case or attempt that is missing or there twice, or a row without output, is refused before
anything is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeAlias

from msgspec.structs import replace

from honestone.adapters.targets.record_files import (
    SHAPE,
    RecordedOutput,
    RecordFile,
    Where,
    read_record,
)
from honestone.adapters.targets.trace_parsing import Misread, json_output
from honestone.core.errors import UsageError
from honestone.core.json_value import listed, visible
from honestone.core.suite.case import Case
from honestone.ports import NothingToClose, Output, Task

# The id of a case and the number of an attempt at it.
Attempt: TypeAlias = tuple[str, int]


def wanted_attempts(cases: Sequence[Case]) -> list[Attempt]:
    """What has to be on record for these cases. Where a pass ends the attempts, there may be one
    only.
    """
    numbers = {
        case.id: 1 if case.stops_at_pass else case.attempts for case in cases if case.skip is None
    }
    return [(id, number) for id, most in numbers.items() for number in range(1, most + 1)]


def require_all(
    wanted: Sequence[Attempt], known: Mapping[Attempt, object], place: str, hint: str = SHAPE
) -> None:
    """Raises UsageError that names the attempts without an output."""
    missing = sorted(set(wanted) - known.keys())
    if missing:
        named = ", ".join(_case_name(*one) for one in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise UsageError(f"no output is recorded for {named}{more}", place=place, hint=hint)


class _Outputs(Mapping[Attempt, Output]):
    """Outputs by attempt, each read from the file when it is asked for."""

    def __init__(self, file: RecordFile, rows: Mapping[Attempt, Where]) -> None:
        self._file = file
        self._rows = rows

    def __getitem__(self, key: Attempt) -> Output:
        where = self._rows[key]
        return _output(self._file.output(where), key[0], self._file, where)

    def __iter__(self) -> Iterator[Attempt]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


class RecordTarget(NothingToClose):
    """Reads the file when it is made. `outputs` are those of the cases that `refuse` was shown,
    `inputs` what these cases asked then and `made_by` who answered, as far as the file says so.
    `notes` speak of rows that are not used.
    """

    def __init__(self, path: Path, *, name: str | None = None) -> None:
        self._file: Final = read_record(path, name or str(path))
        self.identity: Final = {"kind": "record", "digest": self._file.digest}
        self._rows: Final[dict[Attempt, Where]] = {}
        self.outputs: Final[Mapping[Attempt, Output]] = _Outputs(self._file, self._rows)
        self.inputs: dict[str, object] = {}
        self.made_by: tuple[str, ...] = ()
        self.notes: tuple[str, ...] = ()

    @property
    def about(self) -> Mapping[str, object]:
        """What the file says of all its outputs."""
        return self._file.about

    def refuse(self, cases: Sequence[Case]) -> None:
        """Every attempt at every case that is not skipped has one row. Raises UsageError that names
        what has not.
        """
        asked = {case.id: case for case in cases if case.skip is None}
        rows: dict[Attempt, Where] = {}
        unusable: list[UsageError] = []
        others: list[str] = []
        makers: dict[str, None] = {}
        self.inputs = {}
        for where, row in self._file.outputs():
            id = next((name for name in row.names if name in asked), row.names[0])
            number = row.attempt or _next(id, rows, asked)
            if id not in asked or number > asked[id].attempts:
                others.append(f"{id}{_attempt(number)}")
                continue
            if (id, number) in rows:
                raise _doubled(self._file, (id, number), rows[id, number], (where, row))
            rows[id, number] = where
            try:
                _output(row, id, self._file, where)
            except UsageError as error:
                unusable.append(error)
            if row.input is not None:
                self.inputs[id] = row.input
            if row.made_by:
                makers[row.made_by] = None
        if unusable:
            raise unusable[0]
        require_all(wanted_attempts(cases), rows, self._file.end)
        self._rows.update(rows)
        self.made_by = tuple(makers)
        self.notes = _note(others, self._file.name)

    async def run(self, task: Task) -> Output:
        known = self.outputs.get((task.case, task.attempt))
        return known or Output(text="", error=f"no output is recorded for attempt {task.attempt}")


def _next(id: str, rows: Mapping[Attempt, object], asked: Mapping[str, Case]) -> int:
    """The number of a row that has none: the first attempt that has no row yet. Beyond the last one
    it is doubled.
    """
    most = asked[id].attempts if id in asked else 1
    return next((number for number in range(1, most + 1) if (id, number) not in rows), most)


def _doubled(
    file: RecordFile, key: Attempt, first: Where, second: tuple[Where, RecordedOutput]
) -> UsageError:
    line = file.place(first[0]).removeprefix(f"{file.name}:")
    by = [one.made_by for one in (file.output(first), second[1])]
    makers = f", by {listed([str(one) for one in by])}" if by[0] != by[1] else ""
    hint = "keep the outputs of one of them" if makers else "keep one of the two rows"
    message = (
        f"the output of case {_case_name(*key)} is recorded twice; first in line {line}{makers}"
    )
    return UsageError(message, place=file.place(second[0][0]), hint=hint)


def _output(row: RecordedOutput, id: str, file: RecordFile, where: Where) -> Output:
    if row.output is None or (row.output == "" and row.error is not None):
        if row.error is None:
            raise UsageError(
                f"the row of case `{visible(id, 80)}` has no `output`",
                place=file.place(where[0]),
                hint=SHAPE,
            )
        return Output(text="", error=visible(row.error), duration_ms=_took(row))
    try:
        output = json_output(
            {
                "output": row.output,
                **{key: one for key, one in (row.reported or {}).items() if one is not None},
            }
        )
    except Misread as why:
        raise UsageError(
            f"the row of case `{visible(id, 80)}` cannot be used: {why}",
            place=file.place(where[0]),
            hint=SHAPE,
        ) from None
    traced = output.trace.duration_ms if output.trace is not None else None
    return replace(output, duration_ms=_took(row) or traced or 0, diff=row.diff)


def _took(row: RecordedOutput) -> int:
    ms = row.duration_ms
    return round(ms) if isinstance(ms, int | float) and 0 <= ms <= 10**12 else 0


def _case_name(id: str, number: int) -> str:
    return f"`{visible(id, 80)}`{_attempt(number)}"


def _attempt(number: int) -> str:
    return f" (attempt {number})" if number > 1 else ""


def _note(others: Sequence[str], name: str) -> tuple[str, ...]:
    if not others:
        return ()
    named = visible(", ".join(others[:3]), 200)
    more = f" and {len(others) - 3} more" if len(others) > 3 else ""
    return (f"{name} also holds outputs that are not asked for: {named}{more}",)
