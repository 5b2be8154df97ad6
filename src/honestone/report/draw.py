"""Drawing with characters: numbers and bars in words and blocks, and the text of `system.drawing`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, TypeAlias

from honestone.core.numbers import exact, show_bar, show_points
from honestone.system.drawing import (
    GLYPHS,
    LOOKS,
    NARROWEST,
    WIDEST,
    Style,
    clean,
    clusters,
    count,
    cut,
    cut_middle,
    line,
    pad,
    width,
    wrap,
)

__all__ = [
    "GLYPHS",
    "LOOKS",
    "NARROWEST",
    "WIDEST",
    "Style",
    "bar",
    "bar_number",
    "change",
    "change_words",
    "clean",
    "clusters",
    "count",
    "cut",
    "cut_middle",
    "duration_words",
    "line",
    "money",
    "pad",
    "percent",
    "points",
    "rate_words",
    "score_or_interval",
    "width",
    "wrap",
]

Number: TypeAlias = int | float

# ------------------------------------------------------------------------------------------------------------ numbers


def points(value: Number | None) -> str:
    """A score 0-100 with one decimal, cut: 69.99 is 69.9. Without one: n/a."""
    return "n/a" if value is None else show_points(exact(value) / 100)


def bar_number(value: Number | None) -> str:
    """A threshold, floor or weight as it was written: 70, 72.5, -10."""
    return "" if value is None else show_bar(exact(value) / 100)


def score_or_interval(score: Number | None, interval: Sequence[Number] | None) -> str:
    """A score, or what is known of it: `50.0-100.0`."""
    if score is not None or not interval:
        return points(score)
    low, high = interval
    return f"{points(low)}-{points(high)}"


def change(before: Number | None, after: Number | None, minus: str = "−") -> str:
    """The difference of two scores as they are shown: +18.8, −2.0, 0.0. Empty when one is unknown."""
    if before is None or after is None:
        return ""
    by = Fraction(points(after)) - Fraction(points(before))
    sign = "+" if by > 0 else minus if by < 0 else ""
    return sign + show_points(abs(by) / 100)


def percent(rate: Number | None) -> str:
    """A rate 0-1 as a percentage, cut: 2 of 3 is 66.6%."""
    return "n/a" if rate is None else f"{show_points(exact(rate))}%"


def rate_words(rate: Number | None, interval: Sequence[Number] | None) -> str:
    """`75.0%`, or what is known of it: `between 50.0% and 75.0%`."""
    if rate is None and interval:
        low, high = interval
        return percent(low) if low == high else f"between {percent(low)} and {percent(high)}"
    return percent(rate)


def change_words(by: Fraction | Number | None, minus: str = "−") -> str:
    """A difference of points with its sign, cut: +25.0, −3.1, 0.0."""
    if by is None:
        return "n/a"
    told = show_points(abs(exact(by)) / 100)
    return told if told == "0.0" else (minus if by < 0 else "+") + told


def duration_words(milliseconds: Number | None) -> str:
    """`12 ms`, `3.4 s`, `2 min 5 s`, `1 h 2 min`; empty where it was not measured."""
    if milliseconds is None:
        return ""
    if milliseconds < 1000:
        return f"{int(milliseconds)} ms"
    seconds = int(milliseconds) // 1000
    if seconds < 60:
        return f"{int(milliseconds) // 100 / 10:.1f} s"
    if seconds < 3600:
        return f"{seconds // 60} min {seconds % 60} s"
    return f"{seconds // 3600:,} h {seconds % 3600 // 60} min"


def money(usd: float) -> str:
    return f"${usd:,.2f}" if usd >= 1 or usd == 0 else f"${usd:.4f}"


# ------------------------------------------------------------------------------------------------------------ bars

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
    """A bar for `low` of 100, what may still come up to `high` shaded, a line where `mark` stands.

    It never reaches the mark when the number does not: every length is cut, as the numbers are.
    """
    full, eighths = divmod(_cut_share(low, cells * 8), 8)
    if not style.unicode:
        eighths = 0
    maybe = -_cut_share(-exact(high), cells) if high is not None and high > low else 0
    line_at = None if not mark or mark <= 0 else min(_cut_share(mark, cells), cells - 1)
    drawn = ""
    for role, chars in _runs(full, eighths, maybe, line_at, cells, style.unicode):
        drawn += style.paint(chars, *_ROLE_LOOKS.get(role, (look,)))
    return drawn


_ROLE_LOOKS: Final = {"track": ("dim",), "maybe": ("yellow",), "mark": ("bold",)}


def _cut_share(value: Number | Fraction, cells: int) -> int:
    shifted = max(-Fraction(100), min(exact(value), Fraction(100))) * cells / 100
    return shifted.numerator // shifted.denominator


def _runs(
    full: int, eighths: int, maybe: int, line_at: int | None, cells: int, blocks: bool
) -> Iterator[tuple[str, str]]:
    """The bar as runs of one role each, so that a run is coloured once."""
    fill, shade, track, stroke = "█▒░┃" if blocks else "#?.|"
    held_role, held = "", ""
    for cell in range(cells):
        if cell == line_at:
            role, char = "mark", stroke
        elif cell < full:
            role, char = "fill", fill
        elif cell == full and eighths:
            role, char = "fill", _EIGHTHS[eighths]
        elif cell < maybe:
            role, char = "maybe", shade
        else:
            role, char = "track", track
        if role != held_role and held:
            yield held_role, held
            held = ""
        held_role, held = role, held + char
    if held:
        yield held_role, held
