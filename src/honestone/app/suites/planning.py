"""How a `SuitePlan` is made: read the suite, choose its cases, and check everything that the request
names, before anything is spent.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.lock import check_lock
from honestone.app.judging.measured.vouching import require_vouched
from honestone.app.judging.preflight import require_checks_of_cases
from honestone.app.judging.rubric_plan import with_bars
from honestone.app.judging.sure import place_of_sure, refuse_people_alone, sure_of_suite
from honestone.app.judging.trusting import is_trusted, read_with_permission
from honestone.app.suites.choice import choose_cases, in_column
from honestone.app.suites.columns import SuiteName, last_columns
from honestone.app.suites.contracts import workspace_digest
from honestone.app.suites.outputs import Answered, RecordedOutputs, read_outputs
from honestone.app.suites.plan import SuitePlan, SuiteRequest, own_files_of
from honestone.app.suites.subject import SuiteSubject, load_skill, looks_like_skill, skill_folder
from honestone.app.suites.sure import require_askable_suite
from honestone.app.workspace import Workspace
from honestone.core.errors import FileError, UsageError
from honestone.core.judging.choices import SandboxChoice
from honestone.core.judging.contract import Contract, make_contract
from honestone.core.judging.rubric import Rubric
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import AttemptRule, Case, TargetSpec
from honestone.core.suite.each import each_of
from honestone.core.suite.outline import outline_of
from honestone.formats.source import SuiteSource, refuse_losses
from honestone.ports import Function, Target, TargetWithNotes
from honestone.system.case_file import keep_in_file
from honestone.system.files import load_artifact, printable

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.adapters.context import AdapterContext, TargetServer
    from honestone.engine.judging.seats import Seat
    from honestone.ports import Observer


def plan_suite(workspace: Workspace, request: SuiteRequest, observer: Observer) -> SuitePlan:
    """Read and check a suite with one target and one artifact. `observer` gets notes on the target.

    Raises UsageError and its kinds for a wrong request or file, and for a suite with several
    targets or artifacts; CouldNotJudge when judges are needed and none is named or found;
    ContractMismatch where `locked` is asked for and the lock was written for another contract.
    """
    plan, *more = plan_columns(workspace, request, observer)
    if more:
        raise UsageError(
            f"`{request.suite}` is a table of {len(more) + 1} columns, but one target, prompt and artifact are needed here",
            hint="choose with --target NAME, --prompt NAME and --artifact PATH",
        )
    return plan


def plan_columns(
    workspace: Workspace, request: SuiteRequest, observer: Observer
) -> tuple[SuitePlan, ...]:
    """Make one plan for each target with each prompt and each artifact; the rest of them is shared.
    Raises as `plan_suite` does, but takes several of them.
    """
    path = workspace.path(request.suite)
    keep = keep_in_file if request.is_ordered else None
    # At once: a large suite takes seconds to read.
    observer.progress(0, 0, f"reading {printable(request.suite)}")
    source = request.source or read_with_permission(
        path, request.judging, request.judging.outside(workspace.path), keep
    )
    lost = refuse_losses(source.losses, source.dialect, accepted=request.accept_loss)
    cases = _with_options(source, request)
    chosen = choose_cases(cases, request.choice, lambda: last_statuses(workspace, path))
    observer.progress(0, len(chosen), "preparing")
    require_askable_suite(source, request, path)
    planning = _Planning(
        workspace=workspace, request=request, source=source, cases=cases, chosen=chosen
    )
    plans = planning.plans(observer, lost)
    if request.locked:
        check_lock(path, plans[0].whole_contract, plans[0].files_that_judge, allows_higher_bar=True)
    return plans


class _Column(Struct, frozen=True, kw_only=True):
    """The part of a plan that differs between the columns of a table."""

    subject: SuiteSubject = field(default_factory=SuiteSubject)
    target: Target | None = None
    target_name: str
    label: str | None
    prompt: str | None = None
    is_repeatable: bool = False
    outputs: RecordedOutputs | None = None


class _Planning(Struct, frozen=True, kw_only=True):
    """The part that all plans of one request share, and the steps that make the plans."""

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
        """The size of the largest artifact that is read, in bytes."""
        return judging_options.max_bytes(self.request.judging, self.workspace.settings)

    @property
    def own_files(self) -> frozenset[Path]:
        return own_files_of(self.path, self.source)

    def plans(self, observer: Observer, lost: Sequence[str]) -> tuple[SuitePlan, ...]:
        source, judging = self.source, self.request.judging
        checker = self.checker()
        context = judging_options.make_context(judging, self.workspace)
        context = replace(context, cases=self.cases, suite_folder=source.base)
        if self.request.outputs is None:
            columns = self.columns_to_run(context, observer)
        else:
            columns = self.columns_on_record()
        seats = self.seats(context)
        unnamed = judging_options.notes_on_unnamed_files(seats, self.workspace.folder)
        contract = _shared_contract(judging, seats, sure_of_suite(source.suite, judging))
        workspaces = _workspace_digests(source, self.cases, self.size)
        return tuple(
            SuitePlan(
                workspace=self.workspace,
                request=self.request,
                source=source,
                notes=(*source.notes, *lost, *self.notes_on(one.outputs), *unnamed),
                cases=in_column(self.cases, one.label, one.prompt),
                chosen=in_column(self.chosen, one.label, one.prompt),
                subject=one.subject,
                checker=checker,
                target=one.target,
                target_name=one.target_name,
                label=one.label,
                prompt=one.prompt,
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
        """What runs the checks of the cases. Raises UsageError for a check that cannot run here."""
        from honestone.adapters.checks import CheckRunner
        from honestone.adapters.checks.mock import MockChecks

        judging, workspace = self.request.judging, self.workspace
        kind = MockChecks if self.request.mock else CheckRunner
        checker = kind(
            self.source.base.resolve(),
            sandbox=judging.sandbox,
            pass_env=judging.pass_env,
            folder=workspace.folder,
            closed=workspace.closed,
            allowed=judging.outside(workspace.path),
            embedder=judging_options.make_embedder(judging, workspace),
        )
        require_checks_of_cases(self.source, self.cases, checker)
        return checker

    def seats(self, context: AdapterContext) -> tuple[Seat, ...]:
        """The panel of judges; empty where code answers every item of the chosen cases."""
        judging = self.request.judging
        rubrics = outline_of(self.chosen).asked
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
        if sure_of_suite(suite, judging) is not None:
            refuse_people_alone(seats, place_of_sure(self.path, judging))
        of_suite = (suite.require_calibration, suite.require_tier)
        require_vouched(self.workspace, rubrics.values(), seats, judging, suite=of_suite)
        return seats

    def columns_to_run(self, context: AdapterContext, observer: Observer) -> list[_Column]:
        """One column for each target with each of its prompts and each artifact."""
        from honestone.adapters.context import TARGET_TIMEOUT

        columns: list[_Column] = []
        subjects = self.subjects()
        for asked, spec in _targets(self.request, self.source):
            prompts = self.prompts(spec)
            if not prompts:
                continue
            named = _choose_target(self.request, asked, subjects[0], self.source.untaken_targets)
            timeout = self.request.target_timeout or spec.timeout or TARGET_TIMEOUT
            own = replace(context, target_timeout=timeout, target_output=spec.output)
            # What the suite says of its own target does not hold for another one that the command
            # line names in its place.
            is_meant = spec.use in (None, named)
            if is_meant:
                own = replace(
                    own, target_parameters=spec.parameters, target_server=_server_of(spec)
                )
                own = replace(
                    own,
                    target_sandbox=self.target_sandbox(spec),
                    is_sandbox_asked=spec.sandbox is not None,
                    closed=self.workspace.closed,
                )
            target = self.target(named, own, subjects, prompts, observer)
            is_repeatable = spec.repeatable and isinstance(named, str) and is_meant
            name = named if isinstance(named, str) else _name_of(named)
            columns += [
                _Column(
                    subject=one,
                    target=target,
                    target_name=name,
                    label=spec.label,
                    prompt=prompt,
                    is_repeatable=is_repeatable,
                )
                for prompt in prompts
                for one in subjects
            ]
        if not columns:
            raise UsageError(
                "no target of this suite is for the prompts that were chosen",
                hint="`prompts` of a target says which ones it is for",
            )
        return columns

    def prompts(self, spec: TargetSpec) -> Sequence[str | None]:
        """The prompts that this target is asked with: one without a name where the suite has not
        several. Raises UsageError for a prompt that the suite does not have.
        """
        wanted = self.wanted_prompts()
        if not self.source.suite.prompts:
            return (None,)
        return [name for name in wanted if spec.prompts is None or name in spec.prompts]

    def wanted_prompts(self) -> Sequence[str]:
        """The prompts of the suite that the request names; all of them where it names none. Raises
        UsageError for one that the suite does not have.
        """
        known, asked = self.source.suite.prompts, self.request.prompts
        _refuse_twice("prompt", asked)
        for name in asked:
            if name not in known:
                raise UsageError(
                    f"the suite has no prompt `{name}`",
                    hint=f"its prompts: {', '.join(known)}"
                    if known
                    else "a suite of several `prompts` has names for them",
                )
        return [name for name in known if not asked or name in asked]

    def target_sandbox(self, spec: TargetSpec) -> SandboxChoice:
        """The sandbox of the suite's own target. A suite that asks for one gets the kind that the
        command line names, or its own where that is `auto`. A suite that asks for none gets none,
        unless it came from someone else and brings the code that runs: then it gets the sandbox of
        checks.
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
        prompts: Sequence[str | None],
        observer: Observer,
    ) -> Target | None:
        """Make the target; None where the artifact itself is judged. Raises UsageError for a target
        that cannot run the chosen cases.
        """
        from honestone.adapters.registry import make_target

        target = named if isinstance(named, Target) else make_target(named, context)
        if target is not None:
            for prompt in () if self.request.is_ordered else prompts:
                target.refuse(in_column(self.chosen, None, prompt))
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
        """The artifacts of the request, else those of the suite, else one empty subject."""
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
        """Read an artifact at `place`; a folder with a SKILL.md is installed as a skill, unless the
        suite says `skill: false`. `shown`: its path in messages.
        """
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
        """Read the skills of `--with-skill`. Raises UsageError where no skill is tried that they
        could be installed next to, or two of them have the same name.
        """
        if not self.request.with_skills:
            return ()
        if not column.subject.is_isolated or column.target is None:
            raise UsageError(
                "--with-skill installs other skills next to the one that is tried, but no target is to try a skill",
                hint="name the skill's folder: --artifact PATH; and what tries it: --target NAME",
            )
        skills: list[Skill] = []
        for path in self.request.with_skills:
            skill = load_skill(self.workspace.path(path), max_bytes=self.size)
            tried = column.subject.skill
            if skill.name in {one.name for one in ([tried] if tried else []) + skills}:
                why = f"two skills have the name `{skill.name}`"
                raise UsageError(why, hint="each skill is installed under its name")
            skills.append(skill)
        return tuple(skills)

    def columns_on_record(self) -> list[_Column]:
        """The columns of recorded outputs. Raises UsageError where the request also names a target
        or an artifact: nothing is run.
        """
        request = self.request
        to_run = {
            "target": request.target or request.targets,
            "artifact": request.artifact or request.artifacts or request.subject,
        }
        for option, value in to_run.items():
            if value:
                raise UsageError(
                    f"--outputs judges outputs on record, so nothing is run: it cannot be given with --{option}",
                    hint="leave one of the two out",
                )
        answered = Answered(
            suite=self.source.suite,
            cases=self.chosen,
            prompts=self.wanted_prompts(),
            is_prompt_named=bool(request.prompts),
        )
        suite = SuiteName.of(self.workspace, self.path)
        outputs = read_outputs(
            self.workspace, request.outputs or "", suite, answered, self.source.base
        )
        return [
            _Column(target_name=one.target or "", label=one.label, prompt=one.prompt, outputs=one)
            for one in outputs
        ]

    def notes_on(self, outputs: RecordedOutputs | None) -> tuple[str, ...]:
        """Notes on recorded outputs, with one where the artifact has changed since they were made."""
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
        note = f"`{outputs.artifact.path}` was another version when these outputs were made: this says nothing about it as it is now"
        return (*outputs.notes, note)


