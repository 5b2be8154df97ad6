"""How probable it is that one text meets its contract, by every answer of its judges and of code.

Three things are not known: how the judges err, how many items of a rubric such as this are met, and
the truth of each item. Assumptions about the first two are held at once (`MODELS`, `MET_SHARES`),
each weighed by how well it predicted all answers. Under one assumption the items are independent,
and `ContractModel` adds them up.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property, lru_cache
from itertools import product
from math import exp, log, log2
from typing import Final, NamedTuple, TypeVar

from honestone.core.belief.contract import ContractModel, Moments, Odds
from honestone.core.belief.counting import (
    CountedContract,
    CountShape,
    PartHistories,
    reached,
    turns,
)
from honestone.core.belief.errors import MODELS, ErrorModel, History, JudgeAnswers, NextAnswer
from honestone.core.belief.normal import Atom
from honestone.core.belief.outcomes import Outcomes
from honestone.core.belief.scales.marks import (
    NO_MARK,
    DescribedLevels,
    MarksOfOne,
    ScaleSeen,
    ScoredItems,
    scored_by_error,
)
from honestone.core.belief.scales.rounding import with_rounding
from honestone.core.judging.ballot import CHECK, Answer, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Item, Key, Rubric
from honestone.core.judging.scorer import is_na, share, share_of

# Shares of a rubric's items that are met, each as probable as the others before the first answer.
MET_SHARES: Final = (0.3, 0.6, 0.85)
# The same of items of which anything may be expected, as of outputs that have to fail: from hardly
# any to nearly all of them are met.
ANY_SHARES: Final = (0.05, 0.3, 0.6, 0.85, 0.95)
# Assumptions less probable than this share of the most probable one do not count.
NEGLIGIBLE: Final = 2e-3
# Assumptions less probable than this do not count where items are compared.
UNLIKELY: Final = 0.05
# A probability that differs from certainty by less is certainty.
CLOSE: Final = 1e-12


class Assumption(NamedTuple):
    """How judges err, and the share of items that are met."""

    errors: ErrorModel
    met_share: float


ANY: Final = Assumption(MODELS[0], MET_SHARES[0])


class ItemTally(NamedTuple):
    """The answers to one yes/no item, turned round where yes is bad, and how many items have the
    same.
    """

    history: History
    items: int


def assumptions(
    tallies: Iterable[ItemTally],
    *,
    shares: Sequence[float] = MET_SHARES,
    models: Sequence[ErrorModel] = MODELS,
    apart: Sequence[ItemTally] = (),
) -> dict[Assumption, float]:
    """What may be so of judges and items, each with its probability (they sum to 1), by these
    answers. What is negligible is left out. `apart`: answers of the same judges about items of
    which any share may be met.
    """
    rows = list(tallies)
    logs: dict[Assumption, float] = {}
    for model in models:
        by_share = _log_by_share(model, rows, shares)
        of_judges = _log_of_any_share(model, apart) if apart else 0.0
        for met, found in by_share.items():
            logs[Assumption(model, met)] = found + of_judges
    return _likely(logs)


K = TypeVar("K")


def _likely(logs: Mapping[K, float]) -> dict[K, float]:
    """The logs of weights as shares that sum to 1, without what is negligible."""
    top = max(logs.values())
    likely = {
        one: weight for one, value in logs.items() if (weight := exp(value - top)) > NEGLIGIBLE
    }
    total = sum(likely.values())
    return {one: weight / total for one, weight in likely.items()}


def _log_of_any_share(model: ErrorModel, rows: Sequence[ItemTally]) -> float:
    """The log of the probability of these answers, whatever share of the items is met."""
    logs = _log_by_share(model, rows, ANY_SHARES).values()
    top = max(logs)
    return top + log(sum([exp(one - top) for one in logs]))


def shares_met(model: ErrorModel, tallies: Iterable[ItemTally]) -> dict[float, float]:
    """How probable each share of items that are met is, by these answers, if judges err so and any
    share may be met.
    """
    return _likely(_log_by_share(model, list(tallies), ANY_SHARES))


def _log_by_share(
    model: ErrorModel, rows: Sequence[ItemTally], shares: Sequence[float]
) -> dict[float, float]:
    """The log of the probability of these answers, by the share of items that are met."""
    known = [(model.likelihood(history), items) for history, items in rows]
    return {
        met: sum([count * log(met * one.met + (1.0 - met) * one.unmet) for one, count in known])
        for met in shares
    }


def uncertain(chance: float) -> float:
    """The probability, short of the certainty that code alone gives."""
    return min(max(chance, CLOSE), 1.0 - CLOSE)


def met_odds(assumption: Assumption, history: History) -> float:
    """P(the item is met), by its own answers, under one assumption."""
    found = assumption.errors.likelihood(history)
    met = assumption.met_share * found.met
    return met / (met + (1.0 - assumption.met_share) * found.unmet)


class ExpectedScore(NamedTuple):
    """Points (0-100) that are expected of the true answers: of the whole, and of each criterion
    that applies. The mean of the marks has the errors of those who gave them in it.
    """

    overall: float
    criteria: Mapping[str, float]


class ExpectedAnswer(NamedTuple):
    """The likelier next answer of a judge to an item, and how far any answer moves P(contract met):
    the variance that it is expected to add.
    """

    is_yes: bool
    moves: float


class RubricShape:
    """What of a rubric its beliefs need, worked out once for all texts."""

    def __init__(self, rubric: Rubric) -> None:
        self.rubric = rubric
        self.questions = dict(rubric.questions())
        self.bad = rubric.bad_keys
        self.code = [key for key, item in self.questions.items() if item.check is not None]
        # In the rubric's order, so that sums over them are the same in every process.
        self.anchored = dict.fromkeys(
            [
                key
                for key, item in self.questions.items()
                if item.check is None and item.anchors is not None
            ]
        )
        self.levels = {key: DescribedLevels.of(self.questions[key]) for key in self.anchored}
        known: dict[Anchors | None, dict[tuple[type, Answer], float]] = {}
        self._points = {
            key: known.setdefault(self.questions[key].anchors, {}) for key in self.anchored
        }
        self.counted = CountedContract.of(rubric)
        self.can_fail = rubric.can_fail

    def points_of(self, key: Key, item: Item, answer: Answer) -> float:
        """An answer on a scale in points; remembered, since exact numbers are slow."""
        known, place = self._points[key], (type(answer), answer)
        if place not in known:
            known[place] = 100.0 * float(share(item, answer))
        return known[place]

    @cached_property
    def contract(self) -> ContractModel:
        return ContractModel(self.rubric, margin=0.0, keeps_points=True)

    @cached_property
    def without_bars(self) -> ContractModel:
        return ContractModel(self.rubric.without_bars, margin=0.0, keeps_points=True)

    @cached_property
    def is_by_score(self) -> bool:
        """Whether what passes always scores more than what fails, where every item applies."""
        counted = self.counted
        return not self.contract.has_bars or (counted is not None and counted.is_by_score)


# Shapes by the identity of their rubric, which each of them holds, so that no id is used again.
_SHAPES: Final[dict[int, RubricShape]] = {}
_MOST_SHAPES: Final = 512


def shape_of(rubric: Rubric) -> RubricShape:
    found = _SHAPES.get(id(rubric))
    if found is None:
        if len(_SHAPES) >= _MOST_SHAPES:
            _SHAPES.clear()
        found = _SHAPES[id(rubric)] = RubricShape(rubric)
    return found


def is_count(rubric: Rubric) -> bool:
    """Whether what a rubric asks is a plain count of items that are answered yes or no, without
    groups.
    """
    is_flat = not any(one.children for one in rubric.criteria)
    return is_flat and shape_of(rubric).counted is not None


# What a belief remembers of all answers together.
_FOLLOWS: Final = (
    "probability",
    "tallies",
    "signature",
    "_gone",
    "_assumed",
    "_score_members",
    "_outcomes",
)


class TextBelief:
    """What is believed about one text. Add answers with `see_checks` and `see`, then ask.

    An item that no one answered is unknown: neither met nor unmet. Judges are named by the voter
    whose looks they are, so that a second look of one judge is not another judge.
    """

    def __init__(self, rubric: Rubric) -> None:
        self._shape = shape = shape_of(rubric)
        self._questions = shape.questions
        self._bad = shape.bad
        self._counted = shape.counted
        self._code = shape.code
        self._anchored = shape.anchored
        self._counts: dict[Key, dict[tuple[str, bool], list[int]]] = {}
        self._known: dict[Key, float] = {}
        self._away: dict[Key, int] = {}
        self._points: dict[Key, dict[str, MarksOfOne]] = {}
        self._histories: dict[Key, History] = {}
        self._sure_of_code: tuple[float | None] | None = None
        self._scores: dict[tuple[Assumption, bool], Sequence[Atom]] = {}
        self._unders: dict[Assumption, float] = {}
        self.looks: dict[str, int] = {}

    @property
    def asks_judges(self) -> bool:
        return len(self._code) < len(self._questions)

    @property
    def checked(self) -> int:
        """Items that code answered."""
        return sum(key in self._known or self._away.get(key, 0) > 0 for key in self._code)

    # -- answers

    def see_all(self, ballots: Iterable[Ballot], held_out: bool = False) -> TextBelief:
        """Every ballot that counts; returns itself."""
        for ballot in ballots:
            if ballot.judge == CHECK:
                self.see_checks(ballot.marks)
            elif ballot.marks and not ballot.tampered:
                self.see(voter_of(ballot), ballot.marks, held_out=held_out)
        return self

    def see_checks(self, marks: Mapping[Key, Mark]) -> None:
        for key, mark in marks.items():
            if is_na(mark.answer):
                self._away[key] = 1
            else:
                self._known[key] = 100.0 * float(share_of(self._questions[key], mark))
        self._sure_of_code = None
        self._changed()

    def see(self, judge: str, marks: Mapping[Key, Mark], *, held_out: bool = False) -> None:
        """One look of a judge. Items without a mark stay as they are."""
        for key, mark in marks.items():
            item = self._questions.get(key)
            if item is None or item.check is not None:
                continue
            self._away[key] = self._away.get(key, 0) + (1 if is_na(mark.answer) else -1)
            if not is_na(mark.answer):
                self._histories.pop(key, None)
                self._see_one(key, item, mark.answer, judge, held_out)
        self.looks[judge] = self.looks.get(judge, 0) + 1
        self._changed()

    def _changed(self) -> None:
        """What was worked out from fewer answers is forgotten."""
        for name in _FOLLOWS:
            self.__dict__.pop(name, None)
        self._scores.clear()
        self._unders.clear()

    def _see_one(self, key: Key, item: Item, answer: Answer, judge: str, held_out: bool) -> None:
        if key in self._anchored:
            points = self._shape.points_of(key, item, answer)
            of_item = self._points.setdefault(key, {})
            of_item[judge] = of_item.get(judge, NO_MARK).and_one(points)
            return
        is_good = (answer is True) != (key in self._bad)
        row = self._counts.setdefault(key, {}).setdefault((judge, held_out), [0, 0])
        row[0 if is_good else 1] += 1

    # -- what is believed

    @cached_property
    def probability(self) -> float | None:
        """The probability (0-1) that the contract is met. Exactly 0 or 1 where code alone decides;
        None where it does not and no judge answered, or where nothing applies.
        """
        bounds = self._bounds()
        if bounds is not None:
            return bounds
        if not self.looks or not self.applies:
            return None
        return uncertain(self._mixed())

    def _bounds(self) -> float | None:
        """0 or 1 where no answer of a judge can change it."""
        if not self._shape.can_fail:
            return 1.0
        if not self._code:
            return None
        if self._sure_of_code is None:
            self._sure_of_code = (self._bounds_of_code(),)
        return self._sure_of_code[0]

    def _bounds_of_code(self) -> float | None:
        reached = self._shape.contract.probability
        open_keys = [
            key
            for key, item in self._questions.items()
            if key not in self._known
            and not (item.check is not None and self._away.get(key, 0) > 0)
        ]
        sure = {key: (Atom(1.0, points, 0.0),) for key, points in self._known.items()}
        if not open_keys:
            return float(reached({key: sure.get(key) for key in self._questions}) > 0.5)
        half: dict[Key, Odds | None] = {
            key: 0.5 if key in open_keys else sure.get(key) for key in self._questions
        }
        if any(self._questions[key].may_not_apply for key in open_keys):
            return None
        if any(key in self._anchored for key in open_keys):
            best = half | {
                key: (Atom(1.0, 0.0 if key in self._bad else 100.0, 0.0),)
                for key in open_keys
                if key in self._anchored
            }
            return 0.0 if reached(best) <= 0.0 else None
        by_half = reached(half)
        if by_half <= 0.0:
            return 0.0
        return 1.0 if by_half >= 1.0 - 1e-9 and len(open_keys) < 25 else None

    @property
    def _yes_no(self) -> list[Key]:
        return [
            key
            for key in self._questions
            if key not in self._anchored and key not in self._known and key not in self._gone
        ]

    @cached_property
    def _gone(self) -> Collection[Key]:
        """Items that do not apply, as most looks say. Where that would leave nothing, those of which
        no look says otherwise: what one judge answered can be met or not.
        """
        most = {key for key, count in self._away.items() if count > 0}
        if not most or self._shape.contract.applies(most):
            return most
        return most - self._counts.keys() - self._points.keys() - self._known.keys()

    @property
    def applies(self) -> bool:
        """Whether anything of the rubric applies, by what was answered."""
        return not self._gone or self._shape.contract.applies(self._gone)

    def history(self, key: Key) -> History:
        """Who answered what about a yes/no item, in a fixed order."""
        found = self._histories.get(key)
        if found is None:
            rows = self._counts.get(key, {})
            answers = [JudgeAnswers(yes, no, held_out) for (_, held_out), (yes, no) in rows.items()]
            answers.sort()
            found = self._histories[key] = tuple(answers)
        return found

    @cached_property
    def tallies(self) -> list[ItemTally]:
        """The histories of the items that judges answer with yes or no."""
        counts: dict[History, int] = {}
        for key in self._yes_no:
            history = self.history(key)
            counts[history] = counts.get(history, 0) + 1
        return [ItemTally(history, count) for history, count in counts.items()]

    @cached_property
    def _assumed(self) -> Mapping[Assumption, float]:
        """What may be so of judges and items; any of it, where no item is answered yes or no."""
        return assumptions(self.tallies) if self.tallies else {ANY: 1.0}

    def _mixed(self) -> float:
        if self.signature is not None:
            return plain_chance(*self.signature)
        _, scored = self._score_members[0]
        return self._outcomes.chance(
            [(weight, self._odds(one, scored)) for one, weight in self._assumed.items()]
        )

    def under(self, assumption: Assumption) -> float:
        """P(contract met) if an assumption is so; scores of anchored items count by their own
        bank.
        """
        bounds = self._bounds()
        if bounds is not None:
            return bounds
        # It says nothing of marks on a scale.
        key = assumption if self.tallies else ANY
        if key in self._unders:
            return self._unders[key]
        if self.signature is None:
            _, scored = self._score_members[0]
            found = self._outcomes.chance([(1.0, self._odds(key, scored))])
        else:
            shape, parts = self.signature
            met = {one.history: met_odds(key, one.history) for one in self.tallies}
            found = reached(shape, parts, met)
        self._unders[key] = found
        return found

    @cached_property
    def _outcomes(self) -> Outcomes:
        """What its yes/no items may come to."""
        scored = [(weight, self._odds(ANY, scored)) for weight, scored in self._score_members]
        return Outcomes(self._shape.contract, scored)

    @property
    def is_by_score(self) -> bool:
        """Whether, of texts under this rubric, one that passes always scores more than one that
        fails.
        """
        applies = not self._gone
        return self._shape.is_by_score and (applies or not self._shape.contract.has_bars)

    def scores_under(self, assumption: Assumption, *, is_met: bool) -> Sequence[Atom]:
        """Every score (0-100) that its true answers may come to if an assumption is so, with its
        probability; `is_met`: where they meet the contract.
        """
        key = (assumption if self.tallies else ANY), is_met
        if key not in self._scores:
            contract = self._shape.contract if is_met else self._shape.without_bars
            self._scores[key] = [
                atom._replace(mass=weight * atom.mass)
                for weight, scored in self._score_members
                for atom in contract.scores(self._odds(key[0], scored))
            ]
        return self._scores[key]

    def tells(self, judge: str) -> float:
        """How much a further look of a judge is expected to tell about this text's items, in bits:
        of yes/no items, what its answer and the truth have in common. A judge that stays with its
        answers tells little when it is asked again. Scores of an anchored item are as if each look
        were a draw of its own.
        """
        counts: dict[tuple[History, tuple[int, int]], int] = {}
        for key in self._yes_no:
            yes, no = self._counts.get(key, {}).get((judge, False), (0, 0))
            place = self.history(key), (yes, no)
            counts[place] = counts.get(place, 0) + 1
        found = sum(
            [
                items * weight * then.in_common
                for (history, own), items in counts.items()
                for weight, then in zip(
                    self._assumed.values(),
                    _next_answers(self._assumed, history, JudgeAnswers(*own)),
                    strict=True,
                )
            ]
        )
        for key in self._anchored:
            looks = self._points.get(key, {}).get(judge, NO_MARK).looks
            found += 0.5 * log2((looks + 2.0) / (looks + 1.0))
        return found

    def next_answers(self, judge: str) -> dict[Key, ExpectedAnswer]:
        """What a judge may answer next to each item. Empty where the answers so far are not a
        plain count: elsewhere what an item turns is too dear to work out.
        """
        if self.signature is None:
            return {}
        turned = [
            turns(
                *self.signature, {own.history: met_odds(one, own.history) for own in self.tallies}
            )
            if weight >= UNLIKELY
            else None
            for one, weight in self._assumed.items()
        ]
        found: dict[_Place, ExpectedAnswer] = {}
        answers = {}
        for key, place in self._places(judge):
            if place not in found:
                found[place] = _expected(self._assumed, turned, place)
            one = found[place]
            answers[key] = one._replace(is_yes=one.is_yes != (key in self._bad))
        return answers

    def _places(self, judge: str) -> Iterator[tuple[Key, _Place]]:
        assert self.signature is not None and self._counted is not None
        shape, parts = self.signature
        first: dict[object, int] = {}
        for number, (part, keys) in enumerate(
            zip(zip(shape.parts, parts, strict=True), self._counted.keys, strict=True)
        ):
            same = first.setdefault(part, number)
            for key in keys:
                own = self._counts.get(key, {}).get((judge, False), (0, 0))
                yield key, _Place(same, self.history(key), JudgeAnswers(*own))

    def after(self, judge: str, marks: Mapping[Key, Mark]) -> TextBelief:
        """What would be believed after one more look of a judge; this one stays as it is."""
        then = copy(self)
        rows = {
            key: {who: [*row] for who, row in self._counts.get(key, {}).items()} for key in marks
        }
        then._counts = {**self._counts, **rows}
        then._away, then.looks = dict(self._away), dict(self.looks)
        then._points = {
            **self._points,
            **{key: dict(self._points[key]) for key in marks if key in self._points},
        }
        then._histories, then._scores, then._unders = dict(self._histories), {}, {}
        then.see(judge, marks)
        return then

    def expected(self) -> ExpectedScore | None:
        """The score by what is believed of each item. None where judges are asked and none
        answered, or where code has given no answer: what code would say is not guessed.
        """
        if self.asks_judges and not self.looks:
            return None
        if any(key not in self._known and key not in self._gone for key in self._code):
            return None
        overall, criteria = 0.0, dict[str, float]()
        # Weights do not sum to 1 exactly, and what code answers is exact.
        members = product(self._assumed.items(), self._score_members)
        for (one, weight), (share_of_scores, scored) in members:
            odds = self._odds(one, scored)
            found, whole = self._shape.contract.moments(
                {key: None if own is None else _moments(own) for key, own in odds.items()}
            )
            overall += weight * share_of_scores * whole.mean
            for id, moments in found.items():
                criteria[id] = criteria.get(id, 0.0) + weight * share_of_scores * moments.mean
        return ExpectedScore(
            _points(overall), {id: _points(value) for id, value in criteria.items()}
        )

    @cached_property
    def signature(self) -> tuple[CountShape, tuple[PartHistories[History], ...]] | None:
        """What decides how probable it is that it passes: texts with equal ones are alike. None
        where the answers do not suffice for that.
        """
        if self._counted is None or self._known or self._gone:
            return None
        return self._counted.shape, self._counted.parts_by_history(self.history)

    def _odds(self, assumption: Assumption, scored: ScoredItems) -> dict[Key, Odds | None]:
        found: dict[Key, Odds | None] = {}
        met: dict[History, float] = {}
        for key in self._questions:
            is_bad = key in self._bad
            if key in self._gone:
                found[key] = None
            elif key in self._known:
                found[key] = (Atom(1.0, self._known[key], 0.0),)
            elif key in self._anchored:
                found[key] = scored[key]
            else:
                history = self.history(key)
                if history not in met:
                    met[history] = met_odds(assumption, history)
                found[key] = 1.0 - met[history] if is_bad else met[history]
        return found

    @cached_property
    def _score_members(self) -> list[tuple[float, ScoredItems]]:
        """What is believed of anchored items, under each assumption about the judges' scores."""
        if not self._anchored:
            return [(1.0, {})]
        levels, contract = self._shape.levels, self._shape.contract
        marks = {key: self._points.get(key, {}).values() for key in self._anchored}
        plain = scored_by_error({key: ScaleSeen.of(levels[key], of) for key, of in marks.items()})
        return with_rounding(plain, marks, levels, contract.floors, contract.threshold)


