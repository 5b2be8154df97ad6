"""A suite made ready to be run: its cases are chosen, and everything asked for is read and checked
before it costs anything.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.app import judging_options
from honestone.app.judging_options import JudgingOptions
from honestone.app.preflight import require_checks_of_cases
from honestone.app.rubric_plan import checks_of, with_bars
from honestone.app.rubrics.lock import LockedFiles, check_lock, files_that_judge
from honestone.app.suites.columns import SuiteName, last_columns
from honestone.app.suites.outputs import RecordedOutputs, read_outputs
from honestone.app.suites.subject import (
    Baseline,
    SuiteSubject,
    load_skill,
    looks_like_skill,
    skill_folder,
)
from honestone.app.trusting import contacts, is_trusted, read_with_permission
from honestone.app.vouching import require_vouched
from honestone.app.workspace import Workspace
from honestone.core.checks import is_of_text_alone
from honestone.core.choices import SandboxChoice
from honestone.core.contract import Contract, digest_json, digest_of_list, make_contract
from honestone.core.each import Each, New, Old
from honestone.core.errors import FileError, UsageError
from honestone.core.events import (
    RecordedCase,
    StartedArtifact,
    StartedSuite,
    SuiteStarted,
    judged_by,
)
from honestone.core.json_value import JsonObject
from honestone.core.rubric import Check, Rubric, to_plain
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import (
    AttemptRule,
    Case,
    Split,
    TargetSpec,
    case_document,
    task_document,
)
from honestone.core.suite.record import rubric_key
from honestone.engine.panel import functions_of
from honestone.formats.source import SuiteSource, refuse_losses
from honestone.ports import Function, Target, TargetWithNotes
from honestone.system.case_file import keep_in_file
from honestone.system.drawing import count
from honestone.system.files import load_artifact, printable
from honestone.system.judging_files import JudgingFiles, files_named
from honestone.system.workspace import require_workspace

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.adapters.registry import AdapterContext
    from honestone.app.suites.baseline import BaselineCache
    from honestone.core.spend import Meter, Spend
    from honestone.engine.panel import Seat
    from honestone.ports import Observer


_LARGEST_SCRIPT = 1_000_000
ERRORED = ("target-error", "inconclusive", "skipped")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseChoice:
    """Which cases are run; nothing is all. `ids` may be patterns (`refund-*`); `shard` is (i, n),
    from 1.
    """

    ids: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    splits: tuple[str, ...] = ()
    shard: tuple[int, int] | None = None
    failed: bool = False
    errored: bool = False
    # How the cases ended, instead of how they did in the last run.
    statuses: Mapping[str, Collection[str]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteRequest:
    """What is asked of a suite, as it was given: the options of `eval SUITE`."""

    suite: Path
    # What the suite says, where it was not read from its file; `suite` is then its name alone.
    source: SuiteSource | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    artifact: Path | None = None
    # What is run, where it is at hand, instead of the path of an artifact.
    subject: SuiteSubject | None = None
    # Other skills, which are installed next to the one that is tried and are there without it too.
    with_skills: tuple[Path, ...] = ()
    target: str | Target | Function | None = None
    artifacts: tuple[Path, ...] = ()
    # Several instead of one: each target with each artifact is a column of a table. None is twice.
    targets: tuple[str | Target | Function, ...] = ()
    # The table passes when one of its columns does; the cheapest of those is named.
    pick: bool = False
    # A run, `last` or a file: its outputs are judged, and no target is run.
    outputs: str | None = None
    # The command that judges the outputs on record again; a note names it where that would do.
    judge_again: str | None = None
    # Outputs made since then (an ISO time) are used again while the target would be asked the same.
    outputs_since: str | None = None
    choice: CaseChoice = field(default_factory=CaseChoice)
    attempts: int | None = None
    attempt_rule: str | None = None
    concurrency: int | None = None
    target_timeout: float | None = None
    min_pass_rate: Fraction | None = None
    baseline: str | None = None
    # The baseline itself, where it is at hand, instead of its name.
    against: Baseline | None = None
    fail_on: tuple[str, ...] = ()
    across_contracts: bool = False
    update_baseline: bool = False
    require_improvement: bool = False
    accept_loss: bool = False
    locked: bool = False
    cache: BaselineCache | None = None
    # The cases are run on other machines: whether the target can work on this one is not asked.
    is_ordered: bool = False
    # Nothing is judged: every judge and check says yes, for a dry run.
    mock: bool = False
    # What many cases said is not kept in memory: the report reads it from the store, which is there
    # as long as that.
    is_brief: bool = False


@dataclass(frozen=True, kw_only=True)
class SuitePlan:
    """A suite, read and checked. `cases` are all of it, with the bars and attempts asked for;
    `chosen` are run.

    `workspaces` are the digests of the files that cases copy, by case. `notes` say what reading it
    found.
    """

    workspace: Workspace
    request: SuiteRequest
    source: SuiteSource
    notes: tuple[str, ...]
    cases: Sequence[Case]
    chosen: Sequence[Case]
    subject: SuiteSubject
    checker: CheckRunner
    target: Target | None
    target_name: str
    seats: tuple[Seat, ...]
    # What the cases share.
    contract: Contract
    workspaces: Mapping[str, str]
    # What the suite calls the target.
    label: str | None = None
    # Whether the suite says that the target answers the same when it is asked the same.
    is_repeatable: bool = False
    # What is judged instead of outputs of the target.
    outputs: RecordedOutputs | None = None
    # What is installed next to the skill that is tried.
    more_skills: tuple[Skill, ...] = ()

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        if len(self.chosen) == len(self.cases):
            return ()
        chosen = {case.id for case in self.chosen}
        return tuple(case.id for case in self.cases if case.id not in chosen)

    @property
    def judging(self) -> JudgingOptions:
        return self.request.judging

    @cached_property
    def suite_name(self) -> SuiteName:
        """What its runs are filed under in the store."""
        return SuiteName.of(self.workspace, self.request.suite)

    @property
    def title(self) -> str:
        return self.source.suite.title or self.request.suite.name

    @property
    def is_mock(self) -> bool:
        """Whether anything here only pretends: the target, a judge, or all of it."""
        pretends = any(seat.kind == "mock" for seat in self.seats)
        return self.request.mock or self.target_name == "mock" or pretends

    @property
    def is_recorded(self) -> bool:
        """Whether the target only gives outputs that were recorded before."""
        return self.target is not None and self.target.identity.get("kind") == "record"

    @property
    def max_bytes(self) -> int:
        return judging_options.max_bytes(self.judging, self.workspace.settings)

    # ------------------------------------------------------------------------------------------------
    # contracts

    def document_of(self, case: Case) -> dict[str, object]:
        return self._document(case, self.workspaces.get(case.id))

    def _document(self, case: Case, workspace: str | None) -> dict[str, object]:
        rubric, checks = self._judged_by[id(case.rubric)]
        return {**case_document(case, workspace=workspace, rubric=rubric), "checks": checks}

    def contract_here(self, case: Case, known: dict[Path, str]) -> str:
        """The contract id, on this machine, of a case that has its rubric of `rubrics` and need not
        be one of `cases`. `known` are the digests of folders that were read already. Raises
        FileError where the files that it copies are not there.
        """
        return digest_json(
            self._document(case, _workspace_digest(case, self.source.base, self.max_bytes, known))
        )

    @cached_property
    def _by_identity(self) -> Mapping[int, Rubric]:
        return _by_identity(self.cases)

    def _rubrics_of(self, cases: Sequence[Case]) -> Mapping[int, Rubric]:
        """Those of some of its cases, by their identity, which many cases share."""
        return self._by_identity if len(cases) == len(self.cases) else _by_identity(cases)

    @cached_property
    def _judged_by(self) -> Mapping[int, tuple[JsonObject, list[JsonObject]]]:
        """By the identity of a rubric: it and the identities of its checks, as plain values."""
        return {
            key: (
                to_plain(rubric),
                [dict(self.checker.identity(check)) for check in checks_of(rubric)],
            )
            for key, rubric in self._by_identity.items()
        }

    @cached_property
    def check_identities(self) -> Sequence[JsonObject]:
        """Of each check of each rubric of the chosen cases."""
        return [
            check
            for rubric in self._rubrics_of(self.chosen)
            for check in self._judged_by[rubric][1]
        ]

    @cached_property
    def case_contracts(self) -> Mapping[str, str]:
        """Contract ids by case."""
        return {case.id: digest_json(self.document_of(case)) for case in self.cases}

    def _contract_of(self, case: Case) -> str:
        """Not kept for an order, which may be of very many cases."""
        return (
            digest_json(self.document_of(case))
            if self.request.is_ordered
            else self.case_contracts[case.id]
        )

    @property
    def whole_contract(self) -> Contract:
        """What `suite lock` writes down: what the cases share and what each of them asks."""
        cases = [{"id": case.id, **self.document_of(case)} for case in self.cases]
        return Contract(document={**self.contract.document, "cases": cases})

    @cached_property
    def _rubric_keys(self) -> Mapping[int, str]:
        return {id: rubric_key(rubric) for id, (rubric, _) in self._judged_by.items()}

    def rubric_key(self, case: Case) -> str:
        """The key of its rubric, which equal rubrics share."""
        return self._rubric_keys[id(case.rubric)]

    @cached_property
    def rubrics(self) -> Mapping[str, Rubric]:
        return {self._rubric_keys[key]: rubric for key, rubric in self._by_identity.items()}

    @cached_property
    def program_files(self) -> Sequence[Path]:
        """The files named in the target's command, or its module."""
        files = {} if self.target is None else self.target.identity.get("files", {})
        places = (self.workspace.folder, self.source.base)
        named = [
            next((place / name for place in places if (place / name).is_file()), None)
            for name in files
        ]
        return [path for path in named if path is not None]

    @cached_property
    def program(self) -> JudgingFiles:
        """The same with the Python modules next to them that they import."""
        return JudgingFiles(lambda: self.program_files, base=self.workspace.folder)

    def asked(self, subject: SuiteSubject, case: Case) -> str | None:
        """The digest of what a target is asked in a case, itself included; None where the artifact
        itself is judged.
        """
        if self.outputs is not None:
            return self.outputs.asked.get(case.id)
        if self.target is None:
            return None
        return digest_json(
            {
                "target": dict(self.target.identity),
                "program": dict(self.program.digests),
                "artifact": subject.version.digest if subject.version else None,
                "skill": subject.skill.name if subject.skill else None,
                "isolated": subject.is_isolated,
                **self._more_skills,
                "case": case.id,
                **task_document(case, workspace=self.workspaces.get(case.id)),
            }
        )

    @property
    def _more_skills(self) -> dict[str, object]:
        """For digests, which stay what they were where there are none."""
        return (
            {"more_skills": [[one.name, one.version.digest] for one in self.more_skills]}
            if self.more_skills
            else {}
        )

    def identity(self, subject: SuiteSubject, cases: Sequence[Case]) -> str:
        """What a run of these cases is known by: the same again resumes it."""
        judging, made_by = self.judging, self.target or self.outputs
        return digest_of_list(
            {
                # A skill's runs are known by content alone, so that a baseline is found again
                # wherever the skill is.
                "suite": self.source.suite.skill_id
                if subject.is_isolated
                else self.suite_name.subject,
                "target": dict(made_by.identity) if made_by else None,
                "artifact": subject.version.digest if subject.version else None,
                "side": subject.note,
                **self._more_skills,
                "contract": self.contract.id,
                "limits": [judging.max_calls, judging.max_usd, judging.max_minutes],
                **functions_of(self.seats),
            },
            "cases",
            ([case.id, self._contract_of(case)] for case in cases),
        )

    def is_judged_as(self, then: SuiteStarted) -> bool:
        """Whether a run was judged as this one will be."""
        least = self.request.min_pass_rate
        contracts = {case.id: case.contract for case in then.cases}
        return (
            then.contract_id == self.contract.id
            and then.min_pass_rate == (Fraction(1) if least is None else least)
            and all(contracts.get(case.id) == self.case_contracts[case.id] for case in self.chosen)
        )

    # ----------------------------------------------------------------------------------------------------
    # files

    @property
    def own_files(self) -> frozenset[Path]:
        """The real paths of the suite and of the files that it includes."""
        return _own_files(self.workspace.path(self.request.suite), self.source)

    @property
    def files(self) -> frozenset[Path]:
        """The same with its `fixtures/`: never part of an artifact."""
        fixtures = self.source.base.resolve() / "fixtures"
        return self.own_files | {path.resolve() for path in fixtures.rglob("*") if path.is_file()}

    def judging_files(self) -> frozenset[Path]:
        """The real paths of the programs, tests and schemas that its checks are made of."""
        checks = [check for rubric in self.rubrics.values() for check in checks_of(rubric)]
        return frozenset(path.resolve() for path in self.checker.judging_files(checks))

    @property
    def files_that_judge(self) -> LockedFiles:
        """For a lock: what judges its cases, with the modules that it imports."""
        checks = [check for rubric in self.rubrics.values() for check in checks_of(rubric)]
        judges = [seat.identity for seat in self.seats]
        return files_that_judge(
            self.workspace.path(self.request.suite), self.workspace, self.checker, checks, judges
        )

    @cached_property
    def watches(self) -> Mapping[str, tuple[JudgingFiles, ...]]:
        """By the key of a rubric: the files that judge its cases, as they are when this is first
        asked.
        """
        base = self.workspace.folder
        named = tuple(files_named([seat.identity for seat in self.seats], base))
        judges = JudgingFiles(lambda: named, base=base)
        return {
            key: (judges, *self._watch_of(checks_of(rubric)))
            for key, rubric in self.rubrics.items()
        }

    def _watch_of(self, checks: Sequence[Check]) -> Sequence[JudgingFiles]:
        code = [check for check in checks if not is_of_text_alone(check)]
        base = self.workspace.folder
        return [JudgingFiles(lambda: self.checker.judging_files(code), base=base)] if code else []

    # -----------------------------------------------------------------------------------------------------
    # costs

    def judge_calls(self, cases: Iterable[Case]) -> int:
        """How often judges are asked on one side, without retries."""
        if not self.seats:
            return 0
        return sum(case.attempts for case in cases if case.rubric.asks_judges) * len(self.seats)

    def meter(self, calls: int, *, before: Spend | None = None) -> Meter:
        """The limits of one command that needs so many `calls` without retries, of which `before`
        is used already.
        """
        meter = self.judging.meter(self.workspace.settings, calls=2 * calls + 10)
        if before is not None:
            meter.before = before
        return meter

    @property
    def at_once(self) -> int:
        """Cases at a time: the option, else the suite's own number, else that of the settings;
        within what the target allows.
        """
        settings = self.workspace.settings
        asked = self.request.concurrency or self.source.suite.concurrency
        number = asked or int(settings.limits.get("concurrency", 8))
        allowed = (settings.targets.get(self.target_name) or {}).get("concurrency")
        return min(number, int(allowed)) if allowed else number

    # -----------------------------------------------------------------------------------------------------
    # a run

    def started(self, subject: SuiteSubject, cases: Sequence[Case], meter: Meter) -> SuiteStarted:
        """The first event of a run."""
        request, suite = self.request, self.source.suite
        artifact = None if self.outputs is None else self.outputs.artifact
        recorded = partial(self._recorded, subject)
        if subject.version is not None:
            artifact = StartedArtifact(path=subject.path, digest=subject.version.digest)
        return SuiteStarted(
            suite=StartedSuite(
                path=printable(request.suite), title=suite.title, dialect=self.source.dialect
            ),
            target=self.target_name or None,
            artifact=artifact,
            side=subject.note,
            **judged_by(
                self.contract, self.judging.rule, (seat.id for seat in self.seats), meter.limits
            ),
            rubrics={
                self._rubric_keys[key]: rubric for key, rubric in self._rubrics_of(cases).items()
            },
            cases=Each(cases, recorded) if request.is_ordered else tuple(map(recorded, cases)),
            outputs=None if self.outputs is None else self.outputs.source,
            min_pass_rate=request.min_pass_rate
            if request.min_pass_rate is not None
            else Fraction(1),
            min_given=request.min_pass_rate is not None,
            notes=self.notes,
            mock=self.is_mock,
            isolated=subject.is_isolated,
            left_out=self.left_out,
            more_skills=tuple(
                StartedArtifact(path=one.name, digest=one.version.digest)
                for one in self.more_skills
            ),
        )

    def _recorded(self, subject: SuiteSubject, case: Case) -> RecordedCase:
        return RecordedCase.of(
            case,
            rubric=self.rubric_key(case),
            contract=self._contract_of(case),
            asked=self.asked(subject, case),
            answered=None if self.outputs is None else self.outputs.inputs.get(case.id),
        )

    @property
    def contacts(self) -> list[str]:
        used = [(seat.id, seat.judge.identity) for seat in self.seats]
        if (embedder := self.checker.embedder) is not None:
            used.append(("embeddings", embedder.identity))
        return contacts(
            self.workspace,
            used if self.target is None else [*used, (self.target_name, self.target.identity)],
        )

    @property
    def doubts(self) -> list[str]:
        """A command that seems not to look at the artifact answers the same, whatever is in that."""
        identity = self.target.identity if self.target is not None else {}
        command, files = identity.get("command"), identity.get("files")
        if (
            identity.get("kind") != "cmd"
            or self.subject.version is None
            or self.subject.is_isolated
        ):
            return []
        named = (
            [Path(self.workspace.folder, str(word)) for word in files]
            if isinstance(files, Mapping)
            else []
        )
        if "{ARTIFACT}" in str(command) or any(
            _mentions(path, b"HONESTONE_ARTIFACT") for path in named
        ):
            return []
        shown = self.subject.path
        return [
            f"`{shown}` may not reach the target: its command names no {{ARTIFACT}}, and no file of it $HONESTONE_ARTIFACT"
        ]

    def as_column(self, name: str) -> SuitePlan:
        return replace(self, subject=replace(self.subject, note=f"column {name}"))

    def with_note(self, note: str) -> SuitePlan:
        return replace(self, notes=(*self.notes, note))

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()
        if self.target is not None:
            await self.target.close()


