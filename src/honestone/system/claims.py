"""A name that one process of this person holds on this machine, whichever store it uses."""

from __future__ import annotations

import errno
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def on_this_machine(name: str) -> Iterator[bool]:
    """Hold the name while the block runs; False where another process, or another thread of this one, holds it.

    An abstract socket: it needs no file, and the system frees it when its process ends in any way. Linux only;
    elsewhere, and where sockets are not allowed, always True.
    """
    if sys.platform != "linux":
        yield True
        return
    with socket.socket(socket.AF_UNIX) as held:
        try:
            held.bind(f"\0honestone-{os.getuid()}-{name}")
        except OSError as error:
            yield error.errno != errno.EADDRINUSE
            return
        yield True
