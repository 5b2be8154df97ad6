"""How probable it is that one version of a run is better than the original, by every vote of the
run.

The beliefs of `beliefs` hold each version by itself. To compare two versions, what they have in
common must not count twice: an item that no edit was aimed at is the same item in both, misread in
the same way. So the truth of the original is kept next to that of the later version. For a yes/no
item this is a chain of states along the edits that lead to the version; votes about versions that
were given up join the chain as messages (belief propagation on a tree, which is exact). For an
anchored item the truth of the original is one more unknown of the normal distribution.

What an edit does is learned from the run: several assumptions about the worker are held at once,
and each vote says which of them expected it. A worker that changes nothing is therefore not
believed to have helped because time passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import product
from math import exp, log, sqrt
from typing import Final, NamedTuple, TypeVar

from honestone.core.ballot import Mark
from honestone.core.belief.items import BROKEN, FAKED, ItemModel, Looks
from honestone.core.belief.normal import NODES, below
from honestone.core.belief.scores import (
    AIMED,
    ASIDE,
    Component,
    EditEffect,
    Row,
    ScoreBelief,
    ScoreModel,
    belief_of,
    headroom,
    merged_part,
)
from honestone.core.rubric import Criterion, Key, Rubric
from honestone.core.scorecard import is_na, share_of

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
# How often an edit that destroys the artifact breaks an item that is met.
ACCIDENT: Final = 0.8
# How often an edit makes an unmet item only look met to a program.
FAKED_PROGRAMS: Final = 0.01


class WorkerModel(NamedTuple):
    """An assumption about the worker: `fixes` is how often its edit fixes an unmet item that it was
    given, `lifts` how often one that it was not given, `breaks` how often it breaks an item that is
    met, and `prior` how probable that is before the first vote. A worker that writes the whole text
    again fixes what it was not asked for as often as what it was.
    """

    fixes: float
    lifts: float
    breaks: float
    prior: float


WORKERS: Final = (
    WorkerModel(fixes=0.02, lifts=0.002, breaks=BROKEN, prior=0.10),
    WorkerModel(fixes=0.02, lifts=0.002, breaks=0.30, prior=0.05),
    WorkerModel(fixes=0.50, lifts=0.06, breaks=BROKEN, prior=0.30),
    WorkerModel(fixes=0.25, lifts=0.03, breaks=BROKEN, prior=0.20),
    WorkerModel(fixes=0.80, lifts=0.10, breaks=BROKEN, prior=0.10),
    WorkerModel(fixes=0.50, lifts=0.06, breaks=0.30, prior=0.05),
    WorkerModel(fixes=0.40, lifts=0.40, breaks=BROKEN, prior=0.08),
    WorkerModel(fixes=0.80, lifts=0.80, breaks=BROKEN, prior=0.12),
)
# From this share of other items fixed, a worker is taken for one that writes everything again.
WHOLE: Final = 0.4
_USUAL_WORKER: Final = WORKERS[2]
# Of anchored items nothing is broken for good, so that workers who differ in `breaks` alone are
# one.
_WORKERS_OF_SCORES: Final = tuple(
    WorkerModel(
        fixes,
        lifts,
        BROKEN,
        sum(one.prior for one in WORKERS if (one.fixes, one.lifts) == (fixes, lifts)),
    )
    for fixes, lifts in dict.fromkeys((one.fixes, one.lifts) for one in WORKERS)
)
_USUAL_OF_SCORES: Final = next(
    one for one in _WORKERS_OF_SCORES if one.fixes == _USUAL_WORKER.fixes
)
# Assumptions that are less probable than this are left out.
NEGLIGIBLE: Final = 0.01

_COUNT: Final = len(NODES)
_NODE_WEIGHTS: Final = tuple(weight for _, weight in NODES)
_CLOSE: Final = 1e-9

# Weights of unmet, met and cosmetic on each node of the shared error, as in `items`.
Weights = list[float]


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


@dataclass(frozen=True, slots=True)
class Better:
    """`probability` (0-1) that a version has a higher score than the original, and the points that
    it is expected to gain.
    """

    probability: float
    gain: float


class VersionComparison:
    """The votes and edits of a run, ready to be asked how a version compares with the original.

    `checks` are the answers of code, by version. `panel` and `held_out` are the judges of the run
    by name; `are_programs` says that none of them is a model or a person.
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
    ) -> None:
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
            probability += both * _above_zero(changes, exact + moved.mean, moved.var)
            gain += both * (sum([p * value for value, p in changes.items()]) + exact + moved.mean)
        return Better(min(probability, 1.0), gain)

    def _path(self, version: str) -> list[str]:
        """The versions from the original to this one, both included."""
        found = [version]
        while found[-1] != self._original:
            found.append(self._edits[found[-1]].base)
        return found[::-1]

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

    def _yes_no(self, path: Sequence[str]) -> list[tuple[float, dict[float, float]]]:
        """The distribution of the points gained by yes/no items, for each assumption with its
        probability.
        """
        histories: dict[_History, list[Key]] = {}
        for history, keys in self._histories.items():
            if applying := [key for key in keys if self._applies(key, path)]:
                histories[history] = applying
        if not histories:
            return [(1.0, {0.0: 1.0})]
        return [
            (share, self._changes(histories, path, *key))
            for key, share in self._assumptions.items()
        ]

    @cached_property
    def _histories(self) -> dict[_History, list[Key]]:
        """The items that judges answer with yes or no, by what happened to them: many have the same
        history.
        """
        found: dict[_History, list[Key]] = {}
        for key, item in self._questions.items():
            if item.check is None and item.anchors is None:
                found.setdefault(self._history(key), []).append(key)
        return found

    @cached_property
    def _assumptions(self) -> dict[tuple[ItemModel, WorkerModel], float]:
        """What may be true of the judges and of the worker, each with its probability by all votes
        about yes/no items.
        """
        usual = _USUAL_WORKER
        logs = {model: self._evidence(model, usual) for model in _item_models()}
        known = {(model, usual): found + log(usual.prior) for model, found in logs.items()}
        likely = [model for model, share in _shares(logs).items() if share > NEGLIGIBLE]
        for model, worker in product(likely, WORKERS):
            if worker is not usual:
                known[model, worker] = self._evidence(model, worker) + log(worker.prior)
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
        segment = {self._original: self._original}
        answered: dict[tuple[str, str], Looks] = {}
        rows = []
        for version in (self._original, *self._edits):
            edit = self._edits.get(version)
            is_aimed = edit is not None and key in edit.aimed
            segment[version] = (
                version if edit is None or is_aimed else segment.get(edit.base, version)
            )
            votes = []
            for look in self._looks.get(version, []):
                mark = look.marks.get(key)
                if mark is None or is_na(mark.answer):
                    continue
                is_good = (mark.answer is True) != is_bad
                place = (segment[version], look.judge)
                before = answered.get(place, Looks())
                votes.append((look.held_out, is_good, before))
                answered[place] = Looks(before.yes + is_good, before.no + (not is_good))
            rows.append((is_aimed, tuple(votes)))
        return tuple(rows)

    def _evidence(self, model: ItemModel, worker: WorkerModel) -> float:
        """The log of the probability of all votes about yes/no items."""
        total = 0.0
        for history, keys in self._histories.items():
            rows = self._joint(history, [self._original], model, worker)
            total += len(keys) * log(max(sum(map(sum, rows)), 1e-300))
        return total + log(
            self._prior(is_quiet=model.flip == FLIPS[0], others=len(_item_models()) - 1)
        )

    def _joint(
        self, history: _History, path: Sequence[str], model: ItemModel, worker: WorkerModel
    ) -> list[Weights]:
        """P(state of the original, state and shared error of the last version, all votes): a row
        for each state of the original (unmet, met).
        """
        order = dict(zip((self._original, *self._edits), history, strict=True))
        messages: dict[str, Weights] = {}

        def own(version: str, apart: str | None) -> Weights:
            """What the votes about a version, and those below it but for one branch, say of its
            state.
            """
            weights = _votes_on(order[version][1], model)
            for child in self._children.get(version, ()):
                if child != apart:
                    message = messages[child]
                    weights = [a * b for a, b in zip(weights, message, strict=True)]
            return weights

        on_path = set(path)
        for version in reversed(list(self._edits)):
            if version not in on_path:
                step = self._step(worker, version, is_aimed=order[version][0])
                messages[version] = step.back(own(version, None))
        following = [*path[1:], None]
        start = model.start().weights
        here = own(path[0], following[0])
        rows = []
        for state in (0, 1):
            row = [0.0] * (3 * _COUNT)
            for node in range(_COUNT):
                at = state * _COUNT + node
                row[at] = start[at] * here[at]
            rows.append(row)
        for version, after in zip(path[1:], following[1:], strict=True):
            step = self._step(worker, version, is_aimed=order[version][0])
            here = own(version, after)
            rows = [[w * h for w, h in zip(step.forward(row), here, strict=True)] for row in rows]
        return rows

    def _step(self, worker: WorkerModel, version: str, *, is_aimed: bool) -> _Step:
        breaks = ACCIDENT if version in self._accidents else worker.breaks
        return _Step(worker, is_aimed, breaks, self._faked)

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
        return {key: sum(found) / len(found) for key, found in votes.items()}

    def _prior(self, *, is_quiet: bool, others: int) -> float:
        """The probability of an assumption about the judges before the first vote."""
        return self._quiet if is_quiet else (1.0 - self._quiet) / others

    def _changes(
        self,
        histories: Mapping[_History, Sequence[Key]],
        path: Sequence[str],
        model: ItemModel,
        worker: WorkerModel,
    ) -> dict[float, float]:
        """The distribution of the points gained, under one assumption."""
        found = {0.0: 1.0}
        for history, keys in histories.items():
            was_unmet, was_met = self._joint(history, path, model, worker)
            total = sum(was_unmet) + sum(was_met)
            fixed = sum(was_unmet[_COUNT : 2 * _COUNT]) / total
            broken = (sum(was_met) - sum(was_met[_COUNT : 2 * _COUNT])) / total
            for key in keys:
                found = _moved(found, self._worth[key], fixed, broken)
        return found

    # ------------------------------------------------------------------------------------------------
    # anchored items

    def _scores(self, path: Sequence[str]) -> list[tuple[float, _Gain]]:
        """Mean and variance of the points gained by anchored items, for each assumption with its
        probability.
        """
        keys = [
            key
            for key, item in self._questions.items()
            if item.check is None and item.anchors is not None and self._applies(key, path)
        ]
        if not keys:
            return [(1.0, _Gain(0.0, 0.0))]
        usual = _USUAL_OF_SCORES
        models = _score_models(
            self._panel, len(self._numbers) - self._panel, are_programs=self._are_programs
        )
        found = {(model, usual): self._gained(keys, path, model, usual) for model in models}
        shares = _shares({model: found[model, usual][0] for model in models})
        likely = [model for model, share in shares.items() if share > NEGLIGIBLE]
        for model, worker in product(likely, _WORKERS_OF_SCORES):
            if worker is not usual:
                found[model, worker] = self._gained(keys, path, model, worker)
        logs = {
            (model, worker): seen + log(worker.prior)
            for (model, worker), (seen, _) in found.items()
        }
        whole = _shares(logs)
        return [(share, found[key][1]) for key, share in whole.items()]

    def _gained(
        self, keys: Sequence[Key], path: Sequence[str], model: PairModel, worker: WorkerModel
    ) -> tuple[float, _Gain]:
        evidence = mean = var = 0.0
        for key in keys:
            belief = model.start()
            for version in path:
                if version != self._original:
                    is_aimed = key in self._edits[version].aimed
                    belief = model.after_edit(belief, worker, is_aimed=is_aimed)
                for look in self._looks.get(version, []):
                    mark = look.marks.get(key)
                    if mark is not None and not is_na(mark.answer):
                        belief, seen = model.seen(
                            belief, self._numbers[look.judge], self._points(key, mark)
                        )
                        evidence += seen
            own = _gain_of(belief)
            pull = self._worth[key] / 100.0
            mean += pull * own.mean
            var += pull * pull * own.var
        evidence += log(self._prior(is_quiet=model.sd < SDS[0], others=len(SDS) * len(SHARED)))
        return evidence, _Gain(mean, var)

    def _points(self, key: Key, mark: Mark) -> float:
        """How good an answer is, 0-100."""
        points = 100.0 * float(share_of(self._questions[key], mark))
        return 100.0 - points if key in self._bad else points


