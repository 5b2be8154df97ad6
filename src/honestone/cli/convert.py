"""`honestone suite convert` and `honestone rubric convert`: the same suite or rubric in another format, whole or refused."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from honestone.cli import options as shared
from honestone.cli.printing import write
from honestone.core.errors import UsageError

if TYPE_CHECKING:
    from honestone.core.rubric import Rubric
    from honestone.core.suite.case import Suite
    from honestone.formats.source import Loss, SuiteSource

SUITE_FORMATS: Final = (
    "honestone",
    "agentv",
    "agentv-5",
    "agentv-4",
    "agentv-2",
    "agentv-seed",
    "task-suite",
    "healthbench",
)
"""`agentv` is its newest dialect."""
RUBRIC_FORMATS: Final = ("honestone", "autorubric")

_output = click.option("--output", type=shared.PATH, default=None, metavar="FILE", help="Where to write it. [stdout]")
_force = click.option("--force", is_flag=True, help="Write over a file that is there.")
_accept = click.option(
    "--accept-loss", is_flag=True, help="Write the rest where one of the formats cannot say something."
)


@click.command("convert", short_help="Write a suite in another format.")
@click.argument("path", type=shared.PATH)
@click.option(
    "--to",
    "form",
    type=click.Choice(SUITE_FORMATS),
    default="honestone",
    show_default=True,
    help="The format to write.",
)
@_output
@_force
@_accept
@shared.quiet_option
def convert_suite(path: Path, form: str, output: Path | None, force: bool, accept_loss: bool, quiet: bool) -> int:
    """Write a suite, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and lists it as notes.
    """
    from honestone.interop.recognise import read_any_suite

    source = read_any_suite(path)
    text, lost = _suite_text(source.suite, form)
    notes = [
        f"read as {source.dialect}",
        *source.notes,
        *_refused(source.losses, source.dialect, accepted=accept_loss),
        *_refused(_when_written(lost, form), form, accepted=accept_loss),
        *_paths_that_move(source, output),
    ]
    _refuse_unreadable(text, path, form)
    _give(text, output, force)
    _tell(notes, output, quiet)
    return 0


@click.command("convert", short_help="Write a rubric in another format.")
@click.argument("path", type=shared.PATH)
@click.option(
    "--to",
    "form",
    type=click.Choice(RUBRIC_FORMATS),
    default="honestone",
    show_default=True,
    help="The format to write.",
)
@_output
@_force
@_accept
@shared.quiet_option
def convert_rubric(path: Path, form: str, output: Path | None, force: bool, accept_loss: bool, quiet: bool) -> int:
    """Write a rubric, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and lists it as notes.
    """
    from honestone.formats.source import ForeignRubric, Loss
    from honestone.interop.recognise import read_any_rubric

    source = read_any_rubric(path)
    notes = list(source.notes)
    if isinstance(source, ForeignRubric):
        losses = list(source.losses)
        if source.marks:
            losses.append(Loss(place=f"{path}:1:1", message=_MARKS, hint=_MARKS_HINT))
        notes = [f"read as {source.dialect}", *notes, *_refused(losses, source.dialect, accepted=accept_loss)]
    text, lost = _rubric_text(source.rubric, form)
    notes += _refused(_when_written(lost, form), form, accepted=accept_loss)
    _give(text, output, force)
    _tell(notes, output, quiet)
    return 0


_MARKS = "the marks that are recorded in the file are no part of a rubric"
_MARKS_HINT = "--accept-loss writes the rubric alone"


# ---------------------------------------------------------------------------------------------------- writers


def _suite_text(suite: Suite, form: str) -> tuple[str, Sequence[Loss]]:
    if form == "honestone":
        from honestone.formats.suite_write import dump_suite

        return dump_suite(suite), ()
    if form == "task-suite":
        from honestone.interop.task_suite.write import dump_task_suite

        return dump_task_suite(suite)
    if form == "healthbench":
        from honestone.interop.healthbench.write import dump_healthbench

        return dump_healthbench(suite)
    from honestone.interop.agentv.write import dump_agentv

    return dump_agentv(suite, "5" if form == "agentv" else form.removeprefix("agentv-"))  # type: ignore[arg-type]


def _refuse_unreadable(text: str, path: Path, form: str) -> None:
    """With losses accepted so little may be left of a suite that no program reads it: then nothing is written."""
    from honestone.formats.document import Document
    from honestone.formats.suite_file import read_suite
    from honestone.interop.base import Reader
    from honestone.interop.recognise import read_any_rubric, recognise

    beside = path.parent / f"{path.stem}.{'jsonl' if form == 'healthbench' else 'yaml'}"
    document = Document(path=beside, text=text, read_rubric=read_any_rubric)
    try:
        found = recognise(document)
        (found.read if isinstance(found, Reader) else read_suite)(document)
    except UsageError as error:
        raise UsageError(
            f"too little of this suite can be said in {form}: {error.message}", hint="choose another format (--to)"
        ) from None


def _rubric_text(rubric: Rubric, form: str) -> tuple[str, Sequence[Loss]]:
    writers: dict[str, Callable[[Rubric], tuple[str, Sequence[Loss]]]] = {
        "honestone": _native,
        "autorubric": _autorubric,
    }
    return writers[form](rubric)


def _native(rubric: Rubric) -> tuple[str, Sequence[Loss]]:
    from honestone.formats.rubric_write import dump_rubric

    return dump_rubric(rubric), ()


def _autorubric(rubric: Rubric) -> tuple[str, Sequence[Loss]]:
    from honestone.interop.autorubric.write import dump_autorubric

    return dump_autorubric(rubric)


# ---------------------------------------------------------------------------------------------------- losses


def _refused(losses: Sequence[Loss], dialect: str, *, accepted: bool) -> Sequence[str]:
    from honestone.formats.source import refuse_losses

    return refuse_losses(losses, dialect, accepted=accepted)


def _when_written(losses: Sequence[Loss], form: str) -> list[Loss]:
    """Losses of a writer, with what to do about them where the writer does not say."""
    hint = f"{form} cannot say this: --accept-loss writes the rest"
    return [loss if loss.hint else replace(loss, hint=hint) for loss in losses]


_WITH_PATHS: Final = ("pytest", "command", "python", "grader", "json-schema")


def _paths_that_move(source: SuiteSource, output: Path | None) -> list[str]:
    """Paths in a suite are meant from its own folder."""
    if output is None or output.parent.resolve() == source.base.resolve():
        return []
    names = [
        case.id
        for case in source.suite.cases
        if (case.workspace is not None and (case.workspace.copy or case.workspace.git))
        or case.setup
        or any(item.check is not None and item.check.kind in _WITH_PATHS for _, item in case.rubric.questions())
    ]
    if not names and not source.suite.artifact:
        return []
    where = f" ({', '.join(names[:5])}{', ...' if len(names) > 5 else ''})" if names else ""
    return [f"paths in it{where} are meant from the suite's own folder, which is now another one than `{source.base}`"]


# ---------------------------------------------------------------------------------------------------- output


def _give(text: str, output: Path | None, force: bool) -> None:
    if output is None:
        write(text)
        return
    from honestone.cli.new_file import refuse_overwriting, write_new

    refuse_overwriting(output, force, example="suite.yaml")
    write_new(output, text, force, example="suite.yaml")


def _tell(notes: Sequence[str], output: Path | None, quiet: bool) -> None:
    """Notes to stderr: stdout is the file's."""
    from honestone.report.draw import clean, line

    said = [f"note: {note}" for note in notes] + ([f"wrote {line(output)}"] if output is not None else [])
    if not quiet:
        sys.stderr.write("".join(f"{clean(one)}\n" for one in said))
