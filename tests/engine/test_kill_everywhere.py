"""`kill -9` at every write of a loop, by number: the same command goes on, pays nothing twice and
ends the same.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from honestone.adapters.stores.sqlite import SqliteStore
from honestone.core.artifact import Version
from honestone.core.events import Event
from honestone.core.record.event_codec import event_to_plain
from honestone.engine.place import load_version
from honestone.system.files import load_artifact

KILLED = -9
RUBRIC = """\
rubric: 1
title: Words
threshold: 90
floor: 0
criteria:
  - {id: a, requirement: A, weight: 40, items: [has a1, has a2]}
  - {id: b, requirement: B, weight: 30, items: [has b1, has b2]}
  - {id: c, requirement: C, weight: 20, items: [has c1, {id: code, requirement: has c2, check: {contains: c2}}]}
  - {id: d, requirement: D, weight: 10, items: [has d1]}
"""
JUDGING = ["--judge", "words:j1", "--judge", "words:j2", "--holdout", "words:witness"]
BY_DEFAULT = ["--worker", "words:w", *JUDGING, "--rounds", "9", "--json"]
COMMAND = [*BY_DEFAULT, "--policy", "keep-best"]


class Driver:
    """A warm process that runs a command in forks."""

    def __init__(self, command: str = "improve") -> None:
        self._command = command
        script = Path(__file__).with_name("kill_driver.py")
        self._process = subprocess.Popen(
            [sys.executable, str(script)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(
        self, folder: Path, args: list[str], *, kill: int | None = None, when: str = "after"
    ) -> int:
        assert self._process.stdin and self._process.stdout
        job = {"cwd": str(folder), "args": [self._command, *args], "kill": kill, "when": when}
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(json.loads(self._process.stdout.readline())["status"])

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.wait(300)
        self._process.stdout.close()


@pytest.fixture(scope="module")
def drivers() -> Iterator[Queue[Driver]]:
    """Two of them, to be taken and given back."""
    waiting: Queue[Driver] = Queue()
    both = [Driver(), Driver()]
    for driver in both:
        waiting.put(driver)
    yield waiting
    for driver in both:
        driver.close()


@dataclass(frozen=True)
class Scene:
    """An artifact on disk and the command that improves it."""

    name: str
    prepare: Callable[[Path], None]
    args: list[str]
    artifact: str

    def original(self, folder: Path) -> Version:
        exclude = {(folder / "doc" / "rubric.yaml").resolve()}
        return load_artifact(folder / self.artifact, exclude=exclude).version


def file_scene(folder: Path) -> None:
    (folder / "rubric.yaml").write_text(RUBRIC)
    (folder / "doc.md").write_bytes(b"draft\r\n")


def folder_scene(folder: Path) -> None:
    doc = folder / "doc"
    (doc / "old").mkdir(parents=True)
    (doc / "rubric.yaml").write_text(RUBRIC)
    (doc / "main.md").write_text("draft\n")
    (doc / "tool.sh").write_text("echo tool\n")
    (doc / "old" / "first.md").write_text("to be removed\n")
    (doc / "old" / "second.md").write_text("to be removed too\n")


SCENES = [
    Scene("file", file_scene, ["doc.md", "--rubric", "rubric.yaml", *COMMAND], "doc.md"),
    Scene("folder", folder_scene, ["doc", "--rubric", "doc/rubric.yaml", *COMMAND], "doc"),
    Scene(
        "output",
        file_scene,
        ["doc.md", "--rubric", "rubric.yaml", *COMMAND, "--output", "new/out.md"],
        "doc.md",
    ),
]
BELIEF = Scene("belief", file_scene, ["doc.md", "--rubric", "rubric.yaml", *BY_DEFAULT], "doc.md")
scenes = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
all_scenes = pytest.mark.parametrize("scene", [*SCENES, BELIEF], ids=lambda scene: scene.name)


@dataclass(frozen=True)
class End:
    """Everything that has to be the same, however often the loop was killed on its way."""

    code: int
    result: str
    rounds: list[tuple[Any, ...]]
    log: list[dict[str, Any]]
    files: dict[str, tuple[bytes, bool]]


def snapshot(folder: Path) -> dict[str, tuple[bytes, bool]]:
    """The person's files: what honestone was told to change and what it must not; leftovers of it,
    too.
    """
    own = {"calls.log", "out.json", "err.txt", "writes"}
    return {
        str(path.relative_to(folder)): (path.read_bytes(), bool(path.stat().st_mode & 0o100))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and path.name not in own
        and ".honestone" not in path.relative_to(folder).parts
    }


def plain_log(log: list[Event]) -> list[dict[str, Any]]:
    """Without times. A reply from the record counts as the call that it once was."""
    out = []
    for one in log:
        event: dict[str, Any] = {
            name: value for name, value in event_to_plain(one).items() if name != "seconds"
        }
        spend = dict(event.get("spend", {}))
        if spend:
            spend["judge_calls"] = spend.pop("judge_calls", 0) + spend.pop("cached_calls", 0)
            event["spend"] = spend
        out.append(event)
    return out


def end_of(folder: Path, code: int, run: str | None = None) -> End:
    store = SqliteStore(folder / ".honestone")
    info = store.find_run(run or "last")
    log = plain_log(store.events(info.id))
    store.close()
    decisions = {e["round"]: e["type"] for e in log if e["type"] in ("accepted", "rejected")}
    rounds = [
        (e["round"], *e["focus"], e["outcome"], decisions.get(e["round"]), e.get("version"))
        for e in log
        if e["type"] == "proposed"
    ]
    return End(code=code, result=info.result or "", rounds=rounds, log=log, files=snapshot(folder))


def calls(folder: Path) -> Counter[str]:
    path = folder / "calls.log"
    return Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()


def on_record(folder: Path) -> tuple[Counter[str], list[str]]:
    """The judge calls whose reply, and the foci whose proposal, is in the store."""
    store = SqliteStore(folder / ".honestone")
    log = [event for info in store.runs() for event in plain_log(store.events(info.id))]
    store.close()
    ballots = Counter(
        f"{event['ballot']['judge'].partition(':')[2]} {event['version']}"
        for event in log
        if event["type"] == "ballot" and event["ballot"]["judge"] != "check"
    )
    return ballots, [event["focus"][0] for event in log if event["type"] == "proposed"]


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory, drivers: Queue[Driver]
) -> Callable[[Scene], tuple[End, Counter[str], int]]:
    """A scene's end, calls and number of writes when nobody kills it; each is run once."""
    known: dict[str, tuple[End, Counter[str], int]] = {}

    def run(scene: Scene) -> tuple[End, Counter[str], int]:
        if scene.name not in known:
            folder = tmp_path_factory.mktemp(scene.name)
            scene.prepare(folder)
            driver = drivers.get()
            code = driver.run(folder, scene.args)
            drivers.put(driver)
            known[scene.name] = (
                end_of(folder, code),
                calls(folder),
                int((folder / "writes").read_text()),
            )
        return known[scene.name]

    return run


