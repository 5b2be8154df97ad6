"""Which format a file has, by its content and never by its name; and reading it, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Final

from honestone.core.errors import FileError, UsageError
from honestone.formats.added_checks import entry_points, load_entry
from honestone.formats.document import Document
from honestone.formats.fields import near
from honestone.formats.project import reading_for
from honestone.formats.reader import words
from honestone.formats.rubric_file import RubricReading, RubricSource, read_rubric
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.interop.reader import Reader

MODULES: Final = words(
    "task_suite agentv agent_skills promptfoo autorubric rubric_package healthbench paperbench verifiers"
    " pydantic_evals inspect_dataset rulph waza checkeval"
)
"""The folders of `interop`, one a family of formats; the module `read` of each has `READERS`."""


CERTAIN: Final = 100
"""Signs of a reader after which no other one is asked."""

GROUP: Final = "honestone.formats"
"""The entry-point group by which another package adds a format: each entry names a `Reader`."""


def _each() -> Iterator[Reader]:
    """Every reader of a format of another tool, ours first; each folder is loaded when its turn comes."""
    for module in MODULES:
        yield from import_module(f"honestone.interop.{module}.read").READERS
    yield from added_readers()


@cache
def added_readers() -> tuple[Reader, ...]:
    """Those of other packages. Raises SettingsError for an entry point that gives none."""
    return tuple(load_entry(point, Reader, "format") for point in entry_points(group=GROUP))


def readers() -> tuple[Reader, ...]:
    return tuple(_each())


def recognise(document: Document) -> Reader | str:
    """The foreign reader of a document, or `rubric` or `suite` for our own formats. Raises UsageError when it is neither,
    with what it looks closest to."""
    keys = document.keys
    if not document.is_lines and isinstance(document.value, dict):
        if "rubric" in keys and "criteria" in keys and "cases" not in keys:
            return "rubric"
        if "suite" in keys or (
            "cases" in keys and not keys & {"evaluators", "dataset", "tests"} and not _has_inputs(document)
        ):
            return "suite"
    best, found = 0, None
    for reader in _each():
        signs = reader.signs(document)
        if signs > best:
            best, found = signs, reader
        if best == CERTAIN:
            break
    if found is not None:
        return found
    if "criteria" in keys:
        return "rubric"
    raise _unknown(document)


def _has_inputs(document: Document) -> bool:
    """Cases with `inputs` are those of pydantic-evals; ours have `input`."""
    cases = document.value["cases"]
    return isinstance(cases, list) and any(isinstance(case, dict) and "inputs" in case for case in cases)


def _unknown(document: Document) -> UsageError:
    try:
        place = (document.first_row if document.is_lines else document.marked).at(())
    except FileError as error:
        return error  # it cannot be read at all: that is what is wrong with it
    like = max(readers(), key=lambda reader: len(document.keys & set(reader.looks_like)), default=None)
    ours = {
        "a honestone rubric": {"rubric", "title", "threshold", "floor", "criteria"},
        "a honestone suite": {"suite", "title", "cases", "target", "rubric", "artifact"},
    }
    likeness = {name: len(document.keys & known) for name, known in ours.items()}
    closest = max(likeness, key=lambda name: likeness[name])
    if like is not None and len(document.keys & set(like.looks_like)) > likeness[closest]:
        what, shared = like.title, document.keys & set(like.looks_like)
    else:
        what, shared = closest, document.keys & ours[closest]
    found = (
        f"it looks closest to {what} (it has {', '.join(f'`{key}`' for key in sorted(shared))})"
        if shared
        else ("it looks like none: a rubric has `criteria`, a suite `cases`")
    )
    return UsageError(
        "this file is in no format that honestone reads",
        place=place,
        hint=f"{found}; `honestone rubric show --formats` lists them",
    )


def read_any_suite(path: Path, allowed: Sequence[Path] = ()) -> SuiteSource:
    """The suite in a file, of any format that has suites. Losses are in the source, not yet refused.

    It names files of its own project only, or of `allowed` folders. Raises FileError, or UsageError and its kinds with
    places; OutsideProject among them.
    """
    return read_suite_document(Document.of(path, read_any_rubric), allowed)


def read_suite_document(document: Document, allowed: Sequence[Path] = ()) -> SuiteSource:
    """The same for a document that is at hand."""
    path = document.path
    if _is_prose(document):
        if path.suffix in _WRITTEN_AS_DATA:
            document.marked.at(())  # raises what keeps it from being read: a slip in a suite does not make it a text
        raise UsageError(
            f"`{path}` is a text, not a suite",
            place=f"{path}:1:1",
            hint=f"name it in a suite: cases: {path.name}"
            if path.suffix.lower() == ".csv"
            else f"say what to judge it by: honestone eval {path} --rubric RUBRIC",
        )
    found = recognise(document)
    if found == "suite" or (isinstance(found, Reader) and found.gives == "suite"):
        from honestone.formats.suite_file import read_suite

        with reading_for(path, allowed) as project:
            source = found.read(document) if isinstance(found, Reader) else read_suite(document)
        assert isinstance(source, SuiteSource)
        for name in _places(source):
            project.require(source.base / name)
        return source
    what = found.title if isinstance(found, Reader) else "a honestone rubric"
    raise UsageError(
        f"`{path}` is {what}, not a suite",
        place=f"{path}:1:1",
        hint=f"name what to judge by it: honestone eval ARTIFACT --rubric {path}",
    )


def read_rubric_document(document: Document) -> RubricSource | ForeignRubric:
    """The rubric in a document that is at hand, ours or another tool's."""
    found = "rubric" if _is_nearly_ours(document) or document.value is None else recognise(document)
    if isinstance(found, Reader) and found.gives == "rubric":
        source = found.read(document)
        assert isinstance(source, ForeignRubric)
        return source
    return _native(document)


