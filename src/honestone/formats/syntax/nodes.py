"""Nodes: the values of a file with the place of each. YAML and JSON readers make them, `Marked`
shows them.

Files are hostile data: everything here is bounded, and what is refused is refused with its place.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from math import isfinite, isinf
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from honestone.core.errors import FileError
from honestone.core.json_value import is_number, late_pattern

Scalar: TypeAlias = str | int | float | bool | None
MapKey: TypeAlias = str | int | float

MAX_BYTES: Final = 10_000_000
# JSON is read about 12 times as fast as YAML.
MAX_JSON_BYTES: Final = 100_000_000
MAX_DEPTH: Final = 100
# How many values aliases may stand for, all together: a small file can otherwise mean billions.
MAX_EXPANDED: Final = 200_000

# Past the range of a float nothing can be compared or shown.
_MOST_BITS: Final = 996

_INT = late_pattern(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = late_pattern(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")
_NOT_FINITE = late_pattern(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_NAMED: Final[dict[str, bool | None]] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class DrawnKey(NamedTuple):
    """A list under a key of the outermost mapping of a large JSON text whose entries are made each
    time that they are asked for, where the key `after` is before it.
    """

    key: str
    after: str


def lines_in(text: str) -> Iterator[str]:
    """The lines with their endings (`\\n` alone ends one), one at a time: a list of all would hold
    a large file twice.
    """
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


class Node:
    """One value of a file: what it is, how a scalar was written (`raw`), and where (`line`,
    `column`, from 1).

    `children` are the values of a list, or pairs (key node, value node) by key of a mapping.
    Aliases share them. `size` counts all values that it stands for, `height` the levels below it.
    `file` names the file that it is from, where that is another one than that of the whole.
    """

    __slots__ = ("children", "column", "file", "height", "line", "raw", "size", "value")

    def __init__(
        self, value: Any, raw: str | None, line: int, column: int, children: Any = None
    ) -> None:
        self.value = value
        self.raw = raw
        self.line = line
        self.column = column
        self.children: list[Node] | dict[MapKey, tuple[Node, Node]] | None = children
        self.file: str | None = None
        self.size = 1
        self.height = 0

    @property
    def kind(self) -> Literal["scalar", "list", "mapping"]:
        if self.children is None:
            return "scalar"
        return "list" if isinstance(self.children, list) else "mapping"

    def seen_at(self, line: int, column: int) -> Node:
        """The same value, mentioned at another place."""
        alias = Node(self.value, self.raw, line, column, self.children)
        alias.size, alias.height, alias.file = self.size, self.height, self.file
        return alias

    def append(self, child: Node) -> None:
        assert isinstance(self.children, list)
        self.children.append(child)
        self.value.append(child.value)
        self._grow(child)

    def put(self, key: Node, child: Node) -> None:
        assert isinstance(self.children, dict)
        name = key_of(key)
        self.children[name] = (key, child)
        self.value[name] = child.value
        self._grow(child)

    def empty(self) -> Node:
        """A mapping or list of the same kind and place, with nothing in it yet."""
        children: list[Node] | dict[MapKey, tuple[Node, Node]] = (
            {} if isinstance(self.children, dict) else []
        )
        node = Node(type(children)(), None, self.line, self.column, children)
        node.file = self.file
        return node

    def with_text(self, text: str) -> Node:
        """Another text at this place."""
        node = Node(text, text, self.line, self.column)
        node.file = self.file
        return node

    def below(self) -> Iterator[Node]:
        """Keys and values right below this one."""
        if isinstance(self.children, dict):
            for pair in self.children.values():
                yield from pair
        else:
            yield from self.children or ()

    def _grow(self, child: Node) -> None:
        self.size += child.size
        self.height = max(self.height, child.height + 1)


def key_of(node: Node) -> MapKey:
    """A mapping key: numbers stay numbers, so that `{0: none}` differs from `{"0": none}`; all else
    is text.
    """
    if is_number(node.value):
        return node.value
    return node.raw or ""


def moved(root: Node, file: str, lines: int = 0) -> Node:
    """The same nodes as part of another whole: they are from `file`, so many lines further down."""
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        node.file, node.line = file, node.line + lines
        fresh = [below for below in node.below() if id(below) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh
    return root


# Line and column, from 1.
Spot: TypeAlias = tuple[int, int]


def node_of(
    value: Any,
    spot: Spot,
    spots: Mapping[tuple[MapKey, ...], Spot] = {},
    keys: Mapping[tuple[MapKey, ...], Spot] = {},
    path: tuple[MapKey, ...] = (),
) -> Node:
    """Values of another reader as nodes: each at the spot of its path, else where what is around it
    is; keys likewise.

    Nothing of that reader's own types is left: what comes out are exactly `str`, `int`, `float`,
    `bool` and None, in lists and dicts. A value that knows how it was written (`raw`) has that as
    the node's `raw`. Raises UnfitValue.
    """
    spot = spots.get(path, spot)
    if isinstance(value, dict):
        node = Node({}, None, *spot, {})
        for key, below in value.items():
            child = node_of(below, spot, spots, keys, (*path, key))
            name = plain_scalar(key)
            node.put(
                Node(name, str(name), *keys.get((*path, key), (child.line, child.column))), child
            )
    elif isinstance(value, list):
        node = Node([], None, *spot, [])
        for index, below in enumerate(value):
            node.append(node_of(below, spot, spots, keys, (*path, index)))
    elif value is None or isinstance(value, bool):
        node = Node(value, json.dumps(value), *spot)
    else:
        try:
            plain = plain_scalar(value)
        except ValueError as error:
            raise UnfitValue(str(error), spot) from None
        node = Node(plain, str(getattr(value, "raw", plain)), *spot)
    return node


class UnfitValue(FileError):
    """A value that no file may hold, with its place."""

    def __init__(self, message: str, spot: Spot) -> None:
        super().__init__(message)
        self.spot = spot


def plain_scalar(value: object) -> Scalar:
    """A value of any reader as one of the five plain types; a date or a time is its text.

    Raises ValueError, with a message for people, for what YAML and JSON may not hold either: a
    number that is not finite or too large, a NUL character, half a character.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        if value.bit_length() > _MOST_BITS:
            raise ValueError("this is too large a number")
        return int(value)
    if isinstance(value, float):
        if not isfinite(value):
            raise ValueError(f"`{value}` is not a finite number")
        return float(value)
    return whole_text(str(value))


