"""`honestone judge submit`: a reply that somebody else made becomes the recorded reply of the judge `agent:NAME`.

It is read as any model's reply is, before it is kept: one that is forged, ambiguous or answers nothing is refused.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.judge_prompt import Asking, asking, asking_options
from honestone.cli.printing import dump, write
from honestone.core.errors import FileError, UsageError

if TYPE_CHECKING:
    from honestone.core.ballot import Ballot, Reading
    from honestone.core.question import Question
    from honestone.core.rubric import Key
    from honestone.engine.panel import Seat
    from honestone.ports import Request, Store

SCHEMA = "honestone.submission/1"
LONGEST_REPLY = 10_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A request that has no reply on record yet. `problems` are those of the first reply, when this is the second."""

    request: Request
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What became of a reply to a request. `refused` says why it was not kept."""

    request: Request
    refused: tuple[str, ...] = ()


def reply_key(seat: Seat, request: Request) -> str:
    """The name of a request in the store, as the panel makes it."""
    from honestone.core.contract import digest_json

    return digest_json({"judge": seat.judge.identity, "body": request.body, "draw": seat.draw})


def still_asked(store: Store, seat: Seat, question: Question) -> Wanted | None:
    """What a prompted judge would be asked next: the prompt, then once more what its first reply lacks. None: nothing."""
    first, again = _requests(store, seat, question)
    if again is None:
        return Wanted(request=first) if _reading(store, seat, question, first) is None else None
    if store.reply(reply_key(seat, again)) is not None:
        return None
    reading = _reading(store, seat, question, first)
    return Wanted(request=again, problems=_problems(first, reading) if reading else ())


def _requests(store: Store, seat: Seat, question: Question) -> tuple[Request, Request | None]:
    """The first request, and the second one if the reply on record to the first calls for it."""
    first = seat.judge.render(question)
    reading = _reading(store, seat, question, first)
    if reading is None or reading.is_clean or reading.tampered:
        return first, None
    return first, seat.judge.render(question, _problems(first, reading))


def _reading(store: Store, seat: Seat, question: Question, request: Request) -> Reading | None:
    import msgspec

    from honestone.ports import Reply

    kept = store.reply(reply_key(seat, request))
    return seat.judge.read(question, request, msgspec.convert(kept, Reply)) if kept is not None else None


def _problems(request: Request, reading: Reading) -> tuple[str, ...]:
    from honestone.core.reading.reply import complaints

    return complaints(request.numbers, reading.errors, reading.problems)


def take_reply(store: Store, seat: Seat, question: Question, text: str) -> Taken:
    """Read a reply and keep it. Its token says which of the two requests it answers."""
    import msgspec

    from honestone.ports import Reply

    first, again = _requests(store, seat, question)
    request = again if again is not None and not (first.token and first.token in text) else first
    reply = Reply(text=text)
    reading = seat.judge.read(question, request, reply)
    if reading.tampered or not reading.marks:
        return Taken(request=request, refused=_problems(request, reading) or ("it answers nothing",))
    store.keep_reply(reply_key(seat, request), seat.id, msgspec.to_builtins(reply))
    return Taken(request=request)


async def ballot_on_record(store: Store, seat: Seat, question: Question) -> Ballot:
    """What `eval` would make of the replies on record. Nobody is called."""
    from honestone.engine.meter import Meter
    from honestone.engine.panel import Panel

    panel = Panel(seats=(seat,), store=store, meter=Meter(calls=0, minutes=1, usd=None, clock=time.monotonic))
    return (await panel.consult_one(seat, question)).ballot


@click.command("submit")
@asking_options
@click.option(
    "--judge", "name", metavar="NAME", required=True, help="Who answered: the judge is agent:NAME from now on."
)
@click.option("--reply", "reply_path", metavar="FILE", default="-", help="The reply; - is stdin. [-]")
@shared.json_option
def submit(
    artifact: Path,
    rubric_path: Path,
    input_text: str | None,
    reference: str | None,
    draw: int,
    name: str,
    reply_path: str,
    as_json: bool,
) -> int:
    """Record a reply to `honestone judge prompt` as that of the judge agent:NAME.

    `honestone eval ARTIFACT --rubric RUBRIC --judge agent:NAME` then uses it at no cost. Exits 0 when every item was
    answered, 1 when the reply was refused or answers are missing: what is printed says which.
    """
    from honestone.app.setup import open_store_for

    one = asking(artifact, rubric_path, name, input_text=input_text, reference=reference, draw=draw)
    text = read_reply_file(reply_path)
    with open_store_for(one.settings) as store:
        taken = take_reply(store, one.seat, one.question, text)
        ballot = None if taken.refused else asyncio.run(ballot_on_record(store, one.seat, one.question))
    document = submission(one, taken, ballot) | {"prompt": one.prompt_line}
    write(dump(document) + "\n" if as_json else _as_text(document, one))
    return 0 if document["complete"] else 1


def read_reply_file(path: str) -> str:
    """The text of a reply. Raises FileError."""
    try:
        if path == "-":
            if sys.stdin.isatty():
                print("paste the reply, then Ctrl-D:", file=sys.stderr)
            data = sys.stdin.buffer.read(LONGEST_REPLY + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LONGEST_REPLY + 1)
    except (OSError, ValueError) as error:
        raise FileError(
            f"cannot read the reply {path!r}: {getattr(error, 'strerror', None) or error}",
            hint="--reply FILE, or - for stdin",
        ) from None
    if len(data) > LONGEST_REPLY:
        raise FileError(f"the reply {path!r} is longer than a reply can be", hint="submit the judge's reply alone")
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        raise UsageError("the reply is empty", hint="submit what the judge answered to `honestone judge prompt`")
    return text


def submission(one: Asking, taken: Taken, ballot: Ballot | None) -> dict[str, Any]:
    """What became of a reply, as a document. Items are named by their number in the prompt.

    `ballot` is all that the judge has on record now; None when the reply was refused.
    """
    missing = ballot.abstained if ballot is not None else {key: "not recorded" for key, _ in one.question.items()}
    problems = (
        taken.refused if ballot is None else tuple(p for p in ballot.problems if not p.startswith("asked once more"))
    )
    return {
        "schema": SCHEMA,
        "judge": one.seat.id,
        "recorded": ballot is not None,
        "complete": ballot is not None and not missing,
        "answered": len(ballot.marks) if ballot is not None else 0,
        "missing": _missing(missing, one.question, taken.request),
        "problems": [_plain(problem) for problem in problems],
        "repairs": list(ballot.repairs) if ballot is not None else [],
    }


def _missing(why: Mapping[Key, str], question: Question, request: Request) -> list[dict[str, Any]]:
    number_of = {key: number for number, key in request.numbers.items()}
    return [
        {"number": number_of.get(key), "requirement": item.requirement, "why": _plain(why[key])}
        for key, item in question.items()
        if key in why
    ]


def _plain(problem: str) -> str:
    from honestone.core.reading.reply import CANARY_MARK

    return problem.removeprefix(CANARY_MARK)


def _as_text(document: Mapping[str, Any], one: Asking) -> str:
    from honestone.report.draw import count, line

    if document["complete"]:
        return f"{document['judge']}: {count(document['answered'], 'answer')} on record, none missing\n"
    head = "is on record in part" if document["recorded"] else "was refused and is not recorded"
    out = [f"{document['judge']}: the reply {head}"]
    out += [f"  {line(problem)}" for problem in document["problems"]]
    if document["recorded"]:
        out += [
            f"  [{entry['number']}] {line(entry['requirement'])}: {line(entry['why'])}" for entry in document["missing"]
        ]
    return "\n".join([*out, f"ask again: {one.prompt_line}"]) + "\n"
