"""Small PDF and Word files, written byte by byte: nothing here needs the libraries that read them."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Sequence
from xml.sax.saxutils import escape

_TYPES = (
    '<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/>'
    '<Override PartName="/word/styles.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'
)
_RELS = (
    '<?xml version="1.0"?><Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    '<Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}" '
    'Target="{target}"/></Relationships>'
)
_W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
_STYLES = (
    f'<?xml version="1.0"?><w:styles {_W}>'
    + "".join(
        f'<w:style w:type="paragraph" w:styleId="{name.replace(" ", "")}"><w:name w:val="{name}"/></w:style>'
        for name in ("Normal", "Title", "heading 1", "List Bullet")
    )
    + "</w:styles>"
)


def paragraph(text: str, style: str = "Normal") -> str:
    return (
        f'<w:p><w:pPr><w:pStyle w:val="{style.replace(" ", "")}"/></w:pPr>'
        f'<w:r><w:t xml:space="preserve">{escape(text)}</w:t></w:r></w:p>'
    )


def word_table(rows: Sequence[Sequence[str]]) -> str:
    lines = "".join(
        "<w:tr>" + "".join(f"<w:tc>{paragraph(cell)}</w:tc>" for cell in row) + "</w:tr>"
        for row in rows
    )
    return f"<w:tbl><w:tblPr/><w:tblGrid>{'<w:gridCol/>' * len(rows[0])}</w:tblGrid>{lines}</w:tbl>"


def word(*blocks: str, head: str = "", extra: tuple[str, bytes] | None = None) -> bytes:
    """A Word document. `head` comes before its root, `extra` is one more part."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("[Content_Types].xml", _TYPES)
        archive.writestr(
            "_rels/.rels", _RELS.format(kind="officeDocument", target="word/document.xml")
        )
        archive.writestr(
            "word/_rels/document.xml.rels", _RELS.format(kind="styles", target="styles.xml")
        )
        archive.writestr("word/styles.xml", _STYLES)
        body = f'<?xml version="1.0"?>{head}<w:document {_W}><w:body>{"".join(blocks)}</w:body></w:document>'
        archive.writestr("word/document.xml", body)
        if extra is not None:
            archive.writestr(*extra)
    return out.getvalue()


def pdf(*lines: str, stream: bytes | None = None) -> bytes:
    """A PDF of one page with these lines; or with this content, already deflated."""
    drawn = "".join(
        f"1 0 0 1 72 {760 - 16 * number} Tm ({_literal(line)}) Tj\n"
        for number, line in enumerate(lines)
    )
    content = f"BT /F1 11 Tf\n{drawn}ET".encode("cp1252")
    packed = zlib.compress(content) if stream is None else stream
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
    ]
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, one in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        start,
    )
    return bytes(out)


def _literal(text: str) -> str:
    return text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)")
