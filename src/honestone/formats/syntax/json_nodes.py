"""JSON text as nodes, strictly: no duplicate keys, no NaN, nothing after the value.

The nodes of a value take about seven times the memory of its text. So the entries of one list of a
large file may be made when they are asked for, each from its part of the text, which is in a
temporary file without a name.
"""

from __future__ import annotations

import json
import os
from array import array
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator
from contextlib import suppress
from functools import partial
from operator import eq
from tempfile import TemporaryFile
from typing import Any, Final, NoReturn, SupportsIndex, cast
from weakref import finalize

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern
from honestone.formats.syntax.nodes import (
    MAX_DEPTH,
    DrawnKey,
    Node,
    refuse,
    same_key_twice,
    scalar,
    too_deep,
    whole_text,
)

_SPACE = late_pattern(r"[ \t\r\n]*")
_NUMBER = late_pattern(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = late_pattern(r"-?[A-Za-z]+")
_LINE_END = late_pattern(r"\r\n|\r|\n")
_string = cast(Callable[[str, int, bool], tuple[str, int]], json.decoder.scanstring)  # type: ignore[attr-defined]
_scan = cast(Callable[[str, int], tuple[object, int]], json.JSONDecoder().scan_once)  # type: ignore[attr-defined]
# Characters of a text from which on its nodes are worth sparing.
LARGE: Final = 1_000_000


class NotJson(Exception):
    """The text is not JSON; it may still be YAML. `error` is reported when it is neither."""

    def __init__(self, error: FileError) -> None:
        super().__init__(error.message)
        self.error = error


def json_root(text: str, name: str, drawn: DrawnKey | None = None) -> Node:
    """The value of a JSON text. Raises NotJson for its syntax, FileError for what no format may
    hold.

    With `drawn`, what no format may hold in an entry of that list of a large text is raised where
    the entry is asked for.
    """
    if drawn is not None and len(text) >= LARGE:
        # Of several errors the first one is raised; where no temporary file can be written, all is
        # read into memory.
        with suppress(NotJson, FileError, OSError):
            return _whole(_Reader(text, name, drawn))
    return _whole(_Reader(text, name))


def _whole(reader: _Reader) -> Node:
    text = reader.text
    root, end = reader.value(reader.skip(0), 0)
    end = reader.skip(end)
    if end < len(text):
        raise reader.wrong(end, "there is more text after the end of the JSON value")
    return root


class _Reader:
    def __init__(self, text: str, name: str, drawn: DrawnKey | None = None) -> None:
        self.text = text
        self.name = name
        self.drawn = drawn
        self.lines = array("Q", [0])
        self.lines.extend(match.end() for match in _LINE_END.finditer(text))

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        return match.end()

    def place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self.lines, at)
        return line, at - self.lines[line - 1] + 1

    def wrong(self, at: int, message: str, hint: str | None = None) -> NotJson:
        return NotJson(
            refuse(self.name, *self.place(at), f"this is not valid JSON: {message}", hint)
        )

    def value(self, at: int, depth: int) -> tuple[Node, int]:
        sign = self.text[at : at + 1]
        if sign and sign in "{[":
            if depth >= MAX_DEPTH:
                raise too_deep(self.name, *self.place(at))
            return self.mapping(at, depth) if sign == "{" else self.list(at, depth)
        if sign == '"':
            return self.string(at)
        return self.plain(at)

    def mapping(self, at: int, depth: int) -> tuple[Node, int]:
        node, at = Node({}, None, *self.place(at), {}), self.skip(at + 1)
        seen: dict[str, Node] = {}
        if self.text[at : at + 1] == "}":
            return node, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise self.wrong(
                    at,
                    "a key in double quotes is missing here",
                    "the last entry has no `,` after it",
                )
            key, at = self.string(at)
            assert key.raw is not None
            if key.raw in seen:
                raise same_key_twice(self.name, seen[key.raw], key)
            seen[key.raw] = key
            at = self.skip(at)
            if self.text[at : at + 1] != ":":
                raise self.wrong(at, "a `:` is missing here")
            at = self.skip(at + 1)
            if depth == 0 and self.is_drawn(key.raw, seen) and self.text[at : at + 1] == "[":
                child, at = self.drawn_list(at)
            else:
                child, at = self.value(at, depth + 1)
            node.put(key, child)
            at, is_last = self.next(at, "}")
            if is_last:
                return node, at

    def list(self, at: int, depth: int) -> tuple[Node, int]:
        node, at = Node([], None, *self.place(at), []), self.skip(at + 1)
        if self.text[at : at + 1] == "]":
            return node, at + 1
        while True:
            child, at = self.value(at, depth + 1)
            node.append(child)
            at, is_last = self.next(at, "]")
            if is_last:
                return node, at

    def is_drawn(self, key: str, before: Container[str]) -> bool:
        return self.drawn is not None and key == self.drawn.key and self.drawn.after in before

    def drawn_list(self, at: int) -> tuple[Node, int]:
        """The same for a list of the outermost mapping, whose entries go to a file. Raises NotJson
        for their syntax, and OSError.
        """
        place, entries = self.place(at), _Entries(self.name, self.lines)
        at, is_last = self.skip(at + 1), False
        if self.text[at : at + 1] == "]":
            return Node([], None, *place, []), at + 1
        with TemporaryFile() as file:
            while not is_last:
                start = at
                try:
                    _, at = _scan(self.text, start)
                except (StopIteration, ValueError, RecursionError):
                    raise self.wrong(start, "a value is missing here") from None
                entries.add(start, file.write(self.text[start:at].encode()))
                at, is_last = self.next(at, "]")
            file.flush()
            nodes = DrawnNodes(entries, os.dup(file.fileno()))
        return Node(DrawnValues(nodes), None, *place, nodes), at

    def next(self, at: int, closing: str) -> tuple[int, bool]:
        """After an entry: where the next one starts, or where the container ended."""
        at = self.skip(at)
        sign = self.text[at : at + 1]
        if sign == closing:
            return at + 1, True
        if sign != ",":
            raise self.wrong(at, f"a `,` or `{closing}` is missing here")
        return self.skip(at + 1), False

    def string(self, at: int) -> tuple[Node, int]:
        place = self.place(at)
        try:
            text, end = _string(self.text, at + 1, True)
            text = whole_text(text)
        except json.JSONDecodeError as error:
            raise self.wrong(error.pos, error.msg[:1].lower() + error.msg[1:]) from None
        except ValueError as error:
            raise refuse(self.name, *place, str(error)) from None
        return Node(text, text, *place), end

    def plain(self, at: int) -> tuple[Node, int]:
        match = _NUMBER.match(self.text, at) or _WORD.match(self.text, at)
        if match is None:
            raise self.wrong(at, "a value is missing here")
        raw = match.group()
        if raw in ("NaN", "Infinity", "-Infinity"):
            raise refuse(self.name, *self.place(at), f"`{raw}` is not a finite number")
        if raw[-1].isalpha() and raw not in ("true", "false", "null"):
            raise self.wrong(at, f"`{raw[:40]}` is not a value", "write text in double quotes")
        try:
            return Node(scalar(raw), raw, *self.place(at)), match.end()
        except ValueError as error:
            raise refuse(self.name, *self.place(at), str(error)) from None


