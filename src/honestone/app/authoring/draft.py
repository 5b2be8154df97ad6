"""A draft of a task suite: from a skill's own text, by its words or by a model, or from recorded
sessions.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NotRequired, TypedDict

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.authoring.drafting_model import DraftingCost, make_model, reply_key
from honestone.app.suites.subject import load_skill
from honestone.app.workspace import Workspace
from honestone.core.authoring.suite_drafting import (
    ModelTasks,
    TaskDraft,
    draft_suite,
    made_suite,
    points_to_check,
    read_model_tasks,
)
from honestone.core.authoring.suite_lint import FEWEST, MOST
from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import Json
from honestone.core.skill.skill_file import Skill
from honestone.core.suite.case import Suite, TargetSpec
from honestone.formats.drafts.cases import (
    PROMPTFOO,
    TABLE_WORDS,
    TABLES,
    NamedColumns,
    SuiteFromTable,
    suite_from_table,
)
from honestone.system.drawing import count
from honestone.system.files import printable

if TYPE_CHECKING:
    from honestone.formats.drafts.found import TakenPart
    from honestone.interop.traces.task import DroppedTrace
    from honestone.ports import Model

FORMATS: Final = ("task-suite", "honestone")
SCHEMA: Final = "honestone.suite-draft/1"
# So many tasks at most from sessions, where the request names no number.
FROM_SESSIONS: Final = 30


class SuiteDraftRequest(Struct, frozen=True, kw_only=True):
    """`skill` or `sessions` (a folder of session logs) or both; `form` is one of FORMATS, by
    default task-suite, and honestone for sessions; `model` is a judge's name; `most` tasks are
    drafted. `traces` is a file of traces, of which `sample` are taken, so many of each value of
    `by` as its share is.
    """

    skill: Path | None = None
    sessions: Path | None = None
    traces: Path | None = None
    sample: int | None = None
    by: str | None = None
    seed: int = 0
    form: str | None = None
    model: str | None = None
    most: int | None = None
    # Of a table: the column of the right answers, and that of what a system answered.
    reference: str | None = None
    output_column: str | None = None


class PlainDraftTask(TypedDict):
    id: str
    prompt: object
    description: str | None
    split: str
    judged_by_code: bool


class PlainSuiteDraft(TypedDict):
    """A drafted suite as JSON. `taken` and `dropped`: what became of recorded sessions."""

    schema: str
    source: str
    format: str
    written: str | None
    tasks: list[PlainDraftTask]
    to_check: list[str]
    notes: list[str]
    taken: NotRequired[list[Json]]
    dropped: NotRequired[list[Json]]


class DraftedSuite(Struct, frozen=True, kw_only=True):
    """A suite that was drafted, in which format, from what, and what a person should look at."""

    suite: Suite
    form: str
    source: str
    to_check: tuple[str, ...]
    notes: tuple[str, ...] = ()
    taken: tuple[TakenPart, ...] = ()
    dropped: tuple[DroppedTrace, ...] = ()
    # The file of recorded outputs that belongs to the suite, as JSON lines.
    recorded: str | None = None

    def text(self, output: Path | None) -> str:
        """The file, which reads back without an error. `output` is where it will be written."""
        from honestone.formats.suite.suite_file import read_suite
        from honestone.formats.suite.suite_write import dump_suite
        from honestone.formats.syntax.document import Document
        from honestone.interop.task_suite.read import read_task_suite
        from honestone.interop.task_suite.write import dump_task_suite
        from honestone.system.drawing import line

        is_foreign = self.form == "task-suite"
        body = dump_task_suite(self.suite)[0] if is_foreign else dump_suite(self.suite)
        first = f"A draft from {line(self.source)}. What a person should look at:"
        head = [first, *(f"- {point}" for point in self.to_check)]
        text = "".join(f"# {row}\n" for row in head) + body
        document = Document(path=output or Path("task_suite.yaml"), text=text)
        back = (read_task_suite(document) if is_foreign else read_suite(document)).suite
        assert [case.id for case in back.cases] == [case.id for case in self.suite.cases]
        return text

    @property
    def by_code(self) -> int:
        return sum(1 for case in self.suite.cases if not case.rubric.asks_judges)

    def to_plain(self, output: Path | None) -> PlainSuiteDraft:
        plain: PlainSuiteDraft = {
            "schema": SCHEMA,
            "source": self.source,
            "format": self.form,
            "written": None if output is None else str(output),
            "tasks": [
                {
                    "id": case.id,
                    "prompt": case.input,
                    "description": case.description,
                    "split": str(case.in_split),
                    "judged_by_code": not case.rubric.asks_judges,
                }
                for case in self.suite.cases
            ],
            "to_check": list(self.to_check),
            "notes": list(self.notes),
        }
        if self.taken:
            plain["taken"] = [one.to_plain() for one in self.taken]
        if self.recorded is not None:
            plain["dropped"] = [one.to_plain() for one in self.dropped]
        return plain


def recorded_name(output: Path) -> str:
    """The name of the file with the recorded outputs, in the suite's folder."""
    return f"{output.stem}.outputs.jsonl"


