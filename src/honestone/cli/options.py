"""Options and arguments of click, made from the parameters of a command, and what commands share."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
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

if TYPE_CHECKING:
    pass


class Number(click.ParamType[int | float]):
    """A number, within the bounds of its declaration."""

    def __init__(self, declared: Declared) -> None:
        self._declared = declared
        self.name = "integer" if declared.kind is int else "float"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | float:
        try:
            return self._declared.number(str(value))
        except ValueError as error:
            raise click.UsageError(f"{self._declared.typed} is {error}", ctx) from None


class Amount(Number, click.FloatRange):
    """The same with its bounds in the help."""

    def __init__(self, declared: Declared) -> None:
        Number.__init__(self, declared)
        option = declared.option
        low = option.min if option.above is None else option.above
        click.FloatRange.__init__(self, low, option.max, min_open=option.above is not None)


class Quorum(click.ParamType[int | str]):
    name = "quorum"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return (
            int(value) if str(value).isdecimal() else value
        )  # JudgingOptions refuses what is not a quorum


# Where the context of a command keeps what --store names.
STORE_NAMED: Final = "honestone.store"

R = TypeVar("R")


def from_parameters(work: Callable[..., R]) -> Callable[..., R]:
    """A function whose parameters are the options and arguments of a command: each has an `Option`
    in its annotation, or is of a class that has (`honestone.app.options`), and gets its value.
    """

    others = set(signature(work).parameters) - {one.field for one in parts(work)}

    @wraps(work)
    def call(*args: Any, **values: Any) -> R:
        # A parameter without an Option is one of click's own decorators.
        taken = {name: value for name, value in values.items() if name in others}
        for one in parts(work):
            if isinstance(one, Group):
                taken[one.field] = build(one.of, **values)
            else:
                taken[one.field] = values.get(one.field)
        return work(*args, **taken)

    return with_params(call, work)


def with_params(call: Callable[..., R], of: Callable[..., object]) -> Callable[..., R]:
    """Gives a function, after the options that it has, those of the parameters of another."""
    own = vars(call).get("__click_params__", [])
    # click keeps them in the order of decorators, the lowest first.
    vars(call)["__click_params__"] = [*reversed([make_param(one) for one in declared(of)]), *own]
    return call


# For a value whose option names none, instead of click's INTEGER RANGE.
_METAVARS: Final[dict[type, str]] = {int: "N", float: "NUMBER"}


def make_param(one: Declared) -> click.Parameter:
    """An option or argument of click."""
    option = one.option
    metavar = option.metavar or (None if one.choices else _METAVARS.get(one.kind))
    settings: dict[str, Any] = {"metavar": metavar, "required": one.is_required}
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
    return _Renamed(names, option.old_names, **settings)


class _Renamed(click.Option):
    """An option that is read by its old names too, which no help and no message shows."""

    def __init__(self, names: list[str], old_names: tuple[str, ...], **settings: Any) -> None:
        super().__init__(names, **settings)
        self._old_names = list(old_names)

    def add_to_parser(self, parser: Any, ctx: click.Context) -> None:
        shown, self.opts = self.opts, [*self._old_names, *self.opts]
        try:
            super().add_to_parser(parser, ctx)
        finally:
            self.opts = shown


def _click_type(one: Declared) -> Any:
    option = one.option
    if one.choices:
        return Quorum() if one.kind is int else click.Choice(one.choices)
    if one.kind is Path:
        return _FOLDER if option.is_folder else click.Path(path_type=Path)
    if one.kind not in (int, float):
        return one.kind
    has_bounds = {option.min, option.above, option.max} != {None}
    return Amount(one) if has_bounds and option.show_range else Number(one)


_FOLDER: Final = click.Path(path_type=Path, exists=True, file_okay=False)


class StoreOption(Option, frozen=True):
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
WrittenFile: TypeAlias = Annotated[
    Path | None, Option("Where to write it. [stdout]", short="-o", metavar="FILE")
]
Overwrite: TypeAlias = Annotated[bool, Option("Write over a file that is there.")]
# Of commands that write another format; `AcceptLoss` is of those that read one.
WriteTheRest: TypeAlias = Annotated[
    bool,
    Option("Write the rest where one of the formats cannot say something.", name="--accept-loss"),
]
OnlyCheck: TypeAlias = Annotated[
    bool, Option("Write nothing; exit 2 when something changed.", name="--check")
]
# How a report of figures is printed.
ReportForm: TypeAlias = Annotated[
    str,
    Option(name="--format", short="-f", choices=("text", "json", "markdown"), show_default=True),
]
RubricFile: TypeAlias = Annotated[Path, Option("The rubric file.", short="-r")]


def _keep_store(ctx: click.Context, param: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.meta[STORE_NAMED] = value


def named_store() -> str | None:
    """What --store names, of the command that runs."""
    ctx = click.get_current_context(silent=True)
    found = None if ctx is None else ctx.meta.get(STORE_NAMED)
    return found if isinstance(found, str) else None


def shown_store() -> str:
    """The same for people: an address without its password."""
    from honestone.core.record.store_address import store_address

    named = named_store() or ""
    address = store_address(named)
    return named if address is None else address.shown
