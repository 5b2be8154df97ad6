"""Codex (`codex exec`): OpenAI Responses, events as JSON lines, its own sandbox.

Everything is given as `-c` settings and the person's own config is left unread, so a call is the
same on every machine.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypedDict, cast

from msgspec.structs import replace

from honestone.adapters.agent_clis import base
from honestone.adapters.agent_clis.base import CliFolders, CliOutcome, Command, KnownCli, Setup
from honestone.core.json_value import Json, late_pattern
from honestone.core.suite.trace import ToolCall, Trace
from honestone.ports import CallFailed, Prompt, Usage
from honestone.system.loose_json import Table, count, record, string, table
from honestone.system.processes.process import Ended

CHILD_KEY: Final = "HONESTONE_CHILD_KEY"
_SERVICE: Final = "https://api.openai.com"

_DENIED: Final = late_pattern(
    r"read-only file system|operation not permitted|permission denied|rejected by|not permitted|writing outside of|"
    r"outside of the project|sandbox",
    re.IGNORECASE,
)
_SURELY_DENIED: Final = late_pattern(r"read-only file system", re.IGNORECASE)


class Codex(KnownCli):
    name = "codex"

    def has_login(self) -> bool:
        home = base.own_home("CODEX_HOME", ".codex")
        auth = base.read_own(home / "auth.json")
        return bool(auth.get("tokens") or auth.get("OPENAI_API_KEY")) or _keeps_login_in_keyring(
            home
        )

    def judge(self, setup: Setup, folders: CliFolders, prompt: Prompt, key: str) -> Command:
        instructions = folders.put("system.md", prompt.system or base.DEFAULT_SYSTEM)
        settings = {**self.given["judge"], "model_instructions_file": str(instructions)}
        never = [*self.given["never_for_judges"], *self.given["never"]]
        argv = [*self._start(setup), "-s", "read-only", *_without(never), *_with(settings)]
        if prompt.schema is not None and is_strict(prompt.schema):
            argv += ["--output-schema", str(folders.put("schema.json", json.dumps(prompt.schema)))]
        return self._command(setup, folders, argv, prompt.text, folders.work, key)

    def worker(
        self, setup: Setup, folders: CliFolders, brief: str, place: Path, key: str
    ) -> Command:
        return self._edits(setup, folders, brief, base.folder_of(place), key)

    def shelf(self, folders: CliFolders, folder: Path) -> Path:
        return folders.home / ".codex" / "skills"

    def agent(
        self, setup: Setup, folders: CliFolders, task: str, folder: Path, key: str
    ) -> Command:
        command = self._edits(setup, folders, task, folder, key, skills=True)
        if command.env["CODEX_HOME"] != str(folders.home / ".codex"):
            raise CallFailed(
                "codex's login is in the system's keyring, so it only works in the person's own folder, where their skills "
                'are too; use auth = "key"'
            )
        return command

    def _edits(
        self,
        setup: Setup,
        folders: CliFolders,
        brief: str,
        folder: Path,
        key: str,
        *,
        skills: bool = False,
    ) -> Command:
        given = self.given["edits"]["shell_environment_policy"]
        # The mark lets us find again what the model runs.
        policy = {
            **given,
            "exclude": [CHILD_KEY, *given["exclude"]],
            "set": {"HONESTONE_CALL": str(folders.root)},
        }
        settings = {**self.given["edits"], "shell_environment_policy": policy}
        argv = self._start(setup, skills=skills, hidden=_skills_in(folder) if skills else [])
        argv += [
            "-s",
            "workspace-write",
            *_without(self.given["never"]),
            *_with(settings),
            "-C",
            str(folder),
        ]
        return self._command(setup, folders, argv, brief, folder, key)

    def _start(
        self, setup: Setup, *, skills: bool = False, hidden: Sequence[Path] = ()
    ) -> list[str]:
        argv = [
            setup.program,
            "exec",
            "--json",
            "--color",
            "never",
            "--skip-git-repo-check",
            "--ephemeral",
        ]
        call = self.given["call"]
        off = [{"path": str(path), "enabled": False} for path in hidden]
        shelves = {"include_instructions": skills, **call["skills"], "config": off}
        argv += ["--ignore-user-config", "--ignore-rules", *_with({**call, "skills": shelves})]
        return [*argv, "-m", setup.model] if setup.model else argv

    def _command(
        self, setup: Setup, folders: CliFolders, argv: list[str], stdin: str, cwd: Path, key: str
    ) -> Command:
        """`-` reads the prompt from stdin; nothing of it is ever on the command line."""
        env = {"CODEX_HOME": str(folders.home / ".codex")}
        links: dict[Path, Path] = {}
        (folders.home / ".codex").mkdir(parents=True, exist_ok=True)
        provider = {
            "name": "OpenAI" if setup.auth == "login" else "honestone",
            **self.given["provider"],
        }
        if setup.auth == "key":
            provider |= {
                "base_url": f"{(setup.base_url or _SERVICE).rstrip('/')}/v1",
                "env_key": CHILD_KEY,
            }
            env[CHILD_KEY] = key
        else:
            provider |= {"requires_openai_auth": True}
            if setup.base_url:
                provider["base_url"] = f"{setup.base_url.rstrip('/')}/v1"
            own = base.own_home("CODEX_HOME", ".codex")
            if (own / "auth.json").exists():
                # The login file itself, through a link; beside it nothing of the person's:
                # AGENTS.md of a real CODEX_HOME is read whatever the settings say.
                links = {
                    folders.home / ".codex" / name: own / name
                    for name in ("auth.json", "auth.json.lock")
                }
            else:
                _refuse_own_instructions(own)
                env |= {"CODEX_HOME": str(own), "HOME": str(Path.home())}
                argv += _with({"cli_auth_credentials_store": "auto"})
        argv += _with({"model_provider": "honestone", "model_providers": {"honestone": provider}})
        passed = ("DBUS_SESSION_BUS_ADDRESS",) if setup.auth == "login" else ()
        return Command(
            argv=(*argv, "-"), cwd=cwd, stdin=stdin, env=env, links=links, pass_names=passed
        )

    def read(self, ended: Ended, setup: Setup) -> CliOutcome:
        events = list(base.json_lines(ended.stdout, _Event))
        items = [
            record(event.get("item"), _Item)
            for event in events
            if event.get("type") == "item.completed"
        ]
        calls = tuple(call for call in map(_tool_call, items) if call is not None)
        outcome = _read_events(events, ended)
        usage = outcome.usage
        trace = Trace(
            tool_calls=calls, input_tokens=usage.input_tokens, output_tokens=usage.output_tokens
        )
        return replace(
            outcome,
            trace=trace,
            denials=tuple(denial for item in items for denial in _denied(item)),
        )


class _Error(TypedDict, total=False):
    """What went wrong, in words."""

    message: Json


class _Tokens(TypedDict, total=False):
    """Tokens of a turn."""

    input_tokens: Json
    output_tokens: Json
    cached_input_tokens: Json


class _Item(TypedDict, total=False):
    """Something that the agent did or said."""

    type: Json
    text: Json
    status: Json
    exit_code: Json
    aggregated_output: Json
    command: Json
    error: Json
    arguments: Json
    tool: Json
    result: Json
    changes: Json
    query: Json


class _Event(TypedDict, total=False):
    """One line of its stream."""

    type: Json
    item: Json
    usage: Json
    error: Json
    message: Json


def _read_events(events: Sequence[_Event], ended: Ended) -> CliOutcome:
    text, is_complete, usage, trouble, saw_events = "", False, Usage(), "", False
    for event in events:
        kind, item = event.get("type"), record(event.get("item"), _Item)
        saw_events = saw_events or isinstance(kind, str)
        if kind == "item.completed" and item.get("type") == "agent_message":
            text, is_complete = string(item.get("text")), False
        elif kind == "turn.completed":
            is_complete, usage = True, _usage(record(event.get("usage"), _Tokens))
        elif kind in ("turn.failed", "error"):
            is_complete = False
            trouble = (
                string(record(event.get("error"), _Error).get("message"))
                or string(event.get("message"))
                or trouble
            )
    if is_complete:
        return base.answered(text, CliOutcome(kind="answer", usage=usage))
    if trouble:
        result = _failure(trouble, usage)
        # What came before a length stop is half a reply, marked as such; before any other failure
        # it is nothing.
        return replace(result, text=text if result.kind == "cut" else "")
    if saw_events:
        return CliOutcome(kind="broken", reason="no closing event")
    return base.failed(base.last_message(ended), otherwise="bad answer")


def _failure(trouble: str, usage: Usage) -> CliOutcome:
    """A request that is rejected comes back as the service's own JSON, without its number."""
    body = base.first_object(trouble.encode(), _Event)
    if body is None:
        return base.failed(trouble, usage=usage)
    error = body.get("error")
    message = (
        string(record(error, _Error).get("message"))
        or string(error)
        or string(body.get("message"))
        or trouble
    )
    return base.failed(message, usage=usage, otherwise="rejected")


