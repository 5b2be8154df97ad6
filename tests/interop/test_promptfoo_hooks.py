"""`transformVars` and `extensions` of promptfoo: what their code is told, and what of its answer is
taken.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import lost, never_crashes

from honestone.core.checking.script import Script
from honestone.core.errors import HonestoneError
from honestone.core.json_value import Json
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.promptfoo.read import READERS
from property_examples import examples

TESTS = [{"vars": {"q": ["a", "b"]}, "assert": [{"type": "is-json"}]}, {"vars": {"q": "c", "k": 1}}]


class Code:
    """Stands for what runs code: `answer` says what each call returns."""

    def __init__(self, answer: Callable[..., Any]) -> None:
        self.answer = answer
        self.calls: list[Sequence[Json]] = []

    def __call__(self, script: Script, calls: Sequence[Sequence[Json]]) -> Sequence[Json]:
        self.calls += calls
        return [self.answer(*json.loads(json.dumps(given))) for given in calls]


def document(folder: Path, code: Code | None, **more: Any) -> Document:
    for name in ("h.js", "h.py"):
        (folder / name).write_text("never run by the test")
    config = {"prompts": ["{{q}}"], "providers": ["echo"], "tests": TESTS, **more}
    return Document(
        path=folder / "f.json", text=json.dumps(config), allow_code=code is not None, run_code=code
    )


def inputs(source: SuiteSource) -> list[str]:
    return [case.input for case in source.suite.cases]


def change(name: str, to: Json) -> Callable[[str, Any], Any]:
    """A function of an extension that sets the variable `q` before each test, or before all."""

    def answer(hook: str, context: Any) -> Any:
        if hook != name:
            return None
        for test in context["suite"]["tests"] if name == "beforeAll" else [context["test"]]:
            test["vars"]["q"] = to
        return context

    return answer


def test_a_function_is_called_for_all_tests_and_for_each_case(tmp_path: Path) -> None:
    """Lists are several cases by then. It is told of the config and of the tests, and may say
    nothing.
    """
    code = Code(lambda hook, context: None)
    source = READERS[0].read(document(tmp_path, code, extensions=["file://h.js:mine"]))
    assert [call[0] for call in code.calls] == [
        "beforeAll",
        "beforeEach",
        "beforeEach",
        "beforeEach",
    ]
    whole: Any = code.calls[0][1]
    assert whole["suite"]["providers"] == ["echo"] and [
        one["vars"] for one in whole["suite"]["tests"]
    ] == [
        {"q": ["a", "b"]},
        {"q": "c", "k": 1},
    ]
    each: list[Any] = [call[1] for call in code.calls[1:]]
    assert [one["test"]["vars"]["q"] for one in each] == ["a", "b", "c"]
    assert inputs(source) == ["a", "b", "c"] and not source.losses


@pytest.mark.parametrize(
    ("hook", "seen"),
    [
        ("beforeAll", ["new", "new"]),
        ("beforeEach", ["new", "new", "new"]),
        ("afterEach", ["a", "b", "c"]),
    ],
)
def test_variables_that_it_returns_are_used(tmp_path: Path, hook: str, seen: list[str]) -> None:
    """Before all tests those of a test, before each those of a case. After a test nothing is
    called, which is noted.
    """
    code = Code(change(hook, "new"))
    source = READERS[0].read(document(tmp_path, code, extensions=["file://h.py:mine"]))
    assert inputs(source) == seen
    assert any("`afterEach` and `afterAll` are not called" in note for note in source.notes)


def test_a_function_named_after_a_hook_is_for_that_one(tmp_path: Path) -> None:
    """It gets the context first, as in newer promptfoo."""
    code = Code(
        lambda context, about: {
            "suite": {**context["suite"], "tests": context["suite"]["tests"][:2]}
        }
    )
    listed = ["file://h.js:beforeAll", "file://h.js:afterAll"]
    READERS[0].read(document(tmp_path, code, extensions=listed))
    (call,) = code.calls
    assert call[1] == {"hookName": "beforeAll"}


def test_tests_that_it_adds_are_tests(tmp_path: Path) -> None:
    """With the defaults under them, and the variables that `transformVars` gives."""

    def answer(hook: Any, context: Any = None) -> Any:
        if isinstance(hook, dict):
            return {"r": f"{hook['q']}!"}
        if hook == "beforeAll":
            context["suite"]["tests"].append(
                {"vars": {"q": "d"}, "assert": [{"type": "equals", "value": "{{r}}"}]}
            )
            return context
        return None

    more = {
        "extensions": ["file://h.js"],
        "defaultTest": {"options": {"transformVars": "({ r: vars.q + '!' })"}},
    }
    source = READERS[0].read(document(tmp_path, Code(answer), prompts=["{{q}} {{r}}"], **more))
    assert inputs(source)[-2:] == ["c c!", "d d!"]


def test_looking_at_a_config_runs_nothing(tmp_path: Path) -> None:
    """The code is named, with what needs permission; the cases are those of the file."""
    options = {"options": {"transformVars": "({})"}}
    source = READERS[0].read(
        document(tmp_path, None, extensions=["file://h.js:mine"], defaultTest=options)
    )
    assert [(use.what, use.makes_cases) for use in source.code] == [
        ("the `transformVars` of a test", True),
        ("the extension `file://h.js:mine`", True),
    ]
    assert inputs(source) == ["a", "b", "c"] and not source.losses


def removed(hook: str, context: Any) -> Any:
    return {"suite": {**context["suite"], "tests": []}} if hook == "beforeAll" else None


def other_asserts(hook: str, context: Any) -> Any:
    return {"test": {**context["test"], "assert": []}} if hook == "beforeEach" else None


def other_prompts(hook: str, context: Any) -> Any:
    return {"suite": {**context["suite"], "prompts": ["x"]}} if hook == "beforeAll" else None


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (removed, "more of the config than its tests"),
        (other_prompts, "more of the config than its tests"),
        (other_asserts, "more of a test than its variables"),
        (lambda hook, context: "x", "must return its context"),
        (lambda hook, context: {"suite": 1, "test": 1}, "must return its context"),
    ],
)
def test_what_is_not_read_of_an_answer_is_refused(tmp_path: Path, answer: Any, said: str) -> None:
    """Before anything is spent: the run would be another one than promptfoo's."""
    with pytest.raises(HonestoneError, match=said):
        READERS[0].read(document(tmp_path, Code(answer), extensions=["file://h.js:mine"]))


