"""What was said to `rubric new` so far: plain data in a file next to the rubric, so that nothing
typed is lost.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Final, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.authoring import rubric_drafting as drafting
from honestone.core.authoring.rubric_drafting import CriterionWish, RubricDraft, ShippedRubric
from honestone.core.errors import HonestoneError
from honestone.core.json_value import Json, as_json
from honestone.core.judging.rubric import Criterion, from_plain, to_plain

SCHEMA: Final = "honestone.rubric-answers/1"


class RubricAnswers(Struct, kw_only=True):
    """Every answer, in the order of the conversation. `typing` is the open question and what was
    typed
    so far.

    `template`: its criteria were taken as they are. `draft` is kept once nothing is missing in it.
        `replies` are what models were paid for, by the digest of their prompt.
    """

    about: str = ""
    wanted: list[CriterionWish] = field(default_factory=list)
    template: str | None = None
    is_listed: bool = False
    warned: list[str] = field(default_factory=list)
    judge: str | None = None
    draft: RubricDraft | None = None
    accepted: bool = False
    threshold: Fraction | None = None
    floor: Fraction | None = None
    weights: dict[str, Fraction] = field(default_factory=dict)
    typing: tuple[str, str] = ("", "")
    replies: dict[str, str] = field(default_factory=dict)

    @property
    def says_something(self) -> bool:
        return bool(self.about or self.wanted or self.typing[1])

    def start_over(self) -> None:
        """Forgets everything but the model and its replies."""
        self.about, self.wanted, self.template, self.is_listed, self.warned = (
            "",
            [],
            None,
            False,
            [],
        )
        self.draft, self.accepted, self.threshold, self.floor = None, False, None, None
        self.weights, self.typing = {}, ("", "")


class _StoredDraft(msgspec.Struct, kw_only=True):
    rubric: object
    origins: dict[str, str]


class _StoredAnswers(msgspec.Struct, kw_only=True):
    """The answers in the file."""

    schema: Literal["honestone.rubric-answers/1"] = SCHEMA
    about: str
    wanted: list[CriterionWish]
    template: str | None
    is_listed: bool
    warned: list[str]
    judge: str | None
    draft: _StoredDraft | None
    accepted: bool
    threshold: Fraction | None
    floor: Fraction | None
    typing: tuple[str, str]
    replies: dict[str, str]


_AS_THEY_ARE: Final = tuple(
    name for name in _StoredAnswers.__struct_fields__ if name not in ("schema", "draft")
)


def to_json(answers: RubricAnswers) -> Json:
    found = answers.draft
    draft = (
        None
        if found is None
        else _StoredDraft(rubric={**to_plain(found.rubric())}, origins=dict(found.origins))
    )
    stored = _StoredAnswers(draft=draft, **{name: getattr(answers, name) for name in _AS_THEY_ARE})
    return as_json(msgspec.to_builtins(stored, enc_hook=str))


def from_json(plain: object) -> RubricAnswers | None:
    """None for a record that is damaged: we wrote it, but a file can be changed."""
    try:
        stored = msgspec.convert(plain, _StoredAnswers, dec_hook=_share)
        if any(len(one.levels) not in (0, 5) or not one.name for one in stored.wanted):
            return None
        found = stored.draft
        draft = None if found is None else _draft_of(found)
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, HonestoneError):
        return None
    return RubricAnswers(draft=draft, **{name: getattr(stored, name) for name in _AS_THEY_ARE})


def _draft_of(stored: _StoredDraft) -> RubricDraft:
    if not isinstance(stored.rubric, dict):
        raise TypeError("the rubric of a draft is not an object")
    return RubricDraft.of(from_plain(stored.rubric), stored.origins)


def _share(kind: type, written: object) -> object:
    """A bar from 0 to 1; what has no type of its own (the rubric of a draft) as it is."""
    if kind is not Fraction:
        return written
    if not isinstance(written, str) or not 0 <= Fraction(written) <= 1:
        raise ValueError
    return Fraction(written)


class AnswersFile:
    """The file of the answers: `rubric.yaml.draft` next to `rubric.yaml`."""

    def __init__(self, output: Path) -> None:
        self.path = output.with_name(output.name + ".draft")
        self._saved: str | None = None

    def load(self) -> RubricAnswers | None:
        try:
            return from_json(json.loads(self.path.read_bytes()))
        except (OSError, ValueError, RecursionError):
            return None

    def save(self, answers: RubricAnswers) -> None:
        """Nothing is written before something was said, and nothing twice."""
        from honestone.system.files import write_atomically

        text = json.dumps(to_json(answers), ensure_ascii=True, indent=1)
        if text != self._saved and (answers.says_something or answers.replies):
            write_atomically(self.path, text.encode(), through_links=True)
            self._saved = text

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)


# -------------------------------------------------------------------------------------------------
# answers to a draft


def draft_from(
    answers: RubricAnswers, library: Sequence[ShippedRubric], proposed: Sequence[Criterion] = ()
) -> RubricDraft:
    """The draft that the answers so far give: a template's, a model's with the person's own items,
    or the words'.
    """
    if answers.template is not None:
        rubric = next(one.rubric for one in library if one.name == answers.template)
        origins = {
            criterion.id: f"the template {answers.template}" for criterion in rubric.criteria
        }
        return RubricDraft.of(rubric, origins, answers.about)
    draft = (
        _proposed(answers, proposed)
        if proposed
        else drafting.make_draft(answers.about, answers.wanted)
    )
    if answers.weights:
        draft = replace(
            draft, criteria=tuple(replace(c, weight=answers.weights[c.id]) for c in draft.criteria)
        )
    return draft


def _proposed(answers: RubricAnswers, proposed: Sequence[Criterion]) -> RubricDraft:
    """The model's criteria with equal weights; what the person gave comes first and is never lost."""
    given = {one.id: one for one in answers.wanted}
    criteria, origins = [], {}
    for criterion, weight in zip(proposed, drafting.equal_weights(len(proposed)), strict=True):
        mine = given[criterion.id]
        origins[criterion.id] = f"drafted by {answers.judge}"
        if mine.levels:
            criterion = drafting.anchored(criterion, mine.levels)
            origins[criterion.id] = "your words"
        elif mine.items:
            origins[criterion.id] = f"your words, and drafted by {answers.judge}"
            listed = [item for item in criterion.items if not item.whole]
            items = drafting.distinct(
                [*(drafting.plain_item(text) for text in mine.items), *listed]
            )
            criterion = replace(criterion, items=tuple(items[: max(len(mine.items), 10)]))
        criteria.append(replace(criterion, weight=weight))
    return RubricDraft(about=answers.about, criteria=tuple(criteria), origins=origins)


def is_complete(draft: RubricDraft) -> bool:
    return not drafting.shortage(draft.criteria)


def with_bars(draft: RubricDraft, answers: RubricAnswers) -> RubricDraft:
    """The draft with the threshold and floor that were said, else its own."""
    return replace(
        draft,
        threshold=draft.threshold if answers.threshold is None else answers.threshold,
        floor=draft.floor if answers.floor is None else answers.floor,
    )
