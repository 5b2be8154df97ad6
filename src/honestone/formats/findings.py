"""Findings: what the linter remarks on, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from msgspec.structs import replace

from honestone.core.judging.rubric import Rubric
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import Node

if TYPE_CHECKING:
    from honestone.core.authoring.lint import Remark


def find(rubric: Rubric, marked: Marked, *, is_native: bool = True) -> list[Remark]:
    """What the linter finds. In another tool's file, where paths mean something else, wordings are
    looked up.
    """
    from honestone.core.authoring.lint import lint

    remarks = lint(rubric)
    texts = {} if is_native or not remarks else _texts(marked.root)
    found = []
    for remark in remarks:
        if is_native:
            path = remark.path
            if remark.else_path is not None and not marked.has(path):
                path = remark.else_path
            place = marked.key_at(path) if remark.at_key else marked.at(path)
        elif remark.rule == "id-says-nothing" and (remark.item or remark.criterion) not in texts:
            continue  # the reader made it
        else:
            place = _looked_up(marked, texts, (remark.text, remark.item, remark.criterion))
        found.append(replace(remark, place=place))
    return found


def _looked_up(marked: Marked, texts: Mapping[str, Node], words: Iterable[str | None]) -> str:
    node = next((texts[word.strip()] for word in words if word and word.strip() in texts), None)
    return marked.at(()) if node is None else marked._place(node)


def _texts(root: Node) -> dict[str, Node]:
    """Every text of a file with its first place."""
    first: dict[str, Node] = {}
    for node in _scalars(root):
        if isinstance(node.value, str):
            first.setdefault(node.value.strip(), node)
    return first


def _scalars(node: Node) -> Iterator[Node]:
    if isinstance(node.children, dict):
        for key, value in node.children.values():
            yield key
            yield from _scalars(value)
    elif isinstance(node.children, list):
        for child in node.children:
            yield from _scalars(child)
    else:
        yield node
