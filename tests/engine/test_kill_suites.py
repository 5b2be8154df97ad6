"""`kill -9` at every write of a suite's run, by number: the same command goes on, runs nothing
twice and ends the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.stores.sqlite import SqliteStore
from honestone.core.record.event_codec import event_to_plain

KILLED = -9
SUITE = """\
suite: 1
artifact: prompt.md
rubric: [names the apple]
cases:
  - {id: good, input: an apple}
  - {id: bad, input: a pear}
  - {id: twice, input: two apple, attempts: 2, attempt_rule: pass^k}
  - {id: broken, input: break}
  - {id: left-out, input: an apple, skip: not now}
"""
ALONE = ["suite.yaml", "--target", "words:t", "--judge", "words:j", "--concurrency", "1", "--json"]
BOTH = [*ALONE, "--baseline", "old.md"]
TABLE = [*ALONE, "--artifact", "prompt.md", "--artifact", "old.md"]


class Driver:
    """A warm process that runs the command in forks (kill_driver.py)."""

    def __init__(self) -> None:
        script = Path(__file__).with_name("kill_driver.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, folder: Path, args: list[str], *, kill: int | None = None, when: str = "after"
    ) -> int:
        assert self._process.stdin and self._process.stdout
        job = {"cwd": str(folder), "args": ["eval", *args], "kill": kill, "when": when}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["status"])

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(300)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    one = Driver()
    yield one
    one.close()


def prepare(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "prompt.md").write_text("new\n")
    (folder / "old.md").write_text("old\n")


def calls(folder: Path) -> Counter[str]:
    path = folder / "calls.log"
    return Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()


def report(folder: Path) -> dict[str, Any]:
    """What the command printed, without what differs from run to run: ids, times, and what came
    from the record.
    """
    document: dict[str, Any] = json.loads((folder / "out.json").read_text())
    return plain(document)


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        left_out = {"run", "duration_ms", "usage", "baseline", "candidate", "outputs"}
        return {
            k: plain(v)
            for k, v in value.items()
            if k not in left_out or (isinstance(v, dict) and k != "usage")
        }
    return [plain(one) for one in value] if isinstance(value, list) else value


def on_record(folder: Path) -> Counter[str]:
    """The outputs that stand in the store, as the calls that made them."""
    if not (folder / ".honestone" / "store.db").exists():
        return Counter()
    store = SqliteStore(folder / ".honestone")
    found: Counter[str] = Counter()
    for info in store.runs():
        log = [event_to_plain(event) for event in store.events(info.id)]
        text = "old" if log[0].get("side") in ("baseline", "column old.md") else "new"
        found.update(
            f"target {e['case']} {e['attempt']} {text}" for e in log if e["type"] == "produced"
        )
    store.close()
    return found


def is_over(folder: Path) -> bool:
    """Whether the last run, which is the candidate's or the table, is closed."""
    if not (folder / ".honestone" / "store.db").exists():
        return False
    store = SqliteStore(folder / ".honestone")
    runs = [
        info
        for info in store.runs()
        if event_to_plain(store.events(info.id)[0]).get("side") in (None, "")
    ]
    store.close()
    return bool(runs) and runs[0].finished is not None


@pytest.mark.parametrize(
    ("args", "when", "runs"),
    [(ALONE, "before", 5), (ALONE, "after", 5), (BOTH, "after", 10), (TABLE, "after", 10)],
    ids=["before", "after", "baseline", "table"],
)
def test_killed_at_any_one_write(
    args: list[str], when: str, runs: int, driver: Driver, tmp_path: Path
) -> None:
    """At each write in turn: what is on record is not run again, what was in flight once more, and
    the end is the same.
    """
    prepare(tmp_path / "whole")
    code = driver.run(tmp_path / "whole", args)
    expected, called = report(tmp_path / "whole"), calls(tmp_path / "whole")
    writes = int((tmp_path / "whole" / "writes").read_text())
    for of_column in zip(*(case.get("cells") or [case] for case in expected["cases"]), strict=True):
        assert [case["status"] for case in of_column] == [
            "passed",
            "failed",
            "passed",
            "target-error",
            "skipped",
        ]
    assert sum(n for call, n in called.items() if call.startswith("target")) == runs
    assert writes > 2 * runs
    troubles = []
    for number in range(1, writes + 1):
        folder = tmp_path / str(number)
        prepare(folder)
        if driver.run(folder, args, kill=number, when=when) != KILLED:
            troubles.append(f"write {number}: it was not killed")
            continue
        recorded, over, before = on_record(folder), is_over(folder), calls(folder)
        ended = driver.run(folder, args)
        again = calls(folder) - before
        if ended != code or report(folder) != expected:
            troubles.append(f"write {number}: exit {ended} instead of {code}, or another report")
        if over:  # a finished run is not gone on with: the command begins a new one
            continue
        if twice := [call for call in again if call in recorded]:
            troubles.append(f"write {number}: run again though on record: {twice}")
        extra = (before + again) - called
        if (
            sum(n for call, n in extra.items() if call.startswith("target")) > 1
            or sum(extra.values()) > 2
        ):
            troubles.append(f"write {number}: more than what was in flight: {dict(extra)}")
    assert not troubles, "\n".join(troubles[:20])


