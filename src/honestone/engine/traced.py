"""Calls of judges, workers and targets as telemetry hears of them: each call by itself, so that
retries show.
"""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING

from honestone.ports import CallFailed
from honestone.system.telemetry import is_traced, span_of

if TYPE_CHECKING:
    from pathlib import Path

    from honestone.core.judging.ballot import Ballot, Question
    from honestone.core.judging.scorer import Scorer
    from honestone.ports import (
        Brief,
        Judge,
        Output,
        Reply,
        Request,
        Span,
        Target,
        Task,
        WorkDone,
        Worker,
    )


def ask_judge(name: str, judge: Judge, request: Request, question: Question) -> Awaitable[Reply]:
    """What the judge replied. Raises CallFailed."""
    return (
        _traced_reply(name, judge, request, question)
        if is_traced()
        else judge.ask(request, question)
    )


async def _traced_reply(name: str, judge: Judge, request: Request, question: Question) -> Reply:
    from honestone.core.record.telemetry import CallAnswer, TracedCall

    call = TracedCall(role="judge", name=name, identity=judge.identity, text=lambda: request.body)
    with span_of(call) as span:
        try:
            reply = await judge.ask(request, question)
        except CallFailed as failed:
            span.failed(failed.kind, failed.reason)
            raise
        model = reply.detail.get("model")
        answer = CallAnswer(
            usage=reply.usage, model=None if model is None else str(model), text=lambda: reply.text
        )
        span.answered(answer)
        return reply


def run_target(target: Target, task: Task) -> Awaitable[Output]:
    """What the target made of the task; of a conversation, all that was said in it."""
    if any(message.is_reply for message in task.messages):
        from honestone.engine.conversation import converse

        return converse(lambda part: _asked_once(target, part), task)
    return _asked_once(target, task)


def _asked_once(target: Target, task: Task) -> Awaitable[Output]:
    return _run(target, task) if is_traced() else target.run(task)


async def _run(target: Target, task: Task) -> Output:
    from honestone.core.record.telemetry import CallAnswer, TracedCall

    name = str(target.identity.get("kind") or target.identity.get("provider") or "target")
    with span_of(
        TracedCall(role="target", name=name, identity=target.identity, text=lambda: task.prompt)
    ) as span:
        output = await target.run(task)
        span.answered(CallAnswer(usage=output.usage, text=lambda: output.text))
        if output.error is not None:
            span.failed("target_error", output.error)
        return output


def propose(worker: Worker, brief: Brief, place: Path, brief_file: Path) -> Awaitable[WorkDone]:
    """How the worker ended."""
    return (
        _proposed(worker, brief, place, brief_file)
        if is_traced()
        else worker.propose(brief, place, brief_file)
    )


async def _proposed(worker: Worker, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
    from honestone.core.record.telemetry import CallAnswer, TracedCall

    call = TracedCall(
        role="worker", name=worker.id, identity=worker.identity, text=lambda: brief.text
    )
    with span_of(call) as span:
        done = await worker.propose(brief, place, brief_file)
        span.answered(CallAnswer(usage=done.usage, text=lambda: done.message))
        if done.ended != "exited":
            span.failed(done.ended, done.message)
        return done


def tell_scores(span: Span, scorer: Scorer | None, ballots: Sequence[Ballot]) -> None:
    """Tell what the ballots come to."""
    if scorer is not None and ballots:
        from honestone.core.record.telemetry import traced_scores

        span.scored(traced_scores(scorer, ballots))
