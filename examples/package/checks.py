"""What the rubric asks of the source. Each function gets the folder of the package and says yes or no, and where."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any


def modules_say_what_they_are(folder: Path) -> tuple[bool, str]:
    return _none(f"{name} has no docstring" for name, tree in _modules(folder) if not ast.get_docstring(tree))


def functions_say_what_they_do(folder: Path) -> tuple[bool, str]:
    """Every public function has a docstring of three words or more."""
    return _none(
        f"{name}:{function.lineno} {function.name} has no docstring"
        for name, function in _functions(folder)
        if len((ast.get_docstring(function) or "").split()) < 3
    )


def docstrings_are_sentences(folder: Path) -> tuple[bool, str]:
    """The first line of every docstring starts with a capital letter and ends with a full stop."""
    return _none(
        f'{name}:{function.lineno} "{first}" is no sentence'
        for name, function in _functions(folder)
        for first in (ast.get_docstring(function) or "").splitlines()[:1]
        if not (first[:1].isupper() and first.rstrip().endswith("."))
    )


def docstrings_say_more_than_names(folder: Path) -> tuple[bool, str]:
    return _none(
        f"{name}:{function.lineno} the docstring of {function.name} only repeats its name"
        for name, function in _functions(folder)
        if _words(ast.get_docstring(function) or "-") <= _words(function.name.replace("_", " "))
    )


def no_bare_except(folder: Path) -> tuple[bool, str]:
    return _none(
        f"{name}:{node.lineno} catches everything, Ctrl-C too"
        for name, node in _nodes(folder)
        if isinstance(node, ast.ExceptHandler) and node.type is None
    )


def no_star_import(folder: Path) -> tuple[bool, str]:
    return _none(
        f"{name}:{node.lineno} imports * from {node.module}"
        for name, node in _nodes(folder)
        if isinstance(node, ast.ImportFrom) and node.names[0].name == "*"
    )


def none_is_compared_with_is(folder: Path) -> tuple[bool, str]:
    return _none(
        f"{name}:{node.lineno} compares with None by =="
        for name, node in _nodes(folder)
        if isinstance(node, ast.Compare)
        for operator, other in zip(node.ops, node.comparators)
        if isinstance(operator, (ast.Eq, ast.NotEq)) and isinstance(other, ast.Constant) and other.value is None
    )


def no_eval(folder: Path) -> tuple[bool, str]:
    return _none(
        f"{name}:{node.lineno} calls {node.func.id}"
        for name, node in _nodes(folder)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("eval", "exec")
    )


def no_unused_import(folder: Path) -> tuple[bool, str]:
    """Every imported name is used; those of an `__init__.py` are there to be imported from it."""
    return _none(
        f"{name}: {imported} is imported and not used"
        for name, tree in _modules(folder)
        for node in ast.walk(tree)
        if isinstance(node, ast.Import) or (isinstance(node, ast.ImportFrom) and not name.endswith("__init__.py"))
        for imported in ((one.asname or one.name).split(".")[0] for one in node.names)
        if imported != "*" and imported not in {one.id for one in ast.walk(tree) if isinstance(one, ast.Name)}
    )


def _modules(folder: Path) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        yield path.relative_to(folder).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def _nodes(folder: Path) -> Iterator[tuple[str, Any]]:
    return ((name, node) for name, tree in _modules(folder) for node in ast.walk(tree))


def _functions(folder: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    for name, node in _nodes(folder):
        if isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
            yield name, node


def _words(text: str) -> set[str]:
    return {word.strip(".,").lower() for word in text.split()}


def _none(problems: Iterable[str]) -> tuple[bool, str]:
    """Yes when there are no problems, else no and the first of them."""
    found = list(problems)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return not found, found[0] + more if found else ""
