"""Evaluators that are Python classes: found by name in the files of the data set's folder, which
are parsed and never run.
"""

from __future__ import annotations

import ast
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Final

MOST_FILES: Final = 200
# Bytes of a Python file that is looked through.
LARGEST_FILE: Final = 1_000_000


class EvaluatorClasses:
    """The classes of the Python files in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _files(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        for path in islice(sorted(self._folder.glob("*.py")), MOST_FILES):
            for name in _classes_in(path):
                found.setdefault(name, []).append(path)
        return found

    def file(self, name: str) -> Path | None:
        """The one that defines a class of this name; None where none or several do."""
        found = self._files.get(name, [])
        return found[0] if len(found) == 1 else None


def _classes_in(path: Path) -> list[str]:
    try:
        if path.stat().st_size > LARGEST_FILE:
            return []
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
