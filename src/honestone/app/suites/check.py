"""Whether a suite can be read, and what in it would show nothing when it is run: by its words, its
skill, its runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.trusting import code_notes
from honestone.app.suites.columns import SuiteName
from honestone.app.workspace import Workspace
from honestone.core.authoring.suite_lint import (
    SuiteRemark,
    TaskOutcome,
    lint_results,
    lint_suite,
    lint_with_skill,
)
from honestone.core.errors import StoreError, UsageError
from honestone.core.tables import PlainRemark
from honestone.ports import Observer
from honestone.system.drawing import count
from honestone.system.processes.commands import GIT, answer_of
from honestone.system.processes.environment import base_environment

if TYPE_CHECKING:
    from honestone.core.events import Event
    from honestone.core.record.summary import RunSummary
    from honestone.core.skill.structure import StructureRemark
    from honestone.core.suite.case import Suite
    from honestone.formats.source import SuiteSource

SCHEMA: Final = "honestone.findings/1"
GIT_TIMEOUT: Final = 10
# So many of a suite's runs on record are looked at, the newest first.
MOST_RUNS: Final = 20


class SuiteCheckRequest(Struct, frozen=True, kw_only=True):
    """`skill` is the folder of the skill that the suite is for; `runs` name runs or saved reports,
    by default the suite's on record. `run_bare` runs the tasks once without any skill, with
    `target` and the judges of `judging`.
    """

    path: Path
    judging: JudgingOptions = field(default_factory=JudgingOptions)
    skill: Path | None = None
    runs: tuple[str, ...] = ()
    run_bare: bool = False
    target: str | None = None
    prompts: tuple[str, ...] = ()
    accept_loss: bool = False


def check_suite(workspace: Workspace, request: SuiteCheckRequest, observer: Observer) -> SuiteCheck:
    """Raises UsageError and its kinds for a file that is not a suite or has a loss that is not
    accepted.
    """
    if (request.judging.judges or request.target or request.prompts) and not request.run_bare:
        raise UsageError(
            "--judge, --target and --prompt are for --run; nothing else asks anybody",
            hint="add --run",
        )
    checked = _read_suite(workspace, request)
    _require_checks(checked, workspace, request.judging)
    checked.remarks += lint_suite(checked.source.suite)
    if request.skill is not None:
        _look_at_skill(checked, workspace.path(request.skill))
    outcomes = _outcomes(checked, workspace, request.runs)
    if request.run_bare:
        outcomes += _run_bare(checked, workspace, request, observer)
    checked.remarks += lint_results(checked.source.suite, outcomes)
    return checked


class PlainSuiteCheck(TypedDict):
    """A `SuiteCheck` as JSON: `honestone.suite-check/1`."""

    schema: str
    path: str
    format: str
    ok: bool
    cases: int
    findings: list[PlainRemark]
    advice: list[PlainRemark]
    structure: list[PlainRemark]
    notes: list[str]


class SuiteCheck(Struct, kw_only=True):
    """A suite and all that was found out about it."""

    path: Path
    source: SuiteSource
    notes: list[str] = field(default_factory=list)
    remarks: list[SuiteRemark] = field(default_factory=list)
    # Advice on the skill's files; never part of a score.
    structure: list[StructureRemark] = field(default_factory=list)

    @property
    def findings(self) -> list[SuiteRemark]:
        return [remark for remark in self.remarks if not remark.is_advice]

    @property
    def advice(self) -> list[SuiteRemark]:
        return [remark for remark in self.remarks if remark.is_advice]

    def place_of(self, remark: SuiteRemark) -> str:
        return self.source.places.get(remark.case or "", f"{self.path}:1:1")

    def to_plain(self) -> PlainSuiteCheck:
        return {
            "schema": SCHEMA,
            "path": str(self.path),
            "format": self.source.dialect,
            "ok": not self.findings,
            "cases": len(self.source.suite.cases),
            "findings": [self._plain(remark) for remark in self.findings],
            "advice": [self._plain(remark) for remark in self.advice],
            "structure": [remark.to_plain() for remark in self.structure],
            "notes": self.notes,
        }

    def _plain(self, remark: SuiteRemark) -> PlainRemark:
        return {
            "rule": remark.rule,
            "case": remark.case,
            **replace(remark, place=self.place_of(remark)).to_plain(),
        }


def _key_notes(source: SuiteSource) -> list[str]:
    """What `eval` refuses unless its command says `--sure`."""
    key = source.key_of_suite
    if key is None or source.suite.sure is not None:
        return []
    return [
        f"{key.place}: `{key.key}` belongs to the suite; `eval` refuses this suite without --sure"
    ]


def _read_suite(workspace: Workspace, request: SuiteCheckRequest) -> SuiteCheck:
    from honestone.formats.source import refuse_losses
    from honestone.interop.environment import named_variables
    from honestone.interop.recognise import read_any_suite

    path = workspace.path(request.path)
    with named_variables(request.judging.pass_env):
        source = read_any_suite(
            path, request.judging.outside(workspace.path), request.judging.read_as
        )
    lost = refuse_losses(source.losses, source.dialect, accepted=request.accept_loss)
    notes = [] if source.dialect == "honestone" else [f"read as {source.dialect}"]
    return SuiteCheck(
        path=path,
        source=source,
        notes=[*notes, *source.notes, *code_notes(source), *lost, *_key_notes(source)],
    )


def _require_checks(checked: SuiteCheck, workspace: Workspace, judging: JudgingOptions) -> None:
    """Raises UsageError for checks that `eval` refuses."""
    from honestone.app.judging.preflight import checker_for, require_checks_of_cases

    source = checked.source
    checker = checker_for(source.base, workspace, judging)
    require_checks_of_cases(
        source, source.suite.cases, checker, asks_embeddings=False, notes=checked.notes
    )


# ----------------------------------------------------------------------------------------------------
# the skill


def _look_at_skill(checked: SuiteCheck, path: Path) -> None:
    from honestone.app.suites.subject import load_skill, skill_folder
    from honestone.core.skill.skill_file import SKILL_FILE
    from honestone.core.skill.structure import check_structure

    folder = skill_folder(path)
    files = {checked.path.resolve(), *(file.resolve() for file in checked.source.files)}
    skill = load_skill(folder, exclude=files)
    remarks = check_structure(skill.version, folder=folder.resolve().name)
    checked.structure = [
        replace(one, place=f"{folder / SKILL_FILE}:{one.line}:1") for one in remarks
    ]
    checked.remarks += lint_with_skill(
        checked.source.suite,
        skill.name,
        suite_authors=_authors(checked.path),
        skill_authors=_authors(folder),
    )


def _authors(path: Path) -> list[str]:
    """Whom git names as the authors of a file or folder; empty without git or without a history."""
    import subprocess

    place = path.resolve()
    command = [*GIT, "log", "-n", "200", "--format=%ae", "--", place.name]
    try:
        done = answer_of(command, GIT_TIMEOUT, cwd=place.parent, env=base_environment())
    except (OSError, subprocess.TimeoutExpired):
        return []
    return (
        sorted(set(done.stdout.decode("utf-8", "replace").split())) if done.returncode == 0 else []
    )


# ----------------------------------------------------------------------------------------------------
# what runs showed


_PASSED = {"passed": True, "failed": False}


def _outcomes(checked: SuiteCheck, workspace: Workspace, names: Sequence[str]) -> list[TaskOutcome]:
    """How the tasks went in the runs named, else in those of this suite that are on record."""
    if names:
        return [
            one
            for name in names
            for one in _of_summary(_find_run_of_suite(workspace, name), checked.source.suite)
        ]
    try:
        runs = list(_on_record(checked, workspace))
    except StoreError as error:
        checked.notes.append(f"the record was not looked at: {error}")
        return []
    if runs:
        checked.notes.append(f"looked at {count(len(runs), 'run')} of it on record")
    return [one for run in runs for one in run]


def _find_run_of_suite(workspace: Workspace, name: str) -> RunSummary:
    from honestone.app.suites.subject import find_run_summary

    with workspace.open_store() as store:
        run = find_run_summary(workspace, store, name)
    if run is None:
        raise UsageError(
            f"`{name}` is neither a suite's run on record nor a saved report",
            hint="`honestone runs` lists runs",
        )
    return run


def _on_record(checked: SuiteCheck, workspace: Workspace) -> Iterator[list[TaskOutcome]]:
    """This suite's finished runs, newest first. Nothing is made without a store."""
    if not workspace.has_store:
        return
    looked = 0
    name = SuiteName.of(workspace, checked.path)
    with workspace.open_store() as store:
        for info in store.runs():
            if info.kind == "suite" and name.is_of(info) and info.finished:
                yield _of_log(store.events(info.id), checked.source.suite)
                looked += 1
                if looked == MOST_RUNS:
                    return


