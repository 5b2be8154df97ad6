"""Comparing two artifacts: every judge is asked in both orders by the panel, code compares what
checks say.
"""

from __future__ import annotations

import asyncio

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.artifact import Version
from honestone.core.judging.ballot import Ballot, JudgeState
from honestone.core.judging.packing import PlainPacked
from honestone.core.judging.rubric import Rubric, Rule
from honestone.core.judging.spend import Spend
from honestone.core.reading import pairwise
from honestone.engine.judging.ballots import check_ballot
from honestone.engine.judging.panel import Panel
from honestone.engine.judging.seats import Seat
from honestone.ports import Checker, SizedJudge


class PairJudged(Struct, frozen=True, kw_only=True):
    """A comparison and what it took. `ballots` are one a judge, its two orders as one, to tell who
    took part.
    """

    comparison: pairwise.Comparison
    ballots: tuple[Ballot, ...]
    spend: Spend
    packed: dict[str, dict[str, PlainPacked]]
    are_same: bool = False


async def judge_pair(
    rubric: Rubric,
    a: Version,
    b: Version,
    *,
    panel: Panel,
    checker: Checker,
    rule: Rule = Rule.MEAN,
) -> PairJudged:
    """The seats' judges have to be such as take a `PairQuestion`. Equal bytes cost no call: neither
    is better.
    """
    if a.digest == b.digest:
        return PairJudged(
            comparison=pairwise.same(rubric), ballots=(), spend=Spend(), packed={}, are_same=True
        )
    spend = Spend()
    checks = await _check(rubric, a, b, checker, panel)
    questions = {order: pairwise.pair_question(rubric, a, b, order) for order in pairwise.ORDERS}
    seats = panel.seats if rubric.asks_judges else ()
    asked = [(seat, order) for seat in seats for order in pairwise.ORDERS]
    found = await asyncio.gather(
        *(panel.consult_one(seat, questions[order]) for seat, order in asked)
    )
    looks: dict[str, dict[pairwise.Order, Ballot]] = {seat.id: {} for seat in seats}
    for (seat, order), consulted in zip(asked, found, strict=True):
        looks[seat.id][order] = _in_our_words(consulted.ballot)
        spend.join(consulted.spend)
    return PairJudged(
        comparison=pairwise.compare(
            rubric, pairwise.PairAnswers(judges=looks, checks=checks), rule
        ),
        ballots=tuple(_as_one(judge, ballots) for judge, ballots in looks.items()),
        spend=spend,
        packed={
            seat.id: shown for seat in seats if (shown := _packed(seat, rubric, a, b)) is not None
        },
    )


async def _check(
    rubric: Rubric, a: Version, b: Version, checker: Checker, panel: Panel
) -> tuple[Ballot, Ballot] | None:
    checks = [(key, item.check) for key, item in rubric.questions() if item.check is not None]
    if not checks:
        return None
    wanted = [check for _, check in checks]
    about = [
        check_ballot(checks, await checker.run(wanted, version, once=panel.once))
        for version in (a, b)
    ]
    return about[0], about[1]


def _in_our_words(ballot: Ballot) -> Ballot:
    """The panel names a judge that fell for the control item by the question of a scorecard; here
    it is another.
    """
    if not ballot.tampered:
        return ballot
    return replace(
        ballot, reason=pairwise.STEERED, abstained=dict.fromkeys(ballot.abstained, pairwise.STEERED)
    )


def _as_one(judge: str, looks: dict[pairwise.Order, Ballot]) -> Ballot:
    """A judge's part in both orders: there if both looks are, else what went wrong in which."""
    failed = {
        order: ballot for order, ballot in looks.items() if ballot.state is not JudgeState.AVAILABLE
    }
    states = [ballot.state for ballot in failed.values()]
    state = JudgeState.AVAILABLE
    if failed:
        is_degraded = JudgeState.DEGRADED in states or len(failed) == 1
        state = JudgeState.DEGRADED if is_degraded else JudgeState.SKIPPED
    return Ballot(
        judge=judge,
        marks={},
        state=state,
        reason=pairwise.in_which_order(
            {order: ballot.reason or "no answer" for order, ballot in failed.items()}
        ),
        problems=tuple(
            dict.fromkeys(problem for ballot in looks.values() for problem in ballot.problems)
        ),
        repairs=tuple(
            dict.fromkeys(repair for ballot in looks.values() for repair in ballot.repairs)
        ),
    )


def _packed(seat: Seat, rubric: Rubric, a: Version, b: Version) -> dict[str, PlainPacked] | None:
    """What this judge was shown of A and B, where it was not the whole."""
    judge = seat.judge
    shown = (
        judge.packed(pairwise.pair_question(rubric, a, b, "a_first"))
        if isinstance(judge, SizedJudge)
        else None
    )
    names = {"first": "a", "second": "b"}
    return {names[place]: part for place, part in shown.items()} if shown else None
