"""What a passing verdict must not hide: that the judge was asked before, that it is one judge, that
cases were left out.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .desk import Desk

ROLLS = """
looks = len(open(LOG).readlines())
print(json.dumps({"criteria": {one["id"]: {"met": looks > 3} for one in request["criteria"]}}))
"""
ONE = "rubric: 1\ncriteria:\n  - {id: q, requirement: It is good}\n"


@pytest.mark.parametrize("again", [("--fresh",), ("--max-age", "0")], ids=["fresh", "max-age"])
@pytest.mark.parametrize("kind", ["file", "suite"])
def test_asking_until_yes_leaves_a_trace(ready: Desk, again: tuple[str, ...], kind: str) -> None:
    """A judge says no three times, then yes: whatever had it asked again, the result says how often
    it was asked.
    """
    ready.file("one.yaml", ONE)
    ready.file("suite.yaml", "suite: 1\ncases:\n  - {id: a, input: x, rubric: [It is good]}\n")
    judge = ready.judge("coin", ROLLS)
    words = (
        ("eval", "note.md", "-r", "one.yaml")
        if kind == "file"
        else ("eval", "suite.yaml", "-t", "cmd:cat")
    )
    for _ in range(4):
        ended = ready.run(*words, "-j", judge.spec, *again)
    assert judge.calls == 4
    assert "asked 4 times" in ended.out, ended.out


STARTS = (
    "python3 j.py",
    "env python j.py",
    "python -u j.py",
    "python -W ignore -B j.py",
    "env -i PATH=PATH_HERE LANG=C python3 -s ./j.py",
    "nice -n 5 timeout 60 python3 j.py",
    "python3 k.py",
    "python -m j",
    "env python3 -u -m j",
    "sh -c 'python j.py'",
    "bash -ec 'python -m j'",
    "sh -c 'exec env python3 j.py'",
)


@pytest.mark.parametrize("other", STARTS)
def test_one_script_is_one_judge(ready: Desk, other: str) -> None:
    """However a script is started, it has one vote."""
    text = "import json, sys\njson.load(sys.stdin)\nprint(json.dumps({'criteria': {'q': {'met': True}}}))\n"
    ready.file("j.py", text)
    ready.file("k.py", text)
    ready.file("one.yaml", ONE)
    other = other.replace("PATH_HERE", ready.env["PATH"])
    ended = ready.run(
        "eval",
        "note.md",
        "-r",
        "one.yaml",
        "-j",
        "script:python j.py",
        "-j",
        f"script:{other}",
        "--json",
    )
    assert ended.json["low_confidence"] is True, ended


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "python j.py; true"],
        ["sh", "-c", "X=1 python j.py"],
        ["python", "-m", "no_such"],
        ["sh", "-c", "'unfinished"],
        ["python", "-c", "j"],
    ],
)
def test_other_commands_are_themselves(words: list[str], tmp_path: Path) -> None:
    """What is more than one script, or names none that is here, is compared word by word."""
    from honestone.engine.judging.voter import unwrapped

    (tmp_path / "j.py").write_text("")
    identity = {"command": words, "files": {}}
    assert unwrapped(identity, tmp_path) == identity


@pytest.mark.parametrize(
    "other", ["python3 j.py more", "python3 l.py", "cat j.py", "python3 -c 'print(1)' j.py"]
)
def test_another_script_is_another_judge(ready: Desk, other: str) -> None:
    """Other words after it, another script and another program make another judge."""
    from honestone.engine.judging.voter import essence

    assert shutil.which("cat")
    files = {"j.py": "sha256:j", "l.py": "sha256:l"}
    one = essence({"command": ["python", "j.py"], "files": files})
    words = {"python3 -c 'print(1)' j.py": ["python3", "-c", "print(1)", "j.py"]}.get(
        other, other.split()
    )
    assert one != essence({"command": words, "files": files})


def test_a_part_of_a_suite_says_so(desk: Desk) -> None:
    """`--failed` that passes: in words and in the reasons it is not the whole suite."""
    desk.file(
        "suite.yaml",
        "suite: 1\ncases:\n"
        + "".join(f"  - {{id: c{n}, input: x{n}, checks: [{{contains: x}}]}}\n" for n in range(3)),
    )
    desk.file("bad.sh", 'read line; test "$line" = x1 && test ! -e good && exit 1; echo $line\n')
    assert desk.run("eval", "suite.yaml", "-t", "cmd:sh bad.sh").code != 0
    desk.file("good", "")
    for choice in (("--failed", "--errored"), ("--case", "c1")):
        ended = desk.run("eval", "suite.yaml", "-t", "cmd:sh bad.sh", *choice, "--json")
        assert ended.code == 0, ended
        assert ended.json["reasons"] == ["not the whole suite: 2 of 3 cases were left out"]
        words = desk.run("eval", "suite.yaml", "-t", "cmd:sh bad.sh", "--case", "c1").out
        assert "PARTIAL" in words
        assert "not the whole suite: 2 of 3 cases were left out" in words
