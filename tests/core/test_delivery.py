"""What a loop delivers: a version that passed, or one that is better by its marks and probably so
by every vote; else the original.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from honestone.core.belief.comparison import Look, VersionComparison, VersionEdit
from honestone.core.editing.proposal import ProposalOutcome
from honestone.core.editing.result import DeliveryRule
from honestone.core.events import (
    BallotCast,
    EditProposed,
    ImprovementStarted,
    LimitReached,
    RunFinished,
    StartedArtifact,
    StartedSuite,
    SuiteImprovementStarted,
    VersionAccepted,
    VersionRejected,
)
from honestone.core.judging.ballot import Ballot, Mark
from honestone.core.judging.rubric import Anchors, Check, Criterion, Item, Rubric
from honestone.core.judging.scorecard import Line
from honestone.core.judging.spend import Spend
from honestone.core.loop.delivery import LEAST_SURE, delivery
from honestone.core.loop.named import POLICIES, policy_named
from honestone.core.loop.state import (
    Accept,
    Ask,
    LoopLimits,
    LoopState,
    Propose,
    Result,
    RollBack,
    Stop,
    decide,
    state_of_rubric,
)
from honestone.core.loop.suite_loop import (
    KeepWhatHelps,
    Splits,
    certifying_rubric,
    state_of_suite,
    steering_rubric,
)
from honestone.core.suite.case import Case, Message, Split
from property_examples import examples

COUNT = 6
WORKERS = ("helps", "harms", "appends", "rewords", "idle", "wild")
JUDGES = ("truthful", "noisy", "lenient", "yes", "no", "moody")
CALLS = 30


class World:
    """Texts of six properties. A version is its properties and a number, so that versions with
    equal properties differ.
    """

    def __init__(self, seed: int, worker: str, judges: str) -> None:
        self.random, self.worker, self.judges = random.Random(seed), worker, judges
        self.versions = {"version 0": tuple(self.random.random() < 0.4 for _ in range(COUNT))}

    def edit(self, base: str) -> str | None:
        """The name of a new version; None where the worker changed nothing."""
        met = list(self.versions[base])
        kind = self.random.choice(WORKERS[:4]) if self.worker == "wild" else self.worker
        if kind == "idle":
            return None
        unmet_places = [place for place, is_met in enumerate(met) if not is_met]
        met_places = [place for place, is_met in enumerate(met) if is_met]
        if kind == "helps" and unmet_places:
            met[self.random.choice(unmet_places)] = True
        if kind == "harms" and met_places:
            met[self.random.choice(met_places)] = False
        name = f"version {len(self.versions)}"
        self.versions[name] = tuple(met)
        return name

    def says(self, is_met: bool) -> bool:
        misreads = self.random.random()
        match self.judges:
            case "truthful":
                return is_met
            case "noisy":
                return is_met != (misreads < 0.15)
            case "lenient":
                return is_met or misreads < 0.4
            case "yes":
                return True
            case "no":
                return False
            case _:
                return misreads < 0.5

    def quality(self, version: str) -> int:
        return sum(self.versions[version])


def rubric_of(kind: str) -> Rubric:
    """Six questions: as criteria of their own, as one checklist with floors, or on a scale with one
    required.
    """
    names = [f"p{place}" for place in range(COUNT)]
    if kind == "checklist":
        halves = (names[: COUNT // 2], names[COUNT // 2 :])
        criteria = tuple(
            Criterion(
                id=f"half{number}",
                requirement="Half of the properties hold",
                items=tuple(Item(id=name, requirement=f"{name} holds") for name in half),
            )
            for number, half in enumerate(halves)
        )
        return Rubric(criteria=criteria, threshold=Fraction(9, 10), floor=Fraction(6, 10))
    scale = (
        Anchors(levels=((Fraction(0), "not at all"), (Fraction(100), "in full")))
        if kind == "scale"
        else None
    )
    criteria = tuple(
        Criterion(
            id=name,
            requirement=f"{name} holds",
            required=kind == "scale" and name == "p0",
            items=(Item(id=name, requirement=f"{name} holds", anchors=scale),),
        )
        for name in names
    )
    return Rubric(criteria=criteria, threshold=Fraction(9, 10), floor=Fraction(0))


def marks_of(world: World, rubric: Rubric, version: str) -> dict[tuple[str, str], Mark]:
    """A judge's answers: yes or no, or points with an error of up to ten."""
    found = {}
    for key, item in rubric.questions():
        is_yes = world.says(world.versions[version][int(key[1][-1])])
        if item.anchors is None:
            found[key] = Mark(is_yes)
        else:
            off = 0 if world.judges == "truthful" else world.random.randint(0, 10)
            found[key] = Mark(80 - off if is_yes else 20 + off)
    return found


