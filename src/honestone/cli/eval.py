"""`honestone eval`: parse the options, decide which of three use cases is meant, and print its result.

With --text the argument is a table whose rows are judged; with --rubric alone the arguments are
artifacts; without a rubric the argument is a suite. Each use case has options that mean nothing to
the others, and these are refused rather than ignored (`_refuse_given`).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click
from msgspec.structs import asdict, replace

from honestone.app.judging.judging_options import (
    AcceptLoss,
    AllowCode,
    ArtifactOptions,
    JudgingOptions,
    Locked,
    MaxLooks,
    RequireCalibration,
    RequireTier,
    Sure,
    TextOptions,
    certified_by,
)
from honestone.app.options import Argument, Option, declared
from honestone.app.suites.options import Concurrency, SuiteOptions, Targets
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.eval_files import needs_rubric, refuse_suite_with_rubric
from honestone.cli.helping import Grouped
from honestone.cli.suites.options import SUITE_FORMATS, refuse_other_formats
from honestone.cli.terminal import ARTIFACT_FORMATS, FEW, Printer, Progress, exit_code_of, here
from honestone.core.errors import UsageError
from honestone.core.events import TableColumns
from honestone.core.judging.scorecard import Outcome
from honestone.ports import Function, Target

if TYPE_CHECKING:
    from honestone.app.judging.evaluate import EvaluateRequest
    from honestone.app.judging.evaluated import Evaluated
    from honestone.app.judging.texts import TextsRequest

EVAL_FORMATS: Final = (*SUITE_FORMATS, "parquet")
# How files are called that are tables, most of the time.
_TABLE_ENDINGS: Final = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".parquet")


@click.command("eval", cls=Grouped, short_help="Score artifacts against a rubric, or run a suite.")
@asks_people
@shared.from_parameters
def eval_(
    *,
    named: Annotated[tuple[str, ...], Argument(metavar="ARTIFACT...|SUITE")],
    rubric: Annotated[
        Path | None, Option("The rubric file; without one, run a suite.", short="-r")
    ] = None,
    judging: JudgingOptions,
    holdouts: Annotated[
        tuple[str, ...],
        Option(
            "A judge that decides alone: --judge then names those that it was optimised against.",
            name="--holdout",
            metavar="JUDGE",
        ),
    ] = (),
    store: shared.StoreName = None,
    targets: Targets = (),
    require_calibration: RequireCalibration = False,
    require_tier: RequireTier = None,
    sure: Sure = None,
    max_looks: MaxLooks = None,
    of_artifact: ArtifactOptions,
    of_table: TextOptions,
    recorded: Annotated[bool, Option("Ask no judge: take the replies on record.")] = False,
    batch: Annotated[
        bool,
        Option(
            "Ask through the batch APIs of OpenAI and Anthropic: half the price, within 24 hours."
        ),
    ] = False,
    accept_loss: AcceptLoss = False,
    allow_code: AllowCode = False,
    locked: Locked = False,
    of_suite: SuiteOptions,
    watch: Annotated[
        bool,
        Option("Run again whenever a file changes, until Ctrl-C; ask only what changed."),
    ] = False,
    concurrency: Concurrency = None,
    remote: Annotated[
        bool, Option("Have the cases run by runners on other machines (honestone remote runner).")
    ] = False,
    priority: Annotated[
        int, Option("With --remote: runs of a higher one are worked on first. [0]")
    ] = 0,
    output: Annotated[
        Path | None,
        Option(
            "Save the JSON report there too; of a table of texts, in its --format.",
            short="-o",
            metavar="FILE",
        ),
    ] = None,
    form: Annotated[
        str, Option(name="--format", short="-f", choices=EVAL_FORMATS, show_default=True)
    ] = "text",
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Score files or folders against a rubric, or run the cases of a suite.

    Exits 0 when all pass, 1 when one fails, 3 when one could not be judged or is undecided, 2 when
    something is wrong with the call.
    """
    form = "json" if as_json else form
    judging = replace(
        judging,
        allow_code=allow_code,
        require_calibration=require_calibration,
        require_tier=require_tier,
        sure=sure,
        max_looks=max_looks,
        max_calls=0 if recorded else judging.max_calls,
    )
    of_artifact = replace(of_artifact, accept_loss=accept_loss, locked=locked)
    judging = certified_by(judging, holdouts, here())
    paths = tuple(map(Path, named))
    with Progress(quiet=quiet) as progress:
        if batch:
            judging = replace(judging, batch=progress.note)
        if of_table.text is not None:
            _refuse_given(SuiteOptions, "is for suites", but=("min_pass_rate", "output"))
            texts = _texts_request(paths, rubric, judging, of_table, of_artifact)
            texts = replace(
                texts,
                judged=replace(texts.judged, target=_only_target(targets)),
                least=of_suite.least_pass_rate,
            )
            from honestone.cli.eval_texts import eval_texts

            return eval_texts(texts, progress, form, output)
        _refuse_given(TextOptions, "is for a table of texts", "name the column with --text")
        if form not in SUITE_FORMATS:
            raise UsageError(
                f"--format {form} is for a table of texts (--text)",
                hint=f"of a suite that was run: honestone show last --format {form}",
            )
        if rubric is not None:
            refuse_suite_with_rubric(paths)
            _refuse_given(SuiteOptions, "is for suites, but --rubric judges artifacts")
            refuse_other_formats(form, "an artifact's scorecard", ARTIFACT_FORMATS)
            from honestone.app.judging.evaluate import EvaluateRequest

            request = EvaluateRequest(
                **asdict(of_artifact),
                artifacts=paths,
                rubric=rubric,
                judging=judging,
                target=_only_target(targets),
            )
            if len(paths) == 1:
                _hint_at_columns(paths[0], progress)
            return _eval_artifacts(request, progress, form)
        from honestone.cli.eval_suite import eval_suite, suite_request

        if len(paths) != 1:
            raise needs_rubric(paths)
        _refuse_given(
            ArtifactOptions,
            "is for artifacts; each case of a suite has its own",
            "or name a --rubric",
        )
        options = replace(
            of_suite,
            targets=targets,
            concurrency=concurrency,
            accept_loss=accept_loss,
            locked=locked,
        )
        return eval_suite(
            suite_request(paths[0], judging, options),
            output,
            progress,
            form,
            watch=watch,
            remote=_priority(priority, remote=remote, watch=watch),
        )


