"""`honestone suite convert` and `honestone rubric convert`: the same suite or rubric in another
format.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from honestone.app.convert import Conversion
from honestone.app.convert import convert_rubric as rubric_in
from honestone.app.convert import convert_suite as suite_in
from honestone.cli import options as shared
from honestone.cli.terminal import dump, write
from honestone.system.new_file import refuse_overwriting, write_new


@click.command("convert", short_help="Write a suite in another format.")
@shared.options("suite convert")
def convert_suite(
    path: Path,
    to: str,
    accept_loss: bool,
    allow_outside: tuple[Path, ...],
    read_as: str | None,
    **writing: Any,
) -> int:
    """Write a suite, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and
    lists it as notes.
    """
    made = suite_in(
        path,
        to,
        accept_loss=accept_loss,
        output=writing["output"],
        allowed=allow_outside,
        read_as=read_as,
    )
    return _give(made, **writing)


@click.command("show", short_help="Show a suite as it is run.")
@shared.options("suite show")
def show_suite(
    path: Path | None, schema: bool, accept_loss: bool, allow_outside: tuple[Path, ...]
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
@shared.options("rubric convert")
def convert_rubric(
    path: Path, to: str, accept_loss: bool, read_as: str | None, **writing: Any
) -> int:
    """Write a rubric, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and
    lists it as notes.
    """
    made = rubric_in(path, to, accept_loss=accept_loss, output=writing["output"], read_as=read_as)
    return _give(made, **writing)


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
    said = [f"note: {note}" for note in made.notes] + (
        [f"wrote {line(output)}"] if output is not None else []
    )
    if not quiet:
        sys.stderr.write("".join(f"{clean(one)}\n" for one in said))
    return 0
