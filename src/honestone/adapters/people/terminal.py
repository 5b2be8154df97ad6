"""The controlling terminal for a form: keys in, pages out, and quiet from everybody else meanwhile.

The terminal is asked for by name (`/dev/tty`), so stdin and stdout may be pipes. Nothing here blocks the event loop:
other judges go on while a person thinks.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import select
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import IO, Any, Final

from honestone.system.drawing import Style, cut, style_for

DEVICE: Final = "/dev/tty"
_POLL: Final = 0.02  # seconds; a person does not notice, and a sleeping form costs next to nothing
_LONE_ESCAPE, _LOST_PASTE = 3, 50  # polls without a byte until what is held back is taken as it is
_LONGEST_PASTE: Final = 100_000


class NoTerminal(Exception):
    """There is no terminal to ask at, or it was closed."""


@dataclass(frozen=True, slots=True)
class Press:
    """One key: `char` and `paste` with their text; enter, esc, backspace, kill, end, up, down, left, right; `resize`."""

    name: str
    text: str = ""


# ------------------------------------------------------------------------------------------------------------- keys

_CSI: Final = re.compile(r"\x1b\[[0-?]*[ -/]*")
_ARROWS: Final = {"A": "up", "B": "down", "C": "right", "D": "left"}
_NAMED: Final = {"\r": "enter", "\n": "enter", "\x7f": "backspace", "\x08": "backspace", "\x15": "kill", "\x04": "end"}
_PASTE_BEGINS, _PASTE_ENDS = "\x1b[200~", "\x1b[201~"
_LONGEST_SEQUENCE: Final = 4096


class KeyReader:
    """Bytes of a terminal as keys. Sequences that mean nothing here are swallowed whole, and never taken for answers."""

    def __init__(self) -> None:
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._held = ""
        self._pasted: str | None = None

    def feed(self, data: bytes) -> list[Press]:
        self._held += self._decode(data)
        out: list[Press] = []
        while self._held:
            taken, press = self._next()
            if taken == 0:
                break
            self._held = self._held[taken:]
            if press is not None:
                out.append(press)
        return out

    @property
    def is_waiting(self) -> bool:
        """Whether the beginning of a sequence is held back: only time tells an Esc key from one."""
        return bool(self._held) or self._pasted is not None

    @property
    def is_pasting(self) -> bool:
        return self._pasted is not None

    def give_up_waiting(self) -> list[Press]:
        """Nothing came after it: a lone Esc is the key, half a sequence is noise, a paste without its end is a paste."""
        held, self._held = self._held, ""
        if self._pasted is not None:
            text, self._pasted = self._pasted + held, None
            return [Press("paste", text)]
        return [Press("esc")] if held == "\x1b" else []

    def _next(self) -> tuple[int, Press | None]:
        """How many characters the next key takes (0: more are needed), and the key, if it is one."""
        if self._pasted is not None:
            return self._paste()
        char = self._held[0]
        if char == "\x1b":
            return self._sequence()
        if char in _NAMED:
            return 1, Press(_NAMED[char])
        return 1, Press("char", char) if char.isprintable() else None

    def _paste(self) -> tuple[int, Press | None]:
        end = self._held.find(_PASTE_ENDS)
        if end < 0:
            # The end mark may have come half.
            ready = max(len(self._held) - len(_PASTE_ENDS), 0)
            self._pasted = ((self._pasted or "") + self._held[:ready])[:_LONGEST_PASTE]
            return ready, None
        text = ((self._pasted or "") + self._held[:end])[:_LONGEST_PASTE]
        self._pasted = None
        return end + len(_PASTE_ENDS), Press("paste", text)

    def _sequence(self) -> tuple[int, Press | None]:
        held = self._held
        if len(held) == 1:
            return 0, None
        if held.startswith(_PASTE_BEGINS):
            self._pasted = ""
            return len(_PASTE_BEGINS), None
        if held[1] == "[":
            return self._control_sequence()
        if held[1] == "O":
            return (3, self._arrow(held[2])) if len(held) > 2 else (0, None)
        if held[1] in "]P_^X":
            return self._string()
        return (1, Press("esc")) if held[1] == "\x1b" else (2, None)

    def _control_sequence(self) -> tuple[int, Press | None]:
        match = _CSI.match(self._held)
        assert match is not None
        end = match.end()
        if end == len(self._held):
            return (0 if end < _LONGEST_SEQUENCE else end), None
        last = self._held[end]
        if not "@" <= last <= "~":
            return end, None
        return end + 1, self._arrow(last) if end == 2 else None

    def _string(self) -> tuple[int, Press | None]:
        ends = [self._held.find(mark, 2) + len(mark) for mark in ("\x07", "\x1b\\") if mark in self._held[2:]]
        if ends:
            return min(ends), None
        return (0 if len(self._held) < _LONGEST_SEQUENCE else len(self._held)), None

    def _arrow(self, last: str) -> Press | None:
        return Press(_ARROWS[last]) if last in _ARROWS else None


# --------------------------------------------------------------------------------------------------------- terminal


class Terminal:
    """The terminal while a form is open. Leaving the context gives it back as it was found.

    `paged`: the form takes the whole screen and gives it back afterwards; else, and on a terminal that cannot move its
    cursor, pages are printed one below the other.
    """

    def __init__(self, *, paged: bool = True) -> None:
        try:
            self._fd = os.open(DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise NoTerminal(error.strerror or str(error)) from None
        try:
            self._found: list[Any] = termios.tcgetattr(self._fd)
        except termios.error as error:
            os.close(self._fd)
            raise NoTerminal(str(error)) from None
        self.is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "")
        self._paged = paged and not self.is_dumb
        self.style = self._look()
        self._keys = KeyReader()
        self._ready: list[Press] = []
        self._size = self.size
        self._shown: list[str] = []
        self._typed: str | None = None

    def _look(self) -> Style:
        with open(self._fd, "w", encoding=_encoding(), closefd=False) as stream:
            return style_for(stream)

    @property
    def fd(self) -> int:
        return self._fd

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows; a terminal that does not know has 80 and 24."""
        try:
            columns, rows = os.get_terminal_size(self._fd)
        except OSError:
            columns, rows = 0, 0
        return columns or 80, rows or 24

    def __enter__(self) -> Terminal:
        self._enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._leave()
        finally:
            os.close(self._fd)

    def _enter(self) -> None:
        modes = termios.tcgetattr(self._fd)
        modes[3] = (modes[3] & ~(termios.ICANON | termios.ECHO)) | termios.ISIG
        modes[6] = list(modes[6])
        modes[6][termios.VMIN], modes[6][termios.VTIME] = 1, 0
        # Stopped and continued, the terminal would come back in the shell's modes.
        with suppress(OSError, ValueError):
            modes[6][termios.VSUSP] = bytes([os.fpathconf(self._fd, "PC_VDISABLE")])
        termios.tcsetattr(self._fd, termios.TCSADRAIN, modes)
        if not self.is_dumb:
            self._write("\r\x1b[2K\x1b[?2004h" + ("\x1b[?1049h\x1b[?25l" if self._paged else ""))
        self._shown, self._typed = [], None

    def _leave(self) -> None:
        with suppress(NoTerminal):
            if self._typed is not None:
                self._write("\n")
            if not self.is_dumb:
                self._write(("\x1b[?25h\x1b[?1049l" if self._paged else "") + "\x1b[?2004l\r\x1b[2K")
        with suppress(termios.error):
            termios.tcsetattr(self._fd, termios.TCSADRAIN, self._found)

    @contextmanager
    def lent(self) -> Iterator[int]:
        """The terminal as other programs expect it, for as long as one of them has it."""
        self._leave()
        try:
            yield self._fd
        finally:
            self._enter()

    # -- keys

    async def press(self) -> Press:
        """The next key. Raises NoTerminal when the terminal is gone."""
        quiet = 0
        while not self._ready:
            if self.size != self._size:
                self._size = self.size
                return Press("resize")
            if self._has_input():
                self._ready += self._keys.feed(self._read())
                quiet = 0
                continue
            quiet += 1
            if self._keys.is_waiting and quiet > (_LOST_PASTE if self._keys.is_pasting else _LONE_ESCAPE):
                self._ready += self._keys.give_up_waiting()
            else:
                await asyncio.sleep(_POLL)
        return self._ready.pop(0)

    def _has_input(self) -> bool:
        try:
            return bool(select.select([self._fd], [], [], 0)[0])
        except (OSError, ValueError):
            return True

    def _read(self) -> bytes:
        try:
            data = os.read(self._fd, 4096)
        except OSError:
            data = b""
        if not data:
            raise NoTerminal("it was closed")
        return data

    # -- pages

    def show(self, lines: Sequence[str], typed: str | None = None) -> None:
        """A page; `typed` is the line that is being typed, below it."""
        if self._paged:
            self._draw(
                [
                    *lines,
                    *(
                        ["", typed + self.style.paint("▏" if self.style.unicode else "_", "bold")]
                        if typed is not None
                        else []
                    ),
                ]
            )
            return
        if list(lines) != self._shown:
            self._write(
                ("\n" if self._typed is not None else "") + "".join(f"{line}\n" for line in lines) + (typed or "")
            )
        elif typed is not None:
            goes_on = self._typed is not None and typed.startswith(self._typed)
            self._write(typed[len(self._typed or "") :] if goes_on else f"\n{typed}")
        self._shown, self._typed = list(lines), typed

    def _draw(self, lines: Sequence[str]) -> None:
        rows = self.size[1]
        self._write("\x1b[H" + "\r\n".join(f"{line}\x1b[K" for line in lines[:rows]) + "\x1b[J")

    def _write(self, text: str) -> None:
        data = text.encode(self.style.encoding, "backslashreplace")
        while data:
            try:
                data = data[os.write(self._fd, data) :]
            except BlockingIOError:
                select.select([], [self._fd], [], 1)
            except OSError:
                raise NoTerminal("it was closed") from None


