"""A clean person: no login, no key, a home of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

_THEIRS = (
    "CODEX_HOME",
    "CLAUDE_CONFIG_DIR",
    "GEMINI_CLI_HOME",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
)


@pytest.fixture(autouse=True)
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Their home. Temporary files go below tmp_path as well, so that a test sees what is left."""
    home, temporary = tmp_path / "person", tmp_path / "tmp"
    home.mkdir()
    temporary.mkdir()
    for name in _THEIRS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    return home


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> str:
    """A key in the variable MY_KEY."""
    monkeypatch.setenv("MY_KEY", "sk-secret-4711")
    return "sk-secret-4711"
