"""The keys of AgentV's files and what each becomes. Every dialect's reader knows all of them."""

from __future__ import annotations

from typing import Final

from honestone.formats.syntax.reader import FileEntry, Keys, keys
from honestone.interop.agentv.dialect import KEYS_OF_FIVE, Dialect
from honestone.interop.reader import Formats, ignoring_others

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

_UNUSED: Final = keys("", "- config | changes nothing")
# The table of each kind of grader that is code, with the keys that all graders have.
CODE_GRADERS: Final[dict[str, Keys]] = {
    kind: (TABLES["grader"] + (own if "config" in own.by_name else own + _UNUSED)).named(
        f"a grader of type `{kind}`"
    )
    for name, own in TABLES.items()
    if name.startswith("code ")
    for kind in name.removeprefix("code ").split(", ")
}


def keys_of(take: FileEntry, table: str, dialect: Dialect) -> Keys:
    """The keys of a mapping. Where its dialect ignores others, those of this mapping too, each with
    a note; one that is probably a slip stays unknown.
    """
    known = TABLES[table]
    if not dialect.ignores_keys or not take.is_mapping:
        return known
    return ignoring_others(known, take.value, "AgentV", known.by_name.keys() - KEYS_OF_FIVE)
