"""`improve`: the loop on one artifact, resumable, with the best version delivered."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeAlias, cast

from honestone.adapters.registry import AdapterContext, make_self_judge
from honestone.app import loop
from honestone.app.history import improvement_report
from honestone.app.improve_suite import prepare_suite
from honestone.app.judging_options import make_panel, make_seats, refuse_too_big
from honestone.app.loop import ImprovementRequest, LoopPlan
from honestone.app.rubric_plan import RubricPlan, checks_of
from honestone.app.trusting import contacts
from honestone.app.workspace import Workspace
from honestone.core.artifact import Artifact
from honestone.core.ballot import Question, asked_criteria
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import EditProposed, Event, ImprovementStarted, VersionAccepted, VersionRejected
from honestone.core.json_value import JsonObject
from honestone.core.loop.actions import Result, exit_code
from honestone.core.loop.focus import fixes_for
from honestone.core.loop.policies import POLICIES
from honestone.core.loop.state import LoopState, Round, state_of_rubric
from honestone.core.rubric import Rubric
from honestone.core.spend import Meter
from honestone.engine.evaluate import packing_notes, shown_in_part
from honestone.engine.panel import Evaluator, Seat
from honestone.engine.panel_judgement import PanelJudgement, require_apart
from honestone.ports import Observer, Store
from honestone.report.documents import JsonDocument, plain
from honestone.report.documents.improvement import ImprovementDoc, RoundDoc
from honestone.report.improvement import round_document
from honestone.system.files import printable

Seats: TypeAlias = tuple[Seat, ...]
BeforeAsking: TypeAlias = Callable[[Store, Sequence[Seat], Question], None]


@dataclass(frozen=True, kw_only=True)
class ImprovementResult:
    """How a run of the loop ended. `report` is the Markdown report that was saved."""

    run: str
    result: Result
    rounds: tuple[Round, ...]
    improvement: ImprovementDoc
    report: str

    @property
    def passed(self) -> bool:
        return self.result is Result.PASSED

    @property
    def exit_code(self) -> int:
        return exit_code(self.result)

    @cached_property
    def document(self) -> JsonDocument:
        """What `improve --json` prints: `honestone.improvement/1`."""
        return plain(self.improvement)

    def to_dict(self) -> JsonDocument:
        return self.document


def improve(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    *,
    decided: Callable[[RoundDoc], None] | None = None,
) -> ImprovementResult:
    """Improve an artifact until it passes or the loop ends. `decided` is called with the document of each round.

    Raises UsageError and its kinds before anything is spent, CouldNotJudge where judges are needed and none is found.
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

    def __init__(self, observer: Observer, state: LoopState, decided: Callable[[RoundDoc], None]) -> None:
        self.note, self.progress = observer.note, observer.progress
        self._observer = observer
        self._state = state
        self._decided = decided
        self._proposal: EditProposed | None = None

    def event(self, event: Event) -> None:
        self._observer.event(event)
        if isinstance(event, EditProposed):
            self._proposal = event
        elif isinstance(event, VersionAccepted | VersionRejected) and self._proposal is not None:
            self._decided(round_document(self._state, self._state.rounds[-1], self._proposal))


# -------------------------------------------------------------------------------------------------------- the plan


