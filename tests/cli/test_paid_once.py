"""Several commands at once on one folder, and commands that are killed: what is paid for, as the
judges themselves count it.
"""

from __future__ import annotations

import json
import signal
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from .batches import answer_to
from .desk import Desk, until

pytestmark = pytest.mark.slow

SLOW = """
time.sleep(1)
print(json.dumps(reply()))
"""


def test_equal_commands_that_start_together_pay_once(ready: Desk) -> None:
    """Five times the same `eval`: the judge is asked once, and all five say the same."""
    judge = ready.judge("slow", SLOW)
    started = [
        ready.start("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec, "--json", "-q")
        for _ in range(5)
    ]
    said = [one.communicate(timeout=120) for one in started]
    assert [one.returncode for one in started] == [1] * 5, said
    assert judge.calls == 1


def test_a_killed_command_gives_its_claim_back(ready: Desk) -> None:
    """The next one asks, without waiting for anything."""
    judge = ready.judge(
        "slow",
        "time.sleep(60 if len(open(LOG).readlines()) == 1 else 0)\nprint(json.dumps(reply()))",
    )
    first = ready.start("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec)
    until(lambda: judge.calls == 1)
    first.send_signal(signal.SIGKILL)
    first.communicate(timeout=60)
    assert ready.run("eval", "note.md", "-r", "rubric.yaml", "-j", judge.spec, timeout=60).code == 1
    assert judge.calls == 2


def test_three_kills_do_not_pass_the_cap(ready: Desk) -> None:
    """--max-calls 4 is the limit of the run, whatever its killed commands had on record."""
    cases = "".join(
        f"  - {{id: c{n}, input: 'number {n} apple', rubric: [It names the apple]}}\n"
        for n in range(8)
    )
    ready.file("suite.yaml", f"suite: 1\ntitle: Eight\ncases:\n{cases}")
    judge = ready.judge("slow", SLOW)
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
    for _ in range(3):
        before = judge.calls
        process = ready.start(*command)
        until(
            lambda before=before, process=process: (
                judge.calls > before or process.poll() is not None
            )
        )
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
    last = ready.run(*command, timeout=120)
    assert last.code == 3, last.err
    assert 3 <= judge.calls <= 4


class Provider(ThreadingHTTPServer):
    """A model's API on this machine: when it was asked, and how many calls were under way at most."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answering)
        self.times: list[float] = []
        self.under_way = self.most = 0
        self.lock = threading.Lock()


class _Answering(BaseHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        assert isinstance(self.server, Provider)
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.server.lock:
            self.server.times.append(time.time())
            self.server.under_way += 1
            self.server.most = max(self.server.most, self.server.under_way)
        time.sleep(0.2)
        with self.server.lock:
            self.server.under_way -= 1
        message = {"role": "assistant", "content": answer_to(asked["messages"][-1]["content"])}
        answer = {
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 100},
        }
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _two_commands(ready: Desk, rates: str) -> Provider:
    """Two suites of six cases each, run at the same time with one judge under these rates."""
    provider = Provider()
    threading.Thread(target=provider.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{provider.server_port}/v1"
    table = f'provider = "compatible"\nmodel = "m"\nbase_url = "{url}"\napi_key_env = "DESK_KEY"\n{rates}'
    ready.file("honestone.toml", f"[judges.desk]\n{table}")
    for name in ("one", "two"):
        cases = "".join(
            f"  - {{id: c{n}, input: '{name} {n} apple', rubric: [It names the apple]}}\n"
            for n in range(6)
        )
        ready.file(f"{name}.yaml", f"suite: 1\ntitle: {name}\ncases:\n{cases}")
    command = ("-t", "cmd:cat", "-j", "desk", "-q")
    try:
        started = [
            ready.start("eval", f"{name}.yaml", *command, env={"DESK_KEY": "k"})
            for name in ("one", "two")
        ]
        said = [one.communicate(timeout=120) for one in started]
    finally:
        provider.shutdown()
        provider.server_close()
    assert [one.returncode for one in started] == [0, 0], said
    assert len(provider.times) == 12
    return provider


def test_a_rate_holds_over_commands(ready: Desk) -> None:
    """240 a minute: twelve calls of two commands take eleven quarters of a second, but for the
    second's worth at the start.
    """
    begun = time.time()
    assert max(_two_commands(ready, "requests_per_minute = 240\n").times) - begun >= 11 * 0.25 - 1


def test_calls_under_way_hold_over_commands(ready: Desk) -> None:
    """Two at once for both commands together."""
    assert _two_commands(ready, "concurrency = 2\n").most <= 2


@pytest.mark.parametrize("key", ["requests_per_minute", "tokens_per_minute", "concurrency"])
def test_a_rate_of_nothing_is_refused(ready: Desk, key: str) -> None:
    """With the line."""
    ready.file("honestone.toml", f'[judges.desk]\nprovider = "openai"\nmodel = "m"\n{key} = 0\n')
    said = ready.run("eval", "note.md", "-r", "rubric.yaml", "-j", "desk")
    assert said.code == 2 and "honestone.toml:4" in said.err and key in said.err
