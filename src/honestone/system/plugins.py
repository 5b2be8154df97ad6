"""Finds and loads what installed packages add to the extension points of `core/plugins.py`.

This is the only place that looks for entry points. `importlib.metadata` costs as much as a whole
small command, so it is imported only when something is looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct

from honestone.core.errors import SettingsError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints

    from honestone.core.plugins import ExtensionPoint

T = TypeVar("T")


def entry_points(*, group: str) -> EntryPoints:
    from importlib import metadata

    return metadata.entry_points(group=group)


@cache
def plugins(point: ExtensionPoint) -> Mapping[str, Plugin]:
    """What installed packages add here, by name. Nothing of it is loaded yet."""
    return {entry.name: Plugin(point, entry) for entry in entry_points(group=point.group)}


class Plugin(Struct, frozen=True):
    """One entry point of an installed package. Every error of it is a SettingsError that names it."""

    point: ExtensionPoint
    entry: EntryPoint

    @property
    def package(self) -> str:
        """Name and version of the package, or the path of the object where no package is known."""
        package = self.entry.dist
        return self.entry.value if package is None else f"{package.name} {package.version}"

    def instance(self, kind: type[T]) -> T:
        """The object, which must be a `kind`."""
        loaded = self._load()
        if not isinstance(loaded, kind):
            raise self._error(f"`{self.entry.value}` is not a {kind.__module__}.{kind.__name__}")
        return loaded

    def function(self) -> Callable[..., Any]:
        """The object, which must be a function."""
        loaded = self._load()
        if not callable(loaded):
            raise self._error(f"`{self.entry.value}` is not a function")
        return loaded  # type: ignore[no-any-return]

    def make(self, *arguments: object) -> Any:
        """What the function returns. A module that it cannot import is an error of the package; any
        other exception of it is passed on.
        """
        function = self.function()
        try:
            return function(*arguments)
        except ImportError as error:
            raise self._error(_described(error)) from error

    def _load(self) -> Any:
        try:
            return self.entry.load()
        except Exception as error:  # a package's module may raise anything while it is imported
            raise self._error(_described(error)) from error

    def _error(self, reason: str) -> SettingsError:
        return SettingsError(
            f"the {self.point.noun} `{self.entry.name}` of an installed package cannot be loaded: {reason}",
            hint="update or uninstall that package",
        )


def _described(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
