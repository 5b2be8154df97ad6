"""`honestone.audit/1`: how far each judge can be trusted, by probes whose answers are known."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from honestone.core.audit.verdict import Tier
from honestone.report.documents.scorecard import ArtifactDoc, UsageDoc

AUDIT: Final = "honestone.audit/1"


class FlipDoc(Struct, frozen=True, kw_only=True):
    """An answer that changed in a direction that the probe forbids.

    `variant`: which of the probe's questions
    `before`: what it was compared with: the answer about the untouched artifact, or about an
        unrelated text; `null` where the right answer is known without it
    `after`: the answer; `null` where the reply was void, because it answered the control item with
        yes
    """

    variant: str
    criterion: str
    item: str
    before: bool | int | float | str | None = None
    after: bool | int | float | str | None = None


class ProbeDoc(Struct, frozen=True, kw_only=True):
    """One probe of one judge.

    `trials`: items whose answer is known, over all questions of the probe
    `rate`: flips / trials, `null` without a trial
    `interval`: 95% interval of the rate (Wilson), `null` without a trial
    `ok`: the rate is at most 0.1; `null` without a trial
    `noise`: an edit that means nothing moves its answers as often in the same direction
    `reason`: why it has no trial
    `flipped`: every flip
    """

    id: str
    trials: int = 0
    flips: int = 0
    rate: float | None = None
    interval: list[float] | None = None
    ok: bool | None = None
    noise: bool = False
    reason: str | None = None
    flipped: list[FlipDoc] = []


class AuditedJudgeDoc(Struct, frozen=True, kw_only=True):
    """One judge.

    `tier`: `high` where every probe is ok, `low` where injection or empty is not, else `medium`;
        `null` where it could not be asked
    `reason`: what the tier comes from
    `noisy`: some of its flips are noise: its answers move when nothing is changed
    """

    id: str
    tier: Tier | None = None
    reason: str = ""
    noisy: bool = False
    probes: list[ProbeDoc] = []


class AuditDoc(Struct, frozen=True, kw_only=True):
    """Judges held against questions whose answers are known, made from one rubric and one artifact.

    `rubric`, `artifact`: what the questions were made from
    `judges`: each by itself
    """

    schema: str = AUDIT
    run: str | None = None
    rubric: str = ""
    artifact: ArtifactDoc
    contract: str = ""
    judges: list[AuditedJudgeDoc] = []
    usage: UsageDoc = UsageDoc()
