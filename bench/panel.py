"""What an evaluation by LLM judges costs, beside the least that the same calls can cost: `make bench-panel`.

Whole commands as a person runs them, from their start to the written report, once as a suite of recorded outputs
(`eval suite.json --json`) and once as files (`eval FILES... --rubric --json`). Each figure stands beside its goal.

    cost         CPU of whole commands; work: what each case adds once the start is paid for
    wall         seconds at 50 ms a reply, and how many calls were in the air
    concurrency  CPU of a call with 64 in the air against 8
    start        CPU up to the first answered call
    memory       peak, and growth over ten times as many cases
    faults       a tenth of the replies are 429, 500, garbage or fenced; the judge says yes to all, then no to all
    kill         SIGKILL half-way, the same command again: what was on record and what was asked again
    cached       the same command again: no call, and what a case costs then
    tokens       bytes / 4 of a whole request against the bare prompt's

A judge server of our own answers on 127.0.0.1 in a process, and on a core, of its own. It reads prompts as a model would:
it echoes the token, says no to the control item, and fills in the rest. The floor is a bare aiohttp loop with a short prompt
of its own; `floor+store` also validates each reply and commits it to SQLite. Ratios are taken inside a round; the figures
depend on the machine, the ratios much less. No real model is called, so nothing here is about accuracy.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

WORDS = (
    *("harbour", "lantern", "orchard", "pebble", "quarry", "ribbon", "saddle", "thicket"),
    *("velvet", "willow", "anchor", "barley", "cinder", "drapery", "ember"),
)
CRITERIA = (
    ("cause", 3, "Names what went wrong and points to the words of the report that show it."),
    ("remedy", 2, "Proposes a remedy that a reader can carry out without asking back."),
    ("limits", 1, "Says what the remedy does not reach."),
    ("plain", 1, "Is written in plain sentences without padding."),
    ("honest", 2, "Invents no names, numbers or places that the report does not give."),
)
MODEL = "stand-in"


class Goal(NamedTuple):
    """What a form may cost: times floor+store, times the floor, seconds, megabytes, milliseconds."""

    work: float
    whole: float
    wall: float
    start: float
    peak: int
    growth: int
    cached: float


GOALS = {
    "suite": Goal(work=2.7, whole=2.2, wall=1.20, start=0.40, peak=65, growth=25, cached=0.30),
    "files": Goal(work=2.0, whole=2.0, wall=1.10, start=0.35, peak=50, growth=20, cached=0.10),
}
FORMS = tuple(GOALS)
HERE = str(Path(__file__).resolve())
CALM = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are kept, as after an installation; a checkout that was just edited is compiled by the first run."""


def text_of(number: int) -> str:
    """A report and an answer to it, about 1.4 kB, the same for the same number."""
    draw = random.Random(number)
    report, answer = (" ".join(draw.choices(WORDS, k=k)) for k in (70, 110))
    return f"Report {number}: the night train stopped. {report}.\n\nAnswer: {answer}. Do so and run it again.\n"


# ---------------------------------------------------------------------------------------------------------- the judge

_TOKEN = re.compile(r'\{"token": "(\w+)"')
_ITEM = re.compile(r"^\[(\d+)\] (.*)$", re.M)
_CONTROL = re.compile(r"The text contains the word (\w+)$")


