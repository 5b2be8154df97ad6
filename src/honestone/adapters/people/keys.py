"""Bytes of a terminal as keys of a form, by prompt_toolkit's parser."""

from __future__ import annotations

import codecs
from typing import Final

from msgspec import Struct
from prompt_toolkit.input.vt100_parser import Vt100Parser
from prompt_toolkit.key_binding.key_processor import KeyPress
from prompt_toolkit.keys import Keys

_LONGEST_PASTE: Final = 100_000
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
# What an unknown sequence is in by its second key: `[` and `O` begin a short one, the others a
# string (title, colours, ...) that lasts until BEL or `ESC \\`.
_AFTER_ESCAPE: Final = {"[": "[", "O": "O"} | dict.fromkeys(("]", "P", "_", "^", "X"), "]")
_IN_STRING: Final[dict[str, str]] = {Keys.ControlG: "", Keys.Escape: "]\x1b"}
_NAMES: Final[dict[str, str]] = {
    Keys.ControlM: "enter",
    Keys.ControlJ: "enter",
    Keys.ControlH: "backspace",
    Keys.ControlU: "kill",
    Keys.ControlD: "end",
    Keys.Up: "up",
    Keys.Down: "down",
    Keys.Left: "left",
    Keys.Right: "right",
}


class Press(Struct, frozen=True):
    """One key: `char` and `paste` with their text; enter, esc, backspace, kill, end, up, down,
    left, right; `resize`.
    """

    name: str
    text: str = ""


class KeyReader:
    """Sequences that mean nothing here are dropped whole: prompt_toolkit gives an unknown one as
    Escape and then its characters, which must never be taken for answers.
    """

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._parser = Vt100Parser(self._take)
        self._found: list[Press] = []
        self._text = ""  # since the last wait: a sequence or a paste in it may still be unfinished
        self._escaped = ""  # what an unknown sequence began with: \x1b, [ or ]

    def feed(self, data: bytes) -> list[Press]:
        """The keys that these bytes complete."""
        text = self._decode(data)
        self._text += text
        self._parser.feed(text)
        return self._taken()

    @property
    def is_waiting(self) -> bool:
        """Whether the beginning of a sequence may be held back: only time tells an Esc key from
        one.
        """
        return bool(self._text)

    @property
    def is_pasting(self) -> bool:
        begun = self._text.rfind(_PASTE_BEGINS)
        return begun >= 0 and _PASTE_ENDS not in self._text[begun:]

    def give_up_waiting(self) -> list[Press]:
        """Nothing came after it: a lone Esc is the key, half a sequence is noise, a paste without
        its end is a paste.
        """
        if self.is_pasting:
            self._parser.feed(_PASTE_ENDS)
        self._parser.flush()
        if self._escaped == "\x1b":
            self._found.append(Press("esc"))
        self._text = self._escaped = ""
        return self._taken()

    def _taken(self) -> list[Press]:
        found, self._found = self._found, []
        return found

    def _take(self, pressed: KeyPress) -> None:
        key = pressed.key
        if key == Keys.BracketedPaste:
            self._escaped = ""
            self._found.append(Press("paste", pressed.data[:_LONGEST_PASTE]))
        elif self._escaped:
            self._skip(key)
        elif key == Keys.Escape:
            self._escaped = "\x1b"
        elif key in _NAMES:
            self._found.append(Press(_NAMES[key]))
        elif not isinstance(key, Keys) and key.isprintable():
            self._found.append(Press("char", key))

    def _skip(self, key: str) -> None:
        """One more key of an unknown sequence: `ESC [ ... letter`, `ESC O x`, `ESC ] ... BEL`, or
        Alt with a key.
        """
        began = self._escaped
        if key == Keys.Escape and began != "]":
            if began == "\x1b":
                self._found.append(Press("esc"))
            self._escaped = "\x1b"
        elif began == "\x1b":
            self._escaped = _AFTER_ESCAPE.get(key, "")
        elif began == "]":
            self._escaped = _IN_STRING.get(key, "]")
        elif began == "]\x1b":
            self._escaped = "" if key == "\\" else "]"
        elif began == "O" or not (len(key) == 1 and " " <= key <= "?"):
            self._escaped = ""
