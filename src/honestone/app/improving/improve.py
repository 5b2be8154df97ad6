"""`improve`: the loop on one artifact, resumable, with the best version delivered. Criteria of a
rubric steer it, or with `--suite` tasks in place of criteria.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias, cast

from honestone.adapters.checks import CheckRunner
from honestone.adapters.registry import AdapterContext, make_self_judge
from honestone.app.doors.results import DocumentResult
from honestone.app.history import improvement_report
from honestone.app.improving import loop
from honestone.app.improving.holding_out import NOBODY, hold_one_out, named_apart
from honestone.app.improving.loop import ImprovementRequest, LoopPlan
from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.known_noise import known_noise
from honestone.app.judging.rubric_plan import RubricPlan, checks_of
from honestone.app.judging.trusting import contacts
from honestone.app.judging.vouching import require_vouched
from honestone.app.suites.plan import SuitePlan, SuiteRequest
from honestone.app.suites.planning import plan_suite
from honestone.app.suites.run import SideRun, not_loaded, results_of
from honestone.app.suites.subject import SuiteSubject, skill_folder, skill_of
from honestone.app.workspace import Workspace
from honestone.core import events
from honestone.core.artifact import Artifact, Version
from honestone.core.editing.result import exit_code
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import Event
from honestone.core.judging.ballot import CHECK, Question, asked_criteria
from honestone.core.judging.contract import Contract, Identity
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorecard import Scorer
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop import suite_loop
from honestone.core.loop.named import BY_BELIEF, POLICIES, policy_named
from honestone.core.loop.policies import fixes_for
from honestone.core.loop.state import LoopLimits, LoopState, Result, Round
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
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.skill.brief import EDIT_RUBRIC, failures_in_words, shown_edit
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.engine.evaluate import packing_notes, shown_in_part
from honestone.engine.judgements import PanelJudgement, SplitRun, TaskJudgement, require_apart
from honestone.engine.panel import Evaluator, Seat, functions_of
from honestone.engine.place import Place
from honestone.ports import Observer, Store, Worker
from honestone.report.building.improvement import round_document
from honestone.report.building.suite import panel_states, suite_flags, suite_warnings
from honestone.report.documents import plain
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.documents.noise import NoiseDoc
from honestone.system.drawing import count
from honestone.system.files import load_artifact, printable

Seats: TypeAlias = tuple[Seat, ...]
BeforeAsking: TypeAlias = Callable[[Store, Sequence[Seat], Question], None]


_VERDICTS: Final = {0: "pass", 1: "fail", 3: "inconclusive"}


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ImprovementResult(DocumentResult):
    """How a run of the loop ended. `report` is the Markdown report that was saved."""

    heads = ("round", "decision", "before", "after", "outcome")
    run: str
    result: Result
    rounds: tuple[Round, ...]
    improvement: ImprovementDoc
    report: str

    @property
    def exit_code(self) -> int:
        return exit_code(self.result)

    @property
    def verdict(self) -> str:
        """`pass`, `fail`, or `inconclusive` where no one could say, or it was interrupted."""
        return _VERDICTS.get(self.exit_code, "inconclusive")

    @property
    def rows(self) -> Sequence[Sequence[object]]:
        return [
            (one.round, one.decision_words, one.score_before, one.score_after, one.outcome_words)
            for one in self.improvement.rounds
        ]

    @property
    def is_low_confidence(self) -> bool:
        return self.improvement.low_confidence

    @property
    def headline(self) -> str:
        rounds = count(len(self.rounds), "round")
        return f"{self.improvement.result_words} after {rounds}: {self.improvement.artifact.path}, run {self.run}"

    def _as_struct(self) -> ImprovementDoc:
        return self.improvement


def improve(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    *,
    decided: Callable[[RoundDoc], None] | None = None,
) -> ImprovementResult:
    """Improve an artifact until it passes or the loop ends. `decided` is called with the document
    of each round.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge where judges are needed
    and none is found.
    """
    return run(prepare(workspace, request, observer), observer, decided=decided)


def run(
    plan: LoopPlan[LoopState],
    observer: Observer,
    *,
    decided: Callable[[RoundDoc], None] | None = None,
    begun: Callable[[str], None] | None = None,
) -> ImprovementResult:
    """Carry a plan out. `begun` is called with the run's id before it works."""

    def watch(run: str, state: LoopState) -> Observer:
        if begun is not None:
            begun(run)
        return observer if decided is None else _Rounds(observer, state, decided)

    with plan.workspace.open_store() as store:
        done = loop.run_loop(plan, store, observer, begun=watch)
        document, report = improvement_report(
            store,
            done.id,
            state=done.state,
            log=done.log,
            resumed=done.resumed,
            here=done.spent,
            save=True,
            shown=plan.workspace.shown,
        )
    return ImprovementResult(
        run=done.id,
        result=done.stop.result if done.stop is not None else Result.INTERRUPTED,
        rounds=tuple(done.state.rounds),
        improvement=document,
        report=report,
    )


