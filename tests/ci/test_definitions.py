"""The definitions for GitHub and pre-commit: their own commands, run as those run them."""

from __future__ import annotations

import os
import re
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_nothing_in_the_arguments_is_a_command(place: Path) -> None:
    ended = run_step(
        steps()["Run honestone"], place, ARGS="eval $(touch gone) `touch gone` ; touch gone"
    )
    assert ended.returncode == 2
    assert not (place / "gone").exists()
    assert all("${{" not in step["run"] for step in steps().values())


def test_the_install_step_is_a_pip_install_of_this_checkout(place: Path) -> None:
    """With a `python3` that only writes down what it is asked: the real install is `make demo` in a
    fresh clone.
    """
    fake = place / "fake"
    fake.mkdir()
    (fake / "python3").write_text(
        '#!/bin/sh\nmkdir -p "$3/bin"\nprintf \'#!/bin/sh\\necho "$@" >> "%s"\\n\' "$HOME/asked" > "$3/bin/pip"\nchmod +x "$3/bin/pip"\n'
    )
    (fake / "python3").chmod(0o755)
    (place / "runner/honestone/bin").unlink()
    path = f"{fake}:{os.environ['PATH']}"
    for extras in ("", "all"):
        assert (
            run_step(steps()["Install honestone"], place, PATH=path, EXTRAS=extras).returncode == 0
        )
    assert (place / "asked").read_text().split("\n")[:2] == [
        f"install --quiet {ROOT}",
        f"install --quiet {ROOT}[all]",
    ]


@pytest.mark.slow
def test_the_pre_commit_hook_asks_the_record(tmp_path: Path) -> None:
    (hook,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert (hook["id"], hook["language"]) == ("honestone", "python")
    entry = [
        *shlex.split(hook["entry"]),
        "--rubric",
        "rubric.yaml",
        "--judge",
        f"script:{sys.executable} j.py",
        "a.md",
    ]
    env = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    (tmp_path / "rubric.yaml").write_text(
        "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
    )
    (tmp_path / "a.md").write_text("text\n")
    (tmp_path / "j.py").write_text('print(\'{"criteria": {"good": {"met": true}}}\')\n')

    def ask(*words: str) -> int:
        return subprocess.run(
            words, cwd=tmp_path, env=env, capture_output=True, check=False
        ).returncode

    ask("git", "init", "-q")
    ask("git", "add", "a.md", "rubric.yaml")
    assert ask(*entry) == 3
    assert ask(*(word for word in entry if word not in ("--recorded", "--staged"))) == 0
    assert ask(*entry) == 0


HOSTILE = "import os\nopen(os.environ['HOME'] + '/ran', 'a').write(__name__)\nos._exit(0)\n"
STOLEN = [
    "shlex.py",
    "re/__init__.py",
    "io.py",
    "os.py",
    "encodings/__init__.py",
    "sitecustomize.py",
    "honestone.py",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", STOLEN)
def test_no_module_of_the_checkout_runs_in_the_action(place: Path, name: str) -> None:
    """Neither while arguments are split nor while a note that does not pass is judged."""
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(HOSTILE)
    ended = run_step(steps()["Run honestone"], place, ARGS="eval rubric.yaml --rubric bad.yaml -q")
    assert not (place / "ran").exists(), ended
    assert ended.returncode == 2  # bad.yaml is missing: honestone itself said so


@pytest.mark.parametrize(
    "name", ["venv/__init__.py", "logging.py", "pip/__init__.py", "ensurepip/__init__.py"]
)
def test_no_module_of_the_checkout_runs_in_the_install(place: Path, name: str) -> None:
    """The environment is made outside of the checkout, by a Python that does not look into it."""
    (place / name).parent.mkdir(exist_ok=True)
    (place / name).write_text(HOSTILE)
    (place / "runner/honestone/bin").unlink()
    step = dict(steps()["Install honestone"])
    step["run"] = (
        step["run"]
        .replace(" -Im venv ", " -Im venv --without-pip ")
        .partition('"$RUNNER_TEMP/honestone/bin/pip"')[0]
    )
    ended = run_step(step, place, EXTRAS="")
    assert not (place / "ran").exists(), ended
    assert ended.returncode == 0, ended


@pytest.mark.slow
def test_the_store_of_the_action_is_outside_of_the_checkout(place: Path) -> None:
    """A store that a branch brings along is not the one that the action reads."""
    assert (
        run_step(
            steps()["Run honestone"], place, ARGS="eval 'a note.md' --rubric rubric.yaml"
        ).returncode
        == 0
    )
    assert not (place / ".honestone").exists()
    assert (place / "runner/honestone-store/store.db").exists()


BARE = re.compile(
    r"""(?:python[0-9.]*|sys\.executable|\bpython)["']?[ ,]+["']?-(?:[a-zA-Z]*[cm])\b"""
)
ISOLATED = re.compile(r"""-[a-zA-Z]*[IP][a-zA-Z]*["']?[ ,]""")
# Words of checks, which run on a copy; the name that a program calls itself by; and one that takes
# the folder off its path.
APART = (
    "py_compile",
    "compileall",
    'value="python3 -m pytest -q"',
    "`python -m honestone",
    "`python -m NAME`",
    'NAME = "',
    "`sh -c`",
    "sys.path[:1] = []",
)


def bare_lines(text: str) -> list[str]:
    """Lines in which a Python starts with the current folder on its path."""
    lines = enumerate(text.splitlines(), 1)
    return [
        f"{number}: {line.strip()[:90]}"
        for number, line in lines
        if BARE.search(line)
        and not ISOLATED.search(line)
        and not any(words in line for words in APART)
    ]


def test_no_python_is_started_with_a_project_on_its_path() -> None:
    """`-c` and `-m` put the current folder in front of the standard library, unless -I or -P is
    given. Checks are apart: they run on a copy, with the standard library first (decision 35).
    """
    pages = [
        ROOT / name
        for name in ("action.yml", ".pre-commit-hooks.yaml", "README.md", "Containerfile")
    ]
    for folder in ("hooks", "plugin", "commands", "skills", "docs", "src/honestone"):
        pages += [
            path
            for path in (ROOT / folder).rglob("*")
            if path.suffix in {".md", ".json", ".toml", ".sh", ".py"}
        ]
    found = {
        str(page.relative_to(ROOT)): bare_lines(page.read_text("utf-8"))
        for page in pages
        if "decisions" not in page.parts
    }
    assert {name: lines for name, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("line", "is_bare"),
    [
        ('"$RUNNER_TEMP/honestone/bin/python" -c \'', True),
        ("- run: python -m pip install X", True),
        ("python3 -um venv x", True),
        ('[sys.executable, "-m", NAME]', True),
        ('[python, "-c", "import x"]', True),
        ("- run: python -I -m pip install X", False),
        ("python3 -Im venv x", False),
        ('[sys.executable, "-P", "-m", NAME]', False),
        ("python judge.py", False),
    ],
)
def test_the_pattern_finds_what_it_is_for(line: str, is_bare: bool) -> None:
    """So that the test above cannot pass by finding nothing."""
    assert bool(bare_lines(line)) == is_bare
