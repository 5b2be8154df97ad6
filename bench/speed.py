"""Speed, as ratios inside one run: `make bench`. CPU seconds of whole processes, medians of several
rounds.

    start                CPU of what a person waits for (help, completion, `rubric check`, `show`, `runs`, `eval` of one
                         file by code alone, `view` up to its address), each beside a bare interpreter in the same round
    corpus               10,000 small files x 20 text checks beside a loop that reads and matches and stores nothing;
                         the same again with everything on record; peak memory of both
    install              packages and megabytes of a fresh install

The figures depend on the machine, the ratios much less. Each is printed with its goal.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rows import Over, over, show

WORDS = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa"),
    *("lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "sigma", "tau", "upsilon"),
)

BARE = """
import re, sys
checks = []
for kind, value in {checks!r}:
    if kind == "contains":
        checks.append(lambda text, value=value: value in text)
    elif kind == "not-contains":
        checks.append(lambda text, value=value: value not in text)
    else:
        checks.append(lambda text, found=re.compile(value).search: found(text) is not None)
met = 0
for line in open({listing!r}):
    with open(line.rstrip("\\n"), "rb") as file:
        text = file.read().decode()
    met += sum(check(text) for check in checks)
print(met)
"""


def checks() -> list[tuple[str, str]]:
    found = [("contains", word) for word in WORDS[:8]]
    found += [("not-contains", word) for word in WORDS[8:14]]
    return found + [("regex", rf"\b{word}\b") for word in WORDS[14:]]


def rubric() -> str:
    lines = ["rubric: 1", "title: Words", "threshold: 50", "floor: 0", "criteria:"]
    for number in range(4):
        lines += [
            f"  - id: c{number}",
            f"    requirement: Words {number}",
            "    weight: 25",
            "    items:",
        ]
        for kind, value in checks()[number * 5 : number * 5 + 5]:
            check = json.dumps({kind: value})
            lines.append(
                f"      - {{id: {kind}-{len(lines)}, requirement: says it, check: {check}}}"
            )
    return "\n".join(lines) + "\n"


def make_corpus(root: Path, count: int) -> list[str]:
    rng = random.Random(7)
    names = []
    for number in range(count):
        folder = root / f"d{number // 500}"
        folder.mkdir(exist_ok=True)
        words = rng.sample(WORDS, 12)
        (folder / f"{number}.md").write_text(
            "\n".join(" ".join(rng.choice(words) for _ in range(12)) for _ in range(12)) + "\n"
        )
        names.append(f"d{number // 500}/{number}.md")
    return names


CALM = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are kept, as after an installation."""


def cpu(argv: list[str], cwd: Path, env: dict[str, str] | None = None) -> tuple[float, float]:
    """CPU seconds and peak MB of one process, its output thrown away."""
    started = time.monotonic()
    with open(os.devnull, "wb") as nowhere:
        child = subprocess.Popen(
            argv, cwd=cwd, stdout=nowhere, stderr=nowhere, env={**os.environ, **CALM, **(env or {})}
        )
        _, status, usage = os.wait4(child.pid, 0)
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(
            f"{argv[:4]} ended with {os.waitstatus_to_exitcode(status)} after {time.monotonic() - started:.1f} s"
        )
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / scale


def cpu_to_first_line(argv: list[str], cwd: Path) -> float:
    """CPU seconds of a server from its start to its first line, at which it is ended."""
    child = subprocess.Popen(
        argv,
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **CALM, "PYTHONUNBUFFERED": "1", "BROWSER": "true"},
    )
    assert child.stdout is not None
    line = child.stdout.readline()
    child.send_signal(signal.SIGTERM)
    rest = child.stdout.read()
    _, _, usage = os.wait4(child.pid, 0)
    if b"http://" not in line:
        raise SystemExit(f"{argv} did not say its address: {(line + rest).decode()}")
    return usage.ru_utime + usage.ru_stime


def commands(honestone: str, work: Path) -> dict[str, tuple[Callable[[], float], float]]:
    """What a person waits for at each start: what it costs in CPU seconds, and its goal as times a
    bare interpreter.
    """
    (work / "a.md").write_text("alpha beta\n")
    (work / "rubric.yaml").write_text(rubric())
    by_code = ("eval", "a.md", "--rubric", "rubric.yaml", "-q")
    cpu([honestone, *by_code], work)
    completing = {
        "_HONESTONE_COMPLETE": "bash_complete",
        "COMP_WORDS": "honestone ru",
        "COMP_CWORD": "1",
    }
    return {
        "--help": (lambda: cpu([honestone, "--help"], work)[0], 4.5),
        "completion of `ru`": (lambda: cpu([honestone], work, completing)[0], 6),
        "rubric check": (lambda: cpu([honestone, "rubric", "check", "rubric.yaml"], work)[0], 14),
        "show": (lambda: cpu([honestone, "show"], work)[0], 10.5),
        "runs": (lambda: cpu([honestone, "runs"], work)[0], 10.5),
        "eval of one file by code": (lambda: cpu([honestone, *by_code], work)[0], 15.5),
        "view, up to its address": (lambda: cpu_to_first_line([honestone, "view"], work), 20),
    }


