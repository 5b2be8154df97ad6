"""An observer for doors that show nothing while work goes by: Python, tests."""

from __future__ import annotations

from honestone.core.events import Event


class Quiet:
    """Answers `ports.Observer`, and drops what it hears."""

    def note(self, text: str) -> None: ...

    def progress(self, done: int, total: int, doing: str) -> None: ...

    def event(self, event: Event) -> None: ...
