"""The improvement loop as a pure function: events fold into a `LoopState`, and `decide` returns the
next action for that state.

Core decides and `engine/loop_runner.py` performs. Nothing here reads a clock, a file or a random
number, so the same events always give the same action. That is why a killed run needs no code of
its own to resume, why `show` and `rescore` get the figures that the loop had, and why the tests of
the loop are tables of events without mocks.

A policy (`policies.py`, `belief.py`, `suite_loop.py`) decides which version is kept and what is
tried next; `delivery.py` decides which version the person gets, by one rule for all policies.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final, Protocol, TypeAlias, TypeVar

import msgspec
from msgspec.structs import asdict, replace

from honestone.core import events
from honestone.core.belief.comparison import Better
from honestone.core.belief.memory import ComparisonMemory
from honestone.core.belief.stated import (
    EndedBy,
    StatedBelief,
    all_repeat,
    chance_of,
    grounds_of,
    lack_of_quorum,
    looks_at,
    settled,
)
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Delivery, Standing
from honestone.core.editing.result import Result as Result
from honestone.core.events import Event, LoopStarted, Role, Started
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.judging.scorecard import Line, Scorecard, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer, is_na, share_of
from honestone.core.numbers import ONE, ZERO, exact

# How the reason begins where a limit was reached before a judge could be asked.
CAME_FIRST: Final = "the limit came first: "


class Ask(msgspec.Struct, frozen=True, kw_only=True):
    """Have these judges score a version. `role`: whether their votes steer the loop or certify its
    result. `draw`: how often the judge has looked at this version before, 0 for its first look.
    """

    judges: tuple[str, ...]
    version: str
    role: Role
    draw: int = 0


class Propose(msgspec.Struct, frozen=True, kw_only=True):
    """Have the worker edit `base` to improve `focus`, until there are `candidates` proposals.

    `focus`: ids of criteria. `items`: the unmet items that the worker is shown; empty for those
    that the scorecard of `base` names. `ranked`: rank the proposals before one of them is judged,
    even where there is only one. Candidates of this round that are on record already (`tried` of
    the state) count, so after a kill the worker is called only for the missing ones.
    """

    focus: tuple[str, ...]
    base: str
    items: tuple[Key, ...] = ()
    candidates: int = 1
    ranked: bool = False


class Accept(msgspec.Struct, frozen=True, kw_only=True):
    """Keep the proposed version: the next edit may start from it."""

    version: str
    reason: str


class RollBack(msgspec.Struct, frozen=True, kw_only=True):
    """End the round without keeping what it proposed."""

    reason: str


class Stop(msgspec.Struct, frozen=True, kw_only=True):
    """End the loop. `is_final` False: the caller closes the run, or leaves it open so that the same
    command resumes it. `changed`: files that take part in the judging and changed during the run.
    """

    result: Result
    reason: str
    is_final: bool = True
    changed: tuple[str, ...] = ()


ROLES: Final[tuple[Role, ...]] = ("panel", "holdout")

Action: TypeAlias = Ask | Propose | Accept | RollBack | Stop


# How far a score may fall (0-1) and the version still be kept, where nobody measured how much the
# score of one version varies from look to look.
TOLERANCE = Fraction(2, 100)
# How many versions may be shown to the held-out judges in one run: each answer leaks a little.
CONSULTATIONS = 3

# Changed versions in a row with the scores of the one before, after which the marks tell nothing.
DEAD_AFTER = 3


class LoopLimits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of a run, which all hold at once: every run has some. `patience`: rounds
    without progress. `usd`: the limit on priced calls; None for no limit on money.
    """

    rounds: int = 5
    patience: int = 3
    calls: int
    minutes: float
    usd: float | None = None

    def to_plain(self) -> dict[str, int | float | None]:
        return asdict(self)

    def that_ended(self, reached: str | None, *, calls_left: int) -> EndedBy | None:
        """The limit that leaves no further look; None where calls are left. `reached`: the words
        about the one that was recorded.
        """
        if reached is None and calls_left > 0:
            return None
        option = (reached or "--max-calls").split()[0]
        if not option.startswith("--max-"):
            return None
        return EndedBy(option=option, most=self.calls if option == "--max-calls" else None)

    @classmethod
    def of(cls, started: Started) -> LoopLimits:
        """The limits that a run was started with."""
        limits = started.limits
        return cls(
            rounds=int(limits["rounds"] or 0),
            patience=int(limits["patience"] or 0),
            calls=int(limits["calls"] or 0),
            minutes=limits["minutes"] or 0,
            usd=limits["usd"],
        )


