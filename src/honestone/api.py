"""The Python face: score something from a program or a test, with the same rules and no files left behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import honestone
from honestone.adapters.checks import CheckRunner
from honestone.adapters.registry import AdapterContext, make_judge
from honestone.adapters.stores.memory import MemoryStore
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import Ballot
from honestone.core.contract import make_contract
from honestone.core.errors import CouldNotJudge
from honestone.core.numbers import exact
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Rule, Scorecard, Scorer
from honestone.core.verdict import Verdict, judge_gate
from honestone.engine.judging import Evaluator
from honestone.engine.meter import Meter
from honestone.engine.panel import Panel, Seat
from honestone.formats.settings import find_settings
from honestone.ports import Judge, Store
from honestone.system.files import load_artifact, printable

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated:
    """What was made of one artifact. `document` is what `honestone eval --json` prints (`honestone.scorecard/1`)."""

    verdict: Verdict
    scorecard: Scorecard
    ballots: tuple[Ballot, ...]
    document: Mapping[str, Any]

    @property
    def passed(self) -> bool:
        return self.verdict.passed


def evaluate(
    artifact: str | Path,
    rubric: Rubric | Path | str,
    *,
    judges: Sequence[str | Judge] = (),
    combine: str = "mean",
    input: str | None = None,
    reference: str | None = None,
    store: Path | None = None,
    max_calls: int | None = None,
) -> Evaluated:
    """Score an artifact: a text (`str`) or a file or folder (`Path`). `rubric` is one, or the path of a rubric file.

    `judges` are what `--judge` takes, or objects that answer `ports.Judge`. Replies are kept in `store` (a folder) and
    not asked for twice; without it in memory only. Works inside a running event loop too.
    Raises UsageError and its kinds for what is wrong with the call, CouldNotJudge when judges are needed and none is
    named. A judge that fails is no error: the verdict is then inconclusive, or the panel smaller.
    """
    base = rubric if isinstance(rubric, Path) else Path(rubric) if isinstance(rubric, str) else None
    found = honestone.read_rubric(base) if base is not None else rubric
    assert isinstance(found, Rubric)
    if found.asks_judges and not judges:
        raise CouldNotJudge("this rubric asks judges, but none was named", hint='judges=["cmd:COMMAND"], for example')
    return _in_a_loop(
        _evaluate(
            artifact,
            found,
            base,
            list(judges),
            Rule(combine),
            input=input,
            reference=reference,
            store=store,
            max_calls=max_calls,
        )
    )


def run_suite(
    suite: str | Path,
    *,
    target: str | None = None,
    judges: Sequence[str] = (),
    artifact: str | Path | None = None,
    baseline: str | None = None,
    cases: Sequence[str] = (),
    attempts: int | None = None,
    min_pass_rate: float | None = None,
) -> dict[str, Any]:
    """Run a suite, of any format that is read, as `honestone eval SUITE` does: the same store, the same resuming.

    Returns `honestone.report/1`. Raises UsageError for what is wrong with the call or the file, before anything is spent, and
    CouldNotJudge when judges are needed and none is named or found. What a target or a judge cannot do is in the report.
    """
    from honestone.app.setup import judging_defaults
    from honestone.app.suites.choice import Choice
    from honestone.app.suites.session import SuiteOptions, SuiteSession
    from honestone.cli.progress import Progress

    options = SuiteOptions(
        choice=Choice(ids=tuple(cases)),
        target=target,
        baseline=baseline,
        attempts=attempts,
        artifact=None if artifact is None else Path(artifact),
        min_pass_rate=None if min_pass_rate is None else exact(min_pass_rate),
    )
    judging = judging_defaults(judges=tuple(judges))

    def work() -> dict[str, Any]:
        with Progress(quiet=True) as progress:
            return SuiteSession(Path(suite), judging, options, progress).report()

    return _outside_a_loop(work)


def assert_passes(
    output: str | Path,
    rubric: Rubric | Path | str,
    *,
    judge: str | Judge | Sequence[str | Judge] = (),
    input: str | None = None,
    reference: str | None = None,
) -> dict[str, Any]:
    """The scorecard document of an output (text, or the path of a file or folder) that passes: for tests.

    Raises AssertionError with the reasons when it does not pass, CouldNotJudge when that could not be found out.
    """
    judges = [judge] if isinstance(judge, str) or not isinstance(judge, Sequence) else list(judge)
    document = dict(evaluate(output, rubric, judges=judges, input=input, reference=reference).document)
    if document["verdict"] == "fail":
        raise AssertionError("\n".join(["the output does not pass:", *_why(document)]))
    if document["verdict"] != "pass":
        raise CouldNotJudge("\n".join(["the output could not be judged:", *_why(document)]))
    return document


def _why(document: Mapping[str, Any]) -> list[str]:
    failed = [f"{judge['id']}: {judge['reason']}" for judge in document["judges"] if judge.get("reason")]
    return [f"  {reason}" for reason in (*document["reasons"], *failed)]


async def _evaluate(
    artifact: str | Path,
    rubric: Rubric,
    base: Path | None,
    judges: list[str | Judge],
    rule: Rule,
    *,
    input: str | None,
    reference: str | None,
    store: Path | None,
    max_calls: int | None,
) -> Evaluated:
    from honestone.report.documents import Facts, add_notes, scorecard_document, usage_document

    subject = _subject(artifact, base)
    scorer = Scorer(rubric, rule)
    folder = base.parent.resolve() if base is not None else Path.cwd()
    checker = CheckRunner(folder, artifacts=[artifact.resolve()] if isinstance(artifact, Path) else ())
    checks = [item.check for _, item in rubric.questions() if item.check is not None]
    checker.preflight(checks, subject.version)
    seats = _seats(judges)
    calls = max_calls if max_calls is not None else 4 * len(seats) + 10
    kept: Store = SqliteStore(store) if store is not None else MemoryStore()
    panel = Panel(seats=seats, store=kept, meter=Meter(calls=calls, minutes=24 * 60, usd=None, clock=time.monotonic))
    try:
        judged = await Evaluator(rubric, checker, panel).judge(subject, input=input, reference=reference)
    finally:
        await panel.close()
        kept.close()
    contract = make_contract(
        rubric,
        judges=[seat.identity for seat in seats],
        checks=[dict(checker.identity(check)) for check in checks],
        rule=str(rule),
        options={},
    )
    facts = Facts(
        path=subject.path,
        digest=subject.version.digest,
        contract=contract.id,
        run=None,
        usage=usage_document(judged.spend.to_plain()),
        text=subject.version.text,
    )
    card = scorer.card(judged.ballots)
    document = add_notes(scorecard_document(scorer, judged.ballots, facts), judged.ballots)
    return Evaluated(verdict=judge_gate(card, rubric), scorecard=card, ballots=judged.ballots, document=document)


def _subject(artifact: str | Path, rubric: Path | None) -> Artifact:
    if isinstance(artifact, str):
        return Artifact("text", Version.of_text(artifact, "text.txt"))
    exclude = {rubric.resolve()} if rubric is not None else set()
    return Artifact(printable(artifact), load_artifact(artifact, exclude=exclude).version)


def _seats(judges: list[str | Judge]) -> tuple[Seat, ...]:
    context = AdapterContext(cwd=Path.cwd(), settings=find_settings(Path.cwd()))
    seats: list[Seat] = []
    for judge in judges:
        name = judge if isinstance(judge, str) else judge.id
        draw = sum(1 for seat in seats if seat.id.split("#")[0] == name)
        id = name if draw == 0 else f"{name}#{draw + 1}"
        made = make_judge(judge, context, id=id) if isinstance(judge, str) else judge
        seats.append(Seat(id=id, judge=made, draw=draw))
    return tuple(seats)


def _in_a_loop(work: Coroutine[Any, Any, T]) -> T:
    return _outside_a_loop(lambda: asyncio.run(work))


def _outside_a_loop(work: Callable[[], T]) -> T:
    """Run to the end, from a place with a running event loop (a notebook, an async test) or without one."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(max_workers=1) as elsewhere:
        return elsewhere.submit(work).result()
