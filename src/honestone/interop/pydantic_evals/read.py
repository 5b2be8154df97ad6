"""pydantic-evals datasets: cases with inputs and evaluators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, Final

from honestone.core.numbers import ONE
from honestone.core.rubric import DEFAULT_THRESHOLD, Criterion, slug
from honestone.core.suite.case import Case, Message, Suite
from honestone.formats.document import Document
from honestone.formats.fields import near
from honestone.interop.base import KnownKey, Reader, Steps, SuiteSource, Taking, Walk, shown
from honestone.interop.criteria import (
    FROM_0_TO_1,
    MAJORITY,
    as_text,
    check_criterion,
    expected_answer,
    gated,
    scaled,
    sound_check,
    undecided,
    yes_no,
)

DEFAULTS: Final = (
    "pydantic-evals: a case passes when every assertion holds; of an LLMJudge, when more than half of the judges say yes",
    "pydantic-evals: scores (LLMJudge with `score`, GEval) gate nothing there; a case that has nothing else has honestone's threshold of 70",
)
ANSWERS: Final = (
    "pydantic-evals: a case with an expected output and no evaluator asks a judge whether that answer is given"
)
_TOLD: Final = "pydantic-evals: the judge's model and settings are not read: --judge names the judges"


class _Evaluator:
    """One evaluator of one case, being read. `arguments` are named, `single` is the one that has no name."""

    def __init__(self, walk: Walk, path: Steps, name: str, arguments: Taking | None, single: Steps | None) -> None:
        self.walk = walk
        self.path = path
        self.name = name
        self.arguments = arguments
        self.single = single

    def argument(self, name: str) -> tuple[Any, Steps]:
        """A value and its place; None when it is not given. The first one may stand without a name."""
        if self.arguments is not None:
            value = self.arguments.raw(name)
            return value, (*self.arguments.path, name)
        if self.single is not None:
            return Taking(self.walk, self.single).value, self.single
        return None, self.path

    def option(self, name: str) -> Any:
        return None if self.arguments is None else self.arguments.raw(name)

    def known(self, *names: str) -> None:
        """Names of arguments that mean nothing here or are read elsewhere; any other is a mistake."""
        if self.arguments is not None:
            self.arguments.ignore(*names)
            self.arguments.close(f"`{self.name}`")

    def id(self) -> str:
        name = self.option("evaluation_name")
        return name if isinstance(name, str) and name.strip() else slug(self.name)

    def holds(self, kind: str, value: Any, path: Steps) -> Criterion | None:
        check = sound_check(self.walk, path, kind, value)
        return None if check is None else check_criterion(check, floor=ONE)

    def lose(self, why: str, hint: str | None = None) -> None:
        self.walk.loss(f"`{self.name}` {why}", self.path, hint)


def _equal_to(e: _Evaluator, value: Any, path: Steps) -> Criterion | None:
    if isinstance(value, str):
        return e.holds("equals", value, path)
    e.walk.note("pydantic-evals: an output that is no text is compared as JSON")
    return e.holds("json-schema", {"const": value}, path)


def _equals(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    value, path = e.argument("value")
    e.known("value", "evaluation_name")
    if value is None:
        e.walk.problem("`Equals` needs a `value`", e.path)
        return None
    return _equal_to(e, value, path)


def _equals_expected(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    e.known("evaluation_name")
    return None if expected is None else _equal_to(e, *expected)


def _contains(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    value, path = e.argument("value")
    in_any_case = e.option("case_sensitive") is False
    as_strings = e.option("as_strings") is True
    e.known("value", "case_sensitive", "as_strings", "evaluation_name")
    if value is None:
        e.walk.problem("`Contains` needs a `value`", e.path)
        return None
    if isinstance(value, dict) and not as_strings:
        schema = {
            "type": "object",
            "required": [str(key) for key in value],
            "properties": {str(key): {"const": v} for key, v in value.items()},
        }
        return e.holds("json-schema", schema, path)
    if isinstance(value, str) or (as_strings and isinstance(value, int | float) and not isinstance(value, bool)):
        return e.holds("icontains" if in_any_case else "contains", as_text(value), path)
    e.lose("looks for a value that is no text", "a text or a mapping is read")
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
    e.known("type_name", "evaluation_name")
    if name == "str":
        e.walk.note("pydantic-evals: `IsInstance: str` holds for every output here, so it is left out")
        return None
    if name not in _TYPES:
        e.lose(f"asks for the Python type `{name}`, which an output here does not have")
        return None
    return e.holds("json-schema", {"type": _TYPES[name]}, path)


def _max_duration(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    seconds, path = e.argument("seconds")
    e.known("seconds")
    if isinstance(seconds, str):
        e.lose(f"has the duration `{seconds}`", "write it in seconds")
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        e.walk.problem(f"`MaxDuration` takes seconds above 0, not {shown(seconds)}", path)
        return None
    return e.holds("latency", e.walk.marked.number(path) * 1000, path)


def _llm_judge(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    rubric, path = e.argument("rubric")
    score, assertion = e.option("score"), e.option("assertion")
    if e.option("model") is not None or e.option("model_settings") is not None:
        e.walk.note(_TOLD)
    e.known("rubric", "model", "model_settings", "include_input", "include_expected_output", "score", "assertion")
    if not isinstance(rubric, str) or not rubric.strip():
        e.walk.problem("`LLMJudge` needs a `rubric`, the question in words", path)
        return None
    named = next(
        (
            o["evaluation_name"]
            for o in (assertion, score)
            if isinstance(o, dict) and isinstance(o.get("evaluation_name"), str) and o["evaluation_name"].strip()
        ),
        None,
    )
    id = named or slug(rubric)
    if assertion is False:
        return scaled(id, rubric, FROM_0_TO_1)
    return yes_no(id, rubric, floor=MAJORITY)


def _g_eval(e: _Evaluator, expected: tuple[Any, Steps] | None) -> Criterion | None:
    """A score on a scale of its own, from described steps."""
    criteria, path = e.argument("criteria")
    steps, bounds = e.option("evaluation_steps"), e.option("score_range")
    if e.option("model") is not None or e.option("model_settings") is not None:
        e.walk.note(_TOLD)
    id = e.id()
    e.known(
        "criteria", "evaluation_steps", "score_range", "include_input", "model", "model_settings", "evaluation_name"
    )
    if not isinstance(criteria, str) or not criteria.strip():
        e.walk.problem("`GEval` needs `criteria`, in words", path)
        return None
    bounds = [1, 5] if bounds is None else bounds
    if (
        not isinstance(bounds, list)
        or len(bounds) != 2
        or not all(type(b) is int for b in bounds)
        or bounds[0] >= bounds[1]
    ):
        e.walk.problem("`score_range` must be two whole numbers, the lower first", e.path)
        return None
    listed = [step for step in steps if isinstance(step, str)] if isinstance(steps, list) else []
    words = "\n".join([criteria.strip(), *(f"{n}. {step}" for n, step in enumerate(listed, 1))])
    return scaled(id, words, {Fraction(bounds[0]): "not met at all", Fraction(bounds[1]): "met in full"})


_READ: Final[Mapping[str, Callable[[_Evaluator, tuple[Any, Steps] | None], Criterion | None]]] = {
    "Equals": _equals,
    "EqualsExpected": _equals_expected,
    "Contains": _contains,
    "IsInstance": _is_instance,
    "MaxDuration": _max_duration,
    "LLMJudge": _llm_judge,
    "GEval": _g_eval,
}
_LOST: Final = (
    "HasMatchingSpan",
    "ToolCorrectness",
    "TrajectoryMatch",
    "ArgumentCorrectness",
    "MaxToolCalls",
    "MaxModelRequests",
)


def _evaluator(walk: Walk, path: Steps) -> _Evaluator | None:
    """`Name`, `{Name: argument}`, `{Name: {argument: ...}}` or `{name: Name, arguments: ...}`."""
    at = Taking(walk, path)
    if isinstance(at.value, str):
        return _Evaluator(walk, path, at.value, None, None)
    if not isinstance(at.value, dict) or not at.value:
        walk.problem(f"an evaluator must be a name or a mapping, not {shown(at.value)}", path)
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
        walk.problem("an evaluator is one name with its arguments", path, "put each in an entry of its own")
        return None
    if value is None:
        return _Evaluator(walk, path, name, None, None)
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return _Evaluator(walk, path, name, Taking(walk, below), None)
    return _Evaluator(walk, path, name, None, below)


def _criteria(at: Taking, expected: tuple[Any, Steps] | None) -> tuple[list[Criterion], bool]:
    """The criteria of a list of evaluators, and whether a judge is to see the expected output."""
    found: list[Criterion] = []
    shows = False
    value = at.raw("evaluators")
    if value is not None and not isinstance(value, list):
        at.walk.problem(f"`evaluators` must be a list, not {shown(value)}", (*at.path, "evaluators"))
        return [], False
    for index in range(len(value or ())):
        evaluator = _evaluator(at.walk, (*at.path, "evaluators", index))
        if evaluator is None:
            continue
        read = _READ.get(evaluator.name)
        if read is None:
            meant = {name.casefold(): name for name in _READ}.get(near(evaluator.name, map(str.casefold, _READ)) or "")
            why = (
                "looks at a trace in a way that no check here does"
                if evaluator.name in _LOST
                else "is code of your own"
            )
            evaluator.lose(why, f"did you mean `{meant}`?" if meant and evaluator.name not in _LOST else None)
            continue
        shows = shows or evaluator.option("include_expected_output") is True
        criterion = read(evaluator, expected)
        if criterion is not None:
            found.append(criterion)
    return found, shows


def _case(top: Taking, at: Taking, number: int, taken: Mapping[str, Any]) -> Case | None:
    name = at.text("name") or f"case-{number}"
    if name in taken:
        at.walk.problem(f"two cases have the name `{name}`", (*at.path, "name"))
        return None
    inputs, expected = at.raw("inputs"), at.raw("expected_output")
    if "inputs" not in (at.value or {}):
        at.walk.problem("`inputs` is missing", at.path, "it is what the target gets")
    if not isinstance(inputs, str):
        at.walk.note("pydantic-evals: inputs that are no text are given to the target as JSON")
    metadata = at.raw("metadata")
    answer = None if expected is None else (expected, (*at.path, "expected_output"))
    shared, shows_shared = _criteria(top, answer)
    own, shows_own = _criteria(at, answer)
    at.close("a case")
    criteria = [*shared, *own]
    has_evaluators = bool(top.value.get("evaluators")) or bool(at.value.get("evaluators"))
    shows = shows_shared or shows_own
    threshold = None
    if not criteria and not has_evaluators and expected is not None:
        at.walk.note(ANSWERS)
        criteria, shows, threshold = [expected_answer([as_text(expected)])], True, MAJORITY
    elif not any(criterion.floor for criterion in criteria):
        threshold = DEFAULT_THRESHOLD
    rubric = gated(at.walk, at.path, criteria, threshold)
    return Case(
        id=name,
        rubric=rubric or undecided(),
        messages=(Message("user", as_text(inputs)),),
        reference=as_text(expected) if shows and expected is not None else None,
        skip=None if rubric else "has no evaluator that can be read and no expected output",
        metadata=metadata if isinstance(metadata, dict) else {} if metadata is None else {"metadata": metadata},
    )


def _read(document: Document) -> SuiteSource:
    walk = Walk(document.marked)
    top = walk.at()
    cases: dict[str, Case] = {}
    places: dict[str, str] = {}
    title = ""
    if top.require_mapping("a pydantic-evals dataset"):
        title = top.text("name") or ""
        top.ignore("$schema", "evaluators")
        top.ignore("report_evaluators", why="pydantic-evals: `report_evaluators` are not read: they only draw reports")
        for number, at in enumerate(top.each("cases", "cases"), 1):
            if not at.require_mapping("a case"):
                continue
            case = _case(top, at, number, cases)
            if case is not None:
                cases[case.id] = case
                places[case.id] = walk.marked.at(at.path)
        top.close("a dataset")
        if not cases and not walk.problems:
            walk.problem("this dataset has no cases", ("cases",))
    for note in DEFAULTS:
        walk.note(note)
    walk.finish()
    return SuiteSource(
        suite=Suite(cases=tuple(cases.values()), title=title),
        dialect="pydantic-evals",
        base=document.path.parent,
        notes=tuple(walk.notes),
        losses=tuple(walk.losses),
        files=(document.path,),
        places=places,
    )


def _signs(document: Document) -> int:
    """`cases` whose entries have `inputs` (ours have `input`)."""
    value = document.value
    if document.is_lines or not isinstance(value, dict) or not isinstance(value.get("cases"), list):
        return 0
    if "suite" in value or not any(isinstance(case, dict) and "inputs" in case for case in value["cases"]):
        return 0
    return 80


KEYS: Final = (
    KnownKey(key="name", meaning="The suite's title."),
    KnownKey(key="cases[].name", meaning="The case's id; without one, `case-N`."),
    KnownKey(key="cases[].inputs", meaning="The input; what is no text is given as JSON."),
    KnownKey(
        key="cases[].expected_output",
        meaning="What `EqualsExpected` compares with; without any evaluator, what a judge is asked about.",
    ),
    KnownKey(key="cases[].metadata", meaning="Kept with the case."),
    KnownKey(
        key="evaluators, cases[].evaluators", meaning="Criteria: those of the dataset for every case, then its own."
    ),
    KnownKey(
        key="Equals, EqualsExpected", meaning="The check `equals`, or `json-schema` with `const` for what is no text."
    ),
    KnownKey(
        key="Contains", meaning="The check `contains` or `icontains`; of a mapping, that these keys have these values."
    ),
    KnownKey(key="IsInstance", meaning="The JSON type of the output; `str` always holds. Other types are lost."),
    KnownKey(key="MaxDuration", meaning="The check `latency`."),
    KnownKey(
        key="LLMJudge: rubric, score, assertion",
        meaning="One yes/no question; a score from 0 to 1 where `assertion` is off.",
    ),
    KnownKey(key="LLMJudge: include_expected_output", meaning="The case's reference."),
    KnownKey(
        key="LLMJudge, GEval: model, model_settings, include_input",
        meaning="`--judge` names the judges, and they see the input.",
        how="ignored",
    ),
    KnownKey(key="GEval", meaning="A score on its `score_range`."),
    KnownKey(key=", ".join(_LOST), meaning="No check here is like them.", how="lost"),
    KnownKey(key="evaluators of your own", meaning="Code.", how="lost"),
    KnownKey(key="report_evaluators, $schema", meaning="They decide nothing.", how="ignored"),
)

EXAMPLE: Final = """\
name: capitals
cases:
  - name: peru
    inputs: What is the capital of Peru?
    expected_output: Lima
    evaluators:
      - Contains: {value: lima, case_sensitive: false}
      - LLMJudge: {rubric: Names the city in one sentence}
evaluators:
  - MaxDuration: 20
"""

PYDANTIC_EVALS: Final = Reader(
    name="pydantic-evals",
    title="a pydantic-evals dataset",
    gives="suite",
    signs=_signs,
    read=_read,
    keys=KEYS,
    defaults=(*DEFAULTS, ANSWERS),
    looks_like=("name", "cases", "evaluators", "report_evaluators"),
    example=EXAMPLE,
)

READERS: tuple[Reader, ...] = (PYDANTIC_EVALS,)
