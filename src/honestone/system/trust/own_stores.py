"""Whose records a folder holds. One that this account made carries a mark, signed with a key of the
person's state folder; what came with a checkout, in an archive or from another user has none that
holds, so nothing in it is taken for an answer.

The mark is of these very files. It signs the time of change of a small file that is written once:
the kernel sets that time, so no copy, archive or checkout has it again. And it signs which file the
database is. Signing needs no write outside of the folder once the key is there, as in the sandbox
of an agent.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import Final

from honestone.system.trust.person_folder import person_folder

TRUST_VARIABLE: Final = "HONESTONE_TRUST_STORE"
DATABASE: Final = "store.db"
MARK: Final = "account"
# Written once, with the mark, and never again.
ANCHOR: Final = "made"

# What honestone writes into a store's folder: where one of these is, the folder holds records.
NAMES: Final = frozenset(
    "account batches claims.lock drafts live locks made open.lock reports stage step store.db store.db-shm store.db-wal undelivered".split()
)

_KEY: Final = "store.key"
_LARGEST: Final = 200


class Origin(Enum):
    """`NEW`: no records are there yet. `FOREIGN`: they were not made by this account, or nothing
    says
        so.
    """

    NEW = "new"
    OWN = "own"
    FOREIGN = "foreign"


def origin_of(folder: Path) -> Origin:
    """Whose records are in a store's folder."""
    return Origin.OWN if _is_vouched_for(folder) else _origin_by_mark(folder)


def _origin_by_mark(folder: Path) -> Origin:
    try:
        names = os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return Origin.NEW
    except OSError:
        return Origin.FOREIGN
    if MARK in names and _holds(folder):
        return Origin.OWN
    # A mark alone is no record: a command that was killed had only begun to make the store.
    return Origin.NEW if (NAMES - {MARK, ANCHOR}).isdisjoint(names) else Origin.FOREIGN


def claim(folder: Path) -> bool:
    """Sign a folder as this account's, with the database that is in it now. False where the state
    folder holds no key and cannot be written: the store works, and is not recognised by the next
    command.
    """
    key = _key() or _new_key()
    if key is None:
        return False
    os.replace(_written(folder / MARK, _mark(key, folder)), folder / MARK)
    return True


def claim_new(folder: Path) -> None:
    """Sign a folder that is about to get its first records, or its first database; nothing where it
    holds somebody else's.
    """
    if _origin_by_mark(folder) is Origin.FOREIGN:
        return
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.path.lexists(folder / ".gitignore"):  # a mark that is committed would be refused
        os.replace(_written(folder / ".gitignore", b"*\n"), folder / ".gitignore")
    claim(folder)


def sign_database(folder: Path) -> None:
    """Bind the mark of one's own folder to the database that was just made in it."""
    if _origin_by_mark(folder) is Origin.OWN:
        claim(folder)


def holds_no_database(folder: Path) -> bool:
    """Whether the store has nothing but a file that is not a database: opening it says so."""
    try:
        records = (NAMES - {MARK, ANCHOR}).intersection(os.listdir(folder))
        start = _read_entries(folder / DATABASE, follow=False)
    except OSError:
        return False
    return (
        records <= {DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "open.lock"}
        and start is not None
        and not start.startswith(b"SQLite format 3\0")
        and start != b""
    )


def disown(folder: Path) -> bool:
    """Take the mark away; whether one was there."""
    existed = os.path.lexists(folder / MARK)
    (folder / MARK).unlink(missing_ok=True)
    return existed


def is_marked(folder: Path) -> bool:
    """Whether a mark is there, whoever's: stores of older versions have none."""
    return os.path.lexists(folder / MARK)


def own_place_for(folder: Path) -> Path:
    """Where this account keeps its records instead of in a folder that holds somebody else's."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:32]
    return person_folder("XDG_STATE_HOME", ".local/state") / "stores" / name


def first_use() -> float | None:
    """When this account first used a version that signs stores, in seconds since 1970; None where
    it has no key.
    """
    if _key() is None:
        _new_key()
    with suppress(OSError, RuntimeError):
        return os.lstat(_key_file()).st_mtime
    return None


def _is_vouched_for(folder: Path) -> bool:
    named = os.environ.get(TRUST_VARIABLE)
    if not named:
        return False
    real = os.path.realpath(folder)
    return any(os.path.realpath(one) == real for one in named.split(os.pathsep) if one)


def _holds(folder: Path) -> bool:
    """Whether the mark is of this folder, and of its database: one that has just been made is not
    in it yet.
    """
    key, mark = _key(), _read_entries(folder / MARK, follow=False)
    if key is None or mark is None:
        return False
    signatures = mark.split()
    try:
        database = _inode(folder / DATABASE)
        if signatures[:1] != [_signature(key, folder, 0)]:
            return False
        return not database or signatures[1:] in ([], [_signature(key, folder, database)])
    except OSError:
        return False


def _mark(key: bytes, folder: Path) -> bytes:
    """A signature of the folder, and one of the folder with its database."""
    with suppress(FileExistsError):
        os.close(
            os.open(folder / ANCHOR, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        )
    numbers = [0, _inode(folder / DATABASE)]
    return b"".join(_signature(key, folder, number) + b"\n" for number in dict.fromkeys(numbers))


def _signature(key: bytes, folder: Path, database: int) -> bytes:
    made = os.lstat(folder / ANCHOR)
    what = f"{made.st_ino}:{made.st_ctime_ns}:{database}".encode()
    return hashlib.blake2b(what, key=key, digest_size=24).hexdigest().encode()


def _inode(path: Path) -> int:
    """0 where nothing is there. Links are never followed: what one names may change."""
    try:
        return os.lstat(path).st_ino
    except FileNotFoundError:
        return 0


def _key_file() -> Path:
    return person_folder("XDG_STATE_HOME", ".local/state") / _KEY


def _key() -> bytes | None:
    try:
        key = _read_entries(_key_file(), follow=True)
    except RuntimeError:  # an account without a home
        return None
    return key if key is not None and len(key) == 64 else None


def _new_key() -> bytes | None:
    """Another process may make one at the same moment: the first that is there is the account's."""
    try:
        place = _key_file()
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        half = _written(place, os.urandom(32).hex().encode())
        with suppress(FileExistsError):
            os.link(half, place)
        half.unlink()
    except (OSError, RuntimeError):
        return None
    return _key()


def _written(path: Path, data: bytes) -> Path:
    """A new file next to it. It is not synced: what a power cut takes costs one `honestone trust
    store`.
    """
    half = path.with_name(f".honestone-{os.urandom(8).hex()}")
    handle = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(handle, data)
    finally:
        os.close(handle)
    return half


def _read_entries(path: Path, *, follow: bool) -> bytes | None:
    try:
        handle = os.open(
            path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
        )
    except OSError:
        return None
    try:
        return os.read(handle, _LARGEST)
    except OSError:
        return None
    finally:
        os.close(handle)
