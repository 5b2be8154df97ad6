"""The skill that a pipeline edits: its folder and bytes, and what a plan may do to it."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from honestone.app.suites.skill_loading import skill_folder, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version, as_text
from honestone.core.errors import FileError, UsageError
from honestone.core.skill.plan import Plan, PlanError, Refusal, WriteFiles, apply_plan, read_plan
from honestone.core.skill.skill_file import SKILL_FILE, Skill
from honestone.formats.stage_files import CandidateEntry, SkillNamed
from honestone.system.files import load_artifact, printable

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
        raise FileError(f"there is no skill `{printable(named)}`", hint="name the skill's folder, or its SKILL.md")
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
