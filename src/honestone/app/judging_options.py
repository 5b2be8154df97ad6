"""The options about judging that every use case shares, and the limits that follow from them and the settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from honestone.core.errors import SettingsError, UsageError
from honestone.core.scorecard import Rule

if TYPE_CHECKING:
    from honestone.core.spend import Meter
    from honestone.ports import Judge, Settings

EFFORTS: Final = {"quick": (1, 1, 3), "standard": (3, 1, 5), "thorough": (3, 2, 8)}
"""Judges found when none is named, looks per judge, rounds."""
A_DAY: Final = 24 * 60
"""In minutes: the time limit of a run that no one limited."""


_CHOICES: Final[dict[str, tuple[str | None, ...]]] = {
    "combine": (None, "mean", "median", "majority", "min"),
    "effort": tuple(EFFORTS),
    "evidence": ("warn", "require", "off"),
    "ask": ("rubric", "criterion", "item"),
    "pack": ("none", "head", "outline"),
    "sandbox": ("auto", "bwrap", "none"),
}
_LEAST: Final = {"repeat": 1, "max_age": 0, "judge_timeout": 0, "max_calls": 0, "max_usd": 0, "max_minutes": 0}


class JudgingKeywords(TypedDict, total=False):
    """The options as keywords of the Python functions, which take judges and limits by name."""

    threshold: float | None
    floor: float | None
    combine: str | None
    effort: str
    repeat: int | None
    evidence: str
    ask: Literal["rubric", "criterion", "item"]
    pack: Literal["none", "head", "outline"]
    max_age: float | None
    judge_timeout: float | None
    sandbox: str
    pass_env: Sequence[str]
    max_size: float | None
    fresh: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgingOptions:
    """As given; the defaults are those of the commands. Judges are names, or objects that answer `ports.Judge`."""

    judges: tuple[str | Judge, ...] = ()
    threshold: float | None = None
    floor: float | None = None
    combine: str | None = None
    effort: str = "standard"
    repeat: int | None = None
    evidence: str = "warn"
    ask: Literal["rubric", "criterion", "item"] = "rubric"
    pack: Literal["none", "head", "outline"] = "none"
    max_age: float | None = None
    judge_timeout: float | None = None
    sandbox: str = "auto"
    pass_env: Sequence[str] = ()
    max_calls: int | None = None
    max_usd: float | None = None
    max_minutes: float | None = None
    max_size: float | None = None
    fresh: bool = False

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        for name, allowed in _CHOICES.items():
            if (found := getattr(self, name)) not in allowed:
                known = ", ".join(str(one) for one in allowed if one is not None)
                raise UsageError(f"`{name}` is {found!r}, but must be one of {known}")
        for name, least in _LEAST.items():
            number = getattr(self, name)
            if number is not None and not least <= number < float("inf"):
                raise UsageError(f"`{name}` is {number}, but must be at least {least}")

    @property
    def rule(self) -> Rule:
        return Rule(self.combine or "mean")

    @property
    def looks(self) -> int:
        return self.repeat or EFFORTS[self.effort][1]

    def meter(self, settings: Settings, *, calls: float, minutes: float = A_DAY) -> Meter:
        """The limits of a run: the option, else the settings, else these `calls` and `minutes`; money has no default."""
        from honestone.core.spend import Meter

        return Meter(
            calls=int(limit(self.max_calls, settings, "max_calls", calls)),
            minutes=limit(self.max_minutes, settings, "max_minutes", minutes),
            usd=self.max_usd if self.max_usd is not None else settings.limits.get("max_usd"),
            clock=time.monotonic,
        )


def limit(given: float | int | None, settings: Settings, name: str, default: float) -> float:
    """The option before the settings before the default."""
    if given is not None:
        return given
    found = settings.limits.get(name)
    if found is not None and found < 0:
        raise SettingsError(f"`limits.{name}` is {found}, but must not be negative")
    return float(found) if found is not None else default


def max_bytes(options: JudgingOptions, settings: Settings) -> int:
    """The largest artifact that is read."""
    from honestone.system.files import MAX_BYTES

    size = options.max_size or settings.limits.get("max_size")
    return int(size * 1_000_000) if size else MAX_BYTES
