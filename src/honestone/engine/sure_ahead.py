"""How many looks at a suite are asked at once: those that it needs in any case, or nearly so.

Looks follow each other in an order. Where all that come next said the same, met or not, so many of them
would decide the suite; before as many said so it is open. So these are asked together, unless it is
likely that it is decided before the last of them. That depends on what is known alone, and not on
which judge answers first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, islice
from math import exp, log
from typing import Final

from msgspec import Struct

from honestone.core.belief.cases.suite import CaseBelief, SuiteBelief
from honestone.core.belief.verdict import Assumption, TextBelief
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.record.case_belief import AttemptLooks, belief_text, is_turned
from honestone.core.record.record import CaseRecord

# In at most so many runs the last of the looks that are asked at once comes after one that decides the
# suite, where as many cases fail as is believed.
RISK: Final = 0.05
# Further looks than these wait for the next time, so that what may come of a large suite is soon known.
MOST: Final = 1_000


class NextText(Struct, frozen=True):
    """A text that gets a look: that of these attempts, by case and number. `judge`: the one that
    looks; `before`: what is on record about it.
    """

    attempts: Sequence[tuple[str, int]]
    judge: str = ""
    before: AttemptLooks | None = None


class _NextLook(Struct, frozen=True):
    """A look that may be asked next. `good` and `bad`: what is believed of the cases of its text if it
    says that they pass, and that they do not, and so do the looks before it.
    """

    text: TextBelief
    is_turned: bool
    good: Mapping[str, CaseBelief]
    bad: Mapping[str, CaseBelief]


class Ahead(Struct, frozen=True, kw_only=True):
    """A suite as it is now. `under_way`: the looks at each case that are not on record."""

    cases: Mapping[str, CaseRecord]
    under_way: Callable[[str], Mapping[int, AttemptLooks]]
    belief: SuiteBelief

    def count(self, texts: Iterable[NextText], is_over: Callable[[SuiteBelief], bool]) -> int:
        """How many of these texts get their look at once, where what is believed then may be enough
        (`is_over`); 0 where nothing is known yet.
        """
        if not self.belief.assumed:
            return 0
        looks = self._looks_at(islice(texts, MOST))
        most = min(self._fewest([one.good for one in looks], is_over), len(looks))
        fewest = self._fewest([one.bad for one in looks[:most]], is_over)
        return most if fewest >= most else self._safe(looks[:most], fewest)

    def _looks_at(self, texts: Iterable[NextText]) -> list[_NextLook]:
        """As far as anything can be expected of them."""
        found, then = list[_NextLook](), (_Then(self), _Then(self))
        for one in texts:
            case = self.cases[one.attempts[0][0]].case
            text = belief_text(case) if one.before is None else one.before.text
            # Which marks are within the scores that are expected is not known.
            if type(text) is not TextBelief:
                break
            bad, good = (
                side.seen(one, all_marks(case.rubric, is_good=is_good is not is_turned(case)))
                for side, is_good in zip(then, (False, True), strict=True)
            )
            found.append(_NextLook(text, is_turned(case), good, bad))
        return found

    def _fewest(
        self,
        looks: Sequence[Mapping[str, CaseBelief]],
        is_over: Callable[[SuiteBelief], bool],
    ) -> int:
        """The fewest looks, in their order, after which it is over; one more where none are."""
        low, high, step = 0, len(looks) + 1, 1
        while high - low > 1:
            middle = low + step if low + step < high else (low + high) // 2
            cases = dict[str, CaseBelief]()
            for one in looks[:middle]:
                cases |= one
            if is_over(self.belief.with_cases(cases)):
                high, step = middle, high
            else:
                low, step = middle, 2 * step
        return high

    def _safe(self, looks: Sequence[_NextLook], fewest: int) -> int:
        """How many there are of which hardly so many are bad before the last one."""
        likely = self.belief.likely
        total = sum(likely.values())
        expected = [
            (weight / total, list(accumulate(_failing(looks, given.of))))
            for given, weight in likely.items()
        ]
        low, high = fewest, len(looks)
        while low < high:
            middle = (low + high + 1) // 2
            risk = sum([weight * at_least(fewest, bad[middle - 2]) for weight, bad in expected])
            if risk <= RISK:
                low = middle
            else:
                high = middle - 1
        return low


class _Then(Struct):
    """What is believed after looks that all say the same."""

    ahead: Ahead
    looks: dict[str, dict[int, AttemptLooks]] = {}

    def seen(self, one: NextText, marks: Mapping[Key, Mark]) -> dict[str, CaseBelief]:
        before = () if one.before is None else one.before.ballots
        output = None if one.before is None else one.before.output
        ballots = [*before, Ballot(judge=one.judge, marks=marks)]
        cases = {id: self.ahead.cases[id] for id, _ in one.attempts}
        text = belief_text(cases[one.attempts[0][0]].case).see_all(ballots)
        for id, number in one.attempts:
            known = self.looks.get(id)
            if known is None:
                known = self.looks[id] = dict(self.ahead.under_way(id))
            known[number] = AttemptLooks(ballots, text, False, output)
        return {id: record.believed_with(self.looks[id]) for id, record in cases.items()}


def _failing(looks: Sequence[_NextLook], given: Callable[[bool], Assumption]) -> list[float]:
    """P(each of these texts fails) under one assumption; `given` has that of turned ones, too."""
    keys = [(one.text.signature or id(one.text), one.is_turned) for one in looks]
    found = {}
    for key, one in zip(keys, looks, strict=True):
        if key not in found:
            chance = one.text.under(given(one.is_turned))
            found[key] = chance if one.is_turned else 1.0 - chance
    return [found[key] for key in keys]


def at_least(count: int, mean: float) -> float:
    """P(so many rare ones, or more) where so many are expected."""
    if mean <= 0.0:
        return float(count <= 0)
    logged, fewer = -mean, 0.0
    for number in range(count):
        fewer += exp(logged)
        logged += log(mean) - log(number + 1)
    return max(1.0 - fewer, 0.0)


def all_marks(rubric: Rubric, *, is_good: bool) -> dict[Key, Mark]:
    """What a look says that finds everything as it should be, or nothing."""
    bad, found = rubric.bad_keys, dict[Key, Mark]()
    for key, item in rubric.questions():
        if item.check is not None:
            continue
        is_high = is_good is not (key in bad)
        if item.anchors is None:
            found[key] = Mark(is_high)
        else:
            level = item.anchors.highest if is_high else item.anchors.lowest
            found[key] = Mark(float(level))
    return found
