"""Runs the code of one check in Python. What is asked is JSON on stdin; the answer is JSON in the
file that it names: {"value": ...}, {"odd": "what it is instead of a value"} or {"error":
"message"}.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from types import ModuleType, SimpleNamespace
from typing import Any, Generic, TypeVar

FIRST_INDENT = r"(?m)^(?!\s*$)\s+"


def main() -> None:
    asked = json.loads(sys.stdin.buffer.read())
    os.dup2(2, 1)  # whatever the code prints goes to stderr
    try:
        answer = answer_of(run(asked))
    except BaseException as error:
        answer = {"error": f"{type(error).__name__}: {error}"}
    with open(asked["answer"], "x", encoding="utf-8") as file:
        json.dump(answer, file)


def run(asked: dict[str, Any]) -> object:
    if "calls" in asked:
        return values_of(asked["file"], asked["function"], asked["calls"])
    if "code" in asked:
        return finished(inline(asked["code"])(asked["output"], asked["context"]))
    if asked["evaluator"] is None:
        found = named(asked["file"], asked["function"])
        if (inspect := inspect_of(found)) is not None:
            return inspect.score(found, asked["output"], asked["context"])
        return finished(found(asked["output"], asked["context"]))
    provide_evaluators()
    kind, arguments = named(asked["file"], asked["evaluator"]), asked["arguments"]
    made: Any = kind(*arguments) if isinstance(arguments, list) else kind(**(arguments or {}))
    return graded(finished(made.evaluate(evaluation_context(asked["output"], asked["context"]))))


def values_of(file: str, function: str | None, calls: list[list[Any]]) -> list[object]:
    """What the function returns for each list of arguments; without one, what the file prints with
    them as JSON.
    """
    if function is None:
        return [printed(file, given) for given in calls]
    found = named(file, function)
    if (inspect := inspect_of(found)) is not None:
        return [inspect.samples_of(found)]
    return [finished(found(*given)) for given in calls]


def inspect_of(found: object) -> Any:
    """What runs Inspect tasks, where the function makes one."""
    if "inspect_ai" not in sys.modules:
        return None
    makes_task = named(os.path.join(os.path.dirname(__file__), "_inspect_task.py"), "makes_task")
    return sys.modules["_inspect_task"] if makes_task(found) else None


def printed(file: str, given: list[Any]) -> str:
    import subprocess

    words = [sys.executable, file, *map(json.dumps, given)]
    return subprocess.run(words, stdout=subprocess.PIPE, check=True, text=True).stdout.removesuffix(
        "\n"
    )


def finished(value: object) -> object:
    """What was said, or what is awaited."""
    if not hasattr(value, "__await__"):
        return value
    import asyncio

    return asyncio.run(awaited(value))


async def awaited(value: object) -> object:
    return await value  # type: ignore[misc]


def inline(code: str) -> Callable[..., object]:
    """One line is an expression; a line break, also at its end, makes it the body of a function."""
    body = f"    return {code.strip()}"
    if "\n" in code:
        indent = match[0] if (match := re.search(FIRST_INDENT, code)) else "    "
        body = "\n".join(indent + line for line in code.split("\n"))
    space: dict[str, Callable[..., object]] = {}
    exec(compile(f"import json\n\ndef main(output, context):\n{body}\n", "<check>", "exec"), space)
    return space["main"]


def named(file: str, function: str) -> Callable[..., object]:
    import importlib.util

    sys.path.insert(0, os.path.dirname(file))
    spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(file))[0], file)
    if spec is None or spec.loader is None:
        raise ImportError(f"{os.path.basename(file)} is not a Python module")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    found: Any = module
    for name in function.split("."):
        found = getattr(found, name)
    called: Callable[..., object] = found
    return called


def answer_of(value: object) -> dict[str, object]:
    if isinstance(value, float) and value - value != 0:
        return {"odd": str(value)}
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        given = (
            vars(value) if hasattr(value, "__dict__") else None
        )  # a data class, or a model of a library
        return {"odd": type(value).__name__} if given is None else answer_of(dict(given))
    return {"value": value}


# --------------------------------------------------------------------------------- evaluators of
# pydantic-evals

Inputs = TypeVar("Inputs")
Output = TypeVar("Output")
Metadata = TypeVar("Metadata")


class EvaluatorBase(Generic[Inputs, Output, Metadata]):
    """In place of the base of an evaluator."""


class EvaluatorContext(SimpleNamespace, Generic[Inputs, Output, Metadata]):
    """What an evaluator is asked about."""


class EvaluationReason(SimpleNamespace):
    """In place of a result with its reason."""

    def __init__(self, value: object, reason: str | None = None) -> None:
        super().__init__(value=value, reason=reason)


def provide_evaluators() -> None:
    """Where pydantic-evals is not installed, the names that such a class is written with can be
    imported.
    """
    import importlib.util

    if importlib.util.find_spec("pydantic_evals") is None:
        for name in ("pydantic_evals", "pydantic_evals.evaluators"):
            module = ModuleType(name)
            vars(module).update(
                Evaluator=EvaluatorBase,
                EvaluatorContext=EvaluatorContext,
                EvaluationReason=EvaluationReason,
            )
            sys.modules[name] = module


def evaluation_context(output: object, given: Mapping[str, Any]) -> EvaluatorContext[Any, Any, Any]:
    """The context of an evaluation, with the names of pydantic-evals. Spans, attributes and metrics
    are not measured here.
    """
    known = {name: given.get(name) for name in ("name", "inputs", "expected_output", "metadata")}
    return EvaluatorContext(
        output=output, duration=given.get("duration", 0.0), attributes={}, metrics={}, **known
    )


def graded(returned: Any) -> object:
    """A grading result: every boolean must be true; numbers are scores and texts are labels, which
    fail nothing.
    """
    passed, scores, reasons = True, [], []
    for name, result in (returned if isinstance(returned, Mapping) else {"": returned}).items():
        value, reason = (
            (result.value, result.reason) if hasattr(result, "value") else (result, None)
        )
        if not isinstance(value, bool | int | float | str):
            return returned
        passed = passed and value is not False
        scores.append(1.0 if isinstance(value, str) else float(value))
        reasons.append(": ".join(part for part in (name, str(value), reason) if part))
    return {
        "pass": passed,
        "score": sum(scores) / len(scores) if scores else 1.0,
        "reason": "; ".join(reasons),
    }


if __name__ == "__main__":
    main()
