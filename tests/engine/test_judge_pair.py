"""Comparing two artifacts over the panel: both orders, the record, the meter, judges that fail."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import engine_world as world

from honestone.adapters.checks import CheckRunner
from honestone.adapters.judges.pairwise import PairJudge
from honestone.adapters.judges.prompted import PromptedJudge
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.artifact import Version
from honestone.core.judging.ballot import JudgeState
from honestone.core.judging.rubric import Rubric
from honestone.engine.judging.pairwise import PairJudged, judge_pair
from honestone.ports import CallFailed, Prompt
from honestone.testing import ScriptedModel, fill_in

RUBRIC = world.rubric(world.words("a", "alpha"), world.words("b", "beta", "gamma"))
A, B = Version.of_text("alpha\n"), Version.of_text("beta gamma\n")


def by_words(prompt: Prompt) -> str:
    """An honest judge: `Words of a` is met by the text that holds alpha, `Words of b` by the one
    with beta.
    """
    first = prompt.text.partition("Second text:")[0]

    def answer(requirement: str) -> str:
        wanted = "alpha" if requirement == "Words of a" else "beta"
        return "first" if wanted in first else "second"

    return fill_in(answer, control="tie")(prompt)


def judge(steps: Any = by_words, id: str = "one") -> PairJudge:
    return PairJudge(PromptedJudge(id, ScriptedModel(steps)))


def judged(
    *judges: PairJudge,
    of: Rubric = RUBRIC,
    a: Version = A,
    b: Version = B,
    tmp: Any = None,
    **more: Any,
) -> PairJudged:
    panel = world.panel(judges, **more)
    return world.run(judge_pair(of, a, b, panel=panel, checker=CheckRunner(tmp)))


def test_an_honest_judge_says_the_same_in_both_orders() -> None:
    """A wins one criterion, B the other of equal weight: a tie overall, two calls, nothing
    inconsistent.
    """
    found = judged(judge())
    card = found.comparison
    assert [line.wins for line in card.lines] == [
        {"a": 1, "tie": 0, "b": 0},
        {"a": 0, "tie": 0, "b": 1},
    ]
    assert (card.preference, card.preferred, card.inconsistent) == (Fraction(1, 2), "tie", 0)
    assert card.first_position_rate == Fraction(1, 2)
    assert found.spend.judge_calls == 2
    assert [(b.judge, b.state, b.reason) for b in found.ballots] == [
        ("one", JudgeState.AVAILABLE, None)
    ]


def test_each_order_is_asked_once_and_asked_again_costs_nothing() -> None:
    """Replies are on record before they are used: a second comparison is free and the same."""
    store = MemoryStore()
    first = judged(one := judge(), store=store)
    assert len(one.model.prompts) == 2  # type: ignore[attr-defined]
    again = judged(other := judge(), store=store)
    assert len(other.model.prompts) == 0  # type: ignore[attr-defined]
    assert (again.spend.judge_calls, again.spend.cached_calls) == (0, 2)
    assert again.comparison == first.comparison


def test_the_exchanged_pair_finds_the_same_replies() -> None:
    """B against A is the same two prompts, read the other way round."""
    store = MemoryStore()
    judged(judge(), store=store)
    found = judged(judge(), store=store, a=B, b=A)
    assert (found.spend.judge_calls, found.spend.cached_calls) == (0, 2)
    assert [line.wins["a"] for line in found.comparison.lines] == [0, 1]


def test_a_judge_of_places_is_void_by_the_control_item() -> None:
    """Whoever says `first` to everything says so where neither can be better."""
    found = judged(judge(fill_in("first", control="first")))
    (ballot,) = found.ballots
    assert ballot.state is JudgeState.DEGRADED and str(ballot.reason).startswith(
        "tampered: it preferred one text"
    )
    assert found.comparison.preferred is None


def test_what_is_missing_is_asked_once_more() -> None:
    """An answer off the menu is named to the judge; its second reply fills it."""

    def at_second(prompt: Prompt) -> str:
        if "Your last reply could not be used" in prompt.text and "expected" in prompt.text:
            return by_words(prompt)
        return fill_in("better", control="tie")(prompt)

    found = judged(judge(at_second))
    assert (found.comparison.pairs, found.spend.judge_calls) == (2, 4)


def test_one_order_that_fails_leaves_no_verdict_of_that_judge() -> None:
    """The other judge decides; the first is DEGRADED with the order in which it failed."""

    def fails_second(prompt: Prompt) -> Any:
        return (
            CallFailed("it crashed")
            if prompt.text.index("beta") < prompt.text.index("alpha")
            else by_words(prompt)
        )

    found = judged(judge(fails_second), judge(id="two"))
    assert [(b.judge, str(b.state), b.reason) for b in found.ballots] == [
        ("one", "DEGRADED", "with B first: it crashed"),
        ("two", "AVAILABLE", None),
    ]
    assert found.comparison.pairs == 2 and found.comparison.low_confidence
    assert found.comparison.preferred == "tie"


def test_used_up_calls_are_no_tie() -> None:
    """With one call granted one order is missing, so nothing is known."""
    found = judged(judge(), meter_=world.meter(calls=1))
    assert (found.comparison.low, found.comparison.high) == (0, 1)
    assert "--max-calls 1 are used up" in str(found.ballots[0].reason)


def test_asking_by_criterion_gives_the_same(tmp_path: Any) -> None:
    """Two criteria in two orders are four calls."""
    found = judged(judge(), ask="criterion")
    assert found.spend.judge_calls == 4
    assert found.comparison.preference == Fraction(1, 2)


def test_checks_are_compared_by_code_and_need_no_judge(tmp_path: Any) -> None:
    """Three of weight 50: A has alpha, B beta, neither delta."""
    of = world.rubric(*(world.checked(word, word) for word in ("alpha", "beta", "delta")))
    found = judged(of=of, tmp=tmp_path)
    assert [line.checks[0].winner for line in found.comparison.lines] == ["a", "b", "tie"]
    assert (found.comparison.preference, found.spend.judge_calls) == (Fraction(1, 2), 0)


def test_the_same_bytes_cost_no_call() -> None:
    """Nobody is asked which of two equal texts is better."""
    found = judged(one := judge(), b=A)
    assert found.are_same and found.comparison.preferred == "tie"
    assert one.model.prompts == []  # type: ignore[attr-defined]


def test_quotes_may_stand_in_either_text_when_they_are_required() -> None:
    """An invented quote is an abstention, one from the second text is not."""
    for quote, pairs in (("beta gamma", 2), ("nowhere written at all", 0)):

        def quoting(prompt: Prompt, quote: str = quote) -> str:
            return fill_in("tie", evidence=quote, control="tie")(prompt)

        assert judged(judge(quoting), require_evidence=True).comparison.pairs == pairs
