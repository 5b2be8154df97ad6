"""Item analysis: what the answers of many artifacts say about the items themselves. Classical test
theory, exactly.

With x(a) the score of an item on artifact a (0-1, mean of its votes) and r(a) the mean of all other
items on a:

    difficulty      p = mean of x            (share met; 1 is easiest)       Crocker & Algina 1986, ch. 14
    item-rest       Pearson's r of x and r   (the item itself left out)      Henrysson 1963, Psychometrika 28(2)
    discrimination  p(upper) - p(lower), the artifacts with the highest and the lowest 27% of r   Kelley 1939, J. Educ. Psych. 30(1)
    (items whose yes is bad, penalties and negated ones, are turned round for these two)
    disagreement    share of pairs of judges on the same artifact that answered differently: 1 - observed agreement,
                    as in Fleiss 1971, Psychol. Bull. 76(5); numbers differ when more than 20 of 100 points apart
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import sqrt
from typing import Final, TypeAlias

from msgspec import Struct, field

from honestone.core.judging.ballot import CHECK, NOT_APPLICABLE, Answer, Ballot
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorecard import DISAGREEMENT
from honestone.core.numbers import ONE, ZERO

# Answers to one item about one artifact, by judge.
Votes: TypeAlias = Mapping[str, Answer]

TAIL: Final = Fraction(27, 100)
# With fewer artifacts nothing is said about an item.
FEWEST_ARTIFACTS: Final = 5
FEWEST_FOR_CORRELATION: Final = 10
# Judges who differ on more than this share of their answers disagree about the item, not about
# artifacts.
OFTEN: Final = Fraction(3, 10)


class Record(Struct):
    """Answers collected from runs: per artifact (its digest), item and judge the last one counts."""

    answers: dict[str, dict[Key, dict[str, Answer]]] = field(default_factory=dict)

    def add(self, artifact: str, ballots: Iterable[Ballot]) -> None:
        for ballot in ballots:
            for key, mark in ballot.marks.items():
                self.answers.setdefault(artifact, {}).setdefault(key, {})[ballot.judge] = (
                    mark.answer
                )

    def __len__(self) -> int:
        return len(self.answers)


class ItemStats(Struct, frozen=True, kw_only=True):
    """What is known of one item. None where there is too little to say: no variance, one judge, few
    artifacts.
    """

    key: Key
    artifacts: int
    judges: tuple[str, ...]
    difficulty: Fraction | None
    item_rest: float | None
    discrimination: Fraction | None
    disagreement: Fraction | None
    pairs: int

    @property
    def never_discriminates(self) -> bool:
        """Met by all or by none, over artifacts enough to tell."""
        return self.artifacts >= FEWEST_ARTIFACTS and self.difficulty in (ZERO, ONE)

    @property
    def judges_disagree(self) -> bool:
        return (
            self.pairs >= FEWEST_ARTIFACTS
            and self.disagreement is not None
            and self.disagreement > OFTEN
        )

    @property
    def runs_against_the_rest(self) -> bool:
        return (
            self.artifacts >= FEWEST_FOR_CORRELATION
            and self.item_rest is not None
            and self.item_rest <= -0.1
        )


def item_stats(rubric: Rubric, record: Record) -> list[ItemStats]:
    """Every item of the rubric that was answered, in the order of the file."""
    items = dict(rubric.questions())
    turned = _turned(rubric.criteria)
    rows = [_scores(items, answers) for answers in record.answers.values()]
    good = [{key: 1 - x if key in turned else x for key, x in row.items()} for row in rows]
    return [
        _of_item(
            key, item, rows, good, [answers.get(key, {}) for answers in record.answers.values()]
        )
        for key, item in items.items()
        if any(key in row for row in rows)
    ]


def _turned(group: Sequence[Criterion], turned: bool = False) -> frozenset[Key]:
    """Items whose yes is bad: of penalties, and of what is negated an odd number of times."""
    keys: set[Key] = set()
    for criterion in group:
        bad = turned ^ criterion.negate ^ criterion.is_penalty
        keys |= {(criterion.id, item.id) for item in criterion.items if bad}
        keys |= _turned(criterion.children, bad)
    return frozenset(keys)


def _scores(items: Mapping[Key, Item], answers: Mapping[Key, Votes]) -> dict[Key, Fraction]:
    """One artifact's score per item, where there is one."""
    scores = {}
    for key, votes in answers.items():
        if key not in items:
            continue
        shares = [
            share
            for answer in votes.values()
            if (share := share_of(items[key], answer)) is not None
        ]
        if shares:
            scores[key] = sum(shares, ZERO) / len(shares)
    return scores


