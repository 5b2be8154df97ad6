"""How far raters agree (`honestone.agreement/1`), for people: the figures of the table, then the pairs of raters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from honestone.report.documents.agreement import AgreementDoc, IccDoc, RaterPairDoc
from honestone.report.markdown import md
from honestone.system.drawing import Style, count, cut_middle, line, pad, width

PLAIN: Final = Style()
MOST_PAIRS: Final = 60  # pairs of raters that are listed; the JSON has all

_NUMBERS: Final[tuple[tuple[str, Callable[[RaterPairDoc], float | None]], ...]] = (
    ("exact", lambda pair: pair.exact),
    ("kappa", lambda pair: pair.cohen_kappa),
    ("quadratic", lambda pair: pair.cohen_quadratic),
    ("Spearman", lambda pair: pair.spearman),
    ("mean diff", lambda pair: pair.mean_difference),
)


def agreement_text(doc: AgreementDoc, style: Style = PLAIN) -> str:
    lines = [style.paint(line(doc.table), "bold"), *(f"  {pad(name, 10)}  {told}" for name, told in _facts(doc)), ""]
    names = [f"{line(pair.a)} {style.glyph('arrow')} {line(pair.b)}" for pair in doc.pairs[:MOST_PAIRS]]
    left = min(max(map(width, names)), max(12, style.columns - 60))
    head = "".join(f"{name:>11}" for name in ("n", "alpha", *(name for name, _ in _columns(doc))))
    lines.append(style.paint(f"  {pad('', left)}{head}", "dim"))
    for name, pair in zip(names, doc.pairs, strict=False):
        shown = "".join(f"{one:>11}" for one in _cells(doc, pair))
        lines.append(f"  {pad(cut_middle(name, left, style.glyph('more')), left)}{shown}")
    return style.finish([*lines, *_more(doc)])


def agreement_markdown(doc: AgreementDoc) -> str:
    names = ["Pair", "n", "alpha", *(name for name, _ in _columns(doc))]
    lines = [f"# Agreement: {md(doc.table)}", "", *(f"- **{name}**: {md(told)}" for name, told in _facts(doc)), ""]
    lines += [f"| {' | '.join(names)} |", f"| --- |{' ---: |' * (len(names) - 1)}"]
    for pair in doc.pairs[:MOST_PAIRS]:
        lines.append(f"| {md(pair.a)} and {md(pair.b)} | {' | '.join(_cells(doc, pair))} |")
    return "\n".join([*lines, *_more(doc)]) + "\n"


def _facts(doc: AgreementDoc) -> Iterator[tuple[str, str]]:
    """Figures by name; those that are not defined are left out."""
    empty = f", {count(doc.missing, 'cell')} without a value" if doc.missing else ""
    everybody = f"{doc.complete_units:,} rated by all of {len(doc.raters)} raters"
    yield "units", f"{doc.units:,}, {everybody}{empty}"
    if doc.off_scale:
        first = doc.off_scale[0]
        where = f" ({', '.join(map(line, first.unit))})" if first.unit else ""
        yield "off scale", f"{len(doc.off_scale):,} left out, the first by {line(first.rater)}: {first.value}{where}"
    yield "alpha", f"{_number(_alpha_of(doc))} at level {doc.level} (Krippendorff)"
    if len(doc.raters) > 1:
        yield "kappa", f"{_number(doc.fleiss_kappa)} (Fleiss), {_number(doc.randolph_kappa)} (Randolph)"
        share = f"{doc.unanimous:,} of {count(doc.complete_units, 'unit')} unanimous"
        yield "agreement", f"{_number(doc.raw_agreement)} of the pairs of ratings, {share}"
    for name, icc in doc.icc.items():
        if icc.value is not None:
            yield f"ICC({name})", _icc(icc)


def _alpha_of(doc: AgreementDoc | RaterPairDoc, level: str = "") -> float | None:
    alpha = doc.alpha
    by_level = {"nominal": alpha.nominal, "ordinal": alpha.ordinal, "interval": alpha.interval, "ratio": alpha.ratio}
    return by_level[level or (doc.level if isinstance(doc, AgreementDoc) else "nominal")]


def _columns(doc: AgreementDoc) -> list[tuple[str, Callable[[RaterPairDoc], float | None]]]:
    """Words have no distances."""
    are_words = all(pair.mae is None for pair in doc.pairs)
    return list(_NUMBERS[:2] if are_words else _NUMBERS)


def _cells(doc: AgreementDoc, pair: RaterPairDoc) -> list[str]:
    figures = [_alpha_of(pair, doc.level), *(read(pair) for _, read in _columns(doc))]
    return [f"{pair.n:,}", *map(_number, figures)]


def _icc(icc: IccDoc) -> str:
    if icc.interval is None:
        return _number(icc.value)
    low, high = map(_number, icc.interval)
    return f"{_number(icc.value)}, 95% interval {low} to {high}"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _more(doc: AgreementDoc) -> list[str]:
    hidden = len(doc.pairs) - MOST_PAIRS
    return (
        [f"{count(hidden, 'more pair is', 'more pairs are')} left out here; --json has them all"] if hidden > 0 else []
    )
