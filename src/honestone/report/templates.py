"""The templates in `pages/`: every value passes through one function, so that no template can
forget to make it harmless.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from honestone.system.drawing import line

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


_PIECE: Final = 1 << 16


def in_pieces(parts: Iterable[str]) -> Iterator[str]:
    """What a template generates, in pieces of some 64 kB that end with a `>`: as an escaped value
    has none, each value is whole in one piece.
    """
    pending: list[str] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        end = part.rfind(">") + 1
        if size >= _PIECE and end:
            pending[-1] = part[:end]
            yield "".join(pending)
            pending, size = [part[end:]], len(part) - end
    yield "".join(pending)


def macro(templates: Environment, template: str, name: str) -> Callable[..., str]:
    drawn: Callable[..., str] = vars(templates.get_template(template).module)[name]
    return drawn


@lru_cache(maxsize=1)
def _texts() -> Environment:
    found = environment(lambda value: value if isinstance(value, Markup) else Markup(line(value)))
    found.filters.update(
        own=Markup,
        left=lambda value, columns: Markup(f"{value:<{columns}}"),
        percent=lambda value: f"{float(value):g}",
        right=lambda value, columns: Markup(f"{value:>{columns}}"),
    )
    return found


def text_lines(template: str, name: str, /, **values: object) -> list[str]:
    """The lines of one macro of a text template. Each value becomes one line, and nothing of it can
    act on a terminal.
    """
    text = macro(_texts(), template, name)(**values)
    return [row.rstrip() for row in text.strip("\n").split("\n")]
