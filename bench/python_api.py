"""What a call from Python and a test of the pytest plugin cost: `make bench-api`.

    python bench/python_api.py [CASES]   # 300 without

P14: processor time of `evaluate` with five text checks, of `evaluate` and `evaluate_many` with a
judge behind an HTTP API beyond the bare call over an open connection, and with everything on
record; the best of five rounds. P13: `pytest suite.yaml` beyond `eval suite.yaml` and an empty
pytest, a case, alone and with two processes of pytest-xdist; so many cases and a third of them,
which shows whether it is linear.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from judge_server import judge_server
from rows import show
from work import CRITERIA, text_of

import honestone


def best(work: Callable[[int], object], times: int) -> float:
    """Milliseconds of this process's processor time a call."""
    found = []
    for number in range(5):
        began = time.process_time()
        for one in range(times):
            work(number * times + one)
        found.append((time.process_time() - began) / times * 1000)
    return min(found)


def bare(root: str, times: int) -> float:
    import aiohttp

    async def call() -> float:
        async with aiohttp.ClientSession() as session:
            began = time.process_time()
            for number in range(times):
                messages = [{"role": "user", "content": text_of(number)}]
                async with session.post(
                    f"{root}/v1/chat/completions", json={"messages": messages}
                ) as response:
                    json.loads(await response.read())
            return (time.process_time() - began) / times * 1000

    return min(asyncio.run(call()) for _ in range(5))


def calls(home: Path, root: str) -> None:
    checks = {
        "floor": 0,
        "criteria": [{"id": f"c{n}", "check": {"contains": f"word{n}"}} for n in range(5)],
    }
    checked = honestone.parse_rubric(json.dumps({"rubric": 1, **checks}))
    criteria = [
        {"id": name, "requirement": words, "weight": weight} for name, weight, words in CRITERIA
    ]
    judged = honestone.parse_rubric(
        json.dumps({"rubric": 1, "threshold": 100, "criteria": criteria})
    )
    judge = f'provider = "openai"\nbase_url = "{root}/v1"\nmodel = "stand-in"\napi_key_env = ""\n'
    (home / "honestone.toml").write_text(f"[judges.stand-in]\n{judge}")

    each = best(
        lambda number: honestone.evaluate(f"word1 word2 {number}", checked, folder=home), 100
    )
    show("P14 evaluate(), 5 text checks", f"{each:.2f} ms", "0.5 ms", good=each <= 0.5)
    call = bare(root, 100)

    def one(number: int) -> None:
        assert honestone.evaluate(text_of(number), judged, judges="stand-in", folder=home).passed

    def many(number: int) -> None:
        texts = [text_of(1000 * number + one) for one in range(100)]
        assert all(
            one.passed
            for one in honestone.evaluate_many(texts, judged, judges="stand-in", folder=home)
        )

    one(0)
    each = best(one, 40) - call
    show("P14 evaluate(), HTTP judge, beyond the call", f"{each:.2f} ms", "1 ms", good=each <= 1)
    each = best(many, 1) / 100 - call
    show("P14 evaluate_many(), HTTP judge, the same", f"{each:.2f} ms", "1 ms", good=each <= 1)

    def on_record(number: int) -> None:
        assert honestone.evaluate(
            text_of(7), judged, judges="stand-in", folder=home, store="kept"
        ).passed

    on_record(0)
    show("P14 evaluate(), on record in a store", f"{best(on_record, 40):.2f} ms", "", good=True)


def cpu(command: list[str], folder: Path) -> float:
    with open(os.devnull, "wb") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=folder, stdout=nowhere, stderr=nowhere
        )
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def plugin(home: Path, count: int) -> None:
    (home / "test_nothing.py").write_text("def test_nothing(): pass\n")
    for processes in (0, 2):
        more = ["-n", str(processes)] if processes else []
        empty = min(cpu(["pytest", "-q", "test_nothing.py", *more], home) for _ in range(3))
        for some in (count // 3, count):
            cases = [
                {"id": f"c{n}", "input": f"question {n}", "checks": [{"min-words": 1}]}
                for n in range(some)
            ]
            suite = home / f"suite-{some}.json"
            suite.write_text(
                json.dumps({"suite": 1, "target": "record:outputs.jsonl", "cases": cases})
            )
            lines = (json.dumps({"id": case["id"], "output": "an answer"}) + "\n" for case in cases)
            (home / "outputs.jsonl").write_text("".join(lines))
            beyond = min(
                cpu(["pytest", "-q", suite.name, *more], home)
                - cpu(["honestone", "eval", suite.name, "-q"], home)
                for _ in range(3)
            )
            each = (beyond - empty) / some * 1000
            name = f"P13 pytest plugin, {some} cases" + (f", -n {processes}" if processes else "")
            show(name, f"{each:.2f} ms a case", "1 ms", good=each <= 1)


def main(count: int = 300) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="honestone-bench-") as place,
        judge_server(Path(place)) as root,
    ):
        home = Path(place) / "home"
        home.mkdir()
        os.environ["HONESTONE_HOME"] = str(home / "store")
        calls(home, root)
        plugin(home, count)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
