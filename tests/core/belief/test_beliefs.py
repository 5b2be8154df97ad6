from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.belief import assumptions
from honestone.core.belief.assumptions import QUIET_FLIP, QUIET_SD, item_bank
from honestone.core.belief.beliefs import Beliefs
from honestone.core.judging.ballot import Mark
from honestone.core.judging.rubric import Key, Rubric

from ..strategies import ballot, checked, checklist, group, percent, rubric, rubrics, yes_no
from ..test_loop import Chance

SCALES = rubric(*[percent(name) for name in "abcde"], floor=60)
LISTS = rubric(*[checklist(name, "uvwxyz") for name in "abcde"], floor=60)
JUDGES = ("p0", "p1", "h0")


def beliefs(of: Rubric) -> Beliefs:
    return Beliefs(of, "v0", ("p0", "p1"), ("h0",))


def look(judge: str, answers: dict[str, Any]) -> Any:
    return ballot(judge, answers).marks


def test_noise_is_learned_from_the_votes() -> None:
    """Three equal looks are those of quiet judges, three that differ much are not."""
    found = beliefs(SCALES)
    for judge in JUDGES:
        found.see("v0", judge, look(judge, {"a": 70, "b": 55, "c": 63, "d": 81, "e": 66}))
    assert found.noise["sd"] == pytest.approx(QUIET_SD, abs=0.1)
    loud = beliefs(SCALES)
    for turn, judge in enumerate(JUDGES):
        marks = {name: 70 + (25 if (turn + n) % 2 else -25) for n, name in enumerate("abcde")}
        loud.see("v0", judge, look(judge, marks))
    assert loud.noise["sd"] > 13
    lists = beliefs(LISTS)
    answers = {c: {i: (ord(c) + ord(i)) % 3 > 0 for i in "uvwxyz"} for c in "abcde"}
    for judge in JUDGES:
        lists.see("v0", judge, look(judge, answers))
    assert QUIET_FLIP - 1e-9 <= lists.noise["flip"] < 0.05


@pytest.mark.parametrize("are_programs", [True, False])
def test_no_assumption_is_given_up_before_a_vote_speaks_against_it(are_programs: bool) -> None:
    bank = item_bank(are_programs=are_programs).fresh()
    before = dict(bank.weights)
    bank.learn(dict.fromkeys(before, -8.0))
    assert bank.weights == pytest.approx(before)


ONE_LIST = rubric(checklist("a", "stuvwxyz"), threshold=87, floor=0)


def _probabilities(seed: int, flip: float) -> list[float]:
    """What is believed after each look at a text that is edited seven times. Judges misread `flip` of
    the items, and again what they misread before.
    """
    rng, found, version = random.Random(seed), beliefs(ONE_LIST), "v0"
    truth = {item: rng.random() < 0.5 for item in "stuvwxyz"}
    edits = dict.fromkeys(truth, 0)
    stated = []
    for turn in range(10):
        judge = JUDGES[turn % 3]
        answers = {
            item: met != (random.Random(f"{seed} {judge} {item} {edits[item]}").random() < flip)
            for item, met in truth.items()
        }
        found.see(version, judge, look(judge, {"a": answers}))
        stated.append(found.probability(version))
        if turn < 7:
            aim = rng.choice(sorted(truth))
            found.edit(version, f"v{turn + 1}", ("a",), [("a", aim)])
            version = f"v{turn + 1}"
            truth[aim] = truth[aim] or rng.random() < 0.6
            edits[aim] += 1
    return stated


@pytest.mark.slow
@pytest.mark.parametrize("flip", [0.0, 0.05, 0.15])
def test_what_is_given_up_changes_no_probability_by_more_than_a_few_points(
    monkeypatch: pytest.MonkeyPatch, flip: float
) -> None:
    stated = [_probabilities(seed, flip) for seed in range(2)]
    monkeypatch.setattr(assumptions, "FORGOTTEN", 0.0)
    for seed, found in enumerate(stated):
        assert found == pytest.approx(_probabilities(seed, flip), abs=0.03)


def test_votes_carry_over_to_what_an_edit_did_not_touch() -> None:
    of = rubric(percent("a"), percent("b"))
    found = beliefs(of)
    for judge in JUDGES:
        found.see("v0", judge, look(judge, {"a": 90, "b": 40}))
    found.edit("v0", "v1", ("b",), ())
    criteria, _ = found.outlook("v1")
    assert criteria["a"].mean > 80 and criteria["a"].var < criteria["b"].var
    assert 40 < criteria["b"].mean < 60


def test_looks_at_a_rejected_version_count_for_what_its_edit_left_alone() -> None:
    """The same marks on what was not touched make the base surer; marks far from them say that it
    was touched.
    """
    ends = {}
    for points in (80, 20):
        found = beliefs(rubric(percent("a"), percent("b")))
        found.see("v0", "p0", look("p0", {"a": 80, "b": 50}))
        found.edit("v0", "v1", ("b",), ())
        found.see("v1", "p1", look("p1", {"a": points, "b": 20}))
        before = found.outlook("v0").criteria
        found.reject("v1")
        after = found.outlook("v0").criteria
        assert after["b"] == before["b"]
        ends[points] = before["a"].var - after["a"].var
    assert ends[80] > 10 and abs(ends[20]) < 1