def share_of(item: Item, answer: Answer) -> Fraction | None:
    """An answer as 0-1; None where the item does not apply."""
    if answer == NOT_APPLICABLE and isinstance(answer, str):
        return None
    if item.anchors is None:
        return ONE if answer else ZERO
    assert not isinstance(answer, str)
    return item.anchors.share(answer)


def _of_item(
    key: Key,
    item: Item,
    rows: Sequence[Mapping[Key, Fraction]],
    good: Sequence[Mapping[Key, Fraction]],
    votes: Sequence[Votes],
) -> ItemStats:
    own = [row[key] for row in rows if key in row]
    others = (
        (row, mean([score for other, score in row.items() if other != key]))
        for row in good
        if key in row
    )
    with_rest = [(row[key], rest) for row, rest in others if rest is not None]
    differing, pairs = _differing(item, votes)
    return ItemStats(
        key=key,
        artifacts=len(own),
        judges=tuple(dict.fromkeys(judge for ballot in votes for judge in ballot)),
        difficulty=mean(own),
        item_rest=correlation(with_rest),
        discrimination=discrimination(with_rest),
        disagreement=Fraction(differing, pairs) if pairs else None,
        pairs=pairs,
    )


def mean(values: Sequence[Fraction]) -> Fraction | None:
    return sum(values, ZERO) / len(values) if values else None


def correlation(pairs: Sequence[tuple[Fraction, Fraction]]) -> float | None:
    """Pearson's r; None with fewer than three pairs, or where one side never varies. Exact up to
    the last root.
    """
    if len(pairs) < 3:
        return None
    count = len(pairs)
    sum_x, sum_y = sum((x for x, _ in pairs), ZERO), sum((y for _, y in pairs), ZERO)
    var_x = count * sum((x * x for x, _ in pairs), ZERO) - sum_x * sum_x
    var_y = count * sum((y * y for _, y in pairs), ZERO) - sum_y * sum_y
    if not var_x or not var_y:
        return None
    covariance = count * sum((x * y for x, y in pairs), ZERO) - sum_x * sum_y
    size = sqrt(covariance * covariance / (var_x * var_y))
    return size if covariance >= 0 else -size


def discrimination(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
    """How much more often the best artifacts (by the rest) meet the item than the worst; None below
    five artifacts.

    Artifacts that tie with the last of a group belong to it too, so that the order of the record
    decides nothing.
    """
    if len(pairs) < FEWEST_ARTIFACTS:
        return None
    rests = sorted(rest for _, rest in pairs)
    size = max(1, round(TAIL * len(pairs)))
    low, high = rests[size - 1], rests[-size]
    if low >= high:
        return None
    upper, lower = (
        mean([x for x, rest in pairs if rest >= high]),
        mean([x for x, rest in pairs if rest <= low]),
    )
    assert upper is not None and lower is not None
    return upper - lower


def _differing(item: Item, votes: Sequence[Votes]) -> tuple[int, int]:
    """How many pairs of judges answered differently about one artifact, of how many. Code is not a
    judge.
    """
    differing = pairs = 0
    for ballot in votes:
        answers = [share_of(item, answer) for judge, answer in ballot.items() if judge != CHECK]
        for one, other in combinations(answers, 2):
            pairs += 1
            differing += _differ(one, other)
    return differing, pairs


def _differ(one: Fraction | None, other: Fraction | None) -> bool:
    if one is None or other is None:
        return one is not other
    return abs(one - other) > DISAGREEMENT
