"""Links in a project that lead out of it: to an environment, as in a git worktree, and to anything
else.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from honestone.core.errors import UsageError
from honestone.system.processes.sandbox import Sandbox

from .desk import Desk

TASKS = """\
suite: 1
target: "cmd:cat"
cases:
  - {id: tests, input: an apple, checks: [{pytest: fixtures/test_it.py}]}
"""
TEST = """\
import os

def test_it():
    assert "apple" in open(os.environ["AI_OUTPUT_FILE"]).read()
"""


@pytest.fixture(params=["bwrap", "landlock"])
def box(request: pytest.FixtureRequest) -> str:
    """Each sandbox, where it works."""
    try:
        return Sandbox.choose(request.param).name
    except UsageError as error:
        pytest.skip(error.message)


def status(desk: Desk, box: str, suite: str = "suite.yaml") -> str:
    ended = desk.run("eval", suite, "--sandbox", box, "--json")
    (case,) = ended.json["cases"]
    return f"{case['status']} {case['criteria'][0]['items'][0].get('note') or ''}".strip()


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (".venv", Path(sys.prefix)),
        (".env", Path(sys.prefix)),
        (".tools", Path(sys.prefix).resolve().parent),
        (".python", Path(sys.base_prefix)),
        ("venv", Path(sys.prefix)),
    ],
    ids=lambda one: str(one) if isinstance(one, str) else "",
)
def test_a_linked_environment_does_not_break_tests(
    desk: Desk, box: str, name: str, target: Path
) -> None:
    """A link to our own environment, or to a folder that has it, hides nothing that is needed to
    start Python.
    """
    desk.file("suite.yaml", TASKS)
    desk.file("fixtures/test_it.py", TEST)
    (desk.folder / name).symlink_to(target)
    assert status(desk, box).startswith("passed")


@pytest.mark.parametrize("is_linked", [True, False], ids=["linked", "in the project"])
def test_an_environment_on_the_path_works(
    desk: Desk, box: str, tmp_path: Path, is_linked: bool
) -> None:
    """Also one that honestone itself does not run in: its packages and settings stay visible."""
    place = tmp_path / "elsewhere" if is_linked else desk.folder / ".venv"
    made = [sys.executable, "-m", "venv", "--without-pip", "--symlinks", str(place)]
    subprocess.run(made, check=True, capture_output=True)
    if is_linked:
        (desk.folder / ".venv").symlink_to(place)
    library = next(place.glob("lib/python*/site-packages"))
    (library / "only_there.py").write_text("apple = 1\n")
    desk.extra["PATH"] = f"{desk.folder / '.venv/bin'}{os.pathsep}{desk.env['PATH']}"
    desk.file(
        "suite.yaml",
        TASKS.replace("pytest: fixtures/test_it.py", "command: python -c 'import only_there'"),
    )
    assert status(desk, box).startswith("passed")


@pytest.mark.parametrize("is_linked", [True, False], ids=["linked", "in the project"])
def test_private_names_stay_hidden(desk: Desk, box: str, tmp_path: Path, is_linked: bool) -> None:
    """What begins with a dot and is no environment in use is not seen, where it is or where it
    leads.
    """
    place = tmp_path / "keys" if is_linked else desk.folder / ".keys"
    place.mkdir()
    (place / "key").write_text("secret")
    (place / "pyvenv.cfg").write_text("home = /usr/bin\n")
    if is_linked:
        (desk.folder / ".keys").symlink_to(place)
    command = f"command: sh -c 'cat {desk.folder}/.keys/key'"  # a file that is a word of its own would be shown
    desk.file("suite.yaml", TASKS.replace("pytest: fixtures/test_it.py", command))
    assert status(desk, box).startswith("failed")


def test_tests_run_in_a_git_worktree_with_a_linked_environment(desk: Desk, box: str) -> None:
    """As people work: the environment is in the first checkout, and a worktree links to it."""
    desk.file("suite.yaml", TASKS)
    desk.file("fixtures/test_it.py", TEST)
    git = ["git", "-c", "user.name=n", "-c", "user.email=n@example.org"]
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["commit", "-qm", "1"],
        ["worktree", "add", "-q", "../tree"],
    ):
        subprocess.run(
            [*git, *words], cwd=desk.folder, check=True, capture_output=True, env=desk.env
        )
    tree = desk.folder.parent / "tree"
    (tree / ".venv").symlink_to(sys.prefix)
    ended = desk.run("eval", "suite.yaml", "--sandbox", box, "--json", cwd=tree)
    assert ended.json["cases"][0]["status"] == "passed", ended.out
