"""JSON objects in what a model wrote: whole ones as they are, damaged ones only where no value has
to be guessed.

An object counts only where it is at the top of the text. What is inside a comment, a quotation, or
braces that cannot be read as an object is skipped with all objects in it: it may be a draft that
the model took back. Where the end of a skipped part is uncertain, the later end is taken, and the
rest of the text where there may be none. A wrong value is worse than none.

Nothing here knows what an object means; `reply` and `free_text` choose among what is found. Hostile
text is expected: the work is bounded by the length of the text, and nothing raises.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite
from typing import Final

from honestone.core.tables import table_json

# Deeper nesting is not a reply to anything that we ask.
MAX_DEPTH: Final = 60

# Python counts lines for every JSON error, so each failure costs up to the length of the text.
MAX_STRICT_FAILURES: Final = 200

MAX_FAILURES: Final = 20_000

_WRITTEN: Final = json.loads(table_json("reading/json_text"))


class Doubled(dict[str, object]):
    """An object that names a key twice. The last value is kept as a placeholder; no reader may use
    it.
    """

    doubled: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Unusable:
    """What is written where a number should be: NaN, an infinity, or more digits than any scale
    has.
    """

    written: str

    def __repr__(self) -> str:
        return self.written if len(self.written) <= 20 else self.written[:17] + "..."


@dataclass(frozen=True, slots=True)
class FoundObject:
    """One whole top-level object, where it is, and what had to be overlooked to read it."""

    value: dict[str, object]
    start: int
    end: int
    repairs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class UnfinishedObject:
    """An object that is still open where the text ends.

    `members` are those that are surely complete; `last` is a number or word that the end of the
    text touches.
    """

    start: int
    members: tuple[tuple[str, object], ...]
    last: tuple[str, object] | None = None


class Skip(StrEnum):
    """Why a part of a text is skipped."""

    COMMENT = "comment"
    QUOTED = "quoted"
    # An object that was begun and cannot be read.
    ABANDONED = "abandoned"
    # Braces that do not begin an object: a word on its line, or code that is not closed. Sentences
    # in them may be read.
    BRACES = "braces"


@dataclass(frozen=True, slots=True)
class Skipped:
    start: int
    end: int
    why: Skip


@dataclass(frozen=True, slots=True)
class Scan:
    found: tuple[FoundObject, ...] = ()
    unfinished: UnfinishedObject | None = None
    given_up: str | None = None
    skipped: tuple[Skipped, ...] = ()

    def abandoned_after(self, at: int) -> tuple[Skipped, ...]:
        """What begins at or after a place and may be an attempt at another object."""
        return tuple(
            one
            for one in self.skipped
            if one.start >= at and one.why in (Skip.ABANDONED, Skip.BRACES)
        )


def doubled_keys(value: object) -> frozenset[str]:
    return value.doubled if isinstance(value, Doubled) else frozenset()


def objects_in(text: str, *, lenient: bool = True) -> Scan:
    """Every top-level JSON object of a text, in order. With `lenient`, damaged ones too."""
    return _Scanner(text, lenient).scan()


def holds_whole_object(text: str) -> bool:
    """Whether a text has a JSON object and ends within none."""
    scan = objects_in(text, lenient=False)
    return bool(scan.found) and scan.unfinished is None and not scan.skipped


def outside(text: str, scan: Scan) -> str:
    """The text without its objects, and without what was skipped and may not be read as a sentence
    either.
    """
    gone = [(one.start, one.end, "\n") for one in scan.found]
    gone += [
        (one.start, one.end, " " if one.why is Skip.COMMENT else "\n")
        for one in scan.skipped
        if one.why is not Skip.BRACES
    ]
    if scan.unfinished:
        gone.append((scan.unfinished.start, len(text), "\n"))
    pieces, at = [], 0
    for start, end, instead in sorted(gone):
        pieces += [text[at:start], instead]
        at = max(at, end)
    return "".join((*pieces, text[at:]))


class _Scanner:
    """Goes through a text once, from the outside: what it skips it does not enter."""

    def __init__(self, text: str, lenient: bool) -> None:
        self.text = text
        self.lenient = lenient
        self.found: list[FoundObject] = []
        self.skipped: list[Skipped] = []
        self.unfinished: UnfinishedObject | None = None
        self.at = 0
        self.last = len(text.rstrip())
        self.line = _Line()
        self.passed = 0  # up to where `line` knows the text
        self.code_end = 0
        self.strict_failures = self.failures = 0
        self.budget = 2 * len(text) + 50_000  # characters that may be read in vain

    def scan(self) -> Scan:
        while (match := _NEXT.search(self.text, self.at)) and self.unfinished is None:
            if match["brace"]:
                given_up = self._braces(match.start("brace"))
                if given_up:
                    return self._result(given_up)
            elif match["code"]:
                self._code(match)
            elif match["triple"]:
                self._triple(match.start())
            else:
                self._comment(match)
        return self._result(None)

    def _result(self, given_up: str | None) -> Scan:
        return Scan(tuple(self.found), self.unfinished, given_up, tuple(self.skipped))

    def _code(self, match: re.Match[str]) -> None:
        start, end = match.span()
        if start < self.code_end:  # The mark that closes the last piece opens none.
            self.at = start + 1
        elif _closing(self.text, start, end) is None:
            self.at = (
                end  # Braces that do not match inside `code` say nothing about the text around it.
            )
        else:
            self.at, self.code_end = start + 1, end

    def _triple(self, start: int) -> None:
        """Past a text in three quotation marks, unless it is the whole reply."""
        closing = self.text.find('"""', start + 3)
        end = len(self.text) if closing < 0 else closing + 3
        if not self.text[: min(start, 9)].strip() and end >= self.last and closing > 0:
            self.at = self.passed = start + 3
        else:
            self._skip(start, end, Skip.QUOTED)

    def _comment(self, match: re.Match[str]) -> None:
        end = (
            match.end()
            if match["line"] or match["hash"]
            else _comment_end(self.text, match.start())
        )
        if match["hash"] and not _BRACES.search(match[0]) and not _QUOTED_KEY.search(match[0]):
            self.at = end  # A heading, and its words may be a verdict.
        else:
            self._skip(match.start(), end, Skip.COMMENT)

    def _skip(self, start: int, end: int, why: Skip) -> None:
        self.skipped.append(Skipped(start, end, why))
        self._pass(start, end)

    def _pass(self, start: int, end: int) -> None:
        self.line.read(self.text[self.passed : start])
        self.line.jump("\n" in self.text[start:end])
        self.at = self.passed = end

    def _braces(self, start: int) -> str | None:
        """Reads or skips what an opening brace begins. Returns why the text cannot be read on, or
        None.
        """
        opening, why = _OPENING.match(self.text, start), Skip.BRACES
        if opening and opening[1] in '"}':
            try:
                value, end = _decode(self.text, start)
                self._take(FoundObject(value, start, end))
                return None
            except ValueError:
                self.strict_failures += 1
            except RecursionError:
                return "it is nested too deeply to be read"
        if opening:
            tolerant = _Tolerant(self.text)
            try:
                value, end = tolerant.read(start)
                self._take(
                    FoundObject(value, start, end, tuple(tolerant.repairs)), is_valid=self.lenient
                )
                return None
            except _Broken as broken:
                self.budget -= broken.at - start
            except _Open:
                if tolerant.has_begun:
                    self.unfinished = tolerant.unfinished(start)
                    return None
                self.budget -= len(self.text) - start
            why = Skip.ABANDONED if tolerant.has_begun else Skip.BRACES
            self.failures += 1
        self._skip_braces(start, why)
        if (
            self.budget < 0
            or self.strict_failures > MAX_STRICT_FAILURES
            or self.failures > MAX_FAILURES
        ):
            return "it holds too many broken pieces of JSON to be read"
        return None

    def _take(self, found: FoundObject, is_valid: bool = True) -> None:
        before = self.line.with_text(self.text[self.passed : found.start])
        if before.quotes(self.text, found):
            self._skip(found.start, found.end, Skip.QUOTED)
        elif _is_member(self.text, self.passed, found):
            self._skip(found.start, found.end, Skip.ABANDONED)
        else:
            if is_valid:
                self.found.append(found)
            self._pass(found.start, found.end)

    def _skip_braces(self, start: int, why: Skip) -> None:
        """Past braces that cannot be read as an object: to the end of the text where they may not
        be closed.
        """
        end = _closing(self.text, start)
        self.budget -= (len(self.text) if end is None else end) - start
        double = _DOUBLE_BRACE.match(self.text, start)
        if end is not None and double:
            # One object in two braces, as templates write it, is not inside another.
            inner = _closing(self.text, double.end(), end)
            if inner is not None and not self.text[inner : end - 1].strip():
                self.at = double.end()
                return
        stop = len(self.text) if end is None else end
        if (end is not None and self.text.find("\n", start, end) >= 0) or _QUOTED_KEY.search(
            self.text, start, stop
        ):
            why = Skip.ABANDONED
        self._skip(start, stop, why)


