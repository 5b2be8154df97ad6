"""The controlling terminal for a form: keys in, pages out, and no other output meanwhile.

The terminal is asked for by name (`/dev/tty`), so stdin and stdout may be pipes. Nothing here
blocks the event loop: other judges work on while a person thinks.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import tempfile
import termios
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from types import TracebackType
from typing import IO, Any, Final

from prompt_toolkit.input.vt100 import raw_mode

from honestone.adapters.people.keys import KeyReader, Press
from honestone.system.drawing import Style, cut, style_for

DEVICE: Final = "/dev/tty"
_POLL: Final = 0.02  # seconds; a person does not notice, and a sleeping form costs next to nothing
_LONE_ESCAPE, _LOST_PASTE = 3, 50  # polls without a byte until what is held back is taken as it is


class NoTerminal(Exception):
    """The terminal to ask at is missing, or it was closed."""


# ---------------------------------------------------------------------------------------------------------
# terminal


class Terminal:
    """The terminal while a form is open. Leaving the context gives it back as it was found.

    `paged`: the form takes the whole screen and gives it back afterwards; else, and on a terminal
        that cannot move its cursor, pages are printed one below the other.
    """

    def __init__(self, *, paged: bool = True) -> None:
        try:
            self._fd = os.open(DEVICE, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
        except OSError as error:
            raise NoTerminal(error.strerror or str(error)) from None
        try:
            termios.tcgetattr(self._fd)
        except termios.error as error:
            os.close(self._fd)
            raise NoTerminal(str(error)) from None
        self.is_dumb = os.environ.get("TERM", "dumb") in ("dumb", "")
        self._paged = paged and not self.is_dumb
        self.style = self._look()
        self._modes = ExitStack()
        self._keys = KeyReader()
        self._ready: list[Press] = []
        self._size = self.size
        self._shown: list[str] = []
        self._typed: str | None = None

    def _look(self) -> Style:
        with open(
            self._fd, "w", encoding=getattr(sys.stderr, "encoding", None) or "utf-8", closefd=False
        ) as stream:
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._leave()
        finally:
            os.close(self._fd)

    def _enter(self) -> None:
        self._modes.enter_context(raw_mode(self._fd))
        # Ctrl-C interrupts even while no key is waited for. Stopped and continued, the terminal
        # would come back in the shell's modes, so Ctrl-Z is off.
        modes = termios.tcgetattr(self._fd)
        modes[3] |= termios.ISIG
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
                self._write(
                    ("\x1b[?25h\x1b[?1049l" if self._paged else "") + "\x1b[?2004l\r\x1b[2K"
                )
        self._modes.close()

    @contextmanager
    def handed_over(self) -> Iterator[int]:
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
                self._ready += self._keys.feed(self._read_bytes())
                quiet = 0
                continue
            quiet += 1
            if self._keys.is_waiting and quiet > (
                _LOST_PASTE if self._keys.is_pasting else _LONE_ESCAPE
            ):
                self._ready += self._keys.give_up_waiting()
            else:
                await asyncio.sleep(_POLL)
        return self._ready.pop(0)

    def _has_input(self) -> bool:
        try:
            return bool(select.select([self._fd], [], [], 0)[0])
        except (OSError, ValueError):
            return True

    def _read_bytes(self) -> bytes:
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
            cursor = self.style.paint("▏" if self.style.unicode else "_", "bold")
            self._draw(lines if typed is None else [*lines, "", typed + cursor])
            return
        if list(lines) != self._shown:
            self._write(
                ("\n" if self._typed is not None else "")
                + "".join(f"{line}\n" for line in lines)
                + (typed or "")
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
    """One line on the terminal, below whatever was there. Does nothing without a terminal."""
    with suppress(NoTerminal), Terminal(paged=False) as terminal:
        terminal.show([cut(text, max(terminal.size[0] - 1, 8))])


# -------------------------------------------------------------------------------------------------
# quiet from others

# What every frame of the live progress line begins with (`cli.terminal`).
_FRAME: Final = b"\r\x1b[2K"


@contextmanager
def others_held_back() -> Iterator[None]:
    """Other output to the terminal is printed afterwards, the live progress line left out.

    So rows that are ready, notes and the spinner cannot fight with a form, an editor or a pager,
    and none is lost.
    """
    streams = [stream for stream in (sys.stderr, sys.stdout) if _is_on_a_terminal(stream)]
    held: list[tuple[Any, int, IO[bytes]]] = []
    try:
        for stream in streams:
            stream.flush()
            aside = os.dup(stream.fileno())
            output: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
            os.dup2(output.fileno(), stream.fileno())
            held.append((stream, aside, output))
        yield
    finally:
        for stream, aside, output in held:
            with suppress(OSError, ValueError):
                stream.flush()
            os.dup2(aside, stream.fileno())
            os.close(aside)
            output.seek(0)
            with suppress(OSError), output, open(stream.fileno(), "wb", closefd=False) as terminal:
                terminal.write(without_frames(output.read()))


def without_frames(printed: bytes) -> bytes:
    """What was printed without the frames of the live line: a frame ends in no line break."""
    first, *rest = printed.split(_FRAME)
    return first + b"".join(part[: part.rfind(b"\n") + 1] for part in rest)


def _is_on_a_terminal(stream: Any) -> bool:
    try:
        return os.isatty(stream.fileno())
    except (OSError, ValueError, AttributeError):
        return False
