"""What running a suite costs beside the bare loop: 5,000 cases, a target and a judge of 50 ms each, 64 at a time.

    make bench-suites                    # or: python bench/suites.py [CASES]

The bare loop awaits the same sleeps with the same concurrency and does nothing else. Ratios are taken inside one round.
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from honestone.adapters.checks import CheckRunner
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.core.ballot import Mark, Question, Reading
from honestone.core.rubric import Criterion, Item, Rubric, to_plain
from honestone.core.spend import Meter
from honestone.core.suite.case import Case, Message, case_to_plain
from honestone.core.suite.record import read_record
from honestone.engine.panel import Evaluator, Panel, Seat
from honestone.engine.suites import SuiteRun
from honestone.ports import Output, Reply, Request, Task
from honestone.report.suite import suite_document

WAIT, AT_ONCE = 0.05, 64
ITEMS = [f"It says word {number}" for number in range(5)]
RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="words", requirement="Words", items=tuple(Item(id=f"w{n}", requirement=t) for n, t in enumerate(ITEMS))
        ),
    )
)


class SlowTarget:
    identity = {"kind": "slow"}  # noqa: RUF012

    def refuse(self, cases: Sequence[Case]) -> None:
        pass

    async def run(self, task: Task) -> Output:
        await asyncio.sleep(WAIT)
        return Output(text=f"an answer to {task.prompt}", duration_ms=50)

    async def close(self) -> None:
        pass


class SlowJudge:
    id = "slow"
    identity = {"kind": "slow"}  # noqa: RUF012
    is_paid = True
    concurrency = AT_ONCE

    def render(self, question: Question, problems: Sequence[str] = ()) -> Request:
        return Request(body=json.dumps([question.input, question.output]))

    async def ask(self, request: Request, question: Question) -> Reply:
        await asyncio.sleep(WAIT)
        return Reply(text="yes")

    def read(self, question: Question, request: Request, reply: Reply) -> Reading:
        return Reading(marks={key: Mark(True) for key, _ in question.items()})

    async def close(self) -> None:
        pass


class Silent:
    def note(self, text: str) -> None:
        pass

    def progress(self, done: int, total: int, doing: str) -> None:
        pass

    def event(self, event: Any) -> None:
        pass


async def bare(count: int) -> None:
    waiting = iter(range(count))

    async def work() -> None:
        for _ in waiting:
            await asyncio.sleep(WAIT)
            await asyncio.sleep(WAIT)

    await asyncio.gather(*(work() for _ in range(AT_ONCE)))


async def ours(cases: Sequence[Case], folder: Path) -> tuple[SqliteStore, str]:
    store = SqliteStore(folder)
    first = {
        "type": "started",
        "kind": "suite",
        "suite": {"path": "s", "title": "", "dialect": "honestone"},
        "target": "slow",
        "artifact": None,
        "contract": {},
        "contract_id": "c",
        "rule": "mean",
        "panel": ["slow"],
        "rubrics": {"r": to_plain(RUBRIC)},
        "cases": [{**case_to_plain(case), "rubric": "r", "contract": "c"} for case in cases],
        "min_pass_rate": "1",
    }
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=first)
    meter = Meter(calls=10 * len(cases), minutes=60, usd=None, clock=time.monotonic)
    panel = Panel(seats=(Seat(id="slow", judge=SlowJudge(), draw=0),), store=store, meter=meter)
    evaluator = Evaluator(RUBRIC, CheckRunner(folder), panel)
    record = read_record(store.events(run), run=run)
    await SuiteRun(
        run=run,
        record=record,
        evaluator=lambda case: evaluator,
        changed=lambda case: (),
        target=SlowTarget(),
        store=store,
        meter=meter,
        observer=Silent(),
        base=folder,
        cwd=folder,
        concurrency=AT_ONCE,
    ).all()
    return store, run


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 5_000
    cases = [Case(id=f"case-{n}", rubric=RUBRIC, messages=(Message("user", f"question {n}"),)) for n in range(count)]
    began = time.perf_counter()
    asyncio.run(bare(count))
    floor = time.perf_counter() - began
    with tempfile.TemporaryDirectory() as folder:
        before, cpu, began = peak(), time.process_time(), time.perf_counter()
        store, run = asyncio.run(ours(cases, Path(folder)))
        took, cpu = time.perf_counter() - began, time.process_time() - cpu
        ran = peak()
        began = time.perf_counter()
        document = suite_document(read_record(store.events(run), run=run))
        drawn = time.perf_counter() - began
        assert document.counts["passed"] == count, document.counts
        store.close()
    print(
        f"{count} cases, {AT_ONCE} at a time: bare loop {floor:.2f} s, ours {took:.2f} s = {took / floor:.2f}x (goal 1.25x)"
    )
    print(
        f"  CPU {1000 * cpu / count:.2f} ms a case; memory grew by {ran - before:.0f} MB while running, {peak() - ran:.0f} MB for the report"
    )
    print(f"  report from the record: {1000 * drawn / count:.2f} ms a case")


if __name__ == "__main__":
    main()