_QUOTED_KEY = re.compile(r"""["'”]\s*:""")
_DOUBLE_BRACE = re.compile(r"\{\s*+(?=\{)")


@dataclass(slots=True)
class _Line:
    """The line up to a place, without objects: which quotation marks are open there."""

    text: str = ""
    is_odd: bool = False
    is_open: bool = False

    def read(self, more: str) -> None:
        start = more.rfind("\n") + 1
        if start:
            self.jump(True)
        piece = more[start:]
        self.is_odd ^= (piece.count('"') - piece.count('\\"')) % 2 == 1
        for opening, closing in ("“”", "«»"):
            if opening in piece or closing in piece:
                self.is_open = piece.rfind(opening) > piece.rfind(closing)
        self.text = (self.text + piece)[-400:]

    def jump(self, is_new_line: bool) -> None:
        if is_new_line:
            self.text, self.is_odd, self.is_open = "", False, False

    def with_text(self, more: str) -> _Line:
        line = _Line(self.text, self.is_odd, self.is_open)
        line.read(more)
        return line

    def quotes(self, text: str, found: FoundObject) -> bool:
        """Whether an object that begins here is inside quotation marks, and so is somebody's words."""
        is_single = _SINGLE_QUOTED.search(self.text) and _CLOSING_SINGLE.match(text, found.end)
        if not (self.is_odd or self.is_open or is_single):
            return False
        # A model may put its whole reply into quotation marks.
        return not (
            len(text) < found.end - found.start + 100
            and _is_only_quotes(text[: found.start], text[found.end :])
        )


