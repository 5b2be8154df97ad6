"""The real GEPA optimises a text by our evaluator, within its budget."""

from __future__ import annotations

from typing import Any

import pytest

from honestone.integrations.gepa import RubricEvaluator

optimize_anything = pytest.importorskip(
    "gepa.optimize_anything", reason="make test-exports installs it"
)
gepa = pytest.importorskip("gepa")

WORDS = ("apple", "pear", "plum", "fig")
RUBRIC = {
    "threshold": 100,
    "floor": 0,
    "criteria": [{"id": word, "requirement": f"It names the {word}"} for word in WORDS],
}


class Judges:
    """Two judges that agree."""

    def __init__(self) -> None:
        self.looks = 0

    def one(self, request: dict[str, Any]) -> dict[str, Any]:
        self.looks += 1
        text = request["artifact"]["text"]
        return {"criteria": {one["id"]: {"met": one["id"] in text} for one in request["criteria"]}}

    def other(self, request: dict[str, Any]) -> dict[str, Any]:
        return self.one(request)


def worker(prompt: str | list[dict[str, Any]]) -> str:
    """A reflecting model: it adds the first word that the feedback says is missing."""
    words = str(prompt)
    missing = next((one for one in WORDS if f"not met: It names the {one}" in words), "")
    known = [one for one in WORDS if f"has {one}." in words]
    return "```\n" + " ".join(f"has {one}." for one in [*known, missing] if one) + "\n```"


def test_optimize_anything_finds_a_text_by_the_reasons() -> None:
    """It ends with every word, or when the budget is spent, and never asks more."""
    judges = Judges()
    evaluator = RubricEvaluator(RUBRIC, judges=[judges.one, judges.other], max_calls=60)
    config = optimize_anything.GEPAConfig(
        engine=optimize_anything.EngineConfig(parallel=False, max_metric_calls=40),
        reflection=optimize_anything.ReflectionConfig(reflection_lm=worker),
        stop_callbacks=[evaluator.is_spent],
    )
    found = optimize_anything.optimize_anything(
        seed_candidate="has nothing.", evaluator=evaluator, config=config
    )
    assert judges.looks == evaluator.calls <= 60
    assert evaluator(found.best_candidate)[0] > evaluator("has nothing.")[0]


def test_optimize_scores_responses_to_examples() -> None:
    """`of_response` is what its default adapter asks for."""
    judges = Judges()
    evaluator = RubricEvaluator(RUBRIC, judges=[judges.one, judges.other], max_calls=60)
    examples = [{"input": "List fruit", "answer": "", "additional_context": {}}]

    def model(messages: list[dict[str, str]]) -> str:
        return messages[0]["content"]

    found = gepa.optimize(
        seed_candidate={"system_prompt": "has nothing."},
        trainset=examples,
        valset=examples,
        task_lm=model,
        evaluator=evaluator.of_response,
        reflection_lm=worker,
        max_metric_calls=30,
        stop_callbacks=[evaluator.is_spent],
    )
    assert judges.looks == evaluator.calls <= 60
    assert found.val_aggregate_scores[found.best_idx] > found.val_aggregate_scores[0]
