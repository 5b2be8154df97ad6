"""`honestone improve ARTIFACT --suite SUITE`: the loop with tasks in place of criteria."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.app.setup import (
    EFFORTS,
    JudgingOptions,
    limit,
    make_context,
    make_panel,
    make_seats,
    max_bytes,
    settings_here,
)
from honestone.app.suites.plan import SuitePlan, SuiteRequest, plan_suite
from honestone.app.suites.side import SideRun
from honestone.app.suites.skill_loading import skill_folder, skill_of
from honestone.app.suites.skills import not_loaded, results_of
from honestone.app.suites.subject import SuiteSubject
from honestone.app.terminal import terminal_person
from honestone.app.workspace import Workspace
from honestone.cli.improve import Job, place_of, retried
from honestone.cli.progress import Progress
from honestone.core.artifact import Artifact, Version
from honestone.core.ballot import CHECK
from honestone.core.contract import Contract
from honestone.core.errors import UsageError
from honestone.core.loop.proposal import MAX_DIFF
from honestone.core.loop.state import LoopLimits
from honestone.core.loop.suite_loop import (
    STEERING,
    TEST,
    TRAIN,
    VAL,
    KeepWhatHelps,
    Splits,
    SuiteLoopState,
    started_facts,
    state_from,
)
from honestone.core.numbers import ONE, exact
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.suite.attempts import Status
from honestone.core.suite.case import Case
from honestone.core.suite.record import SuiteRecord, read_record
from honestone.engine.loop_runner import LoopRunner
from honestone.engine.meter import Meter, Spend
from honestone.engine.task_judgement import SplitRun, TaskJudgement
from honestone.report.documents import plain
from honestone.report.suite import panel_states, suite_flags
from honestone.system.files import load_artifact, printable

if TYPE_CHECKING:
    from honestone.engine.panel import Seat
    from honestone.ports import Observer, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTask:
    """The options of `improve --suite` beside those about judging, as given."""

    worker: str | None
    target: str | None = None
    candidates: int = 1
    min_pass_rate: float | None = None
    require_improvement: bool = False
    rounds: int | None = None
    worker_timeout: float | None = None
    max_diff: int | None = None
    dry_run: bool = False
    output: Path | None = None


def improve_suite(
    artifact: Path,
    suite: Path,
    judging: JudgingOptions,
    task: SuiteTask,
    *,
    refused: Mapping[str, bool],
    form: str,
    quiet: bool,
) -> int:
    """`refused` are options of the other loop, and whether each was given."""
    for name, given in refused.items():
        if given:
            raise UsageError(f"{name} cannot go with --suite", hint=_INSTEAD.get(name, _RULE))
    with Progress(quiet=quiet) as progress:
        return SuiteJob(artifact, suite, judging, task, progress).run(form)


_RULE = "over a suite a change is kept when val did not fall, and train or val rose"
_INSTEAD = {
    "--rubric": "the suite's cases have rubrics of their own",
    "--holdout": "the suite's test split certifies",
    "--self": "the suite's own checks and judges decide",
}


class SuiteJob(Job):
    """One `improve --suite` command: everything is read and checked before the first run."""

    def __init__(
        self, artifact: Path, suite: Path, judging: JudgingOptions, task: SuiteTask, progress: Progress
    ) -> None:
        self._judging = judging
        self._progress = progress
        self._settings = settings_here()
        self._policy = KeepWhatHelps()
        self._candidates = task.candidates
        self._strict = task.require_improvement
        self._least = ONE if task.min_pass_rate is None else exact(task.min_pass_rate)
        request = SuiteRequest(
            suite=suite,
            judging=judging,
            artifact=artifact,
            target=task.target,
            min_pass_rate=None if task.min_pass_rate is None else self._least,
        )
        self._plan = plan_suite(Workspace.at(Path(), person=terminal_person), request, progress)
        self._suite_name = printable(suite)
        self._splits = _splits(self._plan, suite)
        self._is_skill = self._plan.subject.skill is not None
        self._load(skill_folder(artifact) if self._is_skill else artifact, task)
        self._worker = self._make_worker(task)
        self._panel, self._holdouts, self._fallback = (), (), None
        # A panel can read the edit of a skill before an agent is run with it; judges found by themselves are not asked.
        names = judging.judges if self._is_skill and task.candidates > 1 else ()
        self._edit_seats = make_seats(names, make_context(judging, self._settings))
        self._contract = self._make_contract()
        self._limits = self._suite_limits(task.rounds)

    def _load(self, path: Path, task: SuiteTask) -> None:
        """The artifact without the suite: the worker is given no copy of what it must not see."""
        size = max_bytes(self._judging, self._settings)
        plan, root = self._plan, path.resolve()
        self._fixtures = plan.source.base.resolve() / "fixtures"
        hidden = plan.files
        judging = {file for file in plan.judging_files() - hidden if file != root}
        place = place_of(
            path,
            hidden | judging,
            output=task.output,
            dry_run=task.dry_run,
            size=size,
            max_diff=int(limit(task.max_diff, self._settings, "max_diff", MAX_DIFF)),
        )
        inside = [file for file in (*hidden, self._fixtures) if file.is_relative_to(root) and file != root]
        self._place = replace(
            place,
            siblings={},
            off_limits=tuple(sorted(file.relative_to(root).as_posix() for file in inside)),
            must_hold=(SKILL_FILE,) if self._is_skill else (),
        )
        self._loaded = load_artifact(path, exclude=self._place.exclude, max_bytes=size)

    def _make_worker(self, task: SuiteTask) -> Any:
        from honestone.adapters.registry import WORKER_TIMEOUT, make_worker

        if task.worker is None:
            raise UsageError(
                "improve needs a worker: who shall edit?", hint="--worker cmd:COMMAND, or a model or an agent CLI"
            )
        context = make_context(
            self._judging,
            self._settings,
            worker_timeout=task.worker_timeout or WORKER_TIMEOUT,
            artifact=self._place.path,
            rubric_folder=self._plan.source.base.resolve(),
            ask=retried,
            hidden=self._place.off_limits,
        )
        worker = make_worker(task.worker, context)
        if not worker.can_work_on(()):
            raise UsageError(
                f"the worker `{task.worker}` runs a rubric's fix commands, and tasks have none",
                hint="--worker cmd:COMMAND, or a model or an agent CLI",
            )
        return worker

    def _make_contract(self) -> Contract:
        """What decides what a pass rate means: all of what judges, which task is in which split, and the bar."""
        plan = self._plan
        return Contract(
            document={
                **plan.contract.document,
                "cases": dict(plan.case_contracts),
                "splits": self._splits.ids,
                "min_pass_rate": str(self._least),
                **({"require_improvement": True} if self._strict else {}),
            }
        )

    # -------------------------------------------------------------------------------------------------------- limits

    def _suite_limits(self, rounds: int | None) -> LoopLimits:
        judging = self._judging
        count = int(limit(rounds, self._settings, "rounds", EFFORTS[judging.effort][2]))
        # Every reply may have to be asked for twice.
        calls = 2 * self._most(count, self._plan.judge_calls)
        calls += 2 * count * self._candidates * len(self._edit_seats)
        usd = judging.max_usd
        return LoopLimits(
            rounds=count,
            calls=int(limit(judging.max_calls, self._settings, "max_calls", calls)),
            minutes=limit(judging.max_minutes, self._settings, "max_minutes", 240),
            usd=usd if usd is not None else self._settings.limits.get("max_usd"),
        )

    def _most(self, rounds: int, cost: Any) -> int:
        """The most that can be spent on every version that may come up, by what a split costs."""
        train, val, test = (cost(self._splits.of(name)) for name in (TRAIN, VAL, TEST))
        return int(val + train + rounds * (val + self._candidates * train) + 2 * test)

    def _preflight(self) -> str:
        limits, splits = self._limits, self._splits
        money = f", {limits.usd:g} USD" if limits.usd is not None else ""
        runs = self._most(limits.rounds, lambda cases: sum(case.attempts for case in cases))
        proposals = f" of {self._candidates} proposals" if self._candidates > 1 else ""
        sizes = ", ".join(f"{len(splits.of(name))} in {name}" for name in (TRAIN, VAL, TEST))
        return (
            f"at most {limits.rounds} round{'s' if limits.rounds > 1 else ''}{proposals}, {runs} runs of"
            f" {self._plan.target_name}, {limits.calls} judge calls, {limits.minutes:g} minutes{money};"
            f" worker {self._worker.id}; tasks: {sizes}"
        )

    # ------------------------------------------------------------------------------------------------------ the loop

    def _belongs_to(self) -> dict[str, Any]:
        """As every loop, and to what does the tasks."""
        plan = self._plan
        everything = plan.identity(replace(plan.subject, version=None, skill=None), plan.cases)
        return {**super()._belongs_to(), "tasks": everything, "candidates": self._candidates}

    def _new_state(self, original: str) -> SuiteLoopState:
        return state_from({**self._facts, "artifact": {"digest": original}}, self._limits)

    @cached_property
    def _facts(self) -> dict[str, Any]:
        title = self._plan.source.suite.title or Path(self._suite_name).name
        return started_facts(
            self._splits, title=title, least=self._least, candidates=self._candidates, strict=self._strict
        )

    def _judged_by(self) -> dict[str, Any]:
        plan = self._plan
        for note in plan.notes:
            self._progress.note(note)
        return {
            **self._facts,
            "suite": {"path": self._suite_name, "dialect": plan.source.dialect},
            "target": plan.target_name,
            "mock": plan.is_mock,
            "panel": list(STEERING),
            "holdouts": [TEST],
            "rule": str(self._judging.rule),
        }

    def _shell(self, **shell: Any) -> LoopRunner[Any]:
        runner = _Sides(
            plan=self._plan,
            store=shell["store"],
            observer=self._progress,
            splits=self._splits,
            loop=shell["run"],
            folder=self._place.path.name,
            leave_out=self._left_out(),
        )
        kind = "an agent skill (instructions that an agent is given)" if self._is_skill else "a prompt"
        edits = None
        if self._edit_seats:
            edits = _Edits(seats=self._edit_seats, store=shell["store"], judging=self._judging, named=self._place.named)
        return LoopRunner(judgement=TaskJudgement(runner, train=self._splits.train, kind=kind, edits=edits), **shell)

    def _left_out(self) -> tuple[str, ...]:
        """What of the artifact's folder is never installed."""
        root = self._place.path
        is_inside = self._fixtures.is_relative_to(root) and self._fixtures != root
        return (self._fixtures.relative_to(root).as_posix(),) if is_inside else ()