def plan_suite(workspace: Workspace, request: SuiteRequest, observer: Observer) -> SuitePlan:
    """Reads and checks all of it. `observer` gets notes on the target.

    Raises UsageError and its kinds for what is wrong with the request or a file, and where the
    suite has more than one target or artifact; CouldNotJudge when judges are needed and none is
    named or found; ContractMismatch where `locked` and the lock is another's.
    """
    plan, *more = plan_columns(workspace, request, observer)
    if more:
        raise UsageError(
            f"`{request.suite}` is a table of {len(more) + 1} columns, but one target and one artifact are needed here",
            hint="choose with --target NAME and --artifact PATH",
        )
    return plan


def plan_columns(
    workspace: Workspace, request: SuiteRequest, observer: Observer
) -> tuple[SuitePlan, ...]:
    """A plan for each target with each artifact, which share all else. Raises as `plan_suite`."""
    path = workspace.path(request.suite)
    keep = keep_in_file if request.is_ordered else None
    source = request.source or read_with_permission(
        path, request.judging, request.judging.outside(workspace.path), keep
    )
    lost = refuse_losses(source.losses, source.dialect, accepted=request.accept_loss)
    cases = _with_options(source, request)
    chosen = choose_cases(cases, request.choice, lambda: last_statuses(workspace, path))
    planning = _Planning(
        workspace=workspace, request=request, source=source, cases=cases, chosen=chosen
    )
    plans = planning.plans(observer, lost)
    if request.locked:
        check_lock(path, plans[0].whole_contract, plans[0].files_that_judge)
    return plans


