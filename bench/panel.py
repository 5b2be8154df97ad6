"""What an evaluation by LLM judges costs, beside the least that the same calls can cost: `make
bench-panel`.

Whole commands as a person runs them, from their start to the written report, once as a suite of
recorded outputs (`eval suite.json --json`) and once as files (`eval FILES... --rubric --json`).
Each figure stands beside its goal.

    cost         CPU of whole commands; work: what each case adds once the start is paid for
    wall         seconds at 50 ms a reply, and how many calls were in the air
    concurrency  CPU of a call with 64 in the air against 8
    start        CPU up to the first answered call
    memory       peak, and growth over ten times as many cases
    faults       a tenth of the replies are 429, 500, garbage or fenced; the judge says yes to all, then no to all
    kill         SIGKILL half-way, the same command again: what was on record and what was asked again
    cached       the same command again: no call, and what a case costs then
    tokens       bytes / 4 of a whole request against the bare prompt's

A judge server of our own answers on 127.0.0.1 in a process, and on a core, of its own. It reads
prompts as a model would: it echoes the token, says no to the control item, and fills in the rest.
The floor is a bare aiohttp loop with a short prompt of its own; `floor+store` also validates each
reply and commits it to SQLite. Ratios are taken inside a round; the figures depend on the machine,
the ratios much less. No real model is called, so nothing here is about accuracy.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from judge_server import judge_server, pin
from rows import Over, over, show
from work import CRITERIA, MODEL, text_of


class Goal(NamedTuple):
    """What a form may cost: `work` and `cached` times floor+store, `whole`, `wall` and `start` times
    the floor, `peer` times the best of the other tools, `peak` and `growth` in megabytes.
    """

    work: float
    peer: float
    whole: float
    wall: float
    start: float
    peak: int
    growth: int
    cached: float


GOALS = {
    "suite": Goal(
        work=3.6, peer=0.42, whole=2.0, wall=1.12, start=1.12, peak=50, growth=25, cached=2.8
    ),
    "files": Goal(
        work=2.3, peer=0.28, whole=1.5, wall=1.08, start=1.02, peak=46, growth=15, cached=1.4
    ),
}
FORMS = tuple(GOALS)
HERE = str(Path(__file__).resolve())
CALM = {"NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": ""}
"""Compiled modules are kept, as after an installation; a checkout that was just edited is compiled
by the first run.
"""


# ----------------------------------------------------------------------------------------------------------
# the floor


async def floor(url: str, folder: Path, in_air: int, store: Path | None) -> None:
    """The same calls by hand: read the file, post, read the reply; with a store also look up,
    validate and commit.
    """
    import aiohttp
    import msgspec

    mark: Any = msgspec.defstruct("Mark", [("id", str), ("met", bool), ("why", str)])
    read = msgspec.json.Decoder(dict[str, list[mark]]).decode
    db = None
    if store is not None:
        db = sqlite3.connect(store, isolation_level=None)
        db.execute("pragma journal_mode = wal")
        db.execute("pragma synchronous = normal")
        db.execute(
            "create table if not exists replies (key blob primary key, said text) without rowid"
        )
    asked = 'Judge the answer by each of these. Reply with JSON {"marks": [{"id", "met", "why"}]} and nothing else.\n'
    asked += "\n".join(f"{name} (weight {weight}): {words}" for name, weight, words in CRITERIA)
    rows: list[float] = []
    paths = iter(sorted(folder.iterdir()))

    async def work(session: aiohttp.ClientSession) -> None:
        for path in paths:
            messages = [
                {"role": "system", "content": asked},
                {"role": "user", "content": path.read_text()},
            ]
            body = msgspec.json.encode({"model": MODEL, "messages": messages})
            key = hashlib.sha256(body).digest()
            found = (
                db.execute("select said from replies where key = ?", (key,)).fetchone()
                if db
                else None
            )
            if found is None:
                async with session.post(url + "/chat/completions", data=body) as response:
                    said = msgspec.json.decode(await response.read())["choices"][0]["message"][
                        "content"
                    ]
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


# -------------------------------------------------------------------------------------------------------
# the measuring


class Took(NamedTuple):
    """A finished command: CPU and wall seconds, peak memory, what it printed, what the server saw."""

    cpu: float
    wall: float
    megabytes: float
    out: Path
    calls: int
    most_in_air: int
    bytes_in: int
    found: Sequence[float | None] = ()
    """The scores from 0 to 1, where they were asked for."""


class Peer(NamedTuple):
    """Another tool that judges the texts of `FOLDER/cases`: functions of the folder, the API's
    address, calls at a time.
    """

    prepare: Callable[[Path, str, int], None]
    """Writes the files that it reads, before the clock starts."""
    command: Callable[[Path, str, int], list[str]]
    scores: Callable[[Path], list[float | None]]
    """From 0 to 1, one for each text that it has a result for; None where it reported an error."""
    env: dict[str, str]


class Evaluator:
    def __init__(self, home: Path, root: str, peers: dict[str, Peer] | None = None) -> None:
        self.home = home
        self.root = root
        self.peers = peers or {}
        self.got: dict[str, Over] = {}
        """Every figure of the floors, of ours and of the peers, by its name."""
        self._made = 0

    def server(self, what: str, **settings: str | float) -> dict[str, Any]:
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
        rubric = [
            "rubric: 1",
            "title: An answer to a report",
            "threshold: 100",
            "floor: 0",
            "criteria:",
        ]
        for name, weight, words in CRITERIA:
            rubric += [f"  - id: {name}", f"    requirement: {words}", f"    weight: {weight}"]
        (folder / "rubric.yaml").write_text("\n".join(rubric) + "\n")
        judge = f'provider = "openai"\nbase_url = "{self.root}/v1"\nmodel = "{MODEL}"\napi_key_env = ""\nconcurrency = {in_air}'
        suite = {
            "suite": 1,
            "target": "record:outputs.jsonl",
            "rubric": {"file": "rubric.yaml"},
            "cases": [
                {"id": f"case-{number:05}", "input": f"Report {number}"} for number in range(count)
            ],
        }
        (folder / "suite.json").write_text(json.dumps(suite))
        with open(folder / "outputs.jsonl", "w", encoding="utf-8") as outputs:
            for number in range(count):
                outputs.write(
                    json.dumps({"id": f"case-{number:05}", "output": text_of(number)}) + "\n"
                )
        (folder / "honestone.toml").write_text(
            f"[judges.stand-in]\n{judge}\n\n[limits]\nconcurrency = {max(in_air, 32)}\n"
        )
        return folder

    @staticmethod
    def words(folder: Path, form: str) -> list[str]:
        """What follows the name of the program where it judges the cases of a folder."""
        files = [f"cases/{path.name}" for path in sorted((folder / "cases").iterdir())]
        what = ["suite.json"] if form == "suite" else [*files, "--rubric", "rubric.yaml"]
        return ["eval", *what, "--judge", "stand-in", "--json", "-q"]

    def ours(self, folder: Path, form: str) -> list[str]:
        return [str(Path(sys.executable).with_name("honestone")), *self.words(folder, form)]

    def floor(self, folder: Path, in_air: int = 32, *, store: bool = False) -> list[str]:
        command = [
            sys.executable,
            __file__,
            "--be",
            "floor",
            "--url",
            f"{self.root}/v1",
            "--folder",
            str(folder),
        ]
        return [*command, "--in-air", str(in_air), *(["--store"] if store else [])]

    def run(
        self,
        command: list[str],
        folder: Path,
        env: dict[str, str] | None = None,
        **settings: str | float,
    ) -> Took:
        self.server("reset", **settings)
        out = folder / "out.json"
        started = time.perf_counter()
        process = start(command, folder, out, env)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        wall = time.perf_counter() - started
        if env is None and process.returncode not in (
            0,
            1,
            3,
        ):  # What a peer ends with is its own affair.
            raise SystemExit(
                f"{command[:5]} ended with {process.returncode}: {(folder / 'err').read_text()[-2000:]}"
            )
        seen = self.server("stats")
        cpu = used.ru_utime + used.ru_stime
        return Took(
            cpu,
            wall,
            used.ru_maxrss / 1024,
            out,
            seen["calls"],
            seen["most_in_air"],
            seen["bytes_in"],
        )

    def once(self, peer: str, count: int, in_air: int = 32, **settings: str | float) -> Took:
        """A peer's command over so many fresh cases."""
        folder, url = self.folder(count, in_air), f"{self.root}/v1"
        if peer in self.peers:
            other = self.peers[peer]
            other.prepare(folder, url, in_air)
            took = self.run(other.command(folder, url, in_air), folder, other.env, **settings)
            found = other.scores(folder)
        elif peer in FORMS:
            took = self.run(self.ours(folder, peer), folder, None, **settings)
            found = [None if score is None else score / 100 for score in scores(took)]
        else:
            took = self.run(
                self.floor(folder, in_air, store=peer.endswith("store")), folder, None, **settings
            )
            found = json.loads(took.out.read_text())
        if not settings.get("faults") and found != [1] * count:
            raise SystemExit(f"{peer}: a case was not scored as it should; see {folder}")
        shutil.rmtree(folder / "cases")
        return took._replace(found=found)


