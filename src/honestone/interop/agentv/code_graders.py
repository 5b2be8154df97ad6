"""The graders of an AgentV case that are code, as checks: of texts, fields, tool calls, limits and
programs.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.checking.check_problems import check_problem
from honestone.core.checking.checks import KINDS
from honestone.core.json_value import late_pattern
from honestone.core.judging.rubric import Check, as_written
from honestone.formats.syntax.reader import FileEntry, shown, words
from honestone.interop.agentv.dialect import TABLES, Dialect
from honestone.interop.agentv.places import Container
from honestone.interop.agentv.text import NO_VARIABLES, Texts, Variables, fill


class Frame(Struct, frozen=True, kw_only=True):
    """What the graders of one case are read with. `threshold` is the cut of a required grader
    without its own.
    """

    dialect: Dialect
    texts: Texts
    threshold: Fraction
    goal: str | None = None
    reference: str | None = None
    values: Variables = NO_VARIABLES
    expected: Any = None
    container: Container | None = None
    options: FileEntry | None = None
    depth: int = 0


class Part(Struct, frozen=True, kw_only=True):
    """One check of a grader; `id` names it among several. `apart`: the grader is a group, also of
    one.
    """

    check: Check
    id: str = ""
    weight: Fraction = Fraction(1)


class Checks(Struct, frozen=True, kw_only=True):
    """What a grader of code asks. `whole`: one yes/no question; else the share of its parts, by
    weight.
    """

    parts: tuple[Part, ...]
    whole: bool = True


_Read = Callable[[FileEntry, Frame], Checks | None]


def single(kind: str, value: Any, **options: Any) -> Checks:
    return Checks(parts=(Part(check=Check(kind=kind, value=value, options=options)),))


def read_checks(take: FileEntry, kind: str, frame: Frame) -> Checks | None:
    """The checks of a grader whose type is in `CODE`. None when there are none, which was said."""
    found = CODE[kind](take, frame)
    for part in found.parts if found else ():
        problem = check_problem(part.check) if part.check.kind in KINDS else None
        if problem is not None:
            take.problem(problem[0], hint=problem[1])
    return found


_TEXTS: Final = words(
    "contains contains-any contains-all icontains icontains-any icontains-all starts-with ends-with equals"
)


def _texts_reader(kind: str) -> _Read:
    def read(take: FileEntry, frame: Frame) -> Checks | None:
        value = take.texts("value")
        if not value or not all(word.strip() for word in value):
            take.problem(
                f"`{kind}` needs a `value`", hint=f"for example: {{type: {kind}, value: hello}}"
            )
            return None
        words = [fill(word, frame.values) for word in value]
        if kind in ("starts-with", "ends-with", "equals"):
            if len(words) > 1:
                take.problem(f"`value` of `{kind}` must be one text", "value")
            return single(kind, words[0].strip())  # the tool trims both sides
        return single(
            kind, words[0] if len(words) == 1 and not kind.endswith(("-any", "-all")) else words
        )

    return read


# What a pattern says in JavaScript of ASCII alone, and in Python of all letters and digits.
ASCII_CLASSES: Final = late_pattern(r"\\[wWdDbB]")


def _regex(take: FileEntry, frame: Frame) -> Checks | None:
    pattern, flags = take.text("value", "pattern"), take.text("flags") or ""
    if pattern is None:
        take.problem("`value` is missing")
        return None
    unknown = sorted(set(flags) - set("imsgu"))
    if unknown:
        take.loss(f"the flag `{unknown[0]}` of a pattern has no equivalent here", "flags")
    python = pattern.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    if ASCII_CLASSES.search(pattern) and "i" not in flags:
        python = f"(?a){python}"  # JavaScript's letters, digits and word ends are those of ASCII
    known_flags = "".join(sorted(set(flags) & set("ims")))  # g and u change nothing here
    return single("regex", {"pattern": python, "flags": known_flags} if known_flags else python)


def _is_json(take: FileEntry, frame: Frame) -> Checks | None:
    schema = take.raw("value", "schema")
    if isinstance(schema, dict):
        return single("json-schema", schema)
    if schema not in (None, True):
        take.problem(f"`value` of `is-json` must be a JSON Schema, not {shown(schema)}", "value")
    return single("is-json", True)


def _field_accuracy(take: FileEntry, frame: Frame) -> Checks | None:
    together = (
        take.choice("aggregation", ("weighted_average", "all_or_nothing")) == "all_or_nothing"
    )
    fields = [
        field for at in take.mappings("fields", TABLES["field"]) for field in _field(at, frame)
    ]
    if "fields" not in take or not take.value["fields"]:
        take.problem("`field-accuracy` needs `fields`")
        return None
    if not fields and isinstance(frame.expected, dict):
        take.note(
            "fields without an expected value are all met by an output with JSON in it, as in AgentV"
        )
        return single("contains-json", True)
    if not fields:
        take.loss("none of these fields has an expected value in the case's expected output")
        return None
    if together:
        return single(
            "field-accuracy",
            {
                "fields": [{k: v for k, v in f.items() if k != "weight"} for f in fields],
                "threshold": 1,
            },
        )
    return Checks(
        whole=False,
        parts=tuple(
            Part(
                id=field["path"],
                weight=Fraction(str(field.get("weight", 1))),
                check=Check(
                    kind="field-accuracy",
                    value={"fields": [{k: v for k, v in field.items() if k != "weight"}]},
                ),
            )
            for field in fields
        ),
    )


def _field(take: FileEntry, frame: Frame) -> Iterator[dict[str, Any]]:
    path = take.text("path")
    match = take.choice("match", ("exact", "numeric_tolerance", "date"))
    weight, tolerance = take.number("weight", low=0), take.number("tolerance", low=0)
    relative, required, formats = (
        take.flag("relative"),
        take.flag("required"),
        take.texts("formats"),
    )
    if path is None:
        return
    if required is False:
        take.note(
            "a field that is not required counts as wrong when it is absent; AgentV leaves it out of the mean"
        )
    expected, found = _look_up(frame.expected, path)
    if not found:
        take.note("fields without an expected value are not asked (AgentV counts them as met)")
        return
    yield {
        "path": path,
        "expected": expected,
        "match": match or "exact",
        **({"weight": as_written(weight)} if weight is not None else {}),
        **({"tolerance": as_written(tolerance)} if tolerance is not None else {}),
        **({"relative": relative} if relative is not None else {}),
        **({"formats": formats} if formats else {}),
    }


def _look_up(value: Any, path: str) -> tuple[Any, bool]:
    """`a.b[0].c` in nested values."""
    for step in path.replace("[", ".").replace("]", "").split("."):
        if isinstance(value, dict) and step in value:
            value = value[step]
        elif (
            isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value)
        ):
            value = value[int(step)]
        else:
            return None, False
    return value, True


def expected_data(value: Any) -> Any:
    """The structured answer that fields are compared with: the last message's content, read as JSON
    where it is text.
    """
    if isinstance(value, list) and value and isinstance(value[-1], dict) and "content" in value[-1]:
        value = value[-1]["content"]
    elif isinstance(value, dict) and "role" in value and "content" in value:
        value = value["content"]
    if isinstance(value, str):
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value


def _trajectory(take: FileEntry, frame: Frame) -> Checks | None:
    mode = take.choice("mode", ("any_order", "in_order", "exact", "subset", "superset"))
    args = _args(take, "args_match", "argsMatch")
    minimums = take.raw("minimums")
    entries = list(take.mappings("expected", TABLES["call"]))
    calls = [call for at in entries for call in _call(at)]
    each = {_args(at, "args_match", "argsMatch") for at in entries if "args" in at} - {None}
    if len(each) > 1:
        take.loss(
            "tool calls whose arguments are compared in several ways",
            "expected",
            "make a grader of each way",
        )
    args = args or min((one for one in each if one is not None), default=None)
    if isinstance(minimums, dict) and minimums:
        here = take.below("minimums")
        counts = {str(name): here.number(name, low=0, is_whole=True) for name in minimums}
        return Checks(
            whole=False,
            parts=tuple(
                Part(
                    id=name, check=Check(kind="tool-count", value={name: {"min": int(least or 0)}})
                )
                for name, least in counts.items()
            ),
        )
    if not calls:
        what = "minimums" if mode == "any_order" else "expected"
        take.problem(f"`tool-trajectory` needs `{what}`")
        return None
    take.note(
        "a sequence of tool calls is met or not met as a whole; AgentV gives part of the score for part of it"
    )
    options: dict[str, object] = {
        "mode": {"superset": "any_order", None: "in_order"}.get(mode, mode)
    }
    if any("arguments" in call for call in calls):
        options["args"] = args or "exact"
    return single("tool-calls", calls, **options)


def _args(take: FileEntry, *keys: str) -> str | None:
    """AgentV's `superset` (the call has all these arguments) is `subset` here (these are among the
    call's).
    """
    value = take.raw(*keys)
    if value is None or value in ("exact", "ignore"):
        return value if isinstance(value, str) else None
    if value == "superset":
        return "subset"
    take.loss(f"`{keys[0]}: {shown(value)}` of tool calls has no equivalent here")
    return None


def _call(take: FileEntry) -> Iterator[dict[str, Any]]:
    tool, args = take.text("tool"), take.raw("args")
    if args is not None and args != "any" and not isinstance(args, dict):
        take.problem(f"`args` must be a mapping or `any`, not {shown(args)}", "args")
    yield {"tool": tool or "?", **({"arguments": args} if isinstance(args, dict) else {})}


def _value(take: FileEntry, table: str) -> FileEntry | None:
    """The mapping at `value`, which such a grader needs."""
    if "value" not in take:
        take.problem(f"`{take.text('type')}` needs a `value`")
    return take.mapping("value", TABLES[table])


def _tool_used(take: FileEntry, frame: Frame) -> Checks | None:
    value = take.raw("value")
    if isinstance(value, str | list):
        names = [value] if isinstance(value, str) else value
        parts = tuple(
            Part(id=str(n), check=Check(kind="tool-count", value={str(n): {"min": 1}}))
            for n in names
        )
        return Checks(parts=parts, whole=len(parts) == 1) if parts else None
    here = _value(take, "tool-used")
    name = None if here is None else here.text("name", "tool")
    if here is None or name is None:
        return None
    least, most = here.number("min", low=0, is_whole=True), here.number("max", low=0, is_whole=True)
    least = Fraction(1) if least is None and most is None else least
    bounds = {
        key: int(bound) for key, bound in (("min", least), ("max", most)) if bound is not None
    }
    return single("tool-count", {name: bounds})


def _tool_sequence(take: FileEntry, frame: Frame) -> Checks | None:
    steps = take.raw("value")
    mode: str | None = "in_order"
    if not isinstance(steps, list):
        here = _value(take, "tool-sequence")
        if here is None:
            return None
        steps, mode = here.raw("steps"), here.choice("mode", ("in_order", "exact"))
    names = [_tool_name(step) for step in steps] if isinstance(steps, list) else []
    if not names or None in names:
        take.problem("`trajectory:tool-sequence` needs `steps`, a list of tool names", "value")
        return None
    return single("tool-calls", [{"tool": name} for name in names], mode=mode or "in_order")


def _tool_name(step: Any) -> str | None:
    name = (step.get("name") or step.get("tool")) if isinstance(step, dict) else step
    return name if isinstance(name, str) else None


def _tool_args(take: FileEntry, frame: Frame) -> Checks | None:
    here = _value(take, "tool-args")
    if here is None:
        return None
    name, args, mode = (
        here.text("name", "tool"),
        here.raw("args"),
        here.choice("mode", ("partial", "exact")),
    )
    if not isinstance(args, dict):
        here.problem(f"`args` must be a mapping, not {shown(args)}")
        return None
    how = "exact" if mode == "exact" else "subset"
    return single("tool-calls", [{"tool": name, "arguments": args}], mode="any_order", args=how)


def _skill_trigger(take: FileEntry, frame: Frame) -> Checks | None:
    take.text("skill")
    take.note(
        "`skill-trigger` asks whether the skill that is tried was read; its name is not compared"
    )
    parts = single("skill-loaded", True)
    if take.flag("should_trigger") is not False:
        return parts
    return Checks(
        parts=tuple(replace(part, check=replace(part.check, negated=True)) for part in parts.parts)
    )


def _skill_used(take: FileEntry, frame: Frame) -> Checks | None:
    take.raw("value")
    take.note(
        "`skill-used` asks whether the skill that is tried was read; its name is not compared"
    )
    return single("skill-loaded", True)


# Graders that are a limit, here and in AgentV, with the key of it.
LIMITS: Final = {"latency": "threshold", "cost": "budget"}


def _limit(kind: str, key: str) -> _Read:
    def read(take: FileEntry, frame: Frame) -> Checks | None:
        most = take.number(key, low=0)
        if most is None:
            take.problem(f"`{kind}` needs `{key}`") if key not in take else None
            return None
        return single(kind, as_written(most))

    return read


_TOKENS: Final = {
    "total": ("max_total", "maxTotal"),
    "input": ("max_input", "maxInput"),
    "output": ("max_output", "maxOutput"),
}


def _tokens(take: FileEntry, frame: Frame) -> Checks | None:
    limits = {name: take.number(*keys, low=0) for name, keys in _TOKENS.items()}
    value = {name: as_written(most) for name, most in limits.items() if most is not None}
    if not value:
        take.problem("`token-usage` needs `max_total`, `max_input` or `max_output`")
        return None
    return single("tokens", value)


_METRICS: Final = {
    "max_duration_ms": ("latency", "maxDurationMs"),
    "max_cost_usd": ("cost", "maxCostUsd"),
    "max_tokens": ("tokens", "maxTokens"),
    "max_llm_calls": ("model-calls", "maxLlmCalls"),
}


def _metrics(take: FileEntry, frame: Frame) -> Checks | None:
    parts = []
    for key, (kind, other) in _METRICS.items():
        most = take.number(key, other, low=0, is_whole=kind == "model-calls")
        if most is not None:
            value: Any = {"total": as_written(most)} if kind == "tokens" else as_written(most)
            parts.append(Part(id=key, check=Check(kind=kind, value=value)))
    calls = take.number("max_tool_calls", "maxToolCalls", low=0, is_whole=True)
    if calls is not None:
        parts.append(
            Part(
                id="max_tool_calls",
                check=Check(kind="tool-count", value={"*": {"max": int(calls)}}),
            )
        )
    if not parts and not any(key.startswith(("max_", "target_")) for key in map(str, take.value)):
        take.problem(
            "`execution-metrics` needs a limit", hint="for example: max_duration_ms: 60000"
        )
    return Checks(parts=tuple(parts), whole=False) if parts else None


def _script(take: FileEntry, frame: Frame) -> Checks | None:
    words = _command_words(take)
    cwd = take.text("cwd")
    if cwd is not None and frame.texts.resolve(cwd).resolve() != frame.texts.folder.resolve():
        take.loss(f"a grader runs in its file's folder, not in `{cwd}`", "cwd")
    given = take.raw("config")
    config: dict[str, object] = dict(given) if isinstance(given, dict) else {}
    # Unknown keys are the program's own settings, as in AgentV.
    known = take.keys.by_name if take.keys is not None else {}
    config |= {str(key): value for key, value in take.value.items() if str(key) not in known}
    if words is None:
        return None
    options: dict[str, object] = {"config": config} if config else {}
    if frame.container is not None:
        take.reading.runs(f"a container of the image `{frame.container.image}`", take.path)
        words, options = frame.container.words(words), {**options, **frame.container.options}
    return single("grader", words, **options, scored=True, takes_text=True)


def _command_words(take: FileEntry) -> list[str] | None:
    key = take.which("command", "script")
    if key is None:
        take.problem("a grader that is a program needs a `command`")
        return None
    value = take.value[key]
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            take.reading.problem(
                f"`{key}` cannot be split into words: {str(error).lower()}", (*take.path, key)
            )
            return None
    words = (
        take.texts(key) if isinstance(value, list) and isinstance(take.value[key], list) else value
    )
    if not words or not str(words[0]).strip():
        take.reading.problem(f"`{key}` is empty", (*take.path, key))
        return None
    return list(words)


# Graders that are code, by type in kebab case.
CODE: Final[Mapping[str, _Read]] = {
    **{kind: _texts_reader(kind) for kind in _TEXTS},
    **{kind: _limit(kind, key) for kind, key in LIMITS.items()},
    **dict.fromkeys(words("script code code-judge code-grader script-grader"), _script),
    "regex": _regex,
    "is-json": _is_json,
    "field-accuracy": _field_accuracy,
    "tool-trajectory": _trajectory,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "skill-used": _skill_used,
    "skill-trigger": _skill_trigger,
    "token-usage": _tokens,
    "execution-metrics": _metrics,
}
