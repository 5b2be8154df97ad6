"""`honestone rubric lock`: what was agreed is written down, and anything else is refused in words."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .desk import GOOD, PYTHON, RUBRIC, Desk


def lock_of(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((desk.folder / "rubric.yaml.lock").read_text())
    return found


@pytest.fixture
def locked(desk: Desk) -> Desk:
    """A rubric locked with a script judge, and a note to judge."""
    desk.rubric()
    desk.file("note.md", GOOD)
    judge = desk.judge()
    result = desk.run("rubric", "lock", "rubric.yaml", "--judge", judge.spec)
    assert result.code == 0, result.err
    return desk


JUDGE = f"script:{PYTHON} judge.py"


def evaluate(desk: Desk, *more: str) -> Any:
    return desk.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", JUDGE, "--json", *more)


def test_the_lock_holds_the_contract_that_eval_has(locked: Desk) -> None:
    """The same id in the lock, in the output of `lock` and in the scorecard."""
    lock = lock_of(locked)
    assert lock["schema"] == "honestone.lock/1"
    assert evaluate(locked).json["contract"] == lock["contract"]
    assert lock["contract"] in locked.run("rubric", "lock", "rubric.yaml", "--judge", JUDGE).out


def test_bars_and_rules_of_the_command_line_are_locked_too(locked: Desk) -> None:
    """`eval` with the same options has the same contract, with others not."""
    options = ("--threshold", "55", "--combine", "median", "--evidence", "off")
    assert locked.run("rubric", "lock", "rubric.yaml", "--judge", JUDGE, *options).code == 0
    assert evaluate(locked, *options).json["contract"] == lock_of(locked)["contract"]
    assert evaluate(locked).json["contract"] != lock_of(locked)["contract"]


def test_locking_twice_writes_the_same_bytes(locked: Desk) -> None:
    """Nothing in it depends on when or where it was written."""
    before = (locked.folder / "rubric.yaml.lock").read_bytes()
    again = locked.run("rubric", "lock", "rubric.yaml", "--judge", JUDGE)
    assert "unchanged" in again.out
    assert (locked.folder / "rubric.yaml.lock").read_bytes() == before
    assert str(locked.folder).encode() not in before
    assert str(locked.home).encode() not in before


def test_an_unchanged_rubric_is_judged_under_lock(locked: Desk) -> None:
    """`eval --locked` judges as ever, and `lock --check` exits 0."""
    assert evaluate(locked, "--locked").code == 0
    assert locked.run("rubric", "lock", "--check", "rubric.yaml", "--judge", JUDGE).code == 0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("threshold: 80", "threshold: 70", "rubric.threshold: 80 became 70"),
        ("weight: 3", "weight: 2", "rubric.criteria.words.weight: 3 became 2"),
        (
            "It names the pear",
            "It names a pear",
            "rubric.criteria.words.items.pear.requirement: It names the pear became It names a pear",
        ),
        (
            "  - id: words",
            "  - id: first\n    requirement: It begins well\n  - id: words",
            'rubric.criteria.first: {"items"',
        ),
    ],
)
def test_a_changed_rubric_is_refused_in_words(locked: Desk, old: str, new: str, says: str) -> None:
    """Exit 2 with what became what, and the judge is not asked."""
    locked.rubric(RUBRIC.replace(old, new))
    for result in (
        evaluate(locked, "--locked"),
        locked.run("rubric", "lock", "--check", "rubric.yaml", "--judge", JUDGE),
    ):
        assert result.is_refusal, result
        assert says in result.err
    assert not (locked.logs / "judge.jsonl").exists()


def test_only_what_changed_is_told(locked: Desk) -> None:
    """A criterion put in front moves no other: one line."""
    locked.rubric(
        RUBRIC.replace(
            "  - id: words", "  - id: first\n    requirement: It begins well\n  - id: words"
        )
    )
    said = evaluate(locked, "--locked").err
    assert len([line for line in said.splitlines() if line.startswith("  rubric.criteria")]) == 1


def test_a_changed_judge_is_refused(locked: Desk) -> None:
    """Another judge, or the same program with other bytes."""
    other = locked.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock", "--locked")
    assert other.is_refusal
    assert "judges.mock" in other.err
    path = locked.folder / "judge.py"
    path.write_text(path.read_text() + "\n# changed\n")
    changed = evaluate(locked, "--locked")
    assert changed.is_refusal
    assert "judge.py" in changed.err
    assert "became" in changed.err


def test_another_order_is_told_as_that(locked: Desk) -> None:
    """Criteria that changed places are the same ones, so the order is named."""
    words, close = RUBRIC.index("  - id: words"), RUBRIC.index("  - id: close")
    locked.rubric(RUBRIC[:words] + RUBRIC[close:] + RUBRIC[words:close])
    result = evaluate(locked, "--locked")
    assert result.is_refusal
    assert "the order of" in result.err


def test_without_a_lock_eval_locked_is_refused(desk: Desk) -> None:
    """It says how to make one."""
    desk.rubric()
    desk.file("note.md", GOOD)
    result = desk.run("eval", "note.md", "--rubric", "rubric.yaml", "--judge", "mock", "--locked")
    assert result.is_refusal
    assert "honestone rubric lock" in result.err


@pytest.mark.parametrize(
    "content",
    ["", "{}", "[1]", "nonsense", '{"schema": "honestone.lock/1", "document": {}}', "[" * 500],
)
def test_a_lock_that_is_none_is_refused(locked: Desk, content: str) -> None:
    """Damaged or edited: exit 2, never a traceback and never a pass."""
    locked.file("rubric.yaml.lock", content)
    assert evaluate(locked, "--locked").is_refusal


def test_an_edited_lock_is_refused(locked: Desk) -> None:
    """Its id no longer fits what it holds."""
    path = locked.folder / "rubric.yaml.lock"
    path.write_text(path.read_text().replace('"threshold": "4/5"', '"threshold": "1/5"'))
    result = evaluate(locked, "--locked")
    assert result.is_refusal
    assert "was edited" in result.err


def test_a_judge_need_not_be_here_to_be_locked(desk: Desk) -> None:
    """It is the same judge on a machine that has its program: the lock holds there."""
    desk.rubric()
    absent = desk.run(
        "rubric", "lock", "rubric.yaml", "--judge", "codex", env={"PATH": "/usr/bin:/bin"}
    )
    assert absent.code == 0, absent.err
    program = desk.file("bin/codex", "#!/bin/sh\necho codex-cli 1.0.0\n")
    program.chmod(0o755)
    there = {"PATH": f"{program.parent}:/usr/bin:/bin"}
    assert (
        desk.run("rubric", "lock", "rubric.yaml", "--judge", "codex", "--check", env=there).code
        == 0
    )
    assert desk.run(
        "rubric", "lock", "rubric.yaml", "--judge", "claude", "--check", env=there
    ).is_refusal


def test_a_changed_checking_program_is_refused(desk: Desk) -> None:
    """A script that a check runs is part of what was locked."""
    desk.rubric(
        "rubric: 1\ncriteria:\n  - {id: runs, requirement: It runs, check: {command: python3 look.py}}\n"
    )
    desk.file("look.py", "print(1)\n")
    desk.file("note.md", GOOD)
    assert desk.run("rubric", "lock", "rubric.yaml", "--sandbox", "none").code == 0
    assert (
        desk.run("eval", "note.md", "--rubric", "rubric.yaml", "--sandbox", "none", "--locked").code
        == 0
    )
    desk.file("look.py", "print(2)\n")
    result = desk.run("eval", "note.md", "--rubric", "rubric.yaml", "--sandbox", "none", "--locked")
    assert result.is_refusal
    assert "look.py" in result.err


def test_a_lock_in_a_folder_is_no_part_of_the_artifact(desk: Desk) -> None:
    """Locking a rubric that lies in the folder judged changes neither its digest nor what judges
    see.
    """
    desk.rubric(
        "rubric: 1\ncriteria:\n  - {id: fruit, requirement: Names it, check: {contains: apple}}\n",
        name="docs/rubric.yaml",
    )
    desk.file("docs/note.md", GOOD)
    before = desk.run("eval", "docs", "--rubric", "docs/rubric.yaml", "--json").json
    assert desk.run("rubric", "lock", "docs/rubric.yaml").code == 0
    after = desk.run("eval", "docs", "--rubric", "docs/rubric.yaml", "--json", "--locked").json
    assert before["artifact"]["digest"] == after["artifact"]["digest"]


@pytest.mark.slow
def test_a_higher_bar_than_the_locked_one_is_judged_and_a_lower_one_is_not(desk: Desk) -> None:
    """`--sure` under `--locked`; `lock --check` compares the file as it is."""
    path = desk.file("rubric.yaml", f"sure: 90\n{RUBRIC}")
    desk.file("note.md", GOOD)
    judge = desk.judge()
    assert desk.run("rubric", "lock", "rubric.yaml", "--judge", judge.spec).code == 0
    for fits in ((), ("--sure", "90"), ("--sure", "95"), ("--sure", "90.5")):
        assert not evaluate(desk, "--locked", *fits).is_refusal, fits
    calls = judge.calls
    lower = evaluate(desk, "--locked", "--sure", "89.5")
    assert lower.is_refusal and "sure" in lower.err and judge.calls == calls
    assert evaluate(desk, "--locked", "--sure", "95", "--threshold", "1").is_refusal
    path.write_text(path.read_text().replace("sure: 90", "sure: 95"))
    assert not evaluate(desk, "--locked").is_refusal
    check = ("rubric", "lock", "--check", "rubric.yaml", "--judge", JUDGE)
    assert desk.run(*check).is_refusal
    path.write_text(path.read_text().replace("sure: 95\n", ""))
    assert evaluate(desk, "--locked").is_refusal


def test_a_bar_where_none_was_locked_is_another_rule(locked: Desk) -> None:
    """The probability would decide where marks did."""
    assert evaluate(locked, "--locked", "--sure", "95").is_refusal
