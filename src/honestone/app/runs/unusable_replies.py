"""The replies of a run that gave no answer: evidence of what a judge wrote, shown and never
counted.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from honestone.app.runs.records import open_run
from honestone.app.workspace import Workspace
from honestone.core.events import BallotCast, Event, JudgesAnswered, ProbeAnswered
from honestone.core.json_value import parsed_json
from honestone.core.judging.ballot import Ballot
from honestone.ports import Store


class UnusableReply(Struct, frozen=True, kw_only=True):
    """`about`: the artifact, version or case of the question, as far as its event names it. `at`:
    when
        it came (ISO time).
    """

    judge: str
    about: str
    reason: str
    at: str
    text: str


class UnusableReplies(Struct, frozen=True, kw_only=True):
    run: str
    replies: tuple[UnusableReply, ...]


def unusable_replies(workspace: Workspace, run: str) -> UnusableReplies:
    """Those of one run, in the order of its events. Raises StoreError for a run that is not there."""
    with open_run(workspace, run) as record:
        replies = tuple(_replies_of(record.store, record.info.id))
        return UnusableReplies(run=record.info.id, replies=replies)


def _replies_of(store: Store, run: str) -> Iterator[UnusableReply]:
    shown: set[tuple[str, int]] = set()
    for event in store.events(run):
        for ballot in _ballots_of(event):
            for key, place in ballot.unusable:
                answers = store.answers([key]).get(key, [])
                if (key, place) in shown or place >= len(answers):
                    continue
                shown.add((key, place))
                yield UnusableReply(
                    judge=ballot.judge,
                    about=_about(event),
                    reason=ballot.reason or next(iter(ballot.problems), ""),
                    at=answers[place].at,
                    text=_text_of(answers[place].data),
                )


def _ballots_of(event: Event) -> tuple[Ballot, ...]:
    match event:
        case BallotCast() | ProbeAnswered():
            return (event.ballot,)
        case JudgesAnswered():
            return tuple(event.ballots)
        case _:
            return ()


def _about(event: Event) -> str:
    names = (getattr(event, name, None) for name in ("path", "case", "version", "artifact"))
    return next((name for name in names if isinstance(name, str)), "")


def _text_of(data: bytes) -> str:
    try:
        reply = parsed_json(data.decode("utf-8", "replace"))
    except ValueError:
        return data.decode("utf-8", "replace")
    text = reply.get("text") if isinstance(reply, dict) else None
    return text if isinstance(text, str) else ""
