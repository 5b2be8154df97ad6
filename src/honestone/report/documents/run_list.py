"""A recorded run as one row of a list, in words: the terminal and the page draw the same."""

from __future__ import annotations

from msgspec import Struct


class RunPart(Struct, frozen=True, kw_only=True):
    """A run inside another: the suite's run of one split and version of an improvement."""

    id: str
    started: str
    result: str


class RunRow(Struct, frozen=True, kw_only=True):
    """One run. What is not known is "".

    `short_id`: the beginning of the id that is enough to name it. `started`: date and minute.
    `what`: the path that was judged, or the suite. `by`: the rubric or suite that judged it.
    `state`: a verdict, or what a loop ended with. `look`: how the state is coloured.
    `result`: a pass rate in percent, else a score in points. `change`: of it, against the run
    before that can be compared. `work`: calls and time. `chance`: how
    probable it is that what was asked is met.
    """

    id: str
    short_id: str
    started: str
    kind: str
    what: str
    by: str
    state: str
    look: str
    result: str
    change: str
    cost: str
    work: str
    person: str
    chance: str
    is_low_confidence: bool
    parts: tuple[RunPart, ...] = ()
