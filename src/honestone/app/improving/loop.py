"""One run of a loop, from its plan to its last event: claimed, started or resumed, worked under its
limits.

`improve`, `improve --suite`, `step` and `skill run` each make a LoopPlan; what differs is in its
policy and judgement.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Annotated, Final, Generic

from msgspec import Struct, field
from msgspec.structs import replace

from honestone import ports
from honestone.adapters.context import WORKER_TIMEOUT, AdapterContext
from honestone.adapters.registry import make_worker
from honestone.app.event_loop import run_to_end
from honestone.app.judging.judging_options import (
    EFFORTS,
    AcceptLoss,
    Effort,
    JudgingOptions,
    RequireTier,
    Seconds,
    limit,
    make_context,
    max_bytes,
)
from honestone.app.options import Argument, Option, given_words, require_valid
from honestone.app.suites.options import PromptNames
from honestone.app.workspace import Workspace
from honestone.core.artifact import Entry, Version
from honestone.core.editing.proposal import MAX_DIFF, MAX_GROWTH
from honestone.core.editing.result import LEAST_STATED
from honestone.core.errors import ContractMismatch, UsageError
from honestone.core.events import (
    Event,
    LoopStarted,
    RunFinished,
    Started,
    StartedArtifact,
    total_spend,
)
from honestone.core.judging.contract import Identity, differences, digest_json
from honestone.core.judging.rubric import Check, Rubric
from honestone.core.judging.spend import Meter, Spend
from honestone.core.loop.named import BY_BELIEF, POLICIES
from honestone.core.loop.state import LoopLimits, Policy, Result, S, Stop, fold
from honestone.core.numbers import show_bar
from honestone.core.record.rates import rates_of
from honestone.engine.journal import reserve_in
from honestone.engine.judging.retrying import with_retries
from honestone.engine.judging.seats import Seat
from honestone.engine.loop_runner import Judgement, LoopRunner
from honestone.engine.place import Place, require_resumable, version_blobs
from honestone.formats.source import SuiteSource
from honestone.system.drawing import count
from honestone.system.files import printable
from honestone.system.processes.private import on_this_machine
from honestone.system.trust.judging_files import JudgingFiles, files_named, programs_named


class LoopPlan(Struct, Generic[S], frozen=True, kw_only=True):
    """A loop, read and checked; nothing has been spent. `version` is the artifact as it was read.

    `started` is the first event of a new run. `belongs_to` tells its runs from others on the same
    artifact: only a run with an equal one is resumed. `state` makes the state from the first event,
    `judgement` what judges versions in a run. `notes` are said when a run starts, not when it
    resumes. `fresh` closes unfinished runs first.
    """

    workspace: Workspace
    place: Place
    version: Version
    worker: ports.Worker
    policy: Policy
    started: Started
    belongs_to: Identity
    state: Callable[[Event], S]
    judgement: Callable[[str, ports.Store, Meter], Judgement[S]]
    notes: Sequence[str] = ()
    fresh: bool = False

    @property
    def kind(self) -> str:
        return self.started.kind or ""

    @property
    def subject(self) -> str:
        return printable(self.place.path)

    @property
    def identity(self) -> str:
        """A run belongs to artifact, contract, worker, limits and policy, and to what else the plan
        names.
        """
        return digest_json(
            {
                "kind": self.kind,
                "path": self.subject,
                "contract": self.started.contract_id,
                "worker": dict(self.worker.identity),
                "limits": dict(self.started.limits),
                "policy": self.policy.name,
                **self.belongs_to,
            }
        )

    def done_in_words(self, state: S) -> str:
        """What of a run that is resumed is on record."""
        return f"{count(len(state.rounds), 'round')} done"

    def pass_over(self, store: ports.Store, old: ports.RunInfo) -> None:
        """Another run on the artifact is unfinished. One under another contract is refused, with
        the differences.
        """
        first = next(store.iter_events(old.id))
        if old.contract == self.started.contract_id or not isinstance(first, LoopStarted):
            return
        changed = differences(first.contract, self.started.contract)
        raise ContractMismatch(
            f"run {old.id} on {self.place.named!r} is unfinished and was judged under another contract:\n  "
            + "\n  ".join(changed[:12]),
            hint="undo that to resume the run, or start over under the new contract with --fresh",
        )


class LoopRun(Struct, Generic[S], frozen=True, kw_only=True):
    """A run as this process leaves it. `stop` is None when it was interrupted. `spent`: by this
    process.
    """

    id: str
    state: S
    stop: Stop | None
    log: Sequence[Event]
    resumed: bool
    spent: Spend


def run_loop(
    plan: LoopPlan[S],
    store: ports.Store,
    observer: ports.Observer,
    *,
    begun: Callable[[str, S], ports.Observer] | None = None,
) -> LoopRun[S]:
    """Start the plan's run, or resume the unfinished one, and work until it ends or is interrupted
    (Ctrl-C, SIGTERM).

    `begun` is called with the run's id and state before it works; what it returns observes instead
    of `observer`. Raises UsageError where another run works on the artifact or the artifact was
    edited since, ContractMismatch where the unfinished run was judged under another contract.
    """
    with claimed(store, plan.subject, plan.place.named):
        run, state, log = _resume(plan, store, observer) or _start(plan, store, observer)
        limits = state.limits
        meter = Meter(
            calls=limits.calls,
            minutes=limits.minutes,
            usd=limits.usd,
            clock=time.monotonic,
            before=total_spend(log),
            seconds_before=max(event.seconds or 0.0 for event in log),
        )
        reserve_in(store, run, meter)
        loop = LoopRunner(
            run=run,
            state=state,
            policy=plan.policy,
            judgement=plan.judgement(run, store, meter),
            place=plan.place,
            worker=plan.worker,
            worker_rates=rates_of(plan.workspace.settings.workers.get(plan.worker.id)),
            store=store,
            meter=meter,
            observer=begun(run, state) if begun is not None else observer,
        )
        stop = None
        with suppress(KeyboardInterrupt):
            stop = run_to_end(loop.work, loop.close)
        stop = stop or state.finished
        return LoopRun(
            id=run,
            state=state,
            stop=stop,
            log=store.events(run),
            resumed=len(log) > 1,
            spent=meter.spent,
        )


@contextmanager
def claimed(store: ports.Store, subject: str, named: str) -> Iterator[None]:
    """The artifact for this process alone. Raises UsageError where another run works on it, also
    with another store.
    """
    claim = digest_json({"path": subject})
    with on_this_machine(claim) as is_free:
        if not is_free or not store.lock(claim):
            raise UsageError(
                f"another honestone is improving {named!r} right now",
                hint="wait for it, or stop it first",
            )
        try:
            yield
        finally:
            store.unlock(claim)


def _start(
    plan: LoopPlan[S], store: ports.Store, observer: ports.Observer
) -> tuple[str, S, list[Event]]:
    for note in plan.notes:
        observer.note(note)
    store.keep_blobs(version_blobs(plan.version))
    run = store.start_run(
        kind=plan.kind,
        subject=plan.subject,
        identity=plan.identity,
        contract=plan.started.contract_id,
        first=plan.started,
    )
    # Once more: a command that deletes runs may have taken them before this run was there.
    store.keep_blobs(version_blobs(plan.version))
    return run, plan.state(plan.started), [plan.started]


def _resume(
    plan: LoopPlan[S], store: ports.Store, observer: ports.Observer
) -> tuple[str, S, list[Event]] | None:
    """The unfinished run of this identity."""
    unfinished = [
        r
        for r in store.runs()
        if (r.kind, r.subject, r.finished) == (plan.kind, plan.subject, None)
    ]
    if plan.fresh:
        for old in unfinished:
            result, reason = str(Result.INTERRUPTED), "started over with --fresh"
            store.finish_run(old.id, result, RunFinished(result=result, reason=reason))
        return None
    same = next((r for r in unfinished if r.identity == plan.identity), None)
    if same is None:
        for old in unfinished:
            plan.pass_over(store, old)
        return None
    log = store.events(same.id)
    state = fold(plan.state(log[0]), log[1:])
    require_resumable(plan.place, state, store, same.id)
    observer.note(f"resuming run {same.id} ({plan.done_in_words(state)})")
    return same.id, state, log


def as_begun(plan: LoopPlan[S], earlier: Callable[[], LoopPlan[S]]) -> LoopPlan[S]:
    """The plan that resumes the unfinished run of the artifact: this one, or one as an earlier
    version of the program made it; this one where there is none.
    """
    with plan.workspace.open_store() as store:
        unfinished = {
            run.identity
            for run in store.runs()
            if (run.kind, run.subject, run.finished) == (plan.kind, plan.subject, None)
        }
    if plan.fresh or not unfinished or plan.identity in unfinished:
        return plan
    found = earlier()
    return found if found.identity in unfinished else plan


MINUTES = 240
# What is written to the person's file: the best version, or only one that passed.
DELIVER = ("best", "passed")


class LoopOptions(Struct, frozen=True, kw_only=True):
    """The options of every improvement loop, whoever edits."""

    holdouts: Annotated[
        tuple[str | ports.Judge | ports.Function, ...],
        Option(
            "A judge that certifies and never steers; repeat for more."
            " [the last of two or more judges; none: none]",
            name="--holdout",
            metavar="JUDGE",
        ),
    ] = ()
    require_calibration: Annotated[
        bool,
        Option(
            "Refuse a held-out judge that `judges calibrate` has not measured as it is now, or found"
            " lenient."
        ),
    ] = False
    require_tier: RequireTier = None
    policy: Annotated[
        str | None,
        Option(
            "What is kept, and when it is PASSED."
            " [belief; keep-best where code or a person judges]",
            choices=POLICIES,
        ),
    ] = None
    rounds: Annotated[
        int | None,
        Option(
            "Rounds after the baseline. [by effort: 8, 16, 24; over a suite or under keep-best 3, 5, 8]",
            min=1,
            max=100,
        ),
    ] = None
    max_diff: Annotated[
        int | None,
        Option(f"Changed lines in one round. [{MAX_DIFF}]", min=1, metavar="LINES"),
    ] = None
    max_growth: Annotated[
        float | None,
        Option(
            "How many times its first size the artifact may reach, from 40 KB on."
            f" [{MAX_GROWTH:g}]",
            min=1,
            metavar="TIMES",
        ),
    ] = None
    dry_run: Annotated[
        bool, Option("Leave the file alone; the best version is kept in the store.")
    ] = False
    output: Annotated[
        Path | None,
        Option(
            "Deliver the best version there and leave the file alone.", short="-o", metavar="FILE"
        ),
    ] = None
    deliver: Annotated[
        str,
        Option(
            "What is delivered: best is a version that PASSED, or one that is better than the"
            " original by its marks and at least 80% sure to be by every vote, else the original;"
            " passed is only one that PASSED.",
            choices=DELIVER,
            show_default=True,
        ),
    ] = "best"


class EditOptions(LoopOptions, frozen=True, kw_only=True):
    """Also what is improved by, and who edits: options of `improve` that a host agent, which is its
    own worker, does not have.
    """

    rubric: Annotated[Path | Rubric | None, Option("The rubric file.", short="-r")] = None
    suite: Annotated[
        Path | None,
        Option(
            "A suite instead of a rubric: its train split is shown, val accepts, test certifies."
        ),
    ] = None
    target: Annotated[
        str | ports.Target | ports.Function | None,
        Option("With --suite: what does the tasks.", short="-t", metavar="TARGET"),
    ] = None
    prompts: PromptNames = ()
    candidates: Annotated[
        int | None,
        Option(
            "With --suite: proposals per round; the best on the train split is kept. [1]",
            min=1,
            max=20,
        ),
    ] = None
    min_pass_rate: Annotated[
        float | None,
        Option(
            "With --suite: share of the tasks of val, and of test, that must pass. [1]",
            min=0,
            max=1,
            metavar="0-1",
        ),
    ] = None
    require_improvement: Annotated[
        bool,
        Option(
            "With --suite: certify only if test rose for sure: the lower bound of its interval is"
            " above 0."
        ),
    ] = False
    worker: Annotated[
        str | ports.Worker | ports.Function | None,
        Option(
            "Who edits: cmd:COMMAND, fix, ... [fix, where the rubric has fix commands]",
            metavar="WORKER",
        ),
    ] = None
    worker_timeout: Seconds = None
    self_judge: Annotated[
        bool,
        Option(
            "Let the worker's own model judge where no other judge can: SELF-EVALUATED.",
            name="--self",
        ),
    ] = False


_NAMED_BY_THE_RUN: Final = frozenset(
    ("judges", "holdouts", "worker", "rubric", "suite", "target", "policy", "fresh")
)


class ImprovementRequest(EditOptions, frozen=True, kw_only=True):
    """What `improve` is asked for, as given. Relative paths start in the workspace's folder.

    Of `rubric` and `suite` exactly one is named. `target`, `prompts`, `candidates`,
    `min_pass_rate` and `require_improvement` belong to a suite; `holdouts`, `require_calibration`, `require_tier` and
    `self_judge` to a rubric. `policy` of a suite is `belief` or `keep-best`.
    """

    artifact: Annotated[Path, Argument()]
    # What the suite says, where it was not read from its file.
    source: SuiteSource | None = None
    accept_loss: AcceptLoss = False
    judging: JudgingOptions = field(default_factory=JudgingOptions)

    def __post_init__(self) -> None:
        """Raises UsageError for what no command line would accept."""
        require_valid(self, EditOptions)
        self._require_possible_sure()

    @property
    def words_for_next(self) -> tuple[str, ...]:
        """The options that a next command repeats, as they are typed: all that were given, but those
        that it names by what the run came to.
        """
        return tuple(given_words(self, _NAMED_BY_THE_RUN))

    def _require_possible_sure(self) -> None:
        """Raises UsageError where how sure a verdict has to be was asked for and cannot be had."""
        sure = self.judging.sure
        if sure is not None and sure < 100 * LEAST_STATED:
            raise UsageError(
                f"--sure {sure:g}: `improve` does not say PASSED of what is less than {LEAST_STATED:.0%} sure",
                hint="ask for 80 or more, for example --sure 95",
            )


def require_statable(sure: Fraction, says: str, place: str | None) -> None:
    """Raises UsageError for a bar in a file (0-1; `says`: which one, `place`: where) below what is
    called PASSED. As a binary fraction, which is what beliefs are: .8 in a file is .8 there.
    """
    if float(sure) < LEAST_STATED:
        raise UsageError(
            f"{says} `sure: {show_bar(sure)}`: `improve` does not say PASSED of what"
            f" is less than {LEAST_STATED:.0%} sure",
            place=place,
            hint="write 80 or more there, or add --sure 95",
        )


def loop_limits(
    request: ImprovementRequest,
    workspace: Workspace,
    calls: Callable[[int], int],
    contract_rounds: int | None = None,
) -> LoopLimits:
    """The options before what the rubric's file asks for, before the settings, before the effort's
    rounds and the `calls` that so many rounds need.

    A policy that decides by belief ends by what it believes and not by rounds without progress.
    """
    settings, effort = workspace.settings, EFFORTS[request.judging.effort]
    by_belief = request.policy in BY_BELIEF
    asked = contract_rounds if request.rounds is None else request.rounds
    rounds = usual_rounds(workspace, effort, by_belief=by_belief) if asked is None else asked
    meter = request.judging.meter(
        settings, calls=effort.belief_calls if by_belief else calls(rounds), minutes=MINUTES
    )
    found = LoopLimits(rounds=rounds, calls=meter.calls, minutes=meter.minutes, usd=meter.usd)
    return replace(found, patience=rounds) if by_belief else found


def usual_policy(rubric: Rubric) -> str:
    """The policy of a loop that names none. Beliefs are about the noise of judges, of which code
    has none.
    """
    return "belief" if rubric.asks_judges else "keep-best"


def rounds_to_expect(workspace: Workspace, rubric: Rubric) -> int:
    """The rounds of `improve` by this rubric where no option is given."""
    return usual_rounds(
        workspace, EFFORTS[JudgingOptions().effort], by_belief=usual_policy(rubric) in BY_BELIEF
    )


def usual_rounds(workspace: Workspace, effort: Effort, *, by_belief: bool) -> int:
    """The rounds of a loop for which nothing else was asked."""
    return int(
        limit(
            None, workspace.settings, "rounds", effort.belief_rounds if by_belief else effort.rounds
        )
    )


def limits_in_words(limits: LoopLimits, more: str = "") -> str:
    """The most that a run can spend; `more` follows the rounds."""
    money = f", {limits.usd:g} USD" if limits.usd is not None else ""
    return f"at most {count(limits.rounds, 'round')}{more}, {count(limits.calls, 'judge call')}, {limits.minutes:g} minutes{money}"


def started_artifact(place: Place, version: Version) -> StartedArtifact:
    return StartedArtifact(path=place.named, digest=version.digest, is_folder=version.is_folder)


def find_place(
    request: ImprovementRequest, workspace: Workspace, path: Path, exclude: frozenset[Path]
) -> Place:
    """Where the artifact is, with its sibling files. Raises UsageError for an `--output` that would
    destroy something.
    """
    if request.deliver not in DELIVER:
        raise UsageError(
            f"{request.deliver!r} cannot be delivered", hint=f"choose one of: {', '.join(DELIVER)}"
        )
    output = None if request.output is None else workspace.path(request.output)
    if output is not None and output.resolve() == path.resolve():
        raise UsageError(
            "--output is the artifact itself", hint="leave --output out to improve it in place"
        )
    if output is not None and output.resolve() in exclude:
        raise UsageError(
            f"--output {str(request.output)!r} is the rubric, or a file that judges",
            hint="name another --output",
        )
    root = path.resolve()
    inside = [
        file
        for file in sorted(exclude)
        if root.is_dir() and root in file.parents and file.is_file()
    ]
    return Place(
        path=root,
        named=printable(request.artifact),
        exclude=exclude,
        siblings={file.relative_to(root).as_posix(): Entry(file.read_bytes()) for file in inside},
        output=output,
        only_passed=request.deliver == "passed",
        dry_run=request.dry_run,
        max_bytes=max_bytes(request.judging, workspace.settings),
        max_diff=int(limit(request.max_diff, workspace.settings, "max_diff", MAX_DIFF)),
        max_growth=float(limit(request.max_growth, workspace.settings, "max_growth", MAX_GROWTH)),
    )


def guarded(
    place: Place,
    workspace: Workspace,
    checker: ports.Checker,
    checks: Sequence[Check],
    seats: Sequence[Seat],
    worker: ports.Worker,
    base: Path,
) -> Place:
    """The place with a watch on all that judges (the checks' files, the judges' programs, what is
    left out of it) and on the worker's own programs. `base` is the folder of the rubric or suite.
    """

    def listing() -> Iterator[Path]:
        yield from place.exclude
        yield from checker.judging_files(checks)
        yield from files_named([seat.identity for seat in seats], workspace.folder)
        for path in programs_named(worker.identity, workspace.folder, base):
            if not path.resolve().is_relative_to(place.path):
                yield path

    watch = JudgingFiles(listing, base=workspace.folder, unfollowed=place.path)
    return replace(place, judging=watch, would_judge=partial(checker.would_judge, checks))


def shown_output(request: ImprovementRequest) -> str | None:
    return None if request.output is None else printable(request.output)


def delivery(request: ImprovementRequest) -> Mapping[str, str]:
    """Where the best version goes, as a part of a run's identity."""
    only = {"only": "passed"} if request.deliver == "passed" else {}
    place = shown_output(request) or ("nowhere" if request.dry_run else "in place")
    return {"deliver": place, **only}


