"""Options, declared once: a field of a request, or a parameter of a command, says its type, default,
bounds and help. Every door (the command line, Python keywords, MCP's schemas, an order for another
machine, the reference page) is made from that.

    repeat: Annotated[int | None, Option("Looks per judge.", min=1, max=20)] = None

declares the option `--repeat`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Final,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import NODEFAULT, Struct, structs

from honestone.core.errors import UsageError


class _ByName(Struct, frozen=True, kw_only=True):
    """The fields of an option that are given by name; only `help` may be given by place."""

    name: str | None = None
    short: str | None = None
    metavar: str | None = None
    min: float | None = None
    max: float | None = None
    above: float | None = None
    choices: tuple[str, ...] = ()
    show_range: bool = True
    show_default: bool = False
    hidden: bool = False
    is_folder: bool = False
    variables: tuple[str, ...] = ()
    old_names: tuple[str, ...] = ()


class Option(_ByName, frozen=True):
    """What is declared of an option besides its type and default, which Python states.

    `name` is what is typed, where it is not the field's name with `-` for `_`; a flag that can be
    denied has both forms (`--keep/--no-keep`). `above` is a bound that is itself too low.
    `choices` are the words that are taken, where the type does not list them. `show_range`: help
    and click's own messages show the bounds; without it only the request checks them. `is_folder`: a folder
    that exists. `variables`: the first of these environment variables that is set is its default.
    `old_names`: what was typed for it before; each still works, and no help shows it.
    """

    help: str | None = None


class Argument(Option, frozen=True):
    """The same for a value that is given by its place."""


class _ByCommand:
    """Annotated to a field: the option is not one of every command that takes the class. A command
    that has it names it as a parameter, and puts its value in.
    """


BY_COMMAND: Final = _ByCommand()

# The types that every door can pass on, as text or JSON. What else a field takes (a function, an
# object) only Python can give.
_PLAIN: Final = (bool, int, float, Fraction, Path, str)
# The default of an option that must be given.
REQUIRED: Final = inspect.Parameter.empty


class Declared(Struct, frozen=True, kw_only=True):
    """An option as it was declared. `kind` is the type of one value, `is_many` whether it takes
    several; `choices` are all words that it takes, besides numbers where `kind` is one.
    `only_python`: a field that takes objects as well.
    """

    field: str
    option: Option
    kind: type
    choices: tuple[str, ...]
    is_many: bool
    is_optional: bool
    only_python: bool
    is_shared: bool
    default: object

    @property
    def is_required(self) -> bool:
        return self.default is REQUIRED

    @property
    def typed(self) -> str:
        """What is typed on the command line: `--max-calls`."""
        return self.option.name or f"--{self.field.replace('_', '-')}"

    @property
    def is_typed(self) -> bool:
        """Whether it is given by name."""
        return not isinstance(self.option, Argument)

    def words(self, value: object) -> list[str]:
        """What would be typed for this value. What only Python can give has no words."""
        if isinstance(value, bool):
            yes, _, no = self.typed.partition("/")
            return [yes if value else no]
        values = value if self.is_many and isinstance(value, Sequence) else [value]
        plain = [one for one in values if isinstance(one, _PLAIN)]
        return [word for one in plain for word in (self.typed, typed_value(one))]

    @property
    def one_type(self) -> object:
        """The type of one value, without what only Python can give."""
        if not self.choices:
            return self.kind
        words: object = Literal[self.choices]
        return words if self.kind is str else Union[self.kind, words]  # noqa: UP007

    @property
    def plain_type(self) -> object:
        """Its type without what only Python can give."""
        one = self.one_type
        if self.is_many:
            one = Sequence[one]  # type: ignore[valid-type]
        return Union[one, None] if self.is_optional else one  # noqa: UP007

    def problem(self, value: object) -> str | None:
        """Why a value is refused, as words after the option's name; None for one that is fine."""
        if value is None and self.is_optional:
            return None
        if self.choices and self.kind is str and not self.is_many:
            choices = ", ".join(self.choices)
            return None if value in self.choices else f"{value!r}, but must be one of {choices}"
        return (
            None
            if self._is_within(value)
            else self._refused(f"{value}", f"{value}, but must be {self._bounds}")
        )

    def number(self, typed: str) -> int | float:
        """The number that was typed. Raises ValueError for what is none within the bounds, with the
        words of `problem`.
        """
        try:
            number = self.kind(typed)
        except ValueError:
            noun = "a whole number" if self.kind is int else "a number"
            wanted = f"{noun} {self._bounds or self._shown_range}".rstrip()
            raise ValueError(self._refused(typed, f"{typed!r}, but must be {wanted}")) from None
        if not self._is_within(number):
            raise ValueError(self.problem(number))
        assert isinstance(number, int | float)
        return number

    def _refused(self, typed: str, words: str) -> str:
        """Why, and which number is probably meant, or one that is fine."""
        meant = self._meant(typed)
        if meant is not None:
            return f"{words}: did you mean {meant}?"
        example = _EXAMPLES.get(self._range)
        return words if example is None or self.kind is int else f"{words}, such as {example}"

    def _meant(self, typed: str) -> str | None:
        """The number within the bounds that a percent, or one with a comma, stands for."""
        text = typed.strip().removesuffix("%").rstrip().replace(",", ".")
        try:
            number = Fraction(text)
        except (ValueError, ZeroDivisionError):
            return None
        is_share = self._range == _SHARE
        found = number / 100 if is_share and (number > 1 or "%" in typed) else number
        if (self.kind is int and found.denominator != 1) or not self._is_within(found):
            return None
        return f"{float(found):g}"

    @property
    def _shown_range(self) -> str:
        """The bounds that only the help shows, as `50-99.9`."""
        low, _, high = (self.option.metavar or "").partition("-")
        return f"from {low} to {high}" if low.isdecimal() and high else ""

    @property
    def _range(self) -> tuple[float | None, float | None]:
        return self.option.min, self.option.max

    def _is_within(self, value: object) -> bool:
        """Neither NaN nor infinity is within bounds: as a limit they would be none."""
        low, high, above = self.option.min, self.option.max, self.option.above
        if low is high is above is None or not isinstance(value, int | float | Fraction):
            return True
        if above is not None and not value > above:
            return False
        least = float("-inf") if low is None else low
        return least <= value < float("inf") and (high is None or value <= high)

    @property
    def _bounds(self) -> str:
        option = self.option
        if option.min is not None and option.max is not None:
            return f"from {option.min:g} to {option.max:g}"
        words = [] if option.above is None else [f"above {option.above:g}"]
        words += [] if option.min is None else [f"at least {option.min:g}"]
        words += [] if option.max is None else [f"at most {option.max:g}"]
        return " and ".join(words)


