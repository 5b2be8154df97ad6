"""Which judge certifies where none was named with --holdout."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec.structs import replace

from honestone.app.readiness import FAMILIES
from honestone.core.judging.rubric import Rubric
from honestone.engine.judging.seats import Seat

# As the only --holdout: every judge steers.
NOBODY: Final = "none"

Seats: TypeAlias = tuple[Seat, ...]


def hold_one_out(panel: Seats, rubric: Rubric) -> tuple[Seats, Seats]:
    """(the judges that steer, the one that certifies), of two or more. The panel stays whole where
    its quorum needs it.

    The last judge certifies whose model is of no other's family: judges of one family share their
    blind spots.
    """
    judges = {seat.draw_of or seat.id: seat for seat in reversed(panel)}
    needed = rubric.quorum if isinstance(rubric.quorum, int) else 1
    if len(judges) <= needed:
        return panel, ()
    families = {id: _family(seat) for id, seat in judges.items()}
    alone = [id for id, family in families.items() if list(families.values()).count(family) == 1]
    chosen = (alone or list(judges))[0]
    return _seats_named(panel, [id for id in judges if id != chosen]), _seats_named(
        panel, [chosen]
    )[:1]


def named_apart(panel: Seats, holdouts: Seats) -> Seats:
    """The held-out judges, of which one that is another function of the same name gets a name of
    its own.
    """
    taken = {seat.id for seat in panel}
    return tuple(
        replace(seat, id=f"{seat.id} held out") if seat.id in taken else seat for seat in holdouts
    )


def _seats_named(panel: Seats, judges: Sequence[str]) -> Seats:
    return tuple(seat for seat in panel if (seat.draw_of or seat.id) in judges)


def _family(seat: Seat) -> str:
    """Who trained the judge's model; a judge that is none by itself."""
    from honestone.adapters.models.catalog import family_of

    identity = seat.judge.identity
    found = identity.get("model", identity)
    about = found if isinstance(found, Mapping) else identity
    if about.get("cli") in FAMILIES:
        return FAMILIES[str(about["cli"])]
    if about.get("provider") is None:
        return seat.draw_of or seat.id
    return family_of(str(about["provider"]), str(about.get("model") or ""))
