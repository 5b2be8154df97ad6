"""`make test-deep`: random examples until the time is over, and how to reproduce what fails."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import settings

REPO = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def deep() -> ModuleType:
    spec = importlib.util.spec_from_file_location("honestone_deep_tool", REPO / "tools" / "deep.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def property_test(folder: Path, condition: str) -> str:
    place = folder / "test_made.py"
    place.write_text(
        "from hypothesis import given, strategies as st\n\n"
        f"@given(st.integers(0, 1000))\ndef test_made(number):\n    assert {condition}\n\n"
        "def test_other():\n    assert False\n"
    )
    return str(place)


def test_examples_are_fixed_unless_the_deep_profile_is_chosen() -> None:
    """One commit has one outcome: no random examples, and none that an earlier run left."""
    if os.environ.get("HONESTONE_TEST_PROFILE", "fixed") != "fixed":
        pytest.skip("this run has another profile")
    assert settings.default is not None
    assert settings.default.derandomize and settings.default.database is None


@pytest.mark.slow
def test_a_failure_is_shown_with_what_reproduces_it(
    deep: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The seed gives the same failure again. Tests without hypothesis do not run."""
    file = property_test(tmp_path, "number < 300")
    assert deep.main(["--minutes", "5", "--rounds", "1", "--workers", "1", file]) == 1
    shown = capsys.readouterr().out
    assert "test_other" not in shown and "1 run of 1 file, 1 failed" in shown
    again = re.search(r"reproduce with: HONESTONE_TEST_PROFILE=deep \S+ -m pytest (.*)", shown)
    assert again is not None and "--hypothesis-seed=" in again[1]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *again[1].split(), "-p", "no:cacheprovider"],
        cwd=tmp_path,
        env={**os.environ, "HONESTONE_TEST_PROFILE": "deep"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1 and "number=300" in done.stdout


@pytest.mark.slow
def test_runs_without_a_failure_end_with_0(
    deep: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """And with how many there were."""
    file = property_test(tmp_path, "number >= 0")
    assert deep.main(["--minutes", "5", "--rounds", "2", "--workers", "2", file]) == 0
    assert "2 runs of 1 file, 0 failed" in capsys.readouterr().out


def test_a_time_in_which_nothing_ends_is_a_failure(
    deep: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    """The time is over before the first run."""
    assert deep.main(["--minutes", "0"]) == 1
    assert "nothing was tested" in capsys.readouterr().err


def test_every_file_with_a_property_is_found(deep: ModuleType) -> None:
    """And no other."""
    found = deep.property_tests()
    assert "tests/core/test_reply.py" in found and "tests/test_deep.py" not in found
