"""`honestone eval SUITE`: run the cases of a suite, compare with a baseline when there is one, exit with the verdict."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.cli.baseline import Baseline, find_baseline, load_at_ref
from honestone.cli.comparing import compare_reports, compared_fields
from honestone.cli.printing import exit_code_of
from honestone.cli.progress import Progress
from honestone.cli.stopping import run_to_end, same_command
from honestone.cli.suite_choice import Choice, choose_cases
from honestone.cli.suite_printing import print_suite
from honestone.cli.wiring import (
    JudgingOptions,
    checks_of,
    choose_judges,
    limit,
    make_panel,
    make_seats,
    make_wiring,
    max_bytes,
    open_store_for,
    settings_here,
    with_bars,
)
from honestone.core import events
from honestone.core.artifact import Version
from honestone.core.comparison import BASELINE_GATES
from honestone.core.contract import Contract, digest_json, suite_contract
from honestone.core.errors import Interrupted, UsageError
from honestone.core.events import Event
from honestone.core.rubric import Rubric, to_plain
from honestone.core.scorecard import Scorer
from honestone.core.suite import AttemptRule, Case, case_document, case_to_plain
from honestone.engine.judging import Bench
from honestone.engine.meter import Meter
from honestone.formats.source import SuiteSource
from honestone.report.suite_documents import rubric_key, suite_document
from honestone.system.files import load_artifact, printable

if TYPE_CHECKING:
    from honestone.ports import Target


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteOptions:
    """The options of `eval SUITE` beside those about judging, as given."""

    artifact: Path | None = None
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is run through the suite: an artifact, or nothing where the target alone answers. `note` says which side it is."""

    path: str
    version: Version | None
    note: str = ""

    def to_plain(self) -> dict[str, Any] | None:
        return None if self.version is None else {"path": self.path, "digest": self.version.digest}


