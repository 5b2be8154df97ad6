"""What the database lets a runner do: to the runs whose cases it has in hand, and nothing else,
whatever it sends.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from tests.cli.desk import Desk

from honestone.adapters.registry import open_queue, open_store
from honestone.adapters.stores.place import StorePlace
from honestone.core.errors import StoreError
from honestone.core.events import AttemptJudged, OutputProduced, RunFinished
from honestone.core.judging.spend import GrantRequest, RunGrants, Spend
from honestone.core.record.queue import QueuedCase, RunnerCard
from honestone.core.record.store_address import store_address
from honestone.ports import Queue, SharedStore, Store

from .server import Server

pytest.importorskip("procrastinate", reason="the extra `cluster` is not installed")
CARD = RunnerCard(host="gpu", person="gpu", version="1", concurrency=4)
KEY = "sha256:" + "0" * 64


@dataclass
class World:
    """A store with roles. `desk` is the coordinator's, and each runner has a login of its own."""

    server: Server
    database: str
    folder: Path
    desk: Store
    orders: Queue
    opened: list[Store | Queue] = field(default_factory=list)

    def login(self, kind: str) -> str:
        name = f"{kind}_{self.database}_{len(self.opened)}"
        made = f"create role {name} login password 'PASSWORD' in role honestone_{kind}"
        self.server.sql(made, self.database)
        return self.server.url(self.database, user=name, password="PASSWORD")

    def runner(self) -> tuple[SharedStore, Queue]:
        place = StorePlace(
            folder=self.folder / str(len(self.opened)), address=store_address(self.login("runner"))
        )
        store, queue = open_store(place), open_queue(place)
        assert isinstance(store, SharedStore)
        self.opened += [store, queue]
        return store, queue

    def ordered(self, *cases: str) -> str:
        def start() -> str:
            return self.desk.start_run(
                kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
            )

        return self.orders.order(start, b"plan", cases, priority=0)


@pytest.fixture
def world(server: Server, desk: Desk, url: str, tmp_path: Path) -> Iterator[World]:
    database = url.rpartition("/")[2]
    assert desk.run("store", "migrate").code == 0
    done = desk.run("store", "roles")
    assert done.code == 0 and "have their rights" in done.out, done.err
    made = World(server, database, tmp_path, None, None)  # type: ignore[arg-type]
    place = StorePlace(folder=tmp_path / "desk", address=store_address(made.login("coordinator")))
    made.desk = open_store(place)
    made.orders = open_queue(place, made.desk)
    yield made
    for one in (*made.opened, made.desk):
        one.close()


def produced(case: str, attempt: int = 1) -> OutputProduced:
    return OutputProduced(case=case, attempt=attempt, output="x", spend=Spend())


def attempted(case: str) -> AttemptJudged:
    return AttemptJudged(case=case, attempt=1, ballots=(), spend=Spend())


def hold(queue: Queue, run: str, most: int = 1) -> list[QueuedCase]:
    return queue.take([run], queue.beat(None, CARD), most)


def test_a_runner_may_write_to_no_table(world: World) -> None:
    """Of all tables that there are, also those of the queue; and of the functions it may call those
    that look at who asks.
    """
    world.runner()
    of_role = world.server.sql(
        "select relname from pg_class where relnamespace = 'honestone'::regnamespace and relkind in ('r', 'v', 'p') and "
        "has_table_privilege('honestone_runner', oid, 'insert, update, delete, truncate, references, trigger')",
        world.database,
    )
    assert of_role == ""
    open_to_all = world.server.sql(
        "select proname from pg_proc where pronamespace = 'honestone'::regnamespace and prosecdef "
        "and has_function_privilege('honestone_reader', oid, 'execute')",
        world.database,
    )
    assert open_to_all == "jobs_in"
    without_path = world.server.sql(
        "select proname from pg_proc where pronamespace = 'honestone'::regnamespace and prosecdef "
        "and not coalesce(array_to_string(proconfig, ',') like 'search_path=pg_catalog%', false)",
        world.database,
    )
    assert without_path == ""


@pytest.mark.parametrize("case", ["a", "b\0", "c\\n", "ä\ud800", 'quote "', "\U0001f600"])
def test_an_event_is_added_for_a_case_in_hand_only(world: World, case: str) -> None:
    """Once an attempt, and not of a case that waits, is another runner's, was given back, or of a
    run that is over.
    """
    run = world.ordered(case, "other")
    (store, queue), (other, other_queue) = world.runner(), world.runner()
    store.append(run, produced(case))
    assert world.desk.event_count(run) == 1, "it waits"
    number = queue.beat(None, CARD)
    (held,) = queue.take([run], number)
    assert held.case == case
    other_queue.beat(None, CARD)
    other.append(run, produced(case))
    assert world.desk.event_count(run) == 1, "it is another login's"
    store.append(run, produced(case))
    store.append(run, produced(case))
    store.append_many(run, [produced(case), attempted(case)])
    assert world.desk.event_count(run) == 2, (
        "an output once; and a judgement of an output that came late is left out"
    )
    store.append(run, attempted(case))
    store.append(run, attempted(case))
    assert world.desk.event_count(run) == 3
    queue.give_back(held, number)
    store.append(run, produced(case, 2))
    assert world.desk.event_count(run) == 3, "it was given back"
    (_,) = queue.take([run], number)
    world.desk.finish_run(run, "fail", RunFinished(result="fail"))
    before = world.desk.event_count(run)
    store.append(run, produced(case, 2))
    assert world.desk.event_count(run) == before, "the run is over"


