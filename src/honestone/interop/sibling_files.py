"""Files that a foreign file names: read only from its own folder and below, however the name is written."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from honestone.core.errors import FileError, UsageError
from honestone.formats.marked import Marked, parse_marked, read_text
from honestone.interop.base import Steps, Walk

MAX_FILES: Final = 5_000
"""How many files one reading may open: a glob over a whole disk is a mistake."""


class Beside:
    """The folder of a file and what has been read from it. Every failure is a problem at the place that names the file."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.files: list[Path] = []

    def find(self, walk: Walk, name: str, path: Steps, *, within: Path | None = None) -> Path | None:
        """The file or folder of this name, relative to `within` (the base, if left out)."""
        try:
            found = (within or self.base) / name
            real = found.resolve()
            outside = not real.is_relative_to(self.base.resolve())
            exists = real.exists()
        except (OSError, ValueError, RuntimeError):
            walk.problem(f"`{name[:80]}` is no path", path)
            return None
        if outside:
            walk.problem(
                f"`{name[:80]}` leads out of the folder of this file", path, f"it has to stay in `{self.base}`"
            )
            return None
        if not exists:
            walk.problem(f"there is no file `{name[:80]}` beside this one", path)
            return None
        return found

    def text(self, walk: Walk, name: str, path: Steps, *, within: Path | None = None) -> str | None:
        found = self.find(walk, name, path, within=within)
        return None if found is None else self.open(walk, found, path)

    def open(self, walk: Walk, file: Path, path: Steps) -> str | None:
        """The text of a file that `find` or `glob` gave."""
        if file not in self.files:
            if len(self.files) >= MAX_FILES:
                raise UsageError(f"this names more than {MAX_FILES} files", place=walk.marked.at(path), hint="split it")
            self.files.append(file)
        try:
            return read_text(file)
        except FileError as error:
            _carry(walk, error, path)
            return None

    def marked(self, walk: Walk, file: Path, path: Steps) -> Marked | None:
        """A YAML or JSON file with its places."""
        text = self.open(walk, file, path)
        if text is None:
            return None
        try:
            return parse_marked(text, str(file))
        except FileError as error:
            _carry(walk, error, path)
            return None

    def glob(self, walk: Walk, pattern: str, path: Steps, *, within: Path | None = None) -> list[Path]:
        """The files that a pattern chooses, by name. A pattern that chooses none is a problem."""
        folder = within or self.base
        if pattern.startswith(("/", "~")) or ".." in pattern.split("/"):
            walk.problem(f"`{pattern[:80]}` leads out of the folder of this file", path)
            return []
        try:
            found = []
            for file in folder.glob(pattern.removeprefix("./")):
                if file.is_file() and file.resolve().is_relative_to(self.base.resolve()):
                    found.append(file)
                if len(found) > MAX_FILES:
                    break
        except (OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
            walk.problem(f"`{pattern[:80]}` is no pattern of paths", path)
            return []
        if not found:
            walk.problem(f"no file beside this one is like `{pattern[:80]}`", path)
        return sorted(found)


def _carry(walk: Walk, error: FileError, path: Steps) -> None:
    """A failure inside the other file keeps its place there; one to open it stands where the file is named."""
    walk.problems.append(UsageError(error.message, place=error.place or walk.marked.at(path), hint=error.hint))


__all__ = ["MAX_FILES", "Beside"]
