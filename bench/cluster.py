"""What a run on several machines costs, and whether its memory is flat: `make bench-cluster`.

    python bench/cluster.py                                     # 2,000 and 20,000 cases of 0.2 s over 4 runners
    python bench/cluster.py 10000 100000 --seconds 1 --runners 8 --concurrency 64 --only run
    python bench/cluster.py 3000 30000 --only remote            # without the embedded runs next to it
    python bench/cluster.py --only grants runs

A PostgreSQL server of its own in a temporary folder, never as root. The target is a server on this
machine that answers after SECONDS; its processor time is in no figure. Cases share a rubric of two
text checks. *Embedded* is the same suite without --remote, in the same store. Processor time is
that of whole processes; of PostgreSQL, that of all its processes. A figure of a case is the
difference between the larger and the smaller number of cases, so that starting up is out of it.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn
from urllib.request import urlopen

from judge_server import judge_server
from rows import show

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tests.cluster.server import Server, binaries

HONESTONE = str(Path(sys.executable).with_name("honestone"))
TICK = os.sysconf("SC_CLK_TCK")
REMOTE_GOAL, SERVER_GOAL = 4.0, 1.5
"""Milliseconds of processor time of a case: of all processes of a run, and of PostgreSQL."""
GROWTH_GOAL = 20
"""Megabytes that ten times as many cases may add to a peak that is called flat."""
RUNS_GOAL = 0.3
GRANT_SECONDS = 5.0
LOOK_SECONDS = 0.05
SAY_SECONDS = 10.0
STALLED_SECONDS = 180.0


@dataclass(frozen=True, slots=True)
class Used:
    """Processor seconds and peak megabytes."""

    cpu: float
    megabytes: float


@dataclass(frozen=True, slots=True)
class Took:
    """One run: its processes, the server's processor seconds, and calls under way at most."""

    wall: float
    server: float
    coordinator: Used
    runners: tuple[Used, ...] = ()
    at_once: int = 0

    @property
    def runner_cpu(self) -> float:
        return sum(one.cpu for one in self.runners)

    @property
    def runner_peak(self) -> float:
        return max(one.megabytes for one in self.runners)

    @property
    def cpu(self) -> float:
        return self.server + self.coordinator.cpu + self.runner_cpu


# ----------------------------------------------------------------------------------------------------
# processes


@contextmanager
def server() -> Iterator[Server]:
    found = binaries()
    if found is None:
        raise SystemExit("PostgreSQL is not installed here: `make test-cluster` installs it")
    made = Server(found)
    try:
        made.create()
        made.start()
        yield made
    finally:
        made.end()


def server_cpu(made: Server) -> float:
    """Processor seconds of all processes of the server, those that have ended included."""
    main = int((made.folder / "data" / "postmaster.pid").read_text().split()[0])
    total = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            if int(entry.name) == main:
                total += sum(int(field) for field in fields[11:15])
            elif int(fields[1]) == main:
                total += sum(int(field) for field in fields[11:13])
    return total / TICK


class Process:
    """A command of a person: what it used is known when it has ended."""

    def __init__(self, folder: Path, name: str, words: Sequence[str], env: dict[str, str]) -> None:
        self._name, self._log = name, folder / f"{name}.err"
        with open(folder / f"{name}.out", "wb") as out, open(self._log, "wb") as err:
            self._process = subprocess.Popen(words, cwd=folder, env=env, stdout=out, stderr=err)
        self._used: Used | None = None

    def look(self) -> Used | None:
        """What it used; None while it is under way."""
        return self._wait(os.WNOHANG)

    def end(self) -> Used:
        used = self._wait(0)
        assert used is not None
        return used

    def _wait(self, how: int) -> Used | None:
        if self._used is None:
            pid, status, used = os.wait4(self._process.pid, how)
            if pid == 0:
                return None
            self._used = Used(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
            self._process.returncode = os.waitstatus_to_exitcode(status)
        if self._process.returncode != 0:
            self.fail(f"ended with {self._process.returncode}")
        return self._used

    def fail(self, why: str) -> NoReturn:
        raise SystemExit(f"{self._name} {why}: {self._log.read_text()[-2000:]}")

    def terminate(self) -> None:
        self._process.terminate()

    def kill(self) -> None:
        if self._used is None:
            self._process.kill()
            self._process.wait()


def environment(home: Path, url: str) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "HONESTONE_STORE": url, "NO_COLOR": "1"}


