"""What rulph showed: the contract, a block of score lines for each scoring, and the final report
with its headings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from jinja2 import Environment
from markupsafe import Markup
from msgspec import Struct

from honestone.core.numbers import Number, score_or_interval
from honestone.report.documents.imported import ImportedDoc
from honestone.report.documents.improvement import ImprovementDoc, MoveDoc
from honestone.report.documents.scorecard import CriterionDoc, JudgeDoc, ScorecardDoc
from honestone.report.pages.markdown import markdown_environment, md, neat
from honestone.report.templates import macro
from honestone.system.drawing import Style, clean

_AVAILABLE: Final = "AVAILABLE"
# The results that rulph calls a circuit breaker, and what tripped.
_BREAKERS: Final = {
    "PLATEAU": "no progress",
    "ROUND_LIMIT": "round limit",
    "BUDGET": "budget",
    "METRIC_DEAD": "the score cannot move",
    "NO_CHANGE": "the worker changed nothing",
    "WORKER_FAILED": "the worker failed",
}
_NOT_OURS: Final = "these are the numbers of that tool's own record: honestone judged nothing here"


class _Scoring(Struct, frozen=True, kw_only=True):
    """One version's scores. rulph counts from 1: that is the original. `marks`: (criterion, its
    score,
    that of each judge).
    `low_confidence`: one judge alone voted on some item, however often it was asked.
    """

    round: int
    score: Number | None
    interval: Sequence[Number] | None
    marks: Sequence[tuple[str, Number | None, Mapping[str, Number | None]]]
    below: Sequence[str]
    judges: Sequence[JudgeDoc]
    low_confidence: bool

    @property
    def used(self) -> list[str]:
        return [one.id for one in self.judges if one.state == _AVAILABLE]


def scorecard_rulph(doc: ScorecardDoc) -> str:
    """One scoring: the contract and its score lines."""
    return neat(_macro("scorecard")(doc, _first(doc)))


def improvement_rulph(doc: ImprovementDoc) -> str:
    """The final report of a loop."""
    return neat(_macro("improvement")(doc, list(_scorings(doc))))


def _result_words(doc: ImprovementDoc) -> str:
    """The result in rulph's words: an end short of the goal is a circuit breaker."""
    if doc.result in _BREAKERS:
        return f"CIRCUIT BREAKER ({_BREAKERS[doc.result]})"
    return doc.result_words


def imported_text(doc: ImportedDoc, style: Style) -> str:
    """A loop of another tool, in three lines."""
    rows = (f"imported  {doc.path}", f"  {doc.tool}: {doc.summary}", f"  {_NOT_OURS}")
    return "\n".join(clean(row) for row in rows) + "\n"


def imported_markdown(doc: ImportedDoc) -> str:
    return f"# Imported from {md(doc.tool)}: {md(doc.path)}\n\n{md(doc.summary)}\n\n{_NOT_OURS}\n"


def _scorings(doc: ImprovementDoc) -> Sequence[_Scoring]:
    card = doc.before or ScorecardDoc(verdict="inconclusive")
    scorings = [_first(card)]
    for one in doc.rounds:
        if one.interval_after is None and one.score_after is None:
            continue
        moves = {move.id: move for move in one.criteria}
        after = [moves.get(part.id) or MoveDoc(id=part.id) for part in _parts(card)]
        scorings.append(
            _Scoring(
                round=one.round + 1,
                score=one.score_after,
                interval=one.interval_after,
                marks=[(move.id, move.after, move.by_judge) for move in after],
                below=one.floor_violations,
                judges=one.judges,
                low_confidence=one.low_confidence,
            )
        )
    return scorings


def _first(card: ScorecardDoc) -> _Scoring:
    return _Scoring(
        round=1,
        score=card.score,
        interval=card.interval,
        marks=[(one.id, one.score, one.by_judge) for one in _parts(card)],
        below=[one.id for one in card.criteria if one.below_floor],
        judges=card.judges,
        low_confidence=card.low_confidence,
    )


def _parts(card: ScorecardDoc | ImprovementDoc) -> list[CriterionDoc]:
    """The criteria that the overall score is made of."""
    return (
        [one for one in card.criteria if one.parent is None]
        if isinstance(card, ScorecardDoc)
        else []
    )


def _percent_of(one: CriterionDoc, card: ScorecardDoc) -> str:
    whole = sum(part.weight or 0 for part in _parts(card))
    return f"{100 * (one.weight or 0) / whole:.4g}" if whole else "0"


def _top_suggestion(one: CriterionDoc) -> str:
    return next((item.suggestion for item in one.items if item.suggestion and item.unmet), "")


def _availability(scorings: Sequence[_Scoring]) -> list[tuple[str, str]]:
    """Each judge with its state, and the rounds in which it had another."""
    found = []
    for judge in dict.fromkeys(one.id for scoring in scorings for one in scoring.judges):
        states = [
            (scoring.round, one)
            for scoring in scorings
            for one in scoring.judges
            if one.id == judge
        ]
        last = states[-1][1]
        others = [
            f"round {number}: {_state(one)}" for number, one in states if one.state != last.state
        ]
        found.append((judge, "; ".join([_state(last), *others])))
    return found


def _state(one: JudgeDoc) -> str:
    return f"{one.state} ({one.reason})" if one.reason else one.state


@lru_cache(maxsize=1)
def _environment() -> Environment:
    templates = markdown_environment()
    templates.globals["hard"] = Markup(
        "  "
    )  # at the end of a line it keeps the next one from joining it
    templates.filters.update(
        parts=_parts, top_suggestion=_top_suggestion, availability=_availability
    )
    templates.filters["rulph_result"] = _result_words
    templates.filters["overall"] = lambda look: Markup(score_or_interval(look.score, look.interval))
    templates.filters["percent_of"] = lambda one, card: Markup(_percent_of(one, card))
    return templates


def _macro(name: str) -> Callable[..., str]:
    return macro(_environment(), "rulph.md.j2", name)
