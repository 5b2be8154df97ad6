"""How sure a verdict is, as every document prints it."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from honestone.core.belief.stated import (
    Ground,
    StatedBelief,
    doubt,
    sure_percent,
    sure_sentence,
)
from honestone.core.numbers import chance_words

UNSURE: Final = "UNSURE"


class GroundDoc(Struct, frozen=True, kw_only=True):
    """What a probability rests on.

    `kind`: `looks` of one judge, or `checks`
    `judge`, `looks`, `alike`: which judge, how often it looked, how many of these looks had the
        same reply as another (of one text)
    `items`: how many items code answered
    """

    kind: str
    judge: str | UnsetType = UNSET
    looks: int | UnsetType = UNSET
    alike: int | UnsetType = UNSET
    items: int | UnsetType = UNSET

    @classmethod
    def of(cls, ground: Ground) -> GroundDoc:
        if ground.kind == "checks":
            return cls(kind="checks", items=ground.items or 0)
        return cls(
            kind="looks",
            judge=ground.judge or "",
            looks=ground.looks or 0,
            alike=UNSET if ground.alike is None else ground.alike,
        )


class BeliefDoc(Struct, frozen=True, kw_only=True):
    """How sure it is that the contract is met, by every answer of judges and of code.

    `probability`: 0-1; exactly 0 or 1 where code alone decides
    `target`: the bar that `sure` asks for, 0-1; `null` where nothing asks for one
    `looks`, `max_looks`: calls of judges that gave marks, and the most there may be
    `decided`: whether the bar was reached, either way; `null` without a bar
    `more_looks`: about how many more looks would decide; `null` where that is not needed or not
        known, or where no number of looks would
    `rests_on`: the looks of each judge, and what code answered
    `better`, `worse`: with a baseline: the probability that this side is better, or worse, by more
        than nothing
    `sentence`: the same in words
    """

    probability: float
    target: float | None = None
    looks: int = 0
    max_looks: int | None = None
    decided: bool | None = None
    more_looks: int | None = None
    rests_on: list[GroundDoc] = []
    better: float | UnsetType = UNSET
    worse: float | UnsetType = UNSET
    sentence: str = ""

    @classmethod
    def of(cls, belief: StatedBelief | None) -> BeliefDoc | None:
        if belief is None:
            return None
        return cls(
            probability=belief.probability,
            target=belief.target,
            looks=belief.looks,
            max_looks=belief.max_looks,
            decided=belief.decided,
            more_looks=belief.more_looks,
            rests_on=[GroundDoc.of(one) for one in belief.rests_on],
            better=UNSET if belief.better is None else belief.better,
            worse=UNSET if belief.worse is None else belief.worse,
            sentence=sure_sentence(belief),
        )

    @property
    def percent(self) -> str:
        """`97% sure`."""
        return sure_percent(StatedBelief(probability=self.probability, target=self.target))

    @property
    def is_stated(self) -> bool:
        """Whether a reader needs it: judges looked, or a bar was asked for."""
        return self.looks > 0 or self.target is not None

    @property
    def better_words(self) -> str:
        """`96% sure that it is better than the baseline`; empty without a baseline."""
        return better_words(self.better, self.worse)

    def doubt(self, verdict: str) -> str:
        """What contradicts a verdict; empty where nothing does."""
        subject = self.sentence.partition(" that ")[2].partition(" (")[0] or "the contract is met"
        stated = StatedBelief(probability=self.probability, target=self.target, subject=subject)
        return doubt(verdict, stated)

    def lines(self, verdict: str) -> list[str]:
        """What every report prints below the verdict."""
        if not self.is_stated:
            return []
        against = self.doubt(verdict)
        sentences = [self.sentence]
        sentences += [self.better_words] if self.better_words else []
        return sentences + ([f"{UNSURE}: {against}"] if against else [])


def better_words(better: float | UnsetType, worse: float | UnsetType) -> str:
    """The likelier of the two; empty where nothing is known."""
    if better is UNSET or worse is UNSET:
        return ""
    if better >= worse:
        return f"{chance_words(better)} that it is better than the baseline"
    return f"{chance_words(worse)} that it is worse than the baseline"


def chance_in(belief: BeliefDoc | None) -> float | None:
    """Its probability; None where nothing was judged."""
    return None if belief is None else belief.probability


def belief_words(belief: BeliefDoc | None, verdict: str) -> list[str]:
    """The lines of `BeliefDoc.lines`; none where nothing was judged."""
    return [] if belief is None else belief.lines(verdict)
