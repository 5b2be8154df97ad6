"""PaperBench trees: nested weights, recorded scores, and the recorded judge that reads the same
file.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import put, rubric_of, wrong

from honestone.adapters.judges.record import RecordJudge
from honestone.core.artifact import Artifact, Entry, Version
from honestone.core.errors import FileError
from honestone.core.judging.ballot import Ballot, Mark, Question, Reading, asked_criteria
from honestone.core.judging.rubric import Rubric
from honestone.core.judging.scorer import Scorer
from honestone.formats.source import ForeignRubric, SourceErrors
from honestone.formats.syntax.document import Document
from honestone.interop.paperbench.read import READERS
from honestone.interop.recognise import read_any_rubric, recognise
from property_examples import examples


def node(id: str, *below: dict[str, Any], weight: float = 1, **more: Any) -> dict[str, Any]:
    return {
        "id": id,
        "requirements": f"About {id}",
        "weight": weight,
        "sub_tasks": list(below),
        **more,
    }


def read(tree: Any) -> ForeignRubric:
    document = Document(
        path=Path("t.json"), text=tree if isinstance(tree, str) else json.dumps(tree)
    )
    assert recognise(document) is READERS[0]
    source = READERS[0].read(document)
    assert isinstance(source, ForeignRubric)
    return source


def judged(rubric: Rubric, path: Path) -> Reading:
    version = Version({"a.md": Entry(b"x")}, is_folder=False)
    asked = Question(artifact=Artifact("a.md", version), criteria=asked_criteria(rubric))
    judge = RecordJudge("record", path)
    request = judge.render(asked)
    return judge.read(asked, request, asyncio.run(judge.ask(request, asked)))


def scores(rubric: Rubric, marks: Any) -> dict[str, Fraction | None]:
    card = Scorer(rubric).card([Ballot(judge="j", marks=marks)])
    return {line.criterion.id: line.score for line in card.lines}


GRADED = node(
    "root",
    node("a", weight=3, score=1.0, valid_score=True, task_category="Code Development"),
    node(
        "b",
        node("c", weight=2, score=0.25),
        node("d", score=0, valid_score=True, explanation="no table"),
        weight=2,
    ),
)


def test_weights_are_local_and_ids_the_trees() -> None:
    """Every node keeps its id and its weight; the root is the one top-level criterion."""
    source = read(GRADED)
    nodes = {c.id: (c.weight, parent) for c, parent in source.rubric.walk()}
    assert nodes == {
        "root": (1, None),
        "a": (3, "root"),
        "b": (2, "root"),
        "c": (2, "b"),
        "d": (1, "b"),
    }
    assert source.marks == {("a", "a"): True, ("c", "c"): 0.25, ("d", "d"): False}
    assert source.rubric.floor == 0 and source.losses == ()


def test_partial_credit_is_a_scale_and_the_rest_stays_yes_or_no() -> None:
    """Only a leaf whose recorded score is between 0 and 1 is marked on a scale."""
    items = {key[0]: item.anchors for key, item in read(GRADED).rubric.questions()}
    assert items["a"] is None and items["d"] is None and items["c"] is not None
    assert (items["c"].lowest, items["c"].highest) == (0, 1)


def test_the_recorded_judge_reads_the_same_file(tmp_path: Path) -> None:
    """`record:` with a graded tree gives its leaves' scores by id, exactly, with the reason of what
    is not met.
    """
    path = tmp_path / "t.json"
    path.write_text(json.dumps(GRADED), "utf-8")
    source = read_any_rubric(path)
    reading = judged(source.rubric, path)
    assert reading.is_clean
    assert reading.marks["d", "d"].suggestion == "no table"
    assert reading.marks["a", "a"].suggestion is None
    found = scores(source.rubric, reading.marks)
    assert found["b"] == Fraction(1, 6)
    assert found["root"] == (3 + 2 * Fraction(1, 6)) / 5


def test_a_leaf_without_a_valid_score_is_no_zero(tmp_path: Path) -> None:
    """Its parents are not scored either; the interval says what is known."""
    path = tmp_path / "t.json"
    path.write_text(
        json.dumps(node("r", node("a", score=1.0), node("b", score=0.0, valid_score=False))),
        "utf-8",
    )
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric) and source.marks == {("a", "a"): True}
    reading = judged(source.rubric, path)
    assert set(reading.marks) == {("a", "a")} and set(reading.errors) == {("b", "b")}
    card = Scorer(source.rubric).card([Ballot(judge="j", marks=reading.marks)])
    assert (card.score, card.low, card.high) == (None, Fraction(1, 2), 1)


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (node("r", node("a")), "without recorded scores"),
        (node("r", {"score": 1, "sub_tasks": []}), "has no id"),
    ],
)
def test_a_tree_that_is_no_record_is_refused(tree: Any, words: str, tmp_path: Path) -> None:
    """Before anything is judged."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps(tree), "utf-8")
    with pytest.raises(FileError, match=words):
        RecordJudge("record", path)


