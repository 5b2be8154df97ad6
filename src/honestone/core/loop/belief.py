"""The policies `belief` and `strict`: they go by the probability that a version meets the contract.

One judge looks at each version, in turn. Where that makes a PASS likely, held-out judges are asked
one call at a time. PASSED needs the first answers of two of them that do not refuse it beyond what
their noise explains, and a probability of 95 %. After those whoever tells most is asked: of yes/no
items a held-out judge may look again, since only its looks tell what was made to look met. When no
edit follows, the last version is asked about again while calls are left and it is open, and 80 % is
enough where nothing is left to ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import chain, zip_longest
from math import sqrt
from typing import Final

import msgspec
from msgspec.structs import replace

from honestone.core.belief.beliefs import Beliefs, Step
from honestone.core.belief.stated import (
    REPEATS,
    EndedBy,
    StatedBelief,
    repeats,
    settled,
    sure_sentence,
)
from honestone.core.belief.verdict import CLOSE
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Standing
from honestone.core.events import BallotCast, EditProposed, Event, VersionRejected
from honestone.core.judging.ballot import CHECK, Ballot, JudgeState
from honestone.core.judging.rubric import Key
from honestone.core.judging.scorecard import Line, Scorecard, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.bars import ON_A_SCALE, YES_OR_NO, Bars
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
    failing,
    open_version,
    state_of_rubric,
)

# Held-out judges that have to answer before a version is PASSED; all of them where there are fewer.
LOOKS_NEEDED: Final = 2
# Calls that certify one version before another edit, where it is not yet probably good: held-out
# judges, each once, and then the panel again.
LOOKS_IN_RUN: Final = 2
# Calls that are kept for the end.
RESERVE: Final = 3
# Failed calls after which a version gets no further look.
TRIES: Final = 4
# Looks at each of the original and the last version that may go to the comparison of the two.
LOOKS_TO_COMPARE: Final = 6
# By what factor each rejection of a criterion lowers the gain that is expected of its next edit.
YIELDS: Final = 0.85

# Refusals that are less probable of a version that meets the contract count: of each held-out judge
# where all refuse, and of a single one.
UNLIKELY: Final = 0.25
HARDLY: Final = 0.01

# Changed versions in a row that were marked like the one before, after which marks tell nothing.
_DEAD_AFTER: Final = 7
# Rounds in a row without a new version, after which the worker has no more ideas.
_IDLE_AFTER: Final = 3


# Standard deviations on each side of the mean that hold 95 % of a normal distribution.
_NINETY_FIVE: Final = 1.96


def _points(value: float) -> float:
    """A belief in points, as it is recorded and shown."""
    return round(min(max(value, 0.0), 100.0), 6)


def anything(line: Line) -> bool:
    """The default of `workable`: every criterion can be worked on."""
    return True


@dataclass(slots=True, kw_only=True)
class BeliefState(LoopState):
    """The state of a loop with beliefs about each version. The best version is the one kept last.

    `asked`: judge calls so far. `turn`: those of them that were the first look at a new version,
    which decides whose turn is next. `certifying`: by version, the looks after the first one.
    `refused`: whether held-out judges refuse a version, as far as it was asked since the last event.
    `beliefs`: by every vote of the run; they certify. `steering`: the beliefs that choose what is
    kept and tried next. They are the same, but under `strict` know the panel's votes alone.
    """

    workable: Callable[[Line], bool] = anything
    strict: bool = False
    asked: int = 0
    turn: int = 0
    certifying: dict[str, int] = field(default_factory=dict)
    refused: dict[str, bool] = field(default_factory=dict)
    beliefs: Beliefs = field(init=False)
    steering: Beliefs = field(init=False)

    # `slots=True` makes a new class, which `super()` without arguments does not know. So methods
    # name the base class.

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
        """Each of `beliefs` and `steering` once."""
        return (self.beliefs,) if self.steering is self.beliefs else (self.beliefs, self.steering)

    def apply(self, event: Event) -> None:
        self.refused.clear()
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
                fold.see(
                    event.version,
                    ballot.voter,
                    ballot.marks,
                    is_program=ballot.kind == "program",
                )

    def is_steered_by(self, version: str) -> bool:
        """Whether a vote on this version now decides about it: it is the open round's version, or
        the original before its first look.
        """
        if self.rounds and self.rounds[-1].is_open:
            return version == self.rounds[-1].version
        return version == self.original and not self.has_look(version)

    def _find_best(self) -> None:
        self.best = self.accepted_versions[-1]

    def probability(self, version: str) -> float:
        """The probability (0-1) that a version meets the contract, by every vote of the run. It is 1
        only where code alone decides, though a sum of what is nearly certain may round to that.
        """
        found = self.beliefs.probability(version)
        return min(found, 1.0 - CLOSE) if self.needs_witness else found

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
        """The ballots of all judges that steer: without `strict`, held-out judges steer too."""
        held_out = {} if self.strict else self.ballots.get((version, "holdout"), {})
        return [*LoopState.votes_on(self, version), *held_out.values()]

    def awaited(self, version: str) -> list[str]:
        """No one: a version is decided by one look, so no missing ballot makes it open."""
        return []

    def brief_card(self, version: str) -> Scorecard:
        """The panel's scorecard of the version; where only held-out judges looked at that, of the
        newest version before it that the panel looked at.
        """
        while version != self.original and not self.has_judge_marks(version):
            version = next(entry.base for entry in self.rounds if entry.version == version)
        return self.scorer.card(LoopState.votes_on(self, version))

    def has_look(self, version: str) -> bool:
        """Whether any judge marked a version."""
        return any(ballot.marks for ballot in self.looks(version))

    def witnesses(self, version: str) -> int:
        """The number of held-out judges that marked a version."""
        return len(self._first_answers(version))

    def unheard(self, version: str) -> list[str]:
        """The held-out judges that have not answered about a version."""
        held_out = self.ballots.get((version, "holdout"), {}).values()
        answered = {ballot.voter for ballot in held_out if ballot.marks}
        return [judge for judge in self.holdouts if judge not in answered]

    def _first_answers(self, version: str) -> list[Ballot]:
        """The first look of each held-out judge that marked a version."""
        held_out = self.ballots.get((version, "holdout"), {}).values()
        answers = [one for one in held_out if one.marks and not one.tampered]
        return list({one.voter: one for one in reversed(answers)}.values())

    def is_refused(self, version: str) -> bool:
        """Whether the held-out judges that answered refuse a version, each alone with the checks, so
        clearly that this is unlikely of one that meets the contract; or one of them does so that it
        can hardly be. Then no vote of other judges makes the version PASSED. On a scale, where it
        is not known how likely a refusal is, they refuse when all of them do. The first answer of
        each counts: of many looks one refuses by chance, and they are evidence for the belief.
        """
        if version not in self.refused:
            self.refused[version] = self._is_refused(version)
        return self.refused[version]

    def _is_refused(self, version: str) -> bool:
        verdicts = self.certifications(version)
        marks = {ballot.judge: ballot.marks for ballot in self._first_answers(version)}
        refusals = [marks[judge] for judge in marks if not verdicts[judge].passed]
        if not refusals:
            return False
        all_refuse = len(refusals) == len(marks)
        if self.beliefs.has_scales:
            return all_refuse
        limit = UNLIKELY ** len(refusals)
        if all_refuse and self.beliefs.refusal(version, refusals) < limit:
            return True
        return any(self.beliefs.refusal(version, [one]) < HARDLY for one in refusals)

    def panel_passes(self, version: str) -> bool:
        """Whether the votes of the panel alone pass a version."""
        return judge_gate(self.scorer.alone(LoopState.votes_on(self, version)), self.rubric).passed

    def is_certified(self, version: str) -> bool:
        return (
            self.finished is not None
            and self.finished.result is Result.PASSED
            and version == self.best
        )

    @property
    def calls_left(self) -> int:
        """Judge calls that the run may still make."""
        return 0 if self.limit is not None else self.limits.calls - self.asked

    def failures(self, version: str) -> int:
        """The number of looks at a version that gave no mark."""
        return sum(not ballot.marks for ballot in self.looks(version))

    def stated(self, version: str) -> StatedBelief | None:
        found = LoopState.stated(self, version)
        if found is None or found.decided is not False or found.lacks:
            return found
        if self.failures(version) >= TRIES:
            silent = ", ".join(failing(self, version)) or "judges"
            return settled(found, lacks=f"{silent} gave no answer")
        return replace(found, ended_by=_ended_by(self, version))

    @property
    def silent(self) -> list[str]:
        """Judges of the panel that take part in this run and have not answered anything in it."""
        panel = [
            ballot
            for (_, role), ballots in self.ballots.items()
            if role == "panel"
            for ballot in ballots.values()
        ]
        settled = {
            ballot.voter for ballot in panel if ballot.marks or ballot.state is JudgeState.SKIPPED
        }
        return [judge for judge in self.judges if judge not in settled]

    def lacks(self, version: str) -> int:
        """How many more judges have to answer before there can be a verdict on a version: the rest
        of the rubric's quorum; without a quorum, the judges of the panel that never answered.
        """
        quorum = self.rubric.quorum
        if quorum is None:
            return len(self.silent)
        needed = len(self.judges) + len(self.holdouts) if quorum == "all" else quorum
        return needed - len({ballot.voter for ballot in self.looks(version) if ballot.marks})

    def has_failed(self, version: str) -> bool:
        """Whether some judge was asked about a version and gave no answer."""
        return bool(failing(self, version))

    @property
    def is_idle(self) -> bool:
        """Whether the worker brought no new version in the last three rounds."""
        known, rounds_without_new = {self.original}, 0
        for entry in self.rounds:
            if entry.version is None or entry.version in known:
                rounds_without_new += 1
            else:
                known.add(entry.version)
                rounds_without_new = 0
        return rounds_without_new >= _IDLE_AFTER

    @property
    def is_dead(self) -> bool:
        """Whether each of the last seven changed versions got the same marks as the version that
        it was made from.
        """
        if not self.needs_witness:
            return False
        judged = [
            (entry.base, entry.version)
            for entry in self.rounds
            if entry.version and entry.outcome is ProposalOutcome.CHANGED and not entry.is_open
        ]
        return len(judged) >= _DEAD_AFTER and all(
            self._marks(version) <= self._marks(base) for base, version in judged[-_DEAD_AFTER:]
        )

    def _marks(self, version: str) -> set[tuple[Key, object]]:
        """Every answer that any judge gave about a version, with the item that it is about."""
        return {
            (key, mark.answer)
            for ballot in self.looks(version)
            for key, mark in ballot.marks.items()
        }


class Belief(msgspec.Struct, frozen=True):
    """Decide by the beliefs of the state.

    Where marks are on a scale, held-out judges take turns with the panel in giving the first look
    at a version: more judges say more about it. Such an answer counts as one of the two that a PASS
    needs, and the worker sees nothing of it. Under `strict`, held-out judges only certify.
    """

    name: str = "belief"
    strict: bool = False

    def start(self, started: Event, scorer: Scorer | None = None) -> BeliefState:
        return state_of_rubric(StrictState if self.strict else BeliefState, started, scorer)

    def decide(self, state: LoopState) -> Action:
        assert isinstance(state, BeliefState)
        # The first of these that has something to do. Certifying comes before the next proposal and
        # once more after the last one, when its bar is lower; calls that are then left over go to
        # the comparison with the original, which decides what is delivered.
        return (
            _look_at_baseline(state)
            or _resolve_round(state)
            or _certify(state, is_last=False)
            or _propose(state)
            or _certify(state, is_last=True)
            or _compare(state)
            or _stop(state)
        )


@dataclass(slots=True, kw_only=True)
class StrictState(BeliefState):
    """The state under the policy `strict`: votes of held-out judges certify and never steer."""

    strict: bool = True


BELIEF: Final = Belief()
STRICT: Final = Belief(name="strict", strict=True)


# ----------------------------------------------------------------------------------------------------------
# looks


def _order(state: BeliefState) -> list[str]:
    """The judges that give first looks, in the order of their turns."""
    if state.strict or not state.beliefs.is_anchored:
        return list(state.judges)
    pairs = zip_longest(state.judges, state.holdouts[: len(state.judges)])
    return [judge for judge in chain.from_iterable(pairs) if judge is not None]


def _look(state: BeliefState, version: str) -> Ask | None:
    """Ask for the first look at a version: by code, and then by one judge. None where it had that
    look, and where no call is left for it.
    """
    if CHECK in state.panel and CHECK not in state.ballots.get((version, "panel"), {}):
        if state.limit is not None:
            return None
        return Ask(judges=(CHECK,), version=version, role="panel")
    if not state.needs_witness or state.has_look(version) or state.calls_left <= 0:
        return None
    tried = [ballot.voter for ballot in state.looks(version)]
    order = _order(state)
    if not order or len(tried) >= max(TRIES, len(order)):
        return None
    # From the judge whose turn it is; of those that were tried equally often the first.
    start = state.turn % len(order)
    in_turn = [*order[start:], *order[:start]]
    return _ask(state, version, min(in_turn, key=tried.count))


def _ask(state: BeliefState, version: str, judge: str) -> Ask:
    """Ask one judge for its next look at a version."""
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
    step = state.steering.step(version)
    assert step is not None, "the version of an open round is new"
    moved = _moved(state, version, step)
    if state.beliefs.has_scales and not _rose(state, version):
        return RollBack(reason=f"no mark is better than before: {moved}")
    if _fell(state, version, step):
        return RollBack(reason=f"its marks and what is expected of it fell: {moved}")
    if step.value > 0.0:
        return Accept(version=version, reason=f"nearer to the contract: {moved}")
    return RollBack(reason=f"not nearer to the contract: {moved}")


def _rose(state: BeliefState, version: str) -> bool:
    """Whether any mark is better than in the version before; also where the two have no judge in
    common.

    Edits help a little on average, so the model believes that of an edit which no judge noticed,
    too. Without this rule a chain of such edits would become the version that the loop believes in
    most. Asked where marks are on a scale: of yes/no items it is learned during the run what edits
    of this worker do, and a look of another judge throws away most of those that help.
    """
    changes = state.mark_changes(state.current, version)
    return not changes or any(change > 0 for change in changes.values())


def _fell(state: BeliefState, version: str, step: Step) -> bool:
    """Whether the score by marks and the expected score both fell.

    Far from the contract, the probability to meet it says little: a version can look nearer only
    because less is known about it. There the two scores are the better guide.
    """
    if _marked_score(state.card(version)) >= _marked_score(state.card(state.current)):
        return False
    return step.mean < 0.0


def _marked_score(card: Scorecard) -> Fraction:
    """The score by the votes there are; where some item has none, the lowest that it can be."""
    return card.low if card.score is None else card.score


def _moved(state: BeliefState, version: str, step: Step) -> str:
    """How near the version before and this one are to the contract, in words. That is not their
    score: a version with a lower score is nearer if what it gained counts more at the bars.
    """
    new = state.steering.value(version)
    old = new - step.value
    # As many decimal places as it takes to show the two as different.
    places = next((n for n in range(2, 7) if f"{old:.{n}f}" != f"{new:.{n}f}"), 2)
    return f"{old:.{places}f} before, {new:.{places}f} now, where 0 is certainty"


def _propose(state: BeliefState) -> Propose | None:
    """The next edit; None where the limits allow none, or none is worth its calls."""
    limits = state.limits
    if (
        state.limit is not None
        or len(state.rounds) >= limits.rounds
        or state.rounds.stale >= limits.patience
        or state.is_idle
        or state.is_dead
    ):
        return None
    if state.needs_witness and state.calls_left - 1 < (RESERVE if state.holdouts else 0):
        return None
    aim = _aim(state)
    if aim is None:
        return None
    criterion, items = aim
    return Propose(focus=(criterion,), base=state.current, items=items)


def _aim(state: BeliefState) -> tuple[str, tuple[Key, ...]] | None:
    """The criterion whose edit promises the largest gain, and its unmet items."""
    aims = {
        name: tuple(items)
        for name, items in state.steering.aims(state.current).items()
        if _is_workable(state, name)
    }
    if not aims:
        return None
    rejections = state.rounds.rejections

    def promise(name: str) -> float:
        boldness = YIELDS ** rejections.get(name, 0)
        return state.steering.value_of_aim(state.current, name, aims[name], boldness)

    best = max(aims, key=promise)
    return best, aims[best]


def _is_workable(state: BeliefState, criterion: str) -> bool:
    # Most workers can work on anything, and then no scorecard has to be drawn.
    return state.workable is anything or state.workable(state.card(state.current).line(criterion))


# ----------------------------------------------------------------------------------------------------------
# ending


def _bars(state: BeliefState) -> Bars:
    usual = ON_A_SCALE if state.beliefs.is_anchored else YES_OR_NO
    return usual.asked(state.rubric)


def _certify(state: BeliefState, *, is_last: bool) -> Ask | Stop | None:
    """Certify the version that was kept last: PASSED, or the next call on the way to it. None where
    it is not near enough to the contract, or has had its calls. `is_last`: no edit follows.
    """
    version = state.current
    if not state.needs_witness:
        if not state.verdict(version).passed:
            return None
        return Stop(result=Result.PASSED, reason="every bar is met, and code alone decides")
    chance, bars = state.probability(version), _bars(state)
    if chance >= (bars.enough_at_end if is_last else bars.sure) and _is_confirmed(state, version):
        return _confirmed(state, version)
    if _is_worth_a_look(state, version, chance, is_last=is_last):
        return _ask(state, version, _next_witness(state, version))
    if is_last and chance >= bars.end and _is_confirmed(state, version):
        return _confirmed(state, version)
    return None


def _is_confirmed(state: BeliefState, version: str) -> bool:
    """Whether those have answered whose answers a PASS needs, and do not refuse it."""
    has_witnesses = state.witnesses(version) >= min(LOOKS_NEEDED, len(state.holdouts))
    return has_witnesses and not state.is_refused(version) and state.lacks(version) <= 0


def _is_worth_a_look(state: BeliefState, version: str, chance: float, *, is_last: bool) -> bool:
    bars = _bars(state)
    least = bars.open_at_end if is_last else bars.consult
    if chance < least or state.calls_left <= 0 or state.failures(version) >= TRIES:
        return False
    if all(_repeats_itself(state, version, judge) for judge in _witnesses_left(state, version)):
        return False
    most_looks = state.rubric.max_looks
    if most_looks is not None and _marked_looks(state, version) >= most_looks:
        return False
    # At the end further looks may show that judges misread more often than was known.
    may_be_noise = is_last and not bars.is_modest and not state.beliefs.has_scales
    if state.is_refused(version) and not state.unheard(version) and not may_be_noise:
        return False
    if chance >= bars.sure and state.lacks(version) > 0:
        return True
    asks_on = is_last or (chance >= bars.end and not bars.is_modest)
    most = bars.looks if asks_on else LOOKS_IN_RUN
    return state.certifying.get(version, 0) < most


def _ended_by(state: BeliefState, version: str) -> EndedBy | None:
    """The limit that ended the looks at a version, where one did."""
    looks, most = _marked_looks(state, version), state.rubric.max_looks
    is_certified = state.certifying.get(version, 0) >= _bars(state).looks
    if is_certified or (most is not None and looks >= most):
        return EndedBy(option="--max-looks", most=looks)
    return state.limits.that_ended(state.limit, calls_left=state.calls_left)


def _marked_looks(state: BeliefState, version: str) -> int:
    return sum(bool(ballot.marks) for ballot in state.looks(version))


def _confirmed(state: BeliefState, version: str) -> Stop:
    confidence, seen = _confidence(state, version), state.witnesses(version)
    if not state.holdouts:
        return Stop(
            result=Result.UNCONFIRMED,
            reason=f"{confidence}, but no judge that was held out was there to confirm it",
        )
    answers = (
        "the answer of 1 held-out judge" if seen == 1 else f"the answers of {seen} held-out judges"
    )
    return Stop(result=Result.PASSED, reason=f"{confidence}, with {answers}")


def _confidence(state: BeliefState, version: str) -> str:
    """How sure it is that a version meets the contract, in the words of every report."""
    stated = state.stated(version)
    return "" if stated is None else sure_sentence(stated)


def _witnesses_left(state: BeliefState, version: str) -> Sequence[str]:
    """Whom a further look of a version may come from: the held-out judges that have not answered;
    then the panel, and where items are answered yes or no the held-out judges again.
    """
    unheard = state.unheard(version)
    if unheard:
        return unheard
    return state.judges if state.beliefs.has_scales else (*state.judges, *state.holdouts)


def _repeats_itself(state: BeliefState, version: str, judge: str) -> bool:
    """Whether a judge's last replies about a version are the same, so that asking again tells
    nothing.
    """
    looks = [one for one in state.looks(version) if one.voter == judge and one.marks]
    return repeats(looks[-REPEATS:])


def _next_witness(state: BeliefState, version: str) -> str:
    """The judge to ask next, of those that do not repeat themselves: one that never answered in
    this run comes first, then the one whose look tells most, then the one with the fewest looks at
    this version.
    """
    tried, silent = [ballot.voter for ballot in state.looks(version)], state.silent
    left = _witnesses_left(state, version)
    asked = [judge for judge in left if not _repeats_itself(state, version, judge)] or left
    tells = state.beliefs.tells(version, asked)
    return min(asked, key=lambda judge: (judge not in silent, -tells[judge], tried.count(judge)))


def _compare(state: BeliefState) -> Ask | None:
    """Use a call that is left over for another look at the original or at the version that may be
    delivered. None where it is clear enough which is better, and where marks tell nothing.
    """
    if not state.needs_witness or not state.judges or state.calls_left <= 0 or state.is_dead:
        return None
    seen = still_open(state, LOOKS_TO_COMPARE + 1)
    if seen is None or state.failures(seen) >= TRIES:
        return None
    tried = [ballot.voter for ballot in state.looks(seen)]
    return _ask(state, seen, min(state.judges, key=tried.count))


def _stop(state: BeliefState) -> Stop:
    """The end of a loop that cannot certify. A version that probably meets the contract, and that
    no witness confirmed, makes it UNCONFIRMED.
    """
    why = _stop_by_limits(state)
    if not state.needs_witness:
        return why
    version = state.current
    chance, is_refused = state.probability(version), state.is_refused(version)
    confidence = _confidence(state, version)
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


def _stop_by_limits(state: BeliefState) -> Stop:
    if state.is_dead:
        return Stop(
            result=Result.METRIC_DEAD,
            reason="seven changed versions in a row were marked exactly like the one before",
        )
    if state.limit is not None:
        return Stop(result=Result.BUDGET, reason=state.limit)
    if state.rounds.stale >= state.limits.patience or len(state.rounds) >= state.limits.rounds:
        return rounds_used_up(state)
    if state.is_idle:
        end = rounds_used_up(state)
        if end.result is not Result.ROUND_LIMIT:
            return end
        why = f"the worker made nothing new in the last {_IDLE_AFTER} rounds"
        return Stop(result=Result.PLATEAU, reason=why)
    if state.calls_left > 0 and _aim(state) is None:
        left = (
            " that this worker can work on" if state.steering.aims(state.current) else " to improve"
        )
        return Stop(result=Result.PLATEAU, reason=f"nothing is left{left}")
    return Stop(
        result=Result.BUDGET,
        reason=f"of --max-calls {state.limits.calls} too few are left for another round: {state.asked} are used",
    )
