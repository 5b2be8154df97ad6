"""Looks at a text: for each kind of text check, what says that it is not met, and that it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Final, Literal, NoReturn, TypeAlias

from honestone.core.checking.gave_up import GaveUp as GaveUp
from honestone.core.checking.patterns import compile_regex
from honestone.core.json_value import NOTE_LIMIT as NOTE_LIMIT
from honestone.core.json_value import late_pattern, listed
from honestone.core.json_value import line_of as line_of
from honestone.core.json_value import quoted as quoted
from honestone.core.json_value import visible as visible

# Says what is wrong with a text, None when nothing is. Raises GaveUp.
Look: TypeAlias = Callable[[str], str | None]


def listed_words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _same(text: str) -> str:
    return text


def _fold(text: str) -> str:
    # For ASCII, lower() is the same and many times faster.
    return text.lower() if text.isascii() else text.casefold()


def holds_words(
    words: tuple[str, ...], fold: Callable[[str], str], *, need: Literal["all", "any"]
) -> tuple[Look, Look]:
    """What is wrong when the words should be there, and when they should not."""
    folded = tuple((fold(word), word) for word in words)
    none_there = (
        f"found none of: {listed(words)}" if len(words) > 1 else f"not found: {listed(words)}"
    )
    first = folded[0][0]

    def misses_one(text: str) -> str | None:
        return None if first in fold(text) else none_there

    def misses_all(text: str) -> str | None:
        inside = fold(text)
        missing = [word for needle, word in folded if needle not in inside]
        return f"not found: {listed(missing)}" if missing else None

    def misses_any(text: str) -> str | None:
        inside = fold(text)
        for needle, _ in folded:
            if needle in inside:
                return None
        return none_there

    def has_any(text: str) -> str | None:
        inside = fold(text)
        for needle, word in folded:
            if (at := inside.find(needle)) >= 0:
                return f"found {quoted(word)} on line {line_of(inside, at)}"
        return None

    def has_all(text: str) -> str | None:
        return f"found all of: {listed(words)}" if misses_all(text) is None else None

    if len(words) == 1:
        return misses_one, has_any
    return (misses_all, has_all) if need == "all" else (misses_any, has_any)


def _look_contains(value: str | Sequence[str], fold: Callable[[str], str]) -> tuple[Look, Look]:
    """All must be there; with `not-`, none may: what everybody means by `not-contains: [TODO,
    FIXME]`.
    """
    words = listed_words(value)
    return holds_words(words, fold, need="all")[0], holds_words(words, fold, need="any")[1]


def _look_equals(value: str) -> tuple[Look, Look]:
    wanted = value.rstrip("\r\n")

    def differs(text: str) -> str | None:
        text = text.rstrip("\r\n")
        if text == wanted:
            return None
        at = next(
            (i for i, (a, b) in enumerate(zip(text, wanted, strict=False)) if a != b),
            min(len(text), len(wanted)),
        )
        got = quoted(text[at : at + 20]) if at < len(text) else "the end"
        want = quoted(wanted[at : at + 20]) if at < len(wanted) else "the end"
        return f"differs on line {line_of(text, at)}: {got} instead of {want}"

    same = f"it is {quoted(wanted)}"
    return differs, lambda text: same if text.rstrip("\r\n") == wanted else None


def _look_starts(value: str) -> tuple[Look, Look]:
    note = f"starts with {quoted(value)}"
    return (
        lambda text: (
            None if text.startswith(value) else f"starts with {quoted(text[: len(value) + 10])}"
        ),
        lambda text: note if text.startswith(value) else None,
    )


def _look_ends(value: str) -> tuple[Look, Look]:
    note = f"ends with {quoted(value)}"

    def ends(text: str) -> bool:
        return text.endswith(value) or text.rstrip("\r\n").endswith(value)

    def misses(text: str) -> str | None:
        return None if ends(text) else f"ends with {quoted(text.rstrip()[-len(value) - 10 :])}"

    return misses, lambda text: note if ends(text) else None


def _look_regex(value: str | Mapping[str, str]) -> tuple[Look, Look]:
    pattern = compile_regex(value)
    search, none_there = pattern.search, f"nothing matches /{visible(pattern.pattern, 120)}/"

    def misses(text: str) -> str | None:
        return None if search(text) else none_there

    def has(text: str) -> str | None:
        match = search(text)
        return (
            None
            if match is None
            else f"found {quoted(match[0])} on line {line_of(text, match.start())}"
        )

    return misses, has


def _look_count(
    count: Callable[[str], int], unit: str, *, most: bool
) -> Callable[[int], tuple[Look, Look]]:
    def build(bound: int) -> tuple[Look, Look]:
        def wrong(text: str, *, negated: bool) -> str | None:
            counted = count(text)
            held = counted <= bound if most else counted >= bound
            if held != negated:
                return None
            return f"{counted} {unit}, {'more' if most != negated else 'fewer'} than {_bound(bound, most, negated)}"

        return lambda text: wrong(text, negated=False), lambda text: wrong(text, negated=True)

    return build


def _bound(bound: int, most: bool, negated: bool) -> str:
    """`not-max-words: 5` wants 6 at least, `not-min-words: 5` wants 4 at most."""
    if not negated:
        return str(bound)
    return str(bound + 1 if most else bound - 1)


def _count_words(text: str) -> int:
    return len(text.split())


def json_problem(text: str) -> str | None:
    """Why a text is not one JSON value, with line and column; None when it is. NaN and Infinity are
    not JSON. Raises GaveUp.
    """
    try:
        _STRICT.decode(text)
    except json.JSONDecodeError as error:
        return f"not JSON: {error.msg[:1].lower()}{error.msg[1:]} at line {error.lineno}, column {error.colno}"
    except ValueError as error:
        return f"not JSON: {error}"
    except RecursionError:
        raise GaveUp("it may be JSON, but is nested too deeply to be read") from None
    return None


def json_parts(text: str) -> Iterator[str]:
    """The JSON objects and lists in a text, outermost ones only, in order. Raises GaveUp at its end
    where it has not looked at all of them.
    """
    at, tries, is_too_deep = 0, 0, False
    while (begin := _BEGINNING.search(text, at)) is not None:
        if tries == _MOST_BEGINNINGS:
            raise GaveUp(
                f"more than {_MOST_BEGINNINGS:,} places in it may be the beginning of JSON"
            )
        start, tries = begin.start(), tries + 1
        try:
            _, at = _STRICT.raw_decode(text, start)
        except RecursionError:
            at, is_too_deep = start + 1, True
        except ValueError:
            at = start + 1
        else:
            yield text[start:at]
    if is_too_deep:
        raise GaveUp("a part of it may be JSON, but is nested too deeply to be read")


_BEGINNING: Final = late_pattern(r"[\[{]")
_MOST_BEGINNINGS: Final = 10_000


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


_STRICT: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def _look_json(value: object) -> tuple[Look, Look]:
    return json_problem, lambda text: "it is JSON" if json_problem(text) is None else None


def _look_refusal(value: object) -> tuple[Look, Look]:
    from honestone.core.reading.refusal import is_refusal

    return (
        lambda text: None if is_refusal(text) else "it does not refuse",
        lambda text: "it refuses" if is_refusal(text) else None,
    )


def _look_markup(
    kind: str, value: str | Sequence[str] | Literal[True] | None = None
) -> tuple[Look, Look]:
    """`value`: the paths of elements that must be in it."""
    from honestone.core.checking.markup import markup_problem

    needed = () if value is None or value is True else listed_words(value)
    verb, _, element = kind.partition("-")

    def misses(text: str) -> str | None:
        return markup_problem(kind, text, needed)

    def has(text: str) -> str | None:
        return (
            f"it {verb} {element.upper()}" if markup_problem(kind, text, needed) is None else None
        )

    return misses, has


LOOKS: Final[Mapping[str, Callable[..., tuple[Look, Look]]]] = {
    "contains": partial(_look_contains, fold=_same),
    "contains-all": lambda value: holds_words(listed_words(value), _same, need="all"),
    "contains-any": lambda value: holds_words(listed_words(value), _same, need="any"),
    "icontains": partial(_look_contains, fold=_fold),
    "icontains-all": lambda value: holds_words(listed_words(value), _fold, need="all"),
    "icontains-any": lambda value: holds_words(listed_words(value), _fold, need="any"),
    "equals": _look_equals,
    "starts-with": _look_starts,
    "ends-with": _look_ends,
    "regex": _look_regex,
    "max-words": _look_count(_count_words, "words", most=True),
    "min-words": _look_count(_count_words, "words", most=False),
    "max-chars": _look_count(len, "characters", most=True),
    "min-chars": _look_count(len, "characters", most=False),
    "is-json": _look_json,
    "is-refusal": _look_refusal,
    **{
        kind: partial(_look_markup, kind)
        for kind in ("is-html", "contains-html", "is-xml", "contains-xml")
    },
}
