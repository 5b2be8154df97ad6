"""Reading the values of our own formats: what a key takes, by the kinds that `fields.toml` names.

A reader of a value takes (reading, value, path, owner): `path` is where the value is in the file,
`owner` names the mapping around it in messages (" of criterion `tone`"). It raises Refused for a
value that it does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from typing import Any, Final, TypeAlias, TypeVar, cast

from msgspec.structs import replace

from honestone.core.errors import HonestoneError, RubricError, UsageError
from honestone.core.json_value import is_integer, is_number, late_pattern
from honestone.core.judging.rubric import (
    LEAST_LOOKS,
    RULES,
    TIERS,
    Check,
    Quorum,
    Rule,
    is_quorum,
    sure_problem,
)
from honestone.core.numbers import exact, hundredfold
from honestone.formats.fields import SHAPES, TAKES, VERSION, Takes, unknown_key_hint
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import scalar
from honestone.formats.syntax.reader import FileReading, value_at
from honestone.formats.syntax.reader import Steps as FilePath

LIST_HINT: Final = "write a list, one entry a line, each after `- `"
_CHECK_HINT: Final = "name a kind and its argument: {contains: text}"
_YES_NO = {
    word: str(is_true).lower()
    for is_true, words in ((True, "yes on true y 1"), (False, "no off false n 0"))
    for word in words.split()
}


class Refused(Exception):
    """A value that cannot be read, and why. Without a message it has been noted what is wrong
    inside it.
    """

    def __init__(
        self,
        message: str = "",
        path: FilePath = (),
        hint: str | None = None,
        *,
        at_key: bool = False,
    ) -> None:
        super().__init__(message)
        self.message, self.path, self.hint, self.at_key = message, path, hint, at_key


T = TypeVar("T")
# The values of a mapping that could be read, by key; what each is, its reader says.
Got: TypeAlias = dict[str, Any]
# What reads a kind of value, by the name of the kind: a function, or a method of a reading.
ValueReaders: TypeAlias = Mapping[Takes, Callable[[Any, Any, FilePath, str], Any]]


class ValueReading(FileReading):
    """One pass over a file of ours: its mappings and values, and everything that is wrong with
    them. `wrong_at` are the paths of the problems.
    """

    def __init__(self, marked: Marked, key: str = "", what: str = "") -> None:
        super().__init__(marked, key, what)
        self.wrong_at: list[FilePath] = []

    @property
    def readers(self) -> ValueReaders:
        return PLAIN_VALUES

    def problem(
        self, message: str, path: FilePath, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        place = self.marked.key_at(path) if at_key else self.marked.at(path)
        self.wrong_at.append(path)
        self.problems.append(
            RubricError(self.named(message, path), path=cast(Any, path), place=place, hint=hint)
        )

    def elsewhere(self, error: HonestoneError, path: FilePath) -> None:
        self.wrong_at.append(path)
        super().elsewhere(error, path)

    def in_order(self) -> list[UsageError]:
        """The problems in the order of the file."""
        pairs = sorted(
            zip(self.wrong_at, self.problems, strict=True),
            key=lambda pair: self.marked.order(pair[0]),
        )
        return [problem for _, problem in pairs]

    def check_version(self, key: str, known: int) -> None:
        """A newer format is refused at once: its keys would only look like mistakes."""
        version = self.marked.value.get(key)
        if is_number(version) and version > known:
            message = (
                f"this {key} has format version {version}, but this program reads version {known}"
            )
            raise UsageError(
                message, place=self.marked.at((key,)), hint="a newer honestone reads it"
            )
        if key not in self.marked.value:
            self.notes.append(
                f"{self.marked.name}: no `{key}: {known}` line; read as version {known}"
            )

    def fields(self, shape: str, path: FilePath, owner: str) -> Got:
        """The keys of a mapping (its shape by name) that could be read. `owner` names it in
        messages: " of criterion `tone`".
        """
        got: Got = {}
        for key, value in value_at(self.marked.value, path).items():
            here = (*path, key)
            field = SHAPES[shape].field(key)
            if field is None:
                where, name = owner.replace(" of ", " in ", 1), self.marked.raw_key(here)
                hint = unknown_key_hint(name, SHAPES[shape])
                self.problem(f"unknown key `{name}`{where}", here, hint, at_key=True)
            elif value is None:
                default = (
                    "" if field.default in ("none", "required") else f" (default: {field.default})"
                )
                self.problem(
                    f"`{key}`{owner} has no value",
                    here,
                    f"give it one or remove the key{default}",
                    at_key=True,
                )
            else:
                with self.noting():
                    got[field.key] = self.readers[field.takes](self, value, here, owner)
        return got

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Notes why a value inside was refused, and leaves it out."""
        try:
            yield
        except Refused as why:
            if why.message:
                self.problem(why.message, why.path, why.hint, at_key=why.at_key)

    def must_be(
        self, takes: Takes, value: Any, path: FilePath, owner: str, hint: str | None = None
    ) -> Refused:
        shown, key = shown_value(value, self.marked.raw(path)), path[-1]
        name = (
            f"entry {key + 1} of `{path[-2]}`"
            if isinstance(key, int) and len(path) > 1
            else f"`{key}`{owner}"
        )
        return Refused(f"{name} is {shown}, but must be {TAKES[takes].words}", path, hint)

    def each(
        self,
        takes: Takes,
        value: Any,
        path: FilePath,
        owner: str,
        read: Callable[[Any, FilePath], T],
    ) -> tuple[T, ...]:
        """The entries of a list that is not empty; refused when one of them is."""
        if not isinstance(value, list):
            raise self.must_be(takes, value, path, owner, LIST_HINT)
        if not value:
            raise Refused(f"`{path[-1]}`{owner} is empty", path, LIST_HINT)
        found: list[T] = []
        for index, entry in enumerate(value):
            with self.noting():
                found.append(read(entry, (*path, index)))
        if len(found) < len(value):
            raise Refused
        return tuple(found)

    def plain(self, path: FilePath) -> Any:
        """A value with text for every key, as JSON would have it."""
        value = value_at(self.marked.value, path)
        if isinstance(value, dict):
            return {self.marked.raw_key((*path, key)): self.plain((*path, key)) for key in value}
        if isinstance(value, list):
            return [self.plain((*path, index)) for index in range(len(value))]
        return value

    def keys_at(self, path: FilePath) -> list[FilePath]:
        """The places of the keys of a mapping."""
        return [(*path, key) for key in value_at(self.marked.value, path)]


