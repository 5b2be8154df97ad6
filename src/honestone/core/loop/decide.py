"""The loop: what to do next, given everything that happened. `decide` performs nothing, so its tests are tables.

Roles are kept apart: the panel steers and accepts, held-out judges certify, and their words never reach the worker.
A policy is a small object; the shell in `engine.improve` carries actions out and appends events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any, Protocol, TypeAlias

from honestone.core import events
from honestone.core.ballot import CHECK, Ballot, ballot_from_plain
from honestone.core.events import Event, Role
from honestone.core.loop.focus import choose_focus
from honestone.core.loop.proposal import Change
from honestone.core.numbers import show_points
from honestone.core.rubric import Rubric
from honestone.core.scorecard import Line, Scorecard, Scorer
from honestone.core.verdict import Verdict, judge_gate

TOLERANCE = Fraction(2, 100)
"""A version is kept when it did not fall by this much; the noise of one look is larger than smaller falls."""

CONSULTATIONS = 3
"""How many versions may be shown to the held-out judges in one run: each answer leaks a little."""

_DEAD_AFTER = 3


class Result(StrEnum):
    PASSED = "PASSED"
    UNCONFIRMED = "UNCONFIRMED"
    PLATEAU = "PLATEAU"
    ROUND_LIMIT = "ROUND_LIMIT"
    BUDGET = "BUDGET"
    METRIC_DEAD = "METRIC_DEAD"
    NO_CHANGE = "NO_CHANGE"
    WORKER_FAILED = "WORKER_FAILED"
    COULD_NOT_JUDGE = "COULD_NOT_JUDGE"
    INTERRUPTED = "INTERRUPTED"


EXIT_CODES: dict[Result, int] = {
    Result.PASSED: 0,
    Result.UNCONFIRMED: 3,
    Result.COULD_NOT_JUDGE: 3,
    Result.INTERRUPTED: 130,
}
"""The rest are 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All of them always hold; there is no unlimited. `usd` counts what providers price and is None when not limited
    because nothing here costs money."""

    rounds: int = 5
    patience: int = 3
    calls: int
    minutes: float
    usd: float | None = None


# ---------------------------------------------------------------------------------------------------------- actions


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Have these judges look at a version. `role` says whether they steer or certify."""

    judges: tuple[str, ...]
    version: str
    role: Role


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """Have the worker try a focus on top of `base`, `candidates` times."""

    focus: tuple[str, ...]
    base: str
    candidates: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    version: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    result: Result
    reason: str


Action: TypeAlias = Ask | Propose | Accept | RollBack | Stop


# ---------------------------------------------------------------------------------------------------------- state


