"""A parked edit that a person lets in."""

from __future__ import annotations

from pathlib import Path

import msgspec

from honestone.app.stages.apply import applied, apply_in_place, holding
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    safe_name,
    stamp,
)
from honestone.core.errors import UsageError
from honestone.core.skill import plan as plans
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile


def promote(
    candidate_id: str, files: StageFiles, *, reject: bool = False
) -> StageFile[doc.Promotion]:
    """Apply a parked candidate to the skill, or drop it; writes a receipt and returns it.

    Raises UsageError, with nothing overwritten, for an id that does not wait and for a skill that
    was edited since.
    """
    entry = _waiting(candidate_id, files)
    named = _skill_path(entry)
    if reject:
        veto = doc.WaitingEntry(
            candidate_id=entry.get("candidate_id"),
            run_id=entry.get("run_id"),
            folder=entry.get("folder"),
            candidate_digest=entry.get("candidate_digest"),
            title=entry.get("title"),
            reason=_DROPPED,
            created_at=stamp(),
        )
        files.add("vetoes", veto)
        return _promoted(entry, files, named, is_approved=False, pointer=None)
    with holding(files, named) as skill:
        pointer = None
        # The very bytes already: an earlier `promote` was stopped right after it had put them
        # there.
        if skill.version.digest != entry.get("candidate_digest"):
            pointer = _approve(entry, skill, files)
        return _promoted(entry, files, named, is_approved=True, pointer=pointer)


_DROPPED = "a person turned it down"


def _waiting(name: str, files: StageFiles) -> doc.WaitingEntry:
    """A candidate by its id; where two runs have one of the same id, by RUN/ID."""
    waiting = files.entries("pending")
    matching = [one for one in waiting if name in (one.get("candidate_id"), _full_name(one))]
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise UsageError(
            f"{len(matching)} runs have a candidate `{name}` that waits",
            hint=f"say which: {', '.join(_full_name(one) for one in matching)}",
        )
    ids = ", ".join(str(one.get("candidate_id")) for one in waiting)
    raise UsageError(
        f"no candidate `{name}` waits for a person",
        hint=f"waiting: {ids}"
        if ids
        else "nothing waits; `honestone skill gate` says why it parks something",
    )


def _full_name(entry: doc.WaitingEntry) -> str:
    return f"{entry.get('run_id')}/{entry.get('candidate_id')}"


def _approve(
    entry: doc.WaitingEntry, skill: SkillUnderEdit, files: StageFiles
) -> doc.RollbackPointer:
    if skill.version.digest != entry.get("base_digest"):
        raise UsageError(
            f"`{skill.named}` was edited since the candidate was parked; nothing was overwritten",
            hint="propose, evaluate and gate again on the skill as it is now, or bring the change in by hand: "
            "`honestone skill promote` lists it",
        )
    candidate = doc.CandidateEntry(
        id=_required(entry.get("candidate_id"), "candidate_id"),
        target_path=_required(entry.get("target_path"), "target_path"),
        execution_plan=msgspec.convert(entry.get("execution_plan") or {}, doc.Plan),
    )
    after = plans.apply_plan(skill.plan_of(candidate), skill.version)
    if after.digest != entry.get("candidate_digest"):
        raise UsageError(
            f"the plan of `{candidate.id}` does not give the bytes that were parked; nothing was written",
            hint="its entry in pending_promote.json was changed: gate the candidate again",
        )
    name = Path(
        safe_name(_required(entry.get("run_id"), "run_id")), safe_name(f"promote-{candidate.id}")
    )
    pointer = apply_in_place(files, skill, after, name=name)
    applied(files, skill)
    return pointer


def _promoted(
    entry: doc.WaitingEntry,
    files: StageFiles,
    named: str,
    *,
    is_approved: bool,
    pointer: doc.RollbackPointer | None,
) -> StageFile[doc.Promotion]:
    """The receipt first: as long as the candidate still waits, the same command can be run again."""
    name, run_id = (
        _required(entry.get("candidate_id"), "candidate_id"),
        _required(entry.get("run_id"), "run_id"),
    )
    digest, risk, category, gated, lane = (
        value if isinstance(value := entry.get(key), str) else None
        for key in ("candidate_digest", "risk_level", "category", "receipt_path", "lane")
    )
    body = doc.Promotion(
        run_id=run_id,
        lane=lane or doc.LANE,
        decision="keep" if is_approved else "reject",
        reason="a person approved it" if is_approved else _DROPPED,
        candidate_id=name,
        candidate_category=category,
        risk_level=risk,
        candidate_digest=digest,
        target=doc.SkillNamed(path=named),
        source_gate_receipt=gated,
        rollback_pointer=pointer,
    )
    receipt = files.write(body, name=f"promote-{run_id}-{name}")
    files.drop("pending", entry)
    files.note_state(receipt.body, target_path=named)
    return receipt


def _skill_path(entry: doc.WaitingEntry) -> str:
    target = entry.get("target")
    return _required(target.get("path") if isinstance(target, dict) else None, "target.path")


def _required(value: object, key: str) -> str:
    """The text of an entry that waits under `key`. Raises UsageError where it is not one."""
    if not isinstance(value, str) or not value:
        raise UsageError(
            f"an entry of pending_promote.json has no `{key}`",
            hint="fix it, or gate the candidate again",
        )
    return value
