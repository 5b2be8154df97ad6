"""The published schemas of pipeline files fit what other programs write, and refuse what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from honestone.cli.stages.learn import schema_command
from honestone.formats.stage_schema import SCHEMAS, stage_schema

jsonschema = pytest.importorskip("jsonschema")

SAMPLES = Path(__file__).parents[2] / "../shared/data/samples/improvement-evaluator/artifacts"
KINDS = {
    "1-": "candidates",
    "2-": "ranking",
    "3-": "evaluation",
    "4-": "execution",
    "5-": "receipt",
    "state-pending": "pending_promote",
}

HEAD = {
    "schema_version": "1.0",
    "lane": "l",
    "run_id": "r",
    "status": "success",
    "created_at": "2026-01-01T00:00:00Z",
    "next_step": None,
    "next_owner": None,
    "truth_anchor": "/x",
}
EXECUTION = {
    **HEAD,
    "stage": "executed",
    "candidate_id": "c",
    "result": {"status": "no_change", "modified": False},
}
TRACES = {"candidate_id": "c", "reason": "worse", "failed_tasks": [{"task_id": "a"}, "b"]}


def problems(name: str, document: Any) -> list[str]:
    return [
        error.message
        for error in jsonschema.Draft202012Validator(stage_schema(name)).iter_errors(document)
    ]


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one_and_refuses_an_empty_object(name: str) -> None:
    """And the command prints the same. (The memory is a list: an object is none, empty or not.)"""
    jsonschema.Draft202012Validator.check_schema(stage_schema(name))
    assert problems(name, {}) != []
    result = CliRunner().invoke(schema_command, [name], standalone_mode=False)
    assert json.loads(result.output) == stage_schema(name)


def test_the_command_lists_what_there_is() -> None:
    """Every name with what it is."""
    output = CliRunner().invoke(schema_command, [], standalone_mode=False).output
    assert all(name in output for name in SCHEMAS)


def test_recorded_artifacts_of_the_original_fit() -> None:
    """Programs that read both can use one schema."""
    if not SAMPLES.is_dir():
        pytest.skip("the recorded artifacts are not here")
    found = [
        (kind, path)
        for path in sorted(SAMPLES.glob("*.json"))
        for mark, kind in KINDS.items()
        if path.name.startswith(mark)
    ]
    assert len(found) >= 8
    assert {path.name: problems(kind, json.loads(path.read_text())) for kind, path in found} == {
        path.name: [] for _, path in found
    }


@pytest.mark.parametrize(
    ("name", "document", "change"),
    [
        ("execution", EXECUTION, {"stage": "ranked"}),
        ("execution", EXECUTION, {"schema_version": 1.0}),
        ("execution", EXECUTION, {"result": {"status": "success", "modified": True}}),
        ("execution", EXECUTION, {"candidate_digest": "abc"}),
        ("traces", TRACES, {"failed_tasks": [1]}),
        ("traces", TRACES, {"reason": None}),
    ],
)
def test_a_wrong_field_is_refused(
    name: str, document: dict[str, Any], change: dict[str, Any]
) -> None:
    """The document fits, and no longer with the change."""
    assert problems(name, document) == [] and problems(name, {**document, **change}) != []


PIPELINE = {
    "schema": "honestone.pipeline/1",
    "run": "r",
    "created_at": "2026-01-01T00:00:00Z",
    "skill": {"path": "s"},
    "task_suite": "t",
    "decision": "error",
    "reason": "down",
    "candidate_id": None,
    "evaluation": None,
    "execution_pass_rate": None,
    "baseline_pass_rate": None,
    "delta": None,
    "interval": None,
    "mock": False,
    "tries": [],
    "usage": {},
    "truth_anchor": "/x",
}
PROMOTION = {
    **HEAD,
    "stage": "promoted",
    "decision": "keep",
    "reason": "approved",
    "decided_by": "person",
    "candidate_id": "c",
    "candidate_digest": "sha256:" + "0" * 64,
    "target": {"path": "s"},
}


@pytest.mark.parametrize(
    ("name", "document", "change"),
    [
        ("pipeline", PIPELINE, {"decision": "pass"}),
        ("pipeline", PIPELINE, {"delta": 50}),
        ("pipeline", PIPELINE, {"tries": [{}]}),
        ("promotion", PROMOTION, {"decision": "revert"}),
        ("promotion", PROMOTION, {"candidate_digest": "0"}),
    ],
)
def test_a_wrong_field_of_a_run_or_a_promotion_is_refused(
    name: str, document: dict[str, Any], change: dict[str, Any]
) -> None:
    """The document fits, and no longer with the change."""
    assert problems(name, document) == [] and problems(name, {**document, **change}) != []


@pytest.mark.parametrize("entry", [{"type": "docs"}, "docs", {"type": "docs", "succeeded": 1}])
def test_what_is_no_lesson_is_no_memory(entry: Any) -> None:
    """A lesson has its category, its end, when and how often."""
    fine = {"type": "docs", "succeeded": True, "context": {}, "timestamp": "", "hit_count": 1}
    assert problems("memory", [fine]) == [] and problems("memory", [fine, entry]) != []
