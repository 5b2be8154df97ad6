"""How probable it is that enough cases of a suite truly pass, by every answer about their outputs.

The assumptions about the judges are those of `verdict`; here they share the evidence of all cases,
and the share of items that are met is learned over the cases too. Under one assumption the cases are
independent, so the number that pass is a sum of unequal coins. A case without a look decides
nothing: it counts as failed where a pass is in question, and as passed where a failure is. So does
an attempt without one, where a case has several, and what has no output since its target failed.

Cases of one text, the same question with the same output (`CaseBelief.name`), pass or fail together: they
are one coin that is worth as many cases, and what judges answered about it is evidence once. So are cases of
several attempts that all gave the same, one by one. Those that share some of their attempts only are
taken to be independent, and what was answered about a shared attempt counts for each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, sqrt
from operator import add, mul
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief.counting import binomial, convolved
from honestone.core.belief.errors import ErrorModel, History
from honestone.core.belief.stated import EVEN, Ground, StatedBelief, settled
from honestone.core.belief.verdict import (
    CLOSE,
    MET_SHARES,
    Assumption,
    ItemTally,
    TextBelief,
    assumptions,
    shares_met,
    uncertain,
)

# Shares of items that are met over a suite: many suites pass as a whole.
SUITE_SHARES: Final = (0.3, 0.6, 0.85, 0.95, 0.99)
# Looks at each attempt of a case, where nothing else is said.
LOOKS_PER_CASE: Final = 6
# An assumption is likely from this part of the probability of the likeliest one on.
LIKELY: Final = 0.1
# A case whose outcome varies less is settled.
SETTLED: Final = 0.03


class CaseBelief(Struct, frozen=True):
    """One case: `text` has the answers about its output. `certain`: what is known without a judge.
    `is_short`: its looks do not say whether it passes, as where fewer judges answered than its
    rubric's quorum. `is_down`: its target failed, so no look will say whether it passes. `is_turned`: it passes where its output does not
    meet the contract.

    `attempts`: those of a case that passes where `needed` of them do, each like a case of its own.
    `name`: of its text and question; cases with equal ones are one text (None: not known).
    `others`: texts that say how judges err, and nothing of whether it passes, as those of attempts
    that are not its best one. `made_of`: texts whose answers `text` has, as the mean of them. `tries`: how many attempts there may be, each of which may be looked at.
    """

    id: str
    text: TextBelief | None = None
    certain: bool | None = None
    is_short: bool = False
    is_turned: bool = False
    attempts: tuple[CaseBelief, ...] = ()
    needed: int = 1
    others: tuple[TextBelief, ...] = ()
    made_of: tuple[TextBelief, ...] = ()
    tries: int = 1
    is_down: bool = False
    name: Hashable = None

    @classmethod
    def without_output(cls, id: str) -> CaseBelief:
        """One whose target failed: it neither passes nor fails."""
        return cls(id, is_short=True, is_down=True)

    @classmethod
    def sure(cls, id: str, *, passes: bool, others: Sequence[CaseBelief]) -> CaseBelief:
        """One that no judge can change any more; what was looked at says how judges err."""
        return cls(
            id,
            certain=passes,
            is_turned=any(one.is_turned for one in others),
            others=tuple([text for one in others for text in one.evidence]),
        )

    @classmethod
    def of_attempts(cls, id: str, attempts: Sequence[CaseBelief], needed: int) -> CaseBelief:
        """It is certain where enough of them are."""
        if len(attempts) == 1:
            return attempts[0]
        known = sum(one.certain is True for one in attempts)
        if known >= needed:
            return cls.sure(id, passes=True, others=attempts)
        if sum(one.certain is not False for one in attempts) < needed:
            return cls.sure(id, passes=False, others=attempts)
        is_short = any(one.is_short for one in attempts)
        return cls(id, is_short=is_short, attempts=tuple(attempts), needed=needed)

    @property
    def is_looked_at(self) -> bool:
        return self.certain is not None or self.has_looks

    @property
    def has_looks(self) -> bool:
        """Whether judges looked at it, and what they say tells whether it passes."""
        if self.attempts:
            return any(one.has_looks for one in self.attempts)
        return self.text is not None and bool(self.text.looks) and not self.is_short

    @property
    def can_pass(self) -> bool:
        """Whether it has enough attempts that are not settled without a pass."""
        if self.attempts:
            return sum(one.can_pass for one in self.attempts) >= self.needed
        return self.certain is not False and not self.is_down

    @property
    def texts(self) -> Sequence[TextBelief]:
        """What was looked at, of every attempt."""
        if self.attempts:
            return [text for one in self.attempts for text in one.texts]
        return [*([] if self.text is None else [self.text]), *self.others]

    @property
    def evidence(self) -> Sequence[TextBelief]:
        """Those of them that say how judges err."""
        if self.attempts:
            return [text for one in self.attempts for text in one.evidence]
        return self.texts if self.is_looked_at else self.others

    @property
    def kind(self) -> Hashable:
        """Cases with equal ones are equally likely to pass."""
        if self.attempts:
            return self.needed, frozenset(Counter(one.kind for one in self.attempts).items())
        if self.text is None or not self.has_looks:
            return self.certain
        return self.certain, self.is_turned, self.text.signature or id(self.text)

    @property
    def alone(self) -> float | None:
        """P(it passes) by what is known of it alone; None where no one looked, or where it depends
        on attempts that no one looked at.
        """
        if self.certain is not None:
            return float(self.certain)
        if self.attempts:
            return _alone(self)
        chance = self.text.probability if self.text is not None and self.has_looks else None
        return 1.0 - chance if chance is not None and self.is_turned else chance


class SuiteChance(NamedTuple):
    """P(the bar is met). `low`: if all cases without a look failed; `high`: if they passed. Of a
    case with several attempts: P(it passes), and the same of attempts without a look.
    """

    chance: float
    low: float
    high: float


def _whatever_else(found: SuiteChance) -> float | None:
    """P(a case passes) whatever attempts without a look come to; None where it depends on them."""
    if found.low >= EVEN:
        return found.low
    return found.high if found.high < EVEN or found.low == found.high else None


class Elsewhere(NamedTuple):
    """Answers about texts that none of a suite's cases has, counted once for many beliefs about it.
    `alongside`: of other suites that the same judges looked at. `apart`: they say how these judges
    err, and nothing of how many cases pass.
    """

    alongside: Sequence[ItemTally] = ()
    apart: Sequence[ItemTally] = ()

    @classmethod
    def of(
        cls,
        alongside: Iterable[TextBelief],
        apart: Iterable[TextBelief],
        cases: Iterable[CaseBelief] = (),
    ) -> Elsewhere:
        """A text that one of the `cases` counts is left out, and so is a second time."""
        seen = {id(text) for case in cases for text in _seen_texts(case)}
        near = {id(text): text for text in alongside if id(text) not in seen}
        far = {id(text): text for text in apart if id(text) not in seen}
        return cls(_tallies(list(near.values())), _tallies(list(far.values())))


NOWHERE: Final = Elsewhere()


def _seen_texts(case: CaseBelief) -> Iterator[TextBelief]:
    """The texts that a suite's belief rests on."""
    yield from (one.text for one in _parts(case) if one.text is not None)
    if case.is_looked_at:
        yield from (*case.others, *case.made_of)


