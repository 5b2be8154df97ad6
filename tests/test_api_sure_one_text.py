"""Suites under `sure` of which several cases are one text: equal question, output and answers of code.
A look that was made once is counted once, and all of these cases have it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import honestone


class Looks:
    """A judge that counts. Texts with `good` in them meet the rubric; the first look at those that
    are `misread` says the opposite.
    """

    def __init__(self, misread: Sequence[str] = ()) -> None:
        self.misread = misread
        self.of: Counter[str] = Counter()

    def named(self, name: str) -> Any:
        def look(request: dict[str, Any]) -> dict[str, Any]:
            text = request["output"]
            self.of[text] += 1
            met = ("good" in text) is not (self.of[text] == 1 and text in self.misread)
            word = f"{name} {self.of[text]}"
            return {
                "criteria": {c["id"]: {"met": met, "suggestion": word} for c in request["criteria"]}
            }

        look.__name__ = look.__qualname__ = name
        return look

    def run(self, inputs: Sequence[str], **options: Any) -> dict[str, Any]:
        cases = [
            {"id": f"c{place}", "input": word, "rubric": ["It holds"]}
            for place, word in enumerate(inputs)
        ]
        found = honestone.run_suite(
            {"suite": 1, "cases": cases},
            target=lambda input: f"out {input}",
            judges=[self.named(name) for name in "abc"],
            **{"sure": 95, **options},
        ).to_dict()
        assert found["belief"]["looks"] == self.of.total()
        return found


def test_a_limit_counts_a_look_at_one_text_once() -> None:
    """Six cases of one text would use up six looks at once."""
    looks = Looks()
    found = looks.run(["good"] * 6, sure=99.9, max_looks=4)
    assert looks.of == {"out good": 4} and found["belief"]["looks"] == 4
    assert {one["status"] for one in found["cases"]} == {"passed"}


def test_every_case_of_a_text_has_its_looks() -> None:
    looks = Looks(misread=["out good"])
    found = looks.run(["good", "bad", "good", "fine good", "good"], min_pass_rate=0.8)
    assert found["verdict"] == "pass"
    statuses = [one["status"] for one in found["cases"]]
    assert statuses == ["passed", "failed", "passed", "passed", "passed"]
    alike = [one["belief"] for one in found["cases"] if one["input"] == "good"]
    assert alike[0] == alike[1] == alike[2]


def test_a_text_of_many_cases_is_looked_at_before_others() -> None:
    """It turns more: four of five have to pass, and one text is that of four."""
    looks = Looks(misread=["out good"])
    looks.run(["good", "one good", *["good"] * 3], min_pass_rate=0.8)
    assert looks.of["out good"] > looks.of["out one good"]


def test_nothing_is_decided_on_one_look_at_the_text_of_several_cases() -> None:
    """Where without it too few cases pass, although they are more than have to."""
    looks = Looks()
    found = looks.run([*["good"] * 3, "one good"], sure=60, min_pass_rate=0.5)
    assert found["verdict"] == "pass" and looks.of["out good"] >= 2
