"""JSON text as nodes, strictly: no duplicate keys, no NaN, nothing after the value."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Callable
from typing import cast

from honestone.core.errors import FileError
from honestone.formats.syntax.nodes import (
    MAX_DEPTH,
    Node,
    refuse,
    same_key_twice,
    scalar,
    too_deep,
    whole_text,
)

_SPACE = re.compile(r"[ \t\r\n]*")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_WORD = re.compile(r"-?[A-Za-z]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_string = cast(Callable[[str, int, bool], tuple[str, int]], json.decoder.scanstring)  # type: ignore[attr-defined]


class NotJson(Exception):
    """The text is not JSON; it may still be YAML. `error` is reported when it is neither."""

    def __init__(self, error: FileError) -> None:
        super().__init__(error.message)
        self.error = error


def json_root(text: str, name: str) -> Node:
    """The value of a JSON text. Raises NotJson for its syntax, FileError for what no format may
    hold.
    """
    reader = _Reader(text, name)
    root, end = reader.value(reader.skip(0), 0)
    end = reader.skip(end)
    if end < len(text):
        raise reader.wrong(end, "there is more text after the end of the JSON value")
    return root


class _Reader:
    def __init__(self, text: str, name: str) -> None:
        self.text = text
        self.name = name
        self.lines = [0, *(match.end() for match in _LINE_END.finditer(text))]

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
            child, at = self.value(self.skip(at + 1), depth + 1)
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