class SuiteEval:
    """One `eval SUITE` command: everything is read and checked before anything is run."""

    def __init__(
        self, path: Path, judging: JudgingOptions, options: SuiteOptions, progress: Progress
    ) -> None:
        from honestone.formats.recognise import read_any_suite
        from honestone.formats.source import refuse_losses

        self._path = path
        self._judging = judging
        self._options = options
        self._progress = progress
        self._settings = settings_here()
        self._max_bytes = max_bytes(judging, self._settings)
        self._source = read_any_suite(path)
        lost = refuse_losses(self._source.losses, self._source.dialect, accepted=options.accept_loss)
        self._notes = (*self._source.notes, *lost)
        self._cases = self._with_options(self._source)
        self._exclude = frozenset({path.resolve(), *(file.resolve() for file in self._source.files)})
        self._subject = self._load_subject()
        self._checker = self._make_checker()
        self._wiring = make_wiring(
            judging, self._settings, target_timeout=options.target_timeout or self._target_timeout(), cases=self._cases,
            target_output=self._source.suite.target.output, suite_folder=self._source.base,
        )  # fmt: skip
        self._target_name = self._name_target()
        self._target = self._make_target()
        self._seats = self._make_seats()
        self._contract = self._make_contract()
        self._contracts = {case.id: self._case_contract(case) for case in self._cases}

    # ------------------------------------------------------------------------------------------------ what is asked

    def _with_options(self, source: SuiteSource) -> tuple[Case, ...]:
        judging, options = self._judging, self._options
        cases = []
        attempts = options.attempts or judging.repeat
        for case in source.suite.cases:
            rubric = with_bars(case.rubric, threshold=judging.threshold, floor=judging.floor)
            if attempts is not None:
                case = replace(case, attempts=attempts)
            if options.attempt_rule is not None:
                case = replace(case, attempt_rule=AttemptRule(options.attempt_rule))
            cases.append(replace(case, rubric=rubric))
        return tuple(cases)

    def _target_timeout(self) -> float:
        from honestone.adapters.registry import TARGET_TIMEOUT

        return self._source.suite.target.timeout or TARGET_TIMEOUT

    def _load_subject(self) -> Subject:
        named = self._options.artifact
        if named is None and self._source.suite.artifact is not None:
            named = self._source.base / self._source.suite.artifact
        if named is None:
            return Subject(path="", version=None)
        loaded = load_artifact(named, exclude=self._exclude, max_bytes=self._max_bytes)
        return Subject(path=printable(named), version=loaded.version)

    def _name_target(self) -> str:
        named = self._options.target or self._source.suite.target.use
        if named is not None:
            return named
        if self._subject.version is None:
            raise UsageError(
                f"nothing says what shall answer the cases of `{self._path}`",
                hint="name a --target: a model (openai:MODEL), an agent CLI (claude), cmd:COMMAND, python:MODULE:FUNCTION or record:FILE",
            )
        return "identity"

    def _make_target(self) -> Target | None:
        from honestone.adapters.registry import make_target

        target = make_target(self._target_name, self._wiring)
        if target is not None:
            target.refuse(self._chosen())
            for note in getattr(target, "notes", ()):
                self._progress.note(note)
        elif self._subject.version is None:
            raise UsageError(
                "the target `identity` judges the artifact itself, but none is named", hint="--artifact PATH"
            )
        return target

    def _chosen(self) -> tuple[Case, ...]:
        return choose_cases(self._cases, self._options.choice, self._last_statuses)

    def _last_statuses(self) -> Mapping[str, str] | None:
        """How the cases of this suite's last run ended."""
        with open_store_for(self._settings) as store:
            for info in store.runs():
                if info.kind == "suite" and info.subject == self._suite_name and info.finished:
                    document = suite_document(store.events(info.id), run=info.id)
                    return {case["id"]: case["status"] for case in document["cases"]}
        return None

    @property
    def _suite_name(self) -> str:
        return str(self._path.resolve())

    # --------------------------------------------------------------------------------------------------- judging

    def _rubrics(self) -> dict[str, Rubric]:
        return {rubric_key(to_plain(case.rubric)): case.rubric for case in self._cases}

    def _make_checker(self) -> Any:
        from honestone.adapters.checks import CheckRunner

        checker = CheckRunner(
            self._source.base.resolve(), sandbox=self._judging.sandbox, pass_env=self._judging.pass_env
        )
        for rubric in {id(case.rubric): case.rubric for case in self._cases}.values():
            checker.preflight(checks_of(rubric))
        return checker

    def _make_seats(self) -> Any:
        asking = next(
            (case.rubric for case in self._chosen() if case.rubric.asks_judges and not case.skip), None
        )
        if asking is None:
            return ()
        names = choose_judges(self._judging, asking, self._settings)
        looks = 2 if self._judging.effort == "thorough" else 1
        return make_seats(names, self._wiring, looks=looks)

    def _make_contract(self) -> Contract:
        judging = self._judging
        return suite_contract(
            judges=[seat.identity for seat in self._seats], rule=str(judging.rule),
            options={
                "evidence": judging.evidence, "ask": judging.ask, "pack": judging.pack,
                "threshold": judging.threshold, "floor": judging.floor,
            },
        )  # fmt: skip

    def _case_contract(self, case: Case) -> str:
        checks = [dict(self._checker.identity(check)) for check in checks_of(case.rubric)]
        return digest_json({**case_document(case, workspace=self._workspace_digest(case)), "checks": checks})

    def _workspace_digest(self, case: Case) -> str | None:
        if case.workspace is None or case.workspace.copy is None:
            return None
        folder = self._source.base / case.workspace.copy
        if not folder.is_dir():
            raise UsageError(
                f"the workspace of case `{case.id}` copies `{case.workspace.copy}`, but there is no such folder",
                place=self._source.places.get(case.id),
                hint="paths are meant from the suite's own folder",
            )
        return load_artifact(folder, max_bytes=self._max_bytes).version.digest

    # --------------------------------------------------------------------------------------------------- running

    def run(self, form: str) -> int:
        chosen = self._chosen()
        with open_store_for(self._settings) as store:
            baseline = self._find_baseline(store)
            self._say_what_it_costs(chosen, 2 if baseline is not None and baseline.version is not None else 1)
            before = self._baseline_report(store, baseline, chosen)
            document = self._run_side(store, self._subject, chosen, before, baseline)
        print_suite(document, form)
        self._save(document)
        return exit_code_of(document["verdict"])

    def _say_what_it_costs(self, chosen: Sequence[Case], sides: int) -> None:
        attempts = sum(case.attempts for case in chosen if case.skip is None)
        parts = [f"{len(chosen)} case{'s' if len(chosen) != 1 else ''}"]
        if attempts != len(chosen):
            parts.append(f"{attempts} attempts")
        if sides == 2:
            parts.append("2 sides")
        judges = ", ".join(seat.id for seat in self._seats)
        asked = sum(case.attempts for case in chosen if case.rubric.asks_judges and case.skip is None)
        calls = asked * len(self._seats) * sides
        runs = (
            f"up to {attempts * sides} runs of {self._target_name}"
            if self._target is not None
            else "no target runs"
        )
        said = f"{' x '.join(parts)}: {runs}"
        if self._seats:
            said += f", {calls} judge calls ({judges}), at most {self._max_calls(calls)} with retries"
        self._progress.note(said)
        for note in self._notes:
            self._progress.note(note)

    def _max_calls(self, calls: int) -> int:
        return int(limit(self._judging.max_calls, self._settings, "max_calls", 2 * calls + 10))

    def _find_baseline(self, store: Any) -> Baseline | None:
        name = self._options.baseline
        if name is None:
            return None
        return find_baseline(
            name, store, self._subject, self._options, exclude=self._exclude, max_bytes=self._max_bytes
        )

    def _baseline_report(
        self, store: Any, baseline: Baseline | None, chosen: Sequence[Case]
    ) -> dict[str, Any] | None:
        """The report that this run is compared with: a recorded one, or of the suite run with the baseline's artifact."""
        if baseline is None:
            return None
        if baseline.report is not None:
            return baseline.report
        subject = Subject(path=baseline.name, version=baseline.version, note="baseline")
        return self._run_side(store, subject, chosen, None, None)

    def _run_side(
        self,
        store: Any,
        subject: Subject,
        chosen: Sequence[Case],
        before: dict[str, Any] | None,
        baseline: Baseline | None,
    ) -> dict[str, Any]:
        calls = sum(case.attempts for case in chosen if case.rubric.asks_judges) * len(self._seats)
        meter = Meter(
            calls=self._max_calls(calls), minutes=limit(self._judging.max_minutes, self._settings, "max_minutes", 24 * 60),
            usd=self._judging.max_usd if self._judging.max_usd is not None else self._settings.limits.get("max_usd"),
            clock=time.monotonic,
        )  # fmt: skip
        run, log = self._open_run(store, subject, chosen, meter)
        panel = make_panel(self._seats, store, meter, self._judging)
        side = _Side(self, store, subject, chosen, meter, run, log, panel)
        try:
            run_to_end(side.work, side.close)
        except KeyboardInterrupt:
            self._progress.close()
            raise Interrupted(
                f"interrupted; run {run} goes on with the same command and repeats nothing on record",
                hint=same_command(),
            ) from None
        self._progress.close()
        if before is not None:
            document = suite_document(store.events(run), run=run)
            found = compare_reports(
                before, document, gates=self._options.fail_on or BASELINE_GATES,
                across=self._options.across_contracts, require_improvement=self._options.require_improvement,
            )  # fmt: skip
            fields = compared_fields(
                found, before, document, min_given=self._options.min_pass_rate is not None
            )
            fields["baseline"] = {"name": baseline.name if baseline else "", "run": before["run"]}
            store.append(run, {"type": events.COMPARED, "fields": fields})
        document = suite_document(store.events(run), run=run)
        finished = {
            "type": events.FINISHED,
            "result": document["verdict"],
            "reason": "",
            "seconds": round(meter.seconds, 3),
        }
        store.finish_run(run, document["verdict"], finished)
        return suite_document(store.events(run), run=run)

    def _open_run(
        self, store: Any, subject: Subject, chosen: Sequence[Case], meter: Meter
    ) -> tuple[str, list[Event]]:
        """The unfinished run of the same identity with what it holds, or a new one."""
        identity = self._identity(subject, chosen)
        if not store.hold(identity):
            raise UsageError(
                "another process is running this suite with the same target and judges",
                hint="wait for it, or stop it",
            )
        old = store.unfinished(identity)
        if old is not None and self._judging.fresh:
            closing = {
                "type": events.FINISHED,
                "result": "interrupted",
                "reason": "started over with --fresh",
            }
            store.finish_run(old.id, "interrupted", closing)
            old = None
        if old is not None:
            from honestone.engine.suites import spend_of

            log: list[Event] = store.events(old.id)
            meter.before = spend_of(log)
            done = sum(1 for event in log if event["type"] == events.ATTEMPTED)
            self._progress.note(f"going on with run {old.id}: {done} attempts are judged already")
            return old.id, log
        run = store.start_run(
            kind="suite", subject=self._suite_name, identity=identity, contract=self._contract.id,
            first=self._started(subject, chosen, meter),
        )  # fmt: skip
        return run, []

    def _identity(self, subject: Subject, chosen: Sequence[Case]) -> str:
        judging = self._judging
        return digest_json(
            {
                "suite": self._suite_name, "target": dict(self._target.identity) if self._target else None,
                "artifact": subject.version.digest if subject.version else None, "side": subject.note,
                "contract": self._contract.id, "cases": [[case.id, self._contracts[case.id]] for case in chosen],
                "limits": [judging.max_calls, judging.max_usd, judging.max_minutes],
            }
        )  # fmt: skip

    def _started(self, subject: Subject, chosen: Sequence[Case], meter: Meter) -> Event:
        rubrics = {}
        cases = []
        for case in chosen:
            plain = to_plain(case.rubric)
            key = rubric_key(plain)
            rubrics[key] = plain
            cases.append({**case_to_plain(case), "rubric": key, "contract": self._contracts[case.id]})
        least = self._options.min_pass_rate if self._options.min_pass_rate is not None else Fraction(1)
        source = self._source
        return {
            "type": events.STARTED, "kind": "suite",
            "suite": {"path": printable(self._path), "title": source.suite.title, "dialect": source.dialect},
            "target": self._target_name, "artifact": subject.to_plain(), "side": subject.note,
            "contract": dict(self._contract.document), "contract_id": self._contract.id, "rule": str(self._judging.rule),
            "panel": [seat.id for seat in self._seats], "rubrics": rubrics, "cases": cases, "min_pass_rate": str(least),
            "notes": list(self._notes), "mock": self._target_name == "mock",
            "limits": {"calls": meter.calls, "minutes": meter.minutes, "usd": meter.usd},
        }  # fmt: skip

    def _save(self, document: dict[str, Any]) -> None:
        from honestone.cli.printing import dump
        from honestone.system.files import write_atomically

        options = self._options
        places = [options.output] if options.output is not None else []
        if options.update_baseline:
            if options.baseline is None or not options.baseline.endswith(".json"):
                raise UsageError(
                    "--update-baseline saves this run's report as the baseline's file, so --baseline must be a .json file"
                )
            places.append(Path(options.baseline))
        for place in places:
            write_atomically(place, (dump(document) + "\n").encode("utf-8", "backslashreplace"))
            self._progress.note(f"saved {place}")


