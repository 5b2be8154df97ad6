"""How probable it is that enough cases of a suite truly pass, by every answer about their outputs.

The assumptions about the judges are those of `verdict`; here they share the evidence of all cases,
and the share of items that are met is learned over the cases too. Under one assumption the cases are
independent, so the number that pass is a sum of unequal coins. A case without a look decides
nothing: it counts as failed where a pass is in question, and as passed where a failure is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from operator import add, mul
from typing import Final, NamedTuple

from honestone.core.belief.counting import binomial, convolved
from honestone.core.belief.errors import ErrorModel, History
from honestone.core.belief.stated import Ground, StatedBelief, settled
from honestone.core.belief.verdict import (
    CLOSE,
    Assumption,
    ItemTally,
    TextBelief,
    assumptions,
    shares_met,
    uncertain,
)

# Shares of items that are met over a suite: many suites pass as a whole.
SUITE_SHARES: Final = (0.3, 0.6, 0.85, 0.95, 0.99)
# Looks a case, where nothing else is said.
LOOKS_PER_CASE: Final = 6
_TAIL: Final = 1e-12


@dataclass(frozen=True, slots=True)
class CaseBelief:
    """One case: `text` has the answers about its output. `certain`: what is known without a judge;
    False where its target failed. `is_short`: its looks do not say whether it passes, as where
    fewer judges answered than its rubric's quorum. `is_turned`: it passes where its output does not
    meet the contract.
    """

    id: str
    text: TextBelief | None = None
    certain: bool | None = None
    is_short: bool = False
    is_turned: bool = False

    @property
    def is_looked_at(self) -> bool:
        return self.certain is not None or self.has_looks

    @property
    def has_looks(self) -> bool:
        """Whether judges looked at it, and what they say tells whether it passes."""
        return self.text is not None and bool(self.text.looks) and not self.is_short

    @property
    def alone(self) -> float | None:
        """P(it passes) by what is known of it alone; None where no one looked."""
        if self.certain is not None:
            return float(self.certain)
        chance = self.text.probability if self.text is not None and self.has_looks else None
        return 1.0 - chance if chance is not None and self.is_turned else chance


class SuiteChance(NamedTuple):
    """P(the bar is met). `low`: if all cases without a look failed; `high`: if they passed."""

    chance: float
    low: float
    high: float


class Elsewhere(NamedTuple):
    """Answers about texts that none of a suite's cases has, counted once for many beliefs about it:
    as its `alongside`, and as its `apart`.
    """

    alongside: Sequence[ItemTally] = ()
    apart: Sequence[ItemTally] = ()

    @classmethod
    def of(cls, alongside: Sequence[TextBelief], apart: Sequence[TextBelief]) -> Elsewhere:
        return cls(_tallies(alongside), _tallies(apart))


NOWHERE: Final = Elsewhere()


class SuiteBelief:
    """What is believed about a suite of which `need` cases have to pass. `alongside`: texts of
    other suites that the same judges looked at; a text that is in both counts once as evidence.
    `apart`: texts that say how these judges err, and nothing of how many cases pass. So do those of
    turned cases: of these another share is met, which is learned from them alone.
    """

    def __init__(
        self,
        cases: Sequence[CaseBelief],
        need: int,
        alongside: Sequence[TextBelief] = (),
        apart: Sequence[TextBelief] = (),
        elsewhere: Elsewhere = NOWHERE,
    ) -> None:
        self.need = need
        self._cases = cases
        self._sure = sum(one.certain is True for one in cases)
        seen = [
            (one.text, one.is_turned)
            for one in cases
            if one.certain is None and one.text is not None and one.has_looks
        ]
        self._looked = [text for text, _ in seen]
        self._unseen = sum(one.certain is None and not one.is_looked_at for one in cases)
        self._groups = [
            (text, is_turned, alike)
            for is_turned in (False, True)
            for text, alike in _alike([text for text, turned in seen if turned is is_turned])
        ]
        turned = {id(text): text for text, is_turned in seen if is_turned}
        others = {id(text): text for text in (*self._looked, *alongside) if id(text) not in turned}
        self._turned = _tallies(list(turned.values()))
        self._shares_of_turned: dict[ErrorModel, Mapping[float, float]] = {}
        self._assumed: Mapping[Assumption, float] = {}
        if others or turned or elsewhere.alongside:
            judged = {id(text): text for text in (*apart, *turned.values())}
            self._assumed = assumptions(
                [*_tallies(list(others.values())), *elsewhere.alongside],
                shares=SUITE_SHARES,
                apart=[*_tallies(list(judged.values())), *elsewhere.apart],
            )

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self._cases)

    @property
    def chance(self) -> SuiteChance | None:
        """None where nothing was judged and something is open."""
        if not self._looked:
            if self._unseen:
                return _without_a_look(self._sure, self._unseen, self.need)
            certain = float(self._sure >= self.need)
            return SuiteChance(certain, certain, certain)
        return all_reached([self])

    def under(self, one: Assumption) -> SuiteChance:
        """P(the bar is met) if an assumption is so."""
        need = self.need - self._sure
        seen = self._distribution(one)
        return SuiteChance(
            seen.with_coins(self._unseen, one.met_share).at_least(need),
            seen.at_least(need),
            seen.at_least(need - self._unseen),
        )

    @property
    def assumed(self) -> Mapping[Assumption, float]:
        """What may be so of judges and cases, and how probable each is."""
        return self._assumed

    def _distribution(self, one: Assumption) -> _Count:
        found = _Count(0, [1.0])
        for text, is_turned, alike in self._groups:
            found = found.with_coins(alike, self._passes(text, is_turned, one))
        return found

    @property
    def expected(self) -> float:
        """How many of the cases that were looked at, or are certain, are expected to pass."""
        looked = sum(
            [
                alike * self.passing(text, is_turned=is_turned)
                for text, is_turned, alike in self._groups
            ]
        )
        return self._sure + looked

    def by_case(self) -> dict[str, float]:
        """P(it passes) of each case that is certain or was looked at."""
        known: dict[object, float] = {}
        found: dict[str, float] = {}
        for case in self._cases:
            if case.certain is not None:
                found[case.id] = float(case.certain)
            elif case.text is not None and case.has_looks:
                key = case.is_turned, case.text.signature or id(case.text)
                if key not in known:
                    known[key] = self.passing(case.text, is_turned=case.is_turned)
                found[case.id] = known[key]
        return found

    def passing(self, text: TextBelief, *, is_turned: bool = False) -> float:
        """P(one case passes), with what all cases say about the judges."""
        return sum(
            [weight * self._passes(text, is_turned, one) for one, weight in self._assumed.items()]
        )

    def _passes(self, text: TextBelief, is_turned: bool, one: Assumption) -> float:
        """P(one case passes) if an assumption is so."""
        if not is_turned:
            return text.under(one)
        errors = one.errors
        if errors not in self._shares_of_turned:
            self._shares_of_turned[errors] = shares_met(errors, self._turned)
        shares = self._shares_of_turned[errors].items()
        return 1.0 - sum([weight * text.under(Assumption(errors, met)) for met, weight in shares])


def all_reached(suites: Sequence[SuiteBelief]) -> SuiteChance:
    """P(every one of these suites reaches its bar), by the evidence that they share: each was made
    with the texts of the others next to it. Without a text the chance is unknown.
    """
    totals = [0.0, 0.0, 0.0]
    for one, weight in suites[0].assumed.items():
        found = SuiteChance(weight, weight, weight)
        for suite in suites:
            found = SuiteChance(*map(mul, found, suite.under(one)))
        totals = list(map(add, totals, found))
    return SuiteChance(*map(uncertain, totals))


def _tallies(texts: Sequence[TextBelief]) -> list[ItemTally]:
    counts: dict[History, int] = {}
    for text, alike in _alike(texts):
        for history, items in text.tallies:
            counts[history] = counts.get(history, 0) + items * alike
    return [ItemTally(history, items) for history, items in counts.items()]


def _without_a_look(sure: int, unseen: int, need: int) -> SuiteChance | None:
    if sure >= need:
        return SuiteChance(1.0, 1.0, 1.0)
    return SuiteChance(0.0, 0.0, 0.0) if sure + unseen < need else None


class _Count(NamedTuple):
    """P(count) for `first` and those that follow."""

    first: int
    chances: Sequence[float]

    def with_coins(self, coins: int, chance: float) -> _Count:
        if not coins:
            return self
        first, more = binomial(coins, chance)
        return _Count(self.first + first, convolved(self.chances, more))

    def at_least(self, least: int) -> float:
        return min(sum(self.chances[max(least - self.first, 0) :]), 1.0)


def _alike(texts: Sequence[TextBelief]) -> list[tuple[TextBelief, int]]:
    """Texts with equal answers once, with how many there are."""
    first: dict[object, TextBelief] = {}
    counts: dict[object, int] = {}
    for text in texts:
        key = text.signature or id(text)
        first.setdefault(key, text)
        counts[key] = counts.get(key, 0) + 1
    return [(text, counts[key]) for key, text in first.items()]


def better_than(now: Mapping[str, float], before: Mapping[str, float]) -> tuple[float, float]:
    """P(more of the shared cases truly pass now than before), and P(fewer do). Both are by case the
    probability that it passes.
    """
    found = {0: 1.0}
    for id in sorted(now.keys() & before.keys()):  # sums of floats depend on the order
        up, down = now[id] * (1.0 - before[id]), before[id] * (1.0 - now[id])
        moved: dict[int, float] = {}
        for by, chance in found.items():
            for step, share in ((1, up), (-1, down), (0, 1.0 - up - down)):
                if share * chance > _TAIL:
                    moved[by + step] = moved.get(by + step, 0.0) + chance * share
        found = moved
    return (
        sum([chance for by, chance in found.items() if by > 0]),
        sum([chance for by, chance in found.items() if by < 0]),
    )


# ------------------------------------------------------------------------------------------------------------
# what a run states


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteBar:
    """What a suite is held to: the share of cases that has to pass, how sure that has to be (0-1;
    None: nothing is asked for), and the limit of looks.
    """

    least: Fraction
    sure: Fraction | None = None
    max_looks: int | None = None

    def need(self, cases: int) -> int:
        return ceil(self.least * cases)

    def looks(self, cases: int) -> int:
        """The most looks at all cases."""
        return self.max_looks or LOOKS_PER_CASE * cases


def suite_belief(cases: Sequence[CaseBelief], bar: SuiteBar) -> StatedBelief | None:
    """How sure it is that enough cases pass; None where nothing was judged."""
    if not cases:
        return None
    need = bar.need(len(cases))
    chance = SuiteBelief(cases, need).chance
    if chance is None:
        return None
    looks: dict[str, int] = {}
    for one in cases:
        for judge, count in (one.text.looks if one.text is not None else {}).items():
            looks[judge] = looks.get(judge, 0) + count
    certain = sum(one.certain is not None for one in cases)
    not_asked = sum(not (one.is_looked_at or one.is_short) for one in cases)
    found = StatedBelief(
        probability=_stated(chance, bar.sure),
        target=None if bar.sure is None else float(bar.sure),
        looks=sum(looks.values()),
        max_looks=None if bar.sure is None else bar.looks(len(cases)),
        rests_on=(
            *[Ground(kind="looks", judge=judge, looks=count) for judge, count in looks.items()],
            *([Ground(kind="checks", items=certain)] if certain else []),
        ),
        subject=f"at least {need:,} of {len(cases):,} cases pass",
        not_asked=not_asked,
    )
    return settled(found)


def _stated(chance: SuiteChance, sure: Fraction | None) -> float:
    """Where a bar is reached only by what is assumed of cases without a look, it is not reached."""
    if sure is None or chance.low == chance.high:
        return chance.chance
    target = float(sure)
    if chance.low >= target:
        return chance.low
    if chance.high <= 1.0 - target:
        return chance.high
    inside = min(max(chance.chance, 1.0 - target + CLOSE), target - CLOSE)
    return min(max(inside, chance.low), chance.high)
