"""Python source, read as a tree and edited as lines, so that everything else keeps its form. The fixes build on it."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple


class Edit(NamedTuple):
    """Lines `first` to `last` (from 1) become `lines`. With `last` before `first` they are put in before `first`."""

    first: int
    last: int
    lines: list[str]


def edit_all(find: Callable[[ast.Module, list[str]], Iterable[Edit]]) -> None:
    """Apply what `find` says to every module of the artifact."""
    for path in sorted(Path(os.environ["HONESTONE_ARTIFACT"]).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        changed = edited(text, find)
        if changed != text:
            path.write_text(changed, encoding="utf-8")


def edited(text: str, find: Callable[[ast.Module, list[str]], Iterable[Edit]]) -> str:
    lines = text.splitlines()
    edits = sorted(find(ast.parse(text), lines), key=lambda edit: edit.first, reverse=True)
    for edit in edits:  # from the end, so that the numbers of earlier lines stay true
        lines[edit.first - 1 : max(edit.last, edit.first - 1)] = edit.lines
    return "\n".join(lines) + "\n" if lines else ""


def indent_of(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]
