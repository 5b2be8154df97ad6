"""A table as a document, `honestone.table/1`, built from its record; and its columns as reports of
their own.
"""

from __future__ import annotations

from collections.abc import Sequence

from honestone.core.judging.spend import Spend
from honestone.core.record.record import SuiteRecord
from honestone.core.record.table import ColumnPair, TableRecord
from honestone.core.suite.case import Case
from honestone.report.building.scorecard import share_of
from honestone.report.building.suite import suite_document, usage_of
from honestone.report.documents import fields_of
from honestone.report.documents.suite import SuiteNameDoc, SuiteReportDoc
from honestone.report.documents.suite_case import CaseDoc
from honestone.report.documents.table import CellDoc, ColumnDoc, PairDoc, TableCaseDoc, TableDoc

_OF_THE_RUN = (
    "target artifact run verdict reasons belief pass_rate pass_rate_interval mean_score mean_score_interval counts unstable "
    "low_confidence_cases judges flags usage"
).split()


def table_document(record: TableRecord) -> TableDoc:
    """`honestone.table/1` of a run."""
    reports = {name: suite_document(one) for name, one in record.columns.items()}
    first = next(iter(reports.values()))
    return TableDoc(
        verdict=str(record.verdict),
        pick=record.picked,
        picks=record.picks,
        columns=[_column(name, reports[name], one) for name, one in record.columns.items()],
        cases=_cases(record, reports),
        pairs=[_pair(pair) for pair in record.pairs],
        run=record.run,
        usage=usage_of(Spend.of(one.spend for one in record.columns.values())),
        duration_ms=round(1000 * record.seconds),
        **fields_of(
            first, "suite", "min_pass_rate", "notes", "contract", "left_out", "left_out_cases"
        ),
    )


def _column(name: str, report: SuiteReportDoc, record: SuiteRecord) -> ColumnDoc:
    time = sum(case.duration_ms or 0 for case in record.cases.values())
    return ColumnDoc(name=name, duration_ms=time, **fields_of(report, *_OF_THE_RUN))


def _cases(record: TableRecord, reports: dict[str, SuiteReportDoc]) -> list[TableCaseDoc]:
    first = next(iter(record.columns.values()))
    rows = zip(*(report.cases for report in reports.values()), strict=True)
    return [
        TableCaseDoc(
            id=row[0].id,
            input=_asked(first.cases[row[0].id].case, row[0].input),
            cells=[
                CellDoc(column=name, **fields_of(case, *CaseDoc.__struct_fields__))
                for name, case in zip(reports, row, strict=True)
            ],
        )
        for row in rows
    ]


def _asked(case: Case, input: object) -> object:
    """What the columns have in common: with several prompts the variables that fill them in."""
    return input if case.prompt is None else dict(case.variables)


def _pair(pair: ColumnPair) -> PairDoc:
    return PairDoc(
        **fields_of(pair, "a", "b", "wins", "losses", "undecided", "p", "p_adjusted"),
        delta=share_of(pair.delta),
        interval=None if pair.interval is None else list(pair.interval),
    )


def column_reports(doc: TableDoc) -> list[SuiteReportDoc]:
    """Each column as the report of its run."""
    shared = fields_of(doc, "min_pass_rate", "notes", "contract", "left_out", "left_out_cases")
    cells: list[Sequence[CellDoc]] = list(
        zip(*(case.cells for case in doc.cases), strict=True)
    ) or [[]] * len(doc.columns)
    return [
        SuiteReportDoc(
            suite=SuiteNameDoc(
                path=doc.suite.path, title=f"{doc.name}: {column.name}", dialect=doc.suite.dialect
            ),
            unstable=column.unstable,
            duration_ms=column.duration_ms,
            cases=list(of),
            **shared,
            **fields_of(column, *(name for name in _OF_THE_RUN if name != "unstable")),
        )
        for column, of in zip(doc.columns, cells, strict=True)
    ]