def tell(text: str) -> None:
    """One line on the terminal, below whatever was there. Where there is none, nobody has to know."""
    with suppress(NoTerminal), Terminal(paged=False) as terminal:
        terminal.show([cut(text, max(terminal.size[0] - 1, 8))])


def _encoding() -> str:
    return getattr(sys.stderr, "encoding", None) or "utf-8"


# ------------------------------------------------------------------------------------------------- quiet from others

_FRAME: Final = b"\r\x1b[2K"
"""What every frame of the live progress line begins with (`cli.progress`)."""


@contextmanager
def others_held_back() -> Iterator[None]:
    """What anybody else prints to the terminal meanwhile is printed afterwards, the live progress line left out.

    So rows that are ready, notes and the spinner cannot fight with a form, an editor or a pager, and none is lost.
    """
    streams = [stream for stream in (sys.stderr, sys.stdout) if _is_on_a_terminal(stream)]
    held: list[tuple[Any, int, IO[bytes]]] = []
    try:
        for stream in streams:
            stream.flush()
            aside = os.dup(stream.fileno())
            kept: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
            os.dup2(kept.fileno(), stream.fileno())
            held.append((stream, aside, kept))
        yield
    finally:
        for stream, aside, kept in held:
            with suppress(OSError, ValueError):
                stream.flush()
            os.dup2(aside, stream.fileno())
            os.close(aside)
            kept.seek(0)
            with suppress(OSError), kept, open(stream.fileno(), "wb", closefd=False) as terminal:
                terminal.write(without_frames(kept.read()))


def without_frames(printed: bytes) -> bytes:
    """What was printed without the frames of the live line: a frame ends in no line break."""
    first, *rest = printed.split(_FRAME)
    return first + b"".join(part[: part.rfind(b"\n") + 1] for part in rest)


def _is_on_a_terminal(stream: Any) -> bool:
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
