"""A store in memory, for runs that nothing is kept of."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from honestone.core.errors import StoreError
from honestone.core.events import Event, event_from_plain, event_to_plain
from honestone.ports import Recordable, RunInfo


@dataclass
class _Run:
    info: RunInfo
    events: list[str] = field(default_factory=list)


class MemoryStore:
    """A `ports.Store` that is gone with its process. It keeps JSON text, so nothing is shared with the caller."""

    def __init__(self) -> None:
        self._runs: dict[str, _Run] = {}
        self._replies: dict[str, tuple[str, str]] = {}
        self._blobs: dict[str, bytes] = {}
        self._locked: set[str] = set()
        self._lock = Lock()

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="honestone-store-")

    @property
    def root(self) -> Path:
        return Path(self._folder.name)

    def lock(self, identity: str) -> bool:
        with self._lock:
            is_free = identity not in self._locked
            self._locked.add(identity)
            return is_free

    def unlock(self, identity: str) -> None:
        self._locked.discard(identity)

    def start_run(self, *, kind: str, subject: str, identity: str, contract: str, first: Recordable) -> str:
        with self._lock:
            run = f"{len(self._runs) + 1:026d}"
            info = RunInfo(
                id=run,
                kind=kind,
                subject=subject,
                identity=identity,
                contract=contract,
                started=_now(),
                finished=None,
                result=None,
            )
            self._runs[run] = _Run(info, [_json(_plain(first))])
        return run

    def append(self, run: str, event: Recordable, blobs: Mapping[str, bytes] | None = None) -> None:
        line = _json(_plain(event))
        self.keep_blobs(blobs or {})
        self._runs[run].events.append(line)

    def append_many(self, run: str, events: Iterable[Recordable]) -> None:
        self._runs[run].events += [_json(_plain(event)) for event in events]

    def finish_run(self, run: str, result: str, event: Recordable) -> None:
        self.append(run, event)
        self._runs[run].info = replace(self._runs[run].info, finished=_now(), result=result)

    def events(self, run: str) -> list[Event]:
        return list(self.iter_events(run))

    def iter_events(self, run: str) -> Iterator[Event]:
        for line in list(self._runs[run].events) if run in self._runs else ():
            yield event_from_plain(json.loads(line))

    def runs(self, *, limit: int | None = None) -> list[RunInfo]:
        return [run.info for run in reversed(self._runs.values())][:limit]

    def find_run(self, name: str) -> RunInfo:
        is_last = name in ("last", "latest")
        found = self.runs(limit=1) if is_last else [r for r in self.runs() if r.id.startswith(name.upper())]
        if len(found) != 1:
            raise StoreError(f"{'several runs begin with' if found else 'there is not a run'} {name!r}")
        return found[0]

    def unfinished(self, identity: str) -> RunInfo | None:
        return next((r for r in self.runs() if r.identity == identity and r.finished is None), None)

    def reply(self, key: str, since: str | None = None) -> dict[str, Any] | None:
        at, text = self._replies.get(key, ("", ""))
        return json.loads(text) if text and at >= (since or "") else None

    def keep_reply(self, key: str, judge: str, reply: Mapping[str, Any]) -> None:
        self._replies[key] = (_now(), _json(reply))

    def replies(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {key: self._replies[key][1].encode() for key in keys if key in self._replies}

    def keep_replies(self, replies: Mapping[str, Any], judge: str) -> None:
        for key, reply in replies.items():
            self.keep_reply(key, judge, reply)

    def blob(self, digest: str) -> bytes | None:
        return self._blobs.get(digest)

    def keep_blobs(self, blobs: Mapping[str, bytes]) -> None:
        for digest, data in blobs.items():
            self._blobs.setdefault(digest, bytes(data))

    def close(self) -> None:
        self._locked.clear()
        if "_folder" in self.__dict__:
            self._folder.cleanup()
            del self._folder


def _json(value: object) -> str:
    """As JSON text. What is kept in bulk may hold parts that are JSON already."""
    return json.dumps(value, default=lambda part: json.loads(bytes(part)))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _plain(event: Recordable) -> Mapping[str, Any]:
    return event_to_plain(event) if isinstance(event, Event) else event
