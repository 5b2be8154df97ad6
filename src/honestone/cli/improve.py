"""`honestone improve`: the loop on one artifact, resumable, with the best version delivered."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.app.history import improvement_report
from honestone.app.setup import (
    EFFORTS,
    JudgingOptions,
    choose_judges,
    contract_for,
    limit,
    load_rubric,
    make_checker,
    make_context,
    make_panel,
    make_seats,
    max_bytes,
    never_judged,
    open_store_for,
    preflight_checks,
    refuse_too_big,
    settings_here,
)
from honestone.app.stopping import run_to_end, same_command
from honestone.cli import options as shared
from honestone.cli.printing import FORMATS, render_improvement, write
from honestone.cli.progress import Progress, style_for
from honestone.core import events
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.ballot import CHECK
from honestone.core.contract import differences, digest_json
from honestone.core.errors import ContractMismatch, CouldNotJudge, UsageError
from honestone.core.events import Event, event_from_plain
from honestone.core.loop.actions import Result, exit_code
from honestone.core.loop.focus import fixes_for
from honestone.core.loop.policies import POLICIES
from honestone.core.loop.proposal import MAX_DIFF
from honestone.core.loop.state import LoopLimits, LoopState, fold
from honestone.core.rubric import Rubric, to_plain
from honestone.core.scorecard import Line, Scorer
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.adapters.registry import AdapterContext
    from honestone.engine.loop_runner import LoopRunner
    from honestone.engine.panel import Seat
    from honestone.formats.settings import Settings
    from honestone.ports import Completion, Model, Prompt, Store


@click.command("improve", short_help="Improve an artifact until it passes.")
@click.argument("artifact", type=shared.PATH)
@click.option("--rubric", "rubric_path", type=shared.PATH, help="The rubric file.")
@click.option(
    "--suite",
    "suite_path",
    type=shared.PATH,
    help="A suite instead of a rubric: its train split is shown, val accepts, test certifies.",
)
@click.option("--target", default=None, metavar="TARGET", help="With --suite: what does the tasks.")
@click.option(
    "--candidates",
    type=click.IntRange(1, 20),
    default=None,
    help="With --suite: proposals a round; the best on train goes on. [1]",
)
@click.option(
    "--min-pass-rate",
    type=shared.Amount(min=0, max=1),
    default=None,
    metavar="0-1",
    help="With --suite: share of the tasks of val, and of test, that has to pass. [1]",
)
@click.option(
    "--require-improvement",
    is_flag=True,
    help="With --suite: certify only if test rose for sure: the lower end of its interval is above 0.",
)
@click.option(
    "--worker",
    "worker_name",
    metavar="WORKER",
    help="Who edits: cmd:COMMAND, fix, ... [fix, where the rubric has fix commands]",
)
@click.option(
    "--holdout",
    "holdouts",
    multiple=True,
    metavar="JUDGE",
    help="A judge that certifies and never steers; repeat for more.",
)
@click.option("--policy", type=click.Choice(list(POLICIES)), default="keep-best", show_default=True)
@click.option(
    "--rounds",
    type=click.IntRange(min=1, max=100),
    default=None,
    help="Rounds after the baseline. [by effort: 3, 5, 8]",
)
@click.option("--worker-timeout", type=shared.Amount(min=0, min_open=True), default=None, metavar="SECONDS")
@click.option(
    "--max-diff",
    type=click.IntRange(min=1),
    default=None,
    metavar="LINES",
    help=f"Changed lines in one round. [{MAX_DIFF}]",
)
@click.option(
    "--self", "self_judge", is_flag=True, help="Let the worker's own model judge where nobody else can: SELF-EVALUATED."
)
@click.option("--dry-run", is_flag=True, help="Leave the file alone; the best version stays in the store.")
@click.option("--output", type=shared.PATH, help="Deliver the best version there and leave the file alone.")
@shared.judging_options
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@shared.json_option
@shared.quiet_option
def improve(
    artifact: Path,
    rubric_path: Path | None,
    suite_path: Path | None,
    target: str | None,
    candidates: int | None,
    min_pass_rate: float | None,
    require_improvement: bool,
    worker_name: str | None,
    holdouts: tuple[str, ...],
    policy: str,
    rounds: int | None,
    worker_timeout: float | None,
    max_diff: int | None,
    self_judge: bool,
    dry_run: bool,
    output: Path | None,
    form: str,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Improve a file or folder one criterion at a time until its rubric's gate is met, or a skill or prompt until the
    tasks of a suite pass.

    Running the same command again goes on where an unfinished run stopped. Exits 0 when PASSED, 1 when not, 3 when
    it could not be judged or confirmed.
    """
    if suite_path is not None:
        from honestone.app.improve_suite import SuiteTask, improve_suite

        return improve_suite(
            artifact,
            suite_path,
            shared.take_judging(options),
            SuiteTask(
                worker=worker_name,
                target=target,
                candidates=candidates or 1,
                min_pass_rate=min_pass_rate,
                rounds=rounds,
                worker_timeout=worker_timeout,
                max_diff=max_diff,
                dry_run=dry_run,
                output=output,
                require_improvement=require_improvement,
            ),
            refused={
                "--rubric": rubric_path is not None,
                "--holdout": bool(holdouts),
                "--self": self_judge,
                f"--policy {policy}": policy != "keep-best",
            },
            form="json" if as_json else form,
            quiet=quiet,
        )
    _refuse_without_suite(
        target=target,
        candidates=candidates,
        min_pass_rate=min_pass_rate,
        require_improvement=require_improvement or None,
    )
    if rubric_path is None:
        raise UsageError(
            "improve needs a rubric, or a suite of tasks",
            hint="honestone improve ARTIFACT (--rubric RUBRIC | --suite SUITE) --worker WORKER",
        )
    judging = shared.take_judging(options)
    with Progress(quiet=quiet) as progress:
        job = Job(
            artifact,
            rubric_path,
            judging,
            worker_name=worker_name,
            holdouts=holdouts,
            policy=policy,
            rounds=rounds,
            worker_timeout=worker_timeout,
            max_diff=max_diff,
            self_judge=self_judge,
            dry_run=dry_run,
            output=output,
            progress=progress,
        )
        return job.run("json" if as_json else form)


