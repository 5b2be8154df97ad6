"""Findings: what the linter remarks on, each with its place in the file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from honestone.core.rubric import Check, Rubric
from honestone.formats.marked import Marked
from honestone.formats.nodes import Node

if TYPE_CHECKING:
    from honestone.core.authoring.lint import Remark


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """Something that is allowed but rarely meant: where, what, why it matters, and what to do about it.

    `check` is the check that would answer the item; `criterion` and `item` are the ids of what it is about.
    """

    place: str
    message: str
    suggestion: str
    rule: str = ""
    why: str = ""
    criterion: str | None = None
    item: str | None = None
    check: Check | None = None

    @classmethod
    def of(cls, remark: Remark, place: str) -> LintFinding:
        said = {"message": remark.message, "suggestion": remark.suggestion, "why": remark.why, "rule": remark.rule}
        return cls(place=place, criterion=remark.criterion, item=remark.item, check=remark.check, **said)

    def to_plain(self) -> dict[str, object]:
        """One entry of `honestone.findings/1`."""
        out: dict[str, object] = {
            "rule": self.rule,
            "place": self.place,
            "message": self.message,
            "why": self.why,
            "suggestion": self.suggestion,
            "criterion": self.criterion,
            "item": self.item,
        }
        if self.check is not None:
            out["check"] = {self.check.name: self.check.value, **self.check.options}
        return out


def find(rubric: Rubric, marked: Marked, *, is_native: bool = True) -> list[LintFinding]:
    """What the linter finds. In another tool's file, where paths mean something else, wordings are looked up."""
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
        found.append(LintFinding.of(remark, place))
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
