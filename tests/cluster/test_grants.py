"""Several processes work on one run: together they make no more calls than its limit, also when one
of them is killed.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.desk import until
from tests.cluster.test_postgres import first, opened

from honestone.core.judging.spend import RunGrants

CAP, BLOCK = 300, 6
PROGRAM = """if True:
    import asyncio, sys, time
    from pathlib import Path
    from honestone.adapters.stores.postgres import PostgresStore
    from honestone.core.judging.spend import Meter, Usage
    from honestone.core.record.store_address import store_address
    from honestone.engine.journal import give_back, reserve_in, take_call
    from honestone.ports import RunOrigin
    url, folder, run, cap, block, log = sys.argv[1:]
    store = PostgresStore(store_address(url), Path(folder), origin=RunOrigin())
    meter = Meter(calls=int(cap), minutes=60, usd=None, clock=time.monotonic)
    made = open(log, "a", buffering=1)

    async def caller():
        while await take_call(meter) is None:
            print("a call", file=made)
            await asyncio.sleep(0.005)
            meter.made(Usage())

    async def work():
        reserve_in(store, run, meter, at_a_time=int(block))
        await asyncio.gather(*(caller() for _ in range(int(block))))
        await give_back(meter)

    asyncio.run(work())
    store.close()
"""


@pytest.mark.parametrize("kills", [0, 1, 2])
def test_the_limit_holds_over_processes_and_kills(url: str, tmp_path: Path, kills: int) -> None:
    """What is missing from the limit in the end is what the killed ones had in hand, at most a
    block each; without a kill the calls are used to the last.
    """
    store = opened(url, tmp_path)
    run = store.start_run(kind="suite", subject="s", identity="i", contract="c", first=first())
    logs = [tmp_path / f"{number}.log" for number in range(4)]
    given = [sys.executable, "-c", PROGRAM, url, str(tmp_path), run, str(CAP), str(BLOCK)]
    started = [subprocess.Popen([*given, str(log)]) for log in logs]

    def calls(log: Path) -> int:
        return log.read_text().count("\n") if log.exists() else 0

    for log, process in list(zip(logs, started, strict=True))[:kills]:
        until(lambda log=log, process=process: calls(log) >= 3 or process.poll() is not None)
        process.kill()
    codes = [process.wait(timeout=240) for process in started]
    assert codes[kills:] == [0] * (len(started) - kills)
    # Those that ended may have given calls back after the others had looked for the last time.
    assert subprocess.run([*given, str(logs[-1])], timeout=240, check=True).returncode == 0
    made = sum(map(calls, logs))
    assert CAP - kills * BLOCK <= made <= CAP
    assert store.open_grants(run, RunGrants()).calls == CAP
    store.close()
