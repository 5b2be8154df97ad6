"""What each judge of a run cost, from its events."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from honestone.core.events import ArtifactJudged, AttemptJudged, BallotCast, Event, LookTaken
from honestone.core.judging.ballot import CHECK, Ballot
from honestone.core.judging.spend import Spend
from honestone.core.record.event_codec import event_from_plain, event_to_plain
from honestone.core.record.judge_spends import judge_spends

SPENDS = st.builds(
    Spend,
    judge_calls=st.integers(0, 9),
    cached_calls=st.integers(0, 9),
    input_tokens=st.integers(0, 10**6),
    usd=st.none() | st.integers(1, 100).map(float),
)
BY_JUDGE = st.dictionaries(st.sampled_from(("one", "two", "three")), SPENDS, min_size=2)


def ballots(*judges: str) -> tuple[Ballot, ...]:
    return tuple(Ballot(judge=judge, marks={}) for judge in judges)


@given(st.lists(BY_JUDGE, max_size=5))
def test_what_several_judges_cost_adds_up(parts: list[Mapping[str, Spend]]) -> None:
    """Through the record, which is JSON: every judge has the sum of its parts, and all together
    have the whole.
    """
    log: list[Event] = [
        AttemptJudged(
            case="a",
            attempt=1,
            ballots=ballots(CHECK, *by),
            spend=Spend.of(by.values()),
            by_judge=by,
        )
        for by in parts
    ]
    log = [event_from_plain(event_to_plain(event)) for event in log]
    found = judge_spends(log)
    assert found is not None
    for judge, spend in found.items():
        assert spend == Spend.of(by[judge] for by in parts if judge in by)
    assert Spend.of(found.values()) == Spend.of(
        event.spend for event in log if isinstance(event, AttemptJudged)
    )


def test_an_only_judge_has_all_but_the_call_of_the_target() -> None:
    event = ArtifactJudged(
        path="a",
        digest="",
        ballots=ballots(CHECK, "one"),
        spend=Spend(judge_calls=2, target_calls=1, usd=0.5),
    )
    assert judge_spends([event, event]) == {"one": Spend(judge_calls=4, usd=1.0)}
    assert judge_spends([ArtifactJudged(path="a", digest="", ballots=ballots(CHECK))]) == {}


def test_a_vote_of_a_loop_is_its_judges_own() -> None:
    log = [
        BallotCast(version="v", role="panel", ballot=one, spend=Spend(judge_calls=1))
        for one in ballots("one", "two")
    ]
    assert judge_spends([*log, log[0]]) == {
        "one": Spend(judge_calls=2),
        "two": Spend(judge_calls=1),
    }


def test_what_cannot_be_told_apart_is_not_guessed() -> None:
    """A record of an older version has one sum for several judges; a split of a suite is a run of
    its own.
    """
    assert (
        judge_spends(
            [LookTaken(number=1, ballots=ballots("one", "two"), spend=Spend(judge_calls=2))]
        )
        is None
    )
    split = BallotCast(
        version="v",
        role="panel",
        ballot=ballots("train")[0],
        of_run="r",
        spend=Spend(judge_calls=2),
    )
    assert judge_spends([split]) is None
