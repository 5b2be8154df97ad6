"""Artifacts on disk: read in whole or refused by name, copied to private places, replaced
atomically.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from honestone.core.artifact import Entry, Version
from honestone.core.errors import FileError

# An artifact larger than this is refused unless `--max-size` allows it.
MAX_BYTES = 10_000_000

# Names that are never part of a folder artifact: version control, caches, our own store.
NEVER_PART = frozenset(
    ".git .hg .svn .honestone __pycache__ node_modules .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis .tox .DS_Store".split()
)

# What our half-written files are called; a kill may leave one.
TEMPORARY = ".honestone-"

_JUNK_ENDINGS = ("~", ".swp", ".swo", ".pyc", ".orig", ".bak")


class Loaded(Struct, frozen=True):
    """A version read from disk and what was left out of it, in words."""

    version: Version
    notes: tuple[str, ...] = ()


def load_artifact(
    path: Path, *, exclude: Collection[Path] = (), max_bytes: int = MAX_BYTES
) -> Loaded:
    """The file or folder at `path`. `exclude` are resolved paths (rubric, suite) that do not belong
    to it.

    Raises FileError for what is missing, empty, too large, binary or not UTF-8, naming it.
    """
    try:
        mode = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        raise FileError(f"no file or folder is at {str(path)!r}", hint=_near(path)) from None
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {str(path)!r}: {_why(error)}") from None
    if stat.S_ISDIR(mode):
        return _load_folder(path, exclude, max_bytes)
    if not stat.S_ISREG(mode):
        raise FileError(
            f"{str(path)!r} is neither a file nor a folder",
            hint="judge a text file, or a folder of them",
        )
    return Loaded(load_file(path, max_bytes=max_bytes))


def load_file(path: Path, *, max_bytes: int = MAX_BYTES) -> Version:
    """A text file as a version. Raises FileError as `load_artifact` does."""
    try:
        # Plain system calls: over many small files `open()` costs as much as all the checks of one.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            status = os.fstat(handle)
            if status.st_size > max_bytes:
                raise _too_large(path, status.st_size, max_bytes)
            data = os.read(handle, status.st_size + 1)
            while len(data) < status.st_size or len(data) > status.st_size:
                more = os.read(handle, _CHUNK)
                if not more:
                    break
                data += more
                if len(data) > max_bytes:
                    raise _too_large(path, len(data), max_bytes, at_least=True)
        finally:
            os.close(handle)
    except OSError as error:
        raise FileError(f"cannot read {str(path)!r}: {_why(error)}") from None
    if not data or data.isspace():
        raise FileError(
            f"{str(path)!r} is empty", hint="there is nothing to judge in it; write a first draft"
        )
    require_text(data, path)
    return Version(
        {printable(os.path.basename(path)): Entry(data, bool(status.st_mode & 0o100))},
        is_folder=False,
    )


_CHUNK = 1 << 20


def printable(path: Path | str) -> str:
    """A path as text that any file or terminal can hold: bytes that are not UTF-8 are written as
    escapes.
    """
    name = str(path)
    return (
        name
        if name.isascii()
        else name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    )


def require_text(data: bytes, path: Path) -> None:
    """Raises FileError that names the offset of what is not UTF-8 text."""
    if data.isascii() and b"\0" not in data:
        return
    name, nul = str(path), data.find(b"\0")
    if nul >= 0:
        raise FileError(
            f"{name!r} is a binary file (NUL byte at offset {nul})",
            hint="judge a text file, or a folder of them",
        )
    try:
        data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{name!r} is not UTF-8: byte 0x{data[error.start]:02x} at offset {error.start}",
            hint=f"convert it, for example: iconv -f latin1 -t utf-8 {shlex.quote(name)} > new",
        ) from None


def _load_folder(root: Path, exclude: Collection[Path], max_bytes: int) -> Loaded:
    files: dict[str, Entry] = {}
    notes: list[str] = []
    total = 0
    for path in _walk(root, notes):
        if exclude and path.resolve() in exclude:
            continue
        try:
            size = path.stat().st_size
            total += size
            if total > max_bytes:
                raise _too_large(root, total, max_bytes, at_least=True)
            files[path.relative_to(root).as_posix()] = Entry(
                path.read_bytes(), os.access(path, os.X_OK)
            )
        except OSError as error:
            notes.append(f"left out {path.relative_to(root)}: {_why(error)}")
    version = Version(dict(sorted(files.items())), is_folder=True)
    if not any(text.strip() for text in version.texts.values()):
        raise FileError(
            f"the folder {str(root)!r} holds no readable text file", hint=_left_out(notes)
        )
    return Loaded(version, tuple(notes))


def files_at(path: Path) -> list[Path]:
    """The path itself, or the files below a folder that an artifact would have."""
    return list(_walk(path, [])) if path.is_dir() else [path]


def below(root: Path, leave_out: Collection[str] = NEVER_PART) -> Iterator[Path]:
    """All files below a folder, in the order of names; nothing of a folder whose name is to be left
    out.
    """
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in leave_out)
        yield from (Path(folder, name) for name in sorted(names))


def _walk(root: Path, notes: list[str]) -> Iterator[Path]:
    """Regular files below a folder in path order. Links are never followed: each is left out with a
    note.
    """
    for folder, folders, names in os.walk(root, followlinks=False):
        here = Path(folder)
        entered = []
        for name in sorted(folders):
            if (here / name).is_symlink():
                notes.append(f"left out {(here / name).relative_to(root)}: a link")
            elif name not in NEVER_PART:
                entered.append(name)
        folders[:] = entered
        for name in sorted(names):
            path = here / name
            if path.is_symlink():
                notes.append(f"left out {path.relative_to(root)}: a link")
            elif printable(path.relative_to(root)) != str(path.relative_to(root)):
                notes.append(f"left out {printable(path.relative_to(root))}: its name is not UTF-8")
            elif (
                name not in NEVER_PART
                and not name.endswith(".pyc")
                and not name.startswith(TEMPORARY)
            ):
                if path.is_file():
                    yield path
                else:
                    notes.append(f"left out {path.relative_to(root)}: not a regular file")


def _left_out(notes: list[str]) -> str:
    return "; ".join(notes[:3]) or "judge a text file, or a folder of them"


def _too_large(path: Path, size: int, limit: int, *, at_least: bool = False) -> FileError:
    more = "at least " if at_least else ""
    return FileError(
        f"{str(path)!r} has {more}{size / 1e6:.1f} MB, more than the limit of {limit / 1e6:g} MB",
        hint=f"leave files out, or raise the limit with --max-size {int(size / 1e6) + 1} (in MB)",
    )


def _near(path: Path) -> str:
    from difflib import get_close_matches

    try:
        names = os.listdir(path.parent)
    except (OSError, ValueError):
        return "check the path, and the folder that you are in"
    near = get_close_matches(path.name, names, n=1)
    return f"did you mean {str(path.parent / near[0])!r}?" if near else "check the path"


def _why(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error)


# ----------------------------------------------------------------------------------------------------------
# writing


def write_atomically(
    path: Path,
    data: bytes,
    *,
    executable: bool | None = None,
    private: bool = False,
    through_links: bool = False,
) -> None:
    """Replace a file so that at every moment it holds either the old or the new bytes.

    A link is an error (OSError, ELOOP) unless `through_links`: that is for files that the person
    named. What `private` is for this person alone, with the folders that are made for it.
    """
    place = (
        Path(os.path.realpath(path))
        if through_links
        else Path(os.path.realpath(path.parent), path.name)
    )
    _make_folder(place.parent, 0o700 if private else 0o777)
    with _folder_below(place.parent, ()) as folder:
        _refuse_link(folder, place.name, path)
        _replace(folder, place.name, data, executable, new=0o600 if private else 0o644)


def write_below(root: Path, name: str, data: bytes) -> None:
    """The same for a private file of ours below `root`, whose folders are made where they are
    missing. No part of `name` is a link: a checkout may have put one there, and what we choose to
    write would be written wherever it leads.
    """
    *parts, last = Path(name).parts
    _make_folder(Path(os.path.realpath(root)), 0o700)
    with open_below(root, parts, mode=0o700) as folder:
        _refuse_link(folder, last, root / name)
        _replace(folder, last, data, None, new=0o600)


def _refuse_link(folder: int, name: str, shown: Path) -> None:
    with suppress(FileNotFoundError):
        if stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
            raise _link_error(shown)


def _link_error(path: Path) -> OSError:
    return OSError(
        errno.ELOOP,
        "it is a link, and what honestone names itself is not written through links",
        str(path),
    )


def _make_folder(place: Path, mode: int) -> None:
    if not place.is_dir():
        _make_folder(place.parent, mode)
        place.mkdir(mode=mode, exist_ok=True)


def _replace(
    folder: int,
    name: str,
    data: bytes,
    executable: bool | None,
    *,
    new: int = 0o644,
    mode: int | None = None,
) -> None:
    """Write a file in a folder that is open, whole or not at all. It keeps its mode unless another
    is given.
    """
    if mode is None:
        try:
            mode = stat.S_IMODE(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
        except FileNotFoundError:
            mode = new
    if executable is not None and executable != bool(mode & 0o100):
        mode = mode | 0o111 if executable else mode & ~0o111
    half = TEMPORARY + os.urandom(8).hex()
    handle = os.open(
        half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder
    )
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fchmod(handle, mode)
            os.fsync(handle)
        os.replace(half, name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        with suppress(OSError):
            os.unlink(half, dir_fd=folder)
        raise


@contextmanager
def open_below(root: Path, parts: Sequence[str], *, mode: int = 0o777) -> Iterator[int]:
    """A handle of one of our own folders below `root`, made where it is missing. A link on the way
    is an error.
    """
    with _folder_below(root, parts, make=True, mode=mode) as handle:
        yield handle


@contextmanager
def _folder_below(
    root: Path, parts: Sequence[str], *, make: bool = False, mode: int = 0o777
) -> Iterator[int]:
    """A handle of a folder below `root`, reached step by step: a link on the way is an error,
    wherever it leads.
    """
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
    handle = os.open(os.path.realpath(root), flags)
    try:
        for part in parts:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(part, mode, dir_fd=handle)
            above, handle = handle, os.open(part, flags, dir_fd=handle)
            os.close(above)
        yield handle
    finally:
        os.close(handle)


def modes_of(root: Path, names: Iterable[str]) -> dict[str, int]:
    """The permissions of those of the files in a folder that are there."""
    modes = {}
    for name in names:
        with suppress(OSError):
            modes[name] = stat.S_IMODE(os.lstat(root / name).st_mode)
    return modes


class Home(Struct, frozen=True):
    """Where a path led when it was first looked at: its real path, and which folder that is (for a
    file, the one that it is in). A folder that was not there has no number.
    """

    path: Path
    real: str
    folder: tuple[int, int] | None

    @classmethod
    def of(cls, path: Path) -> Home:
        real = os.path.realpath(path)
        return cls(path, real, cls._number(real))

    @staticmethod
    def _number(real: str) -> tuple[int, int] | None:
        try:
            status = os.stat(real if os.path.isdir(real) else os.path.dirname(real))
        except OSError:
            return None
        return status.st_dev, status.st_ino

    def require_same(self) -> None:
        """Raises FileError where the path leads somewhere else now, be it by a link or by another
        folder of that name.
        """
        real = os.path.realpath(self.path)
        if real != self.real or self.folder not in (None, self._number(real)):
            raise FileError(
                f"{str(self.path)!r} is not the place that it was when the run began, so nothing was written",
                hint="bring the folder back; the accepted version is in the store: honestone show last --version best",
            )


def deliver(
    path: Path,
    before: Version,
    after: Version,
    modes: Mapping[str, int] | None = None,
    *,
    home: Home | None = None,
) -> None:
    """Bring the artifact at `path` from one version to another; only what differs is touched, and
    no link is followed.

    `modes` are permissions, by path, of files that would else get other ones. `home` is what the
    path was when it was first read.

    Raises FileError when the disk, a link or the permissions do not allow it.
    """
    if home is not None:
        home.require_same()
    try:
        if not after.is_folder:
            (entry,) = after.files.values()
            write_atomically(path, entry.data, through_links=True)
            return
        path.mkdir(parents=True, exist_ok=True)
        for name, entry in after.files.items():
            if before.files.get(name) != entry or not os.path.lexists(path / name):
                _put_below(path, name, entry, (modes or {}).get(name))
        for name in before.files.keys() - after.files.keys():
            _remove_below(path, name)
    except OSError as error:
        raise FileError(
            f"cannot write {str(path)!r}: {_why(error)}",
            hint="the accepted version is in the store; make the place writable and run the same command again",
        ) from None


def _put_below(root: Path, name: str, entry: Entry, mode: int | None) -> None:
    _inside(root, name)
    *parts, last = Path(name).parts
    with _folder_below(root, parts, make=True) as folder:
        _refuse_link(folder, last, root / name)
        _replace(folder, last, entry.data, entry.executable if mode is None else None, mode=mode)


def _remove_below(root: Path, name: str) -> None:
    """Remove a file, and the folders that are empty without it."""
    _inside(root, name)
    parts = Path(name).parts
    with suppress(FileNotFoundError), _folder_below(root, parts[:-1]) as folder:
        os.unlink(parts[-1], dir_fd=folder)
    with suppress(OSError):
        for depth in range(len(parts) - 1, 0, -1):
            with _folder_below(root, parts[: depth - 1]) as folder:
                os.rmdir(parts[depth - 1], dir_fd=folder)


def materialise(version: Version, place: Path) -> None:
    """Write a version below `place`, an existing empty folder."""
    for name, entry in version.files.items():
        target = _inside(place, name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(entry.data)
        if entry.executable:
            target.chmod(0o755)


def _inside(root: Path, name: str) -> Path:
    target = root / name
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise FileError(f"{name!r} leads out of the artifact")
    return target


# ----------------------------------------------------------------------------------------------------------
# private copies


class PrivateCopy(Struct, frozen=True):
    """A worker's copy of an artifact in a folder of its own. With it come files that do not belong
    to it.
    """

    root: Path
    place: Path
    is_folder: bool
    siblings: dict[str, Entry]


def make_copy(
    version: Version, root: Path, *, name: str, siblings: dict[str, Entry] | None = None
) -> PrivateCopy:
    """`root` is a new empty folder. A folder artifact becomes `root/NAME/`, a file `root/NAME`."""
    siblings = siblings or {}
    if not version.is_folder:
        materialise(version, root)
        return PrivateCopy(root, root / next(iter(version.files)), False, {})
    place = root / printable(name)
    place.mkdir(parents=True)
    materialise(version, place)
    for path, entry in siblings.items():
        target = _inside(place, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(entry.data)
    return PrivateCopy(root, place, True, siblings)


class ReadBack(Struct, frozen=True):
    """What a worker left: the version (None: the artifact is gone), strays, and why it cannot be
    read.
    """

    version: Version | None
    strays: tuple[str, ...] = ()
    trouble: str | None = None


def read_back(copy: PrivateCopy, *, max_bytes: int = MAX_BYTES) -> ReadBack:
    """Look at a private copy after the worker. Links are strays; so are edits of files that do not
    belong to the artifact.
    """
    strays = _strays(copy)
    if copy.place.is_symlink() or not copy.place.exists():
        return ReadBack(None, strays)
    if copy.place.is_dir() != copy.is_folder:
        return ReadBack(
            None, strays, "the artifact is no longer a " + ("folder" if copy.is_folder else "file")
        )
    exclude = {(copy.place / name).resolve() for name in copy.siblings}
    try:
        return ReadBack(
            load_artifact(copy.place, exclude=exclude, max_bytes=max_bytes).version, strays
        )
    except FileError as error:
        empty = not copy.is_folder and copy.place.stat().st_size == 0
        return ReadBack(
            None, strays, None if empty else error.message.replace(str(copy.root) + os.sep, "")
        )


def _strays(copy: PrivateCopy) -> tuple[str, ...]:
    strays: list[str] = []
    for folder, folders, names in os.walk(copy.root):
        folders[:] = [name for name in folders if name not in NEVER_PART]
        for name in sorted([*names, *(f for f in folders if (Path(folder) / f).is_symlink())]):
            path = Path(folder) / name
            inside = copy.is_folder and path.is_relative_to(copy.place)
            if path.is_symlink():
                strays.append(f"{path.relative_to(copy.root)} (a link)")
            elif (
                not inside
                and path != copy.place
                and name not in NEVER_PART
                and not name.endswith(_JUNK_ENDINGS)
            ):
                strays.append(str(path.relative_to(copy.root)))
    for name, entry in copy.siblings.items():
        path = copy.place / name
        if not path.is_file() or path.read_bytes() != entry.data:
            strays.append(name)
    return tuple(strays)


def remove(place: Path) -> None:
    """Whatever is there, even folders that a program has locked. Links are removed, not followed."""
    import shutil

    for _ in range(5):  # a program that is just ending may still write
        if place.is_symlink() or place.is_file():
            place.unlink(missing_ok=True)
        else:
            shutil.rmtree(place, ignore_errors=True)
        if not os.path.lexists(place):
            return
        _unlock(place)


def _unlock(place: Path) -> None:
    with suppress(OSError):
        place.chmod(0o700)
    for folder, folders, _ in os.walk(place):
        for name in folders:
            path = Path(folder, name)
            if not path.is_symlink():
                with suppress(OSError):
                    path.chmod(0o700)
