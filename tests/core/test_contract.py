"""The contract: one id for all that gives a score its meaning, and words for what changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from honestone.core.judging.contract import (
    Contract,
    canonical,
    canonical_text,
    differences,
    digest_json,
    digest_of_list,
    digest_with,
    make_contract,
)
from honestone.core.judging.rubric import Check, Item, Rubric, from_plain, to_plain

from .strategies import checklist, points, rubric, rubrics, scale, yes_no

OF = rubric(
    checklist(
        "a",
        [
            Item(id="x", requirement="has x", check=Check(kind="contains", value=["x"])),
            Item(id="y", requirement="has y", anchors=scale(0, 10)),
        ],
        weight=2,
        floor=50,
    ),
    yes_no("b"),
    title="T",
    floor=60,
)
JUDGES = [{"id": "ann", "model": "m1"}, {"id": "bob", "model": "m2"}]


@given(
    st.dictionaries(st.text(max_size=3), st.integers() | st.text(max_size=3), max_size=5),
    st.dictionaries(st.text(max_size=3), st.lists(st.integers(), max_size=2), max_size=3),
)
def test_values_that_are_written_already_give_the_digest_of_the_whole(
    document: dict[str, object], more: dict[str, object]
) -> None:
    document = {name: value for name, value in document.items() if name not in more}
    written = {name: canonical(value) for name, value in more.items()}
    assert digest_with(document, written) == digest_json({**document, **more})


def contract(of: Rubric = OF, **changes: Any) -> Contract:
    parts: dict[str, Any] = {
        "judges": JUDGES,
        "checks": [{"kind": "contains"}],
        "rule": "mean",
        "options": {"ask": "all"},
    }
    return make_contract(of, **{**parts, **changes})


def with_item(**changes: Any) -> Rubric:
    first = OF.criteria[0]
    return replace(
        OF,
        criteria=(
            replace(first, items=(replace(first.items[0], **changes), first.items[1])),
            OF.criteria[1],
        ),
    )


def with_criterion(**changes: Any) -> Rubric:
    return replace(OF, criteria=(replace(OF.criteria[0], **changes), OF.criteria[1]))


@pytest.mark.parametrize(
    "change",
    [
        lambda: contract(replace(OF, title="T.")),
        lambda: contract(replace(OF, threshold=points("70.0000001"))),
        lambda: contract(replace(OF, floor=points(61))),
        lambda: contract(replace(OF, criteria=OF.criteria[::-1])),
        lambda: contract(replace(OF, criteria=OF.criteria[:1])),
        lambda: contract(with_criterion(id="A")),
        lambda: contract(with_criterion(requirement="a is complet")),
        lambda: contract(with_criterion(weight=points(201))),
        lambda: contract(with_criterion(floor=None)),
        lambda: contract(with_criterion(floor=points(0))),
        lambda: contract(with_criterion(required=True)),
        lambda: contract(with_item(id="z")),
        lambda: contract(with_item(requirement="has x.")),
        lambda: contract(with_item(may_not_apply=True)),
        lambda: contract(with_item(check=None)),
        lambda: contract(with_item(check=Check(kind="contains", value=["X"]))),
        lambda: contract(with_item(check=Check(kind="contains", value=["x"], negated=True))),
        lambda: contract(
            with_item(check=Check(kind="contains", value=["x"], options={"path": "a.md"}))
        ),
        lambda: contract(judges=JUDGES[:1]),
        lambda: contract(judges=JUDGES[::-1]),
        lambda: contract(judges=[JUDGES[0], {**JUDGES[1], "model": "m3"}]),
        lambda: contract(judges=[JUDGES[0], {**JUDGES[1], "effort": "high"}]),
        lambda: contract(checks=[]),
        lambda: contract(checks=[{"kind": "contains", "sandbox": "bwrap"}]),
        lambda: contract(rule="median"),
        lambda: contract(options={"ask": "criterion"}),
        lambda: contract(options={}),
    ],
)
def test_every_change_changes_the_contract(change: Callable[[], Contract]) -> None:
    """One character of the rubric, a judge, a threshold; and the difference can be told in words."""
    before, after = contract(), change()
    assert before.id != after.id
    assert differences(before.document, after.document)


def test_the_same_is_the_same() -> None:
    """Built again, read back from JSON, or with the keys of an identity in another order."""
    turned = [dict(reversed(judge.items())) for judge in JUDGES]
    assert contract(judges=turned).id == contract().id
    back = json.loads(json.dumps(contract().document))
    assert digest_json(back) == contract().id
    assert contract(from_plain(back["rubric"])).id == contract().id
    assert differences(contract().document, back) == []


@given(rubrics(), rubrics())
def test_two_rubrics_have_one_id_only_if_they_are_equal(one: Rubric, other: Rubric) -> None:
    """And whenever the ids differ, the difference has words."""
    same = contract(one).id == contract(other).id
    assert same == (one == other)
    assert same == (differences(to_plain(one), to_plain(other)) == [])


_plain = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(
    st.dictionaries(st.text(max_size=3), _plain, max_size=4),
    st.dictionaries(st.text(max_size=3), _plain, max_size=4),
)
def test_what_differs_in_the_id_differs_in_words(
    one: dict[str, Any], other: dict[str, Any]
) -> None:
    """1, 1.0 and true are three things; an empty list is no empty object."""
    assert (digest_json(one) == digest_json(other)) == (differences(one, other) == [])


@given(
    st.dictionaries(st.text(max_size=3), _plain, max_size=4),
    st.text(max_size=3),
    st.lists(_plain, max_size=3),
)
@example({"a": 1, "z": {"cases": None}}, "cases", [["c1", "x"], []])
@example({"z": 1}, "cases", [[number, "x"] for number in range(600)])
def test_a_list_that_is_not_held_has_the_same_id(
    document: dict[str, Any], key: str, entries: list[Any]
) -> None:
    """Wherever its key is among the others."""
    document.pop(key, None)
    assert digest_of_list(document, key, iter(entries)) == digest_json({**document, key: entries})


@pytest.mark.parametrize(("one", "other"), [(1, True), (0, False), (1, 1.0), ([], {}), ("", None)])
def test_look_alikes_differ(one: object, other: object) -> None:
    """What Python or a reader may take for equal is told apart."""
    assert digest_json({"v": one}) != digest_json({"v": other})
    assert len(differences({"v": one}, {"v": other})) == 1


def test_differences_are_readable() -> None:
    """By id where things have one; new, gone and changed values."""
    told = differences(
        {
            "criteria": [{"id": "a", "weight": "1"}, {"id": "b", "weight": "2"}],
            "rule": "mean",
            "old": 1,
        },
        {"criteria": [{"id": "a", "weight": "3"}], "rule": "mean", "new": [1]},
    )
    assert told == [
        "criteria[a].weight: 1 became 3",
        'criteria[b]: {"id":"b","weight":"2"} is gone',
        "old: 1 is gone",
        "new: [1] is new",
    ]


def test_long_values_are_cut() -> None:
    """A changed prompt does not fill the screen."""
    (line,) = differences({"p": "x" * 5000}, {"p": "y" * 5000})
    assert len(line) < 200


@given(st.permutations(["a", "b", "c"]), _plain)
def test_one_value_has_one_text(keys: list[str], value: Any) -> None:
    """Whatever the order of its keys."""
    assert canonical(dict.fromkeys(keys, value)) == canonical(dict.fromkeys(sorted(keys), value))


@given(st.text(st.characters()))
@example("".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\ud800\udfff")
@example("".join(map(chr, range(0x300))) + "\u2028\u2029\ufeff\U0010ffff")
def test_a_text_alone_is_written_as_within_a_value(text: str) -> None:
    """Requests on record are found by it, those of earlier versions too."""
    written = canonical(text).encode("utf-8", "surrogatepass")
    assert canonical_text(text) == canonical_text(Template(text)) == written


class Template(str):
    """As packages with judges of their own make them."""


def test_not_a_number_has_no_text() -> None:
    """NaN would be equal to nothing, itself included."""
    with pytest.raises(ValueError):
        canonical({"v": float("nan")})


def test_half_a_character_does_not_stop_the_hash() -> None:
    """A lone surrogate out of a JSON file is no reason for a traceback."""
    assert digest_json("\ud800") != digest_json("\ud801")
