"""Checks, the declarative part: reading one, what can be wrong with it, and those that need nothing
but a text.

The kinds are described in `check_kinds.toml`, checks of JSON fields and of traces in
`field_accuracy` and `trace_checks`. What touches files or starts programs is in `adapters/checks`.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import re
import shlex
import tomllib
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from math import isfinite
from typing import Final, Literal, NoReturn, TypeAlias, TypedDict

from honestone.core.artifact import Entry, Version
from honestone.core.checking.added_kinds import added_kinds
from honestone.core.checking.field_accuracy import field_problems
from honestone.core.checking.gave_up import GaveUp as GaveUp
from honestone.core.checking.text_form import asks_for_line_breaks, form_words, normal, normal_value
from honestone.core.checking.trace_checks import count_problems
from honestone.core.errors import RubricError
from honestone.core.json_value import NOTE_LIMIT as NOTE_LIMIT
from honestone.core.json_value import Json, JsonObject, listed
from honestone.core.json_value import line_of as line_of
from honestone.core.json_value import quoted as quoted
from honestone.core.json_value import visible as visible
from honestone.core.judging.rubric import Check, Item
from honestone.core.numbers import ONE, ZERO
from honestone.core.tables import table_text

# What a check answers: met (True), unmet (False, with what was missing or found), or could not be
# judged (None, with why). `not-` turns met and unmet round, and nothing else.
CheckAnswer: TypeAlias = tuple[bool | None, str | None]

# What a target produced is judged as a file of this name.
OUTPUT_NAME: Final = "output.txt"


# ------------------------------------------------------------------------------------------------
# reading a check


def read_check(written: JsonObject) -> Check:
    """`{contains: x, path: y}` as a check. Raises RubricError whose `path` is the offending key."""
    names = [key for key in written if str(key).removeprefix("not-") in _OWN]
    if len(names) != 1 or not written.keys() <= {
        names[0],
        *_OWN[names[0].removeprefix("not-")].options,
    }:
        names = [
            key for key in written if str(key).removeprefix("not-") in KINDS
        ]  # those of other packages too
    if len(names) > 1:
        raise RubricError(
            f"a check has one kind, but this one has {listed(names)}",
            path=(names[1],),
            hint="make them two items",
        )
    if not names:
        options = {option for kind in _OWN.values() for option in kind.options}
        unknown = [str(key) for key in written if key not in options]
        problem, advice = _unknown_kind(unknown[0] if unknown else None)
        raise RubricError(problem, path=tuple(unknown[:1]), hint=advice)
    (name,) = names
    check = Check(
        kind=name.removeprefix("not-"),
        negated=name.startswith("not-"),
        value=written[name],
        options={key: value for key, value in written.items() if key != name},
    )
    for key, message, hint in _problems(check):
        raise RubricError(message, path=(key,), hint=hint)
    return check


def check_problem(check: Check) -> tuple[str, str | None] | None:
    """What is wrong with a check as it is written, and what to do: (message, hint); None when
    nothing is.
    """
    for _, message, hint in _problems(check):
        return message, hint
    return None


def _problems(check: Check) -> Iterable[tuple[str, str, str | None]]:
    """(key, message, hint) of everything wrong with a check."""
    kind = KINDS.get(check.kind)
    if kind is None:
        message, hint = _unknown_kind(check.name)
        yield check.name, message, hint
        return
    if not fits(check.value, kind.schema):
        yield (
            check.name,
            f"`{check.name}` takes {kind.takes}, not {_shown_value(check.value)}",
            _help(check, kind),
        )
    elif check.kind in _PROBLEMS:
        yield from (
            (check.name, *problem) for problem in _PROBLEMS[check.kind](check.name, check.value)
        )
    for key, value in check.options.items():
        option = kind.options.get(key)
        if option is None:
            yield key, f"`{check.name}` has no option `{key}`", _near(key, kind.options, "options")
        elif not fits(value, option.schema):
            yield key, f"`{key}` takes {option.takes}, not {_shown_value(value)}", None
        elif key in _OPTION_PROBLEMS:
            yield from ((key, *problem) for problem in _OPTION_PROBLEMS[key](key, value))
            if key == "path" and (place := check.options.get("in", "output")) != "output":
                what = "the diff" if place == "diff" else "a reply"
                yield (
                    key,
                    f"`path` chooses files, but `in: {place}` reads {what}",
                    "leave one of them out",
                )
            if key == "transform" and not {"path", "in"}.isdisjoint(check.options):
                yield (
                    key,
                    "`transform` changes the output, but `path` and `in` read something else",
                    "leave it out",
                )


def _unknown_kind(name: str | None) -> tuple[str, str]:
    if name is None:
        return "a check needs a kind", f"one of: {', '.join(KINDS)}; each also as not-..."
    return f"unknown check `{visible(name, 40)}`", _near(
        name, [*KINDS, *(f"not-{kind}" for kind in KINDS)], "checks"
    )


def _near(name: str, names: Iterable[str], what: str) -> str:
    known = list(names)
    near = difflib.get_close_matches(name.lower().replace("_", "-"), known, n=1, cutoff=0.6)
    if near or not known:
        return f"did you mean `{near[0]}`?" if near else "it has no options"
    shown = [name for name in known if not name.startswith("not-")]
    return f"{what}: {', '.join(shown)}"


def _help(check: Check, kind: Kind) -> str:
    if None in kind.schema.get("enum", ()) and check.value is False:
        return f"write `not-{check.kind}: true` for the opposite"
    if isinstance(check.value, int | float) and fits("x", kind.schema):
        return "put it in quotes to make it a text"
    return f"for example: {kind.example}"


# (message, hint) of what the schema of a value cannot say.
Problems: TypeAlias = Iterable[tuple[str, str | None]]


def _command_problems(name: str, value: str | Sequence[str]) -> Problems:
    if not isinstance(value, str):
        return
    try:
        words = shlex.split(value)
    except ValueError as error:
        message = f"`{name}` cannot be split into words: {str(error).lower()}"
        yield message, "quote as in a shell, or write a list: [sh, -c, '...']"
        return
    if not words or not words[0]:
        yield f"`{name}` is empty", "name a program: {command: python repro.py}"


def _leading_out(key: str, paths: str | Sequence[str]) -> Problems:
    for path in _listed_words(paths):
        if path.startswith("/") or ".." in path.split("/"):
            hint = "paths are relative to the artifact: docs/guide.md, **/*.py"
            yield f"`{key}` is {_shown_value(path)}, which leads out of the artifact", hint


def _stdout_problems(key: str, value: Mapping[str, str]) -> Problems:
    return _regex_problems(f"{key}: regex", value["regex"]) if "regex" in value else ()


def _script_problems(name: str, value: JsonObject | Sequence[JsonObject]) -> Problems:
    from honestone.core.checking.script import script_problems

    return script_problems(name, value)


def _regex_problems(name: str, value: str | Mapping[str, str]) -> Problems:
    flags = "" if isinstance(value, str) else value.get("flags", "")
    wrong = sorted(set(flags) - set(_FLAGS))
    if wrong:
        yield f"`{name}` has the unknown flag `{visible(wrong[0])}`", f"flags: {', '.join(_FLAGS)}"
        return
    try:
        compile_regex(value)
    except re.error as error:
        at = f" at position {error.pos}" if error.pos is not None else ""
        yield f"`{name}` is not a valid pattern: {error.msg}{at}", _regex_hint(value, error)
    except (OverflowError, RecursionError, ValueError) as error:
        yield f"`{name}` is not a valid pattern: {error}", None


_PROBLEMS: Final[Mapping[str, Callable[..., Problems]]] = {
    "regex": _regex_problems,
    "command": _command_problems,
    "grader": _command_problems,
    "field-accuracy": lambda name, value: field_problems(value),
    "tool-count": lambda name, value: count_problems(value),
    "file-exists": _leading_out,
    "script": _script_problems,
}
_OPTION_PROBLEMS: Final[Mapping[str, Callable[..., Problems]]] = {
    "expect_stdout": _stdout_problems,
    "path": _leading_out,
    "transform": _script_problems,
}


def _regex_hint(value: str | Mapping[str, str], error: re.error) -> str:
    pattern = value if isinstance(value, str) else value["pattern"]
    if "(?<" in pattern and "extension" in error.msg:
        return "patterns are Python's: a named group is (?P<name>...)"
    if error.pos is None:
        return "patterns are Python's; quote them with '...' in YAML, where no backslash is special"
    return f"near: {visible(pattern[max(0, error.pos - 15) : error.pos + 15])}"


def _shown_value(value: object) -> str:
    if value is None:
        return "nothing"
    try:
        return visible(json.dumps(value, ensure_ascii=False), 60)
    except (TypeError, ValueError):
        return visible(repr(value), 60)


# ------------------------------------------------------------------------------------------------
# the argument rules


def fits(value: object, schema: Schema) -> bool:
    """Whether a value fits a schema of the small part of JSON Schema that this file uses."""
    if not schema:
        return True
    if "anyOf" in schema:
        return any(fits(value, option) for option in schema["anyOf"])
    if "enum" in schema:
        return any(
            value is option or (isinstance(option, str) and value == option)
            for option in schema["enum"]
        )
    match schema.get("type"):
        case "string":
            return isinstance(value, str) and _text_fits(value, schema)
        case "integer" | "number":
            return isinstance(value, int | float) and _number_fits(value, schema)
        case "array":
            return (
                isinstance(value, list | tuple)
                and len(value) >= schema.get("minItems", 0)
                and all(fits(item, schema["items"]) for item in value)
            )
        case _:
            return isinstance(value, Mapping) and _object_fits(value, schema)


def _text_fits(value: str, schema: Schema) -> bool:
    return len(value) >= schema.get("minLength", 0) and (
        "pattern" not in schema or re.fullmatch(schema["pattern"], value) is not None
    )


def _number_fits(value: int | float, schema: Schema) -> bool:
    if (
        isinstance(value, bool)
        or not isfinite(value)
        or (schema["type"] == "integer" and not isinstance(value, int))
    ):
        return False
    low, above, high = schema.get("minimum"), schema.get("exclusiveMinimum"), schema.get("maximum")
    return (
        (low is None or value >= low)
        and (above is None or value > above)
        and (high is None or value <= high)
    )


def _object_fits(value: Mapping[object, object], schema: Schema) -> bool:
    known = schema.get("properties", {})
    if any(key not in value for key in schema.get("required", ())) or len(value) < schema.get(
        "minProperties", 0
    ):
        return False
    others = schema.get("additionalProperties", True)
    if not others and any(key not in known for key in value):
        return False
    if isinstance(others, Mapping) and not all(
        fits(inner, others) for key, inner in value.items() if key not in known
    ):
        return False
    return all(fits(value[key], rule) for key, rule in known.items() if key in value)


# ----------------------------------------------------------------------------------------------------------
# texts


@dataclass(frozen=True, slots=True, kw_only=True)
class TextCheck:
    """A check of a text, compiled once. `evaluate(text)` says whether it is met, and what is
    missing
    or found if not; None where a bound was met first.

    `guard_from`: a text as long as this may keep a backtracking pattern busy for ever, so it has to
        be evaluated under a time limit. None: never.
    """

    check: Check
    evaluate: Callable[[str], CheckAnswer]
    guard_from: int | None = None

    def __call__(self, text: str) -> CheckAnswer:
        return self.evaluate(text)


# Says what is wrong with a text, None when nothing is. Raises GaveUp.
_Look: TypeAlias = Callable[[str], str | None]

_MET: Final[CheckAnswer] = (True, None)


def compile_text_check(check: Check) -> TextCheck:
    """A check of the text family, or `is-json`, ready to be used on many texts. It has to be free
    of problems.
    """
    look = _look_of(check)

    def evaluate(text: str) -> CheckAnswer:
        try:
            problem = look(text)
        except GaveUp as why:
            return None, str(why)
        except RecursionError:
            return None, "the text is nested too deeply for this check"
        return _MET if problem is None else (False, problem)

    guard = _GUARDS[check.kind](check.value) if check.kind in _GUARDS else None
    return TextCheck(check=check, evaluate=evaluate, guard_from=guard)


def _look_of(check: Check) -> _Look:
    """The look at a text, in the forms that the check compares."""
    build, side = _LOOKS.get(check.kind) or _added(check), int(check.negated)
    as_written = build(check.value)[side]
    if check.kind in _OF_NORMAL_FORM and not is_exact(check):
        return lambda text: as_written(normal(text))
    if check.kind not in _COMPARED or _asks_for_form(check):
        return as_written
    value = normal_value(check.value)
    in_form = as_written if value == check.value else build(value)[side]
    return _in_either_form(check, as_written, in_form)


def _in_either_form(check: Check, as_written: _Look, in_form: _Look) -> _Look:
    """A text meets the check as it is written, or in normal form. Where the form alone decides, the
    note says so.
    """
    texts = _compared_texts(check)

    def noted(problem: str, text: str) -> str:
        return f"{problem} (the same but for its form: {form_words(text, *texts)})"

    def exactly(text: str) -> str | None:
        problem, plain = as_written(text), normal(text)
        if problem is None or check.negated or (plain == text and in_form is as_written):
            return problem
        return noted(problem, text) if in_form(plain) is None else problem

    def misses(text: str) -> str | None:
        problem = as_written(text)
        if problem is None:
            return None
        plain = normal(text)
        return problem if plain == text and in_form is as_written else in_form(plain)

    def has(text: str) -> str | None:
        problem = as_written(text)
        if problem is not None:
            return problem
        plain = normal(text)
        if plain == text and in_form is as_written:
            return None
        problem = in_form(plain)
        return None if problem is None else noted(problem, text)

    if is_exact(check):
        return exactly
    return has if check.negated else misses


def is_exact(check: Check) -> bool:
    """Whether texts are compared as their bytes are, and in no other form."""
    return check.options.get("exact") == "bytes"


def _asks_for_form(check: Check) -> bool:
    """Whether what it looks for is a form of texts: `not-contains: "\\r\\n"` wants a file without
    CRLF.
    """
    if check.kind == "regex":
        return _NAMES_CR.search(compile_regex(check.value).pattern) is not None
    return any(map(asks_for_line_breaks, _compared_texts(check)))


def _compared_texts(check: Check) -> Sequence[str]:
    """The texts, or the pattern, that it compares a text with."""
    return (compile_regex(check.value).pattern,) if check.kind == "regex" else check.words


def is_text_check(check: Check) -> bool:
    """Whether `compile_text_check` can compile it."""
    return check.kind in _LOOKS or bool(KINDS[check.kind].package)


def _listed_words(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _same(text: str) -> str:
    return text


def _fold(text: str) -> str:
    # For ASCII, lower() is the same and many times faster.
    return text.lower() if text.isascii() else text.casefold()


def _holds(
    words: tuple[str, ...], fold: Callable[[str], str], *, need: Literal["all", "any"]
) -> tuple[_Look, _Look]:
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


def _look_contains(value: str | Sequence[str], fold: Callable[[str], str]) -> tuple[_Look, _Look]:
    """All must be there; with `not-`, none may: what everybody means by `not-contains: [TODO,
    FIXME]`.
    """
    words = _listed_words(value)
    return _holds(words, fold, need="all")[0], _holds(words, fold, need="any")[1]


def _look_equals(value: str) -> tuple[_Look, _Look]:
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


def _look_starts(value: str) -> tuple[_Look, _Look]:
    note = f"starts with {quoted(value)}"
    return (
        lambda text: (
            None if text.startswith(value) else f"starts with {quoted(text[: len(value) + 10])}"
        ),
        lambda text: note if text.startswith(value) else None,
    )


def _look_ends(value: str) -> tuple[_Look, _Look]:
    note = f"ends with {quoted(value)}"

    def ends(text: str) -> bool:
        return text.endswith(value) or text.rstrip("\r\n").endswith(value)

    def misses(text: str) -> str | None:
        return None if ends(text) else f"ends with {quoted(text.rstrip()[-len(value) - 10 :])}"

    return misses, lambda text: note if ends(text) else None


def searches(check: Check, text: str) -> list[tuple[re.Pattern[str], str]]:
    """What a `regex` check searches, and by which pattern, one after the other until one is found."""
    found = [(compile_regex(check.value), text)]
    if is_exact(check) or _asks_for_form(check):
        return found
    other = (compile_regex(normal_value(check.value)), normal(text))
    return found if other == found[0] else [*found, other]


def _look_regex(value: str | Mapping[str, str]) -> tuple[_Look, _Look]:
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
) -> Callable[[int], tuple[_Look, _Look]]:
    def build(bound: int) -> tuple[_Look, _Look]:
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


_BEGINNING: Final = re.compile(r"[\[{]")
_MOST_BEGINNINGS: Final = 10_000


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


_STRICT: Final = json.JSONDecoder(parse_constant=_refuse, parse_int=str, parse_float=str)


def _look_json(value: object) -> tuple[_Look, _Look]:
    return json_problem, lambda text: "it is JSON" if json_problem(text) is None else None


def _look_refusal(value: object) -> tuple[_Look, _Look]:
    from honestone.core.reading.refusal import is_refusal

    return (
        lambda text: None if is_refusal(text) else "it does not refuse",
        lambda text: "it refuses" if is_refusal(text) else None,
    )


def _look_markup(
    kind: str, value: str | Sequence[str] | Literal[True] | None = None
) -> tuple[_Look, _Look]:
    """`value`: the paths of elements that must be in it."""
    from honestone.core.checking.markup import markup_problem

    needed = () if value is None or value is True else _listed_words(value)
    verb, _, what = kind.partition("-")

    def misses(text: str) -> str | None:
        return markup_problem(kind, text, needed)

    def has(text: str) -> str | None:
        return f"it {verb} {what.upper()}" if markup_problem(kind, text, needed) is None else None

    return misses, has


_LOOKS: Final[Mapping[str, Callable[..., tuple[_Look, _Look]]]] = {
    "contains": partial(_look_contains, fold=_same),
    "contains-all": lambda value: _holds(_listed_words(value), _same, need="all"),
    "contains-any": lambda value: _holds(_listed_words(value), _same, need="any"),
    "icontains": partial(_look_contains, fold=_fold),
    "icontains-all": lambda value: _holds(_listed_words(value), _fold, need="all"),
    "icontains-any": lambda value: _holds(_listed_words(value), _fold, need="any"),
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

# Kinds that compare texts: as they are written, else in normal form.
_COMPARED: Final = frozenset(
    kind for kind in _LOOKS if "contains" in kind and kind.split("-")[-1] not in ("html", "xml")
) | {"equals", "starts-with", "ends-with", "regex"}
# Kinds that look at the normal form alone.
_OF_NORMAL_FORM: Final = frozenset(
    ["max-chars", "min-chars", "max-words", "min-words", "is-refusal"]
)
# A pattern that names CR is about the bytes of line breaks.
_NAMES_CR: Final = re.compile(r"\r|\\r|\\x0[dD]|\\u000[dD]|\\015")


# --------------------------------------------------------------------------------------------------------
# patterns

_FLAGS: Final = {
    "i": re.IGNORECASE,
    "m": re.MULTILINE,
    "s": re.DOTALL,
    "x": re.VERBOSE,
    "a": re.ASCII,
}
_REPEAT: Final = re.compile(r"(?<!\\)(?:\\\\)*[*+{]")
# What may be left out: twenty of these in a row can be tried in a million ways.
_OPTIONAL: Final = re.compile(r"(?<![\\*+?{}(])(?:\\\\)*\?")
_MOST_OPTIONAL: Final = 12
_REPEATED_GROUP: Final = re.compile(r"\)\s*[*+{]")
# What a pattern may try unguarded: some tenths of a second.
_AFFORDABLE_STEPS: Final = 10_000_000


def compile_regex(value: object) -> re.Pattern[str]:
    """`regex`'s argument as a pattern. Raises re.error."""
    pattern, letters = (
        (value["pattern"], value.get("flags", ""))
        if isinstance(value, Mapping)
        else (str(value), "")
    )
    flags = re.NOFLAG
    for letter in letters:
        flags |= _FLAGS[letter]
    with (
        warnings.catch_warnings()
    ):  # "possible nested set": a pattern that works today is no reason to interrupt
        warnings.simplefilter("ignore")
        return re.compile(pattern, flags)


