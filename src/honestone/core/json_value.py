"""Values from outside: plain JSON, which is arbitrary in files and replies and is hashed; texts,
made safe to show in notes, and the patterns that look for something in them; records as the JSON
objects that are kept of them, and back.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from math import isfinite
from types import MappingProxyType, NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    AnyStr,
    Final,
    Generic,
    Literal,
    NamedTuple,
    TypeAlias,
    TypeGuard,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from msgspec import NODEFAULT, Struct, field

# msgspec, which reads records into classes, has no types that name themselves.
if TYPE_CHECKING:
    Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"
else:
    Json = object
JsonObject: TypeAlias = Mapping[str, Json]
T = TypeVar("T")
R = TypeVar("R", bound=Struct)
_SAME: Final[Mapping[str, str]] = MappingProxyType({})


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether a value is a number of JSON. True and false are not, although Python's `bool` is a
    kind of `int`.
    """
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: object) -> TypeGuard[int]:
    """Whether a value is a number of JSON without a decimal point; true and false are not."""
    return isinstance(value, int) and not isinstance(value, bool)


def built(make: Callable[..., T], plain: JsonObject) -> T:
    """What an object on record describes: its values are the arguments of `make`, which says what
    they are.

    Raises TypeError for a value that is missing or not known.
    """
    return make(**plain)


def expected(kind: type[T], value: object, what: str) -> T:
    """A value of an order on record. Raises ValueError, with `what` it should be, for one of
    another kind.
    """
    if not isinstance(value, kind):
        raise ValueError(f"{what} was expected in an order")
    return value


def texts(value: object) -> tuple[str, ...]:
    """A list of texts of an order on record. Raises ValueError."""
    return tuple(expected(str, one, "a text") for one in expected(list, value, "a list"))


def member(value: Json, name: str) -> Json:
    """What a JSON object has under a name; None where it has none, and for another value."""
    return value.get(name) if isinstance(value, Mapping) else None


def members(value: Json) -> Sequence[tuple[str, Json]]:
    """The names of a JSON object with what they name, in order; nothing for another value."""
    return tuple(value.items()) if isinstance(value, Mapping) else ()


