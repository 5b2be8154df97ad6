"""The brief of a worker that edits a skill: what failed before, what was learned, and what people
said, as data; and what a panel is asked about its edit: a short rubric of yes/no questions, the
same for every candidate.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypedDict

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.artifact import Entry, Version
from honestone.core.editing.proposal import touched, unified_diff
from honestone.core.json_value import fence_of, is_integer
from honestone.core.judging.rubric import from_plain
from honestone.core.skill.skill_file import SKILL_FILE
from honestone.core.tables import table_text

MOST_OF_A_SOURCE: Final = 20_000
MOST_OF_A_DETAIL: Final = 1_000
MOST_TASKS: Final = 50


class FailedTask(Struct, frozen=True, kw_only=True):
    """A task that failed, with the judge's words. What a right answer holds is never among it."""

    task_id: str
    prompt: str = ""
    details: str = ""


class FailedTry(Struct, frozen=True, kw_only=True):
    """An edit that was tried and put back. `digest` names the bytes that it came to, where that is
    known.
    """

    candidate_id: str
    reason: str = ""
    tasks: tuple[FailedTask, ...] = ()
    digest: str | None = None


class Source(Struct, frozen=True, kw_only=True):
    """Something a person gave to learn from: feedback, notes, a log."""

    path: str
    kind: str
    text: str


class EditBrief(Struct, frozen=True, kw_only=True):
    """Why a skill is edited: tasks that it fails as it is, edits that were put back, sources, and a
    line for each kind of edit that earlier runs put back.
    """

    failing: tuple[FailedTask, ...] = ()
    tried: tuple[FailedTry, ...] = ()
    sources: tuple[Source, ...] = ()
    lessons: tuple[str, ...] = ()

    @property
    def failed_tasks(self) -> list[FailedTask]:
        return [*self.failing, *(task for one in self.tried for task in one.tasks)]


_TABLE: Final = tomllib.loads(table_text("skill/brief"))
SENTENCES: Final[Mapping[str, str]] = _TABLE["sentences"]


def write_skill_brief(
    edit_brief: EditBrief,
    *,
    location: str,
    name: str,
    number: int = 1,
    count: int = 1,
    others: Sequence[str] = (),
) -> str:
    """`others` say in a line each what earlier candidates of this run changed."""
    lines = [SENTENCES["skill"].format(location=location, name=one_line(name))]
    if count > 1:
        lines += ["", f"This is proposal {number} of {count}. Each must be a different edit."]
        lines += [f"- already proposed: {one_line(other)}" for other in others]
    lines += _failures(edit_brief)
    if edit_brief.lessons:
        lines += [
            "",
            "Tried before and put back:",
            *(f"- {one_line(lesson)}" for lesson in edit_brief.lessons),
        ]
    lines += _sources(edit_brief.sources)
    lines += ["", SENTENCES["skill_end"]]
    return "\n".join(lines) + "\n"


def _failures(edit_brief: EditBrief) -> list[str]:
    if not edit_brief.failing and not edit_brief.tried:
        return []
    lines = ["", "Failed before:"]
    if edit_brief.failing:
        lines += [
            "",
            "Tasks that an agent fails with the skill as it is:",
            *task_lines(edit_brief.failing),
        ]
    for one in edit_brief.tried:
        lines += [
            "",
            f"The edit {one_line(one.candidate_id)} was put back: {one_line(one.reason) or 'no reason given'}",
        ]
        if one.tasks:
            lines += ["Tasks that failed with it:", *task_lines(one.tasks)]
    return lines


def task_lines(tasks: Sequence[FailedTask]) -> list[str]:
    """Each task with what was asked and what the judge said, behind fences."""
    lines = []
    for task in tasks[:MOST_TASKS]:
        lines.append(f"- {one_line(task.task_id)}")
        if task.prompt.strip():
            lines += ["  asked:", *fenced(_cut(task.prompt, MOST_OF_A_DETAIL))]
        if task.details.strip():
            lines += ["  the judge:", *fenced(_cut(task.details, MOST_OF_A_DETAIL))]
    if len(tasks) > MOST_TASKS:
        lines.append(f"- and {len(tasks) - MOST_TASKS} more")
    return lines


