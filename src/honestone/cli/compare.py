"""`honestone compare` and `honestone trend`: two runs case by case, and many in a row."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from honestone.app.setup import open_store_for, settings_here
from honestone.app.suites.baseline import run_or_report
from honestone.app.suites.comparing import compare_reports, require_gates
from honestone.cli import options as shared
from honestone.cli.printing import exit_code_of, write
from honestone.cli.suites.printing import COMPARISON_FORMATS, render_comparison
from honestone.core.errors import UsageError
from honestone.core.suite.comparison import COMPARE_GATES
from honestone.ports import Store

_FORMAT = click.option("--format", "form", type=click.Choice(COMPARISON_FORMATS), default="text", show_default=True)


@click.command("compare", short_help="Compare two runs of a suite, case by case.")
@click.argument("baseline")
@click.argument("candidate")
@click.option(
    "--fail-on",
    multiple=True,
    metavar="GATE",
    help="regression, missing or delta<0; repeat it. [regression and missing]",
)
@click.option("--across-contracts", is_flag=True, help="Compare runs that were judged differently all the same.")
@click.option("--require-improvement", is_flag=True, help="Pass only if the interval's lower end is above 0.")
@_FORMAT
@shared.json_option
def compare(
    baseline: str,
    candidate: str,
    fail_on: tuple[str, ...],
    across_contracts: bool,
    require_improvement: bool,
    form: str,
    as_json: bool,
) -> int:
    """Compare two runs of one suite: BASELINE, then CANDIDATE. Each is a run or a file with a saved --json report.

    Exits 0 when the candidate may replace the baseline, 1 when not, 3 when a case could not be judged.
    """
    gates = require_gates(fail_on) or COMPARE_GATES
    with open_store_for(settings_here()) as store:
        before, after = _report(store, baseline), _report(store, candidate)
        contracts = _contracts(store, before, after)
    document = compare_reports(
        before,
        after,
        gates=gates,
        across=across_contracts,
        require_improvement=require_improvement,
        documents=contracts,
    )
    write(render_comparison(document, "json" if as_json else form))
    return exit_code_of(document["verdict"])


@click.command("trend", short_help="Many runs of a suite in a row.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@_FORMAT
@shared.json_option
def trend(runs: tuple[str, ...], form: str, as_json: bool) -> int:
    """Show runs in the order given: pass rate, mean score, and the cases that turned."""
    from honestone.report.suite_documents import trend_document

    with open_store_for(settings_here()) as store:
        reports = [_report(store, name) for name in runs]
    contracts = {report["contract"] for report in reports}
    notes = ["these runs were judged under different contracts; their figures do not mean the same"]
    document = trend_document(reports, notes=notes if len(contracts) > 1 else [])
    write(render_comparison(document, "json" if as_json else form))
    return 0


def _report(store: Store, name: str) -> Mapping[str, Any]:
    found = run_or_report(name, store)
    if found is None:
        if name and not Path(name).exists():
            store.find_run(name)  # says whether there is none, or more than one
        what = "a file, but no saved report" if name and Path(name).exists() else "no run and no saved report"
        raise UsageError(
            f"`{name}` is {what}",
            hint="`honestone runs` lists runs; `honestone eval SUITE --json > report.json` saves one",
        )
    return found


def _contracts(
    store: Store, before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any]] | None:
    """Both contracts in full, where both runs are in this store."""
    from honestone.core.errors import StoreError

    try:
        return (
            store.events(store.find_run(before["run"]).id)[0]["contract"],
            store.events(store.find_run(after["run"]).id)[0]["contract"],
        )
    except (StoreError, IndexError, KeyError, TypeError):
        return None