class Round(msgspec.Struct, kw_only=True):
    """One proposal and its decision.

    `base`: the version that the worker edited. `version`: the version it made, None where it made
    none. `items`: the unmet items that the worker was shown, where the policy chose them.
    `message`: what the worker wrote. `accepted`: None while the round is open. `is_progress`: it
    gave a new best version. `before`, `after`: the beliefs about `base` and `version` when the
    round was decided.
    """

    number: int
    focus: tuple[str, ...]
    base: str
    outcome: ProposalOutcome
    items: tuple[Key, ...] = ()
    detail: str | None = None
    message: str | None = None
    version: str | None = None
    accepted: bool | None = None
    reason: str = ""
    is_progress: bool = False
    before: Standing | None = None
    after: Standing | None = None

    @property
    def is_open(self) -> bool:
        return self.accepted is None

    def end(
        self, event: events.VersionAccepted | events.VersionRejected, *, accepted: bool
    ) -> None:
        """Enter the decision about this round."""
        self.accepted = accepted
        self.reason = event.reason
        self.before, self.after = event.before, event.after


class Rounds(list[Round]):
    """The rounds of a run, in order."""

    @property
    def rejections(self) -> dict[str, int]:
        """How often each focus was rejected since the last accepted change."""
        counts: dict[str, int] = {}
        for entry in self:
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
        for entry in reversed(self):
            if entry.is_progress:
                break
            count += 1
        return count

    def decided(self, version: str) -> Round | None:
        """The round that decided about these same bytes; None where no round has."""
        return next((one for one in self if one.version == version and not one.is_open), None)


class Words(msgspec.Struct, frozen=True, kw_only=True):
    """The phrases of a stop reason that differ between a loop over a rubric and one over a suite."""

    agrees: str = "every bar is met, and every held-out judge agrees"
    steered: str = "the panel says pass"
    refused: str = "a held-out judge does not"
    unseen: str = "it was not shown to a held-out judge"
    used_up: str = "the held-out judges have been asked {times} times"
    not_workable: str = "nothing is left that this worker can work on"
    dead: str = (
        "three changed versions in a row scored exactly like the one before, or could not be judged"
    )


