"""Further looks under `sure` that ask a part of the criteria: which, how they are recorded, and
what of that holds after a kill or under another bar.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import engine_world as world
import pytest
from msgspec.structs import replace

from honestone.adapters.stores.memory import MemoryStore
from honestone.core.belief.stated import belief_of
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
from honestone.engine.judging.asking_on import AskingOn
from honestone.ports import Store
from honestone.testing import ScriptedJudge

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
    panel: Sequence[ScriptedJudge], store: Store, of: Rubric, *, calls: int = 100
) -> tuple[AskingOn, list[Ballot]]:
    """The looks at one text, until it is sure or the calls are used."""
    question = world.question(of)
    asking = AskingOn.of(
        world.panel(panel, store, meter_=world.meter(calls)), question, of, checks=()
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
