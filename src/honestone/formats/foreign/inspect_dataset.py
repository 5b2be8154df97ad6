"""Not read yet."""

from __future__ import annotations

from honestone.formats.foreign.base import Reader

READERS: tuple[Reader, ...] = ()
