"""`honestone judges read`: how a reply would be read, on one reply or on many, without a call; and
the replies of a run that gave no answer.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Annotated, Any, TypedDict

import click

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.core.errors import FileError, UsageError

# Bytes of one JSON line. A longer one is reported and skipped, so that memory stays bounded.
LONGEST_LINE = 50_000_000


class _Reading(TypedDict):
    """What was read from a reply; `answer` is of the kind that was asked for, null without one."""

    answer: object
    problems: list[str]
    repairs: list[str]


Reader = Callable[[str], _Reading]


@click.command("read")
@shared.from_parameters
def read(
    *,
    run: Annotated[str | None, Argument(metavar="[RUN]")] = None,
    kind: Annotated[
        str | None,
        Option(
            "What the reply on stdin was asked for.",
            choices=("yes-no", "score", "pairwise", "checklist"),
        ),
    ] = None,
    scale: Annotated[
        str | None, Option("The scale of a score (default 1-10).", metavar="LO-HI")
    ] = None,
    items: Annotated[
        str | None, Option("The items of a checklist, one a line.", metavar="FILE")
    ] = None,
    jsonl: Annotated[bool, Option("Read one JSON object a line, and print one a line.")] = False,
    field: Annotated[
        str | None,
        Option("The key that holds the reply in each line (default raw).", metavar="NAME"),
    ] = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> None:
    """Show how a judge's reply on stdin is read, or the unusable replies of RUN.

    Prints {"answer", "problems", "repairs"}. The answer is null when the reply holds no clear
    verdict; the problems say why. A score is a number, a preference "a", "b" or "tie", a checklist
    an object from item to true, false or null.

    \b
      echo 'I would give it 8/10.' | honestone judges read --kind score
      honestone judges read --kind pairwise --jsonl --field raw < replies.jsonl

    With RUN (an id, the beginning of one, or `last`): each reply of that run that gave no answer,
    and why. Such a reply is evidence and is not an answer: the same command asks that judge again.
    """
    if run is not None:
        if kind is not None or scale is not None or items is not None or jsonl or field is not None:
            raise UsageError(
                "a run takes no options of a reply on stdin", hint=f"honestone judges read {run}"
            )
        _show_unusable(run, as_json=as_json)
        return
    if kind is None:
        raise UsageError(
            "`judges read` needs the kind of the reply on stdin, or a run",
            hint="add --kind yes-no, score, pairwise or checklist, or name a run: honestone judges read last",
        )
    if field is not None and not jsonl:
        raise UsageError("`--field` names a key of JSON lines", hint="add --jsonl")
    reader = _reader(kind, scale, items)
    stdin = sys.stdin.buffer
    if not jsonl:
        _print(reader(stdin.read().decode("utf-8", "replace")))
        return
    for number, line in _lines(stdin):
        _print(_read_line(line, number, field or "raw", reader))


def _show_unusable(run: str, *, as_json: bool) -> None:
    from msgspec.structs import asdict

    from honestone.app.runs.unusable_replies import unusable_replies
    from honestone.cli.terminal import dump, here, write
    from honestone.report.terminal.text import unusable_words
    from honestone.system.drawing import clean, line

    found = unusable_replies(here(), run)
    if as_json:
        replies = [asdict(one) for one in found.replies]
        write(dump({"schema": "honestone.unusable/1", "run": found.run, "replies": replies}) + "\n")
        return
    lines = [f"{unusable_words(len(found.replies))} in run {found.run}"]
    for one in found.replies:
        about = f" about {line(one.about)}" if one.about else ""
        lines += ["", f"{line(one.judge)}{about}, {one.at}", f"  {line(one.reason, 400)}"]
        lines += [f"  | {clean(row)}" for row in one.text.splitlines() or [""]]
    write("\n".join(lines) + "\n")


def _print(reading: _Reading) -> None:
    # As UTF-8 whatever the terminal's encoding is: this is data.
    click.echo(json.dumps(reading, ensure_ascii=False).encode("utf-8", "replace"))


def _reader(kind: str, scale: str | None, items: str | None) -> Reader:
    from honestone.core.reading import free_text

    if scale is not None and kind != "score":
        raise UsageError("`--scale` goes with `--kind score`")
    if items is not None and kind != "checklist":
        raise UsageError("`--items` goes with `--kind checklist`")
    if kind == "checklist":
        return _checklist_reader(items)
    if kind == "score":
        lo, hi = parse_scale(scale or "1-10")
        return lambda text: _reading_document(free_text.read_score(text, lo, hi))
    if kind == "yes-no":
        return lambda text: _reading_document(free_text.read_yes_no(text))
    return lambda text: _reading_document(free_text.read_pairwise(text))


def _reading_document(reading: Any) -> _Reading:
    answer = reading.answer
    return {
        "answer": dict(answer) if isinstance(answer, Mapping) else answer,
        "problems": list(reading.problems),
        "repairs": list(reading.repairs),
    }


def parse_scale(written: str) -> tuple[float, float]:
    """`1-10`, `0-1`, `-5-5`, `0..100`."""
    match = re.fullmatch(r"\s*(-?\d+(?:\.\d+)?)\s*(?:-|–|\.\.|:|,)\s*(-?\d+(?:\.\d+)?)\s*", written)
    lo, hi = (float(match[1]), float(match[2])) if match else (0.0, 0.0)
    if lo >= hi:
        raise UsageError(
            f"`--scale` is {written!r}, but must be two numbers, the lower one first",
            hint="for example: --scale 1-10",
        )
    return lo, hi


def _checklist_reader(path: str | None) -> Reader:
    from honestone.core.reading.free_checklist import read_checklist

    if path is None:
        raise UsageError(
            "`--kind checklist` needs the items that were asked",
            hint="give a file with one item a line: --items FILE",
        )
    try:
        text = Path(path).read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise FileError(f"cannot read the items: {reason}", place=path) from error
    items = [line.strip() for line in text.splitlines() if line.strip()]
    if not items:
        raise FileError("it has no items", place=path, hint="write one item a line")
    twice = next((item for at, item in enumerate(items) if item in items[:at]), None)
    if twice is not None:
        raise FileError(f"an item is listed twice: {twice}", place=path)
    return lambda reply: _reading_document(read_checklist(reply, items))


def _lines(stdin: IO[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """Every line with its number, blank ones left out; None for one that is too long to hold."""
    number = 0
    while line := stdin.readline(LONGEST_LINE):
        number += 1
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            while (rest := stdin.readline(LONGEST_LINE)) and not rest.endswith(b"\n"):
                pass
            yield number, None
        elif line.strip():
            yield number, line


def _read_line(line: bytes | None, number: int, field: str, reader: Reader) -> _Reading:
    if line is None:
        return _unread(f"line {number} is longer than {LONGEST_LINE // 1_000_000} MB")
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return _unread(f"line {number} is not JSON")
    if not isinstance(row, dict) or not isinstance(row.get(field), str):
        return _unread(f"line {number} has no text under {field!r}")
    return reader(row[field])


def _unread(problem: str) -> _Reading:
    return {"answer": None, "problems": [problem], "repairs": []}
