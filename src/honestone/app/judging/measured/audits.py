"""Audits on record: what the answers of one come to, and which judges reached a tier."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Final

from honestone.app.judging.measured.measured_before import (
    Before,
    judges_of,
    measured_before,
    newest_that_holds,
)
from honestone.app.workspace import Workspace
from honestone.core.audit.verdict import JudgeAudit, ProbeResult, Tier, audit_of
from honestone.core.errors import UsageError
from honestone.core.events import AuditStarted, Event, ProbeAnswered, total_spend
from honestone.core.judging.contract import ContractDocument, Identity
from honestone.engine.judging.seats import Seat
from honestone.ports import Store
from honestone.report.building.scorecard import usage_document
from honestone.report.documents import fields_of
from honestone.report.documents.scorecard import ArtifactDoc
from honestone.report.documents.trust.audit import AuditDoc, AuditedJudgeDoc, FlipDoc, ProbeDoc


def audit_document(log: Sequence[Event], *, run: str) -> AuditDoc:
    """What the answers of a run come to."""
    started = log[0]
    assert isinstance(started, AuditStarted)
    answers = [event for event in log if isinstance(event, ProbeAnswered)]
    return AuditDoc(
        run=run,
        rubric=started.rubric_path or started.rubric.title,
        artifact=ArtifactDoc(path=started.artifact.path, digest=started.artifact.digest),
        contract=started.contract_id,
        judges=[
            _judge(
                name,
                audit_of(
                    started.rubric,
                    [one for one in answers if one.ballot.judge == name],
                    started.left_out,
                ),
            )
            for name in started.panel
        ],
        usage=usage_document(total_spend(log)),
    )


def _judge(name: str, audit: JudgeAudit) -> AuditedJudgeDoc:
    probes = [_probe(one) for one in audit.probes]
    return AuditedJudgeDoc(
        id=name, tier=audit.tier, reason=audit.reason, noisy=audit.noisy, probes=probes
    )


def _probe(one: ProbeResult) -> ProbeDoc:
    return ProbeDoc(
        id=str(one.probe),
        flips=len(one.flips),
        interval=None if one.interval is None else list(one.interval),
        **fields_of(one, "trials", "rate", "ok", "noise", "reason"),
        flipped=[
            FlipDoc(
                variant=flip.variant,
                criterion=flip.key[0],
                item=flip.key[1],
                before=flip.before,
                after=flip.after,
            )
            for flip in one.flips
        ],
    )


_AUDITED: Final = [(AuditStarted.kind, "measured"), (AuditStarted.kind, "inconclusive")]


def require_tiers(
    workspace: Workspace, now: ContractDocument, seats: Sequence[Seat], wanted: Tier
) -> None:
    """Raises UsageError, naming the judge, unless the last audit of every judge under this rubric,
    as both are now, reached the tier. `now` is the contract of these judges.
    """
    with workspace.open_store() as store:
        for seat, judge in zip(seats, judges_of(now), strict=True):
            _require_tier(store, seat.id, now, judge, wanted)


def _require_tier(
    store: Store, name: str, now: ContractDocument, judge: Identity, wanted: Tier
) -> None:
    def figures(before: Before) -> tuple[Tier, str | None] | None:
        document = audit_document(store.events(before.run), run=before.run)
        audited = next(one for one in document.judges if one.id == before.judge)
        return None if audited.tier is None else (audited.tier, audited.reason)

    held = newest_that_holds(measured_before(store, _AUDITED, now, judge), figures)
    if held is None or isinstance(held, str):
        why = f"has no audit that holds: {held}" if held else "was never audited under this rubric"
        hint = f"honestone audit ARTIFACT --rubric RUBRIC --judge {shlex.quote(name)}"
        raise UsageError(f"the judge `{name}` {why}", hint=hint)
    before, (tier, reason) = held
    if not tier.reaches(wanted):
        raise UsageError(
            f"the judge `{name}` is of tier {tier}, below --require-tier {wanted}: {reason}",
            hint=f"name another judge; `honestone show {before.run}` has the answers that flipped",
        )
