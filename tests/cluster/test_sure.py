"""`eval SUITE --sure N --remote`: each look is chosen by all cases, so one runner at a time works on
the run, and another one takes it up where that one ends.
"""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest
from tests.cli.desk import Desk, Program, until

from .site import Site
from .test_remote import bare

SUITE = "suite: 1\nsure: 90\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: an apple {n}, rubric: [it says apple]}}\n" for n in range(6)
)
TARGET = ("--target", "cmd:cat", "--sandbox", "none")


@pytest.fixture
def judges(desk: Desk) -> list[Program]:
    desk.file("honestone.toml", "")
    desk.file("suite.yaml", SUITE)
    return [desk.judge(name) for name in ("one", "two")]


def words(judges: list[Program], rate: str = "0.5") -> list[str]:
    rest = [*TARGET, "--min-pass-rate", rate]
    return [*rest, *(word for judge in judges for word in ("--judge", judge.spec))]


def test_the_report_is_that_of_one_machine(
    desk: Desk, judges: list[Program], site: Site, tmp_path: Path
) -> None:
    """With the same looks at the same cases, and the bar of the suite's file."""
    call = ("eval", "suite.yaml", *words(judges), "--json", "-q")
    alone = desk.run(*call, "--store", str(tmp_path / "alone"))
    assert alone.code == 0, alone.err
    calls = [judge.calls for judge in judges]
    site.runner()
    done = site.order(*words(judges))
    out, err = done.communicate(timeout=120)
    assert done.returncode == 0, out + err
    report = json.loads(out)
    assert bare(report) == bare(json.loads(alone.out))
    assert report["belief"]["target"] == 0.9 and "not asked" in report["belief"]["sentence"]
    assert [judge.calls for judge in judges] == [2 * one for one in calls]
    assert report["usage"]["judge_calls"] == sum(calls) == report["belief"]["looks"]


def test_a_runner_that_is_killed_between_looks(
    desk: Desk, judges: list[Program], site: Site
) -> None:
    """Another one takes the run up, and pays for nothing twice but what flew."""
    gate = desk.folder.parent / "gate"
    slow = desk.judge(
        "slow",
        f"""
        import os, time
        while "apple 3" in json.dumps(request) and not os.path.exists({str(gate)!r}):
            time.sleep(0.1)
        print(json.dumps(reply()))
        """,
    )
    first = site.runner()
    watching = site.order(*words([judges[0], slow], "1"))
    assert until(lambda: slow.calls >= 2, 60)
    first.send_signal(signal.SIGKILL)
    before = judges[0].calls + slow.calls
    gate.touch()
    site.runner()
    out, err = watching.communicate(timeout=120)
    report = json.loads(out)
    assert report["verdict"] in ("pass", "inconclusive"), err
    paid = judges[0].calls + slow.calls
    assert paid <= report["belief"]["looks"] + 4 and before > 0