def start(
    command: list[str], folder: Path, out: Path, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    with open(out, "wb") as stdout, open(folder / "err", "wb") as stderr:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            preexec_fn=lambda: pin(-1),
            env={**os.environ, **CALM, "HONESTONE_HOME": str(folder / ".honestone"), **(env or {})},
        )


def scores(took: Took) -> list[float | None]:
    """What each case came to, in points, from the report."""
    found = json.loads(took.out.read_text())
    if isinstance(found, dict) and "cases" in found:
        return [case["score"] for case in found["cases"]]
    return [document["score"] for document in (found if isinstance(found, list) else [found])]


# --------------------------------------------------------------------------------------------------------
# the questions


def cost(bench: Evaluator, count: int, rounds: int) -> None:
    def measure() -> dict[str, float]:
        found: dict[str, float] = {}
        for peer in ("floor", "floor+store", *FORMS, *bench.peers):
            found |= one_cost(bench, peer, count)
        for peer in (*FORMS, *bench.peers):
            found[f"{peer} whole ratio"] = found[f"{peer} some"] / found["floor some"]
            found[f"{peer} few ratio"] = found[f"{peer} few"] / found["floor few"]
            found[f"{peer} work ratio"] = found[f"{peer} work"] / found["floor+store work"]
            found[f"{peer} tokens ratio"] = found[f"{peer} tokens"] / found["floor tokens"]
        for form in FORMS if bench.peers else ():
            best = min(found[f"{peer} work"] for peer in bench.peers)
            found[f"{form} of best"] = found[f"{form} work"] / best
        return found

    got = over(rounds, measure)
    bench.got |= got
    floors = f"{got['floor work'].mid:.3f}, {got['floor+store work'].mid:.3f} ms"
    show("P1 work CPU a case: floor, floor+store", floors, "", good=True)
    for form in FORMS:
        show_cost(got, form, count)
    ratio = got["files tokens ratio"].mid
    value = f"{got['files tokens'].mid:.0f}, {ratio:.2f}x"
    show(
        "P12 request without a schema that nobody bills for, bytes / 4",
        value,
        "1.5x the bare prompt",
        good=ratio <= 1.5,
    )


