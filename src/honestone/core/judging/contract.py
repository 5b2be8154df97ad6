"""The contract: everything that decides what a score means, under one id.

Two scores may be compared only when their contracts are equal. Where they are not, `differences`
says in words what changed. Scoring version: raise it when the same ballots would give another
scorecard or verdict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import islice
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.json import encode

from honestone.core.judging.rubric import Rubric, plain_of_contract

SCORING_VERSION = 2


# `json.dumps` would make one for each value.
_ENCODER: Final = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def canonical(value: object) -> str:
    """One text for one JSON value: sorted keys, no spaces, no NaN."""
    return _ENCODER.encode(value)


def canonical_text(text: str) -> bytes:
    """`canonical` of a text, as UTF-8: ten times as quick for one as long as a prompt."""
    try:
        return encode(text)
    except (UnicodeEncodeError, TypeError):  # half a surrogate pair; a class derived from str
        return canonical(text).encode("utf-8", "surrogatepass")


def digest_json(value: object) -> str:
    return _digest([canonical(value)])


def digest_with(document: Mapping[str, object], written: Mapping[str, str]) -> str:
    """`digest_json` of a document with more keys, whose values are there as `canonical` writes them:
    many documents share long ones.
    """
    parts, rest = list[str](), sorted(document)
    for key in sorted(written):
        before = [name for name in rest if name < key]
        rest = rest[len(before) :]
        parts += _members(document, before)
        parts.append(f"{canonical(key)}:{written[key]}")
    parts += _members(document, rest)
    return _digest(["{", ",".join(parts), "}"])


def _members(document: Mapping[str, object], names: Sequence[str]) -> list[str]:
    """Those of these names, as one text of an object, where there are any."""
    return [canonical({name: document[name] for name in names})[1:-1]] if names else []


# So many entries of a list are written by one call of the encoder.
_TOGETHER: Final = 256


def digest_of_list(document: Mapping[str, object], key: str, entries: Iterable[object]) -> str:
    """`digest_json` of a document with one more key, whose value is a list of so many entries that
    they are not held.
    """

    def parts() -> Iterator[str]:
        between = "{"
        for name in sorted((*document, key)):
            yield f"{between}{canonical(name)}:"
            if name == key:
                yield "["
                rest = iter(entries)
                comma = ""
                while some := list(islice(rest, _TOGETHER)):
                    yield comma + canonical(some)[1:-1]
                    comma = ","
                yield "]"
            else:
                yield canonical(document[name])
            between = ","
        yield "}"

    return _digest(parts())


def _digest(parts: Iterable[str]) -> str:
    hasher = hashlib.sha256()
    for part in parts:
        hasher.update(part.encode("utf-8", "surrogatepass"))
    return "sha256:" + hasher.hexdigest()


# What decides the replies of a judge, a check, a target or a worker, as JSON values. Whoever makes
# such an adapter (also in a plugin) chooses the keys, so they are not declared here.
Identity: TypeAlias = Mapping[str, object]
# What a contract id is the digest of.
ContractDocument: TypeAlias = Mapping[str, object]


class Contract(Struct, frozen=True, kw_only=True, dict=True):
    """The document that is hashed, as plain JSON values, and its id."""

    document: Mapping[str, object]

    @cached_property
    def id(self) -> str:
        return digest_json(self.document)


def make_contract(
    rubric: Rubric | None = None,
    *,
    judges: Sequence[Identity],
    checks: Sequence[Identity] = (),
    rule: str,
    options: Mapping[str, object],
) -> Contract:
    """`judges` and `checks` are identities (with prompts and file digests); `options` whatever else
    changes a mark.

    Without a rubric it is what the cases of a suite share; each has a contract of its own
    (`suite.case_document`).
    """
    shared = {
        "scoring": SCORING_VERSION,
        "judges": list(map(dict, judges)),
        "rule": rule,
        "options": dict(options),
    }
    own = (
        {}
        if rubric is None
        else {"rubric": plain_of_contract(rubric), "checks": list(map(dict, checks))}
    )
    return Contract(document=shared | own)


def differences(ours: Mapping[str, object], theirs: Mapping[str, object]) -> list[str]:
    """What changed from `ours` to `theirs`, one line a value."""
    return list(_walk("", ours, theirs))


def _walk(path: str, ours: object, theirs: object) -> Iterator[str]:
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for key in [*ours, *(k for k in theirs if k not in ours)]:
            here = f"{path}.{key}" if path else str(key)
            if key not in theirs:
                yield f"{here}: {_written(here, ours[key])} is gone"
            elif key not in ours:
                yield f"{here}: {_written(here, theirs[key])} is new"
            else:
                yield from _walk(here, ours[key], theirs[key])
    elif isinstance(ours, list | tuple) and isinstance(theirs, list | tuple):
        for index in range(max(len(ours), len(theirs))):
            here = f"{path}[{_label(ours, theirs, index)}]"
            if index >= len(theirs):
                yield f"{here}: {_short(ours[index])} is gone"
            elif index >= len(ours):
                yield f"{here}: {_short(theirs[index])} is new"
            else:
                yield from _walk(here, ours[index], theirs[index])
    elif canonical(ours) != canonical(
        theirs
    ):  # 1, 1.0 and true are equal in Python, but not to the id
        yield f"{path}: {_written(path, ours)} became {_written(path, theirs)}"


def _label(ours: Sequence[object], theirs: Sequence[object], index: int) -> str:
    entries = (side[index] for side in (ours, theirs) if index < len(side))
    ids = (entry.get("id") for entry in entries if isinstance(entry, Mapping))
    return next((id for id in ids if isinstance(id, str)), str(index))


def _written(path: str, value: object) -> str:
    """Bars and weights as people write them: 70, not the 7/10 that is hashed."""
    name = path.rpartition(".")[2]
    if name in ("threshold", "floor", "weight", "sure") and isinstance(value, str):
        try:
            number = Fraction(value) * (1 if name == "weight" else 100)
        except ValueError:
            return _short(value)
        return f"{float(number):.10g}"
    return _short(value)


def _short(value: object) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return text if len(text) <= 80 else text[:77] + "..."
