"""Agent CLIs as workers: they edit the artifact in its private copy, with their own tools and inside their own fences.

What a worker achieved is read from the bytes by whoever called it. From here comes how it ended: refused edits are
"denied" even where the CLI exits 0 and says that all is done.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from honestone.adapters.agent_clis.base import AgentCli, Auth, Outcome, Setup
from honestone.adapters.agent_clis.custom import Custom
from honestone.adapters.agent_clis.driver import carry_out, failure, one_line, read_key, require_login, require_sendable
from honestone.adapters.agent_clis.setup import cli_of, identity_of, set_up
from honestone.core.errors import SettingsError
from honestone.ports import Brief, CallFailed, WorkDone

LAST_WORDS: Final = 2_000
_PLAIN_START: Final = "Task:\n"


def make_cli_worker(
    name: str,
    *,
    model: str | None = None,
    base_url: str | None = None,
    auth: Auth | None = None,
    api_key_env: str | None = None,
    command: str | None = None,
    timeout: float = 900.0,
    id: str | None = None,
) -> AgentCliWorker:
    """codex, gemini or claude as a worker. Raises SettingsError when it cannot work here, before anything is spent."""
    cli = cli_of(name)
    return _ready_worker(cli, id or name, model, base_url, auth, api_key_env, command, timeout)


def make_custom_cli_worker(
    name: str,
    *,
    command: Sequence[str],
    output: str = "text",
    model: str | None = None,
    base_url: str | None = None,
    auth: Auth | None = None,
    api_key_env: str | None = None,
    timeout: float = 900.0,
    id: str | None = None,
) -> AgentCliWorker:
    """A CLI that settings describe (`custom.py`). Raises as `make_cli_worker` does."""
    cli = Custom(name, command, output)
    return _ready_worker(cli, id or name, model, base_url, auth or "key", api_key_env, None, timeout)


def _ready_worker(
    cli: AgentCli,
    id: str,
    model: str | None,
    base_url: str | None,
    auth: Auth | None,
    api_key_env: str | None,
    command: str | None,
    timeout: float,
) -> AgentCliWorker:
    try:
        setup = set_up(
            cli, model=model, base_url=base_url, auth=auth, api_key_env=api_key_env, command=command, timeout=timeout
        )
        require_login(cli, setup)
        read_key(cli, setup)
    except CallFailed as missing:
        raise SettingsError(
            f"the worker `{id}` cannot work here: {missing.reason}", hint="see: honestone doctor"
        ) from None
    return AgentCliWorker(id, cli, setup)


class AgentCliWorker:
    """Edits at `place`, in the private copy, and nowhere else; each proposal in a fresh room."""

    def __init__(self, id: str, cli: AgentCli, setup: Setup) -> None:
        self._id = id
        self._cli = cli
        self._setup = setup
        self._identity = identity_of(cli, setup)

    @property
    def id(self) -> str:
        return self._id

    @property
    def identity(self) -> Mapping[str, Any]:
        return self._identity

    def can_work_on(self, fixes: Sequence[str]) -> bool:
        return True

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        place = Path(os.path.realpath(place))
        text = plainly(brief.text)
        before = _snapshot(place)
        try:
            require_sendable(self._cli, text)
            outcome = await carry_out(
                self._cli, self._setup, lambda room, key: self._cli.worker(self._setup, room, text, place, key)
            )
        except CallFailed as failed:
            return WorkDone(ended="crashed", message=failed.reason)
        return work_done(self._cli, self._setup, outcome, is_changed=_snapshot(place) != before)

    async def close(self) -> None:
        pass


def plainly(brief: str) -> str:
    """A brief that no CLI takes for one of its commands: it begins with a plain line, whatever comes next."""
    return brief if brief.lstrip("\ufeff \t\r\n")[:1].isalnum() else _PLAIN_START + brief


def work_done(cli: AgentCli, setup: Setup, outcome: Outcome, *, is_changed: bool) -> WorkDone:
    """A refused edit matters when nothing else came of it: one that found another way is judged by its bytes."""
    code = outcome.notes.get("exit")
    code = code if isinstance(code, int) else None
    if outcome.kind == "timeout":
        message = f"still working after {setup.timeout:g} s; it was ended (--worker-timeout)"
        return WorkDone(ended="timeout", message=message)
    if outcome.denials and not is_changed:
        message = one_line("was not allowed to: " + "; ".join(outcome.denials), LAST_WORDS)
        return WorkDone(ended="denied", exit=code, message=message, usage=outcome.usage)
    if outcome.kind in ("answer", "empty", "turn limit"):
        words = outcome.text.strip() or outcome.said
        return WorkDone(ended="exited", exit=code, message=clipped(words), usage=outcome.usage)
    message = failure(cli, setup, outcome).reason
    return WorkDone(ended="crashed", exit=code, message=message, usage=outcome.usage)


def clipped(words: str) -> str:
    """Its last words: the end is where a worker sums up."""
    kept = "".join(c for c in words if c.isprintable() or c == "\n").strip()
    return kept if len(kept) <= LAST_WORDS else "…" + kept[-LAST_WORDS + 1 :]


def _snapshot(place: Path) -> dict[str, str]:
    """What is at `place`, by path: enough to see whether anything changed."""
    paths = [place]
    if place.is_dir() and not place.is_symlink():
        paths = [Path(folder) / name for folder, _, names in os.walk(place) for name in names]
    return {str(path): _print_of(path) for path in paths}


def _print_of(path: Path) -> str:
    try:
        if path.is_symlink():
            return "link " + os.readlink(path)
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return "unreadable"


__all__ = ["AgentCliWorker", "make_cli_worker", "make_custom_cli_worker"]