def typed_value(value: object) -> str:
    """A number without the `.0` of a float."""
    if isinstance(value, Fraction):
        value = float(value)
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else str(value)


_SHARE: Final = (0, 1)
# A number within the bounds of a share, and of points.
_EXAMPLES: Final[dict[tuple[float | None, float | None], str]] = {_SHARE: "0.8", (0, 100): "70"}


class Group(Struct, frozen=True, kw_only=True):
    """A field or parameter whose type is a class with options of its own."""

    field: str
    of: type


T = TypeVar("T")

# What declares options: a struct, or a function with its parameters.
Declaring: TypeAlias = Callable[..., object]


@cache
def parts(of: Declaring) -> tuple[Declared | Group, ...]:
    """The options of a struct or function, and the classes with options that it takes, in their
    order. What has no `Option` and is not such a class is left out.
    """
    return tuple(_parts(of))


def declared(of: Declaring) -> Iterator[Declared]:
    """All its options, the shared ones of the classes that it takes at their place. An option of its
    own replaces the shared one that is typed in the same way.
    """
    own = {one.typed for one in parts(of) if isinstance(one, Declared)}
    for one in parts(of):
        if isinstance(one, Declared):
            yield one
            continue
        for inner in declared(one.of):
            if inner.is_shared and inner.typed not in own:
                yield inner


