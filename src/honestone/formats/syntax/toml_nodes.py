"""TOML text with the place of every table and key."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from typing import Any, Final

from honestone.core.json_value import late_pattern
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import (
    MAX_DEPTH,
    MapKey,
    Spot,
    UnfitValue,
    line_and_column,
    node_of,
    refuse,
)


class _Written(float):
    """A float that remembers how it was written. `node_of` makes a plain float of it."""

    raw: str

    def __new__(cls, text: str) -> _Written:
        self = super().__new__(cls, text.replace("_", ""))
        self.raw = text.replace("_", "")
        return self


def toml_marked(text: str, name: str, above: Sequence[str] = ()) -> Marked:
    """The values of a TOML text and their places. `above`: the tables that everything of ours is
    in; what is outside of them belongs to other tools and is not looked at. Raises FileError when
    it is not TOML.
    """
    try:
        value = _only_below(tomllib.loads(text, parse_float=_Written), above)
        found = list(_places(text))
        root = node_of(
            value,
            (1, 1),
            {path: at for path, _, at in found},
            {path: key for path, key, _ in found},
        )
    except UnfitValue as unfit:
        raise refuse(name, *unfit.spot, str(unfit)) from None
    except tomllib.TOMLDecodeError as error:
        at = re.search(r" \(at line (\d+), column (\d+)\)", str(error))
        line, column = (int(at[1]), int(at[2])) if at else (len(text.splitlines()) or 1, 1)
        message = re.sub(r" \(at [^)]*\)$", "", str(error))
        raise refuse(
            name, line, column, f"this is not valid TOML: {message[:1].lower()}{message[1:]}"
        ) from None
    except ValueError:
        # Python itself refuses an integer of thousands of digits, and the library lets that
        # through.
        raise refuse(name, *_longest_number(text), "this is too large a number") from None
    except RecursionError:
        raise refuse(name, 1, 1, f"this is nested more than {MAX_DEPTH} levels deep") from None
    if root.height > MAX_DEPTH:
        raise refuse(name, 1, 1, f"this is nested more than {MAX_DEPTH} levels deep")
    return Marked(name, root)


def _only_below(value: dict[str, Any], above: Sequence[str]) -> dict[str, Any]:
    """The same tables without those of others."""
    if not above or above[0] not in value:
        return {} if above else value
    below = value[above[0]]
    return {above[0]: _only_below(below, above[1:]) if isinstance(below, dict) else below}


def _longest_number(text: str) -> Spot:
    longest = max(re.finditer(r"[0-9_]+", text), key=lambda digits: len(digits[0]))
    return line_and_column(text[: longest.start()])


_NAME: Final = r"(?:[A-Za-z0-9_-]+|\"[^\"\n]*\"|'[^'\n]*')"
_TABLE: Final = late_pattern(rf"\s*(\[{{1,2}})\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*\]")
_KEY: Final = late_pattern(rf"\s*({_NAME}(?:\s*\.\s*{_NAME})*)\s*=\s*")


def _places(text: str) -> Iterator[tuple[tuple[MapKey, ...], Spot, Spot]]:
    """The path of each table and key, where it is and where its value is. Only for messages: what
    is inside an inline value is found at the value's start.
    """
    counts: dict[tuple[MapKey, ...], int] = {}
    known: set[tuple[MapKey, ...]] = set()
    table: tuple[MapKey, ...] = ()
    quotes = None  # the quotes that a text over several lines waits for
    for number, line in enumerate(text.split("\n"), 1):
        if quotes is not None:
            quotes = None if line.count(quotes) % 2 else quotes
            continue
        quotes = next((q for q in ('"""', "'''") if line.count(q) % 2), None)
        if header := _TABLE.match(line):
            table = _table_path(_names(header[2]), len(header[1]) == 2, counts)
            at = (number, header.start(1) + 1)
            # `[judges.mine]` is also where `judges` is, unless that has a header of its own.
            for path in (table[:depth] for depth in range(1, len(table) + 1)):
                if path == table or path not in known:
                    known.add(path)
                    yield path, at, at
        elif key := _KEY.match(line):
            yield (*table, *_names(key[1])), (number, key.start(1) + 1), (number, key.end() + 1)


def _names(dotted: str) -> list[str]:
    return [name.strip("\"'") for name in re.findall(_NAME, dotted)]


def _table_path(
    names: list[str], is_entry: bool, counts: dict[tuple[MapKey, ...], int]
) -> tuple[MapKey, ...]:
    """The path of a table's header: names of arrays of tables are followed by the number of the
    entry they mean.
    """
    path: tuple[MapKey, ...] = ()
    for index, name in enumerate(names):
        path = (*path, name)
        if is_entry and index == len(names) - 1:
            counts[path] = counts.get(path, 0) + 1
        if path in counts:
            path = (*path, counts[path] - 1)
    return path
