"""pydantic-evals datasets: cases with inputs and evaluators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from honestone.core.checking.script import Script
from honestone.core.json_value import is_integer, is_number
from honestone.core.judging.rubric import DEFAULT_THRESHOLD, Criterion, slug
from honestone.core.numbers import ONE
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import (
    Cases,
    FileEntry,
    FileReading,
    Steps,
    did_you_mean,
    shown,
)
from honestone.interop import criteria as meant
from honestone.interop.pydantic_evals.classes import EvaluatorClasses
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes


class _Evaluator(Struct, frozen=True):
    """One evaluator of one case, being read. `arguments` are named, `single` is the one that has no
    name.
    """

    reading: FileReading
    path: Steps
    name: str
    arguments: FileEntry | None = None
    single: Steps | None = None

    def argument(self, name: str) -> tuple[Any, Steps]:
        """A value and its place; None when it is not given. The first one may come without a name."""
        if self.arguments is not None:
            value = self.arguments.raw(name)
            return value, (*self.arguments.path, name)
        if self.single is not None:
            return FileEntry(self.reading, self.single).value, self.single
        return None, self.path

    def option(self, name: str) -> Any:
        return None if self.arguments is None else self.arguments.raw(name)

    def id(self) -> str:
        name = self.option("evaluation_name")
        return name if isinstance(name, str) and name.strip() else slug(self.name)

    def holds(self, kind: str, value: Any, path: Steps) -> Criterion | None:
        check = meant.sound_check(self.reading, path, kind, value)
        return None if check is None else meant.check_criterion(check, floor=ONE)

    def lose(self, why: str, hint: str | None = None) -> None:
        self.reading.loss(f"`{self.name}` {why}", self.path, hint)


def _equal_to(e: _Evaluator, value: Any, path: Steps) -> Criterion | None:
    if isinstance(value, str):
        return e.holds("equals", value, path)
    e.reading.note("pydantic-evals: an output that is not text is compared as JSON")
    return e.holds("json-schema", {"const": value}, path)


def _equals(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    value, path = e.argument("value")
    if value is None:
        e.reading.problem("`Equals` needs a `value`", e.path)
        return None
    return _equal_to(e, value, path)


def _equals_expected(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    return None if expected is None else _equal_to(e, *expected)


def _contains(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    value, path = e.argument("value")
    in_any_case = e.option("case_sensitive") is False
    as_strings = e.option("as_strings") is True
    if value is None:
        e.reading.problem("`Contains` needs a `value`", e.path)
        return None
    if isinstance(value, dict) and not as_strings:
        schema = {
            "type": "object",
            "required": [str(key) for key in value],
            "properties": {str(key): {"const": v} for key, v in value.items()},
        }
        return e.holds("json-schema", schema, path)
    if isinstance(value, str) or (as_strings and is_number(value)):
        return e.holds("icontains" if in_any_case else "contains", meant.as_text(value), path)
    e.lose("looks for a value that is not text", "a text or a mapping is read")
    return None


_TYPES: Final[Mapping[str, str]] = {
    "dict": "object",
    "list": "array",
    "int": "integer",
    "float": "number",
    "bool": "boolean",
    "NoneType": "null",
}


def _is_instance(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    name, path = e.argument("type_name")
    if name == "str":
        e.reading.note(
            "pydantic-evals: `IsInstance: str` holds for every output here, so it is left out"
        )
        return None
    if not isinstance(name, str) or name not in _TYPES:
        e.lose(f"asks for the Python type `{name}`, which an output here does not have")
        return None
    return e.holds("json-schema", {"type": _TYPES[name]}, path)


def _max_duration(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    seconds, path = e.argument("seconds")
    if isinstance(seconds, str):
        e.lose(f"has the duration `{seconds}`", "write it in seconds")
        return None
    if not is_number(seconds) or seconds <= 0:
        e.reading.problem(f"`MaxDuration` takes seconds above 0, not {shown(seconds)}", path)
        return None
    return e.holds("latency", e.reading.marked.number(path) * 1000, path)


def _llm_judge(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    rubric, path = e.argument("rubric")
    score, assertion = e.option("score"), e.option("assertion")
    if not isinstance(rubric, str) or not rubric.strip():
        e.reading.problem("`LLMJudge` needs a `rubric`, the question in words", path)
        return None
    named = next(
        (
            o["evaluation_name"]
            for o in (assertion, score)
            if isinstance(o, dict)
            and isinstance(o.get("evaluation_name"), str)
            and o["evaluation_name"].strip()
        ),
        None,
    )
    id = named or slug(rubric)
    if assertion is False:
        return meant.scaled(id, rubric, meant.FROM_0_TO_1)
    return meant.yes_no(id, rubric, floor=meant.MAJORITY)


def _g_eval(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    """A score on a scale of its own, from described steps."""
    criteria, path = e.argument("criteria")
    steps, bounds = e.option("evaluation_steps"), e.option("score_range")
    id = e.id()
    if not isinstance(criteria, str) or not criteria.strip():
        e.reading.problem("`GEval` needs `criteria`, in words", path)
        return None
    bounds = [1, 5] if bounds is None else bounds
    if (
        not isinstance(bounds, list)
        or len(bounds) != 2
        or not all(type(b) is int for b in bounds)
        or bounds[0] >= bounds[1]
    ):
        e.reading.problem("`score_range` must be two whole numbers, the lower first", e.path)
        return None
    listed = [step for step in steps if isinstance(step, str)] if isinstance(steps, list) else []
    words = "\n".join([criteria.strip(), *(f"{n}. {step}" for n, step in enumerate(listed, 1))])
    return meant.scaled(
        id, words, {Fraction(bounds[0]): "not met at all", Fraction(bounds[1]): "met in full"}
    )


def _max_tool_calls(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    most, path = e.argument("max_calls")
    if not is_integer(most) or most < 0:
        e.reading.problem(
            f"`MaxToolCalls` takes `max_calls`, a whole number from 0, not {shown(most)}", path
        )
        return None
    if e.option("include_failed") is False:
        e.lose("leaves calls that failed out, which no check here does")
        return None
    return e.holds("tool-count", {"*": {"max": most}}, path)


def _tool_correctness(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    """Each tool as often as it is listed; without `allow_extra` no more often, and no other tool."""
    names, path = e.argument("expected_tools")
    if not isinstance(names, list) or not all(isinstance(name, str) and name for name in names):
        e.reading.problem("`ToolCorrectness` takes `expected_tools`, a list of names", path)
        return None
    is_all = e.option("allow_extra") is not True
    counts = {
        name: {"min": count, "max": count} if is_all else {"min": count}
        for name, count in Counter(names).items()
    }
    if is_all:
        counts["*"] = {"max": len(names)}
    if e.option("include_failed") is not True:
        e.reading.note(NOTES["failed-calls"])
    if not counts:
        e.reading.note(
            "pydantic-evals: a `ToolCorrectness` that expects no tool and allows others always holds"
        )
    return e.holds("tool-count", counts, path) if counts else None


_READ: Final[Mapping[str, Callable[[_Evaluator, tuple[Any, Steps] | None], Criterion | None]]] = {
    "Equals": _equals,
    "EqualsExpected": _equals_expected,
    "Contains": _contains,
    "IsInstance": _is_instance,
    "MaxDuration": _max_duration,
    "LLMJudge": _llm_judge,
    "GEval": _g_eval,
    "MaxToolCalls": _max_tool_calls,
    "ToolCorrectness": _tool_correctness,
}


def _evaluator(reading: FileReading, path: Steps) -> _Evaluator | None:
    """`Name`, `{Name: argument}`, `{Name: {argument: ...}}` or `{name: Name, arguments: ...}`."""
    at = FileEntry(reading, path)
    if isinstance(at.value, str):
        return _Evaluator(reading, path, at.value, None, None)
    if not isinstance(at.value, dict) or not at.value:
        reading.problem(f"an evaluator must be a name or a mapping, not {shown(at.value)}", path)
        return None
    if isinstance(at.value.get("name"), str) and at.value.keys() <= {"name", "arguments"}:
        name, below = at.value["name"], (*path, "arguments")
        value = at.value.get("arguments")
        if isinstance(value, list) and len(value) == 1:
            below, value = (*below, 0), value[0]
    elif len(at.value) == 1:
        key, value = next(iter(at.value.items()))
        name, below = str(key), (*path, key)
    else:
        reading.problem(
            "an evaluator is one name with its arguments", path, "put each in an entry of its own"
        )
        return None
    if value is None:
        return _Evaluator(reading, path, name, None, None)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return _Evaluator(reading, path, name, FileEntry(reading, below), None)
    return _Evaluator(reading, path, name, None, below)


_CODE: Final = "--accept-loss reads the rest; where --allow-code can run it, the class is in a Python file next to the data set"


def _of_class(e: _Evaluator, file: Path, context: Mapping[str, object]) -> list[Criterion]:
    """A class of the data set's own: a boolean must be true, a number is a score."""
    arguments = None if e.arguments is None else e.arguments.value
    if e.single is not None:
        value = FileEntry(e.reading, e.single).value
        arguments = value if isinstance(value, list) else [value]
    e.reading.runs(f"the evaluator `{e.name}`", e.path, file)
    script = Script(language="python", file=file.name, evaluator=e.name, arguments=arguments)
    written, given = json.loads(json.dumps([script.to_plain(), context], default=str))
    check = meant.sound_check(e.reading, e.path, "script", written, context=given)
    return [] if check is None else [meant.check_criterion(check, id=slug(e.name))]


