"""What optimisers deliver, and how often they are right to say so, at equal looks: `make
bench-optimisers`.

A text of eight properties, of which three are met at first and seven are wanted. Three judges
misread marks, a worker fixes or breaks properties; both are programs, so the truth is known. Every
way may spend the same number of looks. The real `gepa` runs; SkillOpt is not here: it optimises
skills of agents by its own environments and has no place for a judge of ours.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from gepa.optimize_anything import (
    EngineConfig,
    GEPAConfig,
    ReflectionConfig,
    TrackingConfig,
    optimize_anything,
)

import honestone
from honestone.integrations.gepa import RubricEvaluator

ITEMS: Final = 8
MET_AT_FIRST: Final = 3
WANTED: Final = 7
LOOKS: Final = 30
# Of the looks, those that certify at the end, by judges that did not steer.
CERTIFYING: Final = 10
FIXES, BREAKS = 0.6, 0.2
RUBRIC: Final[dict[str, Any]] = {
    "rubric": 1,
    "threshold": 100 * WANTED / ITEMS,
    "floor": 0,
    "criteria": [{"id": f"p{n}", "requirement": f"Property p{n} holds"} for n in range(ITEMS)],
}
_LINE: Final = re.compile(r"^p(\d): (yes|no) \d+$", re.MULTILINE)


class Quiet:
    """GEPA's logger."""

    def log(self, message: str) -> None:
        """Nothing is printed beside the table."""


@dataclass
class World:
    """`misreads`: how often a look misreads a mark. `stays`: how often that stays with the judge and
    the line. A line has another number after each edit, so that its errors are drawn anew.
    """

    seed: int
    misreads: float
    stays: float
    looks: int = 0
    edits: int = 0
    _count: dict[str, int] = field(default_factory=dict)

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

    def look(self, name: str, text: str) -> list[bool]:
        self.looks += 1
        return [self._read(name, line) for line in lines_of(text)]

    def _read(self, name: str, line: str) -> bool:
        draw = random.Random(f"{self.seed} {name} {line}")
        if draw.random() >= self.stays:
            draw = random.Random(f"{self.seed} {name} {line} {self.looks}")
        return ("yes" in line) is not (draw.random() < self.misreads)

    def edit(self, text: str, told: str) -> str:
        """The text with one of the properties that are said to be unmet worked on."""
        self.edits += 1
        draw = random.Random(f"edit {self.seed} {self.edits}")
        states = ["yes" in line for line in lines_of(text)]
        numbers = [int(line.rsplit(" ", 1)[1]) for line in lines_of(text)]
        listed = [int(n) for n in re.findall(r"Property p(\d)", told)] or list(range(ITEMS))
        chosen, other = draw.choice(listed), draw.randrange(ITEMS)
        if draw.random() < FIXES:
            states[chosen], numbers[chosen] = True, self.edits
        if draw.random() < BREAKS and other != chosen:
            states[other], numbers[other] = False, self.edits
        return text_of(states, numbers)

    def reflect(self, prompt: str | list[dict[str, Any]]) -> str:
        """The worker as GEPA's reflecting model."""
        words = prompt if isinstance(prompt, str) else "\n".join(str(one) for one in prompt)
        return f"```\n{self.edit(words, words)}\n```"


def text_of(states: Sequence[bool], numbers: Sequence[int]) -> str:
    rows = zip(states, numbers, strict=True)
    return "\n".join(
        f"p{n}: {'yes' if met else 'no'} {number}" for n, (met, number) in enumerate(rows)
    )


def lines_of(text: str) -> list[str]:
    return [match[0] for match in _LINE.finditer(text)][:ITEMS]


def is_good(text: str) -> bool:
    return sum("yes" in line for line in lines_of(text)) >= WANTED


@dataclass(frozen=True)
class Ended:
    """What a way delivered, and whether it said that it passes."""

    text: str
    says_pass: bool


STEERING, CERTIFIERS = ("a", "b", "c"), ("d", "e")


def plain_loop(world: World) -> Ended:
    """Three judges look once at each version, every edit is kept, PASSED when their mean passes."""
    text = world.first
    while True:
        marks = [world.look(name, text) for name in STEERING]
        shares = [sum(of) / len(marks) for of in zip(*marks, strict=True)]
        if sum(shares) >= WANTED:
            return Ended(text, True)
        if world.looks + len(STEERING) > LOOKS:
            return Ended(text, False)
        text = world.edit(text, said_of(shares))


