"""Code of a promptfoo config: found and named, never run here. What runs it is the check `script`,
with permission.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final, TypeAlias

from honestone.core.checking.script import Language, Script
from honestone.core.json_value import Json
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, shown, words
from honestone.interop.sibling_files import SiblingFiles

# What code hears of a case: promptfoo's `context`.
CodeContext: TypeAlias = Mapping[str, object]

CODE_FILES: Final = words(".js .cjs .mjs .ts .cts .mts .py .rb .sh")
_LANGUAGES: Final[Mapping[str, Language]] = {
    ".js": "javascript",
    ".cjs": "javascript",
    ".mjs": "javascript",
    ".ts": "javascript",
    ".cts": "javascript",
    ".mts": "javascript",
    ".py": "python",
}


def suffix_of(name: str) -> str:
    """The ending of `FILE` or `FILE:FUNCTION`."""
    return Path(name.rsplit(":", 1)[0]).suffix.lower()


def json_values(context: CodeContext) -> Json:
    """The context as the code is given it."""
    values: Json = json.loads(json.dumps(context, default=str))
    return values


def script_of(
    text: str,
    reading: FileReading,
    path: Steps,
    siblings: SiblingFiles,
    what: str,
    *,
    language: Language = "javascript",
    function: str = "get_assert",
    makes_cases: bool = False,
) -> Script | None:
    """Code, or `file://FILE` or `file://FILE:FUNCTION`; `function` is the one of a Python file that
    names none. None, and a problem or a loss, for what cannot be run. `what` names it in words;
    `makes_cases`: prompts or tests come of it.
    """
    if text.startswith("package:"):
        reading.loss(
            f"{what} is code of a package, which honestone does not run",
            path,
            "name a file: file://grade.js",
        )
        return None
    if not text.startswith("file://"):
        reading.runs(what, path, makes_cases=makes_cases)
        return Script(language=language, code=text)
    name, _, chosen = _parts(text.removeprefix("file://"))
    written = _LANGUAGES.get(Path(name).suffix.lower())
    if written is None:
        hint = "JavaScript (.js, .cjs, .mjs), TypeScript (.ts, .cts, .mts) and Python (.py) are run"
        reading.loss(f"{what} is code in `{name[:80]}`, which honestone does not run", path, hint)
        return None
    found = siblings.find(reading, name, path)
    if found is None:
        return None
    siblings.files.append(found)
    reading.runs(what, path, found, makes_cases=makes_cases)
    file = os.path.relpath(found, siblings.base)
    return Script(
        language=written,
        file=file,
        function=chosen or (function if written == "python" else "") or None,
    )


def _parts(name: str) -> tuple[str, str, str]:
    """`FILE:FUNCTION` at the colon after the ending of a file of code."""
    match = re.fullmatch(r"(.*\.\w+):([\w$]+(?:\.[\w$]+)*)", name, re.DOTALL)
    return (match[1], ":", match[2]) if match else (name, "", "")


def read_transform(
    at: FileEntry, key: str, siblings: SiblingFiles, what: str, *, makes_cases: bool = False
) -> tuple[Script, ...] | None:
    """The code that a `transform` stands for, in JavaScript unless it is a file; None, and a
    problem or a loss, where it cannot be run.
    """
    value, path = at.raw(key), (*at.path, key)
    if not isinstance(value, str) or not value.strip():
        at.problem(f"`{key}` takes code or a file, not {shown(value)}", key)
        return None
    where = what if key in what else f"the `{key}` of {what}"
    script = script_of(
        value, at.reading, path, siblings, where, function="get_transform", makes_cases=makes_cases
    )
    return None if script is None else (script,)
