"""The loop over a suite of tasks: the worker is shown failures of `train`, `val` decides which
version is kept, and `test` certifies the result.

It is the ordinary loop (`decide` of `state.py`) with splits in place of criteria and tasks in place
of items. The score of a split is its pass rate. A task that could not be run or judged is an item
without an answer, and no failure. The test split takes the part of a held-out judge: it is run once
a version passes `val`, for one version only, so that no decision of the loop can depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.belief.stated import SPLITS_PASS, EndedBy, Ground, StatedBelief, settled
from honestone.core.belief.verdict import TextBelief
from honestone.core.errors import UsageError
from honestone.core.events import CaseAnswers, Event, Role, SuiteImprovementStarted
from honestone.core.judging.ballot import Ballot, JudgeState, Mark
from honestone.core.judging.rubric import Criterion, Item, Key, Rubric
from honestone.core.judging.scorecard import ItemLine, Line, Outcome, Scorecard, Verdict, judge_gate
from honestone.core.judging.scorer import Scorer
from honestone.core.loop.policies import SteeredByScore
from honestone.core.loop.state import Accept, LoopLimits, LoopState, RollBack, Round, Words
from honestone.core.numbers import ZERO
from honestone.core.skill.brief import SENTENCES, FailedTask, one_line, task_lines
from honestone.core.skill.evaluation import NOISE, TaskResult
from honestone.core.suite.case import Case, Split
from honestone.core.suite.comparison import bootstrap_pairs

TRAIN, VAL, TEST = (str(split) for split in (Split.TRAIN, Split.VAL, Split.TEST))

# The splits that every version is run on, in this order: one that val refuses is not run on train.
STEERING: Final = (VAL, TRAIN)

WORDS: Final = Words(
    agrees="val passes, and so does test",
    steered="val passes",
    refused="test does not",
    unseen="test was not run",
    used_up="test is run once, for the first version that passes val",
    not_workable="no task of the train split is known to fail, so there is nothing that the worker may be shown",
)


# ----------------------------------------------------------------------------------------------------------
# tasks


class Splits(Struct, frozen=True, kw_only=True):
    """The tasks of a suite that are run, by split. Raises UsageError when a split is empty."""

    train: tuple[Case, ...]
    val: tuple[Case, ...]
    test: tuple[Case, ...]

    def __post_init__(self) -> None:
        sizes = {str(split): len(self.of(str(split))) for split in Split}
        empty = [name for name, size in sizes.items() if not size]
        if empty:
            raise UsageError(
                f"the suite has no task in the split{'s' if len(empty) > 1 else ''} {' and '.join(empty)}"
                f" ({', '.join(f'{size} in {name}' for name, size in sizes.items())})",
                hint="train is shown to the worker, val accepts and test certifies, so each needs tasks of its own: "
                f"add some, or write `split: {empty[0]}` at some of the cases",
            )

    @classmethod
    def among(cls, cases: Sequence[Case]) -> Splits:
        """Sort the tasks that are not skipped. A task without a `split` gets one by the hash of its
        id, so that it stays in it when tasks are added.
        """

        def tasks(split: Split) -> tuple[Case, ...]:
            return tuple(case for case in cases if case.skip is None and case.in_split is split)

        return cls(train=tasks(Split.TRAIN), val=tasks(Split.VAL), test=tasks(Split.TEST))

    def of(self, name: str) -> tuple[Case, ...]:
        return {TRAIN: self.train, VAL: self.val, TEST: self.test}[name]

    @property
    def ids(self) -> dict[str, list[str]]:
        return {name: [case.id for case in self.of(name)] for name in (TRAIN, VAL, TEST)}


def steering_rubric(splits: Splits, *, title: str, least: Fraction) -> Rubric:
    """The rubric of a version's scorecard. Its score and gate are those of val; train has weight 0
    and is in it for what the worker is shown.
    """
    val = _criterion(VAL, "Tasks that decide whether a change is kept", splits.val, weight=1)
    train = _criterion(TRAIN, "Tasks whose failures the worker is shown", splits.train, weight=0)
    return Rubric(criteria=(val, train), title=title, threshold=least, floor=ZERO)


def certifying_rubric(splits: Splits, *, title: str, least: Fraction) -> Rubric:
    """The rubric of the test split, which only the certification is judged by."""
    test = _criterion(TEST, "Tasks that are shown to no one, run at the end", splits.test, weight=1)
    return Rubric(criteria=(test,), title=title, threshold=least, floor=ZERO)


def _criterion(name: str, requirement: str, cases: Sequence[Case], *, weight: int) -> Criterion:
    items = tuple(Item(id=case.id, requirement=_case_name(case)) for case in cases)
    return Criterion(id=name, requirement=requirement, weight=Fraction(weight), items=items)


def _case_name(case: Case) -> str:
    """A task as a report names it: its id and what it is about, on one line."""
    about = one_line(case.description or case.input)
    if not about:
        return case.id
    if len(about) > 120:
        about = f"{about[:117]}..."
    return f"{case.id}: {about}"


def ballot_of(split: str, results: Sequence[TaskResult]) -> Ballot:
    """The results of one split as a ballot whose judge is the split. A task without a result is an
    abstention with its reason, never a failure.
    """
    done = {
        (split, result.task_id): Mark(
            result.passed, (), None if result.passed else result.details or None
        )
        for result in results
        if result.passed is not None
    }
    failed = {
        (split, result.task_id): result.error or "it could not be run or judged"
        for result in results
        if result.passed is None
    }
    state = JudgeState.AVAILABLE if done else JudgeState.DEGRADED
    reason = next(iter(failed.values()), None) if state is JudgeState.DEGRADED else None
    return Ballot(judge=split, marks=done, abstained=failed, state=state, reason=reason)


class TaskScorer(Scorer):
    """A scorer of pass rates. Tasks are run, not voted on. So a split has no score by judge, and
    there is neither a missing vote nor a note about too few voters.
    """

    def __init__(self, rubric: Rubric) -> None:
        super().__init__(rubric)
        self.asks_judges = False

    def _by_judge(
        self, criterion: Criterion, items: tuple[ItemLine, ...], voters: Iterable[str]
    ) -> dict[str, Fraction]:
        return {}

    def _away(self, ballots: Sequence[Ballot]) -> list[Ballot]:
        return []


# ----------------------------------------------------------------------------------------------------------
# moves


class Move(Struct, frozen=True, kw_only=True):
    """What changed on one split from one version to another: ids of tasks that pass now and failed
    before (`won`), the reverse (`lost`), and those that had a result and have none now (`undone`).
    """

    won: tuple[str, ...]
    lost: tuple[str, ...]
    undone: tuple[str, ...]

    @property
    def rose(self) -> bool:
        return len(self.won) > len(self.lost)

    @property
    def fell(self) -> bool:
        return len(self.lost) > len(self.won)


def move(before: Line, after: Line) -> Move:
    """Compare one split of two versions. A task without a result before counts neither way: an
    agent that works again is not an improvement of the artifact.
    """
    earlier = {line.item.id: line.met for line in before.items}
    won, lost, undone = list[str](), list[str](), list[str]()
    for line in after.items:
        was, now = earlier[line.item.id], line.met
        if was is None:
            continue
        if now is None:
            undone.append(line.item.id)
        elif now > was:
            won.append(line.item.id)
        elif now < was:
            lost.append(line.item.id)
    return Move(won=tuple(won), lost=tuple(lost), undone=tuple(undone))


def count(line: Line) -> str:
    """How many tasks of a split pass, as `2 of 3`, with the number of those without a result."""
    passed = sum(1 for item in line.items if item.met)
    without = sum(1 for item in line.items if item.met is None)
    note = f" ({without} without a result)" if without else ""
    return f"{passed} of {len(line.items)}{note}"


@dataclass(frozen=True, slots=True)
class KeepWhatHelps(SteeredByScore):
    """Keep a version when val did not fall, every task of val has a result that had one before, and
    train or val rose. It is compared with the version that was kept last, which is the best one.
    """

    name: str = "keep-best"

    def judge(self, state: LoopState, version: str) -> Accept | RollBack:
        best, new = state.card(state.best), state.card(version)
        val, train = move(best.line(VAL), new.line(VAL)), move(best.line(TRAIN), new.line(TRAIN))
        if val.undone:
            return RollBack(reason=not_run(state, version, val))
        if val.fell:
            return RollBack(
                reason=f"val fell from {_from_to(best, new, VAL)}; failing now: {', '.join(val.lost)}"
            )
        passes = state.verdict(version).passed and not state.verdict(state.best).passed
        if val.rose or train.rose or passes:
            return Accept(
                version=version, reason="; ".join(_movement(best, new, name) for name in STEERING)
            )
        return RollBack(
            reason="neither rose: " + "; ".join(_movement(best, new, name) for name in STEERING)
        )


def _from_to(before: Scorecard, after: Scorecard, name: str) -> str:
    return f"{count(before.line(name))} to {count(after.line(name))}"


def _movement(before: Scorecard, after: Scorecard, name: str) -> str:
    moved = move(before.line(name), after.line(name))
    counts = _from_to(before, after, name)
    if moved.rose:
        return f"{name} rose from {counts}"
    return f"{name} fell from {counts}" if moved.fell else f"{name} held: {counts}"


def not_run(state: LoopState, version: str, val: Move) -> str:
    """Why a version is rolled back that lost results of val."""
    ids = ", ".join(val.undone)
    return f"val tasks could not be run or judged: {ids} ({_why_undone(state, version)})"


def _why_undone(state: LoopState, version: str) -> str:
    """Why a task of val has no result, by its first one."""
    ballot = state.ballots.get((version, "panel"), {}).get(VAL)
    if ballot is None:
        return "not run"
    return one_line(next(iter(ballot.abstained.values()), "no reason given"))


# ----------------------------------------------------------------------------------------------------------
# state


# A version that reaches a bar less probably gets no further look, whatever is left.
HOPELESS: Final = 0.05


class ByNeed(Struct, frozen=True, kw_only=True):
    """How the judges of one split are asked about a version. `looks`: the most that may be paid,
    where every case has as many as its quorum. `once`: one look at each text that has none.
    `known`: by text the looks on record. `alongside`: the texts of the version's other splits,
    `apart` those of other versions, by their names. `hopeless` (0-1): the probability below which
    asking ends. `again`: how often the split was asked before.
    """

    looks: int
    once: bool
    known: Mapping[str, Sequence[Ballot]]
    alongside: Mapping[str, TextBelief]
    apart: Mapping[str, TextBelief]
    hopeless: float = HOPELESS
    again: int = 0


def _is_train(line: Line) -> bool:
    return line.criterion.id == TRAIN


@dataclass(slots=True, kw_only=True)
class SuiteLoopState(LoopState):
    """The state of a loop in which the splits of a suite score versions.

    `certifier`: the scorer of the test split. `strict`: to be certified, a version has to do better
    on test than the original by more than chance. `is_by_code`: no task asks a judge. The best version is the one kept last: every
    version that is kept was better than the best before it.
    """

    certifier: Scorer
    strict: bool = False
    is_by_code: bool = False
    panel: tuple[str, ...] = STEERING
    holdouts: tuple[str, ...] = (TEST,)
    workable: Callable[[Line], bool] = _is_train
    consultations: int = 1
    words: Words = WORDS

    # `slots=True` makes a new class, which `super()` without arguments does not know. So methods
    # name the base class.

    def _find_best(self) -> None:
        self.best = self.accepted_versions[-1]

    @property
    def needs_witness(self) -> bool:
        return True

    def by_need(self, version: str, split: str) -> ByNeed | None:
        """How judges are asked about a split of a version; None for one look of each of them."""
        return None

    def new_looks(self, cases: Sequence[CaseAnswers]) -> tuple[CaseAnswers, ...]:
        """What is put on record of these answers, which another split may have brought already."""
        return ()

    def is_marked(self, version: str) -> bool:
        """Whether every split that was run gave at least one result."""
        seen = self.ballots.get((version, "panel"), {})
        return bool(seen) and all(ballot.marks for ballot in seen.values())

    def unasked(self, version: str, role: Role) -> tuple[str, ...]:
        """As in any loop, but that a change which val refuses is not run on train."""
        waiting = LoopState.unasked(self, version, role)
        if (
            waiting == (TRAIN,)
            and version not in self.accepted_versions
            and self._is_refused(version)
        ):
            return ()
        return waiting

    def every_vote_on(self, version: str) -> list[Ballot]:
        """The results on val and train. The steering rubric has no criterion for test."""
        return self.votes_on(version)

    @property
    def compared_by(self) -> Rubric:
        """A rubric in which every task of every split has the same weight: each of them shows as
        much of whether the artifact got better.
        """
        splits = (*self.rubric.criteria, *self.certifier.rubric.criteria)
        return replace(
            self.rubric,
            criteria=tuple(replace(one, weight=Fraction(len(one.items))) for one in splits),
        )

    def aimed_at(self, entry: Round) -> frozenset[Key]:
        """Every task that the base fails: the worker is shown some of them, as examples of all."""
        lines = self.card(entry.base).lines
        return frozenset(
            (line.criterion.id, one.item.id) for line in lines for one in line.short_items
        )

    def _is_refused(self, version: str) -> bool:
        val = move(self.card(self.best).line(VAL), self.card(version).line(VAL))
        return val.fell or bool(val.undone)

    @property
    def consulted(self) -> list[str]:
        """The versions that were run on test, without the original: its run certifies nothing,
        but what the others are compared with.
        """
        tested = [version for version, role in self.ballots if role == "holdout"]
        return [version for version in tested if version != self.original]

    def certification_card(self, version: str) -> Scorecard | None:
        """The scorecard of a version's run on test; None where it was not run."""
        ballot = self.ballots.get((version, "holdout"), {}).get(TEST)
        return None if ballot is None else self.certifier.card([ballot])

    def certifications(self, version: str) -> dict[str, Verdict]:
        card = self.certification_card(version)
        if card is None:
            return {}
        verdict = judge_gate(card, self.certifier.rubric)
        return {TEST: self._above_chance(card) if self.strict and verdict.passed else verdict}

    def probability(self, version: str) -> float | None:
        """That a version reaches the bars of val and test: 0 or 1 where code alone decides and they
        are decided, else None.
        """
        if not self.is_by_code or (version, "panel") not in self.ballots:
            return None
        outcome = judge_gate(self.card(version), self.rubric).outcome
        card = self.certification_card(version)
        if outcome is Outcome.PASS:
            if card is None:
                return None
            outcome = judge_gate(card, self.certifier.rubric).outcome
        return {Outcome.PASS: 1.0, Outcome.FAIL: 0.0}.get(outcome)

    def stated(self, version: str) -> StatedBelief | None:
        """How sure it is that a version reaches the bars of val and test, as reports state it."""
        chance = self.probability(version)
        if chance is None:
            return None
        grounds, rubric = self._grounds(version), self.rubric
        unasked = self._not_asked(version)
        # It limits each of the three splits, and looks at all of them are stated.
        most = None if self.is_by_code or not rubric.max_looks else 3 * rubric.max_looks
        found = settled(
            StatedBelief(
                probability=chance,
                target=None if rubric.sure is None else float(rubric.sure),
                max_looks=most,
                looks=sum([one.looks or 0 for one in grounds]),
                rests_on=grounds,
                subject=SPLITS_PASS,
                contrary="too few cases of val or of test pass",
                ended_by=self.ended_by(version),
            ),
            lacks=self.lacks_answers(version),
        )
        # What a look each of those would bring says nothing of val, without which test is not run.
        more = None if found.more_looks is None else max(found.more_looks, unasked)
        return replace(found, more_looks=more, not_asked=unasked)

    def ended_by(self, version: str) -> EndedBy | None:
        """The limit without which there would be further looks at a version; None where none is
        known to have ended them.
        """
        return None

    def lacks_answers(self, version: str) -> str:
        """What no further look brings that a verdict on a version needs."""
        return ""

    def _grounds(self, version: str) -> tuple[Ground, ...]:
        """The tasks of val and test that were run."""
        cards = self.card(version), self.certification_card(version)
        lines = [line for card in cards if card is not None for line in card.lines]
        lines = [line for line in lines if line.criterion.id != TRAIN]
        known = [one for line in lines for one in line.items if one.met is not None]
        return (Ground(kind="checks", items=len(known)),) if known else ()

    def _not_asked(self, version: str) -> int:
        """How many tasks of val and test belong to a split that was not run."""
        return sum([len(self._ids(one)) for one in (VAL, TEST) if not self._is_run(version, one)])

    def _is_run(self, version: str, split: str) -> bool:
        role: Role = "holdout" if split == TEST else "panel"
        return split in self.ballots.get((version, role), {})

    def _ids(self, split: str) -> list[str]:
        rubric = self.certifier.rubric if split == TEST else self.rubric
        items = next(one.items for one in rubric.criteria if one.id == split)
        return [item.id for item in items]

    def _above_chance(self, card: Scorecard) -> Verdict:
        """Whether test rose by more than chance: the rule of `eval --require-improvement`."""
        before = self.certification_card(self.original)
        interval = None if before is None else paired_interval(before.line(TEST), card.line(TEST))
        if interval is None:
            return Verdict(Outcome.INCONCLUSIVE, ("whether test rose is not known for every task",))
        return Verdict(Outcome.PASS) if interval[0] > 0 else Verdict(Outcome.FAIL, (NOISE,))


