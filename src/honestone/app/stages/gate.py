"""An edit on the skill itself: applied with a backup and the way back, and kept only where the
gate's six layers or a person let it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path, PurePosixPath

import msgspec

from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    find_candidate,
    reserved,
    safe_name,
    stamp,
    write_json,
)
from honestone.core.artifact import Entry, Version, as_text, digest_of
from honestone.core.editing.proposal import diff_size, touched, unified_diff
from honestone.core.errors import FileError, UsageError
from honestone.core.events import DeliveryBegun, DeliveryDone, Event
from honestone.core.skill import gate_layers as layers
from honestone.core.skill import plan as plans
from honestone.core.skill.gate_layers import Decision, Evidence, GateResult
from honestone.core.skill.plan import Plan, PlanError, Refusal
from honestone.core.skill.risk import risk_of
from honestone.core.skill.skill_file import SKILL_FILE, split
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import JsonObject, StageFile
from honestone.system.drawing import count
from honestone.system.files import printable, write_atomically


@dataclass(frozen=True, slots=True, kw_only=True)
class ApplyRequest:
    """What `stage apply` is asked for."""

    ranking: Path
    candidate_id: str


def apply(request: ApplyRequest, files: StageFiles) -> StageFile[doc.Execution]:
    """Apply a candidate of a ranking to the skill on disk and write the execution artifact.

    Raises UsageError, with nothing written to the skill, for an unknown candidate, a plan that
    leaves the skill and a skill that somebody is editing. A plan that cannot be applied is an
    execution with nothing modified.
    """
    ranking = files.read(request.ranking, doc.Ranking)
    at, candidate = find_candidate(ranking, request.candidate_id)
    raw: JsonObject = ranking.marked.value["scored_candidates"][at]
    name = f"{ranking.body.run_id}-{candidate.id}"
    with holding(files, ranking.body.target.path) as skill:
        skill.require_base(candidate)
        try:
            plan = skill.plan_of(candidate)
            after = plans.apply_plan(plan, skill.version)
        except PlanError as problem:
            if problem.refusal is Refusal.OUTSIDE:
                raise
            result = _nothing(problem)
        else:
            backup = Path(safe_name(ranking.body.run_id), safe_name(candidate.id))
            pointer = apply_in_place(files, skill, after, name=backup)
            result = applied_result(skill, plan, after, pointer)
        body = execution_file(ranking.body, candidate, raw, result)
        written = files.write(body, name=name)
        applied(files, skill)
    return written


def applied_result(
    skill: SkillUnderEdit, plan: Plan, after: Version, pointer: doc.RollbackPointer
) -> doc.ExecutionResult:
    """What an execution says of an edit that was put in place."""
    size = diff_size(skill.version, after)
    if isinstance(plan, plans.WriteFiles):
        what = f"wrote {count(len(plan.files), 'file')} and deleted {len(plan.delete)}"
    else:
        what = f"{plan.action} in {plan.target}"
    return doc.ExecutionResult(
        status="success",
        modified=True,
        diff=unified_diff(skill.version, after),
        diff_summary=doc.DiffSummary(
            reason=what, added_lines=size.added, removed_lines=size.removed, files=size.files
        ),
        risk_level=str(risk_of(skill.version, after)),
        base_digest=skill.version.digest,
        candidate_digest=after.digest,
        backup_path=pointer.backup_path,
        rollback_pointer=pointer,
    )


def _nothing(problem: PlanError) -> doc.ExecutionResult:
    return doc.ExecutionResult(
        status=str(problem.refusal),
        modified=False,
        diff="",
        diff_summary=doc.DiffSummary(
            reason=problem.message, added_lines=0, removed_lines=0, files=0
        ),
        error=problem.message,
    )


def execution_file(
    ranking: doc.Ranking,
    candidate: doc.ScoredCandidate,
    raw: JsonObject,
    result: doc.ExecutionResult,
) -> doc.Execution:
    """What was applied, as an artifact. `raw` is the candidate as the ranking has it."""
    summary = result.diff_summary
    return doc.Execution(
        run_id=ranking.run_id,
        lane=ranking.lane,
        status="success" if result.modified else result.status,
        candidate_id=candidate.id,
        candidate=raw,
        source_ranking_artifact=ranking.truth_anchor,
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


@contextlib.contextmanager
def only_one(skill: Path) -> Iterator[None]:
    """No other pipeline works on this skill meanwhile, wherever it keeps its files. Raises
    UsageError.

    The lock is on the folder itself, leaves nothing in it, and ends with the process.
    """
    try:
        handle = os.open(skill, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise FileError(
            f"the skill folder `{printable(skill)}` cannot be opened: {error.strerror}",
            hint="paths in artifacts are relative to the folder that the pipeline was run in",
        ) from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                raise UsageError(
                    f"another process is working on the skill `{printable(skill)}`",
                    hint="wait for it, or stop it",
                ) from None
            # A file system without locks: the stages still compare the bytes before they write.
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def holding(files: StageFiles, named: Path | str) -> Iterator[SkillUnderEdit]:
    """The skill for this process alone, with the original back where an earlier process was killed
    while applying.
    """
    found = SkillUnderEdit.at(files.workspace, named)
    files.refuse_inside(found)
    with only_one(found.folder):
        yield recover(files, found.read_again())


def settled(files: StageFiles, skill: SkillUnderEdit) -> SkillUnderEdit:
    """The skill when no stage is halfway through with it: what a stage measures must not be half a
    candidate.

    Raises UsageError while another process works on it, and where a killed `stage run` left half of
    an edit.
    """
    files.refuse_inside(skill)
    if _note_of(files, skill).exists():
        with only_one(skill.folder):
            skill = recover(files, skill)
    _require_delivered(skill)
    return skill


def _require_delivered(skill: SkillUnderEdit) -> None:
    workspace = skill.workspace
    if not workspace.has_store:
        return
    with workspace.open_store(readonly=True) as store:
        for info in store.runs():
            if (
                info.kind != "stages"
                or info.subject != str(skill.root)
                or info.finished is not None
            ):
                continue
            if is_half_delivered(store.iter_events(info.id)):
                raise UsageError(
                    f"`{skill.named}` holds half of an edit: `stage run` is not finished",
                    hint="run the same `stage run` command again: it completes the edit",
                )


def is_half_delivered(log: Iterable[Event]) -> bool:
    """Whether a loop was killed between the beginning and the end of a delivery."""
    open_ones = 0
    for event in log:
        open_ones += isinstance(event, DeliveryBegun) - isinstance(event, DeliveryDone)
    return open_ones > 0


# ------------------------------------------------------------------------------------------------
# putting in place


def apply_in_place(
    files: StageFiles, skill: SkillUnderEdit, after: Version, *, name: Path
) -> doc.RollbackPointer:
    """Back the original up and put `after` in its place; `applied` when that is on record. A kill
    on the way is undone by the next stage.
    """
    pointer = back_up(files, skill, touched(skill.version, after), name)
    skill.require_untouched()
    announce(files, skill, after, pointer)
    skill.put_in_place(after)
    return pointer


# -----------------------------------------------------------------------------------------------------------
# backups


def back_up(
    files: StageFiles, skill: SkillUnderEdit, changed: list[str], name: Path
) -> doc.RollbackPointer:
    """Keep the original in STATE_ROOT/executions/backups/NAME, numbered where that is taken, and
    return the way back: one file where only that changes, else all.
    """
    place = reserved(files.folder("executions") / "backups" / name.parent, name.name)
    before = skill.version
    if len(changed) == 1 and changed[0] in before.files:
        path, entry = place / safe_name(changed[0]), before.files[changed[0]]
        write_atomically(path, entry.data, executable=entry.executable)
        return doc.RollbackPointer(
            method="restore_backup_file",
            backup_path=printable(path),
            target_path=skill.path_of(changed[0]),
        )
    for path_in, entry in before.files.items():
        write_atomically(place / path_in, entry.data, executable=entry.executable)
    return doc.RollbackPointer(
        method="restore_backup_folder",
        backup_path=printable(place),
        target_path=skill.named,
        changed=sorted(changed),
    )


def original_of(pointer: doc.RollbackPointer, skill: SkillUnderEdit) -> Version:
    """The skill as it was before, from the files on disk and the backup. Raises UsageError for a
    pointer that does not lead back.
    """
    if "\0" in pointer.backup_path + pointer.target_path:
        raise UsageError("the rollback pointer names no backup and no target")
    place, inside = skill.workspace.path(pointer.backup_path), skill.inside(pointer.target_path)
    if inside is None:
        raise UsageError(
            f"the rollback pointer's target `{printable(pointer.target_path)}` is not in `{skill.named}`"
        )
    files = dict(skill.version.files)
    if pointer.method == "restore_backup_file" and inside:
        files[inside] = _backed_up_file(place)
        return Version(dict(sorted(files.items())), is_folder=True)
    if pointer.method != "restore_backup_folder" or inside or pointer.changed is None:
        raise UsageError(f"the rollback pointer's method {pointer.method!r} is not known")
    if not place.is_dir():
        raise FileError(f"the backup `{printable(place)}` does not exist")
    for name in pointer.changed:
        if ".." in Path(name).parts or Path(name).is_absolute():
            raise UsageError(
                f"the rollback pointer names {name!r}, which is not a file of the skill"
            )
        if (place / name).is_file():
            files[name] = _backed_up_file(place / name)
        else:
            files.pop(name, None)
    return Version(dict(sorted(files.items())), is_folder=True)


def _backed_up_file(path: Path) -> Entry:
    """A file of a backup. The mode is the backup's own; of other programs' backups too."""
    try:
        return Entry(path.read_bytes(), os.access(path, os.X_OK))
    except OSError as error:
        raise FileError(
            f"the backup `{printable(path)}` cannot be read: {error.strerror or error}"
        ) from None


# ------------------------------------------------------------------------------------------- kills
# while applying


class _Applying(msgspec.Struct, kw_only=True):
    """What is being put in place in a skill: the way back, and the digest of each file that changes
    (null: removed).
    """

    skill: str
    pointer: doc.RollbackPointer
    after: dict[str, str | None]


def _note_of(files: StageFiles, skill: SkillUnderEdit) -> Path:
    """One file a skill, as several may share a STATE_ROOT."""
    return files.folder("applying") / f"{digest_of(os.fsencode(skill.root))[7:23]}.json"


def announce(
    files: StageFiles, skill: SkillUnderEdit, after: Version, pointer: doc.RollbackPointer
) -> None:
    """Write down what is about to be put in place, so that `recover` can undo it if we are killed
    on the way.
    """
    absolute = {
        name: os.path.abspath(skill.workspace.path(getattr(pointer, name))) for name in _PATHS
    }
    note = _Applying(
        skill=printable(skill.root),
        pointer=msgspec.structs.replace(pointer, **absolute),
        after={path: _digest(after, path) for path in touched(skill.version, after)},
    )
    write_json(_note_of(files, skill), msgspec.to_builtins(note))


_PATHS = ("backup_path", "target_path")


def applied(files: StageFiles, skill: SkillUnderEdit) -> None:
    """The execution artifact is written: nothing is left to recover."""
    _note_of(files, skill).unlink(missing_ok=True)


def recover(files: StageFiles, skill: SkillUnderEdit) -> SkillUnderEdit:
    """Put the original back where an earlier process was killed while it applied a candidate, and
    read the skill again.

    Raises UsageError when somebody edited the skill since: nothing is overwritten then.
    """
    path = _note_of(files, skill)
    if not path.exists():
        return skill
    note = doc.read_as(doc.read_object(path), _Applying)
    try:
        original = original_of(note.pointer, skill)
    except UsageError as error:
        error.hint = f"{printable(path)} says what was under way; delete it when the skill is as it should be"
        raise
    now = skill.version
    for name, digest in note.after.items():
        if now.files.get(name) != original.files.get(name) and _digest(now, name) != digest:
            raise UsageError(
                f"an earlier run was stopped while it applied a candidate to `{skill.named}`, and `{name}` was edited "
                "since; nothing was overwritten",
                hint=f"the original is kept at {note.pointer.backup_path}; delete {printable(path)} when all is well",
            )
    skill.put_in_place(original)
    applied(files, skill)
    return skill.read_again()


def _digest(version: Version, name: str) -> str | None:
    entry = version.files.get(name)
    return None if entry is None else digest_of(entry.data)


# ----------------------------------------------------------------------------------------------------------
# the gate


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRequest:
    """What `stage gate` is asked for. Without an evaluation nothing is kept."""

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
        found = _find_versions(execution, ranked, skill)
        evidence = gather(
            files,
            skill.with_version(found.before),
            found.after,
            ranking=ranking.document,
            execution=execution.document,
            evaluation=None if evaluation is None else evaluation.document,
            ranked=ranking.marked.value["scored_candidates"][at],
        )
        result = layers.pass_gate(evidence)
        if result.decision is Decision.KEEP and found.where is not _OnDisk.APPLIED:
            raise UsageError(
                f"the candidate `{ranked.id}` is no longer in place in `{skill.named}`, so it cannot be kept",
                hint="run `honestone stage apply` again, then the gate",
            )
        entry = None
        if result.decision is Decision.PENDING:
            entry = parked(
                skill, evidence, result, run_id=ranking.body.run_id, lane=ranking.body.lane
            )
            files.add("pending", entry)
        rollback = _roll_back(result.decision, found, skill)
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


# -------------------------------------------------------------------------------------------------------
# two versions


class _OnDisk(Enum):
    """What the skill's folder holds now."""

    APPLIED = auto()
    ORIGINAL = auto()
    # Some files of each: whoever wrote them was stopped on the way.
    BETWEEN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
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
    paths = {*now.files, *before.files, *planned.files}
    if all(now.files.get(one) in (before.files.get(one), planned.files.get(one)) for one in paths):
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


