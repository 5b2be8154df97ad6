"""`{{ env.NAME }}`, `{{ vars.NAME }}` and `{{ NAME }}` in AgentV's files: filled in wherever they
are, or a loss with the name.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

from msgspec import Struct, field

from honestone.core.errors import UsageError
from honestone.core.json_value import late_pattern
from honestone.core.record.secret_names import looks_secret
from honestone.core.suite.case import Case
from honestone.formats.source import Loss
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import Node
from honestone.formats.syntax.reader import FileEntry, FileReading
from honestone.interop.agentv.text import Variables, looked_up, placeholders, plain
from honestone.interop.environment import HINT, is_set, variable, why_not

_HOLE: Final = late_pattern(
    r"""\{\{-?\s*(env|vars)\.([A-Za-z_]\w*)\s*(?:\|\s*default\(\s*(?:"([^"{}]*)"|'([^'{}]*)')\s*\)\s*)?-?\}\}"""
)
_ENV: Final = late_pattern(r"\{\{-?\s*(env\.[^{}]{0,80}?)\s*-?\}\}")
# Characters that all texts of a file together may come to once their variables are filled in.
MAX_FILLED_IN_ALL: Final = 50_000_000
_SECRET_HINT: Final = "write the text itself: a file does not choose which keys models are shown"


def reading_of(marked: Marked) -> FileReading:
    """A reading of a file with its variables of the environment, and those of its cases by `vars.`,
    filled in.
    """
    if not _mentions(marked.root):
        return FileReading(marked)
    pass_ = _Pass(marked)
    rendered = copy.copy(marked)
    rendered.root = pass_.node(marked.root, {})
    reading = FileReading(rendered)
    reading.losses += pass_.losses
    return reading


def _mentions(root: Node) -> bool:
    """Whether any text of a file may have a variable in it. Each node is looked at once, however
    often it is used.
    """
    waiting, seen = [root], {id(root)}
    while waiting:
        node = waiting.pop()
        if isinstance(node.value, str) and "{{" in node.value:
            return True
        fresh = [below for below in node.below() if id(below) not in seen]
        seen.update(map(id, fresh))
        waiting += fresh
    return False


class _Pass(Struct):
    """One pass over the values of a file; what is filled in is not looked at again."""

    marked: Marked
    losses: list[Loss] = field(default_factory=list)
    made: dict[tuple[int, int], Node] = field(default_factory=dict)
    size: int = 0
    scopes: list[Mapping[str, str]] = field(
        default_factory=list
    )  # kept, so that an id is of one scope only

    def node(self, node: Node, scope: Mapping[str, str]) -> Node:
        """The same node with its texts filled in. Values that aliases share are made once for each
        set of variables.
        """
        if node.kind == "scalar":
            return self._scalar(node, scope)
        scope = self._inner(node, scope)
        known = self.made.get((id(node), id(scope)))
        if known is not None:
            return known
        made = node.empty()
        if isinstance(node.children, dict):
            for key, child in node.children.values():
                made.put(key, self.node(child, scope))
        else:
            for child in node.children or ():
                made.append(self.node(child, scope))
        self.made[id(node), id(scope)] = made
        return made

    def _inner(self, node: Node, scope: Mapping[str, str]) -> Mapping[str, str]:
        """What `vars` of this mapping, or of its `default_test`, add."""
        if not isinstance(node.value, dict):
            return scope
        shared = node.value.get("default_test")
        before = len(self.losses)
        found = [shared.get("vars") if isinstance(shared, dict) else None, node.value.get("vars")]
        added = {
            str(name): self._filled_text(plain(value), {}, node)
            for one in found
            if isinstance(one, dict)
            for name, value in one.items()
            if value is not None
        }
        del self.losses[before:]  # the text itself loses the same, at its own place
        if not added:
            return scope
        self.scopes.append({**scope, **added})
        return self.scopes[-1]

    def _scalar(self, node: Node, scope: Mapping[str, str]) -> Node:
        if not isinstance(node.value, str) or "{{" not in node.value:
            return node
        text = self._filled_text(node.value, scope, node)
        self.size += len(text)
        if self.size > MAX_FILLED_IN_ALL:
            raise UsageError(
                "filled in, the texts of this file are too large", place=self._place(node)
            )
        for found in _ENV.finditer(text) if text != node.value or "env." in text else ():
            self._lose(node, found[1], "is more than a name and a default")
        return node if text == node.value else node.with_text(text)

    def _filled_text(self, text: str, scope: Mapping[str, str], node: Node) -> str:
        return (
            _HOLE.sub(lambda hole: self._value(hole, scope, node), text) if "{{" in text else text
        )

    def _value(self, hole: re.Match[str], scope: Mapping[str, str], node: Node) -> str:
        kind, name = hole[1], hole[2]
        default = hole[3] if hole[3] is not None else hole[4]
        if kind == "vars":
            return scope.get(name, hole[0])
        if looks_secret(name):
            self._lose(
                node,
                f"env.{name}",
                "looks like a key or password, which is not put into texts",
                _SECRET_HINT,
            )
            return default or ""
        if is_set(name) and (why := why_not(name)):
            self._lose(node, f"env.{name}", why, HINT)
            return default or ""
        value = variable(name) if is_set(name) else default
        if value is None:
            self._lose(
                node,
                f"env.{name}",
                "is not set and has no default",
                f"set it: {name}=... honestone ...",
            )
        return value or ""

    def _lose(self, node: Node, name: str, why: str, hint: str | None = None) -> None:
        self.losses.append(
            Loss(place=self._place(node), message=f"the variable `{name}` {why}", hint=hint)
        )

    def _place(self, node: Node) -> str:
        return f"{node.file or self.marked.name}:{node.line}:{node.column}"


def lose_what_is_left(take: FileEntry, case: Case, values: Variables) -> None:
    """A loss for each variable that a text of this case still names, where the file wrote it and no
    value is known.
    """
    texts = [
        *(message.content for message in case.messages),
        case.reference or "",
        *_texts_of(case),
    ]
    left = {name for text in texts if "{{" in text for name in placeholders(text)}
    if not left:
        return
    written_out = json.dumps(take.value, ensure_ascii=False, default=str).replace('\\"', '"')
    written = set(placeholders(written_out))
    for name in sorted(left & written):
        if not looked_up(name, values)[0] and not name.startswith("env."):
            take.loss(
                f"`{{{{ {name} }}}}` names no variable of this case",
                hint=f"give it a value: vars: {{{name}: ...}}",
            )


def _texts_of(case: Case) -> Iterable[str]:
    for _, item in case.rubric.questions():
        yield item.requirement
        if item.check is not None:
            value: Any = item.check.value
            yield from (
                one
                for one in (value if isinstance(value, list) else [value])
                if isinstance(one, str)
            )


__all__ = ["lose_what_is_left", "reading_of"]
