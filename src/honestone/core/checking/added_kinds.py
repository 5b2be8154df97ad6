"""How the kinds of check that other packages add are found. Core looks for no packages itself, and
who only says where to look needs nothing of what a check is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

FINDERS: Final[list[Callable[[], Mapping[str, Callable[[], object]]]]] = []
"""Each gives what loads kinds of check, by their names: a `core.checking.checks.AddedCheck`."""


def added_kinds() -> Mapping[str, Callable[[], object]]:
    return {name: load for find in FINDERS for name, load in find().items()}