# By version: whether its edit was aimed at the item, and each vote (of a held-out judge, good, what
# the judge said before).
_History = tuple[tuple[bool, tuple[tuple[bool, bool, Looks], ...]], ...]


class _Gain(NamedTuple):
    mean: float
    var: float


@dataclass(frozen=True, slots=True)
class _Step:
    """What an edit does to the state of an item: unmet, met, or made to look met."""

    worker: WorkerModel
    is_aimed: bool
    breaks: float
    faked: float

    def forward(self, row: Weights) -> Weights:
        """The state after the edit."""
        breaks = self.breaks
        unmet, met, faked = row[:_COUNT], row[_COUNT : 2 * _COUNT], row[2 * _COUNT :]
        if self.is_aimed:  # the errors of earlier looks are drawn again
            was_unmet, was_met, was_faked = sum(unmet), sum(met), sum(faked)
            to_met = self.worker.fixes * (was_unmet + was_faked) + (1.0 - breaks) * was_met
            to_faked = (1.0 - self.worker.fixes) * (was_faked + self.faked * was_unmet)
            to_unmet = was_unmet + was_met + was_faked - to_met - to_faked
            return [
                share * weight for share in (to_unmet, to_met, to_faked) for weight in _NODE_WEIGHTS
            ]
        lift = self.worker.lifts
        return [
            *[(1.0 - lift) * u + breaks * m for u, m in zip(unmet, met, strict=True)],
            *[lift * u + (1.0 - breaks) * m for u, m in zip(unmet, met, strict=True)],
            *faked,
        ]

    def back(self, later: Weights) -> Weights:
        """What the votes about the version after the edit say of the state before it."""
        breaks = self.breaks
        unmet, met, faked = later[:_COUNT], later[_COUNT : 2 * _COUNT], later[2 * _COUNT :]
        if self.is_aimed:
            if_unmet, if_met, if_faked = (
                sum([a * w for a, w in zip(part, _NODE_WEIGHTS, strict=True)])
                for part in (unmet, met, faked)
            )
            not_fixed = 1.0 - self.worker.fixes
            from_unmet = self.worker.fixes * if_met + not_fixed * (
                self.faked * if_faked + (1.0 - self.faked) * if_unmet
            )
            from_met = (1.0 - breaks) * if_met + breaks * if_unmet
            from_faked = self.worker.fixes * if_met + not_fixed * if_faked
            return [share for share in (from_unmet, from_met, from_faked) for _ in NODES]
        lift = self.worker.lifts
        return [
            *[(1.0 - lift) * u + lift * m for u, m in zip(unmet, met, strict=True)],
            *[(1.0 - breaks) * m + breaks * u for u, m in zip(unmet, met, strict=True)],
            *faked,
        ]


