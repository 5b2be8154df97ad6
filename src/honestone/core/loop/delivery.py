"""Which version a loop delivers: one rule for every policy, whether a rubric, a suite, a session of
`step` or the stages of a skill drive the loop.

A version goes into the person's file when it PASSED, or when two things agree that it is better
than the original: its marks, and the probability by every vote of the run. Either alone is not
enough. Marks of single looks rise by chance, and the best of many versions is the one that chance
helped most; a probability without a better mark rests on the expectation that edits help.
Otherwise the original stays, byte for byte. Of equally good versions the older one is delivered,
since it changes less.
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

# A version that did not pass is delivered from this probability on that it is the better one.
LEAST_SURE: Final = 0.8
# Looks at a version below which a clear result may be luck: one look cannot contradict itself.
LEAST_LOOKS: Final = 2
# Between these probabilities that a version is better, more looks are worth their calls.
STILL_OPEN: Final = (0.5, 0.97)


def delivery(state: LoopState, result: Result | None = None) -> Delivery:
    """Apply the rule to a run that ends with `result`, or without one to a run that has not ended."""
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
    """The version to look at once more, so that it becomes clear which one to deliver: the original
    or the version that may be delivered, whichever had fewer looks. None where it is clear, and
    where that version had `most` looks.

    It is not clear while neither version is probably better, while a version that is probably
    better is held back by a mark, and while the one with fewer looks has only had one.
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
    """The comparison of a run's versions, from all of its votes and edits."""
    edits = [
        VersionEdit(entry.base, entry.version, state.aimed_at(entry))
        for entry in state.rounds
        if entry.version is not None and entry.outcome is ProposalOutcome.CHANGED
    ]
    code = {
        version: ballots[CHECK].marks
        for (version, _), ballots in state.ballots.items()
        if CHECK in ballots
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
            for ballots in state.ballots.values()
            for ballot in ballots.values()
        ),
        memory=state.comparisons,
    )


def _looks(state: LoopState) -> Iterator[Look]:
    """The votes that versions are compared by.

    A held-out judge that never saw the original says how good a version is, but not whether it is
    better: perhaps it is only more lenient than the panel. Its votes are left out where the whole
    panel saw the original and every kept version, and so can tell without it.
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
    """The kept versions of a run compared with the original. The comparison by votes is slow, and
    is made only when marks do not decide.
    """

    def __init__(self, state: LoopState) -> None:
        self._state = state
        self._comparison: VersionComparison | None = None

    def delivery(self) -> Delivery:
        state = self._state
        # The best version, and the one that was delivered before: it may still be the better one.
        versions = [
            version for version in (state.best, state.delivered) if version != state.original
        ]
        if not versions:
            return self._original("no change was kept")
        refused: list[tuple[str, float | None]] = []
        for version in dict.fromkeys(versions):
            why = self._why_not_by_marks(version)
            if why is not None:
                refused.append((why, None))
                continue
            better = self.better(version)
            if better.probability >= LEAST_SURE:
                return self._delivered(version, better)
            refused.append((_unsure(better), better.probability))
        return self._original(*refused[0])

    def _delivered(self, version: str, better: Better) -> Delivery:
        """Deliver a version; an older one in its place if no mark has risen since that one."""
        accepted_versions = self._state.accepted_versions
        for older in accepted_versions[1 : accepted_versions.index(version)]:
            if self._rose(older, version) or self._why_not_by_marks(older) is not None:
                continue
            older_is_better = self.better(older)
            if older_is_better.probability >= LEAST_SURE:
                version, better = older, older_is_better
                break
        chance = better.probability
        reason = f"marks rose, and by every vote of the run it is better than the original: {sure(chance)}"
        return Delivery(
            version=version, rule=DeliveryRule.BETTER, reason=reason, probability=chance
        )

    def _original(self, reason: str, probability: float | None = None) -> Delivery:
        return Delivery(
            version=self._state.original,
            rule=DeliveryRule.ORIGINAL,
            reason=reason,
            probability=probability,
        )

    def better(self, version: str) -> Better:
        known = self._state.better_than_original(version)
        if known is not None:
            return known
        if self._comparison is None:
            self._comparison = comparison_of(self._state)
        return self._comparison.better(version)

    def _why_not_by_marks(self, version: str) -> str | None:
        """Why a version's marks are not better than the original's; None where they are."""
        lost = self._lost(version)
        if lost is not None:
            return lost
        is_better = self._rose(self._state.original, version)
        return None if is_better else "no mark of the best version is better"

    def _lost(self, version: str) -> str | None:
        """A criterion's own bar that the original meets and the version does not, in words."""
        voters = self._state.voters_of(self._state.original, version)
        before, after = self._card(self._state.original, voters), self._card(version, voters)
        for old, new in zip(before.lines, after.lines, strict=True):
            if old.applies and new.applies and (lost := _lost_bar(old, new)):
                return lost
        return None

    def _rose(self, before: str, after: str) -> bool:
        """Whether the mark of any item is better."""
        return any(change > 0 for change in self._state.mark_changes(before, after).values())

    def _card(self, version: str, voters: Collection[str]) -> Scorecard:
        """The scorecard of a version by code and `voters`; by all judges where there are none."""
        votes = self._state.every_vote_on(version)
        shared = [one for one in votes if not voters or one.judge == CHECK or one.voter in voters]
        return self._state.scorer.card(shared)


def _unsure(better: Better) -> str:
    """Why a version whose marks are better is not delivered."""
    return (
        "that the best version is better is not sure enough: "
        f"{sure(better.probability)}, and {sure(LEAST_SURE)} is needed"
    )


def _lost_bar(old: Line, new: Line) -> str | None:
    """The bar of one criterion that the `old` line meets and the `new` one does not, in words."""
    if old.score is None:
        return None
    name, now = new.criterion.id, new.score
    if new.criterion.required and old.score > 0 and not now:
        return f"required criterion {name!r}, which the original meets, is not met any more"
    if old.score >= old.floor and (now is None or now < new.floor):
        return f"by marks criterion {name!r} is below its floor, which the original reaches"
    return None
