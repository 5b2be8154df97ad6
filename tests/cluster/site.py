"""A desk that orders runs, and runners in folders of their own, as on other machines; each a
process with its own variables.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from tests.cli.desk import HONESTONE, Desk

PATH = "/usr/bin:/bin"


@dataclass
class Site:
    """A desk that orders, and runners with variables of their own in empty folders."""

    desk: Desk
    folder: Path
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def order(self, *more: str, **variables: str) -> subprocess.Popen[str]:
        return self.here("eval", "suite.yaml", *more, "--remote", "--json", **variables)

    def runner(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        place = self.folder / f"runner{len(self.started)}"
        place.mkdir()
        return self._start(place, "runner", *words, HOME=str(place), **variables)

    def here(self, *words: str, **variables: str) -> subprocess.Popen[str]:
        """A command at the desk, under way."""
        return self._start(self.desk.folder, *words, **variables)

    def runs(self) -> list[dict[str, object]]:
        found: list[dict[str, object]] = json.loads(self.desk.run("runs", "--json").out or "[]")
        return found

    def hands(self) -> dict[int, list[str]]:
        """By the process of a runner: the cases that it works on."""
        return {
            one["pid"]: one["in_hand"] for one in json.loads(self.desk.run("runners", "--json").out)
        }

    def in_hand(self) -> list[str]:
        """The cases that all runners work on."""
        return [case for cases in self.hands().values() for case in cases]

    def refused(self, **variables: str) -> str:
        """What a runner that is to drain says while it refuses all there is."""
        one = self.runner("--drain", **variables)
        _, err = one.communicate(timeout=120)
        (run,) = self.runs()
        assert (
            one.returncode == 2 and f"refused run {run['id']}: " in err and "Traceback" not in err
        ), err
        return err

    def until_ordered(self, ordered: subprocess.Popen[str]) -> None:
        """The coordinator says that there is no runner once the run and its cases are in the store."""
        self.heard(ordered, "no runner is at work")

    def heard(self, process: subprocess.Popen[str], words: str) -> str:
        """What it says on stderr, up to the line with these words."""
        assert process.stderr is not None
        said = ""
        while words not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        return said

    def _start(self, cwd: Path, *words: str, **variables: str) -> subprocess.Popen[str]:
        env = {
            "PATH": PATH,
            "HOME": str(self.desk.home),
            "HONESTONE_HEARTBEAT": "1",
            **self.desk.extra,
            **variables,
        }
        made = subprocess.Popen(
            [HONESTONE, *words],
            cwd=cwd,
            env=env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(made)
        return made

    def end(self) -> None:
        for one in self.started:
            one.kill()
            one.communicate()
