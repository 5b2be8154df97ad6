"""The server is suspended: it neither answers nor closes a connection. What has a time limit of its
own here ends all the same.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.cli.desk import Desk, until
from tests.cluster.test_postgres import first, opened

from honestone.core.record.event_codec import event_to_plain

from .server import Server


@contextmanager
def suspended(server: Server, url: str) -> Iterator[None]:
    """Every process of the server that has a connection to the database, until the end."""
    database = url.rpartition("/")[2]
    query = (
        f"select pid from pg_stat_activity where datname = '{database}' and pid <> pg_backend_pid()"
    )
    backends = [int(pid) for pid in server.sql(query, "postgres").split()]
    assert backends, "nothing is connected"
    for pid in backends:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in backends:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


def is_there(pid: int) -> bool:
    """Whether it is a process that has not ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_time_limits_and_beats_of_a_loop_whose_store_is_suspended(
    server: Server, url: str, tmp_path: Path
) -> None:
    """While a call waits for the server a time limit fires and a task beats; then the call is made,
    once.
    """
    store = opened(url, tmp_path)
    run = store.start_run(kind="eval", subject="s", identity="i", contract="c", first=first())
    beats = 0

    async def beat() -> None:
        nonlocal beats
        while True:
            beats += 1
            await asyncio.sleep(0.001)

    async def work() -> None:
        heart = asyncio.create_task(beat())
        with suspended(server, url):
            appended = asyncio.create_task(store.journal.append(run, first(n=1)))
            recalled = asyncio.create_task(store.journal.recall("key"))
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.1):
                    await asyncio.Event().wait()
            before = beats
            while beats < before + 5:
                await asyncio.sleep(0.001)
            assert not appended.done() and not recalled.done()
        assert await appended is None and await recalled == ()
        heart.cancel()

    asyncio.run(work())
    assert [event_to_plain(event)["n"] for event in store.events(run)[1:]] == [1]
    store.close()


TARGET = """
import os, sys, time
case = sys.stdin.read().strip()
open(case + ".pid", "w").write(str(os.getpid()))
while case == "long" or not os.path.exists("go"):
    time.sleep(0.01)
print("an apple")
"""


def test_the_time_limit_of_a_case_fires_while_another_one_is_put_on_record(
    desk: Desk, server: Server, url: str
) -> None:
    """The target of the one is ended although the server does not answer, and the report says why."""
    desk.file("target.py", TARGET)
    desk.file(
        "suite.yaml",
        """
        suite: 1
        title: Fruit
        target: {use: "cmd:python3 target.py"}
        cases:
          - {id: long, input: long, timeout: 8, checks: [{contains: apple}]}
          - {id: short, input: short, checks: [{contains: apple}]}
        """,
    )
    process = desk.start("eval", "suite.yaml", "--json", "-q", "--concurrency", "2")
    pids = [desk.folder / f"{name}.pid" for name in ("long", "short")]
    until(
        lambda: all(pid.exists() and pid.read_text() for pid in pids) or process.poll() is not None
    )
    assert process.poll() is None, process.communicate()
    long, short = (int(pid.read_text()) for pid in pids)
    with suspended(server, url):
        desk.file("go", "")
        until(lambda: not is_there(short))
        until(lambda: not is_there(long))
        ended = not is_there(long)
    said, err = process.communicate(timeout=120)
    assert ended, "its time limit did not fire"
    cases = {case["id"]: case for case in json.loads(said)["cases"]}
    assert (cases["long"]["status"], cases["short"]["status"]) == ("target-error", "passed"), (
        said,
        err,
    )


def test_a_second_interrupt_ends_a_command_whose_store_is_suspended(
    desk: Desk, server: Server, url: str
) -> None:
    """With exit code 130, wherever it waits; the same command ends the run once the server answers."""
    desk.rubric()
    desk.file("note.md", "# Fruit\n\nAn apple a day.\n")
    judge = desk.judge(
        "slow",
        "import os, time\nwhile not os.path.exists('go'): time.sleep(0.01)\nprint(json.dumps(reply()))",
    )
    command = ("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec)
    process = desk.start(*command)
    until(lambda: judge.calls == 1 or process.poll() is not None)
    with suspended(server, url):
        desk.file("go", "")
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                process.communicate(timeout=1)
        _, err = process.communicate(timeout=120)
    assert process.returncode in (130, -signal.SIGINT), err
    assert desk.run(*command, timeout=120).code == 1
