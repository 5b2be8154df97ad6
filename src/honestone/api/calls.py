"""What the functions of `honestone.api` share: their keywords are checked by name and type, and
each has a twin that can be awaited.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache, partial, wraps
from inspect import Parameter, Signature, signature
from os import PathLike
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import fields

from honestone.app.doors import given
from honestone.app.doors.telemetry import telemetry_of_python
from honestone.app.event_loop import run_in_thread
from honestone.app.judging.judging_options import JudgingOptions
from honestone.app.keywords import JudgingKeywords
from honestone.app.workspace import Workspace
from honestone.core.errors import HonestoneError, UsageError

P = ParamSpec("P")
T = TypeVar("T")


def _require_known(name: str, work: Callable[..., object], options: Iterable[str]) -> None:
    """Raise TypeError, as Python does, for a keyword that the function does not have. The message
    has the nearest keyword that it has.
    """
    known = _known_options(work)
    for option in options:
        if option not in known:
            near = get_close_matches(option, known, n=1)
            hint = f"; did you mean `{near[0]}`?" if near else ""
            raise TypeError(f"{name}() got an unexpected keyword argument {option!r}{hint}")


@cache
def _known_options(work: Callable[..., object]) -> Sequence[str]:
    parameters = signature(work, eval_str=True).parameters.values()
    return [name for one in parameters for name in _names_of(one)]


def _names_of(parameter: Parameter) -> Sequence[str]:
    """The name of a keyword, or all names of `**options: Unpack[KEYWORDS]`."""
    if parameter.kind is not parameter.VAR_KEYWORD:
        return [parameter.name]
    return list(get_type_hints(get_args(parameter.annotation)[0]))


@cache
def _simple_options(work: Callable[..., object]) -> type[msgspec.Struct]:
    """A struct of those keywords of a function that have a simple type, to check values with."""

    def named() -> Iterator[tuple[str, Any]]:
        for one in signature(work, eval_str=True).parameters.values():
            if one.kind is one.VAR_KEYWORD:
                hints = get_type_hints(get_args(one.annotation)[0])
                yield from ((name, _of_any_words(hint)) for name, hint in hints.items())
            elif one.default is not one.empty and _is_simple(one.annotation):
                yield one.name, one.annotation

    return msgspec.defstruct("Options", [(name, hint, None) for name, hint in named()])


def _of_any_words(hint: Any) -> Any:
    """The type with `str` for each Literal of words. The request refuses other words itself, and
    its message lists the words.
    """
    if get_origin(hint) is Literal:
        return str
    if isinstance(hint, UnionType) or get_origin(hint) is Union:
        return Union[tuple(map(_of_any_words, get_args(hint)))]  # noqa: UP007
    return hint


def _is_simple(hint: object) -> bool:
    """Whether a type is text, a number, a bool, a Literal of words, or one or several texts."""
    types = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    simple = [str, int, float, bool, NoneType]
    if str in types:
        simple.append(Sequence[str])
    return get_origin(hint) is Literal or all(one in simple for one in types)


def checked(work: Callable[P, T]) -> Callable[P, T]:
    """Make a function check its keywords: UsageError with the keyword's name for a wrong type.

    Errors that the caller has to correct are raised without a traceback through our files, which
    would hide the caller's own line.
    """

    @wraps(work)
    def call(*args: P.args, **options: P.kwargs) -> T:
        __tracebackhide__ = True
        _require_known(work.__name__, work, options)
        try:
            msgspec.convert(options, _simple_options(work))
        except msgspec.ValidationError as error:
            why, _, place = str(error).partition(" - at `$.")
            name = place.rstrip("`").partition("[")[0]
            raise UsageError(f"`{name}`: {why[:1].lower()}{why[1:]}") from None
        try:
            return work(*args, **options)
        except HonestoneError as error:
            raise error.with_traceback(None) from None

    # Editors, notebooks and `help()` show this signature: every option with its default.
    vars(call)["__signature__"] = _with_each_option(signature(work))
    return call


def _with_each_option(declared: Signature) -> Signature:
    """Replace `**options: Unpack[KEYWORDS]` in a signature by its keywords with their defaults."""
    parameters: list[Parameter] = []
    for one in declared.parameters.values():
        if one.kind is not one.VAR_KEYWORD:
            parameters.append(one)
            continue
        parameters += [
            Parameter(
                option.name,
                Parameter.KEYWORD_ONLY,
                default=Parameter.empty if option.default is NODEFAULT else option.default,
                annotation=JudgingOptions.__annotations__[option.name],
            )
            for option in fields(JudgingOptions)
            if option.name in JudgingKeywords.__annotations__
        ]
    return declared.replace(parameters=parameters)


def awaited(work: Callable[P, T], name: str) -> Callable[P, Awaitable[T]]:
    """Make a coroutine of a function: it runs in a thread, so the event loop stays free. When it is
    cancelled, the function ends as it does on Ctrl-C.
    """

    @wraps(work)
    async def form(*args: P.args, **options: P.kwargs) -> T:
        _require_known(name, work, options)
        return await run_in_thread(partial(work, *args, **options))

    # `inspect` must see a coroutine function, so it must not follow `__wrapped__` to the function.
    vars(form)["__signature__"] = signature(work)
    del vars(form)["__wrapped__"]
    form.__name__ = form.__qualname__ = name
    form.__doc__ = f"`{name.removeprefix('a')}`, awaited: the running event loop is not held up."
    return form


def make_workspace(
    folder: str | PathLike[str] | None, store: str | PathLike[str] | None
) -> Workspace:
    """The workspace of one call. Raises SettingsError for settings that cannot be read."""
    telemetry_of_python(_say)
    place = Path() if folder is None else given.a_path(folder, "folder")
    return Workspace.at(place, store=None if store is None else given.a_store(store), say=_say)


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def one_or_several(names: str | Sequence[str]) -> tuple[str, ...]:
    """One name or several, as a tuple."""
    return (names,) if isinstance(names, str) else tuple(names)


def make_judging(judges: object, options: JudgingKeywords) -> JudgingOptions:
    """Make the options of judging from keywords. Raises UsageError for a value that the command
    refuses.
    """
    return JudgingOptions(judges=given.several(judges, "judges", given.a_judge), **options)
