"""The files of the skill pipeline: artifacts read with places in errors and written whole, and the skill they speak of.

read_stage(path, RANKED)            an artifact of that stage, or an error with its place
write_stage(RANKED, body, files)    where `--output` or STATE_ROOT says; never over an earlier one there
skill_of_artifact(artifact)         the skill's folder and bytes, found by `target.path`
plan_of(candidate, target)          its execution plan, guarded against leaving the skill
restore(pointer, expected=digest)   the original back, never over somebody's edit
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from honestone.app.suites.skill_loading import skill_folder, skill_of
from honestone.cli.printing import dump
from honestone.core.artifact import Entry, Version, as_text, digest_of
from honestone.core.errors import FileError, UsageError
from honestone.core.skill.plan import Plan, PlanError, Refusal, WriteFiles, read_plan
from honestone.core.skill.skill_file import SKILL_FILE, Skill
from honestone.core.skill.stage_file import LANE, SCHEMA_VERSION, Stage, end, head
from honestone.formats.marked import Marked
from honestone.system.files import deliver, load_artifact, printable, write_atomically

_SUITE_ENDINGS = (".yaml", ".yml", ".json")
_SKILL_SUITES = ("task-suite", "agent-skills")


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFiles:
    """Where a pipeline keeps its files. `output` is where one artifact goes instead of its place below `root`."""

    root: Path
    output: Path | None = None

    def folder(self, name: str) -> Path:
        return self.root / name

    def without_output(self) -> StageFiles:
        return StageFiles(root=self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Artifact:
    """One artifact as it was read: `document` is what it says, `marked` knows where it says so."""

    path: Path
    document: dict[str, Any]
    marked: Marked

    def at(self, *steps: str | int) -> str:
        return self.marked.at(steps)

    @property
    def run_id(self) -> str:
        return str(self.document["run_id"])

    @property
    def lane(self) -> str:
        lane = self.document.get("lane")
        return lane if isinstance(lane, str) else LANE


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The skill that a pipeline works on. `named` is how the artifact spells its folder, `left_out` the suites in it and
    their fixtures, as paths in the folder."""

    folder: Path
    named: str
    skill: Skill
    left_out: frozenset[str] = frozenset()

    @property
    def version(self) -> Version:
        return self.skill.version

    def path_of(self, inside: str) -> str:
        """A file of the skill as the artifact spells it; `""` is the folder."""
        return os.path.join(self.named, inside) if inside else self.named


# --------------------------------------------------------------------------------------------------------------- time


def now() -> datetime:
    return datetime.now(UTC)


def stamp(moment: datetime | None = None) -> str:
    """A moment as artifacts write it: UTC, ISO 8601, to the second."""
    return (moment or now()).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_run_id(skill: Target, moment: datetime | None = None) -> str:
    """Lane, skill and time; unique also within one second."""
    chance = os.urandom(3).hex()
    name = "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in skill.folder.name)[:60]
    return f"{LANE}-{name or 'skill'}-{(moment or now()).strftime('%Y%m%dT%H%M%SZ')}-{chance}"


# ------------------------------------------------------------------------------------------------------------ reading


def read_json(path: Path) -> Marked:
    """A JSON file whose root is an object. Raises FileError with the place."""
    from honestone.formats.marked import read_marked

    marked = read_marked(path)
    if not isinstance(marked.value, dict):
        raise FileError("this file holds no JSON object", place=marked.at())
    return marked


def read_stage(path: Path, stage: Stage) -> Artifact:
    """The artifact of a stage, of this program or another. Raises UsageError where it is none, with the place."""
    marked = read_json(path)
    document: dict[str, Any] = marked.value
    says = document.get("stage")
    if says != stage.says:
        found = f"is the artifact of another stage, {says!r}" if isinstance(says, str) else "has no `stage`"
        raise UsageError(
            f"`{printable(path)}` {found}, not {stage.what}",
            place=marked.at(("stage",)),
            hint=f"`honestone stage {stage.verb}` writes {stage.what} (stage: {stage.says})",
        )
    if document.get("schema_version") != SCHEMA_VERSION:
        raise UsageError(
            f"its schema version is {document.get('schema_version')!r}, and only {SCHEMA_VERSION!r} is known",
            place=marked.at(("schema_version",)),
        )
    text_at(marked, "run_id")
    return Artifact(path=path, document=document, marked=marked)


