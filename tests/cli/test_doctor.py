"""`honestone doctor`: what can run here, and how to get the rest. It costs nothing and ends soon."""

from __future__ import annotations

from .desk import Desk


def test_doctor_lists_what_is_always_here_and_what_is_missing(desk: Desk) -> None:
    """On a machine without any agent CLI or key every row says how to get it; exit 0."""
    result = desk.run("doctor", "--json", env={"PATH": "/nonexistent"})
    assert result.code == 0, result.err
    report = result.json
    assert report["schema"] == "honestone.doctor/1"
    rows = {row["name"]: row for row in report["judges"]}
    assert {"codex", "gemini", "claude", "openai", "anthropic", "google", "ollama"} <= set(rows)
    for name in ("codex", "gemini", "claude"):
        assert rows[name]["ready"] is False
        assert rows[name]["hint"]
    assert "script:COMMAND" in report["always"]["judges"]
    assert "fix" in report["always"]["workers"]
    assert report["sandbox"] in ("bwrap", "landlock", "none")
    assert report["settings"] is None
    text = desk.run("doctor", env={"PATH": "/nonexistent"})
    assert text.code == 0
    assert "get it:" in text.out
    assert "           `bwrap` is not installed: install bubblewrap (apt-get" in text.out
    assert not desk.store.exists()


def test_doctor_lists_judges_of_the_settings_and_shows_no_key(desk: Desk) -> None:
    """A named judge is listed; the value of its key appears nowhere."""
    desk.file(
        "honestone.toml",
        '[judges.mine]\nprovider = "compatible"\nbase_url = "http://127.0.0.1:9"\nmodel = "m"\napi_key_env = "MY_KEY"\n',
    )
    result = desk.run("doctor", env={"PATH": "/nonexistent", "MY_KEY": "sk-secret-1"})
    assert result.code == 0, result.err
    assert "mine" in result.out
    assert "honestone.toml" in result.out
    assert "sk-secret-1" not in result.out + result.err
    assert desk.holds_anywhere(b"sk-secret-1") == []


def test_doctor_says_what_a_command_of_the_settings_needs(desk: Desk) -> None:
    """Its program and its key, with what to do; ready once both are there."""
    table = (
        '[judges.mine]\nprovider = "cli"\ncommand = ["mytool", "--print"]\napi_key_env = "MY_KEY"\n'
    )
    desk.file("honestone.toml", table)
    assert desk.run("trust").code == 0
    said = desk.run("doctor").out
    assert "the program mytool is not installed; MY_KEY is not set" in said
    assert "get it: install mytool and export MY_KEY=..." in said
    tool = desk.file("bin/mytool", "#!/bin/sh\n")
    tool.chmod(0o755)
    path = f"{tool.parent}:{desk.env['PATH']}"
    said = desk.run("doctor", env={"PATH": path, "MY_KEY": "sk-secret-1"}).out
    assert "a command of your settings" in said and "sk-secret-1" not in said


def test_doctor_refuses_settings_with_a_typo(desk: Desk) -> None:
    """A misspelt table is told with file, line and the near match."""
    desk.file("honestone.toml", "\n[judgse.mine]\nprovider = 'openai'\n")
    result = desk.run("doctor")
    assert result.is_refusal
    assert "honestone.toml:2" in result.err
    assert "did you mean `judges`?" in result.err
