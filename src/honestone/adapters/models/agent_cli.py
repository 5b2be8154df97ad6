"""Agent CLIs as models: one prompt in, one final message out, with no tools and nothing of the
machine in sight.
"""

from __future__ import annotations

from honestone.adapters.agent_clis.driver import carry_out, failure, require_sendable
from honestone.adapters.agent_clis.setup import CliAdapter
from honestone.ports import Completion, Prompt


class AgentCliModel(CliAdapter):
    """A fresh room for each prompt. Nothing is retried here. `concurrency`: prompts at a time;
    None: as many as the panel asks.
    """

    concurrency: int | None = None

    async def complete(self, prompt: Prompt) -> Completion:
        require_sendable(self.cli, prompt.text)
        outcome = await carry_out(
            self.cli,
            self.setup,
            lambda folders, key: self.cli.judge(self.setup, folders, prompt, key),
        )
        is_cut = outcome.kind == "cut" and bool(outcome.text.strip())
        if outcome.kind != "answer" and not is_cut:
            raise failure(self.cli, self.setup, outcome)
        return Completion(
            text=outcome.text,
            cut=is_cut,
            usage=outcome.usage,
            model=outcome.model or self.setup.model,
            detail=dict(outcome.notes),
        )
