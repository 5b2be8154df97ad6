"""The state of a loop: what the events of a run add up to, and what `decide` makes of it: what it
may do next, how it may end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Final, Protocol, TypeAlias, TypeVar

from honestone.core import events
from honestone.core.belief.memory import ComparisonMemory
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Delivery, Standing
from honestone.core.editing.result import Result as Result
from honestone.core.events import Event, LoopStarted, Role, Started
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState
from honestone.core.judging.rubric import Key, Rubric
from honestone.core.judging.scorecard import Line, Scorecard, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer, is_na, share_of
from honestone.core.numbers import ONE, ZERO, exact


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """Have these judges score a version. `role` says whether they steer or certify; `draw` counts a
    judge's looks at one version from 0.
    """

    judges: tuple[str, ...]
    version: str
    role: Role
    draw: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Propose:
    """Have the worker try a focus on top of `base`, until there are `candidates` proposals to
    choose from.

    `items` are the unmet ones that the worker is given; empty: those that the scorecard of `base`
    says. `ranked`: the proposals are ranked before one of them is judged, also when there is only
    one. Candidates that the state still holds count: the worker is called for the missing ones
    only.
    """

    focus: tuple[str, ...]
    base: str
    items: tuple[Key, ...] = ()
    candidates: int = 1
    ranked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Accept:
    version: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RollBack:
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """`is_final` False: whoever started the loop closes its run, or leaves it open so that the same
    command resumes it.
    `changed`: the files that judge and are no longer what they were.
    """

    result: Result
    reason: str
    is_final: bool = True
    changed: tuple[str, ...] = ()


ROLES: Final[tuple[Role, ...]] = ("panel", "holdout")

Action: TypeAlias = Ask | Propose | Accept | RollBack | Stop


# What a score may fall by and the version still be kept, where the noise of a look was not
# measured.
TOLERANCE = Fraction(2, 100)
# How many versions may be shown to the held-out judges in one run: each answer leaks a little.
CONSULTATIONS = 3

_DEAD_AFTER = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """All of them always hold. `usd` counts what providers price; None: money is not limited."""

    rounds: int = 5
    patience: int = 3
    calls: int
    minutes: float
    usd: float | None = None

    def to_plain(self) -> dict[str, int | float | None]:
        return asdict(self)

    @classmethod
    def of(cls, started: Started) -> LoopLimits:
        """Those that a run was started with."""
        found = started.limits
        return cls(
            rounds=int(found["rounds"] or 0),
            patience=int(found["patience"] or 0),
            calls=int(found["calls"] or 0),
            minutes=found["minutes"] or 0,
            usd=found["usd"],
        )


@dataclass(slots=True, kw_only=True)
class Round:
    """One proposal and its decision. `base` is the version it started from, `version` what came of
    it; `items` are the unmet ones that the worker was given, where the policy chose them, `message`
    is what the worker said. `before` and `after` are what was believed of the two when it was
    decided.
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """How a loop names what steers it and what certifies its result, when it says why it stopped."""

    agrees: str = "every bar is met, and every held-out judge agrees"
    steered: str = "the panel says pass"
    refused: str = "a held-out judge does not"
    unseen: str = "it was not shown to a held-out judge"
    used_up: str = "the held-out judges have been asked {times} times"
    not_workable: str = "nothing is left that this worker can work on"


