"""A promptfoo config as the suite that a person would have written: its prompt files, tables and
variables stay where they are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from honestone.core.errors import HonestoneError
from honestone.core.suite.case import AttemptRule, Case, Suite
from honestone.formats.source import SuiteSource, WrittenCases
from honestone.formats.suite.suite_file import read_suite
from honestone.formats.suite.suite_write import dump_suite
from honestone.formats.syntax.document import Document
from honestone.interop.criteria import usual_gate
from honestone.interop.promptfoo.expected import read_expected
from honestone.interop.recognise import read_any_rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenSuite:
    """The text of a suite, and what a person should know about it."""

    text: str
    notes: tuple[str, ...] = ()


def as_written(source: SuiteSource, path: Path) -> WrittenSuite | None:
    """The suite in the words of its file: the shortest form that reads back as the same suite.
    `path`: the file, in whose folder the text is to lie. None where no such form does.
    """
    if source.written is None:
        return None
    suite = in_usual_words(source.suite)
    for written in _forms(source.written, path.parent):
        try:
            text = dump_suite(suite, written)
            document = Document(
                path=path.with_suffix(".yaml"),
                text=text,
                read_rubric=read_any_rubric,
                read_expected=read_expected,
            )
            read = read_suite(document).suite
        except HonestoneError:
            continue
        if _says_the_same(suite, read):
            return WrittenSuite(text=text, notes=tuple(_notes(suite, read)))
    return None


def in_usual_words(suite: Suite) -> Suite:
    """The same suite with the usual gate and rule of attempts where these decide the same."""
    return replace(suite, cases=tuple(map(_in_usual_words, suite.cases)))


def _in_usual_words(case: Case) -> Case:
    rule = AttemptRule.MEAN if case.attempts == 1 else case.attempt_rule
    return replace(case, rubric=usual_gate(case.rubric), attempt_rule=rule)


def _forms(written: WrittenCases, folder: Path) -> Iterator[WrittenCases]:
    """From the shortest: tables and shared variables, every case with its own variables."""
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
    yield whole
    yield replace(whole, tables={})
    yield replace(whole, tables={}, defaults={}, variables=written.variables)


def _from(file: Path, folder: Path) -> Path:
    return Path(os.path.relpath(file, folder))


def _says_the_same(one: Suite, other: Suite) -> bool:
    return (one.targets, one.prompts, one.concurrency, len(one.cases)) == (
        other.targets,
        other.prompts,
        other.concurrency,
        len(other.cases),
    ) and all(map(_is_same_case, one.cases, other.cases))


def _is_same_case(one: Case, other: Case) -> bool:
    """Whether two cases ask and judge the same, whatever their names."""
    named = {"id": other.id, "description": other.description, "variables": other.variables}
    if "description" in other.metadata:  # of a row of a table
        named["metadata"] = {**one.metadata, "description": one.description}
    return replace(one, **named) == other  # type: ignore[arg-type]


def _notes(suite: Suite, read: Suite) -> Iterator[str]:
    others = [(a.id, b.id) for a, b in zip(suite.cases, read.cases, strict=True) if a.id != b.id]
    if others:
        (was, now), *_ = others
        yield f"cases of tables are named after their table: `{was}` is `{now}`"
