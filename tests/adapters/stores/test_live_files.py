"""Records of runs that are under way: how often they are kept, when they are not, and what another
process reads of them.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.stores.live import STEP, LiveFiles
from honestone.core.live import BEAT, LiveRun


class Clock:
    """Stands still until it is moved."""

    now = 100.0

    def __call__(self) -> float:
        return self.now


class Counted(LiveFiles):
    """Counts its writes, and has no thread: a test says when it looks."""

    def __init__(self, folder: Path) -> None:
        self.time = Clock()
        super().__init__(folder, self.time)
        self.writes: list[tuple[float, LiveRun]] = []

    def _work(self) -> None:
        pass

    def _write(self, live: LiveRun) -> None:
        self.writes.append((self.time.now, live))
        super()._write(live)


def counting(done: list[int], run: str = "RUN") -> Callable[[], LiveRun]:
    """What says how far a run is: as far as `done` says."""
    return lambda: LiveRun(run=run, done=done[0])


@given(moves=st.lists(st.tuples(st.floats(0.001, 2.0), st.integers(0, 3)), min_size=1, max_size=60))
def test_at_most_four_a_second_and_never_silent(
    tmp_path_factory: pytest.TempPathFactory, moves: list[tuple[float, int]]
) -> None:
    """Whatever happens when: two writes are a quarter of a second apart at least, a change is kept
    at the next look after that, and without any change there is one each second.
    """
    files, done = Counted(tmp_path_factory.mktemp("live")), [0]
    files.keep("RUN", counting(done))
    looks = [files.time.now]
    for wait, more in moves:
        files.time.now += wait
        done[0] += more
        files.step()
        looks.append(files.time.now)
        last = files.writes[-1] if files.writes else (looks[0], None)
        silence = files.time.now - last[0]
        assert silence < BEAT, "a look after a second writes"
        assert silence < STEP or last[1] == LiveRun(run="RUN", done=done[0]), (
            "what is new is kept as soon as it may be"
        )
    times = [at for at, _ in files.writes]
    assert all(
        later - earlier >= STEP for earlier, later in zip([looks[0], *times], times, strict=False)
    )


def test_a_run_that_is_over_in_a_moment_writes_nothing(tmp_path: Path) -> None:
    files = Counted(tmp_path / "live")
    files.keep("RUN", counting([3]))
    files.time.now += STEP / 2
    files.step()
    files.end("RUN")
    files.close()
    assert not (tmp_path / "live").exists() and files.read("RUN") is None


def test_the_last_record_says_that_it_is_the_last(tmp_path: Path) -> None:
    """Also where the store is closed with the run unfinished, as after Ctrl-C."""
    for end in (lambda files: files.end("RUN"), lambda files: files.close()):
        files, done = Counted(tmp_path / "live"), [1]
        files.keep("RUN", counting(done))
        files.time.now += STEP
        files.step()
        kept = files.read("RUN")
        assert (
            kept is not None
            and (kept.live.done, kept.live.has_ended) == (1, False)
            and kept.age < 60
        )
        done[0] = 7
        end(files)
        kept = files.read("RUN")
        assert kept is not None and (kept.live.done, kept.live.has_ended) == (7, True)
        files.time.now += 10
        files.step()
        assert len(files.writes) == 2, "nothing comes after the last"


def test_a_record_is_private_and_replaced_whole(tmp_path: Path) -> None:
    files = Counted(tmp_path / "live")
    files.keep("RUN", counting([1]))
    files.time.now += STEP
    files.step()
    path = tmp_path / "live" / "RUN.json"
    first = path.stat().st_ino
    files.time.now += BEAT
    files.step()
    assert path.stat().st_ino != first and path.stat().st_mode & 0o077 == 0
    assert [one.name for one in path.parent.iterdir()] == ["RUN.json"]


def test_records_of_yesterday_are_removed_by_the_next_run(tmp_path: Path) -> None:
    old = tmp_path / "live" / "OLD.json"
    old.parent.mkdir()
    old.write_text("{}")
    os.utime(old, (1, 1))
    files = Counted(tmp_path / "live")
    files.keep("RUN", counting([1]))
    files.time.now += STEP
    files.step()
    assert not old.exists() and files.read("RUN") is not None


@pytest.mark.parametrize("damaged", ["", "{", "[]", '{"run": 3}', "\x00"])
def test_what_cannot_be_read_says_nothing(tmp_path: Path, damaged: str) -> None:
    (tmp_path / "RUN.json").write_text(damaged)
    assert LiveFiles(tmp_path).read("RUN") is None


def test_a_folder_that_cannot_be_written_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "live").write_text("a file is in the way")
    files = Counted(tmp_path / "live")
    files.keep("RUN", counting([1]))
    files.time.now += STEP
    files.step()
    files.close()
    assert (tmp_path / "live").read_text() == "a file is in the way"