@dataclass(frozen=True, slots=True, kw_only=True)
class _Column:
    """What sets a plan apart from the others of its table."""

    subject: SuiteSubject = field(default_factory=SuiteSubject)
    target: Target | None = None
    target_name: str
    label: str | None
    is_repeatable: bool = False
    outputs: RecordedOutputs | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Planning:
    """What the plans of a request have in common, and how they are made."""

    workspace: Workspace
    request: SuiteRequest
    source: SuiteSource
    cases: Sequence[Case]
    chosen: Sequence[Case]

    @property
    def path(self) -> Path:
        return self.workspace.path(self.request.suite)

    @property
    def size(self) -> int:
        """Bytes of the largest artifact that is read."""
        return judging_options.max_bytes(self.request.judging, self.workspace.settings)

    @property
    def own_files(self) -> frozenset[Path]:
        return _own_files(self.path, self.source)

    def plans(self, observer: Observer, lost: Sequence[str]) -> tuple[SuitePlan, ...]:
        source, judging = self.source, self.request.judging
        checker = self.checker()
        context = judging_options.make_context(judging, self.workspace)
        context = replace(context, cases=self.cases, suite_folder=source.base)
        columns = (
            self.to_run(context, observer) if self.request.outputs is None else self.on_record()
        )
        seats = self.seats(context)
        unnamed = judging_options.notes_on_unnamed_files(seats, self.workspace.folder)
        contract, workspaces = (
            _shared_contract(judging, seats),
            _workspace_digests(source, self.cases, self.size),
        )
        return tuple(
            SuitePlan(
                workspace=self.workspace,
                request=self.request,
                source=source,
                notes=(*source.notes, *lost, *self.notes_on(one.outputs), *unnamed),
                cases=_in_column(self.cases, one.label),
                chosen=_in_column(self.chosen, one.label),
                subject=one.subject,
                checker=checker,
                target=one.target,
                target_name=one.target_name,
                label=one.label,
                is_repeatable=one.is_repeatable,
                outputs=one.outputs,
                seats=seats,
                contract=contract,
                workspaces=workspaces,
                more_skills=self.more_skills(one),
            )
            for one in columns
        )

    def checker(self) -> CheckRunner:
        from honestone.adapters.checks import CheckRunner
        from honestone.adapters.checks.mock import MockChecks

        judging, workspace = self.request.judging, self.workspace
        checker = (MockChecks if self.request.mock else CheckRunner)(
            self.source.base.resolve(),
            sandbox=judging.sandbox,
            pass_env=judging.pass_env,
            folder=workspace.folder,
            closed=workspace.closed,
            embedder=judging_options.make_embedder(judging, workspace),
        )
        require_checks_of_cases(self.source, self.cases, checker)
        return checker

    def seats(self, context: AdapterContext) -> tuple[Seat, ...]:
        judging = self.request.judging
        rubrics = _by_identity(case for case in self.chosen if not case.skip)
        asking = next((rubric for rubric in rubrics.values() if rubric.asks_judges), None)
        if asking is None:
            return ()
        judges = judging_options.choose_judges(judging, asking, self.workspace)
        seats = judging_options.make_seats(
            judges, context, looks=2 if judging.effort == "thorough" else 1
        )
        for rubric in rubrics.values():
            judging_options.require_quorum(rubric, seats)
        suite = self.source.suite
        of_suite = (suite.require_calibration, suite.require_tier)
        require_vouched(self.workspace, rubrics.values(), seats, judging, suite=of_suite)
        return seats

    def to_run(self, context: AdapterContext, observer: Observer) -> list[_Column]:
        from honestone.adapters.registry import TARGET_TIMEOUT

        columns, subjects = [], self.subjects()
        for asked, spec in _targets(self.request, self.source):
            named = _choose_target(self.request, asked, subjects[0])
            timeout = self.request.target_timeout or spec.timeout or TARGET_TIMEOUT
            own = replace(context, target_timeout=timeout, target_output=spec.output)
            is_meant = spec.use in (
                None,
                named,
            )  # the suite says more of its own target, not of another named instead
            if is_meant:
                own = replace(own, target_parameters=spec.parameters)
                own = replace(
                    own,
                    target_sandbox=self.target_sandbox(spec),
                    is_sandbox_asked=spec.sandbox is not None,
                    closed=self.workspace.closed,
                )
            target = self.target(named, own, subjects, observer)
            is_repeatable = spec.repeatable and isinstance(named, str) and is_meant
            name = named if isinstance(named, str) else _name_of(named)
            columns += [
                _Column(
                    subject=one,
                    target=target,
                    target_name=name,
                    label=spec.label,
                    is_repeatable=is_repeatable,
                )
                for one in subjects
            ]
        return columns

    def target_sandbox(self, spec: TargetSpec) -> SandboxChoice:
        """What the suite's own target runs in: what it asks for, the kind that the command line
        names; of a suite of somebody else with code of its own, what checks run in.
        """
        asked, given = spec.sandbox or "none", self.request.judging.sandbox
        if asked != "none":
            return asked if given == "auto" else given
        is_command = (spec.use or "").startswith("cmd:")
        path = self.workspace.path(self.request.suite)
        is_strangers = is_command and bool(self.source.code) and not is_trusted(path, self.source)
        return given if is_strangers else "none"

    def target(
        self,
        named: str | Target | Function,
        context: AdapterContext,
        subjects: Sequence[SuiteSubject],
        observer: Observer,
    ) -> Target | None:
        """None where the artifact itself is judged. Raises UsageError for a target that cannot run
        the chosen cases.
        """
        from honestone.adapters.registry import make_target

        target = named if isinstance(named, Target) else make_target(named, context)
        if target is not None:
            if not self.request.is_ordered:
                target.refuse(self.chosen)
            for note in target.notes if isinstance(target, TargetWithNotes) else ():
                observer.note(note)
        elif any(subject.is_isolated for subject in subjects):
            raise UsageError(
                "the target `identity` judges the artifact itself, and a skill answers no task",
                hint="name the agent that does the tasks: claude, codex, gemini, a model (openai:MODEL) or cmd:COMMAND",
            )
        elif subjects[0].version is None:
            why = "the target `identity` judges the artifact itself, but none is named"
            raise UsageError(why, hint="--artifact PATH")
        return target

    def subjects(self) -> tuple[SuiteSubject, ...]:
        """What is run: the artifacts asked for, else the suite's. One at least, which may hold
        nothing.
        """
        request, source, workspace = self.request, self.source, self.workspace
        if request.subject is not None:
            return (request.subject,)
        asked = request.artifacts or ((request.artifact,) if request.artifact is not None else ())
        _refuse_twice("artifact", [str(path) for path in asked])
        places = [(workspace.path(path), path) for path in asked]
        for name in () if places else source.suite.artifacts:
            place = shown = source.base / name
            if workspace.named != Path() and place.is_relative_to(workspace.named):
                shown = place.relative_to(workspace.named)
            places.append((place, shown))
        return tuple(self.subject(*one) for one in places) or (SuiteSubject(),)

    def subject(self, place: Path, shown: Path) -> SuiteSubject:
        wants_skill, exclude = self.source.suite.target.skill, self.own_files
        if wants_skill is not False and looks_like_skill(place):
            skill = load_skill(skill_folder(place), exclude=exclude, max_bytes=self.size)
            folder = shown.parent if skill_folder(place) != place else shown
            return SuiteSubject.of_skill(printable(folder), skill, place=skill_folder(place))
        if wants_skill:
            raise UsageError(
                f"`{shown}` is to be installed as a skill, but it has no SKILL.md",
                hint="name the skill's folder, or say `skill: false`",
            )
        version = load_artifact(place, exclude=exclude, max_bytes=self.size).version
        return SuiteSubject(path=printable(shown), version=version, place=place)

    def more_skills(self, column: _Column) -> tuple[Skill, ...]:
        """The skills of `--with-skill`. Raises UsageError where no skill is tried, or two have one
        name.
        """
        if not self.request.with_skills:
            return ()
        if not column.subject.is_isolated or column.target is None:
            raise UsageError(
                "--with-skill installs other skills next to the one that is tried, but no target is to try a skill",
                hint="name the skill's folder: --artifact PATH; and what tries it: --target NAME",
            )
        found: list[Skill] = []
        for path in self.request.with_skills:
            skill = load_skill(self.workspace.path(path), max_bytes=self.size)
            tried = column.subject.skill
            if skill.name in {one.name for one in ([tried] if tried else []) + found}:
                why = f"two skills have the name `{skill.name}`"
                raise UsageError(why, hint="each skill is installed under its name")
            found.append(skill)
        return tuple(found)

    def on_record(self) -> list[_Column]:
        """Nothing is run: neither a target nor an artifact may be named."""
        request = self.request
        run = {
            "target": request.target or request.targets,
            "artifact": request.artifact or request.artifacts or request.subject,
        }
        for option, given in run.items():
            if given:
                raise UsageError(
                    f"--outputs judges outputs on record, so nothing is run: it cannot be given with --{option}",
                    hint="leave one of the two out",
                )
        suite = SuiteName.of(self.workspace, self.path)
        found = read_outputs(
            self.workspace, request.outputs or "", suite, self.chosen, self.source.base
        )
        return [
            _Column(target_name=one.target or "", label=one.column, outputs=one) for one in found
        ]

    def notes_on(self, outputs: RecordedOutputs | None) -> tuple[str, ...]:
        """What is to be known of outputs on record: also that the artifact is another now."""
        if outputs is None or outputs.artifact is None:
            return () if outputs is None else outputs.notes
        place = self.workspace.path(outputs.artifact.path)
        try:
            is_skill = self.source.suite.target.skill is not False and looks_like_skill(place)
            load = load_skill if is_skill else load_artifact
            now = load(place, exclude=self.own_files, max_bytes=self.size).version.digest
        except FileError:
            return outputs.notes
        if now == outputs.artifact.digest:
            return outputs.notes
        said = f"`{outputs.artifact.path}` was another version when these outputs were made: this says nothing about it as it is now"
        return (*outputs.notes, said)


