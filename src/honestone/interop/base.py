"""What every reader of a foreign format is made of: a document, a strict walk over it, and the reader's own description.

The walk never stops at the first mistake: what is wrong is noted with its place and replaced by something harmless, so
that a person sees all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from honestone.core.errors import UsageError
from honestone.core.rubric import Anchors, Criterion, Item, slug
from honestone.formats.document import Document, JsonLine, MarkedLine
from honestone.formats.fields import near
from honestone.formats.marked import Marked
from honestone.formats.nodes import MapKey
from honestone.formats.source import ForeignRubric, Loss, SourceErrors, SuiteSource

Steps: TypeAlias = tuple[MapKey, ...]


class Walk:
    """One reading: collects what is wrong, what is lost and what should be told. Raises all of it at `finish`."""

    def __init__(self, marked: Marked) -> None:
        self.marked = marked
        self.problems: list[UsageError] = []
        self.losses: list[Loss] = []
        self.notes: list[str] = []

    def at(self, path: Steps = ()) -> Taking:
        """A mapping (or list, or scalar) to be read key by key."""
        return Taking(self, path)

    def problem(self, message: str, path: Steps, hint: str | None = None, *, at_key: bool = False) -> None:
        place = self.marked.key_at(path) if at_key else self.marked.at(path)
        self.problems.append(UsageError(message, place=place, hint=hint))

    def loss(self, message: str, path: Steps, hint: str | None = None) -> None:
        self.losses.append(Loss(place=self.marked.at(path), message=message, hint=hint))

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def finish(self) -> None:
        if self.problems:
            raise SourceErrors(sorted(self.problems, key=lambda p: _line_of(p.place)))

    def join(self, other: Walk) -> None:
        """What another walk (over a file that this one names) found."""
        self.problems += other.problems
        self.losses += other.losses
        for note in other.notes:
            self.note(note)


class EntryWalk(Walk):
    """A walk that says of every problem and loss in which entry of a list it is: ``task `a`: ...``."""

    def __init__(self, marked: Marked, key: str, what: str) -> None:
        super().__init__(marked)
        self._key, self._what = key, what

    def problem(self, message: str, path: Steps, hint: str | None = None, *, at_key: bool = False) -> None:
        super().problem(self.named(message, path), path, hint, at_key=at_key)

    def loss(self, message: str, path: Steps, hint: str | None = None) -> None:
        super().loss(self.named(message, path), path, hint)

    def named(self, message: str, path: Steps) -> str:
        if len(path) < 2 or path[0] != self._key or not isinstance(path[1], int):
            return message
        id = self.marked.raw((*path[:2], "id")) or ""
        is_a_name = bool(id.strip()) and id.isprintable()
        return f"{self._what} `{id}`: {message}" if is_a_name else f"{self._what} number {path[1] + 1}: {message}"


def _line_of(place: str | None) -> tuple[str, int, int]:
    name, _, rest = (place or "::0:0").rpartition(":")
    name, _, line = name.rpartition(":")
    return name, int(line) if line.isdigit() else 0, int(rest) if rest.isdigit() else 0


class Taking:
    """A strict look at one mapping: each `take` marks its key as known, `close` reports the keys nobody took."""

    def __init__(self, walk: Walk, path: Steps) -> None:
        self.walk = walk
        self.path = path
        self.taken: set[MapKey] = set()
        self.value = _get(walk.marked.value, path)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.value, dict)

    def __contains__(self, key: MapKey) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def require_mapping(self, what: str) -> bool:
        if not self.is_mapping:
            self.walk.problem(f"{what} must be a mapping, not {shown(self.value)}", self.path)
        return self.is_mapping

    def raw(self, *keys: str) -> Any:
        """The value of the first of these keys that is there; all of them count as known. None without one."""
        self.taken.update(keys)
        key = self.which(*keys)
        return None if key is None else self.value[key]

    def which(self, *keys: str) -> str | None:
        self.taken.update(keys)
        return next((key for key in keys if key in self), None)

    def below(self, key: MapKey) -> Taking:
        self.taken.add(key)
        return Taking(self.walk, (*self.path, key))

    def each(self, key: str, what: str) -> Iterator[Taking]:
        """The entries of a list; a problem when there is something else."""
        value = self.raw(key)
        if value is None:
            return
        if not isinstance(value, list):
            self.walk.problem(f"`{key}` must be a list of {what}, not {shown(value)}", (*self.path, key))
            return
        for index in range(len(value)):
            yield Taking(self.walk, (*self.path, key, index))

    def text(self, *keys: str, required: bool = False) -> str | None:
        """A text that is not empty; numbers and booleans count as they were written (`id: 1.0`, `id: off`)."""
        key = self.which(*keys)
        if key is None:
            if required:
                self.walk.problem(f"`{keys[0]}` is missing", self.path, f"give it a text: {keys[0]}: ...")
            return None
        here = (*self.path, key)
        raw = self.value[key] if isinstance(self.value[key], str) else self.walk.marked.raw(here)
        if raw is None:
            self.walk.problem(f"`{key}` must be text, not {shown(self.value[key])}", here)
        elif not raw.strip():
            if required:
                self.walk.problem(f"`{key}` is empty", here)
        else:
            return str(raw)
        return None

    def number(
        self, *keys: str, low: float | None = None, high: float | None = None, is_whole: bool = False
    ) -> Fraction | None:
        """The number as written, exactly."""
        key = self.which(*keys)
        if key is None:
            return None
        here = (*self.path, key)
        try:
            number = self.walk.marked.number(here)
        except ValueError:
            self.walk.problem(f"`{key}` must be a number, not {shown(self.value[key])}", here)
            return None
        if (low is not None and number < low) or (high is not None and number > high):
            span = (
                f"from {low:g} to {high:g}"
                if low is not None and high is not None
                else (f"{low:g} or more" if low is not None else f"{high:g} at most")
            )
            self.walk.problem(f"`{key}` is {float(number):g}, but must be {span}", here)
            return None
        if is_whole and number.denominator != 1:
            self.walk.problem(f"`{key}` is {float(number):g}, but must be a whole number", here)
            return None
        return number

    def flag(self, *keys: str) -> bool | None:
        key = self.which(*keys)
        if key is None:
            return None
        if not isinstance(self.value[key], bool):
            self.walk.problem(f"`{key}` must be true or false, not {shown(self.value[key])}", (*self.path, key))
            return None
        return bool(self.value[key])

    def choice(self, key: str, known: Sequence[str]) -> str | None:
        found = self.text(key)
        if found is not None and found not in known:
            hint = near(found, known)
            self.walk.problem(
                f"`{key}` is `{found}`, but must be one of: {', '.join(known)}",
                (*self.path, key),
                f"did you mean `{hint}`?" if hint else None,
            )
            return None
        return found

    def texts(self, key: str) -> list[str] | None:
        """A list of texts, or one text."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, str):
            return [value]
        if not isinstance(value, list) or not all(isinstance(v, str | int | float | bool) for v in value):
            self.walk.problem(f"`{key}` must be text or a list of texts", (*self.path, key))
            return None
        path = (*self.path, key)
        return [v if isinstance(v, str) else str(self.walk.marked.raw((*path, i))) for i, v in enumerate(value)]

    def ignore(self, *keys: str, why: str | None = None) -> None:
        """Known keys that change nothing here; `why` is noted when one of them is there."""
        self.taken.update(keys)
        if why and any(key in self for key in keys):
            self.walk.note(why)

    def lose(self, *keys: str, message: str) -> None:
        """Known keys whose meaning is lost. `{key}` in the message is the key."""
        for key in keys:
            self.taken.add(key)
            if key in self:
                self.walk.loss(message.format(key=key), (*self.path, key))

    def close(self, what: str) -> None:
        """Every key that was not taken is an error with the near match."""
        if not isinstance(self.value, dict):
            return
        for key in self.value:
            if key not in self.taken and not str(key).startswith("x-"):
                hint = near(str(key), [str(known) for known in self.taken])
                self.walk.problem(
                    f"unknown key `{self.walk.marked.raw_key((*self.path, key))}` in {what}",
                    (*self.path, key),
                    f"did you mean `{hint}`?" if hint else None,
                    at_key=True,
                )


