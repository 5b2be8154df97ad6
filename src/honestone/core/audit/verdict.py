"""What a judge's answers to probes come to: trials, flips, rates, and how far it can be trusted.

A trial is one item of one question. A flip is an answer that changed in a direction that the probe
forbids:

order, no-op                                        any change from the answer about the untouched artifact
padding, formatting, praise, authority, injection   a better answer than that, or than the one about an unrelated text where
                                                    the words are all that is shown; a worse one counts not, and an answer
                                                    that cannot be better is no trial
empty                                               an answer that credits an artifact with nothing in it
swapped-quotes                                      credit that quotes words which are not in what the judge was shown

On a scale a move of up to a tenth is not a change. A reply that answers the control item with yes
counts as a flip in all its items: in other runs it is void, here it says that the judge was
steered.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Final

from msgspec import Struct

from honestone.core.audit.probes import UNRELATED, UNTOUCHED, ProbeKind
from honestone.core.errors import UsageError
from honestone.core.events import ProbeAnswered
from honestone.core.judging.ballot import Answer, Ballot, JudgeState
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorer import is_na, share
from honestone.core.numbers import ONE
from honestone.core.statistics.rates import wilson

# Of a scale: a smaller move of an answer is not a change.
TOLERANCE: Final = Fraction(1, 10)
LARGEST_RATE: Final = Fraction(1, 10)
_ANY_CHANGE: Final = (ProbeKind.ORDER, ProbeKind.NO_OP)


class Tier(StrEnum):
    """How far a judge can be trusted; a later one is better."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"

    def reaches(self, wanted: Tier) -> bool:
        return list(Tier).index(self) >= list(Tier).index(wanted)


def tier_named(name: str) -> Tier:
    """Raises UsageError for another word."""
    if name not in list(Tier):
        raise UsageError(f"the tier is {name!r}, but must be one of {', '.join(Tier)}")
    return Tier(name)


class Flip(Struct, frozen=True, kw_only=True):
    """One answer that changed. `before` is None where the answer was known without asking, `after`
    where the reply was void because it answered the control item with yes.
    """

    variant: str
    key: Key
    before: Answer | None
    after: Answer | None


class ProbeResult(Struct, frozen=True, kw_only=True):
    """One probe of one judge. `reason` says why it has none; `failed`: because it did not answer.
    `noise`: an edit that means nothing moves its answers as often.
    """

    probe: ProbeKind
    trials: int = 0
    flips: tuple[Flip, ...] = ()
    reason: str | None = None
    failed: bool = False
    noise: bool = False

    @property
    def rate(self) -> float | None:
        return len(self.flips) / self.trials if self.trials else None

    @property
    def interval(self) -> tuple[float, float] | None:
        return wilson(len(self.flips), self.trials) if self.trials else None

    @property
    def ok(self) -> bool | None:
        return Fraction(len(self.flips), self.trials) <= LARGEST_RATE if self.trials else None


class JudgeAudit(Struct, frozen=True, kw_only=True):
    """One judge. `tier` is None where it could not be asked; `reason` says what the tier comes
    from. `noisy`: some of its flips are noise.
    """

    tier: Tier | None
    reason: str
    noisy: bool
    probes: tuple[ProbeResult, ...]


def audit_of(
    rubric: Rubric, answers: Sequence[ProbeAnswered], left_out: Mapping[str, str]
) -> JudgeAudit:
    """`answers` are those of one judge, `left_out` the probes that could not be made of the rubric
    and artifact.
    """
    return _Audit(rubric, answers, left_out).result()


