"""The table of P1-P15: ours beside the floors and other tools, `make bench-peers`.

    python bench/other_tools.py                        # installs the peers, measures, writes the tables into README.md: about 15 minutes
    python bench/other_tools.py --rounds 1 --count 100 # a quick look; writes nothing
    python bench/other_tools.py --peers rubric,agentv --only panel
    python bench/other_tools.py --write                # the tables, from what was measured last

The peers are installed into a cache folder ($HONESTONE_BENCH_CACHE, else ~/.cache/honestone-bench),
each in an environment of its own. One that cannot be installed, or that does not judge ten cases
right, is named with the reason and left out. Each part that was measured is kept there too, in
measured.json.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypedDict

import panel
import python_api
import rows
import speed
import suites
from judge_server import judge_server
from panel import FORMS, Evaluator, Peer
from work import CRITERIA, MODEL

CACHE = Path(os.environ.get("HONESTONE_BENCH_CACHE") or Path.home() / ".cache" / "honestone-bench")
README = Path(__file__).with_name("README.md")
QUIET = {
    "CI": "1",
    "AGENTV_NO_UPDATE_CHECK": "1",
    "JUDGE_KEY": "none",
    "JUDGE_MODEL": MODEL,
    "OPENAI_API_KEY": "none",
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    "OTEL_SDK_DISABLED": "true",
}
PACKAGES = {
    "rubric": ["rubric", "openai"],
    "autorubric": ["autorubric"],
    "pydantic-evals": ["pydantic-evals", "pydantic-ai-slim[openai]"],
    "agentv": ["agentv"],
    "promptfoo": ["promptfoo"],
}
PYTHON = ("rubric", "autorubric", "pydantic-evals")
"""The peers of PyPI; the others are of npm."""


# ------------------------------------------------------------------------------------------------------------
# the peers


def texts(folder: Path) -> list[str]:
    return [path.read_text() for path in sorted((folder / "cases").iterdir())]


def program(name: str) -> Path:
    return CACHE / name / ("bin/python" if name in PYTHON else f"node_modules/.bin/{name}")


def of_python(name: str) -> Peer:
    def command(folder: Path, url: str, in_air: int) -> list[str]:
        script = str(Path(__file__).with_name("peers.py"))
        return [str(program(name)), script, name, url, str(folder / "cases"), str(in_air)]

    def scores(folder: Path) -> list[float | None]:
        found: list[float | None] = json.loads((folder / "out.json").read_text())
        return found

    return Peer(lambda folder, url, in_air: None, command, scores, QUIET)


def agentv() -> Peer:
    """The answer is in the input and the target is the tool's own mock, which it can give to its
    judge.
    """

    def prepare(folder: Path, url: str, in_air: int) -> None:
        judge = {"name": "judge", "provider": "openai", "base_url": url, "api_format": "chat"}
        given = {"name": "given", "provider": "mock", "response": "given", "grader_target": "judge"}
        targets = {
            "targets": [
                given,
                {**judge, "api_key": "${{ JUDGE_KEY }}", "model": "${{ JUDGE_MODEL }}"},
            ]
        }
        (folder / "targets.yaml").write_text(json.dumps(targets))
        criteria = [
            {"id": name, "outcome": words, "weight": weight} for name, weight, words in CRITERIA
        ]
        tests = [
            {"id": f"case-{number:05}", "criteria": "meets the criteria", "input": text}
            for number, text in enumerate(texts(folder))
        ]
        suite = {
            "name": "bench",
            "assertions": [{"type": "rubrics", "criteria": criteria}],
            "tests": tests,
        }
        (folder / "bench.eval.yaml").write_text(json.dumps(suite))

    def command(folder: Path, url: str, in_air: int) -> list[str]:
        files = ["bench.eval.yaml", "--targets", "targets.yaml", "--target", "given"]
        return [
            str(program("agentv")),
            "eval",
            "run",
            *files,
            "--workers",
            str(in_air),
            "--no-cache",
            "-o",
            "results",
        ]

    def scores(folder: Path) -> list[float | None]:
        lines = (folder / "results" / "index.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [
            one["score"] if one.get("execution_status") in ("ok", "quality_failure") else None
            for one in found
        ]

    return Peer(prepare, command, scores, QUIET)


def promptfoo() -> Peer:
    def prepare(folder: Path, url: str, in_air: int) -> None:
        words = "\n".join(f"{name} (weight {weight}): {said}" for name, weight, said in CRITERIA)
        judge = {"id": f"openai:chat:{MODEL}", "config": {"apiBaseUrl": url, "apiKey": "none"}}
        by = {"assert": [{"type": "llm-rubric", "value": words, "provider": judge}]}
        tests = [{"vars": {"answer": text}} for text in texts(folder)]
        config = {
            "prompts": ["{{answer}}"],
            "providers": ["echo"],
            "defaultTest": by,
            "tests": tests,
        }
        (folder / "promptfooconfig.json").write_text(json.dumps(config))

    def command(folder: Path, url: str, in_air: int) -> list[str]:
        how = ["--no-cache", "--no-table", "--no-progress-bar", "--no-share", "-j", str(in_air)]
        return [
            str(program("promptfoo")),
            "eval",
            "-c",
            "promptfooconfig.json",
            *how,
            "-o",
            "results.json",
        ]

    def scores(folder: Path) -> list[float | None]:
        found = json.loads((folder / "results.json").read_text())["results"]["results"]
        parts = [(one.get("gradingResult") or {}).get("componentResults") or [{}] for one in found]
        failed = [
            any((part.get("metadata") or {}).get("graderError") for part in of) for of in parts
        ]
        return [None if bad else one["score"] for one, bad in zip(found, failed, strict=True)]

    return Peer(
        prepare,
        command,
        scores,
        {**QUIET, "PROMPTFOO_CONFIG_DIR": str(CACHE / "promptfoo" / "home")},
    )


PEERS: dict[str, Callable[[], Peer]] = {
    **{name: partial(of_python, name) for name in PYTHON},
    "agentv": agentv,
    "promptfoo": promptfoo,
}


def install(name: str) -> str:
    """Why the peer cannot be measured; empty when it is there."""
    if program(name).exists():
        return ""
    print(f"installing {name} into {CACHE / name}", flush=True)
    home, packages = CACHE / name, PACKAGES[name]
    home.mkdir(parents=True, exist_ok=True)
    npm = [
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--loglevel=error",
        "--prefix",
        str(home),
        *packages,
    ]
    steps = [
        [sys.executable, "-m", "venv", str(home)],
        [str(home / "bin/pip"), "install", "-q", *packages],
    ]
    try:
        for step in steps if name in PYTHON else [npm]:
            subprocess.run(step, check=True, capture_output=True, text=True, timeout=900)
    except (OSError, subprocess.SubprocessError) as problem:
        shutil.rmtree(home, ignore_errors=True)
        said = (
            problem.stderr if isinstance(problem, subprocess.CalledProcessError) else str(problem)
        )
        return (said or str(problem)).strip().splitlines()[-1][:200]
    return "" if program(name).exists() else "installed without its program"


def ready(names: list[str]) -> tuple[dict[str, Peer], dict[str, str]]:
    """The peers that judge ten cases right, and why the others are left out."""
    peers, left_out = {}, {}
    with (
        tempfile.TemporaryDirectory(prefix="honestone-bench-") as place,
        judge_server(Path(place)) as root,
    ):
        for name in names:
            problem = install(name)
            if not problem:
                peer = PEERS[name]()
                try:
                    Evaluator(Path(place), root, {name: peer}).once(name, 10)
                    peers[name] = peer
                except (OSError, ValueError, LookupError, SystemExit) as trouble:
                    problem = " ".join(str(trouble).split())[:200] or repr(trouble)
            if problem:
                left_out[name] = problem
                print(f"{name} is left out: {problem}", flush=True)
    return peers, left_out


# ------------------------------------------------------------------------------------------------------------
# the table


def of_peers(bench: Evaluator) -> list[list[str]]:
    """A line of the peers' table for each tool that was measured."""
    lines = []
    for name in ("floor", "floor+store", *FORMS, *bench.peers):

        def cell(what: str, unit: str = "", digits: int = 2, name: str = name) -> str:
            found = bench.got.get(f"{name} {what}")
            return found.said(unit, digits) if found else ""

        walls, least = bench.got.get(f"{name} wall"), bench.got.get("floor wall")
        wall = f"{min(walls) / min(least):.2f}x" if walls and least else ""
        faults = [
            bench.got.get(f"{name} faults {says} {what}")
            for what in ("wrong", "open")
            for says in ("yes", "no")
        ]
        open_ = (
            ""
            if faults[0] is None
            else " / ".join(f"{one.mid:.0f}" for one in faults if one is not None)
        )
        whole = cell("whole ratio", "x") or "1"
        lines.append(
            [
                f"honestone, {name}" if name in FORMS else name,
                *(cell("work", " ms"), cell("work ratio", "x"), whole, cell("few", " s"), wall),
                *(cell("peak", "", 0), cell("tokens ratio", "x"), open_),
            ]
        )
    return lines