@dataclass(slots=True, kw_only=True)
class Round:
    """One proposal and its decision. `base` is the version it started from, `version` what came of it."""

    number: int
    focus: tuple[str, ...]
    base: str
    outcome: Change
    detail: str | None = None
    version: str | None = None
    accepted: bool | None = None
    reason: str = ""
    is_progress: bool = False

    @property
    def is_open(self) -> bool:
        return self.accepted is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a loop speaks of what steers it and of its witnesses when it says why it stopped."""

    agrees: str = "every bar is met, and every held-out judge agrees"
    steered: str = "the panel says pass"
    refused: str = "a held-out judge does not"
    unseen: str = "it was not shown to a held-out judge"
    used_up: str = "the held-out judges have been asked {times} times"
    not_workable: str = "nothing is left that this worker can work on"


@dataclass(slots=True, kw_only=True)
class LoopState:
    """What the events of a run add up to. Change it only with `apply`.

    `consultations`: how many versions witnesses may be shown. `candidates`: how many tries a round makes.
    """

    scorer: Scorer
    panel: tuple[str, ...]
    holdouts: tuple[str, ...]
    limits: Limits
    original: str
    workable: Callable[[Line], bool] = lambda line: True
    consultations: int = CONSULTATIONS
    candidates: int = 1
    words: Words = Words()
    current: str = ""
    best: str = ""
    rounds: list[Round] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    ballots: dict[tuple[str, Role], dict[str, Ballot]] = field(default_factory=dict)
    limit: str | None = None
    finished: Stop | None = None
    delivering: str | None = None
    delivered: str = ""
    _cards: dict[str, Scorecard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.current = self.best = self.delivered = self.original
        self.kept = [self.original]

    @property
    def rubric(self) -> Rubric:
        return self.scorer.rubric

    def apply(self, event: Event) -> None:
        """Take in one event. Unknown types are facts for reports and change nothing here."""
        match event["type"]:
            case events.BALLOT:
                role: Role = event["role"]
                ballot = ballot_from_plain(event["ballot"])
                self.ballots.setdefault((event["version"], role), {})[ballot.judge] = ballot
                self._cards.pop(event["version"], None)
                self._find_best()
            case events.PROPOSED:
                self.rounds.append(
                    Round(
                        number=event["round"],
                        focus=tuple(event["focus"]),
                        base=self.current,
                        outcome=Change(event["outcome"]),
                        detail=event.get("detail"),
                        version=event.get("version"),
                    )
                )
            case events.ACCEPTED:
                self.rounds[-1].accepted, self.rounds[-1].reason = True, event["reason"]
                self.current = event["version"]
                self.kept.append(self.current)
                before = self.best
                self._find_best()
                self.rounds[-1].is_progress = self.best != before
            case events.REJECTED:
                self.rounds[-1].accepted, self.rounds[-1].reason = False, event["reason"]
            case events.DELIVERING:
                self.delivering = event["version"]
            case events.DELIVERED:
                self.delivered, self.delivering = event["version"], None
            case events.LIMIT:
                self.limit = event["reason"]
            case events.FINISHED:
                self.finished = Stop(result=Result(event["result"]), reason=event["reason"])

    def _find_best(self) -> None:
        """Certified first, then passing, then the higher lower end of the score; ties to the earlier version."""
        self.best = max(self.kept, key=self.rank) if len(self.kept) > 1 else self.kept[0]

    def rank(self, version: str) -> tuple[bool, bool, Fraction]:
        return self.is_certified(version), self.verdict(version).passed, self.card(version).low

    # -- what is known about a version

    def unasked(self, version: str, role: Role) -> tuple[str, ...]:
        seats = self.panel if role == "panel" else self.holdouts
        have = self.ballots.get((version, role), {})
        return tuple(judge for judge in seats if judge not in have)

    def card(self, version: str) -> Scorecard:
        """The panel's scorecard, from the ballots there are."""
        if version not in self._cards:
            self._cards[version] = self.scorer.card(list(self.ballots.get((version, "panel"), {}).values()))
        return self._cards[version]

    def verdict(self, version: str) -> Verdict:
        return judge_gate(self.card(version), self.rubric)

    def has_judge_marks(self, version: str) -> bool:
        """Whether anybody answered anything that code does not."""
        panel = self.ballots.get((version, "panel"), {})
        return any(ballot.marks for judge, ballot in panel.items() if judge != CHECK)

    def is_marked(self, version: str) -> bool:
        """Whether there is any mark of those who have to decide."""
        return self.has_judge_marks(version) if self.needs_witness else self.card(version).has_marks

    def certifications(self, version: str) -> dict[str, Verdict]:
        """What each held-out judge alone, with the checks, makes of a version."""
        checks = self.ballots.get((version, "panel"), {}).get(CHECK)
        found = {}
        for judge, ballot in self.ballots.get((version, "holdout"), {}).items():
            card = self.scorer.card([ballot, checks] if checks else [ballot])
            found[judge] = judge_gate(card, self.rubric)
        return found

    def is_certified(self, version: str) -> bool:
        """Every held-out judge looked at it, and each alone says pass."""
        verdicts = self.certifications(version)
        return (
            bool(self.holdouts)
            and not self.unasked(version, "holdout")
            and all(verdict.passed for verdict in verdicts.values())
        )

    @property
    def consulted(self) -> list[str]:
        return [version for version, role in self.ballots if role == "holdout"]

    @property
    def needs_witness(self) -> bool:
        return self.rubric.asks_judges

    @property
    def rejections(self) -> dict[str, int]:
        """How often each focus was rejected since the last accepted change."""
        counts: dict[str, int] = {}
        for entry in self.rounds:
            if entry.accepted:
                counts = {}
            elif entry.accepted is False:
                for name in entry.focus:
                    counts[name] = counts.get(name, 0) + 1
        return counts

    @property
    def stale(self) -> int:
        """Rounds since the last new best."""
        count = 0
        for entry in reversed(self.rounds):
            if entry.is_progress:
                break
            count += 1
        return count

    def decided(self, version: str) -> Round | None:
        """The round in which these bytes were decided before."""
        return next((r for r in self.rounds if r.version == version and not r.is_open), None)

    @property
    def metric_is_dead(self) -> bool:
        """The last three changed versions each scored exactly like the one before, or could not be judged at all."""
        judged = [r for r in self.rounds if r.version and r.outcome is Change.CHANGED and self._was_judged(r.version)]
        return len(judged) >= _DEAD_AFTER and all(
            self.card(r.version or "").values == self.card(r.base).values or not self.is_marked(r.version or "")
            for r in judged[-_DEAD_AFTER:]
        )

    def _was_judged(self, version: str) -> bool:
        return not self.unasked(version, "panel")


