"""The options of the commands, made of the tables in `options.toml`, and what of them commands
share.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from functools import cache, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeAlias, TypeVar

import click

from honestone.app.options import (
    REQUIRED,
    Argument,
    Declared,
    Group,
    Option,
    build,
    declared,
    parts,
)
from honestone.core.tables import table_text

if TYPE_CHECKING:
    from honestone.app.judging_options import JudgingOptions


class Amount(click.FloatRange):
    """A number within a range. Neither NaN nor infinity is one: as a limit they would be none."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        number = super().convert(value, param, ctx)
        if not math.isfinite(number):
            self.fail(f"{value} is not a number with an end.", param, ctx)
        return number


class Quorum(click.ParamType[int | str]):
    name = "quorum"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (
            int(value) if str(value).isdecimal() else value
        )  # JudgingOptions refuses what is not a quorum


# Where the context of a command keeps what --store names.
STORE_NAMED: Final = "honestone.store"

F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")

_TYPES: Final = {
    "path": click.Path(path_type=Path),
    "folder": click.Path(path_type=Path, exists=True, file_okay=False),
    "above-zero": Amount(min=0, min_open=True),
    "quorum": Quorum(),
}
_RANGES: Final = {"int": click.IntRange, "float": click.FloatRange, "amount": Amount}


def options(*names: str) -> Callable[[F], F]:
    """The options and arguments of the tables of these names, for a command."""

    def decorate(command: F) -> F:
        for option in reversed([option for name in names for option in _made_of(name)]):
            command = option(command)
        return command

    return decorate


@cache
def _made_of(name: str) -> Sequence[Callable[[Any], Any]]:
    """What a table has, in its order. The one of --store is made by code."""
    if name == "store":
        return [_decorator(next(declared(_with_store)))]
    if name in _DECLARED:
        return [_decorator(one) for one in _shared_options(*_DECLARED[name])]
    made: list[Callable[[Any], Any]] = []
    for written, row in tomllib.loads(_tables()[name]).items():
        if written.startswith("+"):
            made += [
                option
                for shared in written.removeprefix("+").split(" +")
                for option in _made_of(shared)
            ]
        else:
            made.append(
                _made(written, {"is_flag": True, "help": row} if isinstance(row, str) else row)
            )
    return made


def _shared_options(*fields: str) -> Iterator[Declared]:
    from honestone.app.judging_options import JudgingOptions
    from honestone.app.options import declared

    for one in declared(JudgingOptions):
        if one.field in fields if fields else one.is_shared:
            yield one


_DECLARED: Final[dict[str, tuple[str, ...]]] = {
    "judging-options": (),
    "bars": ("threshold", "floor"),
    "combine": ("combine",),
    "limits": ("max_calls", "max_usd", "max_minutes"),
    "allow-outside": ("allow_outside",),
    "as": ("read_as",),
    "stage-judges": ("judges", "judge_timeout"),
}


def from_parameters(work: Callable[..., R]) -> Callable[..., R]:
    """A function whose parameters are the options and arguments of a command: each has an `Option`
    in its annotation, or is of a class that has (`honestone.app.options`), and gets its value.
    """

    @wraps(work)
    def call(*args: Any, **values: Any) -> R:
        taken: dict[str, Any] = {}
        for one in parts(work):
            if isinstance(one, Group):
                taken[one.field] = build(one.of, values)
            else:
                taken[one.field] = values.get(one.field)
        return work(*args, **taken)

    return with_params(call, work)


def with_params(call: Callable[..., R], of: Callable[..., object]) -> Callable[..., R]:
    """Gives a function, after the options that it has, those of the parameters of another."""
    own = getattr(call, "__click_params__", [])
    # click keeps them in the order of decorators, the lowest first.
    vars(call)["__click_params__"] = [*reversed([make_param(one) for one in declared(of)]), *own]
    return call


