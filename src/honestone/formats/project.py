"""The project of a file: the folder whose files it may name. What it reads goes to models and into
reports, so a suite from elsewhere does not choose freely.

The project is the folder of the nearest settings above the file, else its git repository, else its
own folder. Names that begin with a dot are outside. A person names other folders with
--allow-outside.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Final

from msgspec import Struct

from honestone.core.errors import SettingsError, UsageError
from honestone.core.json_value import late_pattern

NAME: Final = "honestone.toml"
_SPEAKS_OF_US: Final = late_pattern(rb"(?m)^\s*\[\[?\s*tool\.honestone\s*[.\]]")


def settings_file(start: Path, allows: Callable[[Path], bool] = lambda path: False) -> Path | None:
    """The file that says which settings hold in a folder. Those of another owner count where
    `allows` says so.
    """
    # As strings: every command, and every call from Python, looks into each folder upwards.
    folder, inner = os.fspath(start), ""
    while folder != inner:
        path = os.path.join(folder, NAME)
        project = os.path.join(folder, "pyproject.toml")
        found = None
        if os.path.isfile(path):
            found = Path(path)
        elif os.path.isfile(project) and _SPEAKS_OF_US.search(settings_bytes(Path(project))):
            found = Path(project)
        if found is not None and (_is_own(found, start) or allows(found)):
            return found
        folder, inner = os.path.dirname(folder), folder
    return None


def _is_own(settings: Path, start: Path) -> bool:
    """Whether settings are of this account, of root, or of whoever owns the folder that is worked
    in (a checkout that a container mounts). Others may write into a folder above, such as /tmp, and
    would choose the store.
    """
    try:
        owner = os.stat(settings).st_uid
        return owner in (os.geteuid(), 0) or owner == os.stat(start).st_uid
    except OSError:
        return True  # reading it says what is wrong


def settings_bytes(path: Path) -> bytes:
    """What a settings file holds. Raises SettingsError."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise SettingsError(
            f"the settings cannot be read: {error.strerror or error}",
            place=str(path),
            hint="make the file readable",
        ) from None


def repository_of(folder: Path) -> Path:
    """The nearest git repository that a folder is in, else the folder itself. An empty `.git` makes
    none: Codex's sandbox leaves such a folder in the temporary folder.
    """
    return next((one for one in (folder, *folder.parents) if _is_repository(one / ".git")), folder)


def _is_repository(git: Path) -> bool:
    return git.is_file() or (git / "HEAD").exists()


class OutsideProject(UsageError):
    """A file names a path that is not in its project. Nothing of it was read."""


class Project(Struct, frozen=True):
    """`folder` is that of the file itself, `root` that of the project; all are real paths."""

    folder: Path
    root: Path
    allowed: tuple[Path, ...] = ()

    @classmethod
    def of(cls, file: Path, allowed: Sequence[Path] = ()) -> Project:
        folder = file.parent.resolve()
        settings = settings_file(folder)
        root = repository_of(folder) if settings is None else settings.parent
        return cls(folder, root, tuple(one.resolve() for one in allowed))

    def holds(self, path: Path) -> bool:
        """Whether a path, links followed, is in the project. Raises OSError, ValueError or
        RuntimeError for no path.
        """
        real, within = path.resolve(), _WITHIN.get()
        if within is not None and not any(real.is_relative_to(one) for one in within):
            return False
        if any(real.is_relative_to(one) for one in self.allowed):
            return True
        inner = next((one for one in (self.folder, self.root) if real.is_relative_to(one)), None)
        return inner is not None and not any(
            part.startswith(".") for part in real.relative_to(inner).parts
        )

    def require(self, path: Path) -> None:
        """Raises OutsideProject with the path as it was named, and nothing of where a link leads."""
        try:
            held = self.holds(path) or not path.exists()
        except (OSError, ValueError, RuntimeError):
            return  # it cannot be read either, and reading it says why
        if not held:
            what = "is a link that leads" if path.is_symlink() else "leads"
            raise OutsideProject(
                f"`{path}` {what} out of the project `{self.root.name or self.root}`",
                hint="--allow-outside DIR names a folder that may be read too (names that begin with a dot are outside)",
            )


_WITHIN: ContextVar[tuple[Path, ...] | None] = ContextVar("within", default=None)


@contextmanager
def reading_within(roots: Sequence[Path]) -> Iterator[None]:
    """Let no project reach beyond these real folders while the context lasts."""
    token = _WITHIN.set(tuple(roots))
    try:
        yield
    finally:
        _WITHIN.reset(token)


_CURRENT: ContextVar[Project | None] = ContextVar("project", default=None)


@contextmanager
def reading_for(file: Path, allowed: Sequence[Path] = ()) -> Iterator[Project]:
    """Let `read_text` read files of this file's project only while the context lasts. Inside
    another one, that one holds.
    """
    project = _CURRENT.get() or Project.of(file, allowed)
    token = _CURRENT.set(project)
    try:
        yield project
    finally:
        _CURRENT.reset(token)


def require_readable(path: Path) -> None:
    """Raises OutsideProject where a file is being read that may not name this path."""
    project = _CURRENT.get()
    if project is not None:
        project.require(path)


def may_read(path: Path, base: Path) -> bool:
    """The same as a question; outside of `reading_for`, whether the path is in `base`."""
    project = _CURRENT.get()
    return path.resolve().is_relative_to(base.resolve()) if project is None else project.holds(path)
