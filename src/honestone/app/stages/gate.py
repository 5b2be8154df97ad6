"""An edit on the skill itself: applied with a backup and the way back, and kept only where the
gate's six layers or a person let it.
"""

from __future__ import annotations

import shlex
from enum import Enum, auto
from pathlib import Path

import msgspec
from msgspec import Struct

from honestone.app.stages.apply import holding, original_of
from honestone.app.stages.file_troubles import troubles
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    find_candidate,
    stamp,
)
from honestone.core.artifact import Version
from honestone.core.editing.proposal import touched, unified_diff
from honestone.core.errors import UsageError
from honestone.core.skill import gate_layers as layers
from honestone.core.skill import plan as plans
from honestone.core.skill.gate_layers import Decision, Evidence, GateResult
from honestone.core.skill.plan import PlanError
from honestone.engine.place import is_mix
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.system.files import printable


class GateRequest(Struct, frozen=True, kw_only=True):
    """What `skill gate` is asked for. Without an evaluation nothing is kept."""

    ranking: Path
    execution: Path
    evaluation: Path | None = None


def gate(request: GateRequest, files: StageFiles) -> StageFile[doc.Receipt]:
    """Decide, put the original back unless it is kept, and write the receipt.

    Raises UsageError, with nothing written, where the skill is neither what was applied nor the
    original: somebody has edited it.
    """
    ranking, execution = (
        files.read(request.ranking, doc.Ranking),
        files.read(request.execution, doc.Execution),
    )
    evaluation = (
        None if request.evaluation is None else files.read(request.evaluation, doc.SkillEvaluation)
    )
    at, ranked = find_candidate(ranking, execution.body.candidate_id)
    with holding(files, ranking.body.target.path) as skill:
        versions = _find_versions(execution, ranked, skill)
        evidence = gather(
            files,
            skill.with_version(versions.before),
            versions.after,
            ranking=ranking.document,
            execution=execution.document,
            evaluation=None if evaluation is None else evaluation.document,
            ranked=ranking.marked.value["scored_candidates"][at],
        )
        result = layers.pass_gate(evidence)
        if result.decision is Decision.KEEP and versions.where is not _OnDisk.APPLIED:
            raise UsageError(
                f"the candidate `{ranked.id}` is no longer in place in `{skill.named}`, so it cannot be kept",
                hint="run `honestone skill apply` again, then the gate",
            )
        entry = None
        if result.decision is Decision.PENDING:
            entry = parked(
                skill, evidence, result, run_id=ranking.body.run_id, lane=ranking.body.lane
            )
            files.add("pending", entry)
        rollback = _roll_back(result.decision, versions, skill)
        read = None if evaluation is None else evaluation.body
        body = receipt_file(files, ranking.body, execution.body, read, evidence, result, rollback)
        receipt = files.write(body, name=receipt_name(body))
        record_decision(files, receipt.body, entry, skill)
    return receipt


def record_decision(
    files: StageFiles, receipt: doc.Receipt, entry: doc.WaitingEntry | None, skill: SkillUnderEdit
) -> None:
    """What the next commands find: the parked candidate with its receipt, and the state of the
    pipeline.
    """
    if entry is not None:
        files.add("pending", {**entry, "receipt_path": receipt.truth_anchor})
    files.note_state(receipt, target_path=skill.named)


class _OnDisk(Enum):
    """What the skill's folder holds now."""

    APPLIED = auto()
    ORIGINAL = auto()
    # Some files of each: whoever wrote them was stopped on the way.
    BETWEEN = auto()


class _Found(Struct, frozen=True, kw_only=True):
    """The skill without the candidate and with it, and which of the two is on disk."""

    before: Version
    after: Version
    where: _OnDisk


def _find_versions(
    execution: StageFile[doc.Execution], ranked: doc.CandidateEntry, skill: SkillUnderEdit
) -> _Found:
    result, now = execution.body.result, skill.version
    if not result.modified:
        return _Found(before=now, after=now, where=_OnDisk.ORIGINAL)
    if result.rollback_pointer is None:
        raise UsageError(
            "the execution has no rollback pointer, so the original cannot be put back",
            place=execution.at("result", "rollback_pointer"),
        )
    before = original_of(result.rollback_pointer, skill)
    edited = UsageError(
        f"`{skill.named}` was edited after the candidate was applied; nothing was overwritten",
        hint=f"the original is kept at {result.rollback_pointer.backup_path}",
    )
    if result.base_digest is not None and before.digest != result.base_digest:
        raise edited
    stated = result.candidate_digest or execution.body.candidate_digest
    planned = _planned(execution, ranked, skill, before)
    if stated is not None:
        if now.digest == stated:
            return _Found(before=before, after=now, where=_OnDisk.APPLIED)
        if planned is not None and planned.digest != stated:
            planned = None
    elif _is_the_diff(result.diff, before, now):
        return _Found(before=before, after=now, where=_OnDisk.APPLIED)
    if planned is None:
        raise edited
    for where, version in ((_OnDisk.APPLIED, planned), (_OnDisk.ORIGINAL, before)):
        if now.digest == version.digest:
            return _Found(before=before, after=planned, where=where)
    if is_mix(now, before, planned):
        return _Found(before=before, after=planned, where=_OnDisk.BETWEEN)
    raise edited


def _planned(
    execution: StageFile[doc.Execution],
    ranked: doc.CandidateEntry,
    skill: SkillUnderEdit,
    before: Version,
) -> Version | None:
    """What the plan makes of the original; None where we cannot tell."""
    executed = execution.body.candidate
    try:
        if executed is not None and "execution_plan" in executed:
            ranked = msgspec.convert(executed, doc.CandidateEntry)
        return plans.apply_plan(skill.plan_of(ranked), before)
    except (PlanError, msgspec.ValidationError):
        return None