def _guard_from(value: str | Mapping[str, str]) -> int | None:
    """From which length of text on a pattern may take too long. A repeated group can be
    exponential, at any length; n repeats side by side may try every way of cutting a text in n
    parts, from every start.
    """
    pattern = value if isinstance(value, str) else value["pattern"]
    repeats = len(_REPEAT.findall(pattern))
    if len(_OPTIONAL.findall(pattern)) > _MOST_OPTIONAL:
        return 0
    if repeats == 0:
        return None
    if _REPEATED_GROUP.search(pattern):
        return 0
    return int(_AFFORDABLE_STEPS ** (1 / (repeats + 1)))


_GUARDS: Final[Mapping[str, Callable[..., int | None]]] = {"regex": _guard_from}


# -----------------------------------------------------------------------------------------------------------
# paths


@lru_cache(maxsize=256)
def path_pattern(glob: str) -> re.Pattern[str]:
    """A glob over paths: `*` and `?` stay within a folder, `**` crosses folders. A plain path also
    means what is in it.
    """
    glob = glob.removeprefix("./").rstrip("/")
    if not re.search(r"[*?\[]", glob):
        return re.compile(re.escape(glob) + r"(?:/.*)?", re.DOTALL)
    out, at = "", 0
    while at < len(glob):
        if match := re.compile(r"\*\*+/|\*\*+|\*|\?|\[!?\]?[^\]/]*\]|.", re.DOTALL).match(glob, at):
            out += _path_part(match[0])
            at = match.end()
    return re.compile(out, re.DOTALL)


