"""Further looks under `sure` that ask a part of the criteria: which, how they are recorded, and
what of that holds after a kill or under another bar.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import engine_world as world
import pytest
from msgspec.structs import replace

from honestone.adapters.judges.prompted import PromptedJudge
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.belief.next_look import LEAST_ITEMS, AskedLook, Looking
from honestone.core.belief.stated import alike, belief_of, may_repeat, repeats
from honestone.core.belief.verdict import TextBelief
from honestone.core.judging.ballot import (
    Ballot,
    JudgeState,
    Mark,
    Question,
    ballot_from_plain,
    ballot_to_plain,
)
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorecard import Outcome
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.engine.judging.asking_on import AskingOn
from honestone.engine.judging.panel import ASKED
from honestone.ports import Reply, Store
from honestone.testing import ScriptedJudge, ScriptedModel, fill_in

COUNT = 40
CONTESTED = "c7"


class PricedJudge(ScriptedJudge):
    """A judge whose call costs what its request is long."""

    def size_of(self, question: Question) -> int:
        return len(self.render(question).body)


def rubric(count: int = COUNT, *, sure: int = 95, need: int | None = None) -> Rubric:
    criteria = tuple(
        Criterion(
            id=id, requirement=id, items=(Item(id=id, requirement=f"{id} holds", whole=True),)
        )
        for id in (f"c{number}" for number in range(count))
    )
    return Rubric(
        criteria=criteria,
        threshold=Fraction(need or count, count),
        floor=Fraction(0),
        sure=Fraction(sure, 100),
    )


def says(no_at: Sequence[int]) -> Callable[[Question], dict[str, bool]]:
    """Yes to everything; to one criterion no in the looks with these numbers."""

    def answers(question: Question) -> dict[str, bool]:
        is_no = question.draw in no_at
        return {one.id: not (is_no and one.id == CONTESTED) for one in question.criteria}

    return answers


def judges(made: type[ScriptedJudge] = PricedJudge) -> list[ScriptedJudge]:
    """Three that agree on all but one criterion, of which one of them says no at first."""
    return [made(says([0] if id == "a" else []), id=id) for id in "abc"]


def ask(
    panel: Sequence[Any], store: Store, of: Rubric, *, calls: int = 100, **more: Any
) -> tuple[AskingOn, list[Ballot]]:
    """The looks at one text, until it is sure or the calls are used."""
    question = world.question(of)
    asking = AskingOn.of(
        world.panel(panel, store, meter_=world.meter(calls), **more), question, of, checks=()
    )
    return asking, [one.ballot for one in world.run(asking.to_end())]


def asked(panel: Sequence[ScriptedJudge]) -> list[tuple[str, ...]]:
    """The parts that each call asked."""
    return [question.part for judge in panel for question in judge.questions]


def test_a_further_look_asks_the_criteria_that_decide() -> None:
    """All but one of forty are agreed on: later calls ask a few, and less is sent."""
    panel = judges()
    looking, ballots = ask(panel, MemoryStore(), rubric())
    parts = [one for one in asked(panel) if one]
    assert parts and all(CONTESTED in one and len(one) < COUNT // 2 for one in parts)
    assert [one.asked for one in ballots if one.asked] == parts
    assert all({key[0] for key in one.marks} == set(one.asked) for one in ballots if one.asked)
    assert not any(one.abstained for one in ballots)
    whole, part = _bodies(panel)
    assert max(map(len, part)) < 0.75 * min(map(len, whole))
    assert looking.looking.belief is not None
    assert looking.looking.belief.looks == sum(judge.calls for judge in panel)


def _bodies(panel: Sequence[ScriptedJudge]) -> tuple[list[str], list[str]]:
    """What was sent in looks at all criteria, and at a part of them."""
    rows = [row for judge in panel for row in zip(judge.bodies, judge.questions, strict=True)]
    return [body for body, one in rows if not one.whole], [body for body, one in rows if one.whole]


def test_the_verdict_is_the_one_of_looks_at_everything_for_no_more_looks() -> None:
    """The same judges, once as such that have no price: those are asked the whole rubric."""
    panel, plain = judges(), judges(ScriptedJudge)
    of = rubric()
    (_, in_parts), (_, whole) = (ask(one, MemoryStore(), of) for one in (panel, plain))
    assert not any(asked(plain)) and any(asked(panel))
    beliefs = [belief_of(of, one) for one in (in_parts, whole)]
    assert [one and one.outcome for one in beliefs] == [Outcome.PASS, Outcome.PASS]
    assert len(in_parts) <= len(whole)


def test_an_item_that_was_not_asked_is_not_open() -> None:
    """Every item has the votes of the looks that asked it, and the score is exact."""
    _, ballots = ask(judges(), MemoryStore(), rubric())
    card = Scorer(rubric()).card(ballots)
    assert card.low == card.high and not card.open
    votes = {line.criterion.id: len(line.items[0].votes) for line in card.lines}
    assert votes[CONTESTED] == len(ballots) > min(votes.values())


def test_the_same_again_asks_no_one() -> None:
    """Also where the judges are named in another order, or prices are unknown by then."""
    store, of = MemoryStore(), rubric()
    _, first = ask(judges(), store, of)
    for again in (judges(), judges()[::-1], judges(ScriptedJudge)):
        _, found = ask(again, store, of)
        assert not any(judge.calls for judge in again)
        assert sorted(found, key=lambda one: one.judge) == sorted(first, key=lambda one: one.judge)


@pytest.mark.parametrize("calls", [1, 3, 5, 6])
def test_a_run_that_ended_early_chooses_the_same_looks(calls: int) -> None:
    """What the record holds decides: both halves ask together what one run asks."""
    of, store = rubric(sure=97), MemoryStore()
    whole = judges()
    _, expected = ask(whole, MemoryStore(), of)
    begun, ended = judges(), judges()
    ask(begun, store, of, calls=calls)
    _, found = ask(ended, store, of)
    assert found == expected
    both = [[*a.bodies, *b.bodies] for a, b in zip(begun, ended, strict=True)]
    assert both == [one.bodies for one in whole]


def test_a_higher_bar_buys_only_what_is_missing() -> None:
    """And the lower one takes all that is on record then."""
    store, more = MemoryStore(), judges()
    ask(judges(), store, rubric(sure=80))
    _, known = ask(more, store, rubric(sure=99))
    assert sum(judge.calls for judge in more) < len(known)
    again = judges()
    _, found = ask(again, store, rubric(sure=80))
    assert not any(judge.calls for judge in again) and found == known


def test_a_look_at_a_part_is_no_look_at_everything() -> None:
    """A panel that asks that look of all criteria does not take it from the record."""
    store, of = MemoryStore(), rubric()
    panel = judges()
    _, ballots = ask(panel, store, of)
    part = next(one for one in ballots if one.asked)
    judge = next(one for one in judges() if one.id == part.voter)
    number = int(part.judge.partition("#")[2]) - 1
    seat = replace(world.seats(judge)[0], draw=number)
    (found,) = world.run(world.panel([judge], store).consult(world.question(of), [seat]))
    assert judge.calls == 1 and not found.ballot.asked and len(found.ballot.marks) == COUNT
    # From now on the look at everything counts, where both are on record.
    _, later = ask(judges(), store, of)
    assert len(next(one for one in later if one.judge == part.judge).marks) == COUNT


def test_a_reply_to_a_part_that_lacks_an_answer_is_asked_for_again_once() -> None:
    """The second call names the same part, and neither is paid for again."""

    def forgetful(question: Question) -> dict[str, bool]:
        said = says([0])(question)
        forgets = bool(question.whole) and not forgotten
        if forgets:
            forgotten.append(question.part)
            said.pop(CONTESTED)
        return said

    forgotten: list[tuple[str, ...]] = []
    store, of = MemoryStore(), rubric()
    _, first = ask([PricedJudge(forgetful, id="a"), *judges()[1:]], store, of)
    again = judges()
    _, second = ask(again, store, of)
    assert forgotten and first == second and not any(judge.calls for judge in again)


def test_a_ballot_says_what_it_was_asked() -> None:
    """It is read back as it was; of all criteria nothing is written, as before."""
    part = Ballot(judge="a#2", marks={("c1", "c1"): Mark(True)}, draw_of="a", asked=("c1",))
    assert ballot_from_plain(ballot_to_plain(part)) == part
    assert ballot_to_plain(part)["asked"] == ["c1"]
    assert "asked" not in ballot_to_plain(replace(part, asked=()))


def test_a_mark_that_a_look_at_a_part_lacks_is_open() -> None:
    """It was asked, and gave no answer: as with every other look."""
    of = rubric(3)
    marks = {(f"c{at}", f"c{at}"): Mark(True) for at in range(3)}
    lacking = {"c0": ("c1",), "c1": ("c0", "c1")}
    for open_one, ids in lacking.items():
        look = Ballot(
            judge="a#2",
            marks={(ids[0], ids[0]): Mark(True)},
            draw_of="a",
            state=JudgeState.AVAILABLE,
            asked=ids,
        )
        card = Scorer(of).card([Ballot(judge="a", marks=marks), look])
        assert bool(card.open) is (open_one == "c1")


def look(number: int, words: str, *asked: str) -> Ballot:
    """A look that says yes to all, with some words to the first criterion that no part asks."""
    marks = {(f"c{at}", f"c{at}"): Mark(True) for at in range(4)}
    marks["c0", "c0"] = Mark(True, suggestion=words)
    kept = {key: mark for key, mark in marks.items() if not asked or key[0] in asked}
    return Ballot(judge=f"a#{number}", marks=kept, draw_of="a", asked=asked)


def test_looks_at_a_part_that_agree_do_not_say_that_a_judge_repeats_itself() -> None:
    """Its replies to everything differ: a part of them that does not says nothing about the rest."""
    whole = [look(number, f"look {number}") for number in range(3)]
    parts = [look(number, "", "c2") for number in range(3, 9)]
    assert not repeats([*whole, *parts]) and alike([*whole, *parts]) == 0
    same = [look(number, "the same") for number in range(3)]
    assert repeats([*same, *parts]) and alike([*same, *parts]) == 3
    assert not repeats([*same[:2], *parts]) and alike([*same[:2], *parts]) == 2


def test_who_may_repeat_itself_is_asked_everything() -> None:
    """That alone shows whether it does."""
    whole = [look(number, f"look {number}") for number in range(3)]
    assert not may_repeat(whole) and not may_repeat([])
    assert may_repeat([*whole, look(3, "", "c2")]) and may_repeat([*whole, whole[0]])
    assert not may_repeat([*whole, look(3, "other", "c0")])


def test_a_judge_that_always_replies_the_same_is_given_up_in_parts_too() -> None:
    """A few cheap looks may be more; it is not asked to the end of the looks."""

    def stubborn(made: type[ScriptedJudge]) -> list[ScriptedJudge]:
        return [
            made(lambda q: {one.id: one.id != CONTESTED for one in q.criteria}, id="a"),
            *(made(says([]), id=id) for id in "bc"),
        ]

    of = replace(rubric(sure=99), max_looks=60)
    (_, parts), (_, whole) = (
        ask(stubborn(made), MemoryStore(), of) for made in (PricedJudge, ScriptedJudge)
    )
    assert len(whole) == 9 and len(parts) <= 15


@pytest.mark.parametrize("why", ["no price", "too dear", "groups", "small", "one that repeats"])
def test_where_no_part_is_asked_nothing_is_worked_out(
    why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Prices are asked before beliefs."""

    def never(text: TextBelief, judge: str) -> Any:
        raise AssertionError("worked out")

    monkeypatch.setattr(TextBelief, "next_answers", never)
    of = rubric(LEAST_ITEMS - 1 if why == "small" else LEAST_ITEMS)
    if why == "groups":
        group = Criterion(id="g", requirement="g", children=of.criteria)
        of = replace(of, criteria=(group,))
    looking = Looking(rubric=of, judges=[AskedLook(id=id) for id in "ab"])
    for judge in ("a", "b", *(("a",) if why == "one that repeats" else ())):
        marks = {key: Mark(judge == "a" or key[0] != CONTESTED) for key, _ in of.questions()}
        looking.add(judge, Ballot(judge=judge, marks=marks))

    def size(ids: Sequence[str]) -> int | None:
        if why == "no price":
            return None
        return 80 if ids and why == "too dear" else (len(ids) or 100)

    assert looking.part("a", size) == ()


