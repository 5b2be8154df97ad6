"""`fix`: the rubric's own fix commands as the worker. One after another, only for what is unmet in
the focus.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from honestone.ports import Brief, NothingToClose, WorkDone
from honestone.system.processes.commands import (
    anchor_program,
    describe_command,
    require_program,
    split_command,
)
from honestone.system.processes.program import Program


class FixWorker(NothingToClose):
    """Relative program paths are looked up in the rubric's folder; `artifact` is never one of them."""

    id = "fix"

    def __init__(
        self,
        fixes: Sequence[str],
        *,
        base: Path,
        artifact: Path,
        timeout: float,
        pass_env: Sequence[str] = (),
    ) -> None:
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self._commands = {
            fix: anchor_program(split_command(fix), base, artifact=artifact) for fix in fixes
        }
        for fix, argv in self._commands.items():
            # A relative program may be part of a folder artifact: then it is there in every copy.
            if not (artifact.is_dir() and (artifact / argv[0]).is_file()):
                require_program(argv, base, what=f"the fix command `{fix}`")
        self.identity = {
            "kind": "fix",
            "fixes": [describe_command(argv, base) for argv in self._commands.values()],
        }

    def can_work_on(self, fixes: Sequence[str]) -> bool:
        return bool(fixes)

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        deadline = monotonic() + self._timeout
        done = WorkDone(ended="exited", exit=0, message="no fix command for what is unmet here")
        failed: WorkDone | None = None
        for fix in brief.fixes:
            left = max(deadline - monotonic(), 0.01)
            program = Program(
                argv=self._commands[fix], cwd=place, timeout=left, pass_env=self._pass_env
            )
            done = await program.edit(brief.text, place, brief_file)
            if done.ended == "timeout":
                return done
            if done.ended == "crashed":
                failed = WorkDone(
                    ended="crashed", exit=done.exit, message=f"`{fix}`: {done.message}"
                )
        return failed or done
