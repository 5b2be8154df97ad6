"""Runs a `honestone` command in forks of one warm process; each may be told to SIGKILL itself at
its Nth write.

One JSON line in ({cwd, args, kill, when}), one out ({status, writes}). Writes are everything that
changes the store or a file of the person: they are numbered from 1 in each process. Not a test; see
test_kill_everywhere.py.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar

import honestone.cli.improve
import honestone.engine.loop_runner
import honestone.report.pages.markdown
import honestone.report.terminal.improvement_text
from honestone.adapters.stores.sqlite import SqliteStore
from honestone.cli.main import main
from honestone.core.judging.ballot import Question
from honestone.core.suite.case import Case
from honestone.ports import Brief, Output, Task, WorkDone
from honestone.system import plugins
from honestone.system.trust.own_stores import first_use
from honestone.testing import ScriptedJudge, ScriptedWorker

STORE_WRITES = (
    "keep_blobs",
    "start_run",
    "append",
    "append_many",
    "keep_reply",
    "keep_replies",
    "keep_together",
    "finish_run",
)


def log(line: str) -> None:
    handle = os.open("calls.log", os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(handle, f"{line}\n".encode())
    os.close(handle)


# ----------------------------------------------------------------------------------------------------------
# players


def judge(name: str) -> ScriptedJudge:
    """Says yes to an item when its last word stands in the text."""

    def look(question: Question) -> dict[str, Any]:
        version = question.artifact.version
        log(f"{name} {version.digest}")
        return {
            item.id: item.requirement.split()[-1] in version.text for _, item in question.items()
        }

    return ScriptedJudge(look, id=name)


def noisy(name: str) -> ScriptedJudge:
    """Says of a text whether it names the apple, and misreads one of seven looks: each look always
    says the same. The answers to what is asked at once come one after the other, in any order.
    """

    async def look(question: Question) -> str:
        text = question.artifact.version.text
        log(f"{name} {question.draw} {' '.join(text.split())}")
        number = int(sha256(f"{name} {question.draw} {text}".encode()).hexdigest()[:8], 16)
        for _ in range(number % 11 * 40):
            await asyncio.sleep(0)
        met = ("apple" in text) is (number % 7 > 0)
        said = {"met": met, "suggestion": f"look {question.draw}"}
        return json.dumps({"criteria": {one.id: said for one in question.criteria}})

    return ScriptedJudge(look, id=name)


def worker(name: str) -> ScriptedWorker:
    """What it does follows from the focus and the text alone, so a call that was cut off can be
    made again.

    a, c, d: adds the words. b: makes things worse as long as c is missing, then nothing as long as
    d is missing.
    """

    def edit(place: Path, brief: Brief) -> WorkDone:
        (focus,) = brief.focus
        log(f"worker {focus}")
        main_file = place / "main.md" if place.is_dir() else place
        text = main_file.read_text()
        if focus == "b" and "c1" not in text:
            main_file.write_text(text.replace("a2", "broken"))
        elif focus != "b" or "d1" in text:
            main_file.write_text(text + f"{focus}1 {focus}2\n")
            if place.is_dir():
                change_folder(place, focus)
        return WorkDone(ended="exited", exit=0)

    return ScriptedWorker(edit, id=name)


def change_folder(place: Path, focus: str) -> None:
    """Files come, go and become programs, so that one delivery is several writes. (What a worker
    does is not counted.)
    """
    if focus == "a":
        os.remove(place / "old" / "first.md")
        os.remove(place / "old" / "second.md")
        (place / "tool.sh").chmod(0o755)
    (place / "parts").mkdir(exist_ok=True)
    (place / "parts" / f"{focus}.md").write_text(f"part {focus}\n")


class WordsTarget:
    """Answers with its input and the artifact's text; an input `break` breaks it."""

    identity: ClassVar[Mapping[str, Any]] = {"kind": "words"}

    def refuse(self, cases: Sequence[Case]) -> None:
        pass

    async def run(self, task: Task) -> Output:
        assert task.version is not None
        log(f"target {task.case} {task.attempt} {task.version.text.strip()}")
        if task.prompt == "break":
            return Output(text="", error="it broke")
        return Output(
            text=f"{task.prompt} {task.version.text} {task.case} {task.attempt}", diff=None
        )

    async def close(self) -> None:
        pass