def text_at(marked: Marked, *steps: str | int) -> str:
    """The text at a path. Raises UsageError where there is none."""
    value: Any = marked.value
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value:
        raise UsageError(f"`{'.'.join(map(str, steps))}` is missing or no text", place=marked.at(steps))
    return value


def candidates_of(artifact: Artifact) -> list[dict[str, Any]]:
    """The candidates of a candidates or ranking artifact, each an object with an id of its own."""
    key = "candidates" if "candidates" in artifact.document else "scored_candidates"
    found = artifact.document.get(key)
    if not isinstance(found, list):
        raise UsageError(f"`{key}` is no list", place=artifact.at(key))
    seen: set[str] = set()
    for at, one in enumerate(found):
        name = one.get("id") if isinstance(one, dict) else None
        if not isinstance(name, str) or not name:
            raise UsageError("a candidate has no id", place=artifact.at(key, at))
        if name in seen:
            raise UsageError(f"two candidates are called `{name}`", place=artifact.at(key, at, "id"))
        seen.add(name)
    return found


def find_candidate(artifact: Artifact, candidate_id: str) -> dict[str, Any]:
    """The candidate of this id. Raises UsageError with the ids there are."""
    found = candidates_of(artifact)
    for one in found:
        if one["id"] == candidate_id:
            return one
    known = ", ".join(one["id"] for one in found) or "none"
    raise UsageError(f"`{printable(artifact.path)}` has no candidate `{candidate_id}`", hint=f"it has: {known}")


# ---------------------------------------------------------------------------------------------------------- the skill


def target_at(path: Path, *, named: str | None = None) -> Target:
    """The skill at a folder or its SKILL.md, as the pipeline sees it. Raises FileError when there is none.

    Suites that lie in it, their `fixtures/`, hidden files and links are no part of it, whoever looks: so every stage
    means the same bytes by the same digest.
    """
    folder = skill_folder(path)
    if not folder.is_dir():
        raise FileError(f"there is no skill `{printable(path)}`", hint="name the skill's folder, or its SKILL.md")
    if not (folder / SKILL_FILE).is_file():
        raise FileError(f"`{printable(path)}` is no skill: it has no {SKILL_FILE}", hint="name the skill's folder")
    everything = load_artifact(folder).version
    suites = suites_in(everything, folder)
    left_out = frozenset(place for suite in suites for place in (suite, _fixtures_beside(suite)))
    root = printable(folder.resolve().name)
    return Target(
        folder=folder,
        named=named or printable(folder),
        skill=skill_of(everything, root, leave_out=left_out),
        left_out=left_out,
    )


def _fixtures_beside(suite: str) -> str:
    return (PurePosixPath(suite).parent / "fixtures").as_posix()


def suites_in(version: Version, folder: Path) -> list[str]:
    """The files of a skill that are suites of tasks for it, by content: whoever is judged by them must not see them.

    Suites of general evaluation tools are left alone: a skill may well ship one as an example.
    """
    return [name for name, text in version.texts.items() if is_suite(folder / name, text)]


def is_suite(path: Path, text: str) -> bool:
    from honestone.formats.document import Document
    from honestone.interop.reader import Reader
    from honestone.interop.recognise import recognise

    if path.suffix.lower() not in _SUITE_ENDINGS:
        return False
    try:
        kind = recognise(Document(path=path, text=text))
    except UsageError:
        return False
    return kind == "suite" or (isinstance(kind, Reader) and kind.name.startswith(_SKILL_SUITES))


