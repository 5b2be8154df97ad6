"""Text for a terminal: outside text made harmless, widths, cutting, wrapping, colour, and what a
stream can show.

Everything that comes from an artifact, a rubric or a judge passes through `clean` or `line` before
it is shown.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from itertools import groupby
from operator import itemgetter
from typing import Final, TextIO

from msgspec import Struct

from honestone.core.json_value import late_pattern
from honestone.core.numbers import Number, exact

WIDEST: Final = 110
NARROWEST: Final = 32


# ------------------------------------------------------------------------------------------------------------
# style


class Style(Struct, frozen=True, kw_only=True):
    """How a page may look: `width` in columns, `color` only when asked for, `unicode` where blocks
    can be shown.

    Characters that `encoding` cannot hold are written as `\\uXXXX` by `finish`.
    """

    color: bool = False
    unicode: bool = True
    width: int = 100
    encoding: str = "utf-8"

    @property
    def columns(self) -> int:
        return max(NARROWEST, min(self.width, WIDEST))

    def glyph(self, name: str) -> str:
        return GLYPHS[name][0 if self.unicode else 1]

    def paint(self, text: str, *looks: str) -> str:
        """Text in colours (`red`, `green`, `yellow`, `cyan`, `dim`, `bold`), or unchanged where
        there are none.
        """
        codes = ";".join(LOOKS[look] for look in looks if look)
        return f"\x1b[{codes}m{text}\x1b[0m" if self.color and codes and text.strip() else text

    def finish(self, lines: list[str]) -> str:
        """The lines as one text that ends in a newline and that the stream can hold."""
        text = "\n".join(one.rstrip() for one in lines) + "\n"
        return text.encode(self.encoding, "backslashreplace").decode(self.encoding)


LOOKS: Final = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}

GLYPHS: Final = {  # as drawn, as plain ASCII; the first six take one column each
    "yes": ("✓", "+"),
    "no": ("✗", "x"),
    "unknown": ("?", "?"),
    "warn": ("!", "!"),
    "split": ("~", "~"),
    "absent": ("–", "-"),
    "dot": ("·", "-"),
    "between": (" · ", " | "),
    "arrow": ("→", "->"),
    "more": ("…", "..."),
    "open": ("“", '"'),
    "close": ("”", '"'),
    "minus": ("−", "-"),
    "rule": ("─", "-"),
    "column": ("│", "|"),
}


# ------------------------------------------------------------------------------------------------
# harmless outside text

# Letters and symbols that show nothing, so text could hide behind them: fillers, the grapheme
# joiner, Braille blank.
_INVISIBLE: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0"
)
_JOINERS: Final = frozenset("\u200c\u200d")
_MOST_MARKS: Final = 4  # combining marks on one letter; more is graffiti that covers other lines
_PLAIN: Final = late_pattern(
    r"[\n\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\uac00-\ud7a3\u4e00-\u9fff\u3041-\u3096\u30a1-\u30fa✓✗–→…“”−─]*"
)


def clean(text: object) -> str:
    """Text with nothing in it that a terminal or reader acts on; line breaks stay.

    Control characters, escape sequences, bidirectional overrides and invisible characters become
    visible as `\\x1b` or `\\u202e`. Joiners inside emoji and scripts that need them stay, and so do
    up to four accents.
    """
    given = text if isinstance(text, str) else str(text)
    given = given.replace("\r\n", "\n").replace("\t", "    ")
    if _PLAIN.fullmatch(given):
        return given
    out: list[str] = []
    marks = 0
    before = ""
    for char, after in zip(given, (*given[1:], ""), strict=True):
        kind = unicodedata.category(char)
        marks = marks + 1 if kind in ("Mn", "Me") else 0
        written = ""
        if char == "\n":
            written = char
        elif kind == "Zs":
            written = " " if char != "\u3000" else char
        elif kind == "Cs":
            written = "\ufffd"
        elif marks <= _MOST_MARKS and _is_harmless(char, kind, before, after):
            written = char
        elif marks <= _MOST_MARKS + 1:
            written = _escaped(char)
        out.append(written)
        before = char if written == char else ""
    return "".join(out)


def _is_harmless(char: str, kind: str, before: str, after: str) -> bool:
    """Whether a character is shown as it is. `before` is empty where the character before it was
    not.
    """
    # Joiners and selectors depend on their neighbours as these are written: next to a character
    # that is replaced by its name they would join or select a letter of that name.
    if char in _JOINERS:
        return _kind(before) in _JOINABLE and _is_joined(after)
    if _is_selector(char):
        return not _is_selector(before) and _kind(before) not in _NOT_SELECTABLE
    if (
        kind in _MARKS
    ):  # Without a letter of its own it would change whatever is drawn before the text.
        return before.strip() != "" and char not in _INVISIBLE
    return kind == "Co" or (kind[0] not in "CZ" and char not in _INVISIBLE)


def _is_joined(after: str) -> bool:
    """Whether the character after a joiner can be joined, and is shown as it is."""
    return _kind(after) in _JOINABLE and not _is_selector(after) and after not in _INVISIBLE


_MARKS: Final = frozenset({"Mn", "Mc", "Me"})
# What a joiner may join: emoji, their modifiers and selectors, and letters of scripts without
# capitals.
_JOINABLE: Final = frozenset({"So", "Sk", "Mn", "Mc", "Lo"})
_NOT_SELECTABLE: Final = frozenset({"Ll", "Lu", "Lt", "Zs", "Cc", "Cf", "Mn", ""})


def _kind(char: str) -> str:
    return unicodedata.category(char) if char else ""


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _escaped(char: str) -> str:
    code = ord(char)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def line(text: object, limit: int | None = None) -> str:
    """Clean text on one line, inner white space single; cut to `limit` characters with dots at the
    end.
    """
    one = " ".join(clean(text).split())
    return one if limit is None or len(one) <= limit else one[: max(limit - 3, 0)].rstrip() + "..."


# ------------------------------------------------------------------------------------------------
# widths and wrapping

# Everything here takes one column and never combines, so `wcwidth` (25 ms to import) is not asked.
_NARROW: Final = late_pattern(r"[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff✓✗–·→…“”−─│█▉▊▋▌▍▎▏░▒┃]*")


def width(text: str) -> int:
    """Columns that clean text takes on a terminal. Colours must not be in it."""
    return (
        len(text) if _NARROW.fullmatch(text) else sum(_cluster_width(one) for one in clusters(text))
    )


def clusters(text: str) -> Iterator[str]:
    """What the eye takes for one character: a letter with its accents, an emoji with its joined
    parts, a flag.
    """
    held = ""
    for char in text:
        if held and not _continues(held, char):
            yield held
            held = ""
        held += char
    if held:
        yield held


def _continues(held: str, char: str) -> bool:
    if char < "\u0300":
        return False
    if (
        unicodedata.category(char) in ("Mn", "Me", "Mc")
        or char in _JOINERS
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    ):
        return True
    if held[-1] == "\u200d":
        return unicodedata.category(char) == "So"
    if "\u1160" <= char <= "\u11ff":
        return "\u1100" <= held[-1] <= "\u11ff" or "\uac00" <= held[-1] <= "\ud7a3"
    return _is_flag_letter(char) and len(held) == 1 and _is_flag_letter(held)


def _is_flag_letter(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _cluster_width(cluster: str) -> int:
    from wcwidth import wcswidth

    return max(int(wcswidth(cluster)), 0)


def cut(text: str, columns: int, more: str = "…") -> str:
    """Text in at most so many columns; what is left out is marked."""
    if width(text) <= columns:
        return text
    space = columns - width(more)
    if space < 1:
        return more[:columns]
    return _head(text, space).rstrip() + more


def cut_middle(text: str, columns: int, more: str = "…") -> str:
    """Like `cut`, but both ends stay: the tail of a path or a command line tells it apart."""
    space = columns - width(more)
    if width(text) <= columns or space < 4:
        return cut(text, columns, more)
    ending = tail(text, space * 2 // 3)
    return _head(text, space - width(ending)) + more + ending


def _head(text: str, columns: int) -> str:
    return "".join(_fitting(clusters(text), columns))


def tail(text: str, columns: int) -> str:
    return "".join(reversed(list(_fitting(reversed(list(clusters(text))), columns))))


def _fitting(parts: Iterable[str], columns: int) -> Iterator[str]:
    """The first parts that take at most so many columns together."""
    for one in parts:
        columns -= width(one)
        if columns < 0:
            return
        yield one


def pad(text: str, columns: int, *, right: bool = False, more: str = "…") -> str:
    """Text in exactly so many columns, cut or filled with spaces (in front with `right`)."""
    fits = cut(text, columns, more)
    space = " " * max(columns - width(fits), 0)
    return space + fits if right else fits + space


def wrap(
    text: str,
    columns: int,
    *,
    first: str = "",
    rest: str | None = None,
    most: int | None = None,
    more: str = "…",
) -> list[str]:
    """One-line text as lines of at most so many columns, the first behind `first`, the others
    behind `rest`.

    Without `rest` they hang under the text. Words that are too long are broken. After `most` lines:
    `more`.
    """
    rest = " " * width(first) if rest is None else rest
    space = max(columns - max(width(first), width(rest)), 8)
    lines = list(_wrapped(text, space)) or [""]
    if most is not None and len(lines) > most:
        lines = [*lines[: most - 1], _head(lines[most - 1], space - width(more)) + more]
    return [(first if index == 0 else rest) + one for index, one in enumerate(lines)]


def _wrapped(text: str, space: int) -> Iterator[str]:
    held = ""
    for word in text.split():
        if held and width(held) + 1 + width(word) <= space:
            held = f"{held} {word}"
            continue
        # Chinese and Japanese have no spaces: such a "word" goes on where the line has room left.
        if held and width(word) > space and width(held) + 2 < space:
            head = _head(word, space - width(held) - 1)
            held, word = (f"{held} {head}", word[len(head) :]) if head else (held, word)
        if held:
            yield held
        while width(word) > space:
            head = _head(word, space) or word[0]
            yield head
            word = word[len(head) :]
        held = word
    if held:
        yield held


# ------------------------------------------------------------------------------------------------
# what a stream can show

_BLOCKS: Final = "█▏░┃✓✗→…⠋"


def style_for(
    stream: TextIO,
    environ: Mapping[str, str] = os.environ,
    *,
    color: bool | None = None,
    columns: int | None = None,
) -> Style:
    """How this stream can show a page. Colour only on a terminal that has not said no (`NO_COLOR`,
    `TERM=dumb`).
    """
    encoding = stream.encoding or "utf-8"
    plain = bool(environ.get("NO_COLOR")) or environ.get("TERM") == "dumb"
    return Style(
        color=(is_terminal(stream) and not plain) if color is None else color,
        unicode=_can_show(_BLOCKS, encoding),
        width=columns or columns_of(stream, environ),
        encoding=encoding,
    )


def is_terminal(stream: TextIO) -> bool:
    try:
        return stream.isatty()
    except ValueError:  # a closed stream
        return False


def columns_of(stream: TextIO, environ: Mapping[str, str]) -> int:
    """The terminal's own width; for a pipe COLUMNS or 100, so that saved output does not depend on
    a window.
    """
    given = _given_columns(environ)
    if given:
        return given
    try:
        return os.get_terminal_size(stream.fileno()).columns or 80
    except (OSError, ValueError):
        return _given_columns(os.environ) or 100


def _given_columns(environ: Mapping[str, str]) -> int:
    """What COLUMNS says; 0 where it says no number."""
    given = environ.get("COLUMNS", "")
    return int(given) if given.isdecimal() else 0


def _can_show(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def count(number: float, one: str, many: str | None = None) -> str:
    """`1 call`, `1,234 calls`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


