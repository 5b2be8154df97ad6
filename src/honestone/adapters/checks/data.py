"""Checks of JSON: `is-json`, `contains-json`, `field-accuracy` and `json-schema` (library
`jsonschema`, extra `honestone[schema]`).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Final, NoReturn, TypedDict, cast

from honestone.adapters.checks import text as text_checks
from honestone.adapters.checks.check_input import Setting, Subject, finding, over_texts
from honestone.core.artifact import Version, as_text, digest_of
from honestone.core.checking.checks import CheckAnswer, GaveUp, is_exact, quoted, visible
from honestone.core.checking.field_accuracy import fields_answer
from honestone.core.checking.javascript.formats import (
    OF_NUMBERS,
    OF_TEXTS,
    is_javascript_number,
    meets,
)
from honestone.core.checking.javascript.looks import is_javascript, objects_in
from honestone.core.checking.javascript.patterns import compile_javascript
from honestone.core.checking.javascript.schemas import schema_problem
from honestone.core.checking.looks import json_parts, json_problem
from honestone.core.checking.text_form import normal_value
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json, late_pattern, plain_value
from honestone.core.judging.rubric import Check
from honestone.ports import Finding

_LONG: Final = "the schema takes more than {:g} s on this text"


def identity(check: Check, setting: Setting) -> Mapping[str, Any]:
    for path in judging_files(check, setting):
        return {"files": {check.value: digest_of(path.read_bytes())}}
    return {}


def judging_files(check: Check, setting: Setting) -> list[Path]:
    path = setting.sibling(check.value, even_judged=True) if isinstance(check.value, str) else None
    return [path] if check.kind == "json-schema" and path is not None and path.is_file() else []


def preflight(check: Check, setting: Setting, version: Version | None) -> None:
    if check.kind in ("contains-json", "function-calls") and isinstance(check.value, Mapping):
        _validator(check, setting, version)
    if check.kind == "json-schema" and _schema_can_be_found(check, setting, version):
        _validator(check, setting, version)


def _schema_can_be_found(check: Check, setting: Setting, version: Version | None) -> bool:
    """A schema that is not a file here may be in a version that is not known yet."""
    return (
        version is not None
        or not isinstance(check.value, str)
        or setting.sibling(check.value, even_judged=True) is not None
    )


async def find(check: Check, subject: Subject) -> Finding:
    if check.kind == "is-json":
        return await text_checks.find(check, subject)
    if check.kind == "field-accuracy":
        return finding(check, over_texts(check, subject, lambda text: _fields(check, text)))
    parts = _objects if is_javascript(check) else json_parts
    if check.kind == "contains-json" and not isinstance(check.value, Mapping):
        return finding(check, over_texts(check, subject, partial(_contains, parts)))
    problem_of = _validator(check, subject.setting, subject.version)
    if check.kind == "contains-json":
        return finding(
            check, over_texts(check, subject, partial(_contains, parts, problem_of=problem_of))
        )

    def look(text: str) -> CheckAnswer:
        problem, can_tell = problem_of(_calls_in(text) if check.kind == "function-calls" else text)
        if not can_tell:
            return None, problem
        if check.negated:
            return problem is not None, "it fits the schema"
        return problem is None, problem

    met, note = over_texts(check, subject, look)
    return finding(check, (met, note), final=True)


# Pieces of JSON in a text that are looked at.
_MOST_PARTS: Final = 1000


def _objects(text: str) -> Iterator[str]:
    """The objects that promptfoo finds in a text, as JSON: written as YAML they count too."""
    for found in objects_in(text, _json_or_yaml):
        yield json.dumps(found)


# A comment of JavaScript, unless it is in a text.
_COMMENT: Final = late_pattern(r"""("(?:\\.|[^"\\\n])*"|'[^'\n]*')|//.*""")


def _json_or_yaml(text: str) -> Json:
    """Raises ValueError, RecursionError and GaveUp."""
    try:
        value: Json = json.loads(text, parse_constant=_no_number)
        return value
    except ValueError:
        return _from_yaml(_COMMENT.sub(lambda match: match[1] or "", text))


# How deep YAML may be nested, for its reader looks at what is open around each mark; and how many
# values it may have once its aliases are written out.
_MOST_OPEN: Final = 50
_MOST_VALUES: Final = 200_000
_OPEN_OR_CLOSED: Final = late_pattern(r"[\[\]{}]")


def _from_yaml(text: str) -> Json:
    """Raises ValueError, RecursionError and GaveUp."""
    still_open = 0
    for mark in _OPEN_OR_CLOSED.findall(text):
        still_open = still_open + 1 if mark in "[{" else max(0, still_open - 1)
        if still_open > _MOST_OPEN:
            raise RecursionError
    yaml = import_module("ruamel.yaml").YAML(typ="safe", pure=True)
    yaml.allow_duplicate_keys = True
    try:
        tree = yaml.compose(text)
        _count_values(tree)
        found = yaml.constructor.construct_document(tree)
        return cast(Json, json.loads(json.dumps(found, default=str)))
    except (GaveUp, RecursionError):
        raise
    # The library has no list of what it raises: `!!bool x` is a KeyError, `!!int ""` an IndexError.
    except Exception as error:
        raise ValueError(str(error)) from None


