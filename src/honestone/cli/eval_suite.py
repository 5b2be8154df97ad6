"""`honestone eval SUITE`: run the cases of a suite, compare with a baseline when there is one, exit with the verdict."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from honestone.app.setup import JudgingOptions
from honestone.app.suites.session import SuiteOptions, SuiteSession
from honestone.cli.printing import dump, exit_code_of
from honestone.cli.progress import Progress
from honestone.cli.suites.printing import print_suite
from honestone.core.errors import UsageError
from honestone.system.files import write_atomically


def eval_suite(path: Path, judging: JudgingOptions, options: SuiteOptions, progress: Progress, form: str) -> int:
    places = places_to_save(options)
    document = SuiteSession(path, judging, options, progress).report()
    print_suite(document, form)
    for place in places:
        save_report(document, place)
        progress.note(f"saved {place}")
    return exit_code_of(document["verdict"])


def places_to_save(options: SuiteOptions) -> list[Path]:
    """Raises UsageError before anything is run, not after."""
    places = [options.output] if options.output is not None else []
    if options.update_baseline:
        if options.baseline is None or not options.baseline.endswith(".json"):
            raise UsageError(
                "--update-baseline saves this run's report as the baseline's file, so --baseline must be a .json file",
                hint="for example --baseline baseline.json --update-baseline",
            )
        places.append(Path(options.baseline))
    return places


def save_report(document: dict[str, Any], place: Path) -> None:
    write_atomically(place, (dump(document) + "\n").encode("utf-8", "backslashreplace"))
