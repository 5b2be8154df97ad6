"""`honestone suite convert` and `honestone rubric convert`: the same suite or rubric in another format."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from honestone.app.convert import RUBRIC_FORMATS, SUITE_FORMATS, Conversion
from honestone.app.convert import convert_rubric as rubric_in
from honestone.app.convert import convert_suite as suite_in
from honestone.cli import options as shared
from honestone.cli.terminal import write
from honestone.system.new_file import refuse_overwriting, write_new


def _convert_options(forms: tuple[str, ...]) -> Callable[[Callable[..., int]], Callable[..., int]]:
    return shared.combined(
        click.argument("path", type=shared.PATH),
        shared.choice("--to", "|".join(forms), "honestone", help="The format to write."),
        click.option("--output", type=shared.PATH, metavar="FILE", help="Where to write it. [stdout]"),
        click.option("--force", is_flag=True, help="Overwrite an existing file."),
        click.option(
            "--accept-loss", is_flag=True, help="Write the rest where one of the formats cannot say something."
        ),
        shared.quiet_option,
    )


@click.command("convert", short_help="Write a suite in another format.")
@_convert_options(SUITE_FORMATS)
@shared.allow_outside_option
def convert_suite(path: Path, to: str, accept_loss: bool, allow_outside: tuple[Path, ...], **writing: Any) -> int:
    """Write a suite, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and lists it as notes.
    """
    made = suite_in(path, to, accept_loss=accept_loss, output=writing["output"], allowed=allow_outside)
    return _give(made, **writing)


@click.command("convert", short_help="Write a rubric in another format.")
@_convert_options(RUBRIC_FORMATS)
def convert_rubric(path: Path, to: str, accept_loss: bool, **writing: Any) -> int:
    """Write a rubric, ours or another tool's, in another format.

    What cannot be said is listed with its place and exits 2; --accept-loss writes the rest and lists it as notes.
    """
    return _give(rubric_in(path, to, accept_loss=accept_loss), **writing)


def _give(made: Conversion, *, output: Path | None, force: bool, quiet: bool) -> int:
    """The file to stdout or `output`; notes to stderr, as stdout is the file's."""
    from honestone.system.drawing import clean, line

    if output is None:
        write(made.text)
    else:
        refuse_overwriting(output, force, example="suite.yaml")
        write_new(output, made.text, force, example="suite.yaml")
    said = [f"note: {note}" for note in made.notes] + ([f"wrote {line(output)}"] if output is not None else [])
    if not quiet:
        sys.stderr.write("".join(f"{clean(one)}\n" for one in said))
    return 0
