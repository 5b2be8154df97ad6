"""What was said to `rubric new` so far: plain data in a file next to the rubric, so that nothing typed is lost."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from honestone.core.authoring.rubric_drafting import (
    CriterionWish,
    RubricDraft,
    ShippedRubric,
    anchored,
    distinct,
    equal_weights,
    make_draft,
    plain_item,
    shortage,
)
from honestone.core.errors import HonestoneError
from honestone.core.rubric import Criterion, from_plain, to_plain

SCHEMA: Final = "honestone.rubric-answers/1"


@dataclass(slots=True, kw_only=True)
class RubricAnswers:
    """Every answer, in the order of the conversation. `typing` is the open question and what was typed so far.

    `template`: its criteria were taken as they are. `draft` is kept once nothing is missing in it. `replies` are what
    models were paid for, by the digest of their prompt.
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
        self.about, self.wanted, self.template, self.is_listed, self.warned = "", [], None, False, []
        self.draft, self.accepted, self.threshold, self.floor = None, False, None, None
        self.weights, self.typing = {}, ("", "")


def to_json(answers: RubricAnswers) -> dict[str, object]:
    return {
        "schema": SCHEMA,
        "about": answers.about,
        "wanted": [
            {"name": w.name, "description": w.description, "items": list(w.items), "levels": list(w.levels)}
            for w in answers.wanted
        ],
        "template": answers.template,
        "is_listed": answers.is_listed,
        "warned": answers.warned,
        "judge": answers.judge,
        "draft": answers.draft and {"rubric": to_plain(answers.draft.rubric()), "origins": dict(answers.draft.origins)},
        "accepted": answers.accepted,
        "threshold": None if answers.threshold is None else str(answers.threshold),
        "floor": None if answers.floor is None else str(answers.floor),
        "typing": list(answers.typing),
        "replies": answers.replies,
    }


def from_json(plain: object) -> RubricAnswers | None:
    """None for a record that is damaged: we wrote it, but a file can be changed."""
    if not isinstance(plain, dict) or plain.get("schema") != SCHEMA:
        return None
    try:
        wanted = [
            CriterionWish(
                name=_text(one["name"]),
                description=_text(one["description"]),
                items=tuple(map(_text, one["items"])),
                levels=tuple(map(_text, one["levels"])),
            )
            for one in plain["wanted"]
        ]
        if any(len(one.levels) not in (0, 5) or not one.name for one in wanted):
            return None
        template, judge = plain["template"], plain["judge"]
        step, text = plain["typing"]
        return RubricAnswers(
            about=_text(plain["about"]),
            wanted=wanted,
            template=None if template is None else _text(template),
            is_listed=plain["is_listed"] is True,
            warned=list(map(_text, plain["warned"])),
            judge=None if judge is None else _text(judge),
            draft=_draft(plain["draft"]),
            accepted=plain["accepted"] is True,
            threshold=_bar(plain["threshold"]),
            floor=_bar(plain["floor"]),
            typing=(_text(step), _text(text)),
            replies={_text(key): _text(value) for key, value in plain["replies"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError, HonestoneError):
        return None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _bar(value: object) -> Fraction | None:
    bar = None if value is None else Fraction(_text(value))
    if bar is not None and not 0 <= bar <= 1:
        raise ValueError
    return bar


def _draft(plain: Any) -> RubricDraft | None:
    if plain is None:
        return None
    rubric = from_plain(plain["rubric"])
    return RubricDraft(
        about=rubric.title,
        criteria=rubric.criteria,
        threshold=rubric.threshold,
        floor=rubric.floor,
        origins={_text(key): _text(value) for key, value in plain["origins"].items()},
    )


class KeptAnswers:
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
            write_atomically(self.path, text.encode())
            self._saved = text

    def drop(self) -> None:
        self.path.unlink(missing_ok=True)


# ------------------------------------------------------------------------------------------------- answers to a draft


def draft_from(
    answers: RubricAnswers, library: Sequence[ShippedRubric], proposed: Sequence[Criterion] = ()
) -> RubricDraft:
    """The draft that the answers so far give: a template's, a model's with the person's own items, or the words'."""
    if answers.template is not None:
        rubric = next(one.rubric for one in library if one.name == answers.template)
        origins = {criterion.id: f"the template {answers.template}" for criterion in rubric.criteria}
        return RubricDraft(
            about=answers.about,
            criteria=rubric.criteria,
            threshold=rubric.threshold,
            floor=rubric.floor,
            origins=origins,
        )
    draft = _proposed(answers, proposed) if proposed else make_draft(answers.about, answers.wanted, library)
    if answers.weights:
        draft = replace(draft, criteria=tuple(replace(c, weight=answers.weights[c.id]) for c in draft.criteria))
    return draft


def _proposed(answers: RubricAnswers, proposed: Sequence[Criterion]) -> RubricDraft:
    """The model's criteria with equal weights; what the person gave comes first and is never lost."""
    given = {one.id: one for one in answers.wanted}
    criteria, origins = [], {}
    for criterion, weight in zip(proposed, equal_weights(len(proposed)), strict=True):
        mine = given[criterion.id]
        origins[criterion.id] = f"drafted by {answers.judge}"
        if mine.levels:
            criterion = anchored(criterion, mine.levels)
            origins[criterion.id] = "your words"
        elif mine.items:
            origins[criterion.id] = f"your words, and drafted by {answers.judge}"
            listed = [item for item in criterion.items if not item.whole]
            items = distinct([*(plain_item(text) for text in mine.items), *listed])
            criterion = replace(criterion, items=tuple(items[: max(len(mine.items), 10)]))
        criteria.append(replace(criterion, weight=weight))
    return RubricDraft(about=answers.about, criteria=tuple(criteria), origins=origins)


def is_complete(draft: RubricDraft) -> bool:
    return not shortage(draft.criteria)


def with_bars(draft: RubricDraft, answers: RubricAnswers) -> RubricDraft:
    """The draft with the threshold and floor that were said, else its own."""
    return replace(
        draft,
        threshold=draft.threshold if answers.threshold is None else answers.threshold,
        floor=draft.floor if answers.floor is None else answers.floor,
    )