def draft_tasks(
    workspace: Workspace, request: SuiteDraftRequest, output: Path | None = None
) -> DraftedSuite:
    """`output` is where the suite will be written. Raises UsageError for a request that cannot be,
    FileError for a skill or a table that cannot be read.
    """
    if request.sessions is not None:
        return _from_sessions(workspace, request, request.sessions)
    if request.skill is None:
        raise UsageError("name a skill (--from) or sessions (--from-transcripts)")
    if request.skill.suffix.lower() in TABLES:
        return _from_table(workspace, request, request.skill, output)
    if request.skill.suffix.lower() in _OTHER_TABLES:
        raise FileError(
            f"{printable(request.skill)!r} is neither a skill nor a table that can be read",
            hint=f"a table is {TABLE_WORDS}; a skill is its folder or its SKILL.md",
        )
    return _from_skill(workspace, request, request.skill)


_OTHER_TABLES: Final = (
    ".parquet",
    ".xlsx",
    ".xls",
    ".arrow",
    ".feather",
    ".tab",
    ".txt",
    ".yaml",
    ".yml",
    ".toml",
)


def _from_table(
    workspace: Workspace, request: SuiteDraftRequest, path: Path, output: Path | None
) -> DraftedSuite:
    if request.form == "task-suite" or request.model is not None:
        raise UsageError(
            "a table becomes a suite of ours, without a model",
            hint="leave --format and --judge out",
        )
    table = suite_from_table(
        workspace.path(path),
        most=request.most,
        named=NamedColumns(reference=request.reference, output=request.output_column),
    )
    suite, notes = table.suite, list(table.notes)
    if any(one.source.startswith(PROMPTFOO) for one in table.taken):
        suite, lost = _with_expected(workspace.path(path), table)
        notes += lost
    recorded = None
    if table.outputs and output is not None:
        suite = replace(suite, target=TargetSpec(use=f"record:{recorded_name(output)}"))
        rows = ({"id": id, "output": text} for id, text in table.outputs.items())
        recorded = "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows)
        notes.append(
            f"outputs of the table are recorded in {recorded_name(output)}: --target names what should answer now"
        )
    elif table.outputs:
        notes.append(
            "the table's outputs are left out: with --output FILE they are recorded next to the suite"
        )
    return DraftedSuite(
        suite=suite,
        form="honestone",
        source=printable(path),
        to_check=table.to_check,
        notes=tuple(notes),
        taken=table.taken,
        recorded=recorded,
    )


def _with_expected(path: Path, table: SuiteFromTable) -> tuple[Suite, list[str]]:
    """The suite with what promptfoo's columns expect of each row, read as promptfoo's own tests
    are; and what was lost.
    """
    from honestone.formats.syntax.document import Document
    from honestone.interop.recognise import read_suite_document

    if path.suffix.lower() != ".csv":
        raise UsageError(
            "promptfoo's columns (`__expected` and the like) are read from CSV alone",
            hint="write the table as CSV",
        )
    config = {
        "prompts": ["{{" + table.input + "}}"],
        "providers": ["echo"],
        "tests": f"file://{path.name}",
    }
    text = json.dumps(config, ensure_ascii=True)
    source = read_suite_document(
        Document(path=path.with_name("promptfooconfig.json"), text=text, read_as="promptfoo")
    )
    tests = source.suite.cases
    cases = []
    for case, number in zip(table.suite.cases, table.rows, strict=True):
        test = tests[number]
        rubric = test.rubric if number in table.expecting else case.rubric
        messages = test.messages if len(case.messages) == 1 else case.messages
        cases.append(replace(case, rubric=rubric, messages=messages, description=test.description))
    lost = [f"lost: {loss.place}: {loss.message}" for loss in source.losses]
    return replace(table.suite, cases=tuple(cases)), lost


# ----------------------------------------------------------------------------------------------------
# from a skill


def _from_skill(workspace: Workspace, request: SuiteDraftRequest, path: Path) -> DraftedSuite:
    from honestone.interop.task_suite.write import dump_task_suite

    form, limit = request.form or "task-suite", request.most or MOST
    skill = load_skill(workspace.path(path))
    notes: list[str] = []
    tasks = (
        asyncio.run(_by_model(workspace, request.model, skill, limit, notes))
        if request.model is not None
        else ()
    )
    if tasks:
        suite, to_check = made_suite(skill.name, tasks), points_to_check(tasks)
    else:
        draft = draft_suite(skill.name, skill.text, most=limit)
        suite, to_check = draft.suite, draft.to_check
    ours = len(dump_task_suite(suite)[1]) if form == "task-suite" else 0
    if ours:
        notes.append(
            f"{ours} of the tasks have a judge that only honestone reads (`rubric`, `not-contains`)"
        )
    source = f"the skill `{skill.name}` ({printable(path)})"
    return DraftedSuite(
        suite=suite, form=form, source=source, to_check=to_check, notes=tuple(notes)
    )


