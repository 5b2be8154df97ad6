"""`stage learn`: what helped and what did not, from what the pipeline left behind."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import Desk, Result


@pytest.fixture
def ready(desk: Desk) -> Desk:
    """Receipts of an edit that was kept, one that was put back with its traces, and one that waits."""
    receipt(desk, "c1", "keep", "docs")
    receipt(desk, "c2", "revert", "docs", failed_at="regression")
    receipt(desk, "c3", "pending_promote", "prompt")
    trace = {
        "run_id": "r",
        "candidate_id": "c2",
        "reason": "",
        "failed_tasks": [{"task_id": "ferns"}],
    }
    desk.file("st/traces/t.json", json.dumps(trace))
    return desk


def receipt(desk: Desk, name: str, decision: str, category: str, **more: Any) -> None:
    document = {
        "schema_version": "1.0",
        "run_id": "r",
        "stage": more.pop("stage", "gated"),
        "decision": decision,
        "reason": f"why {name}",
        "candidate_id": name,
        "candidate_category": category,
        "created_at": "2026-01-01T00:00:00Z",
        "gate_layers": {"failed_at": more.get("failed_at")},
    }
    desk.file(f"st/receipts/{name}-{document['stage']}.json", json.dumps(document))


def learn(desk: Desk, *args: str) -> Result:
    return desk.run("stage", "learn", "--state-root", "st", *args)


def test_what_helped_and_what_did_not_by_category(ready: Desk) -> None:
    """Failed tasks come from the traces; what waits for a person is no lesson yet."""
    found = learn(ready, "--json").json
    assert {(one["type"], one["succeeded"]) for one in found} == {("docs", True), ("docs", False)}
    lost = next(one for one in found if not one["succeeded"])
    assert lost["context"]["layer"] == "regression" and lost["context"]["failed_tasks"] == {
        "ferns": 1
    }
    assert set(lost) == {"type", "succeeded", "context", "timestamp", "hit_count"}


def test_learning_again_counts_nothing_twice_and_forgets_nothing(ready: Desk) -> None:
    """The memory outlives its receipts."""
    first = learn(ready, "--json").json
    assert learn(ready, "--json").json == first
    for path in (ready.folder / "st/receipts").iterdir():
        path.unlink()
    assert learn(ready, "--json").json == first


def test_what_a_person_decided_later_is_a_lesson_too(ready: Desk) -> None:
    """The promotion of a parked edit, under its category."""
    receipt(ready, "c3", "reject", "prompt", stage="promoted")
    found = [one for one in learn(ready, "--json").json if one["type"] == "prompt"]
    assert [(one["succeeded"], one["context"]["layer"]) for one in found] == [(False, "person")]


def test_the_text_says_how_many_helped_and_that_it_is_advice(ready: Desk) -> None:
    """One line a category, the failed tasks named."""
    said = learn(ready).out
    assert (
        "docs: 1 of 2 helped" in said and "ferns" in said and "the gate decides without it" in said
    )


def test_an_empty_state_is_told(desk: Desk) -> None:
    """Nothing to learn from is no error, and an empty list as JSON."""
    assert learn(desk, "--json").json == [] and learn(desk).code == 0
    assert not (desk.folder / "st/memory.json").exists()


def test_a_broken_receipt_is_named_and_the_others_count(ready: Desk) -> None:
    """A note on stderr, never a crash; a hostile memory entry likewise."""
    ready.file("st/receipts/broken.json", "{")
    ready.file(
        "st/memory.json", json.dumps([3, {"type": "accuracy", "succeeded": True, "context": 5}])
    )
    result = learn(ready, "--json")
    assert result.code == 0 and "broken.json" in result.err and "not a lesson" in result.err
    assert {one["type"] for one in result.json} == {"docs", "accuracy"}


def test_a_memory_that_is_no_list_is_refused_and_kept(ready: Desk) -> None:
    """Exit 2 with the file's place; it is not written over."""
    path = ready.file("st/memory.json", '{"a": 1}')
    assert learn(ready).is_refusal and path.read_text() == '{"a": 1}'
