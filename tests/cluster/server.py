"""A PostgreSQL server of the tests' own, in a temporary folder, from the Debian package: never as
root, and not the system's.
"""

from __future__ import annotations

import glob
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

PASSWORD = "Pw-mark-91c4"
USER = "honestone"


def binaries() -> Path | None:
    """Where the newest server is installed; HONESTONE_TEST_PG names another folder."""
    named = os.environ.get("HONESTONE_TEST_PG")
    found = (
        [named]
        if named
        else sorted(
            glob.glob("/usr/lib/postgresql/*/bin"), key=lambda path: int(path.split("/")[4])
        )
    )
    return next(
        (Path(path) for path in reversed(found) if path and (Path(path) / "initdb").exists()), None
    )


@dataclass
class Server:
    """Started by `start`. `database` makes an empty one and gives its address."""

    bin: Path
    folder: Path = field(default_factory=lambda: Path(tempfile.mkdtemp(prefix="honestone-pg-")))
    port: int = 0
    made: int = 0

    def create(self) -> None:
        """The files of the cluster. Processes of root become another user's: PostgreSQL refuses
        root.
        """
        self.port = self.port or _free_port()
        if os.getuid() == 0:
            user = pwd.getpwnam("nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
        secret = self.folder / "pw"
        secret.write_text(PASSWORD + "\n")
        secret.chmod(0o644)
        where, how = (
            ("-D", str(self.folder / "data"), "-U", USER),
            ("-A", "scram-sha-256", "--pwfile", str(secret)),
        )
        self.run("initdb", *where, *how, "--no-sync", "--locale=C", "-E", "UTF8")

    def start(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder} -c fsync=off"
        self.run(
            "pg_ctl",
            "-D",
            str(self.folder / "data"),
            "-w",
            "-t",
            "60",
            "-l",
            str(self.folder / "log"),
            "-o",
            options,
            "start",
        )

    def stop(self, mode: str = "immediate") -> None:
        """At once, as in a crash, unless `mode` says otherwise."""
        self.run("pg_ctl", "-D", str(self.folder / "data"), "-w", "-m", mode, "stop", check=False)

    def end(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    def database(self) -> str:
        self.made += 1
        name = f"db{self.made}"
        self.sql(f"create database {name}", "postgres")
        return self.url(name)

    def url(
        self,
        database: str,
        *,
        password: str | None = PASSWORD,
        user: str = USER,
        port: int | None = None,
    ) -> str:
        secret = "" if password is None else f":{password}"
        return f"postgresql://{user}{secret}@127.0.0.1:{port or self.port}/{database}"

    def sql(self, text: str, database: str, *, check: bool = True) -> str:
        words = (
            "-h",
            "127.0.0.1",
            "-p",
            str(self.port),
            "-U",
            USER,
            "-d",
            database,
            "-At",
            "-v",
            "ON_ERROR_STOP=1",
            "-c",
            text,
        )
        return self.run("psql", *words, check=check).strip()

    def run(self, tool: str, *words: str, check: bool = True) -> str:
        log = self.folder / f"{tool}.out"
        other = pwd.getpwnam("nobody") if os.getuid() == 0 else None
        # Into a file: the server inherits the stream, and a pipe would never end.
        with open(log, "wb") as out:
            done = subprocess.run(
                [str(self.bin / tool), *words],
                cwd=self.folder,
                env={
                    "PATH": f"{self.bin}:/usr/bin:/bin",
                    "HOME": str(self.folder),
                    "LANG": "C",
                    "PGPASSWORD": PASSWORD,
                },
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                timeout=120,
                check=False,
                user=None if other is None else other.pw_uid,
                group=None if other is None else other.pw_gid,
                extra_groups=None if other is None else [],
            )
        said = log.read_text(errors="replace")
        assert done.returncode == 0 or not check, f"{tool}: {said[-400:]}"
        return said


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