def fold(state: LoopState, log: Iterable[Event]) -> LoopState:
    for event in log:
        state.apply(event)
    return state


# ---------------------------------------------------------------------------------------------------------- policies


class Policy(Protocol):
    """How a loop decides. Part of the run's identity, not of the contract."""

    @property
    def name(self) -> str: ...

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        """What to do with a changed version that the panel has looked at."""
        ...


@dataclass(frozen=True, slots=True)
class Plain:
    """rulph as written: every change stays. (The delivered version is the best one all the same: promise 7.)"""

    name: str = "plain"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        return Accept(version=version, reason="this policy keeps every change")


@dataclass(frozen=True, slots=True)
class KeepBest:
    """Keep what did not fall by two points or more below the best so far, so that small losses cannot add up.

    A criterion that code alone marks is no noise: when one falls below its floor, or a required one to 0, the change
    is always rolled back. There is no such guard on judges' marks: on one-shot scores it throws away most good edits.
    """

    name: str = "keep-best"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        new, best = state.card(version), state.card(state.best)
        if state.needs_witness and not state.has_judge_marks(version):
            return RollBack(reason="no judge could mark it")
        lost = _lost_check(state.card(state.current), new)
        if lost:
            return RollBack(reason=lost)
        if state.verdict(version).passed and not state.verdict(state.best).passed:
            return Accept(version=version, reason="it passes the gate")
        if new.low > best.low - TOLERANCE:
            word = "rose" if new.low > best.low else "held" if new.low == best.low else "fell by less than 2 points"
            return Accept(version=version, reason=f"the score {word}: {_move(best, new)}")
        return RollBack(reason=f"the score fell: {_move(best, new)}")


POLICIES: Mapping[str, Policy] = {"plain": Plain(), "keep-best": KeepBest()}


def _move(before: Scorecard, after: Scorecard) -> str:
    return f"{show_points(before.low)} to {show_points(after.low)}"


def _lost_check(before: Scorecard, after: Scorecard) -> str | None:
    for old, new in zip(before.lines, after.lines, strict=True):
        if not new.only_checks or not old.applies or not new.applies:
            continue
        name = new.criterion.id
        if new.criterion.required and new.high == 0 < old.high:
            return f"required criterion '{name}' is no longer met"
        if new.is_below_floor and not old.is_below_floor:
            return f"criterion '{name}' fell below its floor"
    return None


# ---------------------------------------------------------------------------------------------------------- deciding


def decide(state: LoopState, policy: Policy) -> Action:
    """The next action. Pure: the same events give the same action, so a killed run goes on as if it had not been."""
    if state.finished is not None:
        return state.finished
    waiting = _look_at_baseline(state) or _resolve_round(state, policy) or _certify(state)
    return waiting or _stop(state) or _next_proposal(state)


def _look_at_baseline(state: LoopState) -> Action | None:
    unasked = state.unasked(state.original, "panel")
    if unasked and state.limit is None:
        return Ask(judges=unasked, version=state.original, role="panel")
    if not state.is_marked(state.original):
        why = f"the limit came first: {state.limit}" if unasked and state.limit else _why_no_marks(state)
        return Stop(result=Result.COULD_NOT_JUDGE, reason=why)
    return None


