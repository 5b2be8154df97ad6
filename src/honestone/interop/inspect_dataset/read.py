"""Inspect datasets: samples with an input and a target, as JSON, JSON lines or CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

from honestone.core.suite.case import Suite
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.csv_rows import csv_rows
from honestone.formats.syntax.document import Document, MarkedLine
from honestone.formats.syntax.nodes import Node, node_of
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading, shown
from honestone.interop.inspect_dataset.samples import FIELDS, FORMATS, TABLES, sample_case
from honestone.interop.inspect_dataset.tasks import read_task, signs_of_task
from honestone.interop.reader import Reader
from honestone.interop.sibling_files import SiblingFiles


def _columns(document: Document) -> list[str]:
    """The header, where the text is a table with an `input` column."""
    first = document.text.partition("\n")[0]
    if len(first) > 2000 or first.lstrip().startswith(("{", "[", "#", "-")):
        return []
    try:
        columns = [column.strip() for column in next(csv.reader([first]), [])]
    except csv.Error:
        return []
    return columns if "input" in columns and len(columns) > 1 else []


def _signs(document: Document) -> int:
    columns = _columns(document)
    if columns:
        return 60 if {"target", "choices"} & set(columns) else 0
    if document.is_lines:
        return _likeness(document.value)
    value = document.value
    if isinstance(value, list) and value:
        return min(_likeness(entry) for entry in value[:20])
    return 0


def _likeness(sample: Any) -> int:
    """Samples have an input and a target; other keys are allowed but may be another tool's."""
    if (
        not isinstance(sample, dict)
        or "input" not in sample
        or not {"target", "choices"} & sample.keys()
    ):
        return 0
    if "score" in sample and not isinstance(sample["score"], str):
        return 0  # what came of a run: there `target` is what was run, not the right answer
    return 60 if sample.keys() <= FIELDS else 30


def _read_dataset(document: Document) -> SuiteSource:
    main = FileReading(MarkedLine(document.name, Node(None, None, 1, 1), 1))
    siblings = SiblingFiles(document.path.parent)
    cases = Cases("samples")
    readings: list[FileReading] = []
    for number, at in enumerate(_samples(document, main), 1):
        if at.reading not in readings[-1:]:
            readings.append(at.reading)
        if at.read(TABLES["sample"]):
            cases.add(sample_case(at, number, siblings), at)
    if not cases and not main.problems and not any(reading.problems for reading in readings):
        main.problem("this dataset has no samples", ())
    main.note(*FORMATS.defaults("inspect"))
    main.join(*readings)
    main.finish()
    return main.suite_source(
        document.path, "inspect", Suite(cases=cases.all()), cases, siblings.files
    )


def _samples(document: Document, main: FileReading) -> Iterator[FileEntry]:
    if _columns(document):
        yield from _table(document, main)
    elif document.is_lines:
        for row in document.rows:
            yield FileReading(row.marked).at()
    else:
        reading = FileReading(document.marked)
        if not isinstance(document.marked.value, list):
            main.problem(f"a dataset is a list of samples, not {shown(document.marked.value)}", ())
            return
        yield from reading.at().rows()


def _table(document: Document, main: FileReading) -> Iterator[FileEntry]:
    for line, row in csv_rows(document.text, document.name, main.problems):
        root = node_of({column: cell for column, cell in row.items() if cell}, (line, 1))
        yield FileReading(MarkedLine(document.name, root, line)).at()


READERS: tuple[Reader, ...] = (
    FORMATS.reader("inspect", _signs, _read_dataset),
    FORMATS.reader("inspect-task", signs_of_task, read_task),
)
