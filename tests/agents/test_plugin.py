"""The plugin and the extension in the repository, against the source that `agent install` writes
from.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
from plugin import LAUNCHER, REPO, generated


@pytest.mark.parametrize(("path", "text"), list(generated()), ids=[path for path, _ in generated()])
def test_it_is_fresh(path: str, text: str) -> None:
    """Else `make docs` writes it again."""
    assert (REPO / path).read_text(encoding="utf-8") == text


def test_nothing_else_is_in_it() -> None:
    """What is no longer generated is removed by hand."""
    ours = {REPO / path for path, _ in generated()}
    there = {
        path
        for top in ("plugin", "gemini", ".claude-plugin")
        for path in (REPO / top).rglob("*")
        if path.is_file()
    }
    assert there <= ours


def test_each_agent_finds_only_events_of_its_own() -> None:
    """A hooks file in a folder that an agent takes for a plugin, an extension or a marketplace has
    no event of another agent.
    """
    events = {"claude": {"Stop", "SessionStart"}, "gemini": {"AfterAgent", "SessionStart"}}
    folders = {
        ".claude-plugin": "claude",
        ".codex-plugin": "claude",
        "gemini-extension.json": "gemini",
    }
    looked_at = 0
    for sign, agent in folders.items():
        for path, _ in generated():
            top = (REPO / path).parents if (REPO / path).name != sign else ()
            roots = {folder.parent for folder in top if folder.name == sign} | (
                {(REPO / path).parent} if (REPO / path).name == sign else set()
            )
            for root in roots:
                hooks = root / "hooks/hooks.json"
                if hooks.exists():
                    looked_at += 1
                    assert set(json.loads(hooks.read_text())["hooks"]) <= events[agent], hooks
    assert looked_at >= 3


def test_hooks_have_the_hosts_own_units() -> None:
    limits = []
    for path, event in (
        ("plugin/hooks/hooks.json", "Stop"),
        ("gemini/hooks/hooks.json", "AfterAgent"),
    ):
        (group,) = json.loads((REPO / path).read_text())["hooks"][event]
        (handler,) = group["hooks"]
        assert handler["command"].endswith("agent hook stop")
        limits.append(handler["timeout"])
    assert limits == [10, 10_000]


def test_without_honestone_a_hook_is_silent(tmp_path: Path) -> None:
    """With it, it is called with the same words."""
    (tmp_path / "launcher.sh").write_text(LAUNCHER)
    words = ["/bin/sh", str(tmp_path / "launcher.sh"), "agent", "hook", "stop"]
    env = {"PATH": f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin", "HOME": str(tmp_path)}
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    (tmp_path / "honestone").write_text('#!/bin/sh\necho "$@"\n')
    (tmp_path / "honestone").chmod(0o755)
    assert (
        subprocess.run(words, env=env, capture_output=True, text=True, timeout=30).stdout
        == "agent hook stop\n"
    )
