"""The strict reader under every format: tables of keys, problems with their places, losses and
notes.

Reading never stops at the first mistake: what is wrong is noted with its place and replaced by
something harmless, so that a person sees all of it at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import HonestoneError, UsageError
from honestone.core.judging.rubric import Rubric
from honestone.core.numbers import ONE
from honestone.formats.fields import near
from honestone.formats.source import CodeUse, ForeignRubric, Loss, SourceErrors, SuiteSource
from honestone.formats.syntax.marked import Marked
from honestone.formats.syntax.nodes import MapKey

if TYPE_CHECKING:
    from honestone.core.suite.case import Case, Suite

Steps: TypeAlias = tuple[MapKey, ...]
How: TypeAlias = Literal["read", "ignored", "lost"]


# ------------------------------------------------------------------------------------------------
# tables of keys


class KnownKey(Struct, frozen=True, kw_only=True):
    """One key of a format, in all its spellings, and what becomes of it. `is_noted`: ignored, and
    the reading says so.
    """

    names: tuple[str, ...]
    meaning: str
    how: How = "read"
    is_noted: bool = False
    is_required: bool = False


class Keys(Struct, frozen=True, dict=True):
    """The keys of one mapping of a format: they drive the reading, and the reference page shows
    them.

    `what` names the mapping in messages (`a case`), `at` is put in front of its keys on the page
    (`tests[].`). A key that is not in the table is a problem; where it `loses_others`, a loss.
    """

    what: str
    rows: tuple[KnownKey, ...]
    at: str = ""
    loses_others: bool = False

    @cached_property
    def by_name(self) -> Mapping[str, KnownKey]:
        return {name: row for row in self.rows for name in row.names}

    def __add__(self, other: Keys) -> Keys:
        return replace(self, rows=(*self.rows, *other.rows))

    def named(self, what: str, at: str | None = None) -> Keys:
        """The same keys in another mapping."""
        return replace(self, what=what, at=self.at if at is None else at)


_HOW: Final[Mapping[str, How]] = {"-": "ignored", "~": "ignored", "!": "lost"}


def keys(what: str, rows: str, at: str = "") -> Keys:
    """A table with a line for each key: `name other_name | what it becomes`.

    In front of the names: `-` ignored, `~` ignored and noted in the words of the table, `!` lost
    for the reason that the table gives ("`KEY` REASON"). A name that ends with `*` is required; the
    name `...` stands for any other key.
    """
    return Keys(what, tuple(_known_key(line) for line in rows.splitlines() if line.strip()), at)


def _known_key(line: str) -> KnownKey:
    names, _, meaning = (part.strip() for part in line.partition("|"))
    how = _HOW.get(names[0], "read")
    listed = (names if how == "read" else names[1:]).split()
    return KnownKey(
        names=tuple(name.removesuffix("*") for name in listed),
        meaning=meaning,
        how=how,
        is_noted=names[0] == "~",
        is_required=listed[0].endswith("*"),
    )


def about(what: str, rows: Mapping[str, str], how: How = "read", at: str = "") -> Keys:
    """Rows for the reference page alone, for what has no keys (kinds of assertions, columns of a
    table).
    """
    return Keys(
        what,
        tuple(KnownKey(names=(name,), meaning=meaning, how=how) for name, meaning in rows.items()),
        at,
    )


def words(text: str) -> tuple[str, ...]:
    """Names in one text, parted by spaces."""
    return tuple(text.split())


def did_you_mean(name: object, known: Iterable[str]) -> str | None:
    """The hint for a word that is nearly a known one; None when it is not."""
    names = {str(one).casefold(): one for one in known}
    found = near(str(name), names)
    return None if found is None else f"did you mean `{names[found]}`?"


# ------------------------------------------------------------------------------------------------
# one reading


class FileReading:
    """One reading of a file: what is wrong, what is lost and what a person should know. `finish`
    raises what is wrong.

    `key` and `what` are for files that are a list of entries: messages then name the entry (``task
    `a`: ...``).
    """

    def __init__(self, marked: Marked, key: str = "", what: str = "") -> None:
        self.marked = marked
        self.problems: list[UsageError] = []
        self.losses: list[Loss] = []
        self.unknown: list[
            UsageError
        ] = []  # lost keys: shown with problems, as a slip in a key is often the reason
        self.notes: list[str] = []
        self.code: list[CodeUse] = []
        self._key, self._what = key, what

    def at(self, path: Steps = ()) -> FileEntry:
        """A mapping (or list, or scalar) to be read key by key."""
        return FileEntry(self, path)

    def problem(
        self, message: str, path: Steps, hint: str | None = None, *, at_key: bool = False
    ) -> None:
        place = self.marked.key_at(path) if at_key else self.marked.at(path)
        self.problems.append(UsageError(self.named(message, path), place=place, hint=hint))

    def loss(self, message: str, path: Steps, hint: str | None = None) -> None:
        self.losses.append(
            Loss(place=self.marked.at(path), message=self.named(message, path), hint=hint)
        )

    def runs(
        self, what: str, path: Steps, file: Path | None = None, *, makes_cases: bool = False
    ) -> None:
        """Running what is read here runs code of the file: `what`, in words."""
        self.code.append(
            CodeUse(place=self.marked.at(path), what=what, file=file, makes_cases=makes_cases)
        )

    def unknown_loss(self, message: str, path: Steps, hint: str | None = None) -> None:
        """A loss that may be a slip: it is shown with problems too, as it is often their reason."""
        self.loss(message, path, hint)
        self.unknown.append(
            UsageError(self.named(message, path), place=self.marked.at(path), hint=hint)
        )

    def note(self, *texts: str) -> None:
        self.notes += [text for text in dict.fromkeys(texts) if text not in self.notes]

    def named(self, message: str, path: Steps) -> str:
        """A message about something inside an entry begins with the entry."""
        if not self._key or len(path) < 2 or path[0] != self._key or not isinstance(path[1], int):
            return message
        id = (self.marked.raw((*path[:2], "id")) or "").strip()
        return (
            f"{self._what} `{id}`: {message}"
            if id.isprintable() and id
            else f"{self._what} number {path[1] + 1}: {message}"
        )

    def elsewhere(self, error: HonestoneError, path: Steps) -> None:
        """An error in a file that is named at `path`: it keeps its own place, where it has one."""
        message = error.message if error.place else self.named(error.message, path)
        self.problems.append(
            UsageError(message, place=error.place or self.marked.at(path), hint=error.hint)
        )

    def all_elsewhere(self, error: UsageError, path: Steps) -> None:
        """The same of each of several errors."""
        for one in error.errors or (error,):
            self.elsewhere(one, path)

    def join(self, *others: FileReading) -> None:
        """What other readings (of files that this one names) found."""
        for other in others:
            self.problems += other.problems
            self.losses += other.losses
            self.unknown += other.unknown
            self.code += other.code
            self.note(*other.notes)

    def finish(self, *notes: str) -> None:
        """Each thing once (one default is read for many cases). Raises SourceErrors with all that
        is wrong, in order.
        """
        self.note(*notes)
        self.losses = sorted(dict.fromkeys(self.losses), key=lambda loss: _line_of(loss.place))
        if self.problems:
            problems = {
                (problem.place, problem.message): problem
                for problem in (*self.unknown, *self.problems)
            }
            raise SourceErrors(
                sorted(problems.values(), key=lambda problem: _line_of(problem.place))
            )

    # ------------------------------------------------------------------------------------------
    # what it gives

    def suite_source(
        self,
        path: Path,
        dialect: str,
        suite: Suite,
        cases: Cases,
        files: Iterable[Path] = (),
    ) -> SuiteSource:
        """The suite that was read, with what was said on the way. `cases` know the places."""
        return SuiteSource(
            suite=suite,
            dialect=dialect,
            base=path.parent,
            notes=tuple(self.notes),
            losses=tuple(self.losses),
            files=(path, *dict.fromkeys(files)),
            places=cases.places,
            code=tuple(dict.fromkeys(self.code)),
        )

    def rubric_source(
        self, rubric: Rubric, dialect: str, marks: Mapping[tuple[str, str], Any] | None = None
    ) -> ForeignRubric:
        """The rubric that was read, with what was said on the way."""
        notes, losses = tuple(self.notes), tuple(self.losses)
        return ForeignRubric(
            rubric=rubric,
            dialect=dialect,
            marked=self.marked,
            notes=notes,
            losses=losses,
            marks=marks or {},
        )


def _line_of(place: str | None) -> tuple[str, int, int]:
    name, _, rest = (place or "::0:0").rpartition(":")
    name, _, line = name.rpartition(":")
    return name, int(line) if line.isdigit() else 0, int(rest) if rest.isdigit() else 0


class Cases(dict[str, "Case"]):
    """The cases of a file by id, with the place of each."""

    def __init__(self, what: str = "cases") -> None:
        super().__init__()
        self.what = what
        self.places: dict[str, str] = {}

    def add(self, case: Case | None, entry: FileEntry, *, key: str = "id") -> None:
        """Keeps a case (None: it could not be read). Two of the same id are a problem at `key` of
        the second.
        """
        if case is None:
            return
        if case.id in self:
            path = (*entry.path, key) if key in entry else entry.path
            entry.reading.problem(
                f"two {self.what} have the {key} `{case.id}`: the first is at {self.places[case.id]}",
                path,
            )
        self.setdefault(case.id, case)
        self.places.setdefault(case.id, entry.place)

    def all(self) -> tuple[Case, ...]:
        return tuple(self.values())


# ------------------------------------------------------------------------------------------------
# one mapping


class FileEntry:
    """A strict look at one value. After `read(keys)` only the keys of that table can be asked for."""

    def __init__(self, reading: FileReading, path: Steps, value: Any = ...) -> None:
        self.reading = reading
        self.path = path
        self.value = value_at(reading.marked.value, path) if value is ... else value
        self.keys: Keys | None = None

    @property
    def place(self) -> str:
        return self.reading.marked.at(self.path)

    @property
    def is_mapping(self) -> bool:
        return isinstance(self.value, dict)

    def __contains__(self, key: MapKey) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def problem(self, message: str, key: str | None = None, hint: str | None = None) -> None:
        """A problem at this value, or at one of its keys where that is there."""
        self.reading.problem(
            message, (*self.path, key) if key is not None and key in self else self.path, hint
        )

    def loss(self, message: str, key: MapKey | None = None, hint: str | None = None) -> None:
        self.reading.loss(message, self.path if key is None else (*self.path, key), hint)

    def note(self, text: str) -> None:
        self.reading.note(text)

    def read(self, keys: Keys) -> bool:
        """Whether it is a mapping. Keys that are not in the table are problems, lost and noted ones
        are reported.
        """
        self.keys = keys
        if not isinstance(self.value, dict):
            self.problem(f"{keys.what} must be a mapping, not {shown(self.value)}")
            return False
        for key, value in self.value.items():
            known = keys.by_name.get(str(key))
            if known is None:
                self._unknown(key, keys)
            elif value is not None and known.how == "lost":
                self.loss(f"`{key}` {known.meaning}", key)
            elif value is not None and known.is_noted:
                self.note(known.meaning)
        return True

    def _unknown(self, key: MapKey, keys: Keys) -> None:
        if "..." in keys.by_name or str(key).startswith("x-"):
            return
        path = (*self.path, key)
        message = f"unknown key `{self.reading.marked.raw_key(path)}` in {keys.what}"
        hint = did_you_mean(key, keys.by_name)
        if keys.loses_others:
            place = self.reading.marked.key_at(path)
            self.reading.losses.append(Loss(place=place, message=message, hint=hint))
            self.reading.unknown.append(UsageError(message, place=place, hint=hint))
        else:
            self.reading.problem(message, path, hint, at_key=True)

    # ------------------------------------------------------------------------------------------
    # what is below it

    def below(self, key: MapKey) -> FileEntry:
        return FileEntry(self.reading, (*self.path, key))

    def mapping(self, key: str, keys: Keys) -> FileEntry | None:
        """The mapping at a key; None when there is nothing, or something else (then that is a
        problem).
        """
        if self.which(key) is None:
            return None
        below = self.below(key)
        return below if below.read(keys) else None

    def each(self, key: str) -> list[FileEntry]:
        """The entries of a list; a problem when there is something else."""
        value = self.raw(key)
        if value is not None and not isinstance(value, list):
            self.problem(f"`{key}` must be a list, not {shown(value)}", key)
        return [] if value is None else self.below(key).rows()

    def rows(self) -> list[FileEntry]:
        """The entries of the list that it is; none of anything else."""
        return [
            self.below(index)
            for index in range(len(self.value) if isinstance(self.value, list) else 0)
        ]

    def mappings(self, key: str, keys: Keys) -> Iterator[FileEntry]:
        """The entries of a list that are mappings; each that is not is a problem."""
        for entry in self.each(key):
            if entry.read(keys):
                yield entry

    # ------------------------------------------------------------------------------------------
    # single values

    def which(self, *names: str) -> str | None:
        """The first of these keys that is there."""
        if self.keys is not None:
            for name in names:
                assert name in self.keys.by_name, (
                    f"`{name}` is not in the table of {self.keys.what}"
                )
        return next((name for name in names if name in self), None)

    def raw(self, *names: str) -> Any:
        """The value of the first of these keys that is there; None without one."""
        key = self.which(*names)
        return None if key is None else self.value[key]

    def text(self, *names: str) -> str | None:
        """A text that is not empty; numbers and booleans count as they were written (`id: 1.0`,
        `id: off`).
        """
        key = self.which(*names)
        is_required = self.keys is not None and self.keys.by_name[names[0]].is_required
        if key is None:
            if is_required:
                self.problem(f"`{names[0]}` is missing", hint=f"give it a text: {names[0]}: ...")
            return None
        value = self.value[key]
        raw = value if isinstance(value, str) else self.reading.marked.raw((*self.path, key))
        if raw is None:
            self.problem(f"`{key}` must be text, not {shown(value)}", key)
        elif not raw.strip():
            if is_required:
                self.problem(f"`{key}` is empty", key)
        else:
            return str(raw)
        return None

    def number(
        self,
        *names: str,
        low: float | None = None,
        high: float | None = None,
        is_whole: bool = False,
    ) -> Fraction | None:
        """The number as written, exactly."""
        key = self.which(*names)
        if key is None:
            return None
        try:
            number = self.reading.marked.number((*self.path, key))
        except ValueError:
            self.problem(f"`{key}` must be a number, not {shown(self.value[key])}", key)
            return None
        if (low is not None and number < low) or (high is not None and number > high):
            ends = [
                f"{low:g} or more" if low is not None else "",
                f"{high:g} at most" if high is not None else "",
            ]
            span = (
                f"from {low:g} to {high:g}"
                if low is not None and high is not None
                else "".join(ends)
            )
            self.problem(f"`{key}` is {float(number):g}, but must be {span}", key)
            return None
        if is_whole and number.denominator != 1:
            self.problem(f"`{key}` is {float(number):g}, but must be a whole number", key)
            return None
        return number

    def weight(self, key: str) -> Fraction:
        """A weight of 0 or more; 1 without one."""
        number = self.number(key, low=0)
        return ONE if number is None else number

    def seconds(self, key: str) -> float | None:
        """A time limit; 0 is none."""
        number = self.number(key, low=0)
        return float(number) if number else None

    def flag(self, *names: str) -> bool | None:
        key = self.which(*names)
        if key is None:
            return None
        if not isinstance(self.value[key], bool):
            self.problem(f"`{key}` must be true or false, not {shown(self.value[key])}", key)
            return None
        return bool(self.value[key])

    def choice(self, key: str, known: Sequence[str]) -> str | None:
        found = self.text(key)
        if found is not None and found not in known:
            message = f"`{key}` is `{found}`, but must be one of: {', '.join(known)}"
            self.problem(message, key, did_you_mean(found, known))
            return None
        return found

    def texts(self, key: str) -> list[str] | None:
        """A list of texts, or one text."""
        value = self.raw(key)
        if value is None or isinstance(value, str):
            return None if value is None else [value]
        if not isinstance(value, list) or not all(
            isinstance(v, str | int | float | bool) for v in value
        ):
            self.problem(f"`{key}` must be text or a list of texts", key)
            return None
        path = (*self.path, key)
        return [
            v if isinstance(v, str) else str(self.reading.marked.raw((*path, i)))
            for i, v in enumerate(value)
        ]

    def data(self, key: str) -> dict[str, object]:
        """A mapping that is kept as written (metadata, variables); empty without one."""
        value = self.raw(key)
        if value is not None and not isinstance(value, dict):
            self.problem(f"`{key}` must be a mapping, not {shown(value)}", key)
        return (
            {str(name): entry for name, entry in value.items()} if isinstance(value, dict) else {}
        )


def value_at(value: Any, path: Steps) -> Any:
    for step in path:
        value = value[step]
    return value


def listed(value: Any) -> list[Any]:
    """A list as it is, one value as a list of it, and no value as an empty one."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


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