def _is_only_quotes(before: str, after: str) -> bool:
    before, after = before.strip(), after.strip()
    return len(before) == len(after) == 1 and before in "\"'“‘«" and after in "\"'”’»"


_NEXT = re.compile(_WRITTEN["next"])
_BLOCK_ENDS: Final = {"/*": (re.compile(r"/\*|\*/"), 2), "<!": (re.compile(r"<!--|-->"), 4)}


def _comment_end(text: str, start: int) -> int:
    """The end of a block comment with all comments in it; the end of the text when one of them does
    not end.
    """
    marks, width = _BLOCK_ENDS[text[start : start + 2]]
    depth = 1
    for mark in marks.finditer(text, start + width):
        depth += 1 if mark[0] in ("/*", "<!--") else -1
        if depth == 0:
            return mark.end()
    return len(text)


_BRACES = re.compile(r"[{}]")
_BRACES_OUTSIDE_STRINGS = re.compile(_WRITTEN["braces_outside_strings"])


def _closing(text: str, start: int, stop: int | None = None) -> int | None:
    """The end of the braces that begin at or after `start`; None where they may not be closed.

    The text is damaged, so it is read both ways: with braces in strings and comments counted, and
    without them.
    """
    stop = len(text) if stop is None else stop
    ends = []
    for pattern in (_BRACES, _BRACES_OUTSIDE_STRINGS):
        depth, end = 0, None
        for match in pattern.finditer(text, start, stop):
            if match[0] in "{}":
                depth += 1 if match[0] == "{" else -1
            elif match.lastgroup == "open":
                break
            if depth <= 0 and match[0] == "}":
                end = match.end()
                break
        if end is None and depth > 0:
            return None
        ends.append(stop if end is None else end)
    return max(ends)


