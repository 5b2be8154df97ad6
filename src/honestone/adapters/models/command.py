"""A model that is a command: the prompt on stdin, the reply on stdout (`cmd:COMMAND` as a judge)."""

from __future__ import annotations

from honestone.ports import CallFailed, Completion, NothingToClose, Prompt
from honestone.system.processes.program import Program, why_failed


class CommandModel(NothingToClose):
    """Runs the program once per prompt. Any end but exit code 0 is a failed call, whatever was
    printed.
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self.identity = {"kind": "cmd", **program.identity}
        self.needs = program.needs

    async def complete(self, prompt: Prompt) -> Completion:
        ended = await self._program.reply(prompt.text)
        if ended.exit != 0:
            raise CallFailed(why_failed(ended))
        return Completion(text=ended.stdout.decode("utf-8", "replace"))
