"""What tasks want of the store in one turn of the event loop is done in one go, also where one of
them is cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.system.together import Together


@given(st.lists(st.lists(st.integers(), max_size=4), min_size=1, max_size=6))
def test_each_wish_is_met_once_and_those_of_one_turn_together(turns: list[list[int]]) -> None:
    """Every task gets what was found for all of its turn; nothing is asked of the store in a turn
    without a wish.
    """
    asked: list[list[int]] = []

    def act(wishes: Sequence[int]) -> dict[int, int]:
        asked.append(list(wishes))
        return {one: one * one for one in wishes}

    async def run() -> None:
        together = Together[int, dict[int, int]](act)
        for wishes in turns:
            found = await asyncio.gather(*(together(one) for one in wishes))
            assert [each[one] for one, each in zip(wishes, found, strict=True)] == [
                one * one for one in wishes
            ]

    asyncio.run(run())
    assert asked == [wishes for wishes in turns if wishes]


def test_what_fails_fails_for_all_who_wished() -> None:
    """A full disk is an error of every task whose words are not on record, and not of the next
    turn's.
    """
    calls: list[int] = []

    def act(wishes: Sequence[str]) -> None:
        calls.append(len(wishes))
        if "bad" in wishes:
            raise OSError("full")

    async def run() -> None:
        together = Together[str, None](act)
        found = await asyncio.gather(together("good"), together("bad"), return_exceptions=True)
        assert [str(one) for one in found] == ["full", "full"]
        await together("good")

    asyncio.run(run())
    assert calls == [2, 1]


@pytest.mark.parametrize("others", [0, 3])
def test_a_cancelled_task_leaves_its_words_on_record(others: int) -> None:
    """An interrupted command has recorded what was judged, whoever was to write it."""
    kept: list[str] = []

    async def run() -> None:
        together = Together[str, None](kept.extend)
        tasks = [asyncio.create_task(together(f"task {n}")) for n in range(others + 1)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError) and found[1:] == [None] * others

    asyncio.run(run())
    assert sorted(kept) == [f"task {n}" for n in range(others + 1)]
