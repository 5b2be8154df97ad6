"""Checks of judges, models and workers: each says which promise of `honestone.ports` is broken."""

from __future__ import annotations

import asyncio
import json
import tempfile
from fractions import Fraction
from pathlib import Path
from typing import Final

from honestone import ports
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import Question, Reading, answer_problem, asked_criteria
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from honestone.testing import expectations
from honestone.testing.expectations import (
    check_failure,
    check_identity,
    check_usage,
    require,
    within,
)


def sample_question(
    text: str = "# Setting up\n\n1. Install it.\n2. Start it.\n", *, draw: int = 0
) -> Question:
    """A question with every kind of item, for tests of judges."""
    anchors = Anchors(
        levels=((Fraction(0), "hostile"), (Fraction(5), "cool"), (Fraction(10), "kind"))
    )
    rubric = Rubric(
        title="A guide",
        criteria=(
            Criterion(
                id="steps",
                requirement="A stranger can follow it",
                items=(
                    Item(id="numbered", requirement="Has numbered steps"),
                    Item(id="undo", requirement="Says how to undo each step", may_not_apply=True),
                ),
            ),
            Criterion(
                id="tone",
                requirement="Friendly tone",
                items=(Item(id="tone", requirement="Friendly tone", anchors=anchors, whole=True),),
            ),
            Criterion(
                id="short",
                requirement="Fits on one page",
                items=(Item(id="short", requirement="Fits on one page", whole=True),),
            ),
        ),
    )
    artifact = Artifact("guide.md", Version.of_text(text, "guide.md"))
    return Question(artifact=artifact, criteria=asked_criteria(rubric), draw=draw)


def check_judge(judge: ports.Judge, question: Question | None = None) -> None:
    """Whether a judge keeps the promises of `ports.Judge`. It is asked once; a CallFailed is a fair
    answer.

    `question` is one that it can answer, if the sample is not.
    """
    asyncio.run(_judge_checks(judge, question or sample_question()))


async def _judge_checks(judge: ports.Judge, question: Question) -> None:
    require(isinstance(judge.id, str) and judge.id != "", "`id` must be a text that is not empty")
    check_identity(judge)
    require(isinstance(judge.is_paid, bool), "`is_paid` must be True or False")
    request = judge.render(question)
    require(isinstance(request, ports.Request), "`render` must return a Request")
    require(
        judge.render(question) == request,
        "`render` must be pure: the same question gave two different requests",
    )
    _check_numbers(request, question)
    if judge.is_paid:
        _check_keys(judge, question, request)
    reply = await _ask(judge, request, question)
    if reply is not None:
        _check_reply_as_json(reply)
        _check_reading(judge, question, request, reply)
    for text in _GARBAGE:
        garbage = ports.Reply(text=text, exit=0 if reply is None else reply.exit)
        reading = _check_reading(judge, question, request, garbage)
        if judge.is_paid:
            require(
                not reading.marks,
                f"`read` made marks of the reply {text[:40]!r}, which answers nothing",
            )
    await judge.close()
    await judge.close()


_NOT_REPLIES: Final = ("{", "[]", "null", "true", "NaN", '{"criteria": 3}', "no JSON here")
_GARBAGE: Final = ("", "   \n", *_NOT_REPLIES, "[" * 5_000, "\0", "é" * 70_000)


def _check_keys(judge: ports.Judge, question: Question, request: ports.Request) -> None:
    """Replies are found again by what was sent: requests that differ in anything that matters must
    differ.
    """
    other = sample_question("Another text altogether.\n")
    same_items = Question(artifact=other.artifact, criteria=question.criteria)
    require(
        judge.render(same_items).body != request.body,
        "two artifacts must not give the same request",
    )
    again = judge.render(question, ("no answer to the first item",))
    require(
        again.body != request.body,
        "a request with `problems` must say so, or its reply is taken from the record",
    )


def _check_numbers(request: ports.Request, question: Question) -> None:
    asked = [key for key, _ in question.items()]
    if request.numbers:
        keys = list(request.numbers.values())
        require(sorted(keys) == sorted(asked), "`numbers` must give every item exactly one number")
        require(
            not {*request.controls} & {*request.numbers},
            "the number of a control item must not be an item's",
        )


async def _ask(
    judge: ports.Judge, request: ports.Request, question: Question
) -> ports.Reply | None:
    try:
        reply = await within(judge.ask(request, question))
    except ports.CallFailed as failed:
        check_failure(failed)
        return None
    require(
        isinstance(reply, ports.Reply),
        f"`ask` must return a Reply or raise CallFailed, not return {type(reply).__name__}",
    )
    return reply


