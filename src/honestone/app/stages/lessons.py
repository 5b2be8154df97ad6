"""What earlier decisions on a skill teach the next edit of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from honestone.app.stages.files import SkillUnderEdit, StageFiles, write_json
from honestone.core.errors import UsageError
from honestone.core.skill import brief
from honestone.core.skill.gate_layers import Decision
from honestone.formats import stage_files as doc
from honestone.ports import Observer

_Failed = Mapping[tuple[str | None, str], tuple[str, ...]]


def learn_from(files: StageFiles, observer: Observer) -> list[brief.Lesson]:
    """The lessons of all that is below STATE_ROOT; written to its memory where there are any, and
    to `--output`.
    """
    earlier = []
    for one in files.memory():
        lesson = brief.read_lesson(one)
        if lesson is None:
            observer.note(
                f"an entry of memory.json is not a lesson and is left out: {str(one)[:80]}"
            )
        else:
            earlier.append(lesson)
    outcomes = [outcome for _, outcome in _outcomes(files, observer)]
    lessons = brief.learn(outcomes, earlier)
    plain = [lesson.to_plain() for lesson in lessons]
    if lessons:
        files.remember(plain)
    if files.output is not None:
        write_json(files.output, plain)
    return lessons


def lessons_about(files: StageFiles, skill: SkillUnderEdit) -> list[brief.Lesson]:
    """What the receipts below STATE_ROOT teach about this skill."""
    return brief.learn(
        outcome for named, outcome in _outcomes(files, None) if skill.inside(named) == ""
    )


def _outcomes(files: StageFiles, observer: Observer | None) -> Iterator[tuple[str, brief.Learned]]:
    """Every decision on record, with the folder of its skill."""
    failed = _failed_tasks(files)
    for path in sorted(files.folder(doc.Receipt.folder).glob("*.json")):
        try:
            receipt = _read_decision(path)
        except UsageError as error:
            if observer is not None:
                observer.note(f"left out {path}: {error.message}")
            continue
        if receipt is not None and receipt.decision in (
            Decision.KEEP,
            Decision.REVERT,
            Decision.REJECT,
        ):
            yield (receipt.target.path if receipt.target else ""), _outcome(receipt, failed)


class _Decided(msgspec.Struct, kw_only=True):
    """What is learned from a receipt of the gate, or of a person; other programs write less than
    honestone.
    """

    stage: str = ""
    run_id: str | None = None
    candidate_id: str = ""
    decision: str = ""
    reason: str = ""
    candidate_category: str | None = None
    created_at: str = ""
    target: doc.SkillNamed | None = None
    gate_layers: doc.GateLayers | None = None


def _read_decision(path: Path) -> _Decided | None:
    """None for a file that is not a receipt."""
    receipt = doc.read_as(doc.read_object(path), _Decided)
    return receipt if receipt.stage in ("gated", "promoted") else None


def _outcome(receipt: _Decided, failed: _Failed) -> brief.Learned:
    succeeded = receipt.decision == Decision.KEEP
    layer = receipt.gate_layers.failed_at if receipt.gate_layers else None
    if receipt.stage == "promoted":
        layer = "person"
    return brief.Learned(
        receipt=f"{receipt.run_id}/{receipt.candidate_id}/{receipt.stage}/{receipt.decision}",
        category=receipt.candidate_category or "unknown",
        succeeded=succeeded,
        candidate_id=receipt.candidate_id,
        timestamp=receipt.created_at,
        layer=None if succeeded else layer,
        reason=receipt.reason,
        failed_tasks=() if succeeded else failed.get((receipt.run_id, receipt.candidate_id), ()),
    )


def _failed_tasks(files: StageFiles) -> _Failed:
    """Which tasks each edit that was put back had failed, by run and candidate."""
    found = {}
    for path in files.folder(doc.Traces.folder).glob("*.json"):
        try:
            traces = doc.read_as(doc.read_object(path), doc.Traces)
        except UsageError:
            continue  # whoever reads traces to propose by them reports it
        tasks = (one if isinstance(one, str) else one.task_id for one in traces.failed_tasks)
        found[traces.run_id, traces.candidate_id] = tuple(tasks)
    return found
