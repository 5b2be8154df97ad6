"""The definitions for GitHub and pre-commit: their own commands, run as those run them."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
RUBRIC = "rubric: 1\nthreshold: 80\ncriteria: [{id: says, requirement: It says hello, check: {contains: hello}}]\n"


def steps() -> dict[str, dict[str, Any]]:
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    assert set(action["inputs"]) == {"args", "extras", "working-directory"}
    return {step["name"]: step for step in action["runs"]["steps"]}


def run_step(step: dict[str, Any], place: Path, **more: str) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": os.environ["PATH"],
        "HOME": str(place),
        "RUNNER_TEMP": str(place / "runner"),
        "GITHUB_ACTION_PATH": str(ROOT),
        "GITHUB_OUTPUT": str(place / "output"),
        "GITHUB_STEP_SUMMARY": str(place / "summary"),
        **more,
    }
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(words, cwd=place, env=env, capture_output=True, text=True, check=False)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A checkout, with this honestone where the install step puts it."""
    (tmp_path / "runner/honestone").mkdir(parents=True)
    (tmp_path / "runner/honestone/bin").symlink_to(BIN)
    (tmp_path / "a note.md").write_text("hello\n")
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    return tmp_path


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ("eval 'a note.md' --rubric rubric.yaml", 0),
        ("eval rubric.yaml --rubric rubric.yaml --threshold 100", 0),
        ("eval missing.md --rubric rubric.yaml", 2),
        ("eval 'a note.md'\n  --rubric rubric.yaml --threshold 100", 0),
    ],
)
def test_the_action_exits_as_honestone_does(place: Path, args: str, code: int) -> None:
    ended = run_step(steps()["Run honestone"], place, ARGS=args)
    assert ended.returncode == code, ended
    assert (place / "output").read_text() == f"exit-code={code}\n"
    assert ("PASSED" in (place / "summary").read_text()) == (code == 0)


def test_nothing_in_the_arguments_is_a_command(place: Path) -> None:
    ended = run_step(steps()["Run honestone"], place, ARGS="eval $(touch gone) `touch gone` ; touch gone")
    assert ended.returncode == 2
    assert not (place / "gone").exists()
    assert all("${{" not in step["run"] for step in steps().values())


def test_the_install_step_is_a_pip_install_of_this_checkout(place: Path) -> None:
    """With a `python3` that only writes down what it is asked: the real install is `make demo` in a fresh clone."""
    fake = place / "fake"
    fake.mkdir()
    (fake / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@" >> "%s"\\n\' "$HOME/asked" > "$3/bin/pip"\nchmod +x "$3/bin/pip"\n'
    )
    (fake / "python3").chmod(0o755)
    (place / "runner/honestone/bin").unlink()
    path = f"{fake}:{os.environ['PATH']}"
    for extras in ("", "all"):
        assert run_step(steps()["Install honestone"], place, PATH=path, EXTRAS=extras).returncode == 0
    assert (place / "asked").read_text().split("\n")[:2] == [f"install --quiet {ROOT}", f"install --quiet {ROOT}[all]"]


def test_the_pre_commit_hook_asks_the_record(tmp_path: Path) -> None:
    (hook,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["language"]) == ("honestone", "python")
    entry = [*shlex.split(hook["entry"]), "--rubric", "rubric.yaml", "--judge", f"script:{sys.executable} j.py", "a.md"]
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    (tmp_path / "rubric.yaml").write_text("rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n")
    (tmp_path / "a.md").write_text("text\n")
    (tmp_path / "j.py").write_text('print(\'{"criteria": {"good": {"met": true}}}\')\n')

    def ask(*words: str) -> int:
        return subprocess.run(words, cwd=tmp_path, env=env, capture_output=True, check=False).returncode

    ask("git", "init", "-q")
    ask("git", "add", "a.md", "rubric.yaml")
    assert ask(*entry) == 3
    assert ask(*(word for word in entry if word not in ("--recorded", "--staged"))) == 0
    assert ask(*entry) == 0
