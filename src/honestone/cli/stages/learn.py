"""`honestone stage learn`: what helped so far and what did not, read from receipts, traces and the memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli.stages.options import stage_files, stage_options
from honestone.core.skill.gate_layers import Decision
from honestone.core.skill.lessons import Lesson, Outcome, counts, learn, read_lesson
from honestone.core.skill.stage_file import GATED, TRACES_FOLDER

if TYPE_CHECKING:
    from honestone.app.stages.files import StageFiles
    from honestone.cli.progress import Progress

_PROMOTED = "promoted"


@click.command("learn", short_help="What helped so far, per category.")
@stage_options
def learn_command(state_root: Path | None, output: Path | None, as_json: bool, quiet: bool) -> int:
    """List what kinds of edits were kept and what kinds were put back, and where. Advice: nothing is decided by it.

    The list is kept in STATE_ROOT/memory.json, so that it outlives the receipts.
    """
    from honestone.app.stages.files import write_json
    from honestone.cli.printing import dump, write
    from honestone.cli.progress import Progress
    from honestone.report.draw import clean

    files = stage_files(state_root, output)
    with Progress(quiet=quiet) as progress:
        lessons = learned(files, progress)
    plain = [lesson.to_plain() for lesson in lessons]
    if output is not None:
        write_json(output, plain)
    if as_json:
        write(dump(plain) + "\n")
        return 0
    for line in lines(lessons):
        write(clean(line) + "\n")
    return 0


def learned(files: StageFiles, progress: Progress) -> list[Lesson]:
    """The lessons of all that is below STATE_ROOT; written to its memory where there are any."""
    from honestone.app.stages.state import remembered, write_memory

    earlier = []
    for one in remembered(files):
        lesson = read_lesson(one)
        if lesson is None:
            progress.note(f"an entry of memory.json is no lesson and is left out: {str(one)[:80]}")
        else:
            earlier.append(lesson)
    lessons = learn(_outcomes(files, progress), earlier)
    if lessons:
        write_memory(files, [lesson.to_plain() for lesson in lessons])
    return lessons


def _outcomes(files: StageFiles, progress: Progress) -> Iterator[Outcome]:
    from honestone.app.stages.files import read_json
    from honestone.core.errors import UsageError

    failed = _failed_tasks(files)
    for path in sorted(files.folder(GATED.folder).glob("*.json")):
        try:
            outcome = _outcome(read_json(path).value, failed)
        except UsageError as error:
            progress.note(f"left out {path}: {error.message}")
            continue
        if outcome is not None:
            yield outcome


def _outcome(receipt: Mapping[str, Any], failed: Mapping[tuple[Any, Any], tuple[str, ...]]) -> Outcome | None:
    """What a receipt says; None while a person has not decided, and for what is no receipt."""
    decision, stage = receipt.get("decision"), receipt.get("stage")
    if stage not in (GATED.says, _PROMOTED) or decision not in (Decision.KEEP, Decision.REVERT, Decision.REJECT):
        return None
    layers = receipt.get("gate_layers")
    by_gate = layers.get("failed_at") if isinstance(layers, Mapping) else None
    succeeded = decision == Decision.KEEP
    key = receipt.get("run_id"), receipt.get("candidate_id")
    return Outcome(
        receipt="/".join(str(receipt.get(key)) for key in ("run_id", "candidate_id", "stage", "decision")),
        category=_text(receipt, "candidate_category") or "unknown",
        succeeded=succeeded,
        candidate_id=_text(receipt, "candidate_id"),
        timestamp=_text(receipt, "created_at"),
        layer=None if succeeded else "person" if stage == _PROMOTED else by_gate,
        reason=_text(receipt, "reason"),
        failed_tasks=() if succeeded else failed.get(key, ()),
    )


def _failed_tasks(files: StageFiles) -> dict[tuple[Any, Any], tuple[str, ...]]:
    """Which tasks each edit that was put back had failed, by run and candidate."""
    from honestone.app.stages.files import read_json
    from honestone.core.errors import UsageError

    found = {}
    for path in files.folder(TRACES_FOLDER).glob("*.json"):
        try:
            trace = read_json(path).value
        except UsageError:
            continue  # whoever reads traces to propose by them says so
        tasks = trace.get("failed_tasks")
        found[_hashable(trace.get("run_id")), _hashable(trace.get("candidate_id"))] = tuple(
            task["task_id"]
            for task in (tasks if isinstance(tasks, list) else [])
            if isinstance(task, dict) and isinstance(task.get("task_id"), str)
        )
    return found


def _hashable(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    return value if isinstance(value, str) else ""


def lines(lessons: list[Lesson]) -> Iterator[str]:
    """The lessons for people, category by category, the most tried first."""
    if not lessons:
        yield "nothing has been decided yet, so there is nothing to learn from"
        return
    tried: dict[str, int] = {}
    for lesson in lessons:
        tried[lesson.type] = tried.get(lesson.type, 0) + lesson.hit_count
    for category in sorted(tried, key=lambda name: -tried[name]):
        mine = [lesson for lesson in lessons if lesson.type == category]
        helped = sum(lesson.hit_count for lesson in mine if lesson.succeeded)
        yield f"{category}: {helped} of {tried[category]} helped"
        for lesson in mine:
            if not lesson.succeeded:
                yield f"  {lesson.hit_count} did not ({_why(lesson)})"
    yield "advice only: no stage decides by it"


def _why(lesson: Lesson) -> str:
    reason = lesson.context.get("reason") or lesson.context.get("dimension") or "no reason on record"
    tasks = counts(lesson.context.get("failed_tasks"))
    most = sorted(tasks, key=lambda name: -tasks[name])[:5]
    return f"{reason}" + (f"; tasks that failed: {', '.join(most)}" if most else "")
