"""Skills: a folder with a SKILL.md that an agent is given, under the name it is installed by."""

from __future__ import annotations

import re
from dataclasses import dataclass

from honestone.core.artifact import Version, as_text

SKILL_FILE = "SKILL.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """`name` is the front matter's, else the folder's; the version holds what is installed, nothing else."""

    name: str
    version: Version

    @property
    def text(self) -> str:
        return as_text(self.version.files[SKILL_FILE].data) or ""


def is_skill(version: Version) -> bool:
    return version.is_folder and SKILL_FILE in version.files


def skill_name(text: str, folder: str) -> str:
    """The `name` in a SKILL.md's front matter when it can be a folder's name, else the folder's own."""
    front = re.match(r"\A---\s*\n(.*?)\n---\s*(\n|\Z)", text, re.S)
    found = re.search(r"^name:\s*[\"']?([^\"'\n#]+)", front[1], re.M) if front else None
    name = found[1].strip() if found else ""
    return name if re.fullmatch(r"[\w][\w.-]*", name) else folder