def _sources(sources: Sequence[Source]) -> list[str]:
    lines = []
    for source in sources:
        lines += [
            "",
            f"Source, {one_line(source.path)}:",
            *fenced(_cut(source.text, MOST_OF_A_SOURCE)),
        ]
    return lines


def fenced(text: str) -> list[str]:
    """Text behind a fence that it cannot close."""
    text = without_controls(text)
    fence = fence_of(text)
    return [f"{fence}text", text.rstrip("\n"), fence]


def without_controls(text: str) -> str:
    """Replace control characters, other than line feeds and tabs, by a sign that can be seen."""
    return re.sub(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]",
        "\ufffd",
        text.replace("\r\n", "\n"),
    )


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}\n[cut here: {len(text) - most} more characters]"


def one_line(text: str) -> str:
    """Other people's words on one line, cut where they are long."""
    return " ".join(without_controls(text).split())[:500]


_EXAMPLES: Final = 5


class Learned(Struct, frozen=True, kw_only=True):
    """What became of one candidate. `receipt` names the decision, so that none is counted twice."""

    receipt: str
    category: str
    succeeded: bool
    candidate_id: str
    timestamp: str
    # The gate's layer that stopped it, or `person`.
    layer: str | None = None
    reason: str = ""
    failed_tasks: tuple[str, ...] = ()


class PlainLesson(TypedDict):
    """A `Lesson` as the memory file has it."""

    type: str
    succeeded: bool
    context: Mapping[str, object]
    timestamp: str
    hit_count: int


class Lesson(Struct, frozen=True, kw_only=True):
    """Outcomes of one kind: `type` is the category, `hit_count` how many there were, `timestamp`
    the last one's.
    """

    type: str
    succeeded: bool
    context: Mapping[str, object] = field(default_factory=dict)
    timestamp: str = ""
    hit_count: int = 1

    def to_plain(self) -> PlainLesson:
        return {
            "type": self.type,
            "succeeded": self.succeeded,
            "context": self.context,
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
        hit_count=count if is_integer(count) and count > 0 else 1,
    )


def learn(outcomes: Iterable[Learned], earlier: Sequence[Lesson] = ()) -> list[Lesson]:
    """The lessons of these outcomes and of an earlier memory, the most frequent first.

    An outcome whose receipt the memory counted already changes nothing. Lessons of other programs
    stay as they are.
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
    return {str(name): times for name, times in found.items() if is_integer(times)}


def _list(value: object) -> list[object]:
    return list(value) if isinstance(value, list) else []


def warnings_of(lessons: Iterable[Lesson]) -> list[str]:
    """What did not help, a line for each lesson: for a worker's brief and for who ranks its edits."""
    return [
        f"{one.type} edits, {_times(one.hit_count)}: {why(one)}"
        for one in lessons
        if not one.succeeded
    ]


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def why(lesson: Lesson) -> str:
    """The last reason of a lesson, with the tasks that failed most."""
    reason = (
        lesson.context.get("reason") or lesson.context.get("dimension") or "no reason on record"
    )
    tasks = counts(lesson.context.get("failed_tasks"))
    most = sorted(tasks, key=lambda name: -tasks[name])[:5]
    return f"{reason}" + (f"; tasks that failed: {', '.join(most)}" if most else "")


EDIT: Final = "edit"
DIFF_FILE: Final = "proposed-edit.diff"
EDIT_RUBRIC: Final = from_plain(_TABLE["rubric"])


def shown_edit(before: Version, after: Version) -> Version:
    """What the panel looks at: the diff, SKILL.md and the changed files as they would be."""
    paths = dict.fromkeys([SKILL_FILE, *touched(before, after)])
    files = {DIFF_FILE: Entry(unified_diff(before, after).encode("utf-8", "surrogateescape"))}
    files |= {f"skill/{path}": after.files[path] for path in paths if path in after.files}
    return Version(files, is_folder=True)


def failures_in_words(tasks: Sequence[str], lessons: Sequence[str] = ()) -> str | None:
    """The input that goes with an edit: which tasks failed before it, and what was put back in
    earlier runs.
    """
    parts = (("Tasks that failed before the edit:", tasks), ("Tried before and put back:", lessons))
    return (
        "\n".join(
            "\n".join([title, *(f"- {one}" for one in lines)]) for title, lines in parts if lines
        )
        or None
    )
