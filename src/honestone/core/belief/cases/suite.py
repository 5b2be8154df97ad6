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
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from math import sqrt
from operator import add, mul
from typing import Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief.cases.best import best_passes, depends_on_each
from honestone.core.belief.counting import binomial, convolved
from honestone.core.belief.errors import History
from honestone.core.belief.stated import EVEN
from honestone.core.belief.verdict import (
    ANY,
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
# An assumption is likely from this part of the probability of the likeliest one on.
LIKELY: Final = 0.1
# A case whose outcome varies less is settled.
SETTLED: Final = 0.03


class CaseBelief(Struct, frozen=True):
    """One case: `text` has the answers about its output. `certain`: what is known without a judge.
    `is_short`: its looks do not say whether it passes, as where fewer judges answered than its
    rubric's quorum. `is_down`: its target failed, so no look will say whether it passes.
    `is_turned`: it passes where its output does not meet the contract.

    `attempts`: those of a case that passes where `needed` of them do, each like a case of its own; or
    of one whose best attempt has to pass (`is_best`), in their order, each with its text.
    `name`: of its text and question; cases with equal ones are one text (None: not known).
    `others`: texts that say how judges err, and nothing of whether it passes, as those of attempts
    of it that code settles. `made_of`: texts whose answers `text` has, as the mean of them; `ends`:
    that mean where attempts without an output score nothing, and where they have full marks.
    `tries`: how many attempts there may be, each of which may be looked at.
    """

    id: str
    text: TextBelief | None = None
    certain: bool | None = None
    is_short: bool = False
    is_turned: bool = False
    attempts: tuple[CaseBelief, ...] = ()
    needed: int = 1
    is_best: bool = False
    others: tuple[TextBelief, ...] = ()
    made_of: tuple[TextBelief, ...] = ()
    ends: tuple[TextBelief, TextBelief] | None = None
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

    @classmethod
    def of_best(cls, id: str, attempts: Sequence[CaseBelief]) -> CaseBelief:
        """One whose best attempt has to pass; each of them (at least one, in their order) has its
        text. Whatever is the best, it passes or fails where all do.
        """
        alone = [one.by_code for one in attempts]
        outcomes = {one.certain for one in alone}
        if outcomes in ({True}, {False}):
            return cls.sure(id, passes=True in outcomes, others=alone)
        if all(one.text is not None and one.text.is_by_score for one in attempts):
            needed = len(attempts) if attempts[0].is_turned else 1
            return cls.of_attempts(id, alone, needed)
        if len(attempts) == 1:
            return attempts[0]
        is_short = any(one.is_short for one in attempts)
        return cls(id, is_short=is_short, attempts=tuple(attempts), is_best=True)

    @property
    def by_code(self) -> CaseBelief:
        """It is certain where code settles its text."""
        chance = None if self.text is None else self.text.probability
        if chance not in (0.0, 1.0):
            return self
        looked = (self,) if self.text is not None and self.text.looks else ()
        return CaseBelief.sure(self.id, passes=(chance == 1.0) is not self.is_turned, others=looked)

    @property
    def is_spread(self) -> bool:
        """Whether several attempts, or what those without an output would have come to, say whether
        it passes.
        """
        return bool(self.attempts) or (self.ends is not None and self.has_looks)

    @property
    def best_of(self) -> Sequence[TextBelief]:
        """The texts of which the best one has to pass."""
        return [one.text for one in self.attempts if one.text is not None]

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
        if self.is_best:
            return any(one.by_code.can_pass for one in self.attempts)
        if self.attempts:
            return sum(one.can_pass for one in self.attempts) >= self.needed
        if self.ends is not None:
            return self.ends[0].under(ANY) > 0.0
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
        if self.is_best:
            return tuple([one.kind for one in self.attempts])
        if self.attempts:
            return self.needed, frozenset(Counter(one.kind for one in self.attempts).items())
        if self.text is None or not self.has_looks:
            return self.certain
        if self.ends is not None:
            return id(self.text)
        return self.certain, self.is_turned, self.text.signature or id(self.text)

    @property
    def alone(self) -> float | None:
        """P(it passes) by what is known of it alone; None where no one looked, or where it depends
        on attempts that no one looked at.
        """
        if self.certain is not None:
            return float(self.certain)
        if self.is_spread:
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
    yield from (text for one in _settled(case) for text in one.others)
    if case.is_looked_at:
        yield from case.made_of


def _parts(case: CaseBelief) -> Iterator[CaseBelief]:
    """The case, or its attempts, where looks tell whether they pass."""
    for one in case.attempts or (case,):
        if one.certain is None and one.text is not None and one.has_looks:
            yield one


def _settled(case: CaseBelief) -> Iterator[CaseBelief]:
    """The case, and its attempts that code settles: their other texts say how judges err."""
    if case.is_looked_at:
        yield case
    yield from (one for one in case.attempts if one.certain is not None)


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


def by_text(cases: Sequence[CaseBelief]) -> list[tuple[CaseBelief, int]]:
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


class _Given(NamedTuple):
    """An assumption about the judges and the share of items that are met, of cases that pass where
    their output meets the contract, and of those that are turned.
    """

    plain: Assumption
    turned: Assumption

    def of(self, is_turned: bool) -> Assumption:
        return self.turned if is_turned else self.plain


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
        self._elsewhere, self._shares = elsewhere, shares
        self.cases = cases = as_one(cases)
        self._sure = sum(one.certain is True for one in cases)
        rows = by_text(cases)
        lone = [row for row in rows if not row[0].is_spread]
        seen = [
            (one.text, one.is_turned, worth)
            for case, worth in lone
            for one in _parts(case)
            if one.text
        ]
        self._unseen = Counter(
            worth for one, worth in lone if one.certain is None and not one.is_looked_at
        )
        self._coins = [
            _Coins(text, is_turned, alike, worth)
            for is_turned, worth in sorted({row[1:] for row in seen})
            for text, alike in _alike([one[0] for one in seen if one[1:] == (is_turned, worth)])
        ]
        tried = [(one, worth) for one, worth in rows if one.is_spread]
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
            for case, worth in rows
            for one in _settled(case)
            for text in one.others
        ]
        self._looked = [text for text, _, _ in seen]
        # Texts with equal answers may be one object, which counts for each of them.
        turned = [text for text, is_turned, _ in seen if is_turned]
        others = [text for text, is_turned, _ in seen if not is_turned]
        self._turned = _tallies(turned)
        self._given: dict[Assumption, Sequence[tuple[_Given, float]]] = {}
        self._passing: dict[tuple[Hashable, bool], float] = {}
        self._assumed: Mapping[Assumption, float] = {}
        if others or turned or elsewhere.alongside:
            self._assumed = assumptions(
                [*_tallies(others), *elsewhere.alongside],
                shares=shares,
                apart=[*_tallies(turned), *elsewhere.apart],
            )

    def with_cases(self, cases: Mapping[str, CaseBelief]) -> SuiteBelief:
        """The same with these cases, by their ids, in place of its own."""
        found = [cases.get(one.id, one) for one in self.cases]
        return SuiteBelief(found, self.need, self._elsewhere, shares=self._shares)

    @property
    def size(self) -> int:
        """How many cases there are."""
        return len(self.cases)

    @property
    def can_pass(self) -> bool:
        """Whether any answers of judges lead to a pass: targets that failed may leave none."""
        return sum(one.can_pass for one in self.cases) >= self.need

    @property
    def chance(self) -> SuiteChance | None:
        """None where nothing was judged and something is open."""
        open_cases = self._open_at_most + sum([alike * worth for _, alike, worth in self._tried])
        if not self._looked or not (open_cases or self._coins):
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
        found = [(self._under(given), share) for given, share in self._given_by(one)]
        return found[0][0] if len(found) == 1 else _mixed(found)

    def _given_by(self, one: Assumption) -> Sequence[tuple[_Given, float]]:
        """The assumption with each share of items that may be met of turned cases, and how probable
        that is.
        """
        if not self._turned:
            return [(_Given(one, one), 1.0)]
        if one not in self._given:
            shares = shares_met(one.errors, self._turned).items()
            self._given[one] = [
                (_Given(one, Assumption(one.errors, met)), share) for met, share in shares
            ]
        return self._given[one]

    def _under(self, given: _Given) -> SuiteChance:
        need, met_share = self.need - self._sure, given.plain.met_share
        seen = self._distribution(given)
        if self._tried:
            return self._under_with_attempts(given, seen, need)
        return SuiteChance(
            self._with_unseen(seen, met_share).at_least(need),
            seen.at_least(need),
            seen.at_least(need - self._open_at_most),
        )

    def _under_with_attempts(self, given: _Given, seen: _Count, need: int) -> SuiteChance:
        counts = _Counts(self._with_unseen(seen, given.plain.met_share), seen, seen)
        for case, alike, worth in self._tried:
            found = self._of_attempts(case, given)
            rows = zip(counts, found, strict=True)
            counts = _Counts(*(count.with_coins(alike, own, worth) for count, own in rows))
        return SuiteChance(
            counts.chance.at_least(need),
            counts.low.at_least(need),
            counts.high.at_least(need - self._open_at_most),
        )

    def _of_attempts(self, case: CaseBelief, given: _Given) -> SuiteChance:
        """P(a case with several attempts passes) if an assumption is so."""
        if case.ends is not None and case.text is not None:
            texts = (case.text, *case.ends)
            return SuiteChance(*[text.under(given.plain) for text in texts])
        if case.is_best:
            is_turned = case.attempts[0].is_turned
            found = best_passes(case.best_of, given.of(is_turned), is_turned=is_turned)
            chance = uncertain(found)
            return SuiteChance(chance, chance, chance)
        known, left = _Count(0, [1.0]), 0
        for attempt in case.attempts:
            if attempt.certain is not None:
                known = known.with_coins(1, float(attempt.certain))
            elif attempt.text is not None and attempt.has_looks:
                known = known.with_coins(1, _passes(attempt.text, attempt.is_turned, given))
            else:
                left += 1
        return SuiteChance(
            known.with_coins(left, given.plain.met_share).at_least(case.needed),
            known.at_least(case.needed),
            known.at_least(case.needed - left),
        )

    @property
    def assumed(self) -> Mapping[Assumption, float]:
        """What may be so of judges and cases, and how probable each is."""
        return self._assumed

    def _distribution(self, given: _Given) -> _Count:
        found = _Count(0, [1.0])
        for text, is_turned, alike, worth in self._coins:
            found = found.with_coins(alike, _passes(text, is_turned, given), worth)
        return found

    @property
    def expected(self) -> float:
        """How many of the cases that were looked at, or are certain, are expected to pass."""
        coins = self._worths(
            lambda coin: self.passing(coin.text, is_turned=coin.is_turned),
            lambda case: self.passing_by_attempts(case).chance,
        )
        return self._sure + sum([alike * worth * chance for alike, worth, chance in coins])

    def _worths(
        self, of_text: Callable[[_Coins], float], of_case: Callable[[CaseBelief], float]
    ) -> list[tuple[int, int, float]]:
        """Of the cases that were looked at: how many are alike, how many cases each is worth, and
        P(it passes).
        """
        looked = [(coin.alike, coin.worth, of_text(coin)) for coin in self._coins]
        tried = [
            (alike, worth, of_case(case)) for case, alike, worth in self._tried if case.is_looked_at
        ]
        return looked + tried

    def at_least(self, deviations: float) -> float:
        """How many of the cases that were looked at, or are certain, pass by any assumption that is
        likely: so many standard deviations below what it expects.
        """
        least = float(self.size)
        for given in self.likely:
            coins = self._worths_under(given)
            mean = sum([alike * worth * chance for alike, worth, chance in coins])
            variance = sum(
                [alike * worth**2 * chance * (1.0 - chance) for alike, worth, chance in coins]
            )
            least = min(least, mean - deviations * sqrt(variance))
        return self._sure + least if self._assumed else float(self._sure)

    def _worths_under(self, given: _Given) -> list[tuple[int, int, float]]:
        return self._worths(
            lambda coin: _passes(coin.text, coin.is_turned, given),
            lambda case: self._of_attempts(case, given).chance,
        )

    @property
    def _every(self) -> Iterator[tuple[_Given, float]]:
        """Everything that is assumed at once, each with its probability."""
        for one, weight in self._assumed.items():
            yield from ((given, weight * share) for given, share in self._given_by(one))

    @property
    def likely(self) -> Mapping[_Given, float]:
        """What is likely of all that is assumed, next to what is likeliest, with its probability."""
        every = dict(self._every)
        likely = LIKELY * max(every.values(), default=0.0)
        return {given: weight for given, weight in every.items() if weight >= likely}

    def by_case(self) -> dict[str, float]:
        """P(it passes) of each case that is certain or was looked at. One that depends on attempts
        without a look is left out.
        """
        known: dict[Hashable, float | None] = {}
        found: dict[str, float] = {}
        for case in self.cases:
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
        if case.is_spread:
            return _whatever_else(self.passing_by_attempts(case))
        return self.passing_of(case)

    def passing(self, text: TextBelief, *, is_turned: bool = False) -> float:
        """P(one case passes), with what all cases say about the judges."""
        key = text.signature, is_turned
        found = self._passing.get(key) if text.signature else None
        if found is None:
            found = sum([w * _passes(text, is_turned, given) for given, w in self._every])
            if text.signature:
                self._passing[key] = found
        return found

    def passing_of(self, case: CaseBelief) -> float:
        """P(it passes) of a case that is certain or has looks. Attempts without one are as likely
        as an item to be met.
        """
        if case.certain is not None:
            return float(case.certain)
        if case.is_spread:
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
        return _mixed((self._of_attempts(case, given), weight) for given, weight in self._every)

    def depends_on_each(self, case: CaseBelief) -> Sequence[float]:
        """How much of whether a case whose best attempt has to pass depends on each attempt, 0 to
        .25.
        """
        totals, likely = [0.0] * len(case.attempts), self.likely
        if not case.is_best or not likely:
            return totals
        is_turned = case.attempts[0].is_turned
        for given, weight in likely.items():
            found = depends_on_each(case.best_of, given.of(is_turned), is_turned=is_turned)
            totals = [total + weight * own for total, own in zip(totals, found, strict=True)]
        return [one / sum(likely.values()) for one in totals]


def _passes(text: TextBelief, is_turned: bool, given: _Given) -> float:
    """P(one case passes) if an assumption is so."""
    return 1.0 - text.under(given.turned) if is_turned else text.under(given.plain)


def _mixed(found: Iterable[tuple[SuiteChance, float]]) -> SuiteChance:
    totals = [0.0, 0.0, 0.0]
    for chances, weight in found:
        totals = [total + weight * own for total, own in zip(totals, chances, strict=True)]
    return SuiteChance(*(min(one, 1.0) for one in totals))


class _Counts(NamedTuple):
    """How many cases pass: as is probable, and where what has no look failed, or passed."""

    chance: _Count
    low: _Count
    high: _Count


# P(a case of several attempts passes) by its own answers, by its kind.
_ALONE: Final[dict[Hashable, float | None]] = {}
_MOST_ALONE: Final = 4_096


def _alone(case: CaseBelief) -> float | None:
    if case.ends is not None or any(text.signature is None for text in case.texts):
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
