"""A store that 0.1.0 wrote: every later version lists, shows and scores it alike. Wording and paths
may change.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import warm

COMPARED: frozenset[str] = frozenset(
    [
        "verdict",
        "result",
        "state",
        "status",
        "outcome",
        "decision",
        "id",
        "contract",
        "digest",
        "version",
        "run",
        "schema",
        "name",
        "kind",
        "side",
    ]
)
"""The texts that must stay; others are words for people."""


class Golden(NamedTuple):
    """The old store in a folder of its own, and what 0.1.0 printed of it."""

    folder: Path
    expected: Path

    def printed(self, name: str) -> Any:
        return json.loads((self.expected / name).read_text("utf-8"))

    @property
    def codes(self) -> dict[str, int]:
        lines = (self.expected / "codes.txt").read_text("utf-8").splitlines()
        return {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in lines}

    def run(self, *args: str) -> tuple[int, Any]:
        """The exit code, and the JSON that was printed."""
        env = {"PATH": f"{warm.path()}:/usr/bin:/bin", "HOME": str(self.folder), "LANG": "C.UTF-8"}
        done = subprocess.run(
            [warm.command(), *args], cwd=self.folder, env=env, capture_output=True, text=True
        )
        return done.returncode, json.loads(done.stdout or "null")


@pytest.fixture
def golden(shared_data: Callable[[str], Path], tmp_path: Path) -> Golden:
    source = shared_data("golden-store-0.1.0")
    shutil.copytree(source / "work", tmp_path / "work")
    shutil.copytree(source / "store", tmp_path / "work" / ".honestone")
    return Golden(tmp_path / "work", source / "expected")


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """What of `old` is missing in `new` or has another value: numbers, booleans, null and the texts
    that must stay.
    """
    if isinstance(old, Mapping):
        for key, value in old.items():
            here = f"{at}.{key}"
            if not isinstance(new, Mapping) or key not in new:
                yield f"{here} is missing"
            else:
                yield from differences(value, new[key], here)
    elif isinstance(old, list):
        if not isinstance(new, list) or len(new) != len(old):
            yield f"{at}: {len(old)} rows"
        else:
            for index, (one, other) in enumerate(zip(old, new, strict=True)):
                yield from differences(one, other, f"{at}[{index}]")
    elif isinstance(old, str):
        if at.rpartition(".")[2].partition("[")[0] in COMPARED and old != new:
            yield f"{at}: {old!r} now {new!r}"
    elif old != (pytest.approx(new, abs=1e-9) if isinstance(new, float) else new):
        yield f"{at}: {old!r} now {new!r}"


def test_runs_lists_what_it_listed(golden: Golden) -> None:
    """Ids, kinds, subjects, results and sides."""
    code, found = golden.run("runs", "--json")
    assert code == 0
    assert list(differences(golden.printed("runs.json"), found)) == []


@pytest.mark.parametrize("verb", ["show", "rescore"])
def test_every_run_is_read_alike(golden: Golden, verb: str) -> None:
    """Scores, verdicts, exit codes: evaluations, loops, suites with their baselines."""
    for run in golden.printed("runs.json"):
        code, found = golden.run(verb, run["id"], "--json")
        assert code == golden.codes.get(f"{verb} {run['id']}", 0), (verb, run)
        assert list(differences(golden.printed(f"{verb}-{run['id']}.json"), found)) == [], (
            verb,
            run,
        )
