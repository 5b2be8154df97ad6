"""The figures of the HTML page as inline SVG, in percent of their width so that letters keep their size on a phone.

Each has its numbers in words for who cannot see it; colour never stands alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

from honestone.core.numbers import exact
from honestone.report.draw import Number, count
from honestone.report.html_text import esc_line

_HATCH: Final = (
    '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="fill failed" width="2.5" height="5"/></pattern></defs>'
)
KINDS: Final = ("passed", "failed", "inconclusive")


def share_bar(low: Number, high: Number, *, mark: Number | None, look: str, says: str, height: int = 12) -> str:
    """A bar for `low` of 100, what may still come up to `high` shaded, a line where `mark` stands."""
    parts = [_rect("track", 0, 100, height)]
    if high > low:
        parts.append(_rect("maybe", low, high - low, height))
    if low > 0:
        parts.append(_rect(f"fill {look}", 0, low, height))
    if mark:
        parts.append(f'<line class="tick" x1="{_at(mark)}" x2="{_at(mark)}" y1="-2" y2="{height + 2}"/>')
    return _svg(height, says, parts)


def _rect(look: str, start: Number, wide: Number, height: int) -> str:
    return f'<rect class="{look}" x="{_at(start)}" width="{_at(wide)}" height="{height}" rx="1.5"/>'


def _at(percent: Number | Fraction) -> str:
    """A place as a percentage, never outside."""
    return f"{float(max(0, min(percent, 100))):.2f}%"


def _svg(height: int, says: str, parts: Sequence[str]) -> str:
    return f'<svg height="{height}" role="img" aria-label="{esc_line(says)}">{"".join(parts)}</svg>'


# ----------------------------------------------------------------------------------------------------------- histogram


def histogram(scores: Sequence[tuple[Number, str]]) -> str:
    """How many cases (score 0-100, status) scored how much, in steps of 10, stacked by status."""
    bins: list[dict[str, int]] = [dict.fromkeys(KINDS, 0) for _ in range(10)]
    for score, status in scores:
        bins[max(0, min(int(score // 10), 9))][status if status in KINDS else "inconclusive"] += 1
    highest = max(sum(one.values()) for one in bins) or 1
    floor, tallest = 136, 112
    parts = [_HATCH]
    for index, one in enumerate(bins):
        top = Fraction(floor)
        for kind in KINDS:
            if one[kind]:
                tall = Fraction(one[kind] * tallest, highest)
                top -= tall
                parts.append(_block(kind, index, top, tall))
        total = sum(one.values())
        if total:
            parts.append(f'<text x="{index * 10 + 5}%" y="{float(top) - 4:.1f}" text-anchor="middle">{total:,}</text>')
    parts.append(f'<line class="axis" x1="0" x2="100%" y1="{floor}" y2="{floor}"/>')
    for at in range(0, 101, 20):
        anchor = "start" if at == 0 else "end" if at == 100 else "middle"
        parts.append(f'<text x="{at}%" y="{floor + 16}" text-anchor="{anchor}">{at}</text>')
    return _svg(floor + 20, _told(bins), parts)


def _block(kind: str, index: int, top: Fraction, tall: Fraction) -> str:
    looks = {
        "passed": 'class="fill passed"',
        "failed": 'fill="url(#hatch)" class="outlined"',
        "inconclusive": 'class="maybe"',
    }
    place = f'x="{index * 10 + 0.8}%" width="8.4%" y="{float(top):.2f}" height="{float(tall):.2f}"'
    return f"<rect {looks[kind]} {place}/>"


def _told(bins: Sequence[Mapping[str, int]]) -> str:
    told = []
    for index, one in enumerate(bins):
        kinds = [f"{number:,} {kind}" for kind, number in one.items() if number]
        if kinds:
            told.append(f"{index * 10} to {index * 10 + 10}: {', '.join(kinds)}")
    return "Cases by score. " + "; ".join(told)


# ---------------------------------------------------------------------------------------------------------- comparison


def difference(value: Number, interval: Sequence[Number] | None, reach: Number, says: str) -> str:
    """A difference as a dot with its interval, on a scale from -reach to reach with 0 in the middle."""
    low, high = interval or (value, value)
    place = [_at(50 + exact(one) * 50 / exact(reach)) for one in (low, value, high)]
    return _svg(
        22,
        says,
        [
            '<line class="grid" x1="0" x2="100%" y1="11" y2="11"/><line class="axis" x1="50%" x2="50%" y1="0" y2="22"/>',
            f'<line class="pair" x1="{place[0]}" x2="{place[2]}" y1="11" y2="11"/>',
            f'<circle class="after" cx="{place[1]}" cy="11" r="5"/>',
        ],
    )


def reach_of(values: Sequence[Number | None]) -> Number:
    """A scale that shows all of them, 5 points at least."""
    return max([5, *(abs(value) for value in values if value is not None)]) * 1.05


def pair(before: Number | None, after: Number | None, says: str) -> str:
    """Two scores of one case from 0 to 100: a ring before, a dot after, a line between (dashed when it fell)."""
    parts = ['<line class="grid" x1="0" x2="100%" y1="9" y2="9"/>']
    if before is not None and after is not None:
        look = "up" if after > before else "down" if after < before else ""
        parts.append(f'<line class="pair {look}" x1="{_at(before)}" x2="{_at(after)}" y1="9" y2="9"/>')
    if before is not None:
        parts.append(f'<circle class="before" cx="{_at(before)}" cy="9" r="4.5"/>')
    if after is not None:
        parts.append(f'<circle class="after" cx="{_at(after)}" cy="9" r="4.5"/>')
    return _svg(18, says, parts)


def scored_words(number: int) -> str:
    return count(number, "case with a score", "cases with a score")
