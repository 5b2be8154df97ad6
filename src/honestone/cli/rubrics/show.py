"""`honestone rubric show`: a rubric as it is understood."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import click

from honestone.app.options import Argument, Option
from honestone.cli import options as shared
from honestone.cli.terminal import dump, write
from honestone.core.judging.rubric import Criterion, as_written
from honestone.core.numbers import show_bar
from honestone.system.drawing import clean


@click.command("show", short_help="Show a rubric as it is understood.")
@shared.from_parameters
def show(
    *,
    path: Annotated[Path | None, Argument()] = None,
    schema: Annotated[bool, Option("The JSON Schema of rubric files, for editors.")] = False,
    template: Annotated[
        str | None,
        Option("A shipped rubric instead, as `rubric new --template` writes it.", metavar="NAME"),
    ] = None,
    formats: Annotated[bool, Option("The formats of other tools that are read.")] = False,
    as_json: shared.AsJson = False,
) -> int:
    """Show how a rubric is understood: weights as shares, who answers what, every bar."""
    if formats:
        from honestone.interop.recognise import format_lines

        write("\n".join(format_lines()) + "\n")
        return 0
    if schema:
        from honestone.formats.schema import rubric_schema

        write(dump(rubric_schema()) + "\n")
        return 0
    if (path is None) == (template is None):
        raise click.UsageError(
            "name a rubric file, or --template, --schema or --formats", click.get_current_context()
        )
    from honestone.formats.rubric.rubric_file import parse_rubric

    if template is not None:
        from honestone.templates import template_text

        text = template_text(template)
        if not as_json:
            write(text)
            return 0
        path, found = Path(f"{template}.yaml"), parse_rubric(text, f"{template}.yaml").rubric
    else:
        from honestone.app.judging.rubric_plan import load_rubric

        assert path is not None
        found = load_rubric(path, accept_loss=True, note=lambda line: print(line, file=sys.stderr))
    if as_json:
        from honestone.core.judging.rubric import to_plain

        write(dump(to_plain(found)) + "\n")
        return 0

    write(clean(found.title or path.name) + "\n")
    write(
        f"threshold {show_bar(found.threshold)}, floor {show_bar(found.floor) if found.floor else 'off'}\n\n"
    )
    for line in _outline(found.criteria, ""):
        write(line + "\n")
    return 0


def _outline(group: tuple[Criterion, ...], indent: str) -> Any:

    total = sum(c.weight for c in group if c.weight > 0)
    for criterion in group:
        share = (
            f"{float(100 * criterion.weight / total):g}%"
            if not criterion.is_penalty
            else f"penalty {as_written(criterion.weight)}"
        )
        marks = [share]
        if criterion.required:
            marks.append("required")
        if criterion.floor is not None:
            marks.append(f"floor {show_bar(criterion.floor)}")
        yield f"{indent}{criterion.id} ({', '.join(marks)}): {clean(criterion.requirement)}"
        for item in criterion.items:
            if item.anchors is not None:
                yield f"{indent}  judges, {as_written(item.anchors.lowest)}-{as_written(item.anchors.highest)}: {clean(item.requirement)}"
                for value, text in item.anchors.levels:
                    yield f"{indent}    {as_written(value)}: {clean(text)}"
            else:
                who = f"code, {item.check.name}" if item.check else "judges, yes/no"
                fix = ", can be fixed" if item.fix else ""
                yield f"{indent}  {who}{fix}: {clean(item.requirement)}"
        yield from _outline(criterion.children, indent + "  ")