class _Side:
    """One run of the cases with one subject."""

    def __init__(
        self,
        command: SuiteEval,
        store: Any,
        subject: Subject,
        chosen: Sequence[Case],
        meter: Meter,
        run: str,
        log: Sequence[Event],
        panel: Any,
    ) -> None:
        self._command = command
        self._store = store
        self._subject = subject
        self._chosen = chosen
        self._meter = meter
        self._run = run
        self._log = log
        self._panel = panel
        self._judging: dict[str, Any] = {}

    def judging(self, case: Case) -> Any:
        from honestone.engine.suites import Judging

        key = rubric_key(to_plain(case.rubric))
        known = self._judging.get(key)
        if known is None:
            command = self._command
            scorer = Scorer(case.rubric, command._judging.rule)
            known = Judging(bench=Bench(case.rubric, command._checker, self._panel), scorer=scorer)
            self._judging[key] = known
        return known

    async def work(self) -> None:
        from honestone.engine.suites import SuiteRun

        command = self._command
        await SuiteRun(
            run=self._run, cases=self._chosen, judging=self.judging, target=command._target, store=self._store,
            meter=self._meter, observer=command._progress, base=command._source.base, cwd=Path.cwd(),
            version=self._subject.version, artifact=self._subject.path, log=self._log,
            concurrency=command._options.concurrency or command._source.suite.concurrency
            or int(command._settings.limits.get("concurrency", 8)),
        ).all()  # fmt: skip

    async def close(self) -> None:
        await self._panel.close()


__all__ = ["SuiteEval", "SuiteOptions", "load_at_ref"]
