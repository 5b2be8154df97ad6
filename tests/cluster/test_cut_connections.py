"""The connection is cut before and after each statement of a paid call: nothing is lost, and
nothing is paid or recorded twice.
"""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.cluster.test_postgres import first, opened
from tests.engine import engine_world as world

from honestone.core.errors import StoreAway
from honestone.core.events import OtherEvent
from honestone.core.judging.spend import Meter, RunGrants
from honestone.core.record.rates import RateLimits
from honestone.engine.journal import give_back, reserve_in
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import Store
from honestone.testing import ScriptedJudge

from .proxy import Proxy
from .server import PASSWORD, Server

CAP = 40
RUBRIC = world.rubric(world.words("fruit", "apple", "pear"))


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    made = Proxy(server.port)
    yield made
    made.close()


def through(proxy: Proxy, server: Server, url: str) -> str:
    """The address of the same database, by way of the proxy."""
    return (
        server.url(url.rpartition("/")[2], port=proxy.port) + "?sslmode=disable&gssencmode=disable"
    )


def call(
    url: str, folder: Path, judge: ScriptedJudge, run: str, *, patience: float, armed=lambda: None
) -> int:
    """A paid call of a process that works on the run, with a rate, and the event about it. How many
    it made.
    """
    store = opened(url, folder, patience=patience)
    try:
        armed()
        meter = Meter(calls=CAP, minutes=9, usd=9.0, clock=time.monotonic)
        reserve_in(store, run, meter)
        rates = RateLimits(account=judge.id, requests_per_minute=60_000, concurrency=4)
        seat = Seat(id=judge.id, judge=judge, rates=rates)

        async def work() -> None:
            panel = Panel(seats=[seat], journal=store.journal, meter=meter)
            found = await panel.consult(world.question(RUBRIC))
            assert found[0].ballot.marks and found[0].refused is None
            if store.event_count(run) == 1:
                store.append(run, OtherEvent(name="judged", facts={"type": "judged"}))
            await give_back(meter)

        asyncio.run(asyncio.wait_for(work(), 60))
    finally:
        with suppress(StoreAway):
            store.close()
    return judge.calls


def check(store: Store, folder: Path, judge: ScriptedJudge, run: str, place: str) -> None:
    """What must hold once somebody came to the end."""
    kept = [row for row in store.rows_of("replies") if row[1] == judge.id]
    assert len(kept) == 1, f"{len(kept)} replies are on record where it was cut {place}"
    assert judge.calls == 1, f"it was paid {judge.calls} times where it was cut {place}"
    assert store.event_count(run) == 2, f"the events are wrong where it was cut {place}"
    assert 1 <= store.open_grants(run, RunGrants()).calls <= CAP
    assert not list(folder.glob("undelivered/*/*.json"))


def begun(store: Store, name: str) -> str:
    return store.start_run(kind="eval", subject="s", identity=name, contract="c", first=first())


@pytest.fixture
def store(url: str, tmp_path: Path) -> Iterator[Store]:
    """The store as somebody else sees it, whose connection nothing cuts."""
    seen = opened(url, tmp_path / "elsewhere")
    yield seen
    seen.close()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("dies", [False, True], ids=["waits", "dies"])
def test_a_cut_at_each_statement(
    proxy: Proxy, server: Server, url: str, store: Store, tmp_path: Path, after: bool, dies: bool
) -> None:
    """The process waits for the server and ends its work; or it dies there, and the next one on
    this disk ends it.
    """
    between = through(proxy, server, url)
    whole = ScriptedJudge(id="whole")
    call(
        between, tmp_path, whole, begun(store, "whole"), patience=30, armed=lambda: proxy.arm(None)
    )
    statements = proxy.count
    assert statements > 10
    for number in range(1, statements + 1):
        judge = ScriptedJudge(id=f"judge {number}")
        run = begun(store, judge.id)
        place = f"{'after' if after else 'before'} statement {number} of {statements}"
        try:
            patience = 0 if dies else 30
            call(
                between,
                tmp_path,
                judge,
                run,
                patience=patience,
                armed=lambda n=number: proxy.arm(n, after=after),
            )
        except StoreAway:
            assert dies, f"it did not wait for the server where it was cut {place}"
        proxy.arm(None)
        if dies:
            call(between, tmp_path, judge, run, patience=30)
        check(store, tmp_path, judge, run, place)


def test_no_password_in_the_database(
    server: Server, url: str, store: Store, tmp_path: Path
) -> None:
    """Nor the key of a judge: a dump of everything holds neither. Whoever looks at the processes of
    the server sees none.
    """
    judge = ScriptedJudge(id="judge")
    call(url, tmp_path, judge, begun(store, "dumped"), patience=30)
    words = [str(server.bin / "pg_dump"), "--inserts", url]
    dumped = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "insert into honestone.replies" in dumped.lower() and PASSWORD not in dumped
    shown = server.sql(
        "select string_agg(query || application_name, ' ') from pg_stat_activity",
        url.rpartition("/")[2],
    )
    assert PASSWORD not in shown
