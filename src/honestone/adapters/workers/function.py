"""A function as a worker: `f(path, brief)` edits the private copy at `path`, or returns the new
text.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from honestone.adapters.functions import FunctionCall, Raised
from honestone.ports import Brief, EagerWorker, Function, WorkDone


class FunctionWorker(EagerWorker):
    """What it returns is None where it edited, or the whole new text of an artifact that is a file."""

    def __init__(self, function: Function, *, timeout: float) -> None:
        self._call = FunctionCall(function, timeout)
        self.id = self._call.name
        self.identity = {**self._call.identity, "token": self._call.token}

    async def propose(self, brief: Brief, place: Path, brief_file: Path) -> WorkDone:
        try:
            returned = await self._call(place, brief.text)
        except TimeoutError:
            return WorkDone(
                ended="timeout",
                message=f"still working after {self._call.timeout:g} s (worker_timeout)",
            )
        except Raised as why:
            return WorkDone(ended="crashed", message=f"it raised {why}")
        if returned is None:
            return WorkDone(ended="exited", exit=0)
        if not isinstance(returned, str):
            return WorkDone(
                ended="crashed",
                message=f"it returned {type(returned).__name__}, not the new text or None",
            )
        if place.is_dir():
            return WorkDone(
                ended="crashed",
                message="it returned a text, but the artifact is a folder: edit the files",
            )
        place.write_bytes(returned.encode("utf-8", "replace"))
        return WorkDone(ended="exited", exit=0)


class NamedFunctionWorker(FunctionWorker):
    """`python:FILE:FUNCTION`: known by the name and the digest of the file."""

    def __init__(
        self, id: str, function: Function, identity: Mapping[str, Any], *, timeout: float
    ) -> None:
        super().__init__(function, timeout=timeout)
        self.id, self.identity = id, dict(identity)
