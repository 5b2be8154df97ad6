"""Kinds of check that other packages add by an entry point in the group `honestone.checks`."""

from __future__ import annotations

from pathlib import Path

import pytest

from .desk import Desk

pytestmark = pytest.mark.slow

MODULE = """
from honestone.core.checking.checks import AddedCheck, Kind

KIND = Kind(doc="So many words are shouted.", takes="a number", schema={"type": "integer", "minimum": 1}, example="{shouts: 2}")


def look(value):
    def says(text):
        found = sum(word.isupper() for word in text.split())
        return None if found >= value else f"{found} of {value} words are shouted"

    return says


SHOUTS = AddedCheck(kind=KIND, look=look)
"""
RUBRIC = "rubric: 1\ncriteria:\n  - id: loud\n    check: {{{0}}}\n"


@pytest.fixture
def package(desk: Desk, tmp_path: Path) -> dict[str, str]:
    """An environment with a package installed that adds the check `shouts`, and a broken one."""
    (tmp_path / "shouting.py").write_text(MODULE)
    info = tmp_path / "shouting-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shouting\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text(
        "[honestone.checks]\nshouts = shouting:SHOUTS\nwhispers = shouting:NOTHING\n"
    )
    desk.file("a.md", "THE END is NEAR\n")
    return {"PYTHONPATH": str(tmp_path)}


def test_a_package_can_add_a_check(desk: Desk, package: dict[str, str]) -> None:
    """It is read, negated, run and explained like ours; the package's version is part of the
    contract.
    """
    contracts = []
    for check, code in (
        ("shouts: 3", 0),
        ("shouts: 4", 1),
        ("not-shouts: 4", 0),
        ("not-shouts: 3", 1),
    ):
        desk.file("rubric.yaml", RUBRIC.format(check))
        found = desk.run("eval", "a.md", "--rubric", "rubric.yaml", "--json", env=package)
        assert found.code == code, found.err
        contracts.append(found.json["contract"])
        said = found.json["criteria"][0]["items"][0]
        if check == "shouts: 4":
            assert "3 of 4 words are shouted" in str(said)
        if check == "not-shouts: 3":
            assert "the text meets `shouts`" in str(said)
    assert len(set(contracts)) == 4
    Path(package["PYTHONPATH"], "shouting-1.2.dist-info/METADATA").write_text(
        "Metadata-Version: 2.1\nName: shouting\nVersion: 1.3\n"
    )
    assert (
        desk.run("eval", "a.md", "--rubric", "rubric.yaml", "--json", env=package).json["contract"]
        != contracts[-1]
    )


def test_what_is_wrong_with_an_added_check_is_said(desk: Desk, package: dict[str, str]) -> None:
    """A wrong argument, a misspelt name and a package that cannot be loaded are refused with what
    to do.
    """
    for check, words in (
        ("shouts: loud", "`shouts` takes a number"),
        ("shuots: 2", "did you mean `shouts`?"),
        ("whispers: 2", "the check `whispers` of an installed package cannot be loaded"),
    ):
        desk.file("rubric.yaml", RUBRIC.format(check))
        found = desk.run("eval", "a.md", "--rubric", "rubric.yaml", env=package)
        assert found.is_refusal
        assert words in found.err
    desk.file("rubric.yaml", RUBRIC.format("shouts: 2"))
    assert "unknown check `shouts`" in desk.run("eval", "a.md", "--rubric", "rubric.yaml").err


def test_doctor_names_what_packages_add(desk: Desk, package: dict[str, str]) -> None:
    """By kind of thing; nothing is loaded for it."""
    assert desk.run("doctor", "--json", env=package).json["added"]["checks"] == [
        "shouts",
        "whispers",
    ]
    assert "checks   shouts, whispers" in desk.run("doctor", env=package).out
