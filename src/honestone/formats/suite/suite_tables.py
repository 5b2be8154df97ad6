"""Cases from other files: the rows of a table, or a text that is one case, as nodes that know their
places.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Final, TypeAlias

from honestone.core.errors import FileError, UsageError
from honestone.formats.fields import SHAPES, Takes
from honestone.formats.source import SourceErrors
from honestone.formats.syntax.csv_rows import csv_rows
from honestone.formats.syntax.document import MOST_LINES, Document, ReadExpected
from honestone.formats.syntax.marked import parse_marked, read_text
from honestone.formats.syntax.nodes import MapKey, Node, moved, node_of, refuse, scalar, whole_text

# How many files one pattern may choose: a pattern over a whole disk is a mistake.
MAX_FILES: Final = 10_000

# A case as it is written, and the id that it has where it names none.
CaseNode: TypeAlias = tuple[Node, str | None]

# The columns in which promptfoo's tables say what is expected of an output.
EXPECTED: Final = "__expected"
_LINES: Final = (".jsonl", ".ndjson")
_VALUES: Final = (".json", ".yaml", ".yml")
# Keys of `defaults` that a case adds to. `rubric` does too, but two rubrics are joined when they
# have been read.
_ADD_UP: Final = ("checks", "vars")


def cases_in(file: Path, read_expected: ReadExpected | None = None) -> Iterator[CaseNode]:
    """The cases in a file, in its order, one at a time. `read_expected` reads promptfoo's columns
    of a table. Raises FileError or SourceErrors with the places.
    """
    kind, number = file.suffix.lower(), 0
    if kind == ".csv":
        rows = _of_csv(file, read_expected)
    elif kind in _LINES or kind in _VALUES:
        document = Document.of(file)
        if kind in _LINES or document.is_lines:
            rows = (moved(row.marked.root, str(file), row.line - 1) for row in document.each_row())
        else:
            root = moved(document.marked.root, str(file))
            if root.kind == "mapping":
                yield root, file.stem
                return
            if root.kind != "list":
                raise refuse(
                    str(file), 1, 1, "this is not a list of cases", "write each case after `- `"
                )
            rows = root.below()
    else:
        yield _file_node(file), None
        return
    for number, row in enumerate(rows, 1):
        yield row, f"{file.stem}-{number}"
    if not number:
        raise refuse(str(file), 1, 1, "this table has no rows", "a row is a case")


def _file_node(file: Path) -> Node:
    """A file that is a case: its name without the ending is the id, its text the input."""
    try:
        text = whole_text(read_text(file))
    except ValueError as error:
        raise FileError(str(error), place=f"{file}:1:1", hint="only texts can be cases") from None
    return moved(node_of({"id": file.stem, "input": text}, (1, 1)), str(file))


def _of_csv(file: Path, read_expected: ReadExpected | None) -> Iterator[Node]:
    problems: list[UsageError] = []
    for line, row in csv_rows(read_text(file, most=MOST_LINES), str(file), problems):
        theirs = {name: row[name] for name in row if name.startswith("__")}
        if read_expected is None or not any(name.startswith(EXPECTED) for name in theirs):
            yield moved(_csv_case(row, line, str(file)), str(file))
            continue
        ours = {name: cell for name, cell in row.items() if name not in theirs}
        case = _csv_case(ours, line, str(file))
        for name, value in read_expected(theirs, file, line).items():
            if isinstance(case.children, dict) and name in case.children:
                message = (
                    f"the column `{name}` is there next to promptfoo's columns, which say it too"
                )
                raise refuse(str(file), line, 1, message, "leave one of them empty")
            case.put(Node(name, name, line, 1), node_of(value, (line, 1)))
        yield moved(case, str(file))
    if problems:
        raise SourceErrors(problems)


def _csv_case(row: Mapping[str, str], line: int, name: str) -> Node:
    """Columns that are keys of a case are these, empty cells left out; all others are vars."""
    spot = (line, 1)
    case, words = Node({}, None, *spot, {}), {}
    for column, cell in row.items():
        field = SHAPES["case"].field(column)
        if field is None or field.takes == "vars":
            words[column] = cell
        elif cell.strip():
            case.put(Node(column, column, *spot), _cell(field.takes, cell, line, name))
    words.pop("", None)  # a column without a name: what a data frame numbers its rows with
    if words:
        case.put(Node("vars", "vars", *spot), node_of(words, spot))
    return case


def _cell(takes: Takes, cell: str, line: int, name: str) -> Node:
    """A cell as the value of a key: tags between commas, numbers as numbers, lists and mappings as
    JSON; else its text.
    """
    if takes == "tags":
        return node_of([tag.strip() for tag in cell.split(",") if tag.strip()], (line, 1))
    if takes in ("count", "seconds"):
        try:
            return Node(scalar(cell.strip()), cell.strip(), line, 1)
        except ValueError:
            return Node(cell, cell, line, 1)
    if takes in ("part", "checks", "workspace", "expect", "data") and cell.lstrip()[0] in "[{":
        try:
            return moved(parse_marked(cell, name).root, name, line - 1)
        except FileError as error:
            raise FileError(error.message, place=f"{name}:{line}:1", hint=error.hint) from None
    return Node(cell, cell, line, 1)


def files_like(pattern: str, base: Path) -> list[Path]:
    """The files that a pattern chooses, in the order of their names; none whose name begins with a
    dot. Raises UsageError.
    """
    try:
        files = list(
            islice((file for file in base.glob(pattern) if _is_plain(file, base)), MAX_FILES + 1)
        )
    except (OSError, ValueError, NotImplementedError, IndexError, RuntimeError):
        raise UsageError(
            f"`{pattern}` is not a pattern of relative paths", hint="for example cases/*.csv"
        ) from None
    if not files:
        raise UsageError(f"no file matches `{pattern}`", hint=f"it starts at `{base}`")
    if len(files) > MAX_FILES:
        raise UsageError(
            f"`{pattern}` matches more than {MAX_FILES:,} files",
            hint="name their folder more closely",
        )
    return sorted(files)


def _is_plain(file: Path, base: Path) -> bool:
    hidden = any(part.startswith(".") and part != ".." for part in file.relative_to(base).parts)
    return not hidden and file.is_file()


def with_defaults(case: Node, defaults: Node | None, id: str | None) -> Node:
    """A case with what it does not say itself."""
    if not isinstance(case.children, dict):
        return case
    if defaults is None and (id is None or "id" in case.children):
        return case
    shared: dict[MapKey, tuple[Node, Node]] = {}
    if defaults is not None and isinstance(defaults.children, dict):
        shared = defaults.children
    whole = case.empty()
    if id is not None and "id" not in case.children:
        key, value = case.with_text("id"), case.with_text(id)
        whole.put(key, value)
    for name, (key, value) in shared.items():
        is_key = name != "rubric" and SHAPES["defaults"].field(name) is not None
        if is_key and name not in case.children:
            whole.put(key, value)
    for name, (key, value) in case.children.items():
        if name in _ADD_UP and name in shared:
            value = _joined(shared[name][1], value)
        whole.put(key, value)
    return whole


def _joined(shared: Node, own: Node) -> Node:
    """Lists one after the other; of mappings, the own one's values first."""
    if shared.kind != own.kind or own.kind == "scalar":
        return own
    whole = own.empty()
    if isinstance(shared.children, list) and isinstance(own.children, list):
        for child in (*shared.children, *own.children):
            whole.append(child)
    elif isinstance(shared.children, dict) and isinstance(own.children, dict):
        for key, child in {**shared.children, **own.children}.values():
            whole.put(key, child)
    return whole
