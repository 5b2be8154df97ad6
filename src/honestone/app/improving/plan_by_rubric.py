"""A loop that the criteria of a rubric steer, planned: everything is read and checked before the
first call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.adapters.context import AdapterContext
from honestone.adapters.named_models import make_self_judge
from honestone.app.improving import loop
from honestone.app.improving.holding_out import NOBODY, hold_one_out, named_apart
from honestone.app.improving.loop import ImprovementRequest, LoopPlan, require_statable
from honestone.app.judging import judging_options
from honestone.app.judging.measured.known_noise import known_noise
from honestone.app.judging.measured.vouching import require_vouched
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.judging.sure import place_of_sure, refuse_limit_in_file, refuse_other_ways
from honestone.app.judging.trusting import contacts
from honestone.app.workspace import Workspace
from honestone.core import events
from honestone.core.artifact import Artifact
from honestone.core.checking.checks import checks_of
from honestone.core.errors import CouldNotJudge, UsageError
from honestone.core.events import Event
from honestone.core.judging.ballot import Question, asked_criteria
from honestone.core.judging.contract import Contract, Identity
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.spend import Meter
from honestone.core.loop.named import BY_BELIEF, POLICIES, policy_named
from honestone.core.loop.policies import fixes_for
from honestone.core.loop.state import LoopLimits, LoopState
from honestone.core.numbers import show_bar
from honestone.engine.evaluate import packing_notes, shown_in_part
from honestone.engine.judgements import PanelJudgement, require_apart
from honestone.engine.judging.evaluator import Evaluator
from honestone.engine.judging.seats import Seat, functions_of
from honestone.ports import Observer, Store, Worker
from honestone.report.documents.trust.noise import NoiseDoc

Seats: TypeAlias = tuple[Seat, ...]
BeforeAsking: TypeAlias = Callable[[Store, Sequence[Seat], Question], None]


def prepare_rubric(
    workspace: Workspace,
    request: ImprovementRequest,
    observer: Observer,
    before_asking: BeforeAsking | None,
) -> LoopPlan[LoopState]:
    """The plan, by the policy asked for or the usual one. Raises UsageError and its kinds,
    CouldNotJudge.
    """
    rubric = _read_rubric(workspace, request, observer)
    policy = _policy_for(request, rubric.rubric)
    _require_statable(request, rubric.rubric, rubric.path)
    plan = _prepared(workspace, replace(request, policy=policy), rubric, before_asking)
    if request.policy is not None or policy not in BY_BELIEF:
        return plan
    return _under_keep_best(
        plan,
        lambda: _prepared(workspace, replace(request, policy="keep-best"), rubric, before_asking),
        is_sure_asked=rubric.rubric.sure is not None,
    )


def _require_statable(request: ImprovementRequest, rubric: Rubric, file: Path | None) -> None:
    """Raises UsageError where how sure a verdict has to be is asked for and cannot be had."""
    is_asked = request.judging.sure is not None or (rubric.sure is not None and rubric.asks_judges)
    if is_asked and request.policy not in (None, *BY_BELIEF):
        raise UsageError(
            f"--sure is what the policies {' and '.join(BY_BELIEF)} decide by; {request.policy} has a rule of its own",
            hint="leave one of --sure (or `sure:`) and --policy out",
        )
    if rubric.sure is not None:
        refuse_other_ways(request.judging)
    if rubric.sure is not None and request.self_judge:
        raise UsageError(
            "with --self-judge the worker's own model is asked once about a version, so no more can be sure",
            hint="name other judges with --judge, or leave --sure and `sure:` out",
        )
    if rubric.sure is not None:
        require_statable(rubric.sure, "the rubric says", place_of_sure(file, request.judging))
    else:
        refuse_limit_in_file(rubric.max_looks, file)


def _under_keep_best(
    plan: LoopPlan[LoopState],
    make: Callable[[], LoopPlan[LoopState]],
    *,
    is_sure_asked: bool,
) -> LoopPlan[LoopState]:
    """The plan that is made instead of the one by belief: for a person, who is asked once about a
    version, where a belief may ask again; and to resume an unfinished run that was begun when
    keep-best was the default, which knew no `sure`. Raises UsageError for a person who is to make
    sure.
    """
    assert isinstance(plan.started, events.LoopStarted)
    is_by_person = _PERSON in (*plan.started.panel, *plan.started.holdouts)
    if is_sure_asked and is_by_person:
        raise UsageError(
            "a person is asked once about a version, so a verdict of people cannot be made surer",
            hint="leave --sure and `sure:` out, or name judges that are programs or models",
        )
    if is_by_person:
        return make()
    if is_sure_asked:
        return plan
    return loop.as_begun(plan, make)


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
            options=request.words_for_next,
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
            *_notes(workspace, worker, judges, limits, rubric.rubric.sure),
            *judging_options.notes_on_unnamed_files(seats, workspace.folder),
        ),
        fresh=request.judging.fresh,
    )


def _refuse_suite_options(request: ImprovementRequest) -> None:
    given = {
        "target": request.target,
        "prompt": request.prompts or None,
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


class _Judges(Struct, frozen=True, kw_only=True):
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
    workspace: Workspace,
    worker: Worker,
    judges: _Judges,
    limits: LoopLimits,
    sure: Fraction | None,
) -> Sequence[str]:
    """What is said before a run begins: who is reached over a network, who certifies, what it can
    cost, and how sure it has to be.
    """
    bar = "" if sure is None else f", asked on until it is {show_bar(sure)}% sure"
    return [
        *contacts(workspace, [(worker.id, worker.identity), *judges.identities]),
        *([_HELD_OUT.format(judge=judges.holdouts[0].id)] if judges.is_automatic else []),
        f"{loop.limits_in_words(limits)}{bar}; worker {worker.id}; judged by {judges.in_words}",
    ]


def _require_vouched(
    workspace: Workspace, request: ImprovementRequest, rubric: RubricPlan, judges: _Judges
) -> None:
    """Raises UsageError for a judge that was not measured, or too bad, where that is asked for."""
    if request.require_calibration:
        from honestone.app.judging.measured.calibrations import require_calibrated

        require_calibrated(workspace, rubric, judges.holdouts)
    every = (*judges.asked, *judges.holdouts)
    if request.require_tier is not None:
        from honestone.app.judging.measured.audits import require_tiers
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


_PERSON = "human"


def _policy_for(request: ImprovementRequest, rubric: Rubric) -> str:
    """The policy asked for, or the usual one. The worker's own model takes the place of a panel that
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
