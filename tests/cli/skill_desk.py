"""Skills on a desk: a cook who knows nothing but what an installed skill teaches, and suites of
orders for it.

The cook reads every Markdown file of the skill that it was given. A line `* DISH = PHRASE` makes it
answer PHRASE when the order names DISH; "toast" it can make by itself. Every run is logged with
what it saw.
"""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .desk import LEAN_JSON, PYTHON, Desk, Result

DISHES = ("soup", "stew", "pie", "cake", "bread")

_COOK = """\
import os, sys, time
LOG = {log!r}
order = sys.stdin.read()
given = os.environ.get("HONESTONE_SKILL")
here = os.getcwd()

def files(folder):
    found = [os.path.join(root, name) for root, _, names in os.walk(folder) for name in names]
    return sorted((path for path in found if os.path.isfile(path)), key=lambda path: path.split(os.sep))

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()

shelf = sorted(os.path.relpath(path, here) for path in files(here))
lessons = "\\n".join(read(path) for path in files(given) if path.endswith(".md")) if given else ""
with open(LOG, "a", encoding="utf-8") as log:
    log.write(json.dumps({{"order": order, "lessons": lessons, "given": given, "cwd": here, "home": os.environ["HOME"],
        "at_home": os.listdir(os.environ["HOME"]), "names": sorted(os.environ), "shelf": shelf}}) + "\\n")
known = dict(line[2:].split(" = ", 1) for line in lessons.splitlines() if line.startswith("* ") and " = " in line)
said = [phrase for dish, phrase in known.items() if dish in order] + (["golden toast"] if "toast" in order else [])
with open("crumbs.txt", "w") as crumbs:
    crumbs.write("crumbs")
{body}
print("\\n".join(said) or "I cannot cook that.")
"""


@dataclass
class Cook:
    """A stand-in agent: what to pass as --target, and what it was asked."""

    spec: str
    log: Path

    @property
    def runs(self) -> list[dict[str, Any]]:
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text("utf-8").splitlines()]

    def count(self, word: str = "") -> int:
        return sum(word in run["order"] for run in self.runs)


def cook(desk: Desk, body: str = "", name: str = "cook") -> Cook:
    """`body` may look at `order`, `lessons` and `known`, and change `said`."""
    log = desk.logs / f"{name}.jsonl"
    program = LEAN_JSON + _COOK.format(log=str(log), body=textwrap.dedent(body))
    path = desk.file(f"tools/{name}.py", program)
    return Cook(f"cmd:{PYTHON} {path}", log)


def skill(
    desk: Desk, where: str, dishes: Sequence[str], *, more: str = "", name: str = "kitchen"
) -> str:
    lessons = "".join(f"* {dish} = hot {dish}\n" for dish in dishes)
    head = f"---\nname: {name}\ndescription: Takes orders in a small kitchen.\n---\n"
    desk.file(f"{where}/SKILL.md", f"{head}# Kitchen\n\n## Dishes\n\n{lessons}{more}")
    return where


def wants(*phrases: str) -> dict[str, Any]:
    return {"type": "contains", "expected": list(phrases)}


def suite(
    desk: Desk,
    tasks: Sequence[str] | Mapping[str, Any] = DISHES,
    name: str = "orders/task_suite.yaml",
) -> Path:
    """A task suite of orders. Tasks by name are judged by `hot NAME`; a mapping gives each its
    judge.
    """
    judges = tasks if isinstance(tasks, Mapping) else {dish: wants(f"hot {dish}") for dish in tasks}
    rows = [
        {"id": dish, "prompt": f"One {dish}, please.", "judge": judge, "timeout_seconds": 20}
        for dish, judge in judges.items()
    ]
    return desk.file(
        name,
        json.dumps({"skill_id": "kitchen", "version": "1.0", "tasks": rows}, ensure_ascii=False),
    )


def scorer(desk: Desk, score: float | None, name: str = "taster") -> str:
    """A script judge that gives every output the same score."""
    path = desk.file(
        f"tools/{name}.py",
        f"import sys\nsys.stdin.read()\nprint({json.dumps({'score': score})!r})\n",
    )
    return f"script:{PYTHON} {path}"


def passed(report: Mapping[str, Any], side: str = "candidate_results") -> dict[str, bool | None]:
    return {one["task_id"]: one["passed"] for one in report[side]}


def python_m(desk: Desk, *args: str | Path, timeout: float = 600) -> Result:
    """`python -m honestone.evaluate`, to its end."""
    ended = subprocess.run(
        [sys.executable, "-m", "honestone.evaluate", *map(str, args)],
        cwd=desk.folder,
        env=desk.env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return Result(ended.returncode, ended.stdout, ended.stderr)


def summary(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.out.splitlines()[-1])
    return found


def artifact(result: Result) -> dict[str, Any]:
    """The file that the summary points to."""
    found: dict[str, Any] = json.loads(Path(summary(result)["truth_anchor"]).read_text("utf-8"))
    return found
