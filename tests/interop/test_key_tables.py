"""The tables of keys hold what the readers do: a key that is read matters, one that is ignored does
not, and so on.
"""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import honestone.interop
from honestone.core.errors import UsageError
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document
from honestone.formats.syntax.marked import parse_marked
from honestone.formats.syntax.reader import Keys
from honestone.interop.reader import Reader
from honestone.interop.recognise import MODULES, readers

INTEROP = Path(str(honestone.interop.__file__)).parent
TABLES = [(reader, table) for reader in readers() for table in reader.keys if table.what]
REFUSED = ("agentv-targets", "agentv-grader-scores")
"""The one is refused whatever it holds, the other belongs to a suite file."""
EXAMPLES = [
    reader
    for reader in readers()
    if reader.example and any(table.what for table in reader.keys) and reader.name not in REFUSED
]


def plain(reader: Reader) -> Any:
    """The example of a format as plain values: of JSON lines, the first."""
    text = reader.example
    if text.count("\n{") and text.startswith("{") and "\n " not in text:
        text = text.splitlines()[0]
    return parse_marked(text, "example").value


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the readings, with the files that the examples name."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def outcome(reader: Reader, value: Any) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """What comes of reading a value, without places: the result or the errors, the losses, the
    notes.
    """
    text = json.dumps(value)
    name = (
        "f.jsonl"
        if reader.name in ("healthbench", "inspect") and isinstance(value, dict)
        else "f.json"
    )
    try:
        source = reader.read(Document(path=Path(name).resolve(), text=text))
    except UsageError as error:
        errors = error.errors or (error,)
        return "\n".join(sorted(one.message for one in errors)), (), ()
    result = source.suite if isinstance(source, SuiteSource) else source.rubric
    return repr(result), tuple(loss.message for loss in source.losses), source.notes


def paths(value: Any, at: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every key of a value."""
    for key in (
        value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    ):
        if isinstance(value, dict):
            yield (*at, key)
        yield from paths(value[key], (*at, key))


def inside(value: Any, path: tuple[Any, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


def place_of(table: Keys, value: Any) -> tuple[Any, ...] | None:
    """Where a table's keys are in an example (`tests[].options.`); None where it has no such place."""
    path: tuple[Any, ...] = ()
    for word in table.at.rstrip(".").split(".") if table.at else ():
        path = (*path, *((word.removesuffix("[]"), 0) if word.endswith("[]") else (word,)))
    try:
        found = inside(value, path)
    except (KeyError, IndexError, TypeError):
        return None
    return path if isinstance(found, dict) else None


@pytest.mark.parametrize("reader", EXAMPLES, ids=lambda reader: reader.name)
def test_a_key_that_is_read_changes_the_result(reader: Reader) -> None:
    """Taken out of the example, or with nonsense in its place, each key that its table calls read
    makes a difference.
    """
    value = plain(reader)
    names = {
        name: row
        for table in reader.keys
        for row in table.rows
        for name in row.names
        if row.how == "read"
    }
    unread = {
        name
        for table in reader.keys
        for row in table.rows
        for name in row.names
        if row.how != "read"
    }
    before = outcome(reader, value)
    for path in paths(value):
        if path[-1] not in names or unread & set(path[:-1]):
            continue
        less = copy.deepcopy(value)
        del inside(less, path[:-1])[path[-1]]
        other = copy.deepcopy(value)
        inside(other, path[:-1])[path[-1]] = [{"x": [1]}]
        changes = outcome(reader, less) != before or outcome(reader, other) != before
        assert changes, f"{reader.name}: without {path} nothing changes"


@pytest.mark.parametrize("reader", EXAMPLES, ids=lambda reader: reader.name)
def test_a_key_that_is_not_read_is_reported_or_changes_nothing(reader: Reader) -> None:
    """Put into the example: an ignored key changes nothing, a noted one adds its note, a lost one a
    loss that names it.
    """
    value = plain(reader)
    result, losses, notes = outcome(reader, value)
    for table in reader.keys:
        place = place_of(table, value) if table.what else None
        for row in table.rows if place is not None else ():
            for name in row.names if row.how != "read" else ():
                if name == "..." or name in inside(value, place or ()):
                    continue
                more = copy.deepcopy(value)
                inside(more, place or ())[name] = {"x": 1}
                found, lost, said = outcome(reader, more)
                where = f"{reader.name}: {table.at}{name}"
                if row.how == "lost":
                    assert any(f"`{name}`" in message for message in set(lost) - set(losses)), where
                else:
                    assert (found, lost) == (result, losses), where
                    assert not row.is_noted or row.meaning in said, where
                    assert row.is_noted or said == notes, where


def listed(node: ast.AST) -> list[str]:
    """The names in a call of `words`."""
    if (
        not isinstance(node, ast.Call)
        or not isinstance(node.func, ast.Name)
        or node.func.id != "words"
    ):
        return []
    return [
        word
        for text in node.args
        if isinstance(text, ast.Constant)
        for word in str(text.value).split()
    ]


@pytest.mark.parametrize("module", [name for name in MODULES if name != "rulph"])
def test_a_key_of_a_table_is_asked_for(module: str) -> None:
    """Every key that a table calls read stands in the code of its reader; the reverse holds as a
    reading runs.
    """
    from importlib import import_module

    nodes = [
        node
        for folder in (module, *(["rubric_package"] if module == "autorubric" else []))
        for file in (INTEROP / folder).glob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
    ]
    texts = {
        str(node.value)
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    texts |= {word for node in nodes for word in listed(node)}
    found = import_module(f"honestone.interop.{module}.read").READERS
    # Those of providers say where each key goes, and are read by what they say.
    tables = [
        table
        for reader in found
        for table in reader.keys
        if table.what and "provider" not in table.at
    ]
    rows = [row for table in tables for row in table.rows]
    asked = {name for row in rows if row.how == "read" for name in row.names} - {"..."}
    assert asked - texts == set()
