"""What each judge of a run has cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from honestone.core.events import BallotCast, JudgesAnswered, ProbeAnswered
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.spend import Spend

if TYPE_CHECKING:
    from honestone.core.events import Event


def judge_spends(log: Iterable[Event]) -> dict[str, Spend] | None:
    """What was spent on each judge, by its id, targets and workers left out. None where the record
    does not tell several judges apart: that of an older version, and that of splits of a suite,
    which are runs of their own.
    """
    spends = JudgeSpends()
    for event in log:
        if not spends.add(event):
            return None
    return spends.found


class JudgeSpends:
    """What `judge_spends` finds, event by event. `found` is None from the first event on that does
    not tell judges apart.
    """

    def __init__(self) -> None:
        self.found: dict[str, Spend] | None = {}

    def add(self, event: Event) -> bool:
        """Whether all that was spent so far is known by judge."""
        parts = _parts(event) if self.found is not None else None
        if self.found is None or parts is None:
            self.found = None
            return False
        for judge, spend in parts.items():
            self.found.setdefault(judge, Spend()).join(spend)
        return True


def _parts(event: Event) -> Mapping[str, Spend] | None:
    match event:
        case BallotCast(of_run=str()):
            return None
        case BallotCast() | ProbeAnswered():
            return {event.ballot.judge: event.spend} if event.ballot.judge != CHECK else {}
        case JudgesAnswered() if event.by_judge:
            return event.by_judge
        case JudgesAnswered():
            judges = [one.judge for one in event.ballots if one.judge != CHECK]
            if len(judges) > 1:
                return None
            return {judge: _of_judge(event.spend) for judge in judges}
        case _:
            return {}


def _of_judge(spend: Spend) -> Spend:
    """The judge's part of a spend: all but the call of the target, which has no cost of its own
    here.
    """
    return replace(spend, target_calls=0)
