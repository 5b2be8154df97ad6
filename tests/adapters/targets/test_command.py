"""`cmd:` targets: input in, output out, and every failure an error instead of a bad output."""

from __future__ import annotations

import asyncio
import os
import sys
import textwrap
from pathlib import Path

import pytest

from honestone.adapters.targets.command import CommandTarget
from honestone.core.artifact import Entry, Version
from honestone.core.suite.case import Message
from honestone.ports import Output, Task
from honestone.system.processes.program import Program

VERSION = Version({"note.md": Entry("früh\r\n".encode())}, is_folder=False)


def target(folder: Path, body: str, *words: str, timeout: float = 20) -> CommandTarget:
    (folder / "t.py").write_text("import os, sys, time\n" + textwrap.dedent(body))
    return CommandTarget(
        Program(argv=[sys.executable, "-I", "-S", "t.py", *words], cwd=folder, timeout=timeout)
    )


def run(made: CommandTarget, input: str | None = None, version: Version = VERSION) -> Output:
    messages = () if input is None else (Message("user", input),)
    return asyncio.run(made.run(Task(messages=messages, version=version)))


def test_input_goes_in_and_output_comes_out_byte_for_byte(tmp_path: Path) -> None:
    """What is given on stdin comes back; without an input it is the artifact's text."""
    echo = target(tmp_path, "sys.stdout.buffer.write(sys.stdin.buffer.read())")
    assert run(echo, "hi ☕\r\n").text == "hi ☕\r\n"
    assert run(echo).text == "früh\r\n"
    assert run(echo, "").text == ""
    assert run(echo).error is None


def test_words_are_filled_in_once_and_never_split(tmp_path: Path) -> None:
    """`{PROMPT}` with blanks and braces stays one word, and what it holds is not looked at again."""
    made = target(
        tmp_path,
        "print(len(sys.argv)); print(sys.argv[1]); print(sys.argv[2])",
        "<{PROMPT}>",
        "{PROMPT}",
    )
    lines = run(made, "a b; {PROMPT_FILE} $HOME").text.splitlines()
    assert lines == ["3", "<a b; {PROMPT_FILE} $HOME>", "a b; {PROMPT_FILE} $HOME"]


def test_files_for_prompt_and_output(tmp_path: Path) -> None:
    """The prompt file holds the input; the output file is the output, whatever is printed."""
    made = target(
        tmp_path,
        "print('noise'); open(sys.argv[2], 'w').write(open(sys.argv[1]).read()[::-1])",
        "{PROMPT_FILE}",
        "{OUTPUT_FILE}",
    )
    assert run(made, "abc").text == "cba"


def test_the_artifact_is_a_private_copy(tmp_path: Path) -> None:
    """`{ARTIFACT}` and `$HONESTONE_ARTIFACT` name a copy that is gone afterwards."""
    body = """
    assert sys.argv[1] == os.environ["HONESTONE_ARTIFACT"]
    open(sys.argv[1] + "/new", "w").write("x")
    print(sys.argv[1])
    print(sorted(os.listdir(sys.argv[1])))
    """
    folder = Version({"a.md": Entry(b"x"), "b.md": Entry(b"y")}, is_folder=True)
    place, listed = run(target(tmp_path, body, "{ARTIFACT}"), "x", folder).text.splitlines()
    assert listed == "['a.md', 'b.md', 'new']"
    assert not os.path.exists(place)


@pytest.mark.parametrize(
    ("body", "words", "error"),
    [
        ("print('fine'); sys.exit('the model is away')", (), "exit code 1: the model is away"),
        ("print('fine'); sys.exit(4)", (), "exit code 4"),
        ("os.kill(os.getpid(), 15)", (), "signal 15"),
        ("print('fine', flush=True); time.sleep(30)", (), "no output within 0.3 s"),
        ("os.write(1, b'\\xff')", (), "not UTF-8"),
        ("print('fine')", ("{OUTPUT_FILE}",), "wrote no output file"),
        ("os.mkdir(sys.argv[1])", ("{OUTPUT_FILE}",), "wrote no output file"),
        ("os.symlink('/etc/hostname', sys.argv[1])", ("{OUTPUT_FILE}",), "wrote no output file"),
        ("open(sys.argv[1], 'w').truncate(20_000_000)", ("{OUTPUT_FILE}",), "more than 16 MiB"),
    ],
)
def test_every_failure_is_an_error_and_never_an_output(
    tmp_path: Path, body: str, words: tuple[str, ...], error: str
) -> None:
    """Exit codes, signals, time-outs, binary output, and output files that are missing, links or
    floods.
    """
    found = run(target(tmp_path, body, *words, timeout=0.3 if "sleep" in body else 20), "x")
    assert found.text == ""
    assert error in str(found.error)


def test_a_program_that_cannot_be_started_is_an_error(tmp_path: Path) -> None:
    """Gone since the start of the run: told, not raised."""
    found = run(CommandTarget(Program(argv=[str(tmp_path / "gone")], cwd=tmp_path, timeout=5)), "x")
    assert "could not be started" in str(found.error)


def test_an_empty_output_is_an_output(tmp_path: Path) -> None:
    """A target may have nothing to say; that is judged."""
    assert run(target(tmp_path, ""), "x").error is None


def test_its_identity_follows_its_program(tmp_path: Path) -> None:
    """An edited program is another target."""
    first = target(tmp_path, "print(1)").identity
    assert target(tmp_path, "print(1)", timeout=2).identity == first
    assert target(tmp_path, "print(2)").identity != first
