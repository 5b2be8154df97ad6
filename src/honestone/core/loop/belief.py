"""The belief policies of `improve`: what is kept, tried next and called PASSED follows from the
probability that the contract is met, by every vote that was ever paid for.

One judge looks at each version, in turn. Where that makes a PASS likely, held-out judges are asked
one call at a time, each once: the first answer about these bytes is final. PASSED needs the answers
of two of them, of which one alone says pass, and a probability above a bar; the rest of the calls
is kept for the end, where the bar is lower because nothing better can follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from math import sqrt
from typing import Final

from honestone.core.belief.beliefs import Beliefs
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Standing
from honestone.core.events import BallotCast, EditProposed, Event, VersionRejected
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState
from honestone.core.judging.rubric import Key
from honestone.core.judging.scorecard import Line, Scorecard, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.delivery import still_open
from honestone.core.loop.policies import lost_check, rounds_used_up
from honestone.core.loop.state import (
    Accept,
    Action,
    Ask,
    LoopState,
    Propose,
    Result,
    RollBack,
    Stop,
    baseline_not_judged,
    open_version,
    state_of_rubric,
)
from honestone.core.numbers import sure

# Held-out judges without whose answer a version is not PASSED; all of them where fewer are held
# out.
LOOKS_NEEDED: Final = 2
LOOKS_IN_RUN: Final = 2
# How many calls certify one version before another edit, and when no edit follows: held-out judges
# first, each once, then the panel again.
LOOKS_AT_END: Final = 9
# Calls that are kept for the end.
RESERVE: Final = 3
# Judges that are asked for one look before the version is given up.
TRIES: Final = 4
# Looks at the original and as many at the last version that may go to their comparison.
LOOKS_TO_COMPARE: Final = 6
# What each rejection takes from the gain that is expected of another edit of the same criterion.
YIELDS: Final = 0.85

_DEAD_AFTER: Final = 7
_IDLE_AFTER: Final = 3


@dataclass(frozen=True, slots=True)
class Bars:
    """Probabilities: from `consult` it is worth asking a held-out judge, from `run` a version is
    PASSED while the loop runs, and from `end` when no edit follows.
    """

    consult: float
    run: float
    end: float


ON_A_SCALE: Final = Bars(consult=0.15, run=0.93, end=0.75)
# Lower at the end, because what is stated of yes/no items is modest: what is stated as .89 is so in
# .98 of cases.
YES_OR_NO: Final = Bars(consult=0.15, run=0.94, end=0.55)


# Standard deviations to each side of a mean that hold 95 %.
_NINETY_FIVE: Final = 1.96


def _points(value: float) -> float:
    """A belief in points, as it is recorded and shown."""
    return round(min(max(value, 0.0), 100.0), 6)


def anything(line: Line) -> bool:
    """What can be worked on unless somebody says otherwise."""
    return True


@dataclass(slots=True, kw_only=True)
class BeliefState(LoopState):
    """The loop's state with what is believed about each version. The best version is the one kept
    last.

    `asked`: judge calls so far, `turn` those that steered; `certifying` are the looks that did not,
        by version. `steering` are the beliefs that choose what is kept and tried: those that
        certify, or under `strict` a fold of the panel's votes alone.
    """

    workable: Callable[[Line], bool] = anything
    strict: bool = False
    asked: int = 0
    turn: int = 0
    certifying: dict[str, int] = field(default_factory=dict)
    beliefs: Beliefs = field(init=False)
    steering: Beliefs = field(init=False)

    # `super()` does not reach the base of a slotted dataclass, so it is named.

    def __post_init__(self) -> None:
        LoopState.__post_init__(self)
        self.beliefs = self._nothing_seen()
        self.steering = self._nothing_seen() if self.strict else self.beliefs

    def _nothing_seen(self) -> Beliefs:
        return Beliefs(self.rubric, self.original, self.judges, self.holdouts)

    @property
    def judges(self) -> tuple[str, ...]:
        """The panel without code."""
        return tuple(judge for judge in self.panel if judge != CHECK)

    @property
    def folds(self) -> tuple[Beliefs, ...]:
        return (self.beliefs,) if self.steering is self.beliefs else (self.beliefs, self.steering)

    def apply(self, event: Event) -> None:
        match event:
            case BallotCast():
                self._take_in(event)
            case EditProposed() if (
                event.version is not None and event.outcome is ProposalOutcome.CHANGED
            ):
                for fold in self.folds:
                    fold.edit(event.base or self.current, event.version, event.focus, event.items)
            case VersionRejected() if self.rounds[-1].version is not None:
                for fold in self.folds:
                    fold.reject(self.rounds[-1].version)
        LoopState.apply(self, event)

    def _take_in(self, event: BallotCast) -> None:
        ballot = event.ballot
        if ballot.judge == CHECK:
            for fold in self.folds:
                fold.see_checks(event.version, ballot.marks)
            return
        self.asked += max(1, event.spend.judge_calls)
        if self.is_steered_by(event.version):
            self.turn += 1
        elif ballot.marks:
            self.certifying[event.version] = self.certifying.get(event.version, 0) + 1
        if ballot.tampered:
            return
        for fold in self.folds:
            if fold is self.beliefs or event.role == "panel":
                fold.see(event.version, ballot.voter, ballot.marks)

    def is_steered_by(self, version: str) -> bool:
        """Whether what becomes of a version waits for its first look."""
        if self.rounds and self.rounds[-1].is_open:
            return version == self.rounds[-1].version
        return version == self.original and not self.has_look(version)

    def _find_best(self) -> None:
        self.best = self.accepted_versions[-1]

    def probability(self, version: str) -> float:
        """That a version meets the contract, by every vote of the run (0-1)."""
        return self.beliefs.probability(version)

    def standing(self, version: str) -> Standing | None:
        if version not in self.beliefs or not self.has_look(version):
            return None
        criteria, overall = self.beliefs.outlook(version)
        reach = _NINETY_FIVE * sqrt(max(overall.var, 0.0))
        return Standing(
            score=_points(overall.mean),
            low=_points(overall.mean - reach),
            high=_points(overall.mean + reach),
            criteria={name: _points(one.mean) for name, one in criteria.items()},
            probability=self.probability(version),
        )

    # -- looks

    def votes_on(self, version: str) -> list[Ballot]:
        """Of all that steer: without `strict` the held-out judges do, too."""
        held_out = {} if self.strict else self.ballots.get((version, "holdout"), {})
        return [*LoopState.votes_on(self, version), *held_out.values()]

    def awaited(self, version: str) -> list[str]:
        """None: one look is a version's due."""
        return []

    def brief_card(self, version: str) -> Scorecard:
        """The panel's, of the version or the newest one before it that the panel looked at."""
        while version != self.original and not self.has_judge_marks(version):
            version = next(entry.base for entry in self.rounds if entry.version == version)
        return self.scorer.card(LoopState.votes_on(self, version))

    def has_look(self, version: str) -> bool:
        return any(ballot.marks for ballot in self.looks(version))

    def witnesses(self, version: str) -> int:
        """Looks of held-out judges at a version that gave marks."""
        held_out = self.ballots.get((version, "holdout"), {})
        return sum(bool(ballot.marks) and not ballot.tampered for ballot in held_out.values())

    def unheard(self, version: str) -> list[str]:
        """Held-out judges without an answer about a version. One that has answered is never asked
        again about these bytes: its first answer is final.
        """
        held_out = self.ballots.get((version, "holdout"), {}).values()
        answered = {ballot.voter for ballot in held_out if ballot.marks}
        return [judge for judge in self.holdouts if judge not in answered]

    def is_refused(self, version: str) -> bool:
        """Whether held-out judges answered and none of them, alone with the checks, says pass. Then
        no vote of other judges makes it PASSED.
        """
        return self.witnesses(version) > 0 and not any(
            found.passed for found in self.certifications(version).values()
        )

    def panel_passes(self, version: str) -> bool:
        """Whether the panel's own looks at a version say pass."""
        return judge_gate(self.scorer.alone(LoopState.votes_on(self, version)), self.rubric).passed

    def is_certified(self, version: str) -> bool:
        return (
            self.finished is not None
            and self.finished.result is Result.PASSED
            and version == self.best
        )

    @property
    def calls_left(self) -> int:
        return 0 if self.limit is not None else self.limits.calls - self.asked

    def failures(self, version: str) -> int:
        return sum(not ballot.marks for ballot in self.looks(version))

    @property
    def silent(self) -> list[str]:
        """Judges of the panel that are there and have answered nothing in this run."""
        panel = [
            ballot
            for (_, role), found in self.ballots.items()
            if role == "panel"
            for ballot in found.values()
        ]
        settled = {
            ballot.voter for ballot in panel if ballot.marks or ballot.state is JudgeState.SKIPPED
        }
        return [judge for judge in self.judges if judge not in settled]

    def lacks(self, version: str) -> int:
        """Judges that are missing for a verdict: of the rubric's quorum on this version, or where
        the rubric has none those of the panel that were never heard.
        """
        quorum = self.rubric.quorum
        if quorum is None:
            return len(self.silent)
        needed = len(self.judges) + len(self.holdouts) if quorum == "all" else quorum
        return needed - len({ballot.voter for ballot in self.looks(version) if ballot.marks})

    def has_failed(self, version: str) -> bool:
        """Whether a judge was asked for a look at a version and gave no answer."""
        answered = {ballot.voter for ballot in self.looks(version) if ballot.marks}
        return any(ballot.voter not in answered for ballot in self.looks(version))

    @property
    def is_idle(self) -> bool:
        """Whether the worker brought no new version in the last three rounds."""
        new: list[str | None] = [self.original]
        for entry in self.rounds:
            new.append(entry.version if entry.version not in new else None)
        return len(self.rounds) >= _IDLE_AFTER and new[-_IDLE_AFTER:] == [None] * _IDLE_AFTER

    @property
    def is_dead(self) -> bool:
        """Whether the last seven changed versions got, mark for mark, what the version before each
        had.
        """
        judged = [
            r
            for r in self.rounds
            if r.version and r.outcome is ProposalOutcome.CHANGED and not r.is_open
        ]
        return (
            self.needs_witness
            and len(judged) >= _DEAD_AFTER
            and all(
                self._marks(r.version or "") <= self._marks(r.base) for r in judged[-_DEAD_AFTER:]
            )
        )

    def _marks(self, version: str) -> set[tuple[Key, object]]:
        return {
            (key, mark.answer)
            for ballot in self.looks(version)
            for key, mark in ballot.marks.items()
        }


