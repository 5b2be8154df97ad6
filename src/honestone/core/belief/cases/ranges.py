"""How probable it is that the true scores of a text are outside of what is expected of them.

A range is reached from its lower end and not beyond its upper one. Each of these is a rubric with
other bars, whose contract is met with a probability that is known how to find; what is between is
their difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief.normal import Atom
from honestone.core.belief.verdict import Assumption, TextBelief, uncertain
from honestone.core.errors import RubricError
from honestone.core.json_value import JsonObject
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Key, Rubric
from honestone.core.numbers import ONE, ZERO

Span = tuple[Fraction, Fraction]
# Above an upper end: no two scores of a rubric of yes/no items are so near to each other.
_ABOVE: Final = Fraction(1, 100_000)
# Upper ends that are distinguished; each one more doubles the work.
_MOST_ENDS: Final = 4
_MOST: Final = 512


class Ranges(Struct, frozen=True):
    """Ranges (0-1, both ends included) of the score and of criteria. `wants_met`: whether the
    contract has to be met as well (True), or must not be (False); None where it does not matter.
    """

    score: Span | None
    criteria: tuple[tuple[str, Span], ...] = ()
    wants_met: bool | None = None

    @classmethod
    def from_plain(cls, plain: JsonObject) -> Ranges | None:
        """What a case expects, as it is on record (`verdict`, `score`, `criteria`); None where no
        range is expected, or doubt is.
        """
        verdict, score, criteria = (plain.get(name) for name in ("verdict", "score", "criteria"))
        spans = criteria if isinstance(criteria, Mapping) else {}
        if verdict == "inconclusive" or (score is None and not spans):
            return None
        return cls(
            score=None if score is None else _span(score),
            criteria=tuple(sorted((str(id), _span(span)) for id, span in spans.items())),
            wants_met=None if verdict is None else verdict == "pass",
        )


def _span(ends: object) -> Span:
    assert isinstance(ends, Sequence)
    low, high = ends
    return Fraction(low), Fraction(high)


class OutsideBelief(TextBelief):
    """What is believed about a text of which ranges of scores are expected: its probability is that
    they are not kept.
    """

    def __init__(self, rubric: Rubric, parts: Sequence[tuple[int, Rubric]]) -> None:
        super().__init__(rubric)
        self._parts = [(sign, TextBelief(one)) for sign, one in parts]

    @classmethod
    def of(cls, rubric: Rubric, ranges: Ranges) -> OutsideBelief | None:
        """None where too many ends have to be distinguished, or no bar can say what is expected."""
        parts = _parts_of(rubric, ranges)
        return None if parts is None else cls(rubric, parts)

    def see_checks(self, marks: Mapping[Key, Mark]) -> None:
        super().see_checks(marks)
        for _, part in self._parts:
            part.see_checks(marks)

    def see(self, judge: str, marks: Mapping[Key, Mark], *, held_out: bool = False) -> None:
        super().see(judge, marks, held_out=held_out)
        for _, part in self._parts:
            part.see(judge, marks, held_out=held_out)

    @property
    def probability(self) -> float | None:
        chances = [(sign, part.probability) for sign, part in self._parts]
        if any(chance is None for _, chance in chances):
            return None
        inside = sum([sign * (chance or 0.0) for sign, chance in chances])
        if all(chance in (0.0, 1.0) for _, chance in chances):
            return 1.0 - inside
        return uncertain(1.0 - inside)

    def under(self, assumption: Assumption) -> float:
        inside = sum([sign * part.under(assumption) for sign, part in self._parts])
        return min(max(1.0 - inside, 0.0), 1.0)

    def scores_under(self, assumption: Assumption, *, is_met: bool) -> Sequence[Atom]:
        every = super().scores_under(assumption, is_met=False)
        if not is_met:
            return every
        inside = [
            atom._replace(mass=-sign * atom.mass)
            for sign, part in self._parts
            for atom in part.scores_under(assumption, is_met=True)
        ]
        return [*every, *inside]

    @property
    def is_by_score(self) -> bool:
        return False

    @property
    def signature(self) -> None:
        return None


def text_with(rubric: Rubric, expect: JsonObject | None) -> TextBelief:
    """What is believed about an output before its first answer: where scores are `expect`ed, that
    these are not kept.
    """
    ranges = None if expect is None else Ranges.from_plain(expect)
    outside = None if ranges is None else OutsideBelief.of(rubric, ranges)
    return TextBelief(rubric) if outside is None else outside


# ------------------------------------------------------------------------------------------------------------
# rubrics with other bars

# By the identity of the rubric, which each entry holds.
_KNOWN: Final[dict[tuple[int, Ranges], tuple[Rubric, Sequence[tuple[int, Rubric]] | None]]] = {}


def _parts_of(rubric: Rubric, ranges: Ranges) -> Sequence[tuple[int, Rubric]] | None:
    key = id(rubric), ranges
    if key not in _KNOWN:
        if len(_KNOWN) >= _MOST:
            _KNOWN.clear()
        try:
            _KNOWN[key] = rubric, _made(rubric, ranges)
        except RubricError:  # as a floor of a penalty
            _KNOWN[key] = rubric, None
    return _KNOWN[key][1]


def _made(rubric: Rubric, ranges: Ranges) -> Sequence[tuple[int, Rubric]] | None:
    spans: dict[str | None, Span] = dict(ranges.criteria)
    if ranges.score is not None:
        spans[None] = ranges.score
    ends = [name for name, (_, high) in spans.items() if high + _ABOVE <= ONE]
    if len(ends) > _MOST_ENDS:
        return None
    free = rubric.without_bars
    found: list[tuple[int, Rubric]] = []
    for bars, sign in _bars(spans, ends):
        if ranges.wants_met is not True:
            found.append((sign, _with_bars(free, bars)))
        if ranges.wants_met is not None:
            found.append((sign if ranges.wants_met else -sign, _with_bars(rubric, bars)))
    return found


def _bars(
    spans: Mapping[str | None, Span], ends: Sequence[str | None]
) -> Iterator[tuple[dict[str | None, Fraction], int]]:
    """What is reached, and whether it counts or is taken away: all lower ends, without what is
    beyond an upper one.
    """
    for size in range(len(ends) + 1):
        for beyond in combinations(ends, size):
            bars = {name: low for name, (low, _) in spans.items()}
            bars |= {name: spans[name][1] + _ABOVE for name in beyond}
            yield bars, (-1) ** size


def _with_bars(rubric: Rubric, bars: Mapping[str | None, Fraction]) -> Rubric:
    """The same with bars that are at least so high, of the whole (None) and of criteria."""

    def raised(one: Criterion, parent: str | None) -> Criterion:
        children = tuple(raised(child, one.id) for child in one.children)
        if one.id not in bars:
            return replace(one, children=children)
        floor = max(rubric.floor_of(one, parent), bars[one.id])
        return replace(one, floor=floor, children=children)

    criteria = tuple(raised(one, None) for one in rubric.criteria)
    threshold = max(rubric.threshold, bars.get(None, ZERO))
    return replace(rubric, criteria=criteria, threshold=threshold)
