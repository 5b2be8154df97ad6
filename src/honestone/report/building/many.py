"""Many artifacts of one `eval` run, summed up as a table of texts is."""

from __future__ import annotations

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.report.building.texts import TextsFacts, TextsWriter
from honestone.report.documents.scorecard import COUNTED, ScorecardDoc, UsageDoc
from honestone.report.documents.texts import TextsDoc
from honestone.system.drawing import count


class ManyArtifacts(Struct):
    """Counts scorecards as they come, in memory that does not grow with them."""

    _writer: TextsWriter = field(default_factory=TextsWriter)
    _first: ScorecardDoc | None = None
    _usage: UsageDoc = field(default_factory=UsageDoc)

    def add(self, card: ScorecardDoc, error: str | None = None) -> None:
        """One more. `error`: why there was nothing to judge."""
        self._first = self._first or card
        self._writer.row(card, error=error)
        if card.usage is not None:
            self._usage = _sum(self._usage, card.usage)

    def document(self) -> TextsDoc:
        """What they come to, without a row for each."""
        first = self._first
        facts = TextsFacts(
            name=count(self._writer.tally.total, "artifact"),
            title="" if first is None else first.title,
            rubric=None if first is None else first.rubric,
            contract="" if first is None else first.contract,
            run=None if first is None else first.run,
        )
        return self._writer.document(facts, self._usage)


def _sum(one: UsageDoc, other: UsageDoc) -> UsageDoc:
    """What both spent together; money is known where that of one is."""
    counted = {name: getattr(one, name) + getattr(other, name) for name in COUNTED}
    prices = [usage.usd for usage in (one, other) if usage.usd is not None]
    targets = [usage.target_calls for usage in (one, other) if usage.target_calls]
    total = replace(one, usd=sum(prices) if prices else None, **counted)
    return replace(total, target_calls=sum(targets)) if targets else total