def _targets(
    request: SuiteRequest, source: SuiteSource
) -> list[tuple[str | Target | Function | None, TargetSpec]]:
    """The suite's targets, or those asked for by name or by the suite's label, each with what the
    suite says of it.
    """
    asked = request.targets or ((request.target,) if request.target is not None else ())
    _refuse_twice("target", asked)
    known = source.suite.targets
    if not asked:
        return [(spec.use, spec) for spec in known]
    listed = {name: spec for spec in known for name in (spec.label, spec.use) if name is not None}
    usual = replace(known[0], label=None) if len(known) == 1 else TargetSpec(skill=known[0].skill)
    found = [(one, listed.get(one) if isinstance(one, str) else None) for one in asked]
    return [(one, usual) if spec is None else (spec.use, spec) for one, spec in found]


def _refuse_twice(what: str, asked: Sequence[str | Target | Function]) -> None:
    for one in asked:
        if asked.count(one) > 1:
            name = one if isinstance(one, str) else _name_of(one)
            raise UsageError(
                f"the {what} `{name}` is given twice",
                hint="name each column once; --repeat runs one several times",
            )


def _mentions(path: Path, name: bytes) -> bool:
    try:
        return path.stat().st_size < _LARGEST_SCRIPT and name in path.read_bytes()
    except OSError:
        return False


