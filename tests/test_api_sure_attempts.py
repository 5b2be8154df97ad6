"""Suites under `sure` whose cases are run several times: attempts of the target are bought as looks
of judges are, where they can still turn the bar.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

import honestone
from honestone.engine.sure_suites import SuiteAsking


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
        suite: dict[str, Any] = {
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


class Sides:
    """A target that gives these outputs one after the other, and judges that stay with what they say."""

    def __init__(self, *outputs: str | Exception) -> None:
        self._outputs, self.runs, self.calls = outputs, 0, Counter[str]()

    def target(self, input: str) -> str:
        made = self._outputs[self.runs % len(self._outputs)]
        self.runs += 1
        if isinstance(made, Exception):
            raise made
        return made

    def judge(self, name: str, says: Callable[[str], bool]) -> Callable[[Any], Any]:
        def look(request: dict[str, Any]) -> dict[str, Any]:
            text = request["artifact"]["text"]
            self.calls[text] += 1
            met = says(text)
            return _all(request, met=met)

        look.__name__ = look.__qualname__ = name
        return look

    def run(
        self,
        rule: str,
        rubric: Any,
        attempts: int,
        judges: Sequence[Callable[[str], bool]],
        **options: Any,
    ) -> dict[str, Any]:
        case = {
            "id": "x",
            "input": "x",
            "attempts": attempts,
            "attempt_rule": rule,
            "rubric": rubric,
        }
        panel = [self.judge(name, says) for name, says in zip("abcdef", judges, strict=False)]
        return honestone.run_suite([case], target=self.target, judges=panel, **options).to_dict()


def yes(text: str) -> bool:
    return True


def no(text: str) -> bool:
    return False


def is_strong(text: str) -> bool:
    return "strong" in text


CODE = {
    "id": "code",
    "requirement": "It has the word",
    "floor": 50,
    "check": {"contains": "meets"},
}
JUDGED = [{"id": f"j{number}", "requirement": f"It is {number}"} for number in range(4)]


def test_attempts_with_equal_outputs_are_one_text() -> None:
    """By whatever rule it is as probable as of one attempt, from the looks at one text."""
    for options in ({}, {"sure": 98}):
        alone = Sides("same").run("pass@k", ["It holds"], 1, [yes, no], **options)["belief"]
        for rule in ("pass@k", "pass^k", "mean", "best"):
            world = Sides("same")
            found = world.run(rule, ["It holds"], 4, [yes, no], **options)["belief"]
            assert abs(found["probability"] - alone["probability"]) < 0.03, (rule, options)
            assert found["looks"] == world.calls.total(), (rule, options)


@pytest.mark.parametrize("rule", ["pass@k", "pass^k", "mean", "best"])
def test_the_limit_of_looks_that_is_stated_is_the_one_that_holds(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Six looks for each attempt that may be made, by whatever rule and whatever it gave."""
    limits = []
    begin = SuiteAsking.__post_init__

    def noted(self: SuiteAsking) -> None:
        begin(self)
        limits.append(self.most)

    monkeypatch.setattr(SuiteAsking, "__post_init__", noted)
    found = Sides("same").run(rule, ["It holds"], 4, [yes, no], sure=95)["belief"]
    assert limits == [found["max_looks"]] == [24]


def test_one_judge_that_says_yes_of_equal_outputs_decides_no_more_than_of_one() -> None:
    alone = Sides("same").run("mean", ["It holds"], 1, [yes], sure=98)
    world = Sides("same")
    found = world.run("mean", ["It holds"], 5, [yes], sure=98, max_looks=6)
    assert found["verdict"] == alone["verdict"] == "inconclusive"
    assert found["belief"]["looks"] == world.calls.total()


def test_a_text_that_most_attempts_gave_weighs_more_in_their_mean() -> None:
    """Three strong ones of four are above 60 and two of four below it, each looked at once."""
    rubric = {"threshold": 60, "floor": 0, "criteria": JUDGED}
    for outputs, verdict in (
        (("strong", "strong", "strong", "weak"), "pass"),
        (("strong", "weak", "strong", "weak"), "fail"),
    ):
        world = Sides(*outputs)
        found = world.run("mean", rubric, 4, [is_strong] * 5, sure=90)
        assert found["verdict"] == verdict and world.runs == 4
        assert found["belief"]["looks"] == world.calls.total()


