"""The cases of a suite that may have very many, in a temporary file without a name: in memory are
only the rubrics they share.
"""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice, pairwise
from tempfile import TemporaryFile
from typing import Any, Final, overload
from weakref import finalize

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.suite.case import Case, case_from_plain, case_to_plain
from honestone.core.suite.outline import Outlining, remember_outline

# Cases that are read at a time.
PAGE: Final = 100


def keep_in_file(found: Iterable[tuple[Case, str]]) -> tuple[Sequence[Case], Mapping[str, str]]:
    """Cases with their places, as `formats.syntax.document.KeepCases` wants them."""
    cases = CaseFile(found)
    return cases, cases.places


class CaseFile(Sequence[Case]):
    """Each case is read again whenever it is asked for; cases that shared a rubric share it still.
    `found`: each with its place.

    Raises UsageError for two cases with one id, and FileError where the disk is full.
    """

    def __init__(self, cases: Iterable[tuple[Case, str]]) -> None:
        self._rubrics: list[Rubric] = []
        self._numbers: dict[int, int] = {}
        self._starts, self._count = array("Q", [0]), 0
        self._page: tuple[int, list[Any]] = (-1, [])
        ids, outline = array("q"), Outlining()
        try:
            with TemporaryFile() as file:
                rest = iter(cases)
                while page := list(islice(rest, PAGE)):
                    ids.extend(hash(case.id) for case, _ in page)
                    self._count += len(page)
                    for case, _ in page:
                        outline.add(case)
                    data = json.dumps([self._case_row(*one) for one in page]).encode()
                    file.write(data)
                    self._starts.append(self._starts[-1] + len(data))
                file.flush()
                self._file = os.dup(file.fileno())
            finalize(self, os.close, self._file)
        except OSError as error:
            raise FileError(
                f"no temporary file can be written: {error.strerror or error}"
            ) from None
        if any(
            one == other for one, other in pairwise(sorted(ids))
        ):  # they may only seem to be the same
            raise UsageError("two cases seem to have one id")
        remember_outline(self, outline.end())

    def _case_row(self, case: Case, place: str) -> list[object]:
        number = self._numbers.setdefault(id(case.rubric), len(self._rubrics))
        if number == len(self._rubrics):
            self._rubrics.append(case.rubric)
        return [case_to_plain(case), number, place]

    def _rows(self, page: int) -> list[Any]:
        start, end = self._starts[page : page + 2]
        rows: list[Any] = json.loads(os.pread(self._file, end - start, start))
        return rows

    def _each_row(self) -> Iterator[Any]:
        for page in range(len(self._starts) - 1):
            yield from self._rows(page)

    def _case(self, row: Any) -> Case:
        return case_from_plain(row[0], self._rubrics[row[1]])

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Case]:
        return map(self._case, self._each_row())

    @overload
    def __getitem__(self, index: int) -> Case: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Case]: ...
    def __getitem__(self, index: int | slice) -> Case | Sequence[Case]:
        if isinstance(index, slice):
            return [self[number] for number in range(self._count)[index]]
        page, row = divmod(range(self._count)[index], PAGE)
        if self._page[0] != page:
            self._page = page, self._rows(page)
        return self._case(self._page[1][row])

    @property
    def places(self) -> Mapping[str, str]:
        return _Places(self._each_row, self._count)


class _Places(Mapping[str, str]):
    """The places of cases by id, which are looked for when one is asked for."""

    def __init__(self, rows: Any, count: int) -> None:
        self._rows, self._count = rows, count

    def __getitem__(self, id: str) -> str:
        for case, _, place in self._rows():
            if case["id"] == id:
                return str(place)
        raise KeyError(id)

    def __iter__(self) -> Iterator[str]:
        return (case["id"] for case, _, _ in self._rows())

    def __len__(self) -> int:
        return self._count
