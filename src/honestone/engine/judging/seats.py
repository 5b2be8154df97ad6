"""A judge's place on the panel, and what tells judges that are functions apart."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from honestone import ports
from honestone.core.judging.ballot import (
    JudgeKind,
)
from honestone.core.judging.contract import Identity
from honestone.core.record.rates import RateLimits


class Seat(Struct, frozen=True, kw_only=True):
    """A judge's place on the panel. `draw` distinguishes judges of one name: the second is a second
    look. `draw_of`: the seat whose judge this one equals, whatever it is called; the two are one
    voter. `rates` are those of its account.
    """

    id: str
    judge: ports.Judge
    draw: int = 0
    kind: JudgeKind = "program"
    draw_of: str | None = None
    rates: RateLimits | None = None

    @property
    def identity(self) -> Identity:
        # How often it is asked again decides what counts, and nothing about a single reply: it is
        # not in a reply's key.
        reasks = {} if self.reasks == ports.REASKS else {"reasks": self.reasks}
        return {"id": self.id, "draw": self.draw, **self.judge.identity, **reasks}

    @property
    def reasks(self) -> int:
        """How often the judge is asked again about a reply that cannot be used."""
        return self.judge.reasks if isinstance(self.judge, ports.PatientJudge) else ports.REASKS


def functions_of(seats: Sequence[Seat]) -> dict[str, list[str]]:
    """A part of a run's identity: one in which functions judged is not resumed with other
    functions.
    """
    tokens = [token for seat in seats for token in function_token(seat.judge).values()]
    return {"functions": tokens} if tokens else {}


def function_token(judge: ports.Judge) -> dict[str, str]:
    """What tells a judge that is a function from others of its name."""
    return {"token": judge.token} if isinstance(judge, ports.FunctionalJudge) else {}
