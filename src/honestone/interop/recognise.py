"""Which format a file has, by its content and never by its name; and reading it, whatever it is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Unpack

from msgspec.structs import replace

from honestone.core.errors import FileError, UsageError
from honestone.core.json_value import JsonObject, late_pattern
from honestone.core.plugins import FORMATS
from honestone.formats.fields import near
from honestone.formats.project import reading_for
from honestone.formats.rubric.rubric_file import RubricReading, RubricSource, notes_on, read_rubric
from honestone.formats.source import ForeignRubric, SuiteSource
from honestone.formats.syntax.document import MOST_HEAD, CodeOfFiles, Document
from honestone.formats.syntax.nodes import DrawnKey
from honestone.formats.syntax.reader import words
from honestone.interop.reader import Reader
from honestone.system.plugins import plugins

# The folders of `interop`, one a family of formats; the module `read` of each has `READERS`.
MODULES: Final = words(
    "task_suite agentv agent_skills promptfoo autorubric rubric_package healthbench paperbench"
    " pydantic_evals inspect_dataset rulph"
)


# Signs of a reader after which no other one is asked.
CERTAIN: Final = 100

# The cases of a large suite of ours are read from its text one at a time.
_CASES: Final = DrawnKey("cases", after="suite")


def _each() -> Iterator[Reader]:
    """Every reader of a format of another tool, ours first; each folder is loaded when its turn
    comes.
    """
    for module in MODULES:
        yield from import_module(f"honestone.interop.{module}.read").READERS
    yield from added_readers()


def added_readers() -> tuple[Reader, ...]:
    """Those of other packages. Raises SettingsError for an entry point that gives none."""
    return tuple(plugin.instance(Reader) for plugin in plugins(FORMATS).values())


def readers() -> tuple[Reader, ...]:
    return tuple(_each())


def recognise(document: Document) -> Reader | str:
    """The foreign reader of a document, or `rubric` or `suite` for our own formats. Raises
    UsageError when it is neither, with what it looks closest to.

    What a person says of it decides, then the schema that it names, then its keys.
    """
    if document.read_as is not None:
        return _by_name(document, document.read_as)
    schema = _schema_of(document)
    named = (
        [reader for reader in readers() if reader.schema and reader.schema in schema]
        if schema
        else []
    )
    return _likeliest(document, named) if named else _by_keys(document)


OURS: Final = "honestone"


def _by_name(document: Document, name: str) -> Reader | str:
    """The reader of a format, named by the format or by a tool (`agentv`), of whose formats the
    best fitting one is taken.
    """
    if name == OURS:
        return "suite" if document.keys & {"suite", "cases"} else "rubric"
    every = readers()
    meant = [one for one in every if one.name == name] or [
        one for one in every if one.name.startswith(f"{name}-")
    ]
    if not meant:
        from honestone.interop.removed import removed_format

        if removed := removed_format(name):
            raise removed.refusal(document)
        raise UsageError(
            f"unknown format `{name[:60]}`",
            hint=f"formats: {', '.join([OURS, *(one.name for one in every)])}",
        )
    return _likeliest(document, meant)


def _likeliest(document: Document, meant: Sequence[Reader]) -> Reader:
    return max(meant, key=lambda reader: reader.signs(document))


def _schema_of(document: Document) -> str:
    """The schema that a file names for itself, for editors; in lower case."""
    key = document.mapping.get("$schema")
    if isinstance(key, str):
        return key.lower()
    comment = _SCHEMA_COMMENT.search(document.text[:MOST_HEAD])
    return comment[1].lower() if comment else ""


_SCHEMA_COMMENT: Final = late_pattern(
    r"(?m)^[ \t]*#[ \t]*yaml-language-server:[ \t]*\$schema=(\S{1,500})"
)


def _why(document: Document, reader: Reader) -> str:
    """Why a file was taken for this format, and how to say that it is another."""
    if document.read_as is not None:
        why = f"as `--as {document.read_as}` says"
    elif reader.schema and reader.schema in (schema := _schema_of(document)):
        why = f"as its schema is `{schema[:100]}`"
    else:
        shared = [f"`{key}`" for key in reader.looks_like if key in document.keys]
        why = f"as it has {', '.join(shared)}" if shared else "by its content"
    return f"read as {reader.name}, {why}; --as FORMAT reads it as another"


def _read_as(reader: Reader, document: Document) -> SuiteSource | ForeignRubric:
    """Whatever is refused says at its end which format was assumed, and why."""
    why = _why(document, reader)
    try:
        source = reader.read(document)
    except UsageError as error:
        last = (error.errors or [error])[-1]
        last.hint = f"{last.hint}; {why}" if last.hint else why
        raise
    if not source.losses:
        return source
    *others, last_loss = source.losses
    last_loss = replace(last_loss, hint=f"{last_loss.what_to_do(source.dialect)}; {why}")
    return replace(source, losses=(*others, last_loss))


def _by_keys(document: Document) -> Reader | str:
    keys = document.keys
    if not document.is_lines and isinstance(document.value, dict):
        if "rubric" in keys and "criteria" in keys and "cases" not in keys:
            return "rubric"
        if "suite" in keys or (
            "cases" in keys
            and not keys & {"evaluators", "dataset", "tests"}
            and not _has_inputs(document)
        ):
            return "suite"
    best, found = 0, None
    for reader in _each():
        signs = reader.signs(document)
        if signs > best:
            best, found = signs, reader
        if best == CERTAIN:
            break
    if best < CERTAIN:
        from honestone.interop.removed import REMOVED

        removed = max(REMOVED, key=lambda one: one.signs(document))
        if removed.signs(document) > best:
            raise removed.refusal(document)
    if found is not None:
        return found
    if "cases" in keys and not document.is_lines and not keys & {"evaluators", "dataset", "tests"}:
        return "suite"
    if "criteria" in keys:
        return "rubric"
    raise _unknown(document)


def _has_inputs(document: Document) -> bool:
    """Cases with `inputs` are those of pydantic-evals, with `should_trigger`, `query` or `prompt`
    of a skill; ours have `input`.
    """
    cases = document.value["cases"]
    return isinstance(cases, list) and any(
        isinstance(case, dict)
        and (
            bool(case.keys() & {"inputs", "should_trigger"})
            or ("input" not in case and bool(case.keys() & {"query", "prompt"}))
        )
        for case in cases
    )


def _unknown(document: Document) -> UsageError:
    try:
        place = (document.first_row if document.is_lines else document.marked).at(())
    except FileError as error:
        return error  # it cannot be read at all: that is what is wrong with it
    like = max(
        readers(), key=lambda reader: len(document.keys & set(reader.looks_like)), default=None
    )
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
    from honestone.formats.drafts.cases import TABLES

    name = place.partition(":")[0]
    is_table = Path(name).suffix.lower() in TABLES
    drafts = f"`honestone suite new --from {name}` drafts a suite from rows; " if is_table else ""
    return UsageError(
        "this file is in no format that honestone reads",
        place=place,
        hint=f"{found}; {drafts}--as FORMAT says which it is,"
        " and `honestone rubric show --formats` lists them",
    )


def read_any_suite(
    path: Path,
    allowed: Sequence[Path] = (),
    read_as: str | None = None,
    **code: Unpack[CodeOfFiles],
) -> SuiteSource:
    """The suite in a file, of any format that has suites. Losses are in the source, not yet
    refused.

    `read_as` names the format, instead of its content. `run_code`: code that makes prompts or tests
    is run with it, and not at all without it; `fetch`: tests on a server are brought with it. The
    suite names files of its own project only, or of `allowed` folders. Raises FileError, or
    UsageError and its kinds with places; OutsideProject among them.
    """
    document = Document.of(path, read_any_rubric, read_as=read_as, **code)
    document.drawn = _CASES
    return read_suite_document(document, allowed)


def read_suite_document(document: Document, allowed: Sequence[Path] = ()) -> SuiteSource:
    """The same for a document that is at hand."""
    path = document.path
    if document.read_as is None and _is_prose(document):
        if path.suffix in _WRITTEN_AS_DATA:
            document.marked.at(
                ()
            )  # raises what keeps it from being read: a slip in a suite does not make it a text
        from honestone.formats.drafts.cases import TABLES

        raise UsageError(
            f"`{path}` is a text, not a suite",
            place=f"{path}:1:1",
            hint=f"name it in a suite: cases: {path.name}; `honestone suite new --from {path}` drafts one"
            if path.suffix.lower() in TABLES
            else f"say what to judge it by: honestone eval {path} --rubric RUBRIC",
        )
    found = recognise(document)
    if found == "suite" or (isinstance(found, Reader) and found.gives == "suite"):
        from honestone.formats.suite.suite_file import read_suite

        document.read_expected = _read_expected
        with reading_for(path, allowed) as project:
            source = (
                _read_as(found, document) if isinstance(found, Reader) else read_suite(document)
            )
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


def _read_expected(row: Mapping[str, str], file: Path, line: int) -> JsonObject:
    """promptfoo's columns of a row, by code that few suites need."""
    from honestone.interop.promptfoo.expected import read_expected

    return read_expected(row, file, line)


