"""How well a skill is picked up: what the cases of a run that ask whether it was read come to."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Final

from msgspec import Struct

from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import Rubric
from honestone.core.record.record import CaseRecord
from honestone.core.suite.attempts import Status

KIND: Final = "skill-loaded"
HALF: Final = Fraction(1, 2)


class Triggering(Struct, frozen=True, kw_only=True):
    """`cases` ask whether the skill was read; of `unknown` ones no attempt says so, or they were
    not run.

    A case with several attempts picked the skill up where half of those that are known did.
    `precision`: of the cases that picked it up, the share (0-1) that should; `recall`: of those
    that should, the share that did. None where no case counts.
    """

    cases: int
    unknown: int
    precision: Fraction | None
    recall: Fraction | None


def triggering_of(records: Iterable[CaseRecord]) -> Triggering | None:
    """None where no case asks for it."""
    cases = [
        (wanted, _picked_up(one, wanted))
        for one in records
        if (wanted := _wanted(one.case.rubric)) is not None
    ]
    if not cases:
        return None
    right = sum(wanted and did is True for wanted, did in cases)
    return Triggering(
        cases=len(cases),
        unknown=sum(did is None for _, did in cases),
        precision=_share(right, sum(did is True for _, did in cases)),
        recall=_share(right, sum(wanted and did is not None for wanted, did in cases)),
    )


def _share(part: int, whole: int) -> Fraction | None:
    return Fraction(part, whole) if whole else None


def asks_for_skill(rubric: Rubric) -> bool:
    """Whether its cases ask if the skill was read."""
    return _wanted(rubric) is not None


def _wanted(rubric: Rubric) -> bool | None:
    """Whether a case wants the skill to be read; None where it does not ask."""
    checks = [
        item.check
        for _, item in rubric.questions()
        if item.check is not None and item.check.kind == KIND
    ]
    return not checks[0].negated if checks else None


def _picked_up(record: CaseRecord, wanted: bool) -> bool | None:
    if record.case.skip is not None or record.result.status is Status.SKIPPED:
        return None
    answers = [
        met
        for ballots in record.ballots.values()
        if (met := _met(record.case.rubric, ballots)) is not None
    ]
    return (
        None
        if not answers
        else Fraction(sum(met is wanted for met in answers), len(answers)) >= HALF
    )


def _met(rubric: Rubric, ballots: Iterable[Ballot]) -> bool | None:
    """What code answered to the first such check of one attempt."""
    keys = [
        key
        for key, item in rubric.questions()
        if item.check is not None and item.check.kind == KIND
    ]
    for ballot in ballots:
        mark = ballot.marks.get(keys[0])
        if mark is not None:
            return mark.answer is True
    return None
