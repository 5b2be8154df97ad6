"""What a person sees during the work: notes as lines on stderr, and on a terminal one live line below them.

The live line is rewritten in place and gone before anything else is printed. There is no thread: it moves when something is
reported, and while an event loop runs a timer in that loop moves the clock and the spinner. rich draws the line.
"""

from __future__ import annotations

import atexit
import io
import os
import sys
import time
from collections.abc import Callable
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TextIO

from honestone.core.events import Event
from honestone.report.draw import Style, clean, line
from honestone.system.drawing import columns_of, is_terminal, style_for

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.spinner import Spinner

TICK: Final = 0.12  # seconds between two frames
_CLEAR: Final = "\r\x1b[2K"


class Progress:
    """An Observer for one stream. Use it as a context manager: leaving it, however, clears the live line.

    `quiet` silences notes and the live line. `style` decides about colour and characters; the default is what the
    stream can show.
    """

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        quiet: bool = False,
        style: Style | None = None,
        live: bool | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._quiet = quiet
        self._style = style or style_for(self._stream)
        terminal = is_terminal(self._stream) and os.environ.get("TERM") != "dumb"
        self._live = (terminal if live is None else live) and not quiet
        self._clock = clock
        self._started = clock()
        self._doing = ""
        self._done = self._total = 0
        self._drawn_at = float("-inf")
        self._is_drawn = False
        self._timer: Any = None  # asyncio.TimerHandle
        if self._live:
            atexit.register(self.close)

    @property
    def stream(self) -> TextIO:
        return self._stream

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # ---------------------------------------------------------------------------------------------------- Observer

    def note(self, text: str) -> None:
        """A line for a person, above the live line. Outside text in it is made harmless."""
        self.show(clean(text))

    def progress(self, done: int, total: int, doing: str) -> None:
        """Shown on a terminal only. `done` of `total` may go back when a new piece of work starts."""
        if not self._live:
            return
        if not self._doing:
            self._started = self._clock()
        self._done, self._total, self._doing = done, total, line(doing) or "working"
        self._draw()
        self._keep_moving()

    def event(self, event: Event) -> None:
        """Events are for the record; what a person should know of them arrives as notes."""

    # ------------------------------------------------------------------------------------------------------ output

    def show(self, text: str) -> None:
        """Text that was rendered here already (it may hold colours), as it is, above the live line."""
        if self._quiet:
            return
        had_line = self._is_drawn
        self.clear()
        self._write("\n".join(one.rstrip() for one in text.rstrip("\n").split("\n")) + "\n")
        if had_line:
            self._draw(now=True)

    def clear(self) -> None:
        """Takes the live line away; call it before printing anything elsewhere. The next progress draws it again."""
        if self._is_drawn:
            self._is_drawn = False
            self._drawn_at = float("-inf")
            self._write(_CLEAR)

    def close(self) -> None:
        """Ends the live line for good, until progress is reported again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.clear()
        self._doing = ""

    # --------------------------------------------------------------------------------------------------- live line

    def _draw(self, *, now: bool = False) -> None:
        at = self._clock()
        if not now and at - self._drawn_at < TICK / 2:
            return
        self._drawn_at = at
        self._is_drawn = True
        self._write(_CLEAR + self._line(columns_of(self._stream, {}) - 1))

    def _line(self, room: int) -> str:
        """`⠹ 3/12 ━━━━━━╸    asking codex 0:42`: as much of it as there is room for, on one line."""
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        console, spinner = self._renderer
        console.width = max(room, 1)
        cells: list[RenderableType] = [spinner]
        if self._total > 0:
            cells.append(Text(f"{self._done}/{self._total}"))
        if self._total > 1 and room >= 60:
            cells.append(ProgressBar(total=self._total, completed=self._done, width=16, complete_style="cyan"))
        if room >= 24:
            cells.append(Text(self._doing, no_wrap=True, overflow="ellipsis"))
        if room >= 16:
            cells.append(Text(f" {_elapsed(self._clock() - self._started)}", style="dim"))
        grid = Table.grid(padding=(0, 1))
        for cell in cells:
            grid.add_column(no_wrap=not (isinstance(cell, Text) and cell.overflow))  # only the words give way
        grid.add_row(*cells)
        with console.capture() as drawn:
            console.print(grid, end="")
        return drawn.get().rstrip("\n")

    @cached_property
    def _renderer(self) -> tuple[Console, Spinner]:
        """rich, imported with the first frame, drawing for what the stream can show."""
        from rich.console import Console
        from rich.spinner import Spinner

        style = self._style
        console = Console(
            file=io.TextIOWrapper(io.BytesIO(), encoding=style.encoding),
            force_terminal=True,
            color_system="standard" if style.color else None,
            no_color=not style.color,
            legacy_windows=False,
            highlight=False,
            emoji=False,
            markup=False,
        )
        return console, Spinner("dots" if style.unicode else "line", style="cyan")

    def _keep_moving(self) -> None:
        """Lets a running event loop redraw: a judge may think for minutes without a word."""
        asyncio = sys.modules.get("asyncio")
        if asyncio is None or self._timer is not None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._timer = loop.call_later(TICK, self._tick)

    def _tick(self) -> None:
        self._timer = None
        if self._doing and self._is_drawn:
            self._draw()
            self._keep_moving()

    def _write(self, text: str) -> None:
        """Never raises: with stderr closed, the result still arrives."""
        encoding = self._style.encoding
        try:
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
            self._stream.flush()
        except (OSError, ValueError):
            self._live = False


def _elapsed(seconds: float) -> str:
    minutes, rest = divmod(max(int(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


__all__ = ["TICK", "Progress", "style_for"]
