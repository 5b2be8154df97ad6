"""`honestone stage gate`: six layers over what was applied; it stays only if all of them let it, else the original is back."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.stages.options import show_artifact, stage_files, stage_options
from honestone.core.artifact import Version
from honestone.core.errors import UsageError
from honestone.core.loop.proposal import unified_diff
from honestone.core.skill.gate_layers import (
    EXIT_OF,
    Decision,
    Evidence,
    GateResult,
    decide,
    evaluation_figure,
    gate_risk,
)
from honestone.core.skill.plan import PlanError, apply_plan, plan_between, plan_to_plain, target_of
from honestone.core.skill.risk import touched
from honestone.core.skill.stage_file import EVALUATED, EXECUTED, GATED, RANKED

if TYPE_CHECKING:
    from honestone.app.stages.files import Artifact, StageFiles, Target


@click.command("gate", short_help="Keep it, park it, or put the original back.")
@click.option("--ranking", type=shared.PATH, required=True, metavar="FILE", help="The ranking artifact.")
@click.option("--execution", type=shared.PATH, required=True, metavar="FILE", help="What `stage apply` wrote.")
@click.option(
    "--evaluation",
    type=shared.PATH,
    default=None,
    metavar="FILE",
    help="What `stage evaluate` wrote. Without it nothing is kept.",
)
@stage_options
def gate_command(
    ranking: Path,
    execution: Path,
    evaluation: Path | None,
    state_root: Path | None,
    output: Path | None,
    as_json: bool,
    quiet: bool,
) -> int:
    """Decide about a candidate that was applied. For every decision but `keep` the skill is put back as it was.

    \b
    Exit codes: 0 keep, 1 revert or reject, 3 pending_promote (a person decides: `stage promote`), 2 usage.
    """
    from honestone.app.stages.files import read_stage, skill_of_artifact
    from honestone.app.stages.state import only_one

    ranked = read_stage(ranking, RANKED)
    executed = read_stage(execution, EXECUTED)
    evaluated = None if evaluation is None else read_stage(evaluation, EVALUATED)
    with only_one(skill_of_artifact(ranked).folder):
        document = gate(ranked, executed, evaluated, stage_files(state_root, output))
    show_artifact(document, receipt_lines(document), as_json=as_json)
    return EXIT_OF[Decision(document["decision"])]


def receipt_lines(receipt: Mapping[str, Any]) -> list[str]:
    """A receipt for people."""
    marks = {True: "ok", False: "not ok", None: "unknown"}
    layers = [
        f"  {one['layer']}: {marks[one['passed']]}" + (f", {one['details']}" if one["details"] != "OK" else "")
        for one in receipt["gate_layers"]["layer_results"]
    ]
    return [f"{receipt['decision']}: {receipt['reason']}", *layers]


def gate(ranking: Artifact, execution: Artifact, evaluation: Artifact | None, files: StageFiles) -> dict[str, Any]:
    """Decide, put the original back unless it is kept, and write the receipt.

    Raises UsageError, with nothing written, where the skill is neither what was applied nor the original: somebody has
    edited it.
    """
    from honestone.app.stages import files as on_disk
    from honestone.app.stages.compile import troubles
    from honestone.app.stages.state import note_state

    candidate_id = on_disk.text_at(execution.marked, "candidate_id")
    ranked = on_disk.find_candidate(ranking, candidate_id)
    target = on_disk.skill_of_artifact(ranking)
    on_disk.refuse_inside(files, target)
    target = on_disk.recover(files, target)
    found = _find_versions(execution, ranked, target)
    evidence = Evidence(
        candidate_id=candidate_id,
        ranking=ranking.document,
        execution=execution.document,
        evaluation=None if evaluation is None else evaluation.document,
        ranked=ranked,
        before=found.before,
        after=found.after,
        troubles=troubles(found.before, found.after),
        is_vetoed=_is_vetoed(files, target, found.after),
    )
    result = decide(evidence)
    if result.decision is Decision.KEEP and found.where is not _Where.APPLIED:
        raise UsageError(
            f"the candidate `{candidate_id}` is no longer in place in `{target.named}`, so it cannot be kept",
            hint="run `honestone stage apply` again, then the gate",
        )
    entry = None
    if result.decision is Decision.PENDING:
        entry = _park(files, target, evidence, result, run_id=ranking.run_id, lane=ranking.lane)
    rollback = _roll_back(result.decision, found, target)
    receipt = _write(ranking, execution, evaluation, files, evidence, result, rollback)
    if entry is not None:
        from honestone.app.stages.state import park

        park(files, {**entry, "receipt_path": receipt["truth_anchor"]})
    note_state(files, receipt, target_path=target.named)
    return receipt


# ------------------------------------------------------------------------------------------------------- two versions


class _Where(Enum):
    """What the skill's folder holds now."""

    APPLIED = auto()
    ORIGINAL = auto()
    BETWEEN = auto()
    """Some files of each: whoever wrote them was stopped on the way."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """The skill without the candidate and with it, and which of the two is on disk."""

    before: Version
    after: Version
    where: _Where


def _find_versions(execution: Artifact, ranked: Mapping[str, Any], target: Target) -> _Found:
    from honestone.app.stages.files import original_of

    result, now = execution.document.get("result"), target.version
    if not isinstance(result, Mapping) or not isinstance(result.get("modified"), bool):
        raise UsageError(
            "the execution does not say whether it modified anything", place=execution.at("result", "modified")
        )
    if not result["modified"]:
        return _Found(before=now, after=now, where=_Where.ORIGINAL)
    pointer = result.get("rollback_pointer")
    if not isinstance(pointer, Mapping):
        raise UsageError(
            "the execution has no rollback pointer, so the original cannot be put back",
            place=execution.at("result", "rollback_pointer"),
        )
    before = original_of(pointer, target)
    edited = UsageError(
        f"`{target.named}` was edited after the candidate was applied; nothing was overwritten",
        hint=f"the original is kept at {pointer.get('backup_path')}",
    )
    base, stated = _digest(execution, "base_digest"), _digest(execution, "candidate_digest")
    if base is not None and before.digest != base:
        raise edited
    planned = _planned(execution, ranked, target, before)
    if stated is not None:
        if now.digest == stated:
            return _Found(before=before, after=now, where=_Where.APPLIED)
        if planned is not None and planned.digest != stated:
            planned = None
    elif _is_the_diff(result.get("diff"), before, now, target):
        return _Found(before=before, after=now, where=_Where.APPLIED)
    if planned is None:
        raise edited
    for where, version in ((_Where.APPLIED, planned), (_Where.ORIGINAL, before)):
        if now.digest == version.digest:
            return _Found(before=before, after=planned, where=where)
    if all(
        now.files.get(path) in (before.files.get(path), planned.files.get(path)) for path in _all(now, before, planned)
    ):
        return _Found(before=before, after=planned, where=_Where.BETWEEN)
    raise edited


def _all(*versions: Version) -> set[str]:
    return {path for version in versions for path in version.files}


def _digest(execution: Artifact, key: str) -> str | None:
    """A digest that an execution names; other programs name none."""
    inside = execution.document.get("result")
    for place in (inside, execution.document):
        found = place.get(key) if isinstance(place, Mapping) else None
        if isinstance(found, str):
            return found
    return None


def _planned(execution: Artifact, ranked: Mapping[str, Any], target: Target, before: Version) -> Version | None:
    """What the plan makes of the original; None where we cannot tell."""
    from honestone.app.stages.files import plan_of

    executed = execution.document.get("candidate")
    candidate = executed if isinstance(executed, Mapping) and "execution_plan" in executed else ranked
    try:
        return apply_plan(plan_of(candidate, target), before)
    except PlanError:
        return None


def _is_the_diff(diff: object, before: Version, now: Version, target: Target) -> bool:
    """Whether the folder differs from the original just as another program's execution says, whatever it calls the file."""
    if not isinstance(diff, str) or len(touched(before, now)) != 1:
        return False
    return bool(diff.strip()) and _body(diff) == _body(unified_diff(before, now))


