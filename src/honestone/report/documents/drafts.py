"""`honestone.rubric-draft/1`: a rubric in the making."""

from __future__ import annotations

from typing import Final

from msgspec import UNSET, Struct, UnsetType, field

DRAFT: Final = "honestone.rubric-draft/1"


class DraftItemDoc(Struct, frozen=True, kw_only=True):
    """One question; `check` names the kind of check that answers it, `null` where judges do, and
    `code` shows it in full: `max-words 60, whole text`.
    """

    id: str
    requirement: str
    check: str | None = None
    code: str | None = None


class DraftCriterionDoc(Struct, frozen=True, kw_only=True):
    """One criterion.

    `weight`: in percent
    `items`, `anchors`: its questions, or the text of each level
    `formula`: how the items come to the criterion's score
    `from`: where the items come from: your words, a template, a model
    """

    id: str
    requirement: str
    weight: int | float
    items: list[DraftItemDoc] = []
    anchors: dict[str, str] | None = None
    formula: str = ""
    origin: str | None = field(default=None, name="from")


class RubricDraftDoc(Struct, frozen=True, kw_only=True):
    """A rubric in the making.

    `target`: what is judged, in your words
    `threshold`, `floor`, `max_rounds`: the bars, and the most rounds of an `improve` without
        options
    `method`, `pass_condition`: in words: how it is marked, and what passes
    `notes`, `written`: what to look at again; the file, `null` for a draft alone
    """

    schema: str = DRAFT
    target: str
    threshold: float
    floor: float
    max_rounds: int
    method: str
    criteria: list[DraftCriterionDoc] = []
    pass_condition: str = ""
    notes: list[str] | UnsetType = UNSET
    written: str | UnsetType | None = UNSET
