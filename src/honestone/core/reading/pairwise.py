"""Two artifacts compared criterion by criterion: the question, how a reply is read, and what all
answers come to.

A judge sees the two as First and Second, once in each order, and says for each criterion which is
better. Only a preference that survives the exchange counts; everything else is a tie, and said to
be inconsistent. Code compares what checks answer and does all arithmetic: a preference is from 0 (A
is better) to 1 (B is better), 1/2 is a tie.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, Literal, TypeAlias

from msgspec import Struct, field

from honestone.core.artifact import Artifact, Version
from honestone.core.judging.ballot import Answer, AskedCriterion, Ballot, Mark, Question
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric, Rule, as_written
from honestone.core.judging.scorer import combine as combine_votes
from honestone.core.numbers import ONE, ZERO
from honestone.core.reading.reply import ReplyReading, read_evidence, read_numbered, shape_problem
from honestone.core.reading.tolerant_json import clean_text

# What a judge says of one criterion: it knows only the places of the two.
Choice: TypeAlias = Literal["first", "second", "tie"]

Winner: TypeAlias = Literal["a", "b", "tie"]
Order: TypeAlias = Literal["a_first", "b_first"]
ORDERS: Final[tuple[Order, Order]] = ("a_first", "b_first")

# Said of a judge that did not answer the control item with a tie.
STEERED: Final = "tampered: it preferred one text where neither can be better: an artifact steers it, or it goes by the place"

HALF: Final = Fraction(1, 2)
SHARE: Final[Mapping[Winner, Fraction]] = {"a": ZERO, "tie": HALF, "b": ONE}
_MARK: Final[Mapping[str, float]] = {"first": 0, "tie": 0.5, "second": 1}
_CHOICE: Final[Mapping[Answer, Choice]] = {0: "first", 0.5: "tie", 1: "second"}
_SCALE: Final = Anchors(
    levels=((ZERO, "the first is better"), (HALF, "neither is"), (ONE, "the second is better"))
)


# ---------------------------------------------------------------------------------------------------------
# question


class PairQuestion(Question, frozen=True, kw_only=True):
    """Two versions to be compared in one order. `artifact` holds both, for quotes to be looked up
    in.

    `details` are the lines that say what a criterion means: its items, or its levels.
    """

    first: Version
    second: Version
    order: Order
    details: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def pair_question(rubric: Rubric, a: Version, b: Version, order: Order) -> PairQuestion:
    first, second = (a, b) if order == "a_first" else (b, a)
    both = {f"first/{path}": entry for path, entry in first.files.items()}
    both |= {f"second/{path}": entry for path, entry in second.files.items()}
    judged = [criterion for criterion, _ in rubric.walk() if judged_items(criterion)]
    return PairQuestion(
        artifact=Artifact("both", Version(both, is_folder=True)),
        criteria=tuple(_asked_criterion(criterion) for criterion in judged),
        first=first,
        second=second,
        order=order,
        details={criterion.id: tuple(_details(criterion)) for criterion in judged},
    )


def judged_items(criterion: Criterion) -> tuple[Item, ...]:
    return tuple(item for item in criterion.items if item.check is None)


def _asked_criterion(criterion: Criterion) -> AskedCriterion:
    item = Item(id=criterion.id, requirement=criterion.requirement, anchors=_SCALE, whole=True)
    return AskedCriterion(id=criterion.id, requirement=criterion.requirement, items=(item,))


def _details(criterion: Criterion) -> Iterator[str]:
    for item in judged_items(criterion):
        if not item.whole:
            yield item.requirement
        if item.anchors is not None:
            yield from (f"{as_written(value)}: {text}" for value, text in item.anchors.levels)


# ------------------------------------------------------------------------------------------------------------
# reply


def read_pair_reply(
    text: str, token: str, numbers: Collection[int], *, cut: bool = False
) -> ReplyReading:
    """`{"token": ..., "answers": {"1": {"evidence", "answer"}, ...}}`, each answer "first",
    "second" or "tie".

    Never raises, whatever the text, and never takes anything else for an answer. `cut`: a length
    limit stopped the model.
    """
    return read_numbered(text, token, numbers, _read_answer, cut=cut)


def _read_answer(number: int, given: object, repairs: list[str]) -> Mark | str:
    """The mark, or why there is none."""
    evidence: tuple[str, ...] = ()
    if isinstance(given, dict):
        if why := shape_problem(given):
            return why
        evidence, given = read_evidence(given, number, repairs), given["answer"]
    if not isinstance(given, str) or given not in _MARK:
        return f'expected "first", "second" or "tie", got {_shown_value(given)}'
    return Mark(_MARK[given], evidence)


def _shown_value(given: object) -> str:
    # Containers are named, not shown: they may be endless.
    if isinstance(given, dict | list):
        return "an object" if isinstance(given, dict) else "a list"
    shown = "null" if given is None else clean_text(repr(given))
    return shown if len(shown) <= 40 else shown[:37] + "..."


def choice_of(mark: Mark) -> Choice:
    return _CHOICE[mark.answer]


# ------------------------------------------------------------------------------------------------------
# both orders


class TwoLooks(Struct, frozen=True, kw_only=True):
    """What one judge answered on one criterion in each order; None without an answer, with the
    reason.

    `is_penalty`: meeting the requirement better is worse.
    """

    a_first: Choice | None
    b_first: Choice | None
    is_penalty: bool = False
    evidence: tuple[str, ...] = ()
    why: str | None = None

    @property
    def is_complete(self) -> bool:
        return self.a_first is not None and self.b_first is not None

    @property
    def is_inconsistent(self) -> bool:
        """Another answer once the two had changed places."""
        return self.is_complete and self._winner_in("a_first") != self._winner_in("b_first")

    @property
    def winner(self) -> Winner | None:
        """None without both looks: half a comparison cannot tell a better text from a better place."""
        if not self.is_complete:
            return None
        return "tie" if self.is_inconsistent else self._winner_in("a_first")

    def _winner_in(self, order: Order) -> Winner:
        choice = self.a_first if order == "a_first" else self.b_first
        if choice == "tie" or choice is None:
            return "tie"
        is_a = (choice == "first") == (order == "a_first")
        return "a" if is_a != self.is_penalty else "b"


def two_looks(criterion: Criterion, ballots: Mapping[Order, Ballot]) -> TwoLooks:
    """`ballots` are one judge's, by order."""
    key = (criterion.id, criterion.id)
    marks = {order: ballots[order].marks.get(key) for order in ORDERS}
    quotes = [quote for mark in marks.values() if mark is not None for quote in mark.evidence]
    missing = {
        order: ballots[order].abstained.get(key) or ballots[order].reason or "no answer"
        for order, mark in marks.items()
        if mark is None
    }
    chosen = {order: None if mark is None else choice_of(mark) for order, mark in marks.items()}
    return TwoLooks(
        a_first=chosen["a_first"],
        b_first=chosen["b_first"],
        is_penalty=criterion.is_penalty,
        evidence=tuple(dict.fromkeys(quotes)),
        why=in_which_order(missing),
    )


