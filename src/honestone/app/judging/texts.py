"""A table of texts scored against a rubric, a row a text: `eval TABLE --text COLUMN`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.judging.evaluate import EvaluateRequest, RowsToJudge, evaluate
from honestone.app.judging.evaluated import Evaluated
from honestone.app.judging.judging_options import max_bytes
from honestone.app.judging.text_rows import (
    RowFacts,
    TextSource,
    check_rows,
    subjects_of,
)
from honestone.app.workspace import Workspace
from honestone.core.events import TableColumns
from honestone.ports import Observer
from honestone.system.drawing import count
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.report.documents.texts import TextRowDoc, TextsDoc


class TextsRequest(Struct, frozen=True, kw_only=True):
    """A table of texts and how it is judged.

    `judged`: the request without artifacts, whose `input` and `reference` are not used. `least`: the
    share of texts that has to pass; without one, all.
    """

    source: TextSource
    judged: EvaluateRequest
    least: Fraction | None = None


def file_source(workspace: Workspace, table: Path, columns: TableColumns) -> TextSource:
    """The rows of a file. Raises FileError for what is not a table."""
    from honestone.formats.text_table import TextTable

    found = TextTable.of(workspace.path(table), printable(table))
    return TextSource(name=found.name, columns=columns, rows=found.rows)


# Takes each row as soon as it is judged, with the result that it was made from.
ShowRow: TypeAlias = "Callable[[TextRowDoc, Evaluated], None]"


def evaluate_texts(
    workspace: Workspace, request: TextsRequest, observer: Observer, show: ShowRow
) -> TextsDoc:
    """Judges every row, hands each to `show` in the order of the table, and returns the document
    without its rows.

    Raises UsageError and its kinds for what is wrong with the table before anything is spent, and
    as `evaluate` does. A judge that fails is data.
    """
    from honestone.report.building.scorecard import usage_document
    from honestone.report.building.texts import TextsFacts, TextsWriter

    source = request.source
    rows = rows_to_judge(workspace, request, observer)
    writer = TextsWriter(has_groups=source.columns.group is not None)
    first: list[Evaluated] = []

    def take(evaluated: Evaluated) -> None:
        if not first:
            first.append(evaluated)
        show(writer.row(evaluated.report, evaluated.group, evaluated.failed), evaluated)

    judged = replace(request.judged, rows=rows, input=None, reference=None)
    summary = evaluate(workspace, judged, observer, take)
    report = first[0].report if first else None
    return writer.document(
        TextsFacts(
            table=source.columns,
            name=source.name,
            title="" if report is None else report.title,
            rubric=None if report is None else report.rubric,
            contract="" if report is None else report.contract,
            run=summary.run,
            least=request.least,
            left_out=rows.left_out,
        ),
        usage_document(summary.spent, summary.spent),
    )


def rows_to_judge(workspace: Workspace, request: TextsRequest, observer: Observer) -> RowsToJudge:
    """The rows, checked where they can be read twice. Raises UsageError and its kinds."""
    source = request.source
    limit = max_bytes(request.judged.judging, workspace.settings)
    facts = RowFacts() if source.is_once else check_rows(source, limit)
    for note in _notes(source, facts):
        observer.note(note)
    return RowsToJudge(
        name=source.name,
        columns=source.columns,
        subjects=lambda: subjects_of(source, limit),
        count=facts.rows,
        digests=[[source.name, facts.digest]],
        longest=facts.longest,
        left_out=facts.left_out,
        least=request.least,
    )


def _notes(source: TextSource, facts: RowFacts) -> list[str]:
    notes = []
    if facts.left_out:
        total = facts.rows + facts.left_out
        notes.append(f"{facts.rows:,} of {total:,} rows are judged (--max-rows)")
    if facts.missing:
        rows = count(facts.missing, "row")
        notes.append(
            f"{rows} of `{source.name}` without a text in `{source.columns.text}`:"
            " kept, and not passed"
        )
    return notes
