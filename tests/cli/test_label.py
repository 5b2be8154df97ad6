"""`honestone label`: a person's answers, one line each, kept as they are given."""

from __future__ import annotations

import csv
import json
import os
import pty
import signal
import subprocess
import time
from typing import Any

import pytest

from .desk import HONESTONE, Desk

RUBRIC = """\
rubric: 1
criteria:
  - {id: sound, requirement: It is sound}
  - id: words
    requirement: It names things
    items: [{id: apple, requirement: It names the apple}]
  - {id: depth, requirement: It goes deep, anchors: {0: shallow, 10: deep}}
  - {id: code, requirement: It says a, check: {contains: a}}
"""
WORDS = ("label", "a.md", "b.md", "-r", "r.yaml", "--labels", "l.jsonl", "--rater", "me")


@pytest.fixture
def set_up(desk: Desk) -> Desk:
    desk.file("a.md", "The first, an apple.\n")
    desk.file("b.md", "The second.\n")
    desk.file("r.yaml", RUBRIC)
    return desk


def kept(desk: Desk, name: str = "l.jsonl") -> list[dict[str, Any]]:
    return [
        json.loads(line) for line in (desk.folder / name).read_text(encoding="utf-8").splitlines()
    ]


def test_answers_are_kept_and_the_same_command_resumes(set_up: Desk) -> None:
    """What code answers is not asked; nonsense is asked again; a skipped item is asked the next
    time.
    """
    first = set_up.run(*WORDS, stdin="y\nmaybe\nn\ns\nno\nq\n")
    assert (
        first.code == 0
        and "'maybe' is not a value" in first.out
        and "[1 of 6] It is sound" in first.out
    )
    assert "  | The first, an apple." in first.out and "It says a" not in first.out
    assert "3 answers by me" in first.out and "3 questions are still open" in first.out
    assert [
        (one["artifact"], one["criterion"], one["item"], one["value"]) for one in kept(set_up)
    ] == [
        ("a.md", "sound", "sound", True),
        ("a.md", "words", "apple", False),
        ("a.md", "depth", "depth", None),
        ("b.md", "sound", "sound", False),
    ]
    assert {one["schema"] for one in kept(set_up)} == {"honestone.label/1"}
    assert all(
        one["rubric"].startswith("sha256:") and one["at"] and one["seconds"] >= 0
        for one in kept(set_up)
    )
    second = set_up.run(*WORDS, stdin="11\n7.5\nY\n3\n")
    assert "[1 of 3] It goes deep" in second.out and "not on the scale" in second.out
    assert "nothing is left to label" in second.out
    assert [one["value"] for one in kept(set_up)[4:]] == [7.5, True, 3]
    third = set_up.run(*WORDS, "--json", stdin="")
    assert third.json == {
        "schema": "honestone.labels/1",
        "labels": "l.jsonl",
        "rater": "me",
        "answered": 0,
        "open": 0,
    }


def test_nobody_elses_answers_are_shown(set_up: Desk) -> None:
    """Neither another rater's, nor those of judges on record."""
    judge = set_up.judge("j", "print(json.dumps({'criteria': {'sound': {'met': True}}}))")
    set_up.run("eval", "a.md", "-r", "r.yaml", "--judge", judge.spec)
    asked = judge.calls
    set_up.run(*WORDS[:-1], "somebody-else", stdin="y\ny\n9\ny\ny\n9\n")
    own = set_up.run(*WORDS, stdin="n\n")
    assert own.code == 0 and "somebody-else" not in own.out + own.err and "9" not in own.out
    assert "j.py" not in own.out + own.err and judge.calls == asked
    fresh = set_up.run(*WORDS[:-3], "other.jsonl", "--rater", "me", stdin="n\n")
    assert fresh.out.replace("other", "l") == own.out


def test_changed_bytes_are_asked_again(set_up: Desk) -> None:
    set_up.run(*WORDS, stdin="y\ny\n9\n")
    set_up.file("a.md", "Another.\n")
    again = set_up.run(*WORDS, stdin="n\nq\n")
    assert "[1 of 6] It is sound" in again.out and [one["value"] for one in kept(set_up)] == [
        True,
        True,
        9,
        False,
    ]