_SINGLE_QUOTED = re.compile(r"(?:^|[\s(\[:])['‘](?=\S|$)[^'’\n]*$")
_CLOSING_SINGLE = re.compile(r"[^\n'’]*['’](?!\w)")


_KEY_BEFORE = re.compile(r"""["'”]\s*:\s*\Z""")
_KEY_AFTER = re.compile(r"""\s*+,\s*+(?:"[^"\n]*+"|'[^'\n]*+'|“[^”\n]*+”|\w++)\s*+:""")


def _is_member(text: str, since: int, found: FoundObject) -> bool:
    """Whether an object is a value of another one whose opening brace is lost."""
    return bool(
        _KEY_BEFORE.search(text, max(since, found.start - 80), found.start)
        or _KEY_AFTER.match(text, found.end)
    )


# An opening brace that can begin an object: a key in any of the ways we understand, a comment, or
# the end.
_OPENING = re.compile(r"""\{(?=\s*+(["'“”„}\w/#<]))""")


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


def _decode(text: str, start: int) -> tuple[dict[str, object], int]:
    value, end = _DECODER.raw_decode(text, start)
    return value, end


def decode_strictly(text: str) -> tuple[dict[str, object], int]:
    """The object that a text begins with, and where it ends. Raises ValueError, RecursionError."""
    return _decode(text, 0)


class _Broken(Exception):
    def __init__(self, at: int) -> None:
        self.at = at


class _Open(Exception):
    """The text ended inside the object."""


_SPACE = re.compile(_WRITTEN["space"])
_DOUBLE = re.compile(r'"((?:[^"\\]|\\.)*+)"', re.DOTALL)
_SINGLE = re.compile(r"'((?:[^'\\]|\\.)*+)'", re.DOTALL)
_TYPOGRAPHIC = re.compile(r"[“”„]([^“”„]*+)[“”]")
_QUOTED = {'"': _DOUBLE, "'": _SINGLE}
_BARE_KEY = re.compile(r"[A-Za-z_]\w*+")
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*+)(\.\d++)?+([eE][+-]?\d++)?+(?![\w.])")
_WORD = re.compile(r"-?[A-Za-z]++(?!\w)")
# Behind a bracket that closes nothing: the next entry of a list, or the next key of an object.
_AFTER_STRAY: Final = {"]": re.compile(r"\s*+,\s*+\{"), "}": re.compile(r"\s*+(?:,\s*+[\"'“]|\})")}
_CUT_SCALAR = re.compile(r"[-+.\w]*+\Z")
_WORDS: Final[dict[str, object]] = {
    "true": True,
    "false": False,
    "null": None,
    "True": True,
    "False": False,
    "None": None,
    **{word: Unusable(word) for word in ("NaN", "Infinity", "-Infinity")},
}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
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


class _Tolerant:
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
        if at is not None and (self.text[at] in "/#<" or _OPENING.search(self.text, at)):
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
            raise _Open
        for opening, closing in (("/*", "*/"), ("<!--", "-->")):
            if self.text.startswith(opening, end):
                self.has_begun = True
                if self.text.find(closing, end) >= 0:
                    raise _Broken(end)
                self.open_at = end
                raise _Open
        return end

    def _object(self, at: int, depth: int) -> tuple[dict[str, object], int]:
        if depth > MAX_DEPTH:
            raise _Broken(at)
        pairs: list[tuple[str, object]] = []
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
        return object_of(pairs), at + 1

    def _member(self, key: str, value: object, end: int) -> None:
        """A value of the outermost object, in case the text ends before the object does."""
        if end == len(self.text):
            self.last = (key, value)
        elif self.text[end].isspace() or self.text[end] in ",}":
            self.members.append((key, value))

    def _list(self, at: int, depth: int) -> tuple[list[object], int]:
        if depth > MAX_DEPTH:
            raise _Broken(at)
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
            raise _Open if _CUT_SCALAR.match(self.text, at) else _Broken(at)
        if match[0] in {"True", "False", "None"}:
            self._repair("Python literals")
        return _WORDS[match[0]], match.end()

    def _string(self, at: int) -> tuple[str, int]:
        mark = self.text[at]
        match = _QUOTED.get(mark, _TYPOGRAPHIC).match(self.text, at)
        if match is None:
            self.open_at = at
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
    """The text after a thinking block that begins it, and whether there was one. An endless one
    leaves nothing.
    """
    opening = _THINKING.match(text)
    if opening is None:
        return text, False
    closing = re.compile(f"</{opening[1]}>", re.IGNORECASE).search(text, opening.end())
    return (text[closing.end() :] if closing else ""), True


