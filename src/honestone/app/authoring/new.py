"""A new rubric without a conversation: from a template, or from what was said at once."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.app.authoring.draft_file import (
    AnswersFile,
    RubricAnswers,
    draft_from,
    is_complete,
    with_bars,
)
from honestone.app.authoring.drafting_model import criteria_by_model, find_model
from honestone.app.judging.rubric_plan import bar_share
from honestone.app.workspace import Workspace
from honestone.core.authoring import rubric_drafting as drafting
from honestone.core.authoring.rubric_drafting import CriterionWish, RubricDraft, ShippedRubric
from honestone.core.errors import UsageError
from honestone.core.numbers import show_bar
from honestone.ports import Observer

# In place of a judge's name: the draft is from the words and the templates alone.
NO_MODEL: Final = "none"
_LONGEST: Final = 4000


class NewRubricRequest(Struct, frozen=True, kw_only=True):
    """What was said of a rubric, as typed: criteria and items as `NAME: TEXT`, anchors as `NAME: A
    | B | C | D | E`, weights as `NAME=30`, the bars in points 0-100. `judge` drafts what is missing
    (None: one that is ready).
    """

    output: Path
    about: str = ""
    criteria: tuple[str, ...] = ()
    items: tuple[str, ...] = ()
    anchors: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    threshold: float | None = None
    floor: float | None = None
    judge: str | None = None

    def answers(self) -> RubricAnswers:
        """Raises UsageError for what cannot be read."""
        answers = RubricAnswers(
            about=_one_line(self.about),
            threshold=points_bar("--threshold", self.threshold),
            floor=points_bar("--floor", self.floor),
        )
        for text in self.criteria:
            answers.wanted.append(_criterion(text, answers.wanted))
        for text in self.items:
            at, item = _belongs("--item", text, answers.wanted)
            if problem := drafting.code_problem(item):
                raise UsageError(
                    f"--item {text!r}: {problem}",
                    hint='for example --item "note: Has at most 60 words (code: max-words 60)"',
                )
            answers.wanted[at] = replace(
                answers.wanted[at], items=(*answers.wanted[at].items, item)
            )
        for text in self.anchors:
            at, levels = _belongs("--anchors", text, answers.wanted)
            answers.wanted[at] = _with_levels(answers.wanted[at], levels)
        answers.weights = _weights(self.weights, answers.wanted)
        return answers


class NewRubric(Struct, frozen=True, kw_only=True):
    """A rubric that was drafted, and what a person should know about it.."""

    draft: RubricDraft
    warnings: tuple[str, ...]
    answers_file: AnswersFile | None = None

    @property
    def text(self) -> str:
        return rubric_text(self.draft)

    def forget_replies(self) -> None:
        """To be called when the rubric is written: what was kept meanwhile is no longer needed."""
        if self.answers_file is not None:
            self.answers_file.drop()


def template_text_with_bars(name: str, threshold: Fraction | None, floor: Fraction | None) -> str:
    """The template as it is shipped, comments included, with the bars that were given. Raises
    UsageError.
    """
    from honestone.templates import template_text

    text = template_text(name)
    for key, bar in (("threshold", threshold), ("floor", floor)):
        if bar is not None:
            text = re.sub(rf"(?m)^{key}: \S+", f"{key}: {show_bar(bar)}", text, count=1)
    return text


def shipped_rubrics() -> tuple[ShippedRubric, ...]:
    """Every shipped template, read."""
    from honestone.formats.rubric.rubric_file import parse_rubric
    from honestone.templates import template_names, template_text

    return tuple(
        ShippedRubric(name=name, rubric=parse_rubric(template_text(name), f"{name}.yaml").rubric)
        for name in template_names()
    )


def rubric_text(draft: RubricDraft) -> str:
    from honestone.formats.rubric.rubric_write import dump_draft

    return dump_draft(draft.rubric())


def refuse_incomplete(answers: RubricAnswers) -> None:
    """Raises UsageError where too little was said to draft a rubric without asking."""
    missing = []
    if not answers.about:
        missing.append('--about "WHAT IS JUDGED"')
    if len(answers.wanted) < drafting.FEWEST_CRITERIA:
        missing.append('--criterion "NAME: WHAT" twice at least')
    if missing:
        why = f": {drafting.WHY_TWO}" if answers.about and answers.wanted else ""
        raise UsageError(
            f"without a terminal, flags have to say it: {', '.join(missing)}{why}",
            hint="or write a template as it is: --template NAME (--list-templates lists them)",
        )


def draft_rubric(workspace: Workspace, request: NewRubricRequest, observer: Observer) -> NewRubric:
    """The rubric from what was said, a model's items where some are missing. Raises UsageError when
    that is too little.
    """
    from honestone.core.authoring.lint import lint

    answers = request.answers()
    refuse_incomplete(answers)
    if answers.weights and (problem := drafting.weights_problem(list(answers.weights.values()))):
        raise UsageError(problem, hint="--weight NAME=30, once for each criterion")
    warnings = [
        vague.warning(one.name)
        for one in answers.wanted
        if (vague := drafting.vague_criterion(one)) is not None
    ]
    file = AnswersFile(request.output)
    before = file.load()
    answers.replies = dict(before.replies) if before is not None else {}
    unfinished = (
        None if before is not None and before.says_something else file
    )  # an unfinished conversation stays
    shipped = shipped_rubrics()
    draft, notes = draft_from(answers, shipped), list[str]()
    if request.judge != NO_MODEL and (request.judge is not None or not is_complete(draft)):
        draft, notes = asyncio.run(
            _with_model(workspace, answers, request.judge, shipped, unfinished, observer)
        )
    if lacking := drafting.shortage(draft.criteria):
        by_hand = " ".join(f'--item "{one.id}: ..."' for one in lacking)
        by_hand += ' (repeat it), or --anchors "NAME: A | B | C | D | E", or '
        # A model that was asked in vain is asked again by the same command.
        by_model = "another model (--judge NAME)" if notes else "--judge MODEL to draft them"
        raise UsageError(
            "; ".join((*notes, *(one.words for one in lacking))), hint=by_hand + by_model
        )
    draft = with_bars(draft, answers)
    for problem in drafting.draft_problems(draft):
        raise UsageError(problem)
    warnings += [f"{remark.message}. {remark.suggestion}" for remark in lint(draft.rubric())]
    return NewRubric(draft=draft, warnings=(*warnings, *notes), answers_file=unfinished)


async def _with_model(
    workspace: Workspace,
    answers: RubricAnswers,
    judge: str | None,
    shipped: Sequence[ShippedRubric],
    answers_file: AnswersFile | None,
    observer: Observer,
) -> tuple[RubricDraft, list[str]]:
    """The draft of the model that was named or found; from the words alone where there is none."""
    name = judge or await asyncio.to_thread(find_model, workspace)
    if name is None:
        return draft_from(answers, shipped), []
    answers.judge = name
    if judge is None:
        observer.note(
            f"note: asking {name} to draft the items: 1 call, 2 at most (--judge none asks no model)"
        )

    def keep() -> None:
        if answers_file is not None:
            answers_file.save(RubricAnswers(replies=answers.replies))

    criteria, notes = await criteria_by_model(workspace, name, answers, keep)
    return draft_from(answers, shipped, criteria), notes


# -------------------------------------------------------------------------------------------------
# what was typed


def _criterion(text: str, before: Sequence[CriterionWish]) -> CriterionWish:
    one = drafting.parse_wanted(_one_line(text))
    if not one.name.strip():
        raise UsageError(
            "a --criterion is empty", hint='--criterion "tone: no word blames the reader"'
        )
    if any(other.id == one.id for other in before):
        raise UsageError(
            f"two criteria have the id `{one.id}`", hint="give one of them another name"
        )
    return one


def _with_levels(one: CriterionWish, levels: str) -> CriterionWish:
    texts = tuple(part.strip() for part in levels.split("|"))
    if (
        len(texts) != len(drafting.LEVELS)
        or not all(texts)
        or len(set(texts)) < len(drafting.LEVELS)
    ):
        raise UsageError(
            f"--anchors of `{one.id}` has to have five different texts, lowest first",
            hint=f'--anchors "{one.name}: absent | a trace | half | nearly all | all"',
        )
    if one.items:
        raise UsageError(f"`{one.id}` has both --item and --anchors", hint="leave out one of them")
    return replace(one, levels=texts)


def _weights(texts: Sequence[str], wanted: Sequence[CriterionWish]) -> dict[str, Fraction]:
    """The weights in the order of the criteria: all of them or none."""
    weights: dict[str, Fraction] = {}
    for text in texts:
        name, equals, number = text.rpartition("=")
        weight = drafting.parse_weight(number)
        if not equals or weight is None:
            raise UsageError(
                f"--weight {text!r} is not NAME=NUMBER", hint="for example --weight tone=30"
            )
        weights[wanted[_at(name, wanted, "--weight")].id] = weight
    if weights and (without := [one.id for one in wanted if one.id not in weights]):
        raise UsageError(
            f"no --weight for {', '.join(f'`{id}`' for id in without)}",
            hint="weigh every criterion, or none",
        )
    return {one.id: weights[one.id] for one in wanted if weights}


def _belongs(option: str, text: str, wanted: Sequence[CriterionWish]) -> tuple[int, str]:
    """Which criterion a `NAME: TEXT` is about, and the text."""
    name, colon, rest = _one_line(text).replace("：", ":", 1).partition(":")
    if not colon or not re.search(r"\w", rest):
        raise UsageError(
            f"{option} {text!r} is not `CRITERION: TEXT`", hint=f'for example {option} "tone: ..."'
        )
    return _at(name, wanted, option), rest.strip()


def _at(name: str, wanted: Sequence[CriterionWish], option: str) -> int:
    ids = [one.id for one in wanted]
    id = drafting.find_criterion(name, ids)
    if id is None:
        near = drafting.near_criterion(name, ids)
        hint = f"did you mean `{near}`? " if near else ""
        raise UsageError(
            f"{option} names `{name.strip()}`, which is not a criterion",
            hint=f"{hint}criteria: {', '.join(ids) or 'none yet'}",
        )
    return ids.index(id)


def points_bar(option: str, points: float | None) -> Fraction | None:
    """A bar as a share 0-1 from points 0-100, where one is given. Raises UsageError for other
    numbers.
    """
    return None if points is None else bar_share(option, points)


def _one_line(text: str) -> str:
    return " ".join(text.split())[:_LONGEST]
