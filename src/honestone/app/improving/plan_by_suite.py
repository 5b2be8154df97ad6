"""A loop that the tasks of a suite steer, planned: everything is read and checked before the first
run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.improving import loop
from honestone.app.improving.loop import ImprovementRequest, LoopPlan
from honestone.app.improving.split_runs import PanelOfEdits, SplitRuns
from honestone.app.judging import judging_options
from honestone.app.judging.sure import place_of_sure
from honestone.app.suites.costs import bar_words
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.subject import skill_folder
from honestone.app.suites.sure import can_be_asked_by_need
from honestone.app.workspace import Workspace
from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.checking.checks import checks_of
from honestone.core.errors import UsageError
from honestone.core.judging.contract import Contract
from honestone.core.judging.spend import Meter
from honestone.core.loop import suite_belief, suite_loop
from honestone.core.loop.state import LoopLimits
from honestone.core.loop.suite_belief import KeepWhatIsLikelier, enough_of_split
from honestone.core.loop.suite_loop import (
    STEERING,
    TEST,
    TRAIN,
    VAL,
    KeepWhatHelps,
    Splits,
    SuiteLoopState,
)
from honestone.core.numbers import ONE, exact
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.suite.case import Case
from honestone.engine.judgements import TaskJudgement
from honestone.engine.judging.seats import Seat, functions_of
from honestone.engine.place import Place
from honestone.ports import Observer, Store, Worker
from honestone.system.files import load_artifact, printable

_RULE = "over a suite --policy is `belief` or `keep-best`"
_HINT = "--worker cmd:COMMAND, or a model or an agent CLI"


def prepare_suite(
    workspace: Workspace, request: ImprovementRequest, observer: Observer
) -> LoopPlan[SuiteLoopState]:
    """Everything is read and checked, before the first run. Raises UsageError and its kinds. A run
    that was begun when every suite was decided by keep-best is resumed under it.
    """
    plan = _prepared(workspace, request, observer)
    if request.policy is not None or not isinstance(plan.policy, KeepWhatIsLikelier):
        return plan
    by_marks = replace(request, policy="keep-best")
    return loop.as_begun(plan, lambda: _prepared(workspace, by_marks, observer))


def _prepared(
    workspace: Workspace, request: ImprovementRequest, observer: Observer
) -> LoopPlan[SuiteLoopState]:
    assert request.suite is not None
    _refuse_rubric_options(request)
    bar = None if request.min_pass_rate is None else exact(request.min_pass_rate)
    tasks = plan_suite(
        workspace,
        SuiteRequest(
            accept_loss=request.accept_loss,
            suite=request.suite,
            source=request.source,
            judging=request.judging,
            artifact=request.artifact,
            target=request.target,
            prompts=request.prompts,
            min_pass_rate=bar,
        ),
        observer,
    )
    _refuse_belief_by_name(request, tasks)
    _require_statable(request, tasks)
    splits = _splits(tasks, request.suite)
    is_skill = tasks.subject.skill is not None
    path = workspace.path(request.artifact)
    place = _place(
        request, workspace, tasks, skill_folder(path) if is_skill else path, is_skill=is_skill
    )
    worker = _worker(request, workspace, tasks, place)
    # A panel can read the edit of a skill before an agent is run with it; judges found by
    # themselves are not asked.
    count = request.candidates or 1
    names = request.judging.judges if is_skill and count > 1 else ()
    plan = _Tasks(
        request=request,
        tasks=tasks,
        splits=splits,
        least=ONE if bar is None else bar,
        edit_seats=judging_options.make_seats(
            names, judging_options.make_context(request.judging, workspace)
        ),
    )
    checks = [check for rubric in tasks.contracts.rubrics.values() for check in checks_of(rubric)]
    seats = (*tasks.seats, *plan.edit_seats)
    place = loop.guarded(place, workspace, tasks.checker, checks, seats, worker, tasks.source.base)
    # Its limits are those of its splits, under whatever policy.
    limits = loop.loop_limits(replace(request, policy=None), workspace, plan.calls)
    if plan.is_by_belief:  # It ends by what it believes, and not by rounds without progress.
        limits = replace(limits, patience=limits.rounds)
    loaded = load_artifact(place.path, exclude=place.exclude, max_bytes=place.max_bytes)
    most = plan.most(limits.rounds, lambda cases: sum(case.attempts for case in cases))
    more = f"{f' of {count} proposals' if count > 1 else ''}, {most} runs of {tasks.target_name}"
    sizes = ", ".join(f"{len(splits.of(name))} in {name}" for name in (TRAIN, VAL, TEST))
    has_to_pass = bar_words(plan.least, tasks.sure)
    return LoopPlan(
        workspace=workspace,
        place=place,
        version=loaded.version,
        worker=worker,
        policy=plan.policy,
        started=plan.started(place, loaded.version, worker, limits),
        belongs_to={
            "holdouts": [],
            **loop.delivery(request),
            "tasks": tasks.identity(replace(tasks.subject, version=None, skill=None), tasks.cases),
            "candidates": count,
            **functions_of((*tasks.seats, *plan.edit_seats)),
        },
        state=suite_belief.state_of_suite_run,
        judgement=partial(plan.judgement, place, observer),
        notes=(
            *loaded.notes,
            *tasks.notes,
            f"{loop.limits_in_words(limits, more)}; worker {worker.id}; tasks: {sizes}{has_to_pass}",
        ),
        fresh=request.judging.fresh,
    )


def _refuse_rubric_options(request: ImprovementRequest) -> None:
    for name, given, instead in (
        ("--rubric", request.rubric is not None, "the suite's cases have rubrics of their own"),
        ("--holdout", bool(request.holdouts), "the suite's test split certifies"),
        ("--require-calibration", request.require_calibration, "the suite's test split certifies"),
        (
            "--require-tier",
            request.require_tier is not None,
            "the suite's cases have rubrics of their own",
        ),
        ("--self", request.self_judge, "the suite's own checks and judges decide"),
        (f"--policy {request.policy}", request.policy not in (None, "keep-best", "belief"), _RULE),
    ):
        if given:
            raise UsageError(f"{name} cannot go with --suite", hint=instead)


def _refuse_belief_by_name(request: ImprovementRequest, tasks: SuitePlan) -> None:
    """Raises UsageError where `belief` was asked for and judges cannot be asked by need. What code
    alone judges is decided as keep-best decides it, as by a rubric.
    """
    if request.policy == "belief" and _asks_judges(tasks):
        _require_by_need(
            tasks, "--policy belief", "leave out --repeat and --batch, and ", "--policy"
        )


def _require_statable(request: ImprovementRequest, tasks: SuitePlan) -> None:
    """Raises UsageError where how sure a verdict has to be is asked for and cannot be had. What
    code alone judges is certain.
    """
    if tasks.sure is None or not _asks_judges(tasks):
        return
    place = place_of_sure(tasks.workspace.path(tasks.request.suite), tasks.judging)
    loop.require_statable(tasks.sure, "the suite says", place)
    if request.policy == "keep-best":
        raise UsageError(
            "--sure is what the policy belief decides by; keep-best has a rule of its own",
            hint="leave one of --sure (or `sure:`) and --policy out",
        )
    # What else asks judges in another way was refused with the suite.
    _require_by_need(tasks, "--sure", "", "--sure")


def _require_by_need(tasks: SuitePlan, asker: str, options: str, instead: str) -> None:
    """Raises UsageError where judges cannot be asked by need, as `asker` does. `options` are those
    to leave out; without `instead` nothing asks so.
    """
    if not can_be_asked_by_need(tasks):
        raise UsageError(
            f"{asker} asks judges again about each case, which cannot be done here",
            hint=f"{options}name a judge that may look twice; or leave out {instead}",
        )


def _asks_judges(tasks: SuitePlan) -> bool:
    return any(case.rubric.asks_judges for case in tasks.chosen)


def _splits(tasks: SuitePlan, suite: Path) -> Splits:
    try:
        return Splits.among(tasks.cases)
    except UsageError as error:
        raise UsageError(f"{printable(suite)}: {error.message}", hint=error.hint) from None


def _place(
    request: ImprovementRequest,
    workspace: Workspace,
    tasks: SuitePlan,
    path: Path,
    *,
    is_skill: bool,
) -> Place:
    """The artifact without the suite: the worker is given no copy of what it must not see."""
    root, hidden = path.resolve(), tasks.files
    judging = {file for file in tasks.judging_files() - hidden if file != root}
    return replace(
        loop.find_place(request, workspace, path, hidden | judging),
        siblings={},
        off_limits=loop.paths_inside(root, (*hidden, _fixtures(tasks))),
        must_hold=(SKILL_FILE,) if is_skill else (),
    )


def _fixtures(tasks: SuitePlan) -> Path:
    return tasks.source.base.resolve() / "fixtures"


def _worker(
    request: ImprovementRequest, workspace: Workspace, tasks: SuitePlan, place: Place
) -> Worker:
    context = loop.worker_context(request, workspace, place, tasks.source.base)
    worker = loop.find_worker(request.worker, context, hint=_HINT)
    if not worker.can_work_on(()):
        raise UsageError(
            f"the worker `{worker.id}` runs a rubric's fix commands, and tasks have none",
            hint=_HINT,
        )
    return worker


def asked_to_be_sure(tasks: SuitePlan) -> SuitePlan:
    """The suite with its judges asked by need: so sure of each split that two of them together are
    as sure as was asked. Its contract stays the suite's.
    """
    judging = replace(tasks.judging, sure=100 * enough_of_split(tasks.sure), max_looks=None)
    return replace(tasks, request=replace(tasks.request, judging=judging))


class _Tasks(Struct, frozen=True, kw_only=True, dict=True):
    """A suite's tasks as what judges versions. `least` is the pass rate asked for."""

    request: ImprovementRequest
    tasks: SuitePlan
    splits: Splits
    least: Fraction
    edit_seats: tuple[Seat, ...]

    @property
    def candidates(self) -> int:
        return self.request.candidates or 1

    @cached_property
    def is_by_belief(self) -> bool:
        """Whether what judges answer decides, and they can be asked by need. Beliefs are about the
        noise of judges, of which code has none.
        """
        return (
            self.request.policy in (None, "belief")
            and can_be_asked_by_need(self.tasks)
            and _asks_judges(self.tasks)
        )

    @property
    def policy(self) -> KeepWhatHelps:
        return KeepWhatIsLikelier() if self.is_by_belief else KeepWhatHelps()

    @property
    def contract(self) -> Contract:
        """What decides what a pass rate means: all of what judges, which task is in which split,
        and the bar.
        """
        return Contract(
            document={
                **self.tasks.contract.document,
                "cases": dict(self.tasks.contracts.ids),
                "splits": self.splits.ids,
                "min_pass_rate": str(self.least),
                **({"require_improvement": True} if self.request.require_improvement else {}),
            }
        )

    def started(
        self, place: Place, version: Version, worker: Worker, limits: LoopLimits
    ) -> events.SuiteImprovementStarted:
        """The first event of a run."""
        assert self.request.suite is not None
        title, tasks = self.tasks.title, self.tasks
        asks_judges = _asks_judges(tasks)
        return events.SuiteImprovementStarted(
            **events.judged_by(
                self.contract, self.request.judging.rule, STEERING, limits.to_plain()
            ),
            holdouts=(TEST,),
            artifact=loop.started_artifact(place, version),
            output=loop.shown_output(self.request),
            deliver=self.request.deliver,
            options=self.request.words_for_next,
            policy=self.policy.name,
            worker=worker.id,
            rubric=replace(
                suite_loop.steering_rubric(self.splits, title=title, least=self.least),
                sure=tasks.sure,
                max_looks=tasks.max_looks,
            ),
            certifying=suite_loop.certifying_rubric(self.splits, title=title, least=self.least),
            splits=self.splits.ids,
            rubrics=self.tasks.contracts.rubrics if asks_judges else {},
            attempts={
                case.id: case.attempts
                for case in self.tasks.chosen
                if asks_judges and case.attempts > 1
            },
            is_by_code=not asks_judges,
            candidates=self.candidates,
            require_improvement=self.request.require_improvement,
            suite=events.StartedSuite(
                path=printable(self.request.suite), dialect=tasks.source.dialect
            ),
            target=tasks.target_name,
            mock=tasks.is_mock,
        )

    def calls(self, rounds: int) -> int:
        """Judge calls, where every reply must be asked for twice."""
        return 2 * self.most(rounds, self._looks_at) + 2 * rounds * self.candidates * len(
            self.edit_seats
        )

    def _looks_at(self, cases: Sequence[Case]) -> int:
        """Those of one run of a split. By belief every case gets its quorum, whatever --max-looks
        says.
        """
        calls = self.tasks.judge_calls(cases)
        if not self.is_by_belief:
            return calls
        quorums = [case.rubric.quorum or 1 for case in cases]
        needed = max((len(self.tasks.seats) if one == "all" else one for one in quorums), default=1)
        return max(calls, needed * sum(case.attempts for case in cases))

    def most(self, rounds: int, cost: Callable[[Sequence[Case]], int]) -> int:
        """The most that can be spent on every version that may come up, by what a split costs."""
        train, val, test = (cost(self.splits.of(name)) for name in (TRAIN, VAL, TEST))
        return val + train + rounds * (val + self.candidates * train) + 2 * test

    def judgement(
        self, place: Place, observer: Observer, run: str, store: Store, meter: Meter
    ) -> TaskJudgement:
        is_skill = self.tasks.subject.skill is not None
        runs = SplitRuns(
            plan=asked_to_be_sure(self.tasks) if self.is_by_belief else self.tasks,
            store=store,
            observer=observer,
            splits=self.splits,
            loop=run,
            folder=place.path.name,
            leave_out=loop.paths_inside(place.path, (_fixtures(self.tasks),)),
        )
        edits = PanelOfEdits(
            seats=self.edit_seats, store=store, judging=self.request.judging, named=place.named
        )
        return TaskJudgement(
            runs,
            train=self.splits.train,
            kind="an agent skill (instructions that an agent is given)" if is_skill else "a prompt",
            edits=edits if self.edit_seats else None,
        )