def _path_part(part: str) -> str:
    if part.startswith("**"):
        return "(?:.*/)?" if part.endswith("/") else ".*"
    if part in ("*", "?"):
        return {"*": "[^/]*", "?": "[^/]"}[part]
    if part.startswith("[") and len(part) > 2:
        inside = part[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        letters = f"(?!/)[{'^' + inside[1:] if inside.startswith('!') else inside}]"
        with contextlib.suppress(re.error):  # [z-a] names no letters: then it is meant as it stands
            return re.compile(letters).pattern
    return re.escape(part)


def matching(paths: Iterable[str], globs: str | Sequence[str]) -> list[str]:
    """The paths that any of the globs chooses, in their order."""
    patterns = [path_pattern(glob) for glob in _listed_words(globs)]
    return [path for path in paths if any(pattern.fullmatch(path) for pattern in patterns)]


def judged(version: Version, output: str | None, files: Version | None = None) -> Version:
    """What a check looks at: the version, or what a target produced, as one file; with its
    workspace, next to that.
    """
    if output is None:
        return version
    output_file = {OUTPUT_NAME: Entry(output.encode("utf-8", "replace"))}
    if files is None:
        return Version(output_file, is_folder=False)
    return Version(dict(sorted({**files.files, **output_file}.items())), is_folder=True)


Family: TypeAlias = Literal[
    "text", "data", "files", "code", "scripts", "trace", "likeness", "embeddings"
]


class Schema(TypedDict, total=False):
    """The part of JSON Schema that says what checks take."""

    type: str
    enum: list[Json]
    anyOf: list[Schema]
    items: Schema
    minItems: int
    minLength: int
    pattern: str
    minimum: float
    maximum: float
    exclusiveMinimum: float
    properties: dict[str, Schema]
    required: list[str]
    minProperties: int
    additionalProperties: Schema | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class KindOption:
    """A key next to the check's own: what it does, the JSON Schema of its value, and `takes`, the
    same in words.
    """

    doc: str
    takes: str
    schema: Schema
    default: Json = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One kind of check. `takes` says in words what `schema` says of its argument."""

    doc: str
    takes: str
    schema: Schema
    example: str
    family: Family = "text"
    # Whether it gives a score from 0 to 100 next to its yes or no.
    measures: bool = False
    options: Mapping[str, KindOption] = field(default_factory=dict)
    # Name and version of the package that adds it; ours have none.
    package: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddedCheck:
    """A kind of check of another package. It is about a text: `look` makes of the argument, which
    fits `kind.schema`, what says why a text does not meet it (None where it does). It raises GaveUp
    where it cannot tell.
    """

    kind: Kind
    look: Callable[..., _Look]


def _read_kinds() -> dict[str, Kind]:
    rows = tomllib.loads(table_text("checking/check_kinds"))
    shapes, text, count = rows.pop("shapes"), json.dumps(rows), 1
    while count:  # a shape may name others
        text, count = re.subn(r'"@(\w+)"', lambda name: json.dumps(shapes.get(name[1])), text)
    rows = json.loads(text)
    options = {
        of: {key: KindOption(**one) for key, one in row.pop("options", {}).items()}
        for of, row in rows.items()
    }
    shared = options["shared"]
    return {
        name: Kind(
            options=options[name] | {key: shared[key] for key in row.pop("shared", ())}, **row
        )
        for name, row in rows.items()
        if name != "shared"
    }


_OWN: Final = _read_kinds()


class AllKinds(Mapping[str, Kind]):
    """Ours, then those that other packages add, each loaded when it is looked up."""

    def __getitem__(self, name: str) -> Kind:
        return _OWN[name] if name in _OWN else self.added(name).kind

    def added(self, name: str) -> AddedCheck:
        """Raises KeyError for an unknown name, SettingsError where it cannot be loaded."""
        added = added_kinds()[name]()
        assert isinstance(added, AddedCheck)
        return added

    def __contains__(self, name: object) -> bool:
        return name in _OWN or name in added_kinds()

    def __iter__(self) -> Iterator[str]:
        yield from _OWN
        yield from (name for name in added_kinds() if name not in _OWN)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _added(check: Check) -> Callable[..., tuple[_Look, _Look]]:
    """What says of a text that another package's check is not met, and that it is."""

    def looks(value: Json) -> tuple[_Look, _Look]:
        look = KINDS.added(check.kind).look(value)
        return look, lambda text: f"the text meets `{check.kind}`" if look(text) is None else None

    return looks


KINDS: Final = AllKinds()


def measures(check: Check) -> bool:
    """Whether a check gives a score. Its own bar decides whether it is met."""
    return check.kind in KINDS and KINDS[check.kind].measures


def is_transformed(check: Check) -> bool:
    """Whether code changes the output before the check looks at it. A `script` changes it itself."""
    return "transform" in check.options and check.kind != "script"


def is_of_text_alone(check: Check) -> bool:
    """Whether it needs no file and no program."""
    return KINDS[check.kind].family == "text" and not is_transformed(check)


def runs_code(check: Check) -> bool:
    """Whether it starts a program that the rubric or suite brings along."""
    return KINDS[check.kind].family in ("code", "scripts") or is_transformed(check)


class OwnBar(TypedDict, total=False):
    """How a criterion leaves it to its measuring check whether it is met."""

    required: bool
    floor: Fraction


def own_bar(items: Sequence[Item], weight: Fraction = ONE) -> OwnBar:
    """What holds for a criterion of these items, unless it says otherwise, where one measuring
    check answers all of it; else nothing.
    """
    is_measured = len(items) == 1 and items[0].check is not None and measures(items[0].check)
    return own_gate(True) if is_measured and weight > 0 else {}


def own_gate(required: bool) -> OwnBar:
    """Whether a measuring check must be met, by its own bar and no floor."""
    return {"required": required, "floor": ZERO}


def check_schema() -> dict[str, list[object]]:
    """The JSON Schema of one check as people write it: one kind, negated or not, and its options."""
    shapes: list[object] = []
    for name, kind in KINDS.items():
        options = {
            key: {**option.schema, "description": option.doc}
            for key, option in kind.options.items()
        }
        for written in (name, f"not-{name}"):
            own = {written: {**kind.schema, "description": kind.doc}}
            shapes.append(
                {
                    "type": "object",
                    "properties": own | options,
                    "required": [written],
                    "additionalProperties": False,
                }
            )
    return {"anyOf": shapes}
