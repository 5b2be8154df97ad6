"""How the cases of a planned suite are worked on: by the command itself, or by a runner on another
machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

from honestone.app.judging.judging_options import oldest_reply
from honestone.app.suites.outputs import CachedOutputs
from honestone.app.suites.plan import SuitePlan
from honestone.app.suites.subject import SuiteSubject
from honestone.core.events import Event
from honestone.core.judging.spend import Meter
from honestone.core.record.rates import rates_of
from honestone.engine.cases import CaseWork, KnownOutputs
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.evaluator_of_rubric import evaluator_for
from honestone.engine.judging.panel import Panel
from honestone.ports import Observer, Store


def case_work(
    plan: SuitePlan,
    store: Store,
    meter: Meter,
    observer: Observer,
    *,
    run: str,
    subject: SuiteSubject,
    panel: Panel,
    add: Callable[[Event], None],
    asked: Mapping[str, str] | None = None,
    known: KnownOutputs | None = None,
) -> CaseWork:
    """The work on the cases of `run`, with `subject`. `add` hears of each event that is put on
    record. `asked`: by case the digest of what the target is asked, where the plan does not hold
    the cases. `known`: outputs that are there already, before those of the plan.
    """
    watches = plan.watches

    @cache
    def evaluator(rubric: str) -> Evaluator:
        """Cases with equal rubrics share one."""
        return evaluator_for(plan.contracts.rubrics[rubric], plan.checker, panel)

    return CaseWork(
        run=run,
        add=add,
        evaluator=lambda case: evaluator(case.rubric),
        changed=lambda case: [name for watch in watches[case.rubric] for name in watch.changed()],
        target=plan.target,
        journal=store.journal,
        meter=meter,
        observer=observer,
        base=plan.source.base,
        cwd=plan.workspace.folder,
        version=subject.version,
        artifact=subject.path,
        isolated=subject.is_isolated,
        skill=subject.skill,
        more_skills=plan.more_skills,
        concurrency=plan.at_once,
        is_free=plan.is_recorded,
        known=known or _known_outputs(plan, store, subject, asked),
        rates=rates_of(plan.workspace.settings.targets.get(plan.target_name)),
    )


def _known_outputs(
    plan: SuitePlan, store: Store, subject: SuiteSubject, asked: Mapping[str, str] | None
) -> KnownOutputs | None:
    oldest = oldest_reply(plan.judging) if plan.is_repeatable else plan.request.outputs_since
    if plan.outputs is not None or plan.target is None or not (plan.is_repeatable or oldest):
        return plan.outputs
    if asked is None:
        asked = {case.id: plan.asked(subject, case) or "" for case in plan.chosen}
    is_fresh = plan.judging.fresh
    return CachedOutputs(
        journal=store.journal, asked=asked, target=plan.target_name, since=oldest, is_fresh=is_fresh
    )
