"""`step`: a host agent as the worker, one action at a time (`honestone step`).

The loop does not wait for a proposal: it stops where it needs one, and resumes when the edit is
submitted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.workers.persistent_copy import keep_copy
from honestone.core.errors import UsageError
from honestone.core.judging.choices import Ending
from honestone.ports import Brief, EagerWorker, WorkDone


class Waiting(Exception):
    """The loop cannot continue by itself. `action` says in plain JSON values what somebody must do."""

    def __init__(self, action: str, **details: object) -> None:
        super().__init__(action)
        self.action = action
        self.details = details


class SubmittedEdit(Struct, frozen=True, kw_only=True):
    """The copy of a round is handed in. How the edit ended is reported; what it achieved is read
    from the bytes.
    """

    round: int | None
    ended: Ending = "exited"
    message: str = ""


class StepWorker(EagerWorker):
    """Hands the copy of each round out below `folder`, and takes it back in the round that was
    submitted.
    """

    id = "step"

    def __init__(self) -> None:
        self.folder: Path | None = None
        self.edit: SubmittedEdit | None = None
        self.has_taken = False

    identity: Final = {"kind": "step"}

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        if self.folder is None:
            raise UsageError(
                "the worker `step` is a host agent that works one action at a time",
                hint="start it with: honestone step next ARTIFACT --rubric RUBRIC",
            )
        copy, edit = keep_copy(self.folder / f"round-{brief.round}", brief, place), self.edit
        if edit is not None and edit.round == brief.round:
            copy.hand_over(place)
            self.has_taken = True
            return WorkDone(
                ended=edit.ended, exit=0 if edit.ended == "exited" else None, message=edit.message
            )
        raise Waiting(
            "propose",
            round=brief.round,
            focus=list(brief.focus),
            brief=copy.brief,
            location=str(copy.place),
        )
