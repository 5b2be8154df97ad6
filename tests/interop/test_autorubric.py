"""autorubric: rubrics and datasets are read as the tool means them, and written so that they read
back the same.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rubrics import decimals, rubrics, texts
from msgspec.structs import replace

from honestone.core.errors import UsageError
from honestone.core.judging.ballot import NOT_APPLICABLE, Ballot, Mark
from honestone.core.judging.rubric import Anchors, Criterion, Item, Rubric
from honestone.core.judging.scorer import Scorer
from honestone.formats.source import ForeignRubric, SourceErrors, SuiteSource
from honestone.formats.syntax.document import Document
from honestone.interop.autorubric import read as autorubric
from honestone.interop.autorubric.write import dump_autorubric
from honestone.interop.recognise import read_any_rubric, read_any_suite, recognise
from property_examples import examples


def read(text: str | list[Any] | dict[str, Any]) -> ForeignRubric:
    document = Document(
        path=Path("r.yaml"), text=text if isinstance(text, str) else json.dumps(text)
    )
    reader = recognise(document)
    assert not isinstance(reader, str)
    source = reader.read(document)
    assert isinstance(source, ForeignRubric)
    return source


def score(rubric: Rubric, answers: dict[str, Any]) -> Fraction | None:
    marks = {(id, id): Mark(answer) for id, answer in answers.items()}
    return Scorer(rubric).card([Ballot(judge="j", marks=marks)]).score


SCALE = """
- name: depth
  weight: 3
  requirement: How deep is it?
  scale_type: nominal
  options:
    - {label: shallow, value: 0}
    - {label: off topic, value: 0}
    - {label: half, value: 0.4}
    - {label: deep, value: 1}
    - {label: does not apply, value: 0, na: true}
