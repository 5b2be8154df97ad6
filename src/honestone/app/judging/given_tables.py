"""Tables that Python gives: a data frame of any library, dicts, a dict of texts, a generator of
either. Each becomes rows, as those of a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from os import PathLike
from typing import Final, Protocol, TypeAlias, runtime_checkable

from msgspec import Struct, field
from msgspec.structs import replace

from honestone.app.doors.given import columns_of, texts_or_paths, whole_table, wrong
from honestone.app.judging.people import LabelRows
from honestone.app.judging.text_rows import TextSource, subjects_of
from honestone.app.workspace import Workspace
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.events import TableColumns
from honestone.formats.syntax.document import MOST_LINES
from honestone.formats.syntax.marked import read_text
from honestone.formats.text_table import TableRow, cell_of, cell_text, is_missing, no_such_column

# What a person calls the columns in Python.
_OPTIONS: Final = {role: f"`{role}`" for role in ("text", "id", "input", "reference", "group")}
# Where a text without columns is.
_TEXT: Final = "text"
_ID: Final = "id"
_TAKES: Final = (
    "a data frame, a list of dicts or a generator of them with text=, a dict of texts,"
    " or a list of texts (str) and paths (Path)"
)


GivenTexts: TypeAlias = Iterable[object]


@runtime_checkable
class _NamesColumns(Protocol):
    """A data frame: what its columns are called, as names, numbers or tuples."""

    @property
    def columns(self) -> object: ...


@runtime_checkable
class _Indexed(Protocol):
    """A pandas frame names its rows; what else has an `index` is a method of that name."""

    @property
    def index(self) -> object: ...


@runtime_checkable
class _Columns(Protocol):
    """A data frame or data set: its columns by name."""

    def __getitem__(self, name: object, /) -> Iterable[object]: ...


class SharedTexts(Struct, frozen=True, kw_only=True):
    """The same input and reference for all texts."""

    input: str | None = None
    reference: str | None = None


class GivenTable(Struct, kw_only=True):
    """A table that was given, as the rows to judge.

    `ids`: the ids as they were given, of the rows that were read last, in order. `index`: that of a
    data frame, row by row, where it has one.
    """

    source: TextSource
    ids: list[object] = field(default_factory=list)
    index: Sequence[object] = ()


def given_table(
    value: object, columns: TableColumns | None, shared: SharedTexts
) -> GivenTable | list[object]:
    """A table, or a list of texts and paths, which are artifacts. `columns`: which are what; None
    where no text column was named.

    Raises UsageError for a table without a text column, with the columns that it has.
    """
    if isinstance(value, Mapping) and _are_texts(value):
        _refuse_columns(columns, "a dict of texts, whose keys are the ids")
        named = TableColumns(text=_TEXT, id=_ID)
        return _table("texts", named, shared, lambda: _pairs(value))
    names = columns_of(value)
    if names is not None:
        return _frame(value, names, _require(columns, value, names), shared)
    if isinstance(value, str | bytes | PathLike) or not isinstance(value, Iterable):
        raise wrong("artifacts", value, "a list of artifacts", _TAKES)
    waiting = iter(value)
    begun = [*islice(waiting, 1)]
    if not begun:
        return []
    first = begun[0]
    if not isinstance(first, Mapping):
        _refuse_columns(columns, "a list of texts and paths")
        return [first, *waiting]
    rows = [first] if waiting is value else [row for row in value if isinstance(row, Mapping)]
    named = _require(columns, first, [*dict.fromkeys(name for row in rows for name in row)])
    if waiting is value:  # a generator, which gives its rows once
        rest = chain((first,), waiting)
        return _table("rows", named, shared, lambda: _mappings(rest), is_once=True)
    return _table("rows", named, shared, lambda: _mappings(value))


def _are_texts(value: Mapping[object, object]) -> bool:
    """Whether a mapping is texts by their ids, and not columns by their names."""
    return all(isinstance(one, str) or is_missing(one) for one in value.values())


def _refuse_columns(columns: TableColumns | None, what: str) -> None:
    if columns is not None:
        raise UsageError(
            f"text= names a column, but `artifacts` is {what}, and has none",
            hint="leave out text=, id= and group=, or give a list of dicts",
        )


def _require(columns: TableColumns | None, value: object, names: Sequence[object]) -> TableColumns:
    """The columns, which are named and there. Raises UsageError with those that there are."""
    listed = [str(name) for name in names]
    if columns is None:
        raise whole_table("artifacts", value, listed, takes_columns=True)
    for role, option in _OPTIONS.items():
        column = getattr(columns, role)
        if column is not None and not {column, column.partition(".")[0]} & {*listed}:
            raise no_such_column(option, column, listed)
    return columns


def _table(
    name: str,
    columns: TableColumns,
    shared: SharedTexts,
    rows: Callable[[], Iterator[TableRow]],
    *,
    is_once: bool = False,
) -> GivenTable:
    ids: list[object] = []

    def numbered() -> Iterator[TableRow]:
        ids.clear()
        for number, row in enumerate(rows(), 1):
            ids.append(number if columns.id is None else cell_of(row.cells, columns.id))
            yield row

    source = TextSource(
        name=name,
        columns=columns,
        rows=numbered,
        options=_OPTIONS,
        is_once=is_once,
        may_be_empty=True,
        input=shared.input,
        reference=shared.reference,
    )
    return GivenTable(source=source, ids=ids)


def _pairs(value: Mapping[object, object]) -> Iterator[TableRow]:
    """Each text with its id, as a row."""
    for number, (id, text) in enumerate(value.items(), 1):
        yield TableRow(place=f"row {number}", cells={_ID: str(id), _TEXT: text})


def _mappings(values: Iterable[object]) -> Iterator[TableRow]:
    for number, one in enumerate(values, 1):
        if not isinstance(one, Mapping):
            raise wrong(f"artifacts[{number - 1}]", one, "a row", "a dict, as the first one is")
        yield TableRow(place=f"row {number}", cells=one)


def _frame(
    value: object, names: Sequence[str], columns: TableColumns, shared: SharedTexts
) -> GivenTable:
    """A data frame, or a mapping of columns: only the columns that are named are read."""
    keys = {str(key): key for key in _keys_of(value, names)}
    used = list(
        dict.fromkeys(
            column if column in keys else column.partition(".")[0]
            for role in _OPTIONS
            if (column := getattr(columns, role)) is not None
        )
    )

    def rows() -> Iterator[TableRow]:
        return _rows_of(used, [_cells(value, keys[name]) for name in used])

    table = _table(type(value).__name__, columns, shared, rows)
    index = _index_of(value)
    if columns.id is None and index and _are_distinct(index):
        table.source = replace(table.source, id_of=lambda number: str(index[number - 1]))
    table.index = index
    return table


def _keys_of(value: object, names: Sequence[str]) -> Iterable[object]:
    """The columns as the frame calls them: they may be numbers."""
    found = value.columns if isinstance(value, _NamesColumns) else names
    if isinstance(value, Mapping):
        return value
    return found if isinstance(found, Iterable) else names


def _cells(value: object, name: object) -> Iterable[object]:
    if not isinstance(value, _Columns):
        raise wrong("artifacts", value, "a table", "one whose columns can be read by name")
    found = value[name]
    if isinstance(found, str):
        raise wrong(f"artifacts[{name!r}]", found, "a column", "a list, or a column of a frame")
    return found


def _index_of(value: object) -> Sequence[object]:
    """The index of a pandas frame; empty of others."""
    index = value.index if isinstance(value, _Indexed) else None
    is_frame = index is not None and not callable(index) and not isinstance(value, Mapping)
    return list(index) if is_frame and isinstance(index, Iterable) else ()


def _are_distinct(values: Sequence[object]) -> bool:
    try:
        return len(set(values)) == len(values)
    except TypeError:
        return False


def _rows_of(names: Iterable[str], columns: Sequence[Iterable[object]]) -> Iterator[TableRow]:
    given = [list(column) for column in columns]
    if len({len(column) for column in given}) > 1:
        raise UsageError("the columns of the table have different lengths")
    for number, row in enumerate(zip(*given, strict=True), 1):
        yield TableRow(place=f"row {number}", cells=dict(zip(names, row, strict=True)))


def plain_rows(value: object, name: str) -> list[TableRow]:
    """A data frame, a list of dicts, or a dict of columns as rows. Raises UsageError for others."""
    names = columns_of(value)
    if names is not None:
        keys = {str(key): key for key in _keys_of(value, names)}
        return [*_rows_of(keys, [_cells(value, key) for key in keys.values()])]
    if isinstance(value, str | bytes | PathLike) or not isinstance(value, Iterable):
        raise wrong(name, value, "a table", "a data frame, a list of dicts, or a dict of columns")
    return [
        TableRow(place=row.place, cells={str(key): cell for key, cell in row.cells.items()})
        for row in _mappings(value)
    ]


def label_rows(
    labels: object,
    ids: Sequence[object],
    row_labels: Sequence[object],
    columns: Sequence[str | None],
) -> LabelRows:
    """Labels of texts: which text each row is of, by the first of `columns` that is there, else by
    the index of the frame, as ids or as that of the frame that was judged.

    Raises UsageError where rows belong to no text.
    """
    rows = plain_rows(labels, "labels")
    named = [*dict.fromkeys(name for row in rows for name in row.cells)]
    found = next((name for name in columns if name in named), None)
    if found is not None:
        keys: Sequence[object] = [row.cells.get(found) for row in rows]
        places = _one_each(keys, _found(keys, ids), *_DOUBLED_ID)
    else:
        keys = _index_of(labels) or range(len(rows))
        places = _places_by_index(keys, ids, row_labels or range(len(ids)))
    if rows and all(place is None for place in places):
        raise UsageError(
            "no row of the labels belongs to a text that was judged",
            hint="give them a column `id` with the ids of the texts, or the index of the frame",
        )
    raters = [name for name in named if name != found]
    if not raters:
        raise UsageError("the labels have no column of a rater", hint="a column for each person")
    cells = {name: [row.cells.get(name) for row in rows] for name in raters}
    for name, answers in cells.items():
        _refuse_two_answers(name, answers, places, ids)
    return LabelRows(columns=cells, places=places)


def _places_by_index(
    keys: Sequence[object], ids: Sequence[object], row_labels: Sequence[object]
) -> list[int | None]:
    """Where the rows of an index without a name are: it has the ids, or is that of the table that
    was judged. Raises UsageError where it may be both.
    """
    by_id, by_row = _found(keys, ids), _found(keys, row_labels)
    if by_id != by_row and _count(by_id) == _count(by_row):
        raise UsageError(
            "the index of the labels may be the ids of the texts or the numbers of their rows, which differ",
            hint="give the labels a column `id` with the ids of the texts",
        )
    if _count(by_id) > _count(by_row):
        return _one_each(keys, by_id, *_DOUBLED_ID)
    return _one_each(keys, by_row, *_DOUBLED_ROW)


# What is said where several texts have a key, and what to do.
_DOUBLED_ID: Final = (
    "{number} of the texts that were judged have the id {key}",
    "labels belong to one text: give each an id of its own",
)
_DOUBLED_ROW: Final = (
    "the index of the table that was judged has {key} {number} times",
    "give the labels a column `id` with the ids of the texts",
)


def _found(keys: Sequence[object], names: Sequence[object]) -> list[list[int]]:
    """Where each key is among the names, as text: a number may have become one. A row without a key
    is of none.
    """
    at: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        at.setdefault(cell_text(name), []).append(place)
    return [
        at.get(cell_text(key), []) if isinstance(key, str) or not is_missing(key) else []
        for key in keys
    ]


def _count(found: Sequence[Sequence[int]]) -> int:
    return sum(bool(places) for places in found)


def _one_each(
    keys: Sequence[object], found: Sequence[Sequence[int]], message: str, hint: str
) -> list[int | None]:
    """The one place of each key, or none. Raises UsageError for a key that has several."""
    for key, places in zip(keys, found, strict=True):
        if len(places) > 1:
            problem = message.format(number=len(places), key=shown_cell(key))
            raise UsageError(problem, hint=hint)
    return [next(iter(places), None) for places in found]


def _refuse_two_answers(
    rater: str, answers: Sequence[object], places: Sequence[int | None], ids: Sequence[object]
) -> None:
    """Raises UsageError where a rater has two answers about one text."""
    seen: set[int] = set()
    for answer, place in zip(answers, places, strict=True):
        if place is None or is_missing(answer):
            continue
        if place in seen:
            raise UsageError(
                f"the labels have two answers of {shown_cell(rater)} about the text {shown_cell(ids[place])}",
                hint="leave one row for each text",
            )
        seen.add(place)


def shown_cell(cell: object) -> str:
    return f"`{visible(cell_text(cell), 60)}`"


def texts_by_id(
    value: object, text: str | None, id: str | None, workspace: Workspace
) -> dict[str, str]:
    """The texts of a table, or of texts and files, by their ids. Raises UsageError as they do."""
    columns = None if text is None else TableColumns(text=text, id=id)
    table = given_table(value, columns, SharedTexts())
    if isinstance(table, GivenTable):
        subjects = subjects_of(table.source, MOST_LINES)
        return {one.name: one.loaded.version.text for one in subjects if one.problem is None}
    texts: dict[str, str] = {}
    for number, one in enumerate(texts_or_paths(table, workspace), 1):
        name = f"text-{number}" if isinstance(one, str) else str(one)
        texts[name] = str(one) if isinstance(one, str) else read_text(workspace.path(one))
    return texts