def _body(diff: str) -> list[str]:
    return [line.rstrip() for line in diff.splitlines() if not line.startswith(("--- ", "+++ ", "\\ "))]


# ---------------------------------------------------------------------------------------------------------- afterwards


def _is_vetoed(files: StageFiles, target: Target, after: Version) -> bool:
    from honestone.app.stages.state import vetoes
    from honestone.system.files import printable

    folder = printable(target.folder.resolve())
    return any(one.get("candidate_digest") == after.digest and one.get("folder") == folder for one in vetoes(files))


def _park(
    files: StageFiles, target: Target, evidence: Evidence, result: GateResult, *, run_id: str, lane: str
) -> dict[str, Any]:
    """Keep all that is needed to apply the candidate later, before it is taken out of the skill."""
    from honestone.app.stages.files import stamp
    from honestone.app.stages.state import park
    from honestone.system.files import printable

    plan = plan_between(evidence.before, evidence.after)
    entry = {
        "candidate_id": evidence.candidate_id,
        "run_id": run_id,
        "lane": lane,
        "title": evidence.ranked.get("title"),
        "target": {"path": target.named},
        "folder": printable(target.folder.resolve()),
        "target_path": target.path_of(target_of(plan)),
        "category": evidence.ranked.get("category"),
        "risk_level": str(gate_risk(evidence)),
        "reason": result.reason,
        "reasons": list(result.human),
        "diff": unified_diff(evidence.before, evidence.after),
        "execution_plan": plan_to_plain(plan),
        "base_digest": evidence.before.digest,
        "candidate_digest": evidence.after.digest,
        "created_at": stamp(),
        "receipt_path": None,
    }
    park(files, entry)
    return entry


