"""The panel: judges apart from each other, in parallel, asked once more where it helps, and never
twice for nothing.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import engine_world as world
import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.judges.prompted import PromptedJudge
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.judging.ballot import AskedCriterion, Ballot, JudgeState, Question
from honestone.core.judging.rubric import Item
from honestone.engine.judging import panel as panel_module
from honestone.engine.judging.ballots import TAMPERED, Consulted
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import CallFailed, Completion, Judge, Reply, Usage
from honestone.testing import ScriptedJudge, ScriptedModel, fill_in, reply_json

RUBRIC = world.rubric(world.words("a", "alpha", "beta"), world.words("b", "gamma"))
QUESTION = world.question(RUBRIC)
ALPHA, BETA, GAMMA = ("a", "alpha"), ("a", "beta"), ("b", "gamma")


def consult(*judges: Judge, **more: Any) -> list[Consulted]:
    return world.run(world.panel(judges, **more).consult(QUESTION))


def one(judge: Judge, **more: Any) -> Consulted:
    (consulted,) = consult(judge, **more)
    return consulted


def answers(ballot: Ballot) -> dict[str, Any]:
    return {item: mark.answer for (_, item), mark in ballot.marks.items()}


def raw(**answers: Any) -> str:
    """A raw reply that answers these items of criterion a and b."""
    criteria: dict[str, Any] = {"a": {"items": {}}, "b": {"items": {}}}
    for item, answer in answers.items():
        criteria["b" if item == "gamma" else "a"]["items"][item] = {"met": answer}
    return json.dumps({"criteria": criteria})


# ----------------------------------------------------------------------------------------------------------
# apart from each other


def test_a_question_has_no_place_for_what_a_judge_must_not_know() -> None:
    """No field for scores, rounds, weights, bars or other judges: what is not there cannot leak."""
    names = {
        field.name
        for noun in (Question, AskedCriterion, Item)
        for field in msgspec.structs.fields(noun)
    }
    assert names == {
        "artifact",
        "criteria",
        "input",
        "images",  # those of the input
        "reference",
        "output",
        "workspace",
        "draw",
        "case",
        "also_asked",  # ids of other calls; no prompt and no request holds them
        "attempt",  # recorded answers are found by them; no prompt and no request holds them
        "id",
        "requirement",
        "items",
        "anchors",
        "check",
        "fix",
        "may_not_apply",
        "whole",
    }


def test_what_a_judge_is_sent_is_the_same_whatever_the_others_say_and_the_bars_are() -> None:
    """Neither another judge's suggestion nor weights, threshold and floor change a byte of the
    request.
    """
    loud = ScriptedJudge(
        {"alpha": {"met": False, "suggestion": "SHOUT"}, "a": True, "b": True}, id="loud"
    )
    beside, alone = ScriptedJudge(id="spy"), ScriptedJudge(id="spy")
    consult(loud, beside)
    other_bars = world.rubric(
        world.words("a", "alpha", "beta", weight=1),
        world.words("b", "gamma", weight=99),
        threshold=3,
        floor=2,
    )
    world.run(world.panel([alone]).consult(world.question(other_bars)))
    assert beside.bodies == alone.bodies
    assert "SHOUT" not in beside.bodies[0] and "loud" not in beside.bodies[0]


def test_judges_are_asked_at_the_same_time() -> None:
    """Each waits until all three are being asked: one after another they would wait for ever."""
    met = asyncio.Event()
    inside = 0

    async def wait(question: Question) -> bool:
        nonlocal inside
        inside += 1
        if inside == 3:
            met.set()
        await asyncio.wait_for(met.wait(), 20)
        return True

    async def step(question: Question) -> Any:
        return await wait(question)

    found = consult(*(ScriptedJudge(step, id=name) for name in "abc"))
    assert [c.ballot.state for c in found] == [JudgeState.AVAILABLE] * 3


def test_ballots_come_in_the_order_of_the_seats() -> None:
    """Whoever answers first."""

    async def slow(question: Question) -> bool:
        await asyncio.sleep(0.02)
        return True

    found = consult(ScriptedJudge(slow, id="slow"), ScriptedJudge(id="quick"))
    assert [c.ballot.judge for c in found] == ["slow", "quick"]


# ----------------------------------------------------------------------------------------------------------
# not there, failed


def test_a_judge_that_is_not_there_is_skipped_and_one_that_fails_is_degraded() -> None:
    """Both without a mark, each with the reason at every item; the third is not touched by it."""
    gone = ScriptedJudge(CallFailed("command not found", missing=True), id="gone")
    broken = ScriptedJudge(CallFailed("it ended with exit code 1"), id="broken")
    found = [c.ballot for c in consult(gone, broken, ScriptedJudge(id="fine"))]
    assert [(b.state, b.reason) for b in found] == [
        (JudgeState.SKIPPED, "command not found"),
        (JudgeState.DEGRADED, "it ended with exit code 1"),
        (JudgeState.AVAILABLE, None),
    ]
    assert [dict(b.abstained) for b in found[:2]] == [
        dict.fromkeys((ALPHA, BETA, GAMMA), "command not found"),
        dict.fromkeys((ALPHA, BETA, GAMMA), "it ended with exit code 1"),
    ]
    assert [len(b.marks) for b in found] == [0, 0, 3]


def test_a_crash_is_not_asked_again_in_the_same_look() -> None:
    """Only a reply with errors is asked about; a crash gave none."""
    judge = ScriptedJudge(CallFailed("it broke"))
    assert one(judge).spend.judge_calls == judge.calls == 1


def test_without_a_question_nobody_is_asked() -> None:
    """Where code answers everything, a seat costs nothing."""
    judge = ScriptedJudge(AssertionError("asked"))
    (found,) = world.run(
        world.panel([judge]).consult(world.question(world.rubric(world.checked("c", "alpha"))))
    )
    assert judge.calls == 0 and found.spend.judge_calls == 0 and found.ballot.marks == {}


# ----------------------------------------------------------------------------------------------------------
# asked once more


def test_a_clean_reply_is_asked_once() -> None:
    """And everything stands as answered."""
    judge = ScriptedJudge({"alpha": True, "beta": False, "gamma": True})
    found = one(judge)
    assert answers(found.ballot) == {"alpha": True, "beta": False, "gamma": True}
    assert judge.calls == found.spend.judge_calls == 1


def test_the_first_valid_answer_stands_and_the_second_fills_what_was_missing() -> None:
    """Item by item: a judge cannot take back what it said, and errors are named to it."""
    judge = ScriptedJudge([raw(alpha=True, beta="maybe"), raw(alpha=False, beta=False, gamma=True)])
    found = one(judge)
    assert answers(found.ballot) == {"alpha": True, "beta": False, "gamma": True}
    assert found.ballot.abstained == {} and found.spend.judge_calls == 2
    assert judge.problems[0] == ()
    assert any("beta" in why for why in judge.problems[1]) and any(
        "gamma" in why for why in judge.problems[1]
    )
    assert not any("alpha" in why for why in judge.problems[1]), "what was right is no error"


def test_what_is_still_missing_is_an_abstention_with_the_reason() -> None:
    """Two looks, then the item has no vote of this judge; the others have."""
    judge = ScriptedJudge([raw(alpha=True, gamma=True), raw(alpha=True, gamma=True)])
    ballot = one(judge).ballot
    assert ballot.state is JudgeState.AVAILABLE and answers(ballot) == {
        "alpha": True,
        "gamma": True,
    }
    assert list(ballot.abstained) == [BETA] and "no answer" in ballot.abstained[BETA]


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "I think it is fine.",
        "{",
        raw(),
        '{"criteria": {"a": null}}',
        raw(alpha=None),
        "NaN",
        '{"score": 1}',
    ],
)
def test_a_judge_that_never_answers_is_degraded_after_two_looks(reply: str) -> None:
    """Never a default verdict."""
    judge = ScriptedJudge(reply)
    ballot = one(judge).ballot
    assert ballot.state is JudgeState.DEGRADED and not ballot.marks and judge.calls == 2
    assert set(ballot.abstained) == {ALPHA, BETA, GAMMA} and ballot.reason


def test_a_failed_second_look_leaves_the_first_answers() -> None:
    """What was answered stands, and the ballot says that the second look failed."""
    judge = ScriptedJudge([raw(alpha=True), CallFailed("timed out")])
    ballot = one(judge).ballot
    assert answers(ballot) == {"alpha": True} and set(ballot.abstained) == {BETA, GAMMA}
    assert any("timed out" in problem for problem in ballot.problems)


@given(st.lists(st.sampled_from([True, False, None, "x", 3]), min_size=6, max_size=6))
def test_two_looks_together_answer_what_either_answered(given: list[Any]) -> None:
    """For any two replies: the first valid answer of each item, and an abstention exactly where
    there is none.
    """
    first, second = (
        dict(zip(("alpha", "beta", "gamma"), given[:3], strict=True)),
        dict(zip(("alpha", "beta", "gamma"), given[3:], strict=True)),
    )
    ballot = one(ScriptedJudge([raw(**first), raw(**second)])).ballot
    expected = {
        item: next(a for a in (first[item], second[item]) if isinstance(a, bool))
        for item in first
        if isinstance(first[item], bool) or isinstance(second[item], bool)
    }
    assert answers(ballot) == expected
    assert {item for _, item in ballot.abstained} == set(first) - set(expected)


def test_a_second_reply_that_comes_late_is_spend_and_is_never_read() -> None:
    """After an outage another process may ask the same. Its reply is on record first: this judge's
    own is paid for, and neither this consultation nor a later one reads it.
    """
    store = MemoryStore()

    class Slow(ScriptedJudge):
        async def ask(self, request: Any, question: Any) -> Reply:
            reply = await super().ask(request, question)
            key = panel._key(panel.seats[0], request)
            store.keep_reply(key, "other", {"text": raw(alpha=True, beta=True, gamma=True)})
            return reply

    panel = world.panel([Slow([raw(alpha=False, beta=False, gamma=False)])], store)
    found = world.run(panel.consult(QUESTION))[0]
    assert answers(found.ballot) == {"alpha": True, "beta": True, "gamma": True}
    assert (found.spend.judge_calls, panel.meter.spent.judge_calls) == (1, 1)
    again = world.panel([ScriptedJudge([])], store)
    assert answers(world.run(again.consult(QUESTION))[0].ballot) == answers(found.ballot)
    assert again.meter.spent.judge_calls == 0 and store.state().replies == 1


# ----------------------------------------------------------------------------------------------------------
# models


def prompted(*steps: Any, id: str = "model", **more: Any) -> tuple[PromptedJudge, ScriptedModel]:
    model = ScriptedModel(list(steps), name=id)
    return PromptedJudge(id, model, **more), model


def test_a_model_that_says_yes_to_the_control_item_is_void() -> None:
    """DEGRADED as tampered with every mark gone, and not asked again."""
    judge, model = prompted(fill_in(True, control=True))
    ballot = one(judge).ballot
    assert (ballot.state, ballot.reason, dict(ballot.marks)) == (JudgeState.DEGRADED, TAMPERED, {})
    assert len(model.prompts) == 1


def test_a_control_item_without_an_answer_voids_the_ballot_when_it_stays_so() -> None:
    """It is asked once more like any other item; then nothing the judge said can be trusted."""
    judge, model = prompted(fill_in(True, control=None), fill_in(True, control="perhaps"))
    ballot = one(judge).ballot
    assert ballot.state is JudgeState.DEGRADED and not ballot.marks and len(model.prompts) == 2


def test_a_control_item_answered_on_the_second_look_is_fine() -> None:
    """Then everything counts."""
    judge, _ = prompted(fill_in(True, control=None), fill_in(True))
    assert answers(one(judge).ballot) == {"alpha": True, "beta": True, "gamma": True}


def test_a_control_item_answered_on_the_first_look_needs_no_second_answer() -> None:
    """A second reply that cannot be read at all takes nothing away from the first."""
    judge, model = prompted(
        fill_in(lambda requirement: None if "beta" in requirement else True), "Sorry, no."
    )
    ballot = one(judge).ballot
    assert ballot.state is JudgeState.AVAILABLE and answers(ballot) == {
        "alpha": True,
        "gamma": True,
    }
    assert list(ballot.abstained) == [BETA] and len(model.prompts) == 2


def test_tampering_on_the_second_look_voids_the_first() -> None:
    """One yes to the control item is enough."""
    judge, _ = prompted(
        fill_in(lambda r: None if "beta" in r else True), fill_in(True, control=True)
    )
    assert one(judge).ballot.reason == TAMPERED


def test_a_model_is_told_its_errors_by_number() -> None:
    """`item 2: ...` as in the prompt, so that it can find them; the control item does not stand
    out.
    """
    judge, model = prompted(fill_in("perhaps", control="perhaps"), fill_in(True))
    one(judge)
    first, second = (prompt.text for prompt in model.prompts)
    added = [line for line in second.splitlines() if line not in first.splitlines()]
    assert any("items 1, 2, 3, 4: expected true or false" in line for line in added), added
    assert not any("canary" in line.lower() for line in added)


def without(*words: str) -> Any:
    """Every item is answered but those with one of these words."""
    return fill_in(lambda requirement: None if any(word in requirement for word in words) else True)


def test_a_judge_is_asked_again_as_often_as_its_settings_say() -> None:
    """Each look fills only what is missing, each is a call with a prompt of its own, and it ends
    when nothing is.
    """
    judge, model = prompted("Sorry, no.", "Sorry, no.", fill_in(True), reasks=3)
    found = one(judge)
    assert (
        answers(found.ballot) == {"alpha": True, "beta": True, "gamma": True}
        and found.spend.judge_calls == 3
    )
    assert len({prompt.text for prompt in model.prompts}) == 3
    assert "2 replies in a row could not be used" in model.prompts[2].text

    judge, model = prompted(without("alpha", "beta"), without("alpha"), fill_in(False), reasks=2)
    assert (
        answers(one(judge).ballot) == {"alpha": False, "beta": True, "gamma": True}
        and len(model.prompts) == 3
    )


@given(st.integers(0, 5))
def test_what_is_missing_after_the_last_look_is_an_abstention(reasks: int) -> None:
    """With n repeats a judge that never answers an item takes n + 1 calls, and the item has no
    mark.
    """
    judge, model = prompted(*[without("beta")] * (reasks + 1), reasks=reasks)
    ballot = one(judge).ballot
    assert len(model.prompts) == reasks + 1 and list(ballot.abstained) == [BETA]


def test_asking_again_ends_at_a_yes_to_the_control_item_and_at_a_failure() -> None:
    """Neither is asked about again, however often that is allowed."""
    judge, model = prompted(without("beta"), fill_in(True, control=True), fill_in(True), reasks=5)
    assert one(judge).ballot.reason == TAMPERED and len(model.prompts) == 2
    judge, model = prompted(without("beta"), CallFailed("gone"), fill_in(True), reasks=5)
    ballot = one(judge).ballot
    assert (
        answers(ballot) == {"alpha": True, "gamma": True}
        and "asked once more: gone" in ballot.problems
    )


def test_how_often_a_judge_is_asked_again_is_part_of_the_contract_and_not_of_a_reply() -> None:
    """A reply on record counts whatever `reasks` says, and a run with another number is another
    run.
    """
    seats = [Seat(id="model", judge=prompted("Sorry.", reasks=n)[0]) for n in (0, 1, 2)]
    assert [seat.identity.get("reasks") for seat in seats] == [0, None, 2]
    assert len({str(seat.judge.identity) for seat in seats}) == 1


# ----------------------------------------------------------------------------------------------------------
# retries, calls, money


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> world.Clock:
    clock = world.Clock()
    monkeypatch.setattr(panel_module.asyncio, "sleep", clock.sleep)
    return clock


BUSY = CallFailed("429", retryable=True, retry_after=20)


def test_a_busy_judge_is_tried_again_after_the_wait_it_asked_for(clock: world.Clock) -> None:
    """Each try is a call; the reply counts as if nothing had happened."""
    found = one(ScriptedJudge([BUSY, BUSY, True]))
    assert found.ballot.state is JudgeState.AVAILABLE and found.spend.judge_calls == 3
    assert len(clock.slept) == 2 and all(20 <= wait <= 21 for wait in clock.slept)


def test_a_judge_that_stays_busy_is_degraded(clock: world.Clock) -> None:
    """The waits of one request have a total; then it is given up with the reason."""
    judge = ScriptedJudge(CallFailed("busy", retryable=True))
    found = one(judge)
    assert (found.ballot.state, found.ballot.reason) == (JudgeState.DEGRADED, "busy")
    assert found.spend.judge_calls == judge.calls == 5 and sum(clock.slept) <= 120


def test_what_cannot_be_cured_is_tried_once(clock: world.Clock) -> None:
    """A wrong key stays wrong."""
    assert one(ScriptedJudge(CallFailed("401"))).spend.judge_calls == 1 and clock.slept == []


def test_retries_stop_at_the_limit_of_calls(clock: world.Clock) -> None:
    """A retry is a call: with two left there is one retry."""
    meter = world.meter(2)
    judge = ScriptedJudge(BUSY)
    found = one(judge, meter_=meter)
    assert (
        judge.calls == 2
        and found.ballot.state is JudgeState.DEGRADED
        and "--max-calls 2" in str(found.ballot.reason)
    )


@given(st.integers(0, 5), st.integers(1, 5))
def test_calls_are_granted_in_the_order_of_the_panel(calls: int, judges: int) -> None:
    """With n calls the first n judges are asked, and the rest are refused with the limit's name."""
    asked = [ScriptedJudge(id=f"j{n}") for n in range(judges)]
    found = consult(*asked, meter_=world.meter(calls))
    assert [judge.calls for judge in asked] == [int(n < calls) for n in range(judges)]
    assert [c.refused is None for c in found] == [n < calls for n in range(judges)]
    assert all(f"--max-calls {calls}" in str(c.refused) for c in found[calls:])
    assert all(c.ballot.state is JudgeState.DEGRADED for c in found[calls:])