def yes(name: str) -> ScriptedJudge:
    """Says yes to everything."""

    def look(question: Question) -> dict[str, Any]:
        log(f"{name} {question.artifact.version.digest}")
        return {item.id: True for _, item in question.items()}

    return ScriptedJudge(look, id=name)


def cook(name: str) -> ScriptedWorker:
    """Spoils the skill at first; when the brief says that this was put back, adds a dish and a
    file.
    """

    def edit(place: Path, brief: Brief) -> WorkDone:
        skill = place / "SKILL.md"
        spoils = "was put back" not in brief.text
        log(f"worker {'spoils' if spoils else 'helps'}")
        if spoils:
            skill.write_text(skill.read_text().replace("* soup is hot\n", "Ask the cook.\n"))
        else:
            skill.write_text(skill.read_text() + "* pie is hot\n")
            (place / "more.md").write_text("* cake is hot\n")
        return WorkDone(ended="exited", exit=0)

    return ScriptedWorker(edit, id=name)


class MenuTarget(WordsTarget):
    """Says what its skill says."""

    identity: ClassVar[Mapping[str, Any]] = {"kind": "menu"}

    async def run(self, task: Task) -> Output:
        log(f"target {task.case} {task.skill.version.digest if task.skill else None}")
        return Output(text=task.skill.text if task.skill else "", diff=None)


class Point:
    """What an installed plugin's entry point looks like."""

    def __init__(self, name: str, make: Callable[[str], Any]) -> None:
        self.name = self.value = name
        self._make = make

    def load(self) -> Callable[..., Any]:
        return lambda rest, context: self._make(rest)


def entry_points(*, group: str) -> list[Point]:
    points = {
        "honestone.judges": [Point("words", judge), Point("yes", yes), Point("noisy", noisy)],
        "honestone.targets": [
            Point("words", lambda rest: WordsTarget()),
            Point("menu", lambda rest: MenuTarget()),
        ],
        "honestone.workers": [Point("words", worker), Point("cook", cook)],
    }
    return points.get(group, [])


# ----------------------------------------------------------------------------------------------------------
# killing


class Killer:
    """Counts writes, and ends this process at the one that it was told, as `kill -9` does."""

    def __init__(self, number: int | None, when: str) -> None:
        self.count = 0
        self._number = number
        self._when = when

    def wrap(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*args: Any, **named: Any) -> Any:
            if (
                Path(str(args[0])).parent.name == "live"
            ):  # Their number depends on the time, and nothing on them.
                return write(*args, **named)
            self.count += 1
            mine = self.count == self._number
            if mine and self._when == "before":
                os.kill(os.getpid(), signal.SIGKILL)
            result = write(*args, **named)
            if mine:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return counted


def run(job: dict[str, Any]) -> None:
    os.chdir(job["cwd"])
    for name, stream in (("out.json", 1), ("err.txt", 2)):
        os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
    killer = Killer(job["kill"], job["when"])
    for name in STORE_WRITES:
        setattr(SqliteStore, name, killer.wrap(getattr(SqliteStore, name)))
    os.replace = killer.wrap(os.replace)
    Path.unlink = killer.wrap(Path.unlink)  # type: ignore[method-assign]
    plugins.entry_points = entry_points  # type: ignore[assignment]
    code: int | str | None = 70
    try:
        main(job["args"])
    except SystemExit as stop:
        code = stop.code
    finally:
        Path("writes").write_text(str(killer.count))
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 70)


def serve() -> None:
    # The account has its key before the first run, so that every run makes the same writes.
    first_use()
    for line in sys.stdin:
        job = json.loads(line)
        child = os.fork()
        if child == 0:
            run(job)
        _, status = os.waitpid(child, 0)
        print(json.dumps({"status": os.waitstatus_to_exitcode(status)}), flush=True)


if __name__ == "__main__":
    assert (
        honestone.cli.improve and honestone.engine.loop_runner
    )  # imported so that the forks need not
    assert honestone.report.terminal.improvement_text and honestone.report.pages.markdown
    serve()
