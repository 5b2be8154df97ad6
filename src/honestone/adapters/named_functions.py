"""`python:FILE:FUNCTION` and `python:MODULE:FUNCTION`: a person's function, found by its name.

It is imported once, in this process. What it prints goes to stderr, so that it does not mix with
what the command prints.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from functools import wraps
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any, Final, TextIO

from msgspec import Struct

from honestone.adapters.targets._child import last_line
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.ports import Function
from honestone.system.processes.commands import describe_command

_SHAPE: Final = "for example python:my_judge.py:judge, or python:my_package.judges:judge"
_IS_INSIDE: Final[ContextVar[bool]] = ContextVar("is_inside", default=False)


class NamedFunction(Struct, frozen=True, kw_only=True):
    """A function and what it is known by on record: its name, and the digest of its file."""

    function: Function
    identity: dict[str, Any]


def split_name(named: str) -> tuple[str, str]:
    """The file or module, and the function. Raises UsageError where one of them is missing."""
    module, colon, function = named.rpartition(":")
    parts = function.split(".")
    if not colon or not module or not all(part.isidentifier() for part in parts):
        raise UsageError(f"`python:{visible(named, 80)}` names no function", hint=_SHAPE)
    return module, function


def find_file(module: str, places: Sequence[Path]) -> Path | None:
    """The file that is named, or that a module is in, in the first place that has it."""
    is_file = module.endswith(".py")
    stem = module.replace(".", "/")
    names = [module] if is_file else [f"{stem}.py", f"{stem}/__init__.py"]
    found = (place / name for place in places for name in names)
    return next((path for path in found if path.is_file()), None)


def function_named(named: str, places: Sequence[Path]) -> NamedFunction:
    """Imports it. Files are looked up in `places`, and modules there first. Raises UsageError for a
    file, module or function that is not there, and for one that cannot be imported.
    """
    module, name = split_name(named)
    path = find_file(module, places)
    if path is None and module.endswith(".py"):
        raise UsageError(
            f"`python:{visible(named, 80)}` names the file `{module}`, which is not there",
            hint=f"it is looked up in `{places[0]}`",
        )
    function = _function_in(_imported(module, path, places, named), name, named)
    files = {} if path is None else describe_command([_shown(path, places)], places[0])
    identity = {"kind": "python", "function": named, **files}
    return NamedFunction(function=_printing_to_stderr(function), identity=identity)


def _shown(path: Path, places: Sequence[Path]) -> str:
    return str(path.relative_to(places[0])) if path.is_relative_to(places[0]) else str(path)


def _imported(module: str, path: Path | None, places: Sequence[Path], named: str) -> ModuleType:
    try:
        with _own_output():
            if path is not None and module.endswith(".py"):
                return _module_of(path)
            with _importing_from(places):
                return importlib.import_module(module)
    except (Exception, SystemExit) as error:
        raise UsageError(
            f"`python:{visible(named, 80)}` cannot be imported: {visible(last_line(error), 300)}",
            hint="files are looked up in the working directory, modules there and in the environment",
        ) from None


def _module_of(path: Path) -> ModuleType:
    """A file as a module of its own, whose neighbours it can import. Dataclasses and what else
    looks its module up find it by a name that no other module has.
    """
    digest = sha256(os.fsencode(path.absolute())).hexdigest()
    name = f"_honestone_{digest[:12]}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    with _importing_from([path.parent]):
        spec.loader.exec_module(module)
    return module


@contextmanager
def _importing_from(places: Sequence[Path]) -> Iterator[None]:
    """The places come first for what is imported at once, and stay last for what a function imports
    when it is called.
    """
    before, own = [*sys.path], [str(place.absolute()) for place in places]
    sys.path[:0] = own
    try:
        yield
    finally:
        sys.path[:] = [*before, *(place for place in own if place not in before)]


def _function_in(module: ModuleType, name: str, named: str) -> Callable[..., Any]:
    value: Any = module
    for part in name.split("."):
        if not hasattr(value, part):
            known = [one for one in dir(value) if callable(getattr(value, one)) and one[0] != "_"]
            near = get_close_matches(part, known, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"it has: {', '.join(known[:12])}"
            raise UsageError(
                f"`python:{visible(named, 80)}`: it has no function `{part}`", hint=hint
            )
        value = getattr(value, part)
    if not callable(value):
        raise UsageError(f"`python:{visible(named, 80)}`: `{name}` is not a function", hint=_SHAPE)
    return value  # type: ignore[no-any-return]


class _Divided(io.TextIOBase):
    """A stdout whose text goes to stderr where a person's function prints it."""

    def __init__(self, own: TextIO) -> None:
        self._own = own

    def write(self, text: str) -> int:
        return (sys.stderr if _IS_INSIDE.get() else self._own).write(text)

    def flush(self) -> None:
        self._own.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self._own.encoding

    def isatty(self) -> bool:
        return self._own.isatty()

    @property
    def buffer(self) -> Any:
        return self._own.buffer  # type: ignore[attr-defined, unused-ignore]

    def fileno(self) -> int:
        return self._own.fileno()


@contextmanager
def _own_output() -> Iterator[None]:
    """What is printed inside goes to stderr."""
    if not isinstance(sys.stdout, _Divided):
        sys.stdout = _Divided(sys.stdout)
    token = _IS_INSIDE.set(True)
    try:
        yield
    finally:
        _IS_INSIDE.reset(token)


def _printing_to_stderr(function: Callable[..., Any]) -> Function:
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def awaited(*given: Any, **named: Any) -> Any:
            with _own_output():
                return await function(*given, **named)

        return awaited

    @wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        with _own_output():
            return function(*given, **named)

    return call
