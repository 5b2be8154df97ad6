"""Records of runs that are under way, for whoever looks from another process: one file a run in the
folder of the store.

A thread keeps them, so that what is under way is never held up and is seen to be alive whatever it
does. It is started by the first run and ends soon after the last; a run that is over in a moment
writes nothing.
"""

from __future__ import annotations

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final

import msgspec
from msgspec.structs import replace

from honestone.core.live import BEAT, LiveRun, StoredLive

# Seconds between two records of one run, at least.
STEP: Final = 0.25
_IDLE: Final = 1.0  # seconds that the thread waits for another run
_OLD: Final = 86_400.0  # seconds after which a record of a run that is over is removed

Record = Callable[[], LiveRun]


class _Beat:
    """One run: what says how it is, and the last record of it that was kept, at the time `at`."""

    def __init__(self, record: Record, now: float) -> None:
        self.record = record
        self.at = now
        self.stored: LiveRun | None = None

    def due(self, now: float) -> LiveRun | None:
        """What is to be kept now."""
        if now - self.at < STEP:
            return None
        found = self.record()
        return found if found != self.stored or now - self.at >= BEAT else None


class LiveRecords(ABC):
    """When the records of the runs of one store are kept; where, is said by those who inherit.
    `clock` gives seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._beats: dict[str, _Beat] = {}
        self._lock = Lock()
        self._writing = (
            Lock()
        )  # `keep` does not wait for it: whoever calls that may be an event loop
        self._closed = Event()
        self._thread: Thread | None = None

    def keep(self, run: str, record: Record) -> None:
        """Keep what `record` says from now on, until the run is over or the store closed."""
        with self._lock:
            self._beats.setdefault(run, _Beat(record, self._clock())).record = record
            # A thread does not survive a fork.
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, name="live", daemon=True)
                self._thread.start()

    @abstractmethod
    def read(self, run: str) -> StoredLive | None:
        """The last record of a run, by whichever process."""

    def end(self, run: str) -> None:
        """The last record of a run: it is finished, or this process works on it no more."""
        with self._writing:
            with self._lock:
                beat = self._beats.pop(run, None)
            if beat is not None and beat.stored is not None:
                self._write(replace(beat.record(), has_ended=True))

    def close(self) -> None:
        for run in list(self._beats):
            self.end(run)
        self._closed.set()

    def step(self) -> None:
        """Keeps what is due."""
        now = self._clock()
        with self._writing:
            with self._lock:
                beats = list(self._beats.values())
            for beat in beats:
                found = beat.due(now)
                if found is not None:
                    self._write(found)
                    beat.at, beat.stored = now, found

    def _work(self) -> None:
        idle_since = self._clock()
        while not self._closed.wait(STEP):
            self.step()
            now = self._clock()
            with self._lock:
                if self._beats:
                    idle_since = now
                elif now - idle_since >= _IDLE:
                    self._thread = None
                    return

    @abstractmethod
    def _write(self, live: LiveRun) -> None:
        """Replaces the record of a run whole. Raises nothing: what cannot be kept is lost."""


class LiveFiles(LiveRecords):
    """One file a run in `folder`."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._folder = folder

    def read(self, run: str) -> StoredLive | None:
        try:
            with (self._folder / f"{run}.json").open("rb") as stream:
                made = os.fstat(stream.fileno()).st_mtime
                live = msgspec.json.decode(stream.read(), type=LiveRun)
        except (OSError, ValueError):
            return None
        return StoredLive(live=live, age=max(0.0, time.time() - made))

    def _write(self, live: LiveRun) -> None:
        """Replaces the record whole. A full disk is none of the run's troubles."""
        path, half = self._folder / f"{live.run}.json", self._folder / f"{live.run}.half"
        with suppress(OSError):
            if not path.exists():
                self._folder.mkdir(mode=0o700, exist_ok=True)
                if self._folder.is_symlink():
                    return
                self._remove_old()
            with open(
                os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "wb"
            ) as stream:
                stream.write(msgspec.json.encode(live))
            os.replace(half, path)

    def _remove_old(self) -> None:
        oldest = time.time() - _OLD
        for path in self._folder.iterdir():
            if path.stat().st_mtime < oldest:
                path.unlink()
