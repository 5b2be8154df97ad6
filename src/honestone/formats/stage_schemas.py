"""The published JSON Schemas of the skill pipeline's files, for programs that read or write a stage of their own.

What other programs of this pipeline write fits too: fields beyond those named here are allowed everywhere, and what only
honestone writes is never required.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

Schema: TypeAlias = dict[str, Any]

_DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"


def _one_of(*values: str | None) -> Schema:
    return {"enum": list(values)}


def _object(properties: Schema, *, required: list[str] | None = None, about: str | None = None) -> Schema:
    schema: Schema = {"type": "object", "properties": properties, "required": required or list(properties)}
    return schema if about is None else {"description": about, **schema}


def _list(items: Schema, about: str | None = None) -> Schema:
    return (
        {"type": "array", "items": items} if about is None else {"description": about, "type": "array", "items": items}
    )


def _said(schema: Schema, about: str) -> Schema:
    return {"description": about, **schema}


_TEXT: Final[Schema] = {"type": "string"}
_NAME: Final[Schema] = {"type": "string", "minLength": 1}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_YES_NO: Final[Schema] = {"type": "boolean"}
_MAYBE_TEXT: Final[Schema] = {"type": ["string", "null"]}
_MAYBE_YES: Final[Schema] = {"type": ["boolean", "null"]}
_RATE: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 1}
_SCORE: Final[Schema] = {"type": ["number", "null"], "minimum": 0, "maximum": 10}
_DIGEST: Final[Schema] = {"type": ["string", "null"], "pattern": "^sha256:[0-9a-f]{64}$"}
_ANY: Final[Schema] = {}
_DELTA: Final[Schema] = {"type": ["number", "null"], "minimum": -1, "maximum": 1}
_INTERVAL: Final[Schema] = {"type": ["array", "null"], "items": {"type": "number"}, "minItems": 2, "maxItems": 2}


def _artifact(stage: str, properties: Schema, *, required: list[str], is_last: bool = False) -> Schema:
    head: Schema = {
        "schema_version": {"const": "1.0"},
        "lane": _NAME,
        "run_id": _said(_NAME, "The same in every artifact of one run."),
        "stage": {"const": stage},
        "status": _said(_NAME, "`success`, or why not."),
        "created_at": _said({"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"}, "UTC, ISO 8601."),
    }
    tail: Schema = {
        "next_step": _MAYBE_TEXT,
        "next_owner": _MAYBE_TEXT,
        "truth_anchor": _said(_NAME, "Where this file lies; honestone writes the absolute path."),
    }
    needed = [*head, *required, *([] if is_last else ["next_step", "next_owner"]), "truth_anchor"]
    return _object({**head, **properties, **tail}, required=needed)


# ----------------------------------------------------------------------------------------------------------- pieces


def _target() -> Schema:
    properties: Schema = {
        "path": _said(_NAME, "The skill's folder, relative to the working directory."),
        "exists": _YES_NO,
        "kind": _NAME,
        "name": _TEXT,
        "has_references": _YES_NO,
        "markdown_files": {**_list(_TEXT), "maxItems": 20},
    }
    return _object(properties, required=["path"])


def _plan() -> Schema:
    lines = _list(_TEXT, "Lines of Markdown; plain prose becomes an entry of a list.")
    section: Schema = {"section_heading": _NAME, "content_lines": lines}
    file = _object(
        {
            "path": _said(_NAME, "Relative to the skill's folder."),
            "text": _TEXT,
            "base64": _said(_TEXT, "Instead of `text`, for what is no text."),
            "mode": _said({"type": "string", "pattern": "^(0o|0|100)?[0-7]{3}$"}, "Octal. Left out: as it was."),
        },
        required=["path"],
    )
    file["oneOf"] = [{"required": ["text"]}, {"required": ["base64"]}]
    known: dict[str, tuple[Schema, list[str]]] = {
        "append_markdown_section": (section, ["section_heading", "content_lines"]),
        "replace_markdown_section": (section, ["section_heading", "content_lines"]),
        "insert_before_section": ({**section, "before_heading": _NAME}, ["section_heading", "content_lines"]),
        "update_yaml_frontmatter": (
            {"frontmatter_updates": {"type": "object", "minProperties": 1}},
            ["frontmatter_updates"],
        ),
        "write_files": ({"files": _list(file), "delete": _list(_NAME)}, []),
    }
    rules = [
        {"if": {"properties": {"action": {"const": action}}}, "then": {"properties": properties, "required": required}}
        for action, (properties, required) in known.items()
    ]
    about = "How to make the edit. An action that is not one of the five is for a person."
    return {**_object({"action": _NAME}, about=about), "allOf": rules}


def _candidate() -> dict[str, Any]:
    return {
        "id": _said(_NAME, "Unique within the artifact."),
        "title": _TEXT,
        "target_path": _said(_NAME, "The file or folder that is edited, relative to the working directory."),
        "category": _one_of("docs", "reference", "guardrail", "prompt", "workflow", "tests"),
        "rationale": _TEXT,
        "risk_level": _one_of("low", "medium", "high"),
        "proposed_change_summary": _TEXT,
        "source_refs": _list(_ANY),
        "executor_support": _said(_YES_NO, "Whether a program can carry out the plan."),
        "execution_plan": _plan(),
    }


def _task_results() -> Schema:
    properties: Schema = {
        "task_id": _NAME,
        "passed": _said(_MAYBE_YES, "null: it could not be run or judged."),
        "score": _RATE,
        "details": _TEXT,
        "duration_ms": {"type": "number", "minimum": 0},
        "error": _MAYBE_TEXT,
        "attempts": _COUNT,
        "passes": _COUNT,
    }
    return _list(_object(properties, required=["task_id", "passed", "score"]))


def _layer() -> Schema:
    names = ("schema", "compile", "lint", "regression", "review", "human_review")
    return _object({"layer": _one_of(*names), "passed": _MAYBE_YES, "details": _TEXT})


# --------------------------------------------------------------------------------------------------------- documents


def candidates_schema() -> Schema:
    source = _object(
        {"path": _NAME, "kind": _NAME, "characters": _COUNT, "snippet": {"type": "string", "maxLength": 400}}
    )
    candidate = _candidate()
    properties: Schema = {
        "target": _target(),
        "input_sources": _list(source),
        "failure_trace_used": _YES_NO,
        "candidate_count": _COUNT,
        "candidates": _list(_object(candidate)),
        "rejected_proposals": _list(
            _object({"candidate": _COUNT, "outcome": _NAME, "detail": _MAYBE_TEXT}),
            "Proposals that are no candidates, with the reason.",
        ),
        "base_digest": _DIGEST,
    }
    return _artifact("proposed", properties, required=["target", "candidate_count", "candidates"])


def ranking_schema() -> Schema:
    candidate = _candidate()
    panel = _object(
        {
            "panel_reviews": _list({"type": "object"}),
            "cognitive_label": _one_of("CONSENSUS", "VERIFIED", "SPLIT", "DISPUTED", None),
            "final_recommendation": _TEXT,
            "aggregated_score": _SCORE,
        }
    )
    properties: Schema = {
        **candidate,
        "score": _said(_SCORE, "0-10; null where nobody could judge it or no program can apply it."),
        "risk_penalty": {"type": "number", "minimum": 0},
        "recommendation": _one_of("accept_for_execution", "hold", "reject"),
        "blockers": _list(_TEXT),
        "judge_notes": _list(_TEXT),
        "panel": {"anyOf": [panel, {"type": "null"}]},
    }
    scored = _object(properties, required=[*candidate, "score", "recommendation", "blockers"])
    return _artifact(
        "ranked",
        {
            "source_candidate_artifact": _TEXT,
            "target": _target(),
            "critic_mode": _NAME,
            "mock": _YES_NO,
            "scored_candidates": _said(_list(scored), "Best first."),
            "summary": {"type": "object"},
        },
        required=["target", "critic_mode", "scored_candidates", "summary"],
    )


def evaluation_schema() -> Schema:
    figures: Schema = {
        "execution_pass_rate": _RATE,
        "baseline_pass_rate": _RATE,
        "delta": _DELTA,
        "verdict": _one_of("pass", "fail", "skipped", "error"),
    }
    properties: Schema = {
        "candidate_id": _MAYBE_TEXT,
        "candidate_score": _SCORE,
        "task_suite": _NAME,
        "pass_k": {"type": "integer", "minimum": 1},
        "evaluation": _object(figures, required=["verdict"]),
        **figures,
        "interval": _INTERVAL,
        "reason": _MAYBE_TEXT,
        "mock": _YES_NO,
        "candidate_digest": _DIGEST,
        "baseline_digest": _said(_DIGEST, "Of the skill that the baseline ran; null: it ran without one."),
        "candidate_results": _task_results(),
        "baseline_results": _task_results(),
        "warnings": _list(_TEXT),
    }
    return _artifact("evaluated", properties, required=["task_suite", "pass_k", "evaluation"], is_last=True)


def _pointer() -> Schema:
    return _object({"method": _NAME, "backup_path": _NAME, "target_path": _NAME}, about="The way back.")


def execution_schema() -> Schema:
    pointer = _pointer()
    result = _object(
        {
            "status": _one_of("success", "no_change", "unsupported", "error"),
            "modified": _YES_NO,
            "diff": _TEXT,
            "diff_summary": {"type": "object"},
            "backup_path": _MAYBE_TEXT,
            "rollback_pointer": {"anyOf": [pointer, {"type": "null"}]},
            "candidate_digest": _DIGEST,
        },
        required=["status", "modified"],
    )
    result["if"] = {"properties": {"modified": {"const": True}}}
    result["then"] = {
        "properties": {"status": {"const": "success"}, "rollback_pointer": pointer},
        "required": ["diff", "rollback_pointer"],
    }
    properties: Schema = {
        "candidate_id": _NAME,
        "candidate": {"type": "object"},
        "source_ranking_artifact": _TEXT,
        "candidate_digest": _said(_DIGEST, "Of the skill after the edit."),
        "result": result,
        "execution_trace": {"type": "object"},
    }
    return _artifact("executed", properties, required=["candidate_id", "result"])


def receipt_schema() -> Schema:
    layers = _object(
        {
            "all_passed": _YES_NO,
            "failed_at": _MAYBE_TEXT,
            "layer_results": _said(_list(_layer()), "In order; no layer after the first that blocks."),
            "layers_run": _COUNT,
            "layers_total": _COUNT,
        }
    )
    properties: Schema = {
        "decision": _one_of("keep", "pending_promote", "revert", "reject"),
        "reason": _NAME,
        "candidate_id": _NAME,
        "candidate_category": _MAYBE_TEXT,
        "source_ranking_artifact": _TEXT,
        "source_execution_artifact": _TEXT,
        "rollback": _object(
            {"attempted": _YES_NO, "success": _YES_NO, "reason": _MAYBE_TEXT}, required=["attempted", "success"]
        ),
        "blockers": _list(_object({"layer": _NAME, "details": _TEXT}, required=["layer"])),
        "gate_layers": layers,
        "human_review_request": _ANY,
    }
    required = ["decision", "reason", "candidate_id", "rollback", "blockers", "gate_layers"]
    return _artifact("gated", properties, required=required)


def pending_schema() -> Schema:
    pending = _object({"candidate_id": _NAME}, about="An edit that waits for a person.")
    return _object({"pending": _list(pending), "last_updated": _MAYBE_TEXT}, required=["pending"])


def traces_schema() -> Schema:
    task = _object({"task_id": _NAME, "prompt": _TEXT, "details": _TEXT}, required=["task_id"])
    properties: Schema = {
        "candidate_id": _NAME,
        "reason": _TEXT,
        "failed_tasks": _list({"anyOf": [task, _NAME]}, "What the next proposal is shown."),
        "candidate_digest": _DIGEST,
    }
    return _object(properties, required=["candidate_id", "reason", "failed_tasks"])


def promotion_schema() -> Schema:
    properties: Schema = {
        "decision": _said(_one_of("keep", "reject"), "`keep`: it was applied."),
        "reason": _NAME,
        "decided_by": _said(_NAME, "Always a person."),
        "candidate_id": _NAME,
        "candidate_category": _MAYBE_TEXT,
        "risk_level": _one_of("low", "medium", "high", None),
        "candidate_digest": _DIGEST,
        "target": _target(),
        "source_gate_receipt": _MAYBE_TEXT,
        "rollback_pointer": {"anyOf": [_pointer(), {"type": "null"}]},
    }
    required = ["decision", "reason", "decided_by", "candidate_id", "candidate_digest", "target"]
    return _artifact("promoted", properties, required=required)


def pipeline_schema() -> Schema:
    figures: Schema = {
        "execution_pass_rate": _RATE,
        "baseline_pass_rate": _RATE,
        "delta": _DELTA,
        "interval": _INTERVAL,
    }
    paths = ("candidates", "ranking", "evaluation", "execution", "receipt", "traces")
    one_try = _object(
        {
            "decision": _one_of("keep", "pending_promote", "revert", "reject"),
            "reason": _NAME,
            "candidate_id": _MAYBE_TEXT,
            **{name: _said(_MAYBE_TEXT, "Its artifact; null: the try did not come so far.") for name in paths},
            **figures,
        }
    )
    return _object(
        {
            "schema": {"const": "honestone.pipeline/1"},
            "run": _NAME,
            "created_at": {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT"},
            "skill": _target(),
            "task_suite": _NAME,
            "decision": _one_of("keep", "pending_promote", "revert", "reject", "error"),
            "reason": _NAME,
            "candidate_id": _MAYBE_TEXT,
            "evaluation": _MAYBE_TEXT,
            **figures,
            "mock": _YES_NO,
            "tries": _list(one_try, "In order; what could not be judged is none."),
            "usage": {"type": "object"},
            "truth_anchor": _said(_NAME, "Where this file lies."),
        }
    )


def memory_schema() -> Schema:
    lesson = _object(
        {
            "type": _said(_NAME, "The category of the edits."),
            "succeeded": _YES_NO,
            "context": {"type": "object"},
            "timestamp": _TEXT,
            "hit_count": {"type": "integer", "minimum": 1},
        }
    )
    return _list(lesson, "The most frequent first; advice, by which no stage decides.")


SCHEMAS: Final[dict[str, tuple[str, Callable[[], Schema]]]] = {
    "candidates": ("what `stage propose` writes", candidates_schema),
    "ranking": ("what `stage rank` writes", ranking_schema),
    "evaluation": ("what `stage evaluate` writes", evaluation_schema),
    "execution": ("what `stage apply` writes", execution_schema),
    "receipt": ("what `stage gate` writes", receipt_schema),
    "pending_promote": ("edits that wait for a person, in STATE_ROOT", pending_schema),
    "traces": ("why an edit was put back, for the next proposal", traces_schema),
    "promotion": ("what `stage promote` writes", promotion_schema),
    "pipeline": ("what `stage run` writes and prints", pipeline_schema),
    "memory": ("what `stage learn` writes and prints", memory_schema),
}


def stage_schema(name: str) -> Schema:
    """The schema of one kind of file. Raises KeyError for a name that is none."""
    about, make = SCHEMAS[name]
    return {"$schema": _DRAFT, "title": f"honestone stage {name}: {about}", **make()}
