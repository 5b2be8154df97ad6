"""Ids of runs: ULIDs that sort by time and hold it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.record.runs import moment_of_run, run_id

MOMENTS = st.integers(0, 2**48 - 1)
CHANCES = st.integers(0, 2**80 - 1)


@given(MOMENTS, CHANCES, MOMENTS, CHANCES)
def test_ids_sort_by_their_moment_and_after_the_last(
    one: int, chance: int, two: int, other: int
) -> None:
    """The moment can be read back; after a clock that was set back an id still comes after the last
    one.
    """
    first = run_id(one, chance, last="")
    assert len(first) == 26 and moment_of_run(first) == one
    second = run_id(two, other, last=first)
    assert second > first
    if two > one:
        assert moment_of_run(second) == two


def test_what_is_not_a_ulid_has_no_moment() -> None:
    assert [moment_of_run(id) for id in ("", "my run", "01JRUN-ILOU")] == [0, 0, 0]
