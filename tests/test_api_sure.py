"""`sure` from Python: one text, a suite, and what is refused before a judge is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.core.judging.ballot import Question
from honestone.testing import ScriptedJudge

RUBRIC = {
    "threshold": 75,
    "floor": 0,
    "criteria": [{"id": f"q{i}", "requirement": f"Property {i} holds"} for i in range(4)],
}


class Judges:
    """Judges that count their looks by case. `says` is asked for the case and the number of the look."""

    def __init__(self, says: Callable[[str, int], bool]) -> None:
        self._says = says
        self.looks: Counter[str] = Counter()

    def named(self, name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def judge(request: dict[str, Any]) -> dict[str, Any]:
            case = str(request.get("input") or "-")
            self.looks[case] += 1
            met = self._says(case, self.looks[case])
            word = f"{name} {self.looks[case]}"
            return {
                "criteria": {c["id"]: {"met": met, "suggestion": word} for c in request["criteria"]}
            }

        judge.__name__ = judge.__qualname__ = name
        return judge

    @property
    def total(self) -> int:
        return sum(self.looks.values())


def echo(input: str) -> str:
    return input


def cases(count: int) -> list[dict[str, Any]]:
    return [{"id": f"c{i}", "input": f"c{i}", "rubric": ["It holds"]} for i in range(count)]


def test_a_text_is_asked_about_until_it_is_sure() -> None:
    """Two judges agree, so two looks or a few more are enough."""
    judges = Judges(lambda case, look: True)
    found = honestone.evaluate(
        "a text", RUBRIC, judges=[judges.named("a"), judges.named("b")], sure=95, max_looks=8
    )
    assert found.verdict == "pass"
    assert found.probability is not None and found.probability >= 0.95
    assert found.belief is not None and found.belief.looks == judges.total <= 5
    assert found.to_dict()["belief"]["target"] == 0.95


def gone(request: dict[str, Any]) -> dict[str, Any]:
    raise RuntimeError("the model is gone")


@pytest.mark.parametrize(
    ("quorum", "verdict"), [(None, "pass"), (1, "pass"), (2, "pass"), (3, "inconclusive")]
)
def test_a_judge_that_fails_is_outvoted_where_no_quorum_needs_it(
    quorum: int | None, verdict: str
) -> None:
    """Looks of the other two decide; a quorum that is not met stays open, however sure they are."""
    judges = Judges(lambda case, look: True)
    rubric = RUBRIC if quorum is None else {**RUBRIC, "quorum": quorum}
    found = honestone.evaluate(
        "a text", rubric, judges=[gone, judges.named("a"), judges.named("b")], sure=95
    )
    assert found.verdict == verdict
    assert found.probability is not None and found.probability >= 0.95


class PricedJudge(ScriptedJudge):
    """A judge whose call costs what its request is long."""

    def size_of(self, question: Question) -> int:
        return len(self.render(question).body)


def test_a_look_at_some_criteria_says_which() -> None:
    """One of forty criteria is contested: a call asks it alone, and its votes are all that differ."""

    def says(name: str) -> Callable[[Question], dict[str, bool]]:
        return lambda asked: {
            one.id: (name, asked.draw, one.id) != ("a", 0, "q7") for one in asked.criteria
        }

    criteria = [{"id": f"q{i}", "requirement": f"Property {i} holds"} for i in range(40)]
    rubric = {"threshold": 100, "floor": 0, "criteria": criteria}
    judges = [PricedJudge(says(name), id=name) for name in "abc"]
    found = honestone.evaluate("a text", rubric, judges=judges, sure=95)
    document = found.to_dict()
    parts = {one["id"]: one["criteria"] for one in document["judges"] if "criteria" in one}
    assert document["verdict"] == "pass" and list(parts.values()) == [["q7"]]
    votes = [len(one["items"][0]["votes"]) for one in document["criteria"]]
    assert votes[7] == document["belief"]["looks"] == max(votes) > votes[6]
    assert document["score"] < 100 and "by the marks alone" in str(document)


def test_without_sure_every_judge_looks_once_and_the_score_is_the_mean() -> None:
    """The probability stands next to it."""
    judges = Judges(lambda case, look: look != 2)
    found = honestone.evaluate("a text", RUBRIC, judges=[judges.named("a"), judges.named("b")])
    assert found.score == 50.0 and judges.total == 2
    assert found.belief is not None and found.belief.target is None
    assert found.belief.decided is None


def test_judges_that_contradict_each_other_leave_it_open() -> None:
    """Inconclusive, within the limit of looks, and a reason says how sure it is."""
    judges = Judges(lambda case, look: look % 2 == 0)
    found = honestone.evaluate(
        "a text", RUBRIC, judges=[judges.named("a"), judges.named("b")], sure=99, max_looks=6
    )
    assert found.verdict == "inconclusive" and judges.total == 6
    assert "% sure that the contract is met" in found.to_dict()["reasons"][0]


def test_a_test_of_what_is_undecided_has_that_word() -> None:
    """Every judge answered, so it was judged: that is what a report says of it, too."""
    judges = Judges(lambda case, look: look % 2 == 0)
    with pytest.raises(honestone.CouldNotJudge, match=r"undecided: the verdict is inconclusive$"):
        honestone.assert_passes(
            "a text", RUBRIC, judge=[judges.named("a"), judges.named("b")], sure=99, max_looks=6
        )
    with pytest.raises(honestone.CouldNotJudge, match="could not be judged: the verdict"):
        honestone.assert_passes("a text", RUBRIC, judge=gone, sure=99)


@pytest.mark.parametrize(("given", "shown"), [(True, "true"), ("95", "'95'"), (0.95, "0.95")])
def test_a_bar_that_is_none_is_shown_as_the_file_has_it(given: object, shown: str) -> None:
    with pytest.raises(honestone.UsageError, match=f"`sure` is {shown}, but must be a percentage"):
        honestone.evaluate("a text", {**RUBRIC, "sure": given}, judges=[gone])


def test_judges_of_one_name_are_two_voters_however_often_each_looks() -> None:
    """The second look of the first one does not take the name of the second one, `look#2`."""
    judges = Judges(lambda case, look: look % 2 == 0)
    panel = [judges.named("look"), judges.named("look")]
    document = honestone.evaluate("a text", RUBRIC, judges=panel, sure=99, max_looks=6).to_dict()
    looks = {one["judge"]: one["looks"] for one in document["belief"]["rests_on"]}
    assert sum(looks.values()) == judges.total == 6 and len(looks) == 2
    assert len({one["id"] for one in document["judges"]}) == 6


def test_a_suite_stops_where_its_bar_is_reached() -> None:
    """Half of sixteen cases have to pass: the others are not asked, and say so."""
    judges = Judges(lambda case, look: True)
    found = honestone.run_suite(
        cases(16),
        target=echo,
        judges=[judges.named("a"), judges.named("b")],
        min_pass_rate=0.5,
        sure=95,
    )
    document = found.to_dict()
    assert found.verdict == "pass" and judges.total <= 30
    assert document["belief"]["probability"] >= 0.95
    skipped = [one for one in document["cases"] if one["status"] == "skipped"]
    assert skipped and all("not asked" in one["reasons"][0] for one in skipped)
    assert "cases not asked" in document["belief"]["sentence"]


def test_a_suite_fails_where_its_bar_is_out_of_reach() -> None:
    """All sixteen have to pass and none does."""
    judges = Judges(lambda case, look: False)
    found = honestone.run_suite(
        cases(16), target=echo, judges=[judges.named("a"), judges.named("b")], sure=95
    )
    assert found.verdict == "fail" and judges.total <= 8


def test_looks_of_a_suite_go_to_the_case_that_is_open() -> None:
    """One case is answered with yes and no in turn, the others always with yes."""
    judges = Judges(lambda case, look: case != "c3" or look % 2 == 0)
    honestone.run_suite(
        cases(6),
        target=echo,
        judges=[judges.named("a"), judges.named("b")],
        sure=95,
        max_looks=30,
    )
    assert judges.looks["c3"] == max(judges.looks.values()) > min(judges.looks.values())
    assert judges.total <= 30


def test_a_case_of_a_suite_is_what_its_looks_make_likely() -> None:
    """One misread mark of several fails a case by the mean, and under `sure` no more."""
    judges = Judges(lambda case, look: case != "c3" or look != 1)
    asked = [judges.named("a"), judges.named("b"), judges.named("c")]
    suite = {"suite": 1, "threshold": 100, "cases": cases(8)}
    found = honestone.run_suite(suite, target=echo, judges=asked, sure=95, max_looks=60).to_dict()
    case = next(one for one in found["cases"] if one["id"] == "c3")
    assert judges.looks["c3"] > 1 and found["verdict"] == "pass"
    assert case["status"] == "passed"
    assert "by the marks alone, whose mean decides nothing here" in str(case)


def test_no_settled_case_is_asked_again_while_another_is_open() -> None:
    """One case is contradicted at each look; every other one is looked at once."""
    judges = Judges(lambda case, look: case != "c3" or look % 2 == 0)
    honestone.run_suite(
        {"suite": 1, "cases": cases(8)},
        target=echo,
        judges=[judges.named("a"), judges.named("b"), judges.named("c")],
        sure=99,
        max_looks=16,
    )
    assert judges.looks["c3"] > 5
    assert all(judges.looks[f"c{i}"] == 1 for i in range(8) if i != 3)


def test_a_suite_soon_ends_where_its_open_case_cannot_be_asked_any_more() -> None:
    """Judges that repeat themselves say no of one case and yes of it: more looks would not tell."""
    looks: Counter[str] = Counter()

    def named(name: str, says_no_of: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
        def judge(request: dict[str, Any]) -> dict[str, Any]:
            looks[name] += 1
            met = request.get("input") != says_no_of
            return {"criteria": {c["id"]: {"met": met} for c in request["criteria"]}}

        judge.__name__ = judge.__qualname__ = name
        return judge

    found = honestone.run_suite(
        {"suite": 1, "cases": cases(8)},
        target=echo,
        judges=[named("a", ""), named("b", "c3")],
        sure=99,
        max_looks=100,
    )
    assert found.to_dict()["belief"]["looks"] == looks.total() < 40
    assert found.to_dict()["verdict"] == "inconclusive"


def test_a_suite_of_code_alone_is_certain() -> None:
    """No judge is needed, and the probability is exactly 1."""
    found = honestone.run_suite(
        [{"id": "a", "input": "xyz", "checks": [{"contains": "y"}]}], target=echo, sure=95
    )
    assert found.verdict == "pass"
    assert found.to_dict()["belief"]["probability"] == 1.0


@pytest.mark.parametrize("bar", [0, 49, 100, -1, 0.95])
def test_a_bar_that_is_none_is_refused_before_a_judge_is_asked(bar: float) -> None:
    """Also one that was meant as a percentage."""
    judges = Judges(lambda case, look: True)
    with pytest.raises(honestone.UsageError, match="sure"):
        honestone.evaluate("a text", RUBRIC, judges=[judges.named("a")], sure=bar)
    assert judges.total == 0


def test_a_limit_of_looks_alone_is_refused() -> None:
    """It limits nothing."""
    judges = Judges(lambda case, look: True)
    for call in (
        lambda: honestone.evaluate("a text", RUBRIC, judges=[judges.named("a")], max_looks=4),
        lambda: honestone.run_suite(cases(2), target=echo, judges=[judges.named("a")], max_looks=4),
    ):
        with pytest.raises(honestone.UsageError, match="--sure"):
            call()
    assert judges.total == 0


@pytest.mark.parametrize("met", [True, False])
def test_one_look_decides_nothing_whatever_ended_the_looks(met: bool) -> None:
    """A limit, or another judge that gives no answer."""
    judges = Judges(lambda case, look: met)

    def silent(request: object) -> None:
        raise RuntimeError("no answer")

    limited: dict[str, Any] = {"judges": [judges.named("a"), judges.named("b")], "max_calls": 1}
    for options in (limited, {"judges": [judges.named("c"), silent], "max_calls": 3}):
        found = honestone.evaluate("a text", RUBRIC, sure=60, fresh=True, **options).to_dict()
        assert found["belief"]["looks"] == 1 and found["belief"]["decided"] is False
        assert found["verdict"] == "inconclusive" and "after 1 look" in str(found["reasons"])


def test_a_case_that_says_sure_alone_is_refused() -> None:
    """Given as mappings: the suite says it, or the call does."""
    judges = Judges(lambda case, look: True)
    given = [{"id": "a", "input": "a", "rubric": {"sure": 95, "criteria": ["It holds"]}}]
    with pytest.raises(honestone.UsageError, match="`sure` belongs to the suite"):
        honestone.run_suite(given, target=echo, judges=[judges.named("a")])
    assert judges.total == 0
    found = honestone.run_suite(given, target=echo, judges=[judges.named("a")], sure=80)
    assert found.to_dict()["belief"]["target"] == 0.8


def _expecting(count: int, expect: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**one, "expect": expect} for one in cases(count)]


@pytest.mark.parametrize(("verdict", "met"), [("pass", True), ("fail", False)])
@pytest.mark.parametrize("is_right", [True, False])
def test_what_is_expected_of_the_verdict_is_as_sure_as_the_looks_at_it(
    verdict: str, met: bool, is_right: bool
) -> None:
    """One look of a judge that can err makes no case certain, whichever verdict is expected."""
    judges = Judges(lambda case, look: met is is_right)
    given = _expecting(6, {"verdict": verdict})
    found = honestone.run_suite(given, target=echo, judges=[judges.named("a")]).to_dict()
    assert found["verdict"] == ("pass" if is_right else "fail")
    belief = found["belief"]
    assert belief["rests_on"] == [{"kind": "looks", "judge": "a()", "looks": 6, "alike": 0}]
    assert 0.5 < belief["probability"] < 0.95 if is_right else belief["probability"] < 0.01


def test_a_case_that_has_to_fail_counts_as_such_while_looks_are_chosen() -> None:
    """Two judges agree with what is expected, so the suite is decided by a few looks."""
    judges = Judges(lambda case, look: case != "c0")
    given = [*_expecting(1, {"verdict": "fail"}), *cases(8)[1:]]
    panel = [judges.named(name) for name in "abc"]
    found = honestone.run_suite(given, target=echo, judges=panel, sure=90)
    assert found.verdict == "pass" and judges.total < 48
    assert found.to_dict()["belief"]["probability"] >= 0.9


@pytest.mark.parametrize(("span", "verdict"), [([90, 100], "pass"), ([0, 50], "fail")])
def test_a_range_of_scores_is_as_sure_as_the_looks_at_it(span: list[int], verdict: str) -> None:
    """It is asked about until it is sure that the true score is inside, or outside."""
    judges = Judges(lambda case, look: True)
    given = [*_expecting(1, {"score": span}), *cases(8)[1:]]
    panel = [judges.named(name) for name in "abc"]
    found = honestone.run_suite(given, target=echo, judges=panel, sure=90).to_dict()
    case = next(one for one in found["cases"] if one["id"] == "c0")
    assert found["verdict"] == verdict and found["belief"]["decided"] is True
    assert (case["status"] == "passed") is (verdict == "pass") and judges.total < 48


def test_no_look_says_how_sure_expected_doubt_is() -> None:
    """Such a case is never certain; looks at the others end once they are settled."""
    judges = Judges(lambda case, look: True)
    given = [*_expecting(1, {"verdict": "inconclusive"}), *cases(8)[1:]]
    panel = [judges.named("a"), judges.named("b")]
    found = honestone.run_suite(given, target=echo, judges=panel, sure=90).to_dict()
    assert found["verdict"] == "inconclusive" and "not asked" not in found["belief"]["sentence"]
    assert judges.looks["c0"] == 1 and judges.total < 48
    enough = honestone.run_suite(given, target=echo, judges=panel, sure=90, min_pass_rate=0.875)
    assert enough.verdict == "pass"


@pytest.mark.parametrize(("span", "verdict"), [([0, 20], "pass"), ([50, 100], "fail")])
def test_a_range_next_to_a_verdict_has_to_be_kept_as_well(span: list[int], verdict: str) -> None:
    """How sure both together are decides."""
    judges = Judges(lambda case, look: case != "c0")
    given = [*_expecting(1, {"verdict": "fail", "score": span}), *cases(8)[1:]]
    panel = [judges.named(name) for name in "abc"]
    assert honestone.run_suite(given, target=echo, judges=panel, sure=80).verdict == verdict


def test_what_code_alone_judges_is_certain_whatever_is_expected_of_it() -> None:
    """Code does not err."""
    check = {"id": "a", "requirement": "It is c0", "check": {"contains": "c0"}}
    given = [{**one, "rubric": [check]} for one in _expecting(1, {"score": [90, 100]})]
    found = honestone.run_suite(given, target=echo).to_dict()
    assert found["verdict"] == "pass" and found["belief"]["probability"] == 1.0


def _yes(request: dict[str, Any]) -> dict[str, Any]:
    return {"criteria": {one["id"]: {"met": True} for one in request["criteria"]}}


def _also_yes(request: dict[str, Any]) -> dict[str, Any]:
    return _yes(request)


def _change_nothing(path: str, brief: str) -> None:
    """A worker."""


def test_improve_takes_a_bar_and_states_it(tmp_path: Path) -> None:
    text = tmp_path / "text.md"
    text.write_text("words\n")
    rubric = {"criteria": [{"id": "a", "requirement": "It holds"}]}
    options: dict[str, Any] = {
        "judges": [_yes],
        "holdouts": [_also_yes],
        "worker": _change_nothing,
        "folder": tmp_path,
    }
    done = honestone.improve(text, rubric, sure=90, max_looks=8, **options).to_dict()
    assert done["belief"]["target"] == 0.9 and done["belief"]["max_looks"] == 8
    assert done["result"] != "PASSED" or done["belief"]["probability"] >= 0.9
    honestone.improve(text, rubric, sure=80, **options)
    with pytest.raises(honestone.UsageError, match="less than 80% sure"):
        honestone.improve(text, rubric, sure=70, **options)
    with pytest.raises(honestone.UsageError, match="keep-best has a rule of its own"):
        honestone.improve(text, rubric, sure=95, policy="keep-best", **options)


def test_a_case_is_decided_by_as_many_judges_as_its_quorum() -> None:
    """One judge's look each would be sure enough; the rubric says two of them."""
    judges = Judges(lambda case, look: True)
    found = honestone.run_suite(
        cases(16),
        target=echo,
        judges=[judges.named("a"), judges.named("b"), judges.named("c")],
        quorum=2,
        min_pass_rate=0.25,
        sure=90,
    )
    assert found.verdict == "pass"
    assert judges.looks and set(judges.looks.values()) == {2}
    assert {one["status"] for one in found.to_dict()["cases"]} == {"passed", "skipped"}


