"""Reading the native rubric format (`rubric.yaml`): a Rubric, or every error of the file with its
place.

`fields` lists the keys and what they take; the rules of arithmetic and naming in `core.rubric`.
Here is how the one becomes the other.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard, TypeVar, cast

from honestone.core.errors import FileError, HonestoneError, RubricError, UsageError
from honestone.core.numbers import ONE, exact, hundredfold
from honestone.core.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    TIERS,
    Anchors,
    Check,
    Criterion,
    Item,
    Quorum,
    Rubric,
    as_written,
    is_quorum,
    problems,
    slug,
)
from honestone.core.tables import table_text
from honestone.formats.check_words import check_in_words
from honestone.formats.fields import SHAPES, TAKES, VERSION, Field, Takes, near, unknown_key_hint
from honestone.formats.marked import Marked, parse_marked, read_text
from honestone.formats.nodes import MapKey, scalar
from honestone.formats.reader import FileReading, value_at
from honestone.formats.reader import Steps as FilePath

if TYPE_CHECKING:
    from honestone.core.checks import OwnBar

# How the first line of a drafted file begins. While it is there, the file is called a draft.
DRAFT_LINE: Final = "# A draft from "

DRAFT_NOTE: Final = "this is a draft: read what was taken for what, then delete its first line"


@dataclass(frozen=True, slots=True, kw_only=True)
class RubricSource:
    """A rubric as it was read: from where, with its places, and what a person should know about the
    reading.
    """

    rubric: Rubric
    path: Path | None
    marked: Marked
    notes: tuple[str, ...] = ()


class RubricFileErrors(RubricError):
    """All that is wrong with a rubric file, in the order of the file. Message, place and hint are
    the first one's.
    """

    def __init__(self, errors: tuple[RubricError, ...]) -> None:
        first = errors[0]
        super().__init__(first.message, path=first.path, place=first.place, hint=first.hint)
        self.errors = errors


def read_rubric(path: Path) -> RubricSource:
    """The rubric in a file. Raises FileError when it cannot be read, RubricError when it is not a
    sound rubric.
    """
    return _read(read_text(path), str(path), path)


def parse_rubric(text: str, name: str) -> RubricSource:
    """The rubric in a text; `name` stands for the file in places."""
    return _read(text, name, None)


def _read(text: str, name: str, path: Path | None) -> RubricSource:
    try:
        marked = parse_marked(text, name)
    except FileError:
        if _is_prose(text, name):
            raise _not_a_rubric(name, "a Markdown document", _JUDGE_IT.format(name)) from None
        raise
    reading = RubricReading(marked)
    rubric = reading.rubric()
    return RubricSource(rubric=rubric, path=path, marked=marked, notes=notes_on(text, reading))


def notes_on(text: str, reading: RubricReading) -> tuple[str, ...]:
    is_draft = text.removeprefix("\ufeff").startswith(DRAFT_LINE)
    return (*((DRAFT_NOTE,) if is_draft else ()), *reading.notes)


# ----------------------------------------------------------------------------------------------------
# values


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


class RubricReading(FileReading):
    """One pass over a rubric file, or over a format that holds rubrics among other things. What a key takes
    is the name of the method that reads it: method(value, path, owner).     `wrong_at` are the paths of the problems.
    """

    def __init__(self, marked: Marked, key: str = "", what: str = "") -> None:
        super().__init__(marked, key, what)
        self.wrong_at: list[FilePath] = []
        self.ids: Mapping[str, str] = {}  # of the criteria that have only a text

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

    def rubric(self) -> Rubric:
        value = self.marked.value
        if not isinstance(value, dict) or "criteria" not in value:
            raise _unrecognised(self.marked)
        self.name_texts(value["criteria"])
        try:
            self.check_version("rubric", VERSION)
        except UsageError as newer:
            error = RubricError(newer.message, path=("rubric",), place=newer.place, hint=newer.hint)
            raise RubricFileErrors((error,)) from None
        got = self.fields("rubric", (), "")
        got.pop("rubric", None)
        self._rules(UncheckedRubric(**got))
        if self.problems:
            raise RubricFileErrors(cast(tuple[RubricError, ...], tuple(self.in_order())))
        return Rubric(**got)

    def name_texts(self, criteria: Any) -> None:
        """Settles the ids of the criteria of one rubric that have only a text. Comes before they
        are read.
        """
        self.ids = _auto_ids(_criterion_texts(criteria))

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

    def _rules(self, draft: UncheckedRubric) -> None:
        """The rules of core, where reading has not already complained about the same value or one
        around it.
        """
        if "criteria" not in self.marked.value or not draft.criteria:
            if not self.problems:
                self.problem(
                    "a rubric needs at least one criterion", ("criteria",), _LIST_HINT, at_key=True
                )
            return
        self.rules(draft, lambda path: path)

    def rules(self, draft: UncheckedRubric, where: Callable[[FilePath], FilePath]) -> None:
        """The rules of core for a rubric; `where` turns a path inside it into one of the file."""
        taken = list(self.wrong_at)
        for found in problems(cast(Rubric, draft)):
            path = where(tuple(found.path))
            if any(path[: len(other)] == other or other[: len(path)] == path for other in taken):
                continue
            ends_in_container = self.marked.raw(path) is None and path and isinstance(path[-1], str)
            # A criterion whose id could not be read has a placeholder that must not be shown.
            message = re.sub(r"criterion `\0[^`]*`", "this criterion", found.message)
            self.problem(message, path, found.hint, at_key=bool(ends_in_container))

    # ------------------------------------------------------------------------------------------
    # mappings and keys

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
                    got[field.key] = getattr(self, field.takes.replace("-", "_"))(
                        value, here, owner
                    )
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
            raise self.must_be(takes, value, path, owner, _LIST_HINT)
        if not value:
            raise Refused(f"`{path[-1]}`{owner} is empty", path, _LIST_HINT)
        found: list[T] = []
        for index, entry in enumerate(value):
            with self.noting():
                found.append(read(entry, (*path, index)))
        if len(found) < len(value):
            raise Refused
        return tuple(found)

    # ------------------------------------------------------------------------------------------
    # single values

    def version(self, value: Any, path: FilePath, owner: str) -> None:
        if not is_number(value) or value != VERSION:
            raise self.must_be(
                "version", value, path, owner, "it is the version of the format, not of your rubric"
            )

    def name(self, value: Any, path: FilePath, owner: str) -> str:
        """Text as it was written, whatever it would mean elsewhere: `off` and `1.0` are fine ids."""
        raw = self.marked.raw(path)
        if raw is None:
            raise self.must_be("name", value, path, owner)
        if not raw.strip():
            raise Refused(f"`{path[-1]}`{owner} is empty", path)
        return raw.strip()

    def text(self, value: Any, path: FilePath, owner: str) -> str:
        if not isinstance(value, str):
            quotes = (
                None
                if isinstance(value, (list, dict))
                else f'write it in quotes: "{self.marked.raw(path)}"'
            )
            raise self.must_be("text", value, path, owner, quotes)
        if not value.strip():
            raise Refused(f"`{path[-1]}`{owner} is empty", path)
        return value.strip()

    def weight(self, value: Any, path: FilePath, owner: str) -> Fraction:
        return self._number(
            "weight", value, path, owner, "weights are relative: 3 counts three times as much as 1"
        )

    def points(self, value: Any, path: FilePath, owner: str) -> Fraction:
        return (
            self._number(
                "points", value, path, owner, "points are out of 100: write 70, not 0.7 or 70%"
            )
            / 100
        )

    def threshold(self, value: Any, path: FilePath, owner: str) -> Fraction:
        share = self.points(value, path, owner)
        meant = hundredfold(share * 100)
        if meant is not None:
            message = f"`{path[-1]}`{owner} is {self.marked.raw(path)}, but it is out of 100"
            raise Refused(message, path, f"is {meant} meant? {path[-1]}: {meant}")
        return share

    def quorum(self, value: Any, path: FilePath, owner: str) -> Quorum:
        if is_quorum(value):
            return cast(Quorum, value)
        raise self.must_be("quorum", value, path, owner, "for example 2, or all")

    def tier(self, value: Any, path: FilePath, owner: str) -> str:
        if value in TIERS:
            return cast(str, value)
        raise self.must_be("tier", value, path, owner)

    def level(self, value: Any, path: FilePath, owner: str) -> Fraction:
        return self._number("level", value, path, owner, None)

    def _number(
        self, takes: Takes, value: Any, path: FilePath, owner: str, hint: str | None
    ) -> Fraction:
        if is_number(value):
            return self.marked.number(path)
        if isinstance(value, str) and (share := _fraction_in(value)) is not None:
            return share
        if isinstance(value, str) and _number_in(value) is not None:
            hint = f"write it without quotes: {value.strip()}"
        raise self.must_be(takes, value, path, owner, hint)

    def flag(self, value: Any, path: FilePath, owner: str) -> bool:
        if isinstance(value, bool):
            return value
        meant = _YES_NO.get(value.casefold()) if isinstance(value, str) else None
        raise self.must_be("flag", value, path, owner, f"write `{meant}`" if meant else None)

    # ------------------------------------------------------------------------------------------
    # criteria and items

    def criteria(self, value: Any, path: FilePath, owner: str) -> tuple[Criterion, ...]:
        return self.each("criteria", value, path, owner, lambda _, here: self.criterion(here))

    def items(self, value: Any, path: FilePath, owner: str) -> tuple[Item, ...]:
        entries = value if isinstance(value, list) else ()
        ids = _auto_ids(text for entry in entries if (text := _text_without_id(entry)))
        return self.each("items", value, path, owner, lambda _, here: self.item(here, owner, ids))

    def criterion(self, path: FilePath) -> Criterion:
        value = value_at(self.marked.value, path)
        if isinstance(value, str) and value.strip():
            text = value.strip()
            return Criterion(
                id=self.ids[text], requirement=text, items=(_whole(self.ids[text], text),)
            )
        number = cast(int, path[-1]) + 1
        if not isinstance(value, dict):
            return self._odd_entry("criterion", value, path, f"criterion number {number}")
        name = self._name_of(value, path)
        owner = f" of criterion `{name}`" if name else f" of criterion number {number}"
        got = self.fields("criterion", path, owner)
        self._fits_together(got, path, owner)
        requirement, id = self._naming(got, value, path, owner, self.ids)
        said: Got = {
            key: got[key] for key in ("weight", "floor", "required", "negate", "fix") if key in got
        }
        items = () if "criteria" in value else _marked_by(got, id, requirement)
        said = {**_own_bar(items, said.get("weight", ONE)), **said}
        return Criterion(
            id=id, requirement=requirement, items=items, children=got.get("criteria", ()), **said
        )

    def _odd_entry(self, kind: str, value: Any, path: FilePath, who: str) -> Criterion:
        self._not_an_entry(kind, value, path, who)
        return Criterion(id=f"\0{path}", requirement="?", items=(_whole(f"\0{path}", "?"),))

    def _not_an_entry(self, kind: str, value: Any, path: FilePath, who: str) -> None:
        if isinstance(value, str) or value is None:
            self.problem(f"{who} is empty", path)
            return
        shown = shown_value(value, self.marked.raw(path))
        hint = None if isinstance(value, list) else "put text in quotes"
        self.problem(f"{who} is {shown}, but {_A[kind]} must be text or a mapping", path, hint)

    def _name_of(self, value: Mapping[MapKey, Any], path: FilePath) -> str | None:
        """What to call a criterion or item in messages, before it is known to be sound."""
        if value.get("id") is not None and (raw := self.marked.raw((*path, "id"))):
            return raw.strip()
        text = _text_without_id(value)
        return slug(text) if text else None

    def _naming(
        self,
        got: Got,
        value: Mapping[MapKey, Any],
        path: FilePath,
        owner: str,
        ids: Mapping[str, str],
    ) -> tuple[str, str]:
        """Requirement and id, each from the other or from the check where it is left out."""
        requirement = got.get("requirement")
        if requirement is None and "check" in got:
            requirement = check_in_words(got["check"])
        elif requirement is None and "criteria" in value:
            requirement = got.get("id")
        if requirement is None and not _SAYS_IT & value.keys() and not self._excused(value):
            self.problem(
                f"`requirement`{owner} is missing",
                (*path, "requirement"),
                "say in words what is asked",
            )
        if "id" in got:
            return requirement or "?", got["id"]
        if requirement is None or "id" in value:
            return requirement or "?", f"\0{path}"  # a problem is noted; no other id can be like it
        return requirement, ids.get(requirement) or slug(requirement)

    @staticmethod
    def _excused(value: Mapping[MapKey, Any]) -> bool:
        return "criteria" in value and "id" in value

    def _fits_together(self, got: Got, path: FilePath, owner: str) -> None:
        """A group is marked by its children and by nothing else."""
        if "criteria" not in got:
            return
        for key in ("items", "anchors", "check", "may_not_apply"):
            if got.get(key):
                self.problem(
                    f"`{key}`{owner} cannot be combined with child `criteria`",
                    (*path, key),
                    "make it a child criterion"
                    if key in ("items", "anchors", "check")
                    else "put it on the children",
                    at_key=True,
                )

    def item(self, path: FilePath, owner: str, ids: Mapping[str, str]) -> Item:
        value = value_at(self.marked.value, path)
        if isinstance(value, str) and value.strip():
            return Item(id=ids[value.strip()], requirement=value.strip(), may_not_apply=_UNSAID)
        number = cast(int, path[-1]) + 1
        if not isinstance(value, dict):
            self._not_an_entry("item", value, path, f"item number {number}{owner}")
            return Item(id=f"\0{path}", requirement="?")
        name = self._name_of(value, path)
        mine = f" of item `{name}`" if name else f" of item number {number}{owner}"
        got = self.fields("item", path, mine)
        requirement, id = self._naming(got, value, path, mine, ids)
        said = {key: got[key] for key in ("anchors", "check", "fix") if key in got}
        return Item(
            id=id, requirement=requirement, may_not_apply=got.get("may_not_apply", _UNSAID), **said
        )

    # ------------------------------------------------------------------------------------------
    # anchors and checks

    def anchors(self, value: Any, path: FilePath, owner: str) -> Anchors:
        if not isinstance(value, dict | list):
            raise self.must_be("anchors", value, path, owner, _ANCHORS_HINT)
        before = len(self.problems)
        levels: dict[Fraction, str] = {}
        for index, key in enumerate(value):
            with self.noting():
                here = (*path, key if isinstance(value, dict) else index)
                pair = self._level_of_mapping if isinstance(value, dict) else self._level_of_list
                self._level(levels, *pair(here, owner), owner)
        if len(self.problems) > before:
            raise Refused
        if not levels:
            raise Refused(f"`{path[-1]}`{owner} is empty", path, _ANCHORS_HINT)
        return Anchors(levels=tuple(sorted(levels.items())))

    def _level_of_mapping(self, here: FilePath, owner: str) -> tuple[Fraction, Any, FilePath]:
        """The number of a level, its text, and the place of that."""
        key = self.marked.raw_key(here)
        number = _number_in(key)
        if number is None:
            message = f"`{key}` in `anchors`{owner} is not a number on a scale"
            raise Refused(message, here, _ANCHORS_HINT, at_key=True)
        return number, value_at(self.marked.value, here), here

    def _level_of_list(self, here: FilePath, owner: str) -> tuple[Fraction, Any, FilePath]:
        entry, who = (
            value_at(self.marked.value, here),
            f"level number {cast(int, here[-1]) + 1}{owner}",
        )
        if not isinstance(entry, dict):
            shown = shown_value(entry, self.marked.raw(here))
            raise Refused(
                f"{who} is {shown}, but must be a mapping", here, "{value: 0, text: none}"
            )
        got = self.fields("level", here, f" of {who}")
        numbers = [key for key in ("value", "score") if key in entry]
        if len(numbers) != 1 or "text" not in entry:
            raise Refused(f"{who} needs a `value` and a `text`", here)
        if numbers[0] not in got or "text" not in got:
            raise Refused
        return got[numbers[0]], got["text"], (*here, "text")

    def _level(
        self, levels: dict[Fraction, str], number: Fraction, text: Any, path: FilePath, owner: str
    ) -> None:
        who = f"level {as_written(number)} of `anchors`{owner}"
        if number in levels:
            raise Refused(f"{who} is described twice", path, at_key=True)
        if text is None or (isinstance(text, str) and not text.strip()):
            raise Refused(f"{who} has no text", path, at_key=text is None)
        if not isinstance(text, str):
            shown = shown_value(text, self.marked.raw(path))
            raise Refused(f"{who} is {shown}, but must be text", path, "put it in quotes")
        levels[number] = text.strip()

    def command(self, value: Any, path: FilePath, owner: str) -> str:
        if isinstance(value, str) and value.strip():
            return value.strip()
        raise self.must_be("command", value, path, owner, "one line of text, as you would type it")

    def check(self, value: Any, path: FilePath, owner: str) -> Check:
        """`{contains: x, path: docs/*.md}` or, for a kind that needs no argument, its bare name."""
        from honestone.core.checks import read_check

        if isinstance(value, str):
            written, places = {value.strip(): None}, {}
        elif isinstance(value, dict):
            places = {self.marked.raw_key((*path, key)): (*path, key) for key in value}
            written = {key: self.plain(place) for key, place in places.items()}
        else:
            hint = (
                "one check an item: make each an item of its own"
                if isinstance(value, list)
                else _CHECK_HINT
            )
            raise self.must_be("check", value, path, owner, hint)
        try:
            return _settled_check(read_check(written))
        except RubricError as wrong:
            place = places.get(str(wrong.path[0]), path) if wrong.path else path
            raise Refused(
                f"`check`{owner}: {wrong.message}", place, wrong.hint, at_key=place != path
            ) from None

    def plain(self, path: FilePath) -> Any:
        """A value with text for every key, as JSON would have it."""
        value = value_at(self.marked.value, path)
        if isinstance(value, dict):
            return {self.marked.raw_key((*path, key)): self.plain((*path, key)) for key in value}
        if isinstance(value, list):
            return [self.plain((*path, index)) for index in range(len(value))]
        return value


@dataclass(frozen=True, slots=True, kw_only=True)
class UncheckedRubric:
    """A rubric that has not been found sound yet: what core's rules look at."""

    title: str = ""
    threshold: Fraction = DEFAULT_THRESHOLD
    floor: Fraction = DEFAULT_FLOOR
    quorum: Quorum | None = None
    require_calibration: bool = False
    require_tier: str | None = None
    criteria: tuple[Criterion, ...] = ()