def _roll_back(decision: Decision, found: _Found, skill: SkillUnderEdit) -> doc.Rollback:
    if decision is Decision.KEEP:
        return doc.Rollback(attempted=False, success=False, reason="not_needed")
    if decision is Decision.REJECT:
        return doc.Rollback(attempted=False, success=False, reason="nothing_was_applied")
    if found.where is _OnDisk.ORIGINAL:
        return doc.Rollback(attempted=False, success=True, reason="the_original_was_back_already")
    skill.put_in_place(found.before)
    why = "parked_for_a_person" if decision is Decision.PENDING else "gate_failed"
    return doc.Rollback(attempted=True, success=True, reason=why)


# ----------------------------------------------------------------------------------------------------------
# afterwards


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


def _text_under(found: layers.Fields, key: str) -> str | None:
    value = found.get(key)
    return value if isinstance(value, str) else None


def _promote(name: str, files: StageFiles) -> str:
    """What a person types, from the folder that the gate was run in."""
    words = ["honestone", "stage", "promote", shlex.quote(name)]
    if files.root != StageFiles.at(files.workspace).root:
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
    """Whether it is well-formed: any number of documents, tags of any program. Nothing is built
    from it.
    """
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
    from honestone.formats.syntax.marked import parse_marked

    if not block.strip():
        return None
    try:
        value = parse_marked(
            "\n" + block, SKILL_FILE
        ).value  # lines are counted from the opening fence
    except FileError as error:
        return f"{error.place or SKILL_FILE} does not parse: {error.message}"
    return None if isinstance(value, dict) else f"{SKILL_FILE}:2 its front matter is not a mapping"


# -----------------------------------------------------------------------------------------------------------
# a person


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
        hint=f"waiting: {known}"
        if known
        else "nothing waits; `honestone stage gate` says why it parks something",
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
            "`honestone stage promote` lists it",
        )
    candidate = doc.CandidateEntry(
        id=_required(entry.get("candidate_id"), "candidate_id"),
        target_path=_required(entry.get("target_path"), "target_path"),
        execution_plan=msgspec.convert(entry.get("execution_plan") or {}, JsonObject),
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
