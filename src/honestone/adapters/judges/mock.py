"""`mock`: says yes to everything, for a dry run. Its verdicts are marked and mean nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from honestone.core.judging.ballot import Mark, Question, Reading
from honestone.core.judging.rubric import as_written
from honestone.ports import NothingToClose, Reply, Request


class MockJudge(NothingToClose):
    is_paid = False

    def __init__(self, id: str = "mock") -> None:
        self.id = id

    identity: Final = {"kind": "mock"}

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        return Request(body=json.dumps({"mock": question.artifact.version.digest}))

    async def ask(self, request: Request, question: Question) -> Reply:
        return Reply(text="yes to all")

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return Reading(
            marks={
                key: Mark(True if item.anchors is None else as_written(item.anchors.highest))
                for key, item in question.items()
            }
        )