def paired_interval(before: Line, after: Line) -> tuple[Fraction, Fraction] | None:
    """The 95% bootstrap interval of the mean difference task by task, -1 to 1; None while a task
    has no result on one of the sides.
    """
    then = {line.item.id: line.met for line in before.items}
    return bootstrap_pairs((then[line.item.id], line.met) for line in after.items)


def state_of_suite(
    started: Event, of: Callable[..., SuiteLoopState] = SuiteLoopState
) -> SuiteLoopState:
    """The state of a run over a suite before its first event. `of` makes it."""
    assert isinstance(started, SuiteImprovementStarted)
    return of(
        scorer=TaskScorer(started.rubric),
        certifier=TaskScorer(started.certifying),
        limits=LoopLimits.of(started),
        original=started.artifact.digest,
        candidates=started.candidates,
        strict=started.require_improvement,
        is_by_code=started.is_by_code,
    )


# ----------------------------------------------------------------------------------------------------------
# the brief


def failed_tasks(card: Scorecard, cases: Sequence[Case]) -> list[FailedTask]:
    """The failed tasks of train, each with its prompt and the judge's suggestions. Tasks of val and
    test are never among them: a worker that saw them could edit towards them.
    """
    prompts = {case.id: case.input for case in cases}
    failed = []
    for line in card.line(TRAIN).short_items:
        suggestions = [mark.suggestion for _, mark in line.votes if mark.suggestion]
        failed.append(
            FailedTask(
                task_id=line.item.id,
                prompt=prompts.get(line.item.id, ""),
                details="\n".join(suggestions),
            )
        )
    return failed


def write_task_brief(
    tasks: Sequence[FailedTask], *, location: str, kind: str, number: int = 1, candidates: int = 1
) -> str:
    """Write the brief of a worker. `kind`: what is improved, in words, as "an agent skill"."""
    head = SENTENCES["tasks"].format(kind=kind, location=location)
    lines = [head, *task_lines(tasks), "", SENTENCES["tasks_aim"]]
    if candidates > 1:
        lines += [
            "",
            f"This is proposal {number} of {candidates} to the same end: try a way of your own.",
        ]
    lines += ["", SENTENCES["tasks_end"]]
    return "\n".join(lines) + "\n"
