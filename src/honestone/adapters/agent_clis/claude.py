"""Claude Code (`claude -p`): Anthropic Messages, one JSON object at the end.

`--safe-mode` switches off everything a person has set up (context files, skills, hooks, plugins, memory, servers) and
still takes a login; `--bare` does the same and takes none. Judges with a key are called bare; workers never are, for
then it has no tools but Read and Edit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from honestone.adapters.agent_clis.base import (
    DEFAULT_SYSTEM,
    Command,
    Outcome,
    Room,
    Setup,
    answered,
    count,
    failed,
    first_object,
    last_line,
    own_home,
    read_own,
    table,
    total,
    words,
)
from honestone.ports import Prompt, Usage
from honestone.system.process import Ended

WORKER_TURNS: Final = 60
_TOOLS: Final = "Read,Edit,Write,Glob,Grep"

_QUIET: Final = {
    "CLAUDE_CODE_DISABLE_ATTACHMENTS": "1",  # else `@/any/file` in a brief sends that file, from anywhere on the disk
    "CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_REFUSAL_FALLBACK": "1",  # the model that was asked answers, or nobody
    "CLAUDE_CODE_DISABLE_NONSTREAMING_FALLBACK": "1",  # retries are ours
    "CLAUDE_CODE_MAX_RETRIES": "0",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "DISABLE_AUTOUPDATER": "1",
}


class Claude:
    name = "claude"
    program = "claude"
    package = "@anthropic-ai/claude-code"
    install = "npm install -g @anthropic-ai/claude-code"
    sign_in = "claude auth login"
    key_names = ("ANTHROPIC_API_KEY",)
    most_characters = 4_000_000

    def has_login(self) -> bool:
        if os.environ.get("CLAUDE_CODE_OAUTH_TOKEN", "").strip():
            return True
        home = own_home("CLAUDE_CONFIG_DIR", ".claude")
        if table(read_own(home / ".credentials.json").get("claudeAiOauth")).get("accessToken"):
            return True
        # macOS keeps the token in the keychain; the account's name is in the file.
        state = home if os.environ.get("CLAUDE_CONFIG_DIR", "").strip() else home.parent
        return sys.platform == "darwin" and bool(read_own(state / ".claude.json").get("oauthAccount"))

    def judge(self, setup: Setup, room: Room, prompt: Prompt, key: str) -> Command:
        instructions = room.put("system.md", prompt.system or DEFAULT_SYSTEM)
        argv = _start(setup, "--bare" if setup.auth == "key" else "--safe-mode")
        argv += ["--tools", "", "--max-turns", "1", "--system-prompt-file", str(instructions)]
        return _command(setup, room, argv, prompt.text, room.work, key)

    def worker(self, setup: Setup, room: Room, brief: str, place: Path, key: str) -> Command:
        argv = _start(setup, "--safe-mode")
        argv += ["--tools", _TOOLS, "--permission-mode", "acceptEdits", "--max-turns", str(WORKER_TURNS)]
        return _command(setup, room, argv, brief, place if place.is_dir() else place.parent, key)

    def read(self, ended: Ended, setup: Setup) -> Outcome:
        result = first_object(ended.stdout)
        if result is None or result.get("type") != "result":
            said = last_line(ended.stderr) or last_line(ended.stdout) or "it printed nothing"
            return failed(said, otherwise="bad answer")
        usage = _usage(result, setup)
        denials = tuple(_denial(d) for d in result.get("permission_denials") or () if isinstance(d, Mapping))
        models = [name for name in table(result.get("modelUsage")) if isinstance(name, str)]
        outcome = Outcome(
            kind="answer", usage=usage, denials=denials, model=models[0] if len(models) == 1 else None
        )
        said, subtype = words(result.get("result")), words(result.get("subtype"))
        # `subtype` is "success" on a 401 as well, and `result` then holds the error's words: never an answer.
        if result.get("is_error") is not False or subtype != "success":
            if subtype == "error_max_turns":
                return _like(outcome, Outcome(kind="turn limit", said="it used all its turns", usage=usage))
            return _like(outcome, failed(said or subtype, count(result.get("api_error_status")), usage=usage))
        if result.get("stop_reason") == "max_tokens":
            return _like(outcome, Outcome(kind="cut", text=said, usage=usage))
        if result.get("stop_reason") not in ("end_turn", "tool_use", "stop_sequence"):
            return _like(
                outcome, Outcome(kind="broken", said="the stream ended before the reply did", usage=usage)
            )
        if not usage.output_tokens:
            return _like(
                outcome,
                Outcome(kind="bad answer", said="it asked no model; the prompt was taken for a command"),
            )
        return answered(said, outcome)


def _like(outcome: Outcome, other: Outcome) -> Outcome:
    return replace(other, denials=outcome.denials, model=outcome.model)


def _start(setup: Setup, mode: str) -> list[str]:
    argv = [
        setup.program,
        "-p",
        mode,
        "--output-format",
        "json",
        "--strict-mcp-config",
        "--disable-slash-commands",
    ]
    argv += ["--setting-sources", "", "--no-session-persistence"]
    return [*argv, "--model", setup.model] if setup.model else argv


def _command(setup: Setup, room: Room, argv: list[str], stdin: str, cwd: Path, key: str) -> Command:
    env = dict(_QUIET)
    if setup.base_url:
        env["ANTHROPIC_BASE_URL"] = setup.base_url.rstrip("/")
    if setup.auth == "key":
        env |= {"ANTHROPIC_API_KEY": key, "CLAUDE_CONFIG_DIR": str(room.home / ".claude")}
        return Command(argv=tuple(argv), cwd=cwd, stdin=stdin, env=env)
    env["HOME"] = str(Path.home())
    passed = ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "DBUS_SESSION_BUS_ADDRESS")
    return Command(argv=tuple(argv), cwd=cwd, stdin=stdin, env=env, pass_names=passed)


def _usage(result: Mapping[str, Any], setup: Setup) -> Usage:
    usage = table(result.get("usage"))
    cost = result.get("total_cost_usd")
    # It reports the list price whoever serves the model, and for a plan that is paid by the month.
    is_price = setup.auth == "key" and setup.base_url is None and isinstance(cost, int | float)
    return Usage(
        input_tokens=total(
            usage.get("input_tokens"),
            usage.get("cache_creation_input_tokens"),
            usage.get("cache_read_input_tokens"),
        ),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cache_read_input_tokens")),
        usd=float(cost) if is_price and cost is not None else None,
    )


def _denial(denial: Mapping[str, Any]) -> str:
    given = table(denial.get("tool_input"))
    what = words(given.get("file_path")) or words(given.get("command")) or words(given.get("path"))
    return f"{words(denial.get('tool_name')) or 'a tool'} {what}".strip()
