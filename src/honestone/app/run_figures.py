"""What a run came to, in figures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from honestone.core.ballot import CHECK
from honestone.core.numbers import to_points

if TYPE_CHECKING:
    from honestone.core.suite.record import SuiteRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFigures:
    """What a run came to. `score` is in points, `pass_rate` 0-1; both None where they are not known or there is none.

    `side`: which side of something larger a suite's run is, the baseline of a comparison or a split within an `improve`.
    """

    side: str | None = None
    title: str | None = None
    score: float | None = None
    pass_rate: float | None = None
    usd: float | None = None
    target_calls: int = 0
    judge_calls: int = 0
    duration_ms: int | None = None
    judges: tuple[str, ...] = ()


def figures_of_suite(record: SuiteRecord, *, seconds: float) -> RunFigures:
    """What a suite's run came to that has ended, or got so far."""
    started, rates, spend = record.started, record.tally.rates, record.spend
    return RunFigures(
        side=started.side or None,
        title=started.suite.title or started.suite.path or None,
        score=None if rates.mean_score is None else to_points(rates.mean_score),
        pass_rate=None if rates.pass_rate is None else float(rates.pass_rate),
        usd=spend.usd,
        target_calls=spend.target_calls,
        judge_calls=spend.judge_calls,
        duration_ms=round(seconds * 1000) if seconds else None,
        judges=tuple(dict.fromkeys(judge for judge in started.panel if judge != CHECK)),
    )