def test_a_rubric_of_some_items_is_asked_in_parts() -> None:
    """What the test above leaves out is all that keeps a part from being asked."""
    of = rubric(LEAST_ITEMS)
    looking = Looking(rubric=of, judges=[AskedLook(id=id) for id in "abc"])
    for number, judge in enumerate("abcabc"):
        marks = {key: Mark(number > 0 or key[0] != CONTESTED) for key, _ in of.questions()}
        marks["c0", "c0"] = Mark(True, suggestion=f"look {number}")
        looking.add(judge, Ballot(judge=f"{judge}#{number}", marks=marks, draw_of=judge))
    part = looking.part("a", lambda ids: 2 + (len(ids) or LEAST_ITEMS))
    assert part == (CONTESTED,)


@pytest.mark.parametrize("more", [{"fresh": True}, {"oldest_reply": "2000-01-01T00:00:00Z"}])
def test_where_records_do_not_count_everything_is_asked(more: dict[str, Any]) -> None:
    panel = judges()
    ask(panel, MemoryStore(), rubric(), **more)
    assert not any(asked(panel))


def test_the_newest_reply_on_record_counts_whole_or_part() -> None:
    """As everywhere else: also where an older one answers more."""
    store, of = MemoryStore(), rubric()
    judge = PricedJudge(True, id="a")
    question = world.question(of)
    part = question.part_of([CONTESTED])
    (seat,) = world.seats(judge)
    panel = world.panel([judge], store)
    for one, expected in ((question, ()), (part, (CONTESTED,)), (question, ())):
        again = world.panel([judge], store, fresh=True)
        world.run(again.consult_one(seat, one))
        found = world.run(panel.on_record(seat, question))
        assert found is not None and found.part == expected


