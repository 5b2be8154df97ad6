"""AgentV's graders that are code: text, JSON, fields, tool calls, limits and commands. Each becomes one check or several."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from honestone.core.check_kinds import KINDS
from honestone.core.checks import check_problem
from honestone.core.rubric import Check, as_written
from honestone.formats.reader import Entry, shown
from honestone.interop.agentv.keys import CALL, FIELD, TOOL_ARGS, TOOL_SEQUENCE, TOOL_USED
from honestone.interop.agentv.text import fill


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One check of a grader; `id` names it among several. `apart`: the grader is a group, also of one."""

    check: Check
    id: str = ""
    weight: Fraction = Fraction(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Checks:
    """What a grader of code asks. `whole`: one yes/no question; else the share of its parts, by weight."""

    parts: tuple[Part, ...]
    whole: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeContext:
    """What a code grader needs to know of its case."""

    values: Mapping[str, Any]
    expected: Any = None


_Read = Callable[[Entry, CodeContext], Checks | None]


def one(kind: str, value: Any, **options: Any) -> Checks:
    return Checks(parts=(Part(check=Check(kind=kind, value=value, options=options)),))


def read_checks(take: Entry, kind: str, context: CodeContext) -> Checks | None:
    """The checks of a grader whose type is in `CODE`. None when there are none, which was said."""
    found = CODE[kind](take, context)
    for part in found.parts if found else ():
        problem = check_problem(part.check) if part.check.kind in KINDS else None
        if problem is not None:
            take.reading.problem(problem[0], take.path, problem[1])
    return found


# ---------------------------------------------------------------------------------------------------------- texts


def _text(kind: str) -> _Read:
    def read(take: Entry, context: CodeContext) -> Checks | None:
        value = take.texts("value")
        if not value or not all(word.strip() for word in value):
            take.reading.problem(f"`{kind}` needs a `value`", take.path, f"for example: {{type: {kind}, value: hello}}")
            return None
        words = [fill(word, context.values) for word in value]
        if kind in ("starts-with", "ends-with", "equals"):
            if len(words) > 1:
                take.reading.problem(f"`value` of `{kind}` must be one text", (*take.path, "value"))
            return one(kind, words[0].strip())  # the tool trims both sides
        return one(kind, words[0] if len(words) == 1 and not kind.endswith(("-any", "-all")) else words)

    return read


def _regex(take: Entry, context: CodeContext) -> Checks | None:
    pattern, flags = take.text("value", "pattern"), take.text("flags") or ""
    if pattern is None:
        take.problem("`value` is missing")
        return None
    unknown = sorted(set(flags) - set("imsgu"))
    if unknown:
        take.reading.loss(f"the flag `{unknown[0]}` of a pattern has no equivalent here", (*take.path, "flags"))
    python = pattern.replace("(?<", "(?P<").replace("(?P<=", "(?<=").replace("(?P<!", "(?<!")
    kept = "".join(sorted(set(flags) & set("ims")))  # g and u change nothing here
    return one("regex", {"pattern": python, "flags": kept} if kept else python)


def _is_json(take: Entry, context: CodeContext) -> Checks | None:
    schema = take.raw("value", "schema")
    if isinstance(schema, dict):
        return one("json-schema", schema)
    if schema not in (None, True):
        take.reading.problem(f"`value` of `is-json` must be a JSON Schema, not {shown(schema)}", (*take.path, "value"))
    return one("is-json", True)


# --------------------------------------------------------------------------------------------------------- fields


def _field_accuracy(take: Entry, context: CodeContext) -> Checks | None:
    together = take.choice("aggregation", ("weighted_average", "all_or_nothing")) == "all_or_nothing"
    fields = [field for at in take.mappings("fields", FIELD) for field in _field(at, context)]
    if "fields" not in take or not take.value["fields"]:
        take.reading.problem("`field-accuracy` needs `fields`", take.path)
        return None
    if not fields:
        take.reading.loss("none of these fields has an expected value in the case's expected output", take.path)
        return None
    if together:
        return one(
            "field-accuracy",
            {"fields": [{k: v for k, v in f.items() if k != "weight"} for f in fields], "threshold": 1},
        )
    return Checks(
        whole=False,
        parts=tuple(
            Part(
                id=field["path"],
                weight=Fraction(str(field.get("weight", 1))),
                check=Check(
                    kind="field-accuracy", value={"fields": [{k: v for k, v in field.items() if k != "weight"}]}
                ),
            )
            for field in fields
        ),
    )


def _field(take: Entry, context: CodeContext) -> Iterator[dict[str, Any]]:
    path = take.text("path")
    match = take.choice("match", ("exact", "numeric_tolerance", "date"))
    weight, tolerance = take.number("weight", low=0), take.number("tolerance", low=0)
    relative, required, formats = take.flag("relative"), take.flag("required"), take.texts("formats")
    if path is None:
        return
    if required is False:
        take.reading.note(
            "a field that is not required counts as wrong when it is absent; AgentV leaves it out of the mean"
        )
    expected, found = _look_up(context.expected, path)
    if not found:
        take.reading.note("fields without an expected value are not asked (AgentV counts them as met)")
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
        elif isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            return None, False
    return value, True


def expected_data(value: Any) -> Any:
    """The structured answer that fields are compared with: the last message's content, read as JSON where it is text."""
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


# ----------------------------------------------------------------------------------------------------- tool calls


def _trajectory(take: Entry, context: CodeContext) -> Checks | None:
    mode = take.choice("mode", ("any_order", "in_order", "exact", "subset", "superset"))
    args = _args(take, "args_match", "argsMatch")
    minimums = take.raw("minimums")
    calls = [call for at in take.mappings("expected", CALL) for call in _call(at)]
    if isinstance(minimums, dict) and minimums:
        here = take.below("minimums")
        counts = {str(name): here.number(name, low=0, is_whole=True) for name in minimums}
        return Checks(
            whole=False,
            parts=tuple(
                Part(id=name, check=Check(kind="tool-count", value={name: {"min": int(least or 0)}}))
                for name, least in counts.items()
            ),
        )
    if not calls:
        what = "minimums" if mode == "any_order" else "expected"
        take.reading.problem(f"`tool-trajectory` needs `{what}`", take.path)
        return None
    take.reading.note(
        "a sequence of tool calls is met or not met as a whole; AgentV gives part of the score for part of it"
    )
    options: dict[str, Any] = {"mode": {"superset": "any_order", None: "in_order"}.get(mode, mode)}
    if any("arguments" in call for call in calls):
        options["args"] = args or "exact"
    return one("tool-calls", calls, **options)


def _args(take: Entry, *keys: str) -> str | None:
    """AgentV's `superset` (the call has all these arguments) is `subset` here (these are among the call's)."""
    value = take.raw(*keys)
    if value is None or value in ("exact", "ignore"):
        return value if isinstance(value, str) else None
    if value == "superset":
        return "subset"
    take.reading.loss(f"`{keys[0]}: {shown(value)}` of tool calls has no equivalent here", take.path)
    return None


def _call(take: Entry) -> Iterator[dict[str, Any]]:
    tool, args = take.text("tool"), take.raw("args")
    if args is not None and args != "any" and not isinstance(args, dict):
        take.reading.problem(f"`args` must be a mapping or `any`, not {shown(args)}", (*take.path, "args"))
    yield {"tool": tool or "?", **({"arguments": args} if isinstance(args, dict) else {})}


def _has_value(take: Entry, kind: str) -> bool:
    take.raw("value")
    if "value" not in take:
        take.reading.problem(f"`{kind}` needs a `value`", take.path)
    return "value" in take


def _tool_used(take: Entry, context: CodeContext) -> Checks | None:
    if not _has_value(take, "trajectory:tool-used"):
        return None
    value = take.raw("value")
    if isinstance(value, str | list):
        names = [value] if isinstance(value, str) else value
        parts = tuple(Part(id=str(n), check=Check(kind="tool-count", value={str(n): {"min": 1}})) for n in names)
        return Checks(parts=parts, whole=len(parts) == 1) if parts else None
    here = take.mapping("value", TOOL_USED)
    if here is None:
        return None
    name = here.text("name", "tool")
    least, most = here.number("min", low=0, is_whole=True), here.number("max", low=0, is_whole=True)
    if name is None:
        return None
    least = Fraction(1) if least is None and most is None else least
    bounds = {key: int(bound) for key, bound in (("min", least), ("max", most)) if bound is not None}
    return one("tool-count", {name: bounds})


def _tool_sequence(take: Entry, context: CodeContext) -> Checks | None:
    if not _has_value(take, "trajectory:tool-sequence"):
        return None
    value = take.raw("value")
    here = take.below("value")
    if isinstance(value, list):
        steps: Any = value
        mode: str | None = "in_order"
    else:
        if not here.read(TOOL_SEQUENCE):
            return None
        steps, mode = here.raw("steps"), here.choice("mode", ("in_order", "exact"))
    names = (
        [
            step if isinstance(step, str) else step.get("name") or step.get("tool")
            for step in steps or ()
            if isinstance(step, str | dict)
        ]
        if isinstance(steps, list)
        else []
    )
    if not names or not all(isinstance(name, str) for name in names):
        take.reading.problem("`trajectory:tool-sequence` needs `steps`, a list of tool names", here.path)
        return None
    return one("tool-calls", [{"tool": name} for name in names], mode=mode or "in_order")


def _tool_args(take: Entry, context: CodeContext) -> Checks | None:
    if not _has_value(take, "trajectory:tool-args-match"):
        return None
    here = take.mapping("value", TOOL_ARGS)
    if here is None:
        return None
    name, args, mode = here.text("name", "tool"), here.raw("args"), here.choice("mode", ("partial", "exact"))
    if not isinstance(args, dict):
        here.reading.problem(f"`args` must be a mapping, not {shown(args)}", here.path)
        return None
    return one(
        "tool-calls",
        [{"tool": name, "arguments": args}],
        mode="any_order",
        args="exact" if mode == "exact" else "subset",
    )


def _skill_used(take: Entry, context: CodeContext) -> Checks | None:
    take.raw("value")
    take.reading.note("`skill-used` asks whether the skill that is tried was read; its name is not compared")
    return one("skill-loaded", True)


# --------------------------------------------------------------------------------------------------------- limits


def _limit(kind: str, *keys: str) -> _Read:
    def read(take: Entry, context: CodeContext) -> Checks | None:
        most = take.number(*keys, low=0)
        if most is None:
            take.reading.problem(f"`{kind}` needs `{keys[0]}`", take.path) if take.which(*keys) is None else None
            return None
        return one(kind, as_written(most))

    return read


_TOKENS: Final = {
    "total": ("max_total", "maxTotal"),
    "input": ("max_input", "maxInput"),
    "output": ("max_output", "maxOutput"),
}


def _tokens(take: Entry, context: CodeContext) -> Checks | None:
    limits = {name: take.number(*keys, low=0) for name, keys in _TOKENS.items()}
    value = {name: as_written(most) for name, most in limits.items() if most is not None}
    if not value:
        take.reading.problem("`token-usage` needs `max_total`, `max_input` or `max_output`", take.path)
        return None
    return one("tokens", value)


_METRICS: Final = {
    "max_duration_ms": ("latency", "maxDurationMs"),
    "max_cost_usd": ("cost", "maxCostUsd"),
    "max_tokens": ("tokens", "maxTokens"),
}


def _metrics(take: Entry, context: CodeContext) -> Checks | None:
    parts = []
    for key, (kind, other) in _METRICS.items():
        most = take.number(key, other, low=0)
        if most is not None:
            value: Any = {"total": as_written(most)} if kind == "tokens" else as_written(most)
            parts.append(Part(id=key, check=Check(kind=kind, value=value)))
    calls = take.number("max_tool_calls", "maxToolCalls", low=0, is_whole=True)
    if calls is not None:
        parts.append(Part(id="max_tool_calls", check=Check(kind="tool-count", value={"*": {"max": int(calls)}})))
    if not parts and not any(key.startswith(("max_", "target_")) for key in map(str, take.value)):
        take.reading.problem("`execution-metrics` needs a limit", take.path, "for example: max_duration_ms: 60000")
    return Checks(parts=tuple(parts), whole=False) if parts else None


# ------------------------------------------------------------------------------------------------------- commands


def _script(take: Entry, context: CodeContext) -> Checks | None:
    words = _words(take)
    cwd = take.text("cwd")
    if cwd not in (None, ".", "./"):
        take.reading.loss(f"a grader runs in its file's folder, not in `{cwd}`", (*take.path, "cwd"))
    given = take.raw("config")
    config: dict[str, Any] = dict(given) if isinstance(given, dict) else {}
    # Unknown keys are the program's own settings, as in AgentV.
    known = take.keys.by_name if take.keys is not None else {}
    config |= {str(key): value for key, value in take.value.items() if str(key) not in known}
    if words is None:
        return None
    options: dict[str, Any] = {}
    if config:
        options["config"] = config
    take.reading.note(
        "a grader that is a program is met when it gives 1 (or its `min_score`); AgentV takes its score as it is"
    )
    least = take.number("min_score", low=0, high=1)
    if least is not None:
        options["min_score"] = as_written(least)
    return one("grader", words, **options)


def _words(take: Entry) -> list[str] | None:
    key = take.which("command", "script")
    if key is None:
        take.reading.problem("a grader that is a program needs a `command`", take.path)
        return None
    value = take.value[key]
    if isinstance(value, str):
        try:
            value = shlex.split(value)
        except ValueError as error:
            take.reading.problem(f"`{key}` cannot be split into words: {str(error).lower()}", (*take.path, key))
            return None
    words = take.texts(key) if isinstance(value, list) and isinstance(take.value[key], list) else value
    if not words or not str(words[0]).strip():
        take.reading.problem(f"`{key}` is empty", (*take.path, key))
        return None
    return list(words)


CODE: Final[Mapping[str, _Read]] = {
    **{
        kind: _text(kind)
        for kind in (
            "contains",
            "contains-any",
            "contains-all",
            "icontains",
            "icontains-any",
            "icontains-all",
            "starts-with",
            "ends-with",
            "equals",
        )
    },
    "regex": _regex,
    "is-json": _is_json,
    "field-accuracy": _field_accuracy,
    "tool-trajectory": _trajectory,
    "trajectory:tool-used": _tool_used,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_args,
    "skill-used": _skill_used,
    "latency": _limit("latency", "threshold"),
    "cost": _limit("cost", "budget"),
    "token-usage": _tokens,
    "execution-metrics": _metrics,
    "script": _script,
    "code": _script,
    "code-judge": _script,
    "code-grader": _script,
    "script-grader": _script,
}
"""Graders that are code, by type in kebab case."""

NOT_HERE: Final = {
    "similar": "asks how alike two texts are to an embedding model",
    "javascript": "is a piece of JavaScript",
    "python": "is a piece of Python run by AgentV",
    "webhook": "asks a web address",
    "trajectory:step-count": "counts the steps of an agent",
    "trajectory:goal-success": "asks a model about an agent's whole run",
    "expected-messages": "compares messages with tool calls",
}
"""Graders that cannot be said here, and why."""