def prepare(
    workspace: Workspace, request: ImprovementRequest, observer: Observer, *, before_asking: BeforeAsking | None = None
) -> LoopPlan[LoopState]:
    """Everything is read and checked, before the first call. `before_asking` is called before judges are asked."""
    if request.suite is not None:
        # Its state is a LoopState too; what needs more of it comes from the same plan.
        return cast(LoopPlan[LoopState], prepare_suite(workspace, request, observer))
    _refuse_suite_options(request)
    if request.policy not in POLICIES:
        raise UsageError(f"{request.policy!r} is not a policy", hint=f"choose one of: {', '.join(POLICIES)}")
    if request.rubric is None:
        raise UsageError(
            "improve needs a rubric, or a suite of tasks",
            hint="honestone improve ARTIFACT (--rubric RUBRIC | --suite SUITE) --worker WORKER",
        )
    rubric = RubricPlan.read(workspace, request.rubric, request.judging, [request.artifact], note=observer.note)
    place = loop.find_place(request, workspace, workspace.path(request.artifact), rubric.exclude)
    loaded = rubric.load(request.artifact)
    rubric.preflight(loaded.version)
    fixes = _fixes(rubric.rubric)
    context = loop.worker_context(request, workspace, place, workspace.path(request.rubric).parent, fixes)
    hint = "--worker cmd:COMMAND, or give the rubric's items `fix:` commands and use --worker fix"
    worker = loop.find_worker(request.worker or ("fix" if fixes else None), context, hint=hint)
    judges = _find_judges(request, rubric, context)
    place = loop.guarded(place, workspace, rubric.checker, checks_of(rubric.rubric), judges.asked + judges.holdouts)
    size = [(request.artifact, loaded.version.size)]
    refuse_too_big(judges.asked, rubric.rubric, request.judging, size, lambda _: loaded.version)
    limits = loop.loop_limits(request, workspace, judges.calls)
    shown = Question(artifact=Artifact(place.named, loaded.version), criteria=asked_criteria(rubric.rubric))
    packed = shown_in_part(judges.panel, shown)
    contract = rubric.contract(judges.asked)

    def state(first: Event) -> LoopState:
        found = state_of_rubric(first)
        found.workable = lambda line: worker.can_work_on(fixes_for(line))
        return found

    return LoopPlan(
        workspace=workspace,
        place=place,
        version=loaded.version,
        worker=worker,
        policy=POLICIES[request.policy],
        started=ImprovementStarted(
            contract=contract.document,
            contract_id=contract.id,
            rule=request.judging.rule,
            panel=judges.names(judges.panel),
            holdouts=judges.names(judges.holdouts),
            limits=limits.to_plain(),
            artifact=loop.started_artifact(place, loaded.version),
            policy=request.policy,
            worker=worker.id,
            rubric=rubric.rubric,
            rubric_path=printable(request.rubric),
            packed=packed,
        ),
        belongs_to={"holdouts": [seat.identity for seat in judges.holdouts], **loop.delivery(request)},
        state=state,
        judgement=partial(judges.judgement, rubric, before_asking),
        notes=(
            *loaded.notes,
            *packing_notes(packed),
            *contacts(workspace, [(worker.id, worker.identity), *judges.identities]),
            f"{loop.limits_in_words(limits)}; worker {worker.id}; judged by {judges.in_words}",
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
    """Who judges: the panel steers, `fallback` (the worker's own model) where no one of it can, `holdouts` certify."""

    panel: Seats
    fallback: Seat | None
    holdouts: Seats

    @property
    def asked(self) -> Seats:
        return (*self.panel, *((self.fallback,) if self.fallback else ()))

    @property
    def identities(self) -> list[tuple[str, JsonObject]]:
        return [(seat.id, seat.judge.identity) for seat in (*self.asked, *self.holdouts)]

    @property
    def in_words(self) -> str:
        held = f"; held out: {', '.join(self.names(self.holdouts))}" if self.holdouts else ""
        return (", ".join(self.names(self.panel)) or "checks alone") + held

    @staticmethod
    def names(seats: Seats) -> tuple[str, ...]:
        return tuple(seat.id for seat in seats)

    def calls(self, rounds: int) -> int:
        """Every version asked twice (a re-ask is a call), and every consultation of the held-out judges."""
        return 2 * (rounds + 1) * len(self.panel) + 2 * 3 * len(self.holdouts)

    def judgement(
        self, rubric: RubricPlan, before_asking: BeforeAsking | None, run: str, store: Store, meter: Meter
    ) -> PanelJudgement:
        panel = make_panel(self.panel, store, meter, rubric.options, fallback=self.fallback, holdouts=self.holdouts)
        return PanelJudgement(
            Evaluator(rubric.rubric, rubric.checker, panel),
            panel=self.panel,
            holdouts=self.holdouts,
            before_asking=None if before_asking is None else partial(before_asking, store),
        )


def _find_judges(request: ImprovementRequest, rubric: RubricPlan, context: AdapterContext) -> _Judges:
    own = _self_seat(request.worker, context) if request.self_judge else None
    try:
        panel = rubric.seats()
    except CouldNotJudge:
        if own is None:
            raise
        panel = ()
    holdouts = make_seats(request.holdouts, context) if rubric.rubric.asks_judges else ()
    fallback = own if panel else None
    panel = panel or ((own,) if own else ())
    require_apart(panel, holdouts)
    return _Judges(panel=panel, fallback=fallback, holdouts=holdouts)


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