def read_rubric_document(document: Document) -> RubricSource | ForeignRubric:
    """The rubric in a document that is at hand, ours or another tool's."""
    found = "rubric" if _is_nearly_ours(document) or document.value is None else recognise(document)
    if isinstance(found, Reader) and found.gives == "rubric":
        source = _read_as(found, document)
        assert isinstance(source, ForeignRubric)
        return source
    return _native(document)


def _native(document: Document) -> RubricSource:
    reading = RubricReading(document.marked)
    return RubricSource(
        rubric=reading.rubric(),
        path=None,
        marked=document.marked,
        notes=notes_on(document.text, reading),
    )


def _places(source: SuiteSource) -> Iterator[str]:
    """What else a suite names: the artifact, and what the workspaces of its cases are copies of."""
    yield from source.suite.artifacts
    from honestone.core.suite.outline import outline_of

    for workspace in outline_of(source.suite.cases).workspaces.values():
        yield from workspace.paths


def read_any_rubric(
    path: Path, allowed: Sequence[Path] = (), read_as: str | None = None
) -> RubricSource | ForeignRubric:
    """The rubric in a file, ours or another tool's. Losses are in the source, not yet refused.
    `read_as` names the format.
    """
    document = Document.of(path, read_as=read_as)
    if read_as is None and _is_prose(document):
        return read_rubric(path)  # its errors say what a document is for
    is_ours = read_as is None and _is_nearly_ours(document)
    found = "rubric" if is_ours else recognise(document)  # its errors say which key was meant
    if found == "rubric":
        return replace(_native(document), path=path)
    if isinstance(found, Reader) and found.gives == "rubric":
        with reading_for(path, allowed):
            source = _read_as(found, document)
        assert isinstance(source, ForeignRubric)
        return source
    what = found.title if isinstance(found, Reader) else "a honestone suite"
    raise UsageError(
        f"`{path}` is {what}, not a rubric", place=f"{path}:1:1", hint=f"honestone eval {path}"
    )


# Only for the choice between two errors; its content says what a file is.
_WRITTEN_AS_DATA: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson")


def _is_nearly_ours(document: Document) -> bool:
    """A rubric of ours whose list of criteria is misspelt or missing."""
    keys = document.keys
    if document.is_lines or "criteria" in keys or "cases" in keys or "suite" in keys:
        return False
    return "rubric" in keys or (
        bool(keys & {"threshold", "floor"}) and any(near(key, ["criteria"]) for key in keys)
    )


def _is_prose(document: Document) -> bool:
    """Neither YAML nor JSON, nor anything else that a reader knows or once knew (TOML)."""
    if document.is_lines or isinstance(document.value, dict | list):
        return False
    from honestone.interop.removed import REMOVED

    is_known = any(reader.signs(document) for reader in readers())
    return not is_known and not any(removed.signs(document) for removed in REMOVED)


def format_lines() -> list[str]:
    """One line a format, for a terminal."""
    width = max(len(reader.name) for reader in readers())
    return [f"{reader.name:<{width}}  {reader.gives:<6}  {reader.title}" for reader in readers()]
