"""How the kinds of check that other packages add are found. Core looks for no packages itself, and who only says where to look
needs nothing of what a check is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from honestone.core.checks import AddedCheck

_finders: list[Callable[[], Mapping[str, Callable[[], AddedCheck]]]] = []


def find_added_kinds_with(finder: Callable[[], Mapping[str, Callable[[], AddedCheck]]]) -> None:
    """`finder` gives what loads each of them, by name."""
    _finders[:] = [finder]


def added_kinds() -> Mapping[str, Callable[[], AddedCheck]]:
    return _finders[0]() if _finders else {}
