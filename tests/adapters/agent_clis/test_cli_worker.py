"""Agent CLIs as workers: where they may write, and how they ended."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.workers.agent_cli import AgentCliWorker
from honestone.core.errors import SettingsError
from honestone.ports import Brief, WorkDone, Worker

from .fakes import SAYS, Fake, claude_says, codex_fails, codex_says, gemini_says, make_fake

NAMES = ("codex", "claude", "gemini")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """The artifact in its private copy."""
    folder = tmp_path / "copy"
    folder.mkdir()
    (folder / "a.md").write_text("TODO\n")
    return folder / "a.md"


def worker(fake: Fake, name: str, **settings: Any) -> AgentCliWorker:
    settings = {"api_key_env": "MY_KEY", "auth": "key", "timeout": 20.0} | settings
    return AgentCliWorker(name, command=str(fake.path), **settings)


def propose(
    subject: Worker, place: Path, text: str = "Improve the tone.\nLocation: a.md"
) -> WorkDone:
    return asyncio.run(
        subject.propose(Brief(text=text, focus=("tone",)), place, place.parent / "brief.md")
    )


def edits(place: Path) -> str:
    return f"pathlib.Path({str(place)!r}).write_text('done')"


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_edits_its_copy(name: str, tmp_path: Path, place: Path, key: str) -> None:
    """It gets the brief on stdin, changes the file, and its last words and tokens are kept."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("I did it."), body=edits(place))
    subject = worker(fake, name)
    done = propose(subject, place)
    assert (done.ended, done.message, done.usage.output_tokens) == ("exited", "I did it.", 3)
    assert place.read_text() == "done"
    assert "Improve the tone." in fake.call["stdin"] and "Improve" not in json.dumps(
        fake.call["argv"]
    )
    assert (
        subject.id == name
        and subject.can_work_on(())
        and key not in json.dumps(dict(subject.identity))
    )


@pytest.mark.parametrize("is_folder", [True, False])
def test_each_may_write_in_the_copy_and_has_no_network_tools(
    is_folder: bool, tmp_path: Path, place: Path, key: str
) -> None:
    """Sandbox and permission flags of each; gemini works from a folder of ours, for it obeys
    settings where it starts.
    """
    artifact = place.parent if is_folder else place
    calls = {}
    for name in NAMES:
        fake = make_fake(tmp_path / name, name, stdout=SAYS[name]("x"))
        propose(worker(fake, name), artifact)
        calls[name] = fake.call
    codex, claude, gemini = (calls[n]["argv"] for n in NAMES)
    folder = str(place.parent)
    assert (
        codex[codex.index("-C") + 1] == folder and codex[codex.index("-s") + 1] == "workspace-write"
    )
    sandbox = next(word for word in codex if word.startswith("sandbox_workspace_write="))
    assert '"network_access" = false' in sandbox and '"exclude_slash_tmp" = true' in sandbox
    assert "project_doc_max_bytes=0" in codex and 'web_search="disabled"' in codex
    environment = next(word for word in codex if word.startswith("shell_environment_policy="))
    assert "HONESTONE_CHILD_KEY" in environment and '"inherit" = "core"' in environment
    assert calls["claude"]["cwd"] == folder and "--safe-mode" in claude
    assert claude[claude.index("--tools") + 1] == "Read,Edit,Write,Glob,Grep"
    assert claude[claude.index("--permission-mode") + 1] == "acceptEdits"
    assert calls["claude"]["env"]["CLAUDE_CODE_DISABLE_ATTACHMENTS"] == "1"
    assert (
        calls["gemini"]["cwd"] != folder
        and gemini[gemini.index("--include-directories") + 1] == folder
    )
    assert gemini[gemini.index("--approval-mode") + 1] == "auto_edit"
    assert calls["gemini"]["stdin"].startswith(f"Work in the folder {folder};")


def test_gemini_is_given_a_short_list_of_tools(tmp_path: Path, place: Path, key: str) -> None:
    """No shell, no web."""
    body = "tools = json.loads((home / '.gemini/settings.json').read_text())['tools']['core']\nassert not {'run_shell_command', 'web_fetch', 'google_web_search'} & set(tools) and 'replace' in tools"
    fake = make_fake(tmp_path / "bin", "gemini", stdout=gemini_says("x"), body=body)
    assert propose(worker(fake, "gemini"), place).ended == "exited"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", ["/help", "@a.md", "- item", "!ls"])
def test_a_brief_is_never_a_command(
    name: str, text: str, tmp_path: Path, place: Path, key: str
) -> None:
    """It is given a plain first line."""
    fake = make_fake(tmp_path / "bin", name, stdout=SAYS[name]("x"))
    propose(worker(fake, name), place, text)
    assert fake.call["stdin"][0].isalpha() and fake.call["stdin"].endswith(text)


