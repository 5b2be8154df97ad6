"""The pages of runs that are under way: what of them moves, and what to answer a page that asks for
what is new.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import UTC, datetime

from honestone.core.live import state_now
from honestone.ports import RunInfo, Store
from honestone.report.documents.run_list import RunRow
from honestone.report.pages.live_html import LivePart

# The parts of a query that say what a page has, not what it shows.
ASKED: tuple[str, ...] = ("after", "rows")


def live_part(store: Store, info: RunInfo) -> LivePart:
    """How a run is now. `seq` is the number of its events, with the state of one that nothing works
    on: its page is another.
    """
    stored = store.live(info.id)
    age = datetime.now(UTC) - datetime.fromisoformat(info.started)
    state = state_now(is_finished=info.finished is not None, age=age.total_seconds(), latest=stored)
    count = store.event_count(info.id)
    return LivePart(
        source=f"/run/{info.id}/live",
        seq=str(count) if state == "running" else f"{count}-{state}",
        subject=info.subject,
        state=state,
        live=None if stored is None else stored.live,
    )


def list_part(rows: Sequence[RunRow], total: int) -> LivePart:
    """The same of the list of runs. `seq` is different where a row is."""
    return LivePart(
        source="/live",
        seq=hashlib.sha256(repr((total, *rows)).encode("utf-8", "replace")).hexdigest()[:16],
    )
