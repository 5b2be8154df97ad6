"""A file as its readers get it: its text, its YAML or JSON with places, or its JSON lines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypedDict, Unpack

from msgspec import Struct

from honestone.core.errors import FileError
from honestone.formats.rubric.rubric_file import RubricSource
from honestone.formats.rubric.rubric_file import read_rubric as read_native_rubric
from honestone.formats.source import ForeignRubric
from honestone.formats.syntax.marked import Marked, parse_marked, read_text, refuse_too_large
from honestone.formats.syntax.nodes import DrawnKey, lines_in

if TYPE_CHECKING:
    from honestone.core.checking.script import Script
    from honestone.core.json_value import Json, JsonObject
    from honestone.core.suite.case import Case

ReadRubric: TypeAlias = Callable[[Path], RubricSource | ForeignRubric]

# Calls a function of a file once for each list of arguments: what each call returned. Raises
# UsageError, without a place.
RunCode: TypeAlias = "Callable[[Script, Sequence[Sequence[Json]]], Sequence[Json]]"

# What the `__expected` columns of a row of a table ask, as the value of a case's `rubric`: given the
# row, its file and its line. Raises UsageError with the place.
ReadExpected: TypeAlias = "Callable[[Mapping[str, str], Path, int], JsonObject]"

# The text at an address. Raises UsageError, without a place.
Fetch: TypeAlias = Callable[[str], str]

# Keeps cases, each given with its place, elsewhere than in memory: they and their places by id.
# Raises UsageError where that is not possible, and where two may have one id: then they are kept in
# memory.
KeepCases: TypeAlias = (
    "Callable[[Iterable[tuple[Case, str]]], tuple[Sequence[Case], Mapping[str, str]]]"
)

# Characters at the beginning of a text in which a comment names its schema.
MOST_HEAD: Final = 20_000
# Bytes of a file of JSON lines.
MOST_LINES: Final = 200_000_000


class CodeOfFiles(TypedDict, total=False):
    """What a person permits of the code in a file, and of what it names on a server, and where
    cases are kept; as in `Document`.
    """

    allow_code: bool
    run_code: RunCode | None
    fetch: Fetch | None
    keep_cases: KeepCases | None


class Document(Struct, kw_only=True, dict=True):
    """A file to recognise and read. `marked` is its YAML or JSON; `rows` its lines where it is JSON
    lines. Of a `text` whose list is `drawn` only the beginning is kept.

    `read_rubric` reads the rubric files that it names; without it they are in the native format.
    `read_expected` reads promptfoo's columns of its tables; without it they are variables.
    `read_as` is the name of the format that a person says it has. `allow_code`: code next to it is
    read as part of it, to be run with it. `run_code` runs code that makes a part of the file, and
    `fetch` brings what it names on a server, with a person's permission; without them nothing is
    run and fetched.
    """

    path: Path
    text: str
    read_rubric: ReadRubric = read_native_rubric
    read_as: str | None = None
    read_expected: ReadExpected | None = None
    allow_code: bool = False
    run_code: RunCode | None = None
    fetch: Fetch | None = None
    # Else they are kept in memory. Formats of other tools always do.
    keep_cases: KeepCases | None = None
    # A list whose entries are read from the text each time; as in `json_root`.
    drawn: DrawnKey | None = None

    @classmethod
    def of(
        cls,
        path: Path,
        read_rubric: ReadRubric = read_native_rubric,
        read_as: str | None = None,
        **allowed: Unpack[CodeOfFiles],
    ) -> Document:
        """Raises FileError. JSON lines may be many times larger than a file that is one value."""
        text = read_text(path, most=MOST_LINES)
        document = cls(path=path, text=text, read_rubric=read_rubric, read_as=read_as, **allowed)
        if not document.is_lines:
            refuse_too_large(document.text, str(path))
        return document

    @property
    def name(self) -> str:
        return str(self.path)

    @cached_property
    def is_lines(self) -> bool:
        """JSON lines: the first two non-empty lines are each a JSON object of their own (or the
        only one, in a .jsonl).
        """
        import json

        lines = [line for _, line in islice(self.lines(), 2)]
        if not lines or not all(line.lstrip().startswith("{") for line in lines):
            return False
        try:
            found = [json.loads(line) for line in lines]
        except (ValueError, RecursionError):
            return False
        return all(isinstance(row, dict) for row in found) and (
            len(lines) > 1 or self.path.suffix in (".jsonl", ".ndjson")
        )

    def lines(self) -> Iterator[tuple[int, str]]:
        """The lines that are not empty with their numbers, one at a time."""
        numbered = enumerate(lines_in(self.text), 1)
        return ((number, line.removesuffix("\n")) for number, line in numbered if line.strip())

    @cached_property
    def marked(self) -> Marked:
        """Raises FileError when it is neither YAML nor JSON."""
        marked = parse_marked(self.text, self.name, self.drawn)
        if self.drawn is not None and marked.is_drawn(self.drawn):
            self.text = self.text[:MOST_HEAD]  # the rest is in a file
        return marked

    @cached_property
    def rows(self) -> list[JsonLine]:
        """Every JSON object with its line. Raises FileError for a line that is not one."""
        return list(self.each_row())

    def each_row(self) -> Iterator[JsonLine]:
        """The same, one at a time."""
        return (
            JsonLine(number, _marked_row(line, self.name, number)) for number, line in self.lines()
        )

    @cached_property
    def value(self) -> Any:
        """The whole as plain values: of JSON lines the first row. None when it cannot be read at
        all.
        """
        try:
            return self.first_row.value if self.is_lines else self.marked.value
        except FileError:
            return None

    @property
    def mapping(self) -> dict[Any, Any]:
        """The top level of a file that is one mapping; empty for every other."""
        return self.value if not self.is_lines and isinstance(self.value, dict) else {}

    @property
    def first_row(self) -> Marked:
        """The first of the JSON lines alone: the reader reports a damaged line further down, and a
        large file is recognised at once.
        """
        number, line = next(self.lines())
        return _marked_row(line, self.name, number)

    @property
    def keys(self) -> frozenset[str]:
        """The top-level keys."""
        return frozenset(map(str, self.value)) if isinstance(self.value, dict) else frozenset()


class JsonLine(Struct, frozen=True):
    """One line of a JSON lines file; places count from the file's first line."""

    line: int
    marked: Marked


def _marked_row(line: str, name: str, number: int) -> Marked:
    try:
        return MarkedLine(name, parse_marked(line, name).root, number)
    except FileError as error:
        column = (error.place or "").rpartition(":")[2] or "1"
        raise type(error)(
            error.message, place=f"{name}:{number}:{column}", hint=error.hint
        ) from None


class MarkedLine(Marked):
    """One line of a file, parsed by itself."""

    __slots__ = ("line",)

    def __init__(self, name: str, root: Any, line: int) -> None:
        super().__init__(name, root)
        self.line = line

    def _place(self, node: Any) -> str:
        return f"{self.name}:{self.line}:{node.column}"
