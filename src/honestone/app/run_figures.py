"""What a run came to, in figures."""

from __future__ import annotations

from msgspec import Struct


class RunFigures(Struct, frozen=True, kw_only=True):
    """What a run came to. `score` is in points, `pass_rate` 0-1; both None where they are not known
    or there is none.

    `probability`: that the contract of its one artifact, or the bar of its suite, is met (0-1).
    `is_undecided`: every answer is there, and its probability is between the bars of `sure`.
    `left_out`: how many cases or rows were not chosen to be run.
    `low_confidence`: fewer than two judges decided some of it.
    `by`: the file of the rubric that judged, where it was read from one.
    `side`: which side of something larger a suite's run is, the baseline of a comparison or a split
        within an `improve`.
    `compared_by`: of a suite's run, the digest of its target, the artifact's path and its cases
        with their contracts: a change is one between runs that have it in common.
    """

    side: str | None = None
    title: str | None = None
    by: str | None = None
    score: float | None = None
    pass_rate: float | None = None
    probability: float | None = None
    is_undecided: bool = False
    usd: float | None = None
    target_calls: int = 0
    judge_calls: int = 0
    duration_ms: int | None = None
    judges: tuple[str, ...] = ()
    low_confidence: bool = False
    left_out: int = 0
    compared_by: str | None = None
