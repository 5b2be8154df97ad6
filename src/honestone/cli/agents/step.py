"""`honestone step`: a host agent as the worker of the loop, one action at a time."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, TypeAlias

import click
from msgspec.structs import asdict

from honestone.app.agents.owned_run import SESSION_VARIABLES
from honestone.app.improving.loop import ImprovementRequest, LoopOptions
from honestone.app.improving.step import (
    StepResult,
    StepsForm,
    Submission,
    resume_steps,
    start_steps,
    steps_status,
)
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.helping import Grouped
from honestone.cli.judges.judge_prompt import read_reply_file
from honestone.cli.main import LazyGroup
from honestone.cli.terminal import Progress, dump, dump_line, here, write
from honestone.core.errors import Interrupted, UsageError
from honestone.core.judging.choices import Ending
from honestone.system.drawing import count

Session: TypeAlias = Annotated[
    str | None,
    Option(
        f"The agent's session that owns the run. [{', '.join(SESSION_VARIABLES)}]",
        metavar="ID",
        variables=SESSION_VARIABLES,
    ),
]
IsCompact: TypeAlias = Annotated[
    bool,
    Option(
        "One line an action, prompts in files, a short end. The calls that follow do so too.",
        name="--compact",
    ),
]
# JSON is printed in any case.
JsonAnyway: TypeAlias = Annotated[bool, Option(name="--json", hidden=True)]


@click.group(
    "step",
    cls=LazyGroup,
    table="agent step",
    short_help="A host agent as the worker, one action at a time.",
)
def step() -> None:
    """A host agent as the worker, one action at a time.

    \b
      honestone step next note.md --rubric rubric.yaml     {"action": "propose", "brief", "location", ...}
      ... edit what is at the location, in place ...
      honestone step submit                                the next action, or {"action": "done", ...}
    """


@click.command("next", cls=Grouped)
@shared.from_parameters
def next_(
    *,
    artifact: Annotated[Path | None, Argument()] = None,
    rubric: Annotated[Path | None, Option("The rubric file.", short="-r")] = None,
    json_anyway: JsonAnyway = False,
    loop: LoopOptions,
    judging: JudgingOptions,
    store: shared.StoreName = None,
    session: Session = None,
    compact: IsCompact = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Run the loop until it needs somebody, and print what to do as JSON. Asking again prints the
    same.

    \b
    propose  edit what is at `location` as the `brief` says, then: honestone step submit
    judge    answer the `prompt`, then: honestone step submit --reply FILE
    done     the result, as `improve` prints it

    Without ARTIFACT it resumes the latest run of this session, never another's. Exits 0 while there
    is something to do, then as `improve`.
    """
    form = StepsForm(session=session or None, quiet=quiet, compact=compact)
    if artifact is None:
        return _resume(None, Submission(), form)
    if rubric is None:
        raise UsageError(
            "a run of steps needs a rubric", hint=f"honestone step next {artifact} --rubric RUBRIC"
        )
    request = ImprovementRequest(**asdict(loop), artifact=artifact, rubric=rubric, judging=judging)
    with Progress(quiet=quiet) as progress:
        return _print(start_steps(here(), request, progress, form), progress)


@click.command("submit")
@shared.from_parameters
def submit(
    *,
    run: Annotated[str | None, Argument()] = None,
    reply_path: Annotated[
        str | None,
        Option(
            "A judge's reply, where one was asked for; - is stdin.", name="--reply", metavar="FILE"
        ),
    ] = None,
    ended: Annotated[
        Ending,
        Option("How the edit ended; what it achieved is read from the bytes.", show_default=True),
    ] = "exited",
    number: Annotated[
        int | None,
        Option(
            "The round that is handed in: repeated by mistake, it is not taken for the next one's.",
            name="--round",
            min=1,
        ),
    ] = None,
    message: Annotated[str, Option("A word on it for the record.", metavar="TEXT")] = "",
    json_anyway: JsonAnyway = False,
    session: Session = None,
    compact: IsCompact = False,
    store: shared.StoreName = None,
    quiet: shared.IsQuiet = False,
) -> int:
    """Hand in the edited copy, or a judge's reply with --reply, and continue to the next action.

    The bytes at the location decide what the edit is worth. With RUN and --round, as each action's
    `then` has them, submitting twice does no harm.
    """
    reply = None if reply_path is None else read_reply_file(reply_path)
    handed = Submission(
        reply=reply, is_edit=reply is None, round=number, ended=ended, message=message[:2000]
    )
    form = StepsForm(session=session or None, quiet=quiet, compact=compact)
    return _resume(run, handed, form)


@click.command("status")
@shared.from_parameters
def status(
    *,
    run: Annotated[str | None, Argument()] = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Where the run is. Nothing is asked, decided or changed."""
    document = steps_status(here(), run)
    if as_json:
        write(dump(document) + "\n")
        return 0
    waits = {
        "edit": f"an edit of {document['location']}, then: honestone step submit",
        "go on": "honestone step next",
        "done": f"nothing: {document['result']}",
    }[document["waits_for"]]
    done = count(document["rounds"], "round")
    write(f"run {document['run']} on {document['artifact']}: {done} done\nwaits for {waits}\n")
    return 0


def _resume(run: str | None, submission: Submission, form: StepsForm) -> int:
    with Progress(quiet=form.quiet) as progress:
        return _print(resume_steps(here(), run, submission, progress, form), progress)


def _print(result: StepResult, progress: Progress) -> int:
    """Print an action; once it is out, it counts as handed out."""
    progress.close()
    if result.action == "interrupted":
        raise Interrupted(
            f"interrupted; `honestone step next` resumes it (run {result.run}), as does the same command:"
        )
    write((dump_line if result.compact else dump)(result.document) + "\n")
    sys.stdout.flush()
    result.hand_out()
    return result.exit_code
