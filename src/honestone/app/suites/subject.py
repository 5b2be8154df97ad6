"""What is run through a suite: an artifact, a skill, no skill at all, or nothing where the target alone answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from honestone.core.artifact import Version
from honestone.core.skill.skill_file import Skill

WITHOUT: Final = "without"
"""The baseline of a skill where none is installed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is run through the suite: an artifact, or nothing where the target alone answers. `note` says which side it is.

    `is_isolated`: the runs get a fresh HOME and folder, with `skill` installed in it, or without any.
    """

    path: str
    version: Version | None
    note: str = ""
    skill: Skill | None = None
    is_isolated: bool = False

    @classmethod
    def of_skill(cls, path: str, skill: Skill, note: str = "") -> Subject:
        return cls(path=path, version=skill.version, note=note, skill=skill, is_isolated=True)

    @classmethod
    def without_skill(cls) -> Subject:
        """The same tasks with no skill at all."""
        return cls(path=WITHOUT, version=None, note="baseline", is_isolated=True)

    def to_plain(self) -> dict[str, Any] | None:
        return None if self.version is None else {"path": self.path, "digest": self.version.digest}
