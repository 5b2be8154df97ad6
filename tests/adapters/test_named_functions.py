"""`python:FILE:FUNCTION`: what a function may import, and when."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from honestone.adapters.named_functions import function_named


def test_a_function_imports_its_neighbours_when_it_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when Python runs its file; they come last, so that they hide no installed module."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "late_neighbour.py").write_text("WORD = 'late'\n")
    (tmp_path / "own.py").write_text(
        "def say(text):\n    import late_neighbour\n    return late_neighbour.WORD\n"
    )
    named = function_named("own.py:say", [tmp_path])
    assert named.function("x") == "late"
    assert sys.path[-1] == str(tmp_path)