@dataclass(slots=True, kw_only=True)
class LoopState:
    """The fold of a run's events. Change it only with `apply`. A version is named by its digest.

    Set at the start:
    `workable`: whether the worker can improve a criterion. `consultations`: how many versions the
    held-out judges may be shown. `candidates`: proposals per round. `tolerance` (0-1): a fall of
    the score by less is taken for noise. `dead_after`: changed versions in a row that the marks do
    not tell from the one before, after which they tell nothing.

    Folded from events:
    `current`: the version that was kept last. `best`: the best of `accepted_versions`, and from the
    end of the run the one that was delivered. `tried`: the candidates of the open round. `ranks`
    (0-1): how good the panel of edits finds a candidate, by version. `ballots`: by version and
    role, then by judge. `limit`: the limit that was reached. `delivering`: the version that was
    being written to the person's file when the last event was recorded. `delivered`: the version
    that the file holds. `delivery`: what was delivered at the end, and why. `just_accepted`: the
    last event kept a version, so the runner still has to decide whether it goes into the file.

    `comparisons` and `_cards` remember what was computed from the rest.
    """

    scorer: Scorer
    panel: tuple[str, ...]
    holdouts: tuple[str, ...]
    limits: LoopLimits
    original: str
    workable: Callable[[Line], bool] = lambda line: True
    consultations: int = CONSULTATIONS
    candidates: int = 1
    tolerance: Fraction = TOLERANCE
    dead_after: int = DEAD_AFTER
    words: Words = field(default_factory=Words)
    current: str = ""
    best: str = ""
    rounds: Rounds = field(default_factory=Rounds)
    accepted_versions: list[str] = field(default_factory=list)
    tried: list[events.CandidateTried] = field(default_factory=list)
    ranks: dict[str, Fraction | None] = field(default_factory=dict)
    ballots: dict[tuple[str, Role], dict[str, Ballot]] = field(default_factory=dict)
    limit: str | None = None
    finished: Stop | None = None
    delivering: str | None = None
    delivered: str = ""
    delivery: Delivery | None = None
    just_accepted: bool = False
    undone: bool = False
    comparisons: ComparisonMemory = field(
        default_factory=ComparisonMemory, init=False, repr=False, compare=False
    )
    _cards: dict[str, Scorecard] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.current = self.best = self.delivered = self.original
        self.accepted_versions = [self.original]

    @property
    def rubric(self) -> Rubric:
        return self.scorer.rubric

    def apply(self, event: Event) -> None:
        """Take in one event. Events that are not named here matter to reports only."""
        # A live run and a resumed one learn everything here and nowhere else. So after a kill at
        # any point the record gives back the same state, and no decision can depend on something
        # that a resumed run would not know. What is computed from the state (scorecards) is
        # remembered next to it and dropped when a ballot arrives.
        self.just_accepted = isinstance(event, events.VersionAccepted)
        match event:
            case events.BallotCast():
                ballot = event.ballot if event.draw == 0 else _again(event.ballot, event.draw)
                self.ballots.setdefault((event.version, event.role), {})[ballot.judge] = ballot
                self._cards.pop(event.version, None)
                self._find_best()
            case events.CandidateTried():
                self.tried.append(event)
            case events.CandidateRanked():
                self.ranks[event.version] = event.score
            case events.EditProposed():
                self.tried.clear()
                self.rounds.append(
                    Round(
                        number=event.round,
                        focus=event.focus,
                        base=event.base or self.current,
                        outcome=event.outcome,
                        items=event.items,
                        detail=event.detail,
                        message=event.message,
                        version=event.version,
                    )
                )
            case events.VersionAccepted():
                self.rounds[-1].end(event, accepted=True)
                self.current = event.version
                self.accepted_versions.append(self.current)
                best_before = self.best
                self._find_best()
                self.rounds[-1].is_progress = self.best != best_before
            case events.VersionRejected():
                self.rounds[-1].end(event, accepted=False)
            case events.DeliveryBegun():
                self.delivering = event.version
            case events.DeliveryDone():
                self.delivered, self.delivering, self.undone = event.version, None, event.undone
            case events.LimitReached():
                self.limit = event.reason
            case events.RunFinished():
                self.finished = Stop(
                    result=Result(event.result), reason=event.reason, changed=event.changed
                )
                self.delivery = event.delivery
                if event.delivery is not None:
                    self.best = event.delivery.version
                elif self.finished.result is Result.CONTRACT_CHANGED:
                    self.best = self.original

    def _find_best(self) -> None:
        """Set `best` to the kept version with the highest rank; of equal ones to the earliest."""
        # Ranking draws a scorecard, so it is left out while there is nothing to choose from.
        if len(self.accepted_versions) > 1:
            self.best = max(self.accepted_versions, key=self.rank)
        else:
            self.best = self.accepted_versions[0]

    def rank(self, version: str) -> tuple[bool, bool, Fraction]:
        """A certified version is above one that passes, which is above one that does not; of equal
        ones the lower end of the score decides.
        """
        return self.is_certified(version), self.verdict(version).passed, self.card(version).low

    # -- what is known about a version

    def unasked(self, version: str, role: Role) -> tuple[str, ...]:
        """The judges of this role that have not been asked about a version."""
        judges = self.panel if role == "panel" else self.holdouts
        asked = self.ballots.get((version, role), {})
        return tuple(judge for judge in judges if judge not in asked)

    def card(self, version: str) -> Scorecard:
        """The scorecard of a version by the judges that steer the loop. A judge whose ballot is
        still to come counts as missing, so its items are intervals.
        """
        if version not in self._cards:
            absent = [
                Ballot(judge=judge, marks={}, state=JudgeState.DEGRADED)
                for judge in self.awaited(version)
            ]
            self._cards[version] = self.scorer.card([*self.votes_on(version), *absent])
        return self._cards[version]

    def votes_on(self, version: str) -> list[Ballot]:
        """The ballots that make up a version's scorecard."""
        return list(self.ballots.get((version, "panel"), {}).values())

    def every_vote_on(self, version: str) -> list[Ballot]:
        """All ballots on a version about items of the steering rubric, held-out judges' included."""
        return self.every_look_at(version)

    @property
    def compared_by(self) -> Rubric:
        """The rubric by whose items two versions are compared."""
        return self.rubric

    def aimed_at(self, entry: Round) -> frozenset[Key]:
        """The items that the worker of a round was asked to improve."""
        if entry.items:
            return frozenset(entry.items)
        lines = [line for line in self.card(entry.base).lines if line.criterion.id in entry.focus]
        return frozenset(
            (line.criterion.id, one.item.id) for line in lines for one in line.short_items
        )

    def voters_of(self, *versions: str) -> frozenset[str]:
        """The judges, without code, that marked every one of these versions."""
        voters_by_version = [
            {one.voter for one in self.every_look_at(version) if one.marks and one.judge != CHECK}
            for version in versions
        ]
        return frozenset(set.intersection(*voters_by_version))

    def every_look_at(self, version: str) -> list[Ballot]:
        """All ballots on a version: of the panel, of code and of held-out judges."""
        return [
            ballot for role in ROLES for ballot in self.ballots.get((version, role), {}).values()
        ]

    def looks(self, version: str) -> list[Ballot]:
        """The ballots of judges on a version, without code's. Ballots without a mark are included:
        the judge was asked.
        """
        return [ballot for ballot in self.every_look_at(version) if ballot.judge != CHECK]

    def mark_changes(self, before: str, after: str) -> dict[Key, Fraction]:
        """The change of each item's mean mark from one version to another, -1 to 1. Only code and
        judges that marked both versions count: the mean of other judges may differ because they
        are other judges.
        """
        voters = self.voters_of(before, after)
        earlier, later = _mean_marks(self, before, voters), _mean_marks(self, after, voters)
        return {key: later[key] - mark for key, mark in earlier.items() if key in later}

    def awaited(self, version: str) -> list[str]:
        """The judges of the panel whose ballots a version's scorecard waits for."""
        asked = self.ballots.get((version, "panel"), {})
        return [judge for judge in self.panel if judge not in asked and judge != CHECK]

    def brief_card(self, version: str) -> Scorecard:
        """The scorecard that a worker may see: never with a vote of a held-out judge. A worker
        that knew it could edit to please the judge that has to certify the result.
        """
        return self.card(version)

    def verdict(self, version: str) -> Verdict:
        return judge_gate(self.card(version), self.rubric)

    def probability(self, version: str) -> float | None:
        """The probability (0-1) that a version meets the contract; None where nothing was judged. In
        a policy without beliefs it decides nothing, and is that of `eval`: by the looks at its bytes.
        """
        return chance_of(self.rubric, self.every_look_at(version), self.verdict(version))

    def standing(self, version: str) -> Standing | None:
        """The belief about a version now; None in a policy without beliefs, and for a version that
        no judge looked at.
        """
        return None

    def stated(self, version: str) -> StatedBelief | None:
        """How sure it is that a version meets the contract, by every vote of the run; None
        where that is not known.
        """
        chance = self.probability(version)
        if chance is None:
            return None
        votes, rubric = self.every_look_at(version), self.rubric
        grounds = grounds_of(votes)
        if rubric.asks_judges and 0.0 < chance < 1.0 and not looks_at(votes):
            return None
        unheard = {*self.panel, *self.holdouts} - {CHECK, *(one.voter for one in votes)}
        found = StatedBelief(
            probability=chance,
            target=None if rubric.sure is None else float(rubric.sure),
            max_looks=None if rubric.sure is None else rubric.max_looks,
            looks=sum([one.looks or 0 for one in grounds]),
            rests_on=grounds,
        )
        lacks = lack_of_quorum(rubric, votes, len(unheard))
        return settled(found, is_exhausted=all_repeat(votes), lacks=lacks)

    def stated_probability(self, version: str) -> float | None:
        """The probability of `stated`: not what is assumed of a version before any answer."""
        found = self.stated(version)
        return None if found is None else found.probability

    def better_than_original(self, version: str) -> Better | None:
        """How probable it is that a version is better, where the state itself knows that."""
        return None

    def has_judge_marks(self, version: str) -> bool:
        """Whether a judge of the panel, not only code, marked anything on a version."""
        panel = self.ballots.get((version, "panel"), {})
        return any(ballot.marks for judge, ballot in panel.items() if judge != CHECK)

    def is_marked(self, version: str) -> bool:
        """Whether a version has a mark to decide by: of a judge, or of code where no judge is
        needed.
        """
        return self.has_judge_marks(version) if self.needs_witness else self.card(version).has_marks

    def tells_apart(self, before: str, after: str) -> bool:
        """Whether a version has marks, and they are not those of another one."""
        return self.is_marked(after) and self.card(after).values != self.card(before).values

    def certifications(self, version: str) -> dict[str, Verdict]:
        """The verdict on a version by each held-out judge alone, together with the checks."""
        checks = self.ballots.get((version, "panel"), {}).get(CHECK)
        verdicts = {}
        for judge, ballot in self.ballots.get((version, "holdout"), {}).items():
            card = self.scorer.alone([ballot, checks] if checks else [ballot])
            verdicts[judge] = judge_gate(card, self.rubric)
        return verdicts

    def is_certified(self, version: str) -> bool:
        """Whether every held-out judge looked at a version, and each alone says pass."""
        verdicts = self.certifications(version)
        return (
            bool(self.holdouts)
            and not self.unasked(version, "holdout")
            and all(verdict.passed for verdict in verdicts.values())
        )

    @property
    def consulted(self) -> list[str]:
        """The versions that held-out judges were shown."""
        return [version for version, role in self.ballots if role == "holdout"]

    @property
    def needs_witness(self) -> bool:
        """Whether PASSED needs a judge that did not steer: where judges decide, and not code alone."""
        return self.rubric.asks_judges


