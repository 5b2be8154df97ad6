"""What the rubric asks of the front matter and no ready-made check answers."""

from __future__ import annotations

import re
from pathlib import Path


def name_is_valid(folder: Path) -> tuple[bool, str]:
    """Small letters, digits and single hyphens, at most 64 of them: what agents accept as the name of a skill."""
    name = front_matter(folder).get("name", "")
    return bool(re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)) and len(name) <= 64, f"the name is {name!r}"


def description_has_a_good_length(folder: Path) -> tuple[bool, str]:
    """From 40 to 300 characters: an agent reads the descriptions of all its skills before every task."""
    size = len(front_matter(folder).get("description", ""))
    return 40 <= size <= 300, f"the description has {size} characters, wanted are 40 to 300"


def description_says_when(folder: Path) -> tuple[bool, str]:
    said = front_matter(folder).get("description", "")
    return bool(re.search(r"\buse (it |this )?when\b", said, re.IGNORECASE)), 'it does not say "Use when ..."'


def description_is_plain(folder: Path) -> tuple[bool, str]:
    said = front_matter(folder).get("description", "")
    return not re.search(r"[<>]", said), "it holds < or >, which agents may take for markup"


def front_matter(folder: Path) -> dict[str, str]:
    """The lines `key: value` between the two `---` at the top of SKILL.md."""
    found = re.match(r"---\n(.*?)\n---\n", (folder / "SKILL.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = found[1].splitlines() if found else []
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}
