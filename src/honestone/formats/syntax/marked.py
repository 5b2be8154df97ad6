"""Marked files: plain values together with the place of every value and key. Under every YAML and
JSON format.

marked = read_marked(Path("rubric.yaml"))
marked.value["criteria"][0]["weight"]             # 50
marked.at(("criteria", 0, "weight"))              # "rubric.yaml:8:13"
"""

from __future__ import annotations

import re
import stat
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeAlias

from honestone.core.errors import FileError
from honestone.core.numbers import exact
from honestone.formats.project import require_readable
from honestone.formats.syntax.nodes import (
    MAX_BYTES,
    MAX_JSON_BYTES,
    DrawnKey,
    MapKey,
    Node,
    line_and_column,
    refuse,
)

MarkedPath: TypeAlias = Sequence[MapKey]


class Marked:
    """The values of one file and their places. Values are shared where the file has aliases: do not
    change them.

    Mapping keys are text, except numbers (`{0: none, 10: full}` has 0 and 10); `raw_key` gives what
    was written.
    """

    __slots__ = ("name", "root")

    def __init__(self, name: str, root: Node) -> None:
        self.name = name
        self.root = root

    @property
    def value(self) -> Any:
        return self.root.value

    def at(self, path: MarkedPath = ()) -> str:
        """`file:line:column` of a value; of what is around it when the value is missing."""
        return self._place(self._nearest(path)[1])

    def key_at(self, path: MarkedPath) -> str:
        """`file:line:column` of the key that the path ends with; of a list's entry, its value."""
        key, node = self._nearest(path)
        return self._place(key or node)

    def position(self, path: MarkedPath = ()) -> tuple[int, int]:
        """Line and column, from 1, as `at`."""
        node = self._nearest(path)[1]
        return node.line, node.column

    def order(self, path: MarkedPath) -> tuple[str, int, int]:
        """What sorts values by their places: those of this file before those from others."""
        node = self._nearest(path)[1]
        return node.file or "", node.line, node.column

    def node(self, path: MarkedPath) -> Node:
        """The node of a value, or of what is around it when it is missing."""
        return self._nearest(path)[1]

    def with_node(self, path: MarkedPath, node: Node) -> Marked:
        """The same values, with another one at the path, whose steps are keys."""
        return type(self)(self.name, _replaced(self.root, path, node))

    def is_drawn(self, drawn: DrawnKey) -> bool:
        """Whether the entries of that list are made each time that they are asked for."""
        children = self.node((drawn.key,)).children
        return isinstance(children, list) and type(children) is not list

    def raw(self, path: MarkedPath) -> str | None:
        """A scalar as it was written, without quotes (`1.0`, `off`); None for anything else."""
        return self._nearest(path)[1].raw if self.has(path) else None

    def raw_key(self, path: MarkedPath) -> str:
        """The key that the path ends with as it was written."""
        key, _ = self._nearest(path)
        return key.raw if key is not None and key.raw is not None else str(path[-1])

    def number(self, path: MarkedPath) -> Fraction:
        """The number at a path, exactly as written. Raises ValueError when there is none."""
        node = self._nearest(path)[1]
        if isinstance(node.value, float) and node.raw is not None:
            return exact(node.raw)  # all its digits, even those that a float cannot hold
        if isinstance(node.value, int) and self.has(path):
            return exact(node.value)
        raise ValueError("not a number")

    def has(self, path: MarkedPath) -> bool:
        node = self.root
        for step in path:
            below = _step(node, step)
            if below is None:
                return False
            node = below[1]
        return True

    def _nearest(self, path: MarkedPath) -> tuple[Node | None, Node]:
        """The node of the path, or the last one on the way to it, with its key."""
        key, node = None, self.root
        for step in path:
            below = _step(node, step)
            if below is None:
                break
            key, node = below
        return key, node

    def _place(self, node: Node) -> str:
        return f"{node.file or self.name}:{node.line}:{node.column}"


def _replaced(root: Node, path: MarkedPath, node: Node) -> Node:
    if not path:
        return node
    assert isinstance(root.children, dict)
    made = root.empty()
    for name, (key, child) in root.children.items():
        made.put(key, child if name != path[0] else _replaced(child, path[1:], node))
    return made


def _step(node: Node, step: MapKey) -> tuple[Node | None, Node] | None:
    children = node.children
    if isinstance(children, dict):
        return children.get(step)
    if isinstance(children, list) and isinstance(step, int) and 0 <= step < len(children):
        return None, children[step]
    return None


