"""What `doctor` learns about an agent CLI, without starting a call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from honestone.adapters.agent_clis.detect import CliStatus, detect

from .fakes import make_fake, on_path

PACKAGES = {
    "codex": "@openai/codex",
    "claude": "@anthropic-ai/claude-code",
    "gemini": "@google/gemini-cli",
}


@pytest.mark.parametrize("name", PACKAGES)
def test_what_is_not_there_says_how_to_get_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not found: no version, no way to sign in, and what to type."""
    monkeypatch.setenv("PATH", "/nonexistent")
    assert detect(name) == CliStatus(name=name, found=None, hint=f"npm install -g {PACKAGES[name]}")


@pytest.mark.parametrize("name", PACKAGES)
def test_the_version_is_read_without_starting_it(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the package that the program on PATH is a link into: starting one takes seconds."""
    package = tmp_path / "lib" / name
    fake = make_fake(package / "bin", name)
    (package / "package.json").write_text(json.dumps({"name": PACKAGES[name], "version": "3.2.1"}))
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / name).symlink_to(fake.path)
    monkeypatch.setenv("PATH", on_path(folder))
    status = detect(name)
    assert (status.found, status.version) == (str(folder / name), "3.2.1")
    assert not fake.calls


@pytest.mark.parametrize(
    ("printed", "version"),
    [("codex-cli 0.169.0\n", "0.169.0"), ("2.1.197 (Claude Code)", "2.1.197"), ("no idea", None)],
)
def test_otherwise_it_is_asked_for_its_version(
    printed: str, version: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that comes from no npm package prints its version. The fake is a Python program,
    slow on a busy machine.
    """
    monkeypatch.setattr("honestone.adapters.agent_clis.detect.SECONDS", 30.0)
    fake = make_fake(tmp_path / "bin", "codex", stdout=printed)
    assert detect("codex", command=str(fake.path)).version == version


def test_one_that_hangs_has_no_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is still found; the wait is bounded."""
    monkeypatch.setattr("honestone.adapters.agent_clis.detect.SECONDS", 0.3)
    fake = make_fake(tmp_path / "bin", "codex", body="time.sleep(30)")
    status = detect("codex", command=str(fake.path))
    assert status.found and status.version is None


LOGINS = [
    ("codex", ".codex/auth.json", '{"tokens": {"access_token": "t"}}'),
    ("codex", ".codex/config.toml", 'cli_auth_credentials_store = "keyring"\n'),
    ("claude", ".claude/.credentials.json", '{"claudeAiOauth": {"accessToken": "t"}}'),
    ("gemini", ".gemini/oauth_creds.json", '{"refresh_token": "t"}'),
]


@pytest.mark.parametrize(("name", "path", "content"), LOGINS)
def test_a_login_is_found(name: str, path: str, content: str, tmp_path: Path, person: Path) -> None:
    """In the person's own files, which are read and not touched."""
    fake = make_fake(tmp_path / "bin", name, stdout="1.0.0")
    before = detect(name, command=str(fake.path))
    assert before.auth is None
    assert before.hint and "export" in before.hint
    (person / path).parent.mkdir(parents=True)
    (person / path).write_text(content)
    after = detect(name, command=str(fake.path))
    assert (after.auth, after.hint) == ("login", None)
    assert (person / path).read_text() == content


@pytest.mark.parametrize(
    ("name", "path", "content"), [row for row in LOGINS if row[1].endswith("json")]
)
@pytest.mark.parametrize("damage", ["", "{}", "[]", "not json", '{"tokens": null}'])
def test_a_file_without_a_login_is_none(
    name: str, path: str, content: str, damage: str, tmp_path: Path, person: Path
) -> None:
    """Logged out, empty or damaged files are no login."""
    fake = make_fake(tmp_path / "bin", name, stdout="1.0.0")
    (person / path).parent.mkdir(parents=True)
    (person / path).write_text(damage)
    assert detect(name, command=str(fake.path)).auth is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "variable"),
    [
        ("codex", "CODEX_API_KEY"),
        ("codex", "OPENAI_API_KEY"),
        ("claude", "ANTHROPIC_API_KEY"),
        ("gemini", "GEMINI_API_KEY"),
    ],
)
def test_a_key_is_found(
    name: str, variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the usual variable, or in the one that the settings name; the key itself is not in the
    answer.
    """
    fake = make_fake(tmp_path / "bin", name, stdout="1.0.0")
    monkeypatch.setenv(variable, "sk-1")
    status = detect(name, command=str(fake.path))
    assert status.auth == "key" and "sk-1" not in repr(status)
    named = detect(name, command=str(fake.path), api_key_env="OTHER_KEY")
    assert named.auth is None and named.hint and "OTHER_KEY" in named.hint
    monkeypatch.setenv("OTHER_KEY", "sk-2")
    assert detect(name, command=str(fake.path), api_key_env="OTHER_KEY").auth == "key"
