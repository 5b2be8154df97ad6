"""Parts of JSON that others send: what has the wrong kind reads as nothing, for its shape may
change any day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypeVar, cast

from honestone.core.json_value import is_integer, is_number

S = TypeVar("S")

Table: TypeAlias = Mapping[str, Any]


def table(value: object) -> Table:
    return value if isinstance(value, dict) else {}


def tables(value: object) -> list[Table]:
    """The objects of a list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def record(value: object, of: Callable[[], S]) -> S:
    """An object with the keys of a declared shape, of which any may be absent or hold anything."""
    return cast(S, value) if isinstance(value, dict) else of()


def records(value: object, of: Callable[[], S]) -> list[S]:
    """The objects of a list, each of a declared shape."""
    return (
        [record(one, of) for one in value if isinstance(one, dict)]
        if isinstance(value, list)
        else []
    )


def down(value: object, *steps: str) -> Any:
    """What is at the end of a way of keys; None where it is not there."""
    for step in steps:
        value = table(value).get(step)
    return value


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """A number of tokens or the like; None for anything that cannot be one."""
    return value if is_integer(value) and 0 <= value < 10**12 else None


def number(value: object) -> float | None:
    """A number, which may be infinite or none at all; None for anything else, and for a whole number
    beyond the range of floats.
    """
    try:
        return float(value) if is_number(value) else None
    except OverflowError:
        return None


def total(*values: object) -> int | None:
    """The sum of those that are known; None when none is."""
    known = [n for n in map(count, values) if n is not None]
    return sum(known) if known else None


def one_line(text: str, limit: int = 300) -> str:
    """Printable, on one line, clipped: what another program says is not to be trusted with a
    terminal.
    """
    text = re.sub(r"\x1b\[[0-9;?]*[ -/]*[@-~]", "", text)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"