def test_variables_must_be_a_mapping(tmp_path: Path) -> None:
    """Whatever else the code of `transformVars` returns."""
    options = {"options": {"transformVars": "7"}}
    with pytest.raises(HonestoneError, match="`transformVars` must return a mapping of variables"):
        READERS[0].read(document(tmp_path, Code(lambda variables, context: 7), defaultTest=options))


@pytest.mark.parametrize("extension", [7, "console.log(1)", {"path": "h.js"}, "package:mine:hook"])
def test_what_names_no_function_of_a_file_is_lost(tmp_path: Path, extension: Json) -> None:
    """With its place."""
    (loss,) = lost(READERS[0].read(document(tmp_path, None, extensions=[extension])))
    assert "is not run" in loss


@given(st.recursive(st.none() | st.booleans() | st.text(max_size=3), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["suite", "tests", "test", "vars", "q"]), inner, max_size=3), max_leaves=12))  # fmt: skip
@settings(max_examples=examples(60))
def test_any_answer_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, answer: Any
) -> None:
    """Never with a traceback."""
    options = {"options": {"transformVars": "vars"}}
    folder = tmp_path_factory.mktemp("hooks")
    for more in ({"extensions": ["file://h.js:mine"]}, {"defaultTest": options}):
        never_crashes(READERS[0], document(folder, Code(lambda *given: answer), **more))