def _splits(plan: SuitePlan, suite: Path) -> Splits:
    try:
        return Splits.among(plan.cases)
    except UsageError as error:
        raise UsageError(f"{printable(suite)}: {error.message}", hint=error.hint) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """Runs of splits as runs of the suite in the store. Each belongs to one run of the loop, so that none is borrowed."""

    plan: SuitePlan
    store: Store
    observer: Observer
    splits: Splits
    loop: str
    folder: str
    leave_out: Sequence[str]

    async def run(self, version: Version, split: str, meter: Meter) -> SplitRun:
        cases = self.splits.of(split)
        subject = self._subject(version)
        record = self._finished(subject, cases)
        is_new = record is None
        left = _left_of(meter)
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
            flags=[*suite_flags(record), *self._not_loaded(record)],
            cut_short=_cut_short(record, left, meter),
        )

    async def close(self) -> None:
        await self.plan.close()

    def _not_loaded(self, record: SuiteRecord) -> list[str]:
        return not_loaded(record) if self.plan.subject.is_isolated else []

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
class _Edits:
    """The panel of `stage rank`: yes/no questions about an edit, and its score the share of yes."""

    seats: tuple[Seat, ...]
    store: Store
    judging: JudgingOptions
    named: str

    async def score(
        self, before: Version, after: Version, failed: Sequence[str], meter: Meter
    ) -> tuple[Fraction | None, Spend]:
        from honestone.adapters.checks import CheckRunner
        from honestone.core.scorecard import Scorer
        from honestone.core.skill.edit_rubric import EDIT_RUBRIC, failures_in_words, shown_edit
        from honestone.engine.judging import Evaluator

        left = _left_of(meter)
        panel = make_panel(self.seats, self.store, left, self.judging)
        evaluator = Evaluator(EDIT_RUBRIC, CheckRunner(Path.cwd()), panel)
        shown = Artifact(self.named, shown_edit(before, after))
        judged = await evaluator.judge(shown, input=failures_in_words(list(failed)))
        return Scorer(EDIT_RUBRIC, self.judging.rule).card(judged.ballots).score, judged.spend

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()


