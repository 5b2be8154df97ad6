"""A person as a judge, seen from the panel; and host agents, who are prompted judges that nobody
calls.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.adapters.context import AdapterContext
from honestone.adapters.judges.agent import agent_judge, is_agent
from honestone.adapters.judges.human import HumanJudge, write_reply
from honestone.adapters.people.form import TerminalPerson
from honestone.adapters.registry import make_judge
from honestone.adapters.stores.memory import MemoryStore
from honestone.core.errors import SettingsError
from honestone.core.judging.ballot import JudgeState, Mark, Question
from honestone.core.judging.rubric import Item, Key
from honestone.core.judging.spend import Meter
from honestone.engine.judging.ballots import Consulted
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.formats.settings import Settings
from honestone.ports import CallFailed, Reply
from honestone.testing import check_judge, sample_question

SAMPLE = sample_question()
KEYS = [key for key, _ in SAMPLE.items()]


class Somebody:
    """A person who says what they were told to; None for an item is skipping it."""

    def __init__(self, marks: Mapping[Key, Mark | None] | None = None) -> None:
        self._marks = marks
        self.keys: list[str] = []
        self.forgotten: list[str] = []

    async def answer(self, question: Question, key: str, name: str) -> Mapping[Key, Mark | None]:
        self.keys.append(key)
        if self._marks is None:
            raise CallFailed("nobody is here", missing=True)
        return self._marks

    def forget(self, key: str) -> None:
        self.forgotten.append(key)


def full(item: Item) -> Mark:
    return Mark(True) if item.anchors is None else Mark(float(item.anchors.highest))


ALL: dict[Key, Mark | None] = {key: full(item) for key, item in SAMPLE.items()}


def consult(person: Somebody, store: MemoryStore, *, draw: int = 0) -> Consulted:
    seat = Seat(id="human", judge=HumanJudge("human", person), draw=draw)
    meter = Meter(calls=9, minutes=9, usd=None, clock=lambda: 0.0)

    async def ask() -> Consulted:
        panel = Panel(seats=[seat], journal=store.journal, meter=meter)
        found = await panel.consult_one(seat, SAMPLE)
        await panel.close()
        return found

    return asyncio.run(ask())


@pytest.mark.parametrize("person", [Somebody(ALL), Somebody(None)])
def test_it_keeps_the_promises_of_a_judge(person: Somebody) -> None:
    """Pure requests, honest readings, failures as CallFailed; with somebody there and with nobody."""
    check_judge(HumanJudge("human", person))


def test_an_answer_is_asked_for_once_and_then_on_record() -> None:
    """The second run repeats no question; the draft is forgotten when the reply is kept."""
    store, person = MemoryStore(), Somebody(ALL)
    first, second = consult(person, store), consult(person, store)
    assert len(person.keys) == 1 and person.forgotten == person.keys
    assert dict(first.ballot.marks) == dict(second.ballot.marks) == ALL
    assert (first.spend.judge_calls, second.spend.cached_calls) == (1, 1)


def test_another_look_or_text_is_another_draft() -> None:
    """Drafts of two looks, or of two versions, never mix."""
    person, store = Somebody(ALL), MemoryStore()
    consult(person, store)
    consult(person, store, draw=1)
    assert len(set(person.keys)) == 2


def test_a_skipped_item_abstains_and_is_not_asked_again() -> None:
    """One call, no problem, no mark for the skipped item."""
    person = Somebody({**ALL, KEYS[0]: None})
    found = consult(person, MemoryStore())
    assert KEYS[0] not in found.ballot.marks and KEYS[0] in found.ballot.abstained
    assert (
        len(person.keys) == 1
        and found.ballot.state is JudgeState.AVAILABLE
        and found.ballot.problems == ()
    )


def test_skipping_everything_is_no_reply() -> None:
    """Nothing is recorded as a ballot, and the reason says so; the next run asks again."""
    person, store = Somebody(dict.fromkeys(KEYS)), MemoryStore()
    found = consult(person, store)
    assert found.ballot.state is JudgeState.DEGRADED and "skipped every item" in (
        found.ballot.reason or ""
    )
    consult(person, store)
    assert len(person.keys) == 2


def test_nobody_there_is_skipped() -> None:
    """Without a terminal the judge is SKIPPED: there is no mark, and no score is made up."""
    found = consult(Somebody(None), MemoryStore())
    assert (
        found.ballot.state is JudgeState.SKIPPED
        and not found.ballot.marks
        and found.ballot.reason == "nobody is here"
    )


MARKS = st.fixed_dictionaries(
    {
        key: st.none()
        | st.builds(
            Mark,
            (
                st.booleans()
                if item.anchors is None
                else st.integers(int(item.anchors.lowest), int(item.anchors.highest))
            )
            | (st.just("n/a") if item.may_not_apply else st.nothing()),
            st.lists(st.text(min_size=1).filter(str.strip), max_size=1).map(tuple),
            st.none() | st.text(min_size=1).filter(str.strip),
        )
        for key, item in SAMPLE.items()
    }
)


@given(MARKS)
def test_what_was_said_is_what_is_read(marks: dict[Key, Mark | None]) -> None:
    """Every answer with its evidence and suggestion comes back from the strict reader; skipped ones
    stay absent.
    """
    judge = HumanJudge("human", Somebody(ALL))
    reading = judge.read(SAMPLE, judge.render(SAMPLE), Reply(text=write_reply(SAMPLE, marks)))
    assert (
        reading.marks == {key: mark for key, mark in marks.items() if mark is not None}
        and reading.is_clean
    )


@pytest.mark.parametrize("skipped", ["[[1, 2]]", '"all"', '[["steps"]]', "{}"])
def test_a_damaged_list_of_skipped_items_excuses_nothing(skipped: str) -> None:
    """An item without an answer is an error unless it was skipped by name."""
    judge = HumanJudge("human", Somebody(ALL))
    reading = judge.read(
        SAMPLE, judge.render(SAMPLE), Reply(text=f'{{"criteria": {{}}, "skipped": {skipped}}}')
    )
    assert set(reading.errors) == set(KEYS)


def test_the_request_holds_nothing_of_other_judges() -> None:
    """What a person is asked is what any judge is asked: no weight, bar, score or round."""
    body = json.loads(HumanJudge("human", Somebody(ALL)).render(SAMPLE).body)
    assert set(body) == {
        "schema",
        "artifact",
        "input",
        "reference",
        "output",
        "criteria",
        "workspace",
        "draw",
    }


# -------------------------------------------------------------------------------------------------------
# host agents


def test_an_agent_keeps_the_promises_of_a_judge() -> None:
    """It never has a reply of its own: `ask` fails as missing."""
    judge = agent_judge("agent:host", "host")
    check_judge(judge)
    with pytest.raises(CallFailed) as failed:
        asyncio.run(judge.ask(judge.render(SAMPLE), SAMPLE))
    assert failed.value.missing and "honestone agent submit" in failed.value.reason


def test_two_agents_have_two_identities() -> None:
    """A reply of one is never taken for the other's."""
    assert agent_judge("agent:a", "a").identity != agent_judge("agent:b", "b").identity
    assert agent_judge("agent:a#2", "a").identity == agent_judge("agent:a", "a").identity


@pytest.mark.parametrize("name", ["two words", "a/b", "a#2", "x" * 65])
def test_a_name_is_one_word(name: str) -> None:
    """Anything else is refused before it is asked."""
    with pytest.raises(SettingsError):
        agent_judge(f"agent:{name}", name)


def test_the_registry_knows_both(tmp_path: Path) -> None:
    """`human` and `agent:NAME` are names of judges; the form is only loaded, no terminal is opened."""
    context = AdapterContext(
        cwd=tmp_path, settings=Settings(), person=lambda: TerminalPerson(tmp_path)
    )
    assert make_judge("human", context).identity["kind"] == "human"
    assert is_agent(make_judge("agent:host", context)) and not is_agent(make_judge("mock", context))
