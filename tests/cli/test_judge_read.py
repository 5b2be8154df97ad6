"""`honestone judge read`: one reply or many on stdin, what was understood on stdout."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from honestone.cli.judges import judge_read
from honestone.core.errors import FileError, UsageError


def run(*args: str, stdin: str | bytes = "") -> Result:
    return CliRunner().invoke(judge_read.read, list(args), input=stdin)


def read(*args: str, stdin: str | bytes = "") -> list[dict[str, Any]]:
    result = run(*args, stdin=stdin)
    assert result.exit_code == 0, result.exception
    return [json.loads(line) for line in result.stdout.splitlines()]


@pytest.mark.parametrize(
    ("args", "text", "answer"),
    [
        (["--kind", "score"], "I'd give it 8/10.", 8),
        (["--kind", "score", "--scale", "0-1"], "Score: 0.25", 0.25),
        (["--kind", "score", "--scale", "-5..5"], "Score: -2", -2),
        (["--kind", "yes-no"], "Verdict: FAIL", False),
        (["--kind", "pairwise"], "[[B>A]]", "b"),
        (["--kind", "score"], "I cannot say.", None),
    ],
)
def test_one_reply(args: list[str], text: str, answer: object) -> None:
    """One object with the answer, the problems and the repairs; without a verdict the answer is
    null.
    """
    (reading,) = read(*args, stdin=text)
    assert list(reading) == ["answer", "problems", "repairs"]
    assert reading["answer"] == answer and bool(reading["problems"]) == (answer is None)


def test_a_checklist_by_its_items(tmp_path: Path) -> None:
    """The file holds one item a line; the answer names each with true, false or null."""
    items = tmp_path / "items.txt"
    items.write_text("Gives steps\n\n  버전을 적는다 \n", "utf-8")
    (reading,) = read("--kind", "checklist", "--items", str(items), stdin='{"1": true}')
    assert reading["answer"] == {"Gives steps": True, "버전을 적는다": None} and reading["problems"]


def test_many_replies_keep_their_order_and_a_bad_line_is_an_object_too() -> None:
    """JSON lines in, JSON lines out; nothing a line holds stops the next."""
    lines = [
        b'{"text": "Score: 3"}',
        b"not json",
        b'{"other": 1}',
        b"[" * 5000,
        b"",
        b"\xff\xfe",
        b'{"text": "\\ud800 7/10"}',
    ]
    got = read(
        "--kind",
        "score",
        "--jsonl",
        "--field",
        "text",
        stdin=b"\n".join([*lines, b'{"text": "Score: 5"}']),
    )
    assert [reading["answer"] for reading in got] == [3, None, None, None, None, 7, 5]
    assert "line 2 is not JSON" in got[1]["problems"][0] and "'text'" in got[2]["problems"][0]


def test_the_field_is_raw_unless_said() -> None:
    """As in files of recorded replies."""
    assert read("--kind", "yes-no", "--jsonl", stdin='{"raw": "Yes."}\n')[0]["answer"] is True


def test_a_line_too_long_to_hold_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is skipped to its end, and the next line is read."""
    monkeypatch.setattr(judge_read, "LONGEST_LINE", 64)
    stdin = json.dumps({"raw": "x" * 300}) + "\n" + '{"raw": "Score: 5"}\n'
    assert [reading["answer"] for reading in read("--kind", "score", "--jsonl", stdin=stdin)] == [
        None,
        5,
    ]


def test_lines_are_read_one_at_a_time() -> None:
    """So memory stays flat however many there are."""

    class Counting(io.BytesIO):
        served = 0

        def readline(self, size: int | None = -1, /) -> bytes:
            self.served += 1
            return super().readline(-1 if size is None else size)

    stdin = Counting(b'{"raw": 1}\n' * 100)
    next(judge_read._lines(stdin))
    assert stdin.served == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--kind", "score", "--scale", "9"], "two numbers"),
        (["--kind", "score", "--scale", "10-1"], "lower one first"),
        (["--kind", "yes-no", "--scale", "1-10"], "--scale"),
        (["--kind", "score", "--items", "x"], "--items"),
        (["--kind", "score", "--field", "raw"], "--field"),
        (["--kind", "checklist"], "needs the items"),
    ],
)
def test_a_wrong_option_is_refused(args: list[str], said: str) -> None:
    """With the reason, before anything is read."""
    error = run(*args).exception
    assert isinstance(error, UsageError) and said in error.message


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot read"), (b"", "no items"), (b"a\nb\na\n", "twice"), (b"\xff", "UTF-8")],
)
def test_a_bad_file_of_items_is_named(tmp_path: Path, content: bytes | None, said: str) -> None:
    """The place is the file."""
    path = tmp_path / "items.txt"
    if content is not None:
        path.write_bytes(content)
    error = run("--kind", "checklist", "--items", str(path)).exception
    assert isinstance(error, FileError) and error.place == str(path) and said in error.message


def test_the_installed_command(tmp_path: Path) -> None:
    """As typed: the answer on stdout and exit 0, even without a verdict; a usage error is exit 2
    without a traceback.
    """

    def typed(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("honestone")), "judge", "read", *args]
        return subprocess.run(
            command, input=stdin, cwd=tmp_path, capture_output=True, text=True, timeout=60
        )

    done = typed("--kind", "pairwise", stdin="Neither text is better.")
    assert done.returncode == 0 and json.loads(done.stdout)["answer"] is None
    done = typed("--kind", "score", "--scale", "x", stdin="7")
    assert done.returncode == 2 and "--scale" in done.stderr
    assert done.stdout == "" and "Traceback" not in done.stderr
    assert typed().returncode == 2