def _get(value: Any, path: Steps) -> Any:
    for step in path:
        value = value[step]
    return value


def shown(value: Any) -> str:
    """A value in a message, short."""
    if value is None:
        return "nothing"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


# ---------------------------------------------------------------------------------------------------------- readers


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownKey:
    """One key of a foreign format, for the reference page: what it becomes here. `how` is `read`, `ignored` or `lost`."""

    key: str
    meaning: str
    how: Literal["read", "ignored", "lost"] = "read"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reader:
    """One foreign format. `signs` gives 0 (not it) to 100 (certainly it) by content alone, never by the file's name.

    `defaults` are the dialect's own rules in words (threshold, required, floor), shown with every result.
    """

    name: str
    title: str
    gives: Literal["suite", "rubric"]
    signs: Callable[[Document], int]
    read: Callable[[Document], SuiteSource | ForeignRubric]
    keys: tuple[KnownKey, ...]
    defaults: tuple[str, ...] = ()
    looks_like: tuple[str, ...] = ()
    """Top-level keys by which a file that nobody recognises is said to look closest to this."""
    example: str = ""


# ---------------------------------------------------------------------------------------------------------- rubrics


def yes_no(id: str, requirement: str, *, weight: Fraction = Fraction(1), **more: Any) -> Criterion:
    """A criterion that is one yes/no question."""
    item = Item(id=id, requirement=requirement, whole=True, may_not_apply=more.pop("may_not_apply", False))
    return Criterion(id=id, requirement=requirement, weight=weight, items=(item,), **more)


def scaled(
    id: str, requirement: str, levels: Mapping[Fraction, str], *, weight: Fraction = Fraction(1), **more: Any
) -> Criterion:
    """A criterion with anchors."""
    anchors = Anchors(levels=tuple(sorted(levels.items())))
    na = more.pop("may_not_apply", False)
    item = Item(id=id, requirement=requirement, anchors=anchors, whole=True, may_not_apply=na)
    return Criterion(id=id, requirement=requirement, weight=weight, items=(item,), **more)


def unique_ids(criteria: Sequence[Criterion]) -> tuple[Criterion, ...]:
    """Criteria with ids that are unique in the whole tree: a doubled one gets its group's id in front, or a number."""
    from dataclasses import replace

    seen: set[str] = set()

    def rename(criterion: Criterion, parent: str | None) -> Criterion:
        id = criterion.id
        if id in seen and parent is not None:
            id = f"{parent}.{criterion.id}"
        number = 2
        while id in seen:
            id, number = f"{criterion.id}-{number}", number + 1
        seen.add(id)
        items = tuple(replace(item, id=id) if item.whole else item for item in criterion.items)
        return replace(criterion, id=id, items=items, children=tuple(rename(child, id) for child in criterion.children))

    return tuple(rename(criterion, None) for criterion in criteria)


__all__ = [
    "Document",
    "ForeignRubric",
    "JsonLine",
    "KnownKey",
    "Loss",
    "MarkedLine",
    "Reader",
    "Steps",
    "SuiteSource",
    "Taking",
    "Walk",
    "scaled",
    "shown",
    "slug",
    "unique_ids",
    "yes_no",
]
