"""`honestone compare` and `honestone runs trend`: two runs case by case, or many in a row."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated

import click

from honestone.app.judging.judging_options import RequireImprovement
from honestone.app.options import Argument, Option
from honestone.app.runs.records import open_run
from honestone.app.suites.comparing import compare as use_case
from honestone.cli import options as shared
from honestone.cli.suites.options import print_suite
from honestone.cli.terminal import exit_code_of, here, render, write, write_page
from honestone.core.errors import StoreError
from honestone.report.documents.suite import ComparisonDoc


@click.command("compare", short_help="Compare two runs of a suite, case by case.")
@shared.from_parameters
def compare(
    *,
    baseline: Annotated[str, Argument()],
    candidate: Annotated[str, Argument()],
    gates: Annotated[
        tuple[str, ...],
        Option(
            "regression, missing or delta<0; repeat it. [regression and missing]",
            name="--fail-on",
            metavar="GATE",
        ),
    ] = (),
    across_contracts: Annotated[
        bool, Option("Compare runs that were judged differently all the same.")
    ] = False,
    require_improvement: RequireImprovement = False,
    form: Annotated[
        str,
        Option(
            name="--format",
            short="-f",
            choices=("text", "markdown", "json", "html"),
            show_default=True,
        ),
    ] = "text",
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Compare two runs of one suite: BASELINE, then CANDIDATE. Each is a run or a file with a saved
    --json report.

    Exits 0 when the candidate may replace the baseline, 1 when not, 3 when a case could not be
    judged.
    """
    document = use_case.compare_runs(
        here(),
        use_case.CompareRequest(
            baseline=baseline,
            candidate=candidate,
            gates=gates,
            across_contracts=across_contracts,
            require_improvement=require_improvement,
        ),
    )
    if form == "html" and not as_json:
        _write_comparison(document)
    else:
        print_suite(document, "json" if as_json else form)
    return exit_code_of(document.verdict)


def _write_comparison(document: ComparisonDoc) -> None:
    """Both runs' answers are shown where both are in the store; of a saved report they are not."""
    from honestone.report.pages.case_table import case_table
    from honestone.report.pages.suite_html import comparison_html

    answers = []
    for run in filter(None, (document.baseline, document.candidate)):
        with suppress(StoreError), open_run(here(), run) as record:
            report = record.suite_report()
            answers.append({row.case.id: row for row in case_table(report.head, report.cases).rows})
    write_page(comparison_html(document, answers=answers, has_all=True))


@click.command("trend", short_help="Show how a suite's results changed over its runs.")
@shared.from_parameters
def trend(
    *,
    runs: Annotated[tuple[str, ...], Argument(metavar="RUN...")],
    form: Annotated[
        str,
        Option(
            name="--format", short="-f", choices=("text", "markdown", "json"), show_default=True
        ),
    ] = "text",
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Show runs in the order given: pass rate, mean score, and the cases that turned."""
    document = use_case.trend(here(), runs)
    write(render(document, "json" if as_json else form))
    return 0
