"""A command that is run again and again as a judge, model or worker, and in words how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from honestone.core.judging.needs import MachineNeeds
from honestone.ports import CallFailed, WorkDone
from honestone.system.processes.commands import NotStarted, describe_command, needs_of_program
from honestone.system.processes.environment import base_environment, needs_of_variables
from honestone.system.processes.process import Ended, run


class Program(Struct, frozen=True, kw_only=True):
    """A command that is run again and again: its words, split; `cwd` is also where its relative
    paths are looked up.
    """

    argv: Sequence[str]
    cwd: Path
    timeout: float
    pass_env: Sequence[str] = ()

    @property
    def identity(self) -> dict[str, Any]:
        return describe_command(self.argv, self.cwd)

    @property
    def needs(self) -> MachineNeeds:
        return needs_of_program(self.argv[0]) | needs_of_variables(self.pass_env)

    async def reply(self, stdin: str) -> Ended:
        """Run the program as a judge or a model, and return its reply. Raises CallFailed when it
        cannot start, takes too long or floods its output.
        """
        env = base_environment(pass_names=self.pass_env)
        try:
            ended = await run(
                self.argv, cwd=self.cwd, env=env, stdin=stdin.encode(), timeout=self.timeout
            )
        except NotStarted as error:
            raise CallFailed(f"it could not be started: {error.reason}", missing=True) from None
        if ended.timed_out:
            raise CallFailed(f"no reply within {self.timeout:g} s (--judge-timeout)")
        if ended.truncated:
            raise CallFailed("it printed more than can be a reply")
        return ended

    async def edit(self, brief: str, place: Path, brief_file: Path) -> WorkDone:
        """Run the program as an editor in the private copy that holds `place`."""
        cwd = place if place.is_dir() else place.parent
        own = {"HONESTONE_ARTIFACT": str(place), "HONESTONE_BRIEF": str(brief_file)}
        env = base_environment(own, pass_names=self.pass_env)
        try:
            ended = await run(
                self.argv, cwd=cwd, env=env, stdin=brief.encode(), timeout=self.timeout
            )
        except NotStarted as error:
            return WorkDone(ended="crashed", message=f"it could not be started: {error.reason}")
        if ended.timed_out:
            return WorkDone(
                ended="timeout",
                message=f"still working after {self.timeout:g} s (--worker-timeout)",
            )
        if ended.exit == 0:
            return WorkDone(ended="exited", exit=0, message=last_words(ended.stdout))
        return WorkDone(ended="crashed", exit=ended.exit, message=why_failed(ended))


def how_ended(ended: Ended) -> str:
    if ended.exit is None:
        return "was killed"
    return (
        f"was ended by signal {-ended.exit}"
        if ended.exit < 0
        else f"ended with exit code {ended.exit}"
    )


def last_words(stderr: bytes) -> str:
    lines = [line for line in stderr.decode("utf-8", "replace").splitlines() if line.strip()]
    text = lines[-1].strip() if lines else ""
    return text if len(text) <= 200 else text[:197] + "..."


def why_failed(ended: Ended) -> str:
    return f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": ")
