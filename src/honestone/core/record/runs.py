"""The kinds of runs, and the id of a run, which begins with the moment it was started at."""

from __future__ import annotations

from typing import Final

# Kinds of runs in the store that are of suites.
TABLE = "table"
# Only its table is listed.
COLUMN = "column"
# The kinds whose events are those of a suite's run.
SUITES = ("suite", COLUMN)
# Those that change a file of a person, which `undo` puts back.
UNDOABLE = ("improve", "stages")

# The names of the newest run.
LAST: Final = ("last", "latest")

# Those of a ULID: Crockford's base 32.
_LETTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_TIME_LETTERS: Final = 10
_ID_LETTERS: Final = 26


def side_of_loop(loop: str, again: int = 0) -> str:
    """The side of a run of a split within an improvement; `again`: how often that split of that
    version was asked before.
    """
    return f"improve {loop}, asked again {again}" if again else f"improve {loop}"


def loop_of_side(side: str) -> str | None:
    """The improvement that a run of a split is part of; None for another run."""
    word, _, loop = side.split(",")[0].partition(" ")
    is_loop = word == "improve" and len(loop) == _ID_LETTERS and set(loop) <= set(_LETTERS)
    return loop if is_loop else None


def run_id(moment: int, chance: int, *, last: str) -> str:
    """A ULID: sorts by `moment` (milliseconds since 1970), and after `last`, whatever the clock
    says. `chance` has 80 bits.
    """
    id = _spell(moment << 80 | chance)
    return id if id > last else _spell(_number_of(last) + 1)


def moment_of_run(id: str) -> int:
    """When a run began, in milliseconds since 1970: 0 for an id that is not a ULID."""
    try:
        return _number_of(id[:_TIME_LETTERS])
    except ValueError:
        return 0


def _spell(value: int) -> str:
    return "".join(_LETTERS[value >> shift & 31] for shift in range(125, -1, -5))


def _number_of(text: str) -> int:
    value = 0
    for letter in text:
        value = value << 5 | _LETTERS.index(letter)
    return value