async def _by_model(
    workspace: Workspace, name: str, skill: Skill, most: int, notes: list[str]
) -> Sequence[TaskDraft]:
    """The model's tasks; asked once more with what was wrong. Empty, with a note, when too few
    could be used.
    """
    from honestone.prompts.task_drafting import MOST_LETTERS

    own = "so the draft is from the skill's own words"
    if len(skill.text) > MOST_LETTERS:
        notes.append(
            f"{name} was not asked (the skill has more than {MOST_LETTERS} characters), {own}"
        )
        return ()
    model = make_model(workspace, name, what="a suite", instead="or leave --judge out")
    if isinstance(model, str):
        notes.append(f"{name} could not be asked ({model}), {own}")
        return ()
    try:
        tasks, problems, cost = await _asked_twice(workspace, name, model, skill, most)
    finally:
        await model.close()
    if len(tasks) < min(FEWEST, most):
        notes.append(
            f"what {name} drafted in {count(cost.calls, 'call')} could not be used ({problems[0]}; {cost.words}), {own}"
        )
        return ()
    notes.append(f"drafted by {name}")
    notes += [f"left out of what {name} drafted: {problem}" for problem in problems]
    return tasks


async def _asked_twice(
    workspace: Workspace, name: str, model: Model, skill: Skill, most: int
) -> tuple[Sequence[TaskDraft], tuple[str, ...], DraftingCost]:
    """The longest list of tasks, what was wrong with the last reply, and what the calls cost.

    A reply is kept before it is read, so that the same question is never paid for twice. One
    without a task that can be used is evidence, and is asked for again.
    """
    from honestone.ports import CallFailed, Prompt
    from honestone.prompts.task_drafting import TASKS_SCHEMA, tasks_prompt
    from honestone.system.files import write_atomically

    best: Sequence[TaskDraft] = ()
    problems: tuple[str, ...] = ()
    cost = DraftingCost()
    for _ in range(2):
        prompt = tasks_prompt(skill.name, skill.text, problems, most=most)
        reply_file = (
            workspace.claimed_store()
            / "drafts"
            / f"{reply_key(name, prompt).removeprefix('sha256:')[:32]}.txt"
        )
        read = _read_tasks(reply_file, most) if reply_file.exists() else None
        if read is None or not read.tasks:
            try:
                reply = await cost.complete(model, Prompt(text=prompt, schema=TASKS_SCHEMA))
            except CallFailed as failed:
                return best, (failed.reason,), cost
            if read is not None:
                reply_file.rename(_evidence_file(reply_file))
            write_atomically(reply_file, reply.encode("utf-8", "replace"), private=True)
            read = _read_tasks(reply_file, most)
        problems = read.problems
        best = max(best, read.tasks, key=len)
        if not problems:
            break
    return best, problems, cost


def _read_tasks(reply_file: Path, most: int) -> ModelTasks:
    """The tasks of a reply on disk."""
    from honestone.core.reading.json_text import objects_in

    found = [
        one.value for one in objects_in(reply_file.read_text("utf-8")).found if "tasks" in one.value
    ]
    if not found:
        return ModelTasks(tasks=(), problems=('it has no JSON object with "tasks"',))
    return read_model_tasks(found[-1]["tasks"], most=most)


def _evidence_file(reply_file: Path) -> Path:
    """A free name next to a reply for what it was before."""
    number = 1
    while (free := reply_file.with_suffix(f".unusable-{number}.txt")).exists():
        number += 1
    return free


# ----------------------------------------------------------------------------------------------------
# from sessions


def _from_sessions(workspace: Workspace, request: SuiteDraftRequest, folder: Path) -> DraftedSuite:
    from honestone.interop.transcripts import draft_from_sessions, read_transcripts

    if request.model is not None:
        raise UsageError(
            "--judge drafts from a skill's text, not from transcripts", hint="leave it out"
        )
    if request.form == "task-suite":
        raise UsageError(
            "tasks from transcripts have references and splits, which a task_suite cannot say",
            hint="leave --format out; `honestone suite convert FILE --to task-suite --accept-loss` writes what it can",
        )
    name = load_skill(workspace.path(request.skill)).name if request.skill is not None else None
    sessions = read_transcripts(workspace.path(folder))
    drafted = draft_from_sessions(sessions, skill=name, most=request.most or FROM_SESSIONS)
    return DraftedSuite(
        suite=drafted.suite,
        form="honestone",
        source=f"transcripts in {printable(folder)}",
        to_check=(
            "can each prompt be understood alone, without the files and words that the session had before it?",
            "are names, paths and secrets out that other people should not read?",
            "where the answer taken was not a good one, say what a good one has",
            "where a word, a format or a test could tell, add `checks:`",
        ),
        notes=drafted.notes,
    )