def test_a_case_below_its_quorum_counts_for_no_outcome() -> None:
    """One of two judges is gone: nothing is decided by the other one."""
    judges = Judges(lambda case, look: True)
    found = honestone.run_suite(
        cases(4),
        target=echo,
        judges=[judges.named("a"), gone],
        quorum=2,
        sure=90,
    )
    assert found.verdict == "inconclusive"
    assert {one["status"] for one in found.to_dict()["cases"]} == {"inconclusive"}
    assert judges.total <= 8


def test_a_suite_of_one_case_has_one_case() -> None:
    for says, words in (
        (True, "at least 1 of 1 case passes"),
        (False, "fewer than 1 of 1 case passes"),
    ):
        judges = Judges(lambda case, look, says=says: says)
        panel = [judges.named("a"), judges.named("b")]
        found = honestone.run_suite(cases(1), target=echo, judges=panel, sure=80)
        assert found.belief is not None and f"% sure that {words} (asked" in found.belief.sentence


def test_no_suite_is_decided_on_one_look() -> None:
    """Where all cases have to pass, each has a second look, and one that it contradicts is open."""
    judges = Judges(lambda case, look: case != "c3" or look % 2 == 1)
    found = honestone.run_suite(
        cases(6), target=echo, judges=[judges.named("a"), judges.named("b")], sure=90, max_looks=30
    )
    assert found.verdict == "pass" and min(judges.looks.values()) == 2
    assert judges.looks["c3"] == max(judges.looks.values()) > 2


