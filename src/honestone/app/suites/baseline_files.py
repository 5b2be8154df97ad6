"""Baselines remembered in a folder: one JSON file each, by what decides their results and never by a path.

    {"created_at": "2026-11-20T20:35:52Z", "pass_rate": 0.5, "results": [...], "key": "sha256:...", "run": "01J..."}

Good for 7 x 24 hours. A file that is damaged, from the future, or of another key is asked again: a cache is never an error.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from honestone.app.suites.skill_session import BASELINE_LIFE, Known
from honestone.cli.printing import dump
from honestone.core.errors import FileError
from honestone.core.skill.evaluation import TaskResult, rate
from honestone.system.files import printable, write_atomically

MAX_BYTES = 64_000_000


def _now() -> datetime:
    return datetime.now(UTC)


class BaselineFiles:
    """A `skill_session.BaselineCache` over a folder. Raises FileError when it is made where it cannot write.

    `note` is told when a baseline could not be kept: that is no reason to lose what was paid for.
    """

    def __init__(self, folder: Path, *, note: Callable[[str], None], clock: Callable[[], datetime] = _now) -> None:
        self._folder = folder
        self._note = note
        self._clock = clock
        _require_writable(folder)

    def find(self, key: str) -> Known | None:
        path = self._file(key)
        try:
            if path.stat().st_size > MAX_BYTES:
                return None
            plain = json.loads(path.read_text("utf-8"), parse_constant=_no_number)
            return self._read(plain, key)
        except (OSError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def keep(self, key: str, known: Known) -> None:
        share = rate(known.results)
        plain = {
            "created_at": self._clock().strftime("%Y-%m-%dT%H:%M:%SZ"),
            "pass_rate": None if share is None else float(share),
            "results": [result.to_plain() for result in known.results],
            "key": key,
            "run": known.run,
        }
        path = self._file(key)
        try:
            write_atomically(path, (dump(plain) + "\n").encode("utf-8", "backslashreplace"))
        except OSError as error:
            self._note(
                f"the baseline could not be kept in {printable(path)}: {error.strerror or error}; it will be asked again"
            )

    def _file(self, key: str) -> Path:
        """A fixed length, whatever the key looks like."""
        return self._folder / f"baseline_{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"

    def _read(self, plain: Mapping[str, Any], key: str) -> Known | None:
        """Raises ValueError, TypeError or KeyError for what is no baseline of ours."""
        if plain["key"] != key or not self._is_fresh(plain["created_at"]):
            return None
        results = tuple(_result(one) for one in plain["results"])
        share = rate(results)
        if share is None or plain["pass_rate"] != float(share):
            return None
        run = plain.get("run")
        return Known(results=results, run=run if isinstance(run, str) else None)

    def _is_fresh(self, written: str) -> bool:
        made = datetime.fromisoformat(written)
        if made.tzinfo is None:
            return False
        age = self._clock() - made
        return age.total_seconds() >= 0 and age <= BASELINE_LIFE


def _result(plain: Mapping[str, Any]) -> TaskResult:
    """One decided task. Raises ValueError, TypeError or KeyError for anything else."""
    found = TaskResult(**{name: plain[name] for name in TaskResult.__slots__})
    texts = (found.task_id, found.details, found.error)
    counts = (found.duration_ms, found.attempts, found.passes)
    if not isinstance(found.passed, bool) or not all(isinstance(text, str) for text in texts):
        raise ValueError("not the result of a task")
    if not all(type(count) is int and count >= 0 for count in counts) or found.passes > found.attempts:
        raise ValueError("not a count")
    if found.score is not None and not _is_share(found.score):
        raise ValueError("not a score")
    return found


def _is_share(score: object) -> bool:
    return isinstance(score, int | float) and not isinstance(score, bool) and math.isfinite(score) and 0 <= score <= 1


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _require_writable(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileError(
            f"the baseline cache `{printable(folder)}` cannot be made: {error.strerror or error}",
            hint="name a folder that can be written: --baseline-cache-dir DIR",
        ) from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise FileError(
            f"the baseline cache `{printable(folder)}` cannot be written",
            hint="name a folder that can be written: --baseline-cache-dir DIR",
        )
