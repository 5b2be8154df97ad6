"""Runs the property tests with random examples until the time is over: `tools/deep.py --minutes 5
[FILE...]`.

Each file runs again and again, with a new seed each time; with `--seed` they are the same seeds in
the same order, so that what one machine found another finds too. A failure is printed with the
command that reproduces it; it becomes an `@example` of its test, and then every `make test` tries
it. The exit code is 1 after a failure.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parents[1]
NO_TESTS: Final = 5
"""The exit code of pytest for a file without property tests."""


@dataclass(slots=True)
class Deep:
    """The runs of all files so far. Each worker takes the next file; after the last one the round
    begins again.
    """

    files: Sequence[str]
    deadline: float
    chance: random.Random
    rounds: int | None = None
    runs: int = 0
    failures: list[str] = field(default_factory=list)
    unfinished: list[str] = field(default_factory=list)
    _next: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self) -> None:
        while time.monotonic() < self.deadline:
            with self._lock:
                if not self._next:
                    if self.rounds == 0:
                        return
                    self.rounds = None if self.rounds is None else self.rounds - 1
                    self._next = self.chance.sample(list(self.files), len(self.files))
                file, seed = self._next.pop(), self.chance.randrange(2**32)
            self._run(file, seed)

    def _run(self, file: str, seed: int) -> None:
        options = [
            file,
            "-m",
            "hypothesis",
            f"--hypothesis-seed={seed}",
            "-p",
            "no:cacheprovider",
            "--tb=short",
        ]
        command = [sys.executable, "-m", "pytest", *options]
        process = subprocess.Popen(
            command,
            cwd=REPO,
            env={**os.environ, "HONESTONE_TEST_PROFILE": "deep"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        try:
            said, _ = process.communicate(timeout=max(self.deadline - time.monotonic(), 0.1))
        except subprocess.TimeoutExpired:
            os.killpg(
                process.pid, signal.SIGKILL
            )  # With what the tests started, or the pipe stays open.
            process.communicate()
            with self._lock:
                self.unfinished.append(file)
            return
        with self._lock:
            self.runs += 1
            if process.returncode not in (0, NO_TESTS):
                again = f"HONESTONE_TEST_PROFILE=deep .venv/bin/python -m pytest {' '.join(options[:3])} {options[3]}"
                self.failures.append(again)
                print(said, f"reproduce with: {again}\n", sep="\n", flush=True)


def property_tests() -> list[str]:
    """The test files that use hypothesis."""
    found = sorted((REPO / "tests").rglob("test_*.py"))
    uses = re.compile(r"^from hypothesis import .*\bgiven\b", re.MULTILINE)
    return [str(path.relative_to(REPO)) for path in found if uses.search(path.read_text("utf-8"))]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--rounds", type=int, help="end earlier, after so many runs of each file")
    parser.add_argument(
        "--seed",
        type=int,
        help="what the seeds of the runs are drawn from; another each time without",
    )
    parser.add_argument(
        "files", nargs="*", help="test files; all that use hypothesis when none is given"
    )
    given = parser.parse_args(arguments)
    deep = Deep(
        files=given.files or property_tests(),
        deadline=time.monotonic() + 60 * given.minutes,
        chance=random.SystemRandom() if given.seed is None else random.Random(given.seed),
        rounds=given.rounds,
    )
    workers = [threading.Thread(target=deep.work) for _ in range(given.workers)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    counts = f"{deep.runs} run{'s' * (deep.runs != 1)} of {len(deep.files)} file{'s' * (len(deep.files) != 1)}"
    print(f"{counts}, {len(deep.failures)} failed", flush=True)
    for again in deep.failures:
        print(f"  {again}")
    if deep.unfinished:
        print(f"stopped at the end of the time: {', '.join(deep.unfinished)}")
    if not deep.runs:
        print("no run ended in this time, so nothing was tested", file=sys.stderr)
    return 1 if deep.failures or not deep.runs else 0


if __name__ == "__main__":
    sys.exit(main())
