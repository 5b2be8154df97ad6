"""Comparing versions of a run: exact along the tree of edits, and the same whatever is remembered."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from honestone.core.belief.assumptions import WORKERS, WorkerModel
from honestone.core.belief.comparison import Look, VersionComparison, VersionEdit
from honestone.core.belief.item_chain import ACCIDENT, ItemChain, ItemNode, ItemVote
from honestone.core.belief.items import ItemModel, Looks
from honestone.core.belief.memory import ComparisonMemory
from honestone.core.belief.normal import NODES
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from property_examples import examples

COUNT = len(NODES)
STATES = range(3 * COUNT)
UNMET, MET, FAKED = range(3)
FAKES = 0.05
SCALE = Anchors(levels=tuple((Fraction(n), f"level {n}") for n in range(1, 6)))
RUBRIC = Rubric(
    criteria=(
        Criterion(
            id="facts",
            requirement="The facts are right",
            items=tuple(Item(id=f"f{n}", requirement=f"Fact {n}") for n in range(3)),
        ),
        Criterion(
            id="tone",
            requirement="The tone fits",
            items=(Item(id="t", requirement="The tone fits", anchors=SCALE),),
        ),
    )
)
YES_NO = [key for key, item in RUBRIC.questions() if item.anchors is None]
ANCHORED = [key for key, item in RUBRIC.questions() if item.anchors is not None]
PANEL, HELD_OUT = ["a", "b"], ["h"]


# -- the tree of edits, against the sum over all that may have happened


def after_edit(worker: WorkerModel, breaks: float, before: int, *, is_aimed: bool) -> list[float]:
    """P(state and node after an edit), by what an edit is said to do."""
    state, node = divmod(before, COUNT)
    fixes = worker.fixes if is_aimed else worker.lifts
    chances = {
        UNMET: [1 - fixes, fixes, 0.0],
        MET: [breaks, 1 - breaks, 0.0],
        FAKED: [0.0, 0.0, 1.0],
    }[state]
    if is_aimed and state == UNMET:
        chances = [(1 - fixes) * (1 - FAKES), fixes, (1 - fixes) * FAKES]
    if is_aimed and state == FAKED:
        chances = [0.0, fixes, 1 - fixes]
    found = [0.0] * (3 * COUNT)
    for now, chance in enumerate(chances):
        for place in range(COUNT):
            share = NODES[place][1] if is_aimed else float(place == node)
            found[now * COUNT + place] = chance * share
    return found


def chance_of(votes: tuple[ItemVote, ...], model: ItemModel, state: int) -> float:
    chance = 1.0
    for held_out, is_good, before in votes:
        chance *= model.chances(before, held_out=held_out, yes=is_good)[state]
    return chance


votes_of = st.lists(
    st.builds(ItemVote, st.booleans(), st.booleans(), st.just(Looks())), max_size=2
).map(tuple)
flags = st.booleans()


@settings(max_examples=examples(8), deadline=None)
@given(
    original=votes_of,
    later=votes_of,
    given_up=votes_of,
    aimed=st.tuples(flags, flags),
    accidents=st.tuples(flags, flags),
    worker=st.sampled_from(WORKERS),
)
def test_a_chain_is_the_sum_over_all_that_may_have_happened(
    original: tuple[ItemVote, ...],
    later: tuple[ItemVote, ...],
    given_up: tuple[ItemVote, ...],
    aimed: tuple[bool, bool],
    accidents: tuple[bool, bool],
    worker: WorkerModel,
) -> None:
    """The original, a version that was accepted, and one that was given up for it."""
    model = ItemModel(0.1, 0.5)
    branch = ItemNode(1, None, aimed[1], accidents[1], given_up, 11, ())
    first = ItemNode(2, None, False, False, original, 12, (branch,))
    last = ItemNode(3, first, aimed[0], accidents[0], later, 13, ())
    was_unmet, was_met = ItemChain(model, worker, FAKES, ComparisonMemory()).joint(last)

    start = model.start().weights
    breaks = [ACCIDENT if is_accident else worker.breaks for is_accident in accidents]
    wanted = [[0.0] * (3 * COUNT), [0.0] * (3 * COUNT)]
    for before in range(2 * COUNT):
        likely = start[before] * chance_of(original, model, before)
        to_last = after_edit(worker, breaks[0], before, is_aimed=aimed[0])
        to_branch = after_edit(worker, breaks[1], before, is_aimed=aimed[1])
        branched = sum(to_branch[s] * chance_of(given_up, model, s) for s in STATES)
        for now in STATES:
            here = to_last[now] * chance_of(later, model, now)
            wanted[before // COUNT][now] += likely * branched * here
    assert was_unmet == pytest.approx(wanted[UNMET], rel=1e-9, abs=1e-15)
    assert was_met == pytest.approx(wanted[MET], rel=1e-9, abs=1e-15)


# -- memory


@st.composite
def looks_at(draw: st.DrawFn, version: str) -> Look:
    judge = draw(st.sampled_from([*PANEL, *HELD_OUT]))
    yes_no = {key: Mark(draw(st.booleans())) for key in YES_NO}
    scores = {key: Mark(draw(st.integers(1, 5))) for key in ANCHORED}
    return Look(version, judge, judge in HELD_OUT, {**yes_no, **scores})


@st.composite
def histories(draw: st.DrawFn) -> list[VersionEdit | Look]:
    """Looks and edits in turn; the base of an edit is any version before it."""
    found: list[VersionEdit | Look] = [draw(looks_at("v0"))]
    names = ["v0"]
    for number in range(1, draw(st.integers(2, 4)) + 1):
        aimed = draw(st.sets(st.sampled_from([*YES_NO, *ANCHORED])))
        found.append(VersionEdit(draw(st.sampled_from(names)), f"v{number}", frozenset(aimed)))
        names.append(f"v{number}")
        found.append(draw(looks_at(f"v{number}")))
        found.extend(draw(st.lists(st.sampled_from(names).flatmap(looks_at), max_size=2)))
    return found


@pytest.mark.slow
@settings(max_examples=examples(12), deadline=None)
@given(histories())
def test_what_is_remembered_changes_no_result(history: list[VersionEdit | Look]) -> None:
    """After each event of a run, each version compares as if it were asked for the first time."""
    memory = ComparisonMemory()
    for count in range(2, len(history) + 1):
        edits = [one for one in history[:count] if isinstance(one, VersionEdit)]
        looks = [one for one in history[:count] if isinstance(one, Look)]

        def comparison(
            memory: ComparisonMemory | None,
            edits: list[VersionEdit] = edits,
            looks: list[Look] = looks,
        ) -> VersionComparison:
            return VersionComparison(
                RUBRIC, "v0", edits, looks, {}, panel=PANEL, held_out=HELD_OUT, memory=memory
            )

        remembering = comparison(memory)
        if edits:
            version = edits[-1].version
            assert remembering.better(version) == comparison(None).better(version)


@pytest.mark.slow
def test_more_rounds_than_functions_may_call_themselves() -> None:
    """A chain of 1,500 edits, and as many that branch off."""
    count = 1500
    edits = [VersionEdit(f"v{n}", f"v{n + 1}", frozenset(YES_NO)) for n in range(count)]
    looks = [
        Look(version, "a", False, {key: Mark(True) for key in YES_NO})
        for version in ("v0", "v1", f"v{count}")
    ]
    comparison = VersionComparison(RUBRIC, "v0", edits, looks, {}, panel=["a"], held_out=[])
    for version in (f"v{count}", "v1"):
        assert 0.0 <= comparison.better(version).probability <= 1.0
