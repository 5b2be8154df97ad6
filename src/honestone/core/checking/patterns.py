"""Regular expressions of checks: which are affordable, and paths as patterns."""

from __future__ import annotations

import contextlib
import re
import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Final

from honestone.core.checking.gave_up import GaveUp as GaveUp
from honestone.core.json_value import NOTE_LIMIT as NOTE_LIMIT
from honestone.core.json_value import late_pattern
from honestone.core.json_value import line_of as line_of
from honestone.core.json_value import quoted as quoted
from honestone.core.json_value import visible as visible

FLAGS: Final = {
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
    "a": re.ASCII,
}
_REPEAT: Final = late_pattern(r"(?<!\\)(?:\\\\)*[*+{]")
# What may be left out: twenty of these in a row can be tried in a million ways.
_OPTIONAL: Final = late_pattern(r"(?<![\\*+?{}(])(?:\\\\)*\?")
_MOST_OPTIONAL: Final = 12
_REPEATED_GROUP: Final = late_pattern(r"\)\s*[*+{]")
# What a pattern may try unguarded: some tenths of a second.
_AFFORDABLE_STEPS: Final = 10_000_000


def compile_regex(value: object) -> re.Pattern[str]:
    """`regex`'s argument as a pattern. Raises re.error."""
    pattern, letters = (
        (value["pattern"], value.get("flags", ""))
        if isinstance(value, Mapping)
        else (str(value), "")
    )
    flags = re.NOFLAG
    for letter in letters:
        flags |= FLAGS[letter]
    with (
        warnings.catch_warnings()
    ):  # "possible nested set": a pattern that works today is no reason to interrupt
        warnings.simplefilter("ignore")
        return re.compile(pattern, flags)


def _guard_from(value: str | Mapping[str, str]) -> int | None:
    """From which length of text on a pattern may take too long. A repeated group can be
    exponential, at any length; n repeats side by side may try every way of cutting a text in n
    parts, from every start.
    """
    pattern = value if isinstance(value, str) else value["pattern"]
    repeats = len(_REPEAT.findall(pattern))
    if len(_OPTIONAL.findall(pattern)) > _MOST_OPTIONAL:
        return 0
    if repeats == 0:
        return None
    if _REPEATED_GROUP.search(pattern):
        return 0
    return int(_AFFORDABLE_STEPS ** (1 / (repeats + 1)))


GUARDS: Final[Mapping[str, Callable[..., int | None]]] = {"regex": _guard_from}


@lru_cache(maxsize=256)
def path_pattern(glob: str) -> re.Pattern[str]:
    """A glob over paths: `*` and `?` stay within a folder, `**` crosses folders. A plain path also
    means what is in it.
    """
    glob = glob.removeprefix("./").rstrip("/")
    if not re.search(r"[*?\[]", glob):
        return re.compile(re.escape(glob) + r"(?:/.*)?", re.DOTALL)
    out, at = "", 0
    while at < len(glob):
        if match := re.compile(r"\*\*+/|\*\*+|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL).match(glob, at):
            out += _path_part(match[0])
            at = match.end()
    return re.compile(out, re.DOTALL)


def _path_part(part: str) -> str:
    if part.startswith("**"):
        return "(?:.*/)?" if part.endswith("/") else ".*"
    if part in ("*", "?"):
        return {"*": "[^/]*", "?": "[^/]"}[part]
    if part.startswith("[") and len(part) > 2:
        inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        letters = f"(?!/)[{'^' + inside[1:] if inside.startswith('!') else inside}]"
        with contextlib.suppress(re.error):  # [z-a] names no letters: then it is meant as it stands
            return re.compile(letters).pattern
    return re.escape(part)
