"""What a proposal is about: sources and traces from files, and the tasks of a suite that failed last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from honestone.core.errors import UsageError
from honestone.core.skill.brief import FailedTask, FailedTry, Occasion, Source
from honestone.core.skill.stage_file import EVALUATED
from honestone.core.suite.case import Split
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.app.stages.files import StageFiles, Target
    from honestone.cli.progress import Progress
    from honestone.formats.marked import Marked

_KINDS = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".json": "json",
    ".jsonl": "jsonl",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".log": "log",
}


def read_sources(paths: Sequence[Path]) -> tuple[Source, ...]:
    """Raises FileError for what is missing or no text."""
    from honestone.formats.marked import read_text

    return tuple(
        Source(path=printable(path), kind=_KINDS.get(path.suffix.lower(), "text"), text=read_text(path))
        for path in paths
    )


def read_traces(paths: Sequence[Path]) -> tuple[FailedTry, ...]:
    """Traces files: {candidate_id, reason, failed_tasks: [{task_id, prompt, details}]}. Raises UsageError with places."""
    from honestone.app.stages.files import read_json

    return tuple(_trace(read_json(path)) for path in paths)


def _trace(marked: Marked) -> FailedTry:
    value = marked.value
    if "failed_tasks" not in value or not isinstance(value["failed_tasks"], list):
        raise UsageError(
            "this is no traces file: it has no list `failed_tasks`",
            place=marked.at(("failed_tasks",)),
            hint="`honestone stage run` writes one for every edit that is put back, below STATE_ROOT/traces",
        )
    tasks = tuple(_failed_task(marked, at, one) for at, one in enumerate(value["failed_tasks"]))
    digest = value.get("candidate_digest")
    return FailedTry(
        candidate_id=_text(value, "candidate_id") or "without a name",
        reason=_text(value, "reason"),
        tasks=tasks,
        digest=digest if isinstance(digest, str) else None,
    )


def _failed_task(marked: Marked, at: int, one: Any) -> FailedTask:
    """An object, or the task's id alone as some programs write it."""
    if isinstance(one, str) and one:
        return FailedTask(task_id=one)
    if not isinstance(one, dict) or not _text(one, "task_id"):
        raise UsageError("a failed task has no `task_id`", place=marked.at(("failed_tasks", at)))
    return FailedTask(task_id=_text(one, "task_id"), prompt=_text(one, "prompt"), details=_text(one, "details"))


def _text(value: Mapping[str, Any], key: str) -> str:
    found = value.get(key)
    return found if isinstance(found, str) else ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tasks:
    """The tasks of a suite that a worker may hear of: `prompts` by id. `hidden` are those of a test split that the suite
    names."""

    path: Path | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()

    def without_hidden(self, occasion: Occasion) -> Occasion:
        """Nothing about tasks of the test split, wherever it was read."""
        return replace(
            occasion,
            failing=self._shown(occasion.failing),
            tried=tuple(replace(one, tasks=self._shown(one.tasks)) for one in occasion.tried),
        )

    def _shown(self, tasks: Sequence[FailedTask]) -> tuple[FailedTask, ...]:
        return tuple(
            replace(task, prompt=task.prompt or self.prompts.get(task.task_id, ""))
            for task in tasks
            if task.task_id not in self.hidden
        )

    def last_failures(self, files: StageFiles, target: Target, progress: Progress) -> list[FailedTask]:
        """What this skill, as it is, failed in the newest evaluation of this suite below STATE_ROOT."""
        if self.path is None:
            return []
        for document in _evaluations(files):
            side = _side_of(document, target)
            if side is not None and _names_suite(document, self.path) and _names_skill(document, target):
                return list(failed_in(document.get(side)))
        progress.note(
            f"no evaluation of {printable(self.path)} is on record below {printable(files.root)}: "
            "the worker is shown no failed tasks"
        )
        return []


def read_suite_tasks(path: Path) -> Tasks:
    """The tasks of a suite of any format. Raises UsageError and its kinds."""
    from honestone.interop.recognise import read_any_suite

    cases = read_any_suite(path).suite.cases
    has_splits = any(case.split is not None for case in cases)
    hidden = frozenset(case.id for case in cases if has_splits and case.in_split is Split.TEST)
    return Tasks(path=path, prompts={case.id: case.input for case in cases if case.id not in hidden}, hidden=hidden)


def failed_in(results: Any, prompts: Mapping[str, str] | None = None) -> list[FailedTask]:
    """The tasks that failed in the `candidate_results` or `baseline_results` of an evaluation. One that could not be run
    or judged is none of them."""
    return [
        FailedTask(
            task_id=one["task_id"], prompt=(prompts or {}).get(one["task_id"], ""), details=_text(one, "details")
        )
        for one in (results if isinstance(results, list) else [])
        if isinstance(one, dict) and isinstance(one.get("task_id"), str) and one.get("passed") is False
    ]


def _evaluations(files: StageFiles) -> list[dict[str, Any]]:
    """The evaluations below STATE_ROOT that can be read, newest first."""
    from honestone.app.stages.files import read_stage

    found = []
    for path in files.folder(EVALUATED.folder).glob("*.json"):
        try:
            found.append(read_stage(path, EVALUATED).document)
        except UsageError:
            continue
    return sorted(found, key=lambda document: str(document.get("created_at")), reverse=True)


def _names_suite(document: Mapping[str, Any], path: Path) -> bool:
    named = document.get("task_suite")
    return isinstance(named, str) and "\0" not in named and Path(named).resolve() == path.resolve()


def _names_skill(document: Mapping[str, Any], target: Target) -> bool:
    about = document.get("target")
    named = about.get("path") if isinstance(about, dict) else None
    if not isinstance(named, str) or "\0" in named or document.get("mock") is True:
        return False
    return Path(named).resolve() == target.folder.resolve()


def _side_of(document: Mapping[str, Any], target: Target) -> str | None:
    """The side of an evaluation on which the skill ran as it is now; None where it has changed since.

    Other programs name no digest of the baseline; theirs is taken for the skill as it is.
    """
    digest = target.version.digest
    if document.get("candidate_digest") == digest:
        return "candidate_results"
    return "baseline_results" if document.get("baseline_digest", digest) == digest else None
