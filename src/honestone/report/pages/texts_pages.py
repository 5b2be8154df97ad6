"""A table of judged texts as Markdown and as an HTML page."""

from __future__ import annotations

from collections.abc import Sequence

from honestone.report.documents.texts import TextRowDoc, TextsDoc
from honestone.report.pages.html_page import draw_page
from honestone.report.pages.judged_texts.quote_marks import longest_text
from honestone.report.pages.markdown import MOST, fitting, markdown_environment, neat
from honestone.report.templates import macro

# Characters of a text that a page shows.
_LONGEST = 20_000


def texts_markdown(doc: TextsDoc, *, most: int = MOST) -> str:
    """In at most `most` characters, the texts that did worst first."""
    environment = markdown_environment()
    top, head, bottom = (
        neat(macro(environment, "texts.md.j2", name)(doc)) for name in ("top", "head", "bottom")
    )
    draw = macro(environment, "texts.md.j2", "row")
    order = sorted(doc.rows, key=lambda row: row.verdict == "pass")
    left = most - len(top) - len(head) - len(bottom) - 200
    rows = fitting([draw(row, doc.summary) for row in order], left)
    cut = len(order) - len(rows)
    parts = [top.strip("\n"), head.rstrip("\n") + "\n" + "\n".join(rows)]
    parts += [f"_Cut to fit: {cut:,} texts have no row; the JSON has them._"] if cut else []
    return "\n\n".join([*parts, bottom.strip("\n")]) + "\n"


def texts_html(doc: TextsDoc, rows: Sequence[tuple[TextRowDoc, str | None]]) -> str:
    """A whole page. `rows`: each with its text, where it is at hand."""
    shown = [
        (row, None if text is None else _shortened(text))
        for row, text in sorted(rows, key=lambda one: one[0].verdict == "pass")
    ]
    holds = ["the judged texts"] if any(text for _, text in shown) else []
    page = {"longest": longest_text(len(text or "") for _, text in shown)}
    return draw_page("texts.html.j2", holds=holds, doc=doc, rows=shown, page=page)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