def _of_log(log: Sequence[Event], suite: Suite) -> list[TaskOutcome]:
    """What a run showed about the tasks that still ask the same and are judged by the same rubric."""
    from honestone.core.judging.rubric import to_plain
    from honestone.core.record.record import read_record, rubric_key

    record = read_record(log)
    if record.started.mock:
        return []
    is_bare = record.started.isolated and record.started.artifact is None
    now = {case.id: (case.input, rubric_key(to_plain(case.rubric))) for case in suite.cases}
    return [
        TaskOutcome(case=id, passed=_PASSED.get(str(one.result.status)), is_bare=is_bare)
        for id, one in record.cases.items()
        if now.get(id) == (one.case.input, one.rubric)
    ]


def _of_summary(run: RunSummary, suite: Suite) -> list[TaskOutcome]:
    """How each task ended on the sides of a run, as far as it asked the same. A mock run shows
    nothing.
    """
    if run.is_mock or run.target == "mock":
        return []
    asked = {case.id: case.input for case in suite.cases}
    same = {id for id, case in run.cases.items() if asked.get(id) == case.input}
    out = [
        TaskOutcome(case=id, passed=case.task.passed)
        for id, case in run.cases.items()
        if id in same
    ]
    return out + [
        TaskOutcome(case=one.task_id, passed=one.passed, is_bare=run.baseline == "without")
        for one in run.baseline_tasks
        if one.task_id in same
    ]


def _run_bare(
    checked: SuiteCheck, workspace: Workspace, request: SuiteCheckRequest, observer: Observer
) -> list[TaskOutcome]:
    from honestone.app.suites.plan import SuiteRequest
    from honestone.app.suites.running.run import evaluate_suite
    from honestone.app.suites.subject import SuiteSubject
    from honestone.core.record.summary import summary_of

    bare = SuiteRequest(
        suite=request.path,
        judging=request.judging,
        subject=SuiteSubject.without_skill(),
        target=request.target,
        prompts=request.prompts,
        accept_loss=request.accept_loss,
        attempts=1,
    )
    run = summary_of(evaluate_suite(workspace, bare, observer).record)
    undecided = [task.task_id for task in run.tasks if task.passed is None]
    if undecided:
        checked.notes.append(f"could not be judged: {', '.join(undecided)}")
    return [
        TaskOutcome(case=one.case, passed=one.passed, is_bare=True)
        for one in _of_summary(run, checked.source.suite)
    ]
