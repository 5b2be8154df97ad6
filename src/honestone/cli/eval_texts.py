"""`honestone eval TABLE --text COLUMN`: prints the rows as they are judged, or the summary."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from msgspec import Struct, field

from honestone.app.judging.evaluated import Evaluated
from honestone.app.judging.texts import TextsRequest, evaluate_texts
from honestone.cli.terminal import Progress, dump, dump_line, exit_code_of, here, write, write_page
from honestone.core.errors import UsageError
from honestone.core.judging.scorecard import Outcome
from honestone.report.documents.texts import TEXTS, TextRowDoc, TextsDoc
from honestone.system.drawing import style_for

TEXT_FORMATS: Final = ("text", "markdown", "json", "csv", "jsonl", "parquet", "html")
# Where the document has its rows.
_NO_ROWS: Final = '"rows": []'


def eval_texts(request: TextsRequest, progress: Progress, form: str, output: Path | None) -> int:
    """Prints the table in a format; with `output` into that file (as JSON where the format is text),
    and the summary on stdout. Returns the exit code.
    """
    refuse_other_text_formats(form)
    has_groups = request.source.columns.group is not None
    printers = [RowPrinter(form if output is None else "text", has_groups=has_groups)]
    with ExitStack() as stack:
        if output is not None:
            file = stack.enter_context(_written(output))
            saved = "json" if form == "text" else form
            printers.append(RowPrinter(saved, has_groups=has_groups, out=file))

        def show(row: TextRowDoc, evaluated: Evaluated) -> None:
            for printer in printers:
                if printer.is_streaming and printer.out is None:
                    progress.clear()
                printer.show(row, evaluated.judged_text if printer.wants_texts else None)

        doc = evaluate_texts(here(), request, progress, show)
        progress.close()
        for printer in printers:
            printer.end(doc)
    if output is None and form in ("csv", "jsonl", "parquet"):
        progress.note(f"{doc.summary.passed_words}: {doc.verdict_words}")
    spent = doc.usage
    if spent.cached_calls and not spent.judge_calls:
        progress.note(
            f"0 judge calls: every reply was on record ({spent.cached_calls});"
            " --fresh asks the judges again"
        )
    return exit_code_of(Outcome(doc.verdict))


@contextmanager
def _written(path: Path) -> Iterator[BinaryIO]:
    """A file that appears when it is whole. Raises UsageError where it cannot be written."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as file:
            yield file
        part.replace(path)
    except OSError as error:
        raise UsageError(f"`{path}` cannot be written: {error.strerror or error}") from None
    finally:
        part.unlink(missing_ok=True)


def refuse_other_text_formats(form: str) -> None:
    """Raises UsageError for a format that does not show a table of texts."""
    if form not in TEXT_FORMATS:
        raise UsageError(
            f"--format {form} does not show a table of texts",
            hint=f"it is shown as {', '.join(TEXT_FORMATS)}",
        )


class RowPrinter(Struct):
    """Prints rows as they come where the format allows it, so that memory stays flat over a long
    table; else keeps them for the end.
    """

    form: str
    has_groups: bool
    # The file to write to; None is stdout.
    out: BinaryIO | None = None
    _rows: list[tuple[TextRowDoc, str | None]] = field(default_factory=list)
    _line: Callable[[TextRowDoc], str] | None = None
    _shown: int = 0

    @property
    def is_streaming(self) -> bool:
        return self.form in ("json", "csv", "jsonl")

    @property
    def wants_texts(self) -> bool:
        """Whether the texts themselves are shown."""
        return self.form == "html"

    def show(self, row: TextRowDoc, text: str | None) -> None:
        """Print or keep a row."""
        match self.form:
            case "json":
                start = f'{{\n "schema": "{TEXTS}",\n "rows": [\n  ' if not self._shown else ",\n  "
                self._write(start + dump_line(row))
            case "csv" | "jsonl":
                self._write(self._text_of(row))
            case "markdown" | "html" | "parquet":
                self._rows.append((row, text))
        self._shown += 1

    def _text_of(self, row: TextRowDoc) -> str:
        from honestone.report.exports.text_rows import CsvRows, json_line

        if self._line is None:
            is_csv = self.form == "csv"
            self._line = CsvRows(has_groups=self.has_groups).text_of if is_csv else json_line
        return self._line(row)

    def end(self, doc: TextsDoc) -> None:
        """Print what comes after the rows, or all of it."""
        rows = [row for row, _ in self._rows]
        match self.form:
            case "json":
                whole = dump(doc)
                _, _, after = whole.partition(_NO_ROWS)
                self._write(f"\n ]{after}\n" if self._shown else f"{whole}\n")
            case "text":
                from honestone.report.terminal.texts_text import texts_text

                self._write(texts_text(doc, style_for(sys.stdout)))
            case "markdown":
                from msgspec.structs import replace

                from honestone.report.pages.texts_pages import texts_markdown

                self._write(texts_markdown(replace(doc, rows=rows)))
            case "html":
                from honestone.report.pages.texts_pages import texts_html

                self._write_page(texts_html(doc, self._rows))
            case "parquet":
                from honestone.report.exports.text_rows import parquet_of

                self._write_bytes(parquet_of(rows, has_groups=self.has_groups))

    def _write(self, text: str) -> None:
        if self.out is None:
            write(text)
        else:
            self.out.write(text.encode("utf-8", "backslashreplace"))

    def _write_page(self, page: str) -> None:
        if self.out is None:
            write_page(page)
        else:
            self._write(page)

    def _write_bytes(self, data: bytes) -> None:
        if self.out is not None:
            self.out.write(data)
            return
        if sys.stdout.isatty():
            raise UsageError(
                "a Parquet file is not text for a terminal", hint="write it to a file: > FILE"
            )
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
