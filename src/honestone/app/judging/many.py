"""What `evaluate_many` returns: a result for each text, and what all come to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, overload

from msgspec.structs import replace

from honestone.app.doors.measured import CalibrationResult
from honestone.app.judging.evaluate import EvaluateRequest, evaluate
from honestone.app.judging.evaluated import Evaluated
from honestone.app.judging.given_tables import GivenTable, GivenTexts, label_rows
from honestone.app.judging.measured.calibrations import calibration_of
from honestone.app.judging.people import calibration_events
from honestone.app.judging.texts import TextsRequest, rows_to_judge
from honestone.app.workspace import Workspace
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.judging.spend import Spend
from honestone.ports import Observer
from honestone.report.building.scorecard import usage_document
from honestone.report.building.texts import TextsFacts, TextsWriter
from honestone.report.documents import PlainDocument, plain
from honestone.report.documents.texts import TextRowDoc, TextsDoc, TextsSummaryDoc
from honestone.report.exports.text_rows import cells_of, heads_of

if TYPE_CHECKING:
    from pandas import DataFrame  # type: ignore[import-not-found, import-untyped, unused-ignore]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class EvaluatedTexts(Sequence[Evaluated]):
    """A result for each text, in order: a sequence. `document` is what `eval TABLE --text COLUMN
    --json` prints (`honestone.texts/1`).

    `ids`: the ids of the texts as they were given. `row_labels`: the index of the data frame, where
    it has one.
    """

    ids: Sequence[object]
    row_labels: Sequence[object] = ()
    _results: Sequence[Evaluated]
    _facts: TextsFacts
    _spent: Spend

    @cached_property
    def _written(self) -> tuple[Sequence[TextRowDoc], TextsDoc]:
        """The rows, and the document without them: who only looks at the results needs neither."""
        table = self._facts.table
        writer = TextsWriter(has_groups=table is not None and table.group is not None)
        rows = [writer.row(one.report, one.group, one.failed) for one in self._results]
        facts = self._facts
        if self._results:
            first = self._results[0].report
            facts = replace(facts, title=first.title, rubric=first.rubric, contract=first.contract)
        return rows, writer.document(facts, usage_document(self._spent, self._spent))

    @property
    def _rows(self) -> Sequence[TextRowDoc]:
        return self._written[0]

    @property
    def _whole(self) -> TextsDoc:
        return self._written[1]

    @property
    def summary(self) -> TextsSummaryDoc:
        """How many passed, failed and are open; means by criterion, groups, the worst."""
        return self._whole.summary

    @property
    def verdict(self) -> str:
        """`pass` when all texts pass, else `fail` or `inconclusive`; `skipped` without a text."""
        return self._whole.verdict

    @property
    def passed(self) -> bool:
        return self.verdict == "pass"

    @property
    def run(self) -> str | None:
        return self._facts.run

    @property
    def report(self) -> TextsDoc:
        """The document with its fields declared."""
        return replace(self._whole, rows=list(self._rows))

    @cached_property
    def document(self) -> PlainDocument:
        """What the command prints with `--json`."""
        return plain(self.report)

    def to_dict(self) -> PlainDocument:
        """A copy of the document, to change at will."""
        return plain(self.report)

    @property
    def _criteria(self) -> list[str]:
        return [*self.summary.criteria]

    @property
    def _has_groups(self) -> bool:
        return self._whole.table is not None and self._whole.table.group is not None

    @property
    def heads(self) -> list[str]:
        """The columns of the table: id, verdict, score, a column a criterion, reasons, error."""
        return heads_of(self._criteria, has_groups=self._has_groups)

    @property
    def rows(self) -> list[list[object]]:
        """The table, a row a text, with ids as they were given."""
        rows: list[list[object]] = []
        for id, row in zip(self.ids, self._rows, strict=True):
            _, *cells = cells_of(row, self._criteria, has_groups=self._has_groups)
            rows.append([id, *cells])
        return rows

    def to_frame(self) -> DataFrame:
        """The table as a pandas DataFrame. Raises UsageError where pandas is not installed."""
        try:
            pandas = import_module("pandas")
        except ImportError:
            raise UsageError(
                "a table needs pandas, which is not installed", hint="pip install pandas"
            ) from None
        return pandas.DataFrame(self.rows, columns=self.heads)

    def calibrate(
        self, labels: GivenTexts, *, id: str | None = None, strict: bool = False
    ) -> CalibrationResult:
        """How far the judges of these results agree with people.

        `labels` is a data frame, a list of dicts, or a dict of columns. A column is a rater, who
        says whether a text passes (yes or no), or `RATER/CRITERION`, what they say of one
        criterion. Rows are of the texts whose ids are in the column `id`, in one that is called as
        the ids were, or in the frame's index; else of the rows of the frame that was judged.
        Missing cells, and texts without a row, do not count. `strict`: a lenient judge makes the
        verdict `fail`. Nothing is asked. Raises UsageError for labels that belong to no text.
        """
        if not self._results:
            raise UsageError("nothing here is a text to calibrate with")
        named = self._facts.table.id if self._facts.table is not None else None
        rows = label_rows(labels, self.ids, self.row_labels, [id] if id else [named, "id"])
        started, log = calibration_events(
            self._results, rows, of_run=self.run, contract=self._whole.contract
        )
        if not started.labels:
            raise UsageError(
                "the labels hold no answer about these texts",
                hint="a row's id is in a column `id`, or in the index of the frame",
            )
        calibration = calibration_of(started, log, run=None)
        if started.rubric is not self._results[0].scorer.rubric:
            calibration = replace(calibration, rubric=self._whole.rubric or self._whole.title)
        return CalibrationResult(report=calibration, strict=strict)

    @property
    def headline(self) -> str:
        """How many texts there are and how many passed, judges that did not answer, and the worst."""
        summary = self.summary
        words = f"{summary.passed_words}, {summary.rate_words}" if self else "no texts"
        words = "; ".join([words, *(f"{one.id} {one.words}" for one in self._whole.absent_judges)])
        worst = [f"{one.id}: {one.missed}" for one in summary.worst[:3]]
        return f"{words}; worst: {'; '.join(worst)}" if worst else words

    @overload
    def __getitem__(self, at: int) -> Evaluated: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Evaluated]: ...
    def __getitem__(self, at: int | slice) -> Evaluated | Sequence[Evaluated]:
        return self._results[at]

    def __eq__(self, other: object) -> bool:
        """Whether the results are those of another sequence."""
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Evaluated]:
        return iter(self._results)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {visible(self.headline, 600)}>"

    def _repr_html_(self) -> str:
        from honestone.report.pages.notebook import fragment

        return fragment(self.headline, self.heads, self.rows)


def evaluate_table(
    workspace: Workspace, table: GivenTable, request: EvaluateRequest, observer: Observer
) -> EvaluatedTexts:
    """Every row of a table. Raises UsageError for what is wrong with it, before anything is spent
    where it can be read twice.
    """
    texts = TextsRequest(source=table.source, judged=request)
    rows = rows_to_judge(workspace, texts, observer)
    judged = replace(request, rows=rows, input=None, reference=None)
    results: list[Evaluated] = []
    summary = evaluate(workspace, judged, observer, results.append)
    ids = table.ids if table.source.columns.id or not table.index else table.index
    return EvaluatedTexts(
        ids=[*ids],
        row_labels=table.index,
        _results=results,
        _facts=TextsFacts(table=rows.columns, name=rows.name, run=summary.run),
        _spent=summary.spent,
    )


def evaluate_artifacts(
    workspace: Workspace, request: EvaluateRequest, observer: Observer
) -> EvaluatedTexts:
    """Every artifact, as a table of which each is a row."""
    results: list[Evaluated] = []
    run, spent = None, Spend()
    if request.artifacts:
        summary = evaluate(workspace, request, observer, results.append)
        run, spent = summary.run, summary.spent
    return EvaluatedTexts(
        ids=[result.path for result in results],
        _results=results,
        _facts=TextsFacts(run=run),
        _spent=spent,
    )
