"""What was spent is what was spent: the calls that stand-ins count themselves are the calls that
`usage` reports.
"""

from __future__ import annotations

import json
import signal
import socket
from typing import Any

import pytest

from .desk import PYTHON, Desk, Program, Result, stops_at, until
from .skill_desk import cook, skill, suite

CALLS = ("judge_calls", "target_calls", "worker_calls")


def calls(usage: dict[str, Any]) -> tuple[int, int, int]:
    """Judge, target and worker calls."""
    return usage["judge_calls"], usage.get("target_calls", 0), usage.get("worker_calls", 0)


def document(ended: Result) -> Any:
    """What it printed as JSON."""
    assert ended.out, ended.err
    return ended.json


def total(usages: list[dict[str, Any]], name: str) -> int:
    return sum(usage.get(name, 0) for usage in usages)


ASK_TWICE = """
if not again:
    print("no JSON at all")
else:
    print(json.dumps(reply()))
"""


@pytest.mark.parametrize(
    "body", ["print(json.dumps(reply()))", ASK_TWICE], ids=["first reply", "asked again"]
)
@pytest.mark.parametrize("count", [1, 3])
def test_files(ready: Desk, body: str, count: int) -> None:
    """Files: every call is counted, retries too; what was on record is counted as that, for each
    file.
    """
    files = [
        "note.md",
        *(
            str(ready.file(f"n{number}.md", f"An apple {number}.\n").name)
            for number in range(1, count)
        ),
    ]
    judges = [ready.judge("one", body), ready.judge("two")]
    args = ("eval", *files, "-r", "rubric.yaml", *(f"--judge={one.spec}" for one in judges))
    for expected in (False, True):
        before = sum(one.calls for one in judges)
        ended = ready.run(*args, "--json", "-q")
        found = ended.json if count > 1 else [ended.json]
        made = sum(one.calls for one in judges) - before
        usages = [one["usage"] for one in found]
        assert total(usages, "judge_calls") == made
        assert (made == 0) is expected
        by_judge = [judge["usage"] for one in found for judge in one["judges"]]
        assert total(by_judge, "judge_calls") == made
        assert total(usages, "cached_calls") == (
            sum(one.calls for one in judges) if expected else 0
        )
    ended = ready.run(*args)
    recorded = sum(one.calls for one in judges)
    assert f"0 judge calls · {recorded} recorded replies" in ended.out, ended


@pytest.mark.slow
@pytest.mark.parametrize("attempts", [1, 2])
@pytest.mark.parametrize("against", ["without", "other"])
def test_both_sides_of_a_task_suite(desk: Desk, attempts: int, against: str) -> None:
    """Of a skill and its baseline both sides are counted, every attempt of them; a baseline on
    record costs nothing.
    """
    agent, tasks = cook(desk), suite(desk)
    new, old = skill(desk, "new", ["soup", "stew", "pie"]), skill(desk, "old", ["soup", "stew"])
    args = (
        "eval",
        tasks,
        "--artifact",
        new,
        "--baseline",
        "without" if against == "without" else old,
        "-t",
        agent.spec,
    )
    args = (*args, "--repeat", str(attempts))
    first = document(desk.run(*args, "--json", "-q"))
    assert first["usage"]["target_calls"] == len(agent.runs)
    before = len(agent.runs)
    second = document(desk.run(*args, "--json", "-q"))
    assert second["baseline_cached"] is True
    assert second["usage"]["target_calls"] == len(agent.runs) - before
    before = len(agent.runs)
    fresh = desk.run(*args, "--fresh")
    assert f"{len(agent.runs) - before} target calls" in fresh.out


@pytest.mark.slow
def test_a_task_suite_that_is_killed(desk: Desk) -> None:
    """Killed in either side, the command that ends it counts what all of them did."""
    agent = cook(desk, stops_at(desk.logs / "cook.jsonl", 2, 7))
    tasks, new, old = (
        suite(desk),
        skill(desk, "new", ["soup", "stew", "pie"]),
        skill(desk, "old", ["soup", "stew"]),
    )
    args = (
        "eval",
        tasks,
        "--artifact",
        new,
        "--baseline",
        old,
        "-t",
        agent.spec,
        "--concurrency",
        "1",
    )
    for kill_at in (2, 7):
        process = desk.start(*args)
        assert until(lambda kill_at=kill_at: len(agent.runs) >= kill_at)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    ended = document(desk.run(*args, "--json", "-q"))
    # A run of the target that a kill cut off is on nobody's record: at most one for each kill.
    assert len(agent.runs) - 2 <= ended["usage"]["target_calls"] <= len(agent.runs)
    assert ended["usage"]["target_calls"] == 10


