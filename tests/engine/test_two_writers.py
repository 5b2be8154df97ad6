"""Two processes that work on one attempt: what is on record first counts, and whoever was later
changes no result.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.events import (
    AttemptJudged,
    CasePassedBy,
    DuplicateWork,
    Event,
    OutputProduced,
    RecordedCase,
    StartedSuite,
    SuiteStarted,
    total_spend,
)
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.spend import Meter, Spend, Usage
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.suite.case import Case, Message
from honestone.engine.cases import CaseWork
from honestone.ports import Output, Task

COST = Spend(target_calls=1, input_tokens=7)


RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="c", requirement="C", items=(Item(id="i", requirement="is there", whole=True),)
        ),
    )
)


def started() -> SuiteStarted:
    case = Case(id="one", rubric=RUBRIC, messages=(Message("user", "hello"),))
    recorded = RecordedCase.of(case, rubric="r", contract="c", asked=None)
    return SuiteStarted(
        suite=StartedSuite(path="s"),
        contract={},
        contract_id="c",
        rubrics={"r": RUBRIC},
        cases=(recorded,),
    )


class Evaluator:
    """Says what it was shown, and then lets another process write."""

    def __init__(self, then: Any = lambda: None) -> None:
        self.shown: list[str] = []
        self.then = then

    def question(self, artifact: object, *, output: Output, **_: object) -> str:
        return output.text

    async def judge(self, question: str, output: Output) -> SimpleNamespace:
        self.shown.append(question)
        self.then()
        ballot = Ballot(judge=f"saw {question}", marks={})
        return SimpleNamespace(
            ballots=(ballot,), spend=Spend(judge_calls=1), by_judge={}, refused=None
        )


@dataclass
class Target:
    """Answers `mine`, after another process has written."""

    then: Any
    concurrency = None

    async def run(self, task: Task) -> Output:
        self.then()
        return Output(text="mine", usage=Usage(input_tokens=7))


def worked(
    store: MemoryStore,
    run: str,
    evaluator: Evaluator,
    then: Any = lambda: None,
    *,
    is_free: bool = False,
) -> SuiteRecord:
    record = SuiteRecord(started(), run=run)
    work = CaseWork(
        run=run,
        add=record.add,
        evaluator=lambda case: evaluator,
        changed=lambda case: [],
        target=Target(then),
        journal=store.journal,
        meter=Meter(calls=9, minutes=9, usd=None, clock=lambda: 0.0),
        observer=SimpleNamespace(note=lambda text: None),
        base=Path(),
        cwd=Path(),
        is_free=is_free,
    )
    asyncio.run(work.attempt(record.cases["one"], 1))
    return record


def of_kind(log: list[Event], kind: type[Event]) -> list[Event]:
    return [event for event in log if isinstance(event, kind)]


def begun() -> tuple[MemoryStore, str]:
    store = MemoryStore()
    return store, store.start_run(
        kind="suite", subject="s", identity="i", contract="c", first=started()
    )


@pytest.mark.parametrize("is_free", [False, True])
def test_the_output_that_was_on_record_first_is_judged(is_free: bool) -> None:
    """A runner that was suspended while its target worked: its own output is not on record, what it
    cost is.
    """
    store, run = begun()
    theirs = OutputProduced(case="one", attempt=1, output="theirs", spend=COST)
    evaluator = Evaluator()
    record = worked(store, run, evaluator, lambda: store.append(run, theirs), is_free=is_free)
    log = store.events(run)
    assert of_kind(log, OutputProduced) == [theirs] and record.cases["one"].produced[1] == theirs
    assert evaluator.shown[-1] == "theirs"
    assert [event.ballots[0].judge for event in of_kind(log, AttemptJudged)] == ["saw theirs"]
    assert of_kind(log, DuplicateWork) == [DuplicateWork(case="one", attempt=1, spend=COST)]
    assert total_spend(log).target_calls == 2 and record.spend.target_calls == 2


def test_the_judgement_that_was_on_record_first_counts() -> None:
    """Also in the record of the process that was later."""
    store, run = begun()
    said = AttemptJudged(case="one", attempt=1, ballots=(Ballot(judge="other", marks={}),))
    record = worked(store, run, Evaluator(lambda: store.append(run, said)))
    log = store.events(run)
    assert of_kind(log, AttemptJudged) == [said] and record.cases["one"].ballots[1] == said.ballots
    assert total_spend(log).judge_calls == 1
    read = read_record(log, run=run)
    assert read.cases["one"].result == record.cases["one"].result


def test_a_refusal_that_comes_late_changes_nothing() -> None:
    """Whichever is written first, a judgement without a refusal counts."""
    said = AttemptJudged(case="one", attempt=1, ballots=(Ballot(judge="one", marks={}),))
    refused = replace(said, ballots=(), refused="--max-calls 1 are used up")
    for events in (
        [refused, said],
        [said, refused],
        [refused, said, refused],
        [refused, refused, said],
    ):
        record = read_record([started(), *events])
        assert record.cases["one"].ballots[1] == said.ballots
    assert read_record([started(), refused]).cases["one"].ballots[1] == ()


def test_a_case_is_passed_by_once() -> None:
    store, run = begun()
    assert store.append(run, CasePassedBy(case="one", reason="first")) is None
    assert store.append(run, CasePassedBy(case="one", reason="second")) == CasePassedBy(
        case="one", reason="first"
    )
    assert len(store.events(run)) == 2
