"""`kill -9` at every write of `stage run`, by number: the same command resumes, pays nothing twice
and ends the same.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from test_kill_everywhere import KILLED, Driver, calls

from honestone.adapters.stores.sqlite import SqliteStore

SKILL = "---\nname: kitchen\ndescription: Takes orders.\n---\n# Kitchen\n\n* soup is hot\n"
TASKS = {
    "suite": 1,
    "cases": [
        {"id": dish, "input": dish, "checks": [{"contains": [f"{dish} is"]}]}
        for dish in ("soup", "pie")
    ],
}
ARGS = [
    "run",
    "kitchen",
    "--task-suite",
    "tasks.json",
    "--worker",
    "cook:w",
    "--target",
    "menu:t",
    "--judge",
    "yes:j1",
]
ARGS += ["--judge", "yes:j2", "--state-root", "st", "--json"]


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    one = Driver(command="stage")
    yield one
    one.close()


def prepare(folder: Path) -> None:
    (folder / "kitchen").mkdir(parents=True)
    (folder / "kitchen/SKILL.md").write_text(SKILL)
    (folder / "tasks.json").write_text(json.dumps(TASKS))


def end(folder: Path) -> dict[str, Any]:
    """What must be the same: the decisions, the figures, and the skill on disk."""
    document = json.loads((folder / "out.json").read_text())
    tries = [
        (one["decision"], one["execution_pass_rate"], one["reason"]) for one in document["tries"]
    ]
    skill = {path.name: path.read_text() for path in sorted((folder / "kitchen").iterdir())}
    return {"decision": document["decision"], "tries": tries, "skill": skill}


def is_over(folder: Path) -> bool:
    store = SqliteStore(folder / ".honestone")
    found = any(info.kind == "stages" and info.finished for info in store.runs())
    store.close()
    return found


def stage_files(folder: Path) -> Counter[str]:
    """How many files each stage left."""
    return Counter(path.parent.name for path in (folder / "st").glob("*/*.json"))


@pytest.mark.parametrize("when", ["before", "after"])
def test_killed_at_any_one_write(driver: Driver, tmp_path: Path, when: str) -> None:
    """Put back, then kept, an edit of two files: at each write in turn, and the end is the same."""
    whole = tmp_path / "whole"
    prepare(whole)
    code = driver.run(whole, ARGS)
    expected, called, files = end(whole), calls(whole), stage_files(whole)
    writes = int((whole / "writes").read_text())
    assert code == 0 and [one[0] for one in expected["tries"]] == ["revert", "keep"], expected
    assert sum(called.values()) == 2 + 4 + 6 and writes > 30, called
    troubles = []
    for number in range(1, writes + 1):
        folder = tmp_path / str(number)
        prepare(folder)
        if driver.run(folder, ARGS, kill=number, when=when) != KILLED:
            troubles.append(f"write {number}: it was not killed")
            continue
        over = is_over(folder) if (folder / ".honestone/store.db").exists() else False
        if over:  # a finished run is not resumed: the command begins a new one
            continue
        ended = driver.run(folder, ARGS)
        if ended != code or end(folder) != expected:
            troubles.append(
                f"write {number}: exit {ended} instead of {code}, or another end: {end(folder)}"
            )
        if stage_files(folder) != files:
            troubles.append(f"write {number}: other files: {stage_files(folder)}")
        extra = calls(folder) - called
        # What was in flight may be paid for again: a proposal, a task, or one look of the two
        # judges, whose replies come in one turn.
        callers = {call.split()[0] for call in extra}
        texts = {call.split()[-1] for call in extra}
        if (len(callers) > 1 and len(texts) > 1) or sum(extra.values()) > 2:
            troubles.append(f"write {number}: paid twice: {dict(extra)}")
    assert not troubles, "\n".join(troubles[:20])