def make_param(one: Declared) -> click.Parameter:
    """An option or argument of click."""
    option = one.option
    settings: dict[str, Any] = {"metavar": option.metavar, "required": one.is_required}
    if one.default is not REQUIRED and not one.is_many:
        settings["default"] = one.default
    if one.kind is not bool:
        settings["type"] = _click_type(one)
    if isinstance(option, Argument):
        settings |= {"nargs": -1} if one.is_many else {}
        return click.Argument([one.field], **settings)
    settings |= {"help": option.help, "show_default": option.show_default}
    if option.variables:
        settings["envvar"] = option.variables
    settings |= {"hidden": option.hidden, "multiple": one.is_many, "is_flag": one.kind is bool}
    if isinstance(option, StoreOption):
        settings |= {"expose_value": False, "callback": _keep_store}
    names = [one.field, *filter(None, (option.short, one.typed))]
    return click.Option(names, **settings)


def _click_type(one: Declared) -> Any:
    option = one.option
    if one.choices:
        return Quorum() if one.kind is int else click.Choice(one.choices)
    if one.kind is Path:
        return _FOLDER if option.is_folder else click.Path(path_type=Path)
    low = option.min if option.above is None else option.above
    if (low is None and option.max is None) or not option.show_range:
        return one.kind
    range_of: Any = click.IntRange if one.kind is int else Amount
    return range_of(min=low, max=option.max, min_open=option.above is not None)


_FOLDER: Final = click.Path(path_type=Path, exists=True, file_okay=False)


class StoreOption(Option):
    """Its value is kept in the context, where `terminal.here` finds it."""


StoreName: TypeAlias = Annotated[
    str | None,
    StoreOption(
        "Where runs are kept: postgresql://HOST/DATABASE, or a folder."
        " [HONESTONE_STORE, else .honestone]",
        name="--store",
        metavar="URL|DIR",
    ),
]
AsJson: TypeAlias = Annotated[bool, Option("Print JSON on stdout.", name="--json")]
IsQuiet: TypeAlias = Annotated[bool, Option("No progress and no notes.", short="-q")]
RubricFile: TypeAlias = Annotated[Path, Option("The rubric file.", short="-r")]


def _decorator(one: Declared) -> Callable[[Any], Any]:
    def decorate(command: Any) -> Any:
        vars(command).setdefault("__click_params__", []).append(make_param(one))
        return command

    return decorate


@cache
def _tables() -> dict[str, str]:
    """Each table as text: a command reads those that it has."""
    _, *parts = re.split(r"(?m)^\[(.+)\]$", table_text("options", __package__))
    return {name.strip('"'): text for name, text in zip(parts[::2], parts[1::2], strict=True)}


def _made(written: str, row: dict[str, Any]) -> Callable[[Any], Any]:
    make = click.option if written.startswith("-") else click.argument
    names = [*written.split(), *([row.pop("to")] if "to" in row else [])]
    bounds = {name: row.pop(name) for name in ("min", "max") if name in row}
    if "choice" in row:
        row["type"] = click.Choice(row.pop("choice").split("|"))
    elif bounds:
        row["type"] = _RANGES[row["type"]](**bounds)
    elif "type" in row:
        row["type"] = _TYPES.get(row["type"]) or {"int": int, "float": float}[row["type"]]
    if row.get("default") == "unset":
        row["default"] = None
    return make(*names, **row)


def take_judging(options: dict[str, Any]) -> JudgingOptions:
    """The judging options, taken out of a command's keyword arguments."""
    from honestone.app.judging_options import JudgingOptions

    names = [field.name for field in fields(JudgingOptions) if field.name in options]
    return JudgingOptions(**{name: options.pop(name) for name in names})


def _keep_store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[STORE_NAMED] = value


def _with_store(store: StoreName = None) -> None: ...


def named_store() -> str | None:
    """What --store names, of the command that runs."""
    ctx = click.get_current_context(silent=True)
    found = None if ctx is None else ctx.meta.get(STORE_NAMED)
    return found if isinstance(found, str) else None


def shown_store() -> str:
    """The same for people: an address without its password."""
    from honestone.core.store_address import store_address

    named = named_store() or ""
    address = store_address(named)
    return named if address is None else address.shown