def test_a_second_look_that_is_not_granted_leaves_the_first_answers() -> None:
    """It says so, and no limit is broken."""
    judge = ScriptedJudge([raw(alpha=True)])
    found = one(judge, meter_=world.meter(1))
    assert answers(found.ballot) == {"alpha": True} and found.refused is None
    assert any("--max-calls 1" in problem for problem in found.ballot.problems)


def test_tokens_and_money_are_added_up_over_looks() -> None:
    """Per ballot and for the run; a price that is not told stays unknown."""
    meter = world.meter()
    told = ScriptedJudge(
        [raw(), True], id="told", usage=Usage(input_tokens=10, output_tokens=2, usd=0.5)
    )
    silent = ScriptedJudge(id="silent")
    first, second = consult(told, silent, meter_=meter)
    assert (first.spend.input_tokens, first.spend.output_tokens, first.spend.usd) == (20, 4, 1.0)
    assert second.spend.usd is None
    assert (meter.spent.judge_calls, meter.spent.input_tokens, meter.spent.usd) == (3, 20, 1.0)


def test_a_judge_that_costs_nothing_counts_no_call_and_needs_no_grant() -> None:
    """Recorded answers are looked at even when every call is used up."""
    judge = ScriptedJudge(is_paid=False)
    found = one(judge, meter_=world.meter(0))
    assert found.ballot.state is JudgeState.AVAILABLE and found.spend.judge_calls == 0


