"""A comparison of two artifacts as a document (`honestone.pairwise/1`) and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from msgspec import UNSET, Struct

from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import as_written
from honestone.core.numbers import show_points
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.core.reading.pairwise import Comparison, PairLine, TwoLooks
from honestone.report.building.scorecard import judge_states, share_of
from honestone.report.documents import fields_of
from honestone.report.documents.pairwise import (
    FoundQuoteDoc,
    LooksDoc,
    PairCheckDoc,
    PairCriterionDoc,
    PairwiseDoc,
)
from honestone.report.documents.scorecard import ArtifactDoc, UsageDoc
from honestone.report.templates import text_lines
from honestone.system.drawing import Style


class PairFacts(Struct, frozen=True, kw_only=True):
    """What a document says besides the comparison. `a` and `b` are (path, digest); quotes are
    looked up in `text`.
    """

    title: str
    rubric: str
    a: tuple[str, str]
    b: tuple[str, str]
    contract: str
    usage: UsageDoc
    text: str
    notes: Sequence[str] = ()
    packed: Mapping[str, Any] | None = None


def pairwise_document(
    comparison: Comparison, ballots: Sequence[Ballot], facts: PairFacts
) -> PairwiseDoc:
    """Preferences are from 0 (A is better) to 1 (B is better), not rounded; null where an answer is
    missing.
    """
    return PairwiseDoc(
        a=ArtifactDoc(path=facts.a[0], digest=facts.a[1]),
        b=ArtifactDoc(path=facts.b[0], digest=facts.b[1]),
        **fields_of(facts, "title", "rubric", "contract", "usage"),
        **fields_of(comparison, "preferred", "low_confidence", "inconsistent"),
        preference=share_of(comparison.preference),
        interval=[float(comparison.low), float(comparison.high)],
        criteria=[_criterion(one, facts.text) for one in comparison.lines],
        judges=judge_states(ballots),
        compared=comparison.pairs,
        first_position_rate=share_of(comparison.first_position_rate),
        packed=dict(facts.packed) if facts.packed else UNSET,
        notes=list(facts.notes) or UNSET,
    )


def _criterion(one: PairLine, text: str) -> PairCriterionDoc:
    criterion = one.criterion
    return PairCriterionDoc(
        **fields_of(criterion, "id", "requirement", "is_penalty"),
        **fields_of(one, "parent", "wins"),
        weight=as_written(criterion.weight),
        preference=share_of(one.preference),
        interval=[float(one.low), float(one.high)],
        by_judge={judge: _looks(looks, text) for judge, looks in one.by_judge.items()},
        checks=[
            PairCheckDoc(
                **fields_of(check.item, "id", "requirement"),
                **fields_of(check, "a", "b", "winner"),
                note=check.why,
            )
            for check in one.checks
        ],
    )


def _looks(looks: TwoLooks, text: str) -> LooksDoc:
    return LooksDoc(
        **fields_of(looks, "a_first", "b_first", "winner"),
        inconsistent=looks.is_inconsistent,
        evidence=[
            FoundQuoteDoc(quote=quote, found=_found(quote, text)) for quote in looks.evidence
        ],
        note=looks.why,
    )


def _found(quote: str, text: str) -> bool | None:
    return find_quote(quote, text) is not None if is_quote(quote) else None


# -------------------------------------------------------------------------------------------------------------
# text

_VERDICT: Final = {
    "a": "A is better",
    "b": "B is better",
    "tie": "neither is better",
    None: "could not be judged",
}


def pairwise_text(document: PairwiseDoc, style: Style) -> str:
    """The comparison for a terminal, drawn from its document."""
    look = {"a": "green", "b": "green", "tie": "yellow", None: "red"}[document.preferred]
    head = style.paint(_VERDICT[document.preferred].upper(), look, "bold")
    rows = text_lines(
        "pairwise.txt.j2", "page", doc=document, share=_share, glyph=style.glyph, points=_points
    )
    return style.finish(
        [f"{head}{style.glyph('between')}preference for B {_share(document)}", *rows]
    )


def _points(rate: float) -> str:
    return show_points(Fraction(rate))


def _share(entry: PairwiseDoc | PairCriterionDoc) -> str:
    low, high = map(_points, entry.interval)
    return low if low == high else f"{low}-{high}"