def line_and_column(before: str) -> Spot:
    """The place right after a text."""
    lines = re.split(r"\r\n|\r|\n", before)
    return len(lines), len(lines[-1]) + 1


def scalar(raw: str) -> Scalar:
    """The value of an unquoted YAML 1.2 scalar: `yes` and `12:30` are text, 0x1f is 31.

    Raises ValueError, with a message for people, for numbers that cannot be kept.
    """
    if raw in _NAMED:
        return _NAMED[raw]
    if raw[0] not in "0123456789+-.":
        return raw
    if _INT.fullmatch(raw):
        return _whole(raw)
    if _FLOAT.fullmatch(raw):
        return _decimal(raw)
    if _NOT_FINITE.fullmatch(raw):
        raise ValueError(f"`{raw}` is not a finite number")
    return raw


def _whole(raw: str) -> int:
    if len(raw) > 300:
        raise ValueError(f"`{raw[:12]}...` is too large a number")
    return int(raw, 0) if raw[:2] in ("0o", "0x") else int(raw)


def _decimal(raw: str) -> float:
    value = float(raw)
    if isinf(value):
        raise ValueError(f"`{_short(raw)}` is too large a number")
    if value == 0 and re.search(r"[1-9]", re.split("[eE]", raw)[0]):
        raise ValueError(f"`{_short(raw)}` is too close to zero to be kept")
    return value


def _short(raw: str) -> str:
    return raw if len(raw) <= 40 else raw[:37] + "..."


def whole_text(text: str) -> str:
    """A string whose escapes may have spelled half a character. Raises ValueError for what no text
    can hold.
    """
    if "\0" in text:
        raise ValueError("this text holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError:
        # JSON writes characters outside the basic plane as two escapes; pasted into YAML they
        # arrive as halves.
        try:
            return text.encode("utf-16", "surrogatepass").decode("utf-16")
        except UnicodeDecodeError:
            raise ValueError("this text holds half a character (a lone surrogate)") from None
    return text


def refuse(name: str, line: int, column: int, message: str, hint: str | None = None) -> FileError:
    """The error for one place of a file."""
    return FileError(message, place=f"{name}:{line}:{column}", hint=hint)


def too_deep(name: str, line: int, column: int) -> FileError:
    return refuse(
        name,
        line,
        column,
        f"this is nested more than {MAX_DEPTH} levels deep",
        "a file for people is far flatter",
    )


def same_key_twice(name: str, first: Node, second: Node) -> FileError:
    return refuse(
        name,
        second.line,
        second.column,
        f"the key `{second.raw}` occurs twice in this mapping: first in line {first.line}, again in line {second.line}",
        "remove one of the two, or merge them",
    )
