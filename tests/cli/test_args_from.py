"""`honestone --args-from VARIABLE`: arguments from the environment, split as a shell does and read
by none.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import warm


def run(folder: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{warm.path()}:/usr/bin:/bin", "HOME": str(folder), **variables}
    return subprocess.run(
        [warm.command(), *words], cwd=folder, env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize("option", [("--args-from", "ARGS"), ("--args-from=ARGS",)])
def test_words_come_from_the_variable(tmp_path: Path, option: tuple[str, ...]) -> None:
    """Quotes and line breaks as in a shell; words after it are added."""
    (tmp_path / "a note.md").write_text("hello\n")
    (tmp_path / "r.yaml").write_text(
        "rubric: 1\ncriteria: [{id: a, requirement: x, check: {contains: hello}}]\n"
    )
    done = run(tmp_path, *option, "--json", ARGS="eval 'a note.md'\n --rubric r.yaml")
    assert done.returncode == 0, done.stderr
    assert '"verdict": "pass"' in done.stdout


@pytest.mark.parametrize(
    ("words", "variables", "says"),
    [
        (["--args-from", "ARGS"], {}, "names a variable that is not set: ARGS"),
        (["--args-from"], {}, "not set: (no name)"),
        (["--args-from", "ARGS"], {"ARGS": "eval 'a"}, "cannot be split into words"),
        (["--args-from", "ARGS"], {"ARGS": "--args-from ARGS"}, "must be the first argument"),
        (["-h", "--args-from", "ARGS"], {"ARGS": "eval $(touch gone) `touch gone`"}, "Usage"),
    ],
)
def test_what_cannot_be_taken_is_a_usage_error(
    tmp_path: Path, words: list[str], variables: dict[str, str], says: str
) -> None:
    """With one line that says which variable; nothing in it is a command."""
    done = run(tmp_path, *words, **variables)
    assert says in done.stdout + done.stderr
    assert done.returncode == (0 if words[0] == "-h" else 2)
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "gone").exists()
