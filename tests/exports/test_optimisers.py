"""The benchmark of optimisers runs each way in its world, within the same looks, and what the other
tools leave on disk is certified by `eval`.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .finished_run import command

pytest.importorskip("gepa", reason="make test-exports installs it")
pytest.importorskip("skillopt", reason="make test-exports installs it")

# A judge of the world as a command: it reads the lines of the text, and misreads none.
JUDGE = """
import json, re, sys
text = json.load(sys.stdin)["artifact"]["text"]
met = {f"p{n}": {"met": said == "yes"} for n, said in re.findall(r"p(\\d): (yes|no)", text)}
json.dump({"criteria": met}, sys.stdout)
"""


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = Path(__file__).parents[2] / "bench" / "optimisers"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return importlib.import_module("optimisers")


def test_no_way_takes_more_looks_or_passes_falsely_without_errors(bench: Any) -> None:
    """Judges that never err: what a way calls a PASS is one."""
    for name, way in bench.WAYS.items():
        world = bench.World(1, 0.0, 0.0)
        ended = way(world)
        assert world.looks <= bench.LOOKS, name
        assert bench.is_good(ended.text) or not ended.says_pass, name


def test_a_world_is_the_same_each_time(bench: Any) -> None:
    """Its figures can be measured again."""
    for way in (bench.plain_loop, bench.skillopt_by_mean):
        found = [bench.row("way", way, 3, (0.15, 0.5)) for _ in range(2)]
        assert found[0] == found[1]


def test_skillopt_edits_by_its_own_loop(bench: Any) -> None:
    """Its steps reflect, merge, apply and gate: a text with more properties is delivered, and the
    looks are spent or nothing is unmet."""
    world = bench.World(3, 0.0, 0.0)
    ended = bench.skillopt_by_mean(world)
    before, after = (text.count("yes") for text in (world.first, ended.text))
    assert world.edits >= 1
    assert after > before
    assert world.looks + len(bench.STEERING) > bench.LOOKS or after == bench.ITEMS


@pytest.mark.parametrize("tool", ["gepa", "skillopt"])
def test_eval_certifies_what_a_tool_leaves(bench: Any, tmp_path: Path, tool: str) -> None:
    """The page's command on the file of the real tool: its verdict is the truth of that text."""
    world = bench.World(3, 0.0, 0.0)
    ended = bench.gepa_by_mean(world) if tool == "gepa" else bench.skillopt_by_mean(world)
    (tmp_path / "best.md").write_text(ended.text)
    (tmp_path / "rubric.json").write_text(json.dumps(bench.RUBRIC))
    (tmp_path / "judge.py").write_text(JUDGE)
    judge = f"script:{sys.executable} judge.py"
    roles = ("--judge", f"{judge} one", "--holdout", f"{judge} two", "--holdout", f"{judge} three")
    done = command(tmp_path, "eval", "best.md", "-r", "rubric.json", *roles, "--sure", "95")
    assert done.returncode == (0 if bench.is_good(ended.text) else 1), (
        done.stdout + done.stderr
    ).decode()
    assert b"asked: 95%" in done.stdout
