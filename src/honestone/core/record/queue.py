"""Cases that wait for runners, and the runners: what a queue holds."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# A runner that missed so many heartbeats is dead.
MISSED: Final = 3
# How often a case is begun that ends in an error of honestone.
TRIES: Final = 3
# How often a case is begun whose runners die.
LOST: Final = 10


class QueuedCase(Struct, frozen=True, kw_only=True):
    """One case that a runner has taken. `deaths`: how many runners died while they had it;
    `errors`: how often it ended in an error of honestone. That a runner refused it or had to stop
    counts as neither.
    """

    id: int
    run: str
    case: str
    deaths: int = 0
    errors: int = 0


class CasesLeft(Struct, frozen=True, kw_only=True):
    """How many cases of a run wait for a runner, and how many are in hand."""

    todo: int
    doing: int

    @property
    def left(self) -> int:
        return self.todo + self.doing


class RefusedRun(Struct, frozen=True, kw_only=True):
    """A run that a runner does not take: the reason, and what a person can do about it."""

    run: str
    reason: str
    remedy: str = ""


class RunnerCard(Struct, frozen=True, kw_only=True):
    """What a runner says of itself. `runs` are those that it takes cases of, `in_hand` the cases it
    works on ("RUN CASE").
    `is_stopping`: it takes no more. `waits`: accounts whose rates calls wait for. `silence`: after
        so many seconds without a heartbeat it is taken for dead, and not before.
    """

    host: str
    person: str
    version: str
    concurrency: int
    pid: int = 0
    runs: tuple[str, ...] = ()
    in_hand: tuple[str, ...] = ()
    refused: tuple[RefusedRun, ...] = ()
    waits: tuple[str, ...] = ()
    is_stopping: bool = False
    silence: float = 0.0


class SeenRunner(Struct, frozen=True, kw_only=True):
    """A runner as the store knows it: its last heartbeat was `age` seconds ago, it began `since`
    seconds ago.
    """

    id: int
    card: RunnerCard
    age: float
    since: float


def name_in_queue(case: str) -> str:
    """The id of a case as a queue holds it, in ASCII: jsonb refuses U+0000 and half surrogates, and
    an id may hold them.
    """
    return case.encode("unicode_escape").decode()
