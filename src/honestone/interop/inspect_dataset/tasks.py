"""Inspect tasks, which are Python: named as such, and with a person's permission run for their
samples and as checks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from honestone.core.checking.script import Script
from honestone.core.errors import UsageError
from honestone.core.json_value import Json, late_pattern
from honestone.core.judging.rubric import Check, Criterion
from honestone.core.suite.case import Case, Suite
from honestone.formats.source import SuiteSource
from honestone.formats.syntax.document import Document, MarkedLine, RunCode
from honestone.formats.syntax.nodes import node_of
from honestone.formats.syntax.reader import Cases, FileEntry, FileReading
from honestone.interop.criteria import MAJORITY, check_criterion, gated, undecided, yes_no
from honestone.interop.inspect_dataset.samples import FORMATS, TABLES, sample_case
from honestone.interop.sibling_files import SiblingFiles

_IMPORT: Final = late_pattern(r"(?m)^\s*(?:from|import)\s+inspect_ai\b")
_TASK: Final = late_pattern(r"(?m)^\s*@task\b|\bTask\(")
_DATASET: Final = late_pattern(r"""\b(?:json|csv)_dataset\(\s*["']([^"'\n]{1,200})["']""")


def signs_of_task(document: Document) -> int:
    """By its text: a task file is not data, and looking at it runs nothing of it."""
    if isinstance(document.value, dict | list):
        return 0
    return 90 if _IMPORT.search(document.text) and _TASK.search(document.text) else 0


def read_task(document: Document) -> SuiteSource:
    """The tasks of a file, a case for each sample. Before their code is run these are not known.
    Raises UsageError without permission, and SourceErrors with what is wrong.
    """
    if not document.allow_code:
        raise _needs_permission(document)
    main = FileReading(MarkedLine(document.name, node_of(None, (1, 1)), 1))
    cases = Cases("samples")
    siblings = SiblingFiles(document.path.parent)
    tasks = list(_tasks(document.text))
    if not tasks:
        main.problem("no function of this file is decorated with `@task`", ())
    for name, line in tasks:
        made = document.run_code and _made(name, line, document, document.run_code, main)
        reading = FileReading(MarkedLine(document.name, node_of(made, (line, 1)), line))
        reading.runs(f"the Inspect task `{name}`", (), document.path, makes_cases=True)
        for at, case in _cases(reading, name, document, siblings) if made else ():
            cases.add(case if len(tasks) == 1 else replace(case, id=f"{name}/{case.id}"), at)
        if document.run_code is None:
            cases.add(
                Case(id=name, rubric=undecided(), messages=(), skip="its samples are made by code"),
                reading.at(),
            )
        main.join(reading)
    main.finish(*FORMATS.defaults("inspect-task"))
    return main.suite_source(
        document.path, "inspect-task", Suite(cases=cases.all()), cases, siblings.files
    )


def _needs_permission(document: Document) -> UsageError:
    match = _DATASET.search(document.text)
    return UsageError(
        "this is an Inspect task in Python: its samples, solver and scorers are code, which needs your permission",
        place=f"{document.path}:1:1",
        hint="honestone eval --allow-code runs it, confined (inspect_ai must be installed with honestone); without it,"
        f" honestone eval {match[1] if match else 'DATASET'} reads the data set alone, and --outputs LOG judges what"
        " `inspect eval` recorded",
    )


def _tasks(text: str) -> Iterator[tuple[str, int]]:
    """The functions that are decorated with `@task`, by name and line."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in tree.body:
        for mark in node.decorator_list if isinstance(node, ast.FunctionDef) else ():
            called = mark.func if isinstance(mark, ast.Call) else mark
            if (
                isinstance(node, ast.FunctionDef)
                and ast.unparse(called).rpartition(".")[2] == "task"
            ):
                yield node.name, node.lineno


def _made(name: str, line: int, document: Document, run_code: RunCode, main: FileReading) -> Json:
    """What a task makes when it is run; None where it cannot be, which is a problem."""
    try:
        (made,) = run_code(Script(language="python", file=document.path.name, function=name), [[]])
    except UsageError as error:
        message = f"the task `{name}` cannot be run: {error.message}"
        hint = _INSTALL if "'inspect_ai'" in error.message else error.hint
        main.problems.append(UsageError(message, place=f"{document.path}:{line}:1", hint=hint))
        return None
    return made


_INSTALL: Final = "install Inspect where honestone is installed: pip install inspect_ai"


def _cases(
    reading: FileReading, name: str, document: Document, siblings: SiblingFiles
) -> Iterator[tuple[FileEntry, Case]]:
    """The cases of what a task made: what the solver asks is the input, and each scorer a
    criterion.
    """
    made = reading.at()
    for number, one in enumerate(made.each("samples"), 1):
        at = one.below("sample")
        case = sample_case(at, number, siblings) if at.read(TABLES["sample"]) else None
        if case is None or not _is_asked_once(one):
            continue
        criteria = [
            _scorer(at, scorer, place, case, name, document)
            for place, scorer in enumerate(made.each("scorers"))
        ]
        rubric = gated(reading, at.path, criteria, MAJORITY)
        if rubric is not None:
            case = replace(case, rubric=rubric, skip=None)
        yield at, replace(case, attempts=made.raw("epochs"))


def _is_asked_once(one: FileEntry) -> bool:
    """Whether the target can take the place of the model in this sample; where not, that is a loss."""
    calls, tools = one.raw("calls"), one.raw("tools")
    if tools:
        one.loss(
            f"the solver offers the model tools ({', '.join(tools[:3])}), which a target here is not given"
        )
    elif calls != 1:
        one.loss(
            f"the solver asks the model {calls} times, and a target here is asked once", hint=_LOG
        )
    return calls == 1 and not tools


_LOG: Final = "--outputs LOG judges what `inspect eval` recorded"


def _scorer(
    at: FileEntry, scorer: FileEntry, place: int, case: Case, name: str, document: Document
) -> Criterion:
    """A scorer as a check that runs it; as a question for judges where it asks a model itself."""
    called = str(scorer.raw("name")).rpartition("/")[2]
    if scorer.raw("asks"):
        scorer.loss(
            f"the scorer `{called}` asks a model in its own words: a judge is asked whether the target is given"
        )
        return yes_no(called, case.rubric.criteria[0].requirement)
    script = Script(language="python", file=document.path.name, function=name)
    context = {"sample": at.raw("id"), "scorer": place}
    check = Check(kind="script", value=script.to_plain(), options={"context": context})
    return check_criterion(
        check,
        id=called,
        requirement=f"Inspect's scorer `{called}` of the task `{name}`",
        required=False,
    )