def start_up(honestone: str, work: Path, rounds: int) -> None:
    known = commands(honestone, work)

    def measure() -> dict[str, float]:
        bare = cpu([sys.executable, "-c", "pass"], work)[0]
        found = {"bare": bare}
        for name, (command, _) in known.items():
            found[name] = command() / bare
        return found

    measure()  # what is compiled is compiled now
    got = over(rounds, measure)
    show("bare interpreter", got["bare"].said(" s CPU", 3), "", good=True)
    for name, (_, goal) in known.items():
        show(f"P5 {name}", got[name].said("x", 1), f"{goal}x", good=got[name].mid <= goal)
    items = [
        {"id": f"i{n}", "requirement": f"Says {WORDS[n % 20]} {n} in words of its own."}
        for n in range(5000)
    ]
    (work / "many.json").write_text(json.dumps({"rubric": 1, "criteria": items}))
    took = over(3, lambda: {"it": cpu([honestone, "rubric", "check", "many.json"], work)[0]})["it"]
    show("rubric check, 5,000 items", took.said(" s CPU"), "1.5 s", good=took.mid <= 1.5)


def corpus(honestone: str, work: Path, count: int, rounds: int) -> None:
    (work / "rubric.yaml").write_text(rubric())
    names = make_corpus(work, count)
    listing = work / "listing.txt"
    listing.write_text("\n".join(names) + "\n")
    few = names[: max(count // 20, 1)]
    bare_code = BARE.format(checks=checks(), listing=str(listing))
    few_listing = work / "few.txt"
    few_listing.write_text("\n".join(few) + "\n")
    few_code = BARE.format(checks=checks(), listing=str(few_listing))
    rows = []
    for _ in range(rounds):
        shutil.rmtree(work / ".honestone", ignore_errors=True)
        command = [honestone, "eval", "--rubric", "rubric.yaml", "-q"]
        # What both cost on a twentieth is taken off, so that start-up does not count as work on
        # files.
        loop = (
            cpu([sys.executable, "-c", bare_code], work)[0]
            - cpu([sys.executable, "-c", few_code], work)[0]
        )
        small, small_mb = cpu([*command, *few], work)
        first, first_mb = cpu([*command, *names], work)
        again_small, _ = cpu([*command, *few], work)
        again, _ = cpu([*command, *names], work)
        files = len(names) - len(few)
        rows.append(
            (
                (first - small) / loop,
                (first - small) / files,
                (again - again_small) / files,
                first_mb - small_mb,
            )
        )
    ratio, per_file, again_ms, grown = (Over(column) for column in zip(*rows, strict=True))
    value = f"{per_file.mid * 1000:.3f} ms a file, {ratio.said('x')}"
    show(f"{count} files, 20 text checks", value, "2.0x the bare loop", good=ratio.mid <= 2)
    again_ms = Over(1000 * one for one in again_ms)
    show("the same again", again_ms.said(" ms a file", 3), "0.05 ms", good=again_ms.mid <= 0.05)
    show(
        "P8 peak grows by, text checks on those files",
        grown.said(" MB", 0),
        "20 MB",
        good=grown.mid <= 20,
    )


def install(root: Path, work: Path) -> None:
    venv = work / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
    subprocess.run([str(venv / "bin/pip"), "install", "-q", str(root)], check=True)
    listed = subprocess.run(
        [str(venv / "bin/pip"), "list", "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    packages = [
        p["name"] for p in json.loads(listed.stdout) if p["name"] not in ("pip", "setuptools")
    ]
    site = next((venv / "lib").glob("python*/site-packages"))
    ours = [p for p in site.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    ours = [
        p
        for p in ours
        if not p.relative_to(site)
        .parts[0]
        .lower()
        .startswith(("pip", "setuptools", "pkg_resources", "_distutils"))
    ]
    size = sum(path.stat().st_size for path in ours) / 1e6
    good = len(packages) <= 22 and size <= 40
    show("P7 install", f"{len(packages)} packages, {size:.1f} MB", "22 packages, 40 MB", good=good)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--install", action="store_true", help="also install into a fresh environment and count"
    )
    options = parser.parse_args()
    ask(options.files, options.rounds, install_too=options.install)


def ask(files: int, rounds: int, *, install_too: bool) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    honestone = shutil.which(
        "honestone", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    )
    if honestone is None:
        raise SystemExit("honestone is not installed beside this Python")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        (work / "start").mkdir()
        (work / "corpus").mkdir()
        start_up(honestone, work / "start", 2 * rounds + 1)
        corpus(honestone, work / "corpus", files, rounds)
        if install_too:
            install(Path(__file__).parent.parent, work)


if __name__ == "__main__":
    main()
