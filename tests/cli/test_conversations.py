"""Conversations: the target is asked at each of its replies, with what was said before, and checks
look at one reply or at all.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

# Says how many messages it was given, and the last one; each call is on record.
TARGET = """\
import json, os, sys
messages = json.loads(sys.argv[1])
with open(os.environ["CALLS"], "a") as calls:
    calls.write(json.dumps(messages) + "\\n")
if messages[-1]["content"] == "fail":
    sys.exit("no answer to that")
print(f"reply to {len(messages)}: {messages[-1]['content']}", end="")
"""
SUITE = """\
suite: 1
cases:
  - id: a
    input:
      - {role: user, content: one}
      - {role: target, content: replies}
      - {role: user, content: two}
      - {role: target, content: replies}
    rubric:
      floor: 0
      threshold: 50
      criteria:
        - {id: first, requirement: F, check: {equals: 'reply to 1: one', in: 1}}
        - {id: second, requirement: S, check: {equals: 'reply to 3: two', in: 2}}
        - {id: whole, requirement: W, check: {contains: 'assistant: reply to 1: one'}}
        - {id: third, requirement: T, check: {contains: x, in: 3}}
"""


def run(folder: Path, suite: str, *words: str) -> subprocess.CompletedProcess[str]:
    (folder / "t.py").write_text(TARGET)
    (folder / "s.yaml").write_text(suite)
    target = f"cmd:{sys.executable} t.py {{INPUT_JSON}}"
    line = [
        sys.executable,
        "-m",
        "honestone",
        "eval",
        "s.yaml",
        "--target",
        target,
        "--pass-env",
        "CALLS",
        *words,
    ]
    return subprocess.run(
        line,
        cwd=folder,
        env={**os.environ, "CALLS": str(folder / "calls")},
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
    )


def test_a_target_is_asked_turn_by_turn(tmp_path: Path) -> None:
    """Each time with its own replies; a reply that is not there cannot be judged."""
    done = run(tmp_path, SUITE, "--json", "-q")
    (case,) = json.loads(done.stdout)["cases"]
    scores = {one["id"]: one["score"] for one in case["criteria"]}
    assert scores == {"first": 100, "second": 100, "whole": 100, "third": None}, done.stderr
    calls = [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    assert calls[0] == [{"role": "user", "content": "one"}]
    assert calls[1][1:] == [
        {"role": "assistant", "content": "reply to 1: one"},
        {"role": "user", "content": "two"},
    ]
    assert len(calls) == 2


def test_a_conversation_ends_where_the_target_fails(tmp_path: Path) -> None:
    done = run(tmp_path, SUITE.replace("content: one", "content: fail"), "--json", "-q")
    (case,) = json.loads(done.stdout)["cases"]
    assert "reply 1 of the conversation" in case["error"] and done.returncode == 3
    assert len((tmp_path / "calls").read_text().splitlines()) == 1


def test_a_conversation_on_record_is_not_asked_again(tmp_path: Path) -> None:
    """Its replies are on record, so that checks of them are answered without the target."""
    run(tmp_path, SUITE, "--json", "-q")
    again = subprocess.run(
        [sys.executable, "-m", "honestone", "rescore", "last", "--json"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=200,
        stdin=subprocess.DEVNULL,
    )
    assert "Traceback" not in again.stderr


@pytest.mark.parametrize(
    "written", ["{contains: x, in: 0}", "{contains: x, in: reply}", "{contains: x, in: 1, path: a}"]
)
def test_a_reply_is_named_by_its_number(tmp_path: Path, written: str) -> None:
    done = run(tmp_path, SUITE.replace("{contains: x, in: 3}", written))
    assert done.returncode == 2 and "s.yaml:" in done.stderr