def test_a_step_is_measured_by_the_same_looks_on_both_sides() -> None:
    """A look that fixes what the edit was aimed at, and contradicts an earlier judge elsewhere, speaks
    against the base, too: the version is still the better one.
    """
    found = beliefs(rubric(*[yes_no(name) for name in "abcdefgh"], floor=0))
    good = dict.fromkeys("abcdefgh", True)
    found.see("v0", "p0", look("p0", {**good, "a": False}))
    before = found.outlook("v0").overall.mean
    found.edit("v0", "v1", ("a",), ())
    found.see("v1", "p1", look("p1", {**good, "b": False, "c": False}))
    step = found.step("v1")
    assert found.step("v0") is None and step is not None
    assert found.outlook("v1").overall.mean < before
    assert step.mean > 0 and step.value > 0
    found.reject("v1")
    after = found.outlook("v0").overall.mean
    assert found.outlook("v1").overall.mean - after == pytest.approx(step.mean)


def test_a_judge_that_says_no_again_after_an_edit_tells_less_than_another_one() -> None:
    """The edit may have left the item as it was, and then the same judge misreads it again."""
    means = {}
    for judge in ("p0", "p1"):
        found = beliefs(rubric(*[yes_no(name) for name in "abcd"], floor=0))
        good = dict.fromkeys("abcd", True)
        found.see("v0", "p0", look("p0", {**good, "a": False}))
        found.edit("v0", "v1", ("a",), ())
        found.see("v1", judge, look(judge, {**good, "a": False}))
        means[judge] = found.outlook("v1").criteria["a"].mean
    assert means["p0"] > means["p1"]


def test_what_code_says_is_known_and_is_asked_again_after_an_edit() -> None:
    of = rubric(checked("a"), threshold=100)
    found = beliefs(of)
    assert found.probability("v0") == 0
    found.see_checks("v0", look("check", {"a": True}))
    assert found.probability("v0") == 1
    found.edit("v0", "v1", ("a",), ())
    assert found.probability("v1") == 0


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(1, 3), st.integers(0, 5))
def test_one_item_on_a_scale_makes_yes_or_no_items_no_less_sure(
    lists: int, scales: int, looks: int
) -> None:
    """What is improbable of both kinds together is not taken for unmet."""
    names = [f"y{n}" for n in range(lists)], [f"s{n}" for n in range(scales)]
    mixed = rubric(*map(yes_no, names[0]), *map(percent, names[1]), threshold=1, floor=0)
    found = beliefs(mixed)
    answers = {**dict.fromkeys(names[0], True), **dict.fromkeys(names[1], 100)}
    for turn in range(looks):
        found.see("v0", JUDGES[turn % 3], look(JUDGES[turn % 3], answers))
    # A bar of one point is met whatever the judges' errors are.
    assert looks == 0 or found.probability("v0") > 0.9


def test_yes_is_bad_for_a_penalty_and_under_a_negation() -> None:
    of = rubric(
        yes_no("good"),
        yes_no("bad", weight=-1),
        group("not", yes_no("x"), negate=True),
        threshold=100,
    )
    found = beliefs(of)
    for judge in JUDGES:
        found.see("v0", judge, look(judge, {"good": True, "bad": False, "x": False}))
    assert found.probability("v0") > 0.8 and found.unmet("v0") == []
    for judge in JUDGES * 4:
        found.see("v0", judge, look(judge, {"good": True, "bad": True, "x": True}))
    assert set(found.unmet("v0")) == {("bad", "bad"), ("x", "x")} and found.probability("v0") < 0.5
    before = found.value("v0")
    assert found.value_of_aim("v0", "bad", [("bad", "bad")]) > before
    assert found.value_of_aim("v0", "x", [("x", "x")]) > before


def test_an_item_that_most_say_does_not_apply_does_not_count() -> None:
    of = rubric(yes_no("a", may_not_apply=True), yes_no("b"), threshold=100)
    found = beliefs(of)
    for judge in JUDGES:
        found.see("v0", judge, look(judge, {"a": "n/a", "b": True}))
    assert found.unmet("v0") == [] and set(found.outlook("v0").criteria) == {"b"}


@pytest.mark.slow
@given(
    st.sampled_from([SCALES, LISTS]) | rubrics(),
    st.randoms(use_true_random=False),
    st.permutations(range(5)),
)
def test_the_order_of_ballots_on_a_version_does_not_matter(
    of: Rubric, chance: random.Random, order: list[int]
) -> None:
    looks = Chance(of, chance)
    cast = [(JUDGES[n % 3], ballot("x", looks.get(f"v{n}") or {}).marks) for n in range(5)]
    ends = []
    for turns in (range(5), order):
        found = beliefs(of)
        for turn in turns:
            found.see("v0", *cast[turn])
        ends.append(found.probability("v0"))
        assert 0.0 <= ends[-1] <= 1.0
        for bank in (found._score_bank, found._item_bank):
            assert sum(bank.weights.values()) == pytest.approx(1)
    # Assumptions that the votes all but rule out are given up, at the latest when their weight is a
    # thousandth.
    assert ends[0] == pytest.approx(ends[1], abs=0.03)


