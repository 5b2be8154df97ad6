"""The commands that actions, hooks and reminders name work in the agent's own shell, which may have
another PATH.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cli.desk import HONESTONE

from .host import Host, action

BARE = {"PATH": "/usr/bin:/bin"}
"""A login shell's, without the environment that honestone is in."""


def shell(host: Host, line: str, **more: str) -> subprocess.CompletedProcess[str]:
    env = {**host.env, **BARE, **more}
    return subprocess.run(
        ["sh", "-c", line], cwd=host.folder, env=env, capture_output=True, text=True, timeout=300
    )


def begun(host: Host, **env: str) -> dict[str, object]:
    words = "step next note.md --rubric rubric.yaml --judge agent:me --session S1 --compact"
    return action(host.run(*words.split(), env={**BARE, **env}))


@pytest.mark.slow
def test_where_it_is_not_on_path(host: Host) -> None:
    """`then`, the hook's reason and the reminder run as they stand, also where the hook has a PATH
    that the shell has not.
    """
    step = begun(host)
    Path(str(step["reply_file"])).write_text(host.reply(step))
    held = host.hook("stop", host.stopping()).reason
    reminder = host.hook("session-start", {"session_id": "S1", "cwd": str(host.folder)}).out
    said = json.loads(reminder)["hookSpecificOutput"]["additionalContext"]
    for text in (held, said):
        resumed = shell(host, text.split("`")[1])
        assert json.loads(resumed.stdout)["action"] == "judge", (text, resumed.stderr)
    submitted = shell(host, str(step["then"]))
    assert json.loads(submitted.stdout)["action"] == "propose", (step["then"], submitted.stderr)


def test_where_the_shell_has_it_that_one_is_called(host: Host) -> None:
    """A plain name where it is on PATH, so that an agent's rule for `honestone ...` matches."""
    assert str(host.begin("--compact")["then"]).startswith("honestone step submit ")
    (host.folder / "bin").mkdir()
    (host.folder / "bin/honestone").write_text('#!/bin/sh\necho "here: $*"\n')
    (host.folder / "bin/honestone").chmod(0o755)
    step = begun(host)
    called = shell(host, str(step["then"]), PATH=f"{host.folder}/bin:/usr/bin:/bin")
    assert called.stdout.startswith(f"here: step submit {step['run']} ")


@pytest.mark.parametrize("where", ["--project", "--user"])
def test_what_install_was_told(host: Host, where: str) -> None:
    """A command of several words is taken as it is, from the person's own record; it goes when
    honestone is taken out.
    """
    command = f"{sys.executable} -m honestone"
    host.run("agent", "install", "--agent", "claude", where, "--command", command)
    step = begun(host)
    assert str(step["then"]).startswith(f"{command} step submit ")
    assert f"`{command} step next" in host.stop().reason
    host.run("agent", "uninstall", where)
    assert not str(begun(host)["then"]).startswith(command)


def test_a_command_that_only_a_checkout_names_is_not_taken(host: Host) -> None:
    """Who wrote the files of a project is not known; the person's record is theirs."""
    host.run("agent", "install", "--agent", "claude", "--command", "evil --now")
    for record in host.home.rglob("agents/*.json"):
        record.unlink()
    assert "evil" not in str(begun(host)["then"])


def test_no_path_of_this_machine_is_in_the_projects_files(host: Host) -> None:
    host.run(
        "agent", "install", "--agent", "claude", "--agent", "codex", "--agent", "gemini", "--mcp"
    )
    begun(host)
    found = host.holds_anywhere(os.fsencode(Path(HONESTONE).parent))
    assert all(Path(path).is_relative_to(host.store) for path in found), found


@pytest.mark.parametrize("command", ["", " ", "a 'b", "a\nb", "a\x1b[1m"])
def test_what_is_not_a_command_is_refused(host: Host, command: str) -> None:
    """An empty one says nothing."""
    found = host.run("agent", "install", "--agent", "claude", "--command", command)
    assert found.is_refusal and "--command" in found.err and not list(host.folder.glob(".claude"))


OTHER_STORE = """\
from pathlib import Path
from honestone.adapters.stores.sqlite import SqliteStore
def make(rest, folder, readonly):
    return SqliteStore(Path(rest), readonly=readonly)
"""


@pytest.mark.slow
def test_a_store_of_another_package(host: Host, tmp_path: Path) -> None:
    """HONESTONE_STORE names where runs are; the hook finds the session's run there, and lets go
    once it is over.
    """
    info = tmp_path / "site" / "other-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[honestone.stores]\nother = other_store:make\n")
    (tmp_path / "site/other_store.py").write_text(OTHER_STORE)
    host.extra |= {
        "PYTHONPATH": str(tmp_path / "site"),
        "HONESTONE_STORE": f"other:{tmp_path}/elsewhere",
    }
    step = host.begin("--rounds", "1")
    assert not (host.store / "store.db").exists()
    assert step["run"] in host.stop().reason and host.stop("S2").silent
    assert [host.stop().held for _ in range(5)] == [True] * 4 + [False]
    step = action(host.carry_out(step))
    assert host.stop().held
    while step["action"] != "done":
        step = action(host.carry_out(step, text="Plum.\n"))
    assert host.stop().silent


def test_an_imported_loop_holds_nobody(host: Host) -> None:
    """It has no verdict of ours, whether it was finished or not and whoever's it was; a run of ours
    still holds.
    """
    state = {
        "status": "active",
        "round": 2,
        "max_rounds": 5,
        "score": 61.5,
        "threshold": 90,
        "session_id": "S1",
    }
    host.file("state.json", json.dumps({"rulph": state}))
    assert host.run("runs", "import", "state.json").code == 0
    host.begin(session=None)
    assert host.stop().silent
    step = host.begin("--fresh")
    host.run("runs", "import", "state.json")
    assert step["run"] in host.stop().reason
