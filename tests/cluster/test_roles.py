"""The rights of docs/cluster.md, word for word: what each role can do by commands, and what the
database refuses it.
"""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path

import pytest

from honestone.adapters.registry import open_queue
from honestone.adapters.stores.place import StorePlace
from honestone.core.record.queue import RunnerCard
from honestone.core.record.store_address import store_address

from .server import Server
from .site import Site

PAGE = Path(__file__).parents[2] / "docs/cluster.md"
SUITE = "suite: 1\ncases:\n  - {id: a, input: an apple, rubric: [it says apple]}\n  - {id: b, input: a pear, rubric: [it says apple]}\n"
REFUSED = {
    "reader": (
        "insert into honestone.commits values ('x', 1)",
        "update honestone.runs set result = 'pass'",
        "delete from honestone.events",
        "insert into honestone.blobs values ('x', 'x')",
    ),
    "runner": (
        "insert into honestone.runs (id, kind, subject, identity, contract, started) values ('x', 'x', 'x', 'x', 'x', 'x')",
        "update honestone.runs set result = 'pass'",
        "update honestone.events set data = 'x'",
        "delete from honestone.replies",
        "insert into honestone.orders (run, priority, plan) values ('x', 0, 'x')",
        "update honestone.orders set plan = 'x'",
        "insert into honestone.procrastinate_jobs (task_name) values ('case')",
        "update honestone.blobs set data = 'x'",
        "insert into honestone.events (run, seq, data) values ('x', 1, 'x')",
        "insert into honestone.replies (key, judge, at, data) values ('x', 'x', 'x', 'x')",
        "update honestone.grants set calls = -1000000",
        "update honestone.procrastinate_jobs set worker_id = 1",
        "delete from honestone.worked",
    ),
    "coordinator": (
        "update honestone.format set version = 9",
        "insert into honestone.runners (id, data) values (1, 'x')",
        "delete from honestone.procrastinate_workers",
        "select honestone.take_cases(array['x'], 1, 1)",
        "select honestone.add_event('x', 'x', 'produced', 1, null, '{}')",
    ),
}
BY_NO_ROLE = (
    "drop table honestone.runs",
    "truncate honestone.events",
    "alter table honestone.runs add x text",
    "create table honestone.x (x text)",
)


def blocks(section: str) -> list[str]:
    """The SQL of a section of the page."""
    text = PAGE.read_text(encoding="utf-8").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return re.findall(r"```sql\n(.*?)```", text, re.S)


@pytest.fixture
def roles(site: Site, server: Server) -> dict[str, str]:
    """The page's roles in a migrated store; the address of a login of each kind."""
    assert site.desk.run("store", "migrate").code == 0
    database = site.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    made = blocks("Rights")
    assert len(made) == 3
    for sql in made:
        server.sql(sql, database)
        server.sql(sql, database, check=sql is not made[2])  # once more, as after an upgrade
    logins = dict(re.findall(r"create role (\w+) login .* in role honestone_(\w+);", made[2]))
    assert sorted(logins.values()) == ["coordinator", "reader", "runner"]
    return {
        role: server.url(database, user=name, password="PASSWORD") for name, role in logins.items()
    }


def test_each_role_does_its_work_and_no_other(
    site: Site, server: Server, roles: dict[str, str]
) -> None:
    """A run that a coordinator orders, a runner works on and a reader looks at while it is under
    way.
    """
    site.desk.file("honestone.toml", "")
    site.desk.file("suite.yaml", SUITE)
    site.desk.file("other.yaml", SUITE)
    gate = site.folder / "gate"
    site.desk.file("target.sh", f"while [ ! -e {gate} ]; do sleep 0.1; done; cat\n")
    judge = site.desk.judge()
    work = (
        "suite.yaml",
        "--target",
        "cmd:sh target.sh",
        "--judge",
        judge.spec,
        "--max-calls",
        "20",
    )
    other = ("other.yaml", *work[1:])
    variables = {role: {"HONESTONE_STORE": url} for role, url in roles.items()}

    def refused(role: str, *words: str) -> None:
        tried = site.desk.run(*words, env=variables[role])
        assert tried.code == 2 and "may not write" in tried.err and "Traceback" not in tried.err, (
            role,
            words,
            tried.err,
        )

    ordered = site.order(*work[1:], **variables["coordinator"])
    site.until_ordered(ordered)
    (run,) = json.loads(site.desk.run("runs", "--json", env=variables["reader"]).out)
    for words in (("runs",), ("show", run["id"]), ("runners",), ("compare", run["id"], run["id"])):
        seen = site.desk.run(*words, env=variables["reader"])
        assert seen.code in (0, 3), (words, seen.err)
    for words in (
        ("eval", *other),
        ("eval", *other, "--remote"),
        ("run", "cancel", run["id"]),
        ("runner", "--drain"),
    ):
        refused("reader", *words)
    refused("coordinator", "runner", "--drain")
    refused("runner", "eval", *other)
    refused("runner", "eval", *other, "--remote")
    refused("runner", "run", "cancel", run["id"])
    with closing(
        open_queue(StorePlace(folder=site.folder, address=store_address(roles["runner"])))
    ) as queue:
        number = queue.beat(None, RunnerCard(host="gpu", person="gpu", version="1", concurrency=1))
        (case,) = queue.take([run["id"]], number)
        queue.give_back(case, number)
        assert len(queue.take([run["id"]], number)) == 1
        assert queue.sweep(0.0) == [] and queue.waiting(run["id"]).todo == 2
        queue.leave(number)
    gate.touch()
    site.runner(**variables["runner"])
    out, err = ordered.communicate(timeout=120)
    assert ordered.returncode == 1 and json.loads(out)["counts"]["passed"] == 1, err
    assert site.desk.run("show", run["id"], env=variables["reader"]).code == 0
    assert site.desk.run("eval", *work, "--fresh", env=variables["coordinator"]).code == 1
    latest = json.loads(site.desk.run("runs", "--json", env=variables["reader"]).out)
    assert len(latest) == 2
    assert site.desk.run("trend", *(one["id"] for one in latest), env=variables["reader"]).code == 0
    assert (
        site.desk.run("compare", *(one["id"] for one in latest), env=variables["reader"]).code == 0
    )

    database = site.desk.extra["HONESTONE_STORE"].rpartition("/")[2]
    for role, statements in REFUSED.items():
        for sql in (*statements, *BY_NO_ROLE):
            said = server.sql(
                f"begin; set local role honestone_{role}; {sql}; rollback", database, check=False
            )
            assert "permission denied" in said or "must be owner" in said, (role, sql, said)
