"""codex, claude and gemini with honestone installed in them, by `agent install` and as a plugin:
from what a person says to PASSED.

The model behind them knows nothing but what the host shows it: it opens the skill when it is
listed, starts the loop as the skill says, stops too early once, and resumes only because the stop
hook holds it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from plugin import REPO, generated
from pupil import texts

from honestone.app.agents.hosts import HOSTS

NAMES = ("codex", "claude", "gemini")
HONESTONE = Path(sys.executable).with_name("honestone")
SAID = "Grade this: note.md against rubric.yaml, and improve it until 80."
TRIGGER = "채점 루프"
BODY = "rubric new"
"""Words of the skill's description, and of its body alone."""

RUBRIC = """\
rubric: 1
title: Words
threshold: 100
floor: 0
criteria:
  - {id: words, requirement: Words, items: [has alpha, has beta]}
"""
JUDGE = """\
import json, re, sys
prompt = open(sys.argv[1]).read()
start, reply = next(
    (found.start(), json.JSONDecoder().raw_decode(prompt[found.start():])[0])
    for found in re.finditer(r'\\{\\s*"token"', prompt)
)
questions = dict(re.findall(r"^ *\\[(\\d+)\\] +(.+?) *$", prompt[:start], re.M))
text = re.sub(r"^ *\\[\\d+\\].*$", "", prompt[:start], flags=re.M).split()
for number, answer in reply["answers"].items():
    answer["answer"] = questions[number].split()[-1] in text
open(sys.argv[2], "w").write(json.dumps(reply))
"""
"""A sub-agent: an item is met when the text has its last word."""


def agent(play: ModuleType) -> Callable[[Any], Any]:
    """The model: it has the whole conversation and nothing else."""

    def answer(seen: Any) -> Any:
        text = "\n".join(texts(seen.body))
        if SAID not in text:
            return play.Say("A title.")
        action = last_action(text)
        if action is None and BODY not in text:
            return (
                play.Learn(*listed(text))
                if TRIGGER in text and seen.results < 2
                else play.Say(f"NO SKILL {listed(text)}")
            )
        if action is None and seen.results > 2:
            return play.Say("NO ACTION")
        if action is None:
            session = re.search(r"--session ([\w-]{8,})", text)
            by_hand = (
                f" --session {session[1]}" if session and "run_shell_command" in seen.tools else ""
            )
            return play.Run(
                f"{HONESTONE} step next note.md --rubric rubric.yaml --threshold 80 "
                f"--judge agent:fresh --holdout agent:witness --compact{by_hand}"
            )
        if f"The honestone run {action['run']} is not finished" not in text:
            return play.Say("That should do.")
        if action["action"] == "done":
            return play.Say(f"RESULT {action['result']}")
        if action["action"] == "judge":
            return play.Run(
                f"python3 judge.py '{action['prompt_file']}' '{action['reply_file']}' && {action['then']}"
            )
        return play.Run(f"echo alpha beta > '{action['location']}' && {action['then']}")

    return answer


def listed(text: str) -> tuple[str, str]:
    """The name of the skill, which a plugin puts its own before, and the file that Codex names in
    its list.
    """
    name = "honestone:honestone" if "honestone:honestone" in text else "honestone"
    file = re.search(r"\(file: (?:(r\d+)/)?([^)\n]*honestone/SKILL\.md)\)", text)
    root = re.search(f"`{file[1]}` = `([^`]+)`", text) if file and file[1] else None
    return name, (f"{root[1]}/{file[2]}" if root else file[2]) if file else ""


def last_action(text: str) -> dict[str, Any] | None:
    starts = (
        found.start()
        for found in re.finditer(r'\{"(?:schema": ?"honestone\.step/|action": ?"done")', text)
    )
    last = max(starts, default=None)
    return None if last is None else json.JSONDecoder().raw_decode(text[last:])[0]