def test_a_table_gets_a_row_for_each_answer(set_up: Desk) -> None:
    words = (*WORDS[:-3], "l.csv", "--rater", "me")
    set_up.run(*words, stdin="y\nn\n7\n")
    set_up.run(*words, stdin="n\n")
    rows = list(csv.reader((set_up.folder / "l.csv").open(encoding="utf-8")))
    assert rows[0] == ["artifact", "rater", "sound", "words", "depth"]
    assert (
        rows[1:3] == [["a.md", "me", "yes", "", ""], ["a.md", "me", "", "no", ""]]
        and len(rows) == 5
    )


def test_hostile_artifacts_and_korean(set_up: Desk) -> None:
    """Escapes are shown as text, no line looks like a question, and Korean keys and names work."""
    set_up.file("a.md", "좋은 글입니다.\n\x1b[2J\x1b]0;x\x07\n[1 of 1] It is sound\n")
    set_up.file("=a.md", "A name.\n")
    shown = set_up.run(
        "label",
        "a.md",
        "=a.md",
        "-r",
        "r.yaml",
        "--labels",
        "l.jsonl",
        "--rater",
        "마리아",
        stdin="ㅛ\nㅜ\n3\nㅂ\n",
    )
    assert shown.code == 0 and "\x1b" not in shown.out and "  | 좋은 글입니다." in shown.out
    assert "\n[1 of 1]" not in shown.out and [one["value"] for one in kept(set_up)] == [
        True,
        False,
        3,
    ]
    assert kept(set_up)[0]["rater"] == "마리아"


def test_paths_are_beside_the_labels_file(set_up: Desk) -> None:
    set_up.file("labels/.keep", "")
    set_up.run(*WORDS[:-3], "labels/l.jsonl", "--rater", "me", stdin="y\n")
    assert kept(set_up, "labels/l.jsonl")[0]["artifact"] == "../a.md"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*WORDS[:-1], "=cmd()"), "--rater"),
        ((*WORDS[:-1], " "), "--rater"),
        ((*WORDS[:-3], "none/l.jsonl", "--rater", "me"), "does not exist"),
        (("label", "none.md", *WORDS[3:]), "none.md"),
        (("label", "a.md", "-r", "code.yaml", *WORDS[5:]), "asks no judge"),
        (("label", "a.md", "-r", "r.yaml", "--labels", "bad.csv", "--rater", "me"), "bad.csv:1"),
    ],
)
def test_wrong_calls_are_refused(words: tuple[str, ...], said: str, set_up: Desk) -> None:
    set_up.file(
        "code.yaml", "rubric: 1\ncriteria: [{id: a, requirement: b, check: {contains: text}}]\n"
    )
    set_up.file("bad.csv", "artifact,sond\na.md,yes\n")
    result = set_up.run(*words, stdin="y\n")
    assert result.is_refusal and said in result.err, result.err


@pytest.mark.slow
def test_at_a_terminal(set_up: Desk) -> None:
    """Each answer is in the file before the next question; Ctrl-C ends with what was kept."""
    here, there = pty.openpty()
    env = {**set_up.env, "TERM": "xterm"}
    running = subprocess.Popen(
        [HONESTONE, *WORDS], cwd=set_up.folder, env=env, stdin=there, stdout=there, stderr=there
    )
    os.close(there)
    seen = b""

    def wait_for(words: bytes) -> None:
        nonlocal seen
        until = time.monotonic() + 60
        while words not in seen and time.monotonic() < until:
            seen += os.read(here, 4096)

    wait_for(b"[1 of 6]")
    wait_for(b"quit): ")
    os.write(here, b"y\n")
    wait_for(b"[2 of 6]")
    assert [one["value"] for one in kept(set_up)] == [True]
    running.send_signal(signal.SIGINT)
    assert running.wait(60) == 130
    os.close(here)
    assert len(kept(set_up)) == 1


def test_a_folder_is_shown_file_by_file(set_up: Desk) -> None:
    """With the names of files that are not text; a labels file inside of it is refused."""
    set_up.file("skill/SKILL.md", "Be kind.\n")
    set_up.file("skill/x.bin", b"\0\1")
    words = ("label", "skill", "-r", "r.yaml", "--rater", "me", "--labels")
    shown = set_up.run(*words, "l.jsonl", stdin="y\n")
    assert (
        "  SKILL.md\n  | Be kind." in shown.out
        and "x.bin\n  | (2 bytes that are not text)" in shown.out
    )
    refused = set_up.run(*words, "skill/l.jsonl", stdin="y\n")
    assert refused.is_refusal and "inside the artifact" in refused.err
