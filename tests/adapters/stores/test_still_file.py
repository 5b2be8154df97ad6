"""Reading a store leaves nothing next to it, and is safe while others write."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from adapters.stores.test_sqlite import processes, start
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.adapters.stores.unfinished import FILE, unfinished_loops
from honestone.core.errors import StoreError


def settle(folder: Path, at: float = 1e9) -> None:
    """Nobody has written to it since then."""
    os.utime(folder / FILE, (at, at))


def listed(folder: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with a loop of three events, which nobody has open."""
    store = SqliteStore(tmp_path)
    store.append_many(start(store, kind="improve"), [{"type": "check"}] * 2)
    store.close()
    settle(tmp_path)
    return tmp_path


def test_reading_leaves_no_file_and_changes_none(folder: Path) -> None:
    """Neither SQLite's shared memory nor its log, also while the store is still open."""
    before = listed(folder)
    reader = SqliteStore(folder, readonly=True)
    assert len(reader.events(reader.find_run("last").id)) == 3 and listed(folder) == before
    reader.close()
    assert unfinished_loops(folder) == [(reader_run(folder), 3)] and listed(folder) == before


def reader_run(folder: Path) -> str:
    reader = SqliteStore(folder, readonly=True)
    try:
        return reader.find_run("last").id
    finally:
        reader.close()


@pytest.mark.parametrize("closes", [False, True])
def test_what_others_write_is_seen_by_the_next_read(folder: Path, closes: bool) -> None:
    """Whether it is still in SQLite's log, or in the file already."""
    reader = SqliteStore(folder, readonly=True)
    run = reader.find_run("last").id
    for count in (4, 5):
        writer = SqliteStore(folder)
        writer.append(run, {"type": "check"})
        if closes:
            writer.close()
            settle(folder, 1e9 + count)
        assert len(reader.events(run)) == count == len(list(reader.iter_events(run)))
        writer.close()
    reader.close()


def test_a_read_across_a_checkpoint_is_refused(folder: Path) -> None:
    """Half of it may be from before and half from after; the command can be run again."""
    reader = SqliteStore(folder, readonly=True)
    run = reader.find_run("last").id
    events = reader.iter_events(run)
    next(events)
    writer = SqliteStore(folder)
    writer.append(run, {"type": "check"})
    assert next(events), "the file is as it was: what is new is in the log"
    writer.close()
    with pytest.raises(StoreError, match="written to while it was read") as error:
        list(events)
    assert error.value.hint == "run the command again"
    assert len(reader.events(run)) == 4
    reader.close()


@pytest.mark.slow
@pytest.mark.starts_processes
def test_readers_and_writers_at_once(tmp_path: Path) -> None:
    """Each read is of one moment, without a gap, and never has fewer events than one before."""
    SqliteStore(tmp_path).close()
    found = processes(
        4,
        tmp_path,
        """\
        import os
        from honestone.core.errors import StoreError
        if number == 0:
            for _ in range(60):
                store = SqliteStore(folder)
                runs = store.runs()
                run = runs[0].id if runs else store.start_run(
                    kind="eval", subject="a", identity="i", contract="c", first={"type": "started"})
                store.append_many(run, [{"type": "check"}] * 5)
                store.close()
                os.utime(folder / "store.db", (1e9 + _, 1e9 + _))
        seen = 0
        for _ in range(150):
            store = SqliteStore(folder, readonly=True)
            try:
                runs = store.runs()
                events = store.events(runs[0].id) if runs else []
            except StoreError as error:
                assert "written to while" in error.message, error
                continue
            finally:
                store.close()
            assert len(events) >= seen and len(events) % 5 in (0, 1)
            seen = len(events)
        print(seen)
        """,
    )
    assert found[0].strip() == "301"
