"""The pages that ask a person, one item at a time. What they hold is what a judge may know, and
what this person said.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from markupsafe import Markup, escape
from msgspec import Struct

from honestone.core.artifact import Version
from honestone.core.judging.ballot import NOT_APPLICABLE, Answer
from honestone.core.judging.rubric import Item, as_written
from honestone.report.pages.judged_texts.exact_text import exact_markup
from honestone.system.drawing import count, line


class ShownText(Struct, frozen=True, kw_only=True):
    """A text as it is; `start`: how many code points of what is judged come before it."""

    title: str
    text: str
    start: int = 0

    @property
    def shown(self) -> Markup:
        return exact_markup(self.text)


class AskedItem(Struct, frozen=True, kw_only=True):
    """One item about what is judged. `id` tells it from the items of other texts; `heading` are the
    words of its criterion, empty where the item is the criterion. `said`, `evidence`, `note`: what
    this person said so far. `where`: which of several texts it is; `last_words`: what answering it
    does.
    """

    id: str
    criterion: str
    item: Item
    heading: str
    texts: Sequence[ShownText]
    others: Sequence[str] = ()
    input: str | None = None
    reference: str | None = None
    answer_text: str = ""
    evidence: str = ""
    note: str = ""
    note_label: str = "Note"
    where: str = ""
    last_words: str = ""

    @property
    def levels(self) -> list[tuple[int | float, str]]:
        return (
            [(as_written(value), text) for value, text in self.item.anchors.levels]
            if self.item.anchors
            else []
        )


class DifferenceRow(Struct, frozen=True, kw_only=True):
    """An item that raters differ about; `answers` in the order of the raters."""

    artifact: str
    requirement: str
    answers: Sequence[str]
    settled: str = ""


def texts_of_version(version: Version) -> tuple[list[ShownText], list[str]]:
    """The texts of a file or folder with their places, and what is not text."""
    if not version.is_folder:
        return [ShownText(title="", text=version.text)], []
    return list(_files(version.texts)), [
        f"{line(name)}: {count(len(entry.data), 'byte')} that are not text"
        for name, entry in sorted(version.files.items())
        if name not in version.texts
    ]


def _files(texts: Mapping[str, str]) -> Iterator[ShownText]:
    start = 0
    for name, text in texts.items():
        yield ShownText(title=line(name), text=text, start=start)
        start += len(text) + 1


def answer_words(answer: Answer | None) -> str:
    """An answer in a person's words; None is a skip."""
    if answer is None:
        return "skipped"
    if isinstance(answer, bool):
        return "yes" if answer else "no"
    return "does not apply" if answer == NOT_APPLICABLE else str(answer)


def text_to_edit(text: str | None) -> Markup | None:
    """None where only an editor of the person's can change it: a page would not send back what it
    cannot show.
    """
    return None if text is None or exact_markup(text) != escape(text) else exact_markup(text)