def test_marks_of_another_tree_are_not_taken(tmp_path: Path) -> None:
    """A leaf that this rubric does not have voids the record: its other ids may be those of another
    tree too.
    """
    path = tmp_path / "t.json"
    path.write_text(json.dumps(node("r", node("a", score=1), node("x", score=1))), "utf-8")
    reading = judged(read(node("r", node("a"), node("b"))).rubric, path)
    assert not reading.marks and any("`x`" in problem for problem in reading.problems)


def test_partial_credit_does_not_answer_a_yes_no_question(tmp_path: Path) -> None:
    """0.5 is neither yes nor no: no mark, and why."""
    path = tmp_path / "t.json"
    path.write_text(json.dumps(node("r", node("a", score=0.5))), "utf-8")
    reading = judged(read(node("r", node("a"))).rubric, path)
    assert not reading.marks and "0 or 1" in reading.errors["a", "a"]


def test_several_graded_trees_by_artifact(tmp_path: Path) -> None:
    """JSON lines: a tree may name the artifact it belongs to, as any other row."""
    path = tmp_path / "t.jsonl"
    rows = [
        node("r", node("a", score=1), artifact="a.md"),
        node("r", node("a", score=0), artifact="b.md"),
    ]
    path.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    assert judged(read(node("r", node("a"))).rubric, path).marks == {("a", "a"): Mark(True)}


def test_weight_zero() -> None:
    """A leaf of weight 0 is asked and counts nothing; a group that carries no weight is left out,
    loudly if it counts.
    """
    source = read(node("r", node("a", weight=0, score=0), node("b", score=1)))
    assert (
        scores(source.rubric, {key: Mark(value) for key, value in source.marks.items()})["r"] == 1
    )
    source = read(node("r", node("g", node("x", weight=0, score=1), weight=0), node("b", score=1)))
    assert [c.id for c, _ in source.rubric.walk()] == ["r", "b"] and source.losses == ()
    assert set(source.marks) == {("b", "b")} and any("`g`" in note for note in source.notes)
    source = read(node("r", node("g", node("x", weight=0)), node("b")))
    assert len(source.losses) == 1 and source.losses[0].place.startswith("t.json:1:")
    with pytest.raises(SourceErrors, match="nothing in this tree carries weight"):
        read(node("r", node("a", weight=0)))


@pytest.mark.parametrize(
    ("tree", "words"),
    [
        (node("r", node("a", weight=-1)), "0 or more"),
        (node("r", node("a", score=1.5)), "from 0 to 1"),
        (node("r", node("a", subtasks=[])), "unknown key `subtasks`"),
        (node("r", {"id": "a", "requirements": "A", "sub_tasks": []}), "`weight` is missing"),
        (node("r", {"id": "a", "weight": 1, "sub_tasks": []}), "`requirements` is missing"),
        ({**node("r"), "sub_tasks": ["a"]}, "must be a mapping"),
    ],
)
def test_mistakes_have_a_place(tree: Any, words: str) -> None:
    """Line and column, never a traceback."""
    with pytest.raises(SourceErrors) as caught:
        read(json.dumps(tree, indent=1))
    assert words in caught.value.message and str(caught.value.place).startswith("t.json:")


def test_a_bottomless_tree_is_a_clear_error(tmp_path: Path) -> None:
    """10,000 levels: too deep, for the rubric and for the record."""
    path = tmp_path / "deep.json"
    path.write_text(
        '{"id":"x","requirements":"r","weight":1,"score":1,"sub_tasks":[' * 10_000 + "]}" * 10_000,
        "utf-8",
    )
    with pytest.raises(FileError, match="nested more than"):
        read_any_rubric(path)
    with pytest.raises(FileError, match="nested too deeply"):
        RecordJudge("record", path)


def test_forty_levels_are_read() -> None:
    """Deeper than any real tree."""
    tree = node("n0", score=1)
    for n in range(1, 40):
        tree = node(f"n{n}", tree)
    source = read(tree)
    assert scores(source.rubric, {("n0", "n0"): Mark(True)}) == {f"n{n}": 1 for n in range(40)}


