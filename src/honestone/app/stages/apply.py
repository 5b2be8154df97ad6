"""A candidate's plan carried out on the skill itself, with a backup and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from honestone.app.stages.delivery import applied, apply_in_place, holding
from honestone.app.stages.files import StageFiles, anchor_of, find_candidate, safe_name, stamp, write_stage
from honestone.app.stages.skill import SkillUnderEdit, plan_of, require_base
from honestone.core.artifact import Version
from honestone.core.loop.proposal import diff_size, unified_diff
from honestone.core.skill.plan import Plan, PlanError, Refusal, WriteFiles, apply_plan
from honestone.core.skill.risk import risk_of
from honestone.formats.stage_files import (
    DiffSummary,
    Execution,
    ExecutionResult,
    JsonObject,
    Ranking,
    RollbackPointer,
    ScoredCandidate,
    StageFile,
    read_stage,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """What `stage apply` is asked for."""

    ranking: Path
    candidate_id: str


def apply(request: ApplyRequest, files: StageFiles) -> StageFile[Execution]:
    """Apply a candidate of a ranking to the skill on disk and write the execution artifact.

    Raises UsageError, with nothing written to the skill, for an unknown candidate, a plan that leaves the skill and a
    skill that somebody is editing. A plan that cannot be applied is an execution with nothing modified.
    """
    ranking = read_stage(files.workspace.path(request.ranking), Ranking, shown=str(request.ranking))
    at, candidate = find_candidate(ranking, request.candidate_id)
    raw: JsonObject = ranking.marked.value["scored_candidates"][at]
    name = f"{ranking.body.run_id}-{candidate.id}"
    with holding(files, ranking.body.target.path) as skill:
        require_base(candidate, skill)
        try:
            plan = plan_of(candidate, skill)
            after = apply_plan(plan, skill.version)
        except PlanError as problem:
            if problem.refusal is Refusal.OUTSIDE:
                raise
            result = _nothing(problem)
        else:
            backup = Path(safe_name(ranking.body.run_id), safe_name(candidate.id))
            pointer = apply_in_place(files, skill, after, name=backup)
            result = applied_result(skill, plan, after, pointer)
        body = execution_file(ranking.body, anchor_of(ranking), candidate, raw, result)
        written = write_stage(files, body, name=name)
        applied(files, skill)
    return written


def applied_result(skill: SkillUnderEdit, plan: Plan, after: Version, pointer: RollbackPointer) -> ExecutionResult:
    """What an execution says of an edit that was put in place."""
    size = diff_size(skill.version, after)
    if isinstance(plan, WriteFiles):
        what = f"wrote {len(plan.files)} and deleted {len(plan.delete)} files"
    else:
        what = f"{plan.action} in {plan.target}"
    return ExecutionResult(
        status="success",
        modified=True,
        diff=unified_diff(skill.version, after),
        diff_summary=DiffSummary(reason=what, added_lines=size.added, removed_lines=size.removed, files=size.files),
        risk_level=str(risk_of(skill.version, after)),
        base_digest=skill.version.digest,
        candidate_digest=after.digest,
        backup_path=pointer.backup_path,
        rollback_pointer=pointer,
    )


def _nothing(problem: PlanError) -> ExecutionResult:
    return ExecutionResult(
        status=str(problem.refusal),
        modified=False,
        diff="",
        diff_summary=DiffSummary(reason=problem.message, added_lines=0, removed_lines=0, files=0),
        error=problem.message,
    )


def execution_file(
    ranking: Ranking, anchor: str, candidate: ScoredCandidate, raw: JsonObject, result: ExecutionResult
) -> Execution:
    """What was applied, as an artifact. `raw` is the candidate as the ranking has it."""
    summary = result.diff_summary
    return Execution(
        run_id=ranking.run_id,
        lane=ranking.lane,
        status="success" if result.modified else result.status,
        candidate_id=candidate.id,
        candidate=raw,
        source_ranking_artifact=anchor,
        target=ranking.target,
        candidate_digest=result.candidate_digest,
        result=result,
        execution_trace={
            "type": "execution_trace",
            "candidate_id": candidate.id,
            "category": candidate.category,
            "target_path": candidate.target_path,
            "action": candidate.execution_plan.get("action"),
            "execution_status": result.status,
            "modified": result.modified,
            "diff_summary": summary,
            "error": result.error,
            "timestamp": stamp(),
        },
    )