- requirement: Names a source
- {name: invents, weight: -2.5, requirement: Invents a source}
"""


def test_options_names_and_default_weights() -> None:
    """Options become one scale with their values, equal ones one level; no name is the text, no
    weight is 10.
    """
    source = read(SCALE)
    depth, named, invents = source.rubric.criteria
    anchors = depth.items[0].anchors
    assert anchors is not None
    assert anchors.levels == (
        (Fraction(0), "shallow / off topic"),
        (Fraction(2, 5), "half"),
        (Fraction(1), "deep"),
    )
    assert depth.items[0].may_not_apply
    assert (named.id, named.weight, named.items[0].anchors) == ("names-a-source", 10, None)
    assert invents.is_penalty and invents.weight == Fraction("-2.5")
    assert source.rubric.floor == 0 and source.losses == ()
    notes = " ".join(source.notes)
    assert "`shallow`, `off topic`" in notes and "weighs 10" in notes and "no floor" in notes


def test_the_documented_score() -> None:
    """Points won over positive weights, cut to 0..1; what does not apply leaves both."""
    rubric = read(SCALE).rubric
    assert (
        score(rubric, {"depth": 0.4, "names-a-source": True, "invents": True})
        == Fraction("8.7") / 13
    )
    assert score(rubric, {"depth": NOT_APPLICABLE, "names-a-source": True, "invents": False}) == 1
    assert score(rubric, {"depth": 0, "names-a-source": False, "invents": True}) == 0


def test_a_scale_that_ends_inside_keeps_its_values() -> None:
    """An option worth 0.25 scores 0.25, also where no option is worth 0 or 1."""
    source = read(
        [
            {
                "name": "a",
                "weight": 1,
                "requirement": "A?",
                "options": [{"label": "low", "value": 0.25}, {"label": "high", "value": 0.75}],
            }
        ]
    )
    assert score(source.rubric, {"a": 0.25}) == Fraction(1, 4)
    assert score(source.rubric, {"a": 0.75}) == Fraction(3, 4)
    assert sum("no option worth" in note for note in source.notes) == 2


def test_penalties_alone_count_down_from_one() -> None:
    """With negative weights alone the tool starts at 1 and takes off the share of what was found."""
    source = read(
        [
            {"name": "a", "weight": -1, "requirement": "A"},
            {"name": "b", "weight": -3, "requirement": "B"},
        ]
    )
    assert score(source.rubric, {"a": False, "b": False}) == 1
    assert score(source.rubric, {"a": True, "b": False}) == Fraction(3, 4)
    assert score(source.rubric, {"a": True, "b": True}) == 0
    assert any("every weight is negative" in note for note in source.notes)


@pytest.mark.parametrize(
    "shape",
    [
        lambda c: c,
        lambda c: {"rubric": c},
        lambda c: {
            "sections": [
                {"name": "s", "criteria": c[:1]},
                {"title": "t", "weight": 9, "criteria": c[1:]},
            ]
        },
        lambda c: {"rubric": {"sections": [{"criteria": c}]}},
        lambda c: [{"name": "s", "criteria": c[:1]}, *c[1:]],
    ],
)
def test_every_shape_is_the_same_flat_list(shape: Any) -> None:
    """Lists, sections and wrappers: the weights are global, as in the tool."""
    criteria = [
        {"name": "a", "weight": 1, "requirement": "A"},
        {"name": "b", "weight": 3, "requirement": "B"},
    ]
    rubric = read(shape(criteria)).rubric
    assert [(c.id, c.weight) for c in rubric.criteria] == [("a", 1), ("b", 3)]


def test_what_cannot_be_said_is_a_loss_with_its_place() -> None:
    """Guidelines, a criterion's own way to combine judges, and a penalty with options."""
    source = read(
        "guidelines: Be strict\ncriteria:\n"
        "  - {name: a, weight: 1, requirement: A, aggregation: min}\n"
        "  - name: b\n    weight: -1\n    requirement: B\n"
        "    options: [{label: x, value: 0}, {label: y, value: 1}]\n"
    )
    assert [(loss.place, loss.message.split(" ")[0]) for loss in source.losses] == [
        ("r.yaml:1:13", "`guidelines`"),
        ("r.yaml:3:55", "`aggregation:"),
        ("r.yaml:4:5", "criterion"),
    ]
    assert [c.id for c in source.rubric.criteria] == ["a"]


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        (
            "- {name: a, weight: 1, requirment: A}\n- {requirement: B}",
            "r.yaml:1:24",
            "unknown key `requirment`",
        ),
        ("- {name: a, requirement: '  '}", "r.yaml:1:26", "`requirement` is empty"),
        ("- {name: a, requirement: A, weight: heavy}", "r.yaml:1:37", "must be a number"),
        ("- {name: a, requirement: A, scale_type: ordnal}", "r.yaml:1:41", "must be one of"),
        (
            "- {name: a, requirement: A, options: [{label: x, value: 2}, {label: y, value: 1}]}",
            "r.yaml:1:57",
            "from 0 to 1",
        ),
        (
            "- {name: a, requirement: A, options: [{label: x, value: 1}, {label: y, value: 0, na: true}]}",
            "r.yaml:1:38",
            "two options",
        ),
        (
            "- {name: a, requirement: A, options: [{label: x}, {label: y, value: 0}]}",
            "r.yaml:1:39",
            "`value` is missing",
        ),
        ("- {name: a, requirement: A, weight: 0}", "r.yaml:1:1", "every weight is 0"),
        ("- {name: a, requirement: A}\n- vague", "r.yaml:2:3", "must be a mapping"),
    ],
)
def test_mistakes_have_a_place(text: str, place: str, words: str) -> None:
    """Line and column of what is wrong, never a traceback."""
    with pytest.raises(SourceErrors) as caught:
        read(text)
    assert any(error.place == place and words in error.message for error in caught.value.errors)


def test_all_mistakes_are_told_at_once() -> None:
    """Two wrong lines are two errors, in the order of the file."""
    with pytest.raises(SourceErrors) as caught:
        read("- {name: a, requirement: A, weight: x}\n- {name: b, wight: 1, requirement: B}")
    assert [error.place for error in caught.value.errors] == ["r.yaml:1:37", "r.yaml:2:13"]


def test_doubled_names_get_a_number() -> None:
    """The tool allows two criteria of one name; here each has an id of its own, and it is said."""
    source = read([{"name": "a", "requirement": "A"}, {"name": "a", "requirement": "B"}])
    assert [c.id for c in source.rubric.criteria] == ["a", "a-2"]
    assert any("`a-2`" in note for note in source.notes)


# ------------------------------------------------------------------------------------------------------
# datasets

