"""`honestone judge prompt`: what a model judge would be asked about an artifact, for whoever can answer it."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.errors import UsageError

if TYPE_CHECKING:
    from honestone.core.question import Question
    from honestone.engine.panel import Seat
    from honestone.formats.settings import Settings

F = TypeVar("F", bound=Callable[..., Any])

SCHEMA = "honestone.judge-prompt/1"
ANYBODY = "anybody"
"""Whose prompt it is when no judge is named: the prompt does not depend on it."""


def asking_options(command: F) -> F:
    """What decides a prompt. `judge prompt`, `judge submit` and `eval` agree on it."""
    for option in (
        click.option(
            "--draw",
            type=click.IntRange(0, 99),
            default=0,
            show_default=True,
            help="Which look of this judge: 1 is that of agent:NAME#2.",
        ),
        click.option("--reference", default=None, help="A reference answer that the judge sees."),
        click.option("--input", "input_text", default=None, help="The input that the text answers."),
        click.option("--rubric", "rubric_path", type=shared.PATH, required=True, help="The rubric file."),
        click.argument("artifact", type=shared.PATH),
    ):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """One artifact before one judge, exactly as `eval` would put it."""

    seat: Seat
    question: Question
    settings: Settings
    words: tuple[str, ...]

    @property
    def submit_line(self) -> str:
        return shlex.join(["honestone", "judge", "submit", *self.words, "--reply", "FILE"])

    @property
    def prompt_line(self) -> str:
        return shlex.join(["honestone", "judge", "prompt", *self.words])


def asking(
    artifact: Path, rubric_path: Path, name: str, *, input_text: str | None, reference: str | None, draw: int
) -> Asking:
    from dataclasses import replace

    from honestone.adapters.checks import CheckRunner
    from honestone.adapters.registry import AdapterContext
    from honestone.app.setup import load_rubric, never_judged, settings_here
    from honestone.core.artifact import Artifact
    from honestone.core.question import Question, asked_criteria
    from honestone.system.files import MAX_BYTES, load_artifact, printable

    settings = settings_here()
    rubric = load_rubric(rubric_path)
    if not rubric.asks_judges:
        raise UsageError(
            f"the rubric {str(rubric_path)!r} asks judges nothing: code answers every item",
            hint=f"honestone eval {artifact} --rubric {rubric_path}",
        )
    exclude = never_judged(
        rubric, rubric_path, CheckRunner(rubric_path.parent.resolve(), artifacts=[artifact.resolve()])
    )
    size = settings.limits.get("max_size")
    loaded = load_artifact(artifact, exclude=exclude, max_bytes=int(size * 1_000_000) if size else MAX_BYTES)
    question = Question(
        artifact=Artifact(printable(artifact), loaded.version),
        criteria=asked_criteria(rubric),
        input=input_text,
        reference=reference,
    )
    seat = agent_seat(name, draw, AdapterContext(cwd=Path.cwd(), settings=settings))
    words = [str(artifact), "--rubric", str(rubric_path)]
    for option, value in (("--input", input_text), ("--reference", reference), ("--draw", str(draw) if draw else None)):
        words += [option, value] if value is not None else []
    if name != ANYBODY:
        words += ["--judge", name]
    return Asking(seat=seat, question=replace(question, draw=draw), settings=settings, words=tuple(words))


def agent_seat(name: str, draw: int, context: Any) -> Seat:
    """The seat that `--judge agent:NAME` has on a panel, or its second one with `draw` 1."""
    from honestone.adapters.registry import make_judge
    from honestone.engine.panel import Seat

    spec = "agent:" + name.removeprefix("agent:")
    id = spec if draw == 0 else f"{spec}#{draw + 1}"
    return Seat(id=id, judge=make_judge(spec, context, id=id), draw=draw)


@click.command("prompt")
@asking_options
@click.option(
    "--judge",
    "name",
    metavar="NAME",
    default=None,
    help="Whose reply is wanted; what is wrong with the one on record is then named.",
)
@shared.json_option
def prompt(
    artifact: Path,
    rubric_path: Path,
    input_text: str | None,
    reference: str | None,
    draw: int,
    name: str | None,
    as_json: bool,
) -> None:
    """Print the prompt that a model judge would get about ARTIFACT.

    Let any agent or chat answer it, and hand the reply to `honestone judge submit`. The same artifact and rubric
    always give the same prompt.
    """
    from honestone.adapters.judges.prompted import numbered_items
    from honestone.cli.judge_submit import still_asked
    from honestone.prompts.filling import reply_schema

    one = asking(artifact, rubric_path, name or ANYBODY, input_text=input_text, reference=reference, draw=draw)
    request = one.seat.judge.render(one.question)
    problems: tuple[str, ...] = ()
    if name is not None:
        from honestone.app.setup import open_store_for

        with open_store_for(one.settings) as store:
            wanted = still_asked(store, one.seat, one.question)
        if wanted is not None:
            request, problems = wanted.request, wanted.problems
    if not as_json:
        write(request.body + ("" if request.body.endswith("\n") else "\n"))
        if sys.stderr.isatty():
            print(f"answer it, then: {one.submit_line}", file=sys.stderr)
        return
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "artifact": {"path": one.question.artifact.path, "digest": one.question.artifact.version.digest},
        "judge": one.seat.id if name else None,
        "draw": draw,
        "prompt": request.body,
        "token": request.token,
        "reply_schema": reply_schema(numbered_items(request, one.question)),
        "problems": list(problems),
        "submit": one.submit_line,
    }
    write(dump(document) + "\n")