@pytest.mark.parametrize("args", [BOTH, TABLE], ids=["baseline", "table"])
def test_killed_after_every_write_once(args: list[str], driver: Driver, tmp_path: Path) -> None:
    """Every process dies after its fourth write, and still the run gets to its end with nothing run
    twice but what flew.
    """
    prepare(tmp_path / "whole")
    code = driver.run(tmp_path / "whole", args)
    folder = tmp_path / "killed"
    prepare(folder)
    kills = 0
    while (ended := driver.run(folder, args, kill=4)) == KILLED and not is_over(folder):
        kills += 1
        assert kills < 100, "it does not get any further"
    if ended == KILLED:
        return
    assert (ended, report(folder)) == (code, report(tmp_path / "whole"))
    assert kills > 3
    assert sum((calls(folder) - calls(tmp_path / "whole")).values()) <= 2 * kills


SURE = """\
suite: 1
artifact: prompt.md
rubric: [names the apple]
sure: 80
attempts: 2
cases:
  - {id: twice, input: two apple, attempt_rule: pass^k}
  - {id: second, input: a pear, attempt_rule: pass@k}
  - {id: both, input: an apple}
  - {id: left-out, input: an apple, skip: not now}
"""


@pytest.mark.parametrize("more", [(), ("--all-cases",)], ids=["by need", "all"])
def test_attempts_and_looks_are_bought_once(
    more: tuple[str, ...], driver: Driver, tmp_path: Path
) -> None:
    """Killed after any one write of a run under `sure`: it buys the same attempts and looks, and
    pays for what flew at most once more: a call of each judge. Of attempts that were begun at once,
    one that was not on record may not be needed any more.
    """
    args = [*ALONE, "--judge", "words:k", "--min-pass-rate", "0.6", *more]
    folder = tmp_path / "whole"
    prepare(folder)
    (folder / "suite.yaml").write_text(SURE)
    code = driver.run(folder, args)
    expected, called = report(folder), calls(folder)
    writes = int((folder / "writes").read_text())
    assert driver.run(folder, args) == code
    assert report(folder)["belief"] == expected["belief"]
    assert not [call for call in calls(folder) - called if not call.startswith("target")]
    assert code == 0 and {one["status"] for one in expected["cases"]} >= {"passed"}
    for number in range(1, writes + 1):
        folder = tmp_path / str(number)
        prepare(folder)
        (folder / "suite.yaml").write_text(SURE)
        if driver.run(folder, args, kill=number) != KILLED:  # writes of two cases were one
            assert number > writes // 2
            break
        over = is_over(folder)
        ended = driver.run(folder, args)
        found = report(folder)
        assert (ended, found["verdict"]) == (code, expected["verdict"]), f"write {number}"
        is_whole = found["belief"]["looks"] == expected["belief"]["looks"]
        assert not is_whole or found == expected, f"write {number}"
        extra = calls(folder) - called
        assert over or sum(extra.values()) <= 2, f"write {number}: {dict(extra)}"
        judges = {call: n for call, n in extra.items() if not call.startswith("target")}
        assert set(judges.values()) <= {1}, f"write {number}: {judges}"


MISREAD = """\
suite: 1
artifact: prompt.md
rubric: [names the apple]
sure: 90
cases:
  - {id: left-out, input: an apple, skip: not now}
"""


@pytest.mark.parametrize("earlier", [False, True], ids=["alone", "after another run"])
def test_a_kill_between_looks_changes_nothing(
    earlier: bool, driver: Driver, tmp_path: Path
) -> None:
    """Killed after any one write, while judges are asked or when all were: the same report, and no look
    or output that the whole run does not have. Looks of an earlier run at some cases are on record.
    """
    cases = "".join(f"  - {{id: c{n}, input: an apple {n}}}\n" for n in range(6))
    args = ["suite.yaml", "--target", "words:t", "--judge", "noisy:j", "--judge", "noisy:k"]
    args += ["--min-pass-rate", "0.8", "--json"]

    def prepared(name: str) -> Path:
        folder = tmp_path / name
        prepare(folder)
        (folder / "suite.yaml").write_text(MISREAD + cases)
        if earlier:
            driver.run(folder, [*args, "--case", "c1", "--case", "c3"])
            (folder / "calls.log").unlink()
        return folder

    folder = prepared("whole")
    code = driver.run(folder, args)
    expected, called = report(folder), calls(folder)
    for number in range(1, int((folder / "writes").read_text()) + 1):
        folder = prepared(str(number))
        assert driver.run(folder, args, kill=number) == KILLED
        if is_over(folder):
            continue
        assert driver.run(folder, args) == code, f"write {number}"
        assert report(folder) == expected, f"write {number}"
        extra = set(calls(folder)) - set(called)
        assert not extra, f"write {number}: {extra}"