DENIALS = [
    ("codex", codex_says("Done!", {"type": "file_change", "status": "declined"}), ""),
    (
        "claude",
        claude_says(
            "Done!", permission_denials=[{"tool_name": "Edit", "tool_input": {"file_path": "/x"}}]
        ),
        "",
    ),
    ("gemini", gemini_says("Done!"), "Error executing tool replace: Path not in workspace: /x"),
]


@pytest.mark.parametrize(("name", "stdout", "stderr"), DENIALS)
def test_refused_edits_are_denied_though_it_exits_0(
    name: str, stdout: str, stderr: str, tmp_path: Path, place: Path, key: str
) -> None:
    """It says "Done!" with exit code 0; nothing changed and the output tells why."""
    fake = make_fake(tmp_path / "bin", name, stdout=stdout, stderr=stderr)
    done = propose(worker(fake, name), place)
    assert (done.ended, done.exit) == ("denied", 0) and "not allowed" in done.message


@pytest.mark.parametrize(("name", "stdout", "stderr"), DENIALS)
def test_a_refusal_on_the_way_does_not_spoil_an_edit(
    name: str, stdout: str, stderr: str, tmp_path: Path, place: Path, key: str
) -> None:
    """One that was refused something and then did its work is judged by its bytes."""
    fake = make_fake(tmp_path / "bin", name, stdout=stdout, stderr=stderr, body=edits(place))
    assert propose(worker(fake, name), place).ended == "exited"


@pytest.mark.parametrize("name", NAMES)
def test_a_worker_has_a_time_limit(name: str, tmp_path: Path, place: Path, key: str) -> None:
    """Whatever it says when it is told to stop, and whatever it had changed."""
    says = f"signal.signal(signal.SIGTERM, lambda *_: (sys.stdout.write({SAYS[name]('done')!r}), sys.stdout.flush(), os._exit(0)))"
    fake = make_fake(tmp_path / "bin", name, body=f"{edits(place)}\n{says}\ntime.sleep(60)")
    done = propose(worker(fake, name, timeout=1.0), place)
    assert done.ended == "timeout" and "1 s" in done.message


@pytest.mark.parametrize(
    ("name", "stdout", "word"),
    [
        ("codex", codex_fails("unexpected status 401 Unauthorized: no"), "MY_KEY"),
        ("codex", codex_fails("stream disconnected before completion: x"), "broke off"),
        ("claude", claude_says("no", is_error=True, api_error_status=401), "MY_KEY"),
        ("gemini", "", "no answer"),
    ],
)
def test_a_failed_call_is_a_crash_with_its_reason(
    name: str, stdout: str, word: str, tmp_path: Path, place: Path, key: str
) -> None:
    """Nothing is raised; the reason names what to do."""
    fake = make_fake(tmp_path / "bin", name, stdout=stdout)
    done = propose(worker(fake, name), place)
    assert done.ended == "crashed" and word in done.message and key not in done.message


def test_a_worker_at_its_turn_limit_ended_by_itself(tmp_path: Path, place: Path, key: str) -> None:
    """What it had done until then counts."""
    fake = make_fake(
        tmp_path / "bin", "claude", stdout=claude_says("", is_error=True, subtype="error_max_turns")
    )
    assert propose(worker(fake, "claude"), place).ended == "exited"


def test_a_worker_that_cannot_work_is_refused_before_anything_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not installed, no key, not logged in: each with what to do."""
    fake = make_fake(tmp_path / "bin", "codex")
    with pytest.raises(SettingsError, match="UNSET_KEY is not set"):
        worker(fake, "codex", api_key_env="UNSET_KEY")
    with pytest.raises(SettingsError, match="codex login"):
        worker(fake, "codex", auth="login", api_key_env=None)
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(SettingsError, match="npm install"):
        AgentCliWorker("codex")


def test_a_worker_that_disappears_is_a_crash(tmp_path: Path, place: Path, key: str) -> None:
    """Its program was removed during the run."""
    fake = make_fake(tmp_path / "bin", "codex")
    subject = worker(fake, "codex")
    fake.path.unlink()
    assert propose(subject, place).ended == "crashed"


def test_last_words_are_clipped_at_their_beginning(tmp_path: Path, place: Path, key: str) -> None:
    """The end is where a worker sums up; escape sequences are left out."""
    said = "x" * 5000 + "\x1b[31m\nIn short: finished."
    fake = make_fake(tmp_path / "bin", "codex", stdout=codex_says(said))
    message = propose(worker(fake, "codex"), place).message
    assert (
        message.endswith("\nIn short: finished.") and len(message) == 2000 and "\x1b" not in message
    )
