"""`improve` over a suite whose cases are run several times: attempts count in its belief as in `eval`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.app.workspace import Workspace
from honestone.core.belief.cases.suite import SuiteBelief
from honestone.core.events import BallotCast, SuiteImprovementStarted
from honestone.core.judging.ballot import Question
from honestone.core.loop.state import fold
from honestone.core.loop.suite_belief import SuiteBeliefState, state_of_suite_run
from honestone.core.record.record import read_record
from honestone.testing import ScriptedJudge, ScriptedWorker

RULES = ("pass@k", "pass^k", "mean", "best")
pytestmark = pytest.mark.slow


class Tries:
    """Words that an artifact has are said well in every attempt, the others in the second one alone.
    `misread`: the words of which the first look says the opposite; `crashing`: those whose first
    attempts fail, as many as they are named.
    """

    def __init__(self, folder: Path, misread: str = "", crashing: str = "") -> None:
        self.folder, self.misread, self.crashing = folder, misread, crashing
        self.runs: Counter[tuple[str, str]] = Counter()
        self.looks: Counter[tuple[object, ...]] = Counter()
        (folder / "text.md").write_text("a d g\n")

    def target(self, input: str, artifact: Path) -> str:
        text = artifact.read_text()
        self.runs[text, input] += 1
        number = self.runs[text, input]
        if number <= self.crashing.split().count(input):
            raise RuntimeError("down")
        return f"{'good' if input in text.split() or number == 2 else 'bad'} {number % 2} {text}"

    def judge(self, name: str) -> ScriptedJudge:
        def look(question: Question) -> dict[str, bool]:
            self.looks[name, question.input, question.output, question.draw] += 1
            met = (question.output or "").startswith("good")
            is_misread = question.draw == 0 and question.input in self.misread.split()
            return {item.id: met is not is_misread for _, item in question.items()}

        return ScriptedJudge(look, id=name)

    def improve(
        self, rule: str, attempts: int = 3, rubric: Any = ("It is said well",), **options: Any
    ) -> dict[str, Any]:
        rubric = list(rubric) if isinstance(rubric, tuple) else rubric
        cases = [
            {"id": word, "input": word, "split": split, "rubric": rubric}
            for split, words in (("train", "abc"), ("val", "def"), ("test", "ghi"))
            for word in words
        ]
        suite = {"suite": 1, "attempts": attempts, "attempt_rule": rule, "cases": cases}
        return honestone.improve(
            Path("text.md"),
            suite=suite,
            target=self.target,
            judges=[self.judge(name) for name in ("ann", "bob", "cy")],
            worker=ScriptedWorker(lambda place, brief: "a b c d e f g h i\n"),
            folder=self.folder,
            **options,
        ).to_dict()


@pytest.mark.parametrize("rule", ["pass^k", "mean"])
def test_what_passes_in_every_attempt_is_passed_with_its_probability(
    rule: str, tmp_path: Path
) -> None:
    tries = Tries(tmp_path)
    found = tries.improve(rule, rounds=2)
    assert (found["policy"], found["result"]) == ("belief", "PASSED"), found["reason"]
    assert found["probability"] >= 0.8
    assert max(tries.looks.values()) == 1, "no look is bought twice"
    assert max(tries.runs.values()) <= 3, "no attempt is run twice"


@pytest.mark.parametrize("rule", ["pass@k", "best"])
def test_one_good_attempt_is_enough_where_the_rule_says_so(rule: str, tmp_path: Path) -> None:
    tries = Tries(tmp_path)
    found = tries.improve(rule, rounds=1)
    assert (found["policy"], found["result"]) == ("belief", "PASSED"), found["reason"]
    assert (tmp_path / "text.md").read_text() == "a d g\n", "the original passes"
    assert max(tries.looks.values()) == 1 and max(tries.runs.values()) <= 3


# What fails may score more than what passes: code asks for the second attempt, judges for the rest.
REQUIRED: dict[str, Any] = {
    "threshold": 30,
    "floor": 0,
    "criteria": [
        {"id": "said", "requirement": "It is said well", "weight": 3},
        {"id": "even", "weight": 2, "required": True, "check": {"contains": " 0 "}},
    ],
}


@pytest.mark.parametrize(
    ("rule", "rubric", "crashing"),
    [
        *[(rule, ("It is said well",), "") for rule in RULES],
        ("best", REQUIRED, ""),
        ("mean", {**REQUIRED, "threshold": 20, "criteria": REQUIRED["criteria"][:1]}, "d e"),
        ("mean", {**REQUIRED, "threshold": 20, "criteria": REQUIRED["criteria"][:1]}, "d d e"),
    ],
)
def test_a_loop_believes_of_its_first_split_what_its_run_states(
    rule: str, rubric: Any, crashing: str, tmp_path: Path
) -> None:
    """By the record of the loop alone, as a run that is resumed reads it."""
    Tries(tmp_path, misread="d e", crashing=crashing).improve(rule, rubric=rubric, rounds=1)
    with Workspace.at(tmp_path).open_store() as store:
        runs = {info.id: list(store.events(info.id)) for info in reversed(store.runs())}
        log = next(log for log in runs.values() if isinstance(log[0], SuiteImprovementStarted))
        first = next(event for event in log if isinstance(event, BallotCast))
        state = fold(state_of_suite_run(log[0]), [first])
        assert isinstance(state, SuiteBeliefState) and first.of_run is not None
        record = read_record(runs[first.of_run])
        cases = [one.believed_as for one in record.each()]
        stated = SuiteBelief(cases, len(cases)).chance
        assert stated is not None
        assert state.chance(first.version, "val") == pytest.approx(stated, abs=1e-12)
