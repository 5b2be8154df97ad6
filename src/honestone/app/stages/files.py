"""The skill that a pipeline edits, where the pipeline keeps its files, and what it remembers in them.

pending_promote.json   candidates that wait for a person
veto.json              candidates that a person turned down
current_state.json     the last decision and what comes next; last_run.json: the same of the last run
memory.json            what helped and what did not (`stage learn`)
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from honestone.app.suites.subject import skill_folder, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version, as_text
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json
from honestone.core.skill.plan import Plan, PlanError, Refusal, WriteFiles, apply_plan, read_plan
from honestone.core.skill.skill_file import SKILL_FILE, Skill
from honestone.formats.marked import read_marked
from honestone.formats.stage_files import (
    END,
    HEAD,
    LANE,
    CandidateEntry,
    Candidates,
    JsonObject,
    Promotion,
    Ranking,
    Receipt,
    ScoredCandidate,
    SkillNamed,
    StageDocument,
    StageFile,
    read_object,
    read_stage,
)
from honestone.system.files import load_artifact, printable, write_atomically

PENDING, VETO, MEMORY = "pending_promote.json", "veto.json", "memory.json"
CURRENT, LAST = "current_state.json", "last_run.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFiles:
    """`root` is STATE_ROOT. `output` is where one artifact goes instead of its place below it."""

    workspace: Workspace
    root: Path
    output: Path | None = None

    @classmethod
    def at(cls, workspace: Workspace, root: Path | None = None, output: Path | None = None) -> StageFiles:
        """`root` left out: `stage` in the store's folder, so that it is never part of an artifact."""
        return cls(
            workspace=workspace,
            root=default_root(workspace) if root is None else workspace.path(root),
            output=None if output is None else workspace.path(output),
        )

    def folder(self, name: str) -> Path:
        return self.root / name

    def refuse_inside(self, skill: SkillUnderEdit, *, cache: Path | None = None) -> None:
        """Artifacts written into the skill would become part of it. Hidden folders are not."""
        places = (("--state-root", self.root), ("--output", self.output), ("--baseline-cache-dir", cache))
        for option, path in places:
            real = None if path is None else Path(os.path.realpath(path))
            if real is None or not real.is_relative_to(skill.root):
                continue
            if not any(part.startswith(".") for part in real.relative_to(skill.root).parts):
                raise UsageError(
                    f"{option} `{printable(path or real)}` is in the skill, and would become part of it",
                    hint="keep the pipeline's files outside the skill's folder",
                )


def default_root(workspace: Workspace) -> Path:
    return workspace.store / "stage"


# --------------------------------------------------------------------------------------------------------------- time