def test_one_judge_is_asked_at_most_so_many_times_at_once() -> None:
    """`concurrency` holds for each judge over many artifacts."""
    most = inside = 0
    three = asyncio.Event()

    async def step(question: Question) -> Any:
        nonlocal most, inside
        inside += 1
        most = max(most, inside)
        if inside == 3:
            three.set()
        await asyncio.wait_for(three.wait(), 60)
        await asyncio.sleep(0)
        inside -= 1
        return True

    panel = world.panel([ScriptedJudge(step)], concurrency=3)

    async def many() -> None:
        await asyncio.gather(*(panel.consult(world.question(RUBRIC, f"{n}\n")) for n in range(12)))

    world.run(many())
    assert most == 3


# ----------------------------------------------------------------------------------------------------------
# the record


def test_a_reply_on_record_costs_nothing_and_is_marked() -> None:
    """The same question to the same judge: no call, the same ballot."""
    store = MemoryStore()
    first = one(ScriptedJudge({"alpha": True, "beta": False, "gamma": True}), store=store)
    silent = ScriptedJudge(AssertionError("asked again"))
    again = one(silent, store=store, meter_=world.meter(0))
    assert again.ballot == first.ballot and silent.calls == 0
    assert (again.spend.judge_calls, again.spend.cached_calls) == (0, 1)