@scenes
def test_the_loop_that_is_killed_has_every_kind_of_event(scene: Scene, undisturbed: Any) -> None:
    """Otherwise killing it everywhere would prove little."""
    end, called, writes = undisturbed(scene)
    kinds = Counter(event["type"] for event in end.log)
    outcomes = [(focus, outcome, decision) for _, focus, outcome, decision, _ in end.rounds]
    assert (end.code, end.result) == (0, "PASSED")
    assert outcomes == [
        ("a", "changed", "accepted"),
        ("b", "changed", "rejected"),
        ("b", "changed", "rejected"),
        ("c", "changed", "accepted"),
        ("b", "unchanged", "rejected"),
        ("b", "unchanged", "rejected"),
        ("d", "changed", "accepted"),
        ("b", "changed", "accepted"),
    ]
    assert kinds["delivering"] == kinds["delivered"] == 4 and kinds["finished"] == 1
    assert sum(called.values()) == 6 * 2 + 1 + 8, (
        "two judges on six versions, one witness, eight proposals"
    )
    assert writes > 50


@pytest.mark.parametrize(
    ("scene", "when"),
    [(SCENES[0], "before"), (SCENES[0], "after"), (SCENES[1], "before"), (SCENES[2], "before")],
    ids=["file-before", "file-after", "folder-before", "output-before"],
)
def test_killed_at_any_one_write(
    scene: Scene, when: str, undisturbed: Any, drivers: Queue[Driver], tmp_path: Path
) -> None:
    """One kill, at each write in turn; then the same command, which ends as if nothing had
    happened.
    """
    expected, called, writes = undisturbed(scene)

    def one(number: int) -> list[str]:
        folder = tmp_path / str(number)
        folder.mkdir()
        driver = drivers.get()
        try:
            return [
                f"write {number}: {why}"
                for why in kill_once(driver, scene, folder, number, when, expected, called)
            ]
        finally:
            drivers.put(driver)

    with ThreadPoolExecutor(2) as pool:
        troubles = [why for found in pool.map(one, range(1, writes + 1)) for why in found]
    assert not troubles, "\n".join(troubles[:20])