class Broken(Judges):
    """The target fails at some cases."""

    def __init__(self, says: Callable[[str, int], bool], *broken: str) -> None:
        super().__init__(says)
        self._broken = broken

    def target(self, input: str) -> str:
        if input in self._broken:
            raise RuntimeError("503 from the provider")
        return input

    def run(self, count: int, **options: Any) -> dict[str, Any]:
        panel = [self.named("a"), self.named("b")]
        options = {"sure": 95, **options}
        return honestone.run_suite(
            cases(count), target=self.target, judges=panel, **options
        ).to_dict()


@pytest.mark.parametrize("options", [{}, {"min_pass_rate": 0.5}, {"sure": None}])
def test_targets_that_failed_are_no_failure(options: dict[str, Any]) -> None:
    """Nothing is known of any case."""
    world = Broken(lambda case, look: True, *(f"c{i}" for i in range(6)))
    found = world.run(6, **options)
    assert found["verdict"] == "inconclusive" and found.get("belief") is None


def test_where_a_target_failed_a_suite_that_needs_every_case_is_open() -> None:
    """The others get a look each and no more, since they decide nothing."""
    world = Broken(lambda case, look: True, "c2")
    found = world.run(6)
    assert found["verdict"] == "inconclusive" and set(world.looks.values()) == {1}
    assert not any(one["kind"] == "checks" for one in found["belief"]["rests_on"])
    assert found["belief"]["sentence"].endswith("would not tell; 1 case without an output")


