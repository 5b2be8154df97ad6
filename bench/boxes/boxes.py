"""How often a verdict under `--sure` and a PASS of `improve` is so, in worlds where the truth is known:
`make bench-boxes`.

Drives what decides each look (`Looking`, and `decide` of the loop), without a store and without calls. Prints, for each world,
how its verdicts end, and what is stated against how often it is so; the last column says whether a
PASS that states p is so in at least p less 5 points, as far as the number of runs can tell. Exits 1
where it is not.

`--parts` runs each world twice more, with further looks that may ask a part of the criteria and
without, by the same seeds, and prints what that does to verdicts and to their price.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import sqrt

from box_loops import LOOP_WORLDS, LoopWorld, driven
from box_scales import SCALE_WORLDS, ScaleJudges, ScaleWorld
from box_worlds import LARGE, WORLDS, Judges, Text, World

from honestone.core.belief.next_look import AskedLook, Looking
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorecard import Outcome
from honestone.core.loop.state import Result

# Ends of the bins of what is stated.
BINS = ((0.80, 0.90), (0.90, 0.97), (0.97, 1.0))
# Bars that are asked for, in percent, so that every bin is filled.
BARS = (80, 85, 90, 93, 95, 97, 99)
ALLOWED = 0.05
# What the text and the instructions of a prompt cost, in items of a rubric with their answers.
HEAD = 12
# Runs of a loop for so many of a single text: one costs a hundred times as much.
FEWER_LOOPS = 10


@dataclass(frozen=True)
class Ended:
    """How one run ended: what it stated of its verdict (0-1), whether that is so, its looks, and
    what these cost, in looks at all items.
    """

    outcome: Outcome
    stated: float
    is_so: bool
    looks: int
    price: float


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


def run(world: World, seed: int, *, in_parts: bool = False) -> Ended:
    """Looks at one text of the world until the bar is decided or twelve looks are used. `in_parts`:
    a further look may ask some items alone.
    """
    text = world.text(seed)
    judges = Judges(world, text, seed)
    looking = looking_at(rubric(text, BARS[seed % len(BARS)]), judges.names)
    whole = len(text.truth)
    price = 0.0

    def size(ids: Sequence[str]) -> int:
        return HEAD + (len(ids) or whole)

    while wanted := looking.next_looks():
        part = looking.part(wanted[0], size) if in_parts and len(wanted) == 1 else ()
        for name in wanted:
            price += size(part) / size(())
            number = len(looking.looks.get(name, ())) + 1
            marks = {
                (f"i{item}", f"i{item}"): Mark(answer)
                for item, answer in enumerate(judges.look(name, number))
                if not part or f"i{item}" in part
            }
            looking.add(name, ballot(name, number, marks, part))
    return end_of(looking, price, is_good=text.is_good)


def run_scale(world: ScaleWorld, seed: int) -> Ended:
    """The same for a text with criteria on a scale."""
    text = world.text(seed)
    judges = ScaleJudges(world, text, seed)
    looking = looking_at(text.rubric(BARS[seed % len(BARS)]), judges.names)
    while wanted := looking.next_looks():
        for name in wanted:
            number = len(looking.looks.get(name, ())) + 1
            looking.add(name, ballot(name, number, judges.look(name, number)))
    return end_of(looking, float(looking.count), is_good=text.is_good)


def looking_at(of: Rubric, names: Sequence[str]) -> Looking:
    return Looking(rubric=of, judges=[AskedLook(id=name) for name in names])


def ballot(
    name: str, number: int, marks: Mapping[Key, Mark], asked: tuple[str, ...] = ()
) -> Ballot:
    """What a judge answers the `number`-th time."""
    id, draw_of = (name, None) if number == 1 else (f"{name}#{number}", name)
    return Ballot(judge=id, marks=marks, draw_of=draw_of, asked=asked)


def end_of(looking: Looking, price: float, *, is_good: bool) -> Ended:
    belief = looking.belief
    assert belief is not None and belief.outcome is not None
    is_pass = belief.outcome is Outcome.PASS
    return Ended(
        outcome=belief.outcome,
        stated=belief.probability if is_pass else 1.0 - belief.probability,
        is_so=is_good if is_pass else not is_good,
        looks=looking.count,
        price=price,
    )


def run_loop(world: LoopWorld, seed: int) -> Ended:
    """One run of `improve`; what does not end PASSED is open."""
    drive = driven(world, seed)
    outcome = drive.outcome()
    return Ended(
        outcome=Outcome.PASS if outcome.result is Result.PASSED else Outcome.INCONCLUSIVE,
        stated=outcome.stated or 0.0,
        is_so=outcome.is_good,
        looks=outcome.judge_calls,
        price=float(outcome.judge_calls),
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


@dataclass
class Table:
    """Rows as they are ready, and whether any world that has to hold does not."""

    together: list[Ended] = field(default_factory=list)
    missed: bool = False

    def add(self, name: str, ended: Sequence[Ended], *, is_seen: bool) -> None:
        """`is_seen`: marks can show how judges err. Errors that they share are not seen from inside."""
        bins = by_bin(ended)
        is_met = all(one is None or one.holds for one in bins)
        verdict = ("yes" if is_met else "no") if is_seen else "labels only"
        print(row(name, ended, bins, verdict), flush=True)
        if is_seen:
            self.together += ended
            self.missed = self.missed or not is_met

    def end(self, name: str) -> None:
        bins = by_bin(self.together)
        is_met = all(one is None or one.holds for one in bins)
        print(row(name, self.together, bins, "yes" if is_met else "no"), flush=True)
        self.missed = self.missed or not is_met


def in_parts(runs: Sequence[int], only: str) -> None:
    """Prints each world whose name has `only` in it, with looks at all items alone, and with looks at parts."""
    print("| world | looks at | pass | fail | open | wrong | looks | price |")
    print("| --- " * 8 + "|")
    for world in (one for one in (*WORLDS, *LARGE) if only in one.name):
        for name, may in (("all", False), ("parts", True)):
            ended = [run(world, seed, in_parts=may) for seed in runs]
            decided = [one for one in ended if one.outcome is not Outcome.INCONCLUSIVE]
            shares = [
                sum(one.outcome is outcome for one in ended)
                for outcome in (Outcome.PASS, Outcome.FAIL, Outcome.INCONCLUSIVE)
            ]
            shares.append(sum(not one.is_so for one in decided))
            means = (sum(one.looks for one in ended), sum(one.price for one in ended))
            cells = [f"{100 * one / len(ended):.1f}" for one in shares]
            cells += [f"{one / len(ended):.2f}" for one in means]
            print(f"| {world.name} | {name} | " + " | ".join(cells) + " |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--runs", type=int, default=2000, help="runs of each world; of loops a tenth"
    )
    parser.add_argument("--seed", type=int, default=0, help="number of the first run")
    parser.add_argument("--parts", action="store_true", help="looks at a part of the criteria")
    parser.add_argument("--only", default="", help="worlds whose name has this in it")
    options = parser.parse_args()
    if options.parts:
        in_parts(range(options.seed, options.seed + options.runs), options.only)
        return 0
    heads = " | ".join(f"stated / so at {100 * low:.0f}-{100 * high:.0f}" for low, high in BINS)
    print(f"| world | pass | fail | open | looks | {heads} | holds |")
    print("| --- " * (6 + len(BINS)) + "|")
    first, texts, scales, loops = options.seed, Table(), Table(), Table()
    for world in WORLDS:
        if options.only in world.name:
            ended = [run(world, seed) for seed in range(first, first + options.runs)]
            texts.add(world.name, ended, is_seen=world.shared <= 0)
    if texts.together:
        texts.end("all without shared errors")
    for scale in SCALE_WORLDS:
        if options.only in scale.name:
            ended = [run_scale(scale, seed) for seed in range(first, first + options.runs)]
            scales.add(scale.name, ended, is_seen=scale.is_seen)
    if scales.together:
        scales.end("scale: all whose errors can be seen")
    for loop in LOOP_WORLDS:
        if options.only in loop.name:
            last = first + max(options.runs // FEWER_LOOPS, 1)
            ended = [run_loop(loop, seed) for seed in range(first, last)]
            loops.add(loop.name, ended, is_seen=loop.of.shared <= 0)
    if loops.together:
        loops.end("improve: all without shared errors")
    return 1 if texts.missed or scales.missed or loops.missed else 0


if __name__ == "__main__":
    raise SystemExit(main())
