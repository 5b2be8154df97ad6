"""Files that the code of a check reads by a name that is written in it: found without running it.

Only reads that nothing can make right are found: of statements that are always run, before anything
that may have written a file, started a program or ended the code. Code that asks first whether a
file is there, or catches what fails, reads nothing that it needs; a name that is put together at
run time is not known. Where it is in doubt, nothing is found.
"""

from __future__ import annotations

import ast
import posixpath
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from honestone.core.checking.script import Script
from honestone.core.json_value import late_pattern


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

_ASKS_FIRST: Final = late_pattern(r"\b(?:exists|is_file|isfile|access|chdir|suppress)\b")
_READERS: Final = frozenset({"read_csv", "read_json", "read_parquet", "read_excel", "loadtxt"})
_SAME: Final = frozenset({"abspath", "realpath", "normpath", "fspath", "resolve", "absolute"})
_FILE: Final = "__file__"

# What changes no file and always comes back: functions, modules whose functions are all of that
# kind, and methods.
_FUNCTIONS: Final = frozenset(
    "abs all any ascii bin bool bytes callable chr dict divmod enumerate float format"
    " frozenset hash hex int isinstance issubclass iter len list max min next oct ord pow print"
    " range repr reversed round set sorted str sum tuple type zip Path PurePath".split()
)
_MODULES: Final = frozenset(
    "ast collections csv datetime decimal difflib fractions html io itertools json math pathlib re"
    " statistics string textwrap unicodedata".split()
)
_METHODS: Final = (
    frozenset({name for kind in (str, list, dict, set) for name in dir(kind)} - {"__init__"})
    | {"read", "readline", "readlines", "close", "seek", "safe_load", "dirname", "getcwd"}
    | {"read_text", "read_bytes", "open", "joinpath", "with_name", "with_suffix", "as_posix"}
    | {"group", "groups", "search", "match", "fullmatch", "findall", "sub"}
    | _READERS
    | _SAME
)
# Of modules that are imported, only these functions are among them.
_OF_MODULES: Final = (
    frozenset({"dirname", "basename", "join", "splitext", "getcwd", "safe_load"})
    | _READERS
    | (_SAME - {"resolve", "absolute"})
)
# Loading one of these runs no code of the project.
_IMPORTED: Final = _MODULES | frozenset(
    "__future__ abc asyncio base64 contextlib copy dataclasses enum functools glob hashlib heapq"
    " inspect logging operator os pprint random shutil sqlite3 string struct subprocess sys"
    " tempfile time types typing urllib uuid xml zipfile"
    " numpy pandas pydantic pydantic_evals yaml".split()
)
_MAKES: Final = frozenset({"__init__", "__new__", "__post_init__"})

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_ENDS: Final = (
    *(ast.Return, ast.Raise, ast.Assert, ast.Yield, ast.YieldFrom),
    *(ast.Global, ast.Nonlocal, ast.ClassDef),
)


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
    text = f"def code():\n{_indented(source)}" if is_body else source.strip()
    try:
        tree = ast.parse(source if script.file is not None else text)
        found = _Run(tree, has_file=script.file is not None)
        found.run("code" if is_body else script.function or script.evaluator or "")
    except (SyntaxError, ValueError, RecursionError):
        return
    for line, path in found.reads:
        yield CodeRead(path.name, path.of_file, line - is_body)


def _indented(body: str) -> str:
    """A body as that of a block, also where it is indented already."""
    is_indented = body.lstrip("\n")[:1] in (" ", "\t")
    return body if is_indented else "\n".join(f"    {line}" for line in body.split("\n"))


class _Ended(Exception):
    """From here on nothing is sure of the code."""


