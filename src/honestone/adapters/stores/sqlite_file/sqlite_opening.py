"""How the file of a SQLite store is opened: to read and write, or to read alone; its formats, and
whom its folder belongs to.
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from honestone.adapters.stores.sqlite_file.hostile_files import distrust
from honestone.adapters.stores.sqlite_file.still_file import StillFile, log_of
from honestone.adapters.stores.unfinished import FILE
from honestone.core.errors import NoStoreError, StoreError
from honestone.system.files import write_atomically
from honestone.system.trust.own_stores import claim_new, sign_database

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

NEW_FOLDER: Final = "it may be damaged: keep it, and set HONESTONE_HOME to a new folder"
BUSY_SECONDS: Final = 10.0

_V1 = """
create table runs (
    id text primary key, kind text not null, subject text not null, identity text not null, contract text not null,
    started text not null, finished text, result text
) strict;
create index runs_by_identity on runs (identity, id);
create table events (run text not null, seq integer not null, data blob not null, primary key (run, seq)) strict, without rowid;
create table replies (id integer primary key, key text not null, judge text not null, at text not null, data blob not null) strict;
create index replies_by_key on replies (key, id);
create table blobs (digest text primary key, data blob not null) strict;
"""

_V2 = """
alter table runs add column project text;
alter table runs add column person text;
create table grants (run text primary key, calls integer not null) strict, without rowid;
create table rates (account text primary key, at real not null) strict, without rowid;
"""

_V3 = """
alter table grants add column usd real not null default 0;
alter table grants add column dearest real not null default 0;
alter table grants add column at real;
create table cases (run text not null, number integer not null, id text not null, data blob not null, primary key (run, number))
    strict, without rowid;
create index cases_by_id on cases (run, id);
alter table events add column once blob;
create unique index events_once on events (run, once) where once is not null;
"""

# What brings a store from version N to N + 1. Never edit one that has been released; append.
MIGRATIONS = (_V1, _V2, _V3)


class Opened(Struct, frozen=True):
    """An open database. `file` tells whether the file at its path is still the one that was opened;
    `still` is the file of one that is only read, where no one writes to it; `copy` holds the files
    that are read in place of those of a folder that is not writable. `has_origins`: its runs have columns for their project and person.
    """

    db: sqlite3.Connection
    file: tuple[int, int] | None = None
    still: StillFile | None = None
    copy: TemporaryDirectory[str] | None = None
    has_origins: bool = True


class StoreFile(Struct, frozen=True):
    """The file of a store, in its `folder`."""

    folder: Path

    def open(self) -> Opened:
        """To read and write; made, or brought to the newest format, where it is not there yet.
        Raises StoreError, sqlite3.Error and OSError.
        """
        self._make_private()
        ignore = self.folder / ".gitignore"
        # Switching to WAL fails at once when another process is at it, whatever the busy timeout:
        # so one at a time.
        with self._locked("open.lock"):
            if not ignore.exists():
                write_atomically(ignore, b"*\n", private=True)
            # One thread at a time uses it, and not always the same one.
            db = sqlite3.connect(
                self.folder / FILE,
                timeout=BUSY_SECONDS,
                isolation_level=None,
                check_same_thread=False,
            )
            opened = Opened(db, file=file_id(self.folder / FILE))
            try:
                distrust(db)
                version = self.version(db)
                if version < len(MIGRATIONS):
                    db.execute("pragma journal_mode = wal")
                    migrate(db, version)
                # Every commit is with the system when the call returns, so a kill loses nothing;
                # the last ones before a power cut may be lost, never torn. `full` would cost four
                # times as much for each reply.
                db.execute("pragma synchronous = normal")
            except BaseException:
                db.close()
                raise
        return opened

    def _make_private(self) -> None:
        """The folder and the database are for this person alone: they hold prompts, texts and
        replies.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        is_new = not os.path.lexists(self.folder / FILE)
        if is_new:
            claim_new(self.folder)
        self._refuse_links()
        with suppress(PermissionError):  # somebody else's, who lets us write to it
            if (
                self.folder.name == ".honestone"
            ):  # of an older version; another folder may hold more than ours
                self.folder.chmod(0o700)
            handle = os.open(
                self.folder / FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
            )
            try:
                os.fchmod(handle, 0o600)
            finally:
                os.close(handle)
        if is_new:
            sign_database(self.folder)

    def _refuse_links(self) -> None:
        """SQLite follows links, and so do programs that look for its journal: none of these names
        may be one.
        """
        for name in (FILE, f"{FILE}-wal", f"{FILE}-shm", f"{FILE}-journal"):
            if os.path.islink(self.folder / name):
                raise StoreError(
                    f"`{self.folder / name}` is a link, and a store is not written through links",
                    hint="remove it",
                )

    def open_readonly(self) -> Opened:
        """To read alone, in a folder that may not be writable. Raises NoStoreError where nothing has
        been stored yet; StoreError, sqlite3.Error and OSError.
        """
        path = self.folder / FILE
        if not path.exists():
            raise self._none_yet()
        still = StillFile.of(path)
        mode = "mode=ro&immutable=1"
        copy: TemporaryDirectory[str] | None = None
        log = log_of(path)
        if still is None and os.access(self.folder, os.W_OK):
            # A reader of a store that is in use needs its shared-memory file.
            mode = "mode=ro"
        elif log.exists() and log.stat().st_size:
            # What a killed process wrote last is only in the log, which needs a writable folder to
            # be read.
            import shutil
            import tempfile

            copy = tempfile.TemporaryDirectory(prefix="honestone-store-")
            for part in (path, log):
                shutil.copyfile(part, Path(copy.name) / part.name)
            path, mode = Path(copy.name) / FILE, "mode=ro"
        quoted = str(path.resolve()).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
        db = sqlite3.connect(
            f"file:{quoted}?{mode}", uri=True, timeout=BUSY_SECONDS, isolation_level=None
        )
        distrust(db)
        version = self.version(db)
        if version == 0:  # made an instant ago, by a command that has not written its tables
            db.close()
            raise self._none_yet()
        return Opened(db, still=still, copy=copy, has_origins=version > 1)

    def _none_yet(self) -> NoStoreError:
        return NoStoreError(
            f"no store has been made in {str(self.folder)!r} yet",
            hint="`honestone eval` makes one on its first run",
        )

    def version(self, db: sqlite3.Connection) -> int:
        """The format of a database, 0 for one without tables. Raises StoreError for one that is
        not known here.
        """
        version = int(db.execute("pragma user_version").fetchone()[0])
        if version < 0:
            db.close()
            raise StoreError(
                f"the store {str(self.folder)!r} is damaged: its format is {version}",
                hint=NEW_FOLDER,
            )
        if version > len(MIGRATIONS):
            db.close()
            raise StoreError(
                f"the store {str(self.folder)!r} was written by a newer honestone (format {version}, this one knows {len(MIGRATIONS)})",
                hint="upgrade honestone, or set HONESTONE_HOME to a new folder",
            )
        return version

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        handle = os.open(
            self.folder / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600
        )
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)


def migrate(db: sqlite3.Connection, version: int) -> None:
    """Brings the tables of a database from this version to the newest format."""
    for number in range(version, len(MIGRATIONS)):
        db.executescript(
            f"begin immediate; {MIGRATIONS[number]} pragma user_version = {number + 1}; commit;"
        )


def file_id(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
