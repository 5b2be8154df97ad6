"""A sheet of questions that a person answers: what each key does to it, and its draft between two
sittings. Pure.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from enum import Enum
from typing import Any, Final, TypedDict

from msgspec import Struct

from honestone.adapters.people.keys import Press
from honestone.core.json_value import late_pattern
from honestone.core.judging.ballot import NOT_APPLICABLE, Answer, Mark, Question, answer_problem
from honestone.core.judging.rubric import Item, Key
from honestone.core.tables import table_text
from honestone.system.drawing import (
    clusters,
    line,
)

DRAFT: Final = "honestone.draft/1"
LONGEST_TEXT: Final = 4000
_WORDS: Final[dict[str, Any]] = tomllib.loads(table_text("form", __package__))


class Wish(Enum):
    """What a key asks for beyond the sheet itself."""

    OPEN = "open"
    LATER = "later"
    HAND_IN = "hand in"


class ItemAnswer(Struct, kw_only=True):
    """What a person said to one item so far. With neither an answer nor `skipped`, the item is
    still open.
    """

    answer: Answer | None = None
    skipped: bool = False
    evidence: str = ""
    suggestion: str = ""

    @property
    def is_open(self) -> bool:
        return self.answer is None and not self.skipped

    @property
    def mark(self) -> Mark | None:
        if self.answer is None:
            return None
        return Mark(self.answer, (self.evidence,) if self.evidence else (), self.suggestion or None)


class SheetItem(Struct, frozen=True, kw_only=True):
    """One item with the words of its criterion (empty where the item is the criterion)."""

    key: Key
    item: Item
    heading: str


class Sheet(Struct, kw_only=True):
    """All items and what was said. `at` is the item shown; the number of items is the last page,
    where it is handed in.

    `typing` is what is being typed: `score`, `evidence` or `suggestion`, its text so far in `text`.
    """

    items: tuple[SheetItem, ...]
    entries: list[ItemAnswer]
    at: int = 0
    typing: str | None = None
    text: str = ""
    note: str = ""
    helps: bool = False
    scroll: int = 0

    @property
    def is_at_end(self) -> bool:
        return self.at >= len(self.items)

    @property
    def item(self) -> Item:
        return self.items[self.at].item

    @property
    def open_places(self) -> list[int]:
        return [place for place, entry in enumerate(self.entries) if entry.is_open]

    def marks(self) -> dict[Key, Mark | None]:
        return {
            asked.key: entry.mark for asked, entry in zip(self.items, self.entries, strict=True)
        }


def new_sheet(question: Question) -> Sheet:
    items = tuple(
        SheetItem(
            key=(criterion.id, item.id),
            item=item,
            heading="" if item.whole else criterion.requirement,
        )
        for criterion in question.criteria
        for item in criterion.items
    )
    return Sheet(items=items, entries=[ItemAnswer() for _ in items])


_ANSWERS: Final = {"y": True, "n": False}

# The same keys of a Korean keyboard that is not switched to Latin letters.
HANGUL_KEYS: Final = dict(zip("ㅛㅜㄴㅠㄷㅈㅐㅂㅌ", "ynsbewoqx", strict=True))

_NUMBER: Final = late_pattern(r"-?\d{1,12}(\.\d{1,12})?")


def press(sheet: Sheet, key: Press) -> Wish | None:
    """What one key does. It changes the sheet; what goes beyond it is returned."""
    sheet.note = ""
    if key.name == "resize":
        return None
    if sheet.helps:
        sheet.helps = False
        return None
    if sheet.typing is not None:
        _type(sheet, key)
        return None
    if key.name == "paste":
        sheet.note = "pasted text is taken only where text is typed: press e or w first"
        return None
    return _command(
        sheet, HANGUL_KEYS.get(key.text, key.text.lower()) if key.name == "char" else key.name
    )


def _command(sheet: Sheet, key: str) -> Wish | None:
    match key:
        case "q" | "end":
            return Wish.LATER
        case "o":
            return Wish.OPEN
        case "?" | "h":
            sheet.helps = True
        case "b" | "left" | "backspace":
            _go(sheet, max(sheet.at - 1, 0))
        case "up" | "down":
            sheet.scroll = max(sheet.scroll + (1 if key == "down" else -1), 0)
        case "right":
            _forward(sheet)
        case "enter":
            return _enter(sheet)
        case _:
            _answer(sheet, key)
    return None


def _go(sheet: Sheet, place: int) -> None:
    sheet.at, sheet.scroll = place, 0


def _forward(sheet: Sheet) -> None:
    if not sheet.is_at_end and not sheet.entries[sheet.at].is_open:
        _go(sheet, sheet.at + 1)
    else:
        sheet.note = "" if sheet.is_at_end else "answer it first, or press s to skip it"


def _enter(sheet: Sheet) -> Wish | None:
    if not sheet.is_at_end:
        _forward(sheet)
        return None
    if not sheet.open_places:
        return Wish.HAND_IN
    _go(sheet, sheet.open_places[0])
    return None


def _answer(sheet: Sheet, key: str) -> None:
    if sheet.is_at_end:
        sheet.note = "Enter hands it in, b goes back"
        return
    entry, item = sheet.entries[sheet.at], sheet.item
    if key == "s":
        say(sheet, sheet.at, None, entry.evidence, entry.suggestion)
    elif key == "x" and item.may_not_apply:
        _set(sheet, NOT_APPLICABLE)
    elif key in _ANSWERS and item.anchors is None:
        _set(sheet, _ANSWERS[key])
    elif item.anchors is not None and re.fullmatch(r"[\d.-]", key):
        sheet.typing, sheet.text = "score", key
    elif key == "e":
        sheet.typing, sheet.text = "evidence", entry.evidence
    elif key == "w":
        sheet.typing, sheet.text = "suggestion", entry.suggestion
    elif len(key) == 1:
        sheet.note = _what_else(item, key)


def _what_else(item: Item, key: str) -> str:
    if key == "x":
        return "this one always applies: answer it, or skip it with s"
    if item.anchors is not None:
        return "answer with a number on the scale; ? shows the keys"
    return "answer with y or n; ? shows the keys"


def _set(sheet: Sheet, answer: Answer) -> None:
    entry = sheet.entries[sheet.at]
    say(sheet, sheet.at, answer, entry.evidence, entry.suggestion)


def say(sheet: Sheet, place: int, answer: Answer | None, evidence: str, suggestion: str) -> None:
    """Answer the item at a place, which has no problem, or skip it with None; the next item is
    shown.
    """
    sheet.entries[place] = ItemAnswer(
        answer=answer, skipped=answer is None, evidence=evidence, suggestion=suggestion
    )
    _go(sheet, place + 1)


def _type(sheet: Sheet, key: Press) -> None:
    if key.name == "enter":
        _finish_typing(sheet)
    elif key.name in ("esc", "end"):
        sheet.typing, sheet.text = None, ""
    else:
        sheet.text = typed_with(sheet.text, key)


def typed_with(text: str, key: Press) -> str:
    """A line that is being typed, after one more key. A paste may hold line breaks; here it becomes
    one line.
    """
    match key.name:
        case "char" | "paste":
            return (text + (key.text if key.name == "char" else line(key.text)))[:LONGEST_TEXT]
        case "backspace":
            return "".join(list(clusters(text))[:-1])
        case "kill":
            return ""
        case _:
            return text


def _finish_typing(sheet: Sheet) -> None:
    what, text = sheet.typing, sheet.text.strip()
    entry = sheet.entries[sheet.at]
    if what == "score":
        match = _NUMBER.fullmatch(text)
        if match is None:
            sheet.note, sheet.text = f"{text!r} is not a number", ""
            return
        number = float(text) if match[1] else int(text)
        sheet.note = answer_problem(sheet.item, number) or ""
        if sheet.note:
            sheet.text = ""
            return
        _set(sheet, number)
    elif what == "evidence":
        entry.evidence = text
    else:
        entry.suggestion = text
    sheet.typing, sheet.text = None, ""


class StoredAnswer(TypedDict):
    """What was answered to an item: its key, and the fields of `ItemAnswer`."""

    item: list[str]
    answer: Answer | None
    skipped: bool
    evidence: str
    suggestion: str


class SheetDraft(TypedDict):
    """A sheet that is not handed in yet."""

    schema: str
    at: int
    typing: str | None
    text: str
    said: list[StoredAnswer]


def draft_of(sheet: Sheet) -> SheetDraft:
    """The sheet as JSON values; `restore` takes it back."""
    return {
        "schema": DRAFT,
        "at": sheet.at,
        "typing": sheet.typing,
        "text": sheet.text,
        "said": [
            {
                "item": list(asked.key),
                "answer": entry.answer,
                "skipped": entry.skipped,
                "evidence": entry.evidence,
                "suggestion": entry.suggestion,
            }
            for asked, entry in zip(sheet.items, sheet.entries, strict=True)
        ],
    }


def restore(sheet: Sheet, plain: object) -> None:
    """What a draft says, as far as it is sound: we wrote it, but a file can be changed."""
    if (
        not isinstance(plain, dict)
        or plain.get("schema") != DRAFT
        or not isinstance(plain.get("said"), list)
    ):
        return
    stored = {
        tuple(one["item"]): one
        for one in plain["said"]
        if isinstance(one, dict) and _is_key(one.get("item"))
    }
    for asked, entry in zip(sheet.items, sheet.entries, strict=True):
        _restore_one(entry, asked.item, stored.get(asked.key, {}))
    at = plain.get("at")
    if isinstance(at, int) and 0 <= at <= len(sheet.items):
        sheet.at = at
    typing, text = plain.get("typing"), plain.get("text")
    if sheet.is_at_end or not isinstance(text, str):
        return
    if typing in ("evidence", "suggestion") or (typing == "score" and sheet.item.anchors):
        sheet.typing, sheet.text = str(typing), text[:LONGEST_TEXT]


def _restore_one(entry: ItemAnswer, item: Item, stored: Mapping[str, Any]) -> None:
    answer = stored.get("answer")
    if answer is not None and answer_problem(item, answer) is None:
        entry.answer = answer
    elif stored.get("skipped") is True:
        entry.skipped = True
    for name in ("evidence", "suggestion"):
        text = stored.get(name)
        if isinstance(text, str):
            setattr(entry, name, text[:LONGEST_TEXT])


def _is_key(value: object) -> bool:
    return (
        isinstance(value, list) and len(value) == 2 and all(isinstance(part, str) for part in value)
    )