def one_cost(bench: Evaluator, peer: str, count: int) -> dict[str, float]:
    """What a peer costs: with few cases, with some, and what each case adds once the start is paid
    for.

    The work of the floors and of ours is that of ten times as many cases, or it would be lost in
    the noise of the start.
    """
    few, some = (bench.once(peer, n) for n in (10, count))
    many, more = (
        (some, count) if peer in bench.peers else (bench.once(peer, 10 * count), 10 * count)
    )
    found = {f"{peer} few": few.cpu, f"{peer} some": some.cpu, f"{peer} peak": some.megabytes}
    found[f"{peer} work"] = (many.cpu - few.cpu) / (more - 10) * 1000
    if more > count:
        found[f"{peer} growth"] = (many.megabytes - some.megabytes) / (more - count) * 10_000
    found[f"{peer} tokens"] = some.bytes_in / 4 / count
    return found


def show_cost(got: dict[str, Over], form: str, count: int) -> None:
    goal = GOALS[form]
    ratio, whole, few = (got[f"{form} {name}"] for name in ("work ratio", "whole ratio", "few"))
    value = f"{got[f'{form} work'].mid:.3f} ms, {ratio.said('x')}"
    show(
        f"P1 work CPU a case: {form}",
        value,
        f"{goal.work}x floor+store",
        good=ratio.mid <= goal.work,
    )
    if f"{form} of best" in got:
        share = got[f"{form} of best"]
        show(
            f"P1 work CPU / best peer's: {form}",
            share.said("x"),
            f"{goal.peer}x",
            good=share.mid <= goal.peer,
        )
    value = f"{got[f'{form} some'].mid:.2f} s, {whole.said('x')}"
    show(
        f"P2 whole process, {count} cases: {form}",
        value,
        f"{goal.whole}x floor",
        good=whole.mid <= goal.whole,
    )
    name, times = f"P6 start, first 10 calls and end: {form}", got[f"{form} few ratio"]
    value = f"{few.mid:.2f} s, {times.said('x')}"
    show(name, value, f"{goal.start}x floor", good=times.mid <= goal.start)
    peak, growth = (got[f"{form} {name}"] for name in ("peak", "growth"))
    show(
        f"P8 peak memory: {form}",
        peak.said(" MB", 0),
        f"{goal.peak} MB",
        good=peak.mid <= goal.peak,
    )
    grown = f"{goal.growth} MB"
    show(
        f"P8 growth over 10,000 cases: {form}",
        growth.said(" MB", 0),
        grown,
        good=growth.mid <= goal.growth,
    )


