"""The policies `plain` and `keep-best`, and the brief that a worker gets.

A policy decides which changed version is kept, which criterion is tried next and when the loop
ends. Both policies here ask the whole panel about each version and read its scorecard. They differ
in `judge` alone: what becomes of a version that the panel has scored.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.events import Event
from honestone.core.judging.rubric import Key, as_written
from honestone.core.judging.scorecard import ItemLine, Line, Scorecard
from honestone.core.judging.scorer import Scorer, is_na
from honestone.core.loop.state import (
    Accept,
    Action,
    Ask,
    LoopState,
    Propose,
    Result,
    RollBack,
    Round,
    Stop,
    is_metric_dead,
    look_at_baseline,
    open_version,
    state_of_rubric,
)
from honestone.core.numbers import ONE, ZERO, show_bar, show_points

# Rejected tries of one criterion after which another criterion has its turn.
REJECTIONS_BEFORE_YIELDING = 2
# Rejected tries that a brief lists.
REJECTIONS_SHOWN = 5
# Characters of a worker's message about a rejected try that a brief quotes.
MESSAGE_SHOWN = 200


def choose_focus(
    card: Scorecard,
    rejections: Mapping[str, int],
    workable: Callable[[Line], bool] = lambda line: True,
) -> Line | None:
    """The criterion to improve next; None when no known mark can be improved.

    Criteria below a floor come first, then the lowest score, then the higher weight. `rejections`
    counts rejected tries since the last accepted change. A criterion with two of them yields to
    the next; when all have two, the first has another turn.
    """
    open_lines = [line for line in improvable(card) if workable(line)]
    if not open_lines:
        return None
    weights, low_criteria = effective_weights(card), below_floor(card)

    def order(line: Line) -> tuple[int, bool, Fraction, Fraction]:
        name = line.criterion.id
        turns = rejections.get(name, 0) // REJECTIONS_BEFORE_YIELDING
        return turns, name not in low_criteria, goodness(line), -abs(weights[name])

    return min(open_lines, key=order)


def improvable(card: Scorecard) -> list[Line]:
    """Criteria with at least one marked item that is short of full marks."""
    return [line for line in card.lines if line.applies and any(True for _ in line.short_items)]


def goodness(line: Line) -> Fraction:
    """The lowest that a criterion can score, 0-1, where 1 is good: a penalty is turned round."""
    return ONE - line.high if line.criterion.is_penalty else line.low


def below_floor(card: Scorecard) -> set[str]:
    """Ids of the criteria that may be below their floor, or below one of a group above them."""
    low: set[str] = set()
    for line in card.lines:  # parents come before children
        if (line.applies and line.low < line.floor) or line.parent in low:
            low.add(line.criterion.id)
    return low


def effective_weights(card: Scorecard) -> dict[str, Fraction]:
    """By criterion: its share of the overall score. That is its share among its siblings, times the
    share of its parent.
    """
    siblings: dict[str | None, Fraction] = {}
    for line in card.lines:
        siblings[line.parent] = siblings.get(line.parent, ZERO) + max(line.criterion.weight, ZERO)
    shares: dict[str | None, Fraction] = {None: ONE}
    for line in card.lines:
        share = line.criterion.weight / (siblings[line.parent] or ONE)
        shares[line.criterion.id] = shares[line.parent] * share
    return {name: value for name, value in shares.items() if name is not None}


def unmet_items(line: Line, keys: Sequence[Key] = ()) -> list[ItemLine]:
    """The items that a worker is asked to improve: those of `keys` in this criterion; where none is
    named, all that cost the criterion marks.
    """
    named = {item for criterion, item in keys if criterion == line.criterion.id}
    if not named:
        return list(line.short_items)
    return [one for one in line.items if one.item.id in named]


def fixes_for(line: Line, keys: Sequence[Key] = ()) -> tuple[str, ...]:
    """The rubric's own fix commands for the unmet items of a criterion, then the criterion's."""
    unmet = unmet_items(line, keys)
    fixes = [item.item.fix for item in unmet if item.item.fix]
    if line.criterion.fix and unmet:
        fixes.append(line.criterion.fix)
    return tuple(dict.fromkeys(fixes))


def write_brief(
    card: Scorecard,
    line: Line,
    *,
    location: str,
    title: str,
    items: Sequence[Key] = (),
    rejected: Sequence[Round] = (),
) -> str:
    """Write the brief: where the artifact is, the one criterion to improve, its unmet items with
    the judges' quotes and suggestions, and what was tried in the `rejected` rounds.
    """
    criterion, unmet = line.criterion, unmet_items(line, items)
    share = effective_weights(card)[criterion.id]
    lines = [
        "You are improving one artifact against one criterion of its rubric.",
        "",
        f"Location: {location}",
        f"Rubric: {_one_line(title)}" if title else None,
        f"Criterion: {criterion.id}",
        f"Requirement: {_one_line(criterion.requirement)}",
        f"Score: {_score(line)}, weight {show_points(abs(share))}% of the whole"
        + (f", floor {show_bar(line.floor)}" if line.floor else ""),
        "",
        "This must not be so, but is:" if criterion.is_penalty else "Not met yet:",
    ]
    for item in unmet:
        lines += _item_brief(item)
    suggestions = [
        f"- {judge}: {_one_line(mark.suggestion)}"
        for item in unmet
        for judge, mark in item.votes
        if mark.suggestion and mark.suggestion.strip()
    ]
    if suggestions:
        lines += ["", "Suggestions, each with its judge:", *dict.fromkeys(suggestions)]
    if rejected:
        tries = [f"- {_tried(entry)}" for entry in rejected[-REJECTIONS_SHOWN:]]
        lines += ["", "Tried before and not kept, so try something else:", *tries]
    lines += [
        "",
        "Improve only this criterion. Change the artifact in place and keep everything else in it as it is, without",
        "placeholders such as 'rest unchanged'. Do not touch a rubric or any file outside the artifact. What counts is",
        "what is on disk when you are done.",
    ]
    return "\n".join(text for text in lines if text is not None) + "\n"


def _score(line: Line) -> str:
    if not any(item.votes for item in line.items):
        return "not known"
    return f"{show_points(line.low if line.score is None else line.score)} of 100"


def rejected_tries(state: LoopState, action: Propose) -> list[Round]:
    """The rejected rounds that edited the same version for the same criterion."""
    return [
        entry
        for entry in state.rounds
        if entry.accepted is False
        and entry.base == action.base
        and {*entry.focus} & {*action.focus}
    ]


def _tried(entry: Round) -> str:
    """One rejected try, with the worker's own message. The reason for the rejection is left out: it
    can come from a held-out judge, and a worker must learn nothing from those.
    """
    message = _one_line(entry.message or "")
    if len(message) > MESSAGE_SHOWN:
        message = f"{message[:MESSAGE_SHOWN]}..."
    quote = f": {message}" if message else ""
    if entry.outcome is ProposalOutcome.CHANGED:
        return f"round {entry.number} did not help{quote}"
    why = f" ({entry.detail})" if entry.detail else quote
    return f"round {entry.number} was thrown away as {entry.outcome}{why}"


def _item_brief(line: ItemLine) -> list[str]:
    item = line.item
    lines = [f"- {_one_line(item.requirement)}"]
    if item.anchors is not None and line.met is not None:
        lowest, highest = item.anchors.lowest, item.anchors.highest
        now = lowest + line.met * (highest - lowest)
        lines[0] += f" (now {float(now):g} on {as_written(lowest)}-{as_written(highest)})"
        above = [(value, text) for value, text in item.anchors.levels if value > now]
        lines += [f"  {as_written(value)}: {_one_line(text)}" for value, text in above]
    for judge, mark in line.votes:
        if is_na(mark.answer):
            continue
        quotes = [quote for quote in mark.evidence if quote.strip()]
        lines += [f"  {judge} quotes: {_one_line(quote)}" for quote in quotes]
    return lines


def _one_line(text: str) -> str:
    return " ".join(text.split())


class InRounds(ABC):
    """A policy in rounds: the whole panel scores the original, and then each proposal."""

    def decide(self, state: LoopState) -> Action:
        return (
            look_at_baseline(state)
            or self._resolve_round(state)
            or self.settle(state)
            or self.propose(state)
        )

    def _resolve_round(self, state: LoopState) -> Ask | Accept | RollBack | None:
        version = open_version(state)
        if not isinstance(version, str):
            return version
        unasked = state.unasked(version, "panel")
        if unasked and state.limit is not None:
            return RollBack(reason=f"not judged: {state.limit}")
        if unasked:
            return Ask(judges=unasked, version=version, role="panel")
        return self.judge(state, version)

    @abstractmethod
    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        """Decide about a changed version that the panel has scored."""

    @abstractmethod
    def settle(self, state: LoopState) -> Ask | Stop | None:
        """Between two rounds: end the loop, or ask a judge first. None: make another proposal."""

    @abstractmethod
    def propose(self, state: LoopState) -> Propose:
        """The next proposal. Called only after `settle` returned None."""


class SteeredByScore(InRounds):
    """A policy that goes by the scorecard: the worst criterion is tried next, on top of the version
    that was kept last, and PASSED needs held-out judges where judges decide.
    """

    def start(self, started: Event, scorer: Scorer | None = None) -> LoopState:
        return state_of_rubric(LoopState, started, scorer)

    def settle(self, state: LoopState) -> Ask | Stop | None:
        return _certify(state) or _stop(state)

    def propose(self, state: LoopState) -> Propose:
        line = choose_focus(state.card(state.current), state.rounds.rejections, state.workable)
        assert line is not None, "`settle` ends the loop when nothing can be improved"
        count = state.candidates
        return Propose(
            focus=(line.criterion.id,), base=state.current, candidates=count, ranked=count > 1
        )


@dataclass(frozen=True, slots=True)
class Plain(SteeredByScore):
    """Keep every change, as rulph does. What is delivered is the best version all the same, since
    `delivery.py` decides that and not the policy.
    """

    name: str = "plain"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        return Accept(version=version, reason="this policy keeps every change")


@dataclass(frozen=True, slots=True)
class KeepBest(SteeredByScore):
    """Keep a version unless its score fell by more than `tolerance` below the best one so far.

    The comparison is with the best version and not with the one before, so that small losses cannot
    add up over the rounds.

    Marks of code have no noise. So a change is always rolled back when it puts a criterion that
    code alone marks below its floor, or a required one to 0. There is no such guard on judges'
    marks: on a single look they vary so much that it would throw away most good edits.
    """

    name: str = "keep-best"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        new, best = state.card(version), state.card(state.best)
        if state.needs_witness and not state.has_judge_marks(version):
            return RollBack(reason="no judge could mark it")
        lost = lost_check(state.card(state.current), new)
        if lost:
            return RollBack(reason=lost)
        if state.verdict(version).passed and not state.verdict(state.best).passed:
            return Accept(version=version, reason="it passes the gate")
        # With a tolerance of 0 an equal score is kept, too.
        if new.low > best.low - state.tolerance or new.low == best.low:
            if new.low > best.low:
                moved = "rose"
            elif new.low == best.low:
                moved = "held"
            else:
                moved = f"fell by less than {show_bar(state.tolerance)} points"
            return Accept(version=version, reason=f"the score {moved}: {_move(best, new)}")
        return RollBack(reason=f"the score fell: {_move(best, new)}")


def _move(before: Scorecard, after: Scorecard) -> str:
    return f"{show_points(before.low)} to {show_points(after.low)}"


def lost_check(before: Scorecard, after: Scorecard) -> str | None:
    """A bar that code's marks met before and do not meet now, in words; None where there is none."""
    for old, new in zip(before.lines, after.lines, strict=True):
        if not new.only_checks or not old.applies or not new.applies:
            continue
        name = new.criterion.id
        if new.criterion.required and new.high == 0 < old.high:
            return f"required criterion '{name}' is no longer met"
        if new.is_below_floor and not old.is_below_floor:
            return f"criterion '{name}' fell below its floor"
    return None


