"""Files that a foreign file names: read only from its own folder and below, however the name is
written.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError, UsageError
from honestone.core.judging.images import LARGEST_IMAGE, image_type
from honestone.formats.project import may_read
from honestone.formats.source import Loss
from honestone.formats.syntax.marked import Marked, parse_marked, read_bytes, read_text
from honestone.formats.syntax.reader import FileReading, Steps

# Characters that the images of one reading may come to: the same image may be named in every case.
MAX_IMAGES: Final = 200_000_000
# How many files one reading may open: a glob over a whole disk is a mistake.
MAX_FILES: Final = 5_000
LEFT_OUT: Final = "--accept-loss leaves it out"


def data_url(file: Path) -> str:
    """An image as a data URL. Raises FileError for what is not an image, or larger than models
    take.
    """
    data = read_bytes(file, most=LARGEST_IMAGE)
    media_type = image_type(data)
    if media_type is None:
        raise FileError(f"`{file.name}` is not an image of a kind that models take")
    return f"data:{media_type};base64,{b64encode(data).decode('ascii')}"


class ImageBudget:
    """How much of the room for images the files read so far have taken."""

    def __init__(self) -> None:
        self._taken = 0

    def add(self, url: str, reading: FileReading, path: Steps) -> None:
        """Raises UsageError where the images come to too much."""
        self._taken += len(url)
        if self._taken > MAX_IMAGES:
            place = reading.marked.at(path)
            message = f"the images of this file come to more than {MAX_IMAGES // 1_000_000} MB"
            raise UsageError(
                message,
                place=place,
                hint="split the file, or name the images by https:// addresses",
            )


class SiblingFiles:
    """The folder of a file and what has been read from it. Every failure is a problem at the place
    that names the file; a file that is missing or cannot be read is a loss where `loses_missing`,
    in formats whose own tool runs without it.
    """

    def __init__(self, base: Path, *, loses_missing: bool = False) -> None:
        self.base = base
        self.files: list[Path] = []
        self.loses_missing = loses_missing
        self.images = ImageBudget()
        self._documents: dict[Path, str] = {}

    def losing_missing(self) -> SiblingFiles:
        """The same files, where one that is missing or cannot be read is a loss."""
        other = SiblingFiles(self.base, loses_missing=True)
        other.files, other.images = self.files, self.images
        return other

    def _missing(self, reading: FileReading, message: str, path: Steps) -> None:
        (reading.loss if self.loses_missing else reading.problem)(message, path)

    def _unreadable(self, reading: FileReading, error: FileError, path: Steps) -> None:
        """What is wrong inside the file keeps its own place."""
        if self.loses_missing:
            place = error.place or reading.marked.at(path)
            hint = f"{error.hint}; {LEFT_OUT}" if error.hint else LEFT_OUT
            reading.losses.append(Loss(place=place, message=error.message, hint=hint))
        else:
            reading.elsewhere(error, path)

    def find(
        self, reading: FileReading, name: str, path: Steps, *, within: Path | None = None
    ) -> Path | None:
        """The file or folder of this name, relative to `within` (the base, if left out)."""
        try:
            found = (within or self.base) / name
            real = found.resolve()
            outside = not may_read(found, self.base)
            exists = real.exists()
        except (OSError, ValueError, RuntimeError):
            reading.problem(f"`{name[:80]}` is not a path", path)
            return None
        if outside:
            hint = f"it must be in `{self.base}` or the project around it, or in a folder that --allow-outside names"
            reading.problem(f"`{name[:80]}` leads out of the folder of this file", path, hint)
        elif not exists:
            self._missing(reading, f"file `{name[:80]}` not found next to this one", path)
        return None if outside or not exists else found

    def text(
        self, reading: FileReading, name: str, path: Steps, *, within: Path | None = None
    ) -> str | None:
        found = self.find(reading, name, path, within=within)
        return None if found is None else self.open(reading, found, path)

    def open(self, reading: FileReading, file: Path, path: Steps) -> str | None:
        """The text of a file that `find` or `glob` gave."""
        return self._opened(read_text, reading, file, path)

    def data_url(self, reading: FileReading, name: str, path: Steps) -> str:
        """An image as a data URL; empty, with a loss or a problem, where there is none of this
        name.
        """
        found = self.find(reading, name, path)
        url = (found and self._opened(data_url, reading, found, path)) or ""
        self.images.add(url, reading, path)
        return url

    def pdf_text(self, reading: FileReading, file: Path, path: Steps) -> str | None:
        """The text of a PDF that `find` or `glob` gave, which is taken out of it once."""
        if file not in self._documents:
            from honestone.system.processes.documents import document_text

            text = self._opened(document_text, reading, file, path)
            if text is None:
                return None
            self._documents[file] = text
        return self._documents[file]

    def _opened(
        self, read: Callable[[Path], str], reading: FileReading, file: Path, path: Steps
    ) -> str | None:
        if file not in self.files:
            if len(self.files) >= MAX_FILES:
                place = reading.marked.at(path)
                raise UsageError(
                    f"this names more than {MAX_FILES} files", place=place, hint="split it"
                )
            self.files.append(file)
        try:
            return read(file)
        except FileError as error:
            self._unreadable(reading, error, path)
            return None

    def marked(self, reading: FileReading, file: Path, path: Steps) -> Marked | None:
        """A YAML or JSON file with its places."""
        text = self.open(reading, file, path)
        try:
            return None if text is None else parse_marked(text, str(file))
        except FileError as error:
            self._unreadable(reading, error, path)
            return None

    def named(
        self, reading: FileReading, name: str, path: Steps, *, within: Path | None = None
    ) -> Marked | None:
        """The YAML or JSON file of this name, with its places."""
        found = self.find(reading, name, path, within=within)
        return None if found is None else self.marked(reading, found, path)

    def glob(self, reading: FileReading, pattern: str, path: Steps) -> list[Path]:
        """The files that a pattern chooses, by name; or the one that it names. None at all is a
        problem.
        """
        if not set(pattern) & set("*?["):
            one = self.find(reading, pattern, path)
            return [] if one is None else [one]
        parts = pattern.removeprefix("./").split("/")
        up = next((n for n, part in enumerate(parts) if part != ".."), len(parts))
        start = self.base.joinpath(*parts[:up])
        if (
            pattern.startswith(("/", "~"))
            or ".." in parts[up:]
            or (up and not may_read(start, self.base))
        ):
            reading.problem(f"`{pattern[:80]}` leads out of the folder of this file", path)
            return []
        found: list[Path] = []
        try:
            for file in start.glob("/".join(parts[up:])):
                if file.is_file() and file.resolve().is_relative_to(start.resolve()):
                    found.append(file)
                if len(found) > MAX_FILES:
                    break
        except (OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
            reading.problem(f"`{pattern[:80]}` is not a pattern of paths", path)
            return []
        if not found:
            self._missing(reading, f"no file next to this one matches `{pattern[:80]}`", path)
        return sorted(found)