def _plain_names(nodes: Iterable[ast.AST]) -> dict[str, bool]:
    """The names that statements bind, without what is below functions and classes in them. True for
    a name that one plain assignment binds, and nothing else.
    """
    waiting, bound, plain = list(nodes), Counter[str](), set[str]()
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                bound[name] += 2
                continue
            case ast.ClassDef(name=name):
                bound[name] += 2
                continue
            case ast.Assign(targets=[ast.Name(id=name)]):
                plain.add(name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                bound[name] += 1
            case ast.arg(arg=name) | ast.ExceptHandler(name=str(name)):
                bound[name] += 2
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                bound[name] += 2
            case ast.MatchMapping(rest=str(name)):
                bound[name] += 2
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                bound.update({(one.asname or one.name).partition(".")[0]: 2 for one in names})
        waiting += ast.iter_child_nodes(node)
    return {name: count == 1 and name in plain for name, count in bound.items()}


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Each name that an import binds, and the module that it is or is of."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for one in node.names:
                of = node.module or "." if isinstance(node, ast.ImportFrom) else one.name
                yield (one.asname or one.name).partition(".")[0], of


class _Scope:
    """The names of a file or of a call: whether each may be known, and the paths of known ones."""

    def __init__(self, nodes: Iterable[ast.AST]) -> None:
        self.bound = _plain_names(nodes)
        self.paths: dict[str, _Path] = {}


class _Run:
    """Goes through code as it would be run, and notes what it reads, up to what is not sure."""

    def __init__(self, tree: ast.Module, *, has_file: bool) -> None:
        self._tree, self._has_file = tree, has_file
        self._scopes = [_Scope(tree.body)]
        self._running: list[str] = []
        self._defined = {
            one.name: one for one in tree.body if isinstance(one, _Function | ast.ClassDef)
        }
        others = [one for one in ast.walk(tree) if isinstance(one, ast.Global | ast.Nonlocal)]
        self._shared = {name for one in others for name in one.names}
        self._imported = dict(_imports(tree))
        self.reads: list[tuple[int, _Path]] = []

    def run(self, start: str) -> None:
        """Import the file, then call the function, or the class's method, that `start` names."""
        name, _, method = start.partition(".")
        try:
            self._statements(self._tree.body)
            called = self._defined.get(name)
            if isinstance(called, _Function):
                self._call(called)
            elif called is not None:
                methods = {one.name: one for one in called.body if isinstance(one, _Function)}
                asked = methods.get(method or "evaluate")
                if asked is not None and not methods.keys() & _MAKES:
                    self._call(asked)
        except _Ended:
            pass

    def _call(self, function: _Function) -> None:
        """Raises _Ended where what is called is not only the function itself."""
        is_generator = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(function))
        if function.decorator_list or is_generator or function.name in self._running:
            raise _Ended
        self._running.append(function.name)
        self._scopes.append(_Scope([function.args, *function.body]))
        self._statements(function.body)
        self._scopes.pop()
        self._running.pop()

    # ------------------------------------------------------------------------- statements

    def _statements(self, statements: Sequence[ast.stmt]) -> bool:
        """Whether the function that they are of ended."""
        return any(self._statement(one) for one in statements)

    def _statement(self, node: ast.stmt) -> bool:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._pass_over([node.args, *node.decorator_list])
            case ast.ClassDef(body=body):
                self._pass_over([one for one in body if not isinstance(one, _Function)])
            case ast.If(test=first) | ast.While(test=first) | ast.Match(subject=first):
                if isinstance(node, ast.If) and "__name__" in ast.unparse(first):
                    self._pass_over(node.orelse)
                    return False
                self._expression(first)
                self._pass_over([one for one in ast.iter_child_nodes(node) if one is not first])
            case ast.For(iter=first, body=body, orelse=orelse):
                self._expression(first)
                self._pass_over([*body, *orelse])
            case ast.With(items=items, body=body):
                for one in items:
                    self._expression(one.context_expr)
                if not all(_is_open(one.context_expr) for one in items):
                    raise _Ended  # it may catch what fails
                return self._statements(body)
            case ast.Return(value=value):
                self._all(value)
                return True
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                self._expression(value)
                path = self._path(value)
                if path is not None and self._scopes[-1].bound.get(name):
                    self._scopes[-1].paths[name] = path
            case ast.Assign(value=value) | ast.AnnAssign(value=value) | ast.AugAssign(value=value):
                self._all(value)
            case ast.Expr(value=value):
                self._expression(value)
            case ast.Import() | ast.ImportFrom() | ast.Pass():
                self._pass_over([node])
            case _:
                raise _Ended
        return False

    def _pass_over(self, nodes: Sequence[ast.AST]) -> None:
        """What may be run, or not. Raises _Ended where it may do what changes what comes after."""
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if isinstance(node, _ENDS) or (
                isinstance(node, ast.Call) and not self._is_harmless(node)
            ):
                raise _Ended
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = [one.name for one in node.names]
                if isinstance(node, ast.ImportFrom):
                    names = ["." if node.level else node.module or "."]
                if any(one.partition(".")[0] not in _IMPORTED for one in names):
                    raise _Ended
            if not isinstance(node, _Function):
                waiting += ast.iter_child_nodes(node)

    # ------------------------------------------------------------------------- expressions

    def _all(self, *nodes: ast.AST | None) -> None:
        for one in nodes:
            if one is not None:
                self._expression(one)

    def _expression(self, node: ast.AST) -> None:
        """Go through an expression in the order in which it is evaluated."""
        match node:
            case ast.BoolOp(values=[first, *rest]):
                self._expression(first)
                self._pass_over(rest)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._expression(test)
                self._pass_over([body, orelse])
            case ast.Compare(left=left, comparators=[first, *rest]):
                self._all(left, first)
                self._pass_over(rest)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                source, *more = node.generators
                self._expression(source.iter)
                inner = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
                self._pass_over([*source.ifs, *more, *inner])
            case ast.Lambda(body=body):
                self._pass_over([body])
            case ast.Yield() | ast.YieldFrom():
                raise _Ended
            case ast.Call(func=function, args=args, keywords=keywords):
                self._all(function.value if isinstance(function, ast.Attribute) else None)
                self._all(*args, *(one.value for one in keywords))
                self._look_at_call(node)
            case _:
                self._all(*ast.iter_child_nodes(node))

    def _look_at_call(self, call: ast.Call) -> None:
        match call.func:
            case ast.Name(id=name) if name in self._defined:
                called = self._defined[name]
                if self._is_bound(name) or not isinstance(called, _Function):
                    raise _Ended
                self._call(called)
                return
        if not self._is_harmless(call):
            raise _Ended
        match call.func:
            case ast.Name(id="open") | ast.Attribute(value=ast.Name(id="io"), attr="open"):
                self._opened(call, self._first(call.args))
            case ast.Attribute(value=value, attr="open" | "read_text" | "read_bytes"):
                self._opened(call, self._path(value))
            case ast.Attribute(attr=name) if name in _READERS:
                self._opened(call, self._first(call.args))

    def _opened(self, call: ast.Call, path: _Path | None) -> None:
        if path is not None:
            self.reads.append((call.lineno, path))

    def _is_bound(self, name: str) -> bool:
        """Whether something other than an import or a definition of the file binds a name."""
        scopes = [*self._scopes[1:], *([] if name in self._defined else self._scopes[:1])]
        return name in self._shared or any(
            name in one.bound and name not in self._imported for one in scopes
        )

    def _is_harmless(self, call: ast.Call) -> bool:
        """Whether a call changes no file and always comes back, as far as its names say."""
        match call.func:
            case ast.Name(id="open"):
                return not self._is_bound("open") and "open" not in self._imported and _reads(call)
            case ast.Name(id=name):
                is_ours = name in self._defined or self._is_bound(name)
                origin = self._imported.get(name)
                return name in _FUNCTIONS and not is_ours and origin in (None, "pathlib")
            case ast.Attribute(value=value, attr=name):
                root = value
                while isinstance(root, ast.Attribute):
                    root = root.value
                module = self._imported.get(root.id) if isinstance(root, ast.Name) else None
                if name == "open" and not _reads(call, at=int(module == "io")):
                    return False
                if module is not None:
                    return module.partition(".")[0] in _MODULES or name in _OF_MODULES
                # `replace` of a path moves a file.
                return name in _METHODS and (name != "replace" or len(call.args) > 1)
        return False

    # ------------------------------------------------------------------------- paths

    def _known(self, name: str) -> _Path | None:
        """The path that a name stands for."""
        for scope in (self._scopes[-1], self._scopes[0]):
            if name in scope.bound:
                return None if name in self._shared else scope.paths.get(name)
        return None

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
                return self._known(name)
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


