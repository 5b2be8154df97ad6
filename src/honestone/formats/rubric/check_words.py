"""A check in words: the requirement of an item that has none of its own."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

from honestone.core.judging.rubric import Check
from honestone.core.tables import table_text


@cache
def _words_by_kind() -> Mapping[str, tuple[str, str]]:
    return msgspec.toml.decode(
        table_text("check_words", __package__), type=dict[str, tuple[str, str]]
    )


_LONGEST = 80


def check_in_words(check: Check) -> str:
    """One line, such as "contains 'x' and 'y'". Always the same for the same check, so ids made of
    it stay.
    """
    positive, negative = _words_by_kind().get(
        check.kind, (check.kind.replace("-", " ") + " {all}", "")
    )
    if check.negated:
        positive = negative or "not: " + positive
    words = positive.format(
        all=_joined_values(check.value, "and"), any=_joined_values(check.value, "or")
    ).strip()
    where = check.options.get("path")
    return f"{words} (in {where})" if isinstance(where, str) else words


def _joined_values(value: Any, joint: str) -> str:
    if value is None or isinstance(value, bool):
        return ""
    if isinstance(value, list):
        # A list is words of a command as often as a choice of texts; both read well one after
        # another.
        return f" {joint} ".join(_quoted(entry) for entry in value)
    return _quoted(value)


def _script(value: Mapping[str, str]) -> str:
    """`grade.js:named`, or the beginning of the code."""
    return _quoted(
        ":".join(filter(None, [value.get("file"), value.get("function", value.get("evaluator"))]))
        or value.get("code", "")
    )


def _quoted(value: Any) -> str:
    if isinstance(value, Mapping):
        if "language" in value:
            return _script(value)
        return f"'{value['tool']}'" if isinstance(value.get("tool"), str) else "given with it"
    if not isinstance(value, str):
        return str(value)
    line = " ".join(value.split())
    return f"'{line}'" if len(line) <= _LONGEST else f"'{line[: _LONGEST - 3]}...'"
