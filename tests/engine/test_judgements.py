"""A panel that judges for a loop, taken up again after a kill: who is asked once more, and who not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from test_loop_runner import Loop, file_loop, reader

from honestone.core.loop.named import policy_named
from honestone.core.loop.state import Accept, Action, LoopState, Policy, RollBack
from honestone.ports import CallFailed
from honestone.testing import ScriptedJudge

REFUSAL = "I'm sorry, but I can't help with that."
UNUSABLE = "It reads well."


class Killed(Exception):
    """The process ends here."""


@dataclass
class KilledBeforeDeciding:
    """A policy whose process is killed when the ballots about a proposal are on record and nothing
    is decided.
    """

    policy: Policy
    name: str = "killed"

    def decide(self, state: LoopState) -> Action:
        action = self.policy.decide(state)
        if isinstance(action, Accept | RollBack):
            raise Killed
        return action


def killed_loop(tmp_path: Path, *steps: Any, **more: Any) -> tuple[Loop, ScriptedJudge]:
    """A loop that was killed in its first round. The second judge of its panel says no to the
    original, and to the proposal what `steps` say.
    """
    second = ScriptedJudge([False, *steps], id="second")
    loop = file_loop(tmp_path, ["one two\n"] * 9, panel=(reader(), second), **more)
    loop.policy = KilledBeforeDeciding(policy_named("keep-best"))
    with pytest.raises(Killed):
        loop.run()
    loop.policy = policy_named("keep-best")
    return loop, second


def ballots_of(loop: Loop, judge: str) -> list[bool]:
    """Whether each ballot of the judge has marks, in order."""
    return [
        bool(one["ballot"]["marks"]) for one in loop.of("ballot") if one["ballot"]["judge"] == judge
    ]


@pytest.mark.parametrize(
    "failed", [(CallFailed("it broke"),), (UNUSABLE, UNUSABLE)], ids=["crashed", "unusable"]
)
def test_a_judge_without_an_answer_is_asked_again_when_the_loop_is_resumed(
    tmp_path: Path, failed: tuple[Any, ...]
) -> None:
    """About the version under decision; the others, whose replies are on record, are not."""
    loop, second = killed_loop(tmp_path, *failed, True, *[True] * 9)
    first, before = loop.panel[0], second.calls
    assert isinstance(first, ScriptedJudge)
    assert ballots_of(loop, "second") == [True, False] and before == 1 + len(failed)
    asked = first.calls
    loop.run()
    assert second.questions[before].artifact.version.text == "one two\n"
    assert ballots_of(loop, "second")[:3] == [True, False, True]
    about = [question.artifact.version.text for question in first.questions[asked:]]
    assert "one two\n" not in about
    assert loop.of("accepted")


def test_a_refusal_on_record_is_a_reply_and_costs_nothing(tmp_path: Path) -> None:
    """The judge is not asked again about this version."""
    loop, second = killed_loop(tmp_path, REFUSAL, *[True] * 9)
    before = second.calls
    loop.run()
    texts = [question.artifact.version.text for question in second.questions[before:]]
    assert "one two\n" not in texts


def test_a_judge_that_fails_once_more_leaves_no_second_ballot(tmp_path: Path) -> None:
    """The record has one failure for the version, not one for each start."""
    loop, second = killed_loop(tmp_path, *[CallFailed("it broke")] * 9)
    loop.policy = KilledBeforeDeciding(policy_named("keep-best"))
    with pytest.raises(Killed):
        loop.run()
    assert second.calls == 3 and ballots_of(loop, "second") == [True, False]


def test_no_call_is_left_for_a_judge_that_failed(tmp_path: Path) -> None:
    """A limit that is reached asks nobody."""
    loop, second = killed_loop(tmp_path, CallFailed("it broke"), *[True] * 9)
    loop.limits = type(loop.limits)(rounds=5, calls=second.calls + 2, minutes=60)
    before = second.calls
    loop.run()
    assert second.calls == before
