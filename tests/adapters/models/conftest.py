from __future__ import annotations

from collections.abc import Iterator

import pytest

from .standin import KEY, Standin, running


@pytest.fixture(scope="session")
def one_standin() -> Iterator[Standin]:
    with running() as standin:
        yield standin


@pytest.fixture
def standin(one_standin: Standin, monkeypatch: pytest.MonkeyPatch) -> Standin:
    """A stand-in without memory of earlier tests, the key in TEST_KEY, and no other key, address or
    proxy around.
    """
    fresh = Standin()
    for name in (
        "say",
        "fault",
        "declines",
        "streams_only",
        "stream_length",
        "seen",
        "in_the_air",
        "most_in_the_air",
        "meeting",
        "on_hang",
    ):
        setattr(one_standin, name, getattr(fresh, name))
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "GEMINI_API_KEY",
        "GOOGLE_API_KEY",
        "OPENAI_BASE_URL",
        "ANTHROPIC_BASE_URL",
        "GOOGLE_GEMINI_BASE_URL",
        "GEMINI_BASE_URL",
        "OLLAMA_HOST",
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
        "NO_PROXY",
        "no_proxy",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TEST_KEY", KEY)
    return one_standin