def test_a_reply_on_record_is_read_once() -> None:
    """Whether it counts and what it says are one reading: it is most of what such a case costs."""
    store = MemoryStore()
    one(ScriptedJudge(raw(alpha=True, beta=True, gamma=True)), store=store)
    judge = ScriptedJudge(AssertionError("asked again"))
    read = 0

    def counted(*given: Any) -> Any:
        nonlocal read
        read += 1
        return ScriptedJudge.read(judge, *given)

    judge.read = counted  # type: ignore[method-assign]
    again = one(judge, store=store)
    assert (again.spend.cached_calls, len(again.ballot.marks), read) == (1, 3, 1)


def test_an_unusable_reply_is_evidence_and_not_an_answer() -> None:
    """A refusal is on record, named in the ballot by its place in the store, and the next run asks
    that judge again.
    """
    store = MemoryStore()
    first = one(ScriptedJudge("I would rather not."), store=store)
    assert first.ballot.state is JudgeState.DEGRADED and first.spend.judge_calls == 2
    texts = [
        json.loads(store.answers([key])[key][place].data)["text"]
        for key, place in first.ballot.unusable
    ]
    assert texts == ["I would rather not."] * 2
    again = one(ScriptedJudge(), store=store)
    assert again.ballot.marks and (again.spend.judge_calls, again.spend.cached_calls) == (1, 0)
    assert not again.ballot.unusable and not again.ballot.earlier
    third = one(ScriptedJudge(AssertionError("asked")), store=store)
    assert third.ballot.marks == again.ballot.marks and third.spend.cached_calls == 1


