"""What optimisers deliver, and how often they are right to say so, at equal looks: `make
bench-optimisers`.

A text of eight properties, of which three are met at first and seven are wanted. Three judges
misread marks, a worker fixes or breaks properties; both are programs, so the truth is known. Every
way may spend the same number of looks. The real packages `gepa` and `skillopt` run.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from gepa.optimize_anything import (
    EngineConfig,
    GEPAConfig,
    ReflectionConfig,
    TrackingConfig,
    optimize_anything,
)
from optimiser_world import (
    CERTIFIERS,
    CERTIFYING,
    ITEMS,
    LOOKS,
    RUBRIC,
    STEERING,
    WANTED,
    Ended,
    World,
    is_good,
    unmet,
)
from with_skillopt import skillopt_by_mean, skillopt_certified

import honestone
from honestone.integrations.gepa import RubricEvaluator


class Quiet:
    """GEPA's logger."""

    def log(self, message: str) -> None:
        """Nothing is printed beside the table."""


def plain_loop(world: World) -> Ended:
    """Three judges look once at each version, every edit is kept, PASSED when their mean passes."""
    text = world.first
    while True:
        shares = world.shares(text)
        if sum(shares) >= WANTED:
            return Ended(text, True)
        if world.looks + len(STEERING) > LOOKS:
            return Ended(text, False)
        text = world.edit(text, unmet(shares))


def gepa_by_mean(world: World) -> Ended:
    """GEPA with the mean of three judges as its score, as its examples do."""
    scores: dict[str, float] = {}

    def score(candidate: str) -> tuple[float, dict[str, str]]:
        shares = world.shares(candidate)
        scores[candidate] = max(scores.get(candidate, 0.0), sum(shares) / ITEMS)
        return sum(shares) / ITEMS, {"Feedback": unmet(shares)}

    def is_spent(state: object) -> bool:
        return world.looks + 2 * len(STEERING) > LOOKS

    best = optimised(world, score, is_spent)
    return Ended(best, scores.get(best, 0.0) * ITEMS >= WANTED)


def gepa_by_need(world: World) -> Ended:
    """GEPA with our evaluator; other judges certify its winner by the looks that are left."""
    evaluator = RubricEvaluator(
        RUBRIC, judges=world.judges(STEERING), max_looks=4, max_calls=LOOKS - CERTIFYING
    )
    best = optimised(world, evaluator, evaluator.is_spent)
    return Ended(best, world.certifies(best))


def optimised(world: World, evaluator: Any, is_spent: Any) -> str:
    def reflect(prompt: str | list[dict[str, Any]]) -> str:
        words = prompt if isinstance(prompt, str) else "\n".join(str(one) for one in prompt)
        return f"```\n{world.edit(words, words)}\n```"

    config = GEPAConfig(
        engine=EngineConfig(
            parallel=False, seed=world.seed, cache_evaluation=True, max_candidate_proposals=LOOKS
        ),
        reflection=ReflectionConfig(reflection_lm=reflect),
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
            judges=world.judges(STEERING),
            holdouts=world.judges(CERTIFIERS),
            worker=worker,
            max_calls=LOOKS,
            # Looks are what is limited, here and for every other way.
            rounds=LOOKS,
            folder=folder,
        )
        return Ended(file.read_text(), done.result.value == "PASSED")


WAYS: Final[dict[str, Callable[[World], Ended]]] = {
    "plain loop": plain_loop,
    "GEPA, mean of three": gepa_by_mean,
    "GEPA, our evaluator, certified": gepa_by_need,
    "SkillOpt, mean of three": skillopt_by_mean,
    "SkillOpt, certified": skillopt_certified,
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
    return f"{name} | {shares} | {looks / runs:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100, help="of each way in each world")
    runs: int = parser.parse_args().runs
    print(f"{runs} runs in percent, at most {LOOKS} looks\n")
    print("| errors of a look | way | true PASS | false PASS | delivered good | looks |")
    print("| --- | --- | --- | --- | --- | --- |")
    for world, errors in WORLDS.items():
        for name, way in WAYS.items():
            print(f"| {world} | {row(name, way, runs, errors)}", flush=True)


if __name__ == "__main__":
    main()