def models(answers: Callable[[str, int, str], bool], names: str = "abc") -> list[PromptedJudge]:
    """Judges over models with a price. `answers`: by judge, look and question."""

    def made(name: str) -> PromptedJudge:
        def step(prompt: Any) -> str:
            return fill_in(
                lambda asked: answers(name, prompt.draw, asked), suggestion=f"look {prompt.draw}"
            )(prompt)

        model = ScriptedModel(step, name=name)
        model.identity = {"kind": "scripted", "api": "x", "model": name}
        return PromptedJudge(name, model)

    return [made(name) for name in names]


def calls_of(panel: Sequence[PromptedJudge]) -> int:
    return sum(len(one.model.prompts) for one in panel)  # type: ignore[attr-defined]


def by_question(name: str, draw: int, asked: str) -> bool:
    return (name, draw) != ("a", 0) or f"{CONTESTED} holds" not in asked


@pytest.mark.parametrize("ids", [{CONTESTED: "other"}, {CONTESTED: "c8", "c8": CONTESTED}])
def test_other_ids_of_the_same_criteria_find_the_same_looks(ids: dict[str, str]) -> None:
    """No prompt has an id in it, so what was asked is found by its place."""
    store, of = MemoryStore(), rubric()
    _, first = ask(models(by_question), store, of)
    assert any(one.asked for one in first)
    renamed = replace(
        of,
        criteria=tuple(
            replace(one, id=ids.get(one.id, one.id), requirement=one.requirement)
            for one in of.criteria
        ),
    )
    again = models(by_question)
    asking, found = ask(again, store, renamed)
    assert calls_of(again) == 0 and not asking.looking.given_up
    names = [tuple(ids.get(id, id) for id in one.asked) for one in first]
    assert [one.asked for one in found] == names
    votes = [[mark.answer for mark in one.marks.values()] for one in found]
    assert votes == [[mark.answer for mark in one.marks.values()] for one in first]