def test_a_usable_reply_is_not_asked_for_again_although_a_later_one_is_unusable() -> None:
    """Garbage that a `--fresh` run got replaces no answer."""
    store = MemoryStore()
    first = one(ScriptedJudge(), store=store)
    one(ScriptedJudge("garbage"), store=store, fresh=True)
    assert (
        one(ScriptedJudge(AssertionError("asked")), store=store).ballot.marks == first.ballot.marks
    )


def test_what_one_run_was_told_often_enough_is_not_asked_again_in_it() -> None:
    """Two artifacts with the same bytes: the unusable replies of the first are those of the second."""
    judge = ScriptedJudge("I would rather not.")
    seat = Seat(id=judge.id, judge=judge)
    panel = Panel(seats=[seat], journal=MemoryStore().journal, meter=world.meter())
    (first,) = world.run(panel.consult(QUESTION))
    (second,) = world.run(panel.consult(QUESTION))
    assert judge.calls == 2 and second.spend.judge_calls == 0
    assert second.ballot.unusable == first.ballot.unusable


def test_a_crash_is_not_on_record() -> None:
    """The next command tries again."""
    store = MemoryStore()
    one(ScriptedJudge(CallFailed("it broke")), store=store)
    assert one(ScriptedJudge(), store=store).ballot.state is JudgeState.AVAILABLE