def project(home: Path, address: str, count: int) -> Path:
    folder = home / f"project-{count}"
    folder.mkdir()
    (folder / "honestone.toml").write_text(
        f'[targets.desk]\nprovider = "compatible"\nmodel = "stand-in"\nbase_url = "{address}/v1"\n'
    )
    checks = [{"contains": "So it is"}, {"not-contains": "omega"}]
    rubric = {
        "rubric": 1,
        "criteria": [{"id": f"c{n}", "check": check} for n, check in enumerate(checks)],
    }
    (folder / "rubric.json").write_text(json.dumps(rubric))
    (folder / "suite.json").write_text(
        json.dumps({"suite": 1, "rubric": {"file": "rubric.json"}, "cases": "cases.jsonl"})
    )
    with open(folder / "cases.jsonl", "w", encoding="utf-8") as suite:
        for number in range(count):
            suite.write(
                json.dumps({"id": f"case-{number:06}", "input": f"Question {number}"}) + "\n"
            )
    return folder


# -----------------------------------------------------------------------------------------------------------
# a run


def run(
    home: Path,
    address: str,
    made: Server,
    folder: Path,
    asked: argparse.Namespace,
    *,
    is_remote: bool,
) -> Took:
    """The suite from the start of its command to its written report, its runners started before."""
    url = made.database()
    more = ("--remote",) if is_remote else ("--concurrency", str(asked.concurrency))
    words = [HONESTONE, "eval", "suite.json", "--target", "desk", "--json", "-q", *more]
    env, runners = environment(home, url), list[Process]()
    subprocess.run(
        [HONESTONE, "store", "migrate"], env=env, cwd=home, check=True, capture_output=True
    )
    before, start = server_cpu(made), time.monotonic()
    try:
        for number in range(asked.runners if is_remote else 0):
            place = home / f"runner-{folder.name}-{number}"
            place.mkdir()
            command = [HONESTONE, "runner", "--concurrency", str(asked.concurrency)]
            runners.append(Process(place, "runner", command, {**env, "HOME": str(place)}))
        coordinator = Process(folder, "coordinator", words, env)
        runners.append(coordinator)
        used = watched(coordinator, runners, address)
        wall = time.monotonic() - start
        runners.remove(coordinator)
        for one in runners:
            one.terminate()
        ended = tuple(one.end() for one in runners)
    finally:
        for one in runners:
            one.kill()
    return Took(wall, server_cpu(made) - before, used, ended, answers(address)["most_in_air"])


def watched(coordinator: Process, all_of_them: Sequence[Process], address: str) -> Used:
    """Waits for the coordinator. Raises SystemExit where a process ends that should not, or where
    no target is asked any more.
    """
    start = time.monotonic()
    asked_at, calls, said_at = start, 0, start
    while True:
        for one in all_of_them:
            used = one.look()
            if one is coordinator and used is not None:
                return used
            if used is not None:
                one.fail("ended before the run")
        time.sleep(LOOK_SECONDS)
        now = time.monotonic()
        if now - said_at < SAY_SECONDS:
            continue
        said_at, of_target = now, answers(address)
        print(
            f"  {now - start:5.0f} s: {of_target['calls']} calls, {of_target['in_air']} in the air",
            flush=True,
        )
        if of_target["calls"] != calls:
            asked_at, calls = now, of_target["calls"]
        if now - asked_at > STALLED_SECONDS:
            coordinator.fail(f"has waited {STALLED_SECONDS:g} s for a call")


def answers(address: str) -> dict[str, int]:
    """What the target says of the calls since it was reset."""
    with urlopen(f"{address}/stats") as got:
        found: dict[str, int] = json.load(got)
    return found


