"""What installed packages add. Finding them takes a library that costs as much as a whole small
command, so it is loaded only when something is looked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def entry_points(*, group: str) -> EntryPoints:
    """The entry points of a group."""
    from importlib import metadata

    return metadata.entry_points(group=group)