def test_a_reply_is_on_record_before_it_is_read() -> None:
    """A reader that fails has not lost what was paid for."""
    store = MemoryStore()

    class Careless(ScriptedJudge):
        def read(self, *_: Any) -> Any:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        one(Careless(), store=store)
    assert one(ScriptedJudge(AssertionError("asked again")), store=store).spend.cached_calls == 1


@pytest.mark.parametrize(
    "change",
    [
        {"judge": ScriptedJudge(identity={"temperature": 1})},
        {"judge": ScriptedJudge(id="another")},
        {"question": world.question(RUBRIC, TEXT := "Another text.\n")},
        {
            "question": world.question(
                world.rubric(world.words("a", "alpha", "beta"), world.words("b", "gamma!"))
            )
        },
        {"draw": 1},
    ],
    ids=["setting", "judge", "text", "rubric", "draw"],
)
def test_anything_that_may_change_a_reply_asks_anew(change: dict[str, Any]) -> None:
    """Another setting, judge, text, item or draw is another request."""
    store = MemoryStore()
    one(ScriptedJudge(), store=store)
    judge = change.get("judge", ScriptedJudge())
    seat = Seat(id=judge.id, judge=judge, draw=change.get("draw", 0))
    panel = Panel(seats=[seat], journal=store.journal, meter=world.meter())
    (found,) = world.run(panel.consult(change.get("question", QUESTION)))
    assert (found.spend.judge_calls, found.spend.cached_calls) == (1, 0) and TEXT


