"""The formats in which a suite's run is printed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from honestone.cli.terminal import dump, render, write, write_page
from honestone.system.drawing import style_for

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.report.documents.case_by_case import SuiteReport


SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
# What `show` makes of a recorded run for other tools, besides the reports that `eval` prints as
# well.
SUITE_EXPORTS = ("inspect", "langfuse", "mlflow", "parquet")


def print_suite(document: Mapping[str, object] | Struct | SuiteReport, form: str) -> None:
    from honestone.report.documents.case_by_case import SuiteReport

    if not isinstance(document, SuiteReport):
        (write_page if form == "html" else write)(render(document, form))
        return
    gc.freeze()  # What lives now stays to the end of the command; looking through it again and again is waste.
    if form == "html":
        from honestone.report.pages.suite_html import suite_pieces

        write_page(suite_pieces(document))
        return
    for part in _parts(document, form):
        write(part)


def _parts(report: SuiteReport, form: str) -> Iterable[str]:
    """A report case by case: none is held longer than it takes to write it. Formats of other
    packages get all of it.
    """
    if form == "json":
        return dump_report(report)
    if form == "csv":
        from honestone.report.exports.rows import csv_parts

        return csv_parts(report)
    if form == "jsonl":
        from honestone.report.exports.rows import jsonl_parts

        return jsonl_parts(report)
    if form == "junit":
        from honestone.report.exports.junit import junit_parts

        return junit_parts(report)
    if form == "markdown":
        from honestone.report.pages.markdown import suite_markdown

        return [suite_markdown(report)]
    if form == "text":
        from honestone.report.terminal.suite_text import suite_text

        return [suite_text(report, style_for(sys.stdout))]
    return [render(report.whole, form)]


# Where the function FORMAT_parts of a format is.
_NO_CASES: Final = '\n "cases": []'


def dump_report(report: SuiteReport) -> Iterator[str]:
    """`dump` of the whole report and a line break, case by case."""
    before, at, after = dump(report.head).partition(_NO_CASES)
    yield before + at[:-1]
    between = "\n  "
    for case in report.cases:
        yield between + dump(case).replace("\n", "\n  ")
        between = ",\n  "
    yield ("]" if between == "\n  " else "\n ]") + after + "\n"