def _each_of(of: Sequence[Old], make: Callable[[Old], New]) -> Sequence[New]:
    """Made once of what is in memory, and each time of what is not."""
    return tuple(map(make, of)) if isinstance(of, tuple) else Each(of, make)


def those_of(of: Sequence[Old], is_wanted: Callable[[Old], bool]) -> Sequence[Old]:
    """Some of them, in their order: by their numbers where they are not in memory."""
    if isinstance(of, tuple):
        return tuple(filter(is_wanted, of))
    numbers = array("Q", (number for number, one in enumerate(of) if is_wanted(one)))
    return of if len(numbers) == len(of) else Each(numbers, of.__getitem__)


def _by_identity(cases: Iterable[Case]) -> Mapping[int, Rubric]:
    """The rubrics of cases, each once, by their identity: many cases share one."""
    return {id(case.rubric): case.rubric for case in cases}


def _with_options(source: SuiteSource, request: SuiteRequest) -> Sequence[Case]:
    judging = request.judging
    attempts = request.attempts or judging.repeat
    rubrics = dict[int, Rubric]()

    def barred(rubric: Rubric) -> Rubric:
        """Cases that share a rubric share it still."""
        if id(rubric) not in rubrics:
            bars = with_bars(
                rubric, threshold=judging.threshold, floor=judging.floor, quorum=judging.quorum
            )
            rubrics[id(rubric)] = bars
        return rubrics[id(rubric)]

    def asked(case: Case) -> Case:
        rubric = barred(case.rubric)
        if rubric is not case.rubric or attempts:
            case = replace(case, rubric=rubric, attempts=attempts or case.attempts)
        if source.dialect.startswith("task-suite"):
            case = replace(case, attempt_rule=AttemptRule.PASS_AT_K, stops_at_pass=True)
        if request.attempt_rule is not None:
            rule = AttemptRule(request.attempt_rule)
            stops = case.stops_at_pass and rule is AttemptRule.PASS_AT_K
            case = replace(case, attempt_rule=rule, stops_at_pass=stops)
        return case

    return _each_of(source.suite.cases, asked)