def _criteria(
    at: FileEntry,
    expected: tuple[Any, Steps] | None,
    classes: EvaluatorClasses | None,
    context: Mapping[str, object],
) -> tuple[list[Criterion], bool]:
    """The criteria of a list of evaluators, and whether a judge is to see the expected output.
    `classes`: those that may run; None without permission.
    """
    found: list[Criterion] = []
    shows = False
    value = at.raw("evaluators")
    if value is not None and not isinstance(value, list):
        at.problem(f"`evaluators` must be a list, not {shown(value)}", "evaluators")
        return [], False
    for index in range(len(value or ())):
        evaluator = _evaluator(at.reading, (*at.path, "evaluators", index))
        if evaluator is None:
            continue
        read = _READ.get(evaluator.name)
        if read is None:
            if classes is not None and (file := classes.file(evaluator.name)) is not None:
                found += _of_class(evaluator, file, context)
                continue
            is_lost = evaluator.name in FORMATS.lost
            why = (
                "looks at a trace in a way that no check here does"
                if is_lost
                else "is a Python class"
            )
            evaluator.lose(why, None if is_lost else did_you_mean(evaluator.name, _READ) or _CODE)
            continue
        if evaluator.arguments is not None:
            evaluator.arguments.read(TABLES[f"evaluator {evaluator.name}"])
        shows = shows or (
            "include_expected_output" in TABLES[f"evaluator {evaluator.name}"].by_name
            and evaluator.option("include_expected_output") is True
        )
        criterion = read(evaluator, expected)
        if criterion is not None:
            found.append(criterion)
    return found, shows


