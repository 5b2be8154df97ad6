"""JSON with slips: read only where no value has to be guessed, and what is surely complete of an object
that is cut off.
"""

from __future__ import annotations

import json
import re
from math import isfinite
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.tables import table_json

# Deeper nesting is not a reply to anything that we ask.
MAX_DEPTH: Final = 60


WRITTEN: Final = json.loads(table_json("reading/json_text"))


class Doubled(dict[str, object]):
    """An object that names a key twice. The last value is kept as a placeholder; no reader may use
    it.
    """

    doubled: frozenset[str] = frozenset()


class Unusable(Struct, frozen=True):
    """What is written where a number should be: NaN, an infinity, or more digits than any scale
    has.
    """

    written: str

    def __repr__(self) -> str:
        return self.written if len(self.written) <= 20 else self.written[:17] + "..."


class UnfinishedObject(Struct, frozen=True):
    """An object that is still open where the text ends.

    `members` are those that are surely complete; `last` is a number or word that the end of the
    text touches.
    """

    start: int
    members: tuple[tuple[str, object], ...]
    last: tuple[str, object] | None = None


def doubled_keys(value: object) -> frozenset[str]:
    return value.doubled if isinstance(value, Doubled) else frozenset()


# An opening brace that can begin an object: a key in any of the ways we understand, a comment, or
# the end.
OPENING = late_pattern(r"""\{(?=\s*+(["'“”„}\w/#<]))""")


