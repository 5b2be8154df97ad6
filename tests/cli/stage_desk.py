"""A skill on the desk, workers and artifacts about it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from honestone.app.stages.files import SkillUnderEdit, StageFiles
from honestone.app.workspace import Workspace

from .desk import Desk, Program, Result

SKILL = """---
name: gardener
description: "Answers questions about plants."
---
# Gardener

## Rules

- about roses: prune in March
- about tulips: plant in autumn
"""


def put_skill(desk: Desk, text: str = SKILL, name: str = "skill") -> Path:
    return desk.file(f"{name}/SKILL.md", text)


def skill_worker(desk: Desk, name: str, body: str) -> Program:
    """A worker that sees `brief`, `root` (the copy's folder), `md` (its SKILL.md) and `n` (its
    calls before this one).
    """
    return desk.worker(
        name,
        "import pathlib\nroot = pathlib.Path(path)\nmd = root / 'SKILL.md'\nn = len(open(LOG).readlines()) - 1\n"
        + body,
    )


ADD_RULE = "md.write_text(md.read_text() + '- about ferns: keep moist\\n')\n"


def stage(
    desk: Desk, verb: str, *args: str, out: str = "out.json"
) -> tuple[Result, dict[str, Any]]:
    """A stage with its files below `st`; its artifact, {} where it wrote none."""
    result = desk.run("stage", verb, *args, "--state-root", "st", "--output", out)
    path = desk.folder / out
    return result, json.loads(path.read_text()) if path.exists() else {}


def ranking(desk: Desk, plan: dict[str, Any], name: str = "r.json", **candidate: Any) -> Path:
    """A ranking as another program may write it, of one candidate `c1`."""
    one = {
        "id": "c1",
        "title": "t",
        "target_path": "./skill/SKILL.md",
        "category": "docs",
        "rationale": "",
        "risk_level": "low",
        "proposed_change_summary": "",
        "source_refs": [],
        "executor_support": True,
        "execution_plan": plan,
        "score": 7.0,
        "recommendation": "accept_for_execution",
        "blockers": [],
        **candidate,
    }
    document = {
        "schema_version": "1.0",
        "lane": "generic-skill",
        "run_id": "run-1",
        "stage": "ranked",
        "status": "success",
        "created_at": "2026-01-01T00:00:00Z",
        "target": {"path": "./skill"},
        "critic_mode": "none",
        "scored_candidates": [one],
        "summary": {},
        "truth_anchor": "./r.json",
    }
    return desk.file(name, json.dumps(document))


def candidates(desk: Desk, *plans: dict[str, Any], name: str = "c.json", **more: Any) -> Path:
    """A candidates artifact as another program may write it, of candidates `c1`, `c2`, ..."""
    document = json.loads(ranking(desk, {}, name).read_text())
    base = document.pop("scored_candidates")[0]
    rows = [
        {**base, "id": f"c{n}", "execution_plan": plan, **more} for n, plan in enumerate(plans, 1)
    ]
    document |= {"stage": "proposed", "candidates": rows, "candidate_count": len(rows)}
    return desk.file(name, json.dumps(document))


def append(*lines: str, heading: str = "## More") -> dict[str, Any]:
    return {
        "action": "append_markdown_section",
        "section_heading": heading,
        "content_lines": list(lines),
    }


def problems(name: str, document: dict[str, Any]) -> list[str]:
    """What the published schema says against a document."""
    import jsonschema

    from honestone.formats.stage_schema import stage_schema

    return [
        error.message
        for error in jsonschema.Draft202012Validator(stage_schema(name)).iter_errors(document)
    ]


def skill_in(folder: Path) -> SkillUnderEdit:
    """The skill as a stage reads it."""
    return SkillUnderEdit.at(Workspace.at(folder.parent), folder)


def files_in(root: Path) -> StageFiles:
    """A STATE_ROOT."""
    return StageFiles.at(Workspace.at(root.parent), root)


def digest_in(folder: Path) -> str:
    """The digest of the skill as it is on disk now."""
    return skill_in(folder).version.digest
