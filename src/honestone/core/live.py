"""What a run is doing while it is under way: how far it is, what it has spent, which judge was
asked and has answered.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import Struct

# Seconds after which a record is kept again although nothing has changed.
BEAT: Final = 1.0
# Seconds without a record after which nothing works on a run any more.
SILENCE: Final = 3.0

JudgeNow: TypeAlias = Literal["asked", "answered", "failed"]
RunNow: TypeAlias = Literal["running", "interrupted", "finished"]


class LiveJudge(Struct, frozen=True, kw_only=True):
    """A judge's questions: how many were put to it, how many it `answered`, and to how many it
    `failed` to give a ballot.

    `state` is `asked` while an answer is outstanding, else how its last question ended.
    """

    id: str
    state: JudgeNow
    asked: int
    answered: int
    failed: int


class LiveRun(Struct, frozen=True, kw_only=True):
    """A run that is under way. `done` of `total` artifacts, cases, questions or rounds, `failing`
    of them so far.

    `calls` are judge calls and `usd` is money, of all processes that worked on the run; `usd` is
    None while no price is known. `left` is the time that is left in seconds, None where that cannot
    be said. `has_ended`: its process says that nothing more comes from it.
    """

    run: str
    done: int = 0
    total: int = 0
    failing: int = 0
    calls: int = 0
    usd: float | None = None
    left: float | None = None
    doing: str = ""
    judges: tuple[LiveJudge, ...] = ()
    has_ended: bool = False


class StoredLive(Struct, frozen=True, kw_only=True):
    """The last record of a run, and how many seconds ago it was kept."""

    live: LiveRun
    age: float


def state_now(*, is_finished: bool, age: float, latest: StoredLive | None) -> RunNow:
    """Whether something works on a run that began `age` seconds ago. An instant after that it has
    no record yet, and one of an older version has none at all.
    """
    if is_finished:
        return "finished"
    if latest is None:
        return "running" if age < SILENCE else "interrupted"
    return "running" if latest.age < SILENCE and not latest.live.has_ended else "interrupted"
