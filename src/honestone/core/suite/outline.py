"""What is asked of all cases of a suite together, found in one pass over them: each pass over cases
that are in a file makes every case again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from honestone.core.judging.rubric import Rubric
    from honestone.core.suite.case import Case, CaseWorkspace


class Workload(NamedTuple):
    """What running a case takes."""

    attempts: int
    asks_judges: bool
    is_skipped: bool


class CasesOutline(NamedTuple):
    """`rubrics` by their identity, in the order of the cases; `first` is the id of the first case
    that has it, `asked` are those of cases that are not skipped. `workspaces` are those of the
    cases that have one, by id; `targets` the names of all targets that cases are for; `workloads`
    how many cases take what.
    """

    rubrics: Mapping[int, Rubric]
    first: Mapping[int, str]
    asked: Mapping[int, Rubric]
    workspaces: Mapping[str, CaseWorkspace]
    targets: Sequence[str]
    workloads: Mapping[Workload, int]
    has_dependencies: bool

    @property
    def skipped(self) -> int:
        return sum(number for workload, number in self.workloads.items() if workload.is_skipped)

    @property
    def attempts(self) -> Mapping[int, int]:
        """How many of the cases that are not skipped are attempted so many times."""
        counts = Counter[int]()
        for workload, number in self.workloads.items():
            if not workload.is_skipped:
                counts[workload.attempts] += number
        return counts


class Outlining:
    """Collects the outline of cases that are gone through anyway."""

    def __init__(self) -> None:
        self._rubrics: dict[int, Rubric] = {}
        self._first: dict[int, str] = {}
        self._asked: dict[int, Rubric] = {}
        self._workspaces: dict[str, CaseWorkspace] = {}
        self._targets: dict[str, None] = {}
        self._workloads = defaultdict[tuple[int, int, bool], int](int)
        self._has_dependencies = False

    def add(self, case: Case) -> None:
        rubric, key = case.rubric, id(case.rubric)
        if key not in self._rubrics:
            self._rubrics[key], self._first[key] = rubric, case.id
        if not case.skip:
            self._asked[key] = rubric
        self._workloads[case.attempts, key, case.skip is not None] += 1
        if case.workspace is not None:
            self._workspaces[case.id] = case.workspace
        if case.targets:
            self._targets.update(dict.fromkeys(case.targets))
        if case.depends_on:
            self._has_dependencies = True

    def end(self) -> CasesOutline:
        workloads = Counter[Workload]()
        asks = {key: rubric.asks_judges for key, rubric in self._rubrics.items()}
        for (attempts, key, is_skipped), number in self._workloads.items():
            workloads[Workload(attempts, asks[key], is_skipped)] += number
        return CasesOutline(
            rubrics=self._rubrics,
            first=self._first,
            asked=self._asked,
            workspaces=self._workspaces,
            targets=tuple(self._targets),
            workloads=workloads,
            has_dependencies=self._has_dependencies,
        )


# Of cases that are made each time they are gone through.
_KNOWN: WeakKeyDictionary[Sequence[Case], CasesOutline] = WeakKeyDictionary()


def remember_outline(cases: Sequence[Case], outline: CasesOutline) -> None:
    """For whoever asks `outline_of` these cases, which are not a tuple."""
    _KNOWN[cases] = outline


def outline_of(cases: Sequence[Case]) -> CasesOutline:
    """Goes through the cases once, however often it is asked; cases in memory each time."""
    if isinstance(cases, tuple | list):
        return _outline(cases)
    found = _KNOWN.get(cases)
    if found is None:
        found = _KNOWN[cases] = _outline(cases)
    return found


def _outline(cases: Iterable[Case]) -> CasesOutline:
    made = Outlining()
    for case in cases:
        made.add(case)
    return made.end()
