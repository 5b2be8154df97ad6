"""JSON objects in what a model wrote: whole ones as they stand, damaged ones only where no value has to be guessed.

Nothing here knows what an object means; `reply` and `free_text` choose among what is found. Hostile text is expected:
the work is bounded by the length of the text, and nothing raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import isfinite
from typing import Any, Final

MAX_DEPTH: Final = 60
"""Deeper nesting is no reply to anything that we ask."""

MAX_STRICT_FAILURES: Final = 200
"""Python counts lines for every JSON error, so each failure costs up to the length of the text."""

MAX_FAILURES: Final = 20_000


class Doubled(dict[str, Any]):
    """An object that names a key twice. The last value is kept as a placeholder; no reader may use it."""

    doubled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unusable:
    """What stands where a number should: NaN, an infinity, or more digits than any scale has."""

    written: str

    def __repr__(self) -> str:
        return self.written if len(self.written) <= 20 else self.written[:17] + "..."


@dataclass(frozen=True, slots=True)
class FoundObject:
    """One whole top-level object, where it stands, and what had to be overlooked to read it."""

    value: dict[str, Any]
    start: int
    end: int
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfinishedObject:
    """An object that is still open where the text ends.

    `members` are those that are surely complete; `last` is a number or word that the end of the text touches.
    """

    start: int
    members: tuple[tuple[str, Any], ...]
    last: tuple[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Scan:
    found: tuple[FoundObject, ...] = ()
    unfinished: UnfinishedObject | None = None
    given_up: str | None = None


def doubled_keys(value: object) -> frozenset[str]:
    return value.doubled if isinstance(value, Doubled) else frozenset()


def objects_in(text: str, *, lenient: bool = True) -> Scan:
    """Every top-level JSON object of a text, in order. With `lenient`, damaged ones too."""
    found: list[FoundObject] = []
    strict_failures = failures = 0
    budget = 2 * len(text) + 50_000  # characters that may be read in vain
    at = 0
    while opening := _OPENING.search(text, at):
        start = opening.start()
        if opening[1] in '"}':
            try:
                value, end = _decode(text, start)
                found.append(FoundObject(value, start, end))
                at = end
                continue
            except ValueError:
                strict_failures += 1
            except RecursionError:
                return Scan(tuple(found), None, "it is nested too deeply to be read")
        tolerant = _Tolerant(text)
        try:
            value, end = tolerant.read(start)
            if lenient:
                found.append(FoundObject(value, start, end, tuple(tolerant.repairs)))
            at = end
            continue
        except _Broken as broken:
            budget -= broken.at - start
        except _Open:
            if tolerant.has_begun:
                return Scan(tuple(found), tolerant.unfinished(start))
            budget -= len(text) - start
        at = start + 1
        failures += 1
        if budget < 0 or strict_failures > MAX_STRICT_FAILURES or failures > MAX_FAILURES:
            return Scan(tuple(found), None, "it holds too many broken pieces of JSON to be read")
    return Scan(tuple(found))


# An opening brace that can begin an object: a key in any of the ways we understand, a comment, or the end.
_OPENING = re.compile(r"""\{(?=\s*+(["'“”„}\w/#]))""")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    twice = Doubled(value)
    twice.doubled = frozenset(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
    return twice


def _float(written: str) -> float | Unusable:
    number = float(written)
    return number if isfinite(number) else Unusable(written)


def _int(written: str) -> int | Unusable:
    return int(written) if len(written) <= 30 else Unusable(written)


_DECODER = json.JSONDecoder(object_pairs_hook=_object, parse_constant=Unusable, parse_float=_float, parse_int=_int)


def _decode(text: str, start: int) -> tuple[dict[str, Any], int]:
    value, end = _DECODER.raw_decode(text, start)
    return value, end


class _Broken(Exception):
    def __init__(self, at: int) -> None:
        self.at = at


class _Open(Exception):
    """The text ended inside the object."""


_SPACE = re.compile(r"(?:\s++|//[^\n]*+|#[^\n]*+)*+")
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_TYPOGRAPHIC = re.compile(r"[“”„]([^“”„]*+)[“”]")
_BARE_KEY = re.compile(r"[A-Za-z_]\w*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?+([eE][+-]?\d++)?+(?![\w.])")
_WORD = re.compile(r"-?[A-Za-z]++(?!\w)")
_CUT_SCALAR = re.compile(r"[-+.\w]*+\Z")
_WORDS: Final[dict[str, Any]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    **{word: Unusable(word) for word in ("NaN", "Infinity", "-Infinity")},
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\\": "\\", '"': '"', "'": "'", "/": "/"}


class _Tolerant:
    """Reads one object as a careful person would: other quotes, Python's words, bare keys, comments, a comma too many.

    A string ends at its first closing mark, a number or word where it stops; whatever does not fit breaks the object
    instead of being completed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.repairs: dict[str, None] = {}
        self.members: list[tuple[str, Any]] = []
        self.last: tuple[str, Any] | None = None
        self.has_begun = False

    def read(self, start: int) -> tuple[dict[str, Any], int]:
        return self._object(start, 1)

    def unfinished(self, start: int) -> UnfinishedObject:
        return UnfinishedObject(start, tuple(self.members), self.last)

    def _repair(self, what: str) -> None:
        self.repairs[what] = None

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        if match.end() > at and not match[0].isspace():
            self._repair("comments")
        if match.end() == len(self.text):
            raise _Open
        return match.end()

    def _object(self, at: int, depth: int) -> tuple[dict[str, Any], int]:
        if depth > MAX_DEPTH:
            raise _Broken(at)
        pairs: list[tuple[str, Any]] = []
        at = self._space(at + 1)
        while self.text[at] != "}":
            key, at = self._key(at)
            at = self._space(at)
            if self.text[at] != ":":
                raise _Broken(at)
            self.has_begun = True
            value, end = self._value(self._space(at + 1), depth)
            pairs.append((key, value))
            if depth == 1:
                self._member(key, value, end)
            at = self._next(end, "}")
        return _object(pairs), at + 1

    def _member(self, key: str, value: Any, end: int) -> None:
        """A value of the outermost object, in case the text ends before the object does."""
        if end == len(self.text):
            self.last = (key, value)
        elif self.text[end].isspace() or self.text[end] in ",}":
            self.members.append((key, value))

    def _list(self, at: int, depth: int) -> tuple[list[Any], int]:
        if depth > MAX_DEPTH:
            raise _Broken(at)
        values: list[Any] = []
        at = self._space(at + 1)
        while self.text[at] != "]":
            value, at = self._value(at, depth)
            values.append(value)
            at = self._next(at, "]")
        return values, at + 1

    def _next(self, at: int, closing: str) -> int:
        """Past a comma to what follows it, or to the closing bracket."""
        at = self._space(at)
        if self.text[at] == closing:
            return at
        if self.text[at] != ",":
            raise _Broken(at)
        at = self._space(at + 1)
        if self.text[at] == closing:
            self._repair("a trailing comma")
        return at

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at] in "\"'“”„":
            return self._string(at)
        match = _BARE_KEY.match(self.text, at)
        if match is None:
            raise _Broken(at)
        self._repair("unquoted keys")
        return match[0], match.end()

    def _value(self, at: int, depth: int) -> tuple[Any, int]:
        first = self.text[at]
        if first in "\"'“”„":
            return self._string(at)
        if first == "{":
            return self._object(at, depth + 1)
        if first == "[":
            return self._list(at, depth + 1)
        if match := _NUMBER.match(self.text, at):
            whole = match[1] is None and match[2] is None
            return (_int if whole else _float)(match[0]), match.end()
        match = _WORD.match(self.text, at)
        if match is None or match[0] not in _WORDS:
            raise _Open if _CUT_SCALAR.match(self.text, at) else _Broken(at)
        if match[0] in {"True", "False", "None"}:
            self._repair("Python literals")
        return _WORDS[match[0]], match.end()

    def _string(self, at: int) -> tuple[str, int]:
        mark = self.text[at]
        match = (_DOUBLE if mark == '"' else _SINGLE if mark == "'" else _TYPOGRAPHIC).match(self.text, at)
        if match is None:
            raise _Open
        inside = match[1]
        if mark == '"':
            if "\n" in inside or "\r" in inside or "\t" in inside:
                self._repair("a raw line break or tab in a string")
        else:
            self._repair("single quotes" if mark == "'" else "typographic quotes")
        return self._unescape(inside) if mark in "\"'" and "\\" in inside else inside, match.end()

    def _unescape(self, inside: str) -> str:
        def one(match: re.Match[str]) -> str:
            if code := match[1] or match[2]:
                return chr(int(code, 16))
            if match[3] in _ESCAPES:
                return _ESCAPES[match[3]]
            self._repair("an escape that JSON does not have")
            return match[0]

        return _joined_surrogates(_ESCAPE.sub(one, inside))


_SURROGATE = re.compile("[\ud800-\udfff]")


def _joined_surrogates(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_text(text: str) -> str:
    """Without lone surrogates, which no file or terminal can take."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text


# A thinking block counts only where it begins the text: further on, the words may be a quotation.
_THINKING = re.compile(r"\s*<(think|thinking|thought|reasoning)>", re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, bool]:
    """The text after a thinking block that begins it, and whether there was one. An endless one leaves nothing."""
    opening = _THINKING.match(text)
    if opening is None:
        return text, False
    closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
    return (text[closing.end() :] if closing else ""), True


_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)


def around_repairs(text: str, found: FoundObject) -> Iterable[str]:
    """What stands around the chosen object and was overlooked."""
    before, after = text[: found.start], text[found.end :]
    if before.isspace():
        before = ""
    if after.isspace():
        after = ""
    if not before and not after:
        return
    outside = before + "\n" + after
    plain = _FENCE_LINE.sub("", outside)
    if plain != outside:
        yield "a code fence"
    rest = plain.strip(" \t\r\n\ufeff\xa0")
    if not rest:
        return
    if set(rest) <= set("}] \t\r\n"):
        yield "a stray closing bracket"
    else:
        yield "text around the JSON object"
