"""Reading the native rubric format (`rubric.yaml`): a Rubric, or every error of the file with its
place.

`fields` lists the keys and what they take; the rules of arithmetic and naming in `core.judging.rubric`.
Here is how the one becomes the other.
"""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import FileError, RubricError, UsageError
from honestone.core.judging.rubric import (
    DEFAULT_FLOOR,
    DEFAULT_THRESHOLD,
    Anchors,
    Check,
    Criterion,
    Item,
    Quorum,
    Rubric,
    Rule,
    as_written,
    problems,
    slug,
)
from honestone.core.numbers import ONE
from honestone.core.tables import table_text
from honestone.formats.fields import SHAPES, VERSION, Field, near
from honestone.formats.rubric.check_words import check_in_words
from honestone.formats.syntax.marked import Marked, parse_marked, read_text
from honestone.formats.syntax.nodes import MapKey
from honestone.formats.syntax.reader import Steps as FilePath
from honestone.formats.syntax.reader import value_at
from honestone.formats.values import (
    LIST_HINT,
    PLAIN_VALUES,
    Got,
    Refused,
    ValueReaders,
    ValueReading,
    number_in,
    shown_value,
)

if TYPE_CHECKING:
    from honestone.core.checking.checks import OwnBar

# How the first line of a drafted file begins. While it is there, the file is called a draft.
DRAFT_LINE: Final = "# A draft from "

DRAFT_NOTE: Final = "this is a draft: read what was taken for what, then delete its first line"


class RubricSource(Struct, frozen=True, kw_only=True):
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
    return _read_rubric(read_text(path), str(path), path)


def parse_rubric(text: str, name: str) -> RubricSource:
    """The rubric in a text; `name` stands for the file in places."""
    return _read_rubric(text, name, None)


def _read_rubric(text: str, name: str, path: Path | None) -> RubricSource:
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


class RubricReading(ValueReading):
    """One pass over a rubric file, or over a format that holds rubrics among other things."""

    def __init__(self, marked: Marked, key: str = "", what: str = "") -> None:
        super().__init__(marked, key, what)
        self.ids: Mapping[str, str] = {}  # of the criteria that have only a text

    @property
    def readers(self) -> ValueReaders:
        return RUBRIC_VALUES

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

    def _rules(self, draft: UncheckedRubric) -> None:
        """The rules of core, where reading has not already complained about the same value or one
        around it.
        """
        if "criteria" not in self.marked.value or not draft.criteria:
            if not self.problems:
                self.problem(
                    "a rubric needs at least one criterion", ("criteria",), LIST_HINT, at_key=True
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

    # ------------------------------------------------------------------------------------------
    # single values

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
        settings: Got = {
            key: got[key] for key in ("weight", "floor", "required", "negate", "fix") if key in got
        }
        items = () if "criteria" in value else _marked_by(got, id, requirement)
        settings = {**_own_bar(items, settings.get("weight", ONE)), **settings}
        return Criterion(
            id=id,
            requirement=requirement,
            items=items,
            children=got.get("criteria", ()),
            **settings,
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
        settings = {key: got[key] for key in ("anchors", "check", "fix") if key in got}
        return Item(
            id=id,
            requirement=requirement,
            may_not_apply=got.get("may_not_apply", _UNSAID),
            **settings,
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
        number = number_in(key)
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


RUBRIC_VALUES: Final[ValueReaders] = {
    **PLAIN_VALUES,
    "items": RubricReading.items,
    "criteria": RubricReading.criteria,
    "anchors": RubricReading.anchors,
}


class UncheckedRubric(Struct, frozen=True, kw_only=True):
    """A rubric that has not been found sound yet: what core's rules look at."""

    title: str = ""
    threshold: Fraction = DEFAULT_THRESHOLD
    floor: Fraction = DEFAULT_FLOOR
    quorum: Quorum | None = None
    require_calibration: bool = False
    require_tier: str | None = None
    sure: Fraction | None = None
    max_looks: int | None = None
    combine: Rule | None = None
    criteria: tuple[Criterion, ...] = ()


# A criterion with one of these has been reported already, if anything is wrong with it.
_SAYS_IT = {"requirement", "check", *cast(Field, SHAPES["criterion"].field("requirement")).also}
# Of an item that leaves `may_not_apply` to its criterion, until `_marked_by` has settled it.
_UNSAID = cast(bool, None)
_A = {"criterion": "a criterion", "item": "an item"}
_ANCHORS_HINT = "describe levels by number: {0: none, 10: full}"
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
    from honestone.core.checking.checks import own_bar

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