def bench_run(home: Path, made: Server, asked: argparse.Namespace) -> None:
    few, many = min(asked.counts), max(asked.counts)
    with judge_server(home) as address:
        took: dict[tuple[bool, int], Took] = {}
        for is_remote in (False, True) if "run" in asked.only else (True,):
            for count in (few, many):
                folder = home / f"project-{count}"
                urlopen(f"{address}/reset?latency={asked.seconds * 1000}").close()
                folder = folder if folder.exists() else project(home, address, count)
                print(f"{'remote' if is_remote else 'embedded'}: {count} cases ...", flush=True)
                took[is_remote, count] = run(
                    home, address, made, folder, asked, is_remote=is_remote
                )
    show_run(took, few, many)


def show_run(took: dict[tuple[bool, int], Took], few: int, many: int) -> None:
    more = (many - few) or 1

    def each(of: str, *, is_remote: bool) -> float:
        small, large = took[is_remote, few], took[is_remote, many]
        first, last = (
            one.coordinator.cpu if of == "coordinator" else getattr(one, of)
            for one in (small, large)
        )
        return float(last - first) / more * 1000

    whole, times = each("cpu", is_remote=True), ""
    if (False, many) in took:
        here = each("cpu", is_remote=False)
        times = f", {whole / here:.1f}x"
        show(f"embedded: CPU a case, {few} to {many} cases", f"{here:.2f} ms", "", good=True)
        show("  of it PostgreSQL", f"{each('server', is_remote=False):.2f} ms", "", good=True)
    show(
        f"remote: CPU a case, {few} to {many} cases",
        f"{whole:.2f} ms{times}",
        f"{REMOTE_GOAL} ms",
        good=whole <= REMOTE_GOAL,
    )
    show("  of it runners", f"{each('runner_cpu', is_remote=True):.2f} ms", "", good=True)
    show("  of it the coordinator", f"{each('coordinator', is_remote=True):.2f} ms", "", good=True)
    server = each("server", is_remote=True)
    show("  of it PostgreSQL", f"{server:.2f} ms", f"{SERVER_GOAL} ms", good=server <= SERVER_GOAL)
    peaks_of = {
        "coordinator": [took[True, count].coordinator.megabytes for count in (few, many)],
        "a runner": [took[True, count].runner_peak for count in (few, many)],
        "embedded": [
            took[False, count].coordinator.megabytes
            for count in (few, many)
            if (False, count) in took
        ],
    }
    for who, peaks in peaks_of.items():
        if not peaks:
            continue
        grown = peaks[1] - peaks[0]
        value = f"{peaks[0]:.0f} and {peaks[1]:.0f} MB, {grown / more * 1000:.1f} kB a case"
        goal = "" if who == "embedded" else f"{GROWTH_GOAL} MB more"
        show(f"peak of {who}", value, goal, good=not goal or grown <= GROWTH_GOAL)
    for (is_remote, count), one in took.items():
        name, rate = "remote" if is_remote else "embedded", count / one.wall
        value = f"{one.wall:.1f} s, {rate:.0f} cases/s, at once {one.at_once}"
        show(f"{name}: {count} cases", value, "", good=True)


# -------------------------------------------------------------------------------------------------
# grants and lists


def ask_grants(url: str, run: str, folder: str, stop: str) -> int:
    from honestone.core.judging.spend import GrantRequest

    store = opened(url, Path(folder))
    number = 0
    while not os.path.exists(stop):
        store.grant(run, GrantRequest(calls=1))
        number += 1
    store.close()
    return number


def opened(url: str, folder: Path):  # type: ignore[no-untyped-def]
    from honestone.adapters.registry import open_store
    from honestone.adapters.stores.place import StorePlace
    from honestone.core.record.store_address import store_address

    return open_store(StorePlace(folder=folder, address=store_address(url)), readonly=False)


