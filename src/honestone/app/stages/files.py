"""The skill that a pipeline edits, where the pipeline keeps its files, and what it remembers in
them.

pending_promote.json   candidates that wait for a person
veto.json              candidates that a person turned down
current_state.json     the last decision and what comes next; last_run.json: the same of the last run
memory.json            what helped and what did not (`skill learn`)
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.app.suites.subject import skill_folder, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version, as_text
from honestone.core.errors import FileError, UsageError
from honestone.core.skill.plan import (
    Plan,
    PlanError,
    Refusal,
    WriteFiles,
    apply_plan,
    plan_between,
    read_plan,
)
from honestone.core.skill.skill_file import SKILL_FILE, Skill
from honestone.formats import stage_files as doc
from honestone.formats.stage_files import StageFile
from honestone.formats.syntax.marked import read_marked
from honestone.report.documents import PlainDocument, plain
from honestone.system.files import deliver, load_artifact, printable, write_atomically

# Candidates that wait for a person, and those that a person turned down.
Waiting: TypeAlias = Literal["pending", "vetoes"]

_FILES: Mapping[Waiting, str] = {"pending": "pending_promote.json", "vetoes": "veto.json"}

D = TypeVar("D", bound=doc.StageDocument)


class StageFiles(Struct, frozen=True, kw_only=True):
    """`root` is STATE_ROOT. `output` is where one artifact goes instead of its place below it."""

    workspace: Workspace
    root: Path
    output: Path | None = None

    @classmethod
    def at(
        cls, workspace: Workspace, root: Path | None = None, output: Path | None = None
    ) -> StageFiles:
        """`root` left out: `stage` in the store's folder, so that it is never part of an artifact."""
        return cls(
            workspace=workspace,
            root=workspace.claimed_store() / "stage" if root is None else workspace.path(root),
            output=None if output is None else workspace.path(output),
        )

    def folder(self, name: str) -> Path:
        return self.root / name

    def refuse_inside(self, skill: SkillUnderEdit, *, cache: Path | None = None) -> None:
        """Artifacts written into the skill would become part of it. Hidden folders are not."""
        places = (
            ("--state-root", self.root),
            ("--output", self.output),
            ("--baseline-cache-dir", cache),
        )
        for option, path in places:
            real = None if path is None else Path(os.path.realpath(path))
            if real is None or not real.is_relative_to(skill.root):
                continue
            if not any(part.startswith(".") for part in real.relative_to(skill.root).parts):
                raise UsageError(
                    f"{option} `{printable(path or real)}` is in the skill, and would become part of it",
                    hint="keep the pipeline's files outside the skill's folder",
                )

    def read(self, path: Path, kind: type[D]) -> StageFile[D]:
        """An artifact that a person named. Raises UsageError with the place."""
        file = doc.read_stage(self.workspace.path(path), kind, shown=str(path))
        file.body.truth_anchor = file.body.truth_anchor or printable(file.path)
        return file

    def write(
        self,
        body: D,
        *,
        name: str | None = None,
        more: Mapping[str, Sequence[object]] | None = None,
    ) -> StageFile[D]:
        """Write an artifact, with what it says beyond `body`, and return it as it would be read.
        Its place is `--output`, else `STATE_ROOT/FOLDER/NAME.json` (the run's id where no name is
        given), with a number where that is taken: a second run never overwrites the first.
        """
        path = self.output or reserved(
            self.folder(body.folder), safe_name(name or body.run_id), ".json"
        )
        write_json(path, {**stamped(body, path), **(more or {})})
        return doc.read_stage(path, type(body))

    # -- what is remembered

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Changes of these files are made one after another."""
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            handle = os.open(
                self.root / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644
            )
        except OSError as error:
            raise FileError(
                f"cannot write below `{printable(self.root)}`: {error.strerror or error}"
            ) from None
        try:
            with contextlib.suppress(OSError):
                fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def entries(self, which: Waiting) -> list[doc.WaitingEntry]:
        """Oldest first. Raises UsageError where the file is damaged: it is never written over then."""
        path = self.root / _FILES[which]
        if not path.exists():
            return []
        marked = doc.read_object(path)
        entries = marked.value.get(which)
        if not isinstance(entries, list) or not all(isinstance(one, dict) for one in entries):
            raise UsageError(
                f"`{which}` must be a list of objects", place=marked.at((which,)), hint=_fix(path)
            )
        return entries

    def add(self, which: Waiting, entry: doc.WaitingEntry) -> None:
        """The same candidate again takes the place of the earlier entry."""
        self.drop(which, entry, entry)

    def drop(self, which: Waiting, entry: doc.WaitingEntry, *instead: doc.WaitingEntry) -> None:
        with self._locked():
            entries = self.entries(which)
            others = [
                one
                for one in entries
                if any(one.get(key) != entry.get(key) for key in ("run_id", "candidate_id"))
            ]
            write_json(
                self.root / _FILES[which], {which: [*others, *instead], "last_updated": stamp()}
            )

    def memory(self) -> list[object]:
        """The entries of memory.json: our own and what another program left there."""
        path = self.root / "memory.json"
        if not path.exists():
            return []
        marked = read_marked(path)
        if not isinstance(marked.value, list):
            raise UsageError("a memory must be a list", place=marked.at(), hint=_fix(path))
        return marked.value

    def remember(self, entries: Sequence[object]) -> None:
        with self._locked():
            write_json(self.root / "memory.json", entries)

    def note_state(self, receipt: doc.Receipt | doc.Promotion, *, target_path: str) -> None:
        """current_state.json and last_run.json after a decision, of its receipt."""
        reached, when = f"{receipt.stage}_{receipt.decision}", stamp()
        common = {
            "truth_anchor": receipt.truth_anchor,
            "target_path": target_path,
            "candidate_id": receipt.candidate_id,
            "decision": receipt.decision,
            "receipt_path": receipt.truth_anchor,
        }
        now = {
            "current_run_id": receipt.run_id,
            "stage": reached,
            "status": receipt.decision,
            "next_step": receipt.next_step,
            "next_owner": receipt.next_owner,
            "updated_at": when,
        }
        last = {
            "last_run_id": receipt.run_id,
            "last_stage": reached,
            "last_status": receipt.decision,
        }
        with self._locked():
            for name, fields in (
                ("current_state.json", now),
                ("last_run.json", {**last, "last_updated": when}),
            ):
                write_json(self.root / name, {"lane": receipt.lane, **fields, **common})


def _fix(path: Path) -> str:
    return f"fix or remove {printable(path)}"


def stamp(moment: datetime | None = None) -> str:
    """A moment as artifacts write it, else this one: UTC, ISO 8601, to the second."""
    return (moment or datetime.now(UTC)).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stamped(body: doc.StageDocument | doc.Traces, path: Path) -> PlainDocument:
    """An artifact as JSON objects and lists, with its time and place: its head first and its end
    last.
    """
    body = msgspec.structs.replace(
        body, created_at=stamp(), truth_anchor=printable(os.path.abspath(path))
    )
    document = plain(body)
    if isinstance(body, doc.Traces):
        return document
    ends = {key: document.pop(key) for key in doc.END}
    return PlainDocument({**{key: document.pop(key) for key in doc.HEAD}, **document, **ends})


def write_json(path: Path, document: object) -> None:
    """JSON in place at once or not at all. Raises FileError where it cannot be written."""
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)
    try:
        write_atomically(path, f"{text}\n".encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise FileError(f"cannot write `{printable(path)}`: {error.strerror or error}") from None


def reserved(folder: Path, name: str, ending: str = "") -> Path:
    """A file, or without an ending a folder, of its own: NAME.json, NAME-2.json, ... It is made
    empty, so that no other process takes it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        number = 1
        while True:
            path = folder / (f"{name}{ending}" if number == 1 else f"{name}-{number}{ending}")
            try:
                path.touch(exist_ok=False) if ending else path.mkdir()
                return path
            except FileExistsError:
                number += 1
    except OSError as error:
        raise FileError(
            f"cannot write below `{printable(folder)}`: {error.strerror or error}"
        ) from None