class Part(TypedDict):
    """What was measured together: when and how, the rows of ours, those of the tools next to each
    other, peers left out and why.
    """

    when: str
    ours: list[list[str]]
    peers: list[list[str]]
    left_out: list[list[str]]


PARTS = ("panel", "suites", "api", "speed")
HEAD = [
    "tool",
    "work, a case",
    "/ floor+store",
    "whole, / floor",
    "start",
    "wall, / floor",
    "peak MB",
]
HEAD += ["request, / floor", "wrong yes / no, open yes / no"]


def markdown(head: list[str], lines: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *lines])


def write(measured: dict[str, Part]) -> None:
    """The tables into README.md, between their marks."""
    page = README.read_text()
    head, rest = page.split("<!-- measured -->\n", 1)
    tail = rest.split("<!-- end -->", 1)[1]
    names = [name for name in PARTS if name in measured]
    parts = [measured[name] for name in names]
    tables = [
        "\n".join(f"- {name}: {measured[name]['when']}" for name in names),
        markdown(["what", "figure", "goal", ""], [row for part in parts for row in part["ours"]]),
    ]
    tables += [markdown(HEAD, part["peers"]) for part in parts if part["peers"]]
    tables += [f"{name} was left out: {why}" for part in parts for name, why in part["left_out"]]
    README.write_text(
        head + "<!-- measured -->\n\n" + "\n\n".join(tables) + "\n\n<!-- end -->" + tail
    )


