"""Each test is run by one target of the Makefile, and CI runs that target."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import GROUPS

REPO = Path(__file__).parents[2]
MAKEFILE = (REPO / "Makefile").read_text("utf-8")
# What they need is installed by hand (docker), or in an environment of another tool.
NOT_IN_CI = {"test-containers"}


def recipe(target: str) -> str:
    """The lines of a target, with the options that several share filled in."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)
    assert found is not None, target
    shared = re.search(r"^OF_THEIR_OWN := (.*)$", MAKEFILE, re.MULTILINE)
    assert shared is not None
    return found[1].replace("$(OF_THEIR_OWN)", shared[1])


def targets(text: str) -> list[str]:
    return re.findall(r"^make ([a-z-]+)", text, re.MULTILINE)


CI = targets((REPO / ".ci/run").read_text("utf-8"))


def test_every_group_has_one_target_that_ci_runs() -> None:
    """`make test` leaves a group out by its marker, and another target has that marker alone."""
    left_out = re.findall(r"not (\w+)", recipe("test"))
    assert sorted(left_out) == sorted(GROUPS)
    assert "test" in CI
    for group in GROUPS:
        having = [one for one in CI if f"-m {group} " in recipe_or_none(one)]
        assert len(having) == 1, (group, having)


def recipe_or_none(target: str) -> str:
    return recipe(target) if re.search(rf"^{target}:.*\n\t", MAKEFILE, re.MULTILINE) else ""


def test_every_folder_that_is_left_out_has_one_target_that_ci_runs() -> None:
    """What `make test` and `make test-slow` do not look into is run whole by another target."""
    folders = re.findall(r"--ignore=(\S+)", recipe("test"))
    assert folders == re.findall(r"--ignore=(\S+)", recipe("test-slow"))
    for folder in folders:
        having = [
            one for one in CI if re.search(rf"{folder}(?!/\w)|attack\.py", recipe_or_none(one))
        ]
        having = [one for one in having if f"--ignore={folder}" not in recipe(one)]
        wanted = "attack" if folder == "tests/attacks" else folder.replace("tests/", "test-")
        assert wanted in having, (folder, having)


def test_ci_and_test_all_run_every_target_of_tests() -> None:
    """A target that is added is in both."""
    wanted = {*re.findall(r"^(test-[a-z]+):", MAKEFILE, re.MULTILINE)} - {"test-all"}
    of_all = re.search(r"^test-all: ((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    assert of_all is not None
    assert wanted <= set(of_all[1].replace("\\\n", " ").split())
    assert wanted - NOT_IN_CI <= set(CI)


def test_ci_runs_no_test_twice() -> None:
    """`make quick` is a part of `make test`."""
    assert "quick" not in CI
    assert len(CI) == len(set(CI))


def test_the_cheap_ones_are_first_in_ci() -> None:
    """Whoever has a slip learns of it in minutes."""
    assert CI[:4] == ["lint", "demo", "test", "test-slow"]


@pytest.mark.parametrize("marker", sorted(GROUPS))
def test_a_group_is_where_its_target_looks(marker: str) -> None:
    """A marker in a folder that the group's target is not given would leave the test out of CI."""
    words = next(recipe(one) for one in CI if f"-m {marker} " in recipe_or_none(one))
    places = re.findall(r" (tests(?:/[\w.]+)*)", words.split("--ignore")[0])
    marked = {
        path.relative_to(REPO).as_posix()
        for path in (REPO / "tests").rglob("test_*.py")
        if re.search(rf"pytest\.mark\.{marker}\b", path.read_text("utf-8"))
        and path != Path(__file__)
    }
    ignored = re.findall(r"--ignore=(\S+)", words)
    assert [one for one in marked if places and not one.startswith(tuple(places))] == []
    assert [one for one in marked if one.startswith(tuple(f"{one}/" for one in ignored))] == []


def test_a_test_in_two_groups_is_refused(tmp_path: Path) -> None:
    """By name, before any test runs; one that costs much without a mark is named at the end."""
    for file in ("conftest.py", "property_examples.py"):
        (tmp_path / file).write_text((REPO / "tests" / file).read_text("utf-8"), "utf-8")
    head = "import pytest, time\n"
    (tmp_path / "test_made.py").write_text(
        f"{head}@pytest.mark.slow\n@pytest.mark.kills\ndef test_both(): pass\n"
    )
    assert "test_both is in several groups: slow, kills" in run(tmp_path)
    conftest = tmp_path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8").replace("_AT_MOST = 10.0", "_AT_MOST = 0.05"))
    burns = "def test_it():\n    end = time.process_time() + 0.1\n"
    burns += "    while time.process_time() < end: pass\n"
    (tmp_path / "test_made.py").write_text(head + burns)
    assert "let it do less, or mark it with `slow`" in run(tmp_path)


def run(folder: Path) -> str:
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", str(folder)]
    ended = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    return ended.stdout + ended.stderr
