"""Six layers over what was applied, the first whether it compiles; it stays only if all let it, else the original is put back."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path, PurePosixPath

import msgspec

from honestone.app.stages.apply import holding, original_of, put_in_place
from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    anchor_of,
    default_root,
    find_candidate,
    note_state,
    park,
    plan_of,
    stamp,
    vetoes,
    write_stage,
)
from honestone.core.artifact import Version, as_text
from honestone.core.errors import FileError, UsageError
from honestone.core.loop.proposal import unified_diff
from honestone.core.skill.gate_layers import Decision, Evidence, GateResult, evaluation_figure, gate_risk, pass_gate
from honestone.core.skill.plan import PlanError, apply_plan, plan_between, plan_to_plain, target_of
from honestone.core.skill.risk import touched
from honestone.core.skill.skill_file import SKILL_FILE, split
from honestone.formats.stage_files import (
    Blocker,
    CandidateEntry,
    Execution,
    GateLayers,
    JsonObject,
    Ranking,
    Receipt,
    Rollback,
    SkillEvaluation,
    StageFile,
    read_stage,
)
from honestone.system.files import printable


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """What `stage gate` is asked for. Without an evaluation nothing is kept."""

    ranking: Path
    execution: Path
    evaluation: Path | None = None


def gate(request: GateRequest, files: StageFiles) -> StageFile[Receipt]:
    """Decide, put the original back unless it is kept, and write the receipt.

    Raises UsageError, with nothing written, where the skill is neither what was applied nor the original: somebody has
    edited it.
    """
    path = files.workspace.path
    ranking = read_stage(path(request.ranking), Ranking, shown=str(request.ranking))
    execution = read_stage(path(request.execution), Execution, shown=str(request.execution))
    evaluation = None
    if request.evaluation is not None:
        evaluation = read_stage(path(request.evaluation), SkillEvaluation, shown=str(request.evaluation))
    at, ranked = find_candidate(ranking, execution.body.candidate_id)
    with holding(files, ranking.body.target.path) as skill:
        found = _find_versions(execution, ranked, skill)
        evidence = Evidence(
            candidate_id=ranked.id,
            ranking=ranking.document,
            execution=execution.document,
            evaluation=None if evaluation is None else evaluation.document,
            ranked=ranking.marked.value["scored_candidates"][at],
            before=found.before,
            after=found.after,
            troubles=troubles(found.before, found.after),
            is_vetoed=is_vetoed(files, skill, found.after),
        )
        result = pass_gate(evidence)
        if result.decision is Decision.KEEP and found.where is not _Where.APPLIED:
            raise UsageError(
                f"the candidate `{ranked.id}` is no longer in place in `{skill.named}`, so it cannot be kept",
                hint="run `honestone stage apply` again, then the gate",
            )
        entry = None
        if result.decision is Decision.PENDING:
            entry = parked(skill, evidence, result, run_id=ranking.body.run_id, lane=ranking.body.lane)
            park(files, entry)
        anchors = DecisionFiles(
            ranking=anchor_of(ranking),
            execution=anchor_of(execution),
            evaluation=None if evaluation is None else anchor_of(evaluation),
        )
        rollback = _roll_back(result.decision, found, skill)
        body = receipt_file(files, ranking.body, evidence, result, rollback, anchors)
        receipt = write_stage(files, body, name=receipt_name(body))
        record_decision(files, receipt.body, entry, skill)
    return receipt


def record_decision(files: StageFiles, receipt: Receipt, entry: JsonObject | None, skill: SkillUnderEdit) -> None:
    """What the next commands find: the parked candidate with its receipt, and the state of the pipeline."""
    if entry is not None:
        park(files, {**entry, "receipt_path": receipt.truth_anchor})
    note_state(files, receipt, target_path=skill.named)


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


def _find_versions(execution: StageFile[Execution], ranked: CandidateEntry, skill: SkillUnderEdit) -> _Found:
    result, now = execution.body.result, skill.version
    if not result.modified:
        return _Found(before=now, after=now, where=_Where.ORIGINAL)
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
            return _Found(before=before, after=now, where=_Where.APPLIED)
        if planned is not None and planned.digest != stated:
            planned = None
    elif _is_the_diff(result.diff, before, now):
        return _Found(before=before, after=now, where=_Where.APPLIED)
    if planned is None:
        raise edited
    for where, version in ((_Where.APPLIED, planned), (_Where.ORIGINAL, before)):
        if now.digest == version.digest:
            return _Found(before=before, after=planned, where=where)
    paths = {*now.files, *before.files, *planned.files}
    if all(now.files.get(one) in (before.files.get(one), planned.files.get(one)) for one in paths):
        return _Found(before=before, after=planned, where=_Where.BETWEEN)
    raise edited


def _planned(
    execution: StageFile[Execution], ranked: CandidateEntry, skill: SkillUnderEdit, before: Version
) -> Version | None:
    """What the plan makes of the original; None where we cannot tell."""
    executed = execution.body.candidate
    try:
        if executed is not None and "execution_plan" in executed:
            ranked = msgspec.convert(executed, CandidateEntry)
        return apply_plan(plan_of(ranked, skill), before)
    except (PlanError, msgspec.ValidationError):
        return None


def _is_the_diff(diff: str | None, before: Version, now: Version) -> bool:
    """Whether the folder differs from the original just as another program's execution says, whatever it calls the file."""
    if diff is None or len(touched(before, now)) != 1:
        return False
    return bool(diff.strip()) and _changed_lines(diff) == _changed_lines(unified_diff(before, now))


