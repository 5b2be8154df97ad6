"""Run every world with every policy and write the figures into the docs: `make bench-improve`.

    python bench/improve/leaderboard.py [--runs N] [--seed S] [--jobs N] [--only LABEL]... [--resume]
    python bench/improve/leaderboard.py --write        # the pages again, from the figures on record

The figures are kept in `measured.jsonl`, one document a cell; docs/loop-benchmark.md and its page in docs/reference
show them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final

import msgspec
from cells import Job, jobs
from driver import Cell, Outcome
from figures import Figures, Measured, figures_of
from tables import PAGES, written

from honestone.core.loop.named import POLICIES

MEASURED: Final = Path(__file__).with_name("measured.jsonl")
REPO: Final = Path(__file__).resolve().parents[2]
CHUNK: Final = 50
RUNS: Final = 1000
SEED: Final = 156532


def main() -> int:
    given = _options().parse_args()
    found = on_record()
    if not given.write:
        wanted = [job for job in jobs(tuple(POLICIES)) if not given.only or job.label in given.only]
        with ProcessPoolExecutor(given.jobs) as pool:
            for job in wanted:
                runs = max(1, round(given.runs * job.share))
                if given.resume and _is_measured(found.get(job.key), job, runs, given.seed):
                    continue
                done = measured(pool, job, runs=runs, seed=given.seed)
                found[job.key] = Measured(label=job.label, figures=done)
                print(
                    f"{job.label:20} {job.world.name:36} u3 {done.u3.value:7.1f}  {done.seconds:.0f} s",
                    flush=True,
                )
                keep(found)
    for name in PAGES:
        page = REPO / name
        page.write_text(written(page.read_text(encoding="utf-8"), found), encoding="utf-8")
    return 0


def _is_measured(one: Measured | None, job: Job, runs: int, seed: int) -> bool:
    return one is not None and (one.figures.runs, one.figures.seed, one.figures.world) == (
        runs,
        seed,
        job.world,
    )


def measured(pool: ProcessPoolExecutor, job: Job, *, runs: int, seed: int) -> Figures:
    began = time.perf_counter()
    starts = range(0, runs, CHUNK)
    parts = pool.map(_chunk, [(job, seed, start, min(start + CHUNK, runs)) for start in starts])
    outcomes = [outcome for part in parts for outcome in part]
    seconds = time.perf_counter() - began
    return figures_of(
        outcomes, world=job.world, policy=job.settings.policy, seed=seed, seconds=seconds
    )


def _chunk(task: tuple[Job, int, int, int]) -> list[Outcome]:
    job, seed, start, end = task
    cell = Cell.of(job.world, job.settings)
    return [cell.run(seed, number) for number in range(start, end)]


def on_record() -> dict[tuple[str, str], Measured]:
    """The figures of the last measurement, by label and name of the world."""
    lines = MEASURED.read_bytes().splitlines() if MEASURED.exists() else []
    found = [msgspec.json.decode(line, type=Measured) for line in lines]
    return {(one.label, one.figures.world.name): one for one in found}


def keep(found: dict[tuple[str, str], Measured]) -> None:
    """In the order of the cells; what is no longer a cell is dropped."""
    order = [job.key for job in jobs(tuple(POLICIES))]
    MEASURED.write_bytes(
        b"".join(msgspec.json.encode(found[key]) + b"\n" for key in order if key in found)
    )


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument(
        "--runs", type=int, default=RUNS, help=f"a headline cell, others a quarter of that [{RUNS}]"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"[{SEED}]")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count(), help="processes [as many as processors]"
    )
    parser.add_argument(
        "--only", action="append", metavar="LABEL", help="only the cells of this policy; repeatable"
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="leave out what is on record with these runs and this seed",
    )
    parser.add_argument(
        "--write", action="store_true", help="write the pages from the figures on record"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
