"""`honestone rubric new`: from what somebody wants to a rubric, in a conversation or by flags."""

from __future__ import annotations

import asyncio
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from honestone.cli import options as shared
from honestone.cli.printing import dump, write
from honestone.core.errors import Interrupted, UsageError
from honestone.system.new_file import refuse_overwriting, write_new

if TYPE_CHECKING:
    from honestone.app.rubrics.draft_file import Answers, Kept
    from honestone.core.authoring.rubric_drafting import Draft, Library, Wanted
    from honestone.core.rubric import Criterion
    from honestone.ports import Model

OUTPUT: Final = Path("rubric.yaml")
NO_MODEL: Final = "none"
_LONGEST: Final = 4000


@click.command("new", short_help="Write a rubric: a conversation, flags, or a template.")
@click.option("--about", metavar="TEXT", help="What is judged: in your own words, or a template's name.")
@click.option("--criterion", "criteria", multiple=True, metavar='"NAME: WHAT"', help="What matters; two at least.")
@click.option("--item", "items", multiple=True, metavar='"NAME: ITEM"', help="A yes/no item of a criterion.")
@click.option(
    "--anchors",
    multiple=True,
    metavar='"NAME: A | B | C | D | E"',
    help="Five levels, lowest first, where items will not do.",
)
@click.option("--weight", "weights", multiple=True, metavar="NAME=30", help="Percent; all of them or none. [equal]")
@click.option("--threshold", type=float, metavar="0-100", help="The overall score to reach. [70]")
@click.option("--floor", type=float, metavar="0-100", help="What every criterion has to reach; 0 is off. [60]")
@click.option(
    "--judge", metavar="JUDGE", help="The model that drafts the items; `none` drafts from your words and templates."
)
@click.option("--template", metavar="NAME", help="Write this template as it is.")
@click.option("--list-templates", is_flag=True, help="List the templates.")
@click.option("-o", "--output", type=shared.PATH, default=OUTPUT, show_default=True, metavar="FILE")
@click.option("--force", is_flag=True, help="Write over the output.")
@click.option("-y", "--yes", is_flag=True, help="Ask nothing, accept the draft and write it.")
@shared.json_option
def new(
    about: str | None,
    criteria: tuple[str, ...],
    items: tuple[str, ...],
    anchors: tuple[str, ...],
    weights: tuple[str, ...],
    threshold: float | None,
    floor: float | None,
    judge: str | None,
    template: str | None,
    list_templates: bool,
    output: Path,
    force: bool,
    yes: bool,
    as_json: bool,
) -> int:
    """Make a rubric out of what matters to you.

    At a terminal it asks: what is judged and what matters, then shows a draft to change until you accept it, then the
    bars. Ctrl-C keeps every answer. Without a terminal say it by flags; --json without --yes shows the draft alone.
    """
    if list_templates:
        return _list_templates(as_json)
    bars = _bar("--threshold", threshold), _bar("--floor", floor)
    if template is not None:
        if about or criteria or items or anchors or weights:
            raise UsageError(
                "a template is written as it is, so nothing can be added to it by flags",
                hint=f"leave out --template and say --about {template}, or write it and edit the file",
            )
        return _write_template(template, output, bars, force=force, as_json=as_json)
    refuse_overwriting(output, force, example="rubric.yaml")
    from honestone.app.rubrics.draft_file import Answers, Kept

    kept = Kept(output)
    said = Answers(about=_one_line(about or ""), threshold=bars[0], floor=bars[1])
    _take_flags(said, criteria, items, anchors, weights)
    if yes or as_json or not sys.stdin.isatty():
        return _by_flags(said, kept, output, judge, yes=yes, force=force, as_json=as_json)
    return _in_conversation(said, kept, output, judge, force=force)


# ---------------------------------------------------------------------------------------------------------- templates


def library() -> tuple[Library, ...]:
    """Every shipped template, read."""
    from honestone.core.authoring.rubric_drafting import Library
    from honestone.formats.rubric_file import parse_rubric
    from honestone.templates import template_names, template_text

    return tuple(
        Library(name=name, rubric=parse_rubric(template_text(name), f"{name}.yaml").rubric) for name in template_names()
    )


def _list_templates(as_json: bool) -> int:
    rows: list[dict[str, Any]] = []
    for one in library():
        items = [item for _, item in one.rubric.questions()]
        rows.append(
            {
                "name": one.name,
                "title": one.rubric.title,
                "criteria": [c.id for c in one.rubric.criteria],
                "items": len(items),
                "by_code": sum(item.check is not None for item in items),
            }
        )
    if as_json:
        write(dump({"schema": "honestone.templates/1", "templates": rows}) + "\n")
        return 0
    for row in rows:
        counts = f"{len(row['criteria'])} criteria, {row['items']} items, {row['by_code']} by code"
        write(f"{row['name']:<14}  {row['title']} ({counts})\n")
    write("\nhonestone rubric new --template NAME      honestone rubric show --template NAME\n")
    return 0


