"""promptfoo's templates, which are Nunjucks: names are filled in here, loops, conditions and
filters by Jinja2's sandbox.

Data is all that a template can reach: no method is called, no attribute of an object looked up.
What it may take in steps, size and time is bounded. What only Nunjucks has is reported as lost.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from honestone.core.json_value import is_number, late_pattern, visible
from honestone.core.record.secret_names import looks_secret
from honestone.interop.environment import variable, why_not

if TYPE_CHECKING:
    from jinja2 import Environment
    from jinja2.visitor import NodeTransformer

# Characters one text may grow to.
MAX_FILLED: Final = 2_000_000
# Characters of a template with more in it than names.
MAX_TEMPLATE: Final = 100_000
# Rounds of all loops of one template.
MAX_STEPS: Final = 100_000
MAX_SECONDS: Final = 5.0

_HOLE: Final = late_pattern(r"\{\{-?\s*([^{}]{0,300}?)\s*-?\}\}")
_NAME: Final = late_pattern(r"[A-Za-z_$][\w$-]*(?:\.[\w$]+|\[\d+\])*")
_STEP: Final = late_pattern(r"[\w$-]+")
_MORE: Final = late_pattern(r"\{%[^{}]{0,60}|\{#[^{}]{0,60}|\{\{[^{}]{0,60}")


_NONE: Final[Mapping[str, str]] = {}


class Filled(Struct, frozen=True):
    """A text with its names filled in; what could not be, each in words; and the names that are
    empty here.
    """

    text: str
    lost: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def fill(text: str, variables: Mapping[str, object], own: Mapping[str, str] = _NONE) -> Filled:
    """The text as promptfoo renders it, in one pass: what is put in is not looked at again. A name
    that is not a variable is empty, as in promptfoo. A template that cannot be read stays as it is
    and is lost. `own`: what the config itself sets under `env`.
    """
    if "{" not in text:
        return Filled(text)
    if _CONVERSATION in text and _CONVERSATION not in variables:
        return Filled(
            text,
            (f"`{_CONVERSATION}` carries replies over to later tests, which no case here does",),
        )
    if (
        "{%" in text
        or "{#" in text
        or any(_NAME.fullmatch(hole[1]) is None for hole in _HOLE.finditer(text))
    ):
        return _rendered(text, variables, own)
    if "{{-" in text or "-}}" in text:
        return _rendered(text, variables, own)
    parts: list[str] = []
    lost: list[str] = []
    empty: list[str] = []
    at = size = 0
    for hole in _HOLE.finditer(text):
        parts.append(text[at : hole.start()])
        lost += [
            f"`{match[0].strip()}` is more than a name to fill in"
            for match in _MORE.finditer(parts[-1])
        ]
        at = hole.end()
        parts.append(_variable(hole[1], variables, own, lost, empty))
        size += len(parts[-1])
        if size > MAX_FILLED:
            return Filled(text, (_TOO_LONG,))
    rest = text[at:]
    lost += [
        f"`{match[0].strip()}` is more than a name to fill in" for match in _MORE.finditer(rest)
    ]
    return Filled(
        "".join(parts) + rest, tuple(dict.fromkeys(lost))[:3], tuple(dict.fromkeys(empty))
    )


# promptfoo's own variable: what was said in the tests before.
_CONVERSATION: Final = "_conversation"

_TOO_LONG: Final = f"filled in, this text has more than {MAX_FILLED} characters"


def _variable(
    name: str,
    variables: Mapping[str, object],
    own: Mapping[str, str],
    lost: list[str],
    empty: list[str],
) -> str:
    value: Any = variables
    steps = _STEP.findall(name)
    if steps[0] == "env" and "env" not in variables:
        return _of_environment(".".join(steps[1:]), own, lost, empty)
    for step in steps:
        if isinstance(value, Mapping) and step in value:
            value = value[step]
        elif (
            isinstance(value, list) and step.isascii() and step.isdigit() and int(step) < len(value)
        ):
            value = value[int(step)]
        else:
            empty.append(name)
            return ""
    return _shown(value)


def _of_environment(name: str, own: Mapping[str, str], lost: list[str], empty: list[str]) -> str:
    """A variable that the config sets, or one of the environment that a person named. One that
    holds a key stays out of the texts that models are shown.
    """
    if name in own and not looks_secret(name):
        return own[name]
    if why := why_not(name):
        lost.append(f"the variable `env.{name}` {why}")
        return ""
    value = variable(name)
    if value is None:
        empty.append(f"env.{name}")
    return value or ""


def _shown(value: object) -> str:
    """A value as it is put into a text: data as JSON, nothing for null, a whole number without a
    point.
    """
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, range):
        value = list(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    # What is left is a name that is not a variable: it is empty, and says so when it is turned into
    # text.
    return (
        _as_json(value)
        if isinstance(value, bool | int | float | list | tuple | Mapping)
        else str(value)
    )


def _as_json(value: object, indent: int | None = None) -> str:
    """Compact lists are shared data, whose JSON can be far longer than they are: it is written
    piece by piece.
    """
    parts: list[str] = []
    size = 0
    separators = (", ", ": ") if indent is None else (",", ": ")
    encoder = json.JSONEncoder(
        ensure_ascii=False, indent=indent, separators=separators, default=str
    )
    for part in encoder.iterencode(value):
        parts.append(part)
        size += len(part)
        if size > MAX_FILLED:
            raise _Unreadable(_TOO_LONG)
    return "".join(parts)


# ------------------------------------------------------------------------------------------- more
# than plain names


class _Unreadable(Exception):
    """Why a template cannot be rendered here."""


class _Rendering(Struct):
    """One rendering: what it may still take, and what was found on the way."""

    variables: Mapping[str, object]
    steps: int = MAX_STEPS
    end: float = field(default_factory=lambda: time.monotonic() + MAX_SECONDS)
    lost: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)

    def step(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise _Unreadable(f"its loops have more than {MAX_STEPS} rounds")
        if time.monotonic() > self.end:
            raise _Unreadable(f"it takes more than {MAX_SECONDS:g} s")


# The rendering under way.
_HERE: ContextVar[_Rendering] = ContextVar("rendering")


def _rendered(text: str, variables: Mapping[str, object], own: Mapping[str, str]) -> Filled:
    from jinja2 import TemplateError

    if len(text) > MAX_TEMPLATE:
        return Filled(
            text, (f"a template of more than {MAX_TEMPLATE} characters is not filled in",)
        )
    here = _Rendering(variables)
    token = _HERE.set(here)
    try:
        parts, size = [], 0
        for part in _template(text).generate({"env": _Environ(here, own), **variables}):
            parts.append(part)
            size += len(part)
            here.step()
            if size > MAX_FILLED:
                raise _Unreadable(_TOO_LONG)
    except _Unreadable as why:
        return Filled(text, (f"a template is not filled in: {why}",))
    except TemplateError as error:
        return Filled(
            text,
            (f"a template cannot be read: {visible(error.message or type(error).__name__, 120)}",),
        )
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        TypeError,
        ValueError,
        RecursionError,
    ) as error:
        return Filled(text, (f"a template cannot be filled in: {visible(str(error), 120)}",))
    finally:
        _HERE.reset(token)
    return Filled("".join(parts), tuple(dict.fromkeys(here.lost)), tuple(dict.fromkeys(here.empty)))


class _Environ(dict[str, object]):
    """`env` of a template: variables of the environment by name."""

    def __init__(self, here: _Rendering, own: Mapping[str, str]) -> None:
        super().__init__()
        self._here, self._own = here, own

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str)

    def __getitem__(self, name: str) -> str:
        return _of_environment(name, self._own, self._here.lost, self._here.empty)


def _template(text: str) -> Any:
    """A compiled template, every part of which is known to be harmless. Raises _Unreadable,
    TemplateError.
    """
    from jinja2 import nodes

    environment = _environment()
    # `===` and `elseif` are JavaScript's and Nunjucks' own spellings.
    source = re.sub(r"(\{%-?\s*)else\s?if\b", r"\1elif", text)
    source = re.sub(
        r"\{[{%].*?[}%]\}", lambda tag: _python_operators(tag[0]), source, flags=re.DOTALL
    )
    tree = environment.parse(source)
    allowed = tuple(getattr(nodes, name) for name in _NODES.split())
    # Lists of lists that share their parts, set one after another, would be larger than they look.
    plain = nodes.Const if tree.find(nodes.Assign) else nodes.Const | nodes.Name
    for node in tree.find_all(nodes.Node):
        if type(node) not in allowed:
            raise _Unreadable(f"`{type(node).__name__.lower()}` of a template has no meaning here")
        if isinstance(node, nodes.For):
            if node.recursive:
                raise _Unreadable("a recursive loop has no meaning here")
            is_pair: list[nodes.Expr] = [nodes.Const(isinstance(node.target, nodes.Tuple))]
            node.iter = nodes.Filter(
                node.iter, _COUNTED, is_pair, [], None, None, lineno=node.lineno
            )
        if isinstance(node, nodes.Call) and not (
            isinstance(node.node, nodes.Name) and node.node.name == "range"
        ):
            raise _Unreadable(
                f"the call of `{_source_text(node.node)}` is JavaScript, which is not run"
            )
        if isinstance(node, nodes.List | nodes.Tuple) and not all(
            isinstance(one, plain) for one in node.items
        ):
            raise _Unreadable("a list of more than plain values has no meaning here")
        if isinstance(node, nodes.Filter) and node.name != _COUNTED and node.name not in _filters():
            raise _Unreadable(f"the filter `{node.name}` is not one of those that are read")
    return environment.from_string(_concatenating()().visit(tree))


@cache
def _concatenating() -> type[NodeTransformer]:
    from jinja2 import nodes
    from jinja2.visitor import NodeTransformer

    class Concatenating(NodeTransformer):
        """Makes `~` a filter of ours, which knows how long a text may get."""

        def visit_Concat(self, node: nodes.Concat) -> nodes.Filter:
            self.generic_visit(node)
            parts = nodes.List(node.nodes, lineno=node.lineno)
            return nodes.Filter(parts, _CONCATENATED, [], [], None, None, lineno=node.lineno)

    return Concatenating


_COUNTED: Final = "honestone.counted"
_CONCATENATED: Final = "honestone.concatenated"
_NODES: Final = (
    "Template Output TemplateData Name NSRef Const List Tuple Keyword For If Assign CondExpr Filter Test Call "
    "Getattr Getitem Slice Compare Operand And Or Not Add Sub Mul Div FloorDiv Mod Neg Pos Concat"
)


def _python_operators(tag: str) -> str:
    return re.sub(r"([!=])==", r"\1=", tag) if "==" in tag else tag


def _source_text(node: Any) -> str:
    return str(getattr(node, "attr", None) or getattr(node, "name", None) or "a value")


@cache
def _environment() -> Environment:
    from jinja2 import ChainableUndefined, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class Missing(ChainableUndefined):
        """A name that is not a variable: empty in the text, no in a condition, and so is what is
        looked up in it.
        """

        def __str__(self) -> str:
            _HERE.get().empty.append(self._undefined_name or "?")
            return ""

        def _no(self, *other: Any, **_: Any) -> Any:
            """As in JavaScript, it is neither below nor above anything."""
            return False

        __lt__ = __le__ = __gt__ = __ge__ = _no

    class Sandbox(ImmutableSandboxedEnvironment):
        """Looks up data only, and bounds what an operator makes."""

        intercepted_binops = frozenset(["+", "-", "*", "/", "//", "%"])

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            if isinstance(obj, Mapping) and argument in obj:
                return obj[argument]
            if argument == "length" and isinstance(obj, str | list | tuple | Mapping):
                return len(obj)
            if (
                isinstance(obj, list | tuple | str)
                and isinstance(argument, int | slice)
                and not isinstance(argument, bool)
            ):
                try:
                    return obj[argument]
                except IndexError:
                    return self.undefined(obj=obj, name=str(argument))
            if type(obj).__name__ == "LoopContext" and argument in _LOOP:
                return getattr(obj, argument)
            return self.undefined(obj=obj, name=str(argument))

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if operator == "+" and (
                isinstance(left, str) or isinstance(right, str)
            ):  # as in JavaScript
                return _bounded(_shown(left) + _shown(right))
            if isinstance(left, Undefined) or isinstance(right, Undefined):
                raise _Unreadable(_COUNTS_WITH_NOTHING)
            if operator in "+*%":  # which can make something very large
                left, right = _bounded_number(left), _bounded_number(right)
            return super().call_binop(context, operator, left, right)

    made = Sandbox(
        autoescape=False,
        undefined=Missing,
        finalize=_put,
        keep_trailing_newline=True,
        optimized=False,
    )
    made.globals.clear()
    made.globals["range"] = _range
    made.filters.clear()
    made.filters.update(_filters())
    made.filters[_COUNTED] = _counted
    made.filters[_CONCATENATED] = _guarded(_join)
    return made


_COUNTS_WITH_NOTHING: Final = "it counts with a name that is not a variable; a name with a hyphen is a subtraction to Nunjucks"
_LOOP: Final = frozenset(("index", "index0", "revindex", "revindex0", "first", "last", "length"))


def _range(*ends: int) -> range:
    made = range(*(_bounded_number(end) for end in ends))
    if len(made) > MAX_STEPS:
        raise _Unreadable(f"its loops have more than {MAX_STEPS} rounds")
    return made


def _bounded_number(value: Any) -> Any:
    if not is_number(value) or abs(value) > 1e15:
        raise _Unreadable(f"it counts with `{visible(str(value)[:40], 40)}`, which is not a number")
    return value


def _put(value: Any) -> Any:
    """A value as it comes into the text. A text of the template itself is left as it is."""
    return _bounded(_shown(value))


def _bounded(text: str) -> str:
    if len(text) > MAX_FILLED:
        raise _Unreadable(_TOO_LONG)
    return text


def _counted(values: Any, is_pair: bool) -> Iterator[Any]:
    """The rounds of a loop, counted. Nunjucks goes over a mapping only as pairs (`for key, value
    in`), and over nothing where there is nothing.
    """
    from jinja2 import Undefined

    if (
        values is None
        or isinstance(values, Undefined)
        or (isinstance(values, Mapping) and not is_pair)
    ):
        return
    for value in list(values.items()) if isinstance(values, Mapping) else values:
        _HERE.get().step()
        yield value


# -------------------------------------------------------------------------------------------------------
# filters


def _guarded(use: Callable[..., Any]) -> Callable[..., Any]:
    def filter(*given: Any, **named: Any) -> Any:
        _HERE.get().step()
        made = use(*given, **named)
        return _bounded(made) if isinstance(made, str) else made

    return filter


def _join(values: Iterable[Any], between: str = "", attribute: str | None = None) -> str:
    parts = [
        _shown(one.get(attribute) if attribute and isinstance(one, Mapping) else one)
        for one in values
    ]
    if sum(map(len, parts)) + len(between) * len(parts) > MAX_FILLED:
        raise _Unreadable(_TOO_LONG)
    return str(between).join(parts)


def _replace(text: Any, old: Any, new: Any, count: int = -1) -> str:
    shown_text, before, after = _shown(text), _shown(old), _shown(new)
    if len(shown_text) + shown_text.count(before) * len(after) > MAX_FILLED:
        raise _Unreadable(_TOO_LONG)
    return shown_text.replace(before, after, count)


def _indent(text: Any, width: int = 4, first: bool = False) -> str:
    pad = " " * min(max(int(width), 0), 200)
    lines = _shown(text).split("\n")
    return "\n".join(
        pad + line if (number or first) and line else line for number, line in enumerate(lines)
    )


def _dump(value: Any, spaces: int | None = None) -> str:
    """JSON as JavaScript writes it: without spaces, or over several lines."""
    if spaces:
        return _as_json(value, min(int(spaces), 20))
    return json.dumps(json.loads(_as_json(value)), ensure_ascii=False, separators=(",", ":"))


def _length(value: Any) -> int:
    return len(value) if isinstance(value, str | list | tuple | Mapping | range) else 0


def _round(value: Any, places: int = 0, way: str = "common") -> float | int:
    scale = 10 ** min(int(places), 12)
    scaled = float(_bounded_number(value)) * scale
    whole = (
        int(scaled // 1 + (way == "ceil" and scaled % 1 > 0))
        if way != "common"
        else int((scaled + 0.5) // 1)
    )
    return whole / scale if places else whole


def _striptags(text: Any) -> str:
    return " ".join(re.sub(r"<[^<>]*>", "", _shown(text)).split())


def _truncate(text: Any, length: int = 255, killwords: bool = False, end: str = "...") -> str:
    shown_text = _shown(text)
    if len(shown_text) <= length:
        return shown_text
    cut = shown_text[: int(length)]
    return (cut if killwords or " " not in cut else cut.rsplit(" ", 1)[0]) + end


def _default(value: Any, other: Any = "", falsy: bool = False) -> Any:
    from jinja2 import Undefined

    return other if isinstance(value, Undefined) or (falsy and not value) else value


def _sorted(
    values: Iterable[Any],
    reverse: bool = False,
    case_sensitive: bool = False,
    attribute: str | None = None,
) -> list[Any]:
    def key(one: Any) -> Any:
        one = one.get(attribute) if attribute and isinstance(one, Mapping) else one
        return one.lower() if isinstance(one, str) and not case_sensitive else one

    return sorted(values, key=key, reverse=reverse)


def _int(value: Any, other: int = 0) -> int:
    try:
        return int(float(_shown(value)))
    except (ValueError, OverflowError):
        return other


def _float(value: Any, other: float = 0.0) -> float:
    try:
        return float(_shown(value))
    except ValueError:
        return other


def _url(value: Any) -> str:
    from urllib.parse import quote

    return quote(_shown(value), safe="-_.!~*'()")


@cache
def _filters() -> Mapping[str, Callable[..., Any]]:
    """Nunjucks' filters that are read, and promptfoo's own `dump`."""
    known: dict[str, Callable[..., Any]] = {
        "abs": lambda value: abs(_bounded_number(value)),
        "capitalize": lambda text: _shown(text).capitalize(),
        "default": _default,
        "dump": _dump,
        "first": lambda values: values[0] if values else None,
        "float": _float,
        "indent": _indent,
        "int": _int,
        "join": _join,
        "last": lambda values: values[-1] if values else None,
        "length": _length,
        "list": lambda value: list(value),
        "lower": lambda text: _shown(text).lower(),
        "nl2br": lambda text: _replace(text, "\n", "<br />\n"),
        "replace": _replace,
        "reverse": lambda value: value[::-1],
        "round": _round,
        "safe": lambda text: text,
        "sort": _sorted,
        "string": _shown,
        "striptags": _striptags,
        "sum": lambda values: sum(_bounded_number(one) for one in values),
        "title": lambda text: " ".join(word.capitalize() for word in _shown(text).split(" ")),
        "trim": lambda text: _shown(text).strip(),
        "truncate": _truncate,
        "upper": lambda text: _shown(text).upper(),
        "urlencode": _url,
        "wordcount": lambda text: len(_shown(text).split()),
    }
    known |= {"d": known["default"], "tojson": known["dump"], "count": known["length"]}
    return {name: _guarded(use) for name, use in known.items()}