def read_marked(path: Path) -> Marked:
    """A YAML or JSON file (recognised by content). Raises FileError with the place."""
    return parse_marked(read_text(path), str(path))


def read_text(path: Path, *, most: int = MAX_BYTES) -> str:
    """The text of a file that a person wrote. Raises FileError when it is missing, too large, empty
    or no text.
    """
    return _decode(read_bytes(path, most=most), str(path))


def read_bytes(path: Path, *, most: int = MAX_BYTES) -> bytes:
    """The content of a file that a person named. Raises FileError when it is missing, too large or
    not a file.
    """
    require_readable(path)
    name = str(path)
    try:
        mode = path.stat().st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            # A pipe without a writer would wait for ever; one with a writer can be read once only,
            # and we read twice.
            raise FileError(
                f"`{name}` is a pipe or a device, not a file", hint="write it to a file first"
            )
        with path.open("rb") as file:
            data = file.read(most + 1)
    except FileNotFoundError:
        if path.is_symlink():
            raise FileError(
                f"`{name}` is a link to a file that is not there",
                hint=f"it leads to `{path.readlink()}`",
            ) from None
        raise FileError(f"file `{name}` not found", hint=near_files(path)) from None
    except IsADirectoryError:
        raise FileError(f"`{name}` is a folder", hint="name a file inside it") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise FileError(f"`{name}` cannot be read: {reason}") from None
    if len(data) > most:
        raise FileError(
            f"`{name}` is larger than {most // 1_000_000} MB", hint="split it into several files"
        )
    return data


def _decode(data: bytes, name: str) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError(
            "this file is UTF-16, not UTF-8", place=f"{name}:1:1", hint="save it as UTF-8"
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        start = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        line, column = line_and_column(data[:start].decode("utf-8-sig", "replace"))
        raise refuse(
            name,
            line,
            column,
            f"this file is not UTF-8: byte {start} is 0x{data[start]:02x}",
            "save it as UTF-8",
        ) from None
    return text


def near_files(path: Path) -> str | None:
    """A hint that names a file which is called nearly so; None where there is none."""
    import difflib

    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"folder `{path.parent}` not found either"
    near = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean `{path.parent / near[0]}`?" if near else None


def parse_marked(text: str, name: str, drawn: DrawnKey | None = None) -> Marked:
    """YAML or JSON text. `name` stands for the file in places. `drawn`: as in `json_root`. Raises
    FileError.
    """
    text = text.removeprefix("\ufeff")
    if "\0" in text:
        raise refuse(
            name,
            *line_and_column(text[: text.index("\0")]),
            "this file holds a NUL byte, so it is not a text file",
        )
    refuse_too_large(text, name)
    root = _root(text, name, drawn)
    if root is None:
        raise refuse(
            name, 1, 1, "this file is empty", "see `honestone init` for a file to start from"
        )
    return Marked(name, root)


def refuse_too_large(text: str, name: str) -> None:
    """Raises FileError for a text above the limit of its format."""
    is_json = _is_flow(text)
    if len(text) > MAX_JSON_BYTES:
        hint = "name its cases in a table, which is read line by line: cases: cases.jsonl"
        raise FileError(f"`{name}` is larger than {MAX_JSON_BYTES // 1_000_000} MB", hint=hint)
    if len(text) > MAX_BYTES and not is_json:
        hint = f"JSON may have {MAX_JSON_BYTES // 1_000_000} MB, a table of cases (cases: cases.jsonl) more; or split it"
        raise FileError(f"`{name}` is larger than {MAX_BYTES // 1_000_000} MB", hint=hint)


def _is_flow(text: str) -> bool:
    return re.match(r"\s*[{\[]", text) is not None


def _root(text: str, name: str, drawn: DrawnKey | None) -> Node | None:
    from honestone.formats.syntax.yaml_nodes import yaml_root

    if not _is_flow(text):
        return yaml_root(text, name)
    from honestone.formats.syntax.json_nodes import NotJson, json_root

    try:
        return json_root(text, name, drawn)
    except NotJson as not_json:
        if len(text) > MAX_BYTES:
            raise not_json.error from None
        try:
            return yaml_root(text, name)  # {a: 1} and [a, b] are YAML
        except FileError as error:
            looks_like_json = re.match(r"\s*[{\[][\s{\[]*[\"\d\]}]", text)
            raise (not_json.error if looks_like_json else error) from None