def _check_reply_as_json(reply: ports.Reply) -> None:
    import msgspec

    plain = msgspec.to_builtins(reply)
    read_back = msgspec.convert(json.loads(json.dumps(plain, allow_nan=False)), ports.Reply)
    require(
        msgspec.to_builtins(read_back) == plain,
        "a reply must be the same after it was kept as JSON",
    )
    check_usage(reply.usage)


def _check_reading(
    judge: ports.Judge, question: Question, request: ports.Request, reply: ports.Reply
) -> Reading:
    try:
        reading = judge.read(question, request, reply)
    except Exception as error:
        raise AssertionError(f"`read` raised {error!r} on the reply {reply.text[:40]!r}") from error
    require(isinstance(reading, Reading), "`read` must return a Reading")
    again = judge.read(question, request, reply)
    require(again == reading, "`read` must be pure: the same reply gave two different readings")
    items = dict(question.items())
    for key, mark in reading.marks.items():
        require(key in items, f"`read` returned a mark for {key}, which was not asked")
        problem = answer_problem(items[key], mark.answer)
        require(problem is None, f"`read` returned an answer to {key} that is none: {problem}")
    require(not reading.tampered or not reading.marks, "a tampered reading must hold no marks")
    for key in items:
        answers_given = (key in reading.marks) + (key in reading.errors)
        require(
            answers_given == 1,
            f"`read` must give {key} either a mark or an error, not {'both' if answers_given else 'neither'}",
        )
    return reading


def check_model(model: ports.Model, prompt: str = "Reply with the word yes.") -> None:
    """Whether a model keeps the promises of `ports.Model`. It is asked three times."""
    check_identity(model)
    wanted = ports.Prompt(text=prompt, max_output_tokens=200)

    async def use() -> None:
        await _complete(model, wanted)
        await asyncio.gather(_complete(model, wanted), _complete(model, wanted))
        task = asyncio.ensure_future(model.complete(wanted))
        await asyncio.sleep(0)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=expectations.PATIENCE)
        require(bool(done), "a cancelled `complete` must end")
        if not task.cancelled():
            require(
                task.exception() is None or isinstance(task.exception(), ports.CallFailed),
                f"a cancelled `complete` raised {task.exception()!r}",
            )
        await model.close()
        await model.close()

    asyncio.run(use())


async def _complete(model: ports.Model, prompt: ports.Prompt) -> None:
    try:
        completion = await within(model.complete(prompt))
    except ports.CallFailed as failed:
        check_failure(failed)
        return
    require(
        isinstance(completion, ports.Completion),
        "`complete` must return a Completion or raise CallFailed",
    )
    require(isinstance(completion.text, str), "a completion's text must be a text, never None")
    require(isinstance(completion.cut, bool), "`cut` must be True or False")
    check_usage(completion.usage)
    json.dumps(dict(completion.detail), allow_nan=False)


def check_worker(worker: ports.Worker) -> None:
    """Whether a worker keeps the promises of `ports.Worker`. It gets one file and one brief, in a
    private copy.
    """
    asyncio.run(_worker_checks(worker))


async def _worker_checks(worker: ports.Worker) -> None:
    require(isinstance(worker.id, str) and worker.id != "", "`id` must be a text that is not empty")
    check_identity(worker)
    for fixes in ((), ("true",)):
        require(
            isinstance(worker.can_work_on(fixes), bool), "`can_work_on` must return True or False"
        )
    with tempfile.TemporaryDirectory(prefix="honestone-check-") as folder:
        root = Path(folder).resolve()
        place = root / "copy" / "guide.md"
        place.parent.mkdir()
        place.write_text("# Setting up\n\nInstall it. Start it.\n")
        brief_file = root / "brief.md"
        brief = ports.Brief(
            text=f"Location: {place}\nCriterion: steps\n\nNot met yet:\n- Has numbered steps\n",
            focus=("steps",),
            unmet=(("steps", "numbered"),),
        )
        brief_file.write_text(brief.text)
        done = await within(worker.propose(brief, place, brief_file))
        require(
            isinstance(done, ports.WorkDone),
            "`propose` must return a WorkDone; it reports failures, it does not raise them",
        )
        require(
            done.ended in ("exited", "timeout", "denied", "not-applied", "crashed"),
            f"`ended` is {done.ended!r}",
        )
        check_usage(done.usage)
        strays = [
            str(path.relative_to(root))
            for path in root.rglob("*")
            if path not in (place, place.parent, brief_file)
        ]
        require(
            not strays,
            f"it left {strays} next to the artifact: every proposal would be out of scope",
        )
        require(brief_file.read_text() == brief.text, "it changed the brief")
    await worker.close()
    await worker.close()