@pytest.mark.parametrize("places", [[40], [-1], ["c7"], [True]])
def test_a_part_that_the_rubric_does_not_have_is_not_on_record(places: list[Any]) -> None:
    """Its look is one that nobody had, and its judge is not given up for it."""
    question = world.question(rubric())
    assert question.part_at(places) is None
    part = question.part_of([CONTESTED, "c3"])
    assert part.places == (3, 7) and question.part_at(part.places) == part
    assert question.part_at(()) is question and question.places == ()


def test_a_reply_that_does_not_count_hides_none_that_does() -> None:
    """A whole reply of rubbish under the same key: the part before it is still that look."""
    store, of = MemoryStore(), rubric()
    _, first = ask(judges(), store, of)
    part = next(one for one in first if one.asked)
    number = int(part.judge.partition("#")[2]) - 1
    rubbish = PricedJudge("rubbish", id=part.voter)
    seat = replace(world.seats(rubbish)[0], draw=number)
    world.run(world.panel([rubbish], store).consult(world.question(of), [seat]))
    again = judges()
    _, found = ask(again, store, of)
    assert rubbish.calls and found == first and not any(one.calls for one in again)


def test_a_reply_without_an_answer_is_no_reason_to_ask() -> None:
    """The same command pays for nothing where the others decide without that judge."""
    store, of = MemoryStore(), rubric(8)

    def panel() -> list[ScriptedJudge]:
        return [PricedJudge("rubbish", id="a"), *(PricedJudge(True, id=id) for id in "bc")]

    begun = panel()
    ask(begun, store, of)
    assert begun[0].calls
    for again in (panel(), panel()):
        ask(again, store, of)
        assert not any(one.calls for one in again)


