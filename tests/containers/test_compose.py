"""The page's Compose file with real containers: three runners, a suite, one of them killed and one
stopped. `make test-containers`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

REPO = Path(__file__).resolve().parents[2]
SUITE = "suite: 1\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: apple {n}, checks: [{{contains: [apple]}}, {{command: 'true'}}]}}\n"
    for n in range(240)
)
pytestmark = pytest.mark.skipif(
    "HONESTONE_TEST_CONTAINERS" not in os.environ, reason="make test-containers"
)


class Stack:
    """The services of the page in a project of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.project = folder, f"honestone-test-{os.getpid()}"
        self.compose = (
            ["docker-compose"] if shutil.which("docker-compose") else ["docker", "compose"]
        )

    def run(self, *words: str, check: bool = True) -> str:
        done = subprocess.run(
            words,
            cwd=self.folder,
            env={**os.environ, "PGPASSWORD": "sesame"},
            capture_output=True,
            text=True,
            timeout=900,
            check=False,
        )
        assert done.returncode == 0 or not check, (
            f"{words}: {done.stdout[-500:]}{done.stderr[-1500:]}"
        )
        return done.stdout

    def on(self, *words: str, check: bool = True) -> str:
        return self.run(*self.compose, "-p", self.project, *words, check=check)

    def ours(self, *words: str) -> list[str]:
        """The command line of a honestone in a container of its own, on the suite."""
        where = ("--network", f"{self.project}_default", "--volume", f"{self.folder}:/work")
        store = ("-e", "HONESTONE_STORE=postgresql://honestone@db/honestone", "-e", "PGPASSWORD")
        return [
            "docker",
            "run",
            "--rm",
            "--user",
            f"{os.getuid()}:{os.getgid()}",
            *where,
            *store,
            "honestone",
            *words,
        ]

    def runners(self) -> list[str]:
        return self.on("ps", "-q", "runner").split()


@pytest.fixture
def stack(tmp_path: Path) -> Iterator[Stack]:
    page = (
        (REPO / "docs/reference/cluster.md")
        .read_text(encoding="utf-8")
        .partition("\n### Compose\n")[2]
    )
    (file,) = re.findall(r"```yaml\n(.*?)```", page.partition("\n### ")[0], re.S)
    # Port 5432 of this machine may be another server's; the suite is ordered from a container.
    (tmp_path / "compose.yaml").write_text(re.sub(r" +ports: .*\n", "", file))
    (tmp_path / "suite.yaml").write_text(SUITE)
    (tmp_path / "honestone.toml").touch()
    answer = tmp_path / "answer.sh"
    answer.write_text("#!/bin/sh\nsleep 2\ncat\n")
    answer.chmod(0o755)
    made = Stack(tmp_path)
    try:
        made.on("up", "--detach")
        yield made
    finally:
        made.on("down", "--volumes", "--timeout", "5", check=False)


def test_a_suite_on_three_runners(stack: Stack) -> None:
    """Killed and stopped runners cost no case, and the one that was stopped ends well."""
    ordered = subprocess.Popen(
        stack.ours("eval", "suite.yaml", "--target", "cmd:./answer.sh", "--remote", "--json"),
        cwd=stack.folder,
        env={**os.environ, "PGPASSWORD": "sesame"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    killed, stopped, _ = stack.runners()
    seen: list[dict[str, object]] = []
    while sum(bool(one["in_hand"]) for one in seen) < 3:
        assert ordered.poll() is None, ordered.communicate()
        seen = json.loads(stack.run(*stack.ours("runners", "--json")))
    stack.run("docker", "kill", "--signal", "KILL", killed, check=False)
    stack.run("docker", "stop", "--time", "90", stopped)
    assert stack.run("docker", "inspect", "--format", "{{.State.ExitCode}}", stopped).strip() == "0"
    said = subprocess.run(
        ["docker", "logs", stopped], capture_output=True, text=True, timeout=60, check=True
    ).stderr
    assert "takes no more; finishes" in said and "ended after" in said
    out, err = ordered.communicate(timeout=600)
    assert ordered.returncode == 0, err
    report = json.loads(out)
    assert report["counts"]["passed"] == 240 and report["duration_ms"] > 0
