"""What helped a skill so far and what did not, by the category of the edit. The next brief and the ranking are shown what
did not; the gate decides without it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

_EXAMPLES: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """What became of one candidate. `receipt` names the decision, so that none is counted twice."""

    receipt: str
    category: str
    succeeded: bool
    candidate_id: str
    timestamp: str
    layer: str | None = None
    """The gate's layer that stopped it, or `person`."""
    reason: str = ""
    failed_tasks: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """Outcomes of one kind: `type` is the category, `hit_count` how many there were, `timestamp` the last one's."""

    type: str
    succeeded: bool
    context: Mapping[str, object] = field(default_factory=dict)
    timestamp: str = ""
    hit_count: int = 1

    def to_plain(self) -> dict[str, object]:
        return {
            "type": self.type,
            "succeeded": self.succeeded,
            "context": dict(self.context),
            "timestamp": self.timestamp,
            "hit_count": self.hit_count,
        }

    @property
    def kind(self) -> tuple[str, bool, str]:
        return self.type, self.succeeded, str(self.context.get("layer") or "")

    @property
    def is_ours(self) -> bool:
        return isinstance(self.context.get("receipts"), list)


def read_lesson(plain: object) -> Lesson | None:
    """An entry of a memory file, also another program's; None for what is none."""
    if not isinstance(plain, Mapping):
        return None
    kind, succeeded, context = plain.get("type"), plain.get("succeeded"), plain.get("context")
    count, when = plain.get("hit_count", 1), plain.get("timestamp", "")
    if not isinstance(kind, str) or not kind or not isinstance(succeeded, bool):
        return None
    return Lesson(
        type=kind,
        succeeded=succeeded,
        context=context if isinstance(context, Mapping) else {},
        timestamp=when if isinstance(when, str) else "",
        hit_count=count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 1,
    )


def learn(outcomes: Iterable[Learned], earlier: Sequence[Lesson] = ()) -> list[Lesson]:
    """The lessons of these outcomes and of an earlier memory, the most frequent first.

    An outcome whose receipt the memory counted already changes nothing. Lessons of other programs stay as they are.
    """
    known = {one.kind: one for one in earlier if one.is_ours}
    counted = {str(name) for one in known.values() for name in _list(one.context.get("receipts"))}
    for outcome in sorted(outcomes, key=lambda one: (one.timestamp, one.receipt)):
        if outcome.receipt not in counted:
            counted.add(outcome.receipt)
            lesson = _lesson(outcome)
            before = known.get(lesson.kind)
            known[lesson.kind] = lesson if before is None else _added(before, lesson)
    lessons = [*known.values(), *(one for one in earlier if not one.is_ours)]
    lessons.sort(key=lambda one: one.timestamp, reverse=True)
    return sorted(lessons, key=lambda one: -one.hit_count)


def _lesson(outcome: Learned) -> Lesson:
    return Lesson(
        type=outcome.category,
        succeeded=outcome.succeeded,
        context={
            "layer": outcome.layer,
            "reason": outcome.reason,
            "candidates": [outcome.candidate_id],
            "failed_tasks": dict.fromkeys(outcome.failed_tasks, 1),
            "receipts": [outcome.receipt],
        },
        timestamp=outcome.timestamp,
    )


def _added(before: Lesson, new: Lesson) -> Lesson:
    was, now = before.context, new.context
    tasks = counts(was.get("failed_tasks"))
    for name, times in counts(now["failed_tasks"]).items():
        tasks[name] = tasks.get(name, 0) + times
    context = {
        "layer": now["layer"],
        "reason": now["reason"] or was.get("reason", ""),
        "candidates": [*_list(was.get("candidates")), *_list(now["candidates"])][-_EXAMPLES:],
        "failed_tasks": tasks,
        "receipts": [*_list(was.get("receipts")), *_list(now["receipts"])],
    }
    return replace(
        before,
        context=context,
        timestamp=max(before.timestamp, new.timestamp),
        hit_count=before.hit_count + new.hit_count,
    )


def counts(value: object) -> dict[str, int]:
    """How often each task failed, of a memory that somebody may have edited."""
    found = value if isinstance(value, Mapping) else {}
    return {str(name): times for name, times in found.items() if isinstance(times, int) and not isinstance(times, bool)}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def warnings_of(lessons: Iterable[Lesson]) -> list[str]:
    """What did not help, a line for each lesson: for a worker's brief and for who ranks its edits."""
    return [f"{one.type} edits, {_times(one.hit_count)}: {why(one)}" for one in lessons if not one.succeeded]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def why(lesson: Lesson) -> str:
    """The last reason of a lesson, with the tasks that failed most."""
    reason = lesson.context.get("reason") or lesson.context.get("dimension") or "no reason on record"
    tasks = counts(lesson.context.get("failed_tasks"))
    most = sorted(tasks, key=lambda name: -tasks[name])[:5]
    return f"{reason}" + (f"; tasks that failed: {', '.join(most)}" if most else "")
