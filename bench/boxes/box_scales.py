"""Texts with criteria on a scale, whose truth is known, and judges that round what they see.

The truth of a criterion is anywhere from 0 to 100 points, or at a described level. A judge sees it
with an error that stays with it and one that is new in each look, and answers the nearest of the
values that it uses: rounding is the same in every look and for all judges that use the same values.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Key, Rubric

THRESHOLDS = (60, 70, 75, 80, 90)
FLOORS = (0, 0, 50, 60)
# Points that the criteria of a text differ by, around their mean.
APART = 12.0


@dataclass(frozen=True)
class ScaleText:
    """What is true of each criterion (points), and the bars that it has to reach."""

    truth: tuple[float, ...]
    levels: tuple[int, ...]
    threshold: int
    floor: int

    @property
    def is_good(self) -> bool:
        mean = sum(self.truth) / len(self.truth)
        return mean >= self.threshold - 1e-9 and min(self.truth) >= self.floor - 1e-9

    def rubric(self, sure: int) -> Rubric:
        scale = Anchors(levels=tuple((Fraction(one), f"as {one}") for one in self.levels))
        criteria = tuple(
            Criterion(
                id=f"i{number}",
                requirement=f"i{number}",
                items=(Item(id=f"i{number}", requirement=f"i{number}", whole=True, anchors=scale),),
            )
            for number in range(len(self.truth))
        )
        return Rubric(
            criteria=criteria,
            threshold=Fraction(self.threshold, 100),
            floor=Fraction(self.floor, 100),
            sure=Fraction(sure, 100),
            max_looks=12,
        )


@dataclass(frozen=True)
class ScaleWorld:
    """How texts and judges are drawn.

    `values`: what judges answer, in points. `own`, `fresh`, `shared`: ranges of the standard
    deviations of an error that stays with a judge and a criterion, of one that is new in each look,
    and of one that all judges make alike. `levels`: what the rubric describes. `is_at_levels`: the
    truth is at one of them. `is_seen`: marks can show how judges err. Where all of few values are
    full marks, or one criterion has one value, they cannot.
    """

    name: str
    values: tuple[int, ...]
    own: tuple[float, float] = (0.0, 8.0)
    fresh: tuple[float, float] = (0.0, 8.0)
    shared: float = 0.0
    levels: tuple[int, ...] = (0, 50, 100)
    is_at_levels: bool = False
    judges: tuple[int, int] = (1, 3)
    items: tuple[int, int] = (2, 6)
    is_seen: bool = True

    def text(self, seed: int) -> ScaleText:
        draw = random.Random(f"text {seed}")
        count = draw.randint(*self.items)
        middle = draw.uniform(30, 100)
        truth = [min(max(draw.gauss(middle, APART), 0.0), 100.0) for _ in range(count)]
        if self.is_at_levels:
            truth = [float(_nearest(self.levels, one)) for one in truth]
        return ScaleText(tuple(truth), self.levels, draw.choice(THRESHOLDS), draw.choice(FLOORS))


class ScaleJudges:
    """A panel for one text. What a look says depends on its number and the seed alone."""

    def __init__(self, world: ScaleWorld, text: ScaleText, seed: int) -> None:
        draw = random.Random(f"judges {seed}")
        self._world, self._text, self._seed = world, text, seed
        self.names = [f"j{number}" for number in range(draw.randint(*world.judges))]
        self._own = {name: draw.uniform(*world.own) for name in self.names}
        self._fresh = {name: draw.uniform(*world.fresh) for name in self.names}

    def look(self, name: str, number: int) -> dict[Key, Mark]:
        """What a judge answers about each criterion, the `number`-th time it is asked."""
        marks = {}
        for item, truth in enumerate(self._text.truth):
            seen = truth + self._world.shared * self._draw("all", item)
            seen += self._own[name] * self._draw("own", name, item)
            seen += self._fresh[name] * self._draw("look", name, item, number)
            marks[f"i{item}", f"i{item}"] = Mark(_nearest(self._world.values, seen))
        return marks

    def _draw(self, *of: object) -> float:
        return random.Random(f"{self._seed} {of}").gauss(0.0, 1.0)


def _nearest(values: tuple[int, ...], to: float) -> int:
    return min(values, key=lambda one: abs(one - to))


def _steps(count: int) -> tuple[int, ...]:
    """So many values from 0 to 100."""
    return tuple(round(100 * number / (count - 1)) for number in range(count))


_MANY, _HARDLY_ANY = (6.0, 14.0), (0.0, 1.0)
SCALE_WORLDS = (
    ScaleWorld("scale: 2 values", _steps(2), is_seen=False),
    *[ScaleWorld(f"scale: {count} values", _steps(count)) for count in (3, 5, 11, 101)],
    ScaleWorld("scale: 60, 80, 100", (60, 80, 100)),
    ScaleWorld("scale: 3 values, hardly any errors", _steps(3), _HARDLY_ANY, _HARDLY_ANY),
    ScaleWorld("scale: 5 values, hardly any errors", _steps(5), _HARDLY_ANY, _HARDLY_ANY),
    ScaleWorld("scale: 101 values, hardly any errors", _steps(101), _HARDLY_ANY, _HARDLY_ANY),
    ScaleWorld("scale: 3 values, many errors", _steps(3), _MANY, _MANY),
    ScaleWorld("scale: 101 values, many errors", _steps(101), _MANY, _MANY),
    ScaleWorld("scale: 3 values, one criterion", _steps(3), items=(1, 1), is_seen=False),
    ScaleWorld("scale: 101 values, one criterion", _steps(101), items=(1, 1)),
    ScaleWorld("scale: 3 values, five levels", _steps(3), levels=_steps(5)),
    ScaleWorld("scale: 5 values, five levels", _steps(5), levels=_steps(5)),
    ScaleWorld("scale: truth at five levels", _steps(5), levels=_steps(5), is_at_levels=True),
    ScaleWorld("scale: errors that judges share", _steps(101), shared=8.0, is_seen=False),
)