def test_the_database_says_what_an_event_is_about(world: World) -> None:
    """Whatever keys the data of an event has: it is read as one of the case in hand."""
    from honestone.adapters.stores.stored import case_of, decode

    run = world.ordered("mine", "other")
    store, queue = world.runner()
    hold(queue, run)
    rests = (
        '{"case":"other","type":"attempted","attempt":9}',
        '{"type":"run-finished","case":"other","case":"other"}',
        '{"x":{"case":"other"},"case":"other"}',
        '{"\\u0063ase":"other"}',
        "{}",
    )
    broken = (
        '{"x":{"case":"mine"',
        '{"case":"other"},{"a":1}',
        "[1]",
        '"text"',
        "{ }",
        '{"a":"',
        '{"a":"\\',
    )
    for number, rest in enumerate(rests, 1):
        _add(store, run, "mine", "produced", number, rest)
    for number, rest in enumerate(broken, 20):
        with pytest.raises(StoreError):
            _add(store, run, "mine", "produced", number, rest)
    for kind, attempt in (
        ("finished", 1),
        ("started", None),
        ("passed-by", 1),
        ("produced", None),
        ("note", 1),
    ):
        assert not _add(store, run, "mine", kind, attempt, "{}")
    read = world.desk.connection.read(  # type: ignore[attr-defined]
        lambda cursor: cursor.execute(
            b"select data, writer from honestone.events where run = %s and seq > 1", (run,)
        ).fetchall()
    )
    about = [
        (decode(data)["type"], decode(data)["case"], decode(data)["attempt"], case_of(data))
        for data, _ in read
    ]
    assert about == [("produced", "mine", number, "mine") for number in range(1, len(rests) + 1)]
    assert {writer for _, writer in read} == {
        world.opened[0]._address.url.split("//")[1].split(":")[0]
    }  # type: ignore[union-attr]


def _add(store: Store, run: str, case: str, kind: str, attempt: int | None, rest: str) -> bool:
    arguments = (run, case, kind, attempt, None, rest.encode())
    query = b"select honestone.add_event(%s, %s, %s, %s, %s, %s)"
    connection = store.connection  # type: ignore[attr-defined]
    return bool(connection.write(lambda cursor: cursor.execute(query, arguments).fetchone())[0])


def test_a_reply_of_a_runner_counts_in_its_run(world: World) -> None:
    """Not for a coordinator, not in another run, and not before the runner has taken a case; other
    runners of the run use it.
    """
    run, second = world.ordered("a", "b"), world.ordered("a")
    (first_store, queue), (other_store, other_queue) = world.runner(), world.runner()
    mine = first_store.in_run(run)
    assert mine.keep_reply(KEY, "j", {"yes": True}) is None and mine.reply(KEY) is None, (
        "it works on no case"
    )
    hold(queue, run)
    hold(other_queue, run)
    mine.keep_reply(KEY, "j", {"yes": True}, known=0)
    theirs = other_store.in_run(run)
    assert mine.reply(KEY) == theirs.reply(KEY) == {"yes": True}
    late = theirs.keep_reply(KEY, "j", {"yes": False}, known=0)
    assert late is not None and json.loads(late.data) == {"yes": True}
    assert (
        world.desk.reply(KEY) is None
        and world.desk.answers([KEY]) == {}
        and world.desk.replies([KEY]) == {}
    )
    assert other_store.in_run(second).reply(KEY) is None
    assert world.desk.keep_reply(KEY, "j", {"yes": False}, known=0) is None, (
        "a coordinator's own is the first"
    )
    assert world.desk.reply(KEY) == {"yes": False} and other_store.in_run(second).reply(KEY) == {
        "yes": False
    }
    assert [row[3] for row in world.desk.rows_of("replies")] == [b'{"yes":false}'], "what is copied"  # type: ignore[attr-defined]
    for view in (mine, theirs):
        view.end_view()


