"""A conversation with a target: it is asked at each of its replies, with all that was said before,
its own replies too.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from itertools import chain
from typing import TypeVar

from msgspec.structs import replace

from honestone.core.suite.case import Message, as_prompt
from honestone.core.suite.trace import Trace
from honestone.ports import Output, Task, Usage

_SUMMED = ("input_tokens", "output_tokens", "usd", "duration_ms", "model_calls")


async def converse(ask: Callable[[Task], Awaitable[Output]], task: Task) -> Output:
    """The whole conversation as one output, with each reply in its trace. It ends at a reply that
    failed.
    """
    messages: list[Message] = []
    outputs: list[Output] = []
    for message in task.messages:
        if not message.is_reply:
            messages.append(message)
            continue
        outputs.append(await ask(replace(task, messages=tuple(messages))))
        messages.append(Message("assistant", outputs[-1].text))
        if outputs[-1].error is not None:
            break
    error = outputs[-1].error
    return Output(
        text=as_prompt(messages),
        error=None if error is None else f"reply {len(outputs)} of the conversation: {error}",
        duration_ms=sum(one.duration_ms for one in outputs),
        usage=Usage(
            **{
                name: _sum([getattr(o.usage, name) for o in outputs])
                for name in Usage.__struct_fields__
            }
        ),
        trace=_trace([one.trace or Trace() for one in outputs], [one.text for one in outputs]),
    )


def _trace(traces: Sequence[Trace], replies: list[str]) -> Trace:
    calls = [trace.tool_calls for trace in traces]
    reported = [one for one in calls if one is not None]
    is_whole = len(reported) == len(calls)
    loaded = [trace.skill_loaded for trace in traces]
    skill_loaded = None if None in loaded else False
    if True in loaded:
        skill_loaded = True
    return Trace(
        tool_calls=tuple(chain.from_iterable(reported)) if is_whole else None,
        skill_loaded=skill_loaded,
        extra={**traces[-1].extra, "replies": replies},
        **{name: _sum([getattr(trace, name) for trace in traces]) for name in _SUMMED},
    )


_Number = TypeVar("_Number", int, float)


def _sum(values: Sequence[_Number | None]) -> _Number | None:
    """None where any is unknown."""
    reported = [value for value in values if value is not None]
    return sum(reported) if len(reported) == len(values) else None
