"""`python:module:function`: a function as the target."""

from __future__ import annotations

import asyncio
import textwrap
from pathlib import Path
from typing import Any

import pytest

from honestone.adapters.targets.python import PythonTarget
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
    return asyncio.run(target.run(Task(messages=tuple(Message("user", p) for p in prompts or ("hi",)), **task)))


@pytest.mark.parametrize(
    ("function", "text"),
    [("upper", "HI"), ("later", "HI"), ("whole", "hi"), ("Bot.answer", "bot"), ("threads", "done")],
)
def test_what_is_returned_is_the_output(folder: Path, function: str, text: str) -> None:
    """Sync or async, text or object; what is printed is not output, and threads left behind are not waited for."""
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
        ("seven", "is not a JSON text, or an object"),
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


def test_it_is_found_beside_the_suite_too(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In the working directory first; an edited module is another target."""
    elsewhere = tmp_path_factory.mktemp("cwd")
    target = PythonTarget("mymod:upper", cwd=elsewhere, places=[folder], timeout=20)
    target.refuse(())
    assert asyncio.run(target.run(Task(messages=(Message("user", "x"),), isolated=True))).text == "X"
    before = target.identity
    (folder / "mymod.py").write_text("upper = str.lower")
    assert PythonTarget("mymod:upper", cwd=elsewhere, places=[folder], timeout=20).identity != before