def test_two_seats_of_one_judge_are_two_looks() -> None:
    """The second draw is another call, on record beside the first."""
    store = MemoryStore()
    judge = ScriptedJudge([True, False])
    pair = [Seat(id="j", judge=judge), Seat(id="j#2", judge=judge, draw=1)]
    found = world.run(
        Panel(seats=pair, journal=store.journal, meter=world.meter()).consult(QUESTION)
    )
    assert [answers(c.ballot)["alpha"] for c in found] == [True, False]
    silent = Panel(seats=pair, journal=store.journal, meter=world.meter(0))
    assert [c.spend.cached_calls for c in world.run(silent.consult(QUESTION))] == [1, 1]


def test_fresh_asks_each_request_once_anew_and_later_the_newest_counts() -> None:
    """`--fresh` does not ask twice for the same bytes in one run; the old reply stays, the new one
    is used from then on.
    """
    store = MemoryStore()
    one(ScriptedJudge(True), store=store)
    judge = ScriptedJudge([False])
    panel = world.panel([judge], store, fresh=True)

    async def twice() -> list[Consulted]:
        return [*await panel.consult(QUESTION), *await panel.consult(QUESTION)]

    first, second = world.run(twice())
    assert judge.calls == 1 and (first.spend.cached_calls, second.spend.cached_calls) == (0, 1)
    assert (
        answers(one(ScriptedJudge(AssertionError("asked")), store=store).ballot)["alpha"] is False
    )


def test_equal_requests_at_the_same_time_are_one_call() -> None:
    """Two artifacts with the same bytes and path are paid for once, however close together they
    come.
    """
    judge = ScriptedJudge([True])
    panel = world.panel([judge])

    async def both() -> list[list[Consulted]]:
        return list(await asyncio.gather(panel.consult(QUESTION), panel.consult(QUESTION)))

    (first,), (second,) = world.run(both())
    assert judge.calls == 1 and first.ballot == second.ballot
    assert (first.spend.cached_calls, second.spend.cached_calls) == (0, 1)


