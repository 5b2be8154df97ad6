"""Suite reports, comparisons and trends to stdout, in the format asked for."""

from __future__ import annotations

import sys
from typing import Any

from honestone.cli.printing import dump, write
from honestone.cli.progress import style_for

SUITE_FORMATS = ("text", "markdown", "json", "junit", "csv", "jsonl", "html")
COMPARISON_FORMATS = ("text", "markdown", "json")


def print_suite(document: dict[str, Any], form: str) -> None:
    if form == "html":  # It says that it is UTF-8, whatever the terminal is.
        sys.stdout.flush()
        sys.stdout.buffer.write(render_suite(document, form).encode("utf-8", "backslashreplace"))
        return
    write(render_suite(document, form))


def render_suite(document: dict[str, Any], form: str) -> str:
    if form == "json":
        return dump(document) + "\n"
    if form == "markdown":
        from honestone.report.suite_markdown import suite_markdown

        return suite_markdown(document)
    if form == "junit":
        from honestone.report.suite_junit import suite_junit

        return suite_junit(document)
    if form == "csv":
        from honestone.report.suite_csv import suite_csv

        return suite_csv(document)
    if form == "jsonl":
        from honestone.report.suite_rows import suite_jsonl

        return suite_jsonl(document)
    if form == "html":
        from honestone.report.suite_html import suite_html

        return suite_html(document)
    from honestone.report.suite_text import suite_text

    return suite_text(document, style_for(sys.stdout))


def render_comparison(document: dict[str, Any], form: str) -> str:
    from honestone.report import comparison_text as words

    if form == "json":
        return dump(document) + "\n"
    is_trend = document["schema"].startswith("honestone.trend")
    if form == "markdown":
        return words.trend_markdown(document) if is_trend else words.comparison_markdown(document)
    style = style_for(sys.stdout)
    return words.trend_text(document, style) if is_trend else words.comparison_text(document, style)
