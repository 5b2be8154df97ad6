"""What is known before an edit is made: sources, traces, tasks that failed, and lessons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.stages.files import SkillUnderEdit, StageFiles
from honestone.app.stages.lessons import lessons_about
from honestone.app.workspace import Workspace
from honestone.core.errors import StoreError, UsageError
from honestone.core.events import SuiteStarted
from honestone.core.record.record import SuiteRecord, read_record
from honestone.core.record.runs import moment_of_run
from honestone.core.record.summary import summary_of
from honestone.core.skill import brief
from honestone.core.suite.case import Split
from honestone.formats import stage_files as doc
from honestone.formats.syntax.marked import read_text
from honestone.ports import Observer
from honestone.system.files import printable

# The beginnings of so many runs of a suite are looked at, the newest first.
_MOST_RUNS = 500
_KINDS = {
    "md": "markdown",
    "yml": "yaml",
    **{name: name for name in ("markdown", "json", "jsonl", "yaml", "log")},
}


def read_edit_brief(
    files: StageFiles,
    skill: SkillUnderEdit,
    sources: Sequence[Path],
    *,
    task_suite: Path | None,
    prompts: Sequence[str] = (),
    traces: Sequence[Path] = (),
    observer: Observer,
) -> brief.EditBrief:
    """What the worker is shown: sources, edits that were put back, tasks that failed in the last
    evaluation, and what was learned. Nothing about tasks of the test split. Raises UsageError with
    places.
    """
    workspace = files.workspace
    tasks = SuiteTasks() if task_suite is None else read_suite_tasks(workspace, task_suite, prompts)
    return brief.EditBrief(
        failing=tuple(tasks.shown(_last_failures(files, skill, tasks, observer))),
        tried=tuple(read_trace(workspace, path, tasks) for path in traces),
        sources=read_sources(workspace, sources),
        lessons=tuple(brief.warnings_of(lessons_about(files, skill))),
    )


def read_sources(workspace: Workspace, paths: Sequence[Path]) -> tuple[brief.Source, ...]:
    """Raises FileError for what is missing or not text."""
    return tuple(
        brief.Source(
            path=printable(path),
            kind=_KINDS.get(path.suffix.lower()[1:], "text"),
            text=read_text(workspace.path(path)),
        )
        for path in paths
    )


def read_trace(workspace: Workspace, path: Path, tasks: SuiteTasks) -> brief.FailedTry:
    """A traces file, without tasks of the test split. Raises UsageError with the place."""
    marked = doc.read_object(workspace.path(path))
    if not isinstance(marked.value.get("failed_tasks"), list):
        raise UsageError(
            f"`{printable(path)}` is not a traces file: it has no list `failed_tasks`",
            place=marked.at(("failed_tasks",)),
            hint="`honestone skill run` writes one for every edit that is put back, below STATE_ROOT/traces",
        )
    return failed_try(doc.read_as(marked, doc.Traces), tasks)


def failed_try(traces: doc.Traces, tasks: SuiteTasks) -> brief.FailedTry:
    """What a worker is shown of an edit that was put back."""
    failed = [
        doc.TracedTask(task_id=one) if isinstance(one, str) else one for one in traces.failed_tasks
    ]
    found = [
        brief.FailedTask(task_id=one.task_id, prompt=one.prompt or "", details=one.details or "")
        for one in failed
    ]
    return brief.FailedTry(
        candidate_id=traces.candidate_id,
        reason=traces.reason,
        tasks=tuple(tasks.shown(found)),
        digest=traces.candidate_digest,
    )


class SuiteTasks(Struct, frozen=True, kw_only=True):
    """The tasks of a suite that a worker may be shown: `prompts` by id. `hidden` are those of a
    test split that the suite names.
    """

    path: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def asked_alike(self, record: SuiteRecord) -> frozenset[str]:
        """The tasks that a run asked in the words of today: with the same prompt, and not edited
        since.
        """
        return frozenset(
            id
            for id, one in record.cases.items()
            if id in self.prompts and one.case.input == self.prompts[id]
        )

    def shown(self, tasks: Sequence[brief.FailedTask]) -> list[brief.FailedTask]:
        return [
            replace(task, prompt=task.prompt or self.prompts.get(task.task_id, ""))
            for task in tasks
            if task.task_id not in self.hidden
        ]


def read_suite_tasks(workspace: Workspace, path: Path, prompts: Sequence[str] = ()) -> SuiteTasks:
    """The tasks of a suite of any format; of one with several prompts as the one that was chosen
    asks them. Raises UsageError and its kinds.
    """
    from honestone.interop.recognise import read_any_suite

    cases = read_any_suite(workspace.path(path)).suite.cases
    has_splits = any(case.split is not None for case in cases)
    hidden = frozenset(case.id for case in cases if has_splits and case.in_split is Split.TEST)
    prompt = prompts[0] if len(prompts) == 1 else None
    asked = {one.id: one.asked_with(prompt).input for one in cases if one.id not in hidden}
    return SuiteTasks(path=workspace.path(path), prompts=asked, hidden=hidden)


def failed_in(rows: Sequence[doc.TaskRow]) -> list[brief.FailedTask]:
    """The tasks that failed on one side of an evaluation. One that could not be run or judged is
    none of them.
    """
    return [
        brief.FailedTask(task_id=one.task_id, details=one.details)
        for one in rows
        if one.passed is False
    ]


def _last_failures(
    files: StageFiles, skill: SkillUnderEdit, tasks: SuiteTasks, observer: Observer
) -> list[brief.FailedTask]:
    """What this skill, as it is, failed in the newest evaluation of this suite: one below
    STATE_ROOT, or a run of `eval` in the store.
    """
    if tasks.path is None:
        return []
    evaluated = (*_of_files(files, skill, tasks), *_of_runs(skill, tasks))
    newest = max(evaluated, key=attrgetter("at"), default=None)
    if newest is not None:
        return newest.failed
    observer.note(
        f"no evaluation of {printable(tasks.path)} with this skill and these prompts is on record below {printable(files.root)} or among the"
        f" last {_MOST_RUNS} runs of it in the store: the worker is shown no failed tasks"
    )
    return []


class _Evaluated(Struct, frozen=True, kw_only=True):
    """An evaluation of the skill as it is: `at` in seconds since 1970, and what failed."""

    at: float
    failed: list[brief.FailedTask]


def _of_files(files: StageFiles, skill: SkillUnderEdit, tasks: SuiteTasks) -> Iterator[_Evaluated]:
    for one in _evaluations(files):
        side = _side_of(one, skill)
        if (
            side is not None
            and tasks.path is not None
            and _is_at(files.workspace, one.task_suite, tasks.path)
            and _is_of(one, skill)
        ):
            record = _record_of(skill.workspace, side.run)
            asked = None if record is None else tasks.asked_alike(record)
            if asked is None or asked:
                failed = [
                    row for row in failed_in(side.rows) if asked is None or row.task_id in asked
                ]
                yield _Evaluated(at=_moment(one.created_at), failed=failed)
                return


def _record_of(workspace: Workspace, run: object) -> SuiteRecord | None:
    """The run of an evaluation, where the store has it."""
    if not isinstance(run, str) or not workspace.has_store:
        return None
    with workspace.open_store(readonly=True) as store, suppress(StoreError):
        log = store.events(run)
        if log and isinstance(log[0], SuiteStarted):
            return read_record(log, run=run)
    return None


def _moment(stamp: str) -> float:
    """0 for what is not a moment, as another program may write it."""
    try:
        moment = datetime.fromisoformat(stamp)
    except ValueError:
        return 0
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _of_runs(skill: SkillUnderEdit, tasks: SuiteTasks) -> Iterator[_Evaluated]:
    """The newest run of `eval` with these tasks and the skill as it is, if it is among the last
    ones.
    """
    from honestone.app.suites.columns import SuiteName

    workspace = skill.workspace
    if not workspace.has_store or tasks.path is None:
        return
    name, digest = SuiteName.of(workspace, tasks.path), skill.version.digest
    with workspace.open_store(readonly=True) as store:
        runs = (one for one in store.runs() if one.kind == "suite" and one.finished)
        for info in islice(filter(name.is_of, runs), _MOST_RUNS):
            started = next(store.iter_events(info.id))
            assert isinstance(started, SuiteStarted)
            is_other = started.artifact is None or started.artifact.digest != digest
            # A side of a comparison or of a loop is not what a person evaluated.
            if is_other or started.mock or started.side:
                continue
            record = read_record(store.events(info.id), run=info.id)
            asked = tasks.asked_alike(record)
            if not asked:
                continue
            failed = [
                brief.FailedTask(task_id=one.task_id, details=one.details)
                for one in summary_of(record).tasks
                if one.passed is False and one.task_id in asked
            ]
            yield _Evaluated(at=moment_of_run(info.id) / 1000, failed=failed)
            return


def _evaluations(files: StageFiles) -> list[doc.SkillEvaluation]:
    """The evaluations below STATE_ROOT that can be read, newest first."""
    evaluations = []
    for path in files.folder(doc.SkillEvaluation.folder).glob("*.json"):
        try:
            evaluations.append(doc.read_stage(path, doc.SkillEvaluation).body)
        except UsageError:
            continue
    return sorted(evaluations, key=lambda one: one.created_at, reverse=True)


def _is_at(workspace: Workspace, named: str, path: Path) -> bool:
    return bool(named) and "\0" not in named and workspace.path(named).resolve() == path.resolve()


def _is_of(evaluation: doc.SkillEvaluation, skill: SkillUnderEdit) -> bool:
    about = evaluation.target
    return (
        about is not None
        and not evaluation.mock
        and _is_at(skill.workspace, about.path, skill.folder)
    )


class _Side(Struct, frozen=True, kw_only=True):
    """One side of an evaluation: its tasks, and the run that they are of, where it is named."""

    rows: list[doc.TaskRow]
    run: object


def _side_of(evaluation: doc.SkillEvaluation, skill: SkillUnderEdit) -> _Side | None:
    """The side of an evaluation on which the skill ran as it is now; None where it has changed
    since.

    Other programs name no digest of the baseline; theirs is taken for the skill as it is.
    """
    digest, runs = skill.version.digest, evaluation.runs or {}
    if evaluation.candidate_digest == digest:
        return _Side(rows=evaluation.candidate_results, run=runs.get("candidate"))
    names_none = evaluation.baseline_digest is None and evaluation.lane != doc.STANDALONE
    if names_none or evaluation.baseline_digest == digest:
        return _Side(rows=evaluation.baseline_results, run=runs.get("baseline"))
    return None
