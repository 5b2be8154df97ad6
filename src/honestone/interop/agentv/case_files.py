"""Cases in other files than the eval file: a file of cases, several by a pattern, or a folder with
a folder for each case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Final

from msgspec import Struct, field

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern
from honestone.formats.project import require_readable
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import read_marked
from honestone.formats.syntax.nodes import Node
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps
from honestone.interop.agentv.dialect import CASE_LISTS
from honestone.interop.agentv.templates import reading_of
from honestone.interop.agentv.text import Texts

CASE_FILES: Final = ("case.yaml", "case.yml")
# The folder next to a case's file that is its workspace.
WORKSPACE: Final = "workspace"
MAX_FILES: Final = 10_000
_PATTERN: Final = late_pattern(r"[*?\[]")
_PROGRAM: Final = late_pattern(r"\.(?:[mc]?js|[mc]?ts|py)(?::[^/\\:]+)?$", re.IGNORECASE)


class Found(Struct, frozen=True):
    """The cases of other files, and the readings of those files."""

    cases: list[FileEntry] = field(default_factory=list)
    readings: list[FileReading] = field(default_factory=list)


def cases_elsewhere(reading: FileReading, path: Steps, name: str, texts: Texts) -> Found:
    """The cases that a text in place of a case, or of all cases, names. What is wrong is a problem
    at `path`.
    """
    if _PROGRAM.search(name):
        reading.loss(
            f"the cases of `{name}` are written by a program, which is not run",
            path,
            "write them into a file",
        )
        return Found()
    found = Found()
    bare = name.removeprefix("file://")
    if _PATTERN.search(bare):
        for one in _matching(reading, path, bare, texts):
            _add_file(found, reading, path, one, texts)
        return found
    place = texts.resolve(name)
    if place.is_dir():
        _add_folder(found, reading, path, name, texts)
    else:
        _add_file(found, reading, path, place, texts)
    return found


def _matching(reading: FileReading, path: Steps, pattern: str, texts: Texts) -> list[Path]:
    """The files that a pattern names, in order. It is looked for in the folder that its fixed part
    names.
    """
    parts = Path(pattern).parts
    fixed = next(index for index, part in enumerate(parts) if _PATTERN.search(part))
    folder = texts.folder.joinpath(*parts[:fixed])
    require_readable(folder)
    there = sorted(
        one for one in islice(folder.glob("/".join(parts[fixed:])), MAX_FILES) if one.is_file()
    )
    if not there:
        reading.problem(f"no file is named by `{pattern}`", path)
    return there


def _add_file(found: Found, reading: FileReading, path: Steps, file: Path, texts: Texts) -> None:
    """A YAML or JSON file (a list, or under `tests`), or JSON lines."""
    try:
        document = Document.of(file)
        if document.is_lines:
            rows = [reading_of(row.marked) for row in document.rows]
            found.readings.extend(rows)
            found.cases.extend(row.at() for row in rows)
            texts.files.append(file)
            return
        inner = reading_of(document.marked)
    except FileError as error:
        reading.problem(
            f"the cases of `{_shown(file, texts)}` cannot be read: {error.message}", path
        )
        return
    texts.files.append(file)
    found.readings.append(inner)
    top = inner.at()
    if isinstance(top.value, list):
        found.cases.extend(FileEntry(inner, (index,)) for index in range(len(top.value)))
        return
    key = next((key for key in CASE_LISTS if key in top), None)
    if key is not None:
        found.cases.extend(top.each(key))
    elif top.is_mapping and "id" in top:
        found.cases.append(top)
    else:
        reading.problem(
            f"`{_shown(file, texts)}` holds no cases", path, "a file of cases is a list of them"
        )


def _shown(file: Path, texts: Texts) -> str:
    return os.path.relpath(file, texts.folder)


def _add_folder(found: Found, reading: FileReading, path: Steps, name: str, texts: Texts) -> None:
    """A case for each folder in a folder, by name: what its case file says, with the folder's name
    as the id.
    """
    folder = texts.resolve(name)
    try:
        require_readable(folder)
        inside = sorted(islice(folder.iterdir(), MAX_FILES))
    except OSError as error:
        reading.problem(f"the folder `{name}` cannot be read: {error.strerror}", path)
        return
    for place in inside:
        file = next((place / one for one in CASE_FILES if (place / one).is_file()), None)
        if file is None:
            reading.note(f"`{place.name}` in `{name}` has no {CASE_FILES[0]}, so it is left out")
            continue
        found.readings.extend(_of_case_file(found, reading, path, file, texts))
    if not found.cases:
        reading.problem(f"no folder in `{name}` has a {CASE_FILES[0]}", path)


def _of_case_file(
    found: Found, reading: FileReading, path: Steps, file: Path, texts: Texts
) -> Iterator[FileReading]:
    try:
        marked = read_marked(file)
    except FileError as error:
        reading.elsewhere(error, path)
        return
    texts.files.append(file)
    if isinstance(marked.value, dict):
        if "id" not in marked.value:
            marked.root.put(_text_node("id"), _text_node(file.parent.name))
        if (file.parent / WORKSPACE).is_dir() and not marked.value.get(WORKSPACE):
            template = Node({}, None, 1, 1, {})
            template.put(_text_node("template"), _text_node(_shown(file.parent / WORKSPACE, texts)))
            marked.root.put(_text_node(WORKSPACE), template)
    inner = reading_of(marked)
    found.cases.append(inner.at())
    yield inner


def _text_node(value: str) -> Node:
    return Node(value, value, 1, 1)
