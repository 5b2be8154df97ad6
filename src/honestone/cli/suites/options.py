"""The formats in which a suite's run is printed."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from honestone.cli.terminal import FORMATS, dump, render, write, write_page
from honestone.core.errors import UsageError
from honestone.system.drawing import style_for

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.report.documents.case_by_case import SuiteReport


SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
# Formats of `show` for other tools, which take a run with all its cases at once.
SUITE_EXPORTS = ("inspect", "langfuse", "mlflow", "parquet")


def refuse_other_formats(form: str, what: str, shown: Sequence[str] = FORMATS) -> None:
    """Raise UsageError for a format of suites where something else is shown. `what`: the noun for
    it. `shown`: the formats that it has. A format of another package is let through.
    """
    if form in (*SUITE_FORMATS, *SUITE_EXPORTS) and form not in shown:
        raise UsageError(f"--format {form} is for suites; {what} is shown as {', '.join(shown)}")


def print_suite(document: Mapping[str, object] | Struct | SuiteReport, form: str) -> None:
    from honestone.report.documents.case_by_case import SuiteReport

    if not isinstance(document, SuiteReport):
        (write_page if form == "html" else write)(render(document, form))
        return
    # All objects of now live until the command ends, so the garbage collector need not visit them.
    gc.freeze()
    if form == "html":
        from honestone.report.pages.suite_html import suite_pieces

        write_page(suite_pieces(document))
        return
    for piece in _joined(_parts(document, form)):
        write(piece)


_PIECE: Final = 65_536


def _joined(parts: Iterable[str]) -> Iterator[str]:
    """The parts, several at a time where they are short: each piece is a write of its own."""
    waiting, size = list[str](), 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _PIECE:
            yield "".join(waiting)
            waiting, size = [], 0
    yield "".join(waiting)


def _parts(report: SuiteReport, form: str) -> Iterable[str]:
    """The text of a report, piece by piece. Formats that can be written case by case never hold
    more than one case in memory; all others get the whole report.
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


# The place for cases in the JSON of a report without any.
_NO_CASES: Final = '\n "cases": []'


def dump_report(report: SuiteReport) -> Iterator[str]:
    """The JSON of the whole report with a line break, piece by piece: `dump` without holding it."""
    before, at, after = dump(report.head).partition(_NO_CASES)
    yield before + at[:-1]
    between = "\n  "
    for case in report.cases:
        yield between + dump(case, depth=2)
        between = ",\n  "
    yield ("]" if between == "\n  " else "\n ]") + after + "\n"
