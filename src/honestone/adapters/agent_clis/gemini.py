"""Gemini (`gemini -o json`): streamGenerateContent, one JSON object at the end, on stderr when it
fails.

It works in a folder of ours, never in the artifact's: settings, `.env` and tool commands of the
folder it is started in are obeyed. It also expands `@name` anywhere in the prompt, into files,
agents and extra spaces; see `keep_at_signs`.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

from msgspec.structs import replace

from honestone.adapters.agent_clis import base
from honestone.adapters.agent_clis.base import CliFolders, CliOutcome, Command, KnownCli, Setup
from honestone.core.json_value import Json, late_pattern
from honestone.core.suite.trace import Trace
from honestone.ports import Prompt, Usage
from honestone.system.loose_json import count, record, string, table, total
from honestone.system.processes.process import Ended

_DENY_ALL: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
_LOGIN_FILES: Final = ("oauth_creds.json", "google_accounts.json")
_STOPPED: Final = late_pattern(
    r"turns exceeded|loop detected|execution (stopped|blocked)", re.IGNORECASE
)
_DENIED: Final = late_pattern(
    r"not in workspace|denied by policy|permission denied|not allowed", re.IGNORECASE
)

# It exits with the HTTP status modulo 256.
_STATUS_OF_EXIT: Final = {
    status % 256: status for status in (400, 401, 403, 404, 429, 500, 502, 503, 504)
}


class Gemini(KnownCli):
    name = "gemini"

    def has_login(self) -> bool:
        login = base.read_own(base.own_home("GEMINI_CLI_HOME", "") / ".gemini" / "oauth_creds.json")
        return bool(login.get("refresh_token") or login.get("access_token"))

    def judge(self, setup: Setup, folders: CliFolders, prompt: Prompt, key: str) -> Command:
        rules = folders.put("no-tools.toml", _DENY_ALL)
        instructions = folders.put("system.md", prompt.system or base.DEFAULT_SYSTEM)
        argv = [*_start(setup), "--approval-mode", "default", "--admin-policy", str(rules)]
        # Its loop detector takes a repetitive answer for a loop, stops it and exits 0.
        settings = {"model": {"maxSessionTurns": 1, "disableLoopDetection": True}}
        return self._command(
            setup, folders, argv, prompt.text, key, settings, GEMINI_SYSTEM_MD=str(instructions)
        )

    def worker(
        self, setup: Setup, folders: CliFolders, brief: str, place: Path, key: str
    ) -> Command:
        folder = base.folder_of(place)
        argv = [
            *_start(setup),
            "--approval-mode",
            "auto_edit",
            "--include-directories",
            str(folder),
        ]
        settings = {
            "model": {"maxSessionTurns": base.WORKER_TURNS},
            "tools": {"core": self.given["tools"]},
        }
        # It is started elsewhere, so it must know what a relative path means.
        brief = f"Work in the folder {folder}; relative paths start there.\n\n{brief}"
        return self._command(setup, folders, argv, brief, key, settings)

    def shelf(self, folders: CliFolders, folder: Path) -> Path:
        return folders.home / ".gemini" / "skills"

    def agent(
        self, setup: Setup, folders: CliFolders, task: str, folder: Path, key: str
    ) -> Command:
        argv = [*_start(setup, "stream-json"), "--approval-mode", "auto_edit"]
        shelf = self.shelf(folders, folder)
        for place in (folder, *([shelf] if shelf.is_dir() else [])):
            argv += ["--include-directories", str(place)]
        settings = {
            "model": {"maxSessionTurns": base.WORKER_TURNS},
            "tools": {"core": [*self.given["tools"], "activate_skill"]},
            "skills": {"enabled": True, "disabled": _own_skills(setup.program, shelf)},
        }
        task = f"Work in the folder {folder}; relative paths start there.\n\n{task}"
        return self._command(setup, folders, argv, task, key, settings)

    def _command(
        self,
        setup: Setup,
        folders: CliFolders,
        argv: list[str],
        prompt: str,
        key: str,
        settings: dict[str, Any],
        **more: str,
    ) -> Command:
        own = base.own_home("GEMINI_CLI_HOME", "") / ".gemini"
        env = {"GEMINI_CLI_HOME": str(folders.home), **self.given["env"], **more}
        links: dict[Path, Path] = {}
        if setup.auth == "key":
            env["GEMINI_API_KEY"] = key
            if setup.base_url:
                env["GOOGLE_GEMINI_BASE_URL"] = setup.base_url.rstrip("/")
        else:
            # No flag switches off the person's own GEMINI.md, so their login is used in place, from
            # a home without one.
            links = {
                folders.home / ".gemini" / name: own / name
                for name in _LOGIN_FILES
                if (own / name).exists()
            }
            if setup.base_url:
                env["CODE_ASSIST_ENDPOINT"] = setup.base_url.rstrip("/")
        folders.put("home/.gemini/settings.json", json.dumps(self._settings(setup) | settings))
        # An empty .env in the working folder ends the search for one in the folders above it.
        folders.put("work/.env", "")
        folders.put("work/.gemini/.env", "")
        folders.put("work/.geminiignore", "*\n")
        stdin, escaped = keep_at_signs(prompt)
        return Command(
            argv=tuple(argv),
            cwd=folders.work,
            stdin=stdin,
            env=env,
            links=links,
            pass_names=("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION")
            if setup.auth == "login"
            else (),
            notes={"escaped_at_signs": escaped} if escaped else {},
        )

    def _settings(self, setup: Setup) -> dict[str, Any]:
        kind = "gemini-api-key" if setup.auth == "key" else "oauth-personal"
        return {
            "security": {"auth": {"selectedType": kind}, "folderTrust": {"enabled": False}},
            **self.given["settings"],
        }

    def read(self, ended: Ended, setup: Setup) -> CliOutcome:
        """The same whether it printed its events or one object."""
        events = list(base.json_lines(ended.stdout, _Event))
        whole = _as_one_object(events, ended)
        if whole is None:
            return _read_object(base.first_object(ended.stdout, _Whole), ended)
        outcome = _read_object(whole, ended)
        return replace(outcome, trace=_trace(events, outcome.usage))


class _Error(TypedDict, total=False):
    """What went wrong."""

    code: Json
    type: Json
    message: Json


class _Decisions(TypedDict, total=False):
    """How often a tool was allowed or not."""

    reject: Json


class _Tools(TypedDict, total=False):
    """Calls of tools in numbers."""

    totalDecisions: Json


class _Tokens(TypedDict, total=False):
    """Tokens of a model."""

    prompt: Json
    candidates: Json
    thoughts: Json
    cached: Json


class _EventTokens(TypedDict, total=False):
    """Tokens of a model, as the stream names them."""

    input_tokens: Json
    output_tokens: Json
    cached: Json


class _Model(TypedDict, total=False):
    """What a model was used for."""

    tokens: Json


class _Stats(TypedDict, total=False):
    """A run in numbers; `models` by their names."""

    models: Json
    tools: Json
    duration_ms: Json


class _Whole(TypedDict, total=False):
    """All of a run as one object."""

    response: Json
    error: Json
    stats: Json
    warnings: Json


class _Event(TypedDict, total=False):
    """One line of its stream; the last one is of the type `result`."""

    type: Json
    role: Json
    content: Json
    message: Json
    status: Json
    error: Json
    stats: Json
    tool_id: Json
    tool_name: Json
    output: Json
    parameters: Json


def _read_object(result: _Whole | None, ended: Ended) -> CliOutcome:
    if result is None or not ("response" in result or "error" in result):
        result = _error_on(ended.stderr)
    if result is None:
        return base.failed(
            base.last_message(ended), _STATUS_OF_EXIT.get(ended.exit or 0), otherwise="bad answer"
        )
    stats = record(result.get("stats"), _Stats)
    models = {name: record(value, _Model) for name, value in table(stats.get("models")).items()}
    usage = _usage([record(model.get("tokens"), _Tokens) for model in models.values()])
    outcome = CliOutcome(
        kind="answer",
        usage=usage,
        denials=_denials(record(stats.get("tools"), _Tools), base.text_of(ended.stderr)),
        model=next(iter(models)) if len(models) == 1 else None,
    )
    text, error = string(result.get("response")), result.get("error")
    stopped = next(
        (w for w in map(string, _list(result.get("warnings"))) if _STOPPED.search(w)), None
    )
    if error:
        return replace(_failure(record(error, _Error), ended), usage=usage, denials=outcome.denials)
    if stopped:  # exit 0, half a text, and no error
        return replace(outcome, kind="turn limit", reason=stopped)
    if text.strip() and not usage.output_tokens:
        return replace(outcome, kind="bad answer", reason="it asked no model")
    if not text.strip() and not models:
        return replace(
            outcome,
            kind="bad answer",
            reason="it asked no model; the prompt may be too large for it",
        )
    return base.answered(text, outcome)


def _start(setup: Setup, form: str = "json") -> list[str]:
    argv = [setup.program, "-o", form, "-e", "none"]
    return [*argv, "-m", setup.model] if setup.model else argv


def _own_skills(program: str, shelf: Path) -> list[str]:
    """The skills that it brings, but for one whose name ours has: no switch turns all of them off,
    and without ours they must not take its place.
    """
    brought = Path(program).resolve().parent / "builtin"
    return sorted(
        path.parent.name
        for path in brought.glob("*/SKILL.md")
        if not (shelf / path.parent.name).exists()
    )


# ------------------------------------------------------------------------------------------------------
# `@` in a prompt

_AT: Final = late_pattern(r"(?<!\\)@(\"[^\"]*\"|[^\s,;!?()\[\]{}]+)")


def keep_at_signs(prompt: str) -> tuple[str, int]:
    """The prompt so that no `@` in it is expanded, and how many had to be escaped.

    Files cannot be meant: it works in an empty folder whose `.geminiignore` covers everything, and
    it has no agents. What is left is a path that leads to that folder itself (`@./`); those, and
    only those, get the documented `\\@`.
    """
    return _AT.subn(lambda match: "\\" + match[0] if _is_here(match[1]) else match[0], prompt)[
        0
    ], sum(_is_here(match[1]) for match in _AT.finditer(prompt))


def _is_here(path: str) -> bool:
    plain = path.replace('"', "").replace("\\", "")
    # A full stop at the end may belong to the sentence.
    return any(
        p and not p.startswith("/") and posixpath.normpath(p) == "."
        for p in (plain, plain.rstrip("."))
    )


# --------------------------------------------------------------------------------------------------------------
# reading


def _error_on(stderr: bytes) -> _Whole | None:
    """The error object: on stderr, after a stack trace whose lines may begin with a brace too."""
    text = base.text_of(stderr)
    for match in re.finditer(r"^\{", text, re.MULTILINE):
        value = base.first_object(text[match.start() :].encode(), _Whole)
        if value is not None and isinstance(value.get("error"), dict):
            return value
    return None


def _as_one_object(events: Sequence[_Event], ended: Ended) -> _Whole | None:
    """A stream of events as the one object that it prints otherwise; None when the stream has no
    end.
    """
    end = next((event for event in reversed(events) if event.get("type") == "result"), None)
    if end is None:
        return None
    pieces: list[str] = []
    for event in events:
        if event.get("type") == "tool_use":
            pieces = []  # what comes before a tool call is not the answer
        elif event.get("type") == "message" and event.get("role") == "assistant":
            pieces.append(string(event.get("content")))
    stats = record(end.get("stats"), _Stats)
    models = {
        name: {
            "tokens": {
                "prompt": record(model, _EventTokens).get("input_tokens"),
                "candidates": record(model, _EventTokens).get("output_tokens"),
                "cached": record(model, _EventTokens).get("cached"),
            }
        }
        for name, model in table(stats.get("models")).items()
    }
    warnings = [string(event.get("message")) for event in events if event.get("type") == "error"]
    whole: _Whole = {
        "response": "".join(pieces),
        "stats": {"models": models},
        "warnings": warnings,
    }
    if end.get("status") != "success":
        error = table(end.get("error")) or {"message": next(iter(warnings), "it failed")}
        whole["error"] = {**error, "code": ended.exit if ended.exit in (41, 52, 53) else None}
    return whole


def _trace(events: Sequence[_Event], usage: Usage) -> Trace:
    """Its tool calls in order, each with its result."""
    results = {
        string(event.get("tool_id")): event.get("output") or event.get("error")
        for event in events
        if event.get("type") == "tool_result"
    }
    uses = [event for event in events if event.get("type") == "tool_use"]
    end = next((event for event in reversed(events) if event.get("type") == "result"), _Event())
    return Trace(
        tool_calls=base.tool_calls(
            uses, results, name="tool_name", given="parameters", id="tool_id"
        ),
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        duration_ms=count(record(end.get("stats"), _Stats).get("duration_ms")),
    )


def _failure(error: _Error, ended: Ended) -> CliOutcome:
    code = count(error.get("code"))
    message = string(error.get("message"))
    inner = record(record(base.first_object(message.encode(), _Whole), _Whole).get("error"), _Error)
    status = code if code is not None and 400 <= code < 600 else count(inner.get("code"))
    if status is None and "ModelNotFoundError" in base.text_of(ended.stderr):
        status = 404
    if code == 41:
        return CliOutcome(kind="not signed in", reason=message)
    if code == 53 or "max session turns" in message.casefold():
        return CliOutcome(kind="turn limit", reason=message)
    if error.get("type") == "INVALID_STREAM" and "empty" in message.casefold():
        return CliOutcome(kind="empty", reason=message)
    reason = string(inner.get("message")) or message or string(error.get("type"))
    if error.get("type") == "INVALID_STREAM":
        return CliOutcome(kind="broken", reason=reason)
    if code == 52:
        return CliOutcome(kind="wrong setting", reason=reason)
    return base.failed(
        reason, status if status is not None else _STATUS_OF_EXIT.get(ended.exit or 0)
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _usage(tokens: Sequence[_Tokens]) -> Usage:
    def of(*names: str) -> int | None:
        return total(*(one.get(name) for one in tokens for name in names))

    return Usage(
        input_tokens=of("prompt"),
        output_tokens=of("candidates", "thoughts"),
        cached_tokens=of("cached"),
    )


def _denials(tools: _Tools, stderr: str) -> tuple[str, ...]:
    """Refused edits: it continues and exits 0; the counts or stderr tell."""
    lines = tuple(line.strip() for line in stderr.splitlines() if _DENIED.search(line))
    rejected = count(record(tools.get("totalDecisions"), _Decisions).get("reject")) or 0
    return lines or (("a tool was not allowed",) if rejected else ())
