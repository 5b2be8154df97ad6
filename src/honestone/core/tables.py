"""Tables of this package that are data: kinds of check, words and wordings. A file of them is as much its code as a module."""

from __future__ import annotations

from pkgutil import get_data


def table_text(name: str) -> str:
    """The text of `name`.toml in this package."""
    data = get_data(__package__, f"{name}.toml")
    assert data is not None
    return data.decode()
