"""The measured figures as tables of the docs. A table's place in a page is between `<!-- measured: NAME -->` and
`<!-- end -->`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import sqrt
from statistics import fmean
from typing import Final, TypeAlias

import msgspec
from cells import EXACT, FEWER_CALLS, HEADLINE, OTHERS, PANEL
from driver import ORACLE
from figures import PRICE_OF_A_FALSE_PASS, Figure, Figures
from worlds import World


class Measured(msgspec.Struct, frozen=True):
    """One cell of the leaderboard."""

    label: str
    figures: Figures


Record: TypeAlias = Mapping[tuple[str, str], Measured]
PAGES: Final = ("README.md", "docs/loop-benchmark.md")
ORDER: Final = (PANEL, "plain", "keep-best", "belief", "strict", FEWER_CALLS, ORACLE)
_PLACE: Final = re.compile(r"(<!-- measured: ([a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def written(page: str, found: Record) -> str:
    """The page with the tables as they are measured."""
    return _PLACE.sub(lambda place: f"{place[1]}\n{TABLES[place[2]](found)}\n\n{place[3]}", page)


# -- tables


def _table(head: Sequence[str], rows: Iterator[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def headline(found: Record) -> str:
    """Every policy in the four worlds."""
    head = (
        "world",
        "policy",
        "PASSes false %",
        "false %",
        "true %",
        "quality",
        "regressed %",
        "judge calls",
        "edits",
        "stated",
        "U3",
    )
    return _table(
        head,
        (
            _row(world, label, found[key])
            for world in HEADLINE
            for label in ORDER
            if (key := (label, world.name)) in found
        ),
    )


def _row(world: World, label: str, one: Measured) -> Sequence[str]:
    figures = one.figures
    true, false = passes(one)
    return (
        world.name,
        label,
        shown(false_share(one)),
        shown(false),
        shown(true),
        shown(figures.final),
        shown(figures.regressed),
        f"{shown(figures.judge_calls, error=False)} (max {figures.judge_calls_max})",
        f"{shown(figures.worker_calls, error=False)} (max {figures.worker_calls_max})",
        "" if figures.stated.value is None else f".{figures.stated.value * 1000:03.0f}",
        shown(utility(one)),
    )


def means(found: Record) -> str:
    """The number: U3, its mean over the four worlds and its minimum."""
    rows = []
    for label in ORDER:
        cells = [utility(found[label, world.name]) for world in HEADLINE if (label, world.name) in found]
        if len(cells) == len(HEADLINE):
            lowest = min(cells, key=lambda one: one.value or 0.0)
            rows.append((label, shown(mean(cells)), shown(lowest)))
    return _table(("policy", "mean U3", "lowest U3"), iter(rows))


def others(found: Record) -> str:
    """keep-best and belief in worlds that nothing was tuned on."""
    head = ("world", "policy", "PASSes false %", "true %", "quality", "regressed %", "stated", "U3")
    places = (0, 1, 2, 4, 5, 6, 9, 10)
    rows = (
        _row(world, label, found[label, world.name])
        for world in (*OTHERS, *EXACT)
        for label in ORDER
        if (label, world.name) in found
    )
    return _table(head, ([row[place] for place in places] for row in rows))


def readme(found: Record) -> str:
    """Three loops, and how often each is right."""
    head = ("of 100 runs", *(world.name for world in HEADLINE))
    labels = [label for label in (PANEL, "keep-best", "belief") if (label, HEADLINE[0].name) in found]
    return _table(head, ((label, *(_in_short(found[label, world.name]) for world in HEADLINE)) for label in labels))


def _in_short(one: Measured) -> str:
    true, false = passes(one)
    return f"{_plain(true)} right, {_plain(false)} wrong"


def _plain(figure: Figure) -> str:
    return "-" if figure.value is None else f"{figure.value:.0f}" if figure.value >= 9.5 else f"{figure.value:.1f}"


# -- figures


def passes(one: Measured) -> tuple[Figure, Figure]:
    """True and false PASSes, percent of runs; where the panel's word counts, by that."""
    figures = one.figures
    if one.label == PANEL:
        return figures.panel_true_pass, figures.panel_false_pass
    return figures.true_pass, figures.false_pass


def false_share(one: Measured) -> Figure:
    if one.label != PANEL:
        return one.figures.false_share
    true, false = (figure.value or 0.0 for figure in passes(one))
    if not true + false:
        return Figure(None, None)
    share = false / (true + false)
    return Figure(100 * share, 100 * sqrt(share * (1 - share) / ((true + false) / 100 * one.figures.runs)))


def utility(one: Measured) -> Figure:
    """U3: true minus three times false, of 100 runs."""
    if one.label != PANEL:
        return one.figures.u3
    true, false = (figure.value or 0.0 for figure in passes(one))
    value = true - PRICE_OF_A_FALSE_PASS * false
    variance = 100 * true + 100 * PRICE_OF_A_FALSE_PASS**2 * false - value**2
    return Figure(value, sqrt(variance / max(one.figures.runs - 1, 1)))


def mean(cells: Sequence[Figure]) -> Figure:
    """Of independent cells."""
    errors = [one.se or 0.0 for one in cells]
    return Figure(fmean(one.value or 0.0 for one in cells), sqrt(sum(e * e for e in errors)) / len(cells))


def shown(figure: Figure, *, error: bool = True) -> str:
    if figure.value is None:
        return "-"
    return f"{figure.value:.1f}" + (f" ±{figure.se:.1f}" if error and figure.se is not None else "")


TABLES: Final[Mapping[str, Callable[[Record], str]]] = {
    "headline": headline,
    "means": means,
    "others": others,
    "readme": readme,
}
