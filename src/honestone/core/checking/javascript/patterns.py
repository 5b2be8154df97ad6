"""JavaScript's regular expressions without flags, or with `u`, as patterns of Python that match in
the same texts.

Without `u` JavaScript looks at the 16-bit units of a text, so a character beyond U+FFFF is two of
them: pattern and text are compared as units. Only whether something matches is the same; what a
group holds is not kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from msgspec import Struct

from honestone.core.json_value import late_pattern

# First and last code of characters that belong together.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

_LAST_UNIT: Final = 0xFFFF
_LAST_CHARACTER: Final = 0x10FFFF
_DIGITS: Final[Ranges] = ((0x30, 0x39),)
_WORD: Final[Ranges] = ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
_SPACE: Final[Ranges] = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
    (0xFEFF, 0xFEFF),
)
_LINE_ENDS: Final[Ranges] = ((0x0A, 0x0A), (0x0D, 0x0D), (0x2028, 0x2029))
_SETS: Final = {"d": _DIGITS, "w": _WORD, "s": _SPACE}
_CONTROLS: Final = {"f": 0x0C, "n": 0x0A, "r": 0x0D, "t": 0x09, "v": 0x0B}
_SYNTAX: Final = frozenset("^$\\.*+?()[]{}|/")
_QUANTIFIER: Final = late_pattern(r"[*+?]|\{(\d+)(?:(,)(\d*))?\}")
_NAME: Final = late_pattern(r"[A-Za-z_$][A-Za-z0-9_$]*>")
_TWO_DIGITS: Final = late_pattern("[0-9A-Fa-f]{2}")
_FOUR_DIGITS: Final = late_pattern("[0-9A-Fa-f]{4}")
_DIGIT: Final = late_pattern("[0-9]")
_MOST_REPEATS: Final = 60_000
_MOST_DEPTH: Final = 50


class NotTranslated(ValueError):
    """A pattern that has no equal in Python, or that JavaScript refuses; the message says what of it."""


class _Part(NamedTuple):
    """A piece of the pattern made, and whether it may match nothing."""

    text: str
    is_nullable: bool


def units(text: str) -> str:
    """The text with each character beyond U+FFFF as two, which JavaScript sees."""
    if text.isascii() or max(text) <= chr(_LAST_UNIT):
        return text
    parts = []
    for character in text:
        code = ord(character)
        if code <= _LAST_UNIT:
            parts.append(character)
        else:
            code -= 0x10000
            parts += [chr(0xD800 + (code >> 10)), chr(0xDC00 + (code & 0x3FF))]
    return "".join(parts)


def of_units(text: str) -> str:
    """What `units` made two of as one character again; a half alone is shown as U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def compile_javascript(pattern: str, *, is_unicode: bool = False) -> re.Pattern[str]:
    """A pattern of Python that is found in a text where JavaScript's is. Without `is_unicode` the
    text is searched as `units` gives it. Raises NotTranslated.
    """
    translation = _Translation(pattern if is_unicode else units(pattern), is_unicode=is_unicode)
    try:
        return re.compile(translation.whole())
    except (re.error, OverflowError, RecursionError) as error:
        raise NotTranslated(str(error)) from None


