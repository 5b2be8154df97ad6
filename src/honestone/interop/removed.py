"""Formats that earlier versions read: recognised still, to be refused by name with what to use
instead.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.formats.syntax.document import Document


class RemovedFormat(Struct, frozen=True, kw_only=True):
    """A format that is not read any more. `signs` are those of a `Reader`."""

    name: str
    title: str
    instead: str
    signs: Callable[[Document], int]

    def refusal(self, document: Document) -> UsageError:
        return UsageError(
            f"`{document.path}` is {self.title}, which honestone does not read any more",
            place=f"{document.path}:1:1",
            hint=f"{self.instead}; --as FORMAT reads it as another format",
        )


def removed_format(name: str) -> RemovedFormat | None:
    """The removed format of this name, else the first of the tool's (`waza-task`: `waza`)."""
    by_name = {one.name: one for one in REMOVED}
    return by_name.get(name) or by_name.get(name.partition("-")[0])


def _waza_signs(document: Document) -> int:
    keys, inputs = document.keys, document.mapping.get("inputs")
    if document.is_lines or keys & {"suite", "cases", "tests"}:
        return 0
    if keys & {"tasks", "tasks_from"}:
        own = keys & {"tasks", "tasks_from", "metrics", "graders", "skill", "config"}
        return 80 if len(own) >= 3 else 0
    has_prompt = isinstance(inputs, dict) and bool(inputs.keys() & {"prompt", "prompt_file"})
    return 80 if has_prompt and "id" in keys else 0


def _waza_trigger_signs(document: Document) -> int:
    lists = ("should_trigger_prompts", "should_not_trigger_prompts")
    return 95 if any(isinstance(document.mapping.get(key), list) for key in lists) else 0


def _waza_rubric_signs(document: Document) -> int:
    has_levels = document.keys >= {"evaluation_criteria", "rating_levels"}
    return 80 if has_levels and not document.is_lines else 0


_TOML_CRITERIA: Final = late_pattern(r"(?m)^\s*\[\[criteria\]\]")


def _verifiers_signs(document: Document) -> int:
    """A TOML file with criteria, or its criteria as JSON or YAML: `name` and `text`, no `id`."""
    if document.is_lines:
        return 0
    value = document.value
    if not isinstance(value, dict | list):
        return 90 if _TOML_CRITERIA.search(document.text) else 0
    entries = value.get("criteria") if isinstance(value, dict) else value
    if not isinstance(entries, list) or not entries:
        return 0
    if not all(isinstance(entry, dict) for entry in entries):
        return 0
    keys = {str(key) for entry in entries for key in entry}
    is_theirs = {"name", "text"} <= keys and not keys & {"id", "requirement", "requirements"}
    return 75 if is_theirs else 0


# What a row holds once it was run: such rows are outputs, not a data set.
_OF_A_RUN: Final = frozenset({"completion", "reward", "rewards", "metrics"})


def _verifiers_dataset_signs(document: Document) -> int:
    value = document.value
    if isinstance(value, list) and value:
        value = value[0]
    elif not document.is_lines:
        return 0
    if not isinstance(value, dict) or "answer" not in value or value.keys() & _OF_A_RUN:
        return 0
    has_own = bool(value.keys() & {"info", "task", "example_id"})
    if "prompt" in value:
        return 70 if has_own or isinstance(value["prompt"], list) else 45
    return 45 if "question" in value and has_own else 0


def _checkeval_signs(document: Document) -> int:
    if not isinstance(document.mapping.get("sub_aspect"), dict):
        return 0
    return 90 if "definition" in document.mapping else 70


REMOVED: Final = (
    RemovedFormat(
        name="waza",
        title="a file of waza",
        instead="waza became Vally: move the evaluation there, or write its tasks as cases of a"
        " suite (docs/suites.md)",
        signs=_waza_signs,
    ),
    RemovedFormat(
        name="waza-triggers",
        title="a file of waza's trigger tests",
        instead="write the prompts as a list of `query` and `should_trigger`, which Agent Skills"
        " evals have",
        signs=_waza_trigger_signs,
    ),
    RemovedFormat(
        name="waza-rubric",
        title="a rubric of waza",
        instead="write each criterion with `anchors` in a honestone rubric (docs/rubrics.md)",
        signs=_waza_rubric_signs,
    ),
    RemovedFormat(
        name="verifiers",
        title="a verifiers rubric",
        instead="write its criteria as a honestone rubric: `text` is the requirement, `choices`"
        " are anchors (docs/rubrics.md)",
        signs=_verifiers_signs,
    ),
    RemovedFormat(
        name="verifiers-dataset",
        title="a verifiers data set",
        instead="name its columns for a suite: honestone suite new --from FILE",
        signs=_verifiers_dataset_signs,
    ),
    RemovedFormat(
        name="checkeval",
        title="a CheckEval question bank",
        instead="write each dimension as a criterion with its questions as `items` in a honestone"
        " rubric (docs/rubrics.md)",
        signs=_checkeval_signs,
    ),
)
