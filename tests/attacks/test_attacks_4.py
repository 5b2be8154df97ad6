"""Code under test does not answer for its tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from .corpus import Attack, files

WRONG = "def add(a, b): return 0\n"
RIGHT = "def add(a, b): return a + b\n"
TEST = "import app\ndef test_add(): assert app.add(1, 2) == 3\n"
RUBRIC = "rubric: 1\ncriteria: [{id: works, requirement: It adds, check: {pytest: tests/test_app.py}}]\n"
EVAL = ("eval", "art", "--rubric", "r.yaml", "--json")


def checked(name: str, code: str, exit: int, tests: str = TEST, **more: str) -> Attack:
    """A pytest check of code that wants to pass; `more` are files of the artifact, `.` written as `__`."""
    parts = {"art/app.py": code, "tests/test_app.py": tests, "r.yaml": RUBRIC}
    parts |= {f"art/{key.replace('__', '.')}": text for key, text in more.items()}
    verdict = {0: "pass", 1: "fail", 3: "inconclusive"}[exit]
    return Attack(name=name, hole=4, build=files(parts), command=EVAL, exit=exit, expect={"verdict": verdict})


ATTACKS = (
    checked("honest code passes", RIGHT, 0),
    checked("code that fails its test", WRONG, 1),
    checked("an error on import", "raise SystemExit(0)\n", 3),
)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.id)
def test_attack(attack: Attack, tmp_path: Path) -> None:
    attack.run(tmp_path)
