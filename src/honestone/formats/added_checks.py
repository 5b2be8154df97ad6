"""Kinds of check that other packages add (`CHECKS` of `core/plugins.py`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from honestone.core.plugins import CHECKS
from honestone.system.plugins import Plugin, plugins

if TYPE_CHECKING:
    from honestone.core.checking.checks import AddedCheck


def added_checks() -> Mapping[str, Callable[[], AddedCheck]]:
    """The checks of other packages: for each name a function that loads it, and raises
    SettingsError where it cannot be loaded.
    """
    return {name: partial(_load, plugin) for name, plugin in plugins(CHECKS).items()}


@cache
def _load(plugin: Plugin) -> AddedCheck:
    from honestone.core.checking.checks import AddedCheck

    check = plugin.instance(AddedCheck)
    return replace(check, kind=replace(check.kind, family="text", package=plugin.package))