def drive(world: World, policy_name: str, rubric: Rubric) -> LoopState:
    """One run to its end, as the engine does it."""
    policy = policy_named(policy_name)
    started = ImprovementStarted(
        contract={},
        contract_id="",
        rubric=rubric,
        panel=("a", "b", "c"),
        holdouts=("h", "i"),
        artifact=StartedArtifact(path="a.md", digest="version 0"),
        policy=policy_name,
        worker="w",
        limits=LoopLimits(calls=CALLS, minutes=60, rounds=8, patience=8).to_plain(),
    )
    state = policy.start(started)
    calls = 0
    while state.finished is None:
        action = decide(state, policy)
        number = len(state.rounds)
        match action:
            case Ask():
                for judge in action.judges:
                    if calls >= CALLS:
                        state.apply(LimitReached(reason="--max-calls"))
                        break
                    calls += 1
                    ballot = Ballot(
                        judge=judge, marks=marks_of(world, rubric, action.version), kind="model"
                    )
                    state.apply(
                        BallotCast(
                            version=action.version,
                            role=action.role,
                            ballot=ballot,
                            draw=action.draw,
                            spend=Spend(judge_calls=1),
                        )
                    )
            case Propose():
                propose(world, state, action)
            case Accept(version=version, reason=reason):
                state.apply(VersionAccepted(round=number, version=version, reason=reason))
                state.delivered = delivery(state).version
            case RollBack(reason=reason):
                state.apply(VersionRejected(round=number, reason=reason))
            case Stop():
                finish(state, action)
    return state


def propose(world: World, state: LoopState, action: Propose) -> None:
    version = world.edit(action.base)
    state.apply(
        EditProposed(
            round=len(state.rounds) + 1,
            focus=action.focus,
            outcome=ProposalOutcome.UNCHANGED if version is None else ProposalOutcome.CHANGED,
            items=action.items,
            version=version,
            spend=Spend(worker_calls=1),
        )
    )


def finish(state: LoopState, stop: Stop) -> None:
    chosen = delivery(state, stop.result)
    state.apply(RunFinished(result=str(stop.result), reason=stop.reason, delivery=chosen))


def means(state: LoopState, version: str) -> Mapping[tuple[str, str], float]:
    """Each item's mean over every ballot of the run, worked out here again."""
    found: dict[tuple[str, str], list[float]] = {}
    for (of, _), ballots in state.ballots.items():
        for ballot in ballots.values() if of == version else ():
            for key, mark in ballot.marks.items():
                found.setdefault(key, []).append(float(mark.answer))
    return {key: sum(values) / len(values) for key, values in found.items()}


def meets(line: Line) -> bool:
    return (
        line.score is not None
        and line.score >= line.floor
        and (line.score > 0 or not line.criterion.required)
    )


def assert_one_of_three(state: LoopState) -> None:
    """Passed; or better by marks, with no bar of a criterion lost and at least 80 %; or the
    original.
    """
    assert state.finished is not None and state.delivery is not None
    chosen = state.delivery
    if state.finished.result is Result.PASSED:
        assert chosen.rule is DeliveryRule.PASSED
        return
    if chosen.version == state.original:
        assert chosen.rule is DeliveryRule.ORIGINAL
        return
    assert chosen.rule is DeliveryRule.BETTER
    assert chosen.version in state.accepted_versions
    assert chosen.probability is not None
    assert chosen.probability >= LEAST_SURE
    before, after = means(state, state.original), means(state, chosen.version)
    assert any(after[key] > before[key] for key in before.keys() & after.keys())
    old = state.scorer.card(state.every_vote_on(state.original))
    new = state.scorer.card(state.every_vote_on(chosen.version))
    for one, other in zip(old.lines, new.lines, strict=True):
        is_gate = one.criterion.required or one.floor > 0
        assert not (is_gate and meets(one)) or meets(other)


