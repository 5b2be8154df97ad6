"""The conversation of `rubric new`: what is judged and what matters, a draft until it is accepted,
the bars.

Each step asks only what has not been answered, and after every key the answers are on disk: so the
conversation can be left anywhere and continues there. `adapters.people.questions` shows the pages
and reads the keys.
"""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.adapters.people.form import editor, run_in_terminal
from honestone.adapters.people.questions import LeftForLater, QuestionPages
from honestone.adapters.people.terminal import NoTerminal, Terminal, others_held_back
from honestone.app.authoring.draft_file import (
    AnswersFile,
    RubricAnswers,
    draft_from,
    is_complete,
    with_bars,
)
from honestone.app.authoring.drafting_model import criteria_by_model, find_model
from honestone.app.authoring.new import NO_MODEL, NewRubricRequest, rubric_text, shipped_rubrics
from honestone.app.workspace import Workspace
from honestone.core.authoring import rubric_drafting as drafting
from honestone.core.authoring.lint import lint
from honestone.core.authoring.rubric_drafting import CriterionWish, RubricDraft, ShippedRubric
from honestone.core.errors import HonestoneError, Interrupted, UsageError
from honestone.core.judging.rubric import Criterion
from honestone.core.numbers import exact, hundredfold, show_bar
from honestone.report.templates import text_lines
from honestone.report.terminal.rubric_draft import draft_table
from honestone.system.drawing import count, line, wrap

_STEPS: Final = {1: "what is judged, and what matters", 2: "the draft", 3: "the bars"}


def converse(workspace: Workspace, request: NewRubricRequest, *, again: str) -> RubricDraft:
    """The rubric that the person accepted; its answers stay kept until `AnswersFile.drop`.

    Raises UsageError without a terminal, Interrupted (`again` is the command that resumes) when
    they leave.
    """
    file = AnswersFile(request.output)
    answers = request.answers()
    try:
        return asyncio.run(_converse(workspace, answers, file, request.judge))
    except NoTerminal as error:
        raise UsageError(
            f"nothing can be asked without a terminal ({error}), so flags have to say it: --about, --criterion, --item, --yes",
            hint="or write a template as it is: --template NAME (--list-templates lists them)",
        ) from None
    except (KeyboardInterrupt, LeftForLater):
        if not file.path.exists():
            raise Interrupted("nothing was said yet, so nothing was kept", hint=again) from None
        raise Interrupted(
            f"every answer is kept in {file.path}; to continue:", hint=again
        ) from None


async def _converse(
    workspace: Workspace, answers: RubricAnswers, file: AnswersFile, judge: str | None
) -> RubricDraft:
    with others_held_back(), Terminal() as terminal:
        pages = QuestionPages(terminal=terminal)
        talk = _Conversation(
            workspace=workspace, pages=pages, file=file, answers=answers, judge=judge
        )
        return await talk.run()


_HELP: Final = (
    "done continues, as Enter alone does; back returns to the question before; -2 takes the second line of a list back; "
    "Esc clears the line; Ctrl-D leaves, and every answer is kept"
)


class _Back(Exception):
    """The person wants to return from the question that is named."""


