"""Agent CLIs as workers: they edit the artifact in its private copy, with their own tools and
inside their own fences.

What a worker achieved is read from the bytes by whoever called it. From here comes how it ended:
refused edits are "denied" even where the CLI exits 0 and says that all is done.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Final, Unpack

from honestone.adapters.agent_clis.base import AgentCli, CliOutcome, Setup
from honestone.adapters.agent_clis.driver import carry_out, failure, require_sendable
from honestone.adapters.agent_clis.setup import CliAdapter, CliSettings
from honestone.adapters.machine import require
from honestone.core.errors import SettingsError
from honestone.ports import Brief, CallFailed, EagerWorker, WorkDone
from honestone.system.loose_json import one_line

LAST_WORDS: Final = 2_000
_PLAIN_START: Final = "Task:\n"


class AgentCliWorker(CliAdapter, EagerWorker):
    """Edits at `place`, in the private copy, and nowhere else; each proposal in a fresh room."""

    timeout = 900.0

    def __init__(
        self, name: str, *, id: str | None = None, **settings: Unpack[CliSettings]
    ) -> None:
        """Raises SettingsError when it cannot work here, before anything is spent."""
        self.id = id or name
        try:
            super().__init__(name, **settings)
        except CallFailed as missing:
            raise SettingsError(
                f"the worker `{self.id}` cannot work here: {missing.reason}",
                hint="see: honestone doctor",
            ) from None
        require(f"the worker `{self.id}`", self.needs)

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        place = Path(os.path.realpath(place))
        text = plainly(brief.text)
        before = _snapshot(place)
        try:
            require_sendable(self.cli, text)
            outcome = await carry_out(
                self.cli,
                self.setup,
                lambda folders, key: self.cli.worker(self.setup, folders, text, place, key),
            )
        except CallFailed as failed:
            return WorkDone(ended="crashed", message=failed.reason)
        return work_done(self.cli, self.setup, outcome, is_changed=_snapshot(place) != before)


def plainly(brief: str) -> str:
    """Put a plain line before a brief, so that no CLI takes its first line for a command."""
    return brief if brief.lstrip("\ufeff \t\r\n")[:1].isalnum() else _PLAIN_START + brief


def work_done(cli: AgentCli, setup: Setup, outcome: CliOutcome, *, is_changed: bool) -> WorkDone:
    """A refused edit matters when nothing else came of it: one that found another way is judged by
    its bytes.
    """
    code = outcome.notes.get("exit")
    code = code if isinstance(code, int) else None
    if outcome.kind == "timeout":
        message = f"still working after {setup.timeout:g} s; it was ended (--worker-timeout)"
        return WorkDone(ended="timeout", message=message)
    if outcome.denials and not is_changed:
        message = one_line("was not allowed to: " + "; ".join(outcome.denials), LAST_WORDS)
        return WorkDone(ended="denied", exit=code, message=message, usage=outcome.usage)
    if outcome.kind in ("answer", "empty", "turn limit"):
        words = outcome.text.strip() or outcome.reason
        return WorkDone(ended="exited", exit=code, message=clipped(words), usage=outcome.usage)
    message = failure(cli, setup, outcome).reason
    return WorkDone(ended="crashed", exit=code, message=message, usage=outcome.usage)


def clipped(words: str) -> str:
    """Its last words: the end is where a worker sums up."""
    printable = "".join(c for c in words if c.isprintable() or c == "\n").strip()
    return printable if len(printable) <= LAST_WORDS else "…" + printable[-LAST_WORDS + 1 :]


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
