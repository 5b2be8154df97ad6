"""Which judge is asked next about one text, and when it is enough. A pure function of the looks so
far and of what a look of each judge costs, so that a run that is resumed with the same prices
chooses the same looks again. With other prices it may choose others; what is on record counts all
the same.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from msgspec import Struct, field

from honestone.core.belief.stated import (
    DEFAULT_LOOKS,
    StatedBelief,
    may_repeat,
    repeats,
    stated_belief,
)
from honestone.core.belief.verdict import ExpectedAnswer, TextBelief, is_count
from honestone.core.judging.ballot import Ballot, JudgeKind, Mark
from honestone.core.judging.rubric import LEAST_LOOKS, Key, Rubric
from honestone.core.judging.scorecard import Outcome

# What can be asked once: a person, a reply that somebody hands in, a recorded one.
ONE_LOOK: Final[frozenset[JudgeKind]] = frozenset({"person", "agent", "recorded"})
# A judge costs at least this part of the dearest one.
LEAST_PRICE: Final = 0.02
# A part of the criteria is asked where that costs at most so much of a look at all of them.
PART_PRICE: Final = 0.75
# Of a rubric with fewer items no part is asked: it saves next to nothing.
LEAST_ITEMS: Final = 12
# Calls in a row without a mark after which a judge is not asked again.
FAILURES: Final = 2


class AskedLook(Struct, frozen=True, kw_only=True):
    """A judge of the panel that can be asked: by the name of its first look. `usd`: what a look
    costs; None where that is not known.
    """

    id: str
    kind: JudgeKind = "program"
    usd: float | None = None


class Looking(Struct, kw_only=True):
    """The looks at one text under one rubric. Add them with `add`, then ask `next_looks`.

    `given_up`: judges that gave no answer several times.
    """

    rubric: Rubric
    judges: Sequence[AskedLook]
    checks: Sequence[Ballot] = ()
    looks: dict[str, list[Ballot]] = field(default_factory=dict)
    given_up: set[str] = field(default_factory=set)
    _belief: StatedBelief | None = None
    _known: int = -1
    _text: TextBelief | None = None

    def add(self, judge: str, ballot: Ballot) -> None:
        self.looks.setdefault(judge, []).append(ballot)
        if self._text is not None:
            self._text.see_all([ballot])

    @property
    def text(self) -> TextBelief:
        """What is believed by all looks. Each is taken in once."""
        if self._text is None:
            self._text = TextBelief(self.rubric).see_all(self.ballots)
        return self._text

    @property
    def count(self) -> int:
        return sum(map(len, self.looks.values()))

    @property
    def ballots(self) -> list[Ballot]:
        return [*self.checks, *(one for looks in self.looks.values() for one in looks)]

    @property
    def belief(self) -> StatedBelief | None:
        if self._known != self.count:
            ballots = self.ballots
            self._belief = stated_belief(self.rubric, ballots, self.text.probability)
            self._known = self.count
        return self._belief

    @property
    def most(self) -> int:
        return self.rubric.max_looks or DEFAULT_LOOKS

    @property
    def needed(self) -> int:
        """Judges that have to answer before anything is decided."""
        quorum = self.rubric.quorum
        return len(self.judges) if quorum == "all" else max(quorum or 1, 1)

    @property
    def is_short(self) -> bool:
        """Whether fewer judges answered than have to, and another one can be asked."""
        others = (one for one in self.judges if one.id not in self.looks)
        return len(self.looks) < self.needed and any(self._is_worth(one, 0) for one in others)

    @property
    def is_decided(self) -> bool:
        """Whether the probability reached the bar, either way, by looks enough."""
        belief = self.belief
        if belief is None:
            return False
        if belief.is_certain:
            return True
        enough = self.count >= LEAST_LOOKS and len(self.looks) >= self.needed
        return enough and belief.outcome is not Outcome.INCONCLUSIVE

    @property
    def is_void(self) -> bool:
        """Whether no look will decide it: judges whose answers the quorum needs give none, or those
        that had to look say that nothing applies.
        """
        if len(self.looks) < self.needed:
            return self.count > 0 and not self.is_short
        return self.count >= LEAST_LOOKS and self.belief is None

    def next_looks(self) -> list[str]:
        """Judges to ask now, two at once where no one has looked yet; nothing where it is over."""
        left = self.most - self.count
        if left <= 0 or self.is_decided or self.is_void:
            return []
        wanted = min(max(LEAST_LOOKS - self.count, 1), left)
        counts = {one.id: len(self.looks.get(one.id, ())) for one in self.judges}
        chosen: list[str] = []
        while len(chosen) < wanted:
            judge = self._next(counts)
            if judge is None:
                break
            chosen.append(judge)
            counts[judge] += 1
        return chosen

    def _next(self, counts: Mapping[str, int]) -> str | None:
        """The judge to ask next, of those worth a further look."""
        worth = [one.id for one in self.judges if self._is_worth(one, counts[one.id])]
        return self._best_of(worth, counts, {}) if worth else None

    def part(self, judge: str, size: Callable[[Sequence[str]], int | None]) -> tuple[str, ...]:
        """The criteria that a further look of a judge asks: few whose likelier answers decide the
        verdict; empty for all of them, where no cheaper part would. `size`: what a look at some
        criteria costs (at all of them where none is named), None where that is not known.

        A part that would leave the verdict open is not asked: looks are limited, and one at
        everything tells more. Nor is it asked of a judge that may repeat itself, nor about a rubric
        that is more than a count of its items.
        """
        most = self._most_of_a_part(judge, size)
        if most is None:
            return ()
        text = self.text
        expected = text.next_answers(judge)
        parts = list(_affordable(_by_worth(expected), size, most))
        # Where the largest would leave it open, no other is tried.
        if not parts or not self._is_decided_by(text, judge, expected, parts[-1]):
            return ()
        return next(part for part in parts if self._is_decided_by(text, judge, expected, part))

    def _most_of_a_part(
        self, judge: str, size: Callable[[Sequence[str]], int | None]
    ) -> float | None:
        """What a part of the criteria may cost; None where none is asked, which is found out before
        anything is worked out about the items.
        """
        looks = self.looks.get(judge)
        if not looks or self.count < LEAST_LOOKS or self.is_short or may_repeat(looks):
            return None
        if not is_count(self.rubric) or sum(1 for _ in self.rubric.questions()) < LEAST_ITEMS:
            return None
        whole, least = size(()), size([_shortest(self.rubric)])
        if whole is None or least is None or least > PART_PRICE * whole:
            return None
        return PART_PRICE * whole

    def _is_decided_by(
        self,
        text: TextBelief,
        judge: str,
        expected: Mapping[Key, ExpectedAnswer],
        part: Collection[str],
    ) -> bool:
        """Whether the verdict is decided if a judge gives the likelier answers to some criteria."""
        marks = {key: Mark(one.is_yes) for key, one in expected.items() if key[0] in part}
        chance = text.after(judge, marks).probability
        if chance is None or self.rubric.sure is None:
            return False
        belief = StatedBelief(probability=chance, target=float(self.rubric.sure))
        return belief.outcome is not Outcome.INCONCLUSIVE

    def _best_of(
        self, worth: Sequence[str], counts: Mapping[str, int], elsewhere: Mapping[str, int]
    ) -> str:
        """The one that looked least, here and then `elsewhere`; where their prices differ and
        judges enough have answered, the one whose further look tells most for its price.
        """
        prices = self._prices
        is_begun = self.count >= LEAST_LOOKS and not self.is_short
        if not prices or not is_begun:
            return min(worth, key=lambda id: (counts[id], elsewhere.get(id, 0)))
        tells = {id: self.text.tells(id) / prices[id] for id in worth}
        return min(worth, key=lambda id: (-tells[id], counts[id], elsewhere.get(id, 0)))

    @property
    def _prices(self) -> Mapping[str, float]:
        """What a look of each judge costs; empty where that is not known of all, or is the same. A
        judge that is free is not asked for ever: it counts as a small part of the dearest.
        """
        known = {one.id: one.usd for one in self.judges if one.usd is not None}
        if len(known) < len(self.judges) or len(set(known.values())) < 2:
            return {}
        least = LEAST_PRICE * max(known.values())
        return {id: max(usd, least) for id, usd in known.items()}

    def _is_worth(self, judge: AskedLook, looks: int) -> bool:
        if judge.id in self.given_up or (looks and judge.kind in ONE_LOOK):
            return False
        return not repeats(self.looks.get(judge.id, ()))

    @property
    def is_certain(self) -> bool:
        """Whether code alone decides."""
        return self.belief is not None and self.belief.is_certain

    def least_asked(
        self,
        elsewhere: Mapping[str, int] | None = None,
        among: Collection[str] | None = None,
    ) -> str | None:
        """The judge (of some) that a further look is worth and that looked least here, then
        `elsewhere`, or that tells more for its price; None where there is none.
        """
        counts = {one.id: len(self.looks.get(one.id, ())) for one in self.judges}
        asked = [one for one in self.judges if among is None or one.id in among]
        worth = [one.id for one in asked if self._is_worth(one, counts[one.id])]
        return self._best_of(worth, counts, elsewhere or {}) if worth else None

    @property
    def is_exhausted(self) -> bool:
        """Whether no judge is worth another look."""
        return not any(self._is_worth(one, len(self.looks.get(one.id, ()))) for one in self.judges)

    @property
    def unasked(self) -> Collection[str]:
        return [one.id for one in self.judges if one.id not in self.looks]


def _by_worth(expected: Mapping[Key, ExpectedAnswer]) -> list[str]:
    """The criteria, those first whose items move most; of equal ones the first of the rubric."""
    found: dict[str, list[float]] = {}
    for (criterion, _), one in expected.items():
        found.setdefault(criterion, []).append(one.moves)
    return sorted(found, key=lambda id: -sum(found[id]) / len(found[id]))


def _shortest(rubric: Rubric) -> str:
    """The criterion that costs least to ask, by its items and then its words."""
    found = (one for one in rubric.criteria if any(item.check is None for item in one.items))
    return min(
        found,
        key=lambda one: (len(one.items), sum(len(item.requirement) for item in one.items)),
    ).id


def _affordable(
    ids: Sequence[str], size: Callable[[Sequence[str]], int | None], most: float
) -> Iterator[tuple[str, ...]]:
    """The first criterion, the first two, four and so on, as long as that costs at most `most`."""
    count = 1
    while count < len(ids):
        part = tuple(ids[:count])
        cost = size(part)
        if cost is None or cost > most:
            return
        yield part
        count *= 2
