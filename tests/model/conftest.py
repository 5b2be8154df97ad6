"""A real model, installed by install.sh below .model/, on a server of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.desk import Desk

from .server import Relay, Server, program, weights


def _running(*options: str) -> Iterator[Server]:
    if not os.environ.get("HONESTONE_TEST_MODEL"):
        pytest.skip("a real model is tested by: make test-model")
    here, model = program(), weights()
    if here is None or model is None:
        pytest.skip("llama.cpp's server and SmolLM2-135M are not installed: tests/model/install.sh")
    made = Server(here, model, *options)
    try:
        try:
            made.start()
        except (OSError, RuntimeError) as error:
            pytest.skip(f"llama.cpp's server does not run here {' '.join(options)}: {error}")
        yield made
    finally:
        made.end()


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    yield from _running()


@pytest.fixture
def embedder() -> Iterator[Relay]:
    """The same model as one that makes vectors, which takes a server of its own."""
    for running in _running("--embedding", "--pooling", "mean"):
        yield running.relay()


@pytest.fixture
def relay(server: Server) -> Relay:
    return server.relay()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    for name in ("work", "home", "logs"):
        (tmp_path / name).mkdir()
    return Desk(tmp_path / "work", tmp_path / "home", tmp_path / "logs")
