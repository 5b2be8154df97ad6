"""Checks that only compute do not keep signals, deadlines and other work waiting."""

from __future__ import annotations

import asyncio
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.checks import computing
from honestone.adapters.checks import text as text_checks
from honestone.adapters.checks.check_input import Setting, Subject
from honestone.adapters.checks.checker import CheckRunner
from honestone.app.event_loop import run_in_thread
from honestone.core.artifact import Entry, Version
from honestone.core.checking import added_kinds
from honestone.core.checking.check_problems import read_check
from honestone.core.checking.checks import OWN, AddedCheck, Kind
from honestone.core.suite.trace import Trace
from honestone.ports import Finding, Output
from honestone.system.processes import groups, process

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
    monkeypatch.setattr(computing, "is_short", lambda *_: False)
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


@pytest.mark.slow
def test_what_is_raised_there_is_raised_here(no_time_here: list[bytes]) -> None:
    """A bound that is met is no answer, and a schema that is not there is the person's mistake."""
    (deep,) = run({"contains-json": True}, text="[" * 100_000)
    assert deep.met is None and deep.note
    with pytest.raises(computing.HonestoneError, match=r"nowhere\.json"):
        run({"json-schema": "nowhere.json"})


@pytest.mark.slow
def test_a_check_that_takes_for_ever_ends_at_the_limit_of_checks(no_time_here: list[bytes]) -> None:
    """It is neither met nor unmet."""
    check = read_check({"not-regex": "(a+)+$", "path": "*"})
    many = Version({f"{n}.md": Entry(FOREVER.encode()) for n in range(99)}, is_folder=True)
    lone = read_check({"not-regex": "(a+)+$"})
    runner = CheckRunner(Path(), timeout=0.5)
    for found in asyncio.run(runner.run([check, lone], many, Output(text=FOREVER, files=many))):
        assert found.met is None and "more than 0.5 s" in str(found.note)


# ------------------------------------------------------------------------------------------------------
# a process that ends before it has answered


def child(change: str) -> str:
    """The process, changed before it answers. `find(check, subject)` is what it did."""
    return f"""
import os, pickle, sys
sys.path[:] = pickle.load(sys.stdin.buffer)
from honestone.adapters.checks import computing
find = computing._outcome
{change}
computing.main()
"""


DIES = """
def dies(check, subject):
    if check.value == "(b)+":
        os.kill(os.getpid(), 9)
    return find(check, subject)
computing._outcome = dies
"""


