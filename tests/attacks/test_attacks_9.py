"""Asking again until yes leaves a trace, and does not certify."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from .corpus import PYTHON, Attack, Desk, Ended

ONE = "rubric: 1\ncriteria: [{id: good, requirement: It says better}]\n"
TWO = "rubric: 1\nfloor: 0\ncriteria: [{id: good, requirement: r}, {id: fine, requirement: s}]\n"
COIN = """\
import json, pathlib, sys
q = json.load(sys.stdin); f = pathlib.Path(__file__).with_suffix(".n"); n = len(f.read_text()) if f.exists() else 0
f.write_text("x" * (n + 1)); said = {said}
print(json.dumps({{"criteria": {{c["id"]: {{"met": said[min(n, len(said) - 1)], "suggestion": "more"}} for c in q["criteria"]}}}}))
"""
EVAL = ("eval", "a.md", "--rubric", "r.yaml", "--json")


def coin(desk: Desk, *said: bool, name: str = "coin.py") -> str:
    """A judge with an answer for each time it is asked."""
    desk.put(name, COIN.format(said=list(said)))
    return f"script:{PYTHON} {desk.folder / name}"


def asked(
    name: str,
    said: tuple[bool, ...],
    scores: list[int] | None,
    *last: str,
    before: str = "--fresh",
    exit: int = 0,
    rubric: str = ONE,
) -> Attack:
    """The same question once for each answer but the last, then what is looked at."""

    def build(desk: Desk) -> Iterable[str]:
        desk.put("a.md", "text\n")
        desk.put("r.yaml", rubric)
        judge = coin(desk, *said)
        for _ in said[1:]:
            desk.run(*EVAL, "--judge", judge, before)
        return ["--judge", judge, *last]

    def after(desk: Desk, ended: Ended) -> bool:
        text = desk.run("show", "last").out
        words = f"asked {len(scores)} times: {' '.join(map(str, scores))}" if scores else "asked "
        return (words in text) == (scores is not None)

    expect = {
        "judges.0.asked": None if scores is None else {"times": len(scores), "scores": scores}
    }
    return Attack(
        name=name, hole=9, build=build, command=EVAL, exit=exit, expect=expect, after=after
    )


def certified(
    name: str,
    result: str,
    exit: int,
    *,
    earlier: tuple[str, ...],
    said: tuple[bool, ...],
    last: tuple[str, ...],
) -> Attack:
    """A loop whose held-out judge was asked before, by the same loop with these options."""

    def build(desk: Desk) -> Iterable[str]:
        desk.put("a.md", "text\n")
        desk.put("r.yaml", ONE)
        worker = desk.worker("a.write_text('text\\nbetter\\n')\n")
        words = [
            "--worker",
            worker,
            "--judge",
            desk.judge("j.py", "better"),
            "--holdout",
            coin(desk, *said),
        ]
        for option in earlier:
            desk.run("improve", "a.md", "--rubric", "r.yaml", *words, *([option] if option else []))
            desk.put("a.md", "text\n")
        return [*words, *last]

    command = ("improve", "a.md", "--rubric", "r.yaml", "--json")
    return Attack(
        name=name, hole=9, build=build, command=command, exit=exit, expect={"result": result}
    )


NO, YES = False, True
ATTACKS = [
    asked("honest question asked once", (YES,), None),
    asked("honest question answered from the record", (YES, NO), None, before="--json"),
    asked("fresh until yes", (NO, NO, NO, YES), [0, 0, 0, 100], "--fresh"),
    asked("fresh once", (NO, YES), [0, 100], "--fresh"),
    asked("fresh, then from the record", (NO, NO, YES, YES), [0, 0, 100]),
    asked(
        "fresh through the API of another threshold",
        (NO, YES),
        [0, 100],
        "--fresh",
        "--threshold",
        "50",
    ),
    asked("fresh in Markdown first", (NO, NO, YES), [0, 0, 100], "--fresh"),
    asked("fresh with two criteria", (NO, YES), [0, 100], "--fresh", rubric=TWO),
    asked("fresh to no", (YES, NO), [100, 0], "--fresh", exit=1),
    certified("honest loop", "PASSED", 0, earlier=(), said=(YES,), last=()),
    certified(
        "a held-out no, then fresh",
        "UNCONFIRMED",
        3,
        earlier=("",),
        said=(NO, YES),
        last=("--fresh",),
    ),
    certified(
        "a held-out no, then fresh twice",
        "UNCONFIRMED",
        3,
        earlier=("", "--fresh"),
        said=(NO, YES, YES),
        last=("--fresh",),
    ),
    certified(
        "fresh from the beginning",
        "UNCONFIRMED",
        3,
        earlier=("--fresh",),
        said=(NO, YES),
        last=("--fresh",),
    ),
    certified(
        "a held-out no, then without fresh",
        "UNCONFIRMED",
        3,
        earlier=("--fresh", "--fresh"),
        said=(NO, YES),
        last=(),
    ),
    certified(
        "a held-out yes stays", "PASSED", 0, earlier=("",), said=(YES, NO), last=("--fresh",)
    ),
]


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_every_report_counts(tmp_path: Path, form: str) -> None:
    """What a person is shown of a verdict says how often it was asked for."""
    desk = Desk.new(tmp_path)
    desk.put("a.md", "text\n")
    desk.put("r.yaml", ONE)
    judge = coin(desk, NO, YES)
    for _ in range(2):
        desk.run(*EVAL, "--judge", judge, "--fresh")
    assert "asked 2 times: 0 100" in desk.run("show", "last", "--format", form).out


def test_asked_by_eval_until_yes_does_not_certify(tmp_path: Path) -> None:
    """The first answer on record to the question is the one that certifies, whoever asked it."""
    desk = Desk.new(tmp_path)
    desk.put("r.yaml", ONE)
    desk.put("a.md", "text\nbetter\n")
    judge = coin(desk, NO, YES)
    for _ in range(2):
        desk.run(*EVAL, "--judge", judge, "--fresh")
    desk.put("a.md", "text\n")
    worker = desk.worker("a.write_text('text\\nbetter\\n')\n")
    words = ("--worker", worker, "--judge", desk.judge("j.py", "better"), "--holdout", judge)
    ended = desk.run("improve", "a.md", "--rubric", "r.yaml", "--json", *words)
    assert (ended.code, ended.json["result"]) == (3, "UNCONFIRMED"), ended
