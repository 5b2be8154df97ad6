"""`python:module:function`: a function as the target."""

from __future__ import annotations

import asyncio
import os
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.targets.python import PythonTarget
from honestone.core.artifact import Version
from honestone.core.errors import UsageError
from honestone.core.suite.case import Message
from honestone.ports import Output, Task

MODULE = """
    import asyncio, os, sys, threading, time
    def upper(text):
        print("noise")
        os.system("echo noise")
        return text.upper()
    async def later(text):
        await asyncio.sleep(0)
        return upper(text)
    def whole(text):
        return {"output": text, "input_tokens": 3, "tool_calls": [{"name": "search"}]}
    def several(messages):
        return messages[0]["role"] + str(len(messages))
    def boom(text):
        raise ValueError("first line\\nWHYMARK")
    def leaves(text):
        os._exit(0)
    def ends(text):
        sys.exit(3)
    def seven(text):
        return 7
    def strange(text):
        return {"output": object()}
    def slow(text):
        time.sleep(60)
    def flood(text):
        return "x" * 20_000_000
    def threads(text):
        threading.Thread(target=time.sleep, args=(60,)).start()
        return "done"
    class Bot:
        @staticmethod
        def answer(text):
            return "bot"
    number = 7
    """


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mymod.py").write_text(textwrap.dedent(MODULE))
    return tmp_path


def run(folder: Path, function: str, *prompts: str, **task: Any) -> Output:
    target = PythonTarget(f"mymod:{function}", cwd=folder, timeout=20)
    target.refuse(())
    return asyncio.run(
        target.run(Task(messages=tuple(Message("user", p) for p in prompts or ("hi",)), **task))
    )


@pytest.mark.parametrize(
    ("function", "text"),
    [("upper", "HI"), ("later", "HI"), ("whole", "hi"), ("Bot.answer", "bot"), ("threads", "done")],
)
def test_what_is_returned_is_the_output(folder: Path, function: str, text: str) -> None:
    """Sync or async, text or object; what is printed is not output, and threads left behind are not
    waited for.
    """
    output = run(folder, function)
    assert (output.text, output.error) == (text, None)
    assert output.duration_ms < 15_000


def test_several_messages_are_a_list(folder: Path) -> None:
    """Of roles and contents."""
    assert run(folder, "several", "a", "b").text == "user2"


def test_an_object_brings_its_trace(folder: Path) -> None:
    """As from any target."""
    output = run(folder, "whole")
    assert output.trace is not None
    assert output.trace.tool_calls is not None
    assert (output.trace.tool_calls[0].name, output.usage.input_tokens) == ("search", 3)


@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("boom", "ValueError: WHYMARK"),
        ("leaves", "without an answer"),
        ("ends", "SystemExit: 3"),
        ("seven", "it returned int, not a text"),
        ("strange", "it returned dict"),
        ("slow", "within 0.5 s"),
        ("flood", "more than 16 MiB"),
    ],
)
def test_every_failure_is_an_error(folder: Path, function: str, error: str) -> None:
    """With its last line; never an output."""
    output = run(folder, function, timeout=0.5 if function == "slow" else None)
    assert error in str(output.error)
    assert output.text == ""


@pytest.mark.parametrize(
    ("function", "says"),
    [
        ("nomodule:f", "No module named 'nomodule'"),
        ("mymod:nothing", "has no attribute 'nothing'"),
        ("mymod:number", "is not a function"),
        ("broken:f", "SyntaxError"),
        ("gone:f", "cannot be called"),
    ],
)
def test_a_function_that_is_not_there_is_refused(folder: Path, function: str, says: str) -> None:
    """Before anything runs, with why."""
    (folder / "broken.py").write_text("def f(:")
    (folder / "gone.py").write_text("import os; os._exit(1)")
    with pytest.raises(UsageError, match=says):
        PythonTarget(function, cwd=folder, timeout=20).refuse(())


@pytest.mark.parametrize("function", ["mymod", "mymod:", ":f", "my mod:f", "../mymod:f"])
def test_a_name_that_is_none_is_refused(folder: Path, function: str) -> None:
    """When the target is made."""
    with pytest.raises(UsageError, match="names no function"):
        PythonTarget(function, cwd=folder, timeout=20)