def _in_column(cases: Sequence[Case], label: str | None) -> Sequence[Case]:
    return cases if label is None else _each_of(cases, lambda case: case.in_column(label))


def _own_files(path: Path, source: SuiteSource) -> frozenset[Path]:
    return frozenset({path.resolve(), *(file.resolve() for file in source.files)})


def _name_of(target: Target | Function) -> str:
    from honestone.adapters.functions import name_of

    return str(target.identity.get("kind")) if isinstance(target, Target) else name_of(target)


def _choose_target(
    request: SuiteRequest, named: str | Target | Function | None, subject: SuiteSubject
) -> str | Target | Function:
    if named is not None:
        return named
    if subject.is_isolated:
        raise UsageError(
            f"no target for `{request.suite}`: name the agent that should do its tasks with the skill",
            hint="name a --target: claude, codex, gemini, a model (openai:MODEL) or cmd:COMMAND",
        )
    if subject.version is None:
        raise UsageError(
            f"no target for `{request.suite}`: name what should answer its cases",
            hint="name a --target: a model (openai:MODEL), an agent CLI (claude), cmd:COMMAND, python:MODULE:FUNCTION or record:FILE",
        )
    return "identity"


def last_statuses(workspace: Workspace, path: Path) -> Mapping[str, Collection[str]] | None:
    """How the cases of this suite's last run ended, in each of its columns."""
    with workspace.open_store() as store:
        columns = last_columns(store, SuiteName.of(workspace, path))
    if not columns:
        return None
    records = list(columns.values())
    return {id: {str(one.results[id].status) for one in records} for id in records[0].results}