def _targets(
    request: SuiteRequest, source: SuiteSource
) -> list[tuple[str | Target | Function | None, TargetSpec]]:
    """Pair each target with the suite's settings for it: the targets of the request, by name or by
    a label of the suite; without any, the targets of the suite.
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
    """Raise UsageError where one of these is named twice. `what`: the noun for it."""
    for one in asked:
        if asked.count(one) > 1:
            name = one if isinstance(one, str) else _name_of(one)
            raise UsageError(
                f"the {what} `{name}` is given twice",
                hint="name each column once; --repeat runs one several times",
            )


def _with_options(source: SuiteSource, request: SuiteRequest) -> Sequence[Case]:
    """The suite's cases with the bars and attempts that the request asks for."""
    judging = request.judging
    attempts = request.attempts or judging.repeat
    # By the identity of the rubric that they replace: cases that shared one object share the new
    # one, and later steps compute what belongs to a rubric once.
    rubrics = dict[int, Rubric]()

    def with_own_bars(rubric: Rubric) -> Rubric:
        if id(rubric) not in rubrics:
            rubrics[id(rubric)] = with_bars(
                rubric,
                threshold=judging.threshold,
                floor=judging.floor,
                quorum=judging.quorum,
                combine=judging.combine,
            )
        return rubrics[id(rubric)]

    def with_own_attempts(case: Case) -> Case:
        rubric = with_own_bars(case.rubric)
        if rubric is not case.rubric or attempts:
            case = replace(case, rubric=rubric, attempts=attempts or case.attempts)
        # That format means that a task passes with its first passing attempt.
        if source.dialect.startswith("task-suite"):
            case = replace(case, attempt_rule=AttemptRule.PASS_AT_K, stops_at_pass=True)
        if request.attempt_rule is not None:
            rule = AttemptRule(request.attempt_rule)
            stops = case.stops_at_pass and rule is AttemptRule.PASS_AT_K
            case = replace(case, attempt_rule=rule, stops_at_pass=stops)
        return case

    return each_of(source.suite.cases, with_own_attempts)


