"""A judge that was named but is not there: it is SKIPPED, and the panel says why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from honestone.core.ballot import Question, Reading
from honestone.ports import CallFailed, NothingToClose, Reply, Request


class UnavailableJudge(NothingToClose):
    is_paid = False

    def __init__(self, id: str, reason: str) -> None:
        self.id = id
        self._reason = reason

    @property
    def identity(self) -> Mapping[str, Any]:
        return {"kind": "absent", "name": self.id}

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        return Request(body="")

    async def ask(self, request: Request, question: Question) -> Reply:
        raise CallFailed(self._reason, missing=True)

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        raise AssertionError("an absent judge has no reply")
