"""Claude Code (`claude -p`): Anthropic Messages, one JSON object at the end.

`--safe-mode` switches off everything a person has set up (context files, skills, hooks, plugins,
memory, servers) and still takes a login; `--bare` does the same and takes none. Judges with a key
are called bare; workers never are, for then it has no tools but Read and Edit.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TypedDict

from msgspec.structs import replace

from honestone.adapters.agent_clis import base
from honestone.adapters.agent_clis.base import CliFolders, CliOutcome, Command, KnownCli, Setup
from honestone.core.json_value import Json, late_pattern
from honestone.core.suite.trace import Trace
from honestone.ports import CallFailed, Prompt, Usage
from honestone.system.loose_json import count, record, records, string, table, total
from honestone.system.processes.process import Ended

_ATTACHED: Final = late_pattern(r"""(?:^|\s)@["']?((?:/|~|\.\./)\S*)""")


class Claude(KnownCli):
    name = "claude"

    def has_login(self) -> bool:
        if os.environ.get("CLAUDE_CODE_OAUTH_TOKEN", "").strip():
            return True
        home = base.own_home("CLAUDE_CONFIG_DIR", ".claude")
        if table(base.read_own(home / ".credentials.json").get("claudeAiOauth")).get("accessToken"):
            return True
        # macOS keeps the token in the keychain; the account's name is in the file.
        state = home if os.environ.get("CLAUDE_CONFIG_DIR", "").strip() else home.parent
        return sys.platform == "darwin" and bool(
            base.read_own(state / ".claude.json").get("oauthAccount")
        )

    def judge(self, setup: Setup, folders: CliFolders, prompt: Prompt, key: str) -> Command:
        instructions = folders.put("system.md", prompt.system or base.DEFAULT_SYSTEM)
        argv = _start(setup, "--bare" if setup.auth == "key" else "--safe-mode")
        argv += ["--tools", "", "--max-turns", "1", "--system-prompt-file", str(instructions)]
        return self._command(setup, folders, argv, prompt.text, folders.work, key)

    def worker(
        self, setup: Setup, folders: CliFolders, brief: str, place: Path, key: str
    ) -> Command:
        argv = _start(setup, "--safe-mode")
        argv += _editing(self.given["tools"])
        return self._command(setup, folders, argv, brief, base.folder_of(place), key)

    def shelf(self, folders: CliFolders, folder: Path) -> Path:
        return folders.home / ".claude" / "skills"

    def agent(
        self, setup: Setup, folders: CliFolders, task: str, folder: Path, key: str
    ) -> Command:
        """Settings of the folder it works in are not loaded: they may hold commands that it would
        run by itself.
        """
        argv = [
            setup.program,
            "-p",
            "--output-format",
            "stream-json",
            "--verbose",
            "--strict-mcp-config",
        ]
        argv += ["--setting-sources", "user", "--no-session-persistence"]
        argv += _editing(f"{self.given['tools']},Skill")
        argv += [
            "--add-dir",
            str(self.shelf(folders, folder)),
        ]  # else it may not read what a skill refers to
        if setup.model:
            argv += ["--model", setup.model]
        attached = _ATTACHED.search(task)
        if attached is not None:
            raise CallFailed(
                f"claude would send the file {attached[1]!r} along, which is outside of its folder"
            )
        command = self._command(setup, folders, argv, task, folder, key)
        command = command if setup.auth == "key" else _in_our_home(command, folders)
        # The list of skills reaches the model as an attachment.
        attachments = "CLAUDE_CODE_DISABLE_ATTACHMENTS"
        env = {name: value for name, value in command.env.items() if name != attachments}
        return replace(command, env={**env, **self.given["agent_env"]})

    def _command(
        self, setup: Setup, folders: CliFolders, argv: list[str], stdin: str, cwd: Path, key: str
    ) -> Command:
        env = dict(self.given["env"])
        if setup.base_url:
            env["ANTHROPIC_BASE_URL"] = setup.base_url.rstrip("/")
        if setup.auth == "key":
            env |= {"ANTHROPIC_API_KEY": key, "CLAUDE_CONFIG_DIR": str(folders.home / ".claude")}
            return Command(argv=tuple(argv), cwd=cwd, stdin=stdin, env=env)
        env["HOME"] = str(Path.home())
        passed = ("CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "DBUS_SESSION_BUS_ADDRESS")
        return Command(argv=tuple(argv), cwd=cwd, stdin=stdin, env=env, pass_names=passed)

    def read(self, ended: Ended, setup: Setup) -> CliOutcome:
        """The same whether it printed its events or the last of them only."""
        events = list(base.json_lines(ended.stdout, _Event))
        result = next((event for event in reversed(events) if event.get("type") == "result"), None)
        result = result or base.first_object(ended.stdout, _Event)
        if result is None or result.get("type") != "result":
            return base.failed(base.last_message(ended), otherwise="bad answer")
        outcome = _read_result(result, setup)
        return replace(outcome, trace=_trace(events, result, outcome.usage))


class _Block(TypedDict, total=False):
    """A part of a message: text, a call of a tool, or what it gave."""

    type: Json
    id: Json
    name: Json
    input: Json
    tool_use_id: Json
    content: Json


class _Message(TypedDict, total=False):
    """A message of the conversation."""

    id: Json
    content: Json


class _ToolUsage(TypedDict, total=False):
    """What a tool was asked for that was denied."""

    file_path: Json
    command: Json
    path: Json


class _Denial(TypedDict, total=False):
    """A call of a tool that was denied."""

    tool_name: Json
    tool_input: Json


class _Tokens(TypedDict, total=False):
    """Tokens of a run."""

    input_tokens: Json
    output_tokens: Json
    cache_creation_input_tokens: Json
    cache_read_input_tokens: Json


class _Event(TypedDict, total=False):
    """One line of its stream; the last one is its result."""

    type: Json
    subtype: Json
    message: Json
    result: Json
    is_error: Json
    stop_reason: Json
    api_error_status: Json
    permission_denials: Json
    modelUsage: Json
    usage: Json
    total_cost_usd: Json
    duration_ms: Json


def _read_result(result: _Event, setup: Setup) -> CliOutcome:
    usage = _usage(result, setup)
    denials = tuple(map(_denial, records(result.get("permission_denials"), _Denial)))
    models = [name for name in table(result.get("modelUsage")) if isinstance(name, str)]
    outcome = CliOutcome(
        kind="answer", usage=usage, denials=denials, model=models[0] if len(models) == 1 else None
    )
    message, subtype = string(result.get("result")), string(result.get("subtype"))
    # `subtype` is "success" on a 401 as well, and `result` then holds the error's words: never an
    # answer.
    if result.get("is_error") is not False or subtype != "success":
        if subtype == "error_max_turns":
            return replace(outcome, kind="turn limit", reason="it used all its turns")
        other = base.failed(message or subtype, count(result.get("api_error_status")), usage=usage)
        return replace(other, denials=denials, model=outcome.model)
    if result.get("stop_reason") == "max_tokens":
        return replace(outcome, kind="cut", text=message)
    if result.get("stop_reason") not in ("end_turn", "tool_use", "stop_sequence"):
        return replace(outcome, kind="broken", reason="the stream ended before the reply did")
    if not usage.output_tokens:
        message = "it asked no model; the prompt was taken for a command"
        return replace(outcome, kind="bad answer", reason=message, usage=Usage())
    return base.answered(message, outcome)


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


def _editing(tools: str) -> list[str]:
    return [
        "--tools",
        tools,
        "--permission-mode",
        "acceptEdits",
        "--max-turns",
        str(base.WORKER_TURNS),
    ]


def _in_our_home(command: Command, folders: CliFolders) -> Command:
    """A login used from a home of ours, for in the person's own are their skills and instructions
    too.
    """
    env = {name: value for name, value in command.env.items() if name != "HOME"}
    env["CLAUDE_CONFIG_DIR"] = str(folders.home / ".claude")
    own = base.own_home("CLAUDE_CONFIG_DIR", ".claude") / ".credentials.json"
    links = {folders.home / ".claude" / own.name: own} if own.exists() else {}
    if not links and not os.environ.get("CLAUDE_CODE_OAUTH_TOKEN", "").strip():
        raise CallFailed(
            "claude's login is in the system's keychain, where an isolated run cannot use it; type: claude setup-token, "
            'and export CLAUDE_CODE_OAUTH_TOKEN, or use auth = "key"'
        )
    return replace(command, env=env, links=links, pass_names=("CLAUDE_CODE_OAUTH_TOKEN",))


def _trace(events: Sequence[_Event], result: _Event, usage: Usage) -> Trace:
    """Its tool calls in order, each with its result."""
    blocks = [
        block
        for event in events
        if event.get("type") in ("assistant", "user")
        for block in records(record(event.get("message"), _Message).get("content"), _Block)
    ]
    results = {
        string(one.get("tool_use_id")): one.get("content")
        for one in blocks
        if one.get("type") == "tool_result"
    }
    uses = [block for block in blocks if block.get("type") == "tool_use"]
    asked = {
        string(record(event.get("message"), _Message).get("id"))
        for event in events
        if event.get("type") == "assistant"
    }
    return Trace(
        model_calls=len(asked)
        if asked and "" not in asked
        else None,  # one reply may be several events
        tool_calls=base.tool_calls(uses, results, name="name", given="input", id="id"),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        usd=usage.usd,
        duration_ms=count(result.get("duration_ms")),
    )


def _usage(result: _Event, setup: Setup) -> Usage:
    usage = record(result.get("usage"), _Tokens)
    cost = result.get("total_cost_usd")
    # It reports the list price whoever serves the model, and for a plan that is paid by the month.
    is_price = setup.auth == "key" and setup.base_url is None
    return Usage(
        input_tokens=total(
            usage.get("input_tokens"),
            usage.get("cache_creation_input_tokens"),
            usage.get("cache_read_input_tokens"),
        ),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cache_read_input_tokens")),
        usd=float(cost) if is_price and isinstance(cost, int | float) else None,
    )


def _denial(denial: _Denial) -> str:
    given = record(denial.get("tool_input"), _ToolUsage)
    what = (
        string(given.get("file_path")) or string(given.get("command")) or string(given.get("path"))
    )
    return f"{string(denial.get('tool_name')) or 'a tool'} {what}".strip()
