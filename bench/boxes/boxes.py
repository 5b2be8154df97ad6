"""How often a verdict under `--sure` is so, in worlds where the truth is known: `make bench-boxes`.

Drives what decides each look (`Looking`), without a store and without calls. Prints, for each world,
how its verdicts end, and what is stated against how often it is so; the last column says whether a
PASS that states p is so in at least p less 5 points, as far as the number of runs can tell. Exits 1
where it is not.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from box_worlds import WORLDS, Judges, Text, World

from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome

# Ends of the bins of what is stated.
BINS = ((0.80, 0.90), (0.90, 0.97), (0.97, 1.0))
# Bars that are asked for, in percent, so that every bin is filled.
BARS = (80, 85, 90, 93, 95, 97, 99)
ALLOWED = 0.05


@dataclass(frozen=True)
class Ended:
    """How one run ended: what it stated of its verdict (0-1), whether that is so, and its looks."""

    outcome: Outcome
    stated: float
    is_so: bool
    looks: int


def rubric(text: Text, sure: int) -> Rubric:
    """Yes/no items of equal weight, of which `text.least` have to be met."""
    criteria = tuple(
        Criterion(id=id, requirement=id, items=(Item(id=id, requirement=id, whole=True),))
        for id in (f"i{number}" for number in range(len(text.truth)))
    )
    return Rubric(
        criteria=criteria,
        threshold=Fraction(text.least, len(text.truth)),
        floor=Fraction(0),
        sure=Fraction(sure, 100),
        max_looks=12,
    )


def run(world: World, seed: int) -> Ended:
    """Looks at one text of the world until the bar is decided or twelve looks are used."""
    text = world.text(seed)
    judges = Judges(world, text, seed)
    of = rubric(text, BARS[seed % len(BARS)])
    looking = Looking(rubric=of, judges=[AskedLook(id=name) for name in judges.names])
    while wanted := looking.next_looks():
        for name in wanted:
            number = len(looking.looks.get(name, ())) + 1
            id = name if number == 1 else f"{name}#{number}"
            marks = {
                (f"i{item}", f"i{item}"): Mark(answer)
                for item, answer in enumerate(judges.look(name, number))
            }
            looking.add(name, Ballot(judge=id, marks=marks, draw_of=name if number > 1 else None))
    belief = looking.belief
    assert belief is not None and belief.outcome is not None
    is_pass = belief.outcome is Outcome.PASS
    return Ended(
        outcome=belief.outcome,
        stated=belief.probability if is_pass else 1.0 - belief.probability,
        is_so=text.is_good if is_pass else not text.is_good,
        looks=looking.count,
    )


@dataclass(frozen=True)
class Stated:
    """PASSes that state a probability within one bin."""

    count: int
    stated: float
    so: float

    @classmethod
    def of(cls, passes: Sequence[Ended]) -> Stated | None:
        if not passes:
            return None
        count = len(passes)
        return cls(
            count=count,
            stated=sum(one.stated for one in passes) / count,
            so=sum(one.is_so for one in passes) / count,
        )

    @property
    def holds(self) -> bool:
        """Whether it is so often enough, within two standard errors."""
        share = min(max(self.so, 0.5 / self.count), 1.0 - 0.5 / self.count)
        return self.so >= self.stated - ALLOWED - 2.0 * sqrt(share * (1.0 - share) / self.count)

    @property
    def cell(self) -> str:
        return f"{100 * self.stated:.1f} / {100 * self.so:.1f} ({self.count})"


def by_bin(ended: Iterable[Ended]) -> list[Stated | None]:
    passes = [one for one in ended if one.outcome is Outcome.PASS]
    return [
        Stated.of([one for one in passes if low <= one.stated < high or one.stated == high == 1.0])
        for low, high in BINS
    ]


def row(name: str, ended: Sequence[Ended], bins: Sequence[Stated | None], verdict: str) -> str:
    total = len(ended)
    shares = [
        f"{100 * sum(one.outcome is outcome for one in ended) / total:.0f}"
        for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE)
    ]
    looks = sum(one.looks for one in ended) / total
    cells = [*shares, f"{looks:.1f}", *("" if one is None else one.cell for one in bins), verdict]
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000, help="runs of each world")
    parser.add_argument("--seed", type=int, default=0, help="number of the first run")
    options = parser.parse_args()
    heads = " | ".join(f"stated / so at {100 * low:.0f}-{100 * high:.0f}" for low, high in BINS)
    print(f"| world | pass | fail | open | looks | {heads} | holds |")
    print("| --- " * (6 + len(BINS)) + "|")
    missed, together = False, list[Ended]()
    for world in WORLDS:
        ended = [run(world, seed) for seed in range(options.seed, options.seed + options.runs)]
        bins = by_bin(ended)
        is_met = all(one is None or one.holds for one in bins)
        verdict = ("yes" if is_met else "no") if not world.shared else "labels only"
        print(row(world.name, ended, bins, verdict), flush=True)
        if not world.shared:
            together += ended
            missed = missed or not is_met
    bins = by_bin(together)
    is_met = all(one is None or one.holds for one in bins)
    print(row("all without shared errors", together, bins, "yes" if is_met else "no"))
    return 1 if missed or not is_met else 0


if __name__ == "__main__":
    raise SystemExit(main())