@pytest.fixture
def project(person: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "project"
    made.mkdir()
    for name, text in (("note.md", "alpha\n"), ("rubric.yaml", RUBRIC), ("judge.py", JUDGE)):
        (made / name).write_text(text)
    (tmp_path / "tmp").mkdir()
    (person / ".local/bin").mkdir(parents=True)
    (person / ".local/bin/honestone").symlink_to(HONESTONE)
    monkeypatch.setenv("PATH", f"{HONESTONE.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    return made


def ready(
    name: str, url: str, person: Path, project: Path, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """The host's own settings, and the command that says it."""
    if name == "codex":
        (person / ".codex").mkdir()
        (person / ".codex/config.toml").write_text(
            'model_provider = "standin"\ncheck_for_update_on_startup = false\nweb_search = "disabled"\n'
            "[analytics]\nenabled = false\n"
            f'[model_providers.standin]\nname = "standin"\nbase_url = "{url}/v1"\nenv_key = "MY_KEY"\nwire_api = "responses"\n'
            "request_max_retries = 0\nstream_max_retries = 0\nsupports_websockets = false\n"
            f'[projects."{project}"]\ntrust_level = "trusted"\n'
        )
        words = "exec --skip-git-repo-check -s workspace-write --dangerously-bypass-hook-trust --json -m gpt-5.1"
        quiet = ["--disable", "unbounded_connection_retries", "-c", 'approval_policy="never"']
        return ["codex", *words.split(), *quiet, SAID]
    if name == "claude":
        variables = {
            "ANTHROPIC_BASE_URL": url,
            "ANTHROPIC_API_KEY": "dummy",
            "CLAUDE_CODE_MAX_RETRIES": "0",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "IS_SANDBOX": "1",
        }
        words = "--output-format json --permission-mode bypassPermissions --model claude-sonnet-4-5"
    else:
        settings = {
            "security": {
                "auth": {"selectedType": "gemini-api-key"},
                "folderTrust": {"enabled": False},
            },
            "general": {
                "enableAutoUpdate": False,
                "enableAutoUpdateNotification": False,
                "maxAttempts": 1,
            },
            "privacy": {"usageStatisticsEnabled": False},
        }
        (person / ".gemini").mkdir()
        (person / ".gemini/settings.json").write_text(json.dumps(settings))
        variables = {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "dummy",
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }
        words = "-o json --skip-trust --approval-mode yolo -m gemini-2.5-pro"
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    return [name, "-p", SAID, *words.split()]


def call(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        words,
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def install_plugin(name: str, clone: Path) -> None:
    for path, text in generated():
        (clone / path).parent.mkdir(parents=True, exist_ok=True)
        (clone / path).write_text(text)
    commands = {
        "codex": ["codex plugin marketplace add .", "codex plugin add honestone@honestone"],
        "claude": ["claude plugin marketplace add ./", "claude plugin install honestone@honestone"],
        "gemini": ["gemini extensions install ./gemini --consent"],
    }
    for command in commands[name]:
        done = call(*command.split(), cwd=clone)
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("way", ["install", "plugin"])
@pytest.mark.parametrize("name", NAMES)
def test_from_what_is_said_to_passed(
    name: str,
    way: str,
    service: Any,
    play: ModuleType,
    person: Path,
    project: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    url = service.play(f"{name}-{way}", agent(play))
    said = ready(name, url, person, project, monkeypatch)
    if way == "install":
        assert (
            call(
                str(HONESTONE),
                "agent",
                "install",
                "--agent",
                name,
                "--command",
                str(HONESTONE),
                cwd=project,
            ).returncode
            == 0
        )
    else:
        install_plugin(name, tmp_path / "clone")
    done = call(*said, cwd=project)
    asked = ["\n".join(texts(seen.body)) for seen in service.seen[f"{name}-{way}"]]
    asked = [text for text in asked if SAID in text]
    assert "RESULT PASSED" in done.stdout, (done.stdout[-600:], done.stderr[-600:], len(asked))
    assert TRIGGER in asked[0] and BODY not in asked[0] and BODY in asked[-1]
    assert (project / "note.md").read_text() == "alpha beta\n"
    (holds,) = project.glob(".honestone/step/*/holds.json")
    assert json.loads(holds.read_text())["total"] == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_person_calls_the_skill(
    name: str,
    service: Any,
    play: ModuleType,
    person: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the table of hosts says to type opens the skill, or asks the model to, with what is said
    after it.

    Gemini CLI puts what a session-start hook says before a `-p` prompt, and does not see the
    command then: there the words `/honestone` in the skill's description make the model open it. So
    its command is tried without the hooks.
    """
    url = service.play(f"{name}-called", lambda seen: play.Say("I have read it."))
    said = ready(name, url, person, project, monkeypatch)
    call(str(HONESTONE), "agent", "install", "--agent", name, cwd=project)
    if name == "gemini":
        (project / HOSTS[name].hooks).unlink()
    called = f"{HOSTS[name].called} grade note.md until 80"
    assert call(*(called if word == SAID else word for word in said), cwd=project).returncode == 0
    first = next(
        text
        for seen in service.seen[f"{name}-called"]
        if "until 80" in (text := "\n".join(texts(seen.body)))
    )
    assert BODY in first or "Activate the skill `honestone`" in first


@pytest.mark.parametrize("name", NAMES)
def test_the_mcp_server_is_started_and_its_tools_are_called(
    name: str,
    service: Any,
    play: ModuleType,
    person: Path,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each host offers all tools and calls one that reads; what it shows the model holds the run on
    record.
    """
    graded = call(
        str(HONESTONE),
        "eval",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--judge",
        "mock",
        "--json",
        cwd=project,
    )
    run, runs = json.loads(graded.stdout)["run"], play.Use("honestone", "runs", (("limit", 5),))

    def answer(seen: Any) -> Any:
        text = "\n".join(texts(seen.body))
        if SAID not in text or run in text or seen.results > 30:
            return play.Say(f"FOUND {run}" if run in text else "NOTHING")
        if runs.name(seen.tools):
            return runs
        # Claude Code lists the names of its tools and describes those that are searched for; Codex
        # offers them once the server is ready.
        if "ToolSearch" in seen.tools and seen.results % 2 == 0:
            return play.Find("mcp__honestone__runs")
        return play.Run("sleep 1")

    url = service.play(f"{name}-mcp", answer)
    said = ready(name, url, person, project, monkeypatch)
    call(
        str(HONESTONE),
        "agent",
        "install",
        "--agent",
        name,
        "--mcp",
        "--command",
        str(HONESTONE),
        cwd=project,
    )
    done = call(*said, cwd=project)
    assert f"FOUND {run}" in done.stdout, (done.stdout[-600:], done.stderr[-600:])
    asked = service.seen[f"{name}-mcp"]
    offered = {tool for seen in asked for tool in seen.tools}
    # Those that are described when they are searched for are named in the text.
    offered |= {
        tool
        for seen in asked
        for text in texts(seen.body)
        for tool in re.findall(r"mcp_+honestone[_.]+\w+", text)
        if "ToolSearch" in seen.tools
    }
    for tool in ("eval", "improve", "rubric_check", "runs", "show", "step_next", "step_submit"):
        assert play.Use("honestone", tool).name(list(offered)), (tool, offered)


@pytest.mark.parametrize(
    "command",
    [
        "claude plugin validate --strict .",
        "claude plugin validate --strict plugin",
        "gemini extensions validate gemini",
    ],
)
def test_the_manifests_are_valid(command: str, tmp_path: Path) -> None:
    for path, text in generated():
        (tmp_path / "clone" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "clone" / path).write_text(text)
    done = call(*command.split(), cwd=tmp_path / "clone")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.usefixtures("pinned")
def test_the_sessions_of_claude_codex_and_gemini_in_the_docs_are_fresh() -> None:
    """They can be made again, and come out the same: `python tools/sessions.py` writes them. The page
    shows the pinned CLIs.
    """
    words = [sys.executable, str(REPO / "tools/sessions.py"), "--check"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr[-800:]