def _count_values(tree: Any) -> None:
    """Raises GaveUp where a tree of YAML has too many values: each alias is a copy."""
    rest, counted = [tree], 0
    while rest:
        inside = rest.pop().value
        counted += 1
        if counted + len(rest) > _MOST_VALUES:
            raise GaveUp("a part of it is YAML with too many values")
        for one in inside if isinstance(inside, list) else ():
            rest += one if isinstance(one, tuple) else (one,)


def _no_number(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not a JSON number")


def _contains(
    parts: Callable[[str], Iterator[str]],
    text: str,
    problem_of: Callable[[str], tuple[str | None, bool]] | None = None,
) -> CheckAnswer:
    """Whether one of the objects and lists in a text fits; why the last one does not."""
    wrong, found, is_sure = "no JSON object or list in it", 0, True
    for part in islice(parts(text), _MOST_PARTS):
        found += 1
        problem, can_tell = (None, True) if problem_of is None else problem_of(part)
        if problem is None:
            return True, f"found {quoted(part[:80])}"
        wrong, is_sure = problem, is_sure and can_tell
    if found == _MOST_PARTS:
        raise GaveUp(f"more than {_MOST_PARTS} pieces of JSON are in it")
    return (False if is_sure else None), wrong


def _fields(check: Check, text: str) -> CheckAnswer:
    problem = json_problem(text)
    if problem is not None:
        return False, problem
    try:
        return fields_answer(check, json.loads(text))
    except (ValueError, RecursionError) as error:
        return None, f"its values cannot be compared: {visible(str(error), 100)}"


def _validator(
    check: Check, setting: Setting, version: Version | None
) -> Callable[[str], tuple[str | None, bool]]:
    """(what is wrong with a text or None, whether that can be known). Raises UsageError for what
    cannot be a schema.
    """
    try:
        jsonschema, known = import_module("jsonschema"), import_module("jsonschema_specifications")
        unresolvable = import_module("referencing.exceptions").Unresolvable
    except ImportError:
        raise UsageError(
            f"the check `{check.kind}` needs the library jsonschema",
            hint="pip install 'honestone[schema]'",
        ) from None
    schema = _schema(check, setting, version)
    if is_javascript(check):
        return _problems_of(jsonschema, unresolvable, _as_ajv(jsonschema, check, schema))
    validators = jsonschema.validators.validator_for(
        schema, default=jsonschema.Draft202012Validator
    )
    problem = _schema_problem(jsonschema, validators, schema)
    is_undated = not (isinstance(schema, dict) and "$schema" in schema)
    if (
        problem
        and is_undated
        and _schema_problem(jsonschema, jsonschema.Draft7Validator, schema) is None
    ):
        # Written for the draft that most programs read, where `items` may be a list.
        validators, problem = jsonschema.Draft7Validator, None
    if problem:
        raise UsageError(
            f"`{check.kind}` is not a valid JSON Schema: {problem}",
            hint="correct the schema; `$schema` names the draft that it is written for (2020-12 without one)",
        )
    # A registry of its own: without one, the library would look up unknown references on the
    # network.
    validator = validators(schema, registry=known.REGISTRY)
    in_form = None if is_exact(check) else validators(normal_value(schema), registry=known.REGISTRY)
    return _problems_of(jsonschema, unresolvable, validator, in_form)


def _problems_of(
    jsonschema: Any, unresolvable: Any, validator: Any, in_form: Any = None
) -> Callable[[str], tuple[str | None, bool]]:
    """What a validator says of a text, and where it is there the one of the normal form."""

    def best_error(value: Json) -> Any:
        """The error that says most, as the text is written and then in normal form."""
        error = jsonschema.exceptions.best_match(validator.iter_errors(value))
        if error is None or in_form is None:
            return error
        plain = normal_value(value)
        is_same = plain == value and in_form.schema == validator.schema
        return error if is_same else jsonschema.exceptions.best_match(in_form.iter_errors(plain))

    def problem_of(text: str) -> tuple[str | None, bool]:
        problem = json_problem(text)
        if problem is not None:
            return problem, True
        try:
            value = json.loads(text)
            errors = _bounded(lambda: best_error(value))
        except text_checks.TookTooLong:
            return _LONG.format(text_checks.PATTERN_SECONDS), False
        except (unresolvable, RecursionError, ValueError, ArithmeticError) as error:
            return visible(f"the schema cannot be applied: {type(error).__name__}: {error}"), False
        return (None if errors is None else visible(f"{errors.json_path}: {errors.message}")), True

    return problem_of


def _as_ajv(jsonschema: Any, check: Check, schema: Any) -> Any:
    """A validator of draft 7 with the patterns and formats of Ajv. Raises UsageError."""
    problem = schema_problem(schema)
    if problem is None:
        try:
            jsonschema.Draft7Validator.check_schema(schema)
        except (jsonschema.SchemaError, RecursionError) as error:
            problem = visible(str(getattr(error, "message", error)))
    if problem is not None:
        raise UsageError(f"`{check.kind}` is not a JSON Schema that Ajv reads: {problem}")

    def pattern(_: Any, rule: str, value: Any, __: Any) -> Iterator[Any]:
        found = compile_javascript(rule, is_unicode=True)
        if isinstance(value, str) and found.search(value) is None:
            yield jsonschema.ValidationError(f"{value!r} does not match {rule!r}")

    def of_patterns(validator: Any, rules: Any, value: Any, _: Any) -> Iterator[Any]:
        for rule, inner in rules.items() if isinstance(value, dict) else ():
            found = compile_javascript(rule, is_unicode=True)
            for name in filter(found.search, value):
                yield from validator.descend(value[name], inner, path=name, schema_path=rule)

    def of_others(validator: Any, rule: Any, value: Any, around: Any) -> Iterator[Any]:
        if not isinstance(value, dict):
            return
        patterns = [
            compile_javascript(one, is_unicode=True) for one in around.get("patternProperties", ())
        ]
        for name in value.keys() - around.get("properties", {}).keys():
            if any(one.search(name) for one in patterns):
                continue
            if rule is False:
                yield jsonschema.ValidationError(f"additional property {name!r}")
            else:
                yield from validator.descend(value[name], rule, path=name)

    formats = jsonschema.FormatChecker(formats=())
    for name in (*OF_TEXTS, *OF_NUMBERS):
        formats.checks(name)(partial(meets, name=name))
    types = jsonschema.Draft7Validator.TYPE_CHECKER
    made = jsonschema.validators.extend(
        jsonschema.Draft7Validator,
        {"pattern": pattern, "patternProperties": of_patterns, "additionalProperties": of_others},
        type_checker=types.redefine_many(
            {
                "number": lambda _, value: is_javascript_number(value),
                "integer": lambda _, value: is_javascript_number(value) and value == int(value),
            }
        ),
    )
    return made(schema, format_checker=formats)


def _schema_problem(jsonschema: Any, validators: Any, schema: Any) -> str | None:
    """Why a schema is not one of a draft, its patterns included; None where it is."""
    try:
        validators.check_schema(schema, format_checker=validators.FORMAT_CHECKER)
    except jsonschema.SchemaError as error:
        return visible(f"{error.json_path}: {error.message}")
    except RecursionError:
        return "it is nested too deeply"
    return None


def _bounded(compute: Callable[[], Any]) -> Any:
    """Schemas hold patterns too. Outside the main thread there is no way to break them off."""
    return (
        text_checks.in_time(compute, text_checks.PATTERN_SECONDS)
        if text_checks.can_interrupt()
        else compute()
    )


def _calls_in(text: str) -> str:
    """The calls of functions in a reply, in the words of any API, as a JSON list of `name` and
    `arguments`. Raises GaveUp.
    """
    try:
        return json.dumps(list(_calls(json.loads(text))))
    except RecursionError:
        raise GaveUp("it is nested too deeply to look for calls") from None
    except ValueError:
        return "[]"


class _Call(TypedDict):
    """A call of a function that a text writes down."""

    name: str
    arguments: object


def _calls(value: Any) -> Iterator[_Call]:
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        given: Any = next(
            (value[key] for key in ("arguments", "args", "input") if key in value), {}
        )
        yield {
            "name": value["name"],
            "arguments": json.loads(given) if isinstance(given, str) else given,
        }
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _calls(one)


def _schema_of_calls(functions: Mapping[str, Any]) -> dict[str, Any]:
    """One call at least, each of one of these functions, with arguments that fit its schema."""
    each = [
        {
            "if": {"properties": {"name": {"const": name}}},
            "then": {"properties": {"arguments": arguments}},
        }
        for name, arguments in functions.items()
    ]
    known = {
        "properties": {"name": {"enum": list(functions)}, "arguments": {"type": "object"}},
        "allOf": each,
    }
    return {"type": "array", "minItems": 1, "items": known}


def _schema(check: Check, setting: Setting, version: Version | None) -> Any:
    if check.kind == "function-calls":
        return _schema_of_calls(cast(Mapping[str, Any], plain_value(check.value)))
    if not isinstance(check.value, str):
        return plain_value(check.value)
    path, name = setting.sibling(check.value, even_judged=True), None
    if version is not None and path is None:
        name = setting.in_version(check.value, version)
    try:
        if name is not None and version is not None and name in version.files:
            text = as_text(version.files[name].data)
        else:
            text = None if path is None else as_text(path.read_bytes())
    except OSError as error:
        raise FileError(f"the schema {check.value!r} cannot be read: {error.strerror}") from None
    if text is None:
        raise FileError(
            f"the schema {check.value!r} is not there, or not text",
            hint="its path is relative to the rubric's folder",
        )
    try:
        problem = json_problem(text)
    except GaveUp as why:
        problem = str(why)
    if problem:
        raise UsageError(f"the schema {check.value!r} is {problem}")
    return json.loads(text)
