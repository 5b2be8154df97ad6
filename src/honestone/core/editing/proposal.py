"""Proposals: what a worker did, read from the bytes on disk and never from its exit code or its
words.
"""

from __future__ import annotations

import json
import math
import re
from enum import StrEnum
from functools import cache
from typing import Final

from msgspec import Struct

from honestone.core.artifact import Entry, Version, as_text
from honestone.core.tables import table_json

# Changed lines that one round may have unless `--max-diff` says otherwise.
MAX_DIFF = 2000
# How many times its first size an artifact may reach over all rounds unless `--max-growth` says
# otherwise: judges prefer what is longer, and edits only add.
MAX_GROWTH = 4.0
# Bytes that any artifact may have, also one that began as a heading.
ALWAYS_ALLOWED = 40_000

# A file of 600 bytes or more that keeps less than 30% of them has most likely been truncated, not
# edited.
_SHRUNK_BELOW, _SHRUNK_FROM = 0.3, 600


@cache
def _placeholder_pattern() -> re.Pattern[str]:
    return re.compile(json.loads(table_json("editing/proposal"))["placeholder"])


class ProposalOutcome(StrEnum):
    """The ten ways a proposal can end."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    OUT_OF_SCOPE = "out-of-scope"
    TOO_LARGE = "too-large"
    SHRUNK = "shrunk"
    PLACEHOLDER = "placeholder"
    TIMEOUT = "timeout"
    DENIED = "denied"
    NOT_APPLIED = "not-applied"
    CRASHED = "crashed"


# The worker did not get to an edit; why is known to it alone.
DID_NOT_WORK: Final = frozenset(
    {
        ProposalOutcome.TIMEOUT,
        ProposalOutcome.DENIED,
        ProposalOutcome.NOT_APPLIED,
        ProposalOutcome.CRASHED,
    }
)


class DiffSize(Struct, frozen=True, kw_only=True):
    added: int
    removed: int
    files: int

    @property
    def lines(self) -> int:
        return self.added + self.removed


def classify(
    before: Version,
    after: Version | None,
    *,
    ended: str,
    strays: tuple[str, ...] = (),
    trouble: str | None = None,
    max_diff: int = MAX_DIFF,
    max_size: float = math.inf,
) -> tuple[ProposalOutcome, str | None]:
    """The outcome of a proposal and a detail for people, unless the worker's own words are that.

    `after` is None when the artifact is no longer there, or has no content. `ended` is the worker's
    ending ("exited", "timeout", "denied", "not-applied", "crashed"); it counts only where nothing
    was changed, but for a time-out, which throws everything away. `max_size`: bytes that it may have, unless it was
    larger before and did not grow. `strays` are files that were touched although they are not part
    of the artifact; `trouble` says why the artifact cannot be read back.
    """
    if ended == "timeout":
        return (
            ProposalOutcome.TIMEOUT,
            "still working when its time was up; whatever it changed is thrown away",
        )
    if strays:
        return ProposalOutcome.OUT_OF_SCOPE, "touched " + ", ".join(strays[:5]) + (
            " and more" if len(strays) > 5 else ""
        )
    if trouble is not None:
        return ProposalOutcome.OUT_OF_SCOPE, trouble
    if after is None:
        return ProposalOutcome.SHRUNK, "the artifact is gone or empty"
    if after.digest == before.digest:
        return {
            "denied": (ProposalOutcome.DENIED, "it was not allowed to edit"),
            "not-applied": (ProposalOutcome.NOT_APPLIED, None),
            "crashed": (ProposalOutcome.CRASHED, "it ended with an error and changed nothing"),
        }.get(ended, (ProposalOutcome.UNCHANGED, "every byte is as before"))
    for path, entry in before.files.items():
        size_now = len(after.files[path].data) if path in after.files else 0
        if len(entry.data) >= _SHRUNK_FROM and size_now < len(entry.data) * _SHRUNK_BELOW:
            return ProposalOutcome.SHRUNK, f"{path} went from {len(entry.data)} to {size_now} bytes"
    note = _placeholder(before, after)
    if note:
        return ProposalOutcome.PLACEHOLDER, f"it holds {note!r} in place of content"
    size = diff_size(before, after)
    if size.lines > max_diff:
        return (
            ProposalOutcome.TOO_LARGE,
            f"{size.lines} lines changed, more than --max-diff {max_diff}",
        )
    if after.size > max(max_size, before.size):
        return (
            ProposalOutcome.TOO_LARGE,
            f"it has {after.size} bytes now, more than --max-growth allows ({max_size:.0f})",
        )
    return ProposalOutcome.CHANGED, None


def size_limit(original: Version, max_growth: float = MAX_GROWTH) -> float:
    """The size in bytes that the artifact may reach over all rounds."""
    return max(original.size * max_growth, ALWAYS_ALLOWED)


def _placeholder(before: Version, after: Version) -> str | None:
    old = set(_placeholder_lines(before))
    return next((line for line in _placeholder_lines(after) if line not in old), None)


def _placeholder_lines(version: Version) -> list[str]:
    return [
        match[0].strip()
        for text in version.texts.values()
        for match in _placeholder_pattern().finditer(text)
    ]


def diff_size(before: Version, after: Version) -> DiffSize:
    """Lines added and removed, and files touched. A binary file counts as one line."""
    from difflib import SequenceMatcher

    added = removed = files = 0
    for path in touched(before, after):
        files += 1
        old, new = _without_common_ends(_lines(before, path), _lines(after, path))
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new).get_opcodes():
            if tag != "equal":
                removed, added = removed + i2 - i1, added + j2 - j1
    return DiffSize(added=added, removed=removed, files=files)


def _without_common_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Where two lists of lines begin and stop to differ: most edits are local, and the middle is
    soon compared.
    """
    shortest, start, end = min(len(old), len(new)), 0, 0
    while start < shortest and old[start] == new[start]:
        start += 1
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return old[start : len(old) - end], new[start : len(new) - end]


def unified_diff(before: Version, after: Version) -> str:
    """The change as a unified diff; binary files are named only."""
    import difflib

    out: list[str] = []
    for path in touched(before, after):
        if _is_binary(before, path) or _is_binary(after, path):
            out.append(f"Binary file {path} differs\n")
            continue
        old = f"a/{path}" if path in before.files else "/dev/null"
        new = f"b/{path}" if path in after.files else "/dev/null"
        for line in difflib.unified_diff(_lines(before, path), _lines(after, path), old, new):
            out.append(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n")
    return "".join(out)


def touched(before: Version, after: Version) -> list[str]:
    """The paths of the files that differ."""
    paths = sorted({*before.files, *after.files})
    return [path for path in paths if before.files.get(path) != after.files.get(path)]


def _is_binary(version: Version, path: str) -> bool:
    entry = version.files.get(path)
    return entry is not None and as_text(entry.data) is None


def _lines(version: Version, path: str) -> list[str]:
    entry: Entry | None = version.files.get(path)
    if entry is None:
        return []
    text = as_text(entry.data)
    return ["(binary)"] if text is None else text.splitlines(keepends=True)
