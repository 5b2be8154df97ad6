"""Texts whose truth is known, and judges that misread them in ways of which the program is told
nothing.

Unlike a rule of thumb, no world is one of the assumptions of `core/belief/errors.py`: rates differ
between the judges of a panel and between items, and how long an error stays is drawn for each judge.
"""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """Items that are met or not; `least` of them have to be."""

    truth: tuple[bool, ...]
    least: int

    @property
    def is_good(self) -> bool:
        return sum(self.truth) >= self.least


@dataclass(frozen=True)
class World:
    """How texts and judges are drawn.

    `rates`: the range of a judge's rate of misreading. `lenient`: how many times as often an unmet
    item is misread as a met one. `stays`: the range of the part of a judge's errors that it repeats.
    `shared`: the part of errors that all judges of the panel make together. `judges`: the range of
    their number. `items`: the range of the number of items. `open_items`: how many of them are
    misread at all; None for all.
    """

    name: str
    rates: tuple[float, float]
    stays: tuple[float, float] = (0.0, 0.0)
    lenient: float = 1.0
    shared: float = 0.0
    judges: tuple[int, int] = (1, 4)
    items: tuple[int, int] = (3, 10)
    open_items: int | None = None

    def text(self, seed: int) -> Text:
        """Texts near the bar are as frequent as clear ones."""
        draw = random.Random(f"text {self.name} {seed}")
        count = draw.randint(*self.items)
        least = draw.randint((count + 1) // 2, count)
        met = min(max(least + draw.choice((-3, -2, -1, 0, 0, 1, 1, 2)), 0), count)
        truth = [True] * met + [False] * (count - met)
        draw.shuffle(truth)
        return Text(truth=tuple(truth), least=least)


class Judges:
    """A panel for one text. What a look says depends on its number and the seed alone."""

    def __init__(self, world: World, text: Text, seed: int) -> None:
        draw = random.Random(f"judges {world.name} {seed}")
        self._world, self._text, self._seed = world, text, seed
        self.names = [f"j{number}" for number in range(draw.randint(*world.judges))]
        self._rates = {name: draw.uniform(*world.rates) for name in self.names}
        self._stays = {name: draw.uniform(*world.stays) for name in self.names}
        self._hard = [draw.uniform(0.5, 1.5) for _ in text.truth]
        if world.open_items is not None:
            misread = draw.sample(range(len(text.truth)), world.open_items)
            self._hard = [one if at in misread else 0.0 for at, one in enumerate(self._hard)]

    def look(self, name: str, number: int) -> list[bool]:
        """What a judge answers about each item, the `number`-th time it is asked."""
        return [self._answer(name, number, item) for item in range(len(self._text.truth))]

    def _answer(self, name: str, number: int, item: int) -> bool:
        truth = self._text.truth[item]
        rate = self._rates[name] * self._hard[item]
        if not truth:
            rate *= self._world.lenient
        source = self._draw("source", name, item)
        if source < self._world.shared:
            drawn = self._draw("all", item)
        elif source < self._world.shared + (1.0 - self._world.shared) * self._stays[name]:
            drawn = self._draw("own", name, item)
        else:
            drawn = self._draw("look", name, item, number)
        return truth != (drawn < min(rate, 0.45))

    def _draw(self, *of: object) -> float:
        return random.Random(f"{self._world.name} {self._seed} {of}").random()


WORLDS = (
    World("hardly any errors", (0.0, 0.02)),
    World("new at each look, few", (0.03, 0.10)),
    World("new at each look, many", (0.10, 0.20)),
    World("stay with the judge", (0.05, 0.15), (1.0, 1.0)),
    World("stay in part", (0.05, 0.15), (0.0, 1.0)),
    World("lenient judges", (0.03, 0.08), (0.2, 0.8), lenient=3.0),
    World("one careful judge of three", (0.01, 0.20), (0.3, 0.7), judges=(3, 3)),
    World("errors that judges share", (0.05, 0.15), (0.3, 0.7), shared=0.5),
)

# Rubrics so large that a look at a part of them is much cheaper.
LARGE = (
    World("40 items, 5 % misread", (0.03, 0.08), judges=(3, 3), items=(40, 40)),
    World("40 items, 15 % misread", (0.12, 0.18), judges=(3, 3), items=(40, 40)),
    World("40 items, of which 3 are open", (0.3, 0.4), judges=(3, 3), items=(40, 40), open_items=3),
)