# ----------------------------------------------------------------------------------------------------
# single values


def take_version(reading: ValueReading, value: Any, path: FilePath, owner: str) -> None:
    if not is_number(value) or value != VERSION:
        raise reading.must_be(
            "version", value, path, owner, "it is the version of the format, not of your rubric"
        )


def take_name(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    """Text as it was written, whatever it would mean elsewhere: `off` and `1.0` are fine ids."""
    raw = reading.marked.raw(path)
    if raw is None:
        raise reading.must_be("name", value, path, owner)
    if not raw.strip():
        raise Refused(f"`{path[-1]}`{owner} is empty", path)
    return raw.strip()


def take_text(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    if not isinstance(value, str):
        quotes = (
            None
            if isinstance(value, (list, dict))
            else f'write it in quotes: "{reading.marked.raw(path)}"'
        )
        raise reading.must_be("text", value, path, owner, quotes)
    if not value.strip():
        raise Refused(f"`{path[-1]}`{owner} is empty", path)
    return value.strip()


def take_weight(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Fraction:
    return _take_number(
        reading,
        "weight",
        value,
        path,
        owner,
        "weights are relative: 3 counts three times as much as 1",
    )


def take_points(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Fraction:
    return (
        _take_number(
            reading, "points", value, path, owner, "points are out of 100: write 70, not 0.7 or 70%"
        )
        / 100
    )


def take_threshold(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Fraction:
    share = take_points(reading, value, path, owner)
    meant = hundredfold(share * 100)
    if meant is not None:
        message = f"`{path[-1]}`{owner} is {reading.marked.raw(path)}, but it is out of 100"
        raise Refused(message, path, f"is {meant} meant? {path[-1]}: {meant}")
    return share


def take_quorum(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Quorum:
    if is_quorum(value):
        return cast(Quorum, value)
    raise reading.must_be("quorum", value, path, owner, "for example 2, or all")


def take_sure(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Fraction:
    why = sure_problem(value)
    if why is not None:
        raise Refused(f"`{path[-1]}`{owner} is {why}", path, f"for example {path[-1]}: 95")
    return reading.marked.number(path) / 100


def take_looks(reading: ValueReading, value: Any, path: FilePath, owner: str) -> int:
    if is_integer(value) and value >= LEAST_LOOKS:
        return value
    raise reading.must_be("looks", value, path, owner, "for example 12")


def take_tier(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    if value in TIERS:
        return cast(str, value)
    raise reading.must_be("tier", value, path, owner)


def take_rule(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Rule:
    if value in RULES:
        return Rule(value)
    raise reading.must_be("combination", value, path, owner)


def take_level(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Fraction:
    return _take_number(reading, "level", value, path, owner, None)


def _take_number(
    reading: ValueReading, takes: Takes, value: Any, path: FilePath, owner: str, hint: str | None
) -> Fraction:
    if is_number(value):
        return reading.marked.number(path)
    if isinstance(value, str) and (share := _fraction_in(value)) is not None:
        return share
    if isinstance(value, str) and number_in(value) is not None:
        hint = f"write it without quotes: {value.strip()}"
    raise reading.must_be(takes, value, path, owner, hint)


def take_flag(reading: ValueReading, value: Any, path: FilePath, owner: str) -> bool:
    if isinstance(value, bool):
        return value
    meant = _YES_NO.get(value.casefold()) if isinstance(value, str) else None
    raise reading.must_be("flag", value, path, owner, f"write `{meant}`" if meant else None)


def take_command(reading: ValueReading, value: Any, path: FilePath, owner: str) -> str:
    if isinstance(value, str) and value.strip():
        return value.strip()
    raise reading.must_be("command", value, path, owner, "one line of text, as you would type it")


def take_check(reading: ValueReading, value: Any, path: FilePath, owner: str) -> Check:
    """`{contains: x, path: docs/*.md}` or, for a kind that needs no argument, its bare name."""
    from honestone.core.checking.check_problems import read_check

    if isinstance(value, str):
        written, places = {value.strip(): None}, {}
    elif isinstance(value, dict):
        places = {reading.marked.raw_key((*path, key)): (*path, key) for key in value}
        written = {key: reading.plain(place) for key, place in places.items()}
    else:
        hint = (
            "one check an item: make each an item of its own"
            if isinstance(value, list)
            else _CHECK_HINT
        )
        raise reading.must_be("check", value, path, owner, hint)
    try:
        return _settled_check(read_check(written))
    except RubricError as wrong:
        place = places.get(str(wrong.path[0]), path) if wrong.path else path
        raise Refused(
            f"`check`{owner}: {wrong.message}", place, wrong.hint, at_key=place != path
        ) from None


def _settled_check(check: Check) -> Check:
    """`is-json` and `{is-json: true}` are one and the same check."""
    from honestone.core.checking.checks import KINDS

    needs_nothing = None in KINDS[check.kind].schema.get("enum", ())
    return replace(check, value=None) if needs_nothing else check


PLAIN_VALUES: Final[ValueReaders] = {
    "version": take_version,
    "name": take_name,
    "text": take_text,
    "weight": take_weight,
    "points": take_points,
    "threshold": take_threshold,
    "quorum": take_quorum,
    "sure": take_sure,
    "looks": take_looks,
    "tier": take_tier,
    "combination": take_rule,
    "level": take_level,
    "flag": take_flag,
    "command": take_command,
    "check": take_check,
}


# ----------------------------------------------------------------------------------------------------
# what was written


def shown_value(value: Any, raw: str | None) -> str:
    """A value in a message: text in quotes, everything else as written."""
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    if value is None:
        return "empty"
    text = str(raw if raw is not None else value)
    text = text if len(text) <= 60 else text[:57] + "..."
    return f'"{text}"' if isinstance(value, str) else text


_FRACTION: Final = late_pattern(r"-?[0-9]{1,60}/[1-9][0-9]{0,59}")


def _fraction_in(text: str) -> Fraction | None:
    """What no decimal can say exactly: `2/3`."""
    return Fraction(text) if _FRACTION.fullmatch(text) else None


def number_in(text: str) -> Fraction | None:
    """The number that a text spells, as YAML would read it without quotes."""
    text = text.strip()
    if (share := _fraction_in(text)) is not None:
        return share
    try:
        value = scalar(text)
        if not is_number(value):
            return None
        return exact(value) if isinstance(value, int) else exact(text)
    except ValueError:
        return None
