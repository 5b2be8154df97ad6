"""The table of two commits: what is compared is measured in the same round, and each side is first
as often.
"""

from __future__ import annotations

from collections.abc import Iterator

from commits import Figure, interleaved, table


def test_both_sides_are_measured_in_each_round_and_take_turns() -> None:
    """In every other round the second one is first."""
    seen: list[str] = []

    def of(side: str, value: float) -> Iterator[Figure]:
        seen.append(side)
        yield Figure("show", "ms", value * len(seen))

    sides = {
        side: [lambda side=side, value=value: of(side, value)]
        for side, value in (("old", 200.0), ("here", 100.0))
    }
    got = interleaved(sides, 3)
    assert seen == ["old", "here", "here", "old", "old", "here"]
    assert list(got["old"].values()) == [[200.0, 800.0, 1000.0]]
    assert list(got["here"].values()) == [[200.0, 300.0, 600.0]]


def test_a_ratio_is_taken_within_a_round() -> None:
    """Its median is that of the rounds and not of the figures next to it."""
    one = Figure("show", "ms", 0.0)
    lines = table(
        {"old": {one: [100.0, 200.0, 400.0]}, "here": {one: [50.0, 150.0, 100.0]}}, "old", "here"
    )
    assert lines[0] == "| what | old | here | ratio |"
    assert lines[2] == "| show | 200 ms (100-400) | 100 ms (50-150) | 0.50x (0.25-0.75) |"
