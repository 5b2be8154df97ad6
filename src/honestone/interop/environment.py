"""Variables of the environment in files of other tools: such a file gets those that a person names
with --pass-env.

A file that came from somewhere else could put any variable into prompts and reports, and names do
not tell which of them hold a password: `DATABASE_URL`, `SENTRY_DSN`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from honestone.core.record.secret_names import looks_secret

_NAMED: Final[ContextVar[frozenset[str]]] = ContextVar("named_variables", default=frozenset())
HINT: Final = (
    "--pass-env NAME lets the texts of the file have it; `env:` in a promptfoo config sets one"
)


@contextmanager
def named_variables(names: Iterable[str]) -> Iterator[None]:
    """Let readers of files see the variables that a person named, while the context lasts."""
    token = _NAMED.set(frozenset(names))
    try:
        yield
    finally:
        _NAMED.reset(token)


def why_not(name: str) -> str | None:
    """Why a text may not have this variable, in words that follow its name; None where it may."""
    if looks_secret(name):
        return "looks like a key or password, which is not put into texts"
    if name not in _NAMED.get():
        return "is of the environment and was not named with --pass-env"
    return None


def is_set(name: str) -> bool:
    return name in os.environ


def variable(name: str) -> str | None:
    """Its value; None where it is not set, or a text may not have it."""
    return os.environ.get(name) if why_not(name) is None else None