def _skills_in(folder: Path) -> list[Path]:
    """Skills that are in the folder it works in: part of the task's material, not of what the agent
    is given.
    """
    shelves = (folder / ".agents" / "skills", folder / ".codex" / "skills")
    return sorted(
        Path(at, "SKILL.md")
        for shelf in shelves
        for at, _, names in os.walk(shelf)
        if "SKILL.md" in names
    )


def _without(features: Sequence[str]) -> list[str]:
    return [word for feature in features for word in ("--disable", feature)]


def _with(settings: Table) -> list[str]:
    return [word for name, value in settings.items() for word in ("-c", f"{name}={toml(value)}")]


def toml(value: Any) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml_text(str(k))} = {toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, int) else _toml_text(value)


def _toml_text(text: str) -> str:
    # JSON's text is TOML's, but for DEL and for escapes of characters above U+FFFF, which JSON
    # splits in two.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def is_strict(schema: Any) -> bool:
    """Whether the service takes this schema: it wants every object closed and every property
    required.
    """
    if isinstance(schema, list):
        return all(map(is_strict, schema))
    if not isinstance(schema, Mapping):
        return True
    properties = schema.get("properties")
    if "object" in (schema.get("type"), *_list(schema.get("type"))) or properties is not None:
        if schema.get("additionalProperties") is not False or not isinstance(properties, Mapping):
            return False
        if set(_list(schema.get("required"))) != set(properties):
            return False
    return all(map(is_strict, schema.values()))


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else []


