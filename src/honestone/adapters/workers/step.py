"""`step`: a host agent as the worker, one action at a time (`honestone step`).

A proposal is not waited for: the loop stops where it needs one, and goes on from there when it is submitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias

from honestone.adapters.workers.persistent_copy import keep_copy
from honestone.core.errors import UsageError
from honestone.ports import Brief, WorkDone

Ending: TypeAlias = Literal["exited", "timeout", "denied", "crashed"]


class Waiting(Exception):
    """The loop cannot go on by itself. `action` says in plain JSON values what somebody has to do."""

    def __init__(self, action: Mapping[str, Any]) -> None:
        super().__init__(str(action.get("action")))
        self.action = dict(action)


class StepWorker:
    """Hands the copy of each round out and takes it back when the command was told that the round is `submitted`."""

    id = "step"

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.round: Callable[[], int] = lambda: 0
        self.submitted: int | None = None
        self.has_taken = False
        self.ended: Ending = "exited"
        self.message = ""

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"kind": "step"}

    def can_work_on(self, fixes: object) -> bool:
        return True

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        if self.folder is None:
            raise UsageError(
                "the worker `step` is a host agent that goes one action at a time",
                hint="start it with: honestone step next ARTIFACT --rubric RUBRIC",
            )
        number = self.round()
        kept = keep_copy(self.folder / f"round-{number}", brief, place)
        if self.submitted == number:
            kept.hand_over(place)
            self.has_taken = True
            return WorkDone(ended=self.ended, exit=0 if self.ended == "exited" else None, message=self.message)
        raise Waiting(
            {
                "action": "propose",
                "round": number,
                "focus": list(brief.focus),
                "brief": kept.brief,
                "location": str(kept.place),
            }
        )

    async def close(self) -> None:
        pass