@lru_cache(maxsize=1)
def _item_models() -> tuple[ItemModel, ...]:
    return ItemModel(FLIPS[0], SHARED[0]), *(
        ItemModel(flip, rho) for flip, rho in product(FLIPS[1:], SHARED)
    )


@lru_cache(maxsize=64)
def _score_models(panel: int, held_out: int, *, are_programs: bool) -> tuple[PairModel, ...]:
    sd, faked = (QUIET_SD_PROGRAMS, FAKED_PROGRAMS) if are_programs else (QUIET_SD, FAKED)
    quiet = PairModel(sd, SHARED[0], panel, held_out, faked)
    return quiet, *(PairModel(sd, rho, panel, held_out, faked) for sd, rho in product(SDS, SHARED))


def _votes_on(votes: Iterable[tuple[bool, bool, Looks]], model: ItemModel) -> Weights:
    weights = [1.0] * (3 * _COUNT)
    for held_out, is_good, before in votes:
        chances = model.chances(before, held_out=held_out, yes=is_good)
        weights = [w * c for w, c in zip(weights, chances, strict=True)]
    return weights


def _moved(
    found: Mapping[float, float], points: float, up: float, down: float
) -> dict[float, float]:
    """A distribution of points after one more item that rises or falls by so many."""
    moved: dict[float, float] = {}
    for value, p in found.items():
        for by, chance in ((points, up), (-points, down), (0.0, 1.0 - up - down)):
            if chance > 0.0:
                place = round(value + by, 9)
                moved[place] = moved.get(place, 0.0) + p * chance
    return moved