def as_json(value: object) -> Json:
    """Any value as JSON that every reader has: what is not of its kinds, and numbers that it cannot
    hold, as text.
    """
    if isinstance(value, Mapping):
        return {str(key): as_json(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(inner) for inner in value]
    if isinstance(value, float):
        return value if isfinite(value) else str(value)
    is_plain = (
        value is None
        or isinstance(value, bool | str)
        or (isinstance(value, int) and abs(value) < 2**63)
    )
    return value if is_plain else str(value)  # type: ignore[return-value]


def plain_value(value: object) -> Json:
    """A value as JSON writes it down, with texts as keys: readers may hand over their own kinds of
    mapping and list, and keys of any kind.
    """
    if isinstance(value, Mapping):
        return {_key_text(key): plain_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(inner) for inner in value]
    return cast(Json, value)


def _key_text(key: object) -> str:
    return json.dumps(key) if key is None or isinstance(key, bool) else str(key)


def json_once(text: str | bytes) -> Json:
    """The value of a JSON text from outside. Raises ValueError where it is not one, or names a key
    twice in one object: then it is open which of the two was meant. RecursionError for one that is
    nested too deeply.
    """
    value: Json
    if isinstance(text, str) and not text.startswith("\ufeff"):
        value = _EACH_ONCE.decode(text)  # `loads` with a hook makes a decoder for each text
    else:
        value = json.loads(text, object_pairs_hook=each_once)
    return value


def parsed_json(text: str | bytes) -> Json:
    """The value of a JSON text; None where it is not one, or names a key twice in one object."""
    try:
        return json_once(text)
    except (ValueError, RecursionError):
        return None


def late_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What `re.compile` gives, for a name of a module or a class, compiled at its first use: a
    command uses about one in ten of the patterns that it loads, and to compile one may take as long
    as to import a module.

    Its methods and attributes are there; functions of `re` do not take it. Raises re.error at its
    first use, where `re.compile` would at once: a test uses each.
    """
    return cast(re.Pattern[AnyStr], _LatePattern(pattern, flags))


class _LatePattern(Generic[AnyStr]):
    """A pattern that has not been compiled, or the methods of one that was, as they were asked for."""

    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self.pattern: AnyStr = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> object:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._compiled, name)
        setattr(self, name, found)  # the next call finds it as fast as one of `re`
        return found

    @cached_property
    def _compiled(self) -> re.Pattern[AnyStr]:
        return re.compile(self.pattern, self._flags)


_SPACE: Final = late_pattern(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


class JsonMember(NamedTuple):
    """A value in a JSON text: its key, or its number in a list; where that begins; where the value
    begins and ends.
    """

    key: str | int
    begin: int
    start: int
    end: int


def members_of(text: str, at: int) -> Iterator[JsonMember]:
    """Those of the object or list at `at`, in a text that is known to be JSON."""
    has_keys, at, number = text[at] == "{", after_space(text, at + 1), 0
    while text[at] not in "]}":
        key, begin = number, at
        if has_keys:
            key, at = _DECODER.raw_decode(text, at)
            at = after_space(text, after_space(text, at) + 1)
        end = _DECODER.raw_decode(text, at)[1]
        yield JsonMember(key, begin, at, end)
        at, number = after_space(text, end), number + 1
        at = after_space(text, at + 1) if text[at] == "," else at


def after_space(text: str, at: int) -> int:
    """Where what comes after JSON's white space begins."""
    match = _SPACE.match(text, at)
    return at if match is None else match.end()


def each_once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """The object of these members, as a reader's hook. Two under one name would leave open which
    was meant: ValueError.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it names a key twice")
    return found


_EACH_ONCE: Final = json.JSONDecoder(object_pairs_hook=each_once)


def fence_of(*texts: str) -> str:
    """Backticks, more in a row than any of the texts has: nothing in them can close what is between
    two of these.
    """
    longest = max((len(run) for text in texts for run in re.findall("`+", text)), default=0)
    return "`" * max(3, longest + 1)


def without_empty(plain: JsonObject) -> dict[str, Json]:
    """Leave out members that are None, False or empty, so that records stay small. Numbers stay."""
    return {
        key: value for key, value in plain.items() if value or (value == 0 and value is not False)
    }


NOTE_LIMIT: Final = 300


def line_of(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def visible(text: str, limit: int = NOTE_LIMIT) -> str:
    """A text from outside, safe to show: what cannot be printed is escaped, and it is cut."""
    cut = text[:limit]
    if not cut.isprintable():
        cut = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in cut)
    return cut if len(text) <= limit and len(cut) <= limit else cut[: limit - 3] + "..."


def quoted(text: str, limit: int = 60) -> str:
    return f'"{visible(text, limit)}"'


def listed(words: Sequence[str], most: int = 5) -> str:
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return visible(", ".join(quoted(word, 40) for word in words[:most]) + more)


class Form(NamedTuple):
    """How a field is written as JSON and read back."""

    write: Callable[..., Json] = lambda value: value
    read: Callable[..., object] = lambda value: value


_AS_IT_IS: Final = Form()


class _Field(NamedTuple):
    name: str
    key: str
    default: object
    form: Form


class Codec(Generic[R]):
    """Records of a class as JSON objects, and back.

    What is on record has to stay readable for years, so the format follows from the declaration of
    the class and cannot change unnoticed: `forms` are found by the type of a field, whatever name
    or alias it is written with, and a type that has no form and is not plain JSON is an error. Old
    names of a field are declared in `keys`.

    A field that has its default is not written, so that records stay small and a new field changes
    no old record; `always` are written all the same. `never` are not stored; `last` come after all
    others. `stand_ins` are the keys of `forms` for types that the module imports only for type
    checkers, by name. Fields are looked at when the first record is written or read: resolving
    types takes time, and most commands need few classes.
    """

    def __init__(
        self,
        of: type[R],
        forms: Mapping[object, Form],
        *,
        always: Collection[str] = (),
        keys: Mapping[str, str] = _SAME,
        never: Collection[str] = (),
        last: Collection[str] = (),
        stand_ins: Mapping[str, object] = _SAME,
    ) -> None:
        self._make = of
        self._forms = forms
        self._always = always
        self._keys = keys
        self._never = never
        self._last = last
        self._stand_ins = stand_ins

    @cached_property
    def _fields(self) -> list[_Field]:
        """Raises TypeError for a field whose type has no form."""
        types = get_type_hints(self._make, localns=dict(self._stand_ins))
        declared = [one for one in _with_defaults(self._make) if one[0] not in self._never]
        in_order = sorted(declared, key=lambda one: one[0] in self._last)
        return [
            _Field(
                name,
                self._keys.get(name, name),
                NODEFAULT if name in self._always else default,
                self._form_of(name, types[name]),
            )
            for name, default in in_order
        ]

    @cached_property
    def _by_key(self) -> dict[str, _Field]:
        return {one.key: one for one in self._fields}

    def _form_of(self, name: str, hint: object) -> Form:
        kinds = [kind for kind in _alternatives(hint) if kind is not NoneType]
        form = self._forms.get(kinds[0]) if len(kinds) == 1 else None
        if form is None and not all(map(_is_json, kinds)):
            raise TypeError(f"no form for the field {name!r} of {self._make.__name__}, a {hint}")
        return form or _AS_IT_IS

    def write(self, record: R) -> dict[str, Json]:
        plain: dict[str, Json] = {}
        for name, key, default, form in self._fields:
            value = getattr(record, name)
            if value != default:
                plain[key] = form.write(value)
        return plain

    def read(self, plain: JsonObject, **more: object) -> R:
        """`more` are the fields that are not stored. Names that are not known are left out. Raises
        TypeError, ValueError or KeyError for a record that is not whole.
        """
        for key, value in plain.items():
            if value is not None and (known := self._by_key.get(key)) is not None:
                more[known.name] = known.form.read(value)
        return self._make(**more)


class _HasFactory(Struct):
    made: list[object] = field(default_factory=list)


# msgspec has no public name for the type of a default that is made for each record.
_FACTORY: Final = type(_HasFactory.__struct_defaults__[0])


def _with_defaults(of: type[Struct]) -> Iterator[tuple[str, object]]:
    """The fields of a record with their defaults, NODEFAULT where a field has none.

    Not by `msgspec.structs.fields`: it resolves all types, also those that have a stand-in.
    """
    defaults = of.__struct_defaults__
    required = (NODEFAULT,) * (len(of.__struct_fields__) - len(defaults))
    for name, default in zip(of.__struct_fields__, (*required, *defaults), strict=True):
        yield name, default.factory() if isinstance(default, _FACTORY) else default


def _alternatives(type: object) -> tuple[object, ...]:
    """The types of a union; another type alone."""
    return get_args(type) if get_origin(type) in (Union, UnionType) else (type,)


def _is_json(type: object) -> bool:
    """Whether values of a type are JSON as they are, and are read back as equal ones."""
    if type in (bool, int, float, str, object, NoneType):
        return True
    if is_typeddict(type):
        return all(map(_is_json, get_type_hints(type).values()))
    arguments = get_args(type)
    origin = get_origin(type)
    if origin in (Mapping, dict):
        return arguments[0] is str and _is_json(arguments[1])
    if origin in (Union, UnionType, Sequence, list):
        return all(map(_is_json, arguments))
    return origin is Literal