def _mean_marks(
    state: LoopState, version: str, voters: Collection[str] = ()
) -> dict[Key, Fraction]:
    """The mean vote on each item, 0-1, where 1 is always good: items whose yes is bad are
    turned round. It counts code and `voters`; without `voters`, every judge.
    """
    questions = dict(state.compared_by.questions())
    shares: dict[Key, list[Fraction]] = {}
    for ballot in state.every_look_at(version):
        is_asked = not voters or ballot.judge == CHECK or ballot.voter in voters
        if not is_asked or ballot.tampered:
            continue
        for key, mark in ballot.marks.items():
            if key in questions and not is_na(mark.answer):
                shares.setdefault(key, []).append(share_of(questions[key], mark))
    means = {key: sum(votes, ZERO) / len(votes) for key, votes in shares.items()}
    bad = state.compared_by.bad_keys
    return {key: ONE - mean if key in bad else mean for key, mean in means.items()}


def _again(ballot: Ballot, draw: int) -> Ballot:
    """The ballot of a judge's second or later look at a version. It gets a name of its own, so that
    it stays next to the first; `draw_of` names the voter, who still counts once.
    """
    return replace(ballot, judge=f"{ballot.judge} (look {draw + 1})", draw_of=ballot.voter)


def failing(state: LoopState, version: str) -> list[str]:
    """The judges that were asked about a version and gave no mark of it."""
    looks = state.looks(version)
    answered = {ballot.voter for ballot in looks if ballot.marks}
    return list(dict.fromkeys(one.voter for one in looks if one.voter not in answered))


