"""What is given in Python, as what use cases take: texts and paths, functions, and values in place
of files.

Whatever is of the wrong type is a UsageError that names the parameter.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, Protocol, TypeAlias, TypeGuard, TypeVar, runtime_checkable

from honestone.app.workspace import Workspace
from honestone.core.artifact import Version
from honestone.core.checking.checks import visible
from honestone.core.errors import UsageError
from honestone.core.json_value import Json, as_json, members
from honestone.core.judging.rubric import Rubric
from honestone.core.record.store_address import store_address
from honestone.core.suite.case import Suite
from honestone.formats.fields import SHAPES
from honestone.formats.source import ForeignRubric, SuiteSource, refuse_losses
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.given import given_document
from honestone.interop.recognise import read_any_rubric, read_rubric_document, read_suite_document
from honestone.ports import Function, Judge, Target, Worker


class Text(str):
    """A text, also where a file has this name."""

    __slots__ = ()


GivenRubric: TypeAlias = Rubric | PathLike[str] | Json | Sequence[object]
GivenSuite: TypeAlias = Suite | PathLike[str] | Json | Sequence[object]
Judges: TypeAlias = str | Judge | Function | Sequence[str | Judge | Function]
Targets: TypeAlias = str | Target | Function | Sequence[str | Target | Function]

_JUDGES: Final = 'a name ("codex", "cmd:COMMAND", ...), a function of the request, or an object that is a `ports.Judge`'
_TARGETS: Final = 'a name ("openai:MODEL", "cmd:COMMAND", ...), a function of the input, or an object that is a `ports.Target`'
_WORKERS: Final = 'a name ("codex", "cmd:COMMAND", ...), a function of path and brief, or an object that is a `ports.Worker`'


def wrong(name: str, value: object, what: str, takes: str) -> UsageError:
    shown = f"{visible(repr(value), 60)} ({type(value).__name__})"
    return UsageError(f"`{name}` is {shown}, which is not {what}", hint=f"it takes {takes}")


_MOST_COLUMNS: Final = 12
# Columns whose texts are more likely to be judged than others, the surest first.
_JUDGED: Final = (
    "output",
    "actual_output",
    "response",
    "answer",
    "completion",
    "prediction",
    "text",
)


@runtime_checkable
class _Frame(Protocol):
    """A data frame, of whichever library."""

    @property
    def columns(self) -> object: ...


@runtime_checkable
class _DataSet(Protocol):
    """A data set of the kind that model hubs have."""

    @property
    def column_names(self) -> object: ...


def columns_of(value: object) -> list[str] | None:
    """The columns of a table, or the keys of a row: of a data frame of any library, a data set, a
    mapping; None for others.
    """
    if isinstance(value, str | bytes | PathLike):
        return None
    if isinstance(value, Mapping):
        found: object = value
    elif isinstance(value, _Frame):
        found = value.columns
    elif isinstance(value, _DataSet):
        found = value.column_names
    else:
        return None
    if isinstance(found, str) or not isinstance(found, Iterable):
        return None
    return [str(column) for column in found]


def _wrong_text(name: str, value: object, what: str, takes: str) -> UsageError:
    """Something in place of a text: a table or a row of it is refused with its columns."""
    columns = columns_of(value)
    return wrong(name, value, what, takes) if columns is None else whole_table(name, value, columns)


def whole_table(
    name: str, value: object, columns: Sequence[str], *, takes_columns: bool = False
) -> UsageError:
    """The refusal of a table, or a row of one, in place of texts. `takes_columns`: the call has
    `text=`, which names a column.
    """
    is_row = isinstance(value, Mapping)
    one = next((column for known in _JUDGED for column in columns if column.lower() == known), None)
    more = ", ..." if len(columns) > _MOST_COLUMNS else ""
    listed = f"{', '.join(map(repr, columns[:_MOST_COLUMNS]))}{more}" if columns else "none"
    chosen = one or (columns[0] if columns else "COLUMN")
    whole, part, symbol = ("row", "value", "ROW") if is_row else ("table", "column", "TABLE")
    named = (
        f"text={chosen!r}, or {symbol}[{chosen!r}]" if takes_columns else f"{symbol}[{chosen!r}]"
    )
    return UsageError(
        f"`{name}` is a whole {whole} ({type(value).__name__}), and it is not said which {part} of it is judged",
        hint=f"{'keys' if is_row else 'columns'}: {visible(listed, 300)}; name one: {named}",
    )


# -------------------------------------------------------------------------------------------------
# texts and paths


def text_or_path(value: object, workspace: Workspace, name: str = "artifact") -> str | Path:
    """A `Path` is a path and a `str` a text. Raises UsageError for a `str` that names a file: it
    may be meant as either.
    """
    if isinstance(value, PathLike):
        return Path(value)
    if not isinstance(value, str):
        raise _wrong_text(name, value, "a text or a path", "a text (str) or a path (Path)")
    if not isinstance(value, Text) and names_a_file(value, workspace):
        raise UsageError(
            f"`{name}` is the text {visible(repr(str(value)), 80)}, and a file or folder has this name",
            hint=f"Path({str(value)!r}) for what is there, Text({str(value)!r}) for the text itself",
        )
    return str(value)


def texts_or_paths(values: object, workspace: Workspace) -> tuple[str | Path, ...]:
    """Several of them. Raises UsageError also for a single one."""
    is_one = isinstance(values, str | bytes | PathLike) or columns_of(values) is not None
    if is_one or not isinstance(values, Iterable):
        raise _wrong_text(
            "artifacts", values, "a list of artifacts", "a list of texts (str) and paths (Path)"
        )
    return tuple(
        text_or_path(one, workspace, f"artifacts[{number}]") for number, one in enumerate(values)
    )


def names_a_file(text: str, workspace: Workspace) -> bool:
    try:
        return bool(text.strip()) and "\n" not in text and workspace.path(text).exists()
    except (OSError, ValueError):  # too long for a name, or with a NUL in it
        return False


def a_path(value: object, name: str) -> Path:
    """Raises UsageError for a text that is only a text."""
    if isinstance(value, Text):
        raise UsageError(
            f"`{name}` is a Text, but must be a file or folder",
            hint="write it to a file: Path(...)",
        )
    if not isinstance(value, str | PathLike):
        raise wrong(name, value, "a path", "a path (Path)")
    return Path(os.fspath(value))


def a_file(value: object, name: str) -> Path:
    """The path of a file. Raises UsageError as `a_path` does, and for one that names a folder."""
    path = a_path(value, name)
    written = os.fsdecode(value) if isinstance(value, str | PathLike) else ""
    if written.endswith(("/", os.sep)):
        raise UsageError(
            f"`{name}` is a file, and `{written}` names a folder",
            hint=f"name the file: {path}",
        )
    return path


def a_store(value: object) -> Path | str:
    """The folder of a store, or as it is the address of a shared one. Raises UsageError, and
    StoreError for a bad address.
    """
    if isinstance(value, str) and not isinstance(value, Text) and store_address(value) is not None:
        return value
    return a_path(value, "store")


def text_version(text: str) -> Version:
    return Version.of_text(text, "text.txt")


# -------------------------------------------------------------------------------------------------
# rubrics and suites


def a_rubric(value: object, workspace: Workspace) -> Rubric | Path:
    """A Rubric, a path, a mapping, a list of criteria, or a text: a file's name, else YAML. Raises
    UsageError.
    """
    if isinstance(value, Rubric):
        return value
    if isinstance(value, PathLike):
        return Path(value)
    if isinstance(value, str) and not value.strip():
        raise UsageError(
            "`rubric` is an empty text", hint="it takes the name of a file, or YAML with `criteria`"
        )
    if isinstance(value, str):
        looks_like_a_name = not isinstance(value, Text) and not set(value) & set("\n:[{")
        if looks_like_a_name or (not isinstance(value, Text) and names_a_file(value, workspace)):
            return Path(value)
        return _read_rubric(given_document(str(value), "rubric", workspace.named))
    if isinstance(value, Mapping):
        return _read_rubric(given_document(dict(value), "rubric", workspace.named))
    if _is_list(value):
        return _read_rubric(given_document({"criteria": list(value)}, "rubric", workspace.named))
    raise wrong(
        "rubric",
        value,
        "a rubric",
        "a Rubric, a Path, a dict, a list of criteria, or a str (a file's name, or YAML)",
    )


def _read_rubric(document: Document) -> Rubric:
    source = read_rubric_document(document)
    if isinstance(source, ForeignRubric):
        refuse_losses(source.losses, source.dialect, accepted=False)
    return source.rubric


def a_suite(value: object, workspace: Workspace) -> tuple[Path, SuiteSource | None]:
    """The name of a suite, and what it says where it is not in a file of this name. Raises
    UsageError and its kinds.
    """
    if isinstance(value, str | PathLike) and not isinstance(value, Text):
        return Path(os.fspath(value)), None
    name = Path("suite")
    if isinstance(value, Suite):
        return name, SuiteSource(suite=value, dialect="python", base=workspace.named)
    if _is_list(value):
        value = {"suite": 1, "cases": list(value)}
    if not isinstance(value, Mapping):
        raise wrong(
            "suite", value, "a suite", "a Path, a Suite, a dict, a list of cases, or a DataFrame"
        )
    document = given_document(dict(value), str(name), workspace.named)
    document.read_rubric = read_any_rubric
    return name, read_suite_document(document)


def cases_of_rows(rows: Sequence[Json]) -> list[Json]:
    """The rows of a data frame as cases, like those of a CSV file: columns that are keys of a case
    are these, other ones `vars`, and empty cells are left out.
    """
    return [_case_of_row(row, number) for number, row in enumerate(rows, 1)]


def _case_of_row(row: Json, number: int) -> Json:
    case = {"id": as_json(f"suite-{number}")}
    words: dict[str, str] = {}
    for column, cell in members(row):
        field = SHAPES["case"].field(column)
        if field is None:
            words[column] = "" if cell is None else str(cell)
        elif cell is not None and field.takes == "tags" and isinstance(cell, str):
            case[column] = [tag.strip() for tag in cell.split(",") if tag.strip()]
        elif cell is not None:
            case[column] = cell
    return {**case, "vars": {**words, **dict(members(case.get("vars")))}} if words else case


def _is_list(value: object) -> TypeGuard[Sequence[object]]:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray)


# --------------------------------------------------------------------------------------- judges,
# targets and workers


def is_function(value: object) -> TypeGuard[Function]:
    """A class is called to make a judge, and does not judge itself."""
    return callable(value) and not isinstance(value, type)


T = TypeVar("T")


def several(value: object, name: str, one: Callable[[object, str], T]) -> tuple[T, ...]:
    """One or a list of them."""
    listed = value if _is_list(value) or isinstance(value, tuple | set | frozenset) else (value,)
    return tuple(one(each, name) for each in listed)


def a_judge(value: object, name: str) -> str | Judge | Function:
    if isinstance(value, str | Judge) or is_function(value):
        return value
    raise wrong(name, value, "a judge", _JUDGES)


def a_target(value: object, name: str = "target") -> str | Target | Function:
    if isinstance(value, str | Target) or is_function(value):
        return value
    if value is str:  # of a text it makes the same text: the input is the output
        return str
    raise wrong(name, value, "a target", _TARGETS)


def a_worker(value: object, name: str = "worker") -> str | Worker | Function:
    if isinstance(value, str | Worker) or is_function(value):
        return value
    raise wrong(name, value, "a worker", _WORKERS)
