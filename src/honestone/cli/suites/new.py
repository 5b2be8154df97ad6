"""`honestone suite new`: a draft of a task suite, from a skill's own text or from recorded
sessions.
"""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import click

from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, here, write
from honestone.core.errors import UsageError
from honestone.formats.drafts.cases import TABLES
from honestone.system.drawing import clean, count, line
from honestone.system.new_file import refuse_overwriting, write_new

if TYPE_CHECKING:
    from honestone.app.authoring.draft import DraftedSuite

# Dropped traces that are listed for people; JSON has all.
MOST_SHOWN = 30


@click.command("new", short_help="Draft tasks from a skill, a table, transcripts or traces.")
@shared.from_parameters
def new(
    *,
    skill: Annotated[
        Path | None,
        Option(
            "The skill's folder, or its SKILL.md; or a table of cases (.csv, .jsonl).",
            name="--from",
            metavar="SKILL|FILE",
        ),
    ] = None,
    sessions: Annotated[
        Path | None,
        Option(
            "Session logs of Claude Code or Codex, or JSON with `messages`.",
            name="--from-transcripts",
            metavar="DIR",
        ),
    ] = None,
    traces: Annotated[
        Path | None,
        Option(
            "Traces of an application: OpenTelemetry (OTLP JSON), Langfuse or Inspect. Needs --output.",
            name="--from-traces",
            metavar="FILE",
        ),
    ] = None,
    sample: Annotated[
        int | None, Option("From traces: so many of them. [all]", metavar="N", min=1, max=10000)
    ] = None,
    by: Annotated[
        str | None,
        Option(
            "With --sample: each value of KEY (model, name, tools, any attribute) keeps its share.",
            metavar="KEY",
        ),
    ] = None,
    seed: Annotated[int, Option("With --sample: another number takes another sample. [0]")] = 0,
    output: shared.WrittenFile = None,
    form: Annotated[
        str | None,
        Option(
            "task_suite 1.0 or ours. [task-suite; from a table or transcripts: honestone]",
            name="--format",
            short="-f",
            choices=("task-suite", "honestone"),
        ),
    ] = None,
    model: Annotated[
        str | None,
        Option(
            "A model that drafts: codex, PROVIDER:MODEL, cmd:COMMAND.",
            name="--judge",
            short="-j",
            metavar="MODEL",
        ),
    ] = None,
    most: Annotated[
        int | None,
        Option(
            "So many at most. [10; from transcripts: 30; from a table: all]",
            name="--tasks",
            metavar="N",
            min=1,
            max=200,
        ),
    ] = None,
    reference: Annotated[
        str | None,
        Option("Of a table: the column of the right answers. [by its name]", metavar="COLUMN"),
    ] = None,
    output_column: Annotated[
        str | None,
        Option("Of a table: the column of what a system answered. [by its name]", metavar="COLUMN"),
    ] = None,
    force: shared.Overwrite = False,
    as_json: shared.AsJson = False,
) -> int:
    """Draft a suite of tasks, judged by code wherever words can tell.

    It is a draft: the file begins with what a person should look at. With --from and
    --from-transcripts the tasks are those of the sessions, for that skill. With --from-traces each
    input is a case once, its output a recorded target in a file next to the suite. A table is CSV,
    TSV, JSON lines or a JSON list of rows: `question`, `input` or the like is the input,
    `reference`, `expected_output`, `ground_truth`, `ideal` or the like the reference, and an
    `answer` or `response` next to it a recorded output. promptfoo's `__expected` columns become
    checks; other columns are metadata.
    """
    from honestone.app.authoring.draft import SuiteDraftRequest, draft_tasks

    request = SuiteDraftRequest(
        skill=skill,
        sessions=sessions,
        traces=traces,
        sample=sample,
        by=by,
        seed=seed,
        form=form,
        model=model,
        most=most,
        reference=reference,
        output_column=output_column,
    )
    if request.skill is None and request.sessions is None and request.traces is None:
        ctx = click.get_current_context()
        raise click.UsageError(
            "name a skill (--from), sessions (--from-transcripts) or traces (--from-traces)", ctx
        )
    is_table = skill is not None and skill.suffix.lower() in TABLES
    if (reference is not None or output_column is not None) and not is_table:
        raise UsageError(
            "--reference and --output-column name columns of a table, and there is none",
            hint="name a table with --from, or leave them out",
        )
    refuse_overwriting(output, force, example="suite.yaml")
    if request.traces is not None:
        from honestone.app.authoring.from_traces import suite_from_traces

        drafted = suite_from_traces(here(), request, request.traces, output)
    else:
        drafted = draft_tasks(here(), request, output)
    text = drafted.text(output)
    if output is not None:
        if drafted.recorded is not None:
            from honestone.app.authoring.draft import recorded_name

            write_new(
                output.with_name(recorded_name(output)),
                drafted.recorded,
                force,
                example="suite.yaml",
            )
        write_new(output, text, force, example="suite.yaml")
    if as_json:
        write(dump(drafted.to_plain(output)) + "\n")
    elif output is None:
        write(text)
        _print_summary(drafted, sys.stderr)
    else:
        _print_summary(drafted, sys.stdout)
        _print_next(
            output,
            request.skill,
            is_table=bool(drafted.taken),
            is_recorded=drafted.recorded is not None,
        )
    return 0


def _print_summary(drafted: DraftedSuite, stream: TextIO) -> None:

    what = "case" if drafted.taken or drafted.recorded is not None else "task"
    lines = [f"{count(len(drafted.suite.cases), what)}, {drafted.by_code} judged by code alone"]
    lines += [f"note: {note}" for note in drafted.notes]
    lines += [
        f"dropped: {one.place}: {one.name or 'an entry'}: {one.why}"
        for one in drafted.dropped[:MOST_SHOWN]
    ]
    more = len(drafted.dropped) - MOST_SHOWN
    lines += [f"dropped: {count(more, 'other')}; --json lists each" for _ in range(more > 0)]
    lines += ["what a person should look at", *(f"  - {point}" for point in drafted.to_check)]
    stream.write("".join(f"{clean(one)}\n" for one in lines))


def _print_next(output: Path, skill: Path | None, *, is_table: bool, is_recorded: bool) -> None:

    name = line(shlex.quote(str(output)))
    if is_recorded:
        write(
            f"\nwrote {line(output)}\n\nnext\n  honestone suite check {name}\n  honestone eval {name}\n"
        )
        return
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