def measure(part: str, names: list[str], count: int, rounds: int) -> Part:
    """One of PARTS, with what it showed."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
    shown = len(rows.ROWS)
    peers, left_out = ready(names) if part == "panel" else ({}, {})
    lines: list[list[str]] = []
    if part == "panel":
        lines = of_peers(panel.ask(list(panel.QUESTIONS), count, rounds, peers))
    elif part == "suites":
        suites.main(20 * count)
    elif part == "api":
        python_api.main()
    else:
        speed.ask(20 * count, rounds, install_too=True)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    when = f"{datetime.date.today()}, {cores} cores, load {load:.1f} before it, {count} cases, {rounds} rounds"
    ours = [
        [row.name, row.value, row.goal, "" if row.good else "not met"] for row in rows.ROWS[shown:]
    ]
    return Part(when=when, ours=ours, peers=lines, left_out=[list(one) for one in left_out.items()])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--peers", default=",".join(PEERS), help="names with commas between them; empty for none"
    )
    parser.add_argument("--only", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument(
        "--write", action="store_true", help="write the tables from what was measured last"
    )
    options = parser.parse_args()
    kept = CACHE / "measured.json"
    measured: dict[str, Part] = json.loads(kept.read_text()) if kept.exists() else {}
    is_whole = (options.count, options.rounds, tuple(options.only)) == (500, 3, PARTS)
    for part in () if options.write else options.only:
        names = [name for name in options.peers.split(",") if name]
        measured[part] = measure(part, names, options.count, options.rounds)
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_text(json.dumps(measured, indent=1))
        if measured[part]["peers"]:
            print("\n" + markdown(HEAD, measured[part]["peers"]) + "\n")
    if options.write or is_whole:
        write(measured)


if __name__ == "__main__":
    main()