def test_both_sides_share_one_allowance(desk: Desk) -> None:
    """`--max-calls` is the limit of the comparison, not of each of its sides."""
    judge = desk.judge()
    rows = [
        {
            "id": f"t{n}",
            "prompt": f"One soup, {n}.",
            "judge": {"type": "llm-rubric", "rubric": "It is soup"},
        }
        for n in range(3)
    ]
    tasks = desk.file(
        "orders/task_suite.yaml",
        json.dumps({"version": "1.0", "skill_id": "kitchen", "tasks": rows}),
    )
    new, old = skill(desk, "new", ["soup"]), skill(desk, "old", ["stew"])
    agent = cook(desk)
    args = (
        "eval",
        tasks,
        "--artifact",
        new,
        "--baseline",
        old,
        "-t",
        agent.spec,
        "-j",
        judge.spec,
        "--max-calls",
        "4",
    )
    desk.run(*args, "--json", "-q")
    assert judge.calls <= 4


SUITE = "suite: 1\ntitle: Notes\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: 'number {n} apple', rubric: [It names the apple, It names the pear]}}\n"
    for n in range(4)
)


def target(desk: Desk, name: str = "target") -> Program:
    log = desk.logs / f"{name}.log"
    path = desk.file(
        f"{name}.py",
        f"import sys\nopen({str(log)!r}, 'a').write('run\\n')\nprint(sys.stdin.read())\n",
    )
    return Program(f"cmd:{PYTHON} {path.name}", path, log)


@pytest.mark.slow
@pytest.mark.parametrize("repeat", [1, 3])
def test_suites(desk: Desk, repeat: int) -> None:
    """Suites: calls of targets and judges, and after a kill those of both processes."""
    desk.file("suite.yaml", SUITE)
    agent, judge = (
        target(desk),
        desk.judge("slow", stops_at(desk.logs / "slow.jsonl", 3) + ASK_TWICE),
    )
    args = (
        "eval",
        "suite.yaml",
        "-t",
        agent.spec,
        "-j",
        judge.spec,
        "--repeat",
        str(repeat),
        "--concurrency",
        "1",
    )
    process = desk.start(*args)
    assert until(lambda: judge.calls >= 3)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    ended = document(desk.run(*args, "--json", "-q"))
    assert ended["usage"]["target_calls"] == 4 * repeat
    assert agent.calls - 1 <= ended["usage"]["target_calls"] <= agent.calls
    assert judge.calls - 1 <= ended["usage"]["judge_calls"] <= judge.calls
    before = agent.calls, judge.calls
    again = document(desk.run(*args, "--json", "-q"))
    made = agent.calls - before[0], judge.calls - before[1]
    assert calls(again["usage"]) == (made[1], made[0], 0)


def test_suites_against_a_baseline(desk: Desk) -> None:
    """Both sides of a comparison with a version of before."""
    desk.file("suite.yaml", SUITE)
    new, old = desk.file("new.md", "A pear.\n"), desk.file("old.md", "A plum.\n")
    agent, judge = target(desk), desk.judge()
    args = (
        "eval",
        "suite.yaml",
        "--artifact",
        new.name,
        "--baseline",
        old.name,
        "-t",
        agent.spec,
        "-j",
        judge.spec,
    )
    ended = document(desk.run(*args, "--json", "-q"))
    assert calls(ended["usage"]) == (judge.calls, agent.calls, 0)


WRITES = """
text = read()
put(text + (b"A pear.\\n" if b"pear" not in text else b"My farewell.\\n"))
"""


@pytest.mark.slow
def test_improve_killed_and_resumed(ready: Desk) -> None:
    """The loop: judges, held-out judges and workers, of every process that worked on the run."""
    judges = [
        ready.judge("one", stops_at(ready.logs / "one.jsonl", 2) + "print(json.dumps(reply()))"),
        ready.judge("held", ASK_TWICE),
    ]
    worker = ready.worker("worker", WRITES)
    args = (
        "improve",
        "note.md",
        "-r",
        "rubric.yaml",
        "-j",
        judges[0].spec,
        "--holdout",
        judges[1].spec,
    )
    args = (*args, "--worker", worker.spec)
    process = ready.start(*args)
    assert until(lambda: judges[0].calls >= 2)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    ended = ready.run(*args, "--json", "-q").json
    made = sum(one.calls for one in judges)
    assert made - 1 <= ended["usage"]["judge_calls"] <= made
    assert worker.calls - 1 <= ended["usage"]["worker_calls"] <= worker.calls


def test_improve_with_a_suite(desk: Desk) -> None:
    """Tasks of all splits, judges and workers."""
    splits = ("train", "val", "test", "train")
    text = SUITE.replace("cases:", "artifact: note.md\ncases:", 1)
    for number, split in enumerate(splits):
        text = text.replace(f"{{id: c{number},", f"{{id: c{number}, split: {split},")
    desk.file("suite.yaml", text)
    desk.file("note.md", "A note.\n")
    log = desk.logs / "agent.log"
    desk.file(
        "agent.py",
        f"import os, sys\nopen({str(log)!r}, 'a').write('run\\n')\nprint(sys.stdin.read())\n",
    )
    agent = Program(f"cmd:{PYTHON} agent.py", desk.folder / "agent.py", log)
    judge, worker = desk.judge(), desk.worker("worker", "put(read() + b'A pear.\\n')")
    args = (
        "improve",
        "note.md",
        "--suite",
        "suite.yaml",
        "-t",
        agent.spec,
        "-j",
        judge.spec,
        "--worker",
        worker.spec,
    )
    ended = document(desk.run(*args, "--rounds", "2", "--json", "-q"))
    assert calls(ended["usage"]) == (judge.calls, agent.calls, worker.calls)