def _write_template(
    name: str, output: Path, bars: tuple[Fraction | None, Fraction | None], *, force: bool, as_json: bool
) -> int:
    """The template as it is shipped, remarks and all, with the bars that were given."""
    from honestone.core.numbers import show_bar
    from honestone.templates import template_text

    text = template_text(name)
    for key, bar in zip(("threshold", "floor"), bars, strict=True):
        if bar is not None:
            text = re.sub(rf"(?m)^{key}: \S+", f"{key}: {show_bar(bar)}", text, count=1)
    refuse_overwriting(output, force, example="rubric.yaml")
    write_new(output, text, force, example="rubric.yaml")
    if as_json:
        write(dump({"schema": "honestone.rubric-new/1", "template": name, "written": str(output)}) + "\n")
    else:
        _tell_next(output)
    return 0


# ----------------------------------------------------------------------------------------------------------- by flags


def _by_flags(
    said: Answers, kept: Kept, output: Path, judge: str | None, *, yes: bool, force: bool, as_json: bool
) -> int:
    from honestone.app.rubrics.draft_file import draft_from, is_complete, with_bars
    from honestone.core.authoring.rubric_drafting import (
        FEWEST_CRITERIA,
        WHY_TWO,
        shortage,
        vague_criterion,
        weights_problem,
    )

    missing = []
    if not said.about:
        missing.append('--about "WHAT IS JUDGED"')
    if len(said.wanted) < FEWEST_CRITERIA:
        missing.append('--criterion "NAME: WHAT" twice at least')
    if missing:
        why = f": {WHY_TWO}" if said.about and said.wanted else ""
        raise UsageError(
            f"nobody can be asked here, so flags have to say it: {', '.join(missing)}{why}",
            hint="or write a template as it is: --template NAME (--list-templates lists them)",
        )
    if not yes and not as_json:
        raise UsageError(
            "nobody is here to accept the draft, so nothing was written",
            hint="--yes accepts and writes it; --json without --yes shows it",
        )
    problem = weights_problem(list(said.weights.values())) if said.weights else None
    if problem is not None:
        raise UsageError(problem, hint="--weight NAME=30, once for each criterion")
    warnings = [vague.warning(one.name) for one in said.wanted if (vague := vague_criterion(one)) is not None]
    before = kept.load()
    said.replies = dict(before.replies) if before is not None else {}
    notes: list[str] = []
    books = library()
    draft = draft_from(said, books)
    if judge != NO_MODEL and (judge is not None or not is_complete(draft)):
        draft = asyncio.run(
            _with_model(said, judge, books, kept if before is None or not before.says_something else None, notes)
        )
    if lacking := shortage(draft.criteria):
        raise UsageError(
            "; ".join(one.words for one in lacking),
            hint=" ".join(f'--item "{one.id}: ..."' for one in lacking)
            + ' (repeat it), or --anchors "NAME: A | B | C | D | E", or --judge MODEL to draft them',
        )
    draft = with_bars(draft, said)
    _refuse_unsound(draft)
    from honestone.core.authoring.lint import lint

    warnings += [f"{remark.message}. {remark.suggestion}" for remark in lint(draft.rubric())]
    if yes:
        write_new(output, rubric_text(draft), force, example="rubric.yaml")
        if before is None or not before.says_something:
            kept.drop()
    for text in (*warnings, *notes):
        _note(text)
    _print_result(draft, output if yes else None, [*warnings, *notes], as_json=as_json)
    return 0


async def _with_model(
    said: Answers, judge: str | None, books: Sequence[Library], kept: Kept | None, notes: list[str]
) -> Draft:
    """The draft of the model that was named or found; from the words alone, with a note, where there is none."""
    from honestone.app.rubrics.draft_file import Answers, draft_from

    name = judge or await asyncio.to_thread(found_model)
    if name is None:
        return draft_from(said, books)
    said.judge = name
    if judge is None:
        _note(f"asking {name} to draft the items: 1 call, 2 at most (--judge none asks nobody)")

    def keep() -> None:
        if kept is not None:
            kept.save(Answers(replies=said.replies))

    proposed = await proposed_by(name, said, notes, keep)
    return draft_from(said, books, proposed)