@pytest.mark.slow
@given(
    seed=st.integers(0, 10_000),
    worker=st.sampled_from(WORKERS),
    judges=st.sampled_from(JUDGES),
    policy=st.sampled_from(POLICIES),
    kind=st.sampled_from(["criteria", "checklist", "scale"]),
)
@example(seed=1, worker="harms", judges="truthful", policy="belief", kind="criteria")
@example(seed=1, worker="appends", judges="yes", policy="strict", kind="criteria")
@example(seed=1, worker="appends", judges="no", policy="plain", kind="scale")
def test_what_is_delivered_is_one_of_the_three_of_the_rule(
    seed: int, worker: str, judges: str, policy: str, kind: str
) -> None:
    """Whatever the worker does and however the judges err. Where they do not err, what is delivered
    is better in truth.
    """
    world = World(seed, worker, judges)
    state = drive(world, policy, rubric_of(kind))
    assert_one_of_three(state)
    if judges == "truthful" and state.best != state.original:
        assert world.quality(state.best) > world.quality(state.original)


ONE = Rubric(
    criteria=(
        Criterion(id="t", requirement="It holds", items=(Item(id="t", requirement="It holds"),)),
    )
)
TASKS = tuple(
    Case(
        id=f"{split}-{place}", rubric=ONE, messages=(Message("user", f"task {place}"),), split=split
    )
    for split in (Split.TRAIN, Split.VAL, Split.TEST)
    for place in range(COUNT)
)


def drive_suite(world: World) -> LoopState:
    """A loop over tasks: each split has a task for each property."""
    splits = Splits.among(TASKS)
    started = SuiteImprovementStarted(
        contract={},
        contract_id="",
        rubric=steering_rubric(splits, title="", least=Fraction(9, 10)),
        certifying=certifying_rubric(splits, title="", least=Fraction(9, 10)),
        panel=(),
        holdouts=(),
        artifact=StartedArtifact(path="a.md", digest="version 0"),
        policy="keep-best",
        worker="w",
        limits=LoopLimits(calls=500, minutes=60, rounds=6, patience=3).to_plain(),
        suite=StartedSuite(path="s.yaml"),
        splits=splits.ids,
        target="t",
        candidates=1,
        mock=False,
        require_improvement=False,
    )
    policy, state = KeepWhatHelps(), state_of_suite(started)
    while state.finished is None:
        action = decide(state, policy)
        match action:
            case Ask():
                for split in action.judges:
                    rubric = state.certifier.rubric if action.role == "holdout" else state.rubric
                    marks = {
                        key: mark
                        for key, mark in marks_of(world, rubric, action.version).items()
                        if key[0] == split
                    }
                    ballot = Ballot(judge=split, marks=marks)
                    state.apply(BallotCast(version=action.version, role=action.role, ballot=ballot))
            case Propose():
                propose(world, state, action)
            case Accept(version=version, reason=reason):
                state.apply(
                    VersionAccepted(round=len(state.rounds), version=version, reason=reason)
                )
                state.delivered = delivery(state).version
            case RollBack(reason=reason):
                state.apply(VersionRejected(round=len(state.rounds), reason=reason))
            case Stop():
                finish(state, action)
    return state


@given(seed=st.integers(0, 10_000), worker=st.sampled_from(WORKERS), judges=st.sampled_from(JUDGES))
def test_over_a_suite_what_is_delivered_is_one_of_the_three(
    seed: int, worker: str, judges: str
) -> None:
    """A task is an item, and a run of a split is a look at it."""
    world = World(seed, worker, judges)
    state = drive_suite(world)
    assert state.finished is not None and state.delivery is not None
    chosen = state.delivery
    if state.finished.result is not Result.PASSED and chosen.version != state.original:
        assert chosen.rule is DeliveryRule.BETTER
        assert (chosen.probability or 0) >= LEAST_SURE
        before, after = means(state, state.original), means(state, chosen.version)
        assert any(after[key] > before[key] for key in before.keys() & after.keys())
    if judges == "truthful" and state.best != state.original:
        assert world.quality(state.best) > world.quality(state.original)


# ------------------------------------------------------------------------------------------------
# the probability itself

