"""Comparing two runs of one suite, case by case.

delta, score_delta   mean of the per-case differences (candidate minus baseline)
intervals            95% percentile bootstrap of those differences (Efron and Tibshirani 1993, ch. 13), fixed seed
p                    exact two-sided sign test over wins and losses, ties left out (Conover 1999, §3.4)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import comb, lcm
from typing import Final

from msgspec import Struct

from honestone.core.judging.scorecard import Outcome, Verdict
from honestone.core.numbers import ZERO, rate_change_words
from honestone.core.suite.attempts import Status

# Of up to 1,000 cases; of more, fewer are as good: 2,000,000 draws in all, 400 samples at least.
RESAMPLES = 2_000

COMPARISON: Final = "honestone.comparison/1"

GATES = ("regression", "missing", "delta<0")
COMPARE_GATES = ("regression", "missing")
BASELINE_GATES = ("delta<0", "missing")


class CaseSide(Struct, frozen=True, kw_only=True):
    """One case on one side. `score` is 0-1, None when it is not known; so are what went in and what
    came out. `items`: each item of its rubric in words with whether it was met; those that were
    not judged are left out.
    """

    status: Status
    score: Fraction | None = None
    is_unstable: bool = False
    input: str | None = None
    output: str | None = None
    low_confidence: bool = False
    items: tuple[tuple[str, bool], ...] = ()

    @property
    def is_decided(self) -> bool:
        return self.status in (Status.PASSED, Status.FAILED)

    @property
    def passes(self) -> int:
        return int(self.status is Status.PASSED)


class CasePair(Struct, frozen=True, kw_only=True):
    """A case that ran on both sides. `delta` is the difference of scores, None where one is not
    known. `fixed` and `broken` are the items, in words, that only the candidate meets and that only
    the baseline met.
    """

    id: str
    baseline: CaseSide
    candidate: CaseSide
    fixed: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def delta(self) -> Fraction | None:
        if self.baseline.score is None or self.candidate.score is None:
            return None
        return self.candidate.score - self.baseline.score

    @property
    def is_decided(self) -> bool:
        return self.baseline.is_decided and self.candidate.is_decided

    @property
    def is_unstable(self) -> bool:
        return self.baseline.is_unstable or self.candidate.is_unstable


class SuiteComparison(Struct, frozen=True, kw_only=True):
    """Two runs side by side. `delta` and its interval are pass rates, the scores' are 0-1; None
    when a case is undecided. `low_confidence`: how many cases fewer than two judges decided, on a
    side.
    """

    pairs: tuple[CasePair, ...]
    delta: Fraction | None
    interval: tuple[Fraction, Fraction] | None
    score_delta: Fraction | None
    score_interval: tuple[Fraction, Fraction] | None
    wins: int
    losses: int
    ties: int
    p: float
    regressions: tuple[str, ...]
    improvements: tuple[str, ...]
    missing: tuple[str, ...]
    new: tuple[str, ...]
    undecided: tuple[str, ...]
    unstable: tuple[str, ...]
    low_confidence: int = 0


class RunComparison(Struct, frozen=True, kw_only=True):
    """Two runs compared, with the verdict of the gates. `baseline` and `candidate` are run ids.

    `notes` say what makes the two less comparable. `better`, `worse`: the probability that more, or
    fewer, cases truly pass in the candidate; None where no case was judged on both sides.
    """

    found: SuiteComparison
    verdict: Verdict
    baseline: str | None
    candidate: str | None
    notes: tuple[str, ...] = ()
    better: float | None = None
    worse: float | None = None


def compare(
    baseline: Mapping[str, CaseSide],
    candidate: Mapping[str, CaseSide],
    *,
    left_out: Collection[str] = (),
) -> SuiteComparison:
    """`baseline` and `candidate` are cases by id, in the order of their files; the candidate was
    not asked to run those in `left_out`, so they are not missing. Pure: same sides, same figures.
    """
    pairs: list[CasePair] = []
    missing: list[str] = []
    for id, before in baseline.items():
        after = candidate.get(id)
        if id in left_out:
            continue
        if after is None or (
            after.status is Status.SKIPPED and before.status is not Status.SKIPPED
        ):
            missing.append(id)
        elif after.status is not Status.SKIPPED and before.status is not Status.SKIPPED:
            pairs.append(_pair(id, before, after))
    new = [
        id
        for id, after in candidate.items()
        if after.status is not Status.SKIPPED
        and (id not in baseline or baseline[id].status is Status.SKIPPED)
    ]
    undecided = tuple(pair.id for pair in pairs if not pair.is_decided)
    deltas = [pair.delta for pair in pairs if pair.is_decided and pair.delta is not None]
    wins, losses = sum(1 for d in deltas if d > 0), sum(1 for d in deltas if d < 0)
    changed = [Fraction(pair.candidate.passes - pair.baseline.passes) for pair in pairs]
    scores = [pair.delta for pair in pairs]
    known_scores = [score for score in scores if score is not None]
    is_whole = not undecided and bool(pairs)
    has_scores = is_whole and len(known_scores) == len(pairs)
    return SuiteComparison(
        pairs=tuple(pairs),
        delta=mean(changed) if is_whole else None,
        interval=bootstrap(changed) if is_whole else None,
        score_delta=mean(known_scores) if has_scores else None,
        score_interval=bootstrap(known_scores) if has_scores else None,
        wins=wins,
        losses=losses,
        ties=len(deltas) - wins - losses,
        p=sign_test(wins, losses),
        regressions=_turned(pairs, Status.PASSED, Status.FAILED),
        improvements=_turned(pairs, Status.FAILED, Status.PASSED),
        missing=tuple(missing),
        new=tuple(new),
        undecided=undecided,
        unstable=tuple(pair.id for pair in pairs if pair.is_unstable),
        low_confidence=sum(
            pair.baseline.low_confidence or pair.candidate.low_confidence for pair in pairs
        ),
    )


def _pair(id: str, before: CaseSide, after: CaseSide) -> CasePair:
    was_met = dict(_numbered(before.items))
    turned = [
        (name, met)
        for (name, at), met in _numbered(after.items)
        if was_met.get((name, at), met) != met
    ]
    return CasePair(
        id=id,
        baseline=before,
        candidate=after,
        fixed=tuple(name for name, met in turned if met),
        broken=tuple(name for name, met in turned if not met),
    )


def _numbered(items: Iterable[tuple[str, bool]]) -> Iterator[tuple[tuple[str, int], bool]]:
    """Items of two criteria may have the same words: the number says which of them it is."""
    seen: Counter[str] = Counter()
    for name, met in items:
        seen[name] += 1
        yield (name, seen[name]), met


def _turned(pairs: Sequence[CasePair], before: Status, after: Status) -> tuple[str, ...]:
    """Cases that went from one status to the other, except those that flip by themselves."""
    return tuple(
        pair.id
        for pair in pairs
        if pair.baseline.status is before
        and pair.candidate.status is after
        and not pair.is_unstable
    )


def mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, ZERO) / len(numbers)


def sign_test(wins: int, losses: int) -> float:
    """Exact two-sided p that so uneven a split comes from a fair coin; 1 without any win or loss."""
    count = wins + losses
    if count == 0:
        return 1.0
    tail = sum(comb(count, k) for k in range(min(wins, losses) + 1))
    return float(min(Fraction(1), Fraction(2 * tail, 2**count)))


def bootstrap_pairs(
    pairs: Iterable[tuple[Fraction | None, Fraction | None]],
) -> tuple[Fraction, Fraction] | None:
    """95% bootstrap of the differences from before to after; None without a pair, and while one has
    no result on a side.
    """
    changes = [
        None if before is None or after is None else after - before for before, after in pairs
    ]
    known = [change for change in changes if change is not None]
    return bootstrap(known) if known and len(known) == len(changes) else None


def bootstrap(numbers: Sequence[Fraction]) -> tuple[Fraction, Fraction]:
    """The middle 95% of the means of samples drawn with replacement. Always the same draws for the
    same count.
    """
    if all(number == numbers[0] for number in numbers):
        return numbers[0], numbers[0]
    resamples = max(400, min(RESAMPLES, 2_000_000 // len(numbers)))
    whole = 1
    for number in numbers:  # exact sums of whole numbers are far quicker than of fractions
        whole = lcm(whole, number.denominator)
    parts = [int(number * whole) for number in numbers]
    draw = _Draws(len(parts))
    sums = sorted(sum(parts[draw.next()] for _ in parts) for _ in range(resamples))
    low, high = sums[int(resamples * 0.025)], sums[int(resamples * 0.975) - 1]
    return Fraction(low, whole * len(parts)), Fraction(high, whole * len(parts))


class _Draws:
    """Whole numbers below `below`, the same sequence on every machine and version: SplitMix64
    (Steele et al. 2014).
    """

    def __init__(self, below: int) -> None:
        self._below = below
        self._state = 0x9E3779B97F4A7C15 ^ below

    def next(self) -> int:
        self._state = (self._state + 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF
        z = self._state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & 0xFFFFFFFFFFFFFFFF
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & 0xFFFFFFFFFFFFFFFF
        return ((z ^ (z >> 31)) * self._below) >> 64


def judge_comparison(found: SuiteComparison, gates: Sequence[str]) -> Verdict:
    """Whether the candidate may replace the baseline. A gate that fails decides, whatever is
    undecided elsewhere.
    """
    if not found.pairs:
        named = (f"only in the baseline: {', '.join(found.missing)}",) if found.missing else ()
        return Verdict(Outcome.INCONCLUSIVE, ("the two runs have no case in common", *named))
    failed: list[str] = []
    if "regression" in gates and found.regressions:
        failed.append(f"passed in the baseline and fails now: {', '.join(found.regressions)}")
    if "missing" in gates and found.missing:
        failed.append(f"judged in the baseline, not in the candidate: {', '.join(found.missing)}")
    if "delta<0" in gates and found.delta is not None and found.delta < 0:
        failed.append(f"the pass rate fell by {rate_change_words(-found.delta).lstrip('+')} points")
    if failed:
        return Verdict(Outcome.FAIL, tuple(failed))
    if found.undecided:
        return Verdict(
            Outcome.INCONCLUSIVE, (f"could not be judged: {', '.join(found.undecided)}",)
        )
    return Verdict(Outcome.PASS)
