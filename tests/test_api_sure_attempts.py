"""Suites under `sure` whose cases are run several times: attempts of the target are bought as looks
of judges are, where they can still turn the bar.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import honestone


class World:
    """A target whose attempts at each case give what `outputs` says, and judges that count. A text
    with `good` in it meets the rubric; `misread` are the texts of which the first look says the
    opposite.
    """

    def __init__(self, outputs: Mapping[str, Sequence[str]], misread: Sequence[str] = ()) -> None:
        self._outputs, self._misread = outputs, misread
        self.runs: Counter[str] = Counter()
        self.looks: Counter[str] = Counter()

    def target(self, input: str) -> str:
        self.runs[input] += 1
        made = self._outputs[input]
        number = self.runs[input]
        return f"{input} {made[min(number, len(made)) - 1]} {number}"

    def judge(self, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def look(request: dict[str, Any]) -> dict[str, Any]:
            text = request["artifact"]["text"]
            self.looks[text] += 1
            met = ("good" in text) is not (self.looks[text] == 1 and text in self._misread)
            word = f"{name} {self.looks[text]}"
            return {
                "criteria": {c["id"]: {"met": met, "suggestion": word} for c in request["criteria"]}
            }

        look.__name__ = look.__qualname__ = name
        return look

    def run(self, rule: str, attempts: int = 3, **options: Any) -> dict[str, Any]:
        suite = {
            "suite": 1,
            "attempts": attempts,
            "attempt_rule": rule,
            "cases": [{"id": id, "input": id, "rubric": ["It holds"]} for id in self._outputs],
        }
        panel = [self.judge(name) for name in "abc"]
        options = {"sure": 95, **options}
        found = honestone.run_suite(suite, target=self.target, judges=panel, **options).to_dict()
        assert found["belief"]["looks"] == self.looks.total()
        return found


def statuses(found: Mapping[str, Any]) -> dict[str, str]:
    return {one["id"]: one["status"] for one in found["cases"]}


def test_one_attempt_that_passes_is_enough_for_pass_at_k() -> None:
    """No further attempt is bought."""
    world = World({"x": ["good"], "y": ["good"]})
    found = world.run("pass@k")
    assert found["verdict"] == "pass" and found["belief"]["probability"] >= 0.95
    assert world.runs == {"x": 1, "y": 1}


def test_pass_at_k_buys_another_attempt_where_the_first_one_surely_fails() -> None:
    """And only there."""
    world = World({"x": ["bad", "good"], "y": ["good"]})
    found = world.run("pass@k")
    assert found["verdict"] == "pass" and statuses(found) == {"x": "passed", "y": "passed"}
    assert world.runs == {"x": 2, "y": 1} and world.looks["x bad 1"] > 1


def test_pass_at_k_fails_when_every_attempt_does() -> None:
    world = World({"x": ["bad"], "y": ["good"]})
    found = world.run("pass@k")
    assert found["verdict"] == "fail" and found["belief"]["probability"] <= 0.05
    assert world.runs == {"x": 3, "y": 1} and statuses(found)["x"] == "failed"


def test_pass_hat_k_needs_every_attempt_and_ends_with_one_that_fails() -> None:
    """Of cases that pass each attempt is run; of one that fails the first is enough."""
    passing = World({"x": ["good"], "y": ["good"]})
    found = passing.run("pass^k")
    assert found["verdict"] == "pass" and passing.runs == {"x": 3, "y": 3}
    failing = World({"x": ["bad", "good"], "y": ["good"]})
    found = failing.run("pass^k")
    assert found["verdict"] == "fail" and failing.runs["x"] == 1
    assert statuses(found)["x"] == "failed"


def test_a_misread_attempt_is_looked_at_again_before_it_fails_its_case() -> None:
    """With every mark counted once the case would fail."""
    world = World({f"c{i}": ["good"] for i in range(8)}, misread=["c3 good 1"])
    found = world.run("pass^k")
    assert found["verdict"] == "pass" and set(statuses(found).values()) == {"passed"}
    assert world.looks["c3 good 1"] > max(world.looks[f"c{i} good 1"] for i in range(8) if i != 3)


def test_a_mean_is_about_all_attempts() -> None:
    """Two good ones of three are above a threshold of 60, and below one of 90."""
    for threshold, verdict in ((60, "pass"), (90, "fail")):
        world = World({"x": ["bad", "good", "good"]})
        rubric = {"threshold": threshold, "floor": 0, "criteria": ["It holds"]}
        suite = [{"id": "x", "input": "x", "attempts": 3, "attempt_rule": "mean", "rubric": rubric}]
        found = honestone.run_suite(
            suite, target=world.target, judges=[world.judge(name) for name in "abcde"], sure=90
        )
        assert found.verdict == verdict and world.runs == {"x": 3}


def test_the_best_attempt_speaks_for_its_case() -> None:
    """Every attempt has a look, since each may be the best one."""
    world = World({"x": ["bad", "good", "bad"], "y": ["good"]})
    found = world.run("best", sure=90)
    assert found["verdict"] == "pass" and world.runs == {"x": 3, "y": 3}
    assert next(one for one in found["cases"] if one["id"] == "x")["shown_attempt"] == 2


def test_a_case_states_how_likely_it_passes_by_all_its_attempts() -> None:
    """`belief` is about the attempt shown, `passes` about the case, without `sure` too."""
    world = World({"x": ["good", "bad", "good"]})
    suite = [{"id": "x", "input": "x", "attempts": 3, "attempt_rule": "pass^k", "rubric": ["It"]}]
    panel = [world.judge(name) for name in "abc"]
    found = honestone.run_suite(suite, target=world.target, judges=panel).to_dict()
    (case,) = found["cases"]
    assert case["status"] == "failed" and case["passes"] < 0.2
    assert found["belief"]["probability"] < 0.2


def test_an_attempt_without_output_ends_its_case_and_holds_nothing_up() -> None:
    """A target that fails is no attempt that passes."""

    class Failing(World):
        def target(self, input: str) -> str:
            if input == "y":
                self.runs[input] += 1
                raise RuntimeError("it broke")
            return World.target(self, input)

    world = Failing({"x": ["good"], "y": ["good"]})
    found = world.run("pass^k", min_pass_rate=0.5)
    assert found["verdict"] == "pass" and statuses(found)["y"] == "target-error"