def in_which_order(reasons: Mapping[Order, str]) -> str | None:
    """What went wrong in which order; said once where it is the same in both."""
    if len(reasons) == len(ORDERS) and len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{placed(order)}: {reason}" for order, reason in reasons.items()) or None


def placed(order: Order) -> str:
    return "with A first" if order == "a_first" else "with B first"


# -----------------------------------------------------------------------------------------------------
# all together


class CheckLine(Struct, frozen=True, kw_only=True):
    """One item that code answers, met or not on each; None where the check could not run, with the
    reason.
    """

    item: Item
    a: bool | None
    b: bool | None
    is_penalty: bool = False
    why: str | None = None

    @property
    def winner(self) -> Winner | None:
        if self.a is None or self.b is None:
            return None
        if self.a == self.b:
            return "tie"
        return "a" if self.a != self.is_penalty else "b"


class PairLine(Struct, frozen=True, kw_only=True):
    """One criterion: who preferred what, and how far the preference for B is known. Groups hold no
    votes of their own.
    """

    criterion: Criterion
    parent: str | None
    low: Fraction
    high: Fraction
    by_judge: Mapping[str, TwoLooks] = field(default_factory=dict)
    checks: tuple[CheckLine, ...] = ()

    @property
    def preference(self) -> Fraction | None:
        return self.low if self.low == self.high else None

    @property
    def wins(self) -> dict[Winner, int]:
        """How many judges prefer which."""
        won = [looks.winner for looks in self.by_judge.values()]
        return {side: won.count(side) for side in SHARE}

    @property
    def voters(self) -> int | None:
        """Judges with a complete answer; None where no judge is asked."""
        return sum(self.wins.values()) if judged_items(self.criterion) else None


class Comparison(Struct, frozen=True, kw_only=True):
    """Every criterion, parents before children, and the whole. A preference is from 0 (A) to 1 (B)."""

    lines: tuple[PairLine, ...]
    low: Fraction
    high: Fraction

    @property
    def preference(self) -> Fraction | None:
        """None when any needed answer is missing."""
        return self.low if self.low == self.high else None

    @property
    def preferred(self) -> Winner | None:
        """Which is better, whatever the missing answers are; None where they could turn it."""
        if self.low > HALF:
            return "b"
        if self.high < HALF:
            return "a"
        return "tie" if self.low == self.high else None

    @property
    def inconsistent(self) -> int:
        return sum(looks.is_inconsistent for looks in self._pairs())

    @property
    def pairs(self) -> int:
        """Criteria that judges answered in both orders, over all judges."""
        return sum(1 for _ in self._pairs())

    @property
    def first_position_rate(self) -> Fraction | None:
        """How often the first place won, a tie counting half: 1/2 is unbiased, whichever text is
        better.

        Over answers given in both orders: one order alone says nothing about the place.
        """
        count = {"first": ONE, "tie": HALF, "second": ZERO}
        shares = [
            count[choice]
            for looks in self._pairs()
            for choice in (looks.a_first, looks.b_first)
            if choice
        ]
        return sum(shares, ZERO) / len(shares) if shares else None

    @property
    def low_confidence(self) -> bool:
        """Some criterion has fewer than two judges that answered it in both orders."""
        counts = [line.voters for line in self.lines if line.voters is not None]
        return bool(counts) and min(counts) < 2

    def _pairs(self) -> Iterator[TwoLooks]:
        for line in self.lines:
            yield from (looks for looks in line.by_judge.values() if looks.is_complete)