def _left_of(meter: Meter) -> Meter:
    """A meter for one side that grants what the loop's has left."""
    used = meter.before.judge_calls + meter.spent.judge_calls
    known = (meter.before.usd or 0.0) + (meter.spent.usd or 0.0)
    return Meter(
        calls=max(0, meter.calls - used),
        minutes=max(0.0, meter.minutes - meter.seconds / 60),
        usd=None if meter.usd is None else max(0.0, meter.usd - known),
        clock=meter.clock,
    )


def _cut_short(record: SuiteRecord, left: Meter, whole: Meter) -> str | None:
    """The limit that came before every task had its result, in the words of the loop's own limits."""
    statuses = {result.status for result in record.results.values()}
    if not statuses & {Status.SKIPPED, Status.INCONCLUSIVE}:
        return None
    if left.exhausted() is not None:
        return (
            f"--max-usd {whole.usd:g} is used up"
            if left.usd is not None and _is_spent(left)
            else (f"--max-minutes {whole.minutes:g} are used up")
        )
    asks = Status.SKIPPED in statuses or any(ballot.judge != CHECK for ballot in record.ballots())
    return f"--max-calls {whole.calls} are used up" if asks and left.no_call_left() else None


def _is_spent(left: Meter) -> bool:
    return (left.before.usd or 0.0) + (left.spent.usd or 0.0) >= (left.usd or 0.0)


__all__ = ["SuiteJob", "SuiteTask", "improve_suite"]