def kill_once(
    driver: Driver,
    scene: Scene,
    folder: Path,
    number: int,
    when: str,
    expected: End,
    called: Counter[str],
) -> Iterator[str]:
    """What is wrong after a kill at one write and another run of the same command."""
    scene.prepare(folder)
    original = scene.original(folder)
    if driver.run(folder, scene.args, kill=number, when=when) != KILLED:
        yield "it was not killed"
        return
    yield from original_is_safe(scene, folder, original)
    before = calls(folder)
    ballots, proposals = on_record(folder)
    finished = is_finished(folder)
    code = driver.run(folder, scene.args)
    again = calls(folder) - before
    if finished:
        # A finished run is never taken up again; a new one over the delivered bytes finds every
        # reply on record.
        yield from same(
            end_of(folder, code, first_run(folder)), expected, files=scene.name != "output"
        )
        if scene.name != "output" and again:
            yield f"everything was over, but it called {dict(again)}"
        return
    yield from same(end_of(folder, code), expected)
    for call in again:
        if call in ballots:
            yield f"{call} was asked again, though its ballot was on record"
    worker_calls = sum(n for call, n in again.items() if call.startswith("worker "))
    if worker_calls != len(expected.rounds) - len(proposals):
        yield f"{worker_calls} more worker calls, though {len(proposals)} of {len(expected.rounds)} proposals were on record"
    # What was in flight may be paid for again: one look of the two judges, or one proposal.
    extra = (before + again) - called
    if len({call.split()[-1] for call in extra}) > 1 or max(extra.values(), default=0) > 1:
        yield f"paid twice: {dict(extra)}"


def same(end: End, expected: End, *, files: bool = True) -> Iterator[str]:
    for name in ("code", "result", "rounds", "files") if files else ("result", "rounds"):
        if getattr(end, name) != getattr(expected, name):
            yield f"{name}: {getattr(end, name)!r} instead of {getattr(expected, name)!r}"
    if end.log != expected.log:
        odd = [(a, b) for a, b in zip(end.log, expected.log, strict=False) if a != b][:1]
        yield f"events: {len(end.log)} instead of {len(expected.log)}, first other {odd}"


def original_is_safe(scene: Scene, folder: Path, original: Version) -> Iterator[str]:
    """The original is on disk as long as there is no run, and in the store from then on."""
    store = SqliteStore(folder / ".honestone")
    runs = store.runs()
    if runs and load_version(store, original.digest) != original:
        yield "the store gave back another original"
    store.close()
    if (not runs or scene.name == "output") and scene.original(folder) != original:
        yield "the original is gone from the disk"


def is_finished(folder: Path) -> bool:
    store = SqliteStore(folder / ".honestone")
    runs = store.runs()
    store.close()
    return bool(runs) and runs[0].finished is not None


def first_run(folder: Path) -> str:
    store = SqliteStore(folder / ".honestone")
    first = store.runs()[-1].id
    store.close()
    return first


@all_scenes
def test_killed_after_every_write_once(
    scene: Scene, undisturbed: Any, drivers: Queue[Driver], tmp_path: Path
) -> None:
    """Every process dies right after its first write: each takes the loop one step further, to the
    same end.
    """
    expected, called, writes = undisturbed(scene)
    scene.prepare(tmp_path)
    driver = drivers.get()
    kills = 0
    try:
        while (
            code := driver.run(tmp_path, scene.args, kill=one_step(tmp_path))
        ) == KILLED and not is_finished(tmp_path):
            kills += 1
            assert kills <= 3 * writes, "it does not get any further"
        if code == KILLED:
            code = expected.code
    finally:
        drivers.put(driver)
    assert list(same(end_of(tmp_path, code), expected)) == []
    extra = calls(tmp_path) - called
    assert sum(extra.values()) <= kills, (
        "each kill may cost the call that was in flight, and no more"
    )
    assert set(extra) <= set(called), "the calls are the same ones"


def one_step(folder: Path) -> int:
    """The first write that gets anywhere: content is kept before the run that it belongs to is
    started.
    """
    store = folder / ".honestone" / "store.db"
    if not store.exists():
        return 1
    opened = SqliteStore(folder / ".honestone")
    started = bool(opened.runs())
    opened.close()
    return 1 if started else 2


@all_scenes
def test_killed_at_every_third_write(
    scene: Scene, undisturbed: Any, drivers: Queue[Driver], tmp_path: Path
) -> None:
    """Killed again and again right before a write, so that what came just before it is what has to
    hold.
    """
    expected, called, writes = undisturbed(scene)
    scene.prepare(tmp_path)
    driver = drivers.get()
    kills = 0
    try:
        while (
            code := driver.run(tmp_path, scene.args, kill=4, when="before")
        ) == KILLED and not is_finished(tmp_path):
            kills += 1
            assert kills <= writes, "it does not get any further"
        if code == KILLED:
            code = expected.code
    finally:
        drivers.put(driver)
    assert kills > 5
    assert list(same(end_of(tmp_path, code), expected)) == []
    assert sum((calls(tmp_path) - called).values()) <= 2 * kills, (
        "each kill may cost one look of the two judges"
    )
