"""A suite that says how sure its verdict has to be: what that needs, and how its run asks."""

from __future__ import annotations

from dataclasses import fields  # noqa: TID251
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.app.judging.sure import (
    refuse_limit_alone,
    refuse_limit_in_file,
    refuse_other_ways,
    sure_of_suite,
)
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.core.belief.next_look import ONE_LOOK
from honestone.core.errors import UsageError
from honestone.core.record.record import CaseRecord, SuiteRecord
from honestone.core.suite.outline import outline_of
from honestone.engine.cases import CaseWork
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.panel import Panel
from honestone.formats.source import KeyAt, SuiteSource

if TYPE_CHECKING:
    from honestone.core.loop.suite_loop import ByNeed
    from honestone.engine.sure_suites import SuiteAsking, SureCaseWork


def require_askable_suite(source: SuiteSource, request: SuiteRequest, file: Path) -> None:
    """Raises UsageError for what `sure` of a suite cannot be combined with, and where only rubrics
    of its cases say it. `file`: the suite.
    """
    sure = sure_of_suite(source.suite, request.judging)
    refuse_limit_alone(sure, request.judging)
    if sure is None:
        refuse_limit_in_file(source.suite.max_looks, file)
        _refuse_in_cases(source)
        if request.all_cases:
            raise UsageError(
                "--all-cases gives every case a look where --sure would leave some out",
                hint="add --sure 95, or leave it out: without --sure every case is judged",
            )
        return
    refuse_other_ways(request.judging)


def can_be_asked_by_need(plan: SuitePlan) -> bool:
    """Whether `improve` can buy looks one at a time: of judges that can be asked again."""
    judging = plan.judging
    return (
        any(seat.kind not in ONE_LOOK for seat in plan.seats)
        and judging.repeat is None
        and judging.batch is None
    )


def _refuse_in_cases(source: SuiteSource) -> None:
    """A suite asks its judges by all cases, so a rubric of one cannot say how often."""
    found = source.key_of_suite
    if found is None and source.dialect == "python":
        rubrics = outline_of(source.suite.cases).rubrics.values()
        keys = (
            name
            for rubric in rubrics
            for name in ("sure", "max_looks")
            if getattr(rubric, name) is not None
        )
        found = next((KeyAt(key=key) for key in keys), None)
    if found is not None:
        raise UsageError(
            f"`{found.key}` belongs to the suite, but only a rubric of its cases says it",
            place=found.place,
            hint="write `sure: 95` at the top of the suite, or add --sure 95; else leave it out here",
        )


def asking_of(
    plan: SuitePlan,
    record: SuiteRecord,
    panel: Panel,
    by_need: ByNeed | None = None,
    paid_before: int = 0,
    began: str | None = None,
) -> SuiteAsking | None:
    """What asks judges for a run; None where none are asked on. `paid_before`: the calls
    of the processes that were at this run earlier. `began`: when the first of them did.
    """
    bar = record.bar
    if bar.sure is None or not record.started.is_asked_on:
        return None
    from honestone.engine.sure_suites import SuiteAsking

    cases = [one.case for one in record.cases.values() if one.case.skip is None]
    asking = partial(
        SuiteAsking,
        panel=panel,
        record=record,
        need=bar.need(len(cases)),
        target=float(bar.sure),
        began=began,
    )
    if by_need is not None:
        return asking(
            most=by_need.looks,
            paid_before=paid_before,
            asks_all=True,
            asks_once=by_need.once,
            on_record=by_need.known,
            alongside=by_need.alongside,
            apart=by_need.apart,
            hopeless=by_need.hopeless,
        )
    return asking(
        most=bar.looks(sum(case.attempts for case in cases)),
        # A comparison needs an answer about every case of both sides.
        asks_all=plan.request.all_cases or plan.request.baseline is not None,
    )


def asked_by_need(work: CaseWork, plan: SuitePlan, asking: SuiteAsking) -> SureCaseWork:
    """The work on cases, its judges asked by the suite."""
    from honestone.engine.sure_suites import SuiteEvaluator, SureCaseWork

    evaluators: dict[str, Evaluator] = {}

    def evaluator(case: CaseRecord) -> Evaluator:
        if case.rubric not in evaluators:
            rubric = plan.contracts.rubrics[case.rubric]
            evaluators[case.rubric] = SuiteEvaluator(
                rubric, plan.checker, asking.panel, asking=asking
            )
        return evaluators[case.rubric]

    attributes = {one.name: getattr(work, one.name) for one in fields(work) if one.init}
    return SureCaseWork(**{**attributes, "evaluator": evaluator, "asking": asking})
