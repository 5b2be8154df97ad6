"""Agent CLIs that misbehave on purpose: small programs that note how they were called and then do
what a test wants.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PROGRAM = """\
#!{python}
import json, os, pathlib, signal, subprocess, sys, time
here = pathlib.Path.cwd()
note = pathlib.Path({note!r})
home = pathlib.Path(os.environ["HOME"])
codex_home = pathlib.Path(os.environ.get("CODEX_HOME", "/nonexistent"))
stdin = sys.stdin.buffer.read()
note.with_name(f"{{note.name}}.{{os.getpid()}}").write_text(json.dumps({{
    "argv": sys.argv[1:], "env": dict(os.environ), "cwd": str(here), "stdin": stdin.decode("utf-8", "replace"),
    "here": sorted(str(p.relative_to(here)) for p in here.rglob("*")) if {look} else [],
    "home": sorted(str(p.relative_to(home)) for p in home.rglob("*")) if {look} else [],
    "login": (codex_home / "auth.json").read_text() if (codex_home / "auth.json").exists() else None,
}}))
{body}
sys.stdout.flush()
sys.stdout.buffer.write({stdout!r})
sys.stdout.flush()
sys.stderr.buffer.write({stderr!r})
sys.stderr.flush()
os._exit({exit})
"""


@dataclass
class Fake:
    """One fake program. `calls` are the notes of how it was called, oldest first."""

    path: Path
    note: Path

    @property
    def calls(self) -> list[dict[str, Any]]:
        notes = sorted(
            self.note.parent.glob(self.note.name + ".*"), key=lambda p: p.stat().st_mtime_ns
        )
        return [json.loads(path.read_text()) for path in notes]

    @property
    def call(self) -> dict[str, Any]:
        (one,) = self.calls
        return one


def make_fake(
    folder: Path,
    name: str,
    *,
    stdout: str | bytes = b"",
    stderr: str | bytes = b"",
    exit: int = 0,
    body: str = "",
    look: bool = True,
) -> Fake:
    """A program called `name` in `folder`. `body` is Python that it runs before it prints."""
    folder.mkdir(parents=True, exist_ok=True)
    notes = folder / "notes"
    notes.mkdir(exist_ok=True)
    path, note = folder / name, notes / name
    text = PROGRAM.format(
        python=sys.executable,
        note=str(note),
        look=look,
        body=body,
        stdout=stdout.encode() if isinstance(stdout, str) else stdout,
        stderr=stderr.encode() if isinstance(stderr, str) else stderr,
        exit=exit,
    )
    path.write_text(text)
    path.chmod(0o755)
    return Fake(path, note)


# ------------------------------------------------------------------------------------------ what a
# good end looks like


def codex_says(text: str, *items: dict[str, Any], closing: bool = True) -> str:
    events: list[dict[str, Any]] = [
        {"type": "thread.started", "thread_id": "t"},
        {"type": "turn.started"},
    ]
    events += [{"type": "item.completed", "item": item} for item in items]
    events.append({"type": "item.completed", "item": {"type": "agent_message", "text": text}})
    if closing:
        usage = {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}
        events.append({"type": "turn.completed", "usage": usage})
    return "".join(json.dumps(event) + "\n" for event in events)


def codex_fails(message: str, *, after: str = "") -> str:
    before = codex_says(after, closing=False) if after else '{"type":"turn.started"}\n'
    return before + json.dumps({"type": "turn.failed", "error": {"message": message}}) + "\n"


def claude_says(text: str, **changes: Any) -> str:
    result: dict[str, Any] = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "result": text,
        "stop_reason": "end_turn",
        "total_cost_usd": 0.25,
        "usage": {"input_tokens": 6, "cache_read_input_tokens": 4, "output_tokens": 3},
        "modelUsage": {"claude-x": {}},
        "permission_denials": [],
    }
    return json.dumps(result | changes)


def gemini_says(text: str, *, candidates: int = 3, **changes: Any) -> str:
    tokens = {"prompt": 10, "candidates": candidates, "cached": 4, "thoughts": 0}
    result: dict[str, Any] = {
        "session_id": "s",
        "response": text,
        "stats": {
            "models": {"gemini-x": {"tokens": tokens}},
            "tools": {"totalDecisions": {"reject": 0}},
        },
    }
    return json.dumps(result | changes, indent=2)


def gemini_fails(message: str, code: int, type: str = "Error") -> str:
    """What it writes to stderr: a stack trace, an object that is no error, then the error."""
    trace = "Error when talking to the API: ApiError\n    at somewhere (file:///x.js:1:2) {\n  status: 1\n}\n"
    error = {"session_id": "s", "error": {"type": type, "message": message, "code": code}}
    return trace + json.dumps(error, indent=2) + "\n"


SAYS = {"codex": codex_says, "claude": claude_says, "gemini": gemini_says}


def on_path(folder: Path) -> str:
    return f"{folder}{os.pathsep}{os.environ['PATH']}"