class PairAnswers(Struct, frozen=True, kw_only=True):
    """Everything that was answered: each judge's ballots by order, and the ballots of the checks
    about A and B.
    """

    judges: Mapping[str, Mapping[Order, Ballot]] = field(default_factory=dict)
    checks: tuple[Ballot, Ballot] | None = None


def compare(rubric: Rubric, answers: PairAnswers, rule: Rule = Rule.MEAN) -> Comparison:
    """A pure function of the answers. Weights are the rubric's, local to siblings; a penalty weighs
    by its size.
    """
    lines: list[PairLine] = []
    low, high = _group(rubric.criteria, None, answers, rule, lines)
    return Comparison(lines=tuple(lines), low=low, high=high)


def same(rubric: Rubric) -> Comparison:
    """What two equal artifacts come to, without a question."""
    lines = (
        PairLine(criterion=criterion, parent=parent, low=HALF, high=HALF)
        for criterion, parent in rubric.walk()
    )
    return Comparison(lines=tuple(lines), low=HALF, high=HALF)


_Span: TypeAlias = tuple[Fraction, Fraction]
_UNKNOWN: Final[_Span] = (ZERO, ONE)


def _group(
    group: Sequence[Criterion],
    parent: str | None,
    answers: PairAnswers,
    rule: Rule,
    lines: list[PairLine],
) -> _Span:
    """Appends the lines of a group in reading order; returns its span."""
    parts: list[tuple[Fraction, _Span]] = []
    for criterion in group:
        place = len(lines)
        if criterion.children:
            span = _group(criterion.children, criterion.id, answers, rule, lines)
            lines.insert(
                place, PairLine(criterion=criterion, parent=parent, low=span[0], high=span[1])
            )
        else:
            lines.append(_leaf(criterion, parent, answers, rule))
            span = (lines[-1].low, lines[-1].high)
        parts.append((abs(criterion.weight), span))
    return _mean(parts)


def _leaf(criterion: Criterion, parent: str | None, answers: PairAnswers, rule: Rule) -> PairLine:
    judged = judged_items(criterion)
    by_judge = {
        judge: two_looks(criterion, ballots) for judge, ballots in answers.judges.items() if judged
    }
    checks = tuple(_check_lines(criterion, answers.checks))
    shares = [SHARE[won] for looks in by_judge.values() if (won := looks.winner) is not None]
    parts: list[tuple[Fraction, _Span]] = []
    if judged:  # One answer stands for all the items that judges were asked about.
        voted = combine_votes(shares, rule, yes_no=False) if shares else None
        parts.append((Fraction(len(judged)), _UNKNOWN if voted is None else (voted, voted)))
    for check in checks:
        won = check.winner
        parts.append((ONE, _UNKNOWN if won is None else (SHARE[won], SHARE[won])))
    low, high = _mean(parts)
    return PairLine(
        criterion=criterion, parent=parent, low=low, high=high, by_judge=by_judge, checks=checks
    )


def _check_lines(
    criterion: Criterion, ballots: tuple[Ballot, Ballot] | None
) -> Iterator[CheckLine]:
    for item in criterion.items:
        if item.check is None:
            continue
        key = (criterion.id, item.id)
        marks = [ballot.marks.get(key) for ballot in ballots] if ballots else [None, None]
        why = [
            f"{side}: {ballot.abstained[key]}"
            for side, ballot in zip("AB", ballots or (), strict=False)
            if key in ballot.abstained
        ]
        a, b = (None if mark is None else mark.answer is True for mark in marks)
        yield CheckLine(
            item=item, a=a, b=b, is_penalty=criterion.is_penalty, why="; ".join(why) or None
        )


def _mean(parts: Sequence[tuple[Fraction, _Span]]) -> _Span:
    total = sum((weight for weight, _ in parts), ZERO)
    if total == 0:
        return HALF, HALF
    low = sum((weight * span[0] for weight, span in parts), ZERO) / total
    high = sum((weight * span[1] for weight, span in parts), ZERO) / total
    return low, high
