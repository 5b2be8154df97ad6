"""The keys of AgentV's files and what each becomes. Every dialect's reader knows all of them."""

from __future__ import annotations

from typing import Final

from honestone.formats.reader import Keys, keys
from honestone.interop.reader import Formats

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables

_UNUSED: Final = keys("", "- config | changes nothing")
# The table of each kind of grader that is code, with the keys that all graders have.
CODE_GRADERS: Final[dict[str, Keys]] = {
    kind: (TABLES["grader"] + (own if "config" in own.by_name else own + _UNUSED)).named(f"a grader of type `{kind}`")
    for name, own in TABLES.items()
    if name.startswith("code ")
    for kind in name.removeprefix("code ").split(", ")
}
