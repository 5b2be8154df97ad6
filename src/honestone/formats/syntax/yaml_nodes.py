"""YAML text as nodes. The library's parser says where things are; what they mean is decided here
(YAML 1.2).
"""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from typing import Any

from honestone.core.errors import FileError
from honestone.core.tables import table_text
from honestone.formats.syntax import nodes

_TAG = "tag:yaml.org,2002:"
_PLAIN_TAGS = {_TAG + name for name in ("null", "bool", "int", "float")}
_ALLOWED_TAGS = {"!", _TAG + "str", _TAG + "map", _TAG + "seq", *_PLAIN_TAGS}


def yaml_root(text: str, name: str) -> nodes.Node | None:
    """The one document of a YAML text, or None when there is only white space and comments. Raises
    FileError.
    """
    try:
        return _Builder(name).build(text)
    except FileError:
        # White space that YAML allows and the library does not: what else is wrong is said of the
        # text as it is.
        plainer = _plainer(text)
        if plainer == text:
            raise
        with suppress(FileError):
            return _Builder(name).build(plainer)
        raise


def _plainer(text: str) -> str:
    """The same lines without white space that has no meaning: in empty lines, before comments, and
    tabs after `:` or `-`.
    """
    text = re.sub(r"(?m)^[ \t]+$", "", text)
    text = re.sub(r"(?m)^[ \t]*\t[ \t]*#", "#", text)
    return re.sub(r"(?m)^( *(?:- )*(?:-|[\w.$-]+:))[ \t]*\t[ \t]*", r"\1 ", text)


