"""A host agent as a judge: the prompt it is to answer, and its reply, read and recorded as any
model's is.
"""

from __future__ import annotations

import asyncio
import shlex
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NotRequired, TypedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.judges.prompted import numbered_items
from honestone.app.judging.judging_options import JudgingOptions, make_context
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.contract import digest_json
from honestone.core.judging.spend import Meter
from honestone.core.reading.json_schema import JsonSchema
from honestone.core.reading.reply import complaints
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import Reply, Request, Store
from honestone.prompts.filling import reply_schema
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.adapters.context import AdapterContext
    from honestone.core.judging.ballot import Ballot, Reading
    from honestone.core.judging.rubric import Key

PROMPT = "honestone.judge-prompt/1"
SUBMISSION = "honestone.submission/1"
# Whose prompt it is when no judge is named: the prompt does not depend on it.
_ANYONE = "anybody"


class HostQuestion(Struct, frozen=True, kw_only=True):
    """One artifact before one judge. `draw` numbers its looks: 1 is that of agent:NAME#2."""

    artifact: Path
    rubric: Path
    judge: str | None = None
    input: str | None = None
    reference: str | None = None
    draw: int = 0

    def command(self, verb: str, *more: str) -> str:
        """The line of `honestone judge VERB` about this question."""
        words = [str(self.artifact), "--rubric", str(self.rubric)]
        draw = str(self.draw) if self.draw else None
        for option, value in (
            ("--input", self.input),
            ("--reference", self.reference),
            ("--draw", draw),
            ("--judge", self.judge),
        ):
            words += [option, value] if value is not None else []
        return shlex.join(["honestone", "agent", verb, *words, *more])


class PromptArtifact(TypedDict):
    path: str
    digest: str


class PlainPrompt(TypedDict):
    """`honestone.judge-prompt/1`. `reply_schema` is the JSON Schema of a reply."""

    schema: str
    artifact: PromptArtifact
    judge: str | None
    draw: int
    prompt: str
    token: str | None
    reply_schema: JsonSchema
    problems: list[str]
    submit: str


class MissingAnswer(TypedDict):
    """An item without an answer; `number` is that of the prompt."""

    number: int | None
    requirement: str
    why: str


class PlainSubmission(TypedDict):
    """`honestone.submission/1`: what became of a reply. `prompt` is the command that asks again."""

    schema: str
    judge: str
    recorded: bool
    complete: bool
    answered: int
    missing: list[MissingAnswer]
    problems: list[str]
    repairs: list[str]
    prompt: NotRequired[str]


class HostPrompt(Struct, frozen=True, kw_only=True):
    """What the judge is to answer, as text and as `honestone.judge-prompt/1`; `submit` is the
    command that takes its reply.
    """

    text: str
    submit: str
    document: PlainPrompt


def host_prompt(workspace: Workspace, asked: HostQuestion) -> HostPrompt:
    """The prompt exactly as `eval` would put it. With a judge named, what is wrong with its reply
    on record is said.

    Raises UsageError for a rubric that asks judges nothing, and what reading the files raises.
    """
    seat, question = _asking(workspace, asked)
    request = seat.judge.render(question)
    problems: tuple[str, ...] = ()
    if asked.judge is not None:
        with workspace.open_store() as store:
            wanted = still_asked(store, seat, question)
        if wanted is not None:
            request, problems = wanted.request, wanted.problems
    submit = asked.command("submit", "--reply", "FILE")
    document: PlainPrompt = {
        "schema": PROMPT,
        "artifact": {"path": question.artifact.path, "digest": question.artifact.version.digest},
        "judge": seat.id if asked.judge else None,
        "draw": asked.draw,
        "prompt": request.body,
        "token": request.token,
        "reply_schema": reply_schema(numbered_items(request, question)),
        "problems": list(problems),
        "submit": submit,
    }
    return HostPrompt(text=request.body, submit=submit, document=document)


def submit_reply(workspace: Workspace, asked: HostQuestion, text: str) -> PlainSubmission:
    """Records a reply to that prompt, if it can be read. Returns `honestone.submission/1`."""
    seat, question = _asking(workspace, asked)
    with workspace.open_store() as store:
        taken = take_reply(store, seat, question, text)
        ballot = None if taken.refused else asyncio.run(ballot_on_record(store, seat, question))
    return {**submission(seat, question, taken, ballot), "prompt": asked.command("prompt")}


def _asking(workspace: Workspace, asked: HostQuestion) -> tuple[Seat, Question]:
    judging = JudgingOptions()
    plan = RubricPlan.read(workspace, asked.rubric, judging, (asked.artifact,))
    if not plan.rubric.asks_judges:
        raise UsageError(
            f"the rubric {str(asked.rubric)!r} asks judges nothing: code answers every item",
            hint=f"honestone eval {asked.artifact} --rubric {asked.rubric}",
        )
    question = Question(
        artifact=Artifact(printable(asked.artifact), plan.load(asked.artifact).version),
        criteria=asked_criteria(plan.rubric),
        input=asked.input,
        reference=asked.reference,
    )
    seat = agent_seat(asked.judge or _ANYONE, asked.draw, make_context(judging, workspace))
    return seat, replace(question, draw=asked.draw)