class _Rounds:
    """Passes everything on, and the document of each round as it is decided."""

    def __init__(
        self, observer: Observer, state: LoopState, decided: Callable[[RoundDoc], None]
    ) -> None:
        self.note, self.progress = observer.note, observer.progress
        self._observer = observer
        self._state = state
        self._decided = decided
        self._proposal: events.EditProposed | None = None

    def event(self, event: Event) -> None:
        self._observer.event(event)
        if isinstance(event, events.EditProposed):
            self._proposal = event
        elif (
            isinstance(event, events.VersionAccepted | events.VersionRejected)
            and self._proposal is not None
        ):
            self._decided(round_document(self._state, self._state.rounds[-1], self._proposal))


# --------------------------------------------------------------------------------------------------------
# the plan


def prepare(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    *,
    before_asking: BeforeAsking | None = None,
) -> LoopPlan[LoopState]:
    """Everything is read and checked, before the first call. `before_asking` is called before
    judges are asked.
    """
    if request.suite is not None:
        # Its state is a LoopState too; what needs more of it comes from the same plan.
        return cast(LoopPlan[LoopState], prepare_suite(workspace, request, observer))
    rubric = _read_rubric(workspace, request, observer)

    policy = _policy_for(request, rubric.rubric)
    plan = _prepared(workspace, replace(request, policy=policy), rubric, before_asking)
    if request.policy is not None or policy not in BY_BELIEF:
        return plan
    return _under_keep_best(
        plan,
        lambda: _prepared(workspace, replace(request, policy="keep-best"), rubric, before_asking),
    )


def _under_keep_best(
    plan: LoopPlan[LoopState], make: Callable[[], LoopPlan[LoopState]]
) -> LoopPlan[LoopState]:
    """The plan that is made instead of the one by belief: for a person, who is asked once about a
    version, where a belief may ask again; and to resume an unfinished run that was begun when
    keep-best was the default.
    """
    assert isinstance(plan.started, events.LoopStarted)
    if _PERSON in (*plan.started.panel, *plan.started.holdouts):
        return make()
    with plan.workspace.open_store() as store:
        runs = [
            run
            for run in store.runs()
            if (run.kind, run.subject, run.finished) == (plan.kind, plan.subject, None)
        ]
    unfinished = {run.identity for run in runs}
    if plan.fresh or not unfinished or plan.identity in unfinished:
        return plan
    earlier = make()
    return earlier if earlier.identity in unfinished else plan


