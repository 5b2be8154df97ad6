"""The gate's compile layer: whether the files that a candidate changed compile and parse. Nothing of them is run."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath

from honestone.core.artifact import Version, as_text
from honestone.core.errors import FileError
from honestone.core.front_matter import split
from honestone.core.risk import touched
from honestone.core.skill import SKILL_FILE

MAX_CODE = 1_000_000


def troubles(before: Version, after: Version) -> tuple[str, ...]:
    """What does not compile or parse, with its place; only of files that differ."""
    return tuple(_troubles(before, after))


def _troubles(before: Version, after: Version) -> Iterator[str]:
    for path in touched(before, after):
        entry = after.files.get(path)
        if entry is None:
            continue
        ending, text = PurePosixPath(path).suffix.lower(), as_text(entry.data)
        if ending == ".py":
            trouble = _python(entry.data, path)
        elif ending in (".json", ".yaml", ".yml"):
            trouble = (
                f"{path} is no UTF-8 text" if text is None else _data(text, path, is_json=ending == ".json")
            )
        elif path == SKILL_FILE:
            old = before.files.get(path)
            trouble = _front_matter(text, None if old is None else as_text(old.data))
        else:
            trouble = None
        if trouble is not None:
            yield trouble


def _python(data: bytes, path: str) -> str | None:
    if len(data) > MAX_CODE:
        return f"{path} is larger than {MAX_CODE // 1_000_000} MB, too large to be compiled here"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(data, path, "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"{path}:{error.lineno or 1} does not compile: {error.msg}"
    except ValueError as error:
        return f"{path} does not compile: {error}"
    except (RecursionError, MemoryError, OverflowError):
        return f"{path} does not compile: it is too deeply nested"
    return None


def _data(text: str, path: str, *, is_json: bool) -> str | None:
    """A JSON file is JSON; a YAML file is YAML, or empty."""
    from honestone.formats.json_nodes import NotJson, json_root
    from honestone.formats.marked import parse_marked

    try:
        if is_json:
            json_root(text, path)
        elif text.strip() and not _is_stream(text):
            parse_marked(text, path)
    except NotJson as error:
        return f"{error.error.place or path} does not parse: {error.error.message}"
    except FileError as error:
        if error.message == "this file is empty":  # nothing but comments
            return None
        return f"{error.place or path} does not parse: {error.message}"
    return None


def _is_stream(text: str) -> bool:
    """Several documents in one YAML file are fine as a file, and nothing that we read."""
    lines = text.splitlines()
    return any(line.rstrip() == "---" or line.startswith("--- ") for line in lines[1:])


def _front_matter(text: str | None, old: str | None) -> str | None:
    if text is None:
        return f"{SKILL_FILE} is no UTF-8 text"
    block = split(text).block
    if block is None:
        if text.removeprefix("\ufeff").startswith("---"):
            return f"{SKILL_FILE}:1 its front matter never ends"
        if old is not None and split(old).block is not None:
            return f"{SKILL_FILE}:1 its front matter is gone, and with it when the skill is loaded"
        return None
    return _data("\n" + block, SKILL_FILE, is_json=False)  # so that lines are counted from the opening fence