def _shared_contract(judging: JudgingOptions, seats: Sequence[Seat]) -> Contract:
    return make_contract(
        judges=[seat.identity for seat in seats],
        rule=str(judging.rule),
        options={
            "evidence": judging.evidence,
            "ask": judging.ask,
            "pack": judging.pack,
            "threshold": judging.threshold,
            "floor": judging.floor,
            "quorum": judging.quorum,
        },
    )


def _workspace_digests(source: SuiteSource, cases: Sequence[Case], size: int) -> dict[str, str]:
    """Of the files that cases copy. Raises FileError with the case's place when they are not there."""
    known: dict[Path, str] = {}  # a folder is read once, however many cases copy it
    found: dict[str, str] = {}
    for case in cases:
        try:
            if (digest := _workspace_digest(case, source.base, size, known)) is not None:
                found[case.id] = digest
        except FileError as error:
            raise FileError(
                f"case `{case.id}`: {error.message}",
                place=source.places.get(case.id),
                hint=error.hint,
            ) from None
    return found


def _workspace_digest(case: Case, base: Path, size: int, known: dict[Path, str]) -> str | None:
    """Raises FileError where what a case copies is not there."""
    if case.workspace is None:
        return None
    require_workspace(case.workspace, base)
    if case.workspace.copy is None:
        return None
    folder = base / case.workspace.copy
    if folder not in known:
        known[folder] = load_artifact(folder, max_bytes=size).version.digest
    return known[folder]


