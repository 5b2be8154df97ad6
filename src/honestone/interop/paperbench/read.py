"""PaperBench: a tree of requirements with weights local to siblings, graded or not. Leaves are
yes/no questions.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.core.judging.ballot import Answer
from honestone.core.judging.rubric import (
    DEFAULT_THRESHOLD,
    Criterion,
    Key,
    RepeatedIds,
    Rubric,
    as_written,
)
from honestone.core.numbers import ONE, ZERO
from honestone.formats.source import ForeignRubric
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.reader import FileEntry, FileReading, Steps, shown
from honestone.interop.criteria import scaled, yes_no
from honestone.interop.reader import Formats, Reader

FORMATS: Final = Formats(__package__)
TABLES: Final = FORMATS.tables
NOTES: Final = FORMATS.notes

PARTIAL: Mapping[Fraction, str] = {ZERO: "not met", ONE: "met"}


def signs(document: Document) -> int:
    value = document.mapping
    if isinstance(value.get("sub_tasks"), list):
        return 95 if {"requirements", "weight", "id"} & set(value) else 50
    return 70 if {"requirements", "weight", "task_category"} <= set(value) else 0


class _Tree(Struct):
    """One reading of a tree: what its leaves scored, and where each id is."""

    reading: FileReading
    marks: dict[Key, Answer] = field(default_factory=dict)
    places: dict[str, Steps] = field(default_factory=dict)
    ids: RepeatedIds = field(default_factory=RepeatedIds)
    partial: int = 0
    ungraded: list[str] = field(default_factory=list)
    has_categories: bool = False

    def place(self, id: str, node: FileEntry) -> str:
        """The id by which a node is known here: a repeated one gets a number, in the order of
        reading.
        """
        own = self.ids.take(id)
        self.places[own] = node.path
        if own != id:
            node.note(
                f"several nodes have the id `{id}`: those after the first are `{id}#2` and so on"
            )
        return own


def read(document: Document) -> ForeignRubric:
    reading = FileReading(document.marked)
    tree = _Tree(reading)
    root = _node(tree, reading.at())
    if root is None and not reading.problems:
        reading.problem(
            "nothing in this tree carries weight",
            (),
            "give one leaf, and all above it, a weight above 0",
        )
    reading.finish()
    assert root is not None
    _notes(tree)
    return reading.rubric_source(_rubric(root), "paperbench", tree.marks)


def _rubric(root: Criterion) -> Rubric:
    """The root is the only top-level criterion, so every node of the tree has its line; its own
    weight shares with no other.
    """
    root = root if root.weight > 0 else replace(root, weight=ONE)
    return Rubric(criteria=(root,), threshold=DEFAULT_THRESHOLD, floor=ZERO)


def _notes(tree: _Tree) -> None:
    reading = tree.reading
    reading.note(NOTES["no-bars"])
    if tree.has_categories:
        reading.note(NOTES["categories"])
    if tree.marks:
        reading.note(
            f"{len(tree.marks)} leaves have recorded scores: --judge record:FILE gives them"
        )
    if tree.partial:
        reading.note(
            f"{tree.partial} leaves have a score between 0 and 1, so they are a scale from 0 to 1"
        )
    if tree.marks and tree.ungraded:
        reading.note(
            f"{len(tree.ungraded)} leaves have no valid score, which is not 0: {', '.join(tree.ungraded[:5])}"
        )


def _node(tree: _Tree, node: FileEntry) -> Criterion | None:
    """A node with all below it; None when it is wrong (the reading knows what) or when nothing in
    it carries weight.
    """
    if not node.read(TABLES["node"]):
        return None
    id, requirement = node.text("id"), node.text("requirements")
    weight = node.number("weight", low=0)
    if node.which("weight") is None:
        node.problem("`weight` is missing", hint="a number, 0 or more, relative to its siblings")
    id = tree.place(id, node) if id is not None else ""
    tree.has_categories |= "task_category" in node
    below = node.each("sub_tasks")
    score = node.number("score", low=0, high=1)
    is_valid = _is_valid(node)
    children = [child for entry in below if (child := _node(tree, entry)) is not None]
    if not id or requirement is None or weight is None:
        return None
    if below:
        return _group(tree, node, id, requirement, weight, children)
    return _leaf(tree, id, requirement, weight, score if is_valid else None)


def _is_valid(node: FileEntry) -> bool:
    """`valid_score`, which Python programs write as 1.0 too."""
    value = node.raw("valid_score")
    if value in (None, True, False):  # 1 and 0 too
        return value is None or bool(value)
    node.problem(f"`valid_score` must be true or false, not {shown(value)}", "valid_score")
    return False


def _leaf(
    tree: _Tree, id: str, requirement: str, weight: Fraction, score: Fraction | None
) -> Criterion:
    """Yes or no, as PaperBench asks it; a scale from 0 to 1 where this tree records partial credit."""
    if score is None:
        tree.ungraded.append(id)
        return yes_no(id, requirement, weight=weight)
    if score in (ZERO, ONE):
        tree.marks[id, id] = score == ONE
        return yes_no(id, requirement, weight=weight)
    tree.partial += 1
    tree.marks[id, id] = as_written(score)
    return scaled(id, requirement, PARTIAL, weight=weight)


def _group(
    tree: _Tree,
    node: FileEntry,
    id: str,
    requirement: str,
    weight: Fraction,
    children: list[Criterion],
) -> Criterion | None:
    """A group without weight in it scores 0 in PaperBench whatever is done, which no group here
    does.
    """
    if any(child.weight > 0 for child in children):
        return Criterion(id=id, requirement=requirement, weight=weight, children=tuple(children))
    if tree.reading.problems:
        return None
    if weight == 0:
        tree.reading.note(f"`{id}` and all below it weigh 0: left out, which changes no score")
    else:
        tree.reading.loss(
            f"nothing below `{id}` carries weight, so PaperBench scores it 0 whatever is done; it is left out here",
            (*node.path, "weight"),
            "give it the weight 0 too",
        )
    tree.marks = {
        key: mark for key, mark in tree.marks.items() if not _is_below(tree, key[0], node.path)
    }
    return None


def _is_below(tree: _Tree, id: str, path: Steps) -> bool:
    return tree.places[id][: len(path)] == path


READERS: tuple[Reader, ...] = (FORMATS.reader("paperbench", signs, read),)
