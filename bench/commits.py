"""Speed of this checkout next to another commit: `make bench-compare REF=COMMIT`.

    python bench/commits.py main~20                     # about five minutes
    python bench/commits.py v1.0 --rounds 9 --only start check

The other commit is checked out and installed into a folder of its own in the cache
($HONESTONE_BENCH_CACHE, else ~/.cache/honestone-bench), with the packages that this checkout pins.
This checkout is measured as it is, with what is not committed. Both do the same in each round, one
after the other, and take turns in who is first, so that a busy machine is busy for both. A ratio is
taken within a round; the table has medians, with the smallest and the largest in brackets.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import speed
from judge_server import judge_server
from panel import FORMS, Evaluator, Peer, scores, start
from rows import Over

ROOT: Final = Path(__file__).resolve().parents[1]
CACHE: Final = Path(
    os.environ.get("HONESTONE_BENCH_CACHE") or Path.home() / ".cache" / "honestone-bench"
)
PARTS: Final = ("start", *FORMS, "check")


class Figure(NamedTuple):
    """One figure of a side in a round. `unit`: `ms` or `MB`."""

    name: str
    unit: str
    value: float


# ----------------------------------------------------------------------------------------------------------
# the other commit


def git(*words: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout.strip()


def program_of(commit: str) -> str:
    """Its `honestone`, checked out and installed where it is not yet."""
    place = CACHE / "commits" / commit[:12]
    program = place / ".venv" / "bin" / "honestone"
    if not program.exists():
        print(f"installing {commit[:12]} into {place}", flush=True)
        place.mkdir(parents=True, exist_ok=True)
        # No worktree: git would know of it for ever.
        archived = subprocess.run(
            ["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True
        )
        subprocess.run(["tar", "-x", "-C", str(place)], input=archived.stdout, check=True)
        subprocess.run([sys.executable, "-m", "venv", str(place / ".venv")], check=True)
        pip = [str(place / ".venv/bin/python"), "-m", "pip", "install", "--quiet"]
        pinned = ["--constraint", str(ROOT / "requirements-dev.txt")]
        subprocess.run([*pip, *pinned, "--editable", str(place)], check=True)
    return str(program)


# ----------------------------------------------------------------------------------------------------------
# what is measured


def of_start(program: str, work: Path) -> Callable[[], Iterator[Figure]]:
    work.mkdir()
    commands = speed.commands(program, work)

    def measure() -> Iterator[Figure]:
        for name, (command, _) in commands.items():
            yield Figure(name, "ms", command() * 1000)

    return measure


def of_form(bench: Evaluator, form: str, side: str, count: int) -> Callable[[], Iterator[Figure]]:
    """A suite, or files, behind an HTTP API: ten cases, what each further one adds, the peak; then
    what a case costs whose replies are on record.
    """
    command = bench.peers[side].command

    def cpu_again(folder: Path) -> float:
        with open(folder / "again.json", "wb") as out:
            process = start(command(folder, form, 32), folder, Path(out.name))
        _, _, used = os.wait4(process.pid, 0)
        return used.ru_utime + used.ru_stime

    def measure() -> Iterator[Figure]:
        few, many = bench.folder(10), bench.folder(count)
        small, large = (bench.run(command(one, form, 32), one) for one in (few, many))
        for one, cases in ((small, 10), (large, count)):
            if scores(one) != [100] * cases:
                raise SystemExit(f"{side}: a case was not scored as it should; see {one.out}")
        more = count - 10
        yield Figure(f"{form}: ten cases", "ms", small.cpu * 1000)
        yield Figure(f"{form}: work a case", "ms", (large.cpu - small.cpu) / more * 1000)
        yield Figure(f"{form}: peak", "MB", large.megabytes)
        again = cpu_again(many) - cpu_again(few)
        yield Figure(f"{form}: a case on record", "ms", again / more * 1000)

    return measure


def of_check(program: str, work: Path, count: int) -> Callable[[], Iterator[Figure]]:
    """`suite check` of cases with a rubric each, in one JSON file."""
    work.mkdir()
    words = speed.WORDS
    cases = [
        {
            "id": f"case-{number:06}",
            "input": " ".join(words[(number + step) % len(words)] for step in range(100)),
            "rubric": [f"It names {words[number % 20]} in case {number}.", f"It is {number}."],
        }
        for number in range(count)
    ]
    (work / "suite.json").write_text(
        json.dumps({"suite": 1, "target": "record:outputs.jsonl", "cases": cases})
    )

    def measure() -> Iterator[Figure]:
        used, peak = speed.cpu([program, "suite", "check", "suite.json"], work)
        yield Figure(f"suite check, {count} cases", "ms", used * 1000)
        yield Figure(f"suite check, {count} cases: peak", "MB", peak)

    return measure


def measures(
    side: str, program: str, bench: Evaluator, home: Path, asked: argparse.Namespace
) -> list[Callable[[], Iterator[Figure]]]:
    found = []
    for part in asked.only:
        if part == "start":
            found.append(of_start(program, home / f"start-{side}"))
        elif part == "check":
            found.append(of_check(program, home / f"check-{side}", 10 * asked.count))
        else:
            found.append(of_form(bench, part, side, asked.count))
    return found


def peer(program: str) -> Peer:
    """A honestone as the tools of other people are asked; `url` is the form that is measured."""

    def command(folder: Path, form: str, in_air: int) -> list[str]:
        return [program, *Evaluator.words(folder, form)]

    return Peer(lambda folder, url, in_air: None, command, lambda folder: [], {})


# ----------------------------------------------------------------------------------------------------------
# the table


def interleaved(
    sides: Mapping[str, list[Callable[[], Iterator[Figure]]]], rounds: int
) -> dict[str, dict[Figure, list[float]]]:
    """By side, each figure (its value is nothing) in every round. Sides take turns in who is first."""
    got: dict[str, dict[Figure, list[float]]] = {side: {} for side in sides}
    for number in range(rounds):
        order = list(sides) if number % 2 == 0 else list(sides)[::-1]
        for of_both in zip(*(sides[side] for side in order), strict=True):
            for side, measure in zip(order, of_both, strict=True):
                for one in measure():
                    got[side].setdefault(one._replace(value=0.0), []).append(one.value)
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
    return got


def table(got: dict[str, dict[Figure, list[float]]], then: str, now: str) -> list[str]:
    """Lines in Markdown: each figure of both sides, and the ratio of this checkout to the other."""
    head = ["what", then, now, "ratio"]
    lines = [head, ["---"] * len(head)]
    for figure, before in got[then].items():
        after = got[now][figure]
        ratio = Over(new / old for old, new in zip(before, after, strict=True))
        digits = 0 if figure.unit == "MB" or max(before) >= 10 else 3
        figures = [Over(side).said(f" {figure.unit}", digits) for side in (before, after)]
        lines.append([figure.name, *figures, ratio.said("x")])
    return ["| " + " | ".join(line) + " |" for line in lines]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("ref", help="the other commit: a name or a digest, as git takes it")
    parser.add_argument("--count", type=int, default=500, help="cases of a run")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    asked = parser.parse_args()
    if asked.count <= 10:
        parser.error("--count must be more than 10: what each case adds is measured over ten")
    commit = git("rev-parse", "--verify", f"{asked.ref}^{{commit}}")
    then, now = commit[:8], "here"
    programs = {
        then: program_of(commit),
        now: str(Path(sys.executable).with_name("honestone")),
    }
    with (
        tempfile.TemporaryDirectory(prefix="honestone-bench-") as place,
        judge_server(Path(place)) as root,
    ):
        bench = Evaluator(Path(place), root, {side: peer(of) for side, of in programs.items()})
        sides = {
            side: measures(side, program, bench, Path(place), asked)
            for side, program in programs.items()
        }
        for side in sides.values():  # what is compiled is compiled now
            for measure in side:
                list(measure())
        got = interleaved(sides, asked.rounds)
    load = os.getloadavg()[0]
    print(f"{asked.rounds} rounds, {asked.count} cases, load {load:.1f} at the end\n")
    print("\n".join(table(got, then, now)))


if __name__ == "__main__":
    main()
