"""Reading a check as people write it, and what can be wrong with it."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Final, TypeAlias

from honestone.core.checking.checks import KINDS, OWN
from honestone.core.checking.gave_up import GaveUp as GaveUp
from honestone.core.checking.javascript.looks import is_javascript
from honestone.core.checking.javascript.patterns import NotTranslated, compile_javascript
from honestone.core.checking.looks import listed_words
from honestone.core.checking.patterns import FLAGS, compile_regex
from honestone.core.errors import RubricError
from honestone.core.json_value import NOTE_LIMIT as NOTE_LIMIT
from honestone.core.json_value import JsonObject, listed
from honestone.core.json_value import line_of as line_of
from honestone.core.json_value import quoted as quoted
from honestone.core.json_value import visible as visible
from honestone.core.judging.rubric import Check

if TYPE_CHECKING:
    from honestone.core.checking.checks import Kind, Schema


def read_check(written: JsonObject) -> Check:
    """`{contains: x, path: y}` as a check. Raises RubricError whose `path` is the offending key."""
    names = [key for key in written if str(key).removeprefix("not-") in OWN]
    if len(names) != 1 or not written.keys() <= {
        names[0],
        *OWN[names[0].removeprefix("not-")].options,
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
        options = {option for kind in OWN.values() for option in kind.options}
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
    elif is_javascript(check):
        yield from ((check.name, *problem) for problem in _javascript_problems(check))
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
                subject = "the diff" if place == "diff" else "a reply"
                yield (
                    key,
                    f"`path` chooses files, but `in: {place}` reads {subject}",
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
    import difflib

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
    for path in listed_words(paths):
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
    wrong = sorted(set(flags) - set(FLAGS))
    if wrong:
        yield f"`{name}` has the unknown flag `{visible(wrong[0])}`", f"flags: {', '.join(FLAGS)}"
        return
    try:
        compile_regex(value)
    except re.error as error:
        at = f" at position {error.pos}" if error.pos is not None else ""
        yield f"`{name}` is not a valid pattern: {error.msg}{at}", _regex_hint(value, error)
    except (OverflowError, RecursionError, ValueError) as error:
        yield f"`{name}` is not a valid pattern: {error}", None


def _javascript_problems(check: Check) -> Problems:
    """What is wrong with a pattern or a schema that is read as JavaScript's."""
    if check.kind in ("json-schema", "contains-json"):
        from honestone.core.checking.javascript.schemas import schema_problem

        problem = schema_problem(check.value)
        if problem is not None:
            yield f"`{check.name}` as JavaScript reads it: {problem}", None
    if check.kind != "regex":
        return
    if not isinstance(check.value, str):
        yield f"`{check.name}` has no flags with `exact: javascript`", "give it the pattern alone"
        return
    try:
        compile_javascript(check.value)
    except NotTranslated as why:
        code = (
            f"{{language: javascript, code: 'new RegExp({json.dumps(check.value)}).test(output)'}}"
        )
        yield (
            f"`{check.name}` is a pattern that only JavaScript itself reads: {why}",
            f"script: {code}",
        )


def _field_problems(name: str, value: JsonObject) -> Problems:
    from honestone.core.checking.field_accuracy import field_problems

    return field_problems(value)


def _count_problems(name: str, value: Mapping[str, Mapping[str, int]]) -> Problems:
    from honestone.core.checking.trace_checks import count_problems

    return count_problems(value)


_PROBLEMS: Final[Mapping[str, Callable[..., Problems]]] = {
    "regex": _regex_problems,
    "command": _command_problems,
    "grader": _command_problems,
    "field-accuracy": _field_problems,
    "tool-count": _count_problems,
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