def _above_zero(changes: Mapping[float, float], mean: float, var: float) -> float:
    """P(a discrete part plus a normal one is above 0)."""
    if var <= _CLOSE:
        return sum([p for value, p in changes.items() if value + mean > _CLOSE])
    return sum([p * below((value + mean) / sqrt(var)) for value, p in changes.items()])


K = TypeVar("K")


def _shares(logs: Mapping[K, float]) -> dict[K, float]:
    """The logs of weights as shares that sum to 1."""
    top = max(logs.values())
    weights = {key: exp(value - top) for key, value in logs.items()}
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


def _worth(criteria: Sequence[Criterion], share: float = 100.0) -> dict[Key, float]:
    """Points of the whole that each item is worth, by its weight among its siblings."""
    found: dict[Key, float] = {}
    total = sum(max(float(one.weight), 0.0) for one in criteria) or 1.0
    for one in criteria:
        own = share * abs(float(one.weight)) / total
        found.update({(one.id, item.id): own / len(one.items) for item in one.items})
        found.update(_worth(one.children, own))
    return found


def _gain_of(belief: ScoreBelief) -> _Gain:
    """How much higher the truth of the last version is than that of the original, which is the last
    unknown.
    """
    rows = [
        (
            part.weight,
            part.mean[0] - part.mean[-1],
            part.cov[0][0] + part.cov[-1][-1] - 2.0 * part.cov[-1][0],
        )
        for part in belief.parts
    ]
    mean = sum([w * m for w, m, _ in rows])
    return _Gain(mean, sum([w * (v + (m - mean) ** 2) for w, m, v in rows]))


