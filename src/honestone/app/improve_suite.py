"""`improve ARTIFACT --suite SUITE`: the loop with tasks in place of criteria."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

from honestone.adapters.checks import CheckRunner
from honestone.app import loop
from honestone.app.judging_options import JudgingOptions, make_context, make_panel, make_seats
from honestone.app.loop import ImprovementRequest, LoopPlan
from honestone.app.rubric_plan import checks_of
from honestone.app.suites.plan import SuitePlan, SuiteRequest, plan_suite
from honestone.app.suites.side import SideRun, not_loaded, results_of
from honestone.app.suites.subject import SuiteSubject, skill_folder, skill_of
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import CHECK
from honestone.core.contract import Contract
from honestone.core.errors import UsageError
from honestone.core.events import StartedSuite, SuiteImprovementStarted
from honestone.core.loop import suite_loop
from honestone.core.loop.state import LoopLimits
from honestone.core.loop.suite_loop import STEERING, TEST, TRAIN, VAL, KeepWhatHelps, Splits, SuiteLoopState
from honestone.core.numbers import ONE, exact
from honestone.core.scorecard import Scorer
from honestone.core.skill.edit_rubric import EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.spend import Meter, Spend
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.record import SuiteRecord, read_record
from honestone.engine.panel import Evaluator, Seat
from honestone.engine.place import Place
from honestone.engine.task_judgement import SplitRun, TaskJudgement
from honestone.ports import Observer, Store, Worker
from honestone.report.documents import plain
from honestone.report.suite import panel_states, suite_flags
from honestone.system.files import load_artifact, printable

_RULE = "over a suite a change is kept when val did not fall, and train or val rose"
_HINT = "--worker cmd:COMMAND, or a model or an agent CLI"


def prepare_suite(workspace: Workspace, request: ImprovementRequest, observer: Observer) -> LoopPlan[SuiteLoopState]:
    """Everything is read and checked, before the first run. Raises UsageError and its kinds."""
    assert request.suite is not None
    _refuse_rubric_options(request)
    bar = None if request.min_pass_rate is None else exact(request.min_pass_rate)
    tasks = plan_suite(
        workspace,
        SuiteRequest(
            suite=request.suite,
            judging=request.judging,
            artifact=request.artifact,
            target=request.target,
            min_pass_rate=bar,
        ),
        observer,
    )
    splits = _splits(tasks, request.suite)
    is_skill = tasks.subject.skill is not None
    path = workspace.path(request.artifact)
    place = _place(request, workspace, tasks, skill_folder(path) if is_skill else path, is_skill=is_skill)
    worker = _worker(request, workspace, tasks, place)
    # A panel can read the edit of a skill before an agent is run with it; judges found by themselves are not asked.
    count = request.candidates or 1
    names = request.judging.judges if is_skill and count > 1 else ()
    plan = _Tasks(
        request=request,
        tasks=tasks,
        splits=splits,
        least=ONE if bar is None else bar,
        edit_seats=make_seats(names, make_context(request.judging, workspace)),
    )
    checks = [check for rubric in tasks.rubrics.values() for check in checks_of(rubric)]
    place = loop.guarded(place, workspace, tasks.checker, checks, (*tasks.seats, *plan.edit_seats))
    limits = loop.loop_limits(request, workspace, plan.calls)
    loaded = load_artifact(place.path, exclude=place.exclude, max_bytes=place.max_bytes)
    most = plan.most(limits.rounds, lambda cases: sum(case.attempts for case in cases))
    more = f"{f' of {count} proposals' if count > 1 else ''}, {most} runs of {tasks.target_name}"
    sizes = ", ".join(f"{len(splits.of(name))} in {name}" for name in (TRAIN, VAL, TEST))
    return LoopPlan(
        workspace=workspace,
        place=place,
        version=loaded.version,
        worker=worker,
        policy=KeepWhatHelps(),
        started=plan.started(place, loaded.version, worker, limits),
        belongs_to={
            "holdouts": [],
            **loop.delivery(request),
            "tasks": tasks.identity(replace(tasks.subject, version=None, skill=None), tasks.cases),
            "candidates": count,
        },
        state=suite_loop.state_of_suite,
        judgement=partial(plan.judgement, place, observer),
        notes=(
            *loaded.notes,
            *tasks.notes,
            f"{loop.limits_in_words(limits, more)}; worker {worker.id}; tasks: {sizes}",
        ),
        fresh=request.judging.fresh,
    )


def _refuse_rubric_options(request: ImprovementRequest) -> None:
    for name, given, instead in (
        ("--rubric", request.rubric is not None, "the suite's cases have rubrics of their own"),
        ("--holdout", bool(request.holdouts), "the suite's test split certifies"),
        ("--self", request.self_judge, "the suite's own checks and judges decide"),
        (f"--policy {request.policy}", request.policy != "keep-best", _RULE),
    ):
        if given:
            raise UsageError(f"{name} cannot go with --suite", hint=instead)


def _splits(tasks: SuitePlan, suite: Path) -> Splits:
    try:
        return Splits.among(tasks.cases)
    except UsageError as error:
        raise UsageError(f"{printable(suite)}: {error.message}", hint=error.hint) from None


def _place(request: ImprovementRequest, workspace: Workspace, tasks: SuitePlan, path: Path, *, is_skill: bool) -> Place:
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


def _worker(request: ImprovementRequest, workspace: Workspace, tasks: SuitePlan, place: Place) -> Worker:
    context = loop.worker_context(request, workspace, place, tasks.source.base)
    worker = loop.find_worker(request.worker, context, hint=_HINT)
    if not worker.can_work_on(()):
        raise UsageError(f"the worker `{worker.id}` runs a rubric's fix commands, and tasks have none", hint=_HINT)
    return worker


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tasks:
    """A suite's tasks as what judges versions. `least` is the pass rate asked for."""

    request: ImprovementRequest
    tasks: SuitePlan
    splits: Splits
    least: Fraction
    edit_seats: tuple[Seat, ...]

    @property
    def candidates(self) -> int:
        return self.request.candidates or 1

    @property
    def contract(self) -> Contract:
        """What decides what a pass rate means: all of what judges, which task is in which split, and the bar."""
        return Contract(
            document={
                **self.tasks.contract.document,
                "cases": dict(self.tasks.case_contracts),
                "splits": self.splits.ids,
                "min_pass_rate": str(self.least),
                **({"require_improvement": True} if self.request.require_improvement else {}),
            }
        )

    def started(self, place: Place, version: Version, worker: Worker, limits: LoopLimits) -> SuiteImprovementStarted:
        """The first event of a run."""
        assert self.request.suite is not None
        title, contract, tasks = self.tasks.title, self.contract, self.tasks
        return SuiteImprovementStarted(
            contract=contract.document,
            contract_id=contract.id,
            rule=self.request.judging.rule,
            panel=STEERING,
            holdouts=(TEST,),
            limits=limits.to_plain(),
            artifact=loop.started_artifact(place, version),
            policy=KeepWhatHelps().name,
            worker=worker.id,
            rubric=suite_loop.steering_rubric(self.splits, title=title, least=self.least),
            certifying=suite_loop.certifying_rubric(self.splits, title=title, least=self.least),
            splits=self.splits.ids,
            candidates=self.candidates,
            require_improvement=self.request.require_improvement,
            suite=StartedSuite(path=printable(self.request.suite), dialect=tasks.source.dialect),
            target=tasks.target_name,
            mock=tasks.is_mock,
        )

    def calls(self, rounds: int) -> int:
        """Judge calls, where every reply must be asked for twice."""
        return 2 * self.most(rounds, self.tasks.judge_calls) + 2 * rounds * self.candidates * len(self.edit_seats)

    def most(self, rounds: int, cost: Callable[[Sequence[Case]], int]) -> int:
        """The most that can be spent on every version that may come up, by what a split costs."""
        train, val, test = (cost(self.splits.of(name)) for name in (TRAIN, VAL, TEST))
        return val + train + rounds * (val + self.candidates * train) + 2 * test

    def judgement(self, place: Place, observer: Observer, run: str, store: Store, meter: Meter) -> TaskJudgement:
        is_skill = self.tasks.subject.skill is not None
        runs = SplitRuns(
            plan=self.tasks,
            store=store,
            observer=observer,
            splits=self.splits,
            loop=run,
            folder=place.path.name,
            leave_out=loop.paths_inside(place.path, (_fixtures(self.tasks),)),
        )
        edits = PanelOfEdits(seats=self.edit_seats, store=store, judging=self.request.judging, named=place.named)
        return TaskJudgement(
            runs,
            train=self.splits.train,
            kind="an agent skill (instructions that an agent is given)" if is_skill else "a prompt",
            edits=edits if self.edit_seats else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRuns:
    """Runs of splits as runs of the suite in the store. Each belongs to one run of the loop, so that none is borrowed.

    `folder` is the name under which a skill is installed, `leave_out` what of it never is.
    """

    plan: SuitePlan
    store: Store
    observer: Observer
    splits: Splits
    loop: str
    folder: str
    leave_out: Sequence[str]

    async def run(self, version: Version, split: str, meter: Meter) -> SplitRun:
        cases, subject = self.splits.of(split), self._subject(version)
        record, left = self._finished(subject, cases), meter.rest()
        is_new = record is None
        if record is None:
            side = SideRun.open(self.plan, self.store, self.observer, subject, cases, left)
            await side.work()
            record = side.finish()
        spend = record.spend
        return SplitRun(
            run=record.run or "",
            results=results_of(cases, record),
            spend=spend,
            earlier=left.before if is_new else spend,
            judges=[plain(one) for one in panel_states(record.ballots())],
            flags=[*suite_flags(record), *(not_loaded(record) if self.plan.subject.is_isolated else [])],
            cut_short=_cut_short(record, left, meter),
        )

    async def close(self) -> None:
        await self.plan.close()

    def _subject(self, version: Version) -> SuiteSubject:
        note, path = f"improve {self.loop}", self.plan.subject.path
        if self.plan.subject.skill is None:
            return SuiteSubject(path=path, version=version, note=note)
        return SuiteSubject.of_skill(path, skill_of(version, self.folder, leave_out=self.leave_out), note)

    def _finished(self, subject: SuiteSubject, cases: Sequence[Case]) -> SuiteRecord | None:
        """What an earlier process finished and could not report any more."""
        identity = self.plan.identity(subject, cases)
        for info in self.store.runs():
            if info.id < self.loop:
                return None
            if info.identity == identity and info.finished is not None:
                return read_record(self.store.events(info.id), run=info.id)
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class PanelOfEdits:
    """The panel of `stage rank`: yes/no questions about an edit, and its score the share of yes."""

    seats: tuple[Seat, ...]
    store: Store
    judging: JudgingOptions
    named: str

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]:
        panel = make_panel(self.seats, self.store, meter.rest(), self.judging)
        evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(Path()), panel)  # the rubric has no check
        shown = Artifact(self.named, shown_edit(before, after))
        judged = await evaluator.judge(shown, input=failures_in_words(list(failed)))
        return Scorer(EDIT_RUBRIC, self.judging.rule).card(judged.ballots).score, judged.spend

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def _cut_short(record: SuiteRecord, left: Meter, whole: Meter) -> str | None:
    """The limit that came before every task had its result, in the words of the loop's own limits."""
    statuses = {result.status for result in record.results.values()}
    if not statuses & {Status.SKIPPED, Status.INCONCLUSIVE}:
        return None
    if left.exhausted() is not None:
        is_money = left.usd is not None and (left.before.usd or 0.0) + (left.spent.usd or 0.0) >= left.usd
        return f"--max-usd {whole.usd:g} is used up" if is_money else f"--max-minutes {whole.minutes:g} are used up"
    asks = Status.SKIPPED in statuses or any(ballot.judge != CHECK for ballot in record.ballots())
    return f"--max-calls {whole.calls} are used up" if asks and left.no_call_left() else None
