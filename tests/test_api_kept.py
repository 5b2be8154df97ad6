"""What one call from Python leaves open for the next, and that no call notices."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import honestone
from honestone.app.between_calls import MOST, close_all, idle
from honestone.core.errors import Interrupted, UsageError
from honestone.testing import ScriptedJudge

CHECKED = honestone.parse_rubric(
    "rubric: 1\nfloor: 0\ncriteria: [{id: hello, check: {contains: hello}}]\n"
)
GREETS = honestone.parse_rubric(
    "rubric: 1\nthreshold: 60\ncriteria: [{id: long, check: {min-words: 2}}, {id: hello, check: {icontains: HELLO}}]\n"
)
JUDGED = honestone.parse_rubric(
    "rubric: 1\nfloor: 0\ncriteria: [{id: kind, requirement: It is kind}]\n"
)


@pytest.fixture(autouse=True)
def nothing_kept() -> Iterator[None]:
    """Each test begins and ends with nothing open."""
    close_all()
    yield
    close_all()


class Server(ThreadingHTTPServer):
    """A model that says nothing of use. Counts connections and calls; may hang up after each reply."""

    daemon_threads = True

    def __init__(self, *, hangs_up: bool) -> None:
        self.connections = self.calls = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                server.connections += 1
                super().setup()

            def do_POST(self) -> None:
                server.calls += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                body = b'{"choices": [{"message": {"content": "I cannot say"}, "finish_reason": "stop"}]}'
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                if hangs_up:  # without a word about it before
                    self.close_connection = True

            def finish(self) -> None:
                super().finish()
                self.connection.shutdown(socket.SHUT_RDWR)

            def log_message(self, format: str, *args: object) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)


@pytest.fixture
def server(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Server]:
    with Server(hangs_up=getattr(request, "param", False)) as server:
        thread = threading.Thread(
            target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        )
        thread.start()
        (tmp_path / "honestone.toml").write_text(
            f'[judges.far]\nprovider = "openai"\nmodel = "m"\napi_key_env = ""\n'
            f'base_url = "http://127.0.0.1:{server.server_address[1]}/v1"\n'
        )
        yield server
        server.shutdown()
        thread.join()


def test_the_calls_of_a_program_share_a_connection(server: Server, tmp_path: Path) -> None:
    """Three texts, one after the other, are judged over one connection; closing everything in
    between opens another.
    """
    for text in ("one", "two", "three"):
        assert (
            honestone.evaluate(text, JUDGED, judges="far", folder=tmp_path).verdict
            == "inconclusive"
        )
    assert server.connections == 1
    asked = server.calls
    close_all()
    assert (
        honestone.evaluate("one", JUDGED, judges="far", folder=tmp_path).verdict == "inconclusive"
    )
    assert (server.connections, 3 * (server.calls - asked)) == (2, asked)


@pytest.mark.parametrize("server", [True], indirect=True)
def test_a_connection_that_the_server_closed_is_not_used_again(
    server: Server, tmp_path: Path
) -> None:
    """A server that hangs up between two calls costs a new connection, and neither a call nor the
    judge's answer.
    """
    for number in range(4):
        found = honestone.evaluate(f"text {number}", JUDGED, judges="far", folder=tmp_path)
        assert "dropped" not in str(found.document["judges"])
    assert server.calls == server.connections


def test_a_coroutine_shares_it_too(server: Server, tmp_path: Path) -> None:
    """Awaited one after the other, from a thread each: one connection."""

    async def work() -> None:
        for text in ("one", "two", "three"):
            await honestone.aevaluate(text, JUDGED, judges="far", folder=tmp_path)

    asyncio.run(work())
    assert server.connections == 1


def test_nothing_is_remembered_without_a_store() -> None:
    """What is open is empty: the second call about the same bytes asks its judge again, as if there
    had been no first.
    """
    first, second = ScriptedJudge(False, id="friend"), ScriptedJudge(False, id="friend")
    for judge in (first, second):
        assert not honestone.evaluate("word", JUDGED, judges=[judge]).passed
    assert (first.calls, second.calls) == (1, 1)


def test_a_store_that_was_removed_is_made_again(tmp_path: Path) -> None:
    """Between two calls somebody removes the folder, or puts a copy of another store there: what is
    kept is in the folder named, and a copy is nobody's answer.
    """
    here, other = tmp_path / "here", tmp_path / "other"
    judges = [ScriptedJudge(False, id="friend") for _ in range(5)]
    honestone.evaluate("word", JUDGED, judges=judges[0], store=here)
    shutil.rmtree(here)
    honestone.evaluate("word", JUDGED, judges=judges[1], store=here)
    honestone.evaluate("word", JUDGED, judges=judges[2], store=here)
    honestone.evaluate("word", JUDGED, judges=judges[3], store=other)
    close_all()
    shutil.rmtree(here)
    shutil.copytree(other, here)
    honestone.evaluate("word", JUDGED, judges=judges[4], store=here)
    assert [judge.calls for judge in judges] == [1, 1, 0, 1, 1]


@pytest.mark.slow
def test_another_program_sees_at_once_what_was_kept(tmp_path: Path) -> None:
    """A store that is still open here can be read and written by a command meanwhile."""
    (tmp_path / "a.md").write_text("hello\n")
    (tmp_path / "r.yaml").write_text(
        "rubric: 1\ncriteria: [{id: hello, check: {contains: hello}}]\n"
    )

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        argv = [sys.executable, "-m", "honestone", *command]
        env = {**os.environ, "HONESTONE_HOME": str(tmp_path / "store")}
        return subprocess.run(
            argv, capture_output=True, text=True, cwd=tmp_path, env=env, check=False
        )

    for number in range(2):
        found = honestone.evaluate("hello", CHECKED, store=tmp_path / "store")
        assert found.run is not None and found.run in run("runs", "--json").stdout
        assert run("eval", "a.md", "--rubric", "r.yaml").returncode == 0
        assert run("runs", "--json").stdout.count('"id"') == 2 * number + 2


TEXTS = st.lists(st.sampled_from(["hello", "good bye", "", "hello, hello"]), min_size=1, max_size=4)
BARS = st.sampled_from([None, 0, 50, 100])


@pytest.mark.slow
@given(
    calls=st.lists(
        st.tuples(st.sampled_from([CHECKED, GREETS]), TEXTS, BARS), min_size=1, max_size=4
    )
)
def test_what_follows_from_a_rubric_is_kept_and_no_result_shows_it(calls: list[Any]) -> None:
    """Whatever was judged before, and by which rubric and bars, a document is that of a first call."""
    for rubric, texts, bar in calls:
        for text in texts:
            kept = honestone.evaluate(text, rubric, threshold=bar).document
            many = honestone.evaluate_many([text], rubric, threshold=bar)[0].document
            close_all()
            first = honestone.evaluate(text, rubric, threshold=bar).document
            assert kept == many == first


def test_the_same_rubric_is_planned_once() -> None:
    """Until another is used. One whose checks look at files is planned each time: those may have
    changed.
    """
    honestone.evaluate("hello", CHECKED)
    plan = idle()[0].plan
    assert plan is not None
    honestone.evaluate("good bye", CHECKED)
    assert idle()[0].plan is plan
    honestone.evaluate("good bye", GREETS)
    assert idle()[0].plan is not plan
    honestone.evaluate(
        "{}", honestone.parse_rubric("rubric: 1\ncriteria: [{id: data, check: {is-json: true}}]")
    )
    assert idle()[0].plan is None


def test_settings_that_change_between_calls_hold(tmp_path: Path) -> None:
    settings = tmp_path / "honestone.toml"
    settings.write_text("[limits]\nmax_size = 1\n")
    text = tmp_path / "text.md"
    text.write_text("hello " * 20_000)
    assert honestone.evaluate(Path("text.md"), CHECKED, folder=tmp_path).passed
    settings.write_text("[limits]\nmax_size = 0.01\n")
    with pytest.raises(UsageError, match="more than the limit"):
        honestone.evaluate(Path("text.md"), CHECKED, folder=tmp_path)


def test_calls_from_many_threads_have_one_each() -> None:
    """Forty texts at the same time are each scored as they would be alone; no more is kept than may
    be.
    """
    texts = ["hello" if number % 3 else "bye" for number in range(40)]
    with ThreadPoolExecutor(20) as pool:
        found = list(pool.map(lambda text: honestone.evaluate(text, CHECKED).passed, texts))
    assert found == [text == "hello" for text in texts]
    assert 1 <= len(idle()) <= MOST


def test_a_judge_may_itself_evaluate() -> None:
    """A function that judges calls `evaluate` while it is being called by it."""

    def judge(request: object) -> bool:
        return honestone.evaluate("hello", CHECKED).passed

    assert honestone.evaluate("a text", JUDGED, judges=judge).passed


def test_an_interrupted_call_leaves_nothing_behind() -> None:
    """Ctrl-C ends one call; what it had open is closed, and the next call is as good as any."""

    def judge(request: object) -> bool:
        signal.raise_signal(signal.SIGINT)
        threading.Event().wait(5)
        return True

    honestone.evaluate("hello", CHECKED)
    with pytest.raises(Interrupted):
        honestone.evaluate("a text", JUDGED, judges=judge, judge_timeout=60)
    assert not idle()
    assert honestone.evaluate("hello", CHECKED).passed


def test_a_programs_own_signal_handlers_stay() -> None:
    """Whoever handles SIGTERM or SIGINT still does after a call; so does whoever has an event loop."""
    heard: list[int] = []
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    mine = asyncio.new_event_loop()
    asyncio.set_event_loop(mine)
    try:
        signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
        assert honestone.evaluate("hello", CHECKED).passed
        signal.raise_signal(signal.SIGTERM)
        assert asyncio.get_event_loop_policy().get_event_loop() is mine
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        asyncio.set_event_loop(None)
        mine.close()
    assert heard == [signal.SIGTERM]


FORKS = """
import os, sys, honestone
rubric = honestone.parse_rubric("rubric: 1\\nfloor: 0\\ncriteria: [{id: hello, check: {contains: hello}}]")
def look():
    return honestone.evaluate("hello", rubric, store="kept").passed and honestone.evaluate("hello", rubric).passed
assert look()
child = os.fork()
if child == 0:
    os._exit(0 if look() else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert look()
"""


@pytest.mark.slow
def test_a_forked_child_has_its_own_and_the_end_is_silent(tmp_path: Path) -> None:
    """Parent and child each go on after a fork; at the end all is closed, so that Python warns of
    nothing.
    """
    command = [sys.executable, "-X", "dev", "-W", "error::ResourceWarning", "-c", FORKS]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