def _is_open(node: ast.expr) -> bool:
    match node:
        case ast.Call(func=ast.Name(id="open") | ast.Attribute(attr="open")):
            return True
    return False


def _reads(call: ast.Call, at: int = 1) -> bool:
    """Whether an open only reads. `at`: which argument is its mode."""
    mode = _mode(call, at=at)
    return mode is not None and not set(mode) & set("wax+")


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

_CATCHES: Final = late_pattern(
    r"\bcatch\b|\bexistsSync\b|\baccess(?:Sync)?\b|\bchdir\b|\bstatSync\b"
)
_TEXT: Final = r"""(?:'([^'\\\n]+)'|"([^"\\\n]+)")"""
_READ_FILE: Final = late_pattern(
    rf"\breadFileSync\(\s*(?:(?:path\.)?(?:join|resolve)\(\s*(__dirname)\s*,\s*)?{_TEXT}\s*[,)]"
)
_REQUIRE: Final = late_pattern(rf"\brequire\(\s*{_TEXT}\s*\)")
_PIECE: Final = late_pattern(
    r"""//[^\n]*|/\*.*?\*/|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`""", re.DOTALL
)
# After one of these it is not sure that what follows is run.
_BRANCHES: Final = late_pattern(
    r"\b(?:if|else|for|while|do|switch|try|throw|class|await|yield|new|exit)\b|[?`]|&&|\|\||\bprocess\b"
)
_CALLED: Final = late_pattern(r"(?:([\w$]+)|[)\]])\s*\(")
_HARMLESS: Final = frozenset(
    "require readFileSync parse stringify join resolve dirname basename String Number Boolean trim"
    " split toString toLowerCase toUpperCase includes startsWith endsWith indexOf slice replace"
    " match test keys values entries function async".split()
)
_STARTS: Final = late_pattern(
    r"(?P<exported>(?:\bmodule\s*\.\s*)?\bexports\s*=\s*|\bexport\s+default\s+)?(?:\basync\s+)?"
    r"(?:\bfunction\b\s*(?P<name>[\w$]*)\s*\([^()]*\)|(?:\([^()]*\)|[\w$]+)\s*=>)"
)


