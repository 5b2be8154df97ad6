"""The real agent CLIs, installed by install.sh below .clis/, and a model service for them on
127.0.0.1.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
BIN = ROOT / os.environ.get("CLIS_DIR", ".clis") / "node_modules" / ".bin"
NAMES = ("codex", "claude", "gemini")


def are_pinned() -> bool:
    """Whether the CLIs are of the versions that the tests were written for, not the newest."""
    installed, script = BIN.parents[1] / "installed", Path(__file__).with_name("install.sh")
    return installed.is_file() and installed.read_text().strip() in script.read_text()


def _load_standin() -> ModuleType:
    """By path: other folders have a module of the same name."""
    name = "agent_clis_standin"
    if name not in sys.modules:
        path = ROOT / "tests/adapters/agent_clis/standin.py"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec and spec.loader
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    missing = [name for name in NAMES if not (BIN / name).exists()]
    for item in items:
        if here not in item.path.parents:
            continue
        absent = [name for name in missing if name in item.name]
        if not os.environ.get("HONESTONE_TEST_CLIS"):
            item.add_marker(
                pytest.mark.skip(reason="the real agent CLIs are tested by: make test-clis")
            )
        elif absent:
            why = f"not installed: {', '.join(absent)} (tests/clis/install.sh needs npm)"
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture
def pinned() -> None:
    if not are_pinned():
        pytest.skip("this is about the pinned CLIs, and these are the newest")


@pytest.fixture(scope="session")
def play() -> ModuleType:
    """The words of a play: Say, Look, Change, Run, Fault, edit_play."""
    return _load_standin()


@pytest.fixture(scope="session")
def service(play: ModuleType) -> Iterator[Any]:
    with play.Standin() as running:
        yield running


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A person with a home of their own, the CLIs on PATH, one key and no login."""
    home = tmp_path / "person"
    home.mkdir()
    for name in list(os.environ):
        if name.startswith(("CODEX_", "CLAUDE", "ANTHROPIC_", "GEMINI_", "GOOGLE_", "OPENAI_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", f"{BIN}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("MY_KEY", "sk-secret-4711")
    return home
