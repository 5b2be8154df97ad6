"""Many artifacts that text checks alone judge: the same rules as everywhere, without a task or a transaction each.

What the checks said of some bytes is kept like a reply, by contract and digest, so that the same command again reads
it back. Answers repeat from file to file; equal ones share their objects, and what they add up to is known already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import msgspec

from honestone.core.artifact import Version
from honestone.core.ballot import CHECK, Ballot, Mark
from honestone.core.checks import Answer, TextCheck
from honestone.core.events import ArtifactsChecked, CheckedArtifact
from honestone.core.rubric import Key, Rubric
from honestone.ports import Checker, Store

CHUNK = 200
"""Artifacts read, looked up and recorded together. Nothing is paid for here, so a kill may cost a chunk."""

_REMEMBERED = 4096


class BulkJudged(NamedTuple):
    """One artifact: its ballot, and the marks as recorded."""

    path: str
    version: Version
    ballot: Ballot
    recorded: msgspec.Raw


@dataclass(frozen=True, slots=True)
class _Part:
    """One criterion's marks on some text and the same as JSON, shared by all artifacts that got them."""

    marks: Mapping[Key, Mark]
    abstained: Mapping[Key, str]
    json: bytes


@dataclass(frozen=True, slots=True)
class _Criterion:
    """One criterion's checks. `seen` knows the parts by what the checks said, `recorded` by their JSON."""

    name: bytes
    keys: tuple[Key, ...]
    looks: tuple[Callable[[str], Answer | tuple[None, str | None]], ...]
    seen: dict[tuple[object, ...], _Part]
    recorded: dict[bytes, _Part]

    def look(self, text: str) -> _Part:
        answers = tuple([look(text) for look in self.looks])
        part = self.seen.get(answers)
        if part is None:
            part = _part(self.keys, answers)
            if len(self.seen) < _REMEMBERED:
                self.seen[answers] = part
        return part

    def from_record(self, kept: bytes) -> _Part:
        part = self.recorded.get(kept)
        if part is None:
            plain = msgspec.json.decode(kept, type=dict[str, tuple[bool | None, str | None]])
            part = _part(self.keys, tuple(plain[item] for _, item in self.keys))
            if len(self.recorded) < _REMEMBERED:
                self.recorded[kept] = part
        return part


def _part(keys: tuple[Key, ...], answers: tuple[tuple[bool | None, str | None], ...]) -> _Part:
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for key, (met, note) in zip(keys, answers, strict=True):
        if met is None:
            abstained[key] = note or "the check could not run"
        else:
            marks[key] = Mark(met, (note,) if note else ())
    plain = {item: [met, note] for (_, item), (met, note) in zip(keys, answers, strict=True)}
    return _Part(marks, abstained, msgspec.json.encode(plain))


class TextEvaluator:
    """All checks of a rubric that only text checks judge."""

    def __init__(self, criteria: Sequence[_Criterion]) -> None:
        self._criteria = criteria
        self._decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode

    @classmethod
    def of(cls, rubric: Rubric, checker: Checker) -> TextEvaluator | None:
        """None where anything but a text check is asked."""
        found: list[_Criterion] = []
        for criterion, _ in rubric.walk():
            looks: list[Callable[[str], Answer | tuple[None, str | None]]] = []
            for item in criterion.items:
                compiled = checker.compile(item.check) if item.check is not None else None
                if compiled is None:
                    return None
                looks.append(compiled.evaluate if compiled.guard_from is None else _guarded(checker, compiled))
            if looks:
                keys = tuple((criterion.id, item.id) for item in criterion.items)
                name = msgspec.json.encode(criterion.id) + b":"
                found.append(_Criterion(name, keys, tuple(looks), {}, {}))
        return cls(found)

    def judge_all(
        self, loaded: Iterable[tuple[str, Version]], store: Store, contract: str, *, fresh: bool
    ) -> Iterator[list[BulkJudged]]:
        """Chunk by chunk, in order; what is new has been kept when its chunk is handed out."""
        waiting = iter(loaded)
        while chunk := list(islice(waiting, CHUNK)):
            keys = [f"checks:{contract[7:39]}:{version.digest[7:]}" for _, version in chunk]
            known = {} if fresh else store.replies(keys)
            out: list[BulkJudged] = []
            new: dict[str, msgspec.Raw] = {}
            for (path, version), key in zip(chunk, keys, strict=True):
                kept = known.get(key)
                parts = None if kept is None else self._recorded(kept)
                if kept is None or parts is None:
                    text = version.text
                    parts = [criterion.look(text) for criterion in self._criteria]
                    raw = msgspec.Raw(
                        _joined(c.name + part.json for c, part in zip(self._criteria, parts, strict=True))
                    )
                    new[key] = raw
                else:
                    raw = msgspec.Raw(kept)
                out.append(BulkJudged(path, version, _ballot(parts), raw))
            if new:
                store.keep_replies(new, CHECK)
            yield out

    def _recorded(self, kept: bytes) -> list[_Part] | None:
        """What is on record; None where it cannot be read, and is found out again."""
        try:
            rows = self._decode(kept)
            return [c.from_record(bytes(rows[c.keys[0][0]])) for c in self._criteria]
        except (ValueError, KeyError, TypeError):
            return None


def _guarded(checker: Checker, compiled: TextCheck) -> Callable[[str], Answer | tuple[None, str | None]]:
    """A check that may run for ever on some texts, under the checker's time limit."""

    def look(text: str) -> Answer | tuple[None, str | None]:
        finding = checker.run_text(compiled, text)
        return (None, finding.note) if finding.met is None else (finding.met, finding.note)

    return look


def _joined(members: Iterable[bytes]) -> bytes:
    return b"{" + b",".join(members) + b"}"


def _ballot(parts: Sequence[_Part]) -> Ballot:
    marks: dict[Key, Mark] = {}
    abstained: dict[Key, str] = {}
    for part in parts:
        marks.update(part.marks)
        if part.abstained:
            abstained.update(part.abstained)
    return Ballot(judge=CHECK, marks=marks, abstained=abstained)


def checked_event(chunk: Sequence[BulkJudged]) -> ArtifactsChecked:
    """One event for a chunk: each artifact with what the checks said, as it was recorded."""
    return ArtifactsChecked(artifacts=[CheckedArtifact(j.path, j.version.digest, j.recorded) for j in chunk])
