"""How sure a verdict is, as every document prints it."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType

from honestone.core.belief.stated import (
    Ground,
    SideBelief,
    Stated,
    StatedBelief,
    doubt,
    side_sentence,
    sure_percent,
    sure_sentence,
)

UNSURE: Final = "UNSURE"


class GroundDoc(Struct, frozen=True, kw_only=True):
    """What a probability rests on.

    `kind`: `looks` of one judge, or `checks`
    `judge`, `looks`, `alike`: which judge, how often it looked, how many of these looks had the
        same reply as another at the same text (absent over 1,000 cases that had further looks)
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

    `probability`: 0-1; exactly 0 or 1 where code alone decides; `null` where a baseline decides and
        no `--min-pass-rate` is asked for: then `better` and `worse` are what is stated
    `target`: the bar that `sure` asks for, 0-1; `null` where nothing asks for one
    `looks`, `max_looks`: calls of judges that gave marks, and the most there may be; of
        `improve --suite` at the three splits together
    `decided`: whether the bar was reached, either way; `null` without a bar
    `undecided`: every needed answer is there, and the probability is between the bars: in words
        UNDECIDED. What lacks an answer could not be judged
    `more_looks`: about how many more looks would decide; `null` where that is not needed or not
        known, or where no number of looks would
    `rests_on`: the looks of each judge, and what code answered
    `better`, `worse`: with a baseline: the probability that this side is better, or worse, by more
        than nothing
    `sentence`: the same in words
    """

    probability: float | None
    target: float | None = None
    looks: int = 0
    max_looks: int | None = None
    decided: bool | None = None
    undecided: bool = False
    more_looks: int | None = None
    rests_on: list[GroundDoc] = []
    better: float | UnsetType = UNSET
    worse: float | UnsetType = UNSET
    sentence: str = ""

    @classmethod
    def of(cls, belief: Stated | None, *, is_undecided: bool = False) -> BeliefDoc | None:
        if belief is None:
            return None
        if isinstance(belief, SideBelief):
            return cls._of_side(belief)
        return cls(
            probability=belief.probability,
            target=belief.target,
            looks=belief.looks,
            max_looks=belief.max_looks,
            decided=belief.decided,
            undecided=is_undecided,
            more_looks=belief.more_looks,
            rests_on=[GroundDoc.of(one) for one in belief.rests_on],
            better=UNSET if belief.better is None else belief.better,
            worse=UNSET if belief.worse is None else belief.worse,
            sentence=sure_sentence(belief),
        )

    @classmethod
    def _of_side(cls, belief: SideBelief) -> BeliefDoc:
        return cls(
            probability=None,
            looks=belief.looks,
            max_looks=belief.max_looks,
            rests_on=[GroundDoc.of(one) for one in belief.rests_on],
            better=UNSET if belief.better is None else belief.better,
            worse=UNSET if belief.worse is None else belief.worse,
            sentence=side_sentence(belief.better, belief.worse),
        )

    @property
    def percent(self) -> str:
        """`97% sure`; empty where no probability is stated."""
        if self.probability is None:
            return ""
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
        if self.probability is None:
            return ""
        subject = self.sentence.partition(" that ")[2].partition(" (")[0] or "the contract is met"
        stated = StatedBelief(probability=self.probability, target=self.target, subject=subject)
        return doubt(verdict, stated)

    def lines(self, verdict: str) -> list[str]:
        """What every report prints below the verdict."""
        if not self.is_stated:
            return []
        against = self.doubt(verdict)
        # Where a baseline decides alone, the sentence is about the sides itself.
        sentences = [one for one in dict.fromkeys((self.sentence, self.better_words)) if one]
        return sentences + ([f"{UNSURE}: {against}"] if against else [])


def better_words(better: float | UnsetType, worse: float | UnsetType) -> str:
    """The likelier of the two; empty where nothing is known."""
    return side_sentence(
        None if isinstance(better, UnsetType) else better,
        None if isinstance(worse, UnsetType) else worse,
    )


def is_undecided(belief: BeliefDoc | None) -> bool:
    """What `state_words` asks of a verdict with this belief."""
    return belief is not None and belief.undecided


def belief_words(belief: BeliefDoc | None, verdict: str) -> list[str]:
    """The lines of `BeliefDoc.lines`; none where nothing was judged."""
    return [] if belief is None else belief.lines(verdict)