def _of_javascript(script: Script, source: str) -> Iterator[CodeRead]:
    if _CATCHES.search(source):
        return
    line_of = _lines(source)
    # Without comments; then without texts, too: each keeps its place.
    code = _PIECE.sub(lambda found: _blank(found[0], is_text=True), source)
    bare = _PIECE.sub(lambda found: _blank(found[0], is_text=False), source)
    # Code that is loaded may do anything.
    loads = [one.end() for one in _REQUIRE.finditer(code) if _is_code(one[1] or one[2])]
    end = min([_sure_until(script, bare), *loads])
    has_file = script.file is not None
    for found in _READ_FILE.finditer(code):
        of_file, at = found[1] is not None, found.start()
        if at < end and bare[at] == code[at] and (has_file or not of_file):
            yield CodeRead(found[2] or found[3], of_file, line_of(at))
    for found in _REQUIRE.finditer(code) if has_file else ():
        at = found.start()
        name = found[1] or found[2]
        # Without a suffix Node tries several files.
        suffix = posixpath.splitext(name)[1]
        if at < end and bare[at] == code[at] and name.startswith(("./", "../")) and suffix:
            yield CodeRead(name, True, line_of(at))


def _is_code(name: str) -> bool:
    return name.startswith(".") and posixpath.splitext(name)[1] != ".json"


def _blank(piece: str, *, is_text: bool) -> str:
    """A comment as blanks of the same size; a text too, unless `is_text`."""
    if piece[0] in "'\"" and is_text:
        return piece
    # A template may run code.
    blank = re.sub(r"[^\n]", " ", piece)
    return "`" + blank[1:] if piece[0] == "`" else blank


def _sure_until(script: Script, bare: str) -> int:
    """Up to where code without comments and texts is always run and has changed nothing."""
    ends = [len(bare)]
    if (branch := _BRANCHES.search(bare)) is not None:
        ends.append(branch.start())
    functions = list(_STARTS.finditer(bare))
    # The function that is called is the only one into which this looks.
    if functions and script.file is not None and _is_asked(script, functions[0]):
        asked = functions.pop(0)
        start = asked.start(), asked.end()
    else:
        start = (0, 0)
    ends += [one.start() for one in functions[:1]]
    for one in _CALLED.finditer(bare):
        is_head = start[0] <= one.start() < start[1]
        if not is_head and one[1] not in _HARMLESS:
            ends.append(one.start())
            break
    return min(ends)


def _is_asked(script: Script, function: re.Match[str]) -> bool:
    """Whether a function of a file is the one that the check calls."""
    if script.function is None:
        return function["exported"] is not None
    return function["name"] == script.function


def _lines(source: str) -> Callable[[int], int]:
    return lambda at: source.count("\n", 0, at) + 1
