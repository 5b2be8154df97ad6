"""What a belief costs a look, and choosing the next one: `make bench-beliefs`.

    python bench/beliefs.py [WORDS...]    # the cells whose names have all of these words

Rubrics of 8 and of 300 items, answered with yes or no, by five levels, by 0 to 100 points, or every
fourth by points and the others with yes or no (mixed), with
marks that are alike and that are not, weights, floors of some criteria and of all (bars), items that
have to be met (vetoes), one list and groups, and 1, 3 or 5 judges that look in turn, twelve times. Each cell is measured in a process of its own: the first
text after its start (cold), then others under the same rubric (warm). Milliseconds of the processor
a look: the mean over the looks of a text, and the dearest one; of warm texts, the median of the
texts' figures.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from rows import show

from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.judging.ballot import Answer, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric

KINDS = ("yes-no", "levels", "points", "mixed")
VARIANTS = ("alike", "unlike", "weights", "floors", "bars", "vetoes", "list", "groups")
SIZES = {8: 1.0, 300: 20.0}
"""Items of a rubric, and the most milliseconds that a look may cost."""
THRESHOLDS = {
    "yes-no": Fraction(86, 100),
    "levels": Fraction(56, 100),
    "points": Fraction(56, 100),
    "mixed": Fraction(78, 100),
}
"""Near what the texts are worth, so that it is open whether they pass."""
FLOOR = Fraction(4, 10)
PANELS = (1, 3, 5)
LOOKS = 12
WARM_TEXTS = 3


class Cell(NamedTuple):
    size: int
    kind: str
    variant: str
    judges: int

    @property
    def name(self) -> str:
        return f"{self.size} {self.kind} {self.variant} {self.judges}-judges"


class Cost(NamedTuple):
    """Milliseconds a look: the mean over the looks of a text, and the dearest."""

    mean: float
    most: float


def scale(low: int, high: int) -> Anchors:
    steps = (low, high) if high == 100 else range(low, high + 1)
    return Anchors(levels=tuple((Fraction(level), f"level {level}") for level in steps))


ANCHORS = {"yes-no": None, "levels": scale(1, 5), "points": scale(0, 100)}


def kind_at(cell: Cell, place: int) -> str:
    if cell.kind == "mixed":
        return "yes-no" if place % 4 else "points"
    return cell.kind


def items_of(cell: Cell, number: int, count: int) -> tuple[Item, ...]:
    """`number`: of their criterion, each of which has one item where there are several."""
    return tuple(
        Item(
            id=f"c{number}-{n}",
            requirement="it holds",
            anchors=ANCHORS[kind_at(cell, number + n)],
            whole=count == 1,
        )
        for n in range(count)
    )


def criterion(cell: Cell, number: int, items: int = 1) -> Criterion:
    weights = random.Random(number)
    is_weighed = cell.variant == "weights"
    return Criterion(
        id=f"c{number}",
        requirement="it is good",
        items=items_of(cell, number, items),
        weight=Fraction(weights.randint(1, 97), 10) if is_weighed else Fraction(1),
        floor=FLOOR if cell.variant == "floors" and is_barred(number) else None,
        required=cell.variant == "vetoes" and is_barred(number),
    )


def is_barred(number: int) -> bool:
    """Whether a criterion has a bar of its own, where any has."""
    return number % 30 == 0


def rubric_of(cell: Cell) -> Rubric:
    if cell.variant == "list":
        criteria = [criterion(cell, 0, cell.size)]
    else:
        criteria = [criterion(cell, n) for n in range(cell.size)]
    if cell.variant == "groups":
        each = 10 if cell.size > 10 else 4
        criteria = [
            Criterion(id=f"g{n}", requirement="it is good", children=tuple(criteria[n : n + each]))
            for n in range(0, cell.size, each)
        ]
    return Rubric(
        criteria=tuple(criteria),
        threshold=THRESHOLDS[cell.kind],
        floor=Fraction(1, 2) if cell.variant == "bars" else Fraction(0),
        sure=Fraction(19, 20),
    )


def mark_of(kind: str, truth: float, drawn: random.Random) -> Answer:
    """`truth` is from 0 to 1."""
    if kind == "yes-no":
        return (truth < 0.8) != (drawn.random() < 0.12)
    seen = min(max(truth + drawn.gauss(0.0, 0.1), 0.0), 1.0)
    return round(1 + 4 * seen) if kind == "levels" else round(100 * seen)


def looks_of(cell: Cell, rubric: Rubric, seed: int) -> Iterator[Ballot]:
    drawn = random.Random(seed)
    keys = [key for key, _ in rubric.questions()]
    kinds = [kind_at(cell, place) for place in range(len(keys))]
    truths = [
        0.75 if cell.variant == "bars" or is_barred(place) else 0.2 + 0.7 * drawn.random()
        for place in range(len(keys))
    ]
    for look in range(LOOKS):
        judge, more = f"j{look % cell.judges}", look // cell.judges
        same = {kind: mark_of(kind, 0.7, drawn) for kind in dict.fromkeys(kinds)}
        marks = {
            key: Mark(same[kind] if cell.variant == "alike" else mark_of(kind, truth, drawn))
            for key, kind, truth in zip(keys, kinds, truths, strict=True)
        }
        yield Ballot(
            judge=f"{judge}#{more + 1}" if more else judge,
            draw_of=judge if more else None,
            marks=marks,
        )


class Figures(NamedTuple):
    belief: Cost
    choice: Cost
    chances: Sequence[float | None]


def timed(work: Callable[[], object]) -> float:
    start = time.process_time_ns()
    work()
    return (time.process_time_ns() - start) / 1e6


def measured(cell: Cell, rubric: Rubric, seed: int) -> Figures:
    """One text, look by look. The prices differ, so that what a look tells is worked out too."""
    judges = [
        AskedLook(id=f"j{n}", kind="model", usd=0.01 * (n + 1)) for n in range(max(cell.judges, 2))
    ]
    looking = Looking(rubric=rubric, judges=judges)
    beliefs, choices, chances = [], [], []
    for ballot in looks_of(cell, rubric, seed):
        looking.add(ballot.voter, ballot)
        beliefs.append(timed(lambda: looking.belief))
        choices.append(timed(lambda: choose(looking)))
        chances.append(looking.belief.probability if looking.belief else None)
    return Figures(cost_of(beliefs), cost_of(choices), chances)


def choose(looking: Looking) -> None:
    """As where it is open, which it is not always."""
    chosen = looking.least_asked()
    if chosen is not None:
        looking.part(chosen, lambda ids: 100 + len(ids or looking.rubric.criteria))


def cost_of(milliseconds: Sequence[float]) -> Cost:
    return Cost(statistics.fmean(milliseconds), max(milliseconds))


def alone(cell: Cell) -> None:
    """What the process of one cell prints."""
    rubric = rubric_of(cell)
    cold = measured(cell, rubric, 1)
    warm = [measured(cell, rubric, 2 + n) for n in range(WARM_TEXTS)]
    middle = [
        Cost(*[statistics.median(one) for one in zip(*costs, strict=True)])
        for costs in ([one.belief for one in warm], [one.choice for one in warm])
    ]
    print(json.dumps({"cold": cold, "warm": middle, "chances": [one.chances for one in warm]}))


def main(words: Sequence[str]) -> None:
    for size, kind, variant, judges in product(SIZES, KINDS, VARIANTS, PANELS):
        cell, most = Cell(size, kind, variant, judges), SIZES[size]
        if not all(word in cell.name.split() for word in words):
            continue
        run = [sys.executable, __file__, "--cell", *map(str, cell)]
        found = json.loads(subprocess.run(run, capture_output=True, text=True, check=True).stdout)
        for when, (belief, choice) in (("cold", found["cold"][:2]), ("warm", found["warm"])):
            figures = f"{belief[0]:.2f} ({belief[1]:.2f}), {choice[0]:.2f} ({choice[1]:.2f}) ms"
            show(f"{cell.name}, {when}", figures, f"{most:g} ms", good=belief[0] <= most)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--cell"]:
        size, kind, variant, judges = sys.argv[2:]
        alone(Cell(int(size), kind, variant, int(judges)))
    else:
        main(sys.argv[1:])
