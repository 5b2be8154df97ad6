"""How probable it is that one version of a run is better than the original, by every vote of the
run.

The beliefs of `beliefs` hold each version by itself. To compare two versions, what they have in
common must not count twice: an item that no edit was aimed at is the same item in both, misread in
the same way. So the truth of the original is kept next to that of the later version. For a yes/no
item this is a chain of states along the edits that lead to the version (`item_chain`). For an
anchored item the truth of the original is one more unknown of the normal distribution
(`score_chain`).

What an edit does is learned from the run: several assumptions about the worker are held at once,
and each vote says which of them expected it. A worker that changes nothing is therefore not
believed to have helped because time passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import product
from math import exp, log
from typing import Final, NamedTuple, TypeAlias, TypeVar

from msgspec import Struct

from honestone.core.belief.assumptions import (
    USUAL_OF_SCORES,
    USUAL_WORKER,
    WORKERS,
    WORKERS_OF_SCORES,
    WorkerModel,
)
from honestone.core.belief.item_chain import (
    COUNT,
    NOTHING_GAINED,
    ItemChain,
    ItemNode,
    ItemVote,
    PointsGained,
    one_more,
)
from honestone.core.belief.items import FAKED, ItemModel, Looks
from honestone.core.belief.memory import ComparisonMemory
from honestone.core.belief.scales.chain import Gain, PairModel, ScoreChain, ScoreNode, gain_of
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Criterion, Key, Rubric
from honestone.core.judging.scorer import is_na, share_of

# Assumptions about the judges: rates of misreading a yes/no item, points that a score is off by,
# and which part of the error the panel shares. The first rate and the first deviation are of judges
# that hardly err, mostly programs.
FLIPS: Final = (0.002, 0.05, 0.10, 0.15)
SDS: Final = (6.0, 10.0, 15.0)
QUIET_SD: Final = 0.5
QUIET_SD_PROGRAMS: Final = 0.1
SHARED: Final = (0.2, 0.5)
# How probable it is before the first vote that the judges hardly err: of models and people, and
# where all of them are programs. The other assumptions share the rest.
QUIET: Final = 0.4
QUIET_PROGRAMS: Final = 0.85


# How often an edit makes an unmet item only look met to a program.
FAKED_PROGRAMS: Final = 0.01
# Assumptions that are less probable than this are left out.
NEGLIGIBLE: Final = 0.01


class VersionEdit(NamedTuple):
    """`base` became `version`; `aimed` are the items that the worker was given."""

    base: str
    version: str
    aimed: frozenset[Key]


class Look(NamedTuple):
    """What a judge answered about a version. Items without a mark are left as they are."""

    version: str
    judge: str
    held_out: bool
    marks: Mapping[Key, Mark]


class Better(Struct, frozen=True):
    """`probability` (0-1) that a version has a higher score than the original, and the points that
    it is expected to gain.
    """

    probability: float
    gain: float


class VersionComparison:
    """The votes and edits of a run, ready to be asked how a version compares with the original.

    `checks` are the answers of code, by version. `panel` and `held_out` are the judges of the run
    by name; `are_programs` says that none of them is a model or a person. `memory`: what earlier
    comparisons of the run left.
    """

    def __init__(
        self,
        rubric: Rubric,
        original: str,
        edits: Iterable[VersionEdit],
        looks: Iterable[Look],
        checks: Mapping[str, Mapping[Key, Mark]],
        *,
        panel: Sequence[str],
        held_out: Sequence[str],
        are_programs: bool = False,
        memory: ComparisonMemory | None = None,
    ) -> None:
        self._memory = ComparisonMemory() if memory is None else memory
        self._memory.begin()
        self._original = original
        self._are_programs = are_programs
        self._quiet = QUIET_PROGRAMS if are_programs else QUIET
        self._faked = FAKED_PROGRAMS if are_programs else FAKED
        self._checks = checks
        self._questions = dict(rubric.questions())
        self._bad = rubric.bad_keys
        self._worth = _worth(rubric.criteria)
        self._numbers = {
            judge: number for number, judge in enumerate(dict.fromkeys([*panel, *held_out]))
        }
        self._panel = len(panel)
        self._edits: dict[str, VersionEdit] = {}
        for edit in edits:
            if edit.version != original:
                self._edits.setdefault(edit.version, edit)
        self._children: dict[str, list[str]] = {}
        for edit in self._edits.values():
            self._children.setdefault(edit.base, []).append(edit.version)
        self._assumptions: dict[tuple[ItemModel, WorkerModel], float] = {}
        self._looks: dict[str, list[Look]] = {}
        for look in looks:
            self._looks.setdefault(look.version, []).append(look)

    def better(self, version: str) -> Better:
        """Raises KeyError for a version that no edit of the run made."""
        path = self._path(version)
        exact = self._exact(version)
        yes_no = self._yes_no(path)
        scores = self._scores(path)
        probability = gain = 0.0
        for (weight, changes), (other, moved) in product(yes_no, scores):
            both = weight * other
            probability += both * changes.above_zero(exact + moved.mean, moved.var)
            gain += both * (changes.mean + exact + moved.mean)
        return Better(min(probability, 1.0), gain)

    def _path(self, version: str) -> list[str]:
        """The versions from the original to this one, both included."""
        path = [version]
        while path[-1] != self._original:
            path.append(self._edits[path[-1]].base)
        return path[::-1]

    # ------------------------------------------------------------------------------------------------
    # checks

    def _exact(self, version: str) -> float:
        """Points gained by what code answered."""
        before, after = self._checks.get(self._original, {}), self._checks.get(version, {})
        total = 0.0
        for key, item in self._questions.items():
            if item.check is None or key not in after or key not in before:
                continue
            if not is_na(before[key].answer) and not is_na(after[key].answer):
                rise = self._points(key, after[key]) - self._points(key, before[key])
                total += self._worth[key] * rise / 100.0
        return total

    # ------------------------------------------------------------------------------------------------
    # yes/no items

    def _yes_no(self, path: Sequence[str]) -> list[tuple[float, PointsGained]]:
        """The distribution of the points gained by yes/no items, for each assumption with its
        probability.
        """
        ends = {history: self._chain(history, path) for history in self._histories}
        applying = [
            (ends[history], [self._worth[key] for key in keys if self._applies(key, path)])
            for history, keys in self._histories.items()
        ]
        changing = [(end, worths) for end, worths in applying if worths]
        if not changing:
            return [(1.0, NOTHING_GAINED)]
        if not self._assumptions:
            self._assumptions = self._judged_assumptions(ends)
        return [
            (share, self._changes(changing, *assumption))
            for assumption, share in self._assumptions.items()
        ]

    @cached_property
    def _histories(self) -> dict[_History, list[Key]]:
        """The items that judges answer with yes or no, by what happened to them: many have the same
        history.
        """
        histories: dict[_History, list[Key]] = {}
        for key, item in self._questions.items():
            if item.check is None and item.anchors is None:
                histories.setdefault(self._history(key), []).append(key)
        return histories

    def _judged_assumptions(
        self, ends: Mapping[_History, ItemNode]
    ) -> dict[tuple[ItemModel, WorkerModel], float]:
        """What may be true of the judges and of the worker, each with its probability by all votes
        about yes/no items. `ends` are the last versions of the items' chains; every vote is about a
        chain or about what branches off it.
        """
        usual = USUAL_WORKER
        logs = {model: self._evidence(ends, model, usual) for model in _item_models()}
        known = {(model, usual): found + log(usual.prior) for model, found in logs.items()}
        likely = [model for model, share in _shares(logs).items() if share > NEGLIGIBLE]
        for model, worker in product(likely, WORKERS):
            if worker is not usual:
                known[model, worker] = self._evidence(ends, model, worker) + log(worker.prior)
        shares = {key: share for key, share in _shares(known).items() if share > NEGLIGIBLE}
        total = sum(shares.values())
        return {key: share / total for key, share in shares.items()}

    def _applies(self, key: Key, path: Sequence[str]) -> bool:
        """Whether judges answered the item at both ends, and did not mostly say that it does not
        apply.
        """
        for version in (path[0], path[-1]):
            marks = [look.marks[key] for look in self._looks.get(version, []) if key in look.marks]
            if not marks or 2 * sum(is_na(mark.answer) for mark in marks) > len(marks):
                return False
        return True

    def _history(self, key: Key) -> _History:
        """By version, in the order of the run: whether its edit was aimed at the item, and who
        answered what, after which earlier answers of that judge. An edit that is aimed at the item
        makes earlier answers worth nothing.
        """
        is_bad = key in self._bad
        # The version since which the item is the same: the last one whose edit was aimed at it.
        same_since = {self._original: self._original}
        answered: dict[tuple[str, str], Looks] = {}
        rows = []
        for version in (self._original, *self._edits):
            edit = self._edits.get(version)
            is_aimed = edit is not None and key in edit.aimed
            if edit is None or is_aimed:
                same_since[version] = version
            else:
                same_since[version] = same_since.get(edit.base, version)
            votes = []
            for look in self._looks.get(version, []):
                mark = look.marks.get(key)
                if mark is None or is_na(mark.answer):
                    continue
                is_good = (mark.answer is True) != is_bad
                place = (same_since[version], look.judge)
                before = answered.get(place, Looks())
                votes.append(ItemVote(look.held_out, is_good, before))
                answered[place] = Looks(before.yes + is_good, before.no + (not is_good))
            rows.append((is_aimed, tuple(votes)))
        return tuple(rows)

    def _chain(self, history: _History, path: Sequence[str]) -> ItemNode:
        """The item along a path, with everything else of the run as branches; its last version."""
        rows = dict(zip((self._original, *self._edits), history, strict=True))
        following = dict(zip(path, [*path[1:], ""], strict=True))
        branches: dict[str, ItemNode] = {}

        def node(version: str, before: ItemNode | None, branch_off: bool) -> ItemNode:
            children = tuple(
                [
                    branches[child]
                    for child in self._children.get(version, ())
                    if branch_off or child != following[version]
                ]
            )
            is_aimed, votes = rows[version]
            is_accident = version in self._accidents
            votes_number = self._memory.number("votes", votes)
            number = self._memory.number(
                "branch" if branch_off else "chain",
                None if before is None else before.number,
                is_aimed,
                is_accident,
                votes_number,
                tuple([child.number for child in children]),
            )
            return ItemNode(number, before, is_aimed, is_accident, votes, votes_number, children)

        for version in reversed(list(self._edits)):
            if version not in following:
                branches[version] = node(version, None, branch_off=True)
        last = node(path[0], None, branch_off=False)
        for version in path[1:]:
            last = node(version, last, branch_off=False)
        return last

    def _items_under(self, model: ItemModel, worker: WorkerModel) -> ItemChain:
        return ItemChain(model, worker, self._faked, self._memory)

    def _evidence(
        self, ends: Mapping[_History, ItemNode], model: ItemModel, worker: WorkerModel
    ) -> float:
        """The log of the probability of all votes about yes/no items."""
        chain = self._items_under(model, worker)
        total = 0.0
        for history, keys in self._histories.items():
            total += len(keys) * log(max(chain.evidence(ends[history]), 1e-300))
        is_quiet = model.flip == FLIPS[0]
        return total + log(self._prior(is_quiet=is_quiet, others=len(_item_models()) - 1))

    @cached_property
    def _accidents(self) -> set[str]:
        """The versions whose edit seems to have destroyed the artifact: of what judges found met
        before, most is not met after. What becomes of such an edit says little about the others of
        the worker.
        """
        return {edit.version for edit in self._edits.values() if self._is_accident(edit)}

    def _is_accident(self, edit: VersionEdit) -> bool:
        before, after = self._met_in(edit.base), self._met_in(edit.version)
        were_met = [key for key, share in before.items() if share > 0.5 and key in after]
        return len(were_met) > 1 and 2 * sum(after[key] < 0.5 for key in were_met) > len(were_met)

    def _met_in(self, version: str) -> dict[Key, float]:
        """The share of votes on a version that are good, by yes/no item."""
        votes: dict[Key, list[bool]] = {}
        for look in self._looks.get(version, []):
            for key, mark in look.marks.items():
                if isinstance(mark.answer, bool):
                    votes.setdefault(key, []).append(mark.answer != (key in self._bad))
        return {
            key: sum(votes_on_item) / len(votes_on_item) for key, votes_on_item in votes.items()
        }

    def _prior(self, *, is_quiet: bool, others: int) -> float:
        """The probability of an assumption about the judges before the first vote."""
        return self._quiet if is_quiet else (1.0 - self._quiet) / others

    def _changes(
        self,
        changing: Sequence[tuple[ItemNode, Sequence[float]]],
        model: ItemModel,
        worker: WorkerModel,
    ) -> PointsGained:
        """The distribution of the points gained, under one assumption. `changing`: the last version
        of a chain, and the points that each of the items with this history is worth.
        """
        chain = self._items_under(model, worker)
        # Items that are worth the same move the score by a whole number of steps.
        steps: dict[float, list[float]] = {}
        for end, worths in changing:
            was_unmet, was_met = chain.joint(end)
            total = sum(was_unmet) + sum(was_met)
            fixed = sum(was_unmet[COUNT : 2 * COUNT]) / total
            broken = (sum(was_met) - sum(was_met[COUNT : 2 * COUNT])) / total
            for points in worths:
                steps[points] = one_more(steps.get(points, [1.0]), fixed, broken)
        return PointsGained.of(steps)

    # ------------------------------------------------------------------------------------------------
    # anchored items

    def _scores(self, path: Sequence[str]) -> list[tuple[float, Gain]]:
        """Mean and variance of the points gained by anchored items, for each assumption with its
        probability.
        """
        keys = [
            key
            for key, item in self._questions.items()
            if item.check is None and item.anchors is not None and self._applies(key, path)
        ]
        if not keys:
            return [(1.0, Gain(0.0, 0.0))]
        ends = [(self._worth[key] / 100.0, self._score_chain(key, path)) for key in keys]
        usual = USUAL_OF_SCORES
        models = _score_models(
            self._panel, len(self._numbers) - self._panel, are_programs=self._are_programs
        )
        found = {(model, usual): self._gained(ends, model, usual) for model in models}
        shares = _shares({model: found[model, usual][0] for model in models})
        likely = [model for model, share in shares.items() if share > NEGLIGIBLE]
        for model, worker in product(likely, WORKERS_OF_SCORES):
            if worker is not usual:
                found[model, worker] = self._gained(ends, model, worker)
        logs = {
            (model, worker): evidence + log(worker.prior)
            for (model, worker), (evidence, _) in found.items()
        }
        whole = _shares(logs)
        return [(share, found[key][1]) for key, share in whole.items()]

    def _score_chain(self, key: Key, path: Sequence[str]) -> ScoreNode:
        """The item along a path; its last version."""
        last: ScoreNode | None = None
        for version in path:
            is_aimed = last is not None and key in self._edits[version].aimed
            votes = []
            for look in self._looks.get(version, []):
                mark = look.marks.get(key)
                if mark is not None and not is_na(mark.answer):
                    votes.append((self._numbers[look.judge], self._points(key, mark)))
            before = None if last is None else last.number
            number = self._memory.number("score", before, is_aimed, *votes)
            last = ScoreNode(number, last, is_aimed, tuple(votes))
        assert last is not None
        return last

    def _gained(
        self, ends: Sequence[tuple[float, ScoreNode]], model: PairModel, worker: WorkerModel
    ) -> tuple[float, Gain]:
        """The log of the probability of the votes, and what they say was gained. `ends`: by item,
        its share of the whole, and its last version.
        """
        chain = ScoreChain(model, worker, self._memory)
        evidence = mean = var = 0.0
        for pull, end in ends:
            belief, seen = chain.seen(end)
            evidence += seen
            own = gain_of(belief)
            mean += pull * own.mean
            var += pull * pull * own.var
        evidence += log(self._prior(is_quiet=model.sd < SDS[0], others=len(SDS) * len(SHARED)))
        return evidence, Gain(mean, var)

    def _points(self, key: Key, mark: Mark) -> float:
        """How good an answer is, 0-100."""
        points = 100.0 * float(share_of(self._questions[key], mark))
        return 100.0 - points if key in self._bad else points


# By version: whether its edit was aimed at the item, and each vote (of a held-out judge, good, what
# the judge said before).
_History: TypeAlias = tuple[tuple[bool, tuple[ItemVote, ...]], ...]


@lru_cache(maxsize=1)
def _item_models() -> tuple[ItemModel, ...]:
    return ItemModel(FLIPS[0], SHARED[0]), *(
        ItemModel(flip, rho) for flip, rho in product(FLIPS[1:], SHARED)
    )


@lru_cache(maxsize=64)
def _score_models(panel: int, held_out: int, *, are_programs: bool) -> tuple[PairModel, ...]:
    sd, faked = (QUIET_SD_PROGRAMS, FAKED_PROGRAMS) if are_programs else (QUIET_SD, FAKED)
    quiet = PairModel(sd, SHARED[0], panel, held_out, faked=faked)
    return quiet, *(
        PairModel(sd, rho, panel, held_out, faked=faked) for sd, rho in product(SDS, SHARED)
    )


K = TypeVar("K")


def _shares(logs: Mapping[K, float]) -> dict[K, float]:
    """The logs of weights as shares that sum to 1."""
    top = max(logs.values())
    weights = {key: exp(value - top) for key, value in logs.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def _worth(criteria: Sequence[Criterion], share: float = 100.0) -> dict[Key, float]:
    """Points of the whole that each item is worth, by its weight among its siblings."""
    worth: dict[Key, float] = {}
    total = sum(max(float(one.weight), 0.0) for one in criteria) or 1.0
    for one in criteria:
        own = share * abs(float(one.weight)) / total
        worth.update({(one.id, item.id): own / len(one.items) for item in one.items})
        worth.update(_worth(one.children, own))
    return worth
