"""SECURITY.md and the table of its promises: each sentence has a test that fails without it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PROMISES = tomllib.loads((TESTS / "attacks/promises.toml").read_text("utf-8"))["promise"]


def sentences() -> list[str]:
    """Those of the column "what holds"."""
    page = (TESTS.parent / "SECURITY.md").read_text("utf-8")
    table = page.partition("## Against whom")[2].partition("## What is not defended")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")][2:]
    cells = [row.strip("| ").split(" | ")[2] for row in rows]
    return [one for cell in cells for one in re.split(r"(?<=\.) (?=[A-Z`])", cell)]


def test_each_promise_has_an_entry_and_each_entry_is_promised() -> None:
    """A new sentence needs a test, and one that is gone takes its entry with it."""
    assert len(sentences()) > 30
    assert [promise["text"] for promise in PROMISES] == sentences()


@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise["text"][:40])
def test_its_tests_are_there(promise: dict[str, object]) -> None:
    """By file and name; and it says how its mechanism is taken out, or why that cannot be."""
    tests = promise["tests"]
    assert isinstance(tests, list) and tests
    for test in tests:
        file, _, name = test.partition("::")
        assert f"\ndef {name}(" in (TESTS / file).read_text("utf-8"), test
    assert bool(promise.get("taken_out")) is not bool(promise.get("because"))
