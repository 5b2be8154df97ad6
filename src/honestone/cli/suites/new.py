"""`honestone suite new`: a draft of a task suite, from a skill's own text or from recorded sessions."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from honestone.cli import options as shared
from honestone.cli.terminal import dump, write
from honestone.system.new_file import refuse_overwriting, write_new

if TYPE_CHECKING:
    from honestone.app.suites.draft import DraftedSuite

MOST_TASKS = 200


@click.command("new", short_help="Draft tasks from a skill, a table or transcripts.")
@click.option(
    "--from",
    "skill",
    type=shared.PATH,
    metavar="SKILL|FILE",
    help="The skill's folder, or its SKILL.md; or a table of cases (.csv, .jsonl).",
)
@click.option(
    "--from-transcripts",
    "sessions",
    type=shared.PATH,
    metavar="DIR",
    help="Session logs of Claude Code or Codex, or JSON with `messages`.",
)
@click.option("--output", type=shared.PATH, metavar="FILE", help="Where to write it. [stdout]")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(("task-suite", "honestone")),
    help="task_suite 1.0 or ours. [task-suite; from a table or transcripts: honestone]",
)
@click.option(
    "-j", "--judge", "model", metavar="MODEL", help="A model that drafts: codex, PROVIDER:MODEL, cmd:COMMAND."
)
@click.option(
    "--tasks",
    "most",
    type=click.IntRange(1, MOST_TASKS),
    metavar="N",
    help="So many at most. [10; from transcripts: 30; from a table: all]",
)
@click.option("--force", is_flag=True, help="Write over a file that is there.")
@shared.json_option
def new(output: Path | None, force: bool, as_json: bool, **asked: Any) -> int:
    """Draft a suite of tasks, judged by code wherever words can tell.

    It is a draft: the file begins with what a person should look at. With --from and --from-transcripts the tasks are
    those of the sessions, for that skill. Of a table, `question`, `input`, `prompt` or `query` is the input; `answer`,
    `expected`, `reference`, `target` or `output` the reference; other columns are metadata.
    """
    from honestone.app.suites.draft import SuiteDraftRequest, draft_tasks
    from honestone.cli.terminal import here

    request = SuiteDraftRequest(**asked)
    if request.skill is None and request.sessions is None:
        raise click.UsageError("name a skill (--from) or sessions (--from-transcripts)", click.get_current_context())
    refuse_overwriting(output, force, example="suite.yaml")
    drafted = draft_tasks(here(), request)
    text = drafted.text(output)
    if output is not None:
        write_new(output, text, force, example="suite.yaml")
    if as_json:
        write(dump(drafted.to_plain(output)) + "\n")
    elif output is None:
        write(text)
        _print_summary(drafted, sys.stderr)
    else:
        _print_summary(drafted, sys.stdout)
        _print_next(output, request.skill, is_table=bool(drafted.taken))
    return 0


def _print_summary(drafted: DraftedSuite, stream: TextIO) -> None:
    from honestone.system.drawing import clean, count

    what = "case" if drafted.taken else "task"
    lines = [f"{count(len(drafted.suite.cases), what)}, {drafted.by_code} judged by code alone"]
    lines += [f"note: {note}" for note in drafted.notes]
    lines += ["what a person should look at", *(f"  - {point}" for point in drafted.to_check)]
    stream.write("".join(f"{clean(one)}\n" for one in lines))


def _print_next(output: Path, skill: Path | None, *, is_table: bool) -> None:
    from honestone.system.drawing import line

    name = line(shlex.quote(str(output)))
    if is_table:
        write(
            f"\nwrote {line(output)}\n\nnext\n  honestone suite check {name}\n  honestone eval {name} --target TARGET\n"
        )
        return
    its = line(shlex.quote(str(skill))) if skill is not None else "SKILL"
    write(
        f"\nwrote {line(output)}\n\nnext\n  honestone suite check {name} --skill {its}\n"
        f"  honestone eval {name} --artifact {its} --baseline without --target claude\n"
    )
