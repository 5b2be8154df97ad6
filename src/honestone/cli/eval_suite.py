"""`honestone eval SUITE`: run the cases of a suite, compare with a baseline when there is one, exit with the verdict."""

from __future__ import annotations

from pathlib import Path

from honestone.app.suites.plan import SuiteRequest
from honestone.app.suites.table import evaluate_columns
from honestone.cli.suites.options import print_suite
from honestone.cli.terminal import Progress, dump, exit_code_of, here
from honestone.core.errors import UsageError
from honestone.report.documents.suite import SuiteReportDoc
from honestone.report.documents.table import TableDoc
from honestone.system.files import write_atomically


def eval_suite(request: SuiteRequest, output: Path | None, progress: Progress, form: str) -> int:
    places = places_to_save(request, output)
    document = evaluate_columns(here(), request, progress).report
    progress.close()
    print_suite(document, form)
    for place in places:
        save_report(document, place)
        progress.note(f"saved {place}")
    return exit_code_of(document.verdict)


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
    write_atomically(place, (dump(document) + "\n").encode("utf-8", "backslashreplace"))
