"""The prompt that asks a model to draft the tasks of a suite. The skill's text is fenced data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from honestone.core.authoring.suite_lint import FEWEST, MOST
from honestone.core.reading.json_schema import closed_object
from honestone.prompts.drafting import TEXT, TEXTS, complaint, fenced, one_list
from honestone.prompts.filling import load_template

# A longer skill is not cut in silence: it is not shown to a model at all.
MOST_LETTERS: Final = 200_000

_TASK: Final = {"id": TEXT, "description": TEXT, "prompt": TEXT}
TASKS_SCHEMA: Final = one_list(
    "tasks",
    closed_object({**_TASK, "expected": TEXTS, "forbidden": TEXTS}),
    closed_object({**_TASK, "rubric": TEXT}),
)


def tasks_prompt(name: str, text: str, problems: Sequence[str] = (), *, most: int = MOST) -> str:
    """`problems` name what was wrong with the first reply when it is asked once more."""
    values = {
        "name": " ".join(name.split()),
        "skill": fenced(text),
        "fewest": str(min(FEWEST, most)),
        "most": str(most),
        "complaint": complaint(problems),
    }
    return load_template("tasks").fill(values)