DATASET: dict[str, Any] = {
    "name": "outages",
    "prompt": "Explain it.",
    "reference_submission": "The disk was full.",
    "rubric": [{"name": "cause", "weight": 1, "requirement": "Says why"}],
    "items": [
        {"submission": "No idea.", "description": "poor", "ground_truth": ["UNMET"]},
        {
            "submission": {"turns": 2},
            "description": "poor",
            "ground_truth": None,
            "prompt": "Explain that.",
            "reference_submission": "A leak.",
            "rubric": [{"name": "own", "weight": 1, "requirement": "Own?"}],
        },
    ],
}


def dataset(plain: dict[str, Any], tmp_path: Path) -> SuiteSource:
    path = tmp_path / "d.json"
    path.write_text(json.dumps(plain, indent=1), "utf-8")
    return read_any_suite(path)


def test_a_dataset_is_a_suite(tmp_path: Path) -> None:
    """An item's own prompt, reference and rubric come before the dataset's; nothing of it is
    dropped.
    """
    source = dataset(DATASET, tmp_path)
    first, second = source.suite.cases
    assert source.suite.title == "outages" and (first.id, second.id) == ("poor", "poor-2")
    assert (first.input, first.reference) == ("Explain it.", "The disk was full.")
    assert (second.input, second.reference) == ("Explain that.", "A leak.")
    assert [c.id for case in (first, second) for c in case.rubric.criteria] == ["cause", "own"]
    assert first.metadata == {"output": "No idea.", "ground_truth": ["UNMET"]}
    assert second.metadata == {"output": '{"turns": 2}'}
    assert source.losses == () and set(source.places) == {"poor", "poor-2"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"rubric": None}, "no rubric"),
        ({"prompt": None}, "no prompt"),
        ({"items": []}, "at least one item"),
        ({"promt": "x"}, "unknown key `promt`"),
        (
            {"items": [{"submission": "x", "description": "d", "ground_truth": ["MET", "MET"]}]},
            "2 verdicts",
        ),
        ({"items": [{"description": "d"}, {"submission": "x"}]}, "`submission` is missing"),
    ],
)
def test_a_wrong_dataset_has_a_place(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    """What is missing or unknown is named with its line."""
    with pytest.raises(UsageError) as caught:
        dataset({**DATASET, **change}, tmp_path)
    assert words in caught.value.message and f"{tmp_path / 'd.json'}:" in str(caught.value.place)


# ------------------------------------------------------------------------------------------------------
# writing


def read_back(text: str) -> Rubric:
    return read(text).rubric


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(rubrics())
def test_without_a_loss_writing_and_reading_changes_nothing(rubric: Rubric) -> None:
    """Any rubric: either it comes back identical, or what it loses was said."""
    try:
        text, losses = dump_autorubric(rubric)
    except UsageError:
        return
    if not losses:
        assert read_back(text) == rubric
    else:
        assert all(loss.place and loss.message for loss in losses)


@st.composite
def sayable(draw: st.DrawFn) -> Rubric:
    """Rubrics that autorubric can say."""
    ids = draw(st.lists(texts, min_size=1, max_size=5, unique=True))
    return Rubric(
        criteria=tuple(
            draw(sayable_criterion(id, is_first=index == 0)) for index, id in enumerate(ids)
        ),
        title=draw(st.just("") | texts),
        floor=Fraction(0),
    )


@st.composite
def sayable_criterion(draw: st.DrawFn, id: str, *, is_first: bool) -> Criterion:
    requirement = draw(texts)
    item = Item(id=id, requirement=requirement, may_not_apply=draw(st.booleans()), whole=True)
    how = draw(
        st.sampled_from(
            ["ask", "negated", "scale"] if is_first else ["ask", "negated", "scale", "penalty"]
        )
    )
    if how == "scale":
        inner = draw(
            st.lists(st.integers(1, 99).map(lambda n: Fraction(n, 100)), max_size=3, unique=True)
        )
        levels = tuple(
            (value, f"level {value}") for value in sorted([Fraction(0), *inner, Fraction(1)])
        )
        item = replace(item, anchors=Anchors(levels=levels))
    weight = draw(decimals)
    return Criterion(
        id=id,
        requirement=requirement,
        weight=-weight if how == "penalty" else weight,
        negate=how == "negated",
        items=(item,),
    )


@settings(max_examples=examples(150), deadline=None)
@given(sayable())
def test_what_autorubric_can_say_is_written_without_loss(rubric: Rubric) -> None:
    """Flat yes/no questions, penalties, negated ones and scales from 0 to 1 come back identical."""
    text, losses = dump_autorubric(rubric)
    assert losses == []
    assert read_back(text) == rubric


@settings(max_examples=examples(150), deadline=None)
@given(sayable(), st.data())
def test_the_written_file_scores_as_ours_does(rubric: Rubric, data: st.DataObject) -> None:
    """The tool's documented arithmetic over the written file gives our score for the same answers."""
    written = json.loads(dump_autorubric(rubric)[0], parse_float=Fraction)
    entries = written["rubric"] if isinstance(written, dict) else written
    answers: dict[str, Any] = {}
    won = possible = Fraction(0)
    for entry in entries:
        options = entry.get("options") or [
            {"label": "Yes", "value": 1},
            {"label": "No", "value": 0},
        ]
        chosen = data.draw(st.sampled_from(options))
        if chosen.get("na"):
            answers[entry["name"]] = NOT_APPLICABLE
            continue
        is_scale = not {"Yes", "No"} & {option["label"] for option in options}
        answers[entry["name"]] = float(chosen["value"]) if is_scale else chosen["label"] == "Yes"
        won += Fraction(entry["weight"]) * chosen["value"]
        possible += max(Fraction(entry["weight"]), Fraction(0))
    expected = min(max(won / possible, Fraction(0)), Fraction(1)) if possible else None
    assert score(rubric, answers) == expected


def test_what_is_flattened_keeps_its_share() -> None:
    """A group and a checklist become one list: the score stays, and the loss is said."""
    leaf = [Item(id=f"i{n}", requirement=f"I{n}") for n in range(3)]
    group = Criterion(
        id="g",
        requirement="G",
        weight=Fraction(2),
        children=(
            Criterion(id="a", requirement="A", weight=Fraction(1), items=tuple(leaf)),
            Criterion(
                id="b",
                requirement="B",
                weight=Fraction(3),
                items=(Item(id="b", requirement="B", whole=True),),
            ),
        ),
    )
    other = Criterion(
        id="o",
        requirement="O",
        weight=Fraction(1),
        items=(Item(id="o", requirement="O", whole=True),),
    )
    rubric = Rubric(criteria=(group, other), floor=Fraction(0))
    text, losses = dump_autorubric(rubric)
    back = read_back(text)
    assert {
        "group" in loss.message or "checklist" in loss.message or "multiplied" in loss.message
        for loss in losses
    } == {True}
    answers = {"a.i0": True, "a.i1": False, "a.i2": True, "b": True, "o": False}
    marks = {
        ("a", "i0"): True,
        ("a", "i1"): False,
        ("a", "i2"): True,
        ("b", "b"): True,
        ("o", "o"): False,
    }
    ours = (
        Scorer(rubric)
        .card([Ballot(judge="j", marks={key: Mark(m) for key, m in marks.items()})])
        .score
    )
    assert (
        score(back, answers)
        == ours
        == Fraction(2, 3) * (Fraction(1, 4) * Fraction(2, 3) + Fraction(3, 4))
    )


def test_a_rubric_of_checks_alone_cannot_be_written() -> None:
    """An empty file is no answer."""
    from honestone.core.judging.rubric import Check

    item = Item(id="c", requirement="C", check=Check(kind="is-json"), whole=True)
    with pytest.raises(UsageError, match="nothing in this rubric"):
        dump_autorubric(Rubric(criteria=(Criterion(id="c", requirement="C", items=(item,)),)))


@pytest.mark.parametrize("reader", autorubric.READERS, ids=lambda reader: reader.name)
def test_the_examples_are_recognised(reader: Any) -> None:
    """What the reference page shows is read by the reader it stands for."""
    document = Document(path=Path("x"), text=reader.example)
    assert recognise(document) is reader
    assert reader.read(document).losses == ()


def test_it_is_read_from_a_path(tmp_path: Path) -> None:
    """By content, whatever the file is called."""
    path = tmp_path / "notes.txt"
    path.write_text(SCALE, "utf-8")
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric) and source.dialect == "autorubric"