class _Translation(Struct):
    """One reading of a pattern, from left to right."""

    source: str
    is_unicode: bool
    at: int = 0
    depth: int = 0

    @property
    def last(self) -> int:
        return _LAST_CHARACTER if self.is_unicode else _LAST_UNIT

    def whole(self) -> str:
        found = self.alternatives()
        if self.at < len(self.source):
            raise NotTranslated("a `)` without its `(`")
        return found.text

    def next_is(self, text: str) -> bool:
        return self.source.startswith(text, self.at)

    def take(self, text: str) -> bool:
        """Whether this comes next in the pattern; it is then read."""
        found = self.next_is(text)
        self.at += len(text) if found else 0
        return found

    def one(self) -> str:
        if self.at >= len(self.source):
            raise NotTranslated("it ends too early")
        self.at += 1
        return self.source[self.at - 1]

    def alternatives(self) -> _Part:
        self.depth += 1
        if self.depth > _MOST_DEPTH:
            raise NotTranslated("it is nested too deeply")
        parts = [self.sequence()]
        while self.take("|"):
            parts.append(self.sequence())
        self.depth -= 1
        return _Part("|".join(part.text for part in parts), any(p.is_nullable for p in parts))

    def sequence(self) -> _Part:
        parts: list[_Part] = []
        while self.at < len(self.source) and self.source[self.at] not in "|)":
            parts.append(self.term())
        return _Part("".join(p.text for p in parts), all(p.is_nullable for p in parts))

    def term(self) -> _Part:
        place = self.position()
        if place is not None:
            self.quantifier_is_missing("what stands for a place")
            return _Part(place, True)
        return self.repeated(self.atom())

    def position(self) -> str | None:
        """A place between characters, or what comes before or after it."""
        for written, made in (
            ("^", r"\A"),
            ("$", r"\Z"),
            (r"\b", r"(?a:\b)"),
            (r"\B", r"(?!(?a:\b))"),
        ):
            if self.take(written):
                return made
        for start in ("(?=", "(?!", "(?<=", "(?<!"):
            if self.take(start):
                return f"{start}{self.up_to_the_end().text})"
        return None

    def up_to_the_end(self) -> _Part:
        inside = self.alternatives()
        if not self.take(")"):
            raise NotTranslated("a `(` without its `)`")
        return inside

    def quantifier_is_missing(self, after: str) -> None:
        if self.at < len(self.source) and _QUANTIFIER.match(self.source, self.at):
            raise NotTranslated(f"{after} is repeated")

    def atom(self) -> _Part:
        character = self.one()
        if character == "(":
            return self.group()
        if character == "[":
            return _Part(self.character_class(), False)
        if character == ".":
            return _Part(_as_class(_without(_LINE_ENDS, self.last)), False)
        if character == "\\":
            return _Part(_as_class(self.escape(in_class=False)), False)
        if character in "*+?":
            raise NotTranslated("there is nothing to repeat")
        if character == "{" and _QUANTIFIER.match(self.source, self.at - 1):
            raise NotTranslated("there is nothing to repeat")
        if self.is_unicode and character in "{}]":
            raise NotTranslated(f"a `{character}` alone")
        return _Part(re.escape(character), False)

    def group(self) -> _Part:
        if self.take("?") and not self.take(":"):
            name = _NAME.match(self.source, self.at + 1) if self.next_is("<") else None
            if name is None:
                raise NotTranslated("a group of another kind")
            if self.source.count(f"?<{name[0]}") > 1:
                raise NotTranslated("two groups of one name")
            self.at = name.end()
        inside = self.up_to_the_end()
        return _Part(f"(?:{inside.text})", inside.is_nullable)

    def repeated(self, part: _Part) -> _Part:
        match = _QUANTIFIER.match(self.source, self.at)
        if match is None:
            return part
        self.at = match.end()
        is_lazy = self.take("?")
        self.quantifier_is_missing("a repetition")
        low, high = _bounds(match)
        if part.is_nullable and high != 1:
            raise NotTranslated("what may match nothing is repeated")
        written = f"{{{low},{'' if high is None else high}}}"
        return _Part(part.text + written + ("?" if is_lazy else ""), low == 0)

    def character_class(self) -> str:
        is_negated = self.take("^")
        ranges: list[tuple[int, int]] = []
        while not self.take("]"):
            first = self.class_atom()
            if not self.next_is("-") or self.source.startswith("-]", self.at):
                ranges += first
                continue
            self.at += 1
            second = self.class_atom()
            if not _is_one(first) or not _is_one(second):
                if self.is_unicode:
                    raise NotTranslated("a range between sets of characters")
                ranges += [*first, (0x2D, 0x2D), *second]
            elif first[0][0] > second[0][0]:
                raise NotTranslated("a range that ends before it begins")
            else:
                ranges.append((first[0][0], second[0][0]))
        return _as_class(_without(ranges, self.last) if is_negated else _merged(ranges))

    def class_atom(self) -> Ranges:
        character = self.one()
        if character == "\\":
            return self.escape(in_class=True)
        return ((ord(character), ord(character)),)

    def escape(self, *, in_class: bool) -> Ranges:
        """What a `\\` and the characters after it stand for."""
        character = self.one()
        if character.lower() in _SETS:
            ranges = _SETS[character.lower()]
            return ranges if character.islower() else _without(ranges, self.last)
        if character in _CONTROLS:
            return _only(_CONTROLS[character])
        if character == "b" and in_class:
            return _only(0x08)
        if character == "0" and not _DIGIT.match(self.source, self.at):
            return _only(0)
        if character in "0123456789kc" or (character == "B" and in_class):
            raise NotTranslated(f"`\\{character}`")
        if character in "xu":
            return _only(self.code(character))
        if character == "-" and in_class and self.is_unicode:
            return _only(0x2D)
        if self.is_unicode and character not in _SYNTAX:
            raise NotTranslated(f"`\\{character}`")
        return _only(ord(character))

    def code(self, letter: str) -> int:
        r"""`\xHH` and `\uHHHH`; without digits the letter itself."""
        form = _TWO_DIGITS if letter == "x" else _FOUR_DIGITS
        digits = form.match(self.source, self.at)
        if digits is None:
            if self.is_unicode:
                raise NotTranslated(f"`\\{letter}` without its digits")
            return ord(letter)
        self.at = digits.end()
        found = int(digits[0], 16)
        if self.is_unicode and 0xD800 <= found <= 0xDFFF:
            raise NotTranslated("half of a character")
        return found


def _bounds(match: re.Match[str]) -> tuple[int, int | None]:
    """The least and the most repetitions; no most: as many as there are. Raises NotTranslated."""
    simple: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
    if match[0] in simple:
        return simple[match[0]]
    low = int(match[1])
    high = low
    if match[2]:
        high = int(match[3]) if match[3] else -1
    if max(low, high) > _MOST_REPEATS:
        raise NotTranslated(f"more than {_MOST_REPEATS} repetitions")
    if 0 <= high < low:
        raise NotTranslated("a repetition whose bounds are out of order")
    return low, None if high < 0 else high


def _only(code: int) -> Ranges:
    return ((code, code),)


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _merged(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """The same characters, in order and each in one range."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(high, merged[-1][1]))
        else:
            merged.append((low, high))
    return tuple(merged)


def _without(ranges: Iterable[tuple[int, int]], last: int) -> Ranges:
    """All other characters up to the last."""
    found, start = [], 0
    for low, high in _merged(ranges):
        if low > start:
            found.append((start, low - 1))
        start = high + 1
    if start <= last:
        found.append((start, last))
    return tuple(found)


def _as_class(ranges: Ranges) -> str:
    if not ranges:
        return "(?!)"
    if _is_one(ranges):
        return re.escape(chr(ranges[0][0]))
    return "[" + "".join(f"\\U{low:08x}-\\U{high:08x}" for low, high in ranges) + "]"
