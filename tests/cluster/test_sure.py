"""`eval SUITE --sure N --remote`: each look is chosen by all cases, so one runner at a time works on
the run, and another one takes it up where that one ends.
"""

from __future__ import annotations

import asyncio
import json
import signal
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace
from tests.cli.desk import Desk, Program, until
from tests.report.test_suite_figures import log_of

from honestone.adapters.stores.memory import MemoryStore
from honestone.app.remote.runner import SuiteSession
from honestone.core.events import CasePassedBy, SuiteStarted
from honestone.core.record.queue import QueuedCase
from honestone.core.record.record import CaseRecord, SuiteRecord, read_record
from honestone.core.suite.attempts import Status

from .site import Site
from .test_remote import bare

SUITE = "suite: 1\nsure: 90\ncases:\n" + "".join(
    f"  - {{id: c{n}, input: an apple {n}, rubric: [it says apple]}}\n" for n in range(6)
)
SUITE += "  - {id: later, input: an apple, rubric: [it says apple], skip: later}\n"
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


def test_what_code_alone_judges_is_worked_on_side_by_side(desk: Desk, site: Site) -> None:
    """No look is chosen, so each case waits in the queue for itself."""
    gate = desk.folder.parent / "gate"
    desk.file("honestone.toml", "")
    cases = "".join(
        f"  - {{id: c{n}, input: apple, checks: [{{contains: apple}}]}}\n" for n in "ab"
    )
    desk.file("suite.yaml", f"suite: 1\nsure: 90\ncases:\n{cases}")
    target = f"cmd:sh -c 'until test -e {gate}; do sleep 0.1; done; cat'"
    site.runner()
    watching = site.order("--target", target, "--sandbox", "none")
    assert until(lambda: len(site.in_hand()) == 2, 60)
    gate.touch()
    out, err = watching.communicate(timeout=120)
    assert json.loads(out)["verdict"] == "pass", err


def test_a_run_that_is_given_up_blames_no_target_that_was_not_run() -> None:
    """An output on record gets no answers; what was passed by stays, and the rest is."""
    log = log_of([("run", "pass^k", [(True, True), (True, True)]), ("run", "mean", [])] * 2)
    first = log[0]
    assert isinstance(first, SuiteStarted)
    first = replace(first, sure=Fraction(9, 10), panel=("one",))
    # Of c0 one attempt has answers and the other one none; c2 has an output; c3 was passed by.
    events = [*log[1:4], next(one for one in log if getattr(one, "case", "") == "c2")]
    store = MemoryStore()
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=first)
    store.append_many(run, [*events, CasePassedBy(case="c3", reason="decided without it")])
    records: dict[str, CaseRecord] = {}
    plan: Any = SimpleNamespace(is_asked_on=True, contracts=SimpleNamespace(rubrics=first.rubrics))
    work: Any = SimpleNamespace(add=lambda event: records[event.case].add(event))
    session = SuiteSession(
        run=run,
        plan=plan,
        store=store,
        empty=SuiteRecord(replace(first, cases=())),
        work_on=work,
        _asked={},
        _open=records,
    )
    asyncio.run(session.give_up(QueuedCase(id=1, run=run, case="c0", errors=2), "it broke"))
    cases = read_record(store.events(run), run=run).cases
    assert cases["c0"].is_complete and cases["c0"].attempts[0].status is Status.PASSED
    assert cases["c2"].has_ended(1) and not cases["c2"].has_ended(2)
    assert {id: one.passed_by for id, one in cases.items()} == {
        "c0": None,
        "c1": "it broke",
        "c2": "it broke",
        "c3": "decided without it",
    }
    found = [one for case in cases.values() for one in case.attempts]
    assert not any(one.status is Status.TARGET_ERROR for one in found)