def _is_the_diff(diff: str | None, before: Version, now: Version) -> bool:
    """Whether the folder differs from the original just as another program's execution says,
    whatever it calls the file.
    """
    if diff is None or len(touched(before, now)) != 1:
        return False
    return bool(diff.strip()) and _changed_lines(diff) == _changed_lines(unified_diff(before, now))


def _changed_lines(diff: str) -> list[str]:
    return [
        line.rstrip() for line in diff.splitlines() if not line.startswith(("--- ", "+++ ", "\\ "))
    ]


def _roll_back(decision: Decision, versions: _Found, skill: SkillUnderEdit) -> doc.Rollback:
    if decision is Decision.KEEP:
        return doc.Rollback(attempted=False, success=False, reason="not_needed")
    if decision is Decision.REJECT:
        return doc.Rollback(attempted=False, success=False, reason="nothing_was_applied")
    if versions.where is _OnDisk.ORIGINAL:
        return doc.Rollback(attempted=False, success=True, reason="the_original_was_back_already")
    skill.put_in_place(versions.before)
    why = "parked_for_a_person" if decision is Decision.PENDING else "gate_failed"
    return doc.Rollback(attempted=True, success=True, reason=why)


def gather(
    files: StageFiles,
    skill: SkillUnderEdit,
    after: Version,
    *,
    ranking: layers.Fields,
    execution: layers.Fields,
    evaluation: layers.Fields | None,
    ranked: layers.Fields,
) -> Evidence:
    """What the gate decides by: the documents, what their edit makes of the skill, and whether a
    person has turned these bytes down for it.
    """
    folder = printable(skill.root)
    vetoes = [
        one.get("candidate_digest")
        for one in files.entries("vetoes")
        if one.get("folder") == folder
    ]
    return Evidence(
        candidate_id=str(ranked["id"]),
        ranking=ranking,
        execution=execution,
        evaluation=evaluation,
        ranked=ranked,
        before=skill.version,
        after=after,
        troubles=troubles(skill.version, after),
        is_vetoed=after.digest in vetoes,
    )


def parked(
    skill: SkillUnderEdit, evidence: Evidence, result: GateResult, *, run_id: str, lane: str
) -> doc.WaitingEntry:
    """All that is needed to apply the candidate later."""
    plan = plans.plan_between(evidence.before, evidence.after)
    return {
        "candidate_id": evidence.candidate_id,
        "run_id": run_id,
        "lane": lane,
        "title": evidence.ranked.get("title"),
        "target": {"path": skill.named},
        "folder": printable(skill.root),
        "target_path": skill.path_of(plans.target_of(plan)),
        "category": evidence.ranked.get("category"),
        "risk_level": str(layers.gate_risk(evidence)),
        "reason": result.reason,
        "reasons": list(result.human),
        "diff": unified_diff(evidence.before, evidence.after),
        "execution_plan": plans.plan_to_plain(plan),
        "base_digest": evidence.before.digest,
        "candidate_digest": evidence.after.digest,
        "created_at": stamp(),
        "receipt_path": None,
    }


def receipt_file(
    files: StageFiles,
    ranking: doc.Ranking,
    execution: doc.Execution,
    evaluation: doc.SkillEvaluation | None,
    evidence: Evidence,
    result: GateResult,
    rollback: doc.Rollback,
) -> doc.Receipt:
    """A decision as an artifact."""
    name, request = evidence.candidate_id, None
    step, owner = "propose_candidates", "proposer"
    if result.decision is Decision.PENDING:
        step, owner = "promote_candidate", "human"
        approve = _promote(name, files)
        request = {
            "candidate_id": name,
            "reasons": list(result.human),
            "title": evidence.ranked.get("title"),
            "summary": evidence.ranked.get("proposed_change_summary"),
            "diff": unified_diff(evidence.before, evidence.after),
            "approve": approve,
            "drop": f"{approve} --reject",
        }
    return doc.Receipt(
        run_id=ranking.run_id,
        lane=ranking.lane,
        next_step=step,
        next_owner=owner,
        decision=str(result.decision),
        reason=result.reason,
        candidate_id=name,
        candidate_category=_text_under(evidence.ranked, "category"),
        risk_level=str(layers.gate_risk(evidence)),
        candidate_digest=evidence.after.digest if evidence.is_applied else None,
        target=ranking.target,
        source_ranking_artifact=ranking.truth_anchor,
        source_execution_artifact=execution.truth_anchor,
        source_evaluation_artifact=None if evaluation is None else evaluation.truth_anchor,
        evaluation_verdict=None
        if evidence.evaluation is None
        else str(layers.evaluation_figure(evidence.evaluation, "verdict")),
        rollback=rollback,
        blockers=[doc.Blocker(layer=one.layer, details=one.details) for one in result.blockers],
        gate_layers=msgspec.convert(result.layers_to_plain(), doc.GateLayers),
        human_review_request=request,
    )


def receipt_name(receipt: doc.Receipt) -> str:
    return f"gate-{receipt.run_id}-{receipt.candidate_id}"


def _text_under(fields: layers.Fields, key: str) -> str | None:
    value = fields.get(key)
    return value if isinstance(value, str) else None


def _promote(name: str, files: StageFiles) -> str:
    """What a person types, from the folder that the gate was run in."""
    words = ["honestone", "skill", "promote", shlex.quote(name)]
    if files.root != StageFiles.at(files.workspace).root:
        words += ["--state-root", shlex.quote(printable(files.root))]
    return " ".join(words)
