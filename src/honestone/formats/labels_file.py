"""Labels: what people say of artifacts, as a table in CSV or as JSON lines, and adding to either an
answer at a time.

CSV         artifact[,rater],CRITERION...: a row an artifact (or an artifact and a rater), empty cells are not labelled
JSON lines  {"artifact": ..., "rater": ..., "criterion": ..., "item": ..., "value": ...}, each line one answer

Lines that `honestone judges label` writes have the schema `honestone.label/1`, and more keys. Of several
about the same item of the same bytes by one rater the last counts, and a value of null is a skip.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from honestone.core.checking.checks import visible
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.ballot import Answer
from honestone.core.judging.rubric import Rubric
from honestone.core.statistics.labels import (
    COLUMNS,
    SOMEBODY,
    GivenLabel,
    LabelQuote,
    LabelTarget,
    PersonLabel,
    targets_of,
)
from honestone.formats.fields import near
from honestone.formats.source import SourceErrors
from honestone.formats.syntax.csv_rows import csv_rows, json_rows
from honestone.formats.syntax.document import MOST_LINES
from honestone.formats.syntax.marked import read_text
from honestone.formats.syntax.reader import did_you_mean

_ARTIFACT: Final = "artifact"
_RATER: Final = "rater"
LABEL: Final = "honestone.label/1"
_MORE: Final = ("schema", "rubric", "run", "case", "attempt", "evidence", "note", "at", "seconds")
_KEYS: Final = ("artifact", "rater", "criterion", "item", "value", "digest", *_MORE)
_NAMES: Final = 12


def read_labels(path: Path, rubric: Rubric) -> list[PersonLabel]:
    """In the order of the file. Of two answers to the same of different bytes (`digest`) the later
    one counts.

    Raises FileError for a file that cannot be read, SourceErrors with every other error, each with
    its line: columns that the rubric does not have, values that are not answers, the same labelled
    twice.
    """
    return [
        PersonLabel(
            artifact=one.artifact,
            rater=one.rater,
            key=one.key,
            answer=one.answer,
            digest=one.digest,
            line=one.line,
        )
        for one in read_given(path, rubric)
        if one.answer is not None
    ]


def read_given(path: Path, rubric: Rubric) -> list[GivenLabel]:
    """The same with all that the file says of each, and with what was skipped."""
    text, reader = read_text(path, most=MOST_LINES), _Reader(path.name, rubric)
    is_csv = path.suffix.lower() == ".csv"
    rows = csv_rows(text, path.name, reader.problems) if is_csv else json_rows(text, path.name)
    if is_csv and not reader.problems:
        reader.require_columns(_header(text))
    if not reader.problems:
        for line, row in rows:
            (reader.read_row if is_csv else reader.read_object)(line, row)
    if reader.problems:
        raise SourceErrors(reader.problems)
    return list(reader.found.values())


def _header(text: str) -> list[str]:
    return [column.strip() for column in next(csv.reader(io.StringIO(text)), [])]


class _Reader:
    """What was read so far, and what is wrong with it."""

    def __init__(self, name: str, rubric: Rubric) -> None:
        self.name = name
        self.problems: list[UsageError] = []
        self.found: dict[tuple[str, str, str, str], GivenLabel] = {}
        self._targets = targets_of(rubric)
        self._by_key = {target.key: target for target in self._targets.values()}
        self._by_code = {
            name
            for criterion, _ in rubric.walk()
            for item in criterion.items
            if item.check is not None
            for name in (criterion.id, f"{criterion.id}/{item.id}")
        }

    def _wrong(self, line: int, message: str, hint: str | None = None) -> None:
        self.problems.append(UsageError(message, place=f"{self.name}:{line}", hint=hint))

    def require_columns(self, columns: Sequence[str]) -> None:
        if _ARTIFACT not in columns:
            meant = near(_ARTIFACT, columns)
            hint = (
                f"is `{meant}` it?"
                if meant
                else "the first line names the columns: artifact[,rater],CRITERION..."
            )
            self._wrong(1, f"labels need a column `{_ARTIFACT}`", hint)
        for column in columns:
            if column not in COLUMNS and column not in self._targets:
                self._unknown(
                    1, column, [*dict.fromkeys(one.name for one in self._by_key.values()), *COLUMNS]
                )

    def _unknown(self, line: int, name: str, known: Iterable[str]) -> None:
        if name in self._by_code:
            self._wrong(
                line, f"`{name}` is answered by a check, so no judge is asked it", "leave it out"
            )
            return
        names = list(known)
        listed = ", ".join(names[:_NAMES]) + (", ..." if len(names) > _NAMES else "")
        hint = did_you_mean(name, names) or f"what can be labelled: {listed or 'nothing'}"
        self._wrong(line, f"the rubric does not ask judges about `{visible(name, 60)}`", hint)

    def read_row(self, line: int, row: Mapping[str, object]) -> None:
        cells = {
            name: value for name, value in row.items() if isinstance(value, str) and value.strip()
        }
        for name, cell in cells.items():
            if name not in COLUMNS:
                self._add(line, cells, self._targets[name], cell)

    def read_object(self, line: int, row: Mapping[str, object]) -> None:
        for key in row:
            if key not in _KEYS:
                hint = did_you_mean(key, _KEYS) or f"a label has {', '.join(_KEYS)}"
                self._wrong(line, f"`{visible(key, 60)}` is not a part of a label", hint)
                return
        criterion, item, value = row.get("criterion"), row.get("item"), row.get("value")
        if not isinstance(criterion, str) or not isinstance(item, str | None):
            self._wrong(
                line,
                "`criterion` and `item` must be text",
                'for example {"artifact": "a.md", "criterion": "tone"}',
            )
            return
        target = self._target(criterion, item or "")
        if target is None:
            items = [f"{key[0]}/{key[1]}" for key in self._by_key if key[0] == criterion and key[1]]
            known = items or dict.fromkeys(key[0] for key in self._by_key)
            self._unknown(line, f"{criterion}/{item}" if items else criterion, known)
        elif isinstance(value, bool | int | float | str) and str(value).strip():
            self._add(line, row, target, value)
        elif value is None:
            if row.get("schema") == LABEL:
                self._add(line, row, target, None)
        else:
            self._wrong(
                line, f"`value` is {visible(str(value), 40)!r}", f"it must be {target.choices}"
            )

    def _target(self, criterion: str, item: str) -> LabelTarget | None:
        found = self._by_key.get((criterion, item))
        return found or (None if item else self._targets.get(criterion))

    def _add(
        self,
        line: int,
        row: Mapping[str, object],
        target: LabelTarget,
        value: bool | int | float | str | None,
    ) -> None:
        artifact, rater, digest = (row.get(key) for key in (_ARTIFACT, _RATER, "digest"))
        if not isinstance(artifact, str) or not artifact.strip() or "\0" in artifact:
            self._wrong(
                line,
                "this label does not say which artifact it is about",
                f"give it an `{_ARTIFACT}`",
            )
            return
        if not isinstance(rater, str | None) or not isinstance(digest, str | None):
            self._wrong(line, "`rater` and `digest` must be text")
            return
        try:
            answer = None if value is None else target.read(value)
        except ValueError as error:
            self._wrong(
                line, f"`{target.name}`: {visible(str(error), 120)}", f"it must be {target.choices}"
            )
            return
        label = GivenLabel(
            artifact=artifact.strip(),
            rater=(rater or "").strip() or SOMEBODY,
            key=target.key,
            answer=answer,
            digest=digest,
            evidence=tuple(_quotes(row.get("evidence"))),
            note=note if isinstance(note := row.get("note"), str) else "",
            line=line,
        )
        known = (os.path.normpath(label.artifact), label.rater, *label.key)
        before = self.found.pop(known, None)
        if before is not None and before.digest == digest and row.get("schema") != LABEL:
            what = (
                f"{label.rater} labelled `{target.name}` of `{visible(label.artifact, 60)}` twice"
            )
            self._wrong(line, what, f"the first is in line {before.line}: remove one of them")
        self.found[known] = label


def _quotes(value: object) -> Iterator[LabelQuote]:
    """As far as they are sound: a file can be changed."""
    for one in value if isinstance(value, list) else []:
        if isinstance(one, dict) and isinstance(quote := one.get("quote"), str):
            start, end = one.get("start"), one.get("end")
            is_placed = isinstance(start, int) and isinstance(end, int)
            yield LabelQuote(
                quote=quote, start=start if is_placed else None, end=end if is_placed else None
            )


# ---------------------------------------------------------------------------------------------------------
# one at a time


class LabelsFile(Struct, frozen=True, kw_only=True):
    """A file that labels are added to. `columns` are those of a CSV table; None: JSON lines."""

    path: Path
    columns: tuple[str, ...] | None

    @classmethod
    def open(cls, path: Path, targets: Iterable[LabelTarget]) -> LabelsFile:
        """Raises FileError where labels about these targets cannot be added to the file: it has no
        column for one, or its folder is not there.
        """
        if not path.parent.is_dir():
            raise FileError(
                f"the folder `{path.parent}` of the labels file does not exist",
                hint="make it first",
            )
        if path.suffix.lower() != ".csv":
            return cls(path=path, columns=None)
        wanted = (*COLUMNS, *dict.fromkeys(target.name for target in targets))
        if not _holds_something(path):
            return cls(path=path, columns=wanted)
        columns = tuple(_header(read_text(path, most=MOST_LINES)))
        missing = [name for name in wanted if name not in columns]
        if missing:
            raise FileError(
                f"the table has no column `{missing[0]}`",
                place=f"{path.name}:1",
                hint="add it to the first line, or name a new labels file (NAME.jsonl needs no columns)",
            )
        return cls(path=path, columns=columns)

    def add(self, label: GivenLabel, target: LabelTarget) -> None:
        """Append one answer and wait until the disk has it. A table has no place for a skip. Raises
        FileError where that fails.
        """
        if label.answer is None and self.columns is not None:
            return
        try:
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            try:
                size = os.fstat(handle).st_size
                is_open = size > 0 and os.pread(handle, 1, size - 1) != b"\n"
                # One write: two people who label into one file at once do not mix their lines.
                os.write(
                    handle,
                    b"\n" * is_open
                    + "".join(self._lines(label, target, is_new=size == 0)).encode(),
                )
                os.fsync(handle)
            finally:
                os.close(handle)
        except OSError as error:
            raise FileError(f"`{self.path}` cannot be written: {error.strerror or error}") from None

    def _lines(self, label: GivenLabel, target: LabelTarget, *, is_new: bool) -> Iterator[str]:
        if self.columns is None:
            yield msgspec.json.encode(_line(label)).decode() + "\n"
            return
        assert label.answer is not None
        cells = {
            _ARTIFACT: label.artifact,
            _RATER: label.rater,
            target.name: _written(label.answer),
        }
        for row in ([self.columns] if is_new else []) + [
            tuple(cells.get(name, "") for name in self.columns)
        ]:
            out = io.StringIO()
            csv.writer(out, lineterminator="\n").writerow(row)
            yield out.getvalue()


def _line(label: GivenLabel) -> dict[str, object]:
    (criterion, item), quotes = label.key, [msgspec.to_builtins(one) for one in label.evidence]
    return {
        "schema": LABEL,
        "artifact": label.artifact,
        "rater": label.rater,
        "criterion": criterion,
        "item": item,
        "value": label.answer,
        "digest": label.digest,
        "rubric": label.rubric,
        "run": label.run,
        "case": label.case,
        "attempt": label.attempt,
        "evidence": quotes,
        "note": label.note or None,
        "at": label.at,
        "seconds": label.seconds,
    }


def _written(answer: Answer) -> str:
    return {True: "yes", False: "no"}[answer] if isinstance(answer, bool) else str(answer)


def _holds_something(path: Path) -> bool:
    try:
        return path.stat().st_size > 0
    except OSError:
        return False


def labels_so_far(path: Path, rubric: Rubric) -> list[GivenLabel]:
    """Those of a file that may not be there yet, or is empty; with what was skipped."""
    return read_given(path, rubric) if _holds_something(path) else []
