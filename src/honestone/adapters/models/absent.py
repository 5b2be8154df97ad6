"""A model that was named and is not on this machine: it is what it would be elsewhere, and every
call says that it is missing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from honestone.core.judging.needs import MachineNeeds
from honestone.ports import CallFailed, Completion, NothingToClose, Prompt


class AbsentModel(NothingToClose):
    """`identity` and `needs` are those of the model, so a judge is the same one wherever its
    program is installed.
    """

    def __init__(self, *, identity: Mapping[str, Any], needs: MachineNeeds, reason: str) -> None:
        self.identity = identity
        self.needs = needs
        self.reason = reason

    async def complete(self, prompt: Prompt) -> Completion:
        raise CallFailed(self.reason, missing=True)