def _take_flags(
    said: Answers, criteria: Sequence[str], items: Sequence[str], anchors: Sequence[str], weights: Sequence[str]
) -> None:
    from honestone.core.authoring.rubric_drafting import parse_wanted

    for text in criteria:
        one = parse_wanted(_one_line(text))
        if not one.name.strip():
            raise UsageError("a --criterion is empty", hint='--criterion "tone: no word blames the reader"')
        if any(other.id == one.id for other in said.wanted):
            raise UsageError(f"two criteria have the id `{one.id}`", hint="give one of them another name")
        said.wanted.append(one)
    for text in items:
        at, item = _belongs("--item", text, said.wanted)
        said.wanted[at] = replace(said.wanted[at], items=(*said.wanted[at].items, item))
    for text in anchors:
        at, levels = _belongs("--anchors", text, said.wanted)
        texts = tuple(part.strip() for part in levels.split("|"))
        if len(texts) != 5 or not all(texts) or len(set(texts)) < 5:
            raise UsageError(
                f"--anchors of `{said.wanted[at].id}` has to have five different texts, lowest first",
                hint=f'--anchors "{said.wanted[at].name}: absent | a trace | half | nearly all | all"',
            )
        if said.wanted[at].items:
            raise UsageError(f"`{said.wanted[at].id}` has both --item and --anchors", hint="leave out one of them")
        said.wanted[at] = replace(said.wanted[at], levels=texts)
    for text in weights:
        _take_weight(said, text)
    if said.weights and (unweighed := [one.id for one in said.wanted if one.id not in said.weights]):
        raise UsageError(
            f"no --weight for {', '.join(f'`{id}`' for id in unweighed)}", hint="weigh every criterion, or none"
        )
    said.weights = {one.id: said.weights[one.id] for one in said.wanted if said.weights}


def _take_weight(said: Answers, text: str) -> None:
    from honestone.core.authoring.rubric_drafting import parse_weight

    name, equals, number = text.rpartition("=")
    weight = parse_weight(number)
    if not equals or weight is None:
        raise UsageError(f"--weight {text!r} is no NAME=NUMBER", hint="for example --weight tone=30")
    said.weights[said.wanted[_at(name, said.wanted, "--weight")].id] = weight


def _belongs(option: str, text: str, wanted: Sequence[Wanted]) -> tuple[int, str]:
    """Which criterion a `NAME: TEXT` is about, and the text."""
    name, colon, rest = _one_line(text).replace("：", ":", 1).partition(":")
    if not colon or not re.search(r"\w", rest):
        raise UsageError(f"{option} {text!r} is no `CRITERION: TEXT`", hint=f'for example {option} "tone: ..."')
    return _at(name, wanted, option), rest.strip()


def _at(name: str, wanted: Sequence[Wanted], option: str) -> int:
    from honestone.core.authoring.rubric_drafting import find_criterion, near_criterion

    ids = [one.id for one in wanted]
    id = find_criterion(name, ids)
    if id is None:
        near = near_criterion(name, ids)
        known = f"did you mean `{near}`? " if near else ""
        raise UsageError(
            f"{option} names `{name.strip()}`, which is no criterion",
            hint=f"{known}criteria: {', '.join(ids) or 'none yet'}",
        )
    return ids.index(id)


def _bar(option: str, number: float | None) -> Fraction | None:
    from honestone.core.numbers import exact

    if number is None:
        return None
    if not 0 <= number <= 100:  # NaN too
        raise UsageError(f"{option} is {number:g}, but must be from 0 to 100", hint=f"for example {option} 70")
    return exact(number) / 100


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]


# ------------------------------------------------------------------------------------------------------ conversation


def _in_conversation(said: Answers, kept: Kept, output: Path, judge: str | None, *, force: bool) -> int:
    from honestone.adapters.people.terminal import NoTerminal
    from honestone.cli.rubrics.talk import PutOff, converse

    again = shlex.join(["honestone", "rubric", "new", *([] if output == OUTPUT else ["--output", str(output)])])
    try:
        draft = asyncio.run(converse(said, kept, judge, library()))
    except NoTerminal as error:
        raise UsageError(
            f"there is no terminal to ask at ({error}), so flags have to say it: --about, --criterion, --item, --yes",
            hint="or write a template as it is: --template NAME (--list-templates lists them)",
        ) from None
    except (KeyboardInterrupt, PutOff):
        if not kept.path.exists():
            raise Interrupted("nothing was said yet, so nothing was kept", hint=again) from None
        raise Interrupted(f"every answer is kept in {kept.path}; to go on:", hint=again) from None
    refuse_overwriting(output, force, example="rubric.yaml")
    write_new(output, rubric_text(draft), force, example="rubric.yaml")
    kept.drop()
    _print_result(draft, output, [], as_json=False)
    return 0


