"""The measured figures as tables of the docs. A table's place in a page is between `<!-- measured:
NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from cells import EXACT, FEWER_CALLS, HEADLINE, OTHERS, PANEL
from driver import KNOWS_THE_ERRORS, KNOWS_WHAT_TO_KEEP, ORACLE
from figures import Figure, Measured, Record, mean
from goals import goals
from worlds import World

PAGES: Final = ("docs/loop-benchmark.md", "docs/reference/loop-benchmark.md")
ORDER: Final = (
    PANEL,
    "plain",
    "keep-best",
    "belief",
    "strict",
    FEWER_CALLS,
    KNOWS_THE_ERRORS,
    KNOWS_WHAT_TO_KEEP,
    ORACLE,
)
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
        "runs",
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
    return (
        world.name,
        label,
        str(figures.runs),
        shown(one.false_share),
        shown(one.false_pass),
        shown(one.true_pass),
        shown(figures.final),
        shown(figures.regressed),
        f"{shown(figures.judge_calls, error=False)} (max {figures.judge_calls_max})",
        f"{shown(figures.worker_calls, error=False)} (max {figures.worker_calls_max})",
        "" if figures.stated.value is None else f".{figures.stated.value * 1000:03.0f}",
        shown(one.u3),
    )


def means(found: Record) -> str:
    """The number: U3, its mean over the four worlds and its minimum."""
    rows = []
    for label in ORDER:
        cells = [found[label, world.name].u3 for world in HEADLINE if (label, world.name) in found]
        if len(cells) == len(HEADLINE):
            lowest = min(cells, key=lambda one: one.value or 0.0)
            rows.append((label, shown(mean(cells)), shown(lowest)))
    return _table(("policy", "mean U3", "lowest U3"), iter(rows))


def others(found: Record) -> str:
    """keep-best and belief in worlds that nothing was tuned on."""
    head = (
        "world",
        "policy",
        "runs",
        "PASSes false %",
        "true %",
        "quality",
        "regressed %",
        "stated",
        "U3",
    )
    places = (0, 1, 2, 3, 5, 6, 7, 10, 11)
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
    labels = [
        label
        for label in (PANEL, "keep-best", "belief")
        if all((label, world.name) in found for world in HEADLINE)
    ]
    return _table(
        head,
        ((label, *(_in_short(found[label, world.name]) for world in HEADLINE)) for label in labels),
    )


def _in_short(one: Measured) -> str:
    return f"{_plain(one.true_pass)} right, {_plain(one.false_pass)} wrong"


def _plain(figure: Figure) -> str:
    return (
        "-"
        if figure.value is None
        else f"{figure.value:.0f}"
        if figure.value >= 9.5
        else f"{figure.value:.1f}"
    )


def shown(figure: Figure, *, error: bool = True) -> str:
    if figure.value is None:
        return "-"
    return f"{figure.value:.1f}" + (f" ±{figure.se:.1f}" if error and figure.se is not None else "")


def bars(found: Record) -> str:
    """What was asked of belief, and what it reached."""
    rows = (
        (
            goal.what,
            f"{'at most' if goal.is_most else 'at least'} {goal.bar:g}",
            shown(goal.figure),
            goal.outcome,
        )
        for goal in goals(found)
    )
    return _table(("goal", "bar", "measured", ""), rows)


TABLES: Final[Mapping[str, Callable[[Record], str]]] = {
    "headline": headline,
    "means": means,
    "others": others,
    "readme": readme,
    "goals": bars,
}
