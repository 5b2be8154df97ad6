"""`honestone skill learn` and `schema`: what helped so far and what did not, and the shape of the
pipeline's files.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from honestone.cli import options as shared
from honestone.cli.stages.group import ArtifactFile, StateRoot, show_lines, stage_files
from honestone.cli.terminal import Progress, dump, write
from honestone.formats.stage_schema import SCHEMAS, stage_schema

if TYPE_CHECKING:
    from honestone.core.skill.brief import Lesson


@click.command("learn", short_help="What helped so far, per category.")
@shared.from_parameters
def learn_command(
    *,
    state_root: StateRoot = None,
    output: ArtifactFile = None,
    store: shared.StoreName = None,
    as_json: shared.AsJson = False,
    quiet: shared.IsQuiet = False,
) -> int:
    """Report what kinds of edits were kept and what kinds were put back, and where.

    The list is kept in STATE_ROOT/memory.json, so that it outlives the receipts. What was put back
    is shown to the next worker and to the judges that rank its edits; the gate decides without it.
    """
    from honestone.app.stages.lessons import learn_from

    with Progress(quiet=quiet) as progress:
        lessons = learn_from(stage_files(state_root, output), progress)
    if as_json:
        write(dump([lesson.to_plain() for lesson in lessons]) + "\n")
    else:
        show_lines(list(_lines(lessons)))
    return 0


def _lines(lessons: list[Lesson]) -> Iterator[str]:
    """The lessons for people, category by category, the most tried first."""
    from honestone.core.skill.brief import why

    if not lessons:
        yield "nothing has been decided yet, so there is nothing to learn from"
        return
    tried: dict[str, int] = {}
    for lesson in lessons:
        tried[lesson.type] = tried.get(lesson.type, 0) + lesson.hit_count
    for category in sorted(tried, key=lambda name: -tried[name]):
        mine = [lesson for lesson in lessons if lesson.type == category]
        helped = sum(lesson.hit_count for lesson in mine if lesson.succeeded)
        yield f"{category}: {helped} of {tried[category]} helped"
        for lesson in mine:
            if not lesson.succeeded:
                yield f"  {lesson.hit_count} did not ({why(lesson)})"
    yield "the next brief and the ranking show what did not help; the gate decides without it"


@click.command("schema", short_help="The JSON Schema of an artifact.")
@click.argument("name", type=click.Choice(list(SCHEMAS)), required=False)
def schema_command(name: str | None) -> int:
    """Print the JSON Schema of an artifact; without a NAME, list the names."""
    if name is None:
        write("".join(f"{one}  {about}\n" for one, (about, _) in SCHEMAS.items()))
    else:
        write(dump(stage_schema(name)) + "\n")
    return 0
