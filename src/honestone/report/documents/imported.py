"""`honestone.imported/1`: a loop that another tool ran, as its own state says."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

IMPORTED: Final = "honestone.imported/1"


class ImportedDoc(Struct, frozen=True, kw_only=True):
    """A loop of another tool.

    `schema`, `run`: the shape; the run to `show`
    `tool`, `path`: whose loop it was, and the file of its state
    `summary`, `state`: where the loop was, in words and as the file has it; nothing of it is a
        verdict of honestone
    """

    schema: str = IMPORTED
    run: str
    tool: str
    path: str
    summary: str
    state: dict[str, object]
