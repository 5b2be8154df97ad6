"""`honestone agent prompt` and `agent submit`: what a model judge would be asked, and a reply to
it, recorded.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import click

from honestone.app.judging.host_judge import PlainSubmission
from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import FileError, UsageError

LONGEST_REPLY = 10_000_000

Input: TypeAlias = Annotated[str | None, Option("The input that the text answers.")]
Reference: TypeAlias = Annotated[str | None, Option("A reference answer that the judge sees.")]
Draw: TypeAlias = Annotated[
    int,
    Option(
        "Which look of this judge: 1 is that of agent:NAME#2.", min=0, max=99, show_default=True
    ),
]


@click.command("prompt")
@shared.from_parameters
def prompt(
    *,
    artifact: Annotated[Path, Argument()],
    rubric: shared.RubricFile,
    input: Input = None,
    reference: Reference = None,
    draw: Draw = 0,
    judge: Annotated[
        str | None,
        Option(
            "Whose reply is wanted; what is wrong with the one on record is then named.",
            short="-j",
            metavar="NAME",
        ),
    ] = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> None:
    """Print the prompt that a model judge would get about ARTIFACT.

    Let any agent or chat answer it, and hand the reply to `honestone agent submit`. The same
    artifact and rubric always give the same prompt.
    """
    from honestone.app.judging.host_judge import HostQuestion, host_prompt

    found = host_prompt(
        here(),
        HostQuestion(
            artifact=artifact,
            rubric=rubric,
            input=input,
            reference=reference,
            draw=draw,
            judge=judge,
        ),
    )
    if as_json:
        write(dump(found.document) + "\n")
        return
    write(found.text + ("" if found.text.endswith("\n") else "\n"))
    if sys.stderr.isatty():
        print(f"answer it, then: {found.submit}", file=sys.stderr)


@click.command("submit")
@shared.from_parameters
def submit(
    *,
    artifact: Annotated[Path, Argument()],
    rubric: shared.RubricFile,
    input: Input = None,
    reference: Reference = None,
    draw: Draw = 0,
    judge: Annotated[
        str,
        Option("Who answered: the judge is agent:NAME from now on.", short="-j", metavar="NAME"),
    ],
    reply_path: Annotated[
        str, Option("The reply; - is stdin. [-]", name="--reply", metavar="FILE")
    ] = "-",
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Record a reply to `honestone agent prompt` as that of the judge agent:NAME.

    `honestone eval ARTIFACT --rubric RUBRIC --judge agent:NAME` then uses it at no cost. Exits 0
    when every item was answered, 1 when the reply was refused or answers are missing: what is
    printed says which.
    """
    from honestone.app.judging.host_judge import HostQuestion, submit_reply

    document = submit_reply(
        here(),
        HostQuestion(
            artifact=artifact,
            rubric=rubric,
            input=input,
            reference=reference,
            draw=draw,
            judge=judge,
        ),
        read_reply_file(reply_path),
    )
    write(dump(document) + "\n" if as_json else _as_text(document))
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
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise FileError(
            f"cannot read the reply {path!r}: {why}", hint="--reply FILE, or - for stdin"
        ) from None
    if len(data) > LONGEST_REPLY:
        raise FileError(
            f"the reply {path!r} is longer than a reply can be",
            hint="submit the judge's reply alone",
        )
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    if not text.strip():
        raise UsageError(
            "the reply is empty", hint="submit what the judge answered to `honestone agent prompt`"
        )
    return text


def _as_text(document: PlainSubmission) -> str:
    from honestone.system.drawing import count, line

    if document["complete"]:
        return f"{document['judge']}: {count(document['answered'], 'answer')} on record, none missing\n"
    head = "is on record in part" if document["recorded"] else "was refused and is not recorded"
    out = [f"{document['judge']}: the reply {head}"]
    out += [f"  {line(problem)}" for problem in document["problems"]]
    if document["recorded"]:
        out += [
            f"  [{entry['number']}] {line(entry['requirement'])}: {line(entry['why'])}"
            for entry in document["missing"]
        ]
    return "\n".join([*out, f"ask again: {document['prompt']}"]) + "\n"
