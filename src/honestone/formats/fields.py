"""The native formats, described once in `fields.toml`: readers, near matches, the JSON Schema and
the reference pages use it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from honestone.core.tables import table_text

# The `rubric:` version that this program reads and writes.
VERSION: Final = 1

# The name of a kind of value: a key of `TAKES`.
Takes: TypeAlias = str


class Field(Struct, frozen=True, kw_only=True):
    """One key: what it takes, what it means, what holds without it. `also` are spellings of other
    tools and habits.
    """

    key: str
    takes: Takes
    doc: str
    example: str
    default: str
    also: tuple[str, ...]


class Shape(Struct, frozen=True, kw_only=True, dict=True):
    """A mapping with known keys. `short` says what it may be instead of a mapping.

    `rows` has a line for each key: `key | takes | default | other spellings | example | meaning`.
    """

    name: str
    doc: str
    rows: str
    short: str = ""
    required: tuple[str, ...] = ()

    @cached_property
    def fields(self) -> tuple[Field, ...]:
        cells = [
            [cell.strip() for cell in row.split("|")] for row in self.rows.strip().splitlines()
        ]
        return tuple(
            Field(
                key=key,
                takes=takes,
                default=default,
                also=tuple(also.split()),
                example=example,
                doc=meaning,
            )
            for key, takes, default, also, example, meaning in cells
        )

    def field(self, key: object) -> Field | None:
        return next((field for field in self.fields if field.key == key), None)


class Taken(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of value: in words for messages (`must be ...`), and as JSON Schema."""

    words: str
    schema: dict[str, object]


class _FieldsText(msgspec.Struct):
    takes: dict[Takes, Taken]
    shapes: dict[str, Shape]


_TABLES: Final = msgspec.toml.decode(table_text("fields", __package__), type=_FieldsText)
TAKES: Final[Mapping[Takes, Taken]] = _TABLES.takes
_CASE: Final = _TABLES.shapes["case"]
SHAPES: Final[Mapping[str, Shape]] = {
    **_TABLES.shapes,
    "defaults": Shape(
        name="mapping of `defaults`",
        doc="What a case has that does not say it itself.",
        rows="\n".join(row for row in _CASE.rows.strip().splitlines() if not row.startswith("id ")),
    ),
}


def near(name: str, names: Iterable[str]) -> str | None:
    """The one of `names` that was probably meant."""
    import difflib

    found = difflib.get_close_matches(
        name.casefold().replace("-", "_"), list(names), n=1, cutoff=0.6
    )
    return found[0] if found else None


def unknown_key_hint(key: str, shape: Shape) -> str:
    """What to write instead of an unknown key: the near match, where a check belongs, another
    tool's word for it, or all that there is.
    """
    from honestone.core.checking.checks import KINDS

    spellings = {other: field.key for field in shape.fields for other in (*field.also, field.key)}
    meant = spellings.get(key) or spellings.get(near(key, spellings) or "")
    if meant is not None:
        return f"did you mean `{meant}`?"
    if key.removeprefix("not-") in KINDS and shape.field("check") is not None:
        return f"`{key}` is a check: write `check: {{{key}: ...}}`"
    known = f"a {shape.name} may have " + ", ".join(f"`{field.key}`" for field in shape.fields)
    return known if shape.field("vars") is None else f"{known}; words of your own go under `vars`"
