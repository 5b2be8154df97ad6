"""The evaluator for GEPA: what a candidate scores, what it is told, and what that may cost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import honestone
from honestone.adapters.judges.prompted import PromptedJudge
from honestone.app.judging.evaluated import Evaluated
from honestone.integrations.gepa import RubricEvaluator
from honestone.ports import Completion, Prompt, Usage
from honestone.testing import ScriptedJudge, ScriptedModel, fill_in

RUBRIC: dict[str, Any] = {
    "threshold": 75,
    "floor": 0,
    "criteria": [
        {"id": word, "requirement": f"It names the {word}"} for word in ("apple", "pear", "plum")
    ],
}


class Panel:
    """Judges that name what they miss; their looks are counted. `misread` looks say the contrary."""

    def __init__(self, *, misread: tuple[int, ...] = ()) -> None:
        self.looks = 0
        self.inputs: list[object] = []
        self._misread = misread

    def named(self, name: str) -> Any:
        def judge(request: dict[str, Any]) -> dict[str, Any]:
            self.looks += 1
            self.inputs.append(request.get("input"))
            text, wrong = request["artifact"]["text"], self.looks in self._misread
            return {
                "criteria": {
                    one["id"]: {
                        "met": (one["id"] in text) is not wrong,
                        "suggestion": f"name the {one['id']}, says {name} {self.looks}",
                    }
                    for one in request["criteria"]
                }
            }

        judge.__name__ = judge.__qualname__ = name
        return judge


def test_a_score_is_what_is_expected_and_not_the_mean_of_the_marks() -> None:
    """One look of four misread everything: the mean loses a quarter, the expected score little."""
    right = Panel()
    wrong = Panel(misread=(1,))
    scores = []
    for panel in (right, wrong):
        evaluator = RubricEvaluator(
            RUBRIC, judges=[panel.named("a"), panel.named("b")], sure=99, max_looks=4
        )
        scores.append(evaluator("apple pear plum")[0])
    assert 1.0 >= scores[0] > scores[1] > 0.75


def test_reasons_and_each_criterion_come_back() -> None:
    """What is not met with its suggestion, how sure that is, and a score of each criterion."""
    panel = Panel()
    evaluator = RubricEvaluator(RUBRIC, judges=[panel.named("a"), panel.named("b")])
    score, told = evaluator({"text": "apple pear"})
    assert 0.5 < score < 0.8
    assert told["scores"]["apple"] > 0.9 > 0.2 > told["scores"]["plum"]
    assert "not met: It names the plum (name the plum" in told["Feedback"]
    assert "% sure that the contract is not met (asked: 80%)" in told["Feedback"]
    assert "apple" not in told["Feedback"]


def test_a_clear_candidate_costs_fewer_looks_than_an_open_one() -> None:
    """It is asked by need."""
    clear, open_one = Panel(), Panel(misread=(1, 3, 5))
    for panel in (clear, open_one):
        evaluator = RubricEvaluator(RUBRIC, judges=[panel.named("a"), panel.named("b")], sure=95)
        evaluator("apple pear plum")
    assert clear.looks < open_one.looks <= 6


def test_a_text_that_was_judged_costs_nothing() -> None:
    """An optimiser asks about a parent again and again; another example is another question."""
    panel = Panel()
    evaluator = RubricEvaluator(RUBRIC, judges=[panel.named("a"), panel.named("b")])
    first = evaluator("apple")
    looks = panel.looks
    assert evaluator("apple") == first and panel.looks == looks == evaluator.calls
    found = evaluator.of_response({"input": "Which fruit?", "answer": "a pear"}, "apple")
    assert found.score == first[0] and panel.looks > looks and panel.inputs[-1] == "Which fruit?"


@pytest.mark.parametrize("most", [6, 13, 20])
def test_it_keeps_to_its_budget(most: int) -> None:
    """It says when it is spent, early enough for one more candidate; after that it gives no score."""
    panel = Panel(misread=tuple(range(1, 100, 2)))
    evaluator = RubricEvaluator(
        RUBRIC, judges=[panel.named("a"), panel.named("b")], sure=99, max_calls=most
    )
    tried = 0
    while not evaluator.is_spent():
        evaluator(f"text {tried}")
        tried += 1
    assert tried >= 1 and panel.looks == evaluator.calls <= most
    while most - evaluator.calls >= 2:
        evaluator(f"more {evaluator.calls}")
    with pytest.raises(honestone.CouldNotJudge, match="budget"):
        evaluator("one more")
    assert panel.looks <= most


def test_nobody_who_answers_is_no_score() -> None:
    """A failure is never a number."""

    def gone(request: dict[str, Any]) -> dict[str, Any]:
        raise RuntimeError("the model is gone")

    with pytest.raises(honestone.CouldNotJudge, match="could not be judged"):
        RubricEvaluator(RUBRIC, judges=[gone])("apple")


def test_code_alone_scores_exactly() -> None:
    """Checks need no look."""
    rubric = {
        "criteria": [
            {"id": "a", "check": {"contains": "x"}},
            {"id": "b", "check": {"contains": "y"}},
        ]
    }
    evaluator = RubricEvaluator(rubric, judges=[])
    assert evaluator("x")[0] == 0.5 and evaluator("x y")[0] == 1.0 and evaluator.calls == 0


def test_a_penalty_is_an_objective_to_keep_away_from() -> None:
    """GEPA raises objectives, so that of a penalty is high where it is not incurred."""
    rubric = {
        "threshold": 50,
        "criteria": [
            {"id": "apple", "requirement": "It names the apple", "weight": 2},
            {"id": "pear", "requirement": "It insults the pear", "weight": -1},
        ],
    }
    panel = Panel()
    evaluator = RubricEvaluator(rubric, judges=[panel.named("a"), panel.named("b")])
    clean, insulting = evaluator("apple"), evaluator("apple pear")
    assert clean[0] > insulting[0]
    assert clean[1]["scores"]["pear"] > 0.8 > 0.2 > insulting[1]["scores"]["pear"]
    assert "incurred: It insults the pear" in insulting[1]["Feedback"]
    assert "pear" not in clean[1]["Feedback"]


def test_a_failure_that_passes_is_asked_again() -> None:
    """What no judge answered is not remembered."""
    tries = 0

    def at_last(request: dict[str, Any]) -> dict[str, Any]:
        nonlocal tries
        tries += 1
        if tries <= 4:
            raise RuntimeError("the model is away")
        return {"criteria": {one["id"]: {"met": True} for one in request["criteria"]}}

    evaluator = RubricEvaluator(RUBRIC, judges=[at_last])
    with pytest.raises(honestone.CouldNotJudge):
        evaluator("apple")
    assert evaluator("apple")[0] > 0.5


def test_texts_that_are_judged_at_once_share_the_money(monkeypatch: pytest.MonkeyPatch) -> None:
    """While one text is judged, another thread gets what is left beside what the first may take."""
    limits: list[float] = []
    beside: list[RubricEvaluator] = []

    def watched(text: str, *given: Any, **options: Any) -> Evaluated:
        limits.append(options["max_usd"])
        if beside:
            other = Thread(target=beside.pop(), args=("another text",))
            other.start()
            other.join()
        return honestone.evaluate(text, *given, **options)

    monkeypatch.setattr("honestone.integrations.gepa.evaluate", watched)
    judges = [ScriptedJudge(id=name, usage=Usage(usd=0.01)) for name in "ab"]
    evaluator = RubricEvaluator(RUBRIC, judges=judges, max_usd=0.2)
    evaluator("the first text")
    assert limits == [0.2] and 0.0 < evaluator.usd <= 0.06
    left = 0.2 - evaluator.usd
    beside.append(evaluator)
    evaluator("a text")
    assert sum(limits[1:]) <= left + 1e-9 and min(limits[1:]) > 0.0
    calls = sum(judge.calls for judge in judges)
    assert evaluator.calls == calls and evaluator.usd == pytest.approx(0.01 * calls)


def test_a_text_waits_for_the_money_that_another_one_holds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Before a price is known the first text may take all of it; what it leaves is for the next."""
    others: list[Thread] = []

    def watched(text: str, *given: Any, **options: Any) -> Evaluated:
        if not others:
            others.append(Thread(target=evaluator, args=("another text",)))
            others[0].start()
        return honestone.evaluate(text, *given, **options)

    monkeypatch.setattr("honestone.integrations.gepa.evaluate", watched)
    judges = [ScriptedJudge(id=name, usage=Usage(usd=0.01)) for name in "ab"]
    evaluator = RubricEvaluator(RUBRIC, judges=judges, max_usd=0.2)
    evaluator("a text")
    others[0].join()
    assert evaluator.calls == sum(judge.calls for judge in judges) >= 4
    assert evaluator.usd == pytest.approx(0.01 * evaluator.calls) and evaluator.usd <= 0.2


def test_a_long_text_gets_its_looks_after_a_short_one(tmp_path: Path) -> None:
    """What the short one cost is no limit of the long one: GEPA would rank by who came first."""

    def judges() -> list[PromptedJudge]:
        return [PromptedJudge(name, ScriptedModel(priced(name), name=name)) for name in "ab"]

    def priced(name: str) -> Callable[[Prompt], Completion]:
        def step(prompt: Prompt) -> Completion:
            is_wrong = name == "a" and prompt.draw == 0
            reply = fill_in(
                lambda requirement: not (is_wrong and "pear" in requirement),
                suggestion=f"{name} {prompt.draw}",
            )(prompt)
            return Completion(text=reply, usage=Usage(usd=len(prompt.text) / 1e6), model="m")

        return step

    def scored(folder: str, *texts: str) -> tuple[float, int]:
        evaluator = RubricEvaluator(
            RUBRIC | {"threshold": 100},
            judges=judges(),
            store=tmp_path / folder,
            max_usd=100.0,
            sure=97,
        )
        for text in texts[:-1]:
            evaluator(text)
        before = evaluator.calls
        return evaluator(texts[-1])[0], evaluator.calls - before

    long = "a long text " * 2_000
    assert scored("after", "short", long) == scored("alone", long)
