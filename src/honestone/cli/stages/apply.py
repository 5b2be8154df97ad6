"""`honestone stage apply`: a candidate's plan carried out on the skill itself, with a backup and the way back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.options import show_artifact, stage_files, stage_options
from honestone.core.artifact import Version
from honestone.core.loop.proposal import diff_size, unified_diff
from honestone.core.skill.plan import PlanError, Refusal, WriteFiles, apply_plan
from honestone.core.skill.risk import risk_of, touched
from honestone.core.skill.stage_file import EXECUTED, RANKED

if TYPE_CHECKING:
    from honestone.app.stages.files import Artifact, StageFiles, Target
    from honestone.core.skill.plan import Plan


@click.command("apply", short_help="Apply a candidate, with a backup.")
@click.option("--input", "ranking", type=shared.PATH, required=True, metavar="FILE", help="The ranking artifact.")
@click.option("--candidate-id", required=True, metavar="ID")
@stage_options
def apply_command(
    ranking: Path, candidate_id: str, state_root: Path | None, output: Path | None, as_json: bool, quiet: bool
) -> int:
    """Carry out a candidate's plan on the skill. The original is kept; `stage gate` keeps the edit or puts it back.

    Exits 1 when nothing was applied, 2 when the plan would leave the skill.
    """
    from honestone.app.stages.files import read_stage, skill_of_artifact
    from honestone.app.stages.state import only_one

    ranked = read_stage(ranking, RANKED)
    with only_one(skill_of_artifact(ranked).folder):
        document = apply(ranked, candidate_id, stage_files(state_root, output))
    result = document["result"]
    lines = [result["diff"].rstrip("\n")] if result["diff"] else []
    show_artifact(document, [*lines, f"{result['status']}: {result['diff_summary']['reason']}"], as_json=as_json)
    return 0 if result["modified"] else 1


def apply(ranking: Artifact, candidate_id: str, files: StageFiles) -> dict[str, Any]:
    """Apply a candidate of a ranking to the skill on disk and write the execution artifact.

    Raises UsageError, with nothing written to the skill, for an unknown candidate, a plan that leaves the skill and a
    skill that somebody is editing. A plan that cannot be applied is an execution with nothing modified.
    """
    from honestone.app.stages import files as on_disk

    candidate = on_disk.find_candidate(ranking, candidate_id)
    target = on_disk.skill_of_artifact(ranking)
    on_disk.refuse_inside(files, target)
    target = on_disk.recover(files, target)
    on_disk.require_base(candidate, target)
    try:
        plan = on_disk.plan_of(candidate, target)
        after = apply_plan(plan, target.version)
    except PlanError as problem:
        if problem.refusal is Refusal.OUTSIDE:
            raise
        return _write(ranking, candidate, files, _nothing(problem))
    pointer = on_disk.back_up(
        target, touched(target.version, after), on_disk.new_backup_place(files, ranking.run_id, candidate_id)
    )
    on_disk.require_untouched(target)
    on_disk.announce(files, target, after, pointer)
    on_disk.put_in_place(target, after)
    document = _write(ranking, candidate, files, _result(target, after, plan, pointer))
    on_disk.applied(files, target)
    return document


def _result(target: Target, after: Version, plan: Plan, pointer: Mapping[str, Any]) -> dict[str, Any]:
    size = diff_size(target.version, after)
    return {
        "status": "success",
        "modified": True,
        "diff": unified_diff(target.version, after),
        "diff_summary": {
            "reason": _what(plan),
            "added_lines": size.added,
            "removed_lines": size.removed,
            "files": size.files,
        },
        "risk_level": str(risk_of(target.version, after)),
        "base_digest": target.version.digest,
        "candidate_digest": after.digest,
        "backup_path": pointer["backup_path"],
        "rollback_pointer": dict(pointer),
    }


def _nothing(problem: PlanError) -> dict[str, Any]:
    return {
        "status": str(problem.refusal),
        "modified": False,
        "diff": "",
        "diff_summary": {"reason": problem.message, "added_lines": 0, "removed_lines": 0, "files": 0},
        "risk_level": None,
        "base_digest": None,
        "candidate_digest": None,
        "backup_path": None,
        "rollback_pointer": None,
        "error": problem.message,
    }


def _what(plan: Plan) -> str:
    if isinstance(plan, WriteFiles):
        return f"wrote {len(plan.files)} and deleted {len(plan.delete)} files"
    return f"{plan.action} in {plan.target}"


def _write(
    ranking: Artifact, candidate: Mapping[str, Any], files: StageFiles, result: Mapping[str, Any]
) -> dict[str, Any]:
    from honestone.app.stages.files import stamp, write_stage

    plan = candidate.get("execution_plan")
    return write_stage(
        EXECUTED,
        {
            "candidate_id": candidate["id"],
            "candidate": dict(candidate),
            "source_ranking_artifact": ranking.document.get("truth_anchor") or str(ranking.path),
            "target": ranking.document["target"],
            "candidate_digest": result["candidate_digest"],
            "result": dict(result),
            "execution_trace": {
                "type": "execution_trace",
                "candidate_id": candidate["id"],
                "category": candidate.get("category"),
                "target_path": candidate.get("target_path"),
                "action": plan.get("action") if isinstance(plan, dict) else None,
                "execution_status": result["status"],
                "modified": result["modified"],
                "diff_summary": result["diff_summary"],
                "error": result.get("error"),
                "timestamp": stamp(),
            },
        },
        files,
        run_id=ranking.run_id,
        name=f"{ranking.run_id}-{candidate['id']}",
        status="success" if result["modified"] else result["status"],
        lane=ranking.lane,
    )