@dataclass(slots=True, kw_only=True)
class LoopState:
    """What the events of a run add up to. Change it only with `apply`.

    `consultations`: how many versions the held-out judges may be shown. `candidates`: how many
    proposals a round makes; `tolerance` (0-1): a smaller fall is noise. `delivery` is what was
    delivered at the end, and why; from then on `best` is that version. `just_accepted`: the last event
    kept a version, so whether it goes into the person's file is still to be decided. `tried` are
    those of the round that is under way, and `ranks` (0-1) how good their edits look, by version,
    where a panel was asked. `comparisons`: what comparisons of versions have worked out so far.
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
    words: Words = Words()
    current: str = ""
    best: str = ""
    rounds: list[Round] = field(default_factory=list)
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
        """Take in one event. Others than these are facts for reports and change nothing here."""
        # All that a loop knows comes through here, in a live run and in a resumed one alike. So a
        # run that was killed anywhere is in the state that its record says, and a decision can
        # never rest on something that a resumed run would not know. What is only computed from the
        # state (scorecards, comparisons) is remembered next to it, and dropped when a ballot comes.
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
                self.rounds[-1].accepted, self.rounds[-1].reason = True, event.reason
                self.rounds[-1].before, self.rounds[-1].after = event.before, event.after
                self.current = event.version
                self.accepted_versions.append(self.current)
                before = self.best
                self._find_best()
                self.rounds[-1].is_progress = self.best != before
            case events.VersionRejected():
                self.rounds[-1].accepted, self.rounds[-1].reason = False, event.reason
                self.rounds[-1].before, self.rounds[-1].after = event.before, event.after
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
        """Certified first, then passing, then the higher lower bound of the score; ties to the
        earlier version.
        """
        self.best = (
            max(self.accepted_versions, key=self.rank)
            if len(self.accepted_versions) > 1
            else self.accepted_versions[0]
        )

    def rank(self, version: str) -> tuple[bool, bool, Fraction]:
        return self.is_certified(version), self.verdict(version).passed, self.card(version).low

    # -- what is known about a version

    def unasked(self, version: str, role: Role) -> tuple[str, ...]:
        seats = self.panel if role == "panel" else self.holdouts
        have = self.ballots.get((version, role), {})
        return tuple(judge for judge in seats if judge not in have)

    def card(self, version: str) -> Scorecard:
        """The scorecard of those that steer, from the ballots there are."""
        if version not in self._cards:
            absent = [
                Ballot(judge=judge, marks={}, state=JudgeState.DEGRADED)
                for judge in self.awaited(version)
            ]
            self._cards[version] = self.scorer.card([*self.votes_on(version), *absent])
        return self._cards[version]

    def votes_on(self, version: str) -> list[Ballot]:
        """The ballots that a version's scorecard is drawn from."""
        return list(self.ballots.get((version, "panel"), {}).values())

    def every_vote_on(self, version: str) -> list[Ballot]:
        """All ballots on a version that a scorecard has a place for, whoever cast them."""
        return self.every_look_at(version)

    @property
    def compared_by(self) -> Rubric:
        """What two versions are compared by: the rubric, whose items are the keys of the marks."""
        return self.rubric

    def aimed_at(self, entry: Round) -> frozenset[Key]:
        """The items that a round's worker was given."""
        if entry.items:
            return frozenset(entry.items)
        lines = [line for line in self.card(entry.base).lines if line.criterion.id in entry.focus]
        return frozenset(
            (line.criterion.id, one.item.id) for line in lines for one in line.short_items
        )

    def voters_of(self, *versions: str) -> frozenset[str]:
        """The judges that marked all of these versions, code apart; none where no judge did."""
        found = [
            {one.voter for one in self.every_look_at(version) if one.marks and one.judge != CHECK}
            for version in versions
        ]
        return frozenset(set.intersection(*found))

    def every_look_at(self, version: str) -> list[Ballot]:
        """All ballots on a version, whoever cast them."""
        return [
            ballot for role in ROLES for ballot in self.ballots.get((version, role), {}).values()
        ]

    def looks(self, version: str) -> list[Ballot]:
        """The ballots of judges on a version without code, those without a mark included."""
        return [ballot for ballot in self.every_look_at(version) if ballot.judge != CHECK]

    def mark_changes(self, before: str, after: str) -> dict[Key, Fraction]:
        """How far the mean mark of each item moved from one version to another (-1 to 1), by code
        and the judges that marked both.
        """
        voters = self.voters_of(before, after)
        earlier, later = self.mean_marks(before, voters), self.mean_marks(after, voters)
        return {key: later[key] - mark for key, mark in earlier.items() if key in later}

    def mean_marks(self, version: str, voters: Collection[str] = ()) -> dict[Key, Fraction]:
        """The mean of the votes about each item (0-1), turned round where yes is the bad answer: of
        code and these judges, or of all where none is named.
        """
        questions = dict(self.compared_by.questions())
        shares: dict[Key, list[Fraction]] = {}
        for ballot in self.every_look_at(version):
            is_asked = not voters or ballot.judge == CHECK or ballot.voter in voters
            if not is_asked or ballot.tampered:
                continue
            for key, mark in ballot.marks.items():
                if key in questions and not is_na(mark.answer):
                    shares.setdefault(key, []).append(share_of(questions[key], mark))
        means = {key: sum(found, ZERO) / len(found) for key, found in shares.items()}
        bad = self.compared_by.bad_keys
        return {key: ONE - mean if key in bad else mean for key, mean in means.items()}

    def awaited(self, version: str) -> list[str]:
        """Judges without whose ballot a version's score is not known."""
        have = self.ballots.get((version, "panel"), {})
        return [judge for judge in self.panel if judge not in have and judge != CHECK]

    def brief_card(self, version: str) -> Scorecard:
        """What a worker that changes the version may know of it: never what a held-out judge said."""
        return self.card(version)

    def verdict(self, version: str) -> Verdict:
        return judge_gate(self.card(version), self.rubric)

    def probability(self, version: str) -> float | None:
        """That a version meets the contract (0-1), where the policy knows it."""
        return None

    def standing(self, version: str) -> Standing | None:
        """What is believed of a version now, where the policy has beliefs and a judge looked at it."""
        return None

    def has_judge_marks(self, version: str) -> bool:
        """Whether any judge that is not code answered anything."""
        panel = self.ballots.get((version, "panel"), {})
        return any(ballot.marks for judge, ballot in panel.items() if judge != CHECK)

    def is_marked(self, version: str) -> bool:
        """Whether there is any mark of those that decide."""
        return self.has_judge_marks(version) if self.needs_witness else self.card(version).has_marks

    def certifications(self, version: str) -> dict[str, Verdict]:
        """The verdict of each held-out judge alone, with the checks, on a version."""
        checks = self.ballots.get((version, "panel"), {}).get(CHECK)
        found = {}
        for judge, ballot in self.ballots.get((version, "holdout"), {}).items():
            card = self.scorer.alone([ballot, checks] if checks else [ballot])
            found[judge] = judge_gate(card, self.rubric)
        return found

    def is_certified(self, version: str) -> bool:
        """Every held-out judge scored it, and each alone says pass."""
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


