"""A suite made ready to be run: what was asked for, read and checked, before anything is spent; then one side or two."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.app.setup import (
    JudgingOptions,
    checks_of,
    choose_judges,
    limit,
    make_context,
    make_panel,
    make_seats,
    max_bytes,
    open_store_for,
    settings_here,
    with_bars,
)
from honestone.app.stopping import run_to_end, same_command
from honestone.app.suites.baseline import Baseline, find_baseline
from honestone.app.suites.choice import Choice, choose_cases
from honestone.app.suites.comparing import compare_reports, compared_fields
from honestone.app.suites.skill_loading import load_skill, looks_like_skill, skill_folder
from honestone.app.suites.subject import Subject
from honestone.cli.progress import Progress
from honestone.core import events
from honestone.core.contract import Contract, digest_json, suite_contract
from honestone.core.errors import FileError, Interrupted, UsageError
from honestone.core.events import Event
from honestone.core.rubric import Rubric, to_plain
from honestone.core.scorecard import Scorer
from honestone.core.suite.case import AttemptRule, Case, case_document, case_to_plain
from honestone.core.suite.comparison import BASELINE_GATES
from honestone.engine.judging import Evaluator
from honestone.engine.meter import Meter, total_spend
from honestone.formats.source import SuiteSource
from honestone.report.suite_documents import read_log, rubric_key, suite_document, suite_verdict
from honestone.system.files import load_artifact, printable
from honestone.system.private import sweep
from honestone.system.workspace import remove, require_workspace

if TYPE_CHECKING:
    from honestone.app.suites.skill_session import BaselineCache
    from honestone.ports import Store, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """The options of `eval SUITE` beside those about judging, as given."""

    artifact: Path | None = None
    subject: Subject | None = None
    target: str | None = None
    choice: Choice
    attempts: int | None = None
    attempt_rule: str | None = None
    concurrency: int | None = None
    target_timeout: float | None = None
    min_pass_rate: Fraction | None = None
    baseline: str | None = None
    fail_on: tuple[str, ...] = ()
    across_contracts: bool = False
    update_baseline: bool = False
    require_improvement: bool = False
    accept_loss: bool = False
    locked: bool = False
    output: Path | None = None
    cache: BaselineCache | None = None
    against: Baseline | None = None
    """The baseline itself, where it is at hand, instead of its name."""
    mock: bool = False
    """Nothing is judged: every judge and check says yes, for a dry run."""


class SuiteSession:
    """Everything is read and checked when it is made; `report` runs it. `options.subject` is used instead of a path."""

    def __init__(self, path: Path, judging: JudgingOptions, options: SuiteOptions, progress: Progress) -> None:
        from honestone.formats.source import refuse_losses
        from honestone.interop.recognise import read_any_suite

        self._path = path
        self.judging = judging
        self.options = options
        self.progress = progress
        self._settings = settings_here()
        self._max_bytes = max_bytes(judging, self._settings)
        self._folder_digests: dict[Path, str] = {}
        self.source = read_any_suite(path)
        lost = refuse_losses(self.source.losses, self.source.dialect, accepted=options.accept_loss)
        self.notes = (*self.source.notes, *lost)
        self.cases = self._with_options(self.source)
        self._exclude = frozenset({path.resolve(), *(file.resolve() for file in self.source.files)})
        self.subject = self._load_subject()
        self._checker = self._make_checker()
        self._context = make_context(
            judging,
            self._settings,
            target_timeout=options.target_timeout or self._target_timeout(),
            cases=self.cases,
            target_output=self.source.suite.target.output,
            suite_folder=self.source.base,
        )
        self.target_name = self._name_target()
        self._target = self._make_target()
        self._seats = self._make_seats()
        self._contract = self._make_contract()
        self._contracts = {case.id: self._case_contract(case) for case in self.cases}
        if options.locked:
            from honestone.app.rubrics.lock import check_lock

            check_lock(path, self.whole_contract)

    # ------------------------------------------------------------------------------------------------ what is asked

    def _with_options(self, source: SuiteSource) -> tuple[Case, ...]:
        judging, options = self.judging, self.options
        cases = []
        attempts = options.attempts or judging.repeat
        for case in source.suite.cases:
            rubric = with_bars(case.rubric, threshold=judging.threshold, floor=judging.floor)
            if attempts is not None:
                case = replace(case, attempts=attempts)
            if source.dialect.startswith("task-suite"):
                case = replace(case, attempt_rule=AttemptRule.PASS_AT_K, stops_at_pass=True)
            if options.attempt_rule is not None:
                rule = AttemptRule(options.attempt_rule)
                stops = case.stops_at_pass and rule is AttemptRule.PASS_AT_K
                case = replace(case, attempt_rule=rule, stops_at_pass=stops)
            cases.append(replace(case, rubric=rubric))
        return tuple(cases)

    def _target_timeout(self) -> float:
        from honestone.adapters.registry import TARGET_TIMEOUT

        return self.source.suite.target.timeout or TARGET_TIMEOUT

    def _load_subject(self) -> Subject:
        if self.options.subject is not None:
            return self.options.subject
        named = self.options.artifact
        if named is None and self.source.suite.artifact is not None:
            named = self.source.base / self.source.suite.artifact
        if named is None:
            return Subject(path="", version=None)
        if self.source.suite.target.skill is not False and looks_like_skill(named):
            folder = skill_folder(named)
            skill = load_skill(folder, exclude=self._exclude, max_bytes=self._max_bytes)
            return Subject.of_skill(printable(folder), skill)
        if self.source.suite.target.skill:
            raise UsageError(
                f"`{named}` is to be installed as a skill, but it has no SKILL.md",
                hint="name the skill's folder, or say `skill: false`",
            )
        loaded = load_artifact(named, exclude=self._exclude, max_bytes=self._max_bytes)
        return Subject(path=printable(named), version=loaded.version)

    def _name_target(self) -> str:
        named = self.options.target or self.source.suite.target.use
        if named is not None:
            return named
        if self.subject.is_isolated:
            raise UsageError(
                f"nothing says which agent shall do the tasks of `{self._path}` with the skill",
                hint="name a --target: claude, codex, gemini, a model (openai:MODEL) or cmd:COMMAND",
            )
        if self.subject.version is None:
            raise UsageError(
                f"nothing says what shall answer the cases of `{self._path}`",
                hint="name a --target: a model (openai:MODEL), an agent CLI (claude), cmd:COMMAND, python:MODULE:FUNCTION or record:FILE",
            )
        return "identity"

    def _make_target(self) -> Target | None:
        from honestone.adapters.registry import make_target

        target = make_target(self.target_name, self._context)
        if target is not None:
            target.refuse(self.chosen())
            for note in getattr(target, "notes", ()):
                self.progress.note(note)
        elif self.subject.is_isolated:
            raise UsageError(
                "the target `identity` judges the artifact itself, and a skill answers no task",
                hint="name the agent that does the tasks: claude, codex, gemini, a model (openai:MODEL) or cmd:COMMAND",
            )
        elif self.subject.version is None:
            raise UsageError(
                "the target `identity` judges the artifact itself, but none is named", hint="--artifact PATH"
            )
        return target

    @cached_property
    def _chosen(self) -> tuple[Case, ...]:
        return choose_cases(self.cases, self.options.choice, self._last_statuses)

    def chosen(self) -> tuple[Case, ...]:
        """The cases that are run. Looked up once: `--failed` reads a recorded run for it."""
        return self._chosen

    def _last_statuses(self) -> Mapping[str, str] | None:
        """How the cases of this suite's last run ended."""
        with open_store_for(self._settings) as store:
            for info in store.runs():
                if info.kind == "suite" and info.subject == self._suite_name and info.finished:
                    log = store.events(info.id)
                    if log[0].get("side"):  # A baseline, or a split that a loop ran: nobody asked for that alone.
                        continue
                    document = suite_document(log, run=info.id)
                    return {case["id"]: case["status"] for case in document["cases"]}
        return None

    @property
    def _suite_name(self) -> str:
        return str(self._path.resolve())

    # --------------------------------------------------------------------------------------------------- judging

    @cached_property
    def _plain_rubrics(self) -> dict[str, tuple[str, dict[str, Any]]]:
        """Each case's rubric by the case's id: the key that equal rubrics share, and its plain form."""
        plain = {case.id: to_plain(case.rubric) for case in self.cases}
        return {id: (rubric_key(rubric), rubric) for id, rubric in plain.items()}

    def rubric_key(self, case: Case) -> str:
        return self._plain_rubrics[case.id][0]

    def _rubrics(self) -> dict[str, Rubric]:
        return {self.rubric_key(case): case.rubric for case in self.cases}

    def _make_checker(self) -> Any:
        from honestone.adapters.checks import CheckRunner
        from honestone.adapters.checks.mock import MockChecks

        checker = (MockChecks if self.options.mock else CheckRunner)(
            self.source.base.resolve(), sandbox=self.judging.sandbox, pass_env=self.judging.pass_env
        )
        for rubric in {id(case.rubric): case.rubric for case in self.cases}.values():
            checker.preflight(checks_of(rubric))
        return checker

    def _make_seats(self) -> Any:
        asking = next((case.rubric for case in self.chosen() if case.rubric.asks_judges and not case.skip), None)
        if asking is None:
            return ()
        names = choose_judges(self.judging, asking, self._settings)
        looks = 2 if self.judging.effort == "thorough" else 1
        return make_seats(names, self._context, looks=looks)

    def _make_contract(self) -> Contract:
        judging = self.judging
        return suite_contract(
            judges=[seat.identity for seat in self._seats],
            rule=str(judging.rule),
            options={
                "evidence": judging.evidence,
                "ask": judging.ask,
                "pack": judging.pack,
                "threshold": judging.threshold,
                "floor": judging.floor,
            },
        )

    def _case_contract(self, case: Case) -> str:
        return digest_json(self._case_document(case))

    def _case_document(self, case: Case) -> dict[str, Any]:
        checks = [dict(self._checker.identity(check)) for check in checks_of(case.rubric)]
        return {**case_document(case, workspace=self._workspace_digest(case)), "checks": checks}

    @property
    def whole_contract(self) -> Contract:
        """What `suite lock` holds fast: what the cases share and what each of them asks."""
        cases = [{"id": case.id, **self._case_document(case)} for case in self.cases]
        return Contract(document={**self._contract.document, "cases": cases})

    @property
    def contract(self) -> Contract:
        """What its cases share."""
        return self._contract

    @property
    def case_contracts(self) -> Mapping[str, str]:
        return self._contracts

    @property
    def files(self) -> frozenset[Path]:
        """The real paths of the suite, of the files it includes, and of its `fixtures/`: no part of any artifact."""
        fixtures = self.source.base.resolve() / "fixtures"
        return self._exclude | {path.resolve() for path in fixtures.rglob("*") if path.is_file()}

    def judging_files(self) -> frozenset[Path]:
        """The real paths of the programs, tests and schemas that its checks are made of."""
        checks = [check for rubric in self._rubrics().values() for check in checks_of(rubric)]
        return frozenset(path.resolve() for path in self._checker.judging_files(checks))

    def _workspace_digest(self, case: Case) -> str | None:
        """Of the files that a case's workspace copies. Raises FileError with the case's place when they are not there."""
        if case.workspace is None:
            return None
        try:
            require_workspace(case.workspace, self.source.base)
            if case.workspace.copy is None:
                return None
            return self._folder_digest(self.source.base / case.workspace.copy)
        except FileError as error:
            raise FileError(
                f"case `{case.id}`: {error.message}", place=self.source.places.get(case.id), hint=error.hint
            ) from None

    def _folder_digest(self, folder: Path) -> str:
        """Read once, however many cases copy it."""
        if folder not in self._folder_digests:
            loaded = load_artifact(folder, max_bytes=self._max_bytes)
            self._folder_digests[folder] = loaded.version.digest
        return self._folder_digests[folder]

    # --------------------------------------------------------------------------------------------------- running

    def report(self) -> dict[str, Any]:
        """Runs the cases, the baseline's first where there is one to run, and gives `honestone.report/1`."""
        chosen = self.chosen()
        sweep(remove)
        with open_store_for(self._settings) as store:
            baseline = self._find_baseline(store)
            if baseline is not None and baseline.subject is not None:
                self._require_two_sides()
            if self.subject.is_isolated:
                from honestone.app.suites.skill_session import skill_report

                return skill_report(self, store, chosen, baseline)
            self.say_what_it_costs(chosen, 2 if baseline is not None and baseline.subject is not None else 1)
            if baseline is not None and baseline.subject is not None:
                return self._run_both(store, baseline, baseline.subject, chosen)
            if baseline is not None and baseline.is_same:
                why = f"{self.subject.path} is the same at {baseline.name}: its run is compared with itself"
                self.notes = (*self.notes, why)
                self.progress.note(why)
            before = baseline.report if baseline is not None else None
            return self.run_side(store, self.subject, chosen, self._comparing(before, baseline))

    def _run_both(self, store: Store, baseline: Baseline, other: Subject, chosen: Sequence[Case]) -> dict[str, Any]:
        """The baseline's run, then this one, under one allowance.

        The baseline's is closed last: killed in between, the same command finds it complete and runs nothing again.
        """
        calls = 2 * self.judge_calls(chosen)
        first = self._meter(calls)
        run = self._work_side(store, other, chosen, first)
        before = suite_document(store.events(run), run=run)
        report = self.run_side(
            store,
            self.subject,
            chosen,
            self._comparing(before, baseline),
            meter=self._meter(calls, after=store.events(run)),
        )
        self._finish(store, run, first.seconds, None)
        return report

    def _meter(self, calls: int, *, after: Sequence[Event] = ()) -> Meter:
        """The limits of one command, of which a run before it has used its part. `calls` is what it needs without retries."""
        return Meter(
            calls=self._max_calls(calls),
            minutes=limit(self.judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=self.judging.max_usd if self.judging.max_usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
            before=total_spend(after),
        )

    def _comparing(
        self, before: dict[str, Any] | None, baseline: Baseline | None
    ) -> Callable[[dict[str, Any]], dict[str, Any]] | None:
        """What a finished run's report is completed with, beside its baseline's."""
        if baseline is None or (before is None and not baseline.is_same):
            return None

        def fields(document: dict[str, Any]) -> dict[str, Any]:
            then = document if before is None else before
            found = compare_reports(
                then,
                document,
                gates=self.options.fail_on or BASELINE_GATES,
                across=self.options.across_contracts,
                require_improvement=self.options.require_improvement,
            )
            told = compared_fields(found, then, document, min_given=self.options.min_pass_rate is not None)
            return {**told, "baseline": {"name": baseline.name, "run": then["run"]}}

        return fields

    @property
    def at_once(self) -> int:
        """Cases at a time: what was asked for, else the suite's word, else the settings'; never more than the target bears."""
        asked = self.options.concurrency or self.source.suite.concurrency
        number = asked or int(self._settings.limits.get("concurrency", 8))
        bears = (self._settings.targets.get(self.target_name) or {}).get("concurrency")
        return min(number, int(bears)) if bears else number

    def say_what_it_costs(self, chosen: Sequence[Case], sides: int) -> None:
        runnable = [case for case in chosen if case.skip is None]
        attempts = sum(case.attempts for case in runnable)
        parts = [f"{len(runnable)} case{'s' if len(runnable) != 1 else ''}"]
        each = {case.attempts for case in runnable}
        if len(each) > 1:
            parts = [f"{attempts} attempts at {parts[0]}"]
        elif attempts != len(runnable):
            parts.append(f"{each.pop()} attempts")
        if sides == 2:
            parts.append("2 sides")
        judges = ", ".join(seat.id for seat in self._seats)
        asked = sum(case.attempts for case in chosen if case.rubric.asks_judges and case.skip is None)
        calls = asked * len(self._seats) * sides
        most = attempts * sides
        runs = (
            f"up to {most} run{'s' if most != 1 else ''} of {self.target_name}"
            if self._target is not None
            else "no target runs"
        )
        said = f"{' x '.join(parts)}: {runs}"
        if self._seats:
            said += f", {calls} judge call{'s' if calls != 1 else ''} ({judges}), at most {self._max_calls(calls)} with retries"
        self.progress.note(said)
        for note in self.notes:
            self.progress.note(note)

    def judge_calls(self, cases: Sequence[Case]) -> int:
        """How often judges are asked on one side, without retries."""
        return sum(case.attempts for case in cases if case.rubric.asks_judges) * len(self._seats)

    @property
    def is_mock(self) -> bool:
        """Whether anything here only pretends: the target, a judge, or all of it."""
        pretends = any(seat.identity.get("kind") == "mock" for seat in self._seats)
        return self.options.mock or self.target_name == "mock" or pretends

    def _max_calls(self, calls: int) -> int:
        return int(limit(self.judging.max_calls, self._settings, "max_calls", 2 * calls + 10))

    def _find_baseline(self, store: Store) -> Baseline | None:
        name = self.options.baseline
        if name is None:
            return self.options.against
        return find_baseline(
            name,
            store,
            self.subject,
            update=self.options.update_baseline,
            exclude=self._exclude,
            max_bytes=self._max_bytes,
        )

    def _require_two_sides(self) -> None:
        """Raises UsageError where both sides would give the same whatever they are."""
        if self._target is not None and self._target.identity.get("kind") == "record":
            raise UsageError(
                f"the outputs of `{self.target_name}` are recorded: both sides would be the same",
                hint="name a target that does the tasks, or compare with a run: --baseline RUN",
            )

    def run_side(
        self,
        store: Store,
        subject: Subject,
        chosen: Sequence[Case],
        completed: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
        *,
        meter: Meter | None = None,
    ) -> dict[str, Any]:
        """One run of the cases with one subject, from where an unfinished one stopped. `completed` adds to its report."""
        meter = meter or self._meter(self.judge_calls(chosen))
        run = self._work_side(store, subject, chosen, meter)
        return self._finish(store, run, meter.seconds, completed)

    def _work_side(self, store: Store, subject: Subject, chosen: Sequence[Case], meter: Meter) -> str:
        """Every case of one run, which is left open. Raises Interrupted."""
        side = self._begin(store, subject, chosen, meter)
        try:
            run_to_end(side.work, side.close)
        except KeyboardInterrupt:
            self.progress.close()
            raise Interrupted(
                f"interrupted; run {side.run} goes on with the same command and repeats nothing on record",
                hint=same_command(),
            ) from None
        self.progress.close()
        return side.run

    async def run_side_within(
        self, store: Store, subject: Subject, chosen: Sequence[Case], meter: Meter
    ) -> dict[str, Any]:
        """The same for a program that runs many sides, under limits of its own. It calls `close` when it is done."""
        side = self._begin(store, subject, chosen, meter)
        await side.work()
        return self._finish(store, side.run, meter.seconds, None)

    async def close(self) -> None:
        for seat in self._seats:
            await seat.judge.close()
        if self._target is not None:
            await self._target.close()

    def _begin(self, store: Store, subject: Subject, chosen: Sequence[Case], meter: Meter) -> _Side:
        run, log = self._open_run(store, subject, chosen, meter)
        panel = make_panel(self._seats, store, meter, self.judging)
        return _Side(self, store, subject, chosen, meter, run, log, panel)

    def run_nothing(
        self,
        store: Store,
        subject: Subject,
        chosen: Sequence[Case],
        why: str,
        completed: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> dict[str, Any]:
        """The report of a run that was not worth a call."""
        meter = Meter(calls=0, minutes=0, usd=None, clock=time.monotonic)
        run, _ = self._open_run(store, subject, chosen, meter)
        store.append_many(run, [{"type": events.PASSED_BY, "case": case.id, "reason": why} for case in chosen])
        return self._finish(store, run, meter.seconds, completed)

    def _finish(
        self, store: Store, run: str, seconds: float, completed: Callable[[dict[str, Any]], dict[str, Any]] | None
    ) -> dict[str, Any]:
        if completed is not None:
            log = store.events(run)
            fields = completed(suite_document(log, run=run))
            if fields.get("verdict") == "pass" and read_log(log).is_cut_short:
                fields = {**fields, "verdict": "inconclusive", "reasons": ["not every case was reached"]}
            store.append(run, {"type": events.COMPARED, "fields": fields})
        verdict = suite_verdict(store.events(run))
        finished = {"type": events.FINISHED, "result": verdict, "reason": "", "seconds": round(seconds, 3)}
        store.finish_run(run, verdict, finished)
        return suite_document(store.events(run), run=run)

    def _open_run(
        self, store: Store, subject: Subject, chosen: Sequence[Case], meter: Meter
    ) -> tuple[str, list[Event]]:
        """The unfinished run of the same identity with what it holds, or a new one."""
        identity = self.identity(subject, chosen)
        if not store.lock(identity):
            raise UsageError(
                "another process is running this suite with the same target and judges", hint="wait for it, or stop it"
            )
        old = store.unfinished(identity)
        if old is not None and self.judging.fresh:
            closing = {"type": events.FINISHED, "result": "interrupted", "reason": "started over with --fresh"}
            store.finish_run(old.id, "interrupted", closing)
            old = None
        if old is not None:
            log: list[Event] = store.events(old.id)
            meter.before.join(total_spend(log))
            done = sum(1 for event in log if event["type"] == events.ATTEMPTED)
            self.progress.note(f"going on with run {old.id}: {done} attempts are judged already")
            return old.id, log
        run = store.start_run(
            kind="suite",
            subject=self._suite_name,
            identity=identity,
            contract=self._contract.id,
            first=self._started(subject, chosen, meter),
        )
        return run, []

    def identity(self, subject: Subject, chosen: Sequence[Case]) -> str:
        judging = self.judging
        return digest_json(
            {
                # A skill's runs are known by content alone, so that a baseline may be used again wherever it lies.
                "suite": self.source.suite.skill_id if subject.is_isolated else self._suite_name,
                "target": dict(self._target.identity) if self._target else None,
                "artifact": subject.version.digest if subject.version else None,
                "side": subject.note,
                "contract": self._contract.id,
                "cases": [[case.id, self._contracts[case.id]] for case in chosen],
                "limits": [judging.max_calls, judging.max_usd, judging.max_minutes],
            }
        )

    def _started(self, subject: Subject, chosen: Sequence[Case], meter: Meter) -> dict[str, Any]:
        rubrics = {}
        cases = []
        for case in chosen:
            key, plain = self._plain_rubrics[case.id]
            rubrics[key] = plain
            cases.append({**case_to_plain(case), "rubric": key, "contract": self._contracts[case.id]})
        least = self.options.min_pass_rate if self.options.min_pass_rate is not None else Fraction(1)
        source = self.source
        return {
            "type": events.STARTED,
            "kind": "suite",
            "suite": {"path": printable(self._path), "title": source.suite.title, "dialect": source.dialect},
            "target": self.target_name,
            "artifact": subject.to_plain(),
            "side": subject.note,
            "contract": dict(self._contract.document),
            "contract_id": self._contract.id,
            "rule": str(self.judging.rule),
            "panel": [seat.id for seat in self._seats],
            "rubrics": rubrics,
            "cases": cases,
            "min_pass_rate": str(least),
            "min_given": self.options.min_pass_rate is not None,
            "notes": list(self.notes),
            "mock": self.is_mock,
            "isolated": subject.is_isolated,
            "limits": {"calls": meter.calls, "minutes": meter.minutes, "usd": meter.usd},
        }


class _Side:
    """One run of the cases with one subject."""

    def __init__(
        self,
        command: SuiteSession,
        store: Store,
        subject: Subject,
        chosen: Sequence[Case],
        meter: Meter,
        run: str,
        log: Sequence[Event],
        panel: Any,
    ) -> None:
        self._session = command
        self._store = store
        self._subject = subject
        self._chosen = chosen
        self._meter = meter
        self.run = run
        self._log = log
        self._panel = panel
        self._judged_by: dict[str, Any] = {}

    def judging(self, case: Case) -> Any:
        from honestone.engine.suites import Judging

        session = self._session
        key = session.rubric_key(case)
        known = self._judged_by.get(key)
        if known is None:
            scorer = Scorer(case.rubric, session.judging.rule)
            known = Judging(evaluator=Evaluator(case.rubric, session._checker, self._panel), scorer=scorer)
            self._judged_by[key] = known
        return known

    async def work(self) -> None:
        from honestone.engine.suites import SuiteRun

        session = self._session
        await SuiteRun(
            run=self.run,
            cases=self._chosen,
            judging=self.judging,
            target=session._target,
            store=self._store,
            meter=self._meter,
            observer=session.progress,
            base=session.source.base,
            cwd=Path.cwd(),
            version=self._subject.version,
            artifact=self._subject.path,
            log=self._log,
            isolated=self._subject.is_isolated,
            skill=self._subject.skill,
            concurrency=session.at_once,
        ).all()

    async def close(self) -> None:
        await self._panel.close()