def _case(
    top: FileEntry, at: FileEntry, number: int, classes: EvaluatorClasses | None
) -> Case | None:
    name = at.text("name") or f"case-{number}"
    inputs, expected = at.raw("inputs"), at.raw("expected_output")
    if "inputs" not in (at.value or {}):
        at.problem("`inputs` is missing", hint="it is what the target gets")
    if not isinstance(inputs, str):
        at.note("pydantic-evals: inputs that are not text are given to the target as JSON")
    metadata = at.raw("metadata")
    answer = None if expected is None else (expected, (*at.path, "expected_output"))
    context = {"name": name, "inputs": inputs, "expected_output": expected, "metadata": metadata}
    shared, shows_shared = _criteria(top, answer, classes, context)
    own, shows_own = _criteria(at, answer, classes, context)
    criteria = [*shared, *own]
    has_evaluators = bool(top.value.get("evaluators")) or bool(at.value.get("evaluators"))
    shows = shows_shared or shows_own
    threshold = None
    if not criteria and not has_evaluators and expected is not None:
        at.note(NOTES["answers"])
        criteria, shows, threshold = (
            [meant.expected_answer([meant.as_text(expected)])],
            True,
            meant.MAJORITY,
        )
    elif not any(criterion.floor for criterion in criteria):
        threshold = DEFAULT_THRESHOLD
    rubric = meant.gated(at.reading, at.path, criteria, threshold)
    if metadata is not None and not isinstance(metadata, dict):
        metadata = {"metadata": metadata}
    return Case(
        id=name,
        rubric=rubric or meant.undecided(),
        messages=(Message("user", meant.as_text(inputs)),),
        reference=meant.as_text(expected) if shows and expected is not None else None,
        skip=None if rubric else "has no evaluator that can be read and no expected output",
        metadata=metadata or {},
    )


def _read_dataset(document: Document) -> SuiteSource:
    reading = FileReading(document.marked)
    top = reading.at()
    cases = Cases()
    classes = EvaluatorClasses(document.path.parent) if document.allow_code else None
    if top.read(TABLES["dataset"]):
        for number, at in enumerate(top.mappings("cases", TABLES["case"]), 1):
            cases.add(_case(top, at, number, classes), at, key="name")
        if not cases and not reading.problems:
            reading.problem("this dataset has no cases", ("cases",))
    reading.finish(*FORMATS.defaults("pydantic-evals")[:-1])  # the last holds for some cases only
    return reading.suite_source(
        document.path,
        "pydantic-evals",
        Suite(cases=cases.all(), title=top.text("name") or ""),
        cases,
    )


def _signs(document: Document) -> int:
    """`cases` whose entries have `inputs` (ours have `input`)."""
    cases = document.mapping.get("cases")
    if not isinstance(cases, list) or "suite" in document.mapping:
        return 0
    return 80 if any(isinstance(case, dict) and "inputs" in case for case in cases) else 0


READERS: tuple[Reader, ...] = (FORMATS.reader("pydantic-evals", _signs, _read_dataset),)
