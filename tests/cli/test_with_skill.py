"""`eval --with-skill`: whether a skill is picked up where other skills are installed too."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import PYTHON, Desk
from .skill_desk import skill

AGENT = """\
import json, os, pathlib, sys
order, tried = sys.stdin.read(), os.environ.get("HONESTONE_SKILL", "")
shelf = sorted(pathlib.Path(".agents/skills").glob("*/SKILL.md"))
taken = next((one.parent.name for one in shelf if order.split()[0] in one.read_text()), None)
loaded = taken is not None and taken == pathlib.Path(tried).name
print(json.dumps({"output": " ".join(one.parent.name for one in shelf) or "nothing", "skill_loaded": loaded}))
"""
"""Takes the first skill on its shelf that has the first word of the order."""


@pytest.fixture
def kitchen(desk: Desk) -> Desk:
    """A desk with the skill `kitchen`, another one that makes soup too, one that does not, and a
    suite of two orders.
    """
    desk.file("agent.py", AGENT)
    target = {"use": f"cmd:{PYTHON} {desk.folder}/agent.py", "output": "json"}
    cases = [
        {"id": "soup", "input": "soup please", "checks": [{"skill-loaded": True}]},
        {"id": "rain", "input": "rain today", "checks": [{"not-skill-loaded": True}]},
    ]
    desk.file("s.yaml", json.dumps({"suite": 1, "target": target, "cases": cases}))
    skill(desk, "kitchen", ["soup"], name="kitchen")
    skill(desk, "a-canteen", ["soup"], name="a-canteen")
    skill(desk, "garden", ["pie"], name="garden")
    return desk


def triggering(desk: Desk, *more: str) -> tuple[int, dict[str, Any], list[dict[str, str]] | None]:
    ended = desk.run("eval", "s.yaml", "--artifact", "kitchen", "--json", *more)
    return ended.code, ended.json["triggering"], ended.json.get("with_skills")


def test_another_skill_may_be_picked_up_instead(kitchen: Desk) -> None:
    """Precision and recall alone, next to a skill for something else, and next to one that makes
    the same.
    """
    assert triggering(kitchen) == (
        0,
        {"cases": 2, "precision": 1.0, "recall": 1.0, "unknown": 0},
        None,
    )
    code, found, others = triggering(kitchen, "--with-skill", "garden")
    assert (code, found["recall"]) == (0, 1.0) and [one["path"] for one in others or ()] == [
        "garden"
    ]
    code, found, others = triggering(kitchen, "--with-skill", "garden", "--with-skill", "a-canteen")
    assert (code, found) == (1, {"cases": 2, "precision": None, "recall": 0.0, "unknown": 0})
    assert [one["path"] for one in others or ()] == ["garden", "a-canteen"]
    assert "2 other skills: garden, a-canteen" in kitchen.run("show", "last").out
    assert (
        "2 other skills: garden, a-canteen"
        in kitchen.run("show", "last", "--format", "markdown").out
    )


def test_both_sides_have_the_other_skills(kitchen: Desk) -> None:
    """With `--baseline without` the tried skill is missing, and only that one."""
    ended = kitchen.run(
        "eval",
        "s.yaml",
        "--artifact",
        "kitchen",
        "--with-skill",
        "garden",
        "--baseline",
        "without",
        "--json",
    )
    runs = [run["id"] for run in kitchen.run("runs", "--json").json]
    shown = [kitchen.run("show", run, "--json").json for run in runs]
    outputs = {
        attempt["output"] for one in shown for case in one["cases"] for attempt in case["attempts"]
    }
    assert outputs == {"garden kitchen", "garden"}, (ended.err, outputs)


def test_runs_with_and_without_others_are_compared(kitchen: Desk) -> None:
    """They are two runs of one contract: `compare` pairs their cases."""
    kitchen.run("eval", "s.yaml", "--artifact", "kitchen", "--output", "alone.json")
    kitchen.run(
        "eval",
        "s.yaml",
        "--artifact",
        "kitchen",
        "--with-skill",
        "a-canteen",
        "--output",
        "with.json",
    )
    found = kitchen.run("compare", "alone.json", "with.json", "--json").json
    assert found["delta"] == -0.5 and [case["id"] for case in found["cases"]] == ["soup", "rain"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (
            ("--artifact", "kitchen", "--with-skill", "kitchen"),
            "two skills have the name `kitchen`",
        ),
        (
            ("--artifact", "kitchen", "--with-skill", "garden", "--with-skill", "garden"),
            "two skills have the name",
        ),
        (("--artifact", "kitchen", "--with-skill", "absent"), "does not exist"),
        (("--artifact", "agent.py", "--with-skill", "garden"), "no target is to try a skill"),
        (("--with-skill", "garden"), "no target is to try a skill"),
    ],
)
def test_what_cannot_be_installed_is_refused(
    kitchen: Desk, words: tuple[str, ...], why: str
) -> None:
    """Exit 2 before anything is run."""
    ended = kitchen.run("eval", "s.yaml", *words)
    assert ended.code == 2 and why in ended.err
    assert "no store has been made" in kitchen.run("runs").err
