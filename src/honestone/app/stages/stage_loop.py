"""The loop of `skill run`: its state, and the gate as its policy.

A round is one try of one candidate, always from the original. Candidates that were proposed
together are tried best first before new ones are asked for. What the stages write is on record as
`staged` events, and the files are made from those.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

import msgspec

from honestone.core import events
from honestone.core.editing.proposal import DID_NOT_WORK
from honestone.core.events import Event
from honestone.core.judging.rubric import Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.policies import InRounds
from honestone.core.loop.state import (
    Accept,
    Ask,
    LoopLimits,
    LoopState,
    Propose,
    Result,
    RollBack,
    Stop,
    fold,
)
from honestone.core.skill.gate_layers import Decision, Fields
from honestone.core.skill.risk import Recommendation

PROPOSED: Final = "proposed"
RANKED: Final = "ranked"
EVALUATED: Final = "evaluated"
EXECUTED: Final = "executed"
GATED: Final = "gated"
TRACED: Final = "traced"


class StagedFile(msgspec.Struct, frozen=True, kw_only=True):
    """What a stage came to, and the file that holds it."""

    path: str
    document: Fields


def _no_scorer() -> Scorer:
    """The gate decides without a scorecard."""
    decision = Item(id="kept", requirement="The gate keeps it")
    return Scorer(
        Rubric(criteria=(Criterion(id="gate", requirement="The gate keeps it", items=(decision,)),))
    )


@dataclass(slots=True, kw_only=True)
class StageLoopState(LoopState):
    """`files` are what the stages of each round wrote, by round and stage; what candidates that
    were proposed together share is filed under their first round (`batches`, by round; `batch` is
    that of the present ones). `wanted` are the versions of the present batch that are worth trying,
    best first. `limit` is also what else interrupts a run: an agent that is down, a panel without a
    reply.
    """

    scorer: Scorer = field(default_factory=_no_scorer)
    panel: tuple[str, ...] = ()
    holdouts: tuple[str, ...] = ()
    files: dict[tuple[int, str], StagedFile] = field(default_factory=dict)
    batches: dict[int, int] = field(default_factory=dict)
    batch: int = 1
    wanted: list[str] = field(default_factory=list)

    # `super()` does not reach the base of a slotted dataclass, so it is named.

    def apply(self, event: Event) -> None:
        match event:
            case events.StageDone():
                self._file(event)
            case events.CandidateTried():
                if not self.tried:
                    self.batch = len(self.rounds) + 1
                LoopState.apply(self, event)
            case events.EditProposed():
                self._try(event)
            case events.VersionRejected():
                LoopState.apply(self, event)
                if all(self.rounds.decided(version) for version in self.wanted):
                    self._end_batch()
            case events.LimitReached():
                # The round that is under way is not decided: the next process opens it again.
                if self.rounds and self.rounds[-1].is_open:
                    self.rounds.pop()
                LoopState.apply(self, event)
            case _:
                LoopState.apply(self, event)

    def _file(self, event: events.StageDone) -> None:
        self.files[event.round, event.stage] = StagedFile(path=event.path, document=event.document)
        if event.stage == RANKED:
            scored = event.document["scored_candidates"]
            self.wanted = in_order(msgspec.convert(scored, list[RankedVersion]))

    def _try(self, event: events.EditProposed) -> None:
        number, tried = event.round, list(self.tried)
        if self.limit is not None:
            return
        if all(one["outcome"] in DID_NOT_WORK for one in event.candidates):
            self.limit = f"the worker proposed nothing: {_why(event)}"
            self.files.pop((self.batch, PROPOSED), None)
            self._end_batch()
            return
        self.batches[number] = self.batch
        LoopState.apply(self, event)
        self.tried = tried

    def _end_batch(self) -> None:
        self.tried, self.wanted = [], []

    def _find_best(self) -> None:
        self.best = self.accepted_versions[-1]

    def is_marked(self, version: str) -> bool:
        """The baseline is run with the first candidate that is worth it."""
        return True

    def unasked(self, version: str, role: events.Role) -> tuple[str, ...]:
        """Whether its tasks are still to be run: what the ranking rejects is not run, what was
        decided not again.
        """
        number = len(self.rounds)
        if version == self.original or version not in self.wanted:
            return ()
        stages = {stage for of, stage in self.files if of == number}
        # Traces without an execution: the candidate was rejected before the gate.
        is_decided = GATED in stages or (TRACED in stages and EXECUTED not in stages)
        return () if is_decided else ("tasks",)

    def file_of(self, number: int, stage: str) -> StagedFile | None:
        """What a stage wrote in a round, or for the batch of the round."""
        if stage in (PROPOSED, RANKED):
            number = self.batches.get(number, number)
        return self.files.get((number, stage))

    def decision(self, number: int) -> Decision:
        """What became of a round: the gate's decision, or a rejection before it."""
        receipt = self.file_of(number, GATED)
        return (
            Decision(str(receipt.document["decision"])) if receipt is not None else Decision.REJECT
        )