def _again(ballot: Ballot, draw: int) -> Ballot:
    """A later look of a judge at one version: the same voter, under a name of its own."""
    return replace(ballot, judge=f"{ballot.judge} (look {draw + 1})", draw_of=ballot.voter)


def is_metric_dead(state: LoopState) -> bool:
    """Whether the last three changed versions each scored exactly like the one before, or could not
    be judged at all.
    """
    judged = [
        entry
        for entry in state.rounds
        if entry.version
        and entry.outcome is ProposalOutcome.CHANGED
        and not state.unasked(entry.version, "panel")
    ]
    return len(judged) >= _DEAD_AFTER and all(
        state.card(entry.version or "").values == state.card(entry.base).values
        or not state.is_marked(entry.version or "")
        for entry in judged[-_DEAD_AFTER:]
    )


S = TypeVar("S", bound=LoopState)


def state_of_rubric(of: type[S], started: Event, scorer: Scorer | None = None) -> S:
    """The state of a run in which a panel scores versions, before anything happened."""
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
    for event in log:
        state.apply(event)
    return state


class Policy(Protocol):
    """How a loop decides. Part of the run's identity, not of the contract. All of it is pure."""

    @property
    def name(self) -> str: ...

    def decide(self, state: LoopState) -> Action:
        """The next action of a run that has not ended."""
        ...


class RubricPolicy(Policy, Protocol):
    """A policy for versions that a panel scores by a rubric."""

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        """The state before anything happened: a LoopState, or a kind of it that keeps what this
        policy decides by.
        """
        ...


def decide(state: LoopState, policy: Policy) -> Action:
    """The next action. Pure: the same events give the same action, so a killed run resumes as if it
    had not been.
    """
    return state.finished or policy.decide(state)


def look_at_baseline(state: LoopState) -> Ask | Stop | None:
    """The whole panel scores the original before anything else."""
    unasked = state.unasked(state.original, "panel")
    if unasked and state.limit is None:
        return Ask(judges=unasked, version=state.original, role="panel")
    if not state.is_marked(state.original):
        return baseline_not_judged(state, state.limit if unasked else None)
    return None


def baseline_not_judged(state: LoopState, came_first: str | None) -> Stop:
    """The end of a run whose original has no usable mark; `came_first`: the limit that kept a judge
    from being asked.
    """
    found = [
        f"{b.judge}: {b.reason}"
        for b in state.ballots.get((state.original, "panel"), {}).values()
        if b.reason
    ]
    why = "the baseline has no usable mark" + (f" ({'; '.join(found)})" if found else "")
    return Stop(
        result=Result.COULD_NOT_JUDGE,
        reason=f"the limit came first: {came_first}" if came_first else why,
    )


def open_version(state: LoopState) -> str | RollBack | None:
    """The version of the round that is under way, if there is one. Or what ends that round without
    a look at it: nothing usable was proposed, or these bytes were decided before.
    """
    if not state.rounds or not state.rounds[-1].is_open:
        return None
    entry = state.rounds[-1]
    if entry.outcome is not ProposalOutcome.CHANGED or entry.version is None:
        return RollBack(
            reason=f"{entry.outcome}: {entry.detail}" if entry.detail else str(entry.outcome)
        )
    before = state.decided(entry.version)
    if before is not None:
        return RollBack(
            reason=f"the same bytes were {'accepted' if before.accepted else 'rejected'} in round {before.number}"
        )
    if entry.version in state.accepted_versions:
        return RollBack(reason="these are the bytes of the original")
    return entry.version