def _parts(case: CaseBelief) -> Iterator[CaseBelief]:
    """The case, or its attempts, where looks tell whether they pass."""
    for one in case.attempts or (case,):
        if one.certain is None and one.text is not None and one.has_looks:
            yield one


def as_one(cases: Sequence[CaseBelief]) -> Sequence[CaseBelief]:
    """The same cases; those of one text all have what most looks say of it."""
    counts = Counter([one.name for one in cases if one.name is not None])
    if len(counts) == sum(counts.values()):
        return cases
    best: dict[Hashable, CaseBelief] = {}
    for one in cases:
        if counts[one.name] > 1 and (
            one.name not in best or _weight_of(one) > _weight_of(best[one.name])
        ):
            best[one.name] = one
    return [replace(best[one.name], id=one.id) if one.name in best else one for one in cases]


def _weight_of(case: CaseBelief) -> tuple[bool, bool, int]:
    looks = sum([count for text in case.texts for count in text.looks.values()])
    return case.certain is not None, case.has_looks, looks


def _by_text(cases: Sequence[CaseBelief]) -> list[tuple[CaseBelief, int]]:
    """One case of each text, with how many there are of it."""
    first: dict[Hashable, CaseBelief] = {}
    counts: Counter[Hashable] = Counter()
    for place, one in enumerate(cases):
        key = place if one.name is None else (one.name,)
        first.setdefault(key, one)
        counts[key] += 1
    return [(one, counts[key]) for key, one in first.items()]