def leaves(tree: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if not tree["sub_tasks"]:
        yield tree
    for below in tree["sub_tasks"]:
        yield from leaves(below)


def tool_scores(tree: dict[str, Any], into: dict[str, Fraction]) -> Fraction:
    """PaperBench's documented rule: the weighted mean of the children."""
    if not tree["sub_tasks"]:
        into[tree["id"]] = Fraction(str(tree["score"]))
    else:
        below = [(Fraction(str(c["weight"])), tool_scores(c, into)) for c in tree["sub_tasks"]]
        into[tree["id"]] = sum((w * s for w, s in below), Fraction(0)) / sum(
            (w for w, _ in below), Fraction(0)
        )
    return into[tree["id"]]


@st.composite
def graded_trees(draw: st.DrawFn, name: str = "n", depth: int = 3) -> dict[str, Any]:
    weight = draw(st.integers(1, 5) | st.sampled_from([0.5, 2.25]))
    count = draw(st.integers(0, 3)) if depth else 0
    if not count:
        return node(
            name, weight=weight, score=draw(st.sampled_from([0, 1, 0.0, 1.0, 0.5, 0.3, 0.125]))
        )
    return node(
        name, *[draw(graded_trees(f"{name}.{n}", depth - 1)) for n in range(count)], weight=weight
    )


@settings(max_examples=examples(100), deadline=None)
@given(graded_trees())
def test_every_node_equals_the_documented_mean(tree: dict[str, Any]) -> None:
    """From the recorded leaves alone, exactly."""
    if not tree["sub_tasks"]:
        tree = node("root", tree)
    source = read(tree)
    expected: dict[str, Fraction] = {}
    tool_scores(tree, expected)
    assert (
        scores(source.rubric, {key: Mark(value) for key, value in source.marks.items()}) == expected
    )
    assert len(source.marks) == len(list(leaves(tree)))


def test_two_thousand_nodes(tmp_path: Path) -> None:
    """A tree as large as any real one is read and judged whole."""
    groups = [
        node(
            f"g{n}",
            *[node(f"g{n}.{m}", score=m % 2, weight=1 + m % 3) for m in range(19)],
            weight=1 + n % 4,
        )
        for n in range(100)
    ]
    path = tmp_path / "t.json"
    path.write_text(json.dumps(node("root", *groups)), "utf-8")
    source = read_any_rubric(path)
    found = scores(source.rubric, judged(source.rubric, path).marks)
    assert len(found) == 2001 and None not in found.values()


def test_the_example_is_recognised() -> None:
    """What the reference page shows is read."""
    assert [c.id for c, _ in read(READERS[0].example).rubric.walk()] == ["root", "code", "table"]


def test_a_repeated_id_gets_a_number_in_reading_order(tmp_path: Path) -> None:
    """Nodes of one id are told apart by their place in the tree, and so are their recorded scores."""

    def leaf(id: str, score: object, valid: object = True) -> dict[str, object]:
        return {
            "id": id,
            "requirements": f"says {id}",
            "weight": 1,
            "sub_tasks": [],
            "score": score,
            "valid_score": valid,
        }

    group = {
        "id": "x",
        "requirements": "group",
        "weight": 3,
        "sub_tasks": [leaf("x", 0.0), leaf("x#2", 1), leaf("x", 1.0, 0.0)],
    }
    root = {
        "id": "r",
        "requirements": "all",
        "weight": 1,
        "sub_tasks": [leaf("x", 1.0, 1.0), group],
    }
    source = rubric_of(READERS[0], put(tmp_path, json.dumps(root), "t.json"))
    ids = [criterion.id for criterion, _ in source.rubric.walk()]
    assert ids == ["r", "x", "x#2", "x#3", "x#2#2", "x#4"]
    assert source.marks == {("x", "x"): True, ("x#3", "x#3"): False, ("x#2#2", "x#2#2"): True}
    assert any("`x#2`" in note for note in source.notes)


@pytest.mark.parametrize("valid", [0.5, 2, "true", []])
def test_a_valid_score_that_is_neither_true_nor_false_is_refused(
    tmp_path: Path, valid: object
) -> None:
    """1 and 1.0 are true and 0 is false; any other number has its place."""
    node = {
        "id": "r",
        "requirements": "all",
        "weight": 1,
        "sub_tasks": [],
        "score": 1,
        "valid_score": valid,
    }
    (message,) = wrong(READERS[0], put(tmp_path, json.dumps(node), "t.json"))
    assert "`valid_score` must be true or false" in message


def test_a_grading_is_matched_by_its_place_in_the_tree(tmp_path: Path) -> None:
    """Leaves and groups of one id each get their own recorded score; 1.0 says that a score is
    valid, 0.0 that it is not.
    """
    low, high = node("x", score=0.0, valid_score=1), node("x", score=1.0, valid_score=1.0)
    tree = node("r", high, node("x", low, node("y", score=1, valid_score=0.0)))
    path = tmp_path / "t.json"
    path.write_text(json.dumps(tree))
    source = read_any_rubric(path)
    assert isinstance(source, ForeignRubric)
    reading = judged(source.rubric, path)
    assert {key[0]: mark.answer for key, mark in reading.marks.items()} == {"x": True, "x#3": False}
    assert set(reading.errors) == {("y", "y")}
