"""What the formats for other programs leave out of a run, in words: whoever exports has to hear
what is not there.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from typing import Final

from honestone.core.tables import table_text

_LEFT_OUT: Final[dict[str, dict[str, list[str]]]] = tomllib.loads(
    table_text("left_out", __package__)
)
_COMPARISON: Final = "the comparison with a baseline"


def no_place_in(form: str, *, is_suite: bool, is_compared: bool = False) -> Sequence[str]:
    """What `form` has no place for; empty where it holds all of a run or is a report for people."""
    words = _LEFT_OUT["suite" if is_suite else "artifacts"].get(form, ())
    return [one for one in words if is_compared or one != _COMPARISON]