# ------------------------------------------------------------------------------------------------------------
# bars

_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def bar(
    style: Style,
    cells: int,
    low: Number,
    high: Number | None = None,
    *,
    mark: Number | None = None,
    look: str = "green",
) -> str:
    """A bar for `low` of 100, what may still come up to `high` shaded, a line at `mark`.

    It never reaches the mark when the number does not: every length is cut, as the numbers are.
    """
    full, eighths = divmod(_cut_share(low, cells * 8), 8)
    if not style.unicode:
        eighths = 0
    maybe = -_cut_share(-exact(high), cells) if high is not None and high > low else 0
    line_at = None if not mark or mark <= 0 else min(_cut_share(mark, cells), cells - 1)
    drawn = _cells(full, eighths, maybe, line_at, cells, style.unicode)
    runs = ((role, "".join(char for _, char in run)) for role, run in groupby(drawn, itemgetter(0)))
    return "".join(style.paint(chars, *_ROLE_LOOKS.get(role, (look,))) for role, chars in runs)


_ROLE_LOOKS: Final = {"track": ("dim",), "maybe": ("yellow",), "mark": ("bold",)}


def _cut_share(value: Number | Fraction, cells: int) -> int:
    shifted = max(-Fraction(100), min(exact(value), Fraction(100))) * cells / 100
    return shifted.numerator // shifted.denominator


def _cells(
    full: int, eighths: int, maybe: int, line_at: int | None, cells: int, blocks: bool
) -> Iterator[tuple[str, str]]:
    """The role and the character of each cell of a bar."""
    fill, shade, track, stroke = "█▒░┃" if blocks else "#?.|"
    for cell in range(cells):
        if cell == line_at:
            yield "mark", stroke
        elif cell < full:
            yield "fill", fill
        elif cell == full and eighths:
            yield "fill", _EIGHTHS[eighths]
        elif cell < maybe:
            yield "maybe", shade
        else:
            yield "track", track