class _Coins(NamedTuple):
    """So many texts with equal answers. Each is that of so many cases as it is worth."""

    text: TextBelief
    is_turned: bool
    alike: int
    worth: int


class SuiteBelief:
    """What is believed about a suite of which `need` cases have to pass. `elsewhere`: what other
    texts say about the judges. Turned cases say how judges err, and nothing of how many others
    pass: of these another share is met, which is learned from them alone.
    """

    def __init__(
        self,
        cases: Sequence[CaseBelief],
        need: int,
        elsewhere: Elsewhere = NOWHERE,
        *,
        shares: Sequence[float] = SUITE_SHARES,
    ) -> None:
        self.need = need
        self._cases = cases = as_one(cases)
        self._sure = sum(one.certain is True for one in cases)
        rows = _by_text(cases)
        lone = [row for row in rows if not row[0].attempts]
        seen = [
            (one.text, one.is_turned, worth)
            for case, worth in lone
            for one in _parts(case)
            if one.text
        ]
        self._unseen = Counter(
            worth for one, worth in lone if one.certain is None and not one.is_looked_at
        )
        self._groups = [
            _Coins(text, is_turned, alike, worth)
            for is_turned, worth in sorted({row[1:] for row in seen})
            for text, alike in _alike([one[0] for one in seen if one[1:] == (is_turned, worth)])
        ]
        tried = [(one, worth) for one, worth in rows if one.attempts]
        counts = Counter((one.kind, worth) for one, worth in tried)
        first = {(one.kind, worth): one for one, worth in reversed(tried)}
        self._tried = [(first[key], alike, key[1]) for key, alike in counts.items()]
        seen += [
            (one.text, one.is_turned, worth)
            for case, worth in tried
            for one in _parts(case)
            if one.text
        ]
        seen += [
            (text, one.is_turned, worth)
            for one, worth in rows
            if one.is_looked_at
            for text in one.others
        ]
        self._looked = [text for text, _, _ in seen]
        # Texts with equal answers may be one object, which counts for each of them.
        turned = [text for text, is_turned, _ in seen if is_turned]
        others = [text for text, is_turned, _ in seen if not is_turned]
        self._turned = _tallies(turned)
        self._shares_of_turned: dict[ErrorModel, Mapping[float, float]] = {}
        self._passing: dict[tuple[Hashable, bool], float] = {}
        self._assumed: Mapping[Assumption, float] = {}
        if others or turned or elsewhere.alongside:
            self._assumed = assumptions(
                [*_tallies(others), *elsewhere.alongside],
                shares=shares,
                apart=[*_tallies(turned), *elsewhere.apart],
            )

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self._cases)

    @property
    def can_pass(self) -> bool:
        """Whether any answers of judges lead to a pass: targets that failed may leave none."""
        return sum(one.can_pass for one in self._cases) >= self.need

    @property
    def chance(self) -> SuiteChance | None:
        """None where nothing was judged and something is open."""
        open_cases = self._open_at_most + sum([alike * worth for _, alike, worth in self._tried])
        if not self._looked or not (open_cases or self._groups):
            if open_cases:
                return _without_a_look(self._sure, open_cases, self.need)
            certain = float(self._sure >= self.need)
            return SuiteChance(certain, certain, certain)
        return all_reached([self])

    @property
    def _open_at_most(self) -> int:
        """How many cases of one attempt have no look."""
        return sum([worth * alike for worth, alike in self._unseen.items()])

    def _with_unseen(self, count: _Count, met_share: float) -> _Count:
        for worth, alike in self._unseen.items():
            count = count.with_coins(alike, met_share, worth)
        return count

    def under(self, one: Assumption) -> SuiteChance:
        """P(the bar is met) if an assumption is so."""
        need = self.need - self._sure
        seen = self._distribution(one)
        if self._tried:
            return self._under_with_attempts(one, seen, need)
        return SuiteChance(
            self._with_unseen(seen, one.met_share).at_least(need),
            seen.at_least(need),
            seen.at_least(need - self._open_at_most),
        )

    def _under_with_attempts(self, one: Assumption, seen: _Count, need: int) -> SuiteChance:
        counts = _Counts(self._with_unseen(seen, one.met_share), seen, seen)
        for case, alike, worth in self._tried:
            found = self._of_attempts(case, one)
            rows = zip(counts, found, strict=True)
            counts = _Counts(*(count.with_coins(alike, own, worth) for count, own in rows))
        return SuiteChance(
            counts.chance.at_least(need),
            counts.low.at_least(need),
            counts.high.at_least(need - self._open_at_most),
        )

    def _of_attempts(self, case: CaseBelief, one: Assumption) -> SuiteChance:
        """P(a case with several attempts passes) if an assumption is so."""
        known, left = _Count(0, [1.0]), 0
        for attempt in case.attempts:
            if attempt.certain is not None:
                known = known.with_coins(1, float(attempt.certain))
            elif attempt.text is not None and attempt.has_looks:
                known = known.with_coins(1, self._passes(attempt.text, attempt.is_turned, one))
            else:
                left += 1
        return SuiteChance(
            known.with_coins(left, one.met_share).at_least(case.needed),
            known.at_least(case.needed),
            known.at_least(case.needed - left),
        )

    @property
    def assumed(self) -> Mapping[Assumption, float]:
        """What may be so of judges and cases, and how probable each is."""
        return self._assumed

    def _distribution(self, one: Assumption) -> _Count:
        found = _Count(0, [1.0])
        for text, is_turned, alike, worth in self._groups:
            found = found.with_coins(alike, self._passes(text, is_turned, one), worth)
        return found

    @property
    def expected(self) -> float:
        """How many of the cases that were looked at, or are certain, are expected to pass."""
        looked = sum(
            [
                alike * worth * self.passing(text, is_turned=is_turned)
                for text, is_turned, alike, worth in self._groups
            ]
        )
        tried = [
            alike * worth * self.passing_by_attempts(case).chance
            for case, alike, worth in self._tried
            if case.is_looked_at
        ]
        return self._sure + looked + sum(tried)

    def at_least(self, deviations: float) -> float:
        """How many of the cases that were looked at, or are certain, pass by any assumption that is
        likely: so many standard deviations below what it expects.
        """
        least = float(self.size)
        likely = LIKELY * max(self._assumed.values(), default=0.0)
        for one, weight in self._assumed.items():
            if weight >= likely:
                chances = [
                    (alike, worth, self._passes(text, is_turned, one))
                    for text, is_turned, alike, worth in self._groups
                ]
                chances += [
                    (alike, worth, self._of_attempts(case, one).chance)
                    for case, alike, worth in self._tried
                    if case.is_looked_at
                ]
                mean = sum([alike * worth * chance for alike, worth, chance in chances])
                variance = sum(
                    [alike * worth**2 * chance * (1.0 - chance) for alike, worth, chance in chances]
                )
                least = min(least, mean - deviations * sqrt(variance))
        return self._sure + least if self._assumed else float(self._sure)

    def by_case(self) -> dict[str, float]:
        """P(it passes) of each case that is certain or was looked at. One that depends on attempts
        without a look is left out.
        """
        known: dict[Hashable, float | None] = {}
        found: dict[str, float] = {}
        for case in self._cases:
            if case.certain is not None:
                found[case.id] = float(case.certain)
            elif case.has_looks:
                kind = case.kind
                if kind not in known:
                    known[kind] = self._stated(case)
                chance = known[kind]
                if chance is not None:
                    found[case.id] = chance
        return found

    def _stated(self, case: CaseBelief) -> float | None:
        if case.attempts:
            return _whatever_else(self.passing_by_attempts(case))
        return self.passing_of(case)

    def passing(self, text: TextBelief, *, is_turned: bool = False) -> float:
        """P(one case passes), with what all cases say about the judges."""
        key = text.signature, is_turned
        found = self._passing.get(key) if text.signature else None
        if found is None:
            chances = [w * self._passes(text, is_turned, one) for one, w in self._assumed.items()]
            found = sum(chances)
            if text.signature:
                self._passing[key] = found
        return found

    def passing_of(self, case: CaseBelief) -> float:
        """P(it passes) of a case that is certain or has looks. Attempts without one are as likely
        as an item to be met.
        """
        if case.certain is not None:
            return float(case.certain)
        if case.attempts:
            return self.passing_by_attempts(case).chance
        assert case.text is not None
        return self.passing(case.text, is_turned=case.is_turned)

    @property
    def expected_unseen(self) -> float:
        """P(it passes) of a case or an attempt that no one looked at; even where nothing is known."""
        if not self._assumed:
            return EVEN
        return sum([weight * one.met_share for one, weight in self._assumed.items()])

    def passing_by_attempts(self, case: CaseBelief) -> SuiteChance:
        """P(a case with several attempts passes), with what all cases say about the judges."""
        totals = [0.0, 0.0, 0.0]
        for one, weight in self._assumed.items():
            found = self._of_attempts(case, one)
            totals = [total + weight * own for total, own in zip(totals, found, strict=True)]
        return SuiteChance(*(min(one, 1.0) for one in totals))

    def _passes(self, text: TextBelief, is_turned: bool, one: Assumption) -> float:
        """P(one case passes) if an assumption is so."""
        if not is_turned:
            return text.under(one)
        errors = one.errors
        if errors not in self._shares_of_turned:
            self._shares_of_turned[errors] = shares_met(errors, self._turned)
        shares = self._shares_of_turned[errors].items()
        return 1.0 - sum([weight * text.under(Assumption(errors, met)) for met, weight in shares])


