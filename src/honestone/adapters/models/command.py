"""A model that is a command: the prompt on stdin, the reply on stdout (`cmd:COMMAND` as a judge)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from honestone.ports import CallFailed, Completion, NothingToClose, Prompt
from honestone.system.process import describe_command, how_ended, last_words, run_for_reply


class CommandModel(NothingToClose):
    """Runs `argv` in `cwd`, once per prompt. Any end but exit code 0 is a failed call, whatever was printed."""

    def __init__(self, argv: Sequence[str], *, cwd: Path, timeout: float, pass_env: Sequence[str] = ()) -> None:
        self._argv = list(argv)
        self._cwd = cwd
        self._timeout = timeout
        self._pass_env = tuple(pass_env)
        self.identity = {"kind": "cmd", **describe_command(self._argv, cwd)}

    async def complete(self, prompt: Prompt) -> Completion:
        ended = await run_for_reply(
            self._argv, prompt.text, cwd=self._cwd, timeout=self._timeout, pass_env=self._pass_env
        )
        if ended.exit != 0:
            raise CallFailed(f"it {how_ended(ended)}: {last_words(ended.stderr)}".rstrip(": "))
        return Completion(text=ended.stdout.decode("utf-8", "replace"))
