"""A suite run as JSON lines."""

from __future__ import annotations

import json

from rendered import suite_jsonl
from suite_samples import case, criterion, every_status, hostile, item, report


def rows(doc: dict) -> dict[str, dict]:  # type: ignore[type-arg]
    return {row["test_id"]: row for row in map(json.loads, suite_jsonl(doc).splitlines())}


def test_a_row_a_case_with_the_execution_status() -> None:
    """What could not be judged is an execution error, and has no score."""
    found = rows(every_status())
    assert {name: row["execution_status"] for name, row in found.items()} == {
        "fine": "ok",
        "wrong": "quality_failure",
        "dead": "execution_error",
        "later": "skipped",
        "unsure": "execution_error",
        'comma, "quoted" | <b>': "ok",
    }
    assert [found[name]["score"] for name in ("fine", "wrong", "dead", "later", "unsure")] == [
        1.0,
        0.0,
        None,
        None,
        None,
    ]
    assert (
        "exit code 3" in found["dead"]["error"]
        and found["unsure"]["error"]
        and found["fine"]["error"] is None
    )
    assert all(
        row["suite"] == "Words and more" and row["target"] == "cmd:python t.py"
        for row in found.values()
    )


def test_assertions_are_true_false_or_unknown() -> None:
    """An item that nobody answered is null, not false."""
    criteria = [
        criterion(
            "a",
            None,
            [
                item("yes", {"j": "yes"}),
                item("no", {"j": "no"}),
                item("open", {}),
                item("out", {"j": "n/a"}, applies=False),
            ],
        )
    ]
    row = rows(report([case("x", "inconclusive", criteria=criteria)]))["x"]
    assert [one["passed"] for one in row["assertions"]] == [True, False, None]
    assert row["scores"][0]["name"] == "a" and row["scores"][0]["score"] is None


def test_one_line_is_one_row_whatever_the_words() -> None:
    """Line separators inside texts split no row for any reader."""
    text = suite_jsonl(hostile())
    assert text.isascii() and len(text.splitlines()) == 5
    assert all("\x1b[31m" in json.loads(one)["output"] for one in text.splitlines()), (
        "data stays data"
    )