def paths_inside(root: Path, files: Collection[Path]) -> tuple[str, ...]:
    """The names of those of the files that are in a folder artifact: a worker's model is not shown
    its rubric.
    """
    return tuple(
        sorted(
            file.relative_to(root).as_posix()
            for file in files
            if root.is_dir() and root in file.parents
        )
    )


def worker_context(
    request: ImprovementRequest,
    workspace: Workspace,
    place: Place,
    base: Path,
    fixes: tuple[str, ...] = (),
) -> AdapterContext:
    """What workers are made with. `base` is the folder of the rubric or suite."""
    return replace(
        make_context(request.judging, workspace),
        worker_timeout=request.worker_timeout or WORKER_TIMEOUT,
        artifact=place.path,
        rubric_folder=base.resolve(),
        fixes=fixes,
        ask=_with_retries,
        hidden=place.off_limits or paths_inside(place.path, place.exclude),
    )


def find_worker(
    worker: str | ports.Worker | ports.Function | None, context: AdapterContext, *, hint: str
) -> ports.Worker:
    """Raises UsageError where none is named, or the one named cannot be."""
    if worker is None:
        raise UsageError("no worker given: choose who makes the edits with --worker", hint=hint)
    return worker if isinstance(worker, ports.Worker) else make_worker(worker, context)


def _with_retries(model: ports.Model) -> Callable[[ports.Prompt], Awaitable[ports.Completion]]:
    """Calls to a worker's model, tried again while that is worth it."""

    async def ask(prompt: ports.Prompt) -> ports.Completion:
        return await with_retries(lambda: model.complete(prompt))

    return ask
