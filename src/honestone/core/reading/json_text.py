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

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.reading.tolerant_json import (
    DOUBLE,
    OPENING,
    SINGLE,
    WRITTEN,
    Broken,
    Open,
    Tolerant,
    UnfinishedObject,
    decode,
)

# Python counts lines for every JSON error, so each failure costs up to the length of the text.
MAX_STRICT_FAILURES: Final = 200

MAX_FAILURES: Final = 20_000


class FoundObject(Struct, frozen=True):
    """One whole top-level object, where it is, and what had to be overlooked to read it."""

    value: dict[str, object]
    start: int
    end: int
    repairs: tuple[str, ...] = ()


class Skip(StrEnum):
    """Why a part of a text is skipped."""

    COMMENT = "comment"
    QUOTED = "quoted"
    # An object that was begun and cannot be read.
    ABANDONED = "abandoned"
    # Braces that do not begin an object: a word on its line, or code that is not closed. Sentences
    # in them may be read.
    BRACES = "braces"


class Skipped(Struct, frozen=True):
    start: int
    end: int
    why: Skip


class Scan(Struct, frozen=True):
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
        opening, why = OPENING.match(self.text, start), Skip.BRACES
        if opening and opening[1] in '"}':
            try:
                value, end = decode(self.text, start)
                self._take(FoundObject(value, start, end))
                return None
            except ValueError:
                self.strict_failures += 1
            except RecursionError:
                return "it is nested too deeply to be read"
        if opening:
            tolerant = Tolerant(self.text)
            try:
                value, end = tolerant.read(start)
                self._take(
                    FoundObject(value, start, end, tuple(tolerant.repairs)), is_valid=self.lenient
                )
                return None
            except Broken as broken:
                self.budget -= broken.at - start
            except Open:
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


_QUOTED_KEY = late_pattern(r"""["'”]\s*:""")
_DOUBLE_BRACE = late_pattern(r"\{\s*+(?=\{)")


class _Line(Struct):
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


_NEXT = late_pattern(WRITTEN["next"])
_BLOCK_ENDS: Final = {"/*": (late_pattern(r"/\*|\*/"), 2), "<!": (late_pattern(r"<!--|-->"), 4)}


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


_BRACES = late_pattern(r"[{}]")
_BRACES_OUTSIDE_STRINGS = late_pattern(WRITTEN["braces_outside_strings"])


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


_SINGLE_QUOTED = late_pattern(r"(?:^|[\s(\[:])['‘](?=\S|$)[^'’\n]*$")
_CLOSING_SINGLE = late_pattern(r"[^\n'’]*['’](?!\w)")


_KEY_BEFORE = late_pattern(r"""["'”]\s*:\s*\Z""")
_KEY_AFTER = late_pattern(r"""\s*+,\s*+(?:"[^"\n]*+"|'[^'\n]*+'|“[^”\n]*+”|\w++)\s*+:""")


def _is_member(text: str, since: int, found: FoundObject) -> bool:
    """Whether an object is a value of another one whose opening brace is lost."""
    return bool(
        _KEY_BEFORE.search(text, max(since, found.start - 80), found.start)
        or _KEY_AFTER.match(text, found.end)
    )


_FENCE_LINE = late_pattern(r"^[ \t]*(?:`{3,}|~{3,})[^\n`]*$", re.MULTILINE)

# An object whose quotation marks or line breaks are escaped, as in a string that holds it, and what
# of the string is before it.
_HELD_OBJECT = late_pattern(r"""\{(?:\\[nrt]|\s*+\\["'])""")
_STRING_BEFORE = late_pattern(r"""(?<!\\)(["'])(?:\s|\\[nrt]){0,50}\Z""")
_REST_OF_LINE = late_pattern(r"[ \t]*[.;]?[ \t]*(?:\n|\Z)")
_OWN_LABEL = late_pattern(WRITTEN["own_label"])

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
        inside, _ = Tolerant(text[start:end] if mark else f'"{text[start:end]}"')._string(0)
    except Open:
        return text, False
    return text[:start] + inside + text[end:], True


def _end_of_string(text: str, start: int, mark: str) -> int | None:
    if mark:
        whole = (DOUBLE if mark == '"' else SINGLE).match(text, start)
        return whole.end() if whole and whole[1].rstrip(" \t\r\n\\nrt").endswith("}") else None
    end = text.rfind("}") + 1
    return end if end and DOUBLE.fullmatch(f'"{text[start:end]}"') else None


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