def safe_name(text: str) -> str:
    """Text of an artifact as the name of a file: never a path."""
    name = "".join(
        sign if sign.isascii() and (sign.isalnum() or sign in "-_.") else "-" for sign in text
    )
    return name.lstrip(".")[:120] or "run"


def candidates_in(
    file: StageFile[doc.Candidates] | StageFile[doc.Ranking],
) -> list[doc.CandidateEntry]:
    """The candidates of an artifact, each with an id of its own. Raises UsageError."""
    body = file.body
    is_ranking = isinstance(body, doc.Ranking)
    candidates = [*(body.scored_candidates if isinstance(body, doc.Ranking) else body.candidates)]
    seen: set[str] = set()
    for at, one in enumerate(candidates):
        if one.id in seen:
            key = "scored_candidates" if is_ranking else "candidates"
            raise UsageError(f"two candidates are called `{one.id}`", place=file.at(key, at, "id"))
        seen.add(one.id)
    return candidates


def find_candidate(
    ranking: StageFile[doc.Ranking], candidate_id: str
) -> tuple[int, doc.ScoredCandidate]:
    """The candidate of this id with its position. Raises UsageError with the ids there are."""
    candidates_in(ranking)
    candidates = ranking.body.scored_candidates
    for at, one in enumerate(candidates):
        if one.id == candidate_id:
            return at, one
    ids = ", ".join(one.id for one in candidates) or "none"
    raise UsageError(
        f"`{printable(ranking.path)}` has no candidate `{candidate_id}`", hint=f"it has: {ids}"
    )


