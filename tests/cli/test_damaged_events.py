"""Events of the store that are damaged, of an unknown kind or gone: exit 2 with the run and the
event, never an internal error.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from .desk import Desk

COMMANDS = (
    ("show", "last"),
    ("runs",),
    ("rescore", "last"),
    ("undo", "last"),
    ("judge", "read", "last"),
    ("store", "check"),
    ("eval", "note.md", "--rubric", "rubric.yaml"),
)
DATA = (
    b"{}",
    b"\x00\xff\xfe",
    b"[]",
    b'{"type":"alien"}',
    b'{"type":"judged"}',
    b'{"type":"started","kind":"other"}',
)


def damage(desk: Desk, statement: str, *values: object) -> None:
    with closing(sqlite3.connect(desk.store / "store.db")) as database:
        database.execute(statement, values)
        database.commit()


def assert_nothing_is_internal(desk: Desk, judge: str) -> None:
    for words in COMMANDS:
        more = ("--judge", judge) if words[0] == "eval" else ()
        done = desk.run(*words, *more)
        assert done.code in (0, 1, 2, 3), (words, done.err)
        assert "Traceback" not in done.err


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("data", DATA)
def test_a_damaged_event_is_named(ready: Desk, number: int, data: bytes) -> None:
    """The first, a middle and the last event of a run, with bytes that are not an event or are
    another one.
    """
    judge = ready.judge().spec
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge).code in (0, 1)
    damage(ready, "update events set data = ? where seq = ?", data, number)
    assert_nothing_is_internal(ready, judge)


@pytest.mark.parametrize("number", [1, 2])
def test_a_missing_event_is_named(ready: Desk, number: int) -> None:
    """What is there no more is not passed over."""
    judge = ready.judge().spec
    assert ready.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", judge).code in (0, 1)
    damage(ready, "delete from events where seq = ?", number)
    shown = ready.run("show", "last")
    assert shown.code == 2
    assert f"event {number} of run" in shown.err
    assert_nothing_is_internal(ready, judge)
