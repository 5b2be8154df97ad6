"""Documents to stdout in the format asked for. Data only; notes go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

FORMATS = ("text", "markdown", "json", "junit")


def dump(document: Any) -> str:
    """JSON for people and programs: keys in our order, UTF-8 as it is, never NaN."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def render_scorecards(documents: Sequence[dict[str, Any]], form: str) -> str:
    if form == "json":
        return dump(documents[0] if len(documents) == 1 else list(documents)) + "\n"
    if form == "junit":
        from honestone.report.junit import scorecards_junit

        return scorecards_junit(documents)
    if form == "markdown":
        from honestone.report.markdown import scorecard_markdown

        return "\n".join(scorecard_markdown(document) for document in documents)
    from honestone.cli.progress import style_for
    from honestone.report.text import scorecards_text

    return scorecards_text(documents, style_for(sys.stdout))


def render_improvement(document: dict[str, Any], form: str, *, report: str | None = None) -> str:
    """`report` is the saved Markdown of the run, when it is at hand."""
    if form == "json":
        return dump(document) + "\n"
    if form == "junit":
        from honestone.report.junit import improvement_junit

        return improvement_junit(document)
    if form == "markdown":
        from honestone.report.markdown import improvement_markdown

        return report if report is not None else improvement_markdown(document)
    from honestone.cli.progress import style_for
    from honestone.report.improvement_text import improvement_text

    return improvement_text(document, style_for(sys.stdout))


def write(text: str) -> None:
    # A name from the disk may hold lone surrogates, and a terminal may know few characters: neither may end a report.
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()
