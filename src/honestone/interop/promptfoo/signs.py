"""Whether a file is a promptfoo config."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import words
from honestone.interop.promptfoo.assertion import TABLES
from honestone.interop.promptfoo.assertion_types import is_type


def signs(document: Document) -> int:
    """Prompts or providers at the top, and something in the tests that only promptfoo has. 20 where
    something speaks of AgentV, which has prompts and providers too: then its own reader decides.
    """
    keys = document.keys
    if document.is_lines or not isinstance(value := document.value, dict):
        return 0
    speaks_of_agentv = bool(keys & (_AGENTV - {"name"}))
    has_prompts = bool(keys & {"prompts", "providers", "targets", "redteam"})
    if keys & (_OWN if has_prompts else _OWN - {"scenarios"}) and not speaks_of_agentv:
        return 90
    if not has_prompts:
        return 30 if not speaks_of_agentv and _is_tests(value) else 0
    tests = value.get("tests")
    listed = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    asserts = [a for test in [*listed, value.get("defaultTest")] for a in _asserts_of(test)]
    other_tests = any(
        test.keys() & {"id", "criteria", "input", "expected_output"} for test in listed
    )
    fills = "prompts" in keys and bool(keys & {"providers", "targets"})
    filled = fills and bool(listed) and all("vars" in test for test in listed)
    odd_asserts = any(_is_agentv(a, is_filled=filled) for a in asserts)
    if (
        fills
        and not speaks_of_agentv
        and not odd_asserts
        and _names_models(value.get("providers", value.get("targets")))
    ):
        return 99
    if keys & _AGENTV or other_tests or odd_asserts:
        return 20
    own = any(isinstance(a, dict) and _is_own(a) for a in asserts) or fills
    has_tests = "tests" in keys or bool(keys & {"defaultTest", "scenarios"})
    if own or has_tests or ("description" in keys and "name" not in keys):
        return 60
    return 20 if "providers" in keys else 0


def _names_models(providers: Any) -> bool:
    """promptfoo's names of providers, `openai:gpt-5` or `file://my.js`; AgentV has names of
    targets, and providers of its own.
    """
    names: list[str] = []
    for one in providers if isinstance(providers, list) else [providers]:
        if isinstance(one, dict) and "runtime" in one:
            return False
        names.append(str((one.get("id") or next(iter(one), "")) if isinstance(one, dict) else one))
    return any(":" in name for name in names) and not any(
        name.startswith("agentv:") for name in names
    )


def _is_tests(value: Mapping[str, Any]) -> bool:
    """A file of tests alone: each fills in variables, and has what promptfoo's tests have."""
    tests = value.get("tests")
    known = TABLES["test"].by_name.keys()
    return (
        isinstance(tests, list)
        and bool(tests)
        and all(
            isinstance(test, dict) and "vars" in test and test.keys() <= known for test in tests
        )
        and not any(_is_agentv(a, is_filled=False) for test in tests for a in _asserts_of(test))
    )


_OWN: Final = frozenset(
    words(
        "defaultTest evaluateOptions commandLineOptions scenarios redteam assertionTemplates nunjucksFilters"
    )
)

_AGENTV: Final = frozenset(
    {"name", "assert", "evaluate_options", "workspace", "environment", "execution", "eval_cases"}
)


def _asserts_of(test: Any) -> list[Any]:
    listed = test.get("assert") if isinstance(test, dict) else None
    return listed if isinstance(listed, list) else []


def _is_agentv(assertion: Any, *, is_filled: bool) -> bool:
    """A plain text, a kind that promptfoo does not have, or questions in a list. Where all tests
    fill in prompts, an unknown kind says nothing.
    """
    if not isinstance(assertion, dict):
        return True
    type = assertion.get("type")
    known = is_filled or not isinstance(type, str) or is_type(type) or type == "assert-set"
    return not known or (type == "llm-rubric" and isinstance(assertion.get("value"), list))


def _is_own(assertion: Mapping[str, Any]) -> bool:
    return "$ref" in assertion or (
        isinstance(assertion.get("type"), str) and is_type(assertion["type"])
    )
