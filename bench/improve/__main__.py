"""How often a loop is right when it says PASSED: `python bench/improve --world FILE.json --policy
NAME --json`.

The product's own `decide` is driven through simulated judges and a simulated worker whose truth is
known. No model is called. `bench/README.md` says what is simulated.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
from driver import MAX_CALLS, OBSERVERS, Cell, Settings
from figures import Figures, figures_of
from worlds import read_world

from honestone.core.errors import UsageError
from honestone.core.loop.named import POLICIES

RUNS = 1000
SEED = 1


def main(arguments: Sequence[str] | None = None) -> int:
    given = _options().parse_args(arguments)
    settings = Settings(
        policy=given.policy, rounds=given.rounds, patience=given.patience, max_calls=given.max_calls
    )
    try:
        cell = Cell.of(read_world(given.world), settings)
    except UsageError as error:
        print(
            f"bench/improve: {error}" + (f"\n  {error.hint}" if error.hint else ""), file=sys.stderr
        )
        return 2
    done = run_cell(cell, runs=given.runs, seed=given.seed)
    print(
        msgspec.json.format(msgspec.json.encode(done), indent=2).decode()
        if given.json
        else as_text(done)
    )
    return 0


def run_cell(cell: Cell, *, runs: int, seed: int) -> Figures:
    began = time.perf_counter()
    outcomes = [cell.run(seed, number) for number in range(runs)]
    seconds = time.perf_counter() - began
    return figures_of(
        outcomes, world=cell.world, policy=cell.settings.policy, seed=seed, seconds=seconds
    )


def as_text(done: Figures) -> str:
    """A line per figure, for people."""
    plain = msgspec.to_builtins(done)
    lines = [
        f"{done.policy} in {done.world.name or done.world.mode}: {done.runs} runs, seed {done.seed}"
    ]
    for name, value in plain.items():
        if isinstance(value, dict) and value.keys() == {"value", "se"}:
            lines.append(f"  {name:17}{_shown(value['value']):>9} ± {_shown(value['se'])}")
    lines.append(
        f"  results          {', '.join(f'{name} {count}' for name, count in done.results.items())}"
    )
    return "\n".join(lines)


def _shown(number: float | None) -> str:
    return "-" if number is None else f"{number:.2f}"


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench/improve", description=__doc__.splitlines()[0], allow_abbrev=False
    )
    policies = ", ".join((*POLICIES, *OBSERVERS))
    parser.add_argument(
        "--world", type=Path, required=True, metavar="FILE", help="a JSON file of parameters"
    )
    parser.add_argument("--policy", required=True, metavar="NAME", help=policies)
    parser.add_argument(
        "--runs", type=_at_least(1), default=RUNS, metavar="N", help=f"runs [{RUNS}]"
    )
    parser.add_argument(
        "--seed", type=_at_least(0), default=SEED, metavar="S", help=f"from 0 [{SEED}]"
    )
    parser.add_argument("--rounds", type=_at_least(1), metavar="N", help="[as the policy has it]")
    parser.add_argument("--patience", type=_at_least(1), metavar="N", help="[as the policy has it]")
    parser.add_argument(
        "--max-calls",
        type=_at_least(1),
        default=MAX_CALLS,
        metavar="N",
        help=f"judge calls a run [{MAX_CALLS}]",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    return parser


class _at_least:
    def __init__(self, least: int) -> None:
        self._least = least

    def __call__(self, text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = self._least - 1
        if number < self._least:
            raise argparse.ArgumentTypeError(f"{text!r} must be a whole number from {self._least}")
        return number


if __name__ == "__main__":
    sys.exit(main())
