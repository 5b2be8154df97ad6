"""A run of a suite as a comparison sees it, and its cases as results of tasks (for skills)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from msgspec import Struct

from honestone.core.events import StartedArtifact
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.scorecard import ItemLine
from honestone.core.numbers import to_points
from honestone.core.record.case_belief import Chances
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.core.skill.evaluation import TaskResult
from honestone.core.suite.attempts import Status
from honestone.core.suite.comparison import CaseSide

_PASSED = {Status.PASSED: True, Status.FAILED: False}


class CaseSummary(Struct, frozen=True, kw_only=True):
    """One case of a run: as a comparison sees it, and as the result of a task (for skills)."""

    side: CaseSide
    contract: str
    input: str
    task: TaskResult


def _no_chances() -> Chances:
    return Chances({}, None)


class RunSummary(Struct, frozen=True, kw_only=True):
    """A run's figures and its cases by id. Rates are 0-1; `mean_score` is in points, as a report
    has it. `min_pass_rate`: what it needed, None where that is not known.

    `is_undecided`: an inconclusive verdict lacks no answer (`Verdict.is_undecided`). `left_out` are
    ids of cases that it was not asked to run. `baseline` is the name of what it was
    compared with, `baseline_tasks` the results of that (skills only). `chances` works out how
    probable it is that each case passes.
    """

    run: str | None
    suite: str
    artifact: StartedArtifact | None
    target: str | None
    verdict: str
    pass_rate: float | None
    pass_rate_interval: tuple[float, float] | None
    mean_score: float | None
    counts: Mapping[str, int]
    contract: str
    cases: Mapping[str, CaseSummary]
    min_pass_rate: float | None = None
    is_mock: bool = False
    is_undecided: bool = False
    left_out: tuple[str, ...] = ()
    baseline: str | None = None
    baseline_tasks: tuple[TaskResult, ...] = ()
    chances: Callable[[], Chances] = _no_chances

    @property
    def sides(self) -> dict[str, CaseSide]:
        return {id: case.side for id, case in self.cases.items()}

    @property
    def tasks(self) -> list[TaskResult]:
        """The cases as results of tasks; a skipped case is not a result."""
        return [case.task for case in self.cases.values() if case.side.status is not Status.SKIPPED]


def summary_of(record: SuiteRecord) -> RunSummary:
    started, rates = record.started, record.tally.rates
    return RunSummary(
        run=record.run,
        suite=started.suite.title or started.suite.path,
        artifact=started.artifact,
        target=started.target,
        verdict=record.verdict,
        pass_rate=None if rates.pass_rate is None else float(rates.pass_rate),
        pass_rate_interval=None
        if rates.passes is None
        else (float(rates.passes[0]), float(rates.passes[1])),
        mean_score=None if rates.mean_score is None else to_points(rates.mean_score),
        counts={str(status): count for status, count in rates.counts.items()},
        contract=started.contract_id,
        cases={id: _case(one) for id, one in record.cases.items()},
        min_pass_rate=float(started.min_pass_rate),
        is_mock=started.mock,
        is_undecided=record.is_undecided,
        left_out=started.left_out,
        chances=record.chances,
    )


def _case(record: CaseRecord) -> CaseSummary:
    produced = record.shown_output
    items = _items(record)
    side = CaseSide(
        status=record.result.status,
        score=printed_share(
            None if record.result.score is None else to_points(record.result.score)
        ),
        is_unstable=record.result.is_unstable,
        input=record.case.input,
        output=None if produced is None else produced.output,
        low_confidence=record.low_confidence,
        items=marks_of(items),
    )
    return CaseSummary(
        side=side,
        contract=record.contract,
        input=record.case.input,
        task=_task(record, items),
    )


def printed_share(points: float | None) -> Fraction | None:
    """The score (0-1) that printed points mean."""
    return None if points is None else Fraction(repr(points)) / 100


# -------------------------------------------------------------------------------------------------------------
# tasks


class ItemSummary(Struct, frozen=True, kw_only=True):
    """One item of a rubric in words: whether it was met (None: not answered), and what a judge
    suggested.
    """

    name: str
    met: bool | None
    suggestion: str | None = None


def marks_of(items: Iterable[ItemSummary]) -> tuple[tuple[str, bool], ...]:
    """The items that were judged, for a comparison."""
    return tuple((item.name, item.met) for item in items if item.met is not None)


def task_of(record: CaseRecord) -> TaskResult:
    """The result of a case as the result of a task."""
    return _task(record, _items(record))


def _items(record: CaseRecord) -> list[ItemSummary]:
    shown = record.result.shown
    if shown is None or shown.card is None:
        return []
    lines = record.scorer.card(record.shown_ballots).lines
    return [_item(item) for line in lines for item in line.items]


def _task(record: CaseRecord, items: Sequence[ItemSummary]) -> TaskResult:
    result = record.result
    return make_task(
        record.case.id,
        status=result.status,
        points=None if result.score is None else to_points(result.score),
        items=items,
        duration_ms=record.duration_ms or 0,
        reasons=[*result.reasons, *_silent(record.shown_ballots)],
        attempts=[attempt.status for attempt in record.in_order],
    )


def make_task(
    id: str,
    *,
    status: Status,
    points: float | None,
    items: Iterable[ItemSummary],
    duration_ms: int,
    reasons: Iterable[str],
    attempts: Sequence[Status],
) -> TaskResult:
    """`reasons` say why a task has no result; `attempts` are how each of its runs ended."""
    passed = _PASSED.get(status)
    return TaskResult(
        task_id=id,
        passed=passed,
        score=None if passed is None or points is None else round(points / 100, 12),
        details=_details(items),
        duration_ms=duration_ms,
        error="" if passed is not None else "; ".join(reasons),
        attempts=max(1, len(attempts)),
        passes=sum(1 for one in attempts if one is Status.PASSED),
    )


def _item(line: ItemLine) -> ItemSummary:
    suggestions = (
        mark.suggestion for _, mark in line.votes if mark.suggestion and mark.suggestion.strip()
    )
    met = None if line.met is None else not line.unmet
    name = line.item.requirement or line.item.id
    return ItemSummary(name=name, met=met, suggestion=next(suggestions, None))


def _silent(ballots: Iterable[Ballot]) -> list[str]:
    """The judges that gave no answer, each with its reason."""
    return [f"{one.judge}: {one.reason}" for one in ballots if one.judge != CHECK and one.reason]


def _details(items: Iterable[ItemSummary]) -> str:
    """Which items were met and which were not, in the rubric's words, with what the judges said
    about the latter.
    """
    met, unmet = [], []
    for one in items:
        if one.met is False:
            unmet.append(f"{one.name} ({one.suggestion})" if one.suggestion else one.name)
        elif one.met:
            met.append(one.name)
    parts = [
        f"met: {', '.join(met)}" if met else "",
        f"not met: {', '.join(unmet)}" if unmet else "",
    ]
    return "; ".join(part for part in parts if part)
