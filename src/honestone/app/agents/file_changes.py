"""Changes to several files, all or none, and the record of what was made, so that it can be taken
back.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from honestone.core.errors import FileError
from honestone.core.json_value import late_pattern
from honestone.system.files import TEMPORARY, write_atomically
from honestone.system.trust.person_folder import person_folder

_HALF: Final = late_pattern(re.escape(TEMPORARY) + "[0-9a-f]{16}")


class FileChange(Struct, frozen=True, kw_only=True):
    """The bytes of a file, where it really is; None: it is not there."""

    path: Path
    before: bytes | None
    after: bytes | None


class FileNotes(msgspec.Struct, kw_only=True):
    """What was made in a file: "" is the file itself, "hooks.Stop" a container in it. `replaced` is
    what --force put aside.
    """

    made: set[str] = set()
    replaced: str | None = None


class InstallRecord(msgspec.Struct, kw_only=True):
    """What was made in a project or home, kept in the person's own state folder. `folders` are
    those that were made, those of the record too; `command` is what --command named; `unfinished`
    says that files are being written, or were when a command was killed.
    """

    files: dict[str, FileNotes] = {}
    command: str | None = None
    folders: set[str] = set()
    unfinished: bool = False


def load_record(base: Path) -> InstallRecord | None:
    """None where nothing was installed, or by somebody else. Raises FileError for a record that is
    damaged.
    """
    place = _place(base)
    try:
        return msgspec.json.decode(place.read_bytes(), type=InstallRecord)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError) as error:
        raise FileError(
            f"cannot read {str(place)!r}: {error}", hint="remove it; the record is lost then"
        ) from None


def save_record(base: Path, record: InstallRecord) -> None:
    record.folders |= missing_folders(_place(base))
    write_atomically(_place(base), msgspec.json.encode(record, order="sorted"), private=True)


def remove_record(base: Path) -> None:
    _place(base).unlink(missing_ok=True)


def _place(base: Path) -> Path:
    name = hashlib.sha256(os.fsencode(base)).hexdigest()[:32]
    return person_folder("XDG_STATE_HOME", ".local/state") / "agents" / f"{name}.json"


def make_changes(changes: Sequence[FileChange], *, private: bool) -> None:
    """All of them; when one cannot be made, those before it are taken back. Raises FileError."""
    made = missing_folders(*(change.path for change in changes))
    done: list[FileChange] = []
    try:
        for change in changes:
            done.append(change)
            _put(change.path, change.after, private=private)
    except BaseException as error:
        for change in reversed(done):
            with suppress(OSError):
                _put(change.path, change.before, private=private)
        remove_empty(made)
        if isinstance(error, OSError):
            why = error.strerror or error
            raise FileError(
                f"cannot write {str(done[-1].path)!r}: {why}; nothing was changed"
            ) from None
        raise


def _put(path: Path, data: bytes | None, *, private: bool) -> None:
    if data is None:
        path.unlink(missing_ok=True)
    else:
        write_atomically(path, data, private=private)


def missing_folders(*paths: Path) -> set[str]:
    """Those that have to be made for these files."""
    return {str(folder) for path in paths for folder in path.parents if not folder.exists()}


def remove_empty(folders: Iterable[str]) -> None:
    """Those that hold nothing, the deepest first."""
    for folder in sorted(folders, key=len, reverse=True):
        with suppress(OSError):
            os.rmdir(folder)


def remove_halves(paths: Iterable[Path]) -> None:
    """What a command that was killed left half-written next to these files."""
    for folder in {path.parent for path in paths if path.parent.is_dir()}:
        for half in folder.iterdir():
            if _HALF.fullmatch(half.name):
                half.unlink(missing_ok=True)
