"""The beliefs about the versions of a run: a fold of its votes and edits.

How often judges err, and how much of their error they share, is not known when a run begins. A
wrong assumption would make every probability wrong, and a run has too few votes to estimate it
first. So there is a bank of assumptions. Each item has one belief under each of them, and each vote
shifts the weight of the assumptions towards those that expected it. A stated probability is the
weighted mean over the bank.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import product
from math import exp, inf, prod
from typing import Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.belief.assumptions import (
    Bank,
    ItemAssumption,
    item_bank,
    score_models,
)
from honestone.core.belief.contract import ContractModel, Moments, Odds, leaves
from honestone.core.belief.counting import CountedContract, binomial, counts_of, reached
from honestone.core.belief.items import FIXED, ItemBelief, ItemModel, Looks
from honestone.core.belief.normal import Atom, bits
from honestone.core.belief.outcomes import Outcomes
from honestone.core.belief.scales.marks import NEAR_A_LEVEL, NearLevel, at_levels
from honestone.core.belief.scales.scores import ASIDE, ScoreBelief, ScoreModel, headroom
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Item, Key, Rubric
from honestone.core.judging.scorer import is_na, share, share_of

# What no code rules out is at least so probable.
LEAST_CHANCE: Final = 1e-12
# Points that an edit brings an anchored criterion on average, where there is room.
GAIN: Final = 10.0
# Points that each other criterion that judges mark loses on average.
LOSS: Final = 0.7

# How sure it has to be that an edit left an item alone before a look at a rejected version counts
# for its base.
UNTOUCHED: Final = 0.8


class Outlook(NamedTuple):
    """What is believed about a version: mean and variance of each criterion that applies and of the
    whole, in points.
    """

    criteria: Mapping[str, Moments]
    overall: Moments


class Step(NamedTuple):
    """How much nearer to the contract an edit brought a version (`value`), and how many points its
    expected score rose (`mean`).
    """

    value: float
    mean: float


class _Answers(NamedTuple):
    """A judge's points for anchored items, and the log of their density before, by the number of
    the member.
    """

    judge: int
    votes: Mapping[Key, float]
    logs: Mapping[Key, Mapping[int, float]]


class _Version(Struct):
    """The beliefs about one version, by item and, within it, by the number of the bank's member.

    `known`: what code answered (points). `looks`: what each judge, by its number, said of a yes/no
    item. `away`: how many more answers "n/a" than others an item had. `answers`: of each look at
    it, those on a scale. `base` is what it was made of, by an edit that was aimed at the items
    `aimed`.
    """

    scores: dict[Key, dict[int, ScoreBelief]] = field(default_factory=dict)
    items: dict[Key, dict[int, ItemBelief]] = field(default_factory=dict)
    looks: dict[Key, dict[int, Looks]] = field(default_factory=dict)
    known: dict[Key, float | None] = field(default_factory=dict)
    away: dict[Key, int] = field(default_factory=dict)
    answers: list[_Answers] = field(default_factory=list)
    base: str | None = None
    aimed: frozenset[Key] = frozenset()


# What is believed of items by its identity, what a judge said of them before, and its answer.
_Alike: TypeAlias = tuple[int, Looks, bool]


class Beliefs:
    """Change it only with `see_checks`, `see`, `edit` and `reject`. Versions are named by their
    digest; the judges' names are those of the run. `scales`: how they may err where marks are on a
    scale; by default what nothing is known about assumes.
    """

    def __init__(
        self,
        rubric: Rubric,
        original: str,
        panel: Sequence[str],
        held_out: Sequence[str],
        scales: Sequence[ScoreModel] = (),
    ) -> None:
        self.contract = ContractModel.for_edits(rubric)
        self._counted = CountedContract.of(rubric)
        self._numbers = {judge: number for number, judge in enumerate([*panel, *held_out])}
        self._panel = len(panel)
        # Only judges that hardly err can show that full marks are reached. One misread mark, or an
        # edit that did more than most, does not rule them out.
        self._score_bank = Bank(
            scales or score_models(len(panel), len(held_out)),
            lasting=(0,) if self.contract.wants_full_marks else (),
        )
        self._item_bank = item_bank(are_programs=True).fresh()
        self._are_programs = True
        self._questions = dict(rubric.questions())
        self._bad = rubric.bad_keys
        self._ways = {
            node.id: -1.0 if (node.keys[0] in self._bad) != node.negate else 1.0
            for node in leaves(self.contract.top)
            if not node.sure
        }
        self._anchored = [
            key
            for key, item in self._questions.items()
            if item.check is None and item.anchors is not None
        ]
        self._yes_no = [
            key
            for key, item in self._questions.items()
            if item.check is None and item.anchors is None
        ]
        first = _unseen(self._score_bank, self._item_bank, self._anchored, self._yes_no)
        known = {key: None for key, item in self._questions.items() if item.check is not None}
        self._versions = {original: replace(first, known=known)}
        self._probabilities: dict[str, float] = {}
        self._outlooks: dict[str, Outlook] = {}
        self._steps: dict[str, Step] = {}

    def __contains__(self, version: str) -> bool:
        return version in self._versions

    @property
    def is_anchored(self) -> bool:
        """Whether most of what judges answer is on a scale."""
        return len(self._anchored) > len(self._yes_no)

    @property
    def has_scales(self) -> bool:
        """Whether judges answer any item on a scale."""
        return bool(self._anchored)

    # ------------------------------------------------------------------------------------------------
    # what happened

    def see_checks(self, version: str, marks: Mapping[Key, Mark]) -> None:
        """Code answered: no noise, and no more than one answer."""
        entry = self._versions[version]
        for key, mark in marks.items():
            if key in entry.known:
                is_away = is_na(mark.answer)
                entry.away[key] = 1 if is_away else 0
                entry.known[key] = (
                    None if is_away else float(share_of(self._questions[key], mark)) * 100.0
                )
        self._forget()

    def see(
        self, version: str, judge: str, marks: Mapping[Key, Mark], *, is_program: bool = False
    ) -> None:
        """A judge answered: items without a mark stay as they are believed."""
        if self._are_programs and not is_program:
            self._are_programs = False
            self._item_bank = item_bank(are_programs=False).instead_of(
                self._item_bank, item_bank(are_programs=True)
            )
        entry, number = self._versions[version], self._numbers[judge]
        answers = {}
        for key, mark in marks.items():
            item = self._questions.get(key)
            if item is None or item.check is not None:
                continue
            entry.away[key] = entry.away.get(key, 0) + (1 if is_na(mark.answer) else -1)
            if not is_na(mark.answer):
                answers[key] = _good_points(item, mark, is_bad=key in self._bad)
        self._see_scores(
            entry, number, {key: vote for key, vote in answers.items() if key in entry.scores}
        )
        self._see_items(
            entry, number, {key: vote > 50.0 for key, vote in answers.items() if key in entry.items}
        )
        self._forget()

    def _see_scores(self, entry: _Version, judge: int, votes: Mapping[Key, float]) -> None:
        if not votes:
            return
        logs = {}
        updated: dict[Key, dict[int, ScoreBelief]] = {key: {} for key in votes}
        seen: dict[Key, dict[int, float]] = {key: {} for key in votes}
        for index in self._score_bank.weights:
            model = self._score_bank.models[index]
            for key, vote in votes.items():
                updated[key][index], seen[key][index] = model.seen(
                    entry.scores[key][index], judge, vote
                )
            logs[index] = sum([of[index] for of in seen.values()])
        entry.scores.update(updated)
        entry.answers.append(_Answers(judge, votes, seen))
        self._score_bank.learn(logs)

    def _see_items(self, entry: _Version, judge: int, votes: Mapping[Key, bool]) -> None:
        if not votes:
            return
        logs = {}
        held_out = judge >= self._panel
        before = {key: entry.looks.get(key, {}).get(judge, Looks()) for key in votes}
        # Many items have the same history, and then what is believed of them is one.
        places = {key: (id(entry.items[key]), before[key], yes) for key, yes in votes.items()}
        firsts = {place: entry.items[key] for key, place in places.items()}
        updated: dict[_Alike, dict[int, ItemBelief]] = {place: {} for place in firsts}
        # Before an edit all kinds of worker believe alike.
        same: dict[_Alike, tuple[ItemBelief, float]] = {}
        for index in self._item_bank.weights:
            seen, found = self._item_bank.models[index].judges.seen, {}
            for place, beliefs in firsts.items():
                _, looks, yes = place
                own = (id(beliefs[index]), looks, yes)
                if own not in same:
                    same[own] = seen(beliefs[index], looks, held_out=held_out, yes=yes)
                updated[place][index], found[place] = same[own]
            # Item by item, since the last digits of a sum depend on its order.
            logs[index] = sum([found[place] for place in places.values()])
        entry.items.update({key: updated[place] for key, place in places.items()})
        for key, yes in votes.items():
            now = Looks(before[key].yes + yes, before[key].no + (not yes))
            entry.looks[key] = {**entry.looks.get(key, {}), judge: now}
        self._item_bank.learn(logs)

    def edit(self, base: str, version: str, focus: Collection[str], items: Collection[Key]) -> None:
        """A worker changed `base` into `version`: it was given the criteria of `focus`, and of them
        these items (all that are more likely unmet than met, if none is named). A version that is
        known already stays as it is believed.
        """
        if version in self._versions:
            return
        old = self._versions[base]
        aimed = set(items) or {key for key in self.unmet(base) if key[0] in focus}
        scores, items_ = self._score_bank, self._item_bank
        touched = {key for key in self._anchored if key[0] in focus}
        self._versions[version] = _Version(
            scores=_edited(
                old.scores, scores, lambda i, b, hit: scores.models[i].edited(b, aimed=hit), touched
            ),
            items=_edited(
                old.items,
                items_,
                lambda i, b, hit: items_.models[i].judges.edited(
                    b, aimed=hit, edit=items_.models[i].edits
                ),
                aimed,
            ),
            # Many an edit leaves an item that it was given as it was, and a judge that misread it
            # then misreads it again.
            looks=dict(old.looks),
            known=dict.fromkeys(old.known),
            away=dict(old.away),
            base=base,
            aimed=frozenset(touched | aimed),
        )

    def reject(self, version: str) -> None:
        """The version is given up. What was seen of its items counts for those of its base that the
        edit was not aimed at, as far as it seems to have left them alone.
        """
        entry = self._versions.get(version)
        if entry is None or entry.base is None:
            return
        self._versions[entry.base] = self._base_of(entry, entry.base)
        entry.base = None
        self._forget()

    def _base_of(self, entry: _Version, base: str) -> _Version:
        """The version that another one was made of, as it is believed with every look at that one."""
        old = self._versions[base]
        scores = dict(old.scores)
        for answers in entry.answers:
            for key in answers.votes.keys() - entry.aimed:
                scores[key] = _score_before(self._score_bank, scores[key], key, answers)
        looks = {key: looks for key, looks in entry.looks.items() if key not in entry.aimed}
        return replace(
            old,
            scores=scores,
            items={**old.items, **_items_before(self._item_bank, old, entry)},
            looks={**old.looks, **looks},
        )

    def step(self, version: str) -> Step | None:
        """How the version moved from the one that it was made of. Both are believed by every vote so
        far: what a look at it says of items that the edit left alone holds for its base, too. But
        where some are on a scale the base is believed without that look, which says too little of
        what an edit left alone there. None where it is not known what it was made of.
        """
        entry = self._versions[version]
        if entry.base is None:
            return None
        if version not in self._steps:
            by_all = not self.has_scales
            base = self._base_of(entry, entry.base) if by_all else self._versions[entry.base]
            before, after = self._outlook(base), self.outlook(version)
            self._steps[version] = Step(
                value=self.contract.value(*after) - self.contract.value(*before),
                mean=after.overall.mean - before.overall.mean,
            )
        return self._steps[version]

    def _forget(self) -> None:
        self._probabilities.clear()
        self._outlooks.clear()
        self._steps.clear()

    # ------------------------------------------------------------------------------------------------
    # what is believed

    def probability(self, version: str) -> float:
        """The probability (0-1) that the version meets the contract, with the margin that edits aim
        for.
        """
        if version not in self._probabilities:
            self._probabilities[version] = self._probability(self._versions[version])
        return self._probabilities[version]

    def _probability(self, entry: _Version) -> float:
        counted = self._counted
        if counted is not None and not entry.known and max(entry.away.values(), default=0) <= 0:
            return min(sum(_counted_chances(self._item_bank, entry, counted)), 1.0)
        scores = self._score_bank.weights if self._anchored else {0: 1.0}
        member = next(iter(self._item_bank.weights))
        scored = [(weight, self._odds(entry, one, member)) for one, weight in scores.items()]
        members = _yes_by_member(self._item_bank, entry, self._yes_no, self._bad)
        total = Outcomes(self.contract, scored).chance(members)
        # What is improbable by marks is not impossible, as what code found is.
        return min(max(total, 0.0 if entry.known else LEAST_CHANCE), 1.0)

    def tells(self, version: str, judges: Sequence[str]) -> dict[str, float]:
        """How much one more look of each judge is expected to say of what is truly met, in bits: over
        all yes/no items, what its answer and the truth have in common.
        """
        entry, tells = self._versions[version], dict.fromkeys(judges, 0.0)
        first = next(iter(self._item_bank.weights))
        # Many items have the same history, and then one belief under each member.
        same: dict[tuple[int, Looks, bool], float] = {}
        for judge, key in product(judges, self._yes_no):
            number, beliefs = self._numbers[judge], entry.items[key]
            if entry.away.get(key, 0) > 0:
                continue
            looks, held_out = entry.looks.get(key, {}).get(number, Looks()), number >= self._panel
            place = (id(beliefs[first]), looks, held_out)
            if place not in same:
                same[place] = _in_common(self._item_bank, beliefs, looks, held_out=held_out)
            tells[judge] += same[place]
        return tells

    def refusal(self, version: str, refusals: Sequence[Mapping[Key, Mark]]) -> float:
        """How probable it is (0-1) that judges call so many items unmet, each in one look, if the
        version meets the contract. `refusals`: the marks of each of these judges.

        On a scale a refusal always counts (0): the errors that a look shares with the looks before
        are too large there to tell them from what is wrong with the version.
        """
        if self.has_scales:
            return 0.0
        met = self.contract.likeliest(self._mean_odds(self._versions[version]), self._bad)
        good = [key for key in self._yes_no if (met[key] == 1.0) != (key in self._bad)]
        total = 0.0
        for index, weight in self._item_bank.weights.items():
            errors = self._item_bank.models[index].judges
            looks = [_so_many_misread(good, self._bad, errors, marks) for marks in refusals]
            total += weight * prod(looks)
        return min(total, 1.0)

    def _mean_odds(self, entry: _Version) -> dict[Key, Odds | None]:
        """What is believed of each answer over all assumptions, where none is on a scale."""
        member = next(iter(self._item_bank.weights))
        odds = self._odds(entry, 0, member)
        for key, beliefs in entry.items.items():
            if odds[key] is not None:
                met = _met(self._item_bank, beliefs)
                odds[key] = 1.0 - met if key in self._bad else met
        return odds

    def _odds(self, entry: _Version, score_member: int, item_member: int) -> dict[Key, Odds | None]:
        odds: dict[Key, Odds | None] = {}
        full = _with_full_marks(entry) if self.contract.wants_full_marks else ()
        for key in self._questions:
            is_bad = key in self._bad
            if entry.away.get(key, 0) > 0:
                odds[key] = None
            elif key in entry.items:
                met = entry.items[key][item_member].met
                odds[key] = 1.0 - met if is_bad else met
            elif key in entry.scores:
                atoms = entry.scores[key][score_member].atoms
                if key in full:
                    atoms = at_levels(atoms, (NearLevel(100.0, 100.0 - NEAR_A_LEVEL, inf),))
                odds[key] = tuple([Atom(w, 100.0 - m, v) for w, m, v in atoms]) if is_bad else atoms
            else:
                odds[key] = (Atom(1.0, entry.known[key] or 0.0, 0.0),)
        return odds

    def outlook(self, version: str) -> Outlook:
        """What is believed about each criterion and the whole, over all assumptions about the
        judges.
        """
        if version not in self._outlooks:
            self._outlooks[version] = self._outlook(self._versions[version])
        return self._outlooks[version]

    def _outlook(self, entry: _Version) -> Outlook:
        items = {
            key: None if entry.away.get(key, 0) > 0 else self._moments(entry, key)
            for key in self._questions
        }
        return Outlook(*self.contract.moments(items))

    def _moments(self, entry: _Version, key: Key) -> Moments:
        """Mean and variance of an item's answer in points. What code has not answered is as good as
        not met.
        """
        if key in entry.known:
            return Moments(entry.known[key] or 0.0, 0.0)
        if key in entry.items:
            met = _met(self._item_bank, entry.items[key])
            moments = Moments(100.0 * met, 1e4 * met * (1.0 - met))
        else:
            parts = [(w, entry.scores[key][index]) for index, w in self._score_bank.weights.items()]
            mean = sum([w * one.mean for w, one in parts])
            moments = Moments(
                mean, sum([w * (one.var + (one.mean - mean) ** 2) for w, one in parts])
            )
        return Moments(100.0 - moments.mean, moments.var) if key in self._bad else moments

    def value(self, version: str) -> float:
        """How near the version is to the contract: higher is better, 0 is certainty."""
        return self.contract.value(*self.outlook(version))

    def unmet(self, version: str) -> list[Key]:
        """The items that an edit can improve: what is more likely unmet than met, what code found
        unmet, and anchored ones that are short of full marks.
        """
        entry = self._versions[version]
        return [
            key
            for key in self._questions
            if entry.away.get(key, 0) <= 0
            and (points := self._points(entry, key)) is not None
            and points < (50.0 if key in entry.items else 99.5)
        ]

    def _points(self, entry: _Version, key: Key) -> float | None:
        """How good an item is, in points; None where code has not answered."""
        if key in entry.known and entry.known[key] is None:
            return None
        points = self._moments(entry, key).mean
        return 100.0 - points if key in self._bad else points

    def aims(self, version: str) -> dict[str, list[Key]]:
        """The items that an edit of each criterion would be given, by criterion."""
        aims: dict[str, list[Key]] = {}
        for key in self.unmet(version):
            aims.setdefault(key[0], []).append(key)
        return aims

    def value_of_aim(
        self, version: str, criterion: str, items: Sequence[Key], boldness: float = 1.0
    ) -> float:
        """The value that the version may have after an edit of this criterion that was given these
        items: it gains what such edits gain on average times `boldness`, and the others lose a
        little.
        """
        criteria, _ = self.outlook(version)
        by = {name: -LOSS * way for name, way in self._ways.items()}
        by[criterion] = (
            boldness * self._gain(version, criterion, items) * self._ways.get(criterion, 1.0)
        )
        return self.contract.value(*self.contract.moved(criteria, by))

    def _gain(self, version: str, criterion: str, items: Sequence[Key]) -> float:
        """Points that an edit is expected to bring the criterion."""
        entry = self._versions[version]
        applying = [
            key for key in self._questions if key[0] == criterion and entry.away.get(key, 0) <= 0
        ]
        total = 0.0
        for key in items:
            points = self._points(entry, key) or 0.0
            total += GAIN * headroom(points) if key in entry.scores else FIXED * (100.0 - points)
        return total / len(applying)

    @property
    def noise(self) -> dict[str, float]:
        """What the votes taught about the judges: their error in points and their rate of
        misreading, where asked.
        """
        noise = {}
        if self._anchored:
            bank = self._score_bank
            noise["sd"] = sum(w * bank.models[index].sd for index, w in bank.weights.items())
        if self._yes_no:
            flips = self._item_bank
            noise["flip"] = sum(
                w * flips.models[index].judges.flip for index, w in flips.weights.items()
            )
        return noise


B = TypeVar("B")
M = TypeVar("M")


def _unseen(
    scores: Bank[ScoreModel],
    items: Bank[ItemAssumption],
    anchored: Sequence[Key],
    yes_no: Sequence[Key],
) -> _Version:
    """A version that no one looked at."""
    first_score = {index: scores.models[index].start() for index in scores.weights if anchored}
    # What workers do to it makes no difference before the first edit.
    starts = {id(one.judges): one.judges.start() for one in items.models}
    first_item = {index: starts[id(items.models[index].judges)] for index in items.weights}
    return _Version(
        scores=dict.fromkeys(anchored, first_score), items=dict.fromkeys(yes_no, first_item)
    )


def _with_full_marks(entry: _Version) -> set[Key]:
    """The items on a scale that a look at the version gave full marks. What is near these is at them:
    else a bar there would be out of reach.
    """
    return {key for one in entry.answers for key, vote in one.votes.items() if vote >= 100.0}


def _counted_chances(
    bank: Bank[ItemAssumption], found: _Version, counted: CountedContract
) -> Iterator[float]:
    """The probability under each member, times its weight."""
    alike = {id(beliefs): beliefs for beliefs in found.items.values()}
    # Before an edit all kinds of worker believe alike.
    same: dict[tuple[int, ...], float] = {}
    for index, weight in bank.weights.items():
        place = tuple([id(beliefs[index]) for beliefs in alike.values()])
        if place not in same:
            met = {key: beliefs[index].met for key, beliefs in found.items.items()}
            parts = [counts_of(met[key] for key in keys) for keys in counted.keys]
            chances = {chance: chance for part in parts for chance, _ in part}
            same[place] = reached(counted.shape, parts, chances)
        yield weight * same[place]


def _yes_by_member(
    bank: Bank[ItemAssumption], found: _Version, yes_no: Sequence[Key], bad: Collection[Key]
) -> Iterator[tuple[float, dict[Key, float]]]:
    """P(yes) of each yes/no item that applies, by every member, with its weight."""
    applying = [key for key in yes_no if found.away.get(key, 0) <= 0]
    for index, weight in bank.weights.items():
        met = {key: found.items[key][index].met for key in applying}
        yield weight, {key: 1.0 - chance if key in bad else chance for key, chance in met.items()}


def _met(bank: Bank[ItemAssumption], beliefs: Mapping[int, ItemBelief]) -> float:
    """How probable it is that an item is met, over all members."""
    return sum([weight * beliefs[index].met for index, weight in bank.weights.items()])


def _in_common(
    bank: Bank[ItemAssumption],
    beliefs: Mapping[int, ItemBelief],
    looks: Looks,
    *,
    held_out: bool,
) -> float:
    """The information (bits) that the next answer of a judge has about whether an item is met."""
    met = yes = both = 0.0
    for index, weight in bank.weights.items():
        belief = beliefs[index]
        of_yes, of_both = bank.models[index].judges.yes_and_met(belief, looks, held_out=held_out)
        met += weight * belief.met
        yes += weight * of_yes
        both += weight * of_both
    after = sum([p * bits(part / p) for part, p in ((both, yes), (met - both, 1.0 - yes)) if p > 0])
    return max(bits(met) - after, 0.0)


def _score_before(
    bank: Bank[ScoreModel], beliefs: Mapping[int, ScoreBelief], key: Key, answers: _Answers
) -> dict[int, ScoreBelief]:
    """The beliefs about an item before an edit that was not aimed at it, with the answers after it
    by each member that thinks that the edit left the item alone.
    """
    known = {}
    for index in bank.weights:
        seen, log_untouched = bank.models[index].seen(
            beliefs[index], answers.judge, answers.votes[key]
        )
        is_untouched = ASIDE[0].weight * exp(log_untouched - answers.logs[key][index]) > UNTOUCHED
        known[index] = seen if is_untouched else beliefs[index]
    return known


def _items_before(
    bank: Bank[ItemAssumption], old: _Version, new: _Version
) -> dict[Key, dict[int, ItemBelief]]:
    """The beliefs about the yes/no items of `old` that its edit into `new` was not aimed at, with
    the looks at `new`.
    """

    def before(index: int, base: ItemBelief, later: ItemBelief) -> ItemBelief:
        model, edits = bank.models[index]
        return model.before(base, later, edits)

    return _by_member(
        bank,
        {key: (old.items[key], new.items[key]) for key in old.items if key not in new.aimed},
        before,
    )


def _good_points(item: Item, mark: Mark, *, is_bad: bool) -> float:
    """The points of an answer, turned round where yes is bad."""
    points = 100.0 * (
        mark.answer if isinstance(mark.answer, bool) else float(share(item, mark.answer))
    )
    return 100.0 - points if is_bad else points


def _so_many_misread(
    good: Sequence[Key], bad: Collection[Key], errors: ItemModel, marks: Mapping[Key, Mark]
) -> float:
    """P(a look misreads as many of these items, which are met, as this one did, or more). Of those
    in `bad` yes is the misreading.
    """
    asked = [key for key in good if key in marks and not is_na(marks[key].answer)]
    misread = sum((marks[key].answer is True) == (key in bad) for key in asked)
    first, chances = binomial(len(asked), errors.misread_if_met) if asked else (0, (1.0,))
    return min(sum(chances[max(misread - first, 0) :]), 1.0)


def _edited(
    beliefs: Mapping[Key, Mapping[int, B]],
    bank: Bank[M],
    edited: Callable[[int, B, bool], B],
    aimed: Collection[Key],
) -> dict[Key, dict[int, B]]:
    """The beliefs of every member that is still in the bank after an edit."""
    hit = {key: (one,) for key, one in beliefs.items() if key in aimed}
    spared = {key: (one,) for key, one in beliefs.items() if key not in aimed}
    changed = _by_member(bank, hit, lambda index, one: edited(index, one, True))
    changed |= _by_member(bank, spared, lambda index, one: edited(index, one, False))
    return {key: changed[key] for key in beliefs}


def _by_member(
    bank: Bank[M], beliefs: Mapping[Key, tuple[Mapping[int, B], ...]], change: Callable[..., B]
) -> dict[Key, dict[int, B]]:
    """`change(index, *beliefs)` of each item, by every member that is still in the bank. Items that
    are believed alike stay so; members may share a belief, and differ in what they make of it.
    """
    same: dict[tuple[int, ...], B] = {}
    alike: dict[tuple[int, ...], dict[int, B]] = {}
    changed: dict[Key, dict[int, B]] = {}
    for key, believed in beliefs.items():
        together = tuple([id(one) for one in believed])
        if together not in alike:
            own = alike[together] = {}
            for index in bank.weights:
                ones = [one[index] for one in believed]
                place = (index, *map(id, ones))
                if place not in same:
                    same[place] = change(index, *ones)
                own[index] = same[place]
        changed[key] = alike[together]
    return changed