def agent_seat(name: str, draw: int, context: AdapterContext) -> Seat:
    """The seat that `--judge agent:NAME` has on a panel, or its second one with `draw` 1."""
    from honestone.adapters.registry import make_judge

    spec = "agent:" + name.removeprefix("agent:")
    id = spec if draw == 0 else f"{spec}#{draw + 1}"
    return Seat(id=id, judge=make_judge(spec, context, id=id), draw=draw, kind="agent")


class Wanted(Struct, frozen=True, kw_only=True):
    """A request that has no reply on record yet. `problems` are those of the first reply, when this
    is the second.
    """

    request: Request
    problems: tuple[str, ...] = ()


class TakenReply(Struct, frozen=True, kw_only=True):
    """What became of a reply to a request. `refused` says why it was not kept."""

    request: Request
    refused: tuple[str, ...] = ()


def still_asked(store: Store, seat: Seat, question: Question) -> Wanted | None:
    """What a prompted judge would be asked next: the prompt, then once more what its first reply
    lacks. None: nothing.
    """
    first, again = _requests(store, seat, question)
    if again is None:
        return Wanted(request=first) if _reading(store, seat, question, first) is None else None
    if store.reply(reply_key(seat, again)) is not None:
        return None
    reading = _reading(store, seat, question, first)
    return Wanted(request=again, problems=_problems(first, reading) if reading else ())


def take_reply(store: Store, seat: Seat, question: Question, text: str) -> TakenReply:
    """Read a reply and keep it. Its token says which of the two requests it answers."""
    first, again = _requests(store, seat, question)
    request = again if again is not None and not (first.token and first.token in text) else first
    reply = Reply(text=text)
    reading = seat.judge.read(question, request, reply)
    if reading.tampered or not reading.marks:
        return TakenReply(
            request=request, refused=_problems(request, reading) or ("it answers nothing",)
        )
    store.keep_reply(reply_key(seat, request), seat.id, msgspec.to_builtins(reply))
    return TakenReply(request=request)


async def ballot_on_record(store: Store, seat: Seat, question: Question) -> Ballot:
    """What `eval` would make of the replies on record. No judge is called."""
    meter = Meter(calls=0, minutes=1, usd=None, clock=time.monotonic)
    panel = Panel(seats=(seat,), journal=store.journal, meter=meter)
    return (await panel.consult_one(seat, question)).ballot


def _requests(store: Store, seat: Seat, question: Question) -> tuple[Request, Request | None]:
    """The first request, and the second one if the reply on record to the first calls for it."""
    first = seat.judge.render(question)
    reading = _reading(store, seat, question, first)
    if reading is None or reading.is_clean or reading.tampered:
        return first, None
    return first, seat.judge.render(question, _problems(first, reading))


def _reading(store: Store, seat: Seat, question: Question, request: Request) -> Reading | None:
    stored = store.reply(reply_key(seat, request))
    return (
        seat.judge.read(question, request, msgspec.convert(stored, Reply))
        if stored is not None
        else None
    )


def reply_key(seat: Seat, request: Request) -> str:
    """The name of a request in the store, as the panel makes it."""
    return digest_json({"judge": seat.judge.identity, "body": request.body, "draw": seat.draw})


def _problems(request: Request, reading: Reading) -> tuple[str, ...]:
    return complaints(request.numbers, reading)


def submission(
    seat: Seat, question: Question, taken: TakenReply, ballot: Ballot | None
) -> PlainSubmission:
    """What became of a reply, as a document. Items are named by their number in the prompt.

    `ballot` is all that the judge has on record now; None when the reply was refused.
    """
    missing = (
        ballot.abstained
        if ballot is not None
        else {key: "not recorded" for key, _ in question.items()}
    )
    problems = (
        taken.refused
        if ballot is None
        else tuple(p for p in ballot.problems if not p.startswith("asked once more"))
    )
    return {
        "schema": SUBMISSION,
        "judge": seat.id,
        "recorded": ballot is not None,
        "complete": ballot is not None and not missing,
        "answered": len(ballot.marks) if ballot is not None else 0,
        "missing": _missing(missing, question, taken.request),
        "problems": list(problems),
        "repairs": list(ballot.repairs) if ballot is not None else [],
    }


def _missing(why: Mapping[Key, str], question: Question, request: Request) -> list[MissingAnswer]:
    number_of = {key: number for number, key in request.numbers.items()}
    return [
        {"number": number_of.get(key), "requirement": item.requirement, "why": why[key]}
        for key, item in question.items()
        if key in why
    ]