class JudgeServer:
    """Answers chat completions by rule and counts what it did. Faults depend on the prompt and the attempt alone."""

    def __init__(self) -> None:
        self.reset({})

    def reset(self, settings: dict[str, str]) -> None:
        self.latency = float(settings.get("latency", 0)) / 1000
        self.faults = float(settings.get("faults", 0))
        self.says = settings.get("says", "yes") == "yes"
        self.calls = self.in_air = self.most_in_air = self.bytes_in = 0
        self.attempts: Counter[bytes] = Counter()
        self.delivered: Counter[bytes] = Counter()
        self.first_cpu: float | None = None

    def stats(self) -> dict[str, Any]:
        return {
            "calls": self.calls,
            "most_in_air": self.most_in_air,
            "bytes_in": self.bytes_in,
            "in_air": self.in_air,
            "delivered": sum(self.delivered.values()),
            "repeated": sum(n - 1 for n in self.delivered.values()),
        }

    def answer(self, body: bytes) -> tuple[int, bytes, bytes, bytes | None]:
        """(status, more headers, body, the prompt's digest when a good answer is in it)."""
        import msgspec

        self.calls += 1
        self.bytes_in += len(body)
        prompt = "\n".join(message["content"] for message in msgspec.json.decode(body)["messages"])
        key = hashlib.blake2b(prompt.encode(), digest_size=12).digest()
        self.attempts[key] += 1
        dice = hashlib.blake2b(key + bytes([self.attempts[key] % 256]), digest_size=8).digest()
        share = int.from_bytes(dice) / 2**64
        fault = int(4 * share / self.faults) if share < self.faults else None
        if fault == 0:
            return 429, b"retry-after: 1\r\n", b'{"error": {"message": "slow down"}}', None
        if fault == 1:
            return 500, b"", b'{"error": {"message": "something broke"}}', None
        said = self._filled_in(prompt)
        if fault == 2:
            said, key = ("I cannot say." if dice[0] & 1 else said[: len(said) // 2]), b""
        if fault == 3:
            said = f"Here is what I found:\n\n```json\n{said}\n```\nI hope this helps."
        choice = {"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
        usage = {"prompt_tokens": len(body) // 4, "completion_tokens": len(said) // 4}
        reply = {"id": "r", "object": "chat.completion", "model": MODEL, "choices": [choice], "usage": usage}
        return 200, b"", msgspec.json.encode(reply), key or None

    def _filled_in(self, prompt: str) -> str:
        start = prompt.rfind('{"token": "')
        if start < 0:
            return json.dumps({"marks": [{"id": name, "met": self.says, "why": "It does."} for name, *_ in CRITERIA]})
        token = _TOKEN.match(prompt, start)
        assert token is not None
        answers = {}
        for number, words in _ITEM.findall(prompt, prompt.rfind("\nRequirements:")):
            met = self.says and not _CONTROL.match(words)
            answers[number] = {"evidence": "Do so and run it again.", "answer": met, "suggestion": "" if met else "Do."}
        return json.dumps({"token": token[1], "answers": answers})


class _Connection(asyncio.Protocol):
    """Just enough HTTP/1.1 that the server costs less than any client."""

    def __init__(self, server: JudgeServer) -> None:
        self.server = server
        self.buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        while (end := self.buffer.find(b"\r\n\r\n")) >= 0:
            head = self.buffer[:end].lower()
            length = re.search(rb"content-length: *(\d+)", head)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self.buffer) < whole:
                return
            body, target = self.buffer[end + 4 : whole], self.buffer.split(b" ", 2)[1].decode()
            self.buffer = self.buffer[whole:]
            self.handle(target, body)

    def handle(self, target: str, body: bytes) -> None:
        server, url = self.server, urlsplit(target)
        if url.path == "/reset":
            server.reset(dict(parse_qsl(url.query)))
            self.send(200, b"", b"{}")
            return
        if url.path == "/stats":
            self.send(200, b"", json.dumps(server.stats()).encode())
            return
        server.in_air += 1
        server.most_in_air = max(server.most_in_air, server.in_air)
        answer = server.answer(body)
        if server.latency:
            asyncio.get_running_loop().call_later(server.latency, self.deliver, *answer)
        else:
            self.deliver(*answer)

    def deliver(self, status: int, headers: bytes, body: bytes, key: bytes | None) -> None:
        self.server.in_air -= 1
        if key and not self.transport.is_closing():
            self.server.delivered[key] += 1
        self.send(status, headers, body)

    def send(self, status: int, headers: bytes, body: bytes) -> None:
        if not self.transport.is_closing():
            head = b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\n%scontent-length: %d\r\n\r\n"
            self.transport.write(head % (status, headers, len(body)) + body)


async def serve(port_file: Path) -> None:
    server = JudgeServer()
    listening = await asyncio.get_running_loop().create_server(lambda: _Connection(server), "127.0.0.1", 0)
    port_file.with_suffix(".new").write_text(str(listening.sockets[0].getsockname()[1]))
    port_file.with_suffix(".new").rename(port_file)
    async with asyncio.timeout(3600):  # Ends by itself, whatever becomes of the bench.
        await asyncio.Event().wait()


# ---------------------------------------------------------------------------------------------------------- the floor


async def floor(url: str, folder: Path, in_air: int, store: Path | None) -> None:
    """The same calls by hand: read the file, post, read the reply; with a store also look up, validate and commit."""
    import aiohttp
    import msgspec

    mark: Any = msgspec.defstruct("Mark", [("id", str), ("met", bool), ("why", str)])
    read = msgspec.json.Decoder(dict[str, list[mark]]).decode
    db = None
    if store is not None:
        db = sqlite3.connect(store, isolation_level=None)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute("create table if not exists replies (key blob primary key, said text) without rowid")
    asked = 'Judge the answer by each of these. Reply with JSON {"marks": [{"id", "met", "why"}]} and nothing else.\n'
    asked += "\n".join(f"{name} (weight {weight}): {words}" for name, weight, words in CRITERIA)
    rows: list[float] = []
    paths = iter(sorted(folder.iterdir()))

    async def work(session: aiohttp.ClientSession) -> None:
        for path in paths:
            messages = [{"role": "system", "content": asked}, {"role": "user", "content": path.read_text()}]
            body = msgspec.json.encode({"model": MODEL, "messages": messages})
            key = hashlib.sha256(body).digest()
            found = db.execute("select said from replies where key = ?", (key,)).fetchone() if db else None
            if found is None:
                async with session.post(url + "/chat/completions", data=body) as response:
                    said = msgspec.json.decode(await response.read())["choices"][0]["message"]["content"]
                marks = read(said)["marks"]
                if db:
                    db.execute("insert into replies values (?, ?)", (key, said))
            else:
                marks = read(found[0])["marks"]
            rows.append(sum(mark.met for mark in marks) / len(CRITERIA))

    connector = aiohttp.TCPConnector(limit=in_air)
    headers = {"content-type": "application/json"}
    async with aiohttp.ClientSession(connector=connector, headers=headers) as session:
        await asyncio.gather(*(work(session) for _ in range(in_air)))
    print(json.dumps(rows))


# ------------------------------------------------------------------------------------------------------- the measuring


@dataclass(frozen=True, slots=True)
class Took:
    """A finished command: CPU and wall seconds, peak memory, what it printed, what the server saw."""

    cpu: float
    wall: float
    megabytes: float
    out: Path
    calls: int
    most_in_air: int
    bytes_in: int


class Evaluator:
    def __init__(self, home: Path, root: str) -> None:
        self.home = home
        self.root = root
        self._made = 0

    def server(self, what: str, **settings: object) -> dict[str, Any]:
        query = "&".join(f"{name}={value}" for name, value in settings.items())
        with urllib.request.urlopen(f"{self.root}/{what}?{query}", timeout=20) as response:
            found: dict[str, Any] = json.loads(response.read())
            return found

    def folder(self, count: int, in_air: int = 32) -> Path:
        """A fresh working folder with so many cases, the rubric and the settings."""
        self._made += 1
        folder = self.home / f"work-{self._made}"
        (folder / "cases").mkdir(parents=True)
        for number in range(count):
            (folder / "cases" / f"{number:05}.txt").write_text(text_of(number))
        rubric = ["rubric: 1", "title: An answer to a report", "threshold: 100", "floor: 0", "criteria:"]
        for name, weight, words in CRITERIA:
            rubric += [f"  - id: {name}", f"    requirement: {words}", f"    weight: {weight}"]
        (folder / "rubric.yaml").write_text("\n".join(rubric) + "\n")
        judge = f'provider = "openai"\nbase_url = "{self.root}/v1"\nmodel = "{MODEL}"\napi_key_env = ""\nconcurrency = {in_air}'
        suite = {
            "suite": 1,
            "target": "record:outputs.jsonl",
            "rubric": {"file": "rubric.yaml"},
            "cases": [{"id": f"case-{number:05}", "input": f"Report {number}"} for number in range(count)],
        }
        (folder / "suite.json").write_text(json.dumps(suite))
        with open(folder / "outputs.jsonl", "w", encoding="utf-8") as outputs:
            for number in range(count):
                outputs.write(json.dumps({"id": f"case-{number:05}", "output": text_of(number)}) + "\n")
        (folder / "honestone.toml").write_text(
            f"[judges.stand-in]\n{judge}\n\n[limits]\nconcurrency = {max(in_air, 32)}\n"
        )
        return folder

    def ours(self, folder: Path, form: str) -> list[str]:
        files = [f"cases/{path.name}" for path in sorted((folder / "cases").iterdir())]
        what = ["suite.json"] if form == "suite" else [*files, "--rubric", "rubric.yaml"]
        return [str(Path(sys.executable).with_name("honestone")), "eval", *what, "--judge", "stand-in", "--json", "-q"]

    def floor(self, folder: Path, in_air: int = 32, *, store: bool = False) -> list[str]:
        command = [sys.executable, __file__, "--be", "floor", "--url", f"{self.root}/v1", "--folder", str(folder)]
        return [*command, "--in-air", str(in_air), *(["--store"] if store else [])]

    def run(self, command: list[str], folder: Path, **settings: object) -> Took:
        self.server("reset", **settings)
        out = folder / "out.json"
        started = time.perf_counter()
        process = start(command, folder, out)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if process.returncode not in ((0, 1, 3) if "eval" in command else (0,)):
            raise SystemExit(f"{command[:5]} ended with {process.returncode}: {(folder / 'err').read_text()[-2000:]}")
        seen = self.server("stats")
        cpu = used.ru_utime + used.ru_stime
        return Took(cpu, wall, used.ru_maxrss / 1024, out, seen["calls"], seen["most_in_air"], seen["bytes_in"])

    def once(self, peer: str, count: int, in_air: int = 32, **settings: object) -> Took:
        """A peer's command over so many fresh cases."""
        folder = self.folder(count, in_air)
        is_ours = peer in FORMS
        command = self.ours(folder, peer) if is_ours else self.floor(folder, in_air, store=peer.endswith("store"))
        took = self.run(command, folder, **settings)
        if is_ours and not settings.get("faults"):
            assert scores(took) == [100] * count, "a case was not scored as it should"
        shutil.rmtree(folder / "cases")
        return took


def start(command: list[str], folder: Path, out: Path) -> subprocess.Popen[bytes]:
    with open(out, "wb") as stdout, open(folder / "err", "wb") as stderr:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            preexec_fn=lambda: pin(-1),
            env={**os.environ, **CALM, "HONESTONE_HOME": str(folder / ".honestone")},
        )


def pin(which: int) -> None:
    """The server on the first core, what is measured on the last, where there are two."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[which]})


def scores(took: Took) -> list[float | None]:
    """What each case came to, in points, from the report."""
    found = json.loads(took.out.read_text())
    if isinstance(found, dict) and "cases" in found:
        return [case["score"] for case in found["cases"]]
    return [document["score"] for document in (found if isinstance(found, list) else [found])]


@contextmanager
def judge_server(home: Path) -> Iterator[str]:
    port_file = home / "port"
    command = [sys.executable, HERE, "--be", "server", "--folder", str(port_file)]
    process = subprocess.Popen(command, preexec_fn=lambda: pin(0))
    try:
        until = time.monotonic() + 30
        while not port_file.exists():
            if time.monotonic() > until or process.poll() is not None:
                raise SystemExit("the judge server did not start")
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port_file.read_text()}"
    finally:
        process.terminate()
        process.wait()


# -------------------------------------------------------------------------------------------------------- the questions


def show(name: str, value: str, goal: str, *, good: bool) -> None:
    print(f"{name:<48}{value:>24}   {goal:<28}{'' if good else 'not met'}".rstrip(), flush=True)


def median(bench: Evaluator, rounds: int, measure: Callable[[], dict[str, float]]) -> dict[str, float]:
    """The median of each figure over rounds; whatever is compared was measured in the same round."""
    found = [measure() for _ in range(rounds)]
    return {name: statistics.median(one[name] for one in found) for name in found[0]}


def cost(bench: Evaluator, count: int, rounds: int) -> None:
    def measure() -> dict[str, float]:
        found: dict[str, float] = {}
        for peer in ("floor", "floor+store", *FORMS):
            few, some, many = (bench.once(peer, n) for n in (10, count, 10 * count))
            found |= {f"{peer} few": few.cpu, f"{peer} some": some.cpu, f"{peer} peak": some.megabytes}
            found[f"{peer} work"] = (many.cpu - few.cpu) / (10 * count - 10) * 1000
            found[f"{peer} growth"] = (many.megabytes - some.megabytes) / (9 * count) * 10_000
            found[f"{peer} tokens"] = some.bytes_in / 4 / some.calls
        for form in FORMS:
            found[f"{form} whole ratio"] = found[f"{form} some"] / found["floor some"]
            found[f"{form} work ratio"] = found[f"{form} work"] / found["floor+store work"]
        return found

    got = median(bench, rounds, measure)
    floors = f"{got['floor work']:.3f}, {got['floor+store work']:.3f} ms"
    show("P1 work CPU a case: floor, floor+store", floors, "", good=True)
    for form in FORMS:
        goal = GOALS[form]
        work, ratio = got[f"{form} work"], got[f"{form} work ratio"]
        value = f"{work:.3f} ms, {ratio:.2f}x"
        show(f"P1 work CPU a case: {form}", value, f"{goal.work}x floor+store", good=ratio <= goal.work)
        whole = got[f"{form} whole ratio"]
        value = f"{got[f'{form} some']:.2f} s, {whole:.2f}x"
        show(f"P2 whole process, {count} cases: {form}", value, f"{goal.whole}x floor", good=whole <= goal.whole)
        few, peak, growth = (got[f"{form} {name}"] for name in ("few", "peak", "growth"))
        show(f"P6 start, first 10 calls and end: {form}", f"{few:.2f} s CPU", f"{goal.start} s", good=few <= goal.start)
        show(f"P8 peak memory: {form}", f"{peak:.0f} MB", f"{goal.peak} MB", good=peak <= goal.peak)
        grown = f"{goal.growth} MB"
        show(f"P8 growth over 10,000 cases: {form}", f"{growth:.0f} MB", grown, good=growth <= goal.growth)
    tokens = got["files tokens"] / got["floor tokens"]
    value = f"{got['files tokens']:.0f}, {tokens:.2f}x"
    show("P12 request with its schema, bytes / 4", value, "1.5x the bare prompt", good=tokens <= 1.5)


def wall(bench: Evaluator, count: int, rounds: int) -> None:
    def measure() -> dict[str, float]:
        least = bench.once("floor", count, latency=50)
        found: dict[str, float] = {}
        for form in FORMS:
            ours = bench.once(form, count, latency=50)
            found |= {f"{form} ratio": ours.wall / least.wall, f"{form} wall": ours.wall}
            found[f"{form} in air"] = ours.most_in_air
        return found

    got = median(bench, rounds, measure)
    for form in FORMS:
        ratio, in_air, goal = got[f"{form} ratio"], got[f"{form} in air"], GOALS[form].wall
        value = f"{got[f'{form} wall']:.2f} s, {ratio:.2f}x"
        show(f"P3 wall at 50 ms a reply, 32 in the air: {form}", value, f"{goal}x floor", good=ratio <= goal)
        show(f"  calls in the air: {form}", f"{in_air:.0f}", "32", good=in_air >= 32)


def concurrency(bench: Evaluator, count: int, rounds: int) -> None:
    def measure() -> dict[str, float]:
        few, many = (
            (bench.once("files", 2 * count, n, latency=5).cpu - bench.once("files", 10, n, latency=5).cpu)
            for n in (8, 64)
        )
        return {"ratio": many / few}

    ratio = median(bench, rounds, measure)["ratio"]
    show("P4 CPU of a call, 64 in the air against 8", f"{ratio:.2f}x", "1.2x", good=ratio <= 1.2)


def faults(bench: Evaluator, count: int) -> None:
    for form in FORMS:
        for says, right in (("yes", 100), ("no", 0)):
            took = bench.once(form, count, faults=0.1, says=says)
            found = Counter(scores(took))
            wrong = sum(n for score, n in found.items() if score not in (None, right))
            told, missing, calls = found[None], count - sum(found.values()), took.calls / count
            value = f"{wrong} wrong {missing} missing {told} open"
            good = not wrong and not missing and not told
            show(f"P9 10% faults, judge says {says}: {form}", value, "0, 0, 0", good=good)
            show("  calls a case", f"{calls:.2f}", "1.10", good=calls <= 1.1)


def kill(bench: Evaluator, count: int) -> None:
    for form in FORMS:
        folder = bench.folder(count)
        bench.server("reset", latency=100)
        process = start(bench.ours(folder, form), folder, folder / "out.json")
        until = time.monotonic() + 60
        while bench.server("stats")["delivered"] < count // 2 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        in_air = bench.server("stats")["in_air"]
        with sqlite3.connect(folder / ".honestone" / "store.db") as db:
            on_record = db.execute("select count(*) from replies").fetchone()[0]
        again = bench.run(bench.ours(folder, form), folder, latency=0)
        rows = len(scores(again))
        repeated = again.calls - (count - on_record)
        value = f"{repeated} ({on_record} kept, {again.calls} asked)"
        show(f"P10 killed half-way, on record asked again: {form}", value, "0", good=repeated == 0)
        show(
            "  in the air when killed; rows at the end", f"{in_air}; {rows} of {count}", "all rows", good=rows == count
        )


def cached(bench: Evaluator, count: int) -> None:
    for form in FORMS:
        folder, small = bench.folder(count), bench.folder(10)
        for one in (folder, small):
            bench.run(bench.ours(one, form), one)
        again, start_only = (bench.run(bench.ours(one, form), one) for one in (folder, small))
        each, goal = (again.cpu - start_only.cpu) / (count - 10) * 1000, GOALS[form].cached
        show(f"P11 {count} cases on record, calls: {form}", f"{again.calls}", "0", good=again.calls == 0)
        show("  CPU a case", f"{each:.3f} ms", f"{goal} ms", good=each <= goal)


QUESTIONS = ("cost", "wall", "concurrency", "faults", "kill", "cached")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=500, help="cases of a run; some questions take ten times as many")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--be", choices=("server", "floor"), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-air", type=int, default=32, help=argparse.SUPPRESS)
    parser.add_argument("--store", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be == "server":
        asyncio.run(serve(options.folder))
    elif options.be == "floor":
        store = options.folder / "floor.db" if options.store else None
        asyncio.run(floor(options.url, options.folder / "cases", options.in_air, store))
    else:
        ask(options.only, options.count, options.rounds)


def ask(only: list[str], count: int, rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="honestone-bench-") as place, judge_server(Path(place)) as root:
        bench = Evaluator(Path(place), root)
        for peer in ("floor", *FORMS):  # warm up
            bench.once(peer, 10)
        if "cost" in only:
            cost(bench, count, rounds)
        if "wall" in only:
            wall(bench, count, rounds)
        if "concurrency" in only:
            concurrency(bench, count, rounds)
        if "faults" in only:
            faults(bench, count)
        if "kill" in only:
            kill(bench, count)
        if "cached" in only:
            cached(bench, 20 * count)


if __name__ == "__main__":
    main()