def _prepared(
    workspace: Workspace,
    request: ImprovementRequest,
    rubric: RubricPlan,
    before_asking: BeforeAsking | None,
) -> LoopPlan[LoopState]:
    policy = policy_named(str(request.policy))
    place = loop.find_place(request, workspace, workspace.path(request.artifact), rubric.exclude)
    loaded = rubric.load(request.artifact)
    rubric.preflight(loaded.version)
    fixes = _fixes(rubric.rubric)
    folder = workspace.folder if rubric.path is None else rubric.path.parent
    context = loop.worker_context(request, workspace, place, folder, fixes)
    hint = "--worker cmd:COMMAND, or give the rubric's items `fix:` commands and use --worker fix"
    worker = loop.find_worker(request.worker or ("fix" if fixes else None), context, hint=hint)
    judges = _find_judges(request, rubric, context)
    _require_vouched(workspace, request, rubric, judges)
    seats = judges.asked + judges.holdouts
    place = loop.guarded(
        place, workspace, rubric.checker, checks_of(rubric.rubric), seats, worker, folder
    )
    size = [(request.artifact, loaded.version.size)]
    judging_options.refuse_too_big(
        judges.asked, rubric.rubric, request.judging, size, lambda _: loaded.version
    )
    limits = loop.loop_limits(request, workspace, judges.calls, rubric.rounds)
    shown = Question(
        artifact=Artifact(place.named, loaded.version), criteria=asked_criteria(rubric.rubric)
    )
    packed = shown_in_part(judges.panel, shown)
    contract = rubric.contract(judges.asked)
    noise = (
        _known_noise(workspace, [contract, *map(rubric.contract, judges.named)])
        if judges.asked
        else None
    )

    def state(first: Event) -> LoopState:
        found = policy.start(first)
        found.workable = lambda line: worker.can_work_on(fixes_for(line))
        return found

    return LoopPlan(
        workspace=workspace,
        place=place,
        version=loaded.version,
        worker=worker,
        policy=policy,
        started=events.ImprovementStarted(
            **events.judged_by(
                contract, request.judging.rule, judges.names(judges.panel), limits.to_plain()
            ),
            holdouts=judges.names(judges.holdouts),
            artifact=loop.started_artifact(place, loaded.version),
            output=loop.shown_output(request),
            deliver=request.deliver,
            policy=policy.name,
            worker=worker.id,
            tolerance=None if noise is None else noise.tolerance,
            noise_run=None if noise is None else noise.run,
            rubric=rubric.rubric,
            rubric_path=rubric.name,
            packed=packed,
        ),
        belongs_to={
            "holdouts": [seat.identity for seat in judges.holdouts],
            **loop.delivery(request),
            **functions_of((*judges.asked, *judges.holdouts)),
        },
        state=state,
        judgement=partial(judges.judgement, rubric, before_asking),
        notes=(
            *loaded.notes,
            *packing_notes(packed),
            *_notes(workspace, worker, judges, limits),
            *judging_options.notes_on_unnamed_files(seats, workspace.folder),
        ),
        fresh=request.judging.fresh,
    )


def _refuse_suite_options(request: ImprovementRequest) -> None:
    given = {
        "target": request.target,
        "candidates": request.candidates,
        "min-pass-rate": request.min_pass_rate,
        "require-improvement": request.require_improvement or None,
    }
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"--{name} is about the tasks of a suite, but no suite was named",
                hint="honestone improve ARTIFACT --suite SUITE --worker WORKER",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judges:
    """Who judges: the panel steers, `fallback` (the worker's own model) where no one of it can,
    `holdouts` certify.
    """

    panel: Seats
    fallback: Seat | None
    holdouts: Seats
    is_automatic: bool = False

    @property
    def asked(self) -> Seats:
        return (*self.panel, *((self.fallback,) if self.fallback else ()))

    @property
    def named(self) -> tuple[Seats, ...]:
        """All judges as `noise` is given them, where one was kept from the panel to certify."""
        return ((*self.asked, *self.holdouts),) if self.is_automatic else ()

    @property
    def identities(self) -> list[tuple[str, Identity]]:
        return [(seat.id, seat.judge.identity) for seat in (*self.asked, *self.holdouts)]

    @property
    def in_words(self) -> str:
        held = f"; held out: {', '.join(self.names(self.holdouts))}" if self.holdouts else ""
        return (", ".join(self.names(self.panel)) or "checks alone") + held

    @staticmethod
    def names(seats: Seats) -> tuple[str, ...]:
        return tuple(seat.id for seat in seats)

    def calls(self, rounds: int) -> int:
        """Every version asked twice (a re-ask is a call), and every consultation of the held-out
        judges.
        """
        return 2 * (rounds + 1) * len(self.panel) + 2 * 3 * len(self.holdouts)

    def judgement(
        self,
        rubric: RubricPlan,
        before_asking: BeforeAsking | None,
        run: str,
        store: Store,
        meter: Meter,
    ) -> PanelJudgement:
        panel = judging_options.make_panel(
            self.panel, store, meter, rubric.options, fallback=self.fallback, holdouts=self.holdouts
        )
        return PanelJudgement(
            Evaluator(rubric.rubric, rubric.checker, panel),
            panel=self.panel,
            holdouts=self.holdouts,
            before_asking=None if before_asking is None else partial(before_asking, store),
        )