def _roll_back(decision: Decision, found: _Found, target: Target) -> dict[str, Any]:
    from honestone.app.stages.files import put_in_place

    if decision is Decision.KEEP:
        return {"attempted": False, "success": False, "reason": "not_needed"}
    if decision is Decision.REJECT:
        return {"attempted": False, "success": False, "reason": "nothing_was_applied"}
    if found.where is _Where.ORIGINAL:
        return {"attempted": False, "success": True, "reason": "the_original_was_back_already"}
    put_in_place(target, found.before)
    why = "parked_for_a_person" if decision is Decision.PENDING else "gate_failed"
    return {"attempted": True, "success": True, "reason": why}


_NEXT = {
    Decision.PENDING: ("promote_candidate", "human"),
    Decision.KEEP: (GATED.next_step, GATED.next_owner),
    Decision.REVERT: (GATED.next_step, GATED.next_owner),
    Decision.REJECT: (GATED.next_step, GATED.next_owner),
}


def _write(
    ranking: Artifact,
    execution: Artifact,
    evaluation: Artifact | None,
    files: StageFiles,
    evidence: Evidence,
    result: GateResult,
    rollback: Mapping[str, Any],
) -> dict[str, Any]:
    from honestone.app.stages.files import write_stage

    name, run_id = evidence.candidate_id, ranking.run_id
    step, owner = _NEXT[result.decision]
    body: dict[str, Any] = {
        "decision": str(result.decision),
        "reason": result.reason,
        "candidate_id": name,
        "candidate_category": evidence.ranked.get("category"),
        "risk_level": str(gate_risk(evidence)),
        "candidate_digest": evidence.after.digest if evidence.is_applied else None,
        "target": ranking.document["target"],
        "source_ranking_artifact": _anchor(ranking),
        "source_execution_artifact": _anchor(execution),
        "source_evaluation_artifact": None if evaluation is None else _anchor(evaluation),
        "evaluation_verdict": None if evaluation is None else evaluation_figure(evaluation.document, "verdict"),
        "rollback": dict(rollback),
        "blockers": result.blockers_to_plain(),
        "gate_layers": result.layers_to_plain(),
    }
    if result.decision is Decision.PENDING:
        body["human_review_request"] = {
            "candidate_id": name,
            "reasons": list(result.human),
            "title": evidence.ranked.get("title"),
            "summary": evidence.ranked.get("proposed_change_summary"),
            "diff": unified_diff(evidence.before, evidence.after),
            "approve": _promote(name, files),
            "drop": f"{_promote(name, files)} --reject",
        }
    return write_stage(
        replace(GATED, next_step=step, next_owner=owner),
        body,
        files,
        run_id=run_id,
        name=f"gate-{run_id}-{name}",
        lane=ranking.lane,
    )


def _promote(name: str, files: StageFiles) -> str:
    """What a person types, from the folder that the gate was run in."""
    from honestone.app.stages.files import state_root
    from honestone.system.files import printable

    words = ["honestone", "stage", "promote", shlex.quote(name)]
    if files.root != state_root(None):
        words += ["--state-root", shlex.quote(printable(files.root))]
    return " ".join(words)


def _anchor(artifact: Artifact) -> str:
    from honestone.system.files import printable

    found = artifact.document.get("truth_anchor")
    return found if isinstance(found, str) and found else printable(artifact.path)