def _why_no_marks(state: LoopState) -> str:
    told = [f"{b.judge}: {b.reason}" for b in state.ballots.get((state.original, "panel"), {}).values() if b.reason]
    return "the baseline has no usable mark" + (f" ({'; '.join(told)})" if told else "")


def _resolve_round(state: LoopState, policy: Policy) -> Action | None:
    if not state.rounds or not state.rounds[-1].is_open:
        return None
    entry = state.rounds[-1]
    if entry.outcome is not Change.CHANGED or entry.version is None:
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


def _certify(state: LoopState) -> Action | None:
    """Once the panel says pass: PASSED where code decides or every witness agrees."""
    for version in dict.fromkeys((state.best, state.current)):
        if not state.verdict(version).passed:
            continue
        if not state.needs_witness:
            return Stop(result=Result.PASSED, reason="every bar is met, and code alone decides")
        if state.is_certified(version):
            return Stop(result=Result.PASSED, reason=state.words.agrees)
        unasked = state.unasked(version, "holdout")
        if (
            unasked
            and state.limit is None
            and (version in state.consulted or len(state.consulted) < state.consultations)
        ):
            return Ask(judges=unasked, version=version, role="holdout")
    if state.verdict(state.best).passed and not state.holdouts:
        return Stop(
            result=Result.UNCONFIRMED,
            reason="the panel says pass, but no judge that did not steer the loop was there to confirm it",
        )
    return None


def _stop(state: LoopState) -> Stop | None:
    found = _stop_reason(state)
    if found is not None and state.verdict(state.best).passed:
        words = state.words
        why = words.refused if state.certifications(state.best) else words.unseen
        return Stop(result=Result.UNCONFIRMED, reason=f"{words.steered}, but {why}; {found.reason}")
    return found


def _stop_reason(state: LoopState) -> Stop | None:
    if state.limit is not None:
        return Stop(result=Result.BUDGET, reason=state.limit)
    if state.metric_is_dead:
        return Stop(
            result=Result.METRIC_DEAD,
            reason="three changed versions in a row scored exactly like the one before, or could not be judged",
        )
    if state.stale >= state.limits.patience or len(state.rounds) >= state.limits.rounds:
        return _rounds_used_up(state)
    if len(state.consulted) >= state.consultations and state.verdict(state.best).passed:
        return Stop(result=Result.UNCONFIRMED, reason=state.words.used_up.format(times=state.consultations))
    if choose_focus(state.card(state.current), state.rejections, state.workable) is None:
        return _nothing_left(state)
    return None


def _rounds_used_up(state: LoopState) -> Stop:
    outcomes = {entry.outcome for entry in state.rounds}
    if outcomes == {Change.UNCHANGED}:
        return Stop(result=Result.NO_CHANGE, reason="the worker changed nothing in any round")
    if outcomes and not outcomes & {Change.CHANGED, Change.UNCHANGED}:
        return Stop(result=Result.WORKER_FAILED, reason=f"no proposal came through: {', '.join(sorted(outcomes))}")
    if state.stale < state.limits.patience:
        return Stop(result=Result.ROUND_LIMIT, reason=f"{state.limits.rounds} rounds are done")
    return Stop(result=Result.PLATEAU, reason=f"{state.limits.patience} rounds without progress")


def _nothing_left(state: LoopState) -> Stop:
    card = state.card(state.current)
    if choose_focus(card, {}) is not None:
        return Stop(result=Result.PLATEAU, reason=state.words.not_workable)
    if card.score is None:
        return Stop(result=Result.COULD_NOT_JUDGE, reason="what is missing for the verdict could not be judged")
    return Stop(result=Result.PLATEAU, reason="nothing is left to improve")


def _next_proposal(state: LoopState) -> Propose:
    line = choose_focus(state.card(state.current), state.rejections, state.workable)
    assert line is not None, "_stop ends the loop when there is no focus"
    return Propose(focus=(line.criterion.id,), base=state.current, candidates=state.candidates)


def exit_code(result: Result) -> int:
    return EXIT_CODES.get(result, 1)


def limits_to_plain(limits: Limits) -> dict[str, Any]:
    return {
        "rounds": limits.rounds,
        "patience": limits.patience,
        "calls": limits.calls,
        "minutes": limits.minutes,
        "usd": limits.usd,
    }