class _Place(NamedTuple):
    """What tells items of a plain count apart: their part (the first of those that count alike and
    have the same answers), all answers, and those of a judge.
    """

    part: int
    history: History
    own: JudgeAnswers


def _next_answers(
    assumed: Iterable[Assumption], history: History, own: JudgeAnswers
) -> list[NextAnswer]:
    """What a judge with these answers says of an item next, under each assumption."""
    every = list(assumed)
    yes = {
        errors: errors.next_yes(history, own)
        for errors in dict.fromkeys([one.errors for one in every])
    }
    return [
        NextAnswer(met_odds(one, history), yes[one.errors].met, yes[one.errors].unmet)
        for one in every
    ]


def _expected(
    assumed: Mapping[Assumption, float],
    turned: Sequence[Sequence[Mapping[History, float]] | None],
    place: _Place,
) -> ExpectedAnswer:
    """The answer to an item where yes is good. `turned`: what each item turns, by its part and its
    answers, under each assumption; None where that one is unlikely.
    """
    part, history, own = place
    yes = moves = 0.0
    answers = _next_answers(assumed, history, own)
    for weight, then, by_part in zip(assumed.values(), answers, turned, strict=True):
        yes += weight * then.yes
        if by_part is not None:
            moves += weight * then.moves * by_part[part][history] ** 2
    return ExpectedAnswer(yes >= 0.5, moves)


def _moments(odds: Odds) -> Moments:
    """The mean of an item's answer, in points."""
    if isinstance(odds, float):
        return Moments(100.0 * odds, 0.0)
    return Moments(sum([mass * mean for mass, mean, _ in odds]), 0.0)


def _points(value: float) -> float:
    return min(max(value, 0.0), 100.0)


@lru_cache(maxsize=4_096)
def plain_chance(shape: CountShape, parts: tuple[PartHistories[History], ...]) -> float:
    """P(every bar is met) over all assumptions: the same for every text whose items have the same
    histories.
    """
    counts: dict[History, int] = {}
    for part in parts:
        for history, count in part:
            counts[history] = counts.get(history, 0) + count
    found = assumptions([ItemTally(history, count) for history, count in counts.items()])
    return sum(
        [
            weight * reached(shape, parts, {own: met_odds(one, own) for own in counts})
            for one, weight in found.items()
        ]
    )


def voter_of(ballot: Ballot) -> str:
    """The judge whose look a ballot is: `a` for `a#2`."""
    return ballot.voter
