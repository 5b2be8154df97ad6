"""A suite with prompts as a person would have written it: prompt files, tables and variables of a
promptfoo config stay where they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from honestone.core.errors import HonestoneError, UsageError
from honestone.core.suite.case import AttemptRule, Case, Suite
from honestone.formats.source import SuiteSource, WrittenCases
from honestone.formats.suite.code_context import case_context, without_context
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.document import Document
from honestone.interop.criteria import usual_gate
from honestone.interop.promptfoo.expected import read_expected
from honestone.interop.recognise import read_any_rubric

if TYPE_CHECKING:
    from honestone.app.carried_files import CarriedFiles


class WrittenSuite(Struct, frozen=True, kw_only=True):
    """The text of a suite, and what a person should know about it."""

    text: str
    notes: tuple[str, ...] = ()
    has_tables: bool = False


def as_written(
    source: SuiteSource, path: Path, carried: CarriedFiles | None = None
) -> WrittenSuite:
    """The suite in the words of its file: the shortest form that reads back as the same suite.
    `path`: the file, in whose folder the text is to lie, or from where files are `carried`. Raises
    UsageError with the reason where no such form does.
    """
    if source.written is None:
        raise UsageError("its prompts cannot be written as they are")
    suite = in_usual_words(source)
    why = "prompt files and tables are not carried to another folder"
    forms = [*_forms(source.written, path.parent, is_there=carried is None)]
    short = _with_shared_code(suite, source.written)
    for shown, written in [(short, one) for one in forms] + [(suite, one) for one in forms]:
        try:
            text = dump_suite(shown, written)
            document = Document(
                path=path.with_suffix(".yaml"),
                text=text,
                read_rubric=read_any_rubric,
                read_expected=read_expected,
            )
            read = read_suite(document).suite
        except HonestoneError as error:
            why = f"a suite cannot say it ({error.message})"
            continue
        other = _difference(suite, read)
        if other is None:
            text = text if carried is None else dump_suite(carried.suite(shown), written)
            notes = tuple(_notes(suite, read))
            return WrittenSuite(text=text, notes=notes, has_tables=bool(written.tables))
        why = f"with the templates and variables of its file, {other} would be another"
    raise UsageError(why)


def in_usual_words(source: SuiteSource) -> Suite:
    """The suite of another tool's file with the usual gate and rule of attempts where these decide
    the same.
    """
    if source.written is None or source.dialect == "honestone":
        return source.suite
    return replace(source.suite, cases=tuple(map(_in_usual_words, source.suite.cases)))


def _in_usual_words(case: Case) -> Case:
    rule = AttemptRule.MEAN if case.attempts == 1 else case.attempt_rule
    return replace(case, rubric=usual_gate(case.rubric), attempt_rule=rule)


def _forms(written: WrittenCases, folder: Path, *, is_there: bool) -> Iterator[WrittenCases]:
    """From the shortest: tables and shared variables, every case with its own variables, several
    prompts with their texts. `is_there`: the text lies where its files are.
    """
    prompts = tuple(
        replace(one, file=None if one.file is None else _from(one.file, folder))
        for one in written.prompts
    )
    own = {
        id: {
            name: value
            for name, value in variables.items()
            if name not in written.defaults or written.defaults[name] != value
        }
        for id, variables in written.variables.items()
    }
    tables = {id: _from(table, folder) for id, table in written.tables.items()}
    whole = replace(written, prompts=prompts, variables=own, tables=tables)
    plain = replace(whole, tables={}, defaults={}, variables=written.variables)
    if is_there:
        yield whole
        yield replace(whole, tables={})
        yield plain
    if len(prompts) > 1:
        texts = tuple(replace(one, file=None) for one in prompts)
        if is_there:
            yield replace(whole, prompts=texts)
        yield replace(plain, prompts=texts)


def _from(file: Path, folder: Path) -> Path:
    return Path(os.path.relpath(file, folder))


def _with_shared_code(suite: Suite, written: WrittenCases) -> Suite:
    """The suite without what code is given of its case anyway, so that cases share their checks."""
    cases = [
        replace(
            case,
            rubric=without_context(
                case.rubric,
                case_context(written.variables.get(case.id, {}), case.metadata),
            ),
        )
        for case in suite.cases
    ]
    return replace(suite, cases=tuple(cases))


def _difference(one: Suite, other: Suite) -> str | None:
    """What of a suite is not the same in the other."""
    for what, ours, theirs in (
        ("its targets", one.targets, other.targets),
        ("its prompts", one.prompts, other.prompts),
        ("its concurrency", one.concurrency, other.concurrency),
        ("the number of its cases", len(one.cases), len(other.cases)),
    ):
        if ours != theirs:
            return what
    pairs = zip(one.cases, other.cases, strict=True)
    return next((f"the case `{a.id}`" for a, b in pairs if not _is_same_case(a, b)), None)


def _is_same_case(one: Case, other: Case) -> bool:
    """Whether two cases ask and judge the same, whatever their names."""
    named = {"id": other.id, "description": other.description, "variables": other.variables}
    if "description" in other.metadata:  # of a row of a table
        named["metadata"] = {**one.metadata, "description": one.description}
    return replace(one, **named) == other


def _notes(suite: Suite, read: Suite) -> Iterator[str]:
    others = [(a.id, b.id) for a, b in zip(suite.cases, read.cases, strict=True) if a.id != b.id]
    if others:
        (was, now), *_ = others
        yield f"cases of tables are named after their table: `{was}` is `{now}`"