class _Conversation(Struct, kw_only=True):
    """One conversation. Every method asks one thing and notes the answer."""

    workspace: Workspace
    pages: QuestionPages
    file: AnswersFile
    answers: RubricAnswers
    judge: str | None
    shipped: tuple[ShippedRubric, ...] = field(default_factory=shipped_rubrics)
    queued: list[str] = field(default_factory=list)

    def _begin(self, step: int) -> None:
        self.pages.title = f"A new rubric, step {step} of 3: {_STEPS[step]}"

    async def run(self) -> RubricDraft:
        await self._resume_or_start_over()
        while True:
            try:
                draft = await self._ask_all()
            except _Back as back:
                self._go_back(str(back))
            else:
                if draft is not None:
                    return draft

    async def _ask_all(self) -> RubricDraft | None:
        """Whatever is not answered yet. None where they started over."""
        self._begin(1)
        while not self.answers.about:
            await self._ask_about()
        while not self.answers.is_listed:
            await self._ask_criterion()
        await self._ask_about_vague_ones()
        self._begin(2)
        await self._make_draft()
        while self.answers.draft is not None and not self.answers.accepted:
            await self._confirm(self.answers.draft)
        if self.answers.draft is None:
            return None
        self._begin(3)
        while self.answers.threshold is None:
            await self._ask_threshold(self.answers.draft)
        while self.answers.floor is None:
            await self._ask_floor(self.answers.draft)
        return with_bars(self.answers.draft, self.answers)

    def _go_back(self, step: str) -> None:
        """What the question before asked is open again. From levels that are the items, from
        weights the draft.
        """
        answers = self.answers
        match step.partition(" ")[0]:
            case "about":
                self.pages.note = "this is the first question"
            case "criterion":
                answers.typing, answers.about = ("about", answers.about), ""
            case "vague" | "items":
                answers.is_listed, answers.template, answers.draft = False, None, None
            case "threshold":
                answers.accepted = False
            case "floor":
                answers.threshold = None
        self._save()

    def _save(self) -> None:
        self.file.save(self.answers)

    # -------------------------------------------------------------------------------------------------------
    # resuming

    async def _resume_or_start_over(self) -> None:
        """What an earlier conversation left is offered; flags of this command come before it."""
        before = self.file.load()
        if before is None:
            return
        flags, self.answers = self.answers, before
        if before.says_something:
            body = _question("resume", answers=before)
            if await self._choose(body, {"enter": "on", "y": "on", "n": "new"}) == "new":
                self.answers.start_over()
        self.answers.about = flags.about or self.answers.about
        if flags.wanted:
            self.answers.wanted, self.answers.template, self.answers.draft = (
                flags.wanted,
                None,
                None,
            )
            self.answers.is_listed = self.answers.accepted = False
        self.answers.threshold = (
            self.answers.threshold if flags.threshold is None else flags.threshold
        )
        self.answers.floor = self.answers.floor if flags.floor is None else flags.floor
        self.answers.weights = flags.weights or self.answers.weights

    # -----------------------------------------------------------------------------------------------------
    # step one

    async def _ask_about(self) -> None:
        text = await self._ask("about", _question("about", shipped=self.shipped))
        if text.isdecimal() and 0 < int(text) <= len(self.shipped):
            text = self.shipped[int(text) - 1].name
        if not text:
            self.pages.note = "say what is judged: a file, a kind of text, an idea"
        self.answers.about = text
        self._save()

    async def _ask_criterion(self) -> None:
        answers = self.answers
        suggested = drafting.suggested_template(answers.about, self.shipped)
        body = _question(
            "criterion", answers=answers, suggested=suggested, fewest=drafting.FEWEST_CRITERIA
        )
        text = await self._ask("criterion", body, by_line=True)
        if not text:
            self._end_list(suggested)
        elif not re.search(r"\w", text):
            self.pages.note = f"`{line(text)}` says nothing to look at"
        elif taken_back := re.fullmatch(r"-\s*(\d{1,3})", text):
            number = int(taken_back[1])
            if 0 < number <= len(answers.wanted):
                answers.wanted.pop(number - 1)
        else:
            self._add(drafting.parse_many(text))
        self._save()

    def _end_list(self, suggested: ShippedRubric | None) -> None:
        if not self.answers.wanted and suggested is not None:
            self.answers.template, self.answers.is_listed = suggested.name, True
        elif len(self.answers.wanted) < drafting.FEWEST_CRITERIA:
            self.pages.note = drafting.WHY_TWO
        else:
            self.answers.is_listed = True

    def _add(self, wishes: Sequence[CriterionWish]) -> None:
        for one in wishes:
            if any(other.id == one.id for other in self.answers.wanted):
                self.pages.note = f"`{line(one.name)}` is there already"
            else:
                self.answers.wanted.append(one)

    async def _ask_about_vague_ones(self) -> None:
        """Each once: who keeps the wording, keeps it."""
        for at, one in enumerate(self.answers.wanted if self.answers.template is None else ()):
            vague = drafting.vague_criterion(one)
            if vague is None or one.id in self.answers.warned:
                continue
            body = _question("vague", warning=vague.warning(line(one.name)))
            text = await self._ask(f"vague {one.id}", body)
            self.answers.warned.append(one.id)
            if text:
                new = _reworded(one, text)
                if not any(other.id == new.id for other in self.answers.wanted if other is not one):
                    self.answers.wanted[at] = new
                    self.answers.warned.append(new.id)
            self._save()

    # -----------------------------------------------------------------------------------------------------
    # step two

    async def _make_draft(self) -> None:
        answers = self.answers
        if answers.draft is not None:
            return
        proposed = await self._ask_model() if answers.template is None else ()
        draft = draft_from(answers, self.shipped, proposed)
        while lacking := drafting.shortage(draft.criteria):
            await self._ask_items(draft, lacking[0].id)
            draft = draft_from(answers, self.shipped, proposed)
        answers.draft = draft
        self._save()

    async def _ask_model(self) -> tuple[Criterion, ...]:
        answers = self.answers
        if self.judge == NO_MODEL or (
            self.judge is None and is_complete(drafting.make_draft(answers.about, answers.wanted))
        ):
            return ()
        name = self.judge or answers.judge
        if name is None:
            self.pages.show(["Looking for a model that could draft the items ..."])
            name = await asyncio.to_thread(find_model, self.workspace)
            if name is None:
                self.pages.note = "no model was found, so the draft is from your own words"
                return ()
            if (
                await self._choose(
                    _question("model", name=name), {"enter": "y", "y": "y", "n": "n"}
                )
                == "n"
            ):
                self.judge = NO_MODEL
                return ()
        answers.judge = name
        self.pages.show(
            [f"{line(name)} is drafting ...", "", "Ctrl-C leaves; what you have said is kept."]
        )
        proposed, notes = await criteria_by_model(self.workspace, name, answers, self._save)
        self.pages.note = "; ".join(notes)
        return proposed

    async def _ask_items(self, draft: RubricDraft, id: str) -> None:
        """More yes/no items from the person, or five levels where items will not do."""
        criterion = next(one for one in draft.criteria if one.id == id)
        at = [one.id for one in self.answers.wanted].index(id)
        body = _question(
            "items", wish=self.answers.wanted[at], criterion=criterion, fewest=drafting.FEWEST_ITEMS
        )
        text = await self._ask(f"items {id}", body, by_line=True)
        one = self.answers.wanted[at]
        if text.casefold() in ("a", "ㅁ"):
            await self._ask_levels(at)
        elif taken_back := re.fullmatch(r"-\s*(\d{1,3})", text):
            number = int(taken_back[1])
            gone = (
                criterion.items[number - 1].requirement
                if 0 < number <= len(criterion.items)
                else ""
            )
            self.answers.wanted[at] = replace(
                one,
                items=tuple(
                    item for item in one.items if drafting.plain_item(item).requirement != gone
                ),
            )
            if len(self.answers.wanted[at].items) == len(one.items):
                self.pages.note = "only an item that you typed here can be taken back"
        elif not text:
            self.pages.note = f"{count(drafting.FEWEST_ITEMS - len(criterion.items), 'more item')} at least, or a for five levels"
        elif not re.search(r"\w", text):
            self.pages.note = f"`{line(text)}` is neither true nor false of anything"
        elif problem := drafting.code_problem(text):
            self.pages.note = problem
        else:
            remark = next(iter(drafting.item_remarks(text)), None)
            self.answers.wanted[at] = replace(one, items=(*one.items, text))
            grown = next(c for c in draft_from(self.answers, self.shipped).criteria if c.id == id)
            if len(grown.items) == len(criterion.items):
                self.answers.wanted[at] = one
                self.pages.note = f"`{line(text)}` says what another item says"
            elif remark is not None:
                self.pages.note = (
                    f"{remark.message}. {remark.suggestion}. -{_place(grown, text)} takes it back"
                )
        self._save()

    async def _ask_levels(self, at: int) -> None:
        one = self.answers.wanted[at]
        texts: list[str] = []
        while len(texts) < len(drafting.LEVELS):
            level = drafting.LEVELS[len(texts)]
            levels = list(zip(drafting.LEVELS, texts, strict=False))
            body = _question("levels", name=one.name, level=level, texts=levels)
            text = await self._ask(f"level {level} {one.id}", body)
            if not text:
                return
            if text.casefold() in (other.casefold() for other in texts):
                self.pages.note = "that is a level already: each needs something else to see"
            else:
                texts.append(text)
        self.answers.wanted[at] = replace(one, levels=tuple(texts), items=())

    # ----------------------------------------------------------------------------------------------------
    # confirming

    async def _confirm(self, draft: RubricDraft) -> None:
        problem = self._problem(draft)
        keys = {"a": "accept", "y": "accept", "w": "weights", "e": "edit", "s": "over"}
        ways = self.pages.style.glyph("between").join(
            ("a accept", "w weights", "e edit in your editor", "s start over", "up and down scroll")
        )
        choice = await self._choose(
            self._table(draft), keys, foot=[*([problem] if problem else []), ways]
        )
        if choice == "accept" and problem is None:
            self.answers.accepted = True
        elif choice == "weights":
            await self._ask_weights(draft)
        elif choice == "edit":
            await self._edit(draft)
        # Only y: whoever types a sentence here ("states the price") did not mean it, and loses
        # nothing.
        elif (
            choice == "over"
            and await self._choose(_question("over"), {"y": "over"}, other="keep") == "over"
        ):
            self.answers.start_over()
        self._save()

    def _problem(self, draft: RubricDraft) -> str | None:
        if len(draft.criteria) < drafting.FEWEST_CRITERIA:
            return drafting.WHY_TWO
        return drafting.weights_problem([criterion.weight for criterion in draft.criteria])

    def _table(self, draft: RubricDraft) -> list[str]:
        columns = self.pages.columns
        origins = "; ".join(f"{id}: {origin}" for id, origin in draft.origins.items())
        return [
            *wrap(line(draft.about), columns, first="Draft: "),
            "",
            *draft_table(draft, self.pages.style, columns),
            *wrap(line(origins), columns, first="Items from: "),
            *(
                row
                for remark in lint(draft.rubric())
                for row in wrap(
                    f"{line(remark.message)}. {line(remark.suggestion)}", columns, first="Remark: "
                )
            ),
        ]

    async def _ask_weights(self, draft: RubricDraft) -> None:
        """Ask for the weights until they sum to 100; Enter alone leaves them as they were."""
        ids = [criterion.id for criterion in draft.criteria]
        while True:
            text = await self._ask("weights", _question("weights", criteria=draft.criteria))
            if not text:
                return
            weights = _weights_in(text, ids)
            if isinstance(weights, str):
                self.pages.note = weights
                continue
            self.pages.note = drafting.weights_problem(weights) or ""
            if not self.pages.note:
                changed = tuple(
                    replace(c, weight=w) for c, w in zip(draft.criteria, weights, strict=True)
                )
                self.answers.draft = replace(draft, criteria=changed)
                return

    async def _edit(self, draft: RubricDraft) -> None:
        """The draft as a rubric file in the person's editor, until it can be read or they give it
        up.
        """
        from honestone.formats.rubric.rubric_file import parse_rubric

        command = editor()
        if command is None:
            self.pages.note = "no editor is set: set EDITOR, for example EDITOR=nano"
            return
        with tempfile.TemporaryDirectory(prefix="honestone-draft-") as folder:
            path = Path(folder) / "rubric.yaml"
            path.write_text(
                _EDIT_HEAD + rubric_text(with_bars(draft, self.answers)), encoding="utf-8"
            )
            while True:
                trouble = await run_in_terminal(command, path, Path(folder), self.pages.terminal)
                try:
                    read = parse_rubric(path.read_text("utf-8"), "rubric.yaml").rubric
                except (HonestoneError, OSError, UnicodeDecodeError) as error:
                    trouble = _error_words(error)
                else:
                    self.answers.draft = RubricDraft.of(
                        read, draft.origins, read.title or draft.about
                    )
                    self.pages.note = trouble or ""
                    return
                body = _question("trouble", trouble=trouble)
                if (
                    await self._choose(body, {"e": "again", "enter": "leave", "n": "leave"})
                    == "leave"
                ):
                    return

    # ---------------------------------------------------------------------------------------------------
    # step three

    async def _ask_threshold(self, draft: RubricDraft) -> None:
        body = _question("threshold", usual=show_bar(draft.threshold))
        self.answers.threshold = self._number(await self._ask("threshold", body), draft.threshold)
        self._save()

    async def _ask_floor(self, draft: RubricDraft) -> None:
        threshold = self.answers.threshold or Fraction(0)
        usual = min(draft.floor, threshold)
        body = _question("floor", why=drafting.WHY_FLOOR, usual=show_bar(usual))
        floor = self._number(await self._ask("floor", body), usual)
        if floor is not None and floor > threshold:
            self.pages.note = f"a floor above the threshold ({show_bar(threshold)}) would decide everything: take a lower one"
            floor = None
        self.answers.floor = floor
        self._save()

    def _number(self, text: str, usual: Fraction) -> Fraction | None:
        if not text:
            return usual
        number = drafting.parse_weight(text)
        if number is None:
            self.pages.note = f"`{line(text, 40)}` is not a number from 0 to 100"
            return None
        if (meant := hundredfold(number)) is not None:
            self.pages.note = f"`{line(text, 40)}` is out of 100: is {meant} meant?"
            return None
        return exact(number) / 100

    # -------------------------------------------------------------------------------------------------------
    # asking

    async def _ask(self, step: str, body: Sequence[str], *, by_line: bool = False) -> str:
        """A line of text, empty for `done`. With `by_line` the lines of a paste answer the next
        questions too.

        Raises _Back for `back`.
        """
        while True:
            text = (
                self.queued.pop(0)
                if by_line and self.queued
                else await self._type(step, body, by_line)
            )
            match text.casefold():
                case "help" | "?":
                    self.pages.note = _HELP
                case "back":
                    self.queued.clear()
                    raise _Back(step)
                case "done":
                    return ""
                case _:
                    return text

    async def _type(self, step: str, body: Sequence[str], by_line: bool) -> str:
        began = self.answers.typing[1] if self.answers.typing[0] == step else ""

        def keep(text: str) -> None:
            self.answers.typing = (step, text)
            self._save()

        text, *self.queued = await self.pages.ask(body, began, keep, by_line=by_line)
        self.answers.typing = ("", "")
        return " ".join(text.split())

    async def _choose(
        self,
        body: Sequence[str],
        keys: Mapping[str, str],
        *,
        foot: Sequence[str] = (),
        other: str | None = None,
    ) -> str:
        self.queued.clear()
        return await self.pages.choose(body, keys, foot=foot, other=other)