def stamp() -> str:
    """This moment as artifacts write it: UTC, ISO 8601, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def new_run_id(skill: SkillUnderEdit) -> str:
    """Lane, skill and time; unique also within one second."""
    name = safe_name(skill.folder.name)[:60]
    return f"{LANE}-{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{os.urandom(3).hex()}"


# --------------------------------------------------------------------------------------------------- reading, writing

D = TypeVar("D", bound=StageDocument)


def skill_of_file(workspace: Workspace, file: StageFile[Candidates] | StageFile[Ranking]) -> SkillUnderEdit:
    """The skill that an artifact is about: `target.path`, relative to the working directory."""
    named = file.body.target.path
    if "\0" in named:
        raise UsageError("`target.path` cannot be a path", place=file.at("target", "path"))
    return skill_at(workspace, named)


def candidates_in(file: StageFile[Candidates] | StageFile[Ranking]) -> list[CandidateEntry] | list[ScoredCandidate]:
    """The candidates of an artifact, each with an id of its own. Raises UsageError."""
    body = file.body
    key, found = (
        ("candidates", body.candidates)
        if isinstance(body, Candidates)
        else ("scored_candidates", body.scored_candidates)
    )
    seen: set[str] = set()
    for at, one in enumerate(found):
        if one.id in seen:
            raise UsageError(f"two candidates are called `{one.id}`", place=file.at(key, at, "id"))
        seen.add(one.id)
    return found


def find_candidate(ranking: StageFile[Ranking], candidate_id: str) -> tuple[int, ScoredCandidate]:
    """The candidate of this id with its position. Raises UsageError with the ids there are."""
    candidates_in(ranking)
    found = ranking.body.scored_candidates
    for at, one in enumerate(found):
        if one.id == candidate_id:
            return at, one
    known = ", ".join(one.id for one in found) or "none"
    raise UsageError(f"`{printable(ranking.path)}` has no candidate `{candidate_id}`", hint=f"it has: {known}")


def anchor_of(file: StageFile[D]) -> str:
    """Where an artifact says that it is, else where it was read."""
    return file.body.truth_anchor or printable(file.path)


def write_stage(files: StageFiles, body: D, *, name: str | None = None) -> StageFile[D]:
    """Write an artifact and return it as it would be read. Its place is `--output`, else `STATE_ROOT/FOLDER/NAME.json`
    (the run's id where no name is given), with a number where that is taken: a second run never overwrites the first."""
    return write_document(files, document_of(body), body, name=name)


def write_document(
    files: StageFiles, document: Mapping[str, object], body: D, *, name: str | None = None
) -> StageFile[D]:
    """The same of a document that says more than `body`."""
    path = files.output or reserve(files.folder(body.folder), safe_name(name or body.run_id))
    write_json(path, {**document, "created_at": stamp(), "truth_anchor": printable(os.path.abspath(path))})
    return read_stage(path, type(body))


def placed(body: D, path: Path) -> D:
    """The artifact with its time and place."""
    return msgspec.structs.replace(body, created_at=stamp(), truth_anchor=printable(os.path.abspath(path)))


def document_of(body: StageDocument) -> dict[str, Json]:
    """As JSON objects and lists, the head first and the end last."""
    plain: dict[str, Json] = msgspec.to_builtins(body)
    ends = {key: plain.pop(key) for key in END}
    return {**{key: plain.pop(key) for key in HEAD}, **plain, **ends}


def write_json(path: Path, document: object) -> None:
    """JSON in place at once or not at all. Raises FileError where it cannot be written."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        write_atomically(path, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise FileError(f"cannot write `{printable(path)}`: {error.strerror or error}") from None


def reserve(folder: Path, name: str) -> Path:
    """A file of its own: NAME.json, NAME-2.json, ... It is made empty, so that no other process takes it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            path = folder / (f"{name}.json" if number == 1 else f"{name}-{number}.json")
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


# ----------------------------------------------------------------------------------------------------------- the lists


@contextlib.contextmanager
def _locked(root: Path) -> Iterator[None]:
    """Changes of these files are made one after another."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        handle = os.open(root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as error:
        raise FileError(f"cannot write below `{printable(root)}`: {error.strerror or error}") from None
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def pending(files: StageFiles) -> list[JsonObject]:
    """The candidates that wait for a person, oldest first."""
    return _entries(files, PENDING)


def vetoes(files: StageFiles) -> list[JsonObject]:
    """The candidates that a person turned down."""
    return _entries(files, VETO)


def park(files: StageFiles, entry: JsonObject) -> None:
    """Add a candidate that waits for a person; the same one again takes the place of the earlier entry."""
    _change(files, PENDING, entry, add=True)


def unpark(files: StageFiles, entry: JsonObject) -> None:
    _change(files, PENDING, entry, add=False)


def veto(files: StageFiles, entry: JsonObject) -> None:
    _change(files, VETO, entry, add=True)


_KEYS = {PENDING: "pending", VETO: "vetoes"}


def _entries(files: StageFiles, name: str) -> list[JsonObject]:
    """Raises UsageError where the file is damaged: it is never written over then."""
    path, key = files.root / name, _KEYS[name]
    if not path.exists():
        return []
    marked = read_object(path)
    entries = marked.value.get(key)
    if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
        raise UsageError(f"`{key}` must be a list of objects", place=marked.at((key,)), hint=_fix(path))
    return entries


def _change(files: StageFiles, name: str, entry: JsonObject, *, add: bool) -> None:
    with _locked(files.root):
        found = _entries(files, name)
        others = [one for one in found if any(one.get(key) != entry.get(key) for key in ("run_id", "candidate_id"))]
        entries = [*others, entry] if add else others
        write_json(files.root / name, {_KEYS[name]: entries, "last_updated": stamp()})


def _fix(path: Path) -> str:
    return f"fix or remove {printable(path)}"


def memory(files: StageFiles) -> list[object]:
    """The entries of memory.json: our own and what another program left there."""
    path = files.root / MEMORY
    if not path.exists():
        return []
    marked = read_marked(path)
    if not isinstance(marked.value, list):
        raise UsageError("a memory must be a list", place=marked.at(), hint=_fix(path))
    return marked.value


def write_memory(files: StageFiles, entries: list[JsonObject]) -> None:
    with _locked(files.root):
        write_json(files.root / MEMORY, entries)


def note_state(files: StageFiles, receipt: Receipt | Promotion, *, target_path: str) -> None:
    """current_state.json and last_run.json after a decision, of its receipt."""
    reached, when = f"{receipt.says}_{receipt.decision}", stamp()
    common: Mapping[str, object] = {
        "truth_anchor": receipt.truth_anchor,
        "target_path": target_path,
        "candidate_id": receipt.candidate_id,
        "decision": receipt.decision,
        "receipt_path": receipt.truth_anchor,
    }
    current: JsonObject = {"current_run_id": receipt.run_id, "stage": reached, "status": receipt.decision}
    current |= {"next_step": receipt.next_step, "next_owner": receipt.next_owner, "updated_at": when}
    last = {"last_run_id": receipt.run_id, "last_stage": reached, "last_status": receipt.decision, "last_updated": when}
    with _locked(files.root):
        for name, fields in ((CURRENT, current), (LAST, last)):
            write_json(files.root / name, {"lane": receipt.lane, **fields, **common})


_SUITE_ENDINGS = (".yaml", ".yml", ".json")
_SKILL_SUITES = ("task-suite", "agent-skills")


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillUnderEdit:
    """`named` is how artifacts spell its folder, `left_out` the suites in it and their fixtures, as paths in the folder."""

    workspace: Workspace
    folder: Path
    named: str
    skill: Skill
    left_out: frozenset[str] = frozenset()

    @property
    def version(self) -> Version:
        return self.skill.version

    @property
    def root(self) -> Path:
        """The folder's real path: what its lock and its runs in the store are known by."""
        return self.folder.resolve()

    def path_of(self, inside: str) -> str:
        """A file of the skill as the artifact spells it; `""` is the folder."""
        return os.path.join(self.named, inside) if inside else self.named

    def inside(self, named: str) -> str | None:
        """A path as an artifact spells it, relative to the skill; `""` is the folder, None is not in it."""
        real = Path(os.path.realpath(self.workspace.path(named)))
        if not real.is_relative_to(self.root):
            return None
        found = real.relative_to(self.root).as_posix()
        return "" if found == "." else found

    def read_again(self) -> SkillUnderEdit:
        return skill_at(self.workspace, self.named)

    def with_version(self, version: Version) -> SkillUnderEdit:
        return replace(self, skill=replace(self.skill, version=version))

    def profile(self) -> SkillNamed:
        """What artifacts say about it."""
        texts = [path for path in self.version.files if path.lower().endswith(".md")]
        return SkillNamed(
            path=self.named,
            name=self.skill.name,
            has_references=any(path.startswith("references/") for path in self.version.files),
            markdown_files=[self.path_of(path) for path in texts[:20]],
        )


def skill_at(workspace: Workspace, named: Path | str) -> SkillUnderEdit:
    """The skill at a folder or its SKILL.md. Raises FileError when there is none.

    Suites in it, their `fixtures/`, hidden files and links are not part of it, for every stage: so all of them mean the
    same bytes by the same digest.
    """
    folder = skill_folder(workspace.path(named))
    if not folder.is_dir():
        raise FileError(
            f"the skill `{printable(named)}` does not exist", hint="name the skill's folder, or its SKILL.md"
        )
    if not (folder / SKILL_FILE).is_file():
        raise FileError(f"`{printable(named)}` is not a skill: it has no {SKILL_FILE}", hint="name the skill's folder")
    everything = load_artifact(folder).version
    suites = [name for name, text in everything.texts.items() if is_suite(folder / name, text)]
    left_out = {place for one in suites for place in (one, (PurePosixPath(one).parent / "fixtures").as_posix())}
    name = os.path.dirname(named) or "." if os.path.basename(named) == SKILL_FILE else str(named)
    return SkillUnderEdit(
        workspace=workspace,
        folder=folder,
        named=printable(name),
        skill=skill_of(everything, printable(folder.resolve().name), leave_out=left_out),
        left_out=frozenset(left_out),
    )


def is_suite(path: Path, text: str) -> bool:
    """Whether a file holds tasks for a skill, by content: whoever is judged by them must not see them.

    Suites of general evaluation tools are left alone: a skill may well ship one as an example.
    """
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


def plan_of(candidate: CandidateEntry, skill: SkillUnderEdit) -> Plan:
    """A candidate's plan, about this skill. Raises PlanError; Refusal.OUTSIDE where it leaves the skill."""
    named = candidate.target_path
    if not named or "\0" in named:
        raise PlanError(Refusal.ERROR, "the candidate has no `target_path`")
    inside = skill.inside(named)
    if inside is None:
        raise PlanError(
            Refusal.OUTSIDE,
            f"the candidate's target `{printable(named)}` is not in the skill `{skill.named}`",
            hint="target_path is relative to the working directory, and must be in the skill's folder",
        )
    plan = read_plan(candidate.execution_plan, target=inside or SKILL_FILE)
    refuse_strangers(plan, skill)
    return plan


def edited(candidate: CandidateEntry, skill: SkillUnderEdit) -> Version:
    """The skill with the candidate's edit. Raises UsageError, and PlanError where its plan cannot be applied."""
    require_base(candidate, skill)
    return apply_plan(plan_of(candidate, skill), skill.version)


def require_base(candidate: CandidateEntry, skill: SkillUnderEdit) -> None:
    """Raises UsageError where the candidate was proposed for other bytes than the skill has now: its plan holds whole
    files, and what somebody wrote in the meantime would be gone. Other programs name no base."""
    if candidate.base_digest and skill.version.digest not in (candidate.base_digest, candidate.candidate_digest):
        raise UsageError(
            f"`{skill.named}` was edited since `{candidate.id}` was proposed; nothing was written",
            hint="propose again: the candidate was made for the skill as it was",
        )


def refuse_strangers(plan: Plan, skill: SkillUnderEdit) -> None:
    """A plan may not write what is in the folder without being part of the skill (a suite, its fixtures, a link), nor
    bring such a file. Raises PlanError, Refusal.OUTSIDE."""
    paths = (*plan.files, *plan.delete) if isinstance(plan, WriteFiles) else (plan.target,)
    for inside in paths:
        place, shown = skill.folder / inside, printable(inside)
        if ".." in PurePosixPath(inside).parts:
            raise PlanError(Refusal.OUTSIDE, f"the plan's path `{shown}` leaves the skill")
        if Path(os.path.realpath(place)) != skill.root / inside:
            raise PlanError(Refusal.OUTSIDE, f"`{shown}` leads away from its place by a link")
        if any(inside == out or inside.startswith(f"{out}/") for out in skill.left_out) or (
            inside not in skill.version.files and os.path.lexists(place) and not place.is_dir()
        ):
            raise PlanError(
                Refusal.OUTSIDE,
                f"`{shown}` is in the folder but not part of the skill: it is a suite, a fixture or a link",
            )
    for inside, write in plan.files.items() if isinstance(plan, WriteFiles) else ():
        if is_suite(skill.folder / inside, as_text(write.data) or ""):
            why = f"`{printable(inside)}` would be a suite of tasks, which cannot be part of a skill"
            raise PlanError(Refusal.OUTSIDE, why)