# ------------------------------------------------------------------------------------------------------------- models


def found_model() -> str | None:
    """A model that can draft here, if `doctor` finds one."""
    from honestone.app.readiness import ready_judges
    from honestone.app.setup import settings_here

    return next(iter(ready_judges(settings_here(), limit=1)), None)


def make_model(name: str, *, what: str = "a rubric") -> Model | str:
    """The model behind a judge's name, or why it is not there. Raises UsageError for a judge that is no model."""
    from honestone.adapters.judges.prompted import PromptedJudge
    from honestone.adapters.judges.unavailable import UnavailableJudge
    from honestone.adapters.registry import AdapterContext, make_judge
    from honestone.app.setup import settings_here

    judge = make_judge(name, AdapterContext(cwd=Path.cwd(), settings=settings_here(), person=lambda: None))
    if isinstance(judge, UnavailableJudge):
        return "it is not there: `honestone doctor` says how to get it"
    if type(judge) is not PromptedJudge or name.startswith("agent:"):
        raise UsageError(
            f"the judge `{name}` is no model, so it cannot draft {what}",
            hint="name a model: codex, gemini, claude, PROVIDER:MODEL, cmd:COMMAND or a name from settings"
            + ("; or `none`" if what == "a rubric" else "; or leave --judge out"),
        )
    return judge.model


async def proposed_by(name: str, said: Answers, notes: list[str], keep: Any) -> tuple[Criterion, ...]:
    """The model's criteria; asked once more with what was wrong. Empty, with a note, when nothing could be used.

    A reply is kept before it is read, and the same question asks nobody twice.
    """
    from honestone.core.authoring.rubric_drafting import read_model_draft
    from honestone.ports import CallFailed, Prompt
    from honestone.prompts.drafting import draft_prompt

    model = make_model(name)
    if isinstance(model, str):
        notes.append(f"{name} could not be asked ({model}), so the draft is from your words and the templates")
        return ()
    problems: tuple[str, ...] = ()
    best: tuple[Criterion, ...] = ()
    try:
        for _ in range(2):
            text = draft_prompt(said.about, said.wanted, problems)
            key = _reply_key(name, text)
            if key not in said.replies:
                said.replies[key] = (await model.complete(Prompt(text=text))).text
                keep()
            read = read_model_draft(said.replies[key], said.wanted)
            if not read.problems:
                best = read.criteria
                if read.weights is not None:
                    notes.append(f"{name} would weigh them {read.weights}; the draft starts with equal weights")
                if not read.weak:
                    return best
            problems = (*read.problems, *read.weak)
    except CallFailed as failed:
        problems = (failed.reason,)
    finally:
        await model.close()
    if best:
        notes.append(f"{name} kept a wording that can be read in two ways: {problems[0]}")
    else:
        notes.append(
            f"what {name} drafted could not be used ({problems[0]}), so the draft is from your words and the templates"
        )
    return best


def _reply_key(name: str, prompt: str) -> str:
    from honestone.core.artifact import digest_of

    return digest_of(f"{name}\0{prompt}".encode("utf-8", "surrogatepass"))


# ------------------------------------------------------------------------------------------------------------- output


def rubric_text(draft: Draft) -> str:
    from honestone.formats.rubric_write import dump_rubric

    return dump_rubric(draft.rubric())


def _refuse_unsound(draft: Draft) -> None:
    from honestone.core.authoring.rubric_drafting import draft_problems

    for problem in draft_problems(draft):
        raise UsageError(problem)


def _print_result(draft: Draft, written: Path | None, notes: Sequence[str], *, as_json: bool) -> None:
    from msgspec.structs import replace

    from honestone.report.rubric_draft import contract_lines, draft_document

    if as_json:
        document = replace(draft_document(draft), notes=list(notes), written=str(written) if written else None)
        write(dump(document) + "\n")
        return
    from honestone.cli.progress import style_for

    style = style_for(sys.stdout)
    write(style.finish(contract_lines(draft, style, style.columns)))
    if written is not None:
        write("\n")
        _tell_next(written)


def _tell_next(output: Path) -> None:
    from honestone.report.draw import line

    name = shlex.quote(str(output))
    write(
        f"wrote {line(output)}\n\nnext\n  honestone rubric check {line(name)}\n  honestone eval ARTIFACT --rubric {line(name)}\n"
    )


def _note(text: str) -> None:
    from honestone.report.draw import line

    print(f"note: {line(text)}", file=sys.stderr)
