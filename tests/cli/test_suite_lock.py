"""Locking a suite: what it asks and who judges may not change unseen."""

from __future__ import annotations

import pytest

from .desk import Desk
from .test_suites import suite, target

CASE = "{id: one, input: one apple, rubric: [says apple], checks: [{contains: apple}]}"


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("says apple", "says pear", "pear"),
        ("input: one apple", "input: another apple", "another"),
        ("{contains: apple}", "{contains: one}", "one"),
        ("cases:", "threshold: 10\ncases:", "threshold"),
        ("{id: one", "{id: zwei", "zwei"),
    ],
)
def test_a_locked_suite_refuses_what_changed(desk: Desk, old: str, new: str, said: str) -> None:
    """Exit 2 before the target runs, and what differs in words."""
    path = suite(desk, CASE)
    judge, made = desk.judge(), target(desk)
    assert desk.run("suite", "lock", "suite.yaml", "--judge", judge.spec).code == 0
    words = ("eval", "suite.yaml", "--locked", "--target", made.spec, "--judge", judge.spec)
    assert desk.run(*words).code == 0
    assert desk.run("suite", "lock", "suite.yaml", "--check", "--judge", judge.spec).code == 0
    path.write_text(path.read_text().replace(old, new))
    ran = made.calls
    refused = desk.run(*words)
    assert refused.is_refusal
    assert said in refused.err
    assert made.calls == ran
    assert desk.run("suite", "lock", "suite.yaml", "--check", "--judge", judge.spec).code == 2


def test_another_judge_or_bar_is_refused_and_another_target_is_not(desk: Desk) -> None:
    """Targets are what is measured; judges and bars are how."""
    suite(desk, CASE)
    judge, other = desk.judge(), desk.judge("other", body="print(json.dumps(reply())) # another")
    desk.run("suite", "lock", "suite.yaml", "--judge", judge.spec)
    words = ("eval", "suite.yaml", "--locked", "--target")
    assert (
        desk.run(*words, target(desk, "t2", body="print(text)").spec, "--judge", judge.spec).code
        == 0
    )
    assert desk.run(*words, target(desk).spec, "--judge", other.spec).is_refusal
    assert desk.run(
        *words, target(desk).spec, "--judge", judge.spec, "--threshold", "50"
    ).is_refusal


def test_without_a_lock_locked_is_refused(desk: Desk) -> None:
    """An option without effect would be believed."""
    suite(desk, CASE)
    assert desk.run(
        "eval",
        "suite.yaml",
        "--locked",
        "--target",
        target(desk).spec,
        "--judge",
        desk.judge().spec,
    ).is_refusal


def test_a_higher_bar_than_the_locked_one_is_judged_and_a_lower_one_is_not(desk: Desk) -> None:
    """Of the suite, by its file or the command."""
    path = suite(desk, CASE)
    path.write_text(path.read_text().replace("cases:", "sure: 90\ncases:"))
    judge, made = desk.judge(), target(desk)
    assert desk.run("suite", "lock", "suite.yaml", "--judge", judge.spec).code == 0
    words = ("eval", "suite.yaml", "--locked", "--target", made.spec, "--judge", judge.spec)
    for fits in ((), ("--sure", "90"), ("--sure", "99.5")):
        assert not desk.run(*words, *fits).is_refusal, fits
    calls = made.calls
    lower = desk.run(*words, "--sure", "89")
    assert lower.is_refusal and "sure" in lower.err and made.calls == calls