YES_NO = rubric_of("criteria")
KEYS = [key for key, _ in YES_NO.questions()]


def compared(before: list[list[bool]], after: list[list[bool]], aimed: set[int]) -> float:
    """The probability that the second of two versions is better, each with some looks at it."""
    looks = [
        Look(
            version,
            f"j{number % 3}",
            False,
            {key: Mark(answer) for key, answer in zip(KEYS, look, strict=True)},
        )
        for version, found in (("old", before), ("new", after))
        for number, look in enumerate(found)
    ]
    edit = VersionEdit("old", "new", frozenset(KEYS[place] for place in aimed))
    found = VersionComparison(
        YES_NO, "old", [edit], looks, {}, panel=["j0", "j1", "j2"], held_out=[]
    )
    return found.better("new").probability


def test_a_probability_rises_with_what_speaks_for_it() -> None:
    """The same marks are no reason; one that rose is; one that three judges saw rise is a better
    one.
    """
    low, high = [False] * COUNT, [True, *[False] * (COUNT - 1)]
    nothing = compared([low], [low], {0})
    once = compared([low], [high], {0})
    thrice = compared([low] * 3, [high] * 3, {0})
    assert nothing < 0.1 < 0.7 < once < 0.8 < thrice
    assert compared([high] * 3, [low] * 3, {1}) < 0.05


def test_what_no_edit_was_aimed_at_counts_less() -> None:
    """One judge that now says yes to something that nobody worked on has more likely misread it
    once.
    """
    low, high = [False] * COUNT, [True, *[False] * (COUNT - 1)]
    assert compared([low], [high], {1}) < compared([low], [high], {0})


@settings(max_examples=examples(40))
@given(
    before=st.lists(
        st.lists(st.booleans(), min_size=COUNT, max_size=COUNT), min_size=1, max_size=4
    ),
    after=st.lists(st.lists(st.booleans(), min_size=COUNT, max_size=COUNT), min_size=1, max_size=4),
    aimed=st.sets(st.integers(0, COUNT - 1)),
)
def test_a_probability_is_one_whatever_was_said(
    before: list[list[bool]], after: list[list[bool]], aimed: set[int]
) -> None:
    """From 0 to 1, also for judges that contradict themselves."""
    assert 0.0 <= compared(before, after, aimed) <= 1.0


def test_what_code_answers_is_certain() -> None:
    """Two checks that hold now and did not before: better for sure. One of each: not."""
    item = [
        Item(id=f"c{n}", requirement="holds", check=Check(kind="contains", value=f"x{n}"))
        for n in range(2)
    ]
    rubric = Rubric(criteria=(Criterion(id="code", requirement="Code says so", items=tuple(item)),))
    old, up = (
        {("code", "c0"): Mark(False), ("code", "c1"): Mark(True)},
        {("code", "c0"): Mark(True)},
    )

    def probability(after: dict[tuple[str, str], Mark]) -> float:
        edit = VersionEdit("old", "new", frozenset())
        found = VersionComparison(
            rubric, "old", [edit], [], {"old": old, "new": after}, panel=[], held_out=[]
        )
        return found.better("new").probability

    assert probability({**up, ("code", "c1"): Mark(True)}) == 1.0
    assert probability({**up, ("code", "c1"): Mark(False)}) == 0.0


def test_a_version_that_was_not_kept_is_no_candidate() -> None:
    """Without a kept change the original is what the rule gives, with a reason."""
    started = ImprovementStarted(
        contract={},
        contract_id="",
        rubric=YES_NO,
        panel=("a",),
        holdouts=(),
        artifact=StartedArtifact(path="a.md", digest="version 0"),
        policy="belief",
        worker="w",
        limits=LoopLimits(calls=CALLS, minutes=60).to_plain(),
    )
    chosen = delivery(state_of_rubric(LoopState, started), Result.PLATEAU)
    assert (chosen.rule, chosen.version) == (DeliveryRule.ORIGINAL, "version 0")
    assert chosen.reason == "no change was kept"


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_a_worker_that_only_harms_leaves_the_original(policy: str) -> None:
    """Twenty runs of each policy with judges that do not err."""
    for seed in range(20):
        world = World(seed, "harms", "truthful")
        assert drive(world, policy, rubric_of("criteria")).best == "version 0"
