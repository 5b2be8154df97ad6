"""A suite that is ready to be run. `planning.py` makes a `SuitePlan` from a request; all that runs,
orders, locks or compares a suite reads it from there.

The plan also gives a run its identity. Two things that are easy to confuse are digests of different
facts: the *contract* says how cases are judged, so two runs can be compared if they share it; the
*identity* adds what is run (target, artifact, cases, limits), so the same command resumes a run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.lock import LockedFiles, files_that_judge
from honestone.app.judging.sure import sure_of_suite
from honestone.app.judging.trusting import contacts
from honestone.app.suites.columns import SuiteName
from honestone.app.suites.contracts import CaseContracts
from honestone.app.suites.options import SuiteOptions
from honestone.app.suites.outputs import RecordedOutputs
from honestone.app.suites.subject import Baseline, SuiteSubject
from honestone.app.workspace import Workspace
from honestone.core.belief.cases.bar import SuiteBar
from honestone.core.checking.checks import checks_of, is_of_text_alone
from honestone.core.events import (
    RecordedCase,
    StartedArtifact,
    StartedSuite,
    SuiteStarted,
    asks_on,
    judged_by,
)
from honestone.core.judging.contract import Contract, digest_json, digest_of_list
from honestone.core.judging.rubric import Check
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Case, task_document
from honestone.core.suite.each import Each
from honestone.core.suite.outline import outline_of
from honestone.engine.judging.seats import functions_of
from honestone.formats.source import SuiteSource
from honestone.ports import Function, Target
from honestone.system.files import printable
from honestone.system.trust.judging_files import JudgingFiles, files_named

if TYPE_CHECKING:
    from honestone.adapters.checks import CheckRunner
    from honestone.app.suites.comparing.baseline import BaselineCache
    from honestone.core.judging.spend import Meter, Spend
    from honestone.engine.judging.seats import Seat


# Bytes of a target's script above which it is not searched for the name of a variable.
_LARGEST_SCRIPT = 1_000_000


class SuiteRequest(SuiteOptions, frozen=True, kw_only=True):
    """A request to run a suite: the options of `eval SUITE`, and what only callers in the program
    set.
    """

    suite: Path
    # The content of the suite, where the caller has it; `suite` is then only its name.
    source: SuiteSource | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    artifact: Path | None = None
    # The artifact itself, where the caller has it, instead of its path.
    subject: SuiteSubject | None = None
    target: str | Target | Function | None = None
    # The command that only judges recorded outputs again, for a note to the person.
    judge_again: str | None = None
    # Reuse outputs recorded since this ISO time where the target would be asked the same.
    outputs_since: str | None = None
    # The baseline itself, where the caller has it, instead of its name.
    against: Baseline | None = None
    cache: BaselineCache | None = None
    # The cases run on other machines, so the target is not checked on this one.
    is_ordered: bool = False
    # The `--concurrency` of the runner that this is the request of.
    runner_concurrency: int | None = None
    # A dry run: every judge and check says yes.
    mock: bool = False
    # Keep the results of cases out of memory: the report reads them from the store.
    is_brief: bool = False


class SuitePlan(Struct, frozen=True, kw_only=True, dict=True):
    """A suite, read and checked, with one target and one artifact.

    `cases`: all cases, with the bars and attempts of the request. `chosen`: those of them that are
    run. `workspaces`: by case id, the digest of the files that the case copies. `notes`: what
    reading the suite found, for the person.
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
    # How all cases are judged; `contracts` adds what each case has of its own.
    contract: Contract
    workspaces: Mapping[str, str]
    # The suite's own name of the target.
    label: str | None = None
    # The suite's own name of the prompt, where it has several.
    prompt: str | None = None
    # The suite states that the target gives equal answers to equal questions.
    is_repeatable: bool = False
    # Recorded outputs, which are judged instead of outputs of the target.
    outputs: RecordedOutputs | None = None
    # Skills that are installed next to the one that is tried.
    more_skills: tuple[Skill, ...] = ()

    @cached_property
    def left_out(self) -> tuple[str, ...]:
        """Ids of the cases that are not run."""
        if len(self.chosen) == len(self.cases):
            return ()
        chosen = {case.id for case in self.chosen}
        return tuple(case.id for case in self.cases if case.id not in chosen)

    @property
    def judging(self) -> JudgingOptions:
        return self.request.judging

    @cached_property
    def suite_name(self) -> SuiteName:
        """The name by which the store finds all runs of this suite."""
        return SuiteName.of(self.workspace, self.request.suite)

    @property
    def sure(self) -> Fraction | None:
        """The probability (0-1) that the verdict has to reach; None where each judge is asked once."""
        return sure_of_suite(self.source.suite, self.judging)

    @property
    def is_asked_on(self) -> bool:
        return asks_on(self.sure, self.seats)

    @property
    def max_looks(self) -> int | None:
        return self.judging.max_looks or self.source.suite.max_looks

    @property
    def title(self) -> str:
        return self.source.suite.title or self.request.suite.name

    @property
    def is_mock(self) -> bool:
        """Whether the target, a judge or the whole run is a mock, so that its result means nothing."""
        pretends = any(seat.kind == "mock" for seat in self.seats)
        return self.request.mock or self.target_name == "mock" or pretends

    @property
    def is_recorded(self) -> bool:
        """Whether the target replays recorded outputs."""
        return self.target is not None and self.target.identity.get("kind") == "record"

    @property
    def max_bytes(self) -> int:
        return judging_options.max_bytes(self.judging, self.workspace.settings)

    @cached_property
    def contracts(self) -> CaseContracts:
        """The contract of each case."""
        return CaseContracts(
            cases=self.cases,
            checker=self.checker,
            base=self.source.base,
            max_bytes=self.max_bytes,
            workspaces=self.workspaces,
        )

    def contract_of(self, case: Case) -> str:
        """The id of the contract of a case."""
        # An order may have very many cases, so the ids of their contracts are not all remembered.
        if self.request.is_ordered:
            return self.contracts.id_of(case)
        return self.contracts.ids[case.id]

    @property
    def whole_contract(self) -> Contract:
        """The contract of the whole suite, which `suite lock` writes down."""
        return self.contracts.with_shared(self.contract)

    @cached_property
    def program_files(self) -> Sequence[Path]:
        """The files that the target's command names, or the file of its Python module. A name is
        looked up in the workspace's folder first, then next to the suite.
        """
        files = {} if self.target is None else self.target.identity.get("files")
        if not isinstance(files, Mapping):
            return []
        places = (self.workspace.folder, self.source.base)
        paths = [
            next((place / name for place in places if (place / name).is_file()), None)
            for name in files
        ]
        return [path for path in paths if path is not None]

    @cached_property
    def program(self) -> JudgingFiles:
        """`program_files`, with the Python modules next to them that they import."""
        return JudgingFiles(lambda: self.program_files, base=self.workspace.folder)

    def asked(self, subject: SuiteSubject, case: Case) -> str | None:
        """The digest of everything that decides a target's answer in a case: the target, its
        program, the artifact and the task. An output recorded under the same digest can be used
        again. None where no target is asked, and the artifact itself is judged.
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
                **_added_skills(self.more_skills),
                "case": case.id,
                **task_document(case, workspace=self.workspaces.get(case.id)),
            }
        )

    def identity(self, subject: SuiteSubject, cases: Sequence[Case]) -> str:
        """The identity of a run of these cases: the same command again resumes that run."""
        judging, made_by = self.judging, self.target or self.outputs
        return digest_of_list(
            {
                # A skill's suite is named by its content and not by its path, so that the run of a
                # baseline is found again when the skill was moved or copied.
                "suite": self.source.suite.skill_id
                if subject.is_isolated
                else self.suite_name.subject,
                "target": dict(made_by.identity) if made_by else None,
                "artifact": subject.version.digest if subject.version else None,
                "side": subject.note,
                **_added_skills(self.more_skills),
                "contract": self.contract.id,
                "limits": [judging.max_calls, judging.max_usd, judging.max_minutes],
                **functions_of(self.seats),
            },
            "cases",
            ([case.id, self.contract_of(case), *_asked_as(case)] for case in cases),
        )

    def is_judged_as(self, then: SuiteStarted) -> bool:
        """Whether an earlier run judged the chosen cases as this one will, by the same bars."""
        least = self.request.least_pass_rate
        contracts = {case.id: case.contract for case in then.cases}
        return (
            then.contract_id == self.contract.id
            and then.min_pass_rate == (Fraction(1) if least is None else least)
            and all(contracts.get(case.id) == self.contracts.ids[case.id] for case in self.chosen)
        )

    @property
    def own_files(self) -> frozenset[Path]:
        """The real paths of the suite and of the files that it includes."""
        return own_files_of(self.workspace.path(self.request.suite), self.source)

    @property
    def files(self) -> frozenset[Path]:
        """`own_files` and the files of `fixtures/`, which are never part of an artifact."""
        fixtures = self.source.base.resolve() / "fixtures"
        return self.own_files | {path.resolve() for path in fixtures.rglob("*") if path.is_file()}

    def judging_files(self) -> frozenset[Path]:
        """The real paths of the programs, tests and schemas that the checks use."""
        files = self.checker.judging_files(self.contracts.checks)
        return frozenset(path.resolve() for path in files)

    @property
    def files_that_judge(self) -> LockedFiles:
        """For a lock: every file that takes part in the judging, with the modules it imports."""
        return files_that_judge(
            self.workspace.path(self.request.suite),
            self.workspace,
            self.checker,
            self.contracts.checks,
            [seat.identity for seat in self.seats],
        )

    @cached_property
    def watches(self) -> Mapping[str, tuple[JudgingFiles, ...]]:
        """By the key of a rubric: the files that take part in judging its cases, with their digests
        at the first call, so that a change of one of them during the run is noticed.
        """
        base = self.workspace.folder
        named = tuple(files_named([seat.identity for seat in self.seats], base))
        judges = JudgingFiles(lambda: named, base=base)

        def watch_of(checks: Sequence[Check]) -> Sequence[JudgingFiles]:
            code = [check for check in checks if not is_of_text_alone(check)]
            named = partial(self.checker.judging_files, code)
            return [JudgingFiles(named, base=base)] if code else []

        return {
            key: (judges, *watch_of(checks_of(rubric)))
            for key, rubric in self.contracts.rubrics.items()
        }

    def judge_calls(self, cases: Sequence[Case], *, of_skipped: bool = True) -> int:
        """The number of judge calls of one run over these cases, without retries. `of_skipped`:
        those of the cases that are not run, too.
        """
        if not self.seats:
            return 0
        workloads = outline_of(cases).workloads.items()
        if self.is_asked_on:
            bar = SuiteBar(least=Fraction(1), max_looks=self.max_looks)
            return bar.looks(
                sum(one.attempts * number for one, number in workloads if not one.is_skipped)
            )
        attempts = sum(
            one.attempts * number
            for one, number in workloads
            if one.asks_judges and (of_skipped or not one.is_skipped)
        )
        return attempts * len(self.seats)

    def meter(self, calls: int, *, before: Spend | None = None) -> Meter:
        """The limits of a command that needs `calls` judge calls without retries. `before`: what an
        earlier part of the command spent.
        """
        meter = self.judging.meter(self.workspace.settings, calls=2 * calls + 10)
        if before is not None:
            # A copy: what a resumed run has spent is joined to it, and `before` is another run's.
            meter.before.join(before)
        return meter

    @property
    def at_once(self) -> int:
        """How many cases run at once in this process: no more than of the run, than the runner has
        hands, and than the settings allow for the target.
        """
        hands = self.request.runner_concurrency
        allowed = (self.workspace.settings.targets.get(self.target_name) or {}).get("concurrency")
        bounds = (hands, run_concurrency(self) or (8 if hands is None else None), allowed)
        return min(int(bound) for bound in bounds if bound)

    def started(self, subject: SuiteSubject, cases: Sequence[Case], meter: Meter) -> SuiteStarted:
        """The first event of a run."""
        request, suite = self.request, self.source.suite
        least = request.least_pass_rate
        artifact = None if self.outputs is None else self.outputs.artifact
        recorded = partial(self._recorded, subject)
        if subject.version is not None:
            artifact = StartedArtifact(path=subject.path, digest=subject.version.digest)
        return SuiteStarted(
            suite=StartedSuite(
                path=printable(request.suite), title=suite.title, dialect=self.source.dialect
            ),
            target=self.target_name or None,
            # Runs of suites of one prompt stay as they were: the name of a column says the label.
            label=None if self.prompt is None else self.label,
            artifact=artifact,
            side=subject.note,
            **judged_by(
                self.contract, self.judging.rule, (seat.id for seat in self.seats), meter.limits
            ),
            rubrics=self.contracts.rubrics_by_key(cases),
            cases=Each(cases, recorded) if request.is_ordered else tuple(map(recorded, cases)),
            outputs=None if self.outputs is None else self.outputs.source,
            min_pass_rate=Fraction(1) if least is None else least,
            min_given=least is not None,
            sure=self.sure,
            max_looks=self.max_looks,
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
            rubric=self.contracts.rubric_key(case.rubric),
            contract=self.contract_of(case),
            asked=self.asked(subject, case),
            answered=None if self.outputs is None else self.outputs.inputs.get(case.id),
        )

    @property
    def contacts(self) -> list[str]:
        """Notes on the servers that the run will contact."""
        used = [(seat.id, seat.judge.identity) for seat in self.seats]
        if self.checker.embedder is not None:
            used.append(("embeddings", self.checker.embedder.identity))
        if self.target is not None:
            used.append((self.target_name, self.target.identity))
        return contacts(self.workspace, used)

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()
        if self.target is not None:
            await self.target.close()


def run_concurrency(plan: SuitePlan) -> int | None:
    """How many cases of a run are under way at most, on all machines together: the option, else the
    number of the suite, else that of the settings. None where none of them says it.
    """
    asked = plan.request.concurrency or plan.source.suite.concurrency
    return asked or plan.workspace.settings.concurrency


def calls_at_once(plan: SuitePlan) -> int | None:
    """How many calls of a judge that does not say so itself are under way at once; None where nothing
    limits them.
    """
    limits = (plan.request.runner_concurrency, run_concurrency(plan))
    return min((one for one in limits if one), default=None)


def as_column(plan: SuitePlan, name: str) -> SuitePlan:
    """The same plan as one column of a table, under a name of its own in the record."""
    return replace(plan, subject=replace(plan.subject, note=f"column {name}"))


def unread_artifact(plan: SuitePlan) -> list[str]:
    """A note on a target's command that seems not to read the artifact: its answers would be the
    same whatever the artifact says. Empty where it seems to read it.
    """
    identity = plan.target.identity if plan.target is not None else {}
    command, files = identity.get("command"), identity.get("files")
    if identity.get("kind") != "cmd" or plan.subject.version is None or plan.subject.is_isolated:
        return []
    if "{ARTIFACT}" in str(command):
        return []
    names = files if isinstance(files, Mapping) else {}
    paths = [Path(plan.workspace.folder, str(name)) for name in names]
    if any(_mentions(path, b"HONESTONE_ARTIFACT") for path in paths):
        return []
    shown = plan.subject.path
    return [
        f"`{shown}` may not reach the target: its command names no {{ARTIFACT}}, and no file of it $HONESTONE_ARTIFACT"
    ]


def _mentions(path: Path, name: bytes) -> bool:
    try:
        return path.stat().st_size < _LARGEST_SCRIPT and name in path.read_bytes()
    except OSError:
        return False


def own_files_of(path: Path, source: SuiteSource) -> frozenset[Path]:
    """The real paths of a suite and of the files that it includes."""
    return frozenset({path.resolve(), *(file.resolve() for file in source.files)})


def _added_skills(skills: Sequence[Skill]) -> Mapping[str, Sequence[tuple[str, str]]]:
    """What digests say of skills that are installed next to the one that is tried."""
    # Without such skills the key is left out, so that digests on record stay what they were.
    named = [(one.name, one.version.digest) for one in skills]
    return {"more_skills": named} if named else {}


def _asked_as(case: Case) -> Sequence[str]:
    """The digest of what a case with a prompt asks, which its contract does not say."""
    return () if case.prompt is None else [digest_json(task_document(case)["input"])]
