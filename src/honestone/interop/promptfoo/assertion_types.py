"""promptfoo's assertions as criteria: checks, judges' questions and groups; what runs code or other
models is lost.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from shutil import which
from typing import Final

from msgspec.structs import replace

from honestone.core.checking.check_problems import fits
from honestone.core.checking.checks import KINDS
from honestone.core.checking.javascript.patterns import NotTranslated, compile_javascript
from honestone.core.checking.script import Language, Script
from honestone.core.json_value import JsonObject, late_pattern
from honestone.core.judging.rubric import Criterion, as_written, slug
from honestone.core.numbers import ONE, ZERO
from honestone.formats.source import Loss
from honestone.formats.syntax.reader import (
    FileEntry,
    FileReading,
    Steps,
    did_you_mean,
    shown,
    words,
)
from honestone.interop import criteria
from honestone.interop.promptfoo.assertion import (
    AS_JAVASCRIPT,
    FORMATS,
    TABLES,
    Assertion,
    Scope,
)
from honestone.interop.promptfoo.code import (
    json_values,
    read_transform,
    script_of,
)
from honestone.interop.promptfoo.measures import READ as MEASURES
from honestone.interop.promptfoo.measures import schema_check

_OTHER_MODEL = "asks a model of another kind (embeddings, a classifier, a service)"

# ----------------------------------------------------------------------------------------------
# tables of keys


# -------------------------------------------------------------------------------------------------------
# the kinds


def _one_text(a: Assertion) -> Criterion | None:
    text = a.text()
    return None if text is None else a.check(a.type, text, **AS_JAVASCRIPT)


def _regex(a: Assertion) -> Criterion | None:
    """A pattern of JavaScript. One that Python cannot say is tried by Node."""
    text = a.text()
    if text is None:
        return None
    try:
        compile_javascript(text)
    except NotTranslated as why:
        if which("node") is None:
            what = f"`{a.type}` is a pattern that only JavaScript reads ({why}): /{text[:60]}/"
            a.loss(f"{what}, and `node` is not on PATH", "install Node.js (https://nodejs.org)")
            return None
        code = f"new RegExp({json.dumps(text)}).test(output)"
        script = Script(language="javascript", code=code).to_plain()
        tried = criteria.sound_check(a.at.reading, a.here, "script", script, negated=a.negated)
        does = "does not match" if a.negated else "matches"
        return None if tried is None else a.criterion(tried, f"{does} /{text}/, by JavaScript")
    return a.check(a.type, text, **AS_JAVASCRIPT)


def _several_texts(a: Assertion) -> Criterion | None:
    value = a.value()
    if isinstance(value, str):
        value = _comma_separated(value)
    if not isinstance(value, list) or not value:
        a.takes("a list of texts", value)
        return None
    texts = [criteria.as_text(v) for v in value]
    if a.type.endswith("-any") and "" in texts:
        a.loss(f"`{a.type}` has an empty text in its list, which every output contains")
        return None
    return a.check(a.type, [text for text in texts if text], **AS_JAVASCRIPT)


def _comma_separated(text: str) -> list[str]:
    if '"' not in text:
        return [word.strip() for word in text.split(",")]
    try:
        rows = list(csv.reader([text.replace("\n", " ")], skipinitialspace=True))
    except csv.Error:
        return [text]
    return [word.strip() for row in rows for word in row if word.strip()]


def _code(a: Assertion) -> Criterion | None:
    """`javascript` and `python`: an expression, the body of a function, or a function in a file."""
    language: Language = "javascript" if a.type == "javascript" else "python"
    value = a.at.raw("value")
    if not isinstance(value, str) or not value.strip():
        a.problem(f"takes code or a file, not {shown(value)}", "value: output.length < 20")
        return None
    if not value.startswith("file://"):
        value = a.scope.fill(value, a.at.reading, a.here)
    script = script_of(value, a.at.reading, a.here, a.scope.siblings, a.name, language=language)
    if script is None:
        return None
    threshold, config = a.at.number("threshold"), a.at.raw("config")
    context = {**a.scope.case, **({} if config is None else {"config": config})}
    options = {} if threshold is None else {"threshold": as_written(threshold)}
    return a.check(
        "script",
        script.to_plain(),
        **options,
        **({"context": json_values(context)} if context else {}),
    )


def _equals(a: Assertion) -> Criterion | None:
    raw = a.at.raw("value")
    value = raw if isinstance(raw, dict | list) else a.value()
    if isinstance(value, dict | list):
        if a.negated:
            a.loss("`not-equals` with a value of JSON fails a text that is not JSON in promptfoo")
            return None
        return a.check("json-schema", {"const": value}, **AS_JAVASCRIPT)
    text = criteria.as_text(value) if isinstance(value, bool) else a.text()
    return None if text is None else a.check("equals", text, **AS_JAVASCRIPT)


def _is_json(a: Assertion) -> Criterion | None:
    if not a.at.raw("value"):  # promptfoo looks for no schema where the value is false or empty
        return a.check("is-json", True)
    return schema_check(a, "json-schema")


def _is_markup(a: Assertion) -> Criterion | None:
    """`is-html`, `contains-html`, `is-xml` and `contains-xml`; XML with a `value` must have these
    elements.
    """
    value = a.value()
    if value is None and a.at.raw("value") is not None:
        return None  # which was lost
    if a.type.endswith("-html") or value in (None, "", [], {}):
        return a.check(a.type, True)
    if isinstance(value, dict):
        if isinstance(a.at.raw("value"), dict):
            a.below(TABLES["xml"])
        value = value.get("requiredElements")
    names = [one.strip() for one in value.split(",")] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(one, str) and one for one in names)
    ):
        a.takes("names of elements", value)
        return None
    return a.check(a.type, names)


def _function_calls(a: Assertion) -> Criterion | None:
    """`is-valid-function-call` and the like: of functions that the providers may call."""
    if not a.scope.functions:
        a.loss(
            f"`{a.type}` needs the functions of a provider, and none is read",
            "give it `config.tools`",
        )
        return None
    return a.check("function-calls", a.scope.functions)


def _limit(a: Assertion) -> Criterion | None:
    """`latency` and `cost`."""
    threshold = a.at.number("threshold", low=0)
    if threshold is None:
        if "threshold" not in a.at:
            a.loss(
                f"`{a.type}` without a `threshold` only measures",
                "the report shows it for every case",
            )
        return None
    return a.check(a.type, threshold)


def _word_count(a: Assertion) -> Criterion | None:
    value = a.value()
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    low, high = (value.get("min"), value.get("max")) if isinstance(value, dict) else (value, value)
    if isinstance(value, dict):
        a.at.mapping("value", TABLES["word-count"])
    counts = [v is None or fits(v, {"type": "integer", "minimum": 0}) for v in (low, high)]
    if (low is None and high is None) or not all(counts):
        a.takes("a number of words or {min, max}", value)
        return None
    if high is None:
        return a.check("min-words", low)
    if low is None:
        return a.check("max-words", high)
    if not 0 <= low <= high <= 100_000:
        a.problem(f"has the bounds {low} and {high}")
        return None
    words = r"\A\s*(?:\S++(?:\s++|\Z)){" + f"{low},{high}" + r"}\Z"
    check = criteria.sound_check(a.at.reading, a.here, "regex", words, negated=a.negated)
    has = "does not have" if a.negated else "has"
    number = f"{low}" if low == high else f"{low} to {high}"
    return None if check is None else a.criterion(check, f"{has} {number} words")


def _rubric(a: Assertion) -> Criterion | None:
    """`llm-rubric`: yes or no; with a threshold a score."""
    if "value" not in a.at and a.scope.asks_otherwise:
        a.loss(
            "the question of this assertion is in `rubricPrompt`, which judges here are not asked"
        )
        return None
    value = a.value()
    if isinstance(value, dict):
        text: str | None = criteria.as_text(value)
    else:
        text = a.text()
    threshold = a.at.number("threshold", low=0, high=1)
    if text is None:
        return None
    return a.question(text) if threshold is None else a.grade(text, threshold)


def _g_eval(a: Assertion) -> Criterion | None:
    """A score over one or several criteria, 0.7 by default."""
    value = a.value()
    threshold = a.at.number("threshold", low=0, high=1)
    bar = Fraction(7, 10) if threshold is None else threshold
    if isinstance(value, list) and value and all(isinstance(v, str) and v.strip() for v in value):
        if len(value) == 1:
            return a.grade(value[0], bar)
        if a.negated:
            return a.grade("", bar)
        children = tuple(criteria.scaled(slug(text), text, criteria.FROM_0_TO_1) for text in value)
        id = a.metric or "g-eval"
        return Criterion(
            id=id, requirement=id, weight=a.weight, floor=a.bar(bar), children=children
        )
    text = a.text()
    return None if text is None else a.grade(text, bar)


def _factuality(a: Assertion) -> Criterion | None:
    text = a.text()
    if text is None:
        return None
    if a.scope.factuality:
        return _factuality_by_scores(a, text)
    a.at.note("`factuality` is one yes/no question: whether the output contradicts the reference")
    return a.question(f"Contradicts nothing in this reference answer: {text}")


# promptfoo's kinds of an answer next to a reference, with what it counts.
_FACTUAL: Final = {
    "subset": ("a part of the reference answer, and agrees with it", ONE),
    "superset": ("all of the reference answer and more, and agrees with it", ONE),
    "agree": ("the same as the reference answer", ONE),
    "disagree": ("something that contradicts the reference answer", ZERO),
    "differButFactual": ("something else in ways that do not matter for the facts", ONE),
}


def factuality_scores(at: FileEntry | None) -> Mapping[str, Fraction]:
    scores = {} if at is None else {key: at.number(key, low=0, high=1) for key in _FACTUAL}
    return {key: score for key, score in scores.items() if score is not None}


def _factuality_by_scores(a: Assertion, reference: str) -> Criterion | None:
    """Each kind of answer has its score; promptfoo passes those above 0."""
    levels: dict[Fraction, str] = {}
    for key, (meaning, usual) in _FACTUAL.items():
        score = a.scope.factuality.get(key, usual)
        levels[score] = f"{levels[score]}, or {meaning}" if score in levels else f"says {meaning}"
    passing = [score for score in levels if score > 0]
    if a.negated or len(levels) < 2 or not passing:
        a.loss("these scores of `factuality` answers have no meaning here")
        return None
    requirement = f"Is factual next to this reference answer: {reference}"
    levels = {
        ZERO: "says none of these",
        **levels,
        ONE: levels.get(ONE, "says better than all of these"),
    }
    id = a.metric or slug(requirement)
    return criteria.scaled(id, requirement, levels, weight=a.weight, floor=a.bar(min(passing)))


def _tool_used(a: Assertion) -> Criterion | None:
    value = a.value()
    if isinstance(value, dict):
        below = a.below(TABLES["tool-used"])
        name, low, high = (
            below.text("pattern", "name"),
            below.number("min", low=0),
            below.number("max", low=0),
        )
        if name is None:
            a.problem("needs a `pattern`")
            return None
        return _counted(a, name, 1 if low is None else low, high)
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
        a.takes("a tool's name or a list of them", value)
        return None
    if a.negated and len(names) > 1:
        a.loss(
            "`not-trajectory:tool-used` with several tools has no meaning here",
            "one assertion a tool",
        )
        return None
    return a.check("tool-calls", names, mode="any_order")


def _counted(
    a: Assertion, name: str, low: Fraction | int | None, high: Fraction | int | None
) -> Criterion | None:
    """How often tools of this name are called; `*` in it stands for anything."""
    if "?" in name:
        a.loss(f"the pattern `{name}` of tool names has no meaning here", "`*` is read, `?` is not")
        return None
    bounds = {key: int(bound) for key, bound in (("min", low), ("max", high)) if bound is not None}
    return a.check("tool-count", {name: bounds})


def _step_count(a: Assertion) -> Criterion | None:
    """`trajectory:step-count` of the calls of tools; other kinds of steps are not in a trace here."""
    if not isinstance(a.value(), dict):
        a.problem(
            f"takes a mapping with `type` and `min` or `max`, not {shown(a.at.value.get('value'))}"
        )
        return None
    below = a.below(TABLES["step-count"])
    low, high = below.number("min", low=0), below.number("max", low=0)
    if below.raw("type") not in ("tool", ["tool"]):
        a.loss("`trajectory:step-count` counts calls of tools only here", "give it `type: tool`")
        return None
    if low is None and high is None:
        a.problem("needs `min` or `max`")
        return None
    return _counted(a, below.text("pattern") or "*", low, high)


def _tool_sequence(a: Assertion) -> Criterion | None:
    value = a.value()
    mode = "in_order"
    if isinstance(value, dict):
        below = a.below(TABLES["tool-sequence"])
        mode = below.choice("mode", ("in_order", "exact")) or mode
        value = below.texts("steps")
    if not isinstance(value, list) or not value or not all(isinstance(n, str) and n for n in value):
        a.takes("a list of tools' names", value)
        return None
    if any("*" in name or "?" in name for name in value):
        a.loss("a pattern of tool names has no meaning here", "name the tools")
        return None
    return a.check("tool-calls", value, mode=mode)


def _tool_arguments(a: Assertion) -> Criterion | None:
    if not isinstance(a.value(), dict):
        a.problem(f"takes a mapping with `name` and `args`, not {shown(a.at.value.get('value'))}")
        return None
    below = a.below(TABLES["tool-arguments"])
    name, mode = below.text("name"), below.choice("mode", ("partial", "exact"))
    arguments = below.raw("args", "arguments")
    if any(key in below for key in ("pattern", "defaults", "ignore")):
        a.loss("`pattern`, `defaults` and `ignore` of tool arguments have no meaning here")
        return None
    if name is None or not isinstance(arguments, dict):
        a.problem("needs a `name` and `args`")
        return None
    filled = {
        key: a.scope.fill(value, a.at.reading, a.here) if isinstance(value, str) else value
        for key, value in arguments.items()
    }
    args = "exact" if mode == "exact" else "subset"
    return a.check("tool-calls", [{"tool": name, "arguments": filled}], mode="any_order", args=args)


_READ: Final[Mapping[str, Callable[[Assertion], Criterion | None]]] = {
    **dict.fromkeys(words("contains icontains starts-with"), _one_text),
    "regex": _regex,
    **dict.fromkeys(words("contains-any contains-all icontains-any icontains-all"), _several_texts),
    **dict.fromkeys(words("latency cost"), _limit),
    **dict.fromkeys(words("javascript python"), _code),
    **dict.fromkeys(words("llm-rubric model-graded-closedqa"), _rubric),
    **dict.fromkeys(words("factuality model-graded-factuality"), _factuality),
    "equals": _equals,
    "is-json": _is_json,
    **dict.fromkeys(words("is-html contains-html is-xml contains-xml"), _is_markup),
    "word-count": _word_count,
    **dict.fromkeys(
        words("is-valid-function-call is-valid-openai-function-call is-valid-openai-tools-call"),
        _function_calls,
    ),
    "g-eval": _g_eval,
    "trajectory:tool-used": _tool_used,
    "trajectory:step-count": _step_count,
    "trajectory:tool-sequence": _tool_sequence,
    "trajectory:tool-args-match": _tool_arguments,
    **MEASURES,
}

READ_TYPES: Final = (*_READ, "assert-set")
TYPES: Final = frozenset([*READ_TYPES, *FORMATS.lost])


def is_type(name: str) -> bool:
    return name.removeprefix("not-") in TYPES or name.startswith("promptfoo:redteam:")


# ------------------------------------------------------------------------------------------------------
# the walk


def read_assertions(at: FileEntry, scope: Scope) -> list[Criterion]:
    """A list of assertions."""
    if not isinstance(at.value, list):
        at.problem(f"`assert` must be a list of assertions, not {shown(at.value)}")
        return []
    found = (read_assertion(at.below(index), scope) for index in range(len(at.value)))
    return [criterion for criterion in found if criterion is not None]


def read_assertion(at: FileEntry, scope: Scope) -> Criterion | None:
    """One assertion, left out where something is wrong with it: promptfoo loads the file, and fails
    the test when it makes the assertion.
    """
    known = len(at.reading.problems)
    criterion = _assertion(at, scope)
    return None if lose_problems(at.reading, _LEFT_OUT, since=known) else criterion


def lose_problems(reading: FileReading, hint: str, *, since: int = 0) -> bool:
    """Whether something was found wrong; it becomes a loss."""
    wrong = reading.problems[since:]
    del reading.problems[since:]
    reading.losses += [
        Loss(
            place=one.place or reading.marked.at(()),
            message=one.message,
            hint=f"{one.hint}; {hint}" if one.hint else hint,
        )
        for one in wrong
    ]
    return bool(wrong)


_LEFT_OUT = "--accept-loss leaves the assertion out, which promptfoo fails"


def _assertion(at: FileEntry, scope: Scope) -> Criterion | None:
    if "$ref" in at:
        meant = _referred(at, scope.depth)
        return None if meant is None else read_assertion(meant, scope.deeper(gates=scope.gates))
    written = at.value.get("type") if at.is_mapping else None
    if written == "assert-set":
        return _set(at, scope)
    type = str(written).removeprefix("not-")
    if type in FORMATS.lost or type.startswith("promptfoo:redteam:"):
        why, hint = FORMATS.lost.get(type, (_OTHER_MODEL, None))
        at.loss(f"the assertion `{written}` {why}", hint=hint)
        return None
    if isinstance(written, str) and written.strip() and type not in _READ:
        at.reading.unknown_loss(
            f"unknown assertion `{written}`", (*at.path, "type"), did_you_mean(type, TYPES)
        )
        return None
    if not at.read(TABLES["assertion"]) or at.text("type") is None:
        return None
    if any(key in at for key in ("contextTransform", "rubricPrompt")):
        return None
    weight = at.weight("weight")
    assertion = Assertion(
        at=at,
        type=type,
        negated=written != type,
        metric=at.text("metric"),
        scope=scope,
        weight=ZERO if at.flag("metricOnly") else weight,
    )
    return _transformed(assertion, _READ[type](assertion))


# Code is handed the value of an output that is JSON, where promptfoo's provider gives it as one.
_VALUE: Final[Mapping[str, Script]] = {
    "javascript": Script(
        language="javascript",
        code="try {\n  return JSON.parse(output)\n} catch {\n  return output\n}",
    ),
    "python": Script(
        language="python",
        code="import json\ntry:\n    return json.loads(output)\nexcept ValueError:\n    return output",
    ),
}


def _transformed(a: Assertion, criterion: Criterion | None) -> Criterion | None:
    """Its check looks at what code makes of the output: the test's, then its own. A judge sees the
    output as it is.
    """
    own = read_transform(a.at, "transform", a.scope.siblings, a.name) if "transform" in a.at else ()
    first = (_VALUE[a.type],) if a.scope.is_structured and a.type in _VALUE else ()
    transforms = (*first, *a.scope.transforms, *(own or ()))
    if criterion is None or own is None or not transforms:
        return None if own is None else criterion
    (item, *more) = criterion.items or (None,)
    if item is None or more or item.check is None:
        if not own:
            a.loss(
                "the `transform` of the test changes nothing for a judge, who sees the output as it is"
            )
            return criterion
        a.loss(f"the `transform` of {a.name} changes what a judge sees; the assertion is left out")
        return None
    if "transform" not in KINDS[item.check.kind].options:
        return criterion  # about the run, not about its output
    options: JsonObject = {
        **item.check.options,
        "transform": [one.to_plain() for one in transforms],
    }
    if item.check.kind != "script" and a.scope.case:
        options = {**options, "context": json_values(a.scope.case)}
    return replace(criterion, items=(replace(item, check=replace(item.check, options=options)),))


def _referred(at: FileEntry, depth: int) -> FileEntry | None:
    """The template that `$ref: '#/assertionTemplates/NAME'` means, in the same file."""
    name = at.text("$ref") if at.read(TABLES["reference"]) else None
    path: Steps = tuple((name or "").removeprefix("#/").split("/"))
    if name is None or not name.startswith("#/") or not at.reading.marked.has(path):
        at.problem(f"`$ref` names nothing in this file: `{name}`", "$ref")
        return None
    if depth >= 5:
        at.problem("this `$ref` refers to too many others in turn", "$ref")
        return None
    return FileEntry(at.reading, path)


def _set(at: FileEntry, scope: Scope) -> Criterion | None:
    """A group: all of it must pass, or the mean must reach its own threshold."""
    at.read(TABLES["set"])
    threshold = at.number("threshold", low=0, high=1)
    weight = at.weight("weight")
    metric = at.text("metric")
    if "assert" not in at:
        at.problem("an `assert-set` needs `assert`, a list of assertions")
        return None
    if scope.depth > 5:
        at.problem("sets of assertions are nested too deeply")
        return None
    gates = scope.gates and weight > 0
    children = read_assertions(at.below("assert"), scope.deeper(gates=gates and threshold is None))
    if not children:
        return None
    if not any(child.weight > 0 for child in children):
        at.note("a set whose assertions all have weight 0 is left out: it decides nothing")
        return None
    id = metric or "assert-set"
    floor = None
    if gates:
        floor = criteria.implied_floor(children) if threshold is None else threshold
    how_many = "all" if threshold is None else "enough"
    requirement = metric or f"{how_many} of {len(children)} assertions"
    return Criterion(
        id=id, requirement=requirement, weight=weight, floor=floor, children=tuple(children)
    )


# -------------------------------------------------------------------------------------------------
# in one cell

_CELL: Final = late_pattern(
    r"(not-)?([a-z][a-z:-]*?)(?:\((-?\d+(?:\.\d+)?)\))?(?::(.*))?", re.DOTALL
)
_SHORT: Final = {"grade": "llm-rubric", "fn": "javascript", "eval": "javascript"}


def assertion_of_cell(cell: str) -> dict[str, object]:
    """What a table writes as `type:value` or `type(threshold):value`; anything else is a text to be
    equal to.
    """
    match = _CELL.fullmatch(cell.strip())
    if match is None:
        return {"type": "equals", "value": cell}
    negation, name, threshold, value = match.groups()
    type = _SHORT.get(name, name)
    if type not in TYPES or (
        value is None and type not in ("is-json", "contains-json", "latency", "cost")
    ):
        return {"type": "equals", "value": cell}
    out: dict[str, object] = {"type": (negation or "") + type}
    if threshold is not None:
        out["threshold"] = float(threshold)
    if value is not None and value.strip():
        out["value"] = value.strip()
    return out
