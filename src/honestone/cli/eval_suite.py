"""`honestone eval SUITE`: run the cases of a suite, compare with a baseline when there is one, exit
with the verdict.
"""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import click
from click.core import ParameterSource
from msgspec.structs import asdict

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.options import typed_value
from honestone.app.suites.options import SuiteOptions
from honestone.app.suites.plan import SuiteRequest
from honestone.app.suites.running.run import SuiteResult
from honestone.app.suites.running.table import TableResult, evaluate_columns
from honestone.cli.heartbeat import heartbeat_of
from honestone.cli.options import shown_store
from honestone.cli.suites.options import print_suite
from honestone.cli.terminal import Progress, dump, dump_line, exit_code_of, here, write
from honestone.core.errors import HonestoneError, UsageError
from honestone.report.documents.suite import SuiteReportDoc, turned_words
from honestone.report.documents.table import TableDoc
from honestone.report.errors import error_text
from honestone.system.files import write_atomically

if TYPE_CHECKING:
    from honestone.app.suites.running.watch import Report

# Options that make new outputs, or would make nothing of old ones.
_OF_A_TARGET: Final = (
    "targets",
    "artifacts",
    "outputs",
    "fresh",
    "target_timeout",
    "baseline",
    "update_baseline",
    "with_skills",
    "remote",
    "priority",
)


def _judge_again(ctx: click.Context, suite: Path) -> str:
    """This command with the outputs on record, instead of what makes new ones."""
    words = ["honestone", "eval", str(suite), "--outputs", "last"]
    for option in ctx.command.params:
        name = option.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or not isinstance(option, click.Option) or name in _OF_A_TARGET:
            continue
        value = ctx.params[name] if name in ctx.params else shown_store()
        for one in value if option.multiple else [value]:
            words += [option.opts[-1]] if option.is_flag else [option.opts[-1], typed_value(one)]
    return shlex.join(words)


def suite_request(suite: Path, judging: JudgingOptions, options: SuiteOptions) -> SuiteRequest:
    return SuiteRequest(
        **asdict(options),
        suite=suite,
        judging=judging,
        judge_again=_judge_again(click.get_current_context(), suite),
        is_brief=True,
    )


def eval_suite(
    request: SuiteRequest,
    output: Path | None,
    progress: Progress,
    form: str,
    *,
    watch: bool,
    remote: int | None,
) -> int:
    """`remote` is the priority of a run whose cases are run on other machines."""
    places = places_to_save(request, output)
    if watch:
        return _watch(request, places, progress, form)
    result = _found(request, progress, remote)
    progress.close()
    print_suite(result.streamed, form)
    for place in places:
        save_report(result.report, place)
        progress.note(f"saved {place}")
    return exit_code_of(result.verdict)


def _found(
    request: SuiteRequest, progress: Progress, remote: int | None
) -> SuiteResult | TableResult:
    if remote is None:
        return evaluate_columns(here(), request, progress)
    from honestone.app.remote.order import evaluate_remotely

    workspace = here()
    return evaluate_remotely(
        workspace, request, progress, priority=remote, heartbeat=heartbeat_of(workspace)
    )


def _watch(
    request: SuiteRequest, places: Sequence[Path], progress: Progress, form: str
) -> NoReturn:
    """Prints the report of each run, JSON on a line of its own, and what turned since the run
    before.
    """
    from honestone.app.suites.running.watch import Watch

    def show(document: Report) -> None:
        progress.close()
        if form == "json":
            write(dump_line(document) + "\n")
        else:
            print_suite(document, form)
        if form == "text" and document.turned:
            write(
                f"\nsince the run before: {turned_words(document.turned)}\n"
                + "".join(f"  {one.words}\n" for one in document.turned)
            )
        sys.stdout.flush()
        for place in places:
            save_report(document, place)

    def fail(error: HonestoneError) -> None:
        progress.close()
        print(error_text(error), file=sys.stderr, flush=True)

    Watch(workspace=here, request=request, observer=progress, show=show, fail=fail).run()


def places_to_save(request: SuiteRequest, output: Path | None) -> list[Path]:
    """Raises UsageError before anything is run, not after."""
    places = [output] if output is not None else []
    if request.update_baseline:
        if request.baseline is None or not request.baseline.endswith(".json"):
            raise UsageError(
                "--update-baseline saves this run's report as the baseline's file, so --baseline must be a .json file",
                hint="for example --baseline baseline.json --update-baseline",
            )
        places.append(Path(request.baseline))
    return places


def save_report(document: SuiteReportDoc | TableDoc, place: Path) -> None:
    write_atomically(
        place, (dump(document) + "\n").encode("utf-8", "backslashreplace"), through_links=True
    )
