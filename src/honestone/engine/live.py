"""How far a run is, said to its observer and kept in its store for whoever looks from another
process.

`HERE` is the run that is under way, so that what asks judges need not know of it. A run within
another one, such as that of a split within a loop, is a part of it: the other's judges and calls
are those of both.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from msgspec import Struct, field

from honestone.core.judging.spend import Meter
from honestone.core.live import JudgeNow, LiveJudge, LiveRun
from honestone.ports import Journal, Observer, Span
from honestone.system.telemetry import NO_TELEMETRY, run_under_way


class _Judge(Struct):
    asked: int = 0
    answered: int = 0
    failed: int = 0
    last: JudgeNow = "asked"


class Live(Struct, eq=False, kw_only=True):
    """The run `run` while it is under way; `kind` says what it does. `is_sum`: it is only its
    parts, such as the columns of a table.
    """

    run: str
    kind: str
    journal: Journal
    meter: Meter
    observer: Observer
    is_sum: bool = False
    failing: int = 0
    _done: int = 0
    _total: int = 0
    _doing: str = ""
    _left: float | None = None
    _began: tuple[float, int] | None = None
    _calls: int = 0
    _usd: float | None = None
    _judges: dict[str, _Judge] = field(default_factory=dict)
    _outer: Live | None = None
    _span: Span = NO_TELEMETRY
    _parts: list[Live] = field(default_factory=list)

    @contextmanager
    def here(self, *, lasts: bool = False) -> Iterator[None]:
        """Meanwhile it is the run that is under way. What it says is kept until it is finished or
        the store closed. `lasts`: what was begun meanwhile lasts until `end`.
        """
        self._outer = HERE.get()
        if self._outer is not None:
            self._outer._parts = [*(self._outer._parts if self._outer.is_sum else ()), self]
        self.journal.keep_live(self.run, self.record)
        token = HERE.set(self)
        try:
            self._span = run_under_way(self.run, self.kind)
            with self._span.here():
                yield
        finally:
            HERE.reset(token)
            if not lasts:
                self.end()
            if self._outer is not None and not self._outer.is_sum:
                self._outer._parts = []

    def end(self) -> None:
        """What was begun in `here` is over."""
        if self._span is not NO_TELEMETRY:
            self._span.end()

    def progress(
        self, done: int, total: int, doing: str, *, left: float | None = None, shown: str = ""
    ) -> None:
        """`left`: the time that is left in seconds, where that is known. `said`: what the observer
        hears in place of `doing`.
        """
        self._done, self._total, self._doing, self._left = done, total, doing, left
        self.observer.progress(done, total, shown or doing)

    def time_left(self, done: int, total: int) -> float | None:
        """How long the rest takes where each takes as long as those since the first that was heard
        of.
        """
        now = time.monotonic()
        began, before = self._began = self._began or (now, done)
        return (now - began) / (done - before) * (total - done) if done > before else None

    def asked(self, judge: str) -> None:
        """A question was put to a judge."""
        found = self._judges.setdefault(judge, _Judge())
        found.asked += 1
        if self._outer is not None:
            self._outer.asked(judge)

    def answered(self, judge: str, *, failed: bool) -> None:
        """Its answer came, or it `failed` to give one."""
        found = self._judges[judge]
        found.failed += failed
        found.answered += not failed
        found.last = "failed" if failed else "answered"
        if self._outer is not None:
            self._outer.answered(judge, failed=failed)

    def record(self) -> LiveRun:
        """The run now. Another thread may call it."""
        parts = [one.record() for one in self._parts]
        # What a part has spent is in its own meter until it is over; for an instant it is in
        # neither.
        meters = {
            id(one): one for one in (self.meter, *(part.meter for part in self._parts))
        }.values()
        spent = [part for meter in meters for part in (meter.before, meter.spent)]
        prices = [one.usd for one in spent if one.usd is not None]
        self._calls = max(self._calls, sum(one.judge_calls for one in spent))
        self._usd = max(self._usd or 0.0, sum(prices)) if prices else self._usd
        within = "; ".join(
            f"{one.done} of {one.total}, {one.doing}" for one in parts if not self.is_sum
        )
        lefts = [one.left for one in parts if one.left is not None] if self.is_sum else [self._left]
        return LiveRun(
            run=self.run,
            done=sum(one.done for one in parts) if self.is_sum else self._done,
            total=sum(one.total for one in parts) if self.is_sum else self._total,
            failing=sum(one.failing for one in parts) if self.is_sum else self.failing,
            calls=self._calls,
            usd=self._usd,
            left=max((one for one in lefts if one is not None), default=None),
            doing="; ".join(one for one in (self._doing, within) if one),
            judges=tuple(_judge(id, one) for id, one in list(self._judges.items())),
        )


def _judge(id: str, one: _Judge) -> LiveJudge:
    is_out = one.asked > one.answered + one.failed
    state = "asked" if is_out else one.last
    return LiveJudge(id=id, state=state, asked=one.asked, answered=one.answered, failed=one.failed)


# The run that is under way here; None where it cannot be looked at.
HERE: Final[ContextVar[Live | None]] = ContextVar("here", default=None)