@pytest.mark.parametrize("last", ["weak", "strong 4"])
def test_a_mean_takes_a_part_of_a_penalty_for_each_text(last: str) -> None:
    """A rubric with a penalty ended the run. Every good text costs half of what it brings."""
    penalty = {"id": "p", "requirement": "It is long", "weight": -2}
    for threshold, verdict in ((30, "pass"), (70, "fail")):
        rubric = {"threshold": threshold, "floor": 0, "criteria": [*JUDGED, penalty]}
        for outputs in (("strong 1", "strong 1", "strong 1", last), ("strong 1", "strong 2")):
            world = Sides(*outputs)
            found = world.run("mean", rubric, len(outputs), [is_strong] * 5)
            assert found["verdict"] == verdict, (threshold, outputs)
            assert (found["belief"]["probability"] > 0.5) is (verdict == "pass")


def test_what_code_settles_of_an_attempt_does_not_say_which_is_best() -> None:
    """The one that misses the check has the highest marks."""
    rubric = {"threshold": 0, "floor": 0, "criteria": [CODE, *JUDGED]}
    outputs = "it meets the check and is faint", "it is strong"
    assert Sides(*outputs).run("best", rubric, 2, [is_strong] * 3)["verdict"] == "fail"
    world = Sides(*outputs)
    found = world.run("best", rubric, 2, [is_strong] * 3, sure=90)
    assert found["verdict"] == "fail" and set(world.calls) == set(outputs)
    assert found["belief"]["looks"] == world.calls.total(), "those at the best one count too"


def test_a_mean_asks_of_an_attempt_that_code_settles_too() -> None:
    judged = {"id": "j", "requirement": "It is strong", "floor": 60}
    rubric = {"threshold": 0, "floor": 0, "criteria": [CODE, judged]}
    world = Sides("it meets and is strong", "it is strong")
    found = world.run("mean", rubric, 2, [is_strong] * 3, sure=90)
    assert found["verdict"] == "pass" and len(world.calls) == 2


def test_of_an_attempt_whose_target_failed_a_mean_knows_nothing() -> None:
    """Two good ones of three are above 50, whatever the third would be."""
    rubric = {"threshold": 50, "floor": 0, "criteria": ["It is strong"]}
    for options in ({}, {"sure": 90}):
        world = Sides(RuntimeError("it broke"), "strong 1", "strong 2")
        found = world.run("mean", rubric, 3, [is_strong] * 3, **options)
        assert found["verdict"] == "pass" and found["belief"]["probability"] > 0.9, options
    every = Sides(RuntimeError("it broke")).run("mean", rubric, 3, [is_strong], sure=90)
    assert every["cases"][0]["status"] == "target-error"


