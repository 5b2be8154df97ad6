"""Several commands at once on the shared store, as on several machines: what is paid for, and what
colleagues see of suites.
"""

from __future__ import annotations

import json
import re
import signal
import threading
import time
import urllib.request
from pathlib import Path

from tests.cli.desk import Desk, until
from tests.cluster.test_commands import colleague

from .server import Server

SLOW = "time.sleep(1)\nprint(json.dumps(reply()))"


def suite(desk: Desk, cases: int) -> str:
    """A suite whose every third case names no apple; the judge's name."""
    lines = (
        f"  - {{id: c{n}, input: 'number {n} {'pear' if n % 3 == 2 else 'apple'}', rubric: [It names the apple]}}\n"
        for n in range(cases)
    )
    desk.file("suite.yaml", f"suite: 1\ntitle: Fruit\ncases:\n{''.join(lines)}")
    return desk.judge().spec


def test_equal_commands_on_several_machines_pay_once(desk: Desk, tmp_path: Path) -> None:
    """Each in a folder of its own, with the same files."""
    places = [
        desk,
        *(colleague(desk, tmp_path / name) for name in ("b", "c") if not (tmp_path / name).mkdir()),
    ]
    for place in places:
        place.rubric()
        place.file("note.md", "# Fruit\n\nAn apple a day.\n")
        judge = place.judge("slow", SLOW)
    command = ("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec, "--json", "-q")
    started = [place.start(*command) for place in places]
    said = [one.communicate(timeout=180) for one in started]
    assert [one.returncode for one in started] == [1, 1, 1], said
    assert judge.calls == 1


def test_the_cap_holds_over_kills(desk: Desk) -> None:
    """The calls of killed commands count, although no event tells of them."""
    suite(desk, 8)
    judge = desk.judge("slow", SLOW)
    command = (
        "eval",
        "suite.yaml",
        "-t",
        "cmd:cat",
        "-j",
        judge.spec,
        "--max-calls",
        "4",
        "--concurrency",
        "1",
    )
    for _ in range(2):
        before = judge.calls
        process = desk.start(*command)
        until(
            lambda before=before, process=process: (
                judge.calls > before or process.poll() is not None
            )
        )
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    last = desk.run(*command, timeout=180)
    assert last.code == 3, last.err
    assert 2 <= judge.calls <= 4


def test_a_second_command_of_the_same_run_is_refused(desk: Desk) -> None:
    """While the first works on it; once that is killed, the next resumes its run."""
    suite(desk, 3)
    judge = desk.judge(
        "slow",
        "time.sleep(30 if len(open(LOG).readlines()) == 1 else 0)\nprint(json.dumps(reply()))",
    )
    command = ("eval", "suite.yaml", "-t", "cmd:cat", "-j", judge.spec, "--concurrency", "1")
    first = desk.start(*command)
    until(lambda: judge.calls == 1)
    refused = desk.run(*command)
    assert refused.code == 2 and "already" in refused.err
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    # The server notices a closed connection, but not in the same instant.
    until(lambda: desk.run(*command, timeout=180).code == 1)
    assert len(json.loads(desk.run("runs", "--json").out)) == 1


def test_suites_are_compared_from_another_folder(desk: Desk, tmp_path: Path) -> None:
    """`--failed` runs what failed last; `compare`, `trend`, `show` and the page need nothing of the
    suite's folder.
    """
    judge = suite(desk, 6)
    command = ("eval", "suite.yaml", "-t", "cmd:cat", "-j", judge, "--json", "-q")
    whole = json.loads(desk.run(*command).out)
    assert whole["counts"]["failed"] == 2
    failed = json.loads(desk.run(*command, "--failed").out)
    assert [case["id"] for case in failed["cases"] if case["verdict"] != "skipped"] == ["c2", "c5"]
    mate = colleague(desk, tmp_path)
    runs = [run["id"] for run in json.loads(mate.run("runs", "--json").out)]
    compared = mate.run("compare", runs[-1], runs[-1], "--json")
    assert compared.code == 0 and json.loads(compared.out)["delta"] == 0
    assert mate.run("trend", runs[-1], runs[-1]).code == 0
    assert "<html" in mate.run("show", runs[-1], "--format", "html").out


def test_the_pages_of_a_shared_store(desk: Desk) -> None:
    """`view` lists its runs, and says which store it is without the password."""
    judge = suite(desk, 2)
    assert desk.run("eval", "suite.yaml", "-t", "cmd:cat", "-j", judge).code == 0
    process = desk.start("view", "--no-open", "--port", "0", "--json")
    try:
        assert process.stdout is not None
        address = json.loads(process.stdout.readline())
        assert address["store"].startswith("postgresql://honestone@")
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address["url"], timeout=60) as answer:
            page = answer.read().decode()
        assert re.search(r"\bFruit\b", page)
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_a_crash_of_the_server_in_a_suite(desk: Desk, server: Server) -> None:
    """The command waits, and its report is that of a run without the crash; no reply is paid for
    twice.
    """
    suite(desk, 12)
    judge = desk.judge("slow", "time.sleep(0.3)\nprint(json.dumps(reply()))")
    command = (
        "eval",
        "suite.yaml",
        "-t",
        "cmd:cat",
        "-j",
        judge.spec,
        "--json",
        "-q",
        "--concurrency",
        "2",
    )
    process = desk.start(*command)
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(process.communicate(timeout=180)))
    reader.start()
    until(lambda: judge.calls >= 3 or process.poll() is not None)
    server.stop()
    time.sleep(0.5)
    server.start()
    reader.join(180)
    assert process.returncode == 1, said
    assert json.loads(said[0])["counts"]["passed"] == 8 and judge.calls == 12


def test_a_reply_that_came_while_the_store_was_away_is_not_paid_again(
    desk: Desk, server: Server
) -> None:
    """The command is killed while it waits for the server; the next one in the same folder brings
    the reply along.
    """
    desk.rubric()
    desk.file("note.md", "# Fruit\n\nAn apple a day.\n")
    judge = desk.judge("slow", "time.sleep(2)\nprint(json.dumps(reply()))")
    command = ("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec)
    process = desk.start(*command)
    until(lambda: judge.calls == 1 or process.poll() is not None)
    server.stop()
    try:
        until(lambda: any(desk.store.glob("undelivered/*/*.json")) or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    finally:
        server.start()
    assert len(list(desk.store.glob("undelivered/*/*.json"))) == 1
    assert desk.run(*command, timeout=120).code == 1
    assert judge.calls == 1 and not list(desk.store.glob("undelivered/*/*.json"))
