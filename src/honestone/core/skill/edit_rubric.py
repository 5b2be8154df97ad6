"""What a panel is asked about an edit of a skill: a short rubric of yes/no questions, the same for every candidate."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from honestone.core.artifact import Entry, Version
from honestone.core.loop.proposal import touched, unified_diff
from honestone.core.rubric import Criterion, Item, Rubric
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.tables import table_text

EDIT: Final = "edit"
DIFF_FILE: Final = "proposed-edit.diff"
_QUESTIONS: Final = tomllib.loads(table_text("skill/brief"))["edit"]

EDIT_RUBRIC: Final = Rubric(
    title="A good edit of an agent skill",
    threshold=Fraction(6, 10),
    floor=Fraction(0),
    criteria=(
        Criterion(
            id=EDIT,
            requirement=f"The edit of an agent skill in {DIFF_FILE} is a good one; the files below skill/ show the skill with it",
            items=tuple(Item(id=name, requirement=text) for name, text in _QUESTIONS.items()),
        ),
    ),
)


def shown_edit(before: Version, after: Version) -> Version:
    """What the panel looks at: the diff, SKILL.md and the changed files as they would be."""
    paths = dict.fromkeys([SKILL_FILE, *touched(before, after)])
    files = {DIFF_FILE: Entry(unified_diff(before, after).encode("utf-8", "surrogateescape"))}
    files |= {f"skill/{path}": after.files[path] for path in paths if path in after.files}
    return Version(files, is_folder=True)


def failures_in_words(tasks: Sequence[str], lessons: Sequence[str] = ()) -> str | None:
    """The input that goes with an edit: which tasks failed before it, and what was put back in earlier runs."""
    parts = (("Tasks that failed before the edit:", tasks), ("Tried before and put back:", lessons))
    return "\n".join("\n".join([title, *(f"- {one}" for one in found)]) for title, found in parts if found) or None