def _refuse_without_suite(**given: Any) -> None:
    for name, value in given.items():
        if value is not None:
            raise UsageError(
                f"--{name.replace('_', '-')} is about the tasks of a suite, but none is named",
                hint="honestone improve ARTIFACT --suite SUITE --worker WORKER",
            )


def _inside(artifact: Path, excluded: Collection[Path]) -> tuple[str, ...]:
    """The names within a folder artifact of what is no part of it: a worker's model is not shown its rubric."""
    root = artifact.resolve()
    return tuple(path.relative_to(root).as_posix() for path in excluded if root.is_dir() and path.is_relative_to(root))


def retried(model: Model) -> Callable[[Prompt], Awaitable[Completion]]:
    """Calls to a worker's model, tried again while that is worth it."""
    from honestone.engine.retrying import with_retries

    async def ask(prompt: Prompt) -> Completion:
        return await with_retries(lambda: model.complete(prompt))

    return ask


class Job:
    """One `improve` command: everything is read and checked before the first call."""

    def __init__(
        self,
        artifact: Path,
        rubric_path: Path,
        judging: JudgingOptions,
        *,
        worker_name: str | None,
        holdouts: tuple[str, ...],
        policy: str,
        rounds: int | None,
        worker_timeout: float | None,
        max_diff: int | None,
        self_judge: bool,
        dry_run: bool,
        output: Path | None,
        progress: Progress,
    ) -> None:
        from honestone.adapters.registry import WORKER_TIMEOUT, make_worker
        from honestone.engine.panel_judgement import require_apart
        from honestone.system.files import load_artifact

        self._judging = judging
        self._progress = progress
        self._settings = settings_here()
        self._policy = POLICIES[policy]
        rubric = load_rubric(rubric_path, threshold=judging.threshold, floor=judging.floor, note=progress.note)
        self._scorer = Scorer(rubric, judging.rule)
        size = max_bytes(judging, self._settings)
        self._checker = make_checker(rubric, rubric_path, judging, [artifact])
        exclude = never_judged(rubric, rubric_path, self._checker)
        self._loaded = load_artifact(artifact, exclude=exclude, max_bytes=size)
        self._place = place_of(
            artifact,
            exclude,
            output=output,
            dry_run=dry_run,
            size=size,
            max_diff=int(limit(max_diff, self._settings, "max_diff", MAX_DIFF)),
        )
        preflight_checks(rubric, self._checker, self._loaded.version)
        context = make_context(
            judging,
            self._settings,
            worker_timeout=worker_timeout or WORKER_TIMEOUT,
            artifact=artifact.resolve(),
            rubric_folder=rubric_path.parent.resolve(),
            fixes=_fixes(rubric),
            ask=retried,
            hidden=_inside(artifact, exclude),
        )
        self._worker = make_worker(worker_name or _default_worker(rubric), context)
        own = self._self_seat(worker_name or "", context) if self_judge else None
        names = _panel_names(judging, rubric, self._settings, own)
        self._panel = make_seats(names, context, looks=judging.looks) or ((own,) if own else ())
        self._fallback = own if names else None
        self._holdouts = make_seats(holdouts, context) if rubric.asks_judges else ()
        require_apart(self._panel, self._holdouts)
        judges = (*self._panel, *((self._fallback,) if self._fallback else ()))
        size_now = [(artifact, self._loaded.version.size)]
        refuse_too_big(judges, rubric, judging, size_now, lambda _: self._loaded.version)
        self._contract = contract_for(rubric, judges, self._checker, judging)
        self._limits = self._all_limits(rounds)
        self._rubric = rubric
        self._rubric_name = printable(rubric_path)

    def _self_seat(self, worker: str, context: AdapterContext) -> Seat:
        from honestone.adapters.registry import make_self_judge

        judge = make_self_judge(worker, context)
        if judge is None:
            raise UsageError(
                f"--self has the worker's own model judge, but `{worker or 'fix'}` is no model that is here",
                hint="name a --judge, or a worker that is an agent CLI or PROVIDER:MODEL",
            )
        from honestone.engine.panel import Seat

        return Seat(id=judge.id, judge=judge, kind="self")

    def _all_limits(self, rounds: int | None) -> LoopLimits:
        count = int(limit(rounds, self._settings, "rounds", EFFORTS[self._judging.effort][2]))
        # Every version asked twice (a re-ask is a call), and every consultation of the held-out judges.
        calls = 2 * (count + 1) * len(self._panel) + 2 * 3 * len(self._holdouts)
        usd = self._judging.max_usd
        return LoopLimits(
            rounds=count,
            calls=int(limit(self._judging.max_calls, self._settings, "max_calls", calls)),
            minutes=limit(self._judging.max_minutes, self._settings, "max_minutes", 240),
            usd=usd if usd is not None else self._settings.limits.get("max_usd"),
        )

    @property
    def _subject(self) -> str:
        return printable(self._place.path)

    @property
    def _identity(self) -> str:
        """A run belongs to artifact, contract, worker, holdouts, limits and policy."""
        return digest_json(self._belongs_to())

    def _belongs_to(self) -> dict[str, Any]:
        return {
            "kind": "improve",
            "path": self._subject,
            "contract": self._contract.id,
            "worker": dict(self._worker.identity),
            "holdouts": [seat.identity for seat in self._holdouts],
            "limits": self._limits.to_plain(),
            "policy": self._policy.name,
            "deliver": printable(self._place.output)
            if self._place.output
            else "nowhere"
            if self._place.dry_run
            else "in place",
        }

    def _new_state(self, original: str) -> LoopState:
        panel = ((CHECK,) if self._rubric.has_checks else ()) + tuple(seat.id for seat in self._panel)
        return LoopState(
            scorer=self._scorer,
            panel=panel,
            holdouts=tuple(seat.id for seat in self._holdouts),
            limits=self._limits,
            original=original,
            workable=self._workable,
        )

    def _workable(self, line: Line) -> bool:
        return self._worker.can_work_on(fixes_for(line))

    def run(self, form: str) -> int:
        with open_store_for(self._settings) as store:
            if not store.lock(digest_json({"path": self._subject})):
                raise UsageError(
                    f"another honestone is improving {self._place.named!r} right now",
                    hint="wait for it, or stop it first",
                )
            run, state, log = self._resume(store) or self._start(store)
            return self._work(store, run, state, log, form)

    # -- starting and taking up again

    def _start(self, store: Store) -> tuple[str, LoopState, list[Event]]:
        from honestone.engine.versions import version_blobs

        version: Version = self._loaded.version
        for note in self._loaded.notes:
            self._progress.note(note)
        judged_by = self._judged_by()
        self._progress.note(self._preflight())
        plain = {
            "type": events.STARTED,
            "kind": "improve",
            "artifact": {"path": self._place.named, "digest": version.digest, "is_folder": version.is_folder},
            "contract": dict(self._contract.document),
            "contract_id": self._contract.id,
            "policy": self._policy.name,
            "worker": self._worker.id,
            "limits": self._limits.to_plain(),
            **judged_by,
        }
        first = event_from_plain(plain)
        store.keep_blobs(version_blobs(version))
        run = store.start_run(
            kind="improve", subject=self._subject, identity=self._identity, contract=self._contract.id, first=first
        )
        return run, self._new_state(version.digest), [first]

    def _judged_by(self) -> dict[str, Any]:
        """What the first event says of how versions are judged."""
        from honestone.engine.evaluate import packing_notes

        packed = self._packed()
        for note in packing_notes(packed):
            self._progress.note(note)
        return {
            "rubric": to_plain(self._rubric),
            "rubric_path": self._rubric_name,
            "rule": str(self._judging.rule),
            "panel": [seat.id for seat in self._panel],
            "holdouts": [seat.id for seat in self._holdouts],
            **({"packed": packed} if packed else {}),
        }

    def _packed(self) -> dict[str, Any]:
        """What each judge is shown of the original, where that is too big for it."""
        from honestone.core.question import Question, asked_criteria
        from honestone.engine.evaluate import shown_in_part

        artifact = Artifact(self._place.named, self._loaded.version)
        question = Question(artifact=artifact, criteria=asked_criteria(self._rubric))
        return shown_in_part(self._panel, question)

    def _preflight(self) -> str:
        limits = self._limits
        money = f", {limits.usd:g} USD" if limits.usd is not None else ""
        judges = ", ".join(seat.id for seat in self._panel) or "checks alone"
        held = f"; held out: {', '.join(seat.id for seat in self._holdouts)}" if self._holdouts else ""
        return (
            f"at most {limits.rounds} round{'s' if limits.rounds > 1 else ''}, {limits.calls} judge calls, {limits.minutes:g} minutes{money}; "
            f"worker {self._worker.id}; judged by {judges}{held}"
        )

    def _resume(self, store: Store) -> tuple[str, LoopState, list[Event]] | None:
        """The unfinished run of this identity. Another contract on the same artifact is refused, with what differs."""
        from honestone.engine.place import require_resumable

        unfinished = [
            r for r in store.runs() if r.kind == "improve" and r.subject == self._subject and r.finished is None
        ]
        if self._judging.fresh:
            for old in unfinished:
                closing = {
                    "type": events.FINISHED,
                    "result": str(Result.INTERRUPTED),
                    "reason": "started over with --fresh",
                }
                store.finish_run(old.id, str(Result.INTERRUPTED), closing)
            return None
        same = next((r for r in unfinished if r.identity == self._identity), None)
        if same is None:
            for old in unfinished:
                self._require_same_contract(store, old)
            return None
        log: list[Event] = store.events(same.id)
        state = fold(self._new_state(log[0]["artifact"]["digest"]), log[1:])
        require_resumable(self._place, state, store, same.id)
        self._progress.note(f"going on with run {same.id} ({len(state.rounds)} rounds so far)")
        return same.id, state, log

    def _require_same_contract(self, store: Store, old: Any) -> None:
        if old.contract == self._contract.id:
            return
        first = store.events(old.id)[0]
        changed = differences(first["contract"], dict(self._contract.document))
        raise ContractMismatch(
            f"run {old.id} on {self._place.named!r} is unfinished and was judged under another contract:\n  "
            + "\n  ".join(changed[:12]),
            hint="undo that to go on with the run, or start over under the new contract with --fresh",
        )

    # -- working

    def _work(self, store: Store, run: str, state: LoopState, log: list[Event], form: str) -> int:
        from honestone.engine.meter import Meter, total_spend

        resumed = len(log) > 1
        meter = Meter(
            calls=self._limits.calls,
            minutes=self._limits.minutes,
            usd=self._limits.usd,
            clock=time.monotonic,
            before=total_spend(log),
            seconds_before=max((e.get("seconds", 0.0) for e in log), default=0.0),
        )
        narrator = Narrator(self._progress, state, log)
        work = self._shell(
            run=run,
            state=state,
            policy=self._policy,
            place=self._place,
            worker=self._worker,
            store=store,
            meter=meter,
            observer=narrator,
        )
        try:
            stop = run_to_end(work.work, work.close)
            code = exit_code(stop.result)
        except KeyboardInterrupt:
            self._progress.close()
            self._progress.note(f"interrupted; the same command goes on with run {run}:")
            self._progress.note(f"  {same_command()}")
            code = exit_code(Result.INTERRUPTED)
        self._progress.close()
        document, report = improvement_report(
            store, run, state=state, log=narrator.log, resumed=resumed, here=meter.spent, save=True
        )
        write(render_improvement(document, form, report=report))
        return code

    def _shell(self, **shell: Any) -> LoopRunner[Any]:
        from honestone.engine.judging import Evaluator
        from honestone.engine.loop_runner import LoopRunner
        from honestone.engine.panel_judgement import PanelJudgement

        panel = make_panel(
            (*self._panel, *self._holdouts), shell["store"], shell["meter"], self._judging, fallback=self._fallback
        )
        evaluator = Evaluator(self._rubric, self._checker, panel)
        return LoopRunner(judgement=PanelJudgement(evaluator, panel=self._panel, holdouts=self._holdouts), **shell)


