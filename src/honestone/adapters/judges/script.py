"""`script:COMMAND`: a judge that is a program. JSON on stdin, JSON (or an exit code) out."""

from __future__ import annotations

import json
from collections.abc import Sequence

from msgspec.structs import replace

from honestone.core.judging.ballot import Mark, Question, Reading
from honestone.core.judging.request import judge_request
from honestone.core.reading.answers import read_program
from honestone.ports import CallFailed, Reply, Request
from honestone.system.processes.program import Program, how_ended, last_words


class JsonJudge:
    """What a program or a function is asked, and how its reply is read."""

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        request = judge_request(question, problems)
        # The same bytes cost no second call, wherever they are and however their path was written.
        artifact, workspace = replace(question.artifact, path=""), question.workspace
        workspace = {**workspace, "path": None} if workspace else workspace
        nameless = judge_request(
            replace(question, artifact=artifact, workspace=workspace), problems
        )
        return Request(
            body=json.dumps(request, ensure_ascii=False),
            keyed=json.dumps(nameless, ensure_ascii=False),
        )

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        if not reply.text.strip() and reply.exit is not None:
            asked = list(question.items())
            if len(asked) == 1 and asked[0][1].anchors is None:
                return Reading(marks={asked[0][0]: Mark(reply.exit == 0)})
        return read_program(reply.text, question)


class ScriptJudge(JsonJudge):
    """Runs `argv` in `cwd`. Only where the rubric asks one yes/no question does an empty stdout let
    the exit code speak: 0 is yes, another is no, both without stderr. Words there make it a failed
    judge; with another code than 0 whatever stdout holds.
    """

    is_paid = True

    def __init__(self, id: str, program: Program) -> None:
        self.id = id
        self._program = program
        self.identity = {"kind": "script", **program.identity}
        self.needs = program.needs

    async def ask(self, request: Request, question: Question) -> Reply:
        ended = await self._program.reply(request.body)
        if ended.exit != 0 and ended.stderr.strip():
            raise CallFailed(f"it {how_ended(ended)}: {last_words(ended.stderr)}")
        if ended.exit == 0 and ended.stderr.strip() and not ended.stdout.strip():
            raise CallFailed(f"it gave no answer, but said: {last_words(ended.stderr)}")
        if ended.exit is None or ended.exit < 0:
            raise CallFailed(f"it {how_ended(ended)}")
        return Reply(text=ended.stdout.decode("utf-8", "replace"), exit=ended.exit)

    async def close(self) -> None:
        """Each call is a process of its own, so nothing is open between them."""