@pytest.mark.parametrize("command", ["noise", "audit", "calibrate"])
@pytest.mark.parametrize(
    "body", ["print(json.dumps(reply()))", ASK_TWICE], ids=["first reply", "asked again"]
)
def test_commands_that_measure(ready: Desk, command: str, body: str) -> None:
    """What measures judges asks them too."""
    judge = ready.judge("one", body)
    ready.file("b.md", "A pear and a farewell.\n")
    rows = [{"artifact": name, "criterion": "close", "value": 0} for name in ("note.md", "b.md")]
    ready.file("labels.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    args = {
        "noise": ("noise", "note.md", "-n", "3"),
        "audit": ("audit", "note.md"),
        "calibrate": ("calibrate", "--labels", "labels.jsonl"),
    }[command]
    ended = ready.run(*args, "-r", "rubric.yaml", "-j", judge.spec, "--json", "-q")
    assert judge.calls, ended.err
    assert ended.json["usage"]["judge_calls"] == judge.calls


def test_steps(ready: Desk) -> None:
    """A host agent's loop: the calls of its judges in all commands together, and its edits."""
    judge = ready.judge()
    action = ready.run(
        "step", "next", "note.md", "-r", "rubric.yaml", "-j", judge.spec, "--rounds", "2"
    ).json
    for _ in range(5):
        if action["action"] != "propose":
            break
        path = action["location"]
        with open(path, "a", encoding="utf-8") as file:
            file.write("A pear. My farewell.\n")
        action = ready.run("step", "submit", action["run"], "--round", str(action["round"])).json
    assert action["action"] == "done"
    assert action["usage"]["judge_calls"] == judge.calls


def test_stages(desk: Desk) -> None:
    """`stage evaluate` and `stage run`: tasks of both sides, and workers."""
    agent, tasks = cook(desk), suite(desk)
    where = skill(desk, "kitchen", ["soup", "stew"])
    out = desk.run(
        "stage",
        "evaluate",
        "--standalone",
        "--skill-path",
        where,
        "--task-suite",
        tasks,
        "-t",
        agent.spec,
        "--json",
        "-q",
    )
    assert out.json["usage"]["target_calls"] == len(agent.runs), out.err
    before = len(agent.runs)
    worker = desk.worker(
        "worker",
        "path = os.path.join(path, 'SKILL.md') if os.path.isdir(path) else path\nput(read() + b'* pie = hot pie\\n')",
    )
    judge = desk.judge()
    ended = desk.run(
        "stage",
        "run",
        where,
        "--task-suite",
        tasks,
        "-t",
        agent.spec,
        "--worker",
        worker.spec,
        "-j",
        judge.spec,
        "--retries",
        "2",
        "--json",
        "-q",
    )
    found = ended.json
    assert found["usage"].get("target_calls", 0) == len(agent.runs) - before, ended.err
    assert found["usage"].get("worker_calls", 0) == worker.calls
    assert found["usage"].get("judge_calls", 0) == judge.calls


def test_what_was_never_called_costs_nothing(ready: Desk) -> None:
    """A server that is not there, a program that cannot be started: no call was made, so none is
    counted.
    """
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    table = f'provider = "compatible"\nbase_url = "http://127.0.0.1:{port}/v1"\nmodel = "m"\n'
    ready.file("honestone.toml", f"[judges.away]\n{table}")
    judge = ready.judge()
    ended = ready.run(
        "eval", "note.md", "-r", "rubric.yaml", "-j", "away", "-j", judge.spec, "--json", "-q"
    )
    assert ended.json["usage"]["judge_calls"] == judge.calls == 1
    assert [one["usage"]["judge_calls"] for one in ended.json["judges"]] == [0, 1]
    alone = ready.run("eval", "note.md", "-r", "rubric.yaml", "-j", "away")
    assert "nothing spent" in alone.out, alone.out


def test_a_workspace_that_cannot_be_set_up_is_no_run_of_the_target(desk: Desk) -> None:
    """The target was not started, so it is not counted."""
    agent = target(desk)
    desk.file(
        "suite.yaml",
        "suite: 1\ncases:\n  - {id: a, input: x, setup: ['false'], checks: [{contains: x}]}\n",
    )
    ended = desk.run("eval", "suite.yaml", "-t", agent.spec, "--json", "-q")
    assert calls(ended.json["usage"]) == (0, agent.calls, 0) == (0, 0, 0)
