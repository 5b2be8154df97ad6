"""What a loop delivers: one rule for every policy, for rubrics, suites, skills, steps and stages.

A version goes into the person's file when it PASSED; or when it is better than the original by its
marks and probably so by every vote of the run. Otherwise the original stays, byte for byte. Of
versions that are equally good the older one is delivered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from honestone.core.belief.comparison import Better, Look, VersionComparison, VersionEdit
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import Delivery, DeliveryRule, Result
from honestone.core.judging.ballot import CHECK
from honestone.core.judging.scorecard import Line, Scorecard
from honestone.core.loop.state import LoopState
from honestone.core.numbers import sure

# The probability of being better that a version needs which did not pass.
LEAST_SURE: Final = 0.8
# Looks at each of two versions without which judges cannot contradict themselves.
LEAST_LOOKS: Final = 2
# Probabilities of being better between which more looks are worth their calls.
STILL_OPEN: Final = (0.5, 0.97)


def delivery(state: LoopState, result: Result | None = None) -> Delivery:
    """What the rule delivers now: of a run that ends with `result`, or of one that is under way."""
    if result is Result.PASSED:
        reason = "it passed" if state.best != state.original else "the original passes as it is"
        return Delivery(version=state.best, rule=DeliveryRule.PASSED, reason=reason)
    if result is Result.CONTRACT_CHANGED:
        return Delivery(
            version=state.original,
            rule=DeliveryRule.ORIGINAL,
            reason="what judges changed while the loop ran",
        )
    return _Candidates(state).delivery()


def still_open(state: LoopState, most: int) -> str | None:
    """The original or the version that may be delivered: the one of which more looks, up to `most`,
    are worth their calls. None where it is clear which is better.

    It is open while neither is clearly better, while a mark alone keeps a version back that is
    probably better, and while what looks clear rests on so few looks that judges had no chance to
    contradict themselves.
    """
    candidates = _Candidates(state)
    chosen = candidates.delivery()
    version = state.best if chosen.rule is DeliveryRule.ORIGINAL else chosen.version
    if version == state.original:
        return None
    seen = min((state.original, version), key=lambda one: len(state.every_look_at(one)))
    looks = len(state.looks(seen))
    if looks >= most:
        return None
    chance = chosen.probability
    if chance is None:
        chance = candidates.better(version).probability
    low, high = STILL_OPEN
    if chance < low:
        return None
    is_open = chance <= high or looks < LEAST_LOOKS or chosen.rule is DeliveryRule.ORIGINAL
    return seen if is_open else None


def comparison_of(state: LoopState) -> VersionComparison:
    """Every vote and edit of a run."""
    edits = [
        VersionEdit(entry.base, entry.version, state.aimed_at(entry))
        for entry in state.rounds
        if entry.version is not None and entry.outcome is ProposalOutcome.CHANGED
    ]
    code = {
        version: found[CHECK].marks
        for (version, _), found in state.ballots.items()
        if CHECK in found
    }
    return VersionComparison(
        state.compared_by,
        state.original,
        edits,
        _looks(state),
        code,
        panel=[judge for judge in state.panel if judge != CHECK],
        held_out=state.holdouts,
        are_programs=all(
            ballot.kind == "program"
            for found in state.ballots.values()
            for ballot in found.values()
        ),
        memory=state.comparisons,
    )


def _looks(state: LoopState) -> Iterator[Look]:
    """Where the whole panel looked at the original and at every kept version, held-out judges that
    never saw the original say how good a version is, and not whether it is better.
    """
    judges = {judge for judge in state.panel if judge != CHECK}
    is_whole = judges <= state.voters_of(*state.accepted_versions)
    saw_original = state.voters_of(state.original)
    for (version, role), ballots in state.ballots.items():
        is_held_out = role == "holdout"
        for ballot in ballots.values():
            if ballot.judge == CHECK or not ballot.marks or ballot.tampered:
                continue
            if is_held_out and is_whole and ballot.voter not in saw_original:
                continue
            yield Look(version, ballot.voter, is_held_out, ballot.marks)


class _Candidates:
    """The kept versions of a run, held against the original. The comparison is made when it is
    first needed.
    """

    def __init__(self, state: LoopState) -> None:
        self._state = state
        self._comparison: VersionComparison | None = None

    def delivery(self) -> Delivery:
        state = self._state
        # The best so far, and what the rule came to when that was not yet known.
        versions = [
            version for version in (state.best, state.delivered) if version != state.original
        ]
        if not versions:
            return self._original("no change was kept")
        refused: list[tuple[str, float | None]] = []
        for version in dict.fromkeys(versions):
            why = self._why_not_by_marks(version)
            found = self.better(version) if why is None else None
            if found is not None and found.probability >= LEAST_SURE:
                return self._delivered(version, found)
            refused.append((why or self._unsure(found), found.probability if found else None))
        return self._original(*refused[0])

    def _delivered(self, version: str, found: Better) -> Delivery:
        """The version, or an older one of which no mark is lower."""
        accepted_versions = self._state.accepted_versions
        for older in accepted_versions[1 : accepted_versions.index(version)]:
            if self._rose(older, version) or self._why_not_by_marks(older) is not None:
                continue
            known = self.better(older)
            if known.probability >= LEAST_SURE:
                version, found = older, known
                break
        reason = f"marks rose, and by every vote of the run it is better than the original: {sure(found.probability)}"
        return Delivery(
            version=version, rule=DeliveryRule.BETTER, reason=reason, probability=found.probability
        )

    def _original(self, reason: str, probability: float | None = None) -> Delivery:
        return Delivery(
            version=self._state.original,
            rule=DeliveryRule.ORIGINAL,
            reason=reason,
            probability=probability,
        )

    def better(self, version: str) -> Better:
        if self._comparison is None:
            self._comparison = comparison_of(self._state)
        return self._comparison.better(version)

    def _unsure(self, found: Better | None) -> str:
        chance = sure(found.probability) if found else "not known"
        return f"that the best version is better is not sure enough: {chance}, and {sure(LEAST_SURE)} is needed"

    def _why_not_by_marks(self, version: str) -> str | None:
        """Why a version's marks are not better than the original's; None where they are."""
        lost = self._lost(version)
        if lost is not None:
            return lost
        return (
            None
            if self._rose(self._state.original, version)
            else "no mark of the best version is better"
        )

    def _lost(self, version: str) -> str | None:
        """A bar of a single criterion that the original meets and the version does not."""
        voters = self._state.voters_of(self._state.original, version)
        before, after = self._card(self._state.original, voters), self._card(version, voters)
        for old, new in zip(before.lines, after.lines, strict=True):
            if old.applies and new.applies and (lost := _lost_bar(old, new)):
                return lost
        return None

    def _rose(self, before: str, after: str) -> bool:
        return any(change > 0 for change in self._state.mark_changes(before, after).values())

    def _card(self, version: str, voters: Collection[str]) -> Scorecard:
        """By the judges that marked both versions, where there are any: the marks of others may
        differ for that alone.
        """
        votes = self._state.every_vote_on(version)
        shared = [one for one in votes if not voters or one.judge == CHECK or one.voter in voters]
        return self._state.scorer.card(shared)


def _lost_bar(old: Line, new: Line) -> str | None:
    """What the original meets of a criterion's own bars and the version does not, in words."""
    if old.score is None:
        return None
    name, now = new.criterion.id, new.score
    if new.criterion.required and old.score > 0 and not now:
        return f"required criterion {name!r}, which the original meets, is not met any more"
    if old.score >= old.floor and (now is None or now < new.floor):
        return f"criterion {name!r}, whose floor the original reaches, is below it"
    return None