def bench_grants(home: Path, made: Server, processes: int = 16) -> None:
    """Grants of one call each, of one run: every one changes the same row."""
    url = made.database()
    store = opened(url, home / "store")
    run = store.start_run(
        kind="suite", subject="s", identity="i", contract="c", first={"type": "started"}
    )
    stop = home / "stop"
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        each = [
            pool.submit(ask_grants, url, run, str(home / "store"), str(stop))
            for _ in range(processes)
        ]
        while (
            connections(made, url) <= processes
        ):  # on a busy machine it takes long until all are there
            time.sleep(0.5)
        before, start = sum_of_grants(made, url), time.monotonic()
        time.sleep(GRANT_SECONDS)
        after, end = sum_of_grants(made, url), time.monotonic()
        stop.touch()
        total = sum(one.result() for one in each)
    assert sum_of_grants(made, url) == total, "a grant was lost or doubled"
    show(
        f"grants over {processes} processes",
        f"{(after - before) / (end - start):.0f} /s",
        "",
        good=True,
    )
    store.close()


def connections(made: Server, url: str) -> int:
    """The store's own among them."""
    query = "select count(*) from pg_stat_activity where datname = current_database() and application_name = 'honestone'"
    return int(made.sql(query, url.rpartition("/")[2]))


def sum_of_grants(made: Server, url: str) -> int:
    return int(made.sql("select calls from honestone.grants", url.rpartition("/")[2]) or 0)


def bench_runs(home: Path, made: Server, count: int = 1000) -> None:
    """`runs` on a store of many runs of a suite of 20 cases, each with its result."""
    place = home / "listed"
    place.mkdir()
    cases = [
        {"id": f"c{n}", "input": f"Question {n}", "checks": [{"contains": "a"}]} for n in range(20)
    ]
    (place / "suite.json").write_text(
        json.dumps({"suite": 1, "target": "record:o.jsonl", "cases": cases})
    )
    (place / "o.jsonl").write_text(
        "".join(json.dumps({"id": one["id"], "output": "a"}) + "\n" for one in cases)
    )
    (place / "honestone.toml").write_text("")
    url = made.database()
    env = environment(home, url)
    subprocess.run(
        [HONESTONE, "eval", "suite.json", "-q"], cwd=place, env=env, check=True, capture_output=True
    )
    made.sql(copies(count - 1), url.rpartition("/")[2])
    for words in (["runs"], ["runs", "--json", "--limit", str(count)]):
        walls = []
        for _ in range(5):
            start = time.monotonic()
            done = subprocess.run(
                [HONESTONE, *words], cwd=place, env=env, check=True, capture_output=True
            )
            walls.append(time.monotonic() - start)
        wall = statistics.median(walls)
        shown = done.stdout.count(b"\n")
        show(
            f"{' '.join(words)}, {count} runs",
            f"{wall:.2f} s, {shown} lines",
            f"{RUNS_GOAL} s",
            good=wall <= RUNS_GOAL,
        )


def copies(count: int) -> str:
    """The one run of the store so many times more, under other ids."""
    made = f"generate_series(1, {count}) number"
    other = "substr(run.id, 1, 20) || lpad(number::text, 6, '0')"
    return f"""
create table other as select run.id as old, {other} as new from honestone.runs run, {made};
insert into honestone.runs (id, kind, subject, identity, contract, started, finished, result, project, person)
select new, kind, subject, identity, contract, started, finished, result, project, person
from honestone.runs join other on old = id;
insert into honestone.events (run, seq, data, once) select new, seq, data, once from honestone.events join other on old = run;
insert into honestone.cases (run, number, id, data) select new, number, id, data from honestone.cases join other on old = run;
drop table other; analyze;
"""


def main() -> None:
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument(
        "counts", nargs="*", type=int, default=[2_000, 20_000], help="two numbers of cases"
    )
    asked.add_argument("--seconds", type=float, default=0.2, help="of a case")
    asked.add_argument("--runners", type=int, default=4)
    asked.add_argument("--concurrency", type=int, default=32, help="cases at a time of a runner")
    asked.add_argument(
        "--only",
        nargs="+",
        choices=("run", "remote", "grants", "runs"),
        default=("run", "grants", "runs"),
    )
    given = asked.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # its server ends with it
    home = Path(tempfile.mkdtemp(prefix="honestone-bench-"))
    try:
        with server() as made:
            if "grants" in given.only:
                bench_grants(home, made)
            if "runs" in given.only:
                bench_runs(home, made)
            if {"run", "remote"} & set(given.only):
                bench_run(home, made, given)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
