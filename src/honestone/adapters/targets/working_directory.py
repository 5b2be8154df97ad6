"""Where a target's program runs, and with which variables: the case's workspace, a private place,
or the working folder.

An isolated run sees nothing of the user: a fresh HOME and a fresh working folder outside the
user's, no variable but PATH, LANG, HOME and TMPDIR, and of the artifact only the skill that was
installed.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.core.skill.skill_file import Skill
from honestone.ports import Task
from honestone.system.files import make_copy, materialise, remove
from honestone.system.processes.environment import base_environment
from honestone.system.processes.private import end_inhabitants, private_folder

# Where an agent that is none of the known CLIs looks for skills, below its working folder.
SKILLS: Final = ".agents/skills"

_ISOLATED: Final = ("PATH", "LANG", "HOME", "TMPDIR")


class Workdir(Struct, frozen=True, kw_only=True):
    """`own` is a private empty folder; `artifact` a private copy of the artifact, of a skill the
    folder it is in.
    """

    cwd: Path
    env: Mapping[str, str]
    own: Path
    artifact: Path | None


@contextlib.contextmanager
def workdir_for(task: Task, *, cwd: Path, pass_env: Sequence[str] = ()) -> Iterator[Workdir]:
    """The place of one run; what was made for it is gone afterwards."""
    with private_folder("target") as root:
        try:
            own = made_folder(root / "own")
            work = task.folder or (made_folder(root / "work") if task.isolated else cwd)
            with skills_installed(task, work / SKILLS) as skill:
                artifact = skill if task.isolated else _artifact(task, root, skill)
                env = _environment(task, root, artifact, skill, pass_env)
                yield Workdir(cwd=work, env=env, own=own, artifact=artifact)
        finally:
            end_inhabitants(root)


def made_folder(folder: Path) -> Path:
    """The folder, which is made now."""
    folder.mkdir()
    return folder


def _artifact(task: Task, root: Path, skill: Path | None) -> Path | None:
    if task.version is None:
        return skill
    return make_copy(task.version, made_folder(root / "copy"), name="artifact").place


def _environment(
    task: Task, root: Path, artifact: Path | None, skill: Path | None, pass_env: Sequence[str]
) -> dict[str, str]:
    named = {"HONESTONE_SKILL": skill, "HONESTONE_ARTIFACT": artifact}
    places = {name: str(place) for name, place in named.items() if place is not None}
    if not task.isolated:
        case = {
            "HONESTONE_CASE": task.case,
            "HONESTONE_ATTEMPT": str(task.attempt),
            "HONESTONE_ROOM": str(root),
        }
        return base_environment({**case, **places}, pass_names=pass_env)
    env = base_environment(pass_names=pass_env)
    allowed = {name: value for name, value in env.items() if name in (*_ISOLATED, *pass_env)}
    allowed.setdefault("LANG", "C.UTF-8")
    fresh = {"HOME": str(made_folder(root / "home")), "TMPDIR": str(made_folder(root / "tmp"))}
    return {**allowed, **fresh, **places}


@contextlib.contextmanager
def skills_installed(task: Task, shelf: Path) -> Iterator[Path | None]:
    """The folder of the task's skill below `shelf`, with its other skills next to it, for the time
    of the run.
    """
    with contextlib.ExitStack() as stack:
        for other in task.more_skills:
            stack.enter_context(installed(other, shelf))
        yield stack.enter_context(installed(task.skill, shelf))


@contextlib.contextmanager
def installed(skill: Skill | None, shelf: Path) -> Iterator[Path | None]:
    """The skill's folder below `shelf`, and only for the time of the run: it does not count as a
    file of a workspace.

    What is there under its name already makes way and comes back.
    """
    if skill is None:
        yield None
        return
    made = [folder for folder in (shelf, *shelf.parents) if not folder.exists()]
    place = shelf / skill.name
    shelf.mkdir(parents=True, exist_ok=True)
    with private_folder("aside") as aside:
        try:
            if os.path.lexists(place):
                shutil.move(place, aside / "was")
            place.mkdir()
            materialise(skill.version, place)
            yield place
        finally:
            remove(place)
            with contextlib.suppress(
                OSError
            ):  # the run may have taken the folders away, or filled them
                if os.path.lexists(aside / "was"):
                    shelf.mkdir(parents=True, exist_ok=True)
                    shutil.move(aside / "was", place)
                for folder in made:
                    folder.rmdir()
