"""The files that travel to another machine: collected below one folder, kept in pieces by digest,
and laid out again there.

What holds keys does not travel, by name or by content (`system/secret_texts.py`), nor does version
control. A hidden file travels only where it is named itself.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from honestone.core.artifact import digest_of
from honestone.core.errors import FileError, StoreError
from honestone.core.record.plan import CHUNK, Bundle, BundleFile
from honestone.system.files import NEVER_PART, below, printable
from honestone.system.secret_texts import MOST_READ, is_key_file, key_in

# Hidden files that travel with their folder: what is in them says how a project is worked on.
_HARMLESS: Final = frozenset(
    ".gitignore .gitattributes .gitkeep .keep .editorconfig .python-version .nvmrc .dockerignore".split()
)


def collect(
    root: Path, places: Iterable[Path], keep: Callable[[Mapping[str, bytes]], None]
) -> Bundle:
    """The files at `places`, and those in the folders among them, as a bundle. `keep` gets their
    content by digest, a piece at a time. `root` is the folder that travels.

    Raises FileError for a place that is missing or outside of it, for a file that keys are kept in,
    and for a hidden one that is in a folder among the places and not one of them.
    """
    real = Path(os.path.realpath(root))
    files: dict[str, BundleFile] = {}
    hidden: dict[str, None] = {}
    for place in places:
        for path, is_hidden in _files_at(real, place):
            name = path.relative_to(real).as_posix()
            if is_hidden:
                hidden[name] = None
            elif name not in files:
                files[name] = _stored_file(path, name, keep)
    if left := [name for name in hidden if name not in files]:
        raise FileError(
            f"{left[0]!r} is a hidden file, and those travel to other machines only where they are named",
            hint=f'move it out of what the suite copies, or name it in honestone.toml: [store] include = ["{left[0]}"]',
        )
    return Bundle(files=tuple(files[name] for name in sorted(files)))


def _files_at(root: Path, place: Path) -> Iterator[tuple[Path, bool]]:
    """By the paths that they are reached by, and whether they are hidden below `place`; links must
    lead to what travels too.
    """
    _require_inside(root, place)
    path = Path(os.path.realpath(place.parent), place.name)
    if not path.is_dir():
        if not path.is_file():
            raise FileError(
                f"{printable(place)!r} is needed on other machines, but it is not a file or folder"
            )
        _require_harmless(root, path)
        yield path, False
        return
    for one in below(path):
        if one.name in NEVER_PART:
            continue
        _require_inside(root, one)
        if one.is_file():
            _require_harmless(root, one)
            yield one, _is_hidden(one.relative_to(path))


def _is_hidden(path: Path) -> bool:
    return any(part.startswith(".") for part in path.parts) and path.name not in _HARMLESS


def _require_inside(root: Path, place: Path) -> None:
    if not Path(os.path.realpath(place)).is_relative_to(root):
        raise FileError(
            f"{printable(place)!r} is needed on other machines, but it is outside of the folder that travels",
            hint=f"copy it into {printable(root)}, or have honestone.toml in a folder that holds both",
        )


def _require_harmless(root: Path, path: Path) -> None:
    real = Path(os.path.realpath(path))
    why = (
        "is a file that keys are kept in"
        if any(is_key_file(one.relative_to(root).parts) for one in (path, real))
        else _why_not(path)
    )
    if why is not None:
        raise FileError(
            f"{printable(path)!r} {why}, and those do not travel to other machines",
            hint="move it out of what the suite copies; a runner takes keys from its own environment",
        )


def _why_not(path: Path) -> str | None:
    try:
        with path.open("rb") as file:
            found = key_in(file.read(MOST_READ))
    except OSError as error:
        raise FileError(f"cannot read {printable(path)!r}: {error.strerror or error}") from None
    return None if found is None else f"holds a key ({found})"


def _stored_file(path: Path, name: str, keep: Callable[[Mapping[str, bytes]], None]) -> BundleFile:
    if printable(name) != name:
        raise FileError(
            f"the name {printable(name)!r} is not UTF-8, so the file cannot travel",
            hint="rename it",
        )
    chunks = []
    try:
        with path.open("rb") as file:
            is_executable = bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)
            while data := file.read(CHUNK):
                chunks.append(digest_of(data))
                keep({chunks[-1]: data})
    except OSError as error:
        raise FileError(f"cannot read {printable(path)!r}: {error.strerror or error}") from None
    return BundleFile(path=name, chunks=tuple(chunks), executable=is_executable)


def lay_out(bundle: Bundle, read: Callable[[str], bytes | None], folder: Path) -> None:
    """Write the files of a bundle below `folder`, an empty one of this person alone. `read` gives
    the content of a digest.

    Raises StoreError where content is missing or is not what its digest says; that file is not left
    there.
    """
    folder.chmod(0o700)
    for one in bundle.files:
        place = folder / one.path
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with place.open(
                "wb"
            ) as file:  # not at once: a file may be larger than what should be in memory
                for digest in one.chunks:
                    file.write(_checked(digest, read, one.path))
        except StoreError:
            place.unlink()
            raise
        place.chmod(0o700 if one.executable else 0o600)


def _checked(digest: str, read: Callable[[str], bytes | None], name: str) -> bytes:
    data = read(digest)
    if data is None or digest_of(data) != digest:
        what = "is missing from the store" if data is None else "is not what was ordered"
        raise StoreError(
            f"the content of `{name}` {what}", hint="order the run again from its suite's folder"
        )
    return data
