"""A suite made ready to be run: its cases are chosen, and everything asked for is read and checked
before it costs anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING

from honestone.app.judging import judging_options
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.lock import LockedFiles, files_that_judge
from honestone.app.judging.rubric_plan import checks_of
from honestone.app.judging.sure import sure_of_suite
from honestone.app.judging.trusting import contacts
from honestone.app.suites.columns import SuiteName
from honestone.app.suites.contracts import CaseContracts
from honestone.app.suites.options import SuiteOptions
from honestone.app.suites.outputs import RecordedOutputs
from honestone.app.suites.subject import Baseline, SuiteSubject
from honestone.app.workspace import Workspace
from honestone.core.belief.suite import SuiteBar
from honestone.core.checking.checks import is_of_text_alone
from honestone.core.events import (
    RecordedCase,
    StartedArtifact,
    StartedSuite,
    SuiteStarted,
    judged_by,
)
from honestone.core.judging.contract import Contract, digest_json, digest_of_list
from honestone.core.judging.rubric import Check
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Case, task_document
from honestone.core.suite.each import Each
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


_LARGEST_SCRIPT = 1_000_000


@dataclass(frozen=True, kw_only=True)
class SuiteRequest(SuiteOptions):
    """What is asked of a suite, as it was given."""

    suite: Path
    # What the suite says, where it was not read from its file; `suite` is then its name alone.
    source: SuiteSource | None = None
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    artifact: Path | None = None
    # What is run, where it is at hand, instead of the path of an artifact.
    subject: SuiteSubject | None = None
    target: str | Target | Function | None = None
    # The command that judges the outputs on record again; a note names it where that would do.
    judge_again: str | None = None
    # Outputs made since then (an ISO time) are used again while the target would be asked the same.
    outputs_since: str | None = None
    # The baseline itself, where it is at hand, instead of its name.
    against: Baseline | None = None
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
    def sure(self) -> Fraction | None:
        """How sure the verdict has to be (0-1); None where judges are asked once."""
        return sure_of_suite(self.source.suite, self.judging)

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

    @cached_property
    def contracts(self) -> CaseContracts:
        """What each case is judged by."""
        return CaseContracts(
            cases=self.cases,
            checker=self.checker,
            base=self.source.base,
            max_bytes=self.max_bytes,
            workspaces=self.workspaces,
        )

    def _contract_of(self, case: Case) -> str:
        """Not remembered for an order, which may be of very many cases."""
        if self.request.is_ordered:
            return self.contracts.of(case).id
        return self.contracts.ids[case.id]

    @property
    def whole_contract(self) -> Contract:
        """What `suite lock` writes down."""
        return self.contracts.with_shared(self.contract)

    @cached_property
    def program_files(self) -> Sequence[Path]:
        """The files named in the target's command, or its module."""
        files = () if self.target is None else self.target.identity.get("files")
        places = (self.workspace.folder, self.source.base)
        named = [
            next((place / name for place in places if (place / name).is_file()), None)
            for name in (files if isinstance(files, Mapping) else ())
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
                **self._added_skills(),
                "case": case.id,
                **task_document(case, workspace=self.workspaces.get(case.id)),
            }
        )

    def _added_skills(self) -> Mapping[str, Sequence[tuple[str, str]]]:
        """A part of digests, which stay what they were where no other skills are installed."""
        skills = [(one.name, one.version.digest) for one in self.more_skills]
        return {"more_skills": skills} if skills else {}

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
                **self._added_skills(),
                "contract": self.contract.id,
                "limits": [judging.max_calls, judging.max_usd, judging.max_minutes],
                **functions_of(self.seats),
            },
            "cases",
            ([case.id, self._contract_of(case)] for case in cases),
        )

    def is_judged_as(self, then: SuiteStarted) -> bool:
        """Whether a run was judged as this one will be."""
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
        """The same with its `fixtures/`: never part of an artifact."""
        fixtures = self.source.base.resolve() / "fixtures"
        return self.own_files | {path.resolve() for path in fixtures.rglob("*") if path.is_file()}

    def judging_files(self) -> frozenset[Path]:
        """The real paths of the programs, tests and schemas that its checks are made of."""
        checks = [
            check for rubric in self.contracts.rubrics.values() for check in checks_of(rubric)
        ]
        return frozenset(path.resolve() for path in self.checker.judging_files(checks))

    @property
    def files_that_judge(self) -> LockedFiles:
        """For a lock: what judges its cases, with the modules that it imports."""
        checks = [
            check for rubric in self.contracts.rubrics.values() for check in checks_of(rubric)
        ]
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

        def watch_of(checks: Sequence[Check]) -> Sequence[JudgingFiles]:
            code = [check for check in checks if not is_of_text_alone(check)]
            named = partial(self.checker.judging_files, code)
            return [JudgingFiles(named, base=base)] if code else []

        return {
            key: (judges, *watch_of(checks_of(rubric)))
            for key, rubric in self.contracts.rubrics.items()
        }

    def judge_calls(self, cases: Iterable[Case]) -> int:
        """How often judges are asked on one side, without retries."""
        if not self.seats:
            return 0
        if self.sure is not None:
            bar = SuiteBar(least=Fraction(1), max_looks=self.judging.max_looks)
            return bar.looks(sum(case.skip is None for case in cases))
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
            rubrics=self.contracts.rubrics_by_key(cases),
            cases=Each(cases, recorded) if request.is_ordered else tuple(map(recorded, cases)),
            outputs=None if self.outputs is None else self.outputs.source,
            min_pass_rate=request.least_pass_rate
            if request.least_pass_rate is not None
            else Fraction(1),
            min_given=request.least_pass_rate is not None,
            sure=sure_of_suite(suite, self.judging),
            max_looks=self.judging.max_looks or suite.max_looks,
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
            rubric=self.contracts.rubric_key(case),
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

    def as_column(self, name: str) -> SuitePlan:
        return replace(self, subject=replace(self.subject, note=f"column {name}"))

    async def close(self) -> None:
        for seat in self.seats:
            await seat.judge.close()
        if self.target is not None:
            await self.target.close()


def unread_artifact(plan: SuitePlan) -> list[str]:
    """A note on a command that seems not to look at the artifact: it answers the same, whatever is
    in that.
    """
    identity = plan.target.identity if plan.target is not None else {}
    command, files = identity.get("command"), identity.get("files")
    if identity.get("kind") != "cmd" or plan.subject.version is None or plan.subject.is_isolated:
        return []
    named = (
        [Path(plan.workspace.folder, str(word)) for word in files]
        if isinstance(files, Mapping)
        else []
    )
    if "{ARTIFACT}" in str(command) or any(
        _mentions(path, b"HONESTONE_ARTIFACT") for path in named
    ):
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
    return frozenset({path.resolve(), *(file.resolve() for file in source.files)})
