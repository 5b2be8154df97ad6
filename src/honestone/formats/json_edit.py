"""JSON text with members and elements put in or cut out; every other byte stays. What is put in last is cut out exactly."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from honestone.core.json_value import Json

JsonPath = tuple[str | int, ...]

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = re.compile(r"[ \t\r\n]*")
_MARGIN: Final = re.compile(r"\r?\n[ \t]*\Z")


@dataclass(frozen=True, slots=True)
class _Value:
    """Where a value is in the text. `items` of a container by key or number: where each starts (its key), and its value."""

    start: int
    end: int
    items: dict[str | int, tuple[int, _Value]]


def read_object(text: str) -> dict[str, Json]:
    """The object of a JSON text. Raises ValueError for what is not JSON, for another value, and for a key given twice."""
    try:
        plain = json.loads(text, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(plain, dict):
        raise ValueError("it holds no object")
    return plain


def put_in(text: str, path: Sequence[str], value: Json, *, append: bool) -> tuple[str, list[JsonPath]]:
    """With `value` as the last member at `path`, or as the last element of the array there (`append`).

    Also the paths of the containers that had to be made. Raises ValueError where something else is in the way.
    """
    node = _scan(text, 0)
    for depth, key in enumerate(path):
        if text[node.start] != "{":
            raise ValueError(f"`{'.'.join(path[:depth])}` is not an object")
        if key not in node.items:
            value = [value] if append else value
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            made: list[JsonPath] = [tuple(path[:inner]) for inner in range(depth + 1, len(path) + append)]
            return _inserted(text, node, f"{json.dumps(key)}: ", value), made
        node = node.items[key][1]
    if not append or text[node.start] != "[":
        raise ValueError(f"`{'.'.join(path)}` is {'not a list' if append else 'there already'}")
    return _inserted(text, node, "", value), []


def cut_out(text: str, path: JsonPath) -> str:
    """Without the member or element at `path`, and the comma that it needed."""
    container = _scan(text, 0)
    for key in path[:-1]:
        container = container.items[key][1]
    keys, items = list(container.items), list(container.items.values())
    at = keys.index(path[-1])
    if at:
        start, end = items[at - 1][1].end, items[at][1].end
    elif len(items) > 1:
        start, end = items[0][0], items[1][0]
    else:
        start, end = container.start + 1, items[0][1].end
    return text[:start] + text[end:]


def _inserted(text: str, container: _Value, key: str, value: Json) -> str:
    """As the last item, on a line of its own where the one before it has one."""
    last = max(container.items.values(), default=None, key=lambda item: item[0])
    own_line = _MARGIN.search(text, 0, last[0]) if last else None
    margin = own_line.group() if own_line else " " if last else ""
    indent = None if own_line is None else "\t" if "\t" in margin else 2
    lines = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", margin)
    at = last[1].end if last else container.start + 1
    return f"{text[:at]}{',' if last else ''}{margin}{key}{lines}{text[at:]}"


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has the same key twice")
    return members


def _scan(text: str, at: int) -> _Value:
    """The value at `at`, in a text that is known to be JSON."""
    start = _skip(text, at)
    if text[start] not in "{[":
        return _Value(start, _DECODER.raw_decode(text, start)[1], {})
    items: dict[str | int, tuple[int, _Value]] = {}
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        begin, key = at, len(items)
        if text[start] == "{":
            key, at = _DECODER.raw_decode(text, at)
            at = _skip(text, at) + 1
        value = _scan(text, at)
        items[key] = (begin, value)
        at = _skip(text, value.end)
        at = _skip(text, at + 1) if text[at] == "," else at
    return _Value(start, at + 1, items)


def _skip(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return found.end() if found else at
