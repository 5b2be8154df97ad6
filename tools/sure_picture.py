"""Draws docs/pictures/sure.svg: how sure a verdict is after each look, by the program's own beliefs.
`make pictures` calls it.

Two texts, eight items that all have to be met, three judges in turn. One text meets all, the other
seven; each judge misreads a mark now and then.
"""

from __future__ import annotations

from fractions import Fraction
from html import escape
from pathlib import Path
from typing import Final

from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Item, Rubric

PICTURE: Final = Path(__file__).parent.parent / "docs/pictures/sure.svg"
ITEMS: Final = [f"p{number}" for number in range(8)]
BAR: Final = 0.95
MOST: Final = 12
# The items that a look says no to, look by look. The third item of the second text is unmet.
GOOD: Final = [["p4"], [], ["p1"], [], [], [], [], [], [], [], [], []]
NOT_GOOD: Final = [[], ["p2"], ["p2", "p6"], *[["p2"]] * 9]
LEFT, TOP, WIDTH, HEIGHT = 70, 30, 560, 260
COLOURS: Final = {"good": "#1a7f37", "not good": "#b42318", "open": "#667085"}


def rubric() -> Rubric:
    criteria = tuple(
        Criterion(id=id, requirement=id, items=(Item(id=id, requirement=id, whole=True),))
        for id in ITEMS
    )
    return Rubric(criteria=criteria, threshold=Fraction(1), floor=Fraction(0))


def course(noes: list[list[str]]) -> list[float]:
    """P(all items are met) after each look, to the one that decides."""
    belief, found = TextBelief(rubric()), []
    for look, wrong in enumerate(noes):
        marks = {(id, id): Mark(id not in wrong) for id in ITEMS}
        belief.see("abc"[look % 3], marks)
        found.append(belief.probability or 0.0)
        if look and not 1.0 - BAR < found[-1] < BAR:
            break
    return found


def place(look: int, chance: float) -> tuple[float, float]:
    return LEFT + WIDTH * look / MOST, TOP + HEIGHT * (1.0 - chance)


def line(chances: list[float], colour: str, words: str) -> str:
    points = [place(look + 1, chance) for look, chance in enumerate(chances)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>' for x, y in points)
    x, y = points[-1]
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>{dots}'
        f'<text x="{x + 10:.1f}" y="{y - 10:.1f}" fill="{colour}">{escape(words)}</text>'
    )


def rule(chance: float, words: str) -> str:
    x, y = place(0, chance)
    return (
        f'<line x1="{x:.1f}" x2="{x + WIDTH:.1f}" y1="{y:.1f}" y2="{y:.1f}"'
        f' stroke="{COLOURS["open"]}" stroke-dasharray="4 4"/>'
        f'<text x="{x - 8:.1f}" y="{y + 4:.1f}" text-anchor="end" fill="{COLOURS["open"]}">{words}</text>'
    )


def picture() -> str:
    good, not_good = course(GOOD), course(NOT_GOOD)
    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 350" role="img">',
        "<style>text { font: 13px sans-serif }</style>",
        '<rect width="700" height="350" fill="#ffffff"/>',
        rule(BAR, "95%"),
        rule(0.5, "50%"),
        rule(1.0 - BAR, "5%"),
        line(good, COLOURS["good"], f"pass after {len(good)} looks (eight of eight are met)"),
        line(not_good, COLOURS["not good"], f"fail after {len(not_good)} looks (seven are)"),
    ]
    for look in range(1, MOST + 1):
        x, _ = place(look, 0.0)
        parts.append(
            f'<text x="{x:.1f}" y="{TOP + HEIGHT + 28}" text-anchor="middle"'
            f' fill="{COLOURS["open"]}">{look}</text>'
        )
    parts.append(f'<text x="{LEFT}" y="340" fill="{COLOURS["open"]}">looks of three judges</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
