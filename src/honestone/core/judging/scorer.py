"""Scorecards drawn from ballots: an item without a vote is an interval from 0 to 1, never a number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from honestone.core.judging.ballot import CHECK, Answer, Ballot, JudgeState, Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric, Rule
from honestone.core.judging.scorecard import NOBODY, ItemLine, Line, Scorecard, judge_gate
from honestone.core.numbers import ONE, ZERO, exact

if TYPE_CHECKING:
    from honestone.core.judging.scorecard import Verdict


_CACHE_LIMIT = 4_096
_CARD_LIMIT = 256


class _Votes(NamedTuple):
    """The ballots to combine. `voters`: who each judge is. `away`: ballots that lack a vote.
    `quorum`: how many voters on an item suffice, 0 where all must vote. `has_draws`: two judges are
    one voter.
    """

    ballots: Sequence[Ballot]
    voters: Mapping[str, str]
    has_draws: bool
    away: Sequence[Ballot] = ()
    quorum: int = 0

    def open_on(self, key: Key, votes: tuple[tuple[str, Mark], ...]) -> int:
        count = sum(key not in one.marks and one.was_asked(key) for one in self.away)
        return 0 if count and 0 < self.quorum <= self.voted(votes) else count

    def voted(self, votes: tuple[tuple[str, Mark], ...]) -> int:
        return len({self.voters[judge] for judge, _ in votes}) if self.has_draws else len(votes)


class Scorer:
    """A rubric and a combination rule, ready to combine ballots. `card` is a pure function of the
    ballots. The rubric's own rule holds before `rule`.
    """

    def __init__(self, rubric: Rubric, rule: Rule = Rule.MEAN) -> None:
        self.rubric = rubric
        self.rule = rule if rubric.combine is None else Rule(rubric.combine)
        self.asks_judges = rubric.asks_judges
        self.has_fixes = rubric.has_fixes
        self.can_fail = rubric.can_fail
        # Code gives the same few marks to thousands of artifacts, so what it adds up to is worth
        # remembering. Marks are known by identity: a remembered line holds its marks, so their ids
        # cannot be given to others meanwhile.
        self._leaves: dict[tuple[object, ...], Line] = {}
        self._means: dict[tuple[object, ...], tuple[Fraction, Fraction, bool]] = {}
        self._numbers: dict[Fraction, Fraction] = {}
        # Thousands of marks on a scale hold few different numbers. Items are known by identity: the
        # rubric holds them.
        self._shares: dict[tuple[int, type, Answer], Fraction] = {}
        self._judged: dict[tuple[object, ...], tuple[Scorecard, Verdict]] = {}
        self._wordless: dict[tuple[object, ...], tuple[Ballot, ...]] = {}
        self._asked = frozenset(key for key, item in rubric.questions() if item.check is None)
        self._keys = {c.id: tuple((c.id, item.id) for item in c.items) for c, _ in rubric.walk()}

    def rests_on_one(self, card: Scorecard) -> bool:
        """Whether fewer than two judges decided some item of it. Where a probability is asked for,
        that counts how few they are, and decides.
        """
        return self.asks_judges and self.rubric.sure is None and card.low_confidence

    def card(self, ballots: Sequence[Ballot]) -> Scorecard:
        """Order of ballots does not matter, but two with one judge id would be one judge voting
        twice: ValueError.
        """
        judges = [ballot.judge for ballot in ballots]
        if len(set(judges)) != len(judges):
            raise ValueError(f"two ballots of one judge: {judges}")
        voters = {b.judge: b.draw_of or b.judge for b in ballots if b.judge != CHECK}
        has_draws = any(b.draw_of is not None for b in ballots)
        votes = _Votes(ballots=ballots, voters=voters, has_draws=has_draws)
        answered = self._card(votes)
        if not self._asked:
            return answered
        quorum = self._quorum(ballots)
        found = answered.voters
        short = ""
        if found is not None and found < quorum:
            short = f"the quorum is not met: {found} of {quorum} judges answered"
        away = self._away(ballots)
        if not away:
            return replace(answered, short=short) if short else answered
        whole = self._card(votes._replace(away=away, quorum=quorum))
        lines = zip(answered.lines, whole.lines, strict=True)
        return replace(
            whole,
            lines=tuple(
                replace(line, items=known.items, answered=known.score) for known, line in lines
            ),
            answered=answered.score,
            open=tuple(b.judge for b in away)
            if (whole.low, whole.high) != (answered.low, answered.high)
            else (),
            short=short,
        )

    def judged(self, ballots: Sequence[Ballot]) -> tuple[Scorecard, Verdict]:
        """The card and what the gate says of it, remembered by the answers: the words at its marks
        (evidence, suggestions) may be those of other ballots with the same answers.
        """
        key = answers_of(ballots)
        remembered = self._judged.get(key)
        if remembered is None:
            card = self.card(ballots)
            remembered = card, judge_gate(card, self.rubric)
            if len(self._judged) < _CARD_LIMIT:
                self._judged[key] = remembered
        return remembered

    def without_words(self, ballots: Sequence[Ballot]) -> tuple[Ballot, ...]:
        """All of them that decides anything: no evidence, no suggestions, nothing about how they
        were read. Equal ones are one object.
        """
        key = (
            *answers_of(ballots),
            *(
                (
                    b.reason,
                    b.tampered,
                    b.sandbox,
                    b.judged_by,
                    b.restored,
                    b.unusable,
                    b.unanswered,
                    *b.abstained.items(),
                )
                for b in ballots
            ),
        )
        remembered = self._wordless.get(key)
        if remembered is None:
            remembered = tuple(_without_words(ballot) for ballot in ballots)
            if len(self._wordless) < _CACHE_LIMIT:
                self._wordless[key] = remembered
        return remembered

    def alone(self, ballots: Sequence[Ballot]) -> Scorecard:
        """The card of one judge (and of code) by itself: no quorum counts."""
        card = self.card(ballots)
        return replace(card, short="") if card.short else card

    def _quorum(self, ballots: Sequence[Ballot]) -> int:
        """How many judges must answer; 0 where the rubric does not say."""
        if self.rubric.quorum != "all":
            return self.rubric.quorum or 0
        return len({b.voter for b in ballots if b.judge != CHECK and b.kind != "self"})

    def _away(self, ballots: Sequence[Ballot]) -> list[Ballot]:
        """Ballots of judges that were there and lack a vote. Where the worker's own model had to
        replace one, it decides.
        """
        away = [
            b
            for b in ballots
            if b.judge != CHECK
            and b.state is not JudgeState.SKIPPED
            and not all(key in b.marks or not b.was_asked(key) for key in self._asked)
        ]
        return [] if away and any(b.kind == "self" and b.marks for b in ballots) else away

    def _card(self, votes: _Votes) -> Scorecard:
        lines: list[Line] = []
        low, high, applies, _ = self._group(self.rubric.criteria, None, votes, lines)
        return Scorecard(lines=tuple(lines), low=low, high=high, applies=applies)

    def _group(
        self, group: tuple[Criterion, ...], parent: str | None, votes: _Votes, lines: list[Line]
    ) -> tuple[Fraction, Fraction, bool, list[Line]]:
        """Appends the lines of a group in reading order; returns the group's low, high, applies and
        own lines.
        """
        own: list[Line] = []
        for criterion in group:
            place = len(lines)
            line = self._known_leaf(criterion, votes.ballots) or self._line(
                criterion, parent, votes, lines
            )
            lines.insert(place, line)
            own.append(line)
        low, high, applies = self._group_mean(own)
        if applies and _may_leave(
            own
        ):  # If it does, what it holds back now comes back to its parent's mean.
            low, high = ZERO, ONE
        return low, high, applies, own

    def _group_mean(self, own: list[Line]) -> tuple[Fraction, Fraction, bool]:
        known = (
            id(own[0].criterion),
            *(id(n) for line in own if line.applies for n in (line.low, line.high)),
        )
        remembered = self._means.get(known)
        if remembered is None:
            applying = [line for line in own if line.applies]
            low = weighted_mean((line.criterion.weight, line.low, line.high) for line in applying)
            high = weighted_mean((line.criterion.weight, line.high, line.low) for line in applying)
            remembered = (
                (ZERO, ONE, False)
                if low is None or high is None
                else (self._same_number(low), self._same_number(high), True)
            )
            # Only numbers that are kept for good may be known by their ids.
            shared = all(
                self._numbers.get(n) is n for line in applying for n in (line.low, line.high)
            )
            if shared and len(applying) == len(own) and len(self._means) < _CACHE_LIMIT:
                self._means[known] = remembered
        return remembered

    def _same_number(self, number: Fraction) -> Fraction:
        """The one object for a number, so that equal scores have equal ids."""
        if len(self._numbers) < _CACHE_LIMIT:
            return self._numbers.setdefault(number, number)
        return self._numbers.get(number, number)

    def _line(
        self, criterion: Criterion, parent: str | None, votes: _Votes, lines: list[Line]
    ) -> Line:
        items: tuple[ItemLine, ...] = ()
        if criterion.children:
            low, high, applies, own = self._group(criterion.children, criterion.id, votes, lines)
            voters = [line.voters for line in own if line.voters is not None]
            may_leave = _may_leave(own)
            by_judge = _group_by_judge(own, votes.voters)
            if criterion.negate:
                by_judge = {judge: ONE - score for judge, score in by_judge.items()}
        else:
            items = tuple(self._item(criterion, item, votes) for item in criterion.items)
            low, high, applies = _item_means(items)
            voters = [votes.voted(line.votes) for line in items if line.item.check is None]
            may_leave = all(line.may_leave for line in items)
            by_judge = (
                self._by_judge(criterion, items, votes.voters) if voters and votes.voters else {}
            )
        if criterion.negate:
            low, high = ONE - high, ONE - low
        line = Line(
            criterion=criterion,
            parent=parent,
            floor=self.rubric.floor_of(criterion, parent),
            low=self._same_number(low),
            high=self._same_number(high),
            applies=applies,
            items=items,
            by_judge=by_judge,
            voters=min(voters) if voters else None,
            judge_of=votes.voters if votes.has_draws else NOBODY,
            may_leave=applies and may_leave,
        )
        ballots = votes.ballots
        if (
            items
            and len(ballots) == 1
            and ballots[0].judge == CHECK
            and len(self._leaves) < _CACHE_LIMIT
        ):
            self._leaves[self._leaf_key(criterion, ballots[0])] = line
        return line

    def _known_leaf(self, criterion: Criterion, ballots: Sequence[Ballot]) -> Line | None:
        if len(ballots) != 1 or ballots[0].judge != CHECK:
            return None
        return self._leaves.get(self._leaf_key(criterion, ballots[0]))

    def _leaf_key(self, criterion: Criterion, ballot: Ballot) -> tuple[object, ...]:
        return criterion.id, *map(id, map(ballot.marks.get, self._keys[criterion.id]))

    def _item(self, criterion: Criterion, item: Item, votes: _Votes) -> ItemLine:
        key = (criterion.id, item.id)
        by_code = (
            item.check is not None
        )  # Code and judges answer different items, also under a later rubric.
        cast = tuple(
            [
                (b.judge, b.marks[key])
                for b in votes.ballots
                if key in b.marks and (b.judge == CHECK) == by_code
            ]
        )
        return self._combine(
            criterion, item, cast, votes.open_on(key, cast) if votes.away and not by_code else 0
        )

    def _combine(
        self, criterion: Criterion, item: Item, votes: tuple[tuple[str, Mark], ...], open: int
    ) -> ItemLine:
        answers = [mark.answer for _, mark in votes]
        shares = [self._share(item, mark) for _, mark in votes if not is_na(mark.answer)]
        applies = bool(shares or open) or not answers
        met = self._met(criterion, item, shares) if shares else None
        if met is None:
            unmet = None
        elif item.anchors is not None:
            unmet = (ONE - met if criterion.negate else met) < self.rubric.threshold
        else:
            is_bad = criterion.is_penalty or criterion.negate
            unmet = 2 * answers.count(is_bad) >= len(shares)
        low, high = (ZERO, ONE) if met is None else (met, met)
        if open and shares:
            low = self._met(criterion, item, [*shares, *[ZERO] * open])
            high = self._met(criterion, item, [*shares, *[ONE] * open])
        return ItemLine(
            item=item, met=met, low=low, high=high, applies=applies, unmet=unmet, votes=votes
        )

    def _share(self, item: Item, mark: Mark) -> Fraction:
        answer = mark.answer
        if item.anchors is None:
            return share_of(item, mark)
        key = (id(item), answer.__class__, answer)
        remembered = self._shares.get(key)
        if remembered is None:
            remembered = share(item, answer)
            if len(self._shares) < _CACHE_LIMIT:
                self._shares[key] = remembered
        return remembered

    def _met(self, criterion: Criterion, item: Item, shares: list[Fraction]) -> Fraction:
        if (
            criterion.is_penalty or criterion.negate
        ):  # Yes is the bad answer, so the strictest vote and a tie mean yes.
            return ONE - combine([ONE - s for s in shares], self.rule, yes_no=item.anchors is None)
        return combine(shares, self.rule, yes_no=item.anchors is None)

    def _by_judge(
        self, criterion: Criterion, items: tuple[ItemLine, ...], voters: Iterable[str]
    ) -> dict[str, Fraction]:
        scores: dict[str, Fraction] = {}
        for judge in voters:
            shares: list[Fraction] = []
            for line in items:
                voter = judge if line.item.check is None else CHECK
                mark = next((mark for name, mark in line.votes if name == voter), None)
                if mark is None:
                    break
                if not is_na(mark.answer):
                    shares.append(self._share(line.item, mark))
            else:
                if shares:
                    mean = sum(shares, ZERO) / len(shares)
                    scores[judge] = ONE - mean if criterion.negate else mean
        return scores


def answers_of(ballots: Sequence[Ballot]) -> tuple[object, ...]:
    """All that the numbers come from. True equals 1 and 1 equals 1.0, but they are not shown alike."""
    out: list[object] = []
    for ballot in ballots:
        out += ballot.judge, ballot.state, ballot.kind, ballot.draw_of, ballot.asked
        for key, mark in ballot.marks.items():
            out += key, mark.answer, mark.answer.__class__, mark.score
    return tuple(out)


def _without_words(ballot: Ballot) -> Ballot:
    marks = {key: Mark(mark.answer, score=mark.score) for key, mark in ballot.marks.items()}
    return replace(ballot, marks=marks, problems=(), repairs=(), earlier=())


def is_na(answer: Answer) -> bool:
    return isinstance(answer, str)


def share(item: Item, answer: Answer) -> Fraction:
    """A valid answer as 0-1. Raises ValueError for "n/a" and for a number off the scale."""
    if isinstance(answer, bool):
        return ONE if answer else ZERO
    if item.anchors is None or isinstance(answer, str):
        raise ValueError(f"{answer!r} is not an answer to `{item.id}`")
    return item.anchors.share(answer)


def share_of(item: Item, mark: Mark) -> Fraction:
    """What a valid mark counts, 0-1: the score of a measuring check, else its answer. Raises as
    `share` does.
    """
    return share(item, mark.answer) if mark.score is None else exact(mark.score) / 100


def combine(shares: Sequence[Fraction], rule: Rule, *, yes_no: bool = True) -> Fraction:
    """Votes (0-1, at least one) as one number. A tied majority is a no; numbers on a scale have no
    majority: median.
    """
    if rule is Rule.MIN:
        return min(shares)
    if rule is Rule.MAJORITY and yes_no:
        return ONE if 2 * sum(shares, ZERO) > len(shares) else ZERO
    if rule in (Rule.MEDIAN, Rule.MAJORITY):
        ordered, middle = sorted(shares), len(shares) // 2
        return ordered[middle] if len(shares) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
    return sum(shares, ZERO) / len(shares)


def weighted_mean(parts: Iterable[tuple[Fraction, Fraction, Fraction]]) -> Fraction | None:
    """sum(w*s) / sum(positive w), cut to 0..1. Each part is (weight, score, score if the weight is
    a penalty).

    None when no positive weight is left. Source: HealthBench's points; without penalties the plain
    weighted mean.
    """
    total = below = ZERO
    for weight, score, penalty in parts:
        if weight > 0:
            below += weight
            total += weight * score
        else:
            total += weight * penalty
    return None if below == 0 else min(max(total / below, ZERO), ONE)


def _item_means(items: tuple[ItemLine, ...]) -> tuple[Fraction, Fraction, bool]:
    low = high = ZERO
    count = 0
    for line in items:
        if line.applies:
            count += 1
            low += line.low
            high += line.high
    return (low / count, high / count, True) if count else (ZERO, ONE, False)


def _may_leave(own: list[Line]) -> bool:
    """Whether every criterion that carries weight in a group may still turn out not to apply."""
    return all(line.may_leave or not line.applies for line in own if line.criterion.weight > 0)


def _group_by_judge(own: list[Line], voters: Iterable[str]) -> dict[str, Fraction]:
    scores: dict[str, Fraction] = {}
    for judge in voters:
        parts: list[tuple[Fraction, Fraction, Fraction]] = []
        for line in own:
            if not line.applies:
                continue
            score = line.score if line.only_checks else line.by_judge.get(judge)
            if score is None:
                break
            parts.append((line.criterion.weight, score, score))
        else:
            mean = weighted_mean(parts)
            if mean is not None and any(not line.only_checks for line in own):
                scores[judge] = mean
    return scores
