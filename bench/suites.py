"""What a suite of text checks costs from the command's start to its written report: `make
bench-suites`.

    python bench/suites.py [CASES]       # 10,000 without

The same texts and checks as a suite of recorded outputs (`eval suite.json --json`) and as files
(`eval FILES --json`), beside a bare loop that reads, matches and stores nothing; the same again
with everything on record; then the reports of the suite's run by `show`. A tenth of the cases is
measured too, so that starting up is out of the figures of a case, and growth is seen. Processor
time of whole processes; ratios are taken inside one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from rows import show

WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")
CHECKS = [
    {"contains": WORDS[0]},
    {"not-contains": "omega"},
    {"regex": rf"\b{WORDS[1]}\b"},
    {"icontains": WORDS[2].upper()},
]
BARE = """
import os, re
found = re.compile(r"\\bbeta\\b").search
for name in sorted(os.listdir("texts")):
    with open("texts/" + name, "rb") as file:
        text = file.read().decode()
    [text.count("alpha") > 0, "omega" not in text, found(text) is not None, "gamma" in text.lower()]
"""
FORMATS = {"json": 25, "jsonl": 25, "junit": 25, "html": 25, "text": 25}
"""Formats of `show` (P8), and the most megabytes that 10,000 more cases may add to its peak."""


class Took(NamedTuple):
    cpu: float
    megabytes: float
    written: float


def took(command: list[str], folder: Path) -> Took:
    """Processor seconds, peak memory and megabytes written of a finished process."""
    with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
        process = subprocess.Popen(
            command, cwd=folder, stdout=out, stderr=err, env={**os.environ, "NO_COLOR": "1"}
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(
            f"{command[:4]} ended with {process.returncode}: {(folder / 'err').read_text()[-2000:]}"
        )
    written = (folder / "out").stat().st_size / 1e6
    return Took(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, written)


def text_of(number: int) -> str:
    return " ".join(WORDS[(number + step) % 10] for step in range(120)) + f"\nText {number}.\n"


def make(folder: Path, count: int) -> Path:
    """The same cases as a suite and as files."""
    (folder / "texts").mkdir(parents=True)
    (folder / "rubric.json").write_text(
        json.dumps(
            {
                "rubric": 1,
                "criteria": [{"id": f"c{n}", "check": check} for n, check in enumerate(CHECKS)],
            }
        )
    )
    cases = [{"id": f"case-{number:06}", "input": f"Question {number}"} for number in range(count)]
    suite = {
        "suite": 1,
        "target": "record:outputs.jsonl",
        "rubric": {"file": "rubric.json"},
        "cases": cases,
    }
    (folder / "suite.json").write_text(json.dumps(suite))
    with open(folder / "outputs.jsonl", "w", encoding="utf-8") as outputs:
        for number, case in enumerate(cases):
            outputs.write(json.dumps({"id": case["id"], "output": text_of(number)}) + "\n")
            (folder / "texts" / f"{number:06}.txt").write_text(text_of(number))
    return folder


def main(count: int = 10_000) -> None:
    honestone = str(Path(sys.executable).with_name("honestone"))
    with tempfile.TemporaryDirectory(prefix="honestone-bench-") as place:
        few, many = (make(Path(place) / str(size), size) for size in (count // 10, count))
        more = count - count // 10

        def both(command: list[str]) -> tuple[float, float, float]:
            """Milliseconds a case, megabytes that 10,000 more cases add to the peak, megabytes
            written.
            """
            small, large = took(command, few), took(command, many)
            growth = (large.megabytes - small.megabytes) / more * 10_000
            return (large.cpu - small.cpu) / more * 1000, growth, large.written

        bare = both([sys.executable, "-c", BARE])[0]
        show(f"bare loop over {count} texts", f"{bare:.3f} ms a case", "", good=True)
        for form, again_goal, grown_goal in (("suite", 0.30, 25), ("files", 0.05, 20)):
            what = "suite.json" if form == "suite" else "texts/* --rubric rubric.json"
            command = ["sh", "-c", f'exec "$0" eval {what} --json -q', honestone]
            each, grown, written = both(command)
            show(
                f"eval --json: {form}",
                f"{each:.3f} ms, {each / bare:.1f}x; {written:.1f} MB written",
                "",
                good=True,
            )
            show(
                f"P8 peak grows by, 10,000 cases: {form}",
                f"{grown:.0f} MB",
                f"{grown_goal} MB",
                good=grown <= grown_goal,
            )
            again = both(command)[0]
            show(
                f"P11 the same again: {form}",
                f"{again:.3f} ms a case",
                f"{again_goal} ms",
                good=again <= again_goal,
            )
            if form == "suite":
                for format, most in FORMATS.items():
                    each, grown, written = both([honestone, "show", "--format", format])
                    value = f"{each:.3f} ms, {grown:.0f} MB, {written:.1f} MB written"
                    show(f"  show --format {format}", value, f"{most} MB", good=grown <= most)

        largest(Path(place), honestone, 10 * count)


def largest(home: Path, honestone: str, count: int) -> None:
    """A suite in one JSON file: ten times as many cases, of 0.9 kB each."""
    folder = home / "largest"
    folder.mkdir()
    cases = [
        {"id": f"case-{n:06}", "input": text_of(n), "checks": [{"contains": WORDS[n % 10]}]}
        for n in range(count)
    ]
    suite = folder / "suite.json"
    suite.write_text(json.dumps({"suite": 1, "target": "record:outputs.jsonl", "cases": cases}))
    (folder / "outputs.jsonl").write_text(
        "".join(json.dumps({"id": c["id"], "output": "alpha"}) + "\n" for c in cases)
    )
    size = suite.stat().st_size / 1e6
    read = took([honestone, "suite", "check", "suite.json"], folder)
    value = f"{count} cases, {size:.0f} MB: {read.cpu:.1f} s CPU, {read.megabytes:.0f} MB"
    show(
        "P15 largest suite file: suite check",
        value,
        "100 MB, 100,000 cases",
        good=count >= 100_000 and size <= 100,
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
