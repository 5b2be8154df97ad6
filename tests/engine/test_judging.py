"""One version judged: code answers what it can, judges the rest, and the order of judges does not
matter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engine_world as world
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.checks import CheckRunner
from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import CHECK, JudgeState
from honestone.core.judging.rubric import Check, Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.engine.judging.ballots import check_ballot
from honestone.engine.judging.evaluator import Evaluator, Judged
from honestone.ports import CallFailed, Finding, Output
from honestone.testing import ScriptedJudge

MIXED = world.rubric(
    Criterion(
        id="mixed",
        requirement="Both",
        items=(
            Item(id="said", requirement="A judge says so"),
            Item(id="code", requirement="has alpha", check=Check(kind="contains", value=["alpha"])),
        ),
    ),
    world.checked("only-code", "delta"),
)


def judge(rubric: Rubric, *judges: ScriptedJudge, text: str = world.TEXT, **more: Any) -> Judged:
    bench = Evaluator(rubric, CheckRunner(Path()), world.panel(judges))
    return world.run(
        bench.judge(
            bench.question(Artifact("a.md", Version.of_text(text, "a.md")), **more),
            more.get("output"),
        )
    )


def test_code_answers_its_items_and_judges_are_asked_only_the_rest() -> None:
    """A judge is not even shown what code answers."""
    asked = ScriptedJudge(True)
    judged = judge(MIXED, asked)
    (question,) = asked.questions
    assert [key for key, _ in question.items()] == [("mixed", "said")]
    assert "has alpha" not in asked.bodies[0] and "only-code" not in asked.bodies[0]
    code, said = judged.ballots
    assert code.judge == CHECK and {k: m.answer for k, m in code.marks.items()} == {
        ("mixed", "code"): True,
        ("only-code", "only-code"): False,
    }
    assert list(said.marks) == [("mixed", "said")] and judged.spend.judge_calls == 1


def test_a_rubric_of_checks_asks_nobody() -> None:
    """One ballot, and nothing spent."""
    asked = ScriptedJudge(AssertionError("asked"))
    judged = judge(world.rubric(world.checked("c", "alpha")), asked)
    assert [ballot.judge for ballot in judged.ballots] == [CHECK] and judged.spend.to_plain() == {}


def test_a_rubric_without_checks_has_no_ballot_of_code() -> None:
    """There is nothing that code could say."""
    judged = judge(
        world.rubric(world.words("a", "alpha")), ScriptedJudge(id="x"), ScriptedJudge(id="y")
    )
    assert [ballot.judge for ballot in judged.ballots] == [
        "x",
        "y",
    ] and judged.spend.judge_calls == 2


def test_what_a_target_produced_is_judged_by_code_and_judges_alike() -> None:
    """The artifact is not looked at, and input and reference reach the judge."""
    asked = ScriptedJudge(True)
    judged = judge(
        MIXED, asked, output=Output(text="nothing here"), input="Say alpha", reference="alpha"
    )
    (question,) = asked.questions
    assert (question.output, question.input, question.reference) == (
        "nothing here",
        "Say alpha",
        "alpha",
    )
    assert judged.ballots[0].marks["mixed", "code"].answer is False


def test_a_check_that_could_not_run_abstains() -> None:
    """With the reason; it is never a no."""
    keys = [
        (("a", "one"), Check(kind="command", value="x")),
        (("a", "two"), Check(kind="contains", value="y")),
    ]
    ballot = check_ballot(
        keys,
        [
            Finding(met=None, note="python is not there"),
            Finding(met=False, note="not found", sandbox="bwrap"),
        ],
    )
    assert ballot.abstained == {("a", "one"): "python is not there"}
    assert ballot.marks["a", "two"].answer is False and ballot.marks["a", "two"].evidence == (
        "not found",
    )
    assert (
        ballot.sandbox == "bwrap" and ballot.reason is None and ballot.state is JudgeState.AVAILABLE
    )


@given(st.permutations(["yes", "no", "crash", "half"]), st.booleans())
def test_the_order_of_judges_never_matters(order: list[str], alpha: bool) -> None:
    """Scores, intervals, flags and the verdict are the same for any order of the panel."""
    rubric = world.rubric(
        world.words("a", "one", "two"), world.checked("c", "alpha"), threshold=60, floor=10
    )
    steps: dict[str, Any] = {
        "yes": True,
        "no": False,
        "crash": CallFailed("x"),
        "half": {"one": True},
    }

    def outcome(names: list[str]) -> Any:
        judged = judge(
            rubric,
            *(ScriptedJudge(steps[n], id=n) for n in names),
            text="alpha" if alpha else "beta",
        )
        card = Scorer(rubric).card(judged.ballots)
        verdict = judge_gate(card, rubric)
        return (
            card.low,
            card.high,
            card.score,
            set(card.flags),
            card.low_confidence,
            verdict.outcome,
            set(verdict.reasons),
        )

    assert outcome(order) == outcome(sorted(order))


def test_three_two_one_and_no_judge_left() -> None:
    """One of three crashes: the mean of two, and its vote is open. Two: low confidence. Three:
    nothing can be said.
    """
    rubric = world.rubric(world.words("a", "one", "two"))

    def with_crashes(crashes: int) -> tuple[Any, bool, Outcome]:
        steps: list[Any] = [CallFailed("x")] * crashes + [True, {"one": True, "two": False}, True][
            crashes:
        ]
        judged = judge(rubric, *(ScriptedJudge(step, id=str(n)) for n, step in enumerate(steps)))
        card = Scorer(rubric).card(judged.ballots)
        return card.score, card.low_confidence, judge_gate(card, rubric).outcome

    assert with_crashes(0)[:2] == (with_crashes(0)[0], False) and float(with_crashes(0)[0]) > 0.83
    assert with_crashes(1) == (0.75, False, Outcome.INCONCLUSIVE)
    assert with_crashes(2) == (1, True, Outcome.INCONCLUSIVE)
    assert with_crashes(3) == (None, True, Outcome.INCONCLUSIVE)
