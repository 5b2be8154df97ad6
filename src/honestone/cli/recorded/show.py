"""`honestone show`: what was recorded, in any format."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import TYPE_CHECKING, Annotated, Final

import click

from honestone.app.options import Argument, Option
from honestone.app.runs.records import RunRecord, open_run
from honestone.cli import options as shared
from honestone.cli.suites.options import (
    SUITE_EXPORTS,
    SUITE_FORMATS,
    print_suite,
    refuse_other_formats,
)
from honestone.cli.terminal import (
    ARTIFACT_FORMATS,
    FEW,
    Printer,
    dump,
    here,
    render_improvement,
    write,
    write_page,
)
from honestone.core.artifact import Version
from honestone.core.errors import UsageError
from honestone.report.documents import json_schema, plain
from honestone.report.documents.scorecard import ScorecardDoc
from honestone.report.formats import RENDERERS, draw
from honestone.system.drawing import Style, clean, is_terminal, line

if TYPE_CHECKING:
    from honestone.app.stages.run import PipelineRun
    from honestone.report.documents.suite import SuiteReportDoc


# Formats that are written here, not by a function of `report/formats.py`: they are bytes, go to a
# server, or need the files of a run.
_WRITTEN_HERE: Final = ("diff", "langfuse", "mlflow", "parquet", "sarif")


def _our_formats() -> list[str]:
    """The formats that `eval` prints as well, then all others by name."""
    others = {form for _, form in RENDERERS}.union(_WRITTEN_HERE).difference(SUITE_FORMATS)
    return [*SUITE_FORMATS, *sorted(others)]


class _Format(click.Choice[str]):
    """A choice of our formats. Those of other packages are accepted too, but are looked up only
    when the value is not one of ours, because that reads the metadata of every installed package.
    """

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from honestone.report.formats import other_formats

        if value not in self.choices and value in other_formats():
            return value
        return super().convert(value, param, ctx)


@click.command("show", short_help="Show a recorded run.")
@click.option(
    "-f",
    "--format",
    "form",
    type=_Format(_our_formats()),
    default="text",
    show_default=True,
)
@shared.from_parameters
def show(
    *,
    run: Annotated[str, Argument()] = "last",
    form: str,
    version: Annotated[
        str | None,
        Option(
            "Print that version of the artifact: a round, 0, `best` or `original`.", metavar="N"
        ),
    ] = None,
    has_all: Annotated[
        bool,
        Option(
            "HTML of over 1,000 cases or artifacts: the passed ones with their texts and answers too.",
            name="--all",
        ),
    ] = False,
    schema: Annotated[
        str | None,
        Option(
            "Print the JSON Schema of a document of that kind instead.",
            choices=(
                "scorecard",
                "improvement",
                "report",
                "comparison",
                "trend",
                "table",
                "texts",
                "imported",
                "pairwise",
                "noise",
                "audit",
                "agreement",
                "labels",
                "calibration",
                "rubric-draft",
            ),
        ),
    ] = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
) -> int:
    """Show a run: its id, the beginning of it, or `last`.

    A package can add formats with entry points of the group `honestone.reports`.
    """
    if schema is not None:
        write(dump(json_schema(schema)) + "\n")
        return 0
    form = "json" if as_json else form
    with open_run(here(), run) as record:
        if has_all and (form != "html" or record.info.kind not in ("suite", "column", "eval")):
            raise UsageError(
                "--all is for the HTML page of a suite or of many artifacts; everything else has all of it",
                hint="honestone show RUN --format html --all",
            )
        if record.info.kind == "eval" and version is None and _is_table(record, form):
            _show_texts(record, form)
        elif form == "html" and version is None:
            _show_page(record, has_all=has_all)
        elif form in SUITE_EXPORTS and record.info.kind in ("suite", "column"):
            _export(record.suite_report().whole, form)
        elif form == "sarif" and version is None:
            _show_sarif(record)
        elif record.info.kind == "improve":
            _show_improvement(record, form, version)
        elif record.info.kind == "stages":
            _show_stages(record, form)
        elif record.info.kind in ("imported", "noise", "audit", "calibrate"):
            document = record.document()
            write(dump(plain(document)) + "\n" if form == "json" else draw(document, form, Style()))
        elif version is not None or form == "diff":
            raise UsageError(f"run {record.info.id} is an eval: it has no versions of its own")
        elif record.info.kind == "eval":
            _show_eval(record.scorecards(), form)
        elif form in SUITE_EXPORTS:
            raise UsageError(
                f"run {record.info.id} is a table of several columns, and --format {form} is for one",
                hint="each column is a run of its own: honestone runs --kind column",
            )
        else:
            _show_suite(record, form)
    return 0


def _is_table(record: RunRecord, form: str) -> bool:
    """Whether the run judged the rows of a table, and the format is one of such a run."""
    return form not in ("sarif", "diff") and record.table_columns is not None


def _show_page(record: RunRecord, *, has_all: bool) -> None:
    """Print a run of any kind as one HTML file."""
    from honestone.report.pages import suite_html, view_html

    match record.info.kind:
        case "eval":
            texts = list(record.judged_texts())
            if not texts:
                print("nothing was judged in this run", file=sys.stderr)
            elif len(texts) == 1:
                write_page(view_html.scorecard_html(*texts[0]))
            else:
                write_page(view_html.artifacts_html(texts, record.info.id, has_all=has_all))
        case "improve":
            write_page(record.improvement_page())
        case "stages":
            write_page(view_html.stages_html(_pipeline(record).document))
        case "suite" | "column":
            write_page(suite_html.suite_pieces(record.suite_report(), has_all=has_all))
        case "table":
            write_page(suite_html.table_html(record.table()))
        case kind:
            text = draw(record.document(), "text", Style())
            write_page(view_html.text_html(f"{kind}: {record.info.subject}", text))


def show_artifacts_page(record: RunRecord) -> None:
    """Print the artifacts of a run of `eval` as one HTML file."""
    _show_page(record, has_all=False)


def _pipeline(record: RunRecord) -> PipelineRun:
    from honestone.app.stages.files import StageFiles
    from honestone.app.stages.run import recorded_pipeline

    return recorded_pipeline(StageFiles.at(here()), record.store, record.info.id)


def _show_stages(record: RunRecord, form: str) -> None:
    from honestone.cli.stages.group import show_lines
    from honestone.cli.stages.run import pipeline_lines

    if form not in ("text", "json"):
        raise UsageError("a run of stages is shown as text, json or html")
    done = _pipeline(record)
    if form == "json":
        write(dump(done.document) + "\n")
    else:
        show_lines(pipeline_lines(done))


def _show_eval(documents: Iterator[ScorecardDoc], form: str) -> None:
    refuse_other_formats(form, "an artifact's scorecard", ARTIFACT_FORMATS)
    first = list(islice(documents, FEW + 1))
    if not first:
        print("nothing was judged in this run", file=sys.stderr)
        return
    printer = Printer(form, many=len(first) > (1 if form == "json" else FEW))
    for document in chain(first, documents):
        printer.add(document)
    printer.end()


def _show_texts(record: RunRecord, form: str) -> None:
    """Print a run over the rows of a table."""
    from honestone.app.runs.texts import recorded_texts
    from honestone.cli.eval_texts import RowPrinter, refuse_other_text_formats

    refuse_other_text_formats(form)
    columns = record.table_columns
    printer = RowPrinter(form, has_groups=columns is not None and columns.group is not None)
    printer.end(
        recorded_texts(record.store, record.info, printer.show, has_texts=printer.wants_texts)
    )


def _show_improvement(record: RunRecord, form: str, version: str | None) -> None:
    if version is not None:
        _write_bytes(record.version(version))
        return
    if form == "diff":
        for title, diff in record.diffs():
            write(_for_here(f"# {title}\n{diff}"))
        return
    refuse_other_formats(form, "an improvement")
    document, report = record.improvement()
    write(render_improvement(document, form, report=report))


def _show_sarif(record: RunRecord) -> None:
    from honestone.report.exports.left_out import no_place_in

    write(record.sarif())
    is_suite = record.info.kind in ("suite", "column")
    is_compared = is_suite and record.suite_report().head.compared is not None
    _say_left_out("sarif", no_place_in("sarif", is_suite=is_suite, is_compared=is_compared))


def _show_suite(record: RunRecord, form: str) -> None:
    from honestone.report.documents.case_by_case import SuiteReport
    from honestone.report.exports.left_out import no_place_in

    document = record.table() if record.info.kind == "table" else record.suite_report()
    print_suite(document, form)
    is_compared = isinstance(document, SuiteReport) and document.head.compared is not None
    _say_left_out(form, no_place_in(form, is_suite=True, is_compared=is_compared))


def _export(doc: SuiteReportDoc, form: str) -> None:
    """Export a run of a suite to another tool, and name on stderr what the tool has no place for."""
    left_out: Sequence[str] = ()
    match form:
        case "parquet":
            from honestone.report.exports.left_out import no_place_in
            from honestone.report.exports.parquet import suite_parquet

            _write_binary(suite_parquet(doc))
            left_out = no_place_in(form, is_suite=True)
        case "mlflow" | "langfuse":
            from honestone.app.runs.exporting import export_to_langfuse, export_to_mlflow

            done = export_to_mlflow(doc) if form == "mlflow" else export_to_langfuse(doc)
            write(f"{done.words}\n")
            left_out = done.left_out
        case _:
            write(draw(doc, form, Style()))
    _say_left_out(form, left_out)


def _say_left_out(form: str, left_out: Sequence[str]) -> None:
    if left_out:
        print(
            f"note: --format {form} has no place for: {line('; '.join(left_out), 1000)}",
            file=sys.stderr,
        )


def _write_binary(data: bytes) -> None:
    if sys.stdout.isatty():
        raise UsageError(
            "a Parquet file is not text for a terminal",
            hint="honestone show RUN --format parquet > FILE",
        )
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def _for_here(text: str) -> str:
    """The text unchanged, so that `git apply` can read it; on a terminal without control codes,
    which the terminal would obey.
    """
    return clean(text) if is_terminal(sys.stdout) else text


def _write_bytes(version: Version) -> None:
    """Write the bytes of a file unchanged; on a terminal as text without control codes. The files
    of a folder come one after another, each under a line with its path.
    """
    if is_terminal(sys.stdout):
        for path, entry in version.files.items():
            text = entry.data.decode("utf-8", "backslashreplace")
            write(clean(f"==> {path} <==\n{text}\n" if version.is_folder else text))
        return
    out = sys.stdout.buffer
    sys.stdout.flush()
    for path, entry in version.files.items():
        if version.is_folder:
            out.write(f"==> {path} <==\n".encode())
        out.write(entry.data)
        if version.is_folder and not entry.data.endswith(b"\n"):
            out.write(b"\n")
    out.flush()