def wall(bench: Evaluator, count: int, rounds: int) -> None:
    """Seconds of the clock: a neighbour on the machine only ever adds to them, so each tool's best
    round counts.
    """

    def measure() -> dict[str, float]:
        took = {
            peer: bench.once(peer, count, latency=50) for peer in ("floor", *FORMS, *bench.peers)
        }
        in_air = {f"{peer} in air": float(one.most_in_air) for peer, one in took.items()}
        return {f"{peer} wall": one.wall for peer, one in took.items()} | in_air

    got = over(rounds, measure)
    bench.got |= got
    least = min(got["floor wall"])
    for form in FORMS:
        seconds, in_air, goal = got[f"{form} wall"], got[f"{form} in air"].mid, GOALS[form].wall
        ratio = Over(one / least for one in seconds)
        value = f"{min(seconds):.2f} s, {min(ratio):.2f}x (-{max(ratio):.2f})"
        show(
            f"P3 wall at 50 ms a reply, 32 in the air: {form}",
            value,
            f"{goal}x floor",
            good=min(ratio) <= goal,
        )
        show(f"  calls in the air: {form}", f"{in_air:.0f}", "32", good=in_air >= 32)


def concurrency(bench: Evaluator, count: int, rounds: int) -> None:
    def measure() -> dict[str, float]:
        few, many = (
            (
                bench.once("files", 2 * count, n, latency=5).cpu
                - bench.once("files", 10, n, latency=5).cpu
            )
            for n in (8, 64)
        )
        return {"ratio": many / few}

    ratio = over(rounds, measure)["ratio"]
    show(
        "P4 CPU of a call, 64 in the air against 8", ratio.said("x"), "1.2x", good=ratio.mid <= 1.2
    )


def faults(bench: Evaluator, count: int) -> None:
    for peer in (*FORMS, *bench.peers):
        for says, right in (("yes", 1), ("no", 0)):
            took = bench.once(peer, count, faults=0.1, says=says)
            found = Counter(took.found)
            wrong = sum(n for score, n in found.items() if score not in (None, right))
            told, missing, calls = found[None], count - sum(found.values()), took.calls / count
            name = f"{peer} faults {says}"
            bench.got |= {
                f"{name} {what}": Over([n])
                for what, n in (("wrong", wrong), ("open", told + missing))
            }
            bench.got[f"{name} calls"] = Over([calls])
            if peer in FORMS:
                value = f"{wrong} wrong {missing} missing {told} open"
                good = not wrong and not missing and not told
                show(f"P9 10% faults, judge says {says}: {peer}", value, "0, 0, 0", good=good)
                show("  calls a case", f"{calls:.2f}", "1.10", good=calls <= 1.1)


def kill(bench: Evaluator, count: int) -> None:
    for form in FORMS:
        folder = bench.folder(count)
        bench.server("reset", latency=100)
        process = start(bench.ours(folder, form), folder, folder / "out.json")
        until = time.monotonic() + 60
        while (
            bench.server("stats")["delivered"] < count // 2
            and process.poll() is None
            and time.monotonic() < until
        ):
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
            "  in the air when killed; rows at the end",
            f"{in_air}; {rows} of {count}",
            "all rows",
            good=rows == count,
        )


def cached(bench: Evaluator, count: int) -> None:
    for form in FORMS:
        folder, small = bench.folder(count), bench.folder(10)
        for one in (folder, small):
            bench.run(bench.ours(one, form), one)
        again, start_only = (bench.run(bench.ours(one, form), one) for one in (folder, small))
        each, goal = (again.cpu - start_only.cpu) / (count - 10) * 1000, GOALS[form].cached
        least, few = (bench.once("floor+store", n).cpu for n in (count, 10))
        times = each / ((least - few) / (count - 10) * 1000)
        show(
            f"P11 {count} cases on record, calls: {form}",
            f"{again.calls}",
            "0",
            good=again.calls == 0,
        )
        value = f"{each:.3f} ms, {times:.2f}x"
        show("  CPU a case", value, f"{goal}x floor+store judged", good=times <= goal)


QUESTIONS = ("cost", "wall", "concurrency", "faults", "kill", "cached")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--count",
        type=int,
        default=500,
        help="cases of a run; some questions take ten times as many",
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=QUESTIONS, default=QUESTIONS)
    parser.add_argument("--be", choices=("floor",), help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--in-air", type=int, default=32, help=argparse.SUPPRESS)
    parser.add_argument("--store", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.be == "floor":
        store = options.folder / "floor.db" if options.store else None
        asyncio.run(floor(options.url, options.folder / "cases", options.in_air, store))
    else:
        ask(options.only, options.count, options.rounds)


def ask(
    only: list[str], count: int, rounds: int, peers: dict[str, Peer] | None = None
) -> Evaluator:
    with (
        tempfile.TemporaryDirectory(prefix="honestone-bench-") as place,
        judge_server(Path(place)) as root,
    ):
        bench = Evaluator(Path(place), root, peers)
        for peer in ("floor", *FORMS, *bench.peers):  # warm up
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
            cached(bench, 4 * count)
    return bench


if __name__ == "__main__":
    main()
