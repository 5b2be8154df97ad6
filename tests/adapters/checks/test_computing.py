"""Checks that only compute do not keep signals, deadlines and other work waiting."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.checks import computing
from honestone.adapters.checks.checker import CheckRunner
from honestone.app.event_loop import run_in_thread
from honestone.core.artifact import Entry, Version
from honestone.core.checking.check_problems import read_check
from honestone.ports import Finding, Output
from honestone.system.processes import process

FOREVER = "a" * 3000 + "!"
FOLDER = Version({"a.md": Entry(b"[x](b.md)\n"), "b.md": Entry(b"aaa!\n")}, is_folder=True)
# A check of each way to compute, and whether it is met.
WRITTEN = [
    ({"regex": "(a)+!"}, False),
    ({"regex": "(a)+!", "path": "b.md"}, True),
    ({"not-regex": "(a)+!", "path": "*.md"}, False),
    ({"links-resolve": True}, True),
    ({"file-exists": ["a.md", "c.md"]}, False),
    ({"is-json": True}, True),
    ({"contains-json": {"type": "object", "required": ["b"]}}, False),
    ({"json-schema": {"properties": {"a": {"pattern": "^a+$"}}}}, True),
    ({"levenshtein": '{"a": "aaz"}'}, True),
    ({"latency": 5}, None),
]


def run(*written: dict[str, Any], text: str = '{"a": "aaa"}') -> list[Finding]:
    checks = [read_check(one) for one in written]
    runner = CheckRunner(Path())
    return asyncio.run(runner.run(checks, FOLDER, Output(text=text, files=FOLDER)))


@pytest.fixture
def no_time_here(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Nothing is done in the time that a check has where it is asked for; what a process of its own
    is given is collected.
    """
    started: list[bytes] = []
    ran = process.run

    def broken_off(compute: object, seconds: float, error: type[BaseException]) -> None:
        raise error

    async def noted(*words: Any, **more: Any) -> process.Ended:
        started.append(more["stdin"])
        return await ran(*words, **more)

    monkeypatch.setattr(computing.text_checks, "in_time", broken_off)
    monkeypatch.setattr(computing.text_checks, "needs_time", lambda *_: True)
    monkeypatch.setattr(computing, "_is_short", lambda *_: False)
    monkeypatch.setattr(process, "run", noted)
    return started


@pytest.mark.parametrize(("written", "met"), WRITTEN, ids=lambda one: str(one)[:30])
def test_a_process_of_its_own_finds_the_same(
    written: dict[str, Any], met: bool | None, request: pytest.FixtureRequest
) -> None:
    """Verdict and note, for every way to compute."""
    (here,) = run(written)
    assert here.met is met
    started = request.getfixturevalue("no_time_here")
    assert run(written) == [here] and len(started) == 1


def test_what_is_raised_there_is_raised_here(no_time_here: list[bytes]) -> None:
    """A bound that is met is no answer, and a schema that is not there is the person's mistake."""
    (deep,) = run({"contains-json": True}, text="[" * 100_000)
    assert deep.met is None and deep.note
    with pytest.raises(computing.HonestoneError, match=r"nowhere\.json"):
        run({"json-schema": "nowhere.json"})


def test_a_check_that_takes_for_ever_ends_at_the_limit_of_checks(no_time_here: list[bytes]) -> None:
    """It is neither met nor unmet."""
    check = read_check({"not-regex": "(a+)+$", "path": "*"})
    many = Version({f"{n}.md": Entry(FOREVER.encode()) for n in range(99)}, is_folder=True)
    lone = read_check({"not-regex": "(a+)+$"})
    runner = CheckRunner(Path(), timeout=0.5)
    for found in asyncio.run(runner.run([check, lone], many, Output(text=FOREVER, files=many))):
        assert found.met is None and "more than 0.5 s" in str(found.note)


def test_other_work_goes_on_meanwhile_and_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the main thread and in another one: whoever waits for a check can be cancelled."""
    monkeypatch.setattr(computing, "HERE_SECONDS", 0.01)
    check = read_check({"json-schema": {"pattern": "(a+)+$"}})
    output = Output(text=f'"{FOREVER}"')

    async def cancelled() -> str:
        begun = asyncio.Event()
        ran = process.run

        async def noted(*words: Any, **more: Any) -> process.Ended:
            begun.set()
            return await ran(*words, **more)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process, "run", noted)
            asking = asyncio.create_task(CheckRunner(Path()).run([check], FOLDER, output))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        return "ended"

    assert asyncio.run(cancelled()) == "ended"
    assert asyncio.run(run_in_thread(lambda: asyncio.run(cancelled()))) == "ended"


@given(st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=4))
def test_checks_asked_together_are_answered_in_their_order(
    asked: list[tuple[dict[str, Any], bool | None]],
) -> None:
    """Whichever of them are compiled, need time or look at files."""
    assert [one.met for one in run(*(written for written, _ in asked))] == [met for _, met in asked]