@pytest.mark.parametrize("asks_all", [False, True])
def test_a_further_attempt_is_run_where_no_look_is_left_and_it_can_decide(
    asks_all: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The judges disagree about the first one and stay with that. With `--all-cases` too: that the
    case has an answer is not all that is asked for.
    """

    class Asking(SuiteAsking):
        def __post_init__(self) -> None:
            self.asks_all = asks_all
            super().__post_init__()

    monkeypatch.setattr("honestone.engine.sure_suites.SuiteAsking", Asking)
    world = Sides("first", "strong", "third")
    found = world.run("pass@k", ["It holds"], 3, [yes, is_strong, yes], sure=95)
    assert found["verdict"] == "pass" and world.runs == 2


def test_a_further_attempt_that_cannot_decide_is_not_run() -> None:
    """What keeps the suite from its bar is the case that was run once."""
    world = World({"x": ["open"], "y": ["good"]})
    panel = [world.judge("a"), lambda request: _all(request, met=True), world.judge("b")]
    cases = [
        {"id": "x", "input": "x", "rubric": ["It holds"]},
        {
            "id": "y",
            "input": "y",
            "attempts": 3,
            "attempt_rule": "pass@k",
            "rubric": ["It holds"],
        },
    ]
    found = honestone.run_suite(cases, target=world.target, judges=panel, sure=95)
    assert found.verdict != "pass" and world.runs["y"] == 1


def _all(request: Mapping[str, Any], *, met: bool) -> dict[str, Any]:
    return {"criteria": {c["id"]: {"met": met} for c in request["criteria"]}}


@pytest.mark.parametrize("rule", ["pass@k", "pass^k", "mean", "best"])
@pytest.mark.parametrize("sure", [95, None])
def test_attempts_whose_targets_all_failed_fail_no_suite(rule: str, sure: int | None) -> None:
    """Whatever the rule is."""
    found = Sides(RuntimeError("it broke")).run(
        rule, ["It is strong"], 2, [is_strong] * 3, sure=sure
    )
    assert found["verdict"] == "inconclusive" and statuses(found) == {"x": "target-error"}


@pytest.mark.parametrize(
    ("rule", "output", "status"),
    [
        ("pass@k", "it is weak", "target-error"),
        ("pass@k", "it is strong", "passed"),
        ("pass^k", "it is weak", "failed"),
        ("pass^k", "it is strong", "target-error"),
    ],
)
@pytest.mark.parametrize("sure", [90, None])
def test_an_attempt_whose_target_failed_leaves_open_what_the_others_do(
    rule: str, output: str, status: str, sure: int | None
) -> None:
    """As by the marks alone."""
    world = Sides(RuntimeError("it broke"), output)
    found = world.run(rule, ["It is strong"], 2, [is_strong] * 3, sure=sure)
    assert statuses(found) == {"x": status}
    verdicts = {"passed": "pass", "failed": "fail", "target-error": "inconclusive"}
    assert found["verdict"] == verdicts[status]


def test_a_suite_says_how_many_looks_of_a_judge_were_alike() -> None:
    """As many as its cases say together, in the same shape."""
    said = 0

    def repeats(request: dict[str, Any]) -> dict[str, Any]:
        return _all(request, met=True)

    def differs(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal said
        said += 1
        answer = {"met": True, "suggestion": str(said)}
        return {"criteria": {one["id"]: answer for one in request["criteria"]}}

    cases = [{"id": id, "input": id, "rubric": ["It holds"]} for id in "xy"]
    found = honestone.run_suite(
        cases, target=lambda input: input, judges=[repeats, differs], sure=99.9
    ).to_dict()
    of_suite = found["belief"]["rests_on"]
    of_cases = [one["belief"]["rests_on"] for one in found["cases"]]
    assert [one["alike"] for one in of_suite] == [6, 0]
    for place, one in enumerate(of_suite):
        assert set(one) == set(of_cases[0][place])
        for key in ("looks", "alike"):
            assert one[key] == sum(rows[place][key] for rows in of_cases)


@pytest.mark.parametrize("options", [{}, {"sure": 90}], ids=["a look each", "by need"])
def test_a_suite_without_its_quorum_says_what_a_single_text_says(options: dict[str, Any]) -> None:
    def broken(request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("offline")

    def good(request: dict[str, Any]) -> dict[str, Any]:
        return _all(request, met=True)

    rubric = {"quorum": 2, "criteria": ["It holds"]}
    cases = [{"id": id, "input": id, "rubric": rubric} for id in "xy"]
    judges = [good, broken]
    suite = honestone.run_suite(cases, target=lambda input: input, judges=judges, **options)
    alone = honestone.evaluate("x", rubric, judges=judges, **options)
    (why,) = alone.to_dict()["reasons"]
    assert why == "the quorum is not met: 1 of 2 judges answered"
    assert suite.verdict == alone.verdict == "inconclusive"
    assert suite.to_dict()["reasons"] == [f"2 cases could not be judged: {why}"]
    assert suite.to_dict()["belief"] is None


@pytest.mark.parametrize(("most", "sure"), [(1, None), (8, None), (12, None), (1, 95), (2, 95)])
def test_a_function_that_judges_has_as_many_calls_at_once_as_are_asked_for(
    most: int, sure: int | None
) -> None:
    """Also where all cases wait for their judges. Each call waits until so many have begun."""
    at_once = found = 0
    everyone = asyncio.Event()

    async def judge(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal at_once, found
        at_once += 1
        found = max(found, at_once)
        if at_once == most:
            everyone.set()
        await everyone.wait()
        at_once -= 1
        return _all(request, met=True)

    async def target(input: str) -> str:
        return input

    cases = [{"id": str(n), "input": str(n), "rubric": ["It holds"]} for n in range(24)]
    options: dict[str, Any] = {} if most == 8 else {"concurrency": most}
    honestone.run_suite(cases, target=target, judges=[judge], sure=sure, **options)
    assert found == most