# ----------------------------------------------------------------------------------------------------------
# ending


def _certify(state: LoopState) -> Ask | Stop | None:
    """Certify a version that the panel passes: PASSED where code alone decides or every held-out
    judge agrees, and else a question to the held-out judges.

    Each version that they are shown tells the loop a little of what they want, so
    `consultations` limits how many versions that may be.
    """
    for version in dict.fromkeys((state.best, state.current)):
        if not state.verdict(version).passed:
            continue
        if not state.needs_witness:
            return Stop(result=Result.PASSED, reason="every bar is met, and code alone decides")
        if state.is_certified(version):
            return Stop(result=Result.PASSED, reason=state.words.agrees)
        may_ask = version in state.consulted or len(state.consulted) < state.consultations
        unasked = state.unasked(version, "holdout")
        if unasked and may_ask and state.limit is None:
            return Ask(judges=unasked, version=version, role="holdout")
    if state.verdict(state.best).passed and not state.holdouts:
        return Stop(
            result=Result.UNCONFIRMED,
            reason="the panel says pass, but no judge that did not steer the loop was there to confirm it",
        )
    return None


def _stop(state: LoopState) -> Stop | None:
    """The end of the loop, None while it may continue. A best version that the panel passes without
    a witness makes it UNCONFIRMED, whatever ended the loop.
    """
    end = _stop_by_limits(state)
    if end is None or not state.verdict(state.best).passed:
        return end
    words = state.words
    why = words.refused if state.certifications(state.best) else words.unseen
    return Stop(result=Result.UNCONFIRMED, reason=f"{words.steered}, but {why}; {end.reason}")


