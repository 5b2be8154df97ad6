"""`cmd:COMMAND`: a worker that is a command. It runs inside a private copy and edits the artifact there.

The brief comes on stdin and as the file `$HONESTONE_BRIEF`; `$HONESTONE_ARTIFACT` is the artifact's path in the copy.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from honestone.ports import Brief, EagerWorker, WorkDone
from honestone.system.process import describe_command, run_editor


class CommandWorker(EagerWorker):
    """Runs `argv` (already split; words that are files are absolute paths) for every proposal."""

    def __init__(
        self, id: str, argv: Sequence[str], *, base: Path, timeout: float, pass_env: Sequence[str] = ()
    ) -> None:
        self.id = id
        self._argv = list(argv)
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self.identity = {"kind": "cmd", **describe_command(self._argv, base)}

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        return await run_editor(
            self._argv, brief.text, place, brief_file, timeout=self._timeout, pass_env=self._pass_env
        )
