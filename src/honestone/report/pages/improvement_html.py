"""One run of the loop as an HTML page: how it ended, every round with what it changed, what moved,
and the evidence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from honestone.core.numbers import change
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.documents.improvement_words import result_reasons
from honestone.report.documents.scorecard import CriterionDoc
from honestone.report.pages.html_page import draw_page
from honestone.report.pages.judged_texts.judged_text import JudgedText
from honestone.report.pages.judged_texts.quote_marks import LONGEST, longest_text
from honestone.system.drawing import count

_LOOKS: Final = {"PASSED": "passed", "UNCONFIRMED": "inconclusive", "INTERRUPTED": "skipped"}
_UNDECIDED: Final = ("UNCONFIRMED", "COULD_NOT_JUDGE")


def improvement_html(
    doc: ImprovementDoc,
    *,
    diffs: Sequence[tuple[int, str]] = (),
    text: str | None = None,
    served: str = "",
    is_side_by_side: bool = False,
) -> str:
    """`honestone.improvement/1` as a whole page. `diffs` are (round, unified diff), `text` is of
    the best version.
    """
    page = _Page(doc, dict(diffs), text, is_side_by_side)
    names = [
        *page.names,
        doc.worker or "",
        doc.target or "",
        *(one.id for one in doc.certification.judges),
    ]
    holds = [count(len(diffs), "diff")] if diffs else []
    holds += page.judged.holds if page.judged else []
    return draw_page(
        "improvement.html.j2",
        served=served,
        names=names,
        holds=holds,
        doc=doc,
        page=page,
        reasons=result_reasons(doc),
    )


def versions_html(doc: ImprovementDoc, a: str, b: str, diff: str, *, is_side_by_side: bool) -> str:
    """Two versions of a loop, as `RunRecord.version` names them: their scores, and the unified diff
    from one to the other.
    """
    before, after = (_scores_of(doc, one) for one in (a, b))
    moves = [
        (name, before.get(name), after.get(name), change(before.get(name), after.get(name)))
        for name in before
    ]
    page = {"longest": LONGEST, "is_side_by_side": is_side_by_side}
    versions = dict(_version_names(doc))
    return draw_page(
        "view_versions.html.j2",
        served="versions",
        doc=doc,
        a=a,
        b=b,
        versions=versions,
        diff=diff,
        moves=moves,
        page=page,
    )


def _version_names(doc: ImprovementDoc) -> list[tuple[str, str]]:
    """(name, in words) of every version that can be compared."""
    rounds = [
        (str(one.round), f"round {one.round}, {one.decision_words}")
        for one in doc.rounds
        if one.version
    ]
    return [("original", "the original"), *rounds, ("best", "the best version")]


def _scores_of(doc: ImprovementDoc, version: str) -> dict[str, float | None]:
    """The overall score and those of the criteria, as far as they are known."""
    number = str(doc.best_round) if version == "best" else version
    entry = next((one for one in doc.rounds if str(one.round) == number), None)
    if entry is not None:
        return {"overall": entry.score_after, **{one.id: one.after for one in entry.criteria}}
    card = doc.before
    return (
        {"overall": card.score, **{one.id: one.score for one in card.criteria}}
        if card
        else {"overall": None}
    )


class _Page:
    """What the page knows besides its document: diffs, the best version's text, how long a text may
    be.
    """

    def __init__(
        self, doc: ImprovementDoc, diffs: Mapping[int, str], text: str | None, is_side_by_side: bool
    ) -> None:
        self._doc = doc
        self._diffs = diffs
        self.is_side_by_side = is_side_by_side
        self.longest = longest_text(map(len, diffs.values()))
        card = doc.last_card
        self.judged = JudgedText(doc=card, text=text) if card else None
        self.names = self.judged.names if self.judged else []
        self.numbers = self.judged.numbers if self.judged else {}

    @property
    def look(self) -> str:
        undecided = "inconclusive" if self._doc.result in _UNDECIDED else "failed"
        return _LOOKS.get(self._doc.result, undecided)

    @property
    def versions(self) -> list[tuple[str, str]]:
        return _version_names(self._doc)

    @property
    def scored(self) -> list[tuple[int, float, bool]]:
        """(round, score, whether it was kept) of the original and of every version that was scored."""
        before = self._doc.before
        found = [(0, before.score, True)] if before else []
        found += [(one.round, one.score_after, one.is_accepted) for one in self._doc.rounds]
        return [(number, score, accepted) for number, score, accepted in found if score is not None]

    @property
    def before(self) -> dict[str, CriterionDoc]:
        """The criteria of the original."""
        return {one.id: one for one in self._doc.before.criteria} if self._doc.before else {}

    def diff(self, one: RoundDoc) -> str:
        return self._diffs.get(one.round, "").rstrip("\n")

    def decision_look(self, one: RoundDoc) -> str:
        if one.is_gain:
            return "passed"
        return "skipped" if one.is_accepted or one.decision is None else "failed"
