"""People's answers to the items of a rubric, one at a time. Each is kept in the labels file before the next is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Final, TypeAlias

from honestone.adapters.people.form import HANGUL_KEYS
from honestone.app.judging_options import JudgingOptions
from honestone.app.rubric_plan import RubricPlan
from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.ballot import Answer
from honestone.core.errors import UsageError
from honestone.core.labels import LabelTarget, PersonLabel, targets_of
from honestone.core.rubric import Key
from honestone.formats.labels_file import LabelsFile, labels_so_far
from honestone.ports import Observer
from honestone.report.documents.labels import LabelsDoc
from honestone.system.files import printable

_LONGEST_NAME: Final = 80
_FORMULA: Final = ("=", "+", "-", "@")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelRequest:
    """Which artifacts are labelled, by which rubric, and who does it."""

    artifacts: tuple[Path, ...]
    rubric: Path
    labels: Path
    rater: str
    accept_loss: bool = False


class LabelWish(StrEnum):
    """What is typed in place of an answer."""

    SKIP = "s"
    QUIT = "q"


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelQuestion:
    """One open item of one artifact. `number` counts the open questions from 1 to `of`; `is_first`: the artifact has not
    been shown yet; `problem`: why the last line that was typed is not an answer."""

    artifact: str
    version: Version
    target: LabelTarget
    number: int
    of: int
    is_first: bool
    problem: str | None = None

    @property
    def choices(self) -> str:
        """What may be typed."""
        words = "y, n" if self.target.item and self.target.item.anchors is None else self.target.choices
        more = ", x (does not apply)" if self.target.item is not None and self.target.item.may_not_apply else ""
        return f"{words.partition(', or')[0]}{more}, s (skip), q (quit)"

    def read(self, typed: str) -> Answer | LabelWish:
        """Raises ValueError in words for what is neither an answer nor a wish."""
        word = typed.strip().casefold()
        word = HANGUL_KEYS.get(word, word)
        if word in ("s", "skip"):
            return LabelWish.SKIP
        if word in ("q", "quit"):
            return LabelWish.QUIT
        return self.target.read("n/a" if word == "x" else word)


Ask: TypeAlias = Callable[[LabelQuestion], str | None]
"""Shows a question and returns the line that was typed; None when there are no more."""


def label_artifacts(workspace: Workspace, request: LabelRequest, observer: Observer, ask: Ask) -> LabelsDoc:
    """Ask each item that this rater has not answered for these bytes, until there are none or the person stops.

    No one else's answers are shown. Raises UsageError and its kinds before the first question, and FileError when an
    answer cannot be kept.
    """
    session = _Session(workspace, request, observer)
    kept = session.ask_all(ask)
    return LabelsDoc(
        labels=printable(request.labels), rater=session.rater, answered=kept, open=len(session.open) - kept
    )


@dataclass(frozen=True, slots=True)
class _Open:
    """A question that is not answered yet."""

    artifact: str
    named: str
    version: Version
    target: LabelTarget


class _Session:
    def __init__(self, workspace: Workspace, request: LabelRequest, observer: Observer) -> None:
        self.rater = _checked_name(request.rater)
        plan = RubricPlan.read(
            workspace,
            request.rubric,
            JudgingOptions(),
            request.artifacts,
            accept_loss=request.accept_loss,
            note=observer.note,
        )
        by_key = {one.key: one for one in targets_of(plan.rubric).values()}
        targets = [one for one in by_key.values() if one.item is not None]
        if not targets:
            raise UsageError(
                "this rubric asks no judge, so there is nothing to label", hint="code answers all of its items"
            )
        path = workspace.path(request.labels)
        self._file = LabelsFile.open(path, targets)
        done = {
            (os.path.normpath(label.artifact), label.key): label.digest
            for label in labels_so_far(path, plan.rubric)
            if label.rater == self.rater
        }
        self.open = list(self._open_questions(plan, request.artifacts, request.labels, targets, done))

    def _open_questions(
        self,
        plan: RubricPlan,
        artifacts: Sequence[Path],
        labels: Path,
        targets: Sequence[LabelTarget],
        done: dict[tuple[str, Key], str | None],
    ) -> Iterator[_Open]:
        for artifact in dict.fromkeys(artifacts):
            require_outside(plan.workspace.path(labels), plan.workspace.path(artifact))
            loaded = plan.load(artifact)
            named = _beside(plan.workspace.path(artifact), plan.workspace.path(labels).parent)
            for target in targets:
                known = done.get((os.path.normpath(named), target.key), "")
                if known not in (None, loaded.version.digest):
                    yield _Open(printable(artifact), named, loaded.version, target)

    def ask_all(self, ask: Ask) -> int:
        """How many answers were kept."""
        kept, shown = 0, ""
        for number, one in enumerate(self.open, 1):
            question = LabelQuestion(
                artifact=one.artifact,
                version=one.version,
                target=one.target,
                number=number,
                of=len(self.open),
                is_first=one.named != shown,
            )
            answer = _answer(question, ask)
            if answer is LabelWish.QUIT:
                break
            shown = one.named
            if not isinstance(answer, LabelWish):
                self._file.add(self._label(one, answer), one.target)
                kept += 1
        return kept

    def _label(self, one: _Open, answer: Answer) -> PersonLabel:
        return PersonLabel(
            artifact=one.named, rater=self.rater, key=one.target.key, answer=answer, digest=one.version.digest
        )


def _answer(question: LabelQuestion, ask: Ask) -> Answer | LabelWish:
    """Asked again until it is an answer."""
    while True:
        typed = ask(question)
        if typed is None:
            return LabelWish.QUIT
        try:
            return question.read(typed)
        except ValueError as error:
            question = replace(question, is_first=False, problem=str(error))


def _checked_name(rater: str) -> str:
    """A name that a table and a terminal show as it is. Raises UsageError for others."""
    name = rater.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable() or name.startswith(_FORMULA):
        raise UsageError(
            f"--rater is {rater[:40]!r}, but must be a name",
            hint=f"up to {_LONGEST_NAME} letters, not beginning with {' '.join(_FORMULA)}",
        )
    return name


def require_outside(labels: Path, artifact: Path) -> None:
    """Raises UsageError for a labels file inside a folder that is judged: judges would see what people said."""
    if labels.resolve().is_relative_to(artifact.resolve()):
        raise UsageError(
            f"the labels file `{labels}` is inside the artifact `{artifact}`, so judges would see it",
            hint="move it out of that folder",
        )


def _beside(artifact: Path, folder: Path) -> str:
    """The path of an artifact as the labels file in a folder has it."""
    named = printable(Path(os.path.relpath(artifact, folder)).as_posix())
    return f"./{named}" if named.startswith(_FORMULA) else named