class _Counts(NamedTuple):
    """How many cases pass: as is probable, and where what has no look failed, or passed."""

    chance: _Count
    low: _Count
    high: _Count


# P(a case of several attempts passes) by its own answers, by its kind.
_ALONE: Final[dict[Hashable, float | None]] = {}
_MOST_ALONE: Final = 4_096


def _alone(case: CaseBelief) -> float | None:
    if any(text.signature is None for text in case.texts):
        return SuiteBelief([case], 1, shares=MET_SHARES).by_case().get(case.id)
    kind = case.kind
    if kind not in _ALONE:
        if len(_ALONE) >= _MOST_ALONE:
            _ALONE.clear()
        _ALONE[kind] = SuiteBelief([case], 1, shares=MET_SHARES).by_case().get(case.id)
    return _ALONE[kind]


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

    def with_coins(self, coins: int, chance: float, worth: int = 1) -> _Count:
        """Each coin counts as so many as it is worth."""
        if not coins:
            return self
        first, more = binomial(coins, chance)
        if worth > 1:
            spread = [0.0] * ((len(more) - 1) * worth + 1)
            spread[::worth] = more
            return _Count(self.first + first * worth, convolved(self.chances, spread))
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


# ------------------------------------------------------------------------------------------------------------
# what a run states


