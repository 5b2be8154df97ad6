"""JSON text with members and elements put in or cut out; every other byte stays. What is put in
last is cut out exactly.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from honestone.core.json_value import Json, after_space, late_pattern, members_of

JsonPath = tuple[str | int, ...]

_MARGIN: Final = late_pattern(r"\r?\n[ \t]*\Z")


def read_object(text: str) -> dict[str, Json]:
    """The object of a JSON text. Raises ValueError for what is not JSON, for another value, and for
    a key given twice.
    """
    try:
        plain = json.loads(text, object_pairs_hook=_members)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(plain, dict):
        raise ValueError("it holds no object")
    return plain


def put_in(
    text: str, path: Sequence[str], value: Json, *, append: bool
) -> tuple[str, list[JsonPath]]:
    """With `value` as the last member at `path`, or as the last element of the array there
    (`append`).

    Also the paths of the containers that had to be made. Raises ValueError where something else is
    in the way.
    """
    at = after_space(text, 0)
    for depth, key in enumerate(path):
        if text[at] != "{":
            raise ValueError(f"`{'.'.join(path[:depth])}` is not an object")
        inside = {one.key: one.start for one in members_of(text, at)}
        if key not in inside:
            value = [value] if append else value
            for inner in reversed(path[depth + 1 :]):
                value = {inner: value}
            made: list[JsonPath] = [
                tuple(path[:inner]) for inner in range(depth + 1, len(path) + append)
            ]
            return _inserted(text, at, f"{json.dumps(key)}: ", value), made
        at = inside[key]
    if not append or text[at] != "[":
        raise ValueError(f"`{'.'.join(path)}` is {'not a list' if append else 'there already'}")
    return _inserted(text, at, "", value), []


def cut_out(text: str, path: JsonPath) -> str:
    """Remove the member or element at `path`, and the comma that it needed."""
    at = after_space(text, 0)
    for key in path[:-1]:
        at = {one.key: one.start for one in members_of(text, at)}[key]
    items = list(members_of(text, at))
    number = [one.key for one in items].index(path[-1])
    if number:
        start, end = items[number - 1].end, items[number].end
    elif len(items) > 1:
        start, end = items[0].begin, items[1].begin
    else:
        start, end = at + 1, items[0].end
    return text[:start] + text[end:]


def _inserted(text: str, container: int, key: str, value: Json) -> str:
    """Insert a text as the last item of the container at that place, on a line of its own where the
    one before it has one.
    """
    last = next(reversed(list(members_of(text, container))), None)
    own_line = _MARGIN.search(text, 0, last.begin) if last else None
    margin, indent = " " if last else "", None
    if own_line is not None:
        margin = own_line.group()
        indent = "\t" if "\t" in margin else 2
    lines = json.dumps(value, indent=indent, ensure_ascii=False).replace("\n", margin)
    at = last.end if last else container + 1
    return f"{text[:at]}{',' if last else ''}{margin}{key}{lines}{text[at:]}"


def _members(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("it has the same key twice")
    return members