def _priority(priority: int, *, remote: bool, watch: bool) -> int | None:
    """The priority of a run on other machines."""
    if remote and watch:
        raise UsageError(
            "--watch runs the cases on this machine, and --remote on others",
            hint="leave one of the two out",
        )
    if priority and not remote:
        raise UsageError(
            "--priority is for runs on other machines", hint="add --remote, or leave it out"
        )
    return priority if remote else None


def _only_target(targets: Targets) -> str | Target | Function:
    """The one target of an artifact; without any, the artifact itself is judged."""
    if len(targets) > 1:
        raise UsageError(
            "--target is given twice, but an artifact has one target",
            hint="the cases of a suite may have several",
        )
    return targets[0] if targets else "identity"


def _texts_request(
    paths: tuple[Path, ...],
    rubric: Path | None,
    judging: JudgingOptions,
    table: TextOptions,
    artifact: ArtifactOptions,
) -> TextsRequest:
    if rubric is None:
        raise UsageError(
            "--text names the column of a table that a rubric judges, but --rubric is missing",
            hint="honestone eval TABLE --text COLUMN --rubric RUBRIC",
        )
    if len(paths) != 1:
        raise UsageError(
            f"--text is for one table, but {len(paths)} files are named",
            hint="judge one table at a time",
        )
    if artifact.staged:
        raise UsageError("--staged is for files, not for the rows of a table")
    if artifact.input is not None and table.input_text is not None:
        raise UsageError(
            "--input and --input-text both name the input of the texts",
            hint="--input names a column, --input-text gives one text for all rows",
        )
    from honestone.app.judging.evaluate import EvaluateRequest
    from honestone.app.judging.texts import TextsRequest, file_source

    columns = TableColumns(
        text=table.text or "",
        id=table.id,
        input=artifact.input,
        reference=artifact.reference,
        group=table.group,
    )
    source = file_source(here(), paths[0], columns)
    return TextsRequest(
        source=replace(source, input=table.input_text, most=table.max_rows),
        judged=EvaluateRequest(
            **asdict(replace(artifact, input=None, reference=None)),
            artifacts=(),
            rubric=rubric,
            judging=judging,
        ),
    )


def _hint_at_columns(path: Path, progress: Progress) -> None:
    """Tell the person that a table is judged as one text, and how to have each row judged."""
    if path.suffix.lower() not in _TABLE_ENDINGS:
        return
    from honestone.formats.text_table import MOST_COLUMNS, columns_of_table

    columns = columns_of_table(here().path(path), str(path))
    if len(columns) > 1:
        progress.note(
            f"`{path}` is judged as one text; --text COLUMN judges each row:"
            f" {', '.join(columns[:MOST_COLUMNS])}"
        )


def _eval_artifacts(request: EvaluateRequest, progress: Progress, form: str) -> int:
    """Evaluate artifacts, print each scorecard as soon as it is there, and return the exit code."""
    from honestone.app.judging.evaluate import evaluate

    many = len(request.artifacts) > 1 if form == "json" else len(request.artifacts) > FEW
    printer = Printer(form, many=many, progress=progress)
    if form == "html":
        summary = evaluate(here(), request, progress, _in_the_page)
        progress.close()
        if summary.run is not None:
            from honestone.app.runs.records import open_run
            from honestone.cli.recorded.show import show_artifacts_page

            with open_run(here(), summary.run) as record:
                show_artifacts_page(record)
    else:
        summary = evaluate(here(), request, progress, printer.show)
        progress.close()
        printer.end()
    spent = summary.spent
    if spent.cached_calls and not spent.judge_calls:
        progress.note(
            f"0 judge calls: every reply was on record ({spent.cached_calls}); --fresh asks the judges again"
        )
    if request.judging.max_calls == 0 and summary.verdict is Outcome.INCONCLUSIVE:
        progress.note(
            "not judged yet as it is now: the same command without --recorded (and --staged) asks the judges"
        )
    return exit_code_of(summary.verdict)


def _in_the_page(_found: Evaluated) -> None:
    """Print nothing yet: the page is made from the record of the whole run."""


# Parameters of the command that are for suites and are not fields of SuiteOptions.
_OF_SUITES: Final = ("watch", "concurrency", "remote", "priority", "output")


def _refuse_given(
    of: type, why: str, hint: str = "leave one of the two out", *, but: tuple[str, ...] = ()
) -> None:
    """Raise UsageError where an option of the struct `of` is given that has no effect here. `why`
    follows the option's name in the message. `but`: fields that do have an effect.
    """
    fields = {one.field for one in declared(of) if one.is_shared}
    if of is SuiteOptions:
        fields.update(_OF_SUITES)
    fields.difference_update(but)
    context = click.get_current_context()
    for param in context.command.params:
        if param.name in fields and context.params[param.name]:
            raise UsageError(f"{param.opts[-1]} {why}", hint=hint)
