"""Documents to stdout in the format asked for. Data only; notes go to stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from honestone.core.numbers import exact, show_points
from honestone.core.verdict import EXIT_CODES, Outcome
from honestone.report.draw import clean

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.app.evaluate import Evaluated
    from honestone.report.documents.improvement import ImprovementDoc
    from honestone.report.documents.scorecard import ScorecardDoc

_DRAWN_LIMIT = 4096
_DETAILS = 3
MANY = 30
"""From this many artifacts on, text is a line each as they are judged, and the details of the first that fail."""

FORMATS = ("text", "markdown", "json", "junit")


def dump(document: object) -> str:
    """JSON for people and programs: keys in our order, UTF-8 as it is, never NaN."""
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=_values)


def dump_line(document: object) -> str:
    """The same on one line, as quick as can be: one of many."""
    import msgspec

    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(document, allow_nan=False, default=_values)


def _values(part: object) -> object:
    """A document, or a part that is JSON already, as JSON values."""
    import msgspec

    def raw(encoded: Any) -> object:
        return json.loads(bytes(encoded))

    return raw(part) if isinstance(part, msgspec.Raw) else msgspec.to_builtins(part, enc_hook=raw)


def render_scorecards(documents: Sequence[ScorecardDoc], form: str) -> str:
    if form == "json":
        return dump(documents[0] if len(documents) == 1 else documents) + "\n"
    if form == "junit":
        from honestone.report.junit import scorecards_junit

        return scorecards_junit(documents)
    if form == "text":
        from honestone.cli.progress import style_for
        from honestone.report.text import scorecards_text

        return scorecards_text(documents, style_for(sys.stdout))
    return "\n".join(render(document, form) for document in documents)


def render_improvement(document: ImprovementDoc, form: str, *, report: str | None = None) -> str:
    """`report` is the saved Markdown of the run, when it is at hand."""
    return report if form == "markdown" and report is not None else render(document, form)


def render(document: Mapping[str, Any] | Struct, form: str) -> str:
    """Any document in any format that it has."""
    if form == "json":
        return dump(document) + "\n"
    from honestone.cli.progress import style_for
    from honestone.report.formats import draw

    return draw(document, form, style_for(sys.stdout))


def write(text: str) -> None:
    # A name from the disk may hold lone surrogates, and a terminal may know few characters: neither may end a report.
    encoding = sys.stdout.encoding or "utf-8"
    if not text.isascii():
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(text)


class Printer:
    """Prints documents as they come where the format allows it, so that memory stays flat over many artifacts.

    `many`: JSON is a list, and text is one line each with the details of the first three that did not pass.
    """

    def __init__(self, form: str, *, many: bool) -> None:
        self._is_list = form == "json" and many
        self.is_table = form == "text" and many
        self._form = form
        self._kept: list[ScorecardDoc] = []
        self._shown = self._passed = 0
        self._drawn: dict[int, tuple[Any, Any]] = {}

    def _wants_details(self, outcome: str) -> bool:
        """Whether the document of this one will be shown in full below the table."""
        return outcome != Outcome.PASS and len(self._kept) < _DETAILS

    def show(self, found: Evaluated) -> None:
        """A line of a long table needs no document, unless its details will be shown."""
        if self.is_table and found.error is None and not self._wants_details(found.outcome):
            self._row(found.outcome, found.scorecard.low, found.scorecard.high, found.path)
        else:
            self.add(found.report)

    def _row(self, outcome: str, low: Fraction, high: Fraction, path: str) -> None:
        """One line of the table."""
        score = show_points(low) if low == high else f"{show_points(low)}-{show_points(high)}"
        name = path if path.isascii() and path.isprintable() else clean(path)
        write(f"{outcome:<13}{score:>11}  {name}\n")
        self._count(outcome)

    def add(self, document: ScorecardDoc) -> None:
        outcome = document.verdict
        if self._is_list:
            write(("[" if self._shown == 0 else ",\n") + self._dump_line(document))
            self._count(outcome)
        elif self.is_table:
            low, high = (exact(number) / 100 for number in document.interval or (0, 100))
            if self._wants_details(outcome):
                self._kept.append(document)
            self._row(outcome, low, high, document.artifact.path)
        else:
            self._kept.append(document)
            self._count(outcome)

    def _count(self, outcome: str) -> None:
        self._shown += 1
        self._passed += outcome == Outcome.PASS

    def _dump_line(self, document: ScorecardDoc) -> str:
        """Criteria that several documents share (the same object, where code answers) are encoded once."""
        import msgspec

        if document.judges:
            return dump_line(document)
        shared = []
        for criterion in document.criteria:
            known = self._drawn.get(id(criterion))
            if known is None:
                known = (criterion, msgspec.Raw(dump_line(criterion).encode()))
                if len(self._drawn) < _DRAWN_LIMIT:
                    self._drawn[id(criterion)] = known
            shared.append(known[1])
        return dump_line(msgspec.structs.replace(document, criteria=shared))

    def end(self) -> None:
        if self._is_list:
            write("]\n" if self._shown else "[]\n")
            return
        if self.is_table:
            write(f"\n{self._passed} of {self._shown} passed\n")
        for document in self._kept if self.is_table else ():
            write("\n" + render_scorecards([document], "text"))
        if not self.is_table:
            write(render_scorecards(self._kept, self._form))


def exit_code_of(outcome: str) -> int:
    """Of a verdict. `error` is a skill's evaluation that showed nothing: like inconclusive, nothing was judged."""
    return 3 if outcome == "error" else EXIT_CODES[Outcome(outcome)]
