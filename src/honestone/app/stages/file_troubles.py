"""What is wrong with the files of a skill before anybody reads them: syntax of code, JSON, YAML and
front matter.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath

from honestone.core.artifact import Version, as_text
from honestone.core.editing.proposal import touched
from honestone.core.errors import FileError
from honestone.core.skill.skill_file import SKILL_FILE, split

MAX_CODE = 1_000_000
MAX_DEPTH = 100


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
            read = _json if ending == ".json" else _yaml
            trouble = f"{path} is not UTF-8 text" if text is None else read(text, path)
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


def _json(text: str, path: str) -> str | None:
    import json

    def refuse(word: str) -> None:
        raise ValueError(f"{word} is not JSON")

    try:
        json.loads(text, parse_constant=refuse, parse_int=str)
    except ValueError as error:
        return f"{path} does not parse: {error}"
    except RecursionError:
        return f"{path} does not parse: it is too deeply nested"
    return None


def _yaml(text: str, path: str) -> str | None:
    """Whether it is well-formed: any number of documents, tags of any program. Nothing is built
    from it.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError
    from ruamel.yaml.events import CollectionEndEvent, CollectionStartEvent

    depth = 0
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            depth += isinstance(event, CollectionStartEvent) - isinstance(event, CollectionEndEvent)
            if depth > MAX_DEPTH:  # each level makes the library slower
                return f"{path}:{event.start_mark.line + 1} does not parse: it is too deeply nested"
    except MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark is not None else ""
        return f"{path}{line} does not parse: {error.problem or error.context}"
    except (YAMLError, ValueError) as error:
        return f"{path} does not parse: {' '.join(str(error).split())[:200]}"
    except RecursionError:
        return f"{path} does not parse: it is too deeply nested"
    return None


def _front_matter(text: str | None, old: str | None) -> str | None:
    if text is None:
        return f"{SKILL_FILE} is not UTF-8 text"
    block = split(text).block
    if block is None:
        if text.removeprefix("\ufeff").startswith("---"):
            return f"{SKILL_FILE}:1 its front matter never ends"
        if old is not None and split(old).block is not None:
            return f"{SKILL_FILE}:1 its front matter is gone, and with it when the skill is loaded"
        return None
    return _front_matter_block(block)


def _front_matter_block(block: str) -> str | None:
    """What agents read of a skill has to be a mapping that every reader understands alike."""
    from honestone.formats.syntax.marked import parse_marked

    if not block.strip():
        return None
    try:
        value = parse_marked(
            "\n" + block, SKILL_FILE
        ).value  # lines are counted from the opening fence
    except FileError as error:
        return f"{error.place or SKILL_FILE} does not parse: {error.message}"
    return None if isinstance(value, dict) else f"{SKILL_FILE}:2 its front matter is not a mapping"