def is_metric_dead(state: LoopState) -> bool:
    """Whether the marks did not tell any of the last changed versions from the one that it was made
    of. More edits would then be paid for without telling a good one from a bad one.
    """
    judged = [
        (entry.base, entry.version)
        for entry in state.rounds
        if entry.version
        and entry.outcome is ProposalOutcome.CHANGED
        and not state.unasked(entry.version, "panel")
    ]
    after = state.dead_after
    return len(judged) >= after and all(
        not state.tells_apart(base, version) for base, version in judged[-after:]
    )


S = TypeVar("S", bound=LoopState)


def state_of_rubric(of: type[S], started: Event, scorer: Scorer | None = None) -> S:
    """The state of a run over a rubric before its first event. `of`: the class of the state."""
    assert isinstance(started, LoopStarted)
    checks = (CHECK,) if started.rubric.has_checks else ()
    return of(
        scorer=scorer or Scorer(started.rubric, started.rule),
        panel=(*checks, *started.panel),
        holdouts=started.holdouts,
        limits=LoopLimits.of(started),
        original=started.artifact.digest,
        tolerance=TOLERANCE if started.tolerance is None else exact(started.tolerance) / 100,
    )


def fold(state: S, log: Iterable[Event]) -> S:
    """Apply every event of a log to a state, and return that state."""
    for event in log:
        state.apply(event)
    return state


