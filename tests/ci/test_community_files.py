"""Files for people who take part: they can be read by the code host, and agree with the package."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

REPO = Path(__file__).resolve().parents[2]
FORMS = [
    path
    for path in sorted((REPO / ".github/ISSUE_TEMPLATE").glob("*.yml"))
    if path.name != "config.yml"
]


def load(path: Path) -> Any:
    return YAML(typ="safe").load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.name)
def test_an_issue_form_is_one(path: Path) -> None:
    """Name, description and body; each input has an id of its own and a label, and one is required."""
    form = load(path)
    assert {"name", "description", "body"} <= set(form)
    inputs = [one for one in form["body"] if one["type"] != "markdown"]
    assert {one["type"] for one in inputs} <= {"input", "textarea", "dropdown", "checkboxes"}
    ids = [one["id"] for one in inputs]
    assert len(set(ids)) == len(ids) and all(re.fullmatch(r"[a-z_-]+", id) for id in ids)
    assert all(one["attributes"]["label"] for one in inputs)
    assert any(one.get("validations", {}).get("required") for one in inputs)


def test_there_are_forms_for_faults_ideas_and_formats() -> None:
    """What people write most often has a form; anything else may be written without one."""
    assert {path.stem for path in FORMS} == {"bug", "idea", "format"}
    assert load(REPO / ".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": True}


def test_the_citation_is_of_this_version() -> None:
    """CITATION.cff has what its format requires, and version and licence of the package."""
    cited = load(REPO / "CITATION.cff")
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert (cited["license"], cited["title"]) == (project["license"], project["name"])
    from honestone import __version__

    assert cited["version"] == __version__


def test_the_supported_pythons_are_those_of_the_package() -> None:
    """docs/reference/support.md names the oldest Python that the package installs on."""
    project = tomllib.loads((REPO / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"| Python | {oldest} to " in (REPO / "docs/reference/support.md").read_text(
        encoding="utf-8"
    )


def test_every_make_command_of_the_pull_request_form_exists() -> None:
    """What a contributor is asked to run can be run."""
    asked = re.findall(
        r"`make ([a-z-]+)`", (REPO / ".github/PULL_REQUEST_TEMPLATE.md").read_text(encoding="utf-8")
    )
    rules = re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(encoding="utf-8"), re.M)
    assert asked and set(asked) <= set(rules)
