"""`honestone.pairwise/1`: two artifacts compared by judges that see both."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

from msgspec import UNSET, Struct, UnsetType

from honestone.report.documents.scorecard import ArtifactDoc, JudgeDoc, UsageDoc

PAIRWISE: Final = "honestone.pairwise/1"

Winner: TypeAlias = Literal["a", "b", "tie"]


class FoundQuoteDoc(Struct, frozen=True, kw_only=True):
    """A quote, and whether one of the two holds it; `null` where it was not looked up."""

    quote: str
    found: bool | None = None


class LooksDoc(Struct, frozen=True, kw_only=True):
    """What one judge said of one criterion in both orders.

    `a_first`, `b_first`: the answer with A, and with B, in the first place
    `inconsistent`: the answer changed with the order, so it counts as a tie
    """

    a_first: str | None = None
    b_first: str | None = None
    winner: Winner | None = None
    inconsistent: bool = False
    evidence: list[FoundQuoteDoc] = []
    note: str | None = None


class PairCheckDoc(Struct, frozen=True, kw_only=True):
    """One check, run on both: whether each meets it, and who wins."""

    id: str
    requirement: str = ""
    a: bool | None = None
    b: bool | None = None
    winner: Winner | None = None
    note: str | None = None


class PairCriterionDoc(Struct, frozen=True, kw_only=True):
    """One criterion, compared. `preference` is from 0 (A is better) to 1 (B is better)."""

    id: str
    parent: str | None = None
    requirement: str = ""
    weight: int | float = 1
    is_penalty: bool = False
    preference: float | None = None
    interval: list[float]
    wins: dict[Winner, int] = {}
    by_judge: dict[str, LooksDoc] = {}
    checks: list[PairCheckDoc] = []


class PairwiseDoc(Struct, frozen=True, kw_only=True):
    """Two artifacts, compared.

    `preferred`: `a`, `b`, `tie`, or `null` where it could not be judged
    `preference`, `interval`: from 0 (A is better) to 1 (B is better), `null` where an answer is
        missing; what is known
    `compared`, `inconsistent`: how many comparisons there were, and how many changed with the order
    `first_position_rate`: how often the first place won; 0.5 is unbiased
    """

    schema: str = PAIRWISE
    title: str = ""
    rubric: str = ""
    a: ArtifactDoc
    b: ArtifactDoc
    preferred: Winner | None = None
    preference: float | None = None
    interval: list[float]
    low_confidence: bool = False
    criteria: list[PairCriterionDoc] = []
    judges: list[JudgeDoc] = []
    compared: int = 0
    inconsistent: int = 0
    first_position_rate: float | None = None
    contract: str = ""
    usage: UsageDoc = UsageDoc()
    packed: dict[str, object] | UnsetType = UNSET
    notes: list[str] | UnsetType = UNSET
