"""How far raters agree (`honestone.agreement/1`), for people: the figures of the table, then the
pairs of raters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from honestone.report.documents.trust.agreement import AgreementDoc, IccDoc, RaterPairDoc
from honestone.report.trust.figures import FigureReport, FigureRow, FigureTable
from honestone.system.drawing import count, line

MOST_PAIRS: Final = 60  # pairs of raters that are listed; the JSON has all

_NUMBERS: Final[tuple[tuple[str, Callable[[RaterPairDoc], float | None]], ...]] = (
    ("exact", lambda pair: pair.exact),
    ("kappa", lambda pair: pair.cohen_kappa),
    ("quadratic", lambda pair: pair.cohen_quadratic),
    ("Spearman", lambda pair: pair.spearman),
    ("mean diff", lambda pair: pair.mean_difference),
)


def agreement_figures(doc: AgreementDoc, between: str = "and") -> FigureReport:
    """What the report on raters says. `between`: the word between the names of a pair."""
    pairs = doc.pairs[:MOST_PAIRS]
    return FigureReport(
        title="Agreement",
        subject=doc.table,
        facts=list(_facts(doc)),
        fact_names=10,
        tables=[
            FigureTable(
                named_by="Pair",
                heads=_heads(doc),
                rows=[
                    FigureRow(f"{line(one.a)} {between} {line(one.b)}", _cells(doc, one))
                    for one in pairs
                ],
                figure_width=11,
            )
        ],
        notes=_hidden_pairs(doc),
    )


def _heads(doc: AgreementDoc) -> list[str]:
    return ["n", "alpha", *(name for name, _ in _columns(doc))]


def _facts(doc: AgreementDoc) -> Iterator[tuple[str, str]]:
    """Figures by name; those that are not defined are left out."""
    empty = f", {count(doc.missing, 'cell')} without a value"
    everybody = f"{doc.complete_units:,} rated by all of {len(doc.raters)} raters"
    yield "units", f"{doc.units:,}, {everybody}{empty}"
    if doc.off_scale:
        first = doc.off_scale[0]
        where = f" ({', '.join(map(line, first.unit))})" if first.unit else ""
        yield (
            "off scale",
            f"{len(doc.off_scale):,} left out, the first by {line(first.rater)}: {first.value}{where}",
        )
    for note in doc.notes:
        yield "read as", line(note, 300)
    yield "alpha", f"{_three_places(_alpha_of(doc))} at level {doc.level} (Krippendorff)"
    if len(doc.raters) > 1:
        yield (
            "kappa",
            f"{_three_places(doc.fleiss_kappa)} (Fleiss), {_three_places(doc.randolph_kappa)} (Randolph)",
        )
        share = f"{doc.unanimous:,} of {count(doc.complete_units, 'unit')} unanimous"
        yield "agreement", f"{_three_places(doc.raw_agreement)} of the pairs of ratings, {share}"
    for one in doc.criteria:
        figures = f"alpha {_three_places(one.alpha)}, kappa {_three_places(one.kappa)}"
        rows = f"{count(one.units, 'unit')}, {count(one.missing, 'cell')} without a value"
        yield line(one.id), f"{_three_places(one.raw_agreement)} of the pairs, {figures}, {rows}"
    for name, icc in doc.icc.items():
        if icc.value is not None:
            yield f"ICC({name})", _icc(icc)


def _alpha_of(doc: AgreementDoc | RaterPairDoc, level: str = "") -> float | None:
    alpha = doc.alpha
    by_level = {
        "nominal": alpha.nominal,
        "ordinal": alpha.ordinal,
        "interval": alpha.interval,
        "ratio": alpha.ratio,
    }
    return by_level[level or (doc.level if isinstance(doc, AgreementDoc) else "nominal")]


def _columns(doc: AgreementDoc) -> list[tuple[str, Callable[[RaterPairDoc], float | None]]]:
    """Words have no distances."""
    are_words = all(pair.mae is None for pair in doc.pairs)
    return list(_NUMBERS[:2] if are_words else _NUMBERS)


def _cells(doc: AgreementDoc, pair: RaterPairDoc) -> list[str]:
    figures = [_alpha_of(pair, doc.level), *(read(pair) for _, read in _columns(doc))]
    return [f"{pair.n:,}", *map(_three_places, figures)]


def _icc(icc: IccDoc) -> str:
    if icc.interval is None:
        return _three_places(icc.value)
    low, high = map(_three_places, icc.interval)
    return f"{_three_places(icc.value)}, 95% interval {low} to {high}"


def _three_places(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _hidden_pairs(doc: AgreementDoc) -> list[str]:
    """A note on the pairs that are not listed."""
    hidden = len(doc.pairs) - MOST_PAIRS
    if hidden <= 0:
        return []
    return [f"{count(hidden, 'more pair is', 'more pairs are')} left out here; --json has them all"]
