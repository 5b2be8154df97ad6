"""`honestone eval`: score artifacts, print scorecards, exit with the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from honestone.app.evaluate import EvaluateRequest, evaluate
from honestone.cli import options as shared
from honestone.cli.browser import asks_people
from honestone.cli.helping import Grouped
from honestone.cli.show import refuse_other_formats
from honestone.cli.suites.options import take_suite_request
from honestone.cli.terminal import MANY, Printer, Progress, exit_code_of, here
from honestone.core.errors import UsageError
from honestone.core.scorecard import Outcome


@click.command("eval", cls=Grouped, short_help="Score artifacts against a rubric, or run a suite.")
@shared.options("eval")
@asks_people
def eval_(
    artifacts: tuple[str, ...],
    rubric: Path | None,
    targets: tuple[str, ...],
    form: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Score files or folders against a rubric, or run the cases of a suite.

    Exits 0 when all pass, 1 when one fails, 3 when one could not be judged, 2 when something is
    wrong with the call.
    """
    judging = shared.take_judging(options)
    if options.pop("recorded"):
        judging = replace(judging, max_calls=0)
    paths = [Path(name) for name in artifacts]
    shared_ones = {name: options.pop(name) for name in ("accept_loss", "locked")}
    of_artifacts = {
        name: options.pop(name) for name in ("gate_only", "input", "reference", "staged")
    }
    form = "json" if as_json else form
    in_batches = options.pop("batch")
    with Progress(quiet=quiet) as progress:
        if in_batches:
            judging = replace(judging, batch=progress.note)
        if rubric is None:
            from honestone.cli.eval_suite import eval_suite

            if len(paths) != 1:
                raise UsageError(
                    "eval needs a rubric", hint="honestone eval ARTIFACT... --rubric RUBRIC"
                )
            _refuse_for_suites(of_artifacts)
            remote = _remote(options)
            asked = take_suite_request(paths[0], judging, options, targets=targets, **shared_ones)
            return eval_suite(
                asked, options["output"], progress, form, watch=options["watch"], remote=remote
            )
        _refuse_for_artifacts(options)
        refuse_other_formats(form, "an artifact's scorecard")
        request = EvaluateRequest(
            artifacts=tuple(paths),
            rubric=rubric,
            judging=judging,
            target=_only_target(targets),
            **of_artifacts,
            **shared_ones,
        )
        return _print(request, progress, form)


def _remote(options: Mapping[str, Any]) -> int | None:
    """The priority of a run on other machines."""
    if options["remote"] and options["watch"]:
        raise UsageError(
            "--watch runs the cases on this machine, and --remote on others",
            hint="leave one of the two out",
        )
    if options["priority"] and not options["remote"]:
        raise UsageError(
            "--priority is for runs on other machines", hint="add --remote, or leave it out"
        )
    return int(options["priority"]) if options["remote"] else None


def _only_target(targets: tuple[str, ...]) -> str:
    if len(targets) > 1:
        raise UsageError(
            "--target is given twice, but an artifact has one target",
            hint="the cases of a suite may have several",
        )
    return targets[0] if targets else "identity"


def _print(request: EvaluateRequest, progress: Progress, form: str) -> int:
    """Prints each scorecard as soon as it is there. Returns the exit code."""
    many = len(request.artifacts) > 1 if form == "json" else len(request.artifacts) >= MANY
    printer = Printer(form, many=many, progress=progress)
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


def _refuse_for_suites(of_artifacts: Mapping[str, object]) -> None:
    for name, given in of_artifacts.items():
        if given:
            raise UsageError(
                f"--{name.replace('_', '-')} is for artifacts; each case of a suite has its own",
                hint="or name a --rubric",
            )


def _refuse_for_artifacts(options: Mapping[str, object]) -> None:
    """Options of suites are not silently without effect."""
    written = {param.name: param.opts[-1] for param in click.get_current_context().command.params}
    for name, given in options.items():
        if given:
            raise UsageError(
                f"{written[name]} is for suites, but --rubric judges artifacts",
                hint="leave one of the two out",
            )