class Narrator:
    """Keeps the log of this process and tells each round as it ends."""

    def __init__(self, progress: Progress, state: LoopState, log: list[Event]) -> None:
        self._progress = progress
        self._state = state
        self.log = log

    def note(self, text: str) -> None:
        self._progress.note(text)

    def progress(self, done: int, total: int, doing: str) -> None:
        self._progress.progress(done, total, doing)

    def event(self, event: Event) -> None:
        self.log.append(event)
        if event["type"] in (events.ACCEPTED, events.REJECTED):
            from honestone.report.improvement import round_document
            from honestone.report.improvement_text import round_text

            proposal = next(e for e in reversed(self.log) if isinstance(e, events.EditProposed))
            document = round_document(self._state, self._state.rounds[-1], proposal)
            self._progress.show(round_text(document, style_for(self._progress.stream)))


def _fixes(rubric: Rubric) -> tuple[str, ...]:
    found = [item.fix for _, item in rubric.questions() if item.fix]
    found += [criterion.fix for criterion, _ in rubric.walk() if criterion.fix]
    return tuple(dict.fromkeys(found))


def _default_worker(rubric: Rubric) -> str:
    if _fixes(rubric):
        return "fix"
    raise UsageError(
        "improve needs a worker: who shall edit?",
        hint="--worker cmd:COMMAND, or give the rubric's items `fix:` commands and use --worker fix",
    )


