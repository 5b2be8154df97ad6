"""Drives the product's own `decide` through a simulated run: its state, its events and its rules, without its processes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from simulation import Simulation
from worlds import World, near

from honestone.core.errors import UsageError
from honestone.core.events import (
    BallotCast,
    EditProposed,
    Event,
    ImprovementStarted,
    LimitReached,
    RunFinished,
    StartedArtifact,
    VersionAccepted,
    VersionRejected,
)
from honestone.core.loop.policies import POLICIES, policy_named
from honestone.core.loop.proposal import ProposalOutcome
from honestone.core.loop.state import (
    Accept,
    Action,
    Ask,
    LoopLimits,
    LoopState,
    Propose,
    Result,
    RollBack,
    RubricPolicy,
    Stop,
    decide,
    state_of_rubric,
)
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Scorer
from honestone.core.spend import Spend

ORACLE: Final = "oracle"
ORACLE_ROUNDS: Final = 8
MAX_CALLS: Final = 30
ONE_JUDGE_CALL: Final = Spend(judge_calls=1)
ONE_WORKER_CALL: Final = Spend(worker_calls=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one cell of the benchmark is run with. None: as the policy has it by default."""

    policy: str
    rounds: int | None = None
    patience: int | None = None
    max_calls: int = MAX_CALLS


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one run. `final` is the true quality (points) of the version that is delivered, `is_good` whether it
    meets the contract, `stated` the probability of that (0-1) which the policy gave at PASSED."""

    result: Result
    is_good: bool
    final: float
    regressed: bool
    judge_calls: int
    holdout_calls: int
    worker_calls: int
    rounds: int
    stated: float | None = None


@dataclass(frozen=True, slots=True)
class Cell:
    """One world and one policy, ready for runs."""

    world: World
    rubric: Rubric
    scorer: Scorer
    settings: Settings
    policy: RubricPolicy
    started: ImprovementStarted

    @classmethod
    def of(cls, world: World, settings: Settings) -> Cell:
        """Raises UsageError for a policy that is not known."""
        rubric, name = world.rubric(), settings.policy
        known = (*POLICIES, ORACLE)
        if name not in known:
            raise UsageError(
                f"--policy {name}: there is no such policy; known are {', '.join(known)}", hint=near(name, known)
            )
        limits = LoopLimits(calls=settings.max_calls, minutes=60)
        started = ImprovementStarted(
            contract={},
            contract_id="",
            rubric=rubric,
            panel=world.panel_judges[:1] if name == ORACLE else world.panel_judges,
            holdouts=() if name == ORACLE else world.heldout_judges,
            artifact=StartedArtifact(path="artifact.md", digest=version_name(0)),
            policy=name,
            worker="simulated",
            limits=_limits(limits, settings).to_plain(),
        )
        return cls(world, rubric, Scorer(rubric), settings, _policy(name), started)

    def run(self, seed: int, number: int) -> Outcome:
        """One run to its end."""
        simulation = Simulation(
            self.world, self.rubric, seed=seed, run=number, is_truthful=self.settings.policy == ORACLE
        )
        state = self.policy.start(self.started, self.scorer)
        drive = Drive(state, simulation, self.settings.max_calls)
        stop = drive.to_the_end(self.policy)
        delivered = version_number(state.best)
        return Outcome(
            result=stop.result,
            is_good=simulation.meets_contract(delivered),
            final=simulation.overall(delivered),
            regressed=simulation.regressed(delivered),
            judge_calls=drive.judge_calls,
            holdout_calls=drive.holdout_calls,
            worker_calls=drive.worker_calls,
            rounds=len(state.rounds),
        )


class Drive:
    """Does what `decide` asks for, as `engine.loop_runner` does, and counts it."""

    def __init__(self, state: LoopState, simulation: Simulation, max_calls: int) -> None:
        self.judge_calls = self.holdout_calls = self.worker_calls = 0
        self._state = state
        self._simulation = simulation
        self._max_calls = max_calls

    def to_the_end(self, policy: RubricPolicy) -> Stop:
        state = self._state
        while True:
            action = decide(state, policy)
            match action:
                case Ask():
                    self._ask(action)
                case Propose():
                    self._propose(action)
                case Accept(version=version, reason=reason):
                    state.apply(VersionAccepted(round=len(state.rounds), version=version, reason=reason))
                case RollBack(reason=reason):
                    state.apply(VersionRejected(round=len(state.rounds), reason=reason))
                case Stop():
                    state.apply(RunFinished(result=str(action.result), reason=action.reason))
                    return action

    def _ask(self, action: Ask) -> None:
        for judge in action.judges:
            if self.judge_calls >= self._max_calls:
                self._state.apply(LimitReached(reason=f"--max-calls {self._max_calls} are used up"))
                return
            self.judge_calls += 1
            self.holdout_calls += judge in self._state.holdouts
            ballot = self._simulation.ballot(judge, version_number(action.version))
            self._state.apply(
                BallotCast(
                    version=action.version, role=action.role, ballot=ballot, draw=action.draw, spend=ONE_JUDGE_CALL
                )
            )

    def _propose(self, action: Propose) -> None:
        state = self._state
        lines = [state.card(action.base).line(name) for name in action.focus]
        unmet = [(line.criterion.id, item.item.id) for line in lines for item in line.items if item.unmet]
        listed = action.items or unmet
        self.worker_calls += 1
        made = self._simulation.edit(version_number(action.base), action.focus, frozenset(listed))
        state.apply(
            EditProposed(
                round=len(state.rounds) + 1,
                focus=action.focus,
                outcome=ProposalOutcome.CHANGED,
                items=action.items,
                base=None if action.base == state.current else action.base,
                version=version_name(made),
                spend=ONE_WORKER_CALL,
            )
        )


def version_name(number: int) -> str:
    return f"version {number}"


def version_number(name: str) -> int:
    return int(name.removeprefix("version "))


# ---------------------------------------------------------------------------------------------------------- policies


def _limits(limits: LoopLimits, settings: Settings) -> LoopLimits:
    rounds = settings.rounds or (ORACLE_ROUNDS if settings.policy == ORACLE else limits.rounds)
    return LoopLimits(
        rounds=rounds, patience=settings.patience or limits.patience, calls=settings.max_calls, minutes=limits.minutes
    )


def _policy(name: str) -> RubricPolicy:
    return Oracle() if name == ORACLE else policy_named(name)


@dataclass(frozen=True, slots=True)
class Oracle:
    """What a loop could do at best, one candidate a round: its only judge makes no errors."""

    name: str = ORACLE

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        return state_of_rubric(LoopState, started, scorer)

    def decide(self, state: LoopState) -> Action:
        return _decide_by_truth(state)


def _decide_by_truth(state: LoopState) -> Action:
    best = state.best
    for version in (state.original, *(entry.version or "" for entry in state.rounds if entry.is_open)):
        if state.unasked(version, "panel"):
            return Ask(judges=state.panel, version=version, role="panel")
    if state.rounds and state.rounds[-1].is_open:
        version = state.rounds[-1].version or ""
        if state.card(version).low > state.card(best).low:
            return Accept(version=version, reason="it is better")
        return RollBack(reason="it is not better")
    if state.verdict(best).passed:
        return Stop(result=Result.PASSED, reason="the contract is met")
    if len(state.rounds) >= state.limits.rounds:
        return Stop(result=Result.ROUND_LIMIT, reason="the rounds are used up")
    lowest = min(state.card(best).lines, key=lambda line: line.low)
    return Propose(focus=(lowest.criterion.id,), base=best)