class _Builder:
    """Turns the parser's events into nodes. A container is added to its parent when it is complete."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.root: nodes.Node | None = None
        self.open: list[nodes.Node] = []
        self.keys: list[
            nodes.Node | None
        ] = []  # of each open container: the key that waits for its value
        self.merges: list[list[nodes.Node]] = []  # of each open container: what `<<` brings in
        self.names: list[str | None] = []  # of each open container: its anchor
        self.raws: list[set[str]] = []  # of each open container: its keys as written
        self.anchors: dict[str, nodes.Node | None] = {}  # None while it is still open
        self.expanded = 0

    def build(self, text: str) -> nodes.Node | None:
        from ruamel.yaml import events
        from ruamel.yaml.docinfo import DocInfo
        from ruamel.yaml.error import MarkedYAMLError, YAMLError
        from ruamel.yaml.loader import SafeLoader
        from ruamel.yaml.reader import ReaderError

        try:
            parser: Any = SafeLoader(text)
            parser.doc_infos = [
                DocInfo()
            ]  # where the parser notes a %YAML line; only its own front end sets it
        except ReaderError as error:
            raise self._odd_character(text, error.position) from None
        documents = 0
        while True:
            try:
                event = parser.get_event()
            except MarkedYAMLError as error:
                raise self._syntax(text, error) from None
            except (
                YAMLError,
                ValueError,
                OverflowError,
                LookupError,
                TypeError,
                AssertionError,
                AttributeError,
            ):
                # The library's own slips on damaged input (an escape beyond Unicode, for one): it
                # stopped here.
                raise self._refuse_at(parser, "this is not valid YAML") from None
            kind = type(event)
            if kind is events.ScalarEvent:
                self._scalar(event)
            elif kind is events.MappingStartEvent or kind is events.SequenceStartEvent:
                self._start(event, {} if kind is events.MappingStartEvent else [])
            elif kind is events.AliasEvent:
                self._alias(event)
            elif kind is events.DocumentStartEvent:
                documents += 1
                self._document(event, documents)
            elif kind is events.StreamEndEvent:
                return self.root
            elif self.open and not hasattr(event, "explicit"):  # the end of a mapping or list
                self._end()

    # ------------------------------------------------------------------------------------------------
    # events

    def _document(self, event: Any, number: int) -> None:
        if number > 1:
            raise self._refuse_at(
                event.start_mark, "a second document starts here", "put each in a file of its own"
            )
        if event.version is not None and tuple(event.version) != (1, 2):
            wanted = ".".join(map(str, event.version))
            raise self._refuse_at(
                event.start_mark,
                f"this asks for YAML {wanted}",
                "files are read as YAML 1.2: remove the `%YAML` line",
            )

    def _scalar(self, event: Any) -> None:
        mark, tag = event.start_mark, self._tag(event)
        try:
            raw = nodes.whole_text(event.value)
            if tag in _PLAIN_TAGS or (tag is None and event.implicit[0]):
                value = nodes.scalar(raw)
            else:
                value = raw
        except ValueError as error:
            raise self._refuse_at(mark, str(error)) from None
        if not raw and not event.style and self._awaits_key():
            raise self._refuse_at(mark, "a key is missing before this `:`")
        node = nodes.Node(value, raw, mark.line + 1, mark.column + 1)
        if event.anchor is not None:
            self.anchors[event.anchor] = node
        merges = raw == "<<" and event.implicit[0] and not event.style
        self._add(node, is_merge_key=merges)

    def _start(self, event: Any, children: dict[nodes.MapKey, Any] | list[Any]) -> None:
        mark = event.start_mark
        self._tag(event)
        if len(self.open) >= nodes.MAX_DEPTH:
            raise nodes.too_deep(self.name, mark.line + 1, mark.column + 1)
        if self._awaits_key():
            raise self._no_key(mark)
        node = nodes.Node(type(children)(), None, mark.line + 1, mark.column + 1, children)
        if event.anchor is not None:
            self.anchors[event.anchor] = None
        self.open.append(node)
        self.keys.append(None)
        self.merges.append([])
        self.names.append(event.anchor)
        self.raws.append(set())

    def _end(self) -> None:
        node, anchor = self.open.pop(), self.names.pop()
        self.keys.pop()
        self.raws.pop()
        for merged in self.merges.pop():
            self._merge(node, merged)
        if anchor is not None:
            self.anchors[anchor] = node
        self._add(node)

    def _alias(self, event: Any) -> None:
        mark, anchor = event.start_mark, event.anchor
        if anchor not in self.anchors:
            raise self._refuse_at(
                mark,
                f"`*{anchor}` refers to nothing before it",
                "text that begins with `*` needs quotes",
            )
        meant = self.anchors[anchor]
        if meant is None:
            raise self._refuse_at(mark, f"`*{anchor}` refers to the thing that it is part of")
        if self._awaits_key() and meant.kind != "scalar":
            raise self._no_key(mark)
        self.expanded += meant.size
        if self.expanded > nodes.MAX_EXPANDED:
            raise self._refuse_at(
                mark,
                f"the aliases of this file stand for more than {nodes.MAX_EXPANDED:,} values",
                "write them out",
            )
        if len(self.open) + meant.height > nodes.MAX_DEPTH:
            raise nodes.too_deep(self.name, mark.line + 1, mark.column + 1)
        self._add(meant.seen_at(mark.line + 1, mark.column + 1))

    # ------------------------------------------------------------------------------------------------
    # assembly

    def _awaits_key(self) -> bool:
        return bool(self.open) and self.open[-1].kind == "mapping" and self.keys[-1] is None

    def _add(self, node: nodes.Node, *, is_merge_key: bool = False) -> None:
        if not self.open:
            self.root = node
            return
        parent, key = self.open[-1], self.keys[-1]
        if isinstance(parent.children, list):
            parent.append(node)
        elif key is None:
            self._new_key(parent, node)
            self.keys[-1] = _MergeKey(node) if is_merge_key else node
        else:
            self.keys[-1] = None
            if isinstance(key, _MergeKey):
                self.merges[-1].append(node)
            else:
                parent.put(key, node)

    def _new_key(self, parent: nodes.Node, key: nodes.Node) -> None:
        assert isinstance(parent.children, dict) and key.raw is not None
        name = nodes.key_of(key)
        if name in parent.children or key.raw in self.raws[-1]:
            first = (
                parent.children[name][0]
                if name in parent.children
                else _written(parent, key.raw, key)
            )
            raise nodes.same_key_twice(self.name, first, key)
        self.raws[-1].add(key.raw)

    def _merge(self, node: nodes.Node, merged: nodes.Node) -> None:
        """`<<: *defaults`: keys that the mapping does not have itself; of several sources the first
        wins.
        """
        assert isinstance(node.children, dict)
        sources = merged.children if isinstance(merged.children, list) else [merged]
        for source in sources:
            if not isinstance(source, nodes.Node) or not isinstance(source.children, dict):
                raise nodes.refuse(
                    self.name, merged.line, merged.column, "`<<` merges mappings, but this is none"
                )
            for name, (key, value) in source.children.items():
                if name not in node.children:
                    node.put(key, value)

    def _tag(self, event: Any) -> str | None:
        if event.tag is None:
            return None
        tag = str(event.tag)
        if tag not in _ALLOWED_TAGS:
            shown = tag.replace(_TAG, "!!")
            raise self._refuse_at(
                event.start_mark,
                f"the tag `{shown}` is not read here",
                "text that begins with `!` needs quotes",
            )
        return tag

    # ------------------------------------------------------------------------------------------------
    # errors

    def _refuse_at(self, mark: Any, message: str, hint: str | None = None) -> FileError:
        return nodes.refuse(self.name, mark.line + 1, mark.column + 1, message, hint)

    def _no_key(self, mark: Any) -> FileError:
        return self._refuse_at(
            mark,
            "a key must be a word or a number, not a list or a mapping",
            "text with brackets or braces needs quotes",
        )

    def _odd_character(self, text: str, position: int) -> FileError:
        message = f"the character U+{ord(text[position]):04X} is not allowed in YAML"
        hint = "remove it, or write it as an escape in double quotes"
        return nodes.refuse(self.name, *nodes.line_and_column(text[:position]), message, hint)

    def _syntax(self, text: str, error: Any) -> FileError:
        mark = error.problem_mark or error.context_mark
        problem, context = error.problem or "", error.context or ""
        line = _line(text, mark.line)
        indent = line[: len(line) - len(line.lstrip())]
        if "\t" in indent:
            return nodes.refuse(
                self.name,
                mark.line + 1,
                indent.index("\t") + 1,
                "a tab is used to indent",
                "YAML indents with spaces",
            )
        if "quoted scalar" in context and "end of" in problem and error.context_mark is not None:
            return self._refuse_at(
                error.context_mark, "this quote is never closed", "add the closing quote"
            )
        for sign, message, hint in tomllib.loads(table_text("yaml_mistakes", __package__))[
            "mistakes"
        ]:
            if sign in problem:
                return self._refuse_at(mark, message, hint)
        return self._refuse_at(
            mark, f"this is not valid YAML: {' '.join(problem.split())}", context or None
        )


class _MergeKey(nodes.Node):
    """An unquoted `<<`."""

    __slots__ = ()

    def __init__(self, key: nodes.Node) -> None:
        super().__init__(key.value, key.raw, key.line, key.column)


def _written(parent: nodes.Node, raw: str, otherwise: nodes.Node) -> nodes.Node:
    assert isinstance(parent.children, dict)
    return next((key for key, _ in parent.children.values() if key.raw == raw), otherwise)


def _line(text: str, number: int) -> str:
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[number] if number < len(lines) else ""