# What an item of that type was given, and what came of it.
_CALLS: Final = {
    "command_execution": ("command", "aggregated_output"),
    "file_change": ("changes", "status"),
    "web_search": ("query", ""),
}


def _tool_call(item: _Item) -> ToolCall | None:
    """Under the name that its events give it; a tool of a server under its own."""
    kind = string(item.get("type"))
    if kind == "mcp_tool_call":
        given = table(item.get("arguments"))
        return ToolCall(
            name=string(item.get("tool")) or kind, arguments=given, result=item.get("result")
        )
    if kind not in _CALLS:
        return None
    asked, result = _CALLS[kind]
    return ToolCall(
        name=kind,
        arguments={asked: cast(Json, item.get(asked))},
        result=cast(Json, item.get(result)),
    )


def _usage(usage: _Tokens) -> Usage:
    return Usage(
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(usage.get("cached_input_tokens")),
    )


def _denied(item: _Item) -> list[str]:
    """Refused edits: it continues, says that all is done and exits 0. Of a command that was refused
    at once it says nothing.
    """
    if item.get("type") not in ("command_execution", "file_change", "mcp_tool_call"):
        return []
    is_bad = item.get("status") in ("failed", "declined") or item.get("exit_code") not in (0, None)
    printed = string(item.get("aggregated_output")) or string(
        record(item.get("error"), _Error).get("message")
    )
    what = string(item.get("command")) or string(item.get("type"))
    is_denied = _SURELY_DENIED.search(printed) or (is_bad and _DENIED.search(printed))
    return (
        [f"{what}: {printed}".strip(": ")] if is_denied or item.get("status") == "declined" else []
    )


def _keeps_login_in_keyring(home: Path) -> bool:
    try:
        config = (home / "config.toml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return (
        re.search(
            r"^\s*cli_auth_credentials_store\s*=\s*[\"'](keyring|auto)[\"']", config, re.MULTILINE
        )
        is not None
    )


def _refuse_own_instructions(own: Path) -> None:
    for name in ("AGENTS.override.md", "AGENTS.md"):
        path = own / name
        if path.is_file() and path.stat().st_size:
            raise CallFailed(
                f"codex reads {name} of its own folder whatever the settings say, and its login is in the system's keyring, "
                f'so it cannot be called without it; move {name} away, or use auth = "key"'
            )
