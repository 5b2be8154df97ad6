"""`improve` over a suite: what code alone decides is certain, cases may depend on others, and what the
worker may be shown is looked for before a run ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import honestone
from honestone.core.judging.ballot import Question
from honestone.testing import ScriptedJudge, ScriptedWorker

pytestmark = pytest.mark.slow
SPLITS = (("train", "abc"), ("val", "def"), ("test", "ghi"))


def cases(**more: Any) -> list[dict[str, Any]]:
    return [
        {"id": word, "input": word, "split": split, **more}
        for split, words in SPLITS
        for word in words
    ]


def target(input: str, artifact: Path) -> str:
    text = artifact.read_text()
    return f"{'good' if input in text.split() else 'bad'} {input}"


class Judge:
    """Says what is so, but for a first look at the outputs of the words that are `misread`."""

    def __init__(self, misread: str = "") -> None:
        self.misread = misread
        self.looks: Counter[str] = Counter()

    def named(self, name: str) -> ScriptedJudge:
        def look(question: Question) -> dict[str, bool]:
            output = question.output or ""
            self.looks[output] += 1
            is_misread = self.looks[output] == 1 and output.split()[-1] in self.misread
            met = output.startswith("good") is not is_misread
            return {item.id: met for _, item in question.items()}

        return ScriptedJudge(look, id=name)


def improve(folder: Path, suite: Any, text: str, *edits: str, **options: Any) -> dict[str, Any]:
    (folder / "text.md").write_text(text)
    given = iter(edits)
    return honestone.improve(
        Path("text.md"),
        suite=suite,
        target=target,
        worker=ScriptedWorker(lambda place, brief: next(given, "x\n")),
        folder=folder,
        **options,
    ).to_dict()


@pytest.mark.parametrize(
    ("start", "edits", "result", "probability"),
    [
        ("a d g\n", ["a b c d e f g h i\n"], "PASSED", 1.0),
        ("a d g\n", ["a b d e g\n"], None, 0.0),
        ("a\n", ["a b c d e f g\n"], "UNCONFIRMED", 0.0),
    ],
)
def test_what_code_alone_decides_is_certain(
    start: str, edits: list[str], result: str | None, probability: float, tmp_path: Path
) -> None:
    suite = {"suite": 1, "cases": cases(checks=[{"contains": "good"}])}
    found = improve(tmp_path, suite, start, *edits, rounds=1)
    assert result in (None, found["result"])
    assert found["probability"] == probability
    stated = found["belief"]
    assert (stated["looks"], stated["probability"]) == (0, probability)
    assert [one["kind"] for one in stated["rests_on"]] == ["checks"]


def improved_in_order(
    folder: Path,
    text: str,
    waits: Mapping[str, Sequence[str]],
    judge: Judge,
    target: Callable[[str, Path], str],
    **options: Any,
) -> dict[str, Any]:
    """What an edit of this text that does everything comes to, where cases wait for others."""
    (folder / "text.md").write_text(text)
    suite = [
        {**one, **({"depends_on": waits[one["id"]]} if one["id"] in waits else {})}
        for one in cases(rubric=["It is said well"])
    ]
    found: dict[str, Any] = honestone.improve(
        Path("text.md"),
        suite={"suite": 1, "cases": suite},
        target=target,
        judges=[judge.named(name) for name in ("ann", "bob", "cy")],
        worker=ScriptedWorker(lambda place, brief: "a b c d e f g h i\n"),
        folder=folder,
        **options,
    ).to_dict()
    return found


def test_cases_that_depend_on_others_are_decided_by_belief(tmp_path: Path) -> None:
    """Of the same split and of another one; each target runs after those that it waits for."""
    order: list[str] = []

    def in_order(input: str, artifact: Path) -> str:
        order.append(input)
        return target(input, artifact)

    waits = {"d": ["e"], "a": ["c"], "h": ["i", "a"]}
    found = improved_in_order(
        tmp_path, "a d g\n", waits, Judge(), in_order, policy="belief", rounds=2
    )
    assert (found["policy"], found["result"]) == ("belief", "PASSED"), found["reason"]
    assert found["probability"] >= 0.8
    assert order.index("e") < order.index("d") and order.index("c") < order.index("a")


def test_a_case_whose_dependency_has_no_output_stays_open(tmp_path: Path) -> None:
    def crashes(input: str, artifact: Path) -> str:
        if input == "e":
            raise RuntimeError("down")
        return target(input, artifact)

    judge = Judge()
    found = improved_in_order(tmp_path, "a d f g h i\n", {"d": ["e"]}, judge, crashes, rounds=1)
    assert found["policy"] == "belief" and found["result"] != "PASSED"
    assert not any(output.split()[-1] in "de" for output in judge.looks)


def test_train_is_looked_at_again_where_it_hides_what_the_worker_needs(tmp_path: Path) -> None:
    """Every case of train fails and is misread once, so that nothing is known to fail; val says that
    the text is not good.
    """
    judge = Judge(misread="abc")
    found = improve(
        tmp_path,
        {"suite": 1, "cases": cases(rubric=["It is said well"])},
        "g h i\n",
        "a b c d e f g h i\n",
        judges=[judge.named(name) for name in ("ann", "bob", "cy")],
        rounds=2,
    )
    assert found["result"] == "PASSED", found["reason"]
    assert max(judge.looks[f"bad {word}"] for word in "abc") > 1
