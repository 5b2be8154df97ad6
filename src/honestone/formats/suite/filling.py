"""`{{ name }}` in the texts of a case: replaced by the case's vars, once. Nothing is computed, and
no value is read again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Final, TypeAlias

from honestone.core.checking.checks import KINDS
from honestone.core.json_value import late_pattern
from honestone.formats.syntax.nodes import MapKey, Node, scalar

# Characters that one text may grow to.
MAX_FILLED: Final = 2_000_000

# The keys of a case whose texts are filled in.
FILLED: Final = ("input", "reference", "rubric", "checks")

Words: TypeAlias = Mapping[str, str]
Path: TypeAlias = tuple[MapKey, ...]
# Notes what cannot be filled in: message, path of the text, hint.
Refuse: TypeAlias = Callable[[str, Path, str], None]

_HOLE: Final = late_pattern(r"\{\{([^{}]*)\}\}|\{\{|\{%[^%]{0,40}")
_NAME: Final = late_pattern(r"[^\W\d][\w-]*")
# Keys below which there are keys of our formats again; below all others there is only what the
# person wrote.
_WITHIN: Final = frozenset("input content reference rubric criteria items checks check".split())
# A row of a table names nothing that is read or run.
_NEVER: Final = frozenset(
    "id fix file files command pytest grader python json-schema beside".split()
)


def words_of(case: Node) -> Words:
    """The vars of a case as texts, numbers as they were written; empty without any."""
    if not isinstance(case.children, dict) or "vars" not in case.children:
        return {}
    _, words = case.children["vars"]
    if not isinstance(words.children, dict):
        return {}
    return {key.raw or "": value.raw or "" for key, value in words.children.values()}


def values_of(case: Node) -> Mapping[str, object]:
    """The vars of a case as values: a number is one."""
    if not isinstance(case.children, dict) or "vars" not in case.children:
        return {}
    _, words = case.children["vars"]
    if not isinstance(words.children, dict):
        return {}
    return {key.raw or "": value.value for key, value in words.children.values()}


def has_holes(node: Node) -> bool:
    """Whether anything in it would be filled in."""
    if node.kind == "scalar":
        return isinstance(node.value, str) and bool(_HOLE.search(node.value))
    return any(map(has_holes, node.below()))


def fill_text(text: str, words: Words, refuse: Callable[[int, str, str], None]) -> str:
    """The text with its names filled in. `refuse` notes what else is between the braces:
    position, message, hint.
    """
    parts, at, size = [], 0, 0
    for hole in _HOLE.finditer(text):
        name = (hole[1] or "").strip()
        if name not in words:
            refuse(hole.start(), *_refusal(hole, name, words))
            return text
        parts += [text[at : hole.start()], words[name]]
        at, size = hole.end(), size + len(words[name])
        if size > MAX_FILLED:
            refuse(
                0,
                f"filled in, this text has more than {MAX_FILLED:,} characters",
                "shorten the vars",
            )
            return text
    return "".join([*parts, text[at:]])


def _refusal(hole: re.Match[str], name: str, words: Words) -> tuple[str, str]:
    shown = " ".join(hole[0].split())[:80]
    known = ", ".join(list(words)[:20]) or "none"
    if _NAME.fullmatch(name):
        return f"`{shown}` is not one of the case's vars", f"its vars: {known}"
    return f"`{shown}` is not the name of one of the case's vars", (
        f"only names are filled in, nothing is computed (its vars: {known}); a text with such braces can be a var itself"
    )


def fill_node(
    node: Node, path: Path, words: Words, refuse: Refuse, *, is_ours: bool = True
) -> Node:
    """A value with all its texts filled in; itself where there is nothing to fill in. `is_ours`:
    its keys are those of our formats, and not what a person wrote.
    """
    if isinstance(node.value, str):
        text = fill_text(node.value, words, lambda _, message, hint: refuse(message, path, hint))
        return node if text == node.value else node.with_text(text)
    if not has_holes(node):
        return node
    made = node.empty()
    if isinstance(node.children, list):
        for index, child in enumerate(node.children):
            made.append(fill_node(child, (*path, index), words, refuse, is_ours=is_ours))
    elif isinstance(node.children, dict):
        for name, (key, child) in node.children.items():
            made.put(key, _fill_value(name, child, (*path, name), words, refuse, is_ours=is_ours))
    return made


def _fill_value(
    name: MapKey, child: Node, path: Path, words: Words, refuse: Refuse, *, is_ours: bool
) -> Node:
    word = str(name).removeprefix("not-")
    if is_ours and word in _NEVER:
        if has_holes(child):
            refuse(
                f"nothing is filled into `{name}`", path, "vars choose neither files nor programs"
            )
        return child
    filled = fill_node(child, path, words, refuse, is_ours=is_ours and word in _WITHIN)
    if is_ours and filled is not child and _takes_number(word):
        return _as_number(filled)
    return filled


def _takes_number(word: str) -> bool:
    """Whether it is a check of a number, such as `max-words`."""
    return word in KINDS and KINDS[word].schema.get("type") in ("integer", "number")


def _as_number(node: Node) -> Node:
    """A text as what it would be without quotes."""
    with suppress(ValueError):
        node.value = scalar(str(node.value).strip())
    return node
