"""Inspect tasks, which are Python: named as such, with the data set that they read."""

from __future__ import annotations

import re
from typing import Final

from honestone.core.errors import UsageError
from honestone.formats.document import Document
from honestone.formats.source import ForeignRubric, SuiteSource

_IMPORT: Final = re.compile(r"(?m)^\s*(?:from|import)\s+inspect_ai\b")
_TASK: Final = re.compile(r"(?m)^\s*@task\b|\bTask\(")
_DATASET: Final = re.compile(r"""\b(?:json|csv)_dataset\(\s*["']([^"'\n]{1,200})["']""")


def signs_of_task(document: Document) -> int:
    """By its text: a task file is not data, and looking at it runs nothing of it."""
    if isinstance(document.value, dict | list):
        return 0
    return 90 if _IMPORT.search(document.text) and _TASK.search(document.text) else 0


def refuse_task(document: Document) -> SuiteSource | ForeignRubric:
    """Raises UsageError: what is Python in it (solvers, scorers, how samples are made) is not read."""
    found = _DATASET.search(document.text)
    name = found[1] if found is not None else "DATASET"
    raise UsageError(
        "this is an Inspect task in Python, and honestone reads the data set of a task, not its code",
        place=f"{document.path}:1:1",
        hint=f"honestone eval {name} reads its samples; --outputs LOG judges what `inspect eval` recorded;"
        " --allow-code runs the code that a suite names, not that of Inspect's tasks",
    )