@dataclass(frozen=True, slots=True)
class Belief:
    """Held-out judges take turns in steering where marks are on a scale. Such an answer counts as
    one of the two that a PASS needs, and the worker sees nothing of it.
    """

    name: str = "belief"
    strict: bool = False

    def start(self, started: Event, scorer: Scorer | None = None) -> BeliefState:
        return state_of_rubric(StrictState if self.strict else BeliefState, started, scorer)

    def decide(self, state: LoopState) -> Action:
        assert isinstance(state, BeliefState)
        return (
            _look_at_baseline(state)
            or _resolve_round(state)
            or _certify(state, is_last=False)
            or (_stop(state) if state.is_dead else None)
            or _propose(state)
            or _certify(state, is_last=True)
            or _compare(state)
            or _stop(state)
        )


@dataclass(slots=True, kw_only=True)
class StrictState(BeliefState):
    """Held-out votes certify and never steer."""

    strict: bool = True


BELIEF: Final = Belief()
STRICT: Final = Belief(name="strict", strict=True)


# ----------------------------------------------------------------------------------------------------------
# looks


def _order(state: BeliefState) -> list[str]:
    """The judges that steer, in turn."""
    if state.strict or not state.beliefs.is_anchored:
        return list(state.judges)
    pairs = zip_longest(state.judges, state.holdouts[: len(state.judges)])
    return [judge for judge in chain.from_iterable(pairs) if judge is not None]