def _native(document: Document) -> RubricSource:
    reading = RubricReading(document.marked)
    return RubricSource(rubric=reading.rubric(), path=None, marked=document.marked, notes=tuple(reading.notes))


def _places(source: SuiteSource) -> Iterator[str]:
    """What else a suite names: the artifact, and what the workspaces of its cases are copies of."""
    yield from source.suite.artifacts
    for case in source.suite.cases:
        yield from case.workspace.paths if case.workspace is not None else ()


def read_any_rubric(path: Path, allowed: Sequence[Path] = ()) -> RubricSource | ForeignRubric:
    """The rubric in a file, ours or another tool's. Losses are in the source, not yet refused."""
    document = Document.of(path)
    if _is_prose(document):
        return read_rubric(path)  # its errors say what a document is for
    found = "rubric" if _is_nearly_ours(document) else recognise(document)  # its errors say which key was meant
    if found == "rubric":
        return replace(_native(document), path=path)
    if isinstance(found, Reader) and found.gives == "rubric":
        with reading_for(path, allowed):
            source = found.read(document)
        assert isinstance(source, ForeignRubric)
        return source
    what = found.title if isinstance(found, Reader) else "a honestone suite"
    raise UsageError(f"`{path}` is {what}, not a rubric", place=f"{path}:1:1", hint=f"honestone eval {path}")


_WRITTEN_AS_DATA: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")
"""Only for the choice between two errors; its content says what a file is."""


def _is_nearly_ours(document: Document) -> bool:
    """A rubric of ours whose list of criteria is misspelt or missing."""
    keys = document.keys
    if document.is_lines or "criteria" in keys or "cases" in keys or "suite" in keys:
        return False
    return "rubric" in keys or (bool(keys & {"threshold", "floor"}) and any(near(key, ["criteria"]) for key in keys))


def _is_prose(document: Document) -> bool:
    """Neither YAML nor JSON, nor anything else that a reader knows (TOML)."""
    if document.is_lines or isinstance(document.value, dict | list):
        return False
    return not any(reader.signs(document) for reader in readers())


def format_lines() -> list[str]:
    """One line a format, for a terminal."""
    width = max(len(reader.name) for reader in readers())
    return [f"{reader.name:<{width}}  {reader.gives:<6}  {reader.title}" for reader in readers()]
