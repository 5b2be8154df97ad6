"""Whether git tracks what is in a folder: what a branch brings along was made by whoever wrote the
branch.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final

_SECONDS: Final = 60
_VERSIONS: Final = (b"\0\0\0\2", b"\0\0\0\3")
# Extensions of an index that leave entries out of the file itself: a split index, and folders for
# what is in them.
_PARTIAL: Final = (b"link", b"sdir")


def tracked_in(folder: Path, names: Collection[str]) -> str | None:
    """One of these names in a folder that git tracks, or the folder itself where it is a link or
    another repository; as a path from the repository's root. None where nothing is tracked.
    """
    real = os.path.join(os.path.realpath(folder.parent), folder.name)
    above = os.path.dirname(real)
    while not os.path.lexists(os.path.join(above, ".git")):
        if above == os.path.dirname(above):
            return None
        above = os.path.dirname(above)
    index = os.path.join(_git_folder(above), "index")
    try:
        status = os.stat(index)
    except OSError:
        return None  # nothing was ever added
    inside = os.path.relpath(real, above)
    return _tracked(above, inside, frozenset(names), index, status.st_mtime_ns, status.st_size)


def _git_folder(top: str) -> str:
    """`.git`, or where a file of that name leads, as in a worktree."""
    git = os.path.join(top, ".git")
    with suppress(OSError):
        with open(git, "rb") as file:
            start, _, rest = file.read(4096).partition(b"gitdir:")
        if not start.strip():
            return os.path.join(top, os.fsdecode(rest.strip()))
    return git


@lru_cache(maxsize=32)
def _tracked(
    top: str, inside: str, names: frozenset[str], index: str, _time: int, _size: int
) -> str | None:
    if not _may_name(index, os.fsencode(inside)):
        return None
    for name in _tracked_files(top, inside):
        rest = os.path.relpath(name, inside)
        if name == inside or rest.split(os.sep)[0] in names:
            return name
    return None


def _may_name(index: str, inside: bytes) -> bool:
    """A look at the bytes, which costs no process: git is asked only where they hold the name or
    are not plain.
    """
    import mmap

    try:
        with (
            open(index, "rb") as file,
            mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as held,
        ):
            is_plain = held[4:8] in _VERSIONS and all(held.find(one) < 0 for one in _PARTIAL)
            return not is_plain or held.find(inside) >= 0
    except (OSError, ValueError):
        return True


def _tracked_files(top: str, inside: str) -> list[str]:
    """What git tracks there. Where it cannot be asked, the name in its index is enough."""
    import subprocess

    from honestone.system.processes.commands import GIT, answer_of
    from honestone.system.processes.environment import base_environment

    words = [*GIT, "--literal-pathspecs", "ls-files", "-z", "--", inside]
    # Above the repository git may refuse one of another owner (`safe.directory`), and then it says
    # nothing.
    try:
        done = answer_of(
            words, _SECONDS, cwd=Path(top), env=base_environment({"GIT_OPTIONAL_LOCKS": "0"})
        )
    except (OSError, subprocess.TimeoutExpired):
        return [inside]
    if done.returncode:
        return [inside]
    return [os.fsdecode(name) for name in done.stdout.split(b"\0") if name]
