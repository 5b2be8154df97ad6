"""Baselines that were run before, and where they are remembered: in the store, or in a folder."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct, field

from honestone.core.errors import FileError
from honestone.core.judging.spend import Spend
from honestone.core.record.record import read_record
from honestone.core.record.summary import summary_of
from honestone.core.skill.evaluation import TaskResult, rate
from honestone.ports import Store
from honestone.system.files import printable, write_atomically

BASELINE_LIFE: Final = timedelta(days=7)


MAX_BYTES: Final = 64_000_000


class KnownBaseline(Struct, frozen=True, kw_only=True):
    """A baseline that was run: its tasks, and the run it can be recomputed from, where that is
    known. `spent` is what it cost this time, None where nothing was run; `outputs` are what it
    said, by case, where its run is here.
    """

    results: Sequence[TaskResult]
    run: str | None = None
    outputs: Mapping[str, str | None] = field(default_factory=dict)
    is_cached: bool = False
    spent: Spend | None = None


class BaselineCache(Protocol):
    """Where baselines are remembered, by what decides their results and never by a path."""

    def find(self, key: str) -> KnownBaseline | None: ...

    def keep(self, key: str, known: KnownBaseline) -> None: ...


class RunsAsCache:
    """The runs in the store: a finished one with the same key, not older than seven days, without
    an open task.
    """

    def __init__(self, store: Store) -> None:
        self._store = store

    def find(self, key: str) -> KnownBaseline | None:
        oldest = (datetime.now(UTC) - BASELINE_LIFE).isoformat()
        for info in self._store.runs():
            if info.started < oldest:
                return None
            if info.kind == "suite" and info.identity == key and info.finished is not None:
                results = summary_of(read_record(self._store.events(info.id))).tasks
                if results and all(result.passed is not None for result in results):
                    return KnownBaseline(results=tuple(results), run=info.id)
        return None

    def keep(self, key: str, known: KnownBaseline) -> None:
        """Nothing to do: the run is in the store."""


class _StoredBaseline(msgspec.Struct, kw_only=True):
    created_at: datetime
    pass_rate: float
    results: tuple[TaskResult, ...]
    key: str
    run: str | None = None


def _now() -> datetime:
    return datetime.now(UTC)


class BaselineFiles:
    """A BaselineCache in a folder. Raises FileError when it is made where it cannot write.

    `note` gets a line when a baseline could not be kept: that is not a reason to lose what was paid
    for.
    """

    def __init__(
        self, folder: Path, *, note: Callable[[str], None], clock: Callable[[], datetime] = _now
    ) -> None:
        self._folder = folder
        self._note = note
        self._clock = clock
        hint = "name a folder that can be written: --baseline-cache-dir DIR"
        require_writable(folder, "the baseline cache", hint=hint)

    def find(self, key: str) -> KnownBaseline | None:
        path = self._file(key)
        try:
            if path.stat().st_size > MAX_BYTES:
                return None
            stored = msgspec.json.decode(path.read_bytes(), type=_StoredBaseline)
        except (OSError, ValueError, RecursionError):
            return None
        share = rate(stored.results)
        is_good = (
            stored.key == key
            and self._is_fresh(stored.created_at)
            and all(map(_is_decided, stored.results))
        )
        if not is_good or share is None or stored.pass_rate != float(share):
            return None
        return KnownBaseline(results=stored.results, run=stored.run)

    def keep(self, key: str, known: KnownBaseline) -> None:
        share = rate(known.results)
        plain = {
            "created_at": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "pass_rate": None if share is None else float(share),
            "results": [result.to_plain() for result in known.results],
            "key": key,
            "run": known.run,
        }
        path = self._file(key)
        text = json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
        try:
            write_atomically(path, text.encode("utf-8", "backslashreplace"))
        except OSError as error:
            why = error.strerror or error
            self._note(
                f"the baseline could not be kept in {printable(path)}: {why}; the next command runs it again"
            )

    def _file(self, key: str) -> Path:
        """A fixed length, whatever the key looks like."""
        return self._folder / f"baseline_{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _is_fresh(self, made: datetime) -> bool:
        if made.tzinfo is None:
            return False
        return timedelta(0) <= self._clock() - made <= BASELINE_LIFE


def _is_decided(result: TaskResult) -> bool:
    """Whether a result says that its task passed or failed, and its figures are in range."""
    counts = (result.duration_ms, result.attempts, result.passes)
    in_range = result.score is None or 0 <= result.score <= 1
    return (
        result.passed is not None
        and min(counts) >= 0
        and result.passes <= result.attempts
        and in_range
    )


def require_writable(folder: Path, what: str, *, hint: str) -> None:
    """Makes the folder. Raises FileError where that is not possible, or nothing can be written in
    it.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        why = error.strerror or error
        raise FileError(f"{what} `{printable(folder)}` cannot be made: {why}", hint=hint) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(f"{what} `{printable(folder)}` cannot be written", hint=hint)
