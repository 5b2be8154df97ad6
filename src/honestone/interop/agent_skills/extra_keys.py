"""Keys that a file of Agent Skills has and the format does not: kept as metadata, as skills add
their own.
"""

from __future__ import annotations

from difflib import SequenceMatcher
from typing import Final

from honestone.formats.syntax.reader import FileEntry, Keys

# From here on a key is a known one, misspelt: `asertions`. `schema_version` is not `version`.
ALIKE: Final = 0.88


def extra_keys(at: FileEntry, table: Keys) -> dict[str, object]:
    """The keys that the table does not have; one that is a misspelt key of the table is a loss."""
    metadata: dict[str, object] = {}
    known = [name for name in table.by_name if name != "..."]
    for key, value in at.value.items():
        name = str(key)
        if name in table.by_name or name.startswith("x-"):
            continue
        meant = next((one for one in known if _is_misspelt(name, one)), None)
        metadata[name] = value
        if meant is not None:
            at.reading.unknown_loss(
                f"unknown key `{name}` in {table.what}",
                (*at.path, name),
                f"did you mean `{meant}`?",
            )
    return metadata


def _is_misspelt(name: str, known: str) -> bool:
    """By a letter, or by letters in another order (`evlas`)."""
    written = name.casefold()
    alike = (
        sorted(written) == sorted(known) or SequenceMatcher(None, written, known).ratio() > ALIKE
    )
    return alike and min(len(name), len(known)) > 3