def choose_cases(
    cases: Sequence[Case],
    choice: CaseChoice,
    last: Callable[[], Mapping[str, Collection[str]] | None],
) -> Sequence[Case]:
    """The cases chosen, in the file's order. Raises UsageError for an unknown name and for an empty
    choice.
    """
    named = _named(choice.ids, [case.id for case in cases]) if choice.ids else frozenset()
    _refuse_unknown(
        "tag",
        choice.tags,
        sorted({tag for case in cases for tag in case.tags}) if choice.tags else (),
    )
    _refuse_unknown("split", choice.splits, [str(split) for split in Split])

    def is_named(case: Case) -> bool:
        return (
            (not choice.ids or case.id in named)
            and (not choice.tags or bool(set(choice.tags) & set(case.tags)))
            and (not choice.splits or str(case.in_split) in choice.splits)
        )

    chosen = those_of(cases, is_named)
    if choice.failed or choice.errored:
        statuses = choice.statuses or last()
        if statuses is None:
            raise UsageError(
                "this suite has no finished run on record, so there is nothing to repeat",
                hint="run it once without --failed",
            )
        wanted = (*(("failed",) if choice.failed else ()), *(ERRORED if choice.errored else ()))
        ended = {id for id, found in statuses.items() if any(status in wanted for status in found)}
        chosen = those_of(chosen, lambda case: case.id in ended)
    if choice.shard is not None:
        number, of = choice.shard
        chosen = chosen[number - 1 :: of]
    if not chosen:
        raise UsageError(
            "no case is left by this choice, so nothing would be run", hint=_what_there_is(cases)
        )
    return chosen


def _named(asked: Sequence[str], ids: Sequence[str]) -> frozenset[str]:
    """The ids that are named, or that a pattern chooses. Raises UsageError for one that chooses
    nothing.
    """
    known, chosen = frozenset(ids), set[str]()
    for name in asked:
        found = {name} if name in known else {id for id in ids if fnmatchcase(id, name)}
        if not found and set(name) & set("*?["):
            raise UsageError(
                f"no case of the suite matches `{name}`", hint=f"its cases: {', '.join(ids[:20])}"
            )
        if not found:
            _refuse_unknown("case", [name], ids)
        chosen |= found
    return frozenset(chosen)


def parse_shard(text: str) -> tuple[int, int]:
    """`2/3` as (2, 3). Raises UsageError."""
    number, _, of = text.partition("/")
    if number.isdecimal() and of.isdecimal() and 1 <= int(number) <= int(of):
        return int(number), int(of)
    raise UsageError(
        f"--shard is `{text}`, but must be I/N with I from 1 to N", hint="for example --shard 1/3"
    )


def _refuse_unknown(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
    for name in asked:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            hint = (
                f"did you mean `{near[0]}`?"
                if near
                else f"known: {', '.join(known[:20]) or 'none'}"
            )
            raise UsageError(f"the suite has no {what} `{name}`", hint=hint)


def _what_there_is(cases: Sequence[Case]) -> str:
    splits = {str(case.in_split) for case in cases}
    return f"the suite has {count(len(cases), 'case')}, in the splits {', '.join(sorted(splits))}"


def suite_cost(plan: SuitePlan, sides: int, *, each: str = "side", of: str | None = None) -> str:
    """`3 cases x 2 attempts: up to 6 runs of claude, 6 judge calls (codex), at most 22 with
    retries`. `sides` times, each a side or a column, of the targets `of`.
    """
    each_attempts = [case.attempts for case in plan.chosen if case.skip is None]
    attempts, times = sum(each_attempts), set(each_attempts)
    parts = [count(len(each_attempts), "case")]
    if len(times) > 1:
        parts = [f"{attempts} attempts at {parts[0]}"]
    elif attempts != len(each_attempts):
        parts.append(f"{times.pop()} attempts")
    if sides > 1:
        parts.append(count(sides, each))
    of = of or plan.target_name
    runs = (
        "no target runs"
        if plan.target is None
        else f"up to {count(attempts * sides, 'run')} of {of}"
    )
    words = f"{' x '.join(parts)}: {runs}"
    if plan.seats:
        calls = plan.judge_calls(case for case in plan.chosen if case.skip is None) * sides
        judges = ", ".join(seat.id for seat in plan.seats)
        most = plan.meter(calls).calls
        limit = (
            f"at most {most} with retries" if most >= calls else f"of which the limit allows {most}"
        )
        words += f", {count(calls, 'judge call')} ({judges}), {limit}"
    return words


def skill_cost(plan: SuitePlan, *, sides: int, cached: int) -> str:
    """`up to 6 tasks x 2 attempts x 2 sides = 24 agent runs of claude; up to 24 judge calls`. Agent
    runs are expensive.
    """
    tasks = [case for case in plan.chosen if case.skip is None]
    attempts = max((case.attempts for case in tasks), default=1)
    total = sum(case.attempts for case in tasks) * sides
    most = "up to " if attempts > 1 else ""
    words = (
        f"{most}{count(len(tasks), 'task')} x {count(attempts, 'attempt')} x {count(sides, 'side')}"
        f" = {total} agent runs of {plan.target_name}"
    )
    if cached:
        words += f", baseline cached: {cached}"
    calls = plan.judge_calls(tasks) * sides
    return f"{words}; {most}{calls} judge calls" if calls else words
