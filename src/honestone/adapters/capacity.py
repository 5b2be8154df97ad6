"""How many calls a server answers together, found out from how long its answers take."""

from __future__ import annotations

from statistics import median
from typing import Final

# One call that is answered, and one that is there when it is done.
_FIRST: Final = 2

# Answers at one level that tell how long one takes there.
_LEAST_SEEN: Final = 4

# Twice as many calls at once are worth it where a server then answers so many times more a second.
_GAIN: Final = 1.3

# Once that was not so, so many times the level are answered before it is tried again.
_CALM: Final = 16


class Capacity:
    """`level` calls at once are what the server is given now: twice as many are tried for as long
    as it then answers more a second.
    """

    def __init__(self) -> None:
        self.level = _FIRST
        self._rate_below: float | None = None
        self._took: list[float] = []
        self._wanted = _LEAST_SEEN

    def answered(self, at_once: int, took: float) -> None:
        """`at_once` calls were under way when this one began, with it; it took so many seconds."""
        if at_once != self.level:
            return
        self._took.append(took)
        if len(self._took) < self._wanted:
            return
        rate = self.level / max(median(self._took), 1e-6)
        if self._rate_below is not None and rate < _GAIN * self._rate_below:
            self._step_back(self.level // 2)
            return
        self._rate_below, self._took = rate, []
        self.level *= 2
        self._wanted = max(_LEAST_SEEN, self.level)

    def lost(self, at_once: int) -> None:
        """One of so many calls was not answered in time."""
        self._step_back(min(self.level, at_once // 2))

    def refused(self, at_once: int) -> None:
        """The last of so many calls was turned away at once: there was room for the others."""
        self._step_back(min(self.level, at_once - 1))

    def _step_back(self, level: int) -> None:
        self.level = max(1, level)
        self._rate_below, self._took = None, []
        self._wanted = max(_LEAST_SEEN, _CALM * self.level)
