"""A person approves a candidate that the gate parked, or drops it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from honestone.app.stages.apply import applied, apply_in_place, holding
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    note_state,
    pending,
    plan_of,
    safe_name,
    stamp,
    unpark,
    veto,
    write_stage,
)
from honestone.core.errors import UsageError
from honestone.core.skill.plan import apply_plan
from honestone.formats.stage_files import (
    LANE,
    CandidateEntry,
    JsonObject,
    Promotion,
    RollbackPointer,
    SkillNamed,
    StageFile,
)


def promote(candidate_id: str, files: StageFiles, *, reject: bool = False) -> StageFile[Promotion]:
    """Apply a parked candidate to the skill, or drop it; writes a receipt and returns it.

    Raises UsageError, with nothing overwritten, for an id that does not wait and for a skill that was edited since.
    """
    entry = _find(candidate_id, files)
    named = _path(entry)
    if reject:
        kept = {key: entry.get(key) for key in ("candidate_id", "run_id", "folder", "candidate_digest", "title")}
        veto(files, {**kept, "reason": _DROPPED, "created_at": stamp()})
        return _finish(entry, files, named, kept=False, pointer=None)
    with holding(files, named) as skill:
        pointer = None
        # The very bytes already: an earlier `promote` was stopped right after it had put them there.
        if skill.version.digest != entry.get("candidate_digest"):
            pointer = _approve(entry, skill, files)
        return _finish(entry, files, named, kept=True, pointer=pointer)


_DROPPED = "a person turned it down"


def _find(name: str, files: StageFiles) -> JsonObject:
    """A candidate by its id; where two runs have one of the same id, by RUN/ID."""
    waiting = pending(files)
    found = [one for one in waiting if name in (one.get("candidate_id"), _full_name(one))]
    if len(found) == 1:
        return found[0]
    if found:
        raise UsageError(
            f"{len(found)} runs have a candidate `{name}` that waits",
            hint=f"say which: {', '.join(_full_name(one) for one in found)}",
        )
    known = ", ".join(str(one.get("candidate_id")) for one in waiting)
    raise UsageError(
        f"no candidate `{name}` waits for a person",
        hint=f"waiting: {known}" if known else "nothing waits; `honestone stage gate` says why it parks something",
    )


def _full_name(entry: Mapping[str, object]) -> str:
    return f"{entry.get('run_id')}/{entry.get('candidate_id')}"


def _approve(entry: JsonObject, skill: SkillUnderEdit, files: StageFiles) -> RollbackPointer:
    if skill.version.digest != entry.get("base_digest"):
        raise UsageError(
            f"`{skill.named}` was edited since the candidate was parked; nothing was overwritten",
            hint="propose, evaluate and gate again on the skill as it is now, or bring the change in by hand: "
            "`honestone stage promote` lists it",
        )
    candidate = CandidateEntry(
        id=_text(entry, "candidate_id"),
        target_path=_text(entry, "target_path"),
        execution_plan=msgspec.convert(entry.get("execution_plan") or {}, JsonObject),
    )
    after = apply_plan(plan_of(candidate, skill), skill.version)
    if after.digest != entry.get("candidate_digest"):
        raise UsageError(
            f"the plan of `{candidate.id}` does not give the bytes that were parked; nothing was written",
            hint="its entry in pending_promote.json was changed: gate the candidate again",
        )
    name = Path(safe_name(_text(entry, "run_id")), safe_name(f"promote-{candidate.id}"))
    pointer = apply_in_place(files, skill, after, name=name)
    applied(files, skill)
    return pointer


def _finish(
    entry: JsonObject, files: StageFiles, named: str, *, kept: bool, pointer: RollbackPointer | None
) -> StageFile[Promotion]:
    """The receipt first: as long as the candidate still waits, the same command can be run again."""
    name, run_id = _text(entry, "candidate_id"), _text(entry, "run_id")
    digest, risk, category, gated, lane = (
        value if isinstance(value := entry.get(key), str) else None
        for key in ("candidate_digest", "risk_level", "category", "receipt_path", "lane")
    )
    body = Promotion(
        run_id=run_id,
        lane=lane or LANE,
        decision="keep" if kept else "reject",
        reason="a person approved it" if kept else _DROPPED,
        candidate_id=name,
        candidate_category=category,
        risk_level=risk,
        candidate_digest=digest,
        target=SkillNamed(path=named),
        source_gate_receipt=gated,
        rollback_pointer=pointer,
    )
    receipt = write_stage(files, body, name=f"promote-{run_id}-{name}")
    unpark(files, entry)
    note_state(files, receipt.body, target_path=named)
    return receipt


def _path(entry: JsonObject) -> str:
    target = entry.get("target")
    return _text(target if isinstance(target, dict) else {}, "path", shown="target.path")


def _text(entry: Mapping[str, object], key: str, *, shown: str = "") -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not value:
        raise UsageError(
            f"an entry of pending_promote.json has no `{shown or key}`", hint="fix it, or gate the candidate again"
        )
    return value