def _why(event: events.EditProposed) -> str:
    found = [
        f"{one['outcome']}, {one['detail']}" if one.get("detail") else str(one["outcome"])
        for one in event.candidates
    ]
    return "; ".join(found) or "no call was made"


class RankedVersion(msgspec.Struct, kw_only=True):
    """What the loop needs of a candidate of a ranking."""

    recommendation: str
    candidate_digest: str | None = None


def in_order(scored: Sequence[RankedVersion]) -> list[str]:
    """The versions of a ranking that are worth trying: accepted ones first, best score first, then
    those that a person will decide about.
    """
    return [
        one.candidate_digest
        for wanted in (Recommendation.ACCEPT, Recommendation.HOLD)
        for one in scored
        if one.recommendation == wanted and one.candidate_digest
    ]


def state_of_stages(started: Event, limits: LoopLimits | None = None) -> StageLoopState:
    """The state of a run before anything happened, under its own limits or other ones."""
    assert isinstance(started, events.StagesStarted)
    return StageLoopState(original=started.artifact.digest, limits=limits or LoopLimits.of(started))


def is_half_delivered(log: Iterable[Event]) -> bool:
    """Whether a run was killed between the beginning and the end of a delivery."""
    started, *rest = log
    return fold(state_of_stages(started), rest).delivering is not None


@dataclass(frozen=True, slots=True)
class Gate(InRounds):
    """Keep what passes all six layers. The first candidate that is kept, or that waits for a
    person, ends the loop.
    """

    candidates: int = 1
    name: str = "gate"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        assert isinstance(state, StageLoopState)
        number = len(state.rounds)
        receipt, traces = state.file_of(number, GATED), state.file_of(number, TRACED)
        if receipt is None:
            return RollBack(reason=str(traces.document["reason"]) if traces else "it was rejected")
        reason = str(receipt.document["reason"])
        if state.decision(number) is Decision.KEEP:
            return Accept(version=version, reason=reason)
        return RollBack(reason=reason)

    def settle(self, state: LoopState) -> Ask | Stop | None:
        assert isinstance(state, StageLoopState)
        if state.limit is not None:
            return Stop(result=Result.COULD_NOT_JUDGE, reason=state.limit, is_final=False)
        number = end_of(state)
        if number is None:
            return None
        found = {Decision.KEEP: Result.PASSED, Decision.PENDING: Result.UNCONFIRMED}
        result, reason = (
            found.get(state.decision(number), Result.ROUND_LIMIT),
            state.rounds[number - 1].reason,
        )
        return Stop(result=result, reason=reason, is_final=False)

    def propose(self, state: LoopState) -> Propose:
        return Propose(
            focus=("skill",), base=state.original, candidates=self.candidates, ranked=True
        )


def end_of(state: StageLoopState) -> int | None:
    """The round that the run ends with; None while another try is due."""
    count = len(state.rounds)
    if count and state.decision(count) in (Decision.KEEP, Decision.PENDING):
        return count
    if count < state.limits.rounds:
        return None
    reverted = [
        number for number in range(1, count + 1) if state.decision(number) is Decision.REVERT
    ]
    return (reverted or [count])[-1]
