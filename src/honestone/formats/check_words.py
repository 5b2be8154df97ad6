"""A check in words: the requirement of an item that has none of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from honestone.core.rubric import Check

# What is true when the check is met; and when it is negated, where "not" alone would read badly.
_WORDS: Final[Mapping[str, tuple[str, str]]] = {
    "contains": ("contains {all}", "does not contain {all}"),
    "contains-all": ("contains {all}", "does not contain {all}"),
    "contains-any": ("contains {any}", "does not contain {any}"),
    "icontains": ("contains {all} in any case", "does not contain {all} in any case"),
    "icontains-all": ("contains {all} in any case", "does not contain {all} in any case"),
    "icontains-any": ("contains {any} in any case", "does not contain {any} in any case"),
    "equals": ("is exactly {all}", "is not exactly {all}"),
    "starts-with": ("starts with {any}", "does not start with {any}"),
    "ends-with": ("ends with {any}", "does not end with {any}"),
    "regex": ("matches the pattern {all}", "does not match the pattern {all}"),
    "is-json": ("is JSON", "is not JSON"),
    "json-schema": ("fits the JSON Schema {all}", "does not fit the JSON Schema {all}"),
    "max-words": ("has at most {all} words", "has more than {all} words"),
    "min-words": ("has at least {all} words", "has fewer than {all} words"),
    "max-chars": ("has at most {all} characters", "has more than {all} characters"),
    "min-chars": ("has at least {all} characters", "has fewer than {all} characters"),
    "file-exists": ("the file {all} exists", "the file {all} does not exist"),
    "links-resolve": ("every link resolves", "some link does not resolve"),
    "command": ("the command {all} succeeds", "the command {all} fails"),
    "pytest": ("the tests in {all} pass", "the tests in {all} fail"),
    "python": ("the function {all} accepts it", "the function {all} does not accept it"),
    "grader": ("the grader {all} is satisfied", "the grader {all} is not satisfied"),
    "field-accuracy": ("the fields are as expected", "the fields are not as expected"),
    "tool-calls": ("calls the tools {all}", "does not call the tools {all}"),
    "tool-count": ("calls its tools as often as allowed", "does not call its tools as often as allowed"),
    "latency": ("takes at most {all} ms", "takes more than {all} ms"),
    "cost": ("costs at most {all} USD", "costs more than {all} USD"),
    "tokens": ("takes at most {all} tokens", "takes more than {all} tokens"),
    "skill-loaded": ("reads the skill", "does not read the skill"),
}

_LONGEST = 80


def check_in_words(check: Check) -> str:
    """One line, such as "contains 'x' and 'y'". Always the same for the same check, so ids made of it stay."""
    positive, negative = _WORDS.get(check.kind, (check.kind.replace("-", " ") + " {all}", ""))
    if check.negated:
        positive = negative or "not: " + positive
    words = positive.format(all=_listed(check.value, "and"), any=_listed(check.value, "or")).strip()
    where = check.options.get("path")
    return f"{words} (in {where})" if isinstance(where, str) else words


def _listed(value: Any, joint: str) -> str:
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, list):
        # A list is words of a command as often as a choice of texts; both read well one after another.
        return f" {joint} ".join(_quoted(entry) for entry in value)
    return _quoted(value)


def _quoted(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"'{value['tool']}'" if isinstance(value.get("tool"), str) else "given with it"
    if not isinstance(value, str):
        return str(value)
    line = " ".join(value.split())
    return f"'{line}'" if len(line) <= _LONGEST else f"'{line[: _LONGEST - 3]}...'"
