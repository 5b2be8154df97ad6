"""`agent:NAME`: a host agent or chat as a judge. It is not called: it answers our prompt by
`honestone agent submit`.

To the panel it is a prompted judge like any other, whose every reply is either on record already or
not there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from honestone.adapters.judges.prompted import PromptedJudge
from honestone.core.errors import SettingsError
from honestone.core.json_value import late_pattern
from honestone.ports import CallFailed, Completion, Judge, NothingToClose, Prompt

_NAME: Final = late_pattern(r"[\w.-]{1,64}")


class AgentModel(NothingToClose):
    """Stands for whoever answers the prompt elsewhere."""

    def __init__(self, name: str) -> None:
        if not _NAME.fullmatch(name):
            raise SettingsError(
                f"`agent:{name}` names no host agent",
                hint="letters, digits, `-`, `_` and `.`, for example agent:reviewer",
            )
        self.name = name
        self.identity: Mapping[str, Any] = {"kind": "agent", "name": name}

    async def complete(self, prompt: Prompt) -> Completion:
        raise CallFailed(
            "no reply submitted yet: `honestone agent prompt ARTIFACT --rubric RUBRIC` prints what to answer, "
            f"`honestone agent submit ARTIFACT --rubric RUBRIC --judge {self.name}` takes the reply",
            missing=True,
        )


def agent_judge(id: str, name: str) -> PromptedJudge:
    """Raises SettingsError for a name that is none."""
    return PromptedJudge(id, AgentModel(name), structured=False)


def is_agent(judge: Judge) -> bool:
    return isinstance(judge, PromptedJudge) and isinstance(judge.model, AgentModel)
