"""People's answers to the items of a rubric. Each is kept in the labels file before the next is
asked.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.adapters.people.sheet import HANGUL_KEYS as HANGUL_KEYS
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.judging.labelling import GivenAnswer, Labels
from honestone.app.judging.rubric_plan import RubricPlan
from honestone.app.trust.label_texts import (
    LabelText,
    drawn,
    named_texts,
    texts_of_run,
    texts_with_ids,
)
from honestone.app.workspace import Workspace
from honestone.core.errors import UsageError
from honestone.core.judging.ballot import Answer
from honestone.core.judging.contract import digest_json
from honestone.core.judging.rubric import Rubric, to_plain
from honestone.core.reading.evidence import find_quote
from honestone.core.statistics.labels import GivenLabel, LabelQuote, LabelTarget, targets_of
from honestone.core.statistics.raters import (
    SETTLED,
    Place,
    RatersAgreement,
    agreement_of,
    is_through,
    order_of,
)
from honestone.formats.labels_file import LabelsFile, labels_so_far
from honestone.ports import Observer
from honestone.report.documents.trust.labels import LabelsDoc
from honestone.report.pages.judged_texts.exact_text import exact_text
from honestone.system.files import printable

_LONGEST_NAME: Final = 80
_FORMULA: Final = ("=", "+", "-", "@")


class LabelRequest(Struct, frozen=True, kw_only=True):
    """What is labelled (`artifacts`, what the `run` judged, or `texts` by their ids), by which
    rubric, and who does it. `sample`: so many texts of it.
    `own_order`: the texts in an order of the rater's own, else as they are named.
    """

    artifacts: tuple[Path, ...] = ()
    run: str | None = None
    texts: Mapping[str, str] | None = None
    rubric: Path | Rubric
    labels: Path
    rater: str
    sample: int | None = None
    own_order: bool = False
    accept_loss: bool = False


class LabelQuestion(Struct, frozen=True, kw_only=True):
    """One item about one text; `number` is that of the text, from 1 on, in the order of the rater."""

    text: LabelText
    target: LabelTarget
    number: int

    @property
    def place(self) -> Place:
        return _place(self.text.name, self.target)


class LabelRemark(Struct, frozen=True, kw_only=True):
    """What is said with an answer: the words that decided it, and a note."""

    evidence: tuple[LabelQuote, ...] = ()
    note: str = ""


class LabelSession:
    """All items of all texts for one rater, and what this rater said of them so far.

    No one else's answers are in it until every rater of the file is through (`agreement`).
    """

    def __init__(self, workspace: Workspace, request: LabelRequest, observer: Observer) -> None:
        """Raises UsageError and its kinds."""
        self.rater = _checked_name(request.rater)
        plan = RubricPlan.read(
            workspace,
            request.rubric,
            JudgingOptions(),
            request.artifacts,
            accept_loss=request.accept_loss,
            note=observer.note,
        )
        by_key = {one.key: one for one in targets_of(plan.rubric).values() if one.item is not None}
        if not by_key:
            raise UsageError(
                "this rubric asks no judge, so there is nothing to label",
                hint="code answers all of its items",
            )
        self._named, self._path, self._plan = request.labels, workspace.path(request.labels), plan
        self._rubric = digest_json(to_plain(plan.rubric))
        self._file = LabelsFile.open(self._path, by_key.values())
        texts = drawn(list(_texts_of(plan, request, self._path, observer)), request.sample)
        self._ids = [one.name for one in texts]
        if request.own_order:
            texts = [texts[at] for at in order_of([one.name for one in texts], self.rater)]
        self._digests = {os.path.normpath(one.name): one.version.digest for one in texts}
        self.questions: Sequence[LabelQuestion] = [
            LabelQuestion(text=text, target=target, number=number)
            for number, text in enumerate(texts, 1)
            for target in by_key.values()
        ]
        self._targets = {one.place: one.target for one in self.questions}
        if self.rater == SETTLED:
            self.questions = self._to_settle()
        self.answers: dict[Place, GivenLabel] = dict(self._given().get(self.rater, {}))
        self._asked = time.monotonic()

    def _to_settle(self) -> list[LabelQuestion]:
        found = self.agreement()
        if found is None:
            raise UsageError(
                "there is nothing to settle yet: two raters or more have to be through with these texts",
                hint="each labels them with --rater NAME and the same --labels",
            )
        differ = {one.place for one in found.differences}
        return [one for one in self.questions if one.place in differ]

    def _given(self) -> dict[str, dict[Place, GivenLabel]]:
        """What the file says about the bytes that are here, by rater."""
        labels: dict[str, dict[Place, GivenLabel]] = {}
        for one in labels_so_far(self._path, self._plan.rubric):
            name = os.path.normpath(one.artifact)
            if name in self._digests and one.digest in (None, self._digests[name]):
                labels.setdefault(one.rater, {})[(name, one.key)] = one
        return labels

    def answer_at(self, at: int) -> GivenLabel | None:
        """What this rater said of the question at this place, from 0 on; None as long as it is
        open.
        """
        return self.answers.get(self.questions[at].place)

    @property
    def untouched(self) -> list[int]:
        """The places of questions that were neither answered nor skipped."""
        return [at for at in range(len(self.questions)) if self.answer_at(at) is None]

    @property
    def unanswered(self) -> list[int]:
        return [
            at
            for at in range(len(self.questions))
            if (label := self.answer_at(at)) is None or label.answer is None
        ]

    def show(self) -> None:
        """A question is shown now: until it is answered counts as the time it took."""
        self._asked = time.monotonic()

    def take(self, at: int, answer: Answer | None, remark: LabelRemark | None = None) -> None:
        """Keep an answer on disk; None is a skip. Raises FileError where that fails."""
        question, remark = self.questions[at], remark or LabelRemark()
        label = GivenLabel(
            artifact=question.text.name,
            rater=self.rater,
            key=question.target.key,
            answer=answer,
            digest=question.text.version.digest,
            rubric=self._rubric,
            run=question.text.run,
            case=question.text.case,
            attempt=question.text.attempt,
            evidence=tuple(_placed(one, question.text.version.text) for one in remark.evidence),
            note=remark.note,
            at=datetime.now(UTC).isoformat(timespec="seconds"),
            seconds=round(time.monotonic() - self._asked, 1),
        )
        question.text.keep()
        self._file.add(label, question.target)
        self.answers[question.place] = label

    def agreement(self) -> RatersAgreement | None:
        """How far the raters of the file agree about these texts; None until two or more are there
        and all are through.
        """
        given = self._given()
        answers = {
            rater: {place: one.answer for place, one in labels.items()}
            for rater, labels in given.items()
        }
        people = {rater: labels for rater, labels in answers.items() if rater != SETTLED}
        if len(people) < 2 or not all(
            is_through(labels, self._targets) for labels in people.values()
        ):
            return None
        return agreement_of(self._targets, people)

    def settled(self) -> Mapping[Place, GivenLabel]:
        return self._given().get(SETTLED, {})

    def requirement(self, place: Place) -> str:
        """The words of the item at a place."""
        target = self._targets[place]
        return target.item.requirement if target.item is not None else target.criterion.requirement

    def labels(self) -> Labels:
        """What this rater said so far, by the ids of the texts in their own order."""
        answers = [
            GivenAnswer(id=one.text.name, criterion=one.target.name, value=label.answer)
            for one in self.questions
            if (label := self.answers.get(one.place)) is not None and label.answer is not None
        ]
        return Labels(
            rater=self.rater,
            ids=self._ids,
            criteria=[*dict.fromkeys(one.target.name for one in self.questions)],
            answers=answers,
            skipped=len(self.questions) - len(answers),
        )

    def document(self, answered: int) -> LabelsDoc:
        """`kept`: how many answers this session added."""
        return LabelsDoc(
            labels=printable(self._named),
            rater=self.rater,
            answered=answered,
            open=len(self.unanswered),
        )


def _texts_of(
    plan: RubricPlan, request: LabelRequest, labels: Path, observer: Observer
) -> Iterable[LabelText]:
    """What the request names, before a sample is drawn."""
    if request.texts is not None:
        return texts_with_ids(request.texts)
    if request.run is not None:
        return texts_of_run(plan, request.run, labels, observer.note)
    return named_texts(plan, request.artifacts, labels)


def _place(name: str, target: LabelTarget) -> Place:
    return os.path.normpath(name), target.key


def _placed(one: LabelQuote, text: str) -> LabelQuote:
    """Where the words are: at the offsets that came with them, if they are there, else where they
    are found. A page shows signs in place of what cannot be seen; the record has what the text has.
    """
    if one.start is not None and one.end is not None:
        there = text[one.start : one.end]
        if there and exact_text(there) == exact_text(one.quote):
            return LabelQuote(quote=there, start=one.start, end=one.end)
    span = find_quote(one.quote, text)
    return (
        LabelQuote(quote=one.quote)
        if span is None
        else LabelQuote(quote=one.quote, start=span.start, end=span.end)
    )


def _checked_name(rater: str) -> str:
    """A name that a table and a terminal show as it is. Raises UsageError for others."""
    name = rater.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith(_FORMULA):
        raise UsageError(
            f"--rater is {rater[:40]!r}, but must be a name",
            hint=f"up to {_LONGEST_NAME} letters, not beginning with {' '.join(_FORMULA)}",
        )
    return name
