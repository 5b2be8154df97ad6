"""One server for all tests of a process, and an empty database for each test."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.desk import Desk

from .server import Server, binaries
from .site import Site


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    pytest.importorskip("psycopg", reason="the extra `cluster` is not installed")
    found = binaries()
    if found is None:
        pytest.skip("PostgreSQL is not installed here: `make test-cluster` installs it")
    made = Server(found)
    try:
        made.create()
        made.start()
        yield made
    finally:
        made.end()


@pytest.fixture
def url(server: Server) -> str:
    return server.database()


@pytest.fixture
def desk(tmp_path: Path, url: str) -> Iterator[Desk]:
    """A person's desk whose commands use the shared store."""
    for name in ("work", "home", "logs"):
        (tmp_path / name).mkdir()
    yield Desk(
        tmp_path / "work", tmp_path / "home", tmp_path / "logs", extra={"HONESTONE_STORE": url}
    )
    shutil.rmtree(tmp_path, ignore_errors=True)


@pytest.fixture
def site(desk: Desk, tmp_path: Path) -> Iterator[Site]:
    made = Site(desk, tmp_path)
    yield made
    made.end()
