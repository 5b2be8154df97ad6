"""Prints the text of a PDF or a Word document as Markdown. A process of its own, for the files are
hostile.

On stdin: a line `pdf` or `docx`, then the file. Exits 3 where the library is missing, 4 with the
reason on stderr where the file has no text that can be read.
"""

from __future__ import annotations

import io
import re
import sys
import zipfile
from collections.abc import Iterator

MAX_PAGES = 1000
MAX_UNPACKED = 100_000_000
MAX_PARTS = 5000
MISSING, REFUSED = 3, 4
_BULLET = r"(?m)^([ \t]*)[•▪◦‣●○■·][ \t]*"


class UnreadableDocument(Exception):
    """Why the file is not read."""


def pdf_text(data: bytes) -> str:
    """The text of every page, as far as it is text and not a picture of one."""
    import logging

    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, PyPdfError

    logging.disable(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadableDocument("is locked with a password")
        if len(reader.pages) > MAX_PAGES:
            raise UnreadableDocument(f"has more than {MAX_PAGES} pages")
        pages = [page.extract_text() for page in reader.pages]
    except FileNotDecryptedError:
        raise UnreadableDocument("is locked with a password") from None
    except PyPdfError:
        raise UnreadableDocument("is damaged, or not a PDF") from None
    text = "\n\n".join(page.strip() for page in pages)
    if not text.strip():
        raise UnreadableDocument("holds no text: its pages are pictures")
    return re.sub(_BULLET, r"\1- ", text)


def docx_text(data: bytes) -> str:
    """Headings, lists and tables as Markdown, other paragraphs as they are."""
    _require_small(data)
    import docx
    from docx.table import Table

    try:
        document = docx.Document(io.BytesIO(data))
    except (KeyError, ValueError) as error:
        raise UnreadableDocument("is not a Word document") from error
    parts = []
    for block in document.iter_inner_content():
        lines = (
            table_lines([[cell.text for cell in row.cells] for row in block.rows])
            if isinstance(block, Table)
            else None
        )
        parts.append("\n".join(lines) if lines is not None else paragraph_line(block))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(parts))


def paragraph_line(paragraph: object) -> str:
    """A heading or an entry of a list by its style or its numbering."""
    text = " ".join(str(getattr(paragraph, "text", "")).split())
    style = str(getattr(getattr(paragraph, "style", None), "name", "") or "")
    if not text:
        return ""
    if style == "Title":
        return f"\n# {text}\n"
    if heading := re.fullmatch(r"Heading ([1-6])", style):
        return f"\n{'#' * int(heading[1])} {text}\n"
    numbering = getattr(getattr(getattr(paragraph, "_p", None), "pPr", None), "numPr", None)
    if numbering is None and not style.startswith("List"):
        return re.sub(_BULLET, r"\1- ", f"{text}\n")
    depth = getattr(getattr(numbering, "ilvl", None), "val", 0) or 0
    return f"{'  ' * int(depth)}- {text}"


def table_lines(rows: list[list[str]]) -> Iterator[str]:
    """The first row is the header, as in Markdown."""
    yield ""
    for number, row in enumerate(rows):
        cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"
        if number == 0:
            yield f"|{' --- |' * len(cells)}"
    yield ""


def _require_small(data: bytes) -> None:
    """What a few bytes unpack to may fill the memory."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            parts = archive.infolist()
    except zipfile.BadZipFile:
        raise UnreadableDocument("is damaged, or not a Word document") from None
    if len(parts) > MAX_PARTS or sum(part.file_size for part in parts) > MAX_UNPACKED:
        raise UnreadableDocument(f"unpacks to more than {MAX_UNPACKED // 1_000_000} MB")


def main() -> int:
    try:
        kind = sys.stdin.buffer.readline().decode().strip()
        text = {"pdf": pdf_text, "docx": docx_text}[kind](sys.stdin.buffer.read())
    except ImportError:
        return MISSING
    except UnreadableDocument as refused:
        sys.stderr.write(str(refused))
        return REFUSED
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
