"""One artifact for a page: its answers, and the text that their quotes are marked in."""

from __future__ import annotations

from msgspec import Struct

from honestone.core.judging.ballot import CHECK
from honestone.report.documents.scorecard import ScorecardDoc, items_of
from honestone.report.pages.judged_texts.quote_marks import LONGEST, MarkedText
from honestone.report.pages.part_of import PartOf
from honestone.report.pages.sharing import answer_words, text_words


class JudgedText(Struct, frozen=True, kw_only=True):
    """One artifact with every answer. `text` is what was judged; None: it is not on record, or not
    in this page.
    """

    doc: ScorecardDoc
    text: str | None
    number: int = 1
    longest: int = LONGEST
    is_short: bool = False
    part: PartOf | None = None

    @property
    def marked(self) -> MarkedText:
        """The text for its quotes to be marked in, as the answers are drawn."""
        prefix = "q" if self.number == 1 else f"q{self.number}"
        return MarkedText(
            self.text or "",
            prefix,
            names=self.names,
            longest=self.longest,
            of="text",
            part=self.part,
        )

    @property
    def names(self) -> list[str]:
        judges = [one.id for one in self.doc.judges]
        voters = [
            judge
            for _, item in items_of(self.doc.criteria)
            for judge in item.votes
            if judge != CHECK
        ]
        return list(dict.fromkeys([*judges, *voters]))

    @property
    def numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names, 1)}

    @property
    def holds(self) -> list[str]:
        """Which texts of it a page has."""
        return (
            []
            if self.is_short
            else text_words(self.doc.artifact.name, self.text) + answer_words(self.doc.criteria)
        )