def _find_judges(
    request: ImprovementRequest, rubric: RubricPlan, context: AdapterContext
) -> _Judges:
    own = _self_seat(request.worker, context) if request.self_judge else None
    try:
        panel = rubric.seats()
    except CouldNotJudge:
        if own is None:
            raise
        panel = ()
    if request.holdouts in ((), (NOBODY,)):
        may_hold_out = (
            not request.holdouts and rubric.rubric.asks_judges and request.policy != "plain"
        )
        panel, holdouts = hold_one_out(panel, rubric.rubric) if may_hold_out else (panel, ())
    else:
        judging_options.refuse_commands(request.holdouts, rubric.workspace, request.judging)
        holdouts = (
            judging_options.make_seats(request.holdouts, context)
            if rubric.rubric.asks_judges
            else ()
        )
    fallback = own if panel else None
    panel = panel or ((own,) if own else ())
    require_apart(panel, holdouts)
    holdouts = named_apart(panel, holdouts)
    if request.policy in BY_BELIEF:  # It draws as many looks of a judge as it needs.
        panel, holdouts = _once(panel), _once(holdouts)
    is_automatic = bool(holdouts) and not request.holdouts
    return _Judges(panel=panel, fallback=fallback, holdouts=holdouts, is_automatic=is_automatic)


def _notes(
    workspace: Workspace, worker: Worker, judges: _Judges, limits: LoopLimits
) -> Sequence[str]:
    """What is said before a run begins: who is reached over a network, who certifies, what it can
    cost.
    """
    return [
        *contacts(workspace, [(worker.id, worker.identity), *judges.identities]),
        *([_HELD_OUT.format(judge=judges.holdouts[0].id)] if judges.is_automatic else []),
        f"{loop.limits_in_words(limits)}; worker {worker.id}; judged by {judges.in_words}",
    ]


def _require_vouched(
    workspace: Workspace, request: ImprovementRequest, rubric: RubricPlan, judges: _Judges
) -> None:
    """Raises UsageError for a judge that was not measured, or too bad, where that is asked for."""
    if request.require_calibration:
        from honestone.app.judging.calibrations import require_calibrated

        require_calibrated(workspace, rubric, judges.holdouts)
    every = (*judges.asked, *judges.holdouts)
    if request.require_tier is not None:
        from honestone.app.judging.audits import require_tiers
        from honestone.core.audit.verdict import tier_named

        require_tiers(
            workspace, rubric.contract(every).document, every, tier_named(request.require_tier)
        )
    require_vouched(workspace, [rubric.rubric], every, request.judging)


def _once(seats: Seats) -> Seats:
    return tuple(seat for seat in seats if seat.draw_of is None)


def _self_seat(worker: object, context: AdapterContext) -> Seat:
    judge = make_self_judge(worker, context) if isinstance(worker, str) else None
    if judge is None:
        raise UsageError(
            f"--self has the worker's own model judge, but `{worker or 'fix'}` is not a model that is here",
            hint="name a --judge, or a worker that is an agent CLI or PROVIDER:MODEL",
        )
    return Seat(id=judge.id, judge=judge, kind="self")


def _fixes(rubric: Rubric) -> tuple[str, ...]:
    found = [item.fix for _, item in rubric.questions() if item.fix]
    found += [criterion.fix for criterion, _ in rubric.walk() if criterion.fix]
    return tuple(dict.fromkeys(found))


_HELD_OUT = "{judge} does not steer and is kept to certify; name another with --holdout, or `--holdout none`"
_RULE = "over a suite a change is kept when val did not fall, and train or val rose"
_PERSON = "human"
_HINT = "--worker cmd:COMMAND, or a model or an agent CLI"


def _policy_for(request: ImprovementRequest, rubric: Rubric) -> str:
    """The policy asked for, or the usual one. The worker's own model stands in for a panel that
    failed as a whole, while a belief asks one judge at a time.
    """
    asked = request.policy or "belief"
    usual = "keep-best" if request.self_judge else loop.usual_policy(rubric)
    return asked if usual in BY_BELIEF or asked not in BY_BELIEF else usual


def _known_noise(workspace: Workspace, contracts: Sequence[Contract]) -> NoiseDoc | None:
    with workspace.open_store() as store:
        return next((found for one in contracts if (found := known_noise(store, one.id))), None)


