"""The JSON Schema of the suite format, for editors. Made from `suite_fields`; it decides nothing."""

from __future__ import annotations

from typing import Any

from honestone.formats.fields import RUBRIC
from honestone.formats.schema import DIALECT, mapping_schema, rubric_schema
from honestone.formats.suite_fields import CASE, IN_FILE, SUITE, TAKES, TARGET, WORKSPACE


def suite_schema() -> dict[str, Any]:
    """JSON Schema 2020-12 of a suite file, with the descriptions that editors show."""
    return {
        "$schema": DIALECT,
        "title": "honestone suite",
        **mapping_schema(SUITE, required=["cases"], takes=TAKES),
        # A case needs something to be judged by: its own, or the suite's rubric.
        "if": {"not": {"required": ["rubric"]}},
        "then": {"properties": {"cases": {"items": {"anyOf": [{"required": ["rubric"]}, {"required": ["checks"]}]}}}},
        "$defs": {
            **rubric_schema()["$defs"],
            "case": mapping_schema(CASE, required=["id"], takes=TAKES),
            "rubric": _rubric(),
            "target": {"description": TARGET.doc, "anyOf": [TAKES["text"].schema, mapping_schema(TARGET, takes=TAKES)]},
            "workspace": {**mapping_schema(WORKSPACE, takes=TAKES), "not": {"required": ["copy", "git"]}},
        },
    }


def _rubric() -> dict[str, Any]:
    return {
        "description": "A list of criteria, a whole rubric, or {file: PATH} next to the suite.",
        "anyOf": [
            TAKES["criteria"].schema,
            mapping_schema(RUBRIC, required=["criteria"]),
            mapping_schema(IN_FILE, required=["file"], takes=TAKES),
        ],
    }
