"""Pages of runs that are under way in other processes, over HTTP."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cli.desk import GOOD, Desk
from cli.skill_desk import cook, skill, suite
from cli.stage_desk import skill_worker
from view.test_server import EVIL, PATIENCE, Elements, Server, runs

# Runs that wait at gates, and a server that shows them.
pytestmark = pytest.mark.slow

WAITS = "while not os.path.exists({gate!r}):\n    time.sleep(0.02)\n{then}"


def until(holds: Callable[[], object], what: str) -> None:
    """Waits for something that another process does."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


class Watched:
    """A desk with a server and commands that wait for files: `open` makes one."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.server = Server(desk)
        self.commands: list[subprocess.Popen[str]] = []

    def gate(self, name: str) -> Path:
        return self.desk.folder / f"{name}.gate"

    def open(self, *names: str) -> None:
        for name in names:
            self.gate(name).touch()

    def judge(self, name: str, then: str = "print(json.dumps(reply()))") -> str:
        """A judge that answers once its gate is open."""
        return self.desk.judge(name, WAITS.format(gate=str(self.gate(name)), then=then)).spec

    def target(self, name: str, *cases: str) -> str:
        """A target that says its input once the gate of that is open."""
        gates = {case: str(self.gate(case)) for case in cases}
        code = f"import os, sys, time\ntext = sys.stdin.read()\ngate = {gates!r}[text.split()[0]]\n"
        self.desk.file(
            f"{name}.py",
            code + "while not os.path.exists(gate):\n    time.sleep(0.02)\nprint(text)\n",
        )
        return f"cmd:{sys.executable} {name}.py"

    def start(self, *args: str) -> subprocess.Popen[str]:
        self.commands.append(self.desk.start(*args))
        return self.commands[-1]

    def page(self, path: str = "/run/last") -> str:
        status, _, body = self.server.ask(path)
        return body if status == 200 else ""

    def state(self, path: str = "/run/last") -> str:
        found = re.search(r'data-hs="live" data-state="(\w*)"', self.page(path))
        return found[1] if found else ""

    def figure(self, name: str, path: str = "/run/last") -> str:
        found = re.search(rf'data-live="{name}">([^<]*)<', self.page(path))
        return found[1] if found else ""

    def judges(self, path: str = "/run/last") -> dict[str, str]:
        found = re.findall(r'data-judge="[^"]*?([\w.]+)" data-state="(\w+)"', self.page(path))
        return dict(found)

    def stop(self) -> None:
        for one in self.commands:
            if one.poll() is None:
                one.kill()
            one.wait()
        self.server.stop()


@pytest.fixture
def watched(desk: Desk) -> Iterator[Watched]:
    made = Watched(desk)
    yield made
    made.stop()


SUITE = {
    "suite": 1,
    "concurrency": 1,
    "cases": [
        {
            "id": one,
            "input": f"{one} apple",
            "checks": [{"contains": ["apple" if one != "two" else "pear"]}],
        }
        for one in ("one", "two", "three")
    ],
}


def test_one_artifact_is_watched_judge_by_judge(watched: Watched) -> None:
    """Who was asked, who has answered and who failed, before anything of the run is on record; then
    the verdict.
    """
    watched.desk.file("note.md", GOOD)
    watched.desk.rubric()
    judges = [
        watched.judge("first"),
        watched.judge("second"),
        watched.judge("third", "sys.exit('it broke')"),
    ]
    command = watched.start(
        "eval",
        "note.md",
        "--rubric",
        "rubric.yaml",
        *(part for one in judges for part in ("--judge", one)),
    )
    until(
        lambda: (
            watched.judges() == {"first.py": "asked", "second.py": "asked", "third.py": "asked"}
        ),
        "all are asked",
    )
    until(lambda: watched.state() == "running", "it is alive")
    assert (watched.figure("done"), watched.figure("total")) == ("0", "1")
    assert (
        "Nothing of this run is judged yet" in watched.page()
        and 'data-hs="verdict"' not in watched.page()
    )
    watched.open("second")
    until(lambda: watched.judges().get("second.py") == "answered", "the second has answered")
    assert watched.judges()["first.py"] == "asked"
    watched.open("third")
    until(lambda: watched.judges().get("third.py") == "failed", "the third has failed")
    watched.open("first")
    assert command.wait(PATIENCE) == 3
    assert watched.state() == "" and 'data-hs="verdict">inconclusive' in watched.page(), (
        "a run that is over stays as it is"
    )
    ended = watched.page("/run/last/live")
    assert 'data-state="finished"' in ended and 'data-live="done">1<' in ended, (
        "who watched sees how it ended"
    )


def test_a_suite_is_watched_case_by_case(watched: Watched) -> None:
    """Cases come as they are through, those that had no turn are not called skipped, and the log
    can be emptied meanwhile.
    """
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    command = watched.start(
        "eval", "suite.yaml", "--target", watched.target("slow", "one", "two", "three")
    )
    until(lambda: watched.figure("total") == "3", "it has begun")
    until(
        lambda: "data-case=" not in watched.page() and "was skipped" not in watched.page(),
        "none had its turn",
    )
    watched.open("one", "two")
    until(lambda: watched.figure("done") == "2", "two are through")
    so_far = [("two", "failed"), ("one", "passed")]
    until(
        lambda: re.findall(r'data-case="(\w+)" data-status="(\w+)"', watched.page()) == so_far,
        "their rows are there",
    )
    assert ">0 ms<" not in watched.page(), "how long it takes is not known yet"
    assert watched.figure("failing") == "1" and watched.figure("left") not in ("", "not known")
    assert 'data-case="two"' in watched.page(
        "/run/last?status=failed"
    ) and 'data-case="one"' not in watched.page("/run/last?status=failed")
    with sqlite3.connect(watched.desk.store / "store.db", timeout=PATIENCE) as writer:
        assert writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0] == 0
    watched.open("three")
    assert command.wait(PATIENCE) == 1
    assert len(re.findall("data-case=", watched.page())) == 3 and watched.state() == ""


def test_what_is_not_new_is_not_sent_again(watched: Watched) -> None:
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    watched.start("eval", "suite.yaml", "--target", watched.target("slow", "one", "two", "three"))
    watched.open("one")
    until(lambda: watched.figure("done") == "1", "one is through")
    seq = re.findall(r'data-seq="(\d+)"', watched.page())[0]
    for path, is_whole in (
        (f"after={seq}", False),
        ("after=1", True),
        ("after=1&rows=0", False),
        ("after=x", True),
        ("", True),
    ):
        page = watched.page(f"/run/last/live?{path}")
        assert ("data-case=" in page) == is_whole and 'data-hs="live"' in page, path
        assert ('data-page="live"' in page) != is_whole
    assert 'data-seq="1"' in watched.page("/run/last/live?after=1&rows=0"), (
        "its rows are those of before"
    )
    assert "after" not in re.sub(
        "data-[^>]*", "", watched.page("/run/last/live?after=1&sort=case")
    ), "no link carries it on"


def test_a_killed_run_is_interrupted_and_the_next_is_not(watched: Watched) -> None:
    """`kill -9` of the writer leaves a whole record, which is soon too old; Ctrl-C says so itself;
    resumed, it runs again.
    """
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    args = ("eval", "suite.yaml", "--target", watched.target("slow", "one", "two", "three"))
    command = watched.start(*args)
    watched.open("one")
    until(lambda: watched.figure("done") == "1", "one is through")
    command.kill()
    until(lambda: watched.state() == "interrupted", "nobody works on it")
    assert watched.figure("done") == "1" and "The same command resumes it" in watched.page()
    assert len(re.findall("data-case=", watched.page())) == 3, (
        "now the cases without a turn are shown as skipped"
    )
    command = watched.start(*args)
    until(lambda: watched.state() == "running", "it is resumed")
    command.send_signal(signal.SIGINT)
    assert command.wait(PATIENCE) == 130
    assert watched.state() == "interrupted"


def test_the_list_shows_what_is_under_way(watched: Watched) -> None:
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    before = watched.page("/")
    seq = re.findall(r'data-seq="(\w+)"', before)[0]
    assert 'data-page="live"' in watched.page(f"/live?after={seq}"), "nothing is new"
    command = watched.start(
        "eval", "suite.yaml", "--target", watched.target("slow", "one", "two", "three")
    )
    watched.open("one")
    until(
        lambda: "running" in watched.page("/") and "1 of 3" in watched.page("/"),
        "it is in the list",
    )
    assert "data-run=" in watched.page(f"/live?after={seq}")
    assert '<span class="badge running">' in watched.page("/")
    watched.open("two", "three")
    command.wait(PATIENCE)
    listed = watched.page("/")
    assert "of 3" not in listed and "did not pass" in listed


def test_a_loop_is_watched_round_by_round(watched: Watched) -> None:
    watched.desk.file("note.md", "An apple.\n")
    watched.desk.rubric()
    gates = {"pear": str(watched.gate("pear")), "farewell": str(watched.gate("farewell"))}
    worker = watched.desk.worker(
        "adds",
        f"import time\nword = 'farewell' if b'pear' in read() else 'pear'\nwhile not os.path.exists({gates!r}[word]):\n    time.sleep(0.02)\nput(read() + word.encode() + b'\\n')",
    ).spec
    judge, witness = watched.desk.judge("judge").spec, watched.desk.judge("witness").spec
    command = watched.start(
        "improve",
        "note.md",
        "--rubric",
        "rubric.yaml",
        "--policy",
        "keep-best",
        "--worker",
        worker,
        "--judge",
        judge,
        "--holdout",
        witness,
    )
    until(lambda: "works on" in watched.page(), "the worker is at it")
    until(
        lambda: watched.state() == "running" and watched.judges()["judge.py"] == "answered",
        "the baseline is judged",
    )
    watched.open("pear")
    until(lambda: 'data-round="1"' in watched.page(), "the first round is decided")
    assert "stopped before the end" not in watched.page(), "it works still"
    until(lambda: watched.figure("done") in ("1", "2"), "and counted")
    watched.open("farewell")
    assert command.wait(PATIENCE) == 0
    assert 'data-hs="verdict">PASSED' in watched.page(
        "/run/last/live"
    ) and 'data-state="finished"' in watched.page("/run/last/live")


@pytest.mark.parametrize("command", ["noise", "audit"])
def test_what_is_being_measured_has_no_figures_yet(watched: Watched, command: str) -> None:
    """Neither "could not be measured" nor a table of nothing, while it works and after a kill; then
    what the command printed.
    """
    watched.desk.file("note.md", GOOD)
    watched.desk.rubric()
    words = (command, "note.md", "--rubric", "rubric.yaml", "--judge", watched.judge("slow"))
    started = watched.start(*words)
    until(lambda: watched.judges() == {"slow.py": "asked"}, "it is asked")
    for state in ("running", "interrupted"):
        until(lambda state=state: watched.state() == state, state)  # type: ignore[misc]
        assert (
            "once every question is answered" in watched.page()
            and "could not be" not in watched.page()
        )
        started.kill()
    watched.open("slow")
    assert watched.desk.run(*words).code == 0
    assert "once every question" not in watched.page() and "honestone show" in watched.page()


def test_a_table_is_watched_as_the_sum_of_its_columns(watched: Watched) -> None:
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    targets = [watched.target(name, "one", "two", "three") for name in ("left", "right")]
    command = watched.start("eval", "suite.yaml", "--target", targets[0], "--target", targets[1])
    until(lambda: watched.figure("total") == "6", "both columns have begun")
    watched.open("one")
    until(lambda: watched.figure("done") == "2", "one case of each is through")
    watched.open("two", "three")
    command.wait(PATIENCE)
    assert watched.state() == "" and watched.page()


def test_hostile_words_of_a_live_run_are_words(watched: Watched) -> None:
    """In the name of a judge and of what is done, before anything is on record."""
    watched.desk.file("note.md", GOOD)
    watched.desk.rubric()
    judge = watched.judge("evil")
    watched.start("eval", "note.md", "--rubric", "rubric.yaml", "--judge", f"{judge} '{EVIL}'")
    until(lambda: 'data-state="asked"' in watched.page(), "it is asked")
    for path in ("/run/last", "/run/last/live?rows=0", "/"):
        body, found = watched.page(path), Elements()
        found.feed(body)
        assert body and found.odd == [] and "\u202e" not in body, path


def test_a_run_of_an_older_version_is_shown_without_a_record(watched: Watched) -> None:
    watched.desk.file("suite.yaml", json.dumps(SUITE))
    command = watched.start(
        "eval", "suite.yaml", "--target", watched.target("slow", "one", "two", "three")
    )
    watched.open("one")
    until(lambda: watched.figure("done") == "1", "one is through")
    command.kill()
    command.wait()
    shutil.rmtree(watched.desk.store / "live")
    until(lambda: watched.state() == "interrupted", "nothing works on it")
    assert 'data-case="one" data-status="passed"' in watched.page() and watched.figure("done") == ""
    assert runs(watched.desk)[0]["finished"] is None


def test_the_moving_part_needs_the_token(watched: Watched) -> None:
    for path in ("/live", "/run/last/live", "/run/last/live?after=1"):
        assert watched.server.ask(path, token=False)[0] == 401
    assert watched.server.ask("/run/zzzz/live")[0] == 404


def test_stages_are_watched_before_a_try_is_decided(watched: Watched) -> None:
    """While the worker works, while a candidate's tasks run, after a kill, and at the end; `show`
    can say each of these too.
    """
    desk = watched.desk
    gates = {"True": str(watched.gate("pie")), "False": str(watched.gate("baseline"))}
    gate = f"gate = {gates!r}[str('hot pie' in lessons)]\nwhile 'pie' in order and not os.path.exists(gate):\n    time.sleep(0.02)\n"
    target = cook(desk, gate)
    worker = skill_worker(desk, "chef", "md.write_text(md.read_text() + '* pie = hot pie\\n')\n")
    skill(desk, "kitchen", ("soup", "stew"))
    suite(desk, ("soup", "stew", "pie"))
    files = (
        "stage",
        "run",
        "kitchen",
        "--task-suite",
        "orders/task_suite.yaml",
        "--state-root",
        "st",
    )
    command = (*files, "--worker", worker.spec, "--target", target.spec, "--json")
    started = watched.start(*command)
    until(lambda: target.count("pie"), "tasks are run")
    run = "/run/" + desk.run("runs", "--json", "--kind", "stages").json[0]["id"]
    assert watched.state(run) == "running"
    watched.open("baseline")
    until(
        lambda: target.count("pie") > 1 and "under way" in watched.page(run),
        "a candidate is being run",
    )
    page = watched.page(run)
    assert (
        watched.state(run) == "running"
        and 'data-round="1"' in page
        and "it is not decided yet" in page
    )
    assert ">error<" not in page and ">reject<" not in page
    shown = desk.run("show", run.removeprefix("/run/"), "--json")
    assert [one["decision"] for one in shown.json["tries"]] == ["error"]
    started.kill()
    until(lambda: watched.state(run) == "interrupted", "it was killed")
    assert "not decided" in watched.page(run) and "under way" not in watched.page(run)
    watched.open("pie")
    done = desk.run(*command)
    page = watched.page(run)
    assert done.code == 0, done.err
    assert 'data-decision="keep"' in page and "not decided" not in page
