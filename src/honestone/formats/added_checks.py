"""Kinds of check that other packages add: each an entry point of the group `honestone.checks` that
names an `AddedCheck`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Final, TypeVar

from honestone.core.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from honestone.core.checks import AddedCheck

GROUP: Final = "honestone.checks"
T = TypeVar("T")


def entry_points(*, group: str) -> EntryPoints:
    """The entry points of a group. The library that finds them is loaded only when something is
    looked for.
    """
    from importlib import metadata

    return metadata.entry_points(group=group)


@cache
def added_checks() -> Mapping[str, Callable[[], AddedCheck]]:
    """By name: what loads it, and raises SettingsError where that cannot be done."""
    return {point.name: partial(_load, point) for point in entry_points(group=GROUP)}


@cache
def _load(point: EntryPoint) -> AddedCheck:
    from honestone.core.checks import AddedCheck

    found = load_entry(point, AddedCheck, "check")
    package = point.value if point.dist is None else f"{point.dist.name} {point.dist.version}"
    return replace(found, kind=replace(found.kind, family="text", package=package))


def load_entry(point: EntryPoint, kind: type[T], what: str) -> T:
    """What an entry point names. Raises SettingsError where it cannot be loaded or is not a `kind`."""
    try:
        found = point.load()
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
    else:
        if isinstance(found, kind):
            return found
        reason = f"`{point.value}` is not a {kind.__module__}.{kind.__name__}"
    message = f"the {what} `{point.name}` of an installed package cannot be loaded: {reason}"
    raise SettingsError(message, hint="update or uninstall that package")
