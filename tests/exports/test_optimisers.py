"""The benchmark of optimisers runs each way in its world, within the same looks."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("gepa", reason="make test-exports installs it")


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    folder = Path(__file__).parents[2] / "bench" / "optimisers"
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    return importlib.import_module("optimisers")


def test_no_way_takes_more_looks_or_passes_falsely_without_errors(bench: Any) -> None:
    """Judges that never err: what is said to pass does."""
    for name, way in bench.WAYS.items():
        world = bench.World(1, 0.0, 0.0)
        ended = way(world)
        assert world.looks <= bench.LOOKS, name
        assert bench.is_good(ended.text) or not ended.says_pass, name


def test_a_world_is_the_same_each_time(bench: Any) -> None:
    """Its figures can be measured again."""
    found = [bench.row("plain", bench.plain_loop, 3, (0.15, 0.5)) for _ in range(2)]
    assert found[0] == found[1]