def test_grants_count_up(world: World) -> None:
    """A runner gives back what its login took, and no more; the money likewise. Of a run that it
    does not work on nothing changes.
    """
    run = world.ordered("a", "b")
    world.desk.open_grants(run, RunGrants(calls=7, usd=1.0))
    (store, queue), (other, other_queue) = world.runner(), world.runner()
    assert store.grant(run, GrantRequest(calls=5, most_calls=100))[0] is False
    store.grant(run, GrantRequest(calls=-5, usd=-1.0))
    store.open_grants(run, RunGrants(calls=10**6))
    assert store.open_grants(run, RunGrants()).calls == 7
    hold(queue, run)
    hold(other_queue, run)
    assert store.grant(run, GrantRequest(calls=3, usd=0.5, most_calls=10))[1].calls == 10
    assert other.grant(run, GrantRequest(calls=1, most_calls=10))[0] is False, "the limit"
    for calls, usd in ((-(10**6), -1e9), (-(2**31) + 1, float("-inf")), (0, float("nan"))):
        other.grant(run, GrantRequest(calls=calls, usd=usd))
        found = store.open_grants(run, RunGrants())
        assert (found.calls, found.usd) == (10, 1.5), (calls, usd)
    assert store.grant(run, GrantRequest(calls=-2, usd=-0.25))[1].calls == 8
    store.grant(run, GrantRequest(calls=-100, usd=-100.0))
    found = store.open_grants(run, RunGrants())
    assert (found.calls, found.usd) == (7, 1.0)


def test_a_case_in_hand_is_not_taken_away(world: World) -> None:
    """Not by a sweep for less time than its runner said, not under that runner's number, not by
    ending or giving back its case.
    """
    run = world.ordered("a")
    (_, queue), (_, thief) = world.runner(), world.runner()
    from msgspec.structs import replace

    number = queue.beat(None, replace(CARD, silence=60.0))
    (case,) = queue.take([run], number)
    stealing = thief.beat(None, CARD)
    assert thief.sweep(0.0) == [] and thief.take([run], stealing) == []
    thief.done([case])
    thief.give_back(case, number)
    thief.leave(number)
    assert thief.beat(number, CARD) not in (number, stealing)
    assert thief.take([run], number) == [] and world.orders.waiting(run).doing == 1


def test_content_of_a_runner_is_what_its_name_says(world: World) -> None:
    """A runner cannot put other bytes in the place of a digest before the right ones are there."""
    run = world.ordered("a")
    store, queue = world.runner()
    hold(queue, run)
    with pytest.raises(StoreError):
        store.keep_blobs({KEY: b"other"})
    right = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    store.keep_blobs({right: b"x"})
    assert world.desk.blob(right) == b"x" and world.desk.blob(KEY) is None


def test_roles_are_made_by_a_command(server: Server, desk: Desk, url: str) -> None:
    """Also a second time, and by a user who may not make roles with the SQL that it prints; a
    folder has none.
    """
    database = url.rpartition("/")[2]
    assert desk.run("store", "roles").code == 0 and desk.run("store", "roles").code == 0
    printed = desk.run("store", "roles", "--sql")
    assert printed.code == 0 and "grant select on all tables" in printed.out
    server.sql(printed.out, database)
    page = (Path(__file__).parents[2] / "docs/cluster.md").read_text(encoding="utf-8")
    assert all(part.strip() in page for part in printed.out.split("\n\n"))
    server.sql(f"create role plain_{database} login password 'PASSWORD'", database)
    plain = {"HONESTONE_STORE": server.url(database, user=f"plain_{database}", password="PASSWORD")}
    refused = desk.run("store", "roles", env=plain)
    assert refused.code == 2 and "Traceback" not in refused.err and "PASSWORD" not in refused.err
    folder = desk.run("store", "roles", env={"HONESTONE_STORE": ""})
    assert folder.code == 2 and "only a shared store has roles" in folder.err, folder.err


def test_the_queue_of_an_older_store_is_migrated(server: Server, url: str, desk: Desk) -> None:
    """A store of format 2 that has a queue works after `store migrate`, and its replies still
    count.
    """
    from importlib.resources import files

    from procrastinate.schema import SchemaManager

    database = url.rpartition("/")[2]
    scripts = files("honestone.adapters.stores.migrations")
    for number in (1, 2):
        server.sql((scripts / f"postgres-{number}.sql").read_text(), database)
    server.sql("insert into honestone.format values (2)", database)
    server.sql("set search_path = honestone;" + SchemaManager.get_schema(), database)
    server.sql(
        'create table honestone.orders (run text collate "C" primary key, priority integer not null, is_paused boolean not null '
        "default false, at timestamptz not null default now(), plan bytea not null);"
        "create table honestone.runners (id bigint primary key, since timestamptz not null default now(), "
        "at timestamptz not null default now(), data bytea not null);"
        f"insert into honestone.replies (key, judge, at, data) values ('{KEY}', 'j', '2026', '{{\"old\": 1}}')",
        database,
    )
    assert "older format 2" in desk.run("runs").err
    assert desk.run("store", "migrate").code == 0
    place = StorePlace(folder=desk.folder, address=store_address(url))
    with closing(open_store(place)) as store, closing(open_queue(place)) as queue:
        assert store.reply(KEY) == {"old": 1}
        run = open_queue(place, store).order(
            lambda: store.start_run(
                kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
            ),
            b"plan",
            ["a"],
            priority=0,
        )
        (case,) = hold(queue, run)
        queue.done([case])
        assert queue.waiting(run).left == 0
