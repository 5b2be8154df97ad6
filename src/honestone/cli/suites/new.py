"""`honestone suite new`: a draft of a task suite, from a skill's own text or from recorded sessions."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.errors import UsageError
from honestone.system.new_file import refuse_overwriting, write_new

if TYPE_CHECKING:
    from honestone.core.authoring.suite_drafting import TaskDraft
    from honestone.core.skill.skill_file import Skill
    from honestone.core.suite.case import Suite

FORMATS = ("task-suite", "honestone")
SCHEMA = "honestone.suite-draft/1"
FROM_SESSIONS = 30
MOST_TASKS = 200


@click.command("new", short_help="Draft tasks from a skill or from transcripts.")
@click.option("--from", "skill_path", type=shared.PATH, metavar="SKILL", help="The skill's folder, or its SKILL.md.")
@click.option(
    "--from-transcripts",
    "transcripts",
    type=shared.PATH,
    metavar="DIR",
    help="Session logs of Claude Code or Codex, or JSON with `messages`.",
)
@click.option("--output", type=shared.PATH, default=None, metavar="FILE", help="Where to write it. [stdout]")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default=None,
    help="task_suite 1.0 or ours. [task-suite; from transcripts: honestone]",
)
@click.option(
    "--judge", "model", default=None, metavar="MODEL", help="A model that drafts: codex, PROVIDER:MODEL, cmd:COMMAND."
)
@click.option(
    "--tasks",
    "most",
    type=click.IntRange(1, MOST_TASKS),
    default=None,
    metavar="N",
    help="So many at most. [10; from transcripts: 30]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@shared.json_option
def new(
    skill_path: Path | None,
    transcripts: Path | None,
    output: Path | None,
    form: str | None,
    model: str | None,
    most: int | None,
    force: bool,
    as_json: bool,
) -> int:
    """Draft a suite of tasks, judged by code wherever words can tell.

    It is a draft: what a person should look at stands at its top. With --from and --from-transcripts the tasks are
    those of the sessions, for that skill.
    """
    if skill_path is None and transcripts is None:
        raise click.UsageError("name a skill (--from) or sessions (--from-transcripts)", click.get_current_context())
    refuse_overwriting(output, force, example="suite.yaml")
    if transcripts is not None:
        drafted = _from_sessions(transcripts, skill_path, form, model, most or FROM_SESSIONS)
    else:
        assert skill_path is not None
        drafted = _from_skill(skill_path, form or "task-suite", model, most)
    text = drafted.text(output)
    if output is not None:
        write_new(output, text, force, example="suite.yaml")
    if as_json:
        write(dump(drafted.to_plain(output)) + "\n")
    elif output is None:
        write(text)
        drafted.tell(sys.stderr)
    else:
        drafted.tell(sys.stdout)
        _tell_next(output, skill_path)
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Drafted:
    """A suite that was drafted, in which format, from what, and what a person should look at."""

    suite: Suite
    form: str
    source: str
    to_check: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def text(self, output: Path | None) -> str:
        """The file, which reads back without an error."""
        from honestone.formats.document import Document
        from honestone.formats.suite_file import read_suite
        from honestone.formats.suite_write import dump_suite
        from honestone.interop.task_suite.read import read_task_suite
        from honestone.interop.task_suite.write import dump_task_suite

        is_foreign = self.form == "task-suite"
        body = dump_task_suite(self.suite)[0] if is_foreign else dump_suite(self.suite)
        text = "".join(f"# {line}\n" for line in self._head()) + body
        document = Document(path=output or Path("task_suite.yaml"), text=text)
        back = (read_task_suite(document) if is_foreign else read_suite(document)).suite
        assert [case.id for case in back.cases] == [case.id for case in self.suite.cases]
        return text

    def _head(self) -> list[str]:
        from honestone.report.draw import line

        first = f"A draft from {line(self.source)}. What a person should look at:"
        return [first, *(f"- {point}" for point in self.to_check)]

    @property
    def by_code(self) -> int:
        return sum(1 for case in self.suite.cases if not case.rubric.asks_judges)

    def tell(self, stream: Any) -> None:
        from honestone.report.draw import clean

        said = [f"{len(self.suite.cases)} tasks, {self.by_code} judged by code alone"]
        said += [f"note: {note}" for note in self.notes]
        said += ["what a person should look at", *(f"  - {point}" for point in self.to_check)]
        stream.write("".join(f"{clean(one)}\n" for one in said))

    def to_plain(self, output: Path | None) -> dict[str, Any]:
        return {
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


# ---------------------------------------------------------------------------------------------------- from a skill


def _from_skill(path: Path, form: str, model: str | None, most: int | None) -> _Drafted:
    from honestone.app.suites.skill_loading import load_skill
    from honestone.core.authoring.suite_drafting import SuiteDraft, draft_suite, made_suite, points_to_check
    from honestone.core.authoring.suite_lint import MOST
    from honestone.interop.task_suite.write import dump_task_suite
    from honestone.system.files import printable

    limit = most or MOST
    skill = load_skill(path)
    notes: list[str] = []
    tasks = asyncio.run(_by_model(model, skill, limit, notes)) if model is not None else ()
    if tasks:
        draft = SuiteDraft(suite=made_suite(skill.name, tasks), to_check=points_to_check(tasks))
    else:
        draft = draft_suite(skill.name, skill.text, most=limit)
    ours = len(dump_task_suite(draft.suite)[1]) if form == "task-suite" else 0
    if ours:
        notes.append(f"{ours} of the tasks have a judge that only honestone reads (`rubric`, `not-contains`)")
    return _Drafted(
        suite=draft.suite,
        form=form,
        source=f"the skill `{skill.name}` ({printable(path)})",
        to_check=draft.to_check,
        notes=tuple(notes),
    )


async def _by_model(name: str, skill: Skill, most: int, notes: list[str]) -> Sequence[TaskDraft]:
    """The model's tasks; asked once more with what was wrong. Empty, with a note, when too few could be used.

    A reply is kept before it is read, and the same question asks nobody twice.
    """
    from honestone.cli.rubrics.new import make_model
    from honestone.core.authoring.suite_drafting import read_model_tasks
    from honestone.core.authoring.suite_lint import FEWEST
    from honestone.core.reading.json_text import objects_in
    from honestone.ports import CallFailed, Prompt
    from honestone.prompts.task_drafting import MOST_LETTERS, tasks_prompt

    own = "so the draft is from the skill's own words"
    if len(skill.text) > MOST_LETTERS:
        notes.append(f"{name} was not asked (the skill has more than {MOST_LETTERS} characters), {own}")
        return ()
    model = make_model(name, what="a suite")
    if isinstance(model, str):
        notes.append(f"{name} could not be asked ({model}), {own}")
        return ()
    best: Sequence[TaskDraft] = ()
    problems: tuple[str, ...] = ()
    try:
        for _ in range(2):
            prompt = tasks_prompt(skill.name, skill.text, problems, most=most)
            kept = _place_of_reply(name, prompt)
            if not kept.exists():
                _keep(kept, (await model.complete(Prompt(text=prompt))).text)
            found = [one.value for one in objects_in(kept.read_text("utf-8")).found if "tasks" in one.value]
            if not found:
                problems = ('there was no JSON object with "tasks" in it',)
                continue
            read = read_model_tasks(found[-1]["tasks"], most=most)
            problems = read.problems
            best = max(best, read.tasks, key=len)
            if not problems:
                break
    except CallFailed as failed:
        problems = (failed.reason,)
    finally:
        await model.close()
    if len(best) < min(FEWEST, most):
        notes.append(f"what {name} drafted could not be used ({problems[0]}), {own}")
        return ()
    notes.append(f"drafted by {name}")
    notes += [f"left out of what {name} drafted: {problem}" for problem in problems]
    return best


def _place_of_reply(name: str, prompt: str) -> Path:
    from honestone.app.setup import settings_here, store_folder
    from honestone.core.artifact import digest_of

    key = digest_of(f"{name}\0{prompt}".encode("utf-8", "surrogatepass")).removeprefix("sha256:")
    return store_folder(settings_here()) / "drafts" / f"{key[:32]}.txt"


def _keep(place: Path, reply: str) -> None:
    from honestone.system.files import write_atomically

    place.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(place, reply.encode("utf-8", "replace"))


# ---------------------------------------------------------------------------------------------------- from sessions


def _from_sessions(folder: Path, skill_path: Path | None, form: str | None, model: str | None, most: int) -> _Drafted:
    from honestone.app.suites.skill_loading import load_skill
    from honestone.interop.transcripts import draft_from_sessions, read_transcripts
    from honestone.system.files import printable

    if model is not None:
        raise UsageError("--judge drafts from a skill's text, not from transcripts", hint="leave it out")
    if form == "task-suite":
        raise UsageError(
            "tasks from transcripts have references and splits, which a task_suite cannot say",
            hint="leave --format out; `honestone suite convert FILE --to task-suite --accept-loss` writes what it can",
        )
    name = load_skill(skill_path).name if skill_path is not None else None
    drafted = draft_from_sessions(read_transcripts(folder), skill=name, most=most)
    to_check = (
        "do the prompts stand by themselves, without the files and words that the session had before them?",
        "are names, paths and secrets out that nobody else should read?",
        "where the answer taken was not a good one, say what a good one has",
        "where a word, a format or a test could tell, add `checks:`",
    )
    return _Drafted(
        suite=drafted.suite,
        form="honestone",
        source=f"transcripts in {printable(folder)}",
        to_check=to_check,
        notes=drafted.notes,
    )


# ---------------------------------------------------------------------------------------------------- writing


def _tell_next(output: Path, skill: Path | None) -> None:
    from honestone.report.draw import line

    name = line(shlex.quote(str(output)))
    its = line(shlex.quote(str(skill))) if skill is not None else "SKILL"
    write(
        f"\nwrote {line(output)}\n\nnext\n  honestone suite check {name} --skill {its}\n"
        f"  honestone eval {name} --artifact {its} --baseline without --target claude\n"
    )
