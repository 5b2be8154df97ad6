"""When to try again: what can be cured by waiting, for as long as was asked, within the limits."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.engine.judging.retrying import LONGEST_WAIT, next_wait, with_retries
from honestone.ports import CallFailed

unit = st.floats(0, 1)


def passing(retry_after: float | None = None) -> CallFailed:
    return CallFailed("busy", retryable=True, retry_after=retry_after)


@given(st.integers(1, 100), st.floats(0, 1000), unit)
def test_what_waiting_cannot_cure_is_never_tried_again(
    attempt: int, spent: float, chance: float
) -> None:
    """A refused key stays refused."""
    assert next_wait(CallFailed("no"), attempt, spent, jitter=lambda: chance) is None


@given(st.integers(1, 10_000), st.floats(0, 100), unit)
def test_waits_grow_to_a_bound_and_fit_into_the_total(
    attempt: int, spent: float, chance: float
) -> None:
    """No attempt number overflows, no wait is negative, none ends after the total."""
    wait = next_wait(
        passing(), attempt, spent, attempts=20_000, total_seconds=120, jitter=lambda: chance
    )
    assert wait is None or (0 < wait <= LONGEST_WAIT and spent + wait <= 120)


@given(st.floats(0, 100), unit)
def test_a_server_that_asks_for_a_wait_gets_it(asked: float, chance: float) -> None:
    """Never earlier than asked, and at most a second later."""
    wait = next_wait(passing(asked), 1, 0, total_seconds=1000, jitter=lambda: chance)
    assert wait is not None and asked <= wait <= asked + 1


def test_a_wait_that_does_not_fit_is_not_shortened() -> None:
    """Coming back before the time that was asked for would only be refused again."""
    assert next_wait(passing(100), 1, 30, total_seconds=120) is None
    assert next_wait(passing(80), 1, 30, total_seconds=120) is not None


def test_backoff_doubles() -> None:
    """Each wait is twice the one before while nothing else is said."""
    waits = [next_wait(passing(), n, 0, attempts=9, jitter=lambda: 1.0) for n in range(1, 5)]
    assert waits == [0.5, 1.0, 2.0, 4.0]


class Scene:
    """A call that fails a number of times, and a clock that only sleeping moves."""

    def __init__(self, failures: list[CallFailed]) -> None:
        self.failures = failures
        self.calls = 0
        self.now = 0.0
        self.slept: list[float] = []

    async def call(self) -> str:
        self.calls += 1
        if self.failures:
            raise self.failures.pop(0)
        return "reply"

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def run(self, **limits: float) -> str:
        return asyncio.run(
            with_retries(
                self.call,
                sleep=self.sleep,
                clock=lambda: self.now,
                jitter=lambda: 0.0,
                **limits,  # type: ignore[arg-type]
            )
        )


def test_a_call_is_tried_until_it_gives_a_reply() -> None:
    """Passing failures cost waits, not the reply."""
    scene = Scene([passing(), passing(3), passing(0)])
    assert scene.run() == "reply"
    assert scene.calls == 4 and scene.slept == [0.25, 3.0]


def test_the_last_failure_is_what_is_told() -> None:
    """When attempts are used up, the reason is that of the last one."""
    last = passing()
    scene = Scene([passing(), passing(), last])
    with pytest.raises(CallFailed) as caught:
        scene.run(attempts=3)
    assert caught.value is last and scene.calls == 3


def test_the_total_time_ends_the_trying() -> None:
    """A server that is always busy does not hold a run forever."""
    scene = Scene([passing(10) for _ in range(100)])
    with pytest.raises(CallFailed):
        scene.run(attempts=100, total_seconds=35)
    assert scene.calls == 4 and scene.now == 30


def test_other_errors_are_ours_and_pass_through() -> None:
    """A bug is not retried."""

    async def broken() -> str:
        raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        asyncio.run(with_retries(broken))
