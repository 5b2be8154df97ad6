"""The terminal of a command: its folder and person, documents to stdout, notes and progress to
stderr.

The live line is rewritten in place and gone before anything else is printed. It has no thread: it
moves when something is reported, and while an event loop runs a timer in that loop moves the clock
and the spinner.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, TextIO

from honestone.app.workspace import Workspace, terminal_person
from honestone.cli.options import named_store
from honestone.core.json_value import late_pattern
from honestone.system.drawing import (
    Style,
    bar,
    clean,
    columns_of,
    cut,
    is_terminal,
    line,
    style_for,
)

if TYPE_CHECKING:
    from msgspec import Struct

    from honestone.app.judging.evaluated import Evaluated
    from honestone.app.workspace import Person
    from honestone.core.events import Event
    from honestone.report.building.many import ManyArtifacts
    from honestone.report.documents.improvement import ImprovementDoc
    from honestone.report.documents.scorecard import ScorecardDoc
    from honestone.report.pages.sharing import SharedPieces


_DRAWN_LIMIT = 4096
# Of more artifacts than these, text is a summary of all, as of a table of texts.
FEW = 10

FORMATS = ("text", "markdown", "json", "junit")
# Those of artifacts, which are rows or a page of their own as well.
ARTIFACT_FORMATS = (*FORMATS, "csv", "jsonl", "html")


def dump(document: object, depth: int = 0) -> str:
    """JSON for people and programs: keys in our order, UTF-8 as it is, never NaN. `depth`: it is a
    value within so many others, and indented as such, but for its first line.
    """
    import msgspec

    with suppress(UnicodeEncodeError, OverflowError, TypeError):
        encoded = msgspec.json.encode(document)
        if not _is_written_otherwise(encoded):
            around = b"[" * depth, b"]" * depth
            drawn = msgspec.json.format(encoded.join(around), indent=1)
            return _inner(drawn, depth).decode()
    # What only Python writes: half a surrogate pair, a number of more than 64 bits, 1e-05 with its
    # two digits.
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False, default=_values)
    return text.replace("\n", "\n" + " " * depth) if depth else text


def _inner(drawn: bytes, depth: int) -> bytes:
    """The value alone of one that is drawn in so many lists of one entry each."""
    before = sum(range(depth)) + 2 * depth + depth  # "[", line break; then its own indent
    after = sum(range(depth)) + 2 * depth
    return drawn[before : len(drawn) - after]


_EXPONENT: Final = late_pattern(
    rb"e(?<=[0-9]e)-?[0-9]"
)  # with a letter first that can be looked for quickly


def _is_written_otherwise(encoded: bytes) -> bool:
    """Whether a number in it may be one that Python writes otherwise: below 0.0001 or from 1e16 on."""
    # Nearly all that is written are words: without them little is left to be searched.
    return _has_exponent(encoded.translate(None, _IN_NO_NUMBER)) and _has_exponent(encoded)


_IN_NO_NUMBER: Final = bytes(set(range(256)) - set(b'0123456789.e-":,['))


def _has_exponent(encoded: bytes) -> bool:
    if b"0.0000" in encoded:
        return True
    for match in _EXPONENT.finditer(encoded):
        number = (
            encoded[max(0, match.start() - 40) : match.start()]
            .rstrip(b"0123456789.")
            .removesuffix(b"-")
        )
        if not number or number.endswith((b'":', b",", b"[")):
            return True
    return False


def dump_line(document: object) -> str:
    """The same on one line, as quick as can be: one of many."""
    import msgspec

    try:
        return msgspec.json.encode(document).decode()
    except UnicodeEncodeError:  # a lone surrogate, which JSON can only escape
        return json.dumps(document, allow_nan=False, default=_values)


def _values(part: object) -> object:
    """A document, or a part that is JSON already, as JSON values."""
    import msgspec

    def raw(encoded: Any) -> object:
        return json.loads(bytes(encoded))

    return raw(part) if isinstance(part, msgspec.Raw) else msgspec.to_builtins(part, enc_hook=raw)


def render_scorecards(documents: Sequence[ScorecardDoc], form: str) -> str:
    if form == "json":
        return dump(documents[0] if len(documents) == 1 else documents) + "\n"
    if form == "junit":
        from honestone.report.exports.junit import scorecards_junit

        return scorecards_junit(documents)
    if form in ("csv", "jsonl"):
        from honestone.report.exports.rows import scorecards_csv, scorecards_jsonl

        return scorecards_csv(documents) if form == "csv" else scorecards_jsonl(documents)
    if form == "text":
        from honestone.report.terminal.text import scorecards_text

        return scorecards_text(documents, style_for(sys.stdout))
    return "\n".join(render(document, form) for document in documents)


def render_improvement(document: ImprovementDoc, form: str, *, report: str | None = None) -> str:
    """`report` is the saved Markdown of the run, when it is at hand."""
    return report if form == "markdown" and report is not None else render(document, form)


def render(document: Mapping[str, object] | Struct, form: str) -> str:
    """Any document in any format that it has."""
    if form == "json":
        return dump(document) + "\n"
    from honestone.report.formats import draw

    return draw(document, form, style_for(sys.stdout))


def write(text: str) -> None:
    # A name from the disk may hold lone surrogates, and a terminal may know few characters: neither
    # may end a report.
    encoding = sys.stdout.encoding or "utf-8"
    if not text.isascii():
        text = text.encode(encoding, "backslashreplace").decode(encoding)
    sys.stdout.write(text)


def write_page(page: str | SharedPieces) -> None:
    """An HTML page says that it is UTF-8, whatever the terminal is. It holds no folder of this
    machine, and stderr says which texts it holds, before it is passed on.
    """
    from honestone.report.pages.sharing import SharedPage, SharedPieces, without_folders

    if isinstance(page, SharedPage | SharedPieces) and page.holds:
        print(f"note: texts in this page: {line(', '.join(page.holds))}", file=sys.stderr)
    sys.stdout.flush()
    for piece in page.pieces if isinstance(page, SharedPieces) else [page]:
        shown = without_folders(piece, Path.cwd(), Path.home(), Path(sys.prefix))
        sys.stdout.buffer.write(shown.encode("utf-8", "backslashreplace"))


class Printer:
    """Prints documents as they come where the format allows it, so that memory stays flat over many
    artifacts.

    `many`: JSON is a list, and text is a summary of all
    """

    def __init__(self, form: str, *, many: bool, progress: Progress | None = None) -> None:
        self._progress = progress
        self._is_list = form == "json" and many
        self.is_table = form == "text" and many
        self._form = form
        self._documents: list[ScorecardDoc] = []
        self._shown = 0
        self._drawn: dict[int, tuple[Any, Any]] = {}
        self._summary: ManyArtifacts | None = None

    def show(self, evaluated: Evaluated) -> None:
        """Print a result as soon as it is there, or keep it for the end."""
        if not self._shown:  # (asking gc whether it is frozen counts all that is)
            gc.freeze()  # What lives now stays to the end of the command; looking through it again and again is waste.
        if self._progress is not None and self._is_list:
            self._progress.clear()
        self.add(evaluated.report, evaluated.failed)

    def add(self, document: ScorecardDoc, error: str | None = None) -> None:
        """The same of a document. `error`: why there was nothing to judge."""
        if self._is_list:
            write(("[" if self._shown == 0 else ",\n") + self._dump_line(document))
        elif self.is_table:
            if self._summary is None:
                from honestone.report.building.many import ManyArtifacts

                self._summary = ManyArtifacts()
            self._summary.add(document, error)
        else:
            self._documents.append(document)
        self._shown += 1

    def _dump_line(self, document: ScorecardDoc) -> str:
        """Criteria that several documents share (the same object, where code answers) are encoded
        once.
        """
        import msgspec

        if document.judges:
            return dump_line(document)
        shared = []
        for criterion in document.criteria:
            known = self._drawn.get(id(criterion))
            if known is None:
                known = (criterion, msgspec.Raw(dump_line(criterion).encode()))
                if len(self._drawn) < _DRAWN_LIMIT:
                    self._drawn[id(criterion)] = known
            shared.append(known[1])
        return dump_line(msgspec.structs.replace(document, criteria=shared))

    def end(self) -> None:
        """Print what comes after the last, or all of it."""
        if self._is_list:
            write("]\n" if self._shown else "[]\n")
        elif self._summary is not None:
            from honestone.report.terminal.texts_text import texts_text

            write(texts_text(self._summary.document(), style_for(sys.stdout)))
        else:
            write(render_scorecards(self._documents, self._form))


def exit_code_of(outcome: str) -> int:
    """The exit code of a verdict. `error` is a skill's evaluation that showed nothing: like
    inconclusive, nothing was judged.
    """
    from honestone.core.judging.scorecard import EXIT_CODES, Outcome

    return 3 if outcome == "error" else EXIT_CODES[Outcome(outcome)]


TICK: Final = 0.12  # seconds between two frames
_SPINNER: Final = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_PLAIN_SPINNER: Final = "-\\|/"
_BAR: Final = 16  # columns
_CLEAR: Final = "\r\x1b[2K"


class Progress:
    """An Observer for one stream. Use it as a context manager: leaving it, however, clears the live
    line.

    `quiet` silences notes and the live line. `style` decides about colour and characters; the
    default is what the stream can show.
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
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # ----------------------------------------------------------------------------------------------------
    # Observer

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

    # ------------------------------------------------------------------------------------------------------
    # output

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
        """Takes the live line away; call it before printing anything elsewhere. The next progress
        draws it again.
        """
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

    # ---------------------------------------------------------------------------------------------------
    # live line

    def _draw(self, *, now: bool = False) -> None:
        at = self._clock()
        if not now and at - self._drawn_at < TICK / 2:
            return
        self._drawn_at = at
        self._is_drawn = True
        self._write(_CLEAR + self._line(columns_of(self._stream, {}) - 1))

    def _line(self, columns: int) -> str:
        """`⠹ 3/12 ████▌░░░░░ asking codex 0:42`: as much of it as fits into so many columns."""
        style = self._style
        elapsed = max(self._clock() - self._started, 0.0)
        frames = _SPINNER if style.unicode else _PLAIN_SPINNER
        spinner = style.paint(frames[int(elapsed / TICK) % len(frames)], "cyan")
        left = columns - 1  # behind the spinner; each part takes one more, for the space before it
        count = f"{self._done}/{self._total}"
        if self._total < 1 or len(count) >= left:
            count = ""
        left -= len(count) + bool(count)
        clock = _elapsed(elapsed)
        if columns < 16 or len(clock) >= left:
            clock = ""
        left -= len(clock) + bool(clock)
        progress = ""
        if self._total > 1 and columns >= 60:
            done = 100 * self._done / self._total
            progress = bar(style, _BAR, done, look="cyan")
            left -= _BAR + 1
        words = ""
        if columns >= 24:
            # What the stream cannot hold is written as `\uXXXX`, so it is measured as that.
            words = self._doing.encode(style.encoding, "backslashreplace").decode(style.encoding)
            words = cut(words, max(left - 1, 0), style.glyph("more"))
        parts = (spinner, count, progress, words, style.paint(clock, "dim"))
        return " ".join(part for part in parts if part)

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


# Who is asked where a judge or worker is called `human`.
PERSON: Final[ContextVar[Callable[[Path], Person]]] = ContextVar("person", default=terminal_person)


def here() -> Workspace:
    """The workspace of the current folder, with the store of --store. Raises SettingsError for
    settings that cannot be read, StoreError for a bad address.
    """
    return Workspace.at(Path(), store=named_store(), person=PERSON.get(), say=_say)


def _say(sentence: str) -> None:
    if (
        "_HONESTONE_COMPLETE" not in os.environ
    ):  # a shell that asks for names shows whatever is printed
        print(clean(sentence), file=sys.stderr)
