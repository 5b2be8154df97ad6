"""TOML text with a table put at its end or cut out; every other byte stays. What is put in is cut
out exactly.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from honestone.core.json_value import Json, late_pattern

_HEAD = late_pattern(r"^[ \t]*\[", re.M)
_REMARKS = late_pattern(r"(?:^[ \t]*(?:#[^\n]*)?\n)*(?:^[ \t]*#[^\n]*)?\Z", re.M)


def read_table(text: str, group: str, name: str) -> Json:
    """The table `group.name`, None where there is none. Raises ValueError for what is not TOML."""
    tables = tomllib.loads(text).get(group)
    table: Json = tables.get(name) if isinstance(tables, dict) else None
    return table


def put_table(text: str, group: str, name: str, values: Mapping[str, str | Sequence[str]]) -> str:
    """Add the table at the end. Raises ValueError where it cannot be there.

    A text without an end of line keeps none, which is how `cut_table` knows it again.
    """
    lines = (
        f"[{group}.{name}]",
        *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in values.items()),
    )
    ended = not text or text.endswith("\n")
    put = text + ("\n" if text else "") + "\n".join(lines) + ("\n" if ended else "")
    tomllib.loads(put)
    return put


def cut_table(text: str, group: str, name: str) -> str:
    """Remove the table and those below it. Raises ValueError where it is not written as a table of
    its own.
    """
    head, remaining = re.compile(rf"^[ \t]*\[{group}\.{name}[\].]", re.M), text
    while match := head.search(remaining):
        start = match.start()
        following = _HEAD.search(remaining, match.end())
        body = remaining[start : following.start() if following else len(remaining)]
        remarks = _REMARKS.search(body)
        end = start + (remarks.start() if remarks else len(body))
        unended = end == len(remaining) and not remaining.endswith("\n")
        blank = remaining[:start].endswith("\n\n") or (unended and remaining[:start].endswith("\n"))
        remaining = remaining[: start - blank] + remaining[end:]
    if (
        _others(remaining, group, name) != _others(text, group, name)
        or read_table(remaining, group, name) is not None
    ):
        raise ValueError(f"`{group}.{name}` is not written as a table of its own")
    return remaining


def _others(text: str, group: str, name: str) -> dict[str, Any]:
    document = tomllib.loads(text)
    tables = document.pop(group, None)
    others = (
        {key: value for key, value in tables.items() if key != name}
        if isinstance(tables, dict)
        else tables
    )
    return {**document, **({group: others} if others else {})}