# The end of thinking whose opening tag the server or the prompt holds. Prose that mentions such a
# tag goes on in its line behind it, with a space before the tag or marks around it.
_UNOPENED = re.compile(
    r"(?:</(?:think|thinking|thought|reasoning)>|\[/think\]|◁/think▷|</seed:think>)[ \t]*\n"
    r"|(?<![ \t\"'`“‘«])(?:</(?:think|thinking|thought|reasoning)>|\[/think\]|◁/think▷|</seed:think>)(?=[\w{*#`\[])",
    re.IGNORECASE,
)
_OPENED = re.compile(
    r"<(?:think|thinking|thought|reasoning)>|\[think\]|◁think▷|<seed:think>", re.IGNORECASE
)


def after_unopened_thinking(text: str) -> str | None:
    """What follows thinking that has a closing tag alone; None where there is none, or a block is
    opened in the text.
    """
    closings = list(_UNOPENED.finditer(text))
    if (
        not closings
        or not text[closings[-1].end() :].strip()
        or _OPENED.search(text, 0, closings[-1].start())
    ):
        return None
    return text[closings[-1].end() :]


_FENCE_LINE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)

# An object whose quotation marks or line breaks are escaped, as in a string that holds it, and what
# of the string is before it.
_HELD_OBJECT = re.compile(r"""\{(?:\\[nrt]|\s*+\\["'])""")
_STRING_BEFORE = re.compile(r"""(?<!\\)(["'])(?:\s|\\[nrt]){0,50}\Z""")
_REST_OF_LINE = re.compile(r"[ \t]*[.;]?[ \t]*(?:\n|\Z)")
_OWN_LABEL = re.compile(_WRITTEN["own_label"])

ENCODED: Final = "JSON encoded twice"


def decoded_once(text: str) -> tuple[str, bool]:
    """The text with the object that its JSON string holds in the string's place, and whether there
    was such a string.

    Words in quotation marks may be a quotation, so the string has to be the whole reply, follow a
    label that only names the judge's own verdict, or be in a code fence of its own. Where more than
    white space follows it, a label or a fence is needed.
    """
    held = _HELD_OBJECT.search(text)
    if held is None:
        return text, False
    opening = _STRING_BEFORE.search(text, max(0, held.start() - 100), held.start())
    start, mark = (opening.start(), opening[1]) if opening else (held.start(), "")
    end = _end_of_string(text, start, mark)
    if (
        end is None
        or not _REST_OF_LINE.match(text, end)
        or not _is_own_string(text[:start], text[end:])
    ):
        return text, False
    try:
        # Read as any damaged string is: raw line breaks do no harm.
        inside, _ = _Tolerant(text[start:end] if mark else f'"{text[start:end]}"')._string(0)
    except _Open:
        return text, False
    return text[:start] + inside + text[end:], True


def _end_of_string(text: str, start: int, mark: str) -> int | None:
    if mark:
        whole = (_DOUBLE if mark == '"' else _SINGLE).match(text, start)
        return whole.end() if whole and whole[1].rstrip(" \t\r\n\\nrt").endswith("}") else None
    end = text.rfind("}") + 1
    return end if end and _DOUBLE.fullmatch(f'"{text[start:end]}"') else None


def _is_own_string(before: str, after: str) -> bool:
    lines = [line for line in before.split("\n") if line.strip()]
    is_fenced = bool(lines and _FENCE_LINE.fullmatch(lines[-1]))
    line_before = lines[-2:-1] if is_fenced else lines[-1:]
    if line_before and line_before[0].rstrip("*_ \t").endswith((":", "=")):
        return bool(_OWN_LABEL.fullmatch(line_before[0]))
    return is_fenced or not (line_before or after.strip(" \t\r\n.;"))


def around_repairs(text: str, found: FoundObject) -> Iterable[str]:
    """What is around the chosen object and was overlooked."""
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
