"""What is run through a suite: an artifact, a skill from disk, no skill, or nothing where the target alone answers."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

from honestone.core.artifact import Version
from honestone.core.errors import FileError
from honestone.core.skill.skill_file import SKILL_FILE, Skill, is_skill, skill_name
from honestone.system.files import MAX_BYTES, load_artifact, printable

WITHOUT: Final = "without"
"""The baseline of a skill where none is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSubject:
    """What is run through a suite, or nothing where the target alone answers. `note` says which side it is.

    `path` is the name that is shown, `place` where it was read. `is_isolated`: the runs get a fresh HOME and folder,
    with `skill` installed in it, or without any.
    """

    path: str = ""
    version: Version | None = None
    note: str = ""
    place: Path | None = None
    skill: Skill | None = None
    is_isolated: bool = False

    @classmethod
    def of_skill(cls, path: str, skill: Skill, note: str = "", *, place: Path | None = None) -> SuiteSubject:
        return cls(path=path, version=skill.version, note=note, place=place, skill=skill, is_isolated=True)

    @classmethod
    def without_skill(cls) -> SuiteSubject:
        """The same tasks without any skill."""
        return cls(path=WITHOUT, note="baseline", is_isolated=True)


def skill_folder(path: Path) -> Path:
    """A path to a SKILL.md means its folder."""
    return path.parent if path.name == SKILL_FILE and path.is_file() else path


def looks_like_skill(path: Path) -> bool:
    return (skill_folder(path) / SKILL_FILE).is_file()


def load_skill(path: Path, *, exclude: Collection[Path] = (), max_bytes: int = MAX_BYTES) -> Skill:
    """The skill at a folder or its SKILL.md. Raises FileError when there is none.

    The suite (`exclude`), the suite's `fixtures/`, hidden files and links do not belong to it.
    """
    folder = skill_folder(path)
    if not folder.exists():
        raise FileError(
            f"the skill {printable(path)!r} does not exist", hint="name the skill's folder, or its SKILL.md"
        )
    if not looks_like_skill(path):
        raise FileError(f"{printable(path)!r} is not a skill: it has no {SKILL_FILE}", hint="name the skill's folder")
    version = load_artifact(folder, exclude=exclude, max_bytes=max_bytes).version
    fixtures = {file.parent.resolve() / "fixtures" for file in exclude}
    inside = {
        place.relative_to(folder.resolve()).as_posix() for place in fixtures if place.is_relative_to(folder.resolve())
    }
    return skill_of(version, printable(folder.resolve().name), leave_out=inside)


def skill_of(version: Version, folder: str, *, leave_out: Collection[str] = ()) -> Skill:
    """A folder's version as a skill, named by its front matter, else by the folder."""
    kept = {
        name: entry
        for name, entry in version.files.items()
        if not any(part.startswith(".") for part in PurePosixPath(name).parts)
        and not any(name == place or name.startswith(place + "/") for place in leave_out)
    }
    version = replace(version, files=kept)
    if not is_skill(version):
        raise FileError(f"{folder!r} is not a skill: it has no {SKILL_FILE} that can be read")
    return Skill(name=skill_name(version.texts.get(SKILL_FILE, ""), folder), version=version)