@pytest.mark.parametrize("options", [{}, {"sure": None}])
def test_enough_failures_beside_a_target_that_failed_fail_a_suite(options: dict[str, Any]) -> None:
    """As they do by the marks alone: it would not pass if that case did."""
    world = Broken(lambda case, look: False, "c2")
    assert world.run(6, **options)["verdict"] == "fail"


def test_enough_passes_beside_a_target_that_failed_pass_a_suite() -> None:
    world = Broken(lambda case, look: True, "c2")
    found = world.run(6, min_pass_rate=0.8)
    assert found["verdict"] == "pass" and found["belief"]["probability"] >= 0.95


def test_advice_ends_where_every_judge_repeated_itself() -> None:
    """A higher limit would ask no one, so none is named."""

    def steady(request: dict[str, Any]) -> dict[str, Any]:
        return {"criteria": {c["id"]: {"met": True} for c in request["criteria"]}}

    found = honestone.run_suite(cases(3), target=echo, judges=[steady], sure=99.9).to_dict()
    belief = found["belief"]
    assert found["verdict"] == "inconclusive" and belief["looks"] < belief["max_looks"]
    assert belief["more_looks"] is None
    assert belief["sentence"].endswith("more looks of these judges would not tell")


def test_a_higher_limit_asks_on_where_looks_differ() -> None:
    """Near 50% no number of looks is foreseen, and more of them may tell all the same."""
    judges = Judges(lambda case, look: look % 2 == 0)
    found = honestone.run_suite(
        cases(1), target=echo, judges=[judges.named("a"), judges.named("b")], sure=95, max_looks=4
    ).to_dict()
    assert found["verdict"] == "inconclusive" and judges.total == 4
    assert "would not tell" not in found["belief"]["sentence"]
    assert "--max-looks" in found["belief"]["sentence"]


def test_a_case_to_which_nothing_applies_counts_for_no_outcome() -> None:
    """It neither passes nor fails, and is not asked about for ever."""

    def judge(request: dict[str, Any]) -> dict[str, Any]:
        met = "n/a" if request["input"] == "c0" else True
        return {"criteria": {one["id"]: {"met": met} for one in request["criteria"]}}

    rubric = [{"id": "p", "requirement": "It holds", "may_not_apply": True}]
    cases = [{"id": f"c{n}", "input": f"c{n}", "rubric": {"criteria": rubric}} for n in range(3)]
    found = honestone.run_suite(
        {"suite": 1, "cases": cases}, target=echo, judges=[judge], sure=90, max_looks=20
    ).to_dict()
    rows = {one["id"]: one["status"] for one in found["cases"]}
    assert rows["c0"] == "inconclusive" and rows["c1"] == "passed"
    assert found["verdict"] == "inconclusive"
