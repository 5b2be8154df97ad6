"""`honestone stage schema`: the JSON Schema of a pipeline file, for programs that read or write one."""

from __future__ import annotations

import click

from honestone.cli.terminal import dump, write
from honestone.formats.stage_files import SCHEMAS, stage_schema


@click.command("schema", short_help="The JSON Schema of an artifact.")
@click.argument("name", type=click.Choice(list(SCHEMAS)), required=False)
def schema_command(name: str | None) -> int:
    """Print the JSON Schema of an artifact; without a NAME, list the names."""
    if name is None:
        write("".join(f"{one}  {about}\n" for one, (about, _) in SCHEMAS.items()))
    else:
        write(dump(stage_schema(name)) + "\n")
    return 0
