"""Graders of an AgentV file in a container: `docker` is a program of the test that says how it was
called and runs what it was given.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

SUITE = """
workspace:
  docker: {image: "team/grader:1", memory: 2g, cpus: 1.5}
tests:
  - {id: yes, input: hi, assertions: [{type: code-grader, command: [sh, -c, "grep -q hi && echo looks fine"]}]}
  - {id: no, input: ho, assertions: [{type: code-grader, command: [sh, -c, "grep -q hi && echo looks fine"]}]}
"""
# `docker run --rm -i --name N [--LIMIT=...] --entrypoint PROGRAM IMAGE WORDS`, and `docker rm`.
DOCKER = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(sys.argv[1:]) + "\\n")
if sys.argv[1] == "run":
    at = sys.argv.index("--entrypoint")
    program, image, *words = sys.argv[at + 1 :]
    if image == "absent":
        sys.exit("docker: no such image")
    os.execvp(program, [program, *words])
"""


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    docker = tmp_path / "bin" / "docker"
    docker.write_text(DOCKER.format(python=sys.executable, log=str(tmp_path / "log")))
    docker.chmod(0o755)
    (tmp_path / "work").mkdir()
    return tmp_path


def evaluate(
    desk: Path, suite: str, *words: str, has_docker: bool = True
) -> subprocess.CompletedProcess[str]:
    (desk / "work" / "x.eval.yaml").write_text(suite)
    path = f"{desk / 'bin'}:/usr/bin:/bin"
    if not has_docker:  # it may be in /usr/bin
        path = str(desk / "few")
        (desk / "few").mkdir()
        for name in ("cat", "sh"):
            (desk / "few" / name).symlink_to(str(shutil.which(name)))
    line = [
        sys.executable,
        "-m",
        "honestone",
        "eval",
        "x.eval.yaml",
        "--target",
        "cmd:cat",
        "--json",
        "-q",
        *words,
    ]
    return subprocess.run(
        line,
        cwd=desk / "work",
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
    )


def calls(desk: Path) -> list[list[str]]:
    log = desk / "log"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def test_a_grader_runs_in_its_container(desk: Path) -> None:
    """It reads its request there, and its exit code decides where it prints words, as in AgentV."""
    done = evaluate(desk, SUITE, "--allow-code")
    cases = {case["id"]: case["verdict"] for case in json.loads(done.stdout)["cases"]}
    assert (done.returncode, cases) == (1, {"yes": "pass", "no": "fail"}), done.stderr
    first = calls(desk)[0]
    assert first[:4] == ["run", "--rm", "-i", "--name"]
    assert first[5:] == [
        *("--memory=2g", "--cpus=1.5", "--entrypoint", "sh", "team/grader:1"),
        *("-c", "grep -q hi && echo looks fine"),
    ]


def test_a_container_needs_permission_and_docker(desk: Path) -> None:
    """Both are exit 2 before anything runs, and say what is missing."""
    refused = evaluate(desk, SUITE)
    assert (refused.returncode, calls(desk)) == (2, [])
    assert "team/grader:1" in refused.stderr and "--allow-code" in refused.stderr
    absent = evaluate(desk, SUITE, "--allow-code", has_docker=False)
    assert absent.returncode == 2 and "docker" in absent.stderr


def test_an_image_that_cannot_be_run_judges_nothing(desk: Path) -> None:
    """What docker itself could not do is neither a pass nor a fail."""
    done = evaluate(desk, SUITE.replace("team/grader:1", "absent"), "--allow-code")
    assert done.returncode == 3 and "no such image" in done.stdout


def test_a_program_that_is_too_slow_leaves_no_container(desk: Path) -> None:
    """Ending docker's client does not end the container, so that is removed by its name."""
    suite = SUITE.replace("image:", "timeout: 1, image:").replace(
        "grep -q hi && echo looks fine", "exec sleep 1000"
    )
    done = evaluate(desk, suite, "--allow-code")
    assert done.returncode == 1, done.stderr
    names = [call[4] for call in calls(desk) if call[0] == "run"]
    assert (
        sorted(call[2] for call in calls(desk) if call[0] == "rm") == sorted(names)
        and len(names) == 2
    )


def test_repositories_of_the_image_are_put_at_their_commit(desk: Path) -> None:
    """In the container, before the program; they need no address, as the image has them."""
    repos = "  repos: [{path: /testbed, commit: abc}]\ntests:"
    done = evaluate(desk, SUITE.replace("tests:", repos), "--allow-code")
    assert done.returncode in (1, 3), done.stderr
    words = calls(desk)[0][-6:]
    assert words[:2] == ["-c", 'git -C /testbed reset --hard abc >&2 && exec "$@"']
    assert words[2:] == ["sh", "sh", "-c", "grep -q hi && echo looks fine"]


@pytest.mark.parametrize(
    "docker",
    [
        "{image: '--privileged'}",
        "{image: x, memory: '1g --privileged'}",
        "{image: x, cpus: 0}",
        "{}",
        "{image: [x]}",
        "x",
    ],
)
def test_a_container_says_nothing_else_to_docker(desk: Path, docker: str) -> None:
    """Neither an image nor a limit can be an option."""
    done = evaluate(
        desk,
        SUITE.replace('{image: "team/grader:1", memory: 2g, cpus: 1.5}', docker),
        "--allow-code",
    )
    assert (done.returncode, calls(desk)) == (2, []), done.stderr
    assert "x.eval.yaml:" in done.stderr