def _read_rubric(
    workspace: Workspace, request: ImprovementRequest, observer: Observer
) -> RubricPlan:
    _refuse_suite_options(request)
    if request.policy not in (None, *POLICIES):
        raise UsageError(
            f"{request.policy!r} is not a policy", hint=f"choose one of: {', '.join(POLICIES)}"
        )
    if request.rubric is None:
        raise UsageError(
            "improve needs a rubric, or a suite of tasks",
            hint="honestone improve ARTIFACT (--rubric RUBRIC | --suite SUITE) --worker WORKER",
        )
    return RubricPlan.read(
        workspace,
        request.rubric,
        request.judging,
        [request.artifact],
        accept_loss=request.accept_loss,
        note=observer.note,
    )


def prepare_suite(
    workspace: Workspace, request: ImprovementRequest, observer: Observer
) -> LoopPlan[SuiteLoopState]:
    """Everything is read and checked, before the first run. Raises UsageError and its kinds."""
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
            min_pass_rate=bar,
        ),
        observer,
    )
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
            **functions_of((*tasks.seats, *plan.edit_seats)),
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
        ("--require-calibration", request.require_calibration, "the suite's test split certifies"),
        (
            "--require-tier",
            request.require_tier is not None,
            "the suite's cases have rubrics of their own",
        ),
        ("--self", request.self_judge, "the suite's own checks and judges decide"),
        (f"--policy {request.policy}", request.policy not in (None, "keep-best"), _RULE),
    ):
        if given:
            raise UsageError(f"{name} cannot go with --suite", hint=instead)


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
        return events.SuiteImprovementStarted(
            **events.judged_by(
                self.contract, self.request.judging.rule, STEERING, limits.to_plain()
            ),
            holdouts=(TEST,),
            artifact=loop.started_artifact(place, version),
            output=loop.shown_output(self.request),
            deliver=self.request.deliver,
            policy=KeepWhatHelps().name,
            worker=worker.id,
            rubric=suite_loop.steering_rubric(self.splits, title=title, least=self.least),
            certifying=suite_loop.certifying_rubric(self.splits, title=title, least=self.least),
            splits=self.splits.ids,
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
        return 2 * self.most(rounds, self.tasks.judge_calls) + 2 * rounds * self.candidates * len(
            self.edit_seats
        )

    def most(self, rounds: int, cost: Callable[[Sequence[Case]], int]) -> int:
        """The most that can be spent on every version that may come up, by what a split costs."""
        train, val, test = (cost(self.splits.of(name)) for name in (TRAIN, VAL, TEST))
        return val + train + rounds * (val + self.candidates * train) + 2 * test

    def judgement(
        self, place: Place, observer: Observer, run: str, store: Store, meter: Meter
    ) -> TaskJudgement:
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
        edits = PanelOfEdits(
            seats=self.edit_seats, store=store, judging=self.request.judging, named=place.named
        )
        return TaskJudgement(
            runs,
            train=self.splits.train,
            kind="an agent skill (instructions that an agent is given)" if is_skill else "a prompt",
            edits=edits if self.edit_seats else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitRuns:
    """Runs of splits as runs of the suite in the store. Each belongs to one run of the loop, so
    that none is borrowed.

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
            judges=[plain(one) for one in panel_states(record.tally.ballots)],
            flags=[
                *suite_warnings(record),
                *suite_flags(record),
                *(not_loaded(record) if self.plan.subject.is_isolated else []),
            ],
            cut_short=_cut_short(record, left, meter),
        )

    async def close(self) -> None:
        await self.plan.close()

    def _subject(self, version: Version) -> SuiteSubject:
        note, path = f"improve {self.loop}", self.plan.subject.path
        if self.plan.subject.skill is None:
            return SuiteSubject(path=path, version=version, note=note)
        return SuiteSubject.of_skill(
            path, skill_of(version, self.folder, leave_out=self.leave_out), note
        )

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
        panel = judging_options.make_panel(self.seats, self.store, meter.rest(), self.judging)
        evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(Path()), panel)  # the rubric has no check
        shown = Artifact(self.named, shown_edit(before, after))
        judged = await evaluator.judge(
            evaluator.question(shown, input=failures_in_words(list(failed)))
        )
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
        is_money = (
            left.usd is not None and (left.before.usd or 0.0) + (left.spent.usd or 0.0) >= left.usd
        )
        return (
            f"--max-usd {whole.usd:g} is used up"
            if is_money
            else f"--max-minutes {whole.minutes:g} are used up"
        )
    asks = Status.SKIPPED in statuses or any(
        ballot.judge != CHECK for ballot in record.tally.ballots
    )
    return f"--max-calls {whole.calls} are used up" if asks and left.no_call_left() else None
