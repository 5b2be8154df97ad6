"""A comparison of two artifacts as a document (`honestone.pairwise/1`) and as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from msgspec import UNSET

from honestone.core.ballot import Ballot
from honestone.core.numbers import show_points
from honestone.core.pairwise import Comparison, PairLine, TwoLooks
from honestone.core.reading.evidence import find_quote, is_quote
from honestone.core.rubric import as_written
from honestone.report.documents.pairwise import FoundQuoteDoc, LooksDoc, PairCheckDoc, PairCriterionDoc, PairwiseDoc
from honestone.report.documents.scorecard import ArtifactDoc, UsageDoc
from honestone.report.scorecard import judge_states
from honestone.system.drawing import Style, line


@dataclass(frozen=True, slots=True, kw_only=True)
class PairFacts:
    """What a document says besides the comparison. `a` and `b` are (path, digest); quotes are looked up in `text`."""

    title: str
    rubric: str
    a: tuple[str, str]
    b: tuple[str, str]
    contract: str
    usage: UsageDoc
    text: str
    notes: Sequence[str] = ()
    packed: Mapping[str, Any] | None = None


def pairwise_document(comparison: Comparison, ballots: Sequence[Ballot], facts: PairFacts) -> PairwiseDoc:
    """Preferences are from 0 (A is better) to 1 (B is better), not rounded; null where an answer is missing."""
    return PairwiseDoc(
        title=facts.title,
        rubric=facts.rubric,
        a=ArtifactDoc(path=facts.a[0], digest=facts.a[1]),
        b=ArtifactDoc(path=facts.b[0], digest=facts.b[1]),
        preferred=comparison.preferred,
        preference=_number(comparison.preference),
        interval=[float(comparison.low), float(comparison.high)],
        low_confidence=comparison.low_confidence,
        criteria=[_criterion(one, facts.text) for one in comparison.lines],
        judges=judge_states(ballots),
        compared=comparison.pairs,
        inconsistent=comparison.inconsistent,
        first_position_rate=_number(comparison.first_position_rate),
        contract=facts.contract,
        usage=facts.usage,
        packed=dict(facts.packed) if facts.packed else UNSET,
        notes=list(facts.notes) or UNSET,
    )


def _number(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _criterion(one: PairLine, text: str) -> PairCriterionDoc:
    criterion = one.criterion
    return PairCriterionDoc(
        id=criterion.id,
        parent=one.parent,
        requirement=criterion.requirement,
        weight=as_written(criterion.weight),
        is_penalty=criterion.is_penalty,
        preference=_number(one.preference),
        interval=[float(one.low), float(one.high)],
        wins=one.wins,
        by_judge={judge: _looks(looks, text) for judge, looks in one.by_judge.items()},
        checks=[
            PairCheckDoc(
                id=check.item.id,
                requirement=check.item.requirement,
                a=check.a,
                b=check.b,
                winner=check.winner,
                note=check.why,
            )
            for check in one.checks
        ],
    )


def _looks(looks: TwoLooks, text: str) -> LooksDoc:
    return LooksDoc(
        a_first=looks.a_first,
        b_first=looks.b_first,
        winner=looks.winner,
        inconsistent=looks.is_inconsistent,
        evidence=[FoundQuoteDoc(quote=quote, found=_found(quote, text)) for quote in looks.evidence],
        note=looks.why,
    )


def _found(quote: str, text: str) -> bool | None:
    return find_quote(quote, text) is not None if is_quote(quote) else None


# ------------------------------------------------------------------------------------------------------------- text

_VERDICT: Final = {"a": "A is better", "b": "B is better", "tie": "neither is better", None: "could not be judged"}


def pairwise_text(document: PairwiseDoc, style: Style) -> str:
    """The comparison for a terminal, drawn from its document."""
    look = {"a": "green", "b": "green", "tie": "yellow", None: "red"}[document.preferred]
    head = _VERDICT[document.preferred]
    between = style.glyph("between")
    out = [
        style.paint(head.upper(), look, "bold") + f"{between}preference for B {_share(document)}",
        f"  A  {line(document.a.path)}",
        f"  B  {line(document.b.path)}",
        "",
    ]
    for criterion in document.criteria:
        out += _criterion_text(criterion, style)
    out += ["", *_judges_text(document, style)]
    out += [f"{style.glyph('warn')} {line(note)}" for note in document.notes or ()]
    return style.finish(out)


def _share(entry: PairwiseDoc | PairCriterionDoc) -> str:
    low, high = (show_points(Fraction(number)) for number in entry.interval)
    return low if low == high else f"{low}-{high}"


def _criterion_text(criterion: PairCriterionDoc, style: Style) -> list[str]:
    indent = "    " if criterion.parent else "  "
    wins = criterion.wins
    votes = ", ".join(
        f"{count} {name}" for name, count in (("A", wins["a"]), ("B", wins["b"]), ("tie", wins["tie"])) if count
    )
    kind = "penalty " if criterion.is_penalty else ""
    tail = f"  judges: {votes}" if votes else ""
    out = [f"{indent}{_share(criterion):>11}  {line(criterion.id)} ({kind}weight {criterion.weight}){tail}"]
    for check in criterion.checks:
        out.append(
            f"{indent}             check {line(check.id)}: A {_met(check.a)}, B {_met(check.b)}"
            + (f" ({line(check.note)})" if check.note else "")
        )
    for judge, looks in criterion.by_judge.items():
        if looks.inconsistent:
            said = f"{looks.a_first} with A first, {looks.b_first} with B first"
            out.append(f"{indent}             {style.glyph('split')} {line(judge)} contradicts itself: {said}")
        elif looks.winner is None:
            out.append(f"{indent}             {style.glyph('unknown')} {line(judge)}: {line(looks.note or '')}")
    return out


def _met(met: bool | None) -> str:
    return "unknown" if met is None else "met" if met else "unmet"


def _judges_text(document: PairwiseDoc, style: Style) -> list[str]:
    out = []
    for judge in document.judges:
        reason = f": {line(judge.reason)}" if judge.reason else ""
        out.append(f"  {line(judge.id)} {judge.state}{reason}")
    rate = document.first_position_rate
    if rate is not None:
        out.append(
            f"  the first place won {show_points(Fraction(rate))} of 100 (50 is unbiased); "
            f"{document.inconsistent} of {document.compared} comparisons changed with the order and count as ties"
        )
    if document.low_confidence:
        out.append("  LOW CONFIDENCE: fewer than two judges on a criterion")
    usage = document.usage
    out.append(f"  {usage.judge_calls} judge calls, {usage.cached_calls} from the record")
    return out
