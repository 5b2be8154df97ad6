"""`cmd:COMMAND`: a worker that is a command. It runs inside a private copy and edits the artifact
there.

The brief comes on stdin and as the file `$HONESTONE_BRIEF`; `$HONESTONE_ARTIFACT` is the artifact's
path in the copy.
"""

from __future__ import annotations

from pathlib import Path

from honestone.ports import Brief, EagerWorker, WorkDone
from honestone.system.processes.program import Program


class CommandWorker(EagerWorker):
    """Runs the program (words of it that are files are absolute paths) for every proposal."""

    def __init__(self, id: str, program: Program) -> None:
        self.id = id
        self._program = program
        self.identity = {"kind": "cmd", **program.identity}
        self.needs = program.needs

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        return await self._program.edit(brief.text, place, brief_file)
