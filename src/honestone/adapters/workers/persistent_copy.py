"""A worker's copy that outlives the process: for those who edit at their own pace (a person, a host
agent).

The engine makes a private copy for every proposal and throws it away; this one is made from it
once, edited in peace, and handed over to the engine's copy when the edit is done. However often the
process is killed, it stays as it is.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from honestone.ports import Brief

_COPY, _BRIEF = "copy", "brief.md"


class PersistentCopy(Struct, frozen=True):
    """`folder` holds the copy, and the brief in words that name its place."""

    folder: Path
    name: str

    @property
    def place(self) -> Path:
        return self.folder / _COPY / self.name

    @property
    def brief_file(self) -> Path:
        return self.folder / _BRIEF

    @property
    def brief(self) -> str:
        return self.brief_file.read_text(encoding="utf-8")

    def hand_over(self, place: Path) -> None:
        """Bring everything as it is now, strays and links too, to the engine's copy, whose artifact
        is at `place`.
        """
        mirror(self.folder / _COPY, place.parent)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def keep_copy(folder: Path, brief: Brief, place: Path) -> PersistentCopy:
    """The copy in `folder`; made of the engine's, whose artifact is at `place`, unless it is there
    already.
    """
    copy = PersistentCopy(folder, place.name)
    if folder.is_dir():
        return copy
    folder.parent.mkdir(parents=True, exist_ok=True)
    # Made aside and moved in one step: what is there is whole.
    making = folder.with_name(f".{folder.name}-{os.getpid()}")
    shutil.rmtree(making, ignore_errors=True)
    making.mkdir()
    mirror(place.parent, making / _COPY)
    text = brief.text.replace(str(place), str(copy.place))
    (making / _BRIEF).write_text(text, encoding="utf-8")
    making.rename(folder)
    return copy


def mirror(source: Path, target: Path) -> None:
    """Make the folder `target` hold what `source` holds. Links stay links; pipes and devices are
    left out.
    """
    if target.is_dir():
        for path in list(target.iterdir()):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    target.mkdir(parents=True, exist_ok=True)
    for entry in list(os.scandir(source)) if source.is_dir() else ():
        goal = target / entry.name
        if entry.is_symlink():
            goal.symlink_to(os.readlink(entry.path))
        elif entry.is_dir():
            mirror(Path(entry.path), goal)
        elif stat.S_ISREG(entry.stat().st_mode):
            shutil.copy2(entry.path, goal)


def work_key(brief: Brief, place: Path) -> str:
    """Names a piece of work by what is asked and what it starts from, wherever the copy is today."""
    whole = hashlib.sha256(brief.text.replace(str(place), "").encode("utf-8", "surrogatepass"))
    for path in sorted(place.parent.rglob("*")):
        with suppress(OSError):
            if path.is_file() and not path.is_symlink():
                whole.update(
                    f"\0{path.relative_to(place.parent)}\0".encode("utf-8", "surrogateescape")
                    + path.read_bytes()
                )
    return whole.hexdigest()[:32]
