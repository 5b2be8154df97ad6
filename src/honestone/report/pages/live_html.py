"""The part of a served page that moves while its run is under way, and the page of that part alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.live import LiveRun
from honestone.core.numbers import money
from honestone.report.pages.html_page import LIVE, draw_page

_TITLES: Final = {"running": "Running", "interrupted": "Interrupted", "finished": "Finished"}


class LivePart(Struct, frozen=True, kw_only=True):
    """Where a page asks for what is new, `source`, and what it shows so far, `seq`. `state` is
    empty on a page of many runs; `live` is None where nothing says how far the run is.
    """

    source: str
    seq: str
    state: Literal["", "running", "interrupted", "finished"] = ""
    subject: str = ""
    live: LiveRun | None = None

    @property
    def title(self) -> str:
        return _TITLES[self.state]

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @property
    def doing(self) -> str:
        """What the run does at the moment, where that says more than its title."""
        if self.live is None:
            return "it has just begun"
        return "" if self.live.doing.lower() == self.title.lower() else self.live.doing

    @property
    def total(self) -> int:
        return 0 if self.live is None else self.live.total

    @property
    def figures(self) -> list[tuple[str, str, str]]:
        """(name, words before it, value) of what is counted."""
        one = self.live or LiveRun(run="")
        left = "" if one.left is None or not self.is_running else _rounded(one.left)
        return [
            ("done", "done", str(one.done)),
            ("total", "of", str(one.total)),
            ("failing", "not passing", str(one.failing)),
            ("calls", "judge calls", str(one.calls)),
            ("usd", "spent", "not known" if one.usd is None else money(one.usd)),
            ("left", "time left", left or ("not known" if self.is_running else "none")),
        ]

    def of_page(self, seq: str) -> LivePart:
        """For a page that shows only so much and is not made new yet."""
        return replace(self, seq=seq)

    @property
    def words(self) -> str:
        """For a line in a list: how far it is."""
        return (
            f"{self.live.done} of {self.live.total}" if self.live is not None and self.total else ""
        )


def _rounded(seconds: float) -> str:
    """The figure rounded as the command shows it."""
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{seconds:.0f} s"


@contextmanager
def moving(part: LivePart | None) -> Iterator[None]:
    """Meanwhile pages are drawn with that part."""
    token = LIVE.set(part)
    try:
        yield
    finally:
        LIVE.reset(token)


def unchanged_html(part: LivePart) -> str:
    """The page of the part alone: the rest is as it was."""
    with moving(part):
        return draw_page("view_now.html.j2", served="live")