class SkillUnderEdit(Struct, frozen=True, kw_only=True):
    """`named` is how artifacts spell its folder, `left_out` the suites in it and their fixtures, as
    paths in the folder.
    """

    workspace: Workspace
    folder: Path
    named: str
    skill: Skill
    left_out: frozenset[str] = frozenset()

    @classmethod
    def at(cls, workspace: Workspace, named: Path | str) -> SkillUnderEdit:
        """The skill at a folder or its SKILL.md. Raises FileError when there is none.

        Suites in it, their `fixtures/`, hidden files and links are not part of it, for every stage:
        so all of them mean the same bytes by the same digest.
        """
        folder = skill_folder(workspace.path(named))
        if not folder.is_dir():
            raise FileError(
                f"the skill `{printable(named)}` does not exist",
                hint="name the skill's folder, or its SKILL.md",
            )
        if not (folder / SKILL_FILE).is_file():
            why = f"`{printable(named)}` is not a skill: it has no {SKILL_FILE}"
            raise FileError(why, hint="name the skill's folder")
        everything = load_artifact(folder).version
        suites = [name for name, text in everything.texts.items() if is_suite(folder / name, text)]
        left_out = {
            place
            for one in suites
            for place in (one, (PurePosixPath(one).parent / "fixtures").as_posix())
        }
        name = (
            os.path.dirname(named) or "." if os.path.basename(named) == SKILL_FILE else str(named)
        )
        return cls(
            workspace=workspace,
            folder=folder,
            named=printable(name),
            skill=skill_of(everything, printable(folder.resolve().name), leave_out=left_out),
            left_out=frozenset(left_out),
        )

    @classmethod
    def of(
        cls, workspace: Workspace, file: StageFile[doc.Candidates] | StageFile[doc.Ranking]
    ) -> SkillUnderEdit:
        """The skill that an artifact is about: `target.path`, relative to the working directory."""
        named = file.body.target.path
        if "\0" in named:
            raise UsageError("`target.path` cannot be a path", place=file.at("target", "path"))
        return cls.at(workspace, named)

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
        """A path as an artifact spells it, relative to the skill; `""` is the folder, None is not
        in it.
        """
        real = Path(os.path.realpath(self.workspace.path(named)))
        if not real.is_relative_to(self.root):
            return None
        path = real.relative_to(self.root).as_posix()
        return "" if path == "." else path

    def read_again(self) -> SkillUnderEdit:
        return self.at(self.workspace, self.named)

    def with_version(self, version: Version) -> SkillUnderEdit:
        return replace(self, skill=replace(self.skill, version=version))

    def new_run_id(self) -> str:
        """Lane, skill and time; unique also within one second."""
        name = safe_name(self.folder.name)[:60]
        return f"{doc.LANE}-{name}-{datetime.now(UTC).strftime('%Y%m%dT%H%M%SZ')}-{os.urandom(3).hex()}"

    def profile(self) -> doc.SkillNamed:
        """What artifacts say about it."""
        texts = [path for path in self.version.files if path.lower().endswith(".md")]
        return doc.SkillNamed(
            path=self.named,
            name=self.skill.name,
            has_references=any(path.startswith("references/") for path in self.version.files),
            markdown_files=[self.path_of(path) for path in texts[:20]],
        )

    # -- edits

    def plan_of(self, candidate: doc.CandidateEntry) -> Plan:
        """A candidate's plan, about this skill. Raises PlanError; Refusal.OUTSIDE where it leaves
        the skill.
        """
        named = candidate.target_path
        if not named or "\0" in named:
            raise PlanError(Refusal.ERROR, "the candidate has no `target_path`")
        inside = self.inside(named)
        if inside is None:
            raise PlanError(
                Refusal.OUTSIDE,
                f"the candidate's target `{printable(named)}` is not in the skill `{self.named}`",
                hint="target_path is relative to the working directory, and must be in the skill's folder",
            )
        plan = read_plan(candidate.execution_plan, target=inside or SKILL_FILE)
        self.refuse_strangers(plan)
        return plan

    def edited(self, candidate: doc.CandidateEntry) -> Version:
        """The skill with the candidate's edit. Raises UsageError, and PlanError where its plan
        cannot be applied.
        """
        self.require_base(candidate)
        return apply_plan(self.plan_of(candidate), self.version)

    def require_base(self, candidate: doc.CandidateEntry) -> None:
        """Raises UsageError where the candidate was proposed for other bytes than the skill has
        now: its plan holds whole files, and what somebody wrote in the meantime would be gone.
        Other programs name no base.
        """
        if candidate.base_digest and self.version.digest not in (
            candidate.base_digest,
            candidate.candidate_digest,
        ):
            raise UsageError(
                f"`{self.named}` was edited since `{candidate.id}` was proposed; nothing was written",
                hint="propose again: the candidate was made for the skill as it was",
            )

    def refuse_strangers(self, plan: Plan) -> None:
        """A plan may not write what is in the folder without being part of the skill (a suite, its
        fixtures, a link), nor bring such a file. Raises PlanError, Refusal.OUTSIDE.
        """
        written = plan.files if isinstance(plan, WriteFiles) else {}
        for inside in (*written, *plan.delete) if isinstance(plan, WriteFiles) else (plan.target,):
            place, shown = self.folder / inside, printable(inside)
            if ".." in PurePosixPath(inside).parts:
                raise PlanError(Refusal.OUTSIDE, f"the plan's path `{shown}` leaves the skill")
            if Path(os.path.realpath(place)) != self.root / inside:
                raise PlanError(Refusal.OUTSIDE, f"`{shown}` leads away from its place by a link")
            if any(inside == out or inside.startswith(f"{out}/") for out in self.left_out) or (
                inside not in self.version.files and os.path.lexists(place) and not place.is_dir()
            ):
                why = f"`{shown}` is in the folder but not part of the skill: it is a suite, a fixture or a link"
                raise PlanError(Refusal.OUTSIDE, why)
        for inside, write in written.items():
            if is_suite(self.folder / inside, as_text(write.data) or ""):
                why = f"`{printable(inside)}` would be a suite of tasks, which cannot be part of a skill"
                raise PlanError(Refusal.OUTSIDE, why)

    def require_plan_to(self, after: Version) -> None:
        """Raises PlanError where a plan cannot lead to these bytes, or may not."""
        plan = plan_between(self.version, after)
        self.refuse_strangers(plan)
        apply_plan(plan, self.version)

    def put_in_place(self, after: Version) -> None:
        """Bring the skill on disk from what it was read as to `after`, file by file, each whole;
        all back on a failure.

        Raises FileError where that is not possible, and UsageError when somebody edited the skill
        in between.
        """
        self.require_untouched()
        if Path(os.path.realpath(self.folder)) != self.root:
            raise FileError(
                f"`{self.named}` is not the folder that it was; nothing was written",
                hint="bring it back",
            )
        try:
            deliver(self.folder, self.version, after)
        except BaseException as error:
            with contextlib.suppress(OSError, FileError):
                deliver(self.folder, self.read_again().version, self.version)
            if isinstance(error, FileError):
                hint = (
                    "the skill is as it was; make the place writable and run the same command again"
                )
                raise FileError(error.message, hint=hint) from None
            raise

    def require_untouched(self) -> None:
        """Raises UsageError when the skill is no longer what it was read as."""
        if self.read_again().version.digest != self.version.digest:
            raise UsageError(
                f"`{self.named}` was edited by somebody else in the meantime; nothing was written",
                hint="run the stage again on the skill as it is now",
            )


_SUITE_ENDINGS = (".yaml", ".yml", ".json")
_SKILL_SUITES = ("task-suite", "agent-skills")


def is_suite(path: Path, text: str) -> bool:
    """Whether a file holds tasks for a skill, by content: whoever is judged by them must not see
    them.

    Suites of general evaluation tools are left alone: a skill may well ship one as an example.
    """
    from honestone.formats.syntax.document import Document
    from honestone.interop.reader import Reader
    from honestone.interop.recognise import recognise

    if path.suffix.lower() not in _SUITE_ENDINGS:
        return False
    try:
        kind = recognise(Document(path=path, text=text))
    except UsageError:
        return False
    return kind == "suite" or (isinstance(kind, Reader) and kind.name.startswith(_SKILL_SUITES))