def test_a_process_that_dies_leaves_the_others_their_answers(
    no_time_here: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One process has them all. Where it dies, another one tries what it was at, and the next goes
    on after that.
    """
    monkeypatch.setattr(computing, "_CHILD", child(DIES))
    found = run(*({"regex": pattern} for pattern in ("(a)+", "(b)+", "(c)+", "(a)+")))
    assert [one.met for one in found] == [True, None, False, True]
    assert found[1].note == "its process failed: ended by signal 9" and len(no_time_here) == 3


def test_what_is_printed_there_is_no_answer(
    no_time_here: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By Python, or by a library below it."""
    prints = "computing._outcome = lambda *asked: (print('1'), os.write(1, b'2'), find(*asked))[2]"
    monkeypatch.setattr(computing, "_CHILD", child(prints))
    assert [one.met for one in run({"regex": "(a)+"}, {"regex": "(b)+"})] == [True, False]


def test_what_cannot_be_told_could_not_be_judged(no_time_here: list[bytes]) -> None:
    """A function may return a run that holds anything."""
    check = read_check({"latency": 5})
    output = Output(text="", trace=Trace(extra=cast(Any, {"held": lambda: None})))
    (found,) = asyncio.run(CheckRunner(Path()).run([check], FOLDER, output))
    assert found.met is None and "no process can be given it" in str(found.note)


def test_it_imports_from_where_we_do(
    no_time_here: list[bytes], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """What is in front of the environment's packages here is so there."""
    import_module("jsonschema")
    (tmp_path / "jsonschema.py").write_text("raise ImportError")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(computing.HonestoneError, match="needs the library jsonschema"):
        run({"json-schema": {"type": "object"}})


@pytest.mark.slow
def test_it_ends_where_nobody_is_left_to_end_it(no_time_here: list[bytes]) -> None:
    """Its processor time is limited to that of checks, whatever it computes."""
    check = read_check({"not-regex": "(a+)+$", "path": "*"})
    many = Version({f"{n}.md": Entry(FOREVER.encode()) for n in range(99)}, is_folder=True)
    asyncio.run(CheckRunner(Path(), timeout=0.01).run([check], many))
    alone = [sys.executable, "-I", "-c", computing._CHILD]
    ended = subprocess.run(alone, input=no_time_here[0], capture_output=True)
    assert ended.returncode == -signal.SIGXCPU


# ------------------------------------------------------------------------------------------------------
# other work


@pytest.mark.parametrize(
    "written",
    [
        {"json-schema": {"pattern": "(a+)+$"}},
        {"not-regex": "(a+)+$"},
        {"not-regex": "(a+)+$", "path": "*"},
    ],
    ids=str,
)
def test_other_work_goes_on_meanwhile_and_ends_it(
    written: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the main thread and in another one: whoever waits for a check can be cancelled, and no
    process is left.
    """
    monkeypatch.setattr(computing, "HERE_SECONDS", 0.01)
    check, output = read_check(written), Output(text=f'"{FOREVER}"')
    running = set(groups._LIVE)
    watch = groups.watch_group

    async def cancelled() -> str:
        begun, loop = asyncio.Event(), asyncio.get_running_loop()

        def watched(group: int) -> None:
            watch(group)
            loop.call_soon_threadsafe(begun.set)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(process, "watch_group", watched)
            asking = asyncio.create_task(CheckRunner(Path()).run([check], FOLDER, output))
            await begun.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        return "ended" if running == groups._LIVE else "left"

    assert asyncio.run(cancelled()) == "ended"
    assert asyncio.run(run_in_thread(lambda: asyncio.run(cancelled()))) == "ended"


def test_others_have_their_turn_between_checks() -> None:
    """Many checks in a row, each of them over in time, keep nobody waiting."""
    checks = [read_check({"contains-json": {"required": [str(n)]}}) for n in range(20)]

    async def turns() -> int:
        asking = asyncio.create_task(CheckRunner(Path()).run(checks, FOLDER, Output(text="{}")))
        turns = 0
        while not asking.done():
            turns += 1
            await asyncio.sleep(0)
        return turns

    assert asyncio.run(turns()) >= len(checks)


@pytest.mark.parametrize("place", [{}, {"path": "*.md"}])
def test_a_kind_of_another_package_is_never_broken_off(
    place: dict[str, str], no_time_here: list[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor made in another process, which may not have what it needs."""
    looked: list[str] = []

    def look(value: object) -> Callable[[str], str | None]:
        return lambda text: looked.append(text)

    words = {"doc": "", "takes": "", "schema": {}, "example": "", "family": "text"}
    kind = Kind(**cast(Any, words), options=OWN["contains"].options, package="x 1")
    added = {"theirs": lambda: AddedCheck(kind=kind, look=look)}
    monkeypatch.setattr(added_kinds, "FINDERS", [lambda: added])
    monkeypatch.setattr(computing.text_checks, "needs_time", lambda *_: False)
    (found,) = run({"theirs": True, **place})
    assert found.met and looked and no_time_here == []


def test_an_import_is_not_broken_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The time is up while a module is read: it is up once the module is whole."""
    rung: list[object] = []
    monkeypatch.setattr(sys.modules[__name__], "RUNG", rung)
    alarm = text_checks._Alarm.__call__

    def noted(self: text_checks._Alarm, number: int, frame: FrameType | None) -> None:
        rung.append(number)
        alarm(self, number, frame)

    monkeypatch.setattr(text_checks._Alarm, "__call__", noted)
    name = "read_while_time_is_up"
    words = f"import sys\nwhile len(sys.modules[{__name__!r}].RUNG) < 2: pass\nis_whole = True\n"
    (tmp_path / f"{name}.py").write_text(words)
    monkeypatch.syspath_prepend(tmp_path)

    def compute() -> None:
        import_module(name)
        while True:
            pass

    with pytest.raises(text_checks.TookTooLong):
        text_checks.in_time(compute, 0.01)
    assert sys.modules.pop(name).is_whole and len(rung) >= 2


RUNG: list[object] = []


# ------------------------------------------------------------------------------------------------------
# what is over at once

SHORT = [
    {"is-json": True},
    {"links-resolve": True},
    {"file-exists": ["*.md", "docs/**/*.md"]},
    {"json-schema": {"type": "object", "properties": {"a": {"type": "string"}}}},
    {"regex": "a+b", "path": "*.md"},
    {"rouge-n": "aaa"},
]
LONG = [
    {"links-resolve": True, "beside": "docs"},
    {"file-exists": "*a*a*a*a*a*a*b"},
    {"is-json": True, "path": "*a*a*a*a*a*a*b"},
    {"json-schema": {"items": {"anyOf": [{"$ref": "#"}, {"$ref": "#"}]}}},
    {"json-schema": {"items": {"$dynamicRef": "#"}}},
    {"json-schema": {"uniqueItems": True}},
    {"json-schema": {"properties": {"a": {"pattern": "(a+)+$"}}}},
    {"json-schema": "schema.json"},
    {"json-schema": {"allOf": [{"minimum": n} for n in range(20_000)]}},
    {"regex": "(a+)+$", "path": "*.md"},
    {"tool-calls": ["*a*a*a*a*b"]},
]


@pytest.mark.parametrize(
    ("written", "is_short"),
    [*((one, True) for one in SHORT), *((one, False) for one in LONG)],
    ids=lambda one: str(one)[:60],
)
def test_what_may_take_long_is_not_begun_where_nothing_can_be_broken_off(
    written: dict[str, Any], is_short: bool
) -> None:
    """However small the text is: what is over at once, and only that, needs no process."""
    output = Output(text="[[[[]]]]", files=FOLDER)
    subject = Subject(Setting(base=Path()), FOLDER, output)
    assert computing.is_short(read_check(written), subject) is is_short


@given(st.sampled_from(SHORT), st.sampled_from(["text", "name", "data"]))
def test_nothing_large_is_over_at_once(written: dict[str, Any], where: str) -> None:
    """Wherever it is large: in the text, in a file, or in the name of one."""
    size = 100_000
    name, data = "a" * size if where == "name" else "a.md", b"a" * size if where == "data" else b""
    files = Version({name: Entry(data)}, is_folder=True)
    output = Output(text="a" * size if where == "text" else "", files=files)
    subject = Subject(Setting(base=Path()), files, output)
    assert not computing.is_short(read_check(written), subject)


def test_who_needs_no_process_reads_nothing_for_one() -> None:
    """The checker is loaded at the start of many commands."""
    loads = "import sys, honestone.adapters.checks.checker as c; sys.exit('pickle' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", loads]).returncode == 0


# ------------------------------------------------------------------------------------------------------
# order


@given(st.lists(st.sampled_from(WRITTEN), min_size=1, max_size=4))
def test_checks_asked_together_are_answered_in_their_order(
    asked: list[tuple[dict[str, Any], bool | None]],
) -> None:
    """Whichever of them are compiled, need time or look at files."""
    assert [one.met for one in run(*(written for written, _ in asked))] == [met for _, met in asked]