def _name_of(target: Target | Function) -> str:
    from honestone.adapters.functions import name_of

    return str(target.identity.get("kind")) if isinstance(target, Target) else name_of(target)


def _choose_target(
    request: SuiteRequest,
    named: str | Target | Function | None,
    subject: SuiteSubject,
    untaken: Sequence[str] = (),
) -> str | Target | Function:
    """The named target; where none is named, `identity`, which judges the artifact itself. Raises
    UsageError where there is nothing to judge without a target.
    """
    if named is not None:
        return named
    if subject.is_isolated:
        raise UsageError(
            f"no target for `{request.suite}`: name the agent that should do its tasks with the skill",
            hint="name a --target: claude, codex, gemini, a model (openai:MODEL) or cmd:COMMAND",
        )
    if subject.version is None:
        why = f" ({'; '.join(untaken[:5])})" if untaken else ""
        raise UsageError(
            f"no target for `{request.suite}`: name what should answer its cases{why}",
            hint="name a --target: a model (openai:MODEL), an agent CLI (claude), cmd:COMMAND, python:MODULE:FUNCTION or record:FILE",
        )
    return "identity"


def _server_of(spec: TargetSpec) -> TargetServer | None:
    if spec.base_url is None and spec.api_key_env is None:
        return None
    from honestone.adapters.context import TargetServer

    return TargetServer(base_url=spec.base_url, api_key_env=spec.api_key_env)


