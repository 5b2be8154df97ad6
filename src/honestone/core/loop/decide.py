"""The loop: what to do next, given everything that happened. `decide` performs nothing, so its tests are tables.

Roles are kept apart: the panel steers and accepts, held-out judges certify, and their words never reach the worker.
A policy is a small object; `engine.loop_runner` carries actions out and appends events.
"""

from __future__ import annotations

from typing import Protocol

from honestone.core.loop.actions import Accept, Action, Ask, Propose, Result, RollBack, Stop
from honestone.core.loop.proposal import ProposalOutcome
from honestone.core.loop.state import LoopState


class Policy(Protocol):
    """How a loop decides. Part of the run's identity, not of the contract. All of it is pure."""

    @property
    def name(self) -> str: ...

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        """What to do with a changed version that the panel has scored."""
        ...

    def settle(self, state: LoopState) -> Ask | Stop | None:
        """Between two rounds: what ends the loop, or what must be asked first. None: another proposal is made."""
        ...

    def propose(self, state: LoopState) -> Propose:
        """The next proposal: its focus, the version it starts from, how many candidates and whether they are ranked.
        Called only after `settle` returned None."""
        ...


def decide(state: LoopState, policy: Policy) -> Action:
    """The next action. Pure: the same events give the same action, so a killed run resumes as if it had not been."""
    if state.finished is not None:
        return state.finished
    waiting = _judge_baseline(state) or _resolve_round(state, policy) or policy.settle(state)
    return waiting or policy.propose(state)


def _judge_baseline(state: LoopState) -> Action | None:
    unasked = state.unasked(state.original, "panel")
    if unasked and state.limit is None:
        return Ask(judges=unasked, version=state.original, role="panel")
    if not state.is_marked(state.original):
        why = f"the limit came first: {state.limit}" if unasked and state.limit else _why_no_marks(state)
        return Stop(result=Result.COULD_NOT_JUDGE, reason=why)
    return None


def _why_no_marks(state: LoopState) -> str:
    found = [f"{b.judge}: {b.reason}" for b in state.ballots.get((state.original, "panel"), {}).values() if b.reason]
    return "the baseline has no usable mark" + (f" ({'; '.join(found)})" if found else "")


def _resolve_round(state: LoopState, policy: Policy) -> Action | None:
    if not state.rounds or not state.rounds[-1].is_open:
        return None
    entry = state.rounds[-1]
    if entry.outcome is not ProposalOutcome.CHANGED or entry.version is None:
        return RollBack(reason=f"{entry.outcome}: {entry.detail}" if entry.detail else str(entry.outcome))
    before = state.decided(entry.version)
    if before is not None:
        return RollBack(
            reason=f"the same bytes were {'accepted' if before.accepted else 'rejected'} in round {before.number}"
        )
    if entry.version in state.kept:
        return RollBack(reason="these are the bytes of the original")
    unasked = state.unasked(entry.version, "panel")
    if unasked:
        if state.limit is not None:
            return RollBack(reason=f"not judged: {state.limit}")
        return Ask(judges=unasked, version=entry.version, role="panel")
    return policy.judge(state, entry.version)
