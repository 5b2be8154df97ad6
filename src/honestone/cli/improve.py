"""`honestone improve`: the loop on one artifact."""

from __future__ import annotations

from typing import Annotated

import click
from msgspec.structs import replace

from honestone.app.improving.improve import improve as improve_artifact
from honestone.app.improving.loop import ImprovementRequest
from honestone.app.judging.judging_options import AllowCode, MaxLooks, Sure
from honestone.app.options import Option
from honestone.app.runs.records import open_run
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.terminal import FORMATS, Progress, here, render_improvement, write, write_page
from honestone.core.errors import Interrupted
from honestone.core.loop.state import Result
from honestone.report.documents.improvement import RoundDoc
from honestone.report.terminal.improvement_text import round_text
from honestone.system.drawing import style_for


@click.command("improve", cls=Grouped, short_help="Improve an artifact until it passes.")
@asks_people
@shared.from_parameters
def improve(
    *,
    allow_code: AllowCode = False,
    request: ImprovementRequest,
    sure: Sure = None,
    max_looks: MaxLooks = None,
    store: shared.StoreName = None,
    form: Annotated[
        str, Option(name="--format", short="-f", choices=(*FORMATS, "html"), show_default=True)
    ] = "text",
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Improve a file or folder one criterion at a time until its rubric's gate is met, or a skill
    or prompt until the tasks of a suite pass.

    Running the same command again resumes an unfinished run. Exits 0 when PASSED, 1 when not, 3
    when it could not be judged or confirmed.
    """
    judging = replace(request.judging, allow_code=allow_code, sure=sure, max_looks=max_looks)
    request = replace(request, judging=judging)
    with Progress(quiet=quiet) as progress:

        def show_round(document: RoundDoc) -> None:
            progress.show(round_text(document, style_for(progress.stream)))

        result = improve_artifact(here(), request, progress, decided=show_round)
    if form == "html" and not as_json:
        with open_run(here(), result.run) as record:
            write_page(record.improvement_page())
    else:
        write(
            render_improvement(
                result.improvement, "json" if as_json else form, report=result.report
            )
        )
    if result.result is Result.INTERRUPTED:
        raise Interrupted(f"interrupted; run the same command to resume (run {result.run}):")
    return result.exit_code