def object_of(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of these members, in which a key that is there twice is known to be."""
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    return doubled_object(value, frozenset(key for key, _ in pairs if key in seen or seen.add(key)))  # type: ignore[func-returns-value]


def doubled_object(value: dict[str, object], doubled: frozenset[str]) -> dict[str, object]:
    """An object of which these keys are known to be there twice."""
    if not doubled:
        return value
    twice = Doubled(value)
    twice.doubled = doubled
    return twice


def _float(written: str) -> float | Unusable:
    number = float(written)
    return number if isfinite(number) else Unusable(written)


def _int(written: str) -> int | Unusable:
    return int(written) if len(written) <= 30 else Unusable(written)


_DECODER = json.JSONDecoder(
    object_pairs_hook=object_of, parse_constant=Unusable, parse_float=_float, parse_int=_int
)


def decode(text: str, start: int) -> tuple[dict[str, object], int]:
    value, end = _DECODER.raw_decode(text, start)
    return value, end


def decode_strictly(text: str) -> tuple[dict[str, object], int]:
    """The object that a text begins with, and where it ends. Raises ValueError, RecursionError."""
    return decode(text, 0)


class Broken(Exception):
    def __init__(self, at: int) -> None:
        self.at = at


class Open(Exception):
    """The text ended inside the object."""


_SPACE = late_pattern(WRITTEN["space"])
DOUBLE = late_pattern(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
SINGLE = late_pattern(r"'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_TYPOGRAPHIC = late_pattern(r"[“”„]([^“”„]*+)[“”]")
_QUOTED = {'"': DOUBLE, "'": SINGLE}
_BARE_KEY = late_pattern(r"[A-Za-z_]\w*+")
_NUMBER = late_pattern(r"-?(?:0|[1-9]\d*+)(\.\d++)?+([eE][+-]?\d++)?+(?![\w.])")
_WORD = late_pattern(r"-?[A-Za-z]++(?!\w)")
# Behind a bracket that closes nothing: the next entry of a list, or the next key of an object.
_AFTER_STRAY: Final = {
    "]": late_pattern(r"\s*+,\s*+\{"),
    "}": late_pattern(r"\s*+(?:,\s*+[\"'“]|\})"),
}
_CUT_SCALAR = late_pattern(r"[-+.\w]*+\Z")
_WORDS: Final[dict[str, object]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    **{word: Unusable(word) for word in ("NaN", "Infinity", "-Infinity")},
}
_ESCAPE = late_pattern(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_ESCAPES: Final = {
    "n": "\n",
    "t": "\t",
    "r": "\r",
    "b": "\b",
    "f": "\f",
    "\\": "\\",
    '"': '"',
    "'": "'",
    "/": "/",
}


class Tolerant:
    """Reads one object as a careful person would: other quotes, Python's words, bare keys,
    comments, a comma too many.

    A string ends at its first closing mark, a number or word where it stops; whatever does not fit
    breaks the object instead of being completed.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self.repairs: dict[str, None] = {}
        self.members: list[tuple[str, object]] = []
        self.last: tuple[str, object] | None = None
        self.has_begun = False
        self.open_at: int | None = None  # where a string or comment begins that does not end

    def read(self, start: int) -> tuple[dict[str, object], int]:
        return self._object(start, 1)

    def unfinished(self, start: int) -> UnfinishedObject:
        """What is surely there. Nothing, where the end of the text may hide a second attempt."""
        at = self.open_at
        if at is not None and (self.text[at] in "/#<" or OPENING.search(self.text, at)):
            return UnfinishedObject(start, ())
        return UnfinishedObject(start, tuple(self.members), self.last)

    def _repair(self, what: str) -> None:
        self.repairs[what] = None

    def _space(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        assert match is not None
        end = match.end()
        if end > at and not match[0].isspace():
            self._repair("comments")
            self.has_begun = True
        if end == len(self.text):
            if match.end("line") == end:
                self.open_at = match.start("line")
            raise Open
        for opening, closing in (("/*", "*/"), ("<!--", "-->")):
            if self.text.startswith(opening, end):
                self.has_begun = True
                if self.text.find(closing, end) >= 0:
                    raise Broken(end)
                self.open_at = end
                raise Open
        return end

    def _object(self, at: int, depth: int) -> tuple[dict[str, object], int]:
        if depth > MAX_DEPTH:
            raise Broken(at)
        pairs: list[tuple[str, object]] = []
        at = self._space(at + 1)
        while self.text[at] != "}":
            key, at = self._key(at)
            at = self._space(at)
            if self.text[at] != ":":
                raise Broken(at)
            self.has_begun = True
            value, end = self._value(self._space(at + 1), depth)
            pairs.append((key, value))
            if depth == 1:
                self._member(key, value, end)
            at = self._next(end, "}")
        return object_of(pairs), at + 1

    def _member(self, key: str, value: object, end: int) -> None:
        """A value of the outermost object, in case the text ends before the object does."""
        if end == len(self.text):
            self.last = (key, value)
        elif self.text[end].isspace() or self.text[end] in ",}":
            self.members.append((key, value))

    def _list(self, at: int, depth: int) -> tuple[list[object], int]:
        if depth > MAX_DEPTH:
            raise Broken(at)
        values: list[object] = []
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
        if self.text[at] in "}]" and _AFTER_STRAY[closing].match(self.text, at + 1):
            self._repair("a stray closing bracket")
            at = self._space(at + 1)
            if self.text[at] == closing:
                return at
        if self.text[at] != ",":
            raise Broken(at)
        at = self._space(at + 1)
        if self.text[at] == closing:
            self._repair("a trailing comma")
        return at

    def _key(self, at: int) -> tuple[str, int]:
        if self.text[at] in "\"'“”„":
            return self._string(at)
        match = _BARE_KEY.match(self.text, at)
        if match is None:
            raise Broken(at)
        self._repair("unquoted keys")
        return match[0], match.end()

    def _value(self, at: int, depth: int) -> tuple[object, int]:
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
            raise Open if _CUT_SCALAR.match(self.text, at) else Broken(at)
        if match[0] in {"True", "False", "None"}:
            self._repair("Python literals")
        return _WORDS[match[0]], match.end()

    def _string(self, at: int) -> tuple[str, int]:
        mark = self.text[at]
        match = _QUOTED.get(mark, _TYPOGRAPHIC).match(self.text, at)
        if match is None:
            self.open_at = at
            raise Open
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


_SURROGATE = late_pattern("[\ud800-\udfff]")


def _joined_surrogates(text: str) -> str:
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_text(text: str) -> str:
    """Remove lone surrogates, which no file or terminal accepts."""
    return _SURROGATE.sub("\ufffd", text) if not text.isascii() else text
