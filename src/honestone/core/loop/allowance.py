"""How the judge calls that are left to a loop over a suite are shared out among its splits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from honestone.core.belief.cases.bar import LOOKS_PER_CASE
from honestone.core.loop.suite_loop import TEST, TRAIN, VAL

# Looks of each judge of a quorum at each case of test that are held while val is asked on.
KEPT_FOR_TEST: Final = 2


class Allowance(Struct, frozen=True, kw_only=True):
    """`calls`: judge calls that are left; `rounds`: edits that may still be asked for. `least`: by
    split, the looks that give each attempt at a case its quorum. `of_edits`: the looks that were needed to give
    the new texts of val and train their quorum, of each edit so far. `candidates`: proposals of an
    edit. `needs_original`: the original has not been run on test.
    """

    calls: int
    rounds: int
    least: Mapping[str, int]
    of_edits: tuple[int, ...] = ()
    candidates: int = 1
    needs_original: bool = True

    def held_for_test(self, *, is_original: bool) -> int:
        """Calls that no other split may take: those that certify a version, and one look at each
        case of test of the original, with which it is compared.
        """
        needs_original = self.needs_original and not is_original
        return (KEPT_FOR_TEST + needs_original) * self.least[TEST]

    @property
    def for_another_version(self) -> int:
        """Calls for the first looks at one more version. An edit leaves most outputs as they were,
        whose looks are on record: it is taken to change as many as the one that changed most.
        """
        every = self.least[VAL] + self.candidates * self.least[TRAIN]
        return min(every, self.candidates * max(self.of_edits, default=every))

    @property
    def spare(self) -> int:
        """Calls that are left where another version gets its first looks, and is certified."""
        return self.calls - self.for_another_version - self.held_for_test(is_original=False)

    @property
    def has_another(self) -> bool:
        """Whether the limits have room for another version."""
        return self.rounds > 0 and self.spare >= 0

    def first_looks(self, split: str, attempts: int, *, is_original: bool) -> int:
        """The most looks that a split of a version may get; each attempt gets its quorum. Val leaves
        the calls that train needs, and those held for test.
        """
        least = self.least[split]
        if split == TRAIN:
            return least
        if split == TEST:
            return max(self.calls, least)
        left = self.calls - self.least[TRAIN] - self.held_for_test(is_original=is_original)
        return max(min(LOOKS_PER_CASE * attempts, left), least)

    def further_looks(self, split: str, *, is_original: bool, is_tested: bool) -> int:
        """The most that it may get when it is asked again. Val leaves the calls held for test, as
        long as the version was not run on that; train leaves those of another version, too.
        """
        if split == TRAIN:
            return max(self.spare, 0)
        held = split == VAL and not is_tested
        kept = self.held_for_test(is_original=is_original) if held else 0
        return max(self.calls - kept, 0)