# A criterion with one of these has been reported already, if anything is wrong with it.
_SAYS_IT = {"requirement", "check", *cast(Field, SHAPES["criterion"].field("requirement")).also}
# Of an item that leaves `may_not_apply` to its criterion, until `_marked_by` has settled it.
_UNSAID = cast(bool, None)
_A = {"criterion": "a criterion", "item": "an item"}
_LIST_HINT = "write a list, one entry a line, each after `- `"
_ANCHORS_HINT = "describe levels by number: {0: none, 10: full}"
_CHECK_HINT = "name a kind and its argument: {contains: text}"
_YES_NO = {
    word: str(is_true).lower()
    for is_true, words in ((True, "yes on true y 1"), (False, "no off false n 0"))
    for word in words.split()
}


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


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is a number; true and false are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


_FRACTION: Final = re.compile(r"-?[0-9]{1,60}/[1-9][0-9]{0,59}")


def _fraction_in(text: str) -> Fraction | None:
    """What no decimal can say exactly: `2/3`."""
    return Fraction(text) if _FRACTION.fullmatch(text) else None


def _number_in(text: str) -> Fraction | None:
    """The number that a text spells, as YAML would read it without quotes."""
    text = text.strip()
    if (share := _fraction_in(text)) is not None:
        return share
    try:
        value = scalar(text)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return None
        return exact(value) if isinstance(value, int) else exact(text)
    except ValueError:
        return None