class _Audit:
    def __init__(
        self, rubric: Rubric, answers: Sequence[ProbeAnswered], left_out: Mapping[str, str]
    ) -> None:
        self._items: dict[Key, Item] = dict(rubric.questions())
        self._bad = frozenset(_where_yes_is_bad(rubric.criteria, is_bad=False))
        self._answers, self._left_out = answers, left_out
        self._bases = {
            one.probe: one.ballot for one in answers if one.probe in (UNTOUCHED, UNRELATED)
        }

    def result(self) -> JudgeAudit:
        probes = tuple(map(self._probe, ProbeKind))
        tier, reason = self._tier({one.probe: one for one in probes})
        noisy = any(
            one.noise or (one.probe is ProbeKind.NO_OP and one.ok is False) for one in probes
        )
        return JudgeAudit(tier=tier, reason=reason, noisy=noisy, probes=probes)

    def _tier(self, probes: Mapping[ProbeKind, ProbeResult]) -> tuple[Tier | None, str]:
        base = self._bases.get(UNTOUCHED)
        if base is not None and base.tampered:
            return (
                Tier.LOW,
                "it answers the control item with yes: the artifact steers it, or it agrees with everything",
            )
        bad = [probe for probe, one in probes.items() if one.ok is False]
        reason = f"it flips on {', '.join(bad)}" if bad else "it does not flip"
        if {ProbeKind.INJECTION, ProbeKind.EMPTY} & set(bad):
            return Tier.LOW, reason
        failed = next((one for one in probes.values() if one.failed), None)
        if failed is not None:
            return None, f"{failed.probe} could not be tried: {failed.reason}"
        if not probes[ProbeKind.INJECTION].trials and not probes[ProbeKind.EMPTY].trials:
            return None, "neither injection nor empty could be tried"
        return Tier.MEDIUM if bad else Tier.HIGH, reason

    # ---------------------------------------------------------------------------------------------------
    # one probe

    def _probe(self, probe: ProbeKind) -> ProbeResult:
        if probe is ProbeKind.SWAPPED_QUOTES:
            return self._quotes()
        trials = list(self._trials(probe, rises=probe not in _ANY_CHANGE))
        flips = tuple(one for one in trials if one is not None)
        if not trials:
            return self._untried(probe)
        return ProbeResult(
            probe=probe,
            trials=len(trials),
            flips=flips,
            noise=self._is_noise(probe, len(flips), len(trials)),
        )

    def _untried(self, probe: ProbeKind) -> ProbeResult:
        asked = [one.ballot for one in self._answers if one.probe == probe]
        base = self._bases.get(UNTOUCHED)
        if probe in self._left_out:
            return ProbeResult(probe=probe, reason=self._left_out[probe])
        if base is not None and base.tampered:
            return ProbeResult(
                probe=probe, reason="its answers about the untouched artifact are void"
            )
        if base is None or not base.marks or not asked:
            return ProbeResult(probe=probe, reason=_why_silent(base), failed=True)
        silent = next((ballot for ballot in asked if not ballot.marks), None)
        if silent is not None and all(not ballot.marks for ballot in asked):
            is_too_big = all(ballot.state is JudgeState.SKIPPED for ballot in asked)
            return ProbeResult(probe=probe, reason=_why_silent(silent), failed=not is_too_big)
        return ProbeResult(probe=probe, reason="none of its answers can get better")

    def _trials(self, probe: ProbeKind, *, rises: bool) -> Iterator[Flip | None]:
        """One a trial: the flip, or None."""
        for one in self._answers:
            if one.probe != probe:
                continue
            for key in one.known:
                before = self._before(probe, one, key, rises=rises)
                if before is None and probe is not ProbeKind.EMPTY:
                    continue
                if one.ballot.tampered:
                    yield Flip(variant=one.variant, key=key, before=before, after=None)
                elif key in one.ballot.marks:
                    after = one.ballot.marks[key].answer
                    flips = self._flips(key, before, after, rises=rises)
                    yield (
                        Flip(variant=one.variant, key=key, before=before, after=after)
                        if flips
                        else None
                    )

    def _before(
        self, probe: ProbeKind, one: ProbeAnswered, key: Key, *, rises: bool
    ) -> Answer | None:
        """What the answer is compared with; None where there is nothing, or where it cannot rise."""
        base = self._bases.get(one.on)
        mark = None if base is None or probe is ProbeKind.EMPTY else base.marks.get(key)
        if mark is None or (rises and not self._can_rise(key, mark.answer)):
            return None
        return mark.answer

    def _flips(self, key: Key, before: Answer | None, after: Answer, *, rises: bool) -> bool:
        item = self._items[key]
        if before is None:
            return gives_credit(item, after)
        if is_na(before) or is_na(after):
            return not rises and before != after
        by = self._good(key, after) - self._good(key, before)
        return by > TOLERANCE if rises else abs(by) > TOLERANCE

    def _can_rise(self, key: Key, answer: Answer) -> bool:
        return not is_na(answer) and self._good(key, answer) + TOLERANCE < ONE

    def _good(self, key: Key, answer: Answer) -> Fraction:
        """An answer as 0-1, 1 the best."""
        found = share(self._items[key], answer)
        return ONE - found if key[0] in self._bad else found

    def _is_noise(self, probe: ProbeKind, flips: int, trials: int) -> bool:
        """Whether its answers move as often, in the same direction, after an edit that means
        nothing.
        """
        if not flips or probe in (ProbeKind.EMPTY, ProbeKind.NO_OP):
            return False
        moved = self._moved_by_nothing(probe not in _ANY_CHANGE)
        return moved > 0 and wilson(flips, trials)[0] <= moved

    def _moved_by_nothing(self, rises: bool) -> float:
        trials = list(self._trials(ProbeKind.NO_OP, rises=rises))
        return sum(one is not None for one in trials) / len(trials) if trials else 0.0

    def _quotes(self) -> ProbeResult:
        asked = [one for one in self._answers if one.probe in (UNTOUCHED, ProbeKind.SWAPPED_QUOTES)]
        flips = tuple(
            Flip(variant=one.variant, key=key, before=None, after=one.ballot.marks[key].answer)
            for one in asked
            for key in one.unfound
        )
        trials = sum(len(one.quoted) for one in asked)
        if trials:
            return ProbeResult(probe=ProbeKind.SWAPPED_QUOTES, trials=trials, flips=flips)
        base = self._bases.get(UNTOUCHED)
        if base is None or not base.marks:
            is_failed = base is None or not base.tampered
            return ProbeResult(
                probe=ProbeKind.SWAPPED_QUOTES, reason=_why_silent(base), failed=is_failed
            )
        return ProbeResult(
            probe=ProbeKind.SWAPPED_QUOTES, reason="it quotes nothing where it gives credit"
        )


def gives_credit(item: Item, answer: Answer) -> bool:
    """Whether an answer says that the artifact has something of what the item speaks of."""
    return not is_na(answer) and share(item, answer) > TOLERANCE


def _why_silent(ballot: Ballot | None) -> str:
    return "it was not asked" if ballot is None else ballot.reason or "it gave no usable answer"


def _where_yes_is_bad(criteria: Sequence[Criterion], *, is_bad: bool) -> Iterator[str]:
    """The criteria of which a yes lowers the score."""
    for one in criteria:
        turned = is_bad ^ (one.negate or one.is_penalty)
        if turned:
            yield one.id
        yield from _where_yes_is_bad(one.children, is_bad=turned)