def _look(state: BeliefState, version: str) -> Ask | None:
    """The first look at a version: code, and then one judge. None where there was one, or there
    will be none.
    """
    if CHECK in state.panel and CHECK not in state.ballots.get((version, "panel"), {}):
        return (
            None if state.limit is not None else Ask(judges=(CHECK,), version=version, role="panel")
        )
    if not state.needs_witness or state.has_look(version) or state.calls_left <= 0:
        return None
    tried = [ballot.voter for ballot in state.looks(version)]
    order = _order(state)
    if len(tried) >= max(TRIES, len(order)):
        return None
    waiting = [order[(state.turn + i) % len(order)] for i in range(len(order))]
    return _ask(state, version, min(waiting, key=tried.count)) if waiting else None


def _ask(state: BeliefState, version: str, judge: str) -> Ask:
    draw = sum(ballot.voter == judge for ballot in state.looks(version))
    return Ask(
        judges=(judge,),
        version=version,
        role="holdout" if judge in state.holdouts else "panel",
        draw=draw,
    )


def _look_at_baseline(state: BeliefState) -> Ask | Stop | None:
    if len(state.rounds) > 0:
        return None
    ask = _look(state, state.original)
    if ask is not None:
        return ask
    if state.has_look(state.original) or (
        not state.needs_witness and state.card(state.original).has_marks
    ):
        return None
    return baseline_not_judged(state, state.limit)


