"""Questions to a person at the terminal, one page each: a line of text, or one key of several."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from honestone.adapters.people.form import FormPage, fitted, typed_row
from honestone.adapters.people.sheet import HANGUL_KEYS, LONGEST_TEXT, typed_with
from honestone.adapters.people.terminal import Terminal
from honestone.system.drawing import Style, clean, line, width, wrap

_WIDEST: Final = 100
_HANGUL: Final = {**HANGUL_KEYS, "ㅁ": "a"}


class LeftForLater(Exception):
    """The person ended it with Ctrl-D."""


class QuestionPages(Struct, kw_only=True):
    """Shows pages and waits for keys. `title` is above every page, `note` below the next one until
    a key is pressed.
    """

    terminal: Terminal
    title: str = ""
    note: str = ""

    @property
    def style(self) -> Style:
        return self.terminal.style

    @property
    def columns(self) -> int:
        return max(min(self.terminal.size[0] - 1, _WIDEST), 20)

    def show(
        self,
        body: Sequence[str],
        *,
        typed: str | None = None,
        foot: Sequence[str] = (),
        scroll: int = 0,
    ) -> None:
        """One page; `typed` is the line that is being typed."""
        style, columns = self.style, self.columns
        rule = style.paint(style.glyph("rule") * columns, "dim")
        page = FormPage(head=[style.paint(line(self.title)[:columns], "cyan"), rule, ""])
        page.body = [row for text in body for row in _fit(text, columns)]
        page.foot = [""]
        if self.note:
            page.foot += [style.paint(row, "yellow") for row in wrap(clean(self.note), columns)]
        page.foot += [row for text in foot for row in wrap(clean(text), columns)]
        rows = self.terminal.size[1] - (0 if typed is None else 2)
        everything = [*page.head, *page.body, *page.foot]
        self.terminal.show(
            everything if self.terminal.is_dumb else fitted(page, rows, scroll), typed
        )

    async def ask(
        self, body: Sequence[str], text: str, keep: Callable[[str], None], *, by_line: bool
    ) -> list[str]:
        """A line of text, which may begin with `text`; `keep` gets it after every key. With
        `by_line` every line of a paste is an answer of its own, else they become one. Raises
        LeftForLater.
        """
        scroll = 0
        while True:
            self.show(body, typed=typed_row(text, self.columns), scroll=scroll)
            key = await self.terminal.press()
            if key.name not in ("resize", "up", "down"):
                self.note = ""
            match key.name:
                case "paste" if by_line:
                    first, *more = map(line, key.text.replace("\r", "\n").split("\n"))
                    text = (text + first)[:LONGEST_TEXT]
                    if more:
                        return [text, *(part for part in more if part)]
                case "esc":
                    text = ""
                case "up" | "down":
                    scroll = max(scroll + (1 if key.name == "down" else -1), 0)
                case "end":
                    raise LeftForLater
                case "enter":
                    return [text]
                case _:
                    text = typed_with(text, key)
            keep(text)

    async def choose(
        self,
        body: Sequence[str],
        keys: Mapping[str, str],
        *,
        foot: Sequence[str] = (),
        other: str | None = None,
    ) -> str:
        """What the pressed key means; other keys mean `other`, without it nothing. Raises
        LeftForLater.
        """
        scroll = 0
        while True:
            self.show(body, foot=foot, scroll=scroll)
            key = await self.terminal.press()
            name = _HANGUL.get(key.text, key.text.lower()) if key.name == "char" else key.name
            if name in keys:
                self.note = ""
                return keys[name]
            if name == "end":
                raise LeftForLater
            if name in ("up", "down"):
                scroll = max(min(scroll + (1 if name == "down" else -1), len(body)), 0)
            elif other is not None:
                self.note = ""
                return other


def _fit(text: str, columns: int) -> list[str]:
    """A row as it is where it fits; painted rows have been fitted already."""
    if "\x1b" in text or width(text) <= columns:
        return [text]
    indent = re.match(r"\s*(?:\d+[.]?\s+|- )?", text)
    first = indent[0] if indent else ""
    return wrap(text[len(first) :], columns, first=first)