def test_it_is_found_beside_the_suite_too(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """In the working directory first; an edited module is another target."""
    elsewhere = tmp_path_factory.mktemp("cwd")
    target = PythonTarget("mymod:upper", cwd=elsewhere, places=[folder], timeout=20)
    target.refuse(())
    assert (
        asyncio.run(target.run(Task(messages=(Message("user", "x"),), isolated=True))).text == "X"
    )
    before = target.identity
    (folder / "mymod.py").write_text("upper = str.lower")
    assert (
        PythonTarget("mymod:upper", cwd=elsewhere, places=[folder], timeout=20).identity != before
    )


WARM = """
    import asyncio, os, subprocess, sys, time
    open(os.path.join(os.path.dirname(__file__), "imported"), "a").write(f"{os.getpid()} ")
    kept = []
    def count(text):
        kept.append(text)
        return str(len(kept))
    def does(text):
        print("noise " * 20_000, flush=True)
        if text == "hang":
            subprocess.Popen(["sleep", "61"], start_new_session=True)
            time.sleep(60)
        if text == "die":
            print("LASTWORDS", file=sys.stderr)
            os._exit(3)
        if text == "flood":
            while True:
                print("x" * 100_000)
        return text
    def sees(text):
        here, names = os.getcwd(), sorted(name for name in os.environ if name.startswith("HONESTONE_"))
        os.environ["HONESTONE_LEFT"] = "1"
        os.chdir("/")
        return " ".join([here, *names])
    def reads(text, artifact):
        assert str(artifact) == os.environ["HONESTONE_ARTIFACT"]
        found = artifact.read_text()
        artifact.write_text("changed")
        return found
    loops = set()
    async def loop(text):
        loops.add(asyncio.get_running_loop())
        return str(len(loops))
    """


def tasks(*prompts: str, **more: Any) -> list[Task]:
    return [
        Task(messages=(Message("user", prompt),), case=f"c{n}", **more)
        for n, prompt in enumerate(prompts)
    ]


def warm(
    folder: Path, function: str, cases: list[Task], *, timeout: float = 20
) -> tuple[list[Output], int]:
    """The outputs of one process after the other, and how often the module was imported, the look
    before included.
    """
    (folder / "warm.py").write_text(textwrap.dedent(WARM))
    target = PythonTarget(f"warm:{function}", cwd=folder, timeout=timeout)
    target.refuse(())

    async def all() -> list[Output]:
        try:
            return [await target.run(task) for task in cases]
        finally:
            await target.close()

    outputs = asyncio.run(all())
    return outputs, len((folder / "imported").read_text().split())


def test_a_process_stays(folder: Path) -> None:
    """Imported once; what the module keeps, and the event loop of async functions, lasts from case
    to case.
    """
    outputs, imports = warm(folder, "count", tasks("a", "b", "c"))
    assert ([one.text for one in outputs], imports) == (["1", "2", "3"], 1)
    outputs, _ = warm(folder, "loop", tasks("a", "b"))
    assert [one.text for one in outputs] == ["1", "1"]


def test_as_many_processes_as_cases_at_a_time(folder: Path) -> None:
    """And no more."""
    (folder / "warm.py").write_text(textwrap.dedent(WARM))
    target = PythonTarget("warm:does", cwd=folder, timeout=20)
    target.refuse(())

    async def work(waiting: list[Task]) -> None:
        while waiting:
            assert (await target.run(waiting.pop())).error is None

    async def all() -> None:
        waiting = tasks(*"abcdefgh")
        await asyncio.gather(work(waiting), work(waiting))
        await target.close()

    asyncio.run(all())
    assert len((folder / "imported").read_text().split()) <= 2


@pytest.mark.parametrize(
    ("prompt", "why"),
    [
        ("hang", "no output within 1 s"),
        ("die", "exit code 3: LASTWORDS"),
        ("flood", "more than 16 MiB"),
    ],
)
def test_one_that_fails_is_ended_and_another_takes_its_place(
    folder: Path, prompt: str, why: str
) -> None:
    """With all that it started; the cases around it have their outputs."""
    outputs, imports = warm(
        folder, "does", tasks("a", prompt, "b"), timeout=1 if prompt == "hang" else 20
    )
    assert [one.text for one in outputs] == ["a", "", "b"] and imports == 2
    assert why in str(outputs[1].error)
    assert not sleepers()


def sleepers() -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if (Path("/proc") / pid / "cmdline").read_bytes() == b"sleep\x0061\x00":
                found.append(pid)
        except OSError:
            pass
    return found


def test_each_call_has_its_own_variables_and_folder(
    folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Also after a case that changed them."""
    room = tmp_path_factory.mktemp("room")
    outputs, _ = warm(folder, "sees", [*tasks("a", "b"), *tasks("c", folder=room)])
    names = "HONESTONE_ATTEMPT HONESTONE_CASE HONESTONE_ROOM"
    assert [one.text for one in outputs] == [
        f"{place.resolve()} {names}" for place in (folder, folder, room)
    ]


def test_each_call_has_its_own_copy_of_the_artifact(folder: Path) -> None:
    """As a path, in a parameter and in the variable; without one the case cannot be run."""
    version = Version.of_text("the artifact", "note.md")
    outputs, _ = warm(folder, "reads", [*tasks("a", "b", version=version), *tasks("c")])
    assert [one.text for one in outputs] == ["the artifact", "the artifact", ""]
    assert "given none" in str(outputs[2].error)


def test_nothing_is_left_behind(folder: Path) -> None:
    """Neither a process nor a folder, also where the target is dropped without being closed."""
    (folder / "warm.py").write_text(textwrap.dedent(WARM))
    target = PythonTarget("warm:does", cwd=folder, timeout=20)
    target.refuse(())
    pid = int((folder / "imported").read_text())
    room = target._idle[0].workdir
    assert room.is_dir()
    del target
    for _ in range(200):
        if not Path(f"/proc/{pid}").exists():
            break
        time.sleep(0.05)
    assert not Path(f"/proc/{pid}").exists() and not room.exists()
