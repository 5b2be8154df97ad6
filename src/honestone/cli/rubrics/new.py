"""`honestone rubric new`: from what somebody wants to a rubric, in a conversation or by flags."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import click

from honestone.app.options import Option
from honestone.cli import options as shared
from honestone.cli.terminal import Progress, dump, here, write
from honestone.core.errors import UsageError
from honestone.system.drawing import clean, count, line, style_for
from honestone.system.new_file import refuse_overwriting, write_new

if TYPE_CHECKING:
    from honestone.app.authoring.new import NewRubricRequest
    from honestone.core.authoring.rubric_drafting import RubricDraft

OUTPUT: Final = Path("rubric.yaml")


@click.command("new", short_help="Write a rubric: a conversation, flags, or a template.")
@shared.from_parameters
def new(
    *,
    about: Annotated[
        str, Option("What is judged: in your own words, or a template's name.", metavar="TEXT")
    ] = "",
    criteria: Annotated[
        tuple[str, ...],
        Option("What matters; two at least.", name="--criterion", metavar='"NAME: WHAT"'),
    ] = (),
    items: Annotated[
        tuple[str, ...],
        Option("A yes/no item of a criterion.", name="--item", metavar='"NAME: ITEM"'),
    ] = (),
    anchors: Annotated[
        tuple[str, ...],
        Option(
            "Five levels, lowest first, where items will not do.",
            metavar='"NAME: A | B | C | D | E"',
        ),
    ] = (),
    weights: Annotated[
        tuple[str, ...],
        Option("Percent; all of them or none. [equal]", name="--weight", metavar="NAME=30"),
    ] = (),
    threshold: Annotated[
        float | None,
        Option(
            "The overall score to reach. [70]", metavar="0-100", min=0, max=100, show_range=False
        ),
    ] = None,
    floor: Annotated[
        float | None,
        Option(
            "What every criterion has to reach; 0 is off. [60]",
            metavar="0-100",
            min=0,
            max=100,
            show_range=False,
        ),
    ] = None,
    judge: Annotated[
        str | None,
        Option(
            "The model that drafts the items; `none` drafts from your words and templates.",
            short="-j",
            metavar="JUDGE",
        ),
    ] = None,
    template: Annotated[str | None, Option("Write this template as it is.", metavar="NAME")] = None,
    source: Annotated[
        Path | None,
        Option(
            "Draft from a file: a grading sheet (.csv), Markdown or text, YAML or JSON of any shape, a PDF or .docx.",
            name="--from",
            metavar="FILE",
        ),
    ] = None,
    list_templates: Annotated[bool, Option("List the templates.")] = False,
    output: Annotated[Path, Option(short="-o", metavar="FILE", show_default=True)] = Path(
        "rubric.yaml"
    ),
    force: shared.Overwrite = False,
    yes: Annotated[bool, Option("Ask nothing, accept the draft and write it.", short="-y")] = False,
    as_json: shared.AsJson = False,
) -> int:
    """Make a rubric out of what matters to you.

    At a terminal it asks: what is judged and what matters, then shows a draft to change until you
    accept it, then the bars. Ctrl-C keeps every answer. Without a terminal say it by flags; --json
    without --yes shows the draft alone. With --from the criteria, weights, items and levels are
    those of the file, and what was taken for what is listed.
    """
    from honestone.app.authoring.new import NewRubricRequest

    if list_templates:
        return _list_templates(as_json)
    request = NewRubricRequest(
        about=about,
        criteria=criteria,
        items=items,
        anchors=anchors,
        weights=weights,
        threshold=threshold,
        floor=floor,
        judge=judge,
        output=output,
    )
    if template is not None:
        return _write_template(template, request, force=force, as_json=as_json)
    if source is not None:
        return _from_file(source, request, yes=yes, force=force, as_json=as_json)
    if yes or not as_json:  # a draft that is only shown writes nothing
        refuse_overwriting(request.output, force, example="rubric.yaml")
    request.answers()  # what cannot be read is refused before anything is asked
    if yes or as_json or not sys.stdin.isatty():
        return _by_flags(request, yes=yes, force=force, as_json=as_json)
    return _in_conversation(request, force=force)


def _list_templates(as_json: bool) -> int:
    from honestone.app.authoring.new import shipped_rubrics

    rows = [(one, [item for _, item in one.rubric.questions()]) for one in shipped_rubrics()]
    if as_json:
        plain = [
            {
                "name": one.name,
                "title": one.rubric.title,
                "criteria": [criterion.id for criterion in one.rubric.criteria],
                "items": len(items),
                "by_code": sum(item.check is not None for item in items),
            }
            for one, items in rows
        ]
        write(dump({"schema": "honestone.templates/1", "templates": plain}) + "\n")
        return 0

    for one, items in rows:
        by_code = sum(item.check is not None for item in items)
        counts = f"{count(len(one.rubric.criteria), 'criterion', 'criteria')}, {count(len(items), 'item')}, {by_code} by code"
        write(f"{one.name:<14}  {one.rubric.title} ({counts})\n")
    write("\nhonestone rubric new --template NAME      honestone rubric show --template NAME\n")
    return 0


def _write_template(name: str, request: NewRubricRequest, *, force: bool, as_json: bool) -> int:
    from honestone.app.authoring.new import points_bar, template_text_with_bars

    threshold, floor = (
        points_bar("--threshold", request.threshold),
        points_bar("--floor", request.floor),
    )
    if request.about or request.criteria or request.items or request.anchors or request.weights:
        raise UsageError(
            "a template is written as it is, so nothing can be added to it by flags",
            hint="leave out --template, or write it and edit the file",
        )
    text = template_text_with_bars(name, threshold, floor)
    write_new(request.output, text, force, example="rubric.yaml")
    if as_json:
        write(
            dump(
                {
                    "schema": "honestone.rubric-new/1",
                    "template": name,
                    "written": str(request.output),
                }
            )
            + "\n"
        )
    else:
        _print_next(request.output)
    return 0


def _from_file(
    source: Path, request: NewRubricRequest, *, yes: bool, force: bool, as_json: bool
) -> int:
    """Make a draft from a file; without --yes the draft is only shown."""
    from honestone.app.authoring.new import points_bar
    from honestone.formats.drafts.rubrics import rubric_from_file
    from honestone.system.processes.documents import DOCUMENTS, document_text

    if request.criteria or request.items or request.anchors or request.weights or request.judge:
        raise UsageError(
            "the criteria are those of the file, so nothing can be added to them by flags",
            hint="--about, --threshold and --floor go with --from; edit the draft for the rest",
        )
    threshold, floor = (
        points_bar("--threshold", request.threshold),
        points_bar("--floor", request.floor),
    )
    path = here().path(source)
    text = document_text(path) if path.suffix.lower() in DOCUMENTS else None
    made = rubric_from_file(path, title=request.about, threshold=threshold, floor=floor, text=text)
    if yes:
        write_new(request.output, made.text, force, example="rubric.yaml")
    if as_json:
        document = {
            "schema": "honestone.rubric-new/1",
            "source": made.source,
            "written": str(request.output) if yes else None,
        }
        write(
            dump({**document, "taken": [one.to_plain() for one in made.taken], "rubric": made.text})
            + "\n"
        )
        return 0
    if not yes:
        write(made.text)
        return 0
    write("".join(f"{clean(one.place)}: {clean(one.words)}\n" for one in made.taken) + "\n")
    _print_next(request.output)
    return 0


def _by_flags(request: NewRubricRequest, *, yes: bool, force: bool, as_json: bool) -> int:
    from honestone.app.authoring.new import draft_rubric, refuse_incomplete

    if not yes and not as_json:
        refuse_incomplete(request.answers())
        raise UsageError(
            "a draft cannot be accepted without a terminal, so nothing was written",
            hint="--yes accepts and writes it; --json without --yes shows it",
        )
    with Progress() as progress:
        made = draft_rubric(here(), request, progress)
        if yes:
            write_new(request.output, made.text, force, example="rubric.yaml")
            made.forget_replies()
        for warning in made.warnings:
            progress.note(f"note: {warning}")
    _print_result(made.draft, request.output if yes else None, made.warnings, as_json=as_json)
    return 0


def _in_conversation(request: NewRubricRequest, *, force: bool) -> int:
    from honestone.app.authoring.conversation import converse
    from honestone.app.authoring.draft_file import AnswersFile
    from honestone.app.authoring.new import rubric_text

    output = request.output
    again = shlex.join(
        ["honestone", "rubric", "new", *([] if output == OUTPUT else ["--output", str(output)])]
    )
    draft = converse(here(), request, again=again)
    write_new(output, rubric_text(draft), force, example="rubric.yaml")
    AnswersFile(output).drop()
    _print_result(draft, output, (), as_json=False)
    return 0


def _print_result(
    draft: RubricDraft, written: Path | None, notes: Sequence[str], *, as_json: bool
) -> None:
    from msgspec.structs import replace

    from honestone.app.improving.loop import rounds_to_expect
    from honestone.report.terminal.rubric_draft import contract_lines, draft_document

    rounds = rounds_to_expect(here(), draft.rubric())
    if as_json:
        document = replace(
            draft_document(draft, rounds),
            notes=list(notes),
            written=str(written) if written else None,
        )
        write(dump(document) + "\n")
        return

    style = style_for(sys.stdout)
    write(style.finish(contract_lines(draft, rounds, style, style.columns)))
    if written is not None:
        write("\n")
        _print_next(written)


def _print_next(output: Path) -> None:

    name = line(shlex.quote(str(output)))
    write(
        f"wrote {line(output)}\n\nnext\n  honestone rubric check {name}\n  honestone eval ARTIFACT --rubric {name}\n"
    )