def test_replies_that_are_too_old_are_no_reason_to_ask() -> None:
    """Twelve of them on record cost what none of them does."""
    store, of = MemoryStore(), rubric(8, sure=99)
    ask([PricedJudge(says([0, 2]), id=id) for id in "abc"], store, of)
    panels = [[PricedJudge(True, id=id) for id in "abc"] for _ in range(2)]
    of = replace(of, sure=Fraction(95, 100))
    for panel, where in zip(panels, (store, MemoryStore()), strict=True):
        ask(panel, where, of, oldest_reply="2999-01-01T00:00:00Z")
    known, new = (sum(one.calls for one in panel) for panel in panels)
    assert known == new > 0


def test_a_late_reply_to_other_criteria_is_not_read() -> None:
    """Two runs chose other parts of one look: each reads its own answers."""
    store = MemoryStore()
    question = world.question(rubric())
    parts = [question.part_of([id]) for id in ("c3", CONTESTED)]

    class Slow(ScriptedJudge):
        async def ask(self, request: Any, question: Question) -> Reply:
            reply = await super().ask(request, question)
            key = panel._key(panel.seats[0], self.render(world.question(rubric())))
            other = {"text": raw_reply("c3"), "detail": {ASKED: list(parts[0].places)}}
            store.keep_reply(key, "other", other)
            return reply

    panel = world.panel([Slow(True, id="a")], store)
    (found,) = world.run(panel.consult(parts[1]))
    assert [key[0] for key in found.ballot.marks] == [CONTESTED]
    # Read as its own, the other reply would have had it asked once more.
    assert found.spend.judge_calls == 1 and not found.ballot.problems
    # Of the same part the one that is on record counts, as ever.
    later = PricedJudge(False, id="a")
    (found,) = world.run(world.panel([later], store).consult(parts[0]))
    assert not later.calls and [one.answer for one in found.ballot.marks.values()] == [True]


def raw_reply(id: str) -> str:
    return json.dumps({"criteria": {id: {"met": True}}})


def test_a_reply_that_gives_no_mark_is_counted_as_the_call_that_it_is() -> None:
    """It is read again when the look is asked once more: that is no reply from an earlier run."""
    silent = [ScriptedJudge("nothing", id=id) for id in "ab"]
    asking, _ = ask(silent, MemoryStore(), rubric(3))
    spent = Spend.of(spend for _, spend in asking.spends)
    calls = sum(one.calls for one in silent)
    assert (spent.judge_calls, spent.cached_calls) == (calls, 0)
    meter = asking.panel.meter.spent
    assert (meter.judge_calls, meter.cached_calls) == (calls, 0)
