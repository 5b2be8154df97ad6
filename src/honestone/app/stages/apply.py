"""An edit applied to the skill itself, with a backup and the way back."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from honestone.app.stages.files import (
    SkillUnderEdit,
    StageFiles,
    find_candidate,
    reserved,
    safe_name,
    stamp,
    write_json,
)
from honestone.app.stages.stage_loop import is_half_delivered
from honestone.core.artifact import Entry, Version, digest_of
from honestone.core.editing.proposal import diff_size, touched, unified_diff
from honestone.core.errors import FileError, UsageError
from honestone.core.skill import plan as plans
from honestone.core.skill.plan import Plan, PlanError, Refusal
from honestone.core.skill.risk import risk_of
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.report.documents import PlainDocument
from honestone.system.drawing import count
from honestone.system.files import printable, write_atomically


class ApplyRequest(Struct, frozen=True, kw_only=True):
    """What `skill apply` is asked for."""

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
    raw = ranking.marked.value["scored_candidates"][at]
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
        reason = f"wrote {count(len(plan.files), 'file')} and deleted {len(plan.delete)}"
    else:
        reason = f"{plan.action} in {plan.target}"
    return doc.ExecutionResult(
        status="success",
        modified=True,
        diff=unified_diff(skill.version, after),
        diff_summary=doc.DiffSummary(
            reason=reason, added_lines=size.added, removed_lines=size.removed, files=size.files
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
    raw: PlainDocument,
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
    skill = SkillUnderEdit.at(files.workspace, named)
    files.refuse_inside(skill)
    with only_one(skill.folder):
        yield recover(files, skill.read_again())


def settled(files: StageFiles, skill: SkillUnderEdit) -> SkillUnderEdit:
    """The skill when no stage is halfway through with it: what a stage measures must not be half a
    candidate.

    Raises UsageError while another process works on it, and where a killed `skill run` left half of
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
                    f"`{skill.named}` holds half of an edit: `skill run` is not finished",
                    hint="run the same `skill run` command again: it completes the edit",
                )


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