def said_of(shares: Sequence[float]) -> str:
    return "\n".join(f"not met: Property p{n} holds" for n, one in enumerate(shares) if one < 0.5)


def gepa_by_mean(world: World) -> Ended:
    """GEPA with the mean of three judges as its score, as its examples do."""
    scores: dict[str, float] = {}

    def score(candidate: str) -> tuple[float, dict[str, str]]:
        marks = [world.look(name, candidate) for name in STEERING]
        shares = [sum(of) / len(marks) for of in zip(*marks, strict=True)]
        scores[candidate] = max(scores.get(candidate, 0.0), sum(shares) / ITEMS)
        return sum(shares) / ITEMS, {"Feedback": said_of(shares)}

    def is_spent(state: object) -> bool:
        return world.looks + 2 * len(STEERING) > LOOKS

    best = optimised(world, score, is_spent)
    return Ended(best, scores.get(best, 0.0) * ITEMS >= WANTED)


def gepa_by_need(world: World) -> Ended:
    """GEPA with our evaluator; other judges certify its winner by the looks that are left."""
    evaluator = RubricEvaluator(
        RUBRIC,
        judges=[world.judge(name) for name in STEERING],
        max_looks=4,
        max_calls=LOOKS - CERTIFYING,
    )
    best = optimised(world, evaluator, evaluator.is_spent)
    found = honestone.evaluate(
        best,
        RUBRIC,
        judges=[world.judge(name) for name in CERTIFIERS],
        sure=95,
        max_looks=CERTIFYING,
    )
    return Ended(best, found.verdict == "pass")


def optimised(world: World, evaluator: Any, is_spent: Any) -> str:
    config = GEPAConfig(
        engine=EngineConfig(
            parallel=False, seed=world.seed, cache_evaluation=True, max_candidate_proposals=LOOKS
        ),
        reflection=ReflectionConfig(reflection_lm=world.reflect),
        tracking=TrackingConfig(logger=Quiet()),
        stop_callbacks=[is_spent],
    )
    with contextlib.redirect_stdout(io.StringIO()):
        found = optimize_anything(seed_candidate=world.first, evaluator=evaluator, config=config)
    return str(found.best_candidate)


def improve(world: World) -> Ended:
    """`honestone improve` with the same judges, two of them held out."""

    def worker(path: str, brief: str) -> None:
        file = Path(path)
        file.write_text(world.edit(file.read_text(), brief))

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "text.txt"
        file.write_text(world.first)
        done = honestone.improve(
            file,
            RUBRIC,
            judges=[world.judge(name) for name in STEERING],
            holdouts=[world.judge(name) for name in CERTIFIERS],
            worker=worker,
            max_calls=LOOKS,
            folder=folder,
        )
        return Ended(file.read_text(), done.result.value == "PASSED")


WAYS: Final[dict[str, Callable[[World], Ended]]] = {
    "plain loop": plain_loop,
    "GEPA, mean of three": gepa_by_mean,
    "GEPA, our evaluator, certified": gepa_by_need,
    "honestone improve": improve,
}
WORLDS: Final = {
    "no errors": (0.0, 0.0),
    "15% at each look": (0.15, 0.0),
    "15%, half stay": (0.15, 0.5),
}


def row(name: str, way: Callable[[World], Ended], runs: int, errors: tuple[float, float]) -> str:
    right = wrong = delivered = looks = 0
    for seed in range(runs):
        world = World(seed, *errors)
        ended = way(world)
        good = is_good(ended.text)
        right += ended.says_pass and good
        wrong += ended.says_pass and not good
        delivered += good
        looks += world.looks
    shares = " | ".join(f"{100 * one / runs:.0f}" for one in (right, wrong, delivered))
    return f"| {name} | {shares} | {looks / runs:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="of each way in each world")
    runs: int = parser.parse_args().runs
    for name, errors in WORLDS.items():
        print(f"\n{name}, of {runs} runs in percent, at most {LOOKS} looks\n")
        print("| way | true PASS | false PASS | delivered good | looks |\n|---|---|---|---|---|")
        for way, run in WAYS.items():
            print(row(way, run, runs, errors), flush=True)


if __name__ == "__main__":
    main()