def skill_of_artifact(artifact: Artifact) -> Target:
    """The skill that an artifact speaks of: `target.path`, relative to the working directory."""
    return target_at(Path(target_name(artifact)), named=_folder_name(target_name(artifact)))


def target_name(artifact: Artifact) -> str:
    target = artifact.document.get("target")
    name = target.get("path") if isinstance(target, dict) else None
    if not isinstance(name, str) or not name or "\0" in name:
        raise UsageError("`target.path` is missing: it names the skill's folder", place=artifact.at("target", "path"))
    return name


def _folder_name(name: str) -> str:
    return os.path.dirname(name) or "." if os.path.basename(name) == SKILL_FILE else name


def target_profile(target: Target) -> dict[str, Any]:
    """What artifacts say about the skill."""
    texts = [path for path in target.version.files if path.lower().endswith(".md")]
    return {
        "path": target.named,
        "exists": True,
        "kind": "directory",
        "name": target.skill.name,
        "has_references": any(path.startswith("references/") for path in target.version.files),
        "markdown_files": [target.path_of(path) for path in texts[:20]],
    }


def plan_of(candidate: Mapping[str, Any], target: Target) -> Plan:
    """A candidate's plan, about this skill. Raises PlanError; Refusal.OUTSIDE where it leaves the skill."""
    named = candidate.get("target_path")
    if not isinstance(named, str) or not named or "\0" in named:
        raise PlanError(Refusal.ERROR, "the candidate has no `target_path`")
    root = target.folder.resolve()
    real = Path(os.path.realpath(named))
    if not real.is_relative_to(root):
        raise PlanError(
            Refusal.OUTSIDE,
            f"the candidate's target `{printable(named)}` is not in the skill `{target.named}`",
            hint="target_path is relative to the working directory, and must lie in the skill's folder",
        )
    inside = real.relative_to(root).as_posix()
    plan = read_plan(candidate.get("execution_plan"), target=SKILL_FILE if inside == "." else inside)
    refuse_strangers(plan, target)
    return plan


def require_base(candidate: Mapping[str, Any], target: Target) -> None:
    """Raises UsageError where the candidate was proposed for other bytes than the skill has now: its plan holds whole
    files, and what somebody wrote in the meantime would be gone. Other programs name no base."""
    base, now = candidate.get("base_digest"), candidate_digest(target.version)
    if isinstance(base, str) and now not in (base, candidate.get("candidate_digest")):
        raise UsageError(
            f"`{target.named}` was edited since `{candidate.get('id')}` was proposed; nothing was written",
            hint="propose again: the candidate knows nothing of the skill as it is now",
        )


def refuse_strangers(plan: Plan, target: Target) -> None:
    """What lies in the folder and is no part of the skill (a suite, its fixtures, a link) is not for a plan to write,
    and a plan cannot bring what would be none. Raises PlanError, Refusal.OUTSIDE."""
    root = target.folder.resolve()
    paths = (*plan.files, *plan.delete) if isinstance(plan, WriteFiles) else (plan.target,)
    for inside in paths:
        place = target.folder / inside
        if ".." in PurePosixPath(inside).parts:
            raise PlanError(Refusal.OUTSIDE, f"the plan's path `{printable(inside)}` leaves the skill")
        if Path(os.path.realpath(place)) != root / inside:
            raise PlanError(Refusal.OUTSIDE, f"`{printable(inside)}` leads away from its place by a link")
        if any(inside == out or inside.startswith(f"{out}/") for out in target.left_out) or (
            inside not in target.version.files and os.path.lexists(place) and not place.is_dir()
        ):
            raise PlanError(
                Refusal.OUTSIDE,
                f"`{printable(inside)}` lies in the folder but is no part of the skill: a suite, a fixture or a link",
            )
    for inside, write in plan.files.items() if isinstance(plan, WriteFiles) else ():
        if is_suite(target.folder / inside, as_text(write.data) or ""):
            raise PlanError(
                Refusal.OUTSIDE, f"`{printable(inside)}` would be a suite of tasks, which is no part of a skill"
            )