def _changed_lines(diff: str) -> list[str]:
    return [line.rstrip() for line in diff.splitlines() if not line.startswith(("--- ", "+++ ", "\\ "))]


def _roll_back(decision: Decision, found: _Found, skill: SkillUnderEdit) -> Rollback:
    if decision is Decision.KEEP:
        return Rollback(attempted=False, success=False, reason="not_needed")
    if decision is Decision.REJECT:
        return Rollback(attempted=False, success=False, reason="nothing_was_applied")
    if found.where is _Where.ORIGINAL:
        return Rollback(attempted=False, success=True, reason="the_original_was_back_already")
    put_in_place(skill, found.before)
    why = "parked_for_a_person" if decision is Decision.PENDING else "gate_failed"
    return Rollback(attempted=True, success=True, reason=why)


# ---------------------------------------------------------------------------------------------------------- afterwards


def is_vetoed(files: StageFiles, skill: SkillUnderEdit, after: Version) -> bool:
    """Whether a person has turned these bytes down for this skill."""
    folder = printable(skill.root)
    return any(one.get("candidate_digest") == after.digest and one.get("folder") == folder for one in vetoes(files))


def parked(skill: SkillUnderEdit, evidence: Evidence, result: GateResult, *, run_id: str, lane: str) -> JsonObject:
    """All that is needed to apply the candidate later."""
    plan = plan_between(evidence.before, evidence.after)
    return {
        "candidate_id": evidence.candidate_id,
        "run_id": run_id,
        "lane": lane,
        "title": evidence.ranked.get("title"),
        "target": {"path": skill.named},
        "folder": printable(skill.root),
        "target_path": skill.path_of(target_of(plan)),
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionFiles:
    """The files that a decision rests on."""

    ranking: str
    execution: str
    evaluation: str | None


def receipt_file(
    files: StageFiles,
    ranking: Ranking,
    evidence: Evidence,
    result: GateResult,
    rollback: Rollback,
    anchors: DecisionFiles,
) -> Receipt:
    """A decision as an artifact."""
    name, evaluation, request = evidence.candidate_id, evidence.evaluation, None
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
    return Receipt(
        run_id=ranking.run_id,
        lane=ranking.lane,
        next_step=step,
        next_owner=owner,
        decision=str(result.decision),
        reason=result.reason,
        candidate_id=name,
        candidate_category=_text(evidence.ranked, "category"),
        risk_level=str(gate_risk(evidence)),
        candidate_digest=evidence.after.digest if evidence.is_applied else None,
        target=ranking.target,
        source_ranking_artifact=anchors.ranking,
        source_execution_artifact=anchors.execution,
        source_evaluation_artifact=anchors.evaluation,
        evaluation_verdict=None if evaluation is None else str(evaluation_figure(evaluation, "verdict")),
        rollback=rollback,
        blockers=[Blocker(layer=one.layer, details=one.details) for one in result.blockers],
        gate_layers=msgspec.convert(result.layers_to_plain(), GateLayers),
        human_review_request=request,
    )


def receipt_name(receipt: Receipt) -> str:
    return f"gate-{receipt.run_id}-{receipt.candidate_id}"


def _text(found: Mapping[str, object], key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _promote(name: str, files: StageFiles) -> str:
    """What a person types, from the folder that the gate was run in."""
    words = ["honestone", "stage", "promote", shlex.quote(name)]
    if files.root != default_root(files.workspace):
        words += ["--state-root", shlex.quote(printable(files.root))]
    return " ".join(words)


MAX_CODE = 1_000_000
MAX_DEPTH = 100


def troubles(before: Version, after: Version) -> tuple[str, ...]:
    """What does not compile or parse, with its place; only of files that differ."""
    return tuple(_troubles(before, after))


def _troubles(before: Version, after: Version) -> Iterator[str]:
    for path in touched(before, after):
        entry = after.files.get(path)
        if entry is None:
            continue
        ending, text = PurePosixPath(path).suffix.lower(), as_text(entry.data)
        if ending == ".py":
            trouble = _python(entry.data, path)
        elif ending in (".json", ".yaml", ".yml"):
            read = _json if ending == ".json" else _yaml
            trouble = f"{path} is not UTF-8 text" if text is None else read(text, path)
        elif path == SKILL_FILE:
            old = before.files.get(path)
            trouble = _front_matter(text, None if old is None else as_text(old.data))
        else:
            trouble = None
        if trouble is not None:
            yield trouble


def _python(data: bytes, path: str) -> str | None:
    if len(data) > MAX_CODE:
        return f"{path} is larger than {MAX_CODE // 1_000_000} MB, too large to be compiled here"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{path}:{error.lineno or 1} does not compile: {error.msg}"
    except ValueError as error:
        return f"{path} does not compile: {error}"
    except (RecursionError, MemoryError, OverflowError):
        return f"{path} does not compile: it is too deeply nested"
    return None


def _json(text: str, path: str) -> str | None:
    import json

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except ValueError as error:
        return f"{path} does not parse: {error}"
    except RecursionError:
        return f"{path} does not parse: it is too deeply nested"
    return None


def _yaml(text: str, path: str) -> str | None:
    """Whether it is well-formed: any number of documents, tags of any program. Nothing is built from it."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent

    depth = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_DEPTH:  # each level makes the library slower
                return f"{path}:{event.start_mark.line + 1} does not parse: it is too deeply nested"
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        return f"{path}{line} does not parse: {error.problem or error.context}"
    except (YAMLError, ValueError) as error:
        return f"{path} does not parse: {' '.join(str(error).split())[:200]}"
    except RecursionError:
        return f"{path} does not parse: it is too deeply nested"
    return None


def _front_matter(text: str | None, old: str | None) -> str | None:
    if text is None:
        return f"{SKILL_FILE} is not UTF-8 text"
    block = split(text).block
    if block is None:
        if text.removeprefix("\ufeff").startswith("---"):
            return f"{SKILL_FILE}:1 its front matter never ends"
        if old is not None and split(old).block is not None:
            return f"{SKILL_FILE}:1 its front matter is gone, and with it when the skill is loaded"
        return None
    return _front_matter_block(block)


def _front_matter_block(block: str) -> str | None:
    """What agents read of a skill has to be a mapping that every reader understands alike."""
    from honestone.formats.marked import parse_marked

    if not block.strip():
        return None
    try:
        value = parse_marked("\n" + block, SKILL_FILE).value  # lines are counted from the opening fence
    except FileError as error:
        return f"{error.place or SKILL_FILE} does not parse: {error.message}"
    return None if isinstance(value, dict) else f"{SKILL_FILE}:2 its front matter is not a mapping"
