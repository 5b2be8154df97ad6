"""Drives the product's own `decide` through a simulated run: its state, its events and its rules,
without its processes.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, runtime_checkable

from msgspec.structs import replace
from simulation import Simulation
from worlds import World, near

from honestone.core.belief.assumptions import QUIET_SD
from honestone.core.belief.beliefs import Beliefs
from honestone.core.belief.scales.scores import ScoreModel
from honestone.core.editing.proposal import ProposalOutcome
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
from honestone.core.judging.ballot import Ballot
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.core.judging.spend import Spend
from honestone.core.loop.belief import BeliefState
from honestone.core.loop.delivery import delivery
from honestone.core.loop.named import POLICIES, policy_named
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

ORACLE: Final = "oracle"
MAX_CALLS: Final = 30
KNOWS_WHAT_TO_KEEP: Final = "belief, knows what to keep"
KNOWS_THE_ERRORS: Final = "belief, knows the errors"
ROUNDS: Final[Mapping[str, int]] = {
    ORACLE: 8,
    "belief": 16,
    "strict": 16,
    KNOWS_WHAT_TO_KEEP: 16,
    KNOWS_THE_ERRORS: 16,
}
"""Where it is not the product's default. These policies stop by what they believe, so patience does
not end them.
"""
ONE_JUDGE_CALL: Final = Spend(judge_calls=1)
ONE_WORKER_CALL: Final = Spend(worker_calls=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What one cell of the benchmark is run with. None: as the policy has it by default."""

    policy: str
    rounds: int | None = None
    patience: int | None = None
    max_calls: int = MAX_CALLS

    @property
    def limits(self) -> LoopLimits:
        usual = LoopLimits(calls=self.max_calls, minutes=60)
        rounds = ROUNDS.get(self.policy)
        if rounds is not None:
            usual = replace(usual, rounds=rounds, patience=self.rounds or rounds)
        return replace(
            usual, rounds=self.rounds or usual.rounds, patience=self.patience or usual.patience
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of one run. `final` is the true quality (points) of the version that is delivered,
    `is_good` whether it meets the contract, `stated` the probability of that (0-1) which the policy
    gave at PASSED.
    """

    result: Result
    is_good: bool
    final: float
    regressed: bool
    judge_calls: int
    holdout_calls: int
    worker_calls: int
    rounds: int
    stated: float | None = None


@runtime_checkable
class HasBeliefs(Protocol):
    """The state of a policy that says how sure it is."""

    def probability(self, version: str) -> float: ...


@dataclass(frozen=True, slots=True)
class Cell:
    """One world and one policy, ready for runs."""

    world: World
    settings: Settings
    rubric: Rubric
    scorer: Scorer
    policy: RubricPolicy

    @classmethod
    def of(cls, world: World, settings: Settings) -> Cell:
        """Raises UsageError for a policy that is not known."""
        rubric, name = world.rubric(), settings.policy
        known = (*POLICIES, *OBSERVERS)
        if name not in known:
            listed = ", ".join(known)
            raise UsageError(
                f"--policy {name}: there is no such policy; known are {listed}",
                hint=near(name, known),
            )
        policy: RubricPolicy = Oracle() if name == ORACLE else policy_named(_rules_of(name))
        return cls(world, settings, rubric, Scorer(rubric), policy)

    def started(self, original: str) -> ImprovementStarted:
        """The first event of a run that begins with this version."""
        is_oracle = self.settings.policy == ORACLE
        return ImprovementStarted(
            contract={},
            contract_id="",
            rubric=self.rubric,
            panel=self.world.panel_judges[:1] if is_oracle else self.world.panel_judges,
            holdouts=() if is_oracle else self.world.heldout_judges,
            artifact=StartedArtifact(path="artifact.md", digest=original),
            policy=_rules_of(self.settings.policy),
            worker="simulated",
            limits=self.settings.limits.to_plain(),
        )

    def drive(self, seed: int, number: int) -> Drive:
        """One run to its end."""
        is_truthful = self.settings.policy == ORACLE
        simulation = Simulation(
            self.world, self.rubric, seed=seed, run=number, is_truthful=is_truthful
        )
        policy = self.policy
        if self.settings.policy == KNOWS_WHAT_TO_KEEP:
            policy = KnowsWhatToKeep(policy, simulation)
        elif self.settings.policy == KNOWS_THE_ERRORS:
            policy = KnowsTheErrors(policy, self.world)
        state = policy.start(self.started(version_name(0)), self.scorer)
        drive = Drive(state, simulation, self.settings.max_calls)
        drive.to_the_end(policy)
        return drive

    def run(self, seed: int, number: int) -> Outcome:
        return self.drive(seed, number).outcome()


class SimulatedRun(Protocol):
    """What answers in place of judges and worker, and knows the truth. Versions are numbered from 0,
    the original; `look` counts from 0; `overall` is a true quality in points.
    """

    def ballot(self, judge: str, version: int, look: int = 0) -> Ballot: ...

    def edit(self, base: int, focus: Collection[str], listed: Collection[Key]) -> int: ...

    def meets_contract(self, version: int) -> bool: ...

    def overall(self, version: int) -> float: ...

    def regressed(self, version: int) -> bool: ...


@dataclass(slots=True)
class Drive:
    """Does what `decide` asks for, as `engine.loop_runner` does, and counts it."""

    state: LoopState
    simulation: SimulatedRun
    max_calls: int
    log: list[Event] = field(default_factory=list)
    judge_calls: int = 0
    holdout_calls: int = 0
    worker_calls: int = 0

    def to_the_end(self, policy: RubricPolicy) -> None:
        while self.state.finished is None:
            action = decide(self.state, policy)
            number = len(self.state.rounds)
            match action:
                case Ask():
                    self._ask(action)
                case Propose():
                    self._propose(action)
                case Accept(version=version, reason=reason):
                    self._apply(VersionAccepted(round=number, version=version, reason=reason))
                    self.state.delivered = delivery(self.state).version
                case RollBack(reason=reason):
                    self._apply(VersionRejected(round=number, reason=reason))
                case Stop(result=result, reason=reason):
                    chosen = delivery(self.state, result)
                    self._apply(RunFinished(result=str(result), reason=reason, delivery=chosen))

    def outcome(self) -> Outcome:
        state, simulation = self.state, self.simulation
        assert state.finished is not None
        delivered, result = version_number(state.best), state.finished.result
        is_sure = state.probability(state.best) if isinstance(state, HasBeliefs) else None
        return Outcome(
            result=result,
            is_good=simulation.meets_contract(delivered),
            final=simulation.overall(delivered),
            regressed=simulation.regressed(delivered),
            judge_calls=self.judge_calls,
            holdout_calls=self.holdout_calls,
            worker_calls=self.worker_calls,
            rounds=len(state.rounds),
            stated=is_sure if result is Result.PASSED else None,
        )

    def _apply(self, event: Event) -> None:
        self.log.append(event)
        self.state.apply(event)

    def _ask(self, action: Ask) -> None:
        for judge in action.judges:
            if self.judge_calls >= self.max_calls:
                self._apply(LimitReached(reason=f"--max-calls {self.max_calls} are used up"))
                return
            self.judge_calls += 1
            self.holdout_calls += judge in self.state.holdouts
            ballot = self.simulation.ballot(judge, version_number(action.version), action.draw)
            self._apply(
                BallotCast(
                    version=action.version,
                    role=action.role,
                    ballot=ballot,
                    draw=action.draw,
                    spend=ONE_JUDGE_CALL,
                )
            )

    def _propose(self, action: Propose) -> None:
        state = self.state
        shown = listed(state, action)
        self.worker_calls += 1
        made = self.simulation.edit(version_number(action.base), action.focus, shown)
        self._apply(
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


def listed(state: LoopState, action: Propose) -> frozenset[Key]:
    """What the simulated worker takes for unmet: the items that the policy names, else those that
    half or more of the votes on the base call unmet.
    """
    if action.items:
        return frozenset(action.items)
    lines = [state.card(action.base).line(name) for name in action.focus]
    return frozenset(
        (line.criterion.id, item.item.id) for line in lines for item in line.items if item.unmet
    )


def version_name(number: int) -> str:
    return f"version {number}"


def version_number(name: str) -> int:
    return int(name.removeprefix("version "))


@dataclass(frozen=True, slots=True)
class KnowsWhatToKeep:
    """Decides as another policy does, but keeps a version where it is truly better. What it gains
    shows what is lost because judges misread which of two versions is better.
    """

    policy: RubricPolicy
    simulation: Simulation
    name: str = KNOWS_WHAT_TO_KEEP

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        return self.policy.start(started, scorer)

    def decide(self, state: LoopState) -> Action:
        action = self.policy.decide(state)
        if not isinstance(action, Accept | RollBack):
            return action
        version = state.rounds[-1].version
        assert version is not None, "only a round with a version is decided"
        if self._lack(version) < self._lack(state.current):
            return Accept(version=version, reason="it is better")
        return RollBack(reason="it is not better")

    def _lack(self, version: str) -> tuple[float, float]:
        """What a version lacks of the contract, then of full marks."""
        number = version_number(version)
        return self.simulation.lacking(number), -self.simulation.overall(number)


@dataclass(frozen=True, slots=True)
class KnowsTheErrors:
    """Decides as another policy does, but knows by how many points judges of a scale err and how much
    of that they share. What it gains shows what is lost because this has to be learned.
    """

    policy: RubricPolicy
    world: World
    name: str = KNOWS_THE_ERRORS

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        state, world = self.policy.start(started, scorer), self.world
        assert isinstance(state, BeliefState), "only a policy by belief learns how judges err"
        # Without any error a vote would have no density.
        errors = ScoreModel(max(world.sd, QUIET_SD), world.rho, world.panel, world.holdout)
        state.beliefs = state.steering = Beliefs(
            state.rubric, state.original, state.judges, state.holdouts, scales=(errors,)
        )
        return state

    def decide(self, state: LoopState) -> Action:
        return self.policy.decide(state)


OBSERVERS: Final = (ORACLE, KNOWS_WHAT_TO_KEEP, KNOWS_THE_ERRORS)
"""Policies that know the truth, or a part of what the others have to learn."""


def _rules_of(name: str) -> str:
    """The policy of the product that an observer follows where it does not know the truth."""
    return "belief" if name in (KNOWS_WHAT_TO_KEEP, KNOWS_THE_ERRORS) else name


class Oracle:
    """What a loop can do at best, one candidate a round: its only judge makes no errors."""

    name = ORACLE

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        return state_of_rubric(LoopState, started, scorer)

    def decide(self, state: LoopState) -> Action:
        best = state.best
        candidate = state.rounds[-1].version if state.rounds and state.rounds[-1].is_open else None
        version = candidate or best
        if state.limit is not None:
            return Stop(result=Result.BUDGET, reason=state.limit)
        if state.unasked(version, "panel"):
            return Ask(judges=state.panel, version=version, role="panel")
        if candidate is not None:
            if state.card(candidate).low > state.card(best).low:
                return Accept(version=candidate, reason="it is better")
            return RollBack(reason="it is not better")
        if state.verdict(best).passed:
            return Stop(result=Result.PASSED, reason="the contract is met")
        if len(state.rounds) >= state.limits.rounds:
            return Stop(result=Result.ROUND_LIMIT, reason="the rounds are used up")
        lowest = min(state.card(best).lines, key=lambda line: line.low)
        return Propose(focus=(lowest.criterion.id,), base=best)