def test_what_others_put_on_record_counts_in_a_run_that_asks() -> None:
    """A run that found nothing for its latest request claims the next at once, and finds by one look
    what another run has asked since; where it finds something, the next look needs no claim.
    """
    store = MemoryStore()
    texts = [world.question(RUBRIC, f"Text {number}.\n") for number in range(4)]
    others = world.panel([ScriptedJudge(True)], store)
    judge = ScriptedJudge(True)
    panel = world.panel([judge], store)
    done: list[str] = []

    def noted(name: str) -> None:
        call = getattr(panel.journal, name)

        async def note(key: str) -> Any:
            done.append(name)
            return await call(key)

        setattr(panel.journal, name, note)

    async def run() -> list[Consulted]:
        await others.consult(texts[2])
        await others.consult(texts[3])
        noted("recall")
        noted("claim_reply")
        return [one for text in texts for one in await panel.consult(text)]

    found = world.run(run())
    assert [one.spend.cached_calls for one in found] == [0, 0, 1, 1] and judge.calls == 2
    looked = ["recall", "claim_reply", "recall"]
    assert done == [*looked, *looked[1:], *looked[1:], "recall"]


def test_a_reply_of_any_text_survives_the_record() -> None:
    """Half a surrogate pair, NUL bytes and cut replies come back as they were."""
    store = MemoryStore()
    odd = Reply(
        text=json.dumps({"odd": " \udcff\0", **reply_json(QUESTION, True)}, ensure_ascii=False),
        cut=True,
        exit=0,
        detail={"n": 1},
    )
    first = one(ScriptedJudge(odd), store=store)
    assert one(ScriptedJudge(AssertionError("asked")), store=store).ballot == first.ballot


# ----------------------------------------------------------------------------------------------------------
# evidence


@pytest.mark.parametrize(
    ("quote", "stands"),
    [("costs 30 euros", True), ("COSTS  30\neuros", True), ("costs 31 euros", False)],
)
def test_required_evidence_has_to_stand_in_the_text(quote: str, stands: bool) -> None:
    """With `--evidence require` an answer whose quote is not there is an abstention; without, it
    stays.
    """
    said = {"alpha": {"met": True, "evidence": quote}, "beta": True, "gamma": True}
    strict = one(ScriptedJudge(said), require_evidence=True).ballot
    assert (ALPHA in strict.marks) is stands and (ALPHA in strict.abstained) is not stands
    assert strict.marks[BETA].answer is True, "an answer without a quote is not touched"
    assert ALPHA in one(ScriptedJudge(said)).ballot.marks


def test_evidence_is_looked_up_in_the_output_when_there_is_one() -> None:
    """What a target produced is what the judge was shown."""
    said = {"a": {"met": True, "evidence": "forty-two"}, "b": True}
    asked = msgspec.structs.replace(QUESTION, output="The answer is forty-two.")
    panel = world.panel([ScriptedJudge(said)], require_evidence=True)
    (found,) = world.run(panel.consult(asked))
    assert len(found.ballot.marks) == 3


def test_a_judge_whose_every_quote_is_invented_is_degraded() -> None:
    """Nothing is left of it."""
    ballot = one(
        ScriptedJudge(
            {
                "met": True,
                "a": {"met": True, "evidence": "made up by me"},
                "b": {"met": True, "evidence": "also made up"},
            }
        ),
        require_evidence=True,
    ).ballot
    assert ballot.state is JudgeState.DEGRADED and "not found in the text" in str(ballot.reason)


def test_a_reply_that_was_cut_off_gives_no_answer() -> None:
    """A length limit in the middle of the object: asked once more, then nothing is assumed."""
    half = Completion(text='{"token": "', cut=True)
    judge, model = prompted(half, half)
    assert one(judge).ballot.state is JudgeState.DEGRADED and len(model.prompts) == 2


def test_closing_a_panel_closes_every_judge() -> None:
    """Connections and children of all of them."""
    judges = [ScriptedJudge(id="a"), ScriptedJudge(id="b")]
    world.run(world.panel(judges).close())
    assert [judge.closed for judge in judges] == [1, 1]
