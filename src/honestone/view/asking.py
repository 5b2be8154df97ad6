"""What the page that asks a person sends, read strictly."""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import UNSET, Struct, UnsetType

from honestone.core.json_value import json_once
from honestone.core.statistics.labels import LabelQuote

_LONGEST: Final = 4000  # code points of a note or a quote
_MOST: Final = 20


class Quote(Struct, frozen=True, forbid_unknown_fields=True):
    """Words of the text; without offsets they are looked up."""

    quote: str
    start: int | None = None
    end: int | None = None


class Sent(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An answer to the item `at`; `value` null is a skip, and without one only evidence and note
    are
    kept.

    `question`: the id that the page had, which an answer to an item needs, so that nothing is
        answered that was not shown. `sheet`, `text`, `hand`: of a judge's sheet, and of a worker's
        text.
    """

    at: int
    value: bool | int | float | str | UnsetType | None = UNSET
    evidence: str | Quote | list[Quote | str] = ""
    note: str = ""
    question: str | None = None
    sheet: str | None = None
    text: str | None = None
    hand: str | None = None

    @property
    def quotes(self) -> tuple[LabelQuote, ...]:
        given = self.evidence if isinstance(self.evidence, list) else [self.evidence]
        quotes = [Quote(quote=one) if isinstance(one, str) else one for one in given]
        return tuple(
            LabelQuote(quote=one.quote, start=one.start, end=one.end)
            for one in quotes
            if one.quote.strip()
        )


class NotTaken(Exception):
    """Why an answer was not taken, in words for the person, and the status that says so."""

    def __init__(self, message: str, status: int = 422) -> None:
        super().__init__(message)
        self.message, self.status = message, status


def read_sent(body: bytes) -> Sent:
    """Raises NotTaken."""
    try:
        sent = msgspec.json.decode(body, type=Sent)  # which refuses half a character
        json_once(body)
    except (ValueError, RecursionError) as error:
        raise NotTaken(f"this is not an answer: {error}", 400) from None
    if (
        len(sent.note) > _LONGEST
        or len(sent.quotes) > _MOST
        or any(len(one.quote) > _LONGEST for one in sent.quotes)
    ):
        raise NotTaken(f"a note and each quote may have up to {_LONGEST:,} characters", 413)
    return sent
