"""The JSON Schemas of the files of stages."""

from __future__ import annotations

from typing import Final

import msgspec

from honestone.formats.stage_files import (
    HEAD,
    Candidates,
    Execution,
    JsonObject,
    MemoryEntry,
    Pending,
    Pipeline,
    Promotion,
    Ranking,
    Receipt,
    SkillEvaluation,
    StageDocument,
    Traces,
)

SCHEMAS: Final[dict[str, tuple[str, object]]] = {
    "candidates": ("what `skill propose` writes", Candidates),
    "ranking": ("what `skill rank` writes", Ranking),
    "evaluation": ("what `skill evaluate` writes", SkillEvaluation),
    "execution": ("what `skill apply` writes", Execution),
    "receipt": ("what `skill gate` writes", Receipt),
    "pending_promote": ("edits that wait for a person, in STATE_ROOT", Pending),
    "traces": ("why an edit was put back, for the next proposal", Traces),
    "promotion": ("what `skill promote` writes", Promotion),
    "pipeline": ("what `skill run` writes and prints", Pipeline),
    "memory": ("what `skill learn` writes and prints", list[MemoryEntry]),
}


def stage_schema(name: str) -> JsonObject:
    """The JSON Schema of one kind of file. Raises KeyError for an unknown name."""
    about, kind = SCHEMAS[name]
    (top,), components = msgspec.json.schema_components(
        (kind,),
        ref_template="#/$defs/{name}",
        schema_hook=lambda anything: {"title": "any JSON value"},
    )
    reference = str(top.get("$ref", ""))
    if reference:
        top = components.pop(reference.rpartition("/")[2])
    if isinstance(kind, type) and issubclass(kind, StageDocument):
        top["required"] = list(dict.fromkeys([*HEAD, *top["required"], "truth_anchor"]))
    if isinstance(kind, type) and issubclass(kind, Pipeline):
        top["required"] = ["schema", *top["required"]]
    top["title"] = f"honestone skill {name}: {about}"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **top, "$defs": components}
