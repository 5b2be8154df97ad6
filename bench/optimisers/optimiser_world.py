"""The world in which optimisers are compared: a text of eight properties, judges that misread them,
a worker that fixes or breaks them. Judges and worker are programs, so the truth is known.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import honestone

ITEMS: Final = 8
MET_AT_FIRST: Final = 3
WANTED: Final = 7
LOOKS: Final = 30
# Of the looks, those that certify at the end, by judges that did not steer.
CERTIFYING: Final = 10
FIXES, BREAKS = 0.6, 0.2
STEERING, CERTIFIERS = ("a", "b", "c"), ("d", "e")
RUBRIC: Final[dict[str, Any]] = {
    "rubric": 1,
    "threshold": 100 * WANTED / ITEMS,
    "floor": 0,
    "criteria": [{"id": f"p{n}", "requirement": f"Property p{n} holds"} for n in range(ITEMS)],
}
_LINE: Final = re.compile(r"^p(\d): (yes|no) \d+$", re.MULTILINE)


@dataclass
class World:
    """`misreads`: how often a look misreads a mark. `stays`: how often that stays with the judge and
    the line. A line has another number after each edit, so that its errors are drawn again.
    """

    seed: int
    misreads: float
    stays: float
    looks: int = 0
    edits: int = 0

    @property
    def first(self) -> str:
        states = [n < MET_AT_FIRST for n in range(ITEMS)]
        random.Random(f"first {self.seed}").shuffle(states)
        return text_of(states, [0] * ITEMS)

    def judge(self, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def judge(request: dict[str, Any]) -> dict[str, Any]:
            marks = self.look(name, request["artifact"]["text"])
            return {"criteria": {f"p{n}": {"met": met} for n, met in enumerate(marks)}}

        judge.__name__ = judge.__qualname__ = name
        return judge

    def judges(self, names: Sequence[str]) -> list[Callable[[dict[str, Any]], dict[str, Any]]]:
        return [self.judge(name) for name in names]

    def look(self, name: str, text: str) -> list[bool]:
        self.looks += 1
        return [self._read(name, line) for line in lines_of(text)]

    def shares(self, text: str) -> list[float]:
        """Of each property the share of the steering judges that see it met, at one look each."""
        marks = [self.look(name, text) for name in STEERING]
        return [sum(of) / len(marks) for of in zip(*marks, strict=True)]

    def _read(self, name: str, line: str) -> bool:
        draw = random.Random(f"{self.seed} {name} {line}")
        if draw.random() >= self.stays:
            draw = random.Random(f"{self.seed} {name} {line} {self.looks}")
        return ("yes" in line) is not (draw.random() < self.misreads)

    def edit(self, text: str, feedback: str) -> str:
        """The text with one of the properties that the feedback names worked on."""
        self.edits += 1
        draw = random.Random(f"edit {self.seed} {self.edits}")
        states = ["yes" in line for line in lines_of(text)]
        numbers = [int(line.rsplit(" ", 1)[1]) for line in lines_of(text)]
        listed = [int(n) for n in re.findall(r"Property p(\d)", feedback)] or list(range(ITEMS))
        chosen, other = draw.choice(listed), draw.randrange(ITEMS)
        if draw.random() < FIXES:
            states[chosen], numbers[chosen] = True, self.edits
        if draw.random() < BREAKS and other != chosen:
            states[other], numbers[other] = False, self.edits
        return text_of(states, numbers)

    def certifies(self, text: str) -> bool:
        """Whether judges that did not steer are 95 % sure of it, within the looks left for them."""
        found = honestone.evaluate(
            text, RUBRIC, judges=self.judges(CERTIFIERS), sure=95, max_looks=CERTIFYING
        )
        return found.verdict == "pass"


def text_of(states: Sequence[bool], numbers: Sequence[int]) -> str:
    rows = zip(states, numbers, strict=True)
    return "\n".join(
        f"p{n}: {'yes' if met else 'no'} {number}" for n, (met, number) in enumerate(rows)
    )


def lines_of(text: str) -> list[str]:
    return [match[0] for match in _LINE.finditer(text)][:ITEMS]


def is_good(text: str) -> bool:
    return sum("yes" in line for line in lines_of(text)) >= WANTED


def unmet(shares: Sequence[float]) -> str:
    """The feedback: what fewer than half of the judges see met."""
    return "\n".join(f"not met: Property p{n} holds" for n, one in enumerate(shares) if one < 0.5)


@dataclass(frozen=True)
class Ended:
    """What a way delivered, and whether it says that it passes."""

    text: str
    says_pass: bool