def last_statuses(workspace: Workspace, path: Path) -> Mapping[str, Collection[str]] | None:
    """By case id: the statuses of the case in the columns of this suite's last run. None where the
    suite has not been run.
    """
    with workspace.open_store() as store:
        columns = last_columns(store, SuiteName.of(workspace, path))
    if not columns:
        return None
    records = list(columns.values())
    return {id: {str(one.results[id].status) for one in records} for id in records[0].results}


def _shared_contract(
    judging: JudgingOptions, seats: Sequence[Seat], sure: Fraction | None = None
) -> Contract:
    """The contract of everything but the cases: judges, rule and the options of judging."""
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
            **({} if sure is None else {"sure": str(sure)}),
        },
    )


def _workspace_digests(source: SuiteSource, cases: Sequence[Case], size: int) -> dict[str, str]:
    """By case id: the digest of the files that the case copies. Raises FileError with the place of
    the case where they are missing.
    """
    known: dict[Path, str] = {}  # a folder is read once, however many cases copy it
    digests: dict[str, str] = {}
    for case, workspace in outline_of(cases).workspaces.items():
        try:
            if (digest := workspace_digest(workspace, source.base, size, known)) is not None:
                digests[case] = digest
        except FileError as error:
            raise FileError(
                f"case `{case}`: {error.message}",
                place=source.places.get(case),
                hint=error.hint,
            ) from None
    return digests