# ------------------------------------------------------------------------------------------------------------ writing


def write_stage(
    stage: Stage,
    body: Mapping[str, Any],
    files: StageFiles,
    *,
    run_id: str,
    name: str | None = None,
    status: str = "success",
    lane: str = LANE,
) -> dict[str, Any]:
    """Write an artifact and return it. Its place is `--output`, else `STATE_ROOT/FOLDER/NAME.json` (the run's id where
    no name is given), with a number where that is taken: a second run never overwrites the first."""
    path = files.output
    if path is None:
        path = reserve(files.folder(stage.folder), safe_name(name or run_id))
    anchor = printable(os.path.abspath(path))
    document = {
        **head(stage, run_id=run_id, created_at=stamp(), status=status, lane=lane),
        **body,
        **end(stage, anchor),
    }
    write_json(path, document)
    return document


def write_json(path: Path, document: Any) -> None:
    """JSON in place at once or not at all. Raises FileError where it cannot be written."""
    try:
        write_atomically(path, (dump(document) + "\n").encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise FileError(f"cannot write `{printable(path)}`: {error.strerror or error}") from None


def reserve(folder: Path, name: str, ending: str = ".json") -> Path:
    """A file that nobody else has: NAME.json, NAME-2.json, ... It is made empty, so that it stays ours."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            path = folder / (f"{name}{ending}" if number == 1 else f"{name}-{number}{ending}")
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644))
                return path
            except FileExistsError:
                number += 1
    except OSError as error:
        raise FileError(f"cannot write below `{printable(folder)}`: {error.strerror or error}") from None


def safe_name(text: str) -> str:
    """Text of an artifact as the name of a file: never a path."""
    name = "".join(sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "-" for sign in text)
    return name.lstrip(".")[:120] or "run"


# ------------------------------------------------------------------------------------------------ putting in place


def candidate_digest(version: Version) -> str:
    """What an evaluation and an execution name the bytes of a candidate by."""
    return version.digest


def current_digest(folder: Path) -> str:
    """The digest of the skill as it is on disk now."""
    return candidate_digest(target_at(folder).version)


def put_in_place(target: Target, after: Version) -> None:
    """Bring the skill on disk from what it was read as to `after`, file by file, each whole; all back on a failure.

    Raises FileError where that is not possible, and UsageError when somebody edited the skill in between.
    """
    before = target.version
    require_untouched(target)
    try:
        deliver(target.folder, before, after)
    except BaseException as error:
        _back(target, before, after)
        if isinstance(error, FileError):
            raise FileError(
                error.message, hint="the skill is as it was; make the place writable and run the same command again"
            ) from None
        raise


def require_untouched(target: Target) -> None:
    """Raises UsageError when the skill is no longer what it was read as."""
    if current_digest(target.folder) != candidate_digest(target.version):
        raise UsageError(
            f"`{target.named}` was edited by somebody else in the meantime; nothing was written",
            hint="run the stage again on the skill as it is now",
        )


def _back(target: Target, before: Version, after: Version) -> None:
    """Undo a delivery that stopped halfway: the files it may have touched, and no other."""
    for name in {*before.files, *after.files}:
        if before.files.get(name) == after.files.get(name):
            continue
        place, entry = target.folder / name, before.files.get(name)
        try:
            if entry is None:
                place.unlink(missing_ok=True)
            elif not place.is_file() or place.read_bytes() != entry.data:
                write_atomically(place, entry.data, executable=entry.executable)
        except OSError:
            continue


def back_up(target: Target, changed: Sequence[str], place: Path) -> dict[str, Any]:
    """Keep the original below `place` and return the rollback pointer: one file where only that changes, else all.

    `place` is new and ours.
    """
    before = target.version
    if len(changed) == 1 and changed[0] in before.files:
        path = place.with_name(f"{place.name}-{safe_name(changed[0])}")
        entry = before.files[changed[0]]
        write_atomically(path, entry.data, executable=entry.executable)
        return {
            "method": "restore_backup_file",
            "backup_path": printable(path),
            "target_path": target.path_of(changed[0]),
        }
    for name, entry in before.files.items():
        write_atomically(place / name, entry.data, executable=entry.executable)
    return {
        "method": "restore_backup_folder",
        "backup_path": printable(place),
        "target_path": target.named,
        "changed": sorted(changed),
    }


def restore(pointer: Mapping[str, Any], target: Target, *, expected: str | None) -> Version:
    """The original back in place, of the pointer of an execution artifact; returns it.

    `expected` is the digest of what was applied: where the skill is neither that nor the original already, somebody has
    edited it, and nothing is overwritten (UsageError). Without it only the original or the pointer's files count.
    """
    original = original_of(pointer, target)
    if original.digest == target.version.digest:
        return original
    if expected is not None and candidate_digest(target.version) != expected:
        raise UsageError(
            f"`{target.named}` was edited after the candidate was applied; nothing was overwritten",
            hint=f"the original is kept at {pointer.get('backup_path')}",
        )
    put_in_place(target, original)
    return original


def original_of(pointer: Mapping[str, Any], target: Target) -> Version:
    """The skill as it was before, of the files on disk and the backup. Raises UsageError for a pointer that is none."""
    method, backup, named = (pointer.get(key) for key in ("method", "backup_path", "target_path"))
    if not isinstance(backup, str) or not isinstance(named, str) or "\0" in backup + named:
        raise UsageError("the rollback pointer names no backup and no target")
    place = Path(backup)
    inside = _inside(named, target)
    files = dict(target.version.files)
    if method == "restore_backup_file" and inside:
        files[inside] = _kept(place, files.get(inside))
        return Version(dict(sorted(files.items())), is_folder=True)
    changed = pointer.get("changed")
    if method != "restore_backup_folder" or inside or not isinstance(changed, list):
        raise UsageError(f"the rollback pointer's method {method!r} is not known")
    if not place.is_dir():
        raise FileError(f"the backup `{printable(place)}` is not there")
    for name in changed:
        if not isinstance(name, str) or ".." in Path(name).parts or Path(name).is_absolute():
            raise UsageError(f"the rollback pointer names {name!r}, which is no file of the skill")
        if (place / name).is_file():
            files[name] = _kept(place / name, None)
        else:
            files.pop(name, None)
    return Version(dict(sorted(files.items())), is_folder=True)


def _inside(named: str, target: Target) -> str:
    real, root = Path(os.path.realpath(named)), target.folder.resolve()
    if not real.is_relative_to(root):
        raise UsageError(f"the rollback pointer's target `{printable(named)}` is not in `{target.named}`")
    inside = real.relative_to(root).as_posix()
    return "" if inside == "." else inside


def _kept(path: Path, now_there: Entry | None) -> Entry:
    """A file of a backup. The mode is the backup's own; of other programs' backups too."""
    try:
        return Entry(path.read_bytes(), os.access(path, os.X_OK))
    except OSError as error:
        raise FileError(f"the backup `{printable(path)}` cannot be read: {error.strerror or error}") from None


def new_backup_place(files: StageFiles, run_id: str, name: str) -> Path:
    """A folder of its own for one backup: STATE_ROOT/executions/backups/RUN/CANDIDATE, numbered where that is taken."""
    parent = files.folder("executions") / "backups" / safe_name(run_id)
    marker = reserve(parent, safe_name(name), ending=".taken")
    return parent / marker.name.removesuffix(".taken")


# ------------------------------------------------------------------------------------------- kills while applying

_APPLYING = "applying"


def note_of(files: StageFiles, target: Target) -> Path:
    """Where it stands what is being put in place in a skill: one file a skill, as several may share a STATE_ROOT."""
    return files.folder(_APPLYING) / f"{folder_key(target.folder)}.json"


def folder_key(folder: Path) -> str:
    """A skill's folder in the name of a file."""
    return digest_of(os.fsencode(folder.resolve()))[7:23]


def announce(files: StageFiles, target: Target, after: Version, pointer: Mapping[str, Any]) -> None:
    """Write down what is about to be put in place, so that `recover` can undo it if we are killed on the way."""
    paths = sorted({*target.version.files, *after.files})
    write_json(
        note_of(files, target),
        {
            "skill": printable(target.folder.resolve()),
            "pointer": {**pointer, **{key: os.path.abspath(pointer[key]) for key in ("backup_path", "target_path")}},
            "after": {
                path: None if (entry := after.files.get(path)) is None else digest_of(entry.data)
                for path in paths
                if target.version.files.get(path) != after.files.get(path)
            },
        },
    )


def applied(files: StageFiles, target: Target) -> None:
    """The execution artifact is written: nothing is left to recover."""
    note_of(files, target).unlink(missing_ok=True)


def recover(files: StageFiles, target: Target) -> Target:
    """Put the original back where an earlier process was killed while it applied a candidate, and read the skill again.

    Raises UsageError when somebody edited the skill since: nothing is overwritten then.
    """
    path = note_of(files, target)
    if not path.exists():
        return target
    noted = read_json(path).value
    pointer, after = noted.get("pointer"), noted.get("after")
    if not isinstance(pointer, dict) or not isinstance(after, dict):
        raise UsageError(f"`{printable(path)}` is damaged", hint="delete it when the skill is as it should be")
    try:
        original = original_of(pointer, target)
    except UsageError as error:
        error.hint = f"{printable(path)} says what was under way; delete it when the skill is as it should be"
        raise
    if original.digest != target.version.digest:
        for name in after:
            now_there = target.version.files.get(name)
            found = None if now_there is None else digest_of(now_there.data)
            if now_there != original.files.get(name) and found != after[name]:
                raise UsageError(
                    f"an earlier run was stopped while it applied a candidate to `{target.named}`, and `{name}` was "
                    "edited since; nothing was overwritten",
                    hint=f"the original is kept at {pointer.get('backup_path')}; delete {printable(path)} when all is well",
                )
        put_in_place(target, original)
    applied(files, target)
    return target_at(target.folder, named=target.named)


def refuse_inside(files: StageFiles, target: Target, *, cache: Path | None = None) -> None:
    """Artifacts written into the skill would become part of it. Hidden folders are none."""
    root = target.folder.resolve()
    places = (("--state-root", files.root), ("--output", files.output), ("--baseline-cache-dir", cache))
    for option, path in places:
        real = None if path is None else Path(os.path.realpath(path))
        if real is None or not real.is_relative_to(root):
            continue
        if not any(part.startswith(".") for part in real.relative_to(root).parts):
            raise UsageError(
                f"{option} `{printable(path or real)}` lies in the skill, and would become part of it",
                hint="keep the pipeline's files beside the skill",
            )


# ------------------------------------------------------------------------------------------------------------ options


def state_root(given: Path | None) -> Path:
    """`--state-root`, else `.honestone/stage` beside the store, so that it is never part of an artifact."""
    if given is not None:
        return given
    from honestone.app.setup import settings_here, store_folder

    return store_folder(settings_here()) / "stage"


__all__ = [
    "Artifact",
    "StageFiles",
    "Target",
    "announce",
    "applied",
    "back_up",
    "candidate_digest",
    "candidates_of",
    "current_digest",
    "find_candidate",
    "folder_key",
    "new_backup_place",
    "new_run_id",
    "note_of",
    "now",
    "original_of",
    "plan_of",
    "put_in_place",
    "read_json",
    "read_stage",
    "recover",
    "refuse_inside",
    "refuse_strangers",
    "require_base",
    "require_untouched",
    "reserve",
    "restore",
    "safe_name",
    "skill_of_artifact",
    "stamp",
    "state_root",
    "target_at",
    "target_name",
    "target_profile",
    "text_at",
    "write_json",
    "write_stage",
]
