"""asyncio, loaded when a name of it is first used: what code alone judges needs no event loop, and
loading one is a tenth of such a command. Names are looked up at each use: who replaces one in
asyncio, for a test or to run a loop within another, replaces it here too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import *  # noqa: F403
else:

    def __getattr__(name: str) -> object:
        import asyncio

        return getattr(asyncio, name)