# What waits for others: for one of several attempts that all break; for one that was passed by last;
# and one that is skipped, for a case that is not opened.
CHAINS = [
    (
        "0.5",
        "c0 'break', attempts: 3, attempt_rule: pass@k",
        "c1 'a pear'",
        "c2 'an apple' after c0",
    ),
    (
        "0.8",
        "c0 'an apple 0', attempts: 3, attempt_rule: best",
        "c1 'an apple 1', attempts: 2, attempt_rule: pass^k, expect: {verdict: fail} after c0",
        "c2 'a pear 2' after c1",
    ),
    (
        "0.3",
        "c0 'an apple'",
        "c1 'good apple'",
        "c2 'one apple'",
        "c3 'apple', skip: later after c2",
    ),
]


@pytest.mark.parametrize("chain", CHAINS, ids=["breaks", "passed by", "skipped"])
def test_cases_that_wait_for_others_are_taken_up_as_they_were(
    chain: tuple[str, ...], driver: Driver, tmp_path: Path
) -> None:
    """Killed after any one write, the same report; and neither run waits forever."""
    rate, *rows = chain
    text = MISREAD.partition("  - ")[0].replace("sure: 90", "sure: 80")
    for row in rows:
        first, _, other = row.partition(" after ")
        id, _, rest = first.partition(" ")
        text += f"  - {{id: {id}, input: {rest}{f', depends_on: [{other}]' if other else ''}}}\n"
    args = ["suite.yaml", "--target", "words:t", "--judge", "noisy:j", "--judge", "noisy:k"]
    args += ["--min-pass-rate", rate, "--json"]

    def prepared(name: str) -> Path:
        prepare(tmp_path / name)
        (tmp_path / name / "suite.yaml").write_text(text)
        return tmp_path / name

    folder = prepared("whole")
    code, expected = driver.run(folder, args), report(folder)
    for number in range(1, int((folder / "writes").read_text()) + 1, 2):
        folder = prepared(str(number))
        assert driver.run(folder, args, kill=number) == KILLED
        if not is_over(folder):
            assert driver.run(folder, args) == code, f"write {number}"
            assert report(folder) == expected, f"write {number}"


REPEATABLE = SUITE.replace("rubric:", "target: {use: 'words:t', repeatable: true}\nrubric:", 1)
AGAIN = ["suite.yaml", "--judge", "words:j", "--concurrency", "1", "--json"]


def test_a_repeatable_target_is_never_asked_twice(driver: Driver, tmp_path: Path) -> None:
    """Killed after any one write, resumed, and run once more: each output was asked for once, an
    error each time.
    """
    folder = tmp_path / "whole"
    prepare(folder)
    (folder / "suite.yaml").write_text(REPEATABLE)
    driver.run(folder, AGAIN)
    expected, writes = report(folder), int((folder / "writes").read_text())
    for number in range(1, writes + 1):
        folder = tmp_path / str(number)
        prepare(folder)
        (folder / "suite.yaml").write_text(REPEATABLE)
        assert driver.run(folder, AGAIN, kill=number) == KILLED
        for _ in range(2):
            driver.run(folder, AGAIN)
            assert report(folder) == expected, f"write {number}"
        asked = {call: n for call, n in calls(folder).items() if call.startswith("target")}
        (broken,) = [call for call in asked if call.startswith("target broken")]
        assert asked.pop(broken) in (2, 3), f"write {number}"
        assert set(asked.values()) == {1}, f"write {number}: {asked}"


def test_judging_again_is_resumed_and_asks_no_target(driver: Driver, tmp_path: Path) -> None:
    """Killed at any one write of `--outputs last`: the same command takes the same run's outputs."""
    again = [
        "suite.yaml",
        "--outputs",
        "last",
        "--judge",
        "words:k",
        "--concurrency",
        "1",
        "--json",
    ]
    whole, writes = None, 1
    for number in (None, *range(1, 20)):
        if whole is not None and number is not None and number > writes:
            break
        folder = tmp_path / str(number)
        prepare(folder)
        driver.run(folder, ALONE)
        before = calls(folder)
        if number is not None:
            assert driver.run(folder, again, kill=number) == KILLED
        if number is None or not is_over(folder):
            driver.run(folder, again)
            writes = int((folder / "writes").read_text()) if number is None else writes
            whole = whole or report(folder)
            assert report(folder) == whole, f"write {number}"
        asked = calls(folder) - before
        assert not [call for call in asked if call.startswith("target")]
        assert set(asked.values()) == {1}, f"write {number}: {asked}"
