"""`record:` and `mock`: outputs that nobody has to make."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.targets.mock import MockTarget
from honestone.adapters.targets.record import RecordTarget
from honestone.core.checking.check_problems import read_check
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.suite.case import Case
from honestone.ports import Output, Task


def case(id: str, *checks: dict[str, Any], **more: Any) -> Case:
    items = tuple(
        Item(id=f"i{n}", requirement="r", check=read_check(check))
        for n, check in enumerate(checks or ({"contains": "x"},))
    )
    return Case(
        id=id, rubric=Rubric(criteria=(Criterion(id="c", requirement="r", items=items),)), **more
    )


def recorded(
    folder: Path, *rows: Any, cases: tuple[Case, ...] = (case("a"), case("b"))
) -> RecordTarget:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    (folder / "rec.jsonl").write_text(text)
    target = RecordTarget(folder / "rec.jsonl", name="rec.jsonl")
    target.refuse(cases)
    return target


def of(target: Any, case: str, attempt: int = 1) -> Output:
    output: Output = asyncio.run(target.run(Task(messages=(), case=case, attempt=attempt)))
    return output


A, B = {"id": "a", "output": "first"}, {"id": "b", "output": "second"}


def test_rows_in_any_order_with_what_they_tell(tmp_path: Path) -> None:
    """Output, duration, tokens, tool calls; blank lines between."""
    more = {"duration_ms": 40, "token_usage": {"input": 5}, "tool_calls": [{"name": "search"}]}
    target = recorded(tmp_path, {**B, **more}, "", A)
    assert of(target, "a").text == "first"
    output = of(target, "b")
    assert (output.text, output.duration_ms, output.usage.input_tokens) == ("second", 40, 5)
    assert target.notes == ()


def test_attempts_are_told_apart(tmp_path: Path) -> None:
    """Each attempt has its row."""
    target = recorded(
        tmp_path, {**A, "attempt": 2, "output": "again"}, A, cases=(case("a", attempts=2),)
    )
    assert (of(target, "a", 1).text, of(target, "a", 2).text) == ("first", "again")


@pytest.mark.parametrize(
    ("rows", "says", "line"),
    [
        ([A], "no output is recorded for `b`", 1),
        ([A, B, B], "case `b` is recorded twice; first in line 2", 3),
        ([A, {"id": "b"}], "`b` has no `output`", 2),
        ([A, {"id": "b", "output": None}], "`b` has no `output`", 2),
        ([A, {"id": "b", "output": 7}], "`b` cannot be used", 2),
        ([A, {"output": "x"}], "has no `id`", 2),
        ([A, {**B, "attempt": 0}], "counts from 1", 2),
        ([A, "{half"], "not JSON", 2),
        ([A, "[" * 100_000], "not JSON", 2),
        ([A, "[]"], "not a JSON object", 2),
        ([A, {**B, "usd": -1}], "not a number from 0", 2),
    ],
)
def test_a_record_with_a_gap_is_refused(
    tmp_path: Path, rows: list[Any], says: str, line: int
) -> None:
    """Named with its line, before anything is judged."""
    with pytest.raises(UsageError, match=says) as refused:
        recorded(tmp_path, *rows)
    assert refused.value.place == f"rec.jsonl:{line}"


def test_rows_of_other_cases_are_noted(tmp_path: Path) -> None:
    """Ignored, and said; a skipped case needs no row."""
    target = recorded(
        tmp_path,
        A,
        B,
        {"id": "z", "output": "x"},
        {"id": "z", "output": "x"},
        cases=(case("a"), case("b", skip="x")),
    )
    (note,) = target.notes
    assert "not asked for: b, z, z" in note


def test_a_record_that_is_not_there(tmp_path: Path) -> None:
    """A usage error with the path; a binary file too."""
    with pytest.raises(FileError, match="no such file"):
        RecordTarget(tmp_path / "none.jsonl")
    (tmp_path / "b").write_bytes(b"\xff\0")
    with pytest.raises(FileError, match="not UTF-8"):
        RecordTarget(tmp_path / "b")


def test_other_bytes_are_another_target(tmp_path: Path) -> None:
    """Its identity is its content."""
    assert (
        recorded(tmp_path, A, B).identity
        == recorded(tmp_path, A, B).identity
        != recorded(tmp_path, B, A).identity
    )


def test_the_mock_says_what_is_looked_for() -> None:
    """Every check that looks for words finds them, the forbidden ones do not stand there; it says
    that it is a mock.
    """
    cases = [
        case(
            "a",
            {"contains": ["one", "two"]},
            {"icontains-any": ["three"]},
            {"not-contains": "four"},
            {"regex": "five"},
        )
    ]
    target = MockTarget(cases)
    words = of(target, "a").text
    assert all(word in words for word in ("one", "two", "three"))
    assert "four" not in words
    assert target.identity["mock"] is True
    assert of(target, "unknown").text == ""
