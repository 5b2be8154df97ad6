"""Smaller ways to a pass: words that are no answer, doubled keys, bars that nothing can miss."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from .corpus import PYTHON, Attack, Desk, Ended, files

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It is good}]\n"
GRADED = "rubric: 1\ncriteria: [{id: c, requirement: It is, check: {grader: python g.py}}]\n"
EVAL = ("eval", "a.md", "--rubric", "r.yaml", "--json")
REMARK = "nothing can fail"


def script(name: str, body: str, exit: int, **expect: object) -> Attack:
    """A judge that is this program."""

    def build(desk: Desk) -> Iterable[str]:
        files({"a.md": "text\n", "r.yaml": ONE, "j.py": body})(desk)
        return ("--judge", f"script:{PYTHON} j.py")

    return Attack(name=name, hole=11, build=build, command=EVAL, exit=exit, expect=expect)


def graded(name: str, body: str, exit: int) -> Attack:
    """A grading program."""
    return Attack(
        name=name,
        hole=11,
        build=files({"a.md": "text\n", "r.yaml": GRADED, "g.py": body}),
        command=EVAL,
        exit=exit,
    )


def bars(
    name: str, rubric: str, more: str, remarked: bool, form: str = "json", exit: int = 0
) -> Attack:
    def build(desk: Desk) -> None:
        files({"a.md": "text\n", "r.yaml": rubric})(desk)

    def after(desk: Desk, ended: Ended) -> bool:
        return (REMARK in ended.out) == remarked

    command = (
        "eval",
        "a.md",
        "--rubric",
        "r.yaml",
        "--judge",
        "script:false",
        "--format",
        form,
        *more.split(),
    )
    return Attack(name=name, hole=11, build=build, command=command, exit=exit, after=after)


def rate(name: str, more: str, remarked: bool, exit: int) -> Attack:
    text = "suite: 1\ntarget: cmd:cat\ncases: [{id: a, input: one, checks: [{contains: [two]}]}]\n"

    def after(desk: Desk, ended: Ended) -> bool:
        return (REMARK in ended.out) == remarked

    return Attack(
        name=name,
        hole=11,
        build=files({"s.yaml": text}),
        command=("eval", "s.yaml", *more.split()),
        exit=exit,
        after=after,
    )


def printing(text: str) -> str:
    return f"print({text!r})\n"


SAYS = "import sys\nsys.stderr.write({!r})\n"
NO_BARS = "rubric: 1\nthreshold: 0\nfloor: 0\ncriteria: [{id: good, requirement: It is good}]\n"
DEGRADED = {"judges.0.state": "DEGRADED"}
ATTACKS = (
    script("words on stderr and no answer", SAYS.format("Traceback"), 3, **DEGRADED),
    script(
        "words on stderr and an empty line", SAYS.format("Traceback") + "print()\n", 3, **DEGRADED
    ),
    script("a warning and no answer", "import warnings\nwarnings.warn('old')\n", 3, **DEGRADED),
    script("an error and exit code 1", "raise RuntimeError\n", 3, **DEGRADED),
    script(
        "a key twice",
        printing('{"criteria": {"good": {"met": false, "met": true}}}'),
        3,
        **DEGRADED,
    ),
    script(
        "a criterion twice",
        printing('{"criteria": {"good": {"met": false}, "good": {"met": true}}}'),
        3,
        **DEGRADED,
    ),
    script(
        "the criteria twice",
        printing('{"criteria": {"good": {"met": false}}, "criteria": {"good": {"met": true}}}'),
        3,
        **DEGRADED,
    ),
    script("a word for an answer", printing("yes"), 3, **DEGRADED),
    script("a yes as text", printing('{"criteria": {"good": {"met": "true"}}}'), 3, **DEGRADED),
    script("honest exit code 0", "", 0),
    script("honest exit code 1", "raise SystemExit(1)\n", 1),
    script(
        "honest answer and a warning",
        SAYS.format("slow") + printing('{"criteria": {"good": {"met": true}}}'),
        0,
    ),
    graded("a score twice", printing('{"score": 0, "score": 1}'), 3),
    graded("a score twice, the low one last", printing('{"score": 1, "score": 0}'), 3),
    graded(
        "an assertion twice",
        printing('{"assertions": [{"text": "a", "passed": false, "passed": true}]}'),
        3,
    ),
    graded(
        "assertions twice",
        printing('{"assertions": [{"passed": false}], "assertions": [{"passed": true}]}'),
        3,
    ),
    graded(
        "a key twice that is not the score", printing('{"score": 1, "note": "a", "note": "b"}'), 3
    ),
    graded("an escaped key twice", printing('{"score": 0, "\\u0073core": 1}'), 3),
    graded("a score that is not a number", printing('{"score": NaN}'), 3),
    graded("a score without an end", printing('{"score": Infinity}'), 3),
    graded("a score above 1", printing('{"score": 1e999}'), 3),
    graded("a score that is true", printing('{"score": true}'), 3),
    graded("two answers", printing('{"score": 0}\n{"score": 1}'), 3),
    graded("words of a grader on stderr", SAYS.format("Traceback"), 3),
    graded("honest score of 1", printing('{"score": 1}'), 0),
    graded("honest score of 0", printing('{"score": 0}'), 1),
    bars("bars of 0", ONE, "--threshold 0 --floor 0", True),
    bars("bars of 0 in the rubric", NO_BARS, "", True),
    bars("bars of 0 in text", NO_BARS, "", True, "text"),
    bars("bars of 0 in Markdown", NO_BARS, "", True, "markdown"),
    bars("bars of 0 in JUnit", NO_BARS, "", True, "junit"),
    bars("honest threshold", ONE, "--floor 0", False, exit=1),
    bars("honest floor", ONE, "--threshold 0", False, exit=1),
    bars(
        "honest required criterion",
        NO_BARS.replace("good}", "good, required: true}"),
        "",
        False,
        exit=1,
    ),
    rate("no rate", "--min-pass-rate 0", True, 0),
    rate("honest rate", "--min-pass-rate 0.5", False, 1),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


SLEEPS = """
import json, pathlib, sys, time
pathlib.Path(FOLDER, 'calls.txt').open('a').write('x\\n')
sys.stdin.read()
time.sleep(SECONDS)
print(json.dumps({'criteria': {'good': {'met': True}}}))
"""


def sleeping(desk: Desk, name: str, seconds: float | str) -> str:
    desk.put("r.yaml", ONE)
    body = SLEEPS.replace("FOLDER", repr(str(desk.folder)))
    desk.put(name, body.replace("SECONDS", str(seconds)))
    return f"{PYTHON} {name}"


def test_a_vote_that_comes_after_the_minutes_does_not_count(tmp_path: Path) -> None:
    """`--max-minutes` ends the call that is under way: not waited for, and no vote."""
    desk = Desk.new(tmp_path)
    judge = f"script:{sleeping(desk, 'j.py', 300)}"
    desk.put("a.md", "text\n")
    ended = desk.run(*EVAL, "--judge", judge, "--max-minutes", "0.02")
    assert ended.code == 3, ended
    assert "--max-minutes 0.02 are used up" in ended.out


def test_an_output_that_comes_after_the_minutes_is_not_judged(tmp_path: Path) -> None:
    """Neither in a suite, where the case is not run, nor of a target that `eval` names."""
    desk = Desk.new(tmp_path)
    target = f"cmd:{sleeping(desk, 't.py', 300)}"
    desk.put("a.md", "text\n")
    case = "{id: a, input: x, checks: [{contains: criteria}]}"
    desk.put("s.yaml", f"suite: 1\ntarget: {target!r}\ncases: [{case}]\n")
    suite = desk.run("eval", "s.yaml", "--json", "--max-minutes", "0.02")
    assert suite.code == 3 and suite.json["cases"][0]["status"] == "skipped", suite
    judge = desk.judge("yes.py", met=True)
    alone = desk.run(*EVAL, "--judge", judge, "--target", target, "--max-minutes", "0.02")
    assert alone.code == 3 and "no output in time" in alone.out, alone


def test_a_worker_is_not_waited_for_after_the_minutes(tmp_path: Path) -> None:
    """What it was about to change is thrown away; the loop ends."""
    desk = Desk.new(tmp_path)
    desk.put("r.yaml", ONE)
    desk.put("a.md", "text\n")
    worker = desk.worker("import time\na.write_text('good')\ntime.sleep(300)\n")
    judge = desk.judge("j.py", met="good")
    words = ("improve", "a.md", "--rubric", "r.yaml", "--judge", judge, "--worker", worker)
    ended = desk.run(*words, "--max-minutes", "0.05")
    assert ended.code != 0 and desk.read("a.md") == "text\n", ended


def test_calls_of_killed_runs_count(tmp_path: Path) -> None:
    """Killed as often as one likes, the same command makes no more calls than it may."""
    desk = Desk.new(tmp_path)
    hold = str(desk.folder / "hold")
    while_held = f"3600 if __import__('os').path.exists({hold!r}) else 0"
    judge = f"script:{sleeping(desk, 'j.py', while_held)}"
    names = [f"a{number}.md" for number in range(6)]
    for name in names:
        desk.put(name, f"text of {name}\n")
    words = ("eval", *names, "--rubric", "r.yaml", "--judge", judge, "--max-calls", "4")

    def calls() -> int:
        return len(desk.read("calls.txt").splitlines()) if desk.has("calls.txt") else 0

    desk.put("hold", "")
    for _ in range(3):
        before, running = calls(), desk.start(*words)
        deadline = time.monotonic() + 60
        while calls() == before and running.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
        running.kill()
        running.communicate()
    (desk.folder / "hold").unlink()
    ended = desk.run(*words)
    assert calls() <= 4 and ended.code == 3, (calls(), ended)
    assert "--max-calls 4 are used up" in ended.out
