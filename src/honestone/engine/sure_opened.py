"""Which attempts of a suite under `sure` are opened, in the suite's order.

A run that was killed opens them again in that order, whatever is on record: an output counts when its
attempt is opened, so that the same looks are chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from honestone.core.record.case_belief import needs_every_attempt
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.core.suite.dependencies import with_needed
from honestone.engine.sure_texts import Key


@dataclass(kw_only=True)
class OpenedAttempts:
    """`was_over`: an earlier process of the run chose every look that it needs, so what is on record is
    open. `without_output`: cases whose target cannot be run any more.
    """

    record: SuiteRecord
    was_over: bool
    keys: set[Key] = field(default_factory=set)
    without_output: set[str] = field(default_factory=set)
    _cases: list[str] = field(default_factory=list)
    _begun: int = 0
    # On record and not opened yet.
    _hidden: set[Key] = field(default_factory=set)

    def __post_init__(self) -> None:
        cases = self.record.cases
        left, begun = [id for id, one in cases.items() if one.case.skip is None], set[str]()
        # The suite itself skips some: their turn is at once. Those that are on record as skipped get none.
        self.keys |= {
            (id, 1)
            for id, one in cases.items()
            if one.case.skip is not None and one.passed_by is None
        }
        if self.was_over:
            left = [id for id in left if not cases[id].is_complete]
            begun = {id for id in left if cases[id].made}
        else:
            self._hidden = {(id, number) for id, one in cases.items() for number in one.made}
        # A case that is opened waits for those that it depends on, so they are opened before it.
        waits_for = {id: cases[id].case.depends_on for id in left}
        self._cases = with_needed(waits_for, sorted(left, key=lambda id: id not in begun))
        self.begin(
            max([place for place, id in enumerate(self._cases, 1) if id in begun], default=0)
        )

    @property
    def cases(self) -> Sequence[str]:
        """Those that are opened here, sooner or later."""
        return self._cases

    @property
    def begun(self) -> Sequence[str]:
        return self._cases[: self._begun]

    @property
    def left(self) -> Sequence[str]:
        return self._cases[self._begun :]

    @property
    def has_left(self) -> bool:
        return self._begun < len(self._cases)

    def begin(self, count: int) -> None:
        """The next cases, in the suite's order, each after those that it depends on."""
        wanted = self._cases[self._begun : self._begun + count]
        self._begun += len(wanted)
        for id in wanted:
            case = self.record.cases[id]
            first = case.case.attempts if needs_every_attempt(case.case) else 1
            self._open(id, {*range(1, first + 1), *(case.produced if self.was_over else ())})

    def open_next(self, ids: Iterable[str]) -> None:
        """The next attempt of each of these cases."""
        for id in ids:
            number = self.next_attempt(id)
            if number is not None:
                self._open(id, [number])

    def next_attempt(self, id: str) -> int | None:
        """None where there is none, or its target cannot be run any more."""
        if id in self.without_output:
            return None
        case = self.known(id)
        numbers = range(1, case.case.attempts + 1)
        begun = (one for one in numbers if case.has_ended(one) or (id, one) in self.keys)
        number = max(begun, default=0) + 1
        return number if number <= case.case.attempts else None

    def known(self, id: str) -> CaseRecord:
        """What is on record of a case, but for attempts that are not opened."""
        case = self.record.cases[id]
        hidden = {one for one in case.made if (id, one) in self._hidden} if self._hidden else ()
        return _without(case, hidden) if hidden else case

    @property
    def known_cases(self) -> Mapping[str, CaseRecord]:
        cases = self.record.cases
        return (
            {**cases, **{id: self.known(id) for id, _ in self._hidden}} if self._hidden else cases
        )

    def _open(self, id: str, numbers: Iterable[int]) -> None:
        """These attempts of a case, but for those that have ended."""
        keys = {(id, number) for number in numbers}
        self._hidden -= keys
        self.keys |= {key for key in keys if not self.record.cases[id].has_ended(key[1])}


def _without(case: CaseRecord, numbers: Collection[int]) -> CaseRecord:
    """A case as if nothing were on record of these attempts."""
    return CaseRecord(
        case=case.case,
        scorer=case.scorer,
        rubric=case.rubric,
        contract=case.contract,
        made={number: one for number, one in case.made.items() if number not in numbers},
        is_brief=case.is_brief,
        is_asked_on=case.is_asked_on,
        has_twin=case.has_twin,
    )