def given_words(options: Struct, left_out: Collection[str] = ()) -> Iterator[str]:
    """What would be typed for the options, and those of the classes in it, that have not their
    default. Without what is given by its place, and the fields `left_out`.
    """
    for one in parts(type(options)):
        value = getattr(options, one.field)
        if isinstance(one, Group):
            yield from given_words(value, left_out)
        elif one.is_typed and one.field not in left_out and value not in (None, one.default):
            yield from one.words(value)


def require_valid(options: object, of: Declaring) -> None:
    """Raises UsageError for a value that its declaration, in the class `of`, excludes."""
    for one in parts(of):
        if isinstance(one, Declared):
            why = one.problem(getattr(options, one.field))
            if why is not None:
                raise UsageError(f"`{one.field}` is {why}")


def build(of: Callable[..., T], **values: object) -> T:
    """An instance of a class with options, from values by field; what is missing has its default,
    and so has an option that is not shared.
    """

    def value_of(one: Declared | Group) -> object:
        return build(one.of, **values) if isinstance(one, Group) else values[one.field]

    return of(
        **{
            one.field: value_of(one)
            for one in parts(of)
            if isinstance(one, Group) or (one.is_shared and one.field in values)
        }
    )


class _Named(NamedTuple):
    """A field of a class or a parameter of a function. `default`: REQUIRED where it has none."""

    field: str
    hint: object
    default: object


def _named(of: Declaring) -> Iterator[_Named]:
    if isinstance(of, type):
        for known in structs.fields(of):
            is_required = known.default is NODEFAULT
            yield _Named(known.name, known.type, REQUIRED if is_required else known.default)
        return
    hints = get_type_hints(of, include_extras=True)
    for one in inspect.signature(of).parameters.values():
        yield _Named(one.name, hints.get(one.name), one.default)


def _parts(of: Declaring) -> Iterator[Declared | Group]:
    for field, hint, default in _named(of):
        option = _option_in(hint)
        if option is not None:
            yield _declared(field, option, hint, default)
        elif isinstance(hint, type) and issubclass(hint, Struct) and parts(hint):
            yield Group(field=field, of=hint)


def _option_in(hint: object) -> Option | None:
    """The Option of `Annotated[TYPE, Option(...)]`, also where that is one of several types."""
    if get_origin(hint) is Annotated:
        return next((one for one in get_args(hint) if isinstance(one, Option)), None)
    if get_origin(hint) in (Union, UnionType):
        return next(filter(None, map(_option_in, get_args(hint))), None)
    return None


def _declared(field: str, option: Option, hint: object, default: object) -> Declared:
    members = list(_members(hint))
    several = next((one for one in members if get_origin(one) in (tuple, Sequence)), None)
    of_each = members if several is None else list(_members(get_args(several)[0]))
    words = [word for one in of_each if get_origin(one) is Literal for word in get_args(one)]
    kinds = [one for one in of_each if one in _PLAIN]
    return Declared(
        field=field,
        option=option,
        kind=kinds[0] if kinds else str,
        choices=option.choices or tuple(words),
        is_many=several is not None,
        is_optional=NoneType in members,
        only_python=any(
            one not in (*_PLAIN, NoneType) and get_origin(one) is not Literal for one in of_each
        ),
        is_shared=get_origin(hint) is not Annotated or BY_COMMAND not in get_args(hint),
        default=default,
    )


def _members(hint: object) -> Iterator[object]:
    """The types of a union, without what is annotated to them."""
    if get_origin(hint) is Annotated:
        yield from _members(get_args(hint)[0])
    elif get_origin(hint) in (Union, UnionType):
        for one in get_args(hint):
            yield from _members(one)
    else:
        yield hint