# ----------------------------------------------------------------------------------------------------
# ids and items


def _marked_by(got: Got, id: str, requirement: str) -> tuple[Item, ...]:
    """The items of a criterion, however it is marked; its own anchors or check come last, as one
    more item.
    """
    may_not_apply = got.get("may_not_apply", False)
    items = list(got.get("items", ()))
    anchors, check = got.get("anchors"), got.get("check")
    if anchors is not None and check is not None:
        # An item has one answer, so of the two the anchors are the criterion and the check is one
        # more item.
        items.append(Item(id=f"{id}-check", requirement=check_in_words(check), check=check))
        check = None
    if anchors is not None or check is not None or not items:
        items.append(_whole(id, requirement, anchors=anchors, check=check))
    return tuple(_settled(item, may_not_apply) for item in items)


def _own_bar(items: tuple[Item, ...], weight: Fraction) -> OwnBar:
    """Not looked up for most criteria, whose checks are loaded by those that have one."""
    if not any(item.check for item in items):
        return {}
    from honestone.core.checks import own_bar

    return own_bar(items, weight)


def _settled(item: Item, may_not_apply: bool) -> Item:
    says_itself = item.may_not_apply is not _UNSAID and not item.whole
    return item if says_itself else replace(item, may_not_apply=may_not_apply)