class Policy(Protocol):
    """How a loop decides. Its methods are pure.

    The policy is part of a run's identity, so that a run is not resumed under another policy. It is
    not part of the contract: it says which versions are judged, and not how.
    """

    @property
    def name(self) -> str: ...

    def decide(self, state: LoopState) -> Action:
        """The next action of a run that has not ended."""
        ...


class RubricPolicy(Policy, Protocol):
    """A policy for versions that a panel scores by a rubric."""

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        """The state before the first event: a LoopState, or a subclass with what this policy
        decides by.
        """
        ...


def decide(state: LoopState, policy: Policy) -> Action:
    """The next action; of a finished run its `Stop`."""
    return state.finished or policy.decide(state)


def look_at_baseline(state: LoopState) -> Ask | Stop | None:
    """Have the whole panel score the original first: every later version is compared with it."""
    unasked = state.unasked(state.original, "panel")
    if unasked and state.limit is None:
        return Ask(judges=unasked, version=state.original, role="panel")
    if not state.is_marked(state.original):
        return baseline_not_judged(state, state.limit if unasked else None)
    return None


def baseline_not_judged(state: LoopState, came_first: str | None) -> Stop:
    """End a run whose original has no usable mark. `came_first`: the limit that was reached before
    a judge could be asked.
    """
    panel = state.ballots.get((state.original, "panel"), {})
    if not came_first and not state.limits.calls and panel.keys() <= {CHECK}:
        came_first = "--max-calls 0 are used up"
    if came_first:
        return Stop(result=Result.COULD_NOT_JUDGE, reason=f"{CAME_FIRST}{came_first}")
    # Looks of one judge that fail alike are one reason.
    reasons = list(
        dict.fromkeys(f"{one.voter}: {one.reason}" for one in panel.values() if one.reason)
    )
    why = "the baseline has no usable mark" + (f" ({'; '.join(reasons)})" if reasons else "")
    return Stop(result=Result.COULD_NOT_JUDGE, reason=why)


def open_version(state: LoopState) -> str | RollBack | None:
    """The version that the open round proposed, None without an open round. A RollBack ends the
    round without a look of a judge: the worker made nothing usable, or the same bytes were decided
    before, and the same bytes never cost a second call.
    """
    if not state.rounds or not state.rounds[-1].is_open:
        return None
    entry = state.rounds[-1]
    if entry.outcome is not ProposalOutcome.CHANGED or entry.version is None:
        detail = f": {entry.detail}" if entry.detail else ""
        return RollBack(reason=f"{entry.outcome}{detail}")
    before = state.rounds.decided(entry.version)
    if before is not None:
        decision = "accepted" if before.accepted else "rejected"
        return RollBack(reason=f"the same bytes were {decision} in round {before.number}")
    if entry.version in state.accepted_versions:
        return RollBack(reason="these are the bytes of the original")
    return entry.version
