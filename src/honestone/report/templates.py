"""The templates in `pages/`: every value passes through one function, so that no template can forget to make it harmless."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined

PAGES: Final = Path(__file__).parent / "pages"


def environment(harmless: Callable[[object], object]) -> Environment:
    """What `harmless` does not return as Markup is escaped as HTML."""
    return Environment(
        loader=FileSystemLoader(PAGES),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=harmless,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
