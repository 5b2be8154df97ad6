"""What `keep-best` records of the judges of a suite: it states what `belief` would state by the same
answers, and decides by none of it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.events import BallotCast, Event, SuiteImprovementStarted
from honestone.core.loop.state import decide, fold
from honestone.core.loop.suite_belief import SuiteBeliefState, state_of_suite_run
from honestone.core.loop.suite_loop import TEST, TRAIN, VAL, KeepWhatHelps, SuiteLoopState
from honestone.core.record.event_codec import event_from_plain, event_to_plain

from .test_suite_belief import Told

ANSWERS = st.lists(
    st.tuples(st.sampled_from("mnop"), st.sampled_from(["+", "-", "++", "+-"])),
    min_size=4,
    max_size=4,
)


def log_of(
    val: list[tuple[str, str]], train: list[tuple[str, str]], test: list[tuple[str, str]] | None
) -> list[Event]:
    """An original and an edit of it, as a run by belief records them."""
    told = Told()
    told.looked("v0", VAL, [(f"{split}{place}", "-") for place, split in enumerate("aabb")])
    told.looked("v0", TRAIN, [(f"t{place}", "-") for place in range(4)])
    told.proposed("v1")
    told.looked("v1", VAL, val)
    told.looked("v1", TRAIN, train)
    if test is not None:
        told.looked("v0", TEST, [(f"s{place}", "-") for place in range(4)])
        told.looked("v1", TEST, test)
    return told.log


def state_of(log: list[Event], policy: str) -> SuiteLoopState:
    first = log[0]
    assert isinstance(first, SuiteImprovementStarted)
    return fold(state_of_suite_run(replace(first, policy=policy)), log[1:])


def without_answers(log: list[Event]) -> list[Event]:
    """As a version before this one recorded `keep-best`."""
    first, *rest = log
    assert isinstance(first, SuiteImprovementStarted)
    told = [replace(one, cases=()) if isinstance(one, BallotCast) else one for one in rest]
    return [replace(first, rubrics={}), *told]


@given(val=ANSWERS, train=ANSWERS, test=st.none() | ANSWERS)
def test_the_same_answers_state_the_same_and_decide_nothing(
    val: list[tuple[str, str]], train: list[tuple[str, str]], test: list[tuple[str, str]] | None
) -> None:
    log = [event_from_plain(event_to_plain(one)) for one in log_of(val, train, test)]
    found, old = state_of(log, "keep-best"), state_of(without_answers(log), "keep-best")
    by_belief = state_of(log, "belief")
    assert isinstance(by_belief, SuiteBeliefState) and not isinstance(found, SuiteBeliefState)
    for version in ("v0", "v1"):
        assert found.probability(version) == by_belief.probability(version) is not None
        assert found.stated(version) == by_belief.stated(version)
        assert old.probability(version) is None and old.stated(version) is None
        assert found.verdict(version) == old.verdict(version)
        assert found.certifications(version) == old.certifications(version)
    assert decide(found, KeepWhatHelps()) == decide(old, KeepWhatHelps())


@pytest.mark.parametrize("policy", ["keep-best", "belief"])
def test_a_split_that_was_not_run_is_not_taken_for_one_that_passes(policy: str) -> None:
    state = state_of(log_of([("m", "++")] * 4, [("m", "++")] * 4, None), policy)
    stated = state.stated("v1")
    assert stated is not None and 0.5 < stated.probability < 0.8 and stated.not_asked == 4
