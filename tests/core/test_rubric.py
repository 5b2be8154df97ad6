"""Rubrics: what they may be, which bar holds where, and that nothing is lost when they are written
down.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from honestone.core.errors import RubricError
from honestone.core.judging.rubric import (
    Anchors,
    Check,
    Criterion,
    Item,
    Rubric,
    from_plain,
    slug,
    to_plain,
)

from .strategies import checked, checklist, group, percent, points, rubric, rubrics, scale, yes_no


@pytest.mark.parametrize(
    ("make", "says", "path"),
    [
        (lambda: rubric(), "at least one criterion", ("criteria",)),
        (lambda: rubric(yes_no("a"), threshold=101), "`threshold` is 101", ("threshold",)),
        (lambda: rubric(yes_no("a"), threshold=-1), "`threshold` is -1", ("threshold",)),
        (lambda: rubric(yes_no("a"), floor=100.5), "`floor` is 100.5", ("floor",)),
        (
            lambda: rubric(yes_no("a", floor=120)),
            "`floor` of criterion `a` is 120",
            ("criteria", 0, "floor"),
        ),
        (
            lambda: rubric(yes_no("a"), yes_no("a")),
            "two criteria have the id `a`",
            ("criteria", 1, "id"),
        ),
        (
            lambda: rubric(group("a", yes_no("a"))),
            "two criteria have the id `a`",
            ("criteria", 0, "criteria", 0, "id"),
        ),
        (lambda: rubric(yes_no("a", weight=0)), "sum to 0", ("criteria", 0, "weight")),
        (lambda: rubric(yes_no("a", weight=0), yes_no("b", weight=0)), "sum to 0", ("criteria",)),
        (lambda: rubric(yes_no("a", weight=-1)), "sum to 0", ("criteria", 0, "weight")),
        (
            lambda: rubric(Criterion(id="a", requirement="a")),
            "either items to mark or child criteria",
            ("criteria", 0),
        ),
        (
            lambda: rubric(yes_no("a"), percent("b", weight=-1)),
            "only a yes/no criterion",
            ("criteria", 1, "weight"),
        ),
        (
            lambda: rubric(yes_no("a"), checklist("b", ["x"], weight=-1)),
            "only a yes/no",
            ("criteria", 1, "weight"),
        ),
        (
            lambda: rubric(yes_no("a"), group("b", yes_no("c"), weight=-1)),
            "only a yes/no",
            ("criteria", 1, "weight"),
        ),
        (
            lambda: rubric(yes_no("a"), yes_no("b", weight=-1, required=True)),
            "penalty",
            ("criteria", 1, "required"),
        ),
        (
            lambda: rubric(yes_no("a"), yes_no("b", weight=-1, floor=50)),
            "penalty",
            ("criteria", 1, "floor"),
        ),
        (
            lambda: rubric(checklist("a", ["x", "x"])),
            "two items with the id `x`",
            ("criteria", 0, "items", 1, "id"),
        ),
        (
            lambda: rubric(checklist("a", [Item(id="x", requirement=" ")])),
            "has no text",
            ("criteria", 0, "items", 0),
        ),
        (
            lambda: rubric(
                Criterion(id="a", requirement="", items=(Item(id="a", requirement="", whole=True),))
            ),
            "has no text",
            ("criteria", 0),
        ),
        (
            lambda: rubric(checklist("a", [Item(id="x", requirement="x", anchors=scale(5))])),
            "one level",
            ("criteria", 0, "items", 0, "anchors"),
        ),
        (
            lambda: rubric(checklist("a", [Item(id="x", requirement="x", anchors=scale(5, 5))])),
            "one level twice",
            ("criteria", 0, "items", 0, "anchors"),
        ),
        (
            lambda: rubric(checklist("a", [Item(id="x", requirement="x", anchors=scale(9, 5))])),
            "rising order",
            ("criteria", 0, "items", 0, "anchors"),
        ),
        (
            lambda: rubric(
                checklist(
                    "a",
                    [Item(id="x", requirement="x", anchors=scale(0, 5), check=Check(kind="regex"))],
                )
            ),
            "both anchors and a check",
            ("criteria", 0, "items", 0, "check"),
        ),
        (lambda: rubric(yes_no(" ")), "needs an id", ("criteria", 0, "id")),
    ],
)
def test_a_rubric_that_breaks_a_rule_is_refused(
    make: Callable[[], Rubric], says: str, path: tuple[str | int, ...]
) -> None:
    """With what is wrong and the path to it."""
    with pytest.raises(RubricError) as told:
        make()
    assert says in told.value.message
    assert told.value.path == path
    assert told.value.exit_code == 2


@pytest.mark.parametrize(
    ("levels", "mark", "share"),
    [
        ((0, 5, 10), 0, "0"),
        ((0, 5, 10), 5, "0.5"),
        ((0, 5, 10), 10, "1"),
        ((0, 5, 10), 7.5, "0.75"),
        ((0, 5, 10), 2, "0.2"),
        ((0, 10), 9.99, "0.999"),
        ((1, 2, 3, 4, 5), 1, "0"),
        ((1, 2, 3, 4, 5), 2, "0.25"),
        ((1, 5), 5, "1"),
        ((0, 25, 50, 75, 100), 67, "0.67"),
        ((-2, 3), -2, "0"),
    ],
)
def test_marks_on_a_scale_are_read_linearly(
    levels: tuple[int, ...], mark: float, share: str
) -> None:
    """Between the lowest and the highest described level, fractions too."""
    assert scale(*levels).share(mark) == Fraction(share)


@pytest.mark.parametrize("mark", [-0.01, 10.01, 11, -1, float("nan"), float("inf")])
def test_a_mark_off_the_scale_is_not_clamped(mark: float) -> None:
    """It is an error."""
    with pytest.raises(ValueError):
        scale(0, 5, 10).share(mark)


@given(st.integers(-50, 50), st.integers(1, 100), st.integers(0, 1000), st.integers(0, 1000))
def test_a_higher_mark_is_a_higher_share(low: int, span: int, one: int, other: int) -> None:
    """Whatever the scale, its ends are 0 and 1 and the order of marks is kept."""
    anchors = Anchors(levels=((Fraction(low), "low"), (Fraction(low + span), "high")))
    first, second = (low + span * n / 1000 for n in sorted((one, other)))
    clip = [min(max(mark, low), low + span) for mark in (first, second)]
    assert 0 <= anchors.share(clip[0]) <= anchors.share(clip[1]) <= 1
    assert anchors.share(low) == 0 and anchors.share(low + span) == 1


def test_the_rubrics_floor_holds_at_the_top_only() -> None:
    """A child has a floor only if it says so; its own floor goes before the rubric's; a penalty has
    none.
    """
    made = rubric(
        yes_no("plain"),
        yes_no("own", floor=90),
        yes_no("off", floor=0),
        yes_no("bad", weight=-1),
        group("top", yes_no("child"), yes_no("strict", floor=40)),
        floor=60,
    )
    floors = {c.id: made.floor_of(c, parent) for c, parent in made.walk()}
    assert floors == {
        "plain": points(60),
        "own": points(90),
        "off": 0,
        "bad": 0,
        "top": points(60),
        "child": 0,
        "strict": points(40),
    }


def test_parents_come_before_children() -> None:
    """And the questions follow in the same order, each with its key."""
    made = rubric(group("a", group("b", yes_no("c")), checklist("d", ["x", "y"])), yes_no("e"))
    assert [(c.id, parent) for c, parent in made.walk()] == [
        ("a", None),
        ("b", "a"),
        ("c", "b"),
        ("d", "a"),
        ("e", None),
    ]
    assert [key for key, _ in made.questions()] == [("c", "c"), ("d", "x"), ("d", "y"), ("e", "e")]


def test_a_rubric_knows_whom_it_asks() -> None:
    """With checks alone no judge is needed; mixed, both are."""
    assert (rubric(checked("a")).asks_judges, rubric(checked("a")).has_checks) == (False, True)
    assert (rubric(yes_no("a")).asks_judges, rubric(yes_no("a")).has_checks) == (True, False)
    mixed = rubric(
        checklist("a", ["x", Item(id="y", requirement="y", check=Check(kind="regex", value="y"))])
    )
    assert mixed.asks_judges and mixed.has_checks


@given(rubrics())
def test_a_rubric_written_down_reads_back_the_same(made: Rubric) -> None:
    """Through JSON text, as a run records it."""
    assert from_plain(json.loads(json.dumps(to_plain(made)))) == made


def test_every_field_is_written_down() -> None:
    """Also those that the generated rubrics leave out."""
    item = Item(
        id="x",
        requirement="x",
        may_not_apply=True,
        fix="./tool x",
        check=Check(
            kind="regex", value="a|b", negated=True, options={"path": "*.md", "timeout": 3}
        ),
    )
    made = rubric(
        checklist("a", [item], fix="./tool a", floor=0, required=True, weight="2.5"), title="T"
    )
    assert from_plain(json.loads(json.dumps(to_plain(made)))) == made
    assert made.criteria[0].items[0].check is not None
    assert made.criteria[0].items[0].check.name == "not-regex"


@pytest.mark.parametrize(
    ("text", "made"),
    [
        ("States the exact version", "states-the-exact-version"),
        ("  Really?! Yes. ", "really-yes"),
        ("中文 条目", "中文-条目"),
        ("...", "item"),
        ("", "item"),
    ],
)
def test_an_items_id_is_made_of_its_words(text: str, made: str) -> None:
    """In any script; never empty."""
    assert slug(text) == made


@given(st.text(max_size=200), st.integers(1, 60))
def test_an_id_is_never_empty_nor_too_long(text: str, limit: int) -> None:
    """However odd or long the text is."""
    made = slug(text, limit=limit)
    assert made and (len(made) <= limit or made == "item")
    assert not made.startswith("-")