def _question(name: str, /, **values: object) -> list[str]:
    return text_lines("rubric_questions.txt.j2", name, **values)


_EDIT_HEAD: Final = (
    "# Change anything, then save and leave the editor. The weights have to sum to 100.\n"
)


def _weights_in(text: str, ids: Sequence[str]) -> list[Fraction] | str:
    """The weights that a line gives, in order or as NAME=30; or what is wrong with it."""
    words = re.split(r"[\s,;、，]+", text.strip())
    named = [word.rpartition("=") for word in words]
    if all(equals for _, equals, _ in named):
        found = {
            drafting.find_criterion(name, ids): drafting.parse_weight(number)
            for name, _, number in named
        }
        if None in found or set(found) != set(ids) or len(named) != len(ids):
            return f"name each criterion once: {' '.join(f'{id}=..' for id in ids)}"
        weights = [found[id] for id in ids]
    else:
        weights = [drafting.parse_weight(word) for word in words if word != "%"]
        if len(weights) != len(ids):
            return f"{len(ids)} numbers are expected, and these are {len(weights)}"
    sound = [weight for weight in weights if weight is not None]
    return sound if len(sound) == len(ids) else "each weight is a number from 0 to 100, such as 30"


def _error_words(error: Exception) -> str:
    if not isinstance(error, HonestoneError):
        return str(error)
    return " / ".join(
        f"{one}" + (f" ({one.hint})" if one.hint else "") for one in error.errors or (error,)
    )


def _reworded(one: CriterionWish, text: str) -> CriterionWish:
    """What can be seen is the criterion's first item too; `NAME: WHAT` renames it."""
    new = drafting.parse_wanted(text)
    name, what = (new.name, new.description) if new.description else (one.name, text)
    items = one.items if len(drafting.pieces(what)) > 1 else (*one.items, what)
    return CriterionWish(name=name, description=what, items=items)


def _place(criterion: Criterion, text: str) -> int:
    """The number of an item among those of its criterion."""
    requirement = drafting.plain_item(text).requirement
    return next(
        (n for n, item in enumerate(criterion.items, 1) if item.requirement == requirement),
        len(criterion.items),
    )
