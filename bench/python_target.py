"""What a trivial Python target costs beside calling the function through a bare pool of processes:
1,000 cases, 8 at a time.

    make bench-python                    # or: python bench/python_target.py [CASES]

Processor time of this process and of its children, of each side in a process of its own. Starting
is left out: what N + 8 calls cost more than 8. The ratio is taken inside a round, and the median of
three rounds is shown.
"""

from __future__ import annotations

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

AT_ONCE = 8
MODULE = "def same(text):\n    return text\n"


def bare(folder: Path, count: int) -> None:
    sys.path.insert(0, str(folder))
    from trivial import same  # type: ignore[import-not-found]

    with ProcessPoolExecutor(AT_ONCE, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(same, f"question {number}") for number in range(count)]
        assert all(one.result() for one in waiting)


def ours(folder: Path, count: int) -> None:
    from honestone.adapters.targets.python import PythonTarget
    from honestone.core.suite.case import Message
    from honestone.ports import Task

    target = PythonTarget("trivial:same", cwd=folder, timeout=60)
    target.refuse(())

    async def all() -> None:
        waiting = iter(range(count))

        async def work() -> None:
            for number in waiting:
                output = await target.run(
                    Task(messages=(Message("user", f"question {number}"),), case=f"c{number}")
                )
                assert output.error is None, output.error

        await asyncio.gather(*(work() for _ in range(AT_ONCE)))
        await target.close()

    asyncio.run(all())


def whole(folder: Path, count: int) -> None:
    """The command, with a check for each case."""
    cases = [
        {"id": f"c{n}", "input": f"question {n}", "checks": [{"min-words": 1}]}
        for n in range(count)
    ]
    (folder / "suite.json").write_text(json.dumps({"suite": 1, "cases": cases}))
    command = [
        sys.executable,
        "-m",
        "honestone",
        "eval",
        "suite.json",
        "--target",
        "python:trivial:same",
        "--fresh",
        "-q",
    ]
    subprocess.run(
        [*command, "--concurrency", str(AT_ONCE)], cwd=folder, stdout=subprocess.DEVNULL, check=True
    )


SIDES: dict[str, Callable[[Path, int], None]] = {"bare": bare, "ours": ours, "whole": whole}


def cpu(side: str, count: int) -> float:
    """Seconds of processor time."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "trivial.py").write_text(MODULE)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, __file__, side, place, str(count)], check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def each(side: str, count: int) -> float:
    return (cpu(side, count + AT_ONCE) - cpu(side, AT_ONCE)) / count


def main() -> None:
    if len(sys.argv) == 4:
        SIDES[sys.argv[1]](Path(sys.argv[2]), int(sys.argv[3]))
        return
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    rounds = [{side: each(side, count) for side in SIDES} for _ in range(3)]
    ratio = statistics.median(one["ours"] / one["bare"] for one in rounds)
    bare, ours, whole = (1000 * statistics.median(one[side] for one in rounds) for side in SIDES)
    print(
        f"{count:,} cases, {AT_ONCE} at a time: bare pool {bare:.2f} ms a case, ours {ours:.2f} ms = {ratio:.1f}x (goal 3x)"
    )
    print(
        f"  a case of `honestone eval`, with its check, record and report: {whole:.2f} ms (goal 15 ms)"
    )


if __name__ == "__main__":
    main()