# ----------------------------------------------------------------------------------------------------------
# rounds


def _resolve_round(state: BeliefState) -> Ask | Accept | RollBack | None:
    version = open_version(state)
    if not isinstance(version, str):
        return version
    if CHECK in state.ballots.get((version, "panel"), {}):
        lost = lost_check(state.card(state.current), state.card(version))
        if lost:
            return RollBack(reason=lost)
    ask = _look(state, version)
    if ask is not None:
        return ask
    if state.needs_witness and not state.has_look(version):
        return RollBack(
            reason=f"not judged: {state.limit}" if state.limit else "no judge could mark it"
        )
    moved = _moved(state, version)
    if state.needs_witness and not _rose(state, version):
        return RollBack(reason=f"no mark is better than before: {moved}")
    if _fell(state, version):
        return RollBack(reason=f"its marks and what is expected of it fell: {moved}")
    if state.steering.value(version) > state.steering.value(state.current):
        return Accept(version=version, reason=f"nearer to the contract: {moved}")
    return RollBack(reason=f"not nearer to the contract: {moved}")


def _rose(state: BeliefState, version: str) -> bool:
    """Whether any mark is better than that of the version before, where both have any. Without this, an edit that no
    judge noticed is believed to have helped a little, since edits do on average, and a chain of
    such edits becomes what the loop believes in most.
    """
    changes = state.mark_changes(state.current, version)
    return not changes or any(change > 0 for change in changes.values())


def _fell(state: BeliefState, version: str) -> bool:
    """Whether the marks are worse on the whole, and so is the expected score. Far from the contract
    its probability says little, and a version of which less is known can look nearer for that
    alone.
    """
    old, new = state.card(state.current), state.card(version)
    old_score = old.low if old.score is None else old.score
    new_score = new.low if new.score is None else new.score
    if new_score >= old_score:
        return False
    steering = state.steering
    return steering.outlook(version).overall.mean < steering.outlook(state.current).overall.mean


def _moved(state: BeliefState, version: str) -> str:
    """What decides, before and after: how near each version is to the contract, which is not its
    score. A version can be nearer with a lower score, where what it gained counts more at the bars.
    """
    old, new = state.steering.value(state.current), state.steering.value(version)
    places = next((n for n in range(2, 7) if f"{old:.{n}f}" != f"{new:.{n}f}"), 2)
    return f"{old:.{places}f} before, {new:.{places}f} now, where 0 is certainty"


def _propose(state: BeliefState) -> Propose | None:
    """None: no other edit is worth its calls, or allowed."""
    limits = state.limits
    if (
        state.limit is not None
        or len(state.rounds) >= limits.rounds
        or state.stale >= limits.patience
        or state.is_idle
    ):
        return None
    if state.needs_witness and state.calls_left - 1 < (RESERVE if state.holdouts else 0):
        return None
    found = _aim(state)
    return None if found is None else Propose(focus=(found[0],), base=state.current, items=found[1])


def _aim(state: BeliefState) -> tuple[str, tuple[Key, ...]] | None:
    """The criterion whose edit promises most, and its items that are short."""
    aims = {
        name: tuple(items)
        for name, items in state.steering.aims(state.current).items()
        if state.workable is anything or state.workable(state.card(state.current).line(name))
    }
    if not aims:
        return None
    rejections = state.rejections

    def promise(name: str) -> float:
        boldness = YIELDS ** rejections.get(name, 0)
        return state.steering.value_of_aim(state.current, name, aims[name], boldness)

    best = max(aims, key=promise)
    return best, aims[best]


# ----------------------------------------------------------------------------------------------------------
# ending


def _bars(state: BeliefState) -> Bars:
    return ON_A_SCALE if state.beliefs.is_anchored else YES_OR_NO


