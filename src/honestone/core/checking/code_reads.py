"""Files that the code of a check reads by a name that is written in it: found without running it.

Only reads that nothing can make right are found. Code that asks first whether a file is there, or
catches what fails, reads nothing that it needs; a name that is put together at run time is not
known.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from honestone.core.checking.script import Script


class CodeRead(NamedTuple):
    """`name`: a path as POSIX writes it, relative to the folder where the code runs, or with
    `of_file` to the folder of the code's file. `line`: of the code, from 1 on.
    """

    name: str
    of_file: bool
    line: int


def code_reads(script: Script, source: str) -> list[CodeRead]:
    """The files that code reads whatever it is asked about. `source`: the text of its file, or the
    code itself. Code that cannot be parsed reads none: running it says why.
    """
    found = _of_python if script.language == "python" else _of_javascript
    reads = found(script, source)
    return [one for one in dict.fromkeys(reads) if one.name and "://" not in one.name]


# ---------------------------------------------------------------------------------------------------
# Python

_ASKS_FIRST: Final = re.compile(r"\b(?:exists|is_file|isfile|access|chdir|suppress)\b")
_READERS: Final = frozenset({"read_csv", "read_json", "read_parquet", "read_excel", "loadtxt"})
_SAME: Final = frozenset({"abspath", "realpath", "normpath", "fspath", "resolve", "absolute"})
_FILE: Final = "__file__"


class _Path(NamedTuple):
    """A path that the code puts together; `of_file` and `name` as in CodeRead."""

    of_file: bool
    name: str

    @property
    def parent(self) -> _Path:
        if posixpath.basename(self.name) in ("", ".", ".."):
            return self._replace(name=posixpath.normpath(posixpath.join(self.name, "..")))
        return self._replace(name=posixpath.dirname(self.name) or ".")

    def joined(self, other: _Path) -> _Path:
        if other.of_file or posixpath.isabs(other.name):
            return other
        return self._replace(name=posixpath.normpath(posixpath.join(self.name, other.name)))


def _of_python(script: Script, source: str) -> Iterator[CodeRead]:
    if _ASKS_FIRST.search(source):
        return
    is_body = script.file is None and "\n" in source
    text = f"if True:\n{_indented(source)}" if is_body else source.strip()
    try:
        tree = ast.parse(source if script.file is not None else text)
    except (SyntaxError, ValueError, RecursionError):
        return
    found = _Found(has_file=script.file is not None)
    start = (script.function or script.evaluator or "").partition(".")[0]
    for node in _run_of(tree, start):
        found.look_at(node)
    for line, path in found.reads:
        if path not in found.written:
            yield CodeRead(path.name, path.of_file, line - is_body)


def _indented(body: str) -> str:
    """A body as that of a block, also where it is indented already."""
    is_indented = body.lstrip("\n")[:1] in (" ", "\t")
    return body if is_indented else "\n".join(f"    {line}" for line in body.split("\n"))


def _run_of(tree: ast.Module, start: str) -> Iterator[ast.AST]:
    """What is run when the file is imported and the function or class `start` is called, without
    what is in a `try`: an error there is an answer.
    """
    defined = {
        one.name: one
        for one in tree.body
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    }
    waiting: list[ast.AST] = [one for one in tree.body if one not in defined.values()]
    asked = [start]
    while waiting or asked:
        if not waiting:
            called = defined.pop(asked.pop(0), None)
            waiting += [] if called is None else ast.iter_child_nodes(called)
            continue
        node = waiting.pop(0)
        if isinstance(node, ast.Try) or _is_main(node):
            continue
        yield node
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            asked.append(node.func.id)
        waiting += ast.iter_child_nodes(node)


def _is_main(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)


class _Found:
    """Reads and writes of code, and the paths that its names stand for."""

    def __init__(self, *, has_file: bool) -> None:
        self._has_file = has_file
        self._names: dict[str, _Path] = {}
        self.reads: list[tuple[int, _Path]] = []
        self.written: set[_Path] = set()

    def look_at(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                path = self._path(value)
                if path is None:
                    self._names.pop(name, None)
                else:
                    self._names[name] = path
            case ast.Call():
                self._look_at_call(node)

    def _look_at_call(self, call: ast.Call) -> None:
        match call.func:
            case ast.Name(id="open") | ast.Attribute(value=ast.Name(id="io"), attr="open"):
                self._opened(call, self._first(call.args), _mode(call, at=1))
            case ast.Attribute(value=value, attr="open"):
                self._opened(call, self._path(value), _mode(call, at=0))
            case ast.Attribute(value=value, attr="read_text" | "read_bytes"):
                self._opened(call, self._path(value), "r")
            case ast.Attribute(value=value, attr="write_text" | "write_bytes"):
                self._opened(call, self._path(value), "w")
            case ast.Attribute(attr=name) if name in _READERS:
                self._opened(call, self._first(call.args), "r")

    def _opened(self, call: ast.Call, path: _Path | None, mode: str | None) -> None:
        if path is None or mode is None:
            return
        if set(mode) & set("wax+"):
            self.written.add(path)
        else:
            self.reads.append((call.lineno, path))

    def _first(self, values: Sequence[ast.expr]) -> _Path | None:
        return self._path(values[0]) if values else None

    def _path(self, node: ast.expr) -> _Path | None:
        """The path that an expression is; None where only running it would tell."""
        match node:
            case ast.Constant(value=str(text)):
                return _Path(False, text)
            case ast.Name(id="__file__"):
                return _Path(True, _FILE) if self._has_file else None
            case ast.Name(id=name):
                return self._names.get(name)
            case ast.BinOp(left=left, op=ast.Div(), right=right):
                return self._joined([left, right])
            case ast.Attribute(value=value, attr="parent"):
                path = self._path(value)
                return None if path is None else path.parent
            case ast.Subscript(
                value=ast.Attribute(value=value, attr="parents"), slice=ast.Constant(value=int(up))
            ):
                path = self._path(value)
                for _ in range(min(up, 50) + 1):
                    path = None if path is None else path.parent
                return path
            case ast.Call():
                return self._path_of_call(node)
        return None

    def _path_of_call(self, call: ast.Call) -> _Path | None:
        match call.func:
            case ast.Name(id="Path" | "PurePath" | "str") | ast.Attribute(attr="Path" | "join"):
                return self._joined(call.args)
            case ast.Attribute(value=value, attr="joinpath"):
                return self._joined([value, *call.args])
            case ast.Attribute(attr="dirname"):
                path = self._first(call.args)
                return None if path is None else path.parent
            case ast.Attribute(attr="with_name", value=value):
                path, name = self._path(value), self._first(call.args)
                return None if path is None or name is None else path.parent.joined(name)
            case ast.Attribute(attr=name, value=value) if name in _SAME:
                return self._first(call.args) if call.args else self._path(value)
        return None

    def _joined(self, parts: Sequence[ast.expr]) -> _Path | None:
        paths = [self._path(one) for one in parts]
        if not paths or None in paths:
            return None
        first, *rest = [one for one in paths if one is not None]
        for one in rest:
            first = first.joined(one)
        return first


def _mode(call: ast.Call, *, at: int) -> str | None:
    """The mode of an open; None where only running it would tell."""
    named: Mapping[str | None, ast.expr] = {one.arg: one.value for one in call.keywords}
    written = named.get("mode", call.args[at] if len(call.args) > at else None)
    if written is None:
        return "r"
    return (
        written.value
        if isinstance(written, ast.Constant) and isinstance(written.value, str)
        else None
    )


# ---------------------------------------------------------------------------------------------------
# JavaScript

_NOT_CODE: Final = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CATCHES: Final = re.compile(r"\bcatch\b|\bexistsSync\b|\baccess(?:Sync)?\b|\bchdir\b|\bstatSync\b")
_TEXT: Final = r"""(?:'([^'\\\n]+)'|"([^"\\\n]+)")"""
_READ_FILE: Final = re.compile(
    rf"\breadFileSync\(\s*(?:(?:path\.)?(?:join|resolve)\(\s*(__dirname)\s*,\s*)?{_TEXT}\s*[,)]"
)
_REQUIRE: Final = re.compile(rf"\brequire\(\s*{_TEXT}\s*\)")


def _of_javascript(script: Script, source: str) -> Iterator[CodeRead]:
    if _CATCHES.search(source):
        return
    line_of = _lines(source)
    blanked = _NOT_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)
    has_file = script.file is not None
    for found in _READ_FILE.finditer(blanked):
        of_file = found[1] is not None
        if has_file or not of_file:
            yield CodeRead(found[2] or found[3], of_file, line_of(found.start()))
    for found in _REQUIRE.finditer(blanked) if has_file else ():
        name = found[1] or found[2]
        # Without a suffix Node tries several files.
        if name.startswith(("./", "../")) and posixpath.splitext(name)[1]:
            yield CodeRead(name, True, line_of(found.start()))


def _lines(source: str) -> Callable[[int], int]:
    return lambda at: source.count("\n", 0, at) + 1
