"""One run of the loop as an HTML page: how it ended, every round with what it changed, what moved, and the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from honestone.core.ballot import CHECK
from honestone.core.numbers import change
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.documents.scorecard import CriterionDoc, QuoteDoc, ScorecardDoc, depths, items_of
from honestone.report.html_page import draw_page
from honestone.report.improvement_text import result_reasons
from honestone.report.quote_marks import longest_text
from honestone.report.sharing import answer_words
from honestone.system.drawing import count, line

_LOOKS: Final = {"PASSED": "passed", "UNCONFIRMED": "inconclusive", "INTERRUPTED": "skipped"}
_UNDECIDED: Final = ("UNCONFIRMED", "COULD_NOT_JUDGE")


def improvement_html(doc: ImprovementDoc, *, diffs: Sequence[tuple[int, str]] = (), served: str = "") -> str:
    """`honestone.improvement/1` as a whole page. `diffs` are (round, unified diff)."""
    page = _Page(doc, dict(diffs))
    names = [*page.names, doc.worker or "", doc.target or "", *(one.id for one in doc.certification.judges)]
    holds = [count(len(diffs), "diff")] if diffs else []
    holds += answer_words(doc.last_card.criteria if doc.last_card else ())
    return draw_page(
        "improvement.html.j2", served=served, names=names, holds=holds, doc=doc, page=page, reasons=result_reasons(doc)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Side:
    score: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Move:
    """What one score was before the loop and is after it."""

    id: str
    name: str
    baseline: _Side
    candidate: _Side
    needs: int | float | None
    is_low: bool = False
    depth: int = field(default=0)

    @property
    def by(self) -> str:
        return change(self.baseline.score, self.candidate.score)


class _Page:
    """What the page knows besides its document: diffs, numbers of the judges, how long a text may be."""

    def __init__(self, doc: ImprovementDoc, diffs: Mapping[int, str]) -> None:
        self._doc = doc
        self._diffs = diffs
        self.longest = longest_text(map(len, diffs.values()))
        card = doc.last_card
        voters = [
            judge for _, item in items_of(card.criteria if card else ()) for judge in item.votes if judge != CHECK
        ]
        names = [*(one.id for one in card.judges), *voters] if card else []
        self.names = list(dict.fromkeys(names))
        self.numbers = {name: number for number, name in enumerate(self.names, 1)}

    @property
    def look(self) -> str:
        undecided = "inconclusive" if self._doc.result in _UNDECIDED else "failed"
        return _LOOKS.get(self._doc.result, undecided)

    @property
    def versions(self) -> list[tuple[str, str, float | None, list[float] | None]]:
        """(name, look, score, interval) of the original and of every version that was scored."""
        before = self._doc.baseline
        found = [("original", "passed", before.score, before.interval)] if before else []
        for one in self._doc.rounds:
            if one.score_after is not None or one.interval_after:
                look = "passed" if one.is_accepted else "failed"
                name = f"round {one.round}" + ("" if one.is_accepted else " (not kept)")
                found.append((name, look, one.score_after, one.interval_after))
        return found

    def diff(self, one: RoundDoc) -> str:
        return self._diffs.get(one.round, "").rstrip("\n")

    def decision_look(self, one: RoundDoc) -> str:
        if one.is_gain:
            return "passed"
        return "skipped" if one.is_accepted or one.decision is None else "failed"

    @property
    def moves(self) -> Iterator[_Move]:
        """The overall score and every criterion, before and after."""
        before, after = self._doc.baseline, self._doc.final
        if before is None or after is None:
            return
        known = {one.id: one for one in before.criteria}
        yield _move("overall", before, after, after.threshold)
        depth = depths(after.criteria)
        for one in after.criteria:
            yield _move(one.id, known.get(one.id), one, one.needs, depth[one.id])

    def find(self, one: QuoteDoc) -> tuple[int | None, str | None, str, str]:
        """(number of the judge, no place, what is known of it, class) of a quote from the artifact."""
        look = "absent" if one.found is False else "soft"
        return self.numbers.get(one.judge), None, one.place_words(), look


def _move(
    name: str,
    before: ScorecardDoc | CriterionDoc | None,
    after: ScorecardDoc | CriterionDoc,
    needs: int | float | None,
    depth: int = 0,
) -> _Move:
    return _Move(
        id=name,
        name=line(name),
        baseline=_Side(score=before.score if before else None),
        candidate=_Side(score=after.score),
        needs=needs,
        is_low=isinstance(after, CriterionDoc) and after.below_floor,
        depth=depth,
    )
