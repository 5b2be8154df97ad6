"""A machine that is taken away: its cases are with other runners within four heartbeats, at once
where it was told to stop.
"""

from __future__ import annotations

import json
import signal
import threading
from typing import cast

import pytest
from tests.cli.desk import until

from honestone.core.record.queue import MISSED, QueuedCase, RunnerCard
from honestone.core.record.store_address import HEARTBEAT
from honestone.engine.runner import Heartbeat
from honestone.ports import Queue

from .site import Site

SUITE = "suite: 1\ncases:\n" + "".join(
    f"  - {{id: {name}, input: an apple, checks: [{{contains: [apple]}}]}}\n" for name in "ab"
)


@pytest.mark.parametrize(
    ("ending", "heartbeat", "grace"),
    [(signal.SIGKILL, "0.5", "60"), (signal.SIGTERM, "600", "0.1")],
)
def test_the_cases_of_a_preempted_runner_go_to_another(
    site: Site, ending: signal.Signals, heartbeat: str, grace: str
) -> None:
    """Killed: once its heartbeats are missed. Told to stop: before another heartbeat is due."""
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    gate = site.folder / "gate"
    site.desk.file("target.sh", f"while [ ! -e {gate} ]; do sleep 0.1; done; cat\n")
    site.desk.extra["HONESTONE_HEARTBEAT"] = heartbeat
    ordered = site.order("--target", "cmd:sh target.sh")
    site.until_ordered(ordered)
    first = site.runner("--grace", grace)
    assert until(lambda: len(site.hands().get(first.pid, ())) == 2)
    other = site.runner()
    assert until(lambda: other.pid in site.hands())
    first.send_signal(ending)
    assert until(lambda: len(site.hands().get(other.pid, ())) == 2, seconds=120)
    gate.touch()
    out, err = ordered.communicate(timeout=120)
    assert ordered.returncode == 0 and json.loads(out)["counts"]["passed"] == 2, err


class Recorded:
    """A queue that notes what it is asked."""

    def __init__(self) -> None:
        self.asked: list[float | None] = []
        self.is_enough = threading.Event()

    def beat(self, runner: int | None, card: RunnerCard) -> int:
        self._note(None)
        return 1

    def sweep(self, silence: float) -> list[QueuedCase]:
        self._note(silence)
        return []

    def _note(self, what: float | None) -> None:
        self.asked.append(what)
        if len(self.asked) >= 12:
            self.is_enough.set()

    def leave(self, runner: int) -> None: ...

    def close(self) -> None: ...


def test_no_case_waits_longer_than_four_heartbeats() -> None:
    """A runner that is at work looks with each heartbeat for those that are silent for three: at
    the default that is 40 s.
    """
    queue = Recorded()
    heartbeat = Heartbeat(
        cast("Queue", queue), RunnerCard(host="a", person="a", version="1", concurrency=1), 0.05
    )
    heartbeat.start()
    assert queue.is_enough.wait(60)
    heartbeat.stop()
    first = queue.asked.index(MISSED * 0.05)
    assert queue.asked[:first] == [None] * (MISSED + 2), "the first beat, and four in a row"
    later = queue.asked[first:]
    assert later[::2] == [MISSED * 0.05] * len(later[::2]) and set(later[1::2]) <= {None}
    assert (MISSED + 1) * HEARTBEAT <= 40