@dataclass(frozen=True)
class PairModel(ScoreModel):
    """How judges are assumed to err, with the truth of the original as one more unknown after those
    of `ScoreModel`.
    """

    faked: float = FAKED
    _effects: dict[tuple[WorkerModel, bool], tuple[EditEffect, ...]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @cached_property
    def _first(self) -> ScoreBelief:
        (part,) = super().start().parts
        origin = [row[0] for row in part.cov]
        return belief_of(
            [Component(1.0, [*part.mean, part.mean[0]], [*part.cov, [*origin, part.cov[0][0]]])]
        )

    def start(self) -> ScoreBelief:
        return self._first

    def after_edit(
        self, belief: ScoreBelief, worker: WorkerModel, *, is_aimed: bool
    ) -> ScoreBelief:
        """The belief after an edit of such a worker."""
        before = merged_part(belief)
        parts = []
        for change in self._effects_of(worker, is_aimed):
            worn = self._worn(before, change.error_correlation)
            by = change.by * headroom(before.mean[0]) if change.scales_with_headroom else change.by
            mean, cov = (
                [worn.mean[0] + by, worn.mean[1] + change.shared, *worn.mean[2:]],
                list(worn.cov),
            )
            cov[0] = [cov[0][0] + change.sd * change.sd]
            cov[1] = [cov[1][0], cov[1][1] + change.shared_sd * change.shared_sd]
            parts.append(Component(change.weight, mean, cov))
        return belief_of(parts)

    def _effects_of(self, worker: WorkerModel, is_aimed: bool) -> tuple[EditEffect, ...]:
        """The measured effects of edits, with the part that helps as this worker is assumed to
        help. One that writes everything again works on every item as on those it was given.
        """
        if (worker, is_aimed) not in self._effects:
            weight = worker.fixes if is_aimed else worker.lifts
            if is_aimed or worker.lifts >= WHOLE:
                helped, harmed, faked = AIMED
                others = [harmed, faked._replace(weight=self.faked)]
            else:
                *others, helped = ASIDE
            left = sum(one.weight for one in others)
            rest = [one._replace(weight=one.weight * (1.0 - weight) / left) for one in others]
            self._effects[worker, is_aimed] = (helped._replace(weight=weight), *rest)
        return self._effects[worker, is_aimed]

    def _worn(self, part: Component, error_correlation: float) -> Component:
        """Errors that are drawn again; the two truths are what they were."""
        if error_correlation == 1.0:
            return part
        last = len(part.mean) - 1
        inner = Component(part.weight, part.mean[:last], part.cov[:last])
        worn = ScoreModel._worn(self, inner, error_correlation)
        origin: Row = [
            part.cov[last][0],
            *[error_correlation * c for c in part.cov[last][1:last]],
            part.cov[last][last],
        ]
        return Component(part.weight, [*worn.mean, part.mean[last]], [*worn.cov, origin])