class _Part(_Reader):
    """Reads a part of a text, with its places in the whole: `lines` are where those of the whole
    start, and it starts at `start`.
    """

    def __init__(self, text: str, name: str, lines: array[int], start: int) -> None:
        self.text, self.name, self.drawn = text, name, None
        self.lines, self.start = lines, start

    def place(self, at: int) -> tuple[int, int]:
        return super().place(self.start + at)


class _Entries:
    """The entries of a list: where each starts in the text, and ends in the file."""

    def __init__(self, name: str, lines: array[int]) -> None:
        self.name, self.lines = name, lines
        self.starts, self.ends = array("Q"), array("Q", [0])

    def add(self, start: int, size: int) -> None:
        self.starts.append(start)
        self.ends.append(self.ends[-1] + size)

    def read(self, file: int, number: int) -> Node:
        begin, end = self.ends[number : number + 2]
        text = os.pread(file, end - begin, begin).decode()
        return _Part(text, self.name, self.lines, self.starts[number]).value(0, 2)[0]


class _Drawn(list[Any]):
    """A list whose entries are made each time that they are asked for, and not kept. It can be gone
    through and indexed, and is never changed.
    """

    def __init__(self, count: int, draw: Callable[[int], Any]) -> None:
        super().__init__()
        self._numbers = range(count)
        self._draw = draw

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Any]:
        return map(self._draw, self._numbers)

    def __getitem__(self, index: SupportsIndex | slice) -> Any:
        if isinstance(index, slice):
            return [self._draw(number) for number in self._numbers[index]]
        return self._draw(self._numbers[index])

    def __contains__(self, value: object) -> bool:
        return any(value == one for one in self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, list) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None

    def __reversed__(self) -> Iterator[Any]:
        return map(self._draw, reversed(self._numbers))

    def __add__(self, other: list[Any]) -> list[Any]:
        return [*self, *other]

    def __radd__(self, other: list[Any]) -> list[Any]:
        return [*other, *self]

    def __mul__(self, times: SupportsIndex) -> list[Any]:
        return list(self) * times

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return repr(list(self))

    def copy(self) -> list[Any]:
        return list(self)

    def count(self, value: Any) -> int:
        return sum(one == value for one in self)

    def index(self, value: Any, *between: SupportsIndex) -> int:
        return list(self).index(value, *between)

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("this list is never changed: change list(it)")

    append = extend = insert = pop = remove = clear = sort = reverse = _refuse
    __setitem__ = __delitem__ = __iadd__ = __imul__ = _refuse


class DrawnNodes(_Drawn):
    """The entries of a JSON list as nodes. `file` is open until nothing reads them any more."""

    def __init__(self, entries: _Entries, file: int) -> None:
        super().__init__(len(entries.starts), partial(entries.read, file))
        finalize(self, os.close, file)


class DrawnValues(_Drawn):
    """The entries of a JSON list as plain values."""

    def __init__(self, nodes: DrawnNodes) -> None:
        super().__init__(len(nodes), lambda number: nodes[number].value)