class SuiteBar(Struct, frozen=True, kw_only=True):
    """What a suite is held to: the share of cases that has to pass, how sure that has to be (0-1;
    None: nothing is asked for), and the limit of looks.
    """

    least: Fraction
    sure: Fraction | None = None
    max_looks: int | None = None

    def need(self, cases: int) -> int:
        return ceil(self.least * cases)

    def looks(self, attempts: int) -> int:
        """The most looks at all cases, which may have so many attempts together."""
        return self.max_looks or LOOKS_PER_CASE * attempts


def suite_belief(
    cases: Sequence[CaseBelief], bar: SuiteBar, *, not_asked: int = 0, not_yet_asked: int = 0
) -> StatedBelief | None:
    """How sure it is that enough cases pass; None where nothing was judged. `not_asked` and
    `not_yet_asked`: how many cases are skipped, and how many a run under way has not come to.
    """
    if not cases:
        return None
    cases, need = as_one(cases), bar.need(len(cases))
    suite = SuiteBelief(cases, need)
    chance = suite.chance
    if chance is None:
        return None
    looks: dict[str, int] = {}
    for one, _ in _by_text(cases):
        for judge, count in (look for text in one.texts for look in text.looks.items()):
            looks[judge] = looks.get(judge, 0) + count
    certain = sum(one.certain is not None for one in cases)
    found = StatedBelief(
        probability=_stated(chance, bar.sure),
        target=None if bar.sure is None else float(bar.sure),
        looks=sum(looks.values()),
        max_looks=None if bar.sure is None else bar.looks(sum(one.tries for one in cases)),
        rests_on=(
            *[Ground(kind="looks", judge=judge, looks=count) for judge, count in looks.items()],
            *([Ground(kind="checks", items=certain)] if certain else []),
        ),
        subject=f"at least {need:,} of {len(cases):,} cases pass",
        contrary=f"fewer than {need:,} of {len(cases):,} cases pass",
        not_asked=not_asked,
        not_yet_asked=not_yet_asked,
        without_output=sum(one.is_down for one in cases),
    )
    return settled(found, is_exhausted=not suite.can_pass)


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
