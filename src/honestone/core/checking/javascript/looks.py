"""Looks at a text as promptfoo takes it, which is JavaScript: its own lower case, line ends that
count, patterns that see 16-bit units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

from honestone.core.checking.gave_up import GaveUp
from honestone.core.checking.javascript.patterns import compile_javascript, of_units, units
from honestone.core.checking.looks import LOOKS, Look, holds_words
from honestone.core.json_value import Json, late_pattern, line_of, quoted, visible
from honestone.core.judging.rubric import Check


def is_javascript(check: Check) -> bool:
    """Whether a check compares as JavaScript does."""
    return check.options.get("exact") == "javascript"


def look_of(check: Check) -> Look:
    """What says that a text check is not met. Raises NotTranslated for a pattern that Python cannot
    say.
    """
    side = int(check.negated)
    if check.kind == "regex":
        return _pattern_look(str(check.value), negated=check.negated)
    if check.kind == "equals":
        return _equals_look(str(check.value), negated=check.negated)
    if check.kind in _ANY_CASE:
        words = check.words
        is_any = check.kind == "icontains-any" or (check.kind == "icontains" and check.negated)
        need: Literal["any", "all"] = "any" if is_any else "all"
        return holds_words(words, str.lower, need=need)[side]
    return LOOKS[check.kind](check.value)[side]


_ANY_CASE: Final = frozenset(("icontains", "icontains-any", "icontains-all"))


def _equals_look(wanted: str, *, negated: bool) -> Look:
    def differs(text: str) -> str | None:
        return None if text == wanted else f"it is {quoted(text)}, not {quoted(wanted)}"

    def is_same(text: str) -> str | None:
        return f"it is {quoted(wanted)}" if text == wanted else None

    return is_same if negated else differs


def _pattern_look(written: str, *, negated: bool) -> Look:
    pattern = compile_javascript(written)

    def misses(text: str) -> str | None:
        match = pattern.search(units(text))
        return None if match else f"nothing matches /{visible(written, 120)}/"

    def has(text: str) -> str | None:
        searched = units(text)
        match = pattern.search(searched)
        if match is None:
            return None
        return f"found {quoted(of_units(match[0]))} on line {line_of(searched, match.start())}"

    return has if negated else misses


# How far promptfoo looks for the end of an object.
_LONGEST: Final = 100_000
# What is tried in vain before the look is given up: characters, with the braces that are put at the
# end. A try takes as long as this many of them at least.
_MOST_TRIED: Final = 100_000
_LEAST_OF_A_TRY: Final = 100


def objects_in(text: str, read: Callable[[str], Json]) -> Iterator[Json]:
    """The objects in a text, outermost ones only, in order: from each `{` to where as many braces
    are closed as were opened, those of texts too. At the end of the text the missing ones are put
    there. `read` raises ValueError for what is not a value, RecursionError for what is nested too
    deeply. Raises GaveUp, for the latter at the end.
    """
    at, tried, is_too_deep = text.find("{"), 0, False
    while at >= 0:
        if tried > _MOST_TRIED:
            raise GaveUp("too many places in it may be an object's beginning")
        end, still_open = _end_of(text, at)
        whole = text[at:end] + "}" * still_open
        try:
            found = read(whole)
        except (ValueError, RecursionError) as error:
            is_too_deep = is_too_deep or isinstance(error, RecursionError)
            tried += max(len(whole), _LEAST_OF_A_TRY)
            end = at + 1
        else:
            if isinstance(found, Mapping | list):
                yield found
        at = text.find("{", end)
    if is_too_deep:
        raise GaveUp("a part of it may be an object, but is nested too deeply to be read")


_BRACE: Final = late_pattern("[{}]")


def _end_of(text: str, start: int) -> tuple[int, int]:
    """Where an object that begins here may end, and how many braces are open there."""
    still_open, stop = 0, min(start + _LONGEST, len(text))
    for brace in _BRACE.finditer(text, start, stop):
        still_open += 1 if brace[0] == "{" else -1
        if still_open == 0:
            return brace.end(), 0
    return stop, still_open