def _panel_names(judging: JudgingOptions, rubric: Rubric, settings: Settings, own: Seat | None) -> tuple[str, ...]:
    """The panel; with `--self` there may be none."""
    if own is None or judging.judges:
        return choose_judges(judging, rubric, settings)
    try:
        return choose_judges(judging, rubric, settings)
    except CouldNotJudge:
        return ()


def place_of(
    artifact: Path, exclude: frozenset[Path], *, output: Path | None, dry_run: bool, size: int, max_diff: int
) -> Any:
    """Where it lies, with what is beside it. Raises UsageError for an `--output` that would destroy something."""
    from honestone.engine.place import Place

    if output is not None and output.resolve() == artifact.resolve():
        raise UsageError("--output is the artifact itself", hint="leave --output out to improve it in place")
    if output is not None and output.resolve() in exclude:
        raise UsageError(f"--output {str(output)!r} is the rubric, or a file that judges", hint="name another --output")
    root = artifact.resolve()
    inside = [path for path in sorted(exclude) if root.is_dir() and root in path.parents and path.is_file()]
    beside = {path.relative_to(root).as_posix(): Entry(path.read_bytes()) for path in inside}
    return Place(
        path=root,
        named=printable(artifact),
        exclude=exclude,
        siblings=beside,
        output=output,
        dry_run=dry_run,
        max_bytes=size,
        max_diff=max_diff,
    )
