"""Files that are none: a mapping, a list or a text from Python, read like the file that it could
be.
"""

from __future__ import annotations

import json
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path

from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import Marked, MarkedPath, parse_marked


class _Values(Marked):
    """A place in values from Python is the way to it: `suite['cases'][0]['id']`; files that they
    name have lines.
    """

    __slots__ = ()

    def at(self, path: MarkedPath = ()) -> str:
        is_from_file = self.node(path).file is not None
        return (
            super().at(path)
            if is_from_file
            else self.name + "".join(f"[{step!r}]" for step in path)
        )

    def key_at(self, path: MarkedPath) -> str:
        return super().key_at(path) if self.node(path).file is not None else self.at(path)


class GivenDocument(Document):
    """Values from Python, under the name of the parameter that took them. `path` is in the folder
    of relative paths.
    """

    @property
    def name(self) -> str:
        return self.path.name

    @cached_property
    def marked(self) -> Marked:
        return _Values(self.name, parse_marked(self.text, self.name).root)


def given_document(value: object, name: str, folder: Path) -> Document:
    """Raises UsageError for what JSON cannot hold."""
    if isinstance(value, str):
        return Document(path=folder / name, text=value)
    try:
        text = json.dumps(value, default=_path_text, allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        why = visible(str(error) or "it is nested too deeply", 200)
        raise UsageError(
            f"`{name}` holds what a file could not: {why}", hint="use what JSON has, and paths"
        ) from None
    return GivenDocument(path=folder / name, text=text)


def _path_text(value: object) -> str:
    if isinstance(value, PathLike):
        return str(fspath(value))
    raise TypeError(f"a value of the type {type(value).__name__}")
