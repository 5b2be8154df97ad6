"""What a format of another tool says of itself: how it is recognised, read and shown on the
reference page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Final, Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from honestone.core.tables import table_text
from honestone.formats.syntax.reader import How, Keys, KnownKey, about, keys

if TYPE_CHECKING:
    from honestone.formats.source import ForeignRubric, SuiteSource
    from honestone.formats.syntax.document import Document


class Reader(Struct, frozen=True, kw_only=True):
    """One foreign format. `signs` gives 0 (not it) to 100 (certainly it) by content alone, never by
    the file's name.

    `defaults` are the dialect's own rules in words (threshold, required, floor), shown with every
    result.
    """

    name: str
    title: str
    gives: Literal["suite", "rubric"]
    signs: Callable[[Document], int]
    read: Callable[[Document], SuiteSource | ForeignRubric]
    keys: tuple[Keys, ...]
    defaults: tuple[str, ...] = ()
    # Top-level keys by which a file that no reader recognises is said to look closest to this.
    looks_like: tuple[str, ...] = ()
    example: str = ""
    # What the name of a schema holds that is this tool's; empty where it has none.
    schema: str = ""


class TableText(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A table of keys as it is written: `keys` in the form of `formats.syntax.reader.keys`, with those of
    `extends` before them.

    `about` has rows for the reference page alone, for what has no keys; `how` is what becomes of
    all of them.
    """

    what: str = ""
    at: str = ""
    keys: str = ""
    extends: str = ""
    about: str = ""
    how: How = "read"


class ReaderText(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """What a reader says in words. An entry of `defaults` may be the name of a note; `tables` name
    its tables, `like` the reader that has the same ones.
    """

    title: str
    gives: Literal["suite", "rubric"]
    tables: tuple[str, ...] = ()
    like: str = ""
    defaults: tuple[str, ...] = ()
    looks_like: tuple[str, ...] = ()
    example: str = ""


class FormatsText(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file `formats.toml`. `lost` are kinds (of graders, assertions, ...) with the reason why
    none
    is read.

    `schema`: a file whose schema is named by a text with this in it is the tool's. `loses_others`:
        keys that no table has are losses, not errors.
    """

    readers: dict[str, ReaderText]
    tables: dict[str, TableText]
    schema: str = ""
    loses_others: bool = False
    notes: dict[str, str] = {}
    lost: dict[str, tuple[str, str]] = {}


class Formats:
    """What the folder of a tool says in words of its formats, in `formats.toml`: tables of keys,
    notes, examples.
    """

    def __init__(self, package: str) -> None:
        self.texts: Final = msgspec.toml.decode(table_text("formats", package), type=FormatsText)
        self.notes: Final = self.texts.notes
        self.lost: Final[Mapping[str, tuple[str, str | None]]] = {
            kind: (why, hint or None)
            for kinds, (why, hint) in self.texts.lost.items()
            for kind in kinds.split()
        }
        self.tables: Final = {name: self._table(table) for name, table in self.texts.tables.items()}

    def _table(self, table: TableText) -> Keys:
        if table.about:
            rows = (line.partition(" | ") for line in table.about.strip().splitlines())
            return about(
                table.what, {name: meaning for name, _, meaning in rows}, table.how, table.at
            )
        own = replace(keys(table.what, table.keys, table.at), loses_others=self.texts.loses_others)
        return (
            self._table(self.texts.tables[table.extends]).named(table.what, table.at) + own
            if table.extends
            else own
        )

    def defaults(self, reader: str) -> tuple[str, ...]:
        return tuple(
            self.notes.get(default, default) for default in self.texts.readers[reader].defaults
        )

    def reader(
        self,
        name: str,
        signs: Callable[[Document], int],
        read: Callable[[Document], SuiteSource | ForeignRubric],
        *more: Keys,
    ) -> Reader:
        """A reader with its words; `more` tables come after those that are named there."""
        own = self.texts.readers[name]
        tables = self.texts.readers[own.like or name].tables
        return Reader(
            name=name,
            title=own.title,
            gives=own.gives,
            signs=signs,
            read=read,
            keys=(*(self.tables[table] for table in tables), *more),
            defaults=self.defaults(name),
            looks_like=own.looks_like,
            example=own.example,
            schema=self.texts.schema,
        )


_SLIP: Final = 0.8  # how alike a key is to a known one that was probably meant


def ignoring_others(known: Keys, value: Iterable[object], tool: str, meant: Iterable[str]) -> Keys:
    """The keys of a mapping whose tool ignores all others: those of this mapping too, each with a
    note. One that is probably a slip of what was `meant` stays unknown.
    """
    from difflib import get_close_matches

    words = list(meant)
    others = (str(key) for key in value if str(key) not in known.by_name)
    strange = tuple(
        KnownKey(
            names=(key,),
            meaning=f"{tool} ignores the key `{key}` of {known.what}, so nothing is judged by it here either",
            how="ignored",
            is_noted=True,
        )
        for key in others
        if not get_close_matches(key, words, n=1, cutoff=_SLIP)
    )
    return replace(known, rows=(*known.rows, *strange))
