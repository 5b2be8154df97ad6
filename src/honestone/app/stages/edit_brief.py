"""What is known before an edit is made: sources, traces, tasks that failed, and lessons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from honestone.app.stages.files import SkillUnderEdit, StageFiles
from honestone.app.stages.lessons import lessons_about
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.skill import brief
from honestone.core.suite.case import Split
from honestone.formats import stage_files as doc
from honestone.formats.syntax.marked import read_text
from honestone.ports import Observer
from honestone.system.files import printable

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
    traces: Sequence[Path] = (),
    observer: Observer,
) -> brief.EditBrief:
    """What the worker is shown: sources, edits that were put back, tasks that failed in the last
    evaluation, and what was learned. Nothing about tasks of the test split. Raises UsageError with
    places.
    """
    workspace = files.workspace
    tasks = SuiteTasks() if task_suite is None else read_suite_tasks(workspace, task_suite)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteTasks:
    """The tasks of a suite that a worker may be shown: `prompts` by id. `hidden` are those of a
    test split that the suite names.
    """

    path: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def shown(self, tasks: Sequence[brief.FailedTask]) -> list[brief.FailedTask]:
        return [
            replace(task, prompt=task.prompt or self.prompts.get(task.task_id, ""))
            for task in tasks
            if task.task_id not in self.hidden
        ]


def read_suite_tasks(workspace: Workspace, path: Path) -> SuiteTasks:
    """The tasks of a suite of any format. Raises UsageError and its kinds."""
    from honestone.interop.recognise import read_any_suite

    cases = read_any_suite(workspace.path(path)).suite.cases
    has_splits = any(case.split is not None for case in cases)
    hidden = frozenset(case.id for case in cases if has_splits and case.in_split is Split.TEST)
    prompts = {case.id: case.input for case in cases if case.id not in hidden}
    return SuiteTasks(path=workspace.path(path), prompts=prompts, hidden=hidden)


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
    """What this skill, as it is, failed in the newest evaluation of this suite below STATE_ROOT."""
    if tasks.path is None:
        return []
    for one in _evaluations(files):
        rows = _rows_of(one, skill)
        if (
            rows is not None
            and _is_at(files.workspace, one.task_suite, tasks.path)
            and _is_of(one, skill)
        ):
            return failed_in(rows)
    observer.note(
        f"no evaluation of {printable(tasks.path)} is on record below {printable(files.root)}: "
        "the worker is shown no failed tasks"
    )
    return []


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


def _rows_of(evaluation: doc.SkillEvaluation, skill: SkillUnderEdit) -> list[doc.TaskRow] | None:
    """The side of an evaluation on which the skill ran as it is now; None where it has changed
    since.

    Other programs name no digest of the baseline; theirs is taken for the skill as it is.
    """
    digest = skill.version.digest
    if evaluation.candidate_digest == digest:
        return evaluation.candidate_results
    names_none = evaluation.baseline_digest is None and evaluation.lane != doc.STANDALONE
    return (
        evaluation.baseline_results if names_none or evaluation.baseline_digest == digest else None
    )
