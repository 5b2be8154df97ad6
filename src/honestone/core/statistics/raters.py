"""Several raters of the same texts: who sees them in which order, which are chosen, and how far the
raters agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import chain, zip_longest
from typing import Final, TypeAlias

from msgspec import Struct

from honestone.core.judging.ballot import Answer
from honestone.core.judging.rubric import Key
from honestone.core.statistics.calibration import Interval, alpha_of_units
from honestone.core.statistics.labels import LabelTarget

# The rater who settles what the others differ about.
SETTLED: Final = "settled"

# What one label is about: a text by its name, and an item.
Place: TypeAlias = tuple[str, Key]
# What one rater answered; None is a skip.
RaterAnswers: TypeAlias = Mapping[Place, Answer | None]


def _lot(*words: str) -> bytes:
    return sha256("\0".join(words).encode("utf-8", "surrogatepass")).digest()


def order_of(names: Sequence[str], rater: str) -> list[int]:
    """The places of texts in the order of a rater, who always has the same one."""
    return sorted(range(len(names)), key=lambda at: _lot(rater, names[at]))


def sample(strata: Mapping[str, str], count: int) -> list[str]:
    """`count` names, as many as can be from each stratum; the same for all raters. `strata`: the
    stratum by name.
    """
    groups: dict[str, list[str]] = {}
    for name in sorted(strata, key=_lot):
        groups.setdefault(strata[name], []).append(name)
    rounds = zip_longest(*(groups[stratum] for stratum in sorted(groups)))
    drawn = [name for name in chain.from_iterable(rounds) if name is not None]
    return drawn[:count]


class Difference(Struct, frozen=True, kw_only=True):
    """An item that raters answered differently: each with the answer."""

    place: Place
    answers: Mapping[str, Answer]


class RatersAgreement(Struct, frozen=True, kw_only=True):
    """`agreed` of the `compared` items, those that two raters or more answered, were answered alike
    by
    all who did.

    `alpha`: Krippendorff's, of the shares from 0 to 1; None where it is not defined.
    """

    raters: tuple[str, ...]
    compared: int
    agreed: int
    alpha: float | None
    interval: Interval | None
    differences: tuple[Difference, ...]


def is_through(answers: RaterAnswers, places: Iterable[Place]) -> bool:
    """Whether a rater answered or skipped every item."""
    return all(place in answers for place in places)


def agreement_of(
    targets: Mapping[Place, LabelTarget], by_rater: Mapping[str, RaterAnswers]
) -> RatersAgreement:
    """How far raters agree about the items of `targets`."""
    answered = [(place, _answers(place, by_rater)) for place in targets]
    both = [(place, answers) for place, answers in answered if len(answers) > 1]
    different = [
        Difference(place=place, answers=answers) for place, answers in both if not _is_one(answers)
    ]
    shares = [(place[0], list(_shares(targets[place], answers))) for place, answers in both]
    alpha, interval = alpha_of_units([(unit, marks) for unit, marks in shares if len(marks) > 1])
    return RatersAgreement(
        raters=tuple(by_rater),
        compared=len(both),
        agreed=len(both) - len(different),
        alpha=alpha,
        interval=interval,
        differences=tuple(different),
    )


def _answers(place: Place, by_rater: Mapping[str, RaterAnswers]) -> dict[str, Answer]:
    answer_of = {rater: answers.get(place) for rater, answers in by_rater.items()}
    return {rater: answer for rater, answer in answer_of.items() if answer is not None}


def _is_one(answers: Mapping[str, Answer]) -> bool:
    return len(set(answers.values())) == 1


def _shares(target: LabelTarget, answers: Mapping[str, Answer]) -> Iterator[float]:
    for answer in answers.values():
        if (share := target.share(answer)) is not None:
            yield share