def _certify(state: BeliefState, *, is_last: bool) -> Ask | Stop | None:
    """PASSED, or the call that may lead to it."""
    version = state.current
    if not state.needs_witness:
        is_met = state.verdict(version).passed
        return (
            Stop(result=Result.PASSED, reason="every bar is met, and code alone decides")
            if is_met
            else None
        )
    chance, bars = state.probability(version), _bars(state)
    is_sure = chance >= (bars.end if is_last else bars.run)
    seen, unheard, is_refused = (
        state.witnesses(version),
        state.unheard(version),
        state.is_refused(version),
    )
    has_enough_looks = is_sure and seen >= min(LOOKS_NEEDED, len(state.holdouts))
    if has_enough_looks and not is_refused and state.lacks(version) <= 0:
        return _confirmed(state, chance, seen)
    most = LOOKS_AT_END if is_last else LOOKS_IN_RUN
    if chance < bars.consult or state.calls_left <= 0 or state.failures(version) >= TRIES:
        return None
    if (is_refused and not unheard) or (
        not has_enough_looks and state.certifying.get(version, 0) >= most
    ):
        return None
    return _ask(state, version, _next_witness(state, version, unheard))


def _confirmed(state: BeliefState, chance: float, seen: int) -> Stop:
    if not state.holdouts:
        return Stop(
            result=Result.UNCONFIRMED,
            reason=f"{sure(chance)} that the contract is met, but no judge that was held out was there to confirm it",
        )
    answers = (
        "the answer of 1 held-out judge" if seen == 1 else f"the answers of {seen} held-out judges"
    )
    return Stop(
        result=Result.PASSED, reason=f"{sure(chance)} that the contract is met, with {answers}"
    )


def _next_witness(state: BeliefState, version: str, unheard: Sequence[str]) -> str:
    """A held-out judge that has not answered, then one of the panel: who was never heard first, and
    who looked least often.
    """
    tried, silent = [ballot.voter for ballot in state.looks(version)], state.silent
    return min(unheard or state.judges, key=lambda judge: (judge not in silent, tried.count(judge)))


def _compare(state: BeliefState) -> Ask | None:
    """A call that is left over, for the original or the version that may be delivered. None where
    it is clear enough which is better.
    """
    if not state.needs_witness or not state.judges or state.calls_left <= 0:
        return None
    seen = still_open(state, LOOKS_TO_COMPARE + 1)
    if seen is None or state.failures(seen) >= TRIES:
        return None
    tried = [ballot.voter for ballot in state.looks(seen)]
    return _ask(state, seen, min(state.judges, key=tried.count))


def _stop(state: BeliefState) -> Stop:
    why = _why(state)
    if not state.needs_witness:
        return why
    version = state.current
    chance, is_refused = state.probability(version), state.is_refused(version)
    confidence = f"{sure(chance)} that the contract is met"
    if chance < _bars(state).end and not (is_refused and state.panel_passes(version)):
        return replace(why, reason=f"{why.reason}; {confidence}")
    if state.lacks(version) > 0 and (state.has_failed(version) or why.result is Result.BUDGET):
        result = Result.COULD_NOT_JUDGE if state.has_failed(version) else Result.BUDGET
        return Stop(
            result=result,
            reason=f"{confidence}, but not every judge that is needed answered; {why.reason}",
        )
    lack = (
        "but the held-out judges that answered say no" if is_refused else "which is not confirmed"
    )
    return Stop(result=Result.UNCONFIRMED, reason=f"{confidence}, {lack}; {why.reason}")


def _why(state: BeliefState) -> Stop:
    if state.is_dead:
        return Stop(
            result=Result.METRIC_DEAD,
            reason="seven changed versions in a row were marked exactly like the one before",
        )
    if state.limit is not None:
        return Stop(result=Result.BUDGET, reason=state.limit)
    if state.stale >= state.limits.patience or len(state.rounds) >= state.limits.rounds:
        return rounds_used_up(state)
    if state.is_idle:
        found = rounds_used_up(state)
        why = Stop(
            result=Result.PLATEAU,
            reason=f"the worker made nothing new in the last {_IDLE_AFTER} rounds",
        )
        return why if found.result is Result.ROUND_LIMIT else found
    if state.calls_left > 0 and _aim(state) is None:
        left = (
            " that this worker can work on" if state.steering.aims(state.current) else " to improve"
        )
        return Stop(result=Result.PLATEAU, reason=f"nothing is left{left}")
    return Stop(
        result=Result.BUDGET,
        reason=f"{state.asked} of --max-calls {state.limits.calls} are used, too many for another round",
    )