def _whole(
    id: str, requirement: str, *, anchors: Anchors | None = None, check: Check | None = None
) -> Item:
    return Item(id=id, requirement=requirement, anchors=anchors, check=check, whole=True)


def _text_without_id(entry: Any) -> str | None:
    """The text that an entry of a list gets its id from, if it has no id of its own."""
    if isinstance(entry, dict):
        entry = None if "id" in entry else entry.get("requirement")
    return entry.strip() if isinstance(entry, str) and entry.strip() else None


def _criterion_texts(criteria: Any) -> Iterator[str]:
    for entry in criteria if isinstance(criteria, list) else ():
        text = _text_without_id(entry)
        if text is not None:
            yield text
        if isinstance(entry, dict):
            yield from _criterion_texts(entry.get("criteria"))


def _auto_ids(texts: Iterable[str]) -> dict[str, str]:
    """An id for each text: its slug, and where long texts begin alike, that and a mark of the whole
    text.
    """
    alike: dict[str, set[str]] = {}
    for text in texts:
        alike.setdefault(slug(text), set()).add(text)
    return {
        text: short
        if len(group) == 1
        else f"{short}-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
        for short, group in alike.items()
        for text in group
    }


def _settled_check(check: Check) -> Check:
    """`is-json` and `{is-json: true}` are one and the same check."""
    from honestone.core.checks import KINDS

    needs_nothing = None in KINDS[check.kind].schema.get("enum", ())
    return replace(check, value=None) if needs_nothing else check