def _stop_by_limits(state: LoopState) -> Stop | None:
    if state.limit is not None:
        return Stop(result=Result.BUDGET, reason=state.limit)
    if is_metric_dead(state):
        return Stop(result=Result.METRIC_DEAD, reason=state.words.dead)
    if state.rounds.stale >= state.limits.patience or len(state.rounds) >= state.limits.rounds:
        return rounds_used_up(state)
    if len(state.consulted) >= state.consultations and state.verdict(state.best).passed:
        return Stop(
            result=Result.UNCONFIRMED, reason=state.words.used_up.format(times=state.consultations)
        )
    if choose_focus(state.card(state.current), state.rounds.rejections, state.workable) is None:
        return _nothing_left(state)
    return None


def rounds_used_up(state: LoopState) -> Stop:
    """The end of a loop that may make no further round: what its rounds came to."""
    outcomes = {entry.outcome for entry in state.rounds}
    if outcomes == {ProposalOutcome.UNCHANGED}:
        return Stop(result=Result.NO_CHANGE, reason="the worker changed nothing in any round")
    if outcomes and not outcomes & {ProposalOutcome.CHANGED, ProposalOutcome.UNCHANGED}:
        return Stop(
            result=Result.WORKER_FAILED,
            reason=f"no proposal came through: {', '.join(sorted(outcomes))}",
        )
    if state.rounds.stale < state.limits.patience:
        done = state.limits.rounds
        rounds = "1 round is" if done == 1 else f"{done} rounds are"
        return Stop(result=Result.ROUND_LIMIT, reason=f"{rounds} done")
    rounds = "1 round" if state.limits.patience == 1 else f"{state.limits.patience} rounds"
    return Stop(result=Result.PLATEAU, reason=f"{rounds} without progress")


def _nothing_left(state: LoopState) -> Stop:
    card = state.card(state.current)
    if choose_focus(card, {}) is not None:
        return Stop(result=Result.PLATEAU, reason=state.words.not_workable)
    if card.score is None or card.open or card.short:
        return Stop(
            result=Result.COULD_NOT_JUDGE,
            reason="what is missing for the verdict could not be judged",
        )
    return Stop(result=Result.PLATEAU, reason="nothing is left to improve")