@given(st.integers(0, 4), st.sampled_from(JUDGES), st.integers(20, 80))
def test_better_marks_make_the_contract_more_probable(which: int, judge: str, rest: int) -> None:
    name = "abcde"[which]
    ends = []
    for points in (rest, rest + 20):
        found = beliefs(SCALES)
        for one in JUDGES:
            found.see("v0", one, look(one, dict.fromkeys("abcde", rest)))
        found.see("v0", judge, look(judge, {name: points}))
        ends.append(found.outlook("v0").criteria[name].mean)
    assert ends[0] < ends[1]
    lists = []
    for yes in (False, True):
        one_list = beliefs(LISTS)
        for one in JUDGES:
            one_list.see("v0", one, look(one, {n: dict.fromkeys("uvwxyz", True) for n in "abcde"}))
        one_list.see("v0", judge, look(judge, {name: {"u": yes}}))
        lists.append(one_list.probability("v0"))
    assert lists[0] <= lists[1]


# ------------------------------------------------------------------------------------------------------------
# what is learned


EIGHT = "stuvwxyz"


def all_met(judge: str, *but: str) -> Mapping[Key, Mark]:
    return look(judge, {"c": {name: name not in but for name in EIGHT}})


def test_one_misread_item_is_no_refusal_and_eight_are() -> None:
    """All eight have to be met, and judges have contradicted each other: one no more is likely."""
    found = beliefs(rubric(checklist("c", EIGHT), threshold=100))
    found.see("v0", "p0", all_met("p0", "s"))
    found.see("v0", "p1", all_met("p1", "t"))
    found.see("v0", "p0", all_met("p0", "v"))
    one, all_unmet = all_met("h0", "u"), all_met("h0", *EIGHT)
    assert found.refusal("v0", [one]) > 0.4
    assert found.refusal("v0", [one, one]) < found.refusal("v0", [one])
    assert found.refusal("v0", [all_unmet]) < 1e-4


def test_a_refusal_on_a_scale_always_counts() -> None:
    found = beliefs(rubric(percent("a")))
    assert found.refusal("v0", [look("h0", {"a": 20})]) == 0


@pytest.mark.parametrize("of_each", [False, True])
@pytest.mark.parametrize("start", [(0, 100, 50), (75, 75, 100)])
def test_full_marks_of_all_judges_reach_a_bar_at_the_top(
    start: tuple[int, int, int], *, of_each: bool
) -> None:
    """It was under 1 % sure, whatever they marked. An edit that brings more than most do, or a misread
    mark before it, does not rule out that judges hardly err.
    """
    criteria = [percent(name) for name in "abc"]
    of = rubric(*criteria, threshold=0, floor=100) if of_each else rubric(*criteria, threshold=100)
    found, last = beliefs(of), "v0"
    marks = dict(zip("abc", start, strict=True))
    found.see("v0", "p0", look("p0", marks))
    for number, name in enumerate("abc"):
        then = f"v{number + 1}"
        found.edit(last, then, (name,), ())
        marks, last = marks | {name: 100}, then
        if number < 2:
            found.see(then, "p1", look("p1", marks))
    assert found.probability("v1") < 0.05
    for judge in JUDGES:
        found.see(last, judge, look(judge, marks))
    assert found.probability(last) >= 0.95
    found.see(last, "h0", look("h0", marks | {"a": 75}))
    assert found.probability(last) < 0.5


def test_what_the_edits_of_a_worker_do_is_learned() -> None:
    """After edits that fixed nothing, the next one is expected to fix less than the first was."""
    found = beliefs(rubric(checklist("c", EIGHT), threshold=100))
    unmet = look("p0", {"c": dict.fromkeys(EIGHT, False)})
    found.see("v0", "p0", unmet)
    expected = []
    for number in range(1, 6):
        found.edit(f"v{number - 1}", f"v{number}", ("c",), [("c", "s")])
        expected.append(found.outlook(f"v{number}").overall.mean)
        found.see(f"v{number}", "p0", unmet)
        found.see(f"v{number}", "p1", unmet)
    assert expected[-1] < 0.2 * expected[0]


def test_programs_are_believed_to_err_less_until_another_judge_answers() -> None:
    of = rubric(checklist("c", EIGHT), threshold=100)
    programs, models = beliefs(of), beliefs(of)
    programs.see("v0", "p0", all_met("p0"), is_program=True)
    models.see("v0", "p0", all_met("p0"))
    assert programs.probability("v0") > models.probability("v0")
    programs.see("v0", "p1", all_met("p1"))
    models.see("v0", "p1", all_met("p1"))
    assert programs.probability("v0") == pytest.approx(models.probability("v0"), abs=0.02)
