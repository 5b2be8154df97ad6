"""What is run through a suite: an artifact, a skill, a run without any skill, or nothing where the target alone answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from honestone.core.artifact import Version
from honestone.core.skill.skill_file import Skill

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
