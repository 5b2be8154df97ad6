"""`honestone suite convert` and `honestone rubric convert`: the same suite or rubric in another
format.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import click

from honestone.app.convert import Conversion
from honestone.app.convert import convert_rubric as rubric_in
from honestone.app.convert import convert_suite as suite_in
from honestone.app.judging.judging_options import AcceptLoss, FromOutside, ReadAs
from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, write
from honestone.system.new_file import refuse_overwriting, write_new


@click.command("convert", short_help="Write a suite in another format.")
@shared.from_parameters
def convert_suite(
    *,
    path: Annotated[Path, Argument()],
    to: Annotated[
        str,
        Option(
            "The format to write.",
            choices=(
                "honestone",
                "agentv",
                "agentv-5",
                "agentv-4",
                "agentv-2",
                "agentv-seed",
                "task-suite",
                "healthbench",
            ),
            show_default=True,
        ),
    ] = "honestone",
    output: shared.WrittenFile = None,
    force: shared.Overwrite = False,
    accept_loss: shared.WriteTheRest = False,
    read_as: ReadAs = None,
    quiet: shared.IsQuiet = False,
    allow_outside: FromOutside = (),
) -> int:
    """Write a suite, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and
    lists it as notes.
    """
    made = suite_in(
        path,
        to,
        accept_loss=accept_loss,
        output=output,
        allowed=allow_outside,
        read_as=read_as,
    )
    return _give(made, output=output, force=force, quiet=quiet)


@click.command("show", short_help="Show a suite as it is run.")
@shared.from_parameters
def show_suite(
    *,
    path: Annotated[Path | None, Argument(metavar="SUITE")] = None,
    schema: Annotated[bool, Option("The JSON Schema of suite files, for editors.")] = False,
    accept_loss: AcceptLoss = False,
    allow_outside: FromOutside = (),
) -> int:
    """Show a suite as it is run, in our format: cases of tables, `defaults` and vars filled in."""
    if schema:
        from honestone.formats.schema import suite_schema

        write(dump(suite_schema()) + "\n")
        return 0
    if path is None:
        raise click.UsageError("name a suite file, or --schema", click.get_current_context())
    made = suite_in(path, "honestone", accept_loss=accept_loss, allowed=allow_outside)
    return _give(made, output=None, force=False, quiet=False)


@click.command("convert", short_help="Write a rubric in another format.")
@shared.from_parameters
def convert_rubric(
    *,
    path: Annotated[Path, Argument()],
    to: Annotated[
        str, Option("The format to write.", choices=("honestone", "autorubric"), show_default=True)
    ] = "honestone",
    output: shared.WrittenFile = None,
    force: shared.Overwrite = False,
    accept_loss: shared.WriteTheRest = False,
    read_as: ReadAs = None,
    quiet: shared.IsQuiet = False,
) -> int:
    """Write a rubric, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and
    lists it as notes.
    """
    made = rubric_in(path, to, accept_loss=accept_loss, output=output, read_as=read_as)
    return _give(made, output=output, force=force, quiet=quiet)


def _give(made: Conversion, *, output: Path | None, force: bool, quiet: bool) -> int:
    """The file to stdout or `output`; notes to stderr, as stdout is the file's."""
    from honestone.system.drawing import clean, line

    if output is None:
        write(made.text)
    else:
        refuse_overwriting(output, force, example="suite.yaml")
        if made.copies:
            from honestone.app.carried_files import write_copies

            write_copies(made.copies, output.parent, force)
        write_new(output, made.text, force, example="suite.yaml")
    lines = [f"note: {note}" for note in made.notes] + (
        [f"wrote {line(output)}"] if output is not None else []
    )
    if not quiet:
        sys.stderr.write("".join(f"{clean(one)}\n" for one in lines))
    return 0