# ----------------------------------------------------------------------------------------------------
# other files

_JUDGE_IT = "to judge it: honestone eval {} --rubric RUBRIC"


def _not_a_rubric(
    name: str, looks_like: str, hint: str | None, place: str | None = None
) -> RubricFileErrors:
    error = RubricError(
        f"this looks like {looks_like}, not a rubric",
        place=place or f"{name}:1:1",
        hint=hint or "a rubric has a list of `criteria`; `honestone init` writes one to start from",
    )
    return RubricFileErrors((error,))


def _unrecognised(marked: Marked) -> RubricFileErrors:
    """What a file without `criteria` seems to be, or what it lacks."""
    value, place = marked.value, marked.at(())
    if isinstance(value, str):
        return _not_a_rubric(marked.name, "a text document", _JUDGE_IT.format(marked.name), place)
    if isinstance(value, list):
        return _not_a_rubric(
            marked.name, "a list", "put the criteria under the key `criteria:`", place
        )
    if not isinstance(value, dict):
        return _not_a_rubric(marked.name, "a single value", None, place)
    keys = {key for key in value if isinstance(key, str)}
    if not isinstance(value.get("rubric"), (int, float)):
        for file in tomllib.loads(table_text("looks_like", __package__))["files"]:
            if keys.issuperset(file["keys"]):
                return _not_a_rubric(marked.name, file["is"], file.get("hint"), place)
    typo = next(
        (key for key in sorted(keys) if near(key, ["criteria"]) or key in _OTHER_WORDS), None
    )
    if typo is not None:
        error = RubricError(
            f"unknown key `{typo}`",
            path=(typo,),
            place=marked.key_at((typo,)),
            hint="did you mean `criteria`?",
        )
    else:
        error = RubricError(
            "this file has no `criteria`, so it is not a rubric",
            place=place,
            hint="`honestone init` writes one to start from",
        )
    return RubricFileErrors((error,))


_OTHER_WORDS = frozenset(cast(Field, SHAPES["rubric"].field("criteria")).also)


def _is_prose(text: str, name: str) -> bool:
    """Whether a text that is not YAML is a document named by mistake."""
    if re.search(r"(?m)^(criteria|rubric)\s*:", text):
        return False
    headings = len(re.findall(r"(?m)^#{1,6} \S", text))
    return name.lower().endswith((".md", ".markdown", ".txt", ".rst")) or headings >= 2
