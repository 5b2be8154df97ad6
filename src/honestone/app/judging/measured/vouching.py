"""Judges that may decide: those that labels and probes vouch for, where a command, a rubric or a
suite asks for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.workspace import Workspace
from honestone.core.judging.contract import make_contract
from honestone.core.judging.rubric import Rubric

if TYPE_CHECKING:
    from honestone.core.audit.verdict import Tier
    from honestone.engine.judging.seats import Seat


class AskedOfJudges(Struct, frozen=True):
    """What is asked of every judge: a calibration that holds, a tier of `judges audit`."""

    calibration: bool = False
    tier: Tier | None = None

    def __bool__(self) -> bool:
        return self.calibration or self.tier is not None

    def and_(self, calibration: bool, tier: str | None) -> AskedOfJudges:
        """Both demands together: of two tiers the better one."""
        best = self.tier
        if tier is not None:
            from honestone.core.audit.verdict import tier_named

            named = tier_named(tier)
            best = named if best is None or named.reaches(best) else best
        return replace(self, calibration=self.calibration or calibration, tier=best)


def require_vouched(
    workspace: Workspace,
    rubrics: Iterable[Rubric],
    seats: Sequence[Seat],
    options: JudgingOptions,
    *,
    suite: tuple[bool, str | None] = (False, None),
) -> None:
    """Raises UsageError, naming the judge, before anything is asked. `suite`: what a suite asks for
    all its rubrics.
    """
    for rubric in rubrics:
        wanted = (
            AskedOfJudges().and_(options.require_calibration, options.require_tier).and_(*suite)
        )
        wanted = wanted.and_(rubric.require_calibration, rubric.require_tier)
        if wanted and rubric.asks_judges:
            _require(workspace, rubric, seats, options, wanted)


def _require(
    workspace: Workspace,
    rubric: Rubric,
    seats: Sequence[Seat],
    options: JudgingOptions,
    wanted: AskedOfJudges,
) -> None:
    # A person is what judges are measured by.
    asked = [
        seat for seat in seats if seat.draw_of is None and seat.identity.get("kind") != "human"
    ]
    now = make_contract(
        rubric,
        judges=[seat.identity for seat in asked],
        rule=str(options.rule),
        options={"evidence": options.evidence, "ask": options.ask, "pack": options.pack},
    ).document
    if wanted.calibration:
        from honestone.app.judging.measured.calibrations import require_measured_judges

        require_measured_judges(workspace, now, asked)
    if wanted.tier is not None:
        from honestone.app.judging.measured.audits import require_tiers

        require_tiers(workspace, now, asked, wanted.tier)
