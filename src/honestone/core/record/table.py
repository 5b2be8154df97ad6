"""Several columns of one suite, each a target with an artifact: tested in pairs, and the cheapest
that passes.

p            exact McNemar: two-sided binomial over the cases that only one of the two passed (McNemar 1947)
p_adjusted   Holm's step-down over all pairs: the more columns, the stricter (Holm 1979)
interval     95% of the difference of two paired rates: Newcombe's score interval (1998, method 10)
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.events import ColumnPicked, Event, RunFinished, TableStarted
from honestone.core.judging.scorecard import Outcome, are_undecided, overall
from honestone.core.record.record import SuiteRecord
from honestone.core.statistics.rates import wilson
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide, sign_test

_SKIPPED = CaseSide(status=Status.SKIPPED)


class ColumnPair(Struct, frozen=True, kw_only=True):
    """Column `a` against column `b`. `wins` are cases that only `a` passed, `losses` those that
    only `b` passed.

    `delta` is the pass rate of `a` minus that of `b`, 0-1; None, as its interval, while a case is
    undecided in one of them. `p` is over the decided cases.
    """

    a: str
    b: str
    wins: int
    losses: int
    undecided: int
    delta: Fraction | None
    interval: tuple[float, float] | None
    p: float
    p_adjusted: float


def compare_columns(columns: Mapping[str, Mapping[str, CaseSide]]) -> tuple[ColumnPair, ...]:
    """Every pair, in the order of the columns; each column is its cases by id."""
    pairs = [_pair(a, b, columns[a], columns[b]) for a, b in combinations(columns, 2)]
    adjusted = holm([pair.p for pair in pairs])
    return tuple(replace(pair, p_adjusted=p) for pair, p in zip(pairs, adjusted, strict=True))


def _pair(
    a: str, b: str, left: Mapping[str, CaseSide], right: Mapping[str, CaseSide]
) -> ColumnPair:
    sides = [(left.get(id, _SKIPPED), right.get(id, _SKIPPED)) for id in {**left, **right}]
    sides = [pair for pair in sides if any(side.status is not Status.SKIPPED for side in pair)]
    decided = [
        (one.passes, other.passes) for one, other in sides if one.is_decided and other.is_decided
    ]
    wins, losses = decided.count((1, 0)), decided.count((0, 1))
    is_whole = bool(decided) and len(decided) == len(sides)
    return ColumnPair(
        a=a,
        b=b,
        wins=wins,
        losses=losses,
        undecided=len(sides) - len(decided),
        delta=Fraction(wins - losses, len(decided)) if is_whole else None,
        interval=paired_interval(decided.count((1, 1)), wins, losses, decided.count((0, 0)))
        if is_whole
        else None,
        p=sign_test(wins, losses),
        p_adjusted=1.0,
    )


def holm(ps: Sequence[float]) -> list[float]:
    """p values adjusted for their number, in the order given: none is below its own, and their
    order stays.
    """
    adjusted = [1.0] * len(ps)
    highest = 0.0
    for rank, index in enumerate(sorted(range(len(ps)), key=lambda index: ps[index])):
        highest = max(highest, min(1.0, (len(ps) - rank) * ps[index]))
        adjusted[index] = highest
    return adjusted


def paired_interval(both: int, wins: int, losses: int, neither: int) -> tuple[float, float]:
    """95% interval of the first rate minus the second, from the four counts of paired cases; holds
    the difference.
    """
    of = both + wins + losses + neither
    first, second = (both + wins) / of, (both + losses) / of
    (low1, high1), (low2, high2) = wilson(both + wins, of), wilson(both + losses, of)
    phi = _phi(both, wins, losses, neither)
    below = _joined(first - low1, high2 - second, phi)
    above = _joined(high1 - first, second - low2, phi)
    return first - second - below, first - second + above


def _joined(one: float, other: float, phi: float) -> float:
    return sqrt(max(0.0, one * one - 2 * phi * one * other + other * other))


def _phi(both: int, wins: int, losses: int, neither: int) -> float:
    """How far the two agree, -1 to 1, as method 10 has it: a positive agreement is corrected for
    continuity.
    """
    margins = (both + wins) * (losses + neither) * (both + losses) * (wins + neither)
    if margins == 0:
        return 0.0
    cross: float = both * neither - wins * losses
    if cross > 0:
        cross = max(0.0, cross - (both + wins + losses + neither) / 2)
    return cross / sqrt(margins)


# -----------------------------------------------------------------------------------------------------------
# choosing


class Cost(Struct, frozen=True, kw_only=True):
    """What a column's target cost over the suite, without judges. `usd` is None unless the target
    reported all of it.
    """

    usd: float | None
    calls: int


def cost_of(record: SuiteRecord) -> Cost:
    spends = [made.spend for case in record.cases.values() for made in case.produced.values()]
    known = [spend.usd for spend in spends if spend.usd is not None]
    is_known = bool(spends) and len(known) == len(spends)
    return Cost(
        usd=sum(known) if is_known else None, calls=sum(spend.target_calls for spend in spends)
    )


def cheapest(passing: Mapping[str, Cost]) -> str | None:
    """The cheapest column: by money where that is known for all, else by calls; of equal ones the
    first.
    """
    by_money = all(cost.usd is not None for cost in passing.values())
    return min(
        passing,
        key=lambda name: (passing[name].usd if by_money else passing[name].calls) or 0,
        default=None,
    )


def worst(verdicts: Iterable[str]) -> Outcome:
    """The worst of the verdicts of columns: a failure is worse than what could not be judged.
    `error`, of a skill, showed nothing.
    """
    return overall({Outcome.INCONCLUSIVE if one == "error" else Outcome(one) for one in verdicts})


# ------------------------------------------------------------------------------------------------------------
# a record


class TableRecord(Struct, kw_only=True):
    """A table as far as it got: its columns by name, each the record of a run. `picks`: the
    cheapest that passes was asked for, and is `picked` where there is one.
    """

    run: str
    started: TableStarted
    columns: Mapping[str, SuiteRecord]
    picks: bool = False
    picked: str | None = None
    seconds: float = 0.0

    def add(self, event: Event) -> None:
        match event:
            case ColumnPicked():
                self.picks, self.picked = True, event.column
            case RunFinished():
                self.seconds = event.seconds or 0.0

    @property
    def verdict(self) -> Outcome:
        """The worst column's; where one was to be picked, it passes when one is."""
        return (
            Outcome.PASS
            if self.picked is not None
            else worst(one.verdict for one in self.columns.values())
        )

    @property
    def is_undecided(self) -> bool:
        """Whether no column that is open lacks an answer."""
        columns = self.columns.values()
        return are_undecided(
            one.is_undecided for one in columns if one.verdict == Outcome.INCONCLUSIVE
        )

    @property
    def cheapest(self) -> str | None:
        return cheapest(
            {
                name: cost_of(one)
                for name, one in self.columns.items()
                if one.verdict == Outcome.PASS
            }
        )

    @property
    def pairs(self) -> tuple[ColumnPair, ...]:
        return compare_columns(
            {
                name: {id: CaseSide(status=result.status) for id, result in one.results.items()}
                for name, one in self.columns.items()
            }
        )


def set_apart(texts: Sequence[str]) -> list[str]:
    """What of each text the others do not have in common at its beginning or end, by whole words
    and parts of paths: `cmd:python3 tools/a.py` and `cmd:python3 tools/b.py` are `a.py` and `b.py`.
    In full where nothing would be left.
    """
    parts = [re.split(r"(\s+|/)", text) for text in texts]
    first = _common(parts)
    last = _common([list(reversed(one[first:])) for one in parts])
    found = ["".join(one[first : len(one) - last]).strip(" /") for one in parts]
    return found if all(found) else list(texts)


def _common(parts: Sequence[Sequence[str]]) -> int:
    """How many of the first parts are the same in all."""
    return next(
        (n for n, same in enumerate(zip(*parts, strict=False)) if len(set(same)) > 1),
        min(map(len, parts)),
    )
